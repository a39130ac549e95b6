package rootfs

import (
	"os"
	"sync"
	"syscall"
	"unsafe"
)

// flushQueue is a queue of the kernel in which one call begins many flushes: see io_submit(2).
// Its zero value is ready. Where a sandbox, a limit or an old kernel refuses a queue, no
// flush begins here.
type flushQueue struct {
	mu    sync.Mutex // guards what follows, and is held while flushes run
	asked int        // how often there was something for it
	queue uintptr    // aio_context_t; 0: none
	none  bool       // there will be none
}

const (
	// queueMost is how many flushes a queue takes at one time: more than a round has.
	queueMost = 128
	// queueAfter is how often flushes are asked for before a queue is made, twice by a
	// change. To give it back takes the kernel some 30 ms, which a few changes save; a room
	// that is opened for one of them does without.
	queueAfter = 4
)

// iocb and ioEvent are the structs of linux/aio_abi.h. Two fields of 32 bits that swap
// places with the byte order are one here, which is always zero.
type iocb struct {
	data uint64
	_    uint64
	op   uint16
	_    int16
	file uint32
	_    [5]uint64
}

type ioEvent struct {
	data, _ uint64
	res     int64
	_       int64
}

// iocbFsync is IOCB_CMD_FSYNC. The kernel knows it since version 4.18.
const iocbFsync = 2

// flush flushes the first files of a list, and notes their errors. It returns how many these
// are; the others did not begin.
func (q *flushQueue) flush(files []flushing, errs []error) (begun int) {
	if !q.mu.TryLock() {
		return 0 // somebody waits for the queue's events
	}
	defer q.mu.Unlock()
	q.asked++
	if q.queue == 0 && !q.none && q.asked > queueAfter {
		_, _, errno := syscall.Syscall(syscall.SYS_IO_SETUP, queueMost, uintptr(unsafe.Pointer(&q.queue)), 0)
		q.none = errno != 0
	}
	if q.none || q.queue == 0 {
		return 0
	}
	open := make([]*os.File, min(len(files), queueMost))
	for i := range open {
		open[i] = files[i].file
	}
	fds := make([]uintptr, 0, len(open))
	if err := descriptors(open, fds, func(fds []uintptr) { begun = q.submit(fds) }); err != nil {
		return 0
	}
	for i, err := range q.wait(begun) {
		if files[i].dir {
			err = unlessUnable(err)
		}
		errs[i] = fault(files[i].op, files[i].name, err)
	}
	return begun
}

// descriptors runs fn on the descriptors of open files, appended to fds.
func descriptors(open []*os.File, fds []uintptr, fn func(fds []uintptr)) error {
	if len(open) == 0 {
		fn(fds)
		return nil
	}
	return control(open[0], func(fd uintptr) error { return descriptors(open[1:], append(fds, fd), fn) })
}

// submit begins a flush of each descriptor, and returns how many it began. The kernel has
// its own copy of what is submitted, and its own hold of the open files.
func (q *flushQueue) submit(fds []uintptr) int {
	blocks := make([]iocb, len(fds))
	list := make([]*iocb, len(fds))
	for i, fd := range fds {
		blocks[i] = iocb{data: uint64(i), op: iocbFsync, file: uint32(fd)}
		list[i] = &blocks[i]
	}
	for begun := 0; ; {
		n, _, errno := syscall.Syscall(syscall.SYS_IO_SUBMIT, q.queue, uintptr(len(list)-begun), uintptr(unsafe.Pointer(&list[begun])))
		switch {
		case errno == syscall.EINTR:
			continue
		case errno != 0:
			// What began before goes on. A kernel that takes nothing will not the next time.
			q.none = begun == 0 && errno != syscall.EAGAIN
			return begun
		}
		if begun += int(n); begun == len(list) || n == 0 {
			return begun
		}
	}
}

// wait waits for all flushes that were begun, and gives the error of each.
func (q *flushQueue) wait(begun int) []error {
	errs := make([]error, begun)
	if begun == 0 {
		return errs
	}
	events := make([]ioEvent, begun)
	for left := begun; left > 0; {
		n, _, errno := syscall.Syscall6(syscall.SYS_IO_GETEVENTS, q.queue, uintptr(left), uintptr(left), uintptr(unsafe.Pointer(&events[0])), 0, 0)
		if errno == syscall.EINTR {
			continue
		}
		if errno != 0 {
			// Nothing explains it, and nothing is known of those that are left: each failed.
			q.none = true
			for i := range errs {
				errs[i] = errno
			}
			return errs
		}
		for _, e := range events[:n] {
			if errs[e.data] = nil; e.res < 0 {
				errs[e.data] = syscall.Errno(-e.res)
			}
		}
		left -= int(n)
	}
	return errs
}

// close gives the queue back. No flush runs.
func (q *flushQueue) close() {
	q.mu.Lock()
	defer q.mu.Unlock()
	if q.queue != 0 {
		_, _, _ = syscall.Syscall(syscall.SYS_IO_DESTROY, q.queue, 0, 0)
	}
	q.queue, q.none = 0, true
}
