package scribe

// The behaviours that other systems promise and no other file tests, each under the name
// that it has in the list of them, and the list itself.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestRowsAndReports fails for a row or a report that has no test of its name.
func TestRowsAndReports(t *testing.T) {
	files, err := filepath.Glob("*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	var tests strings.Builder
	for _, name := range files {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		tests.Write(text)
	}
	named := func(list string, names func(id string) []string) {
		text, err := os.ReadFile(filepath.Join("testdata", list))
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for line := range strings.Lines(string(text)) {
			w := strings.Fields(line)
			if len(w) == 0 || w[0] == "#" {
				continue
			}
			n++
			switch {
			case len(w) > 1 && w[1] == "-": // no test, and why
				if len(w) < 6 {
					t.Errorf("%s: no reason is given", w[0])
				}
				continue
			case len(w) == 3:
				if there, err := os.ReadFile(w[1]); err != nil || !testNames(string(there), w[2], w[0]) {
					t.Errorf("%s: %s is not in %s, or does not name it: %v", w[0], w[2], w[1], err)
				}
				continue
			case len(w) > 1:
				t.Errorf("%s: a line is a name, a name with file and test, or a name, - and a reason", w[0])
			}
			if _, err := os.Stat(filepath.Join("testdata", "script", w[0]+".txtar")); err == nil {
				continue
			}
			found := false
			for _, name := range names(w[0]) {
				found = found || strings.Contains(tests.String(), name)
			}
			if !found {
				t.Errorf("%s has no test", w[0])
			}
		}
		if n < 30 {
			t.Errorf("%s lists %d names", list, n)
		}
	}
	named("rows.txt", func(id string) []string { return []string{"func TestRow" + id + "_"} })
	named("reports.txt", func(id string) []string { return []string{fmt.Sprintf("t.Run(%q,", id)} })
}

// testNames reports whether a file has that test and speaks of id in it, or in its comment.
func testNames(file, test, id string) bool {
	at := strings.Index(file, "\nfunc "+test+"(")
	if at < 0 {
		return false
	}
	from := max(strings.LastIndex(file[:at], "\n}\n"), 0)
	all := file[from:]
	if end := strings.Index(all[at-from:], "\n}\n"); end >= 0 {
		all = all[:at-from+end]
	}
	return strings.Contains(all, id)
}

// pathsFound lists the paths of hits, in their order.
func pathsFound(t testing.TB, r *Room, q Query) (paths []string) {
	t.Helper()
	hits, err := r.Recall(context.Background(), q)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range hits {
		paths = append(paths, h.Memory.Path)
	}
	return paths
}

func TestRowC35_SearchByStage(t *testing.T) {
	r, _ := newRoom(t, nil)
	store(t, r, Operator, Candidate{Path: "much.md", Text: "Harbour, harbour, and the harbour again.\n"})
	store(t, r, Operator, Candidate{Path: "little.md", Text: strings.Repeat("Other words stand here. ", 20) + "Harbour.\n"})
	store(t, r, Operator, Candidate{Path: "gone.md", Text: "The old harbour.\n"})
	if err := archived(r, "gone.md"); err != nil {
		t.Fatal(err)
	}
	offer(t, r, UserObserved, Candidate{Path: "much.md", Text: "The harbour waits.\n"})
	if got := pathsFound(t, r, Query{Text: "harbour"}); len(got) != 2 || got[0] != "much.md" {
		t.Errorf("what stands: %q", got)
	}
	if got := pathsFound(t, r, Query{Text: "harbour", Stages: []string{stageArchived}}); len(got) != 1 || got[0] != "gone.md" {
		t.Errorf("the archive: %q", got)
	}
	if got := pathsFound(t, r, Query{Text: "harbour", Stages: []string{stagePending}}); len(got) != 1 {
		t.Errorf("what waits: %q", got)
	}
}

func TestRowC36_NameBeforeBody(t *testing.T) {
	r, _ := newRoom(t, nil)
	store(t, r, Operator, Candidate{Path: "harbour.md", Description: "hours", Text: "It opens at six in the morning.\n"})
	store(t, r, Operator, Candidate{Path: "notes.md", Description: "hours", Text: "It opens at six, says the harbour.\n"})
	if got := pathsFound(t, r, Query{Text: "harbour"}); len(got) != 2 || got[0] != "harbour.md" {
		t.Errorf("%q", got)
	}
}

func TestRowC37_ChineseWithoutSpaces(t *testing.T) {
	r, _ := newRoom(t, nil)
	store(t, r, Operator, Candidate{Path: "sandbox.md", Text: "沙箱禁止命名管道。\n"})
	store(t, r, Operator, Candidate{Path: "other.md", Text: "发布在星期二。\n"})
	if got := pathsFound(t, r, Query{Text: "沙箱禁管道"}); len(got) != 1 || got[0] != "sandbox.md" {
		t.Errorf("%q", got)
	}
}

func TestRowC38_WhatAHitCarries(t *testing.T) {
	r, _ := newRoom(t, nil)
	store(t, r, UserObserved, Candidate{Path: "a.md", Description: "ports", Key: "port", Tags: []string{"net"}, Text: "Line one.\n\nThe harbour is at port nine.\n"})
	hits, err := r.Recall(context.Background(), Query{Text: "harbour"})
	if err != nil || len(hits) != 1 {
		t.Fatal(hits, err)
	}
	h := hits[0]
	if h.Score <= 0 || !strings.Contains(h.Snippet, "harbour is at port nine") || h.Memory.Key != "port" || h.Memory.Stage != stageActive ||
		len(h.Memory.Tags) != 1 || h.Memory.Modified.IsZero() || h.Memory.Trust != UserObserved || h.Memory.Hash == "" {
		t.Errorf("%+v", h)
	}
}

// TestRowC39_Limits holds the report search-flood.
func TestRowC39_Limits(t *testing.T) {
	r, _ := newRoom(t, nil)
	for i := range 30 {
		store(t, r, Operator, Candidate{Path: fmt.Sprintf("n%02d.md", i), Text: fmt.Sprintf("Harbour number %d.\n", i)})
	}
	for most, want := range map[int]int{0: defHits, -1: defHits, 3: 3, 20: 20, 1_000_000: maxHits} {
		if got := len(pathsFound(t, r, Query{Text: "harbour", Max: most})); got != want {
			t.Errorf("Max %d gives %d hits, want %d", most, got, want)
		}
	}
}

func TestRowC40_TextHoldsEveryHit(t *testing.T) {
	r, _ := newRoom(t, nil)
	for i := range 8 {
		store(t, r, UserObserved, Candidate{Path: fmt.Sprintf("n%d.md", i), Text: fmt.Sprintf("Harbour number %d.\n", i)})
	}
	got := session(t, r, UserObserved).Guard(1).Check(context.Background(), Call{Tool: "recall", Args: `{"query":"harbour","max":8}`})
	for i := range 8 {
		if !strings.Contains(got.Text, fmt.Sprintf("n%d.md", i)) {
			t.Errorf("n%d.md is not in\n%s", i, got.Text)
		}
	}
}

// TestRowC41_NoDirectoryIsAnError holds the report scope-empty-means-all.
func TestRowC41_NoDirectoryIsAnError(t *testing.T) {
	if r, err := Open("", nil); err == nil {
		r.Close()
		t.Error("a room without a directory opened")
	}
}

func TestRowC46_ErrorsAreReturned(t *testing.T) {
	for name, o := range map[string]*Options{
		"name": {Name: "No Name"}, "key": {Key: []byte("short")}, "limit": {Limits: Limits{Memories: -1}}, "waiver": {Waive: map[string]string{"gravity": "why not"}},
	} {
		if r, err := Open(filepath.Join(t.TempDir(), "room"), o); err == nil || !strings.HasPrefix(err.Error(), "options: ") {
			t.Errorf("%s: %v, %v", name, r, err)
		}
	}
	if err := (*Room)(nil).Close(); err != nil {
		t.Error(err)
	}
	if _, err := new(Room).Archive(context.Background(), "", "", "a.md"); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("a zero room: %v", err)
	}
}

func TestRowC47_WritesGoToTheRoom(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	r, err := Open(filepath.Join(dir, "room"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	t.Chdir(elsewhere)
	wantAccepted(t, byHand(t, r, Candidate{Path: "a.md", Text: "A.\n"}))
	if _, err := os.Stat(filepath.Join(dir, "room", "a.md")); err != nil {
		t.Error(err)
	}
	if left := filesBelow(t, elsewhere, true); len(left) > 0 {
		t.Errorf("written to the process's directory: %v", left)
	}
}

// No host and no process: the import graph is tested as a whole by TestImports; these name
// what must never be in it.
func TestRowC62_NeedsNoHost(t *testing.T) {
	for _, f := range libraryFiles(t) {
		for _, spec := range f.ast.Imports {
			first, _, _ := strings.Cut(strings.Trim(spec.Path.Value, `"`), "/")
			if strings.Contains(first, ".") && !strings.HasPrefix(strings.Trim(spec.Path.Value, `"`), module) &&
				!strings.Contains(spec.Path.Value, "golang.org/x/text") && !strings.Contains(spec.Path.Value, "gopkg.in/yaml.v3") {
				t.Errorf("%s imports %s", f.name, spec.Path.Value)
			}
		}
	}
}

func TestRowC65_StartsNoProcess(t *testing.T) {
	for _, f := range libraryFiles(t) {
		for _, spec := range f.ast.Imports {
			if p := strings.Trim(spec.Path.Value, `"`); p == "os/exec" || p == "net" || strings.HasPrefix(p, "net/http") {
				t.Errorf("%s imports %s", f.name, p)
			}
		}
	}
}

// TestReportsOfLimits: reports whose scenario needs a loop or another clock.
func TestReportsOfLimits(t *testing.T) {
	ctx := context.Background()
	t.Run("cap-warning-names-nothing", func(t *testing.T) {
		r, _ := newRoom(t, nil)
		for i := range 205 {
			store(t, r, Operator, Candidate{Path: fmt.Sprintf("m%03d.md", i), Text: fmt.Sprintf("Memory %d.\n", i)})
		}
		sn, err := session(t, r, UserObserved).Snapshot(ctx)
		if err != nil {
			t.Fatal(err)
		}
		if len(sn.Shown)+sn.Omitted != 205 || sn.Omitted == 0 || !strings.Contains(sn.Text, fmt.Sprintf("%d", sn.Omitted)) {
			t.Errorf("%d shown, %d omitted of 205:\n%.300s", len(sn.Shown), sn.Omitted, sn.Text[len(sn.Text)-300:])
		}
		v := offer(t, r, UserObserved, Candidate{Path: "more.md", Text: "One more.\n"})
		named := false
		for _, n := range v.Notices {
			named = named || strings.HasPrefix(n.Rule, "cap.index-") && strings.Contains(n.Fix, ".md")
		}
		if v.Outcome != Accepted || !named {
			t.Errorf("the writer is told %+v", v.Notices)
		}
	})
	t.Run("cap-silent-content-clip", func(t *testing.T) {
		r, _ := newRoom(t, nil)
		v := offer(t, r, UserObserved, Candidate{Path: "big.md", Text: strings.Repeat("é", 200_000)})
		wantRule(t, v, Rejected, "cap.memory-bytes")
		if !strings.Contains(v.Findings[0].Message, "400000") || !strings.Contains(v.Findings[0].Message, fmt.Sprint(defMemory)) {
			t.Errorf("it says %q", v.Findings[0].Message)
		}
		whole := strings.Repeat("é", defMemory/2)
		wantAccepted(t, offer(t, r, UserObserved, Candidate{Path: "fits.md", Text: whole}))
		if read(t, r, "fits.md") != whole {
			t.Error("what fits exactly is not stored whole")
		}
	})
	t.Run("time-future-date", func(t *testing.T) {
		// The age of a text is when it was accepted here: what it says of itself moves no rank.
		r, _ := newRoom(t, nil)
		store(t, r, Operator, Candidate{Path: "a.md", Text: "---\ncreated: 2026-09-01\n---\nThe alpha.\n"})
		store(t, r, Operator, Candidate{Path: "f.md", Text: "---\ncreated: 2099-01-01\n---\nThe alpha.\n", Key: ""})
		hits, err := r.Recall(ctx, Query{Text: "alpha"})
		if err != nil || len(hits) != 2 {
			t.Fatal(hits, err)
		}
		if d := hits[0].Score - hits[1].Score; hits[0].Memory.Path == "f.md" && d > hits[0].Score/100 {
			t.Errorf("the date from the future leads by %d of %d", d, hits[0].Score)
		}
	})
}
