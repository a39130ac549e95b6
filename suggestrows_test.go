package scribe

// Suggesting over the life of a room: turned off and on, bounded, and in nobody's way.

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/memoryroom/scribe/internal/rootfs"
)

// tree is everything below a directory: names, modes, times and bytes.
func tree(t *testing.T, dir string) map[string]string {
	t.Helper()
	all := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if err != nil {
			return err
		}
		text := fmt.Sprint(info.Mode(), info.ModTime().UnixNano())
		if d.Type().IsRegular() {
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			text += "\n" + string(data)
		}
		all[strings.TrimPrefix(path, dir)] = text
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// closedDisk is what a file system in memory holds, for another to open.
func closedDisk(mem *rootfs.Mem) *rootfs.Mem { return mem.CrashClone(rand.New(rand.NewPCG(1, 1)), 1) }

// TestRowB1_SwitchAndAnchor: it takes the option, and a room whose memories are accepted
// here. What was copied from elsewhere gives nothing.
func TestRowB1_SwitchAndAnchor(t *testing.T) {
	r, mem := suggestRoom(t, suggestLive)
	for mode, want := range map[string]int{suggestOff: 0, suggestLive: 1} {
		if hits := suggested(t, session(t, reopen(t, mem, atEase(mode)), UserObserved), userSaid(1, asksForTea)); len(hits) != want {
			t.Errorf("%q: %d hits, want %d", mode, len(hits), want)
		}
	}
	mem.SetIdentity("another directory")
	if hits := suggested(t, session(t, reopen(t, mem, atEase(suggestLive)), UserObserved), userSaid(1, asksForTea)); len(hits) != 0 {
		t.Errorf("a copy suggests %v", hits)
	}
	_ = r
}

// TestOffLeavesNothing: with the option empty not a name, a byte or a time of the whole tree
// is another afterwards, whether there was an audit before or not.
func TestOffLeavesNothing(t *testing.T) {
	for _, before := range []string{suggestOff, suggestShadow} {
		dir := filepath.Join(t.TempDir(), "room")
		r := openAt(t, dir, atEase(before))
		store(t, r, Operator, Candidate{Path: "tea.md", Text: "Green tea is served at four in the garden.\n"})
		s := named(t, r, "one")
		suggested(t, s, userSaid(1, asksForTea))
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		r = openAt(t, dir, atEase(suggestOff))
		s = named(t, r, "one")
		was := tree(t, dir)
		if _, kept := was["/.scribe/shadow"]; kept != (before == suggestShadow) {
			t.Fatalf("control, %q: an audit: %v", before, kept)
		}
		for n := range 5 {
			suggested(t, s, userSaid(n+2, asksForTea))
		}
		if diff := cmp.Diff(tree(t, dir), was); diff != "" || s.suggest != nil {
			t.Errorf("%q, then off: %v\n%s", before, s.suggest, diff)
		}
	}
}

// TestRowB4_TurningItOff is to close the room and open it with other options: what is in
// flight ends and gives nothing, what the session remembered is gone, no further line
// is written, those that were stay, and no memory changes.
func TestRowB4_TurningItOff(t *testing.T) {
	r, mem := suggestRoom(t, suggestShadow)
	s := session(t, r, UserObserved)
	suggested(t, s, userSaid(1, asksForTea))
	suggested(t, s, userSaid(2, "thanks a bunch"))
	kept := s.suggest
	if len(kept.finds) == 0 || kept.newest == 0 || kept.gate.Query() == "" {
		t.Fatalf("control: %+v", kept)
	}
	edited(t, r, "tea.md", "four", "five") // so that a search has to read it
	before := everyFile(t, mem, "")
	inside, resume := make(chan struct{}), make(chan struct{})
	var once sync.Once
	mem.Hook(func(op, name string) error {
		if name == "tea.md" {
			once.Do(func() { close(inside); <-resume })
		}
		return nil
	})
	var hits []Hit
	var err error
	var wg sync.WaitGroup
	wg.Go(func() {
		hits, err = s.Suggest(context.Background(), userSaid(3, "And do you remember who serves the green tea?"))
	})
	<-inside
	if kept.stop == nil {
		t.Error("control: nothing is in flight")
	}
	if err := r.Close(); err != nil {
		t.Fatal(err)
	}
	mem.Hook(nil)
	mem = closedDisk(mem)
	if s.suggest != nil || kept.finds != nil || kept.newest != 0 || kept.gate.Query() != "" || kept.stop != nil || kept.missed != 0 {
		t.Errorf("it is remembered: %+v", kept)
	}
	close(resume)
	wg.Wait()
	if len(hits) != 0 || !errors.Is(err, fs.ErrClosed) {
		t.Errorf("what was in flight gave %v, %v", hits, err)
	}
	if s.suggest != nil {
		t.Error("there is a state again")
	}
	r = reopen(t, mem, atEase(suggestOff))
	suggested(t, session(t, r, UserObserved), userSaid(1, asksForTea))
	for name, was := range everyFile(t, mem, "") {
		if !strings.HasPrefix(name, ".scribe/sessions/") && before[name] != was {
			t.Errorf("%s changed", name)
		}
	}
	if rows := shadowLines(t, mem); len(rows) != 2 {
		t.Errorf("%d rows, want those two", len(rows))
	}
}

// TestCloseSettlesTheAudit: a row that is being written is whole when Close returns, and
// none comes after it (B4).
func TestCloseSettlesTheAudit(t *testing.T) {
	r, mem := suggestRoom(t, suggestShadow)
	s := session(t, r, UserObserved)
	suggested(t, s, userSaid(1, "thanks a bunch"))
	inside, resume := make(chan struct{}), make(chan struct{})
	var once sync.Once
	mem.Hook(func(op, name string) error {
		if op == "append" && strings.Contains(name, shadowDir) {
			once.Do(func() { close(inside); <-resume })
		}
		return nil
	})
	var wg sync.WaitGroup
	wg.Go(func() { _, _ = s.Suggest(context.Background(), userSaid(2, "thanks a lot")) })
	<-inside
	closed := make(chan error)
	go func() { closed <- r.Close() }()
	select {
	case <-closed:
		t.Error("closed over a row that was being written")
	case <-time.After(30 * time.Millisecond):
	}
	close(resume)
	if err := <-closed; err != nil {
		t.Fatal(err)
	}
	after := everyFile(t, closedDisk(mem), "")
	if rows := shadowLines(t, closedDisk(mem)); len(rows) != 2 {
		t.Errorf("%d rows, want 2", len(rows))
	}
	wg.Wait()
	if _, err := s.Suggest(context.Background(), userSaid(3, asksForTea)); !errors.Is(err, fs.ErrClosed) {
		t.Errorf("a closed room: %v", err)
	}
	if diff := cmp.Diff(everyFile(t, closedDisk(mem), ""), after); diff != "" {
		t.Errorf("a line after Close:\n%s", diff)
	}
}

// TestRowB5_EachTimeOnIsAnEpoch: what a session remembered before does not weigh in it, and
// the rows say which it is. A state that is damaged begins anew.
func TestRowB5_EachTimeOnIsAnEpoch(t *testing.T) {
	_, mem := suggestRoom(t, suggestOff)
	on := func(mode string) {
		t.Helper()
		r := reopen(t, mem, atEase(mode))
		s := named(t, r, "one")
		for n, text := range []string{asksForTea, "tea in the garden", asksForTea} {
			suggested(t, s, userSaid(n+1, text))
		}
		if err := r.Close(); err != nil {
			t.Fatal(err)
		}
		mem = closedDisk(mem)
	}
	on(suggestShadow)
	on(suggestOff)
	on(suggestLive)
	on(suggestShadow)
	mem.Plant(".scribe/"+shadowState, rootfs.File, []byte("{"))
	on(suggestShadow)
	on(suggestShadow)
	var got []string
	for _, row := range shadowLines(t, mem) {
		got = append(got, fmt.Sprint(row.Epoch, " ", row.N, " ", row.Gate.Reason, " ", row.Gate.Cooldown, " ", row.Gate.Signals["historical"]))
	}
	var want []string
	for _, epoch := range []int{1, 2, 1, 2} {
		want = append(want, fmt.Sprint(epoch, " 1 armed 0 0"), fmt.Sprint(epoch, " 2 cooldown 2 0"), fmt.Sprint(epoch, " 3 armed 1 0"))
	}
	if diff := cmp.Diff(got, want); diff != "" {
		t.Errorf("(-got +want)\n%s", diff)
	}
}

// TestRowB6_OtherOptionsDoNotMatter to what is suggested and to the row.
func TestRowB6_OtherOptionsDoNotMatter(t *testing.T) {
	rows := func(o Options) []shadowLine {
		o.Suggest, o.Now = suggestShadow, still
		r, mem := newRoom(t, &o)
		store(t, r, Operator, Candidate{Path: "tea.md", Text: "Green tea is served at four in the garden.\n"})
		s := session(t, r, UserObserved)
		for n, text := range []string{asksForTea, "ok", "What is green tea?"} {
			suggested(t, s, userSaid(n+1, text))
		}
		all := shadowLines(t, mem)
		for i := range all { // keyed, so another in each room
			all[i].ID, all[i].Segment, all[i].Query, all[i].Index = "", "", "", ""
			for k := range all[i].Hits {
				all[i].Hits[k].ID = ""
			}
		}
		return all
	}
	plain := rows(Options{})
	for name, o := range map[string]Options{
		"review all": {ReviewAll: true},
		"rules":      {Rules: []Admit{func(context.Context, Memory, Memory) ([]Finding, error) { return nil, nil }}},
		"waived":     {Waive: map[string]string{waiveDirective: "a test"}},
		"limits":     {Limits: Limits{Extractions: 1, MinUserWords: 9, DeltaBytes: deltaFrameBytes}},
	} {
		if diff := cmp.Diff(rows(o), plain, cmp.FilterPath(func(p cmp.Path) bool { return p.Last().String() == ".Row" }, cmp.Ignore())); diff != "" {
			t.Errorf("%s:\n%s", name, diff)
		}
	}
}

// TestRowB10_NothingGrows: after thousands of segments a session remembers no more for Suggest
// than after hundreds; and a segment is a duplicate however long ago it was judged, as no
// ring of keys forgets it.
func TestRowB10_NothingGrows(t *testing.T) {
	r, _ := suggestRoom(t, suggestLive)
	s := session(t, r, UserObserved)
	kept := map[int]int{}
	for n := 1; n <= 1_200; n++ {
		suggested(t, s, userSaid(n, fmt.Sprintf("Do you remember when tea number %04d is served?", n)))
		if n == 400 || n == 1_200 {
			kept[n] = weigh(reflect.ValueOf(s.suggest).Elem())
		}
	}
	if kept[1_200] > kept[400]+kept[400]/10 || kept[400] < 1_000 {
		t.Errorf("it keeps %d bytes after 400 segments and %d after 1,200", kept[400], kept[1_200])
	}
	was := s.suggest.finds
	for _, n := range []int{1, 2, 600, 1_100, 1_200} {
		if hits := suggested(t, s, userSaid(n, "Do you remember when tea is served?")); hits != nil || len(s.suggest.finds) != len(was) || s.suggest.newest != 1_200 {
			t.Errorf("segment %d again: %v", n, hits)
		}
	}
}

// weigh adds up the bytes of a value and of what it holds.
func weigh(v reflect.Value) (n int) {
	switch v.Kind() {
	case reflect.String:
		return v.Len()
	case reflect.Slice:
		for i := range v.Len() {
			n += weigh(v.Index(i))
		}
		return n + v.Cap()
	case reflect.Map:
		for it := v.MapRange(); it.Next(); {
			n += weigh(it.Key()) + weigh(it.Value())
		}
	case reflect.Struct:
		for i := range v.NumField() {
			n += weigh(v.Field(i))
		}
	default:
		return int(v.Type().Size())
	}
	return n
}

// TestRowB11_NobodyWaitsForIt: while a search is stuck on the disk, the session goes on. The
// host decides in which goroutine Suggest runs; it starts none.
func TestRowB11_NobodyWaitsForIt(t *testing.T) {
	ctx := context.Background()
	r, mem := suggestRoom(t, suggestShadow)
	s := begun(t, r)
	inside, resume := make(chan struct{}), make(chan struct{})
	var once sync.Once
	mem.Hook(func(op, name string) error {
		if name == "tea.md" {
			once.Do(func() { close(inside); <-resume })
		}
		return nil
	})
	var wg sync.WaitGroup
	wg.Go(func() { suggested(t, s, userSaid(1, asksForTea)) })
	<-inside
	wantAccepted(t, proposed(t, s.Guard(1), Candidate{Path: "b.md", Text: "B.\n"}))
	if err := s.Observe(ctx, ExternalTool); err != nil {
		t.Error(err)
	}
	if _, err := s.Snapshot(ctx); err != nil {
		t.Error(err)
	}
	suggested(t, s, userSaid(2, "thanks a bunch"))
	if rows := shadowLines(t, mem); len(rows) != 1 || rows[0].N != 2 {
		t.Errorf("rows: %+v", rows)
	}
	close(resume)
	wg.Wait()
}
