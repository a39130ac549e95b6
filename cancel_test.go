package scribe

// Cancellation at every step of a search: whichever time it is that the context is asked and
// has ended, the answer is ctx.Err(), and nothing is another than before.

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strings"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// endsAt is a context that ends when it is asked for the n-th time.
type endsAt struct {
	context.Context
	mu    *sync.Mutex
	left  *int
	ended chan struct{}
}

func cancelAt(n int) endsAt {
	return endsAt{context.Background(), new(sync.Mutex), &n, make(chan struct{})}
}

func (c endsAt) Done() <-chan struct{} { return c.ended }

func (c endsAt) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if *c.left--; *c.left > 0 {
		return nil
	}
	if *c.left == 0 {
		close(c.ended)
	}
	return context.Canceled
}

// everyStep runs do with contexts that end at their first, second... check, until one is not
// asked so often, and gives how often it was asked.
func everyStep(t *testing.T, do func(ctx context.Context) (hits int, err error)) (steps int) {
	t.Helper()
	for n := 1; ; n++ {
		hits, err := do(cancelAt(n))
		switch {
		case err == nil && hits > 0:
			return n - 1
		case !errors.Is(err, context.Canceled) || hits > 0:
			t.Fatalf("check %d: %d hits, %v", n, hits, err)
		case n == 10_000:
			t.Fatal("it never ends")
		}
	}
}

func TestCancelledAtEveryStep(t *testing.T) {
	fill := func(o *Options) (*Room, func() map[string]string) {
		r, mem := newRoom(t, o)
		for i := range 6 {
			store(t, r, Operator, Candidate{Path: fmt.Sprintf("tea-%d.md", i), Text: fmt.Sprintf("Green tea %d is served at %d in the garden.\n", i, i)})
			store(t, r, Operator, Candidate{Path: fmt.Sprintf("note-%d.md", i), Text: fmt.Sprintf("Something else, number %d.\n", i)})
		}
		if err := archived(r, "tea-5.md"); err != nil {
			t.Fatal(err)
		}
		return r, func() map[string]string { return everyFile(t, mem, "") }
	}
	unchanged := func(t *testing.T, before, after map[string]string) {
		t.Helper()
		if diff := cmp.Diff(after, before); diff != "" {
			t.Errorf("the disk changed:\n%s", diff)
		}
	}
	for name, q := range map[string]Query{
		"what stands": {Text: "green tea"},
		"the archive": {Text: "green tea", Stages: []string{stageArchived, stageActive}},
	} {
		t.Run("Room.Recall, "+name, func(t *testing.T) {
			r, files := fill(nil)
			before := files()
			steps := everyStep(t, func(ctx context.Context) (int, error) {
				hits, err := r.Recall(ctx, q)
				return len(hits), err
			})
			if steps < 4 {
				t.Errorf("the context is asked %d times", steps)
			}
			unchanged(t, before, files())
		})
	}
	t.Run("Room.Recall, a waived room", func(t *testing.T) {
		r, files := fill(&Options{Waive: map[string]string{waiveUnaccepted: "a test"}})
		before := files()
		everyStep(t, func(ctx context.Context) (int, error) {
			hits, err := r.Recall(ctx, Query{Text: "green tea"})
			return len(hits), err
		})
		unchanged(t, before, files())
	})
	t.Run("Guard.Recall", func(t *testing.T) {
		r, files := fill(nil)
		g := session(t, r, UserObserved).Guard(1)
		before := files()
		everyStep(t, func(ctx context.Context) (int, error) {
			hits, err := g.Recall(ctx, Query{Text: "green tea"})
			return len(hits), err
		})
		unchanged(t, before, files())
		if g.author().ceiling != UserObserved {
			t.Error("the guard's ceiling fell")
		}
	})
	for _, mode := range []string{suggestLive, suggestShadow} {
		t.Run("Session.Suggest, "+mode, func(t *testing.T) {
			r, files := fill(atEase(mode))
			s := session(t, r, UserObserved)
			before := files()
			steps := everyStep(t, func(ctx context.Context) (int, error) {
				hits, err := s.Suggest(ctx, userSaid(1, asksForTea)) // the same again, as it did not come
				if err != nil && s.suggest != nil && (s.suggest.newest != 0 || s.suggest.gate.Query() != "" || len(s.suggest.finds) > 0 || s.suggest.stop != nil) {
					t.Errorf("it is remembered: %+v", s.suggest)
				}
				if mode == suggestShadow && err == nil {
					return len(s.suggest.finds), nil
				}
				return len(hits), err
			})
			if steps < 8 || s.suggest.newest != 1 {
				t.Errorf("the context is asked %d times; the newest is %d", steps, s.suggest.newest)
			}
			after := files()
			maps.DeleteFunc(after, func(name, _ string) bool {
				return mode == suggestShadow && strings.HasPrefix(name, ".scribe/"+shadowDir)
			})
			unchanged(t, before, after)
		})
	}
}
