package scribe

import (
	"bytes"
	"errors"
	"io/fs"
	"strings"

	"github.com/memoryroom/scribe/internal/entry"
	"github.com/memoryroom/scribe/internal/journal"
	"github.com/memoryroom/scribe/internal/relpath"
)

// What a join does to files: those that its rows rest on, those that a purge was to take, and
// those of the library that git merged as text. See forks.go.

// stage puts the bytes that a row rests on in their place, and adds the row. Without
// its bytes a row would promise what is not there: then what it was about is a change made
// outside.
func (d *divergence) stage(row journal.Row) error {
	r, j := d.room, d.j
	seq := j.head.Seq + 1
	switch row.Op {
	case journal.OpAdd, journal.OpReplace, journal.OpRestore, journal.OpStow:
		data := d.bytes(row.Path, row.New)
		if data == nil && row.Op == journal.OpStow {
			return nil // its row among those of the other side says that it was
		}
		if data == nil {
			row.Op, row.Key, row.Trust, row.Rules, row.Approved = journal.OpObserve, "", "", nil, false
			return j.add(row)
		}
		if err := r.writeOnce(journal.VersionName(seq, row.New), data); err != nil {
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
		if r.lies(row.Path, row.Old) { // under a name that it has on this side alone
			j.marks = append(j.marks, seq)
		}
	case journal.OpPurge:
		j.marks = append(j.marks, seq)
	}
	return j.add(row)
}

// writeOnce writes a file of the library whose name says what is in it: one that is there has
// been written before a crash.
func (r *Room) writeOnce(name string, data []byte) error {
	err := r.disk.LibWriteNew(name, data)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// lies reports whether bytes of a hash lie at a path; for "", whether none do. A name that can not be
// read has neither.
func (r *Room) lies(path, hash string) bool {
	p, err := relpath.Parse(path)
	if err != nil {
		return false
	}
	_, there, err := r.lying(p)
	return err == nil && there == hash
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

// eraseTexts removes the versions of the texts that a join is to erase, but for what a row of
// the join keeps for the operator, and what something rests on. last is the row before the join.
func (r *Room) eraseTexts(j *joining, last int64) {
	for _, row := range j.rows {
		if row.Seq > last {
			delete(j.erase, row.New)
		}
	}
	there, err := r.versionFiles()
	if err != nil || len(j.erase) == 0 {
		return // Check names what is left
	}
	prefixes := map[string]bool{}
	for hash := range j.erase {
		prefixes[hash[:12]] = true
	}
	need := restsOn(j.state)
	for name := range there {
		if _, prefix, ok := journal.ParseVersionName(name); ok && prefixes[prefix] && len(need[name]) == 0 {
			_ = r.disk.LibRemove(name)
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

// unmergeFiles mends what git made of files of the library that both sides wrote, or one
// took away: held candidates, and the copies in the archive.
func (r *Room) unmergeFiles(state *journal.State) error {
	for id, h := range journal.Sorted(state.Pending) {
		now, err := r.disk.LibRead(pendingName(id), maxMerged)
		if err != nil || journal.Sum(now) == h.Hash {
			continue
		}
		if data := r.heldBytes(id, h.Hash); data != nil {
			if err := r.disk.LibReplace(pendingName(id), data); err != nil {
				return err
			}
		}
	}
	for _, a := range journal.Sorted(state.Archived) {
		data, err := r.version(a.Seq, a.Hash)
		if err != nil {
			continue
		}
		name := archiveName(a.Retired, a.Path)
		write := r.writeOnce
		if now, err := r.disk.LibRead(name, maxMerged); err == nil && entry.ConflictMarkers(now) {
			write = r.disk.LibReplace
		}
		if err := write(name, data); err != nil {
			return err
		}
	}
	return nil
}

// maxMerged bounds a file that holds two sides of a held candidate or of a memory.
const maxMerged = 2*maxPendingFile + 4096

// heldBytes reads a held candidate of a hash, which may be one side of a merge that git
// left unresolved: both sides held the same proposal. It is nil for none.
func (r *Room) heldBytes(id, hash string) []byte {
	data, err := r.disk.LibRead(pendingName(id), maxMerged)
	if err != nil {
		return nil
	}
	for _, side := range append(sidesOf(data), data) {
		if journal.Sum(side) == hash {
			return side
		}
	}
	return nil
}

// sidesOf is a text as either side of a merge has it; nil where there are no markers.
func sidesOf(data []byte) [][]byte {
	if !entry.ConflictMarkers(data) {
		return nil
	}
	const both, ours, theirs, common = 0, 1, 2, 3
	sides, at := make([][]byte, 2), both
	for line := range bytes.Lines(data) {
		switch bare := string(bytes.TrimRight(line, "\r\n")); {
		case at == both && strings.HasPrefix(bare, "<<<<<<< "):
			at = ours
		case at == ours && strings.HasPrefix(bare, "||||||| "):
			at = common
		case at != both && at != theirs && bare == "=======":
			at = theirs
		case at == theirs && strings.HasPrefix(bare, ">>>>>>> "):
			at = both
		default:
			if at == both || at == ours {
				sides[0] = append(sides[0], line...)
			}
			if at == both || at == theirs {
				sides[1] = append(sides[1], line...)
			}
		}
	}
	return sides
}
