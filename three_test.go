package scribe

import (
	"bytes"
	"context"
	"path/filepath"
	"testing"
)

// TestG10_ThreeClones: three clones write, and are merged in every order in which people do
// that: each into one, one after the other, or two of them first. What each wrote is there in
// the end, and what an operator took out of sight in one is out of sight in all.
func TestG10_ThreeClones(t *testing.T) {
	ctx := context.Background()
	o := &Options{Key: bytes.Repeat([]byte{7}, keySize)}
	// merge merges a clone into another, lets the room join, and commits what it made of it.
	merge := func(t *testing.T, into, from string) {
		t.Helper()
		git(t, into, "fetch", "-q", from, "main")
		tryGit(t, into, "merge", "-q", "FETCH_HEAD")
		r := openAt(t, into, o)
		if _, err := r.Check(ctx, true); err != nil {
			t.Fatal(err)
		}
		r.Close()
		git(t, into, "add", "-A")
		git(t, into, "commit", "-q", "--allow-empty", "-m", "merge")
	}
	for name, order := range map[string][][2]int{
		"one after the other":    {{0, 1}, {0, 2}, {1, 0}, {2, 0}},
		"two of them first":      {{1, 2}, {0, 1}, {1, 0}, {2, 0}},
		"two first, other sides": {{2, 1}, {0, 2}, {1, 0}, {2, 0}},
		"round and round":        {{0, 1}, {1, 2}, {2, 0}, {0, 2}, {1, 2}},
		"across":                 {{0, 1}, {1, 2}, {0, 2}, {2, 1}, {0, 2}, {1, 0}, {2, 1}, {0, 1}},
	} {
		if testing.Short() && name != "two of them first" {
			continue
		}
		t.Run(name, func(t *testing.T) {
			one, two := gitRoom(t, o, homeFiles)
			three := filepath.Join(t.TempDir(), "three")
			git(t, one, "clone", "-q", ".", three)
			clones := []string{one, two, three}
			for i, who := range []string{"ONE", "TWO", "THREE"} {
				r := openAt(t, clones[i], o)
				wantAccepted(t, byHand(t, r, Candidate{Path: string(rune('a'+i)) + ".md", Old: "The fact", New: who + "'s fact"}))
				store(t, r, UserObserved, Candidate{Path: "of-" + who + ".md", Text: "Written by " + who + ".\n"})
				if who == "THREE" {
					if _, err := r.Suspend(ctx, "is this still so?", "a.md"); err != nil {
						t.Fatal(err)
					}
				}
				r.Close()
				commitAll(t, clones[i], who)
			}
			for _, m := range order {
				merge(t, clones[m[0]], clones[m[1]])
			}
			for i, dir := range clones {
				r := openAt(t, dir, o)
				shown := snapshotText(t, r)
				for path, want := range map[string]string{
					"b.md": "TWO's fact of b.md\n", "c.md": "THREE's fact of c.md\n",
					"of-ONE.md": "Written by ONE.\n", "of-TWO.md": "Written by TWO.\n", "of-THREE.md": "Written by THREE.\n",
				} {
					if got := read(t, r, path); got != want {
						t.Errorf("clone %d: %s is %q", i, path, got)
					}
				}
				if bytes.Contains([]byte(shown), []byte("] a.md ")) {
					t.Errorf("clone %d: what was suspended is shown:\n%s", i, shown)
				}
				r.Close()
			}
		})
	}
}
