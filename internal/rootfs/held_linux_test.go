package rootfs

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"
)

// lockFor takes the lock of a room and gives it back at the end of the test.
func lockFor(t *testing.T, d *Dir) (unlock func()) {
	t.Helper()
	unlock, err := d.Lock(context.Background())
	must(t, err)
	t.Cleanup(unlock)
	return unlock
}

// TestHeldLibrary replaces a directory of the library by a link while the lock is held: what
// this hold writes goes along with the directory, and the next hold refuses the link.
func TestHeldLibrary(t *testing.T) {
	for _, sub := range []string{"tmp", "versions"} {
		t.Run(sub, func(t *testing.T) {
			room, out := layoutIn(t, t.TempDir(), ".scribe/tmp/x: x", ".scribe/versions/x: x")
			before := tree(t, out)
			d := open(t, room)
			unlock := lockFor(t, d)
			at := filepath.Join(room, ".scribe", sub)
			_, err := d.LibRead(sub+"/x", 10) // the hold knows it now
			must(t, err)
			must(t, os.Rename(at, at+"-moved"))
			must(t, os.Symlink(out, at))
			_, err = d.Stage([]NewFile{{"tmp/n", []byte("new")}}, nil)
			must(t, err)
			must(t, d.Keep("tmp/n", "versions/n"))
			must(t, d.Flush(nil, "versions"))
			if got := tree(t, out); got != before {
				t.Errorf("written through the link: %q", got)
			}
			if data, err := os.ReadFile(filepath.Join(at+"-moved", "n")); string(data) != "new" {
				t.Errorf("not with the directory: %q, %v", data, err)
			}
			unlock()
			if got := ruleOf(d.LibWriteNew(sub+"/m", nil)); got != "path.link" {
				t.Errorf("without the lock: %q, want path.link", got)
			}
			lockFor(t, d)
			if got := ruleOf(d.LibWriteNew(sub+"/m", nil)); got != "path.link" {
				t.Errorf("in the next hold: %q, want path.link", got)
			}
		})
	}
}

// TestHeldMemories replaces a directory of the room while the lock is held: each walk looks
// at it again.
func TestHeldMemories(t *testing.T) {
	room, out := layoutIn(t, t.TempDir(), "d/e/a.md: x", "new/e/a.md: y", ".scribe/tmp/x: x")
	d := open(t, room)
	lockFor(t, d)
	p := parse(t, "d/e/a.md")
	read := func() string {
		t.Helper()
		data, err := d.Read(p, 10)
		if err != nil {
			return ruleOf(err)
		}
		return string(data)
	}
	move := func(from, to string) {
		t.Helper()
		must(t, os.Rename(filepath.Join(room, from), filepath.Join(room, to)))
	}
	if got := read(); got != "x" {
		t.Fatal(got)
	}
	move("d", "old")
	if _, err := d.Read(p, 10); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("a directory that went: %v", err)
	}
	move("new", "d")
	if got := read(); got != "y" {
		t.Errorf("another directory: %q", got)
	}
	move("d/e", "e")
	must(t, os.Symlink(out, filepath.Join(room, "d/e")))
	if got := read(); got != "path.link" {
		t.Errorf("a link: %q", got)
	}
	must(t, os.Remove(filepath.Join(room, "d/e")))
	move("e", "d/e")
	if got := read(); got != "y" {
		t.Errorf("back again: %q", got)
	}
	// Ours too: a directory that was removed and made again is another one.
	must(t, d.LibWriteNew("a/b", []byte("1")))
	must(t, d.LibRemove("a/b"))
	must(t, d.LibRemove("a"))
	must(t, d.LibWriteNew("a/b", []byte("2")))
	if data, err := d.LibRead("a/b", 10); string(data) != "2" {
		t.Errorf("%q, %v", data, err)
	}
}

// TestHeldIsGivenBack holds that no directory stays open after the hold.
func TestHeldIsGivenBack(t *testing.T) {
	room, _ := layoutIn(t, memoryDir(t), "d/e/a.md: x", ".scribe/tmp/x: x")
	d := open(t, room)
	_, err := d.Read(parse(t, "d/e/a.md"), 10) // the top stays open
	must(t, err)
	before := openFiles(t)
	for range 3 {
		unlock := lockFor(t, d)
		for range 2 * heldMost {
			must(t, d.LibWriteNew("tmp/"+filepath.Base(temp())+"/n", nil))
		}
		if got := openFiles(t) - before; got < 10 || got > 2*heldMost+10 {
			t.Errorf("%d more open files than before the hold, which holds %d directories at most", got, heldMost)
		}
		unlock()
		if got := openFiles(t); got != before {
			t.Errorf("%d open files, want %d", got, before)
		}
	}
}

func openFiles(t *testing.T) int {
	t.Helper()
	names, err := os.ReadDir("/proc/self/fd")
	must(t, err)
	return len(names)
}

// TestHeldRaces exchanges directories of the library with links to a place outside, as fast
// as it can, while changes are written under one lock after the other.
func TestHeldRaces(t *testing.T) {
	for _, sub := range []string{"tmp", "versions"} {
		t.Run(sub, func(t *testing.T) {
			room, out := layoutIn(t, memoryDir(t), "a.md: x", ".scribe/tmp/x: x", ".scribe/versions/x: x", "trap => OUT")
			before := tree(t, out)
			d := open(t, room)
			swaps := flip(t, room, ".scribe/"+sub, "trap")
			p := parse(t, "a.md")
			holds, kept, old := 0, 0, []byte("x")
			for end := time.Now().Add(300 * time.Millisecond); time.Now().Before(end); {
				unlock, err := d.Lock(context.Background())
				must(t, err)
				holds++
				_ = d.LibRemove("tmp/n")
				_ = d.LibRemove("tmp/v")
				if _, err := d.Stage([]NewFile{{"tmp/n", []byte("new")}, {"tmp/v", []byte("new")}}, nil); err == nil {
					if d.Keep("tmp/v", "versions/v") == nil {
						kept++
						_ = d.LibRemove("versions/v")
					}
					if d.Replace("tmp/n", p, old) == nil {
						old = []byte("new")
					}
				}
				unlock()
			}
			t.Logf("%d swaps, %d holds, %d versions", swaps.Load(), holds, kept)
			if swaps.Load() == 0 || kept == 0 {
				t.Error("nothing was tried")
			}
			if got := tree(t, out); got != before {
				t.Errorf("escaped: %q", got)
			}
		})
	}
}
