package lexical

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"math"
	"slices"
	"sync"
	"sync/atomic"
)

// raw says of a decoded index what nobody has looked at yet. To read and to check every
// list and every document would take longer than all the rest of opening a cache, and a
// search needs a few of them: so each is read and checked when it is first used. What can
// not be read, has not its checksum or says what can not be breaks the index as a whole.
type raw struct {
	lists, slots marks
	sums         []byte // of the pages of data

	mu     sync.Mutex // guards what follows
	body   Body       // nil when all was read
	failed bool       // something could not be read
	data   []byte     // the body, page by page as it is read
	pages  []bool     // those that were read: they do not change any more
	crowds [][]byte   // of the data
	done   bool       // all was read, and all crowds were made
	turns  int        // how often something was read
}

// patience is how often a few pages are read before all the others are.
const patience = 32

func newRaw(sums []byte, size int, body Body) *raw {
	return &raw{sums: sums, body: body, data: make([]byte, size), pages: make([]bool, len(sums)/4)}
}

// run is consecutive pages, the last exclusive.
type run struct{ from, to int }

// unread appends those of some pages that were not read, and calls them read.
func (w *raw) unread(runs []run, from, to int) []run {
	for at := from; at < to; at++ {
		if w.pages[at] {
			continue
		}
		w.pages[at] = true
		if n := len(runs); n > 0 && runs[n-1].to == at {
			runs[n-1].to++
		} else {
			runs = append(runs, run{at, at + 1})
		}
	}
	return runs
}

// read reads parts of the data, or all of it where that pays, and reports whether they are
// there. w.mu is held. A part's capacity reaches to the end of the data and tells its place.
func (w *raw) read(parts ...[]byte) bool {
	if w.body == nil || w.failed {
		return !w.failed
	}
	var runs []run
	for _, part := range parts {
		if from := len(w.data) - cap(part); len(part) > 0 {
			runs = w.unread(runs, from/pageSize, (from+len(part)-1)/pageSize+1)
		}
	}
	if len(runs) == 0 {
		return true
	}
	if w.turns++; w.turns > patience {
		return w.readAll(runs)
	}
	w.failed = w.body(func(r io.ReaderAt) error { return w.fill(r, runs) }) != nil
	return !w.failed
}

// readAll reads some runs and all that was not read before. w.mu is held.
func (w *raw) readAll(runs []run) bool {
	if w.body == nil || w.failed {
		return !w.failed
	}
	runs = w.unread(runs, 0, len(w.pages))
	w.failed = w.body(func(r io.ReaderAt) error { return w.fill(r, runs) }) != nil
	w.body = nil
	return !w.failed
}

func (w *raw) fill(r io.ReaderAt, runs []run) error {
	for _, run := range runs {
		from, to := run.from*pageSize, min(run.to*pageSize, len(w.data))
		if n, _ := r.ReadAt(w.data[from:to], int64(from)); n < to-from {
			return errCache
		}
		for at := run.from; at < run.to; at++ {
			page := w.data[at*pageSize : min((at+1)*pageSize, to)]
			if crc32.Checksum(page, castagnoli) != binary.LittleEndian.Uint32(w.sums[4*at:]) {
				return errCache
			}
		}
	}
	return nil
}

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

// Load reads all of a decoded index that was not read yet, and reports whether it is one. It
// needs the index to itself. Whatever changes the index calls it; who is about to lose the
// encoded form does too.
func (x *Index) Load() bool {
	w := x.raw
	if w == nil || w.done || x.Broken() {
		return !x.Broken()
	}
	w.mu.Lock()
	ok := w.readAll(nil)
	w.mu.Unlock()
	for term := range x.lists {
		if x.lists[term].rest >= crowded {
			ok = ok && x.list(uint32(term))
		}
	}
	for i, b := range x.blocks { // they grow
		x.blocks[i] = slices.Clip(b)
	}
	w.done = true
	x.broken.Store(!ok)
	return ok
}

// list reports whether a list can be read.
func (x *Index) list(term uint32) bool {
	w := x.raw
	if w == nil || !w.lists.has(term) {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	l := &x.lists[term]
	b := x.part(l)
	ok := w.read(b)
	switch {
	case !ok || !w.lists.has(term): // made meanwhile
	case l.rest >= crowded && !w.done:
		x.crowds[l.rest-crowded], ok = l.crowd(b)
	case l.rest >= many && l.rest < crowded:
		ok = l.holds(b)
	}
	return x.checked(&w.lists, term, ok)
}

// part is what the body has of a list. x.raw.mu is held.
func (x *Index) part(l *list) []byte {
	switch {
	case l.rest < many:
		return nil
	case l.rest < crowded:
		return x.blocks[l.rest-many]
	case x.raw.done: // there may be others by now
		return nil
	}
	return x.raw.crowds[l.rest-crowded]
}

// slot reports whether the terms of a document can be read.
func (x *Index) slot(at uint32) bool {
	w := x.raw
	if w == nil || !w.slots.has(at) {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	s := &x.slots[at]
	return x.checked(&w.slots, at, w.read(s.terms) && s.sound(uint64(x.dict.len())))
}

func (x *Index) checked(m *marks, i uint32, ok bool) bool {
	if !ok {
		x.broken.Store(true)
		return false
	}
	m.drop(i)
	return true
}

// readable reports whether all that a search is about to read can be: the lists of its
// probes, and the documents that were chosen.
func (s *search) readable() bool {
	s.prefetch()
	ok := true
	for i := range s.probes {
		ok = ok && s.x.list(s.probes[i].term)
	}
	for _, c := range s.chosen {
		ok = ok && s.x.slot(c.slot)
	}
	return ok
}

// prefetch reads at once what readable would read one by one. Where it can not, neither can
// readable.
func (s *search) prefetch() {
	w := s.x.raw
	if w == nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var parts [][]byte
	for i := range s.probes {
		if term := s.probes[i].term; w.lists.has(term) {
			parts = append(parts, s.x.part(&s.x.lists[term]))
		}
	}
	for _, c := range s.chosen {
		if w.slots.has(c.slot) {
			parts = append(parts, s.x.slots[c.slot].terms)
		}
	}
	w.read(parts...)
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
