package hidden

import (
	"unicode"
	"unicode/utf8"

	"github.com/memoryroom/scribe/internal/fold"
)

// letter looks at a visible rune beyond ASCII: it may belong to a word of mixed
// alphabets or to styled text.
func (s *scanner) letter(i int, r rune, n int) {
	if styledLetter(r) {
		s.styled.add(s, i, i+n, r)
		return
	}
	if i < s.word {
		return
	}
	if a := fold.ClassOf(r).Alphabet(); a == 0 || a == fold.Latin {
		return
	}
	start, end := wordAt(s.text, i)
	s.word = end
	if rule, carries := mixed(s.text[start:end]); rule {
		s.found = append(s.found, Finding{Rule: "hidden.mixed-script", Offset: start, Length: end - start, Carries: carries})
	}
}

const maxWord = 256 // bytes of a word on either side of the letter that is looked at

// wordAt returns the bounds of the letters, marks and invisible characters around i.
func wordAt(text string, i int) (start, end int) {
	start, end = i, i
	for start > 0 && i-start < maxWord {
		r, n := utf8.DecodeLastRuneInString(text[:start])
		if !inWord(r) {
			break
		}
		start -= n
	}
	for end < len(text) && end-i < maxWord {
		r, n := utf8.DecodeRuneInString(text[end:])
		if !inWord(r) {
			break
		}
		end += n
	}
	return start, end
}

func inWord(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r|0x20 && r|0x20 <= 'z'
	}
	return unicode.IsLetter(r) && !unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) || unicode.IsMark(r) || kindOf(r) == zeroWidth
}

// mixed reports a word with Latin letters and letters of another alphabet, and
// whether it reads as an ASCII word.
func mixed(word string) (found, carries bool) {
	latin, other, inner, count := false, fold.Alphabet(0), false, 0
	for i, r := range word {
		a := fold.ClassOf(r).Alphabet()
		switch {
		case a == 0:
		case a == fold.Latin:
			latin = true
		default:
			if other != 0 && other != a {
				found = true
			}
			other = a
			count++
			edge := i == 0 || i+utf8.RuneLen(r) == len(word)
			inner = inner || !edge || !symbolic(r)
		}
	}
	if other == 0 || !latin && !found {
		return false, false
	}
	if count == 1 && !inner {
		return false, false // μm, Δt, λx: a symbol and a unit or name
	}
	return true, asciiWord(fold.Skeleton(word))
}

// symbolic reports a Greek letter that formulas and units use next to Latin ones.
func symbolic(r rune) bool {
	switch r {
	case 'α', 'β', 'γ', 'δ', 'ε', 'ζ', 'η', 'θ', 'κ', 'λ', 'μ', 'ν', 'ξ', 'π', 'ρ', 'σ', 'τ', 'φ', 'χ', 'ψ', 'ω', 'Γ', 'Δ', 'Θ', 'Λ', 'Ξ', 'Π', 'Σ', 'Φ', 'Ψ', 'Ω':
		return true
	}
	return false
}

func asciiWord(s string) bool {
	for i := 0; i < len(s); i++ {
		if s[i]|0x20 < 'a' || s[i]|0x20 > 'z' {
			return false
		}
	}
	return len(s) >= 2
}

// styledLetter reports a letter of a compatibility alphabet (mathematical, full-width,
// circled, squared, parenthesised, raised), a small capital, or a regional indicator.
func styledLetter(r rune) bool {
	switch r {
	case 0x0262, 0x026A, 0x0274, 0x0280, 0x028F, 0x0299, 0x029C, 0x029F, 0x2071, 0x207F, 0xA730, 0xA731:
		return true // small capitals beyond the block of phonetic extensions, raised i and n
	}
	return r >= 0x02B0 && r <= 0x02B8 || r >= 0x02E1 && r <= 0x02E3 || r >= 0x1D00 && r <= 0x1D22 || r >= 0x1D2C && r <= 0x1D6A || r >= 0x1D9B && r <= 0x1DBF || regional(r) ||
		r >= 0x1D400 && r <= 0x1D7CB || r >= 0xFF21 && r <= 0xFF3A || r >= 0xFF41 && r <= 0xFF5A || r >= 0x249C && r <= 0x24E9 || r >= 0x1F110 && r <= 0x1F189
}

// regional reports a letter of which two make the flag of a country.
func regional(r rune) bool { return r >= 0x1F1E6 && r <= 0x1F1FF }

const (
	minStyledWords   = 4
	minStyledLetters = 16
	maxStyledGap     = 8 // bytes of spaces and punctuation between two styled words
)

// A styled counts the words of a passage in styled letters.
type styled struct {
	start, end     int
	words, letters int
	length         int // letters of the last word
	odd            int // words with an odd number of letters, which flags do not have
	flags          bool
}

func (p *styled) add(s *scanner, i, end int, r rune) {
	if i != p.end && p.length%2 == 1 {
		p.odd++
	}
	switch {
	case p.letters == 0 || i-p.end > maxStyledGap:
		p.flush(s)
		*p = styled{start: i}
		fallthrough
	case i != p.end:
		p.length = 0
	}
	p.letters++
	p.flags = p.flags || regional(r)
	if p.length++; p.length == 2 {
		p.words++
	}
	p.end = end
}

func (p *styled) flush(s *scanner) {
	if p.words >= minStyledWords && p.letters >= minStyledLetters && (!p.flags || p.odd >= 2) {
		s.found = append(s.found, Finding{Rule: "hidden.styled", Offset: p.start, Length: p.end - p.start, Carries: true})
	}
	*p = styled{}
}
