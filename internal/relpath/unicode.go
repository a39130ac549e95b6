package relpath

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/memoryroom/scribe/internal/fold"
	"golang.org/x/text/unicode/norm"
)

// runes checks what is beyond ASCII in the name as it was given (rule 5), and
// reports whether the name is the same in every view, ASCII capitals apart: then
// rule 6 has nothing to add to rule 4.
func (c *checker) runes() (stable bool, ref *Refusal) {
	var w word
	composed := true
	stable = true
	for i, r := range c.name {
		class := fold.ClassOf(r)
		if class.Neutral() && w.extend(r, class.Alphabet()) {
			continue
		}
		if r >= utf8.RuneSelf {
			composed = composed && class.Composed()
			stable = stable && class.Stable()
			if !class.Visible() || !class.Stable() || !class.Word() { // a letter like any
				if ref := c.visible(i, r, class); ref != nil {
					return false, ref
				}
			}
		}
		switch rule := w.next(r, class); rule {
		case "":
		case ruleMixedScript:
			if ref := c.policy(rule, segmentAt(c.name, i), r); ref != nil {
				return false, ref
			}
		default:
			return false, c.hard(rule, segmentAt(c.name, i), r)
		}
	}
	if composed {
		return stable, nil
	}
	return stable, c.nfc()
}

// visible checks that a rune shows something and is no separator's look-alike.
func (c *checker) visible(i int, r rune, class fold.Class) *Refusal {
	if class.Visible() {
		if solidus(r) {
			return c.hard(ruleLookAlike, segmentAt(c.name, i), r)
		}
		return nil
	}
	seg := segmentAt(c.name, i)
	switch {
	case fold.Ignorable(r):
		if joiner(r) {
			return c.policy(ruleIgnorable, seg, r)
		}
		return c.hard(ruleIgnorable, seg, r)
	case !fold.Assigned(r):
		return c.hard(ruleUnassigned, seg, r)
	case unicode.In(r, unicode.Cc, unicode.Zl, unicode.Zp):
		return c.hard(ruleControl, seg, r)
	case unicode.Is(unicode.Zs, r):
		return c.policy(ruleSpacing, seg, r)
	}
	return c.hard(ruleCategory, seg, r)
}

// joiner: invisible, and part of the orthography of Persian and the Indic scripts
// and of emoji.
func joiner(r rune) bool {
	return r == 0x200C || r == 0x200D || r == 0xFE0E || r == 0xFE0F
}

// solidus reports whether r can be taken for a slash or a backslash wherever it
// stands. The overlays make the letter before them into something crossed out.
func solidus(r rune) bool {
	switch r {
	case 0x0337, 0x0338, 0x20E5, // combining solidus overlays
		0x2AFD,         // double solidus operator
		0x244A, 0x2CF9, // double backslash; Coptic full stop of two strokes
		0x2F02, 0x2F03, // Kangxi radicals dot and slash
		0x31CF, 0x31D4, // strokes that fall to the right
		0x2E4A, 0x2E5D, // dotted solidus, oblique hyphen
		0x1F67C, 0x1F67D: // heavy solidus and reverse solidus
		return true
	}
	l := fold.LooksLike(r)
	return l == "/" || l == `\`
}

// kanaSolidus: ノ and 丿 and 丶 are ordinary in Chinese and Japanese, and a
// separator's look-alike only where ASCII stands on both sides.
func kanaSolidus(r rune) bool { return r == 'ノ' || r == '丿' || r == '丶' || r == 'ﾉ' }

// A word is the state of the rules that look at neighbours. A word is a run of
// letters, digits and marks.
type word struct {
	prev     rune          // the rune before, 0 at the start of a segment
	alphabet fold.Alphabet // of the word so far
	marks    int           // nonspacing marks in a row
	inLatin  bool          // the rune before is a Latin letter
	pending  string        // the rule to break if ASCII or Latin follows
}

// extend is next for a rune that is neutral, where nothing before it matters. It
// reports whether that was so, or changes nothing.
func (w *word) extend(r rune, a fold.Alphabet) bool {
	if w.prev == 0 || w.pending != "" || a != 0 && w.alphabet != 0 && w.alphabet != a || kanaSolidus(r) {
		return false
	}
	w.prev, w.marks, w.inLatin = r, 0, a != 0
	if a != 0 {
		w.alphabet = a
	}
	return true
}

// next takes the next rune of the name, and returns the rule that it breaks or "".
func (w *word) next(r rune, class fold.Class) (rule string) {
	prev, pending := w.prev, w.pending
	w.prev, w.pending = r, ""
	switch {
	case r == '/':
		*w = word{}
		return ""
	case class.Nonspacing():
		w.pending = pending
		if w.marks++; w.marks > MaxMarks || !bears(prev) {
			return ruleMark
		}
		return ""
	case joiner(r):
		w.prev, w.pending = prev, pending
		return ""
	}
	w.marks = 0
	if kanaSolidus(r) {
		if alnumDot(prev) {
			w.pending = ruleLookAlike
		}
		w.inLatin = false
		return ""
	}
	if !class.Word() {
		w.alphabet, w.inLatin = 0, false
		return ""
	}
	if prev == 0 && r >= utf8.RuneSelf && unicode.Is(unicode.M, r) {
		return ruleMark
	}
	if pending == ruleLookAlike && alnumDot(r) {
		return pending
	}
	return w.letter(r, class.Alphabet(), pending)
}

// letter extends the word by a letter or number.
func (w *word) letter(r rune, a fold.Alphabet, pending string) string {
	wasLatin := w.inLatin
	w.inLatin = a == fold.Latin
	if a == 0 {
		// One letter or digit of any other script alone between Latin ones, which it
		// can be taken for: a look-alike, not a second language.
		if l := fold.LooksLike(r); wasLatin && len(l) == 1 && 'a' <= l[0] && l[0] <= 'z' {
			w.pending = ruleMixedScript
		}
		return ""
	}
	if w.inLatin && pending == ruleMixedScript {
		return pending
	}
	if w.alphabet != 0 && w.alphabet != a {
		return ruleMixedScript
	}
	w.alphabet = a
	return ""
}

func alnumDot(r rune) bool {
	return r == '.' || '0' <= r && r <= '9' || r < utf8.RuneSelf && 'a' <= r|0x20 && r|0x20 <= 'z'
}

// bears reports whether a nonspacing mark may follow r: not at the start of a
// segment, and not after ASCII punctuation or a space, which it would disguise.
func bears(r rune) bool {
	return r >= utf8.RuneSelf || '0' <= r && r <= '9' || 'a' <= r|0x20 && r|0x20 <= 'z'
}

// nfc refuses a name that is not in NFC, with the first rune that changes.
func (c *checker) nfc() *Refusal {
	n := norm.NFC.QuickSpanString(c.name)
	if n == len(c.name) || norm.NFC.IsNormalString(c.name) {
		return nil
	}
	r, _ := utf8.DecodeRuneInString(c.name[n:])
	return c.hard(ruleNotNFC, segmentAt(c.name, n), r)
}

// views judges what the name may be taken for (rule 6). The views are never used.
func (c *checker) views() *Refusal {
	key, look := fold.Views(c.name)
	if r := c.structure(key); r != nil {
		return r
	}
	name := c.name
	for more := true; more; {
		var seg, k, l string
		seg, name, more = strings.Cut(name, "/")
		k, key, _ = strings.Cut(key, "/")
		l, look, _ = strings.Cut(look, "/")
		if ascii(seg) {
			continue // judged as it is
		}
		if r := c.keyView(seg, k); r != nil {
			return r
		}
		if r := c.lookView(seg, l); r != nil {
			return r
		}
	}
	return nil
}

// structure refuses characters of the key that a name may not have, and a slash
// too many; c.name's own were judged as they are.
func (c *checker) structure(key string) *Refusal {
	slashes := 0
	for i := range len(key) {
		switch b := key[i]; {
		case b == '/':
			slashes++
		case plain(b) || b >= utf8.RuneSelf:
		case byteRule(b) != "":
			if strings.IndexByte(c.name, b) >= 0 {
				continue // raw, and of policy, or it would not have come here
			}
			seg, r := c.source(b)
			if b == '\\' || b == '~' {
				return c.hard(ruleCompat, seg, r)
			}
			if ref := c.policy(ruleCompat, seg, r); ref != nil {
				return ref
			}
		}
	}
	if slashes != strings.Count(c.name, "/") {
		seg, r := c.source('/')
		return c.hard(ruleCompat, seg, r)
	}
	return nil
}

// source finds the rune beyond ASCII that brings b into the key, and its segment.
func (c *checker) source(b byte) (seg string, r rune) {
	for i, r := range c.name {
		if r >= utf8.RuneSelf && strings.IndexByte(norm.NFKC.String(string(r)), b) >= 0 {
			return segmentAt(c.name, i), r
		}
	}
	return "", 0
}

// keyView judges the key of a segment: what a file system may take it for.
func (c *checker) keyView(seg, key string) *Refusal {
	if key == "" {
		return c.hard(ruleIgnorable, seg, 0)
	}
	first, _ := utf8.DecodeRuneInString(seg)
	if first >= utf8.RuneSelf {
		switch key[0] {
		case '.', '~':
			return c.hard(ruleCompat, seg, first)
		case '-', ' ':
			if r := c.policy(ruleCompat, seg, first); r != nil {
				return r
			}
		}
	}
	last, _ := utf8.DecodeLastRuneInString(seg)
	if b := key[len(key)-1]; last >= utf8.RuneSelf && (b == '.' || b == ' ') {
		return c.hard(ruleCompat, seg, last)
	}
	return c.listed(key, seg)
}

// lookView judges the skeleton of a segment: what a reader may take it for.
// Device names do not count: what only looks like one is none.
func (c *checker) lookView(seg, look string) *Refusal {
	switch rule := namelist(look); {
	case rule != "" && strings.HasSuffix(look, ".md"):
		return c.policy(ruleLookAlike, seg, 0)
	case rule != "":
		return c.hard(ruleLookAlike, seg, 0)
	case dotLike(seg, look):
		first, _ := utf8.DecodeRuneInString(seg)
		return c.hard(ruleLookAlike, seg, first)
	}
	return nil
}

// dotLike reports whether a segment begins with what reads as the dot of a hidden
// file. A middle dot before kana is a bullet, and a zero before Arabic is a number:
// only before Latin and its like are they dots.
func dotLike(seg, look string) bool {
	if !strings.HasPrefix(look, ".") || seg[0] == '.' {
		return false
	}
	_, n := utf8.DecodeRuneInString(seg)
	next, _ := utf8.DecodeRuneInString(seg[n:])
	return fold.ClassOf(next).Alphabet() != 0 || '0' <= next && next <= '9'
}
