package secret

import (
	"go/ast"
	"go/parser"
	"go/token"
	"math/rand/v2"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestOrigins: every function that gives a rule its name says in its comment where the
// rule's shape comes from. The formats have their origin in formats.tsv.
func TestOrigins(t *testing.T) {
	names, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	files := token.NewFileSet()
	origin := regexp.MustCompile(`(?m)^Origin: \S`)
	named := map[string]bool{}
	for _, name := range names {
		if strings.HasSuffix(name, "_test.go") || name == "table.go" {
			continue
		}
		f, err := parser.ParseFile(files, name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range f.Decls {
			fn, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			for _, rule := range given(fn) {
				named[rule] = true
				if !origin.MatchString(fn.Doc.Text()) {
					t.Errorf("%s: %s gives %s and its comment has no line \"Origin: ...\"", files.Position(fn.Pos()), fn.Name.Name, rule)
				}
			}
		}
	}
	doc, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, rule := range regexp.MustCompile(`secret\.[a-z]+(-[a-z]+)*`).FindAllString(string(doc), -1) {
		if !named[rule] {
			t.Errorf("doc.go has %s, which no function gives", rule)
		}
	}
}

// given returns the rules that a function records or returns.
func given(fn *ast.FuncDecl) (rules []string) {
	add := func(list []ast.Expr) {
		for _, e := range list {
			if l, ok := e.(*ast.BasicLit); ok && strings.HasPrefix(l.Value, `"secret.`) {
				rules = append(rules, strings.Trim(l.Value, `"`))
			}
		}
	}
	ast.Inspect(fn, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.CallExpr:
			add(n.Args)
		case *ast.ReturnStmt:
			add(n.Results)
		}
		return true
	})
	return rules
}

// drawFor draws a value that a keyword of kind k may name.
func drawFor(k kind, r *rand.Rand) string {
	switch k {
	case kindPassword, kindPass, kindLogin, kindCommand, kindCurl, kindDsn:
		return draw(r, alphanum, 10) + "#" + draw(r, alphanum, 4) + "9x"
	case kindBasic:
		return b64("deploy:" + draw(r, alphanum, 14))
	case kindPem, kindXml, kindPpk:
		return draw(r, base64Set, 64)
	case kindJwt, kindJwk:
		return draw(r, urlSet, 43)
	}
	return draw(r, alphanum, 32)
}

// TestKeywordExamples: every row of keywords.tsv has a true and a false example. Both hold
// its word and, at {}, the same value: what is found hangs on the text around it.
func TestKeywordExamples(t *testing.T) {
	data, err := os.ReadFile("keywords.tsv")
	if err != nil {
		t.Fatal(err)
	}
	for i, row := range strings.Split(strings.TrimSpace(string(data)), "\n")[1:] {
		cells := strings.Split(row, "\t")
		if len(cells) != 6 {
			t.Errorf("row %d has %d cells, want 6", i, len(cells))
			continue
		}
		k := &keywords[i]
		for _, is := range []bool{true, false} {
			example := cells[4]
			if !is {
				example = cells[5]
			}
			before, after, ok := strings.Cut(strings.ReplaceAll(example, `\n`, "\n"), "{}")
			word := strings.Contains(example, k.word) || !k.exact && strings.Contains(strings.ToLower(example), k.word)
			if !ok || !word {
				t.Errorf("%s: the example %q lacks the word or the place {} of a value", k.word, example)
				continue
			}
			for seed := range uint64(20) {
				v := drawFor(k.kind, source(seed))
				found := Scan(before + v + after)
				if is && !has(found, "", len(before), len(before)+len(v)) || !is && len(found) > 0 {
					t.Errorf("%s: %q with the value of seed %d: got %v, want a finding: %v", k.word, example, seed, rules(found), is)
					break
				}
			}
		}
	}
}
