package scribe

import (
	"maps"
	"slices"
	"strings"

	"github.com/memoryroom/scribe/internal/fold"
	"github.com/memoryroom/scribe/internal/journal"
)

// byJoining is who made a row of a join for which no row of the other side speaks.
const byJoining = "join"

// divergence is what two sides have come to since they parted, while rows bring here what
// there was done.
type divergence struct {
	room        *Room
	j           *joining
	row         int64 // the row of the join
	fork        *journal.State
	here, there *side
	wiped       map[string]bool    // memories that went here with what the other side purged
	brought     map[string]bool    // what there has in the archive, by name, that rows bring already
	places      map[string][]int64 // by hash: the rows that put it, of all three states
}

// join adds the rows that bring here what the other side did. Their order is that of the
// paths, as far as one does not have to make room for another.
func (d *divergence) join() error {
	if err := d.joinPurges(); err != nil {
		return err
	}
	parted := d.parted()
	old := map[string]bool{}
	for _, memory := range parted {
		old[memory] = true
	}
	for waits, more := parted, true; len(waits) > 0; {
		var still []string
		for _, memory := range waits {
			t := d.triple(memory)
			if t.to, t.stuck = d.toward(t); t.stuck && more {
				still = append(still, memory)
			} else if err := d.add(d.difference(t)...); err != nil {
				return err
			} else if err := d.addNames(t); err != nil {
				return err
			}
		}
		waits, more = still, len(still) < len(waits) // else they stand in each other's way
	}
	for _, path := range sortedPaths(d.there.state.Accepted) {
		if old[d.there.stands[path]] {
			continue
		}
		if err := d.add(d.fresh(path)...); err != nil {
			return err
		}
		if err := d.addNames(triple{there: d.there.state.Accepted[path], stays: true, theirs: path, to: path}); err != nil {
			return err
		}
	}
	for _, path := range sortedPaths(d.here.state.Accepted) {
		if !old[d.here.stands[path]] {
			if err := d.add(d.takenBack(path, d.here.state.Accepted[path])...); err != nil {
				return err
			}
		}
	}
	return d.add(d.besides()...)
}

// parted lists the memories that stood when the sides parted, and of those that were in
// the archive the ones that both sides brought back.
func (d *divergence) parted() []string {
	all := sortedPaths(d.fork.Accepted)
	back := func(s *side, memory string) bool {
		_, left := s.left[memory]
		return left || s.stands[s.at[memory]] == memory
	}
	for name := range journal.Sorted(d.fork.Archived) {
		if back(d.here, name) && back(d.there, name) {
			all = append(all, name)
		}
	}
	return all
}

func sortedPaths(of map[string]journal.Accepted) []string {
	return slices.Sorted(maps.Keys(of))
}

// add stages rows in their order.
func (d *divergence) add(rows ...journal.Row) error {
	for _, row := range rows {
		if err := d.room.stageJoined(d.j, d, row); err != nil {
			return err
		}
	}
	return nil
}

// triple is one memory: as it was when the sides parted, and as each side has it.
type triple struct {
	memory           string
	was, here, there journal.Accepted
	stands, stays    bool   // here, and there
	path             string // when they parted
	mine, theirs     string // here and there: where it stands, or stood last
	to               string // where it is to stand here
	stuck            bool   // its path there is taken here
}

func (d *divergence) triple(memory string) triple {
	t := triple{memory: memory, was: d.fork.Accepted[memory], path: memory, mine: d.here.at[memory], theirs: d.there.at[memory]}
	if a, retired := d.fork.Archived[memory]; retired {
		t.was, t.path = a.Accepted, a.Path
	}
	if t.stands = d.here.stands[t.mine] == memory && !d.wiped[memory]; t.stands {
		t.here = d.j.state.Accepted[t.mine]
	}
	if t.stays = d.there.stands[t.theirs] == memory; t.stays {
		t.there = d.there.state.Accepted[t.theirs]
	}
	return t
}

// toward is the path to which a memory goes here: with a rename of the other side, where
// this one did not rename it too. stuck says that another memory is in the way.
func (d *divergence) toward(t triple) (to string, stuck bool) {
	if !t.stands || t.mine != t.path || t.theirs == t.path {
		return t.mine, false
	}
	if _, taken := d.j.state.Accepted[t.theirs]; taken || t.stays && d.keyTaken(t.there, t.theirs, t.mine) {
		return t.mine, true
	}
	return t.theirs, false
}

// changed reports whether a side changed a memory's text or trust.
func (t *triple) changed(side journal.Accepted) bool {
	return side.Hash != t.was.Hash || side.Trust != t.was.Trust
}

// difference lists the rows for one memory.
func (d *divergence) difference(t triple) []journal.Row {
	switch {
	case t.stands && t.stays && d.here.erased[t.memory]:
		if !t.changed(t.there) {
			return nil
		}
		return []journal.Row{outsideOfJoin(t.theirs, t.there, d.j.state.Accepted[t.theirs].Hash, "the operator purged the memory on this side")}
	case t.stands && t.stays:
		return append(d.renamed(t), d.both(t)...)
	case t.stands:
		return d.wentThere(t)
	case t.stays:
		return d.wentHere(t)
	}
	return nil
}

// renamed is the row that gives a memory the name that it has there.
func (d *divergence) renamed(t triple) []journal.Row {
	if t.to == t.mine {
		return nil
	}
	row := byJoin(journal.OpRename, t.mine, journal.Origin{By: t.here.By})
	row.To, row.Key = t.to, t.there.Key
	return []journal.Row{row}
}

// both lists the rows for a memory that stands on both sides: t.to is where it stands.
func (d *divergence) both(t triple) []journal.Row {
	t.there.Key = d.keyHere(t)
	mine, theirs := t.here.Hash != t.was.Hash, t.there.Hash != t.was.Hash
	take := false // the text of there, and what belongs to it
	switch {
	case t.here.Hash == t.there.Hash:
		take = t.changed(t.there) && !t.changed(t.here)
	case theirs && (!mine || d.room.theirsLies(t.to, t.there.Hash, true)):
		take = !d.refused(d.here, t.there, t.theirs) && !d.keyTaken(t.there, t.to)
	}
	var rows []journal.Row
	trust := t.here.Trust
	switch {
	case t.changed(t.there) && t.changed(t.here), theirs && !take:
		trust = lowerTrust(t.here, t.there)
	case t.changed(t.there):
		trust = t.there.Trust
	}
	reason := "the other side's text: both changed the memory"
	switch {
	case take:
		row := accepting(journal.OpReplace, t.to, t.here.Hash, t.there)
		row.Trust = trust
		rows = append(rows, row)
	case mine && d.refused(d.there, t.here, t.mine):
		back := t.was
		back.Trust = lowerTrust(journal.Accepted{Origin: journal.Origin{Trust: trust}}, t.was)
		rows = append(rows, accepting(journal.OpReplace, t.to, t.here.Hash, back), outsideOfJoin(t.to, t.here, t.was.Hash, "the operator refused the text on the other side"))
	case parseTrust(trust) != parseTrust(t.here.Trust):
		row := accepting(journal.OpReplace, t.to, t.here.Hash, t.here)
		row.Trust, row.By = trust, t.there.By
		rows = append(rows, row)
	}
	if theirs && !take && t.here.Hash != t.there.Hash {
		if d.refused(d.here, t.there, t.theirs) {
			reason = "the operator refused the text on this side"
		}
		rows = append(rows, outsideOfJoin(t.to, t.there, t.here.Hash, reason))
	}
	if t.theirs != t.to && d.free(t.theirs) && d.room.theirsLies(t.theirs, t.there.Hash, true) {
		rows = append(rows, outsideOfJoin(t.theirs, t.there, "", "the memory has another name on this side"))
	}
	return rows
}

// keyHere is the key that the text of there has at the path where the memory stands here: a
// key that nobody gave is the path's.
func (d *divergence) keyHere(t triple) string {
	switch {
	case t.here.Hash == t.there.Hash:
		return t.here.Key
	case fold.Key(t.there.Key) == fold.Key(strings.TrimSuffix(t.theirs, ".md")):
		return strings.TrimSuffix(t.to, ".md")
	}
	return t.there.Key
}

// wentThere lists the rows for a memory that stands here, and went on the other side.
func (d *divergence) wentThere(t triple) []journal.Row {
	back := d.withdrawn(d.there.left[t.memory])
	switch {
	case back && t.here.Hash != t.was.Hash:
		row := byJoin(journal.OpRemove, t.mine, journal.Origin{By: d.there.left[t.memory].By})
		row.Old, row.Key = t.here.Hash, t.here.Key
		return []journal.Row{row, outsideOfJoin(t.mine, t.here, "", "the operator took the memory back on the other side")}
	case !back && (t.changed(t.here) || t.mine != t.path) && !d.room.theirsLies(t.mine, "", false):
		if rows := d.takenBack(t.mine, t.here); rows != nil {
			return rows
		}
		return d.lowered(t.mine, t.here, lastTrust(d.there.left[t.memory], t.was), byJoining) // gone there, changed here: what was changed stays
	}
	tomb := d.there.left[t.memory]
	row := byJoin(journal.OpRemove, t.to, journal.Origin{By: tomb.By})
	row.Old, row.Key = t.here.Hash, t.here.Key
	name, retired, archived := d.there.state.ArchivedAt(t.theirs)
	if _, before := d.fork.Archived[name]; archived && !before && retired.Retired == tomb.Freed && retired.Hash == t.here.Hash {
		row.Op, row.Category = journal.OpArchive, retired.Category
		d.brought[name] = true
	}
	return append(d.renamed(t), row)
}

// wentHere lists the rows for a memory that went on this side, and stands on the other.
func (d *divergence) wentHere(t triple) []journal.Row {
	tomb := d.here.left[t.memory]
	switch {
	case !t.changed(t.there) && t.theirs == t.path:
		if d.here.erased[t.memory] {
			d.erase(t.was.Hash) // rows of there may have made versions of it
		}
		return nil
	case d.withdrawn(tomb) && d.here.erased[t.memory] && d.unused(t.theirs):
		row := byJoin(journal.OpPurge, t.theirs, journal.Origin{By: tomb.By}) // of what it was there
		if row.Ref = d.row; t.there.Hash != t.was.Hash {
			row.New = t.there.Hash
		}
		return []journal.Row{row}
	case d.withdrawn(tomb) && d.here.erased[t.memory] && t.there.Hash == t.was.Hash:
		d.erase(t.there.Hash) // the path is another memory's too, and the purge has its row
		d.takeOut(t.theirs, t.there.Hash)
		return nil
	case d.withdrawn(tomb):
		return []journal.Row{outsideOfJoin(t.theirs, t.there, d.j.state.Accepted[t.theirs].Hash, "the operator took the memory back on this side")}
	case !d.free(t.theirs) || d.refused(d.here, t.there, t.theirs) || d.keyTaken(t.there, t.theirs) || t.changed(t.there) && !d.room.theirsLies(t.theirs, t.there.Hash, true):
		return []journal.Row{outsideOfJoin(t.theirs, t.there, d.j.state.Accepted[t.theirs].Hash, "the other side's text: both changed the memory")}
	}
	row := accepting(journal.OpAdd, t.theirs, "", t.there)
	row.Trust = min(parseTrust(row.Trust), lastTrust(tomb, t.was)).String()
	return []journal.Row{row}
}

// lastTrust is the trust that a memory had where it went on a side, if it was lowered
// before; else it bounds nothing.
func lastTrust(tomb journal.Tomb, was journal.Accepted) Trust {
	if tomb.Freed > 0 && parseTrust(tomb.Trust) < parseTrust(was.Trust) {
		return parseTrust(tomb.Trust)
	}
	return Operator
}

// lowered lists the row that gives what stands here a trust, if that is lower.
func (d *divergence) lowered(path string, here journal.Accepted, to Trust, by string) []journal.Row {
	if to >= parseTrust(here.Trust) {
		return nil
	}
	row := accepting(journal.OpReplace, path, here.Hash, here)
	row.Trust, row.By = to.String(), by
	return []journal.Row{row}
}

// fresh lists the rows for what stands there and did not when the sides parted.
func (d *divergence) fresh(path string) []journal.Row {
	there := d.there.state.Accepted[path]
	here, stands := d.j.state.Accepted[path]
	retired, back := d.restored(path)
	switch {
	case stands && here.Hash == there.Hash:
		return d.lowered(path, here, parseTrust(there.Trust), there.By)
	case d.here.state.Purged[path] > d.fork.Seq && !stands && (back || d.refusal(d.here, there, path) == d.here.state.Purged[path]): // the same text, purged here
		row := byJoin(journal.OpPurge, path, journal.Origin{By: byOperator})
		row.Ref = d.row
		return []journal.Row{row}
	case d.refused(d.here, there, path):
		return []journal.Row{outsideOfJoin(path, there, here.Hash, "the operator refused the text on this side")}
	case back && !stands && d.withdrawn(d.here.state.Tombs[path]): // both restored it, and here it was taken back again
		return []journal.Row{outsideOfJoin(path, there, "", "the operator took the memory back on this side")}
	case stands && !d.room.theirsLies(path, there.Hash, true):
		return append(d.takenBack(path, here), outsideOfJoin(path, there, here.Hash, "the other side's text: both wrote the memory"))
	case d.keyTaken(there, path):
		return []journal.Row{outsideOfJoin(path, there, here.Hash, "another memory has its key on this side")}
	case stands:
		row := accepting(journal.OpReplace, path, here.Hash, there)
		row.Trust = lowerTrust(here, there)
		return []journal.Row{row}
	case back:
		row := accepting(journal.OpRestore, path, "", there)
		row.Ref = retired
		return []journal.Row{row}
	}
	return []journal.Row{accepting(journal.OpAdd, path, "", there)}
}

// takenBack lists the rows for a text that was accepted here and that the operator refused
// on the other side, or retired again.
func (d *divergence) takenBack(path string, here journal.Accepted) []journal.Row {
	reason := "the operator refused the text on the other side"
	name, _, retired := d.fork.ArchivedAt(path)
	_, there := d.there.state.Archived[name]
	switch now, stands := d.j.state.Accepted[path]; {
	case !stands || now.Hash != here.Hash:
		return nil
	case d.refused(d.there, here, path):
	case retired && !there && d.withdrawn(d.there.state.Tombs[path]): // both restored it
		reason = "the operator took the memory back on the other side"
	default:
		return nil
	}
	row := byJoin(journal.OpRemove, path, journal.Origin{By: byOperator})
	row.Old, row.Key = here.Hash, here.Key
	return []journal.Row{row, outsideOfJoin(path, here, "", reason)}
}

// joinPurges carries out here what was purged there. A text that this side wrote meanwhile
// is spared: it is out of sight, and the operator's to decide.
func (d *divergence) joinPurges() error {
	for _, p := range d.there.purges {
		row := byJoin(journal.OpPurge, p.path, journal.Origin{By: byOperator})
		t := triple{mine: p.path}
		if p.memory != "" {
			t = d.triple(p.memory)
			d.wiped[p.memory] = true
			row.Path = t.mine
		}
		here, stands := d.j.state.Accepted[t.mine]
		name, old, _ := d.fork.ArchivedAt(p.path)
		_, kept := d.here.state.Archived[name]
		var err error
		switch {
		case t.stands && here.Hash != t.was.Hash:
			row.New = here.Hash
			if err = d.add(row); err == nil && d.free(p.path) && p.path != t.mine {
				err = d.add(byJoin(journal.OpPurge, p.path, journal.Origin{By: byOperator})) // what it was before it moved here
			}
		case stands && !t.stands && (kept || here.Hash != old.Hash && here.Hash != d.fork.Tombs[p.path].Hash):
			continue // another memory has its name by now
		default:
			err = d.add(row)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// addNames adds a row for each name that a memory had on the other side alone.
func (d *divergence) addNames(t triple) error {
	if _, stands := d.j.state.Accepted[t.to]; !stands || !t.stays {
		return nil
	}
	names := d.there.state.Former[t.theirs]
	if t.theirs != t.to {
		names = append(slices.Clone(names), journal.Name{Path: t.theirs, Row: d.fork.Seq + 1})
	}
	for _, was := range names {
		known := slices.ContainsFunc(d.j.state.Former[t.to], func(n journal.Name) bool { return n.Path == was.Path })
		if was.Row <= d.fork.Seq || known || was.Path == t.to {
			continue
		}
		row := byJoin(journal.OpAlias, was.Path, journal.Origin{})
		row.To = t.to
		if err := d.add(row); err != nil {
			return err
		}
	}
	return nil
}

// besides lists the rows for the archive, for what waits and for what was refused.
func (d *divergence) besides() []journal.Row {
	var rows []journal.Row
	for name, a := range journal.Sorted(d.there.state.Archived) {
		if _, before := d.fork.Archived[name]; before || d.brought[name] {
			continue
		}
		memory := d.there.kept[name]
		if mine := d.here.at[memory]; memory != "" && d.here.stands[mine] != memory && d.here.erased[memory] {
			if d.unused(a.Path) { // purged here: nor does the archive bring it back
				row := byJoin(journal.OpPurge, a.Path, journal.Origin{By: byOperator})
				row.Ref = d.row
				rows = append(rows, row)
			}
			d.erase(a.Hash)
			if _, kept := d.j.state.Archived[name]; !kept {
				_ = d.room.disk.LibRemove(archiveName(a.Retired, a.Path)) // else tidy does
			}
			continue
		}
		row := accepting(journal.OpStow, a.Path, "", a.Accepted)
		row.Category = a.Category
		rows = append(rows, row)
	}
	for id, h := range journal.Sorted(d.there.state.Pending) {
		_, before := d.fork.Pending[id]
		_, now := d.here.state.Pending[id]
		if before || now || d.of(h.Path, d.here.erased) || d.of(h.To, d.here.erased) || d.room.heldBytes(id, h.Hash) == nil {
			continue
		}
		row := byJoin(journal.OpHold, h.Path, h.Origin)
		row.To, row.Old, row.New, row.Key, row.Act, row.ID, row.Digest, row.Plan, row.Rules = h.To, h.Base, h.Hash, h.Key, h.Op, id, h.Digest, h.Plan, h.Rules
		rows = append(rows, row)
	}
	for id, h := range journal.Sorted(d.here.state.Pending) {
		_, before := d.fork.Pending[id]
		if _, waits := d.there.state.Pending[id]; before && !waits { // decided there
			row := byJoin(journal.OpWithdraw, h.Path, journal.Origin{})
			row.ID = id
			rows = append(rows, row)
		}
	}
	for digest := range journal.Sorted(d.there.state.Refused) {
		_, before := d.fork.Refused[digest]
		if _, now := d.here.state.Refused[digest]; !before && !now {
			row := byJoin(journal.OpRefuse, "", journal.Origin{})
			row.Digest = digest
			rows = append(rows, row)
		}
	}
	return rows
}

// of reports whether what a path stands for there, or stood for last, is among memories.
func (d *divergence) of(path string, memories map[string]bool) bool {
	memory, stands := d.there.stands[path]
	if !stands {
		memory = d.there.went[path]
	}
	return memory != "" && memories[memory]
}

// byJoin is a row of a join, with what the other side's row said of where it came from.
func byJoin(op, path string, o journal.Origin) journal.Row {
	row := journal.Row{Change: journal.Change{Op: op, Path: path, Trust: o.Trust, Source: o.Source}, Decision: journal.Decision{By: o.By, Reason: "joined"}}
	if row.By == "" {
		row.By = byJoining
	}
	return row
}

// accepting is a row that accepts at path, in place of the text with the hash old, what a
// side accepted.
func accepting(op, path, old string, a journal.Accepted) journal.Row {
	row := byJoin(op, path, a.Origin)
	row.Old, row.New, row.Key, row.Rules, row.Approved = old, a.Hash, a.Key, a.Rules, a.Approved
	return row
}

// outsideOfJoin is the row for a text of one side that is not taken over: it is kept, and a
// change made outside, in place of what stands with the hash old ("": nothing).
func outsideOfJoin(path string, text journal.Accepted, old, reason string) journal.Row {
	row := byJoin(journal.OpObserve, path, text.Origin)
	row.Trust, row.Old, row.New, row.Reason = "", old, text.Hash, reason
	return row
}

// lowerTrust names the lower trust of what two sides accepted.
func lowerTrust(here, there journal.Accepted) string {
	return min(parseTrust(here.Trust), parseTrust(there.Trust)).String()
}
