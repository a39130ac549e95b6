package lexical

import (
	"encoding/binary"
	"math/bits"
)

// A document's words are varints of their terms, and a search wants to know where in them
// a few terms stand. It looks at eight bytes at a time for the first byte of each, and
// reads what begins there; the places between are a count of the bytes that end one.

// needle is a term to look for.
type needle struct {
	splat uint64 // its first byte, eight times
	bytes uint32 // its varint, little endian
	mask  uint32 // 0xff for each of them
	term  uint32
	unit  uint16
}

const (
	lows  = 0x0101010101010101
	highs = 0x8080808080808080
	// maxNeedles is how many are looked for at once; reading every word is as fast as
	// looking for more.
	maxNeedles = 8
)

// needleOf gives the needle of a term, which has fewer than 2^28 before it.
func needleOf(term uint32, unit uint16) needle {
	var b [binary.MaxVarintLen32]byte
	size := binary.PutUvarint(b[:], uint64(term))
	return needle{uint64(b[0]) * lows, binary.LittleEndian.Uint32(b[:]), 1<<(8*size) - 1, term, unit}
}

// spot finds the needles among the first of the terms of b, as many as there are words,
// and appends their places, from 0, in order.
func spot(met []place, needles []needle, b []byte, words uint32) []place {
	at, i := 0, uint32(0)
	before := uint64(0) // the last byte of the eight before, where a term ends 0
	for ; at+11 < len(b) && i < words; at += 8 {
		v := binary.LittleEndian.Uint64(b[at:])
		hits := uint64(0)
		for k := range needles {
			x := v ^ needles[k].splat
			hits |= (x - lows) &^ x // the high bit of each byte that is the same, and of few others
		}
		goesOn := v & highs
		hits &= highs &^ (goesOn<<8 | before) // that a term begins with
		for ; hits != 0; hits &= hits - 1 {
			o := bits.TrailingZeros64(hits) / 8
			here := binary.LittleEndian.Uint32(b[at+o:])
			for k := range needles {
				if n := &needles[k]; here&n.mask == n.bytes {
					p := i + uint32(o-bits.OnesCount64(goesOn&(1<<(8*o)-1)))
					if p < words {
						met = append(met, place{p, n.unit})
					}
					break
				}
			}
		}
		i += uint32(8 - bits.OnesCount64(goesOn))
		before = goesOn >> 56
	}
	if before != 0 { // a term that began in what was looked at
		for b[at] >= 0x80 {
			at++
		}
		at++
		i++
	}
	for v := uint32(0); at < len(b) && i < words; i++ {
		v, at = uvarint(b, at)
		for k := range needles {
			if n := &needles[k]; v == n.term {
				met = append(met, place{i, n.unit})
			}
		}
	}
	return met
}
