package scribe

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

const module = "github.com/memoryroom/scribe"

// pureStd is what a package may import that reaches neither the disk, the network,
// a clock nor another process. "time" is for values: no pure package asks the time.
const pureStd = `
	bytes cmp errors fmt hash io iter maps math math/bits slices sort strconv strings sync time unicode unicode/utf16 unicode/utf8
	crypto/hmac crypto/sha256 encoding/base32 encoding/base64 encoding/binary encoding/hex encoding/json hash/crc32 hash/fnv`

// allowed is the import graph as policy: what each package may import. Imports go
// one way: pure packages import nothing of ours but fold, rootfs takes parsed paths,
// and the root wires.
var allowed = map[string]string{
	".": pureStd + ` archive/tar context crypto/rand io/fs net/url path path/filepath
		internal/directive internal/due internal/entry internal/fold internal/gate internal/hidden internal/journal internal/lexical
		internal/memtool internal/relpath internal/rootfs internal/seal internal/secret internal/strictjson weak`,
	"internal/fold":       pureStd + " golang.org/x/text/cases golang.org/x/text/unicode/norm",
	"internal/relpath":    pureStd + " io/fs internal/fold golang.org/x/text/unicode/norm", // io/fs for its sentinel alone
	"internal/hidden":     pureStd + " internal/fold golang.org/x/text/unicode/norm",
	"internal/secret":     pureStd + " internal/fold",
	"internal/directive":  pureStd + " internal/fold",
	"internal/entry":      pureStd + " gopkg.in/yaml.v3",
	"internal/journal":    pureStd,
	"internal/lexical":    pureStd + " hash/maphash sync/atomic internal/fold golang.org/x/text/unicode/norm", // a seed that no result depends on
	"internal/memtool":    pureStd,
	"internal/strictjson": pureStd,
	"internal/due":        pureStd,
	"internal/seal":       pureStd + " crypto/aes crypto/cipher",
	"internal/gate":       pureStd + " golang.org/x/text/unicode/norm",
	"internal/cli":        pureStd + " flag", // of programs: no other row has it, so that no importer compiles it
	"internal/rootfs":     pureStd + " context crypto/rand io/fs math/rand/v2 os path path/filepath syscall unsafe internal/relpath internal/fold",
}

// goFile is one parsed file that is no test.
type goFile struct {
	name string // slash-separated
	pkg  string // its directory
	ast  *ast.File
}

// libraryFiles parses every file of the library for every system. Generators, in
// directories called gen, are programs and no part of it; examples are modules or
// programs of their own; pathcase serves tests.
func libraryFiles(t *testing.T) (files []goFile) {
	t.Helper()
	fset := token.NewFileSet()
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name = filepath.ToSlash(name)
		if d.IsDir() {
			if name != "." && (strings.HasPrefix(d.Name(), ".") || slices.Contains([]string{"gen", "testdata", "examples", "tools", "pathcase"}, d.Name())) {
				return fs.SkipDir
			}
			if _, err := os.Stat(path.Join(name, "go.mod")); err == nil && name != "." {
				return fs.SkipDir // a module of its own
			}
			return nil
		}
		if !strings.HasSuffix(name, ".go") || strings.HasSuffix(name, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(fset, name, nil, parser.ParseComments)
		files = append(files, goFile{name, path.Dir(name), file})
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 20 {
		t.Fatalf("only %d files found", len(files))
	}
	return files
}

func TestImports(t *testing.T) {
	for _, f := range libraryFiles(t) {
		list, ok := allowed[f.pkg]
		if !ok {
			t.Errorf("%s: the package has no row in the table", f.name)
			continue
		}
		may := strings.Fields(list)
		for _, spec := range f.ast.Imports {
			imported, err := strconv.Unquote(spec.Path.Value)
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Contains(may, strings.TrimPrefix(imported, module+"/")) {
				t.Errorf("%s imports %s, which its package may not", f.name, imported)
			}
			if spec.Name != nil && (spec.Name.Name == "_" || spec.Name.Name == ".") {
				t.Errorf("%s imports %s as %s", f.name, imported, spec.Name.Name)
			}
		}
	}
	// The table itself: nothing reaches a network, a process or a log, and only
	// rootfs the disk.
	never := strings.Fields("net net/http os/exec os/signal plugin log log/slog expvar runtime/debug testing")
	disk := strings.Fields("os syscall unsafe io/ioutil golang.org/x/sys/unix golang.org/x/sys/windows")
	for pkg, list := range allowed {
		for _, imported := range strings.Fields(list) {
			if slices.Contains(never, imported) || pkg != "internal/rootfs" && slices.Contains(disk, imported) {
				t.Errorf("the table lets %s import %s", pkg, imported)
			}
		}
	}
}

// TestNoAmbientState: no init, no goroutine that a call leaves behind, no
// environment, and one clock, Options.Now.
func TestNoAmbientState(t *testing.T) {
	clock := []string{"Now", "Since", "Until", "Sleep", "After", "AfterFunc", "Tick", "NewTimer", "NewTicker"}
	for _, f := range libraryFiles(t) {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.FuncDecl:
				if n.Recv == nil && n.Name.Name == "init" {
					t.Errorf("%s has an init function", f.name)
				}
			case *ast.GoStmt:
				t.Errorf("%s starts a goroutine", f.name)
			case *ast.SelectorExpr:
				x, ok := n.X.(*ast.Ident)
				if !ok {
					return true
				}
				switch {
				case x.Name == "os" && regexp.MustCompile(`^(Getenv|LookupEnv|Environ|ExpandEnv|UserHomeDir|UserConfigDir|UserCacheDir|TempDir|Args|Std.*)$`).MatchString(n.Sel.Name):
					t.Errorf("%s uses os.%s", f.name, n.Sel.Name)
				case x.Name == "fmt" && strings.HasPrefix(n.Sel.Name, "Print"):
					t.Errorf("%s prints", f.name)
				case x.Name == "time" && slices.Contains(clock, n.Sel.Name) && f.pkg != "internal/rootfs" && f.name != "options.go":
					t.Errorf("%s uses time.%s", f.name, n.Sel.Name)
				}
			}
			return true
		})
	}
}

// TestModule: the root module's dependencies, and what of them tests alone need.
func TestModule(t *testing.T) {
	data, err := os.ReadFile("go.mod")
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, m := range regexp.MustCompile(`(?m)^(?:require)?\s+([a-z][a-z0-9.-]*\.[a-z]+/\S+|[a-z]+\.[a-z]+/\S+) v`).FindAllStringSubmatch(string(data), -1) {
		got = append(got, m[1])
	}
	slices.Sort(got)
	want := []string{"github.com/google/go-cmp", "golang.org/x/text", "gopkg.in/yaml.v3", "pgregory.net/rapid"}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("go.mod (-got +want):\n%s", diff)
	}
	if m := regexp.MustCompile(`(?m)^(replace|exclude|toolchain)\b.*`).FindString(string(data)); m != "" {
		t.Errorf("go.mod has %q", m)
	}
}
