package scribe

import (
	"errors"
	"io/fs"
	"slices"

	"github.com/memoryroom/scribe/internal/fold"
	"github.com/memoryroom/scribe/internal/journal"
	"github.com/memoryroom/scribe/internal/relpath"
)

// side is what one side of a join came to, and what became there of the memories that
// stood when the sides parted. A memory is known by the path that it had then.
type side struct {
	state  *journal.State
	at     map[string]string // the path that it has, or had when it went
	stands map[string]string // by path: the memory there
	went   map[string]string // by path: the memory that stood there last
	kept   map[string]string // by name in the archive: the memory that was retired
	purges []purged
	erased map[string]bool         // the memories of which one of them was
	left   map[string]journal.Tomb // by memory: how it went
}

// purged is one purge of a side.
type purged struct {
	path   string // as its row names it
	memory string // "" for none that stood when the sides parted
}

// sideFrom is the side that rows made of fork.
func (r *Room) sideFrom(fork *journal.State, rows []journal.Row) *side {
	s := &side{state: fork.Clone(), at: map[string]string{}, stands: map[string]string{}, went: map[string]string{}, kept: map[string]string{}, erased: map[string]bool{}, left: map[string]journal.Tomb{}}
	for path := range fork.Accepted {
		s.at[path], s.stands[path] = path, path
	}
	for name, a := range fork.Archived {
		s.at[name], s.kept[name] = a.Path, name
	}
	undone := map[int64]bool{}
	for _, row := range rows {
		undone[row.Ref] = undone[row.Ref] || row.Op == journal.OpAbort && r.vouched(row)
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
	switch opOfRow(row) {
	case journal.OpAdd, journal.OpReplace, journal.OpEdit, journal.OpAdopt:
		s.comes(row.Path, s.went[row.Path])
	case journal.OpRename:
		s.moves(row.Path, row.To)
	case journal.OpRollback:
		switch back := row.Back(s.state.Former[row.Path]); {
		case back != "":
			s.moves(row.Path, back)
		case row.New == "":
			s.goes(row)
		default:
			s.comes(row.Path, s.went[row.Path])
		}
	case journal.OpArchive:
		s.kept[journal.ArchiveName(row.Path, row.Seq)] = s.stands[row.Path]
		s.goes(row)
	case journal.OpRestore:
		name := journal.ArchiveName(row.Path, row.Ref)
		if row.Ref == 0 {
			name, _, _ = s.state.ArchivedAt(row.Path)
		}
		s.comes(max(row.To, row.Path), s.kept[name])
	case journal.OpRemove:
		s.goes(row)
	case journal.OpObserve:
		if row.New == "" {
			s.goes(row)
		}
	case journal.OpPurge:
		if row.ID == "" {
			s.goes(row)
			s.purges = append(s.purges, purged{row.Path, s.went[row.Path]})
			s.erased[s.went[row.Path]] = true
		}
	}
}

func (s *side) moves(from, to string) {
	memory, ok := s.stands[from]
	delete(s.stands, from)
	if ok {
		s.stands[to], s.at[memory] = memory, to
	}
}

// goes frees a path.
func (s *side) goes(row journal.Row) {
	if memory, ok := s.stands[row.Path]; ok {
		acc := s.state.Accepted[row.Path]
		delete(s.stands, row.Path)
		s.went[row.Path] = memory
		s.left[memory] = journal.Tomb{Hash: acc.Hash, Trust: acc.Trust, Freed: row.Seq, By: row.By}
	}
}

// comes puts a memory at a path where none stands: who writes anew where one went goes on
// with it.
func (s *side) comes(path, memory string) {
	if _, ok := s.stands[path]; ok || memory == "" || s.stands[s.at[memory]] == memory {
		return
	}
	s.stands[path], s.at[memory] = memory, path
}

// withdrawn reports whether the operator freed what left a tomb, after the sides parted. A
// file that was deleted in an editor is nobody's decision.
func (d *divergence) withdrawn(tomb journal.Tomb) bool {
	return tomb.Freed > d.fork.Seq && !slices.Contains([]string{"", byWriter, byJoining, "repair"}, tomb.By)
}

// refused reports whether the operator of a side refused a text, or purged it, after the
// sides parted, and did not write it by hand since.
func (d *divergence) refused(by *side, text journal.Accepted, path string) bool {
	return d.refusal(by, text, path) > 0
}

// refusal is the row that did; 0 for none.
func (d *divergence) refusal(by *side, text journal.Accepted, path string) int64 {
	later := 0
	for digest := range by.state.Refused {
		if _, before := d.fork.Refused[digest]; !before {
			later++
		}
	}
	if later == 0 {
		return 0
	}
	data := d.bytes(path, text.Hash)
	if data == nil {
		return 0
	}
	for _, base := range [][]byte{nil, data} { // a body in these words, and these labels
		digest := d.room.digestOf(true, path, "", base, data)
		_, before := d.fork.Refused[digest]
		if row, now := by.state.Refused[digest]; now && !before {
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

// restored finds the retirement from which the other side brought a memory back.
func (d *divergence) restored(path string) (row int64, ok bool) {
	name, a, kept := d.fork.ArchivedAt(path)
	_, there := d.there.state.Archived[name]
	return a.Retired, kept && !there
}

// theirsLies reports whether what lies at a path is what the other side left there.
func (r *Room) theirsLies(path, hash string, stays bool) bool {
	p, err := relpath.Parse(path)
	if err != nil {
		return false
	}
	_, lies, err := r.lying(p)
	return err == nil && (stays && lies == hash || !stays && lies == "")
}

// bytes finds the text of a hash that one of the three states accepted or archived; nil for
// none.
func (d *divergence) bytes(path, hash string) []byte {
	if d.places == nil {
		d.places = map[string][]int64{}
		for _, s := range []*journal.State{d.fork, d.here.state, d.there.state} {
			for _, a := range s.Accepted {
				d.places[a.Hash] = append(d.places[a.Hash], a.Seq)
			}
			for _, a := range s.Archived {
				d.places[a.Hash] = append(d.places[a.Hash], a.Seq)
			}
		}
	}
	for _, seq := range d.places[hash] {
		if data, err := d.room.version(seq, hash); err == nil {
			return data
		}
	}
	return d.room.findBytes(hash, path, nil)
}

// stageJoined puts the bytes that a row rests on in their place, and adds the row. Without
// its bytes a row would promise what is not there: then what it was about is a change made
// outside.
func (r *Room) stageJoined(j *joining, d *divergence, row journal.Row) error {
	seq := j.head.Seq + 1
	switch row.Op {
	case journal.OpAdd, journal.OpReplace, journal.OpRestore, journal.OpStow:
		data := d.bytes(row.Path, row.New)
		if data == nil && row.Op == journal.OpStow {
			return nil // its row among those of the other side says that it was
		}
		if data == nil {
			row.Op, row.Key, row.Trust, row.Rules, row.Approved = journal.OpObserve, "", "", nil, false
			return r.addJoined(j, row)
		}
		if err := r.putVersion(seq, row.New, data); err != nil {
			return err
		}
		if row.Op == journal.OpStow {
			if err := r.disk.LibReplace(archiveName(seq, row.Path), data); err != nil {
				return err
			}
		}
	case journal.OpArchive:
		acc := j.state.Accepted[row.Path]
		data, err := r.version(acc.Seq, acc.Hash)
		if err != nil {
			return nil
		}
		if err := r.disk.LibReplace(archiveName(seq, row.Path), data); err != nil {
			return err
		}
		if r.theirsLies(row.Path, row.Old, true) { // under a name that it has on this side alone
			j.marks = append(j.marks, seq)
		}
	case journal.OpPurge:
		j.marks = append(j.marks, seq)
	}
	return r.addJoined(j, row)
}

func (r *Room) putVersion(seq int64, hash string, data []byte) error {
	err := r.disk.LibWriteNew(journal.VersionName(seq, hash), data)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// erase removes the versions of a text that nothing rests on.
func (d *divergence) erase(hash string) {
	there, err := d.room.versionFiles()
	if err != nil {
		return // Check names them
	}
	need := restsOn(d.j.state)
	for name := range journal.Sorted(there) {
		if _, prefix, ok := journal.ParseVersionName(name); ok && prefix == hash[:12] && len(need[name]) == 0 {
			_ = d.room.disk.LibRemove(name)
		}
	}
}

// takeOut takes a file away that has an erased text, where no memory stands.
func (d *divergence) takeOut(path, hash string) {
	p, err := relpath.Parse(path)
	if err != nil || !d.free(path) {
		return
	}
	if data, lies, err := d.room.lying(p); err == nil && lies == hash {
		_ = d.room.disk.TakeOut(p, data) // else it stays, unaccepted
	}
}
