package lexical

import (
	"cmp"
	"encoding/binary"
	"hash/crc32"
	"io"
	"math"
	"slices"
	"sync"
)

// raw is an encoded index that searches are answered from. To read and to check every list
// and every document would take longer than all the rest of opening a cache, and a search
// needs a few of them: so each is read and checked when it is first used. What can not be
// read, has not its checksum or says what can not be breaks the index as a whole. The first
// change makes the whole index of it, and then there is none: see Index.Load.
type raw struct {
	docs, posts  []byte // rows of the head: of documents, of lists
	names        string // the IDs of all documents
	sums         []byte // of the pages of the body
	size, placed int    // bytes of the body; of the terms of the documents, with which it begins

	reading
}

// reading is what was read of a body. Any number of searches use it at once.
type reading struct {
	mu     sync.Mutex // guards what follows
	body   Body       // nil when all was read
	failed bool       // something could not be read
	turns  int        // how often something was read
	held   []piece
	lists  map[uint32]postings // by term, those that were checked
	slots  map[uint32]*slot    // the same of documents
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

// bytes gives a part of the body, and reads it where it has to. w.mu is held.
func (w *raw) bytes(p part) ([]byte, bool) {
	if !w.read(p) {
		return nil, false
	}
	return w.has(p)
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

// doc is what the head says of a document, and where its terms are.
func (w *raw) doc(at uint32) (s slot, terms part) {
	name := 0
	if at > 0 {
		before := w.docs[(at-1)*slotRow:]
		name, terms.from = int(binary.LittleEndian.Uint32(before)), int(binary.LittleEndian.Uint32(before[4:]))
	}
	row := w.docs[at*slotRow:][:slotRow]
	number := func(k int) uint32 { return binary.LittleEndian.Uint32(row[4*k:]) }
	terms.to = int(number(1))
	s = slot{id: w.names[name:number(0)], day: int32(number(2)), title: number(3), body: number(4), joined: number(5), extra: number(6)}
	copy(s.sum[:], row[28:])
	return s, terms
}

// list is what the head says of a list, and where its postings are: nowhere when it has
// them itself.
func (w *raw) list(term uint32) (l list, in part) {
	if in.from = w.placed; term > 0 {
		in.from = int(binary.LittleEndian.Uint32(w.posts[term*listRow-4:]))
	}
	row := w.posts[term*listRow:][:listRow]
	number := func(k int) uint32 { return binary.LittleEndian.Uint32(row[4*k:]) }
	in.to = int(number(3))
	return list{number(0), number(1), number(2)}, in
}

// postings reads a list. w.mu is held.
func (w *raw) postings(term uint32) (p postings, ok bool) {
	var in part
	p.list, in = w.list(term)
	b, ok := w.bytes(in)
	switch {
	case !ok || p.rest < many:
	case p.rest < crowded:
		p.block, ok = b, p.holds(b)
	default:
		p.crowd, ok = p.list.crowd(b)
	}
	return p, ok
}

// slot reads a document, whose terms are below a number. w.mu is held.
func (w *raw) slot(at uint32, below int) (s slot, ok bool) {
	s, in := w.doc(at)
	s.terms, ok = w.bytes(in)
	return s, ok && s.sound(uint64(below))
}

// Broken reports that the index was decoded from bytes that say what can not be. Its
// answers mean nothing then: it is to be built anew.
func (x *Index) Broken() bool { return x.broken.Load() }

// Load makes the whole index of one that was decoded, and reports whether it is one. It
// needs the index to itself. Whatever changes the index calls it; who is about to lose the
// encoded form does too.
func (x *Index) Load() bool {
	w := x.raw
	if w == nil || x.Broken() {
		return !x.Broken()
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	ok := w.readAll()
	x.slots = make([]slot, len(x.length))
	for at := 0; ok && at < len(x.slots); at++ {
		x.slots[at], ok = w.slot(uint32(at), x.dict.len())
	}
	x.lists = make([]list, x.dict.len())
	for term := 0; ok && term < len(x.lists); term++ {
		var p postings
		p, ok = w.postings(uint32(term))
		switch {
		case p.crowd != nil:
			p.rest = crowded + uint32(len(x.crowds))
			x.crowds = append(x.crowds, *p.crowd)
		case p.block != nil:
			p.rest = many + uint32(len(x.blocks))
			x.blocks = append(x.blocks, p.block)
		}
		x.lists[term] = p.list
	}
	x.named()
	if !ok {
		x.broken.Store(true)
	}
	if !x.Broken() {
		x.raw = nil
	}
	return !x.Broken()
}

// named makes the table of the documents by ID, which no search needs.
func (x *Index) named() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.ids != nil {
		return
	}
	n := uint32(len(x.length))
	x.ids = make(map[string]uint32, n)
	for at := range n {
		x.ids[x.said(at).id] = at
	}
	if len(x.ids) < len(x.length) {
		x.broken.Store(true) // one is there twice
	}
}

// said is a document, of a decoded index without its terms.
func (x *Index) said(at uint32) slot {
	if x.raw == nil {
		return x.slots[at]
	}
	s, _ := x.raw.doc(at)
	return s
}

// slot is a document that readDocs read.
func (x *Index) slot(at uint32) *slot {
	if x.raw == nil {
		return &x.slots[at]
	}
	x.raw.mu.Lock()
	defer x.raw.mu.Unlock()
	return x.raw.slots[at]
}

// find gives the number of a term and how many documents have it: 0 of one that is not
// there.
func (x *Index) find(term []byte) (id, df uint32) {
	id, ok := x.dict.find(term)
	switch {
	case !ok:
		return 0, 0
	case x.raw == nil:
		return id, x.lists[id].df
	}
	l, _ := x.raw.list(id)
	return id, l.df
}

// readLists gives the probes their postings, and reports whether it can.
func (s *search) readLists() bool {
	w := s.x.raw
	if w == nil {
		for i := range s.probes {
			s.probes[i].in = s.x.postings(s.probes[i].term)
		}
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var parts []part
	for i := range s.probes {
		if _, ok := w.lists[s.probes[i].term]; !ok {
			_, in := w.list(s.probes[i].term)
			parts = append(parts, in)
		}
	}
	ok := w.read(parts...) // at once, not one by one
	for i := range s.probes {
		p := &s.probes[i]
		known := false
		if p.in, known = w.lists[p.term]; known || !ok {
			continue
		}
		if p.in, ok = w.postings(p.term); ok {
			w.lists[p.term] = p.in
		}
	}
	return s.x.sound(ok)
}

// readDocs reads the documents that were chosen, and reports whether it can.
func (s *search) readDocs() bool {
	w := s.x.raw
	if w == nil {
		return true
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	var parts []part
	for _, c := range s.chosen {
		if w.slots[c.slot] == nil {
			_, in := w.doc(c.slot)
			parts = append(parts, in)
		}
	}
	ok := w.read(parts...)
	for _, c := range s.chosen {
		if w.slots[c.slot] != nil || !ok {
			continue
		}
		var d slot
		if d, ok = w.slot(c.slot, s.x.dict.len()); ok {
			w.slots[c.slot] = &d
		}
	}
	return s.x.sound(ok)
}

// sound notes whether what was read could be.
func (x *Index) sound(ok bool) bool {
	if !ok {
		x.broken.Store(true)
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
