package scribe

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/memoryroom/scribe/internal/journal"
	"github.com/memoryroom/scribe/internal/rootfs"
)

// The library's own names, below .scribe.
const (
	auditName = "audit.jsonl"
	localName = "local"
	tmpDir    = "tmp/"
	maxAudit  = 1 << 30 // bytes of journal that Open is willing to read
)

// local ties acceptance to this very directory. A clone, a copy or an unpacked
// archive carries the file and not the identity, so nothing in it is accepted.
type local struct {
	dir string // rootfs identity of the room's directory: inode and birth time
	key []byte // 32 random bytes for the hashes of sessions and proposals
	ok  bool   // dir is this directory's identity
}

// localFile is local as it lies on the disk.
type localFile struct {
	Dir string `json:"dir"`
	Key string `json:"key"`
}

// ledger is what this process has read of the journal. Its state is never changed
// in place: a reader that holds it keeps what it saw.
type ledger struct {
	first int64 // the row with which audit.jsonl begins; 0: nothing was read
	size  int64 // bytes of audit.jsonl that were read
	head  journal.Head
	state *journal.State
	fresh int           // rows decoded since the checkpoint
	last  []journal.Row // the rows of the last append

	pledge string // digest of the base that was read, until its row was; see readBase
}

// lastAppend keeps the rows of the last append among those that were read.
func lastAppend(rows, before []journal.Row) []journal.Row {
	if len(rows) == 0 {
		return before
	}
	n := max(rows[len(rows)-1].Part, 1)
	return rows[max(len(rows)-n, 0):]
}

// sync reads what was appended to the journal since the last call. It takes no
// lock: a row that is being written is not there yet.
//
// Where git merged the journal meanwhile, it takes the lock and joins the sides.
func (r *Room) sync() error {
	read := func() error {
		r.mu.Lock()
		defer r.mu.Unlock()
		_, err := r.syncLocked(false)
		return err
	}
	err := read()
	if !errors.Is(err, errJoinable) || r.writable() != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), joinWait)
	defer cancel()
	unlock, lockErr := r.lock(ctx)
	if lockErr != nil {
		return errors.Join(err, lockErr)
	}
	unlock()
	return read()
}

// joinWait is how long a reader waits for the lock, to join what git merged: git may merge
// while this very handle writes, and then nobody gives the lock back before the reader does.
const joinWait = 2 * time.Second

// syncLocked is sync with r.mu held. mend says that the room's lock is held too, so
// that a torn tail is a crash's and not a write in progress; it returns its offset.
func (r *Room) syncLocked(mend bool) (torn int64, err error) {
	torn, err = r.readNew(mend)
	if pe := (*fs.PathError)(nil); errors.As(err, &pe) && pe.Op == "verify" {
		err = r.explain(err)
	}
	return torn, err
}

func (r *Room) readNew(mend bool) (torn int64, err error) {
	if r.merged {
		return -1, nil // nothing counts
	}
	if r.local == nil || !r.local.ok { // not ours yet: another process may have made it so
		if err := r.readLocal(); err != nil {
			return -1, err
		}
		if r.local != nil && r.local.ok && r.ledger.size > 0 {
			r.ledger = ledger{state: new(journal.State)} // what was read without authority is read again
		}
	}
	size, err := r.disk.LibStat(auditName)
	if errors.Is(err, fs.ErrNotExist) && r.ledger.size > 0 {
		return -1, tampered(errors.New("it is gone"))
	}
	if errors.Is(err, fs.ErrNotExist) {
		return -1, nil
	}
	if err == nil && size == r.ledger.size && !r.isSealed(r.ledger.first) {
		if mend && size > 0 { // nothing is built on rows that are not those that were read
			err = r.stillEnds()
		}
		return -1, err
	}
	if err != nil {
		return -1, err
	}
	from, data, err := r.unread()
	if err != nil {
		return -1, err
	}
	rows, next, good, err := journal.Decode(data[from.size:], from.head, r.opts.Key)
	switch {
	case newer(err):
		r.readOnly = newerFormat
	case damaged(err):
		return -1, tampered(err)
	case err != nil && mend:
		torn = from.size + int64(good)
	case err != nil:
		torn = -1
	}
	if n := incomplete(rows); n > 0 {
		// An append of which the last rows are missing: it happens as a whole or not at all.
		rows = rows[:len(rows)-n]
		good = lineStart(data[from.size:from.size+int64(good)], n)
		next = from.head
		if len(rows) > 0 {
			next = journal.Head{Seq: rows[len(rows)-1].Seq, Hash: rows[len(rows)-1].Hash}
		}
		if torn = -1; mend {
			torn = from.size + int64(good)
		}
		err = errIncomplete
	}
	state, strange := from.state, r.opts.Key == nil && (r.local == nil || !r.local.ok)
	if len(rows) > 0 || strange {
		state = state.Clone()
	}
	r.fold(state, rows)
	if r.honoured(from.pledge, rows) != "" {
		return -1, tampered(errUnpledged)
	}
	r.ledger = ledger{first: from.first, size: from.size + int64(good), head: next, state: state, fresh: from.fresh + len(rows), last: lastAppend(rows, from.last)}
	if strange {
		// History, but not authority: what it accepted counts where it was accepted.
		r.ledger.state.Apply(journal.Row{Stamp: journal.Stamp{Seq: next.Seq}, Change: journal.Change{Op: journal.OpAnchor}})
	}
	if err == nil {
		torn = -1
	}
	return torn, nil
}

// stillEnds fails where audit.jsonl, whose size has not changed, does not end with the row
// that was read last: another journal of that size took its place.
func (r *Room) stillEnds() error {
	data, err := r.disk.LibRead(auditName, maxAudit)
	if err != nil {
		return err
	}
	if !r.ledger.reaches(data) {
		return tampered(errGone)
	}
	return nil
}

var errGone = errors.New("rows that were read are gone")

// reaches reports whether audit.jsonl still has the row that was read last where it was read.
// Without it what follows is not the rest of what was read, however it may look: the end of
// another journal's row would pass for what a crash cut off.
func (l ledger) reaches(data []byte) bool {
	if l.size == 0 {
		return true
	}
	if int64(len(data)) < l.size {
		return false
	}
	data = data[:l.size]
	return bytes.Contains(data[lineStart(data, 1):], []byte(`,"hash":"`+l.head.Hash+`"`))
}

// newerFormat is why a room of a later version of this package is not written.
const newerFormat = "the room is of a newer format"

// unread reads audit.jsonl, and what was sealed since it was last read. The ledger says
// from which byte of data on rows are to be counted.
func (r *Room) unread() (from ledger, data []byte, err error) {
	for try := 0; ; try++ {
		if data, err = r.disk.LibRead(auditName, maxAudit); err != nil {
			return from, nil, err
		}
		from = r.ledger
		first := firstRow(data, max(from.first, 1))
		switch {
		case from.first == 0:
			from, err = r.load(first, data)
		case first != from.first:
			from, err = r.catchUp(from, first)
		}
		if errors.Is(err, fs.ErrNotExist) && try < chainTries {
			if try == chainTries-1 {
				r.ledger = ledger{state: new(journal.State)} // dropped while we were away: from the start
			}
			continue // sealed while we read
		}
		if err == nil && !from.reaches(data) {
			err = tampered(errGone)
		}
		return from, data, err
	}
}

// errIncomplete says that an append is not all there.
var errIncomplete = errors.New("incomplete append")

// incomplete counts the rows at the end that belong to an append whose last row is
// missing.
func incomplete(rows []journal.Row) int {
	if len(rows) == 0 {
		return 0
	}
	last := rows[len(rows)-1]
	if last.Part == last.Parts {
		return 0
	}
	return min(last.Part, len(rows))
}

// lineStart is where the last n lines of data begin.
func lineStart(data []byte, n int) int {
	at := len(data)
	for range n {
		at = bytes.LastIndexByte(data[:max(at-1, 0)], '\n') + 1
	}
	return at
}

// tampered is the error of a journal that no crash explains.
func tampered(err error) error {
	return &fs.PathError{Op: "verify", Path: ".scribe/" + auditName, Err: fmt.Errorf("the journal was tampered with: %w; restore it from a copy, or move .scribe aside and adopt the memories anew", err)}
}

// damaged reports damage that is not a torn tail.
func damaged(err error) bool {
	var d *journal.Damage
	return errors.As(err, &d) && !d.Torn
}

// readLocal reads the anchor, if there is one. A file that can not be understood is
// none: authority is lost, not guessed.
func (r *Room) readLocal() error {
	data, err := r.disk.LibRead(localName, 4096)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	var f localFile
	if json.Unmarshal(data, &f) != nil {
		return nil
	}
	key, err := hex.DecodeString(f.Key)
	if err != nil || len(key) != keySize {
		return nil
	}
	id, err := r.disk.Identity()
	if err != nil {
		return err
	}
	r.local = &local{dir: f.Dir, key: key, ok: id != "" && f.Dir == id}
	return nil
}

// afterLock brings this process up to date once it has the lock: the anchor, the
// journal's tail, and what a crashed writer left in flight.
func (r *Room) afterLock(ctx context.Context) error {
	r.mu.Lock()
	torn, err := r.syncLocked(true)
	if err != nil {
		r.mu.Unlock()
		if err = r.join(ctx, err); err != nil {
			return err
		}
		r.mu.Lock()
		torn, err = r.syncLocked(true)
	}
	fresh := r.local == nil
	moved := !fresh && !r.local.ok
	size := r.ledger.size
	readOnly := r.readOnly
	r.mu.Unlock()
	if err != nil {
		return err
	}
	if readOnly != "" {
		return fmt.Errorf("%s: %w", readOnly, fs.ErrPermission)
	}
	if torn >= 0 {
		if err := r.setAside(torn); err != nil {
			return err
		}
	}
	if fresh || moved {
		if err := r.writeLocal(); err != nil {
			return err
		}
	}
	if size == 0 {
		if err := r.append(journal.Row{Change: journal.Change{Op: journal.OpFormat}}); err != nil {
			return err
		}
		if err := r.recordWaivers(); err != nil {
			return err
		}
	} else if r.opts.Key == nil && (fresh || moved) {
		if err := r.append(journal.Row{Change: journal.Change{Op: journal.OpAnchor}}); err != nil {
			return err
		}
	}
	worked, err := r.finishInFlight(ctx)
	if err != nil {
		return err
	}
	if err := r.dropLeftovers(); err != nil {
		return err
	}
	if worked {
		if err := r.tidy(ctx); err != nil { // the index may lack what was finished
			return err
		}
	}
	return r.rotate()
}

// setAside keeps a torn tail under a name of its own and cuts it off.
func (r *Room) setAside(offset int64) error {
	data, err := r.disk.LibRead(auditName, maxAudit)
	if err != nil {
		return err
	}
	if offset < int64(len(data)) {
		if err := r.keepAside("audit.torn.", data[offset:]); err != nil {
			return err
		}
	}
	return r.disk.LibTruncate(auditName, offset)
}

// keepAside stores bytes under the first of the names prefix1, prefix2, ... that is free
// or has them already, as after a crash.
func (r *Room) keepAside(prefix string, data []byte) error {
	for n := 1; ; n++ {
		name := fmt.Sprintf("%s%d", prefix, n)
		err := r.disk.LibWriteNew(name, data)
		if !errors.Is(err, fs.ErrExist) {
			return err
		}
		if old, err := r.disk.LibRead(name, int64(len(data))); err == nil && bytes.Equal(old, data) {
			return nil
		}
	}
}

// writeLocal makes this directory the one where acceptance counts from now on.
func (r *Room) writeLocal() error {
	id, err := r.disk.Identity()
	if err != nil {
		return err
	}
	l := &local{dir: id, key: make([]byte, keySize), ok: true}
	rand.Read(l.key) // never fails (crypto/rand). Never the old key: whoever sent the room may know it
	data, err := json.Marshal(localFile{Dir: l.dir, Key: hex.EncodeToString(l.key)})
	if err != nil {
		return err
	}
	if err := r.disk.LibReplace(localName, append(data, '\n')); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.local = l
	return nil
}

// appended is rows on their way into the journal, after base.
type appended struct {
	data []byte
	rows []journal.Row // as they are in data
	base ledger
	next journal.Head
}

// encode renders rows for the end of the journal. Rows without a time get the clock's.
func (r *Room) encode(rows []journal.Row) (a appended, err error) {
	now := r.opts.Now().UTC()
	var parts []journal.Row
	for chunk := range slices.Chunk(rows, journal.MaxBatch) {
		parts = append(parts, journal.Batch(chunk...)...)
	}
	for i := range parts {
		if parts[i].Time.IsZero() {
			parts[i].Time = now
		}
	}
	r.mu.Lock()
	a.base = r.ledger
	r.mu.Unlock()
	if a.data, a.next, err = journal.Encode(a.base.head, r.opts.Key, parts...); err != nil {
		return a, err
	}
	a.rows, _, _, err = journal.Decode(a.data, a.base.head, r.opts.Key)
	return a, err
}

// count takes rows into the state that are in the journal now.
func (r *Room) count(a appended) {
	state := a.base.state.Clone()
	for _, row := range a.rows {
		state.Apply(row)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ledger.head == a.base.head { // else a reader has seen the rows already
		r.ledger = ledger{first: max(a.base.first, 1), size: a.base.size + int64(len(a.data)), head: a.next, state: state, fresh: a.base.fresh + len(a.rows), last: lastAppend(a.rows, a.base.last)}
	}
}

// append writes rows that bring no bytes to the journal, durably, and then counts them.
// The room's lock is held.
func (r *Room) append(rows ...journal.Row) error {
	if len(rows) == 0 {
		return nil
	}
	a, err := r.encode(rows)
	if err != nil {
		return err
	}
	if err := r.disk.LibAppend(auditName, a.data); err != nil {
		if errors.Is(err, rootfs.ErrUnsynced) {
			r.poison() // a flush that failed must not be tried again on the same file
		}
		return err
	}
	r.count(a)
	return nil
}

// settleHead says that all rows up to the journal's head are carried out.
func (r *Room) settleHead() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.settled = r.ledger.head.Seq
}

// recordWaivers audits what the operator turned off, once for each change of it.
func (r *Room) recordWaivers() error {
	r.mu.Lock()
	known := r.ledger.state.Waived
	r.mu.Unlock()
	var rows []journal.Row
	for _, name := range []string{waiveDirective, waiveUnaccepted} {
		if known[name] != r.opts.Waive[name] { // given, changed or taken away
			rows = append(rows, journal.Row{
				Change:   journal.Change{Op: journal.OpWaive, Key: name},
				Decision: journal.Decision{By: "operator", Reason: r.opts.Waive[name]},
			})
		}
	}
	return r.append(rows...)
}
