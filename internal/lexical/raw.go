package lexical

import (
	"cmp"
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
	docs, posts  []byte // rows of the head: of documents, of lists
	names        string // the IDs of all documents
	sums         []byte // of the pages of the body
	size, placed int    // bytes of the body; of the terms of the documents, with which it begins
	reading             // some of the body
}

// reading is the body of an encoded index, as far as it was read.
type reading struct {
	mu     sync.Mutex // guards what follows, and what is made of it
	body   Body       // nil when all was read
	failed bool       // something could not be read
	held   []piece    // what was read of the body
	turns  int        // how often something was read
	done   bool       // all was read, and all crowds were made
}

// patience is how often a few pages are read before all the others are.
const patience = 32

// part is a part of the body, by its bytes.
type part struct{ from, to int }

// piece is a part of the body that was read.
type piece struct {
	part
	data []byte
}

// has gives a part of the body that was read.
func (w *raw) has(p part) ([]byte, bool) {
	for _, h := range w.held {
		if p.from >= h.from && p.to <= h.to {
			return h.data[p.from-h.from : p.to-h.from : p.to-h.from], true
		}
	}
	return nil, p.from == p.to
}

// read reads the pages of parts of the body, or all of it where that pays, and reports
// whether the parts are there. w.mu is held.
func (w *raw) read(parts ...part) bool {
	if w.body == nil || w.failed {
		return !w.failed
	}
	var pages []part
	for _, p := range parts {
		if _, ok := w.has(p); !ok {
			pages = append(pages, part{p.from / pageSize * pageSize, min((p.to+pageSize-1)/pageSize*pageSize, w.size)})
		}
	}
	if len(pages) == 0 {
		return true
	}
	if w.turns++; w.turns > patience {
		return w.readAll()
	}
	slices.SortFunc(pages, func(a, b part) int { return cmp.Compare(a.from, b.from) })
	runs := pages[:1]
	for _, p := range pages[1:] {
		if last := &runs[len(runs)-1]; p.from <= last.to {
			last.to = max(last.to, p.to)
		} else {
			runs = append(runs, p)
		}
	}
	return w.fill(runs)
}

// readAll reads the body. w.mu is held.
func (w *raw) readAll() bool {
	if w.body == nil || w.failed {
		return !w.failed
	}
	w.held = nil // who uses some of it has it
	ok := w.fill([]part{{0, w.size}})
	w.body = nil
	return ok
}

// fill reads whole pages.
func (w *raw) fill(runs []part) bool {
	w.failed = w.body(func(r io.ReaderAt) error {
		for _, run := range runs {
			data := make([]byte, run.to-run.from)
			if n, _ := r.ReadAt(data, int64(run.from)); n < len(data) {
				return errCache
			}
			sums := w.sums[run.from/pageSize*4:]
			for i := 0; i*pageSize < len(data); i++ {
				page := data[i*pageSize : min((i+1)*pageSize, len(data))]
				if crc32.Checksum(page, castagnoli) != binary.LittleEndian.Uint32(sums[4*i:]) {
					return errCache
				}
			}
			w.held = append(w.held, piece{run, data})
		}
		return nil
	}) != nil
	return !w.failed
}

// ofDoc is the part of the body that has the terms of a document.
func (w *raw) ofDoc(at uint32) part {
	_, from, to := w.doc(at)
	return part{from, to}
}

// doc is what the head says of a document, and where its terms are.
func (w *raw) doc(at uint32) (s slot, from, to int) {
	name := 0
	if at > 0 {
		before := w.docs[(at-1)*slotRow:]
		name, from = int(binary.LittleEndian.Uint32(before)), int(binary.LittleEndian.Uint32(before[4:]))
	}
	row := w.docs[at*slotRow:][:slotRow]
	number := func(k int) uint32 { return binary.LittleEndian.Uint32(row[4*k:]) }
	s = slot{id: w.names[name:number(0)], day: int32(number(2)), title: number(3), body: number(4), joined: number(5), extra: number(6)}
	copy(s.sum[:], row[28:])
	return s, from, int(number(1))
}

// ofList is the part of the body that has the postings of a list; none of it where the list
// has them itself.
func (w *raw) ofList(term uint32) part {
	from := w.placed
	if term > 0 {
		from = int(binary.LittleEndian.Uint32(w.posts[term*listRow-4:]))
	}
	return part{from, int(binary.LittleEndian.Uint32(w.posts[term*listRow+listRow-4:]))}
}

// marks is a set of numbers that only shrinks. Any number of searches may use it at once.
type marks []atomic.Uint64

// all gives the set of the numbers below n.
func all(n int) marks {
	m := make(marks, (n+63)/64)
	for i := range m {
		m[i].Store(math.MaxUint64)
	}
	if over := n % 64; over > 0 {
		m[n/64].Store(1<<over - 1) // what is added is no part of the encoded form
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
	ok := w.readAll()
	for at := 0; ok && at < len(x.slots); at++ {
		x.placeSlot(uint32(at))
	}
	for term := 0; ok && term < len(x.lists); term++ {
		ok = !w.lists.has(uint32(term)) || x.placeList(uint32(term))
	}
	w.held, w.done = nil, true
	w.mu.Unlock()
	if !ok {
		x.broken.Store(true)
	}
	x.named() // finds IDs that are there twice
	return !x.Broken()
}

// list reports whether a list can be read.
func (x *Index) list(term uint32) bool {
	w := x.raw
	if w == nil || !w.lists.has(term) {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.lists.has(term) {
		return true // made meanwhile
	}
	ok := w.done || w.read(w.ofList(term)) && x.placeList(term)
	if l := &x.lists[term]; l.rest >= many && l.rest < crowded {
		ok = ok && l.holds(x.blocks[l.rest-many])
	}
	return x.checked(&w.lists, term, ok)
}

// placeList gives a list its postings, which were read. x.raw.mu is held.
func (x *Index) placeList(term uint32) bool {
	l := &x.lists[term]
	b, ok := x.raw.has(x.raw.ofList(term))
	switch {
	case !ok || l.rest < many:
	case l.rest < crowded:
		x.blocks[l.rest-many] = b
	default:
		x.crowds[l.rest-crowded], ok = l.crowd(b)
	}
	return ok
}

// slot reports whether the terms of a document can be read.
func (x *Index) slot(at uint32) bool {
	w := x.raw
	if w == nil || !w.slots.has(at) {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	if !w.slots.has(at) {
		return true
	}
	ok := w.done || w.read(w.ofDoc(at)) && x.placeSlot(at)
	return x.checked(&w.slots, at, ok && x.slots[at].sound(uint64(x.dict.len())))
}

// placeSlot makes a slot of what was read. x.raw.mu is held.
func (x *Index) placeSlot(at uint32) bool {
	s, from, to := x.raw.doc(at)
	ok := true
	s.terms, ok = x.raw.has(part{from, to})
	x.slots[at] = s
	return ok
}

// named makes the table of the documents by ID, which no search needs.
func (x *Index) named() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ids != nil {
		return
	}
	x.ids = make(map[string]uint32, len(x.slots))
	for at := range uint32(len(x.slots)) {
		x.ids[x.said(at).id] = at
	}
	if len(x.ids) < len(x.slots) {
		x.broken.Store(true)
	}
}

// said is a document as the head says it, whose terms may not have been read.
func (x *Index) said(at uint32) slot {
	if x.raw == nil || !x.raw.slots.has(at) {
		return x.slots[at]
	}
	s, _, _ := x.raw.doc(at)
	return s
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
	var parts []part
	for i := range s.probes {
		if term := s.probes[i].term; w.lists.has(term) {
			parts = append(parts, w.ofList(term))
		}
	}
	for _, c := range s.chosen {
		if w.slots.has(c.slot) {
			parts = append(parts, w.ofDoc(c.slot))
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
