package scribe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/memoryroom/scribe/internal/journal"
	"github.com/memoryroom/scribe/internal/rootfs"
)

// The journal is one chain of rows, cut into files: audit.jsonl holds the newest rows,
// audit/<first row>.jsonl those before, sealed. Each begins with a format row, whose prev
// is the head of the file before. What is sealed never changes; it can only be dropped
// from the front, by Prune, which leaves the state that it added up to (a base).

const (
	segmentDir = "audit"
	// segmentBytes is when audit.jsonl is sealed: some two thousand rows. Readers read the
	// file whole when it has grown, which takes a fraction of a millisecond at that size.
	segmentBytes = 1 << 20
	// chainTries is how often a reader, which takes no lock, begins anew when files of the
	// journal were sealed or dropped while it read.
	chainTries = 4
)

// segmentName is the sealed file that begins with that row.
func segmentName(first int64) string { return fmt.Sprintf("%s/%d.jsonl", segmentDir, first) }

// segmentOf is the inverse of segmentName, of a name below segmentDir; 0 for none.
func segmentOf(name string) int64 {
	digits, ok := strings.CutSuffix(name, ".jsonl")
	seq, err := strconv.ParseInt(digits, 10, 64)
	if !ok || err != nil || seq < 1 || strconv.FormatInt(seq, 10) != digits {
		return 0
	}
	return seq
}

// firstRow is the row with which a file of the journal claims to begin, else or.
func firstRow(data []byte, or int64) int64 {
	if from, ok := journal.Before(data); ok {
		return from.Seq + 1
	}
	return or
}

// sealedBefore lists the first rows of the sealed files that come before a file which
// begins with row first, in order. A file that begins later than that is what a crash left
// of sealing: audit.jsonl has its rows still.
func (r *Room) sealedBefore(first int64) ([]int64, error) {
	names, err := r.disk.LibList(segmentDir)
	if err != nil {
		return nil, err
	}
	var all []int64
	for _, n := range names {
		if seq := segmentOf(n); seq > 0 && seq < first {
			all = append(all, seq)
		}
	}
	slices.Sort(all)
	return all, nil
}

// isSealed reports whether the file that began with that row was sealed.
func (r *Room) isSealed(first int64) bool {
	_, err := r.disk.LibStat(segmentName(first))
	return err == nil
}

// load reads the journal from where a checkpoint or the first sealed file begins, up to
// audit.jsonl, whose bytes are data and which begins with row first. The ledger that it
// returns has read data up to its size, and the rest of data is for the caller.
func (r *Room) load(first int64, data []byte) (ledger, error) {
	sealed, err := r.sealedBefore(first)
	if err != nil {
		return ledger{}, err
	}
	l, sealed, pledge, err := r.origin(sealed, first)
	if err != nil {
		return ledger{}, err
	}
	at, skip := 0, int64(0)
	if cp := r.readCheckpoint(); cp != nil {
		if i, n, ok := cp.covers(r, sealed, data); ok {
			l.head, l.state = cp.head(), cp.State
			at, skip, pledge = i, n, "" // whoever wrote it has seen the row
		}
	}
	l.pledge = pledge
	for ; at < len(sealed); at++ {
		body, err := r.disk.LibRead(segmentName(sealed[at]), maxAudit)
		if err != nil {
			return ledger{}, err
		}
		if l, err = r.follow(l, body[skip:]); err != nil {
			return ledger{}, err
		}
		skip = 0
	}
	l.first, l.size = first, skip
	return l, nil
}

// honoured takes in rows in which the base that was read is to find its own. pledge is ""
// when it has, or needs none.
func (r *Room) honoured(pledge string, rows []journal.Row) string {
	if pledge != "" && slices.ContainsFunc(rows, func(row journal.Row) bool { return r.vouched(row) && pledges(row, pledge) }) {
		return ""
	}
	return pledge
}

// follow applies the rows of a sealed file, or of its rest. A crash leaves no damage in
// one.
func (r *Room) follow(l ledger, data []byte) (ledger, error) {
	rows, next, _, err := journal.Decode(data, l.head, r.opts.Key)
	var newer *journal.Newer
	switch {
	case errors.As(err, &newer):
		r.readOnly = newerFormat
	case err != nil:
		return l, tampered(err)
	}
	l.state = l.state.Clone()
	r.fold(l.state, rows)
	l.head, l.fresh, l.pledge = next, l.fresh+len(rows), r.honoured(l.pledge, rows)
	return l, nil
}

// fold applies the rows that count: all, or with a key those that carry its MAC.
func (r *Room) fold(state *journal.State, rows []journal.Row) {
	for _, row := range rows {
		if r.vouched(row) {
			state.Apply(row)
		}
	}
}

// vouched reports whether a row counts here at all.
func (r *Room) vouched(row journal.Row) bool { return r.opts.Key == nil || row.Verified }

// catchUp follows a ledger that has read part of a file which was sealed meanwhile, up to
// audit.jsonl, which begins with row first.
func (r *Room) catchUp(l ledger, first int64) (ledger, error) {
	for l.first < first {
		data, err := r.disk.LibRead(segmentName(l.first), maxAudit)
		if err != nil {
			return l, err
		}
		if int64(len(data)) < l.size {
			return l, tampered(errors.New("rows that were read are gone"))
		}
		if l, err = r.follow(l, data[l.size:]); err != nil {
			return l, err
		}
		l.first, l.size = l.head.Seq+1, 0
	}
	if l.first != first {
		return l, tampered(errors.New("a file of it is missing"))
	}
	return l, nil
}

// rotate seals audit.jsonl when it has grown large, and begins a new one. The room's lock
// is held and nothing is in flight, so that no abort reaches back over the seam. A
// crash leaves the sealed copy beside the whole file; whoever locks next removes it.
//
// Sealing is never urgent: where the disk will not take it, the file goes on growing.
func (r *Room) rotate() error {
	r.mu.Lock()
	l := r.ledger
	r.mu.Unlock()
	if l.size < int64(r.opts.segment) {
		return nil
	}
	data, err := r.disk.LibRead(auditName, maxAudit)
	if err != nil || int64(len(data)) != l.size {
		return err
	}
	row := journal.Row{Change: journal.Change{Op: journal.OpFormat}}
	row.Time = r.opts.Now().UTC()
	line, next, err := journal.Encode(l.head, r.opts.Key, row)
	if err != nil {
		return err
	}
	rows, _, _, err := journal.Decode(line, l.head, r.opts.Key)
	if err != nil {
		return err
	}
	if r.disk.LibReplace(segmentName(l.first), data) != nil {
		return nil
	}
	switch err := r.disk.LibReplace(auditName, line); {
	case errors.Is(err, rootfs.ErrUnsynced):
		r.poison()
		return err
	case err != nil:
		return nil
	}
	state := l.state.Clone()
	state.Apply(rows[0])
	r.mu.Lock()
	r.ledger = ledger{first: next.Seq, size: int64(len(line)), head: next, state: state, fresh: l.fresh + 1}
	r.mu.Unlock()
	r.writeCheckpoint()
	return nil
}

// dropLeftovers removes what a crash left of sealing: a copy of rows that audit.jsonl
// holds. The room's lock is held.
func (r *Room) dropLeftovers() error {
	names, err := r.disk.LibList(segmentDir)
	if err != nil || len(names) == 0 {
		return err
	}
	r.mu.Lock()
	l := r.ledger
	r.mu.Unlock()
	var known map[string]bool
	for _, n := range names {
		if segmentOf(n) < l.first || l.first == 0 {
			continue
		}
		if known == nil {
			if known, err = r.knownLines(names); err != nil {
				return err
			}
		}
		old, err := r.disk.LibRead(segmentDir+"/"+n, maxAudit)
		if err != nil {
			return err
		}
		more := false
		for line := range bytes.Lines(old) {
			more = more || !known[string(line)] && !journal.IsMarker(bytes.TrimSuffix(line, []byte{'\n'}))
		}
		if more {
			continue // Check names it
		}
		if err := r.disk.LibRemove(segmentDir + "/" + n); err != nil {
			return err
		}
	}
	return nil
}

// knownLines is the set of the lines of audit.jsonl, of the sides that were joined, and of what a
// join kept aside.
func (r *Room) knownLines(names []string) (map[string]bool, error) {
	files := []string{auditName}
	for _, n := range names {
		if strings.HasPrefix(n, forkPrefix) {
			files = append(files, segmentDir+"/"+n)
		}
	}
	aside, err := r.disk.LibList("")
	if err != nil {
		return nil, err
	}
	for _, n := range aside {
		if strings.HasPrefix(n, "audit.rest.") {
			files = append(files, n)
		}
	}
	known := map[string]bool{}
	for _, name := range files {
		data, err := r.disk.LibRead(name, maxAudit)
		if err != nil {
			return nil, err
		}
		for line := range bytes.Lines(data) {
			known[string(line)] = true
		}
	}
	return known, nil
}

// eachRow reads the journal from its first row that is left until fn returns false. A last
// append that is not all there is left out.
func (r *Room) eachRow(ctx context.Context, fn func(journal.Row) bool) error {
	_, err := r.replay(ctx, func(_ *journal.State, row journal.Row) bool { return fn(row) })
	return err
}

// replay is eachRow with the state before each row, as it counted then, which fn must not
// keep. It returns the state after the last row that fn wanted. A row that does not count
// is passed to fn too, and leaves the state as it is.
func (r *Room) replay(ctx context.Context, fn func(before *journal.State, row journal.Row) bool) (*journal.State, error) {
	began := false
	for try := 0; ; try++ {
		state, err := r.replayOnce(ctx, func(s *journal.State, row journal.Row) bool {
			began = true
			return fn(s, row)
		})
		// Sealed or dropped while we read: again, unless fn has seen rows already.
		if err == nil || !errors.Is(err, fs.ErrNotExist) || began || try == chainTries {
			return state, err
		}
	}
}

func (r *Room) replayOnce(ctx context.Context, fn func(*journal.State, journal.Row) bool) (*journal.State, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	data, err := r.disk.LibRead(auditName, maxAudit)
	if errors.Is(err, fs.ErrNotExist) {
		return new(journal.State), nil
	}
	if err != nil {
		return nil, err
	}
	first := firstRow(data, 1)
	sealed, err := r.sealedBefore(first)
	if err != nil {
		return nil, err
	}
	l, sealed, pledge, err := r.origin(sealed, first)
	if err != nil {
		return nil, err
	}
	for i := 0; i <= len(sealed); i++ {
		body, active := data, i == len(sealed)
		if !active {
			if body, err = r.disk.LibRead(segmentName(sealed[i]), maxAudit); err != nil {
				return nil, err
			}
		}
		rows, next, _, err := journal.Decode(body, l.head, r.opts.Key)
		if err != nil && !newer(err) && (!active || damaged(err)) {
			return nil, tampered(err)
		}
		if active {
			rows = rows[:len(rows)-incomplete(rows)]
		}
		for _, row := range rows {
			if err := ctx.Err(); err != nil {
				return nil, err
			}
			if !fn(l.state, row) {
				return l.state, nil
			}
			if r.vouched(row) {
				l.state.Apply(row)
			}
		}
		l.head, pledge = next, r.honoured(pledge, rows)
	}
	if pledge != "" {
		return nil, tampered(errUnpledged)
	}
	return l.state, nil
}

func newer(err error) bool {
	var n *journal.Newer
	return errors.As(err, &n)
}

// origin is where the files of the journal begin: before the first row, or after a prune
// at its base. The base counts once a row commits to it: pledge is that row's digest, ""
// for none. It also drops from sealed what the base has made superfluous, which a prune
// that was cut short leaves.
func (r *Room) origin(sealed []int64, first int64) (l ledger, rest []int64, pledge string, err error) {
	b, pledge, ok, err := r.readBase()
	if err != nil {
		return l, nil, "", err
	}
	l.state = new(journal.State)
	if ok {
		l.state, l.head = b.State, journal.Head{Seq: b.Seq, Hash: b.Hash}
		l.state.Seq = b.Seq
	}
	rest = slices.DeleteFunc(sealed, func(at int64) bool { return at <= l.head.Seq })
	if len(rest) > 0 {
		first = rest[0]
	}
	if first != l.head.Seq+1 {
		return l, nil, "", tampered(errors.New("its first rows are missing"))
	}
	return l, rest, pledge, nil
}

// pledges reports whether a row commits to a base.
func pledges(row journal.Row, digest string) bool {
	return row.Op == journal.OpPrune && row.Path == "" && row.Digest == digest
}

// errUnpledged is why a base does not count.
var errUnpledged = errors.New("no row commits to what its first rows are said to add up to")
