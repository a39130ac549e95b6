package hidden

import "unicode/utf8"

const (
	minOverlaid = 8 // Latin letters that are struck through, underlined or piled upon
	maxMarks    = 2 // marks on one Latin letter in the spelling of any language (Vietnamese)
)

// overlaid finds Latin letters with marks that no spelling uses: strokes and lines over
// or under them, or more than maxMarks. A few are decoration; a passage of them
// reads like text and compares like none.
func overlaid(text string) []Finding {
	first, last, letters := -1, 0, 0
	for i := 0; i < len(text); {
		if text[i] < 0xCC {
			i++
			continue
		}
		base, marks, drawn := i, 0, false
		for i < len(text) {
			r, n := utf8.DecodeRuneInString(text[i:])
			if !mark(r) {
				break
			}
			marks++
			drawn = drawn || line(r)
			i += n
		}
		if marks == 0 {
			_, n := utf8.DecodeRuneInString(text[i:])
			i += n
			continue
		}
		if base > 0 && letterByte(text[base-1]) && (drawn || marks > maxMarks) {
			if first < 0 {
				first = base - 1
			}
			last = i
			letters++
		}
	}
	if letters < minOverlaid {
		return nil
	}
	return []Finding{{Rule: "hidden.overlay", Offset: first, Length: last - first, Carries: true}}
}

// mark reports a combining mark of no script of its own.
func mark(r rune) bool {
	return r >= 0x300 && r <= 0x36F && r != 0x34F || r >= 0x483 && r <= 0x489 || r >= 0x1AB0 && r <= 0x1AFF || r >= 0x1DC0 && r <= 0x1DFF || r >= 0x20D0 && r <= 0x20FF
}

// line reports a stroke through or a line over, under or around a character.
func line(r rune) bool {
	return r >= 0x334 && r <= 0x338 || r == 0x332 || r == 0x333 || r == 0x33F || r == 0x305 || r == 0x488 || r == 0x489 || r >= 0x20D2 && r <= 0x20E5
}

// brailleLetters holds the letters a to z as dots of Braille, less U+2800.
const brailleLetters = "\x01\x03\x09\x19\x11\x0b\x1b\x13\x0a\x1a\x05\x07\x0d\x1d\x15\x0f\x1f\x17\x0e\x1e\x25\x27\x3a\x2d\x3d\x35"

// braille finds passages of Braille letters that spell words. Pictures and progress
// signs made of the same characters do not.
func braille(text string) []Blob {
	var out []Blob
	var b []byte
	start, end := -1, 0
	flush := func() {
		if len(b) >= minSpaced && varied(string(b)) && usual(string(b)) >= 2 {
			out = append(out, Blob{start, end - start, string(b), true})
		}
		b, start = b[:0], -1
	}
	for i := 0; i < len(text); {
		if text[i] != 0xE2 || i+2 >= len(text) || text[i+1] < 0xA0 || text[i+1] > 0xA3 {
			if start >= 0 {
				if text[i] != ' ' || i-end > maxStyledGap {
					flush()
				} else {
					b = append(b, ' ')
				}
			}
			i++
			continue
		}
		dots := (text[i+1]-0xA0)<<6 | text[i+2]&0x3F
		c := byte(' ')
		for k := range len(brailleLetters) {
			if brailleLetters[k] == dots {
				c = 'a' + byte(k)
			}
		}
		if start < 0 {
			start = i
		}
		if len(b) < maxDecoded {
			b = append(b, c)
		}
		i += 3
		end = i
	}
	flush()
	return out
}
