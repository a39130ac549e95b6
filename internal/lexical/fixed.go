package lexical

import "math/bits"

// Scores are integers in units of 1e-6, from one end to the other. Floating point
// would do for ranking, but Go may fuse a multiplication and an addition on one
// architecture and not on another, and math.Log is written per architecture: a
// replayed search has to give the same bytes everywhere.

// log2 gives the binary logarithm of x, at least 1, with 24 fractional bits, rounded
// down: the integer part is the length, each fractional bit comes from squaring.
func log2(x uint64) int64 {
	n := bits.Len64(x) - 1
	m := x << (63 - n) // 1.63 fixed point, in [1, 2)
	out := int64(n)
	for range 24 {
		out <<= 1
		hi, lo := bits.Mul64(m, m)
		if hi>>63 != 0 {
			out |= 1
			m = hi
		} else {
			m = hi<<1 | lo>>63
		}
	}
	return out
}

// ln2 is the natural logarithm of 2, times 1e6.
const ln2 = 693_147

// idf is the weight of a term that df of n documents hold, in 1e-6:
// ln(1 + (n-df+.5)/(df+.5)), which is ln((2n+2)/(2df+1)) and never negative
// (Robertson and Zaragoza 2009, with Lucene's 1 +).
func idf(n, df int) int64 {
	return (log2(uint64(2*n+2)) - log2(uint64(2*df+1))) * ln2 >> 24
}

// root is the square root, rounded down; of 1e-6 it gives 1e-3.
func root(v int64) int64 {
	var r int64
	for bit := int64(1) << 30; bit > 0; bit >>= 2 {
		if v >= r+bit {
			v -= r + bit
			r += 2 * bit
		}
		r >>= 1
	}
	return r
}

// BM25F parameters. k1 is the usual one; b is low because notes are short, and a
// longer one is no wordier: 0.75 costs 0.007 nDCG on turns and facts.
const (
	k1 = 1_200_000 // 1.2, in 1e-6
	kb = 400_000   // 0.4, in 1e-6
)

// slopeBits is the number of fractional bits of a slope.
const slopeBits = 12

// damping gives k1*(1-b+b*length/mean) as a line over the length in words: a fixed
// part, and a slope with slopeBits more bits, both in 1e-6. There are n documents with
// total words together. Lengths are below 2^17, so the line is below 2^61.
func damping(n, total int64) (fixed, slope int64) {
	if total == 0 {
		return k1, 0
	}
	const perMean = k1 / 1000 * kb / 1000
	return k1 - perMean, perMean << slopeBits * n / total
}

// fracBits is the number of fractional bits of a saturation.
const fracBits = 20

// saturation is tf*(k1+1)/(tf+damp), below k1+1. tf is in tenths, at most maxTF.
func saturation(tf, damp int64) int64 {
	return tf * (k1 + 1_000_000) / 10 << fracBits / (tf*100_000 + damp)
}

// gain is a term's contribution in 1e-6: worth times its saturation.
func gain(worth, tf, damp int64) int64 { return worth * saturation(tf, damp) >> fracBits }

// saturations is the saturation of nearly every posting: of a weight below that of four
// words of the body, in a document of fewer than a thousand words. A division each
// would be half the work of a search. Of each, it is reckoned when it is first asked for.
type saturations struct {
	n, total     int64 // of the documents that it was made for
	fixed, slope int64
	known        [tabled << 10]uint32 // by weight in grains and ten bits of length; 0: not reckoned
}

const tabled = 40 / grain

// prepare empties the table for n documents of total words, unless it is theirs.
func (t *saturations) prepare(n, total int64) {
	if t.n == n && t.total == total {
		return
	}
	t.n, t.total = n, total
	t.fixed, t.slope = damping(n, total)
	t.known = [len(t.known)]uint32{}
}

// at gives the saturation of a weight in grains, if it is known, or 0. Loops ask it before
// reckon, since the compiler puts it in their place.
func (t *saturations) at(tf, length uint32) int64 {
	if i := tf<<10 | length; length < 1<<10 && i < uint32(len(t.known)) {
		return int64(t.known[i])
	}
	return 0
}

func (t *saturations) reckon(tf, length uint32) int64 {
	v := saturation(int64(tf)*grain, t.damp(length))
	if tf < tabled && length < 1<<10 {
		t.known[tf<<10|length] = uint32(v)
	}
	return v
}

// damp is that of a document.
func (t *saturations) damp(length uint32) int64 {
	return t.fixed + int64(length)*t.slope>>slopeBits
}

// halves is 2^(-n/30) for n from 0 to 29, in 1e-6, rounded.
var halves = [30]int64{
	1_000_000, 977_160, 954_842, 933_033, 911_722, 890_899, 870_551, 850_667, 831_238, 812_252,
	793_701, 775_573, 757_858, 740_549, 723_635, 707_107, 690_956, 675_175, 659_754, 644_685,
	629_961, 615_572, 601_513, 587_774, 574_349, 561_231, 548_412, 535_887, 523_647, 511_687,
}

// recency halves every 30 days, in 1e-6; of an unknown day it is a half, and nothing is
// newer than today.
func recency(today, day int32) int64 {
	if day == 0 {
		return 500_000
	}
	age := max(0, int64(today)-int64(day))
	return halves[age%30] >> min(age/30, 62)
}
