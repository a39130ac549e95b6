package scribe

import (
	"cmp"
	"maps"
	"slices"

	"github.com/memoryroom/scribe/internal/journal"
)

// descent follows memories through their renames, row by row: which texts and which names has
// the memory had that is, or was last, at a path? A purge takes all of them. Texts are known by
// the first twelve digits of their hash, as versions are named. The zero value is ready.
type descent struct {
	texts map[string]map[string]bool // by path: what its memory was, here and on sides that were joined
	names map[string][]journal.Name  // by path: what its memory was called before
	since map[string]int64           // by path: the row with which its memory began
	freed map[string]int64           // by path: the last row with which nothing stood there

	// under is, by path, what had the path before a rename brought there who has it now.
	under map[string]map[string]bool

	// fresh is, by path, what a side that was joined has there, and no memory here has been: until
	// a row brings it.
	fresh map[string]map[string]bool
}

// begin takes in what a base says of the rows before it.
func (d *descent) begin(s *journal.State) {
	d.texts, d.under, d.fresh = map[string]map[string]bool{}, map[string]map[string]bool{}, map[string]map[string]bool{}
	d.names, d.since, d.freed = maps.Clone(s.Former), map[string]int64{}, map[string]int64{}
	if d.names == nil {
		d.names = map[string][]journal.Name{}
	}
	for path, a := range s.Accepted {
		d.put(path, 0, a.Hash)
	}
	for _, a := range s.Archived {
		if slices.ContainsFunc(s.Former[a.Path], func(was journal.Name) bool { return !was.Alias && was.Row > a.Retired }) {
			d.under[a.Path] = union(d.under[a.Path], textsOf(a.Hash)) // a rename brought another there since
		} else {
			d.put(a.Path, 0, a.Hash)
		}
	}
	for path, t := range s.Tombs {
		d.freed[path] = t.Freed
		d.put(path, 0, t.Hash)
	}
	for path, names := range s.Former {
		for _, was := range names {
			if t := s.Tombs[was.Path]; t.Freed == was.Row {
				d.put(path, 0, t.Hash)
			}
		}
	}
}

// step takes in the next row. A memory's line ends with its purge.
func (d *descent) step(row journal.Row) {
	if d.texts == nil {
		d.begin(new(journal.State))
	}
	at := d.leadsTo(row)
	if frees(row) || at != row.Path {
		d.freed[row.Path] = row.Seq
	}
	switch {
	case row.Op == journal.OpHold, row.Op == journal.OpPrune: // about texts that are nobody's yet, or no more
		return
	case row.Op == journal.OpPurge && row.ID == "":
		d.end(row.Path)
		d.put(row.Path, row.Seq, row.New) // what it spared
		return
	case row.Op == journal.OpAlias:
		d.names[row.To] = append(slices.Clone(d.names[row.To]), journal.Name{Path: row.Path, Row: row.Seq, Alias: true})
	case at != row.Path:
		d.move(row, at)
	}
	d.put(at, row.Seq, row.Old, row.New)
	if fresh := d.fresh[at]; fresh != nil && row.New != "" && opOfRow(row) != journal.OpRename {
		d.add(at, row.Seq, fresh)
		delete(d.fresh, at)
	}
	if at != row.Path && row.Op == journal.OpRollback { // what was there before the memory that went back
		d.put(row.Path, row.Seq, row.New)
	}
}

// leadsTo is the path at which a row's memory is after it.
func (d *descent) leadsTo(row journal.Row) string {
	if opOfRow(row) == journal.OpRename && row.To != "" {
		return row.To
	}
	return cmp.Or(d.back(row), row.Path)
}

// move brings the line of a row's path to another.
func (d *descent) move(row journal.Row, to string) {
	from := row.Path
	d.under[to] = union(d.under[to], d.texts[to])
	delete(d.texts, to)
	d.add(to, d.since[from], d.texts[from])
	d.names[to] = slices.Concat(d.names[to], d.names[from], []journal.Name{{Path: from, Row: row.Seq}})
	before := d.under[from]
	d.end(from)
	if len(before) > 0 { // who had it before has it again
		d.add(from, 0, before)
	}
}

// end ends the line of a path.
func (d *descent) end(path string) {
	delete(d.texts, path)
	delete(d.names, path)
	delete(d.since, path)
	delete(d.under, path)
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

// add adds texts to the line of a path, which begins with that row where there is none.
func (d *descent) add(path string, row int64, texts map[string]bool) {
	if d.texts[path] == nil {
		d.since[path] = row
	}
	d.texts[path] = union(d.texts[path], texts)
}

// put is add for the texts of hashes; "" is none.
func (d *descent) put(path string, row int64, hashes ...string) {
	if texts := textsOf(hashes...); len(texts) > 0 {
		d.add(path, row, texts)
	}
}

func textsOf(hashes ...string) map[string]bool {
	texts := map[string]bool{}
	for _, hash := range hashes {
		if hash != "" {
			texts[hash[:12]] = true
		}
	}
	return texts
}

// union adds the members of b to a, which may be nil.
func union(a, b map[string]bool) map[string]bool {
	if a == nil {
		a = map[string]bool{}
	}
	maps.Copy(a, b)
	return a
}

// purged is what a purge row takes: the names of the memory, and its texts.
func (d *descent) purged(row journal.Row) (names []string, texts map[string]bool) {
	texts = union(union(nil, d.texts[row.Path]), d.under[row.Path])
	if row.Ref > 0 {
		texts = union(texts, d.fresh[row.Path])
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
	there, here := d.parted(from)
	for _, row := range side {
		line, known := here[row.Path]
		at := there.leadsTo(row)
		there.step(row)
		if _, stays := there.texts[row.Path]; !stays || at != row.Path {
			delete(here, row.Path)
		}
		if known && at != row.Path {
			here[at] = line
		}
	}
	for path, texts := range there.texts { // as the side left them
		line, known := here[path]
		if !known {
			d.fresh[path] = union(d.fresh[path], texts)
			continue
		}
		d.texts[line] = union(d.texts[line], texts)
		for _, name := range there.names[path] {
			if !slices.ContainsFunc(d.names[line], func(n journal.Name) bool { return n.Path == name.Path }) {
				d.names[line] = append(d.names[line], name)
			}
		}
	}
}

// parted is where a side begins that continues a row: each memory that there was then, under the
// name that it had, with all that is known of it here. here tells, by that name, its path now.
func (d *descent) parted(row int64) (there descent, here map[string]string) {
	there.begin(new(journal.State))
	here = map[string]string{}
	for path, texts := range d.texts {
		if d.since[path] > row {
			continue
		}
		was, names := "", []journal.Name(nil)
		for _, name := range d.names[path] {
			if name.Row <= row || name.Alias {
				names = append(names, name)
			} else {
				was = cmp.Or(was, name.Path) // before the first rename since
			}
		}
		was = cmp.Or(was, path)
		there.texts[was], there.names[was], here[was] = maps.Clone(texts), names, path
	}
	return there, here
}
