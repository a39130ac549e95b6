package entry

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func mustParse(t *testing.T, data string) *Entry {
	t.Helper()
	e, err := Parse([]byte(data))
	if err != nil {
		t.Fatalf("Parse(%q): %v", data, err)
	}
	return e
}

// fields lists every scalar field of a file, paths joined with dots.
func fields(e *Entry) map[string]string {
	out := make(map[string]string)
	var walk func(n *node, prefix string)
	walk = func(n *node, prefix string) {
		for _, p := range n.pairs {
			if p.value.kind == scalar {
				out[prefix+p.key.text] = p.value.text
			}
			walk(p.value, prefix+p.key.text+".")
		}
	}
	if e.root != nil {
		walk(e.root, "")
	}
	return out
}

func TestParse(t *testing.T) {
	type m = map[string]string
	tests := []struct {
		name, in    string
		frontmatter bool
		fields      m
		body        string
	}{
		{"empty file", "", false, m{}, ""},
		{"only a byte order mark", "\ufeff", false, m{}, ""},
		{"no frontmatter", "# Title\n\ntext\n", false, m{}, "# Title\n\ntext\n"},
		{"thematic break later", "text\n---\nkey: v\n---\n", false, m{}, "text\n---\nkey: v\n---\n"},
		{"thematic break first, never closed", "---\n\nA rule, then text: more\n", false, m{}, "---\n\nA rule, then text: more\n"},
		{"thematic break, prose with a colon", "---\nNote to self: buy milk\n", false, m{}, "---\nNote to self: buy milk\n"},
		{"thematic break, a URL", "---\nhttps://example.org\n", false, m{}, "---\nhttps://example.org\n"},
		{"thematic break alone", "---", false, m{}, "---"},
		{"thematic break and line end", "---\n", false, m{}, "---\n"},
		{"four dashes", "----\na: b\n----\n", false, m{}, "----\na: b\n----\n"},
		{"indented dashes", " ---\na: b\n---\n", false, m{}, " ---\na: b\n---\n"},
		{"empty block", "---\n---\nbody", true, m{}, "body"},
		{"only a comment", "---\n# nothing\n\n---\nbody", true, m{}, "body"},
		{"frontmatter only", "---\na: b\n---\n", true, m{"a": "b"}, ""},
		{"no final line end", "---\na: b\n---", true, m{"a": "b"}, ""},
		{"dots close", "---\na: b\n...\nbody\n", true, m{"a": "b"}, "body\n"},
		{"white space after delimiters", "--- \t\na: b\n---  \nbody\n", true, m{"a": "b"}, "body\n"},
		{"CRLF", "---\r\na: b\r\nc: d\r\n---\r\nbody\r\n", true, m{"a": "b", "c": "d"}, "body\r\n"},
		{"byte order mark", "\ufeff---\na: b\n---\nbody\n", true, m{"a": "b"}, "body\n"},
		{"the body has its own rule", "---\na: b\n---\nx\n---\ny\n", true, m{"a": "b"}, "x\n---\ny\n"},
		{
			"types are text",
			"---\na: no\nb: 123\nc: 2026-01-02\nd: 0x1F\ne: 11:20\nf: ~\ng:\nh: 1e3\ni: null\nj: 007\n---\n", true,
			m{"a": "no", "b": "123", "c": "2026-01-02", "d": "0x1F", "e": "11:20", "f": "~", "g": "", "h": "1e3", "i": "null", "j": "007"},
			"",
		},
		{
			"styles",
			"---\na: 'it''s'\nb: \"x\\ty\"\nc: |\n  one\n\n  two\nd: >-\n  folded\n  text\ne: plain\n  goes on\n\n  here # not this\n---\n", true,
			m{"a": "it's", "b": "x\ty", "c": "one\n\ntwo\n", "d": "folded text", "e": "plain goes on\nhere"},
			"",
		},
		{
			"nested, quoted and foreign keys",
			"---\n\"description\": d\nmetadata:\n    type: project\n    deep: {x: [1, {y: z}]}\ntags: [a, 'b c']\nlist:\n- 1\n- k: v\n---\n", true,
			m{"description": "d", "metadata.type": "project"},
			"",
		},
		{"flow at the top", "---\n{description: d, metadata: {type: user}}\n---\n", true, m{"description": "d", "metadata.type": "user"}, ""},
		{"value on the next line", "---\na:\n  text\nb: c\n---\n", true, m{"a": "text", "b": "c"}, ""},
		{"escaped key", "---\n\"\\u0061\": b\n---\n", true, m{"a": "b"}, ""},
		{"colon in text", "---\nurl: https://example.org/#x\n---\n", true, m{"url": "https://example.org/#x"}, ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := mustParse(t, tt.in)
			if got, want := e.HasFrontmatter(), tt.frontmatter; got != want {
				t.Errorf("HasFrontmatter = %v, want %v", got, want)
			}
			got := fields(e)
			delete(got, "metadata.deep") // collections are not scalars
			if diff := cmp.Diff(tt.fields, got); diff != "" {
				t.Errorf("fields (-want +got):\n%s", diff)
			}
			if got, want := string(e.Body()), tt.body; got != want {
				t.Errorf("Body = %q, want %q", got, want)
			}
			if got, want := string(e.Bytes()), tt.in; got != want {
				t.Errorf("Bytes = %q, want %q", got, want)
			}
		})
	}
}

// TestParseRefuses holds the report size-deep-header.
func TestParseRefuses(t *testing.T) {
	nested := func(n int) string { return "---\na: " + strings.Repeat("[", n) + strings.Repeat("]", n) + "\n---\n" }
	tests := []struct {
		name, in, rule string
		offset         int
	}{
		{"not UTF-8", "---\na: b\n---\nx\xff", "utf8", 14},
		{"UTF-16", "\xff\xfe-\x00", "utf8", 0},
		{"too large", "---\na: " + strings.Repeat("x", MaxFrontmatter-3) + "\n---\n", "too-large", 0},
		{"anchor", "---\na: &x b\n---\n", "anchor", 7},
		{"anchor on a mapping", "---\na: &x\n  b: c\n---\n", "anchor", 7},
		{"anchor of a bomb", "---\na: &a [x, x]\nb: [*a, *a]\n---\n", "anchor", 7},
		{"alias without anchor", "---\na: *x\n---\n", "alias", 7},
		{"tag", "---\na: !!str b\n---\n", "tag", 7},
		{"local tag", "---\na: !x b\n---\n", "tag", 7},
		{"bare tag", "---\na: ! b\n---\n", "tag", 7},
		{"bare tag on nothing", "---\na: !\nb: c\n---\n", "tag", 7},
		{"bare tag on a mapping", "---\na: !\n  b: c\n---\n", "tag", 7},
		{"tag on the outer value", "---\n!!binary aGk=\n---\n", "tag", 4},
		{"undefined tag handle", "---\na: b\nc: !x!y z\n---\n", "tag", 4}, // yaml.v3 counts one line too few
		{"merge key", "---\na: b\n<<: {c: d}\n---\n", "merge", 9},
		{"duplicate key", "---\ntrust: a\nx: y\ntrust: b\n---\n", "duplicate-key", 18},
		{"duplicate key, quoted", "---\ntrust: a\n\"tr\\u0075st\": b\n---\n", "duplicate-key", 13},
		{"duplicate key, nested", "---\nm: {a: 1, a: 2}\n---\n", "duplicate-key", 14},
		{"duplicate key in a list", "---\nm:\n- {a: 1}\n- {b: 1, 'b': 2}\n---\n", "duplicate-key", 25},
		{"too deep", nested(MaxDepth), "too-deep", 14},
		{"far too deep", nested(MaxFrontmatter/2 - 10), "too-deep", 14},
		{"unclosed list", "---\na: [b\n---\n", "malformed", 0},
		{"unclosed quote", "---\na: \"b\n---\n", "malformed", 4},
		{"text after a mapping", "---\na: b\nc\n---\n", "malformed", 9},
		{"two values", "---\na: b: c\n---\n", "malformed", 4},
		{"tab indentation", "---\na:\n\tb: c\n---\n", "malformed", 7},
		{"control character", "---\na: b\x00\n---\n", "malformed", 8},
		{"escape sequence", "---\na: b\x1b[2J\n---\n", "malformed", 8},
		{"lone CR", "---\na: b\rtrust: c\n---\n", "malformed", 8},
		{"next line character", "---\na: b\u0085trust: c\n---\n", "malformed", 8},
		{"line separator", "---\na: b\u2028trust: c\n---\n", "malformed", 8},
		{"byte order mark inside", "---\n\ufeffa: b\n---\n", "malformed", 4},
		{"second document", "---\na: b\n--- c\n---\n", "malformed", 0},
		{"directive", "---\n%YAML 1.1\n---\n", "malformed", 4},
		{"key that is a list", "---\n[a]: b\n---\n", "malformed", 4},
		{"key that is a mapping", "---\na: {{b}}\n---\n", "malformed", 8},
		{"key without text", "---\n? \n: b\n---\n", "malformed", 5},
		{"never closed", "---\ndescription: d\nbody\n", "malformed", 0},
		{"never closed, after a comment", "---\n# c\n\"description\":\n", "malformed", 0},
		{"list", "---\n- a\n---\n", "not-mapping", 4},
		{"text", "---\njust prose\n---\n", "not-mapping", 4},
		{"null", "---\n~\n---\n", "not-mapping", 4},
		{"empty quotes", "---\n\"\"\n---\n", "not-mapping", 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			_, err := Parse([]byte(tt.in))
			var refusal *Error
			if !errors.As(err, &refusal) {
				t.Fatalf("Parse = %v, want an *Error", err)
			}
			if got, want := *refusal, (Error{"frontmatter." + tt.rule, tt.offset}); got != want {
				t.Errorf("Parse = %+v, want %+v", got, want)
			}
		})
	}
	if got, want := refuse("anchor", 17).Error(), "frontmatter.anchor at byte 17"; got != want {
		t.Errorf("Error() = %q, want %q", got, want)
	}
	mustParse(t, nested(MaxDepth-1))
	mustParse(t, "---\na: "+strings.Repeat("x", MaxFrontmatter-4)+"\n---\n")
}

func TestFieldOfCollection(t *testing.T) {
	e := mustParse(t, "---\na: [b]\nc: {d: e}\n---\n")
	for _, path := range [][]string{{"a"}, {"c"}, {"a", "b"}, {"c", "x"}, {"c", "d", "e"}, {}, {"zz"}} {
		if v, ok := e.Field(path...); ok {
			t.Errorf("Field(%q) = %q, true; want false", path, v)
		}
	}
	var zero Entry
	if _, ok := zero.Field("a"); ok || zero.HasFrontmatter() || len(zero.Body()) > 0 {
		t.Error("the zero Entry is not an empty file")
	}
}

func TestDescriptionTypeKey(t *testing.T) {
	tests := []struct{ name, in, description, typ, key string }{
		{"nested", "---\ndescription: d\nmetadata: {type: user, key: k}\n---\n", "d", "user", "k"},
		{"flat", "---\ndescription: d\ntype: user\nkey: k\n---\n", "d", "user", "k"},
		{"nested wins", "---\ndescription: d\ntype: user\nkey: k\nmetadata:\n  type: project\n  key: k2\n  description: d2\n---\n", "d2", "project", "k2"},
		{"folded", "---\ndescription: >-\n  folded\n  text\nkey: |\n  k\n---\n", "folded text", "", "k"},
		{"literal on one line", "---\ndescription: |\n  one\n\n   two  x\n---\n", "one two  x", "", ""},
		{"null is absent", "---\ndescription: ~\ntype: null\nmetadata:\n---\nbody", "body", "", ""},
		{"quoted null is text", "---\ndescription: \"null\"\n---\nbody", "null", "", ""},
		{"blank", "---\ndescription: ' '\n---\n\n## The *body*\nmore", "The *body*", "", ""},
		{"list", "---\ndescription: [a]\ntype: {a: b}\n---\nbody", "body", "", ""},
		{"list item", "\n\n---\n***\n- 1. > a thing\n", "a thing", "", ""},
		{"number alone", "42\n", "42", "", ""},
		{"byte order mark", "\ufeff# T\n", "T", "", ""},
		{"nothing", "---\n---\n\n - \n\n", "", "", ""},
		{"long", strings.Repeat("字", 161), strings.Repeat("字", 157) + "...", "", ""},
		{"just fits", strings.Repeat("字", 160), strings.Repeat("字", 160), "", ""},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			e := mustParse(t, tt.in)
			got := [3]string{e.Description(), e.Type(), e.Key()}
			if want := [3]string{tt.description, tt.typ, tt.key}; got != want {
				t.Errorf("got %q, want %q", got, want)
			}
		})
	}
}

func TestSecondHeader(t *testing.T) {
	for in, want := range map[string]bool{
		"---\na: b\n---\n\n---\nc: d\n---\nbody": true,
		"---\na: b\n---\nbody":                   false,
		"---\na: b\n---\n---\n---\n":             false,
		"---\na: b\n---\n---\n\nprose\n---\n":    false,
		"text\n---\na: b\n---\n":                 false,
	} {
		if got := mustParse(t, in).SecondHeader(); got != want {
			t.Errorf("SecondHeader(%q) = %v, want %v", in, got, want)
		}
	}
}

func TestScalars(t *testing.T) {
	e := mustParse(t, "---\na: \"\\u0062\" # c\nl: [d, {e: }]\nm:\n  '': ''\n---\nbody")
	want := []string{"a", "b", "l", "d", "e", "m"}
	if diff := cmp.Diff(want, e.Scalars()); diff != "" {
		t.Errorf("Scalars (-want +got):\n%s", diff)
	}
	if got := mustParse(t, "body").Scalars(); got != nil {
		t.Errorf("Scalars without frontmatter = %q", got)
	}
}

func TestOwnedValues(t *testing.T) {
	e := mustParse(t, "---\nmodified: 2026-01-02\ntrust: flat\nmetadata:\n  type: user\n  trust: \"operator\" # c\n"+
		"  flags: [a,  b]\n  status:\n  supersedes:\n    - x.md\n    - y.md # c\n  source: {a: b}\n---\n")
	want := map[string]string{
		"modified":            "2026-01-02",
		"metadata.trust":      "operator",
		"metadata.flags":      "[a,  b]",
		"metadata.status":     "",
		"metadata.supersedes": "- x.md\n    - y.md",
		"metadata.source":     "{a: b}",
	}
	if diff := cmp.Diff(want, e.OwnedValues()); diff != "" {
		t.Errorf("OwnedValues (-want +got):\n%s", diff)
	}
	for _, in := range []string{"", "---\n---\n", "---\nmetadata: [trust]\n---\n", "---\nmetadata: trust\n---\n"} {
		if got := mustParse(t, in).OwnedValues(); len(got) > 0 {
			t.Errorf("OwnedValues(%q) = %q, want none", in, got)
		}
	}
}

func TestNormalBody(t *testing.T) {
	for in, want := range map[string]string{
		"":                        "",
		"\n \r\n\t\n":             "",
		"a":                       "a",
		"a\n":                     "a",
		"\r\n\r\n a \t\r\nb\r\n":  " a\nb",
		"a\n\n\n  \nb\n\n":        "a\n\n\n\nb",
		"a \r":                    "a",
		"\n\n    code\n\tmore \n": "    code\n\tmore",
	} {
		got := string(NormalBody([]byte(in)))
		if got != want {
			t.Errorf("NormalBody(%q) = %q, want %q", in, got, want)
		}
		if again := string(NormalBody([]byte(got))); again != got {
			t.Errorf("NormalBody(%q) = %q, want it unchanged", got, again)
		}
	}
}

func TestConflictMarkers(t *testing.T) {
	for in, want := range map[string]bool{
		"a\n<<<<<<< ours\nb\n=======\nc\n>>>>>>> theirs\n":                    true,
		"<<<<<<< ours\r\nb\r\n||||||| base\r\n=======\r\nc\r\n>>>>>>> theirs": true,
		"":                                   false,
		"<<<<<<< ours\n=======\n":            false,
		">>>>>>> a\n=======\n<<<<<<< b\n":    false,
		" <<<<<<< a\n=======\n>>>>>>> b\n":   false,
		"<<<<<<< a\nTitle======\n>>>>>>> b":  false,
		"<<<<<<< a\n========\n>>>>>>> b":     false,
		"Heading\n=======\n>>>>>>> quote\n":  false,
		"<<<<<<<\n=======\n>>>>>>>\n":        false,
		"<<<<<<< a\n>>>>>>> b\n=======\nend": false,
	} {
		if got := ConflictMarkers([]byte(in)); got != want {
			t.Errorf("ConflictMarkers(%q) = %v, want %v", in, got, want)
		}
	}
}

func TestLabels(t *testing.T) {
	for _, tt := range []struct {
		name, in, topic, when string
		tags                  []string
	}{
		{"none", "text\n", "", "", nil},
		{"flat", "---\ntopic: a/b\ntags: [x, 'y z', 2026-01-02]\nverify_when: 3个月后\n---\n", "a/b", "3个月后", []string{"x", "y z", "2026-01-02"}},
		{"metadata first", "---\ntopic: flat\ntags: [flat]\nmetadata:\n  topic: deep\n  tags:\n    - one\n    - two\n---\n", "deep", "", []string{"one", "two"}},
		{"one text", "---\ntags: x, y，z、x,\nverify_when: 2027-03-01\n---\n", "", "2027-03-01", []string{"x", "y", "z"}},
		{"nulls", "---\ntopic: ~\ntags: [~, {a: b}, c]\nmetadata:\n  tags: null\n---\n", "", "", []string{"c"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			e := mustParse(t, tt.in)
			if diff := cmp.Diff(tt.tags, e.Tags()); diff != "" {
				t.Errorf("tags (-want +got):\n%s", diff)
			}
			if e.Topic() != tt.topic || e.VerifyWhen() != tt.when {
				t.Errorf("topic %q, verify_when %q; want %q, %q", e.Topic(), e.VerifyWhen(), tt.topic, tt.when)
			}
		})
	}
}
