package hidden

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/memoryroom/scribe/internal/fold"
)

type kind uint8

const (
	none kind = iota
	control
	zeroWidth
	bidi
	tag
	variation
	privateUse
	filler
)

// ruleOf names the rule of each kind.
var ruleOf = [...]string{
	control: "hidden.control", zeroWidth: "hidden.zero-width", bidi: "hidden.bidi", tag: "hidden.tag",
	variation: "hidden.variation", privateUse: "hidden.private-use", filler: "hidden.filler",
}

// kindOf classifies a rune. utf8.RuneError, which also stands for a bad byte, is none:
// text that is not UTF-8 is refused elsewhere.
func kindOf(r rune) kind {
	switch {
	case r < 0x20:
		if r != '\t' && r != '\n' && r != '\r' {
			return control
		}
		return none
	case r < 0x7F:
		return none
	case r <= 0x9F, r == 0x2028, r == 0x2029, r >= 0xFFF9 && r <= 0xFFFB, r&0xFFFE == 0xFFFE, r >= 0xFDD0 && r <= 0xFDEF:
		return control
	case r == 0x061C, r == 0x200E, r == 0x200F, r >= 0x202A && r <= 0x202E, r >= 0x2066 && r <= 0x2069:
		return bidi
	case r == 0x115F, r == 0x1160, r == 0x2800, r == 0x3164, r == 0xFFA0, r == 0xFFFC:
		return filler
	case r >= 0xE000 && r <= 0xF8FF, r >= 0xF0000:
		return privateUse
	case r >= 0xE0000 && r <= 0xE007F:
		return tag
	case selector(r) >= 0, r >= 0x180B && r <= 0x180D, r == 0x180F:
		return variation
	case fold.Ignorable(r):
		return zeroWidth
	}
	return none
}

// selector returns the number of a variation selector less one (0 to 255), or -1.
func selector(r rune) int {
	switch {
	case r >= 0xFE00 && r <= 0xFE0F:
		return int(r - 0xFE00)
	case r >= 0xE0100 && r <= 0xE01EF:
		return int(r-0xE0100) + 16
	}
	return -1
}

// flags are the tag sequences of the three subdivision flags in Unicode's
// emoji-sequences.txt: gbeng, gbsct and gbwls, each with the cancel tag.
var flags = [...]string{
	"\U000E0067\U000E0062\U000E0065\U000E006E\U000E0067\U000E007F",
	"\U000E0067\U000E0062\U000E0073\U000E0063\U000E0074\U000E007F",
	"\U000E0067\U000E0062\U000E0077\U000E006C\U000E0073\U000E007F",
}

// legitimate returns the number of bytes at i that are in their proper place and not
// reported; 0 when r at i is hidden text.
func legitimate(text string, i int, r rune, n int) int {
	before, _ := utf8.DecodeLastRuneInString(text[:i])
	after, _ := utf8.DecodeRuneInString(text[i+n:])
	ok := false
	switch kindOf(r) {
	case zeroWidth:
		ok = joiner(r, before, after, i)
	case variation:
		ok = variant(r, before, after)
	case bidi:
		ok = (r == 0x200E || r == 0x200F || r == 0x061C) && nearRightToLeft(text, i, n)
	case filler:
		ok = r == 0x2800 && (dotted(before) || dotted(after)) // the blank of a Braille picture
	case tag:
		if before == 0x1F3F4 {
			for _, f := range flags {
				if strings.HasPrefix(text[i:], f) {
					return len(f)
				}
			}
		}
	}
	if ok {
		return n
	}
	return 0
}

// dotted reports a Braille cell that has dots.
func dotted(r rune) bool { return r > 0x2800 && r <= 0x28FF }

// joiner reports a zero-width character that the text around it uses.
func joiner(r, before, after rune, at int) bool {
	switch r {
	case 0xFEFF:
		return at == 0
	case 0x200D:
		if (emoji(before) || before == 0xFE0F || before >= 0x1F3FB && before <= 0x1F3FF) && emoji(after) {
			return true
		}
		return joins(before) && kindOf(after) == none
	case 0x200C:
		return joins(before) && kindOf(after) == none
	case 0x200B:
		return unspaced(before) && (unspaced(after) || unicode.IsSpace(after)) || unicode.IsSpace(before) && unspaced(after)
	case 0x180E:
		return unicode.Is(unicode.Mongolian, before) && unicode.Is(unicode.Mongolian, after)
	case 0x034F:
		return unicode.IsMark(before) && unicode.IsMark(after)
	}
	return false
}

// variant reports a variation selector behind a base that has variants: one only.
func variant(r, before, after rune) bool {
	if kindOf(after) == variation {
		return false
	}
	switch {
	case r == 0xFE0F || r == 0xFE0E:
		return emoji(before) || keycap(before) && after == 0x20E3
	case r >= 0xFE00 && r <= 0xFE0D:
		return unicode.Is(unicode.Han, before) || unicode.Is(unicode.Sm, before) || before >= 0x1000 && before <= 0x109F
	case r >= 0xE0100:
		return unicode.Is(unicode.Han, before)
	}
	return unicode.Is(unicode.Mongolian, before)
}

func keycap(r rune) bool { return r >= '0' && r <= '9' || r == '#' || r == '*' }

// emoji reports a symbol that can be shown as an emoji: the category So, arrows, and the
// letters and punctuation of emoji-data.txt.
func emoji(r rune) bool {
	if r < 0xA9 {
		return false
	}
	switch r {
	case 0x203C, 0x2049, 0x2122, 0x2139, 0x24C2, 0x3030, 0x303D:
		return true
	}
	return unicode.Is(unicode.So, r) || r >= 0x2190 && r <= 0x21FF || r >= 0x25A0 && r <= 0x27BF || r >= 0x2900 && r <= 0x297F || r >= 0x1F3FB && r <= 0x1F3FF
}

// joins reports a letter or mark of a script whose spelling uses joiners.
func joins(r rune) bool {
	switch {
	case r < 0x600:
		return false
	case r <= 0x109F, r >= 0x1780 && r <= 0x18AF, r >= 0x1900 && r <= 0x1CFF, r >= 0xA800 && r <= 0xA8FF, r >= 0xA930 && r <= 0xAADF, r >= 0xABC0 && r <= 0xABFF,
		r >= 0xFB50 && r <= 0xFDCF, r >= 0xFE70 && r <= 0xFEFC, r >= 0x10A00 && r <= 0x11FFF, r >= 0x1E900 && r <= 0x1EEFF:
		return unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r)
	}
	return false
}

// unspaced reports a letter or mark of a script written without spaces between words.
func unspaced(r rune) bool {
	switch {
	case r >= 0x0E00 && r <= 0x0FFF, r >= 0x1000 && r <= 0x109F, r >= 0x1780 && r <= 0x17FF, r >= 0x1950 && r <= 0x1AAF, r >= 0xA9E0 && r <= 0xA9FF, r >= 0xAA60 && r <= 0xAADF:
		return true
	}
	return false
}

func rightToLeft(r rune) bool {
	return r >= 0x590 && r <= 0x8FF || r >= 0xFB1D && r <= 0xFDFF || r >= 0xFE70 && r <= 0xFEFC || r >= 0x10800 && r <= 0x10FFF || r >= 0x1E800 && r <= 0x1EFFF
}

// nearRightToLeft looks for a right-to-left letter within 64 bytes on the same line.
func nearRightToLeft(text string, i, n int) bool {
	const reach = 64
	for j := i; j > 0 && i-j < reach; {
		r, m := utf8.DecodeLastRuneInString(text[:j])
		if r == '\n' {
			break
		}
		if kindOf(r) == none && rightToLeft(r) {
			return true
		}
		j -= m
	}
	for j := i + n; j < len(text) && j-i < reach; {
		r, m := utf8.DecodeRuneInString(text[j:])
		if r == '\n' {
			break
		}
		if kindOf(r) == none && rightToLeft(r) {
			return true
		}
		j += m
	}
	return false
}
