package seal

import (
	"bytes"
	"crypto/sha256"
	"slices"
	"testing"

	"pgregory.net/rapid"
)

var key = []byte("a key of a room")

// pieces writes data in pieces of some sizes, over and over.
func pieces(s *Stream, data []byte, sizes ...int) *Stream {
	for i := 0; len(data) > 0; i++ {
		n := min(max(1, sizes[i%len(sizes)]), len(data))
		if k, err := s.Write(data[:n]); k != n || err != nil {
			panic("a write failed")
		}
		data = data[n:]
	}
	return s
}

// TestSame: a stream is the same however it is cut into writes, and no other one is: not
// one that is changed at one byte, shorter, longer, of other chunks, under another key or
// label, or with another's tokens.
func TestSame(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := make([]byte, rapid.SampledFrom([]int{0, 1, 100, chunk - 1, chunk, chunk + 1, 3*chunk + 7}).Draw(t, "size"))
		for i := range data {
			data[i] = byte(i / 251)
		}
		size := rapid.SampledFrom([]int{7_919, chunk, 2*chunk + 5, 1 << 20})
		tokens := pieces(New(key, "x"), data, size.Draw(t, "size 1"), size.Draw(t, "size 2")).Tokens()
		if len(tokens) != token*(len(data)/chunk+1) {
			t.Fatalf("%d bytes of tokens for %d", len(tokens), len(data))
		}
		check := func(key []byte, label string, tokens, data []byte) bool {
			return pieces(Against(key, label, tokens), data, size.Draw(t, "size 3")).Same()
		}
		if !check(key, "x", tokens, data) {
			t.Fatal("not the same")
		}
		if again := New(key, "x"); bytes.Equal(pieces(again, data, chunk).Tokens(), tokens) {
			t.Fatal("a nonce came twice")
		}
		if check([]byte("another"), "x", tokens, data) || check(key, "y", tokens, data) {
			t.Error("under another key or label")
		}
		if check(key, "x", tokens, append(slices.Clone(data), 0)) || check(key, "x", tokens[:len(tokens)-token], data) ||
			check(key, "x", append(slices.Clone(tokens), tokens...), data) || check(key, "x", nil, data) {
			t.Error("longer or shorter")
		}
		bad := slices.Clone(tokens)
		bad[rapid.IntRange(0, len(bad)-1).Draw(t, "token byte")] ^= 1
		if check(key, "x", bad, data) {
			t.Error("with other tokens")
		}
		if len(data) == 0 {
			return
		}
		other := slices.Clone(data)
		other[rapid.IntRange(0, len(data)-1).Draw(t, "byte")] ^= 1
		if check(key, "x", tokens, other) || check(key, "x", tokens, data[:len(data)-1]) {
			t.Error("another stream")
		}
		if len(data) > 2*chunk && check(key, "x", tokens, append(slices.Clone(data[chunk:2*chunk]), append(slices.Clone(data[:chunk]), data[2*chunk:]...)...)) {
			t.Error("chunks in another order")
		}
	})
}

func BenchmarkStream(b *testing.B) {
	data := make([]byte, 1<<20)
	tokens := pieces(New(key, "x"), data, chunk).Tokens()
	b.Run("seal", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			if !pieces(Against(key, "x", tokens), data, chunk).Same() {
				b.Fatal("not the same")
			}
		}
	})
	b.Run("sha256", func(b *testing.B) {
		b.SetBytes(int64(len(data)))
		b.ReportAllocs()
		for b.Loop() {
			sha256.Sum256(data)
		}
	})
}
