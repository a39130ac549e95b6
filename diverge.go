package scribe

import (
	"maps"
	"slices"
	"strings"

	"github.com/memoryroom/scribe/internal/fold"
	"github.com/memoryroom/scribe/internal/journal"
)

// byJoining is who made a row of a join for which no row of the other side speaks, and byRepair
// who made one of a repair.
const (
	byJoining = "join"
	byRepair  = "repair"
)

// Why the text of one side is not taken over, as the row of it says.
const (
	bothChanged    = "the other side's text: both changed the memory"
	bothWrote      = "the other side's text: both wrote the memory"
	keyIsTaken     = "another memory has its key on this side"
	renamedHere    = "the memory has another name on this side"
	purgedHere     = "the operator purged the memory on this side"
	takenBackHere  = "the operator took the memory back on this side"
	takenBackThere = "the operator took the memory back on the other side"
	refusedHere    = "the operator refused the text on this side"
	refusedThere   = "the operator refused the text on the other side"
)

// divergence is what two sides have come to since they parted, while rows bring here what
// there was done. Here is the side that goes on as the journal, and there the other.
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

// shared is one memory that the sides had in common.
type shared struct {
	memory      string           // as a side knows it
	was         journal.Accepted // when they parted
	path        string           // then
	stood       bool             // then; else it was in the archive
	here, there fate
	to          string // the path at which it is to stand here
}

// fate is what became of a memory on a side.
type fate struct {
	journal.Accepted        // nothing unless it stands
	at               string // the path where it stands, or did last
	stands           bool
}

// compare looks up what became of one memory on both sides.
func (d *divergence) compare(memory string) shared {
	m := shared{memory: memory, path: memory}
	m.was, m.stood = d.fork.Accepted[memory]
	if a, retired := d.fork.Archived[memory]; retired {
		m.was, m.path = a.Accepted, a.Path
	}
	m.here.at, m.there.at = d.here.at[memory], d.there.at[memory]
	if m.here.stands = d.here.stands[m.here.at] == memory && !d.wiped[memory]; m.here.stands {
		m.here.Accepted = d.j.state.Accepted[m.here.at]
	}
	if m.there.stands = d.there.stands[m.there.at] == memory; m.there.stands {
		m.there.Accepted = d.there.state.Accepted[m.there.at]
	}
	return m
}

// changed reports whether a side changed a memory's text or trust.
func (m *shared) changed(side fate) bool {
	return side.Hash != m.was.Hash || side.Trust != m.was.Trust
}

// bring adds the rows that bring here what the other side did: what it purged, what became of
// the memories that the sides had in common, what it has made since, and what is beside the
// memories.
func (d *divergence) bring() error {
	if err := d.bringPurges(); err != nil {
		return err
	}
	common := d.common()
	if err := d.bringShared(common); err != nil {
		return err
	}
	old := map[string]bool{}
	for _, memory := range common {
		old[memory] = true
	}
	for _, path := range sortedPaths(d.there.state.Accepted) {
		if old[d.there.stands[path]] {
			continue
		}
		if err := d.add(d.fresh(path)...); err != nil {
			return err
		}
		if err := d.addNames(path, path); err != nil {
			return err
		}
	}
	for _, path := range sortedPaths(d.here.state.Accepted) {
		if !old[d.here.stands[path]] {
			if err := d.add(d.takeBack(path, d.here.state.Accepted[path])...); err != nil {
				return err
			}
		}
	}
	for memory := range d.here.erased { // what there made of it goes too
		maps.Copy(d.j.erase, d.there.texts[memory])
	}
	return d.add(slices.Concat(d.retired(), d.waiting(), d.refusals())...)
}

// common lists the memories of which both sides have something to say: what stood when they
// parted, and of what was in the archive that which both brought back or purged.
func (d *divergence) common() []string {
	all := sortedPaths(d.fork.Accepted)
	touched := func(s *side, memory string) bool {
		_, left := s.left[memory] // purged, or brought back and gone again
		return left || s.stands[s.at[memory]] == memory
	}
	for name := range journal.Sorted(d.fork.Archived) {
		if touched(d.here, name) && touched(d.there, name) {
			all = append(all, name)
		}
	}
	return all
}

func sortedPaths(of map[string]journal.Accepted) []string {
	return slices.Sorted(maps.Keys(of))
}

// bringShared adds the rows for the memories that the sides had in common, in the order of
// their paths, as far as one does not have to make room for another.
func (d *divergence) bringShared(memories []string) error {
	for waits, more := memories, true; len(waits) > 0; {
		var still []string
		for _, memory := range waits {
			m, stuck := d.compare(memory), false
			if m.to, stuck = d.toward(m); stuck && more {
				still = append(still, memory)
				continue
			}
			if err := d.add(d.difference(m)...); err != nil {
				return err
			}
			if m.there.stands {
				if err := d.addNames(m.there.at, m.to); err != nil {
					return err
				}
			}
		}
		waits, more = still, len(still) < len(waits) // else they stand in each other's way
	}
	return nil
}

// add stages rows in their order.
func (d *divergence) add(rows ...journal.Row) error {
	for _, row := range rows {
		if err := d.stage(row); err != nil {
			return err
		}
	}
	return nil
}

// toward is the path to which a memory goes here: with a rename of the other side, where
// this one did not rename it too. stuck says that another memory is in the way.
func (d *divergence) toward(m shared) (to string, stuck bool) {
	if !m.here.stands || m.here.at != m.path || m.there.at == m.path {
		return m.here.at, false
	}
	if !d.free(m.there.at) || m.there.stands && d.keyTaken(m.there.Accepted, m.there.at, m.here.at) {
		return m.here.at, true
	}
	return m.there.at, false
}

// difference lists the rows for one memory.
func (d *divergence) difference(m shared) []journal.Row {
	switch {
	case m.there.stands && d.here.erased[m.memory]:
		return d.erasedHere(m)
	case m.here.stands && m.there.stands:
		return append(d.renamed(m), d.both(m)...)
	case m.here.stands:
		return d.wentThere(m)
	case m.there.stands:
		return d.wentHere(m)
	}
	return nil
}

// renamed is the row that gives a memory the name that it has there.
func (d *divergence) renamed(m shared) []journal.Row {
	if m.to == m.here.at {
		return nil
	}
	row := byJoin(journal.OpRename, m.here.at, journal.Origin{By: m.here.By})
	row.To, row.Key = m.to, m.there.Key
	return []journal.Row{row}
}

// both lists the rows for a memory that stands on both sides: m.to is where it stands.
func (d *divergence) both(m shared) []journal.Row {
	there := m.there.Accepted
	there.Key = d.keyHere(m)
	mine, theirs := m.here.Hash != m.was.Hash, m.there.Hash != m.was.Hash
	take := false // the text of there, and what belongs to it
	switch {
	case m.here.Hash == m.there.Hash:
		take = m.changed(m.there) && !m.changed(m.here)
	case theirs && (!mine || d.room.lies(m.to, m.there.Hash)):
		take = !d.refused(d.here, there, m.there.at) && !d.keyTaken(there, m.to)
	}
	var rows []journal.Row
	trust := m.here.Trust
	switch {
	case m.changed(m.there) && m.changed(m.here), theirs && !take:
		trust = lowerTrust(m.here.Trust, m.there.Trust)
	case m.changed(m.there):
		trust = m.there.Trust
	}
	switch {
	case take:
		row := accepting(journal.OpReplace, m.to, m.here.Hash, there)
		row.Trust = trust
		rows = append(rows, row)
	case mine && d.refused(d.there, m.here.Accepted, m.here.at):
		row := accepting(journal.OpReplace, m.to, m.here.Hash, m.was)
		row.Trust = lowerTrust(trust, m.was.Trust)
		rows = append(rows, row, outsideOfJoin(m.to, m.here.Accepted, m.was.Hash, refusedThere))
	default:
		rows = d.lowered(m.to, m.here.Accepted, parseTrust(trust), m.there.By)
	}
	if theirs && !take && m.here.Hash != m.there.Hash {
		reason := bothChanged
		if d.refused(d.here, there, m.there.at) {
			reason = refusedHere
		}
		rows = append(rows, outsideOfJoin(m.to, there, m.here.Hash, reason))
	}
	if m.there.at != m.to && d.free(m.there.at) && d.room.lies(m.there.at, m.there.Hash) {
		rows = append(rows, outsideOfJoin(m.there.at, there, "", renamedHere))
	}
	return rows
}

// keyHere is the key that the text of there has at the path where the memory stands here: a
// key that nobody gave is the path's.
func (d *divergence) keyHere(m shared) string {
	switch {
	case m.here.Hash == m.there.Hash:
		return m.here.Key
	case fold.Key(m.there.Key) == fold.Key(strings.TrimSuffix(m.there.at, ".md")):
		return strings.TrimSuffix(m.to, ".md")
	}
	return m.there.Key
}

// wentThere lists the rows for a memory that stands here, and went on the other side.
func (d *divergence) wentThere(m shared) []journal.Row {
	tomb := d.there.left[m.memory]
	back := d.withdrawn(tomb)
	switch {
	case back && m.here.Hash != m.was.Hash:
		return outOfSight(m.here.at, m.here.Accepted, tomb.By, takenBackThere)
	case !back && (m.changed(m.here) || m.here.at != m.path) && !d.room.lies(m.here.at, ""):
		if rows := d.takeBack(m.here.at, m.here.Accepted); rows != nil {
			return rows
		}
		return d.lowered(m.here.at, m.here.Accepted, lastTrust(tomb, m.was), byJoining) // gone there, changed here: what was changed stays
	}
	row := removing(m.to, m.here.Accepted, tomb.By)
	name, retired, archived := d.there.state.ArchivedAt(m.there.at)
	if _, before := d.fork.Archived[name]; archived && !before && retired.Retired == tomb.Freed && retired.Hash == m.here.Hash {
		row.Op, row.Category = journal.OpArchive, retired.Category
		d.brought[name] = true
	}
	return append(d.renamed(m), row)
}

// wentHere lists the rows for a memory that went on this side, and stands on the other.
func (d *divergence) wentHere(m shared) []journal.Row {
	tomb := d.here.left[m.memory]
	outside := func(reason string) []journal.Row {
		return []journal.Row{outsideOfJoin(m.there.at, m.there.Accepted, d.j.state.Accepted[m.there.at].Hash, reason)}
	}
	switch {
	case !m.changed(m.there) && m.there.at == m.path:
		return nil
	case d.withdrawn(tomb):
		return outside(takenBackHere)
	case !d.free(m.there.at) || d.refused(d.here, m.there.Accepted, m.there.at) || d.keyTaken(m.there.Accepted, m.there.at) || m.changed(m.there) && !d.room.lies(m.there.at, m.there.Hash):
		return outside(bothChanged)
	}
	row := accepting(journal.OpAdd, m.there.at, "", m.there.Accepted)
	row.Trust = min(parseTrust(row.Trust), lastTrust(tomb, m.was)).String()
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

// fresh lists the rows for what stands there and is none of the memories in common.
func (d *divergence) fresh(path string) []journal.Row {
	there := d.there.state.Accepted[path]
	here, stands := d.j.state.Accepted[path]
	refusal := d.refusal(d.here, there, path)
	outside := func(reason string) journal.Row { return outsideOfJoin(path, there, here.Hash, reason) }
	switch {
	case stands && here.Hash == there.Hash:
		return d.lowered(path, here, parseTrust(there.Trust), there.By)
	case refusal > 0 && refusal == d.here.state.Purged[path] && !stands: // the same text, purged here
		return []journal.Row{d.purgeOfTheirs(path)}
	case refusal > 0:
		return []journal.Row{outside(refusedHere)}
	case stands && !d.room.lies(path, there.Hash):
		return append(d.takeBack(path, here), outside(bothWrote))
	case d.keyTaken(there, path):
		return []journal.Row{outside(keyIsTaken)}
	case stands:
		row := accepting(journal.OpReplace, path, here.Hash, there)
		row.Trust = lowerTrust(here.Trust, there.Trust)
		return []journal.Row{row}
	}
	if a, back := d.fork.Archived[d.there.stands[path]]; back && d.free(a.Path) {
		return d.restored(a, path, there)
	}
	return []journal.Row{accepting(journal.OpAdd, path, "", there)}
}

// restored lists the rows that bring back here what the other side alone brought back from the
// archive, perhaps under another name by now.
func (d *divergence) restored(a journal.Archived, path string, there journal.Accepted) []journal.Row {
	row := accepting(journal.OpRestore, a.Path, "", there)
	row.Ref = a.Retired
	if a.Path == path {
		return []journal.Row{row}
	}
	name := byJoin(journal.OpRename, a.Path, journal.Origin{By: there.By})
	name.To, name.Key = path, there.Key
	return []journal.Row{row, name}
}

// takeBack lists the rows for a text that was accepted here and that the operator refused
// on the other side.
func (d *divergence) takeBack(path string, here journal.Accepted) []journal.Row {
	if now, stands := d.j.state.Accepted[path]; !stands || now.Hash != here.Hash || !d.refused(d.there, here, path) {
		return nil
	}
	return outOfSight(path, here, byOperator, refusedThere)
}

// stowing is the row that puts into the archive here what a side retired.
func stowing(a journal.Archived) journal.Row {
	row := accepting(journal.OpStow, a.Path, "", a.Accepted)
	row.Category, row.Link = a.Category, a.SupersededBy
	return row
}

// addNames adds a row for each name that a memory had on the other side alone. It stands at
// theirs there, and at to here.
func (d *divergence) addNames(theirs, to string) error {
	if d.free(to) {
		return nil
	}
	names := d.there.state.Former[theirs]
	if theirs != to {
		names = append(slices.Clone(names), journal.Name{Path: theirs, Row: d.fork.Seq + 1})
	}
	for _, was := range names {
		known := slices.ContainsFunc(d.j.state.Former[to], func(n journal.Name) bool { return n.Path == was.Path })
		if was.Row <= d.fork.Seq || known || was.Path == to {
			continue
		}
		row := byJoin(journal.OpAlias, was.Path, journal.Origin{})
		row.To = to
		if err := d.add(row); err != nil {
			return err
		}
	}
	return nil
}

// retired lists the rows for what the other side has put into its archive.
func (d *divergence) retired() []journal.Row {
	var rows []journal.Row
	for name, a := range journal.Sorted(d.there.state.Archived) {
		if _, before := d.fork.Archived[name]; before || d.brought[name] {
			continue
		}
		memory := d.there.kept[name]
		if d.here.erased[memory] && d.here.stands[d.here.at[memory]] != memory { // nor does the archive bring it back
			if d.unused(a.Path) {
				rows = append(rows, d.purgeOfTheirs(a.Path))
			}
			if _, kept := d.j.state.Archived[name]; !kept {
				_ = d.room.disk.LibRemove(archiveName(a.Retired, a.Path)) // else tidy does
			}
			continue
		}
		row := stowing(a)
		row.Link = "" // what took its place there may be another memory here
		rows = append(rows, row)
	}
	return rows
}

// waiting lists the rows for candidates: those that wait on the other side, but for memories that were
// purged here, and those that wait here and were decided there.
func (d *divergence) waiting() []journal.Row {
	var rows []journal.Row
	for id, h := range journal.Sorted(d.there.state.Pending) {
		_, before := d.fork.Pending[id]
		_, now := d.here.state.Pending[id]
		if before || now || d.ofErased(h) || d.room.heldBytes(id, h.Hash) == nil {
			continue
		}
		row := byJoin(journal.OpHold, h.Path, h.Origin)
		row.To, row.Old, row.New, row.Key, row.Act, row.ID, row.Digest, row.Plan, row.Rules = h.To, h.Base, h.Hash, h.Key, h.Op, id, h.Digest, h.Plan, h.Rules
		rows = append(rows, row)
	}
	for id, h := range journal.Sorted(d.here.state.Pending) {
		_, before := d.fork.Pending[id]
		if _, waits := d.there.state.Pending[id]; before && !waits {
			row := byJoin(journal.OpWithdraw, h.Path, journal.Origin{})
			row.ID = id
			rows = append(rows, row)
		}
	}
	return rows
}

// refusals lists the rows for what the operator refused on the other side.
func (d *divergence) refusals() []journal.Row {
	var rows []journal.Row
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

// outOfSight lists the rows for a text that stands here and is shown no longer: it is kept as a
// change made outside.
func outOfSight(path string, here journal.Accepted, by, reason string) []journal.Row {
	return []journal.Row{removing(path, here, by), outsideOfJoin(path, here, "", reason)}
}

// removing is the row that takes away what stands here.
func removing(path string, here journal.Accepted, by string) journal.Row {
	row := byJoin(journal.OpRemove, path, journal.Origin{By: by})
	row.Old, row.Key = here.Hash, here.Key
	return row
}

// lowerTrust names the lower of two trusts.
func lowerTrust(one, other string) string {
	return min(parseTrust(one), parseTrust(other)).String()
}
