package scribe

// The behaviours of a session that other systems promise, each under the name that it has
// in the list of them: TestRowA are of a writer's life, TestRowC of staged entries.

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
)

// TestRowA12_EveryStepMayTrigger: a host may call Extract after every step; a step without
// news costs no run.
func TestRowA12_EveryStepMayTrigger(t *testing.T) {
	r, _ := newRoom(t, nil)
	s := session(t, r, UserObserved)
	runs := 0
	for _, turn := range []int{1, 1, 1, 2, 2, 3} {
		if _, err := run(s, Turn{N: turn}, func(context.Context, *Guard) error { runs++; return nil }); err != nil {
			t.Fatal(err)
		}
	}
	if runs != 3 {
		t.Errorf("%d runs for 3 turns", runs)
	}
}

func TestRowA13_SkipsWhatTheAgentWrote(t *testing.T) {
	r, _ := newRoom(t, nil)
	s := session(t, r, UserObserved)
	wantAccepted(t, proposed(t, s.Guard(1), Candidate{Path: "a.md", Text: "A.\n"}))
	if skip, err := run(s, Turn{N: 1}, nothing); skip != skipWrote || err != nil {
		t.Errorf("%q, %v", skip, err)
	}
	// The agent writes while the extraction of its turn waits.
	var wg sync.WaitGroup
	finish := busy(s, 2, &wg)
	wg.Go(func() {
		if skip, err := run(s, Turn{N: 3}, nothing); skip != skipWrote || err != nil {
			t.Errorf("written meanwhile: %q, %v", skip, err)
		}
	})
	awaitWaiting(t, s, 3)
	wantAccepted(t, proposed(t, s.Guard(3), Candidate{Path: "b.md", Text: "B.\n"}))
	finish()
	wg.Wait()
	must(t, s, 4)
}

func TestRowA14_SkipsTooFewWords(t *testing.T) {
	for said, want := range map[string]bool{
		"yes":                        false,
		"go on":                      false,
		"use tabs here":              true,
		"use\ttabs\n\nhere":          true,
		"--- ... !!! ???":            false,
		"`go` v1.26 now":             true,
		"> you said to use tabs":     false, // a quote is not theirs
		"```\na b c d e\n```":        false,
		"好":                          false,
		"好的呀":                        true, // three characters of a script without spaces
		"请用制表符":                      true,
		"ใช้แท็บ":                    true,
		"タブで":                        true,
		"탭을 사용해":                     false, // Korean has spaces
		"탭을 꼭 사용해":                   true,
		"used \u200b\u200b\u200b it": false,
	} {
		if got := words([]string{said}) >= defMinUserWords; got != want {
			t.Errorf("%q: enough is %v, want %v (%d words)", said, got, want, words([]string{said}))
		}
	}
}

func TestRowA15_CursorMovesForward(t *testing.T) {
	r, mem := newRoom(t, nil)
	s := session(t, r, UserObserved)
	must(t, s, 3)
	for _, s := range []*Session{s, named(t, reopen(t, mem, nil), s.id)} {
		for _, n := range []int{1, 2, 3} {
			if skip, err := run(s, Turn{N: n}, nothing); skip != skipCursor || err != nil {
				t.Errorf("turn %d: %q, %v", n, skip, err)
			}
		}
	}
	must(t, s, 4)
}

// TestRowA16_NewestWaits: of the requests that wait the one with the latest turn stays, and
// the two parts of one turn, of different trust, do not drop each other.
func TestRowA16_NewestWaits(t *testing.T) {
	r, _ := newRoom(t, nil)
	s := session(t, r, UserObserved)
	var wg sync.WaitGroup
	finish := busy(s, 1, &wg)
	var mu sync.Mutex
	got := map[string]string{}
	ask := func(turn Turn) {
		wg.Go(func() {
			skip, err := run(s, turn, nothing)
			mu.Lock()
			defer mu.Unlock()
			got[fmt.Sprint(turn.N, " ", max(turn.Low, ExternalWeb))] = skip
			if err != nil {
				t.Error(err)
			}
		})
	}
	ask(Turn{N: 3, Low: UserObserved})
	awaitWaiting(t, s, 3)
	ask(Turn{N: 3, Low: ExternalWeb})
	for tries := 0; ; tries++ {
		s.mu.Lock()
		waits := len(s.waiting)
		s.mu.Unlock()
		if waits == 2 {
			break
		}
		if time.Sleep(time.Millisecond); tries == 10_000 {
			t.Fatal("the other part of the turn does not wait")
		}
	}
	if skip, err := run(s, Turn{N: 2, Low: UserObserved}, nothing); skip != skipSuperseded || err != nil {
		t.Errorf("an older turn that comes late: %q, %v", skip, err)
	}
	ask(Turn{N: 4, Low: UserObserved})
	awaitWaiting(t, s, 4)
	finish()
	wg.Wait()
	want := map[string]string{"3 user-observed": skipSuperseded, "4 user-observed": "", "3 external-web": ""}
	for k, skip := range want {
		if got[k] != skip {
			t.Errorf("%s: %q, want %q (of %q)", k, got[k], skip, got)
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) != 0 || s.running {
		t.Errorf("%d wait still, running %v", len(s.waiting), s.running)
	}
}

func TestRowA17_CeilingOfExtractions(t *testing.T) {
	r, mem := newRoom(t, nil)
	s := session(t, r, UserObserved)
	for n := range defExtractions {
		must(t, s, n+1)
	}
	for _, s := range []*Session{s, named(t, reopen(t, mem, nil), s.id)} {
		if skip, err := run(s, Turn{N: 100}, nothing); skip != skipCeiling || err != nil {
			t.Errorf("%q, %v", skip, err)
		}
	}
	must(t, session(t, r, UserObserved), 1) // of each session
}

// TestRowA43_ContradictionIsHeld and surfaced: to the operator with both sides, to the
// session as a count.
func TestRowA43_ContradictionIsHeld(t *testing.T) {
	r, _ := newRoom(t, nil)
	store(t, r, UserObserved, Candidate{Path: "port.md", Key: "port", Text: "The service listens on 8080.\n"})
	s := begun(t, r)
	for i, c := range []Candidate{
		{Path: "port.md", Text: "The service listens on 9090.\n"},
		{Path: "service.md", Key: "port", Text: "The service listens on 7070.\n"},
	} {
		wantRule(t, offer(t, r, UserObserved, c), Held, []string{"conflict.path", "conflict.key"}[i])
	}
	if text := read(t, r, "port.md"); !strings.Contains(text, "8080") {
		t.Errorf("overwritten: %q", text)
	}
	waiting := listed(t, r, stagePending)
	if len(waiting) != 2 || len(waiting[0].Findings) == 0 {
		t.Fatalf("the operator is not shown them: %+v", waiting)
	}
	sn := reminded(t, s, 1)
	if kindOfReminder(sn) != remindConflict || !strings.Contains(sn.Text, "2 proposed changes") || strings.Contains(sn.Text, "9090") {
		t.Errorf("the session is told\n%s", sn.Text)
	}
	if sn := deltaOf(t, s); sn.Text != "" {
		t.Errorf("what waits is told as a change:\n%s", sn.Text)
	}
}

func TestRowA54_SnapshotIsFrozen(t *testing.T) {
	ctx := context.Background()
	r, mem := newRoom(t, nil)
	store(t, r, Operator, Candidate{Path: "a.md", Text: "A.\n"})
	s := begun(t, r)
	first, err := s.Snapshot(ctx)
	if err != nil {
		t.Fatal(err)
	}
	store(t, r, Operator, Candidate{Path: "b.md", Text: "B.\n"})
	commit(t, s, deltaOf(t, s))
	for _, s := range []*Session{s, named(t, reopen(t, mem, nil), s.id)} {
		if again, err := s.Snapshot(ctx); err != nil || again.Text != first.Text || again.Hash != first.Hash {
			t.Errorf("%v\n%s", err, again.Text)
		}
	}
}

// TestRowA56_BodiesAreReadOnDemand: neither snapshot, delta nor reminder carries one.
func TestRowA56_BodiesAreReadOnDemand(t *testing.T) {
	r, _ := newRoom(t, nil)
	body := func(n int) string {
		return fmt.Sprintf("---\ndescription: What is in %d\nverify_when: 立即\n---\nThe inner text %d.\n", n, n)
	}
	store(t, r, Operator, Candidate{Path: "a.md", Text: body(1)})
	s := session(t, r, UserObserved)
	sn, err := s.Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	commit(t, s, sn)
	due := reminded(t, s, nudgeTurn)
	store(t, r, Operator, Candidate{Path: "b.md", Text: body(2)})
	change := deltaOf(t, s)
	for _, sn := range []Snapshot{sn, due, change} {
		if strings.Contains(sn.Text, "inner text") || len(sn.Shown) != 1 || sn.Shown[0].Text != "" {
			t.Errorf("%q carries a body", sn.Text)
		}
	}
	if got := memoryCommand(s.Guard(1), view("b.md")); got.IsError || !strings.Contains(got.Text, "The inner text 2.") {
		t.Errorf("on demand: %s", got.Text)
	}
}

// TestRowA57_ToolForExplicitAsks: add, replace, remove and query, each through the gate.
func TestRowA57_ToolForExplicitAsks(t *testing.T) {
	r, _ := newRoom(t, nil)
	g := session(t, r, UserObserved).Guard(1)
	for i, args := range []map[string]any{
		create("lunch.md", "Lunch is at noon.\n"),
		{"command": "str_replace", "path": "/memories/lunch.md", "old_str": "noon", "new_str": "one"},
	} {
		if got := memoryCommand(g, args); got.IsError || got.Verdict == nil || got.Verdict.Outcome != Accepted {
			t.Fatalf("step %d: %+v", i, got)
		}
	}
	found := g.Check(context.Background(), Call{Tool: toolRecall, Args: map[string]any{"query": "when is lunch"}})
	if found.IsError || !strings.Contains(found.Text, "Lunch is at one.") {
		t.Errorf("query: %s", found.Text)
	}
	if got := memoryCommand(g, map[string]any{"command": "delete", "path": "/memories/lunch.md"}); got.IsError || read(t, r, "lunch.md") != "" {
		t.Errorf("remove: %s", got.Text)
	}
}

// TestRowC22_BaselineThenChanges: without a snapshot the first delta is the baseline, then
// come changes, and nothing where nothing changed.
func TestRowC22_BaselineThenChanges(t *testing.T) {
	r, _ := newRoom(t, nil)
	store(t, r, Operator, Candidate{Path: "a.md", Text: "A.\n"})
	store(t, r, UserObserved, Candidate{Path: "b.md", Text: "B.\n"})
	s := session(t, r, UserObserved)
	base := deltaOf(t, s)
	if got := paths(base.Shown); !slices.Equal(got, []string{"a.md", "b.md"}) || !strings.Contains(base.Text, `baseline="2"`) || base.Shown[0].Stage != stageActive {
		t.Errorf("the baseline shows %q:\n%s", got, base.Text)
	}
	commit(t, s, base)
	wantChanges(t, deltaOf(t, s))
	store(t, r, Operator, Candidate{Path: "c.md", Text: "C.\n"})
	edited(t, r, "b.md", "B.", "B again.")
	if err := archived(r, "a.md"); err != nil {
		t.Fatal(err)
	}
	got := deltaOf(t, s)
	wantChanges(t, got, "removed a.md", "updated b.md", "added c.md")
	commit(t, s, got)
	wantChanges(t, deltaOf(t, s))
	// A room without a memory is a baseline too: of nothing.
	empty, _ := newRoom(t, nil)
	wantChanges(t, deltaOf(t, session(t, empty, UserObserved)))
}

func TestRowC23_OthersAreSaidToBeAsTheyWere(t *testing.T) {
	r, _ := newRoom(t, nil)
	for i := range 7 {
		store(t, r, Operator, Candidate{Path: fmt.Sprintf("m%d.md", i), Text: fmt.Sprintf("M %d.\n", i)})
	}
	s := begun(t, r)
	edited(t, r, "m3.md", "M 3", "Em three")
	if got := deltaOf(t, s); !strings.Contains(got.Text, "The operator left the other 6 memories as they were.") {
		t.Errorf("got\n%s", got.Text)
	}
}

// TestRowC24_HashPerEntry: an entry is compared by its text and trust, so what was changed
// and changed back is no change; the whole hash is in the manifest.
func TestRowC24_HashPerEntry(t *testing.T) {
	ctx := context.Background()
	r, _ := newRoom(t, nil)
	m := store(t, r, Operator, Candidate{Path: "a.md", Text: "A.\n"})
	s := begun(t, r)
	edited(t, r, "a.md", "A.", "B.")
	got := deltaOf(t, s)
	wantChanges(t, got, "updated a.md")
	if now := read(t, r, "a.md"); got.Shown[0].Hash == m.Hash || len(got.Shown[0].Hash) != 64 || now != "B.\n" {
		t.Errorf("hash %q", got.Shown[0].Hash)
	}
	edited(t, r, "a.md", "B.", "A.")
	wantChanges(t, deltaOf(t, s))
	if err := archived(r, "a.md"); err != nil {
		t.Fatal(err)
	}
	wantChanges(t, deltaOf(t, s), "removed a.md")
	if v, err := restored(r, "a.md"); err != nil || v.Outcome != Accepted {
		t.Fatal(v, err)
	}
	wantChanges(t, deltaOf(t, s))
	// The same text at another trust is another thing to rely on.
	if vs, err := r.Adopt(ctx, UserVerified, m); err != nil || vs[0].Outcome != Accepted {
		t.Fatal(vs, err)
	}
	wantChanges(t, deltaOf(t, s), "updated a.md")
}

func TestRowC25_ByteBudget(t *testing.T) {
	for _, budget := range []int{0, deltaFrameBytes, 8_000} {
		r, _ := newRoom(t, &Options{Limits: Limits{DeltaBytes: budget}})
		for i := range 90 {
			store(t, r, Operator, Candidate{Path: fmt.Sprintf("m%02d.md", i), Text: fmt.Sprintf("Fact %d: %s\n", i, strings.Repeat("y", 100))})
		}
		s := session(t, r, UserObserved)
		got, want := deltaOf(t, s), budget
		if want == 0 {
			want = 3_072
		}
		if len(got.Text) > want || len(got.Text) < want-400 {
			t.Errorf("%d bytes of %d", len(got.Text), want)
		}
		if over := 90 - len(got.Shown); over <= 0 || got.Omitted != over || !strings.Contains(got.Text, fmt.Sprintf("Not shown: %d beyond the size of this notice", over)) {
			t.Errorf("%d shown, %d omitted:\n%s", len(got.Shown), got.Omitted, got.Text)
		}
	}
	for _, budget := range []int{1, deltaFrameBytes - 1, defSnapshotBytes + 1, -1} {
		if _, err := (&Options{Limits: Limits{DeltaBytes: budget}}).settle(); err == nil {
			t.Errorf("a budget of %d bytes is taken", budget)
		}
	}
}

func TestRowC26_LinesAreClipped(t *testing.T) {
	r, _ := newRoom(t, nil)
	s := begun(t, r)
	store(t, r, Operator, Candidate{Path: "long.md", Text: strings.Repeat("字", 91) + "\n"})
	store(t, r, Operator, Candidate{Path: "fits.md", Text: strings.Repeat("x", 90) + "\n"})
	got := deltaOf(t, s).Text
	if line := lineOf(got, "long.md"); !strings.Contains(line, `"`+strings.Repeat("字", 90)+`..."`) {
		t.Errorf("got %q", line)
	}
	if line := lineOf(got, "fits.md"); !strings.Contains(line, `"`+strings.Repeat("x", 90)+`"`) {
		t.Errorf("got %q", line)
	}
}

func TestRowC27_NoIDsInTheText(t *testing.T) {
	r, _ := newRoom(t, nil)
	s := begun(t, r)
	m := store(t, r, Operator, Candidate{Path: "a.md", Key: "the-key-of-a", Text: "A.\n"})
	got := deltaOf(t, s)
	if strings.Contains(got.Text, "the-key-of-a") || strings.Contains(got.Text, m.Hash[:12]) || strings.Count(got.Text, "a.md") != 1 {
		t.Errorf("got\n%s", got.Text)
	}
	if got.Shown[0].Key != "the-key-of-a" {
		t.Errorf("the manifest has the key %q", got.Shown[0].Key)
	}
}

// TestRowC29_StateIsBesideTheMessage: it survives the process, and no text carries it.
func TestRowC29_StateIsBesideTheMessage(t *testing.T) {
	r, mem := newRoom(t, nil)
	store(t, r, Operator, Candidate{Path: "a.md", Text: "A.\n"})
	s := begun(t, r)
	again := named(t, reopen(t, mem, nil), s.id)
	wantChanges(t, deltaOf(t, again))
	edited(t, again.room, "a.md", "A.", "B.")
	again = named(t, reopen(t, mem, nil), s.id)
	got := deltaOf(t, again)
	wantChanges(t, got, "updated a.md")
	commit(t, again, got)
	wantChanges(t, deltaOf(t, named(t, reopen(t, mem, nil), s.id)))
	// Another session has a baseline of its own.
	if got := deltaOf(t, session(t, again.room, UserObserved)); !strings.Contains(got.Text, `baseline="1"`) {
		t.Errorf("another session:\n%s", got.Text)
	}
}

func TestRowC30_DroppedMessageIsToldAgain(t *testing.T) {
	r, mem := newRoom(t, nil)
	s := begun(t, r)
	store(t, r, Operator, Candidate{Path: "n.md", Text: "N.\n"})
	first := deltaOf(t, s)
	wantChanges(t, first, "added n.md")
	if second := deltaOf(t, s); second.Text != first.Text {
		t.Errorf("another text the second time:\n%s", second.Text)
	}
	after := deltaOf(t, named(t, reopen(t, mem, nil), s.id))
	wantChanges(t, after, "added n.md")
	commit(t, s, first)
	wantChanges(t, deltaOf(t, s))
}

// TestRowC31_RemindersMoveNoBaseline: whatever of them is committed.
func TestRowC31_RemindersMoveNoBaseline(t *testing.T) {
	r, _ := newRoom(t, nil)
	store(t, r, Operator, Candidate{Path: "a.md", Text: "---\nverify_when: 立即\n---\nA.\n"})
	s := begun(t, r)
	before := s.state
	for range 3 {
		commit(t, s, reminded(t, s, nudgeTurn))
	}
	if len(s.state.Said) == 0 {
		t.Fatal("control: nothing was said")
	}
	if s.state.Commits != before.Commits || len(s.state.Told) != len(before.Told) || s.state.Told[0].Seq != before.Told[0].Seq {
		t.Errorf("the baseline moved: %+v, was %+v", s.state.Told, before.Told)
	}
	edited(t, r, "a.md", "A.", "B.")
	wantChanges(t, deltaOf(t, s), "updated a.md")
}

// TestRowC32_OneKindAStep: no reminder in a step that has a change to tell.
func TestRowC32_OneKindAStep(t *testing.T) {
	r, _ := newRoom(t, nil)
	s := begun(t, r)
	store(t, r, Operator, Candidate{Path: "a.md", Text: "---\nverify_when: 2020-01-01\n---\nA.\n"})
	if sn := reminded(t, s, nudgeTurn); sn.Text != "" {
		t.Errorf("beside a change:\n%s", sn.Text)
	}
	commit(t, s, deltaOf(t, s))
	if sn := reminded(t, s, nudgeTurn); kindOfReminder(sn) != remindDue {
		t.Errorf("control: %q", sn.Text)
	}
}

// TestRowC42_VerifyWhen: dates, durations and phrases fall due, prose does not.
func TestRowC42_VerifyWhen(t *testing.T) {
	at := time.Date(2026, 9, 21, 8, 0, 0, 0, time.UTC)
	r, _ := newRoom(t, &Options{Now: func() time.Time { return at }})
	for path, when := range map[string]string{"a.md": "2026-12-01", "b.md": "3个月后", "c.md": "P2W", "d.md": "立即", "e.md": "after the next release"} {
		store(t, r, Operator, Candidate{Path: path, Text: "---\nverify_when: " + when + "\n---\nFact of " + path + "\n"})
	}
	for _, c := range []struct {
		day  string
		want []string
	}{
		{"2026-09-21", []string{"d.md"}},
		{"2026-10-06", []string{"d.md", "c.md"}},
		{"2026-12-02", []string{"d.md", "c.md", "a.md"}},
		{"2099-01-01", []string{"d.md", "c.md", "a.md", "b.md"}},
	} {
		at, _ = time.Parse(time.DateOnly, c.day)
		at = at.Add(9 * time.Hour)
		ms, err := r.Due(context.Background(), 0)
		if err != nil || !slices.Equal(paths(ms), c.want) {
			t.Errorf("on %s: %q, %v; want %q", c.day, paths(ms), err, c.want)
		}
	}
}

func TestRowC43_DueOnceASession(t *testing.T) {
	r, mem := newRoom(t, nil)
	store(t, r, Operator, Candidate{Path: "a.md", Text: "---\nverify_when: 立即\n---\nA.\n"})
	s := begun(t, r)
	sn := reminded(t, s, 1)
	if kindOfReminder(sn) != remindDue || !strings.Contains(sn.Text, "a.md") || !strings.Contains(sn.Text, "tell the user") {
		t.Fatalf("got\n%s", sn.Text)
	}
	commit(t, s, sn)
	for _, s := range []*Session{s, named(t, reopen(t, mem, nil), s.id)} {
		if sn := reminded(t, s, 2); sn.Text != "" {
			t.Errorf("again:\n%s", sn.Text)
		}
	}
	if sn := reminded(t, begun(t, r), 1); kindOfReminder(sn) != remindDue {
		t.Errorf("another session is not told: %q", sn.Text)
	}
}

func TestRowC44_NudgeOnceASession(t *testing.T) {
	r, _ := newRoom(t, nil)
	s := begun(t, r)
	var kinds []string
	for turn := 1; turn <= 2*nudgeTurn; turn++ {
		sn := reminded(t, s, turn)
		if sn.Text != "" {
			kinds = append(kinds, fmt.Sprint(turn, kindOfReminder(sn)))
		}
		commit(t, s, sn)
	}
	if want := []string{fmt.Sprint(nudgeTurn, remindNudge)}; !slices.Equal(kinds, want) {
		t.Errorf("got %q, want %q", kinds, want)
	}
}

// TestReports: what users of other systems reported, by the name of the report.
func TestReports(t *testing.T) {
	ctx := context.Background()
	render := func(t *testing.T, s *Session) string {
		t.Helper()
		sn, err := s.Snapshot(ctx)
		if err != nil {
			t.Fatal(err)
		}
		return sn.Text
	}
	t.Run("cache-per-turn-recall", func(t *testing.T) {
		r, _ := newRoom(t, nil)
		store(t, r, Operator, Candidate{Path: "a.md", Text: "Tea is at four.\n"})
		store(t, r, Operator, Candidate{Path: "b.md", Text: "Cake is on Friday.\n"})
		s := session(t, r, UserObserved)
		first := render(t, s)
		for _, q := range []string{"tea", "cake"} {
			hits, err := s.Guard(1).Recall(ctx, Query{Text: q})
			if err != nil || len(hits) == 0 {
				t.Fatal(hits, err)
			}
			if got := render(t, s); got != first {
				t.Errorf("after a search for %s:\n%s", q, got)
			}
		}
	})
	t.Run("cache-write-recomposes", func(t *testing.T) {
		for _, review := range []bool{false, true} {
			r, _ := newRoom(t, &Options{ReviewAll: review})
			store(t, r, Operator, Candidate{Path: "a.md", Text: "A.\n"})
			s := begun(t, r)
			first := render(t, s)
			v := proposed(t, s.Guard(1), Candidate{Path: "k.md", Text: "The kettle is blue.\n"})
			if got := render(t, s); got != first {
				t.Errorf("the prefix changed:\n%s", got)
			}
			wantChanges(t, deltaOf(t, s))
			if review { // control: the operator's approval is news
				if vs, err := r.Resolve(ctx, Resolution{ID: v.ID, Hash: v.Memory.Hash, Approve: true}); err != nil || vs[0].Outcome != Accepted {
					t.Fatal(vs, err)
				}
				wantChanges(t, deltaOf(t, s), "added k.md")
			}
		}
	})
	t.Run("delta-reinjection", func(t *testing.T) {
		r, _ := newRoom(t, nil)
		store(t, r, Operator, Candidate{Path: "a.md", Text: "A.\n"})
		s := begun(t, r)
		for range 3 {
			wantChanges(t, deltaOf(t, s))
		}
		edited(t, r, "a.md", "A.", "B.")
		wantChanges(t, deltaOf(t, s), "updated a.md") // control
	})
	t.Run("delta-dropped-message", func(t *testing.T) {
		r, _ := newRoom(t, nil)
		s := begun(t, r)
		store(t, r, Operator, Candidate{Path: "n.md", Text: "N.\n"})
		first, second := deltaOf(t, s), deltaOf(t, s)
		wantChanges(t, first, "added n.md")
		wantChanges(t, second, "added n.md")
		commit(t, s, second)
		wantChanges(t, deltaOf(t, s))
		if err := s.Commit(ctx, first); !errors.Is(err, ErrStale) {
			t.Errorf("the older delta: %v, want ErrStale", err)
		}
	})
	t.Run("delta-removed-honest", func(t *testing.T) {
		r, _ := newRoom(t, nil)
		store(t, r, Operator, Candidate{Path: "k.md", Text: "Use port 9.\n"})
		s := begun(t, r)
		if err := archived(r, "k.md"); err != nil {
			t.Fatal(err)
		}
		got := deltaOf(t, s)
		wantChanges(t, got, "removed k.md")
		if !strings.Contains(got.Text, "what stands above of it does not hold any more:\n- k.md\n") {
			t.Errorf("the loaded copy is not said to be stale:\n%s", got.Text)
		}
		if !strings.Contains(render(t, s), "port 9") || strings.Contains(snapshotText(t, r), "port 9") {
			t.Error("the loaded copy goes in this session, or stays in the next")
		}
	})
}
