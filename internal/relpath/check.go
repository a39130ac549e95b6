package relpath

import (
	"strings"
	"unicode/utf8"
)

// A checker runs the rules over one name. It stops at the first refusal; when it
// is lenient it goes on past those of policy and only notes them.
type checker struct {
	name    string
	leaf    bool // the last segment is a memory's file
	lenient bool
	soft    bool // a rule of policy was broken
	quiet   bool // no suggestion: this is the check of one
}

func (c *checker) path() (Path, error) {
	if r := c.check(); r != nil {
		if !c.quiet {
			r.Suggestion = suggest(c.name, r.Rule, c.leaf)
		}
		return Path{}, r
	}
	return Path{name: c.name, parsed: true}, nil
}

// hard refuses, whoever asks.
func (c *checker) hard(rule, seg string, r rune) *Refusal {
	return &Refusal{Rule: rule, Segment: seg, Rune: r}
}

// policy refuses, except where the checker is lenient.
func (c *checker) policy(rule, seg string, r rune) *Refusal {
	if c.lenient {
		c.soft = true
		return nil
	}
	return &Refusal{Rule: rule, Segment: seg, Rune: r, Policy: true}
}

func (c *checker) check() *Refusal {
	if quick(c.name, c.leaf) {
		return nil
	}
	return c.rules()
}

// rules is the order of the rules.
func (c *checker) rules() *Refusal {
	s := c.name
	if s == "" {
		return c.hard(ruleEmpty, "", 0)
	}
	if len(s) > foreignLen {
		return c.hard(ruleTooLong, "", 0)
	}
	if len(s) > MaxLen {
		if r := c.policy(ruleTooLong, "", 0); r != nil {
			return r
		}
	}
	if !utf8.ValidString(s) {
		return c.notUTF8()
	}
	ascii, r := c.bytes()
	if r != nil {
		return r
	}
	if r := c.segments(c.rawSegment); r != nil || ascii {
		return r
	}
	stable, r := c.runes()
	if r != nil || stable {
		return r
	}
	return c.views()
}

func (c *checker) notUTF8() *Refusal {
	for i := 0; i < len(c.name); {
		r, n := utf8.DecodeRuneInString(c.name[i:])
		if r == utf8.RuneError && n == 1 {
			return c.hard(ruleUTF8, segmentAt(c.name, i), utf8.RuneError)
		}
		i += n
	}
	panic("relpath: no invalid byte in invalid UTF-8")
}

// segmentAt returns the segment of s that the byte at i is in; for a slash, the
// one before it.
func segmentAt(s string, i int) string {
	start := strings.LastIndexByte(s[:i], '/') + 1
	if n := strings.IndexByte(s[i:], '/'); n >= 0 {
		return s[start : i+n]
	}
	return s[start:]
}

// bytes checks the bytes of the whole name (rule 3), and reports whether it is
// ASCII.
func (c *checker) bytes() (ascii bool, r *Refusal) {
	s := c.name
	if s[0] == '/' {
		return false, c.hard(ruleAbsolute, "", '/')
	}
	seen := uint8(0)
	for i := 0; i < len(s); i++ {
		for i+4 <= len(s) {
			four := quickBytes[s[i]] | quickBytes[s[i+1]] | quickBytes[s[i+2]] | quickBytes[s[i+3]]
			if four&quickOther != 0 {
				break
			}
			seen |= four
			i += 4
		}
		if i == len(s) {
			break
		}
		seen |= quickBytes[s[i]]
		if b := s[i]; b >= utf8.RuneSelf || plain(b) {
			continue
		}
		if r := c.byteAt(i); r != nil {
			return false, r
		}
	}
	ascii = seen&quickHigh == 0
	if s[len(s)-1] == '/' {
		return ascii, c.hard(ruleTrailSlash, segmentAt(s, len(s)-1), '/')
	}
	return ascii, nil
}

// plain is the quick answer of byteRule for what most names consist of.
func plain(b byte) bool {
	return 'a' <= b && b <= 'z' || '-' <= b && b <= '9' || 'A' <= b && b <= 'Z' || b == '_' || b == ' '
}

// byteAt refuses the byte at i if a rule does. Dot segments come first: they say
// more about a name than the odd byte beside them.
func (c *checker) byteAt(i int) *Refusal {
	b := c.name[i]
	rule := byteRule(b)
	if rule == "" {
		return nil
	}
	seg := segmentAt(c.name, i)
	switch rule {
	case ruleGlob, rulePercent:
		return c.policy(rule, seg, rune(b))
	case ruleShell:
		if device(seg) { // CONIN$
			return c.hard(ruleDevice, seg, 0)
		}
		return c.policy(rule, seg, rune(b))
	case ruleTilde:
		if shortName(seg) {
			return c.hard(ruleShortName, seg, rune(b))
		}
		if seg[0] != '~' {
			return c.policy(rule, seg, rune(b))
		}
	}
	return c.hard(rule, seg, rune(b))
}

// byteRule returns the rule against an ASCII byte anywhere in a name, or "".
func byteRule(b byte) string {
	switch b {
	case '\\':
		return ruleBackslash
	case ':':
		return ruleColon
	case '*', '?', '[', ']', '{', '}':
		return ruleGlob
	case '~':
		return ruleTilde
	case '%':
		return rulePercent
	case '$', '"', '<', '>', '|', ';', '^', '`':
		return ruleShell
	}
	if b < 0x20 || b == 0x7F {
		return ruleControl
	}
	return ""
}

// segments calls check for each segment.
func (c *checker) segments(check func(seg string, last bool) *Refusal) *Refusal {
	depth := strings.Count(c.name, "/") + 1
	if depth > foreignDepth {
		return c.hard(ruleTooDeep, "", 0)
	}
	if depth > MaxDepth {
		if r := c.policy(ruleTooDeep, "", 0); r != nil {
			return r
		}
	}
	rest := c.name
	for {
		seg, after, more := strings.Cut(rest, "/")
		if r := check(seg, !more); r != nil {
			return r
		}
		if !more {
			return nil
		}
		rest = after
	}
}

// rawSegment checks one segment as it was given (rule 4).
func (c *checker) rawSegment(seg string, last bool) *Refusal {
	switch seg {
	case "":
		return c.hard(ruleEmptySegment, "", '/')
	case ".":
		return c.hard(ruleDot, seg, '.')
	case "..":
		return c.hard(ruleDotDot, seg, '.')
	}
	if r := c.listed(seg, seg); r != nil {
		return r
	}
	if r := c.edges(seg); r != nil {
		return r
	}
	if len(seg) > foreignSegment {
		return c.hard(ruleSegmentLong, seg, 0)
	}
	if len(seg) > MaxSegment {
		if r := c.policy(ruleSegmentLong, seg, 0); r != nil {
			return r
		}
	}
	if last && c.leaf {
		return c.leafName(seg)
	}
	return nil
}

// edges checks the first and last characters of a segment, and spaces.
func (c *checker) edges(seg string) *Refusal {
	switch first := seg[0]; first {
	case '.':
		return c.hard(ruleHidden, seg, '.')
	case ' ':
		if r := c.policy(ruleSpacing, seg, ' '); r != nil {
			return r
		}
	case '-', '@', '#', '!':
		if r := c.policy(ruleLeading, seg, rune(first)); r != nil {
			return r
		}
	}
	if last := seg[len(seg)-1]; last == '.' || last == ' ' {
		return c.hard(ruleTrailing, seg, rune(last))
	}
	if strings.Contains(seg, "  ") {
		return c.policy(ruleSpacing, seg, ' ')
	}
	return nil
}

// leafName checks the extension and what stands before it.
func (c *checker) leafName(seg string) *Refusal {
	stem, ok := strings.CutSuffix(seg, ".md")
	if !ok || stem == "" {
		return c.hard(ruleExtension, seg, 0)
	}
	switch last := stem[len(stem)-1]; last {
	case '.':
		return c.policy(ruleTrailing, seg, '.')
	case ' ':
		return c.policy(ruleSpacing, seg, ' ')
	}
	return nil
}

// listed checks a view of the segment seg against the lists of names.
func (c *checker) listed(view, seg string) *Refusal {
	rule := listing(view)
	switch {
	case rule == "":
		return nil
	case rule != ruleDevice && strings.HasSuffix(view, ".md"):
		return c.policy(rule, seg, 0)
	}
	return c.hard(rule, seg, 0)
}
