package scribe

import (
	"context"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"

	"github.com/memoryroom/scribe/internal/rootfs"
)

// TestSessionsAreReleased: a room does not grow with the sessions that were, and one ID has
// one Session as long as somebody holds it.
func TestSessionsAreReleased(t *testing.T) {
	r, _ := newRoom(t, &Options{Limits: Limits{Sessions: 64}})
	store(t, r, Operator, Candidate{Path: "a.md", Text: "A.\n"})
	held := begun(t, r)
	const all = 8 * heldSessions
	for i := range all {
		named(t, r, fmt.Sprint("short-", i))
		if i%heldSessions == 0 {
			runtime.GC()
		}
	}
	runtime.GC()
	r.mu.Lock()
	n := len(r.sessions.m)
	r.mu.Unlock()
	if n > 4*heldSessions {
		t.Errorf("%d sessions are kept of %d that nobody holds", n, all)
	}
	if named(t, r, held.id) != held {
		t.Error("an ID that somebody holds has a second session")
	}
	runtime.KeepAlive(held)
}

// TestSessionsAreHeldBetweenSteps: a host that asks for its session at every step, and holds
// none, can commit what it was given.
func TestSessionsAreHeldBetweenSteps(t *testing.T) {
	r, _ := newRoom(t, nil)
	store(t, r, Operator, Candidate{Path: "a.md", Text: "A.\n"})
	given := map[string]Snapshot{}
	for i := range heldSessions / 2 {
		id := fmt.Sprint("busy-", i)
		given[id] = deltaOf(t, named(t, r, id))
	}
	for range 2 * heldSessions { // calls, not conversations
		named(t, r, "busy-0")
	}
	runtime.GC()
	for id, sn := range given {
		commit(t, named(t, r, id), sn)
	}
}

// TestUnstoredCeilingIsKept: where the state can not be stored, dropping a session does not
// bring its ceiling back, even where the room had let go of it.
func TestUnstoredCeilingIsKept(t *testing.T) {
	ctx := context.Background()
	r, mem := newRoom(t, &Options{Limits: Limits{Sessions: 4 * heldSessions}})
	store(t, r, Operator, Candidate{Path: "a.md", Text: "A.\n"})
	others := func(name string) {
		for i := range 3 * heldSessions {
			named(t, r, fmt.Sprint(name, i))
		}
		runtime.GC()
	}
	low := named(t, r, "low")
	others("before-")
	r.mu.Lock()
	held := r.sessions.m["low"].kept != nil
	r.mu.Unlock()
	if held {
		t.Fatal("control: the room has not let go of it")
	}
	broken := errors.New("no space")
	mem.Hook(func(op, name string) error {
		if strings.Contains(name, "sessions") && op != "read" && op != "lstat" {
			return broken
		}
		return nil
	})
	if err := low.Observe(ctx, ExternalWeb); !errors.Is(err, broken) {
		t.Fatal(err)
	}
	mem.Hook(nil)
	low = nil
	runtime.GC()
	if s := named(t, r, "low"); s.Ceiling() != ExternalWeb {
		t.Errorf("the ceiling rose to %v", s.Ceiling())
	}
}

// TestCeilingFallsWhileSaving: what is observed while a save is on its way to the disk holds.
func TestCeilingFallsWhileSaving(t *testing.T) {
	ctx := context.Background()
	r, mem := newRoom(t, nil)
	store(t, r, Operator, Candidate{Path: "a.md", Text: "A.\n"})
	s := session(t, r, UserObserved)
	var once sync.Once
	mem.Hook(func(op, name string) error {
		if strings.Contains(name, "sessions") && op != "read" && op != "lstat" && op != "readdir" {
			once.Do(func() {
				s.mu.Lock()
				s.state.lower(ExternalWeb)
				s.saved = false
				s.mu.Unlock()
			})
		}
		return nil
	})
	if _, err := s.Snapshot(ctx); err != nil {
		t.Fatal(err)
	}
	mem.Hook(nil)
	if s.Ceiling() != ExternalWeb {
		t.Errorf("the ceiling rose to %v", s.Ceiling())
	}
	if err := s.Observe(ctx, ExternalWeb); err != nil {
		t.Fatal(err)
	}
	if again := named(t, reopen(t, mem, nil), s.id); again.Ceiling() != ExternalWeb {
		t.Errorf("stored is %v", again.Ceiling())
	}
}

// TestHeldSessionsAreSweptLast: a long conversation that stored nothing for a while is not
// forgotten for newer ones that are over.
func TestHeldSessionsAreSweptLast(t *testing.T) {
	o := &Options{Limits: Limits{Sessions: 4}, Now: tick()}
	r, mem := newRoom(t, o)
	store(t, r, Operator, Candidate{Path: "a.md", Text: "A.\n"})
	long := named(t, r, "long")
	elsewhere := reopen(t, mem, o)
	for i := range 3 {
		named(t, elsewhere, fmt.Sprint("short-", i)) // of another process
	}
	named(t, r, "new")
	runtime.KeepAlive(long)
	r = reopen(t, mem, o)
	for id, want := range map[string]Trust{"long": UserObserved, "new": UserObserved, "short-0": 0} {
		st, found, err := r.loadSession(id)
		if err != nil || !found || st.ceiling() != want {
			t.Errorf("%s: found %v at %v, %v; want %v", id, found, st.ceiling(), err, want)
		}
	}
}

// TestReadOnlySessionsAreKept: what can be stored nowhere else lives with the room, up to the
// limit.
func TestReadOnlySessionsAreKept(t *testing.T) {
	ctx := context.Background()
	const limit = 8
	r, mem := newRoom(t, nil)
	store(t, r, Operator, Candidate{Path: "a.md", Text: "A.\n"})
	r = reopen(t, mem, &Options{ReadOnly: true, Limits: Limits{Sessions: limit}})
	if err := named(t, r, "kept").Observe(ctx, ExternalTool); err != nil {
		t.Fatal(err)
	}
	runtime.GC()
	if s := named(t, r, "kept"); s.Ceiling() != ExternalTool {
		t.Errorf("the ceiling rose to %v", s.Ceiling())
	}
	for i := range 8 * heldSessions {
		named(t, r, fmt.Sprint("more-", i))
		if i%heldSessions == 0 {
			runtime.GC()
		}
	}
	r.mu.Lock()
	n := len(r.sessions.m)
	r.mu.Unlock()
	if n > 4*heldSessions {
		t.Errorf("%d sessions are kept; the limit is %d", n, limit)
	}
}

// TestSweptIsBounded: the filter takes any number of names in 4 MiB, and finds each.
func TestSweptIsBounded(t *testing.T) {
	r, mem := newRoom(t, nil)
	store(t, r, Operator, Candidate{Path: "a.md", Text: "A.\n"})
	names, distinct := 4_000, 1_000
	if testing.Short() {
		names, distinct = 400, 200
	}
	rng := rand.New(rand.NewPCG(1, 2))
	name := func() string {
		key := make([]byte, sessionKey/2)
		for i := range key {
			key[i] = byte(rng.UintN(256))
		}
		key[0] %= 4 // four parts, so that they fill
		return sessionDir + hex.EncodeToString(key) + ".json"
	}
	var all []string
	for range names {
		n := name()
		all = append(all, n)
		if err := r.rememberSwept(n); err != nil {
			t.Fatal(err)
		}
	}
	for _, n := range all {
		if swept, err := r.wasSwept(n); err != nil || !swept {
			t.Fatalf("%s was forgotten and is not known: %v", n, err)
		}
	}
	wrong := 0
	for range distinct {
		if swept, err := r.wasSwept(name()); err != nil {
			t.Fatal(err)
		} else if swept {
			wrong++
		}
	}
	// A thousand names a part are four million in all 4,096 times as many bits: 1 in 50,000.
	if wrong > distinct/100 {
		t.Errorf("%d of %d names that were never seen are distrusted", wrong, distinct)
	}
	files := everyFile(t, mem, ".scribe/swept")
	if len(files) != 4 {
		t.Errorf("%d parts, want 4", len(files))
	}
	for n, data := range files {
		if len(data) != sweptBytes {
			t.Errorf("%s has %d bytes, want %d", n, len(data), sweptBytes)
		}
	}
	// A part that is damaged, or is no file, may have held any name.
	at := sweptDir + "03"
	mem.Plant(".scribe/"+at, rootfs.File, []byte("short"))
	if swept, err := r.wasSwept(sessionDir + "03" + strings.Repeat("0", sessionKey-2) + ".json"); err != nil || !swept {
		t.Errorf("a damaged part: %v, %v", swept, err)
	}
	if err := r.rememberSwept(all[0]); err != nil {
		t.Error(err)
	}
}

// TestSweptPlaces: the bits of two names differ as often as chance has it, so the key is not
// used twice over.
func TestSweptPlaces(t *testing.T) {
	same := 0
	const pairs = 2_000
	rng := rand.New(rand.NewPCG(3, 4))
	place := func() [sweptBits]uint32 {
		_, bits := sweptPlaces(fmt.Sprintf("%s%016x%016x.json", sessionDir, rng.Uint64(), rng.Uint64()))
		return bits
	}
	var high uint32
	for range pairs {
		a, b := place(), place()
		for i := range a {
			high |= a[i]
			if a[i] == b[i] {
				same++
			}
			if a[i] >= sweptBytes*8 {
				t.Fatalf("bit %d of %d", a[i], sweptBytes*8)
			}
		}
	}
	if high != sweptBytes*8-1 {
		t.Errorf("some of the bits are never used: %b", high)
	}
	if same > 3 { // 12,000 pairs, one in 131,072 the same
		t.Errorf("%d places of %d are the same", same, pairs*sweptBits)
	}
}

// TestSessionIDIsNowhere: no byte below .scribe spells the ID, after everything that a
// session does.
func TestSessionIDIsNowhere(t *testing.T) {
	const id = "conversation-of-mallory-4711"
	r, mem := newRoom(t, &Options{Limits: Limits{Sessions: 2}})
	store(t, r, Operator, Candidate{Path: "a.md", Text: "A.\n"})
	s := named(t, r, id)
	sn, err := s.Snapshot(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	commit(t, s, sn)
	must(t, s, 1)
	wantAccepted(t, proposed(t, s.Guard(2), Candidate{Path: "b.md", Description: "d", Text: "B.\n"}))
	wantRule(t, proposed(t, s.Guard(3), Candidate{Path: "a.md", Text: "Not A.\n"}), Held, "")
	edited(t, r, "a.md", "A.", "A again.")
	commit(t, s, deltaOf(t, s))
	commit(t, s, reminded(t, s, nudgeTurn))
	for i := range 4 {
		named(t, r, fmt.Sprint("later-", i)) // and now it is swept
	}
	files := everyFile(t, mem, "")
	if len(files) < 8 {
		t.Fatalf("only %d files", len(files))
	}
	for name, data := range files {
		if strings.Contains(name+data, id) || strings.Contains(data, hex.EncodeToString([]byte(id))) {
			t.Errorf("%s has the session's ID", name)
		}
	}
}

// TestSweptSessionsCount: a session that comes back after it was forgotten takes its place
// among those that Limits.Sessions counts.
func TestSweptSessionsCount(t *testing.T) {
	ctx := context.Background()
	o := &Options{Limits: Limits{Sessions: 4}}
	r, mem := newRoom(t, o)
	store(t, r, Operator, Candidate{Path: "a.md", Text: "A.\n"})
	for range 2 {
		for i := range 40 {
			must1(must1(r.Session(ctx, fmt.Sprint("s", i), UserObserved)).Snapshot(ctx))
			if files := must1(r.disk.LibList("sessions")); len(files) > 4 {
				t.Fatalf("%d session files; the limit is 4", len(files))
			}
		}
		r = reopen(t, mem, o)
	}
}
