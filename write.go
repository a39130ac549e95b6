package scribe

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/memoryroom/scribe/internal/journal"
	"github.com/memoryroom/scribe/internal/relpath"
	"github.com/memoryroom/scribe/internal/rootfs"
)

// The write protocol. Under the room's lock a change takes two rounds of flushes, and
// changes that were queued meanwhile take the same two (see group.go):
//
//	round 1  written: for each row that brings bytes along its mark, an empty file; the bytes
//	         twice, as the file that will be moved into place and as the version to be; the
//	         new index; all in tmp. Then the rows, as one write. Then the new files, tmp and
//	         the journal are flushed, at the same time and in no order.
//	swap     each version gets its name (a second name of the file in tmp), each file is
//	         exchanged with what it replaces, and what came out is compared.
//	round 2  the directories of the memories, of the index and of the versions are flushed.
//	         The change is acknowledged. Then what is left in tmp goes; no flush waits for that.
//
// Why a crash leaves a whole change or none:
//
//   - Before round 1 is over nothing of the change can be seen, and no version has its
//     name. A row whose version has none, with no mark beside it, is of an append that was
//     cut short there: recovery aborts it. With the bytes at hand it may as well finish it.
//   - From then on the mark is on the disk, and so are the bytes, under a name in tmp that
//     stays until round 2 is over: recovery finishes every row of the append.
//   - Without a mark, and with the version in its place, the change is over. What differs
//     then was changed outside, be it back to what it was before.
//
// What takes a file away brings no version along, so its mark is flushed before the rows;
// so are the marks of an append of more rows than the journal can number as one.
//
// Each accepted text is kept as a version when it is accepted, not when it is replaced: an
// editor that writes in place destroys the only other copy. For the same reason the
// version is never another name of the memory's own file, although that would save
// writing the bytes twice: it would change with it.
//
// After a flush of the journal or of round 2 that failed nothing more is written through
// this handle, and no flush is tried again on what was open: the system may have dropped
// the pages and call the next flush a success. The room has to be opened again, and
// recovery writes anew what it can not be sure of.

// The names in tmp, by the number of the row they belong to.
const (
	markExt    = ".do"  // the row's moves may not be done
	waitingExt = ".new" // bytes to be moved into place; after the exchange, what came out
	versionExt = ".ver" // the same bytes, to be the row's version
	wasExt     = ".was" // bytes from outside that the row replaces: a version too
	indexTmp   = tmpDir + "index"
)

func inTmp(row int64, ext string) string { return fmt.Sprintf("%s%d%s", tmpDir, row, ext) }

// mark is the name in tmp that says that a row's moves may not be done.
func mark(row int64) string { return inTmp(row, markExt) }

// archiveName is where a memory lies that the row of that number retired. With the
// number in it, no two retirements meet.
func archiveName(seq int64, path string) string { return fmt.Sprintf("archive/%d/%s", seq, path) }

// commit carries one batch out.
func (r *Room) commit(ctx context.Context, w *world, b *batch) error {
	b.stamp(w.now)
	if err := r.commitAll(ctx, []*batch{b}); err != nil {
		return err
	}
	return b.err
}

// stamp gives the rows their time.
func (b *batch) stamp(now time.Time) {
	for i := range b.rows {
		b.rows[i].Time = now
	}
}

// commitAll carries batches out as one append, under the room's lock. No two of them
// touch the same name. Each happens as a whole or not at all: when a move of one fails
// (b.err), or somebody changed a file meanwhile (b.lost), what it moved is moved back
// and rows say that it did not happen; the others stand. An error is of all of them.
func (r *Room) commitAll(ctx context.Context, bs []*batch) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	c := r.newRound(bs)
	if len(c.rows) == 0 {
		return nil
	}
	if err := r.begin(c); err != nil {
		return err
	}
	for _, b := range c.bs {
		r.place(c, b)
	}
	if r.poisoned() {
		return errors.Join(c.errs()...)
	}
	r.placeIndex(c)
	if err := r.disk.Flush(c.dirs, "versions"); err != nil {
		r.poison()
		return err
	}
	for _, b := range c.bs {
		r.takeAll(b)
	}
	if r.poisoned() {
		return errors.Join(c.errs()...)
	}
	for _, b := range c.bs {
		for _, f := range b.copies {
			if b.err == nil && !b.lost {
				_ = r.disk.LibReplace(f.name, f.data) // for people: Restore reads the version
			}
		}
	}
	r.unstage(c)
	for _, b := range c.bs {
		if b.err != nil || b.lost {
			continue
		}
		for _, name := range b.gone {
			_ = r.disk.LibRemove(name) // superfluous already; the next Open removes it
		}
	}
	r.indexRest(c)
	r.settleHead()
	return nil
}

// round is one append on its way.
type round struct {
	bs     []*batch
	rows   []journal.Row
	files  []rootfs.NewFile // what round 1 writes to tmp
	early  bool             // the marks are flushed before the rows
	cur    []byte           // MEMORY.md as it was patched, when the patch is among the files
	staged bool             // it is, and not in place yet
	dirs   []string         // what round 2 has to flush
}

func (c *round) errs() (errs []error) {
	for _, b := range c.bs {
		errs = append(errs, b.err)
	}
	return errs
}

// newRound numbers the rows of the batches and lists what they bring along.
func (r *Room) newRound(bs []*batch) *round {
	r.mu.Lock()
	seq, state := r.ledger.head.Seq, r.ledger.state
	r.mu.Unlock()
	c := new(round)
	for _, b := range bs {
		if len(b.rows) == 0 {
			continue
		}
		c.bs = append(c.bs, b)
		b.at = seq + int64(len(c.rows))
		c.rows = append(c.rows, b.rows...)
		// What is put comes first: nothing is taken away before it is on the disk elsewhere.
		slices.SortStableFunc(b.moves, func(x, y move) int {
			return boolInt(x.put == nil) - boolInt(y.put == nil)
		})
		for _, m := range b.moves {
			n := b.row(m.row)
			if m.put != nil {
				c.files = append(c.files, rootfs.NewFile{Name: inTmp(n, waitingExt), Data: m.put}, rootfs.NewFile{Name: inTmp(n, versionExt), Data: m.put})
			} else {
				c.early = true
			}
			if m.old != nil && !r.isKept(state, m) && !b.keeps(m.old) {
				c.files = append(c.files, rootfs.NewFile{Name: inTmp(n, wasExt), Data: m.old})
			}
		}
		for _, k := range b.keep {
			c.files = append(c.files, rootfs.NewFile{Name: inTmp(b.row(k.row), versionExt), Data: k.data})
		}
	}
	c.early = c.early || len(c.rows) > journal.MaxBatch
	for _, name := range c.marks() {
		c.files = append(c.files, rootfs.NewFile{Name: name})
	}
	if !c.early {
		r.stageIndex(c)
	}
	return c
}

func boolInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// isKept reports whether what a move replaces is a version already: accepted text is.
func (r *Room) isKept(state *journal.State, m move) bool {
	acc, ok := state.Accepted[m.path.String()]
	if !ok || acc.Hash != journal.Sum(m.old) {
		return false
	}
	_, err := r.disk.LibStat(journal.VersionName(acc.Seq, acc.Hash))
	return err == nil
}

// keeps reports whether the batch itself makes a version of the bytes.
func (b *batch) keeps(data []byte) bool {
	return slices.ContainsFunc(b.keep, func(k kept) bool { return string(k.data) == string(data) })
}

// marks lists the marks of the rows that bring bytes along: each once, as a rename has
// two moves.
func (c *round) marks() []string {
	var names []string
	for _, b := range c.bs {
		for _, m := range b.moves {
			names = append(names, mark(b.row(m.row)))
		}
		for _, k := range b.keep {
			names = append(names, mark(b.row(k.row)))
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// stageIndex adds the patched index to what round 1 writes.
func (r *Room) stageIndex(c *round) {
	set, drop := c.lines()
	if len(set) == 0 && len(drop) == 0 {
		return
	}
	cur, err := r.readIndex()
	if err != nil {
		return // told when the change is over: the index is derived
	}
	r.mu.Lock()
	known := hasLine(r.ledger.state)
	r.mu.Unlock()
	next := patchIndex(cur, set, drop, known)
	if string(next) == string(cur) {
		return
	}
	c.cur, c.staged = cur, true
	c.files = append(c.files, rootfs.NewFile{Name: indexTmp, Data: next})
}

// lines merges what the batches do to the index.
func (c *round) lines() (set []indexLine, drop map[string]bool) {
	drop = map[string]bool{}
	for _, b := range c.bs {
		set = append(set, b.set...)
		for path := range b.drop {
			drop[path] = true
		}
	}
	return set, drop
}

// begin is all up to the end of round 1. What only takes away may spend the reserve.
func (r *Room) begin(c *round) error {
	do := func() error {
		if err := r.prepareDisk(c); err != nil {
			r.unstage(c)
			return err
		}
		return r.stage(c)
	}
	if slices.ContainsFunc(c.bs, func(b *batch) bool { return !b.frees() }) {
		return do()
	}
	return r.spend(do)
}

// prepareDisk writes what has to be there before round 1.
func (r *Room) prepareDisk(c *round) error {
	for _, b := range c.bs {
		for _, f := range b.files {
			// Replaced, where a crash left one that no row names.
			if err := r.disk.LibReplace(f.name, f.data); err != nil {
				return err
			}
		}
	}
	if !c.early {
		return nil
	}
	for _, name := range c.marks() {
		if err := r.disk.LibWriteNew(name, nil); err != nil {
			return err
		}
	}
	c.files = slices.DeleteFunc(c.files, func(f rootfs.NewFile) bool { return strings.HasSuffix(f.Name, markExt) })
	return r.disk.SyncInFlight()
}

// stage is round 1.
func (r *Room) stage(c *round) error {
	a, err := r.encode(c.rows)
	if err != nil {
		r.unstage(c)
		return err
	}
	logged, err := r.disk.Stage(c.files, a.data)
	if logged {
		r.count(a)
	}
	switch {
	case err == nil:
		return nil
	case !logged && errors.Is(err, rootfs.ErrUnsynced):
		r.poison() // whether the rows are there is not known, so nothing is removed
		return err
	case !logged:
		r.unstage(c)
		return err
	}
	for _, b := range c.bs { // the bytes are not on the disk for certain: nothing is built on them
		b.err = err
		if back := r.abort(b); back != nil {
			return errors.Join(err, back)
		}
	}
	r.unstage(c)
	r.settleHead()
	return err
}

// unstage takes back what was prepared and staged for rows that are not there, or that are
// done: a name in tmp then says nothing any more. What can not be removed, recovery removes.
func (r *Room) unstage(c *round) {
	for _, b := range c.bs {
		for _, m := range b.moves {
			if m.put != nil && b.err != nil {
				r.leaveForeign(c, inTmp(b.row(m.row), waitingExt), m)
			}
		}
		for _, f := range b.files {
			if b.err != nil || !r.holdsRow(b) {
				_ = r.disk.LibRemove(f.name)
			}
		}
	}
	for _, f := range c.files {
		_ = r.disk.LibRemove(f.Name)
	}
	if slices.ContainsFunc(c.bs, func(b *batch) bool { return b.unfinished }) {
		return
	}
	for _, name := range c.marks() { // last: they tell recovery to look
		_ = r.disk.LibRemove(name)
	}
}

// leaveForeign spares a file in tmp that holds an editor's bytes, which came out of an
// exchange and could not be put back: recovery keeps them among the versions.
func (r *Room) leaveForeign(c *round, name string, m move) {
	data, err := r.disk.LibRead(name, maxAudit)
	if errors.Is(err, fs.ErrNotExist) || err == nil && (string(data) == string(m.put) || m.old != nil && string(data) == string(m.old)) {
		return
	}
	c.files = slices.DeleteFunc(c.files, func(f rootfs.NewFile) bool { return f.Name == name })
}

// holdsRow reports whether the rows of a batch are in the journal.
func (r *Room) holdsRow(b *batch) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ledger.head.Seq >= b.row(len(b.rows)-1)
}

// place gives the versions of a batch their names and swaps in what it puts.
func (r *Room) place(c *round, b *batch) {
	for _, m := range b.moves {
		n := b.row(m.row)
		if m.put != nil {
			b.err = errors.Join(b.err, r.disk.Keep(inTmp(n, versionExt), journal.VersionName(n, journal.Sum(m.put))))
		}
		if m.old != nil && slices.ContainsFunc(c.files, func(f rootfs.NewFile) bool { return f.Name == inTmp(n, wasExt) }) {
			b.err = errors.Join(b.err, r.disk.Keep(inTmp(n, wasExt), journal.VersionName(n, journal.Sum(m.old))))
		}
	}
	for _, k := range b.keep {
		n := b.row(k.row)
		b.err = errors.Join(b.err, r.disk.Keep(inTmp(n, versionExt), journal.VersionName(n, journal.Sum(k.data))))
	}
	if b.err != nil {
		r.takeBack(b, -1)
		return
	}
	for i, m := range b.moves {
		if m.put == nil {
			return
		}
		dirs, err := r.disk.Swap(inTmp(b.row(m.row), waitingExt), m.path, m.old)
		c.dirs = append(c.dirs, dirs...)
		if r.failed(b, i, err) {
			return
		}
	}
}

// takeAll carries out what a batch takes away.
func (r *Room) takeAll(b *batch) {
	for i, m := range b.moves {
		if m.put == nil && b.err == nil && !b.lost && r.failed(b, i, r.takeAway(m.path, m.old, b.row(m.row), m.archive)) {
			return
		}
	}
}

// failed ends a batch of which one move failed.
func (r *Room) failed(b *batch, move int, err error) bool {
	switch {
	case err == nil:
		return false
	case errors.Is(err, errUnfinished):
		b.unfinished = true
		return false
	case errors.Is(err, rootfs.ErrUnsynced):
		b.err = err
		r.poison()
	case onlyChanged(err):
		b.lost = true
		r.takeBack(b, move)
	default:
		b.err = err
		r.takeBack(b, move)
	}
	return true
}

// onlyChanged reports whether an editor was faster, and nothing else is wrong.
func onlyChanged(err error) bool {
	_, ok := err.(*rootfs.Changed)
	return ok
}

// poison stops this handle from writing: what is on the disk is not known.
func (r *Room) poison() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.readOnly = "a write did not reach the disk for certain; close the room and open it again"
}

func (r *Room) poisoned() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.readOnly != ""
}

// takeAway removes a memory's file from where models read, comparing it first.
func (r *Room) takeAway(p relpath.Path, old []byte, seq int64, archive bool) error {
	if !archive {
		return r.disk.TakeOut(p, old)
	}
	err := r.disk.Retire(p, old, archiveName(seq, p.String()))
	if _, lies, lerr := r.lying(p); !rootfs.Full(err) || lerr != nil || lies != journal.Sum(old) {
		return err
	}
	// The copy in the archive is for people; the versions have the bytes. There is room for
	// it once the memory's file is gone.
	if err := r.disk.TakeOut(p, old); err != nil {
		return err
	}
	if err := r.disk.LibWriteNew(archiveName(seq, p.String()), old); err != nil {
		return errUnfinished
	}
	return nil
}

// errUnfinished says that a move is done but for what the next lock finishes by its mark.
var errUnfinished = errors.New("the copy in the archive is missing")

// abort records that a batch did not happen. Where not even that can be recorded, the rows
// stand, and what waits in tmp is finished when the room is opened again.
func (r *Room) abort(b *batch) error {
	rows := make([]journal.Row, 0, len(b.rows))
	for i := len(b.rows) - 1; i >= 0; i-- {
		rows = append(rows, abortOf(b.rows[i], b.row(i)))
	}
	err := r.spend(func() error { return r.append(rows...) })
	if err != nil {
		r.poison()
	}
	return err
}

// abortOf is the row that says that row seq was not carried out.
func abortOf(row journal.Row, seq int64) journal.Row {
	return journal.Row{
		Change:   journal.Change{Op: journal.OpAbort, Path: row.Path, To: row.To},
		Decision: journal.Decision{Ref: seq},
	}
}

// takeBack undoes the moves of a batch up to the one that failed, last first, and records
// that the batch did not happen. Where an editor was faster its bytes stay, as an outside
// change: the versions hold both texts. Where the disk does not let us, the rows stand, and
// the change is finished when the room is opened again.
func (r *Room) takeBack(b *batch, failed int) {
	for i := min(failed, len(b.moves)-1); i >= 0; i-- {
		if err := r.undo(b, b.moves[i]); err != nil {
			b.err, b.lost = errors.Join(b.err, err), false
			r.poison()
			return
		}
	}
	if err := r.abort(b); err != nil {
		b.err, b.lost = errors.Join(b.err, err), false
	}
}

// undo takes one move back, if it was done.
func (r *Room) undo(b *batch, m move) error {
	now, hash, err := r.lying(m.path)
	if refusal := (*rootfs.Refusal)(nil); errors.As(err, &refusal) {
		return nil // no file: somebody's
	}
	done := ""
	if m.put != nil {
		done = journal.Sum(m.put)
	}
	switch {
	case err != nil:
		return err
	case hash != done || hash == "" && m.old == nil:
		return nil // not done, or changed since
	case m.old == nil:
		return ignoreChanged(r.disk.TakeOut(m.path, now))
	}
	tmp := inTmp(b.row(m.row), ".undo")
	if err := r.disk.LibReplace(tmp, m.old); err != nil {
		return err
	}
	if err := ignoreChanged(r.disk.Replace(tmp, m.path, now)); err != nil {
		return err
	}
	_ = r.disk.LibRemove(tmp)
	if m.archive {
		_ = r.disk.LibRemove(archiveName(b.row(m.row), m.path.String()))
	}
	return nil
}
