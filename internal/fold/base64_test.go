package fold

import (
	"encoding/base64"
	"testing"

	"pgregory.net/rapid"
)

// TestBase64 compares with encoding/base64, and with what ends a run.
func TestBase64(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOf(rapid.Byte()).Draw(t, "bytes")
		enc := rapid.SampledFrom([]*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding}).Draw(t, "alphabet")
		text := enc.EncodeToString(want)
		behind := rapid.SampledFrom([]string{"", "=", " QUJD", "\nQUJD"}).Draw(t, "behind")
		got := make([]byte, len(text)+len(behind))
		if n := Base64(got, text+behind); string(got[:n]) != string(want) {
			t.Errorf("got %x, want %x", got[:n], want)
		}
		if short := got[:len(want)/2]; Base64(short, text) != len(short) || string(short) != string(want[:len(short)]) {
			t.Errorf("a short buffer: got %x", short)
		}
	})
}
