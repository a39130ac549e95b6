package scribe

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/memoryroom/scribe/internal/rootfs"
)

// TestPurgeAfterAMerge: a purge takes what the memory was on the other side too, texts that
// were replaced there before the merge included.
func TestPurgeAfterAMerge(t *testing.T) {
	o := sharedKey(1 << 20)
	r, mem := newRoom(t, o)
	store(t, r, Operator, Candidate{Path: "a.md", Text: "PRIVATE 1\n"})
	base := everyFile(t, mem, "")
	mem2 := mem.CrashClone(newRNG(1), 1)
	mem2.SetIdentity("another machine")
	two := reopen(t, mem2, o)
	store(t, r, Operator, Candidate{Path: "b.md", Text: "mine\n"})
	wantAccepted(t, byHand(t, two, Candidate{Path: "a.md", Old: "1", New: "2"}))
	wantAccepted(t, byHand(t, two, Candidate{Path: "a.md", To: "z.md"}))
	wantAccepted(t, byHand(t, two, Candidate{Path: "z.md", Old: "2", New: "3"}))
	merged(t, base, everyFile(t, mem, ""), everyFile(t, mem2, ""), mem, true)
	again := must1(openMem(t, mem, o))
	if got := read(t, again, "z.md"); got != "PRIVATE 3\n" {
		t.Fatalf("control: %q", got)
	}
	for _, path := range []string{"z.md", "a.md"} {
		if left, err := again.Purge(context.Background(), path, "asked to"); err != nil || len(left) > 0 {
			t.Fatal(left, err)
		}
	}
	wantNowhere(t, mem, "PRIVATE")
	if fs, err := again.Check(context.Background(), false); err != nil || len(rulesOf(fs, Held)) > 0 {
		t.Errorf("%v, %v", fs, err)
	}
}

// TestPurgeThatCanNotProve: what nobody can read may hold the text, and the answer says so.
func TestPurgeThatCanNotProve(t *testing.T) {
	r, mem := newRoom(t, nil)
	store(t, r, Operator, Candidate{Path: "a.md", Text: "PRIVATE\n"})
	snapshotText(t, r)
	name := sessionDir + must1(r.disk.LibList("sessions"))[0]
	mem.Plant(".scribe/"+name, rootfs.File, []byte("00\n{\"snapshot\":{\"Text\":\"PRIVATE\"}}"))
	mem.Plant(".scribe/versions/outside-0123456789ab.md", rootfs.File, []byte("PRIVATE, and more\n"))
	left, err := r.Purge(context.Background(), "a.md", "asked to")
	if got := rulesOf(left, Held); err != nil || !slices.Equal(got, []string{"purge.parked versions/outside-0123456789ab.md", "purge.unproven " + name}) {
		t.Errorf("%v, %v", got, err)
	}
}

// TestPurgeThatWasJoined: a purge on one side takes what the other side archived, and what
// it brought back from the archive.
func TestPurgeThatWasJoined(t *testing.T) {
	ctx := context.Background()
	purge := func(r *Room) { must1(r.Purge(ctx, "m.md", "asked to")) }
	for name, tt := range map[string]struct{ before, other func(t *testing.T, r *Room) }{
		"archived there": {nil, func(t *testing.T, r *Room) { must1(0, archived(r, "m.md")) }},
		"renamed and archived there": {nil, func(t *testing.T, r *Room) {
			wantAccepted(t, byHand(t, r, Candidate{Path: "m.md", To: "n.md"}))
			must1(0, archived(r, "n.md"))
		}},
		"archived before": {func(t *testing.T, r *Room) { must1(0, archived(r, "m.md")) }, func(*testing.T, *Room) {}},
		"archived before, restored and renamed there": {func(t *testing.T, r *Room) { must1(0, archived(r, "m.md")) }, func(t *testing.T, r *Room) {
			must1(restored(r, "m.md"))
			wantAccepted(t, byHand(t, r, Candidate{Path: "m.md", To: "n.md"}))
		}},
		"edited, renamed and archived there": {nil, func(t *testing.T, r *Room) {
			wantAccepted(t, byHand(t, r, Candidate{Path: "m.md", Old: "PRIVATE", New: "PRIVATE 2"}))
			wantAccepted(t, byHand(t, r, Candidate{Path: "m.md", To: "n.md"}))
			wantAccepted(t, byHand(t, r, Candidate{Path: "n.md", Old: "PRIVATE 2", New: "PRIVATE 3"}))
			must1(0, archived(r, "n.md"))
		}},
		"renamed, edited and removed there": {nil, func(t *testing.T, r *Room) {
			wantAccepted(t, byHand(t, r, Candidate{Path: "m.md", To: "n.md"}))
			wantAccepted(t, byHand(t, r, Candidate{Path: "n.md", Old: "PRIVATE", New: "PRIVATE 2"}))
			wantAccepted(t, offer(t, r, UserObserved, Candidate{Path: "n.md", Remove: true}))
		}},
		"archived before and restored there": {func(t *testing.T, r *Room) { must1(0, archived(r, "m.md")) }, func(t *testing.T, r *Room) { must1(restored(r, "m.md")) }},
	} {
		for n := range 2 {
			t.Run(fmt.Sprintf("%s/purged=%d", name, n), func(t *testing.T) {
				o := sharedKey(1 << 20)
				one, mem := newRoom(t, o)
				store(t, one, UserObserved, Candidate{Path: "m.md", Text: "PRIVATE\n"})
				if tt.before != nil {
					tt.before(t, one)
				}
				base := everyFile(t, mem, "")
				mem2 := mem.CrashClone(newRNG(1), 1)
				mem2.SetIdentity("another machine")
				sides := []*Room{one, reopen(t, mem2, o)}
				purge(sides[n])
				tt.other(t, sides[1-n])
				merged(t, base, everyFile(t, mem, ""), everyFile(t, mem2, ""), mem, true)
				r := must1(openMem(t, mem, o))
				if got := listed(t, r, stageActive, stageChanged, stageArchived, stageUnaccepted); len(got) > 0 {
					t.Errorf("left: %+v", got)
				}
				wantNowhere(t, mem, "PRIVATE")
				wellOnDisk(t, "joined", r)
			})
		}
	}
}

// TestPurgeBesideAnother: a memory that was purged on one side is erased where the other side has
// renamed and retired it, and its name there is another memory's here.
func TestPurgeBesideAnother(t *testing.T) {
	bothWays(t, "", func(t *testing.T, mine, theirs *Room, _ Memory, join func() (*Room, *rootfs.Mem)) {
		must1(mine.Purge(context.Background(), "m.md", "asked to"))
		store(t, mine, UserObserved, Candidate{Path: "n.md", Text: "Another fact.\n"})
		wantAccepted(t, byHand(t, theirs, Candidate{Path: "m.md", To: "n.md"}))
		wantAccepted(t, byHand(t, theirs, Candidate{Path: "n.md", Old: "a.example", New: "b.example"}))
		must1(0, archived(theirs, "n.md"))
		r, mem := join()
		if got := shownOf(listed(t, r, stageActive, stageChanged, stageArchived)); !slices.Equal(got, []string{"n.md user-observed Another fact.\n"}) {
			t.Errorf("it holds %q", got)
		}
		wantNowhere(t, mem, ".example")
		wellOnDisk(t, "joined", r)
	})
}

// TestPurgeOfWhatAWriterRemoved: the operator's purge counts, not that a writer had removed the
// memory before.
func TestPurgeOfWhatAWriterRemoved(t *testing.T) {
	bothWays(t, "", func(t *testing.T, mine, theirs *Room, _ Memory, join func() (*Room, *rootfs.Mem)) {
		wantAccepted(t, offer(t, mine, UserObserved, Candidate{Path: "m.md", Remove: true}))
		must1(mine.Purge(context.Background(), "m.md", "asked to"))
		wantAccepted(t, offer(t, theirs, UserObserved, Candidate{Path: "m.md", Old: "a.example", New: "b.example"}))
		r, _ := join()
		if got := shownOf(listed(t, r, stageActive, stageChanged, stageArchived)); len(got) > 0 {
			t.Errorf("shown: %q", got)
		}
		if got := listed(t, r, stageUnaccepted); len(got) != 1 || got[0].Text != "The host is b.example.\n" {
			t.Errorf("what was written meanwhile does not wait for the operator: %v", got)
		}
		wellOnDisk(t, "joined", r)
	})
}

// TestPurgeSparesATwin: what another memory of the same words rests on stays.
func TestPurgeSparesATwin(t *testing.T) {
	bothWays(t, "", func(t *testing.T, mine, theirs *Room, m Memory, join func() (*Room, *rootfs.Mem)) {
		must1(mine.Purge(context.Background(), "m.md", "asked to"))
		store(t, mine, UserObserved, Candidate{Path: "n.md", Text: "Another fact.\n"})
		store(t, theirs, UserObserved, Candidate{Path: "twin.md", Text: m.Text})
		must1(0, archived(theirs, "twin.md"))
		wantAccepted(t, byHand(t, theirs, Candidate{Path: "m.md", To: "n.md"}))
		must1(0, archived(theirs, "n.md"))
		r, _ := join()
		want := []string{"n.md user-observed Another fact.\n", "twin.md user-observed " + m.Text}
		if got := shownOf(listed(t, r, stageActive, stageChanged, stageArchived)); !slices.Equal(got, want) {
			t.Errorf("it holds %q, want %q", got, want)
		}
		wellOnDisk(t, "joined", r)
	})
}

// TestPurgeOfWhatWaits: what waits on the other side for a memory that was purged here goes with
// it, under the name that it was held under too.
func TestPurgeOfWhatWaits(t *testing.T) {
	ctx := context.Background()
	for _, renamed := range []bool{false, true} {
		bothWays(t, fmt.Sprintf("renamed=%v", renamed), func(t *testing.T, mine, theirs *Room, m Memory, join func() (*Room, *rootfs.Mem)) {
			must1(mine.Purge(ctx, "m.md", "asked to"))
			wantAccepted(t, must1(theirs.Adopt(ctx, UserVerified, m))[0])
			if v := offer(t, theirs, UserObserved, Candidate{Path: "m.md", Old: "a.example", New: "b.example"}); v.Outcome != Held {
				t.Fatal(v)
			}
			if renamed {
				wantAccepted(t, byHand(t, theirs, Candidate{Path: "m.md", To: "n.md"}))
			}
			r, mem := join()
			if got := listed(t, r, stagePending); len(got) > 0 {
				t.Errorf("it waits: %v", got)
			}
			wantNowhere(t, mem, ".example")
			wellOnDisk(t, "joined", r)
		})
	}
}

// TestPurgeSparesTheArchive: a purge that was joined takes the memory under the name that it has
// here, and not who was retired under that name before.
func TestPurgeSparesTheArchive(t *testing.T) {
	for _, edited := range []bool{false, true} {
		bothWays(t, fmt.Sprintf("edited=%v", edited), func(t *testing.T, mine, theirs *Room, _ Memory, join func() (*Room, *rootfs.Mem)) {
			must1(mine.Purge(context.Background(), "m.md", "asked to"))
			store(t, theirs, UserObserved, Candidate{Path: "n.md", Text: "Retired.\n"})
			must1(theirs.Archive(context.Background(), "expired", "", "n.md"))
			wantAccepted(t, byHand(t, theirs, Candidate{Path: "m.md", To: "n.md"}))
			if edited {
				wantAccepted(t, byHand(t, theirs, Candidate{Path: "n.md", Old: "a.example", New: "b.example"}))
			}
			r, mem := join()
			if got := listed(t, r, stageActive, stageChanged, stageArchived); len(got) != 2 || got[0].Path == "n.md" && got[0].Category != "expired" || shownOf(got)[0] != "n.md user-observed Retired.\n" {
				t.Errorf("it holds %+v", got)
			}
			wantNowhere(t, mem, "a.example")
			if vs, err := r.Restore(context.Background(), "n.md"); err != nil || !edited && vs[0].Outcome != Accepted {
				t.Errorf("restored: %v, %v", vs, err)
			}
			wellOnDisk(t, "joined", r, "check.changed")
		})
	}
}

// TestPurgeAfterAJoinedRollback: what a memory was under a name that it had for a while on the
// other side is its own still once a rollback there gave it its first name again.
func TestPurgeAfterAJoinedRollback(t *testing.T) {
	ctx := context.Background()
	bothWays(t, "", func(t *testing.T, _, theirs *Room, _ Memory, join func() (*Room, *rootfs.Mem)) {
		before := theirs.stateNow().Seq
		wantAccepted(t, byHand(t, theirs, Candidate{Path: "m.md", To: "n.md"}))
		wantAccepted(t, byHand(t, theirs, Candidate{Path: "n.md", Old: "a.example", New: "b.example"}))
		if vs, err := theirs.Rollback(ctx, before, "n.md"); err != nil || vs[0].Outcome != Accepted {
			t.Fatal(vs, err)
		}
		r, mem := join()
		if got := shownOf(listed(t, r)); !slices.Equal(got, []string{"m.md user-observed The host is a.example.\n"}) {
			t.Fatalf("it holds %q", got)
		}
		if left, err := r.Purge(ctx, "m.md", "asked to"); err != nil || len(left) > 0 {
			t.Fatal(left, err)
		}
		wantNowhere(t, mem, ".example")
		wellOnDisk(t, "purged", r)
	})
}

// TestPurgeBesideWhoCameAndWent: another memory had the name of a purged one for a while, and has its
// own again. It is not taken for the purged one where the other side has renamed that.
func TestPurgeBesideWhoCameAndWent(t *testing.T) {
	bothWays(t, "", func(t *testing.T, mine, theirs *Room, _ Memory, join func() (*Room, *rootfs.Mem)) {
		must1(mine.Purge(context.Background(), "m.md", "asked to"))
		wantAccepted(t, byHand(t, mine, Candidate{Path: "other.md", To: "m.md"}))
		wantAccepted(t, byHand(t, mine, Candidate{Path: "m.md", To: "other.md"}))
		wantAccepted(t, byHand(t, theirs, Candidate{Path: "m.md", To: "n.md"}))
		r, mem := join()
		wantNowhere(t, mem, ".example")
		wellOnDisk(t, "joined", r)
	})
}
