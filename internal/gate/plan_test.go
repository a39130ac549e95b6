package gate

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func planOf(segs ...Segment) Plan {
	var window []piece
	for _, s := range segs {
		window = push(window, pieceOf(s))
	}
	return Calibrated().plan(window)
}

// TestRowB39_Terms: identifiers stay whole and give their parts, and common words go.
func TestRowB39_Terms(t *testing.T) {
	for text, want := range map[string][]string{
		"Fix the parseHTTPHeader in cmd/server/main.go": {"fix", "parsehttpheader", "parse", "http", "header", "cmd/server/main.go", "cmd", "server", "main"},
		"snake_case_name and kebab-case":                {"snake_case_name", "snake", "case", "name", "kebab-case", "kebab"},
		"v1.26.5 E4017 ECONNREFUSED":                    {"v1.26.5", "v1", "26", "e4017", "econnrefused"},
		"ＦＵＬＬ　ｗｉｄｔｈ":                                    {"full", "width"},
		"what is the of":                                nil,
		"user@example.com.":                             {"user@example.com", "user", "example", "com"},
		"沙箱禁管道":                                         {"沙箱", "箱禁", "禁管", "管道"},
		"用Go写":                                          {"用", "go", "写"},
		"的":                                             nil,
	} {
		got, _ := Terms(text, maxGrams)
		var once []string
		for _, w := range got {
			if !slices.Contains(once, w) {
				once = append(once, w)
			}
		}
		if text == "用Go写" {
			want = []string{"用", "写"} // "go" is a common word of English
		}
		if !slices.Equal(once, want) {
			t.Errorf("%q: got %q, want %q", text, once, want)
		}
	}
}

// TestRowB40_Pairs: of a segment at most 64, and what is over is said.
func TestRowB40_Pairs(t *testing.T) {
	var run strings.Builder
	for i := range 70 {
		run.WriteRune(rune(0x5000 + i))
	}
	got, cut := Terms(run.String(), maxGrams)
	if len(got) != maxGrams || !cut {
		t.Errorf("%d pairs, cut %v", len(got), cut)
	}
	if plan := planOf(Segment{N: 1, Kind: KindUser, Text: run.String()}); !plan.Truncated {
		t.Error("not said")
	}
	if got, cut := Terms("甲乙 丙丁", maxGrams); cut || !slices.Equal(got, []string{"甲乙", "丙丁"}) {
		t.Errorf("%q: a pair over a space", got)
	}
}

// TestRowB41_CommonWords: the list is sorted, and no identifier longer than a letter is lost
// for being like one.
func TestRowB41_CommonWords(t *testing.T) {
	if !slices.IsSorted(commonWords[:]) {
		t.Error("the list is not sorted")
	}
	for _, w := range []string{"the", "please", "我们", "继续", "zh"} {
		if got := common(w); got != (w != "zh") {
			t.Errorf("%q: %v", w, got)
		}
	}
	if got, _ := Terms("x.is_ok", maxGrams); !slices.Contains(got, "x.is_ok") {
		t.Errorf("got %q", got)
	}
}

// TestRowB42_HighestOriginCounts, and saying it often adds nothing.
func TestRowB42_HighestOriginCounts(t *testing.T) {
	plan := planOf(
		Segment{N: 1, Kind: KindAssistant, Text: strings.Repeat("kestrel assistant ", 20)},
		Segment{N: 2, Kind: KindToolCall, Text: "call", Tool: "kestrel"},
		Segment{N: 3, Kind: KindToolResult, Text: "kestrel result"},
		Segment{N: 4, Kind: KindUser, Text: "kestrel said"},
		Segment{N: 5, Kind: KindUser, Text: "trigger kestrel"},
	)
	want := map[string]int{"kestrel": 100, "trigger": 100, "said": 60, "result": 40, "call": 30, "assistant": 20}
	for _, term := range plan.Terms {
		if term.Weight != want[term.Text] {
			t.Errorf("%q weighs %d, want %d", term.Text, term.Weight, want[term.Text])
		}
		delete(want, term.Text)
	}
	if len(want) > 0 {
		t.Errorf("missing: %v", want)
	}
}

// TestRowB43_Digest depends on the policy's version and the weighted terms alone.
func TestRowB43_Digest(t *testing.T) {
	a, b := planOf(Segment{N: 1, Kind: KindUser, Text: "deploy the pipeline"}), planOf(Segment{N: 9, Kind: KindUser, Text: "the PIPELINE: deploy!"})
	if a.Digest != b.Digest || len(a.Digest) != 64 {
		t.Errorf("%q and %q", a.Digest, b.Digest)
	}
	if c := planOf(Segment{N: 1, Kind: KindUser, Text: "deploy pipelines"}); c.Digest == a.Digest {
		t.Error("other words, the same digest")
	}
	if d := Contract().plan(push(nil, pieceOf(Segment{N: 1, Kind: KindUser, Text: "deploy the pipeline"}))); d.Digest == a.Digest {
		t.Error("another policy, the same digest")
	}
	if e := planOf(Segment{N: 1, Kind: KindUser, Text: "!!!"}); e.Digest != "" || e.triggered {
		t.Errorf("%+v", e)
	}
}

// planFits: whatever is said, the limits hold and what is cut is said (row B38).
func planFits(t *rapid.T) {
	var segs []Segment
	for i := range rapid.IntRange(1, 8).Draw(t, "segments") {
		s := drawSegment(t)
		s.N = i + 1
		if rapid.Bool().Draw(t, "many words") {
			var b strings.Builder
			for k := range rapid.IntRange(0, 80).Draw(t, "words") {
				fmt.Fprintf(&b, "%s%d ", strings.Repeat("w", rapid.IntRange(1, 120).Draw(t, "length")), k)
			}
			s.Text = b.String()
		}
		segs = append(segs, s)
	}
	plan := planOf(segs...)
	bytes := 0
	seen := map[string]bool{}
	for i, term := range plan.Terms {
		bytes += len(term.Text)
		switch {
		case len(term.Text) > maxTerm || term.Text == "":
			t.Fatalf("a term of %d bytes", len(term.Text))
		case seen[term.Text]:
			t.Fatalf("%q twice", term.Text)
		case i > 0 && term.Weight > plan.Terms[i-1].Weight:
			t.Fatal("out of order")
		}
		seen[term.Text] = true
	}
	if len(plan.Terms) > maxTerms || bytes > maxBytes {
		t.Fatalf("%d terms of %d bytes", len(plan.Terms), bytes)
	}
	if plan.triggered != slices.ContainsFunc(plan.Terms, func(x Term) bool { return x.Weight == 100 }) && !plan.Truncated {
		t.Fatalf("triggered %v: %+v", plan.triggered, plan.Terms)
	}
}

func TestRowB38_PlanFits(t *testing.T) { rapid.Check(t, planFits) }

func FuzzPlanFits(f *testing.F) { f.Fuzz(rapid.MakeFuzz(planFits)) }

// TestRowB45_Phrases: Latin phrases stand between word ends, Chinese ones anywhere.
func TestRowB45_Phrases(t *testing.T) {
	for _, c := range []struct {
		text, phrase string
		want         bool
	}{
		{"as usual, please", "as usual", true},
		{"has usual", "as usual", false},
		{"as usually", "as usual", false},
		{"has usual as usual", "as usual", true},
		{"really?", "?", true},
		{"用my变量", "my", true}, // a script without spaces ends a word
		{"summary", "my", false},
		{"我们之前的", "之前", true},
		{"", "my", false},
		{"my", "my", true},
	} {
		if got := hasPhrase(c.text, c.phrase); got != c.want {
			t.Errorf("%q in %q: %v, want %v", c.phrase, c.text, got, c.want)
		}
	}
}
