package lexical

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/memoryroom/scribe/internal/gate"
)

func contractWords(text string) []string {
	terms, _ := gate.Terms(text, math.MaxInt)
	return terms
}

// planned is the request that the contract makes of a text.
func planned(text string) Request {
	q := Request{Phrases: Phrases(text)}
	for _, t := range gate.Contract().PlanOf(text).Terms {
		q.Terms = append(q.Terms, Weighted{t.Text, int64(t.Weight)})
	}
	return q
}

// terms makes a request of words, each with a weight.
func terms(weight int64, words ...string) (q Request) {
	for _, w := range words {
		q.Terms = append(q.Terms, Weighted{w, weight})
	}
	return q
}

// reasons gives the omissions as "reason id".
func reasons(out []Omission) (all []string) {
	for _, o := range out {
		all = append(all, strings.TrimSpace(o.Reason+" "+o.ID))
	}
	return all
}

func idsOf(best []Candidate) (ids []string) {
	for _, b := range best {
		ids = append(ids, b.ID)
	}
	return ids
}

// contractCase is one labelled case: which record answers, and what each ranking gives,
// as "id total".
type contractCase struct {
	ID      string `json:"id"`
	About   string `json:"about"`
	Query   string `json:"query"`
	At      string `json:"at,omitempty"`
	Best    string `json:"best"` // "": nothing answers
	Records []struct {
		ID        string `json:"id"`
		Heading   string `json:"heading,omitempty"`
		Text      string `json:"text"`
		Day       int32  `json:"day,omitempty"`
		Workspace bool   `json:"workspace,omitempty"`
	} `json:"records"`
	Want map[string][]string `json:"want"`
}

// answers gives what the three rankings say, and the ID that each puts first.
func (c *contractCase) answers(t *testing.T) (got map[string][]string, first map[string]string) {
	t.Helper()
	q, today := planned(c.Query), int32(0)
	if c.At != "" {
		at, err := time.Parse(time.RFC3339, c.At)
		if err != nil {
			t.Fatal(err)
		}
		q.At, today = at, PreV1().dayOf(at)
	}
	var records []Record
	x := New()
	for _, r := range c.Records {
		records = append(records, Record{ID: r.ID, Heading: r.Heading, Body: r.Text, Day: r.Day, Workspace: r.Workspace})
		x.Put(Doc{ID: r.ID, Title: r.Heading, Body: r.Text, Day: r.Day})
	}
	got, first = map[string][]string{}, map[string]string{}
	add := func(version, id string, total int64) {
		if first[version] == "" {
			first[version] = id
		}
		got[version] = append(got[version], fmt.Sprint(id, " ", total))
	}
	for _, p := range []Contract{PreV1(), PreV2()} {
		got[p.Version] = []string{}
		best, _ := p.Prepare(records, contractWords).Rank(q)
		for _, b := range best {
			add(p.Version, b.ID, b.Total)
		}
	}
	got[Version] = []string{}
	hits, _ := x.Search(Query{c.Query, MaxHits, today})
	for _, h := range hits {
		add(Version, h.ID, h.Score)
	}
	return got, first
}

// TestContractCases holds every total of the three rankings, and that the default finds
// what is labelled where the contract's do not.
func TestContractCases(t *testing.T) {
	const name = "testdata/contract.jsonl"
	data, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var again bytes.Buffer
	enc := json.NewEncoder(&again)
	enc.SetEscapeHTML(false)
	right, n := map[string]int{}, 0
	for line := range bytes.Lines(data) {
		var c contractCase
		d := json.NewDecoder(bytes.NewReader(line))
		d.DisallowUnknownFields()
		if err := d.Decode(&c); err != nil {
			t.Fatal(err)
		}
		got, first := c.answers(t)
		for _, version := range []string{"lexical_pre_v1", "lexical_pre_v2", "lexical_1"} {
			if first[version] == c.Best {
				right[version]++
			} else if version == Version {
				t.Errorf("%s: %s puts %q first, want %q", c.ID, version, first[version], c.Best)
			}
		}
		if diff := gocmp.Diff(got, c.Want); diff != "" && !*update {
			t.Errorf("%s (-got +want):\n%s", c.ID, diff)
		}
		c.Want, n = got, n+1
		if err := enc.Encode(c); err != nil {
			t.Fatal(err)
		}
	}
	if *update {
		if err := os.WriteFile(name, again.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if want := map[string]int{"lexical_pre_v1": 7, "lexical_pre_v2": 8, "lexical_1": n}; n < 10 || !gocmp.Equal(right, want) {
		t.Errorf("right of %d: %v, want %v", n, right, want)
	}
}

// TestContractVersions: who changes a weight, a threshold or a budget has to give the policy a
// new version, and then the digest here.
func TestContractVersions(t *testing.T) {
	for _, c := range []struct {
		p               Contract
		version, digest string
	}{
		{PreV1(), "lexical_pre_v1", "2f88a4ab9a331d59"},
		{PreV2(), "lexical_pre_v2", "a0aa27b1d1a3d746"},
	} {
		data, err := json.Marshal(c.p)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(data)
		if got := hex.EncodeToString(sum[:8]); c.p.Version != c.version || got != c.digest {
			t.Errorf("policy %s has the digest %s, want %s of %s: a change needs a new version", c.p.Version, got, c.digest, c.version)
		}
	}
	if Version != "lexical_1" {
		t.Errorf("the default is %s", Version)
	}
}

// TestRowB56_AgainstTheContract scores random records by the contract's formula, in rational
// numbers, and compares who is kept, in which order, and every total.
func TestRowB56_AgainstTheContract(t *testing.T) {
	p := PreV1()
	if p.Terms+p.Heading+p.Phrase+p.Recent != 1_000_000 {
		t.Error("the weights do not sum to one")
	}
	vocabulary := []string{"oak", "elm", "ash", "yew", "fir", "box"}
	rat := func(s string) *big.Rat { r, _ := new(big.Rat).SetString(s); return r }
	at := time.Date(2026, 6, 30, 12, 0, 0, 0, time.UTC)
	rapid.Check(t, func(t *rapid.T) {
		text := func(label string, most int) []string {
			return rapid.SliceOfN(rapid.SampledFrom(vocabulary), 0, most).Draw(t, label)
		}
		q := Request{At: at, Phrases: []string{"oak elm"}}
		whole := int64(0)
		for _, w := range vocabulary[:rapid.IntRange(1, len(vocabulary)).Draw(t, "terms")] {
			weight := int64(rapid.SampledFrom([]int{10, 20, 30, 40, 60, 100}).Draw(t, "weight"))
			q.Terms, whole = append(q.Terms, Weighted{w, weight}), whole+weight
		}
		type scored struct {
			id    string
			total *big.Rat
			terms int64
			head  int64
		}
		var records []Record
		var want []scored
		for i := range rapid.IntRange(0, 8).Draw(t, "records") {
			heading, body := text("heading", 3), text("body", 6)
			halvings := rapid.IntRange(0, 4).Draw(t, "halvings")
			r := Record{ID: string(rune('a' + i)), Heading: strings.Join(heading, " "), Body: strings.Join(body, " "), Day: p.dayOf(at) - 30*int32(halvings)}
			records = append(records, r)
			s := scored{id: r.ID}
			for _, w := range q.Terms {
				if slices.Contains(heading, w.Text) {
					s.head += w.Weight
				}
				if slices.Contains(heading, w.Text) || slices.Contains(body, w.Text) {
					s.terms += w.Weight
				}
			}
			phrase := int64(0)
			if strings.Contains(r.Heading, "oak elm") || strings.Contains(r.Body, "oak elm") {
				phrase = 1
			}
			s.total = new(big.Rat)
			for _, part := range []struct {
				weight string
				share  *big.Rat
			}{
				{"0.72", big.NewRat(s.terms, whole)},
				{"0.15", big.NewRat(s.head, whole)},
				{"0.08", big.NewRat(phrase, 1)},
				{"0.05", big.NewRat(1, 1<<halvings)},
			} {
				s.total.Add(s.total, new(big.Rat).Mul(rat(part.weight), part.share))
			}
			if s.terms+phrase > 0 && s.total.Cmp(rat("0.10")) >= 0 {
				want = append(want, s)
			}
		}
		slices.SortFunc(want, func(a, b scored) int {
			if c := b.total.Cmp(a.total); c != 0 {
				return c
			}
			for _, d := range []int64{b.terms - a.terms, b.head - a.head} {
				if d != 0 {
					return int(d)
				}
			}
			return strings.Compare(a.id, b.id)
		})
		best, out := p.Prepare(records, contractWords).Rank(q)
		if len(best) != len(want) || len(best)+len(out) != len(records) {
			t.Fatalf("kept %+v, want %+v", best, want)
		}
		for i, b := range best {
			micro := new(big.Rat).Mul(want[i].total, big.NewRat(1_000_000, 1))
			floor := new(big.Int).Quo(micro.Num(), micro.Denom()).Int64()
			if b.ID != want[i].id || b.Total != floor {
				t.Fatalf("place %d: %+v, want %s with %d", i, b, want[i].id, floor)
			}
		}
	})
}

// TestRowB57_BM25 compares the second version with its formulas in floating point, which may
// differ by the digits that the fixed point drops.
func TestRowB57_BM25(t *testing.T) {
	p := PreV2()
	p.Least = 0
	vocabulary := strings.Fields("oak elm ash yew fir box ivy")
	rapid.Check(t, func(t *rapid.T) {
		text := func(label string, most int) []string {
			return rapid.SliceOfN(rapid.SampledFrom(vocabulary), 0, most).Draw(t, label)
		}
		var records []Record
		var bodies, headings [][]string
		n := rapid.IntRange(1, 8).Draw(t, "records")
		df, length, headLength, headed := map[string]float64{}, 0., 0., 0.
		for i := range n {
			heading, body := text("heading", 3), text("body", 12)
			all := append(slices.Clone(body), heading...)
			bodies, headings = append(bodies, all), append(headings, heading)
			records = append(records, Record{ID: string(rune('a' + i)), Heading: strings.Join(heading, " "), Body: strings.Join(body, " ")})
			for _, w := range vocabulary {
				if slices.Contains(all, w) {
					df[w]++
				}
			}
			length += float64(len(all))
			if len(heading) > 0 {
				headLength, headed = headLength+float64(len(heading)), headed+1
			}
		}
		q := Request{Terms: []Weighted{{"oak", 100}, {"elm", 60}, {"absent", 20}}}
		idf := func(w string) float64 { return math.Log(1 + (float64(n)-df[w]+0.5)/(df[w]+0.5)) }
		share := func(words []string, mean float64) (sum float64) {
			whole := 0.
			for _, term := range q.Terms {
				whole += idf(term.Text) * float64(term.Weight)
				tf := 0.
				for _, w := range words {
					if w == term.Text {
						tf++
					}
				}
				if tf > 0 {
					sat := tf * (1.2 + 1) / (tf + 1.2*(1-0.75+0.75*float64(len(words))/mean)) / (1.2 + 1)
					sum += idf(term.Text) * sat * float64(term.Weight)
				}
			}
			return sum / whole
		}
		best, _ := p.Prepare(records, contractWords).Rank(q)
		for _, b := range best {
			i := int(b.ID[0] - 'a')
			tc, hc := share(bodies[i], length/float64(n)), share(headings[i], headLength/max(1, headed))
			total := 0.72*tc + 0.15*hc + 0.05*0.5
			for _, d := range []float64{float64(b.Terms) - 1e6*tc, float64(b.Heading) - 1e6*hc, float64(b.Total) - 1e6*total} {
				if math.Abs(d) > 5 {
					t.Fatalf("%+v, want terms %.6f, heading %.6f, total %.6f", b, tc, hc, total)
				}
			}
		}
		hit := 0
		for _, words := range bodies {
			if slices.Contains(words, "oak") || slices.Contains(words, "elm") {
				hit++
			}
		}
		if len(best) != hit {
			t.Fatalf("%d candidates, want %d", len(best), hit)
		}
	})
}

// TestRowB58_Least: a record needs a term or a phrase, and 0.10, which 5 of 48 and the neutral
// recency reach exactly.
func TestRowB58_Least(t *testing.T) {
	records := []Record{
		{ID: "at", Body: "five"},
		{ID: "below", Body: "four"},
		{ID: "far", Heading: "Nothing", Body: "of it"},
		{ID: "phrase", Body: "as it is said"},
	}
	q := Request{Terms: []Weighted{{"five", 5}, {"four", 4}, {"rest", 39}}, Phrases: []string{"it is"}}
	best, out := PreV1().Prepare(records, contractWords).Rank(q)
	want := []Candidate{
		{ID: "phrase", Total: 105_000, Phrase: 1_000_000, Recent: 500_000, Notes: []string{DateUnknown}},
		{ID: "at", Total: 100_000, Terms: 104_166, Recent: 500_000, Notes: []string{DateUnknown}},
	}
	if d := gocmp.Diff(best, want); d != "" {
		t.Errorf("-got +want:\n%s", d)
	}
	if got := reasons(out); !slices.Equal(got, []string{"below-score below", "no-lexical-match far"}) {
		t.Errorf("omitted: %q", got)
	}
}

// TestRowB59_Recency halves every 30 days, and is a half where a date is not known; nothing is
// too old.
func TestRowB59_Recency(t *testing.T) {
	at := time.Date(2026, 6, 30, 12, 0, 0, 0, time.UTC)
	today := PreV1().dayOf(at)
	for _, c := range []struct {
		day  int32
		at   time.Time
		want int64
		note bool
	}{
		{today, at, 1_000_000, false},
		{today - 1, at, 977_160, false},
		{today - 30, at, 500_000, false},
		{today - 75, at, 176_776, false},
		{today - 3_000, at, 0, false},
		{0, at, 500_000, true},
		{today, time.Time{}, 500_000, true},
	} {
		best, out := PreV1().Prepare([]Record{{ID: "a", Body: "tea", Day: c.day}}, contractWords).Rank(Request{Terms: []Weighted{{"tea", 1}}, At: c.at})
		if len(best) != 1 || best[0].Recent != c.want || slices.Contains(best[0].Notes, DateUnknown) != c.note {
			t.Errorf("day %d at %v: %+v, %v, want %d", c.day, c.at, best, out, c.want)
		}
	}
}

// TestRowB60_DayBoundary: until 07:30 it is still the day before, by the clock of the place;
// what is dated more than a day ahead is no candidate.
func TestRowB60_DayBoundary(t *testing.T) {
	const day = 20_634 // 2026-06-30
	shanghai := time.FixedZone("", 8*60*60)
	clock := func(hour, minute int, zone *time.Location) time.Time {
		return time.Date(2026, 6, 30, hour, minute, 59, 0, zone)
	}
	midnight := PreV1()
	midnight.Boundary = 0
	for _, c := range []struct {
		p    Contract
		at   time.Time
		want int32
	}{
		{PreV1(), clock(0, 0, time.UTC), day - 1},
		{PreV1(), clock(7, 29, time.UTC), day - 1},
		{PreV1(), clock(7, 30, time.UTC), day},
		{PreV1(), clock(23, 59, time.UTC), day},
		{PreV1(), clock(7, 30, shanghai), day},
		{PreV1(), clock(7, 29, shanghai), day - 1},
		{midnight, clock(0, 0, time.UTC), day},
	} {
		if got := c.p.dayOf(c.at); got != c.want {
			t.Errorf("%v with %d minutes: day %d, want %d", c.at, c.p.Boundary, got, c.want)
		}
	}
	records := []Record{{ID: "a", Body: "tea", Day: day}, {ID: "b", Body: "tea", Day: day + 1}, {ID: "c", Body: "tea", Day: day + 2}}
	rs := PreV1().Prepare(records, contractWords)
	for hour, want := range map[int][]string{6: {"future-dated b", "future-dated c"}, 8: {"future-dated c"}} {
		q := terms(1, "tea")
		q.At = clock(hour, 0, time.UTC)
		best, out := rs.Rank(q)
		if got := reasons(out); !slices.Equal(got, want) || best[0].Recent != 1_000_000 {
			t.Errorf("at %d: omitted %q, want %q; %+v", hour, got, want, best)
		}
	}
}

// TestRowB61_Order: total, terms, heading, workspace, ID, whatever the order in which the
// records come.
func TestRowB61_Order(t *testing.T) {
	at := time.Date(2026, 6, 30, 12, 0, 0, 0, time.UTC)
	c := PreV1()
	// With these weights a total can be equal where its parts are not.
	c.Terms, c.Heading, c.Phrase, c.Recent = 400_000, 400_000, 200_000, 0
	records := []Record{
		{ID: "f", Heading: "oak", Body: "elm"},                  // 0.4 + 0.2
		{ID: "e", Body: "oak elm, and by the way"},              // 0.4 + phrase 0.2: equal, without heading
		{ID: "d", Heading: "oak", Body: "by the way"},           // 0.2 + 0.2 + 0.2: fewer terms
		{ID: "z", Body: "oak", Workspace: true},                 // 0.2
		{ID: "b", Body: "elm"}, {ID: "a", Body: "oak and more"}, // the same, by ID
		{ID: "y", Body: "oak", Workspace: true},
	}
	q := terms(100, "oak", "elm")
	q.Phrases, q.At = []string{"by the way"}, at
	want := strings.Fields("f e d y z a b")
	rapid.Check(t, func(t *rapid.T) {
		best, _ := c.Prepare(rapid.Permutation(records).Draw(t, "records"), contractWords).Rank(q)
		if got := idsOf(best); !slices.Equal(got, want) {
			t.Fatalf("got %q, want %q: %+v", got, want, best)
		}
	})
}

// TestRowB62_ContractDuplicates: of one text the better is kept; of one ID neither.
func TestRowB62_ContractDuplicates(t *testing.T) {
	same := [32]byte{1}
	records := []Record{
		{ID: "low", Body: "tea", Sum: same},
		{ID: "high", Heading: "Tea", Body: "tea", Sum: same},
		{ID: "twice", Body: "tea one"},
		{ID: "twice", Body: "tea two"},
		{ID: "x", Body: "tea"},
		{ID: "y", Body: "tea"},
	}
	best, out := PreV1().Prepare(records, contractWords).Rank(terms(1, "tea"))
	if got := idsOf(best); !slices.Equal(got, []string{"high", "x", "y"}) {
		t.Errorf("kept %q", got)
	}
	if got := reasons(out); !slices.Equal(got, []string{"index-conflict twice", "index-conflict twice", "duplicate-content low"}) {
		t.Errorf("omitted %q", got)
	}
}

// TestRowB63_ContractBudgets are the contract's, each with what it says when it is passed.
func TestRowB63_ContractBudgets(t *testing.T) {
	p := PreV1()
	if want := (Budget{Terms: 32, Records: 512, Resident: 64 << 20, Scan: 16 << 10, Raw: 64, Kept: 8}); p.Budget != want || PreV2().Budget != want {
		t.Errorf("%+v", p.Budget)
	}
	var records []Record
	for i := range 513 {
		records = append(records, Record{ID: fmt.Sprintf("%03d", i), Body: "tea"})
	}
	q := terms(1, "tea")
	best, out := p.Prepare(records, contractWords).Rank(q)
	if best != nil || !slices.Equal(reasons(out), []string{RecordBudget}) {
		t.Errorf("513 records: %+v, %q", best, reasons(out))
	}
	best, out = p.Prepare(records[:512], contractWords).Rank(q)
	if len(best) != 8 || len(out) != 504 || best[7].ID != "007" || out[0] != (Omission{CandidateBudget, "008"}) {
		t.Errorf("512 records: %+v and %d omissions", best, len(out))
	}
	small := p
	small.Budget.Resident = 5
	if best, out := small.Prepare(records[:2], contractWords).Rank(q); best != nil || !slices.Equal(reasons(out), []string{ResidentBudget}) {
		t.Errorf("resident: %+v, %q", best, reasons(out))
	}
	if best, _ := small.Prepare(records[:1], contractWords).Rank(q); len(best) != 1 {
		t.Error("resident: nothing within the budget")
	}
	twins := []Record{{ID: "z", Body: "tea"}} // looked at only where there are fewer before it
	for i := range 64 {
		twins = append(twins, Record{ID: fmt.Sprintf("%03d", i), Body: "tea", Sum: [32]byte{1}})
	}
	for n, want := range map[int]int{64: 2, 65: 1} {
		if best, _ := p.Prepare(twins[:n], contractWords).Rank(q); len(best) != want {
			t.Errorf("%d raw: %+v", n, best)
		}
	}
	long := strings.Repeat("茶 ", 16<<10/4)
	if cut := p.Prepare([]Record{{ID: "a", Body: "xx" + long}}, contractWords).all[0].folded[0]; !strings.HasSuffix(cut, "茶") {
		t.Errorf("a character is cut: it ends %q", cut[len(cut)-3:])
	}
	for body, want := range map[string]int{long[:16<<10-4] + " tea": 1, long + "tea": 0} {
		for _, c := range []Contract{PreV1(), PreV2()} {
			c.Least = 0
			if best, _ := c.Prepare([]Record{{ID: "a", Body: body}}, contractWords).Rank(q); len(best) != want {
				t.Errorf("%s: a word at %d: %+v", c.Version, strings.Index(body, "tea"), best)
			}
		}
	}
	best, _ = p.Prepare([]Record{{ID: "a", Heading: "Tea", Body: long + "x"}}, contractWords).Rank(q)
	if len(best) != 1 || !slices.Contains(best[0].Notes, ScanBudget) {
		t.Errorf("a text that is cut: %+v", best)
	}
	many := make([]string, 33)
	for i := range many {
		many[i] = fmt.Sprintf("w%d", i)
	}
	many[32] = "tea"
	if best, out := p.Prepare(records[:1], contractWords).Rank(terms(1, many...)); best != nil || out[0].Reason != TermBudget {
		t.Errorf("33 terms: %+v, %q", best, reasons(out))
	}
	if best, out := p.Prepare(records[:1], contractWords).Rank(Request{}); best != nil || !slices.Equal(reasons(out), []string{EmptyQuery}) {
		t.Errorf("no terms: %+v, %q", best, reasons(out))
	}
}

// TestRowB45_PhraseBorders: a phrase stands by itself.
func TestRowB45_PhraseBorders(t *testing.T) {
	for _, c := range []struct {
		text, phrase string
		want         bool
	}{
		{"the north pier", "north pier", true},
		{"the north piers", "north pier", false},
		{"go-north pier!", "north pier", true},
		{"north piers and north pier", "north pier", true},
		{"Ｎｏｒｔｈ  Pier", "north pier", true},
		{"v1.20", "v1.2", false},
		{"use v1.2.", "v1.2", true},
		{"绿茶", "绿茶", true},
		{"喝绿茶。", "绿茶", false}, // the run begins before it
		{"喝 绿茶。", "绿茶", true},
		{"绿茶abc", "绿茶", true},
		{"日本語の本", "本", false},
		{"", "x", false},
		{"x", "", false},
	} {
		if got := holds(canonical(c.text), canonical(c.phrase)); got != c.want {
			t.Errorf("%q in %q: %v", c.phrase, c.text, got)
		}
	}
	// No phrase goes from a heading into the text.
	best, out := PreV1().Prepare([]Record{{ID: "a", Heading: "North", Body: "pier"}}, contractWords).Rank(Request{Phrases: []string{"north pier"}})
	if best != nil || !slices.Equal(reasons(out), []string{"no-lexical-match a"}) {
		t.Errorf("%+v, %q", best, reasons(out))
	}
}

func TestPhrases(t *testing.T) {
	got := Phrases("say \"Blue  Green\" or “blue green”, 「绿茶」, `go test`, \"\" and \"open")
	if want := []string{"blue green", "绿茶", "go test"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if n := len(Phrases(strings.Repeat(`"a" "b" "c" "d" "e" "f" "g" "h" "i" `, 2))); n != maxPhrases {
		t.Errorf("%d phrases", n)
	}
	if got := Phrases(`"` + strings.Repeat("x", maxPhrase+1) + `"`); got != nil {
		t.Errorf("got %q", got)
	}
}
