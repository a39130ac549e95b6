package main

import (
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/memoryroom/scribe"
	"github.com/memoryroom/scribe/examples/internal/golden"
)

// TestReplay holds the recorded runs of testdata/runs under the policies that they name, the
// contract's and the default, and that a result that is another is seen.
func TestReplay(t *testing.T) {
	files, err := filepath.Glob(filepath.Join("testdata", "runs", "*.jsonl"))
	if err != nil || len(files) != 3 {
		t.Fatal(files, err)
	}
	for _, file := range files {
		code, out, errs := program(t, "-replay", file)
		if code != 0 || !strings.Contains(out, "13 segments, 13 recorded, 0 differ") {
			t.Errorf("%s: exit code %d: %s%s", file, code, out, errs)
		}
		data, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if _, again, _ := program(t, "-replay", file, "-json"); again != string(data) {
			t.Errorf("%s is recorded otherwise now", file)
		}
		other := filepath.Join(t.TempDir(), "other.jsonl")
		for from, to := range map[string]string{`"score":`: `"score":1`, `,"void":"deadline"`: "", "is served at four": "is served at five"} {
			text := strings.Replace(string(data), from, to, 1)
			if text == string(data) {
				t.Fatalf("%s does not say %s", file, from)
			}
			if err := os.WriteFile(other, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
			if code, out, _ := program(t, "-replay", other); code != 1 || !strings.Contains(out, "differs: recorded") {
				t.Errorf("%s with %s: exit code %d: %s", file, to, code, out)
			}
		}
	}
	bad := filepath.Join(t.TempDir(), "bad.jsonl")
	golden.Write(t, bad, `{"run":1,"gate":"gate_1","lexical":"bm25","session":"one"}`)
	if code, _, errs := program(t, "-replay", bad); code != 1 || !strings.Contains(errs, "lexical_pre_v2") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

// TestAudit adds up what a room wrote.
func TestAudit(t *testing.T) {
	ctx, dir := context.Background(), filepath.Join(t.TempDir(), "room")
	room, err := scribe.Open(dir, &scribe.Options{Suggest: "shadow", Now: still})
	if err != nil {
		t.Fatal(err)
	}
	defer room.Close()
	for path, text := range map[string]string{"tea.md": "Green tea is served at four.\n", "cake.md": "Lemon cake is baked on Fridays.\n"} {
		if vs, err := room.Propose(ctx, scribe.Candidate{Path: path, Text: text}); err != nil || vs[0].Outcome != scribe.Accepted {
			t.Fatal(vs, err)
		}
	}
	s, err := room.Session(ctx, "one", scribe.UserObserved)
	if err != nil {
		t.Fatal(err)
	}
	for i, text := range []string{"Do you remember when green tea is served?", "thanks a bunch", "Do you remember zzyzx?", "ok"} {
		if _, err := s.Suggest(ctx, scribe.Segment{N: i + 1, Kind: "user", Text: text}); err != nil {
			t.Fatal(err)
		}
	}
	code, out, errs := program(t, "-audit", filepath.Join(dir, ".scribe", "shadow"), "-json")
	var a audit
	if err := json.Unmarshal([]byte(out), &a); code != 0 || err != nil {
		t.Fatal(code, err, errs)
	}
	if a.Files != 1 || a.Rows != 4 || a.Epochs != 1 || a.Bytes < 1_000 || a.Actions["retrieve"] != 2 || a.Actions["suppress"] != 2 ||
		a.Outcomes["completed"] != 1 || a.Outcomes["empty"] != 1 || a.Outcomes["suppressed"] != 2 || a.Raw != 1 || a.Kept != 1 ||
		a.Drops["no-lexical-match"] != 2 || a.Void != 0 || a.Duplicate != 0 {
		t.Errorf("%+v", a)
	}
	if _, out, _ := program(t, "-audit", filepath.Join(dir, ".scribe", "shadow")); !strings.Contains(out, "actions: retrieve 2, suppress 2\n") {
		t.Errorf("text:\n%s", out)
	}
	if code, _, errs := program(t, "-audit", dir); code != 1 || !strings.Contains(errs, "shadow") {
		t.Errorf("exit code %d: %s", code, errs)
	}
}

// TestRates counts void searches and duplicates by hand.
func TestRates(t *testing.T) {
	file := filepath.Join(t.TempDir(), "2026-09-21.jsonl")
	golden.Write(t, file,
		`{"epoch":1,"gate":{"action":"retrieve","reason":"armed"},"outcome":"completed","dropped":[{"stage":"rank","reason":"duplicate-content","row":2}],"counts":{"raw":4,"kept":3},"us":{"total":100}}`,
		`{"epoch":2,"gate":{"action":"retrieve","reason":"armed"},"outcome":"deadline","dropped":[{"stage":"rank","reason":"below-score","n":5},{"stage":"async","reason":"deadline"}],"counts":{},"us":{"total":900},"audit_write_failed":3}`,
		`{"epoch":2,"gate":{"action":"prefetch","reason":"warm"},"outcome":"stale","counts":{},"us":{"total":300}}`,
		`{"epoch":2,"gate":{"action":"suppress","reason":"cooldown"},"outcome":"suppressed","counts":{},"us":{"total":7}}`)
	_, out, _ := program(t, "-audit", filepath.Dir(file), "-json")
	var a audit
	if err := json.Unmarshal([]byte(out), &a); err != nil {
		t.Fatal(err, out)
	}
	if a.Duplicate != 0.25 || a.Void < 0.666 || a.Void > 0.667 || a.P50 != 300 || a.P99 != 900 || a.Epochs != 2 || a.Missed != 3 || a.Drops["below-score"] != 5 {
		t.Errorf("%+v", a)
	}
}

// TestRowB75_Measures holds what the program says of a corpus whose figures are reckoned by
// hand. The other measures of the row are held by TestScore, TestMix, TestLeak and TestRates.
// None of them says that showing a memory helped anybody.
func TestRowB75_Measures(t *testing.T) {
	dir := t.TempDir()
	golden.Write(t, filepath.Join(dir, corpusFile),
		`{"id":"a","text":"The harbour opens at six."}`,
		`{"id":"b","text":"The harbour opens at six, and the ferry to the island leaves from its northern pier at seven."}`,
		`{"id":"c","text":"Lamp oil is kept in the cellar."}`)
	golden.Write(t, filepath.Join(dir, queriesFile),
		`{"id":"q1","text":"lamp oil","relevant":["c"]}`,                       // first: 1 of each
		`{"id":"q2","text":"harbour opens","relevant":{"b":1}}`,                // second, behind the shorter a: 1/log2(3) = 0.6309, MRR 1/2
		`{"id":"q3","text":"zeppelin","relevant":["c"]}`,                       // none: 0 of each
		`{"id":"q4","text":"harbour opens","relevant":{"a":3,"b":1,"gone":1}}`) // (3 + 0.6309) / (3 + 0.6309 + 0.5) = 0.8789, R 2/3
	code, out, errs := program(t, "-cases", dir)
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	// nDCG (1 + 0.6309 + 0 + 0.8789)/4, hit@1 2/4, R (1 + 1 + 0 + 2/3)/4, MRR (1 + 1/2 + 0 + 1)/4
	want := "summary: 1 sets, 4 queries, 1 without hits; mean nDCG@10 0.627, hit@1 0.500, R@5 0.667, R@10 0.667, MRR@10 0.625"
	if got := lines[len(lines)-1]; code != 0 || got != want {
		t.Errorf("the last line is\n%s, want\n%s\n%s", got, want, errs)
	}
}
