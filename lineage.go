package scribe

import (
	"cmp"
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
	files   map[string]*kin    // by version name
	bySeq   map[int64][]*kin   // the same, by the row that wrote them
	closed  map[string][]until // by path, in the order of the rows
	pruned  map[string]int64   // by path: what ended there by that row was pruned
	state   *journal.State     // after the last row
	need    rests              // what it rests on
	rows    int64              // the last row
	dropped journal.Row        // the last prune row that dropped files of the journal; Ref is 0 for none
	joins   []journal.Row
	sides   []joinedSide // what the joins joined
	// strange counts the rows that do not count, for want of a right MAC.
	strange int
}

// kin is one version file, as the rows explain it.
type kin struct {
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

// descent follows memories through their renames: which texts and names a path's
// memory had. The zero value is ready.
type descent struct {
	texts map[string]map[string]bool // by the path that the memory has: hash prefixes, as versions are named by
	names map[string][]journal.Name  // what it was called before
	since map[string]int64           // the row with which its line began
	freed map[string]int64           // by path: the row with which nothing stood there, last
	under map[string]map[string]bool // the texts of who had the path before a rename brought it there
	fresh map[string]map[string]bool // the texts of what a side that was joined has at a path, and no memory here: until a row brings it
}

// step takes in the next row. A memory's line ends with its purge.
func (d *descent) step(row journal.Row) {
	if d.texts == nil {
		d.begin(new(journal.State))
	}
	at := row.Path
	if opOfRow(row) == journal.OpRename && row.To != "" {
		at = row.To
	} else if back := d.back(row); back != "" {
		at = back
	}
	if frees(row) || at != row.Path {
		d.freed[row.Path] = row.Seq
	}
	if at != row.Path {
		d.under[at] = merge(d.under[at], d.texts[at])
		delete(d.texts, at)
		d.put(at, d.since[row.Path], d.texts[row.Path])
		d.names[at] = slices.Concat(d.names[at], d.names[row.Path], []journal.Name{{Path: row.Path, Row: row.Seq}})
	}
	if row.Op == journal.OpAlias {
		d.names[row.To] = append(slices.Clone(d.names[row.To]), journal.Name{Path: row.Path, Row: row.Seq, Alias: true})
	}
	for _, hash := range []string{row.Old, row.New} {
		if hash != "" && row.Op != journal.OpHold && row.Op != journal.OpPrune {
			d.put(at, row.Seq, map[string]bool{hash[:12]: true})
		}
	}
	if row.New != "" && d.fresh[at] != nil && opOfRow(row) != journal.OpRename && row.Op != journal.OpPurge && row.Op != journal.OpHold {
		d.put(at, row.Seq, d.fresh[at])
		delete(d.fresh, at)
	}
	if at != row.Path || row.Op == journal.OpPurge && row.ID == "" {
		delete(d.texts, row.Path)
		delete(d.names, row.Path)
		delete(d.since, row.Path)
		if texts := d.under[row.Path]; at != row.Path && len(texts) > 0 { // who had it before has it again
			d.put(row.Path, 0, texts)
		}
		delete(d.under, row.Path)
	}
	if row.Op == journal.OpPurge && row.New != "" { // spared
		d.put(row.Path, row.Seq, map[string]bool{row.New[:12]: true})
	}
	if at != row.Path && row.Op == journal.OpRollback && row.New != "" { // what was there before the memory that went back
		d.put(row.Path, row.Seq, map[string]bool{row.New[:12]: true})
	}
}

// back is where a rollback brings a memory. One that was not there yet at the row to which
// it goes back goes nowhere, and what came to the path since it was free last has no name of
// before.
func (d *descent) back(row journal.Row) string {
	if row.Op != journal.OpRollback || row.Ref < d.since[row.Path] {
		return ""
	}
	return row.Back(slices.DeleteFunc(slices.Clone(d.names[row.Path]), func(was journal.Name) bool { return was.Row < d.freed[row.Path] }))
}

// frees reports whether nothing stands at a row's path once it is carried out.
func frees(row journal.Row) bool {
	switch opOfRow(row) {
	case journal.OpArchive, journal.OpRemove:
		return true
	case journal.OpRollback, journal.OpObserve:
		return row.New == ""
	}
	return false
}

// put adds texts to the line of a path, which begins with them where there is none.
func (d *descent) put(path string, row int64, texts map[string]bool) {
	if d.texts[path] == nil {
		d.since[path] = row
	}
	d.texts[path] = merge(d.texts[path], texts)
}

// purged is what a purge row takes: the names of the memory, and its texts.
func (d *descent) purged(row journal.Row) (names []string, texts map[string]bool) {
	texts = merge(merge(nil, d.texts[row.Path]), d.under[row.Path])
	if row.Ref > 0 {
		texts = merge(texts, d.fresh[row.Path])
	}
	if row.New != "" {
		delete(texts, row.New[:12])
	}
	return d.called(row.Path), texts
}

// called lists a path, and what its memory was called before.
func (d *descent) called(path string) []string {
	all := []string{path}
	for _, was := range d.names[path] {
		all = append(all, was.Path)
	}
	return all
}

// join takes in the rows of a side that a row joined, which continue row from: the texts and
// names that a memory had there it had, whatever it is called here. What it had come to here
// since then tells which it is.
func (d *descent) join(side []journal.Row, from int64) {
	if len(side) == 0 {
		return
	}
	there := descent{}
	there.begin(new(journal.State))
	here := map[string]string{} // by the path that the memory has there: its path here
	for path, texts := range d.texts {
		was, old := path, d.since[path] <= from
		var names []journal.Name
		for _, name := range d.names[path] {
			switch {
			case name.Row <= from || name.Alias:
				names = append(names, name)
			case was == path:
				was = name.Path
			}
		}
		if old {
			there.texts[was], there.names[was], here[was] = maps.Clone(texts), names, path
		}
	}
	for _, row := range side {
		line, known := here[row.Path]
		there.step(row)
		if _, stands := there.texts[row.Path]; !stands {
			delete(here, row.Path)
			if at := cmp.Or(row.To, row.Path); known && at != row.Path {
				here[at] = line
			}
		}
	}
	for path, texts := range there.texts {
		line, known := here[path]
		if !known {
			d.fresh[path] = merge(d.fresh[path], texts)
			continue
		}
		d.texts[line] = merge(d.texts[line], texts)
		for _, name := range there.names[path] {
			if !slices.ContainsFunc(d.names[line], func(n journal.Name) bool { return n.Path == name.Path }) {
				d.names[line] = append(d.names[line], name)
			}
		}
	}
}

// begin takes in what a base says of the rows before it.
func (d *descent) begin(s *journal.State) {
	d.texts, d.under, d.fresh = map[string]map[string]bool{}, map[string]map[string]bool{}, map[string]map[string]bool{}
	d.names, d.since, d.freed = map[string][]journal.Name{}, map[string]int64{}, map[string]int64{}
	maps.Copy(d.names, s.Former)
	for path, a := range s.Accepted {
		d.texts[path] = map[string]bool{a.Hash[:12]: true}
	}
	for _, a := range s.Archived {
		text := map[string]bool{a.Hash[:12]: true}
		if slices.ContainsFunc(s.Former[a.Path], func(was journal.Name) bool { return !was.Alias && was.Row > a.Retired }) {
			d.under[a.Path] = merge(d.under[a.Path], text)
		} else {
			d.texts[a.Path] = merge(d.texts[a.Path], text)
		}
	}
	for path, t := range s.Tombs {
		d.freed[path] = t.Freed
		if t.Hash != "" {
			d.texts[path] = merge(d.texts[path], map[string]bool{t.Hash[:12]: true})
		}
	}
	for path, names := range s.Former {
		for _, was := range names {
			if t := s.Tombs[was.Path]; t.Freed == was.Row && t.Hash != "" {
				d.texts[path] = merge(d.texts[path], map[string]bool{t.Hash[:12]: true})
			}
		}
	}
}

// readLineage reads the journal.
func (r *Room) readLineage(ctx context.Context) (*lineage, error) {
	l := &lineage{files: map[string]*kin{}, bySeq: map[int64][]*kin{}, closed: map[string][]until{}, pruned: map[string]int64{}}
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

func restsOn(s *journal.State) rests {
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
		add(t.Seq, t.Hash, path)
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

func (l *lineage) file(seq int64, hash, path string) *kin {
	name := journal.VersionName(seq, hash)
	if l.files[name] == nil {
		l.files[name] = &kin{seq: seq, hash: hash, path: path}
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

func (l *lineage) end(k *kin, path string, row journal.Row) {
	u := until{path, k.hash, row.Seq, row.Time}
	k.ends = append(k.ends, u)
	l.closed[path] = append(l.closed[path], u)
}

// purge notes which files a purge was to take: what the memory's line held until then, and
// no other memory rested on.
func (l *lineage) purge(row journal.Row, line descent, before *journal.State) {
	names, texts := line.purged(row)
	kept := map[string]bool{} // as leftovers has it
	for path, a := range before.Accepted {
		kept[journal.VersionName(a.Seq, a.Hash)] = kept[journal.VersionName(a.Seq, a.Hash)] || path != row.Path
	}
	for _, a := range before.Archived {
		kept[journal.VersionName(a.Seq, a.Hash)] = kept[journal.VersionName(a.Seq, a.Hash)] || !before.Called(a.Path, row.Path, a.Retired)
	}
	for path, t := range before.Tombs {
		kept[journal.VersionName(t.Seq, t.Hash)] = kept[journal.VersionName(t.Seq, t.Hash)] || !slices.Contains(names, path)
	}
	for name, k := range l.files {
		k.purged = k.purged || k.seq <= row.Seq && texts[k.hash[:12]] && !kept[name]
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
