package entry

import (
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"unicode/utf8"

	"gopkg.in/yaml.v3"
)

type kind uint8

const (
	scalar kind = iota
	mapping
	list
)

type style uint8

const (
	empty        style = iota // scalar: nothing was written
	plain                     // scalar
	doubleQuoted              // scalar
	singleQuoted              // scalar
	literal                   // scalar: | or >
	flow                      // collection: {...}, [...], or a pair without braces in a list
	block                     // collection
)

// node is a YAML node with the bytes that it stands on, [start, end) in the file. The
// end of a block collection is the end of its last child. A comment is never
// part of a scalar.
type node struct {
	kind       kind
	style      style
	text       string // scalar: its value
	start, end int
	head       int // literal: end of the indicators ("|2-")
	col        int // block collection: the column of its keys or dashes, from 0
	pairs      []pair
	items      []*node
}

// pair is one field of a mapping.
type pair struct {
	key, value *node
	colon      int // offset after the ":"; the key's end when there is none
}

func (p *pair) end() int {
	if p.value.style == empty {
		return p.colon
	}
	return p.value.end
}

func (n *node) pair(key string) *pair {
	for i := range n.pairs {
		if n.pairs[i].key.text == key {
			return &n.pairs[i]
		}
	}
	return nil
}

// null reports whether the node is one of YAML's ways to write no value.
func (n *node) null() bool {
	if n.kind != scalar || n.style > plain {
		return false
	}
	switch n.text {
	case "", "~", "null", "Null", "NULL":
		return true
	}
	return false
}

// parseTree reads the frontmatter of data, which ends at the closer. start is the
// offset of the opener and content that of the line after it.
func parseTree(data []byte, start, content int) (*node, *Error) {
	if i := badCharacter(data, content); i >= 0 {
		return nil, refuse("malformed", i)
	}
	t := &tree{data: data}
	for i := start; i < len(data); {
		t.lines = append(t.lines, i)
		_, i = lineAt(data, i)
	}
	doc, err := t.decode(start)
	if err != nil {
		return nil, err
	}
	top := doc.Content[0]
	if top.Kind == yaml.ScalarNode && top.Value == "" && top.Style == 0 && top.Anchor == "" && top.Tag == "!!null" &&
		!t.anyText(content) {
		return &node{kind: mapping, style: block, start: len(data), end: len(data)}, nil
	}
	root, err := t.top(top)
	if err == nil && !root.placed(root.start, root.end) {
		// An explicit key ("? ") with an odd value, say: where its parts stand is not known
		// well enough to splice, so it is not understood well enough to read.
		return nil, refuse("malformed", start)
	}
	return root, err
}

// placed reports whether the bytes of every node lie in its parent's, in order.
func (n *node) placed(from, to int) bool {
	if n.start < from || n.end < n.start || to < n.end {
		return false
	}
	at := n.start
	for i := range n.pairs {
		p := &n.pairs[i]
		if !p.key.placed(at, n.end) || p.colon < p.key.end || p.value.start < p.colon || !p.value.placed(p.colon, n.end) {
			return false
		}
		at = p.end()
	}
	for _, item := range n.items {
		if !item.placed(at, n.end) {
			return false
		}
		at = item.end
	}
	return true
}

// top converts the outermost node.
func (t *tree) top(top *yaml.Node) (*node, *Error) {
	if top.Kind != yaml.MappingNode {
		if _, err := t.properties(top); err != nil {
			return nil, err
		}
		return nil, refuse("not-mapping", t.offset(top.Line, top.Column))
	}
	return t.convert(top, place{col: -1})
}

// badCharacter finds what YAML forbids, and what some readers take for a line end
// and others do not: a field must not begin for one reader and be text for the next.
func badCharacter(data []byte, i int) int {
	lineStart := true
	for i < len(data) {
		r, n := utf8.DecodeRune(data[i:])
		switch {
		case r == '\r':
			if i+1 == len(data) || data[i+1] != '\n' {
				return i
			}
		case r == '\ufeff' && lineStart, escaped(r) && r != '\t' && r != '\n' && r != '\ufeff':
			return i
		}
		lineStart = r == '\n'
		i += n
	}
	return -1
}

// anyText reports whether a line from offset i on holds more than a comment.
func (t *tree) anyText(i int) bool {
	for i < len(t.data) {
		line, next := lineAt(t.data, i)
		if line = bytes.TrimLeft(line, " \t"); len(line) > 0 && line[0] != '#' {
			return true
		}
		i = next
	}
	return false
}

// tree turns yaml.v3's nodes, which know where they start but not where they end,
// into ours.
type tree struct {
	data  []byte // the file up to the closer
	lines []int  // offsets of the lines, from the opener on: yaml.v3's line 1 is lines[0]
	// The last offset that was asked for: nodes come in order, so that a long line
	// is walked once and not once a node.
	line, col, pos int
}

// decode runs yaml.v3. Its panics on hostile input are malformed input.
func (t *tree) decode(start int) (doc *yaml.Node, refusal *Error) {
	defer func() {
		if recover() != nil {
			doc, refusal = nil, refuse("malformed", start)
		}
	}()
	dec := yaml.NewDecoder(bytes.NewReader(t.data[start:]))
	doc = new(yaml.Node)
	if err := dec.Decode(doc); err != nil {
		return nil, t.decodeError(err, start)
	}
	if err := dec.Decode(new(yaml.Node)); !errors.Is(err, io.EOF) {
		return nil, t.decodeError(err, start)
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
		return nil, refuse("malformed", start)
	}
	return doc, nil
}

// decodeError keeps of yaml.v3's error its line number, which may be one too small, and
// the two refusals that yaml.v3 itself makes of what we refuse by rule.
func (t *tree) decodeError(err error, start int) *Error {
	if err == nil { // a second document
		return refuse("malformed", start)
	}
	msg := strings.TrimPrefix(err.Error(), "yaml: ")
	if after, ok := strings.CutPrefix(msg, "unknown anchor '"); ok {
		name, _, _ := strings.Cut(after, "'")
		if i := bytes.Index(t.data[start:], []byte("*"+name)); i >= 0 {
			start += i
		}
		return refuse("alias", start)
	}
	if after, ok := strings.CutPrefix(msg, "line "); ok {
		digits, _, _ := strings.Cut(after, ":")
		if n, err := strconv.Atoi(digits); err == nil && n >= 1 && n <= len(t.lines) {
			start = t.lines[n-1]
		}
	}
	if strings.HasSuffix(msg, "found undefined tag handle") {
		return refuse("tag", start)
	}
	if strings.Contains(msg, "exceeded max depth") {
		return refuse("too-deep", start)
	}
	return refuse("malformed", start)
}

// offset turns a line and a column, both from 1 and the column in characters, into
// bytes.
func (t *tree) offset(line, col int) int {
	if line < 1 || line > len(t.lines) {
		return len(t.data)
	}
	if line != t.line || col < t.col {
		t.line, t.col, t.pos = line, 1, t.lines[line-1]
	}
	for ; t.col < col && t.pos < len(t.data); t.col++ {
		_, n := utf8.DecodeRune(t.data[t.pos:])
		t.pos += n
	}
	return t.pos
}

// place is where a node stands.
type place struct {
	col   int  // column of the innermost block collection around it; -1 outside
	flow  bool // inside {...} or [...]
	depth int  // collections around it
}

// properties refuses what changes the meaning of a node from elsewhere, and gives
// the node's offset.
func (t *tree) properties(y *yaml.Node) (start int, err *Error) {
	start = t.offset(y.Line, y.Column)
	switch {
	case y.Kind == yaml.AliasNode:
		return start, refuse("alias", start)
	case y.Anchor != "":
		return start, refuse("anchor", start)
	case y.Style&yaml.TaggedStyle != 0, t.at(start) == '!': // yaml.v3 does not report the tag "!"
		return start, refuse("tag", start)
	}
	return start, nil
}

// at returns the byte at an offset, 0 at the end.
func (t *tree) at(i int) byte {
	if i < len(t.data) {
		return t.data[i]
	}
	return 0
}

func (t *tree) convert(y *yaml.Node, in place) (*node, *Error) {
	start, err := t.properties(y)
	if err != nil {
		return nil, err
	}
	n := &node{start: start, end: start}
	if y.Kind == yaml.ScalarNode {
		n.text = y.Value
		return n, t.scalar(n, y.Style, in)
	}
	in.depth++
	if in.depth > MaxDepth {
		return nil, refuse("too-deep", start)
	}
	n.style, n.col = block, y.Column-1
	in.col = n.col
	if y.Style&yaml.FlowStyle != 0 {
		n.style, in.flow = flow, true
	}
	if y.Kind == yaml.MappingNode {
		n.kind = mapping
		err = t.mapping(n, y, in)
	} else {
		n.kind = list
		err = t.list(n, y, in)
	}
	return n, err
}

func (t *tree) mapping(n *node, y *yaml.Node, in place) *Error {
	seen := make(map[string]bool, len(y.Content)/2)
	for i := 0; i+1 < len(y.Content); i += 2 {
		key, err := t.convert(y.Content[i], in)
		if err != nil {
			return err
		}
		switch {
		case key.kind != scalar || key.style == empty:
			return refuse("malformed", key.start)
		case key.text == "<<":
			return refuse("merge", key.start)
		case seen[key.text]:
			return refuse("duplicate-key", key.start)
		}
		seen[key.text] = true
		value, err := t.convert(y.Content[i+1], in)
		if err != nil {
			return err
		}
		p := pair{key: key, value: value, colon: key.end}
		if j := t.skip(key.end); t.at(j) == ':' {
			p.colon = j + 1
		}
		if value.style == empty && value.kind == scalar {
			value.start, value.end = p.colon, p.colon
		}
		n.pairs = append(n.pairs, p)
		n.end = p.end()
	}
	if n.style == flow && t.at(n.start) == '{' {
		return t.close(n, '}')
	}
	return nil
}

func (t *tree) list(n *node, y *yaml.Node, in place) *Error {
	for _, c := range y.Content {
		item, err := t.convert(c, in)
		if err != nil {
			return err
		}
		n.items = append(n.items, item)
		n.end = item.end
	}
	if n.style == flow {
		return t.close(n, ']')
	}
	return nil
}

// skip passes white space, line ends and comments.
func (t *tree) skip(i int) int {
	for i < len(t.data) {
		switch c := t.data[i]; {
		case c == ' ' || c == '\t' || c == '\r' || c == '\n':
			i++
		case c == '#' && i > 0 && strings.IndexByte(" \t\n", t.data[i-1]) >= 0:
			_, i = lineAt(t.data, i)
		default:
			return i
		}
	}
	return i
}

// close finds the closing bracket of a flow collection, after its last child.
func (t *tree) close(n *node, bracket byte) *Error {
	i := max(n.end, n.start+1)
	for {
		i = t.skip(i)
		switch c := t.at(i); {
		case c == bracket:
			n.end = i + 1
			return nil
		case i < len(t.data) && strings.IndexByte(",:?", c) >= 0:
			i++
		default:
			return refuse("malformed", n.start)
		}
	}
}

// scalar finds where a scalar ends. Where the bytes do not bear out what yaml.v3
// said, the file is refused: an edit would be made in the wrong place.
func (t *tree) scalar(n *node, s yaml.Style, in place) *Error {
	ok := true
	switch {
	case s&yaml.DoubleQuotedStyle != 0:
		n.style = doubleQuoted
		n.end, ok = t.quoted(n.start, '"')
	case s&yaml.SingleQuotedStyle != 0:
		n.style = singleQuoted
		n.end, ok = t.quoted(n.start, '\'')
	case s&(yaml.LiteralStyle|yaml.FoldedStyle) != 0:
		n.style = literal
		ok = t.at(n.start) == '|' || t.at(n.start) == '>'
		n.head, n.end = t.literal(n.start, in.col)
	case n.text != "":
		n.style = plain
		n.end = t.plain(n.start, in)
		ok = foldPlain(t.data[n.start:n.end]) == n.text
	}
	if !ok {
		return refuse("malformed", n.start)
	}
	return nil
}

func (t *tree) quoted(i int, quote byte) (end int, ok bool) {
	if t.at(i) != quote {
		return i, false
	}
	for i++; i < len(t.data); i++ {
		switch c := t.data[i]; {
		case c == '\\' && quote == '"':
			i++
		case c == quote && quote == '\'' && t.at(i+1) == quote:
			i++
		case c == quote:
			return i + 1, true
		}
	}
	return i, false
}

// literal finds the end of a "|" or ">" scalar: its last line that is neither
// blank nor indented less than its first, or with the indicator "+" the last blank
// line after that. head is the end of the indicators.
func (t *tree) literal(i, col int) (head, end int) {
	indent, widest, keep := 0, 0, false
	for head = i + 1; head < len(t.data) && strings.IndexByte("+-123456789", t.data[head]) >= 0; head++ {
		switch c := t.data[head]; c {
		case '+':
			keep = true
		case '-':
		default:
			indent = max(col, 0) + int(c-'0')
		}
	}
	end = head
	_, next := lineAt(t.data, i)
	for i = next; i < len(t.data); i = next {
		var line []byte
		line, next = lineAt(t.data, i)
		spaces := len(line) - len(bytes.TrimLeft(line, " "))
		if indent == 0 { // until the first line with text, blank ones count too
			widest = max(widest, spaces)
		}
		if spaces < len(line) {
			if indent == 0 {
				indent = max(widest, col+1, 1)
			}
			if spaces < indent {
				break
			}
		} else if !keep && (indent == 0 || spaces <= indent) {
			continue
		}
		end = i + len(line)
	}
	return head, end
}

// plain finds the end of an unquoted scalar.
func (t *tree) plain(i int, in place) (end int) {
	end = i
	for i < len(t.data) {
		c := t.data[i]
		switch {
		case c == '\n':
			i++
			j := i
			for t.at(j) == ' ' || t.at(j) == '\t' {
				j++
			}
			if !in.flow && j-i <= in.col && t.at(j) != '\n' && t.at(j) != '\r' {
				return end
			}
			i = j
			continue
		case c == ' ' || c == '\t' || c == '\r':
			i++
			continue
		case c == '#' && i > end, // after white space
			c == ':' && (i+1 == len(t.data) || strings.IndexByte(" \t\r\n", t.data[i+1]) >= 0),
			in.flow && strings.IndexByte(",?[]{}", c) >= 0:
			return end
		}
		i++
		end = i
	}
	return end
}

// foldPlain gives the text of an unquoted scalar: a line end is a space, and of
// several in a row all but the first count as line ends.
func foldPlain(raw []byte) string {
	var b strings.Builder
	breaks := 0
	for i := 0; i < len(raw); {
		line, next := lineAt(raw, i)
		if line = bytes.Trim(line, " \t"); len(line) > 0 {
			switch {
			case breaks == 1:
				b.WriteByte(' ')
			case breaks > 1:
				b.WriteString(strings.Repeat("\n", breaks-1))
			}
			b.Write(line)
			breaks = 0
		}
		breaks++
		i = next
	}
	return b.String()
}
