package scribe

// Reports of other systems' users whose scenario needs two writers, a lock, two rooms or a
// damaged journal, each a subtest with the report's name (testdata/reports.txt). The other
// reports are scripts, or are held by the test that the list names.

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/memoryroom/scribe/internal/rootfs"
)

// TestReportsOfWriters: more than one at a time, and locks that somebody left.
func TestReportsOfWriters(t *testing.T) {
	ctx := context.Background()
	t.Run("conc-lost-append", func(t *testing.T) {
		const n = 16
		save := func(r *Room, i int) {
			wantAccepted(t, offer(t, r, UserObserved, Candidate{Path: fmt.Sprintf("k%02d.md", i), Text: fmt.Sprintf("Fact %d.\n", i)}))
		}
		together, _ := newRoom(t, &Options{Now: time.Now}) // the clock of the tests is for one goroutine
		var wg sync.WaitGroup
		for i := range n {
			wg.Go(func() { save(together, i) })
		}
		wg.Wait()
		apart, _ := newRoom(t, nil)
		for i := range n {
			save(apart, i)
		}
		text := func(r *Room) (all []string) {
			for _, m := range listed(t, r) {
				all = append(all, m.Path+" "+m.Text)
			}
			return all
		}
		if got, want := text(together), text(apart); len(want) != n || !slices.Equal(got, want) {
			t.Errorf("together %q\napart %q", got, want)
		}
		added := 0
		for rec, err := range together.History(ctx, "") {
			if err != nil {
				t.Fatal(err)
			}
			if rec.Op == "add" && strings.HasPrefix(rec.Path, "k") {
				added++
			}
		}
		if a, b := lastRow(t, together), lastRow(t, apart); added != n || a != b {
			t.Errorf("%d rows of %d saves; the last is %d, and %d when apart", added, n, a, b)
		}
	})
	t.Run("conc-agent-team-same-index", func(t *testing.T) {
		r, _ := newRoom(t, &Options{Now: time.Now})
		var vs [2]Verdict
		var wg sync.WaitGroup
		for i := range vs {
			wg.Go(func() {
				vs[i] = offer(t, r, UserObserved, Candidate{Path: fmt.Sprintf("api-%d.md", i), Key: "api", Text: fmt.Sprintf("It speaks version %d.\n", i)})
			})
		}
		wg.Wait()
		if vs[0].Outcome != Accepted {
			vs[0], vs[1] = vs[1], vs[0]
		}
		wantAccepted(t, vs[0])
		wantRule(t, vs[1], Held, "conflict.key")
		if now, waits := listed(t, r), listed(t, r, stagePending); len(now) != 1 || len(waits) != 1 || now[0].Path == waits[0].Path {
			t.Errorf("%q stand, %q wait", paths(now), paths(waits))
		}
	})
	t.Run("conc-stale-replace-clobbers-outside-edit", func(t *testing.T) {
		dir, r := diskFolder(t, nil)
		seen := store(t, r, UserObserved, Candidate{Path: "a.md", Text: "One.\n"})
		edited := "One.\n" + strings.Repeat("- a line by hand\n", 500)
		at := filepath.Join(dir, "a.md")
		if err := os.WriteFile(at, []byte(edited), 0o600); err != nil {
			t.Fatal(err)
		}
		stale := Candidate{Path: "a.md", Text: "Two.\n", Base: seen.Hash}
		for who, v := range map[string]Verdict{"a model": offer(t, r, UserObserved, stale), "the operator": byHand(t, r, stale)} {
			if v.Outcome == Accepted {
				t.Errorf("%s wrote over it", who)
			}
		}
		if now, err := os.ReadFile(at); err != nil || string(now) != edited {
			t.Errorf("%v; the edit is now %.40q", err, now)
		}
		stale.Base = listed(t, r, stageUnaccepted)[0].Hash
		wantAccepted(t, byHand(t, r, stale))
		kept := false
		for name, text := range filesBelow(t, dir, true) {
			kept = kept || strings.HasPrefix(name, ".scribe/versions/") && text == edited
		}
		if !kept || read(t, r, "a.md") != "Two.\n" {
			t.Errorf("the edit is kept: %v; the memory is %q", kept, read(t, r, "a.md"))
		}
	})
	t.Run("lock-zero-byte", func(t *testing.T) { leftLock(t, "") })
	t.Run("lock-pid-reused", func(t *testing.T) { leftLock(t, fmt.Sprintf(`{"pid":%d,"host":"here"}`, os.Getpid())) })
	t.Run("lock-hung-owner", func(t *testing.T) {
		r := diskRoom(t)
		store(t, r, UserObserved, Candidate{Path: "a.md", Text: "The harbour opens at six.\n"})
		other, err := Open(r.disk.Path(), nil)
		if err != nil {
			t.Fatal(err)
		}
		defer other.Close()
		unlock, err := other.disk.Lock(ctx)
		if err != nil {
			t.Fatal(err)
		}
		soon, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
		defer cancel()
		if vs, err := r.Propose(soon, Candidate{Path: "b.md", Text: "B.\n"}); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("beside a held lock: %v, %v", vs, err)
		}
		if got := pathsFound(t, r, Query{Text: "harbour"}); !slices.Equal(got, []string{"a.md"}) {
			t.Errorf("a reader waits: %q", got)
		}
		done := make(chan Verdict)
		go func() { done <- byHand(t, r, Candidate{Path: "c.md", Text: "C.\n"}) }()
		select {
		case v := <-done:
			t.Errorf("written under another's lock: %v", v)
		case <-time.After(100 * time.Millisecond):
			unlock()
			wantAccepted(t, <-done)
		}
		unlock()
		if got := paths(listed(t, r)); !slices.Equal(got, []string{"a.md", "c.md"}) {
			t.Errorf("%q", got)
		}
	})
}

// leftLock: what a process left in the lock file says nothing of who holds it.
func leftLock(t *testing.T, left string) {
	t.Helper()
	r := diskRoom(t)
	store(t, r, UserObserved, Candidate{Path: "a.md", Text: "A.\n"})
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(r.disk.Path(), ".scribe", "lock"), []byte(left), 0o600); err != nil {
		t.Fatal(err)
	}
	again, err := Open(r.disk.Path(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	vs, err := again.Propose(ctx, Candidate{Path: "b.md", Text: "B.\n"})
	if err != nil || vs[0].Outcome != Accepted {
		t.Errorf("%v, %v", vs, err)
	}
}

// TestReportsOfJournals: a line that is no row, at the end and in the middle.
func TestReportsOfJournals(t *testing.T) {
	t.Run("conc-jsonl-interleaved", func(t *testing.T) {
		for name, tail := range map[string]string{"half a row": `{"seq":9,"op":"add","pa`, "a row without its line feed": `{"seq":9}`} {
			r, mem := newRoom(t, nil)
			store(t, r, UserObserved, Candidate{Path: "a.md", Text: "A.\n"})
			last := lastRow(t, r)
			data := must1(r.disk.LibRead(auditName, maxAudit))
			mem.Plant(".scribe/"+auditName, rootfs.File, append(data, tail...))
			r = reopen(t, mem, nil)
			store(t, r, UserObserved, Candidate{Path: "b.md", Text: "B.\n"})
			for line := range bytes.Lines(must1(r.disk.LibRead(auditName, maxAudit))) {
				if !json.Valid(line) || !bytes.HasSuffix(line, []byte("\n")) {
					t.Errorf("%s: a line is %q", name, line)
				}
			}
			if got := lastRow(t, r); got <= last || len(listed(t, reopen(t, mem, nil))) != 2 {
				t.Errorf("%s: row %d follows %d", name, got, last)
			}
			if aside := everyFile(t, mem, ".scribe"); !strings.Contains(fmt.Sprint(aside), tail) {
				t.Errorf("%s: the tail is nowhere", name)
			}
		}
	})
	// Who stands behind a text is not guessed: such a room opens no more. It says where and
	// what to do, touches nothing, and both things that it says to do work.
	t.Run("conc-one-bad-line-kills-all", func(t *testing.T) {
		ctx := context.Background()
		dir, r := diskFolder(t, nil)
		store(t, r, UserObserved, Candidate{Path: "a.md", Text: "A.\n"})
		store(t, r, UserObserved, Candidate{Path: "b.md", Text: "B.\n"})
		r.Close()
		at := filepath.Join(dir, ".scribe", auditName)
		good := must1(os.ReadFile(at))
		lines := bytes.SplitAfter(good, []byte("\n"))
		lines[1] = []byte("{\"seq\":2,\"op\n")
		plant := func(data []byte) {
			t.Helper()
			if err := os.WriteFile(at, data, 0o600); err != nil {
				t.Fatal(err)
			}
		}
		plant(bytes.Join(lines, nil))
		before := filesBelow(t, dir, true)
		where := fmt.Sprintf("row 2, byte %d", len(lines[0]))
		if _, err := Open(dir, nil); err == nil || !strings.Contains(err.Error(), where) || !strings.Contains(err.Error(), "restore it from a copy, or move .scribe aside") {
			t.Errorf("opened: %v", err)
		}
		if now := filesBelow(t, dir, true); changedFiles(before, now) != "" {
			t.Errorf("the disk changed:\n%s", changedFiles(before, now))
		}
		plant(good)
		if got := paths(listed(t, openAt(t, dir, nil))); !slices.Equal(got, []string{"a.md", "b.md"}) {
			t.Errorf("from a copy: %q", got)
		}
		plant(bytes.Join(lines, nil))
		if err := os.Rename(filepath.Join(dir, ".scribe"), filepath.Join(t.TempDir(), "aside")); err != nil {
			t.Fatal(err)
		}
		anew := openAt(t, dir, nil)
		if vs, err := anew.Adopt(ctx, UserObserved, listed(t, anew, stageUnaccepted)...); err != nil || len(vs) != 3 { // the index is one
			t.Fatal(vs, err)
		}
		if got := paths(listed(t, anew)); !slices.Equal(got, []string{"a.md", "b.md"}) {
			t.Errorf("adopted anew: %q", got)
		}
	})
}

// TestReportsOfScope: more than one room, and disks that only give.
func TestReportsOfScope(t *testing.T) {
	ctx := context.Background()
	two := func(t *testing.T) (a, b *Room) {
		a, _ = newRoom(t, &Options{Name: "alpha", Suggest: suggestLive, Now: still})
		b, _ = newRoom(t, &Options{Name: "beta", Suggest: suggestLive, Now: still})
		store(t, a, Operator, Candidate{Path: "a.md", Key: "a", VerifyWhen: "P1D", Text: "The canary of alpha sings.\n"})
		store(t, b, Operator, Candidate{Path: "b.md", Key: "b", VerifyWhen: "P1D", Text: "The canary of beta sings.\n"})
		return a, b
	}
	// said is all that a session gives a model.
	said := func(t *testing.T, s *Session) string {
		sn, err := s.Snapshot(ctx)
		if err != nil {
			t.Fatal(err)
		}
		out := sn.Text
		for step := range 3 {
			d, err1 := s.Delta(ctx)
			m, err2 := s.Remind(ctx, step)
			if err1 != nil || err2 != nil {
				t.Fatal(err1, err2)
			}
			out += d.Text + m.Text
		}
		g := s.Guard(1)
		for _, path := range []string{"", "a.md", "b.md"} {
			out += memoryCommand(g, view(path)).Text
		}
		out += g.Check(ctx, Call{Tool: "recall", Args: `{"query":"canary sings"}`}).Text
		hits, err := s.Suggest(ctx, userSaid(1, "do you remember the canary that sings?"))
		if err != nil {
			t.Fatal(err)
		}
		if len(hits) == 0 {
			t.Error("control: nothing is suggested")
		}
		return out + fmt.Sprint(hits)
	}
	t.Run("scope-one-path-unfiltered", func(t *testing.T) {
		a, b := two(t)
		if out := said(t, session(t, a, UserObserved)); strings.Contains(out, "beta") || strings.Count(out, "canary of alpha") < 3 {
			t.Errorf("a session of one room says\n%s", out)
		}
		s, err := a.Session(ctx, "both", UserObserved, b)
		if err != nil {
			t.Fatal(err)
		}
		if out := said(t, s); !strings.Contains(out, "canary of beta") {
			t.Errorf("control: a session of both says\n%s", out)
		}
	})
	t.Run("scope-cross-project-bleed", func(t *testing.T) {
		project, user := two(t)
		s, err := project.Session(ctx, "both", UserObserved, user)
		if err != nil {
			t.Fatal(err)
		}
		sn, err := s.Snapshot(ctx)
		if err != nil || !strings.Contains(sn.Text, `room="alpha"`) || !strings.Contains(sn.Text, `room="beta"`) {
			t.Errorf("%v\n%s", err, sn.Text)
		}
		wantAccepted(t, proposed(t, s.Guard(1), Candidate{Path: "style.md", Key: "style", Text: "Tabs, here.\n"}))
		if mine, theirs := paths(listed(t, project)), paths(listed(t, user)); !slices.Contains(mine, "style.md") || len(theirs) != 1 {
			t.Errorf("the project has %q, the user %q", mine, theirs)
		}
	})
	t.Run("git-id-clash-clones", func(t *testing.T) {
		here, _ := newRoom(t, nil)
		there, _ := newRoom(t, nil)
		store(t, here, Operator, Candidate{Path: "x.md", Text: "Here.\n"})
		store(t, there, Operator, Candidate{Path: "x.md", Text: "There.\n"})
		vs, err := here.Import(ctx, bytes.NewReader(exportOf(t, there)), Operator)
		if err != nil || len(vs) != 1 {
			t.Fatal(vs, err)
		}
		wantRule(t, vs[0], Rejected, "stale.path")
		if got := read(t, here, "x.md"); !strings.HasSuffix(got, "Here.\n") {
			t.Errorf("the last one won: %q", got)
		}
		wantAccepted(t, byHand(t, here, Candidate{Path: "x.md", To: "x-here.md"}))
		if vs, err = here.Import(ctx, bytes.NewReader(exportOf(t, there)), Operator); err != nil {
			t.Fatal(err)
		}
		wantAccepted(t, vs[0])
		if a, b := read(t, here, "x-here.md"), read(t, here, "x.md"); !strings.HasSuffix(a, "Here.\n") || !strings.HasSuffix(b, "There.\n") {
			t.Errorf("they are %q and %q", a, b)
		}
	})
	t.Run("path-readonly-fs", func(t *testing.T) {
		r, mem := newRoom(t, nil)
		store(t, r, Operator, Candidate{Path: "a.md", Text: "The harbour opens at six.\n"})
		before := everyFile(t, mem, "")
		mem.Hook(func(op, name string) error {
			if slices.Contains([]string{"lstat", "read", "readdir", "identity"}, op) {
				return nil
			}
			return syscall.EROFS
		})
		again, err := tryOpen(t, mem)
		if err != nil {
			t.Fatal(err)
		}
		if got := pathsFound(t, again, Query{Text: "harbour"}); !slices.Equal(got, []string{"a.md"}) || len(listed(t, again)) != 1 {
			t.Errorf("found %q", got)
		}
		sn, err := session(t, again, UserObserved).Snapshot(ctx)
		if err != nil || !strings.Contains(sn.Text, "harbour") {
			t.Errorf("%v\n%s", err, sn.Text)
		}
		if vs, err := again.Propose(ctx, Candidate{Path: "b.md", Text: "B.\n"}); !errors.Is(err, fs.ErrPermission) && !errors.Is(err, syscall.EROFS) {
			t.Errorf("saved on a disk that only gives: %v, %v", vs, err)
		}
		mem.Hook(nil)
		if diff := changedFiles(before, everyFile(t, mem, "")); diff != "" {
			t.Errorf("the disk changed:\n%s", diff)
		}
	})
}
