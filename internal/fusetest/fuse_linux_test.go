package fusetest

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"strings"
	"testing"

	gofuse "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
	"github.com/memoryroom/scribe/internal/relpath"
	"github.com/memoryroom/scribe/internal/rootfs"
)

// mount returns a directory on a folding mount, and the directory that it shows.
func mount(t *testing.T) (mnt, under string) {
	t.Helper()
	if _, err := os.Stat("/dev/fuse"); err != nil {
		t.Skipf("needs FUSE: %v", err)
	}
	base := t.TempDir()
	mnt, under = filepath.Join(base, "mnt"), filepath.Join(base, "under")
	for _, dir := range []string{mnt, under} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	server, err := gofuse.Mount(mnt, &node{under: under}, &gofuse.Options{
		MountOptions: fuse.MountOptions{DirectMountStrict: true, FsName: "folding", Name: "folding"},
	})
	if err != nil {
		t.Skipf("needs the right to mount: %v", err)
	}
	t.Cleanup(func() {
		if err := server.Unmount(); err != nil {
			t.Error(err)
		}
	})
	return mnt, under
}

// roomFiles lie in the room before anybody writes.
var roomFiles = map[string]string{
	".git/config":           "config",
	"hooks/pre-commit":      "hook",
	"skills/review/step.md": "skill",
	"AGENTS.md":             "agents",
	"caf\u00e9.md":          "coffee",
	"Topics/Alpha.md":       "alpha",
}

// disguises are names that the mount takes for another one.
var disguises = []struct{ name, real string }{
	{".g\u200cit/x.md", ".git/x.md"},
	{".GIT/x.md", ".git/x.md"},
	{".g\u034fi\u00adt/x.md", ".git/x.md"},
	{".\U000e0067git/x.md", ".git/x.md"},
	{"HOOK\u017f/e.md", "hooks/e.md"},
	{"hoo\u212as/e.md", "hooks/e.md"},
	{"h\u2060ooks/e.md", "hooks/e.md"},
	{"\ufe0fskills/review/step.md", "skills/review/step.md"},
	{"S\u212aILLS/review/STEP.md", "skills/review/step.md"},
	{"s\u212aills/review/\ufb06ep.md", "skills/review/step.md"},
	{"AGENT\u017f.md", "AGENTS.md"},
	{"agents.md", "AGENTS.md"},
	{"AGENTS\u200d.md", "AGENTS.md"},
	{"cafe\u0301.md", "caf\u00e9.md"},
	{"CAF\u00c9.md", "caf\u00e9.md"},
	{"topics/alpha.md", "Topics/Alpha.md"},
	{"Topics/alpha.md", "Topics/Alpha.md"},
	{"topics/new.md", "Topics/new.md"},
}

func fill(t *testing.T, dir string) {
	t.Helper()
	for name, text := range roomFiles {
		at := filepath.Join(dir, filepath.FromSlash(name))
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

// files reads everything below dir but the library's own directory.
func files(t *testing.T, dir string) map[string]string {
	t.Helper()
	got := map[string]string{}
	err := filepath.WalkDir(dir, func(at string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == rootfs.Library:
			return fs.SkipDir
		case d.IsDir():
			return nil
		}
		data, err := os.ReadFile(at)
		rel, _ := filepath.Rel(dir, at)
		got[filepath.ToSlash(rel)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestWithoutGate holds that the mount is what it claims to be: os.Root writes
// through every disguise.
func TestWithoutGate(t *testing.T) {
	for _, tt := range disguises {
		mnt, under := mount(t)
		fill(t, under)
		root, err := os.OpenRoot(mnt)
		if err != nil {
			t.Fatal(err)
		}
		if err := root.MkdirAll(path.Dir(tt.name), 0o700); err != nil {
			t.Errorf("%+q: %v", tt.name, err)
		} else if err := root.WriteFile(tt.name, []byte("evil"), 0o600); err != nil {
			t.Errorf("%+q: %v", tt.name, err)
		}
		if got := files(t, under); got[tt.real] != "evil" {
			t.Errorf("%+q did not reach %s: %v", tt.name, tt.real, got)
		}
		root.Close()
	}
}

// write is what the library does with a name that somebody gave.
func write(d *rootfs.Dir, name, text string, old []byte) error {
	p, err := relpath.Parse(name)
	if err != nil {
		return err
	}
	if err := d.CheckWrite(p); err != nil {
		return err
	}
	if err := d.LibWriteNew("tmp/n", []byte(text)); err != nil {
		return err
	}
	defer d.LibRemove("tmp/n")
	return d.Replace("tmp/n", p, old)
}

// TestWithGate writes the same names through the gate: each is refused, and nothing
// that lies there changes.
func TestWithGate(t *testing.T) {
	mnt, under := mount(t)
	fill(t, under)
	before := files(t, under)
	d, err := rootfs.Open(mnt)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := d.Ensure(); err != nil {
		t.Fatal(err)
	}
	for _, tt := range disguises {
		err := write(d, tt.name, "evil", nil)
		var name *relpath.Refusal
		var disk *rootfs.Refusal
		switch {
		case errors.As(err, &name):
			t.Logf("%+q: %s", tt.name, name.Rule)
		case errors.As(err, &disk):
			t.Logf("%+q: %s, from the disk", tt.name, disk.Rule)
		default:
			t.Errorf("%+q: got %v, want a refusal", tt.name, err)
		}
		if p, err := relpath.Parse(tt.name); err == nil {
			if data, err := d.Read(p, 100); err == nil {
				t.Errorf("%+q: read %q", tt.name, data)
			}
		}
	}
	if after := files(t, under); !equal(after, before) {
		t.Errorf("the room changed: %v, was %v", after, before)
	}
}

// TestDiskAlone takes the lexical check away: names that differ from a stored one
// only in case are allowed by it, and the disk side must know.
func TestDiskAlone(t *testing.T) {
	mnt, under := mount(t)
	d, err := rootfs.Open(mnt)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	if err := d.Ensure(); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		name, text, old string
	}{
		{"topics/stra\u00dfe.md", "one", ""},
		{"topics/stra\u00dfe.md", "two", "one"},
		{"\u00e9tude/a.md", "three", ""},
	} {
		var old []byte
		if step.old != "" {
			old = []byte(step.old)
		}
		if err := write(d, step.name, step.text, old); err != nil {
			t.Fatalf("%q: %v", step.name, err)
		}
	}
	before := files(t, under)
	if before["topics/stra\u00dfe.md"] != "two" || before["\u00e9tude/a.md"] != "three" || len(before) != 2 {
		t.Fatalf("got %v", before)
	}
	for _, name := range []string{"topics/STRASSE.md", "topics/Strasse.md", "Topics/stra\u00dfe.md", "\u00c9TUDE/a.md", "\u00c9tude/new.md"} {
		p, err := relpath.Parse(name)
		if err != nil {
			t.Fatal(err)
		}
		err = d.CheckWrite(p)
		if r := (*rootfs.Refusal)(nil); !errors.As(err, &r) || r.Rule != "path.collision" {
			t.Errorf("check %q: got %v, want path.collision", name, err)
		}
		if data, err := d.Read(p, 100); err == nil {
			t.Errorf("read %q: %q", name, data)
		}
		if err := write(d, name, "evil", nil); err == nil {
			t.Errorf("wrote %q", name)
		}
	}
	if after := files(t, under); !equal(after, before) {
		t.Errorf("the room changed: %v, was %v", after, before)
	}
}

func equal(a, b map[string]string) bool {
	if len(a) != len(b) {
		return false
	}
	for k, v := range a {
		if b[k] != v {
			return false
		}
	}
	return true
}

// TestFolded pins what the mount compares.
func TestFolded(t *testing.T) {
	for _, tt := range disguises {
		for i, seg := range strings.Split(tt.name, "/") {
			real := strings.Split(tt.real, "/")[i]
			if folded(seg) != folded(real) {
				t.Errorf("folded(%+q) = %+q, folded(%+q) = %+q", seg, folded(seg), real, folded(real))
			}
		}
	}
	if folded("\u0131") == folded("i") || folded("c") == folded("\u0441") {
		t.Error("it folds more than file systems do")
	}
}
