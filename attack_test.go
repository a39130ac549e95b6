package scribe

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/memoryroom/scribe/internal/journal"
	"github.com/memoryroom/scribe/internal/rootfs"
)

// Attacks that once succeeded, one test or subtest each, named after what must hold.

const payout = "The payout account is 999 at the other bank" // what an outside text wants to say

// TestOutsideWordsAreNotRaised: what came from outside keeps its trust, by whatever
// way it goes round.
func TestOutsideWordsAreNotRaised(t *testing.T) {
	ctx := context.Background()
	const said = "I like short commit messages"
	web := func(t *testing.T) *Room {
		r, _ := newRoom(t, nil)
		store(t, r, ExternalWeb, Candidate{Path: "w.md", Text: "alpha\n" + payout + ".\nomega\n"})
		return r
	}
	t.Run("a snippet is reading", func(t *testing.T) {
		r := web(t)
		g := session(t, r, UserObserved).Guard(1)
		memoryCommand(g, map[string]any{"command": "str_replace", "path": "/memories/w.md", "old_str": "alpha", "new_str": "beta"})
		if v := proposed(t, g, Candidate{Path: "n.md", Text: payout + ".\n"}); v.Memory.Trust != ExternalWeb {
			t.Errorf("stamped %v", v.Memory.Trust)
		}
	})
	t.Run("what the main agent viewed stays in its conversation", func(t *testing.T) {
		r := web(t)
		s := session(t, r, UserObserved)
		memoryCommand(s.Guard(1), view("w.md"))
		if v := proposed(t, s.Guard(2), Candidate{Path: "n.md", Text: payout + " always.\n"}); v.Memory.Trust != ExternalWeb {
			t.Errorf("the next turn's words are stamped %v", v.Memory.Trust)
		}
		s = session(t, r, UserObserved)
		memoryCommand(s.Guard(1), view("w.md"))
		extract(t, s, Turn{N: 2, Low: UserObserved}, Policy{}, func(g *Guard) {
			if got := g.author().ceiling; got != ExternalWeb {
				t.Errorf("the writer's ceiling is %v", got)
			}
		})
	})
	for name, c := range map[string]Candidate{
		"a name is text":       {Path: payout + ".md", Text: said + "\n"},
		"a directory is text":  {Path: payout + "/a.md", Text: said + "\n"},
		"a comment is text":    {Path: "a.md", Text: "---\n# " + payout + "\ndescription: " + said + "\n---\n" + said + "\n"},
		"a key is text":        {Path: "a.md", Key: payout, Text: said + "\n"},
		"a type is text":       {Path: "a.md", Text: "---\ntags: [" + payout + "]\n---\n" + said + "\n"},
		"a YAML key is text":   {Path: "a.md", Text: "---\n" + payout + ": " + said + "\n---\n" + said + "\n"},
		"a block scalar, too":  {Path: "a.md", Text: "---\nverify_when: |\n  " + payout + "\n---\n" + said + "\n"},
		"an end line, as well": {Path: "a.md", Text: "---\ndescription: " + said + "\n---\n" + said + "\n" + payout},
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := newRoom(t, nil)
			if v := offer(t, r, ExternalWeb, c, said); v.Outcome == Accepted && v.Memory.Trust > ExternalWeb {
				t.Errorf("stamped %v", v.Memory.Trust)
			}
		})
	}
	t.Run("a span that takes words away", func(t *testing.T) {
		r, _ := newRoom(t, nil)
		const rule = "Never push to production without two approvals"
		v := offer(t, r, UserObserved, Candidate{Path: "rule.md", Text: rule + "\n"}, rule)
		if v.Memory.Trust != UserVerified {
			t.Fatalf("control: %v", v.Memory.Trust)
		}
		v = offer(t, r, ExternalWeb, Candidate{Path: "rule.md", Old: rule, New: "push to production without"}, "what does it take to push to production without downtime")
		wantRule(t, v, Held, "conflict.higher-trust")
	})
	t.Run("a guard's turn may be pasted", func(t *testing.T) {
		r, _ := newRoom(t, nil)
		v := proposed(t, session(t, r, UserObserved).Guard(1, "look:\n```\n"+payout+"\n```\n"), Candidate{Path: "a.md", Text: payout + "\n"})
		if v.Memory.Trust > ExternalWeb {
			t.Errorf("stamped %v", v.Memory.Trust)
		}
	})
	t.Run("no ceiling makes a model the operator", func(t *testing.T) {
		r, _ := newRoom(t, nil)
		s, err := r.Session(ctx, "op", Operator)
		if err != nil {
			t.Fatal(err)
		}
		if v := proposed(t, s.Guard(1), Candidate{Path: "b.md", Text: "Said by nobody.\n"}); v.Memory.Trust > UserObserved {
			t.Errorf("stamped %v", v.Memory.Trust)
		}
	})
}

// TestPasteShapes: however Markdown quotes a text, it was not typed.
func TestPasteShapes(t *testing.T) {
	for _, msg := range []string{
		"see this page:\n````md\n```\n" + payout + "\n```\n````\nthanks",
		"see:\n~~~\n```\n" + payout + "\n```\n~~~\n",
		"see:\n- ```\n  " + payout + "\n  ```\n",
		"see:\n- > " + payout + "\n",
		"see:\n> first line\n" + payout + "\n",
		"see:\n\n    " + payout + "\n",
		"see:\n\n\t" + payout + "\n",
		"see:\n<pre>\n" + payout + "\n</pre>",
		"see:\n1. ~~~\n   " + payout + "\n   ~~~\n",
		"see:\r\n```\r\n" + payout + "\r\n```\r\n",
	} {
		if verbatim([]byte(payout), []string{msg}) || !pasted([]string{msg}) {
			t.Errorf("%q counts as typed", msg)
		}
	}
	if !verbatim([]byte(payout), []string{"please note: " + payout}) {
		t.Error("control: what was typed does not count")
	}
}

// TestOutsideNamesAreNotShown: the name of an outside memory is outside text.
func TestOutsideNamesAreNotShown(t *testing.T) {
	const name = payout + ".md"
	r, mem := newRoom(t, nil)
	store(t, r, UserObserved, Candidate{Path: "a.md", Text: "A fact.\n"})
	store(t, r, ExternalWeb, Candidate{Path: name, Key: "auth", Text: "x y z\n"})
	index, err := r.readIndex()
	if err != nil || strings.Contains(string(index), payout) || !strings.Contains(string(index), "a.md") {
		t.Errorf("MEMORY.md, %v:\n%s", err, index)
	}
	got := memoryCommand(session(t, r, UserObserved).Guard(1), create("auth.md", "Auth uses JWT.\n"))
	if strings.Contains(got.Text, payout) {
		t.Errorf("the key's owner is named: %s", got.Text)
	}
	mem.Plant(name, rootfs.File, []byte("x y z\r\n"))
	if text := snapshotText(t, r); strings.Contains(text, payout) {
		t.Errorf("changed outside, and named:\n%s", text)
	}
	if text := snapshotText(t, reopen(t, mem, &Options{Waive: map[string]string{"unaccepted": "mine"}})); strings.Contains(text, payout) {
		t.Errorf("changed outside with a waiver, and named:\n%s", text)
	}
	r, _ = newRoom(t, &Options{ReviewAll: true})
	s := session(t, r, UserObserved)
	extract(t, s, Turn{N: 1, Low: ExternalWeb}, Policy{}, func(g *Guard) {
		wantRule(t, proposed(t, g, Candidate{Path: name, Text: "x y z\n"}), Held, "review.all")
	})
	if got := memoryCommand(s.Guard(2), view("")).Text; strings.Contains(got, payout) {
		t.Errorf("the waiting candidate is named:\n%s", got)
	}
}

// TestCeilingIsStoredBeforeItCounts: a memory on the disk has its session there too.
func TestCeilingIsStoredBeforeItCounts(t *testing.T) {
	ctx := context.Background()
	open := func(r *Room, c Trust) *Session {
		s, err := r.Session(ctx, "one", c)
		if err != nil {
			t.Fatal(err)
		}
		return s
	}
	for name, first := range map[string]bool{"before the room exists": false, "in a room": true} {
		r, mem := newRoom(t, nil)
		if first {
			store(t, r, Operator, Candidate{Path: "z.md", Text: "Z.\n"})
		}
		wantAccepted(t, proposed(t, open(r, ExternalWeb).Guard(1), Candidate{Path: "a.md", Text: "A.\n"}))
		if got := open(reopen(t, mem, nil), UserObserved).Ceiling(); got != ExternalWeb {
			t.Errorf("%s: after a restart the ceiling is %v", name, got)
		}
	}
}

// TestFreedNamesAreJudged: a memory that is gone still has a say about its name.
func TestFreedNamesAreJudged(t *testing.T) {
	r, mem := newRoom(t, nil)
	store(t, r, UserObserved, Candidate{Path: "a.md", Text: "Standing truth.\n"})
	mem.Unplant("a.md")
	wantRule(t, offer(t, r, ExternalWeb, Candidate{Path: "a.md", Text: "A lie.\n"}), Held, "conflict.retired")
	wantRule(t, offer(t, r, ExternalWeb, Candidate{Path: "b.md", Key: "a", Text: "A lie.\n"}), Held, "")

	r, _ = newRoom(t, nil)
	m := store(t, r, UserObserved, Candidate{Path: "a.md", Text: "Standing truth.\n"})
	if err := archived(r, "a.md"); err != nil {
		t.Fatal(err)
	}
	wantRule(t, offer(t, r, ExternalWeb, Candidate{Path: "a.md", Text: "A lie.\n", Base: m.Hash}), Held, "conflict.retired")
	wantAccepted(t, offer(t, r, UserObserved, Candidate{Path: "a.md", Text: "Standing truth.\n"}))
}

// TestSmallChangesArrive: a change of the frontmatter alone is a change.
func TestSmallChangesArrive(t *testing.T) {
	r, _ := newRoom(t, nil)
	m := store(t, r, UserObserved, Candidate{Path: "a.md", Text: "---\ndescription: d\ntags: [a]\n---\nbody\n"})
	g := session(t, r, UserObserved).Guard(1)
	got := memoryCommand(g, map[string]any{"command": "insert", "path": "/memories/a.md", "insert_line": 3, "insert_text": "verify_when: tomorrow\n"})
	want := "---\ndescription: d\ntags: [a]\nverify_when: tomorrow\n---\nbody\n"
	if text := read(t, r, "a.md"); text != want {
		t.Errorf("insert: %s\ngot %q, want %q", got.Text, text, want)
	}
	m, err := r.Read(context.Background(), "a.md")
	if err != nil {
		t.Fatal(err)
	}
	want = "---\ndescription: d\ntags: [b]\n---\nbody\n"
	wantAccepted(t, byHand(t, r, Candidate{Path: "a.md", Base: m.Hash, Text: want}))
	if text := read(t, r, "a.md"); text != want {
		t.Errorf("got %q, want %q", text, want)
	}
	if v := offer(t, r, UserObserved, Candidate{Path: "a.md"}); v.Outcome == Accepted || read(t, r, "a.md") != want {
		t.Errorf("an empty candidate is %v; the text is %q", v.Outcome, read(t, r, "a.md"))
	}
}

// TestLostRaces: an editor's save wins over every operation, and each says so.
func TestLostRaces(t *testing.T) {
	ctx := context.Background()
	for name, act := range map[string]func(r *Room, held Verdict) error{
		"edit": func(r *Room, _ Verdict) error {
			return byHand(t, r, Candidate{Path: "a.md", Old: "two", New: "three"}).Err()
		},
		"rename":   func(r *Room, _ Verdict) error { return byHand(t, r, Candidate{Path: "a.md", To: "b.md"}).Err() },
		"archive":  func(r *Room, _ Verdict) error { return archived(r, "a.md") },
		"rollback": func(r *Room, _ Verdict) error { v, err := rolledBack(r, 2, "a.md"); return errors.Join(err, v.Err()) },
		"restore":  func(r *Room, _ Verdict) error { v, err := restored(r, "gone.md"); return errors.Join(err, v.Err()) },
		"approve": func(r *Room, held Verdict) error {
			vs, err := r.Resolve(ctx, Resolution{ID: held.ID, Hash: held.Memory.Hash, Approve: true})
			return errors.Join(err, vs[0].Err())
		},
	} {
		t.Run(name, func(t *testing.T) {
			r, mem := newRoom(t, nil)
			store(t, r, Operator, Candidate{Path: "a.md", Text: "one\n"})
			wantAccepted(t, byHand(t, r, Candidate{Path: "a.md", Old: "one", New: "two"}))
			store(t, r, Operator, Candidate{Path: "gone.md", Text: "gone\n"})
			if err := archived(r, "gone.md"); err != nil {
				t.Fatal(err)
			}
			held := offer(t, r, UserObserved, Candidate{Path: "a.md", Old: "two", New: "2"})
			path := "a.md"
			if name == "restore" {
				path = "gone.md"
			}
			done := false
			mem.Hook(func(op, at string) error {
				if !done && (op == "exchange" || op == "rename") && (at == path || strings.HasSuffix(at, rootfs.TakenOut) || name == "rename" && at == "b.md") {
					done = true
					mem.Plant(path, rootfs.File, []byte("outside\n"))
				}
				return nil
			})
			err := act(r, held)
			mem.Hook(nil)
			if !errors.Is(err, ErrStale) {
				t.Errorf("got %v, want ErrStale", err)
			}
			if got, err := mem.Read(path, maxMemory); err != nil || string(got) != "outside\n" {
				t.Errorf("the editor's save is %q, %v", got, err)
			}
			if name == "approve" && len(listed(t, r, stagePending)) != 1 {
				t.Error("the candidate does not wait any more")
			}
			fs, err := r.Check(ctx, false)
			if err != nil || slices.ContainsFunc(fs, func(f Finding) bool { return f.Rule != "check.changed" }) {
				t.Errorf("check: %v, %v", fs, err)
			}
		})
	}
}

// TestPlansTouchDisjointNames: no plan is half done, and no plan makes twins.
func TestPlansTouchDisjointNames(t *testing.T) {
	ctx := context.Background()
	for name, cs := range map[string][]Candidate{
		"a file and a directory":        {{Path: "x1.md", Text: "a\n"}, {Path: "x1.md/y.md", Text: "b\n"}},
		"case":                          {{Path: "x1.md", Text: "a\n"}, {Path: "X1.md", Text: "b\n"}},
		"directories, and case":         {{Path: "x1/a.md", Text: "a\n"}, {Path: "X1/b.md", Text: "b\n"}},
		"scripts":                       {{Path: "\u0441\u043e\u0440.md", Text: "a\n"}, {Path: "cop.md", Text: "b\n"}},
		"a rename into a file":          {{Path: "x.md", Text: "x\n"}, {Path: "a.md", To: "x.md/b.md"}},
		"a rename onto one":             {{Path: "b.md", Text: "b\n"}, {Path: "a.md", To: "b.md"}},
		"two renames of one":            {{Path: "a.md", To: "b.md"}, {Path: "a.md", To: "c.md"}},
		"an edit of what goes":          {{Path: "a.md", Old: "standing", New: "new"}, {Path: "a.md", Remove: true}},
		"an edit of what is superseded": {{Path: "a.md", Old: "standing", New: "new"}, {Path: "b.md", Text: "b\n", Supersedes: []string{"a.md"}}},
		"superseded by two":             {{Path: "c.md", Text: "c\n", Supersedes: []string{"a.md"}}, {Path: "b.md", Text: "b\n", Supersedes: []string{"a.md"}}},
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := newRoom(t, nil)
			store(t, r, UserObserved, Candidate{Path: "a.md", Text: "standing truth\n"})
			vs, err := r.Propose(ctx, append(cs, Candidate{Path: "zz.md", Text: "c\n"})...)
			if err != nil {
				t.Fatal(err)
			}
			for _, v := range vs {
				if v.Outcome == Accepted {
					t.Errorf("%s is accepted", v.Memory.Path)
				}
			}
			store(t, r, UserObserved, Candidate{Path: "any.md", Text: "any\n"})
			if got, want := paths(listed(t, r, stageActive, stageUnaccepted, stageArchived)), []string{"a.md", "any.md"}; !slices.Equal(got, want) {
				t.Errorf("got %q, want %q", got, want)
			}
			if fs, err := r.Check(ctx, false); err != nil || len(fs) > 0 {
				t.Errorf("%v, %v", fs, err)
			}
		})
	}
}

// TestApprovalBindsWhatWasShown, and nothing that came up since.
func TestApprovalBindsWhatWasShown(t *testing.T) {
	ctx := context.Background()
	r, mem := newRoom(t, &Options{ReviewAll: true})
	m := store(t, r, Operator, Candidate{Path: "a.md", Text: "one two\n"})
	if vs, err := r.Adopt(ctx, UserObserved, m); err != nil || vs[0].Outcome != Accepted {
		t.Fatal(vs, err)
	}
	v := offer(t, r, UserObserved, Candidate{Path: "a.md", Old: "one", New: "three"})
	wantRule(t, v, Held, "review.all")
	if vs, err := r.Adopt(ctx, Operator, m); err != nil || vs[0].Outcome != Accepted {
		t.Fatal(vs, err)
	}
	res := Resolution{ID: v.ID, Hash: v.Memory.Hash, Approve: true}
	vs, err := r.Resolve(ctx, res)
	if err != nil || vs[0].Outcome == Accepted {
		t.Errorf("approved over a higher trust that was not shown: %v, %v", vs, err)
	}
	if m, _ := r.Read(ctx, "a.md"); m.Text != "one two\n" || m.Trust != Operator {
		t.Errorf("%q at %v", m.Text, m.Trust)
	}
	if _, err := r.Resolve(ctx, Resolution{ID: v.ID, Hash: v.Memory.Hash, Approve: true, Trust: 99}); err == nil {
		t.Error("a trust that is none is taken")
	}
	v = offer(t, r, UserObserved, Candidate{Path: "b.md", Text: "truth\n"})
	name := ".scribe/" + pendingName(v.ID)
	data, err := mem.Read(name, maxMemory)
	if err != nil {
		t.Fatal(err)
	}
	mem.Plant(name, rootfs.File, []byte(strings.Replace(string(data), "truth", "lies!", 1)))
	res = Resolution{ID: v.ID, Hash: v.Memory.Hash, Approve: true}
	if vs, err := r.Resolve(ctx, res); err != nil || vs[0].Outcome == Accepted {
		t.Errorf("other bytes are approved: %v, %v", vs, err)
	}
	mem.Plant(name, rootfs.File, data)
	vs, err = r.Resolve(ctx, res, res)
	if err != nil || vs[0].Outcome != Accepted || vs[1].Outcome != Rejected {
		t.Errorf("approved twice: %v, %v", vs, err)
	}
	// Half of a plan, and a plan of which one has gone stale.
	ps, err := session(t, r, UserObserved).Guard(1).Propose(ctx, Candidate{Path: "p.md", Text: "hello\n"}, Candidate{Path: "q.md", Text: "hullo\n"})
	if err != nil {
		t.Fatal(err)
	}
	one := Resolution{ID: ps[0].ID, Hash: ps[0].Memory.Hash, Approve: true}
	if vs, err := r.Resolve(ctx, one, one); err != nil || vs[0].Outcome == Accepted || vs[1].Outcome == Accepted || read(t, r, "p.md") != "" {
		t.Errorf("half of a plan, twice, is approved: %v, %v", vs, err)
	}
	mem.Plant("q.md", rootfs.File, []byte("outside"))
	vs, err = r.Resolve(ctx, Resolution{ID: ps[0].ID, Hash: ps[0].Memory.Hash, Approve: true}, Resolution{ID: ps[1].ID, Hash: ps[1].Memory.Hash, Approve: true})
	if err != nil || vs[0].Outcome == Accepted || vs[1].Outcome == Accepted || read(t, r, "p.md") != "" {
		t.Errorf("half of a plan is approved: %v, %v", vs, err)
	}
}

// TestHostRulesSeeEverything: no race lets a candidate past a rule of the host.
func TestHostRulesSeeEverything(t *testing.T) {
	ctx := context.Background()
	no := func(context.Context, Memory, Memory) ([]Finding, error) { return []Finding{{Rule: "no"}}, nil }
	mem := rootfs.NewMem()
	r := reopen(t, mem, &Options{Limits: Limits{Memories: 2}, Rules: []Admit{no}})
	other := reopen(t, mem, nil)
	store(t, other, Operator, Candidate{Path: "a.md", Text: "hello a\n"})
	store(t, other, Operator, Candidate{Path: "b.md", Text: "hello b\n"})
	done := false
	mem.Hook(func(op, _ string) error {
		if op == "lock" && !done { // the room was full when the rules would have been asked
			done = true
			return archived(other, "b.md")
		}
		return nil
	})
	if v := offer(t, r, UserObserved, Candidate{Path: "c.md", Text: "never asked\n"}); v.Outcome == Accepted {
		t.Error("the rule was not asked")
	}
	mem.Hook(nil)

	// Nor does a guard write what it proposed before its end.
	asked, release, done2 := make(chan bool), make(chan bool), make(chan error)
	slow := func(context.Context, Memory, Memory) ([]Finding, error) { asked <- true; <-release; return nil, nil }
	r, _ = newRoom(t, &Options{Rules: []Admit{slow}})
	extract(t, session(t, r, UserObserved), Turn{N: 1, Low: UserObserved}, Policy{}, func(g *Guard) {
		go func() {
			_, err := g.Propose(ctx, Candidate{Path: "late.md", Text: "late\n"})
			done2 <- err
		}()
		<-asked
	})
	release <- true
	if err := <-done2; !errors.Is(err, fs.ErrClosed) || read(t, r, "late.md") != "" {
		t.Errorf("after the end: %v, %q", err, read(t, r, "late.md"))
	}
}

// TestClonedLibraryDoesNothing: what a clone's .scribe says was to be done is not.
func TestClonedLibraryDoesNothing(t *testing.T) {
	body, mine := []byte("written by a forged journal\n"), []byte("my own file\n")
	data, _, err := journal.Encode(journal.Head{}, nil,
		journal.Row{Change: journal.Change{Op: journal.OpFormat}},
		journal.Row{Change: journal.Change{Op: journal.OpAdd, Path: "x.md", New: journal.Sum(body), Trust: "operator"}},
		journal.Row{Change: journal.Change{Op: journal.OpAdopt, Path: "mine.md", New: journal.Sum(mine), Trust: "operator"}},
		journal.Row{Change: journal.Change{Op: journal.OpArchive, Path: "mine.md", Old: journal.Sum(mine)}},
		journal.Row{Change: journal.Change{Op: journal.OpPurge, Path: "mine.md"}})
	if err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]*Options{"no key": nil, "a key": {Key: make([]byte, keySize)}} {
		mem := rootfs.NewMem()
		mem.Plant("mine.md", rootfs.File, mine)
		for at, bytes := range map[string][]byte{"audit.jsonl": data, mark(2): body, mark(4): nil, mark(5): nil, "local": []byte(`{"dir":"elsewhere","key":"` + strings.Repeat("00", 32) + `"}`)} {
			mem.Plant(".scribe/"+at, rootfs.File, bytes)
		}
		r := reopen(t, mem, o)
		if got := paths(listed(t, r, stageActive, stageChanged, stageArchived)); len(got) > 0 {
			t.Errorf("%s: accepted %q", name, got)
		}
		if got := paths(listed(t, r, stageUnaccepted)); !slices.Equal(got, []string{"mine.md"}) {
			t.Errorf("%s: on the disk are %q, want mine.md alone", name, got)
		}
	}
}

// TestFailedOperationsAreOver: what failed does not happen later.
func TestFailedOperationsAreOver(t *testing.T) {
	ctx := context.Background()
	r, mem := newRoom(t, nil)
	store(t, r, UserObserved, Candidate{Path: "a.md", Text: "standing truth\n"})
	mem.Hook(func(op, name string) error {
		if op == "mkdir" && name == "e" {
			return syscall.ENOSPC
		}
		return nil
	})
	if _, err := r.Propose(ctx, Candidate{Path: "a.md", To: "e/z.md"}); !errors.Is(err, syscall.ENOSPC) {
		t.Errorf("a rename without its directory: %v", err)
	}
	mem.Hook(nil)
	store(t, r, UserObserved, Candidate{Path: "other.md", Text: "o\n"})
	for _, r := range []*Room{r, reopen(t, mem, nil)} {
		if got, want := paths(listed(t, r)), []string{"a.md", "other.md"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	}

	// After a flush that failed the handle writes no more, and recovery decides.
	written := false
	mem.Hook(func(op, name string) error {
		if written = written || op == "append"; written && op == "sync" && name == "." {
			return syscall.EIO
		}
		return nil
	})
	_, err := r.Propose(ctx, Candidate{Path: "u.md", Text: "unsynced\n"})
	mem.Hook(nil)
	if err == nil {
		t.Fatal("a change that was not flushed is acknowledged")
	}
	if _, err := r.Propose(ctx, Candidate{Path: "v.md", Text: "v\n"}); !errors.Is(err, fs.ErrPermission) {
		t.Errorf("after a failed flush: %v, want fs.ErrPermission", err)
	}
	if fs, err := reopen(t, mem, nil).Check(ctx, false); err != nil || len(fs) > 0 {
		t.Errorf("reopened: %v, %v", fs, err)
	}

	// MEMORY.md is derived: failing there is a notice.
	r, mem = newRoom(t, nil)
	store(t, r, UserObserved, Candidate{Path: "a.md", Text: "A.\n"})
	mem.Hook(func(op, name string) error {
		if op == "exchange" && name == indexName {
			return syscall.ENOSPC
		}
		return nil
	})
	wantRule(t, offer(t, r, UserObserved, Candidate{Path: "b.md", Text: "B.\n"}), Accepted, "index.behind")
	mem.Hook(nil)
	if fs, err := r.Check(ctx, true); err != nil || len(fs) != 1 || fs[0].Rule != "check.index" || fs[0].Outcome != Accepted {
		t.Errorf("repair: %v, %v", fs, err)
	}
	if index, _ := r.readIndex(); !strings.Contains(string(index), "b.md") {
		t.Errorf("not repaired:\n%s", index)
	}
}
