package scribe

// The second half of guarantees_test.go: G7 to G12.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memoryroom/scribe/internal/journal"
	"github.com/memoryroom/scribe/internal/rootfs"
)

func TestG7_NothingIsEvicted(t *testing.T) {
	ctx := context.Background()
	o := &Options{Limits: Limits{Memories: 3, Pending: 4, IndexLines: 2}}
	r, _ := newRoom(t, o)
	for _, name := range []string{"a", "b", "c"} {
		store(t, r, UserObserved, Candidate{Path: name + ".md", Text: "Fact " + name + ".\n"})
	}
	wantRule(t, offer(t, r, UserObserved, Candidate{Path: "d.md", Text: "Fact d.\n"}), Rejected, "cap.memories")
	v := offer(t, r, UserObserved, Candidate{Path: "a.md", Old: "Fact", New: "The fact"})
	wantRule(t, v, Accepted, "cap.index-lines") // loud, and no obstacle
	if got, want := paths(listed(t, r)), []string{"a.md", "b.md", "c.md"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}

	for i := range 3 {
		v = offer(t, r, ExternalWeb, Candidate{Path: "a.md", Text: fmt.Sprintf("Flood %d.\n", i)})
	}
	wantRule(t, v, Rejected, "cap.pending") // a flood from outside fills half of it
	if got := len(listed(t, r, stagePending)); got != 2 {
		t.Errorf("%d wait, want 2", got)
	}

	// Removal frees a name for nobody, and loses no text.
	if v := offer(t, r, UserObserved, Candidate{Path: "b.md", Remove: true}); v.Outcome != Accepted {
		t.Fatal(v.Err())
	}
	if res := listed(t, r, stagePending); len(res) > 0 {
		for _, m := range res {
			if _, err := r.Resolve(ctx, Resolution{ID: m.ID, Hash: m.Hash}); err != nil {
				t.Fatal(err)
			}
		}
	}
	wantRule(t, offer(t, r, UserObserved, Candidate{Path: "b.md", Text: "Another truth.\n"}), Held, "conflict.retired")
	if v, err := restored(r, "b.md"); err != nil || v.Outcome != Accepted || read(t, r, "b.md") != "Fact b.\n" {
		t.Errorf("control: restore: %v, %v, %q", v.Err(), err, read(t, r, "b.md"))
	}
}

// TestG7_PlansMeetTheLimits: several candidates at once pass no limit that one by
// one they would meet.
func TestG7_PlansMeetTheLimits(t *testing.T) {
	ctx := context.Background()
	plan := func(n int, text string) (cs []Candidate) {
		for i := range n {
			cs = append(cs, Candidate{Path: fmt.Sprintf("p%d.md", i), Text: fmt.Sprintf(text, i)})
		}
		return cs
	}
	r, _ := newRoom(t, &Options{Limits: Limits{Memories: 2, Pending: 2}})
	if _, err := session(t, r, UserObserved).Guard(1).Propose(ctx, plan(4, "Fact %d.\n")...); err != nil {
		t.Fatal(err)
	}
	if got := len(listed(t, r)); got > 2 {
		t.Errorf("a plan of 4 left %d memories; the limit is 2", got)
	}
	r, _ = newRoom(t, &Options{Limits: Limits{Memories: 2, Pending: 2}, ReviewAll: true})
	if _, err := session(t, r, UserObserved).Guard(1).Propose(ctx, plan(4, "Fact %d.\n")...); err != nil {
		t.Fatal(err)
	}
	if got := len(listed(t, r, stagePending)); got > 2 {
		t.Errorf("a plan of 4 left %d waiting; the limit is 2", got)
	}
	r, _ = newRoom(t, &Options{Limits: Limits{Memories: 2}})
	vs, err := session(t, r, UserObserved).Guard(1).Propose(ctx, plan(2, "Fact %d.\n")...)
	if err != nil || vs[0].Outcome != Accepted || vs[1].Outcome != Accepted {
		t.Errorf("control: %v, %v", vs, err)
	}
}

// TestG7_PurgeIsRemembered: what the operator erased does not come back by itself.
func TestG7_PurgeIsRemembered(t *testing.T) {
	r, _ := newRoom(t, nil)
	c := Candidate{Path: "a.md", Text: "The old office is in Lyon.\n"}
	store(t, r, UserObserved, c)
	if left, err := r.Purge(context.Background(), "a.md", "asked to"); err != nil || len(left) > 0 {
		t.Fatal(left, err)
	}
	if v := offer(t, r, UserObserved, c); v.Outcome != Rejected {
		t.Errorf("the purged text, proposed again, is %v %q, want rejected", v.Outcome, ruleNames(v.Findings))
	}
	wantAccepted(t, byHand(t, r, c))
}

func TestG8_FrozenSnapshot(t *testing.T) {
	ctx := context.Background()
	r, mem := newRoom(t, nil)
	store(t, r, UserObserved, Candidate{Path: "a.md", Text: "The office is in Lyon.\n"})
	open := func(r *Room) *Session {
		s, err := r.Session(ctx, "the-one", UserObserved)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	s := open(r)
	before, err := s.Snapshot(ctx)
	if err != nil || !strings.Contains(before.Text, "Lyon") {
		t.Fatal(before.Text, err)
	}
	extract(t, s, Turn{N: 1, Low: UserObserved}, Policy{}, func(g *Guard) {
		wantAccepted(t, proposed(t, g, Candidate{Path: "b.md", Text: "The office has a cat.\n"}))
	})
	wantAccepted(t, proposed(t, s.Guard(2), Candidate{Path: "d.md", Text: "The office has a garden.\n"}))
	store(t, r, Operator, Candidate{Path: "c.md", Text: "The office has a dog.\n"})
	for name, s := range map[string]*Session{"later": s, "after a restart": open(reopen(t, mem, nil))} {
		after, err := s.Snapshot(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(after, before); diff != "" {
			t.Errorf("%s (-got +want):\n%s", name, diff)
		}
	}
	if text := snapshotText(t, r); !strings.Contains(text, "cat") || !strings.Contains(text, "dog") {
		t.Errorf("control: the next session does not see them:\n%s", text)
	}
}

func TestG9_StandingTruth(t *testing.T) {
	ctx := context.Background()
	r, _ := newRoom(t, nil)
	a := store(t, r, UserObserved, Candidate{Path: "a.md", Text: "Deploys happen on Tuesdays.\n"})
	unread := offer(t, r, UserObserved, Candidate{Path: "a.md", Text: "Deploys happen on Fridays.\n"})
	wantRule(t, unread, Held, "conflict.path")
	if got := read(t, r, "a.md"); got != a.Text {
		t.Fatalf("it was overwritten: %q", got)
	}
	wantRule(t, offer(t, r, UserObserved, Candidate{Path: "b.md", Key: "a", Text: "Deploys happen on Sundays.\n"}), Held, "conflict.key")
	wantAccepted(t, offer(t, r, UserObserved, Candidate{Path: "a.md", Text: "Deploys happen on Mondays.\n", Base: a.Hash}))
	late := offer(t, r, UserObserved, Candidate{Path: "a.md", Text: "Deploys happen on Sundays.\n", Base: a.Hash})
	if err := late.Err(); !errors.Is(err, ErrStale) {
		t.Errorf("an old base: %v, want ErrStale", err)
	}
	// What was held was built on a text that is gone: an approval says so.
	vs, err := r.Resolve(ctx, Resolution{ID: unread.ID, Hash: unread.Memory.Hash, Approve: true})
	if err != nil || !errors.Is(vs[0].Err(), ErrStale) {
		t.Errorf("approving over a newer text: %v, %v", vs, err)
	}

	store(t, r, Operator, Candidate{Path: "pinned.md", Text: "The licence is MIT.\n"})
	for _, c := range []Candidate{
		{Path: "pinned.md", Old: "MIT", New: "GPL"}, {Path: "pinned.md", Remove: true}, {Path: "pinned.md", To: "other.md"}, {Path: "pinned.md", Text: "The licence is GPL.\n"},
	} {
		wantRule(t, offer(t, r, UserObserved, c), Held, "")
	}
	if got := read(t, r, "pinned.md"); got != "The licence is MIT.\n" {
		t.Errorf("the operator's memory is %q", got)
	}
}

// TestG9_PlanOfOneKey: a plan can not hold two truths under one key either.
func TestG9_PlanOfOneKey(t *testing.T) {
	r, _ := newRoom(t, nil)
	vs, err := session(t, r, UserObserved).Guard(1).Propose(context.Background(),
		Candidate{Path: "a.md", Key: "day", Text: "Deploys happen on Tuesdays.\n"},
		Candidate{Path: "b.md", Key: "day", Text: "Deploys happen on Fridays.\n"})
	if err != nil {
		t.Fatal(err)
	}
	if vs[0].Outcome == Accepted && vs[1].Outcome == Accepted {
		t.Error("both are accepted under one key")
	}
}

// TestG9_HeldAgain: a proposal that waits on a base that has changed can be made
// anew, and the new one can be approved.
func TestG9_HeldAgain(t *testing.T) {
	ctx := context.Background()
	r, _ := newRoom(t, nil)
	store(t, r, UserObserved, Candidate{Path: "a.md", Text: "Deploys happen on Tuesdays.\n"})
	c := Candidate{Path: "a.md", Text: "Deploys happen on Fridays.\n"}
	if v, again := offer(t, r, UserObserved, c), offer(t, r, UserObserved, c); v.Outcome != Held || v.ID != again.ID {
		t.Fatalf("an equal proposal has another ID: %q, %q", v.ID, again.ID)
	}
	wantAccepted(t, offer(t, r, UserObserved, Candidate{Path: "a.md", Old: "Tuesdays", New: "Mondays"}))
	v := offer(t, r, UserObserved, c)
	vs, err := r.Resolve(ctx, Resolution{ID: v.ID, Hash: v.Memory.Hash, Approve: true})
	if err != nil || vs[0].Outcome != Accepted {
		t.Errorf("got %v, %v, want accepted", vs[0].Err(), err)
	}
}

func TestG10_NoUpdateIsLost(t *testing.T) {
	ctx := context.Background()
	dir := filepath.Join(t.TempDir(), "room")
	var rooms []*Room
	for range 2 {
		r, err := Open(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		rooms = append(rooms, r)
	}
	const edits = 8
	var body strings.Builder
	for i := range 2 * edits {
		fmt.Fprintf(&body, "line %02d is old\n", i)
	}
	store(t, rooms[0], UserObserved, Candidate{Path: "a.md", Text: body.String()})
	var wg sync.WaitGroup
	told := make([]bool, 2*edits)
	for n, r := range rooms {
		g := session(t, r, UserObserved).Guard(1)
		for i := range edits {
			wg.Go(func() {
				line := fmt.Sprintf("line %02d is ", n*edits+i)
				vs, err := g.Propose(ctx, Candidate{Path: "a.md", Old: line + "old", New: line + "new"})
				if err != nil {
					t.Error(err)
					return
				}
				told[n*edits+i] = vs[0].Outcome == Accepted
			})
		}
	}
	wg.Wait()
	got := read(t, rooms[1], "a.md")
	kept := 0
	for i, ok := range told {
		if strings.Contains(got, fmt.Sprintf("line %02d is new", i)) != ok {
			t.Errorf("edit %d: told accepted %v, and the file is\n%s", i, ok, got)
		}
		if ok {
			kept++
		}
	}
	if kept == 0 {
		t.Error("control: no edit was kept")
	}
	for n, r := range rooms {
		if fs, err := r.Check(ctx, false); err != nil || len(fs) > 0 {
			t.Errorf("room %d: %v, %v", n, fs, err)
		}
	}
}

// TestG10_FaultsLeaveOneText: with any one step failing, and a power cut after it,
// the room holds the old memory or the new one, and the one that was acknowledged.
func TestG10_FaultsLeaveOneText(t *testing.T) {
	for name, keep := range map[string]float64{"no power cut": 1, "power cut, all unflushed lost": 0, "power cut, some lost": 0.5} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			step := 0
			for faultAt(t, step, keep) {
				step++
			}
			if step < 10 {
				t.Errorf("control: only %d steps could fail", step)
			}
		})
	}
}

// faultAt edits a memory while one step of the disk fails, and reports whether there
// was such a step.
func faultAt(t *testing.T, step int, keep float64) bool {
	t.Helper()
	const before, after = "Deploys happen on Tuesdays.\n", "Deploys happen on Fridays.\n"
	r, mem := newRoom(t, nil)
	store(t, r, UserObserved, Candidate{Path: "a.md", Text: before})
	g := session(t, r, UserObserved).Guard(1)
	n := 0
	mem.Hook(func(string, string) error {
		if n++; n-1 == step {
			return errors.New("input/output error")
		}
		return nil
	})
	vs, err := g.Propose(context.Background(), Candidate{Path: "a.md", Old: "Tuesdays", New: "Fridays"})
	mem.Hook(nil)
	acked := err == nil && vs[0].Outcome == Accepted
	crashed := mem.CrashClone(rand.New(rand.NewPCG(1, uint64(step))), keep)
	o, err := (&Options{Now: tick()}).settle()
	if err != nil {
		t.Fatal(err)
	}
	again, err := openOn(rootfs.New(crashed), o)
	if err != nil {
		t.Fatalf("step %d: the room does not open again: %v", step, err)
	}
	if got := read(t, again, "a.md"); got != after && (got != before || acked) {
		t.Errorf("step %d (acknowledged %v): the memory is %q", step, acked, got)
	}
	if n <= step && !acked {
		t.Error("control: without a fault it fails")
	}
	return n > step
}

func TestG10_ForgedHistory(t *testing.T) {
	r, mem := newRoom(t, nil)
	store(t, r, UserObserved, Candidate{Path: "a.md", Text: "Deploys happen on Tuesdays.\n"})
	store(t, r, UserObserved, Candidate{Path: "b.md", Text: "Releases are tagged.\n"})
	head := headOf(t, r)
	good, err := r.disk.LibRead(auditName, maxAudit)
	if err != nil {
		t.Fatal(err)
	}
	openWith := func(data []byte) (*Room, error) {
		mem := mem.CrashClone(rand.New(rand.NewPCG(1, 1)), 1)
		mem.Plant(".scribe/"+auditName, rootfs.File, data)
		o, err := (&Options{Now: tick()}).settle()
		if err != nil {
			t.Fatal(err)
		}
		return openOn(rootfs.New(mem), o)
	}
	lines := bytes.SplitAfter(good, []byte("\n"))
	for name, forged := range map[string][]byte{
		"a trust raised": bytes.Replace(good, []byte("user-observed"), []byte("user-verified"), 1),
		"a row gone":     slices.Concat(lines[0], bytes.Join(lines[2:], nil)),
		"a row twice":    slices.Concat(lines[0], lines[1], bytes.Join(lines[1:], nil)),
	} {
		_, err := openWith(forged)
		var bad *fs.PathError
		if !errors.As(err, &bad) {
			t.Errorf("%s: %v, want an *fs.PathError", name, err)
		}
	}
	again, err := openWith(good)
	if err != nil || headOf(t, again) != head {
		t.Errorf("control: %v; head %s, want %s", err, headOf(t, again), head)
	}
	// Rows cut off at the end leave a good chain: the head kept elsewhere shows it.
	short, err := openWith(slices.Concat(lines[:2]...))
	if err != nil || headOf(t, short) == head {
		t.Errorf("a truncated journal: %v; head %s", err, headOf(t, short))
	}
}

func TestG11_ArrivedFromElsewhere(t *testing.T) {
	ctx := context.Background()
	top := t.TempDir()
	here, there := filepath.Join(top, "here"), filepath.Join(top, "there")
	r, err := Open(here, nil)
	if err != nil {
		t.Fatal(err)
	}
	store(t, r, Operator, Candidate{Path: "a.md", Text: "Deploys happen on Tuesdays.\n"})
	held := offer(t, r, UserObserved, Candidate{Path: "a.md", Text: "Deploys happen on Fridays.\n"})
	if held.Outcome != Held {
		t.Fatal(held.Err())
	}
	s, err := r.Session(ctx, "main", UserObserved)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Snapshot(ctx); err != nil {
		t.Fatal(err)
	}
	if err := errors.Join(r.Close(), os.CopyFS(there, os.DirFS(here))); err != nil {
		t.Fatal(err)
	}
	// Whoever made the copy also made its bookkeeping, a frozen snapshot included.
	forgeSessions(t, there)
	for _, o := range []*Options{{ReadOnly: true}, nil} {
		r, err = Open(there, o)
		if err != nil {
			t.Fatal(err)
		}
		if got := paths(listed(t, r)); len(got) > 0 {
			t.Errorf("accepted in the copy: %q", got)
		}
		if got := len(listed(t, r, stagePending)); got > 0 {
			t.Errorf("%d wait in the copy", got)
		}
		s, err := r.Session(ctx, "main", UserObserved)
		if err != nil {
			t.Fatal(err)
		}
		sn, err := s.Snapshot(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(sn.Text, "Tuesdays") || strings.Contains(sn.Text, "forged") {
			t.Errorf("the copy speaks in the prompt (read-only: %v):\n%s", o != nil, sn.Text)
		}
		if got := memoryCommand(s.Guard(1), view("a.md")); !got.IsError {
			t.Errorf("a guard reads it: %s", got.Text)
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
	}
	r, err = Open(there, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	vs, err := r.Adopt(ctx, 0, listed(t, r, stageUnaccepted)...)
	if err != nil || len(vs) != 2 || vs[1].Outcome != Accepted || vs[1].Memory.Path != "a.md" || vs[1].Memory.Trust != UserObserved {
		t.Fatalf("control: adopting: %+v, %v", vs, err)
	}
	if text := snapshotText(t, r); !strings.Contains(text, "Tuesdays") {
		t.Errorf("control: adopted and not shown:\n%s", text)
	}
}

// forgeSessions rewrites the frozen snapshot of every session file below dir.
func forgeSessions(t *testing.T, dir string) {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(dir, ".scribe", "sessions", "*.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no session file: %v", err)
	}
	for _, file := range files {
		data, err := json.Marshal(sessionState{Ceiling: Operator.String(), Snapshot: &Snapshot{Text: "forged words", Hash: journal.Sum([]byte("forged words"))}})
		if err == nil {
			err = os.WriteFile(file, data, 0o600)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestG11_FilesOfOthers(t *testing.T) {
	ctx := context.Background()
	r, mem := newRoom(t, nil)
	store(t, r, UserObserved, Candidate{Path: "a.md", Text: "Deploys happen on Tuesdays.\n"})
	mem.Plant("b.md", rootfs.File, []byte("Planted by a merge.\n"))
	mem.Plant("a.md", rootfs.File, []byte("Deploys happen on Sundays.\n"))
	mem.Plant("MEMORY.md", rootfs.File, []byte("Planted in the index.\n"))
	r = reopen(t, mem, nil)
	text := snapshotText(t, r)
	if strings.Contains(text, "Planted") || strings.Contains(text, "Sundays") || strings.Contains(text, "b.md") {
		t.Errorf("unaccepted bytes are shown:\n%s", text)
	}
	if !strings.Contains(text, "Tuesdays") || !strings.Contains(text, `unaccepted="3"`) || !strings.Contains(lineOf(text, "a.md"), "changed-outside") {
		t.Errorf("the accepted bytes and the count are missing:\n%s", text)
	}
	if _, err := r.Adopt(ctx, 0, listed(t, r, stageUnaccepted)...); err != nil {
		t.Fatal(err)
	}
	if text := snapshotText(t, r); !strings.Contains(text, "Planted by a merge") || !strings.Contains(text, "Sundays") {
		t.Errorf("control: adopted and not shown:\n%s", text)
	}
}

func TestG12_PermissionsEnd(t *testing.T) {
	ctx := context.Background()
	ws, other := t.TempDir(), t.TempDir()
	schema := json.RawMessage(`{"type":"object","properties":{"file_path":{"type":"string"}}}`)
	rules := map[string]Rule{"read_file": {Reads: []string{"file_path"}, Dirs: []string{ws}, Gives: UserObserved}}
	_, policy, err := Narrow([]Tool{{Name: "read_file", Schema: schema}}, rules, func(t Tool) Tool { return t })
	if err != nil {
		t.Fatal(err)
	}
	// The host's map is the host's: what it becomes later changes no policy.
	rules["read_file"].Dirs[0] = other
	rules["bash"] = Rule{Free: []string{"command"}}
	r := diskRoom(t)
	s := session(t, r, UserObserved)
	call := func(dir string) Call {
		return Call{Tool: "read_file", Args: fmt.Sprintf(`{"file_path":%q}`, filepath.Join(dir, "x.txt"))}
	}
	var leaked *Guard
	for turn := 1; turn <= 2; turn++ {
		extract(t, s, Turn{N: turn, Low: UserObserved}, policy, func(g *Guard) {
			leaked = g
			if !g.Check(ctx, call(ws)).Run {
				t.Error("control: the declared directory is denied")
			}
			if g.Check(ctx, call(other)).Run || g.Check(ctx, Call{Tool: "bash", Args: `{"command":"ls"}`}).Run {
				t.Error("a rule that was changed later counts")
			}
			wantAccepted(t, proposed(t, g, Candidate{Path: fmt.Sprintf("t%d.md", turn), Text: fmt.Sprintf("Fact %d.\n", turn)}))
		})
	}
	if got := leaked.Check(ctx, call(ws)); got.Run || !got.IsError {
		t.Errorf("after its extraction the guard rules %+v", got)
	}
	if got := memoryCommand(leaked, create("late.md", "Late.\n")); !got.IsError {
		t.Errorf("after its extraction the guard writes: %s", got.Text)
	}
	if _, err := leaked.Propose(ctx, Candidate{Path: "late.md", Text: "Late.\n"}); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Propose: %v, want fs.ErrClosed", err)
	}
	if _, err := leaked.Recall(ctx, Query{Text: "fact"}); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("Recall: %v, want fs.ErrClosed", err)
	}
	if got := read(t, r, "late.md"); got != "" {
		t.Errorf("stored: %q", got)
	}
}

// TestG12_ZeroHandles: a handle that nobody made denies, and does not panic.
func TestG12_ZeroHandles(t *testing.T) {
	ctx := context.Background()
	for _, g := range []*Guard{nil, {}} {
		if got := memoryCommand(g, create("a.md", "A.\n")); got.Run || !got.IsError {
			t.Errorf("a zero guard rules %+v", got)
		}
		if _, err := g.Propose(ctx, Candidate{Path: "a.md"}); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("a zero guard: %v", err)
		}
		if _, err := g.Prompt(ctx); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("a zero guard: %v", err)
		}
	}
	for _, s := range []*Session{nil, {}} {
		_, err := s.Extract(ctx, Turn{N: 1}, Policy{}, func(context.Context, *Guard) error { t.Error("a zero session runs"); return nil })
		if !errors.Is(err, fs.ErrClosed) || s.Guard(1) != nil || s.Ceiling() != 0 {
			t.Errorf("a zero session: %v", err)
		}
		if _, err := s.Snapshot(ctx); !errors.Is(err, fs.ErrClosed) {
			t.Errorf("a zero session: %v", err)
		}
	}
	for _, r := range []*Room{nil, {}} {
		_, err := r.Propose(ctx, Candidate{Path: "a.md", Text: "A.\n"})
		_, err2 := r.Session(ctx, "x", UserObserved)
		_, err3 := r.Head()
		if !errors.Is(err, fs.ErrClosed) || !errors.Is(err2, fs.ErrClosed) || !errors.Is(err3, fs.ErrClosed) || r.Close() != nil {
			t.Errorf("a zero room: %v, %v, %v", err, err2, err3)
		}
		for _, err := range r.List(ctx) {
			if !errors.Is(err, fs.ErrClosed) {
				t.Errorf("a zero room lists: %v", err)
			}
		}
	}
	if (Ruling{}).Run || (Verdict{}).Outcome != Rejected || (Verdict{}).Err() == nil {
		t.Error("a zero decision allows")
	}
}
