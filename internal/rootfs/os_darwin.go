package rootfs

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

const (
	openNonblock = syscall.O_NONBLOCK
	openForSync  = os.O_RDONLY
	canSyncDir   = true
)

// darwin has no bind mounts, so that the device number tells mounts apart.

func mountOf(f *os.File) mountID { return deviceOf(f) }

func foreign(h *handle, _ string, fi fs.FileInfo) bool { return foreignDevice(h, fi) }

func identity(f *os.File) (string, error) {
	id, err := inode(f)
	if err != nil {
		return "", err
	}
	fi, err := f.Stat()
	if err != nil {
		return "", err
	}
	if st := sysOf(fi); st != nil {
		id += fmt.Sprintf("-%x.%x", st.Birthtimespec.Sec, st.Birthtimespec.Nsec)
	}
	return id, nil
}

func writable(_ *os.File, dir string) bool {
	const wx = 2 | 1 // W_OK|X_OK
	return syscall.Access(dir, wx) == nil
}
