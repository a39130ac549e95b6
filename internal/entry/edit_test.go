package entry

import (
	"errors"
	"fmt"
	"strings"
	"testing"
)

func TestSet(t *testing.T) {
	tests := []struct{ name, in, path, value, want string }{
		{"plain", "---\na: b\nc: d\n---\nbody", "a", "x y", "---\na: x y\nc: d\n---\nbody"},
		{"comment and spaces stay", "---\n# top\na:   b   # why\n\nc: d\n---\n", "a", "x", "---\n# top\na:   x   # why\n\nc: d\n---\n"},
		{"double quotes stay", "---\na: \"b\" # c\n---\n", "a", "x\"y\n", "---\na: \"x\\\"y\\n\" # c\n---\n"},
		{"single quotes stay", "---\na: 'b'\n---\n", "a", "it's", "---\na: 'it''s'\n---\n"},
		{"single quotes cannot say it", "---\na: 'b'\n---\n", "a", "x\ny", "---\na: \"x\\ny\"\n---\n"},
		{"nothing invisible that ends a line or a file", "---\na: b\n---\n", "a", "\ufeffx\u2028", "---\na: \"\\ufeffx\\u2028\"\n---\n"},
		{"quotes where YAML needs them", "---\na: b\n---\n", "a", "no", "---\na: \"no\"\n---\n"},
		{"nothing there", "---\na:\nb: c\n---\n", "a", "x", "---\na: x\nb: c\n---\n"},
		{"nothing but a comment there", "---\na: # why\nb: c\n---\n", "a", "x", "---\na: x # why\nb: c\n---\n"},
		{"null there", "---\na: ~ # why\n---\n", "a", "x", "---\na: x # why\n---\n"},
		{"literal", "---\na: |\n  one\n\n  two\n\nb: c\n---\n", "a", "x", "---\na: x\n\nb: c\n---\n"},
		{"literal, comment", "---\na: >2- # why\n  one\n   two\n# end\nb: c\n---\n", "a", "x", "---\na: x # why\n# end\nb: c\n---\n"},
		{"literal, kept blank lines", "---\na: |+\n  one\n\n\nb: c\n---\n", "a", "x", "---\na: x\nb: c\n---\n"},
		{"literal, empty", "---\na: |\nb: c\n---\n", "a", "x", "---\na: x\nb: c\n---\n"},
		{"literal, only a wide blank line", "---\na: |\n     \n  # why\nb: c\n---\n", "a", "x", "---\na: x\n     \n  # why\nb: c\n---\n"},
		{"literal, CRLF", "---\r\na: |\r\n  one\r\n  two\r\nb: c\r\n---\r\n", "a", "x", "---\r\na: x\r\nb: c\r\n---\r\n"},
		{"plain on lines", "---\na: one\n  two\n\n  three # why\nb: c\n---\n", "a", "x", "---\na: x # why\nb: c\n---\n"},
		{"quoted on lines", "---\na: \"one\n  two \\\"\n\n  three\" # why\nb: c\n---\n", "a", "x", "---\na: \"x\" # why\nb: c\n---\n"},
		{"on the next line", "---\na:\n  # why\n  one\nb: c\n---\n", "a", "x", "---\na:\n  # why\n  x\nb: c\n---\n"},
		{"text for a list", "---\na: # why\n  - 1 # gone\n  - 2\nb: c\n---\n", "a", "x", "---\na: x # why\nb: c\n---\n"},
		{"text for a list after a blank line", "---\na:\n\n- 1\n- 2\nb: c\n---\n", "a", "x", "---\na: x\n\nb: c\n---\n"},
		{"text for a flow list", "---\na: [1,\n 2] # why\nb: c\n---\n", "a", "x", "---\na: x # why\nb: c\n---\n"},
		{"nested", "---\nmetadata:\n    type: a # t\n    key: k\n---\n", "metadata.type", "b", "---\nmetadata:\n    type: b # t\n    key: k\n---\n"},
		{"in braces", "---\nmetadata: {type: project, trust: x} # m\n---\n", "metadata.trust", "z", "---\nmetadata: {type: project, trust: z} # m\n---\n"},
		{"in braces, quoted", "---\nmetadata: {type: project, trust: x}\n---\n", "metadata.trust", "a, b", "---\nmetadata: {type: project, trust: \"a, b\"}\n---\n"},
		{"in braces, key alone", "---\nmetadata: {trust}\n---\n", "metadata.trust", "z", "---\nmetadata: {trust: z}\n---\n"},
		{"in braces, no value", "---\nmetadata: {trust: , a: b}\n---\n", "metadata.trust", "z", "---\nmetadata: {trust: z , a: b}\n---\n"},
		{"quoted key", "---\n\"a\": b\n---\n", "a", "x", "---\n\"a\": x\n---\n"},
		{"the same", "---\na:   'b'\n---\n", "a", "b", "---\na:   'b'\n---\n"},
		{"byte order mark", "\ufeff---\na: b\n---\n", "a", "x", "\ufeff---\na: x\n---\n"},

		{"new", "---\na: b\n# end\n---\nbody", "c", "d", "---\na: b\n# end\nc: d\n---\nbody"},
		{"new, CRLF", "---\r\na: b\r\n---\r\nbody\n", "c", "d", "---\r\na: b\r\nc: d\r\n---\r\nbody\n"},
		{"new, no final line end", "---\na: b\n---", "c", "d", "---\na: b\nc: d\n---"},
		{"new, indented block", "---\n  a: b\n---\n", "c", "d", "---\n  a: b\n  c: d\n---\n"},
		{"new, empty block", "---\n---\nbody", "c", "d", "---\nc: d\n---\nbody"},
		{"new, only a comment", "---\n# c\n...\nbody", "c", "d", "---\n# c\nc: d\n...\nbody"},
		{"new, braces at the top", "---\n{a: b}\n---\n", "c", "d", "---\n{a: b, c: d}\n---\n"},
		{"new, two levels", "---\na: b\n---\n", "metadata.trust", "x", "---\na: b\nmetadata:\n  trust: x\n---\n"},
		{"new, two levels, the file's indentation", "---\nm:\n    a: b\n---\n", "metadata.trust", "x", "---\nm:\n    a: b\nmetadata:\n    trust: x\n---\n"},
		{"new, nested", "---\nmetadata:\n   type: a # t\n\n# end\nb: c\n---\n", "metadata.trust", "x", "---\nmetadata:\n   type: a # t\n   trust: x\n\n# end\nb: c\n---\n"},
		{"new, nested after lines", "---\nmetadata:\n  type: >\n    a\n    b\nb: c\n---\n", "metadata.trust", "x", "---\nmetadata:\n  type: >\n    a\n    b\n  trust: x\nb: c\n---\n"},
		{"new, nested after kept blank lines", "---\nmetadata:\n  type: |+\n    a\n\nb: c\n---\n", "metadata.trust", "x", "---\nmetadata:\n  type: |+\n    a\n\n  trust: x\nb: c\n---\n"},
		{"new, nested after a list", "---\nmetadata:\n  l:\n  - a\n  - b # c\n---\n", "metadata.trust", "x", "---\nmetadata:\n  l:\n  - a\n  - b # c\n  trust: x\n---\n"},
		{"new, in braces", "---\nmetadata: { type: project, } # m\n---\n", "metadata.trust", "x", "---\nmetadata: { type: project, trust: x, } # m\n---\n"},
		{"new, in empty braces", "---\nmetadata: {}\n---\n", "metadata.trust", "x", "---\nmetadata: {trust: x}\n---\n"},
		{"new, in braces on lines", "---\nmetadata: {\n  a: [b], # c\n  d\n  }\n---\n", "metadata.trust", "x", "---\nmetadata: {\n  a: [b], # c\n  d, trust: x\n  }\n---\n"},
		{"new, under nothing", "---\nmetadata: # m\nb: c\n---\n", "metadata.trust", "x", "---\nmetadata: # m\n  trust: x\nb: c\n---\n"},
		{"new, under nothing, CRLF", "---\r\nmetadata:\r\n---\r\n", "metadata.trust", "x", "---\r\nmetadata:\r\n  trust: x\r\n---\r\n"},
		{"new, under null", "---\nmetadata: null # m\n---\n", "metadata.trust", "x", "---\nmetadata: {trust: x} # m\n---\n"},
		{"new, three levels in braces", "---\n{a: {}}\n---\n", "a.b.c", "x", "---\n{a: {b: {c: x}}}\n---\n"},

		{"no block", "# T\n\nbody", "a", "b", "---\na: b\n---\n# T\n\nbody"},
		{"no block, two levels", "body", "metadata.trust", "b", "---\nmetadata:\n  trust: b\n---\nbody"},
		{"no block, CRLF", "# T\r\nbody\n", "a", "b", "---\r\na: b\r\n---\r\n# T\r\nbody\n"},
		{"no block, byte order mark", "\ufeffbody", "a", "b", "\ufeff---\na: b\n---\nbody"},
		{"no block, body with a rule", "---\n\nprose\n", "a", "b", "---\na: b\n---\n---\n\nprose\n"},
		{"no file", "", "a", "b", "---\na: b\n---\n"},

		{"time of change", "", "modified", "2026-09-21T08:12:00Z", "---\nmodified: 2026-09-21T08:12:00Z\n---\n"},
		{"time elsewhere", "", "a", "2026-09-21T08:12:00Z", "---\na: \"2026-09-21T08:12:00Z\"\n---\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := mustParse(t, tt.in)
			got, err := e.Set(tt.value, strings.Split(tt.path, ".")...)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
			if string(e.Bytes()) != tt.in {
				t.Error("the original changed")
			}
		})
	}
}

func TestSetRefuses(t *testing.T) {
	tests := []struct {
		name, in, value string
		path            []string
		rule            string
	}{
		{"value not UTF-8", "", "a\xff", []string{"a"}, "utf8"},
		{"no path", "", "x", nil, "edit"},
		{"empty key", "", "x", []string{""}, "edit"},
		{"merge key", "", "x", []string{"<<"}, "edit"},
		{"key not UTF-8", "", "x", []string{"\xff"}, "edit"},
		{"path too long", "", "x", strings.Split(strings.Repeat("a", MaxDepth+1), ""), "edit"},
		{"under a text", "---\nmetadata: x\n---\n", "x", []string{"metadata", "trust"}, "not-mapping"},
		{"under an empty text", "---\nmetadata: ''\n---\n", "x", []string{"metadata", "trust"}, "not-mapping"},
		{"under a list", "---\nmetadata: [trust]\n---\n", "x", []string{"metadata", "trust"}, "not-mapping"},
		{"too large", "---\na: b\n---\n", strings.Repeat("x", MaxFrontmatter), []string{"c"}, "too-large"},
		{"key too long for YAML", "", "x", []string{strings.Repeat("k", 2000)}, "edit"},
		{"explicit key without value", "---\n? a\n---\n", "x", []string{"a"}, "edit"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			out, err := mustParse(t, tt.in).Set(tt.value, tt.path...)
			var refusal *Error
			if !errors.As(err, &refusal) || refusal.Rule != "frontmatter."+tt.rule || out != nil {
				t.Errorf("Set = %q, %v; want nil, frontmatter.%s", out, err, tt.rule)
			}
		})
	}
}

func TestDelete(t *testing.T) {
	tests := []struct{ name, in, path, want string }{
		{"line", "---\na: b # c\n# note\nc: d\n---\nbody", "a", "---\n# note\nc: d\n---\nbody"},
		{"CRLF", "---\r\na: b\r\nc: d\r\n---\r\n", "c", "---\r\na: b\r\n---\r\n"},
		{"absent", "---\na: b\n---\n", "metadata.c", "---\na: b\n---\n"},
		{"no block", "body", "a", "body"},
		{"lines", "---\na: |\n  x\n\n  y\n\nb: c\n---\n", "a", "---\n\nb: c\n---\n"},
		{"after a text that keeps blank lines", "---\nx: |+\n  t\n\na: b\n\n \nc: d\n---\n", "a", "---\nx: |+\n  t\n\nc: d\n---\n"},
		{"after a text that would take a comment", "---\nx: |\n  t\nm:\n  a: b\n  # note\n# end\n---\n", "m", "---\nx: |\n  t\n# end\n---\n"},
		{"list", "---\na:\n- x\n- y\nb: c\n---\n", "a", "---\nb: c\n---\n"},
		{"nested", "---\nm:\n  a: b\n  c: d\n---\n", "m.a", "---\nm:\n  c: d\n---\n"},
		{"last of a mapping", "---\nx: y\nm:\n  a: b\n---\n", "m.a", "---\nx: y\n---\n"},
		{"last of a mapping with a comment", "---\nm: # why\n  a: b\n---\n", "m.a", "---\nm: # why\n---\n"},
		{"last of all", "---\na: b\n---\nbody", "a", "body"},
		{"last of all, byte order mark", "\ufeff---\na: b\n---\nbody", "a", "\ufeffbody"},
		{"last of all, a comment", "---\n# c\na: b\n---\nbody", "a", "---\n# c\n---\nbody"},
		{"last of all, the body looks like a block", "---\na: b\n---\n---\nc: d\n---\n", "a", "---\n---\n---\nc: d\n---\n"},
		{"last of all, the body looks like an open block", "---\na: b\n---\n---\nc: d\n", "a", "---\n---\n---\nc: d\n"},
		{"last of all, the body starts with the mark", "---\na: b\n---\n\ufeffx", "a", "---\n---\n\ufeffx"},
		{"first in braces", "---\nm: {a: b, c: d}\n---\n", "m.a", "---\nm: {c: d}\n---\n"},
		{"last in braces", "---\nm: {a: b, c: [d], }\n---\n", "m.c", "---\nm: {a: b, }\n---\n"},
		{"only one in braces", "---\nm: { a: b , } # c\n---\n", "m.a", "---\nm: {  } # c\n---\n"},
		{"mapping", "---\nm:\n  a: b\n  c: d\nx: y\n---\n", "m", "---\nx: y\n---\n"},
		{"explicit key", "---\n? a\n: b\nc: d\n---\n", "a", "---\nc: d\n---\n"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := mustParse(t, tt.in).Delete(strings.Split(tt.path, ".")...)
			if err != nil {
				t.Fatal(err)
			}
			if string(got) != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
		})
	}
	if out, err := mustParse(t, "").Delete(); err == nil || out != nil {
		t.Errorf("Delete() = %q, %v; want an error", out, err)
	}
}

// awkward are texts that a careless writer turns into something else.
var awkward = []string{
	"", "no", "Yes", "null", "~", "true", "123", "-1", "+1", "1.5", "1e3", "0x1F", ".5", "1_000", "2026-01-02", "11:20", "2026-01-02T10:00:00Z",
	"a: b", "a:", "a:b", ":", ": a", "# c", "a # c", "a#c", "- d", "-", "--- d", "---", "...", "? q", "what?", "@at", "`tick`", "%d", "&a", "*b", "!t", "!",
	"|", ">", "| x", "[生产]", "{a}", "a, b", "]", "}", "\"quoted\"", "it's", "'", "\"", "\\", "a\\nb", " lead", "trail ", "\ttab", "a\tb", "one\ntwo", "\n", "a\r\nb", "\r",
	"\x00", "\x07\x1b[2J", "\x7f", "\u0085", "\u2028", "\ufeff", "\ufeffa", "\u00a0x\u00a0", "\u200b", "中文：说明", "中文: 说明", "🙂", "\ufffe", "\U0010ffff", "=", "<<", "a <<: b",
	".inf", ".NaN", "y", "C:\\dir", "https://example.org/?q=1#x", "3f9a1c:turn-14", strings.Repeat("long ", 400) + "end", strings.Repeat("x\n", 300),
}

func TestAwkwardValues(t *testing.T) {
	const tail = "date: 2025-11-02\nzeta: [a, 'b c', \"d\"]  # keep\n---\nno: body\n"
	files := map[string]string{
		"plain":   "---\nm:\n  k: old # c\n" + tail,
		"double":  "---\nm:\n  k: \"old\" # c\n" + tail,
		"single":  "---\nm:\n  k: 'old' # c\n" + tail,
		"literal": "---\nm:\n  k: |\n    old\n" + tail,
		"flow":    "---\nm: {k: old, l: m} # c\n" + tail,
		"json":    "---\nm: {\"k\":\"old\"}\n" + tail,
		"absent":  "---\n" + tail,
		"none":    "no: body\n",
	}
	for name, in := range files {
		for _, value := range awkward {
			e := mustParse(t, in)
			out, err := e.Set(value, "m", "k")
			if err != nil {
				t.Errorf("%s: Set(%q): %v", name, value, err)
				continue
			}
			changed := mustParse(t, string(out))
			if got, _ := changed.Field("m", "k"); got != value {
				t.Errorf("%s: Set(%q) reads back as %q in %q", name, value, got, out)
			}
			if _, had := e.Field("m", "k"); had {
				continue
			}
			back, err := changed.Delete("m", "k")
			if err != nil || string(back) != in {
				t.Errorf("%s: Set(%q), Delete = %q, %v; want the original", name, value, back, err)
			}
		}
	}
}

func TestCompose(t *testing.T) {
	got := Compose([]Field{
		{[]string{"description"}, "JWT: migration plan"},
		{[]string{"metadata", "type"}, "project"},
		{[]string{"modified"}, "2026-09-21T08:12:00Z"},
		{[]string{"metadata", "trust"}, "user-verified"},
		{nil, "ignored"},
		{[]string{"metadata", "source"}, "3f9a1c:turn-14"},
		{[]string{"metadata", "key"}, "123"},
		{[]string{"a.b c"}, "first"},
		{[]string{"a.b c"}, "bad\xff"},
	}, "---\r\nbody")
	want := "---\ndescription: \"JWT: migration plan\"\nmetadata:\n  type: project\n  trust: user-verified\n  source: 3f9a1c:turn-14\n" +
		"  key: \"123\"\nmodified: 2026-09-21T08:12:00Z\n\"a.b c\": bad\ufffd\n---\n---\r\nbody"
	if string(got) != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	if got := string(Compose(nil, "body")); got != "body" {
		t.Errorf("without fields: %q, want the body", got)
	}
	var all []Field
	for i, value := range awkward {
		all = append(all, Field{[]string{"m", fmt.Sprint("k", i)}, value})
	}
	for _, key := range []string{"no", "", "1", "-", "a b", "a: b", "键", "\n"} {
		all = append(all, Field{[]string{key}, key})
	}
	e := mustParse(t, string(Compose(all, "x")))
	for _, f := range all {
		if got, ok := e.Field(f.Path...); got != f.Value || !ok {
			t.Errorf("field %q reads back as %q, %v", f.Value, got, ok)
		}
	}
}
