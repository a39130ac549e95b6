package lexical

import (
	"cmp"
	"encoding/binary"
	"math/bits"
	"slices"
	"strings"
)

// This file finds the MaxHits documents with the best BM25F, and how many documents have
// a word of the query at all. The lists of rare terms are read whole. Those of crowds
// follow, the weightiest first, until what the rest of them could give to a document
// together is less than what MaxHits documents already have (MaxScore; Turtle and Flood
// 1995). From there on no other document can come among the best, and the rest is looked
// up for those that still can. The scores are the same as if all had been read, and so
// are the counts.

// tally is what a document has of a query so far.
type tally struct {
	score int64
	with  uint64 // the probes that it has, but those of crowds; see probe bits
}

// accumulate adds up what the terms are worth in each document: the sum of
// idf * tf(k1+1)/(tf+damp), which no order of terms or documents changes. It leaves in
// s.chosen every document that can be among the best, with its whole score, and gives the
// number of lists that were not read.
func (s *search) accumulate() int {
	s.table.prepare(int64(s.x.live), s.x.total)
	s.order()
	n := len(s.probes) - s.crowds
	var read, left int64 // the most that those lists give which are read, and which are not
	for i := range s.probes {
		p := &s.probes[i]
		if i < n {
			s.credit(p, probeBit(i))
			read += p.most
		} else {
			left += p.most
		}
	}
	bar, reach := int64(0), read // the bar as far as is known, and the greatest that it can be
	for ; n < len(s.probes); n++ {
		p := &s.probes[n]
		if left < reach {
			bar = s.bar()
			if left < bar {
				break
			}
			reach = bar + 1<<s.shift
		}
		s.creditCrowd(p)
		reach, left = reach+p.most, left-p.most
	}
	rest := s.probes[n:]
	if len(rest) == 0 {
		bar = s.bar()
	}
	s.chosen = s.chosen[:0]
	for w, set := range s.seen[:len(s.x.there)] {
		if bar > left && crowdedWord(set) { // then what is not seen stays below the bar
			for i := range s.tally[w*64:][:64] {
				if score := s.tally[w*64+i].score; score+left >= bar {
					s.chosen = append(s.chosen, candidate{score, uint32(w*64 + i)})
				}
			}
			continue
		}
		for ; set != 0; set &= set - 1 {
			at := w*64 + bits.TrailingZeros64(set)
			if score := s.tally[at].score; score+left >= bar {
				s.chosen = append(s.chosen, candidate{score, uint32(at)})
			}
		}
	}
	if len(rest) > 0 {
		bar = s.raise(rest, bar)
	}
	for i := range rest {
		s.lookUp(&rest[i], bar-left)
		left -= rest[i].most
	}
	s.drops.Ranked = s.union(rest)
	return len(rest)
}

// order puts the probes with crowds last, the weightiest of them first, and gives each
// probe the most that it can add to a score.
func (s *search) order() {
	s.crowds, s.most = 0, 0
	for i := range s.probes {
		p := &s.probes[i]
		most := uint32(maxTF / grain)
		if p.in.crowd != nil {
			s.crowds++
			most = uint32(p.in.crowd.most)
		}
		p.worth = p.idf * p.weight / asUnit
		p.most = max(1, p.worth*s.table.reckon(most, 0)>>fracBits)
		s.most += p.most
	}
	slices.SortStableFunc(s.probes, func(a, b probe) int {
		switch {
		case a.in.crowd == nil && b.in.crowd == nil:
			return 0
		case a.in.crowd == nil:
			return -1
		case b.in.crowd == nil:
			return 1
		}
		return cmp.Compare(b.most, a.most)
	})
	s.shift = max(0, bits.Len64(uint64(s.most))-bits.Len(uint(len(s.count)-1)))
}

// credit adds what the postings of one probe are worth.
func (s *search) credit(p *probe, bit uint64) {
	x := s.x
	var one [16]byte
	b := p.in.block
	if p.in.rest < many {
		b = binary.AppendUvarint(one[:0], uint64(p.in.last))
		b = binary.AppendUvarint(b, uint64(p.in.rest))
	}
	at, step, tf := uint32(0), uint32(0), uint32(0)
	for i := 0; i < len(b); {
		step, i = uvarint(b, i)
		tf, i = uvarint(b, i)
		at += step
		length := x.length[at]
		if length == 0 {
			continue // removed
		}
		sat := s.table.at(tf/grain, length-1)
		if sat == 0 {
			sat = s.table.reckon(tf/grain, length-1)
		}
		t := &s.tally[at]
		t.score += max(1, p.worth*sat>>fracBits)
		t.with |= bit
		s.seen[at/64] |= 1 << (at % 64)
	}
}

// creditCrowd is credit for a crowd.
func (s *search) creditCrowd(p *probe) {
	c := p.in.crowd
	k := 0
	for w, set := range c.has {
		s.seen[w] |= set & s.x.there[w]
		for ; set != 0; set &= set - 1 {
			at := w*64 + bits.TrailingZeros64(set)
			tf := uint32(c.tf[k])
			k++
			length := s.x.length[at]
			if length == 0 {
				continue // removed
			}
			sat := s.table.at(tf, length-1)
			if sat == 0 {
				sat = s.table.reckon(tf, length-1)
			}
			s.tally[at].score += max(1, p.worth*sat>>fracBits)
		}
	}
}

// lookUp adds what a crowd gives to the chosen, but for those below a bar, which go.
func (s *search) lookUp(p *probe, bar int64) {
	kept := s.chosen[:0]
	for _, d := range s.chosen {
		if d.score >= bar {
			d.score += s.gain(p, d.slot)
			kept = append(kept, d)
		}
	}
	s.chosen = kept
}

// raise gives a higher bar: what the chosen that reach it already come to with the rest.
func (s *search) raise(rest []probe, bar int64) int64 {
	s.count = [len(s.count)]uint32{}
	for _, d := range s.chosen {
		if d.score >= bar {
			for i := range rest {
				d.score += s.gain(&rest[i], d.slot)
			}
			s.count[d.score>>s.shift]++
		}
	}
	return max(bar, s.rung())
}

// gain is what a crowd gives to one document.
func (s *search) gain(p *probe, slot uint32) int64 {
	tf := p.in.crowd.find(slot)
	if tf == 0 {
		return 0
	}
	length := s.x.length[slot] - 1
	sat := s.table.at(tf, length)
	if sat == 0 {
		sat = s.table.reckon(tf, length)
	}
	return max(1, p.worth*sat>>fracBits)
}

// union is the number of documents with a tally or in one of the crowds.
func (s *search) union(rest []probe) (n int) {
	for w, set := range s.seen[:len(s.x.there)] {
		for i := range rest {
			if c := rest[i].in.crowd; w < len(c.has) {
				set |= c.has[w] & s.x.there[w]
			}
		}
		n += bits.OnesCount64(set)
	}
	return n
}

// bar is a score that MaxHits documents have or exceed, and not far below the best such;
// 0 when there are not so many.
func (s *search) bar() int64 {
	s.count = [len(s.count)]uint32{}
	shift := uint(s.shift) & 63
	for w, set := range s.seen[:len(s.x.there)] {
		tallies := s.tally[w*64:][:64]
		if crowdedWord(set) { // what is not seen is counted as 0, which changes nothing
			for i := range tallies {
				s.count[tallies[i].score>>shift&int64(len(s.count)-1)]++
			}
			continue
		}
		for ; set != 0; set &= set - 1 {
			s.count[tallies[bits.TrailingZeros64(set)].score>>shift]++
		}
	}
	return s.rung()
}

// crowdedWord reports whether so many of 64 documents are seen that looking at all of them
// is faster than finding those.
func crowdedWord(set uint64) bool { return bits.OnesCount64(set) > 24 }

// rung is the lower end of the range of scores, of those that s.count counts, in which
// the last of the MaxHits best is.
func (s *search) rung() int64 {
	n := uint32(0)
	for i := len(s.count) - 1; i >= 0; i-- {
		if n += s.count[i]; n >= MaxHits {
			return int64(i) << s.shift
		}
	}
	return 0
}

// choose takes the MaxHits best of the chosen. Only those of the last one's range need be
// put in order.
func (s *search) choose() {
	if len(s.chosen) > MaxHits {
		s.count = [len(s.count)]uint32{}
		for _, c := range s.chosen {
			s.count[c.score>>s.shift]++
		}
		from := s.rung()
		to := from + 1<<s.shift
		sure, close := 0, 0
		for i, c := range s.chosen {
			if c.score >= from {
				s.chosen[i], s.chosen[close] = s.chosen[close], c
				if c.score >= to {
					s.chosen[close], s.chosen[sure] = s.chosen[sure], c
					sure++
				}
				close++
			}
		}
		slices.SortFunc(s.chosen[sure:close], func(a, b candidate) int {
			if a.score != b.score {
				return cmp.Compare(b.score, a.score)
			}
			return strings.Compare(s.x.said(a.slot).id, s.x.said(b.slot).id)
		})
		s.chosen = s.chosen[:MaxHits]
	}
	s.drops.Ranked -= len(s.chosen)
}

// forget empties the tallies and takes back the marks.
func (s *search) forget() {
	for i := range s.probes {
		s.mark[s.probes[i].term] = 0
	}
	for w, set := range s.seen {
		if crowdedWord(set) {
			clear(s.tally[w*64:][:64])
		} else {
			for ; set != 0; set &= set - 1 {
				s.tally[w*64+bits.TrailingZeros64(set)] = tally{}
			}
		}
		s.seen[w] = 0
	}
}
