package main

import (
	"slices"
	"strings"
	"testing"
)

// TestSystems runs every system over a few notes: each has to find something.
func TestSystems(t *testing.T) {
	var out, errs strings.Builder
	if code := run([]string{"-n", "120", "-queries", "20", "-room"}, &out, &errs); code != 0 {
		t.Fatal(errs.String())
	}
	for _, want := range []string{"scribe", "bleve", "FTS5", "open and first search"} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("no %s in\n%s", want, out.String())
		}
	}
	if code := run([]string{"-n", "x"}, &out, &errs); code != 2 {
		t.Errorf("exit code %d for a number that is none", code)
	}
}

func TestCorpusIsFrozen(t *testing.T) {
	a, b := corpus(50, 5), corpus(50, 5)
	for i := range a.all {
		if a.all[i] != b.all[i] {
			t.Fatalf("note %d differs", i)
		}
	}
	if d := slices.Compare(a.questions[0].words, b.questions[0].words); d != 0 || len(a.questions) != 5 || a.questions[0].text == "" {
		t.Errorf("queries %v", a.questions)
	}
}
