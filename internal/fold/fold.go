package fold

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Key returns the collision key of s: two names with one key may be the same
// file somewhere.
//
// The steps are: drop default-ignorable code points, NFKC, full case folding of
// each rune (ß to ss, İ to i and a dot above) onto the lower-case member of its
// SimpleFold orbit (so that Cherokee and Mtavruli, whose fold is not their lower
// case, settle), NFKC. The result is a fixed point: Key(Key(s)) == Key(s).
// A string that is not UTF-8 only has its ASCII letters lowered: dropping a code point
// could make new ones of the bytes around it.
//
// A string of lower-case ASCII, or of other runes that are their own key, is
// returned without allocating.
func Key(s string) string {
	i := 0
	for i < len(s) && s[i] < utf8.RuneSelf && (s[i] < 'A' || 'Z' < s[i]) {
		i++
	}
	if i == len(s) {
		return s
	}
	if isASCII(s[i:]) {
		return strings.ToLower(s)
	}
	return key(s)
}

func key(s string) string {
	own := true
	for _, r := range s {
		if !ClassOf(r).ownKey() {
			own = false
			break
		}
	}
	if own {
		return s
	}
	var buf [128]byte
	if b, _, ok := inertKey(buf[:0], s); ok {
		return string(b)
	}
	return slowKey(s)
}

// inertKey appends the [Key] of a text in which nothing composes or reorders: all
// that its runes decompose and fold to is inert (see Class.folds), so each may be
// taken alone. It gives up at the first that is not, with ok false. seen is the
// classes of all runes, before and after, taken together.
func inertKey(b []byte, s string) (key []byte, seen Class, ok bool) {
	for i := 0; i < len(s); {
		if c := s[i]; c < utf8.RuneSelf {
			b, i = append(b, lower(c)), i+1
			continue
		}
		r, n := utf8.DecodeRuneInString(s[i:])
		class := ClassOf(r)
		seen |= class
		start := len(b)
		switch {
		case r == utf8.RuneError && n == 1:
			return nil, 0, false
		case class.ownKey():
			b, i = append(b, s[i:i+n]...), i+n
			continue
		case class.folds():
			b = appendFoldedRune(b, r)
		case 0xFF01 <= r && r <= 0xFF5E: // fullwidth forms
			b = append(b, lower(byte(r-0xFF01+'!')))
		case class.Visible() || !Ignorable(r):
			d := norm.NFKC.PropertiesString(s[i:]).Decomposition()
			if len(d) == 0 || !inert(d, &seen) {
				return nil, 0, false
			}
			for k := 0; k < len(d); {
				q, w := utf8.DecodeRune(d[k:])
				b, k = appendFoldedRune(b, q), k+w
			}
		}
		if !inert(b[start:], &seen) {
			return nil, 0, false
		}
		i += n
	}
	return b, seen, true
}

// inert reports whether all runes of b are, and adds their classes to seen.
func inert(b []byte, seen *Class) bool {
	for i := 0; i < len(b); {
		if b[i] < utf8.RuneSelf {
			i++
			continue
		}
		r, n := utf8.DecodeRune(b[i:])
		class := ClassOf(r)
		if !class.folds() {
			return false
		}
		*seen |= class
		i += n
	}
	return true
}

func slowKey(s string) string {
	if !utf8.ValidString(s) {
		b := []byte(s)
		for i, c := range b {
			b[i] = lower(c)
		}
		return string(b)
	}
	simple := true
	for _, r := range s {
		simple = simple && ClassOf(r).folds()
	}
	if !simple {
		s = dropIgnorable(s)
		if !norm.NFKC.IsNormalString(s) {
			s = norm.NFKC.String(s)
		}
	}
	var buf [128]byte
	b := buf[:0]
	for i := 0; i < len(s); {
		b, i = appendFolded(b, s, i)
	}
	if string(b) == s && !simple {
		// The stream-safe format puts a grapheme joiner into long runs of marks.
		return dropIgnorable(s)
	}
	if !norm.NFKC.IsNormal(b) {
		b = norm.NFKC.Bytes(b)
	}
	return dropIgnorable(string(b))
}

// appendFolded appends the fold of the rune at s[i] and returns the next index.
func appendFolded(b []byte, s string, i int) ([]byte, int) {
	c := s[i]
	if c < utf8.RuneSelf {
		return append(b, lower(c)), i + 1
	}
	r, n := utf8.DecodeRuneInString(s[i:])
	if r == utf8.RuneError && n == 1 {
		return append(b, c), i + 1
	}
	return appendFoldedRune(b, r), i + n
}

func appendFoldedRune(b []byte, r rune) []byte {
	one, many := foldRune(r)
	if many != "" {
		return append(b, many...)
	}
	return utf8.AppendRune(b, one)
}

// foldRune returns the full case folding of an NFKC rune: one rune, or many when
// that is not empty.
func foldRune(r rune) (one rune, many string) {
	if r < utf8.RuneSelf {
		return rune(lower(byte(r))), ""
	}
	if ClassOf(r).ownKey() {
		return r, ""
	}
	if c, ok := findCase(r); ok {
		return r + c.delta, ""
	}
	many, _ = findString(foldStrings[:], r)
	return r, many
}

// Skeleton returns the look-alike key of s, after the skeleton of UTS #39: [Key],
// with each letter or mark that can be taken for an ASCII one mapped to it (lower
// case), before and after folding, because a capital may look like another letter
// than its small form does. A dot above an i or a j is dropped.
//
// It is coarser than Key for such letters only. Unlike UTS #39 it never merges
// ASCII with ASCII (1, l and I; rn and m): siblings named v1 and vl are ordinary.
func Skeleton(s string) string {
	if isASCII(s) || !utf8.ValidString(s) {
		return Key(s)
	}
	return settle(Key(mapConfusable(s)))
}

// Views returns Key(s) and Skeleton(s) for little more than the cost of one.
func Views(s string) (key, skeleton string) {
	var buf [128]byte
	b, seen, ok := inertKey(buf[:0], s)
	switch {
	case !ok && !utf8.ValidString(s):
		key = slowKey(s)
		return key, key
	case !ok:
		key = slowKey(s)
	case string(b) == s:
		key = s
	default:
		key = string(b)
	}
	if ok && !seen.looks() {
		return key, key
	}
	if m := mapConfusable(s); m != s {
		return key, settle(Key(m))
	}
	return key, settle(key)
}

// settle maps what folding turned into a confusable. A mapped letter may compose
// with the mark that follows, and map again: two rounds settle every code point
// (tested), and the cap the rest.
func settle(s string) string {
	const maxRounds = 4
	for range maxRounds {
		m := mapConfusable(s)
		if m == s {
			break
		}
		s = Key(m)
	}
	return s
}

// mapConfusable replaces each confusable rune of s by its ASCII look-alike.
func mapConfusable(s string) string {
	plain := true
	for _, r := range s {
		if ClassOf(r).looks() {
			plain = false
			break
		}
	}
	if plain {
		return s
	}
	var buf [128]byte
	b := buf[:0]
	for i := 0; i < len(s); {
		b, i = appendConfusable(b, s, i)
	}
	return string(b)
}

func appendConfusable(b []byte, s string, i int) ([]byte, int) {
	if s[i] < utf8.RuneSelf {
		return append(b, s[i]), i + 1
	}
	r, n := utf8.DecodeRuneInString(s[i:])
	if r == dotAbove && len(b) > 0 && softDotted(b[len(b)-1]) {
		return b, i + n
	}
	if to, ok := confusable(r); ok {
		return append(b, to...), i + n
	}
	return append(b, s[i:i+n]...), i + n
}

const dotAbove = '\u0307'

// softDotted: the dot above is part of the letter, so one more shows nothing.
func softDotted(c byte) bool { return c|0x20 == 'i' || c|0x20 == 'j' }

func confusable(r rune) (string, bool) {
	if !ClassOf(r).looks() {
		return "", false
	}
	return findString(confusables[:], r)
}

// LooksLike returns the ASCII text that r can be taken for, or "". The letters
// are lower case; a precomposed letter gives the ASCII letter and its mark.
func LooksLike(r rune) string {
	if r < utf8.RuneSelf {
		return ""
	}
	to, _ := confusable(r)
	return to
}

// Ignorable reports whether r is a Default_Ignorable_Code_Point: 4,174 of them,
// shown as nothing, and of length zero in the names of HFS+ (some) and of ext4
// and f2fs with case folding (all).
func Ignorable(r rune) bool { return r >= 0xAD && in(ignorable[:], r) }

// Assigned reports whether r is assigned in Unicode [Version]: neither
// unassigned (Cn), a noncharacter, nor a surrogate. Private use counts as
// assigned.
func Assigned(r rune) bool {
	return r >= 0 && (r < utf8.RuneSelf || common(r) || in(assigned[:], r))
}

// common covers the Han and Hangul blocks in which every code point is assigned.
func common(r rune) bool {
	return 0x4E00 <= r && r <= 0x9FFF || 0xAC00 <= r && r <= 0xD7A3
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= utf8.RuneSelf {
			return false
		}
	}
	return true
}

func lower(c byte) byte {
	if 'A' <= c && c <= 'Z' {
		return c + ('a' - 'A')
	}
	return c
}

// dropIgnorable returns s without its default-ignorable code points.
func dropIgnorable(s string) string {
	for i, r := range s {
		if !Ignorable(r) {
			continue
		}
		b := make([]byte, 0, len(s))
		b = append(b, s[:i]...)
		for i < len(s) {
			r, n := utf8.DecodeRuneInString(s[i:])
			if !Ignorable(r) {
				b = append(b, s[i:i+n]...)
			}
			i += n
		}
		return string(b)
	}
	return s
}

// The shapes of the generated tables. All are sorted by code point and searched
// by bisection.
type (
	runeRange  struct{ lo, hi rune }
	classRange struct {
		lo, hi rune
		class  Class
	}
	// caseRange: lo, lo+step, ... hi fold to themselves plus delta.
	caseRange    struct{ lo, hi, step, delta rune }
	runeToString struct {
		r  rune
		to string
	}
)

func in(table []runeRange, r rune) bool {
	lo, hi := 0, len(table)
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		switch t := table[m]; {
		case r < t.lo:
			hi = m
		case r > t.hi:
			lo = m + 1
		default:
			return true
		}
	}
	return false
}

func findCase(r rune) (caseRange, bool) {
	lo, hi := 0, len(foldRanges)
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		switch t := foldRanges[m]; {
		case r < t.lo:
			hi = m
		case r > t.hi:
			lo = m + 1
		default:
			return t, (r-t.lo)%t.step == 0
		}
	}
	return caseRange{}, false
}

func findString(table []runeToString, r rune) (string, bool) {
	lo, hi := 0, len(table)
	for lo < hi {
		m := int(uint(lo+hi) >> 1)
		switch t := table[m]; {
		case r < t.r:
			hi = m
		case r > t.r:
			lo = m + 1
		default:
			return t.to, true
		}
	}
	return "", false
}
