package rootfs

import (
	"crypto/sha256"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// childFlips makes the test binary another process, which exchanges two names of a
// room until its standard input ends.
const childFlips = "ROOTFS_TEST_FLIP"

func init() {
	room := os.Getenv(childFlips)
	if room == "" {
		return
	}
	swaps, err := flipUntil(room, os.Stdin)
	fmt.Println(swaps)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// flipUntil exchanges d and trap, until r ends.
func flipUntil(room string, r io.Reader) (swaps int, err error) {
	d := &disk{dir: room}
	h, err := d.open("test", ".")
	if err != nil {
		return 0, err
	}
	defer d.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		_, _ = io.Copy(io.Discard, r)
	}()
	for {
		select {
		case <-done:
			return swaps, nil
		default:
			if err := exchange(h, "d", h, "trap"); err != nil {
				return swaps, err
			}
			swaps++
		}
	}
}

// flipProcess starts that process; stop ends it and returns how often it swapped.
func flipProcess(t *testing.T, room string) (stop func() int) {
	t.Helper()
	exe, err := os.Executable()
	must(t, err)
	cmd := exec.Command(exe)
	cmd.Env = append(os.Environ(), childFlips+"="+room)
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	must(t, err)
	var out strings.Builder
	cmd.Stdout = &out
	must(t, cmd.Start())
	ended := false
	stop = func() int {
		if ended {
			return 0
		}
		ended = true
		in.Close()
		must(t, cmd.Wait())
		n, err := strconv.Atoi(strings.TrimSpace(out.String()))
		must(t, err)
		return n
	}
	t.Cleanup(func() { stop() })
	return stop
}

// An access is one way of doing the three operations; an error is a refusal or a
// fault, which is as good.
type access struct {
	read   func(name string) ([]byte, error)
	write  func(name string) error
	remove func(name string) error
}

// unguarded is what a program does without a gate: it looks (the name is local, and
// with look no directory of it is a link), and then it uses the name.
func unguarded(room string, look bool) access {
	check := func(name string) (string, error) {
		if !filepath.IsLocal(name) {
			return "", os.ErrInvalid
		}
		at := filepath.Join(room, name)
		if dir, err := filepath.EvalSymlinks(filepath.Dir(at)); look && (err != nil || dir != filepath.Dir(at)) {
			return "", os.ErrInvalid
		}
		return at, nil
	}
	return access{
		read: func(name string) ([]byte, error) {
			at, err := check(name)
			if err != nil {
				return nil, err
			}
			f, err := os.OpenFile(at, os.O_RDONLY|syscall.O_NONBLOCK, 0)
			if err != nil {
				return nil, err
			}
			defer f.Close()
			return io.ReadAll(io.LimitReader(f, 100))
		},
		write: func(name string) error {
			at, err := check(name)
			if err != nil {
				return err
			}
			f, err := os.OpenFile(at, os.O_WRONLY|os.O_CREATE|os.O_TRUNC|syscall.O_NONBLOCK, 0o600)
			if err != nil {
				return err
			}
			defer f.Close()
			_, err = f.WriteString("new")
			return err
		},
		remove: func(name string) error {
			at, err := check(name)
			if err != nil {
				return err
			}
			return os.Remove(at)
		},
	}
}

// guarded is the gate.
func guarded(t *testing.T, room string) access {
	d := open(t, room)
	return access{
		read: func(name string) ([]byte, error) { return d.Read(parse(t, name), 100) },
		write: func(name string) error {
			p := parse(t, name)
			old, err := d.Read(p, 100)
			if err != nil {
				old = nil
			}
			_ = d.LibRemove("tmp/n")
			must(t, d.LibWriteNew("tmp/n", []byte("new")))
			return d.Replace("tmp/n", p, old)
		},
		remove: func(name string) error {
			p := parse(t, name)
			old, err := d.Read(p, 100)
			if err != nil {
				old = []byte("secret") // what would be there, were it reached
			}
			_ = d.LibRemove("archive/n.md")
			return d.Retire(p, old, "archive/n.md")
		},
	}
}

// operations names, for one layout, which operations leave the room without a gate:
// r(ead), w(rite), d(elete).
var operations = []struct {
	name   string
	layout []string
	path   string
	leaves string
}{
	{"plain", []string{"a.md: x"}, "a.md", ""},
	{"plain below", []string{"d/a.md: x"}, "d/a.md", ""},
	{"link out", []string{"a.md => OUT/secret.md"}, "a.md", "rw"},
	{"relative link out", []string{"a.md => ../out/secret.md"}, "a.md", "rw"},
	{"link to nothing outside", []string{"a.md => OUT/new.md"}, "a.md", "w"},
	{"two links", []string{"b => OUT", "a.md => b/secret.md"}, "a.md", "rw"},
	{"directory link out", []string{"d => OUT"}, "d/secret.md", "rwd"},
	{"directory link in the middle", []string{"d/e => OUT"}, "d/e/secret.md", "rwd"},
	{"directory link up", []string{"d => .."}, "d/out/secret.md", "rwd"},
	{"hard link out", []string{"a.md == OUT/secret.md"}, "a.md", "rw"},
	{"bound directory", []string{"d << OUT"}, "d/secret.md", "rwd"},
	{"bound file", []string{"a.md << OUT/secret.md"}, "a.md", "rw"},
}

// TestOperations runs the same operations with and without the gate. Without it they
// leave the room as the table says, so the layouts have teeth; with it nothing
// outside is read, and what is outside is byte for byte what it was.
func TestOperations(t *testing.T) {
	for _, tt := range operations {
		for _, gate := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/gate=%v", tt.name, gate), func(t *testing.T) {
				left := ""
				for _, op := range []string{"r", "w", "d"} {
					room, _ := layout(t, tt.layout...)
					before := outside(t, room)
					a := unguarded(room, false)
					if gate {
						a = guarded(t, room)
					}
					data := []byte(nil)
					switch op {
					case "r":
						data, _ = a.read(tt.path)
					case "w":
						_ = a.write(tt.path)
					case "d":
						_ = a.remove(tt.path)
					}
					if string(data) == "secret" || outside(t, room) != before {
						left += op
					}
				}
				want := tt.leaves
				if gate {
					want = ""
				}
				if left != want {
					t.Errorf("operations that left the room: %q, want %q", left, want)
				}
			})
		}
	}
}

// TestRacesTwoProcesses writes, reads and deletes below a directory that another
// process exchanges with a link out. With the gate nothing leaves; a program that
// looks first and then uses the name is caught sooner or later, which shows that the
// race is one.
func TestRacesTwoProcesses(t *testing.T) {
	for _, gate := range []bool{true, false} {
		t.Run(fmt.Sprintf("gate=%v", gate), func(t *testing.T) {
			room, out := layoutIn(t, memoryDir(t), "d/a.md: x", "trap => OUT")
			must(t, os.WriteFile(filepath.Join(out, "a.md"), []byte("secret"), 0o600))
			before := outside(t, room)
			a, limit := unguarded(room, true), 3*time.Second
			if gate {
				a, limit = guarded(t, room), 500*time.Millisecond
			}
			stop := flipProcess(t, room)
			tries, done, escapes := 0, 0, 0
			for end := time.Now().Add(limit); time.Now().Before(end) && (gate || escapes == 0); tries++ {
				data, err := a.read("d/a.md")
				if string(data) == "secret" {
					escapes++
				}
				if err == nil {
					done++
				}
				if a.write("d/new.md") == nil {
					done++
					_ = a.remove("d/new.md")
				}
				if _, err := os.Lstat(filepath.Join(out, "new.md")); err == nil {
					escapes++
				}
			}
			swaps := stop()
			t.Logf("%d swaps, %d tries, %d operations done, %d escapes", swaps, tries, done, escapes)
			switch {
			case swaps == 0 || done == 0:
				t.Error("nothing was tried")
			case gate && (escapes > 0 || outside(t, room) != before):
				t.Errorf("%d escapes", escapes)
			case !gate && escapes == 0:
				t.Skip("the unguarded program won every race on this machine")
			}
		})
	}
}

// outside digests everything beside the room: names, kinds, modes, times, links and
// bytes.
func outside(t *testing.T, room string) string {
	t.Helper()
	h := sha256.New()
	must(t, filepath.WalkDir(filepath.Dir(room), func(path string, e os.DirEntry, err error) error {
		if err != nil || path == room {
			return or(err, filepath.SkipDir)
		}
		fi, err := e.Info()
		if err != nil {
			return err
		}
		fmt.Fprintf(h, "%q %v %d %v\n", path, fi.Mode(), fi.Size(), fi.ModTime().UnixNano())
		switch {
		case fi.Mode().IsRegular():
			data, err := os.ReadFile(path)
			fmt.Fprintf(h, "%q\n", data)
			return err
		case fi.Mode()&os.ModeSymlink != 0:
			to, err := os.Readlink(path)
			fmt.Fprintf(h, "%q\n", to)
			return err
		}
		return nil
	}))
	return string(h.Sum(nil))
}

func or(err, other error) error {
	if err != nil {
		return err
	}
	return other
}

// TestOutsideNotices holds that outside, which other tests lean on, sees a change.
func TestOutsideNotices(t *testing.T) {
	room, out := layout(t, "a.md: x")
	seen := []string{outside(t, room)}
	for _, change := range []func() error{
		func() error { return os.WriteFile(filepath.Join(out, "secret.md"), []byte("secreT"), 0o644) },
		func() error { return os.WriteFile(filepath.Join(filepath.Dir(room), "x"), nil, 0o600) },
		func() error { return os.Chmod(filepath.Join(out, "secret.md"), 0o600) },
		func() error { return os.Symlink("x", filepath.Join(out, "l")) },
		func() error { return os.Remove(filepath.Join(out, "secret.md")) },
	} {
		must(t, change())
		now := outside(t, room)
		if slices.Contains(seen, now) {
			t.Error("a change went unnoticed")
		}
		seen = append(seen, now)
	}
	must(t, os.WriteFile(filepath.Join(room, "b.md"), nil, 0o600))
	if outside(t, room) != seen[len(seen)-1] {
		t.Error("a change inside the room counts")
	}
}
