package rootfs

import (
	"os"
	"syscall"
	"unsafe"
)

// Flags and errors of LockFileEx, from minwinbase.h and winerror.h.
const (
	lockfileFailImmediately = 1
	lockfileExclusive       = 2

	errorLockViolation = syscall.Errno(33)
	errorIOPending     = syscall.Errno(997)

	allBytes = 0xFFFFFFFF
)

func tryLock(f *os.File) (bool, error) {
	err := lockCall(f, "LockFileEx", func(fd uintptr, proc *syscall.LazyProc) (uintptr, error) {
		var ov syscall.Overlapped
		r, _, err := proc.Call(fd, lockfileExclusive|lockfileFailImmediately, 0, allBytes, allBytes,
			uintptr(unsafe.Pointer(&ov)))
		return r, err
	})
	if err == errorLockViolation || err == errorIOPending {
		return false, nil
	}
	return err == nil, err
}

func releaseLock(f *os.File) {
	_ = lockCall(f, "UnlockFileEx", func(fd uintptr, proc *syscall.LazyProc) (uintptr, error) {
		var ov syscall.Overlapped
		r, _, err := proc.Call(fd, 0, allBytes, allBytes, uintptr(unsafe.Pointer(&ov)))
		return r, err
	})
}

func lockCall(f *os.File, name string, call func(fd uintptr, proc *syscall.LazyProc) (uintptr, error)) error {
	proc := syscall.NewLazyDLL("kernel32.dll").NewProc(name) // a known DLL: never from the working directory
	if err := proc.Find(); err != nil {
		return err
	}
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	err = conn.Control(func(fd uintptr) {
		if r, err := call(fd, proc); r == 0 {
			inner = err
		}
	})
	if err != nil {
		return err
	}
	return inner
}
