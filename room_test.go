package scribe

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"sync/atomic"
	"testing"

	"github.com/memoryroom/scribe/internal/rootfs"
)

// newRoom opens a room on a file system in memory; a nil o is the strict default,
// with a clock that ticks.
func newRoom(t testing.TB, o *Options) (*Room, *rootfs.Mem) {
	t.Helper()
	mem := rootfs.NewMem()
	return reopen(t, mem, o), mem
}

// diskRoom opens a room on the real disk, for what looks at real directories.
func diskRoom(t testing.TB) *Room {
	t.Helper()
	r, err := Open(filepath.Join(t.TempDir(), "room"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// reopen opens what a file system in memory holds, as another process would.
func reopen(t testing.TB, mem *rootfs.Mem, o *Options) *Room {
	t.Helper()
	var set Options
	if o != nil {
		set = *o
	}
	if set.Now == nil {
		set.Now = tick()
	}
	return memRoom(t, mem, &set)
}

// sessions numbers the sessions of the tests, so that each helper's is a new one.
var sessions atomic.Int64

// session opens a session that no test has used.
func session(t testing.TB, r *Room, ceiling Trust) *Session {
	t.Helper()
	s, err := r.Session(context.Background(), fmt.Sprint("test-", sessions.Add(1)), ceiling)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// offer proposes one candidate as a model at that ceiling would, and gives the verdict.
func offer(t testing.TB, r *Room, ceiling Trust, c Candidate, user ...string) Verdict {
	t.Helper()
	return proposed(t, session(t, r, ceiling).Guard(1, user...), c)
}

func proposed(t testing.TB, g *Guard, c Candidate) Verdict {
	t.Helper()
	vs, err := g.Propose(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	if len(vs) != 1 {
		t.Fatalf("%d verdicts for one candidate", len(vs))
	}
	return vs[0]
}

// store puts a memory of that trust into the room: the operator's by hand, any other
// as a writer of that ceiling.
func store(t testing.TB, r *Room, trust Trust, c Candidate) Memory {
	t.Helper()
	var v Verdict
	if trust == Operator {
		v = byHand(t, r, c)
	} else {
		v = offer(t, r, trust, c)
	}
	if v.Outcome != Accepted {
		t.Fatalf("storing %s: %v", c.Path, v.Err())
	}
	if trust == UserVerified { // no guard reaches that by its ceiling
		vs, err := r.Adopt(context.Background(), trust, v.Memory)
		if err != nil || vs[0].Outcome != Accepted {
			t.Fatalf("adopting %s: %v, %v", c.Path, vs, err)
		}
		return vs[0].Memory
	}
	return v.Memory
}

func byHand(t testing.TB, r *Room, c Candidate) Verdict {
	t.Helper()
	vs, err := r.Propose(context.Background(), c)
	if err != nil {
		t.Fatal(err)
	}
	return vs[0]
}

// listed collects the memories of some stages.
func listed(t testing.TB, r *Room, stages ...string) []Memory {
	t.Helper()
	var all []Memory
	for m, err := range r.List(context.Background(), stages...) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	return all
}

func paths(ms []Memory) []string {
	var out []string
	for _, m := range ms {
		out = append(out, m.Path)
	}
	return out
}

// read gives the text of an accepted memory, "" when there is none.
func read(t testing.TB, r *Room, path string) string {
	t.Helper()
	for _, m := range listed(t, r, stageActive, stageChanged) {
		if m.Path == path {
			return m.Text
		}
	}
	return ""
}

// wantRule fails unless the verdict has that outcome and names that rule among its
// findings or notices.
func wantRule(t testing.TB, v Verdict, outcome Outcome, rule string) {
	t.Helper()
	rules := append(ruleNames(v.Findings), ruleNames(v.Notices)...)
	if v.Outcome != outcome || rule != "" && !slices.Contains(rules, rule) {
		t.Errorf("got %v with %q, want %v with %q", v.Outcome, rules, outcome, rule)
	}
}

func wantAccepted(t testing.TB, v Verdict) {
	t.Helper()
	if v.Outcome != Accepted {
		t.Errorf("got %v (%v), want accepted", v.Outcome, v.Err())
	}
}

// snapshotText renders what a new session of the room would be shown.
func snapshotText(t testing.TB, r *Room) string {
	t.Helper()
	sn, err := session(t, r, UserObserved).Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	return sn.Text
}

// memoryCommand runs one command of the memory tool.
func memoryCommand(g *Guard, args map[string]any) Ruling {
	return g.Check(context.Background(), Call{Tool: toolMemory, Args: args})
}

func create(path, text string) map[string]any {
	return map[string]any{"command": "create", "path": "/memories/" + path, "file_text": text}
}

func view(path string) map[string]any {
	return map[string]any{"command": "view", "path": "/memories/" + path}
}

func headOf(t testing.TB, r *Room) string {
	t.Helper()
	head, err := r.Head()
	if err != nil {
		t.Fatal(err)
	}
	return head
}

// TestReadRefusesNames: a refused name is told apart from a fault without a type of ours.
func TestReadRefusesNames(t *testing.T) {
	r, _ := newRoom(t, nil)
	for _, name := range []string{"../a.md", "/a.md", "CON.md", ".scribe/audit.jsonl", ""} {
		if _, err := r.Read(context.Background(), name); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("reading %q gives %v, want fs.ErrInvalid", name, err)
		}
	}
	if _, err := r.Read(context.Background(), "a.md"); !errors.Is(err, fs.ErrNotExist) || errors.Is(err, fs.ErrInvalid) {
		t.Errorf("reading what is not there gives %v, want fs.ErrNotExist", err)
	}
}

// archived retires one memory; the error says why it could not.
func archived(r *Room, path string) error {
	vs, err := r.Archive(context.Background(), "", "", path)
	if err != nil {
		return err
	}
	return vs[0].Err()
}

// restored brings one memory back from the archive.
func restored(r *Room, path string) (Verdict, error) {
	vs, err := r.Restore(context.Background(), path)
	if err != nil {
		return Verdict{}, err
	}
	return vs[0], nil
}

// rolledBack sets one path back, and what goes with it.
func rolledBack(r *Room, seq int64, path string) (Verdict, error) {
	vs, err := r.Rollback(context.Background(), seq, path)
	if err != nil {
		return Verdict{}, err
	}
	return vs[0], nil
}
