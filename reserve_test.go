package scribe

import (
	"context"
	"errors"
	"io/fs"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/memoryroom/scribe/internal/rootfs"
)

// clearing is every way to make room. They act on the room of workload, where a candidate
// waits under d/b.md, and a.md was edited once.
func clearing() []work {
	ctx := context.Background()
	setup := func(t testing.TB, r *Room) {
		store(t, r, Operator, Candidate{Path: "a.md", Text: "older a\n"})
		wantAccepted(t, byHand(t, r, Candidate{Path: "a.md", Old: "older", New: "old"}))
		store(t, r, Operator, Candidate{Path: "d/b.md", Description: "x", Text: "old b\n"})
		store(t, r, Operator, Candidate{Path: "gone.md", Text: "old gone\n"})
		if err := archived(r, "gone.md"); err != nil {
			t.Fatal(err)
		}
		r.opts.ReviewAll = true
		defer func() { r.opts.ReviewAll = false }()
		if _, err := session(t, r, UserObserved).Guard(1).Propose(ctx, Candidate{Path: "d/b.md", Old: "old", New: "held"}); err != nil {
			t.Fatal(err)
		}
	}
	purges := func(path string) func(r *Room) (bool, error) {
		return func(r *Room) (bool, error) {
			left, err := r.Purge(ctx, path, "x")
			return err == nil && len(left) == 0, err
		}
	}
	return []work{
		{"remove", nil, setup, func(r *Room) (bool, error) { return ackOf(r.Propose(ctx, Candidate{Path: "a.md", Remove: true})) }},
		{"remove two", nil, setup, func(r *Room) (bool, error) {
			return ackOf(r.Propose(ctx, Candidate{Path: "a.md", Remove: true}, Candidate{Path: "d/b.md", Remove: true}))
		}},
		{"archive", nil, setup, func(r *Room) (bool, error) { err := archived(r, "a.md"); return err == nil, err }},
		{"refuse", nil, setup, func(r *Room) (bool, error) { vs, err := resolveAll(r, false); return len(vs) > 0, err }},
		{"purge", nil, setup, purges("d/b.md")},
		{"purge of the archive", nil, setup, purges("gone.md")},
		{"prune", nil, setup, func(r *Room) (bool, error) {
			later := r.opts.Now().AddDate(1, 0, 0)
			r.opts.Now = func() time.Time { return later }
			found, err := r.Prune(ctx, 0, 0, false)
			return err == nil && len(found) > 0, err
		}},
	}
}

// needsSpace reports whether a step takes space on a disk.
func needsSpace(op string) bool {
	switch op {
	case "create", "write", "append", "mkdir":
		return true
	}
	return false
}

// TestG10_FullDiskIsCleared: on a disk without a byte left, what makes room goes through
// by the space that is held back, from this process and from the next; what does not is
// refused, and keeps its hands off that space.
func TestG10_FullDiskIsCleared(t *testing.T) {
	for _, w := range clearing() {
		t.Run(strings.ReplaceAll(w.name, " ", "-"), func(t *testing.T) {
			_, after := w.ends(t)
			for _, anew := range []bool{false, true} {
				mem, r := w.prepared(t)
				full := true
				mem.Hook(func(op, name string) error {
					switch {
					case op == "remove" && name == ".scribe/"+reserveName:
						full = false
					case full && needsSpace(op):
						return syscall.ENOSPC
					}
					return nil
				})
				if anew {
					var err error
					if r, err = tryOpen(t, mem); err != nil {
						t.Fatalf("a room on a full disk does not open: %v", err)
					}
				}
				if _, err := r.Propose(context.Background(), Candidate{Path: "more.md", Text: "more\n"}); !rootfs.Full(err) || !full {
					t.Errorf("a new memory: %v, and the disk is full: %v; want that it is, and nothing spent", err, full)
				}
				if acked, err := w.run(r); !acked || full {
					t.Errorf("anew %v: %v, want it done with the reserve spent", anew, err)
				}
				mem.Hook(nil)
				if got := stateOf(t, r); got != after {
					t.Errorf("it holds\n  %s\nwant\n  %s", got, after)
				}
				sound(t, w.name, mem, reopen(t, mem, nil))
				if _, err := mem.Lstat(".scribe/" + reserveName); err != nil {
					t.Errorf("the reserve is not back: %v", err)
				}
			}
		})
	}
}

// TestG10_FullDiskRecovers: a room that was killed at any step of making room opens on a
// full disk, with the reserve or without it: nothing is lost, and the room can be read.
func TestG10_FullDiskRecovers(t *testing.T) {
	for _, w := range clearing() {
		t.Run(strings.ReplaceAll(w.name, " ", "-"), func(t *testing.T) {
			s := newSweep(t, w, 0, effort{}, new(tally))
			every := 3
			if *soak {
				every = 1
			}
			for step, at := 0, "x"; at != ""; step += every {
				mem := s.base.CrashClone(s.rng, 1)
				acked := false
				at, acked = s.killAt(mem, step, s.open(mem))
				full := true
				mem.Hook(func(op, name string) error {
					if op == "remove" && name == ".scribe/"+reserveName {
						full = false
					}
					if full && needsSpace(op) {
						return syscall.ENOSPC
					}
					return nil
				})
				r, err := s.openArmed(mem)
				if err != nil {
					t.Errorf("killed at %s: the room does not open: %v", at, err)
					continue
				}
				_ = stateOf(t, r) // fails where something can not be read
				mem.Hook(nil)
				r = s.open(mem) // with space, the index catches up too
				if got := stateOf(t, r); got != s.after && (got != s.before || acked) {
					t.Errorf("killed at %s: it holds\n  %s\nbefore\n  %s\nafter\n  %s", at, got, s.before, s.after)
				}
				sound(t, "killed at "+at, mem, r)
			}
		})
	}
}

// TestFullDiskWithoutReserve: with nothing held back, what does not fit is an error that
// says so, and nothing is half done.
func TestFullDiskWithoutReserve(t *testing.T) {
	for _, w := range clearing() {
		before, after := w.ends(t)
		mem, r := w.prepared(t)
		mem.Unplant(".scribe/" + reserveName)
		mem.Hook(func(op, _ string) error {
			if needsSpace(op) {
				return syscall.EDQUOT
			}
			return nil
		})
		acked, err := w.run(r)
		mem.Hook(nil)
		if acked || !errors.Is(err, syscall.EDQUOT) {
			t.Errorf("%s: acknowledged %v, %v", w.name, acked, err)
		}
		again := reopen(t, mem, nil)
		if got := stateOf(t, again); got != before && got != after {
			t.Errorf("%s: it holds\n  %s\nbefore\n  %s", w.name, got, before)
		}
		sound(t, w.name, mem, again)
		if _, err := mem.Lstat(".scribe/" + reserveName); errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: the reserve is not back", w.name)
		}
	}
}
