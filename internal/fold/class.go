package fold

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
	if i := uint32(r) >> 5; i < uint32(len(classStarts)) {
		return classKinds[classBlocks[uint32(classStarts[i])<<5|uint32(r)&31]]
	}
	return farClass(r)
}

func farClass(r rune) Class {
	for _, c := range farClasses {
		if c.lo <= r && r <= c.hi {
			return c.class
		}
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

// Stable reports that the rune, lower-case ASCII apart from capitals, is the same in
// every view: a text of ASCII and such runes has its own lower case as [Key] and as
// [Skeleton].
func (c Class) Stable() bool { return c&(classKey|classLook) == classKey }

// Neutral reports a letter or number that is [Class.Visible], [Class.Composed] and
// [Class.Stable], of the Latin alphabet or of none: most of what names consist of.
func (c Class) Neutral() bool {
	const neutral = classVisible | classWord | classComposed | classKey | classCompat
	return c == neutral || c == neutral|Class(Latin)
}
