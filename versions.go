package scribe

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"time"

	"github.com/memoryroom/scribe/internal/entry"
	"github.com/memoryroom/scribe/internal/journal"
	"github.com/memoryroom/scribe/internal/relpath"
	"github.com/memoryroom/scribe/internal/rootfs"
)

// Record is one row of the audit journal. It carries no content.
type Record struct {
	Seq      int64
	Time     time.Time // UTC
	Op       string    // "add", "replace", "edit", "remove", "rename", "adopt", "hold", "reject", "observe", ...
	Path     string
	By       string // "writer", "operator", or the name that the operator gave
	Reason   string
	Old, New string   // hex SHA-256 of the bytes before and after; "": nothing
	Rules    []string // of every finding
}

// batch is what one decision does to the disk: rows of the journal, and behind some
// of them bytes that move. Rows go first, as one write; see commit.
type batch struct {
	rows  []journal.Row
	moves []move
	files []heldFile      // new files of pending
	gone  []string        // files of pending that a row has decided
	keep  []kept          // bytes that become a version and move nowhere
	set   []indexLine     // lines of MEMORY.md to write
	drop  map[string]bool // paths whose line goes
	lost  map[string]bool // paths where an outside edit won while we wrote
}

// move is one change of a memory's file, by the row of that index.
type move struct {
	row    int
	path   relpath.Path
	put    []byte // what to write; nil: take the file away
	old    []byte // what must lie there; nil: nothing
	newTmp string // set by commit: where put waits
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

// note adds a row that moves no bytes.
func (b *batch) note(row journal.Row) int {
	b.rows = append(b.rows, row)
	return len(b.rows) - 1
}

// line puts a memory's line into the index.
func (b *batch) line(path string, m meta, t Trust, at time.Time) {
	b.set = append(b.set, lineFor(path, m, t, at))
}

func (b *batch) unline(path string) {
	if b.drop == nil {
		b.drop = map[string]bool{}
	}
	b.drop[path] = true
}

// lineFor is a memory's line in the index. MEMORY.md is loaded whole by some hosts,
// so words from outside the conversation do not get in there.
func lineFor(path string, m meta, t Trust, at time.Time) indexLine {
	d := m.Description
	if t < UserObserved {
		d = "(" + t.String() + ", not shown)"
	}
	return indexLine{Type: m.Type, Path: path, Minute: at.UTC().Format("2006-01-02T15:04Z"), Description: d}
}

// store adds an accepted proposal to the batch.
func (r *Room) store(b *batch, p *proposal, w *world, row journal.Row, v *Verdict) {
	row.Op, row.Path, row.Trust, row.Key = p.op, p.path().String(), p.trust.String(), p.key()
	row.Old = p.was.diskHash()
	switch p.op {
	case journal.OpArchive:
		row.Key = p.was.acc.Key
		b.moves = append(b.moves, move{row: b.note(row), path: p.path(), old: p.was.disk})
		b.unline(row.Path)
		v.Memory.Stage = stageArchived
	case journal.OpRename:
		data := r.mirror(p, w.now)
		row.To, row.New = p.target().String(), journal.Sum(data)
		i := b.note(row)
		b.moves = append(b.moves, move{row: i, path: p.target(), put: data}, move{row: i, path: p.path(), old: p.was.disk})
		b.unline(row.Path)
		b.line(row.To, metaOf(row.To, data), p.trust, w.now)
		v.Memory = r.storedMemory(row.To, data, p, w.now)
	default:
		data := r.mirror(p, w.now)
		row.New = journal.Sum(data)
		b.moves = append(b.moves, move{row: b.note(row), path: p.path(), put: data, old: p.was.disk})
		b.line(row.Path, metaOf(row.Path, data), p.trust, w.now)
		v.Memory = r.storedMemory(row.Path, data, p, w.now)
	}
}

func (r *Room) storedMemory(path string, data []byte, p *proposal, now time.Time) Memory {
	m := describe(path, stageActive, data)
	m.Trust, m.Modified, m.Findings = p.trust, now, p.findings
	return m
}

// mirror brings the library's own frontmatter keys up to date: all of them where
// the library composed the frontmatter, else those that are there already. Text
// given with a frontmatter of its own, or with none, stays as it was given.
func (r *Room) mirror(p *proposal, now time.Time) []byte {
	data := []byte(p.text.whole)
	for _, k := range []struct {
		value string
		path  []string
	}{
		{p.trust.String(), []string{"metadata", "trust"}},
		{r.source(p.who), []string{"metadata", "source"}},
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
//	1  the bytes to write, twice: as the version of the row that writes them, and as
//	   a file in tmp that waits to be moved; each flushed
//	2  the rows, as one write, flushed: from here on recovery finishes the change
//	3  each file moved into place, comparing what it replaces
//	4  the index patched
//
// Each accepted text is kept as a version when it is accepted, not when it is
// replaced: an editor that writes in place destroys the only other copy.
//
// A file that somebody changed meanwhile is left alone: b.lost names it, and a row
// says that the change did not happen.
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
		r.unstage(b, seq)
		return err
	}
	for i := range b.moves {
		if err := r.carry(b, &b.moves[i], seq); err != nil {
			return err
		}
	}
	for _, name := range b.gone {
		if len(b.lost) > 0 {
			break // the row was taken back, so the candidate waits again
		}
		if err := r.disk.LibRemove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return r.writeIndex(b)
}

// stage writes everything that must be durable before the rows are.
func (r *Room) stage(b *batch, seq int64) error {
	for i := range b.moves {
		m := &b.moves[i]
		n := seq + int64(m.row) + 1
		if m.old != nil {
			if err := r.keep(n, m.old); err != nil {
				return err
			}
		}
		if m.put == nil {
			m.newTmp = fmt.Sprintf("%s%d.del", tmpDir, n)
		} else {
			m.newTmp = fmt.Sprintf("%s%d.new", tmpDir, n)
			if err := r.keep(n, m.put); err != nil {
				return err
			}
		}
		if err := r.disk.LibWriteNew(m.newTmp, m.put); err != nil {
			return err
		}
	}
	for _, k := range b.keep {
		if err := r.keep(seq+int64(k.row)+1, k.data); err != nil {
			return err
		}
	}
	for _, f := range b.files {
		if err := r.disk.LibWriteNew(f.name, f.data); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	return nil
}

// unstage takes back what stage wrote: nothing was acknowledged. Errors are not
// reported over the one that led here; recovery removes what is left.
func (r *Room) unstage(b *batch, seq int64) {
	for _, m := range b.moves {
		n := seq + int64(m.row) + 1
		if m.newTmp != "" {
			_ = r.disk.LibRemove(m.newTmp)
		}
		if m.put != nil {
			_ = r.disk.LibRemove(journal.VersionName(n, journal.Sum(m.put)))
		}
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

// carry moves one file, and aborts its row when somebody else was faster.
func (r *Room) carry(b *batch, m *move, seq int64) error {
	row := b.rows[m.row]
	row.Seq = seq + int64(m.row) + 1
	if b.lost[row.Path] {
		return r.disk.LibRemove(m.newTmp)
	}
	var err error
	if m.put != nil {
		err = r.disk.Replace(m.newTmp, m.path, m.old)
	} else if err = r.retireFile(m.path, m.old); err == nil {
		return r.disk.LibRemove(m.newTmp)
	}
	if err == nil {
		return nil
	}
	_ = r.disk.LibRemove(m.newTmp)
	if aborted := r.abort(row); aborted != nil {
		return errors.Join(err, aborted)
	}
	if !errors.Is(err, rootfs.ErrChanged) {
		return err
	}
	if b.lost == nil {
		b.lost = map[string]bool{}
	}
	b.lost[row.Path] = true
	return nil
}

// retireFile moves a memory's file into the archive. What was archived from there
// before gives way: its bytes are among the versions.
func (r *Room) retireFile(p relpath.Path, old []byte) error {
	to := archiveName(p.String())
	if err := r.disk.LibRemove(to); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return r.disk.Retire(p, old, to)
}

// archiveName is where a retired memory lies, below .scribe.
func archiveName(path string) string { return "archive/" + path }

// version reads the bytes that the row of that number put in place.
func (r *Room) version(seq int64, hash string) ([]byte, error) {
	data, err := r.disk.LibRead(journal.VersionName(seq, hash), maxMemory)
	if err != nil {
		return nil, err
	}
	if journal.Sum(data) != hash {
		return nil, &fs.PathError{Op: "verify", Path: ".scribe/" + journal.VersionName(seq, hash), Err: errors.New("the version is not what the journal says")}
	}
	return data, nil
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

// writeIndex patches the lines that the batch changed. The index is derived: when
// an editor wins every race, the memories stand and Check mends the lines.
func (r *Room) writeIndex(b *batch) error {
	if len(b.set) == 0 && len(b.drop) == 0 {
		return nil
	}
	var set []indexLine
	for _, l := range b.set {
		if !b.lost[l.Path] {
			set = append(set, l)
		}
	}
	for path := range b.lost {
		delete(b.drop, path)
	}
	r.mu.Lock()
	state := r.ledger.state
	r.mu.Unlock()
	known := func(path string) bool { _, ok := state.Accepted[path]; return ok }
	for range indexTries {
		cur, err := r.readIndex()
		if err != nil {
			return err
		}
		next := patchIndex(cur, set, b.drop, known)
		if string(next) == string(cur) {
			return nil
		}
		err = r.replaceIndex(cur, next)
		if !errors.Is(err, rootfs.ErrChanged) {
			return err
		}
	}
	return nil
}

func (r *Room) replaceIndex(cur, next []byte) error {
	tmp := tmpDir + "index"
	if err := r.disk.LibRemove(tmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := r.disk.LibWriteNew(tmp, next); err != nil {
		return err
	}
	return r.disk.Replace(tmp, indexFile(), cur)
}

// History yields the journal's rows about a path, or all rows for "", oldest first.
func (r *Room) History(ctx context.Context, path string) iter.Seq2[Record, error] {
	return func(yield func(Record, error) bool) {
		if err := r.usable(); err != nil {
			yield(Record{}, err)
			return
		}
		more := true
		err := r.eachRow(ctx, func(row journal.Row) bool {
			if path == "" || row.Path == path || row.To == path {
				more = yield(Record{Seq: row.Seq, Time: row.Time, Op: row.Op, Path: row.Path, By: row.By, Reason: row.Reason, Old: row.Old, New: row.New, Rules: row.Rules}, nil)
			}
			return more
		})
		if err != nil && more {
			yield(Record{}, err)
		}
	}
}

// Rollback puts a memory back as it was once row seq of the journal was carried
// out: those bytes, that trust. It is a change like any other and can be rolled
// back. It fails with fs.ErrNotExist when nothing stood there then, and is rejected
// where the path, secret or hidden-text stage would refuse the bytes today.
func (r *Room) Rollback(ctx context.Context, seq int64, path string) (Verdict, error) {
	if err := r.writable(); err != nil {
		return Verdict{}, err
	}
	if _, err := relpath.Parse(path); err != nil {
		return Verdict{}, err
	}
	then := new(journal.State)
	err := r.eachRow(ctx, func(row journal.Row) bool {
		if row.Seq <= seq && (r.opts.Key == nil || row.Verified) {
			then.Apply(row)
		}
		return row.Seq < seq
	})
	if err != nil {
		return Verdict{}, err
	}
	acc, ok := then.Accepted[path]
	if !ok {
		return Verdict{}, &fs.PathError{Op: "rollback", Path: path, Err: fs.ErrNotExist}
	}
	data, err := r.version(acc.Seq, acc.Hash)
	if err != nil {
		return Verdict{}, err
	}
	return r.putBack(ctx, journal.OpRollback, path, data, parseTrust(acc.Trust), fmt.Sprintf("as of row %d", seq))
}

// Check verifies the journal's chain, the versions behind it, and the index, and
// reports what it finds; repair mends what is derived. What it can not mend, it
// leaves and names.
func (r *Room) Check(ctx context.Context, repair bool) ([]Finding, error) {
	w, err := r.world(ctx)
	if err != nil {
		return nil, err
	}
	var fs []Finding
	add := func(rule, path, message, fix string) {
		fs = append(fs, Finding{Rule: rule, Outcome: Held, Field: path, Message: message, Fix: fix})
	}
	if err := r.eachRow(ctx, func(journal.Row) bool { return true }); err != nil {
		add("check.chain", auditName, "the journal's chain is broken", "restore .scribe/audit.jsonl from a copy")
	}
	for _, path := range acceptedPaths(w.state) {
		acc := w.state.Accepted[path]
		if _, err := r.version(acc.Seq, acc.Hash); err != nil {
			add("check.version", path, "the version behind the accepted text is missing or wrong", "adopt the memory again")
		}
		p, err := relpath.Parse(path)
		if err != nil {
			continue
		}
		switch s, err := r.standing(w.state, p); {
		case err != nil:
			add("check.unreadable", path, "the memory can not be read", "look at what lies there")
		case s.kind == absent:
			add("check.deleted", path, "the memory was deleted outside", "restore it, or leave it")
		case s.kind == changed:
			add("check.changed", path, "the memory was changed outside", "adopt it, or roll it back")
		}
	}
	for id, held := range w.state.Pending {
		if data, err := r.disk.LibRead(pendingName(id), maxPendingFile); err != nil || journal.Sum(data) != held.Hash {
			add("check.pending", held.Path, "a held candidate is missing or was changed", "refuse it; it can be proposed again")
		}
	}
	want := r.rebuiltIndex(w)
	if string(want) != string(w.index) {
		add("check.index", indexName, "the index does not say what the room holds", "run Check with repair")
		if repair {
			if err := r.repairIndex(ctx); err != nil {
				return fs, err
			}
		}
	}
	return fs, nil
}

// rebuiltIndex is MEMORY.md with exactly the lines that the room's state asks for.
func (r *Room) rebuiltIndex(w *world) []byte {
	var b batch
	for _, path := range acceptedPaths(w.state) {
		if m, ok := w.meta(path); ok {
			b.line(path, m, parseTrust(w.state.Accepted[path].Trust), w.state.Accepted[path].Time)
		}
	}
	for path := range w.state.Tombs {
		if _, ok := w.state.Accepted[path]; !ok {
			b.unline(path)
		}
	}
	return patchIndex(w.index, b.set, b.drop, func(path string) bool { _, ok := w.state.Accepted[path]; return ok })
}

func (r *Room) repairIndex(ctx context.Context) error {
	unlock, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	w, err := r.world(ctx)
	if err != nil {
		return err
	}
	next := r.rebuiltIndex(w)
	if string(next) == string(w.index) {
		return nil
	}
	err = r.replaceIndex(w.index, next)
	if errors.Is(err, rootfs.ErrChanged) {
		return fmt.Errorf("repair: MEMORY.md was changed meanwhile, run it again: %w", err)
	}
	return err
}

// observeAll records, once, every accepted memory that was changed or deleted
// outside. Nothing is copied: those bytes are not ours until the operator says so.
func (r *Room) observeAll(ctx context.Context) error {
	w, err := r.world(ctx)
	if err != nil {
		return err
	}
	var rows []journal.Row
	for _, path := range acceptedPaths(w.state) {
		p, err := relpath.Parse(path)
		if err != nil {
			continue
		}
		s, err := r.standing(w.state, p)
		if err != nil {
			continue // unreadable: Check reports it
		}
		if row, ok := observed(w.state, path, s); ok {
			rows = append(rows, row)
		}
	}
	return r.append(rows...)
}

// observed is the row for what an outside hand did to an accepted memory, unless it
// was recorded already.
func observed(state *journal.State, path string, s standing) (journal.Row, bool) {
	row := journal.Row{Change: journal.Change{Op: journal.OpObserve, Path: path, Old: state.Accepted[path].Hash}}
	switch s.kind {
	case absent:
		return row, true // the state forgets the memory with this row
	case changed:
		row.New = journal.Sum(s.disk)
		seen, ok := state.Outside[path]
		return row, !ok || seen != row.New
	}
	return row, false
}

// acceptedPaths lists the accepted memories by path. The index is not one.
func acceptedPaths(state *journal.State) []string {
	var paths []string
	for path := range state.Accepted {
		if path != indexName {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}
