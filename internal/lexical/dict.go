package lexical

import "hash/maphash"

// dict numbers terms. Go's map of strings would take three times its memory, an
// allocation for each term, and as many again when a cache is read; here the terms lie
// end to end, and the table holds numbers alone.
//
// The hash is seeded anew for each table, so that no text can be written whose terms
// collide. Nothing that leaves the package depends on it.
type dict struct {
	seed  maphash.Seed
	table []uint32 // number + 1, or 0; open addressing, a power of two in length
	names []byte   // every term, end to end
	ends  []uint32 // by number: where its term ends in names
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

// find gives the number of a term that is there.
func (d *dict) find(term []byte) (id uint32, ok bool) {
	if len(d.table) == 0 {
		return 0, false
	}
	mask := uint64(len(d.table) - 1)
	for at := maphash.Bytes(d.seed, term) & mask; ; at = (at + 1) & mask {
		switch n := d.table[at]; {
		case n == 0:
			return 0, false
		case string(d.name(n-1)) == string(term):
			return n - 1, true
		}
	}
}

// add gives the number of a term, new or not.
func (d *dict) add(term []byte) (id uint32, fresh bool) {
	if 4*(len(d.ends)+1) > 3*len(d.table) {
		d.rehash()
	}
	mask := uint64(len(d.table) - 1)
	at := maphash.Bytes(d.seed, term) & mask
	for ; d.table[at] != 0; at = (at + 1) & mask {
		if n := d.table[at]; string(d.name(n-1)) == string(term) {
			return n - 1, false
		}
	}
	d.names = append(d.names, term...)
	d.ends = append(d.ends, uint32(len(d.names)))
	d.table[at] = uint32(len(d.ends))
	return uint32(len(d.ends) - 1), true
}

// rehash makes the table anew, with room for as many terms again.
func (d *dict) rehash() {
	size := 64
	for 3*size < 8*len(d.ends) {
		size *= 2
	}
	d.table = make([]uint32, size)
	mask := uint64(size - 1)
	for id := range d.ends {
		at := maphash.Bytes(d.seed, d.name(uint32(id))) & mask
		for d.table[at] != 0 {
			at = (at + 1) & mask
		}
		d.table[at] = uint32(id) + 1
	}
}
