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
//	documents: number, then all IDs end to end
//	slots:     for each the length of its ID, its sum, its day, its four counts and its terms
//	terms:     number, then their ends, then all of them end to end
//	lists:     for each term df, last and rest; or 2^17 and the block; or 2^17+1 and the
//	           crowd: its bits, then its weights in grains, of 8 and 2 bytes each
//	CRC-32C of all before it, 4 bytes, little endian
//
// Numbers are varints and texts have their length before them; ends and the checksum
// are 4 bytes, little endian. The checksum finds what rots, and not what somebody forged:
// blocks and documents are checked when they are first used (see raw), so that nothing
// can make a search fail, and a caller must check each hit against the text that it
// gives away.
const cacheMagic = "scribe lexical 2\n"

// errCache says no more than callers need: they build the index anew.
var errCache = errors.New("not an index of this version")

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Encode gives the index as bytes for [Decode]. It compacts the index.
func (x *Index) Encode() []byte {
	if len(x.slots) > x.live {
		x.compact()
	}
	b := []byte(cacheMagic)
	number := func(n uint64) { b = binary.AppendUvarint(b, n) }
	number(uint64(len(x.slots)))
	names := 0
	for i := range x.slots {
		names += len(x.slots[i].id)
	}
	number(uint64(names))
	for i := range x.slots {
		b = append(b, x.slots[i].id...)
	}
	for i := range x.slots {
		s := &x.slots[i]
		number(uint64(len(s.id)))
		b = append(b, s.sum[:]...)
		b = binary.AppendVarint(b, int64(s.day))
		for _, n := range []uint32{s.title, s.body, s.joined, s.extra, uint32(len(s.terms))} {
			number(uint64(n))
		}
		b = append(b, s.terms...)
	}
	number(uint64(x.dict.len()))
	for _, end := range x.dict.ends {
		b = binary.LittleEndian.AppendUint32(b, end)
	}
	number(uint64(len(x.dict.names)))
	b = append(b, x.dict.names...)
	for i := range x.lists {
		l := &x.lists[i]
		number(uint64(l.df))
		number(uint64(l.last))
		switch {
		case l.rest < many:
			number(uint64(l.rest))
		case l.rest < crowded:
			block := x.blocks[l.rest-many]
			number(many)
			number(uint64(len(block)))
			b = append(b, block...)
		default:
			number(many + 1)
			b = x.crowds[l.rest-crowded].encode(b)
		}
	}
	return binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
}

// decoder reads an encoded index. After the first fault it reads zeros.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) number(most uint64) uint64 {
	v, n := binary.Uvarint(d.b)
	if n <= 0 || v > most {
		d.bad, d.b = true, nil
		return 0
	}
	d.b = d.b[n:]
	return v
}

// bytes gives the next n. Appending to them copies.
func (d *decoder) bytes(n uint64) []byte {
	if n > uint64(len(d.b)) {
		d.bad, d.b = true, nil
		return nil
	}
	out := d.b[:n:n]
	d.b = d.b[n:]
	return out
}

// count reads a number of things of at least so many bytes each.
func (d *decoder) count(size int) int { return int(d.number(uint64(len(d.b) / size))) }

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
	const least = 39 // bytes of the shortest
	n := d.count(least)
	x.slots, x.length, x.ids = make([]slot, 0, n), make([]uint32, 0, n), make(map[string]uint32, n)
	names := string(d.bytes(d.number(math.MaxInt32))) // one string for all
	for range n {
		var s slot
		size := d.number(uint64(len(names)))
		s.id, names = names[:size], names[size:]
		copy(s.sum[:], d.bytes(uint64(len(s.sum))))
		day, k := binary.Varint(d.b)
		if k <= 0 {
			d.bad = true
			return
		}
		d.b = d.b[k:]
		s.day = int32(day)
		for _, n := range []*uint32{&s.title, &s.body, &s.joined, &s.extra} {
			*n = uint32(d.number(maxDocTokens))
		}
		s.terms = d.bytes(d.number(math.MaxInt32))
		if _, twice := x.ids[s.id]; d.bad || twice {
			d.bad = true
			return
		}
		x.ids[s.id] = uint32(len(x.slots))
		x.seat(s)
	}
}

func (d *decoder) terms(x *Index) {
	n := d.count(4)
	x.dict.ends = make([]uint32, n, n+n/8)
	ends := d.bytes(4 * uint64(n))
	for i := range x.dict.ends {
		if d.bad {
			return
		}
		x.dict.ends[i] = binary.LittleEndian.Uint32(ends[4*i:])
	}
	size := uint64(0)
	if size = d.number(math.MaxInt32); n > 0 && size != uint64(x.dict.ends[n-1]) {
		d.bad = true
	}
	x.dict.names = d.bytes(size)
	for i, end := range x.dict.ends {
		if d.bad || i > 0 && end < x.dict.ends[i-1] {
			d.bad = true
			return
		}
	}
	x.dict.rehash()
}

func (d *decoder) lists(x *Index) bool {
	n := x.dict.len()
	x.lists = make([]list, n, n+n/8)
	slots := uint64(len(x.slots))
	for i := range x.lists {
		l := &x.lists[i]
		l.df, l.last, l.rest = uint32(d.number(slots)), uint32(d.number(max(slots, 1)-1)), uint32(d.number(many+1))
		switch {
		case d.bad || slots == 0 || l.rest == 0:
			return false // after compaction each term is somewhere
		case l.rest < many:
			if l.df != 1 || l.rest > maxTF || l.rest%grain != 0 {
				return false
			}
		case l.rest == many:
			block := d.bytes(d.number(math.MaxInt32))
			l.rest = many + uint32(len(x.blocks))
			x.blocks = append(x.blocks, block)
		default:
			c, ok := d.crowd(l)
			if !ok {
				return false
			}
			l.rest = crowded + uint32(len(x.crowds))
			x.crowds = append(x.crowds, c)
		}
	}
	return true
}

// crowd reads the crowd of a list.
func (d *decoder) crowd(l *list) (c crowd, ok bool) {
	words := uint64(l.last)/64 + 1
	has, tf := d.bytes(8*words), d.bytes(2*uint64(l.df))
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
