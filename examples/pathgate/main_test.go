package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// program runs the program and returns what it printed.
func program(t *testing.T, args ...string) (code int, out, errs string) {
	t.Helper()
	var o, e strings.Builder
	code = run(args, &o, &e)
	return code, o.String(), e.String()
}

func TestOwnCases(t *testing.T) {
	code, out, errs := program(t)
	if code != 0 || errs != "" {
		t.Fatalf("exit code %d: %s%s", code, errs, out)
	}
	t.Log("\n" + out)
	for _, want := range []string{"| scribe | IsLocal | securejoin | go-git |", "| **all hostile** |", "scribe: 0 of ", " 0 of 26 ordinary ones refused"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in what it printed", want)
		}
	}
}

// TestPublishedTables holds the table of SECURITY.md to what the program prints (the names of
// the classes, how many cases each has, and our own column), and its sums in README.md.
func TestPublishedTables(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("the table counts devices and bind mounts, which only root can make")
	}
	_, out, _ := program(t)
	for _, doc := range []string{"README.md", "SECURITY.md"} {
		text, err := os.ReadFile(filepath.Join("..", "..", doc))
		if err != nil {
			t.Fatal(err)
		}
		rows, least := 0, 10
		if doc == "README.md" {
			least = 2
		}
		for line := range strings.Lines(out) {
			cells := strings.Split(line, "|")
			if len(cells) < 5 || strings.Contains(line, "---") {
				continue
			}
			if doc == "README.md" && !strings.Contains(cells[1], "all hostile") && !strings.Contains(cells[1], "refused") {
				continue
			}
			rows++
			if want := strings.Join(cells[:4], "|") + "|"; !strings.Contains(string(text), want) {
				t.Errorf("%s has no row %q", doc, want)
			}
		}
		if rows < least {
			t.Errorf("control: %d rows", rows)
		}
	}
}

// TestTeeth holds that the comparison is one: every peer allows some of the hostile
// names, refuses others, and no ordinary one.
func TestTeeth(t *testing.T) {
	cases, err := readCases("")
	if err != nil {
		t.Fatal(err)
	}
	base := t.TempDir()
	peers, err := allPeers(base)
	if err != nil {
		t.Fatal(err)
	}
	tab := newTable(peers, true)
	for _, c := range cases {
		if len(c.Setup) > 0 {
			continue // what needs rights is in TestOwnCases
		}
		answers, err := runCase(base, c, peers)
		if err != nil {
			t.Fatalf("%s: %v", c.ID, err)
		}
		tab.add(c, answers)
	}
	for i, p := range peers {
		if got := tab.hostile.wrong[i]; !p.ours && (got == 0 || got == tab.hostile.cases) {
			t.Errorf("%s allows %d of %d hostile names", p.name, got, tab.hostile.cases)
		}
		if got := tab.benign.wrong[i]; got > 0 {
			t.Errorf("%s refuses %d ordinary names", p.name, got)
		}
	}
}

// TestWrongAnswer holds that a case which the gate gets wrong shows in the output
// and in the exit code, and that classes unknown to the program have a row.
func TestWrongAnswer(t *testing.T) {
	dir := t.TempDir()
	line := `{"id": "made-up", "path": "plain.md", "op": "write", "expect": "deny", "class": "odd"}` + "\n"
	if err := os.WriteFile(filepath.Join(dir, "paths.jsonl"), []byte(line), 0o600); err != nil {
		t.Fatal(err)
	}
	code, out, _ := program(t, "-cases", dir)
	if code != 1 || !strings.Contains(out, "wrong: made-up") || !strings.Contains(out, "| odd | 1 | 1 |") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

func TestFlags(t *testing.T) {
	empty := t.TempDir()
	for _, tt := range []struct {
		args []string
		code int
		errs string
	}{
		{[]string{"-h"}, 0, "-cases"},
		{[]string{"-by", "mood"}, 2, "usage"},
		{[]string{"x"}, 2, "usage"},
		{[]string{"-nope"}, 2, "-nope"},
		{[]string{"-cases", empty}, 1, "paths.jsonl"},
		{[]string{"-names", empty}, 1, "no .md file"},
	} {
		if code, _, errs := program(t, tt.args...); code != tt.code || !strings.Contains(errs, tt.errs) {
			t.Errorf("%q: exit code %d, want %d: %s", tt.args, code, tt.code, errs)
		}
	}
}

func TestNames(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"README.md", "docs.md", "AGENTS.md", "x.txt"} {
		if err := os.WriteFile(filepath.Join(dir, name), nil, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if code, out, _ := program(t, "-names", dir); code != 0 || !strings.Contains(out, "3 distinct names: 1 instruction files, 0 others refused (0.00 %)") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
	if err := os.WriteFile(filepath.Join(dir, "a$b.md"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if code, out, _ := program(t, "-names", dir); code != 1 || !strings.Contains(out, "path.shell") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

// TestModuleCache judges the names of the Markdown files that came with Go modules,
// of whatever is in the cache.
func TestModuleCache(t *testing.T) {
	cache, err := exec.Command("go", "env", "GOMODCACHE").Output()
	if err != nil {
		t.Skipf("no go command to ask for the module cache: %v", err)
	}
	dir := strings.TrimSpace(string(cache))
	if _, err := os.Stat(dir); err != nil {
		t.Skipf("no module cache: %v", err)
	}
	code, out, errs := program(t, "-names", dir)
	if strings.Contains(errs, "no .md file") {
		t.Skip("the module cache holds no .md file")
	}
	t.Log("\n" + out)
	if code != 0 {
		t.Errorf("exit code %d: %s", code, errs)
	}
}
