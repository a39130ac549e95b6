package scribe

// The shadow audit: what a row holds and does not hold, its files, and what harms whom.

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/memoryroom/scribe/internal/gate"
	"github.com/memoryroom/scribe/internal/rootfs"
)

// placedBy is the journal's row that put what stands at a path in its place.
func placedBy(r *Room, path string) int64 { return r.stateNow().Accepted[path].Seq }

// shadowFiles reads the files of rows.
func shadowFiles(t testing.TB, mem *rootfs.Mem) map[string]string {
	t.Helper()
	files := everyFile(t, mem, ".scribe/shadow")
	delete(files, ".scribe/"+shadowState)
	return files
}

// shadowLines reads every row of the shadow audit, by day.
func shadowLines(t testing.TB, mem *rootfs.Mem) (rows []shadowLine) {
	t.Helper()
	files := shadowFiles(t, mem)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if strings.HasPrefix(files[name], "\ufeff") || !strings.HasSuffix(files[name], "\n") {
			t.Errorf("%s begins or ends badly", name)
		}
		for line := range strings.Lines(files[name]) {
			var row shadowLine
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				t.Fatalf("%s: %v in %s", name, err, line)
			}
			rows = append(rows, row)
		}
	}
	return rows
}

// TestRowB68_WhatARowIsNot is said in every row.
func TestRowB68_WhatARowIsNot(t *testing.T) {
	r, mem := suggestRoom(t, suggestShadow)
	s := session(t, r, UserObserved)
	suggested(t, s, userSaid(1, asksForTea))
	suggested(t, s, userSaid(2, "ok"))
	for name, data := range shadowFiles(t, mem) {
		for line := range strings.Lines(data) {
			for _, want := range []string{`"shadow_only":true`, `"injected":false`, `"packet_id":null`, `"delivered":false`, `"access_evidence_created":false`} {
				if !strings.Contains(line, want) {
					t.Errorf("%s: %s is not in %s", name, want, line)
				}
			}
		}
	}
	row := shadowLines(t, mem)[0]
	if row.Outcome != outcomeCompleted || row.Gate.Action != "retrieve" || row.Gate.Signals["explicitRecall"] != 1_000_000 ||
		row.Counts.Kept != 1 || row.Counts.Rooms != 1 || row.Counts.Records != 2 || row.Hits[0].Row != placedBy(r, "tea.md") || row.Hits[0].Score <= 0 {
		t.Errorf("got %+v", row)
	}
}

// TestRowB69_Fields: a row has the fields of the list and no other, and each text in it is a
// word of a closed list, a digest, a time or the label of a room.
func TestRowB69_Fields(t *testing.T) {
	r, mem := suggestRoom(t, suggestShadow)
	store(t, r, UserObserved, Candidate{Path: "twin.md", Text: "Green tea is served at four in the garden.\n"})
	s := session(t, r, UserObserved)
	for n, g := range []Segment{
		{Kind: "user", Text: asksForTea, Time: still()},
		{Kind: "tool-result", Text: "no", Tool: "kettle", Failed: true, Time: still()},
		{Kind: "user", Text: "x", Plugin: "cron"},
		{Kind: "kettle", Text: "y"},
		{Kind: "user", Text: "What is green tea?"},
	} {
		g.N = n + 1
		suggested(t, s, g)
	}
	fields := strings.Fields(`schema id at epoch trigger_at n kind segment query gate lexical index outcome hits dropped counts us truncated audit_write_failed
		shadow_only injected packet_id delivered access_evidence_created
		gate.policy gate.action gate.state gate.reason gate.raw gate.hesitation gate.latched gate.cooldown gate.signals
		hits.id hits.room hits.row hits.trust hits.score hits.notes dropped.stage dropped.reason dropped.room dropped.row dropped.n
		counts.rooms counts.records counts.raw counts.kept counts.dropped us.gate us.rank us.reload us.total`)
	word := regexp.MustCompile(`^((ret_|cand_|idx_)?[0-9a-f]{32}|[a-z]+(-[a-z]+)*|gate_1|lexical_1|memory|2026-09-21T08:12:00Z)$`)
	seen := map[string]bool{}
	var look func(at string, v any)
	look = func(at string, v any) {
		switch v := v.(type) {
		case map[string]any:
			for k, v := range v {
				name := strings.TrimPrefix(at+"."+k, ".")
				seen[name] = true
				if at == "gate.signals" {
					if !slices.ContainsFunc([]gate.Signal{gate.ExplicitRecall, gate.Novelty, gate.ToolFailure, gate.Question, gate.Reference}, func(s gate.Signal) bool { return s.String() == k }) {
						t.Errorf("signal %q", k)
					}
				} else if !slices.Contains(fields, name) {
					t.Errorf("field %q", name)
				}
				look(name, v)
			}
		case []any:
			for _, v := range v {
				look(at, v)
			}
		case string:
			if !word.MatchString(v) || strings.Contains(v, "tea") || strings.Contains(v, "kettle") {
				t.Errorf("%s is %q", at, v)
			}
		}
	}
	for _, data := range shadowFiles(t, mem) {
		for line := range strings.Lines(data) {
			var row map[string]any
			if err := json.Unmarshal([]byte(line), &row); err != nil {
				t.Fatal(err)
			}
			look("", row)
		}
	}
	for _, want := range []string{"hits.row", "dropped.reason", "trigger_at", "gate.signals", "us.reload"} {
		if !seen[want] {
			t.Errorf("control: no row has %s", want)
		}
	}
}

// TestRowB70_Privacy: no word of the conversation or of a memory, no session, no path, and no
// digest that a guess can be compared with.
// It holds the report shadow-privacy.
func TestRowB70_Privacy(t *testing.T) {
	r, mem := suggestRoom(t, suggestShadow)
	const id = "conversation-of-mallory"
	s := named(t, r, id)
	wantAccepted(t, proposed(t, s.Guard(1), Candidate{Path: "mine.md", Text: "Whoever serves the green tea.\n"}))
	secret := "my passphrase is heron-otter-lynx, do you remember who serves the green tea?"
	suggested(t, s, userSaid(1, secret))
	suggested(t, s, Segment{N: 2, Kind: "tool-result", Text: "open /home/mallory/.ssh/id_ed25519: denied", Tool: "heronreader", Failed: true})
	suggested(t, s, Segment{N: 3, Kind: "heronkind", Text: "x"})
	sum := sha256.Sum256([]byte("user\x00\x00" + secret))
	hash := r.stateNow().Accepted["tea.md"].Hash
	index := sha256.Sum256([]byte("memory\n" + fmt.Sprintf("%q %s\n%q %s\n%q %s\n", "cake.md", r.stateNow().Accepted["cake.md"].Hash, "mine.md", r.stateNow().Accepted["mine.md"].Hash, "tea.md", hash)))
	files := shadowFiles(t, mem)
	if rows := shadowLines(t, mem); len(files) != 1 || len(rows) != 3 || len(rows[0].Hits) == 0 || len(rows[0].Dropped) == 0 || rows[0].Dropped[0].Row == 0 {
		t.Fatalf("control: %v", files)
	}
	for name, data := range files {
		for _, never := range []string{"heron", "passphrase", "Green", "garden", "tea", "cake", ".md", "/home", "mallory", id, hex.EncodeToString(sum[:8]), hash[:16], hex.EncodeToString(index[:8]), "goroutine"} {
			if strings.Contains(strings.ToLower(data), strings.ToLower(never)) {
				t.Errorf("%s has %q", name, never)
			}
		}
	}
}

// TestRowB71_OneLineEach, by date of the room's clock, however many write, and a line that a
// crash cut off is not joined to the next. They are UTF-8 without a BOM (B79).
func TestRowB71_OneLineEach(t *testing.T) {
	now := time.Date(2026, 9, 15, 23, 59, 50, 0, time.UTC)
	var mu sync.Mutex
	o := &Options{Suggest: suggestShadow, Now: func() time.Time { mu.Lock(); defer mu.Unlock(); return now }}
	r, mem := newRoom(t, o)
	store(t, r, Operator, Candidate{Path: "tea.md", Text: "Green tea is served at four.\n"})
	var wg sync.WaitGroup
	for range 8 {
		s := session(t, r, UserObserved)
		wg.Go(func() {
			for n := range 4 {
				suggested(t, s, userSaid(n+1, asksForTea))
			}
		})
	}
	wg.Wait()
	if rows := shadowLines(t, mem); len(rows) != 32 {
		t.Errorf("%d rows, want 32", len(rows))
	}
	mu.Lock()
	now = now.Add(20 * time.Second) // the report time-cached-midnight
	mu.Unlock()
	suggested(t, session(t, r, UserObserved), userSaid(1, "y"))
	files := slices.Sorted(maps.Keys(shadowFiles(t, mem)))
	if want := []string{".scribe/shadow/2026-09-15.jsonl", ".scribe/shadow/2026-09-16.jsonl"}; !slices.Equal(files, want) {
		t.Errorf("got %q, want %q", files, want)
	}
	data := shadowFiles(t, mem)[files[1]]
	mem.Plant(files[1], rootfs.File, []byte(data+`{"schema":1,"id":"ret_`))
	suggested(t, session(t, reopen(t, mem, o), UserObserved), userSaid(1, "z"))
	if rows := shadowLines(t, mem); len(rows) != 34 {
		t.Errorf("%d rows after a cut one, want 34", len(rows))
	}
}

// TestRowB72_Retention: 14 days and 32 MiB, the oldest first, and nothing else.
func TestRowB72_Retention(t *testing.T) {
	now := time.Date(2026, 9, 30, 8, 0, 0, 0, time.UTC)
	o := &Options{Suggest: suggestShadow, Now: func() time.Time { return now }}
	r, mem := newRoom(t, o)
	store(t, r, Operator, Candidate{Path: "tea.md", Text: "Green tea is served at four.\n"})
	plant := func(name string, size int) { mem.Plant(".scribe/shadow/"+name, rootfs.File, make([]byte, size)) }
	suggested(t, session(t, r, UserObserved), userSaid(1, "x"))
	before := everyFile(t, mem, "")
	for _, day := range []string{"2026-09-01", "2026-09-16", "2026-09-17", "2026-09-20"} {
		plant(day+".jsonl", 10)
	}
	plant("2026-09-25.jsonl", 31<<20)
	plant("2026-09-24.jsonl", 2<<20) // with the newer one too much
	plant("notes.txt", 10)
	now = now.AddDate(0, 0, 1)
	r = reopen(t, mem, o)
	suggested(t, session(t, r, UserObserved), userSaid(1, "y"))
	var got []string
	for name := range shadowFiles(t, mem) {
		got = append(got, strings.TrimPrefix(name, ".scribe/shadow/"))
	}
	slices.Sort(got)
	if want := []string{"2026-09-25.jsonl", "2026-09-30.jsonl", "2026-10-01.jsonl", "notes.txt"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	after := everyFile(t, mem, "")
	for name, data := range before {
		if !strings.HasPrefix(name, ".scribe/sessions/") && name != ".scribe/"+shadowState && after[name] != data {
			t.Errorf("%s changed", name)
		}
	}
	// A day that is full by itself takes no more, and that is no fault of the conversation.
	plant("2026-10-01.jsonl", shadowBytes-10)
	s := session(t, r, UserObserved)
	suggested(t, s, userSaid(1, "z"))
	if s.suggest.missed != 1 {
		t.Errorf("%d rows missed, want 1", s.suggest.missed)
	}
}

// TestRowB73_FailingAuditHarmsNothing, and the next row says that one is missing.
func TestRowB73_FailingAuditHarmsNothing(t *testing.T) {
	r, mem := suggestRoom(t, suggestShadow)
	s := session(t, r, UserObserved)
	mem.Hook(func(op, name string) error {
		if strings.Contains(name, "shadow") && op != "read" && op != "lstat" && op != "readdir" {
			return errors.New("no space")
		}
		return nil
	})
	suggested(t, s, userSaid(1, asksForTea))
	mem.Hook(nil)
	wantAccepted(t, proposed(t, s.Guard(1), Candidate{Path: "b.md", Text: "B.\n"}))
	suggested(t, s, userSaid(2, asksForTea))
	suggested(t, s, userSaid(3, asksForTea))
	rows := shadowLines(t, mem)
	if len(rows) != 2 || rows[0].Missed != 1 || rows[1].Missed != 0 {
		t.Errorf("got %+v", rows)
	}
	// Where nothing may be written nothing is, and the room works.
	ro := reopen(t, mem, &Options{Suggest: suggestShadow, ReadOnly: true, Now: still})
	suggested(t, session(t, ro, UserObserved), userSaid(1, asksForTea))
	empty, emptyMem := newRoom(t, atEase(suggestShadow))
	suggested(t, session(t, empty, UserObserved), userSaid(1, asksForTea))
	if files := everyFile(t, emptyMem, ""); len(files) != 0 || len(shadowLines(t, mem)) != 2 {
		t.Errorf("files: %v", files)
	}
}

// TestShadowRowIsBounded: what does not fit is cut at the end, and said.
func TestShadowRowIsBounded(t *testing.T) {
	l := shadowLine{Schema: 1}
	for i := range 400 {
		l.Dropped = append(l.Dropped, shadowDrop{"rank", dropBudget, strings.Repeat("m", 200), int64(i), 0})
	}
	data, err := l.encode()
	var back shadowLine
	if err != nil || len(data) > shadowRow || json.Unmarshal(data, &back) != nil || back.Truncated != "audit-truncated" || len(back.Dropped) == 0 {
		t.Errorf("%d bytes, %v, %q", len(data), err, back.Truncated)
	}
	if data, err := (shadowLine{}).encode(); err != nil || strings.Contains(string(data), "truncated") {
		t.Errorf("control: %s, %v", data, err)
	}
}
