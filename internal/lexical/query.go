package lexical

import (
	"cmp"
	"math/bits"
	"slices"
)

// Limits of a query, and what it takes to be a hit.
const (
	// MaxHits is the most hits that a search returns.
	MaxHits = 1000
	// maxQueryBytes is the part of a query that is read: several turns of dialogue.
	maxQueryBytes = 16 << 10
	// maxUnits is the most units of a query, and the most words that are tried
	// together; later ones are not looked for.
	maxUnits = 256
	// maxDates is the most dates of a query whose own words are left out.
	maxDates = 16
	// maxAdjacent is the most neighbouring words that are also tried as one.
	maxAdjacent = 4
	// maxPostings bounds the work of one search. Terms are taken rarest first, so
	// that what is dropped beyond it are the commonest.
	maxPostings = 1 << 20

	// coverageFloor is the least coverage, in hundredths, of the document that covers
	// a query best; below it there are no hits at all. The threshold that keeps 95 %
	// of right answers lay in .24 to .38 on seven pairs of corpora.
	coverageFloor = 25
	// hitFloor is the least coverage of each hit, in hundredths: a third of the
	// other. It drops what shares one common word, at no cost in recall.
	hitFloor = 8
	// coverageUnits is the most that coverage asks of a long query, in units that no
	// document has: of several turns of dialogue, a short memory can only answer a
	// part. Without it, no dialogue finds anything.
	coverageUnits = 5
	// coverageDocs is the least number of documents that coverage reckons with. In a
	// room of three memories every known term would else weigh next to nothing
	// against an unknown one.
	coverageDocs = 30
)

// Weights of a query's terms, in tenths, from trials on open retrieval sets.
const (
	asUnit     = 10
	asDate     = 20 // a day is what the question is about
	asWhole    = 30 // an identifier that the query writes as camelCase or snake_case
	asJoined   = 15 // the same with hyphens, dots or slashes, as prose has them too
	asAdjacent = 8  // words beside each other, tried as one; 12 would cost 0.025 on prose
)

// Hit is one document that a search found.
type Hit struct {
	ID             string
	Score          int64 // 1e-6; comparable within one search only
	Offset, Length int   // the best window of Body, in bytes, on rune boundaries, at most maxWindow
}

// mask is a set of units.
type mask [maxUnits / 64]uint64

func (m *mask) add(i int) { m[i/64] |= 1 << (i % 64) }

// unit is one thing that a query asks for.
type unit struct {
	term   string
	idf    int64
	weight int64 // in coverage: idf as if the index had coverageDocs at least
}

// probe is one list to read: a unit's own, or that of a joined form.
type probe struct {
	term   uint32
	df     int
	weight int64 // in tenths
	idf    int64
	units  mask // what finding it finds
}

// query is a query taken apart against one index.
type query struct {
	x      *Index
	units  []unit
	byTerm map[string]int // term to unit
	byJoin map[string]int // term of a joined form to its first unit
	probes []probe
	seen   map[uint32]bool // lists that have a probe
	total  int64           // idf of all units
}

// spoken is a word of the query as it stands.
type spoken struct {
	text     string
	kind     kind
	off, end int
	unit     int  // -1: none
	empty    bool // says nothing
}

// compoundOf is a joined form in the query and the words that it is made of.
type compoundOf struct {
	text     string
	from, to int // of the words
	weight   int64
}

// parse takes a query apart.
func (x *Index) parse(text string) *query {
	if len(text) > maxQueryBytes {
		text = text[:maxQueryBytes]
	}
	q := &query{x: x, byTerm: map[string]int{}, byJoin: map[string]int{}, seen: map[uint32]bool{}}
	words, wholes := speak(text)
	for i := range words {
		if !words[i].empty {
			words[i].unit = q.unit(&words[i])
		}
	}
	for _, u := range q.units {
		q.total += u.weight
	}
	q.total = min(q.total, coverageUnits*idf(max(x.live, coverageDocs), 0))
	for _, w := range wholes {
		q.join(w.text, words[w.from:w.to], w.weight)
	}
	q.adjacent(words[:min(len(words), maxUnits)])
	return q
}

// speak gives the words of a query in order, dates last, and its joined forms.
// Words that say nothing are marked empty, unless all do.
func speak(text string) (words []spoken, wholes []compoundOf) {
	sc := scanner{emit: func(t token) bool {
		switch t.kind {
		case whole, joined:
			weight := int64(asWhole)
			if t.kind == joined {
				weight = asJoined
			}
			wholes = append(wholes, compoundOf{string(t.text), len(words) - t.parts, len(words), weight})
		default:
			words = append(words, spoken{string(t.text), t.kind, t.off, t.end, -1, false})
		}
		return true
	}}
	sc.scan(text)
	plain := len(words)
	sc.dates(text)
	dates := words[plain:min(len(words), plain+maxDates)]
	useful := len(words) > plain
	for i := range words[:plain] {
		w := &words[i]
		// A date says better what its own words say.
		w.empty = w.kind == faint || w.kind == word && stopWord([]byte(w.text)) ||
			slices.ContainsFunc(dates, func(d spoken) bool { return w.off >= d.off && w.off < d.end })
		useful = useful || !w.empty
	}
	for i := range words {
		words[i].empty = words[i].empty && useful
	}
	return words, wholes
}

// unit gives the place of a word's unit, making one, or -1 when there are too
// many.
func (q *query) unit(w *spoken) int {
	term := termOf(token{text: []byte(w.text), kind: w.kind})
	if i, ok := q.byTerm[string(term)]; ok {
		return i
	}
	i := len(q.units)
	if i == maxUnits {
		return -1
	}
	df := 0
	id, ok := q.x.terms[string(term)]
	if ok {
		df = q.x.lists[id].df
	}
	u := unit{string(term), idf(q.x.live, df), idf(max(q.x.live, coverageDocs), df)}
	q.byTerm[u.term] = i
	q.units = append(q.units, u)
	if df > 0 {
		p := probe{term: id, df: df, weight: asUnit, idf: u.idf}
		if w.kind == date {
			p.weight = asDate
		}
		p.units.add(i)
		q.probes = append(q.probes, p)
		q.seen[id] = true
	}
	return i
}

// join adds the joined form of several words, where the index has it and the query
// does not already ask for it. It stands for the units of its words.
func (q *query) join(text string, words []spoken, weight int64) {
	term := termOf(token{text: []byte(text), kind: whole})
	id, ok := q.x.terms[string(term)]
	if !ok || q.x.lists[id].df == 0 || q.seen[id] {
		return
	}
	p := probe{term: id, df: q.x.lists[id].df, weight: weight}
	p.idf = idf(q.x.live, p.df)
	for _, w := range words {
		if w.unit >= 0 {
			p.units.add(w.unit)
			if _, ok := q.byJoin[string(term)]; !ok {
				q.byJoin[string(term)] = w.unit
			}
		}
	}
	q.probes = append(q.probes, p)
	q.seen[id] = true
}

// adjacent tries each two to maxAdjacent words in a row as one identifier.
func (q *query) adjacent(words []spoken) {
	for i := range words {
		text := ""
		for j := i; j < min(i+maxAdjacent, len(words)) && words[j].kind == word; j++ {
			if j > i && words[j].off-words[j-1].end > 1 {
				break
			}
			text += words[j].text
			if j > i && len(text) <= maxTerm {
				q.join(text, words[i:j+1], asAdjacent)
			}
		}
	}
}

// scratch is what a search needs per document; kept between searches.
type scratch struct {
	score   []int64
	covered []int64
	units   []mask
	touched []uint32
}

func (x *Index) borrow() *scratch {
	s, _ := x.scratch.Get().(*scratch)
	if s == nil {
		s = &scratch{}
	}
	if n := len(x.slots); len(s.score) < n {
		n += n / 4
		*s = scratch{make([]int64, n), make([]int64, n), make([]mask, n), s.touched}
	}
	return s
}

func (x *Index) giveBack(s *scratch) {
	for _, at := range s.touched {
		s.score[at], s.covered[at], s.units[at] = 0, 0, mask{}
	}
	s.touched = s.touched[:0]
	x.scratch.Put(s)
}

// Search returns the best documents for a query, at most max (and [MaxHits]), best
// first. A query without a word, or without a document that covers enough of it,
// has no hits. Nothing is kept of the query.
func (x *Index) Search(query string, max int) []Hit {
	limit := min(max, MaxHits)
	if limit <= 0 || x.live == 0 {
		return nil
	}
	q := x.parse(query)
	if len(q.probes) == 0 {
		return nil
	}
	s := x.borrow()
	defer x.giveBack(s)
	q.accumulate(s)
	best := q.best(s, limit)
	if len(best) == 0 {
		return nil
	}
	hits := make([]Hit, len(best))
	for i, at := range best {
		d := &x.slots[at].doc
		off, n := q.window(d.Body)
		hits[i] = Hit{d.ID, s.score[at], off, n}
	}
	return hits
}

// accumulate adds up scores and coverage, rarest term first.
func (q *query) accumulate(s *scratch) {
	slices.SortStableFunc(q.probes, func(a, b probe) int { return cmp.Compare(a.df, b.df) })
	n, left := int64(q.x.live), maxPostings
	for i := range q.probes {
		p := &q.probes[i]
		posts := q.x.lists[p.term].posts
		if left -= p.df; left < 0 && i > 0 {
			break
		}
		for _, post := range posts {
			d := &q.x.slots[post.slot]
			if !d.live {
				continue
			}
			if s.score[post.slot] == 0 {
				s.touched = append(s.touched, post.slot)
			}
			// At least 1, so that a score of 0 means untouched.
			g := gain(p.idf, int64(post.tf), damp(d.length, n, q.x.total))
			s.score[post.slot] += max(1, g*p.weight/10)
			q.cover(s, post.slot, &p.units)
		}
	}
}

// cover adds the units that a document did not have yet.
func (q *query) cover(s *scratch, at uint32, units *mask) {
	have := &s.units[at]
	for w, set := range units {
		for news := set &^ have[w]; news != 0; news &= news - 1 {
			s.covered[at] += q.units[w*64+bits.TrailingZeros64(news)].weight
		}
		have[w] |= set
	}
}

// best selects the slots of the hits in order, at most limit.
func (q *query) best(s *scratch, limit int) []uint32 {
	var top int64
	for _, at := range s.touched {
		top = max(top, s.covered[at])
	}
	if top*100 < q.total*coverageFloor {
		return nil
	}
	x := q.x
	order := func(a, b uint32) int {
		if c := cmp.Compare(s.score[b], s.score[a]); c != 0 {
			return c
		}
		return cmp.Compare(x.slots[a].doc.ID, x.slots[b].doc.ID)
	}
	var best []uint32
	for _, at := range s.touched {
		if s.covered[at]*100 < q.total*hitFloor {
			continue
		}
		if len(best) == limit {
			if order(at, best[limit-1]) > 0 {
				continue
			}
			best = best[:limit-1]
		}
		i, _ := slices.BinarySearchFunc(best, at, order)
		best = slices.Insert(best, i, at)
	}
	return best
}
