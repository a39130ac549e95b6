package pathcase

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// special makes what only Linux and, but for a FIFO, a privileged process can make.
func special(kind, at, target string) (undo func(), err error) {
	switch kind {
	case "fifo":
		return nil, syscall.Mkfifo(at, 0o600)
	case "chardev":
		var major, minor int
		if _, err := fmt.Sscanf(target, "%d:%d", &major, &minor); err != nil {
			return nil, err
		}
		return nil, syscall.Mknod(at, syscall.S_IFCHR|0o600, major<<8|minor)
	case "bind":
		if err := os.MkdirAll(at, 0o700); err != nil {
			return nil, err
		}
		if err := syscall.Mount(target, at, "", syscall.MS_BIND, ""); err != nil {
			return nil, err
		}
		return func() { _ = syscall.Unmount(at, syscall.MNT_DETACH) }, nil
	}
	return nil, errors.New("an unknown kind")
}
