package memtool

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func args(t *testing.T, src string) map[string]any {
	t.Helper()
	dec := json.NewDecoder(strings.NewReader(src))
	dec.UseNumber()
	var m map[string]any
	if err := dec.Decode(&m); err != nil {
		t.Fatal(err)
	}
	return m
}

func kindOf(err error) Kind {
	var e *Error
	var a *ArgError
	switch {
	case err == nil:
		return ""
	case errors.As(err, &e):
		return e.Kind
	case errors.As(err, &a):
		return a.Kind()
	}
	return "?"
}

func TestParse(t *testing.T) {
	for _, tt := range []struct {
		src  string
		want Command
	}{
		{`{"command":"view","path":"/memories"}`, Command{Name: CmdView, Path: "/memories"}},
		{`{"command":"view","path":"/memories/q.md","view_range":[4,-1]}`, Command{Name: CmdView, Path: "/memories/q.md", Range: &[2]int{4, -1}}},
		{`{"command":"view","path":"p","view_range":null}`, Command{Name: CmdView, Path: "p"}},
		{`{"command":"create","path":"p","file_text":""}`, Command{Name: CmdCreate, Path: "p"}},
		{`{"command":"create","path":"p","file_text":"a\n"}`, Command{Name: CmdCreate, Path: "p", Text: "a\n"}},
		{`{"command":"str_replace","path":"p","old_str":"o","new_str":"n"}`, Command{Name: CmdStrReplace, Path: "p", Old: "o", New: "n"}},
		{`{"command":"str_replace","path":"p","old_str":"o"}`, Command{Name: CmdStrReplace, Path: "p", Old: "o"}},
		{`{"command":"insert","path":"p","insert_line":3,"insert_text":"t"}`, Command{Name: CmdInsert, Path: "p", Line: 3, Text: "t"}},
		{`{"command":"insert","path":"p","insert_line":3.0,"insert_text":"t"}`, Command{Name: CmdInsert, Path: "p", Line: 3, Text: "t"}},
		{`{"command":"insert","path":"p","insert_line":-1,"insert_text":"t"}`, Command{Name: CmdInsert, Path: "p", Line: -1, Text: "t"}},
		{`{"command":"delete","path":"p"}`, Command{Name: CmdDelete, Path: "p"}},
		{`{"command":"rename","old_path":"a","new_path":"b"}`, Command{Name: CmdRename, Path: "a", To: "b"}},
	} {
		got, err := Parse(args(t, tt.src))
		if err != nil {
			t.Errorf("%s: %v", tt.src, err)
			continue
		}
		if d := cmp.Diff(got, tt.want); d != "" {
			t.Errorf("%s: %s", tt.src, d)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for _, tt := range []struct{ src, arg, says string }{
		{`{}`, "command", "one of view, create"},
		{`{"command":7}`, "command", "one of view, create"},
		{`{"command":"View","path":"p"}`, "command", "one of view, create"},
		{`{"command":"overwrite","path":"p"}`, "command", "one of view, create"},
		{`{"command":"view"}`, "path", "`path` is missing. `view` takes `path` (string), `view_range` (array of two integers, optional) and nothing else."},
		{`{"command":"view","path":null}`, "path", "must be a string"},
		{`{"command":"view","path":{"a":1}}`, "path", "must be a string"},
		{`{"command":"view","path":"p","recursive":true}`, "", "unknown argument"},
		{`{"command":"view","path":"p","view_range":[1]}`, "view_range", "must be an array of two integers"},
		{`{"command":"view","path":"p","view_range":[1,2,3]}`, "view_range", "array of two"},
		{`{"command":"view","path":"p","view_range":["1","2"]}`, "view_range", "array of two"},
		{`{"command":"view","path":"p","view_range":[1,2.5]}`, "view_range", "array of two"},
		{`{"command":"view","path":"p","view_range":"1-2"}`, "view_range", "array of two"},
		{`{"command":"create","path":"p"}`, "file_text", "is missing"},
		{`{"command":"create","path":"p","file_text":null}`, "file_text", "must be a string"},
		{`{"command":"create","path":"p","content":"x"}`, "file_text", "is missing"},
		{`{"command":"create","path":"p","file_text":"x","Path":"q"}`, "", "unknown argument"},
		{`{"command":"str_replace","path":"p","new_str":"n"}`, "old_str", "is missing"},
		{`{"command":"str_replace","path":"p","old_str":"","new_str":"n"}`, "old_str", "must not be empty"},
		{`{"command":"str_replace","path":"p","old_str":"o","new_str":null}`, "new_str", "must be a string"},
		{`{"command":"insert","path":"p","insert_line":"2","insert_text":"t"}`, "insert_line", "must be an integer"},
		{`{"command":"insert","path":"p","insert_line":1.5,"insert_text":"t"}`, "insert_line", "must be an integer"},
		{`{"command":"insert","path":"p","insert_line":99999999999999999999,"insert_text":"t"}`, "insert_line", "must be an integer"},
		{`{"command":"insert","path":"p","insert_line":1e999,"insert_text":"t"}`, "insert_line", "must be an integer"},
		{`{"command":"insert","path":"p","insert_line":true,"insert_text":"t"}`, "insert_line", "must be an integer"},
		{`{"command":"insert","path":"p","insert_text":"t"}`, "insert_line", "is missing"},
		{`{"command":"insert","path":"p","insert_line":1,"new_str":"t"}`, "insert_text", "is missing"},
		{`{"command":"delete","path":"p","force":true}`, "", "unknown argument"},
		{`{"command":"rename","path":"a","new_path":"b"}`, "old_path", "is missing"},
		{`{"command":"rename","old_path":"a","new_path":"b","path":"a"}`, "", "unknown argument"},
	} {
		_, err := Parse(args(t, tt.src))
		var a *ArgError
		if !errors.As(err, &a) {
			t.Errorf("%s: got %v, want an ArgError", tt.src, err)
			continue
		}
		if a.Arg != tt.arg || !strings.Contains(a.Text, tt.says) || !strings.HasPrefix(a.Text, "Error: ") {
			t.Errorf("%s: got %q %q, want %q %q", tt.src, a.Arg, a.Text, tt.arg, tt.says)
		}
	}
	if _, err := Parse(nil); kindOf(err) != BadArgs {
		t.Errorf("nil arguments: %v", err)
	}
}

func TestRel(t *testing.T) {
	for _, tt := range []struct {
		path, rel string
		root      bool
	}{
		{"/memories", "", true},
		{"/memories/", "", true},
		{"/memories/.", "", true},
		{"/memories/x.md", "x.md", false},
		{"/memories/topics/x.md", "topics/x.md", false},
		{"/memories/topics/", "topics/", false},
		{"/memories/memories/x.md", "memories/x.md", false},
		// Not cleaned: what is odd about these is the path rules' business.
		{"/memories//", "/", false},
		{"/memories//x.md", "/x.md", false},
		{"/memories/./x.md", "./x.md", false},
		{"/memories/...", "...", false},
		{"/memories/a..b.md", "a..b.md", false},
		{"/memories/%zz.md", "%zz.md", false},
	} {
		rel, root, err := Rel(tt.path)
		if rel != tt.rel || root != tt.root || err != nil {
			t.Errorf("%q: got %q %v %v, want %q %v", tt.path, rel, root, err, tt.rel, tt.root)
		}
	}
}

func TestRelRefuses(t *testing.T) {
	const start, escape = "Path must start with /memories, got: ", "Path %s would escape /memories directory"
	esc := func(p string) string { return strings.Replace(escape, "%s", p, 1) }
	for _, tt := range []struct{ path, want string }{
		{"", start + `""`},
		{"/", start + "/"},
		{"memories/x.md", start + "memories/x.md"},
		{"/Memories/x.md", start + "/Memories/x.md"},
		{"/memories_backup/x.md", start + "/memories_backup/x.md"},
		{"/memoriesnotes.md", start + "/memoriesnotes.md"},
		{"/memories.md", start + "/memories.md"},
		{`/memories\x.md`, start + `"/memories\\x.md"`},
		{" /memories/x.md", start + " /memories/x.md"},
		{"/home/u/memories/x.md", start + "/home/u/memories/x.md"},
		{"/a\x1b[31m\n/b", start + `"/a\x1b[31m\n/b"`},
		{"/\u202egpj", start + `"/\u202egpj"`},
		{"/\xff", start + `"/\xff"`},
		{"/" + strings.Repeat("y", 200), start + `"/` + strings.Repeat("y", 127) + `"...`},
		{"/memories/..", esc("/memories/..")},
		{"/memories/../x.md", esc("/memories/../x.md")},
		{"/memories/b/../x.md", esc("/memories/b/../x.md")},
		{`/memories/b\..\x.md`, esc(`"/memories/b\\..\\x.md"`)},
		{`/memories\..\x.md`, esc(`"/memories\\..\\x.md"`)},
		{"/memories/%2E%2e/x.md", esc("/memories/%2E%2e/x.md")},
		{"/memories/%2e./x.md", esc("/memories/%2e./x.md")},
		{"/memories/..%2Fx.md", esc("/memories/..%2Fx.md")},
		{"/memories/..%5cx.md", esc("/memories/..%5cx.md")},
		{"/memories/%252e%252e%252fx.md", esc("/memories/%252e%252e%252fx.md")},
	} {
		_, root, err := Rel(tt.path)
		if err == nil || err.Error() != tt.want || kindOf(err) != Outside || root {
			t.Errorf("%q: got %v %v, want %s", tt.path, root, err, tt.want)
		}
	}
}

func TestTexts(t *testing.T) {
	for _, tt := range []struct{ got, want string }{
		{NotFound(CmdView, "/memories/n.md"), "The path /memories/n.md does not exist. Please provide a valid path."},
		{NotFound(CmdStrReplace, "/memories/n.md"), "Error: The path /memories/n.md does not exist. Please provide a valid path."},
		{NotFound(CmdInsert, "/memories/n.md"), "Error: The path /memories/n.md does not exist"},
		{NotFound(CmdDelete, "/memories/n.md"), "Error: The path /memories/n.md does not exist"},
		{NotFound(CmdRename, "/memories/n.md"), "Error: The path /memories/n.md does not exist"},
		{Created("/memories/n.md"), "File created successfully at: /memories/n.md"},
		{Exists("/memories/n.md"), "Error: File /memories/n.md already exists"},
		{Inserted("/memories/n.md"), "The file /memories/n.md has been edited."},
		{Deleted("/memories/n.md"), "Successfully deleted /memories/n.md"},
		{Renamed("/memories/n.md", "/memories/m.md"), "Successfully renamed /memories/n.md to /memories/m.md"},
		{DestinationExists("/memories/m.md"), "Error: The destination /memories/m.md already exists"},
		{TooManyLines("/memories/n.md"), "File /memories/n.md exceeds maximum line limit of 999,999 lines."},
		{CannotDeleteRoot, "Cannot delete the /memories directory itself"},
		{CannotRenameRoot, "Cannot rename the /memories directory itself"},
		{Bare(Exists("/memories/n.md")), "File /memories/n.md already exists"},
		{Bare(NotFound(CmdView, "p")), NotFound(CmdView, "p")},
		{IsDirectory(CmdDelete, "/memories/d"), "Error: /memories/d is a directory. `delete` takes one file; name the files one by one."},
	} {
		if tt.got != tt.want {
			t.Errorf("got %q, want %q", tt.got, tt.want)
		}
	}
}

func TestSchema(t *testing.T) {
	var s struct {
		Type       string `json:"type"`
		Properties map[string]struct {
			Type string   `json:"type"`
			Enum []string `json:"enum"`
		} `json:"properties"`
		AdditionalProperties *bool `json:"additionalProperties"`
	}
	if err := json.Unmarshal(Schema(), &s); err != nil {
		t.Fatal(err)
	}
	if s.Type != "object" || s.AdditionalProperties == nil || *s.AdditionalProperties {
		t.Errorf("not a closed object: %+v", s)
	}
	types := map[byte]string{'s': "string", 'i': "integer", 'r': "array"}
	want := map[string]string{"command": "string"}
	for _, c := range s.Properties["command"].Enum {
		for _, a := range signature(c) {
			want[a.name] = types[a.kind]
		}
	}
	got := map[string]string{}
	for name, p := range s.Properties {
		got[name] = p.Type
	}
	if d := cmp.Diff(got, want); d != "" {
		t.Errorf("schema and signatures differ: %s", d)
	}
	if d := cmp.Diff(s.Properties["command"].Enum, []string{CmdView, CmdCreate, CmdStrReplace, CmdInsert, CmdDelete, CmdRename}); d != "" {
		t.Error(d)
	}
}
