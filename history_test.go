package scribe

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/memoryroom/scribe/internal/journal"
	"github.com/memoryroom/scribe/internal/rootfs"
)

// chronicle drives a room at random and keeps, beside it, what each row of the journal
// left behind: a model that knows nothing of journals.
type chronicle struct {
	t     *testing.T
	r     *Room
	mem   *rootfs.Mem
	rng   *rand.Rand
	now   book
	at    []book      // by seq
	when  []time.Time // by seq
	words int
}

// book is what stands, and what is in the archive: texts by path. Born is the name under
// which the memory at a path was written first.
type book struct{ stands, retired, born map[string]string }

func newBook() book { return book{map[string]string{}, map[string]string{}, map[string]string{}} }

func (b book) copied() book {
	return book{maps.Clone(b.stands), maps.Clone(b.retired), maps.Clone(b.born)}
}

// memory finds what was written first under a name: where it stands, and its text.
func (b book) memory(born string) (path, text string) {
	for p, text := range b.stands {
		if b.born[p] == born {
			return p, text
		}
	}
	return "", ""
}

// archives reports whether what was written first under a name is in the archive.
func (b book) archives(born string) bool {
	for p := range b.retired {
		if b.born[p] == born {
			return true
		}
	}
	return false
}

func (b book) String() string {
	var out []string
	for _, p := range slices.Sorted(maps.Keys(b.stands)) {
		out = append(out, fmt.Sprintf("%s=%q", p, b.stands[p]))
	}
	for _, p := range slices.Sorted(maps.Keys(b.retired)) {
		out = append(out, fmt.Sprintf("archived %s=%q", p, b.retired[p]))
	}
	return strings.Join(out, " ")
}

// did takes in an operation: the last rows that it wrote left these books behind, one
// each; rows before them changed nothing.
func (c *chronicle) did(after ...book) {
	c.t.Helper()
	head := headOf(c.t, c.r)
	h, err := journal.ParseHead(head)
	if err != nil {
		c.t.Fatal(err)
	}
	fresh := int(h.Seq) + 1 - len(c.at)
	if fresh < len(after) {
		c.t.Fatalf("%d rows for %d changes", fresh, len(after))
	}
	for range fresh - len(after) {
		c.at = append(c.at, c.now)
	}
	if len(after) > 0 {
		c.at, c.now = append(c.at, after...), after[len(after)-1]
	}
}

func (c *chronicle) text() string { c.words++; return fmt.Sprintf("fact number %d\n", c.words) }

// pick chooses a path that stands (or, free, one that does not and never did).
func (c *chronicle) pick(free bool) string {
	if free {
		c.words++
		return fmt.Sprintf("d%d/m%d.md", c.words%3, c.words)
	}
	all := slices.Sorted(maps.Keys(c.now.stands))
	if len(all) == 0 {
		return ""
	}
	return all[c.rng.IntN(len(all))]
}

func (c *chronicle) with(fn func(b *book)) book {
	b := c.now.copied()
	fn(&b)
	return b
}

func (c *chronicle) propose(cs ...Candidate) {
	c.t.Helper()
	vs, err := c.r.Propose(context.Background(), cs...)
	for _, v := range vs {
		if err == nil && v.Outcome != Accepted {
			err = v.Err()
		}
	}
	if err != nil {
		c.t.Fatal(err)
	}
}

// act does one thing.
func (c *chronicle) act() {
	ctx := context.Background()
	p, q, text := c.pick(false), c.pick(true), c.text()
	if p == "" || len(c.now.stands) < 4 {
		c.propose(Candidate{Path: q, Text: text})
		c.did(c.with(func(b *book) { b.stands[q], b.born[q] = text, q }))
		return
	}
	switch c.rng.IntN(11) {
	case 0:
		c.propose(Candidate{Path: q, Text: text})
		c.did(c.with(func(b *book) { b.stands[q], b.born[q] = text, q }))
	case 1:
		c.propose(Candidate{Path: p, Text: text, Base: journal.Sum([]byte(c.now.stands[p]))})
		c.did(c.with(func(b *book) { b.stands[p] = text }))
	case 2:
		c.propose(Candidate{Path: p, Old: "fact", New: "old fact"})
		c.did(c.with(func(b *book) { b.stands[p] = strings.Replace(b.stands[p], "fact", "old fact", 1) }))
	case 3:
		c.propose(Candidate{Path: p, To: q})
		c.did(c.with(func(b *book) { b.stands[q], b.born[q] = b.stands[p], b.born[p]; delete(b.stands, p) }))
	case 4:
		if err := archived(c.r, p); err != nil {
			c.t.Fatal(err)
		}
		c.did(c.with(func(b *book) { b.retired[p] = b.stands[p]; delete(b.stands, p) }))
	case 5:
		for path, was := range journal.Sorted(c.now.retired) {
			if _, stands := c.now.stands[path]; stands {
				continue
			}
			if v, err := restored(c.r, path); err != nil || v.Outcome != Accepted {
				c.t.Fatal(v.Err(), err)
			}
			c.did(c.with(func(b *book) { b.stands[path] = was; delete(b.retired, path) }))
			return
		}
	case 6:
		seq := 1 + c.rng.IntN(len(c.at)-1)
		was, stood := c.at[seq].stands[p]
		if !stood || was == c.now.stands[p] {
			return
		}
		if v, err := rolledBack(c.r, int64(seq), p); err != nil || v.Outcome != Accepted {
			c.t.Fatal(v.Err(), err)
		}
		c.did(c.undone(seq)...)
	case 7: // an editor saves, and the operator takes it
		c.mem.Plant(p, rootfs.File, []byte(text))
		if vs, err := c.r.Adopt(ctx, UserVerified, Memory{Path: p, Hash: journal.Sum([]byte(text))}); err != nil || vs[0].Outcome != Accepted {
			c.t.Fatal(vs, err)
		}
		c.did(c.with(func(b *book) { b.stands[p] = text }))
	case 8: // somebody deletes, and the room is opened again
		c.mem.Unplant(p)
		c.r = reopen(c.t, c.mem, &c.r.opts)
		c.did(c.with(func(b *book) { delete(b.stands, p) }))
	case 9: // a plan
		c.propose(Candidate{Path: q, Text: text}, Candidate{Path: p, Remove: true})
		one := c.with(func(b *book) { b.stands[q], b.born[q] = text, q })
		two := one.copied()
		two.retired[p] = two.stands[p]
		delete(two.stands, p)
		c.did(one, two)
	case 10: // a writer is held, and the operator approves
		c.r.opts.ReviewAll = true
		v := offer(c.t, c.r, UserObserved, Candidate{Path: q, Text: text})
		c.r.opts.ReviewAll = false
		c.did()
		if vs, err := c.r.Resolve(ctx, Resolution{ID: v.ID, Hash: v.Memory.Hash, Approve: true}); err != nil || vs[0].Outcome != Accepted {
			c.t.Fatal(vs, err)
		}
		c.did(c.with(func(b *book) { b.stands[q], b.born[q] = text, q }))
	}
}

// undone gives the books after each row of a rollback to seq, which may have taken other
// paths along.
func (c *chronicle) undone(seq int) (after []book) {
	b := c.now
	for rec, err := range c.r.History(context.Background(), "") {
		if err != nil {
			c.t.Fatal(err)
		}
		if rec.Seq < int64(len(c.at)) || rec.Op != journal.OpRollback {
			continue
		}
		b = b.copied()
		if text, stood := c.at[seq].stands[rec.Path]; stood {
			b.stands[rec.Path], b.born[rec.Path] = text, c.at[seq].born[rec.Path]
		} else {
			delete(b.stands, rec.Path)
		}
		after = append(after, b)
	}
	return after
}

// TestG10_RowsRebuildTheRoom: at every row of a long random history, and at every moment
// of it, what the journal and the versions give back is what was there.
func TestG10_RowsRebuildTheRoom(t *testing.T) {
	steps := 150
	if testing.Short() {
		steps = 80
	}
	for seed := range uint64(3) {
		r, mem := newRoom(t, &Options{segment: 8_000, Now: tick()})
		c := &chronicle{t: t, r: r, mem: mem, rng: rand.New(rand.NewPCG(seed, 1)), at: []book{newBook()}, now: newBook()}
		for range steps {
			c.act()
		}
		if n := sealedFiles(t, c.r); n < 2 {
			t.Fatalf("control: %d files of the journal were sealed", n)
		}
		for _, r := range []*Room{c.r, reopen(t, mem, nil)} {
			for seq, want := range c.at {
				got := rebuilt(t, r, int64(seq))
				if got.String() != want.String() {
					t.Fatalf("seed %d, row %d: rebuilt\n  %s\nwas\n  %s", seed, seq, got, want)
				}
			}
		}
		c.when = append(c.when, time.Time{})
		for rec, err := range r.History(context.Background(), "") {
			if err != nil {
				t.Fatal(err)
			}
			c.when = append(c.when, rec.Time)
		}
		if len(c.when) != len(c.at) || !slices.IsSortedFunc(c.when, time.Time.Compare) {
			t.Fatalf("%d times for %d rows", len(c.when), len(c.at))
		}
		for seq := 1; seq < len(c.when); seq += 7 {
			if got := seqAt(t, r, c.when[seq]); c.at[got].String() != c.at[seq].String() && c.when[got] != c.when[seq] {
				t.Errorf("the moment of row %d leads to row %d", seq, got)
			}
		}
		for _, seq := range []int64{-1, int64(len(c.at))} {
			for _, err := range r.At(context.Background(), seq) {
				if !errors.Is(err, fs.ErrNotExist) {
					t.Errorf("row %d: %v", seq, err)
				}
			}
		}
	}
}

// rebuilt reads the room as it was at a row.
func rebuilt(t testing.TB, r *Room, seq int64) book {
	t.Helper()
	b := newBook()
	for m, err := range r.At(context.Background(), seq) {
		switch {
		case err != nil:
			t.Fatal(err)
		case m.Stage == stageArchived:
			b.retired[m.Path] = m.Text
		default:
			b.stands[m.Path] = m.Text
		}
	}
	return b
}

// seqAt is what the documentation of At says of a moment in time.
func seqAt(t testing.TB, r *Room, at time.Time) (seq int64) {
	t.Helper()
	for rec, err := range r.History(context.Background(), "") {
		if err != nil {
			t.Fatal(err)
		}
		if !rec.Time.After(at) {
			seq = rec.Seq
		}
	}
	return seq
}

func TestG10_HeadKeptElsewhere(t *testing.T) {
	ctx := context.Background()
	r, mem := newRoom(t, smallSegments())
	if err := r.Verify(ctx, "0:"); err != nil {
		t.Errorf("the head of nothing: %v", err)
	}
	var heads []string
	for i := range 15 {
		wantAccepted(t, byHand(t, r, Candidate{Path: fmt.Sprintf("m%d.md", i), Text: "fact"}))
		heads = append(heads, headOf(t, r))
	}
	for _, head := range heads {
		if err := r.Verify(ctx, head); err != nil {
			t.Errorf("head %.8s: %v", head, err)
		}
	}
	for name, head := range map[string]string{"not a head": "twelve", "no colon": heads[3][:1], "longer": heads[3] + "0", "spelled otherwise": "0" + heads[3]} {
		if err := r.Verify(ctx, head); !errors.Is(err, fs.ErrInvalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	other := heads[4][:len(heads[4])-1] + map[bool]string{true: "1", false: "0"}[strings.HasSuffix(heads[4], "0")]
	for name, head := range map[string]string{"another row": other, "a row to come": "99:" + strings.Repeat("ab", 32)} {
		var pe *fs.PathError
		if err := r.Verify(ctx, head); !errors.As(err, &pe) || pe.Op != "verify" || errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s: %v", name, err)
		}
	}

	// A journal that is cut short verifies as a chain: the head shows it.
	data, err := r.disk.LibRead(auditName, maxAudit)
	if err != nil {
		t.Fatal(err)
	}
	mem.Plant(".scribe/"+auditName, rootfs.File, data[:strings.IndexByte(string(data), '\n')+1])
	if err := reopen(t, mem, nil).Verify(ctx, heads[len(heads)-1]); err == nil {
		t.Error("rows that were cut off are not missed")
	}
	// And so is one that was written anew, with the same memories.
	fresh, _ := newRoom(t, &Options{Now: func() time.Time { return time.Unix(99, 0) }})
	for i := range 15 {
		wantAccepted(t, byHand(t, fresh, Candidate{Path: fmt.Sprintf("m%d.md", i), Text: "fact"}))
	}
	if err := fresh.Verify(ctx, heads[2]); err == nil {
		t.Error("a chain that was written anew passes for the old one")
	}
}
