package scribe

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"strings"

	"github.com/memoryroom/scribe/internal/entry"
	"github.com/memoryroom/scribe/internal/journal"
)

// What git does to a journal besides a merge of clones with one key (see forks.go):
//
//   - Without Options.Key a merge leaves conflict markers in it, and nobody can tell whose
//     rows are whose. The room then opens read-only, with nothing accepted, as a copy does;
//     taking one side whole, or undoing the merge, gives that side's room back, and Check
//     with repair goes on with the longer side as history.
//   - Under an open room it can be exchanged at any moment. What a handle has read is then
//     not there any more, or not by itself: the handle says so, and nothing is believed
//     until the room is opened again.

// errMerged is why a journal that git merged can not be read without a key.
var errMerged = errors.New("git merged it, and without Options.Key another machine's rows can not be told from forged ones; take one side of .scribe whole (git checkout --ours .scribe), or run Check with repair and adopt the memories")

// errReplaced is why a handle does not go on with a journal that verifies: it is not the one that
// it has read.
var errReplaced = errors.New("it was replaced while the room was open, as git checkout, git reset or a restored copy do; close the room and open it again, and Verify a head that was kept elsewhere")

// errJoinable is why a reader that can not join the sides does not go on with a journal that git
// merged under it.
var errJoinable = errors.New("git merged it while the room was open; close the room and open it again where it can be written, which joins the sides")

// mergedReadOnly is why a room whose journal git merged is not written.
const mergedReadOnly = "git merged the room's journal, and without a key nothing in it counts: take one side of .scribe whole, or run Check with repair"

func unreadable(err error) error {
	return &fs.PathError{Op: "verify", Path: ".scribe/" + auditName, Err: err}
}

// explain says why a journal that this handle has read before, or tries to read, is not to
// be read now: broken is the error when nothing explains it but tampering. r.mu is held.
func (r *Room) explain(broken error) error {
	data, _, err := r.wholeJournal()
	if errors.Is(err, fs.ErrNotExist) && r.ledger.size > 0 {
		return unreadable(errReplaced)
	}
	if err != nil {
		return broken
	}
	if r.opts.Key == nil && entry.ConflictMarkers(data) {
		return unreadable(errMerged)
	}
	if r.ledger.size == 0 {
		return broken
	}
	if bytes.Contains(data, []byte(`"hash":"`+r.ledger.head.Hash+`"`)) {
		if r.opts.Key != nil && r.joinable(data) {
			return unreadable(errJoinable)
		}
		return broken
	}
	if _, err := r.replay(context.Background(), func(*journal.State, journal.Row) bool { return true }); err != nil && !r.joinable(data) {
		return broken
	}
	return unreadable(errReplaced)
}

// joinable reports whether a text is two sides of a journal whose rows verify under the key.
func (r *Room) joinable(data []byte) bool {
	if r.opts.Key == nil {
		return false
	}
	b, _, _, err := r.readBase()
	if err != nil {
		return false
	}
	tree := journal.Untangle(data, journal.Head{Seq: b.Seq, Hash: b.Hash}, r.opts.Key)
	return !tree.Cut && tree.Trunk.To.Seq > b.Seq && (len(tree.Branches) > 0 || tree.Markers)
}

// unmerged turns the error of a journal that git merged without a key into a room that is only
// read, and has nothing accepted.
func (r *Room) unmerged(err error) error {
	if !errors.Is(err, errMerged) {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.merged, r.readOnly = true, mergedReadOnly
	r.ledger = ledger{state: new(journal.State)}
	return nil
}

// takeOneSide makes a journal that git merged without a key one again, with the longer side as
// history. Nothing counts of either: an anchor row ends it. What is not part of that side is
// kept aside, and so is what waited on the other.
func (r *Room) takeOneSide(ctx context.Context) error {
	unlock, err := r.disk.Lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	data, sealed, err := r.wholeJournal()
	if err != nil {
		return err
	}
	b, _, _, err := r.readBase()
	if err != nil {
		return err
	}
	if entry.ConflictMarkers(data) { // else somebody resolved it meanwhile
		if err := r.keepOneSide(data, journal.Head{Seq: b.Seq, Hash: b.Hash}, b.State, sealed); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.merged, r.readOnly = false, ""
	r.ledger = ledger{state: new(journal.State)}
	_, err = r.syncLocked(true)
	return err
}

func (r *Room) keepOneSide(data []byte, from journal.Head, begin *journal.State, sealed []string) error {
	tree := journal.Untangle(data, from, nil)
	rows, head, _, err := journal.Decode(tree.Trunk.Data, from, nil)
	if err != nil || len(rows) == 0 {
		return unreadable(errors.Join(errMerged, errors.New("and no side of it can be read by itself")))
	}
	state := new(journal.State)
	if begin != nil {
		state = begin
	}
	for _, row := range rows {
		state.Apply(row)
	}
	row := journal.Row{Change: journal.Change{Op: journal.OpAnchor}, Decision: journal.Decision{By: byRepair}}
	row.Time = r.opts.Now().UTC()
	line, _, err := journal.Encode(head, nil, row)
	if err != nil {
		return err
	}
	rest := tree.Rest
	for _, branch := range tree.Branches {
		rest = append(rest, branch.Data...)
	}
	if len(rest) > 0 {
		if err := r.keepAside("audit.rest.", rest); err != nil {
			return err
		}
	}
	names, err := r.disk.LibList("pending")
	if err != nil {
		return err
	}
	for _, name := range names {
		if _, waits := state.Pending[strings.TrimSuffix(name, ".md")]; waits {
			continue
		}
		held, err := r.disk.LibRead("pending/"+name, maxMerged)
		if err == nil {
			err = r.keepAside("audit.rest.", held)
		}
		if err != nil {
			return err
		}
	}
	if err := r.disk.LibReplace(auditName, append(tree.Trunk.Data, line...)); err != nil {
		return err
	}
	for _, name := range sealed {
		if err := r.dropFile(name); err != nil {
			return err
		}
	}
	return nil
}

func (r *Room) isMerged() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.merged
}

// canTakeSide reports whether a merged journal may be made one again through this handle.
func (r *Room) canTakeSide() bool { return r.isMerged() && !r.opts.ReadOnly && r.disk.Writable() }
