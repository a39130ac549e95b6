package lexical

import (
	"cmp"
	"maps"
	"math/bits"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Version names the ranking of [Index.Search], the default. Its scores are what the golden
// file holds; a change of them is a new version.
const Version = "lexical_1"

// Contract is a ranking as the contract that recall began from has it, so that a run
// that was recorded under it can be replayed and compared:
//
//	total = 0.72 terms + 0.15 heading + 0.08 phrase + 0.05 recency
//
// each in [0,1]. Terms is the weight of the query's terms that a record has, in its heading
// or text, over that of all; heading is the same of the heading alone; phrase is 1 where the
// record has any phrase; recency halves in 30 days from a date that can be trusted, and is a
// half without one. It is plain data; change none that has a version.
//
// Exact are the formulas, weights, thresholds, the day boundary, the order of equal totals,
// what counts as a duplicate, every budget and every reason. What the contract leaves open is
// decided here: the weights of a term's origin, of which it gives the order alone; phrases,
// which are what stands in quotation marks; and the mean length of headings, which is one
// of its own. Not exact are its stop words: for the second version it names a Chinese list
// of 507 words of another project and does not give it, so both use the gate's own, far
// fewer, and a total may be lower by the share of a common word that it would have dropped.
//
// It is not the default, for what its labelled fixtures show (testdata/contract.jsonl): a
// long query makes every share small, so that Least drops the answers of a dialogue;
// without stems it does not know "deploys" in "deploying"; and the first version finds
// "art" in "start".
type Contract struct {
	Version                        string
	Terms, Heading, Phrase, Recent int64 // weights, in 1e-6; they sum to one
	Least                          int64 // the total that a candidate needs, in 1e-6

	// Saturated is what the second version changed: a term weighs its idf as well, and
	// counts tf/(tf+K1*(1-B+B*length/mean)) where it is among the words of a record. In
	// the first it counts 1 wherever the text holds it, within a word too.
	Saturated bool
	K1, B     int64 // in 1e-6

	Boundary int // minutes after midnight that still belong to the day before
	Ahead    int // days that a record may be dated ahead
	Budget   Budget
}

// Budget bounds a ranking. Over Records or Resident there is no answer at all.
type Budget struct {
	Terms    int // of a query
	Records  int
	Resident int // bytes of all headings and texts
	Scan     int // bytes of a text that are read
	Raw      int // candidates that are looked at for duplicates
	Kept     int // candidates of an answer
}

// PreV1 is lexical_pre_v1.
func PreV1() Contract {
	return Contract{
		Version: "lexical_pre_v1",
		Terms:   720_000, Heading: 150_000, Phrase: 80_000, Recent: 50_000,
		Least:    100_000,
		Boundary: 450, Ahead: 1,
		Budget: Budget{Terms: 32, Records: 512, Resident: 64 << 20, Scan: 16 << 10, Raw: 64, Kept: 8},
	}
}

// PreV2 is lexical_pre_v2: the first with BM25 in place of plain coverage. See [Contract]
// for its stop words.
func PreV2() Contract {
	c := PreV1()
	c.Version, c.Saturated, c.K1, c.B = "lexical_pre_v2", true, 1_200_000, 750_000
	return c
}

// The reasons why a record, or all of them, are no candidates, and the notes of a
// candidate, by the contract's names.
const (
	EmptyQuery      = "empty-query"
	TermBudget      = "query-term-oversize"
	RecordBudget    = "record-budget"
	ResidentBudget  = "corpus-byte-budget"
	IndexConflict   = "index-conflict" // two records of one ID: neither is believed
	FutureDated     = "future-dated"
	NoLexicalMatch  = "no-lexical-match"
	BelowScore      = "below-score"
	DuplicateText   = "duplicate-content"
	CandidateBudget = "candidate-budget"
	DateUnknown     = "date-unknown"       // a note
	ScanBudget      = "record-scan-budget" // a note
)

// Record is what a contract ranks.
type Record struct {
	ID            string
	Heading, Body string
	Workspace     bool     // before others where all scores are equal
	Day           int32    // its trusted date, in days since 1970-01-01; 0: none. Never a file's time
	Sum           [32]byte // names the text; records of one Sum are duplicates. Zero: not known
}

// Request is a query plan.
type Request struct {
	Terms   []Weighted // folded, each once
	Phrases []string
	At      time.Time // when it was asked, where that is; zero: not known
}

// Weighted is a term and how much the place where it was said weighs, up to 10,000.
type Weighted struct {
	Text   string
	Weight int64
}

// Candidate is a record that a contract keeps. Shares and Total are in 1e-6, rounded down.
type Candidate struct {
	ID                             string
	Total                          int64
	Terms, Heading, Phrase, Recent int64 // shares, before their weights
	Notes                          []string
}

// Omission is a record that it does not keep; without an ID it is about all of them.
type Omission struct {
	Reason, ID string
}

// Records are prepared for one contract. They do not change, and any number of Rank calls
// may run at once.
type Records struct {
	by      Contract
	all     []prepared
	df      map[string]int
	mean    [2]fraction // length of a record and of a heading
	refused string      // the budget that they are over
}

// prepared is a record as it is compared.
type prepared struct {
	Record
	folded   [2]string // all that is read of it, and its heading alone
	tf       [2]map[string]int64
	length   [2]int64 // in words
	cut      bool
	conflict bool
}

// fraction is a mean that is not yet divided.
type fraction struct{ sum, n int64 }

// Prepare reads the records, in any order. words gives the terms of a text, the way the
// plan's terms were made, with repetitions.
func (c Contract) Prepare(records []Record, words func(string) []string) *Records {
	rs := &Records{by: c, df: map[string]int{}}
	size := 0
	for i := range records {
		size += len(records[i].Heading) + len(records[i].Body)
	}
	switch {
	case len(records) > c.Budget.Records:
		rs.refused = RecordBudget
	case size > c.Budget.Resident:
		rs.refused = ResidentBudget
	}
	if rs.refused != "" {
		return rs
	}
	for _, r := range records {
		p := prepared{Record: r}
		body := r.Body
		if len(body) > c.Budget.Scan {
			n := c.Budget.Scan
			for n > 0 && !utf8.RuneStart(body[n]) {
				n--
			}
			body, p.cut = body[:n], true
		}
		p.Body = ""
		heading := canonical(r.Heading)
		p.folded = [2]string{heading + "\n" + canonical(body), heading} // no phrase goes across
		if c.Saturated {
			title := words(r.Heading)
			for i, ws := range [2][]string{append(words(body), title...), title} {
				p.tf[i], p.length[i] = map[string]int64{}, int64(len(ws))
				for _, w := range ws {
					p.tf[i][w]++
				}
				if len(ws) > 0 || i == 0 {
					rs.mean[i].sum, rs.mean[i].n = rs.mean[i].sum+int64(len(ws)), rs.mean[i].n+1
				}
			}
			for w := range maps.Keys(p.tf[0]) {
				rs.df[w]++
			}
		}
		rs.all = append(rs.all, p)
	}
	slices.SortStableFunc(rs.all, func(a, b prepared) int { return strings.Compare(a.ID, b.ID) })
	for i := 1; i < len(rs.all); i++ {
		if rs.all[i].ID == rs.all[i-1].ID {
			rs.all[i].conflict, rs.all[i-1].conflict = true, true
		}
	}
	return rs
}

// ranking is a candidate with what orders it and what it is.
type ranking struct {
	Candidate
	from *prepared
}

// Rank gives the candidates of a query, best first, and why each other record is none:
// first those that were read in vain, by ID, then those that rank too low.
func (rs *Records) Rank(q Request) (best []Candidate, out []Omission) {
	c := &rs.by
	if rs.refused != "" {
		return nil, []Omission{{rs.refused, ""}}
	}
	if len(q.Terms) > c.Budget.Terms {
		q.Terms, out = q.Terms[:c.Budget.Terms], append(out, Omission{TermBudget, ""})
	}
	if len(q.Terms)+len(q.Phrases) == 0 {
		return nil, append(out, Omission{EmptyQuery, ""})
	}
	weights, whole := rs.weigh(q.Terms)
	phrases := make([]string, len(q.Phrases))
	for i, p := range q.Phrases {
		phrases[i] = canonical(p)
	}
	var all []ranking
	for i := range rs.all {
		p := &rs.all[i]
		r, reason := rs.score(p, &q, weights, whole, phrases)
		if reason != "" {
			out = append(out, Omission{reason, p.ID})
			continue
		}
		all = append(all, ranking{r, p})
	}
	slices.SortFunc(all, before)
	seen := map[[32]byte]bool{{}: false}
	for i, r := range all {
		switch {
		case i >= c.Budget.Raw:
			out = append(out, Omission{CandidateBudget, r.ID})
		case seen[r.from.Sum]:
			out = append(out, Omission{DuplicateText, r.ID})
		case len(best) == c.Budget.Kept:
			out = append(out, Omission{CandidateBudget, r.ID})
		default:
			seen[r.from.Sum] = r.from.Sum != [32]byte{}
			best = append(best, r.Candidate)
		}
	}
	return best, out
}

// before orders by total, terms, heading, the workspace first, and ID.
func before(a, b ranking) int {
	place := func(r *ranking) int {
		if r.from.Workspace {
			return 0
		}
		return 1
	}
	return cmp.Or(cmp.Compare(b.Total, a.Total), cmp.Compare(b.Terms, a.Terms), cmp.Compare(b.Heading, a.Heading),
		cmp.Compare(place(&a), place(&b)), strings.Compare(a.ID, b.ID))
}

// weigh gives what each term is worth, and all of them together.
func (rs *Records) weigh(terms []Weighted) (weights []uint64, whole uint64) {
	for _, t := range terms {
		w := uint64(min(max(t.Weight, 0), 10_000))
		if rs.by.Saturated {
			w *= uint64(idf(len(rs.all), rs.df[t.Text]))
		}
		weights, whole = append(weights, w), whole+w
	}
	return weights, whole
}

// score judges one record, or says why it is no candidate.
func (rs *Records) score(p *prepared, q *Request, weights []uint64, whole uint64, phrases []string) (r Candidate, reason string) {
	c := &rs.by
	if p.conflict {
		return r, IndexConflict
	}
	r = Candidate{ID: p.ID, Recent: recency(0, 0)}
	if p.Day == 0 || q.At.IsZero() {
		r.Notes = append(r.Notes, DateUnknown)
	} else {
		today := c.dayOf(q.At)
		if int64(p.Day)-int64(today) > int64(c.Ahead) {
			return r, FutureDated
		}
		r.Recent = recency(today, p.Day)
	}
	if p.cut {
		r.Notes = append(r.Notes, ScanBudget)
	}
	var sum [2]uint64 // of everything and of the heading, in 1e-6 of whole
	hit := false
	for i, t := range q.Terms {
		for part := range sum {
			n := rs.found(p, part, t.Text)
			sum[part], hit = sum[part]+n*weights[i], hit || n > 0
		}
	}
	if slices.ContainsFunc(phrases, func(s string) bool { return holds(p.folded[0], s) }) {
		r.Phrase, hit = 1_000_000, true
	}
	if !hit {
		return r, NoLexicalMatch
	}
	if whole > 0 {
		r.Terms = parts(whole, sum[0], 1_000_000, 0, 0)
		r.Heading = parts(whole, sum[1], 1_000_000, 0, 0)
		r.Total = parts(whole, sum[0], c.Terms, sum[1], c.Heading)
	}
	r.Total += (r.Phrase*c.Phrase + r.Recent*c.Recent) / 1_000_000
	if r.Total < c.Least {
		return r, BelowScore
	}
	return r, ""
}

// found is how much of a term a record or its heading has, in 1e-6.
func (rs *Records) found(p *prepared, part int, term string) uint64 {
	c := &rs.by
	if !c.Saturated {
		if term != "" && strings.Contains(p.folded[part], term) {
			return 1_000_000
		}
		return 0
	}
	tf := p.tf[part][term]
	if tf == 0 {
		return 0
	}
	// k1(1-b+b*length/mean); 64 MiB have fewer than 2^26 words, and 512 records of them
	// stay below 2^55.
	m, perMean := rs.mean[part], c.K1/1000*c.B/1000
	damp := c.K1 - perMean + perMean*p.length[part]*m.n/m.sum
	return uint64(tf * 1_000_000_000_000 / (tf*1_000_000 + damp))
}

// parts is (a*x + b*y) / (whole*1e6), rounded down once: a share that is exactly at a
// threshold stays there. a and b are at most whole*1e6, and whole is below 2^43.
func parts(whole, a uint64, x int64, b uint64, y int64) int64 {
	hi, lo := bits.Mul64(a, uint64(x))
	hi2, lo2 := bits.Mul64(b, uint64(y))
	lo, carry := bits.Add64(lo, lo2, 0)
	hi, _ = bits.Add64(hi, hi2, carry)
	q, _ := bits.Div64(hi, lo, whole*1_000_000)
	return int64(q)
}

// dayOf is the day that a time belongs to, by the clock of its place.
func (c Contract) dayOf(at time.Time) int32 {
	y, m, d := at.Date()
	if at.Hour()*60+at.Minute() < c.Boundary {
		d--
	}
	return int32(time.Date(y, m, d, 0, 0, 0, 0, time.UTC).Unix() / (24 * 60 * 60))
}

// canonical is the form in which records and phrases are compared: NFKC, lower case,
// single spaces.
func canonical(s string) string {
	return strings.Join(strings.Fields(strings.ToLower(norm.NFKC.String(s))), " ")
}

// holds reports whether a text has a phrase by itself: letters and digits may not go on
// beyond its ends, nor a run of a script without spaces.
func holds(text, phrase string) bool {
	if phrase == "" {
		return false
	}
	first, _ := utf8.DecodeRuneInString(phrase)
	last, _ := utf8.DecodeLastRuneInString(phrase)
	for from := 0; ; {
		i := strings.Index(text[from:], phrase)
		if i < 0 {
			return false
		}
		i += from
		prev, _ := utf8.DecodeLastRuneInString(text[:i])
		next, _ := utf8.DecodeRuneInString(text[i+len(phrase):])
		if !continues(prev, first) && !continues(next, last) {
			return true
		}
		_, size := utf8.DecodeRuneInString(text[i:])
		from = i + size
	}
}

// continues reports whether r, or nothing, goes on what the character beside it is of.
func continues(r, beside rune) bool {
	if unspaced(beside) {
		return unspaced(r)
	}
	alnum := func(r rune) bool {
		return r != utf8.RuneError && !unspaced(r) && (unicode.IsLetter(r) || unicode.IsNumber(r))
	}
	return alnum(beside) && alnum(r)
}

// The bounds of a query's phrases.
const (
	maxPhrases = 8
	maxPhrase  = 96 // bytes
)

// Phrases gives the phrases of a query, which the contract does not define: what stands in
// quotation marks, up to eight of 96 bytes.
func Phrases(text string) (phrases []string) {
	for _, marks := range [...][2]string{{`"`, `"`}, {"“", "”"}, {"「", "」"}, {"`", "`"}} {
		for rest := text; len(phrases) < maxPhrases; {
			_, after, ok := strings.Cut(rest, marks[0])
			phrase, after, closed := strings.Cut(after, marks[1])
			if !ok || !closed {
				break
			}
			rest, phrase = after, canonical(phrase)
			if phrase != "" && len(phrase) <= maxPhrase && !slices.Contains(phrases, phrase) {
				phrases = append(phrases, phrase)
			}
		}
	}
	return phrases
}
