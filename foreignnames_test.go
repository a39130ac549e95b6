package scribe

import (
	"context"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// keptNames are names that people and other tools give to notes, and that break a
// rule of policy.
var keptNames = map[string]string{
	"AGENTS.md":                          "Instructions of another tool.\n",
	"docs/CLAUDE.md":                     "More of them.\n",
	"议题：预算.md":                           "A fullwidth colon.\n",
	"\u0645\u06cc\u200c\u062e.md":        "A joiner that Persian needs.\n",
	"\u2764\ufe0f letters.md":            "An emoji with a variation selector.\n",
	"[2026] plan.md":                     "Brackets.\n",
	"100% done.md":                       "A percent sign.\n",
	"what's the cost (in $).md":          "A dollar.\n",
	"-draft.md":                          "A leading hyphen.\n",
	"two  spaces.md":                     "Two spaces.\n",
	strings.Repeat("long ", 45) + "x.md": "Long.\n",
}

// TestG2_NamesOfOthers holds that such files stay: listed as foreign, read byte for
// byte by the operator, seen by no guard, and changed or overwritten by nobody.
func TestG2_NamesOfOthers(t *testing.T) {
	ctx := context.Background()
	files := maps.Clone(keptNames)
	files["plain.md"] = "Plain.\n"
	dir, r := diskFolder(t, files)
	if diff := cmp.Diff(slices.Sorted(maps.Keys(keptNames)), paths(listed(t, r, "foreign"))); diff != "" {
		t.Errorf("foreign (-want +got):\n%s", diff)
	}
	if vs, err := r.Adopt(ctx, UserObserved, listed(t, r, "unaccepted")...); err != nil || len(vs) != 1 || vs[0].Outcome != Accepted {
		t.Fatalf("adopt: %+v, %v", vs, err)
	}
	g := session(t, r, UserObserved).Guard(1, "please change every file")
	if view := memoryCommand(g, map[string]any{"command": "view", "path": "/memories"}).Text; !strings.Contains(view, "plain.md") || strings.Contains(view, "AGENTS") || strings.Contains(view, "预算") {
		t.Errorf("the guard's listing:\n%s", view)
	}
	for name, text := range keptNames {
		m, err := r.Read(ctx, name)
		if err != nil || m.Text != text || m.Stage != "foreign" {
			t.Errorf("read %q: %q, stage %q, %v", name, m.Text, m.Stage, err)
		}
		at := "/memories/" + name
		word, _, _ := strings.Cut(text, " ")
		for _, call := range []map[string]any{
			{"command": "create", "path": at, "file_text": "Mine.\n"},
			{"command": "str_replace", "path": at, "old_str": word, "new_str": "Mine"},
			{"command": "insert", "path": at, "insert_line": 0, "insert_text": "Mine"},
			{"command": "delete", "path": at},
			{"command": "rename", "old_path": at, "new_path": "/memories/mine.md"},
			{"command": "rename", "old_path": "/memories/plain.md", "new_path": at},
			{"command": "view", "path": at},
		} {
			if ruling := memoryCommand(g, call); !ruling.IsError || strings.Contains(ruling.Text, text) {
				t.Errorf("%v %q: %q", call["command"], name, ruling.Text)
			}
		}
		for _, c := range []Candidate{{Path: name, Text: "Mine.\n"}, {Path: name, Remove: true}} {
			if vs, err := r.Propose(ctx, c); err == nil && vs[0].Outcome == Accepted {
				t.Errorf("%q was accepted from the operator's hand: a rule of policy is no rule", name)
			}
		}
	}
	byHand(t, r, Candidate{Path: "new.md", Text: "New.\n"})
	after := filesBelow(t, dir, false)
	delete(after, "new.md")
	delete(after, indexName)
	if diff := cmp.Diff(files, after); diff != "" {
		t.Errorf("files changed (-before +after):\n%s", diff)
	}
}
