package entry

import (
	"bytes"
	"slices"
	"strings"
	"unicode"
)

// maxSummary is the greatest length, in runes, of a description that is taken from the
// body: what an index line holds.
const maxSummary = 160

// Description returns the field "description" on one line, metadata's before the
// flat one. When there is none, or it is blank, the first line of the body that
// has a letter or digit serves, without its heading, quote or list marker, clipped to
// 160 runes. It is "" for a file without text.
func (e *Entry) Description() string {
	if d := oneLine(e.either("description")); d != "" {
		return d
	}
	return summary(e.Body())
}

// Type returns the field "type", metadata's before the flat one, or "".
func (e *Entry) Type() string { return strings.TrimSpace(e.either("type")) }

// Key returns the field "key", metadata's before the flat one, or "".
func (e *Entry) Key() string { return strings.TrimSpace(e.either("key")) }

// Topic returns the field "topic", metadata's before the flat one, or "". A slash in it
// is an ordinary character: topics have one level.
func (e *Entry) Topic() string { return oneLine(e.either("topic")) }

// VerifyWhen returns the field "verify_when", metadata's before the flat one, or "".
func (e *Entry) VerifyWhen() string { return oneLine(e.either("verify_when")) }

// Tags returns the field "tags", metadata's before the flat one: a list of texts, or one
// text with commas between them (Western, full-width or the enumeration comma).
// Blank ones are left out, and of equal ones the later; the order stays.
func (e *Entry) Tags() []string {
	var texts []string
	for _, path := range [][]string{{"metadata", "tags"}, {"tags"}} {
		n := e.find(path)
		switch {
		case n == nil || n.null():
			continue
		case n.kind == scalar:
			texts = strings.FieldsFunc(n.text, func(r rune) bool { return r == ',' || r == '，' || r == '、' })
		case n.kind == list:
			for _, item := range n.items {
				if item.kind == scalar && !item.null() {
					texts = append(texts, item.text)
				}
			}
		}
		break
	}
	var tags []string
	for _, t := range texts {
		if t = oneLine(t); t != "" && !slices.Contains(tags, t) {
			tags = append(tags, t)
		}
	}
	return tags
}

// either looks under metadata, then at the top level. An unquoted null is how
// YAML says that there is no value.
func (e *Entry) either(key string) string {
	for _, path := range [][]string{{"metadata", key}, {key}} {
		if n := e.find(path); n != nil && n.kind == scalar && !n.null() {
			return n.text
		}
	}
	return ""
}

// oneLine joins the lines of a text with single spaces and leaves the spaces within
// a line alone.
func oneLine(s string) string {
	var b strings.Builder
	for line := range strings.FieldsFuncSeq(s, func(r rune) bool { return r == '\n' || r == '\r' }) {
		if line = strings.TrimSpace(line); line != "" {
			if b.Len() > 0 {
				b.WriteByte(' ')
			}
			b.WriteString(line)
		}
	}
	return b.String()
}

func summary(body []byte) string {
	for i := 0; i < len(body); {
		line, next := lineAt(body, i)
		i = next
		s := trimMarkers(string(line))
		if strings.ContainsFunc(s, func(r rune) bool { return unicode.IsLetter(r) || unicode.IsNumber(r) }) {
			return clip(s, maxSummary)
		}
	}
	return ""
}

// trimMarkers removes Markdown's markers of a line: quotes, headings, list items.
// Each round removes at least one byte.
func trimMarkers(s string) string {
	for {
		s = strings.TrimSpace(s)
		rest := strings.TrimLeft(s, "#")
		if len(rest) == len(s) {
			rest = strings.TrimPrefix(s, ">")
		}
		if len(rest) == len(s) {
			rest = trimItem(s)
		}
		if len(rest) == len(s) {
			return s
		}
		s = rest
	}
}

// trimItem removes "- ", "* ", "+ ", "1. " or "1) ".
func trimItem(s string) string {
	digits := len(s) - len(strings.TrimLeft(s, "0123456789"))
	rest := s[digits:]
	if len(rest) < 2 || rest[1] != ' ' {
		return s
	}
	if digits == 0 && strings.IndexByte("-*+", rest[0]) >= 0 {
		return rest[2:]
	}
	if digits > 0 && digits <= 9 && (rest[0] == '.' || rest[0] == ')') { // nine digits: CommonMark
		return rest[2:]
	}
	return s
}

// clip cuts a text to at most n runes, the "..." included.
func clip(s string, n int) string {
	const dots = "..."
	count, cut := 0, 0
	for i := range s {
		if count == n-len(dots) {
			cut = i
		}
		if count == n {
			return strings.TrimSpace(s[:cut]) + dots
		}
		count++
	}
	return s
}

// NormalBody returns a body in the form in which two bodies are compared for being the
// same content: LF line ends, no white space (space, tab, CR) at the end of a
// line, no blank lines at either end, no line end at the end. Applying it twice is
// applying it once.
func NormalBody(body []byte) []byte {
	out := make([]byte, 0, len(body))
	blank := 0 // line ends that are due before the next line with text
	for i := 0; i < len(body); {
		line, next := lineAt(body, i)
		i = next
		if line = bytes.TrimRight(line, " \t\r"); len(line) > 0 {
			if len(out) > 0 {
				for range blank {
					out = append(out, '\n')
				}
			}
			out = append(out, line...)
			blank = 0
		}
		blank++
	}
	return out
}

// ConflictMarkers reports whether a text holds an unresolved merge of git: lines that
// start with "<<<<<<< ", are "=======", and start with ">>>>>>> ", in that order, other
// lines between them.
func ConflictMarkers(data []byte) bool {
	seen := 0
	for i := 0; i < len(data); {
		line, next := lineAt(data, i)
		i = next
		switch {
		case seen == 0 && bytes.HasPrefix(line, []byte("<<<<<<< ")),
			seen == 1 && string(line) == "=======":
			seen++
		case seen == 2 && bytes.HasPrefix(line, []byte(">>>>>>> ")):
			return true
		}
	}
	return false
}
