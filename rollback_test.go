package scribe

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/memoryroom/scribe/internal/journal"
)

// TestRollbackToARowOfAPlan: between the rows of a plan the room never was, so each of them
// stands for all.
func TestRollbackToARowOfAPlan(t *testing.T) {
	ctx := context.Background()
	for n := range 2 {
		r, _ := newRoom(t, nil)
		store(t, r, UserObserved, Candidate{Path: "a.md", Text: "a was 1\n"})
		store(t, r, UserObserved, Candidate{Path: "b.md", Text: "b was 1\n"})
		first := r.stateNow().Seq + 1
		vs, err := r.Propose(ctx, Candidate{Path: "a.md", Old: "1", New: "2"}, Candidate{Path: "b.md", Old: "1", New: "2"})
		if err != nil || vs[0].Outcome != Accepted || r.stateNow().Seq != first+1 {
			t.Fatal(vs, err)
		}
		wantAccepted(t, byHand(t, r, Candidate{Path: "b.md", Old: "2", New: "3"}))
		if vs, err := r.Rollback(ctx, first+int64(n), "b.md"); err != nil || len(vs) != 1 || vs[0].Outcome != Accepted {
			t.Fatal(vs, err)
		}
		if got := read(t, r, "a.md") + read(t, r, "b.md"); got != "a was 2\nb was 2\n" {
			t.Errorf("row %d of the plan: %q", n+1, got)
		}
		wantClean(t, r)
	}
}

// TestRollbackOfARename: a rollback of a rename has a row for each name. The memory goes back
// with one of them, and the other does not take it away again: what it was under the later
// name is its own still, whatever stands at the first by then.
func TestRollbackOfARename(t *testing.T) {
	ctx := context.Background()
	for _, named := range []string{"m.md", "n.md"} {
		for _, taken := range []bool{false, true} {
			t.Run(fmt.Sprintf("by %s/taken=%v", named, taken), func(t *testing.T) {
				r, mem := newRoom(t, nil)
				store(t, r, UserObserved, Candidate{Path: "m.md", Text: "PRIVATE 1\n"})
				before := r.stateNow().Seq
				wantAccepted(t, byHand(t, r, Candidate{Path: "m.md", To: "n.md"}))
				wantAccepted(t, byHand(t, r, Candidate{Path: "n.md", Old: "1", New: "2"}))
				if taken {
					store(t, r, UserObserved, Candidate{Path: "g.md", Text: "Another fact.\n"})
					wantAccepted(t, byHand(t, r, Candidate{Path: "g.md", To: "m.md"}))
				}
				if vs, err := r.Rollback(ctx, before, named); err != nil || vs[0].Outcome != Accepted {
					t.Fatal(vs, err)
				}
				if got := paths(listed(t, r)); !slices.Equal(got, []string{"m.md"}) || read(t, r, "m.md") != "PRIVATE 1\n" {
					t.Fatalf("it holds %q", got)
				}
				former := r.stateNow().Former
				if !slices.ContainsFunc(former["m.md"], func(was journal.Name) bool { return was.Path == "n.md" }) || len(former["n.md"]) > 0 {
					t.Errorf("what m.md was called: %v; n.md: %v", former["m.md"], former["n.md"])
				}
				if left, err := r.Purge(ctx, "m.md", "asked to"); err != nil || len(left) > 0 {
					t.Fatal(left, err)
				}
				wantNowhere(t, mem, "PRIVATE")
				wantClean(t, r)
			})
		}
	}
}

// TestRollbackWhereNothingStands: a memory came to a path by a rename and went from there. A
// rollback of the path to before that brings it nowhere, and takes none of its names.
func TestRollbackWhereNothingStands(t *testing.T) {
	ctx := context.Background()
	r, mem := newRoom(t, nil)
	store(t, r, UserObserved, Candidate{Path: "m.md", Text: "PRIVATE then\n"})
	then := r.stateNow().Seq
	must1(0, archived(r, "m.md"))
	store(t, r, UserObserved, Candidate{Path: "k.md", Text: "PRIVATE later\n"})
	wantAccepted(t, byHand(t, r, Candidate{Path: "k.md", To: "m.md"}))
	must1(0, archived(r, "m.md"))
	if vs, err := r.Rollback(ctx, then, "m.md"); err != nil || vs[0].Outcome != Accepted || read(t, r, "m.md") != "PRIVATE then\n" {
		t.Fatal(vs, err)
	}
	if left, err := r.Purge(ctx, "m.md", "asked to"); err != nil || len(left) > 0 {
		t.Fatal(left, err)
	}
	wantNowhere(t, mem, "PRIVATE")
	if tomb := r.stateNow().Tombs["k.md"]; tomb.Hash != "" {
		t.Errorf("what is left of k.md is judged by erased text: %+v", tomb)
	}
	wantClean(t, r)
}
