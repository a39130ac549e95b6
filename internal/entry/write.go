package entry

import (
	"bytes"
	"fmt"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Field is one field of a new file, for [Compose].
type Field struct {
	Path  []string // mapping keys, outermost first
	Value string   // its text; bytes that are not UTF-8 become U+FFFD
}

// Compose writes a new file: a block of frontmatter with LF line ends and the
// fields in the order given, then the exact bytes of the body. Fields with a common
// beginning are grouped where the first of them stands. Of two fields with one
// path the later counts, and of a field and fields under it those under it. A field
// with an empty path is ignored. Without fields there is no block, and a body that
// starts with one keeps it as the file's.
//
// Nothing here limits the size: Parse says whether the result can be read.
func Compose(fields []Field, body string) []byte {
	var top branch
	for _, f := range fields {
		if len(f.Path) > 0 {
			top.add(f.Path, f.Value)
		}
	}
	if len(top.children) == 0 {
		return []byte(body)
	}
	var b bytes.Buffer
	b.WriteString("---\n")
	top.write(&b, nil)
	b.WriteString("---\n")
	b.WriteString(body)
	return b.Bytes()
}

type branch struct {
	key, value string
	children   []*branch
}

func (b *branch) add(path []string, value string) {
	if len(path) == 0 {
		b.value = value
		return
	}
	for _, c := range b.children {
		if c.key == path[0] {
			c.add(path[1:], value)
			return
		}
	}
	c := &branch{key: path[0]}
	c.add(path[1:], value)
	b.children = append(b.children, c)
}

func (b *branch) write(out *bytes.Buffer, path []string) {
	for _, c := range b.children {
		at := append(path[:len(path):len(path)], c.key)
		fmt.Fprintf(out, "%s%s:", strings.Repeat("  ", len(path)), keyText(c.key))
		if len(c.children) > 0 {
			out.WriteByte('\n')
			c.write(out, at)
		} else {
			fmt.Fprintf(out, " %s\n", scalarText(strings.ToValidUTF8(c.value, "\ufffd"), plain, false, at))
		}
	}
}

// keyText writes a mapping key.
func keyText(key string) string {
	for i := range len(key) {
		if !wordByte(key[i]) {
			return quoteDouble(key)
		}
	}
	if key == "" || key[0] == '-' || key[0] >= '0' && key[0] <= '9' || reserved(key) {
		return quoteDouble(key)
	}
	return key
}

// scalarText writes a value on one line: in the style of the value it replaces
// where that style can say it, else unquoted, else in double quotes.
func scalarText(value string, old style, inFlow bool, path []string) string {
	literally := !strings.ContainsFunc(value, escaped)
	switch {
	case old == singleQuoted && literally:
		return "'" + strings.ReplaceAll(value, "'", "''") + "'"
	case old == singleQuoted || old == doubleQuoted:
		return quoteDouble(value)
	case len(path) == 1 && path[0] == "modified" && timestamp(value) && !inFlow:
		return value // a time that other tools are to read as one
	case literally && plainSafe(value, inFlow):
		return value
	}
	return quoteDouble(value)
}

func timestamp(s string) bool {
	t, err := time.Parse(time.RFC3339, s)
	return err == nil && t.Format(time.RFC3339) == s
}

// plainSafe reports whether a text can stand without quotes and is a text to every
// reader, of YAML 1.1 and 1.2. When in doubt it says no.
func plainSafe(s string, inFlow bool) bool {
	first, _ := utf8.DecodeRuneInString(s)
	last, _ := utf8.DecodeLastRuneInString(s)
	switch {
	case s == "",
		unicode.IsSpace(first), unicode.IsSpace(last),
		strings.ContainsRune("-?:,[]{}#&*!|>'\"%@`=~<", first),
		last == ':',
		strings.Contains(s, ": "), strings.Contains(s, " #"), strings.Contains(s, "\t"),
		strings.HasPrefix(s, "..."),
		inFlow && strings.ContainsAny(s, ",:?[]{}"),
		reserved(s), numeric(s):
		return false
	}
	return true
}

// reserved reports whether a text without quotes is null, a truth value or no number to
// some reader: YAML 1.1 has more of these than 1.2, and some readers ignore case.
func reserved(s string) bool {
	switch strings.ToLower(s) {
	case "null", "true", "false", "yes", "no", "on", "off", "y", "n", ".inf", "+.inf", "-.inf", ".nan", "inf", "nan":
		return true
	}
	return false
}

// numeric reports whether a text could be a number, a date or a time: it starts like
// one and has no letter that none of them has (digits of base 16, "0x", "0o", "T", "Z").
func numeric(s string) bool {
	if strings.IndexByte("0123456789+.", s[0]) < 0 {
		return false
	}
	return !strings.ContainsFunc(s, func(r rune) bool {
		return unicode.IsLetter(r) && !strings.ContainsRune("abcdefABCDEFxXoOtTzZ", r)
	})
}

// escaped reports whether a character cannot stand for itself in a scalar on one line:
// YAML's c-printable does not have it, it ends a line, or it is a byte order mark.
func escaped(r rune) bool {
	switch {
	case r < 0x20:
		return r != '\t'
	case r >= 0x7f && r < 0xa0, r == '\u2028', r == '\u2029', r == '\ufeff', r == '\ufffe', r == '\uffff':
		return true
	}
	return false
}

// quoteDouble writes a text in double quotes, with escapes that YAML and JSON share.
func quoteDouble(s string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case escaped(r):
			fmt.Fprintf(&b, `\u%04x`, r)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
	return b.String()
}
