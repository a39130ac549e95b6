package hidden

import (
	"slices"
	"unicode/utf8"
)

const (
	maxPayload = 4096 // code points of a run that are decoded
	minCode    = 8    // bits of a zero-width code that can hold a letter
	unknownRun = 16   // zero-width characters of several kinds that no text needs
)

// decodes reports whether a run of one rule is a message.
func decodes(run, rule string) bool {
	switch rule {
	case ruleOf[tag]:
		return readable(tagBytes(nil, run), 2)
	case ruleOf[variation]:
		b := selectorBytes(nil, run)
		return len(b) >= 2 && readable(b, 2) || len(b) >= unknownRun
	case ruleOf[zeroWidth], ruleOf[filler]:
		return zeroWidthCode(symbols(nil, run))
	}
	return false
}

// tagBytes appends the ASCII characters that tag characters stand for.
func tagBytes(dst []byte, run string) []byte {
	for _, r := range run {
		if r >= 0xE0020 && r <= 0xE007E && len(dst) < maxPayload {
			dst = append(dst, byte(r-0xE0000))
		}
	}
	return dst
}

// selectorBytes appends the bytes that variation selectors stand for: selector n is
// byte n-1, a coding published in 2025 (VS1 to VS256 give every byte).
func selectorBytes(dst []byte, run string) []byte {
	for _, r := range run {
		if v := selector(r); v >= 0 && len(dst) < maxPayload {
			dst = append(dst, byte(v))
		}
	}
	return dst
}

// symbols appends the zero-width characters of a run, soft hyphens left out: they are
// found one by one.
func symbols(dst []rune, run string) []rune {
	for _, r := range run {
		if r != 0xAD && len(dst) < maxPayload {
			dst = append(dst, r)
		}
	}
	return dst
}

// readable reports at least n bytes that are text: mostly printable, valid UTF-8.
func readable(b []byte, n int) bool {
	if len(b) < n || !utf8.Valid(b) {
		return false
	}
	good := 0
	for _, c := range b {
		if c >= ' ' && c != 0x7F || c == '\n' || c == '\t' || c == '\r' {
			good++
		}
	}
	return good*10 >= len(b)*9
}

// zeroWidthCode reports whether symbols are a message: two of them as bits in groups of
// eight or seven, with a third as a separator; four as pairs of bits; or counts of one
// between another. Long runs of several kinds count in any code.
func zeroWidthCode(code []rune) bool {
	var kinds []rune
	for _, r := range code {
		if !slices.Contains(kinds, r) {
			if kinds = append(kinds, r); len(kinds) > 8 {
				break
			}
		}
	}
	slices.Sort(kinds)
	if len(kinds) < 2 || len(code) < minCode/2 {
		return false
	}
	if len(code) >= unknownRun {
		return true
	}
	if len(kinds) == 4 && pairs(code, kinds) {
		return true
	}
	for _, zero := range kinds {
		for _, one := range kinds {
			if zero != one && (bits(code, zero, one, 8) || bits(code, zero, one, 7) || unary(code, zero, one)) {
				return true
			}
		}
	}
	return false
}

// bits decodes zero and one, most significant bit first, and skips other symbols.
func bits(code []rune, zero, one rune, width int) bool {
	var out []byte
	v, n, all := 0, 0, 0
	for _, r := range code {
		switch r {
		case zero:
			v <<= 1
		case one:
			v = v<<1 | 1
		default:
			continue
		}
		all++
		if n++; n == width {
			out = append(out, byte(v))
			v, n = 0, 0
		}
	}
	return all >= minCode && n == 0 && letters(out)
}

// pairs decodes four symbols as two bits each, in the order of their code points or
// the reverse.
func pairs(code, kinds []rune) bool {
	for _, flip := range [...]int{0, 3} {
		var out []byte
		v := 0
		for i, r := range code {
			v = v<<2 | slices.Index(kinds, r) ^ flip
			if i%4 == 3 {
				out = append(out, byte(v))
				v = 0
			}
		}
		if len(code) >= minCode && letters(out) {
			return true
		}
	}
	return false
}

// unary decodes the numbers of marks between separators as letters of the alphabet or
// as ASCII.
func unary(code []rune, mark, separator rune) bool {
	var out []byte
	n := 0
	for _, r := range append(slices.Clone(code), separator) {
		switch {
		case r == mark:
			n++
		case r == separator && n > 0:
			if n > 126 {
				return false
			}
			if n <= 26 {
				n += 'a' - 1
			}
			out = append(out, byte(n))
			n = 0
		}
	}
	return len(code) >= minCode && len(out) >= 4 && letters(out)
}

// letters reports bytes that are all printable ASCII and mostly letters.
func letters(b []byte) bool {
	good := 0
	for _, c := range b {
		if c < ' ' || c > '~' {
			return false
		}
		if c|0x20 >= 'a' && c|0x20 <= 'z' || c == ' ' {
			good++
		}
	}
	return len(b) > 0 && good*10 >= len(b)*6
}

// spread marks findings that carry a message only together: tags, selectors or
// zero-width bits that are strewn over the text one by one, and selectors that are
// legitimate each for itself.
func (s *scanner) spread() {
	if len(s.found) < 2 && s.legitSelectors() < 4 {
		return
	}
	for _, k := range [...]kind{tag, variation, zeroWidth} {
		var all []byte
		var code []rune
		count := 0
		for _, f := range s.found {
			if f.Rule != ruleOf[k] {
				continue
			}
			count++
			run := s.text[f.Offset : f.Offset+f.Length]
			switch k {
			case tag:
				all = tagBytes(all, run)
			case variation:
				all = selectorBytes(all, run)
			default:
				code = symbols(code, run)
			}
		}
		if count < 2 || k == zeroWidth && !strewn(code) || k != zeroWidth && !readable(all, 4) {
			continue
		}
		for i := range s.found {
			s.found[i].Carries = s.found[i].Carries || s.found[i].Rule == ruleOf[k]
		}
	}
	s.dividers()
	s.ideographic()
}

// minDivided is how many times blanks that are no spaces, icons or controls stand
// inside words before it is meant: one may be a slip of a font or an editor.
const minDivided = 3

// dividers marks fillers, private use and controls that divide words throughout.
func (s *scanner) dividers() {
	n := 0
	for pass := range 2 {
		for i := range s.found {
			f := &s.found[i]
			if f.Rule != ruleOf[filler] && f.Rule != ruleOf[privateUse] && f.Rule != ruleOf[control] {
				continue
			}
			a, _ := utf8.DecodeLastRuneInString(s.text[:f.Offset])
			b, _ := utf8.DecodeRuneInString(s.text[f.Offset+f.Length:])
			if !alphabetic(a) || !alphabetic(b) {
				continue
			}
			if pass == 0 {
				n++
			} else {
				f.Carries = true
			}
		}
		if n < minDivided {
			return
		}
	}
}

// strewn reports a two-symbol code over the whole text. Unlike a run, the characters
// have to decode.
func strewn(code []rune) bool {
	if len(code) < minCode {
		return false
	}
	kinds := slices.Clone(code)
	slices.Sort(kinds)
	kinds = slices.Compact(kinds)
	if len(kinds) != 2 {
		return false
	}
	return bits(code, kinds[0], kinds[1], 8) || bits(code, kinds[1], kinds[0], 8)
}

// legitSelectors counts the variation selectors for ideographs (U+E0100 and up).
func (s *scanner) legitSelectors() int {
	n := 0
	for i := 0; i+1 < len(s.text); i++ {
		if s.text[i] == 0xF3 && s.text[i+1] == 0xA0 {
			n++
		}
	}
	return n
}

// ideographic reports variation selectors behind Han characters that read as text.
// Real ones are mostly of the first few; a message needs letters, from U+E0151 on.
func (s *scanner) ideographic() {
	var all []byte
	start, end := -1, 0
	for i, r := range s.text {
		if r >= 0xE0100 && r <= 0xE01EF {
			if start < 0 {
				start = i
			}
			end = i + utf8.RuneLen(r)
			all = append(all, byte(selector(r)))
		}
		if len(all) >= maxPayload {
			break
		}
	}
	if len(all) < 4 || !letters(all) {
		return
	}
	for _, f := range s.found {
		if f.Rule == ruleOf[variation] {
			return // reported already
		}
	}
	s.found = append(s.found, Finding{Rule: ruleOf[variation], Offset: start, Length: end - start, Carries: true})
}
