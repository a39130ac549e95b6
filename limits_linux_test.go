package scribe

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
)

// What a system refuses a process: files that grow (EFBIG), writes at all (EROFS), what
// modes forbid (EACCES). Each is an error that says so and shows no place; nothing is lost,
// nothing is half done, and once the reason is gone the room goes on.

// limitedEnv says to this test binary that it runs as the process under a limit.
const limitedEnv = "SCRIBE_TEST_LIMITED"

// inProcess runs the test that calls it once more in a process of its own, which setup may
// prepare, and reports whether this is that process.
func inProcess(t *testing.T, program string, setup func(cmd *exec.Cmd)) bool {
	t.Helper()
	if os.Getenv(limitedEnv) == t.Name() {
		return true
	}
	cmd := exec.Command(program, "-test.run=^"+t.Name()+"$", "-test.v")
	cmd.Env = append(os.Environ(), limitedEnv+"="+t.Name())
	if *soak {
		cmd.Args = append(cmd.Args, "-soak")
	}
	if testing.Short() {
		cmd.Args = append(cmd.Args, "-test.short")
	}
	setup(cmd)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "--- PASS") {
		t.Errorf("%v\n%s", err, out)
	}
	return false
}

// TestG10_FilesThatMayNotGrow writes under a limit of the size of files.
func TestG10_FilesThatMayNotGrow(t *testing.T) {
	if !inProcess(t, os.Args[0], func(*exec.Cmd) {}) {
		return
	}
	signal.Ignore(syscall.SIGXFSZ)
	ctx := context.Background()
	text := func(n int) string { return fmt.Sprintf("note %d\n%s\n", n, strings.Repeat("x ", 300+90*n)) }
	most := make([]string, 12)
	step := uint64(1777)
	switch {
	case *soak:
		step = 97
	case testing.Short():
		step = 4000
	}
	failed := 0
	for limit := uint64(300); limit < 9000; limit += step {
		dir := filepath.Join(t.TempDir(), "room")
		var old syscall.Rlimit
		if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
			t.Fatal(err)
		}
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: limit, Max: old.Max}); err != nil {
			t.Fatal(err)
		}
		r, err := Open(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		acked := map[string]string{}
		for n := range most {
			path := fmt.Sprintf("m%d.md", n%7)
			c := Candidate{Path: path, Text: text(n)}
			if m, err := r.Read(ctx, path); err == nil {
				c.Base = m.Hash
			}
			vs, err := r.Propose(ctx, c)
			switch {
			case errors.Is(err, syscall.EFBIG):
				noPath(t, err, dir)
				failed++
			case err != nil || vs[0].Outcome != Accepted:
				t.Errorf("limit %d: %v, %v; want that the file is too large", limit, vs, err)
			default:
				acked[path] = text(n)
			}
		}
		if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &old); err != nil {
			t.Fatal(err)
		}
		for when := range 2 {
			for path, text := range acked {
				if got := read(t, r, path); got != text {
					t.Errorf("limit %d, %d: %s was acknowledged, and is %.20q", limit, when, path, got)
				}
			}
			if got := len(listed(t, r)); got != len(acked) {
				t.Errorf("limit %d, %d: %d memories, want %d", limit, when, got, len(acked))
			}
			if when == 0 {
				r.Close()
				if r, err = Open(dir, nil); err != nil {
					t.Fatal(err)
				}
			}
		}
		wellOnDisk(t, fmt.Sprintf("limit %d", limit), r)
		if vs, err := r.Propose(ctx, Candidate{Path: "later.md", Text: text(20)}); err != nil || vs[0].Outcome != Accepted {
			t.Errorf("limit %d: without it: %v, %v", limit, vs, err)
		}
		r.Close()
	}
	if failed == 0 {
		t.Error("control: nothing was too large")
	}
}

// TestG10_ReadOnlyFileSystem: a file system that becomes read-only, as one does after an
// error, and one that was so from the start.
func TestG10_ReadOnlyFileSystem(t *testing.T) {
	ctx := context.Background()
	disk := smallDisk(t, "size=2m")
	dir := filepath.Join(disk, "room")
	remount := func(flags uintptr) {
		t.Helper()
		if err := syscall.Mount("", disk, "", syscall.MS_REMOUNT|flags, ""); err != nil {
			t.Skipf("needs the right to mount: %v", err)
		}
	}
	r, err := Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	store(t, r, Operator, Candidate{Path: "a.md", Text: "one\n"})
	refusedAll := func(r *Room, want error) {
		t.Helper()
		for name, write := range map[string]func() error{
			"propose": func() error {
				_, err := r.Propose(ctx, Candidate{Path: "a.md", Old: "one", New: "two"})
				return err
			},
			"archive": func() error { return archived(r, "a.md") },
			"purge":   func() error { _, err := r.Purge(ctx, "a.md", "x"); return err },
			"adopt":   func() error { _, err := r.Adopt(ctx, Operator, listed(t, r)...); return err },
		} {
			err := write()
			if !errors.Is(err, want) {
				t.Errorf("%s: %v, want %v", name, err, want)
			}
			noPath(t, err, disk)
		}
		if got := read(t, r, "a.md"); got != "one\n" {
			t.Errorf("a.md is %q", got)
		}
	}
	remount(syscall.MS_RDONLY)
	refusedAll(r, syscall.EROFS)
	late, err := Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	refusedAll(late, fs.ErrPermission) // it was seen at once
	late.Close()
	none, err := Open(filepath.Join(disk, "none"), nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := none.Propose(ctx, Candidate{Path: "a.md", Text: "x\n"}); !errors.Is(err, syscall.EROFS) {
		t.Errorf("a new room: %v", err)
	} else {
		noPath(t, err, disk)
	}
	none.Close()
	remount(0)
	if vs, err := r.Propose(ctx, Candidate{Path: "a.md", Old: "one", New: "two"}); err != nil || vs[0].Outcome != Accepted {
		t.Errorf("writable again: %v, %v", vs, err)
	}
	wellOnDisk(t, "writable again", r)
	r.Close()
}

// TestG10_ModesThatForbid takes rights away from a process that is nobody in particular.
func TestG10_ModesThatForbid(t *testing.T) {
	base, program := "", os.Args[0]
	if os.Getuid() == 0 { // modes do not bind root
		var err error
		if base, err = os.MkdirTemp("", "scribe"); err == nil {
			defer os.RemoveAll(base)
			program = filepath.Join(base, "test")
			err = errors.Join(copyFile(program, os.Args[0], 0o755), os.Chmod(base, 0o777)) // for everybody, on purpose
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	if !inProcess(t, program, func(cmd *exec.Cmd) {
		if base != "" {
			rooms := fastDir(t)
			if err := os.Chmod(rooms, 0o777); err != nil {
				t.Fatal(err)
			}
			cmd.Dir, cmd.Env = base, append(cmd.Env, "TMPDIR="+rooms)
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
	}) {
		return
	}
	places := []struct {
		name string
		mode os.FileMode
	}{
		{".", 0o500},
		{".", 0},
		{"a.md", 0},
		{"d", 0o500},
		{"d", 0},
		{indexName, 0},
		{".scribe", 0o500},
		{".scribe", 0},
		{".scribe/audit.jsonl", 0o400},
		{".scribe/audit.jsonl", 0},
		{".scribe/local", 0},
		{".scribe/lock", 0o400},
		{".scribe/lock", 0},
		{".scribe/tmp", 0o500},
		{".scribe/versions", 0o500},
		{".scribe/versions", 0},
		{".scribe/archive", 0o500},
		{".scribe/pending", 0o500},
		{".scribe/reserve", 0},
	}
	names := []string{"plan", "purge", "archive", "edit", "add", "rename", "remove", "restore", "hold", "approve"}
	switch {
	case testing.Short(), raceEnabled:
		names = names[:1]
	case !*soak:
		names = names[:4]
	}
	refused := 0
	for _, w := range workload() {
		if !slices.Contains(names, w.name) {
			continue
		}
		before, after := w.ends(t)
		for _, p := range places {
			at := fmt.Sprintf("%s with %o on %s", w.name, p.mode, p.name)
			dir := filepath.Join(t.TempDir(), "room")
			r, err := Open(dir, nil)
			if err != nil {
				t.Fatal(err)
			}
			w.setup(t, r)
			acked := false
			mode := lacking(t, filepath.Join(dir, p.name), p.mode)
			for anew := range 2 {
				if anew == 1 && !acked { // another process finds it so
					if r, err = Open(dir, nil); err != nil {
						forbidden(t, at+": open", dir, err)
						refused++
						break
					}
				} else if anew == 1 {
					break
				}
				if acked, err = w.run(r); err != nil {
					forbidden(t, at, dir, err)
					refused++
				}
				r.Close()
			}
			if err := os.Chmod(filepath.Join(dir, p.name), mode); err != nil {
				t.Fatal(err)
			}
			if r, err = Open(dir, nil); err != nil {
				t.Errorf("%s, and given back: %v", at, err)
				continue
			}
			if got := stateOf(t, r); got != after && (got != before || acked) {
				t.Errorf("%s (acknowledged %v): it holds\n  %s\nbefore\n  %s\nafter\n  %s", at, acked, got, before, after)
			}
			wellOnDisk(t, at, r)
			r.Close()
		}
	}
	if refused == 0 {
		t.Error("control: nothing was refused")
	}
}

// lacking sets a mode and gives the one that was there.
func lacking(t *testing.T, name string, mode os.FileMode) os.FileMode {
	t.Helper()
	fi, err := os.Stat(name)
	if err == nil {
		err = os.Chmod(name, mode)
	}
	if err != nil {
		t.Fatal(err)
	}
	return fi.Mode()
}

// forbidden holds that an error says that a right is missing, and where in the room.
func forbidden(t *testing.T, at, dir string, err error) {
	t.Helper()
	if !errors.Is(err, fs.ErrPermission) {
		t.Errorf("%s: %v, want that it is not permitted", at, err)
	}
	noPath(t, err, dir)
}

func copyFile(to, from string, mode os.FileMode) error {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer in.Close()
	out, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, mode)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
