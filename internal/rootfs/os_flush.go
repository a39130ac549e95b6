package rootfs

import (
	"os"
	"sync"
)

// flushing is one open file, or directory, that is to be flushed, and what its error says.
type flushing struct {
	op, name string
	file     *os.File
	dir      bool
}

func (f flushing) flush() error {
	if f.dir {
		return fault(f.op, f.name, syncDir(f.file))
	}
	return fault(f.op, f.name, f.file.Sync())
}

// flush flushes open files at the same time, and gives the error of each.
//
// What a file system flushes at one moment shares one commit of its journal, and what
// comes a moment later costs one of its own. Goroutines do not begin at one moment: as many
// run as there are processors, and one that waits in a system call gives its own to the
// next after a while only, which may be ten milliseconds. So where the system begins many
// flushes in one call, it is asked for that.
func (d *disk) flush(files []flushing) []error {
	errs := make([]error, len(files))
	begun := 0
	if len(files) > 1 {
		begun = d.queue.flush(files, errs)
	}
	rest := files[begun:]
	if len(rest) == 1 {
		errs[begun] = rest[0].flush()
		return errs
	}
	var wg sync.WaitGroup
	for i, f := range rest {
		wg.Go(func() { errs[begun+i] = f.flush() })
	}
	wg.Wait()
	return errs
}
