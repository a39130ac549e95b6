package scribe

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/memoryroom/scribe/internal/journal"
	"github.com/memoryroom/scribe/internal/rootfs"
)

// A power cut, a failing disk and an editor, at every step of every change. What must
// hold: the room is as it was before the change or as it is after it, an acknowledged
// change is there, nothing else is left over, and opening it again changes nothing.

var soak = flag.Bool("soak", false, "run every image of the crash sweeps, and more seeds")

// work is one change of a room. run reports whether it was acknowledged.
type work struct {
	name  string
	opts  *Options
	setup func(t testing.TB, r *Room)
	run   func(r *Room) (acked bool, err error)
}

func ackOf(vs []Verdict, err error) (bool, error) {
	for _, v := range vs {
		if v.Outcome != Accepted {
			return false, err
		}
	}
	return err == nil, err
}

func ackOne(v Verdict, err error) (bool, error) { return ackOf([]Verdict{v}, err) }

// resolveAll decides all that waits.
func resolveAll(r *Room, approve bool) ([]Verdict, error) {
	var rs []Resolution
	for m, err := range r.List(context.Background(), stagePending) {
		if err != nil {
			return nil, err
		}
		rs = append(rs, Resolution{ID: m.ID, Hash: m.Hash, Approve: approve})
	}
	if len(rs) == 0 {
		return nil, errors.New("nothing waits")
	}
	return r.Resolve(context.Background(), rs...)
}

// workload is every change that a room knows. They act on a.md ("old a"), d/b.md and
// gone.md (archived).
func workload() []work {
	ctx := context.Background()
	hand := func(cs ...Candidate) func(*Room) (bool, error) {
		return func(r *Room) (bool, error) { return ackOf(r.Propose(ctx, cs...)) }
	}
	base := func(t testing.TB, r *Room) {
		store(t, r, Operator, Candidate{Path: "a.md", Text: "old a\n"})
		store(t, r, Operator, Candidate{Path: "d/b.md", Description: "x", Text: "old b\n"})
		store(t, r, Operator, Candidate{Path: "gone.md", Text: "old gone\n"})
		if err := archived(r, "gone.md"); err != nil {
			t.Fatal(err)
		}
	}
	waits := func(cs ...Candidate) func(t testing.TB, r *Room) {
		return func(t testing.TB, r *Room) {
			base(t, r)
			r.opts.ReviewAll = true
			defer func() { r.opts.ReviewAll = false }()
			if _, err := session(t, r, UserObserved).Guard(1).Propose(ctx, cs...); err != nil {
				t.Fatal(err)
			}
		}
	}
	plan := []Candidate{{Path: "a.md", Old: "old", New: "new"}, {Path: "d/b.md", Remove: true}, {Path: "f.md", Text: "new f\n"}}
	return []work{
		{"first", nil, func(testing.TB, *Room) {}, hand(Candidate{Path: "a.md", Text: "new a\n"})},
		{"add", nil, base, hand(Candidate{Path: "n/c.md", Text: "new c\n"})},
		{"edit", nil, base, hand(Candidate{Path: "a.md", Old: "old", New: "new"})},
		{"replace", nil, base, hand(Candidate{Path: "a.md", Text: "new a\n", Base: journal.Sum([]byte("old a\n"))})},
		{"rename", nil, base, hand(Candidate{Path: "a.md", To: "e/z.md"})},
		{"rename with labels", nil, base, hand(Candidate{Path: "d/b.md", To: "e/z.md"})},
		{"remove", nil, base, hand(Candidate{Path: "a.md", Remove: true})},
		{"plan", nil, base, hand(plan...)},
		{"supersede", nil, base, hand(Candidate{Path: "f.md", Text: "new f\n", Supersedes: []string{"a.md"}})},
		{"supersede with labels", nil, base, hand(Candidate{Path: "f.md", Description: "f", Text: "new f\n", Supersedes: []string{"d/b.md"}})},
		{"restore what was superseded", nil, func(t testing.TB, r *Room) {
			base(t, r)
			wantAccepted(t, byHand(t, r, Candidate{Path: "f.md", Description: "f", Text: "new f\n", Supersedes: []string{"d/b.md"}}))
		}, func(r *Room) (bool, error) {
			v, err := restored(r, "d/b.md")
			return err == nil && v.Outcome == Held, err
		}},
		{"suspend", nil, base, func(r *Room) (bool, error) {
			vs, err := r.Suspend(ctx, "x", "d/b.md")
			return err == nil && vs[0].Outcome == Held, err
		}},
		{"rollback of a supersession", nil, func(t testing.TB, r *Room) {
			base(t, r)
			wantAccepted(t, byHand(t, r, Candidate{Path: "f.md", Description: "f", Text: "new f\n", Supersedes: []string{"d/b.md"}}))
		}, func(r *Room) (bool, error) { return ackOne(rolledBack(r, 3, "f.md")) }},
		{"archive", nil, base, func(r *Room) (bool, error) { err := archived(r, "a.md"); return err == nil, err }},
		{"restore", nil, base, func(r *Room) (bool, error) { return ackOne(restored(r, "gone.md")) }},
		{"rollback", nil, func(t testing.TB, r *Room) {
			base(t, r)
			wantAccepted(t, byHand(t, r, Candidate{Path: "a.md", Old: "old", New: "newer"}))
		}, func(r *Room) (bool, error) { return ackOne(rolledBack(r, 2, "a.md")) }},
		{"adopt", nil, func(t testing.TB, r *Room) {
			base(t, r)
			m, err := r.Read(ctx, "a.md")
			if err != nil {
				t.Fatal(err)
			}
			r.opts.Name = m.Hash // carried to run
		}, func(r *Room) (bool, error) {
			return ackOf(r.Adopt(ctx, UserVerified, Memory{Path: "a.md", Hash: r.opts.Name}))
		}},
		{"hold", nil, base, func(r *Room) (bool, error) {
			s, err := r.Session(ctx, "holder", UserObserved)
			if err != nil {
				return false, err
			}
			vs, err := s.Guard(1).Propose(ctx, Candidate{Path: "a.md", Text: "other a\n"})
			return err == nil && vs[0].Outcome == Held, err
		}},
		{"approve", nil, waits(Candidate{Path: "a.md", Old: "old", New: "held"}), func(r *Room) (bool, error) { return ackOf(resolveAll(r, true)) }},
		{"approve a plan", nil, waits(plan...), func(r *Room) (bool, error) { return ackOf(resolveAll(r, true)) }},
		{"refuse", nil, waits(plan[0]), func(r *Room) (bool, error) { vs, err := resolveAll(r, false); return len(vs) > 0, err }},
		{"purge", nil, waits(plan[0]), func(r *Room) (bool, error) {
			left, err := r.Purge(ctx, "a.md", "x")
			return err == nil && len(left) == 0, err
		}},
		{"purge of the archive", nil, base, func(r *Room) (bool, error) {
			left, err := r.Purge(ctx, "gone.md", "x")
			return err == nil && len(left) == 0, err
		}},
	}
}

// stateOf is all that a room lists, as one text.
func stateOf(t testing.TB, r *Room) string {
	t.Helper()
	var out []string
	for _, m := range listed(t, r, stageActive, stageChanged, stageUnaccepted, stageArchived, stagePending) {
		text := m.Text
		if i := strings.LastIndex(text, "---\n"); i >= 0 {
			text = "labels " + m.Description + " " + text[i+4:] // less the clock's mirror
		}
		out = append(out, fmt.Sprintf("%s %s %v %q", m.Stage, m.Path, m.Trust, text))
	}
	slices.Sort(out)
	return strings.Join(out, "; ")
}

// prepared is a room on which w can run.
func (w work) prepared(t testing.TB) (*rootfs.Mem, *Room) {
	t.Helper()
	r, mem := newRoom(t, w.opts)
	w.setup(t, r)
	return mem, r
}

// ends gives what a room lists before w and after it.
func (w work) ends(t testing.TB) (before, after string) {
	t.Helper()
	_, r := w.prepared(t)
	before = stateOf(t, r)
	if acked, err := w.run(r); !acked {
		t.Fatalf("control: %s does not work: %v", w.name, err)
	}
	return before, stateOf(t, r)
}

func mutates(op string) bool {
	return !slices.Contains([]string{"lstat", "readdir", "read", "identity", "writable"}, op)
}

// tryOpen opens what a crash left.
func tryOpen(t testing.TB, mem *rootfs.Mem) (*Room, error) {
	t.Helper()
	o, err := (&Options{Now: tick()}).settle()
	if err != nil {
		t.Fatal(err)
	}
	return openOn(rootfs.New(mem), o)
}

// sound checks what holds in every room that was just opened. outside are the rules of
// Check that an outside hand explains.
func sound(t testing.TB, at string, mem *rootfs.Mem, r *Room, outside ...string) {
	t.Helper()
	fs, err := r.Check(context.Background(), false)
	if err != nil {
		t.Errorf("%s: check: %v", at, err)
	}
	for _, f := range fs {
		if f.Outcome != Accepted && !slices.Contains(outside, f.Rule) { // else only worth knowing
			t.Errorf("%s: check: %s %s", at, f.Rule, f.Field)
		}
	}
	files := everyFile(t, mem, "")
	state, expected := r.ledger.state, map[string]bool{}
	for id := range state.Pending {
		expected[".scribe/"+pendingName(id)] = true
	}
	for _, old := range state.Archived {
		expected[".scribe/"+archiveName(old.Retired, old.Path)] = true
		if _, err := r.version(old.Seq, old.Hash); err != nil { // what Restore reads; the copy in the archive is for people
			t.Errorf("%s: the archived %s: %v", at, old.Path, err)
		}
	}
	for name := range files {
		dir, _, _ := strings.Cut(strings.TrimPrefix(name, ".scribe/"), "/")
		if slices.Contains([]string{"tmp", "pending", "archive"}, dir) && !expected[name] {
			t.Errorf("%s: %s is left over", at, name)
		}
	}
	if _, err := tryOpen(t, mem); err != nil {
		t.Errorf("%s: opened again: %v", at, err)
	}
	if again := everyFile(t, mem, ""); !maps.Equal(files, again) {
		t.Errorf("%s: opening it again changed\n%s", at, changedFiles(files, again))
	}
}

func changedFiles(a, b map[string]string) string {
	var out strings.Builder
	for _, name := range sortedKeys(a) {
		if text, ok := b[name]; !ok || text != a[name] {
			fmt.Fprintf(&out, "  %s: %.200q, was %.200q\n", name, text, a[name])
		}
	}
	for _, name := range sortedKeys(b) {
		if _, ok := a[name]; !ok {
			fmt.Fprintf(&out, "  %s: new, %.200q\n", name, b[name])
		}
	}
	return out.String()
}

// image is what a power cut at one step leaves.
type image struct {
	at    string
	mem   *rootfs.Mem
	acked bool
}

// images runs act and gives a crash image before each step that writes, and at its end.
func images(mem *rootfs.Mem, rng *rand.Rand, keep float64, act func() bool) []image {
	var all []image
	mem.Hook(func(op, name string) error {
		if mutates(op) {
			all = append(all, image{at: op + " " + name, mem: mem.CrashClone(rng, keep)})
		}
		return nil
	})
	acked := act()
	mem.Hook(nil)
	return append(all, image{"the end", mem.CrashClone(rng, keep), acked})
}

// crashRecovery opens an image, and when deep also cuts the power at each step of that.
func crashRecovery(t testing.TB, at string, im image, rng *rand.Rand, before, after string, deep bool) {
	t.Helper()
	var second []image
	if deep {
		copied := im.mem.CrashClone(rng, 1)
		second = images(copied, rng, 0.5, func() bool { _, err := tryOpen(t, copied); return err == nil })
	}
	for n, im2 := range append([]image{{mem: im.mem}}, second...) {
		at := at
		if n > 0 {
			at += fmt.Sprintf(", and in recovery, %d: %s", n, im2.at)
		}
		r, err := tryOpen(t, im2.mem)
		if err != nil {
			t.Errorf("%s: the room does not open: %v", at, err)
			continue
		}
		got := stateOf(t, r)
		if got != after && (got != before || im.acked) {
			t.Errorf("%s (acknowledged %v): it holds\n  %s\nbefore\n  %s\nafter\n  %s", at, im.acked, got, before, after)
		}
		sound(t, at, im2.mem, r)
		if vs, err := r.Propose(context.Background(), Candidate{Path: "later.md", Text: "later\n"}); err != nil || vs[0].Outcome != Accepted {
			t.Errorf("%s: the next change: %v, %v", at, vs, err)
		}
	}
}

// failures are what a disk says, and the errors that a system gives for it.
var failures = []error{syscall.EIO, syscall.ENOSPC, syscall.EACCES, syscall.EROFS, syscall.EDQUOT, syscall.EMFILE}

// TestErrorAtEveryStep: each operation of each change fails, once, in bursts, or from
// then on for good, with each of the errors.
// It holds the report crash-enospc.
func TestErrorAtEveryStep(t *testing.T) {
	every := 5 // step, unless it soaks
	switch {
	case *soak:
		every = 1
	case testing.Short(), raceEnabled:
		every = 40
	}
	var runs atomic.Int64
	t.Run("all", func(t *testing.T) {
		for at, w := range workload() {
			t.Run(strings.ReplaceAll(w.name, " ", "-"), func(t *testing.T) {
				t.Parallel()
				before, after := w.ends(t)
				for i, failure := range failures {
					for k, burst := range []int{1, 2, 5, 0} {
						for step := (at + i + k) % every; errorAt(t, w, step, failure, burst, before, after); step += every {
							runs.Add(1)
							if t.Failed() && !*soak {
								return
							}
						}
					}
				}
			})
		}
	})
	t.Logf("%d runs with a failing operation", runs.Load())
}

// errorAt runs w while burst steps that write fail from one step on (0: all of them), the
// first whatever it is, and reports whether there was such a step.
func errorAt(t testing.TB, w work, step int, failure error, burst int, before, after string) bool {
	t.Helper()
	mem, r := w.prepared(t)
	n, failed, where := 0, 0, ""
	mem.Hook(func(op, name string) error {
		if op == "writable" {
			return nil
		}
		n++
		if n-1 == step || failed > 0 && (burst == 0 || failed < burst) && mutates(op) && op != "remove" {
			if failed++; where == "" {
				where = op + " " + name
			}
			return failure
		}
		return nil
	})
	acked, err := w.run(r)
	mem.Hook(nil)
	if where == "" {
		return false
	}
	at := fmt.Sprintf("%v (times %d) at %d: %s", failure, burst, step, where)
	if err != nil && !errors.Is(err, failure) {
		t.Errorf("%s: the fault is not in the error's chain: %v", at, err)
	}
	if got := stateOf(t, r); acked && got != after {
		t.Errorf("%s: acknowledged, and it holds\n  %s\nwant\n  %s", at, got, after)
	}
	if vs, err := r.Propose(context.Background(), Candidate{Path: "same.md", Text: "same\n"}); !errors.Is(err, fs.ErrPermission) && (err != nil || vs[0].Outcome != Accepted) {
		t.Errorf("%s: the same handle's next change: %v, %v", at, vs, err)
	}
	again, err := tryOpen(t, mem)
	if err != nil {
		t.Errorf("%s: the room does not open: %v", at, err)
		return true
	}
	if _, err := again.Propose(context.Background(), Candidate{Path: "same.md", Remove: true}); err != nil {
		t.Errorf("%s: the next process: %v", at, err)
	}
	got := strings.Split(stateOf(t, again), "; ")
	got = slices.DeleteFunc(got, func(s string) bool { return strings.Contains(s, "same.md") })
	if s := strings.Join(got, "; "); s != after && (s != before || acked) {
		t.Errorf("%s (acknowledged %v): reopened, it holds\n  %s\nbefore\n  %s\nafter\n  %s", at, acked, s, before, after)
	}
	sound(t, at, mem, again)
	return true
}

// TestEditorAtEveryStep: whatever an editor saves while a change runs is in the room
// afterwards, or among the versions; after a power cut too.
func TestEditorAtEveryStep(t *testing.T) {
	places := map[string][]string{"add": {"n/c.md"}, "rename": {"a.md", "e/z.md"}, "rename with labels": {"d/b.md", "e/z.md"}, "restore": {"gone.md"}, "plan": {"a.md", "d/b.md", "f.md"}, "approve a plan": {"a.md", "d/b.md", "f.md"}, "supersede": {"a.md", "f.md"}}
	for _, w := range workload() {
		t.Run(strings.ReplaceAll(w.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			where := places[w.name]
			if where == nil {
				where = []string{"a.md"}
			}
			stride := 5
			if *soak {
				stride = 1
			}
			for _, path := range append(where, indexName) {
				for step := 0; editorAt(t, w, step, path); step += stride {
					if t.Failed() && !*soak {
						return
					}
				}
			}
		})
	}
}

// editorAt runs w while an editor saves path before one step, and looks for the bytes
// at the end, and after a power cut somewhere between.
func editorAt(t testing.TB, w work, step int, path string) bool {
	t.Helper()
	const saved = "saved by an editor\n"
	mem, r := w.prepared(t)
	n, where, looked := 0, "", false
	rng := rand.New(rand.NewPCG(uint64(step), 1))
	cut := step + 1 + rng.IntN(6)
	var crashed *rootfs.Mem
	mem.Hook(func(op, name string) error {
		if n == step {
			where = op + " " + name
			mem.Plant(path, rootfs.File, []byte(saved))
		}
		looked = looked || where == "" && op == "read" && name == path
		if n == cut {
			crashed = mem.CrashClone(rng, float64(rng.IntN(3))/2)
		}
		n++
		return nil
	})
	_, err := w.run(r)
	mem.Hook(nil)
	if where == "" {
		return false
	}
	at := fmt.Sprintf("%s saved at %d: %s", path, step, where)
	if err != nil && !errors.Is(err, ErrStale) && !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("%s: %v", at, err)
	}
	if w.name == "purge" && path == "a.md" && !looked {
		return true // what purge finds there, it purges
	}
	for when, mem := range map[string]*rootfs.Mem{"": mem, ", then a power cut": crashed} {
		if mem == nil {
			continue
		}
		there := holds(t, mem, path, saved)
		if when == "" && !there {
			t.Errorf("%s: the bytes are gone", at)
		}
		again, err := tryOpen(t, mem)
		if err != nil {
			t.Errorf("%s%s: the room does not open: %v", at, when, err)
			continue
		}
		if there && !holds(t, mem, path, saved) {
			t.Errorf("%s%s: the bytes are gone when the room is opened", at, when)
		}
		sound(t, at+when, mem, again, "check.changed")
	}
	return true
}

// holds reports whether an editor's bytes are somewhere: as a file, or in MEMORY.md as
// lines among the library's.
func holds(t testing.TB, mem *rootfs.Mem, path, saved string) bool {
	t.Helper()
	for _, text := range everyFile(t, mem, "") {
		if text == saved || path == indexName && strings.Contains(text, saved) {
			return true
		}
	}
	return false
}

// TestTwoRoomsAndAReader: readers without the lock beside two processes that write.
func TestTwoRoomsAndAReader(t *testing.T) {
	ctx := context.Background()
	first := diskRoom(t)
	store(t, first, Operator, Candidate{Path: "a.md", Text: "start\n"})
	second, err := Open(first.disk.Path(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	stop := make(chan struct{})
	var readers, writers sync.WaitGroup
	var mu sync.Mutex
	var acked []string
	for w, r := range []*Room{first, second} {
		readers.Go(func() {
			for {
				select {
				case <-stop:
					return
				default:
				}
				if head, err := r.Head(); head == "" || err != nil {
					t.Errorf("head %q, %v", head, err)
				}
				if m, err := r.Read(ctx, "a.md"); err != nil || !strings.HasPrefix(m.Text, "start\n") {
					t.Errorf("read: %q, %v", m.Text, err)
				}
				for _, err := range r.List(ctx) {
					if err != nil {
						t.Error(err)
					}
				}
			}
		})
		g := session(t, r, UserObserved).Guard(1)
		if _, err := r.Adopt(ctx, UserObserved, listed(t, r)...); err != nil {
			t.Fatal(err)
		}
		writers.Go(func() {
			deadline := time.Now().Add(500 * time.Millisecond)
			for i := 0; time.Now().Before(deadline); i++ {
				mark := fmt.Sprintf("w%di%d", w, i)
				vs, err := g.Propose(ctx, Candidate{Path: "a.md", Old: "start\n", New: "start\n" + mark + "\n"})
				if err != nil {
					t.Error(err)
					return
				}
				if vs[0].Outcome == Accepted {
					mu.Lock()
					acked = append(acked, mark)
					mu.Unlock()
				}
			}
		})
	}
	writers.Wait()
	close(stop)
	readers.Wait()
	text := read(t, second, "a.md")
	for _, mark := range acked {
		if !strings.Contains(text, mark+"\n") {
			t.Errorf("the acknowledged %s is lost", mark)
		}
	}
	if len(acked) < 2 {
		t.Errorf("control: %d edits were acknowledged", len(acked))
	}
	for _, r := range []*Room{first, second} {
		if fs, err := r.Check(ctx, false); err != nil || len(fs) > 0 {
			t.Errorf("%v, %v", fs, err)
		}
	}
	if names, err := first.disk.LibList("tmp"); err != nil || len(names) > 0 {
		t.Errorf("left in tmp: %q, %v", names, err)
	}
}

// TestSnapshotBesideAWriter: a memory that is being changed or renamed is there, and
// nobody changed it outside.
func TestSnapshotBesideAWriter(t *testing.T) {
	ctx := context.Background()
	r := diskRoom(t)
	store(t, r, Operator, Candidate{Path: "a.md", Text: "The standing fact.\n"})
	other, err := Open(r.disk.Path(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	var writer sync.WaitGroup
	stop := make(chan struct{})
	writer.Go(func() {
		names := []string{"a.md", "b.md"}
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
			}
			from, to := names[i%2], names[(i+1)%2]
			for _, c := range []Candidate{{Path: from, Old: "fact.", New: "fact. More."}, {Path: from, Old: " More.", New: ""}, {Path: from, To: to}} {
				if vs, err := r.Propose(ctx, c); err != nil || vs[0].Outcome != Accepted {
					t.Errorf("%v, %v", vs, err)
					return
				}
			}
		}
	})
	s := session(t, other, UserObserved)
	deadline := time.Now().Add(700 * time.Millisecond)
	for n := 0; time.Now().Before(deadline) && !t.Failed(); n++ {
		sn, err := s.render(ctx)
		if err != nil {
			t.Error(err)
		}
		if !strings.Contains(sn.Text, "The standing fact.") || strings.Contains(sn.Text, "changed-outside") || sn.Unaccepted > 0 {
			t.Errorf("snapshot %d:\n%s", n, sn.Text)
		}
	}
	close(stop)
	writer.Wait()
}
