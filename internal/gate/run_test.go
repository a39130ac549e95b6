package gate

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// finder finds the records that have a word of the query, by how many they have. It is no
// ranking; it is enough for what a replay does with one.
func finder(run *Run) func(Lookup) ([]Hit, []Drop) {
	return func(l Lookup) (hits []Hit, dropped []Drop) {
		for i := range run.Records {
			r := &run.Records[i]
			score := int64(0)
			for _, term := range l.Plan.Terms {
				if strings.Contains(Fold(r.Heading+" "+r.Text), term.Text) {
					score++
				}
			}
			if score == 0 {
				dropped = append(dropped, Drop{Reason: "no-lexical-match", ID: r.ID})
				continue
			}
			hits = append(hits, Hit{ID: r.ID, Digest: r.Digest(), Score: score})
		}
		slices.SortFunc(hits, func(a, b Hit) int {
			if a.Score != b.Score {
				return int(b.Score - a.Score)
			}
			return strings.Compare(a.ID, b.ID)
		})
		return hits, dropped
	}
}

func replayed(t testing.TB, run *Run) []Result {
	t.Helper()
	results, err := run.Replay(finder(run))
	if err != nil {
		t.Fatal(err)
	}
	return results
}

const recordedRun = `{"run":1,"gate":"gate_1","lexical":"lexical_1","session":"one"}
{"record":{"id":"tea.md","heading":"Tea","text":"Green tea is served at four."}}
{"record":{"id":"cake.md","text":"Lemon cake is baked on Fridays.","day":20000,"workspace":true}}

{"segment":{"n":1,"kind":"user","text":"Do you remember when the green tea is served?"}}
{"segment":{"n":2,"kind":"user","text":"Do you remember the cake?"},"void":"deadline"}
{"segment":{"n":3,"kind":"user","text":"Do you remember zzyzx?","time":"2026-09-21T08:12:00Z"},"ignored":true}
{"segment":{"n":4,"kind":"user","text":"thanks"}}
`

// TestRowB74_Runs: a recorded run gives the same results again, field by field, and again
// when those are recorded with it. What a deadline made void stays so, and is not
// remembered to have been found.
func TestRowB74_Runs(t *testing.T) {
	run, err := DecodeRun([]byte(recordedRun))
	if err != nil {
		t.Fatal(err)
	}
	results := replayed(t, run)
	var got []string
	for i, r := range results {
		got = append(got, fmt.Sprint(r.Decision.Action, " ", r.Decision.Reason, " ", r.Outcome, " ", len(r.Hits), " ", r.Dropped))
		run.Steps[i].Want = &results[i]
	}
	want := []string{
		"retrieve armed completed 1 [{no-lexical-match cake.md 0}]",
		"retrieve armed deadline 0 [{deadline  0}]",
		"suppress user-ignored suppressed 0 []",
		"suppress empty-query-signal suppressed 0 []",
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("(-got +want)\n%s", diff)
	}
	data, err := run.Encode()
	if err != nil {
		t.Fatal(err)
	}
	again, err := DecodeRun(data)
	if err != nil {
		t.Fatal(err)
	}
	for i, r := range replayed(t, again) {
		if diff := cmp.Diff(r, *again.Steps[i].Want); diff != "" {
			t.Errorf("step %d:\n%s", i, diff)
		}
	}
	slices.Reverse(again.Records)
	if diff := cmp.Diff(replayed(t, again)[0], results[0]); diff != "" {
		t.Errorf("in another order of the records:\n%s", diff)
	}
	again.Records[0].Text += "!"
	if other := replayed(t, again); other[0].ID == results[0].ID || other[0].Index == results[0].Index || other[3].ID != results[3].ID {
		t.Error("another text, the same IDs; or none searched, and another ID")
	}
}

// TestRunRing: a query that found something weighs more for as long as 64 later ones do not
// push it out, in a replay as in a session; one whose result was void never does.
func TestRunRing(t *testing.T) {
	run := &Run{Gate: "gate_1", Session: "one", Records: []Record{{ID: "a", Text: "number of the tea"}}}
	add := func(text, void string) {
		s := Segment{N: len(run.Steps) + 1, Kind: KindUser, Text: text}
		run.Steps = append(run.Steps, Step{Input: Input{Segment: &s}, Void: void})
	}
	alone := func(text, void string) { // eight more, so that the window holds nothing else
		for i := range maxWindow - 1 {
			add(fmt.Sprint("filler ", i), "")
		}
		add(text, void)
	}
	historical := func() bool {
		results := replayed(t, run)
		return results[len(results)-1].Decision.Signals[Historical] == One
	}
	const asks = "do you remember the tea of today"
	alone(asks, "cancelled")
	if alone(asks, ""); historical() {
		t.Error("a void result counts")
	}
	if alone(asks, ""); !historical() {
		t.Error("a find does not count")
	}
	for i := range MaxFinds - 1 {
		alone(fmt.Sprintf("do you remember tea number x%d", i), "")
	}
	if alone(asks, ""); !historical() {
		t.Errorf("forgotten after %d others", MaxFinds-1)
	}
	for i := range MaxFinds {
		alone(fmt.Sprintf("do you remember tea number y%d", i), "")
	}
	if alone(asks, ""); historical() {
		t.Errorf("remembered after %d others", MaxFinds)
	}
}

func TestDecodeRunRefuses(t *testing.T) {
	const head = `{"run":1,"gate":"gate_1","lexical":"lexical_1","session":"one"}` + "\n"
	for name, c := range map[string]struct{ data, says string }{
		"nothing":           {"\n", "empty"},
		"no head":           {`{"segment":{"n":1,"kind":"user","text":"x"}}`, "line 1"},
		"another version":   {`{"run":2,"gate":"gate_1"}`, "line 1"},
		"another policy":    {`{"run":1,"gate":"gate_9"}`, "gate_pre_v1"},
		"an unknown field":  {head + `{"segment":{"n":1,"kind":"user","text":"x","mood":1}}`, "line 2"},
		"neither":           {head + `{}`, "a record or a segment"},
		"both":              {head + `{"record":{"id":"a","text":"x"},"segment":{"n":1,"kind":"user","text":"x"}}`, "a record or a segment"},
		"a record's void":   {head + `{"record":{"id":"a","text":"x"},"void":"deadline"}`, "for segments"},
		"twice the same":    {head + `{"record":{"id":"a","text":"x"}}` + "\n" + `{"record":{"id":"a","text":"y"}}`, "line 3"},
		"no ID":             {head + `{"record":{"text":"x"}}`, "ID of its own"},
		"an unknown reason": {head + `{"segment":{"n":1,"kind":"user","text":"x"},"void":"tired"}`, "deadline"},
		"two in a line":     {head + `{"record":{"id":"a","text":"x"}} {}`, "more than one"},
		"too much":          {strings.Repeat(" ", maxRun+1), "limit"},
	} {
		if run, err := DecodeRun([]byte(c.data)); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, %v, want %q", name, run, err, c.says)
		}
	}
}

// FuzzDecodeRun: what can be read can be written and read again, and replays the same each
// time, whatever is in it.
func FuzzDecodeRun(f *testing.F) {
	f.Add([]byte(recordedRun))
	f.Add([]byte(strings.ReplaceAll(recordedRun, "gate_1", "gate_pre_v1")))
	f.Add([]byte(`{"run":1,"gate":"gate_1","lexical":"","session":""}` + "\n" + `{"segment":{"n":-1,"kind":"tool-result","text":"\u0000\ud800","failed":true},"want":{"gate":{"Signals":[1,2]},"id":"","outcome":""}}`))
	f.Fuzz(func(t *testing.T, data []byte) {
		run, err := DecodeRun(data)
		if err != nil {
			return
		}
		first, err := run.Encode()
		if err != nil {
			return // a time that JSON has no words for
		}
		again, err := DecodeRun(first)
		if err != nil {
			t.Fatalf("not read again: %v\n%s", err, first)
		}
		second, err := again.Encode()
		if err != nil || string(first) != string(second) {
			t.Fatalf("%v\n%s\n%s", err, first, second)
		}
		if len(run.Steps) > 50 || len(run.Records) > 50 {
			return
		}
		a, b := replayed(t, run), replayed(t, again)
		if diff := cmp.Diff(a, b); diff != "" || len(a) != len(run.Steps) {
			t.Fatalf("%d results of %d:\n%s", len(a), len(run.Steps), diff)
		}
		for i, r := range a {
			if void := run.Steps[i].Void; len(r.Hits) > 0 && (r.Outcome != Completed || void != "") || r.Outcome == Suppressed && r.Index != "" {
				t.Fatalf("%+v", r)
			}
		}
	})
}

// TestRunsOfDrawnSegments: encoding loses nothing of a run that a replay depends on.
func TestRunsOfDrawnSegments(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		run := &Run{Gate: rapid.SampledFrom([]string{"gate_1", "gate_pre_v1"}).Draw(t, "gate"), Lexical: "any", Session: "one"}
		run.Records = []Record{{ID: "a", Text: "what we decided"}, {ID: "b", Text: "長い文"}}
		for i := range rapid.IntRange(0, 20).Draw(t, "segments") {
			s := drawSegment(t)
			s.N, s.Time, s.Text = i+1, s.Time.UTC().Truncate(time.Millisecond), strings.ToValidUTF8(s.Text, "?")
			run.Steps = append(run.Steps, Step{Input: Input{Segment: &s}, Void: rapid.SampledFrom([]string{"", "", "deadline", "stale-index"}).Draw(t, "void")})
		}
		data, err := run.Encode()
		if err != nil {
			t.Fatal(err)
		}
		again, err := DecodeRun(data)
		if err != nil {
			t.Fatal(err)
		}
		a, err1 := run.Replay(finder(run))
		b, err2 := again.Replay(finder(again))
		if diff := cmp.Diff(a, b); diff != "" || err1 != nil || err2 != nil {
			t.Fatalf("%v %v\n%s", err1, err2, diff)
		}
	})
}
