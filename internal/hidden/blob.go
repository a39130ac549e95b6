package hidden

import (
	"strings"
	"unicode/utf8"

	"github.com/memoryroom/scribe/internal/fold"
)

// Caps on decoding. Every blob is decoded once, its text at most once more.
const (
	maxBlobs   = 64   // blobs of one text
	maxDecoded = 4096 // bytes of one decoded text
	maxDepth   = 3    // encodings inside encodings
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
			if b, ok := wrapped(text, i, end); ok {
				out = append(out, b)
				end = max(end, b.Offset+b.Length)
			} else if b, ok := blobAt(text, i, end, 0); ok {
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
func encoded(blobs []Blob) []Finding {
	var out []Finding
	for _, b := range blobs {
		if b.Words {
			out = append(out, Finding{Rule: "hidden.encoded", Offset: b.Offset, Length: b.Length, Carries: true})
		}
	}
	return out
}

func token(c byte) bool {
	return c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z' || c == '+' || c == '/' || c == '-' || c == '_'
}

// wrapped decodes a run that goes on behind single spaces or line ends, in pieces whose
// length is a multiple of four, as line-wrapped base64 has.
func wrapped(text string, i, end int) (Blob, bool) {
	var joined []byte
	for piece := i; ; {
		n := end - piece
		joined = append(joined, text[piece:end]...)
		next := end
		for next < len(text) && next-end < 3 && (text[next] == ' ' || text[next] == '\n' || text[next] == '\r') {
			next++
		}
		last := next
		for last < len(text) && token(text[last]) {
			last++
		}
		if n%4 != 0 || n < minBase64 || next == end || last == next || len(joined) > maxDecoded || last-next > n {
			break
		}
		piece, end = next, last
	}
	if len(joined) == end-i {
		return Blob{}, false
	}
	b, ok := blobAt(string(joined), 0, len(joined), 0)
	if !ok || b.Offset > 0 || !b.Words {
		return Blob{}, false
	}
	for end < len(text) && text[end] == '=' {
		end++
	}
	b.Offset, b.Length = i, end-i
	return b, true
}

// blobAt decodes the run of token characters text[i:end], in one piece or behind one of
// its first slashes or dashes (a path or a name in front).
func blobAt(text string, i, end, depth int) (Blob, bool) {
	for tries := 0; tries < 4 && end-i >= minBase64; tries++ {
		if s, ok := decode(text[i:end]); ok {
			for end < len(text) && text[end] == '=' {
				end++
			}
			words := isProse(s) || active(s)
			if inner, ok := nested(s, depth+1); ok {
				s, words = inner.Text, words || inner.Words
			}
			if hasWords(s) || words {
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

// active reports markup or a command line that runs something where it is opened: no
// data that has to be encoded.
func active(s string) bool {
	for _, w := range [...]string{"<script", "javascript:", " onerror=", " onload=", "<iframe", "|sh", "| sh", "|bash", "| bash", "bash -i", "/dev/tcp/", "invoke-expression", "iex(", "iex ("} {
		if containsFold(s, w) {
			return true
		}
	}
	return false
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
	if digits := strings.TrimPrefix(run, "0x"); len(digits) >= minHex && len(digits)%2 == 0 {
		if b, ok := fromHex(digits); ok {
			return asText(b)
		}
	}
	if b, ok := fromBase32(run); ok {
		if s, ok := asText(b); ok {
			return s, true
		}
	}
	var head [12]byte
	n := fold.Base64(head[:], run[:min(16, len(run))])
	wide := n > 7 && head[1] == 0 && head[3] == 0 && head[5] == 0 && head[7] == 0
	if !wide && !printable(head[:n]) {
		return "", false
	}
	b := make([]byte, min(len(run)*3/4+1, maxDecoded))
	b = b[:fold.Base64(b, run)]
	if wide { // UTF-16, little-endian, as PowerShell takes it
		for i := 0; i*2 < len(b); i++ {
			if i*2+1 < len(b) && b[i*2+1] != 0 {
				return "", false
			}
			b[i] = b[i*2]
		}
		b = b[:len(b)/2]
	}
	return asText(b)
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

// percent decodes a run with percent escapes, also of escapes. Escaped letters and digits,
// which no encoder produces, are what makes it more than a URL; so does a sentence,
// where a query has search words.
func percent(text string, i, end int) (Blob, bool) {
	b, needless := unescape(text[i:end])
	for range maxDepth - 1 {
		if strings.Count(string(b), "%") < minEscapes {
			break
		}
		more, n := unescape(string(b))
		b, needless = more, needless+n
	}
	if !printable(b) || !utf8.Valid(b) || !hasWords(string(b)) && needless < minEscaped {
		return Blob{}, false
	}
	words := needless >= minEscaped || strings.Count(text[i:end], "%20") >= minPlus && !mail(text, i) && isSentence(string(b[strings.LastIndexByte(string(b), '=')+1:]))
	return Blob{i, end - i, string(b), words}, true
}

// mail reports that what stands in front of i without a space is a mail address.
func mail(text string, i int) bool {
	from := strings.LastIndexAny(text[:i], " \n\t(<\"'") + 1
	return strings.HasPrefix(text[from:i], "mailto:")
}

// unescape resolves percent escapes and plus signs, and counts the escapes of letters,
// digits and signs that need none (RFC 3986, section 2.3).
func unescape(run string) (b []byte, needless int) {
	for j := 0; j < len(run) && len(b) < maxDecoded; j++ {
		c := run[j]
		if c == '%' && j+2 < len(run) {
			if hi, lo := hexValue(run[j+1]), hexValue(run[j+2]); hi >= 0 && lo >= 0 {
				c = byte(hi<<4 | lo)
				j += 2
				if token(c) && c != '/' && c != '+' || c == '.' || c == '~' {
					needless++
				}
			}
		} else if c == '+' {
			c = ' '
		}
		b = append(b, c)
	}
	return b, needless
}

const (
	minSentence = 5 // words of a sentence in a URL
	minPlus     = 4 // signs or escapes for spaces
)

// isSentence reports at least minSentence words, with a capital in front or a full stop or
// colon, two of them common, and hardly anything else. Code and data are none.
func isSentence(s string) bool {
	fields, words, usual, stops := 0, 0, 0, 0
	for f := range strings.FieldsSeq(s) {
		fields++
		w := strings.Trim(f, ".,:;!?\"'")
		if len(w) < len(f) {
			stops++
		}
		n := 0
		var buf [maxCommon]byte
		for n < len(w) && (w[n]|0x20 >= 'a' && w[n]|0x20 <= 'z' || w[n] == '\'' || w[n] == '-') {
			if n < len(buf) {
				buf[n] = w[n] | 0x20
			}
			n++
		}
		if n == len(w) && n > 0 {
			words++
			if n <= len(buf) && common(buf[:n]) {
				usual++
			}
		}
	}
	return words >= minSentence && words*5 >= fields*4 && usual >= 2 && (stops > 0 || s[0] >= 'A' && s[0] <= 'Z')
}

// queries finds the values of URL parameters in which plus signs stand for spaces.
func queries(text string) []Blob {
	var out []Blob
	for i := strings.Index(text, "://"); i >= 0 && i < len(text) && len(out) < maxBlobs; {
		eq := strings.IndexByte(text[i:], '=')
		if eq < 0 {
			break
		}
		start := i + eq + 1
		end, plus := start, 0
		for end < len(text) && inURL(text[end]) && text[end] != '&' {
			if text[end] == '+' {
				plus++
			}
			end++
		}
		if plus >= minPlus && strings.Count(text[start:end], "%") < minEscapes {
			if b, _ := unescape(text[start:end]); printable(b) && hasWords(string(b)) {
				out = append(out, Blob{start, end - start, string(b), false})
			}
		}
		i = max(end, start)
	}
	return out
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
