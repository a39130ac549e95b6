package lexical

import (
	"math/bits"
	"slices"
)

// What it takes to be a hit.
const (
	// coverageFloor is the least coverage, in hundredths, of the document that covers
	// a query best; below it there are no hits at all. It is reckoned over the roots of
	// idf: with idf itself, one rare word that no document has outweighs two that one
	// has. What it costs where there is an answer: examples/recall-eval over ten open
	// sets (-cases) leaves 26 of 5995 queries without hits, 0 with a floor of 0, and
	// the mean R@10 is 0.801 instead of 0.802. What it saves is not measured there: every
	// query of those sets has an answer.
	coverageFloor = 25
	// hitFloor is the least coverage of each hit, in hundredths: a fifth of the
	// other. It drops what shares one common word. On the same sets it costs 0.003 R@10
	// in one, none in nine.
	hitFloor = 5
	// coverageUnits is the most that coverage asks of a long query, in units that no
	// document has: of several turns of dialogue, a short memory can only answer a
	// part. Without it, no dialogue finds anything.
	coverageUnits = 4
	// coverageDocs is the least number of documents that coverage reckons with. In a
	// room of three memories every known term would else weigh next to nothing
	// against an unknown one.
	coverageDocs = 30
)

// Weights of the features beside BM25F, in thousandths, each of what the units of a
// query are worth together. With one of the first three at 0.4 or 0.6, none of the ten
// sets named at coverageFloor moves by more than 0.003 nDCG@10.
const (
	ofWindow  = 500
	ofPairs   = 500
	ofExact   = 500
	ofRecency = 20 // settles near ties, no more

	// stretch is the length of the window, in words.
	stretch = 48
)

// place is where a document has a unit.
type place struct {
	at   uint32 // its word, from 1
	unit uint16
}

// floor makes the chosen the best, but those that cover too little of the query, and
// there are none when not even one covers enough.
func (s *search) floor() {
	s.ask()
	s.best = slices.Grow(s.best[:0], MaxHits)
	var top int64
	for _, c := range s.chosen {
		s.best = append(s.best, ranked{slot: c.slot, doc: s.x.slot(c.slot), score: c.score})
		r := &s.best[len(s.best)-1]
		s.find(r)
		top = max(top, r.parts.Coverage)
		if r.parts.Coverage*100 < s.total*hitFloor {
			s.best = s.best[:len(s.best)-1]
		}
	}
	if top*100 < s.total*coverageFloor {
		s.best = s.best[:0]
	}
	s.drops.Below = len(s.chosen) - len(s.best)
	if len(s.best) == 0 {
		s.drops.Below, s.drops.Ranked = s.drops.Below+s.drops.Ranked, 0 // what ranks lower covers no more
	}
}

// find gives a document what it has of the query, wherever it has it.
func (s *search) find(r *ranked) {
	with := s.tally[r.slot].with
	for i := len(s.probes) - s.crowds; i < len(s.probes); i++ {
		if s.probes[i].in.crowd.find(r.slot) > 0 {
			with |= probeBit(i)
		}
	}
	r.with = with
	var exact mask
	if with&rest != 0 {
		r.have, exact = s.places(r.doc)
		r.own = 2
	} else {
		for set := with; set != 0; set &= set - 1 {
			p := &s.probes[bits.TrailingZeros64(set)]
			r.have.join(&p.units)
			if p.joined {
				exact.join(&p.units)
			} else {
				r.own++
			}
		}
	}
	for i, set := range r.have {
		for ; set != 0; set &= set - 1 {
			r.parts.Coverage += s.units[i*64+bits.TrailingZeros64(set)].weight
		}
	}
	r.parts.Terms, r.parts.Exact = s.share(r.score, 1000), s.share(s.idf(&exact), ofExact)
}

// look reads the best documents once more, in the order of their words, and leaves in
// s.first which of them come first. What cannot, whatever its words' places, is not read.
func (s *search) look(limit int, day int32) {
	s.turns, s.first = s.turns[:0], s.first[:0]
	for i := range s.best {
		r := &s.best[i]
		if day > 0 {
			r.parts.Recency = recency(day, r.doc.day) * ofRecency / 1000
		}
		most := r.parts.Terms + r.parts.Exact + r.parts.Recency + s.share(s.idf(&r.have), ofWindow)
		if r.own > 1 {
			pairs := int64(0)
			for j := range s.pairs {
				if p := &s.pairs[j]; r.have.has(p.a) && r.have.has(p.b) {
					pairs += p.weight
				}
			}
			most += s.share(pairs, ofPairs)
		}
		s.turns = append(s.turns, turn{most, i})
	}
	for left := s.turns; len(left) > 0; left = left[:len(left)-1] {
		// Most are never looked at, so they are not put in order.
		k := 0
		for j := range left {
			if left[j].most > left[k].most {
				k = j
			}
		}
		next := left[k]
		left[k] = left[len(left)-1]
		i, r := next.best, &s.best[next.best]
		if len(s.first) == limit {
			if next.most < s.best[s.first[limit-1]].score {
				break // as are all that follow
			}
			s.closely(r)
			if s.ahead(s.first[limit-1], i) {
				continue
			}
			s.first = s.first[:limit-1]
		} else {
			s.closely(r)
		}
		at := len(s.first)
		for at > 0 && s.ahead(i, s.first[at-1]) {
			at--
		}
		s.first = slices.Insert(s.first, at, i)
	}
	for _, i := range s.first {
		c := &s.best[i].parts.Coverage
		*c = min(1_000_000, *c*1_000_000/max(1, s.total))
	}
}

// ahead reports whether one of the best stands before another.
func (s *search) ahead(i, j int) bool {
	a, b := &s.best[i], &s.best[j]
	return a.score > b.score || a.score == b.score && a.doc.id < b.doc.id
}

// share is v over the idf of all units, in 1e-6, at a weight in thousandths.
func (s *search) share(v, weight int64) int64 { return v * 1000 / max(1, s.sum) * weight }

// closely gives a document its whole score.
func (s *search) closely(r *ranked) {
	best, pairs := int64(0), int64(0)
	if r.own > 1 {
		if r.own > maxNeedles || r.with&rest != 0 {
			s.places(r.doc)
		} else {
			s.spots(r.doc, r.with)
		}
		best, pairs = s.together()
	}
	best = max(best, s.alone(&r.have))
	r.parts.Window, r.parts.Pairs = s.share(best, ofWindow), s.share(pairs, ofPairs)
	r.score = r.parts.Terms + r.parts.Window + r.parts.Pairs + r.parts.Exact + r.parts.Recency
}

// idf is that of the units of a set together.
func (s *search) idf(m *mask) (sum int64) {
	for i, set := range m {
		for ; set != 0; set &= set - 1 {
			sum += s.units[i*64+bits.TrailingZeros64(set)].idf
		}
	}
	return sum
}

// alone is the idf of the best unit by itself: one that stands in a joined form only has
// no place.
func (s *search) alone(m *mask) (best int64) {
	for i, set := range m {
		for ; set != 0; set &= set - 1 {
			best = max(best, s.units[i*64+bits.TrailingZeros64(set)].idf)
		}
	}
	return best
}

// ask marks the terms of the query, for places. Those whose lists were not read are not
// looked for.
func (s *search) ask() {
	s.needles = s.needles[:0]
	for i := range s.probes {
		p := &s.probes[i]
		u := uint16(p.units.first())
		if s.mark[p.term] = u + 1; p.joined {
			s.mark[p.term] = uint16(i) + 1 + maxUnits
		}
		s.needles = append(s.needles, needleOf(p.term, u))
	}
}

// together finds, among the places at hand, the best stretch and the pairs.
func (s *search) together() (best, pairs int64) {
	if len(s.met) == 0 {
		return 0, 0
	}
	for i := range s.units {
		s.placed[i].last, s.placed[i].in = 0, 0
	}
	for i := range s.pairs {
		s.pairs[i].seen = false
	}
	var here int64
	from := 0
	for _, m := range s.met {
		u := &s.placed[m.unit]
		for p := u.pair; p >= 0; p = s.pairs[p].next {
			pr := &s.pairs[p]
			if last := s.placed[pr.a].last; last > 0 && !pr.seen && m.at-last <= pr.reach {
				pr.seen = true
				pairs += pr.weight
			}
		}
		u.last = m.at
		if u.in++; u.in == 1 {
			here += s.units[m.unit].idf
		}
		for ; m.at-s.met[from].at >= stretch; from++ {
			out := s.met[from].unit
			if s.placed[out].in--; s.placed[out].in == 0 {
				here -= s.units[out].idf
			}
		}
		best = max(best, here)
	}
	return best, pairs
}

// spots is places for a document whose probes are few and known: it leaves in s.met where
// its units are.
func (s *search) spots(d *slot, with uint64) {
	var needles [maxNeedles]needle
	n := 0
	for set := with; set != 0; set &= set - 1 {
		if i := bits.TrailingZeros64(set); !s.probes[i].joined {
			needles[n] = s.needles[i]
			n++
		}
	}
	s.met = spot(s.met[:0], needles[:n], d.terms, d.words())
	for i := range s.met {
		if s.met[i].at++; s.met[i].at > d.title {
			s.met[i].at += titleGap
		}
	}
}

// places finds the units of a document: where, in s.met, which, and which of them in
// an identifier that the query asks for as a whole.
func (s *search) places(d *slot) (have, exact mask) {
	s.met = s.met[:0]
	words, gap := d.words(), uint32(1)
	v := uint32(0)
	for i, at := uint32(0), 0; at < len(d.terms); i++ {
		if v, at = uvarint(d.terms, at); i >= words {
			v >>= 1
		}
		m := s.mark[v]
		switch {
		case m == 0:
		case m > maxUnits:
			p := &s.probes[m-1-maxUnits]
			have.join(&p.units)
			exact.join(&p.units)
		default:
			have.add(int(m - 1))
			if i < words {
				if i >= d.title {
					gap = 1 + titleGap
				}
				s.met = append(s.met, place{i + gap, m - 1})
			}
		}
	}
	return have, exact
}
