package rootfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"syscall"
)

func (d *disk) WriteNew(name string, data []byte) error {
	h, base, err := d.parent("create", name)
	if err != nil {
		return err
	}
	defer h.close()
	// O_EXCL: an existing name, a dangling link included, is fs.ErrExist.
	f, err := h.root.OpenFile(base, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return fault("create", name, err)
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Sync()
	}
	if cerr := f.Close(); err == nil {
		err = cerr
	}
	if err != nil {
		// The first error says what is wrong; a file that stays is swept by recovery.
		_ = h.root.Remove(base)
	}
	return fault("create", name, err)
}

func (d *disk) Append(name string, data []byte) error {
	h, base, err := d.parent("append", name)
	if err != nil {
		return err
	}
	defer h.close()
	f, fi, err := d.plain(h, base, os.O_WRONLY|os.O_APPEND)
	if err != nil {
		return fault("append", name, err)
	}
	defer f.Close()
	if _, err = f.Write(data); err != nil {
		return takeBack(f, fi.Size(), name, err)
	}
	if err = f.Sync(); err != nil {
		// A row that was not acknowledged must not be read later by whoever locks
		// next, so it is taken back; recovery copes when the disk refuses that too.
		_ = f.Truncate(fi.Size())
		return unsynced(fault("append", name, err))
	}
	return nil
}

// takeBack cuts a log to the size that it had before a write failed with err. Such a cut
// needs no flush of its own: the next append flushes the size with its bytes.
func takeBack(f *os.File, size int64, name string, err error) error {
	err = fault("append", name, err)
	if f.Truncate(size) != nil {
		return unsynced(err)
	}
	return err
}

func (d *disk) Truncate(name string, size int64) error {
	h, base, err := d.parent("truncate", name)
	if err != nil {
		return err
	}
	defer h.close()
	f, _, err := d.plain(h, base, os.O_WRONLY)
	if err != nil {
		return fault("truncate", name, err)
	}
	defer f.Close()
	if err := f.Truncate(size); err != nil {
		return fault("truncate", name, err)
	}
	return fault("truncate", name, f.Sync())
}

func (d *disk) Mkdir(name string) error {
	if name == "." {
		if _, err := d.open("mkdir", name); !errors.Is(err, fs.ErrNotExist) {
			if err == nil {
				err = fs.ErrExist
			}
			return fault("mkdir", name, err)
		}
		return fault("mkdir", name, mkdirAll(d.dir))
	}
	h, base, err := d.parent("mkdir", name)
	if err != nil {
		return err
	}
	defer h.close()
	return fault("mkdir", name, h.root.Mkdir(base, 0o700))
}

// mkdirAll creates dir and the parents it lacks, flushes each new entry, and takes
// back what it created when it cannot finish.
func mkdirAll(dir string) error {
	var missing []string
	for p := dir; ; p = filepath.Dir(p) {
		if _, err := os.Lstat(p); err == nil {
			break
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		missing = append(missing, p)
		if p == filepath.Dir(p) {
			break
		}
	}
	if len(missing) == 0 {
		return fs.ErrExist
	}
	var made []string
	for _, p := range slices.Backward(missing) {
		err := os.Mkdir(p, 0o700)
		if errors.Is(err, fs.ErrExist) && p != dir {
			continue // another process makes the same room
		}
		if err == nil {
			made = append(made, p)
			err = syncPath(filepath.Dir(p))
		}
		if err != nil {
			for _, p := range slices.Backward(made) {
				_ = os.Remove(p) // only ever an empty directory
			}
			return err
		}
	}
	return nil
}

func syncPath(dir string) error {
	f, err := os.Open(dir)
	if errors.Is(err, fs.ErrPermission) {
		return nil // a parent that we may write but not read; its entry is its file system's
	}
	if err != nil {
		return err
	}
	defer f.Close()
	return syncDir(f)
}

// syncDir flushes a directory's entries. A file system that cannot do so says
// EINVAL or ENOTSUP; there is nothing more to do about it, so that is no failure.
func syncDir(f *os.File) error {
	if !canSyncDir {
		return nil
	}
	return unlessUnable(f.Sync())
}

// unlessUnable takes the word of a file system that it cannot flush a directory for done.
func unlessUnable(err error) error {
	if errors.Is(err, syscall.EINVAL) || errors.Is(err, errors.ErrUnsupported) {
		return nil
	}
	return err
}

// Sync opens everything before it flushes anything: what is flushed at one moment shares
// the disk's work, and what comes a moment later does not.
func (d *disk) Sync(names ...string) error {
	files, closeAll, err := d.openToSync(names)
	defer closeAll()
	return errors.Join(append(d.flush(files), err)...)
}

// openToSync opens files and directories, as far as that is possible.
func (d *disk) openToSync(names []string) (files []flushing, closeAll func(), err error) {
	var open []func()
	for _, name := range names {
		file, dir, closed, oerr := d.openOne(name)
		if oerr != nil {
			err = errors.Join(err, fault("sync", name, oerr))
			continue
		}
		open = append(open, closed)
		files = append(files, flushing{"sync", name, file, dir})
	}
	return files, func() {
		for _, closed := range open {
			closed()
		}
	}, err
}

func (d *disk) openOne(name string) (file *os.File, dir bool, closed func(), err error) {
	h, base, err := d.parent("sync", name)
	if err != nil {
		return nil, false, nil, err
	}
	if base == "." {
		return h.file, true, h.close, nil
	}
	defer h.close()
	if sub := d.again(h, base); sub != nil {
		return sub.file, true, sub.close, nil
	}
	fi, err := h.root.Lstat(base)
	if err != nil {
		return nil, false, nil, err
	}
	if fi.Mode()&fs.ModeType == fs.ModeDir {
		sub, err := d.enter(h, base)
		if err != nil {
			return nil, false, nil, err
		}
		return sub.file, true, sub.close, nil
	}
	f, _, err := d.plain(h, base, openForSync)
	if err != nil {
		return nil, false, nil, err
	}
	return f, false, func() { f.Close() }, nil
}

func (d *disk) Remove(name string) error {
	h, base, err := d.parent("remove", name)
	if err != nil {
		return err
	}
	defer h.close()
	if base == "." {
		return &fs.PathError{Op: "remove", Path: name, Err: fs.ErrInvalid}
	}
	if _, err := h.root.Lstat(base); err != nil {
		return fault("remove", name, err)
	}
	if err := h.exact(base); err != nil {
		return fault("remove", name, err)
	}
	d.release(name)
	return fault("remove", name, h.root.Remove(base))
}

// pair opens the directories of two names and runs fn on them.
func (d *disk) pair(op, from, to string, fn func(a *handle, abase string, b *handle, bbase string) error) error {
	a, abase, err := d.parent(op, from)
	if err != nil {
		return err
	}
	defer a.close()
	b, bbase, err := d.parent(op, to)
	if err != nil {
		return err
	}
	defer b.close()
	if abase == "." || bbase == "." {
		return &fs.PathError{Op: op, Path: to, Err: fs.ErrInvalid}
	}
	d.release(from)
	d.release(to)
	return fault(op, to, fn(a, abase, b, bbase))
}

func (d *disk) Rename(from, to string) error {
	return d.pair("rename", from, to, d.rename)
}

func (d *disk) Link(from, to string) error {
	return d.pair("link", from, to, func(a *handle, abase string, b *handle, bbase string) error {
		err := d.link(a, abase, b, bbase)
		if errors.Is(err, syscall.EPERM) || errors.Is(err, syscall.ENOSYS) || errors.Is(err, syscall.EMLINK) {
			return errors.ErrUnsupported // FAT says EPERM
		}
		return err
	})
}

func (d *disk) Exchange(a, b string) error {
	if d.portable {
		return &fs.PathError{Op: "exchange", Path: b, Err: errors.ErrUnsupported}
	}
	return d.pair("exchange", a, b, exchange)
}

func (d *disk) RenameNew(from, to string) error {
	return d.pair("rename", from, to, func(a *handle, abase string, b *handle, bbase string) error {
		err := errors.ErrUnsupported
		if !d.portable {
			err = renameNew(a, abase, b, bbase)
		}
		if !errors.Is(err, errors.ErrUnsupported) {
			return err
		}
		// A link never replaces. It is the second name that FS documents.
		err = d.link(a, abase, b, bbase)
		if err == nil {
			return a.root.Remove(abase)
		}
		if errors.Is(err, fs.ErrExist) || errors.Is(err, fs.ErrNotExist) {
			return err
		}
		// No links either (FAT, exFAT): look, then rename, at once.
		if _, err := b.root.Lstat(bbase); err == nil {
			return fs.ErrExist
		} else if !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		return d.rename(a, abase, b, bbase)
	})
}
