package scribe

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"

	"github.com/memoryroom/scribe/internal/journal"
	"github.com/memoryroom/scribe/internal/relpath"
	"github.com/memoryroom/scribe/internal/rootfs"
)

// Purge erases a memory's bodies from everywhere in the room that holds them: its
// file, the archive, the versions under every name that it had, what waits under its
// path, the stored snapshots that show it. A row without a hash stays, the path keeps
// its tomb, and what waited can not be proposed again. Copies outside the room (git,
// backups, an editor) are beyond it. It reports what it could not remove ("purge.left",
// "purge.kept") and where it can not prove that nothing of the text is left, because nobody
// knows whose the bytes are ("purge.parked") or they can not be read ("purge.unproven"); a purge
// that is cut short is finished when the room is opened. reason is as in Archive.
func (r *Room) Purge(ctx context.Context, path, reason string) ([]Finding, error) {
	if err := refuseWords("purge", r.opts.Allow, remark{"reason", reason, maxReason}); err != nil {
		return nil, err
	}
	unlock, err := r.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	w, err := r.world(ctx)
	if err != nil {
		return nil, err
	}
	p, err := relpath.Parse(path)
	if err != nil {
		return nil, fmt.Errorf("purge: %w", err)
	}
	if looksLikeIndex(p) {
		return nil, &fs.PathError{Op: "purge", Path: path, Err: fs.ErrInvalid}
	}
	s, err := r.standing(w.state, p)
	if err != nil {
		return nil, err
	}
	row := journal.Row{Change: journal.Change{Op: journal.OpPurge, Path: path}, Decision: journal.Decision{By: "operator", Reason: reason}}
	if s.bytes != nil {
		row.Digest = r.digestOf(true, path, "", nil, s.bytes)
	}
	rows := []journal.Row{row}
	var gone []string
	for id, held := range journal.Sorted(w.state.Pending) {
		if w.state.Called(held.Path, path, held.Seq) || held.To == path {
			gone = append(gone, pendingName(id))
			rows = append(rows, journal.Row{Change: journal.Change{Op: journal.OpRefuse, Path: held.Path}, Decision: journal.Decision{By: "operator", ID: id, Digest: held.Digest}})
		}
	}
	known, err := r.everStood(ctx, path)
	if err != nil || !known && s.kind == absent && len(gone) == 0 {
		return nil, cmp.Or(err, error(&fs.PathError{Op: "purge", Path: path, Err: fs.ErrNotExist}))
	}
	if !known { // the name of somebody else's file, which no row has yet
		if err := refuseWords("purge", r.opts.Allow, remark{"path", path, relpath.MaxLen}); err != nil {
			return nil, err
		}
	}
	if err := r.spend(func() error { return r.forgetLinks(ctx, w, path) }); err != nil {
		return nil, err
	}
	seq, err := r.announce(rows...)
	if err != nil {
		return nil, err
	}
	var left []Finding
	err = r.spend(func() (err error) {
		left, err = r.erase(context.WithoutCancel(ctx), seq, s.disk)
		return err
	})
	if err != nil {
		return left, err
	}
	left = append(left, r.removeAll(gone)...)
	if len(w.state.Former[path]) == journal.MaxNames {
		left = append(left, Finding{Rule: "purge.unproven", Outcome: Held, Field: path, Message: "the memory had more names than are kept, so it can not be shown that no session was told of it under an earlier one", Fix: "end the sessions that began before the last renames"})
	}
	var b batch
	b.unline(path)
	if !keptBack(left) {
		_ = r.disk.LibRemove(mark(seq)) // done; else the next lock tries again
	}
	return left, r.spend(func() error { return r.writeIndex(&b) })
}

// keptBack reports whether something that was to be erased could not be removed.
func keptBack(left []Finding) bool {
	return slices.ContainsFunc(left, func(f Finding) bool { return f.Rule == "purge.kept" })
}

// erase carries out the purge of that row: the memory's own file, where it holds one of
// its texts or what the operator saw there, the files of the library, the snapshots.
func (r *Room) erase(ctx context.Context, seq int64, saw []byte) (left []Finding, err error) {
	p, err := r.purgeAt(ctx, seq)
	if err != nil {
		return nil, err
	}
	file, err := relpath.Parse(p.path)
	if err != nil {
		return nil, err
	}
	disk, hash, err := r.lying(file)
	if refusal := (*rootfs.Refusal)(nil); err != nil && !errors.As(err, &refusal) {
		return nil, err
	}
	if disk != nil && (p.texts[hash[:12]] || bytes.Equal(disk, saw)) {
		if err := r.disk.TakeOut(file, disk); err != nil && !errors.Is(err, rootfs.ErrChanged) {
			return nil, err
		}
	}
	if now, _, err := r.lying(file); err == nil && now != nil {
		left = append(left, Finding{Rule: "purge.left", Outcome: Held, Field: p.path, Message: "the file was saved meanwhile", Fix: "look at it, and purge it again"})
	}
	more, parked, err := r.leftovers(p)
	if err != nil {
		return left, err
	}
	left = append(left, r.removeAll(more)...) // first: the snapshots need some of the space
	if err := r.dropCache(); err != nil {
		return left, err
	}
	unread, err := r.forgetSnapshots(p.names)
	if err != nil {
		return left, err
	}
	for _, name := range unread {
		left = append(left, Finding{Rule: "purge.unproven", Outcome: Held, Field: name, Message: "the state of a session can not be understood, so it can not be shown that the text is not in it", Fix: "nothing reads it; empty the file by hand if the text must not be there"})
	}
	for _, name := range parked {
		left = append(left, Finding{Rule: "purge.parked", Outcome: Held, Field: name, Message: "bytes from outside were kept here, of no memory that is known", Fix: "look at them, and remove the file by hand"})
	}
	return left, nil
}

// everStood reports whether the journal knows a text of that path.
func (r *Room) everStood(ctx context.Context, path string) (known bool, err error) {
	err = r.eachRow(ctx, func(row journal.Row) bool {
		known = known || (row.Path == path || row.To == path) && row.New != ""
		return !known
	})
	return known, err
}

// purge is what one purge was to erase: the texts that a memory had until then, under
// whatever names.
type purge struct {
	seq   int64
	path  string
	names []string        // the path, and the names that the memory had before
	texts map[string]bool // hash prefixes, as versions are named by them
}

// purgeAt reads from the journal what the purge of that row was to erase. A memory's
// line of descent follows its renames, and ends with its purge.
func (r *Room) purgeAt(ctx context.Context, seq int64) (p purge, err error) {
	var line descent
	began := false
	_, err = r.replay(ctx, func(before *journal.State, row journal.Row) bool {
		if !began {
			began = true
			line.begin(before)
		}
		if row.Seq == seq {
			names, texts := line.purged(row)
			p = purge{seq, row.Path, names, texts}
			return false
		}
		line.step(row)
		line.join(r.sideOf(row), row.Ref)
		return true
	})
	return p, err
}

// leftovers lists the library's files that hold text of a purged memory, and those that
// hold bytes from outside of which nobody knows whose they are. A version that another
// memory rests on stays with it.
func (r *Room) leftovers(p purge) (gone, parked []string, err error) {
	r.mu.Lock()
	state := r.ledger.state
	r.mu.Unlock()
	need := restsOn(state, p.names...)
	versions, err := r.disk.LibList("versions")
	if err != nil {
		return nil, nil, err
	}
	for _, f := range versions {
		name := "versions/" + f
		seq, prefix, ok := journal.ParseVersionName(name)
		switch {
		case !ok && r.holds(name, p.texts), ok && seq <= p.seq && p.texts[prefix] && len(need[name]) == 0:
			gone = append(gone, name)
		case !ok:
			parked = append(parked, name)
		}
	}
	archived, err := r.disk.LibList("archive")
	if err != nil {
		return nil, nil, err
	}
	for _, f := range archived {
		row, at, _ := strings.Cut(f, "/")
		seq, err := strconv.ParseInt(row, 10, 64)
		if _, kept := state.Archived[journal.ArchiveName(at, seq)]; err == nil && seq <= p.seq && slices.Contains(p.names, at) && !kept {
			gone = append(gone, "archive/"+f)
		}
	}
	return gone, parked, nil
}

// holds reports whether a library file has one of the texts.
func (r *Room) holds(name string, texts map[string]bool) bool {
	data, err := r.disk.LibRead(name, maxAudit)
	return err == nil && texts[journal.Sum(data)[:12]]
}

// removeAll removes files of the library, and says which could not be removed.
func (r *Room) removeAll(names []string) (left []Finding) {
	for _, name := range names {
		if r.dropFile(name) != nil {
			left = append(left, Finding{Rule: "purge.kept", Outcome: Held, Field: name, Message: "a copy could not be removed", Fix: "open the room again, or remove the file by hand"})
		}
	}
	return left
}

// forgetSnapshots drops the stored snapshots that show one of the memories: its description is
// text too. They are rendered anew when they are asked for.
// unread lists the states that can not be understood: what they hold is not known.
func (r *Room) forgetSnapshots(paths []string) (unread []string, err error) {
	for _, s := range r.sessionsOpen() {
		s.mu.Lock()
		s.state.forget(paths)
		for hash, h := range s.handouts {
			h.told, _ = withoutDigests(h.told, paths)
			s.handouts[hash] = h
		}
		s.mu.Unlock()
	}
	names, err := r.disk.LibList("sessions")
	if err != nil {
		return nil, err
	}
	for _, n := range names {
		name := sessionDir + n
		if !sessionFile(name) {
			continue
		}
		st, err := r.readSession(name)
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil || st.Ceiling == "" {
			unread = append(unread, name)
			continue
		}
		if !st.forget(paths) {
			continue
		}
		if err := r.writeSession(name, st); err != nil {
			return unread, fmt.Errorf("purge: a session's snapshot could not be replaced: %w", err)
		}
	}
	return unread, nil
}
