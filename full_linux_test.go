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

// smallDisk mounts an empty file system in memory, of a limited size.
func smallDisk(t *testing.T, limit string) (dir string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("needs root, to mount a file system of limited size")
	}
	dir = t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, limit); err != nil {
		t.Skipf("needs the right to mount: %v", err)
	}
	t.Cleanup(func() {
		if err := syscall.Unmount(dir, 0); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// fastDir is a directory for rooms that need no disk: in memory, where there is such a place.
func fastDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "scribe")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	return dir
}

// limits of the size, in KiB, and of the number of files: a few that end in different
// places of a change, or many.
func limits() (all []string) {
	switch {
	case *soak:
		for kib := 160; kib <= 440; kib += 4 {
			all = append(all, fmt.Sprintf("size=%dk", kib))
		}
		for inodes := 30; inodes <= 90; inodes++ {
			all = append(all, fmt.Sprintf("nr_inodes=%d", inodes))
		}
	case testing.Short():
		all = []string{"size=300k", "nr_inodes=45"}
	default:
		all = []string{"size=200k", "size=240k", "size=300k", "size=332k", "nr_inodes=40", "nr_inodes=45", "nr_inodes=53"}
	}
	return all
}

// TestG10_FullDisk fills a small file system, by bytes and by inodes: what does not fit is
// an error that says so, nothing acknowledged is lost, and deleting goes on working.
func TestG10_FullDisk(t *testing.T) {
	ctx := context.Background()
	for _, limit := range limits() {
		t.Run(limit, func(t *testing.T) {
			dir := smallDisk(t, limit)
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
			noPath(t, err, dir)
			for i := range n {
				if got := read(t, r, fmt.Sprintf("m%d.md", i)); got != text(i) {
					t.Errorf("m%d.md was acknowledged, and is %.20q", i, got)
				}
			}
			if left, err := r.Purge(ctx, "m0.md", "to make room"); err != nil || len(left) > 0 {
				t.Errorf("a purge on the full disk: %v, %v", left, err)
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
			wellOnDisk(t, "opened again", again)
		})
	}
}

// fillUp takes every byte, or with a limit of inodes every name, that is left on a disk.
func fillUp(t *testing.T, dir, limit string) {
	t.Helper()
	var err error
	if strings.HasPrefix(limit, "size") {
		var f *os.File
		if f, err = os.Create(filepath.Join(dir, "ballast")); err != nil {
			t.Fatal(err)
		}
		for err == nil {
			_, err = f.Write(make([]byte, 4096))
		}
		f.Close()
	}
	for n := 0; err == nil; n++ {
		err = os.WriteFile(filepath.Join(dir, fmt.Sprintf("ballast%d", n)), nil, 0o600)
	}
	if !rootfs.Full(err) {
		t.Fatal(err)
	}
}

// TestG10_FullDiskIsClearedForReal is TestG10_FullDiskIsCleared on a real file system that
// has no byte left, or no name. One name is held back: a plan that takes two memories away
// needs two, one mark for each.
func TestG10_FullDiskIsClearedForReal(t *testing.T) {
	for _, limit := range []string{"size=512k", "nr_inodes=120"} {
		for _, w := range clearing() {
			if w.name == "remove two" && strings.HasPrefix(limit, "nr") {
				continue
			}
			t.Run(strings.ReplaceAll(w.name+" with "+limit, " ", "-"), func(t *testing.T) {
				dir := smallDisk(t, limit)
				room := filepath.Join(dir, "room")
				r, err := Open(room, nil)
				if err != nil {
					t.Fatal(err)
				}
				w.setup(t, r)
				fillUp(t, dir, limit)
				if _, err := r.Propose(context.Background(), Candidate{Path: "more.md", Text: "more\n"}); !rootfs.Full(err) {
					t.Errorf("a new memory: %v, want that the disk is full", err)
				}
				acked, err := w.run(r)
				if !acked {
					t.Errorf("%s: %v", w.name, err)
				}
				after := stateOf(t, r)
				r.Close()
				again, err := Open(room, nil)
				if err != nil {
					t.Fatal(err)
				}
				defer again.Close()
				if got := stateOf(t, again); got != after {
					t.Errorf("opened again, it holds\n  %s\nwant\n  %s", got, after)
				}
				wellOnDisk(t, "opened again", again, "check.archive") // a copy for people, for which there is no name
				ballast, err := filepath.Glob(filepath.Join(dir, "ballast*"))
				for _, name := range ballast {
					err = errors.Join(err, os.Remove(name))
				}
				if _, cerr := again.Check(context.Background(), true); err != nil || cerr != nil {
					t.Errorf("%v, %v", err, cerr)
				}
				wellOnDisk(t, "with space again, mended", again)
			})
		}
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
