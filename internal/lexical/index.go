package lexical

import (
	"encoding/binary"
	"iter"
	"maps"
	"sync"
	"sync/atomic"
)

// Doc is one document. The index keeps its ID and none of its text.
type Doc struct {
	ID    string // unique in an index; also the order of equal scores
	Title string // what it is about: it counts three times
	Body  string // any text, valid UTF-8 or not
	Day   int32  // days since 1970-01-01 UTC of its last change; 0: not known

	Sum [32]byte // names the text, for the caller: see Index.Version
}

const (
	// maxDocTokens is the most tokens of a document that are indexed, those of the
	// title first. A memory of 64 KiB has fewer; a foreign file may have more, and is
	// then found by its beginning.
	maxDocTokens = 1 << 16
	// maxTF caps a term's weight in a document, so that scores stay within 64 bits.
	maxTF = 1<<16 - 1
	// compactAbove is the number of removed documents that is tolerated whatever the
	// size; beyond it, a third as many as live ones.
	compactAbove = 64
	// titleGap is the distance, in words, of a title from its body.
	titleGap = 16
)

// Weights of one occurrence, in tenths. Joined forms are extra terms: those of
// ordinary hyphenated words at full weight would cost 0.02 to 0.03 nDCG on prose.
const (
	inBody   = 10
	inTitle  = 30
	ofJoined = 5 // of 10, of the weight of its place
)

// list is where one term occurs. Half of all terms occur once: their posting stands
// in the list itself. Postings of removed documents stay until compact; df does not
// count them.
type list struct {
	df   uint32
	last uint32 // the greatest slot
	rest uint32 // 0: no posting; below many: the weight of the only one, in tenths; else a place in blocks or crowds
}

// postings is a list with what its rest stands for.
type postings struct {
	list
	block []byte
	crowd *crowd
}

// slot is one document, or the place of a removed one.
type slot struct {
	id     string
	terms  []byte // varints: the terms of the title, of the body, then those without a place
	title  uint32 // how many of them are of the title
	body   uint32 // of the body
	joined uint32 // joined forms of the title, after those of the body
	extra  uint32 // joined forms and dates of the body
	day    int32
	sum    [32]byte
}

// words is a document's length: joined forms and dates do not count.
func (s *slot) words() uint32 { return s.title + s.body }

// Index is a set of documents that can be searched. Make one with [New] or [Decode].
// Any number of Search calls may run at once; Put and Remove need the index to
// themselves.
type Index struct {
	ids    map[string]uint32 // document ID to slot; see named
	slots  []slot
	length []uint32 // by slot: words + 1, or 0 of a removed one
	there  []uint64 // by slot, a bit each: 0 of a removed one
	dict   dict
	lists  []list   // by term
	blocks [][]byte // of lists: pairs of varints, the step from the slot before and the weight, by slot
	crowds []crowd  // of lists with very many
	live   int      // documents
	total  int64    // their words together

	raw    *raw        // of a decoded index, which has no slots, lists, blocks and crowds then
	broken atomic.Bool // see Broken

	writing writing

	mu   sync.Mutex // guards free, and ids while it is made
	free []*search  // what searches work with, to be used again
}

// New returns an empty index.
func New() *Index {
	return &Index{ids: map[string]uint32{}, dict: newDict()}
}

// Len is the number of documents.
func (x *Index) Len() int { return x.live }

// Version gives the Sum and the Day under which a document was put.
func (x *Index) Version(id string) (sum [32]byte, day int32, ok bool) {
	x.named()
	at, ok := x.ids[id]
	if !ok {
		return sum, 0, false
	}
	s := x.said(at)
	return s.sum, s.day, true
}

// IDs yields the documents, in no order. The index must not change meanwhile.
func (x *Index) IDs() iter.Seq[string] {
	x.named()
	return maps.Keys(x.ids)
}

// writing is what Put works with; kept, so that it allocates what the index keeps.
type writing struct {
	scanner
	placed []uint32 // terms with a place, in order
	extra  []uint32 // terms without
	tf     []uint32 // by term: its weight in the document at hand, else 0
	met    []uint32 // terms with a tf
	buf    []byte
	known  []surface // by hash: what words were reduced to
	tokens int
}

// surface is a word as it stands and the term that it is indexed as: most words of a
// text were met before, and need no stemmer. All that is remembered fits in it, so that
// asking costs one look at memory.
type surface struct {
	key  key
	term uint32
	size uint8 // 0: none
}

// key is a text of up to surfaceBytes bytes as two numbers, which differ for different
// texts of one size.
type key struct{ from, to uint64 }

const (
	surfaceBytes = 16
	maxKnown     = 1 << 13 // surfaces that are remembered: 192 KiB
)

// keyOf gives the key of a text of 1 to surfaceBytes bytes: its first eight bytes and
// its last, which may overlap.
func keyOf(text []byte) key {
	switch n := len(text); {
	case n >= 8:
		return key{binary.LittleEndian.Uint64(text), binary.LittleEndian.Uint64(text[n-8:])}
	case n >= 4:
		return key{uint64(binary.LittleEndian.Uint32(text)), uint64(binary.LittleEndian.Uint32(text[n-4:]))}
	default:
		return key{uint64(text[0]), uint64(text[n/2]) | uint64(text[n-1])<<8}
	}
}

// place spreads surfaces over a table; those that collide only displace each other.
func (k key) place() uint32 {
	const odd = 0x9e3779b97f4a7c15 // 2^64 over the golden ratio
	h := (k.from*odd ^ k.to) * odd
	return uint32(h >> 32)
}

// Put adds a document, in the place of one with the same ID. Its cost is that of
// its own tokens, whatever the size of the index.
func (x *Index) Put(d Doc) {
	if !x.Load() {
		return
	}
	x.Remove(d.ID)
	w := &x.writing
	if w.emit == nil {
		w.emit = x.take
	}
	if n := len(w.known); n < maxKnown && n <= x.dict.len() {
		w.known = make([]surface, min(max(256, 4*n), maxKnown))
	}
	w.placed, w.extra, w.tokens = w.placed[:0], w.extra[:0], 0
	s := slot{id: d.ID, day: d.Day, sum: d.Sum}
	w.scan(d.Title)
	w.dates(d.Title)
	s.title, s.joined = uint32(len(w.placed)), uint32(len(w.extra))
	w.scan(d.Body)
	w.dates(d.Body)
	s.body, s.extra = uint32(len(w.placed))-s.title, uint32(len(w.extra))-s.joined
	x.add(s)
}

// take is what the scanner gives its tokens to.
func (x *Index) take(t token) bool {
	w := &x.writing
	if w.tokens++; w.tokens > maxDocTokens {
		return false
	}
	id := x.term(t)
	switch t.kind {
	case word, han, faint:
		w.placed = append(w.placed, id)
	case whole:
		w.extra = append(w.extra, id<<1)
	case joined, date:
		b := id << 1
		if t.kind == joined {
			b |= 1 // at a lesser weight
		}
		w.extra = append(w.extra, b)
	}
	return true
}

// term gives the number of a token's term, making one.
func (x *Index) term(t token) uint32 {
	w := &x.writing
	size := len(t.text)
	if size > surfaceBytes || t.kind > joined {
		return x.number(termOf(t))
	}
	k := keyOf(t.text)
	e := &w.known[k.place()&uint32(len(w.known)-1)]
	if e.key == k && int(e.size) == size {
		return e.term
	}
	*e = surface{k, x.number(termOf(t)), uint8(size)} // the stemmer works in place
	return e.term
}

// number gives the number of a term, making one.
func (x *Index) number(term []byte) uint32 {
	id, fresh := x.dict.add(term)
	if fresh {
		x.lists = append(x.lists, list{})
	}
	return id
}

// termOf gives a token's term; it may change the token's text.
func termOf(t token) []byte {
	if t.kind > joined {
		return t.text
	}
	if s := irregular(t.text); s != "" {
		return append(t.text[:0], s...)
	}
	return stem(t.text)
}

// add makes a slot of the terms at hand.
func (x *Index) add(s slot) {
	w := &x.writing
	at := uint32(len(x.slots))
	if n := x.dict.len(); len(w.tf) < n {
		w.tf = append(w.tf, make([]uint32, n+n/4-len(w.tf))...)
	}
	w.buf, w.met = w.buf[:0], w.met[:0]
	count := func(id, weight uint32) {
		if w.tf[id] == 0 {
			w.met = append(w.met, id)
		}
		w.tf[id] = min(w.tf[id]+weight, maxTF)
	}
	for i, id := range w.placed {
		w.buf = binary.AppendUvarint(w.buf, uint64(id))
		weight := uint32(inBody)
		if uint32(i) < s.title {
			weight = inTitle
		}
		count(id, weight)
	}
	for i, b := range w.extra {
		w.buf = binary.AppendUvarint(w.buf, uint64(b))
		weight := uint32(inBody)
		if uint32(i) < s.joined {
			weight = inTitle
		}
		if b&1 != 0 {
			weight = weight * ofJoined / 10
		}
		count(b>>1, weight)
	}
	s.terms = append([]byte(nil), w.buf...)
	for _, id := range w.met {
		x.post(&x.lists[id], at, w.tf[id])
		w.tf[id] = 0
	}
	x.ids[s.id] = at
	x.seat(s)
}

// seat appends a slot, without its postings.
func (x *Index) seat(s slot) {
	at := len(x.slots)
	x.slots = append(x.slots, s)
	x.length = append(x.length, s.words()+1)
	if at%64 == 0 {
		x.there = append(x.there, 0)
	}
	x.there[at/64] |= 1 << (at % 64)
	x.live++
	x.total += int64(s.words())
}

// uvarint reads a varint of b at i, and gives where the next one begins. b is the
// index's own and well formed.
func uvarint(b []byte, i int) (v uint32, next int) {
	v = uint32(b[i])
	if v < 0x80 {
		return v, i + 1
	}
	return longer(b, i, v)
}

func longer(b []byte, i int, v uint32) (uint32, int) {
	v &= 0x7f
	for shift := 7; ; shift += 7 {
		i++
		c := uint32(b[i])
		v |= c & 0x7f << shift
		if c < 0x80 {
			return v, i + 1
		}
	}
}

// eachTerm calls f for each different term of a slot's.
func (x *Index) eachTerm(s *slot, f func(id uint32)) {
	w := &x.writing
	if n := x.dict.len(); len(w.tf) < n {
		w.tf = append(w.tf, make([]uint32, n+n/4-len(w.tf))...)
	}
	w.met = w.met[:0]
	placed := s.words()
	id := uint32(0)
	for i, at := uint32(0), 0; at < len(s.terms); i++ {
		if id, at = uvarint(s.terms, at); i >= placed {
			id >>= 1
		}
		if w.tf[id] == 0 {
			w.tf[id] = 1
			w.met = append(w.met, id)
		}
	}
	for _, id := range w.met {
		w.tf[id] = 0
		f(id)
	}
}

// Remove takes a document out. An unknown ID is no error.
func (x *Index) Remove(id string) {
	if !x.Load() {
		return
	}
	at, ok := x.ids[id]
	if !ok {
		return
	}
	delete(x.ids, id)
	s := &x.slots[at]
	x.eachTerm(s, func(t uint32) {
		if l := &x.lists[t]; l.df > 0 { // but for a forged cache
			l.df--
		}
	})
	x.live--
	x.total -= int64(s.words())
	*s = slot{}
	x.length[at] = 0
	x.there[at/64] &^= 1 << (at % 64)
	if dead := len(x.slots) - x.live; dead > compactAbove && dead > x.live/3 {
		x.compact()
	}
}

// compact makes the index anew without the places of removed documents, and without
// the terms that none holds. No score depends on what it changes.
func (x *Index) compact() {
	old := Index{slots: x.slots, length: x.length, dict: x.dict, live: x.live}
	renamed := make([]uint32, old.dict.len()) // number + 1
	x.ids, x.slots, x.length, x.lists = make(map[string]uint32, old.live), make([]slot, 0, old.live), make([]uint32, 0, old.live), nil
	x.there, x.blocks, x.crowds = nil, nil, nil
	x.dict, x.live, x.total = newDict(), 0, 0
	x.writing.known, x.writing.tf = nil, nil
	w := &x.writing
	for i := range old.slots {
		if old.length[i] == 0 {
			continue
		}
		s := old.slots[i]
		w.placed, w.extra = w.placed[:0], w.extra[:0]
		id := uint32(0)
		for at := 0; at < len(s.terms); {
			low, extra := uint32(0), uint32(len(w.placed)) >= s.words()
			if id, at = uvarint(s.terms, at); extra {
				id, low = id>>1, id&1
			}
			if renamed[id] == 0 {
				renamed[id] = x.number(old.dict.name(id)) + 1
			}
			if extra {
				w.extra = append(w.extra, (renamed[id]-1)<<1|low)
			} else {
				w.placed = append(w.placed, renamed[id]-1)
			}
		}
		x.add(s)
	}
}
