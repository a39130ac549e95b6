package lexical

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"math"
)

// An encoded index is flat, so that reading one is little more than reading a file:
//
//	cacheMagic
//	documents: number, then all IDs end to end
//	slots:     for each the length of its ID, its sum, its day, its four counts and its terms
//	terms:     number, then their ends, then all of them end to end
//	lists:     for each term df, last and rest or the block
//	CRC-32C of all before it, 4 bytes, little endian
//
// Numbers are varints and texts have their length before them; ends and the checksum
// are 4 bytes. The checksum finds what rots, and not what somebody forged: a reader
// takes nothing on trust that could make a search fail, and a caller must check each
// hit against the text that it gives away.
const cacheMagic = "scribe lexical 1\n"

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
		number(uint64(min(l.rest, many)))
		if l.rest >= many {
			block := x.block(l)
			number(uint64(len(block)))
			b = append(b, block...)
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
// index with other answers, and nothing worse.
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
	if d.bad || !d.lists(x) || len(d.b) > 0 || !x.sound() {
		return nil, errCache
	}
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
		l.df, l.last, l.rest = uint32(d.number(slots)), uint32(d.number(max(slots, 1)-1)), uint32(d.number(many))
		switch {
		case d.bad || slots == 0 || l.rest == 0:
			return false // after compaction each term is somewhere
		case l.rest < many:
			if l.df != 1 || l.rest > maxTF || l.rest%grain != 0 {
				return false
			}
		default:
			block := d.bytes(d.number(math.MaxInt32))
			if !l.holds(block) {
				return false
			}
			if l.crowds() {
				l.rest = crowded + uint32(len(x.crowds))
				x.crowds = append(x.crowds, crowdOf(block))
			} else {
				l.rest = many + uint32(len(x.blocks))
				x.blocks = append(x.blocks, block)
			}
		}
	}
	return true
}

// holds reports whether a block is df postings, the slots ascending to last.
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
	return n > 0 && n == l.df && at == uint64(l.last)
}

// sound reports whether the documents' terms are so many, and are all there.
func (x *Index) sound() bool {
	terms := uint64(x.dict.len())
	for i := range x.slots {
		s := &x.slots[i]
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
		if n != words+uint64(s.joined)+uint64(s.extra) {
			return false
		}
	}
	return true
}
