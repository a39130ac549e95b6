package scribe

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/memoryroom/scribe/internal/entry"
	"github.com/memoryroom/scribe/internal/journal"
	"github.com/memoryroom/scribe/internal/relpath"
	"github.com/memoryroom/scribe/internal/rootfs"
)

// batch is what one decision does to the disk: rows of the journal, and behind some
// of them bytes that move. It happens as a whole or not at all; see commit.
type batch struct {
	rows  []journal.Row
	moves []move
	files []heldFile      // new files of pending
	gone  []string        // library files that a row has made superfluous
	keep  []kept          // bytes that become a version and move nowhere
	set   []indexLine     // lines of MEMORY.md to write
	drop  map[string]bool // paths whose line goes
	lost  bool            // set by commit: an outside edit won while we wrote, and nothing happened
	index error           // set by commit: the change stands, and MEMORY.md does not show it
}

// move is one change of a memory's file, by the row of that index.
type move struct {
	row     int
	path    relpath.Path
	put     []byte // what to write; nil: take the file away
	old     []byte // what must lie there; nil: nothing
	archive bool   // what is taken away goes to the archive; else the versions hold it
}

// kept is bytes that lie where they are and become the version of a row.
type kept struct {
	row  int
	data []byte
}

// heldFile is a new file of pending, with its bytes.
type heldFile struct {
	name string
	data []byte
}

// outside adds what an outside hand did to an accepted memory, before anything is built
// on it. Under the waiver its bytes become the accepted ones, at user-observed.
func (b *batch) outside(state *journal.State, path string, s standing) {
	if s.waived {
		row := journal.Row{
			Change:   journal.Change{Op: journal.OpAdopt, Path: path, Old: state.Accepted[path].Hash, New: s.acc.Hash, Trust: s.acc.Trust, Key: metaOf(path, s.bytes).Key},
			Decision: journal.Decision{By: "waiver"},
		}
		b.keep = append(b.keep, kept{b.note(row), s.bytes})
		return
	}
	if _, ok := state.Accepted[path]; !ok {
		return
	}
	if row, ok := observed(state, path, s); ok {
		b.note(row)
	}
}

// note adds a row that moves no bytes.
func (b *batch) note(row journal.Row) int {
	b.rows = append(b.rows, row)
	return len(b.rows) - 1
}

// line puts a memory's line into the index. MEMORY.md is loaded whole by some hosts,
// so what comes from outside the conversation has no line there, name included.
func (b *batch) line(path string, m meta, t Trust, at time.Time) {
	if t < UserObserved {
		b.unline(path)
		return
	}
	b.set = append(b.set, lineFor(path, m, at))
}

func (b *batch) unline(path string) {
	if b.drop == nil {
		b.drop = map[string]bool{}
	}
	b.drop[path] = true
}

// lineFor is a memory's line in the index.
func lineFor(path string, m meta, at time.Time) indexLine {
	return indexLine{Type: m.Type, Path: path, Minute: at.UTC().Format("2006-01-02T15:04Z"), Description: m.Description}
}

// store adds an accepted proposal to the batch.
func (r *Room) store(b *batch, p *proposal, w *world, row journal.Row, v *Verdict) {
	row.Op, row.Path, row.Trust, row.Key = p.op, p.path().String(), p.trust.String(), p.key()
	row.Old = p.was.diskHash()
	switch p.op {
	case journal.OpArchive:
		row.Key = p.was.acc.Key
		b.moves = append(b.moves, move{row: b.note(row), path: p.path(), old: p.was.disk, archive: true})
		b.unline(row.Path)
		v.Memory.Stage = stageArchived
	case journal.OpRename:
		data := mirror(p, row.Source, w.now)
		row.To, row.New = p.target().String(), journal.Sum(data)
		i := b.note(row)
		b.moves = append(b.moves, move{row: i, path: p.target(), put: data}, move{row: i, path: p.path(), old: p.was.disk})
		b.unline(row.Path)
		b.line(row.To, metaOf(row.To, data), p.trust, w.now)
		v.Memory = storedMemory(row.To, data, p, w.now)
	default:
		data := mirror(p, row.Source, w.now)
		row.New = journal.Sum(data)
		b.moves = append(b.moves, move{row: b.note(row), path: p.path(), put: data, old: p.was.disk})
		b.line(row.Path, metaOf(row.Path, data), p.trust, w.now)
		v.Memory = storedMemory(row.Path, data, p, w.now)
	}
}

func storedMemory(path string, data []byte, p *proposal, now time.Time) Memory {
	m := describe(path, stageActive, data)
	m.Trust, m.Modified, m.Findings = p.trust, now, p.findings
	return m
}

// mirror brings the library's own frontmatter keys up to date: all of them where
// the library composed the frontmatter, else those that are there already. Text
// given with a frontmatter of its own, or with none, stays as it was given.
func mirror(p *proposal, source string, now time.Time) []byte {
	data := []byte(p.text.whole)
	for _, k := range []struct {
		value string
		path  []string
	}{
		{p.trust.String(), []string{"metadata", "trust"}},
		{source, []string{"metadata", "source"}},
		{now.UTC().Format(time.RFC3339), []string{"modified"}},
	} {
		e, err := entry.Parse(data)
		if err != nil {
			return data
		}
		if _, there := e.Field(k.path...); !there && !p.text.composed || k.value == "" {
			continue
		}
		if out, err := e.Set(k.value, k.path...); err == nil {
			data = out
		}
	}
	return data
}

// commit carries a batch out, under the room's lock:
//
//	1  for each row that brings bytes along an empty file in tmp, its mark, flushed with
//	   tmp; then the bytes to write, twice: as the version of the row that writes them,
//	   and as a file in tmp that waits to be moved; each flushed
//	2  the rows, as one write, flushed: from here on recovery finishes the change
//	3  each file moved into place, comparing what it replaces; then the marks go
//	4  the index patched; it is derived, so failing here is a notice
//
// Each accepted text is kept as a version when it is accepted, not when it is
// replaced: an editor that writes in place destroys the only other copy.
//
// When a move fails, or somebody changed a file meanwhile (b.lost), what was moved is
// moved back and rows say that the batch did not happen. After a flush that failed
// nothing more is written: the room has to be opened again, and recovery looks.
func (r *Room) commit(ctx context.Context, w *world, b *batch) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if len(b.rows) == 0 {
		return nil
	}
	r.mu.Lock()
	seq := r.ledger.head.Seq
	r.mu.Unlock()
	for i := range b.rows {
		b.rows[i].Time = w.now
	}
	if err := r.stage(b, seq); err != nil {
		r.unstage(b, seq)
		return err
	}
	if err := r.append(b.rows...); err != nil {
		r.mu.Lock()
		size := r.ledger.size
		r.mu.Unlock()
		if now, serr := r.disk.LibStat(auditName); serr == nil && now == size {
			r.unstage(b, seq) // the rows are not there; else that is not known, and nothing is removed
		}
		return err
	}
	for i := range b.moves {
		err := r.carry(b.moves[i], seq)
		if err == nil {
			continue
		}
		if errors.Is(err, rootfs.ErrUnsynced) {
			r.poison()
			return err
		}
		if back := r.takeBack(b, i, seq); back != nil {
			return errors.Join(err, back)
		}
		if errors.Is(err, rootfs.ErrChanged) {
			b.lost = true
			return nil
		}
		return err
	}
	r.unmark(b, seq)
	for _, name := range b.gone {
		_ = r.disk.LibRemove(name) // superfluous already; the next Open removes it
	}
	b.index = r.writeIndex(b)
	return nil
}

// poison stops this handle from writing: what is on the disk is not known.
func (r *Room) poison() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.readOnly = "a write did not reach the disk for certain; close the room and open it again"
}

// waiting is the name in tmp of the bytes that a row puts, while they wait.
func waiting(row int64) string { return fmt.Sprintf("%s%d.new", tmpDir, row) }

// mark is the name in tmp that says that a row's moves may not be done.
func mark(row int64) string { return fmt.Sprintf("%s%d.do", tmpDir, row) }

// unmark says that every move of the batch is done. What is left is removed at the next
// lock.
func (r *Room) unmark(b *batch, seq int64) {
	for _, name := range b.marked(seq) {
		_ = r.disk.LibRemove(name)
	}
}

// marked lists the marks of the rows that bring bytes along: each once, as a rename has
// two moves.
func (b *batch) marked(seq int64) []string {
	var rows []int
	for _, m := range b.moves {
		rows = append(rows, m.row)
	}
	for _, k := range b.keep {
		rows = append(rows, k.row)
	}
	slices.Sort(rows)
	var names []string
	for _, row := range slices.Compact(rows) {
		names = append(names, mark(seq+int64(row)+1))
	}
	return names
}

// archiveName is where a memory lies that the row of that number retired. With the
// number in it, no two retirements meet.
func archiveName(seq int64, path string) string { return fmt.Sprintf("archive/%d/%s", seq, path) }

// stage writes everything that must be durable before the rows are.
func (r *Room) stage(b *batch, seq int64) error {
	marked := b.marked(seq)
	for _, name := range marked { // first, so that what is staged and never written is found
		if err := r.disk.LibWriteNew(name, nil); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	if len(marked) > 0 {
		if err := r.disk.SyncInFlight(); err != nil {
			return err
		}
	}
	for _, m := range b.moves {
		n := seq + int64(m.row) + 1
		for _, data := range [][]byte{m.old, m.put} {
			if data == nil {
				continue
			}
			if err := r.keep(n, data); err != nil {
				return err
			}
		}
		if m.put != nil {
			if err := r.disk.LibWriteNew(waiting(n), m.put); err != nil {
				return err
			}
		}
	}
	for _, k := range b.keep {
		if err := r.keep(seq+int64(k.row)+1, k.data); err != nil {
			return err
		}
	}
	for _, f := range b.files {
		// Replaced, where a crash left one that no row names.
		if err := r.disk.LibReplace(f.name, f.data); err != nil {
			return err
		}
	}
	return nil
}

// unstage takes back what stage wrote: no row names it. Errors are not reported over
// the one that led here; recovery removes what is left.
func (r *Room) unstage(b *batch, seq int64) {
	for _, m := range b.moves {
		if m.old != nil {
			_ = r.disk.LibRemove(journal.VersionName(seq+int64(m.row)+1, journal.Sum(m.old)))
		}
		if m.put != nil {
			_ = r.disk.LibRemove(waiting(seq + int64(m.row) + 1))
			_ = r.disk.LibRemove(journal.VersionName(seq+int64(m.row)+1, journal.Sum(m.put)))
		}
	}
	r.unmark(b, seq)
	for _, k := range b.keep {
		_ = r.disk.LibRemove(journal.VersionName(seq+int64(k.row)+1, journal.Sum(k.data)))
	}
	for _, f := range b.files {
		_ = r.disk.LibRemove(f.name)
	}
}

// keep makes sure that bytes which were there, or will be, are among the versions.
func (r *Room) keep(seq int64, data []byte) error {
	err := r.disk.LibWriteNew(journal.VersionName(seq, journal.Sum(data)), data)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// carry does one move.
func (r *Room) carry(m move, seq int64) error {
	row := seq + int64(m.row) + 1
	if m.put != nil {
		return r.disk.Replace(waiting(row), m.path, m.old)
	}
	return r.takeAway(m.path, m.old, row, m.archive)
}

// takeAway removes a memory's file from where models read, comparing it first.
func (r *Room) takeAway(p relpath.Path, old []byte, seq int64, archive bool) error {
	if archive {
		return r.disk.Retire(p, old, archiveName(seq, p.String()))
	}
	away := fmt.Sprintf("%s%d.old", tmpDir, seq) // a copy, and no more than that
	if err := r.disk.LibRemove(away); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := r.disk.Retire(p, old, away); err != nil {
		return err
	}
	_ = r.disk.LibRemove(away) // the versions have it; what is left is removed at the next lock
	return nil
}

// takeBack records that the batch did not happen, and undoes the moves before the one
// that failed, last first. What can not be moved back is left, as an outside change:
// the versions hold both texts. Where not even that can be recorded, the rows stand,
// and what waits in tmp is finished when the room is opened again.
func (r *Room) takeBack(b *batch, failed int, seq int64) error {
	rows := make([]journal.Row, 0, len(b.rows))
	for i := len(b.rows) - 1; i >= 0; i-- {
		row := b.rows[i]
		rows = append(rows, journal.Row{
			Change:   journal.Change{Op: journal.OpAbort, Path: row.Path, To: row.To},
			Decision: journal.Decision{Ref: seq + int64(i) + 1},
		})
	}
	if err := r.append(rows...); err != nil {
		return err
	}
	for _, m := range b.moves[failed:] {
		_ = r.disk.LibRemove(waiting(seq + int64(m.row) + 1))
	}
	r.unmark(b, seq)
	for i := failed - 1; i >= 0; i-- {
		m, tmp := b.moves[i], fmt.Sprintf("%s%d.undo", tmpDir, i)
		if m.old == nil {
			_ = r.takeAway(m.path, m.put, seq+int64(m.row)+1, false)
			continue
		}
		if r.disk.LibWriteNew(tmp, m.old) != nil {
			continue
		}
		_ = r.disk.Replace(tmp, m.path, m.put)
		_ = r.disk.LibRemove(tmp)
		if m.archive {
			_ = r.disk.LibRemove(archiveName(seq+int64(m.row)+1, m.path.String()))
		}
	}
	return nil
}

// readIndex reads MEMORY.md; nil when there is none.
func (r *Room) readIndex() ([]byte, error) {
	data, err := r.disk.Read(indexFile(), 1<<30)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

func indexFile() relpath.Path {
	p, err := relpath.Parse(indexName)
	if err != nil {
		panic("scribe: MEMORY.md is not a path") // a constant; a test reads it too
	}
	return p
}

// indexTries bounds the race with an editor that saves MEMORY.md again and again.
const indexTries = 5

// writeIndex patches the lines that the batch changed.
func (r *Room) writeIndex(b *batch) error {
	if len(b.set) == 0 && len(b.drop) == 0 {
		return nil
	}
	r.mu.Lock()
	state := r.ledger.state
	r.mu.Unlock()
	known := hasLine(state)
	err := error(rootfs.ErrChanged)
	for range indexTries {
		var cur []byte
		if cur, err = r.readIndex(); err != nil {
			return err
		}
		next := patchIndex(cur, b.set, b.drop, known)
		if string(next) == string(cur) {
			return nil
		}
		if err = r.replaceIndex(cur, next); !errors.Is(err, rootfs.ErrChanged) {
			return err
		}
	}
	return err
}

const indexTmp = tmpDir + "index"

func (r *Room) replaceIndex(cur, next []byte) error {
	if err := r.disk.LibRemove(indexTmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := r.disk.LibWriteNew(indexTmp, next); err != nil {
		return err
	}
	return r.disk.Replace(indexTmp, indexFile(), cur)
}

// indexNotice tells of a change that MEMORY.md does not show yet.
func (b *batch) indexNotice() []Finding {
	if b.index == nil {
		return nil
	}
	return []Finding{refuse("index.behind", Accepted, "index", "the change is stored, and MEMORY.md could not be updated", "run Check with repair, or open the room again")}
}
