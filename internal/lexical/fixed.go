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

// BM25F parameters, the usual ones for short notes; moving them by a half changes
// ranking quality by 0.002.
const (
	k1 = 1_200_000 // 1.2, in 1e-6
	kb = 600_000   // 0.6, in 1e-6
)

// damp is k1*(1-b+b*length/mean) in 1e-6, for a document of the given length in
// tokens among n documents with total tokens.
func damp(length, n, total int64) int64 {
	if total == 0 {
		return k1
	}
	const fixed, slope = k1 / 1000 * (1_000_000 - kb) / 1000, k1 / 1000 * kb / 1000
	// At most 2^17 tokens a document and 2^24 documents: below 2^61.
	return fixed + slope*(length*n)/total
}

// gain is a term's contribution in 1e-6: idf * tf*(k1+1)/(tf+damp). tf is in
// tenths, at most maxTF.
func gain(idf, tf, damp int64) int64 {
	tf *= 100_000
	return idf * (tf * (k1 + 1_000_000) / 1_000_000) / (tf + damp)
}
