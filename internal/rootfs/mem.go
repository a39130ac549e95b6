package rootfs

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"io"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
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
// After a flush of a file that the hook failed, the bytes that it was to flush are not
// flushed by any later one, as on Linux; new bytes are.
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

	journaled bool         // see Journaled
	op        int          // number of the operation that changes names
	pending   []nameChange // names that changed since the last flush of anything
}

// nameChange is one name that an operation changed.
type nameChange struct {
	op    int
	dir   *node
	name  string
	child *node // nil: absent
}

// ErrSkip is what a hook returns for a step that says it was done and is not: a flush
// that the code left out, say. Only syncs, truncates and removes can be skipped.
var ErrSkip = errors.New("skipped")

// node is an inode.
type node struct {
	kind   Kind
	data   []byte // what a reader sees
	synced []byte // what is on the disk
	mtime  int64
	links  uint64 // names that stand for it
	lost   [2]int // bytes whose flush failed: the system took them for clean, and no flush writes them
	summed []byte // the data that sum is of
	sum    uint64

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

// Unlock takes all locks from whoever holds them, as the end of a process does, and the
// hook away.
func (m *Mem) Unlock() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.hook, m.locks = nil, map[string]chan struct{}{}
}

// SetIdentity makes the root another directory, as if it had been copied.
func (m *Mem) SetIdentity(id string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.id = id
}

// Journaled makes the file system one that journals its names, as ext4 and XFS do: the
// operations on names reach the disk in their order and each as a whole, and a flush of
// anything flushes all of them. Bytes of files still need a flush of their own.
func (m *Mem) Journaled() {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.journaled = true
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
		n.data = slices.Clone(data)
		n.synced = n.data
	}
	dir.plant(base, n)
}

// Unplant is another program that removes name.
func (m *Mem) Unplant(name string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if dir, base, err := m.lookup("plant", name); err == nil {
		dir.plant(base, nil)
	}
}

// CrashClone returns what the disk holds after a power cut now: everything that was
// flushed, and each name and each 512-byte block that was not with the probability
// keep, else an older state of it. Bytes of a file that never were flushed are zero.
func (m *Mem) CrashClone(rng *rand.Rand, keep float64) *Mem {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := NewMem()
	c.id, c.clock, c.journaled = m.id, m.clock, m.journaled
	if m.root == nil {
		return c
	}
	done := map[*node]*node{}
	c.root = m.root.crash(rng, keep, m.journaled, done)
	defer c.root.relink()
	if !m.journaled || len(m.pending) == 0 {
		return c
	}
	first, last := m.pending[0].op, m.pending[len(m.pending)-1].op
	until := first // the first operation that is lost
	for until <= last && rng.Float64() < keep {
		until++
	}
	for _, ch := range m.pending {
		if dir := done[ch.dir]; ch.op < until && dir != nil {
			if child := ch.child.crash(rng, keep, true, done); child != nil {
				dir.names[ch.name] = child
			} else {
				delete(dir.names, ch.name)
			}
		}
	}
	return c
}

// crash copies a node as the disk has it. Bytes are shared: nothing changes them in place.
func (n *node) crash(rng *rand.Rand, keep float64, journaled bool, done map[*node]*node) *node {
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
		c.synced = c.data
		n.digest() // for all clones at once
		c.summed, c.sum = n.summed, n.sum
	case Directory:
		c.names, c.past = make(map[string]*node, len(n.names)), map[string][]*node{}
		for _, name := range n.allNames() {
			child, past := n.names[name], n.past[name]
			if journaled && len(past) > 0 {
				child = past[0]
			}
			for i := len(past) - 1; !journaled && i >= 0 && rng.Float64() >= keep; i-- {
				child = past[i]
			}
			if child = child.crash(rng, keep, journaled, done); child != nil {
				c.names[name] = child
			}
		}
	}
	return c
}

// Digest is equal for two file systems that hold the same, under names that name makes
// equal. It is not a digest for anything but comparing in one process.
func (m *Mem) Digest(name func(string) string) uint64 {
	m.mu.Lock()
	defer m.mu.Unlock()
	h := fnv.New64a()
	seen := map[*node]int{}
	var walk func(n *node)
	walk = func(n *node) {
		if at, ok := seen[n]; ok {
			fmt.Fprintf(h, "=%d", at) // another name of a file
			return
		}
		seen[n] = len(seen)
		fmt.Fprintf(h, "%d:%x:", n.kind, n.digest())
		lines := make([]string, 0, len(n.names))
		for base := range n.names {
			lines = append(lines, base)
		}
		slices.SortFunc(lines, func(a, b string) int {
			return cmp.Or(strings.Compare(name(a), name(b)), cmp.Compare(n.names[a].digest(), n.names[b].digest()))
		})
		for _, base := range lines {
			io.WriteString(h, name(base)+"\x00")
			walk(n.names[base])
		}
		io.WriteString(h, "\x01")
	}
	if m.root != nil {
		walk(m.root)
	}
	return h.Sum64()
}

// same reports whether two slices are one, or hold nothing. Bytes are never changed in
// place, so that what was copied nowhere is equal.
func same(a, b []byte) bool {
	return len(a) == len(b) && (len(a) == 0 || &a[0] == &b[0])
}

// digest is of a file's data.
func (n *node) digest() uint64 {
	if n.summed == nil || !same(n.summed, n.data) {
		h := fnv.New64a()
		h.Write(n.data)
		n.summed, n.sum = n.data, h.Sum64()
	}
	return n.sum
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
	if same(n.data, n.synced) {
		return n.synced
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
func (m *Mem) set(n *node, name string, child *node) {
	n.past[name] = append(n.past[name], n.names[name])
	if m.journaled {
		m.pending = append(m.pending, nameChange{m.op, n, name, child})
	}
	n.put(name, child)
}

// flushed says that something was flushed: a journal takes all names along.
func (m *Mem) flushed() {
	for _, ch := range m.pending {
		clear(ch.dir.past)
	}
	m.pending = nil
}

// plant changes a name on the disk too.
func (n *node) plant(name string, child *node) {
	delete(n.past, name)
	n.put(name, child)
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
		e.Size, e.Links = int64(len(n.data)), n.links
		e.Stamp = Stamp{e.Size, n.mtime, n.mtime, uint64(n.mtime)} // no two changes have one time
		if e.Links > 1 {
			e.Links -= min(m.namesInFlight(n), e.Links-1)
		}
	}
	return e
}

func (m *Mem) namesInFlight(file *node) (n uint64) {
	dir, _, err := m.lookup("read", Library+"/"+InFlight+"/x")
	if err != nil {
		return 0
	}
	for _, other := range dir.names {
		if other == file {
			n++
		}
	}
	return n
}

// relink counts the names of everything below a directory anew.
func (n *node) relink() {
	for _, child := range n.names {
		if child.links++; child.links == 1 {
			child.relink()
		}
	}
}

// put changes what a name stands for; nil removes it.
func (n *node) put(name string, child *node) {
	if old := n.names[name]; old != nil {
		old.links--
	}
	if child == nil {
		delete(n.names, name)
		return
	}
	child.links++
	n.names[name] = child
}

// step runs the hook, then fn on the directory of name under the lock.
func (m *Mem) step(op, name string, fn func(dir *node, base string) error) error {
	if err := m.fail(op, name); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.op++
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
			m.set(dir, base, &node{kind: File, mtime: m.clock})
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
