package scribe

import (
	"context"
	"testing"

	"github.com/memoryroom/scribe/internal/rootfs"
)

// TestG9_LinksOfWhatIsGone: a held candidate comes back when its entry in the archive is gone.
// What was retired for no other memory is linked to none by that.
func TestG9_LinksOfWhatIsGone(t *testing.T) {
	ctx := context.Background()
	r, _ := newRoom(t, nil)
	wantAccepted(t, byHand(t, r, Candidate{Path: "other.md", Text: "Nobody took its place.\n"}))
	if err := archived(r, "other.md"); err != nil {
		t.Fatal(err)
	}
	wantAccepted(t, byHand(t, r, Candidate{Path: "a.md", Text: "The old port is 80.\n"}))
	wantAccepted(t, byHand(t, r, Candidate{Path: "c.md", Text: "The port is 81.\n", Supersedes: []string{"a.md"}}))
	if vs, err := r.Restore(ctx, "a.md"); err != nil || vs[0].Outcome != Held {
		t.Fatal(vs, err)
	}
	if vs, err := r.Restore(ctx, "a.md"); err != nil || vs[0].Outcome != Accepted {
		t.Fatal(vs, err)
	}
	seq := r.stateNow().Seq - 1
	if vs, err := r.Rollback(ctx, seq, "a.md"); err != nil || vs[0].Outcome != Accepted {
		t.Fatal(vs, err)
	}
	for _, m := range listed(t, r, stagePending) {
		if _, err := r.Resolve(ctx, Resolution{ID: m.ID, Hash: m.Hash, Approve: true}); err != nil {
			t.Fatal(err)
		}
	}
	for name, a := range r.stateNow().Archived {
		if a.Path == "other.md" && a.SupersededBy != "" {
			t.Errorf("%s is linked to %s", name, a.SupersededBy)
		}
	}
}

// TestG9_AKeyIsThePathsWhereItStands: both sides renamed a memory, and on one its trust rose. Its
// key here is that of its name here, and the other name's key stays with who has it.
func TestG9_AKeyIsThePathsWhereItStands(t *testing.T) {
	ctx := context.Background()
	bothWays(t, "", func(t *testing.T, mine, theirs *Room, _ Memory, join func() (*Room, *rootfs.Mem)) {
		store(t, mine, UserObserved, Candidate{Path: "there.md", Text: "Another fact.\n"})
		wantAccepted(t, byHand(t, mine, Candidate{Path: "m.md", To: "here.md"}))
		wantAccepted(t, byHand(t, theirs, Candidate{Path: "m.md", To: "there.md"}))
		for _, m := range listed(t, theirs, stageActive) {
			if vs, err := theirs.Adopt(ctx, Operator, m); m.Path == "there.md" && (err != nil || vs[0].Outcome != Accepted) {
				t.Fatal(vs, err)
			}
		}
		r, _ := join()
		owner := map[string]string{}
		for path, acc := range r.stateNow().Accepted {
			if other, taken := owner[acc.Key]; taken {
				t.Errorf("%s and %s have the key %q", path, other, acc.Key)
			}
			owner[acc.Key] = path
		}
	})
}
