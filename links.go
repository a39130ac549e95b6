package scribe

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/memoryroom/scribe/internal/entry"
	"github.com/memoryroom/scribe/internal/journal"
	"github.com/memoryroom/scribe/internal/relpath"
)

// When a memory takes the place of another, the old one goes to the archive, and its
// entry there names the new one. That is the only record of the link: what a memory
// supersedes is read from the same entries, so no link can have one side only. The
// frontmatter of both mirrors it, where they have one.

// supersedes lists the paths that a memory took the place of, sorted. It is named by its
// path, or by its name in the archive.
func supersedes(state *journal.State, name string) []string {
	return supersedesBut(state, name, nil)
}

// supersedesBut is supersedes without some entries of the archive.
func supersedesBut(state *journal.State, name string, gone map[string]journal.Archived) []string {
	var old []string
	for at, a := range state.Archived {
		if _, not := gone[at]; !not && a.SupersededBy == name && !slices.Contains(old, a.Path) {
			old = append(old, a.Path)
		}
	}
	slices.Sort(old)
	return old
}

// linked is the path that a link leads to, and "" for none.
func linked(state *journal.State, to string) string {
	if a, kept := state.Archived[to]; kept {
		return a.Path
	}
	return to
}

// judgeLinks refuses a link that can not be: from what is no memory, or was
// superseded before. A circle can not be made: a link leads to what stands, and only
// what stands can be retired.
func judgeLinks(p *proposal, w *world) []Finding {
	var fs []Finding
	bad := func(rule, message, fix string) {
		fs = append(fs, refuse(rule, Rejected, "supersedes", message, fix))
	}
	for _, path := range p.cand.Supersedes {
		_, stands := w.state.Accepted[path]
		_, gone, archived := w.state.ArchivedAt(path)
		switch {
		case path == p.path().String() || path == p.target().String():
			bad("conflict.supersedes", "a memory can not take its own place", "name another memory, or leave it out")
		case stands && path != indexName:
		case archived && gone.SupersededBy != "":
			bad("conflict.superseded-before", fmt.Sprintf("%.120q was superseded by %.120q already, and a link is never turned to another memory", path, linked(w.state, gone.SupersededBy)), "take the place of that one, or restore the old memory first")
		default:
			bad("conflict.supersedes", "what it would take the place of is not a memory of this room", "name the path of an accepted memory")
		}
	}
	return fs
}

// mirrorLinks writes the links into a text's frontmatter, where it has one: supersedes
// when there are any, superseded_by when it is not "". cut takes out those that are not.
func mirrorLinks(data []byte, old []string, by string, cut bool) []byte {
	for _, k := range []struct{ name, value string }{{"supersedes", strings.Join(old, ", ")}, {"superseded_by", by}} {
		e, err := entry.Parse(data)
		if err != nil || !e.HasFrontmatter() {
			return data
		}
		out := data
		switch path := []string{"metadata", k.name}; {
		case k.value != "":
			out, err = e.Set(k.value, path...)
		case cut:
			out, err = e.Delete(path...)
		}
		if err == nil {
			data = out
		}
	}
	return data
}

// nextRow is the number that the batch's next row will have. The room's lock is held.
func (r *Room) nextRow(b *batch) int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.ledger.head.Seq + int64(len(b.rows)) + 1
}

// addRetirement adds the row that takes a memory to the archive, and its move. Row.Link
// names what takes the memory's place.
func (r *Room) addRetirement(b *batch, w *world, p relpath.Path, s standing, row journal.Row) {
	seq := r.nextRow(b)
	row.Op, row.Path, row.Old, row.Key = journal.OpArchive, p.String(), journal.Sum(s.disk), s.acc.Key
	text := s.bytes
	switch {
	case s.kind == changed: // while it was, its links were not kept in line
		text = mirrorLinks(text, supersedes(w.state, row.Path), row.Link, true)
	case row.Link != "":
		text = mirrorLinks(text, nil, row.Link, false)
	}
	if !bytes.Equal(text, s.bytes) {
		row.New = journal.Sum(text)
	}
	at := b.note(row)
	b.moves = append(b.moves, move{row: at, path: p, old: s.disk, archive: true})
	b.unline(row.Path)
	if row.New != "" {
		b.keep = append(b.keep, kept{at, text})
		b.copies = append(b.copies, heldFile{archiveName(seq, row.Path), text})
	}
}

// addLink adds a row that brings the text of an archived memory in line with its links,
// or that cuts its own (by is ""). old is what it took the place of.
func (r *Room) addLink(b *batch, a journal.Archived, old []string, by string, d journal.Decision) error {
	data, err := r.version(a.Seq, a.Hash)
	if err != nil {
		return err
	}
	row := journal.Row{Change: journal.Change{Op: journal.OpLink, Path: a.Path, Link: by}, Decision: d}
	row.Ref = a.Retired
	text := mirrorLinks(data, old, by, true)
	if bytes.Equal(text, data) {
		if by == "" && a.SupersededBy != "" {
			b.note(row)
		}
		return nil
	}
	row.New = journal.Sum(text)
	b.keep = append(b.keep, kept{b.note(row), text})
	b.copies = append(b.copies, heldFile{archiveName(a.Retired, a.Path), text})
	return nil
}

// remirror brings what a memory's text says it supersedes in line with old. It is named
// by its path, or by its name in the archive. Bytes that somebody changed outside are
// theirs and stay.
func (r *Room) remirror(b *batch, w *world, name string, old []string, d journal.Decision) error {
	if a, archived := w.state.Archived[name]; archived {
		return r.addLink(b, a, old, linked(w.state, a.SupersededBy), d)
	}
	p, err := relpath.Parse(name)
	if err != nil {
		return err
	}
	s, err := r.standing(w.state, p)
	if err != nil || s.kind != active || s.waived {
		return err
	}
	text := mirrorLinks(s.bytes, old, "", true)
	if bytes.Equal(text, s.bytes) {
		return nil
	}
	acc := w.state.Accepted[name]
	row := journal.Row{
		Change:   journal.Change{Op: journal.OpEdit, Path: name, Old: acc.Hash, New: journal.Sum(text), Trust: acc.Trust, Source: acc.Source, Key: acc.Key},
		Decision: d,
	}
	row.By, row.Rules, row.Approved = acc.By, acc.Rules, acc.Approved // it stays the change of who wrote it
	b.moves = append(b.moves, move{row: b.note(row), path: p, put: text, old: s.disk})
	b.line(name, metaOf(name, text), parseTrust(acc.Trust), w.now)
	return nil
}

// unlink takes an archived memory's link away, on both sides.
func (r *Room) unlink(b *batch, w *world, name string, d journal.Decision) error {
	a := w.state.Archived[name]
	if a.SupersededBy == "" {
		return nil
	}
	old := supersedesBut(w.state, a.SupersededBy, map[string]journal.Archived{name: a})
	if err := r.remirror(b, w, a.SupersededBy, old, d); err != nil {
		return err
	}
	return r.addLink(b, a, supersedes(w.state, name), "", d)
}

// relinkRenamed brings what the texts of superseded memories say in line with the new
// name of the one that took their place. The links themselves follow a rename.
func (r *Room) relinkRenamed(b *batch, w *world, from, to string, d journal.Decision) error {
	for name, a := range journal.Sorted(w.state.Archived) {
		if a.SupersededBy != from {
			continue
		}
		if err := r.addLink(b, a, supersedes(w.state, name), to, d); err != nil {
			return err
		}
	}
	return nil
}

// forgetLinks takes what stood at a path, and is to be purged, out of the links of others
// and out of what their texts say, as a change before the purge.
func (r *Room) forgetLinks(ctx context.Context, w *world, path string) error {
	var b batch
	d := journal.Decision{By: "operator"}
	gone := map[string]journal.Archived{}
	for name, a := range w.state.Archived {
		if w.state.Called(a.Path, path, a.Retired) {
			gone[name] = a
		}
	}
	heirs := map[string]bool{}
	for name, a := range journal.Sorted(w.state.Archived) {
		_, goes := gone[name]
		_, toGone := gone[a.SupersededBy]
		switch {
		case !goes && (a.SupersededBy == path || toGone):
			if err := r.addLink(&b, a, supersedes(w.state, name), "", d); err != nil {
				return err
			}
		case goes && !toGone && a.SupersededBy != "" && a.SupersededBy != path:
			heirs[a.SupersededBy] = true
		}
	}
	for _, heir := range slices.Sorted(maps.Keys(heirs)) {
		if err := r.remirror(&b, w, heir, supersedesBut(w.state, heir, gone), d); err != nil {
			return err
		}
	}
	return r.commit(ctx, w, &b)
}

// addLinks fills in, for listings, what each memory took the place of.
func addLinks(state *journal.State, all []Memory) {
	old := map[string][]string{}
	for _, a := range state.Archived {
		if by := a.SupersededBy; by != "" && !slices.Contains(old[by], a.Path) {
			old[by] = append(old[by], a.Path)
		}
	}
	for i, m := range all {
		name := m.Path
		switch m.Stage {
		case stageArchived:
			name = m.ID
		case stageActive, stageChanged:
		default:
			continue
		}
		slices.Sort(old[name])
		all[i].Supersedes = old[name]
	}
}
