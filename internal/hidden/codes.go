package hidden

import "strings"

// minCodes is the least number of numbers in a row that are read as characters.
const minCodes = 12

// bases are the notations of a character's code: a prefix, the digits' base, and how
// many digits there may be.
var bases = [...]struct {
	prefix   string
	base     int
	min, max int
}{
	{"0x", 16, 2, 2},
	{"U+", 16, 4, 4},
	{"\\u", 16, 4, 4},
	{"%u", 16, 4, 4},
	{"\\x", 16, 2, 2},
	{"\\", 8, 3, 3},
	{"=", 16, 2, 2},
	{"0b", 2, 7, 8},
	{"", 2, 7, 8},
	{"", 16, 2, 2},
	{"", 10, 2, 3},
	{"", 8, 3, 3},
}

// codes finds rows of numbers that are the codes of ASCII characters: hexadecimal,
// decimal, octal or binary, with a space, a comma, a colon or nothing in between.
func codes(text string) []Blob {
	var out []Blob
	for i := 0; i < len(text) && len(out) < maxBlobs; {
		end := i
		for end < len(text) && tokenBytes.has(text[end]) {
			end++
		}
		if !startsCode(text, i, end) {
			i = max(end, i+1)
			continue
		}
		end = max(end, i+1)
		for k := range bases {
			_, n, to := codesOf(nil, text, i, k)
			if n < minCodes {
				continue
			}
			end = max(end, to) // a row of numbers that is no text is not read again from its middle
			b, _, to := codesOf(make([]byte, 0, n), text, i, k)
			if printable(b) && hasWords(string(b)) && varied(string(b)) && legible(b) {
				out = append(out, Blob{i, to - i, string(b), isProse(string(b)) || active(string(b))})
				end = to
				break
			}
		}
		i = end
	}
	return out
}

// startsCode reports that a number in one of the notations can begin at i, where a token
// to end begins: a prefix, or digits as many as a code has, and no more.
func startsCode(text string, i, end int) bool {
	switch c := text[i]; {
	case c == '\\' || c == '%' || c == '=' || c == 'U':
		return i+3 < len(text) && (i == 0 || text[i-1] != c)
	case hexValue(c) < 0:
		return false
	}
	switch n := end - i; {
	case n == 2, n == 3, n == 4 && text[i] == '0':
		return true
	default:
		return (text[i] == '0' || text[i] == '1') && (n == 7 || n >= 8 && n%8 == 0 || n == 9 || n == 10)
	}
}

// codesOf reads numbers of one notation from i on, appends their characters to dst if
// that has room, and returns how many there are and where they end.
func codesOf(dst []byte, text string, i, k int) (out []byte, count, end int) {
	n := bases[k]
	end = i
	for p := i; p < len(text) && count < maxDecoded; {
		if !strings.HasPrefix(text[p:], n.prefix) {
			break
		}
		q, v := p+len(n.prefix), 0
		start := q
		for q < len(text) && q-start < n.max {
			d := hexValue(text[q])
			if d < 0 || d >= n.base {
				break
			}
			v = v*n.base + d
			q++
		}
		if q-start < n.min || v < ' ' && v != '\n' && v != '\t' || v > '~' {
			break
		}
		if count++; cap(dst) > 0 {
			dst = append(dst, byte(v))
		}
		end = q
		gap := q
		for q < len(text) && q-gap < 3 && strings.IndexByte(" ,:;|\n", text[q]) >= 0 {
			q++
		}
		if n.prefix == "" && q == gap && (n.base != 2 || n.max != 8) {
			break // numbers without a prefix need something between them
		}
		p = q
	}
	return dst, count, end
}

// legible reports mostly letters and spaces, which a table of numbers is not.
func legible(b []byte) bool {
	n := 0
	for _, c := range b {
		if c|0x20 >= 'a' && c|0x20 <= 'z' || c == ' ' {
			n++
		}
	}
	return n*10 >= len(b)*8
}

// fromBase32 decodes the alphabet of RFC 4648, section 6, in capitals; ok is false when
// another byte is in it.
func fromBase32(run string) ([]byte, bool) {
	var out []byte
	acc, bits := uint64(0), 0
	for i := 0; i < len(run) && len(out) < maxDecoded; i++ {
		v := strings.IndexByte("ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", run[i])
		if v < 0 {
			return nil, false
		}
		acc = acc<<5 | uint64(v)
		if bits += 5; bits >= 8 {
			bits -= 8
			out = append(out, byte(acc>>bits))
			if len(out) == 8 && !printable(out) {
				return nil, false
			}
		}
	}
	return out, true
}
