package scribe

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/memoryroom/scribe/internal/rootfs"
)

// gathered runs proposals so that all of them wait for the lock at the same time, in
// their order, and gives what each came to.
func gathered(t *testing.T, r *Room, cs ...Candidate) ([]Verdict, []error) {
	t.Helper()
	ctx := context.Background()
	unlock, err := r.lock(ctx)
	if err != nil {
		t.Fatal(err)
	}
	verdicts, errs := make([]Verdict, len(cs)), make([]error, len(cs))
	var wg sync.WaitGroup
	for i, c := range cs {
		wg.Go(func() {
			vs, err := r.Propose(ctx, c)
			if errs[i] = err; err == nil {
				verdicts[i] = vs[0]
			}
		})
		for queued := 0; queued <= i; { // the next one comes after it
			r.queue.mu.Lock()
			queued = len(r.queue.waiting)
			r.queue.mu.Unlock()
		}
	}
	unlock()
	wg.Wait()
	return verdicts, errs
}

func TestGroupSharesFlushes(t *testing.T) {
	r, mem := newRoom(t, nil)
	store(t, r, Operator, Candidate{Path: "first.md", Text: "first\n"})
	appends, dirs := 0, 0
	mem.Hook(func(op, name string) error {
		if op == "append" {
			appends++
		}
		if op == "sync" && !strings.Contains(name, ".scribe/tmp/") {
			dirs++
		}
		return nil
	})
	var cs []Candidate
	for i := range 16 {
		cs = append(cs, Candidate{Path: fmt.Sprintf("m%d.md", i), Text: fmt.Sprintf("text %d\n", i)})
	}
	vs, errs := gathered(t, r, cs...)
	mem.Hook(nil)
	for i, v := range vs {
		if errs[i] != nil || v.Outcome != Accepted || read(t, r, cs[i].Path) != cs[i].Text {
			t.Errorf("%s: %v, %v", cs[i].Path, v.Err(), errs[i])
		}
	}
	// One append; the journal, tmp, the room and the versions flushed once.
	if appends != 1 || dirs != 4 {
		t.Errorf("%d appends and %d flushes beside the new files' own, want 1 and 4", appends, dirs)
	}
	sound(t, "after the group", mem, r)
}

// TestGroupVerdicts: each is judged against the room after those before it, so that
// together comes out what comes out one by one.
func TestGroupVerdicts(t *testing.T) {
	opts := &Options{Limits: Limits{Memories: 4}}
	first := Candidate{Path: "a.md", Text: "one\n"}
	r, mem := newRoom(t, opts)
	serial, _ := newRoom(t, opts)
	a := store(t, r, Operator, first)
	store(t, serial, Operator, first)
	cs := []Candidate{
		{Path: "a.md", Old: "one", New: "one, two"},
		{Path: "a.md", Old: "two", New: "two, three"}, // builds on the one before
		{Path: "a.md", Text: "stale\n", Base: a.Hash}, // stale by now
		{Path: "b.md", Text: "b\n", Key: "k"},
		{Path: "c.md", Text: "c\n", Key: "K"}, // the key is taken by now
		{Path: "b.md", Text: "b\n", Key: "k"}, // the same again
		{Path: "d.md", Text: "d\n"},
		{Path: "d.md", To: "e.md"},
		{Path: "d.md", Text: "d again\n"}, // freed just now
		{Path: "f.md", Text: "f\n"},
		{Path: "g.md", Text: "g\n"}, // one too many
	}
	together, errs := gathered(t, r, cs...)
	outcomes := map[Outcome]int{}
	for i, c := range cs {
		vs, err := serial.Propose(context.Background(), c)
		if err != nil || errs[i] != nil {
			t.Fatal(err, errs[i])
		}
		got, want := together[i], vs[0]
		if got.Outcome != want.Outcome || fmt.Sprint(ruleNames(got.Findings)) != fmt.Sprint(ruleNames(want.Findings)) {
			t.Errorf("%d, %s: together %v %v, alone %v %v", i, c.Path, got.Outcome, ruleNames(got.Findings), want.Outcome, ruleNames(want.Findings))
		}
		outcomes[want.Outcome]++
	}
	if outcomes[Accepted] < 6 || outcomes[Rejected] < 3 {
		t.Errorf("control: %v", outcomes)
	}
	if got, want := stateOf(t, r), stateOf(t, serial); got != want {
		t.Errorf("together\n  %s\nalone\n  %s", got, want)
	}
	sound(t, "after the group", mem, r)
}

// TestGroupMembersFailAlone: what befalls one does not befall its neighbours.
func TestGroupMembersFailAlone(t *testing.T) {
	cs := []Candidate{
		{Path: "a.md", Old: "old", New: "new"}, {Path: "d/b.md", Old: "old", New: "new"}, {Path: "c.md", Text: "new c\n"},
	}
	for _, c := range []struct {
		name string
		hook func(mem *rootfs.Mem, seen map[string]int) func(op, name string) error
		want [3]string // of each candidate: ok, stale, or an error
	}{
		{"no space for one", func(_ *rootfs.Mem, seen map[string]int) func(op, name string) error {
			return func(op, name string) error {
				if op == "write" && strings.HasSuffix(name, ".new") {
					if seen[name]++; seen[name] == 1 && len(seen) == 2 {
						return syscall.ENOSPC // whichever comes second, once
					}
				}
				return nil
			}
		}, [3]string{"ok", "ok", "ok"}},
		{"a directory for one fails", func(*rootfs.Mem, map[string]int) func(op, name string) error {
			return func(op, name string) error {
				if op == "exchange" && name == "d/b.md" {
					return syscall.EACCES
				}
				return nil
			}
		}, [3]string{"ok", "permission denied", "ok"}},
		{"an editor saves one", func(mem *rootfs.Mem, seen map[string]int) func(op, name string) error {
			return func(op, name string) error {
				if op == "exchange" && name == "a.md" && seen[name] == 0 {
					seen[name]++
					mem.Plant("a.md", rootfs.File, []byte("an editor's\n"))
				}
				return nil
			}
		}, [3]string{"stale", "ok", "ok"}},
		{"a flush of the bytes of one fails once", func(_ *rootfs.Mem, seen map[string]int) func(op, name string) error {
			return func(op, name string) error {
				if op == "sync" && strings.HasSuffix(name, ".ver") && len(seen) == 0 {
					seen[name]++
					return syscall.EIO
				}
				return nil
			}
		}, [3]string{"ok", "ok", "ok"}},
		{"the journal can not be flushed", func(*rootfs.Mem, map[string]int) func(op, name string) error {
			return func(op, name string) error {
				if op == "sync" && strings.HasSuffix(name, auditName) {
					return syscall.EIO
				}
				return nil
			}
		}, [3]string{"input/output error", "input/output error", "input/output error"}},
	} {
		t.Run(strings.ReplaceAll(c.name, " ", "-"), func(t *testing.T) {
			r, mem := newRoom(t, nil)
			store(t, r, Operator, Candidate{Path: "a.md", Text: "old a\n"})
			store(t, r, Operator, Candidate{Path: "d/b.md", Text: "old b\n"})
			mem.Hook(c.hook(mem, map[string]int{}))
			vs, errs := gathered(t, r, cs...)
			mem.Hook(nil)
			again := r
			if r.poisoned() {
				again = reopen(t, mem, nil)
			}
			for i, want := range c.want {
				got := "ok"
				switch {
				case errs[i] != nil:
					got = errs[i].Error()
				case errors.Is(vs[i].Err(), ErrStale):
					got = "stale"
				case vs[i].Err() != nil:
					got = vs[i].Err().Error()
				}
				if !strings.HasSuffix(got, want) {
					t.Errorf("%s: got %q, want %q", cs[i].Path, got, want)
				}
				m, err := again.Read(context.Background(), cs[i].Path)
				if acked := got == "ok"; acked != (err == nil && strings.HasPrefix(m.Text, "new")) {
					t.Errorf("%s: %s, and the room holds %q, %v", cs[i].Path, got, m.Text, err)
				}
			}
			sound(t, c.name, mem, reopen(t, mem, nil), "check.changed")
		})
	}
}

// TestGroupMemberGivesUp lets members of a group give up while they are judged, and holds
// that the next is judged against the room with those before it in it, each once, and that
// the room's own state is left alone.
func TestGroupMemberGivesUp(t *testing.T) {
	r, _ := newRoom(t, nil)
	store(t, r, Operator, Candidate{Path: "first.md", Text: "first\n"})
	unlock, err := r.lock(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer unlock()
	before := r.stateNow()
	seq, accepted := before.Seq, len(before.Accepted)
	var saw []string
	ask := func(path string, givesUp bool) *waiter {
		ctx, cancel := context.WithCancel(context.Background())
		t.Cleanup(cancel)
		return &waiter{ctx: ctx, over: make(chan struct{}), build: func(w *world) (*batch, error) {
			saw = append(saw, fmt.Sprint(w.state.Seq-seq, len(w.state.Accepted)-accepted, strings.Count(string(w.index), "\n")))
			if givesUp {
				cancel()
				return nil, ctx.Err()
			}
			plan, err := r.prepare(w, author{hand: true, ceiling: Operator}, []Candidate{{Path: path, Text: path + "\n"}})
			if err != nil {
				return nil, err
			}
			judgePlan(plan, w)
			b, _, err := r.settle(w, plan)
			return b, err
		}}
	}
	gone := ask("x.md", false)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	gone.ctx = ctx
	group, rest := r.gather([]*waiter{ask("0.md", true), ask("a.md", false), ask("1.md", true), gone, ask("b.md", false), ask("2.md", true), ask("c.md", false)})
	if len(group) != 3 || len(rest) != 0 {
		t.Errorf("%d in the group, %d left, want 3 and 0", len(group), len(rest))
	}
	want := "[0 0 1 0 0 1 1 1 2 1 1 2 2 2 3 2 2 3]"
	if got := fmt.Sprint(saw); got != want {
		t.Errorf("rows, memories and lines of the index that each saw:\n got %s\nwant %s", got, want)
	}
	if r.stateNow() != before || before.Seq != seq || len(before.Accepted) != accepted {
		t.Error("the room's own state was changed")
	}
}
