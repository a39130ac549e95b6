package scribe

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/memoryroom/scribe/internal/journal"
)

// lineage is what the journal says of the versions: which file each row promises, when
// what it holds stopped to count, and what may be gone. It is built by one pass over
// the rows.
type lineage struct {
	files   map[string]*textFile  // by version name
	bySeq   map[int64][]*textFile // the same, by the row that wrote them
	closed  map[string][]until    // by path, in the order of the rows
	pruned  map[string]int64      // by path: what ended there by that row was pruned
	state   *journal.State        // after the last row
	need    rests                 // what it rests on
	rows    int64                 // the last row
	dropped journal.Row           // the last prune row that dropped files of the journal; Ref is 0 for none
	joins   []journal.Row
	sides   []joinedSide // what the joins joined
	// strange counts the rows that do not count, for want of a right MAC.
	strange int
}

// textFile is one file of the versions, as the rows explain it.
type textFile struct {
	seq      int64
	hash     string
	path     string
	promised bool    // a row put these bytes: the file has to be there
	purged   bool    // a later purge took them
	twin     bool    // a rename's second copy of bytes that it did not change: it goes with its row
	ends     []until // where they stopped to count, and under which path
}

// until is the end of a text at a path.
type until struct {
	path string
	hash string
	row  int64
	time time.Time
}

// readLineage reads the journal.
func (r *Room) readLineage(ctx context.Context) (*lineage, error) {
	l := &lineage{files: map[string]*textFile{}, bySeq: map[int64][]*textFile{}, closed: map[string][]until{}, pruned: map[string]int64{}}
	var line descent
	var last journal.Row
	was := &rested{paths: map[string][]until{}}
	began := false
	state, err := r.replay(ctx, func(before *journal.State, row journal.Row) bool {
		if !began {
			began = true
			l.base(before)
			line.begin(before)
			was.archived = maps.Clone(before.Archived)
			for path := range restsOn(before).paths() {
				was.paths[path] = resting(before, path)
			}
		}
		l.settle(was, before, last)
		l.rows, last = row.Seq, row
		if !r.vouched(row) {
			l.explain(row)
			l.strange++
			return true
		}
		if row.Op == journal.OpPurge && row.ID == "" {
			l.purge(row, line, before)
		}
		line.step(row)
		side := r.sideOf(row)
		line.join(side, row.Ref)
		l.take(before, row)
		l.join(side)
		return true
	})
	if err != nil {
		return nil, err
	}
	l.settle(was, state, last)
	l.state, l.need = state, restsOn(state)
	l.sides = r.joinedSides(l.joins)
	return l, nil
}

// join explains the files of a side that was joined. What a purge took before on this side
// may be there again, under the name that a row of the other has given it.
func (l *lineage) join(side []journal.Row) {
	for _, row := range side {
		l.explain(row)
		for _, k := range l.bySeq[row.Seq] {
			if k.purged && (k.hash == row.New || k.hash == row.Old) {
				k.purged, k.promised = false, false
			}
		}
	}
}

// base takes in the files on which a base rests.
func (l *lineage) base(s *journal.State) {
	for path, a := range s.Accepted {
		l.file(a.Seq, a.Hash, path).promised = true
	}
	for _, a := range s.Archived {
		l.file(a.Seq, a.Hash, a.Path).promised = true
	}
	for path, t := range s.Tombs {
		if t.Hash != "" {
			l.file(t.Seq, t.Hash, path).promised = true
		}
	}
}

// rests lists the versions without which a state can not be shown, restored or judged
// against, and the paths that rest on each.
type rests map[string][]string

// restsOn lists what a state rests on. What is left of the paths purged is judged against nothing.
func restsOn(s *journal.State, purged ...string) rests {
	need := rests{}
	add := func(seq int64, hash, path string) {
		if name := journal.VersionName(seq, hash); name != "" { // a purged tomb has no hash
			need[name] = append(need[name], path)
		}
	}
	for path, a := range s.Accepted {
		add(a.Seq, a.Hash, path)
	}
	for _, a := range s.Archived {
		add(a.Seq, a.Hash, a.Path)
	}
	for path, t := range s.Tombs {
		if !slices.Contains(purged, path) {
			add(t.Seq, t.Hash, path)
		}
	}
	return need
}

// paths is the set of all paths that rest on something.
func (n rests) paths() map[string]bool {
	all := map[string]bool{}
	for _, paths := range n {
		for _, p := range paths {
			all[p] = true
		}
	}
	return all
}

// explain notes the files that a row can have left, none of which it promises.
func (l *lineage) explain(row journal.Row) {
	path := row.Path
	if opOfRow(row) == journal.OpRename {
		path = row.To
	}
	if brings(row) {
		l.file(row.Seq, row.New, path)
	}
	if row.Old != "" && row.Op != journal.OpHold && row.Op != journal.OpPrune {
		l.file(row.Seq, row.Old, row.Path)
	}
}

func (l *lineage) file(seq int64, hash, path string) *textFile {
	name := journal.VersionName(seq, hash)
	if l.files[name] == nil {
		l.files[name] = &textFile{seq: seq, hash: hash, path: path}
		l.bySeq[seq] = append(l.bySeq[seq], l.files[name])
	}
	return l.files[name]
}

// take notes what a row did to versions.
func (l *lineage) take(before *journal.State, row journal.Row) {
	l.explain(row)
	if brings(row) {
		k := l.file(row.Seq, row.New, row.Path)
		k.twin = opOfRow(row) == journal.OpRename && row.New == row.Old
		k.promised = k.promised || !k.twin
	}
	if row.Old != "" && row.Old != row.New && row.Op != journal.OpHold && row.Op != journal.OpPrune && row.Op != journal.OpAdopt && row.Op != journal.OpObserve {
		k := l.file(row.Seq, row.Old, row.Path)
		if before.Accepted[row.Path].Hash != row.Old {
			l.end(k, row.Path, row)
		} else { // a second copy, which may go with the first
			k.ends = append(k.ends, until{row.Path, row.Old, row.Seq, row.Time})
		}
	}
	switch {
	case row.Op == journal.OpAbort:
		for _, k := range l.bySeq[row.Ref] {
			k.promised = false
			l.end(k, k.path, row)
		}
	case row.Op == journal.OpPrune && row.Path != "":
		l.pruned[row.Path] = max(l.pruned[row.Path], row.Ref)
	case row.Op == journal.OpPrune:
		l.dropped = row
	case row.Op == journal.OpJoin:
		l.joins = append(l.joins, row)
	}
}

func (l *lineage) end(k *textFile, path string, row journal.Row) {
	u := until{path, k.hash, row.Seq, row.Time}
	k.ends = append(k.ends, u)
	l.closed[path] = append(l.closed[path], u)
}

// purge notes which files a purge was to take: what the memory's line held until then, and
// no other memory rested on.
func (l *lineage) purge(row journal.Row, line descent, before *journal.State) {
	names, texts := line.purged(row)
	after := before.Clone()
	after.Apply(row)
	need := restsOn(after, names...)
	for name, k := range l.files {
		k.purged = k.purged || k.seq <= row.Seq && texts[k.hash[:12]] && len(need[name]) == 0
	}
}

// resting lists what a path rests on: what stands there, and what is judged against when
// something comes back. until.row is the row that wrote the version.
func resting(s *journal.State, path string) []until {
	var all []until
	if a, ok := s.Accepted[path]; ok {
		all = append(all, until{path: path, hash: a.Hash, row: a.Seq})
	}
	if t, ok := s.Tombs[path]; ok && t.Hash != "" {
		all = append(all, until{path: path, hash: t.Hash, row: t.Seq})
	}
	return all
}

// rested is what was rested on before the last row: by path, and in the archive by name.
type rested struct {
	paths    map[string][]until
	archived map[string]journal.Archived
}

// settle notes what the last row ended, and brings was up to date.
func (l *lineage) settle(was *rested, now *journal.State, last journal.Row) {
	at := []string{last.Path, last.To}
	if last.Op == journal.OpAnchor || last.Op == journal.OpAbort {
		at = slices.Concat(slices.Collect(maps.Keys(was.paths)), slices.Collect(maps.Keys(now.Accepted)), slices.Collect(maps.Keys(now.Tombs)))
	}
	var ended []until
	switch opOfRow(last) {
	case journal.OpArchive, journal.OpStow, journal.OpLink, journal.OpRestore, journal.OpRename, journal.OpRollback, journal.OpPurge, journal.OpAbort, journal.OpAnchor:
		for name, a := range journal.Sorted(was.archived) {
			if is := now.Archived[name]; is.Seq != a.Seq || is.Hash != a.Hash {
				ended = append(ended, until{path: a.Path, hash: a.Hash, row: a.Seq})
			}
		}
		was.archived = maps.Clone(now.Archived)
	}
	for _, path := range at {
		is := resting(now, path)
		for _, u := range was.paths[path] {
			if !slices.Contains(is, u) {
				ended = append(ended, u)
			}
		}
		was.paths[path] = is
	}
	for i, u := range ended {
		still := slices.Contains(was.paths[u.path], u) || inArchive(was.archived, u)
		if !still && !slices.Contains(ended[:i], u) {
			l.end(l.file(u.row, u.hash, u.path), u.path, last)
		}
	}
}

// inArchive reports whether something retired from the path of u has its text.
func inArchive(archived map[string]journal.Archived, u until) bool {
	for _, a := range archived {
		if a.Path == u.path && a.Seq == u.row && a.Hash == u.hash {
			return true
		}
	}
	return false
}

// gone reports whether the rows say that a file is no more: it was purged, or all that it
// held was pruned and nothing rests on it.
func (l *lineage) gone(name string) bool {
	k := l.files[name]
	if k == nil || k.purged {
		return k != nil
	}
	if k.twin && k.seq <= l.dropped.Ref {
		return l.needless(name)
	}
	for _, u := range k.ends {
		if u.row > l.pruned[u.path] {
			return false
		}
	}
	return len(k.ends) > 0 && l.needless(name)
}

// needless reports whether nothing that stands, is archived or was removed rests on a
// version.
func (l *lineage) needless(name string) bool { return len(l.need[name]) == 0 }
