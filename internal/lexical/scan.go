package lexical

import (
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Limits of the scanner. All are there for hostile text; ordinary notes are far
// below each.
const (
	// maxCompound is the longest identifier that is taken apart as one, in bytes of
	// source. A longer run goes on as the next one.
	maxCompound = 256
	// maxTerm is the longest term, in bytes; the rest of a longer word is dropped.
	maxTerm = 64
	// maxParts is the most parts that an identifier's joined form is made of. A URL
	// has more, and its joined form would never be asked for.
	maxParts = 8
)

// kind says what a token is to the index.
type kind uint8

const (
	word   kind = iota // a word, or one part of an identifier
	whole              // an identifier without its separators, from camelCase or snake_case
	joined             // the same from words joined by "-", "/", "." or ":"
	han                // two neighbours of a script without spaces, or a lone one
	faint              // the same, but one of the two is a function character
	date               // month and day, in normal form
)

// token is one unit of text. text is valid until the next token.
type token struct {
	text     []byte // folded, not stemmed
	off, end int    // bytes of the source
	kind     kind
	parts    int // of whole, joined and date: how many words before it are its parts
}

// scanner takes a text apart. The zero value with an emit is ready. emit returns
// false to stop.
type scanner struct {
	emit func(token) bool
	buf  []byte // the folded word
	seg  []byte // the joined form of the segment at hand
	all  []byte // the joined form of the whole compound
	done bool
}

// class sorts bytes by what they are to a word.
type class uint8

const (
	other class = iota // or not ASCII
	lower
	upper
	digit
	link // what may join the parts of an identifier, see connector
)

var classes = [256]class{
	'a': lower, 'b': lower, 'c': lower, 'd': lower, 'e': lower, 'f': lower, 'g': lower, 'h': lower, 'i': lower,
	'j': lower, 'k': lower, 'l': lower, 'm': lower, 'n': lower, 'o': lower, 'p': lower, 'q': lower, 'r': lower,
	's': lower, 't': lower, 'u': lower, 'v': lower, 'w': lower, 'x': lower, 'y': lower, 'z': lower,
	'A': upper, 'B': upper, 'C': upper, 'D': upper, 'E': upper, 'F': upper, 'G': upper, 'H': upper, 'I': upper,
	'J': upper, 'K': upper, 'L': upper, 'M': upper, 'N': upper, 'O': upper, 'P': upper, 'Q': upper, 'R': upper,
	'S': upper, 'T': upper, 'U': upper, 'V': upper, 'W': upper, 'X': upper, 'Y': upper, 'Z': upper,
	'0': digit, '1': digit, '2': digit, '3': digit, '4': digit, '5': digit, '6': digit, '7': digit, '8': digit, '9': digit,
	'_': link, '-': link, '.': link, '/': link, ':': link, '\'': link,
}

// scan emits the tokens of src in order, each joined form after its parts.
func (s *scanner) scan(src string) {
	s.done = false
	for i := 0; i < len(src) && !s.done; {
		switch c := src[i]; {
		case c < utf8.RuneSelf && (classes[c] == other || classes[c] == link):
			i++
		case c < utf8.RuneSelf:
			if end := s.plain(src, i); end > i {
				i = end
			} else {
				i = s.compound(src, i)
			}
		case common(src, i) != 0:
			i = s.run(src, i)
		default:
			r, n := utf8.DecodeRuneInString(src[i:])
			switch {
			case separator(r):
				i += n
			case unspaced(r):
				i = s.run(src, i)
			case wordRune(r) && !unicode.IsMark(r) && !invisible(r):
				i = s.compound(src, i)
			default:
				i += n
			}
		}
	}
}

// plain emits the word at i where it is of ASCII, has no capitals but the first or all,
// and is no part of an identifier: nearly every word of prose. It gives the end, or i
// when the word is for compound.
func (s *scanner) plain(src string, i int) int {
	b := append(s.buf[:0], src[i:min(len(src), i+maxTerm)]...)
	s.buf = b
	capitals, small := 0, false
	n := 0
loop:
	for ; n < len(b); n++ {
		c := b[n]
		switch classes[c] {
		case lower:
			small = true
		case upper:
			capitals++
			b[n] = c | 0x20
		case digit:
		case link:
			if j := i + n + 1; j < len(src) && (classes[src[j]] != other || src[j] >= utf8.RuneSelf) {
				return i
			}
			break loop
		default:
			if c >= utf8.RuneSelf {
				return i
			}
			break loop
		}
	}
	j := i + n
	if n == maxTerm && j < len(src) || small && (capitals > 1 || capitals == 1 && classes[src[i]] != upper) {
		return i
	}
	s.send(token{b[:n], i, j, word, 1})
	return j
}

func (s *scanner) send(t token) {
	if s.done || len(t.text) == 0 {
		return
	}
	if len(t.text) > maxTerm {
		t.text = t.text[:maxTerm]
	}
	s.done = !s.emit(t)
}

// wordRune reports what words are made of. Marks and invisible characters are part
// of one and do not begin one.
func wordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || 'A' <= r && r <= 'Z' || '0' <= r && r <= '9'
	}
	return r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsNumber(r) || unicode.IsMark(r) || invisible(r))
}

// invisible reports characters that are dropped from words: soft hyphens, joiners,
// bidi controls, variation selectors.
func invisible(r rune) bool {
	return unicode.Is(unicode.Cf, r) || unicode.Is(unicode.Variation_Selector, r)
}

func apostrophe(r rune) bool { return r == '\'' || r == '’' }

// connector is what joins the parts of an identifier. Underscores join tightly.
func connector(r rune) bool {
	return r == '_' || r == '-' || r == '.' || r == '/' || r == ':' || apostrophe(r)
}

// compound emits the words that begin at i and are joined by connectors, and
// returns the end.
func (s *scanner) compound(src string, i int) int {
	start, end := i, compoundEnd(src, i)
	s.all = s.all[:0]
	segments, parts, digits := 0, 0, true
	for i < end {
		j, next := segmentEnd(src[:end], i)
		n, numeric := s.segment(src, i, j)
		if n > 0 {
			if segments > 0 && digits && numeric {
				s.all = append(s.all, '.') // 4.0.0 is not 400
			}
			digits = digits && numeric
			s.all = append(s.all, s.seg...)
			segments++
			parts += n
		}
		// Only now: whoever gets the token may change its text.
		if n > 1 && n <= maxParts && len(s.seg) <= maxTerm {
			s.send(token{s.seg, i, j, whole, n})
		}
		i = next
	}
	if segments > 1 && parts <= maxParts && len(s.all) <= maxTerm {
		s.send(token{s.all, start, end, joined, parts})
	}
	return end
}

// compoundEnd finds where the compound that begins at i ends: connectors count
// only between words, and two of them at most, so that "://" ends one and an address
// is found without its scheme.
func compoundEnd(src string, i int) int {
	limit := i + maxCompound
	end := i
	for i < len(src) && i < limit {
		r, n := utf8.DecodeRuneInString(src[i:])
		switch {
		case wordRune(r) && !unspaced(r):
			i += n
			end = i
		case connector(r) && i-end < 2:
			i += n
		default:
			return end
		}
	}
	return end
}

// segmentEnd finds the end of a segment, which has no connector but underscores
// and inner apostrophes, and where the next one begins.
func segmentEnd(src string, i int) (end, next int) {
	for i < len(src) {
		r, n := utf8.DecodeRuneInString(src[i:])
		if r != '_' && connector(r) {
			after, _ := utf8.DecodeRuneInString(src[min(i+n, len(src)):])
			if !apostrophe(r) || !wordRune(after) {
				return i, i + n
			}
		}
		i += n
	}
	return i, i
}

// segment emits the parts of src[i:j], split at underscores and where the case
// changes. It leaves their joined form in s.seg, and returns the number of parts
// and whether all are digits.
func (s *scanner) segment(src string, i, j int) (parts int, numeric bool) {
	s.seg = s.seg[:0]
	numeric = true
	for i < j {
		k := partEnd(src[:j], i)
		s.buf = fold(s.buf[:0], src[i:k])
		if len(s.buf) > 0 {
			for _, c := range s.buf {
				numeric = numeric && c >= '0' && c <= '9'
				if c != '\'' {
					s.seg = append(s.seg, c)
				}
			}
			s.send(token{s.buf, i, k, word, 1})
			parts++
		}
		for i = k; i < j && src[i] == '_'; i++ {
		}
	}
	return parts, numeric
}

// partEnd finds the end of the part that begins at i: an underscore, a capital
// after a small letter, the last capital of several before a small letter, or a
// capitalised word after a digit.
func partEnd(src string, i int) int {
	var before rune // the rune before at
	for at := i; at < len(src); {
		r, n := utf8.DecodeRuneInString(src[at:])
		if r == '_' {
			return at
		}
		if at > i && unicode.IsUpper(r) {
			after, _ := utf8.DecodeRuneInString(src[at+n:])
			if unicode.IsLower(before) || (unicode.IsLower(after) && (unicode.IsUpper(before) || unicode.IsDigit(before))) {
				return at
			}
		}
		before = r
		at += n
	}
	return len(src)
}

// fold appends the folded form of one word: NFKC, lower case, without invisible
// characters and, on Latin and Greek letters, without accents, so that "résumé"
// and "resume" are one word.
func fold(dst []byte, src string) []byte {
	i := 0
	for ; i < len(src) && src[i] < utf8.RuneSelf; i++ {
		c := src[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		dst = append(dst, c)
	}
	if i == len(src) {
		return dst
	}
	dst = dst[:len(dst)-i]
	var tmp []byte
	accents := false // the last base letter drops its marks
	for _, r := range norm.NFKD.String(src) {
		switch {
		case invisible(r):
		case unicode.Is(unicode.Mn, r):
			if !accents {
				tmp = utf8.AppendRune(tmp, r)
			}
		case r == 'ß' || r == 'ẞ':
			tmp = append(tmp, "ss"...)
		case r == 'ς':
			tmp = append(tmp, "σ"...)
		case r == '’':
			tmp = append(tmp, '\'')
		case r == '_' || r == '⁄':
			// A fraction slash, or a wide underscore after NFKC.
		default:
			r = unicode.ToLower(r)
			accents = unicode.Is(unicode.Latin, r) || unicode.Is(unicode.Greek, r)
			tmp = utf8.AppendRune(tmp, r)
		}
	}
	return norm.NFC.Append(dst, tmp...)
}
