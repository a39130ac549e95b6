package rootfs

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math/rand/v2"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// step is one call of the table; do returns what the caller sees.
type step struct {
	name string
	do   func(f FS) string
}

func says(parts ...any) string {
	var b strings.Builder
	for _, p := range parts {
		switch p := p.(type) {
		case error:
			b.WriteString(class(p))
		case nil:
			b.WriteString("ok")
		default:
			fmt.Fprint(&b, p)
		}
		b.WriteByte(' ')
	}
	return strings.TrimSpace(b.String())
}

// class names an error by what callers can match, and checks that it shows no path
// but the one that was passed.
func class(err error) string {
	var r *Refusal
	var p *fs.PathError
	if errors.As(err, &r) {
		return r.Rule + "@" + r.Path
	}
	if !errors.As(err, &p) {
		return "untyped: " + err.Error()
	}
	for _, target := range []error{fs.ErrNotExist, fs.ErrExist, fs.ErrInvalid, fs.ErrClosed, errors.ErrUnsupported} {
		if errors.Is(err, target) {
			return target.Error() + "@" + p.Path
		}
	}
	return "other@" + p.Path // "directory not empty" has no portable name
}

func readStep(name string, max int64) step {
	return step{"read " + name, func(f FS) string {
		d, err := f.Read(name, max)
		two := make([]byte, 2)
		n, seen := 0, int64(0)
		err2 := f.View(name, max, func(r io.ReaderAt, size int64) (err error) {
			seen = size
			n, err = r.ReadAt(two, 1)
			return err
		})
		if err == nil && (seen != int64(len(d)) || string(two[:n]) != string(d[min(1, len(d)):min(3, len(d))]) || (n < 2) != errors.Is(err2, io.EOF)) {
			return "a view is something else"
		}
		return says(err, string(d), n, err2)
	}}
}

func lstatStep(name string) step {
	return step{"lstat " + name, func(f FS) string {
		e, err := f.Lstat(name)
		return says(err, e.Name, e.Kind, e.Size, e.Links)
	}}
}

func listStep(name string) step {
	return step{"readdir " + name, func(f FS) string {
		es, err := f.ReadDir(name)
		out := []any{err, f.Describe(name, []string{"none.md", "a.md", "d"}, func(i int, e Entry) {
			if !slices.ContainsFunc(es, func(o Entry) bool {
				return o.Name == e.Name && o.Kind == e.Kind && o.Size == e.Size && o.Links == e.Links
			}) {
				es = append(es, Entry{Name: "described otherwise than listed"})
			}
		})}
		for _, e := range es {
			out = append(out, e.Name, e.Kind, e.Size, e.Links)
		}
		return says(out...)
	}}
}

func namesStep(name string) step {
	return step{"names " + name, func(f FS) string { ns, err := f.Names(name); return says(err, strings.Join(ns, ",")) }}
}

func table() []step {
	read, lstat, list, names := readStep, lstatStep, listStep, namesStep
	op := func(name string, do func(f FS) error) step {
		return step{name, func(f FS) string { return says(do(f)) }}
	}
	write := func(name, data string) step {
		return op("write "+name, func(f FS) error { return f.WriteNew(name, []byte(data)) })
	}
	mkdir := func(name string) step { return op("mkdir "+name, func(f FS) error { return f.Mkdir(name) }) }
	rename := func(a, b string) step {
		return op("rename "+a+" "+b, func(f FS) error { return f.Rename(a, b) })
	}
	renameNew := func(a, b string) step {
		return op("rename-new "+a+" "+b, func(f FS) error { return f.RenameNew(a, b) })
	}
	remove := func(name string) step { return op("remove "+name, func(f FS) error { return f.Remove(name) }) }
	sync := func(name string) step { return op("sync "+name, func(f FS) error { return f.Sync(name) }) }
	lock := op("lock", func(f FS) error {
		unlock, err := f.Lock(context.Background(), "d/lock")
		if err == nil {
			unlock()
		}
		return err
	})
	app := func(name, data string) step {
		return op("append "+name, func(f FS) error { return f.Append(name, []byte(data)) })
	}
	cut := func(name string, n int64) step {
		return op(fmt.Sprint("truncate ", name, n), func(f FS) error { return f.Truncate(name, n) })
	}
	return []step{
		lstat("."), read("a.md", 9), write("a.md", "x"), list("."), sync("."), mkdir("d"), lock,
		mkdir("."), mkdir("."), lstat("."), list("."), sync("."),
		write("a.md", "hello"), write("a.md", "other"), read("a.md", 5), read("a.md", 4), read("a.md", 0), lstat("a.md"),
		write("e.md", ""), read("e.md", 0), lstat("e.md"), remove("e.md"),
		read("none.md", 9), read("d/none.md", 9), lstat("d/none.md"), write("d/none.md", "x"), list("d"), sync("d"), remove("d"),
		mkdir("d"), mkdir("d"), mkdir("d/e"), mkdir("n/e"), list("."), names("."), names("d"), names("none"), names("a.md"), list("d"), list("d/e"), lstat("d"), read("d", 9), sync("d"),
		write("d", "x"), write(".", "x"), read(".", 9), remove("."), list("a.md"), read("a.md/x", 9), write("a.md/x", "x"), mkdir("a.md"), mkdir("a.md/x"),
		app("a.md", " world"), app("none.md", "x"), app("d", "x"), read("a.md", 99), cut("a.md", 5), read("a.md", 99), cut("none.md", 0), cut("d", 0),
		cut("a.md", 7), read("a.md", 99), cut("a.md", 5), cut("a.md", -1),
		write("b.md", "bee"), rename("b.md", "a.md"), read("a.md", 99), lstat("b.md"), rename("b.md", "c.md"), rename("a.md", "d"), rename("a.md", "n/x"),
		rename("a.md", "d/e/a.md"), read("d/e/a.md", 99), list("d/e"), rename("d/e/a.md", "a.md"),
		write("b.md", "bee2"), renameNew("b.md", "a.md"), renameNew("b.md", "d"), renameNew("b.md", "d/b.md"), read("d/b.md", 9), lstat("b.md"), renameNew("b.md", "c.md"),
		rename(".", "x"), rename("a.md", "."), remove("d"), remove("d/e"), remove("none.md"), sync("a.md"), sync("none.md"), sync("d/none"),
		lock, list("d"), app("d/lock", "x"),
		read("", 9), read("/a.md", 9), read("../a.md", 9), read("d/../a.md", 9), read("d//b.md", 9), read("d/", 9), read("a\x00", 9), read("./a.md", 9),
		mkdir("sub"), mkdir("sub/.scribe"), list("sub"), read("sub/x.md", 9), write("sub/x.md", "x"), mkdir("sub/d"), lstat("sub"), rename("a.md", "sub/a.md"), sync("sub"),
		op("writable", func(f FS) error {
			if f.Writable(".") && f.Writable("d") && !f.Writable("none") && !f.Writable("sub") {
				return nil
			}
			return fs.ErrPermission
		}),
		op("identity", func(f FS) error {
			a, err := f.Identity()
			if b, _ := f.Identity(); a != b || a == "" {
				return fs.ErrInvalid
			}
			return err
		}),
		op("close", func(f FS) error { return f.Close() }), op("close", func(f FS) error { return f.Close() }),
		read("a.md", 9), write("z.md", "x"), mkdir("."), list("."), lock,
	}
}

// TestConformance runs one table on the disk, on the disk without the system calls
// that only Linux has, and in memory, and compares what the caller sees.
func TestConformance(t *testing.T) {
	base := t.TempDir()
	want := NewMem()
	systems := map[string]FS{
		"os":       OS(filepath.Join(base, "1", "room")),
		"portable": &disk{dir: filepath.Join(base, "2", "room"), portable: true},
	}
	for i, s := range table() {
		w := s.do(want)
		for name, f := range systems {
			if got := s.do(f); got != w {
				t.Errorf("step %d, %s: %s says %q, Mem %q", i, s.name, name, got, w)
			} else if strings.Contains(got, base) || strings.HasPrefix(got, "untyped") {
				t.Errorf("step %d, %s: %s says %q", i, s.name, name, got)
			}
		}
	}
}

// TestConformanceExchange is apart, since only some systems have it.
func TestConformanceExchange(t *testing.T) {
	f := OS(t.TempDir())
	defer f.Close()
	m := NewMem()
	if err := m.Mkdir("."); err != nil {
		t.Fatal(err)
	}
	for _, s := range []FS{f, m} {
		for _, err := range []error{s.Mkdir("d"), s.WriteNew("a", []byte("1")), s.WriteNew("d/b", []byte("2"))} {
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := f.Exchange("a", "d/b"); errors.Is(err, errors.ErrUnsupported) {
		t.Skip("this system, or the file system of the test's directory, has no exchange")
	} else if err := errors.Join(err, m.Exchange("a", "d/b")); err != nil {
		t.Fatal(err)
	}
	for _, s := range []FS{f, m} {
		a, _ := s.Read("a", 9)
		b, _ := s.Read("d/b", 9)
		if string(a) != "2" || string(b) != "1" {
			t.Errorf("%T: got %q and %q", s, a, b)
		}
		if err := s.Exchange("a", "none"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%T: got %v", s, err)
		}
		if err := s.Exchange("none", "a"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%T: got %v", s, err)
		}
	}
}

// TestCrashModel pins what a power cut keeps.
func TestCrashModel(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	m := NewMem()
	for _, err := range []error{
		m.Mkdir("."), m.WriteNew("a", []byte("old")), m.Sync("."), m.WriteNew("b", []byte("new")), m.Rename("b", "a"), m.Mkdir("d"),
	} {
		if err != nil {
			t.Fatal(err)
		}
	}
	read := func(f FS, name string) string { b, err := f.Read(name, 99); return says(err, string(b)) }
	none, all := m.CrashClone(rng, 0), m.CrashClone(rng, 1)
	if got := read(none, "a") + ", " + says(second(none.Lstat("d"))); got != "ok old, file does not exist@d" {
		t.Errorf("keep nothing: %s", got)
	}
	if got := read(all, "a") + ", " + says(second(all.Lstat("d"))); got != "ok new, ok" {
		t.Errorf("keep everything: %s", got)
	}
	// Half: a rename's two names are kept apart.
	seen := map[string]bool{}
	for range 200 {
		c := m.CrashClone(rng, 0.5)
		seen[read(c, "a")+"|"+read(c, "b")] = true
	}
	for _, want := range []string{"ok old|ok new", "path.hard-link@a|path.hard-link@b", "ok old|file does not exist@b", "ok new|file does not exist@b"} {
		if !seen[want] {
			t.Errorf("never seen: %s", want)
		}
	}
	// A write that was not flushed may be there in part.
	var image *Mem
	m.Hook(func(op, name string) error {
		if op == "sync" && name == "big" {
			image = m.CrashClone(rng, 0.5)
			return errors.New("stop")
		}
		return nil
	})
	torn := 0
	for range 50 {
		_ = m.WriteNew("big", []byte(strings.Repeat("x", 4096)))
		if b, err := image.Read("big", 9999); err == nil && strings.ContainsRune(string(b), 0) {
			torn++
		}
	}
	if torn == 0 {
		t.Error("never torn")
	}
	if _, err := m.Lstat("big"); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the unfinished file stays: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }
