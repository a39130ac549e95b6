package lexical

import (
	"bytes"
	"encoding/binary"
	"hash/maphash"
	"slices"
)

// dict numbers terms. Go's map of strings would take three times its memory, an
// allocation for each term, and as many again when a cache is read; here the terms lie
// end to end, and the table holds numbers alone.
//
// The hash is seeded anew for each table, so that no text can be written whose terms
// collide. Nothing that leaves the package depends on it.
type dict struct {
	seed  maphash.Seed
	table []uint32 // see entry; open addressing, a power of two in length
	names []byte   // every term, end to end
	ends  []uint32 // by number: where its term ends in names
	order []byte   // of one that was read, until a term is added: the numbers in the order of their terms
}

func newDict() dict { return dict{seed: maphash.MakeSeed()} }

func (d *dict) len() int { return len(d.ends) }

// name is the term of a number. It must not be changed.
func (d *dict) name(id uint32) []byte {
	from := uint32(0)
	if id > 0 {
		from = d.ends[id-1]
	}
	return d.names[from:d.ends[id]]
}

// entry is what stands in the table for a term: its number + 1 in as many bits as the
// table's places have, and above them bits of the term's hash, so that other terms are
// hardly ever compared. 0 is a free place.
func entry(hash uint64, id, mask uint32) uint32 { return uint32(hash>>32)&^mask | (id + 1) }

// look finds the place of a term, or the free one where it belongs. The table is not empty.
func (d *dict) look(hash uint64, term []byte) (at uint32, found bool) {
	mask := uint32(len(d.table) - 1)
	tag := uint32(hash>>32) &^ mask
	for at = uint32(hash) & mask; ; at = (at + 1) & mask {
		e := d.table[at]
		if e == 0 {
			return at, false
		}
		if e&^mask == tag && string(d.name(e&mask-1)) == string(term) {
			return at, true
		}
	}
}

// find gives the number of a term that is there.
func (d *dict) find(term []byte) (id uint32, ok bool) {
	if d.order != nil {
		return d.seek(term)
	}
	if len(d.table) == 0 {
		return 0, false
	}
	at, ok := d.look(maphash.Bytes(d.seed, term), term)
	return d.table[at]&uint32(len(d.table)-1) - 1, ok
}

// seek is find by order, which may be anything.
func (d *dict) seek(term []byte) (id uint32, ok bool) {
	low, high := 0, len(d.order)/4
	for low < high {
		mid := (low + high) / 2
		id := binary.LittleEndian.Uint32(d.order[4*mid:])
		if id >= uint32(len(d.ends)) {
			return 0, false
		}
		switch c := bytes.Compare(d.name(id), term); {
		case c == 0:
			return id, true
		case c < 0:
			low = mid + 1
		default:
			high = mid
		}
	}
	return 0, false
}

// sorted gives the numbers in the order of their terms.
func (d *dict) sorted() []uint32 {
	ids := make([]uint32, d.len())
	for i := range ids {
		ids[i] = uint32(i)
	}
	slices.SortFunc(ids, func(a, b uint32) int { return bytes.Compare(d.name(a), d.name(b)) })
	return ids
}

// add gives the number of a term, new or not.
func (d *dict) add(term []byte) (id uint32, fresh bool) {
	if 4*(len(d.ends)+1) > 3*len(d.table) {
		d.rehash()
	}
	hash, mask := maphash.Bytes(d.seed, term), uint32(len(d.table)-1)
	at, found := d.look(hash, term)
	if found {
		return d.table[at]&mask - 1, false
	}
	id = uint32(len(d.ends))
	d.names = append(d.names, term...)
	d.ends = append(d.ends, uint32(len(d.names)))
	d.table[at] = entry(hash, id, mask)
	return id, true
}

// rehash makes the table anew, with room for as many terms again.
func (d *dict) rehash() {
	size := 64
	for 3*size < 8*len(d.ends) {
		size *= 2
	}
	d.table, d.order = make([]uint32, size), nil
	mask := uint32(size - 1)
	for id := range d.ends {
		hash := maphash.Bytes(d.seed, d.name(uint32(id)))
		at := uint32(hash) & mask
		for d.table[at] != 0 {
			at = (at + 1) & mask
		}
		d.table[at] = entry(hash, uint32(id), mask)
	}
}
