package rootfs

import (
	"encoding/binary"
	"syscall"
	"time"
	"unsafe"
)

// Fields of a statx(2) answer that describe a file, from linux/stat.h.
const statxBasic = 0x7ff

func (b *statxBuf) nlink() uint64 { return uint64(b.u32(16)) }
func (b *statxBuf) kind() uint16  { return binary.NativeEndian.Uint16(b[28:]) & syscall.S_IFMT }
func (b *statxBuf) size() int64   { return int64(b.u64(40)) }
func (b *statxBuf) ctime() int64  { return b.nano(96) }
func (b *statxBuf) mtime() int64  { return b.nano(112) }

// nano is the time at off, in nanoseconds since 1970.
func (b *statxBuf) nano(off int) int64 { return int64(b.u64(off))*1e9 + int64(b.u32(off+8)) }

// each describes names of a directory, with one system call for each: the same answer says
// what it is, how many names it has and on which mount it lies. ok is false where the
// system does not say all that; then fn was not called.
func (h *handle) each(names []string, fn func(i int, e Entry)) (ok bool, err error) {
	if sysStatx == 0 || !h.mount.exact {
		return false, nil
	}
	now := time.Now() // before the first look: what is young then has to be read
	var buf statxBuf
	name, next, said := make([]byte, 0, 256), 0, false
	err = control(h.file, func(fd uintptr) error {
		for ; next < len(names); next++ {
			base := names[next]
			name = append(append(name[:0], base...), 0)
			_, _, errno := syscall.Syscall6(sysStatx, fd, uintptr(unsafe.Pointer(&name[0])),
				atSymlinkNofollow|atNoAutomount, statxBasic|statxMntID, uintptr(unsafe.Pointer(&buf)), 0)
			switch {
			case errno == syscall.ENOENT:
				continue // gone since
			case errno != 0:
				return errno
			case !buf.has(statxBasic | statxMntID):
				return syscall.ENOTSUP
			}
			e := h.described(base, &buf, now)
			if e.Links == 2 { // one of them may be in flight
				fi, err := h.root.Lstat(base)
				if err != nil {
					continue
				}
				e = h.entry(base, fi)
			}
			said = true
			fn(next, e)
		}
		return nil
	})
	if !said && (err == syscall.ENOTSUP || err == syscall.ENOSYS || err == syscall.EPERM) {
		return false, nil // a file system, an old kernel or a sandbox says no
	}
	return true, err
}

// described is [handle.entry] of what statx found.
func (h *handle) described(base string, b *statxBuf, now time.Time) Entry {
	e := Entry{Name: base, Modified: time.Unix(0, b.mtime()).UTC()}
	switch b.kind() {
	case syscall.S_IFLNK:
		e.Kind = Link
	case syscall.S_IFDIR:
		e.Kind = Directory
	case syscall.S_IFREG:
		e.Kind, e.Size, e.Links = File, b.size(), b.nlink()
		e.Stamp = Stamp{Size: e.Size, Modified: b.mtime(), Changed: b.ctime(), Inode: b.ino()}.settled(now)
	default:
		e.Kind = Special
	}
	if (e.Kind == File || e.Kind == Directory) && b.mountID() != h.mount.id {
		e.Kind = Mount
	}
	return e
}
