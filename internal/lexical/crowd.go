package lexical

import (
	"encoding/binary"
	"math/bits"
)

// crowd is the list of a term that many documents have. Whether one of them has it is a
// look at one bit, so that a search which knows its best documents asks for those alone
// and need not read the list; and how many documents have one of several terms is a
// count of bits.
type crowd struct {
	has    []uint64 // by slot, a bit each; as far as the last slot
	before []uint32 // by word of has: how many bits come before it
	tf     []uint16 // by bit that is set, in grains
	most   uint16   // the greatest of tf, or one of a removed document
}

const (
	// grain is what every weight is a multiple of, in tenths of an occurrence.
	grain = 5
	// crowdShare is the share of the documents, one in so many, from which on a list is
	// a crowd, and crowdLeast the least number of them. At one in sixteen the bits cost
	// as much as the steps that they stand for.
	crowdShare, crowdLeast = 16, 32
	// crowdLoss is how many times thinner than that a crowd may become before it is a
	// block again.
	crowdLoss = 4
)

// Places in list.rest.
const (
	many    = 1 << 17 // in blocks, from here on; above maxTF
	crowded = 1 << 31 // in crowds
)

// add appends a posting.
func (c *crowd) add(at, tf uint32) {
	for uint32(len(c.has)) <= at/64 {
		c.has = append(c.has, 0)
		c.before = append(c.before, uint32(len(c.tf)))
	}
	c.has[at/64] |= 1 << (at % 64)
	c.tf = append(c.tf, uint16(tf/grain))
	c.most = max(c.most, uint16(tf/grain))
}

// find gives the weight of a slot, in grains, or 0.
func (c *crowd) find(at uint32) uint32 {
	w, bit := at/64, uint64(1)<<(at%64)
	if w >= uint32(len(c.has)) || c.has[w]&bit == 0 {
		return 0
	}
	return uint32(c.tf[c.before[w]+uint32(bits.OnesCount64(c.has[w]&(bit-1)))])
}

// block gives the postings as a block has them.
func (c *crowd) block() []byte {
	b := make([]byte, 0, 2*len(c.tf)+16)
	k, before := 0, 0
	for w, set := range c.has {
		for ; set != 0; set &= set - 1 {
			at := w*64 + bits.TrailingZeros64(set)
			b = binary.AppendUvarint(b, uint64(at-before))
			b = binary.AppendUvarint(b, uint64(c.tf[k])*grain)
			before = at
			k++
		}
	}
	return b
}

// crowdOf makes a crowd of the postings of a block.
func crowdOf(block []byte) (c crowd) {
	at, step, tf := uint32(0), uint32(0), uint32(0)
	for i := 0; i < len(block); {
		step, i = uvarint(block, i)
		tf, i = uvarint(block, i)
		at += step
		c.add(at, tf)
	}
	return c
}

// crowds reports whether a list's documents are so many that it should be a crowd.
func (l *list) crowds() bool {
	return l.df >= crowdLeast && uint64(l.last) < uint64(l.df)*crowdShare
}

// postings is a list of an index that is whole.
func (x *Index) postings(term uint32) postings {
	p := postings{list: x.lists[term]}
	switch {
	case p.rest >= crowded:
		p.crowd = &x.crowds[p.rest-crowded]
	case p.rest >= many:
		p.block = x.blocks[p.rest-many]
	}
	return p
}

// post adds a posting to a list. Slots come in order.
func (x *Index) post(l *list, at, tf uint32) {
	switch {
	case l.rest == 0:
		l.rest = tf
	case l.rest < many:
		b := make([]byte, 0, 8)
		b = binary.AppendUvarint(b, uint64(l.last))
		b = binary.AppendUvarint(b, uint64(l.rest))
		l.rest = many + uint32(len(x.blocks))
		x.blocks = append(x.blocks, b)
		fallthrough
	case l.rest < crowded:
		b := &x.blocks[l.rest-many]
		*b = binary.AppendUvarint(*b, uint64(at-l.last))
		*b = binary.AppendUvarint(*b, uint64(tf))
	default:
		x.crowds[l.rest-crowded].add(at, tf)
	}
	l.last = at
	l.df++
	switch {
	case l.rest >= many && l.rest < crowded && l.crowds():
		block := &x.blocks[l.rest-many]
		l.rest = crowded + uint32(len(x.crowds))
		x.crowds = append(x.crowds, crowdOf(*block))
		*block = nil
	case l.rest >= crowded && uint64(at) > uint64(l.df)*crowdShare*crowdLoss:
		c := &x.crowds[l.rest-crowded]
		l.rest = many + uint32(len(x.blocks))
		x.blocks = append(x.blocks, c.block())
		*c = crowd{}
	}
}
