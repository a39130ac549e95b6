package scribe

import (
	"bytes"
	"flag"
	"fmt"
	"go/ast"
	"go/format"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write testdata/api.txt anew")

// maxExported is the number of exported top-level names, constants included.
const maxExported = 40

// TestAPI pins the exported API: one line for each identifier, method and field.
func TestAPI(t *testing.T) {
	lines, top := exported(t)
	if len(top) > maxExported {
		t.Errorf("%d exported top-level names, the limit is %d: %q", len(top), maxExported, top)
	}
	got := strings.Join(lines, "\n") + "\n"
	const golden = "testdata/api.txt"
	if *update {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff(strings.Split(got, "\n"), strings.Split(string(want), "\n")); diff != "" {
		t.Errorf("the exported API is another than %s; if that is meant, go test -run TestAPI -update (-got +want):\n%s", golden, diff)
	}
}

// exported lists the exported API of the package in this directory, on every
// system, sorted; top holds the top-level names.
func exported(t *testing.T) (lines, top []string) {
	t.Helper()
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	fset := token.NewFileSet()
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, d := range file.Decls {
			switch d := d.(type) {
			case *ast.FuncDecl:
				line, name := funcLine(d)
				if line != "" {
					lines = append(lines, line)
				}
				if name != "" {
					top = append(top, name)
				}
			case *ast.GenDecl:
				ls, names := genLines(d)
				lines, top = append(lines, ls...), append(top, names...)
			}
		}
	}
	slices.Sort(lines)
	slices.Sort(top)
	return slices.Compact(lines), slices.Compact(top)
}

// funcLine gives the line of an exported function or method; top is the name of a
// function.
func funcLine(d *ast.FuncDecl) (line, top string) {
	if !d.Name.IsExported() {
		return "", ""
	}
	sign := strings.TrimPrefix(source(unnamed(d.Type)), "func")
	if d.Recv == nil {
		return "func " + d.Name.Name + sign, d.Name.Name
	}
	recv := source(d.Recv.List[0].Type)
	if !ast.IsExported(strings.TrimLeft(recv, "*")) {
		return "", ""
	}
	return "method (" + recv + ") " + d.Name.Name + sign, ""
}

// unnamed is a signature without the names of its parameters, which callers never
// write.
func unnamed(f *ast.FuncType) *ast.FuncType {
	strip := func(list *ast.FieldList) *ast.FieldList {
		if list == nil {
			return nil
		}
		out := &ast.FieldList{}
		for _, p := range list.List {
			for range max(1, len(p.Names)) {
				out.List = append(out.List, &ast.Field{Type: p.Type})
			}
		}
		return out
	}
	return &ast.FuncType{TypeParams: f.TypeParams, Params: strip(f.Params), Results: strip(f.Results)}
}

func genLines(d *ast.GenDecl) (lines, top []string) {
	kind := "" // the type of a constant that repeats the line above it
	for _, spec := range d.Specs {
		switch s := spec.(type) {
		case *ast.ValueSpec:
			if s.Type != nil {
				kind = " " + source(s.Type)
			} else if len(s.Values) > 0 {
				kind = ""
			}
			for _, n := range s.Names {
				if n.IsExported() {
					lines = append(lines, d.Tok.String()+" "+n.Name+kind)
					top = append(top, n.Name)
				}
			}
		case *ast.TypeSpec:
			if s.Name.IsExported() {
				lines = append(lines, typeLines(s)...)
				top = append(top, s.Name.Name)
			}
		}
	}
	return lines, top
}

func typeLines(s *ast.TypeSpec) (lines []string) {
	if f, ok := s.Type.(*ast.FuncType); ok {
		return []string{"type " + s.Name.Name + " " + source(unnamed(f))}
	}
	st, ok := s.Type.(*ast.StructType)
	if !ok {
		return []string{"type " + s.Name.Name + " " + source(s.Type)}
	}
	lines = []string{"type " + s.Name.Name + " struct"}
	for _, f := range st.Fields.List {
		for _, n := range f.Names {
			if n.IsExported() {
				lines = append(lines, fmt.Sprintf("field %s.%s %s", s.Name.Name, n.Name, source(f.Type)))
			}
		}
		if len(f.Names) == 0 && ast.IsExported(strings.TrimLeft(source(f.Type), "*")) {
			lines = append(lines, fmt.Sprintf("field %s.%s", s.Name.Name, source(f.Type)))
		}
	}
	return lines
}

// source prints a node on one line.
func source(n ast.Node) string {
	var b bytes.Buffer
	if err := format.Node(&b, token.NewFileSet(), n); err != nil {
		return "?"
	}
	return strings.Join(strings.Fields(b.String()), " ")
}
