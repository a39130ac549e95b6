package secret

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/memoryroom/scribe/internal/fold"
)

// A view is a rewritten text with the way back. off[i] is the offset in the source
// of text[i], with one entry for the end; nil means the same offsets. Unlike
// [fold.View] it keeps case, because token alphabets and checksums depend on it.
type view struct {
	text string
	off  []int32
}

// mapped returns the findings with offsets of the source. It changes found.
func (v view) mapped(found []Finding) []Finding {
	if v.off == nil {
		return found
	}
	for i, f := range found {
		start := int(v.off[f.Offset])
		found[i].Offset, found[i].Length = start, int(v.off[f.Offset+f.Length])-start
	}
	return found
}

type builder struct {
	text []byte
	off  []int32
}

func (b *builder) add(c byte, at int) {
	b.text = append(b.text, c)
	b.off = append(b.off, int32(at))
}

func (b *builder) view(end int) view {
	return view{string(b.text), append(b.off, int32(end))}
}

func newBuilder(n int) builder {
	return builder{make([]byte, 0, n), make([]int32, 0, n+1)}
}

// escaped reports whether text begins with an escape that foldView resolves.
func escaped(text string) bool {
	_, n := unescape(text)
	return n > 0
}

// unescape returns the byte that the escape at the front of text stands for and the
// length of the escape; 0 when there is none. A backslash before a letter that is no
// escape stays.
func unescape(text string) (c byte, n int) {
	if len(text) < 2 {
		return 0, 0
	}
	switch text[0] {
	case '\\':
		switch e := text[1]; {
		case e == 'n' || e == 'r':
			return '\n', 2
		case e == 't':
			return ' ', 2
		case e == 'u' && len(text) >= 6 && text[2] == '0' && text[3] == '0':
			return hexByte(text[4:6], 6)
		case e == 'u' && len(text) >= 6 && text[2] == '{' && text[5] == '}':
			return hexByte(text[3:5], 6)
		case (e == '0' || e == '1') && len(text) >= 4:
			return octal(text[1:4])
		case e == 'x' && len(text) >= 4:
			return hexByte(text[2:4], 4)
		case e > ' ' && e < 0x7f && class[e]&isAlnum == 0:
			return e, 2
		}
	case '%':
		if len(text) >= 3 {
			return hexByte(text[1:3], 3)
		}
	case '=':
		if len(text) >= 3 && upperHex(text[1]) && upperHex(text[2]) { // quoted-printable writes capitals
			if c, n := hexByte(text[1:3], 3); n > 0 && class[c]&isAlnum == 0 {
				return c, n
			}
		}
	case '&':
		return entity(text)
	}
	return 0, 0
}

func upperHex(c byte) bool { return c >= '0' && c <= '9' || c >= 'A' && c <= 'F' }

// octal resolves the three digits of \055.
func octal(digits string) (byte, int) {
	v := 0
	for i := range len(digits) {
		if digits[i] < '0' || digits[i] > '7' {
			return 0, 0
		}
		v = v<<3 | int(digits[i]-'0')
	}
	if v <= ' ' || v >= 0x7f {
		return 0, 0
	}
	return byte(v), 4
}

func hexByte(digits string, n int) (byte, int) {
	if !hexDigit(digits[0]) || !hexDigit(digits[1]) {
		return 0, 0
	}
	c := nibble(digits[0])<<4 | nibble(digits[1])
	if c <= ' ' || c >= 0x7f {
		return 0, 0
	}
	return c, n
}

// entity resolves &#45; &#x2d; and the five named entities of XML.
func entity(text string) (byte, int) {
	for _, e := range [...]struct {
		name string
		c    byte
	}{{"&amp;", '&'}, {"&lt;", '<'}, {"&gt;", '>'}, {"&quot;", '"'}, {"&apos;", '\''}} {
		if strings.HasPrefix(text, e.name) {
			return e.c, len(e.name)
		}
	}
	if text[1] != '#' {
		return 0, 0
	}
	i, base := 2, 10
	if i < len(text) && lower(text[i]) == 'x' {
		i, base = 3, 16
	}
	start, v := i, 0
	for i < len(text) && i-start < 6 && hexDigit(text[i]) && (base == 16 || text[i] <= '9') {
		v = v*base + int(nibble(text[i]))
		i++
	}
	if i == start || i == len(text) || text[i] != ';' || v <= ' ' || v >= 0x7f {
		return 0, 0
	}
	return byte(v), i + 1
}

// foldable reports whether the rune at i may hide or replace part of a token: it is
// invisible, a compatibility or look-alike form of ASCII, and touches or is one.
// Quotation marks and the punctuation of Chinese text are not.
func foldable(text string, i int) bool {
	c := text[i]
	if c < 0xC2 || c >= 0xE3 && c <= 0xEE && c != 0xEA {
		return false
	}
	r, n := utf8.DecodeRuneInString(text[i:])
	if fold.Ignorable(r) {
		return true
	}
	to := replacement(r)
	if to == 0 {
		return false
	}
	return r >= 0xFF00 || to == '-' || neighbour(text, i-1) || neighbour(text, i+n) || amongASCII(text, i+n)
}

// maxAmong is how far behind a look-alike an ASCII letter of its word may stand.
const maxAmong = 48

// amongASCII reports whether the word that goes on at i has ASCII letters or digits.
func amongASCII(text string, i int) bool {
	for limit := min(len(text), i+maxAmong); i < limit; {
		if c := text[i]; c < utf8.RuneSelf {
			return class[c]&(isAlnum|isJoin) != 0
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		if replacement(r) == 0 && !fold.Ignorable(r) {
			return false
		}
		i += n
	}
	return false
}

func neighbour(text string, i int) bool {
	return i >= 0 && i < len(text) && class[text[i]]&(isAlnum|isJoin) != 0
}

// replacement returns the ASCII byte that r looks like, or 0. Only full-width forms,
// dashes and single letters count; full-width punctuation that Chinese text uses for
// itself is left alone except where tokens have it.
func replacement(r rune) byte {
	switch {
	case r >= 0xFF01 && r <= 0xFF5E:
		c := byte(r - 0xFF01 + '!')
		if class[c]&(isAlnum|isJoin) != 0 || strings.IndexByte("$=+/.", c) >= 0 {
			return c
		}
		return 0
	case r >= 0x2010 && r <= 0x2015 || r == 0x2212 || r == 0xFE63 || r == 0x2043:
		return '-'
	}
	if c := styled(r); c != 0 {
		return c
	}
	to := fold.LooksLike(r)
	if len(to) != 1 || class[to[0]]&(isAlnum|isJoin) == 0 {
		return 0
	}
	if unicode.IsUpper(r) && to[0] >= 'a' && to[0] <= 'z' {
		return to[0] - 'a' + 'A'
	}
	return to[0]
}

// styled returns the letter or digit that a mathematical or circled one is, or 0. The
// letters of the block that stand elsewhere (U+210E and others) are left out.
func styled(r rune) byte {
	const letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	switch {
	case r >= 0x1D400 && r <= 0x1D6A3:
		return letters[(r-0x1D400)%52]
	case r >= 0x1D7CE && r <= 0x1D7FF:
		return byte('0' + (r-0x1D7CE)%10)
	case r >= 0x24B6 && r <= 0x24E9:
		return letters[r-0x24B6]
	}
	return 0
}

// foldView drops what is invisible and replaces escapes and look-alikes. A look-alike is
// replaced only where it touches the rest of a token, so that Russian or Greek text
// stays what it is.
func foldView(text string) view {
	b := newBuilder(len(text))
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			if c == '\\' || c == '%' || c == '&' || c == '=' {
				if to, n := unescape(text[i:]); n > 0 {
					b.add(to, i)
					i += n
					continue
				}
			}
			b.add(c, i)
			i++
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		if fold.Ignorable(r) {
			i += n
			continue
		}
		last := len(b.text) - 1
		if to := replacement(r); to != 0 && (r >= 0xFF00 || to == '-' || last >= 0 && class[b.text[last]]&(isAlnum|isJoin) != 0 || amongASCII(text, i+n)) {
			b.add(to, i)
			i += n
			continue
		}
		for k := range n {
			b.add(text[i+k], i+k)
		}
		i += n
	}
	return b.view(len(text))
}

const (
	maxGroup  = 8  // longest group of a token that is written in equal groups
	minGroups = 3  // and the least number of them
	minJoined = 16 // shortest token that is looked for in pieces
	fragment  = 4  // shortest piece of a token in front of a line end
	maxIndent = 24 // white space, quotes and operators between two pieces
)

// joinable reports whether the line end at i may split a token: a piece that is no
// word stands in front of it, and another piece behind.
func joinable(text string, i int) bool {
	end := i
	for end > 0 && i-end < 6 && strings.IndexByte(" \r\"'\\+=", text[end-1]) >= 0 {
		end--
	}
	start := end
	for start > 0 && end-start < 200 && piece(text[start-1]) {
		start--
	}
	if end-start < fragment || !odd(text[start:end]) {
		return false
	}
	next := gap(text, end)
	return next > end && continues(text, next) >= max(1, minJoined-(end-start))
}

// odd reports a piece with letters and digits, or with several letters of both cases.
func odd(piece string) bool {
	var digits, small, capital int
	for i := 0; i < len(piece); i++ {
		switch class[piece[i]] {
		case isDigit:
			digits++
		case isLower:
			small++
		case isUpper:
			capital++
		}
	}
	return digits > 0 && small+capital > 0 || small > 1 && capital > 1
}

// continues returns the length of the piece at p when it can be the rest of a token and
// not the first word of the next line (it fills its line or literal, or is no plain
// word), and 0 otherwise.
func continues(text string, p int) int {
	end, odd := p, false
	for end < len(text) && end-p < 200 && piece(text[end]) {
		odd = odd || class[text[end]]&(isDigit|isJoin) != 0 || end > p && class[text[end]] == isUpper
		end++
	}
	if odd || end-p >= 16 || end == len(text) || strings.IndexByte("\n\r\"'`<", text[end]) >= 0 {
		return end - p
	}
	return 0
}

// maxInterrupted is how far in front of an interruption a token's prefix may stand.
const maxInterrupted = 160

// interrupted reports whether a quotation mark, a tag or an equals sign at i interrupts
// the token of a format: its prefix stands in front, and a piece behind.
func (s *scanner) interrupted(i int) bool {
	if i+4 >= len(s.text) {
		return false
	}
	next := gap(s.text, i)
	if next <= i+1 || continues(s.text, next) == 0 {
		return false
	}
	for at := i - 1; at >= 0 && i-at < maxInterrupted && grouped(s.text[at]); at-- {
		if class[s.text[at]]&isAlnum != 0 && (at == 0 || class[s.text[at-1]]&isAlnum == 0) && s.prefixAt(at) {
			return true
		}
	}
	return false
}

// prefixAt reports that the anchor of a format stands at i.
func (s *scanner) prefixAt(i int) bool {
	if i+3 > len(s.text) {
		return false
	}
	x := uint32(s.text[i]) | uint32(s.text[i+1])<<8 | uint32(s.text[i+2])<<16
	for b := buckets[x*0x9E3779B1>>(32-bucketBits)]; b != 0; b++ {
		e := entries[b]
		if !e.word && strings.HasPrefix(s.text[i:], formats[e.index].segs[formats[e.index].anchor].lit) {
			return true
		}
		if e.last {
			break
		}
	}
	return false
}

func piece(c byte) bool { return class[c]&(isAlnum|isJoin) != 0 || c == '+' || c == '/' || c == '=' }

// gap returns where the token that is interrupted at end goes on, or end: behind a
// line end (also escaped, soft or in a quotation), behind a tag, or behind a closing
// quotation mark, at most an operator and a line end, and an opening one.
func gap(text string, end int) int {
	p, lines, quotes, tags := end, 0, 0, 0
	for p < len(text) && p-end < maxIndent {
		switch c := text[p]; {
		case c == '\n':
			lines++
		case c == '"' || c == '\'':
			quotes++
		case c == ' ' || c == '\t' || c == '\r' || c == '\\' || c == '>' && lines > 0:
		case strings.IndexByte("+&.,", c) >= 0 && quotes == 1:
		case c == '=' && p+1 < len(text) && (text[p+1] == '\n' || text[p+1] == '\r'):
		case c == '<' && tagEnd(text[p:]) > 0 && quotes == 0:
			p += tagEnd(text[p:]) - 1
			tags++
		default:
			if lines <= 1 && (quotes == 2 || quotes == 0 && lines+tags > 0) {
				return p
			}
			return end
		}
		p++
	}
	return end
}

// tagEnd returns the length of a tag or comment of HTML that shows nothing or a line end.
func tagEnd(text string) int {
	end := strings.IndexByte(text[:min(len(text), 20)], '>') + 1
	if end < 3 {
		return 0
	}
	switch name := strings.Trim(text[1:end-1], "/ "); name {
	case "br", "wbr", "b", "i", "em", "strong", "span", "code":
		return end
	default:
		if strings.HasPrefix(name, "!--") {
			return end
		}
	}
	return 0
}

// joinView removes what splits tokens: line ends and string joins between pieces,
// and the single spaces between at least three groups of equal length.
func joinView(text string) view {
	b := newBuilder(len(text))
	for i := 0; i < len(text); {
		if i == 0 || !grouped(text[i-1]) {
			if end := groups(text, i); end > i {
				for ; i < end; i++ {
					if text[i] != ' ' {
						b.add(text[i], i)
					}
				}
				continue
			}
		}
		if i > 0 && piece(text[i-1]) && !piece(text[i]) {
			if next := gap(text, i); next > i && continues(text, next) > 0 {
				if text[i-1] == '=' { // a soft line end
					b.text, b.off = b.text[:len(b.text)-1], b.off[:len(b.off)-1]
				}
				i = next
				continue
			}
		}
		b.add(text[i], i)
		i++
	}
	return b.view(len(text))
}

// groups returns the end of a sequence of groups that starts at i: at least
// minGroups of one length, single spaces between them, a shorter one at the end. It
// returns i when there is none.
func groups(text string, i int) int {
	size := 0
	for size <= maxGroup && i+size < len(text) && grouped(text[i+size]) {
		size++
	}
	if size == 0 || size > maxGroup {
		return i
	}
	end, n := i+size, 1
	for end < len(text) && text[end] == ' ' {
		k := 0
		for k <= size && end+1+k < len(text) && grouped(text[end+1+k]) {
			k++
		}
		if k == 0 || k > size {
			break
		}
		end += 1 + k
		n++
		if k < size {
			break
		}
	}
	if n < minGroups {
		return i
	}
	return end
}

// grouped reports a byte of a token that is written in groups.
func grouped(c byte) bool { return piece(c) || strings.IndexByte(".:!$", c) >= 0 }
