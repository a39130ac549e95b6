package lexical

import (
	"cmp"
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

// look reads the best documents once more, in the order of their words. What can not
// come among the first limit, whatever its words' places, is left as it is, behind them.
func (s *search) look(limit int, day int32) {
	for i := range s.units {
		if t := s.units[i].term; t >= 0 {
			s.mark[t] = uint16(i) + 1
		}
	}
	for i := range s.probes {
		if p := &s.probes[i]; p.joined {
			s.mark[p.term] = uint16(i) + 1 + maxUnits
		}
	}
	s.first = s.first[:0]
	for i := range s.best {
		r := &s.best[i]
		s.closely(r, limit, day)
		at, _ := slices.BinarySearchFunc(s.first, r.score, func(a, b int64) int { return cmp.Compare(b, a) })
		if at < limit {
			s.first = slices.Insert(s.first, at, r.score)
			s.first = s.first[:min(len(s.first), limit)]
		}
	}
	for i := range s.units {
		if t := s.units[i].term; t >= 0 {
			s.mark[t] = 0
		}
	}
	for i := range s.probes {
		s.mark[s.probes[i].term] = 0
	}
	s.sort()
}

// share is v over the idf of all units, in 1e-6, at a weight in thousandths.
func (s *search) share(v, weight int64) int64 { return v * 1000 / max(1, s.sum) * weight }

// closely scores one document anew. Where BM25F met one unit alone, there is nothing to
// look for; where what it met could not lift the document among the first, no need to.
func (s *search) closely(r *ranked, limit int, day int32) {
	with := s.with[r.slot]
	have, exact := mask{with &^ rest}, mask{}
	r.parts = Parts{Terms: s.share(r.score, 1000)}
	if day > 0 {
		r.parts.Recency = recency(day, s.x.slots[r.slot].day) * ofRecency / 1000
	}
	best, all, pairs := int64(0), int64(0), int64(0)
	if with&rest == 0 {
		for set := with; set != 0; set &= set - 1 {
			u := &s.units[bits.TrailingZeros64(set)]
			best, all = max(best, u.idf), all+u.idf
			r.parts.Coverage += u.weight
		}
		for i := range s.pairs {
			if p := &s.pairs[i]; with>>min(p.a, 63)&1 != 0 && with>>min(p.b, 63)&1 != 0 {
				pairs += p.weight
			}
		}
		most := r.parts.Terms + r.parts.Recency + s.share(all, ofWindow) + s.share(pairs, ofPairs)
		if len(s.first) == limit && most < s.first[limit-1] {
			r.score = 0 // behind all that were looked at
			return
		}
	}
	if pairs = 0; with&rest != 0 || with&(with-1) != 0 {
		have, exact = s.places(&s.x.slots[r.slot])
		r.parts.Coverage = s.worth(&have, func(u *unit) int64 { return u.weight })
		best, pairs = s.together()
		best = max(best, s.alone(&have))
	}
	r.parts.Window, r.parts.Pairs = s.share(best, ofWindow), s.share(pairs, ofPairs)
	r.parts.Exact = s.share(s.worth(&exact, func(u *unit) int64 { return u.idf }), ofExact)
	r.score = r.parts.Terms + r.parts.Window + r.parts.Pairs + r.parts.Exact + r.parts.Recency
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

// worth adds up a measure of the units of a set.
func (s *search) worth(m *mask, of func(*unit) int64) (sum int64) {
	for i, set := range m {
		for ; set != 0; set &= set - 1 {
			sum += of(&s.units[i*64+bits.TrailingZeros64(set)])
		}
	}
	return sum
}

// floor drops what covers too little of the query, and turns coverage into a share.
func (s *search) floor() {
	var top int64
	for i := range s.best {
		top = max(top, s.best[i].parts.Coverage)
	}
	n := len(s.best)
	if top*100 < s.total*coverageFloor {
		s.best = s.best[:0]
	}
	s.best = slices.DeleteFunc(s.best, func(r ranked) bool { return r.parts.Coverage*100 < s.total*hitFloor })
	for i := range s.best {
		p := &s.best[i].parts
		p.Coverage = min(1_000_000, p.Coverage*1_000_000/max(1, s.total))
	}
	s.drops.Below = n - len(s.best)
	if len(s.best) == 0 {
		s.drops.Below, s.drops.Ranked = s.drops.Below+s.drops.Ranked, 0 // what ranks lower covers no more
	}
}
