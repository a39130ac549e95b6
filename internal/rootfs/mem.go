package rootfs

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"slices"
	"sync"
	"syscall"
	"time"
)

// Mem is an [FS] in memory that fails and crashes on demand.
//
// It keeps two states: what a running system sees, and what is on the disk. A
// file's bytes reach the disk when the file is flushed, a directory's entries when
// the directory is; nothing else does, not even the two halves of a rename
// together. [Mem.CrashClone] is a power cut under that (strict POSIX) model.
//
// Every step runs the hook first, outside any lock, so that a hook may fail the
// step, take a crash image, or play another program with [Mem.Plant]. The steps
// are: lstat, readdir (Names too), read, create, write, append, truncate, sync, mkdir,
// rename (RenameNew too), exchange, remove, lock, identity, writable. WriteNew is
// create, write, sync; Append is append, sync (and truncate, after a failure);
// Truncate is truncate, sync. A rename or an exchange goes by its second name. A
// "write" or "append" that fails leaves the first half of its bytes, as a full disk
// does.
//
// A root made by Mkdir(".") is on the disk at once. Methods are safe for parallel
// use.
type Mem struct {
	mu    sync.Mutex // guards what follows
	root  *node      // nil: the directory does not exist
	hook  func(op, name string) error
	locks map[string]chan struct{}
	id    string
	clock int64 // seconds, one a change: deterministic
	gone  bool  // closed
}

// node is an inode.
type node struct {
	kind   Kind
	data   []byte // what a reader sees
	synced []byte // what is on the disk
	mtime  int64

	names map[string]*node
	// past holds, for each name that changed since the last flush, what it stood
	// for: on the disk first, then each state but the current one. nil is "absent".
	past map[string][]*node
}

// NewMem returns an empty one, whose root does not exist yet.
func NewMem() *Mem {
	return &Mem{locks: map[string]chan struct{}{}, id: "1"}
}

// Hook sets what runs before each step; nil is nothing. An error fails the step.
func (m *Mem) Hook(fn func(op, name string) error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hook = fn
}

// SetIdentity makes the root another directory, as if it had been copied.
func (m *Mem) SetIdentity(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.id = id
}

// Plant is another program's hand: it puts something at name, durably, whatever was
// there, and creates the directories. For a Link, Mount or Special data is ignored.
func (m *Mem) Plant(name string, kind Kind, data []byte) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.root == nil {
		m.root = newDir()
	}
	dirs, base, err := split("plant", name)
	if err != nil {
		panic(err)
	}
	dir := m.root
	for _, seg := range dirs {
		next := dir.names[seg]
		if next == nil || next.kind != Directory {
			next = newDir()
			dir.plant(seg, next)
		}
		dir = next
	}
	m.clock++
	n := &node{kind: kind, mtime: m.clock}
	switch kind {
	case Directory:
		n = newDir()
	case File:
		n.data, n.synced = slices.Clone(data), slices.Clone(data)
	}
	dir.plant(base, n)
}

// Unplant is another program that removes name.
func (m *Mem) Unplant(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if dir, base, err := m.lookup("plant", name); err == nil {
		delete(dir.names, base)
		delete(dir.past, base)
	}
}

// CrashClone returns what the disk holds after a power cut now: everything that was
// flushed, and each name and each 512-byte block that was not with the probability
// keep, else an older state of it. Bytes of a file that never were flushed are zero.
func (m *Mem) CrashClone(rng *rand.Rand, keep float64) *Mem {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := NewMem()
	c.id, c.clock = m.id, m.clock
	if m.root != nil {
		c.root = m.root.crash(rng, keep, map[*node]*node{})
	}
	return c
}

func (n *node) crash(rng *rand.Rand, keep float64, done map[*node]*node) *node {
	if n == nil {
		return nil
	}
	if c, ok := done[n]; ok {
		return c
	}
	c := &node{kind: n.kind, mtime: n.mtime}
	done[n] = c
	switch n.kind {
	case File:
		c.data = n.tear(rng, keep)
		c.synced = slices.Clone(c.data)
	case Directory:
		c.names, c.past = map[string]*node{}, map[string][]*node{}
		for _, name := range n.allNames() {
			child, past := n.names[name], n.past[name]
			for i := len(past) - 1; i >= 0 && rng.Float64() >= keep; i-- {
				child = past[i]
			}
			if child = child.crash(rng, keep, done); child != nil {
				c.names[name] = child
			}
		}
	}
	return c
}

// allNames lists current and past names in a fixed order, so that one seed gives
// one image.
func (n *node) allNames() []string {
	var names []string
	for name := range n.names {
		names = append(names, name)
	}
	for name := range n.past {
		if n.names[name] == nil {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

func (n *node) tear(rng *rand.Rand, keep float64) []byte {
	if slices.Equal(n.data, n.synced) {
		return slices.Clone(n.synced)
	}
	size := len(n.synced)
	if rng.Float64() < keep {
		size = len(n.data)
	}
	out := make([]byte, size)
	copy(out, n.synced)
	for off := 0; off < size; off += 512 {
		end := min(off+512, size, len(n.data))
		if off < end && rng.Float64() < keep {
			copy(out[off:end], n.data[off:end])
		}
	}
	return out
}

func newDir() *node {
	return &node{kind: Directory, names: map[string]*node{}, past: map[string][]*node{}}
}

// set changes a name, not yet on the disk. nil removes it.
func (n *node) set(name string, child *node) {
	n.past[name] = append(n.past[name], n.names[name])
	if child == nil {
		delete(n.names, name)
	} else {
		n.names[name] = child
	}
}

// plant changes a name on the disk too.
func (n *node) plant(name string, child *node) {
	delete(n.past, name)
	n.names[name] = child
}

// lookup walks to the directory of name, by the rules. The caller holds mu.
func (m *Mem) lookup(op, name string) (*node, string, error) {
	dirs, base, err := split(op, name)
	switch {
	case err != nil:
		return nil, "", err
	case m.gone:
		return nil, "", &fs.PathError{Op: op, Path: name, Err: fs.ErrClosed}
	case m.root == nil:
		return nil, "", &fs.PathError{Op: op, Path: name, Err: syscall.ENOENT}
	}
	dir, at := m.root, ""
	for _, seg := range dirs {
		at += seg
		if dir, err = m.into(dir, seg, op, name, at); err != nil {
			return nil, "", err
		}
		at += "/"
	}
	return dir, base, nil
}

// into enters the directory seg of dir, which is at the name at, for an operation on name.
func (m *Mem) into(dir *node, seg, op, name, at string) (*node, error) {
	n := dir.names[seg]
	if n == nil {
		return nil, &fs.PathError{Op: op, Path: name, Err: syscall.ENOENT}
	}
	rule := m.entry(seg, n).dirRule()
	if rule == "" && n.names[Library] != nil {
		rule = "path.room-inside"
	}
	if rule != "" {
		return nil, &Refusal{Rule: rule, Path: at}
	}
	return n, nil
}

func (m *Mem) entry(base string, n *node) Entry {
	e := Entry{Name: base, Kind: n.kind, Modified: time.Unix(n.mtime, 0).UTC()}
	if n.kind == File {
		e.Size, e.Links = int64(len(n.data)), m.root.count(n)
		if e.Links == 2 && m.inFlight(n) {
			e.Links = 1
		}
	}
	return e
}

func (m *Mem) inFlight(file *node) bool {
	dir, _, err := m.lookup("read", Library+"/"+InFlight+"/x")
	if err != nil {
		return false
	}
	for _, n := range dir.names {
		if n == file {
			return true
		}
	}
	return false
}

// count counts the names of a file below a directory.
func (n *node) count(file *node) (links uint64) {
	for _, child := range n.names {
		switch {
		case child == file:
			links++
		case child.kind == Directory:
			links += child.count(file)
		}
	}
	return links
}

// step runs the hook, then fn on the directory of name under the lock.
func (m *Mem) step(op, name string, fn func(dir *node, base string) error) error {
	if err := m.fail(op, name); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, base, err := m.lookup(op, name)
	if err != nil {
		return err
	}
	return fault(op, name, fn(dir, base))
}

func (m *Mem) fail(op, name string) error {
	m.mu.Lock()
	hook := m.hook
	m.mu.Unlock()
	if hook == nil {
		return nil
	}
	return fault(op, name, hook(op, name))
}

// plain returns the file at base.
func (m *Mem) plain(dir *node, base, name string) (*node, error) {
	n := dir.names[base]
	if base == "." {
		n = m.root
	}
	if n == nil {
		return nil, syscall.ENOENT
	}
	if rule := m.entry(base, n).Rule(); rule != "" {
		return nil, &Refusal{Rule: rule, Path: name}
	}
	return n, nil
}

// Lock excludes every other caller on this Mem.
func (m *Mem) Lock(ctx context.Context, name string) (unlock func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	var lock chan struct{}
	err = m.step("lock", name, func(dir *node, base string) error {
		_, err := m.plain(dir, base, name)
		if errors.Is(err, fs.ErrNotExist) {
			dir.set(base, &node{kind: File, mtime: m.clock})
			err = nil
		}
		if err != nil {
			return err
		}
		if m.locks[name] == nil {
			m.locks[name] = make(chan struct{}, 1)
		}
		lock = m.locks[name]
		return nil
	})
	if err != nil {
		return nil, err
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case lock <- struct{}{}:
		return sync.OnceFunc(func() { <-lock }), nil
	}
}
