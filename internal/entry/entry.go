// Package entry reads one memory file, Markdown with or without YAML
// frontmatter, and edits its frontmatter without touching any byte that need
// not change.
//
// # Words
//
//   - opener, closer: the delimiter lines of the frontmatter. The opener is the
//     first line of the file: "---". The closer is the next line that is "---"
//     or "...". Both may end in spaces or tabs, with LF or CRLF; a byte order
//     mark may stand before the opener.
//   - body: every byte after the closer's line end. Without frontmatter, every
//     byte after the byte order mark.
//   - path of a field: the mapping keys that lead to it, outermost first.
//   - flat: a top-level key, as other tools write it, where this library writes
//     the same key under "metadata".
//   - owned: a key that only the library writes. See owned.
//
// # What is refused
//
// A refusal is an [*Error] with one of these rules, in the order of the checks.
// Nothing else of the frontmatter is judged here; unknown keys are fine.
//
//  1. frontmatter.utf8: the file is not UTF-8.
//  2. frontmatter.too-large: more than [MaxFrontmatter] bytes between the
//     delimiter lines.
//  3. frontmatter.malformed: not YAML, more than one document, a control
//     character, a character that only some readers take for a line break (a lone CR,
//     U+0085, U+2028, U+2029), a byte order mark at the start of a line, a key that is
//     not a scalar; or an opener that is never closed, see below.
//  4. frontmatter.not-mapping: the frontmatter is a list or a single value.
//  5. frontmatter.anchor, frontmatter.alias, frontmatter.tag,
//     frontmatter.merge, frontmatter.duplicate-key, frontmatter.too-deep (more than
//     [MaxDepth] collections inside each other, the outer mapping included).
//
// Of several problems of rule 5 the first in the file is reported.
//
// A file that starts with "---" and has no closer is malformed when the first
// line after the opener that is not a "#" line looks like "key:" or "key: value"; the
// key is a word of letters, digits, "_", "-" and ".". Otherwise the "---" is
// a thematic break and the whole file is body. A later "---" is always body text.
//
// # Values
//
// A value is the text that was written, whatever type YAML would give it: no is
// "no", 2026-01-02 is "2026-01-02". Quotes and escapes are undone and folded
// lines are joined, as YAML says. gopkg.in/yaml.v3 is used to understand, never to
// write: an edit is a few replaced spans of the original bytes, and the result is
// parsed again before it is handed out. Everything but the edited field must read
// back as before, and the field as it was given.
//
// # Not guaranteed
//
//   - yaml.v3 ends an unquoted text inside [...] or {...} at a "?". A file that
//     relies on one there ("[why?]") is refused as malformed.
//   - Comments inside a list or mapping that Set replaces with a text, and on
//     the lines that Delete removes, go with them. So do, where the text before a
//     deleted field is a "|" or ">" that would swallow them, the blank lines and deeper
//     comments that follow the field.
//   - The frontmatter is not screened: hidden characters, secrets and instructions
//     are other packages' business.
package entry

import (
	"bytes"
	"slices"
	"strconv"
	"unicode/utf8"
)

const (
	// MaxFrontmatter is the greatest number of bytes between the delimiter
	// lines. Real frontmatter is a few hundred bytes; a YAML parser's worst cases
	// need much more than this to hurt.
	MaxFrontmatter = 16 << 10
	// MaxDepth is the greatest number of collections (mappings and lists) inside
	// each other, the outer mapping included. What this library writes needs 2.
	MaxDepth = 8
)

const bom = "\ufeff"

// Error is a refusal to read a file or to make an edit. It carries no byte of the
// file. Besides the rules in the package comment, Set and Delete return
// "frontmatter.edit" (the file is written in a way that this package cannot edit
// in place, or the path or value cannot be written) and "frontmatter.not-mapping"
// (a key on the path holds a list or a text).
type Error struct {
	Rule   string // stable identifier, "frontmatter." and a kebab-case word
	Offset int    // bytes from the start of the file, to the line or the spot; of a value that is not UTF-8, in the value
}

// Error gives the rule and the offset, such as "frontmatter.anchor at byte 17".
func (e *Error) Error() string { return e.Rule + " at byte " + strconv.Itoa(e.Offset) }

func refuse(rule string, offset int) *Error {
	return &Error{Rule: "frontmatter." + rule, Offset: offset}
}

// Entry is a parsed memory file. It is immutable, and safe for concurrent use. The
// zero value is an empty file. It keeps the slice that Parse was given, which
// must not change while the Entry is in use.
type Entry struct {
	data    []byte
	content int    // offset of the first byte after the opener's line
	closer  int    // offset of the closer's line
	body    int    // offset of the body
	eol     string // line end for inserted lines: the opener's, else the file's first, else LF
	root    *node  // outer mapping; nil without frontmatter
}

// Parse reads a whole file. A file without frontmatter, an empty one too, is fine.
// The error is always an [*Error].
func Parse(data []byte) (*Entry, error) {
	e, err := parse(data)
	if err != nil {
		return nil, err
	}
	return e, nil
}

func parse(data []byte) (*Entry, *Error) {
	if i := invalidUTF8(data); i >= 0 {
		return nil, refuse("utf8", i)
	}
	e := &Entry{data: data, eol: "\n"}
	start := 0
	if bytes.HasPrefix(data, []byte(bom)) {
		start = len(bom)
	}
	e.body = start
	first, next := lineAt(data, start)
	if next > len(first)+start+1 { // the first line ends in CRLF
		e.eol = "\r\n"
	}
	if !delimiter(first, "---") || next == start+len(first) {
		return e, nil
	}
	closer := findCloser(data, next)
	if closer < 0 {
		if looksLikeFields(data, next) {
			return nil, refuse("malformed", start)
		}
		return e, nil
	}
	if closer-next > MaxFrontmatter {
		return nil, refuse("too-large", start)
	}
	root, err := parseTree(data[:closer], start, next)
	if err != nil {
		return nil, err
	}
	e.content, e.closer, e.root = next, closer, root
	_, e.body = lineAt(data, closer)
	return e, nil
}

// lineAt returns the line that starts at i, without its line end, and the offset
// of the next line. Only LF and CRLF end a line.
func lineAt(data []byte, i int) (line []byte, next int) {
	line = data[i:]
	next = len(data)
	if j := bytes.IndexByte(line, '\n'); j >= 0 {
		line, next = line[:j], i+j+1
		if j > 0 && line[j-1] == '\r' {
			line = line[:j-1]
		}
	}
	return line, next
}

// delimiter reports whether a line is the mark and nothing but spaces and tabs.
func delimiter(line []byte, mark string) bool {
	return string(bytes.TrimRight(line, " \t")) == mark
}

func findCloser(data []byte, i int) int {
	for i < len(data) {
		line, next := lineAt(data, i)
		if delimiter(line, "---") || delimiter(line, "...") {
			return i
		}
		i = next
	}
	return -1
}

// looksLikeFields decides what an opener without a closer is: see the package
// comment.
func looksLikeFields(data []byte, i int) bool {
	for i < len(data) {
		line, next := lineAt(data, i)
		if len(line) == 0 || line[0] != '#' {
			return fieldLine(line)
		}
		i = next
	}
	return false
}

func fieldLine(line []byte) bool {
	line = bytes.TrimLeft(line, " ")
	key, rest, ok := bytes.Cut(line, []byte(":"))
	if !ok || len(rest) > 0 && rest[0] != ' ' && rest[0] != '\t' {
		return false
	}
	if n := len(key); n >= 2 && (key[0] == '"' || key[0] == '\'') && key[n-1] == key[0] {
		key = key[1 : n-1]
	}
	for _, c := range key {
		if !wordByte(c) && c != '.' {
			return false
		}
	}
	return len(key) > 0
}

func wordByte(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '-'
}

func invalidUTF8(data []byte) int {
	if utf8.Valid(data) {
		return -1
	}
	for i := 0; ; {
		r, n := utf8.DecodeRune(data[i:])
		if r == utf8.RuneError && n <= 1 {
			return i
		}
		i += n
	}
}

// Bytes returns the whole file, as it was given. Do not change it.
func (e *Entry) Bytes() []byte { return slices.Clip(e.data) }

// Body returns the bytes after the frontmatter. Do not change them.
func (e *Entry) Body() []byte { return slices.Clip(e.data[e.body:]) }

// HasFrontmatter reports whether the file starts with frontmatter, even an empty
// one.
func (e *Entry) HasFrontmatter() bool { return e.root != nil }

// SecondHeader reports whether the body starts, blank lines aside, with one more
// block of frontmatter that has fields: two tools each wrote theirs, and readers
// that look at the first one miss what the second says. No edit makes such a
// file, and none repairs it.
func (e *Entry) SecondHeader() bool {
	if e.root == nil {
		return false
	}
	second, err := parse(bytes.TrimLeft(e.Body(), "\r\n"))
	return err == nil && second.root != nil && len(second.root.pairs) > 0
}

// Field returns the text of the field at path. ok is false when there is no such
// field, or when it holds a list or a mapping. A key without a value has the text "".
func (e *Entry) Field(path ...string) (value string, ok bool) {
	n := e.find(path)
	if n == nil || n.kind != scalar {
		return "", false
	}
	return n.text, true
}

func (e *Entry) find(path []string) *node {
	n := e.root
	for _, key := range path {
		if n == nil {
			return nil
		}
		p := n.pair(key)
		if p == nil {
			return nil
		}
		n = p.value
	}
	return n
}

// Scalars returns the text of every scalar of the frontmatter that has any, keys and
// values at any depth, in the file's order, with escapes undone: a screen that reads
// only the file's bytes does not see what these spell. Comments are not among them.
func (e *Entry) Scalars() []string {
	if e.root == nil {
		return nil
	}
	return e.root.scalars(nil)
}

func (n *node) scalars(out []string) []string {
	if n.text != "" {
		out = append(out, n.text)
	}
	for _, p := range n.pairs {
		out = p.value.scalars(p.key.scalars(out))
	}
	for _, item := range n.items {
		out = item.scalars(out)
	}
	return out
}

// owned returns the paths of the keys that only the library writes. A candidate
// that sets or changes one is not admissible.
func owned() [][]string {
	return [][]string{
		{"metadata", "trust"},
		{"metadata", "source"},
		{"metadata", "status"},
		{"metadata", "supersedes"},
		{"metadata", "superseded_by"},
		{"metadata", "flags"},
		{"modified"},
	}
}

// OwnedValues returns the owned keys that the file has, joined with dots
// ("metadata.trust"), with their text. A list or a mapping is given as its source
// bytes, from its first to its last.
func (e *Entry) OwnedValues() map[string]string {
	values := make(map[string]string)
	for _, path := range owned() {
		n := e.find(path)
		if n == nil {
			continue
		}
		name := path[0]
		for _, key := range path[1:] {
			name += "." + key
		}
		if n.kind == scalar {
			values[name] = n.text
		} else {
			values[name] = string(e.data[n.start:n.end])
		}
	}
	return values
}
