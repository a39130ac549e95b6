//go:build linux && !arm

package rootfs

import "syscall"

// writeOut has the system write the bytes of files, and waits for that. It promises
// nothing: the flush that follows does. But the blocks are allocated afterwards, and no
// flush has to wait for bytes, so that all of them find one transaction of the file
// system's journal and share what it costs. See Flags of sync_file_range(2).
func writeOut(files []flushing) {
	const waitBefore, write, waitAfter = 1, 2, 4 // linux/fs.h
	for _, flags := range []int{write, waitBefore | write | waitAfter} {
		for _, s := range files {
			_ = control(s.file, func(fd uintptr) error { return syscall.SyncFileRange(int(fd), 0, 0, flags) })
		}
	}
}
