package scribe

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestRecallTakesTurns: several rooms are merged by rank, the session's own first. Here the
// own room has many short memories besides, so that the very texts that another room has too
// are worth less in it: by score alone that room would come first.
func TestRecallTakesTurns(t *testing.T) {
	ctx := context.Background()
	own, _ := newRoom(t, &Options{Name: "own", Suggest: suggestLive, Now: still})
	second, _ := newRoom(t, &Options{Name: "second", Suggest: suggestLive, Now: still})
	third, _ := newRoom(t, &Options{Name: "third", Suggest: suggestLive, Now: still})
	for i := range 3 {
		text := "The walrus eats herring" + strings.Repeat(" and cod from the north of the land", 5+i) + ".\n"
		store(t, own, Operator, Candidate{Path: fmt.Sprintf("o%d.md", i), Text: "Mine: " + text})
		store(t, second, Operator, Candidate{Path: fmt.Sprintf("s%d.md", i), Text: "Ours: " + text})
	}
	for i := range 40 {
		store(t, own, Operator, Candidate{Path: fmt.Sprintf("rest%d.md", i), Text: fmt.Sprintf("The build has step %d.\n", i)})
	}
	store(t, third, Operator, Candidate{Path: "t0.md", Text: "A walrus had herring.\n"})
	store(t, third, Operator, Candidate{Path: "twin.md", Text: read(t, second, "s0.md")})
	s, err := own.Session(ctx, "three", UserObserved, second, third)
	if err != nil {
		t.Fatal(err)
	}

	const want = "own/o0.md second/s0.md third/t0.md own/o1.md second/s1.md own/o2.md second/s2.md"
	for most := 1; most <= 7; most++ {
		hits, err := s.Guard(1).Recall(ctx, Query{Text: "walrus herring", Max: most})
		if err != nil {
			t.Fatal(err)
		}
		if got, want := inRooms(hits), strings.Join(strings.Fields(want)[:most], " "); got != want {
			t.Errorf("of %d: got %s, want %s", most, got, want)
		}
		if slices.IsSortedFunc(hits, func(x, y Hit) int { return cmp.Compare(y.Score, x.Score) }) && most > 1 {
			t.Errorf("control: of %d, the scores alone give the same order", most)
		}
	}
	hits, err := s.Suggest(ctx, userSaid(1, "do you remember the walrus and the herring?"))
	if err != nil {
		t.Fatal(err)
	}
	if got := inRooms(hits); got != want {
		t.Errorf("suggested: got %s, want %s", got, want)
	}
}

func inRooms(hits []Hit) string {
	var all []string
	for _, h := range hits {
		all = append(all, h.Room+"/"+h.Memory.Path)
	}
	return strings.Join(all, " ")
}
