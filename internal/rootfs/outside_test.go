package rootfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

func TestResolveOutside(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{"a/b", "c/d"} {
		if err := os.MkdirAll(filepath.Join(base, dir), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for name, to := range map[string]string{"a/out": "../c/d", "a/dangling": "../nothing", "a/loop": "loop", "a/file": "b"} {
		if err := os.Symlink(to, filepath.Join(base, "a", filepath.Base(name))); err != nil {
			t.Skipf("needs symbolic links: %v", err)
		}
	}
	tests := []struct{ path, want, rule string }{
		{"a/b", "a/b", ""},
		{"a/b/", "a/b", ""},
		{"a//./b", "a/b", ""},
		{"a/new/deep.txt", "a/new/deep.txt", ""},
		{"a/out", "c/d", ""},
		{"a/out/new.txt", "c/d/new.txt", ""},
		{"a/b/../b", "a/b", ""},
		{"a/out/../x", "", "path.dot-dot"},      // the kernel: c/x; a cleaning tool: a/x
		{"a/new/../b", "", "path.dot-dot"},      // the kernel: nothing
		{"a/new/../../c/d", "", "path.dot-dot"}, // the same, further up
		{"a/dangling", "", "path.link"},         // may lead into the room tomorrow
		{"a/dangling/x", "", "path.link"},
	}
	for _, tt := range tests {
		got, err := ResolveOutside(base + "/" + tt.path)
		var r *Refusal
		rule := ""
		if errors.As(err, &r) {
			rule = r.Rule
		} else if err != nil {
			t.Errorf("%s: %v", tt.path, err)
		}
		want := ""
		if tt.want != "" {
			want = filepath.Join(base, tt.want)
		}
		if got != want || rule != tt.rule {
			t.Errorf("%s: got %q %q, want %q %q", tt.path, got, rule, want, tt.rule)
		}
	}
	for _, bad := range []string{"", "a\x00b", base + "/a/loop"} {
		if got, err := ResolveOutside(bad); err == nil {
			t.Errorf("%q: got %q, want an error", bad, got)
		} else if strings.Contains(err.Error(), base) {
			t.Errorf("error with an absolute path: %v", err)
		}
	}
	t.Chdir(base)
	if got, err := ResolveOutside("a/out"); err != nil || got != filepath.Join(base, "c/d") {
		t.Errorf("relative: got %q, %v", got, err)
	}
}

func TestOverlaps(t *testing.T) {
	base, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	room := filepath.Join(base, "work", "room")
	d, err := Open(room)
	if err != nil {
		t.Fatal(err)
	}
	defer d.Close()
	for _, made := range []bool{false, true} {
		if made {
			if err := d.Ensure(); err != nil {
				t.Fatal(err)
			}
		}
		for path, want := range map[string]bool{
			"work/room": true, "work/room/a.md": true, "work/room/.scribe/audit.jsonl": true, "work": true, ".": true,
			"work/room2": false, "work/roo": false, "work/other/x": false, "elsewhere": false,
		} {
			if got := d.Overlaps(filepath.Join(base, path)); got != want {
				t.Errorf("made %v, %s: got %v, want %v", made, path, got, want)
			}
		}
	}
	if !d.Overlaps("work/room2") || !New(NewMem()).Overlaps(base) {
		t.Error("in doubt, and no overlap")
	}
}

func TestOpen(t *testing.T) {
	base := t.TempDir()
	file := filepath.Join(base, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(file); !errors.Is(err, syscall.ENOTDIR) || strings.Contains(err.Error(), base) {
		t.Errorf("a file: got %v", err)
	}
	if _, err := Open(""); !errors.Is(err, fs.ErrInvalid) {
		t.Errorf("no name: got %v", err)
	}
	d, err := Open(filepath.Join(base, "room"))
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Ensure(); err != nil {
		t.Fatal(err)
	}
	for _, inside := range []string{"room/sub", "room/sub/deeper", "room/.scribe", "room/.scribe/archive"} {
		_, err := Open(filepath.Join(base, inside))
		var r *Refusal
		if !errors.As(err, &r) || r.Rule != "path.room-inside" {
			t.Errorf("%s: got %v, want path.room-inside", inside, err)
		}
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if _, err := d.LibRead("audit.jsonl", 1); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("closed: got %v", err)
	}
	if err := d.Ensure(); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("closed, ensure: got %v", err)
	}
}
