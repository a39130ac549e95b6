package scribe

// What suggesting may look at, what of it is shown, and what a failure leaves behind.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memoryroom/scribe/internal/gate"
	"github.com/memoryroom/scribe/internal/lexical"
	"github.com/memoryroom/scribe/internal/rootfs"
)

// TestRowB46_OnlyWhatStands is searched: no index, no unaccepted or foreign file, nothing
// archived, waiting or replaced, and nothing of the library's own.
func TestRowB46_OnlyWhatStands(t *testing.T) {
	const word = "quokka"
	r, mem := suggestRoom(t, suggestLive)
	text := "The " + word + " is served at four in the garden.\n"
	mem.Plant("outside.md", rootfs.File, []byte(text))
	mem.Plant("CLAUDE.md", rootfs.File, []byte(text))
	mem.Plant("notes.txt", rootfs.File, []byte(text))
	mem.Plant(".scribe/"+word+".md", rootfs.File, []byte(text))
	store(t, r, Operator, Candidate{Path: "gone.md", Text: text})
	if err := archived(r, "gone.md"); err != nil {
		t.Fatal(err)
	}
	store(t, r, Operator, Candidate{Path: "was.md", Text: text})
	edited(t, r, "was.md", word, "koala")
	wantRule(t, offer(t, r, UserObserved, Candidate{Path: "tea.md", Text: text}), Held, "")
	asks := userSaid(1, "Do you remember where the "+word+" is served?")
	for _, h := range suggested(t, session(t, r, UserObserved), asks) {
		if strings.Contains(h.Text+h.Snippet, word) || !slices.Contains([]string{"tea.md", "was.md"}, h.Memory.Path) {
			t.Errorf("%s: %s", h.Memory.Path, h.Text)
		}
	}
	store(t, r, Operator, Candidate{Path: "stands.md", Text: text})
	if hits := suggested(t, session(t, r, UserObserved), asks); len(hits) == 0 || hits[0].Memory.Path != "stands.md" {
		t.Errorf("control: %v", hits)
	}
}

// TestRowB49_CheckedBeforeRelease: what is handed out has the digest that was accepted (B48,
// B50, B51). Where the file on the disk has another text, is a link or is gone, the
// accepted bytes come from the library; where those are damaged too, nothing comes. What a
// text claims to be counts for nothing.
func TestRowB49_CheckedBeforeRelease(t *testing.T) {
	const good = "served at four"
	r, mem := newRoom(t, atEase(suggestLive))
	stored := store(t, r, Operator, Candidate{Path: "tea.md", Text: "---\npath: cake.md\nname: cake\nsource: /etc/passwd\n---\nGreen tea is served at four in the garden.\n"})
	file := string(must1(mem.Read("tea.md", maxMemory)))
	ask := func() []Hit {
		t.Helper()
		return suggested(t, session(t, r, UserObserved), userSaid(1, asksForTea))
	}
	for name, change := range map[string]func(){
		"as it is":          func() {},
		"changed outside":   func() { mem.Plant("tea.md", rootfs.File, []byte("Green tea is served to whoever pays.\n")) },
		"a link":            func() { mem.Unplant("tea.md"); mem.Plant("tea.md", rootfs.Link, []byte("/etc/passwd")) },
		"larger than 5 MiB": func() { mem.Plant("tea.md", rootfs.File, []byte(strings.Repeat("Green tea. ", 500_000))) },
	} {
		change()
		hits := ask()
		if len(hits) != 1 || hits[0].Memory.Path != "tea.md" || hits[0].Memory.Hash != stored.Hash || !strings.Contains(hits[0].Text, good) {
			t.Errorf("%s: %+v", name, hits)
		}
		mem.Unplant("tea.md")
		mem.Plant("tea.md", rootfs.File, []byte(file))
	}
	mem.Plant("tea.md", rootfs.File, []byte("Green tea is served to whoever pays.\n"))
	for name := range everyFile(t, mem, ".scribe/versions") {
		mem.Plant(name, rootfs.File, []byte("Green tea is served by nobody.\n"))
	}
	for again := range 2 {
		if hits := ask(); len(hits) != 0 {
			t.Errorf("with a damaged version, %d: %+v", again, hits)
		}
		r = reopen(t, mem, atEase(suggestLive))
	}
}

// TestRowB54_WhatDidNotChangeIsNotRead again, but for the hits.
func TestRowB54_WhatDidNotChangeIsNotRead(t *testing.T) {
	r, mem := suggestRoom(t, suggestLive)
	for i := range 30 {
		store(t, r, Operator, Candidate{Path: fmt.Sprintf("other-%02d.md", i), Text: fmt.Sprintf("Note number %d about something else.\n", i)})
	}
	s := session(t, r, UserObserved)
	suggested(t, s, userSaid(1, asksForTea))
	read := map[string]bool{}
	mem.Hook(func(op, name string) error {
		if op == "read" {
			read[name] = true
		}
		return nil
	})
	if hits := suggested(t, s, userSaid(2, "Do you remember who serves the green tea?")); len(hits) != 1 {
		t.Fatalf("control: %v", hits)
	}
	for name := range read {
		if strings.HasPrefix(name, "other-") || name == "cake.md" {
			t.Errorf("%s was read again", name)
		}
	}
}

// TestRowB55_LinksAreText: whatever a memory points at or spells out is quoted, and nothing
// of it is opened or run (B44).
func TestRowB55_LinksAreText(t *testing.T) {
	r, mem := newRoom(t, atEase(suggestLive))
	store(t, r, Operator, Candidate{Path: "tea.md", Text: "Green tea is served: [menu](../menu.md) <img src=\"http://example.com/x\"> `$(touch owned)` ![[cake]] file:///etc/passwd\n"})
	store(t, r, Operator, Candidate{Path: "cake.md", Text: "Lemon cake.\n"})
	s := session(t, r, UserObserved)
	suggested(t, s, userSaid(1, asksForTea))
	mem.Hook(func(op, name string) error {
		if name != "tea.md" && !strings.HasPrefix(name, ".scribe") && name != "." {
			t.Errorf("%s %s", op, name)
		}
		return nil
	})
	hits := suggested(t, s, userSaid(2, "Do you remember where the green tea is served?"))
	mem.Hook(nil)
	if len(hits) != 1 || !strings.Contains(hits[0].Text, `> "Green tea is served: [menu](../menu.md)`) {
		t.Errorf("got %+v", hits)
	}
}

// TestRowB63_Budgets: what is shown of a memory is half of 480 bytes at most, a search may take 50 ms by the
// room's clock and 500 ms more to read, and an index that was not ready goes on where it
// stopped. Records and resident bytes are bounded by Limits.Memories and Limits.Memory, as
// nothing here reads them all for a query; the contract's own are held by
// TestRowB63_ContractBudgets.
func TestRowB63_Budgets(t *testing.T) {
	if rankTime != 50*time.Millisecond || reloadTime != 500*time.Millisecond || maxSuggest != 8 || maxFinds != 64 || shadowRow != 32<<10 || maxMemory > 5<<20 {
		t.Error("a budget is another")
	}
	var mu sync.Mutex
	now, step := still(), time.Duration(0)
	o := atEase(suggestShadow)
	o.Now = func() time.Time { mu.Lock(); defer mu.Unlock(); now = now.Add(step); return now }
	slow := func(d time.Duration) { mu.Lock(); defer mu.Unlock(); step = d }
	r, mem := newRoom(t, o)
	for i := range 30 {
		store(t, r, Operator, Candidate{Path: fmt.Sprintf("other-%02d.md", i), Text: fmt.Sprintf("Note number %d about something else.\n", i)})
	}
	for i := range 12 {
		store(t, r, Operator, Candidate{Path: fmt.Sprintf("tea-%02d.md", i), Text: fmt.Sprintf("Green tea %d is served %s\n", i, strings.Repeat("internationalisation étonnamment ", 40))})
	}
	s := session(t, r, UserObserved)
	asks := func(n int) shadowLine {
		t.Helper()
		if hits := suggested(t, s, userSaid(n, asksForTea)); hits != nil {
			t.Errorf("segment %d: hits in shadow mode", n)
		}
		rows := shadowLines(t, mem)
		return rows[len(rows)-1]
	}
	void := func(row shadowLine) {
		t.Helper()
		if row.Outcome != outcomeDeadline || len(row.Hits) != 0 || row.Counts.Kept != 0 || !slices.Contains(row.Dropped, shadowDrop{Stage: "async", Reason: dropDeadline}) {
			t.Errorf("got %+v", row)
		}
	}
	mem.Hook(func(op, name string) error {
		if op == "read" && strings.HasSuffix(name, ".md") { // all of them are too many at once
			mu.Lock()
			defer mu.Unlock()
			now = now.Add(20 * time.Millisecond)
		}
		return nil
	})
	void(asks(1))
	for n := 2; asks(n).Outcome == outcomeDeadline; n++ {
		if n == 4 {
			t.Fatal("the index never gets ready")
		}
	}
	mem.Hook(nil)
	if row := asks(10); row.Outcome != outcomeCompleted || len(row.Hits) != maxSuggest || row.Took.Total != 0 {
		t.Errorf("got %+v", row)
	}
	slow(17 * time.Millisecond) // for each look at the clock: one in the gate, two in ranking
	if row := asks(11); row.Took.Gate+row.Took.Rank != 51_000 || row.Took.Reload > 500_000 {
		t.Errorf("control: %+v", row.Took)
	} else {
		void(row)
	}
	slow(0)
	live := reopen(t, mem, atEase(suggestLive))
	for _, h := range suggested(t, session(t, live, UserObserved), userSaid(1, asksForTea)) {
		if len(h.Snippet) == 0 || len(h.Snippet) > 480 {
			t.Errorf("%d bytes shown of %s", len(h.Snippet), h.Memory.Path)
		}
	}
}

// TestRowB77_FailuresStayHere: a disk that fails under a search is an error of this call alone.
func TestRowB77_FailuresStayHere(t *testing.T) {
	r, mem := suggestRoom(t, suggestShadow)
	s := session(t, r, UserObserved)
	mem.Hook(func(op, name string) error {
		if name == "tea.md" || strings.HasPrefix(name, ".scribe/versions") {
			return syscall.EIO
		}
		return nil
	})
	hits, err := s.Suggest(context.Background(), userSaid(1, asksForTea))
	mem.Hook(nil)
	if len(hits) > 0 || err != nil && !errors.Is(err, syscall.EIO) {
		t.Errorf("%v, %v", hits, err)
	}
	wantAccepted(t, proposed(t, s.Guard(1), Candidate{Path: "b.md", Text: "B.\n"}))
	suggested(t, s, userSaid(2, "Do you remember who serves the green tea?"))
	if rows := shadowLines(t, mem); len(rows) != 2 || rows[1].Outcome != outcomeCompleted {
		t.Errorf("got %+v", rows)
	}
}

// TestLiveIsReplayed: what a session decided and found is what the pure replay of its segments
// gives over the same memories, a deadline that fired included, which no replay could know
// (B74).
func TestLiveIsReplayed(t *testing.T) {
	ctx := context.Background()
	var mu sync.Mutex
	now := still()
	o := atEase(suggestShadow)
	o.Now = func() time.Time { mu.Lock(); defer mu.Unlock(); return now }
	r, mem := newRoom(t, o)
	store(t, r, Operator, Candidate{Path: "tea.md", Text: "Green tea is served at four in the garden.\n"})
	store(t, r, UserObserved, Candidate{Path: "cake.md", Text: "Lemon cake is baked on Fridays.\n"})
	store(t, r, ExternalTool, Candidate{Path: "tool.md", Text: "The tea machine has 2 heaters.\n"})
	slow := map[int]bool{6: true}
	s := session(t, r, UserObserved)
	run := &gate.Run{Gate: gate.Calibrated().Version, Lexical: lexicalUsed, Session: "one"}
	for i, g := range []Segment{
		userSaid(0, asksForTea),
		{Kind: "assistant", Text: "At four."},
		{Kind: "tool-call", Tool: "oven", Text: "preheat"},
		{Kind: "tool-result", Tool: "oven", Text: "E12 door open", Failed: true},
		userSaid(0, "What about the lemon cake, as before?"),
		userSaid(0, "Do you remember who serves the tea?"),
		userSaid(0, asksForTea),
		{Kind: "user", Text: "rotate the tea", Plugin: "cron"},
		userSaid(0, "Do you remember zzyzx?"),
	} {
		g.N = i + 1
		if slow[g.N] {
			mem.Hook(func(op, name string) error {
				if op == "read" && name == "tea.md" {
					mu.Lock()
					defer mu.Unlock()
					now = now.Add(time.Second)
				}
				return nil
			})
		}
		if _, err := s.Suggest(ctx, g); err != nil {
			t.Fatal(err)
		}
		mem.Hook(nil)
		piece := gate.Segment(g)
		run.Steps = append(run.Steps, gate.Step{Input: gate.Input{Segment: &piece}})
	}
	rows := shadowLines(t, mem)
	x := lexical.New()
	for _, m := range listed(t, r) {
		if m.Trust >= UserObserved {
			x.Put(document(m.Path, m))
		}
	}
	voided := 0
	for i, row := range rows {
		for _, d := range row.Dropped {
			if d.Stage == "async" {
				run.Steps[i].Void, voided = d.Reason, voided+1
			}
		}
	}
	results, err := run.Replay(func(l gate.Lookup) (hits []gate.Hit, dropped []gate.Drop) {
		found, _ := x.Search(lexical.Query{Text: l.Text, Max: maxSuggest, Day: dayOf(now)})
		for _, h := range found {
			hits = append(hits, gate.Hit{ID: h.ID, Score: h.Score})
		}
		return hits, nil
	})
	if err != nil || len(results) != len(rows) || voided != 1 {
		t.Fatal(err, len(results), len(rows), voided)
	}
	outcomes := map[string]bool{}
	for i, row := range rows {
		d := results[i].Decision
		signals := map[string]int64{}
		for k, v := range d.Signals {
			if v != 0 {
				signals[gate.Signal(k).String()] = v
			}
		}
		if len(signals) == 0 {
			signals = nil
		}
		want := shadowGate{d.Policy, d.Action, d.Phase, d.Reason, d.Raw, d.Hesitation, d.Latched, d.Cooldown, signals}
		var live, replayed []string
		for _, h := range row.Hits {
			live = append(live, fmt.Sprint(h.Row, " ", h.Score))
		}
		for _, h := range results[i].Hits {
			replayed = append(replayed, fmt.Sprint(placedBy(r, h.ID), " ", h.Score))
		}
		if diff := cmp.Diff(row.Gate, want) + cmp.Diff(live, replayed); diff != "" || row.Outcome != results[i].Outcome || row.N != d.N {
			t.Errorf("segment %d: %s, replayed %s\n%s", row.N, row.Outcome, results[i].Outcome, diff)
		}
		outcomes[row.Outcome] = true
	}
	if len(outcomes) != 4 {
		t.Errorf("control: %v", outcomes)
	}
}
