package main

import (
	"encoding/json"
	"fmt"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/memoryroom/scribe/examples/internal/golden"
)

// program runs the program and returns what it printed.
func program(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	return golden.Output(run, args...)
}

// mask takes the five costs out of the rows, and the blanks that align them.
func mask(s string) string {
	s = regexp.MustCompile(` {2,}`).ReplaceAllString(s, "  ")
	return regexp.MustCompile(`(?m)(  [\d.]+){5}$`).ReplaceAllString(s, "  COST")
}

func TestGolden(t *testing.T) {
	code, out, errs := program(t, "-cases", filepath.Join("testdata", "cases"))
	if code != 0 || errs != "" {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	golden.Check(t, "cases.golden", mask(out))
	golden.Summary(t, out)
}

// TestJSON holds the counts of a set, and that its figures are those of the text.
func TestJSON(t *testing.T) {
	_, out, errs := program(t, "-cases", filepath.Join("testdata", "cases", "recall", "harbour"), "-json")
	var rep report
	if err := json.Unmarshal([]byte(out), &rep); err != nil || len(rep.Sets) != 1 {
		t.Fatalf("%d sets: %v: %s", len(rep.Sets), err, errs)
	}
	r := rep.Sets[0]
	if r.Cost.Build <= 0 || r.Cost.MB <= 0 || r.Cost.P99 < r.Cost.P50 {
		t.Errorf("costs that can not be: %+v", r.Cost)
	}
	r.Cost = cost{}
	// q5 is not in the averages; q4 and q6 ask for what their scope does not hold.
	want := result{
		Set: "harbour", Docs: 5, Scopes: 2, Queries: 6, Unlabelled: 1, Lost: 2, NoHits: 3,
		quality: quality{NDCG: 3. / 5, Hit1: 3. / 5, R5: 3. / 5, R10: 3. / 5, MRR: 3. / 5},
	}
	if diff := cmp.Diff(r, want, cmp.AllowUnexported(result{})); diff != "" {
		t.Errorf("the set (-got +want):\n%s", diff)
	}
}

// TestPolicies: under each ranking the same labels are measured, and the report says which it
// was. The contract's do not find "leaves" for "leaving", and the first finds art in "start".
func TestPolicies(t *testing.T) {
	dir := t.TempDir()
	golden.Write(t, filepath.Join(dir, corpusFile),
		`{"id":"ferry","text":"The boat leaves at nine."}`,
		`{"id":"begin","text":"We start the quiz at eight, and the other part of it after that."}`,
		`{"id":"paint","text":"The class on art meets upstairs."}`)
	golden.Write(t, filepath.Join(dir, queriesFile),
		`{"id":"q1","text":"who is leaving","relevant":["ferry"]}`,
		`{"id":"q2","text":"art","relevant":["paint"]}`)
	for policy, want := range map[string]string{ // nDCG@10, hit@1, R@5, MRR@10; of a second place nDCG is 0.631
		"lexical_1":      "1.000 1.00 1.00 1.00",
		"lexical_pre_v1": "0.315 0.00 0.50 0.25",
		"lexical_pre_v2": "0.500 0.50 0.50 0.50",
	} {
		_, out, errs := program(t, "-cases", dir, "-policy", policy, "-json")
		var rep report
		if err := json.Unmarshal([]byte(out), &rep); err != nil {
			t.Fatalf("%s: %v: %s", policy, err, errs)
		}
		if got := fmt.Sprintf("%.3f %.2f %.2f %.2f", rep.Mean.NDCG, rep.Mean.Hit1, rep.Mean.R5, rep.Mean.MRR); rep.Policy != policy || got != want {
			t.Errorf("%s: report of %s: %s, want %s", policy, rep.Policy, got, want)
		}
		if _, out, _ := program(t, "-cases", dir, "-policy", policy); strings.HasPrefix(out, "policy: "+policy) == (policy == "lexical_1") {
			t.Errorf("%s: the text begins %.60q", policy, out)
		}
	}
}

// TestScore compares with figures reckoned by hand: log2(2) is 1, log2(3) 1.585 and
// log2(4) 2.
func TestScore(t *testing.T) {
	nine := strings.Fields("1 2 3 4 5 6 7 8 9")
	list := func(ids ...string) grades {
		g := grades{}
		for _, id := range ids {
			g[id] = 1
		}
		return g
	}
	for _, tt := range []struct {
		name     string
		ranked   []string
		relevant grades
		want     string // nDCG@10, hit@1, R@5, R@10, MRR@10
	}{
		{"first", []string{"a", "x"}, list("a"), "1.000 1 1.00 1.00 1.000"},
		{"none", []string{"x", "y"}, list("a"), "0.000 0 0.00 0.00 0.000"},
		{"no hit", nil, list("a"), "0.000 0 0.00 0.00 0.000"},
		{"second of two", []string{"x", "a"}, list("a", "b"), "0.387 0 0.50 0.50 0.500"},   // 0.6309/1.6309
		{"both, late", []string{"x", "a", "b"}, list("a", "b"), "0.693 0 1.00 1.00 0.500"}, // 1.1309/1.6309
		{"sixth", append(nine[:5:5], "a"), list("a"), "0.356 0 0.00 1.00 0.167"},           // 1/log2(7)
		{"tenth", append(nine[:9:9], "a"), list("a"), "0.289 0 0.00 1.00 0.100"},           // 1/log2(11)
		{"eleventh", append(nine[:9:9], "x", "a"), list("a"), "0.000 0 0.00 0.00 0.000"},   // too late
		{"graded, right", []string{"a", "b"}, grades{"a": 3, "b": 1}, "1.000 1 1.00 1.00 1.000"},
		{"graded, turned", []string{"b", "a"}, grades{"a": 3, "b": 1}, "0.797 1 1.00 1.00 1.000"}, // 2.8928/3.6309
		{"more relevant than places", nine, list(strings.Fields("1 2 3 4 5 6 7 8 9 a b c")...), "0.936 1 0.42 0.75 1.000"},
	} {
		q := score(tt.ranked, tt.relevant)
		if got := fmt.Sprintf("%.3f %.0f %.2f %.2f %.3f", q.NDCG, q.Hit1, q.R5, q.R10, q.MRR); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}

// TestMean holds that every set counts once, whatever its size, and one without
// labels not at all.
func TestMean(t *testing.T) {
	rep := &report{Sets: []result{
		{Set: "large", Queries: 90, quality: quality{NDCG: 0.2}},
		{Set: "small", Queries: 10, NoHits: 1, quality: quality{NDCG: 0.8}},
		{Set: "unlabelled", Queries: 5, Unlabelled: 5, NoHits: 2},
	}}
	rep.finish()
	if want := "3 sets, 105 queries, 3 without hits; mean nDCG@10 0.500,"; !strings.HasPrefix(rep.Summary, want) {
		t.Errorf("summary %q, want it to begin %q", rep.Summary, want)
	}
}

func TestFolders(t *testing.T) {
	dir := filepath.Join("testdata", "cases")
	for _, tt := range []struct{ cases, sets string }{
		{dir, "harbour lamps"},
		{filepath.Join(dir, "recall"), "harbour lamps"},
		{filepath.Join(dir, "recall", "lamps"), "lamps"},
		{filepath.Join(dir, "recall", "lamps", "..", "harbour", "."), "harbour"},
	} {
		dirs, err := setDirs(tt.cases)
		var names []string
		for _, d := range dirs {
			names = append(names, filepath.Base(d))
		}
		if got := strings.Join(names, " "); err != nil || got != tt.sets {
			t.Errorf("%s: sets %q, want %q: %v", tt.cases, got, tt.sets, err)
		}
	}
}

func TestBrokenSets(t *testing.T) {
	const (
		doc = `{"id": "a", "scope": "", "text": "plain"}`
		ask = `{"id": "q", "scope": "", "text": "plain", "relevant": ["a"]}`
	)
	for _, tt := range []struct{ name, corpus, queries, says string }{
		{"document is no JSON", doc + "\n{", ask, "corpus.jsonl:2: "},
		{"document is a list", "\n\n[]", ask, "corpus.jsonl:3: "},
		{"document without an id", `{"text": "plain"}`, ask, "corpus.jsonl:1: no id"},
		{"twice the same", doc + "\n" + doc, ask, `corpus.jsonl:2: a second document "a"`},
		{"no documents", "\n", ask, "corpus.jsonl: the file is empty"},
		{"query is no JSON", doc, ask + "\n" + ask + "}", "queries.jsonl:2: "},
		{"query without text", doc, `{"id": "q", "relevant": []}`, "queries.jsonl:1: no text"},
		{"query without labels", doc, `{"id": "q", "text": "x"}`, "queries.jsonl:1: no relevant"},
		{"labels are null", doc, `{"id": "q", "text": "x", "relevant": null}`, "queries.jsonl:1: no relevant"},
		{"labels of another type", doc, `{"id": "q", "text": "x", "relevant": [1]}`, "queries.jsonl:1: relevant is a list of ids"},
		{"grades of another type", doc, `{"id": "q", "text": "x", "relevant": {"a": "high"}}`, "queries.jsonl:1: a grade is a number"},
		{"no queries", doc, "", "queries.jsonl: the file is empty"},
	} {
		dir := filepath.Join(t.TempDir(), "set")
		golden.Write(t, filepath.Join(dir, "corpus.jsonl"), tt.corpus)
		golden.Write(t, filepath.Join(dir, "queries.jsonl"), tt.queries)
		if code, out, errs := program(t, "-cases", dir); code != 1 || out != "" || !strings.Contains(errs, tt.says) {
			t.Errorf("%s: exit code %d, want 1 and %q: %s%s", tt.name, code, tt.says, errs, out)
		}
	}
}

func TestFlags(t *testing.T) {
	empty, half := t.TempDir(), t.TempDir()
	golden.Write(t, filepath.Join(half, "recall", "x", "corpus.jsonl"), `{"id": "a", "text": "plain"}`)
	for _, tt := range []struct {
		args []string
		code int
		says string
	}{
		{[]string{"-h"}, 0, "usage: recall-eval"},
		{nil, 2, "-cases is missing"},
		{[]string{"-nope"}, 2, "-nope"},
		{[]string{"-cases"}, 2, "-cases"},
		{[]string{"-cases", empty, "-policy", "bm25"}, 2, "lexical_1, lexical_pre_v1, lexical_pre_v2"},
		{[]string{"-cases", empty, "-policy", "lexical_pre_v1", "-leak"}, 2, "default policy alone"},
		{[]string{"-gate", empty, "-policy", "lexical_pre_v1"}, 2, "-gate runs alone"},
		{[]string{"-cases", empty, "x"}, 2, `unexpected argument "x"`},
		{[]string{"-cases", filepath.Join(empty, "absent")}, 1, "absent"},
		{[]string{"-cases", empty}, 1, "no folder with corpus.jsonl"},
		{[]string{"-cases", half}, 1, "queries.jsonl"},
	} {
		if code, out, errs := program(t, tt.args...); code != tt.code || out != "" || !strings.Contains(errs, tt.says) {
			t.Errorf("%q: exit code %d, want %d and %q: %s", tt.args, code, tt.code, tt.says, errs)
		}
	}
}
