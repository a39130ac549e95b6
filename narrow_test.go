package scribe

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func same(t Tool) Tool { return t }

func tool(name string, props ...string) Tool {
	m := map[string]any{}
	for _, p := range props {
		m[p] = map[string]any{"type": "string"}
	}
	schema, err := json.Marshal(map[string]any{"type": "object", "properties": m})
	if err != nil {
		panic(err)
	}
	return Tool{Name: name, Schema: schema}
}

// with gives a copy of t that f changed.
func with(t Tool, f func(*Tool)) Tool { f(&t); return t }

func names(tools []Tool) (out []string) {
	for _, t := range tools {
		out = append(out, t.Name)
	}
	return out
}

// removedRules gives "name: rule" of each removed tool.
func removedRules(p Policy) (out []string) {
	for _, f := range p.Removed() {
		out = append(out, f.Field+": "+f.Rule)
	}
	return out
}

func TestNarrowKeepsWhatRulesName(t *testing.T) {
	dir := t.TempDir()
	tools := []Tool{
		tool("read_file", "path"), tool("bash", "command"), tool("write_file", "path", "content"), tool("unknown"),
		tool("grep", "pattern", "path"),
	}
	rules := map[string]Rule{
		"grep":       {Reads: []string{"path"}, Free: []string{"pattern"}, Dirs: []string{dir}, Gives: ExternalTool},
		"read_file":  {Reads: []string{"path"}, Dirs: []string{dir}, Gives: UserObserved},
		"write_file": {As: "create", Args: map[string]string{"path": "path", "file_text": "content"}},
	}
	kept, p, err := Narrow(tools, rules, same)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := names(kept), []string{"read_file", "write_file", "grep"}; !cmp.Equal(got, want) {
		t.Errorf("kept %q, want %q", got, want)
	}
	if got, want := removedRules(p), []string{"bash: narrow.shell", "unknown: narrow.no-rule"}; !cmp.Equal(got, want) {
		t.Errorf("removed %q, want %q", got, want)
	}
	for _, tl := range tools {
		got, ok := p.rule(tl.Name)
		if want, named := rules[tl.Name]; ok != named || !cmp.Equal(got, want) {
			t.Errorf("rule(%q) = %+v, %v; want %+v, %v", tl.Name, got, ok, want, named)
		}
	}
	for _, other := range []string{"", "Read_File", "read_file ", "memory"} {
		if _, ok := p.rule(other); ok {
			t.Errorf("rule(%q) exists", other)
		}
	}
}

func TestNarrowWithoutRules(t *testing.T) {
	tools := []Tool{tool("read_file", "path"), tool("bash", "command"), {}}
	for _, rules := range []map[string]Rule{nil, {}} {
		kept, p, err := Narrow(tools, rules, same)
		if kept != nil || err != nil || len(p.Removed()) != 3 {
			t.Errorf("kept %v, removed %v, %v", kept, p.Removed(), err)
		}
		if _, ok := p.rule("read_file"); ok {
			t.Error("a policy without rules allows a foreign tool")
		}
	}
	kept, p, err := Narrow(nil, nil, same)
	if kept != nil || p.Removed() != nil || err != nil {
		t.Errorf("of nothing: %v, %v, %v", kept, p.Removed(), err)
	}
	if _, ok := (Policy{}).rule("read_file"); ok {
		t.Error("the zero Policy allows a foreign tool")
	}
}

func TestNarrowReasons(t *testing.T) {
	tests := []struct {
		want  string
		tools []Tool
	}{
		{"narrow.reserved-name", []Tool{tool("memory"), tool("Recall"), tool("MEMORY"), tool("mem\u200bory")}},
		{"narrow.shell", []Tool{
			tool("bash"), tool("Bash"), tool("run_code"), tool("run-code"), tool("runCode"), tool("apply_patch"), tool("shell"),
			tool("local_shell"), tool("exec_command"), tool("write_stdin"), tool("code_execution"), tool("python"), tool("BashOutput"),
		}},
		{"narrow.delegation", []Tool{
			tool("task"), tool("Task"), tool("transfer_to_agent"), tool("transferToAgent"), tool("spawn_agent"), tool("handoff_to_billing"),
			tool("tool-subagent-x"), tool("delegate_task"), tool("agent_tool"),
		}},
		{"narrow.network", []Tool{tool("web_fetch"), tool("WebFetch"), tool("web_search"), tool("tool-web"), tool("browser_navigate"), tool("http_request"), tool("fetch")}},
		{"narrow.upload", []Tool{tool("present"), tool("present_files"), tool("upload_file"), tool("attach_file")}},
		{"narrow.tool-server", []Tool{
			tool("mcp__files__read"), tool("mcp.files.read"), with(tool("read"), func(t *Tool) { t.Server = "files" }),
			with(tool("list"), func(t *Tool) { t.Server, t.Unguarded, t.OpenWorld = "files", true, new(true) }),
		}},
		{"narrow.unguarded", []Tool{with(tool("read"), func(t *Tool) { t.Unguarded = true })}},
		{"narrow.open-world", []Tool{with(tool("read"), func(t *Tool) { t.OpenWorld = new(true) })}},
		{"narrow.destructive", []Tool{with(tool("read"), func(t *Tool) { t.Destructive = new(true) })}},
		{"narrow.no-rule", []Tool{
			tool("read"), tool(""), tool("mcp"), tool("mcpherson"), tool("search_code"), tool("tasks_list"), tool("write_file"),
			with(tool("calm"), func(t *Tool) { t.OpenWorld, t.Destructive = new(false), new(false) }),
		}},
	}
	for _, tt := range tests {
		_, p, err := Narrow(tt.tools, nil, same)
		if err != nil {
			t.Fatal(err)
		}
		for i, f := range p.Removed() {
			if f.Rule != tt.want || f.Field != tt.tools[i].Name || f.Outcome != Rejected || f.Message == "" {
				t.Errorf("%q: %+v, want %s", tt.tools[i].Name, f, tt.want)
			}
		}
	}
	_, p, err := Narrow([]Tool{tool("read"), tool("read"), tool("READ")}, nil, same)
	if got, want := removedRules(p), []string{"read: narrow.no-rule", "read: narrow.duplicate", "READ: narrow.duplicate"}; err != nil || !cmp.Equal(got, want) {
		t.Errorf("%q, %v, want %q", got, err, want)
	}
}

func TestNarrowErrors(t *testing.T) {
	dir := t.TempDir()
	reader := Rule{Reads: []string{"path"}, Dirs: []string{dir}}
	read := tool("read_file", "path")
	schema := func(s string) []Tool { return []Tool{{Name: "read_file", Schema: json.RawMessage(s)}} }
	one := func(r Rule) map[string]Rule { return map[string]Rule{"read_file": r} }
	alias := func(as string, args map[string]string) Rule { return Rule{As: as, Args: args} }
	tests := []struct {
		name  string
		tools []Tool
		rules map[string]Rule
		want  string // in the text
	}{
		{"no such tool", []Tool{tool("other")}, one(reader), "no such tool"},
		{"no tools", nil, one(reader), "no such tool"},
		{"another case", []Tool{tool("Read_File", "path")}, one(reader), "no such tool"},
		{"empty name", []Tool{tool("", "path")}, map[string]Rule{"": reader}, "needs the name"},
		{"two of a name", []Tool{read, read}, one(reader), "two tools have this name"},
		{"two after folding", []Tool{read, tool("READ_FILE")}, one(reader), "two tools have this name"},
		{"two after folding, the other first", []Tool{tool("ｒead_file"), read}, one(reader), "two tools have this name"},
		{"the second of a tool server", []Tool{read, with(read, func(t *Tool) { t.Server = "x" })}, one(reader), "two tools have this name"},
		{"tool server", []Tool{with(read, func(t *Tool) { t.Server = "x" })}, one(reader), "comes from a tool server"},
		{"unguarded", []Tool{with(read, func(t *Tool) { t.Unguarded = true })}, one(reader), "without the guard's check"},
		{"open world", []Tool{with(read, func(t *Tool) { t.OpenWorld = new(true) })}, one(reader), "open world"},
		{"destructive reader", []Tool{with(read, func(t *Tool) { t.Destructive = new(true) })}, one(reader), "destructive"},
		{"open world alias", []Tool{with(read, func(t *Tool) { t.OpenWorld = new(true) })}, one(alias("view", map[string]string{"path": "path"})), "open world"},
		{"unguarded alias", []Tool{with(read, func(t *Tool) { t.Unguarded = true })}, one(alias("view", map[string]string{"path": "path"})), "without the guard's check"},
		{"ours", []Tool{tool("memory", "path")}, map[string]Rule{"memory": reader}, "one of ours"},
		{"ours, without its tool", nil, map[string]Rule{"recall": {}}, "one of ours"},
		{"shell", []Tool{tool("bash", "path")}, map[string]Rule{"bash": reader}, "no rule can constrain"},
		{"delegation", []Tool{tool("transfer_to_agent")}, map[string]Rule{"transfer_to_agent": {}}, "no rule can constrain"},
		{"task as an alias", []Tool{tool("task", "path")}, map[string]Rule{"task": alias("view", map[string]string{"path": "path"})}, "no rule can constrain"},
		{"writer as a reader", []Tool{tool("write_file", "path")}, map[string]Rule{"write_file": reader}, "only an alias"},

		{"property that no rule names", []Tool{tool("read_file", "path", "mode")}, one(reader), `no rule names the property "mode"`},
		{"name that is no property", []Tool{tool("read_file")}, one(reader), `the rule names "path", which`},
		{"free name that is no property", []Tool{read}, one(Rule{Reads: []string{"path"}, Free: []string{"mode"}, Dirs: []string{dir}}), `the rule names "mode", which`},
		{"base that is no property", []Tool{read}, one(Rule{Reads: []string{"cwd/path"}, Dirs: []string{dir}}), `the rule names "cwd", which`},
		{"name in another case", []Tool{read}, one(Rule{Reads: []string{"Path"}, Dirs: []string{dir}}), `no rule names the property "path"`},
		{"alias property that no rule names", []Tool{tool("read_file", "path", "encoding")}, one(alias("view", map[string]string{"path": "path"})), `no rule names the property "encoding"`},

		{"no schema", []Tool{{Name: "read_file"}}, one(reader), "has no schema"},
		{"schema null", schema(`null`), one(reader), "cannot be read"},
		{"schema true", schema(`true`), one(reader), "cannot be read"},
		{"schema cut", schema(`{"type":"object"`), one(reader), "cannot be read"},
		{"schema with equal keys", schema(`{"type":"object","properties":{"path":{},"path":{}}}`), one(reader), "key occurs twice"},
		{"schema with folded keys", schema(`{"type":"object","properties":{"path":{},"PATH":{}}}`), one(reader), "differs from another one only"},
		{"no type", schema(`{"properties":{"path":{}}}`), one(reader), "not of type"},
		{"array", schema(`{"type":"array","properties":{"path":{}}}`), one(reader), "not of type"},
		{"object or null", schema(`{"type":["object","null"],"properties":{"path":{}}}`), one(reader), "not of type"},
		{"additional properties", schema(`{"type":"object","properties":{"path":{}},"additionalProperties":true}`), one(reader), `"additionalProperties"`},
		{"additional properties with a schema", schema(`{"type":"object","properties":{"path":{}},"additionalProperties":{"type":"string"}}`), one(reader), `"additionalProperties"`},
		{"pattern properties", schema(`{"type":"object","properties":{"path":{}},"patternProperties":{"^x":{}}}`), one(reader), `"patternProperties"`},
		{"reference", schema(`{"type":"object","$ref":"#/$defs/x","$defs":{"x":{}}}`), one(reader), `"$ref"`},
		{"oneOf", schema(`{"type":"object","properties":{"path":{}},"oneOf":[]}`), one(reader), `"oneOf"`},
		{"allOf", schema(`{"type":"object","properties":{"path":{}},"allOf":[]}`), one(reader), `"allOf"`},
		{"dependent schemas", schema(`{"type":"object","properties":{"path":{}},"dependentSchemas":{}}`), one(reader), `"dependentSchemas"`},
		{"unknown keyword", schema(`{"type":"object","properties":{"path":{}},"more":{}}`), one(reader), `"more"`},
		{"properties are a list", schema(`{"type":"object","properties":["path"]}`), one(reader), "not an object"},
		{"property without a schema", schema(`{"type":"object","properties":{"path":true}}`), one(reader), "no schema"},
		{"property of objects", schema(`{"type":"object","properties":{"path":{"type":["array","object"]}}}`), one(reader), "holds objects"},
		{"property of objects in an array", schema(`{"type":"object","properties":{"path":{"type":"array","items":{"anyOf":[{"type":"string"},{"properties":{}}]}}}}`), one(reader), "holds objects"},
		{"path that is a number", schema(`{"type":"object","properties":{"path":{"type":"integer"}}}`), one(reader), "cannot hold a path"},
		{"path as free", []Tool{read}, one(Rule{Free: []string{"path"}}), "belongs in Reads"},
		{"glob's pattern as free", []Tool{tool("glob_search", "pattern")}, map[string]Rule{"glob_search": {Free: []string{"pattern"}}}, "belongs in Reads"},
		{"command as free", []Tool{tool("helper", "cmd")}, map[string]Rule{"helper": {Free: []string{"cmd"}}}, "carries a command"},
		{"address as free", []Tool{tool("helper", "url")}, map[string]Rule{"helper": {Free: []string{"url"}}}, "carries a command"},

		{"unknown trust", []Tool{read}, one(Rule{Reads: []string{"path"}, Dirs: []string{dir}, Gives: Operator + 1}), "Gives"},
		{"Reads without Dirs", []Tool{read}, one(Rule{Reads: []string{"path"}}), "Reads needs Dirs"},
		{"relative directory", []Tool{read}, one(Rule{Reads: []string{"path"}, Dirs: []string{"src"}}), "not absolute"},
		{"empty directory", []Tool{read}, one(Rule{Reads: []string{"path"}, Dirs: []string{""}}), "not absolute"},
		{"second directory is relative", []Tool{read}, one(Rule{Reads: []string{"path"}, Dirs: []string{dir, "."}}), "not absolute"},
		{"root of the file system", []Tool{read}, one(Rule{Reads: []string{"path"}, Dirs: []string{filepath.VolumeName(dir) + string(filepath.Separator)}}), "no limit"},
		{"Args of a reader", []Tool{read}, one(Rule{Reads: []string{"path"}, Dirs: []string{dir}, Args: map[string]string{"path": "path"}}), "Args is for an alias"},
		{"empty name in Reads", []Tool{read}, one(Rule{Reads: []string{""}, Dirs: []string{dir}}), "neither an argument"},
		{"empty base", []Tool{read}, one(Rule{Reads: []string{"/path"}, Dirs: []string{dir}}), "neither an argument"},
		{"base without a name", []Tool{read}, one(Rule{Reads: []string{"path/"}, Dirs: []string{dir}}), "neither an argument"},
		{"three parts", []Tool{read}, one(Rule{Reads: []string{"a/b/path"}, Dirs: []string{dir}}), "neither an argument"},
		{"its own base", []Tool{read}, one(Rule{Reads: []string{"path/path"}, Dirs: []string{dir}}), "another part"},
		{"read twice", []Tool{read}, one(Rule{Reads: []string{"path", "path"}, Dirs: []string{dir}}), "twice"},
		{"free twice", []Tool{tool("read_file", "x")}, one(Rule{Free: []string{"x", "x"}}), "twice"},
		{"read and free", []Tool{read}, one(Rule{Reads: []string{"path"}, Free: []string{"path"}, Dirs: []string{dir}}), "another part"},
		{"base that is free", []Tool{read}, one(Rule{Reads: []string{"cwd/path"}, Free: []string{"cwd"}, Dirs: []string{dir}}), "another part"},
		{"base apart from its name", []Tool{tool("read_file", "cwd", "path")}, one(Rule{Reads: []string{"cwd", "path"}, Dirs: []string{dir}}), `write "cwd/name"`},

		{"unknown command", []Tool{read}, one(alias("write", map[string]string{"path": "path"})), "As is none of"},
		{"command in capitals", []Tool{read}, one(alias("View", map[string]string{"path": "path"})), "As is none of"},
		{"alias without Args", []Tool{read}, one(alias("view", nil)), `which argument is "path"`},
		{"required argument missing", []Tool{read}, one(alias("create", map[string]string{"path": "path"})), `which argument is "file_text"`},
		{"argument of another command", []Tool{tool("read_file", "path", "x")}, one(alias("view", map[string]string{"path": "path", "file_text": "x"})), `"file_text" is no argument of "view"`},
		{"command as an argument", []Tool{tool("read_file", "path", "x")}, one(alias("view", map[string]string{"path": "path", "command": "x"})), `"command" is no argument of "view"`},
		{"optional argument for nothing", []Tool{read}, one(alias("view", map[string]string{"path": "path", "view_range": ""})), "stands for no argument"},
		{"one argument for two", []Tool{read}, one(alias("rename", map[string]string{"old_path": "path", "new_path": "path"})), "another part"},
		{"mapped and free", []Tool{read}, one(Rule{As: "view", Args: map[string]string{"path": "path"}, Free: []string{"path"}}), "another part"},
		{"alias with Reads", []Tool{read}, one(Rule{As: "view", Args: map[string]string{"path": "path"}, Reads: []string{"path"}, Dirs: []string{dir}}), "are for a reader"},
		{"alias with Dirs", []Tool{read}, one(Rule{As: "view", Args: map[string]string{"path": "path"}, Dirs: []string{dir}}), "are for a reader"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			kept, p, err := Narrow(append(tt.tools, tool("extra")), tt.rules, same)
			if !errors.Is(err, ErrNarrow) {
				t.Fatalf("kept %q, %v, want ErrNarrow", names(kept), err)
			}
			if kept != nil || p.removed != nil || p.rules != nil {
				t.Errorf("a partial result: %q, %+v", names(kept), p)
			}
			for name := range tt.rules {
				if !strings.Contains(err.Error(), fmt.Sprintf("tool %q", name)) || !strings.Contains(err.Error(), tt.want) {
					t.Errorf("%v: want the tool %q and %q", err, name, tt.want)
				}
			}
			if strings.Contains(err.Error(), dir) {
				t.Errorf("%v: shows an absolute path", err)
			}
		})
	}
}

func TestNarrowReportsEveryProblem(t *testing.T) {
	_, _, err := Narrow([]Tool{tool("b", "x", "y")}, map[string]Rule{"a": {}, "b": {}, "bash": {}}, same)
	if err == nil {
		t.Fatal("no error")
	}
	for _, want := range []string{`tool "a": there is`, `tool "b": no rule names the property "x"`, `tool "b": no rule names the property "y"`, `tool "bash":`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v: want %s", err, want)
		}
	}
}

func TestNarrowAcceptsSchemas(t *testing.T) {
	dir := t.TempDir()
	tests := []struct {
		name, schema string
		rule         Rule
	}{
		{"no properties", `{"type":"object"}`, Rule{}},
		{"properties null", `{"type":"object","properties":null}`, Rule{}},
		{"capitals", `{"type":"OBJECT","properties":{"path":{"type":"STRING"}}}`, Rule{Reads: []string{"path"}, Dirs: []string{dir}}},
		{"annotations", `{"$schema":"x","$id":"y","title":"t","description":"d","type":"object","properties":{},"required":[],"additionalProperties":false,"x-order":1}`, Rule{}},
		{"optional of another generator", `{"type":"object","properties":{"path":{"anyOf":[{"type":"string"},{"type":"null"}]}}}`, Rule{Reads: []string{"path"}, Dirs: []string{dir}}},
		{"path without a type", `{"type":"object","properties":{"path":{}}}`, Rule{Reads: []string{"path"}, Dirs: []string{dir}}},
		{"flag with the name of a path", `{"type":"object","properties":{"directory":{"type":"boolean"}}}`, Rule{Free: []string{"directory"}}},
		{"reads what it is not told", `{"type":"object","properties":{"pattern":{"type":"string"}}}`, Rule{Free: []string{"pattern"}, Dirs: []string{dir}}},
		{"alias that drops an array of objects", `{"type":"object","properties":{"path":{"type":"string"},"more":{"type":"array","items":{"type":"object"}}}}`, Rule{As: "view", Args: map[string]string{"path": "path"}, Free: []string{"more"}}},
		{"one base for two", `{"type":"object","properties":{"cwd":{},"a":{},"b":{}}}`, Rule{Reads: []string{"cwd/a", "cwd/b"}, Dirs: []string{dir}}},
		{"working directory alone", `{"type":"object","properties":{"cwd":{}}}`, Rule{Reads: []string{"cwd"}, Dirs: []string{dir}}},
	}
	for _, tt := range tests {
		kept, _, err := Narrow([]Tool{{Name: "x", Schema: json.RawMessage(tt.schema)}}, map[string]Rule{"x": tt.rule}, same)
		if err != nil || len(kept) != 1 {
			t.Errorf("%s: kept %d, %v", tt.name, len(kept), err)
		}
	}
	destroys := with(tool("write_file", "path", "content"), func(t *Tool) { t.Destructive = new(true) })
	rules := map[string]Rule{"write_file": {As: "create", Args: map[string]string{"path": "path", "file_text": "content"}}}
	if kept, _, err := Narrow([]Tool{destroys}, rules, same); err != nil || len(kept) != 1 {
		t.Errorf("an alias that is hinted to be destructive, and never runs: kept %d, %v", len(kept), err)
	}
}

// TestNarrowSchemaForms: a host hands over a schema as it holds it.
func TestNarrowSchemaForms(t *testing.T) {
	const text = `{"type":"object","properties":{"file_path":{"type":"string"}},"additionalProperties":false}`
	var value map[string]any
	if err := json.Unmarshal([]byte(text), &value); err != nil {
		t.Fatal(err)
	}
	type typed struct {
		Type       string         `json:"type"`
		Properties map[string]any `json:"properties"`
	}
	rules := map[string]Rule{"Read": {Reads: []string{"file_path"}, Dirs: []string{t.TempDir()}}}
	for _, tt := range []struct {
		name   string
		schema any
		ok     bool
	}{
		{"raw", json.RawMessage(text), true},
		{"bytes", []byte(text), true},
		{"string", text, true},
		{"map", value, true},
		{"struct", &typed{"object", map[string]any{"file_path": map[string]any{"type": "string"}}}, true},
		{"none", nil, false},
		{"nil pointer", (*typed)(nil), false},
		{"does not marshal", func() {}, false},
		{"another property", &typed{"object", map[string]any{"file_path": map[string]any{"type": "string"}, "cwd": map[string]any{"type": "string"}}}, false},
	} {
		kept, _, err := Narrow([]Tool{{Name: "Read", Schema: tt.schema}, {Name: "odd", Schema: func() {}}}, rules, func(t Tool) Tool { return t })
		if got := err == nil && len(kept) == 1; got != tt.ok || !tt.ok && !errors.Is(err, ErrNarrow) {
			t.Errorf("%s: kept %d, %v; want it kept: %v", tt.name, len(kept), err, tt.ok)
		}
	}
}

func TestNarrowDescribe(t *testing.T) {
	for name, describe := range map[string]func(Tool) Tool{
		"nil":        nil,
		"panic":      func(Tool) Tool { panic("secret") },
		"nil panic":  func(Tool) Tool { panic(nil) },
		"dereferenc": func(Tool) Tool { var t *Tool; return *t },
	} {
		kept, p, err := Narrow([]Tool{tool("x")}, nil, describe)
		if !errors.Is(err, ErrNarrow) || kept != nil || p.removed != nil || strings.Contains(err.Error(), "secret") {
			t.Errorf("%s: %v, %v, %v", name, kept, p, err)
		}
	}
	type hostTool struct{ n int }
	kept, _, err := Narrow([]*hostTool{{1}, {2}}, map[string]Rule{"t2": {}}, func(h *hostTool) Tool { return tool(fmt.Sprintf("t%d", h.n)) })
	if err != nil || len(kept) != 1 || kept[0].n != 2 {
		t.Errorf("host's own type: %v, %v", kept, err)
	}
}

func TestPolicyNeverChanges(t *testing.T) {
	dir := t.TempDir()
	rules := map[string]Rule{
		"read": {Reads: []string{"path"}, Free: []string{"limit"}, Dirs: []string{dir}},
		"new":  {As: "create", Args: map[string]string{"path": "path", "file_text": "text"}},
	}
	_, p, err := Narrow([]Tool{tool("read", "path", "limit"), tool("new", "path", "text"), tool("bash")}, rules, same)
	if err != nil {
		t.Fatal(err)
	}
	rules["read"].Reads[0], rules["read"].Free[0], rules["read"].Dirs[0] = "x", "path", "/etc"
	rules["new"].Args["path"] = "x"
	rules["bash"] = Rule{}
	delete(rules, "read")
	p.Removed()[0] = Finding{}
	read, _ := p.rule("read")
	alias, _ := p.rule("new")
	_, bash := p.rule("bash")
	if want := (Rule{Reads: []string{"path"}, Free: []string{"limit"}, Dirs: []string{dir}}); !cmp.Equal(read, want) || alias.Args["path"] != "path" || bash {
		t.Errorf("the host changed a policy: %+v, %+v, bash %v", read, alias, bash)
	}
	if got, want := removedRules(p), []string{"bash: narrow.shell"}; !cmp.Equal(got, want) {
		t.Errorf("removed %q, want %q", got, want)
	}
}

// drawTools draws tools and rules of which many fit together.
func drawTools(t *rapid.T) (tools []Tool, rules map[string]Rule) {
	name := rapid.SampledFrom([]string{"read", "Read", "grep", "glob", "write_file", "bash", "task", "web_fetch", "memory", "mcp__x__y", "list", "view", "stat", ""})
	hint := rapid.SampledFrom([]*bool{nil, nil, nil, new(false), new(true)})
	tools = rapid.SliceOfN(rapid.Custom(func(t *rapid.T) Tool {
		tl := tool(name.Draw(t, "name"), rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"path", "x", "y"}), 0, 2, rapid.ID).Draw(t, "properties")...)
		tl.OpenWorld, tl.Destructive = hint.Draw(t, "open"), hint.Draw(t, "destroys")
		if rapid.IntRange(0, 9).Draw(t, "kind") == 0 {
			tl.Server = "s"
		}
		tl.Unguarded = rapid.IntRange(0, 9).Draw(t, "guard") == 0
		return tl
	}), 0, 5).Draw(t, "tools")
	rules = map[string]Rule{}
	for _, tl := range tools {
		if rapid.IntRange(0, 2).Draw(t, "ruled") > 0 {
			continue
		}
		var s struct{ Properties map[string]any }
		if err := json.Unmarshal(tl.Schema.([]byte), &s); err != nil {
			t.Fatal(err)
		}
		r := Rule{}
		for _, p := range slices.Sorted(maps.Keys(s.Properties)) {
			if p == "path" {
				r.Reads, r.Dirs = []string{p}, []string{filepath.Join(filepath.VolumeName(absTemp), string(filepath.Separator), "ws")}
			} else {
				r.Free = append(r.Free, p)
			}
		}
		rules[tl.Name] = r
	}
	if rapid.IntRange(0, 9).Draw(t, "stray") == 0 {
		rules[name.Draw(t, "stray name")] = Rule{}
	}
	return tools, rules
}

// absTemp only lends the volume of an absolute path on Windows.
var absTemp, _ = filepath.Abs(".")

func TestNarrowPartitions(t *testing.T) {
	succeeded := 0
	rapid.Check(t, func(t *rapid.T) {
		tools, rules := drawTools(t)
		kept, p, err := Narrow(tools, rules, same)
		if err != nil {
			if !errors.Is(err, ErrNarrow) || kept != nil || p.removed != nil || p.rules != nil {
				t.Fatalf("%v, %v, %v", kept, p, err)
			}
			return
		}
		succeeded++
		all := names(kept)
		for _, name := range all {
			if _, ok := rules[name]; !ok {
				t.Fatalf("kept %q without a rule", name)
			}
		}
		if len(all) != len(rules) {
			t.Fatalf("kept %q for %d rules", all, len(rules))
		}
		for _, f := range p.Removed() {
			all = append(all, f.Field)
			if _, ok := p.rule(f.Field); ok {
				t.Fatalf("removed %q, and the policy has its rule", f.Field)
			}
		}
		given := names(tools)
		slices.Sort(all)
		slices.Sort(given)
		if !cmp.Equal(all, given) {
			t.Fatalf("kept and removed %q, given %q", all, given)
		}
		for _, tl := range kept {
			if tl.Server != "" || tl.Unguarded || tl.OpenWorld != nil && *tl.OpenWorld || tl.Destructive != nil && *tl.Destructive {
				t.Fatalf("kept %+v", tl)
			}
		}
	})
	if succeeded == 0 {
		t.Error("no draw could be narrowed: the property says nothing")
	}
}

// TestNarrowIsMonotone: one more tool makes no other kept, and no hint does.
func TestNarrowIsMonotone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tools, rules := drawTools(t)
		keptOf := func(tools []Tool) []string {
			kept, _, _ := Narrow(tools, rules, same)
			return names(kept)
		}
		before := keptOf(tools)
		more, _ := drawTools(t)
		for _, extra := range more {
			if _, ruled := rules[extra.Name]; ruled {
				continue // it is what a rule waited for
			}
			for _, name := range keptOf(append(slices.Clone(tools), extra)) {
				if !slices.Contains(before, name) {
					t.Fatalf("adding %q made %q kept", extra.Name, name)
				}
			}
		}
		bare := slices.Clone(tools)
		for i := range bare {
			bare[i].OpenWorld, bare[i].Destructive = nil, nil
		}
		without := keptOf(bare)
		for _, name := range before {
			if !slices.Contains(without, name) {
				t.Fatalf("%q is kept only with its hints", name)
			}
		}
	})
}
