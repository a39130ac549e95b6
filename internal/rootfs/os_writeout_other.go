//go:build !linux || arm

package rootfs

// writeOut needs a system call that only Linux has, and package syscall not for all of its
// processors.
func writeOut([]flushing) {}
