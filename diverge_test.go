package scribe

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/memoryroom/scribe/internal/rootfs"
)

// partedRoom gives two sides of a room that holds m.md, and joins them as git merges them.
func partedRoom(t testing.TB) (sides [2]*Room, m Memory, join func() (*Room, *rootfs.Mem)) {
	o := sharedKey(1 << 20)
	r, mem := newRoom(t, o)
	m = store(t, r, UserObserved, Candidate{Path: "m.md", Text: "The host is a.example.\n"})
	store(t, r, UserObserved, Candidate{Path: "other.md", Text: "The port is 80.\n"})
	base := everyFile(t, mem, "")
	mem2 := mem.CrashClone(newRNG(1), 1)
	mem2.SetIdentity("another machine")
	return [2]*Room{r, reopen(t, mem2, o)}, m, func() (*Room, *rootfs.Mem) {
		merged(t, base, everyFile(t, mem, ""), everyFile(t, mem2, ""), mem, true)
		return must1(openMem(t, mem, o)), mem
	}
}

// bothWays runs a test with either side as the operator's, and with either as the one that
// goes on as the journal.
func bothWays(t *testing.T, name string, test func(t *testing.T, operator, other *Room, m Memory, join func() (*Room, *rootfs.Mem))) {
	t.Helper()
	for n := range 4 {
		side, longer := n%2, n/2
		t.Run(fmt.Sprintf("%s/operator=%d/longer=%d", name, side, longer), func(t *testing.T) {
			sides, m, join := partedRoom(t)
			test(t, sides[side], sides[1-side], m, func() (*Room, *rootfs.Mem) {
				for range 6 { // the longer side goes on as the journal
					wantAccepted(t, byHand(t, sides[longer], Candidate{Path: "other.md", Old: "80", New: "800"}))
				}
				return join()
			})
		})
	}
}

// TestG5_AJoinKeepsWhatTheOperatorTookBack: what the operator did on one side holds after a
// merge, whichever of the two goes on as the journal, and whatever a writer did meanwhile.
func TestG5_AJoinKeepsWhatTheOperatorTookBack(t *testing.T) {
	ctx := context.Background()
	edits := func(r *Room) {
		wantAccepted(t, offer(t, r, UserObserved, Candidate{Path: "m.md", Old: "a.example", New: "b.example"}))
	}
	lowers := func(r *Room, m Memory) { wantAccepted(t, must1(r.Adopt(ctx, ExternalWeb, m))[0]) }
	for name, tt := range map[string]struct {
		operator func(r *Room, m Memory)
		other    func(r *Room, m Memory)
		text     string // what is shown after it; "" for nothing
	}{
		"lowered, edited":   {lowers, func(r *Room, _ Memory) { edits(r) }, "The host is b.example.\n"},
		"lowered, raised":   {lowers, func(r *Room, m Memory) { must1(r.Adopt(ctx, UserVerified, m)) }, "The host is a.example.\n"},
		"suspended, edited": {func(r *Room, _ Memory) { must1(r.Suspend(ctx, "wrong", "m.md")) }, func(r *Room, _ Memory) { edits(r) }, ""},
		"archived, edited":  {func(r *Room, _ Memory) { must1(0, archived(r, "m.md")) }, func(r *Room, _ Memory) { edits(r) }, ""},
		"purged, edited":    {func(r *Room, _ Memory) { must1(r.Purge(ctx, "m.md", "asked to")) }, func(r *Room, _ Memory) { edits(r) }, ""},
	} {
		bothWays(t, name, func(t *testing.T, mine, theirs *Room, m Memory, join func() (*Room, *rootfs.Mem)) {
			tt.operator(mine, m)
			tt.other(theirs, m)
			r, _ := join()
			wellOnDisk(t, "joined", r)
			var want []string
			if tt.text != "" {
				want = []string{"m.md external-web " + tt.text}
			}
			if got := shownOf(listed(t, r, stageActive, stageChanged)); !slices.Equal(got, want) {
				t.Errorf("shown: %q, want %q", got, want)
			}
			if got := listed(t, r, stageUnaccepted); tt.text == "" && (len(got) != 1 || got[0].Text != "The host is b.example.\n") {
				t.Errorf("the writer's text does not wait for the operator: %v", got)
			}
		})
	}
}

// shownOf tells of each memory but other.md its path, trust and text.
func shownOf(all []Memory) (out []string) {
	for _, m := range all {
		if m.Path != "other.md" {
			out = append(out, fmt.Sprint(m.Path, " ", m.Trust, " ", m.Text))
		}
	}
	return out
}

// TestG5_TheOperatorsActFollowsARename: what the operator did to a memory on one side holds
// for it under the name that it got on the other.
func TestG5_TheOperatorsActFollowsARename(t *testing.T) {
	ctx := context.Background()
	const text = "The host is a.example.\n"
	names := map[string]func(r *Room){
		"renamed": func(r *Room) { wantAccepted(t, offer(t, r, UserObserved, Candidate{Path: "m.md", To: "n.md"})) },
		"renamed twice": func(r *Room) {
			wantAccepted(t, offer(t, r, UserObserved, Candidate{Path: "m.md", To: "d/o.md"}))
			wantAccepted(t, offer(t, r, UserObserved, Candidate{Path: "d/o.md", To: "n.md"}))
		},
		"renamed, edited": func(r *Room) {
			wantAccepted(t, offer(t, r, UserObserved, Candidate{Path: "m.md", To: "n.md"}))
			wantAccepted(t, offer(t, r, UserObserved, Candidate{Path: "n.md", Old: "a.example", New: "b.example"}))
		},
		"edited, renamed": func(r *Room) {
			wantAccepted(t, offer(t, r, UserObserved, Candidate{Path: "m.md", Old: "a.example", New: "b.example"}))
			wantAccepted(t, offer(t, r, UserObserved, Candidate{Path: "m.md", To: "n.md"}))
		},
	}
	acts := map[string]func(r *Room, m Memory){
		"lowered":   func(r *Room, m Memory) { wantAccepted(t, must1(r.Adopt(ctx, ExternalWeb, m))[0]) },
		"archived":  func(r *Room, _ Memory) { must1(0, archived(r, "m.md")) },
		"suspended": func(r *Room, _ Memory) { must1(r.Suspend(ctx, "wrong", "m.md")) },
		"purged":    func(r *Room, _ Memory) { must1(r.Purge(ctx, "m.md", "asked to")) },
	}
	for act, operator := range acts {
		for name, writer := range names {
			bothWays(t, act+"/"+name, func(t *testing.T, mine, theirs *Room, m Memory, join func() (*Room, *rootfs.Mem)) {
				operator(mine, m)
				writer(theirs)
				r, mem := join()
				edited := strings.Contains(name, "edited")
				var want []string
				switch {
				case act == "lowered" && edited:
					want = []string{"n.md external-web The host is b.example.\n"}
				case act == "lowered":
					want = []string{"n.md external-web " + text}
				}
				if got := shownOf(listed(t, r, stageActive, stageChanged)); !slices.Equal(got, want) {
					t.Errorf("shown: %q, want %q", got, want)
				}
				if act == "purged" {
					wantNowhere(t, mem, "a.example")
				}
				wellOnDisk(t, "joined", r)
			})
		}
	}
}

// TestJoinedRenamesAreFormerNames: a rename that was joined is one: a purge under the new
// name reaches what the memory was under all its names, and the history says so.
func TestJoinedRenamesAreFormerNames(t *testing.T) {
	ctx := context.Background()
	bothWays(t, "", func(t *testing.T, mine, theirs *Room, _ Memory, join func() (*Room, *rootfs.Mem)) {
		wantAccepted(t, byHand(t, theirs, Candidate{Path: "m.md", To: "d/o.md"}))
		wantAccepted(t, byHand(t, theirs, Candidate{Path: "d/o.md", To: "n.md"}))
		store(t, theirs, UserObserved, Candidate{Path: "new.md", Text: "New there.\n"})
		wantAccepted(t, byHand(t, theirs, Candidate{Path: "new.md", To: "newer.md"}))
		wantAccepted(t, byHand(t, mine, Candidate{Path: "m.md", Old: "host", New: "server"}))
		r, mem := join()
		if got := shownOf(listed(t, r, stageActive, stageChanged)); !slices.Equal(got, []string{"n.md user-observed The server is a.example.\n", "newer.md user-observed New there.\n"}) {
			t.Errorf("shown: %q", got)
		}
		for path, want := range map[string][]string{"n.md": {"d/o.md", "m.md"}, "newer.md": {"new.md"}} {
			var names []string
			for _, was := range r.ledger.state.Former[path] {
				names = append(names, was.Path)
			}
			if slices.Sort(names); !slices.Equal(names, want) {
				t.Errorf("%s was called %q, want %q", path, names, want)
			}
		}
		if left, err := r.Purge(ctx, "n.md", "asked to"); err != nil || len(left) > 0 {
			t.Fatal(left, err)
		}
		for at, data := range everyFile(t, mem, "") {
			if strings.Contains(data, "a.example") && at != "m.md" { // left by a merge that does not see renames
				t.Errorf("%s holds purged text", at)
			}
		}
	})
}

// TestG5_ARefusalOutlivesAJoin: a text that the operator refused on one side is not shown
// for having been accepted on the other.
func TestG5_ARefusalOutlivesAJoin(t *testing.T) {
	ctx := context.Background()
	const bad = "The host is evil.example.\n"
	hold := func(t *testing.T, r *Room, c Candidate) Memory {
		r.opts.ReviewAll = true
		v := offer(t, r, UserObserved, c)
		r.opts.ReviewAll = false
		if v.Outcome != Held {
			t.Fatal(v)
		}
		return v.Memory
	}
	decide := func(t *testing.T, r *Room, m Memory, approve bool) {
		vs, err := r.Resolve(ctx, Resolution{ID: m.ID, Hash: m.Hash, Approve: approve})
		if err != nil || approve && vs[0].Outcome != Accepted {
			t.Fatal(vs, err)
		}
	}
	for name, tt := range map[string]struct {
		accept func(t *testing.T, r *Room, m Memory)
		shown  []string
	}{
		"new": {func(t *testing.T, r *Room, _ Memory) {
			wantAccepted(t, offer(t, r, UserObserved, Candidate{Path: "p.md", Text: bad}))
		}, []string{"m.md user-observed The host is a.example.\n"}},
		"new, approved": {func(t *testing.T, r *Room, _ Memory) {
			decide(t, r, hold(t, r, Candidate{Path: "q.md", Text: bad}), true)
		}, []string{"m.md user-observed The host is a.example.\n"}},
		"edited": {func(t *testing.T, r *Room, _ Memory) {
			wantAccepted(t, offer(t, r, UserObserved, Candidate{Path: "m.md", Old: "a.example", New: "evil.example"}))
		}, []string{"m.md user-observed The host is a.example.\n"}},
		"edited, renamed": {func(t *testing.T, r *Room, _ Memory) {
			wantAccepted(t, offer(t, r, UserObserved, Candidate{Path: "m.md", Old: "a.example", New: "evil.example"}))
			wantAccepted(t, offer(t, r, UserObserved, Candidate{Path: "m.md", To: "n.md"}))
		}, []string{"n.md user-observed The host is a.example.\n"}},
	} {
		bothWays(t, name, func(t *testing.T, mine, theirs *Room, m Memory, join func() (*Room, *rootfs.Mem)) {
			decide(t, mine, hold(t, mine, Candidate{Path: "z.md", Text: bad}), false)
			tt.accept(t, theirs, m)
			r, _ := join()
			if got := shownOf(listed(t, r, stageActive, stageChanged)); !slices.Equal(got, tt.shown) {
				t.Errorf("shown: %q, want %q", got, tt.shown)
			}
			if got := listed(t, r, stageUnaccepted); !slices.ContainsFunc(got, func(m Memory) bool { return m.Text == bad }) {
				t.Errorf("the text does not wait for the operator: %v", got)
			}
			if !slices.Contains(keptTexts(t, r), strings.TrimSpace(bad)) {
				t.Error("the text is lost")
			}
			wellOnDisk(t, "joined", r, "check.changed")
			// By hand, it is refused no longer.
			for _, m := range listed(t, r, stageUnaccepted) {
				if vs := must1(r.Adopt(ctx, UserObserved, m)); m.Text == bad && vs[0].Outcome != Accepted {
					t.Errorf("adopting it: %v", vs)
				}
			}
		})
	}
}

// TestWhoComesByARename: what is renamed to a path that a memory left is not that memory, edited
// or not: what the operator did to that one on the other side does not reach it.
func TestWhoComesByARename(t *testing.T) {
	ctx := context.Background()
	for _, edited := range []bool{false, true} {
		bothWays(t, fmt.Sprintf("edited=%v", edited), func(t *testing.T, mine, theirs *Room, _ Memory, join func() (*Room, *rootfs.Mem)) {
			must1(mine.Purge(ctx, "m.md", "asked to"))
			wantAccepted(t, offer(t, theirs, UserObserved, Candidate{Path: "m.md", Remove: true}))
			store(t, theirs, UserObserved, Candidate{Path: "n.md", Text: "The port is 80.\n"})
			wantAccepted(t, byHand(t, theirs, Candidate{Path: "n.md", To: "m.md"}))
			want := "m.md user-observed The port is 80.\n"
			if edited {
				wantAccepted(t, offer(t, theirs, UserObserved, Candidate{Path: "m.md", Old: "80", New: "81"}))
				want = "m.md user-observed The port is 81.\n"
			}
			r, _ := join()
			if got := shownOf(listed(t, r, stageActive, stageChanged)); !slices.Equal(got, []string{want}) {
				t.Errorf("shown: %q, want %q", got, want)
			}
			wellOnDisk(t, "joined", r, "check.version") // of what was retired under that name: see SECURITY.md
		})
	}
}

// TestJoinedRestore: what the other side brought back from the archive, and renamed, is in one
// place, and a purge reaches all of it.
func TestJoinedRestore(t *testing.T) {
	ctx := context.Background()
	for n := range 2 {
		o := sharedKey(1 << 20)
		one, mem := newRoom(t, o)
		store(t, one, UserObserved, Candidate{Path: "m.md", Text: "PRIVATE\n"})
		must1(0, archived(one, "m.md"))
		base := everyFile(t, mem, "")
		mem2 := mem.CrashClone(newRNG(1), 1)
		mem2.SetIdentity("another machine")
		sides := []*Room{one, reopen(t, mem2, o)}
		must1(restored(sides[n], "m.md"))
		wantAccepted(t, byHand(t, sides[n], Candidate{Path: "m.md", To: "n.md"}))
		for i := range 4 { // the other side goes on as the journal
			store(t, sides[1-n], UserObserved, Candidate{Path: "other.md", Text: fmt.Sprintf("The port is %d.\n", i), Base: hashOf(sides[1-n], "other.md")})
		}
		merged(t, base, everyFile(t, mem, ""), everyFile(t, mem2, ""), mem, true)
		r := must1(openMem(t, mem, o))
		if got := shownOf(listed(t, r, stageActive, stageChanged, stageArchived)); !slices.Equal(got, []string{"n.md user-observed PRIVATE\n"}) {
			t.Errorf("restored on side %d: it holds %q", n, got)
		}
		wellOnDisk(t, "joined", r)
		must1(r.Purge(ctx, "n.md", "asked to"))
		wantNowhere(t, mem, "PRIVATE")
	}
}

// TestARollbackTakesBack: a rollback of a renamed memory to before it was there takes it back, and
// brings it nowhere.
func TestARollbackTakesBack(t *testing.T) {
	bothWays(t, "", func(t *testing.T, mine, theirs *Room, _ Memory, join func() (*Room, *rootfs.Mem)) {
		wantAccepted(t, byHand(t, mine, Candidate{Path: "m.md", To: "n.md"}))
		if vs, err := mine.Rollback(context.Background(), 1, "n.md"); err != nil || vs[0].Outcome != Accepted {
			t.Fatal(vs, err)
		}
		wantAccepted(t, offer(t, theirs, UserObserved, Candidate{Path: "m.md", Old: "a.example", New: "b.example"}))
		r, _ := join()
		if got := shownOf(listed(t, r)); len(got) > 0 {
			t.Errorf("shown: %q", got)
		}
		if got := listed(t, r, stageUnaccepted); len(got) != 1 || got[0].Text != "The host is b.example.\n" {
			t.Errorf("what was written meanwhile does not wait for the operator: %v", got)
		}
		wellOnDisk(t, "joined", r)
	})
}
