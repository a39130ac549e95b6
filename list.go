package scribe

import (
	"context"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strings"

	"github.com/memoryroom/scribe/internal/relpath"
	"github.com/memoryroom/scribe/internal/rootfs"
)

// List yields the memories of the stages named (none: "active" and "changed"), by
// path, with their text. Pending ones carry ID, Hash and Findings, as Resolve wants
// them; unaccepted ones Hash, as Adopt wants it, and what Adopt would find in them. The
// first error ends the sequence.
func (r *Room) List(ctx context.Context, stages ...string) iter.Seq2[Memory, error] {
	return func(yield func(Memory, error) bool) {
		w, err := r.world(ctx)
		var all []Memory
		if err == nil {
			all, err = r.listOf(ctx, w, stages)
		}
		if err == nil {
			err = r.preview(w, all)
		}
		if err != nil {
			yield(Memory{}, err)
			return
		}
		for _, m := range all {
			if !yield(m, nil) {
				return
			}
		}
	}
}

func (r *Room) list(ctx context.Context, stages []string) ([]Memory, error) {
	w, err := r.world(ctx)
	if err != nil {
		return nil, err
	}
	return r.listOf(ctx, w, stages)
}

// listOf is list in that state, or a later one: then w is that.
func (r *Room) listOf(ctx context.Context, w *world, stages []string) ([]Memory, error) {
	if len(stages) == 0 {
		stages = []string{stageActive, stageChanged}
	}
	for _, s := range stages {
		if !slices.Contains([]string{stageActive, stageChanged, stageUnaccepted, stageForeign, stagePending, stageArchived}, s) {
			return nil, fmt.Errorf("list: stage %.40q is not one of active, changed, unaccepted, foreign, pending, archived", s)
		}
	}
	return r.listIn(ctx, w, stages, true)
}

// listIn lists what the room held in that state. Where the journal moved on while the
// files were read it begins anew: a reader takes no lock, and would see files of a later
// state. Without texts, active memories may lack theirs, and files that did not change
// are not read.
func (r *Room) listIn(ctx context.Context, w *world, stages []string, texts bool) ([]Memory, error) {
	for range readTries {
		all, err := r.listOnce(ctx, w, stages, texts)
		if err != nil {
			return nil, err
		}
		now, err := r.world(ctx)
		if err != nil || now.state.Seq == w.state.Seq {
			return all, err
		}
		*w = *now
	}
	if r.writable() == nil && r.disk.HasLibrary() { // somebody writes without pause: they have to wait
		unlock, err := r.disk.Lock(ctx)
		if err != nil {
			return nil, err
		}
		defer unlock()
		now, err := r.world(ctx)
		if err != nil {
			return nil, err
		}
		*w = *now
	}
	return r.listOnce(ctx, w, stages, texts)
}

// readTries is how often a reader begins anew before it takes the lock.
const readTries = 3

func (r *Room) listOnce(ctx context.Context, w *world, stages []string, texts bool) ([]Memory, error) {
	want := func(s string) bool { return slices.Contains(stages, s) }
	var all []Memory
	if want(stageActive) || want(stageChanged) || want(stageUnaccepted) || want(stageForeign) {
		files, err := r.files(ctx, w, texts)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			if want(f.Stage) {
				all = append(all, f)
			}
		}
	}
	if want(stagePending) {
		held, err := r.pendingMemories(w)
		if err != nil {
			return nil, err
		}
		all = append(all, held...)
	}
	if want(stageArchived) {
		all = append(all, r.archivedMemories(w)...)
	}
	addLinks(w.state, all)
	slices.SortStableFunc(all, func(a, b Memory) int { return strings.Compare(a.Path, b.Path) })
	return all, nil
}

// files is every memory file on the disk, and every accepted one, in its stage.
func (r *Room) files(ctx context.Context, w *world, texts bool) ([]Memory, error) {
	var all []Memory
	seen := map[string]bool{}
	err := r.disk.Walk(func(name string, e rootfs.Entry) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if name == indexName {
			if m := indexMemory(w); m.Stage == stageUnaccepted {
				all = append(all, m)
			}
			return nil
		}
		if e.Rule() != "" {
			return nil
		}
		p, foreign, err := relpath.ParseForeign(name)
		if err != nil {
			return nil // not a memory's name: left alone, never shown
		}
		if foreign {
			data, err := r.disk.Read(p, maxMemory)
			if err != nil {
				return nil
			}
			all = append(all, describe(name, stageForeign, data))
			return nil
		}
		if m, ok := r.glance(w.state, name, e); ok && !texts {
			seen[name] = true
			all = append(all, m)
			return nil
		}
		s, err := r.standing(w.state, p)
		if err != nil {
			// Too large, or not to be read: it is there, and nobody accepted it.
			all = append(all, Memory{Path: name, Stage: stageUnaccepted, Findings: []Finding{refuse("check.unreadable", Held, "", "the file can not be read", "look at what lies there")}})
			return nil
		}
		if s.kind == absent {
			return nil // gone since the walk
		}
		seen[name] = true
		m := s.memory(name)
		r.look(name, p, e, s, m)
		all = append(all, m)
		if s.kind == changed {
			all = append(all, unacceptedMemory(name, s.disk))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	r.glances.retain(seen)
	for _, path := range acceptedPaths(w.state) {
		if seen[path] {
			continue
		}
		p, err := relpath.Parse(path)
		if err != nil {
			continue
		}
		if s, err := r.standing(w.state, p); err == nil && s.kind != absent {
			all = append(all, s.memory(path)) // something that is no file lies in its place
		}
	}
	return all, nil
}

// visible lists the accepted memories that a reader of that ceiling may be shown in
// a listing, by path, and how many there are besides. They may lack their text.
func (r *Room) visible(ctx context.Context, ceiling Trust) (ms []Memory, rest int, err error) {
	w, err := r.world(ctx)
	if err != nil {
		return nil, 0, err
	}
	all, err := r.listIn(ctx, w, []string{stageActive, stageChanged}, false)
	for _, m := range all {
		if m.Trust < ceiling {
			rest++
			continue
		}
		ms = append(ms, m)
	}
	return ms, rest, err
}

// Read gives one memory by its path: the accepted bytes where there are any, else
// what lies there unaccepted. It fails with fs.ErrNotExist, or with fs.ErrInvalid and the
// path rule.
func (r *Room) Read(ctx context.Context, path string) (Memory, error) {
	w, err := r.world(ctx)
	if err != nil {
		return Memory{}, err
	}
	p, foreign, err := relpath.ParseForeign(path)
	if err != nil {
		return Memory{}, err
	}
	if p.IsIndex() {
		if w.index == nil {
			return Memory{}, &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
		}
		return indexMemory(w), nil
	}
	if foreign {
		data, err := r.disk.Read(p, maxMemory)
		if err != nil {
			return Memory{}, err
		}
		return describe(path, stageForeign, data), nil
	}
	s, err := r.standing(w.state, p)
	if err != nil {
		return Memory{}, err
	}
	if s.kind == absent {
		return Memory{}, &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
	}
	m := s.memory(path)
	if m.Stage != stageUnaccepted {
		m.Supersedes = supersedes(w.state, path)
	}
	return m, nil
}
