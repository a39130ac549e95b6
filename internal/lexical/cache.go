package lexical

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
	"math/bits"
)

// An encoded index is flat, so that reading one is little more than reading a file:
//
//	cacheMagic
//	documents: number, then for each a row of slotRow bytes: the lengths of its ID and
//	           of its terms, its day, its four counts, its sum
//	           length of all IDs, and they end to end; the same of the terms
//	terms:     number, then where each ends, then all of them end to end
//	lists:     for each term a row of listRow bytes: df, last and rest, where 2^17 and
//	           more is the length of a block, and 2^31 a crowd
//	           the blocks, end to end
//	           the crowds: bits, then weights in grains, of 8 and 2 bytes each
//	CRC-32C of all before it
//
// Numbers are little endian, of 4 bytes where nothing else is said. The checksum finds what
// rots, and not what somebody forged:
// blocks and documents are checked when they are first used (see raw), so that nothing
// can make a search fail, and a caller must check each hit against the text that it
// gives away.
const (
	cacheMagic = "scribe lexical 2\n"
	slotRow    = 7*4 + 32
	listRow    = 3 * 4
)

// errCache says no more than callers need: they build the index anew.
var errCache = errors.New("not an index of this version")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Encode gives the index as bytes for [Decode]. It compacts the index.
func (x *Index) Encode() []byte {
	if len(x.slots) > x.live {
		x.compact()
	}
	le := binary.LittleEndian
	b := []byte(cacheMagic)
	text := func(size int, each func()) {
		b = le.AppendUint32(b, uint32(size))
		each()
	}
	names, terms := 0, 0
	b = le.AppendUint32(b, uint32(len(x.slots)))
	for i := range x.slots {
		s := &x.slots[i]
		for _, n := range []uint32{uint32(len(s.id)), uint32(len(s.terms)), uint32(s.day), s.title, s.body, s.joined, s.extra} {
			b = le.AppendUint32(b, n)
		}
		b = append(b, s.sum[:]...)
		names, terms = names+len(s.id), terms+len(s.terms)
	}
	text(names, func() {
		for i := range x.slots {
			b = append(b, x.slots[i].id...)
		}
	})
	text(terms, func() {
		for i := range x.slots {
			b = append(b, x.slots[i].terms...)
		}
	})
	b = le.AppendUint32(b, uint32(x.dict.len()))
	for _, end := range x.dict.ends {
		b = le.AppendUint32(b, end)
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
	return le.AppendUint32(b, crc32.Checksum(b, castagnoli))
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

// rows reads a number and so many rows of a size.
func (d *decoder) rows(size int) (n int, rows []byte) {
	n = d.number(len(d.b) / size)
	return n, d.bytes(n * size)
}

// Decode gives the index that was encoded. It keeps data, which must not be changed.
// Bytes that are no index of this version are an error; those of a forged one are an
// index with other answers, or one that is [Index.Broken], and nothing worse.
func Decode(data []byte) (*Index, error) {
	n := len(data) - 4
	if n < len(cacheMagic) || string(data[:len(cacheMagic)]) != cacheMagic ||
		binary.LittleEndian.Uint32(data[n:]) != crc32.Checksum(data[:n], castagnoli) {
		return nil, errCache
	}
	d := &decoder{b: data[len(cacheMagic):n]}
	x := New()
	d.slots(x)
	d.terms(x)
	if d.bad || !d.lists(x) || len(d.b) > 0 {
		return nil, errCache
	}
	x.raw = raw{all(len(x.lists)), all(len(x.slots))}
	return x, nil
}

func (d *decoder) slots(x *Index) {
	n, rows := d.rows(slotRow)
	x.slots, x.length, x.ids = make([]slot, n), make([]uint32, n), make(map[string]uint32, n)
	x.there = make([]uint64, (n+63)/64)
	names := string(d.bytes(d.number(len(d.b)))) // one string for all
	terms := d.bytes(d.number(len(d.b)))
	for i := 0; i < n && !d.bad; i++ {
		row, s := rows[i*slotRow:][:slotRow], &x.slots[i]
		at := func(k int) uint32 { return binary.LittleEndian.Uint32(row[4*k:]) }
		id, size := int(at(0)), int(at(1))
		if id > len(names) || size > len(terms) {
			d.bad = true
			return
		}
		s.id, names = names[:id], names[id:]
		s.terms, terms = terms[:size:size], terms[size:]
		s.day, s.title, s.body, s.joined, s.extra = int32(at(2)), at(3), at(4), at(5), at(6)
		copy(s.sum[:], row[28:])
		d.bad = max(s.title, s.body, s.joined, s.extra) > maxDocTokens
		x.ids[s.id] = uint32(i)
		x.length[i] = s.words() + 1
		x.there[i/64] |= 1 << (i % 64)
		x.total += int64(s.words())
	}
	x.live = n
	d.bad = d.bad || len(names)+len(terms) > 0 || len(x.ids) < n // one twice
}

func (d *decoder) terms(x *Index) {
	n, ends := d.rows(4)
	x.dict.ends = make([]uint32, n, n+n/8)
	last := uint32(0)
	for i := range x.dict.ends {
		end := binary.LittleEndian.Uint32(ends[4*i:])
		d.bad = d.bad || end < last
		x.dict.ends[i], last = end, end
	}
	if x.dict.names = d.bytes(int(last)); !d.bad {
		x.dict.rehash()
	}
}

func (d *decoder) lists(x *Index) bool {
	n, slots := x.dict.len(), uint32(len(x.slots))
	x.lists = make([]list, n, n+n/8)
	rows := d.bytes(n * listRow)
	if d.bad {
		return false
	}
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
			block := d.bytes(int(l.rest - many))
			l.rest = many + uint32(len(x.blocks))
			x.blocks = append(x.blocks, block)
		}
	}
	for i := range x.lists {
		if l := &x.lists[i]; l.rest >= crowded {
			c, ok := d.crowd(l)
			if !ok {
				return false
			}
			l.rest = crowded + uint32(len(x.crowds))
			x.crowds = append(x.crowds, c)
		}
	}
	return !d.bad
}

// crowd reads the crowd of a list.
func (d *decoder) crowd(l *list) (c crowd, ok bool) {
	words := int(l.last)/64 + 1
	has, tf := d.bytes(8*words), d.bytes(2*int(l.df))
	if d.bad || len(tf) == 0 {
		return c, false
	}
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

// encode appends what [decoder.crowd] reads.
func (c *crowd) encode(b []byte) []byte {
	for _, set := range c.has {
		b = binary.LittleEndian.AppendUint64(b, set)
	}
	for _, tf := range c.tf {
		b = binary.LittleEndian.AppendUint16(b, tf)
	}
	return b
}
