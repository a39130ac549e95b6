package rootfs

import (
	"errors"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/memoryroom/scribe/internal/relpath"
)

// A layout is a list of what to make below the room, one string each; OUT stands
// for a directory beside it that holds secret.md.
//
//	dir/               a directory
//	name: text         a file
//	name => target     a symbolic link
//	name == target     a hard link
//	name |             a FIFO
//	name %             a socket
//	name !1:5          a character device
//	name << target     a bind mount
func layout(t *testing.T, items ...string) (room, out string) {
	t.Helper()
	return layoutIn(t, t.TempDir(), items...)
}

func layoutIn(t *testing.T, base string, items ...string) (room, out string) {
	t.Helper()
	room, out = filepath.Join(base, "room"), filepath.Join(base, "out")
	for _, dir := range []string{room, out} {
		must(t, os.Mkdir(dir, 0o755))
	}
	must(t, os.WriteFile(filepath.Join(out, "secret.md"), []byte("secret"), 0o644))
	for _, item := range items {
		put(t, room, out, item)
	}
	return room, out
}

func put(t *testing.T, room, out, item string) {
	t.Helper()
	for _, sep := range []string{": ", " => ", " == ", " << ", " !"} {
		name, arg, ok := strings.Cut(item, sep)
		if !ok {
			continue
		}
		name, arg = filepath.Join(room, name), strings.ReplaceAll(arg, "OUT", out)
		must(t, os.MkdirAll(filepath.Dir(name), 0o755))
		if sep != " => " && sep != ": " && !filepath.IsAbs(arg) {
			arg = filepath.Join(room, arg)
		}
		switch sep {
		case ": ":
			must(t, os.WriteFile(name, []byte(arg), 0o644))
		case " => ":
			must(t, os.Symlink(arg, name))
		case " == ":
			must(t, os.Link(arg, name))
		case " << ":
			bind(t, arg, name)
		case " !":
			if err := syscall.Mknod(name, syscall.S_IFCHR|0o666, 1<<8|5); err != nil {
				t.Skipf("needs the right to make device nodes: %v", err)
			}
		}
		return
	}
	name := filepath.Join(room, strings.TrimRight(item, " |%/"))
	must(t, os.MkdirAll(filepath.Dir(name), 0o755))
	switch {
	case strings.HasSuffix(item, "/"):
		must(t, os.MkdirAll(name, 0o755))
	case strings.HasSuffix(item, "|"):
		must(t, syscall.Mkfifo(name, 0o666))
	case strings.HasSuffix(item, "%"):
		l, err := net.Listen("unix", name)
		must(t, err)
		t.Cleanup(func() { l.Close() })
	default:
		t.Fatalf("layout item %q", item)
	}
}

func bind(t *testing.T, from, to string) {
	t.Helper()
	fi, err := os.Stat(from)
	must(t, err)
	if fi.IsDir() {
		must(t, os.MkdirAll(to, 0o755))
	} else {
		must(t, os.WriteFile(to, nil, 0o644))
	}
	if err := syscall.Mount(from, to, "", syscall.MS_BIND, ""); err != nil {
		t.Skipf("needs the right to mount: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(to, syscall.MNT_DETACH) })
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// open opens a room and makes its library.
func open(t *testing.T, room string) *Dir {
	t.Helper()
	d, err := Open(room)
	must(t, err)
	t.Cleanup(func() { d.Close() })
	must(t, d.Ensure())
	return d
}

func parse(t *testing.T, name string) relpath.Path {
	t.Helper()
	p, err := relpath.Parse(name)
	must(t, err)
	return p
}

// ruleOf names how an error refuses.
func ruleOf(err error) string {
	var r *Refusal
	switch {
	case err == nil:
		return ""
	case errors.As(err, &r):
		return r.Rule
	case errors.Is(err, ErrUnsynced):
		return "unsynced"
	case errors.Is(err, ErrChanged):
		return "changed"
	case errors.Is(err, os.ErrNotExist):
		return "absent"
	case errors.Is(err, os.ErrExist):
		return "exists"
	default:
		return err.Error()
	}
}

type layoutCase struct {
	name        string
	layout      []string
	path        string
	read, write string // rules; "" is fine
}

func layoutCases() []layoutCase {
	return []layoutCase{
		{"absent", nil, "a.md", "absent", ""},
		{"absent directory", nil, "d/a.md", "absent", ""},
		{"plain", []string{"a.md: x"}, "a.md", "", ""},
		{"plain below", []string{"d/e/a.md: x"}, "d/e/a.md", "", ""},
		{"link out", []string{"a.md => OUT/secret.md"}, "a.md", "path.link", "path.link"},
		{"link out, relative", []string{"a.md => ../out/secret.md"}, "a.md", "path.link", "path.link"},
		{"link to nothing", []string{"a.md => nothing"}, "a.md", "path.link", "path.link"},
		{"link to itself", []string{"a.md => a.md"}, "a.md", "path.link", "path.link"},
		{"link inside", []string{"b.md: x", "a.md => b.md"}, "a.md", "path.link", "path.link"},
		{"directory link out", []string{"d => OUT"}, "d/secret.md", "path.link", "path.link"},
		{"directory link inside", []string{"e/a.md: x", "d => e"}, "d/a.md", "path.link", "path.link"},
		{"directory link to the room", []string{"a.md: x", "d => ."}, "d/a.md", "path.link", "path.link"},
		{"link in the middle", []string{"d/", "d/e => OUT"}, "d/e/secret.md", "path.link", "path.link"},
		{"link to the library", []string{".scribe/archive/a.md: x", "d => .scribe/archive"}, "d/a.md", "path.link", "path.link"},
		{"hard link out", []string{"a.md == OUT/secret.md"}, "a.md", "path.hard-link", "path.hard-link"},
		{"hard link inside", []string{"b.md: x", "a.md == b.md"}, "a.md", "path.hard-link", "path.hard-link"},
		{"second name in flight", []string{"a.md: x", ".scribe/tmp/n == a.md"}, "a.md", "", ""},
		{"two more in flight", []string{"a.md: x", ".scribe/tmp/n == a.md", ".scribe/tmp/o == a.md"}, "a.md", "", ""},
		{"third name", []string{"a.md: x", "b.md == a.md", ".scribe/tmp/n == a.md"}, "a.md", "path.hard-link", "path.hard-link"},
		{"fifo", []string{"a.md |"}, "a.md", "path.not-regular", "path.not-regular"},
		{"fifo as directory", []string{"d |"}, "d/a.md", "path.not-a-directory", "path.not-a-directory"},
		{"socket", []string{"a.md %"}, "a.md", "path.not-regular", "path.not-regular"},
		{"device", []string{"a.md !1:5"}, "a.md", "path.not-regular", "path.not-regular"},
		{"directory", []string{"a.md/"}, "a.md", "path.is-a-directory", "path.is-a-directory"},
		{"file as directory", []string{"d: x"}, "d/a.md", "path.not-a-directory", "path.not-a-directory"},
		{"bound directory", []string{"d << OUT"}, "d/secret.md", "path.mount", "path.mount"},
		{"bound directory inside", []string{"e/a.md: x", "d << e"}, "d/a.md", "path.mount", "path.mount"},
		{"bound file", []string{"a.md << OUT/secret.md"}, "a.md", "path.mount", "path.mount"},
		{"bound proc", []string{"d << /proc/self"}, "d/a.md", "path.mount", "path.mount"},
		{"room inside", []string{"d/.scribe/", "d/a.md: x"}, "d/a.md", "path.room-inside", "path.room-inside"},
		{"room inside, deeper", []string{"d/.scribe/", "d/e/a.md: x"}, "d/e/a.md", "path.room-inside", "path.room-inside"},
		{"room inside, by a link", []string{"d/.scribe => OUT", "d/a.md: x"}, "d/a.md", "path.room-inside", "path.room-inside"},
		{"twin by case", []string{"A.md: x"}, "a.md", "absent", "path.collision"},
		{"twin of an existing", []string{"A.md: x", "a.md: x"}, "a.md", "", "path.collision"},
		{"twin directory", []string{"Topics/"}, "topics/a.md", "absent", "path.collision"},
		{"twin by normal form", []string{"cafe\u0301.md: x"}, "caf\u00e9.md", "absent", "path.collision"},
		{"twin by compatibility", []string{"\ufb01ne.md: x"}, "fine.md", "absent", "path.collision"},
		{"twin by an ignorable", []string{"no\u200btes.md: x"}, "notes.md", "absent", "path.collision"},
		{"twin by look", []string{"n\u043etes.md: x"}, "notes.md", "absent", "path.collision"},
		{"twin link", []string{"A.md => OUT/secret.md"}, "a.md", "absent", "path.collision"},
		{"twin by a trailing dot", []string{"notes.md.: x"}, "notes.md", "absent", "path.collision"},
		{"no twin", []string{"b.md: x", "c/a.md: x", ".a.md: x"}, "a.md", "absent", ""},
	}
}

func TestLayouts(t *testing.T) {
	for _, tt := range layoutCases() {
		t.Run(tt.name, func(t *testing.T) {
			room, out := layout(t, tt.layout...)
			d := open(t, room)
			p := parse(t, tt.path)
			before := tree(t, room)
			data, err := d.Read(p, 1000)
			if got := ruleOf(err); got != tt.read {
				t.Errorf("read: got %q, want %q", got, tt.read)
			}
			if strings.Contains(string(data), "secret") {
				t.Error("read: the secret came out")
			}
			if got := ruleOf(d.CheckWrite(p)); got != tt.write {
				t.Errorf("check: got %q, want %q", got, tt.write)
			}
			var old []byte
			if tt.read == "" {
				old = []byte("x")
			}
			must(t, d.LibWriteNew("tmp/new", []byte("new")))
			err = d.Replace("tmp/new", p, old)
			if got := ruleOf(err); got != tt.write {
				t.Errorf("replace: got %q, want %q", got, tt.write)
			}
			if err != nil {
				checkText(t, err, room)
				_ = d.LibRemove("tmp/new")
				if after := tree(t, room); after != before {
					t.Errorf("refused, and the room changed:\n%s\nwas:\n%s", after, before)
				}
			}
			if got := tree(t, out); got != "secret.md: secret\n" {
				t.Errorf("outside: %q", got)
			}
		})
	}
}

// checkText holds that no error names a place outside.
func checkText(t *testing.T, err error, room string) {
	t.Helper()
	if text := err.Error(); strings.Contains(text, filepath.Dir(room)) {
		t.Errorf("error with an absolute path: %s", text)
	}
}

// tree lists a directory as text, without following and without .scribe.
func tree(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	must(t, filepath.WalkDir(dir, func(path string, e os.DirEntry, err error) error {
		rel, _ := filepath.Rel(dir, path)
		switch {
		case err != nil:
			return err
		case rel == ".":
		case rel == Library:
			return filepath.SkipDir
		case e.Type() == os.ModeSymlink:
			to, err := os.Readlink(path)
			b.WriteString(rel + " => " + to + "\n")
			return err
		case e.Type().IsRegular():
			data, err := os.ReadFile(path)
			b.WriteString(rel + ": " + string(data) + "\n")
			return err
		default:
			b.WriteString(rel + " " + e.Type().String() + "\n")
			if e.IsDir() && strings.Contains(path, "/room/") {
				if fi, err := os.Lstat(path); err == nil && onOtherMount(fi, dir) {
					return filepath.SkipDir
				}
			}
		}
		return nil
	}))
	return b.String()
}

func onOtherMount(fi os.FileInfo, dir string) bool {
	top, err := os.Lstat(dir)
	return err == nil && sysOf(fi).Dev != sysOf(top).Dev
}

// TestLibraryLayouts holds that the library too is made of plain files.
func TestLibraryLayouts(t *testing.T) {
	tests := []struct{ name, item, rule string }{
		{"link", ".scribe/audit.jsonl => OUT/secret.md", "path.link"},
		{"hard link", ".scribe/audit.jsonl == OUT/secret.md", "path.hard-link"},
		{"fifo", ".scribe/audit.jsonl |", "path.not-regular"},
		{"bound file", ".scribe/audit.jsonl << OUT/secret.md", "path.mount"},
		{"plain", ".scribe/audit.jsonl: x", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			room, out := layout(t, tt.item)
			d := open(t, room)
			_, err := d.LibRead("audit.jsonl", 100)
			_, serr := d.LibStat("audit.jsonl")
			for op, err := range map[string]error{
				"read": err, "stat": serr,
				"append":   d.LibAppend("audit.jsonl", []byte("row\n")),
				"truncate": d.LibTruncate("audit.jsonl", 0),
				"sync":     d.SyncLib(),
			} {
				if got := ruleOf(err); got != tt.rule {
					t.Errorf("%s: got %q, want %q", op, got, tt.rule)
				}
			}
			if tt.name != "bound file" {
				must(t, d.LibReplace("audit.jsonl", []byte("fresh"))) // replaced, never written through
			}
			if got := tree(t, out); got != "secret.md: secret\n" {
				t.Errorf("outside: %q", got)
			}
		})
	}
}

func TestLibraryIsNoLink(t *testing.T) {
	room, out := layout(t, ".scribe => OUT")
	d, err := Open(room)
	must(t, err)
	defer d.Close()
	if d.HasLibrary() {
		t.Error("a link counts as a library")
	}
	if got := ruleOf(d.Ensure()); got != "path.link" {
		t.Errorf("ensure: got %q, want path.link", got)
	}
	if got := tree(t, out); got != "secret.md: secret\n" {
		t.Errorf("outside: %q", got)
	}
}

func TestWalkKinds(t *testing.T) {
	room, _ := layout(t, "a/b.md: x", "a-b.md: x", "a0.md: x", "a/c => OUT", "b |", "c << OUT", "d/.scribe/", "d/x.md: x",
		"e.md == a0.md", ".git/config: x", "h/", "z.md: x", "bad\xff/x.md: x", "1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17/18.md: x")
	d := open(t, room)
	var got []string
	must(t, d.Walk(func(name string, e Entry) error {
		got = append(got, name+" "+e.Rule())
		return nil
	}))
	want := []string{
		"1/2/3/4/5/6/7/8/9/10/11/12/13/14/15/16/17 path.is-a-directory",
		"a-b.md ", "a/b.md ", "a/c path.link", "a0.md path.hard-link", "b path.not-regular", "bad\xff path.is-a-directory", "c path.mount",
		"d path.room-inside", "e.md path.hard-link", "z.md ",
	}
	if strings.Join(got, "\n") != strings.Join(want, "\n") {
		t.Errorf("got:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}

func TestModes(t *testing.T) {
	base := t.TempDir()
	room := filepath.Join(base, "new", "room")
	d, err := Open(room)
	must(t, err)
	defer d.Close()
	if d.Exists() || d.Writable() || d.HasLibrary() {
		t.Error("a missing room exists, is writable or has a library")
	}
	if _, err := os.Lstat(filepath.Join(base, "new")); err == nil {
		t.Fatal("Open wrote")
	}
	must(t, d.Ensure())
	must(t, d.LibWriteNew("tmp/x", []byte("x")))
	must(t, d.Replace("tmp/x", parse(t, "d/a.md"), nil))
	must(t, d.LibAppend("audit.jsonl", []byte("row\n")))
	for name, want := range map[string]os.FileMode{
		"": 0o700, ".scribe": 0o700, ".scribe/versions": 0o700, "d": 0o700, "d/a.md": 0o600, ".scribe/audit.jsonl": 0o600,
	} {
		fi, err := os.Stat(filepath.Join(room, name))
		must(t, err)
		if got := fi.Mode().Perm(); got != want {
			t.Errorf("%q: got %o, want %o", name, got, want)
		}
	}
	if !d.Exists() || !d.Writable() || !d.HasLibrary() {
		t.Error("the room does not exist, is not writable or has no library")
	}
	must(t, os.Chmod(room, 0o755))
	must(t, d.Ensure())
	if fi, _ := os.Stat(room); fi.Mode().Perm() != 0o755 {
		t.Error("Ensure changed the mode of an existing directory")
	}
}

func TestReadOnlyMount(t *testing.T) {
	room, _ := layout(t, "a.md: x", ".scribe/")
	bind(t, room, room)
	if err := syscall.Mount("", room, "", syscall.MS_REMOUNT|syscall.MS_BIND|syscall.MS_RDONLY, ""); err != nil {
		t.Skipf("needs the right to mount: %v", err)
	}
	d, err := Open(room)
	must(t, err)
	defer d.Close()
	if d.Writable() {
		t.Error("a read-only mount is writable")
	}
	if data, err := d.Read(parse(t, "a.md"), 10); err != nil || string(data) != "x" {
		t.Errorf("read: %q, %v", data, err)
	}
	err = d.LibWriteNew("tmp/x", nil)
	if !errors.Is(err, syscall.EROFS) {
		t.Errorf("write: got %v, want EROFS", err)
	}
	checkText(t, err, room)
}

func TestIdentity(t *testing.T) {
	room, _ := layout(t, "a.md: x")
	d := open(t, room)
	id, err := d.Identity()
	must(t, err)
	moved := room + "2"
	must(t, os.Rename(room, moved))
	must(t, os.CopyFS(room, os.DirFS(moved)))
	for dir, same := range map[string]bool{moved: true, room: false} {
		o, err := Open(dir)
		must(t, err)
		defer o.Close()
		got, err := o.Identity()
		must(t, err)
		if (got == id) != same {
			t.Errorf("%s: got %q, first %q, want the same: %v", filepath.Base(dir), got, id, same)
		}
	}
}
