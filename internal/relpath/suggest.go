package relpath

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/memoryroom/scribe/internal/fold"
	"golang.org/x/text/unicode/norm"
)

// suggest returns a name near the refused one that parses, or "". For names that
// try to be something else (absolute, climbing, of another volume or URL, encoded,
// a pattern) there is none: nothing near them is what was meant.
func suggest(name, rule string, leaf bool) string {
	switch rule {
	case ruleEmpty, ruleTooLong, ruleTooDeep, ruleUTF8, ruleAbsolute, ruleDotDot, ruleBackslash, rulePercent:
		return ""
	}
	if len(name) > MaxLen || strings.ContainsAny(name, `\*?`) || strings.Contains(name, "..") ||
		strings.Contains(name, ":/") || strings.HasPrefix(name, ":") {
		return ""
	}
	for _, base := range []string{name, fold.Skeleton(name)} {
		s := canonical(base, leaf)
		c := checker{name: s, leaf: leaf, quiet: true}
		if s != name && s != "" && c.check() == nil {
			return s
		}
	}
	return ""
}

// canonical returns name with what the rules refuse taken out or replaced. It need
// not parse.
func canonical(name string, leaf bool) string {
	var segs []string
	for seg := range strings.SplitSeq(norm.NFC.String(name), "/") {
		if seg = tidy(seg); seg != "" {
			segs = append(segs, seg)
		}
	}
	for i, seg := range segs {
		if leaf && i == len(segs)-1 {
			segs[i] = tidyLeaf(seg)
		} else if unusable(seg) {
			segs[i] = seg + "-notes"
		}
	}
	return strings.Join(segs, "/")
}

func unusable(seg string) bool {
	return denied(seg) || device(seg) || looksDenied(seg)
}

func tidyLeaf(seg string) string {
	stem := seg
	for _, ext := range []string{".md", ".markdown", ".mdx", ".mdc", ".txt"} {
		if n := len(stem) - len(ext); n > 0 && strings.EqualFold(stem[n:], ext) {
			stem = stem[:n]
			break
		}
	}
	if stem = strings.TrimRight(stem, ". -"); stem == "" {
		return ""
	}
	name := stem + ".md"
	if instruction(name) || looksInstruction(name) || device(name) {
		if i := strings.IndexByte(stem, '.'); i > 0 && device(name) {
			return stem[:i] + "-" + stem[i+1:] + ".md"
		}
		return stem + "-notes.md"
	}
	return name
}

// tidy returns one segment without what is invisible, with a hyphen for each
// character that is not allowed, and with clean edges.
func tidy(seg string) string {
	var b strings.Builder
	for _, r := range seg {
		switch {
		case r < utf8.RuneSelf && byteRule(byte(r)) == ruleControl || fold.Ignorable(r):
		case unicode.IsSpace(r):
			b.WriteByte(' ')
		case r < utf8.RuneSelf && byteRule(byte(r)) != "" || solidus(r):
			b.WriteByte('-')
		case r < utf8.RuneSelf:
			b.WriteRune(r)
		case fold.ClassOf(r).Visible():
			tidyRune(&b, r)
		}
	}
	s := b.String()
	for strings.Contains(s, "  ") {
		s = strings.ReplaceAll(s, "  ", " ")
	}
	for strings.Contains(s, "--") {
		s = strings.ReplaceAll(s, "--", "-")
	}
	if len(s) > MaxSegment-len("-notes.md") {
		n := MaxSegment - len("-notes.md")
		for n > 0 && !utf8.RuneStart(s[n]) {
			n--
		}
		s = s[:n]
	}
	return strings.TrimRight(strings.TrimLeft(s, " .-@#!"), " .-")
}

// tidyRune writes r, or what it stands for when that holds a character of ASCII
// that is not allowed.
func tidyRune(b *strings.Builder, r rune) {
	k := norm.NFKC.String(string(r))
	for i := range len(k) {
		if k[i] < utf8.RuneSelf && (byteRule(k[i]) != "" || k[i] == '/') {
			b.WriteByte('-')
			return
		}
	}
	b.WriteRune(r)
}
