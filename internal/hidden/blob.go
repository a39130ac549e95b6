package hidden

import (
	"strings"
	"unicode/utf8"
)

// Caps on decoding. Every blob is decoded once, its text at most once more.
const (
	maxBlobs   = 64   // blobs of one text
	maxDecoded = 4096 // bytes of one decoded text
	maxDepth   = 2    // encodings inside encodings
	minBase64  = 16   // characters; twelve bytes hold two words
	minHex     = 24
	minEscapes = 3 // percent escapes of one run
)

// A Blob is a run of text in an encoding and what it decodes to: valid UTF-8, at most
// 4,096 bytes, meant for scanning and never for showing. Encodings inside are
// resolved too.
type Blob struct {
	Offset, Length int
	Text           string
	// Words: it decodes to words of a language, and nobody writes them like that by
	// accident. False for markup, data and percent escapes of ordinary URLs, which
	// only another screen can judge.
	Words bool
}

// Blobs returns at most 64 runs of text that decode to printable text with words in it:
// base64 (both alphabets), hexadecimal, percent escapes, ROT13, digits for letters,
// and letters with spaces in between. Digests, keys, images and identifiers
// do not decode to text.
func Blobs(text string) []Blob {
	var out []Blob
	plainTo := 0 // up to here there is no run with enough percent escapes
	if strings.Count(text, "%") < minEscapes {
		plainTo = len(text)
	}
	for i := 0; i < len(text) && len(out) < maxBlobs; {
		if i >= plainTo && (text[i] == '%' || token(text[i])) {
			end, escapes := i, 0
			for end < len(text) && inURL(text[end]) {
				if text[end] == '%' {
					escapes++
				}
				end++
			}
			if escapes >= minEscapes {
				if b, ok := percent(text, i, end); ok {
					out = append(out, b)
				}
				i = end
				continue
			}
			plainTo = end
		}
		if !token(text[i]) {
			i++
			continue
		}
		end := i
		for end < len(text) && token(text[end]) {
			end++
		}
		if end-i >= minBase64 {
			if b, ok := blobAt(text, i, end, 0); ok {
				out = append(out, b)
			}
		}
		i = end
	}
	return append(out, phrases(text)...)
}

// inURL reports the characters that percent-encoded text is written with.
func inURL(c byte) bool { return token(c) || strings.IndexByte("%.~()!*',:;@$", c) >= 0 }

// encoded turns blobs of words into findings. The others are for the screens that
// judge what they say.
func encoded(text string) []Finding {
	var out []Finding
	for _, b := range Blobs(text) {
		if b.Words {
			out = append(out, Finding{Rule: "hidden.encoded", Offset: b.Offset, Length: b.Length, Carries: true})
		}
	}
	return out
}

func token(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c == '+' || c == '/' || c == '-' || c == '_'
}

// blobAt decodes the run of token characters text[i:end], in one piece or behind one of
// its first slashes or dashes (a path or a name in front).
func blobAt(text string, i, end, depth int) (Blob, bool) {
	for tries := 0; tries < 4 && end-i >= minBase64; tries++ {
		if s, ok := decode(text[i:end]); ok {
			for end < len(text) && text[end] == '=' {
				end++
			}
			words := isProse(s)
			if inner, ok := nested(s, depth+1); ok {
				s, words = inner.Text, words || inner.Words
			}
			if hasWords(s) {
				return Blob{i, end - i, s, words}, true
			}
			return Blob{}, false
		}
		cut := strings.IndexAny(text[i:end], "/-_+")
		if cut < 0 {
			break
		}
		i += cut + 1
	}
	return Blob{}, false
}

// nested decodes text that is an encoding as a whole.
func nested(s string, depth int) (Blob, bool) {
	s = strings.TrimRight(s, "= \r\n")
	if depth >= maxDepth || len(s) < minBase64 {
		return Blob{}, false
	}
	for i := 0; i < len(s); i++ {
		if !token(s[i]) {
			return Blob{}, false
		}
	}
	return blobAt(s, 0, len(s), depth)
}

// decode returns the text behind a run in hexadecimal or base64, if it is text.
func decode(run string) (string, bool) {
	if len(run) >= minHex && len(run)%2 == 0 {
		if b, ok := fromHex(run); ok {
			return asText(b)
		}
	}
	var head [12]byte
	if n := fromBase64(head[:], run[:min(16, len(run))]); !printable(head[:n]) {
		return "", false
	}
	b := make([]byte, min(len(run)*3/4+1, maxDecoded))
	return asText(b[:fromBase64(b, run)])
}

func asText(b []byte) (string, bool) {
	if len(b) < 8 {
		return "", false
	}
	for !utf8.Valid(b) && len(b) > 0 && len(b) == maxDecoded {
		b = b[:len(b)-1] // cut inside a character
	}
	if !utf8.Valid(b) || !printable(b) {
		return "", false
	}
	return string(b), true
}

// printable reports bytes that are text as far as ASCII goes.
func printable(b []byte) bool {
	for _, c := range b {
		if c < ' ' && c != '\n' && c != '\r' && c != '\t' || c == 0x7F {
			return false
		}
	}
	return len(b) > 0
}

func fromHex(run string) ([]byte, bool) {
	out := make([]byte, 0, min(len(run)/2, maxDecoded))
	for i := 0; i+1 < len(run) && len(out) < maxDecoded; i += 2 {
		hi, lo := hexValue(run[i]), hexValue(run[i+1])
		if hi < 0 || lo < 0 {
			return nil, false
		}
		c := byte(hi<<4 | lo)
		if len(out) < 8 && (c < ' ' && c != '\n' || c == 0x7F) {
			return nil, false // a digest, as a rule, within two bytes
		}
		out = append(out, c)
	}
	return out, true
}

func hexValue(c byte) int {
	switch {
	case c >= '0' && c <= '9':
		return int(c - '0')
	case c|0x20 >= 'a' && c|0x20 <= 'f':
		return int(c|0x20-'a') + 10
	}
	return -1
}

// fromBase64 decodes either alphabet of RFC 4648 into dst and returns the bytes written.
func fromBase64(dst []byte, src string) int {
	var acc uint32
	bits, n := 0, 0
	for i := 0; i < len(src) && n < len(dst); i++ {
		var v byte
		switch c := src[i]; {
		case c >= 'A' && c <= 'Z':
			v = c - 'A'
		case c >= 'a' && c <= 'z':
			v = c - 'a' + 26
		case c >= '0' && c <= '9':
			v = c - '0' + 52
		case c == '+' || c == '-':
			v = 62
		default:
			v = 63
		}
		acc = acc<<6 | uint32(v)
		if bits += 6; bits >= 8 {
			bits -= 8
			dst[n] = byte(acc >> bits)
			n++
		}
	}
	return n
}

// percent decodes a run with percent escapes. Escaped letters and digits, which no
// encoder produces, are what makes it more than a URL.
func percent(text string, i, end int) (Blob, bool) {
	var b []byte
	needless := 0
	for j := i; j < end && len(b) < maxDecoded; j++ {
		c := text[j]
		if c == '%' && j+2 < end+1 && j+2 < len(text) {
			if hi, lo := hexValue(text[j+1]), hexValue(text[j+2]); hi >= 0 && lo >= 0 {
				c = byte(hi<<4 | lo)
				j += 2
				if token(c) && c != '/' && c != '+' {
					needless++
				}
			}
		} else if c == '+' {
			c = ' '
		}
		b = append(b, c)
	}
	if !printable(b) || !utf8.Valid(b) || !hasWords(string(b)) && needless < minEscaped {
		return Blob{}, false
	}
	return Blob{i, end - i, string(b), needless >= minEscaped}, true
}

// hasWords reports at least two words of three letters or more.
func hasWords(s string) bool {
	n, length := 0, 0
	for i := 0; i <= len(s); i++ {
		if i < len(s) && s[i]|0x20 >= 'a' && s[i]|0x20 <= 'z' {
			length++
			continue
		}
		if length >= 3 {
			n++
		}
		length = 0
	}
	return n >= 2
}

// isProse reports at least three words between spaces, which are half of all that
// stands between spaces: sentences, not markup, paths or tables.
func isProse(s string) bool {
	fields, words := 0, 0
	for f := range strings.FieldsSeq(s) {
		fields++
		f = strings.Trim(f, ".,:;!?()[]{}'\"<>/*")
		n := 0
		for n < len(f) && (f[n]|0x20 >= 'a' && f[n]|0x20 <= 'z' || f[n] >= 0x80 || f[n] == '\'') {
			n++
		}
		if n >= 2 && n == len(f) {
			words++
		}
	}
	return words >= 3 && words*2 >= fields
}
