package scribe

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/memoryroom/scribe/internal/rootfs"
)

// TestG10_FullDisk fills a small file system, by bytes and by inodes: what does not fit is
// an error that says so, nothing acknowledged is lost, and deleting goes on working.
func TestG10_FullDisk(t *testing.T) {
	if os.Getuid() != 0 {
		t.Skip("needs root, to mount a file system of limited size")
	}
	ctx := context.Background()
	limits := []string{"size=200k", "size=240k", "size=300k", "size=333k", "nr_inodes=40", "nr_inodes=45", "nr_inodes=53"}
	if testing.Short() {
		limits = []string{"size=300k", "nr_inodes=45"}
	}
	for _, limit := range limits {
		t.Run(limit, func(t *testing.T) {
			dir := t.TempDir()
			if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, limit); err != nil {
				t.Skipf("needs the right to mount: %v", err)
			}
			t.Cleanup(func() {
				if err := syscall.Unmount(dir, 0); err != nil {
					t.Error(err)
				}
			})
			room := filepath.Join(dir, "room")
			r, err := Open(room, nil)
			if err != nil {
				t.Fatal(err)
			}
			text := func(n int) string { return fmt.Sprintf("note %d\n%s\n", n, strings.Repeat("x ", 1000)) }
			n := 0
			for ; n < 500; n++ {
				var vs []Verdict
				if vs, err = r.Propose(ctx, Candidate{Path: fmt.Sprintf("m%d.md", n), Text: text(n)}); err != nil || vs[0].Outcome != Accepted {
					break
				}
			}
			if !rootfs.Full(err) || n < 3 {
				t.Fatalf("after %d memories: %v, want that the disk is full", n, err)
			}
			for i := range n {
				if got := read(t, r, fmt.Sprintf("m%d.md", i)); got != text(i) {
					t.Errorf("m%d.md was acknowledged, and is %.20q", i, got)
				}
			}
			if strings.HasPrefix(limit, "size") {
				if left, err := r.Purge(ctx, "m0.md", "to make room"); err != nil || len(left) > 0 {
					t.Errorf("a purge on the full disk: %v, %v", left, err)
				}
			}
			r.Close()
			again, err := Open(room, nil)
			if err != nil {
				t.Fatal(err)
			}
			defer again.Close()
			for i := 1; i < n; i++ {
				if got := read(t, again, fmt.Sprintf("m%d.md", i)); got != text(i) {
					t.Errorf("opened again, m%d.md is %.20q", i, got)
				}
			}
		})
	}
}

// TestG10_ClockBackwards: no order rests on the clock.
func TestG10_ClockBackwards(t *testing.T) {
	now := time.Date(2026, 9, 21, 8, 12, 0, 0, time.UTC)
	r, mem := newRoom(t, &Options{Now: func() time.Time { now = now.Add(-time.Hour); return now }})
	for i := range 5 {
		c := Candidate{Path: "a.md", Text: "0\n"}
		if i > 0 {
			c = Candidate{Path: "a.md", Old: fmt.Sprintln(i - 1), New: fmt.Sprintln(i)}
		}
		wantAccepted(t, byHand(t, r, c))
	}
	again := reopen(t, mem, nil)
	if got := read(t, again, "a.md"); got != "4\n" {
		t.Errorf("a.md is %q", got)
	}
	sound(t, "after the clock went back", mem, again)
	if _, err := again.Read(context.Background(), "none.md"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}
