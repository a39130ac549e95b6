package fold

import "unicode/utf8"

// A Class is what the rules ask of one code point, found in one search.
type Class uint16

// The bits of a Class above its alphabet, as gen/main.go writes them.
const (
	classVisible Class = 0x100 << iota
	classWord
	classNonspacing
	classComposed
	classKey
	classLook
	classCompat
)

// An Alphabet is a script whose letters can be taken for another script's. Zero is
// every other script, and what belongs to several (digits, marks). Only Latin has
// a name here; the others are compared.
type Alphabet uint8

// Latin is the alphabet of the ASCII letters.
const Latin Alphabet = 1

// ClassOf returns the class of r.
func ClassOf(r rune) Class {
	switch {
	case r < utf8.RuneSelf:
		return classASCII(r)
	case common(r) && r != 0x4E36 && r != 0x4E3F:
		return classVisible | classWord | classComposed | classCompat | classKey
	}
	lo, hi := 0, len(classes)
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		switch c := &classes[m]; {
		case r < c.lo:
			hi = m
		case r > c.hi:
			lo = m + 1
		default:
			return c.class
		}
	}
	return 0
}

func classASCII(r rune) Class {
	switch {
	case 'a' <= r && r <= 'z':
		return Class(Latin) | classVisible | classWord | classComposed | classCompat | classKey
	case 'A' <= r && r <= 'Z':
		return Class(Latin) | classVisible | classWord | classComposed | classCompat
	case '0' <= r && r <= '9':
		return classVisible | classWord | classComposed | classCompat | classKey
	case 0x20 < r && r < 0x7F:
		return classVisible | classComposed | classCompat | classKey
	case r >= 0:
		return classComposed | classCompat | classKey
	}
	return 0
}

// Visible reports whether the rune is a letter, mark, number, punctuation or
// symbol that shows something: not a space, control, format character, private use
// or unassigned code point, not [Ignorable], and not one of the few that are blank
// in spite of their category (U+2800, the empty Braille cell) or stand for what is
// missing (U+FFFC, U+FFFD).
func (c Class) Visible() bool { return c&classVisible != 0 }

// Word reports a letter, mark or number (L, M, N).
func (c Class) Word() bool { return c&classWord != 0 }

// Nonspacing reports a mark without a width of its own (Mn, Me).
func (c Class) Nonspacing() bool { return c&classNonspacing != 0 }

// Composed reports that the rune is in NFC wherever it stands: a text of such runes
// alone is in NFC. Of other texts it says nothing.
func (c Class) Composed() bool { return c&classComposed != 0 }

// Alphabet returns the alphabet, or zero.
func (c Class) Alphabet() Alphabet { return Alphabet(c & 0xFF) }

// folds: a text of such runes alone is in NFKC and has no ignorables, so its Key
// needs no more than the fold of each rune.
func (c Class) folds() bool { return c&classCompat != 0 }

// ownKey: a text of such runes alone is its own Key.
func (c Class) ownKey() bool { return c&classKey != 0 }

// looks: the rune is in the table of confusables, or is the dot above.
func (c Class) looks() bool { return c&classLook != 0 }
