package fusetest

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"unicode"

	"github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
)

// A node is a file or directory of the mount. It shows what lies in another
// directory, under, by every name that folds to the same.
type node struct {
	fs.Inode
	under string // of the whole mount
}

// folded is the form in which the mount compares names: default-ignorable code
// points have length zero, then NFD, full case folding, NFD (fs/unicode of Linux,
// which ext4 and f2fs use). It is written from the standard's tables on purpose: it
// shares nothing with the package under test.
func folded(name string) string {
	name = strings.Map(func(r rune) rune {
		if unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Cf, unicode.Variation_Selector) {
			return -1
		}
		return r
	}, name)
	return norm.NFD.String(cases.Fold().String(norm.NFD.String(name)))
}

// below returns the path of the entry of dir that name means: an existing one with
// the same fold, or a new one.
func below(dir, name string) string {
	entries, _ := os.ReadDir(dir)
	for _, e := range entries {
		if folded(e.Name()) == folded(name) {
			return filepath.Join(dir, e.Name())
		}
	}
	return filepath.Join(dir, name)
}

// path returns where the node lies under the mount.
func (n *node) path() string {
	at := n.under
	for part := range strings.SplitSeq(n.Path(nil), "/") {
		if part != "" {
			at = below(at, part)
		}
	}
	return at
}

func (n *node) below(name string) string { return below(n.path(), name) }

// child makes the inode of what lies at path.
func (n *node) child(ctx context.Context, path string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	var st syscall.Stat_t
	if err := syscall.Lstat(path, &st); err != nil {
		return nil, fs.ToErrno(err)
	}
	out.FromStat(&st)
	return n.NewInode(ctx, &node{under: n.under}, fs.StableAttr{Mode: st.Mode, Ino: st.Ino}), 0
}

func (n *node) Lookup(ctx context.Context, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	return n.child(ctx, n.below(name), out)
}

func (n *node) Getattr(_ context.Context, _ fs.FileHandle, out *fuse.AttrOut) syscall.Errno {
	var st syscall.Stat_t
	if err := syscall.Lstat(n.path(), &st); err != nil {
		return fs.ToErrno(err)
	}
	out.FromStat(&st)
	return 0
}

func (n *node) Setattr(ctx context.Context, f fs.FileHandle, in *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	if mode, ok := in.GetMode(); ok {
		if err := syscall.Chmod(n.path(), mode); err != nil {
			return fs.ToErrno(err)
		}
	}
	if size, ok := in.GetSize(); ok {
		if err := syscall.Truncate(n.path(), int64(size)); err != nil {
			return fs.ToErrno(err)
		}
	}
	return n.Getattr(ctx, f, out)
}

func (n *node) Readdir(context.Context) (fs.DirStream, syscall.Errno) {
	return fs.NewLoopbackDirStream(n.path())
}

func (n *node) Open(_ context.Context, flags uint32) (fs.FileHandle, uint32, syscall.Errno) {
	fd, err := syscall.Open(n.path(), int(flags)&^syscall.O_CREAT, 0)
	if err != nil {
		return nil, 0, fs.ToErrno(err)
	}
	return fs.NewLoopbackFile(fd), 0, 0
}

func (n *node) Create(ctx context.Context, name string, flags, mode uint32, out *fuse.EntryOut) (*fs.Inode, fs.FileHandle, uint32, syscall.Errno) {
	path := n.below(name)
	fd, err := syscall.Open(path, int(flags)|syscall.O_CREAT, mode)
	if err != nil {
		return nil, nil, 0, fs.ToErrno(err)
	}
	in, errno := n.child(ctx, path, out)
	return in, fs.NewLoopbackFile(fd), 0, errno
}

func (n *node) Mkdir(ctx context.Context, name string, mode uint32, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	path := n.below(name)
	if err := syscall.Mkdir(path, mode); err != nil {
		return nil, fs.ToErrno(err)
	}
	return n.child(ctx, path, out)
}

func (n *node) Link(ctx context.Context, target fs.InodeEmbedder, name string, out *fuse.EntryOut) (*fs.Inode, syscall.Errno) {
	path := n.below(name)
	if err := syscall.Link(target.(*node).path(), path); err != nil {
		return nil, fs.ToErrno(err)
	}
	return n.child(ctx, path, out)
}

func (n *node) Unlink(_ context.Context, name string) syscall.Errno {
	return fs.ToErrno(syscall.Unlink(n.below(name)))
}

func (n *node) Rmdir(_ context.Context, name string) syscall.Errno {
	return fs.ToErrno(syscall.Rmdir(n.below(name)))
}

// Rename knows no flags, as most FUSE file systems.
func (n *node) Rename(_ context.Context, name string, to fs.InodeEmbedder, newName string, flags uint32) syscall.Errno {
	if flags != 0 {
		return syscall.EINVAL
	}
	return fs.ToErrno(syscall.Rename(n.below(name), to.(*node).below(newName)))
}
