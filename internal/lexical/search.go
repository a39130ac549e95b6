package lexical

// MaxHits is the most hits that a search returns: as many as are looked at closely.
const MaxHits = 64

// Query is what a search looks for.
type Query struct {
	Text string // words, identifiers, dates
	Max  int    // hits; more than MaxHits are MaxHits
	Day  int32  // today, in days since 1970-01-01 UTC; 0: the age of a document is no matter
}

// Hit is one document that a search found.
type Hit struct {
	ID    string
	Score int64 // 1e-6; comparable within one search only
	Parts Parts
	Sum   [32]byte // of the Doc
}

// Parts is what a score is the sum of, each with its weight, in 1e-6.
type Parts struct {
	Terms    int64 // BM25F, over the idf of all units
	Window   int64 // the idf of the units in the best stretch of words, or of the best unit alone
	Pairs    int64 // that of neighbours in the query which are neighbours here
	Exact    int64 // that of identifiers which are written as one
	Recency  int64
	Coverage int64 // not in the sum: what is found of what is asked
}

// Drops counts what a search left out, by reason.
type Drops struct {
	Empty    bool // the query has no word
	Terms    int  // words of a query that is too long
	Postings int  // common terms, so that the work stays bounded
	Below    int  // documents that have a word of the query and do not cover enough of it
	Ranked   int  // documents that would be hits, were more asked for
}

// candidate is a document and its BM25F.
type candidate struct {
	score int64
	slot  uint32
}

// ranked is one of the best.
type ranked struct {
	slot  uint32
	doc   *slot
	score int64  // BM25F alone, then all of Parts
	have  mask   // the units that it has
	with  uint64 // the probes, as in tally
	own   int    // how many of them have a place of their own: at most so many
	parts Parts
}

// turn is when one of the best is looked at: those with the greatest scores that they can
// have, wherever their words are, come first.
type turn struct {
	most int64
	best int
}

// search is a query taken apart against one index, and what finding its hits needs.
// It has so many fields because it is kept and used again: a search allocates nothing
// but its hits.
type search struct {
	x       *Index
	scanner scanner
	drops   Drops

	// The query.
	text   []byte // of words and terms, end to end
	words  []spoken
	wholes []compound
	units  []unit
	probes []probe
	pairs  []pair
	total  int64 // weight of all units
	sum    int64 // idf of all units

	// The documents.
	tally   []tally  // by slot
	seen    []uint64 // by slot, a bit each: those with a tally
	crowds  int      // how many probes have crowds; they are the last
	most    int64    // no score is greater
	table   saturations
	count   [512]uint32 // of scores, see rung
	shift   int
	chosen  []candidate
	best    []ranked
	turns   []turn
	first   []int    // those with the best final scores so far
	mark    []uint16 // by term: its unit + 1, or its joined probe + 1 + maxUnits
	needles []needle // by probe
	met     []place  // of the document at hand
	placed  [maxUnits]struct {
		last uint32 // a unit's last place in the document at hand, from 1
		in   uint32 // how often it is in the stretch at hand
		pair int    // the last pair whose second it is; -1: none
	}
}

// maxFree is how many searches at once find one to use again.
const maxFree = 4

func (x *Index) borrow() *search {
	x.mu.Lock()
	var s *search
	if n := len(x.free); n > 0 {
		s, x.free = x.free[n-1], x.free[:n-1]
	}
	x.mu.Unlock()
	if s == nil {
		s = &search{x: x}
		s.scanner.emit = s.hear
	}
	if n := len(x.length); len(s.tally) < n {
		words := (n + n/4 + 63) / 64
		s.tally, s.seen = make([]tally, 64*words), make([]uint64, words)
	}
	if n := x.dict.len(); len(s.mark) < n {
		s.mark = make([]uint16, n+n/4)
	}
	s.drops = Drops{}
	return s
}

func (x *Index) giveBack(s *search) {
	s.forget()
	x.mu.Lock()
	defer x.mu.Unlock()
	if len(x.free) < maxFree {
		x.free = append(x.free, s)
	}
}

// Search returns the best documents for a query, best first. A query without a word,
// or without a document that covers enough of it, has no hits. Nothing is kept of the
// query.
func (x *Index) Search(q Query) ([]Hit, Drops) {
	limit := min(q.Max, MaxHits)
	if limit <= 0 || x.live == 0 {
		return nil, Drops{}
	}
	s := x.borrow()
	defer x.giveBack(s)
	s.parse(q.Text)
	s.drops.Empty = len(s.units) == 0
	s.afford()
	if !s.readLists() {
		return nil, s.drops
	}
	s.accumulate()
	if s.choose(); !s.readDocs() {
		return nil, s.drops
	}
	if s.floor(); len(s.best) == 0 {
		return nil, s.drops
	}
	s.look(limit, q.Day)
	s.drops.Ranked += len(s.best) - len(s.first)
	hits := make([]Hit, len(s.first))
	for i, at := range s.first {
		b := &s.best[at]
		hits[i] = Hit{b.doc.id, b.score, b.parts, b.doc.sum}
	}
	return hits, s.drops
}
