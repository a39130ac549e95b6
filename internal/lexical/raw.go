package lexical

import (
	"encoding/binary"
	"math"
	"sync/atomic"
)

// raw says of a decoded index what nobody has looked at yet. To check every list and
// every document would take longer than all the rest of reading a cache, and a search
// needs a few of them: so each is checked when it is first used. What does not hold, in
// bytes with a right checksum, was forged: then the index is broken as a whole.
type raw struct{ lists, slots marks }

// marks is a set of numbers that only shrinks. Any number of searches may use it at once.
type marks []atomic.Uint64

// all gives the set of the numbers below n.
func all(n int) marks {
	m := make(marks, (n+63)/64)
	for i := range m {
		m[i].Store(math.MaxUint64)
	}
	return m
}

func (m marks) has(i uint32) bool { return i/64 < uint32(len(m)) && m[i/64].Load()>>(i%64)&1 != 0 }

func (m marks) drop(i uint32) { m[i/64].And(^(uint64(1) << (i % 64))) }

// Broken reports that the index was decoded from bytes that say what can not be. Its
// answers mean nothing then: it is to be built anew.
func (x *Index) Broken() bool { return x.broken.Load() }

// list reports whether a list can be read.
func (x *Index) list(term uint32) bool {
	if !x.raw.lists.has(term) {
		return true
	}
	l := &x.lists[term]
	if l.rest >= many && l.rest < crowded && !l.holds(x.blocks[l.rest-many]) {
		x.broken.Store(true)
		return false
	}
	x.raw.lists.drop(term)
	return true
}

// slot reports whether the terms of a document can be read.
func (x *Index) slot(at uint32) bool {
	if !x.raw.slots.has(at) {
		return true
	}
	if !x.slots[at].sound(uint64(x.dict.len())) {
		x.broken.Store(true)
		return false
	}
	x.raw.slots.drop(at)
	return true
}

// readable reports whether all that a search is about to read can be: the lists of its
// probes, and the documents that were chosen.
func (s *search) readable() bool {
	ok := true
	for i := range s.probes {
		ok = ok && s.x.list(s.probes[i].term)
	}
	for _, c := range s.chosen {
		ok = ok && s.x.slot(c.slot)
	}
	return ok
}

// holds reports whether a block is the postings of a list, the slots ascending to last:
// df of them, and those of documents that were removed.
func (l *list) holds(block []byte) bool {
	at, n := uint64(0), uint32(0)
	for len(block) > 0 {
		step, k := binary.Uvarint(block)
		if k <= 0 || n > 0 && step == 0 || step > math.MaxUint32 {
			return false
		}
		tf, m := binary.Uvarint(block[k:])
		if m <= 0 || tf == 0 || tf > maxTF || tf%grain != 0 {
			return false
		}
		block = block[k+m:]
		if at += step; at > uint64(l.last) {
			return false
		}
		n++
	}
	return n > 0 && n >= l.df && at == uint64(l.last)
}

// sound reports whether a document's terms are so many as it says, and below a number.
func (s *slot) sound(terms uint64) bool {
	n, words := uint64(0), uint64(s.words())
	for b := s.terms; len(b) > 0; n++ {
		v, k := uint64(b[0]), 1
		if v >= 0x80 {
			v, k = binary.Uvarint(b)
		}
		if k <= 0 || k > 5 {
			return false
		}
		if n >= words {
			v >>= 1
		}
		if v >= terms {
			return false
		}
		b = b[k:]
	}
	return n == words+uint64(s.joined)+uint64(s.extra)
}
