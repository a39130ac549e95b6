package gate

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"math/big"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// user is an input of a person's message.
func user(n int, text string) Input {
	return Input{Segment: &Segment{N: n, Kind: KindUser, Text: text}}
}

// TestRowB19_PureAndThreeActions: no decision changes what it was given.
func TestRowB19_PureAndThreeActions(t *testing.T) {
	p := Calibrated()
	var s State
	seen := map[string]bool{}
	for i, text := range []string{"Do you remember the port?", "ok", "fine", "What is a mutex?", "and the port, as before?"} {
		in := user(i+1, text)
		before := *in.Segment
		d, next := p.Decide(s, in)
		again, nextAgain := p.Decide(s, in)
		if d != again || !cmp.Equal(next, nextAgain, cmp.AllowUnexported(State{}, piece{})) || *in.Segment != before {
			t.Errorf("%q: decided twice, %+v and %+v", text, d, again)
		}
		seen[d.Action] = true
		s = next
	}
	if len(seen) != 3 {
		t.Errorf("the actions were %v", seen)
	}
}

// TestRowB20_HardSuppressions come in the contract's order, whatever the score.
func TestRowB20_HardSuppressions(t *testing.T) {
	const asks = "回忆一下之前的部署流程"
	p := Contract()
	_, s := p.Decide(State{}, user(1, asks))
	seg := func(kind, text, plugin string, child bool) *Segment {
		return &Segment{N: 1, Kind: kind, Text: text, Plugin: plugin, Child: child}
	}
	// Each row holds every reason from its own on; the first must win.
	for _, c := range []struct {
		want string
		in   Input
	}{
		{NoOwner, Input{NoOwner: true, Disposed: true, Ignored: true, Segment: seg("system", "", "cron", true)}},
		{Disposed, Input{Disposed: true, Ignored: true, Segment: seg("system", "", "cron", true)}},
		{ChildOf, Input{Ignored: true, Segment: seg("system", "", "cron", true)}},
		{NoSegment, Input{Ignored: true}},
		{Unsupported, Input{Ignored: true, Segment: seg("system", "", "cron", false)}},
		{ByPlugin, Input{Ignored: true, Segment: seg(KindUser, "", "cron", false)}},
		{EmptyQuery, Input{Ignored: true, Segment: seg(KindUser, "!?", "", false)}},
		{Duplicate, Input{Ignored: true, Segment: seg(KindUser, asks, "", false)}},
		{Ignored, Input{Ignored: true, Segment: &Segment{N: 2, Kind: KindUser, Text: asks}}},
	} {
		d, _ := p.Decide(s, c.in)
		if d.Reason != c.want || d.Action != Suppress || d.Raw != 0 || d.Signals != (Signals{}) {
			t.Errorf("want %s: %+v", c.want, d)
		}
	}
	if d, _ := p.Decide(s, user(2, "再试试部署")); d.Reason != Cooling { // the tenth
		t.Errorf("want %s: %+v", Cooling, d)
	}
	if d, _ := p.Decide(s, user(2, asks)); d.Action != Retrieve {
		t.Errorf("control: %+v", d)
	}
}

// TestRowB21_FrozenWeights: the contract's weights are its table and sum to one.
func TestRowB21_FrozenWeights(t *testing.T) {
	want := map[string]string{
		"explicitRecall": "0.30", "toolFailure": "0.16", "unresolved": "0.16", "repeated": "0.12", "novelty": "0.08",
		"phaseShift": "0.08", "historical": "0.05", "conflict": "0.03", "unresolvedAge": "0.02",
	}
	p, sum := Contract(), int64(0)
	for i, w := range p.Weights {
		sum += w
		text := want[Signal(i).String()]
		if text == "" {
			text = "0"
		}
		if decimal(text).Cmp(big.NewRat(w, One)) != 0 {
			t.Errorf("%v weighs %d, want %s", Signal(i), w, text)
		}
	}
	if sum != One {
		t.Errorf("the weights sum to %d", sum)
	}
}

func decimal(s string) *big.Rat {
	r, ok := new(big.Rat).SetString(s)
	if !ok {
		panic(s)
	}
	return r
}

// TestRowB22_ExplicitRecall: phrases count, from a user, and nouns do not; the floor is
// 0.82.
func TestRowB22_ExplicitRecall(t *testing.T) {
	p := Contract()
	for text, want := range map[string]bool{
		"回忆一下之前的部署流程记录":               true,
		"查找之前的记录":                     true,
		"上次如何处理的？":                    true,
		"Remember what we decided?":   true,
		"ＲＥＭＥＭＢＥＲ what we  decided":   true, // NFKC, case, spaces
		"the memory is full":          false,
		"记忆体不够":                       false,
		"misremember what we decided": false, // not a word's beginning
		"remember what we decidedly":  false, // nor its end
	} {
		d, _ := p.Decide(State{}, user(1, text))
		if got := d.Signals[ExplicitRecall] == One; got != want || got != (d.Action == Retrieve) {
			t.Errorf("%q: %+v, want %v", text, d, want)
		}
		if want && d.Raw != 820_000 {
			t.Errorf("%q: raw %d", text, d.Raw)
		}
	}
	asks := Input{Segment: &Segment{N: 1, Kind: KindAssistant, Text: "remember what we decided"}}
	if d, _ := p.Decide(State{}, asks); d.Signals[ExplicitRecall] != 0 {
		t.Errorf("an assistant asks: %+v", d)
	}
}

// TestSignals holds each other signal to its definition, under the name of its row.
func TestSignals(t *testing.T) {
	at := time.Date(2026, 9, 21, 8, 0, 0, 0, time.UTC)
	seg := func(kind, text, tool string, failed bool, after time.Duration) Segment {
		return Segment{Kind: kind, Text: text, Tool: tool, Failed: failed, Time: at.Add(after)}
	}
	u := func(text string) Segment { return seg(KindUser, text, "", false, 0) }
	call := func(tool string) Segment { return seg(KindToolCall, "args of "+tool, tool, false, 0) }
	ok, bad := seg(KindToolResult, "fine", "a", false, 0), seg(KindToolResult, "no", "a", true, 0)
	for _, c := range []struct {
		name   string
		signal Signal
		want   int64
		all    []Segment
	}{
		{"RowB23 new", Novelty, One, []Segment{u("x one"), u("x two")}},
		{"RowB23 again", Novelty, 0, []Segment{u("x one"), u("x two"), u("x one")}},
		{"RowB24 one call", Repeated, 0, []Segment{call("a")}},
		{"RowB24 two calls", Repeated, One / 2, []Segment{call("a"), call("b"), call("a")}},
		{"RowB24 three calls", Repeated, One, []Segment{call("a"), call("a"), call("a")}},
		{"RowB24 four calls", Repeated, One, []Segment{call("a"), call("a"), call("a"), call("a")}},
		{"RowB24 no name", Repeated, 0, []Segment{call(""), call(""), call("")}},
		{"RowB24 results", Repeated, 0, []Segment{ok, ok, ok}},
		{"RowB25", PhaseShift, One, []Segment{call("a"), u("接下来发版")}},
		{"RowB25 no tool", PhaseShift, 0, []Segment{u("hello world"), u("接下来发版")}},
		{"RowB25 no word", PhaseShift, 0, []Segment{call("a"), u("发版")}},
		{"RowB25 no user", PhaseShift, 0, []Segment{call("a"), seg(KindAssistant, "接下来发版", "", false, 0)}},
		{"RowB26", Unresolved, One, []Segment{u("it failed"), call("a")}},
		{"RowB26 failed since", Unresolved, One, []Segment{u("it failed"), bad}},
		{"RowB26 settled", Unresolved, 0, []Segment{u("it failed"), ok}},
		{"RowB26 only the latest", Unresolved, 0, []Segment{u("it failed"), u("make tea")}},
		{"RowB27 none", UnresolvedAge, 0, []Segment{u("make tea"), seg(KindToolCall, "x", "a", false, time.Hour)}},
		{"RowB27 half", UnresolvedAge, One / 2, []Segment{u("it failed"), seg(KindToolCall, "x", "a", false, 150*time.Second)}},
		{"RowB27 oldest", UnresolvedAge, One / 2, []Segment{u("it failed"), seg(KindUser, "it failed again", "", false, 100*time.Second), seg(KindToolCall, "x", "a", false, 150*time.Second)}},
		{"RowB27 most", UnresolvedAge, One, []Segment{u("it failed"), seg(KindToolCall, "x", "a", false, time.Hour)}},
		{"RowB27 back in time", UnresolvedAge, 0, []Segment{u("it failed"), seg(KindToolCall, "x", "a", false, -time.Hour)}},
		{"RowB27 third of a millisecond", UnresolvedAge, 3, []Segment{u("it failed"), seg(KindToolCall, "x", "a", false, time.Millisecond)}},
		{"RowB29 the trigger", ToolFailure, One, []Segment{bad}},
		{"RowB29 went well", ToolFailure, 0, []Segment{bad, ok}},
		{"RowB29 the last result", ToolFailure, One, []Segment{ok, bad, u("try other")}},
		{"RowB29 of its tool", ToolFailure, 0, []Segment{bad, seg(KindToolResult, "fine", "b", false, 0), call("b")}},
		{"RowB30", Conflict, One, []Segment{bad, u("that is wrong")}},
		{"RowB30 no failure", Conflict, 0, []Segment{ok, u("that is wrong")}},
		{"RowB30 no correction", Conflict, 0, []Segment{bad, u("make tea")}},
		{"a question, which the contract does not weigh", Question, 0, []Segment{u("what is it?")}},
	} {
		var in []Input
		for i, s := range c.all {
			s.N = i + 1
			in = append(in, Input{Segment: &s})
		}
		t.Run(c.name, func(t *testing.T) {
			ds := Contract().Replay(in)
			if got := ds[len(ds)-1].Signals[c.signal]; got != c.want {
				t.Errorf("%v is %d, want %d", c.signal, got, c.want)
			}
		})
	}
}

// TestRowB28_Historical: the same query found something before, and that still stands.
func TestRowB28_Historical(t *testing.T) {
	p := Contract()
	d, _ := p.Decide(State{}, user(1, "deploy pipeline"))
	in := user(2, "deploy pipeline")
	in.Fresh = []string{"other", d.Query}
	if d, _ := p.Decide(State{}, in); d.Signals[Historical] != One {
		t.Errorf("historical: %+v", d)
	}
	in.Fresh = nil
	if d, _ := p.Decide(State{}, in); d.Signals[Historical] != 0 {
		t.Errorf("not fresh: %+v", d)
	}
}

// TestReachable holds the report shadow-unreachable: by the contract's weights nothing but
// an explicit request retrieves, and the calibrated policy retrieves without one.
func TestReachable(t *testing.T) {
	var all Signals
	for s := range all {
		all[s] = One
	}
	all[ExplicitRecall] = 0
	d := Decision{Signals: all}
	if d.score(Contract(), false); d.Raw != 700_000 || d.Action != Prefetch || !d.Latched {
		t.Errorf("the contract: %+v", d)
	}
	d = Decision{Signals: all}
	if d.score(Calibrated(), false); d.Action != Retrieve {
		t.Errorf("calibrated: %+v", d)
	}
}

// TestRowB31_AgainstTheContract scores random signals as the contract's text says, in
// rational numbers, and compares action, phase, reason, latch and both scores.
func TestRowB31_AgainstTheContract(t *testing.T) {
	p := Contract()
	weights := map[Signal]string{
		ExplicitRecall: "0.30", ToolFailure: "0.16", Unresolved: "0.16", Repeated: "0.12", Novelty: "0.08",
		PhaseShift: "0.08", Historical: "0.05", Conflict: "0.03", UnresolvedAge: "0.02",
	}
	rapid.Check(t, func(t *rapid.T) {
		d := Decision{Cooldown: int64(rapid.IntRange(0, 2).Draw(t, "cooldown"))}
		for s := range weights {
			d.Signals[s] = rapid.SampledFrom([]int64{0, One / 2, One}).Draw(t, s.String())
		}
		d.Signals[ExplicitRecall] = rapid.SampledFrom([]int64{0, 0, One}).Draw(t, "explicit")
		d.Signals[Question] = One // no part of it
		latched := rapid.Bool().Draw(t, "latched")

		raw := new(big.Rat)
		for s, w := range weights {
			raw.Add(raw, new(big.Rat).Mul(decimal(w), big.NewRat(d.Signals[s], One)))
		}
		explicit := d.Signals[ExplicitRecall] == One
		if floor := decimal("0.82"); explicit && raw.Cmp(floor) < 0 {
			raw = floor
		}
		latch := raw.Cmp(decimal("0.65")) >= 0
		if latched {
			latch = raw.Cmp(decimal("0.42")) >= 0
		}
		hesitation := raw
		if hold := decimal("0.55"); latch && raw.Cmp(hold) < 0 {
			hesitation = hold
		}
		action, phase, reason := "suppress", "normal", "below-threshold"
		switch {
		case d.Cooldown > 0 && !explicit:
			phase, reason = "cooldown", "cooldown"
		case hesitation.Cmp(decimal("0.80")) >= 0:
			action, phase, reason = "retrieve", "armed", "armed"
		case hesitation.Cmp(decimal("0.55")) >= 0:
			action, phase, reason = "prefetch", "prefetch", "warm"
		}
		d.score(p, latched)
		if d.Action != action || d.Phase != phase || d.Reason != reason || d.Latched != latch ||
			big.NewRat(d.Raw, One).Cmp(raw) != 0 || big.NewRat(d.Hesitation, One).Cmp(hesitation) != 0 {
			t.Fatalf("got %+v\nwant %s %s %s, latched %v, raw %s, hesitation %s", d, action, phase, reason, latch, raw, hesitation)
		}
		// Why there is another policy: without an explicit request the rest can not reach retrieve.
		if !explicit && action == "retrieve" {
			t.Fatalf("the contract retrieves by itself: %+v", d)
		}
	})
}

// TestRowB32_Cooldown: the two segments after a retrieve, whatever they are; an explicit
// request passes, and begins it anew.
func TestRowB32_Cooldown(t *testing.T) {
	const asks = "上次如何处理证书"
	ds := Contract().Replay([]Input{
		user(1, asks), user(2, "好的呀朋友"),
		{Segment: &Segment{N: 3, Kind: KindToolCall, Text: "x", Tool: "a"}},
		user(4, "证书更新"),
		user(5, asks), user(6, asks+"域名"), user(7, "证书域名"), user(8, "证书日期"), user(9, "证书到期"),
	})
	var got []string
	var left []int64
	for _, d := range ds {
		got, left = append(got, d.Reason), append(left, d.Cooldown)
	}
	want := []string{Armed, Cooling, Cooling, TooLow, Armed, Armed, Cooling, Cooling, TooLow}
	if !slices.Equal(got, want) || !slices.Equal(left, []int64{0, 2, 1, 0, 0, 2, 2, 1, 0}) {
		t.Errorf("got %q with %v left, want %q", got, left, want)
	}
}

// TestHysteresis: once latched, what would not do by itself keeps a prefetch, until the
// score falls below Off.
func TestHysteresis(t *testing.T) {
	p := Calibrated()
	d := Decision{}
	score := func(raw int64, latched bool) Decision {
		d = Decision{Signals: Signals{Novelty: One}}
		p.Weights = Signals{Novelty: raw}
		d.score(p, latched)
		return d
	}
	for _, c := range []struct {
		raw     int64
		latched bool
		action  string
		after   bool
	}{
		{p.On, false, Retrieve, true},
		{p.On - 1, false, Prefetch, false},
		{p.Off, true, Prefetch, true},
		{p.Off - 1, true, Suppress, false},
		{p.Prefetch - 1, false, Suppress, false},
		{p.Prefetch, false, Prefetch, false},
		{2 * One, false, Retrieve, true},
	} {
		if got := score(c.raw, c.latched); got.Action != c.action || got.Latched != c.after || got.Raw > One || got.Hesitation > One {
			t.Errorf("%d, latched %v: %+v, want %s and %v", c.raw, c.latched, got, c.action, c.after)
		}
	}
}

// TestRowB33_MissingSignals: a segment that says nothing of tools, times or programs is
// decided on all the same.
func TestRowB33_MissingSignals(t *testing.T) {
	bare := Contract().Replay([]Input{user(1, "remember what we decided")})
	if bare[0].Action != Retrieve || bare[0].Signals[GoalDrift]+bare[0].Signals[Monitor]+bare[0].Signals[UnresolvedAge] != 0 {
		t.Errorf("%+v", bare[0])
	}
}

// TestRowB34_PolicyVersions: who changes a weight, a threshold or a word has to give the
// policy a new version, and then the digest here.
func TestRowB34_PolicyVersions(t *testing.T) {
	for _, c := range []struct {
		p       Policy
		version string
		digest  string
	}{
		{Contract(), "gate_pre_v1", "fc81e645e5ab8c0e"},
		{Calibrated(), "gate_1", "0b7f11eca8ea63f0"},
	} {
		data, err := json.Marshal(c.p)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(data)
		if got := hex.EncodeToString(sum[:8]); c.p.Version != c.version || got != c.digest {
			t.Errorf("policy %s has the digest %s, want %s of %s: a change needs a new version", c.p.Version, got, c.digest, c.version)
		}
		for _, words := range [][]string{c.p.Words.Recall, c.p.Words.Transition, c.p.Words.Unresolved, c.p.Words.Correction, c.p.Words.Question, c.p.Words.Reference, c.p.Words.Own} {
			for _, w := range words {
				if Fold(w) != w || w == "" {
					t.Errorf("%s: %q is not folded, so nothing has it", c.p.Version, w)
				}
			}
		}
	}
}

// TestRowB35_Replay: the same recorded input gives the same decisions, each field of them,
// and a prefix of it the prefix of them.
func TestRowB35_Replay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var all []Input
		for i := range rapid.IntRange(0, 30).Draw(t, "segments") {
			s := drawSegment(t)
			s.N = i + 1 + rapid.IntRange(-1, 1).Draw(t, "out of order")
			all = append(all, Input{Segment: &s, Ignored: rapid.IntRange(0, 9).Draw(t, "ignored") == 0})
		}
		for _, p := range []Policy{Contract(), Calibrated()} {
			first, second := p.Replay(all), p.Replay(all)
			if !slices.Equal(first, second) {
				t.Fatalf("%s: %s", p.Version, cmp.Diff(first, second))
			}
			cut := rapid.IntRange(0, len(all)).Draw(t, "cut")
			if !slices.Equal(p.Replay(all[:cut]), first[:cut]) {
				t.Fatalf("%s: what came later changed what was decided before", p.Version)
			}
		}
	})
}

func drawSegment(t *rapid.T) Segment {
	return Segment{
		Kind: rapid.SampledFrom([]string{KindUser, KindToolCall, KindToolResult, KindAssistant, "system"}).Draw(t, "kind"),
		Text: rapid.OneOf(
			rapid.SampledFrom([]string{"remember what we decided", "it failed", "接下来", "as usual?", "that is wrong", "", "👍", "ok"}),
			rapid.StringN(0, 40, -1), rapid.Just(strings.Repeat("長い文 word ", 400)),
		).Draw(t, "text"),
		Tool:   rapid.SampledFrom([]string{"", "bash", "read"}).Draw(t, "tool"),
		Failed: rapid.Bool().Draw(t, "failed"),
		Plugin: rapid.SampledFrom([]string{"", "", "", "cron"}).Draw(t, "plugin"),
		Time:   time.Unix(rapid.Int64Range(0, 4_000_000_000).Draw(t, "time"), 0),
	}
}

// TestRowB13_WindowIsBounded, and holds nothing of what its host gave beside that.
func TestRowB13_WindowIsBounded(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s State
		for i := range rapid.IntRange(1, 20).Draw(t, "segments") {
			seg := drawSegment(t)
			seg.N = i + 1
			_, s = Calibrated().Decide(s, Input{Segment: &seg})
		}
		chars := 0
		for i, b := range s.window {
			n := len([]rune(b.Text))
			if n > maxSegment {
				t.Fatalf("a segment of %d characters", n)
			}
			chars += n
			if i > 0 && b.N <= s.window[i-1].N {
				t.Fatal("the window is out of order")
			}
		}
		if len(s.window) > maxWindow || chars > maxChars {
			t.Fatalf("%d segments of %d characters", len(s.window), chars)
		}
	})
	var all []Input
	for i := range 12 {
		all = append(all, user(i+1, strings.Repeat("x", 10)))
	}
	var s State
	for _, in := range all {
		_, s = Contract().Decide(s, in)
	}
	if len(s.window) != maxWindow || s.window[0].N != 5 {
		t.Errorf("the window has %d segments from %d on, want the last %d", len(s.window), s.window[0].N, maxWindow)
	}
}

// TestRowB15_PluginInput stays in the window, weighs least, and does not trigger; a message
// of unknown origin is a person's.
func TestRowB15_PluginInput(t *testing.T) {
	p := Calibrated()
	cron := Input{Segment: &Segment{N: 1, Kind: KindUser, Text: "rotate certificates", Plugin: "cron"}}
	d, s := p.Decide(State{}, cron)
	if d.Reason != ByPlugin || len(s.window) != 1 {
		t.Errorf("%+v, window of %d", d, len(s.window))
	}
	plan := p.plan(push(s.window, pieceOf(*user(2, "what was it").Segment)))
	for _, term := range plan.Terms {
		if term.Text == "rotate" && term.Weight != 10 {
			t.Errorf("%+v", term)
		}
	}
	if d, _ := p.Decide(s, user(2, "Do you remember the certificate's name?")); d.Action != Retrieve {
		t.Errorf("control: %+v", d)
	}
}
