package lexical

import (
	"encoding/binary"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// TestSpot finds what a look at every word finds, whatever the lengths of the varints and
// wherever the words end.
func TestSpot(t *testing.T) {
	// Few terms of each length, some of which share bytes with others.
	term := rapid.SampledFrom([]uint32{
		0, 1, 2, 127, 128, 129, 130, 255, 256, 300, 1<<14 - 1, 1 << 14, 1<<14 + 1, 1<<14 + 128, 1<<21 - 1, 1 << 21, 1<<21 + 1, 1<<28 - 1,
	})
	rapid.Check(t, func(t *rapid.T) {
		terms := rapid.SliceOfN(term, 0, 60).Draw(t, "terms")
		words := rapid.IntRange(0, len(terms)).Draw(t, "words")
		var b []byte
		for _, v := range terms {
			b = binary.AppendUvarint(b, uint64(v))
		}
		var needles []needle
		for i, v := range rapid.SliceOfNDistinct(term, 1, maxNeedles, rapid.ID).Draw(t, "needles") {
			needles = append(needles, needleOf(v, uint16(i)))
		}
		var want []place
		for i, v := range terms[:words] {
			for _, n := range needles {
				if n.term == v {
					want = append(want, place{uint32(i), n.unit})
				}
			}
		}
		got := spot(nil, needles, b, uint32(words))
		if d := gocmp.Diff(got, want, gocmp.AllowUnexported(place{})); d != "" {
			t.Fatal(d)
		}
	})
}
