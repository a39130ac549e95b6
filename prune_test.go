package scribe

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/memoryroom/scribe/internal/journal"
	"github.com/memoryroom/scribe/internal/rootfs"
)

// calendar is a clock that a test sets: each reading is a second later.
type calendar struct{ now time.Time }

func (c *calendar) read() time.Time { c.now = c.now.Add(time.Second); return c.now }
func (c *calendar) days(n int)      { c.now = c.now.AddDate(0, 0, n) }

const day = 24 * time.Hour

// agedRoom has a.md in six texts, ten days apart, b.md in two, c.md removed, and gone.md in
// the archive.
func agedRoom(t testing.TB, o *Options) (*Room, *rootfs.Mem, *calendar) {
	t.Helper()
	c := &calendar{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
	if o == nil {
		o = &Options{}
	}
	o.Now = c.read
	r, mem := newRoom(t, o)
	for i := range 6 {
		wantAccepted(t, byHand(t, r, Candidate{Path: "a.md", Text: fmt.Sprintf("a%d\n", i), Base: hashOf(r, "a.md")}))
		if i < 2 {
			wantAccepted(t, byHand(t, r, Candidate{Path: "b.md", Text: fmt.Sprintf("b%d\n", i), Base: hashOf(r, "b.md")}))
			wantAccepted(t, byHand(t, r, Candidate{Path: "c.md", Text: fmt.Sprintf("c%d\n", i), Base: hashOf(r, "c.md")}))
		}
		if i == 0 {
			wantAccepted(t, byHand(t, r, Candidate{Path: "gone.md", Text: "gone\n"}))
		}
		c.days(10)
	}
	if err := archived(r, "gone.md"); err != nil {
		t.Fatal(err)
	}
	wantAccepted(t, byHand(t, r, Candidate{Path: "c.md", Remove: true}))
	return r, mem, c
}

// kept lists the texts among the versions.
func keptTexts(t testing.TB, r *Room) []string {
	t.Helper()
	var out []string
	for _, f := range must1(r.disk.LibList("versions")) {
		out = append(out, strings.TrimSuffix(string(must1(r.disk.LibRead("versions/"+f, maxMemory))), "\n"))
	}
	slices.Sort(out)
	return slices.Compact(out)
}

func TestPrune(t *testing.T) {
	ctx := context.Background()
	always := "a5 b1 c1 gone" // what stands, is archived, or was removed
	for _, tt := range []struct {
		keep int
		age  time.Duration
		want string
	}{
		{0, 0, always},
		{1, 0, "a4 a5 b0 b1 c0 c1 gone"},
		{2, 0, "a3 a4 a5 b0 b1 c0 c1 gone"},
		{3, 0, "a2 a3 a4 a5 b0 b1 c0 c1 gone"},
		{9, 0, "a0 a1 a2 a3 a4 a5 b0 b1 c0 c1 gone"},
		{0, 25 * day, "a3 a4 a5 b1 c1 gone"}, // a3 ended 20 days ago, a2 30
		{0, 35 * day, "a2 a3 a4 a5 b1 c1 gone"},
		{0, 1000 * day, "a0 a1 a2 a3 a4 a5 b0 b1 c0 c1 gone"},
		{1, 25 * day, "a3 a4 a5 b0 b1 c0 c1 gone"},
		{4, 25 * day, "a1 a2 a3 a4 a5 b0 b1 c0 c1 gone"},
	} {
		t.Run(fmt.Sprintf("keep=%d/age=%v", tt.keep, tt.age), func(t *testing.T) {
			r, mem, _ := agedRoom(t, nil)
			was, stands := everyFile(t, mem, ""), stateOf(t, r)
			told, err := r.Prune(ctx, tt.keep, tt.age, true)
			if err != nil {
				t.Fatal(err)
			}
			if now := everyFile(t, mem, ""); changedFiles(was, now) != "" {
				t.Fatalf("a dry run changed\n%s", changedFiles(was, now))
			}
			did, err := r.Prune(ctx, tt.keep, tt.age, false)
			if err != nil {
				t.Fatal(err)
			}
			if got := strings.Join(keptTexts(t, r), " "); got != tt.want {
				t.Errorf("kept %s\nwant %s", got, tt.want)
			}
			if a, b := rulesOf(told, Held), rulesOf(did, Accepted); !slices.Equal(a, b) || len(a) != len(told) || len(b) != len(did) {
				t.Errorf("the dry run said %v, and %v went", told, did)
			}
			if got := stateOf(t, r); got != stands {
				t.Errorf("the room holds\n  %s\nwas\n  %s", got, stands)
			}
			if fs, err := r.Check(ctx, false); err != nil || len(fs) > 0 {
				t.Errorf("check: %v, %v", fs, err)
			}
			if again, err := r.Prune(ctx, tt.keep, tt.age, false); err != nil || len(again) > 0 {
				t.Errorf("a second prune: %v, %v", again, err)
			}
			for seq := int64(1); seq <= 12; seq++ {
				for m, err := range r.At(ctx, seq) {
					if err != nil {
						t.Fatal(err)
					}
					if m.Text == "" && (len(m.Findings) != 1 || m.Findings[0].Rule != "version.gone") {
						t.Errorf("row %d: %s has no text, and no reason", seq, m.Path)
					}
				}
			}
		})
	}
	r, _, _ := agedRoom(t, nil)
	for _, err := range []error{second(r.Prune(ctx, -1, 0, true)), second(r.Prune(ctx, 0, -1, false))} {
		if !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("negative: %v", err)
		}
	}
	if _, err := r.Rollback(ctx, 2, "a.md"); err != nil {
		t.Errorf("control: %v", err)
	}
}

func newRNG(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 1)) }

func second[T any](_ T, err error) error { return err }

// TestG10_PruneKeepsItsWindow: over random histories, no text that ended within the window
// is gone, under whatever names it stood.
func TestG10_PruneKeepsItsWindow(t *testing.T) {
	ctx := context.Background()
	for seed := range uint64(6) {
		cal := &calendar{now: time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)}
		r, mem := newRoom(t, &Options{segment: 4_000, Now: cal.read})
		c := &chronicle{t: t, r: r, mem: mem, rng: newRNG(seed), at: []book{newBook()}, now: newBook()}
		type moment struct {
			seq  int64
			time time.Time
		}
		var moments []moment
		var floor time.Time // before it something was dropped
		for i := range 60 {
			c.act()
			if i%3 == 0 {
				cal.days(c.rng.IntN(3))
			}
			moments = append(moments, moment{int64(len(c.at) - 1), cal.now})
			if i%20 != 19 {
				continue
			}
			age := time.Duration(c.rng.IntN(20)) * day
			if _, err := c.r.Prune(ctx, c.rng.IntN(3), age, false); err != nil {
				t.Fatal(err)
			}
			c.did()
			if at := cal.now.Add(-age); at.After(floor) {
				floor = at
			}
			for _, m := range moments {
				if !m.time.After(floor) {
					continue
				}
				if got := rebuilt(t, c.r, m.seq); got.String() != c.at[m.seq].String() {
					t.Fatalf("seed %d: pruned by %v, and row %d of %v before is\n  %s\nwas\n  %s", seed, age, m.seq, cal.now.Sub(m.time), got, c.at[m.seq])
				}
			}
			if fs, err := c.r.Check(ctx, false); err != nil || len(rulesOf(fs, Held)) > 0 {
				t.Fatalf("seed %d: check: %v, %v", seed, fs, err)
			}
		}
	}
}

// TestPruneRows: a journal does not grow for ever, and what is dropped from it is missed by
// nothing that counts.
// It holds the report gov-audit-unbounded.
func TestPruneRows(t *testing.T) {
	ctx := context.Background()
	r, mem, cal := agedRoom(t, smallSegments())
	rows, _, _, _ := journal.Decode(must1(r.disk.LibRead(segmentName(1), maxAudit)), journal.Head{}, nil)
	head := journal.Head{Seq: rows[2].Seq, Hash: rows[2].Hash}.String()
	if err := r.Verify(ctx, head); err != nil {
		t.Fatal(err)
	}
	g := session(t, r, UserObserved).Guard(1)
	for range 60 { // refusals are rows too, of a model's making
		if v := proposed(t, g, Candidate{Path: "k.md", Text: "token ghp_" + strings.Repeat("a1B2c3D4e5", 3) + "f6G7h8\n"}); v.Outcome != Rejected {
			t.Fatal(v.Findings)
		}
	}
	if err := archived(r, "b.md"); err != nil { // so that something is pending on an old row
		t.Fatal(err)
	}
	early := reopen(t, mem, smallSegments())
	cal.days(100)
	stands, sealed := stateOf(t, r), sealedFiles(t, r)
	told, err := r.Prune(ctx, 0, 50*day, false)
	if err != nil || !strings.Contains(fmt.Sprint(rulesOf(told, Accepted)), "prune.rows") {
		t.Fatalf("%v, %v", told, err)
	}
	if n := sealedFiles(t, r); n >= sealed {
		t.Errorf("%d sealed files before, %d after", sealed, n)
	}
	for name, r := range map[string]*Room{"pruned": r, "early": early, "reopened": reopen(t, mem, nil)} {
		if got := stateOf(t, r); got != stands {
			t.Errorf("%s: the room holds\n  %s\nwas\n  %s", name, got, stands)
		}
		if fs, err := r.Check(ctx, true); err != nil || len(fs) > 0 {
			t.Errorf("%s: check: %v, %v", name, fs, err)
		}
		if err := r.Verify(ctx, head); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: a head of a dropped row: %v", name, err)
		}
		if err := r.Verify(ctx, headOf(t, r)); err != nil {
			t.Errorf("%s: the present head: %v", name, err)
		}
		if _, err := r.Rollback(ctx, 3, "a.md"); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: rollback before the base: %v", name, err)
		}
		for _, err := range r.At(ctx, 3) {
			if !errors.Is(err, fs.ErrNotExist) {
				t.Errorf("%s: at a dropped row: %v", name, err)
			}
		}
	}
	if v, err := ackOf(r.Restore(ctx, "gone.md")); err != nil || !v {
		t.Errorf("restore: %v", err)
	}
	if left, err := r.Purge(ctx, "a.md", "x"); err != nil || len(left) > 0 {
		t.Errorf("purge: %v, %v", left, err)
	}
	if got := strings.Join(keptTexts(t, r), " "); strings.Contains(got, "a") {
		t.Errorf("purged, and still there: %s", got)
	}

	t.Run("a base that no row commits to", func(t *testing.T) {
		names := must1(r.disk.LibList(segmentDir))
		i := slices.IndexFunc(names, func(n string) bool { return lastOfBase(n) > 0 })
		data := must1(r.disk.LibRead(segmentDir+"/"+names[i], maxCheckpoint))
		mem.Plant(".scribe/"+segmentDir+"/"+names[i], rootfs.File, []byte(strings.Replace(string(data), `"operator"`, `"unknown"`, 1)))
		if fs, err := r.Check(ctx, false); err != nil || !slices.Contains(rulesOf(fs, Held), "check.chain "+auditName) {
			t.Errorf("a forged base was not found: %v, %v", fs, err)
		}
		mem.Unplant(".scribe/" + checkpointName)
		if _, err := tryOpen(t, mem.CrashClone(newRNG(1), 1)); err == nil {
			t.Error("a forged base was believed")
		}
		mem.Unplant(".scribe/" + segmentDir + "/" + names[i])
		if _, err := tryOpen(t, mem.CrashClone(newRNG(1), 1)); err == nil {
			t.Error("a journal without its beginning was believed")
		}
		mem.Plant(".scribe/"+segmentDir+"/"+names[i], rootfs.File, data)
		if again, err := tryOpen(t, mem); err != nil || stateOf(t, again) != stateOf(t, r) {
			t.Errorf("control: %v", err)
		}
	})
}

// TestPruneAfterRenames: a rename writes the text a second time under its own row, and nothing
// rests on that copy: it must not keep the journal from being dropped for ever.
func TestPruneAfterRenames(t *testing.T) {
	ctx := context.Background()
	for seed := range uint64(6) {
		r, mem := newRoom(t, &Options{segment: 2_000, Now: tick()})
		c := &chronicle{t: t, r: r, mem: mem, rng: newRNG(seed), at: []book{newBook()}, now: newBook()}
		for range 40 {
			c.act()
		}
		if n := sealedFiles(t, c.r); n < 5 {
			t.Fatalf("control: %d sealed files", n)
		}
		stands := stateOf(t, c.r)
		must1(c.r.Prune(ctx, 0, 0, false))
		if n := sealedFiles(t, c.r); n > 1 {
			t.Errorf("seed %d: %d sealed files are left", seed, n)
		}
		if got := stateOf(t, c.r); got != stands {
			t.Errorf("seed %d: the room holds\n  %s\nwas\n  %s", seed, got, stands)
		}
		if fs := must1(c.r.Check(ctx, false)); len(fs) > 0 {
			t.Errorf("seed %d: check: %v", seed, fs)
		}
	}
}

// TestG10_CrashWhilePruning: cut short at any step, a prune has happened or goes on at the
// next open, and nothing that it was not to take is gone.
func TestG10_CrashWhilePruning(t *testing.T) {
	ctx := context.Background()
	for _, o := range []*Options{{}, smallSegments()} {
		prepare := func(t testing.TB) (*Room, *rootfs.Mem) {
			r, mem, cal := agedRoom(t, o)
			cal.days(100)
			return r, mem
		}
		r, _ := prepare(t)
		stands := stateOf(t, r)
		told, err := r.Prune(ctx, 0, 50*day, false)
		if err != nil || (o.segment > 0) != strings.Contains(fmt.Sprint(rulesOf(told, Accepted)), "prune.rows") {
			t.Fatalf("control: %v, %v", told, err)
		}
		pruned := strings.Join(keptTexts(t, r), " ")
		for _, keep := range []float64{0, 0.5, 1} {
			rng := newRNG(uint64(keep * 2))
			r, mem := prepare(t)
			full := strings.Join(keptTexts(t, r), " ")
			all := images(mem, rng, keep, func() bool { _, err := r.Prune(ctx, 0, 50*day, false); return err == nil })
			for n, im := range all {
				first, second := im, []image{}
				if n%4 == 0 || *soak {
					copied := im.mem.CrashClone(rng, 1)
					second = images(copied, rng, 0.5, func() bool { _, err := tryOpen(t, copied); return err == nil })
				}
				for k, im2 := range append([]image{first}, second...) {
					at := fmt.Sprintf("keep %v, %d: %s, %d: %s", keep, n, im.at, k, im2.at)
					r, err := tryOpen(t, im2.mem)
					if err != nil {
						t.Fatalf("%s: %v", at, err)
					}
					if got := stateOf(t, r); got != stands {
						t.Fatalf("%s: it holds\n  %s\nwas\n  %s", at, got, stands)
					}
					got := strings.Join(keptTexts(t, r), " ")
					if got != pruned && (got != full || im.acked) {
						t.Fatalf("%s: kept %s, want %s or all of %s", at, got, pruned, full)
					}
					sound(t, at, im2.mem, r)
				}
			}
		}
	}
}

// TestPurgeAfterPrunedRename: a memory's former names outlive the rows that gave them.
func TestPurgeAfterPrunedRename(t *testing.T) {
	ctx := context.Background()
	o := &Options{segment: 2000, Now: tick()}
	r, mem := newRoom(t, o)
	store(t, r, UserObserved, Candidate{Path: "a.md", Description: "heron", Text: "The code word is heron.\n"})
	s := must1(r.Session(ctx, "s", UserObserved))
	must1(s.Snapshot(ctx))
	must1(r.Rename(ctx, "a.md", "b.md"))
	must1(r.Rename(ctx, "b.md", "c.md"))
	for i := range 40 {
		store(t, r, Operator, Candidate{Path: fmt.Sprintf("x%d.md", i), Text: fmt.Sprint("Fill ", i, "\n")})
	}
	dropped := must1(r.Prune(ctx, 0, 0, false))
	if !slices.ContainsFunc(dropped, func(f Finding) bool { return f.Rule == "prune.rows" }) {
		t.Fatalf("control: no rows were dropped: %v", dropped)
	}
	if got := filesWith(t, mem, "heron"); len(got) < 3 {
		t.Fatalf("control: %q", got)
	}
	r = reopen(t, mem, o)
	if left := must1(r.Purge(ctx, "c.md", "")); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if got := filesWith(t, mem, "heron"); len(got) > 0 {
		t.Errorf("purged text in %q", got)
	}
	if sn := must1(s.Snapshot(ctx)); strings.Contains(sn.Text, "heron") {
		t.Errorf("shown after the purge:\n%s", sn.Text)
	}
	if found := must1(r.Check(ctx, false)); len(found) > 0 {
		t.Errorf("check: %v", found)
	}
}
