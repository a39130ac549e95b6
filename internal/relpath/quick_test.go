package relpath

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// listedNames reads the string literals of names.go: every listed name, stem and
// qualifier is one.
func listedNames(t *testing.T) []string {
	t.Helper()
	f, err := parser.ParseFile(token.NewFileSet(), "names.go", nil, 0)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	ast.Inspect(f, func(n ast.Node) bool {
		if lit, ok := n.(*ast.BasicLit); ok && lit.Kind == token.STRING {
			s, err := strconv.Unquote(lit.Value)
			if err != nil {
				t.Fatal(err)
			}
			if s != "" && len(s) <= maxListed {
				names = append(names, s)
			}
		}
		return true
	})
	if len(names) < 150 {
		t.Fatalf("only %d names in names.go", len(names))
	}
	return names
}

// plainly is listing without its filters.
func plainly(view string) string {
	switch md := strings.HasSuffix(view, ".md"); {
	case device(view):
		return ruleDevice
	case md && instruction(view):
		return ruleInstruction
	case md && looksInstruction(view):
		return ruleLookAlike
	case !md && denied(view):
		return ruleSensitive
	case !md && looksDenied(view):
		return ruleLookAlike
	}
	return ""
}

// disguises calls fn with name in other cases and with ASCII look-alikes.
func disguises(name string, fn func(string)) {
	for _, r := range []*strings.Replacer{
		strings.NewReplacer(),
		strings.NewReplacer("o", "0", "i", "1"),
		strings.NewReplacer("i", "l", "l", "1"),
		strings.NewReplacer("l", "I", "i", "I", "m", "rn"),
		strings.NewReplacer("mm", "rnm"),
		strings.NewReplacer("mm", "mrn"),
	} {
		s := r.Replace(name)
		for _, s := range []string{s, strings.ToUpper(s), strings.ToUpper(s[:1]) + s[1:]} {
			fn(s)
			fn(s + ".md")
			fn(s + ".local.md")
			fn("x." + s + ".md")
			fn(s + " ")
			fn(s + ".x")
			fn(s + "1")
		}
	}
}

// TestFilters holds that the filters by first byte and length let every listed name
// through to the lists.
func TestFilters(t *testing.T) {
	hits := 0
	for _, name := range listedNames(t) {
		disguises(name, func(s string) {
			if got, want := listing(s), plainly(s); got != want {
				t.Errorf("listing(%q) = %q, want %q", s, got, want)
			} else if want != "" {
				hits++
			}
		})
	}
	if hits < 500 {
		t.Errorf("only %d names were on a list", hits)
	}
}

// checkShortcuts holds the two shortcuts to the rules that they stand for.
func checkShortcuts(t fataler, name string) (taken bool) {
	t.Helper()
	for _, leaf := range []bool{true, false} {
		c := checker{name: name, leaf: leaf}
		if quick(name, leaf) {
			taken = true
			if r := c.rules(); r != nil || c.soft {
				t.Fatalf("quick(%+q, %v) allows, the rules do not: %v", name, leaf, r)
			}
		}
		c = checker{name: name, leaf: leaf}
		if c.rules() != nil {
			continue
		}
		if stable, r := c.runes(); stable && r == nil {
			if r := c.views(); r != nil {
				t.Fatalf("%+q is stable, its views are not allowed: %v", name, r)
			}
		}
	}
	return taken
}

func TestShortcuts(t *testing.T) {
	listed := listedNames(t)
	taken := 0
	rapid.Check(t, func(t *rapid.T) {
		part := rapid.OneOf(
			rapid.SampledFrom(listed),
			rapid.StringMatching(`[a-zA-Z0-9_. #-]{0,5}`),
			names(),
		)
		name := part.Draw(t, "head") + rapid.SampledFrom([]string{"", "/", "/", "rn", "."}).Draw(t, "glue") +
			part.Draw(t, "tail") + rapid.SampledFrom([]string{".md", ".md", ""}).Draw(t, "ext")
		if checkShortcuts(t, name) {
			taken++
		}
	})
	if taken == 0 {
		t.Error("no name took the shortcut")
	}
	for _, n := range benchNames {
		if strings.HasPrefix(n.text, "ascii") && !quick(n.name, true) {
			t.Errorf("%q is not judged quickly", n.name)
		}
	}
	for _, name := range []string{long(MaxLen-3, "d/") + ".md", long(MaxSegment, "b") + ".md", long(2*MaxDepth, "d/") + "x.md"} {
		if quick(name, true) {
			t.Errorf("quick allows %q", name)
		}
	}
}

// TestQuickBytes holds the table to what it says: a byte that quick passes over
// breaks no rule inside a segment, and an ordinary one none at its start either.
func TestQuickBytes(t *testing.T) {
	for b := range 256 {
		kind, s := quickBytes[b], string([]byte{byte(b)})
		for name, limit := range map[string]uint8{"x" + s + "x.md": quickInner, s + "x.md": quickAny} {
			c := checker{name: name, leaf: true}
			if kind <= limit && (c.rules() != nil || c.soft) {
				t.Errorf("byte %#x is %d, and %q is refused", b, kind, name)
			}
		}
	}
}
