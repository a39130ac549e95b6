package hidden

import (
	"cmp"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Finding says what was found where. Offset and Length are bytes of the scanned text.
type Finding struct {
	Rule           string
	Offset, Length int
	// Carries: the characters decode to text, split or disguise a word, or reorder
	// what is shown. Without it they can be removed and nothing is lost.
	Carries bool
}

// Strippable reports whether taking the characters out leaves the words as they read: the
// finding is of one of the first seven rules. Letters that look like others, and encoded
// text, are visible.
func (f Finding) Strippable() bool { return slices.Contains(ruleOf[:], f.Rule) }

// Scan returns what is hidden in text, ordered by offset; nil when nothing is. Findings of
// the first seven rules do not overlap one another; a word or an encoded run may
// contain some of them. Plain ASCII without controls costs no allocation, and
// time is linear in len(text).
func Scan(text string) []Finding {
	found, _ := Inspect(text)
	return found
}

// Inspect returns the findings of [Scan] and the blobs of [Blobs] for the cost of one.
func Inspect(text string) ([]Finding, []Blob) {
	s := scanner{text: text}
	s.run()
	s.spread()
	blobs := Blobs(text)
	found := append(s.found, encoded(blobs)...)
	if !ascii(text) {
		found = append(found, overlaid(text)...)
	}
	found = append(found, orders(text)...)
	if len(found) > 1 {
		slices.SortStableFunc(found, func(a, b Finding) int { return cmp.Compare(a.Offset, b.Offset) })
	}
	return found, blobs
}

// Strip removes what the first seven rules report and may allows, and returns the rest with
// what was removed. The offsets, those that may is asked about too, refer to text. What is
// shown as a blank or ends a line becomes a space between two visible characters. Stripping
// the result again changes nothing. Words and encoded text stay: they are visible.
func Strip(text string, may func(Finding) bool) (clean string, removed []Finding) {
	const rounds = 8 // removing one character can leave another without its context
	var off []int32
	for range rounds {
		s := scanner{text: text, plain: true}
		s.run()
		s.spread()
		var now []Finding
		for i, f := range mapped(s.found, off) {
			if may(f) {
				now = append(now, s.found[i])
				removed = append(removed, f)
			}
		}
		if len(now) == 0 {
			break
		}
		text, off = remove(text, off, now)
	}
	return text, removed
}

func mapped(found []Finding, off []int32) []Finding {
	if off == nil {
		return found
	}
	out := slices.Clone(found)
	for i, f := range out {
		end := int(off[f.Offset+f.Length-1]) + 1
		out[i].Offset = int(off[f.Offset])
		out[i].Length = end - out[i].Offset
	}
	return out
}

// remove cuts the findings out of text. off[i] is the original offset of text[i], nil
// for the identity.
func remove(text string, off []int32, found []Finding) (string, []int32) {
	var b strings.Builder
	next := make([]int32, 0, len(text))
	keep := func(from, to int) {
		b.WriteString(text[from:to])
		for i := from; i < to; i++ {
			if off == nil {
				next = append(next, int32(i))
			} else {
				next = append(next, off[i])
			}
		}
	}
	end := 0
	for _, f := range found {
		keep(end, f.Offset)
		end = f.Offset + f.Length
		run := text[f.Offset:end]
		apart := strings.ContainsFunc(run, unicode.IsSpace) || f.Rule == ruleOf[filler] && blank(run)
		if apart && visibleEnd(text[:f.Offset]) && visibleStart(text[end:]) {
			at := int32(f.Offset)
			if off != nil {
				at = off[f.Offset]
			}
			b.WriteByte(' ')
			next = append(next, at)
		}
	}
	keep(end, len(text))
	return b.String(), next
}

func visibleEnd(s string) bool {
	r, n := utf8.DecodeLastRuneInString(s)
	return n > 0 && !unicode.IsSpace(r)
}

func visibleStart(s string) bool {
	r, n := utf8.DecodeRuneInString(s)
	return n > 0 && !unicode.IsSpace(r)
}

// blank reports whether a run of fillers is shown as a blank.
func blank(s string) bool { return strings.Trim(s, "\uFFFC") != "" }

// A scanner makes one pass over one text.
type scanner struct {
	text  string
	plain bool // only the seven rules whose findings can be stripped
	found []Finding

	word   int // end of the last word that was judged
	styled styled
}

// run finds runs of hidden characters and words of mixed alphabets.
func (s *scanner) run() {
	text := s.text
	for i := 0; i < len(text); {
		c := text[i]
		if c < utf8.RuneSelf {
			switch {
			case c == '\r' && (i+1 == len(text) || text[i+1] != '\n'):
				// Alone it ends no line: a terminal writes over what stands in front.
				s.found = append(s.found, Finding{Rule: ruleOf[control], Offset: i, Length: 1})
				i++
			case c >= ' ' && c != 0x7F || c == '\t' || c == '\n' || c == '\r':
				i++
			default:
				i = s.cluster(i)
			}
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		switch {
		case r >= 0x3040 && r <= 0x9FFF && r != 0x3164 || r >= 0xAC00 && r <= 0xD7A3:
			// Kana, Han and Hangul syllables: nothing hidden, nothing like Latin.
		case kindOf(r) != none:
			if skip := legitimate(text, i, r, n); skip > 0 {
				i += skip
			} else {
				i = s.cluster(i)
			}
			continue
		case !s.plain:
			s.letter(i, r, n)
		}
		i += n
	}
	if !s.plain {
		s.styled.flush(s)
	}
}

// cluster reports the hidden characters from i on, one finding a run of one rule, and
// returns the end of all of them.
func (s *scanner) cluster(i int) int {
	text, start, first := s.text, i, len(s.found)
	for i < len(text) {
		r, n := utf8.DecodeRuneInString(text[i:])
		k := kindOf(r)
		if k == none || i > start && legitimate(text, i, r, n) > 0 {
			break
		}
		if last := len(s.found) - 1; last >= first && s.found[last].Rule == ruleOf[k] {
			s.found[last].Length += n
		} else {
			s.found = append(s.found, Finding{Rule: ruleOf[k], Offset: i, Length: n})
		}
		i += n
	}
	splits := splitsWord(text, start, i)
	for k := first; k < len(s.found); k++ {
		f := &s.found[k]
		run := text[f.Offset : f.Offset+f.Length]
		switch f.Rule {
		case ruleOf[filler]:
			f.Carries = decodes(run, f.Rule)
		case ruleOf[privateUse]:
		case ruleOf[control]:
			f.Carries = splits || conceals(text, f.Offset)
		case ruleOf[bidi]:
			f.Carries = splits || reorders(text, f.Offset, f.Offset+f.Length)
		default:
			f.Carries = splits || decodes(run, f.Rule)
		}
	}
	return i
}

// conceals reports an escape sequence at i that hides what follows: ECMA-48, SGR 8, or one
// that moves the cursor or erases, so that other text is shown.
func conceals(text string, i int) bool {
	if !strings.HasPrefix(text[i:], "\x1b[") {
		return false
	}
	j := i + 2
	for j < len(text) && j-i < 16 && (text[j] >= '0' && text[j] <= '9' || text[j] == ';' || text[j] == '?') {
		j++
	}
	if j == len(text) {
		return false
	}
	switch text[j] {
	case 'A', 'B', 'C', 'D', 'E', 'F', 'G', 'H', 'J', 'K', 'f':
		return true
	case 'm':
		for p := range strings.SplitSeq(text[i+2:j], ";") {
			if p == "8" {
				return true
			}
		}
	}
	return false
}

// splitsWord reports whether the hidden characters in text[start:end] stand between two
// letters of an alphabet. Scripts that join letters with such characters are left
// out, and so are Han and Kana, where every character is a word's edge. A line or page
// separator is white space: what stands on its sides was two words before.
func splitsWord(text string, start, end int) bool {
	a, _ := utf8.DecodeLastRuneInString(text[:start])
	b, _ := utf8.DecodeRuneInString(text[end:])
	if !alphabetic(a) || !alphabetic(b) || strings.ContainsFunc(text[start:end], unicode.IsSpace) {
		return false
	}
	if text[start:end] != "\u00AD" {
		return true
	}
	return !syllable(text, start, -1) || !syllable(text, end, 1)
}

// alphabetic reports a letter of a script written with spaces and without joiners.
func alphabetic(r rune) bool {
	return r < 0x600 && unicode.IsLetter(r) || r >= 0x10A0 && r < 0x1800 && unicode.IsLetter(r) || r >= 0x1E00 && r <= 0x1FFF || r >= 0xAB30 && r < 0xAC00
}

// syllable reports whether the letters next to a soft hyphen, up to the next one
// or the word's end, are at least two with a vowel, as hyphenation leaves them.
func syllable(text string, at, step int) bool {
	letters, vowel := 0, false
	for letters < 32 {
		var r rune
		var n int
		if step < 0 {
			r, n = utf8.DecodeLastRuneInString(text[:at])
			at -= n
		} else {
			r, n = utf8.DecodeRuneInString(text[at:])
			at += n
		}
		if n == 0 || !alphabetic(r) {
			break
		}
		letters++
		vowel = vowel || r >= 0x80 || strings.ContainsRune("aeiouyAEIOUY", r)
	}
	return letters >= 2 && vowel
}

// reorders reports an override in front of visible text, or an embedding or isolate to
// the right-to-left of text that has no right-to-left letter.
func reorders(text string, start, end int) bool {
	for i := start; i < end; {
		r, n := utf8.DecodeRuneInString(text[i:])
		i += n
		override := r == 0x202D || r == 0x202E
		if !override && r != 0x202B && r != 0x2067 {
			continue
		}
		letters, rtl := 0, false
		for j := end; j < len(text) && j-end < maxLine; {
			q, m := utf8.DecodeRuneInString(text[j:])
			if q == '\n' || q == 0x202C || q == 0x2069 {
				break
			}
			if unicode.IsLetter(q) || unicode.IsNumber(q) {
				letters++
				rtl = rtl || rightToLeft(q)
			}
			j += m
		}
		if letters > 0 && (override || !rtl) {
			return true
		}
	}
	return false
}

const maxLine = 512 // bytes behind a bidi control that are looked at
