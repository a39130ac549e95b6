package scribe

import (
	"context"
	"testing"
)

// TestHostRuleWithoutWords: a finding that says nothing still has a rule and a message, and a
// rule that says it is the host's is not renamed.
func TestHostRuleWithoutWords(t *testing.T) {
	for _, tt := range []struct {
		in      Finding
		rule    string
		message string
	}{
		{Finding{Outcome: Held}, "host.rule", "a rule of the host found something"},
		{Finding{Rule: "pandas", Outcome: Held, Message: "pandas wait"}, "host.pandas", "pandas wait"},
		{Finding{Rule: "host.pandas", Outcome: Held}, "host.pandas", "a rule of the host found something"},
	} {
		r, _ := newRoom(t, &Options{Rules: []Admit{func(context.Context, Memory, Memory) ([]Finding, error) {
			return []Finding{tt.in}, nil
		}}})
		v := offer(t, r, UserObserved, Candidate{Path: "a.md", Text: "A.\n"})
		if len(v.Findings) != 1 || v.Findings[0].Rule != tt.rule || v.Findings[0].Message != tt.message || v.Outcome != Held {
			t.Errorf("%+v: got %+v", tt.in, v)
		}
	}
}

// TestRoomsOnce: a session that would read one room twice would show and find all of it twice.
func TestRoomsOnce(t *testing.T) {
	own, _ := newRoom(t, nil)
	beside, _ := newRoom(t, &Options{Name: "beside"})
	namesake, _ := newRoom(t, &Options{Name: "beside"})
	unnamed, _ := newRoom(t, nil)
	for name, also := range map[string][]*Room{"its own": {own}, "another twice": {beside, beside}, "two of one name": {beside, namesake}, "none named": {unnamed}} {
		if s, err := own.Session(context.Background(), "one", UserObserved, also...); err == nil || s != nil {
			t.Errorf("%s: got %v, %v", name, s, err)
		}
	}
	if _, err := own.Session(context.Background(), "one", UserObserved, beside); err != nil {
		t.Error(err)
	}
}
