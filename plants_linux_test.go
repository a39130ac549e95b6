package scribe

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/memoryroom/scribe/internal/rootfs"
)

// plantSecret is what no link out of the room may bring in.
const plantSecret = "the text of a file that is none of ours\n"

// plants are what somebody else can put in the place of a file or a directory. target is a
// directory outside the room: a file in it, a directory and a FIFO.
var plants = map[string]func(at, target string) error{
	"fifo":   func(at, _ string) error { return syscall.Mkfifo(at, 0o666) },
	"device": func(at, _ string) error { return syscall.Mknod(at, syscall.S_IFCHR|0o666, 1<<8|5) }, // zeros without end
	"hard link": func(at, target string) error {
		return os.Link(filepath.Join(target, "file"), at)
	},
	"link to a file":      func(at, target string) error { return os.Symlink(filepath.Join(target, "file"), at) },
	"link to a directory": func(at, target string) error { return os.Symlink(filepath.Join(target, "dir"), at) },
	"link to a fifo":      func(at, target string) error { return os.Symlink(filepath.Join(target, "fifo"), at) },
	"link to nothing":     func(at, target string) error { return os.Symlink(filepath.Join(target, "none"), at) },
	"directory":           func(at, _ string) error { return os.Mkdir(at, 0o777) },
	"full directory":      func(at, _ string) error { return os.MkdirAll(filepath.Join(at, "of", "somebody"), 0o777) },
}

// plantedRoom is a room with everything in it that a room can hold.
func plantedRoom(t *testing.T, dir string) *Options {
	t.Helper()
	ctx := context.Background()
	o := &Options{Suggest: "shadow"}
	settled, err := o.settle()
	if err != nil {
		t.Fatal(err)
	}
	settled.segment = 900 // a sealed file of the journal
	disk, err := rootfs.Open(dir)
	if err != nil {
		t.Fatal(err)
	}
	r, err := openOn(disk, settled)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	store(t, r, Operator, Candidate{Path: "a.md", Text: "old a\n"})
	store(t, r, Operator, Candidate{Path: "d/b.md", Description: "x", Text: "old b\n"})
	store(t, r, Operator, Candidate{Path: "gone.md", Text: "old gone\n"})
	if err := archived(r, "gone.md"); err != nil {
		t.Fatal(err)
	}
	s := session(t, r, UserObserved)
	if _, err := s.Snapshot(ctx); err != nil {
		t.Fatal(err)
	}
	if vs, err := s.Guard(1).Propose(ctx, Candidate{Path: "d/b.md", Text: "other\n"}); err != nil || vs[0].Outcome != Held {
		t.Fatal(vs, err)
	}
	if _, err := s.Suggest(ctx, Segment{Text: "What was the old a about, in short?"}); err != nil {
		t.Fatal(err)
	}
	r.writeCheckpoint()
	return o
}

// plantNames lists the names below dir that scribe opens, and those that it would create.
func plantNames(t *testing.T, dir string) []string {
	t.Helper()
	var names []string
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if rel, rerr := filepath.Rel(dir, path); err == nil && rerr == nil && rel != "." {
			names = append(names, rel)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, lib := range []string{reserveName, cacheName, checkpointName, localName, "lock", auditName, indexTmp, "tmp/99.do", "tmp/99.new", "swept", "swept/00", "shadow", "audit.torn.1", "audit/1.base"} {
		if name := ".scribe/" + lib; !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return append(names, "n.md")
}

// refusedAt reports whether a room with a plant of that name does not open: what the journal
// and the lock rest on is never guessed. What is derived, is somebody's memory or comes back
// by itself keeps nothing else from working.
func refusedAt(name, kind string) bool {
	switch name {
	case ".scribe/lock", ".scribe/" + localName, ".scribe/" + auditName, indexName, ".scribe/audit/1.jsonl", ".scribe/audit/4.jsonl":
		return true
	case ".scribe/audit/1.base":
		return kind == "hard link" // the others are no file, and so no base
	case ".scribe/audit":
		return true // its files are gone, whatever lies there
	case ".scribe/tmp", ".scribe/versions", ".scribe/pending", ".scribe/sessions", ".scribe/archive":
		return !strings.HasSuffix(kind, "directory") || strings.HasPrefix(kind, "link")
	}
	return false
}

// TestG2_Plants puts a FIFO, a device, a second name of a file outside, links and a directory
// where scribe opens a file or a directory, and then does all that a room can do: nothing
// hangs, nothing is followed, nothing outside changes or comes in, each refusal names a place
// in the room, and once the plant is gone the room is as it was.
func TestG2_Plants(t *testing.T) {
	base := fastDir(t)
	model := filepath.Join(base, "model")
	plantedRoom(t, model)
	kinds := sortedKeys(plants)
	for i, name := range plantNames(t, model) {
		for k, kind := range kinds {
			if !*soak && (k != i%len(kinds) || testing.Short() && i%3 > 0) {
				continue
			}
			t.Run(strings.ReplaceAll(kind+" as "+filepath.Base(name), " ", "-"), func(t *testing.T) {
				p := planted{t, filepath.Join(base, fmt.Sprint(i, "-", k)), name, kind}
				p.run()
				if t.Failed() {
					t.Logf("%s as a %s", name, kind)
				}
			})
		}
	}
}

// planted is one plant.
type planted struct {
	*testing.T
	base, name, kind string
}

func (p planted) run() {
	dir, out, was := filepath.Join(p.base, "room"), filepath.Join(p.base, "out"), filepath.Join(p.base, "was")
	if err := os.MkdirAll(filepath.Join(out, "dir"), 0o755); err != nil {
		p.Fatal(err)
	}
	o := plantedRoom(p.T, dir)
	if err := errors.Join(os.WriteFile(filepath.Join(out, "file"), []byte(plantSecret), 0o644),
		os.WriteFile(filepath.Join(out, "dir", "file.md"), []byte(plantSecret), 0o644), syscall.Mkfifo(filepath.Join(out, "fifo"), 0o666)); err != nil {
		p.Fatal(err)
	}
	at := filepath.Join(dir, p.name)
	if same, _ := filepath.Glob(filepath.Join(filepath.Dir(at), "*"+filepath.Ext(at))); len(same) == 1 && strings.HasPrefix(p.name, ".scribe/") {
		at = same[0] // a name that is drawn by lot
	}
	if err := os.Rename(at, was); err != nil && !errors.Is(err, fs.ErrNotExist) {
		p.Fatal(err)
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), plants[p.kind](at, out)); err != nil {
		p.Skipf("needs the right to make it: %v", err)
	}
	before := p.tree(out)
	over := make(chan struct{})
	go func() {
		defer close(over)
		p.use(dir, o)
	}()
	select {
	case <-over:
	case <-time.After(time.Minute):
		p.Fatal("it hangs")
	}
	if after := p.tree(out); after != before {
		p.Errorf("outside there is\n%s\nwas\n%s", after, before)
	}
	if p.name == ".scribe" || !refusedAt(p.name, p.kind) {
		return // the room went on without what was there
	}
	if err := errors.Join(os.RemoveAll(at), os.Rename(was, at)); err != nil && p.name != ".scribe/audit/1.base" {
		p.Fatal(err)
	}
	r, err := Open(dir, o)
	if err != nil {
		p.Fatalf("put back: %v", err)
	}
	defer r.Close()
	if got := read(p.T, r, "a.md"); got != "old a\n" {
		p.Errorf("put back, a.md is %q", got)
	}
	wellOnDisk(p, "put back", r)
}

// tree is everything below a directory, as text.
func (p planted) tree(dir string) string {
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		fi, err := e.Info()
		if err != nil {
			return err
		}
		var data []byte
		if fi.Mode().IsRegular() {
			data, err = os.ReadFile(path)
		}
		fmt.Fprintf(&b, "%s %v %q\n", path, fi.Mode(), data)
		return err
	})
	if err != nil {
		p.Error(err)
	}
	return b.String()
}

// use does all that a room can do, twice.
func (p planted) use(dir string, o *Options) {
	ctx := context.Background()
	say := func(op string, err error) {
		noPath(p, err, dir)
		var refusal *rootfs.Refusal
		var broken *fs.PathError
		if err != nil && !errors.As(err, &refusal) && !errors.As(err, &broken) && !errors.Is(err, fs.ErrNotExist) {
			p.Errorf("%s: %v names no place", op, err)
		}
	}
	for n := range 2 {
		r, err := Open(dir, o)
		if say("open", err); (err != nil) != refusedAt(p.name, p.kind) {
			p.Errorf("open: %v", err)
		}
		if err != nil {
			return
		}
		seen := ""
		for m, err := range r.List(ctx, stageActive, stageChanged, stageUnaccepted, stageForeign, stagePending, stageArchived) {
			say("list", err)
			seen += m.Text + m.Description
		}
		s, err := r.Session(ctx, fmt.Sprint("s", n), UserObserved)
		say("session", err)
		if err == nil {
			sn, err := s.Snapshot(ctx)
			say("snapshot", err)
			seen += sn.Text
			_, err = s.Suggest(ctx, Segment{Text: "What was the old a about, in short?"})
			say("suggest", err)
			_, err = s.Guard(1).Propose(ctx, Candidate{Path: "d/b.md", Text: "yet another\n"})
			say("hold", err)
		}
		vs, err := r.Propose(ctx, Candidate{Path: fmt.Sprintf("n%d.md", n), Text: "new\n"})
		if say("add", err); p.name != ".scribe" && (err != nil || vs[0].Outcome != Accepted) {
			p.Errorf("a new memory: %v, %v", vs, err)
		}
		_, err = r.Propose(ctx, Candidate{Path: "a.md", Old: "old", New: "old, and new"})
		say("edit", err)
		_, err = r.Recall(ctx, Query{Text: "old a"})
		say("recall", err)
		for m := range r.List(ctx, stagePending) {
			_, err = r.Resolve(ctx, Resolution{ID: m.ID, Hash: m.Hash, Approve: true})
			say("resolve", err)
		}
		_, err = r.Restore(ctx, "gone.md")
		say("restore", err)
		for _, repair := range []bool{false, true} {
			_, err = r.Check(ctx, repair)
			say("check", err)
		}
		_, err = r.Archive(ctx, "", "", "a.md")
		say("archive", err)
		_, err = r.Purge(ctx, "d/b.md", "x")
		say("purge", err)
		_, err = r.Prune(ctx, 0, 0, false)
		say("prune", err)
		r.Close()
		if strings.Contains(seen, strings.TrimSpace(plantSecret)) {
			p.Error("what a link leads to was read")
		}
	}
}
