package scribe

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
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
	prefixes, _, err := r.lineage(ctx, path)
	if err != nil {
		return nil, err
	}
	purge := journal.Row{Change: journal.Change{Op: journal.OpPurge, Path: path}, Decision: journal.Decision{By: "operator", Reason: reason}}
	if s.bytes != nil {
		purge.Digest = r.digestOf(true, path, "", s.bytes)
	}
	rows := []journal.Row{purge}
	var waiting []string
	for id, held := range journal.Sorted(w.state.Pending) {
		if held.Path == path || held.To == path {
			waiting = append(waiting, pendingName(id))
			rows = append(rows, journal.Row{Change: journal.Change{Op: journal.OpRefuse, Path: held.Path}, Decision: journal.Decision{By: "operator", ID: id, Digest: held.Digest}})
		}
	}
	if s.kind == absent && len(prefixes) == 0 && len(waiting) == 0 {
		return nil, &fs.PathError{Op: "purge", Path: path, Err: fs.ErrNotExist}
	}
	if err := r.append(rows...); err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx)
	if s.disk != nil && s.kind != active { // what lies there now is purged as well
		away := tmpDir + "purge" + rootfs.TakenOut
		if err := r.disk.Retire(p, s.disk, away); err != nil {
			return nil, err
		}
		waiting = append(waiting, away)
	}
	var left []Finding
	for _, name := range waiting {
		if err := r.disk.LibRemove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			left = append(left, Finding{Rule: "purge.left", Outcome: Held, Field: name, Message: "a copy could not be removed", Fix: "remove the file by hand"})
		}
	}
	if w, err = r.world(ctx); err != nil {
		return left, err
	}
	more, err := r.erase(ctx, w, path)
	if err != nil {
		return append(left, more...), err
	}
	var b batch
	b.unline(path)
	return append(left, more...), r.writeIndex(&b)
}

// lineage collects the texts that a memory ever had, under whatever names: the hash
// prefixes that its versions are named by.
func (r *Room) lineage(ctx context.Context, path string) (prefixes map[string]bool, names []string, err error) {
	texts := map[string]map[string]bool{} // by the path that the memory has at that row
	was := map[string][]string{}          // the names it had before
	err = r.eachRow(ctx, func(row journal.Row) bool {
		at := row.Path
		if opOfRow(row) == journal.OpRename && row.To != "" {
			at = row.To
			texts[at], was[at] = merge(texts[at], texts[row.Path]), append(was[at], append(was[row.Path], row.Path)...)
			delete(texts, row.Path)
			delete(was, row.Path)
		}
		for _, hash := range []string{row.Old, row.New} {
			if hash != "" && row.Op != journal.OpHold {
				texts[at] = merge(texts[at], map[string]bool{hash[:12]: true})
			}
		}
		return true
	})
	return texts[path], append(was[path], path), err
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

// erase removes every file of the library that holds text of the memory at path, and
// says which could not be removed.
func (r *Room) erase(ctx context.Context, w *world, path string) (left []Finding, err error) {
	prefixes, names, err := r.lineage(ctx, path)
	if err != nil {
		return nil, err
	}
	kept := map[string]bool{} // bytes that another memory has too stay with it
	for other, acc := range w.state.Accepted {
		if other != path {
			kept[journal.VersionName(acc.Seq, acc.Hash)] = true
		}
	}
	if _, stands := w.state.Accepted[path]; stands {
		return nil, nil // there is a memory again, stored after the purge
	}
	var gone []string
	versions, err := r.disk.LibList("versions")
	if err != nil {
		return nil, err
	}
	for _, f := range versions {
		if _, prefix, ok := journal.ParseVersionName("versions/" + f); ok && prefixes[prefix] && !kept["versions/"+f] {
			gone = append(gone, "versions/"+f)
		}
	}
	archived, err := r.disk.LibList("archive")
	if err != nil {
		return nil, err
	}
	for _, f := range archived {
		if _, at, ok := strings.Cut(f, "/"); ok && slices.Contains(names, at) && (at == path || w.state.Archived[at].Path == "") {
			gone = append(gone, "archive/"+f)
		}
	}
	slices.Sort(gone)
	if err := r.eraseFile(path, prefixes); err != nil {
		return nil, err
	}
	for _, name := range gone {
		if err := r.disk.LibRemove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			left = append(left, Finding{Rule: "purge.left", Outcome: Held, Field: name, Message: "a copy could not be removed", Fix: "remove the file by hand"})
		}
	}
	return left, r.forgetSnapshots(path)
}

// eraseFile takes a purged memory's own file away, where a crash left it. Other bytes
// at that path are somebody's.
func (r *Room) eraseFile(path string, prefixes map[string]bool) error {
	p, err := relpath.Parse(path)
	if err != nil {
		return nil
	}
	disk, hash, err := r.lying(p)
	if err != nil || disk == nil || !prefixes[hash[:12]] {
		return nil
	}
	away := tmpDir + "purge" + rootfs.TakenOut
	if err := r.disk.Retire(p, disk, away); err != nil {
		return ignoreChanged(err)
	}
	return r.disk.LibRemove(away)
}

// forgetSnapshots drops the stored snapshots that show the memory: its description is
// text too. They are rendered anew when they are asked for.
func (r *Room) forgetSnapshots(path string) error {
	r.mu.Lock()
	var open []*Session
	for _, s := range r.sessions {
		open = append(open, s)
	}
	r.mu.Unlock()
	for _, s := range open {
		s.mu.Lock()
		s.state.forget(path)
		s.mu.Unlock()
	}
	names, err := r.disk.LibList("sessions")
	if err != nil {
		return err
	}
	for _, n := range names {
		name := "sessions/" + n
		st, err := r.readSession(name)
		if err != nil || !st.forget(path) {
			continue
		}
		if err := r.writeSession(name, st); err != nil {
			return fmt.Errorf("purge: a session's snapshot could not be replaced: %w", err)
		}
	}
	return nil
}
