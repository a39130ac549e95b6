package rootfs

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"strings"
	"syscall"
	"testing"

	"github.com/memoryroom/scribe/internal/relpath"
)

var errDisk = syscall.EIO

func mustParse(name string) relpath.Path {
	p, err := relpath.Parse(name)
	if err != nil {
		panic(err)
	}
	return p
}

// room is a Mem with a library, the memory a.md and a file in flight, all durable.
func room(t testing.TB) (*Mem, *Dir) {
	t.Helper()
	m := NewMem()
	d := New(m)
	err := errors.Join(d.Ensure(), d.LibWriteNew("tmp/n", []byte(text("new"))), m.Sync(Library+"/"+InFlight))
	if err != nil {
		t.Fatal(err)
	}
	m.Plant("a.md", File, []byte(text("old")))
	return m, d
}

// text is long enough to be torn.
func text(word string) string { return strings.Repeat(word+" ", 400) }

// word undoes text, so that failures can be read.
func word(data []byte) string {
	w, _, _ := strings.Cut(string(data), " ")
	if string(data) != text(w) {
		return fmt.Sprintf("torn(%d bytes)", len(data))
	}
	return w
}

func at(f FS, name string) string {
	data, err := f.Read(name, 1<<20)
	if err != nil {
		return ruleOf2(err)
	}
	return word(data)
}

func ruleOf2(err error) string {
	var r *Refusal
	switch {
	case errors.As(err, &r):
		return r.Rule
	case errors.Is(err, fs.ErrNotExist):
		return "absent"
	default:
		return err.Error()
	}
}

// onOp runs fn the nth time (from 1) that op meets name, or every time for 0.
func onOp(op, name string, n int, fn func() error) func(string, string) error {
	seen := 0
	return func(o, at string) error {
		if o != op || at != name {
			return nil
		}
		if seen++; n == 0 || n == seen {
			return fn()
		}
		return nil
	}
}

func hooks(hs ...func(string, string) error) func(string, string) error {
	return func(op, name string) error {
		for _, h := range hs {
			if err := h(op, name); err != nil {
				return err
			}
		}
		return nil
	}
}

// TestReplaceMeetsEditors plays another program between the steps of a swap.
func TestReplaceMeetsEditors(t *testing.T) {
	save := func(m *Mem, w string) func() error {
		return func() error { m.Plant("a.md", File, []byte(text(w))); return nil }
	}
	tests := []struct {
		name        string
		hook        func(m *Mem) func(string, string) error
		create      bool // the memory is absent
		want        string
		memory, tmp string
		parked      string
	}{
		{name: "nobody", memory: "new", tmp: "absent"},
		{name: "nobody, create", create: true, memory: "new", tmp: "absent"},
		{name: "saved before the exchange", hook: func(m *Mem) func(string, string) error {
			return onOp("exchange", "a.md", 1, save(m, "one"))
		}, want: "changed", memory: "one", tmp: "new"},
		{name: "saved again before the swap back", hook: func(m *Mem) func(string, string) error {
			return hooks(onOp("exchange", "a.md", 1, save(m, "one")), onOp("exchange", "a.md", 2, save(m, "two")))
		}, want: "changed", memory: "two", tmp: "absent", parked: "one"},
		{name: "saved once more", hook: func(m *Mem) func(string, string) error {
			return hooks(onOp("exchange", "a.md", 1, save(m, "one")), onOp("exchange", "a.md", 2, save(m, "two")),
				onOp("exchange", "a.md", 3, save(m, "three")))
		}, want: "changed", memory: "three", tmp: "absent", parked: "two"}, // "one" was replaced by its editor
		{name: "removed before the exchange", hook: func(m *Mem) func(string, string) error {
			return onOp("exchange", "a.md", 1, func() error { m.Unplant("a.md"); return nil })
		}, want: "changed", memory: "absent", tmp: "new"},
		{name: "saved, then removed", hook: func(m *Mem) func(string, string) error {
			return hooks(onOp("exchange", "a.md", 1, save(m, "one")),
				onOp("exchange", "a.md", 2, func() error { m.Unplant("a.md"); return nil }))
		}, want: "changed", memory: "one", tmp: "absent"},
		{name: "made a link", hook: func(m *Mem) func(string, string) error {
			return onOp("exchange", "a.md", 1, func() error { m.Plant("a.md", Link, nil); return nil })
		}, want: "changed", memory: "path.link", tmp: "new"},
		{name: "saved after the check, no exchange", hook: func(m *Mem) func(string, string) error {
			return onOp("exchange", "a.md", 1, func() error { save(m, "one")(); return errors.ErrUnsupported })
		}, want: "changed", memory: "one", tmp: "new"},
		{name: "nobody, no exchange", hook: func(m *Mem) func(string, string) error {
			return onOp("exchange", "a.md", 0, func() error { return errors.ErrUnsupported })
		}, memory: "new", tmp: "absent"},
		{name: "made before the create", create: true, hook: func(m *Mem) func(string, string) error {
			return onOp("rename", "a.md", 1, save(m, "one"))
		}, want: "changed", memory: "one", tmp: "new"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, d := room(t)
			old := []byte(text("old"))
			if tt.create {
				m.Unplant("a.md")
				old = nil
			}
			if tt.hook != nil {
				m.Hook(tt.hook(m))
			}
			err := d.Replace("tmp/n", mustParse("a.md"), old)
			m.Hook(nil)
			checkChange(t, m, d, err, tt.want, tt.parked)
			if got := at(m, "a.md"); got != tt.memory {
				t.Errorf("memory: got %s, want %s", got, tt.memory)
			}
			if got := at(m, Library+"/tmp/n"); got != tt.tmp {
				t.Errorf("in flight: got %s, want %s", got, tt.tmp)
			}
		})
	}
}

func checkChange(t *testing.T, m *Mem, d *Dir, err error, want, parked string) {
	t.Helper()
	got, where := "", ""
	var c *Changed
	if errors.As(err, &c) {
		got = "changed"
		if c.Parked != "" {
			where = at(m, Library+"/"+c.Parked)
		}
	} else if err != nil {
		got = err.Error()
	}
	if got != want || where != parked {
		t.Errorf("got %q, parked %q, want %q, parked %q", got, where, want, parked)
	}
	if names, _ := d.LibList(Versions); (len(names) > 0) != (parked != "") {
		t.Errorf("versions hold %q", names)
	}
}

// TestReplaceEndless meets an editor that saves between any two exchanges: the call
// ends, the newest save is at the memory, and the one before it is parked.
func TestReplaceEndless(t *testing.T) {
	m, d := room(t)
	n := 0
	m.Hook(onOp("exchange", "a.md", 0, func() error {
		n++
		m.Plant("a.md", File, []byte(text(fmt.Sprint("save", n))))
		return nil
	}))
	err := d.Replace("tmp/n", mustParse("a.md"), []byte(text("old")))
	m.Hook(nil)
	last, before := fmt.Sprint("save", n), fmt.Sprint("save", n-1)
	var c *Changed
	if !errors.As(err, &c) || c.Parked == "" {
		t.Fatalf("got %v", err)
	}
	found := map[string]bool{at(m, "a.md"): true, at(m, Library+"/"+c.Parked): true}
	if !found[last] || !found[before] {
		t.Errorf("got %v, want %s and %s", found, last, before)
	}
}

func TestRetireMeetsEditors(t *testing.T) {
	var out string // the name aside, known from the hook
	tests := []struct {
		name                    string
		hook                    func(m *Mem) func(string, string) error
		old, archived           string
		want                    string
		memory, archive, parked string
	}{
		{name: "nobody", old: "old", memory: "absent", archive: "old"},
		{name: "another expected", old: "other", want: "changed", memory: "old", archive: "absent"},
		{name: "repeated after a crash", old: "old", archived: "old", memory: "absent", archive: "old"},
		{name: "name taken", old: "old", archived: "else", want: "exists", memory: "old", archive: "else"},
		{name: "saved after the check", old: "old", hook: func(m *Mem) func(string, string) error {
			return func(op, name string) error {
				if op == "rename" && strings.HasPrefix(name, Library+"/tmp/") {
					out = name
					m.Plant("a.md", File, []byte(text("one")))
				}
				return nil
			}
		}, want: "changed", memory: "one", archive: "absent"},
		{name: "saved, and again while it was aside", old: "old", hook: func(m *Mem) func(string, string) error {
			return func(op, name string) error {
				switch {
				case op == "rename" && strings.HasPrefix(name, Library+"/tmp/"):
					m.Plant("a.md", File, []byte(text("one")))
				case op == "rename" && name == "a.md":
					m.Plant("a.md", File, []byte(text("two")))
				}
				return nil
			}
		}, want: "changed", memory: "two", archive: "absent", parked: "one"},
		{name: "removed after the check", old: "old", hook: func(m *Mem) func(string, string) error {
			return func(op, name string) error {
				if op == "rename" {
					m.Unplant("a.md")
				}
				return nil
			}
		}, want: "changed", memory: "absent", archive: "absent"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			m, d := room(t)
			if tt.archived != "" {
				m.Plant(Library+"/archive/d/a.md", File, []byte(text(tt.archived)))
			}
			if tt.hook != nil {
				m.Hook(tt.hook(m))
			}
			err := d.Retire(mustParse("a.md"), []byte(text(tt.old)), "archive/d/a.md")
			m.Hook(nil)
			if errors.Is(err, fs.ErrExist) {
				err = nil
				if tt.want != "exists" {
					t.Errorf("got %v", err)
				}
				tt.want = ""
			}
			checkChange(t, m, d, err, tt.want, tt.parked)
			if got := at(m, "a.md"); got != tt.memory {
				t.Errorf("memory: got %s, want %s", got, tt.memory)
			}
			if got := at(m, Library+"/archive/d/a.md"); got != tt.archive {
				t.Errorf("archive: got %s, want %s", got, tt.archive)
			}
			if out != "" && at(m, out) != "absent" {
				t.Error("the name aside is still there")
			}
		})
	}
}

// change is one operation whose every step is made to fail, and after whose every
// step the power is cut.
type change struct {
	name string
	prep func(m *Mem)
	do   func(d *Dir) error
	// state reads the outcome; old and new are what it is before and after.
	state    func(f FS) string
	old, new string
	legal    []string // after a crash, besides old and new
}

func changes() []change {
	one := func(name string) func(FS) string { return func(f FS) string { return at(f, name) } }
	return []change{
		{
			name: "create", do: func(d *Dir) error { return d.Replace("tmp/n", mustParse("d/e/a.md"), nil) },
			state: one("d/e/a.md"), old: "absent", new: "new",
		},
		{
			name: "update", do: func(d *Dir) error { return d.Replace("tmp/n", mustParse("a.md"), []byte(text("old"))) },
			state: one("a.md"), old: "old", new: "new",
		},
		{
			name: "retire", do: func(d *Dir) error { return d.Retire(mustParse("a.md"), []byte(text("old")), "archive/d/a.md") },
			state: func(f FS) string { return at(f, "a.md") + " " + at(f, Library+"/archive/d/a.md") },
			old:   "old absent", new: "absent old", legal: []string{"old old"},
		},
		{
			name: "write new", do: func(d *Dir) error { return d.LibWriteNew("versions/d/v.md", []byte(text("v"))) },
			state: one(Library + "/versions/d/v.md"), old: "absent", new: "v",
		},
		{
			name: "replace in the library", prep: func(m *Mem) { m.Plant(Library+"/local", File, []byte(text("old"))) },
			do:    func(d *Dir) error { return d.LibReplace("local", []byte(text("new"))) },
			state: one(Library + "/local"), old: "old", new: "new",
		},
		{
			name: "append", prep: func(m *Mem) { m.Plant(Library+"/audit.jsonl", File, []byte("row1\n")) },
			do: func(d *Dir) error { return d.LibAppend("audit.jsonl", []byte("row2\n")) },
			state: func(f FS) string {
				data, _ := f.Read(Library+"/audit.jsonl", 99)
				rest, ok := bytes.CutPrefix(data, []byte("row1\n"))
				if ok && len(rest) > 0 && string(rest) != "row2\n" {
					return "torn"
				}
				return string(data)
			},
			old: "row1\n", new: "row1\nrow2\n", legal: []string{"torn"},
		},
		{
			name: "remove", prep: func(m *Mem) { m.Plant(Library+"/pending/p.md", File, []byte(text("old"))) },
			do:    func(d *Dir) error { return d.LibRemove("pending/p.md") },
			state: one(Library + "/pending/p.md"), old: "old", new: "absent",
		},
	}
}

func (c change) start(t testing.TB) (*Mem, *Dir) {
	m, d := room(t)
	if c.prep != nil {
		c.prep(m)
	}
	if got := c.state(m); got != c.old {
		t.Fatalf("before: got %q, want %q", got, c.old)
	}
	return m, d
}

func (c change) allows(state string) bool {
	if i := strings.Index(state, "torn("); i >= 0 {
		state = state[:i] + "torn"
	}
	for _, s := range append([]string{c.old, c.new}, c.legal...) {
		if s == state {
			return true
		}
	}
	return false
}

func TestCrashAnywhere(t *testing.T) {
	images := 0
	for _, c := range changes() {
		t.Run(c.name, func(t *testing.T) {
			rng := rand.New(rand.NewPCG(7, 7))
			m, d := c.start(t)
			check := func(when string) {
				for _, keep := range []float64{0, 0.3, 0.5, 0.7, 1} {
					for range 30 {
						images++
						if got := c.state(m.CrashClone(rng, keep)); !c.allows(got) {
							t.Fatalf("power cut before %s: %q", when, got)
						}
					}
				}
			}
			m.Hook(func(op, name string) error { check(op + " " + name); return nil })
			if err := c.do(d); err != nil {
				t.Fatal(err)
			}
			m.Hook(nil)
			for range 100 {
				images++
				if got := c.state(m.CrashClone(rng, rng.Float64())); got != c.new {
					t.Fatalf("power cut after the answer: got %q, want %q", got, c.new)
				}
			}
		})
	}
	t.Logf("%d images", images)
}

func TestFailAnywhere(t *testing.T) {
	for _, c := range changes() {
		for _, lasting := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s/lasting=%v", c.name, lasting), func(t *testing.T) {
				for n := 1; ; n++ {
					m, d := c.start(t)
					before := m.list(t)
					i, where := 0, ""
					m.Hook(func(op, name string) error {
						if i++; i == n || lasting && i > n {
							if where == "" {
								where = op + " " + name
							}
							return errDisk
						}
						return nil
					})
					err := c.do(d)
					m.Hook(nil)
					c.checkFailure(t, m, err, where, before, lasting)
					if where == "" {
						if n < 3 {
							t.Error("nothing was tried")
						}
						return
					}
				}
			})
		}
	}
}

func (c change) checkFailure(t *testing.T, m *Mem, err error, where, before string, lasting bool) {
	t.Helper()
	state := c.state(m)
	switch {
	case err == nil:
		// Either nothing failed, or it was a clean-up that recovery repeats.
		if state != c.new {
			t.Errorf("%s: no error, and %q", where, state)
		}
	case !errors.Is(err, errDisk):
		t.Errorf("%s: the fault is not in the chain: %v", where, err)
	case errors.Is(err, ErrUnsynced):
		if state != c.new && !c.allows(state) {
			t.Errorf("%s: unsynced, and %q", where, state)
		}
	case lasting:
		if !c.allows(state) {
			t.Errorf("%s: %q", where, state)
		}
	case state != c.old:
		t.Errorf("%s: error %v, and %q, want %q", where, err, state, c.old)
	case m.list(t) != before:
		t.Errorf("%s: left behind:\n%s\nwas:\n%s", where, m.list(t), before)
	}
	var p *fs.PathError
	if err != nil && !errors.As(err, &p) {
		t.Errorf("%s: no *fs.PathError in the chain: %v", where, err)
	}
}

// list is every name but what is in flight, which recovery sweeps.
func (m *Mem) list(t *testing.T) string {
	t.Helper()
	var b strings.Builder
	var down func(dir string)
	down = func(dir string) {
		entries, err := m.ReadDir(dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, e := range entries {
			name := strings.TrimPrefix(dir+"/"+e.Name, "./")
			if name == Library+"/"+InFlight {
				continue
			}
			fmt.Fprintln(&b, name, e.Kind, e.Size)
			if e.Kind == Directory {
				down(name)
			}
		}
	}
	down(".")
	return b.String()
}

func TestLibraryNames(t *testing.T) {
	_, d := room(t)
	for _, name := range []string{"", ".", "..", "../a.md", "/x", "a//b", "a/", ".hidden", "a/.b", "a\\b", "a:b", "a\x00b", "a\xff"} {
		for op, err := range map[string]error{
			"read": second(d.LibRead(name, 1)), "write": d.LibWriteNew(name, nil), "append": d.LibAppend(name, nil),
			"replace": d.LibReplace(name, nil), "truncate": d.LibTruncate(name, 0), "remove": d.LibRemove(name),
			"stat": second(d.LibStat(name)),
			"swap": d.Replace(name, mustParse("a.md"), nil),
		} {
			if !errors.Is(err, fs.ErrInvalid) {
				t.Errorf("%s %q: got %v", op, name, err)
			}
		}
	}
	var none relpath.Path
	root, err := relpath.ParseDir("")
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range []relpath.Path{none, root} {
		for op, err := range map[string]error{
			"read": second(d.Read(p, 1)), "check": d.CheckWrite(p), "replace": d.Replace("tmp/n", p, nil),
			"retire": d.Retire(p, []byte{}, "archive/x"), "sync": d.Sync(p),
		} {
			if !errors.Is(err, fs.ErrInvalid) {
				t.Errorf("%s of no path: got %v", op, err)
			}
		}
	}
}

func TestLibrary(t *testing.T) {
	m, d := room(t)
	for _, name := range []string{"archive/b/c.md", "archive/a.md", "archive/b.md"} {
		if err := d.LibWriteNew(name, []byte(name)); err != nil {
			t.Fatal(err)
		}
	}
	m.Plant(Library+"/archive/link", Link, nil)
	names, err := d.LibList("archive")
	if got := strings.Join(names, " "); err != nil || got != "a.md b.md b/c.md" {
		t.Errorf("list: got %q, %v", got, err)
	}
	if names, err := d.LibList("none"); len(names) > 0 || err != nil {
		t.Errorf("list of nothing: %q, %v", names, err)
	}
	if size, err := d.LibStat("archive/a.md"); size != 12 || err != nil {
		t.Errorf("stat: %d, %v", size, err)
	}
	if err := errors.Join(d.LibAppend("log", []byte("1")), d.LibAppend("log", []byte("2")), d.SyncLib()); err != nil {
		t.Fatal(err)
	}
	if data, err := d.LibRead("log", 2); string(data) != "12" || err != nil {
		t.Errorf("log: %q, %v", data, err)
	}
	if _, err := d.LibRead("log", 1); ruleOf2(err) != "path.too-large" {
		t.Errorf("too large: %v", err)
	}
}

// TestSyncAfterKill holds that recovery's flush makes durable what a killed process
// left in the page cache.
func TestSyncAfterKill(t *testing.T) {
	m, d := room(t)
	p := mustParse("d/a.md")
	m.Hook(func(op, name string) error {
		if op == "sync" && (name == "d" || name == ".") {
			return errDisk
		}
		return nil
	})
	if err := m.Mkdir("d"); err != nil {
		t.Fatal(err)
	}
	if err := d.Replace("tmp/n", p, nil); !errors.Is(err, ErrUnsynced) {
		t.Fatalf("got %v, want ErrUnsynced", err)
	}
	m.Hook(nil)
	rng := rand.New(rand.NewPCG(1, 1))
	if got := at(m.CrashClone(rng, 0), "d/a.md"); got != "absent" {
		t.Fatalf("not flushed, and %s", got)
	}
	if err := errors.Join(d.SyncLib(), d.Sync(p)); err != nil {
		t.Fatal(err)
	}
	if got := at(m.CrashClone(rng, 0), "d/a.md"); got != "new" {
		t.Errorf("flushed, and %s", got)
	}
	if err := d.Sync(mustParse("none/x.md")); err != nil {
		t.Errorf("absent: %v", err)
	}
}
