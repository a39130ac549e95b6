package entry

import (
	"bytes"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"gopkg.in/yaml.v3"
	"pgregory.net/rapid"
)

// checkSpans fails unless the bytes of every node are inside its parent's, in order,
// and what stands on them, read alone, is the same value.
func checkSpans(t *testing.T, e *Entry, n *node, from, to int) {
	t.Helper()
	inOrder := func(offsets ...int) {
		if !slices.IsSorted(offsets) {
			t.Fatalf("spans out of order %v in %q", offsets, e.data)
		}
	}
	inOrder(from, n.start, n.end, to)
	if raw := string(e.data[n.start:n.end]); n.kind == scalar && n.style != literal && n.style != empty && !strings.Contains(raw, "\n") {
		checkAlone(t, raw, n.text)
	}
	at := n.start
	for _, p := range n.pairs {
		checkSpans(t, e, p.key, at, n.end)
		inOrder(p.key.end, p.colon, p.value.start)
		checkSpans(t, e, p.value, p.colon, n.end)
		at = p.end()
	}
	for _, item := range n.items {
		checkSpans(t, e, item, at, n.end)
		at = item.end
	}
}

// checkAlone reads a scalar's bytes as a key, a value and in a list: what they mean in
// the file must be what they mean in one of these.
func checkAlone(t *testing.T, raw, want string) {
	t.Helper()
	for _, file := range []string{raw + ": x", "k: " + raw, "k: [" + raw + "]"} {
		alone, err := Parse([]byte("---\n" + file + "\n---\n"))
		if err != nil || len(alone.root.pairs) != 1 {
			continue
		}
		p := alone.root.pairs[0]
		if p.key.text == want || p.value.text == want || len(p.value.items) == 1 && p.value.items[0].text == want {
			return
		}
	}
	t.Fatalf("%q alone is not %q", raw, want)
}

func checkParse(t *testing.T, data []byte) {
	e, err := Parse(data)
	if err != nil {
		refusal, ok := err.(*Error)
		if !ok || !strings.HasPrefix(refusal.Rule, "frontmatter.") || refusal.Offset < 0 || refusal.Offset > len(data) {
			t.Fatalf("Parse(%q): %#v", data, err)
		}
		return
	}
	if !bytes.Equal(e.Bytes(), data) || !bytes.HasSuffix(data, e.Body()) {
		t.Fatalf("Parse(%q) changed the bytes", data)
	}
	if n := utf8.RuneCountInString(summary(e.Body())); n > maxSummary {
		t.Fatalf("summary of %d runes", n)
	}
	if e.root == nil {
		if len(e.Body()) != len(bytes.TrimPrefix(data, []byte(bom))) {
			t.Fatalf("no frontmatter and not all is body: %q", data)
		}
		return
	}
	checkSpans(t, e, e.root, e.content, e.closer)
}

// flatten gives every leaf of the frontmatter as yaml.v3 reads it without our help,
// except the one at skip: the oracle of "no other field changed".
func flatten(t *testing.T, e *Entry, skip string) []string {
	t.Helper()
	var doc yaml.Node
	if err := yaml.Unmarshal(e.data[e.content:e.closer], &doc); err != nil {
		t.Fatalf("oracle: %v", err)
	}
	var out []string
	var walk func(n *yaml.Node, path string)
	walk = func(n *yaml.Node, path string) {
		if path == skip {
			return
		}
		for i, c := range n.Content {
			switch {
			case n.Kind == yaml.DocumentNode:
				walk(c, "")
			case n.Kind == yaml.SequenceNode:
				walk(c, path+"/-")
			case i%2 == 1:
				walk(c, path+"/"+n.Content[i-1].Value)
			}
		}
		if n.Kind == yaml.ScalarNode && !(n.Tag == "!!null" && strings.HasPrefix(skip, path)) {
			out = append(out, path+" "+n.Tag+" "+n.Value)
		}
	}
	walk(&doc, "")
	return out
}

// targets are the paths that an edit of the file could be about.
func targets(e *Entry) [][]string {
	out := append(owned(), []string{"description"}, []string{"metadata", "type"}, []string{"a"}, []string{"metadata", "deep", "x"})
	var walk func(n *node, path []string)
	walk = func(n *node, path []string) {
		for _, p := range n.pairs {
			at := append(slices.Clip(path), p.key.text)
			out = append(out, at)
			walk(p.value, at)
		}
	}
	if e.root != nil {
		walk(e.root, nil)
	}
	return out
}

// checkEdit makes one edit and checks what the caller relies on.
func checkEdit(t *testing.T, data []byte, value string, pick uint, remove bool) {
	e, err := Parse(data)
	if err != nil {
		return
	}
	all := targets(e)
	path := all[pick%uint(len(all))]
	original := bytes.Clone(data)
	var out []byte
	if remove {
		out, err = e.Delete(path...)
	} else {
		out, err = e.Set(value, path...)
	}
	if !bytes.Equal(data, original) {
		t.Fatal("an edit changed its input")
	}
	if err != nil {
		if out != nil {
			t.Fatal("bytes with an error")
		}
		return
	}
	changed, err := Parse(out)
	if err != nil {
		t.Fatalf("result of an edit: %v: %q", err, out)
	}
	if got, ok := changed.Field(path...); ok == remove || !remove && got != value {
		t.Fatalf("edit of %q in %q reads back as %q, %v", path, data, got, ok)
	}
	if !bytes.Equal(changed.Body(), e.Body()) || bytes.HasPrefix(out, []byte(bom)) != bytes.HasPrefix(data, []byte(bom)) {
		t.Fatalf("edit of %q changed the body: %q to %q", path, data, out)
	}
	if e.root != nil && changed.root != nil {
		skip := "/" + strings.Join(path, "/")
		if diff := cmp.Diff(flatten(t, e, skip), flatten(t, changed, skip)); diff != "" {
			t.Fatalf("edit of %q in %q changed other fields (-before +after):\n%s", path, data, diff)
		}
	}
	checkLocal(t, e, out, path, remove)
	if !remove {
		again, err := changed.Set(value, path...)
		if err != nil || !bytes.Equal(again, out) {
			t.Fatalf("Set twice: %q, then %q, %v", out, again, err)
		}
	}
}

// checkLocal fails when a byte changed that the edit was not about.
func checkLocal(t *testing.T, e *Entry, out []byte, path []string, remove bool) {
	t.Helper()
	data := e.Bytes()
	head := 0
	for head < min(len(data), len(out)) && data[head] == out[head] {
		head++
	}
	tail := 0
	for tail < min(len(data), len(out))-head && data[len(data)-1-tail] == out[len(out)-1-tail] {
		tail++
	}
	n := e.find(path)
	switch {
	case n == nil && remove:
		if !bytes.Equal(data, out) {
			t.Fatalf("Delete of nothing changed %q to %q", data, out)
		}
	case n == nil:
		parent := e.find(path[:len(path)-1])
		for i := range path {
			if above := e.find(path[:i]); above != nil && above.style == plain { // null becomes {...}
				return
			}
		}
		if head+tail < len(data) {
			t.Fatalf("a new field replaced bytes: %q to %q", data, out)
		}
		changed := mustParse(t, string(out))
		back, err := changed.Delete(path...)
		hadParent := len(path) == 1 || parent != nil && len(parent.pairs) > 0
		emptyBlock := e.root != nil && e.content == e.closer
		if hadParent && !emptyBlock && (err != nil || !bytes.Equal(back, data)) {
			t.Fatalf("Set, Delete of %q: %q, %q, %q, %v", path, data, out, back, err)
		}
	case !remove && !bytes.Equal(data, out):
		p := e.find(path[:len(path)-1]).pair(path[len(path)-1])
		if head < p.key.end || len(data)-tail > e.lineEnd(p.end()) {
			t.Fatalf("Set changed bytes outside of [%d, %d): %q to %q", p.key.end, e.lineEnd(p.end()), data, out)
		}
	}
}

func seeds() []string {
	return []string{
		"", "---\n---\n", "body", "\ufeff---\r\na: b\r\n---\r\nbody",
		"---\ndescription: d # c\nmetadata:\n    type: project\n    trust: \"x\"\n# note\ntags: [a, 'b c', \"d\"]\nmodified: 2026-01-02\n...\n# Body\n",
		"---\na: |+\n  one\n\n  two\n\nmetadata: {type: a, deep: {x: 'it''s'},}\nl:\n- a: b\n  c: d\n- - e\n---\n---\n",
		"---\n{a: b, metadata: , description: \"\\u0041\"}\n---\n",
		"---\na:\n  text\n\n  more # c\nmetadata: ~\n? b\n: c\n---\n",
		"---\na: >2-\n    x\n  y\n # c\nmetadata:\n---\n",
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range seeds() {
		f.Add([]byte(s))
	}
	f.Fuzz(checkParse)
}

func FuzzSet(f *testing.F) {
	for i, s := range seeds() {
		f.Add([]byte(s), awkward[i*7], uint(i), i%3 == 2)
	}
	f.Fuzz(checkEdit)
}

// room draws a file that people and tools could have written.
func drawFile() *rapid.Generator[string] {
	return rapid.Custom(func(t *rapid.T) string {
		scalars := []string{
			"text", "'it''s'", `"a\tb: \"c\""`, "2026-01-02", "no", "", "~", "a plain\n{i}  text\n\n{i}  on lines", "\"quoted\n{i} on lines\"",
			"|\n{i}  one\n\n{i}   two", ">-\n{i}  folded\n{i}  text", "|+ # kept\n{i}  one\n\n", "[a, 'b, c']", "{x: y, z: [1, {q: r}]}", "{ }",
			"\n{i}- one # c\n{i}- two: 2\n{i}  three: 3", "\n{i}  next line",
		}
		keys := []string{"description", "type", "key", "modified", "tags", "\"quoted\"", "'it''s'", "中文", "a b", "zeta"}
		nested := []string{"type", "trust", "source", "status", "flags", "x"}
		var b strings.Builder
		b.WriteString("---\n")
		noise := func(indent string) {
			b.WriteString(rapid.SampledFrom([]string{"", "", indent + "# note: {}\n", "\n"}).Draw(t, "noise"))
		}
		field := func(indent, key string) {
			v := strings.ReplaceAll(rapid.SampledFrom(scalars).Draw(t, "value"), "{i}", indent)
			space := " "
			if v == "" || v[0] == '\n' {
				space = ""
			}
			comment := ""
			if !strings.Contains(v, "\n") {
				comment = rapid.SampledFrom([]string{"", "  # why: \"not\""}).Draw(t, "comment")
			}
			b.WriteString(indent + key + ":" + space + v + comment + "\n")
			noise(indent)
		}
		noise("")
		for _, key := range rapid.SliceOfNDistinct(rapid.SampledFrom(keys), 0, 5, rapid.ID).Draw(t, "keys") {
			field("", key)
		}
		indent := strings.Repeat(" ", rapid.IntRange(0, 4).Draw(t, "indent"))
		if indent != "" {
			b.WriteString("metadata:" + rapid.SampledFrom([]string{"", " # m"}).Draw(t, "comment") + "\n")
			for _, key := range rapid.SliceOfNDistinct(rapid.SampledFrom(nested), 1, 4, rapid.ID).Draw(t, "nested") {
				field(indent, key)
			}
		}
		b.WriteString("---\n# Body\n\n---\nno: field\n---\n")
		s := b.String()
		if rapid.Bool().Draw(t, "CRLF") {
			s = strings.ReplaceAll(s, "\n", "\r\n")
		}
		return rapid.SampledFrom([]string{"", bom}).Draw(t, "mark") + s
	})
}

func TestEditProperties(t *testing.T) {
	values := rapid.OneOf(rapid.SampledFrom(awkward), rapid.String())
	rapid.Check(t, func(rt *rapid.T) {
		file := drawFile().Draw(rt, "file")
		e, err := Parse([]byte(file))
		if err != nil {
			rt.Fatalf("%v: %q", err, file)
		}
		checkParse(t, []byte(file))
		for range rapid.IntRange(1, 4).Draw(rt, "edits") {
			value, pick, remove := values.Draw(rt, "value"), rapid.UintRange(0, 40).Draw(rt, "pick"), rapid.Bool().Draw(rt, "remove")
			checkEdit(t, e.Bytes(), value, pick, remove)
			path := targets(e)[pick%uint(len(targets(e)))]
			edit := func() ([]byte, error) { return e.Set(value, path...) }
			if remove {
				edit = func() ([]byte, error) { return e.Delete(path...) }
			}
			out, err := edit()
			if err != nil { // an ancestor holds a text or a list
				if err.(*Error).Rule != "frontmatter.not-mapping" && utf8.ValidString(value) && !slices.Contains(path, "") {
					rt.Fatalf("edit of %q in %q: %v", path, e.Bytes(), err)
				}
				continue
			}
			if e, err = Parse(out); err != nil {
				rt.Fatal(err)
			}
		}
	})
}

func TestComposeProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		key := rapid.StringN(1, 20, -1).Filter(func(s string) bool { return s != "<<" })
		values := rapid.MapOfN(key, rapid.String(), 1, 8).Draw(t, "fields")
		body := rapid.SampledFrom([]string{"", "x", "---\na: b\n---\n", "\r\n", bom}).Draw(t, "body")
		var list []Field
		for k, v := range values {
			list = append(list, Field{[]string{"metadata", k}, v})
		}
		e, err := Parse(Compose(list, body))
		if err != nil {
			t.Fatal(err)
		}
		if got := string(e.Body()); got != body {
			t.Fatalf("body %q, want %q", got, body)
		}
		for k, want := range values {
			if got, ok := e.Field("metadata", k); got != want || !ok {
				t.Fatalf("field %q = %q, %v, want %q", k, got, ok, want)
			}
		}
	})
}
