package hidden

import "strings"

// phrases finds the encodings that spread over words: ROT13, Atbash, words backwards,
// digits for letters, numeric escapes and codes, and letters kept apart.
func phrases(text string) []Blob {
	var out []Blob
	if b, ok := shifted(text); ok {
		out = append(out, b)
	}
	if b, ok := leet(text); ok {
		out = append(out, b)
	}
	out = append(out, escapes(text)...)
	out = append(out, codes(text)...)
	out = append(out, queries(text)...)
	out = append(out, joined(text)...)
	out = append(out, marked(text)...)
	if !ascii(text) {
		out = append(out, braille(text)...)
	}
	return append(out, spaced(text)...)
}

// A byteSet has a bit for each byte of a set.
type byteSet [4]uint64

func (s *byteSet) has(c byte) bool { return s[c>>6]>>(c&63)&1 != 0 }

// The sets of [wordByte], [leetByte] and [token], as constants; a test compares them.
var (
	wordBytes  = byteSet{0x03ff080000000000, 0x07fffffe07fffffe}
	leetBytes  = byteSet{0x03ff081200000000, 0x07fffffe07ffffff}
	tokenBytes = byteSet{0x03ffa80000000000, 0x07fffffe87fffffe}
)

// each calls f with the bounds of every run of ASCII letters and digits, "+" included.
func each(text string, f func(start, end int)) { eachOf(text, &wordBytes, f) }

// eachOf calls f with the bounds of every run of bytes of a set.
func eachOf(text string, set *byteSet, f func(start, end int)) {
	for i := 0; i < len(text); {
		if !set.has(text[i]) {
			i++
			continue
		}
		start := i
		for i < len(text) && set.has(text[i]) {
			i++
		}
		f(start, i)
	}
}

// ascii reports text without a byte beyond ASCII.
func ascii(text string) bool {
	for i := range len(text) {
		if text[i] >= 0x80 {
			return false
		}
	}
	return true
}

func wordByte(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '+'
}

// leetByte reports the characters of words in which digits and signs stand for letters.
func leetByte(c byte) bool { return wordByte(c) || c == '@' || c == '$' || c == '!' }

// plain returns the letter that a digit or sign replaces, or 0.
func plain(c byte) byte {
	switch c {
	case '@':
		return 'a'
	case '$':
		return 's'
	case '!':
		return 'i'
	case '0':
		return 'o'
	case '1':
		return 'i'
	case '3':
		return 'e'
	case '4':
		return 'a'
	case '5':
		return 's'
	case '7', '+':
		return 't'
	}
	return 0
}

const (
	minLeet = 5 // words with digits for letters
	maxGap  = 4 // ordinary words between two of them

	minKnown = 3 // or so many, if common words of three letters are among them

	minCommon = 2 // common words among them, which identifiers are not
)

// replaces reports a digit or sign that may stand for a letter.
func replaces(w string) bool {
	for i := 0; i < len(w); i++ {
		if plain(w[i]) != 0 {
			return true
		}
	}
	return false
}

// commonWord reports a common English word with at least one letter replaced.
func commonWord(w string) bool {
	var buf [12]byte
	if len(w) < 2 || len(w) > len(buf) {
		return false
	}
	replaced := false
	for i := 0; i < len(w); i++ {
		buf[i] = w[i] | 0x20
		if p := plain(w[i]); p != 0 {
			buf[i] = p
			replaced = true
		}
	}
	switch string(buf[:len(w)]) {
	case "the", "this", "that", "these", "you", "your", "are", "all", "any", "to", "not", "now", "have", "has", "be", "is", "it", "as", "at", "of", "or", "on", "me", "no", "my",
		"about", "always", "never", "ever", "remember", "system", "ignore", "previous", "instruction", "rules", "user", "users", "message", "with", "when", "here", "there", "what",
		"should", "must", "will", "send", "tell", "told", "from", "for", "them", "they", "their", "was", "were", "and", "can", "data", "answer", "secret", "prompt", "instead", "other":
		return replaced
	}
	return false
}

// leet finds a passage with at least minLeet words in which digits stand for letters and
// at most maxGap other words in between, and returns it from the first to the last.
func leet(text string) (Blob, bool) {
	var best, p passage
	eachOf(text, &leetBytes, func(start, end int) {
		for end > start && text[end-1] == '!' {
			end-- // the end of a sentence
		}
		w := text[start:end]
		replaced := replaces(w)
		known := replaced && commonWord(w)
		switch {
		case known && len(w) > 2 || replaced && leetWord(w):
			if p.words == 0 {
				p.start = start
			}
			p.words, p.end, p.gap = p.words+1, end, 0
		case p.words > 0:
			if p.gap++; p.gap > maxGap {
				p = passage{}
			}
		}
		if known && p.words > 0 {
			p.common++
			if len(w) > 2 {
				p.long++
			}
		}
		if (p.words >= minLeet && p.common >= minCommon || p.words >= minKnown && p.long >= minCommon) && p.words > best.words {
			best = p
		}
	})
	if best.words == 0 {
		return Blob{}, false
	}
	end := min(best.end, best.start+maxDecoded)
	b := []byte(text[best.start:end])
	for i, c := range b {
		if p := plain(c); p != 0 {
			b[i] = p
		}
	}
	return Blob{best.start, end - best.start, string(b), true}, true
}

// A passage is a row of words in which digits stand for letters.
type passage struct {
	start, end    int
	words, common int
	long          int // common words of three letters or more
	gap           int // other words since the last one
}

// leetWord reports a word of at least four characters in which a digit for a letter stands
// in front of a letter, and which is no number, escape or identifier: R3m3mb3r,
// 1n5+ruc+10n; not v1, s3, sha1, 3d, 0xfe13 or http1Mode.
func leetWord(w string) bool {
	letters, digits, before, foreign, real := 0, 0, 0, 0, 0
	for i := 0; i < len(w); i++ {
		c := w[i]
		switch {
		case c >= 'A' && c <= 'Z' && i > 0 && strings.ToUpper(w) != w:
			return false // httpServer1Mode: an identifier
		case c|0x20 >= 'a' && c|0x20 <= 'z':
			letters++
			if strings.IndexByte("abcdefux", c|0x20) < 0 {
				real++ // 0xfe13, u00e9, x1b have none
			}
		case plain(c) != 0 && wordByte(c):
			digits++
			if i+1 < len(w) && w[i+1]|0x20 >= 'a' && w[i+1]|0x20 <= 'z' {
				before++
			}
		default:
			foreign++
		}
	}
	return len(w) >= 4 && len(w) <= 20 && letters >= 2 && digits >= 1 && before >= 1 && foreign == 0 && real >= 2 && digits <= letters*2 && vowels(w)
}

// vowels reports that the plain word has at least one vowel in five letters and at
// least one in the digits' places, as written words do.
func vowels(w string) bool {
	n, replaced := 0, 0
	for i := 0; i < len(w); i++ {
		c := w[i] | 0x20
		if p := plain(w[i]); p != 0 {
			c = p
			if strings.IndexByte("aeio", c) >= 0 {
				replaced++
			}
		}
		if strings.IndexByte("aeiouy", c) >= 0 {
			n++
		}
	}
	return replaced > 0 && n*5 >= len(w) && n < len(w)
}

// varied reports at least five different letters.
func varied(s string) bool {
	var seen uint32
	n := 0
	for i := 0; i < len(s); i++ {
		if c := s[i] | 0x20; c >= 'a' && c <= 'z' && seen>>(c-'a')&1 == 0 {
			seen |= 1 << (c - 'a')
			n++
		}
	}
	return n >= 5
}
