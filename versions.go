package scribe

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"time"

	"github.com/memoryroom/scribe/internal/journal"
)

// Record is one row of the audit journal. It carries no content.
//
// Op is one of format, anchor, waive, prune, join (of a side that git merged); add,
// replace, edit, rename, archive; adopt, restore, rollback, purge; stow (an import, straight
// to the archive), link (what is said of an archived memory changed); hold, approve, refuse
// (the operator refused what waited), withdraw (it was given up), reject (admission
// refused); alias (the memory To was called Path on a side that was joined); observe (changed or deleted outside), remove (deleted on a side that was joined),
// abort (the row before was not carried out).
type Record struct {
	Seq      int64
	Time     time.Time // UTC
	Op       string    // see above
	Path     string    // a refused one is quoted and clipped, or "" where a screen found something in it
	To       string    // rename: the new path
	ID       string    // of the held candidate that it is about
	Act      string    // hold, approve: what the candidate does, one of add, replace, edit, archive, rename
	By       string    // "writer", "operator", or the name that the operator gave; where only a link was turned, who wrote the text
	Reason   string
	Old, New string   // hex SHA-256 of the bytes before and after; "": nothing
	Rules    []string // of every finding
}

// version reads the bytes that the row of that number put in place. While the row is
// being written they have their name in tmp only.
func (r *Room) version(seq int64, hash string) ([]byte, error) {
	name := journal.VersionName(seq, hash)
	data, err := r.disk.LibRead(name, maxMemory)
	if errors.Is(err, fs.ErrNotExist) {
		if early, terr := r.disk.LibRead(inTmp(seq, versionExt), maxMemory); terr == nil && journal.Sum(early) == hash {
			return early, nil
		}
		data, err = r.disk.LibRead(name, maxMemory) // it may have got its name just now
	}
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

// At yields the memories as they were once row seq of the journal was carried out: those
// that stood (stage "active") and those in the archive ("archived"), by path, with the
// trust and the text that they had. 0 is before the first row. Where a text was pruned or
// purged since, the memory has no Text and a finding "version.gone".
//
// For a moment in time, take the last row of History whose Time is not after it. The
// clock may have been set back between two rows; the order of the rows is the order of
// what happened.
func (r *Room) At(ctx context.Context, seq int64) iter.Seq2[Memory, error] {
	return func(yield func(Memory, error) bool) {
		if err := r.usable(); err != nil {
			yield(Memory{}, err)
			return
		}
		then, err := r.stateAt(ctx, seq)
		if err != nil {
			yield(Memory{}, err)
			return
		}
		all := r.archivedMemories(&world{state: then})
		for _, path := range acceptedPaths(then) {
			acc := then.Accepted[path]
			m := Memory{Path: path, Key: acc.Key, Stage: stageActive}
			if data, err := r.version(acc.Seq, acc.Hash); err == nil {
				m = describe(path, stageActive, data)
			}
			m.Hash, m.Trust, m.Modified = acc.Hash, parseTrust(acc.Trust), acc.Time.UTC()
			all = append(all, m)
		}
		slices.SortStableFunc(all, func(a, b Memory) int { return strings.Compare(a.Path, b.Path) })
		for _, m := range all {
			if m.Text == "" && m.Hash != journal.Sum(nil) {
				m.Findings = append(m.Findings, refuse("version.gone", Held, "text", "the text of then was pruned or purged", "nothing brings it back from this room"))
			}
			if !yield(m, nil) {
				return
			}
		}
	}
}

// stateAt folds the rows up to and including seq.
func (r *Room) stateAt(ctx context.Context, seq int64) (*journal.State, error) {
	begin, end := int64(-1), int64(0)
	state, err := r.replay(ctx, func(before *journal.State, row journal.Row) bool {
		if begin < 0 {
			begin = before.Seq
		}
		if row.Seq <= seq {
			end = row.Seq
		}
		return row.Seq <= seq
	})
	if err != nil {
		return nil, err
	}
	if begin = max(begin, 0); seq < begin || seq > max(end, begin) {
		return nil, fmt.Errorf("row %d: the journal has rows from %d on, and this is not one of them: %w", seq, begin+1, fs.ErrNotExist)
	}
	return state, nil
}

// Verify reports whether a head that [Room.Head] gave, and that was kept elsewhere, still
// lies on the journal's chain: nil says that every row up to it is the one that it was
// then, and that the rows after it continue it; in a room that was merged it may lie on
// a side that was joined. The whole journal is read for it, and no
// checkpoint is believed.
//
// An error that matches fs.ErrInvalid says that head is none; fs.ErrNotExist, that its row
// was dropped by Prune, so that nothing can be said of it (take a new head after each
// Prune); any other *fs.PathError with Op "verify", that the journal was cut short,
// rebuilt or changed.
//
// What a head can not show: what was appended after it was taken, rows that were cut off
// after it, and who wrote a row. A host that wants to notice those keeps the newest head
// after each change, or gives the rows a MAC with Options.Key.
func (r *Room) Verify(ctx context.Context, head string) error {
	want, err := journal.ParseHead(head)
	if err != nil {
		return fmt.Errorf("verify: %.80q is no head: %w", head, fs.ErrInvalid)
	}
	if err := r.usable(); err != nil {
		return err
	}
	if want.Seq == 0 {
		return nil // the position before the first row lies on every chain
	}
	var end int64
	var joins []journal.Row
	begin, found := int64(-1), false
	_, err = r.replay(ctx, func(before *journal.State, row journal.Row) bool {
		if begin < 0 {
			begin = before.Seq
		}
		end = row.Seq
		found = found || row.Seq == want.Seq && row.Hash == want.Hash
		if row.Op == journal.OpJoin && r.vouched(row) {
			joins = append(joins, row)
		}
		return true
	})
	for _, side := range r.joinedSides(joins) {
		found = found || side.err == nil && slices.ContainsFunc(side.rows, func(row journal.Row) bool { return row.Hash == want.Hash && row.Seq == want.Seq })
	}
	switch {
	case err != nil:
		return err
	case found:
		return nil
	case want.Seq <= begin:
		return &fs.PathError{Op: "verify", Path: ".scribe/" + auditName, Err: fmt.Errorf("row %d was dropped by a prune: %w", want.Seq, fs.ErrNotExist)}
	case want.Seq > end:
		return tampered(fmt.Errorf("it ends at row %d, before row %d", end, want.Seq))
	}
	return tampered(fmt.Errorf("row %d is not the row that it was", want.Seq))
}

// anyAccepted reports whether a memory is accepted. The index is not one.
func anyAccepted(state *journal.State) bool {
	_, index := state.Accepted[indexName]
	return len(state.Accepted) > 1 || len(state.Accepted) == 1 && !index
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
