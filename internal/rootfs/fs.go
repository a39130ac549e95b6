package rootfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"
)

// Library is the directory of a room that only this library names.
const Library = ".scribe"

// Limits on what an outside hand can make this package do.
const (
	// MaxEntries is how many names one directory listing, and one [Dir.Walk], may
	// meet. Far above any room; it bounds a node_modules that fell into one.
	MaxEntries = 250_000
	// MaxDepth is how many directories [Dir.Walk] goes down. Paths that may be
	// written are shallower (relpath's limit).
	MaxDepth = 16
	// openTries is how often a file is opened again because it was replaced between
	// the look and the open, which a writer's own rename does now and then.
	openTries = 16
)

// FS is a directory tree, rooted at a directory that may not exist yet.
//
// Names are slash-separated, relative to the root, and in their shortest form
// (fs.ValidPath); "." is the root itself. There are two implementations, [OS] and
// [Mem], and one table of operations runs on both.
//
// One file may have several names: while all but one are in flight (see RenameNew), that
// one is plain for reading.
//
// Guarantees: every method obeys the rules of the package comment. A method that
// returns an error has not done what it says, with the one exception that a failed
// flush may leave the change visible. Methods are safe for parallel use.
//
// Not guaranteed: that a directory entry survives a power cut before [FS.Sync] on
// its directory; that two operations are one.
//
// Errors are a *[Refusal] where the rules of the disk say no, and otherwise a
// *fs.PathError whose Path is the name that was passed.
type FS interface {
	// Lstat describes name without following it.
	Lstat(name string) (Entry, error)
	// Names lists a directory, sorted bytewise, without looking at the entries.
	// Over MaxEntries it fails with "path.too-many".
	Names(name string) ([]string, error)
	// ReadDir lists a directory with what its entries are, sorted bytewise,
	// without following anything, under the same limit.
	ReadDir(name string) ([]Entry, error)
	// Describe calls fn for those of some names of a directory that are there, with what
	// ReadDir says of them. It need not list the directory.
	Describe(name string, bases []string, fn func(i int, e Entry)) error
	// Read returns the bytes of a plain file: "path.too-large" above max bytes.
	Read(name string, max int64) ([]byte, error)
	// View opens a plain file of at most max bytes, and lets fn read it here and there
	// until fn returns. Errors of fn are passed on.
	View(name string, max int64, fn func(r io.ReaderAt, size int64) error) error
	// WriteNew creates a file (0600), writes and flushes it. It never replaces: an
	// existing name is fs.ErrExist. What it began and could not finish it removes.
	WriteNew(name string, data []byte) error
	// Append adds data to a plain file in one write and flushes it. After a failure
	// the file is cut back to its old length; when the flush failed, or the file could
	// not be cut back, the error matches ErrUnsynced.
	Append(name string, data []byte) error
	// Stage creates files (0600), appends tail to the plain file log, and then flushes
	// all of them and the directories dirs: in no order, at the same time where the
	// system can. An empty tail leaves the log alone. logged says that the tail is in the
	// log, and was flushed.
	//
	// What fails before the flush is taken back, as if Stage had not been called. After
	// that the error matches ErrUnsynced, the new files are still there, and the log is
	// cut back only if its own flush failed.
	Stage(files []NewFile, log string, tail []byte, dirs ...string) (logged bool, err error)
	// Truncate cuts a plain file to size bytes and flushes it.
	Truncate(name string, size int64) error
	// Mkdir creates one directory (0700). For "." it creates the root, with parents.
	Mkdir(name string) error
	// Rename moves a file. What was at the new name is gone, atomically.
	Rename(from, to string) error
	// RenameNew moves a file to a name that is free, else fs.ErrExist. Without
	// support from the system it links and unlinks, so that for an instant, or after
	// a crash, the file has both names.
	RenameNew(from, to string) error
	// Link gives a file a second, free name, else fs.ErrExist; errors.ErrUnsupported
	// where the file system has none.
	Link(from, to string) error
	// Exchange swaps two existing names atomically; errors.ErrUnsupported where the
	// system or the file system cannot.
	Exchange(a, b string) error
	// Remove unlinks one name: a file, a link, or an empty directory.
	Remove(name string) error
	// Sync flushes plain files, or directories' entries: at the same time where the
	// system can, as flushes at one time share the disk's work. All are tried.
	Sync(names ...string) error
	// Lock takes an exclusive lock that also holds against other processes, and
	// creates the lock file when it is missing. It waits until ctx ends. The file is
	// never removed; one that was replaced under us is noticed and locked anew.
	Lock(ctx context.Context, name string) (unlock func(), err error)
	// Identity names the root directory by what a copy does not share: inode and
	// birth time, as hex text. Never the device number, which a remount may change.
	Identity() (string, error)
	// Writable reports whether files can be created in a directory, without trying.
	Writable(name string) bool
	// Close releases the root. Later calls fail with fs.ErrClosed.
	Close() error
}

// NewFile is a file that does not exist yet.
type NewFile struct {
	Name string
	Data []byte
}

// Kind is what a name stands for.
type Kind uint8

const (
	File      Kind = iota + 1 // a regular file
	Directory                 // a directory of the room
	Link                      // a symbolic link, to anything
	Mount                     // another file system, or a bind mount
	Special                   // a FIFO, socket, device, or what a platform adds
	Room                      // a directory that holds a .scribe of its own
)

// Entry describes one name. It is plain data.
type Entry struct {
	Name     string    // the last element, as it is stored
	Kind     Kind      // see above; Room is only reported by [Dir.Walk]
	Size     int64     // bytes, of a File
	Links    uint64    // names of a File, at least 1; a name in flight does not count
	Modified time.Time // last change of the bytes, UTC; a hint, never authority
	Stamp    Stamp     // of a File; zero where the bytes have to be read to know them

	deep bool // a directory that Walk reports instead of entering
}

// Rule is the rule that refuses to read or write this entry as a memory, or "" for
// a plain file.
func (e Entry) Rule() string {
	switch e.Kind {
	case File:
		if e.Links > 1 {
			return "path.hard-link"
		}
		return ""
	case Directory:
		return "path.is-a-directory"
	case Link:
		return "path.link"
	case Mount:
		return "path.mount"
	case Room:
		return "path.room-inside"
	default:
		return "path.not-regular"
	}
}

// dirRule is the rule that refuses to enter this entry as a directory, or "".
func (e Entry) dirRule() string {
	switch e.Kind {
	case Directory:
		return ""
	case Link, Mount, Room:
		return e.Rule()
	default:
		return "path.not-a-directory"
	}
}

// A Refusal says that what is on the disk, not the name, forbids an operation.
type Refusal struct {
	Rule  string // "path.link", "path.not-regular", ...
	Path  string // relative to the room, up to the element that was refused
	Other string // for "path.collision": the existing name; it is not ours, so not part of Error
}

// Error quotes the path, truncated.
func (r *Refusal) Error() string {
	return quote(r.Path) + ": path not allowed: " + r.text()
}

func (r *Refusal) text() string {
	switch r.Rule {
	case "path.link":
		return "symbolic link"
	case "path.not-regular":
		return "not a regular file"
	case "path.hard-link":
		return "file has another name"
	case "path.mount":
		return "mount point"
	case "path.not-a-directory":
		return "not a directory"
	case "path.is-a-directory":
		return "is a directory"
	case "path.collision":
		return "another name looks or folds the same"
	case "path.room-inside":
		return "room inside a room"
	case "path.too-large":
		return "file is too large"
	case "path.too-many":
		return "too many files"
	case "path.dot-dot":
		return `".." after a link`
	default:
		return strings.TrimPrefix(r.Rule, "path.")
	}
}

// ErrChanged: the bytes on disk are not what was expected. Nothing was replaced.
var ErrChanged = errors.New("changed on disk")

// ErrUnsynced: the change is visible, but a flush failed, so that it is not known
// to survive a power cut. Do not retry the flush: the kernel may have dropped the
// pages (fsyncgate). Reopen and recover.
var ErrUnsynced = errors.New("changed, but not known to be on disk")

// Changed is the error behind [ErrChanged].
type Changed struct {
	Path string // the memory, relative to the room
	// Parked is the library name below which bytes were kept that came from outside
	// during the swap and have no other place, or "". Unscreened.
	Parked string
}

// Error names the memory.
func (c *Changed) Error() string { return quote(c.Path) + ": " + ErrChanged.Error() }

// Is reports whether target is ErrChanged.
func (c *Changed) Is(target error) bool { return target == ErrChanged }

// quote is %q with a bound, for names that may come from outside.
func quote(name string) string {
	const most = 200
	if len(name) > most {
		return strconv.Quote(name[:most]) + "..."
	}
	return strconv.Quote(name)
}

// fault turns an error of the system into a *fs.PathError that carries the name
// relative to the room. The innermost error is kept, so that errors.Is finds
// fs.ErrNotExist or syscall.ENOSPC, and every path in between is dropped.
func fault(op, name string, err error) error {
	if err == nil {
		return nil
	}
	for {
		switch e := err.(type) {
		case *Refusal, *Changed:
			return err
		case *fs.PathError:
			err = e.Err
		case *os.LinkError:
			err = e.Err
		case *os.SyscallError:
			err = e.Err
		default:
			return &fs.PathError{Op: op, Path: name, Err: err}
		}
	}
}

// Full reports whether the disk has no space left, or its user no share of it.
func Full(err error) bool {
	return errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT)
}

// unsynced marks a failed flush of a change that is already visible.
func unsynced(err error) error {
	if err == nil {
		return nil
	}
	return fmt.Errorf("%w: %w", ErrUnsynced, err)
}

// split checks a name and cuts it into directories and the last element. The root
// is nil, ".".
func split(op, name string) (dirs []string, base string, err error) {
	if _, err := filepath.Localize(name); err != nil {
		return nil, "", &fs.PathError{Op: op, Path: name, Err: fs.ErrInvalid}
	}
	parts := strings.Split(name, "/")
	return parts[:len(parts)-1], parts[len(parts)-1], nil
}
