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
//	documents: for each a row of slotRow bytes: the lengths of its ID and of its terms,
//	           its day, its four counts, its sum; then the IDs end to end
//	terms:     where each ends, their numbers in order, and all of them end to end
//	lists:     for each term a row of listRow bytes: df, last and rest, where 2^17 and
//	           more is the length of a block, and 2^31 a crowd
//	pages:     the CRC-32C of each page of the body
//	CRC-32C of all before it
//
// The body is what a search needs little of, so that its pages are read when something on
// them is first used (see raw):
//
//	the terms of the documents, end to end
//	the blocks, end to end
//	the crowds: bits, then weights in grains, of 8 and 2 bytes each
//
// Numbers are little endian, of 4 bytes where nothing else is said. The checksums find what
// rots, and not what somebody forged: blocks, crowds and documents are checked when they are
// first used, so that nothing can make a search fail, and a caller must check each hit
// against the text that it gives away.
const (
	cacheMagic = "scribe lexical 3\n"
	headRow    = 6
	slotRow    = 7*4 + 32
	listRow    = 3 * 4
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
	body = x.encodeBody()
	names, terms := 0, 0
	for i := range x.slots {
		names, terms = names+len(x.slots[i].id), terms+len(x.slots[i].terms)
	}
	b := []byte(cacheMagic)
	for _, n := range [headRow]int{len(x.slots), names, terms, x.dict.len(), len(x.dict.names), len(body)} {
		b = le.AppendUint32(b, uint32(n))
	}
	for i := range x.slots {
		s := &x.slots[i]
		for _, n := range []uint32{uint32(len(s.id)), uint32(len(s.terms)), uint32(s.day), s.title, s.body, s.joined, s.extra} {
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
		l := &x.lists[i]
		rest := l.rest
		if rest >= many && rest < crowded {
			rest = many + uint32(len(x.blocks[rest-many]))
		}
		b = le.AppendUint32(le.AppendUint32(le.AppendUint32(b, l.df), l.last), min(rest, crowded))
	}
	for page := range slices.Chunk(body, pageSize) {
		b = le.AppendUint32(b, crc32.Checksum(page, castagnoli))
	}
	return le.AppendUint32(b, crc32.Checksum(b, castagnoli)), body, true
}

func (x *Index) encodeBody() (b []byte) {
	for i := range x.slots {
		b = append(b, x.slots[i].terms...)
	}
	for i := range x.lists {
		if l := &x.lists[i]; l.rest >= many && l.rest < crowded {
			b = append(b, x.blocks[l.rest-many]...)
		}
	}
	for i := range x.lists {
		if l := &x.lists[i]; l.rest >= crowded {
			b = x.crowds[l.rest-crowded].encode(b)
		}
	}
	return b
}

// decoder reads an encoded index. After the first fault it reads zeros.
type decoder struct {
	b    []byte
	body []byte // that were not read
	bad  bool
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

// later gives the place of the next n of the body; see raw.read.
func (d *decoder) later(n int) []byte {
	if n > len(d.body) {
		d.bad, d.body = true, nil
		return nil
	}
	out := d.body[:n]
	d.body = d.body[n:]
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
	x := New()
	pages := (sizes[5] + pageSize - 1) / pageSize
	if d.bad || int64(len(d.b)) != int64(sizes[0])*slotRow+int64(sizes[1])+int64(sizes[3])*(8+listRow)+int64(sizes[4])+4*int64(pages) {
		return nil, errCache
	}
	sums := d.b[len(d.b)-4*pages:]
	x.raw = newRaw(sums, sizes[5], body)
	d.body = x.raw.data
	d.slots(x, sizes[0], sizes[1], sizes[2])
	d.terms(x, sizes[3], sizes[4])
	if d.bad || !d.lists(x) || len(d.b) > len(sums) || len(d.body) > 0 {
		return nil, errCache
	}
	x.raw.lists, x.raw.slots = all(len(x.lists)), all(len(x.slots))
	return x, nil
}

func (d *decoder) slots(x *Index, n, named, placed int) {
	rows := d.bytes(n * slotRow)
	names := string(d.bytes(named)) // one string for all
	terms := d.later(placed)
	if d.bad {
		return
	}
	x.slots, x.length, x.ids = make([]slot, n), make([]uint32, n), make(map[string]uint32, n)
	x.there = make([]uint64, (n+63)/64)
	for i := range n {
		row, s := rows[i*slotRow:][:slotRow], &x.slots[i]
		at := func(k int) uint32 { return binary.LittleEndian.Uint32(row[4*k:]) }
		id, size := int(at(0)), int(at(1))
		if id > len(names) || size > len(terms) {
			d.bad = true
			return
		}
		s.id, names = names[:id], names[id:]
		s.terms, terms = terms[:size], terms[size:]
		s.day, s.title, s.body, s.joined, s.extra = int32(at(2)), at(3), at(4), at(5), at(6)
		copy(s.sum[:], row[28:])
		if max(s.title, s.body, s.joined, s.extra) > maxDocTokens {
			d.bad = true
			return
		}
		x.ids[s.id] = uint32(i)
		x.length[i] = s.words() + 1
		x.there[i/64] |= 1 << (i % 64)
		x.total += int64(s.words())
	}
	x.live = n
	d.bad = len(names)+len(terms) > 0 || len(x.ids) < n // one twice
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

func (d *decoder) lists(x *Index) bool {
	n, slots := x.dict.len(), uint32(len(x.slots))
	rows := d.bytes(n * listRow)
	if d.bad {
		return false
	}
	x.lists = make([]list, n, n+n/8)
	blocks, crowds := 0, 0
	for i := range x.lists {
		row, l := rows[i*listRow:][:listRow], &x.lists[i]
		l.df, l.last, l.rest = binary.LittleEndian.Uint32(row), binary.LittleEndian.Uint32(row[4:]), binary.LittleEndian.Uint32(row[8:])
		switch {
		case l.rest == 0 || l.df == 0 || l.df > slots || l.last >= slots:
			return false // after compaction each term is somewhere
		case l.rest < many && (l.df != 1 || l.rest > maxTF || l.rest%grain != 0):
			return false
		case l.rest >= crowded:
			crowds++
		case l.rest >= many:
			blocks++
		}
	}
	x.blocks, x.crowds = make([][]byte, 0, blocks+blocks/8), make([]crowd, 0, crowds+crowds/8)
	for i := range x.lists {
		if l := &x.lists[i]; l.rest >= many && l.rest < crowded {
			block := d.later(int(l.rest - many))
			l.rest = many + uint32(len(x.blocks))
			x.blocks = append(x.blocks, block)
		}
	}
	for i := range x.lists {
		if l := &x.lists[i]; l.rest >= crowded {
			x.raw.crowds = append(x.raw.crowds, d.later(8*(int(l.last)/64+1)+2*int(l.df)))
			l.rest = crowded + uint32(len(x.crowds))
			x.crowds = append(x.crowds, crowd{})
		}
	}
	return !d.bad
}

// crowd reads the crowd of a list.
func (l *list) crowd(b []byte) (c crowd, ok bool) {
	words := int(l.last)/64 + 1
	has, tf := b[:8*words], b[8*words:]
	c = crowd{has: make([]uint64, words), before: make([]uint32, words), tf: make([]uint16, l.df)}
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
