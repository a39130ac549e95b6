//go:build unix

package rootfs

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

func sysOf(fi fs.FileInfo) *syscall.Stat_t {
	st, _ := fi.Sys().(*syscall.Stat_t)
	return st
}

// linksBelow counts the names of the file that Lstat described.
func linksBelow(_ *handle, _ string, fi fs.FileInfo) uint64 { return linksOf(nil, fi) }

func linksOf(_ *os.File, fi fs.FileInfo) uint64 {
	if st := sysOf(fi); st != nil {
		return uint64(st.Nlink) //nolint:unconvert // its width differs by platform
	}
	return 2 // unknown: refuse
}

// deviceOf is what is left where mounts have no ID of their own.
func deviceOf(f *os.File) mountID {
	fi, err := f.Stat()
	if err != nil {
		return mountID{}
	}
	if st := sysOf(fi); st != nil {
		return mountID{id: uint64(st.Dev)}
	}
	return mountID{}
}

// foreignDevice looks at directories only: on some overlay file systems the files
// of one directory carry other device numbers than the directory.
func foreignDevice(h *handle, fi fs.FileInfo) bool {
	st := sysOf(fi)
	return st != nil && fi.IsDir() && !h.mount.exact && uint64(st.Dev) != h.mount.id
}

// inode is the identity of a directory where no birth time is known. It is weaker:
// an inode number may be used again.
func inode(f *os.File) (string, error) {
	fi, err := f.Stat()
	if err != nil {
		return "", err
	}
	st := sysOf(fi)
	if st == nil {
		return "", fs.ErrInvalid
	}
	return fmt.Sprintf("%x", uint64(st.Ino)), nil
}
