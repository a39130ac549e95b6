package rootfs

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"unicode"
)

// OS returns the directory dir of the real disk. dir is absolute, and resolved if
// its links are not to be followed again. Nothing is opened or created yet.
func OS(dir string) FS { return &disk{dir: dir} }

// disk is [FS] over os.Root.
type disk struct {
	dir      string // absolute
	portable bool   // tests: do without exchange and without rename to a free name
	queue    flushQueue

	mu     sync.Mutex // guards what follows, and uses and minds of every handle
	top    *handle    // nil until the directory exists and was needed
	held   *held      // nil while the room's lock is not held
	closed bool
}

// handle is one open, verified directory.
type handle struct {
	root  *os.Root
	file  *os.File // the same directory, for flushes and system calls on its descriptor
	mount mountID
	name  string // relative to the room
	disk  *disk
	keep  bool // the top directory: stays open between calls
	uses  int  // of it now, the one of a hold included
	minds bool // it tells names apart that differ in case alone: see exact

	list sync.Mutex // held by who lists it
}

// close ends one use of a handle.
func (h *handle) close() {
	if h.keep {
		return
	}
	h.disk.mu.Lock()
	h.uses--
	over := h.uses == 0
	h.disk.mu.Unlock()
	if over {
		h.file.Close()
		h.root.Close()
	}
}

func (h *handle) join(base string) string {
	if h.name == "." {
		return base
	}
	return h.name + "/" + base
}

// mountID tells mounts apart. The device number alone cannot: a bind mount of the
// same file system has the same one.
type mountID struct {
	id    uint64 // mount ID, when exact; else the device number
	exact bool
}

func (d *disk) newHandle(root *os.Root, name string) (*handle, error) {
	file, err := root.Open(".")
	if err != nil {
		root.Close()
		return nil, err
	}
	return &handle{root: root, file: file, mount: mountOf(file), name: name, disk: d, uses: 1}, nil
}

// open returns the top directory, and opens it when it exists by now.
func (d *disk) open(op, name string) (*handle, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.closed {
		return nil, &fs.PathError{Op: op, Path: name, Err: fs.ErrClosed}
	}
	if d.top != nil {
		return d.top, nil
	}
	fi, err := os.Stat(d.dir)
	if err != nil {
		return nil, fault(op, name, err)
	}
	if !fi.IsDir() { // before OpenRoot, which would block on a FIFO
		return nil, &fs.PathError{Op: op, Path: name, Err: syscall.ENOTDIR}
	}
	root, err := os.OpenRoot(d.dir)
	if err != nil {
		return nil, fault(op, name, err)
	}
	top, err := d.newHandle(root, ".")
	if err != nil {
		return nil, fault(op, name, err)
	}
	top.keep = true
	d.top = top
	return top, nil
}

// Close releases the root.
func (d *disk) Close() error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	d.queue.close()
	if d.top == nil {
		return nil
	}
	err := errors.Join(d.top.file.Close(), d.top.root.Close())
	d.top = nil
	return fault("close", ".", err)
}

// parent walks to the directory that holds name, by the rules.
func (d *disk) parent(op, name string) (*handle, string, error) {
	dirs, base, err := split(op, name)
	if err != nil {
		return nil, "", err
	}
	h, err := d.open(op, name)
	if err != nil {
		return nil, "", err
	}
	for _, seg := range dirs {
		next, err := d.enter(h, seg)
		h.close()
		if err != nil {
			return nil, "", fault(op, name, err)
		}
		h = next
	}
	return h, base, nil
}

// walk opens the directory name itself.
func (d *disk) walk(op, name string) (*handle, error) {
	h, base, err := d.parent(op, name)
	if err != nil || base == "." {
		return h, err
	}
	defer h.close()
	next, err := d.enter(h, base)
	return next, fault(op, name, err)
}

// enter opens one directory below h and proves that it is the one it looked at. What is
// open already, under the room's lock, is used again: see held.
func (d *disk) enter(h *handle, seg string) (*handle, error) {
	if next := d.again(h, seg); next != nil {
		return next, nil
	}
	for range openTries {
		before, err := h.root.Lstat(seg)
		if err != nil {
			return nil, err
		}
		if rule := h.kind(seg, before).dirRule(); rule != "" {
			return nil, &Refusal{Rule: rule, Path: h.join(seg)}
		}
		if err := h.exact(seg); err != nil {
			return nil, err
		}
		// "seg/." and not "seg": os.Root opens what is not the last element with
		// O_DIRECTORY, so a FIFO that was swapped in cannot block us.
		root, err := h.root.OpenRoot(seg + "/.")
		if err != nil {
			if _, again := h.root.Lstat(seg); again == nil && swapped(err) {
				continue
			}
			return nil, err
		}
		next, err := d.newHandle(root, h.join(seg))
		if err != nil {
			return nil, err
		}
		after, err := next.file.Stat()
		switch {
		case err != nil:
			next.close()
			return nil, err
		case !os.SameFile(before, after):
			next.close()
			continue
		case next.mount != h.mount:
			next.close()
			return nil, &Refusal{Rule: "path.mount", Path: h.join(seg)}
		}
		if _, err := root.Lstat(Library); !errors.Is(err, fs.ErrNotExist) {
			next.close()
			if err != nil {
				return nil, err
			}
			return nil, &Refusal{Rule: "path.room-inside", Path: h.join(seg)}
		}
		d.hold(next)
		return next, nil
	}
	return nil, &Changed{Path: h.join(seg)}
}

// swapped reports whether an open failed the way it does when the name was replaced
// after the look.
func swapped(err error) bool {
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, syscall.ENOTDIR) ||
		errors.Is(err, syscall.ELOOP) || errors.Is(err, syscall.ENXIO)
}

// exact refuses a name that reaches a file only because the file system ignores
// case: one whose other case exists too, and which is not in the directory's list.
// (Comparing the two files does not do: exFAT under FUSE numbers them apart.) seg is there.
//
// A directory either ignores case or does not, for as long as it holds anything. So where a
// look shows that it does not, the next name of the same open directory costs no look.
func (h *handle) exact(seg string) error {
	other := swapCase(seg)
	if other == seg || h.mindsCase() {
		return nil
	}
	if _, err := h.root.Lstat(other); err != nil {
		if _, still := h.root.Lstat(seg); still == nil && errors.Is(err, fs.ErrNotExist) && hasASCIILetter(seg) {
			h.disk.mu.Lock() // not when seg went meanwhile, nor by letters whose case it may not know
			h.minds = true
			h.disk.mu.Unlock()
		}
		return nil
	}
	names, err := h.names()
	if err != nil || slices.Contains(names, seg) {
		return err
	}
	return &Refusal{Rule: "path.collision", Path: h.join(seg)}
}

func (h *handle) mindsCase() bool {
	h.disk.mu.Lock()
	defer h.disk.mu.Unlock()
	return h.minds
}

func hasASCIILetter(s string) bool {
	return strings.ContainsFunc(s, func(c rune) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' })
}

// swapCase changes the case of every letter that has one.
func swapCase(s string) string {
	return strings.Map(func(r rune) rune {
		switch l := unicode.ToLower(r); {
		case l != r:
			return l
		default:
			return unicode.ToUpper(r)
		}
	}, s)
}

// entry describes what Lstat found below h.
func (h *handle) entry(base string, fi fs.FileInfo) Entry {
	e := h.kind(base, fi)
	if e.Kind == File {
		if e.Links = linksBelow(h, base, fi); e.Links > 1 {
			e.Links = h.settledLinks(base, fi)
		}
	}
	return e
}

// kind is entry without the number of names, which takes a walk to be known.
func (h *handle) kind(base string, fi fs.FileInfo) Entry {
	e := Entry{Name: base, Modified: fi.ModTime().UTC()}
	switch m := fi.Mode(); {
	case m&fs.ModeSymlink != 0:
		e.Kind = Link
	case m&fs.ModeType == fs.ModeDir:
		e.Kind = Directory
	case m.IsRegular():
		e.Kind, e.Size, e.Stamp = File, fi.Size(), stampOf(fi)
	default:
		e.Kind = Special
	}
	if (e.Kind == File || e.Kind == Directory) && base != "." && foreign(h, base, fi) {
		e.Kind = Mount
	}
	return e
}

// plain opens a file that is regular, has one name and lies on the room's mount.
func (d *disk) plain(h *handle, base string, flag int) (*os.File, fs.FileInfo, error) {
	for range openTries {
		before, err := h.root.Lstat(base)
		if err != nil {
			return nil, nil, err
		}
		if rule := h.entry(base, before).Rule(); rule != "" {
			return nil, nil, &Refusal{Rule: rule, Path: h.join(base)}
		}
		if err := h.exact(base); err != nil {
			return nil, nil, err
		}
		f, err := h.root.OpenFile(base, flag|openNonblock, 0)
		if err != nil {
			if _, again := h.root.Lstat(base); again == nil && swapped(err) {
				continue
			}
			return nil, nil, err
		}
		after, err := f.Stat()
		if err != nil {
			f.Close()
			return nil, nil, err
		}
		links := linksOf(f, after)
		mount := mountOf(f)
		switch {
		case !after.Mode().IsRegular() || !os.SameFile(before, after):
		case mount.exact && mount != h.mount:
			f.Close()
			return nil, nil, &Refusal{Rule: "path.mount", Path: h.join(base)}
		case links > 1 && (flag != os.O_RDONLY || h.settledLinks(base, after) > 1):
			f.Close()
			return nil, nil, &Refusal{Rule: "path.hard-link", Path: h.join(base)}
		case links == 0 && flag != os.O_RDONLY:
			// Replaced since: reading the old bytes is fine, writing to them is lost.
		default:
			return f, after, nil
		}
		f.Close()
	}
	return nil, nil, &Changed{Path: h.join(base)}
}

// settledLinks counts the names of a file that had several: those in flight do not count,
// and neither do those that went while we looked for them.
func (h *handle) settledLinks(base string, fi fs.FileInfo) uint64 {
	inFlight, links := h.disk.namesInFlight(fi), uint64(2)
	if now, err := h.root.Lstat(base); err == nil && os.SameFile(fi, now) {
		links = max(linksBelow(h, base, now), 1)
	}
	return links - min(inFlight, links-1)
}

// namesInFlight counts the names of a file below .scribe/tmp: the second name that RenameNew
// leaves for an instant, or until recovery, where it has to link; and after a power cut
// those that were not yet flushed away, of each change that the file went through.
func (d *disk) namesInFlight(fi fs.FileInfo) (n uint64) {
	h, err := d.walk("read", Library+"/"+InFlight)
	if err != nil {
		return 0
	}
	defer h.close()
	names, err := h.names()
	if err != nil {
		return 0
	}
	for _, name := range names {
		if other, err := h.root.Lstat(name); err == nil && os.SameFile(fi, other) {
			n++
		}
	}
	return n
}

func (d *disk) Lstat(name string) (Entry, error) {
	h, base, err := d.parent("lstat", name)
	if err != nil {
		return Entry{}, err
	}
	defer h.close()
	fi, err := h.root.Lstat(base)
	if err != nil {
		return Entry{}, fault("lstat", name, err)
	}
	if err := h.exact(base); err != nil {
		return Entry{}, fault("lstat", name, err)
	}
	return h.entry(base, fi), nil
}

func (d *disk) Names(name string) ([]string, error) {
	h, err := d.walk("readdir", name)
	if err != nil {
		return nil, err
	}
	defer h.close()
	names, err := h.names()
	return names, fault("readdir", name, err)
}

func (h *handle) names() ([]string, error) {
	h.list.Lock() // the handle has one read position
	defer h.list.Unlock()
	if _, err := h.file.Seek(0, io.SeekStart); err != nil {
		return nil, err
	}
	names, err := h.file.Readdirnames(MaxEntries + 1)
	if err != nil && err != io.EOF {
		return nil, err
	}
	if len(names) > MaxEntries {
		return nil, &Refusal{Rule: "path.too-many", Path: h.name}
	}
	slices.Sort(names)
	return names, nil
}

func (d *disk) ReadDir(name string) ([]Entry, error) {
	h, err := d.walk("readdir", name)
	if err != nil {
		return nil, err
	}
	defer h.close()
	names, err := h.names()
	if err != nil {
		return nil, fault("readdir", name, err)
	}
	entries := make([]Entry, 0, len(names))
	err = h.describe(names, func(_ int, e Entry) { entries = append(entries, e) })
	return entries, fault("readdir", name, err)
}

// Describe asks for each name, unless the directory may ignore case, where a name that
// somebody changed would still be answered.
func (d *disk) Describe(name string, bases []string, fn func(i int, e Entry)) error {
	h, err := d.walk("readdir", name)
	if err != nil {
		return err
	}
	defer h.close()
	if len(bases) > 0 && h.exact(bases[0]) == nil && h.mindsCase() {
		return fault("readdir", name, h.describe(bases, fn))
	}
	names, err := h.names()
	if err != nil {
		return fault("readdir", name, err)
	}
	there := bases[:0:0]
	var at []int
	for i, base := range bases {
		if _, ok := slices.BinarySearch(names, base); ok {
			there, at = append(there, base), append(at, i)
		}
	}
	return fault("readdir", name, h.describe(there, func(i int, e Entry) { fn(at[i], e) }))
}

// describe calls fn for those of some names that are still there.
func (h *handle) describe(names []string, fn func(i int, e Entry)) error {
	if ok, err := h.each(names, fn); ok {
		return err
	}
	for i, base := range names {
		fi, err := h.root.Lstat(base)
		if errors.Is(err, fs.ErrNotExist) {
			continue // gone since
		}
		if err != nil {
			return fault("readdir", h.join(base), err)
		}
		fn(i, h.entry(base, fi))
	}
	return nil
}

func (d *disk) Read(name string, max int64) ([]byte, error) {
	h, base, err := d.parent("read", name)
	if err != nil {
		return nil, err
	}
	defer h.close()
	f, fi, err := d.plain(h, base, os.O_RDONLY)
	if err != nil {
		return nil, fault("read", name, err)
	}
	defer f.Close()
	if fi.Size() > max {
		return nil, &Refusal{Rule: "path.too-large", Path: name}
	}
	data := make([]byte, 0, fi.Size()+1)
	for {
		n, err := f.Read(data[len(data):cap(data)])
		data = data[:len(data)+n]
		switch {
		case int64(len(data)) > max:
			return nil, &Refusal{Rule: "path.too-large", Path: name}
		case err == io.EOF:
			return data, nil
		case err != nil:
			return nil, fault("read", name, err)
		case len(data) == cap(data):
			data = slices.Grow(data, 512)
		}
	}
}

func (d *disk) View(name string, max int64, fn func(r io.ReaderAt, size int64) error) error {
	h, base, err := d.parent("read", name)
	if err != nil {
		return err
	}
	defer h.close()
	f, fi, err := d.plain(h, base, os.O_RDONLY)
	if err != nil {
		return fault("read", name, err)
	}
	defer f.Close()
	if fi.Size() > max {
		return &Refusal{Rule: "path.too-large", Path: name}
	}
	return fn(viewed{f, name}, fi.Size())
}

// viewed is a file whose errors have its name in the room.
type viewed struct {
	file *os.File
	name string
}

func (v viewed) ReadAt(b []byte, off int64) (int, error) {
	n, err := v.file.ReadAt(b, off)
	if err != nil && err != io.EOF {
		err = fault("read", v.name, err)
	}
	return n, err
}

// Identity hashes nothing: it is the inode and the birth time, in hex.
func (d *disk) Identity() (string, error) {
	h, err := d.open("identity", ".")
	if err != nil {
		return "", err
	}
	id, err := identity(h.file)
	return id, fault("identity", ".", err)
}

func (d *disk) Writable(name string) bool {
	h, err := d.walk("writable", name)
	if err != nil {
		return false
	}
	defer h.close()
	return writable(h.file, filepath.Join(d.dir, filepath.FromSlash(name)))
}
