package scribe

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// program finds an installed program, or skips the test.
func program(t testing.TB, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("%s is not installed", name)
	}
	return path
}

// git runs git in dir, without anybody's configuration, and fails the test when it fails.
func git(t testing.TB, dir string, args ...string) string {
	t.Helper()
	out, err := tryGit(t, dir, args...)
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return out
}

func tryGit(t testing.TB, dir string, args ...string) (string, error) {
	t.Helper()
	cmd := exec.Command(program(t, "git"), args...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.org", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.org")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// commitAll records everything that is not ignored.
func commitAll(t testing.TB, dir, message string) {
	t.Helper()
	git(t, dir, "add", "-A")
	git(t, dir, "commit", "-q", "-m", message)
}

func openAt(t testing.TB, dir string, o *Options) *Room {
	t.Helper()
	r, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r
}

// TestG11_CopiesAreUnaccepted: a room that came by a real clone, copy or archive.
func TestG11_CopiesAreUnaccepted(t *testing.T) {
	ctx := context.Background()
	from := filepath.Join(t.TempDir(), "room")
	original := openAt(t, from, nil)
	store(t, original, Operator, Candidate{Path: "a.md", Text: "The fact of a.\n"})
	store(t, original, Operator, Candidate{Path: "d/b.md", Text: "The fact of b.\n"})
	offer(t, original, ExternalWeb, Candidate{Path: "a.md", Text: "poison\n"})
	for name, carry := range map[string]func(t *testing.T, to string){
		"git clone": func(t *testing.T, to string) {
			repo := filepath.Join(t.TempDir(), "repo")
			if err := os.CopyFS(repo, os.DirFS(from)); err != nil {
				t.Fatal(err)
			}
			git(t, repo, "init", "-q")
			commitAll(t, repo, "room")
			git(t, repo, "clone", "-q", ".", to)
		},
		"cp -a": func(t *testing.T, to string) {
			if out, err := exec.Command(program(t, "cp"), "-a", from, to).CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		},
		"tar": func(t *testing.T, to string) {
			tar := program(t, "tar")
			packed, err := exec.Command(tar, "-C", from, "-cf", "-", ".").Output()
			if err != nil {
				t.Fatal(err)
			}
			if err := os.MkdirAll(to, 0o700); err != nil {
				t.Fatal(err)
			}
			unpack := exec.Command(tar, "-C", to, "-xpf", "-")
			unpack.Stdin = bytes.NewReader(packed)
			if out, err := unpack.CombinedOutput(); err != nil {
				t.Fatalf("%v: %s", err, out)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			to := filepath.Join(t.TempDir(), "copy")
			carry(t, to)
			r := openAt(t, to, nil)
			if got := listed(t, r, stageActive, stageChanged, stagePending, stageArchived); len(got) > 0 {
				t.Errorf("accepted or waiting in a copy: %q", paths(got))
			}
			if text := snapshotText(t, r); strings.Contains(text, "fact of") {
				t.Errorf("a copy's text is shown:\n%s", text)
			}
			all := listed(t, r, stageUnaccepted)
			if vs, err := r.Adopt(ctx, UserObserved, all...); err != nil || len(vs) != 3 || vs[1].Outcome != Accepted || vs[2].Outcome != Accepted {
				t.Errorf("adopt: %v, %v", vs, err)
			}
			if text := snapshotText(t, r); !strings.Contains(text, "fact of a") {
				t.Errorf("what was adopted is not shown:\n%s", text)
			}
			if fs, err := r.Check(ctx, false); err != nil || len(rulesOf(fs, Held)) > 0 {
				t.Errorf("check: %v, %v", fs, err)
			}
		})
	}
	if got := len(listed(t, original)); got != 2 {
		t.Errorf("the original has %d memories", got)
	}
}

// TestG10_MergedClones: two clones with one key both write, plain git merges them, and
// nothing is lost.
func TestG10_MergedClones(t *testing.T) {
	for _, advice := range []bool{false, true} {
		t.Run(fmt.Sprintf("attributes=%v", advice), func(t *testing.T) { mergedClones(t, advice) })
	}
}

func mergedClones(t *testing.T, advice bool) {
	ctx := context.Background()
	o := &Options{Key: bytes.Repeat([]byte{7}, keySize), segment: 6_000}
	one, two := filepath.Join(t.TempDir(), "one"), filepath.Join(t.TempDir(), "two")
	a := openAt(t, one, o)
	for _, p := range []string{"both.md", "here.md", "there.md", "gone.md", "moved.md", "purged.md", "kept.md"} {
		store(t, a, UserVerified, Candidate{Path: p, Text: "The fact of " + p + "\n"})
	}
	git(t, one, "init", "-q", "-b", "main")
	ignore, attributes := a.GitAdvice()
	if !advice {
		attributes = ""
	}
	for name, text := range map[string]string{".gitignore": ignore, ".gitattributes": attributes} {
		if err := os.WriteFile(filepath.Join(one, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	commitAll(t, one, "room")
	git(t, one, "clone", "-q", ".", two)
	git(t, two, "config", "core.autocrlf", "false")

	b := openAt(t, two, o)
	if got := len(listed(t, b)); got != 7 {
		t.Fatalf("with the key a clone has %d memories, want 7", got)
	}
	edit := func(r *Room, path, to string) {
		t.Helper()
		wantAccepted(t, byHand(t, r, Candidate{Path: path, Old: "The fact", New: to}))
	}
	edit(a, "both.md", "ONE's fact")
	edit(a, "here.md", "ONE's fact")
	store(t, a, UserVerified, Candidate{Path: "new-one.md", Text: "New in one.\n"})
	edit(b, "both.md", "TWO's fact")
	edit(b, "there.md", "TWO's fact")
	store(t, b, UserObserved, Candidate{Path: "new-two.md", Text: "New in two.\n"})
	wantAccepted(t, byHand(t, b, Candidate{Path: "moved.md", To: "d/moved.md"}))
	if err := archived(b, "gone.md"); err != nil {
		t.Fatal(err)
	}
	if left, err := b.Purge(ctx, "purged.md", "asked to"); err != nil || len(left) > 0 {
		t.Fatal(left, err)
	}
	if v := offer(t, b, ExternalWeb, Candidate{Path: "kept.md", Text: "something else\n"}); v.Outcome != Held {
		t.Fatal(v)
	}
	headOne, headTwo := headOf(t, a), headOf(t, b)
	a.Close()
	b.Close()
	commitAll(t, one, "one")
	commitAll(t, two, "two")
	git(t, one, "remote", "add", "two", two)
	git(t, one, "fetch", "-q", "two")
	out, err := tryGit(t, one, "merge", "two/main")
	if err == nil || !strings.Contains(out, "both.md") {
		t.Fatalf("control: the merge has no conflict:\n%s", out)
	}
	if marked := bytes.Contains(fileAt(t, one, ".scribe/audit.jsonl"), []byte("<<<<<<< ")); marked == advice {
		t.Fatalf("control: markers in the journal: %v", marked)
	}

	a = openAt(t, one, o)
	check := func(name string, r *Room) {
		t.Helper()
		want := map[string]string{
			"here.md": "ONE's fact of here.md\n", "there.md": "TWO's fact of there.md\n", "new-one.md": "New in one.\n",
			"new-two.md": "New in two.\n", "d/moved.md": "The fact of moved.md\n", "kept.md": "The fact of kept.md\n",
		}
		for _, m := range listed(t, r) {
			if text, ok := want[m.Path]; m.Path != "both.md" && (!ok || m.Text != text) {
				t.Errorf("%s: %s holds %q, want %q", name, m.Path, m.Text, text)
			}
			if m.Path == "new-two.md" && m.Trust != UserObserved || m.Path == "kept.md" && m.Trust != UserVerified {
				t.Errorf("%s: %s has trust %v", name, m.Path, m.Trust)
			}
			delete(want, m.Path)
		}
		if len(want) > 0 {
			t.Errorf("%s: lost: %v", name, want)
		}
		if got := paths(listed(t, r, stageArchived, stagePending)); !slices.Equal(got, []string{"gone.md", "kept.md"}) {
			t.Errorf("%s: archived and pending are %q", name, got)
		}
		for _, head := range []string{headOne, headTwo} {
			if err := r.Verify(ctx, head); err != nil {
				t.Errorf("%s: a head from before the merge: %v", name, err)
			}
		}
		for at, text := range filesBelow(t, r.disk.Path(), true) {
			if strings.Contains(text, "fact of purged.md") && !strings.Contains(at, ".git/") {
				t.Errorf("%s: %s holds purged text", name, at)
			}
		}
	}
	check("merged", a)
	both, err := a.Read(ctx, "both.md")
	if err != nil || both.Stage != stageChanged || !strings.Contains(both.Text, "'s fact of both.md") || strings.Contains(both.Text, "<<<<") {
		t.Errorf("both.md is shown as %q (%s), %v", both.Text, both.Stage, err)
	}
	waits := listed(t, a, stageUnaccepted)
	if len(waits) != 1 || waits[0].Path != "both.md" || len(waits[0].Findings) != 1 || waits[0].Findings[0].Rule != "adopt.merge" {
		t.Errorf("the conflict does not surface: %+v", waits)
	}
	for _, side := range []string{"ONE", "TWO"} { // both texts are kept
		if !slices.ContainsFunc(keptTexts(t, a), func(s string) bool { return s == side+"'s fact of both.md" }) {
			t.Errorf("%s's text of both.md is lost", side)
		}
	}
	seen := snapshotText(t, a) + memoryCommand(session(t, a, UserObserved).Guard(1), view("/memories/both.md")).Text + memoryCommand(session(t, a, UserObserved).Guard(1), view("/memories/MEMORY.md")).Text
	for _, marker := range []string{"<<<<<<<", ">>>>>>>", "======="} {
		if strings.Contains(seen, marker) {
			t.Errorf("a model is shown %s:\n%s", marker, seen)
		}
	}
	if index := string(fileAt(t, one, indexName)); strings.Contains(index, "<<<<") || strings.Count(index, "new-") != 2 || strings.Contains(index, "gone.md") {
		t.Errorf("MEMORY.md is\n%s", index)
	}
	fs, err := a.Check(ctx, false)
	if held := rulesOf(fs, Held); err != nil || !slices.Equal(held, []string{"check.merge both.md"}) {
		t.Errorf("check: %v, %v", held, err)
	}
	was := filesBelow(t, one, true)
	a.Close()
	a = openAt(t, one, o)
	if now := filesBelow(t, one, true); changedFiles(was, now) != "" {
		t.Errorf("opening it again changed\n%s", changedFiles(was, now))
	}

	// The operator resolves, and the other clone takes the result.
	if vs, err := a.Adopt(ctx, UserVerified, waits...); err != nil || vs[0].Outcome != Rejected {
		t.Errorf("an unresolved merge was adopted: %v, %v", vs, err)
	}
	if err := os.WriteFile(filepath.Join(one, "both.md"), []byte("Their fact of both.md\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if vs, err := a.Adopt(ctx, UserVerified, listed(t, a, stageUnaccepted)...); err != nil || len(vs) != 1 || vs[0].Outcome != Accepted {
		t.Errorf("the resolved file: %v, %v", vs, err)
	}
	a.Close()
	commitAll(t, one, "merged")
	git(t, two, "pull", "-q", one, "main")
	b = openAt(t, two, o)
	check("pulled", b)
	if text := read(t, b, "both.md"); text != "Their fact of both.md\n" {
		t.Errorf("pulled: both.md is %q", text)
	}
	if fs, err := b.Check(ctx, false); err != nil || len(rulesOf(fs, Held)) > 0 {
		t.Errorf("pulled: check: %v, %v", rulesOf(fs, Held), err)
	}
}

func fileAt(t testing.TB, dir, name string) []byte {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	return data
}
