package lexical

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"math"
	"math/bits"
	"slices"
)

// An encoded index has two parts. The head is read to open it:
//
//	cacheMagic
//	sizes:     the number of documents, the bytes of all their IDs and of all their terms,
//	           the number of terms, the bytes of all of them, the bytes of the body
//	documents: for each a row of slotRow bytes: where its ID ends and where its terms do,
//	           its day, its four counts, its sum; then the IDs end to end
//	terms:     where each ends, their numbers in order, and all of them end to end
//	lists:     for each term a row of listRow bytes: df, last, rest, where 2^17 is a
//	           block and 2^31 a crowd, and where its part of the body ends
//	pages:     the CRC-32C of each page of the body
//	CRC-32C of all before it
//
// The body is what a search needs little of, so that its pages are read when something on
// them is first used (see raw):
//
//	the terms of the documents, end to end
//	the blocks and crowds, end to end in the order of the lists; of a crowd the bits, then
//	the weights in grains, of 8 and 2 bytes each
//
// Numbers are little endian, of 4 bytes where nothing else is said. The checksums find what
// rots, and not what somebody forged: blocks, crowds and documents are checked when they are
// first used, so that nothing can make a search fail, and a caller must check each hit
// against the text that it gives away.
const (
	cacheMagic = "scribe lexical 4\n"
	headRow    = 6
	slotRow    = 7*4 + 32
	listRow    = 4 * 4
	pageSize   = 4096
)

// errCache says no more than callers need: they build the index anew.
var errCache = errors.New("not an index of this version")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Encode gives the index as bytes for [Decode]. It compacts the index. ok is false for one
// that is Broken.
func (x *Index) Encode() (head, body []byte, ok bool) {
	if len(x.slots) > x.live {
		x.compact()
	}
	if !x.Load() {
		return nil, nil, false
	}
	le := binary.LittleEndian
	body, ends := x.encodeBody()
	names, terms := 0, 0
	for i := range x.slots {
		names, terms = names+len(x.slots[i].id), terms+len(x.slots[i].terms)
	}
	b := []byte(cacheMagic)
	for _, n := range [headRow]int{len(x.slots), names, terms, x.dict.len(), len(x.dict.names), len(body)} {
		b = le.AppendUint32(b, uint32(n))
	}
	names, terms = 0, 0
	for i := range x.slots {
		s := &x.slots[i]
		names, terms = names+len(s.id), terms+len(s.terms)
		for _, n := range [...]uint32{uint32(names), uint32(terms), uint32(s.day), s.title, s.body, s.joined, s.extra} {
			b = le.AppendUint32(b, n)
		}
		b = append(b, s.sum[:]...)
	}
	for i := range x.slots {
		b = append(b, x.slots[i].id...)
	}
	for _, end := range x.dict.ends {
		b = le.AppendUint32(b, end)
	}
	for _, id := range x.dict.sorted() {
		b = le.AppendUint32(b, id)
	}
	b = append(b, x.dict.names...)
	for i := range x.lists {
		l, rest := &x.lists[i], x.lists[i].rest
		switch {
		case rest >= crowded:
			rest = crowded
		case rest >= many:
			rest = many
		}
		for _, n := range [...]uint32{l.df, l.last, rest, uint32(ends[i])} {
			b = le.AppendUint32(b, n)
		}
	}
	for page := range slices.Chunk(body, pageSize) {
		b = le.AppendUint32(b, crc32.Checksum(page, castagnoli))
	}
	return le.AppendUint32(b, crc32.Checksum(b, castagnoli)), body, true
}

// encodeBody gives the body, and where in it the part of each list ends.
func (x *Index) encodeBody() (b []byte, ends []int) {
	for i := range x.slots {
		b = append(b, x.slots[i].terms...)
	}
	for i := range x.lists {
		switch l := &x.lists[i]; {
		case l.rest >= crowded:
			b = x.crowds[l.rest-crowded].encode(b)
		case l.rest >= many:
			b = append(b, x.blocks[l.rest-many]...)
		}
		ends = append(ends, len(b))
	}
	return b, ends
}

// decoder reads an encoded index. After the first fault it reads zeros.
type decoder struct {
	b   []byte
	bad bool
}

// number reads a number of 4 bytes, of at most most.
func (d *decoder) number(most int) int {
	if b := d.bytes(4); len(b) == 4 {
		if v := binary.LittleEndian.Uint32(b); int64(v) <= int64(most) {
			return int(v)
		}
	}
	d.bad, d.b = true, nil
	return 0
}

// bytes gives the next n. Appending to them copies.
func (d *decoder) bytes(n int) []byte {
	if n > len(d.b) {
		d.bad, d.b = true, nil
		return nil
	}
	out := d.b[:n:n]
	d.b = d.b[n:]
	return out
}

// Body gives an encoded index's body to fn, which reads it here and there until it returns.
type Body func(fn func(io.ReaderAt) error) error

// Decode gives the index that was encoded. It keeps head, which must not be changed, and
// reads of the body what is used, when it is first used; it reads all of it before the first
// change. Bytes that are no head of this version are an error; those of a forged one, or
// another body, are an index with other answers, or one that is [Index.Broken], and
// nothing worse.
func Decode(head []byte, body Body) (*Index, error) {
	n := len(head) - 4
	if n < len(cacheMagic) || string(head[:len(cacheMagic)]) != cacheMagic ||
		binary.LittleEndian.Uint32(head[n:]) != crc32.Checksum(head[:n], castagnoli) {
		return nil, errCache
	}
	d := &decoder{b: head[len(cacheMagic):n]}
	var sizes [headRow]int
	for i := range sizes {
		sizes[i] = d.number(math.MaxInt32)
	}
	docs, named, placed, terms, size := sizes[0], sizes[1], sizes[2], sizes[3], sizes[5]
	pages := (size + pageSize - 1) / pageSize
	if d.bad || placed > size || int64(len(d.b)) != int64(docs)*slotRow+int64(named)+int64(terms)*(8+listRow)+int64(sizes[4])+4*int64(pages) {
		return nil, errCache
	}
	x := New()
	x.raw = &raw{size: size, placed: placed, reading: reading{body: body, lists: map[uint32]postings{}, slots: map[uint32]*slot{}}}
	d.slots(x, docs, named)
	d.terms(x, terms, sizes[4])
	d.lists(x)
	if x.raw.sums = d.bytes(4 * pages); d.bad || len(d.b) > 0 {
		return nil, errCache
	}
	return x, nil
}

// slots reads what every search needs of the documents: how long each is.
func (d *decoder) slots(x *Index, n, named int) {
	w := x.raw
	w.docs, w.names = d.bytes(n*slotRow), string(d.bytes(named))
	if d.bad {
		return
	}
	x.ids, x.length, x.there = nil, make([]uint32, n), make([]uint64, (n+63)/64)
	name, end := uint32(0), uint32(0)
	for i := range n {
		row := w.docs[i*slotRow:][:slotRow]
		at := func(k int) uint32 { return binary.LittleEndian.Uint32(row[4*k:]) }
		d.bad = d.bad || at(0) < name || at(1) < end || max(at(3), at(4), at(5), at(6)) > maxDocTokens
		name, end = at(0), at(1)
		words := at(3) + at(4)
		x.length[i] = words + 1
		x.total += int64(words)
		x.there[i/64] |= 1 << (i % 64)
	}
	x.live = n
	d.bad = d.bad || int(name) != len(w.names) || int(end) != w.placed
}

func (d *decoder) terms(x *Index, n, named int) {
	ends, order := d.bytes(4*n), d.bytes(4*n)
	x.dict.names = d.bytes(named)
	if d.bad {
		return
	}
	x.dict.ends, x.dict.order = make([]uint32, n, n+n/8), order
	last := uint32(0)
	for i := range x.dict.ends {
		end := binary.LittleEndian.Uint32(ends[4*i:])
		d.bad = d.bad || end < last
		x.dict.ends[i], last = end, end
	}
	d.bad = d.bad || int(last) != named
}

// lists checks what the head says of the lists.
func (d *decoder) lists(x *Index) {
	w, n, docs := x.raw, x.dict.len(), uint32(len(x.length))
	w.posts = d.bytes(n * listRow)
	if d.bad {
		return
	}
	end := w.placed
	for term := range uint32(n) {
		l, in := w.list(term)
		d.bad = d.bad || in.to < end || l.df == 0 || l.df > docs || l.last >= docs // after compaction each term is somewhere
		switch size := uint64(in.to - end); {
		case l.rest < many:
			d.bad = d.bad || l.df != 1 || l.rest == 0 || l.rest > maxTF || l.rest%grain != 0 || size > 0
		case l.rest == crowded:
			d.bad = d.bad || size != l.crowdSize()
		default:
			d.bad = d.bad || l.rest != many
		}
		end = in.to
	}
	d.bad = d.bad || end != w.size
}

// crowdSize is the bytes of the crowd of a list.
func (l *list) crowdSize() uint64 { return 8*(uint64(l.last)/64+1) + 2*uint64(l.df) }

// crowd reads the crowd of a list.
func (l *list) crowd(b []byte) (c *crowd, ok bool) {
	words := int(l.last)/64 + 1
	has, tf := b[:8*words], b[8*words:]
	c = &crowd{has: make([]uint64, words), before: make([]uint32, words), tf: make([]uint16, l.df)}
	n := uint32(0)
	for i := range c.has {
		c.has[i], c.before[i] = binary.LittleEndian.Uint64(has[8*i:]), n
		n += uint32(bits.OnesCount64(c.has[i]))
	}
	least := uint16(math.MaxUint16)
	for i := range c.tf {
		c.tf[i] = binary.LittleEndian.Uint16(tf[2*i:])
		c.most, least = max(c.most, c.tf[i]), min(least, c.tf[i])
	}
	return c, n == l.df && c.has[words-1]>>(l.last%64) == 1 && least > 0 && c.most <= maxTF/grain
}

// encode appends what [list.crowd] reads.
func (c *crowd) encode(b []byte) []byte {
	for _, set := range c.has {
		b = binary.LittleEndian.AppendUint64(b, set)
	}
	for _, tf := range c.tf {
		b = binary.LittleEndian.AppendUint16(b, tf)
	}
	return b
}
