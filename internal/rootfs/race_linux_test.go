package rootfs

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// flip exchanges two names of a room as fast as it can, until the end of the test.
func flip(t *testing.T, room, a, b string) *atomic.Int64 {
	t.Helper()
	root, err := os.OpenRoot(room)
	must(t, err)
	d := &disk{dir: room}
	h, err := d.newHandle(root, ".")
	must(t, err)
	var swaps atomic.Int64
	stop, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for {
			select {
			case <-stop:
				return
			default:
				if exchange(h, a, h, b) == nil {
					swaps.Add(1)
				}
			}
		}
	}()
	t.Cleanup(func() { close(stop); <-done; h.close() })
	return &swaps
}

// memoryDir is a directory where a flush costs nothing, so that a second holds
// thousands of tries.
func memoryDir(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("/dev/shm", "rootfs")
	if err != nil {
		return t.TempDir()
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	return dir
}

// TestRaces writes and reads below a directory that another program exchanges with
// a trap, and holds that nothing outside is reached and nothing blocks.
func TestRaces(t *testing.T) {
	for _, trap := range []string{"trap => OUT", "trap => .scribe/versions", "trap |"} {
		t.Run(trap, func(t *testing.T) {
			room, out := layoutIn(t, memoryDir(t), "d/a.md: x", ".scribe/versions/a.md: secret", trap)
			must(t, os.WriteFile(filepath.Join(out, "a.md"), []byte("secret"), 0o600))
			d := open(t, room)
			swaps := flip(t, room, "d", "trap")
			p, q := parse(t, "d/a.md"), parse(t, "d/new.md")
			reads, writes := 0, 0
			for end := time.Now().Add(150 * time.Millisecond); time.Now().Before(end); {
				data, err := d.Read(p, 100)
				if bytes.Equal(data, []byte("secret")) {
					t.Fatal("read through the trap")
				}
				if err == nil {
					reads++
				}
				_ = d.LibRemove("tmp/n")
				must(t, d.LibWriteNew("tmp/n", []byte("new")))
				if d.Replace("tmp/n", q, nil) == nil {
					writes++
					_ = d.Retire(q, []byte("new"), "archive/n.md")
					_ = d.LibRemove("archive/n.md")
				}
			}
			t.Logf("%d swaps, %d reads, %d writes", swaps.Load(), reads, writes)
			if swaps.Load() == 0 || reads == 0 {
				t.Error("nothing was tried")
			}
			if got := tree(t, out); got != "a.md: secret\nsecret.md: secret\n" {
				t.Errorf("escaped: %q", got)
			}
			if names, _ := d.LibList("versions"); len(names) != 1 {
				t.Errorf("written into the library: %q", names)
			}
		})
	}
}

// TestLeafRaces does the same with the file itself.
func TestLeafRaces(t *testing.T) {
	for _, trap := range []string{"trap => OUT/secret.md", "trap => .scribe/versions/s.md", "trap |", "trap == OUT/secret.md"} {
		t.Run(trap, func(t *testing.T) {
			room, out := layoutIn(t, memoryDir(t), "a.md: x", ".scribe/versions/s.md: secret", trap)
			d := open(t, room)
			swaps := flip(t, room, "a.md", "trap")
			p := parse(t, "a.md")
			old, reads, writes := []byte("x"), 0, 0
			for end := time.Now().Add(150 * time.Millisecond); time.Now().Before(end); {
				data, err := d.Read(p, 100)
				if bytes.Contains(data, []byte("secret")) {
					t.Fatal("read through the trap")
				}
				if err == nil {
					reads++
				}
				_ = d.LibRemove("tmp/n")
				must(t, d.LibWriteNew("tmp/n", []byte("xx")))
				if err := d.Replace("tmp/n", p, old); err == nil {
					writes++
					old = []byte("xx")
				}
			}
			t.Logf("%d swaps, %d reads, %d writes", swaps.Load(), reads, writes)
			if swaps.Load() == 0 || reads == 0 {
				t.Error("nothing was tried")
			}
			if got := tree(t, out); got != "secret.md: secret\n" {
				t.Errorf("escaped: %q", got)
			}
		})
	}
}

// TestEditor saves one memory from another program, by rename, as fast as it can,
// while scribe updates it, and holds that no save is lost: each is at the memory,
// was seen by an update that then replaced it, or was parked.
func TestEditor(t *testing.T) {
	room, _ := layoutIn(t, memoryDir(t), "a.md: 0")
	d := open(t, room)
	p := parse(t, "a.md")
	var saved atomic.Int64
	stop, done := make(chan struct{}), make(chan struct{})
	lost := map[string]bool{} // saves that the editor itself replaced
	go func() {
		defer close(done)
		for i := 1; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			text := "editor " + string(rune('0'+i%10)) + time.Duration(i).String()
			tmp := filepath.Join(room, ".a.swp")
			if os.WriteFile(tmp, []byte(text), 0o600) != nil || editorSave(room, text, lost) != nil {
				return
			}
			saved.Add(1)
			time.Sleep(time.Duration(i%7) * 100 * time.Microsecond)
		}
	}()
	seen := map[string]bool{}
	wins, conflicts := 0, 0
	for end := time.Now().Add(700 * time.Millisecond); time.Now().Before(end); {
		old, err := d.Read(p, 100)
		if errors.Is(err, ErrChanged) {
			continue
		}
		must(t, err)
		must(t, d.LibWriteNew("tmp/n", []byte("scribe")))
		err = d.Replace("tmp/n", p, old)
		var c *Changed
		switch {
		case err == nil:
			seen[string(old)] = true // the caller keeps it
			wins++
		case errors.As(err, &c):
			conflicts++
			if c.Parked != "" {
				data, err := d.LibRead(c.Parked, 100)
				must(t, err)
				seen[string(data)] = true
			}
		default:
			t.Fatal(err)
		}
		_ = d.LibRemove("tmp/n")
	}
	close(stop)
	<-done
	last, err := d.Read(p, 100)
	must(t, err)
	seen[string(last)] = true
	t.Logf("%d saves, %d updates, %d conflicts, %d parked", saved.Load(), wins, conflicts, len(seen))
	if wins == 0 || saved.Load() == 0 {
		t.Error("nothing was tried")
	}
	missing := 0
	for text, kept := range lost {
		if !kept && !seen[text] {
			missing++
		}
	}
	if missing > 0 {
		t.Errorf("%d saves lost", missing)
	}
}

// editorSave exchanges the editor's new file in, so that the test knows which text
// it displaced itself, and notes that one as kept.
func editorSave(room, text string, fate map[string]bool) error {
	d := &disk{dir: room}
	h, err := d.open("test", ".")
	if err != nil {
		return err
	}
	defer d.Close()
	fate[text] = false
	for {
		err = exchange(h, ".a.swp", h, "a.md")
		if err == syscall.ENOENT {
			continue
		}
		if err != nil {
			return err
		}
		out, err := os.ReadFile(filepath.Join(room, ".a.swp"))
		if err == nil {
			if _, editors := fate[string(out)]; editors {
				fate[string(out)] = true // the editor replaced its own save
			}
		}
		return err
	}
}
