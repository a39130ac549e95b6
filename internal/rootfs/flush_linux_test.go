package rootfs

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"testing"
)

// flushings are files and directories, and in between one that can not be flushed.
func flushings(t *testing.T, n int) []flushing {
	t.Helper()
	dir := t.TempDir()
	var fs []flushing
	for i := range n {
		f, err := os.Create(filepath.Join(dir, fmt.Sprint(i)))
		must(t, err)
		t.Cleanup(func() { f.Close() })
		fs = append(fs, flushing{"sync", fmt.Sprint(i), f, false})
	}
	at, err := os.Open(dir)
	must(t, err)
	t.Cleanup(func() { at.Close() })
	pipe, _, err := os.Pipe()
	must(t, err)
	t.Cleanup(func() { pipe.Close() })
	return append(fs, flushing{"sync", "dir", at, true}, flushing{"sync", "pipe", pipe, false}, flushing{"sync", "as a directory", pipe, true}, flushing{"sync", "last", at, true})
}

// TestFlushAtOnce flushes through the kernel's queue, past it, and while another flush has
// it, and holds that each error is told of its own file.
func TestFlushAtOnce(t *testing.T) {
	fresh := func() *disk { return &disk{queue: flushQueue{asked: queueAfter}} }
	check := func(t *testing.T, d *disk, files []flushing) {
		t.Helper()
		for i, err := range d.flush(files) {
			want := files[i].name == "pipe"
			if got := errors.Is(err, syscall.EINVAL); got != want || !want && err != nil {
				t.Errorf("%s: %v", files[i].name, err)
			}
		}
	}
	t.Run("queue", func(t *testing.T) {
		d := fresh()
		defer d.queue.close()
		for _, n := range []int{0, 1, 5, queueMost + 10} {
			check(t, d, flushings(t, n))
		}
		all := flushings(t, 8)[:9] // without the pipe, which no queue takes
		errs := make([]error, len(all))
		if got := d.queue.flush(all, errs); got != len(all) && !d.queue.none {
			t.Errorf("%d flushes began in the queue, want %d", got, len(all))
		} else if d.queue.none {
			t.Log("this system has no queue")
		}
	})
	t.Run("none", func(t *testing.T) {
		d := fresh()
		d.queue.none = true
		check(t, d, flushings(t, 5))
	})
	t.Run("at the same time", func(t *testing.T) {
		d := fresh()
		defer d.queue.close()
		var wg sync.WaitGroup
		for range 8 {
			files := flushings(t, 3)
			wg.Go(func() {
				for range 20 {
					check(t, d, files)
				}
			})
		}
		wg.Wait()
	})
	t.Run("closed", func(t *testing.T) {
		d := fresh()
		defer d.queue.close()
		files := flushings(t, 3)
		files[1].file.Close()
		errs := d.flush(files)
		if errs[0] != nil || !errors.Is(errs[1], os.ErrClosed) || errs[2] != nil {
			t.Errorf("%v", errs)
		}
	})
	t.Run("after the end", func(t *testing.T) {
		d := fresh()
		check(t, d, flushings(t, 3))
		d.queue.close()
		check(t, d, flushings(t, 3))
	})
}
