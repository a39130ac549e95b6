//go:build unix

package scribe

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
	"time"
)

// BenchmarkChange writes one change after the other where a flush costs nothing, if there is
// such a place: what is left is what a change costs beside the disk. The time of the
// processor is told too, which what else runs on the machine does not lengthen as much.
func BenchmarkChange(b *testing.B) {
	for _, entries := range []int{10, 1000} {
		b.Run(fmt.Sprintf("entries=%d", entries), func(b *testing.B) {
			dir, err := os.MkdirTemp("/dev/shm", "scribe")
			if err != nil {
				dir = b.TempDir()
			}
			b.Cleanup(func() { os.RemoveAll(dir) })
			r, err := Open(filepath.Join(dir, "room"), nil)
			if err != nil {
				b.Fatal(err)
			}
			defer r.Close()
			ctx := context.Background()
			for n := range entries {
				wantAccepted(b, byHand(b, r, Candidate{Path: fmt.Sprintf("note-%d.md", n), Text: prose(2000)}))
			}
			b.ReportAllocs()
			base, n, began := "", 0, processorTime(b)
			for b.Loop() {
				n++
				vs, err := r.Propose(ctx, Candidate{Path: "changed.md", Text: fmt.Sprintf("Change %d.\n\n%s", n, prose(2000)), Base: base})
				if err != nil || vs[0].Outcome != Accepted {
					b.Fatal(vs, err)
				}
				base = vs[0].Memory.Hash
			}
			b.ReportMetric(float64((processorTime(b)-began).Microseconds())/float64(b.N), "cpu-us/op")
		})
	}
}

// processorTime is what this process has used of the processors.
func processorTime(b *testing.B) time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		b.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
