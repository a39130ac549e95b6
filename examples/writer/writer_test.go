package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/memoryroom/scribe/examples/internal/golden"
)

// output runs the program and gives its two streams.
func output(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, errs bytes.Buffer
	code = run(t.Context(), args, &out, &errs)
	return out.String(), errs.String(), code
}

// mustRun runs the program where it has to go through.
func mustRun(t *testing.T, args ...string) string {
	t.Helper()
	out, errs, code := output(t, args...)
	if code != 0 || errs != "" {
		t.Fatalf("run %q: exit %d, stderr %q", args, code, errs)
	}
	return out
}

// transcriptFile writes a transcript and gives its name.
func transcriptFile(t *testing.T, lines ...string) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "session.jsonl")
	if err := os.WriteFile(name, []byte(strings.Join(lines, "\n")+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return name
}

// mask takes out of an output what differs from run to run: the clock, keyed hashes
// and the place of the room.
func mask(s, room string) string {
	s = strings.ReplaceAll(s, room, "ROOM")
	for _, m := range []struct{ pattern, with string }{
		{`\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?Z`, "TIME"},
		{`\b\d+:[0-9a-f]{30,64}`, "HEAD"},
		{`\b[0-9a-f]{64}\b`, "HASH"},
		{`\b[0-9a-f]{16}\b`, "ID"},
		{`\b[0-9a-f]{12}:turn-`, "SOURCE:turn-"},
	} {
		s = regexp.MustCompile(m.pattern).ReplaceAllString(s, m.with)
	}
	return s
}

func TestFlags(t *testing.T) {
	tests := []struct {
		name string
		args []string
		code int
		says string // on stderr
	}{
		{"help", []string{"-h"}, 0, "usage: writer"},
		{"unknown flag", []string{"-rooom", "x"}, 2, "-rooom"},
		{"flag without its value", []string{"-room"}, 2, "-room"},
		{"unexpected argument", []string{"session.jsonl"}, 2, `unexpected argument "session.jsonl"`},
		{"no such transcript", []string{"-transcript", filepath.Join("testdata", "absent.jsonl")}, 1, "absent.jsonl"},
		{"a directory for a transcript", []string{"-transcript", "testdata"}, 1, "testdata"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			room := filepath.Join(t.TempDir(), "room")
			args := slices.Concat([]string{"-room", room}, tt.args)
			out, errs, code := output(t, args...)
			if code != tt.code || !strings.Contains(errs, tt.says) {
				t.Errorf("exit %d, stderr %q; want exit %d and %q", code, errs, tt.code, tt.says)
			}
			if out != "" {
				t.Errorf("stdout is %q, want nothing", out)
			}
			if _, err := os.Lstat(room); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the room's directory was made (%v)", err)
			}
		})
	}
}

// A transcript is read whole before anything is created.
func TestBrokenTranscript(t *testing.T) {
	const fine = `{"type":"user","message":{"role":"user","content":"We use tabs in this repo."}}`
	tests := []struct {
		name  string
		lines []string
		says  string
	}{
		{"cut off", []string{fine, fine, `{"type":"user","message":{"role":`}, "line 3 "},
		{"not JSON", []string{fine, "hello"}, "line 2 "},
		{"an array", []string{"[1]"}, "line 1 "},
		{"blank lines count", []string{"", "", "x"}, "line 3 "},
		{"content of a wrong type", []string{fine, `{"type":"user","message":{"role":"user","content":7}}`}, "line 2:"},
		{"nobody speaks", []string{`{"type":"summary"}`}, "no message of a user"},
		{"empty", nil, "no message of a user"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			room := filepath.Join(t.TempDir(), "room")
			out, errs, code := output(t, "-room", room, "-transcript", transcriptFile(t, tt.lines...))
			if code != 1 || !strings.Contains(errs, tt.says) || out != "" {
				t.Errorf("exit %d, stdout %q, stderr %q; want exit 1 and %q", code, out, errs, tt.says)
			}
			if _, err := os.Lstat(room); !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("the room's directory was made (%v)", err)
			}
		})
	}
}

// answer is what the tests read of the output of -json.
type answer struct {
	Kept     []string
	Removed  []reason
	Turns    []struct{ Runs []answerRun }
	Frozen   bool
	Index    string
	Snapshot string
	Pending  []pendingMemory
	Journal  []journalRow
	Check    []reason
}

type journalRow struct {
	Op    string
	Rules []string
}

type answerRun struct {
	UserOnly bool
	Skipped  string
	Calls    []answerCall
}

type answerCall struct {
	Tool, Args string
	Ruling     struct {
		Run, IsError bool
		Text         string
		Verdict      *verdict
	}
}

type verdict struct {
	Outcome  any // a number or a name
	Memory   pendingMemory
	Findings []reason
	Notices  []reason
}

type pendingMemory struct {
	Path, Text string
	Trust      any // a number or a name
	Findings   []reason
}

type reason struct {
	Rule, Field string
	Outcome     any
}

// is reports whether an enumeration in JSON is the value with that number and name.
func is(v any, number float64, name string) bool { return v == number || v == name }

func rules(fs []reason) []string {
	var names []string
	for _, f := range fs {
		if !slices.Contains(names, f.Rule) {
			names = append(names, f.Rule)
		}
	}
	return names
}

func decode(t *testing.T, out string) answer {
	t.Helper()
	var a answer
	dec := json.NewDecoder(strings.NewReader(out))
	if err := dec.Decode(&a); err != nil {
		t.Fatalf("-json: %v", err)
	}
	if _, err := dec.Token(); !errors.Is(err, io.EOF) {
		t.Fatalf("-json prints more than one value (%v)", err)
	}
	return a
}

// word is the ruling on a call in one word, as the text output has it.
func (c answerCall) word() string {
	switch v := c.Ruling.Verdict; {
	case v != nil && is(v.Outcome, 2, "accepted"):
		return "accepted"
	case v != nil && is(v.Outcome, 1, "held"):
		return "held"
	case v != nil:
		return "rejected"
	case c.Ruling.IsError:
		return "denied"
	case c.Ruling.Run:
		return "run"
	}
	return "read"
}

// call finds the one call in a turn (from 1) whose arguments hold all the words.
func (a answer) call(t *testing.T, turn int, words ...string) answerCall {
	t.Helper()
	var found []answerCall
	for _, r := range a.Turns[turn-1].Runs {
		for _, c := range r.Calls {
			if !slices.ContainsFunc(words, func(w string) bool { return !strings.Contains(c.Tool+" "+c.Args, w) }) {
				found = append(found, c)
			}
		}
	}
	if len(found) != 1 {
		t.Fatalf("turn %d has %d calls with %q, want 1", turn, len(found), words)
	}
	return found[0]
}

// TestConversation is what the shipped conversation is there to show.
func TestConversation(t *testing.T) {
	a := decode(t, mustRun(t, "-json", "-room", filepath.Join(t.TempDir(), "room")))
	if len(a.Turns) != 7 {
		t.Fatalf("%d turns, want 7", len(a.Turns))
	}
	tests := []struct {
		turn    int
		words   []string
		ruling  string
		reasons []string // the prefixes of rules that have to be among the findings
	}{
		{1, []string{"view"}, "read", nil},
		{1, []string{"create", "style.md"}, "accepted", nil},
		{1, []string{"create", "deploy.md"}, "accepted", nil},
		{2, []string{"create", "testing.md"}, "accepted", nil},
		{3, []string{"view", "deploy.md"}, "read", nil},
		{3, []string{"str_replace", "eu-west-1"}, "accepted", nil},
		{4, []string{"Bash", "curl"}, "denied", nil},
		{4, []string{"WebFetch"}, "denied", nil},
		{4, []string{"Write", "rollout-decision.md"}, "held", []string{"directive."}},
		{4, []string{"create", "rollout.md"}, "accepted", nil},
		{4, []string{"create", "CLAUDE.md"}, "rejected", nil},
		{4, []string{"create", "AGENTS.md"}, "rejected", []string{"path.instruction-file"}},
		{5, []string{"Read", "id_ed25519"}, "denied", nil},
		{5, []string{"str_replace", "us-west-2"}, "held", []string{"conflict.higher-trust"}},
		{5, []string{"create", "deploy-plugin.md"}, "accepted", nil},
		{5, []string{"create", "regions.md"}, "held", []string{"directive."}},
		{6, []string{"create", "The token for"}, "rejected", []string{"secret."}},
		{6, []string{"create", "needs a token"}, "accepted", nil},
	}
	seen := 0
	for _, tt := range tests {
		c := a.call(t, tt.turn, tt.words...)
		seen++
		if got := c.word(); got != tt.ruling {
			t.Errorf("turn %d, %q: %s, want %s (%s)", tt.turn, tt.words, got, tt.ruling, c.Ruling.Text)
		}
		for _, prefix := range tt.reasons {
			if v := c.Ruling.Verdict; v == nil || !slices.ContainsFunc(rules(v.Findings), func(r string) bool { return strings.HasPrefix(r, prefix) }) {
				t.Errorf("turn %d, %q: no reason of %q", tt.turn, tt.words, prefix)
			}
		}
	}
	calls := 0
	for _, turn := range a.Turns {
		for _, r := range turn.Runs {
			calls += len(r.Calls)
			for _, c := range r.Calls {
				if c.Ruling.Run {
					t.Errorf("%s %s: the host's own tool was let run", c.Tool, c.Args)
				}
			}
		}
	}
	// Two more calls of the conversation only look: /memories again, deploy.md again.
	if calls != seen+2 {
		t.Errorf("the conversation holds %d calls, %d of them are checked here", calls, seen)
	}
	if r := a.Turns[6].Runs; len(r) != 1 || r[0].Skipped != "too-few-words" {
		t.Errorf("the turn that only says thanks: %+v, want skipped for too-few-words", r)
	}
}

// TestTools checks what of the host's tools the writer is left with.
func TestTools(t *testing.T) {
	a := decode(t, mustRun(t, "-json", "-room", filepath.Join(t.TempDir(), "room")))
	if want := []string{"Read", "Write"}; !slices.Equal(a.Kept, want) {
		t.Errorf("kept %q, want %q", a.Kept, want)
	}
	var got []string
	for _, f := range a.Removed {
		got = append(got, f.Field+" "+f.Rule)
	}
	want := []string{
		"Bash narrow.shell",
		"Edit narrow.no-rule",
		"Grep narrow.no-rule",
		"WebFetch narrow.network",
		"Task narrow.delegation",
		"SendFile narrow.upload",
		"mcp__github__create_issue narrow.tool-server",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("removed tools (-want +got):\n%s", diff)
	}
}

// TestTrust checks what the memories are worth, and what of them is shown.
func TestTrust(t *testing.T) {
	a := decode(t, mustRun(t, "-json", "-room", filepath.Join(t.TempDir(), "room")))
	for _, tt := range []struct {
		turn   int
		words  []string
		number float64
		name   string
	}{
		{1, []string{"create", "style.md"}, 4, "user-verified"},  // verbatim, line by line
		{1, []string{"create", "deploy.md"}, 3, "user-observed"}, // one line is not the user's
		{2, []string{"create", "testing.md"}, 3, "user-observed"},
		{4, []string{"create", "rollout.md"}, 1, "external-web"},
		{5, []string{"create", "deploy-plugin.md"}, 1, "external-web"}, // after the page, all of the assistant's text is
		{6, []string{"create", "needs a token"}, 3, "user-observed"},   // the user's words alone were shown
	} {
		v := a.call(t, tt.turn, tt.words...).Ruling.Verdict
		if v == nil || !is(v.Memory.Trust, tt.number, tt.name) {
			t.Errorf("turn %d, %q: %+v, want trust %s", tt.turn, tt.words, v, tt.name)
		}
	}
	for _, path := range []string{"user/style.md", "project/deploy.md", "project/testing.md", "project/staging.md"} {
		if !strings.Contains(a.Snapshot, path) || !strings.Contains(a.Index, path) {
			t.Errorf("%s is missing from the snapshot or the index", path)
		}
	}
	for _, text := range []string{"rollout", "deploy-plugin", "regions", "ten percent", "deployctl", "us-west-2", "fix.sh"} {
		if strings.Contains(a.Snapshot, text) {
			t.Errorf("the snapshot holds %q, which came from outside:\n%s", text, a.Snapshot)
		}
	}
	for _, text := range []string{"ten percent", "deployctl", "us-west-2", "fix.sh"} {
		if strings.Contains(a.Index, text) {
			t.Errorf("MEMORY.md holds %q, which came from outside:\n%s", text, a.Index)
		}
	}
	if !a.Frozen {
		t.Error("the session's own snapshot changed with what was written in it")
	}
	if len(a.Check) != 0 {
		t.Errorf("the room's check found %+v", a.Check)
	}
}

// TestRoomAfterwards checks the files that a run leaves: what was accepted, byte for
// byte, and nothing of what was not.
func TestRoomAfterwards(t *testing.T) {
	room := filepath.Join(t.TempDir(), "room")
	a := decode(t, mustRun(t, "-json", "-room", room))
	got := map[string]string{}
	for name, data := range filesOf(t, room) {
		if !strings.HasPrefix(name, ".scribe/") && name != "MEMORY.md" {
			got[name] = data
		}
	}
	want := map[string]string{}
	for _, turn := range a.Turns {
		for _, r := range turn.Runs {
			for _, c := range r.Calls {
				if c.word() != "accepted" {
					continue
				}
				var args map[string]string
				if err := json.Unmarshal([]byte(c.Args), &args); err != nil {
					t.Fatal(err)
				}
				name := strings.TrimPrefix(args["path"], "/memories/")
				switch args["command"] {
				case "create":
					want[name] = args["file_text"]
				case "str_replace":
					want[name] = strings.Replace(want[name], args["old_str"], args["new_str"], 1)
				}
			}
		}
	}
	if len(want) != 6 {
		t.Errorf("%d memories were accepted, want 6", len(want))
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("memories (-want +got):\n%s", diff)
	}
	var waiting []string
	for _, m := range a.Pending {
		waiting = append(waiting, m.Path)
	}
	if diff := cmp.Diff([]string{"project/deploy.md", "project/regions.md", "project/rollout-decision.md"}, waiting); diff != "" {
		t.Errorf("pending (-want +got):\n%s", diff)
	}
	// What was refused leaves a row, and the row names the rules alone.
	for _, rule := range []string{"path.instruction-file", "secret."} {
		if !slices.ContainsFunc(a.Journal, func(row journalRow) bool {
			return row.Op == "reject" && slices.ContainsFunc(row.Rules, func(r string) bool { return strings.HasPrefix(r, rule) })
		}) {
			t.Errorf("the journal has no refusal by %s", rule)
		}
	}
}

// filesOf reads every file below dir, by slash-separated name.
func filesOf(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := os.ReadFile(name)
		if err != nil {
			return err
		}
		rel, err := filepath.Rel(dir, name)
		files[filepath.ToSlash(rel)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		t.Fatalf("no file below %s", dir)
	}
	return files
}

// TestCredential looks for the conversation's credential, and for pieces of it, in
// everything that a run prints and leaves behind.
func TestCredential(t *testing.T) {
	token := strings.TrimPrefix(string(expandExample([]byte("{{example-token}}"))), "ghp_")
	if len(token) < 30 || !bytes.Contains(expandExample(conversation), []byte(token)) {
		t.Fatal("the conversation holds no credential to look for")
	}
	const piece = 8
	leak := func(where, text string) {
		for i := 0; i+piece <= len(token); i++ {
			if strings.Contains(text, token[i:i+piece]) {
				t.Errorf("%s holds a piece of the credential", where)
				return
			}
		}
	}
	for _, mode := range [][]string{nil, {"-json"}} {
		room := filepath.Join(t.TempDir(), "room")
		out, errs, code := output(t, append([]string{"-room", room}, mode...)...)
		if code != 0 {
			t.Fatalf("exit %d: %s", code, errs)
		}
		leak("the output of "+strings.Join(mode, " "), out)
		leak("stderr", errs)
		for name, data := range filesOf(t, room) {
			leak(name, data)
			leak("the name "+name, name)
		}
	}
}

// TestTextOutput pins the text for people. Run with -update after a change of it, and
// read the difference.
func TestTextOutput(t *testing.T) {
	room := filepath.Join(t.TempDir(), "room")
	got := mask(mustRun(t, "-room", room), room)
	golden.Check(t, "conversation.golden", got)
	for _, c := range got {
		if (c < ' ' && c != '\n') || (c >= 0x7f && c < 0xa0) || (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) {
			t.Errorf("the text for a terminal holds %U", c)
		}
	}
}

// TestReadmeExcerpt: what README.md shows of the output is what the program prints.
func TestReadmeExcerpt(t *testing.T) {
	readme, err := os.ReadFile(filepath.Join("..", "..", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(readme), "<!-- excerpt begin -->\n```\n")
	excerpt, _, found := strings.Cut(rest, "```\n<!-- excerpt end -->")
	if !found || strings.Count(excerpt, "\n") < 10 {
		t.Fatal("README.md has no excerpt between its two marks")
	}
	room := filepath.Join(t.TempDir(), "room")
	out := strings.Split(mask(mustRun(t, "-room", room), room), "\n")
	for line := range strings.Lines(mask(excerpt, room)) {
		line = strings.TrimSuffix(line, "\n")
		if line == "..." {
			continue
		}
		i := slices.Index(out, line)
		if i < 0 {
			t.Fatalf("not printed, or not in this order: %q", line)
		}
		out = out[i+1:]
	}
}

// TestRunsAreEqual: nothing but the clock and keyed hashes differs between two runs.
func TestRunsAreEqual(t *testing.T) {
	for _, mode := range [][]string{nil, {"-json"}} {
		var outs [2]string
		for i := range outs {
			room := filepath.Join(t.TempDir(), "room")
			outs[i] = mask(mustRun(t, append([]string{"-room", room}, mode...)...), room)
		}
		if diff := cmp.Diff(strings.Split(outs[0], "\n"), strings.Split(outs[1], "\n")); diff != "" {
			t.Errorf("two runs with %q differ:\n%s", mode, diff)
		}
	}
}
