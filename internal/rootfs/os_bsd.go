//go:build unix && !linux && !darwin

package rootfs

import (
	"io/fs"
	"os"
	"syscall"
)

const (
	openNonblock = syscall.O_NONBLOCK
	openForSync  = os.O_RDONLY
	canSyncDir   = true
)

// A nullfs mount has a device number of its own, so that it is told apart.

func mountOf(f *os.File) mountID { return deviceOf(f) }

func foreign(h *handle, _ string, fi fs.FileInfo) bool { return foreignDevice(h, fi) }

func identity(f *os.File) (string, error) { return inode(f) }

func writable(_ *os.File, dir string) bool {
	const wx = 2 | 1 // W_OK|X_OK
	return syscall.Access(dir, wx) == nil
}
