package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/memoryroom/scribe"
)

// fileSystems are those whose every image is looked at, with what they promise by default
// and with what weakens it most.
func fileSystems() map[string]fileSystem {
	writeback := ext4
	writeback.options = "data=writeback,nodelalloc"
	return map[string]fileSystem{
		"ext4":           ext4,
		"ext4-writeback": writeback,
		"xfs":            {"xfs", "", 300 << 20, []string{"mkfs.xfs", "-q", "-f"}}, // the least that mkfs.xfs makes
		"btrfs":          {"btrfs", "", 128 << 20, []string{"mkfs.btrfs", "-q", "-f"}},
	}
}

// step is one change; it is done when it gives no error.
type step func(room *scribe.Room) error

// steps are changes of each kind, one after another, from no room at all.
func steps() []step {
	ctx := context.Background()
	all := func(vs []scribe.Verdict, err error) error {
		for _, v := range vs {
			err = errors.Join(err, v.Err())
		}
		return err
	}
	change := func(cs ...scribe.Candidate) step {
		return func(room *scribe.Room) error { return all(room.Propose(ctx, cs...)) }
	}
	return []step{
		change(scribe.Candidate{Path: "first.md", Text: "first fact\n"}),
		change(scribe.Candidate{Path: "below/second.md", Description: "second", Text: strings.Repeat("second fact\n", 900)}),
		change(scribe.Candidate{Path: "first.md", Old: "first", New: "edited"}),
		change(scribe.Candidate{Path: "first.md", To: "deep/down/moved.md"}),
		change(scribe.Candidate{Path: "third.md", Description: "third", Text: "third fact\n", Supersedes: []string{"below/second.md"}}),
		change(scribe.Candidate{Path: "fourth.md", Text: "fourth fact\n"}, scribe.Candidate{Path: "deep/down/moved.md", Old: "edited", New: "planned"}),
		func(room *scribe.Room) error { return all(room.Archive(ctx, "", "", "third.md")) },
		func(room *scribe.Room) error { return all(room.Restore(ctx, "third.md")) },
		change(scribe.Candidate{Path: "deep/down/moved.md", Remove: true}),
		func(room *scribe.Room) error { _, err := room.Purge(ctx, "fourth.md", ""); return err },
		func(room *scribe.Room) error { _, err := room.Prune(ctx, 0, 0, false); return err },
		change(scribe.Candidate{Path: "last.md", Text: "last fact\n"}),
	}
}

// holding is what a room lists, and the texts of its memories by path.
func holding(t *testing.T, room *scribe.Room) (list string, texts map[string]string) {
	t.Helper()
	var lines []string
	texts = map[string]string{}
	for m, err := range room.List(context.Background(), "active", "changed", "unaccepted", "archived", "pending") {
		if err != nil {
			t.Error(err)
			continue
		}
		lines = append(lines, fmt.Sprintf("%s %s %s %.12s", m.Stage, m.Path, m.Trust, m.Hash))
		if m.Stage == "active" {
			texts[m.Path] = m.Text
		}
	}
	slices.Sort(lines)
	return strings.Join(lines, "; "), texts
}

// recordedRun makes the changes on a device that records, and gives what the room held
// after each.
func recordedRun(t *testing.T, f fileSystem) (*recording, []string, []map[string]string) {
	t.Helper()
	d, dir, done, err := f.onDisk(t.TempDir())
	if err != nil {
		t.Skipf("needs root, FUSE, loop devices, %s and a kernel with %s: %v", f.mkfs[0], f.kind, err)
	}
	defer done()
	syscall.Sync() // what mkfs and mount wrote
	d.record()
	at := filepath.Join(dir, "room")
	room, err := scribe.Open(at, nil)
	if err != nil {
		t.Fatal(err)
	}
	list, texts := holding(t, room)
	lists, all := []string{list}, []map[string]string{texts}
	for n, change := range steps() {
		if err := change(room); err != nil {
			t.Fatalf("control: step %d: %v", n, err)
		}
		d.acknowledge(n + 1)
		list, texts := holding(t, room)
		lists, all = append(lists, list), append(all, texts)
	}
	room.Close()
	return d.recorded(), lists, all
}

// TestEveryCut cuts the power of real file systems before every write and every flush that
// their device sees, while a room is changed: the device then holds what was flushed, all of
// the rest, or some sectors of it. The file system's own recovery runs, and then the room's.
// What was acknowledged is there, as plain files before anything of ours looks at it; what
// was under way is done or not done; Check finds nothing.
func TestEveryCut(t *testing.T) {
	for name, f := range fileSystems() {
		t.Run(name, func(t *testing.T) {
			log, lists, texts := recordedRun(t, f)
			all := 0
			log.cuts(func() bool { all++; return false }, nil)
			stride := max(all/12, 1)
			switch {
			case *soak:
				stride = 1
			case testing.Short():
				stride = max(all/4, 1)
			}
			base := t.TempDir()
			if dir, err := os.MkdirTemp("/dev/shm", "scribe"); err == nil {
				base = dir
				defer os.RemoveAll(dir)
			}
			n, looked := 0, 0
			log.cuts(func() bool { n++; return n%stride == 0 && !t.Failed() }, func(what string, blocks map[int64][]byte, acked int) {
				looked++
				image := filepath.Join(base, "image")
				if err := log.save(image, blocks); err != nil {
					t.Fatal(err)
				}
				dir, unmount, err := f.mount(image, base, "mnt")
				if err != nil {
					t.Errorf("disk %d, %s: %v", n, what, err)
					return
				}
				next := min(acked+1, len(lists)-1)
				lookAt(t, fmt.Sprintf("disk %d, %s, %d acknowledged", n, what, acked), filepath.Join(dir, "room"), lists[acked], lists[next], texts[acked], texts[next])
				if err := unmount(); err != nil {
					t.Fatal(err)
				}
			})
			t.Logf("%d of %d disks looked at, of %d events on the device", looked, all, len(log.events))
			if looked < 2 && !t.Failed() {
				t.Errorf("control: %d disks", looked)
			}
		})
	}
}

// lookAt opens the room of one disk, which holds before, or after with one change more.
func lookAt(t *testing.T, at, dir, before, after string, was, will map[string]string) {
	t.Helper()
	for path, text := range was { // a reader who knows nothing of us
		if data, err := os.ReadFile(filepath.Join(dir, path)); will[path] == text && (err != nil || string(data) != text) {
			t.Errorf("%s: %s is %.40q, %v", at, path, data, err)
		}
	}
	room, err := scribe.Open(dir, nil)
	if err != nil {
		t.Errorf("%s: the room does not open: %v", at, err)
		return
	}
	defer room.Close()
	if got, _ := holding(t, room); got != before && got != after {
		t.Errorf("%s: it holds\n  %s\nbefore\n  %s\nafter\n  %s", at, got, before, after)
	}
	found, err := room.Check(context.Background(), false)
	for _, f := range found {
		if f.Outcome != scribe.Accepted {
			t.Errorf("%s: check: %s %s", at, f.Rule, f.Field)
		}
	}
	if err != nil {
		t.Errorf("%s: check: %v", at, err)
	}
}
