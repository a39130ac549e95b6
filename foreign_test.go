package scribe

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/memoryroom/scribe/internal/relpath"
	"github.com/memoryroom/scribe/internal/rootfs"
	"github.com/memoryroom/scribe/internal/strictjson"
)

// declaredTool is one entry of testdata/tools.json: a declaration in the shape of
// some host's API, the rule that is written for it, and calls with what becomes of
// them ("": allowed).
type declaredTool struct {
	Comment string
	Tool    json.RawMessage
	Rule    Rule
	Error   string
	Calls   []struct {
		Args          json.RawMessage
		Want, Windows string
		Alias         json.RawMessage
	}
}

// declaration reads the name and schema out of the four shapes.
func declaration(t *testing.T, raw json.RawMessage) Tool {
	t.Helper()
	var d struct {
		Name         string
		Parameters   json.RawMessage
		InputSchema  json.RawMessage
		Input_schema json.RawMessage
		Function     struct {
			Name       string
			Parameters json.RawMessage
		}
		Annotations struct{ DestructiveHint *bool }
	}
	if err := json.Unmarshal(raw, &d); err != nil {
		t.Fatal(err)
	}
	tool := Tool{Name: d.Name + d.Function.Name, Destructive: d.Annotations.DestructiveHint}
	for _, s := range []json.RawMessage{d.Parameters, d.InputSchema, d.Input_schema, d.Function.Parameters} {
		if s != nil {
			tool.Schema = s
		}
	}
	if tool.Name == "" || tool.Schema == nil {
		t.Fatalf("a declaration in no known shape: %s", raw)
	}
	return tool
}

// workspace lays out a directory with a room inside it and another beside it:
//
//	ws/{README.md,src/main.go,src/out,docs/,.agent/memory/topics/a.md,.agent/other/b.md}
//	ws-evil/secret.txt
//	ws/src/out => ws-evil;  ws/src/room => ws/.agent/memory;  ws/src/up => ws
//	ws/src/hid => ws/.agent/other;  ws/src/.doc => ws/docs
//	alias => ws
func workspace(t *testing.T) (ws string, oc outsideCheck) {
	t.Helper()
	top, err := filepath.EvalSymlinks(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	ws = filepath.Join(top, "ws")
	for _, name := range []string{
		"ws/README.md", "ws/my notes.txt", "ws/src/main.go", "ws/src/lib/a.go", "ws/docs/x.md", "ws/app/[id]/page.tsx", "ws/app/[...slug]/page.tsx",
		"ws/.agent/memory/topics/a.md", "ws/.agent/other/b.md", "ws-evil/secret.txt",
	} {
		p := filepath.Join(top, filepath.FromSlash(name))
		if err := errors.Join(os.MkdirAll(filepath.Dir(p), 0o700), os.WriteFile(p, nil, 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	for _, link := range [][2]string{{"ws/src/out", "ws-evil"}, {"ws/src/room", "ws/.agent/memory"}, {"ws/src/up", "ws"}, {"ws/src/hid", "ws/.agent/other"}, {"ws/src/.doc", "ws/docs"}, {"alias", "ws"}} {
		if err := os.Symlink(filepath.Join(top, link[1]), filepath.Join(top, link[0])); err != nil {
			t.Skipf("no symbolic links here: %v", err)
		}
	}
	return ws, outsideCheck{room: filepath.Join(ws, ".agent", "memory"), resolve: rootfs.ResolveOutside}
}

// fill replaces $WS, $ROOM and $URI in every text of v.
func fill(v any, oc outsideCheck, ws string) any {
	uri := "file://" + filepath.ToSlash(ws)
	if runtime.GOOS == "windows" {
		uri = "file:///" + filepath.ToSlash(ws)
	}
	switch v := v.(type) {
	case string:
		return strings.NewReplacer("$WS", ws, "$ROOM", oc.room, "$URI", uri).Replace(v)
	case []any:
		for i := range v {
			v[i] = fill(v[i], oc, ws)
		}
	case map[string]any:
		for k := range v {
			v[k] = fill(v[k], oc, ws)
		}
	}
	return v
}

func findingRule(f *Finding) string {
	if f == nil {
		return ""
	}
	return f.Rule
}

func TestVocabularies(t *testing.T) {
	data, err := os.ReadFile("testdata/tools.json")
	if err != nil {
		t.Fatal(err)
	}
	var entries []declaredTool
	if err := json.Unmarshal(data, &entries); err != nil || len(entries) == 0 {
		t.Fatal(len(entries), err)
	}
	ws, oc := workspace(t)
	for _, e := range entries {
		tool := declaration(t, e.Tool)
		t.Run(tool.Name, func(t *testing.T) {
			for i := range e.Rule.Dirs {
				e.Rule.Dirs[i] = filepath.FromSlash(fill(e.Rule.Dirs[i], oc, ws).(string))
			}
			kept, p, err := Narrow([]Tool{tool}, map[string]Rule{tool.Name: e.Rule}, func(t Tool) Tool { return t })
			if e.Error != "" {
				if !errors.Is(err, ErrNarrow) || !strings.Contains(err.Error(), e.Error) {
					t.Fatalf("Narrow: %v, want ErrNarrow with %q", err, e.Error)
				}
				return
			}
			if err != nil || len(kept) != 1 {
				t.Fatalf("Narrow kept %d, %v", len(kept), err)
			}
			r, _ := p.rule(tool.Name)
			for _, c := range e.Calls {
				args, err := strictjson.Object(c.Args)
				if err != nil {
					t.Fatal(err)
				}
				args = fill(args, oc, ws).(map[string]any)
				want := c.Want
				if c.Windows != "" && runtime.GOOS == "windows" {
					want = c.Windows
				}
				if r.As == "" {
					if got := findingRule(checkRead(r, args, oc, relpath.Sensitive)); got != want {
						t.Errorf("%s: %q, want %q", c.Args, got, want)
					}
					continue
				}
				got, f := aliasCall(r, args)
				if findingRule(f) != want || (got == nil) != (f != nil) {
					t.Errorf("%s: %v, %q, want %q", c.Args, got, findingRule(f), want)
				}
				if want == "" {
					alias, err := strictjson.Object(c.Alias)
					if err != nil || !cmp.Equal(got, alias) {
						t.Errorf("%s: %v\n%s", c.Args, err, cmp.Diff(got, alias))
					}
				}
			}
		})
	}
}

func TestCheckReadPaths(t *testing.T) {
	ws, oc := workspace(t)
	top := filepath.Dir(ws)
	tests := []struct {
		name, path, want string
	}{
		{"file", "README.md", ""},
		{"absolute", ws + "/src/main.go", ""},
		{"missing", "src/none/x.go", ""},
		{"dot", "./src", ""},
		{"doubled slash", "src//main.go", ""},
		{"unicode", "docs/記憶.md", ""},
		{"brackets in a name", "app/[id]/page.tsx", ""},
		{"catch-all in a name", "app/[...slug]/page.tsx", ""},
		{"catch-all, optional", "app/[[...slug]]/page.tsx", ""},
		{"wildcards", "src/**/*.go", ""},
		{"class in a pattern", "docs/[A-Z]*.md", ""},
		{"alternatives", "src/*.{go,mod}", ""},
		{"template", "src/{{name}}/x", ""},
		{"percent", "docs/100%.md", ""},
		{"through a link that stays", "src/up/README.md", ""},

		{"the directory that holds the room", ".", "read.room"},
		{"itself, as an empty name", "", "read.room"},
		{"itself, absolute", ws, "read.room"},
		{"itself, with a slash", ws + "/", "read.room"},
		{"the directory above the room", ".agent", "read.room"},
		{"a link to what holds the room", "src/up", "read.room"},
		{"a link to the room", "src/room", "read.room"},
		{"through a link into the room", "src/room/topics/a.md", "read.room"},
		{"room", oc.room, "read.room"},
		{"in the room", ".agent/memory/topics/a.md", "read.room"},
		{"library", ".agent/memory/.scribe/audit.jsonl", "read.room"},
		{"missing in the room", ".agent/memory/none", "read.room"},
		{"room in another case", ".AGENT/Memory/topics/a.md", "read.room"},
		{"room in wide letters", ".agent/ｍemory/topics/a.md", "read.room"},
		{"room with an ignorable", ".agent/mem\u200bory/topics/a.md", "read.room"},
		{"pattern over the room", "**/*.md", "read.room"},
		{"pattern beside the room", ".agent/*/topics/a.md", "read.room"},
		{"pattern from a link", "src/up/*/a.md", "read.room"},
		{"pattern in the room", ".agent/memory/*.md", "read.room"},

		{"elsewhere", "/etc/passwd", "read.outside"},
		{"above", top, "read.outside"},
		{"root", "/", "read.outside"},
		{"sibling of the same prefix", ws + "-evil/secret.txt", "read.outside"},
		{"link out", "src/out/secret.txt", "read.outside"},
		{"link out, itself", "src/out", "read.outside"},
		{"link out, missing below", "src/out/none/x", "read.outside"},
		{"pattern from a link out", "src/out/*.txt", "read.outside"},
		{"pattern from the root", "/*/passwd", "read.outside"},
		{"another way to the directory", top + "/alias/README.md", "read.outside"},
		{"home", "~", "read.outside"},
		{"home of another", "~root/.bashrc", "read.outside"},
		{"variable", "$HOME/.ssh/id_rsa", "read.outside"},
		{"variable of Windows", "%USERPROFILE%/x", "read.outside"},
		{"wide slash", ws + "／..／x", "read.outside"},

		{"up", "../x", "read.traversal"},
		{"up and back", "src/../README.md", "read.traversal"},
		{"up at the end", "src/..", "read.traversal"},
		{"up with a space", "src/.. /x", "read.traversal"},
		{"three dots", "src/.../x", "read.traversal"},
		{"encoded", "src/%2e%2e/x", "read.traversal"},
		{"encoded slash", "src%2Fmain.go", "read.traversal"},
		{"encoded twice", "%252e%252e/x", "read.traversal"},
		{"encoded twice, further in", "src/%252e%252e/x", "read.traversal"},
		{"braces around a slash", "{src/x,/etc/passwd}", "read.traversal"},
		{"braces that spell dots", "src/{..,x}/y", "read.traversal"},
		{"braces that add up", "src/{.,x}{.,y}/z", "read.traversal"},
		{"classes that spell dots", "src/[.][.]/x", "read.traversal"},
		{"extended glob", "src/@(..|x)/y", "read.traversal"},

		{"hidden", ".env", "read.sensitive"},
		{"hidden below", "src/.ssh/id_rsa", "read.sensitive"},
		{"deny-list", "node_modules/x/index.js", "read.sensitive"},
		{"deny-list in another case", "src/Node_Modules/x", "read.sensitive"},
		{"beside the room, hidden", ".agent/other/b.md", "read.sensitive"},
		{"through a link to a hidden one", "src/hid/b.md", "read.sensitive"},
		{"through a hidden link to a plain one", "src/.doc/x.md", "read.sensitive"},
		{"pattern with hidden alternatives", "src/{.ssh,x}/id", "read.sensitive"},
		{"pattern with a class", "src/[.]ssh/id", "read.sensitive"},
		{"pattern with a class inside", "src/no[d]e_modules/x", "read.sensitive"},
		{"pattern behind a wildcard", "src/*/.ssh/id", "read.sensitive"},

		{"http", "http://example.net/x", "read.scheme"},
		{"without slashes", "mailto:x", "read.scheme"},
		{"ssh", "git+ssh://example.net/x", "read.scheme"},
		{"file without slashes", "file:" + filepath.ToSlash(ws) + "/README.md", "read.scheme"},
		{"file of a host", "file://host" + filepath.ToSlash(ws) + "/README.md", "read.scheme"},
		{"file in capitals", "FILE://LOCALHOST/" + strings.TrimPrefix(filepath.ToSlash(ws), "/") + "/README.md", ""},

		{"option", "--pre=sh", "read.args"},
		{"dash inside", "src/-x", ""},
		{"NUL", "README.md\x00.txt", "read.args"},
		{"newline", "a\nb", "read.args"},
		{"C1 control", "a\u0085b", "read.args"},
		{"too long", strings.Repeat("a/", maxReadPath/2) + "b", "read.args"},
	}
	if runtime.GOOS != "windows" {
		tests = append(tests, []struct{ name, path, want string }{
			{"backslash", `src\main.go`, "read.traversal"},
			{"escaped dots", `src/\.\./x`, "read.traversal"},
			{"drive", "c:/x", "read.scheme"},
		}...)
	}
	r := Rule{Reads: []string{"path"}, Dirs: []string{ws}}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			f := checkRead(r, map[string]any{"path": tt.path}, oc, relpath.Sensitive)
			if got := findingRule(f); got != tt.want {
				t.Errorf("%q: %q, want %q", tt.path, got, tt.want)
			}
			if f == nil {
				return
			}
			if text := f.Message + f.Fix; f.Outcome != Rejected || f.Field != "path" || strings.Contains(text, top) || (len(tt.path) > 4 && strings.Contains(text, tt.path)) {
				t.Errorf("%q: finding %+v", tt.path, f)
			}
		})
	}
}

func TestCheckReadDirs(t *testing.T) {
	ws, oc := workspace(t)
	alias := filepath.Join(filepath.Dir(ws), "alias")
	tests := []struct {
		name string
		r    Rule
		args map[string]any
		want string
	}{
		{"a link as directory, named through it", Rule{Reads: []string{"p"}, Dirs: []string{alias}}, map[string]any{"p": alias + "/README.md"}, ""},
		{"a link as directory, named by its target", Rule{Reads: []string{"p"}, Dirs: []string{alias}}, map[string]any{"p": ws + "/README.md"}, ""},
		{"a link as directory, relative", Rule{Reads: []string{"p"}, Dirs: []string{alias}}, map[string]any{"p": "README.md"}, ""},
		{"a link as directory, the room below", Rule{Reads: []string{"p"}, Dirs: []string{alias}}, map[string]any{"p": ".agent/memory/topics/a.md"}, "read.room"},
		{"a hidden directory that is declared", Rule{Reads: []string{"p"}, Dirs: []string{ws, ws + "/.agent/other"}}, map[string]any{"p": ".agent/other/b.md"}, ""},
		{"declared in another case", Rule{Reads: []string{"p"}, Dirs: []string{ws, ws + "/.Agent/other"}}, map[string]any{"p": ".agent/other/b.md"}, "read.sensitive"},
		{"a directory inside the room", Rule{Reads: []string{"p"}, Dirs: []string{oc.room + "/topics"}}, map[string]any{"p": "a.md"}, "read.room"},
		{"the room as directory", Rule{Reads: []string{"p"}, Dirs: []string{oc.room}}, map[string]any{"p": "topics/a.md"}, "read.room"},
		{"the room outside the directories", Rule{Reads: []string{"p"}, Dirs: []string{ws + "/src"}}, map[string]any{"p": oc.room + "/topics/a.md"}, "read.room"},
		{"a relative name is of the first only", Rule{Reads: []string{"p"}, Dirs: []string{ws + "/src", ws + "/docs"}}, map[string]any{"p": "out/x"}, "read.outside"},
		{"second directory", Rule{Reads: []string{"p"}, Dirs: []string{ws + "/src", ws + "/docs"}}, map[string]any{"p": ws + "/docs/x.md"}, ""},
		{"a directory that is a link out of another", Rule{Reads: []string{"p"}, Dirs: []string{ws + "/src/out"}}, map[string]any{"p": "secret.txt"}, ""},

		{"nothing named, first is clean", Rule{Reads: []string{"p"}, Dirs: []string{ws + "/src", ws}}, nil, ""},
		{"nothing named, first holds the room", Rule{Reads: []string{"p"}, Dirs: []string{ws, ws + "/src"}}, nil, "read.room"},
		{"nothing to name, one holds the room", Rule{Dirs: []string{ws + "/src", ws}}, nil, "read.room"},
		{"nothing to name, all clean", Rule{Dirs: []string{ws + "/src", ws + "/docs"}}, nil, ""},
		{"reads nothing", Rule{Free: []string{"zone"}}, map[string]any{"zone": "UTC"}, ""},
		{"reads nothing, unknown argument", Rule{}, map[string]any{"p": "x"}, "read.args"},

		{"base, a link below it", Rule{Reads: []string{"cwd/p"}, Dirs: []string{ws}}, map[string]any{"cwd": "src", "p": "out/secret.txt"}, "read.outside"},
		{"base alone holds the room", Rule{Reads: []string{"cwd/p"}, Dirs: []string{ws}}, map[string]any{"cwd": "."}, "read.room"},
		{"base is empty", Rule{Reads: []string{"cwd/p"}, Dirs: []string{ws}}, map[string]any{"cwd": "", "p": "README.md"}, ""},
		{"base with an absolute name inside", Rule{Reads: []string{"cwd/p"}, Dirs: []string{ws}}, map[string]any{"cwd": ws, "p": ws + "/README.md"}, ""},
		{"base with an absolute name that joins into the room", Rule{Reads: []string{"cwd/p"}, Dirs: []string{ws, "/memory"}}, map[string]any{"cwd": ws + "/.agent", "p": "/memory/a.md"}, "read.room"},
		{"base climbs", Rule{Reads: []string{"cwd/p"}, Dirs: []string{ws}}, map[string]any{"cwd": "src/..", "p": "x"}, "read.traversal"},
		{"base opens a brace that its name closes", Rule{Reads: []string{"cwd/p"}, Dirs: []string{ws + "/src"}}, map[string]any{"cwd": "{x,", "p": "etc/passwd}"}, "read.traversal"},
		{"base is a pattern", Rule{Reads: []string{"cwd/p"}, Dirs: []string{ws}}, map[string]any{"cwd": "*", "p": "x"}, "read.room"},
		{"base and no names", Rule{Reads: []string{"cwd/p"}, Dirs: []string{ws + "/src", ws}}, map[string]any{"cwd": ws, "p": []any{}}, "read.room"},
		{"base and a URI", Rule{Reads: []string{"cwd/p"}, Dirs: []string{ws}}, map[string]any{"cwd": "src", "p": "file:///etc/passwd"}, "read.outside"},

		{"object hidden in an array", Rule{Free: []string{"f"}}, map[string]any{"f": []any{[]any{map[string]any{"p": 1}}}}, "read.args"},
		{"an alias is no reader", Rule{As: "view", Args: map[string]string{"path": "p"}}, map[string]any{"p": "x"}, "read.outside"},
		{"no directory, though it reads", Rule{Reads: []string{"p"}}, map[string]any{"p": "x"}, "read.outside"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := findingRule(checkRead(tt.r, tt.args, oc, relpath.Sensitive)); got != tt.want {
				t.Errorf("%q, want %q", got, tt.want)
			}
		})
	}
}

func TestCheckReadFailsClosed(t *testing.T) {
	ws, oc := workspace(t)
	r := Rule{Reads: []string{"p"}, Dirs: []string{ws}}
	args := map[string]any{"p": "README.md"}
	if f := checkRead(r, args, oc, relpath.Sensitive); f != nil {
		t.Fatal("test is wrong:", f)
	}
	broken := errors.New("broken")
	tests := []struct {
		name string
		oc   outsideCheck
		sens func(string) (string, bool)
	}{
		{"no room", outsideCheck{resolve: oc.resolve}, relpath.Sensitive},
		{"relative room", outsideCheck{room: "room", resolve: oc.resolve}, relpath.Sensitive},
		{"no resolver", outsideCheck{room: oc.room}, relpath.Sensitive},
		{"no deny-list", oc, nil},
		{"resolver fails", outsideCheck{room: oc.room, resolve: func(string) (string, error) { return ws, broken }}, relpath.Sensitive},
		{"resolver fails for the path", outsideCheck{room: oc.room, resolve: func(p string) (string, error) {
			if p != ws {
				return p, broken
			}
			return p, nil
		}}, relpath.Sensitive},
		{"resolver gives a relative path", outsideCheck{room: oc.room, resolve: func(string) (string, error) { return "README.md", nil }}, relpath.Sensitive},
	}
	for _, tt := range tests {
		if got, want := findingRule(checkRead(r, args, tt.oc, tt.sens)), "read.outside"; got != want {
			t.Errorf("%s: %q, want %q", tt.name, got, want)
		}
	}
	many := make([]any, maxReadPaths+1)
	for i := range many {
		many[i] = "README.md"
	}
	if got, want := findingRule(checkRead(r, map[string]any{"p": many}, oc, relpath.Sensitive)), "read.args"; got != want {
		t.Errorf("%d paths: %q, want %q", len(many), got, want)
	}
	if f := checkRead(r, map[string]any{"p": many[1:]}, oc, relpath.Sensitive); f != nil {
		t.Errorf("%d paths: %+v", len(many)-1, f)
	}
}

// TestCheckReadAsksTheDiskOnlyInside: a refused path outside Dirs is not looked up,
// so that an answer says nothing about what exists there.
func TestCheckReadAsksTheDiskOnlyInside(t *testing.T) {
	ws, oc := workspace(t)
	var asked []string
	oc.resolve = func(p string) (string, error) { asked = append(asked, p); return p, nil }
	r := Rule{Reads: []string{"p"}, Dirs: []string{ws}}
	for _, p := range []string{"/etc/passwd", "//host/share/x", "/*/x", ws + "-evil/x"} {
		asked = nil
		if f := checkRead(r, map[string]any{"p": p}, oc, relpath.Sensitive); f == nil || !cmp.Equal(asked, []string{ws}) {
			t.Errorf("%q: %+v, asked for %q", p, f, asked)
		}
	}
}

// TestCheckReadProperty compares with a naive reading of the rules, on a disk
// without links: what is allowed is one clean path inside, without hidden names,
// neither in the room nor above it.
func TestCheckReadProperty(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("the naive reading knows one separator and no drives")
	}
	root, err := filepath.Abs(string(filepath.Separator) + "w")
	if err != nil {
		t.Fatal(err)
	}
	room := filepath.Join(root, "a", "room")
	oc := outsideCheck{room: room, resolve: func(p string) (string, error) { return p, nil }}
	r := Rule{Reads: []string{"base/name", "p"}, Dirs: []string{root}}
	part := rapid.SampledFrom([]string{
		"a", "b", "room", "ROOM", "w", "..", ".", "...", "/", "/", "/", "/w", "/w/a", "*", "**", "[.]", "{", "}", ",", "?", "\\",
		"~", "$X", "%2e", "%2f", "file://", "http://", ":", " ", "\x00", ".git", ".scribe", "x.md", "room2", "\u200b",
	})
	path := rapid.Custom(func(t *rapid.T) string { return strings.Join(rapid.SliceOfN(part, 0, 8).Draw(t, "parts"), "") })
	rapid.Check(t, func(t *rapid.T) {
		args := map[string]any{}
		for _, name := range []string{"base", "name", "p"} {
			if rapid.Bool().Draw(t, name+" present") {
				args[name] = path.Draw(t, name)
			}
		}
		if f := checkRead(r, args, oc, relpath.Sensitive); f != nil {
			if !strings.HasPrefix(f.Rule, "read.") || f.Message == "" || f.Fix == "" {
				t.Fatalf("finding %+v", f)
			}
			return
		}
		base, hasBase := args["base"].(string)
		name, hasName := args["name"].(string)
		p, hasP := args["p"].(string)
		if !hasBase && !hasName && !hasP {
			t.Fatal("allowed what reads the directory that holds the room")
		}
		if hasName || hasBase {
			naive(t, root, room, base, name)
		}
		if hasP {
			naive(t, root, room, "", p)
		}
	})
}

func naive(t *rapid.T, root, room, base, name string) {
	for _, s := range []*string{&base, &name} {
		if rest, ok := strings.CutPrefix(*s, "file://"); ok {
			*s = rest
		}
	}
	if strings.Contains(base+name, "..") && !strings.Contains(base+name, "...") && strings.Contains("/"+base+"/"+name+"/", "/../") {
		t.Fatalf("%q and %q climb", base, name)
	}
	full := filepath.Join(base, name)
	if filepath.IsAbs(name) {
		full = name
	}
	if i := strings.IndexAny(full, "*?[{"); i >= 0 {
		full = full[:strings.LastIndex(full[:i], "/")+1]
	}
	if !filepath.IsAbs(full) {
		full = filepath.Join(root, full)
	}
	full = strings.ToLower(filepath.Clean(full))
	full = strings.ReplaceAll(full, "\u200b", "")
	if full != root && !strings.HasPrefix(full, root+"/") {
		t.Fatalf("%q and %q lead to %q, outside", base, name, full)
	}
	if full == room || strings.HasPrefix(full, room+"/") || strings.HasPrefix(room, full+"/") || room == full {
		t.Fatalf("%q and %q lead to %q, the room or above", base, name, full)
	}
	if strings.Contains(full, "/.") {
		t.Fatalf("%q and %q lead to %q, hidden", base, name, full)
	}
}
