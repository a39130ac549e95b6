package scribe

import (
	"fmt"
	"os"
	"syscall"
)

// specialFixture makes what only a privileged process on Linux can make.
func specialFixture(kind, at, target string) (undo func(), err error) {
	undo = func() {}
	switch kind {
	case "fifo":
		err = syscall.Mkfifo(at, 0o600)
	case "chardev":
		var major, minor uint64
		if _, err = fmt.Sscanf(target, "%d:%d", &major, &minor); err == nil {
			err = syscall.Mknod(at, syscall.S_IFCHR|0o600, int(major<<8|minor))
		}
	case "bind":
		if err = os.MkdirAll(at, 0o700); err == nil {
			if err = syscall.Mount(target, at, "", syscall.MS_BIND, ""); err == nil {
				undo = func() { _ = syscall.Unmount(at, syscall.MNT_DETACH) }
			}
		}
	}
	return undo, err
}
