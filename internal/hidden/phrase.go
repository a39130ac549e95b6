package hidden

import "strings"

// phrases finds the encodings that spread over words: ROT13, digits for letters,
// numeric escapes, and spaces between letters.
func phrases(text string) []Blob {
	var out []Blob
	if b, ok := rot13(text); ok {
		out = append(out, b)
	}
	if b, ok := leet(text); ok {
		out = append(out, b)
	}
	out = append(out, escapes(text)...)
	return append(out, spaced(text)...)
}

// rotated holds common English words in ROT13. None of them is a word of another language
// that is written in ASCII, but gb and bs, which are not used.
var rotated = [...]string{"gur", "naq", "lbh", "nyy", "sbe", "jura", "gung", "jvgu", "arire", "nyjnlf", "hfre", "sebz", "guvf", "lbhe", "vtaber", "cerivbhf", "vafgehpgvbaf", "erzrzore", "zhfg", "jurarire", "fraq", "flfgrz", "gurz", "zrzbel"}

// rot13 returns the lines of a text that has at least three different words of rotated,
// from the first to the last of them.
func rot13(text string) (Blob, bool) {
	first, last, distinct := -1, 0, uint32(0)
	each(text, func(start, end int) {
		if end-start < 3 || end-start > 12 {
			return
		}
		for k, w := range rotated {
			if len(w) == end-start && w[0] == text[start]|0x20 && strings.EqualFold(text[start:end], w) {
				if first < 0 {
					first = start
				}
				last = end
				distinct |= 1 << k
			}
		}
	})
	n := 0
	for ; distinct != 0; distinct &= distinct - 1 {
		n++
	}
	if n < 3 {
		return Blob{}, false
	}
	start := strings.LastIndexAny(text[:first], "\n:.") + 1
	end := len(text)
	if nl := strings.IndexByte(text[last:], '\n'); nl >= 0 {
		end = last + nl
	}
	end = min(end, start+maxDecoded)
	b := []byte(text[start:end])
	for i, c := range b {
		switch {
		case c|0x20 >= 'a' && c|0x20 <= 'm':
			b[i] = c + 13
		case c|0x20 >= 'n' && c|0x20 <= 'z':
			b[i] = c - 13
		}
	}
	return Blob{start, end - start, string(b), true}, true
}

// each calls f with the bounds of every run of ASCII letters and digits, "+" included.
func each(text string, f func(start, end int)) {
	for i := 0; i < len(text); {
		if !wordByte(text[i]) {
			i++
			continue
		}
		start := i
		for i < len(text) && wordByte(text[i]) {
			i++
		}
		f(start, i)
	}
}

func wordByte(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '+'
}

// plain returns the letter that a digit or sign replaces, or 0.
func plain(c byte) byte {
	switch c {
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
	each(text, func(start, end int) {
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
		}
		if p.words >= minLeet && p.common >= minCommon && p.words > best.words {
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
		case plain(c) != 0:
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

const (
	minSpaced      = 12 // single letters
	minSpacedWords = 3
)

// spaced finds letters with one space between them and two or more between words.
func spaced(text string) []Blob {
	var out []Blob
	for i := 0; i < len(text) && len(out) < maxBlobs; {
		if i > 0 && text[i-1] > ' ' || text[i] <= ' ' {
			i++
			continue
		}
		letters, words, end := 0, 1, i
		for j := i; single(text, j) && end-i < maxDecoded; {
			if text[j]|0x20 >= 'a' && text[j]|0x20 <= 'z' {
				letters++
			}
			end = j + 1
			for j = end; j < len(text) && text[j] <= ' '; j++ {
			}
			if j-end > 1 {
				words++
			}
		}
		if letters >= minSpaced && words >= minSpacedWords {
			if s := closeUp(text[i:end]); hasWords(s) && varied(s) {
				out = append(out, Blob{i, end - i, s, true})
			}
		}
		i = max(end, i+1)
	}
	return out
}

// single reports an ASCII character with a space or the end behind it.
func single(text string, j int) bool {
	return j < len(text) && text[j] > ' ' && text[j] < 0x80 && (j+1 == len(text) || text[j+1] <= ' ')
}

// closeUp drops single spaces and keeps one of several.
func closeUp(s string) string {
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] > ' ' {
			b = append(b, s[i])
		} else if i > 0 && s[i-1] <= ' ' && b[len(b)-1] != ' ' {
			b = append(b, ' ')
		}
	}
	return string(b)
}
