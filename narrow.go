package scribe

import (
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/memoryroom/scribe/internal/fold"
)

// Tool is what a host says about one tool that a writer could be given.
type Tool struct {
	Name        string
	Description string
	Server      string // the tool server it comes from; "" when built in
	// Schema is the JSON schema of the arguments, of type object: JSON text, or a value
	// that marshals to it, as hosts hold theirs. [Guard.Tools] gives json.RawMessage.
	Schema any
	// OpenWorld and Destructive are the host's or server's hints (nil: not said).
	// A hint can remove a tool and never admits one.
	OpenWorld, Destructive *bool
	// Unguarded says that the host can run the tool without asking [Guard.Check]
	// first (streaming and server-side tools). Such a tool is removed.
	Unguarded bool
}

// Rule constrains one foreign tool that a writer keeps. A foreign tool only reads,
// and never the room; or it is an alias of one of our commands, and then ours runs
// and the host's never does.
//
// A rule names every property of the tool's schema, by its exact name: in Reads
// or Free for a reader, in Args (as a value) or Free for an alias. An argument that
// it does not name is refused. How the vocabularies of hosts are written:
//
//	the tool's arguments                        the rule
//	path | file_path | filePath | filename |    Reads: {"file_path"}
//	  notebook_path; offset, limit              Free:  {"offset", "limit"}
//	paths[]                                     Reads: {"paths"}
//	base_directory, file_name                   Reads: {"base_directory/file_name"}
//	cwd, patterns[]                             Reads: {"cwd/patterns"}
//	path, pattern (of a glob)                   Reads: {"path/pattern"}
//	path, pattern (a regular expression)        Reads: {"path"}, Free: {"pattern"}
//	uri                                         Reads: {"uri"}
//	file_path, content                          As: "create", Args: {"path": "file_path", "file_text": "content"}
//	filePath, oldString, newString, replaceAll  As: "str_replace", Args: {"path": "filePath", "old_str": "oldString",
//	                                              "new_str": "newString"}, Free: {"replaceAll"}
//	old_path, new_path                          As: "rename", Args: {"old_path": "old_path", "new_path": "new_path"}
//	source, destination                         As: "rename", Args: {"old_path": "source", "new_path": "destination"}
//	filename                                    As: "delete", Args: {"path": "filename"}
//	edits[]; a command; a patch                 none is possible: the paths are inside the text. The tool stays out
//
// "base/name" in Reads stands for two arguments that the tool joins: judged apart,
// a link below the base would not be seen. Each string, or each element of an array
// of strings, is judged as a path and, when it has the signs of a pattern, by the
// directory before the first of them. When no argument of Reads is present, the
// tool is taken to read the first of Dirs itself; a reader with Dirs and no Reads
// is taken to read all of Dirs at each call.
//
// What a tool finds below a directory that it may read is the tool's business:
// links and dot-files that a wildcard or a recursive search meets there, a path
// swapped between the check and the use, another mount of the room, and what the
// tool makes of a Free text are not covered. Choose Dirs and tools accordingly.
type Rule struct {
	As    string            // alias of "view", "create", "str_replace", "insert", "delete" or "rename"; "": a reader
	Args  map[string]string // alias only: our argument name to the host's
	Reads []string          // reader only: arguments that hold a path, or an array of paths
	Free  []string          // arguments that hold no path: they pass as they are if scalars or arrays of them; an alias drops them
	Dirs  []string          // reader only: absolute directories that Reads may name; a relative name is taken from the first
	Gives Trust             // trust of what the tool returns; zero: unknown, the lowest
}

// Call is one tool call as the model made it.
type Call struct {
	Tool string
	Args any // json.RawMessage, []byte, string or map[string]any: as the tool will get it
}

// Policy is the proof that a writer's tools were narrowed. Only [Narrow] makes one
// that allows a foreign tool; the zero Policy allows our own tools alone. It never
// changes and is safe for concurrent use.
type Policy struct {
	removed []Finding
	rules   map[string]Rule
}

// Removed says which tools went and why, in the order in which they were given:
// Field is the tool's name, as the host gave it. The slice is the caller's own.
func (p Policy) Removed() []Finding { return slices.Clone(p.removed) }

// rule gives the rule of a kept tool, by exact name. It is shared: not to be changed.
func (p Policy) rule(tool string) (Rule, bool) {
	r, ok := p.rules[tool]
	return r, ok
}

// Narrow keeps exactly the tools that rules name, by exact name, and drops the
// rest: kept holds them in the order given, p the rules for [Guard.Check], and
// [Policy.Removed] a finding for each tool that went:
//
//	narrow.reserved-name  called memory or recall, as ours are
//	narrow.shell          a shell or code runner, or a patch: its paths are in free text
//	narrow.delegation     a subagent, a task, a transfer
//	narrow.network        reaches a network
//	narrow.upload         sends or presents files
//	narrow.tool-server    comes from a tool server
//	narrow.unguarded      the host can run it without the check
//	narrow.open-world     hinted to reach beyond this machine
//	narrow.destructive    hinted to destroy, and not an alias
//	narrow.duplicate      a second tool of one name
//	narrow.no-rule        no rule names it
//
// The known names behind the first five only give a better reason, since a tool
// without a rule goes anyway, and show a rule that cannot be kept. With no rules
// everything goes, which is no error: the writer has our tools alone.
//
// An error matches [ErrNarrow], and then extraction must not run: kept is nil, p is
// zero, and the text names each tool and what is wrong. These are errors: a rule
// that is not valid in itself; a rule without its tool, or whose tool has to go; two
// tools whose names are equal, or equal after folding, where one would be kept; a
// schema that leaves open which arguments there are; a property that no rule names
// and a name that is no property; a describe that is nil or panics.
func Narrow[T any](tools []T, rules map[string]Rule, describe func(T) Tool) (kept []T, p Policy, err error) {
	if describe == nil {
		return nil, Policy{}, fmt.Errorf("%w: no function describes the tools", ErrNarrow)
	}
	described := make([]Tool, len(tools))
	for i, t := range tools {
		if described[i], err = describeTool(t, describe); err != nil {
			return nil, Policy{}, fmt.Errorf("%w: tool %d: %w", ErrNarrow, i, err)
		}
	}
	keep, p, err := narrow(described, rules)
	if err != nil {
		return nil, Policy{}, err
	}
	for _, i := range keep {
		kept = append(kept, tools[i])
	}
	return kept, p, nil
}

// describeTool turns a panic of the host's function into an error, without its
// value: that may hold anything.
func describeTool[T any](t T, describe func(T) Tool) (tool Tool, err error) {
	ok := false
	defer func() {
		if !ok {
			_ = recover() // a nil panic value too: ok tells
			tool, err = Tool{}, errors.New("the function that describes it panicked")
		}
	}()
	tool = describe(t)
	if text, err := schemaText(tool.Schema); err == nil {
		tool.Schema = text // once, and where a panic of the host's is caught
	}
	ok = true
	return tool, nil
}

// schemaText gives a schema as JSON text; nil for none.
func schemaText(schema any) (json.RawMessage, error) {
	switch s := schema.(type) {
	case nil:
		return nil, nil
	case json.RawMessage:
		return s, nil
	case []byte:
		return s, nil
	case string:
		return json.RawMessage(s), nil
	}
	text, err := json.Marshal(schema)
	if err != nil {
		return nil, errors.New("its schema does not marshal to JSON")
	}
	return text, nil
}

// narrow is Narrow on descriptions; keep holds indexes into tools.
func narrow(tools []Tool, given map[string]Rule) (keep []int, p Policy, err error) {
	rules := make(map[string]Rule, len(given))
	for name, r := range given {
		rules[name] = r.clone()
	}
	holders := make(map[string][]string, len(tools)) // folded name to the names
	found := make(map[string]Tool, len(rules))
	gone := make(map[string]string, len(rules)) // name of a rule to why its tool goes
	for i, t := range tools {
		key := fold.Key(t.Name)
		r, named := rules[t.Name]
		class := removalClass(t, named && r.As != "")
		switch {
		case class != "":
		case len(holders[key]) > 0:
			class = "narrow.duplicate"
		case !named:
			class = "narrow.no-rule"
		default:
			keep = append(keep, i)
		}
		holders[key] = append(holders[key], t.Name)
		if named {
			found[t.Name] = t
		}
		if class != "" {
			p.removed = append(p.removed, removedFinding(class, t.Name))
			if named {
				gone[t.Name] = removalReason(class)
			}
		}
	}
	var problems []error
	for _, name := range slices.Sorted(maps.Keys(rules)) {
		for _, what := range ruleProblems(name, rules[name], found, gone, holders[fold.Key(name)]) {
			problems = append(problems, fmt.Errorf("%w: tool %.64q: %s", ErrNarrow, name, what))
		}
	}
	if err := errors.Join(problems...); err != nil {
		return nil, Policy{}, err
	}
	p.rules = rules
	return keep, p, nil
}

// clone copies a rule whole, so that a host that changes its own changes nothing.
func (r Rule) clone() Rule {
	r.Args = maps.Clone(r.Args)
	r.Reads = slices.Clone(r.Reads)
	r.Free = slices.Clone(r.Free)
	r.Dirs = slices.Clone(r.Dirs)
	return r
}

// removalClass says why a tool goes whatever a rule says; "" when a rule decides.
// The destructive hint does not matter for an alias, which never runs.
func removalClass(t Tool, alias bool) (rule string) {
	switch class := nameClass(t.Name); {
	case class != "":
		return class
	case t.Server != "":
		return "narrow.tool-server"
	case t.Unguarded:
		return "narrow.unguarded"
	case t.OpenWorld != nil && *t.OpenWorld:
		return "narrow.open-world"
	case t.Destructive != nil && *t.Destructive && !alias:
		return "narrow.destructive"
	}
	return ""
}

func removalReason(rule string) string {
	switch rule {
	case "narrow.reserved-name":
		return "the name is one of ours"
	case "narrow.shell":
		return "runs commands or code, or takes paths in free text; no rule can constrain it"
	case "narrow.delegation":
		return "starts or reaches another agent; no rule can constrain it"
	case "narrow.network":
		return "reaches a network; no rule can constrain it"
	case "narrow.upload":
		return "sends or presents files; no rule can constrain it"
	case "narrow.tool-server":
		return "comes from a tool server"
	case "narrow.unguarded":
		return "can run without the guard's check"
	case "narrow.open-world":
		return "is hinted to reach an open world"
	case "narrow.destructive":
		return "is hinted to be destructive"
	case "narrow.duplicate":
		return "is a second tool of that name"
	}
	return "no rule names it"
}

func removedFinding(rule, tool string) Finding {
	f := Finding{Rule: rule, Outcome: Rejected, Field: tool, Message: "removed from the writer: " + removalReason(rule)}
	if rule == "narrow.no-rule" {
		f.Fix = "nothing, or a rule when the writer must read with it"
	}
	return f
}

// nameClass recognises tools that no rule can admit by the names that agent
// runtimes give them. It is a courtesy, not a defence: what it does not know is
// removed for want of a rule.
func nameClass(name string) (rule string) {
	key := fold.Key(name)
	if len(key) > 3 && strings.HasPrefix(key, "mcp") && !isAlnum(rune(key[3])) {
		return "narrow.tool-server" // mcp__server__tool
	}
	c := compactName(name)
	switch c {
	case "memory", "recall":
		return "narrow.reserved-name"
	case "bash", "sh", "zsh", "shell", "powershell", "pwsh", "cmd", "terminal", "localshell", "bashoutput", "killshell", "killbash",
		"exec", "execute", "execcommand", "executecommand", "runcommand", "runshell", "runshellcommand", "shellcommand", "shellexec",
		"runterminalcmd", "runterminalcommand", "runinterminal", "writestdin", "unifiedexec", "containerexec", "runcode",
		"executecode", "codeexecution", "codeinterpreter", "bashcodeexecution", "python", "runpython", "executepython", "pythonrepl",
		"ipython", "jupyter", "repl", "javascript", "eval", "runscript", "computer", "computeruse", "applypatch", "applydiff", "patch":
		return "narrow.shell"
	case "task", "agent", "agenttool", "subagent", "newtask", "delegate", "handoff", "callagent", "runagent", "createagent",
		"invokeagent", "dispatchagent", "sendinput", "sendmessage", "waitagent", "closeagent", "resumeagent":
		return "narrow.delegation"
	case "fetch", "fetchurl", "readurl", "openurl", "urlfetch", "urlcontext", "http", "httprequest", "httpget", "httppost", "curl",
		"wget", "browse", "toolweb", "sendemail", "opensearch", "duckduckgosearch":
		return "narrow.network"
	case "present", "presentfile", "presentfiles", "attach", "attachfile", "attachment", "sendfile", "sharefile", "share", "publish",
		"saveartifact", "saveartifacts":
		return "narrow.upload"
	}
	for _, p := range [...]struct{ prefix, rule string }{
		{"transferto", "narrow.delegation"},
		{"handoffto", "narrow.delegation"},
		{"delegateto", "narrow.delegation"},
		{"delegatetask", "narrow.delegation"},
		{"spawn", "narrow.delegation"},
		{"toolsubagent", "narrow.delegation"},
		{"webfetch", "narrow.network"},
		{"websearch", "narrow.network"},
		{"googlesearch", "narrow.network"},
		{"browser", "narrow.network"},
		{"upload", "narrow.upload"},
	} {
		if strings.HasPrefix(c, p.prefix) {
			return p.rule
		}
	}
	return ""
}

// isWriter recognises tools that write: a reader's rule would let them.
func isWriter(name string) bool {
	switch compactName(name) {
	case "write", "writefile", "edit", "editfile", "multiedit", "multieditfile", "createfile", "appendfile", "appendtofile", "savefile",
		"deletefile", "removefile", "movefile", "renamefile", "copyfile", "strreplace", "strreplaceeditor", "strreplacebasededittool",
		"inserttext", "replace", "replaceinfile", "replacecontent", "searchreplace", "searchandreplace", "notebookedit", "editnotebook",
		"writetofile", "createdirectory", "makedirectory", "mkdir", "rmdir", "rm", "mv", "cp", "chmod", "touch", "truncate", "delete":
		return true
	}
	return false
}

// compactName drops what varies between spellings of one name: case and
// separators. web_fetch, WebFetch and web-fetch are one.
func compactName(name string) string {
	return strings.Map(func(r rune) rune {
		if isAlnum(r) {
			return r
		}
		return -1
	}, fold.Key(name))
}

func isAlnum(r rune) bool { return unicode.IsLetter(r) || unicode.IsDigit(r) }

// ruleProblems lists what is wrong with one rule. holders are the names of the
// tools that its name folds to.
func ruleProblems(name string, r Rule, found map[string]Tool, gone map[string]string, holders []string) (problems []string) {
	if name == "" {
		return []string{"a rule needs the name of its tool"}
	}
	if class := nameClass(name); class != "" {
		return []string{removalReason(class)}
	}
	if problems = r.problems(); len(problems) > 0 {
		return problems
	}
	t, ok := found[name]
	switch {
	case !ok:
		return []string{"there is a rule and no such tool"}
	case len(holders) > 1:
		return []string{"two tools have this name, or one equal to it after folding"}
	case gone[name] != "":
		return []string{"there is a rule, but the tool has to go: " + gone[name]}
	case r.As == "" && isWriter(name):
		return []string{"it writes; only an alias of a command of ours (As) can be kept"}
	}
	schema, err := schemaText(t.Schema)
	if err != nil {
		return []string{err.Error()}
	}
	return r.schemaProblems(name, schema)
}

// problems lists what is wrong with a rule whatever its tool is.
func (r Rule) problems() (problems []string) {
	bad := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	if !r.Gives.valid() {
		bad("Gives is not a trust")
	}
	seen := map[string]bool{}
	for _, name := range r.Free {
		if seen[name] {
			bad("Free names %.64q twice", name)
		}
		seen[name] = true
	}
	if r.As != "" {
		return append(problems, r.aliasProblems(seen)...)
	}
	if len(r.Args) > 0 {
		bad("Args is for an alias, and As is empty")
	}
	if len(r.Reads) > 0 && len(r.Dirs) == 0 {
		bad("Reads needs Dirs: the directories that may be read")
	}
	for _, dir := range r.Dirs {
		switch {
		case !filepath.IsAbs(dir) || !utf8.ValidString(dir) || strings.ContainsRune(dir, 0):
			bad("Dirs holds a path that is not absolute")
		case filepath.Dir(filepath.Clean(dir)) == filepath.Clean(dir):
			bad("Dirs holds the root of a file system, which is no limit")
		}
	}
	for i, entry := range r.Reads {
		base, name := splitRead(entry)
		if name == "" || strings.HasPrefix(entry, "/") || strings.Contains(name, "/") {
			bad(`Reads: %.64q is neither an argument nor "base/name"`, entry)
		}
		if slices.Contains(r.Reads[:i], entry) {
			bad("Reads names %.64q twice", entry)
		}
		if seen[base] || seen[name] || base == name {
			bad("%.64q is in Reads and has another part as well", entry)
		}
		if base == "" && len(r.Reads) > 1 && isBaseArg(name) {
			bad(`%.64q is what other paths are relative to: write "%.64s/name" for each of them`, name, name)
		}
	}
	return problems
}

// aliasProblems checks an alias against the signature of its command.
func (r Rule) aliasProblems(seen map[string]bool) (problems []string) {
	bad := func(format string, args ...any) { problems = append(problems, fmt.Sprintf(format, args...)) }
	required, optional := commandArgs(r.As)
	if required == nil {
		return []string{"As is none of view, create, str_replace, insert, delete and rename"}
	}
	if len(r.Reads) > 0 || len(r.Dirs) > 0 {
		bad("Reads and Dirs are for a reader, and As makes it an alias")
	}
	for _, ours := range required {
		if r.Args[ours] == "" {
			bad("Args does not say which argument is %q of %q", ours, r.As)
		}
	}
	for _, ours := range slices.Sorted(maps.Keys(r.Args)) {
		if !slices.Contains(required, ours) && !slices.Contains(optional, ours) {
			bad("Args: %.64q is no argument of %q", ours, r.As)
		}
		theirs := r.Args[ours]
		if theirs == "" && !slices.Contains(required, ours) {
			bad("Args: %.64q stands for no argument", ours)
		}
		if theirs != "" && seen[theirs] {
			bad("Args: %.64q has another part as well", theirs)
		}
		seen[theirs] = true
	}
	return problems
}

// commandArgs gives the arguments of a command of the memory tool
// (memory_20250818); required is nil for an unknown one.
func commandArgs(command string) (required, optional []string) {
	switch command {
	case "view":
		return []string{"path"}, []string{"view_range"}
	case "create":
		return []string{"path", "file_text"}, nil
	case "str_replace":
		return []string{"path", "old_str"}, []string{"new_str"}
	case "insert":
		return []string{"path", "insert_line", "insert_text"}, nil
	case "delete":
		return []string{"path"}, nil
	case "rename":
		return []string{"old_path", "new_path"}, nil
	}
	return nil, nil
}

// splitRead splits an entry of Reads; base is "" when the argument stands alone.
func splitRead(entry string) (base, name string) {
	if base, name, ok := strings.Cut(entry, "/"); ok {
		return base, name
	}
	return "", entry
}

// named lists the host's arguments that a rule names.
func (r Rule) named() []string {
	names := slices.Clone(r.Free)
	for _, theirs := range r.Args {
		names = append(names, theirs)
	}
	for _, entry := range r.Reads {
		base, name := splitRead(entry)
		if base != "" {
			names = append(names, base)
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

// isPathArg recognises arguments that hold paths in every host that was read, and
// the pattern of a glob: a rule that calls one of them free is a mistake.
func isPathArg(tool, name string) bool {
	switch compactName(name) {
	case "path", "paths", "filepath", "filepaths", "filename", "filenames", "absolutepath", "relativepath", "notebookpath",
		"oldpath", "newpath", "targetfile", "directory", "directorypath", "dirpath", "folder", "uri", "uris", "patterns":
		return true
	case "pattern":
		return strings.Contains(compactName(tool), "glob")
	}
	return isBaseArg(name)
}

// isBaseArg recognises the directory that a tool's other paths are relative to.
func isBaseArg(name string) bool {
	switch compactName(name) {
	case "cwd", "basedirectory", "basedir", "basepath", "workdir", "workingdirectory", "workingdir", "rootdir", "rootpath":
		return true
	}
	return false
}

// isCommandArg recognises arguments that carry commands, patches or addresses.
func isCommandArg(name string) bool {
	switch compactName(name) {
	case "command", "commands", "cmd", "commandline", "shellcommand", "script", "patch", "diff", "url", "urls":
		return true
	}
	return false
}

// hasType reports whether a schema's type is, or includes, one of names.
func hasType(schema map[string]any, names ...string) bool {
	list, ok := schema["type"].([]any)
	if !ok {
		list = []any{schema["type"]}
	}
	return slices.ContainsFunc(list, func(v any) bool {
		s, _ := v.(string)
		return slices.Contains(names, strings.ToLower(s))
	})
}

// isPlain reports whether a schema allows nothing that could be a path or a text.
func isPlain(schema map[string]any) bool {
	return hasType(schema, "boolean", "integer", "number") && !hasType(schema, "string", "array", "object")
}
