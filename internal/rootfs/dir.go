package rootfs

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"io"
	"io/fs"
	"math"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Names below [Library] that this package knows. The rest are the caller's.
const (
	// InFlight holds files that are written and not yet swapped in. Their names need
	// not survive a power cut unless [Dir.SyncInFlight] says so. What is left there
	// after a crash is either ours (the bytes of a journal row), or came out of a
	// swap: recovery compares it, and keeps what it does not know among the versions
	// before it removes the rest.
	InFlight = "tmp"
	// Versions is where a swap parks bytes that came from outside.
	Versions = "versions"
	// TakenOut ends the names in flight of memories that were moved aside to be looked
	// at before they go: after a crash such a file may hold somebody's save.
	TakenOut = ".out"
	lockName = "lock"
)

// flat are the library's directories that hold no others.
var flat = []string{Versions, "pending", "sessions"}

// Dir is the mediated directory of a room.
//
// Its memory side takes parsed paths only, its library side plain names of ours
// below [Library]. It is safe for parallel use; what has to be one step for others
// runs under [Dir.Lock], which the caller takes.
type Dir struct {
	fs   FS
	path string        // absolute, resolved; "" over another FS
	turn chan struct{} // holds one token while a goroutine of this Dir has the lock
}

// Open prepares the directory dir for use and writes nothing. dir may be missing;
// it is looked up again by each call until it exists, and then kept open, so that
// renaming it does not matter any more. Links in dir itself are the host's and are
// followed, once.
//
// Errors: syscall.ENOTDIR when dir exists and is none; "path.room-inside" when a
// directory above it holds a .scribe.
func Open(dir string) (*Dir, error) {
	if dir == "" {
		return nil, &fs.PathError{Op: "open", Path: ".", Err: fs.ErrInvalid}
	}
	at, err := ResolveOutside(dir)
	if err != nil {
		return nil, err
	}
	fi, err := os.Stat(at)
	switch {
	case errors.Is(err, fs.ErrNotExist):
	case err != nil:
		return nil, fault("open", ".", err)
	case !fi.IsDir():
		return nil, &fs.PathError{Op: "open", Path: ".", Err: syscall.ENOTDIR}
	}
	for up := filepath.Dir(at); ; up = filepath.Dir(up) {
		_, err := os.Lstat(filepath.Join(up, Library))
		switch {
		case err == nil:
			return nil, &Refusal{Rule: "path.room-inside", Path: "."}
		case errors.Is(err, fs.ErrNotExist):
		case errors.Is(err, fs.ErrPermission): // not a room that this process could use
		default:
			return nil, fault("open", ".", err)
		}
		if up == filepath.Dir(up) {
			break
		}
	}
	d := New(OS(at))
	d.path = at
	return d, nil
}

// New is a Dir over any file system, for tests.
func New(fsys FS) *Dir { return &Dir{fs: fsys, turn: make(chan struct{}, 1)} }

// Close releases the directory. Later calls fail with fs.ErrClosed.
func (d *Dir) Close() error { return d.fs.Close() }

// Path is the absolute, resolved directory, for comparing only; never to be shown.
func (d *Dir) Path() string { return d.path }

// Exists reports whether the room's directory exists.
func (d *Dir) Exists() bool {
	e, err := d.fs.Lstat(".")
	return err == nil && e.Kind == Directory
}

// Writable reports whether the room, and its library if there is one, can be
// written. A missing directory is not writable; [Dir.Ensure] makes it.
func (d *Dir) Writable() bool {
	return d.fs.Writable(".") && (!d.HasLibrary() || d.fs.Writable(Library))
}

// HasLibrary reports whether .scribe exists as a directory. A link does not count,
// and [Dir.Ensure] then refuses it.
func (d *Dir) HasLibrary() bool {
	e, err := d.fs.Lstat(Library)
	return err == nil && e.Kind == Directory
}

// Identity names the room's directory by its inode and birth time, as hex text: a
// clone, a copy and an unpacked archive have another one. Where the file system
// keeps no birth time it is the inode alone.
func (d *Dir) Identity() (string, error) { return d.fs.Identity() }

// Ensure creates what is missing of the room, its library and the library's
// directories, 0700 and durable. Modes of what exists are left alone.
func (d *Dir) Ensure() error {
	if !d.Exists() {
		if err := d.fs.Mkdir("."); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	for _, sub := range []string{"", Versions, "pending", "archive", "sessions", InFlight} {
		if e, err := d.fs.Lstat(path.Join(Library, sub)); err == nil && e.Kind == Directory {
			continue
		}
		if _, err := d.mkdirs(path.Join(Library, sub)); err != nil {
			return err
		}
	}
	return nil
}

// mkdirs creates a directory with its parents, flushes each new entry, and returns
// what it created, outermost first. When it fails it has created nothing.
func (d *Dir) mkdirs(dir string) (made []string, err error) {
	return d.makeDirs(dir, func(parent string) error { return d.fs.Sync(parent) })
}

// makeDirs is mkdirs with the flush of each new entry's directory left to the caller.
func (d *Dir) makeDirs(dir string, flush func(parent string) error) (made []string, err error) {
	if dir == "." {
		return nil, nil
	}
	parts := strings.Split(dir, "/")
	for i := range parts {
		at := strings.Join(parts[:i+1], "/")
		e, err := d.fs.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) {
			if err = d.fs.Mkdir(at); err == nil {
				made = append(made, at)
				err = flush(path.Dir(at))
			} else if errors.Is(err, fs.ErrExist) {
				e, err = d.fs.Lstat(at) // another process was faster
			}
		}
		if err == nil && !slices.Contains(made, at) {
			if rule := e.dirRule(); rule != "" {
				err = &Refusal{Rule: rule, Path: at}
			}
		}
		if err != nil {
			d.undo(made)
			return nil, err
		}
	}
	return made, nil
}

// undo removes directories that were created for a file which did not come. It
// stops at the first that is in use by now.
func (d *Dir) undo(made []string) {
	for _, dir := range slices.Backward(made) {
		if d.fs.Remove(dir) != nil {
			return
		}
	}
}

// Lock takes the room's lock for one goroutine of one process: first the turn among
// this Dir's own goroutines, then the lock on the open handle of .scribe/lock. It
// waits until ctx ends. The library must exist. unlock may be called twice.
func (d *Dir) Lock(ctx context.Context) (unlock func(), err error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case d.turn <- struct{}{}:
	}
	release, err := d.fs.Lock(ctx, Library+"/"+lockName)
	if err != nil {
		<-d.turn
		return nil, err
	}
	done := make(chan struct{}, 1)
	done <- struct{}{}
	return func() {
		select {
		case <-done:
			release()
			<-d.turn
		default:
		}
	}, nil
}

// lib turns a library name of ours into a name below the root.
func lib(op, name string) (string, error) {
	bad := !fs.ValidPath(name) || name == "." || strings.ContainsAny(name, "\\:\x00")
	for seg := range strings.SplitSeq(name, "/") {
		bad = bad || strings.HasPrefix(seg, ".")
	}
	if bad {
		return "", &fs.PathError{Op: op, Path: quote(name), Err: fs.ErrInvalid}
	}
	return Library + "/" + name, nil
}

// temp is a fresh name in flight.
func temp() string {
	var b [8]byte
	_, _ = rand.Read(b[:]) // never fails (crypto/rand)
	return Library + "/" + InFlight + "/" + hex.EncodeToString(b[:])
}

// LibRead returns a library file, of at most max bytes. Like every file here it has
// to be plain: a link, FIFO or second name planted there is a *[Refusal].
func (d *Dir) LibRead(name string, max int64) ([]byte, error) {
	at, err := lib("read", name)
	if err != nil {
		return nil, err
	}
	return d.fs.Read(at, max)
}

// LibCopy writes the first max bytes of a library file to w, or the whole of a smaller
// one, and gives their number. Unlike LibRead it holds a small part of them at a time.
func (d *Dir) LibCopy(w io.Writer, name string, max int64) (n int64, err error) {
	err = d.LibView(name, math.MaxInt64, func(r io.ReaderAt, size int64) error {
		n, err = io.CopyBuffer(w, io.NewSectionReader(r, 0, min(max, size)), make([]byte, 64<<10))
		return err
	})
	return n, err
}

// LibView lets fn read a library file of at most max bytes here and there, until fn
// returns. Errors of fn are passed on.
func (d *Dir) LibView(name string, max int64, fn func(r io.ReaderAt, size int64) error) error {
	at, err := lib("read", name)
	if err != nil {
		return err
	}
	return d.fs.View(at, max, fn)
}

// LibWriteNew creates a library file, with its directories, durably and in one step:
// a crash leaves no part of it under that name. (What is written to [InFlight] itself
// is flushed, but may be gone or torn after a crash.) An existing name is fs.ErrExist.
// After [ErrUnsynced] the file is there.
func (d *Dir) LibWriteNew(name string, data []byte) error {
	at, err := lib("create", name)
	if err != nil {
		return err
	}
	_, err = d.writeNew(at, data)
	return err
}

// writeNew returns the directories that it created.
func (d *Dir) writeNew(at string, data []byte) (made []string, err error) {
	if inFlight(at) {
		if made, err = d.mkdirs(path.Dir(at)); err != nil {
			return nil, err
		}
		if err := d.fs.WriteNew(at, data); err != nil {
			d.undo(made)
			return nil, err
		}
		return made, nil
	}
	return d.writeVia(d.fs.RenameNew, at, data)
}

// writeVia writes a file in flight and moves it to its name.
func (d *Dir) writeVia(move func(from, to string) error, at string, data []byte) (made []string, err error) {
	tmp := temp()
	if _, err := d.mkdirs(path.Dir(tmp)); err != nil {
		return nil, err
	}
	if made, err = d.mkdirs(path.Dir(at)); err != nil {
		return nil, err
	}
	if err = d.fs.WriteNew(tmp, data); err == nil {
		if err = move(tmp, at); err != nil {
			_ = d.fs.Remove(tmp)
		}
	}
	if err != nil {
		d.undo(made)
		return nil, err
	}
	return made, unsynced(d.syncParent(at))
}

func inFlight(at string) bool { return path.Dir(at) == Library+"/"+InFlight }

// syncParent flushes the directory of a library file, unless it is [InFlight].
func (d *Dir) syncParent(at string) error {
	if inFlight(at) {
		return nil
	}
	return d.fs.Sync(path.Dir(at))
}

// journalName is the one library file that grows.
const journalName = "audit.jsonl"

// Stage writes library files in flight and appends rows to the journal, and flushes all
// of it at the same time, the names in flight too. logged says that the rows are in the
// journal. On an error without [ErrUnsynced] nothing was written; with it the files are
// still in flight, and when logged is false the journal is not to be flushed again by
// this process.
func (d *Dir) Stage(files []NewFile, rows []byte) (logged bool, err error) {
	at := make([]NewFile, len(files))
	for i, f := range files {
		name, err := lib("create", f.Name)
		if err == nil && !inFlight(name) {
			err = &fs.PathError{Op: "create", Path: quote(f.Name), Err: fs.ErrInvalid}
		}
		if err != nil {
			return false, err
		}
		at[i] = NewFile{name, f.Data}
	}
	return d.fs.Stage(at, Library+"/"+journalName, rows, Library+"/"+InFlight)
}

// Keep gives a file in flight its place in the library, beside its name in flight: as a
// second name of the same file, or as a copy where the file system has no links. The
// directory is not flushed: see [Dir.Flush]. A file that is there already must be equal.
func (d *Dir) Keep(from, to string) error {
	a, err := lib("keep", from)
	if err != nil {
		return err
	}
	b, err := lib("keep", to)
	if err != nil {
		return err
	}
	err = d.fs.Link(a, b)
	if errors.Is(err, errors.ErrUnsupported) {
		err = d.copyTo(a, b)
	}
	if errors.Is(err, fs.ErrExist) && equal(d.peek(a), d.peek(b)) {
		return nil
	}
	return err
}

// copyTo is Keep without links: whole or not at all, and not flushed as a name.
func (d *Dir) copyTo(a, b string) error {
	data, err := d.fs.Read(a, maxPeek)
	if err != nil {
		return err
	}
	tmp := temp()
	if err := d.fs.WriteNew(tmp, data); err != nil {
		return err
	}
	err = d.fs.RenameNew(tmp, b)
	if err != nil {
		_ = d.fs.Remove(tmp)
	}
	return err
}

// Flush flushes directories at the same time, each once: those that [Dir.Swap] names,
// and the library's, named by their place in it. It is the last step before a change is
// acknowledged; see [ErrUnsynced].
func (d *Dir) Flush(swapped []string, library ...string) error {
	dirs := slices.Clone(swapped)
	for _, name := range library {
		at, err := lib("sync", name)
		if err != nil {
			return err
		}
		dirs = append(dirs, at)
	}
	slices.Sort(dirs)
	return unsynced(d.fs.Sync(slices.Compact(dirs)...))
}

// LibReplace puts data at a library name in one step, whatever was there. A crash
// leaves the old or the new bytes.
func (d *Dir) LibReplace(name string, data []byte) error {
	at, err := lib("replace", name)
	if err != nil {
		return err
	}
	_, err = d.writeVia(d.fs.Rename, at, data)
	return err
}

// LibAppend adds data to a library file in one write and flushes it; a missing file
// is created. After a failure the file has its old length again, as far as the disk
// obeys, and the caller should reopen: a flush that failed is not to be retried.
func (d *Dir) LibAppend(name string, data []byte) error {
	at, err := lib("append", name)
	if err != nil {
		return err
	}
	err = d.fs.Append(at, data)
	if errors.Is(err, fs.ErrNotExist) {
		return d.LibWriteNew(name, data)
	}
	return err
}

// LibTruncate cuts a library file to size bytes and flushes it.
func (d *Dir) LibTruncate(name string, size int64) error {
	at, err := lib("truncate", name)
	if err != nil {
		return err
	}
	return d.fs.Truncate(at, size)
}

// LibRemove unlinks one library file, or an empty directory, and flushes the
// directory that held it.
func (d *Dir) LibRemove(name string) error {
	at, err := lib("remove", name)
	if err != nil {
		return err
	}
	if err := d.fs.Remove(at); err != nil {
		return err
	}
	return unsynced(d.syncParent(at))
}

// discard takes a file of ours back, and the directories made for it.
func (d *Dir) discard(at string, made []string) {
	if d.fs.Remove(at) == nil && d.syncParent(at) == nil {
		d.undo(made)
	}
}

// LibList returns the files at and below a library directory ("" is all of it), as
// names relative to that directory, sorted bytewise. Links and specials are left out.
// A missing directory has none.
func (d *Dir) LibList(dir string) ([]string, error) {
	at := Library
	if dir != "" {
		var err error
		if at, err = lib("list", dir); err != nil {
			return nil, err
		}
	}
	var names []string
	err := d.tree(at, func(name string, e Entry) error {
		if e.Kind == File {
			names = append(names, strings.TrimPrefix(name, at+"/"))
		}
		return nil
	})
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return names, err
}

// ListInFlight returns the files below [InFlight], as LibList does, and removes what is none
// there: a link, a FIFO, a directory. Nobody of ours makes those, and they would stand in the
// way of the name that they have. Removing follows nothing.
func (d *Dir) ListInFlight() ([]string, error) {
	entries, err := d.fs.ReadDir(Library + "/" + InFlight)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	var names []string
	for _, e := range entries {
		if e.Kind == File {
			names = append(names, e.Name)
			continue
		}
		at := Library + "/" + InFlight + "/" + e.Name
		err := d.fs.Remove(at)
		if err != nil && e.Kind == Directory { // somebody's, with something in it
			err = d.fs.RenameNew(at, Library+"/"+path.Base(temp())+".aside")
		}
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return nil, err
		}
	}
	return names, err
}

// LibStat returns the size of a library file in bytes.
func (d *Dir) LibStat(name string) (size int64, err error) {
	at, err := lib("stat", name)
	if err != nil {
		return 0, err
	}
	e, err := d.fs.Lstat(at)
	if err == nil && e.Rule() != "" {
		err = &Refusal{Rule: e.Rule(), Path: at}
	}
	if err != nil {
		return 0, err
	}
	return e.Size, nil
}

// SyncInFlight flushes the names in flight, so that what waits there is found again
// after a power cut.
func (d *Dir) SyncInFlight() error { return d.fs.Sync(Library + "/" + InFlight) }

// SyncLib flushes the journal, every directory of the library, and the room's own
// directory. Recovery begins with it: what a killed process left is readable, but
// may be in the page cache only.
func (d *Dir) SyncLib() error {
	err := d.fs.Sync(Library + "/" + journalName)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	entries, err := d.fs.ReadDir(Library)
	if err != nil {
		return err
	}
	dirs := []string{Library, "."}
	for _, e := range entries {
		name := Library + "/" + e.Name
		switch {
		case e.Kind != Directory || strings.HasPrefix(e.Name, ".") || e.Name == InFlight:
			continue
		case slices.Contains(flat, e.Name):
			dirs = append(dirs, name) // of as many files as there are rows: not to be looked at
			continue
		}
		err := d.tree(name, func(below string, e Entry) error {
			if e.Kind == Directory {
				dirs = append(dirs, below)
			}
			return nil
		})
		if err != nil {
			return err
		}
		dirs = append(dirs, name)
	}
	for _, dir := range dirs {
		if err := d.fs.Sync(dir); err != nil {
			return err
		}
	}
	return nil
}

// equal compares bytes that are both known; nil stands for "unreadable".
func equal(a, b []byte) bool { return a != nil && b != nil && bytes.Equal(a, b) }
