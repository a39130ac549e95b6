//go:build darwin || dragonfly || freebsd || illumos || linux || netbsd || openbsd

package rootfs

import (
	"os"
	"syscall"
)

// flock belongs to the open file, not to the process, so that two rooms in one
// process exclude each other too.

func tryLock(f *os.File) (bool, error) {
	err := flock(f, syscall.LOCK_EX|syscall.LOCK_NB)
	if err == syscall.EWOULDBLOCK {
		return false, nil
	}
	return err == nil, err
}

func releaseLock(f *os.File) { _ = flock(f, syscall.LOCK_UN) }

func flock(f *os.File, how int) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	err = conn.Control(func(fd uintptr) {
		for {
			if inner = syscall.Flock(int(fd), how); inner != syscall.EINTR {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	return inner
}
