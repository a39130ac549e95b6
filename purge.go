package scribe

import (
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
// backups, an editor) are beyond it. It reports what it could not remove; a purge
// that is cut short is finished when the room is opened.
func (r *Room) Purge(ctx context.Context, path, reason string) ([]Finding, error) {
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
		return nil, err
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
		row.Digest = r.digestOf(true, path, "", s.bytes)
	}
	rows := []journal.Row{row}
	var gone []string
	for id, held := range journal.Sorted(w.state.Pending) {
		if held.Path == path || held.To == path {
			gone = append(gone, pendingName(id))
			rows = append(rows, journal.Row{Change: journal.Change{Op: journal.OpRefuse, Path: held.Path}, Decision: journal.Decision{By: "operator", ID: id, Digest: held.Digest}})
		}
	}
	if known, err := r.everStood(ctx, path); err != nil || !known && s.kind == absent && len(gone) == 0 {
		return nil, cmp.Or(err, error(&fs.PathError{Op: "purge", Path: path, Err: fs.ErrNotExist}))
	}
	if err := r.append(rows...); err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx)
	if s.disk != nil {
		away := tmpDir + "purge" + rootfs.TakenOut
		if err := r.disk.Retire(p, s.disk, away); err != nil {
			return nil, err
		}
		gone = append(gone, away)
	}
	done, err := r.purges(ctx)
	if err != nil {
		return nil, err
	}
	more, err := r.leftovers(done[len(done)-1:])
	if err != nil {
		return nil, err
	}
	if err := r.forgetSnapshots(done[len(done)-1].names); err != nil {
		return nil, err
	}
	left := r.removeAll(append(gone, more...))
	var b batch
	b.unline(path)
	return left, r.writeIndex(&b)
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

// purges reads every purge from the journal. A memory's line of descent follows its
// renames, and ends with its purge.
func (r *Room) purges(ctx context.Context) (all []purge, err error) {
	texts := map[string]map[string]bool{} // by the path that the memory has at that row
	names := map[string][]string{}
	err = r.eachRow(ctx, func(row journal.Row) bool {
		at := row.Path
		if opOfRow(row) == journal.OpRename && row.To != "" {
			at = row.To
			texts[at], names[at] = merge(texts[at], texts[row.Path]), append(names[at], append(names[row.Path], row.Path)...)
			delete(texts, row.Path)
			delete(names, row.Path)
		}
		for _, hash := range []string{row.Old, row.New} {
			if hash != "" && row.Op != journal.OpHold {
				texts[at] = merge(texts[at], map[string]bool{hash[:12]: true})
			}
		}
		if row.Op == journal.OpPurge && row.ID == "" {
			all = append(all, purge{row.Seq, row.Path, append(names[row.Path], row.Path), texts[row.Path]})
			delete(texts, row.Path)
			delete(names, row.Path)
		}
		return true
	})
	return all, err
}

func merge(a, b map[string]bool) map[string]bool {
	if a == nil {
		a = map[string]bool{}
	}
	for k := range b {
		a[k] = true
	}
	return a
}

// leftovers lists the library's files that hold text of purged memories. A version
// that something which stands, is archived or was retired rests on stays with it.
func (r *Room) leftovers(done []purge) (gone []string, err error) {
	if len(done) == 0 {
		return nil, nil
	}
	r.mu.Lock()
	state := r.ledger.state
	r.mu.Unlock()
	kept := map[string]bool{}
	for _, a := range state.Accepted {
		kept[journal.VersionName(a.Seq, a.Hash)] = true
	}
	for _, a := range state.Archived {
		kept[journal.VersionName(a.Seq, a.Hash)] = true
	}
	for _, t := range state.Tombs {
		kept[journal.VersionName(t.Seq, t.Hash)] = true
	}
	versions, err := r.disk.LibList("versions")
	if err != nil {
		return nil, err
	}
	archived, err := r.disk.LibList("archive")
	if err != nil {
		return nil, err
	}
	for _, p := range done {
		for _, f := range versions {
			name := "versions/" + f
			if seq, prefix, ok := journal.ParseVersionName(name); ok && seq <= p.seq && p.texts[prefix] && !kept[name] {
				gone = append(gone, name)
			}
		}
		for _, f := range archived {
			row, at, _ := strings.Cut(f, "/")
			if seq, err := strconv.ParseInt(row, 10, 64); err == nil && seq <= p.seq && slices.Contains(p.names, at) && state.Archived[at].Retired != seq {
				gone = append(gone, "archive/"+f)
			}
		}
	}
	slices.Sort(gone)
	return slices.Compact(gone), nil
}

// removeAll removes files of the library, and says which could not be removed.
func (r *Room) removeAll(names []string) (left []Finding) {
	for _, name := range names {
		if err := r.disk.LibRemove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			left = append(left, Finding{Rule: "purge.left", Outcome: Held, Field: name, Message: "a copy could not be removed", Fix: "remove the file by hand"})
		}
	}
	return left
}

// finishPurges ends what a crash cut short: the files that a purge left, and the
// memory's own file where it still lies. It costs one reading of the journal.
func (r *Room) finishPurges(ctx context.Context) error {
	done, err := r.purges(ctx)
	if err != nil || len(done) == 0 {
		return err
	}
	gone, err := r.leftovers(done)
	if err != nil {
		return err
	}
	r.mu.Lock()
	state := r.ledger.state
	r.mu.Unlock()
	var names []string
	for _, d := range done {
		p, err := relpath.Parse(d.path)
		if _, stands := state.Accepted[d.path]; err != nil || stands {
			continue
		}
		if disk, hash, err := r.lying(p); err == nil && disk != nil && d.texts[hash[:12]] {
			away := tmpDir + "purge" + rootfs.TakenOut
			if err := r.disk.Retire(p, disk, away); err != nil {
				return ignoreChanged(err)
			}
			gone = append(gone, away)
		}
		names = append(names, d.names...)
	}
	if len(gone) == 0 {
		return nil
	}
	if err := r.forgetSnapshots(names); err != nil {
		return err
	}
	r.removeAll(gone)
	return nil
}

// forgetSnapshots drops the stored snapshots that show one of the memories: its description is
// text too. They are rendered anew when they are asked for.
func (r *Room) forgetSnapshots(paths []string) error {
	r.mu.Lock()
	var open []*Session
	for _, s := range r.sessions {
		open = append(open, s)
	}
	r.mu.Unlock()
	for _, s := range open {
		s.mu.Lock()
		s.state.forget(paths)
		s.mu.Unlock()
	}
	names, err := r.disk.LibList("sessions")
	if err != nil {
		return err
	}
	for _, n := range names {
		name := "sessions/" + n
		st, err := r.readSession(name)
		if err != nil || !st.forget(paths) {
			continue
		}
		if err := r.writeSession(name, st); err != nil {
			return fmt.Errorf("purge: a session's snapshot could not be replaced: %w", err)
		}
	}
	return nil
}
