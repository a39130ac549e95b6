//go:build !linux

package rootfs

// flushQueue begins no flush: only Linux has a call that begins many.
type flushQueue struct{}

func (*flushQueue) flush([]flushing, []error) (begun int) { return 0 }

func (*flushQueue) close() {}
