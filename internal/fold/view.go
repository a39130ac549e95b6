package fold

import (
	"strings"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// A View is a text as a reader's eye sees it, for matching, with the way back to
// the bytes of the source. It is never stored and never shown.
type View struct {
	// Text is the comparison form: valid UTF-8.
	Text string
	// Off[i] is the byte offset in the source of the segment that Text[i] came
	// from; len(Off) == len(Text)+1, the last one being the length of the source.
	// nil means that Text has the length of the source and offsets are the same.
	Off []int32
}

// NewView returns the comparison view of s: NFKC, folded like [Key], with
// default-ignorable code points dropped and letters that can be taken for ASCII
// ones mapped to them like [Skeleton]. A text of ASCII alone is only lower-cased,
// and its view has no offset table. Bytes that are not UTF-8 become U+FFFD. s must
// be shorter than 2 GiB.
//
// Unlike a Key, a View is not a canonical form: it normalises segment by segment,
// so what stands on either side of a dropped code point does not compose.
func NewView(s string) View {
	if isASCII(s) {
		return View{Text: strings.ToLower(s)}
	}
	b := viewBuilder{
		text: make([]byte, 0, len(s)+len(s)/8),
		off:  make([]int32, 0, len(s)+len(s)/8+1),
	}
	for i := 0; i < len(s); {
		i = b.next(s, i)
	}
	b.off = append(b.off, int32(len(s)))
	return View{Text: string(b.text), Off: b.off}
}

// Span maps the range [i, j) of Text to the bytes of the source that it came
// from: whole segments, so never a part of a code point. An empty range has
// length 0. It panics if the range is not within Text.
func (v View) Span(i, j int) (off, length int) {
	if i < 0 || j < i || j > len(v.Text) {
		panic("fold: span out of range")
	}
	if v.Off == nil {
		return i, j - i
	}
	off = int(v.Off[i])
	if i == j {
		return off, 0
	}
	last := v.Off[j-1]
	for j < len(v.Off)-1 && v.Off[j] == last {
		j++
	}
	return off, int(v.Off[j]) - off
}

type viewBuilder struct {
	text []byte
	off  []int32
	buf  [64]byte
}

// next appends the view of the segment at s[i] and returns where the next begins.
func (b *viewBuilder) next(s string, i int) int {
	r, n := utf8.DecodeRuneInString(s[i:])
	switch {
	case r == utf8.RuneError && n == 1:
		b.addString("\uFFFD", i)
		return i + 1
	case Ignorable(r):
		return i + n
	case ClassOf(r).folds() && startsAt(s, i+n):
		b.addRune(r, i)
		return i + n
	}
	if m := norm.NFKC.NextBoundaryInString(s[i:], true); m > n {
		n = m
	}
	seg := norm.NFKC.AppendString(b.buf[:0], s[i:i+n])
	for k := 0; k < len(seg); {
		r, w := utf8.DecodeRune(seg[k:])
		b.addRune(r, i)
		k += w
	}
	return i + n
}

// startsAt reports that what begins at s[i] composes with nothing before it.
func startsAt(s string, i int) bool {
	if i == len(s) || s[i] < utf8.RuneSelf {
		return true
	}
	r, _ := utf8.DecodeRuneInString(s[i:])
	return ClassOf(r).folds()
}

func (b *viewBuilder) addRune(r rune, at int) {
	if r < utf8.RuneSelf {
		b.add(lower(byte(r)), at)
		return
	}
	if Ignorable(r) {
		return
	}
	if r == dotAbove && len(b.text) > 0 && softDotted(b.text[len(b.text)-1]) {
		return
	}
	if to, ok := confusable(r); ok {
		b.addString(to, at)
		return
	}
	one, many := foldRune(r)
	if many != "" {
		b.addString(many, at)
		return
	}
	if to, ok := confusable(one); ok {
		b.addString(to, at)
		return
	}
	var e [utf8.UTFMax]byte
	n := utf8.EncodeRune(e[:], one)
	for _, c := range e[:n] {
		b.add(c, at)
	}
}

func (b *viewBuilder) addString(s string, at int) {
	for i := range len(s) {
		b.add(s[i], at)
	}
}

func (b *viewBuilder) add(c byte, at int) {
	b.text = append(b.text, c)
	b.off = append(b.off, int32(at))
}
