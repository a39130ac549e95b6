package scribe

import (
	"cmp"
	"slices"

	"github.com/memoryroom/scribe/internal/fold"
	"github.com/memoryroom/scribe/internal/journal"
)

// side is what one side of a join came to, and what became on it of each memory that the
// sides had in common. A memory that stood when they parted is known by the path that it had
// then, and one that was in the archive by its name there. What a side has made since is
// nobody's memory: of that it knows the state alone.
type side struct {
	state  *journal.State
	at     map[string]string          // by memory: the path that it has, or had when it went
	stands map[string]string          // by path: the memory there
	went   map[string]string          // by path: the memory that stood there last
	kept   map[string]string          // by name in the archive: the memory that was retired
	left   map[string]journal.Tomb    // by memory: how it went
	texts  map[string]map[string]bool // by memory: the hashes of all that it was
	erased map[string]bool            // the memories that were purged
	purges []purged
}

// purged is one purge of a side.
type purged struct {
	path     string   // as its row names it
	memories []string // that it took: what stood there, or had last, and what was retired there
}

// sideFrom is the side that rows made of fork.
func (r *Room) sideFrom(fork *journal.State, rows []journal.Row) *side {
	s := &side{
		state: fork.Clone(), at: map[string]string{}, stands: map[string]string{}, went: map[string]string{}, kept: map[string]string{},
		left: map[string]journal.Tomb{}, texts: map[string]map[string]bool{}, erased: map[string]bool{},
	}
	for path, a := range fork.Accepted {
		s.at[path], s.stands[path], s.texts[path] = path, path, map[string]bool{a.Hash: true}
	}
	for name, a := range fork.Archived {
		s.at[name], s.kept[name], s.texts[name] = a.Path, name, map[string]bool{a.Hash: true}
	}
	undone := map[int64]bool{}
	for _, row := range rows {
		if row.Op == journal.OpAbort && r.vouched(row) {
			undone[row.Ref] = true
		}
	}
	for _, row := range rows {
		if !r.vouched(row) {
			continue
		}
		if !undone[row.Seq] {
			s.step(row)
		}
		s.state.Apply(row)
	}
	return s
}

// step follows the memories through one row, before which s.state is.
func (s *side) step(row journal.Row) {
	at, memory := row.Path, s.stands[row.Path]
	switch opOfRow(row) {
	case journal.OpAdd, journal.OpReplace, journal.OpEdit, journal.OpAdopt:
		if _, stands := s.state.Accepted[row.Path]; !stands { // who writes anew where one went goes on with it
			s.comes(row.Path, s.went[row.Path])
		}
	case journal.OpRename:
		at = row.To
		s.moves(row.Path, at)
	case journal.OpRollback:
		at = s.rollsBack(row)
	case journal.OpArchive:
		s.kept[journal.ArchiveName(row.Path, row.Seq)] = memory
		s.goes(row)
	case journal.OpStow: // by a join before this one
		s.kept[journal.ArchiveName(row.Path, row.Seq)] = s.went[row.Path]
		return
	case journal.OpRestore:
		name := journal.ArchiveName(row.Path, row.Ref)
		if row.Ref == 0 {
			name, _, _ = s.state.ArchivedAt(row.Path)
		}
		at = cmp.Or(row.To, row.Path)
		s.comes(at, s.kept[name])
	case journal.OpLink:
		memory = s.kept[journal.ArchiveName(row.Path, row.Ref)]
	case journal.OpRemove:
		s.goes(row)
	case journal.OpObserve:
		if row.New == "" {
			s.goes(row)
		}
	case journal.OpPurge:
		if row.ID == "" {
			s.purge(row)
		}
		return
	default:
		return
	}
	memory = cmp.Or(memory, s.stands[at])
	for _, hash := range []string{row.Old, row.New} {
		if memory != "" && hash != "" {
			s.texts[memory][hash] = true
		}
	}
}

// rollsBack follows a rollback, and gives the path that the memory has after it.
func (s *side) rollsBack(row journal.Row) (at string) {
	before := s.went[row.Path]
	if before == "" { // what was retired since never was
		if name, a, ok := s.state.ArchivedAt(row.Path); ok && a.Retired > row.Ref {
			before = s.kept[name]
		}
	}
	_, stands := s.state.Accepted[row.Path]
	back := row.Back(s.state.Former[row.Path])
	if _, there := s.state.Accepted[back]; there {
		s.moves(row.Path, back)
	} else {
		back = "" // it was not there yet: the row that puts it there would have come first
	}
	switch {
	case row.New != "" && (back != "" || !stands):
		s.comes(row.Path, before)
	case row.New == "":
		s.goes(row)
	}
	return cmp.Or(back, row.Path)
}

// purge notes which memories a purge takes.
func (s *side) purge(row journal.Row) {
	p := purged{path: row.Path}
	memory := cmp.Or(s.stands[row.Path], s.went[row.Path])
	s.goes(row)
	if memory != "" {
		p.memories = append(p.memories, memory)
	}
	for name, a := range journal.Sorted(s.state.Archived) {
		if memory := s.kept[name]; memory != "" && s.state.Called(a.Path, row.Path, a.Retired) && !slices.Contains(p.memories, memory) && s.stands[s.at[memory]] != memory {
			p.memories = append(p.memories, memory)
		}
	}
	for _, memory := range p.memories {
		s.erased[memory] = true
		tomb := s.left[memory]
		tomb.Freed, tomb.By = row.Seq, row.By // whoever took it away before
		s.left[memory] = tomb
	}
	s.purges = append(s.purges, p)
}

func (s *side) moves(from, to string) {
	memory, ok := s.stands[from]
	delete(s.stands, from)
	if ok {
		s.stands[to], s.at[memory] = memory, to
	}
}

// goes frees a row's path.
func (s *side) goes(row journal.Row) {
	if memory, ok := s.stands[row.Path]; ok {
		acc := s.state.Accepted[row.Path]
		delete(s.stands, row.Path)
		s.went[row.Path] = memory
		s.left[memory] = journal.Tomb{Hash: acc.Hash, Trust: acc.Trust, Freed: row.Seq, By: row.By}
	}
}

// comes puts a memory at a path where none stands, unless it stands elsewhere.
func (s *side) comes(path, memory string) {
	if _, ok := s.stands[path]; ok || memory == "" || s.stands[s.at[memory]] == memory {
		return
	}
	s.stands[path], s.at[memory] = memory, path
}

// withdrawn reports whether the operator freed what left a tomb, after the sides parted. A
// file that was deleted in an editor is nobody's decision.
func (d *divergence) withdrawn(tomb journal.Tomb) bool {
	return tomb.Freed > d.fork.Seq && !slices.Contains([]string{"", byWriter, byJoining, byRepair}, tomb.By)
}

// refused reports whether the operator of a side refused a text, or purged it, after the
// sides parted, and did not write it by hand since.
func (d *divergence) refused(by *side, text journal.Accepted, path string) bool {
	return d.refusal(by, text, path) > 0
}

// refusal is the row that did; 0 for none.
func (d *divergence) refusal(by *side, text journal.Accepted, path string) int64 {
	since := func(digest string) int64 {
		if _, before := d.fork.Refused[digest]; before {
			return 0
		}
		return by.state.Refused[digest]
	}
	any := false // else the text need not be read
	for digest := range by.state.Refused {
		any = any || since(digest) > 0
	}
	if !any {
		return 0
	}
	data := d.bytes(path, text.Hash)
	if data == nil {
		return 0
	}
	for _, base := range [][]byte{nil, data} { // a body in these words, and these labels
		if row := since(d.room.digestOf(true, path, "", base, data)); row > 0 {
			return row
		}
	}
	return 0
}

// keyTaken reports whether a memory that stands here at none of the paths has the key of a
// text that is to stand at the first.
func (d *divergence) keyTaken(text journal.Accepted, paths ...string) bool {
	path := paths[0]
	if text.Key == "" || path == indexName {
		return false
	}
	if stands, ok := d.j.state.Accepted[path]; ok && fold.Key(stands.Key) == fold.Key(text.Key) {
		return false // it had it before
	}
	return keyOwner(d.j.state, text.Key, func(other string) bool { return slices.Contains(paths, other) }) != ""
}

func (d *divergence) free(path string) bool {
	_, taken := d.j.state.Accepted[path]
	return !taken
}

// unused reports whether a path is free, and nothing of another memory is left there.
func (d *divergence) unused(path string) bool {
	_, _, retired := d.j.state.ArchivedAt(path)
	return d.free(path) && !retired && d.j.state.Tombs[path].Hash == ""
}
