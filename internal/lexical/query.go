package lexical

import (
	"bytes"
	"cmp"
	"math/bits"
	"slices"
)

// Limits of a query.
const (
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
	// that what is dropped beyond it are the commonest. A list counts whole, whether or
	// not a search needs to read all of it: what is dropped depends on the query and on
	// what is in the index, and on nothing else.
	maxPostings = 1 << 20
	// pairGap is how far apart two words of a query may stand, in words, to be looked
	// for beside each other, and pairSlack how much farther apart a document may have
	// them.
	pairGap, pairSlack = 4, 2
)

// Weights of a query's terms, in hundredths, from trials on open retrieval sets. All
// are flat optima: half or twice as much costs 0.002 nDCG or less.
const (
	asUnit     = 100
	asDate     = 300 // a day is what the question is about
	asWhole    = 300 // an identifier that the query writes as camelCase or snake_case
	asJoined   = 150 // the same with hyphens, dots or slashes, as prose has them too
	asAdjacent = 80  // words beside each other, tried as one; 120 would cost 0.025 on prose

	// repeats is k3 of BM25, in hundredths: a word that a query says n times weighs
	// n(k3+1)/(n+k3) times as much. It matters in dialogues, and nowhere else.
	repeats = 100
)

// unit is one thing that a query asks for.
type unit struct {
	from, to int   // of its term in search.text
	term     int64 // its number, or -1
	probe    int   // its probe, while the query is taken apart
	said     int64 // how often
	idf      int64
	weight   int64 // in coverage
	date     bool
}

// probe is one list to read: a unit's own, or that of a joined form.
type probe struct {
	term   uint32
	df     uint32
	joined bool
	weight int64 // in hundredths
	idf    int64
	units  mask // what finding it finds

	// While documents are scored; see order.
	in    postings
	worth int64 // idf by weight
	most  int64 // the most that it adds to a score
}

// rest stands, beside the first 63 probes, for whatever else a document has of a query.
const rest = 1 << 63

// probeBit is what a document has when it has a posting of a probe.
func probeBit(i int) uint64 { return 1 << min(i, 63) }

// mask is a set of units.
type mask [maxUnits / 64]uint64

func (m *mask) add(i int) { m[i/64] |= 1 << (i % 64) }

func (m *mask) has(i int) bool { return m[i/64]>>(i%64)&1 != 0 }

func (m *mask) join(o *mask) {
	for i := range m {
		m[i] |= o[i]
	}
}

// first is the least unit of a set, or -1.
func (m *mask) first() int {
	for i, set := range m {
		if set != 0 {
			return i*64 + bits.TrailingZeros64(set)
		}
	}
	return -1
}

// spoken is a word of the query as it stands.
type spoken struct {
	from, to int // of its folded form in search.text
	kind     kind
	off, end int  // of the query
	unit     int  // -1: none
	empty    bool // says nothing
}

// compound is a joined form in the query and the words that it is made of.
type compound struct {
	from, to     int // in search.text
	first, after int // words
	weight       int64
}

// pair is two units beside each other in the query.
type pair struct {
	a, b   int
	reach  uint32 // the most words from a to b in a document
	weight int64
	next   int // the pair before with the same b; -1: none
	seen   bool
}

// parse takes a query apart.
func (s *search) parse(text string) {
	if len(text) > maxQueryBytes {
		s.drops.Terms++ // at least one
		text = text[:maxQueryBytes]
	}
	s.text, s.total, s.sum = s.text[:0], 0, 0
	s.words, s.wholes, s.units, s.probes, s.pairs = s.words[:0], s.wholes[:0], s.units[:0], s.probes[:0], s.pairs[:0]
	s.speak(text)
	for i := range s.words {
		if !s.words[i].empty {
			s.words[i].unit = s.unit(&s.words[i])
		}
	}
	for i := range s.units {
		s.total += s.units[i].weight
		s.sum += s.units[i].idf
	}
	s.total = min(s.total, coverageUnits*root(idf(max(s.x.live, coverageDocs), 0)))
	for _, c := range s.wholes {
		s.join(s.text[c.from:c.to], s.words[c.first:c.after], c.weight)
	}
	s.adjacent()
	s.pair()
}

// hear is what the scanner gives the query's tokens to.
func (s *search) hear(t token) bool {
	from := len(s.text)
	s.text = append(s.text, t.text...)
	switch t.kind {
	case whole, joined:
		weight := int64(asWhole)
		if t.kind == joined {
			weight = asJoined
		}
		s.wholes = append(s.wholes, compound{from, len(s.text), len(s.words) - t.parts, len(s.words), weight})
	default:
		s.words = append(s.words, spoken{from, len(s.text), t.kind, t.off, t.end, -1, false})
	}
	return true
}

// speak gives the words of a query in order, dates last, and its joined forms.
// Words that say nothing are marked empty, unless all do.
func (s *search) speak(text string) {
	s.scanner.scan(text)
	plain := len(s.words)
	s.scanner.dates(text)
	dates := s.words[plain:min(len(s.words), plain+maxDates)]
	useful := len(s.words) > plain
	for i := range s.words[:plain] {
		w := &s.words[i]
		w.empty = w.kind == faint || w.kind == word && stopWord(s.text[w.from:w.to])
		for _, d := range dates {
			// A date says better what its own words say.
			w.empty = w.empty || w.off >= d.off && w.off < d.end
		}
		useful = useful || !w.empty
	}
	for i := range s.words {
		s.words[i].empty = s.words[i].empty && useful
	}
}

// unit gives the place of a word's unit, making one, or -1 when there are too
// many.
func (s *search) unit(w *spoken) int {
	from := len(s.text)
	s.text = append(s.text, s.text[w.from:w.to]...)
	term := termOf(token{text: s.text[from:], kind: w.kind})
	s.text = append(s.text[:from], term...) // the stemmer may have cut at the front
	term = s.text[from:]
	for i := range s.units {
		if u := &s.units[i]; bytes.Equal(s.text[u.from:u.to], term) {
			s.text = s.text[:from]
			u.said++
			if u.probe >= 0 && !u.date {
				s.probes[u.probe].weight = asUnit * (100 + repeats) * u.said / (repeats + 100*u.said)
			}
			return i
		}
	}
	i := len(s.units)
	if i == maxUnits {
		s.text = s.text[:from]
		s.drops.Terms++
		return -1
	}
	u := unit{from: from, to: len(s.text), term: -1, probe: -1, said: 1, date: w.kind == date}
	df := uint32(0)
	if id, n := s.x.find(term); n > 0 {
		df, u.term, u.probe = n, int64(id), len(s.probes)
	}
	u.idf = idf(s.x.live, int(df))
	if u.weight = root(u.idf); s.x.live < coverageDocs {
		u.weight = root(idf(coverageDocs, int(df)))
	}
	if u.term >= 0 {
		p := probe{term: uint32(u.term), df: df, weight: asUnit, idf: u.idf}
		if u.date {
			p.weight = asDate
			u.weight = u.weight * asDate / asUnit
		}
		p.units.add(i)
		s.probes = append(s.probes, p)
	}
	s.units = append(s.units, u)
	return i
}

// join adds the joined form of several words, where the index has it and the query
// does not already ask for it. It stands for the units of its words.
func (s *search) join(text []byte, words []spoken, weight int64) {
	from := len(s.text)
	s.text = append(s.text, text...)
	id, df := s.x.find(termOf(token{text: s.text[from:], kind: whole}))
	s.text = s.text[:from]
	if df == 0 {
		return
	}
	for i := range s.probes {
		if s.probes[i].term == id {
			return
		}
	}
	p := probe{term: id, df: df, weight: weight, joined: true}
	p.idf = idf(s.x.live, int(p.df))
	for _, w := range words {
		if w.unit >= 0 {
			p.units.add(w.unit)
		}
	}
	s.probes = append(s.probes, p)
}

// adjacent tries each two to maxAdjacent words in a row as one identifier.
func (s *search) adjacent() {
	words := s.words[:min(len(s.words), maxUnits)]
	var text [maxTerm]byte
	for i := range words {
		n := 0
		for j := i; j < min(i+maxAdjacent, len(words)) && words[j].kind == word; j++ {
			w := s.text[words[j].from:words[j].to]
			if n+len(w) > maxTerm || j > i && words[j].off-words[j-1].end > 1 {
				break
			}
			n += copy(text[n:], w)
			if j > i {
				s.join(text[:n], words[i:j+1], asAdjacent)
			}
		}
	}
}

// pair notes which known units stand beside each other, words that say nothing left
// out.
func (s *search) pair() {
	for i := range s.units {
		s.placed[i].pair = -1
	}
	before := -1
	for i := range s.words {
		w := &s.words[i]
		if w.unit < 0 || w.kind == date {
			continue
		}
		if before >= 0 && i-before <= pairGap {
			a, b := s.words[before].unit, w.unit
			if a != b && s.units[a].term >= 0 && s.units[b].term >= 0 {
				weight := (s.units[a].idf + s.units[b].idf) / 2
				s.pairs = append(s.pairs, pair{a, b, uint32(i - before + pairSlack), weight, s.placed[b].pair, false})
				s.placed[b].pair = len(s.pairs) - 1
			}
		}
		before = i
	}
}

// afford drops the commonest terms of a query that would read too many postings.
func (s *search) afford() {
	sum := 0
	for i := range s.probes {
		sum += int(s.probes[i].df)
	}
	if sum <= maxPostings {
		return
	}
	slices.SortStableFunc(s.probes, func(a, b probe) int { return cmp.Compare(a.df, b.df) })
	left := maxPostings
	for i := range s.probes {
		if left -= int(s.probes[i].df); left < 0 && i > 0 {
			s.drops.Postings += len(s.probes) - i
			s.probes = s.probes[:i]
			return
		}
	}
}
