package scribe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/memoryroom/scribe/internal/journal"
)

func reminded(t testing.TB, s *Session, turn int) Snapshot {
	t.Helper()
	sn, err := s.Remind(context.Background(), turn)
	if err != nil {
		t.Fatal(err)
	}
	return sn
}

// kindOfReminder is what the tag says; "" of no reminder.
func kindOfReminder(sn Snapshot) string {
	_, rest, _ := strings.Cut(sn.Text, `<memory-reminder kind="`)
	kind, _, _ := strings.Cut(rest, `"`)
	return kind
}

// TestRemindOrder: one kind a step, each once in a session, over a restart too, and none
// while there is a change to tell.
func TestRemindOrder(t *testing.T) {
	at := time.Date(2026, 9, 21, 8, 0, 0, 0, time.UTC)
	o := &Options{Now: func() time.Time { return at }, Limits: Limits{IndexLines: 4}}
	r, mem := newRoom(t, o)
	store(t, r, Operator, Candidate{Path: "old.md", Text: "---\nverify_when: 2026-09-01\n---\nThe lease ends.\n"})
	store(t, r, Operator, Candidate{Path: "a.md", Text: "A.\n"})
	store(t, r, Operator, Candidate{Path: "b.md", Text: "B.\n"})
	store(t, r, Operator, Candidate{Path: "c.md", Text: "C.\n"})
	wantRule(t, offer(t, r, UserObserved, Candidate{Path: "a.md", Text: "Not A.\n"}), Held, "conflict.path")
	s := begun(t, r)
	for i, want := range []string{remindDue, remindConflict, remindNearCap, remindNudge, "", ""} {
		sn := reminded(t, s, nudgeTurn)
		if again := reminded(t, s, nudgeTurn); again.Text != sn.Text {
			t.Errorf("step %d: a reminder that was dropped comes back as %q, want %q", i, again.Text, sn.Text)
		}
		if got := kindOfReminder(sn); got != want || strings.Count(sn.Text, "<memory-reminder") > 1 {
			t.Errorf("step %d: got %q, want %q:\n%s", i, got, want, sn.Text)
		}
		store(t, r, Operator, Candidate{Path: fmt.Sprintf("n%d.md", i), Text: "N.\n"})
		if sn := reminded(t, s, nudgeTurn); sn.Text != "" {
			t.Errorf("step %d: a change is to be told, and the reminder is\n%s", i, sn.Text)
		}
		changed := deltaOf(t, s)
		commit(t, s, sn) // it was given in the step before
		wantChanges(t, deltaOf(t, s), fmt.Sprintf("added n%d.md", i))
		if sn.Text != "" { // that commit was of no delta
			changed = deltaOf(t, s)
		}
		commit(t, s, changed)
		s = named(t, reopen(t, mem, o), s.id)
		r = s.room
	}
}

// TestDueReminder: what is due is named with its date, at or above user-observed, and not
// before its time.
func TestDueReminder(t *testing.T) {
	at := time.Date(2026, 9, 21, 8, 0, 0, 0, time.UTC)
	r, _ := newRoom(t, &Options{Now: func() time.Time { return at }})
	for path, when := range map[string]string{"date.md": "2026-10-01", "span.md": "P10D", "phrase.md": "2周后", "prose.md": "when the lease ends", "now.md": "立即"} {
		store(t, r, UserObserved, Candidate{Path: path, Text: "---\nverify_when: " + when + "\n---\nFact in " + path + "\n"})
	}
	store(t, r, ExternalTool, Candidate{Path: "tool.md", Text: "---\nverify_when: 2026-09-30\n---\nFact of a tool.\n"})
	s := begun(t, r)
	dueAt := func(day int) (all []string) {
		t.Helper()
		at = time.Date(2026, 10, day, 0, 0, 0, 0, time.UTC)
		ms, err := r.Due(context.Background(), 0)
		if err != nil {
			t.Fatal(err)
		}
		return paths(ms)
	}
	for _, c := range []struct {
		day  int
		want []string
	}{
		{1, []string{"now.md", "tool.md", "date.md"}},
		{2, []string{"now.md", "tool.md", "date.md", "span.md"}},
		{4, []string{"now.md", "tool.md", "date.md", "span.md"}},
		{6, []string{"now.md", "tool.md", "date.md", "span.md", "phrase.md"}},
	} {
		if got := dueAt(c.day); !slices.Equal(got, c.want) {
			t.Errorf("on day %d: %q, want %q", c.day, got, c.want)
		}
	}
	sn := reminded(t, s, 1)
	want := "- now.md, since 2026-09-21\n- date.md, since 2026-10-01\n- span.md, since 2026-10-01\n- phrase.md, since 2026-10-05\nNot shown: 1 more.\n"
	if !strings.Contains(sn.Text, want) || strings.Contains(sn.Text, "tool.md") || strings.Contains(sn.Text, "prose.md") {
		t.Errorf("got\n%s\nwant in it\n%s", sn.Text, want)
	}
	if got := paths(sn.Shown); len(got) != 4 || sn.Omitted != 1 || sn.Cost[0] != len("- now.md, since 2026-09-21\n") {
		t.Errorf("shown %q at %v, %d omitted", got, sn.Cost, sn.Omitted)
	}
	ms, err := r.Due(context.Background(), 0)
	if err != nil || len(ms[0].Findings) == 0 || !strings.Contains(ms[0].Findings[len(ms[0].Findings)-1].Message, "2026-09-21") {
		t.Errorf("the date is not in a finding: %v, %+v", err, ms[0].Findings)
	}
	// Within looks ahead.
	at = time.Date(2026, 9, 30, 0, 0, 0, 0, time.UTC)
	if ms, err := r.Due(context.Background(), 24*time.Hour); err != nil || !slices.Equal(paths(ms), []string{"now.md", "tool.md", "date.md"}) {
		t.Errorf("a day ahead: %q, %v", paths(ms), err)
	}
	// What was checked is due no more, and a change of the room is seen.
	at = time.Date(2026, 10, 2, 0, 0, 0, 0, time.UTC)
	edited(t, r, "date.md", "2026-10-01", "2027-10-01")
	if got := dueAt(2); slices.Contains(got, "date.md") {
		t.Errorf("checked, and due still: %q", got)
	}
	if _, err := (*Room)(nil).Due(context.Background(), 0); err == nil {
		t.Error("a nil room has something due")
	}
}

// TestConflictsAreCounted by their rules: advice, and what waits for other reasons, is none.
func TestConflictsAreCounted(t *testing.T) {
	state := &journal.State{Pending: map[string]journal.Held{
		"a": {Rules: []string{"directive.override", "conflict.same-text"}},
		"b": {Rules: []string{"review.all"}},
		"c": {Rules: []string{"conflict.key"}},
		"d": {Rules: []string{"conflict.same-text", "conflict.path"}},
	}}
	if n := conflicts(state); n != 2 {
		t.Errorf("%d conflicts, want 2", n)
	}
}

// TestNudge comes late, and not where somebody wrote.
func TestNudge(t *testing.T) {
	r, mem := newRoom(t, nil)
	s := begun(t, r)
	if sn := reminded(t, s, nudgeTurn-1); sn.Text != "" {
		t.Errorf("too early:\n%s", sn.Text)
	}
	wrote := begun(t, r)
	wantAccepted(t, proposed(t, wrote.Guard(2), Candidate{Path: "a.md", Text: "A.\n"}))
	if sn := reminded(t, wrote, nudgeTurn); sn.Text != "" {
		t.Errorf("to one that wrote:\n%s", sn.Text)
	}
	extracted := begun(t, r)
	must(t, extracted, 1)
	if sn := reminded(t, extracted, nudgeTurn); sn.Text != "" {
		t.Errorf("to one with a writer:\n%s", sn.Text)
	}
	if sn := reminded(t, named(t, reopen(t, mem, &Options{ReadOnly: true}), s.id), nudgeTurn); sn.Text != "" {
		t.Errorf("where nothing can be written:\n%s", sn.Text)
	}
	if sn := reminded(t, s, nudgeTurn); kindOfReminder(sn) != remindNudge {
		t.Errorf("control: %q", sn.Text)
	}
	if _, err := (*Session)(nil).Remind(context.Background(), 1); err == nil {
		t.Error("a nil session reminds")
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := s.Remind(ctx, nudgeTurn); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled: %v", err)
	}
}
