package rootfs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"syscall"
	"unsafe"
)

// Flags of renameat2(2) and statx(2), from linux/fs.h, linux/stat.h and
// linux/fcntl.h. Package syscall lacks them.
const (
	renameNoReplace = 1
	renameExchange  = 2

	atSymlinkNofollow = 0x100
	atNoAutomount     = 0x800
	atEmptyPath       = 0x1000

	statxIno   = 0x100
	statxBtime = 0x800
	statxMntID = 0x1000 // Linux 5.8
)

const (
	openNonblock = syscall.O_NONBLOCK
	openForSync  = os.O_RDONLY
	canSyncDir   = true
)

// statxBuf is struct statx, 256 bytes, of which four fields are read by offset.
type statxBuf [256]byte

func (b *statxBuf) u32(off int) uint32 { return binary.NativeEndian.Uint32(b[off:]) }
func (b *statxBuf) u64(off int) uint64 { return binary.NativeEndian.Uint64(b[off:]) }

func (b *statxBuf) mask() uint32      { return b.u32(0) }
func (b *statxBuf) ino() uint64       { return b.u64(32) }
func (b *statxBuf) btime() uint64     { return b.u64(80) } // seconds
func (b *statxBuf) btimeNs() uint32   { return b.u32(88) }
func (b *statxBuf) mountID() uint64   { return b.u64(144) }
func (b *statxBuf) has(m uint32) bool { return b.mask()&m == m }

// statx asks about name below the directory dir, or about dir itself when name is
// empty. An old kernel or a sandbox may refuse; the callers then fall back.
func statx(dir *os.File, name string, mask uint32, buf *statxBuf) error {
	if sysStatx == 0 {
		return errors.ErrUnsupported
	}
	flags := uintptr(atSymlinkNofollow | atNoAutomount)
	if name == "" {
		flags |= atEmptyPath
	}
	p, err := syscall.BytePtrFromString(name)
	if err != nil {
		return err
	}
	return control(dir, func(fd uintptr) error {
		_, _, errno := syscall.Syscall6(sysStatx, fd, uintptr(unsafe.Pointer(p)), flags,
			uintptr(mask), uintptr(unsafe.Pointer(buf)), 0)
		if errno != 0 {
			return errno
		}
		return nil
	})
}

// control runs fn on a file's descriptor, again when a signal interrupts it.
func control(f *os.File, fn func(fd uintptr) error) error {
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var inner error
	err = conn.Control(func(fd uintptr) {
		for {
			if inner = fn(fd); inner != syscall.EINTR {
				return
			}
		}
	})
	if err != nil {
		return err
	}
	return inner
}

func mountOf(f *os.File) mountID {
	var buf statxBuf
	if statx(f, "", statxMntID, &buf) == nil && buf.has(statxMntID) {
		return mountID{id: buf.mountID(), exact: true}
	}
	return deviceOf(f)
}

// foreign reports whether base lies on another mount than its directory.
func foreign(h *handle, base string, fi fs.FileInfo) bool {
	var buf statxBuf
	if h.mount.exact && statx(h.file, base, statxMntID, &buf) == nil && buf.has(statxMntID) {
		return buf.mountID() != h.mount.id
	}
	return foreignDevice(h, fi)
}

func identity(f *os.File) (string, error) {
	var buf statxBuf
	if statx(f, "", statxIno|statxBtime, &buf) == nil && buf.has(statxIno) {
		id := fmt.Sprintf("%x", buf.ino())
		if buf.has(statxBtime) {
			id += fmt.Sprintf("-%x.%x", buf.btime(), buf.btimeNs())
		}
		return id, nil
	}
	return inode(f)
}

func writable(dir *os.File, _ string) bool {
	return control(dir, func(fd uintptr) error {
		const wx = 2 | 1 // W_OK|X_OK
		return syscall.Faccessat(int(fd), ".", wx, 0)
	}) == nil
}

func renameat2(a *handle, abase string, b *handle, bbase string, flags uintptr) error {
	if sysRenameat2 == 0 {
		return errors.ErrUnsupported
	}
	ap, err := syscall.BytePtrFromString(abase)
	if err != nil {
		return err
	}
	bp, err := syscall.BytePtrFromString(bbase)
	if err != nil {
		return err
	}
	err = control(a.file, func(afd uintptr) error {
		return control(b.file, func(bfd uintptr) error {
			_, _, errno := syscall.Syscall6(sysRenameat2, afd, uintptr(unsafe.Pointer(ap)),
				bfd, uintptr(unsafe.Pointer(bp)), flags, 0)
			if errno != 0 {
				return errno
			}
			return nil
		})
	})
	// EINVAL is how a file system says that it does not know the flag; so do a
	// sandbox (EPERM is left alone: it may be a real refusal) and old kernels.
	if flags != 0 && (err == syscall.EINVAL || err == syscall.ENOSYS || err == syscall.ENOTSUP) {
		return errors.ErrUnsupported
	}
	return err
}

func (d *disk) rename(a *handle, abase string, b *handle, bbase string) error {
	return control(a.file, func(afd uintptr) error {
		return control(b.file, func(bfd uintptr) error {
			return syscall.Renameat(int(afd), abase, int(bfd), bbase)
		})
	})
}

func (d *disk) link(a *handle, abase string, b *handle, bbase string) error {
	ap, err := syscall.BytePtrFromString(abase)
	if err != nil {
		return err
	}
	bp, err := syscall.BytePtrFromString(bbase)
	if err != nil {
		return err
	}
	return control(a.file, func(afd uintptr) error {
		return control(b.file, func(bfd uintptr) error {
			_, _, errno := syscall.Syscall6(syscall.SYS_LINKAT, afd, uintptr(unsafe.Pointer(ap)),
				bfd, uintptr(unsafe.Pointer(bp)), 0, 0)
			if errno != 0 {
				return errno
			}
			return nil
		})
	})
}

func exchange(a *handle, abase string, b *handle, bbase string) error {
	return renameat2(a, abase, b, bbase, renameExchange)
}

func renameNew(a *handle, abase string, b *handle, bbase string) error {
	return renameat2(a, abase, b, bbase, renameNoReplace)
}
