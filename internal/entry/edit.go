package entry

import (
	"bytes"
	"slices"
	"strings"
	"unicode/utf8"
)

// splice replaces the bytes [start, end) of a file.
type splice struct {
	start, end int
	text       string
}

// apply makes splices that do not overlap and are in order.
func apply(data []byte, splices ...splice) []byte {
	var out []byte
	from := 0
	for _, s := range splices {
		out = append(out, data[from:s.start]...)
		out = append(out, s.text...)
		from = s.end
	}
	return append(out, data[from:]...)
}

// Set returns the file with the field at path set to value. The value replaces the
// old one where that stands, quoted as the old one was or as YAML needs; a text
// replaces a list or a mapping too. A new field is one line at the end of
// its mapping, or stands last within its braces; missing mappings on the way are
// made. A file without frontmatter gets a block before its body. Inserted lines end
// and are indented as the file's are.
//
// The result is a new slice, also when nothing changes. On an error ([*Error]) it
// is nil.
func (e *Entry) Set(value string, path ...string) ([]byte, error) {
	if i := invalidUTF8([]byte(value)); i >= 0 {
		return nil, refuse("utf8", i)
	}
	if !writable(path) {
		return nil, refuse("edit", 0)
	}
	if n := e.find(path); n != nil && n.kind == scalar && n.text == value {
		return bytes.Clone(e.data), nil
	}
	splices, err := e.setSplices(value, path)
	if err != nil {
		return nil, err
	}
	out := apply(e.data, splices...)
	changed, err := e.verify(out, path)
	if err != nil {
		return nil, err
	}
	if got, ok := changed.Field(path...); !ok || got != value {
		return nil, refuse("edit", e.content)
	}
	return out, nil
}

// verify parses the result of an edit and compares all but the field at path.
func (e *Entry) verify(out []byte, path []string) (*Entry, *Error) {
	changed, err := parse(out)
	if err != nil && (err.Rule == "frontmatter.too-large" || err.Rule == "frontmatter.too-deep") {
		return nil, err
	}
	if err != nil || !e.sameBut(changed, path) {
		return nil, refuse("edit", e.content)
	}
	return changed, nil
}

func writable(path []string) bool {
	return len(path) > 0 && len(path) <= MaxDepth &&
		!slices.ContainsFunc(path, func(key string) bool { return !utf8.ValidString(key) || key == "" || key == "<<" })
}

// setSplices finds the deepest node on the path that exists, and what it takes to
// add the rest.
func (e *Entry) setSplices(value string, path []string) ([]splice, *Error) {
	w := writer{eol: e.eol, step: e.step(), value: value, path: path}
	if e.root == nil {
		at := e.body // after the byte order mark
		return []splice{{at, at, "---" + e.eol + w.lines(0, 0) + "---" + e.eol}}, nil
	}
	n := e.root
	for depth, key := range path {
		p := n.pair(key)
		inFlow := n.style == flow
		last := depth == len(path)-1
		switch {
		case p == nil:
			return []splice{e.insertion(n, w, depth)}, nil
		case last:
			return e.replacement(p, scalarText(value, p.value.style, inFlow, path)), nil
		case p.value.kind == mapping:
			n = p.value
		case !p.value.null():
			return nil, refuse("not-mapping", p.value.start)
		case inFlow || p.value.style == plain:
			return e.replacement(p, "{"+w.inFlow(depth+1)+"}"), nil
		default:
			at := e.lineEnd(p.colon)
			text := w.lines(depth+1, n.col+w.step)
			return []splice{{at, at, w.eol + strings.TrimSuffix(text, w.eol)}}, nil
		}
	}
	return nil, refuse("edit", e.content)
}

// writer writes the keys of a path that a file does not have yet.
type writer struct {
	eol   string
	step  int // indentation of one level, in spaces
	value string
	path  []string
}

// lines writes the path from depth on as block lines, the first indented by indent.
func (w writer) lines(depth, indent int) string {
	var b strings.Builder
	for i, key := range w.path[depth:] {
		b.WriteString(strings.Repeat(" ", indent+i*w.step))
		b.WriteString(keyText(key))
		b.WriteByte(':')
		if depth+i == len(w.path)-1 {
			b.WriteByte(' ')
			b.WriteString(scalarText(w.value, plain, false, w.path))
		}
		b.WriteString(w.eol)
	}
	return b.String()
}

// inFlow writes the path from depth on as one field of a {...} mapping.
func (w writer) inFlow(depth int) string {
	key := keyText(w.path[depth]) + ": "
	if depth == len(w.path)-1 {
		return key + scalarText(w.value, plain, true, w.path)
	}
	return key + "{" + w.inFlow(depth+1) + "}"
}

// step is the indentation of the first mapping inside the outer one, else 2.
func (e *Entry) step() int {
	if e.root != nil {
		for _, p := range e.root.pairs {
			if v := p.value; v.kind == mapping && v.style == block && v.col > e.root.col {
				return v.col - e.root.col
			}
		}
	}
	return 2
}

// insertion adds the path from depth on to the mapping n.
func (e *Entry) insertion(n *node, w writer, depth int) splice {
	if n.style == flow {
		if len(n.pairs) == 0 {
			return splice{n.start + 1, n.start + 1, w.inFlow(depth)}
		}
		at := n.pairs[len(n.pairs)-1].end()
		return splice{at, at, ", " + w.inFlow(depth)}
	}
	at := e.closer
	if n != e.root {
		_, at = lineAt(e.data, n.end)
	}
	return splice{at, at, w.lines(depth, n.col)}
}

// replacement writes text as the value of p.
func (e *Entry) replacement(p *pair, text string) []splice {
	v := p.value
	switch {
	case v.style == empty && p.colon == p.key.end: // "{key}"
		return []splice{{p.colon, p.colon, ": " + text}}
	case v.style == empty:
		return []splice{{p.colon, p.colon, " " + text}}
	case v.style == literal: // a comment on the indicators' line stays
		return []splice{{v.start, v.head, text}, {e.lineEnd(v.head), max(v.end, e.lineEnd(v.head)), ""}}
	case v.style == block && e.lineStart(v.start) > p.colon:
		return []splice{{p.colon, p.colon, " " + text}, {e.lastLineEnd(v.start), e.lineEnd(v.end), ""}}
	}
	return []splice{{v.start, v.end, text}}
}

// opener is the offset of the first line.
func (e *Entry) opener() int {
	if bytes.HasPrefix(e.data, []byte(bom)) {
		return len(bom)
	}
	return 0
}

// lineStart and lineEnd give the bounds of the line that byte i is in, without
// its line end.
func (e *Entry) lineStart(i int) int { return bytes.LastIndexByte(e.data[:i], '\n') + 1 }

func (e *Entry) lineEnd(i int) int {
	line, _ := lineAt(e.data, i)
	return i + len(line)
}

// lastLineEnd gives the offset of the line end before the line that byte i is in.
func (e *Entry) lastLineEnd(i int) int {
	i = e.lineStart(i) - 1
	if e.data[i-1] == '\r' {
		i--
	}
	return i
}

// Delete returns the file without the field at path, whatever it holds. Its lines
// go, or its part of a {...} mapping with one comma. A mapping that would be left without
// a field goes too, unless it is written with braces or holds a comment, and
// so does a block of frontmatter that would be left without a byte: Delete undoes
// Set. It is no error when there is no such field. Results are as of Set.
func (e *Entry) Delete(path ...string) ([]byte, error) {
	if !writable(path) {
		return nil, refuse("edit", 0)
	}
	if e.find(path) == nil {
		return bytes.Clone(e.data), nil
	}
	s, ok := e.deletion(path)
	if !ok {
		return nil, refuse("edit", e.content)
	}
	if s.start == e.content && s.end == e.closer {
		bare := apply(e.data, splice{e.opener(), e.body, ""})
		if changed, err := e.verify(bare, path); err == nil && changed.root == nil {
			return bare, nil
		}
	}
	out, err := e.without(s, path)
	if end := e.trailing(s); err != nil && end > s.end {
		// The text before the field is a "|" that would take the lines after the field.
		s.end = end
		out, err = e.without(s, path)
	}
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (e *Entry) without(s splice, path []string) ([]byte, *Error) {
	out := apply(e.data, s)
	changed, err := e.verify(out, path)
	if err != nil {
		return nil, err
	}
	if changed.find(path) != nil {
		return nil, refuse("edit", e.content)
	}
	return out, nil
}

// trailing passes the lines after a deleted field that are blank, or comments that are
// indented more than the field.
func (e *Entry) trailing(s splice) int {
	indent := func(i int) int { return len(e.data[i:]) - len(bytes.TrimLeft(e.data[i:], " ")) }
	i := s.end
	for i < e.closer {
		line, next := lineAt(e.data, i)
		if text := bytes.TrimLeft(line, " \t"); len(text) > 0 && (text[0] != '#' || indent(i) <= indent(s.start)) {
			break
		}
		i = next
	}
	return i
}

func (e *Entry) deletion(path []string) (s splice, ok bool) {
	n := e.find(path[:len(path)-1])
	i := slices.IndexFunc(n.pairs, func(p pair) bool { return p.key.text == path[len(path)-1] })
	if n.style == flow {
		return e.flowDeletion(n, i), true
	}
	if len(n.pairs) == 1 && len(path) > 1 {
		parent := e.find(path[:len(path)-2]).pair(path[len(path)-2])
		if !bytes.Contains(e.data[parent.colon:n.start], []byte("#")) {
			return e.deletion(path[:len(path)-1])
		}
	}
	p := &n.pairs[i]
	start := e.lineStart(p.key.start)
	if len(bytes.Trim(e.data[start:p.key.start], " ?")) > 0 { // not alone on its line
		return splice{}, false
	}
	_, end := lineAt(e.data, p.end())
	return splice{start, end, ""}, true
}

func (e *Entry) flowDeletion(n *node, i int) splice {
	p := &n.pairs[i]
	switch {
	case i+1 < len(n.pairs):
		return splice{p.key.start, n.pairs[i+1].key.start, ""}
	case i > 0:
		return splice{n.pairs[i-1].end(), p.end(), ""}
	}
	end := p.end()
	if t := (&tree{data: e.data[:n.end]}); t.at(t.skip(end)) == ',' {
		end = t.skip(end) + 1
	}
	return splice{p.key.start, end, ""}
}

// sameBut reports whether two files differ at most in the field at path, in
// mappings that hold nothing else, and in the bytes of the frontmatter.
func (e *Entry) sameBut(other *Entry, path []string) bool {
	return e.opener() == other.opener() && bytes.Equal(e.Body(), other.Body()) && sameBut(e.root, other.root, path)
}

func sameBut(a, b *node, path []string) bool {
	if len(path) == 0 {
		return true
	}
	if !open(a) || !open(b) {
		return same(a, b)
	}
	var inner [2]*node
	var rest [2][]pair
	for i, n := range []*node{a, b} {
		if n == nil {
			continue
		}
		for _, p := range n.pairs {
			if p.key.text == path[0] {
				inner[i] = p.value
			} else {
				rest[i] = append(rest[i], p)
			}
		}
	}
	return slices.EqualFunc(rest[0], rest[1], samePair) && sameBut(inner[0], inner[1], path[1:])
}

// open reports whether fields can be in the node: it is absent, null or a mapping.
func open(n *node) bool { return n == nil || n.kind == mapping || n.null() }

func samePair(p, q pair) bool { return same(p.key, q.key) && same(p.value, q.value) }

func same(a, b *node) bool {
	if a == nil || b == nil {
		return a == b
	}
	return a.kind == b.kind && a.style == b.style && a.text == b.text &&
		slices.EqualFunc(a.pairs, b.pairs, samePair) && slices.EqualFunc(a.items, b.items, same)
}
