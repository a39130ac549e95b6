package scribe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/memoryroom/scribe/internal/entry"
)

// gitRoom is a room of three memories, with everything under git, and a clone of it.
func gitRoom(t *testing.T, o *Options, ignore string) (one, two string) {
	t.Helper()
	one, two = filepath.Join(t.TempDir(), "one"), filepath.Join(t.TempDir(), "two")
	r := openAt(t, one, o)
	for _, p := range []string{"a.md", "b.md", "c.md"} {
		store(t, r, UserObserved, Candidate{Path: p, Text: "The fact of " + p + "\n"})
	}
	git(t, one, "init", "-q", "-b", "main")
	if err := os.WriteFile(filepath.Join(one, ".gitignore"), []byte(ignore), 0o600); err != nil {
		t.Fatal(err)
	}
	r.Close()
	commitAll(t, one, "room")
	git(t, one, "clone", "-q", ".", two)
	git(t, one, "remote", "add", "two", two)
	return one, two
}

const homeFiles = "/.scribe/lock\n/.scribe/local\n/.scribe/reserve\n/.scribe/checkpoint\n/.scribe/cache\n/.scribe/tmp\n/.scribe/sessions\n/.scribe/swept\n"

// TestG11_AMergeWithoutAKeyOpens: a journal in which git left conflict markers is read without
// a key as a copy is, and Check repairs it without an editor; nothing of either side is lost.
func TestG11_AMergeWithoutAKeyOpens(t *testing.T) {
	ctx := context.Background()
	one, two := gitRoom(t, nil, homeFiles)
	a, b := openAt(t, one, nil), openAt(t, two, nil)
	wantAccepted(t, byHand(t, a, Candidate{Path: "a.md", Old: "The fact", New: "ONE's fact"}))
	if v := offer(t, a, ExternalWeb, Candidate{Path: "b.md", Text: "waits in one\n"}); v.Outcome != Held {
		t.Fatal(v)
	}
	if vs, err := b.Adopt(ctx, UserObserved, listed(t, b, stageUnaccepted)...); err != nil || vs[0].Outcome != Accepted {
		t.Fatal(vs, err)
	}
	for i := range 4 {
		wantAccepted(t, byHand(t, b, Candidate{Path: "c.md", Old: "The fact", New: fmt.Sprintf("Mark %d. The fact", i)}))
	}
	a.Close()
	b.Close()
	commitAll(t, one, "one")
	commitAll(t, two, "two")
	git(t, one, "fetch", "-q", "two")
	if out, err := tryGit(t, one, "merge", "two/main"); err == nil || !bytes.Contains(fileAt(t, one, ".scribe/audit.jsonl"), []byte("<<<<<<< ")) {
		t.Fatalf("control: no markers in the journal:\n%s", out)
	}
	was := filesBelow(t, one, true)

	r := openAt(t, one, nil)
	if now := filesBelow(t, one, true); changedFiles(was, now) != "" {
		t.Errorf("opening it changed\n%s", changedFiles(was, now))
	}
	if got := listed(t, r, stageActive, stageChanged, stagePending, stageArchived); len(got) > 0 {
		t.Errorf("accepted: %q", paths(got))
	}
	if got := paths(listed(t, r, stageUnaccepted)); !slices.Contains(got, "a.md") || !slices.Contains(got, "c.md") {
		t.Errorf("unaccepted: %q", got)
	}
	if text := snapshotText(t, r); strings.Contains(text, "fact of") {
		t.Errorf("shown:\n%s", text)
	}
	if _, err := r.Propose(ctx, Candidate{Path: "n.md", Text: "n\n"}); !errors.Is(err, fs.ErrPermission) || !strings.Contains(err.Error(), "Check with repair") {
		t.Errorf("a change: %v", err)
	}
	if found := rulesOf(must1(r.Check(ctx, false)), Held); !slices.Contains(found, "check.merge "+auditName) {
		t.Errorf("check: %v", found)
	}
	r.Close()

	// Taking one side gives that side's room back.
	git(t, one, "checkout", "-q", "--ours", ".scribe")
	r = openAt(t, one, nil)
	if got := read(t, r, "a.md"); got != "ONE's fact of a.md\n" {
		t.Errorf("with one side taken, a.md is %q", got)
	}
	r.Close()
	git(t, one, "checkout", "-q", "-m", ".scribe")

	r = openAt(t, one, nil)
	held := rulesOf(must1(r.Check(ctx, true)), Held)
	if slices.ContainsFunc(held, func(f string) bool { return strings.Contains(f, auditName) }) {
		t.Errorf("after the repair: %v", held)
	}
	for i := range 2 { // through the handle that repaired it, and through another
		if got := listed(t, r, stageActive, stageChanged, stagePending, stageArchived); i == 0 && len(got) > 0 {
			t.Errorf("accepted after the repair: %q", paths(got))
		}
		m := listed(t, r, stageUnaccepted)
		for _, m := range m {
			if vs := must1(r.Adopt(ctx, UserObserved, m)); !entry.ConflictMarkers([]byte(m.Text)) && m.Path != indexName && vs[0].Outcome != Accepted {
				t.Errorf("adopting %s: %v", m.Path, vs)
			}
		}
		if got := read(t, r, "a.md"); got != "ONE's fact of a.md\n" {
			t.Errorf("a.md is %q", got)
		}
		r.Close()
		r = openAt(t, one, nil)
	}
	all := ""
	for _, text := range filesBelow(t, one, true) {
		all += text
	}
	for name, text := range was {
		for line := range strings.Lines(text) {
			if strings.HasPrefix(name, ".scribe/") && !strings.Contains(all, strings.TrimSpace(line)) && !strings.HasPrefix(line, "<<<<") && !strings.HasPrefix(line, ">>>>") && line != "=======\n" && !staysHome(name) {
				t.Errorf("%s: lost: %.200s", name, line)
			}
		}
	}
}

// TestGitUnderAnOpenRoom: git pull, merge and checkout while a handle is open. It goes on,
// or says that the journal was replaced, and never that it was tampered with; what was
// acknowledged is there when it is opened again.
func TestGitUnderAnOpenRoom(t *testing.T) {
	ctx := context.Background()
	o := &Options{Key: bytes.Repeat([]byte{7}, keySize)}
	look := func(r *Room) error {
		for _, err := range r.List(ctx) {
			if err != nil {
				return err
			}
		}
		return nil
	}
	start := func(t *testing.T) (one, two string, a, b *Room) {
		one, two = gitRoom(t, o, homeFiles)
		git(t, one, "config", "core.autocrlf", "false")
		return one, two, openAt(t, one, o), openAt(t, two, o)
	}
	pull := func(t *testing.T, one string) {
		t.Helper()
		git(t, one, "fetch", "-q", "two")
		tryGit(t, one, "merge", "-q", "two/main")
	}
	t.Run("fast-forward", func(t *testing.T) {
		one, two, a, b := start(t)
		wantAccepted(t, byHand(t, b, Candidate{Path: "a.md", Old: "The fact", New: "TWO's fact"}))
		commitAll(t, two, "two")
		pull(t, one)
		if got := read(t, a, "a.md"); got != "TWO's fact of a.md\n" {
			t.Errorf("a.md is %q", got)
		}
		wantAccepted(t, byHand(t, a, Candidate{Path: "b.md", Old: "The fact", New: "ONE's fact"}))
	})
	t.Run("merge", func(t *testing.T) {
		one, two, a, b := start(t)
		wantAccepted(t, byHand(t, a, Candidate{Path: "b.md", Old: "The fact", New: "ONE's fact"}))
		wantAccepted(t, byHand(t, b, Candidate{Path: "a.md", Old: "The fact", New: "TWO's fact"}))
		commitAll(t, one, "one")
		commitAll(t, two, "two")
		pull(t, one)
		if err := look(a); err != nil {
			t.Errorf("a reader: %v", err)
		}
		wantAccepted(t, byHand(t, a, Candidate{Path: "c.md", Old: "The fact", New: "ONE's fact"}))
		for _, r := range []*Room{a, openAt(t, one, o)} {
			for path, want := range map[string]string{"a.md": "TWO's", "b.md": "ONE's", "c.md": "ONE's"} {
				if got := read(t, r, path); got != want+" fact of "+path+"\n" {
					t.Errorf("%s is %q", path, got)
				}
			}
		}
	})
	for name, leave := range map[string]func(t *testing.T, one string){
		"checkout of an older commit": func(t *testing.T, one string) { git(t, one, "checkout", "-q", "HEAD~1") },
		"another branch":              func(t *testing.T, one string) { git(t, one, "checkout", "-q", "side") },
		"a branch without a room":     func(t *testing.T, one string) { git(t, one, "checkout", "-q", "none") },
	} {
		t.Run(name, func(t *testing.T) {
			one, _, a, _ := start(t)
			git(t, one, "branch", "none")
			git(t, one, "checkout", "-q", "-b", "side")
			wantAccepted(t, byHand(t, a, Candidate{Path: "c.md", Old: "The fact", New: "SIDE's fact"}))
			commitAll(t, one, "side")
			a.Close()
			git(t, one, "checkout", "-q", "none")
			git(t, one, "rm", "-rq", "--cached", ".")
			if err := os.WriteFile(filepath.Join(one, "README"), []byte("x"), 0o600); err != nil {
				t.Fatal(err)
			}
			git(t, one, "add", "README")
			git(t, one, "commit", "-q", "-m", "no room")
			git(t, one, "clean", "-qfdx", "-e", "lock", "-e", "local")
			git(t, one, "checkout", "-q", "-f", "main")
			a = openAt(t, one, o)
			wantAccepted(t, byHand(t, a, Candidate{Path: "b.md", Old: "The fact", New: "ONE's fact"}))
			commitAll(t, one, "one")
			leave(t, one)
			// A journal of the same size is noticed when something is to be built on it.
			if err := look(a); err != nil && !errors.Is(err, errReplaced) || err == nil && name != "another branch" {
				t.Errorf("a reader: %v", err)
			}
			if _, err := a.Propose(ctx, Candidate{Path: "n.md", Text: "n\n"}); !errors.Is(err, errReplaced) {
				t.Errorf("a change: %v", err)
			}
			a.Close()
			git(t, one, "checkout", "-q", "-f", "main")
			if got := read(t, openAt(t, one, o), "b.md"); got != "ONE's fact of b.md\n" {
				t.Errorf("back again, b.md is %q", got)
			}
		})
	}
	t.Run("rows of other lengths", func(t *testing.T) {
		// What is longer than what was read does not pass for a torn end: nothing is cut off.
		for _, first := range []time.Duration{0, time.Nanosecond} {
			now := time.Date(2026, 9, 21, 8, 12, 0, 0, time.UTC)
			o := *o
			o.Now = func() time.Time { return now }
			one, _ := gitRoom(t, &o, homeFiles)
			git(t, one, "checkout", "-q", "-b", "side")
			now = now.Add(time.Nanosecond - first)
			a := openAt(t, one, &o)
			wantAccepted(t, byHand(t, a, Candidate{Path: "c.md", Old: "The fact", New: "SIDE's fact"}))
			a.Close()
			commitAll(t, one, "side")
			git(t, one, "checkout", "-q", "-f", "main")
			now = now.Add(2*first - time.Nanosecond)
			a = openAt(t, one, &o)
			wantAccepted(t, byHand(t, a, Candidate{Path: "b.md", Old: "The fact", New: "ONE's fact"}))
			commitAll(t, one, "one")
			git(t, one, "checkout", "-q", "side")
			was := fileAt(t, one, ".scribe/audit.jsonl")
			if _, err := a.Propose(ctx, Candidate{Path: "n.md", Text: "n\n"}); !errors.Is(err, errReplaced) {
				t.Errorf("a change: %v", err)
			}
			if !bytes.Equal(fileAt(t, one, ".scribe/audit.jsonl"), was) {
				t.Error("the other side's journal was changed")
			}
			a.Close()
		}
	})
	t.Run("tampered", func(t *testing.T) {
		one, _, a, _ := start(t)
		wantAccepted(t, byHand(t, a, Candidate{Path: "b.md", Old: "The fact", New: "ONE's fact"}))
		lines := strings.SplitAfter(string(fileAt(t, one, ".scribe/audit.jsonl")), "\n")
		if err := os.WriteFile(filepath.Join(one, ".scribe", auditName), []byte(lines[0]+strings.Join(lines[2:len(lines)-2], "")), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := look(a); err == nil || !strings.Contains(err.Error(), "tampered") {
			t.Errorf("a row cut out: %v", err)
		}
	})
}

// TestG10_ClonesPrunedApart: two clones that dropped different rows of what they had in common,
// merged by git, are one room again.
func TestG10_ClonesPrunedApart(t *testing.T) {
	ctx := context.Background()
	for n := range 4 {
		longer, both := n%2, n/2 == 1
		o := sharedKey(1_500)
		r, mem := newRoom(t, o)
		for i := range 12 {
			wantAccepted(t, byHand(t, r, Candidate{Path: "a.md", Text: fmt.Sprint("fact ", i, "\n"), Base: hashOf(r, "a.md")}))
		}
		if both { // one of them has dropped rows before
			must1(r.Prune(ctx, 0, 0, false))
			for i := range 12 {
				wantAccepted(t, byHand(t, r, Candidate{Path: "b.md", Text: fmt.Sprint("fact ", i, "\n"), Base: hashOf(r, "b.md")}))
			}
		}
		base := everyFile(t, mem, "")
		mem2 := mem.CrashClone(newRNG(1), 1)
		mem2.SetIdentity("another machine")
		two := reopen(t, mem2, o)
		sides := []*Room{r, two}
		must1(two.Prune(ctx, 0, 0, false))
		wantAccepted(t, byHand(t, r, Candidate{Path: "here.md", Text: "here\n"}))
		wantAccepted(t, byHand(t, two, Candidate{Path: "there.md", Text: "there\n"}))
		for i := range 6 {
			wantAccepted(t, byHand(t, sides[longer], Candidate{Path: fmt.Sprintf("x%d.md", i), Text: fmt.Sprint("fill ", i, "\n")}))
		}
		merged(t, base, everyFile(t, mem, ""), everyFile(t, mem2, ""), mem, true)
		again, err := openMem(t, mem, o)
		if err != nil {
			t.Errorf("longer %d, both %v: %v", longer, both, err)
			continue
		}
		for path, want := range map[string]string{"a.md": "fact 11\n", "here.md": "here\n", "there.md": "there\n"} {
			if got := read(t, again, path); got != want {
				t.Errorf("longer %d, both %v: %s is %q", longer, both, path, got)
			}
		}
		if _, err := openMem(t, mem, o); err != nil {
			t.Errorf("longer %d, both %v: opened again: %v", longer, both, err)
		}
	}
}
