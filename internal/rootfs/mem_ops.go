package rootfs

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"slices"
	"strings"
	"syscall"
)

func (m *Mem) Lstat(name string) (e Entry, err error) {
	err = m.step("lstat", name, func(dir *node, base string) error {
		n := dir.names[base]
		if base == "." {
			n = dir
		}
		if n == nil {
			return syscall.ENOENT
		}
		e = m.entry(base, n)
		return nil
	})
	return e, err
}

func (m *Mem) ReadDir(name string) (entries []Entry, err error) {
	err = m.step("readdir", name, func(dir *node, base string) error {
		if base != "." {
			if dir, err = m.into(dir, base, "readdir", name, name); err != nil {
				return err
			}
		}
		if len(dir.names) > MaxEntries {
			return &Refusal{Rule: "path.too-many", Path: name}
		}
		for base, n := range dir.names {
			entries = append(entries, m.entry(base, n))
		}
		slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.Name, b.Name) })
		return nil
	})
	return entries, err
}

func (m *Mem) Describe(name string, bases []string, fn func(i int, e Entry)) error {
	entries, err := m.ReadDir(name)
	for i, base := range bases {
		if at, ok := slices.BinarySearchFunc(entries, base, func(e Entry, base string) int { return strings.Compare(e.Name, base) }); ok {
			fn(i, entries[at])
		}
	}
	return err
}

func (m *Mem) Names(name string) ([]string, error) {
	entries, err := m.ReadDir(name)
	var names []string
	for _, e := range entries {
		names = append(names, e.Name)
	}
	return names, err
}

func (m *Mem) Read(name string, max int64) (data []byte, err error) {
	err = m.step("read", name, func(dir *node, base string) error {
		n, err := m.plain(dir, base, name)
		if err != nil {
			return err
		}
		if int64(len(n.data)) > max {
			return &Refusal{Rule: "path.too-large", Path: name}
		}
		data = append([]byte{}, n.data...)
		return nil
	})
	return data, err
}

func (m *Mem) View(name string, max int64, fn func(r io.ReaderAt, size int64) error) error {
	data, err := m.Read(name, max)
	if err != nil {
		return err
	}
	return fn(bytes.NewReader(data), int64(len(data)))
}

func (m *Mem) WriteNew(name string, data []byte) error {
	n, err := m.create(name)
	if err != nil {
		return err
	}
	err = m.put("write", name, n, data)
	if err == nil {
		err = m.flush(name, n)
	}
	if err != nil {
		_ = m.Remove(name) // as the disk does: the first error counts
	}
	return err
}

func (m *Mem) create(name string) (*node, error) {
	n := &node{kind: File}
	return n, m.step("create", name, func(dir *node, base string) error {
		if base == "." || dir.names[base] != nil {
			return syscall.EEXIST
		}
		m.clock++
		n.mtime = m.clock
		m.set(dir, base, n)
		return nil
	})
}

// put adds bytes to an open file; a failing hook leaves half of them.
func (m *Mem) put(op, name string, n *node, data []byte) error {
	err := m.fail(op, name)
	if err != nil {
		data = data[:len(data)/2]
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.clock++
	n.mtime = m.clock
	n.data = append(n.data[:len(n.data):len(n.data)], data...)
	return err
}

// flush puts an open file's bytes on the disk.
func (m *Mem) flush(name string, n *node) error {
	err := m.fail("sync", name)
	m.mu.Lock()
	defer m.mu.Unlock()
	if err != nil {
		if !errors.Is(err, ErrSkip) {
			n.lost = [2]int{len(n.synced), len(n.data)}
		}
		return unless(err)
	}
	m.write(n)
	return nil
}

// write puts a file's bytes on the disk, but for those that an earlier flush lost.
func (m *Mem) write(n *node) {
	n.synced = n.data
	if from, to := n.lost[0], min(n.lost[1], len(n.data)); from < to {
		n.synced = slices.Clone(n.data)
		clear(n.synced[from:to])
	}
	m.flushed()
}

// unless takes a skipped step for done.
func unless(err error) error {
	if errors.Is(err, ErrSkip) {
		return nil
	}
	return err
}

// open finds a plain file for writing; the step that follows runs the hook.
func (m *Mem) open(op, name string) (n *node, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	dir, base, err := m.lookup(op, name)
	if err != nil {
		return nil, err
	}
	n, err = m.plain(dir, base, name)
	return n, fault(op, name, err)
}

func (m *Mem) Append(name string, data []byte) error {
	n, err := m.open("append", name)
	if err != nil {
		return err
	}
	m.mu.Lock()
	size := len(n.data)
	m.mu.Unlock()
	if err = m.put("append", name, n, data); err != nil {
		return m.takeBack(name, n, size, err)
	}
	if err = m.flush(name, n); err != nil {
		return unsynced(errors.Join(err, m.takeBack(name, n, size, nil)))
	}
	return nil
}

// takeBack cuts a log to what it was before a write failed with err.
func (m *Mem) takeBack(name string, n *node, size int, err error) error {
	if terr := m.fail("truncate", name); errors.Is(terr, ErrSkip) {
		return err
	} else if terr != nil {
		return unsynced(err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	n.data = n.data[:size:size]
	n.lost[1] = min(n.lost[1], size) // what comes there is new
	return err
}

// Stage flushes the log first: what a power cut does to the rest is the worst then.
func (m *Mem) Stage(files []NewFile, log string, tail []byte, dirs ...string) (logged bool, err error) {
	nodes := make([]*node, 0, len(files))
	defer func() {
		if err != nil && !errors.Is(err, ErrUnsynced) {
			for _, f := range files[:len(nodes)] {
				_ = m.Remove(f.Name)
			}
		}
	}()
	for _, f := range files {
		n, err := m.create(f.Name)
		if err != nil {
			return false, err
		}
		nodes = append(nodes, n)
		if err := m.put("write", f.Name, n, f.Data); err != nil {
			return false, err
		}
	}
	var errs []error
	if len(tail) > 0 {
		n, err := m.open("append", log)
		if err != nil {
			return false, err
		}
		size := len(n.data)
		if err := m.put("append", log, n, tail); err != nil {
			return false, m.takeBack(log, n, size, err)
		}
		err = m.flush(log, n)
		if logged = err == nil; !logged {
			errs = append(errs, err, m.takeBack(log, n, size, nil))
		}
	}
	for i, n := range nodes {
		if len(files[i].Data) > 0 { // else its name is all there is to it
			errs = append(errs, m.flush(files[i].Name, n))
		}
	}
	errs = append(errs, m.Sync(dirs...))
	return logged, unsynced(errors.Join(errs...))
}

func (m *Mem) Truncate(name string, size int64) error {
	n, err := m.open("truncate", name)
	if err != nil {
		return err
	}
	if err := m.fail("truncate", name); err != nil {
		return unless(err)
	}
	if size < 0 {
		return &fs.PathError{Op: "truncate", Path: name, Err: syscall.EINVAL}
	}
	m.mu.Lock()
	m.clock++
	n.mtime = m.clock
	cut := make([]byte, size)
	copy(cut, n.data)
	n.data = cut
	n.lost[1] = min(n.lost[1], int(size))
	m.mu.Unlock()
	return m.flush(name, n)
}

func (m *Mem) Mkdir(name string) error {
	if name == "." {
		if err := m.fail("mkdir", name); err != nil {
			return err
		}
		m.mu.Lock()
		defer m.mu.Unlock()
		if m.gone {
			return &fs.PathError{Op: "mkdir", Path: name, Err: fs.ErrClosed}
		}
		if m.root != nil {
			return &fs.PathError{Op: "mkdir", Path: name, Err: syscall.EEXIST}
		}
		m.root = newDir()
		return nil
	}
	return m.step("mkdir", name, func(dir *node, base string) error {
		if dir.names[base] != nil {
			return syscall.EEXIST
		}
		m.clock++
		n := newDir()
		n.mtime = m.clock
		m.set(dir, base, n)
		return nil
	})
}

func (m *Mem) Rename(from, to string) error {
	return m.move("rename", from, to, func(old *node) error {
		if old != nil && old.kind == Directory {
			return syscall.EISDIR
		}
		return nil
	})
}

func (m *Mem) RenameNew(from, to string) error {
	return m.move("rename", from, to, func(old *node) error {
		if old != nil {
			return syscall.EEXIST
		}
		return nil
	})
}

func (m *Mem) move(op, from, to string, check func(old *node) error) error {
	return m.pair(op, from, to, func(a *node, abase string, b *node, bbase string) error {
		n := a.names[abase]
		if n == nil {
			return syscall.ENOENT
		}
		if err := check(b.names[bbase]); err != nil {
			return err
		}
		if b.names[bbase] == n {
			return nil // two names of one file: POSIX leaves both
		}
		m.set(b, bbase, n)
		m.set(a, abase, nil)
		return nil
	})
}

func (m *Mem) Link(from, to string) error {
	return m.pair("link", from, to, func(a *node, abase string, b *node, bbase string) error {
		n := a.names[abase]
		switch {
		case n == nil:
			return syscall.ENOENT
		case n.kind == Directory:
			return syscall.EPERM
		case b.names[bbase] != nil:
			return syscall.EEXIST
		}
		m.set(b, bbase, n)
		return nil
	})
}

func (m *Mem) Exchange(a, b string) error {
	return m.pair("exchange", a, b, func(x *node, xbase string, y *node, ybase string) error {
		p, q := x.names[xbase], y.names[ybase]
		if p == nil || q == nil {
			return syscall.ENOENT
		}
		m.set(x, xbase, q)
		m.set(y, ybase, p)
		return nil
	})
}

func (m *Mem) pair(op, from, to string, fn func(a *node, abase string, b *node, bbase string) error) error {
	if err := m.fail(op, to); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.op++
	a, abase, err := m.lookup(op, from)
	if err != nil {
		return err
	}
	b, bbase, err := m.lookup(op, to)
	if err != nil {
		return err
	}
	if abase == "." || bbase == "." {
		return &fs.PathError{Op: op, Path: to, Err: fs.ErrInvalid}
	}
	return fault(op, to, fn(a, abase, b, bbase))
}

func (m *Mem) Remove(name string) error {
	return unless(m.step("remove", name, func(dir *node, base string) error {
		n := dir.names[base]
		switch {
		case base == ".":
			return fs.ErrInvalid
		case n == nil:
			return syscall.ENOENT
		case n.kind == Mount:
			return syscall.EBUSY
		case len(n.names) > 0:
			return syscall.ENOTEMPTY
		}
		m.set(dir, base, nil)
		return nil
	}))
}

func (m *Mem) Sync(names ...string) error {
	var errs []error
	for _, name := range names {
		errs = append(errs, m.sync(name))
	}
	return errors.Join(errs...)
}

func (m *Mem) sync(name string) error {
	return unless(m.step("sync", name, func(dir *node, base string) error {
		n := dir.names[base]
		if base == "." {
			n = dir
		}
		if n == nil {
			return syscall.ENOENT
		}
		if n.kind == Directory {
			if base != "." {
				if _, err := m.into(dir, base, "sync", name, name); err != nil {
					return err
				}
			}
			clear(n.past)
			m.flushed()
			return nil
		}
		n, err := m.plain(dir, base, name)
		if err != nil {
			return err
		}
		m.write(n)
		return nil
	}))
}

func (m *Mem) Identity() (string, error) {
	if err := m.fail("identity", "."); err != nil {
		return "", err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch {
	case m.gone:
		return "", &fs.PathError{Op: "identity", Path: ".", Err: fs.ErrClosed}
	case m.root == nil:
		return "", &fs.PathError{Op: "identity", Path: ".", Err: syscall.ENOENT}
	}
	return m.id, nil
}

// Writable asks the hook about "writable": a hook that fails it makes the room
// read-only in appearance.
func (m *Mem) Writable(name string) bool {
	err := m.step("writable", name, func(dir *node, base string) error {
		if base == "." {
			return nil
		}
		_, err := m.into(dir, base, "writable", name, name)
		return err
	})
	return err == nil
}

func (m *Mem) Close() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.gone {
		return nil
	}
	m.gone = true
	return nil
}

var (
	_ FS = (*Mem)(nil)
	_ FS = (*disk)(nil)
)
