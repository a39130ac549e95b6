package secret

import (
	"cmp"
	"slices"
	"strings"
)

// A Finding says which rule matched and where. Offset and Length are bytes of the
// scanned text. The value is deliberately not part of it.
type Finding struct {
	Rule           string
	Offset, Length int
}

// Scan returns what looks like a credential in text, ordered by offset, without
// overlaps; nil when nothing does.
//
// Time is linear in len(text). Plain ASCII text without findings costs no allocation.
func Scan(text string) []Finding { return ScanAllow(text, nil) }

// ScanAllow is [Scan] with values that the host accepts: allow, if not nil, is asked about
// every value before it is reported and says whether to let it through. The value is
// the credential itself, without quotes and with escapes and look-alikes resolved
// when it was found in a folded view. allow must not keep it.
func ScanAllow(text string, allow func(value string) bool) []Finding {
	s := scanner{text: text, allow: allow}
	s.run()
	found := s.found
	plain, v := text, view{}
	if s.fold {
		v = foldView(text)
		if v.text != text {
			f := scanner{text: v.text, allow: allow}
			f.run()
			found = append(found, v.mapped(f.found)...)
			plain, s.join = v.text, s.join || f.join
		}
	}
	if s.join {
		if j := joinView(plain); j.text != plain {
			a := scanner{text: j.text, allow: allow, anchored: true}
			a.run()
			found = append(found, v.mapped(j.mapped(a.found))...)
		}
	}
	return merge(found)
}

// Redact replaces each finding of [Scan] by "[redacted <rule>]" and returns the
// findings, whose offsets refer to the original text.
func Redact(text string) (string, []Finding) { return RedactSpans(text, Scan(text)) }

// RedactSpans is [Redact] for findings of which the caller knows more, such as those in
// text that was decoded elsewhere. They may overlap and come in any order; the result has
// them merged. It changes found.
func RedactSpans(text string, found []Finding) (string, []Finding) {
	if len(found) == 0 {
		return text, nil
	}
	found = merge(found)
	var b strings.Builder
	b.Grow(len(text))
	end := 0
	for _, f := range found {
		b.WriteString(text[end:f.Offset])
		b.WriteString("[redacted " + f.Rule + "]")
		end = f.Offset + f.Length
	}
	b.WriteString(text[end:])
	return b.String(), found
}

// merge sorts and joins what overlaps; of two overlapping findings the earlier
// reported one keeps its rule, and the span covers both, so that a redaction
// leaves no part of either.
func merge(found []Finding) []Finding {
	if len(found) < 2 {
		return found
	}
	slices.SortStableFunc(found, func(a, b Finding) int { return cmp.Compare(a.Offset, b.Offset) })
	out := found[:1]
	for _, f := range found[1:] {
		last := &out[len(out)-1]
		if f.Offset >= last.Offset+last.Length {
			out = append(out, f)
			continue
		}
		last.Length = max(last.Length, f.Offset+f.Length-last.Offset)
	}
	return out
}
