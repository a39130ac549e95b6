package main

import (
	"fmt"
	"os"
	"syscall"
)

// nonblock keeps the opening of a FIFO from waiting for its other end.
const nonblock = syscall.O_NONBLOCK

// special makes what only Linux and a privileged process can make.
func special(kind, at, target string) (undo func(), err error) {
	undo = func() {}
	switch kind {
	case "fifo":
		err = syscall.Mkfifo(at, 0o600)
	case "chardev":
		var major, minor int
		if _, err = fmt.Sscanf(target, "%d:%d", &major, &minor); err == nil {
			err = syscall.Mknod(at, syscall.S_IFCHR|0o600, major<<8|minor)
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
