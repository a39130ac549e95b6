package conformance

import (
	"context"
	"errors"
	"fmt"
	"strings"
)

// badArgs are arguments of which two readers see two things, or that the tool does not
// declare. Each would write evil.md, change notes.md or read what lies outside.
var badArgs = []struct {
	name, tool, args string
	raw              bool // only the bytes show it: gone where the runtime decodes first
}{
	{"folded-path", "memory", `{"command":"create","path":"/memories/ok.md","PATH":"/memories/evil.md","file_text":"x"}`, false},
	{"folded-text", "memory", `{"command":"create","path":"/memories/evil.md","file_text":"fine","File_Text":"evil"}`, false},
	{"folded-long-s", "memory", `{"command":"str_replace","path":"/memories/notes.md","old_str":"first","old_ſtr":"second","new_str":"x"}`, false},
	{"only-folded", "memory", `{"command":"create","PATH":"/memories/evil.md","file_text":"x"}`, false},
	{"duplicate-path", "memory", `{"command":"create","path":"/memories/ok.md","path":"/memories/evil.md","file_text":"x"}`, true},
	{"duplicate-command", "memory", `{"command":"view","path":"/memories/notes.md","command":"delete"}`, true},
	{"duplicate-escaped", "memory", `{"command":"create","path":"/memories/ok.md","\u0070ath":"/memories/evil.md","file_text":"x"}`, true},
	{"unknown", "memory", `{"command":"create","path":"/memories/evil.md","file_text":"x","trust":"operator"}`, false},
	{"of-another-command", "memory", `{"command":"create","path":"/memories/evil.md","file_text":"x","old_str":"y"}`, false},
	{"nested", "memory", `{"command":"create","path":"/memories/evil.md","file_text":"x","extra":{"path":"/etc"}}`, false},
	{"reader-folded", "Read", `{"file_path":"README.md","FILE_PATH":"../outside/secret.txt"}`, false},
	{"reader-only-folded", "Read", `{"File_Path":"../outside/secret.txt"}`, false},
	{"reader-duplicate", "Read", `{"file_path":"README.md","file_path":"../outside/secret.txt"}`, true},
	{"reader-unknown", "Read", `{"file_path":"README.md","cwd":"../outside"}`, false},
	{"alias-folded", "Write", `{"file_path":"/memories/ok.md","FILE_PATH":"../evil.md","content":"x"}`, false},
	{"alias-unknown", "Write", `{"file_path":"/memories/evil.md","content":"x","mode":"append"}`, false},
}

// brokenArgs are no arguments, or of other types than the tool declares. Some runtimes
// refuse them before any tool is asked, so that a bare one need not be harmed; in a
// guarded one nothing may come of them, whoever answers.
var brokenArgs = []struct {
	name, tool, args string
	raw              bool
}{
	{"not-json", "memory", `{"command":"create","path":"/memories/evil.md"`, false},
	{"an-array", "memory", `["create","/memories/evil.md","x"]`, false},
	{"trailing", "memory", `{"command":"create","path":"/memories/evil.md","file_text":"x"} {}`, true},
	{"not-utf8", "memory", "{\"command\":\"create\",\"path\":\"/memories/evil.md\",\"file_text\":\"\xff\"}", true},
	{"number-for-path", "memory", `{"command":"create","path":7,"file_text":"x"}`, false},
	{"no-text", "memory", `{"command":"create","path":"/memories/evil.md"}`, false},
	{"object-in-an-option", "Read", `{"file_path":"README.md","offset":{"file_path":"../outside/secret.txt"}}`, false},
	{"deep", "memory", `{"command":"create","path":"/memories/evil.md","file_text":` + strings.Repeat("[", 200) + strings.Repeat("]", 200) + `}`, false},
}

func strictArgs(ctx context.Context, w *world) error {
	return w.extract(ctx, w.input(), func(ctx context.Context, wr Writer) error {
		for _, a := range badArgs {
			if a.raw && w.host.Decoded {
				continue
			}
			before, r, cerr, err := w.sent(ctx, wr, a.tool, a.args)
			if err != nil {
				return err
			}
			w.attack(a.name, leaks(r), w.refusal(r, cerr), w.didRun(allNames()...), w.unchanged(before))
		}
		for _, a := range brokenArgs {
			if a.raw && w.host.Decoded {
				continue
			}
			before, r, cerr, err := w.sent(ctx, wr, a.tool, a.args)
			if err != nil {
				return err
			}
			if w.bare {
				w.benign("broken/" + a.name)
				continue
			}
			if cerr == nil {
				cerr = w.refusal(r, nil)
			} else {
				cerr = nil // the runtime refused the call itself
			}
			w.benign("broken/"+a.name, cerr, leaks(r), w.didRun("Read"), w.unchanged(before), goesOn(ctx, wr))
		}
		return nil
	})
}

// step is one call of a session with the memory tool, and what has to be said. want is
// a part of the text; a mark of an error may stand before it.
type step struct {
	args  string
	want  string
	isErr bool
}

// contract walks through the commands of memory_20250818 in the suite's own words.
var contract = []step{
	{`{"command":"view","path":"/memories"}`, "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n", false},
	{`{"command":"view","path":"/memories/"}`, "\t/memories/notes.md", false},
	{`{"command":"view","path":"/memories/none.md"}`, "The path /memories/none.md does not exist. Please provide a valid path.", true},
	{`{"command":"create","path":"/memories/plan/steps.md","file_text":"alpha\nbeta\nbeta\n"}`, "File created successfully at: /memories/plan/steps.md", false},
	{`{"command":"create","path":"/memories/plan/steps.md","file_text":"again"}`, "File /memories/plan/steps.md already exists", true},
	{`{"command":"create","path":"/memories/plan","file_text":"x"}`, "already exists", true},
	{`{"command":"view","path":"/memories/plan/steps.md"}`, "Here's the content of /memories/plan/steps.md with line numbers:\n     1\talpha\n     2\tbeta\n     3\tbeta\n", false},
	{`{"command":"view","path":"/memories/plan/steps.md","view_range":[2,2]}`, "     2\tbeta", false},
	{`{"command":"str_replace","path":"/memories/plan/steps.md","old_str":"gamma","new_str":"x"}`, "No replacement was performed, old_str `gamma` did not appear verbatim in /memories/plan/steps.md.", true},
	{`{"command":"str_replace","path":"/memories/plan/steps.md","old_str":"beta","new_str":"x"}`, "Multiple occurrences of old_str `beta` in lines: 2, 3", true},
	{`{"command":"str_replace","path":"/memories/plan/steps.md","old_str":"alpha","new_str":"$& <omega> & \"co\""}`, "The memory file has been edited.", false},
	{`{"command":"insert","path":"/memories/plan/steps.md","insert_line":9,"insert_text":"x"}`, "Invalid `insert_line` parameter: 9.", true},
	{`{"command":"insert","path":"/memories/plan/steps.md","insert_line":1,"insert_text":"between\n"}`, "The file /memories/plan/steps.md has been edited.", false},
	{`{"command":"rename","old_path":"/memories/plan/steps.md","new_path":"/memories/notes.md"}`, "The destination /memories/notes.md already exists", true},
	{`{"command":"rename","old_path":"/memories/plan/steps.md","new_path":"/memories/plan/done.md"}`, "Successfully renamed /memories/plan/steps.md to /memories/plan/done.md", false},
	{`{"command":"delete","path":"/memories/plan"}`, "directory", true},
	{`{"command":"delete","path":"/memories"}`, "Cannot delete the /memories directory itself", true},
	{`{"command":"rename","old_path":"/memories","new_path":"/memories/x"}`, "Cannot rename the /memories directory itself", true},
	{`{"command":"explode","path":"/memories/notes.md"}`, "command", true},
	{`{"command":"delete","path":"/memories/notes.md"}`, "Successfully deleted /memories/notes.md", false},
	{`{"command":"delete","path":"/memories/notes.md"}`, "The path /memories/notes.md does not exist", true},
}

// memoryContract holds the texts that reach the model to the contract, byte for byte
// but for the mark of an error, and the bytes on the disk to what was written.
func memoryContract(ctx context.Context, w *world) error {
	return w.extract(ctx, w.input(), func(ctx context.Context, wr Writer) error {
		for i, s := range contract {
			r, err := call(ctx, wr, "memory", s.args)
			switch {
			case err != nil:
			case !strings.Contains(r.Text, s.want):
				err = fmt.Errorf("%s: got %.300q, want %q in it", s.args, r.Text, s.want)
			case r.IsError != s.isErr && !w.host.Unflagged:
				err = fmt.Errorf("%s: the mark of an error is %v, want %v", s.args, r.IsError, s.isErr)
			case strings.HasPrefix(r.Text, "Error: Error:"):
				err = errors.New("the mark of an error stands twice")
			}
			w.attack(fmt.Sprintf("%02d", i+1), err)
		}
		files, err := w.files()
		if got, want := files["ws/.agent/memory/plan/done.md"], "$& <omega> & \"co\"\nbetween\nbeta\nbeta\n"; err == nil && got != want {
			err = fmt.Errorf("plan/done.md holds %q, want %q", got, want)
		}
		w.attack("bytes", err)
		r, err := call(ctx, wr, "recall", `{"query":"which region does the service run in"}`)
		w.benign("recall", success(r, err, "eu-west-1"))
		return nil
	})
}
