package lexical

import (
	"cmp"
	"encoding/binary"
	"slices"
	"strings"
)

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
	score int64 // BM25F alone, then all of Parts
	parts Parts
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
	score   []int64  // by slot
	with    []uint64 // by slot: the first units that it has, and rest
	touched []uint32 // slots with a score
	table   saturations
	chosen  []candidate
	best    []ranked
	first   []int64  // the best final scores so far
	mark    []uint16 // by term: its unit + 1, or its joined probe + 1 + maxUnits
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
	if n := len(x.slots); len(s.score) < n {
		s.score, s.with = make([]int64, n+n/4), make([]uint64, n+n/4)
	}
	if n := x.dict.len(); len(s.mark) < n {
		s.mark = make([]uint16, n+n/4)
	}
	s.drops = Drops{}
	return s
}

func (x *Index) giveBack(s *search) {
	for _, at := range s.touched {
		s.score[at], s.with[at] = 0, 0
	}
	s.touched = s.touched[:0]
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
	s.accumulate()
	s.choose()
	s.look(limit, q.Day)
	if s.floor(); len(s.best) == 0 {
		return nil, s.drops
	}
	s.drops.Ranked += max(0, len(s.best)-limit)
	hits := make([]Hit, min(limit, len(s.best)))
	for i := range hits {
		b := &s.best[i]
		hits[i] = Hit{x.slots[b.slot].id, b.score, b.parts}
	}
	return hits, s.drops
}

// accumulate adds up what the terms are worth in each document: the sum of
// idf * tf(k1+1)/(tf+damp), which no order of terms or documents changes.
func (s *search) accumulate() {
	x := s.x
	s.table.prepare(int64(x.live), x.total)
	var one [16]byte
	for i := range s.probes {
		p := &s.probes[i]
		l := &x.lists[p.term]
		if l.rest < many {
			b := binary.AppendUvarint(one[:0], uint64(l.last))
			s.credit(p, binary.AppendUvarint(b, uint64(l.rest)))
		} else {
			s.credit(p, x.blocks[l.rest-many])
		}
	}
}

// credit adds what the postings of one probe are worth. It is where a search spends its
// time.
func (s *search) credit(p *probe, b []byte) {
	length, score, with := s.x.length, s.score, s.with
	worth, bit := p.idf*p.weight/asUnit, p.bit()
	at, step, tf := uint32(0), uint32(0), uint32(0)
	for i := 0; i < len(b); {
		step, i = uvarint(b, i)
		tf, i = uvarint(b, i)
		at += step
		words := length[at]
		if words == 0 {
			continue // removed
		}
		words--
		var sat int64
		if words < uint32(len(s.table.known[0])) && tf <= tabled*inBody && tf%inBody == 0 {
			sat = int64(s.table.known[tf/inBody][words])
		} else {
			sat = saturation(int64(tf), s.table.damp(words))
		}
		if score[at] == 0 {
			s.touched = append(s.touched, at)
		}
		// At least 1, so that a score of 0 means untouched.
		score[at] += max(1, worth*sat>>fracBits)
		with[at] |= bit
	}
}

// choose takes the MaxHits best.
func (s *search) choose() {
	s.chosen = s.chosen[:0]
	least := int64(0)
	for _, at := range s.touched {
		if s.score[at] < least {
			continue
		}
		if len(s.chosen) == 2*MaxHits { // a few sorts of many, and not one of each
			s.cut()
			least = s.chosen[MaxHits-1].score
		}
		s.chosen = append(s.chosen, candidate{s.score[at], at})
	}
	s.cut()
	s.best = s.best[:0]
	for _, c := range s.chosen {
		s.best = append(s.best, ranked{slot: c.slot, score: c.score})
	}
	s.drops.Ranked = len(s.touched) - len(s.best)
}

// cut leaves the MaxHits best of the chosen.
func (s *search) cut() {
	slices.SortFunc(s.chosen, func(a, b candidate) int {
		if a.score != b.score {
			return cmp.Compare(b.score, a.score)
		}
		return strings.Compare(s.x.slots[a.slot].id, s.x.slots[b.slot].id)
	})
	s.chosen = s.chosen[:min(len(s.chosen), MaxHits)]
}

// sort orders the best by all that is known.
func (s *search) sort() {
	slices.SortFunc(s.best, func(a, b ranked) int {
		if a.score != b.score {
			return cmp.Compare(b.score, a.score)
		}
		return strings.Compare(s.x.slots[a.slot].id, s.x.slots[b.slot].id)
	})
}
