package scribe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestG2_PathsOutsideTheTool: a path that is not one of the tool's is refused
// whatever it would name without the prefix, by every command.
func TestG2_PathsOutsideTheTool(t *testing.T) {
	texts := func(r *Room) map[string]string {
		files := map[string]string{}
		for _, m := range listed(t, r) {
			files[m.Path] = m.Text
		}
		return files
	}
	for _, path := range []string{"deploy.md", "other.md", "a/b.md", "memories/other.md", "/deploy.md", "/memories_backup/deploy.md", "/Memories/deploy.md", "", "./deploy.md", "/memories/../deploy.md"} {
		r, _ := newRoom(t, nil)
		store(t, r, UserObserved, Candidate{Path: "deploy.md", Text: "The service runs in Bern.\n"})
		g := session(t, r, UserObserved).Guard(1)
		before := texts(r)
		for _, args := range []map[string]any{
			{"command": "create", "path": path, "file_text": "x"},
			{"command": "str_replace", "path": path, "old_str": "Bern", "new_str": "Basel"},
			{"command": "insert", "path": path, "insert_line": 0, "insert_text": "x"},
			{"command": "delete", "path": path},
			{"command": "rename", "old_path": path, "new_path": "/memories/new.md"},
			{"command": "rename", "old_path": "/memories/deploy.md", "new_path": path},
		} {
			if ruling := memoryCommand(g, args); !ruling.IsError || ruling.Run {
				t.Errorf("%v: %q, want a refusal", args, ruling.Text)
			}
			if diff := cmp.Diff(before, texts(r)); diff != "" {
				t.Errorf("%v changed the room (-want +got):\n%s", args, diff)
			}
		}
	}
}

// A tool vector is one file of testdata/memorytool: calls of the memory tool by one
// guard at user-observed, and what each has to be told. Lines "key: value":
//
//	comment   what the vector shows; once
//	file      NAME = TEXT: an accepted memory, at user-observed
//	raw       NAME = TEXT: a file in the room that nobody accepted
//	beside    NAME = TEXT: a file beside the room
//	link      NAME -> TARGET: a link in the room
//	call      the arguments, as they are sent; then what holds for this call:
//	says      the whole answer
//	part, not a text that has to be, or must not be, in the answer; any number
//	error     yes: the answer is marked as an error; without the line it must not be
//	holds     NAME = TEXT: after the calls; gone: NAME
//
// What no line says is gone or changed has to be as it was. \n, \r, \t, \f, \\ and
// \uXXXX are escapes, {{rep:N:x}} a repetition and $ROOM the room's directory.
type toolVector struct {
	lines [][2]string
}

func readToolVector(file string) (toolVector, error) {
	data, err := os.ReadFile(file)
	if err != nil {
		return toolVector{}, err
	}
	var v toolVector
	known := []string{"comment", "file", "raw", "beside", "link", "call", "says", "part", "not", "error", "holds", "gone"}
	asked := 0
	for line := range strings.Lines(string(data)) {
		key, value, ok := strings.Cut(strings.TrimSuffix(line, "\n"), ": ")
		if !ok || !slices.Contains(known, key) {
			return v, fmt.Errorf("no line of a vector: %q", line)
		}
		if key != "call" && key != "comment" {
			if value, err = unescape(value); err != nil {
				return v, err
			}
		} else {
			asked++
		}
		v.lines = append(v.lines, [2]string{key, value})
	}
	if asked < 2 || v.lines[0][0] != "comment" {
		return v, errors.New("a vector is a comment and at least one call")
	}
	return v, nil
}

func unescape(s string) (string, error) {
	s, err := expand(s)
	if err != nil {
		return "", err
	}
	out, err := strconv.Unquote(`"` + strings.ReplaceAll(s, `"`, `\"`) + `"`)
	if err != nil {
		return "", fmt.Errorf("%q: %w", s, err)
	}
	return out, nil
}

// TestMemoryTool runs the project's own vectors of the contract memory_20250818.
func TestMemoryTool(t *testing.T) {
	files, err := filepath.Glob("testdata/memorytool/*.txt")
	if err != nil || len(files) < 40 {
		t.Fatalf("%d vectors, %v", len(files), err)
	}
	for _, file := range files {
		name := strings.TrimSuffix(filepath.Base(file), ".txt")
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v, err := readToolVector(file)
			if err != nil {
				t.Fatal(err)
			}
			v.run(t)
		})
	}
}

func (v toolVector) run(t *testing.T) {
	ctx := context.Background()
	base := t.TempDir()
	dir := filepath.Join(base, "room")
	want := map[string]string{}
	put := func(at, text string) {
		t.Helper()
		if err := errors.Join(os.MkdirAll(filepath.Dir(at), 0o700), os.WriteFile(at, []byte(text), 0o600)); err != nil {
			t.Fatal(err)
		}
	}
	accept := map[string]bool{}
	for _, l := range v.lines {
		name, text, _ := strings.Cut(l[1], " = ")
		switch l[0] {
		case "file", "raw":
			put(filepath.Join(dir, name), text)
			want[name], accept[name] = text, l[0] == "file"
		case "beside":
			put(filepath.Join(base, name), text)
			want["../"+name] = text
		case "link":
			name, target, _ := strings.Cut(l[1], " -> ")
			if err := errors.Join(os.MkdirAll(dir, 0o700), os.Symlink(target, filepath.Join(dir, name))); err != nil {
				t.Fatal(err)
			}
		}
	}
	r, err := Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	for _, m := range listed(t, r, stageUnaccepted) {
		if accept[m.Path] {
			if _, err := r.Adopt(ctx, UserObserved, m); err != nil {
				t.Fatal(err)
			}
		}
	}
	g := session(t, r, UserObserved).Guard(1)
	var answer Ruling
	var call string
	marked := true // the error line of the call before was met, or there is none
	for _, l := range append(v.lines, [2]string{"call", ""}) {
		value := strings.ReplaceAll(l[1], "$ROOM", dir)
		name, text, _ := strings.Cut(value, " = ")
		switch l[0] {
		case "call":
			if !marked && answer.IsError {
				t.Errorf("%s: an error: %q", call, answer.Text)
			}
			if call, marked = value, false; call != "" {
				answer = g.Check(ctx, Call{Tool: toolMemory, Args: json.RawMessage(call)})
			}
		case "error":
			if marked = true; !answer.IsError {
				t.Errorf("%s: not marked as an error: %q", call, answer.Text)
			}
		case "says":
			if diff := cmp.Diff(value, answer.Text); diff != "" {
				t.Errorf("%s (-want +got):\n%s", call, diff)
			}
		case "part":
			if !strings.Contains(answer.Text, value) {
				t.Errorf("%s: %q, want %q in it", call, answer.Text, value)
			}
		case "not":
			if strings.Contains(answer.Text, value) {
				t.Errorf("%s: %q, and %q is in it", call, answer.Text, value)
			}
		case "holds":
			want[name] = text
		case "gone":
			delete(want, name)
		}
	}
	if diff := cmp.Diff(want, filesBeside(t, dir)); diff != "" {
		t.Errorf("files (-want +got):\n%s", diff)
	}
}

// filesBeside reads the files of a room and of the directory that holds it, by names
// relative to the room, without the index and the library's own.
func filesBeside(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(filepath.Dir(dir), func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && d.Name() == ".scribe":
			return fs.SkipDir
		case !d.Type().IsRegular() || d.Name() == indexName:
			return nil
		}
		data, err := os.ReadFile(name)
		rel, _ := filepath.Rel(dir, name) // below its parent, by the walk
		files[filepath.ToSlash(rel)] = string(data)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}
