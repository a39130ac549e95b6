package scribe

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memoryroom/scribe/internal/rootfs"
)

// one gives the only memory of a stage that has the path.
func one(t testing.TB, r *Room, path string, stages ...string) Memory {
	t.Helper()
	var found []Memory
	for _, m := range listed(t, r, stages...) {
		if m.Path == path {
			found = append(found, m)
		}
	}
	if len(found) != 1 {
		t.Fatalf("%d memories %s in %q", len(found), path, stages)
	}
	return found[0]
}

// wantLink checks a link from both sides, in what listings say and in the texts.
func wantLink(t testing.TB, r *Room, old, by string) {
	t.Helper()
	o, n := one(t, r, old, stageArchived), one(t, r, by, stageActive, stageArchived)
	if o.SupersededBy != by || !slices.Contains(n.Supersedes, old) {
		t.Errorf("%s says %q, %s says %q", old, o.SupersededBy, by, n.Supersedes)
	}
	if strings.HasPrefix(o.Text, "---") && !strings.Contains(o.Text, "\n  superseded_by: "+by+"\n") {
		t.Errorf("the text of %s names no successor:\n%s", old, o.Text)
	}
	if strings.HasPrefix(n.Text, "---") && !strings.Contains(n.Text, "\n  supersedes: "+strings.Join(n.Supersedes, ", ")+"\n") {
		t.Errorf("the text of %s does not say what it supersedes:\n%s", by, n.Text)
	}
}

// wantNoLink checks that neither side of a memory speaks of another.
func wantNoLink(t testing.TB, r *Room, path string) {
	t.Helper()
	for _, m := range listed(t, r, stageActive, stageArchived, stagePending) {
		if m.Path == path && m.SupersededBy != "" || slices.Contains(m.Supersedes, path) {
			t.Errorf("%s (%s) has a link: by %q, supersedes %q", m.Path, m.Stage, m.SupersededBy, m.Supersedes)
		}
		if strings.Contains(m.Text, ": "+path+"\n") || m.Path == path && strings.Contains(m.Text, "superseded_by") {
			t.Errorf("a text speaks of a link:\n%s", m.Text)
		}
	}
}

// wantClean checks that Check finds nothing.
func wantClean(t testing.TB, r *Room) {
	t.Helper()
	if fs, err := r.Check(context.Background(), false); err != nil || len(fs) > 0 {
		t.Errorf("check: %+v, %v", fs, err)
	}
}

// TestSupersede is the life of a link: made, followed through a rename, the archive and
// back, and cut by a restore.
func TestSupersede(t *testing.T) {
	ctx := context.Background()
	r, _ := newRoom(t, nil)
	store(t, r, Operator, Candidate{Path: "old.md", Description: "port", Key: "port", Text: "The port is 1.\n"})
	before := read(t, r, "old.md")
	v := offer(t, r, UserObserved, Candidate{Path: "new.md", Description: "port", Key: "Port", Text: "The port is 2.\n"})
	wantRule(t, v, Held, "conflict.key")
	res := Resolution{ID: v.ID, Hash: v.Memory.Hash, Approve: true}
	vs, err := r.Resolve(ctx, res)
	if err != nil || vs[0].Outcome != Held || !strings.Contains(vs[0].Findings[0].Fix, "Supersedes") {
		t.Fatalf("approved over a taken key: %+v, %v", vs, err)
	}
	res.Supersedes = []string{"old.md"}
	if vs, err = r.Resolve(ctx, res); err != nil || vs[0].Outcome != Accepted {
		t.Fatal(vs, err)
	}
	wantLink(t, r, "old.md", "new.md")
	if got := one(t, r, "old.md", stageArchived).Category; got != "distilled" {
		t.Errorf("category %q", got)
	}

	// A link is never turned to another memory.
	v = byHand(t, r, Candidate{Path: "third.md", Text: "x\n", Supersedes: []string{"old.md"}})
	wantRule(t, v, Rejected, "conflict.superseded-before")
	if !strings.Contains(v.Findings[0].Message, `"new.md"`) {
		t.Errorf("it does not say by what: %s", v.Findings[0].Message)
	}
	wantRule(t, byHand(t, r, Candidate{Path: "third.md", Text: "x\n", Supersedes: []string{"third.md"}}), Rejected, "conflict.supersedes")

	wantAccepted(t, byHand(t, r, Candidate{Path: "new.md", To: "d/newer.md"}))
	wantLink(t, r, "old.md", "d/newer.md")
	if err := archived(r, "d/newer.md"); err != nil {
		t.Fatal(err)
	}
	wantLink(t, r, "old.md", "d/newer.md")
	store(t, r, Operator, Candidate{Path: "d/newer.md", Text: "Another matter.\n"})
	if m := one(t, r, "d/newer.md", stageActive); len(m.Supersedes) > 0 {
		t.Errorf("a new memory under the old name supersedes %q", m.Supersedes)
	}
	if err := archived(r, "d/newer.md"); err != nil {
		t.Fatal(err)
	}
	if _, err := r.Purge(ctx, "d/newer.md", ""); err != nil {
		t.Fatal(err)
	}
	if m := one(t, r, "old.md", stageArchived); m.SupersededBy != "" {
		t.Errorf("linked to what was purged: %q", m.SupersededBy)
	}
	if v, err := restored(r, "old.md"); err != nil || v.Outcome != Accepted {
		t.Fatal(v, err)
	}
	if got := read(t, r, "old.md"); got != before {
		t.Errorf("came back as %q, was %q", got, before)
	}
	wantClean(t, r)
}

// TestRestoreSuperseded: it comes back to the operator's queue, with the link cut on both
// sides, and the truth that took its place goes only when the operator says so.
func TestRestoreSuperseded(t *testing.T) {
	ctx := context.Background()
	r, _ := newRoom(t, nil)
	store(t, r, UserObserved, Candidate{Path: "old.md", Description: "port", Key: "port", Text: "The port is 1.\n"})
	before := one(t, r, "old.md", stageActive)
	wantAccepted(t, byHand(t, r, Candidate{Path: "new.md", Description: "port", Key: "port", Text: "The port is 2.\n", Supersedes: []string{"old.md"}}))
	wantLink(t, r, "old.md", "new.md")
	v, err := restored(r, "old.md")
	if err != nil {
		t.Fatal(err)
	}
	wantRule(t, v, Held, "conflict.key")
	wantRule(t, v, Held, "review.restored")
	wantNoLink(t, r, "old.md")
	waits := one(t, r, "old.md", stagePending)
	if waits.Trust != UserObserved || !strings.HasSuffix(waits.Text, "The port is 1.\n") {
		t.Errorf("waits as %+v", waits)
	}

	// Refused, it is still in the archive, and can be restored again.
	if _, err := r.Resolve(ctx, Resolution{ID: waits.ID, Hash: waits.Hash}); err != nil {
		t.Fatal(err)
	}
	one(t, r, "old.md", stageArchived)
	if v, err = restored(r, "old.md"); err != nil || v.Outcome != Held {
		t.Fatal(v, err)
	}
	res := Resolution{ID: v.ID, Hash: v.Memory.Hash, Approve: true}
	if vs, err := r.Resolve(ctx, res); err != nil || vs[0].Outcome != Held {
		t.Fatalf("two truths for one key: %+v, %v", vs, err)
	}
	res.Supersedes = []string{"new.md"}
	if vs, err := r.Resolve(ctx, res); err != nil || vs[0].Outcome != Accepted {
		t.Fatal(vs, err)
	}
	wantLink(t, r, "new.md", "old.md")
	if m := one(t, r, "old.md", stageActive); m.Trust != UserObserved || m.Key != before.Key {
		t.Errorf("came back as %+v", m)
	}
	if diff := cmp.Diff([]string{"new.md"}, paths(listed(t, r, stageArchived))); diff != "" {
		t.Errorf("archived (-want +got):\n%s", diff)
	}
	wantClean(t, r)
}

// TestRollbackTogether: what was done together is undone together.
func TestRollbackTogether(t *testing.T) {
	ctx := context.Background()
	for _, tt := range []struct {
		name string
		do   func(t *testing.T, r *Room)
		path string
	}{
		{"plan", func(t *testing.T, r *Room) {
			vs, err := r.Propose(ctx, Candidate{Path: "a.md", Old: "one", New: "1"}, Candidate{Path: "b.md", Remove: true}, Candidate{Path: "c.md", Text: "three\n"}, Candidate{Path: "d.md", To: "e.md"})
			if err != nil || vs[0].Outcome != Accepted {
				t.Fatal(vs, err)
			}
		}, "a.md"},
		{"plan, by what it added", func(t *testing.T, r *Room) {
			if _, err := r.Propose(ctx, Candidate{Path: "c.md", Text: "three\n"}, Candidate{Path: "a.md", Old: "one", New: "1"}); err != nil {
				t.Fatal(err)
			}
		}, "c.md"},
		{"held plan", func(t *testing.T, r *Room) {
			r.opts.ReviewAll = true
			defer func() { r.opts.ReviewAll = false }()
			if _, err := session(t, r, UserObserved).Guard(1).Propose(ctx, Candidate{Path: "c.md", Text: "three\n"}, Candidate{Path: "a.md", Old: "one", New: "1"}); err != nil {
				t.Fatal(err)
			}
			if vs, err := resolveAll(r, true); err != nil || vs[0].Outcome != Accepted {
				t.Fatal(vs, err)
			}
		}, "a.md"},
		{"supersession", func(t *testing.T, r *Room) {
			wantAccepted(t, byHand(t, r, Candidate{Path: "n.md", Description: "n", Key: "a", Text: "new\n", Supersedes: []string{"a.md", "b.md"}}))
		}, "a.md"},
		{"supersession, by the new one", func(t *testing.T, r *Room) {
			wantAccepted(t, byHand(t, r, Candidate{Path: "n.md", Key: "a", Text: "new\n", Supersedes: []string{"a.md", "b.md"}}))
		}, "n.md"},
		{"rename, and an edit after it", func(t *testing.T, r *Room) {
			wantAccepted(t, byHand(t, r, Candidate{Path: "a.md", To: "z.md"}))
			wantAccepted(t, byHand(t, r, Candidate{Path: "z.md", Old: "one", New: "1"}))
		}, "a.md"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			r, mem := newRoom(t, nil)
			store(t, r, UserObserved, Candidate{Path: "a.md", Text: "one\n"})
			store(t, r, Operator, Candidate{Path: "b.md", Description: "b", Text: "two\n"})
			store(t, r, Operator, Candidate{Path: "d.md", Text: "four\n"})
			before, head := all(t, r), lastRow(t, r)
			tt.do(t, r)
			after := all(t, r)
			if before == after {
				t.Fatal("nothing was done")
			}
			undone := lastRow(t, r)
			vs, err := r.Rollback(ctx, head, tt.path)
			if err != nil || slices.ContainsFunc(vs, func(v Verdict) bool { return v.Outcome != Accepted }) {
				t.Fatal(vs, err)
			}
			if vs[0].Memory.Path != tt.path {
				t.Errorf("the first verdict is of %s", vs[0].Memory.Path)
			}
			if diff := cmp.Diff(before, all(t, r)); diff != "" {
				t.Errorf("rolled back (-want +got):\n%s", diff)
			}
			wantClean(t, r)
			r = reopen(t, mem, nil)
			wantClean(t, r)
			// And forth: it is a change like any other.
			if vs, err := r.Rollback(ctx, undone, tt.path); err != nil || vs[0].Outcome != Accepted {
				t.Fatal(vs, err)
			}
			wantClean(t, r)
		})
	}
}

// all is what a room holds, as one text: paths, stages, trust and words.
func all(t testing.TB, r *Room) string {
	t.Helper()
	var b strings.Builder
	for _, m := range listed(t, r, stageActive, stageChanged, stageArchived) {
		b.WriteString(m.Path + " " + m.Stage + " " + m.Trust.String() + " " + m.Key + "\n" + m.Text + "\n")
	}
	return b.String()
}

// lastRow is the number of the journal's last row.
func lastRow(t testing.TB, r *Room) int64 {
	t.Helper()
	var seq int64
	for rec, err := range r.History(context.Background(), "") {
		if err != nil {
			t.Fatal(err)
		}
		seq = rec.Seq
	}
	return seq
}

// TestAdoptMany: a folder is adopted in one batch of whatever size, bound to what was
// listed; what was changed since is told, and the others are taken.
func TestAdoptMany(t *testing.T) {
	ctx := context.Background()
	const n = 600 // more than one append of the journal holds
	r, mem := newRoom(t, nil)
	for i := range n {
		mem.Plant(fmt.Sprintf("n%03d.md", i), rootfs.File, []byte(fmt.Sprintf("Note %d.\n", i)))
	}
	mem.Plant("token.md", rootfs.File, []byte("key "+githubToken()+"\n"))
	seen := listed(t, r, stageUnaccepted)
	for _, m := range seen {
		if told := len(m.Findings) > 0; told != (m.Path == "token.md") {
			t.Errorf("%s is listed with %q", m.Path, ruleNames(m.Findings))
		}
	}
	mem.Plant("n007.md", rootfs.File, []byte("Changed since.\n"))
	vs, err := r.Adopt(ctx, UserVerified, seen...)
	if err != nil || len(vs) != n+1 {
		t.Fatal(len(vs), err)
	}
	for i, v := range vs {
		want := map[string]string{"n007.md": "stale.base", "token.md": "secret.github-pat"}[seen[i].Path]
		if (v.Outcome == Accepted) != (want == "") || want != "" && v.Findings[0].Rule != want {
			t.Errorf("%s: %v %q, want %q", seen[i].Path, v.Outcome, ruleNames(v.Findings), want)
		}
	}
	if got := len(listed(t, r)); got != n-1 {
		t.Errorf("%d adopted, want %d", got, n-1)
	}
	if got := len(listed(t, reopen(t, mem, nil))); got != n-1 {
		t.Errorf("%d after a restart, want %d", got, n-1)
	}
}
