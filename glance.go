package scribe

import (
	"slices"
	"sync"

	"github.com/memoryroom/scribe/internal/journal"
	"github.com/memoryroom/scribe/internal/relpath"
	"github.com/memoryroom/scribe/internal/rootfs"
)

// glances is what files were found to hold when they were last read, so that a listing
// need not read those that did not change since. It saves work and decides nothing: a
// memory is active because the journal accepted the hash that its file had under this
// very stamp, and what is shown of it was read from those bytes.
type glances struct {
	mu sync.Mutex // guards m
	m  map[string]glance
}

// glance is one file.
type glance struct {
	stamp  rootfs.Stamp
	memory Memory // what follows from the bytes: no text, no trust
	size   int
}

func newGlances() *glances { return &glances{m: map[string]glance{}} }

// of gives what a file holds without reading it.
func (g *glances) of(path string, stamp rootfs.Stamp) (glance, bool) {
	if stamp == (rootfs.Stamp{}) {
		return glance{}, false
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	seen, ok := g.m[path]
	return seen, ok && seen.stamp == stamp
}

// keep remembers what a file holds.
func (g *glances) keep(path string, stamp rootfs.Stamp, m Memory) {
	if stamp == (rootfs.Stamp{}) {
		return
	}
	seen := glance{stamp: stamp, size: len(m.Text)}
	m.Text, m.Trust, m.Findings = "", 0, nil
	seen.memory = m
	g.mu.Lock()
	defer g.mu.Unlock()
	g.m[path] = seen
}

// retain forgets files that are not there any more.
func (g *glances) retain(there map[string]bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.m) <= len(there)+len(there)/4+64 {
		return
	}
	for path := range g.m {
		if !there[path] {
			delete(g.m, path)
		}
	}
}

// stamps gives what of it a cache keeps.
func (g *glances) stamps() map[string]stamped {
	g.mu.Lock()
	defer g.mu.Unlock()
	files := make(map[string]stamped, len(g.m))
	for path, seen := range g.m {
		files[path] = stamped{stamp: seen.stamp, sum: sumOf(seen.memory.Hash)}
	}
	return files
}

// size is the bytes of a memory that was listed.
func (g *glances) size(m Memory) int {
	if m.Text != "" {
		return len(m.Text)
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.m[m.Path].size
}

// glance gives the accepted memory in the file that e describes, without its text and
// without reading it. ok is false for whatever is not known to be the accepted bytes.
func (r *Room) glance(state *journal.State, name string, e rootfs.Entry) (m Memory, ok bool) {
	acc, ok := state.Accepted[name]
	if !ok {
		return Memory{}, false
	}
	seen, ok := r.glances.of(name, e.Stamp)
	if !ok || seen.memory.Hash != acc.Hash {
		return Memory{}, false
	}
	m = seen.memory
	m.Tags = slices.Clone(m.Tags)
	return acceptedAs(m, acc), true
}

// look remembers an active memory whose file e was described before it was read. The
// stamp must be the same afterwards, or it is that of other bytes.
func (r *Room) look(name string, p relpath.Path, e rootfs.Entry, s standing, m Memory) {
	if !s.whole {
		return
	}
	r.metas.of(name, m.Hash, 4*r.opts.Limits.Memories, func() ([]byte, error) { return s.bytes, nil }) // so that no version is read for it
	if e.Stamp == (rootfs.Stamp{}) {
		return
	}
	if now, err := r.disk.Lstat(p); err == nil && now.Stamp == e.Stamp {
		r.glances.keep(name, e.Stamp, m)
	}
}
