package scribe

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/memoryroom/scribe/internal/pathcase"
	"github.com/memoryroom/scribe/internal/relpath"
)

// The case harnesses run labelled cases that are kept outside the module. The
// environment variable SCRIBE_CASES names their folder.
const defaultCases = "../shared/cases"

// caseFile reads a file of the cases' folder.
func caseFile(t *testing.T, name string) []byte {
	t.Helper()
	dir := os.Getenv("SCRIBE_CASES")
	if dir == "" {
		dir = defaultCases
	}
	data, err := os.ReadFile(filepath.Join(dir, name))
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("no %s: set SCRIBE_CASES to a folder that holds it", name)
	}
	if err != nil {
		t.Fatal(err)
	}
	return data
}

// TestCasesPaths drives the path gate as the operator would, on a real directory.
func TestCasesPaths(t *testing.T) {
	cases, err := pathcase.Parse(caseFile(t, pathcase.File))
	if err != nil {
		t.Fatal(err)
	}
	good := 0
	for _, c := range cases {
		got, err := runPathCase(t, c)
		if err != nil {
			t.Logf("cases: paths: %s (%s %q): %v", c.ID, c.Op, c.Path, err)
			continue
		}
		if got == c.Expect {
			good++
			continue
		}
		t.Logf("cases: paths: %s (%s, %s %+q): got %s, want %s (%s)", c.ID, c.Class, c.Op, c.Path, got, c.Expect, c.Reason)
		if c.Expect == "allow" {
			t.Errorf("%s: a benign name was refused", c.ID)
		}
	}
	t.Logf("cases: paths: %d of %d as expected", good, len(cases))
	if good*100 < len(cases)*95 {
		t.Errorf("%d of %d as expected, want at least 95 %%", good, len(cases))
	}
}

func runPathCase(t *testing.T, c pathcase.Case) (string, error) {
	base, err := os.MkdirTemp(t.TempDir(), "case")
	if err != nil {
		return "", err
	}
	room, undo, err := c.Make(base)
	defer undo()
	if err != nil {
		return "", err
	}
	r, err := Open(room, nil)
	if err != nil {
		return "", err
	}
	defer r.Close()
	return pathGate(r, c.Op, c.Path), nil
}

// gate answers "allow" or "deny" for an operation on a name, as the room's own
// methods reach the disk.
func pathGate(r *Room, op, name string) string {
	o, err := r.admitPath("path", name)
	if err != nil || !o.ok() {
		return "deny"
	}
	if op == "read" {
		if _, err := r.disk.Read(o.path, maxMemory); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return "deny"
		}
	}
	return "allow"
}

// toolCase is one line of memory-tool.jsonl: files, calls, and what each answers.
type toolCase struct {
	ID    string
	Setup []struct{ File, Text, Dir, Symlink, To string }
	Steps []struct {
		Call   json.RawMessage
		Expect struct{ Kind, Text, Match, Absent string }
	}
	After map[string]string
}

// TestCasesMemoryTool runs the memory tool's contract against a room whose initial
// files the operator adopted, through a guard at user-observed.
func TestCasesMemoryTool(t *testing.T) {
	const name = "memory-tool.jsonl"
	cases, err := pathcase.Lines[toolCase](name, caseFile(t, name))
	if err != nil {
		t.Fatal(err)
	}
	good := 0
	for _, c := range cases {
		if miss := runToolCase(t, c); miss != "" {
			t.Logf("cases: memory tool: %s: %s", c.ID, miss)
			t.Fail()
			continue
		}
		good++
	}
	t.Logf("cases: memory tool: %d of %d as expected", good, len(cases))
}

func runToolCase(t *testing.T, c toolCase) string {
	ctx := context.Background()
	base := t.TempDir()
	room := filepath.Join(base, "memories")
	if err := os.Mkdir(room, 0o700); err != nil {
		t.Fatal(err)
	}
	for _, f := range c.Setup {
		var err error
		at := filepath.Join(base, filepath.FromSlash(f.File+f.Dir+f.Symlink))
		if err := os.MkdirAll(filepath.Dir(at), 0o700); err != nil {
			t.Fatal(err)
		}
		switch {
		case f.File != "":
			err = os.WriteFile(at, []byte(f.Text), 0o600)
		case f.Dir != "":
			err = os.MkdirAll(at, 0o700)
		case f.Symlink != "":
			err = os.Symlink(f.To, at)
			if !filepath.IsAbs(f.To) {
				os.Remove(at)
				err = os.Symlink(filepath.Join(base, f.To), at)
			}
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	r, err := Open(room, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	var seen []Memory
	for m, err := range r.List(ctx, "unaccepted") {
		if err != nil {
			t.Fatal(err)
		}
		seen = append(seen, m)
	}
	if _, err := r.Adopt(ctx, UserObserved, seen...); err != nil {
		t.Fatal(err)
	}
	s, err := r.Session(ctx, c.ID, UserObserved)
	if err != nil {
		t.Fatal(err)
	}
	g := s.Guard(1)
	for i, step := range c.Steps {
		ruling := g.Check(ctx, Call{Tool: "memory", Args: step.Call})
		kind := kindOf(step.Call, ruling)
		e := step.Expect
		switch {
		case !strings.Contains("|"+e.Kind+"|", "|"+kind+"|"):
			return "step " + strconv.Itoa(i) + ": kind " + kind + ", want " + e.Kind + "\n" + ruling.Text
		case e.Text != "" && !samePrefix(ruling.Text, e.Text):
			return "step " + strconv.Itoa(i) + ": got\n" + ruling.Text + "\nwant\n" + e.Text
		case e.Match != "" && !regexp.MustCompile(e.Match).MatchString(ruling.Text):
			return "step " + strconv.Itoa(i) + ": no match for " + e.Match + " in\n" + ruling.Text
		case e.Absent != "" && regexp.MustCompile(e.Absent).MatchString(ruling.Text):
			return "step " + strconv.Itoa(i) + ": " + e.Absent + " occurs in\n" + ruling.Text
		}
	}
	return afterDiffers(t, base, c.After)
}

// samePrefix compares a reply with the contract's text; the contract shows views
// without the last, empty numbered line, which a text that ends so may have.
func samePrefix(got, want string) bool { return strings.HasPrefix(got, want) }

// kindOf names what a reply says, in the words of the cases.
func kindOf(call json.RawMessage, r Ruling) string {
	var c struct{ Command any }
	_ = json.Unmarshal(call, &c)
	command, _ := c.Command.(string)
	text := r.Text
	has := func(s string) bool { return strings.Contains(text, s) }
	switch {
	case has("must start with /memories"), has("would escape"), has("path not allowed"):
		return "outside"
	case has("directory itself"):
		return "root"
	case has("already exists"):
		return "exists"
	case has("does not exist"):
		return "not_found"
	case has("Multiple occurrences"):
		return "multiple"
	case has("did not appear verbatim"):
		return "no_match"
	case has("Invalid `insert_line`"):
		return "bad_line"
	case has("is a directory"), has("Not saved"), has("Held"):
		return "refused"
	case r.IsError:
		return "bad_args"
	case has("Here're the files"):
		return "listing"
	case has("Here's the content"):
		return "file"
	}
	return map[string]string{"create": "created", "str_replace": "replaced", "insert": "edited", "delete": "deleted", "rename": "renamed"}[command]
}

// afterDiffers compares the files below base with what is expected; nil expects nothing.
func afterDiffers(t *testing.T, base string, want map[string]string) string {
	t.Helper()
	if want == nil {
		return ""
	}
	got := map[string]string{}
	err := filepath.WalkDir(base, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && d.Name() == ".scribe" {
			return fs.SkipDir
		}
		if d.Type().IsRegular() && d.Name() != indexName {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			rel, err := filepath.Rel(base, path)
			got[filepath.ToSlash(rel)] = string(data)
			return err
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range want {
		if got[name] != text {
			return "after: " + name + " is " + strconv.Quote(got[name]) + ", want " + strconv.Quote(text)
		}
	}
	for name := range got {
		if _, ok := want[name]; !ok && strings.HasPrefix(name, "memories/") {
			return "after: " + name + " should not be there"
		}
	}
	return ""
}

// TestIndexFile pins the one path that is made from a constant.
func TestIndexFile(t *testing.T) {
	if p, err := relpath.Parse(indexName); err != nil || !p.IsIndex() {
		t.Fatalf("Parse(%q) = %v, %v", indexName, p, err)
	}
}
