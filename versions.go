package scribe

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"time"

	"github.com/memoryroom/scribe/internal/journal"
	"github.com/memoryroom/scribe/internal/relpath"
	"github.com/memoryroom/scribe/internal/rootfs"
)

// Record is one row of the audit journal. It carries no content.
//
// Op is one of format, anchor, waive; add, replace, edit, rename, archive; adopt,
// restore, rollback, purge; hold, approve, refuse (the operator refused what waited),
// reject (admission refused); observe (changed or deleted outside), abort (the row before
// was not carried out).
type Record struct {
	Seq      int64
	Time     time.Time // UTC
	Op       string    // see above
	Path     string
	To       string // rename: the new path
	ID       string // of the held candidate that it is about
	Act      string // hold, approve: what the candidate does, one of add, replace, edit, archive, rename
	By       string // "writer", "operator", or the name that the operator gave
	Reason   string
	Old, New string   // hex SHA-256 of the bytes before and after; "": nothing
	Rules    []string // of every finding
}

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
				more = yield(Record{Seq: row.Seq, Time: row.Time, Op: row.Op, Path: row.Path, To: row.To, ID: row.ID, Act: row.Act, By: row.By, Reason: row.Reason, Old: row.Old, New: row.New, Rules: row.Rules}, nil)
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
	r.mu.Lock()
	end := r.ledger.head.Seq
	r.mu.Unlock()
	if seq < 1 || seq > end {
		return Verdict{}, fmt.Errorf("rollback: row %d: the journal has rows 1 to %d", seq, end)
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
	return r.putBack(ctx, journal.OpRollback, path, acc, fmt.Sprintf("as of row %d", seq))
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
	r.mu.Lock()
	end := r.ledger.head.Seq
	r.mu.Unlock()
	if names, err := r.disk.LibList("versions"); err == nil {
		for _, f := range names {
			if seq, _, ok := journal.ParseVersionName("versions/" + f); ok && seq > end {
				add("check.journal-short", auditName, fmt.Sprintf("versions of rows up to %d at least exist, and the journal ends at %d", seq, end), "compare Head with the one you kept, or restore the journal from a copy")
				break
			}
		}
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
	return patchIndex(w.index, b.set, b.drop, hasLine(w.state))
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
