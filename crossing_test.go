package scribe

import (
	"context"
	"testing"
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
