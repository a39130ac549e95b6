package scribe

import (
	"context"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/memoryroom/scribe/internal/entry"
	"github.com/memoryroom/scribe/internal/fold"
	"github.com/memoryroom/scribe/internal/journal"
	"github.com/memoryroom/scribe/internal/rootfs"
)

// clone is one side of a room under git. Each memory has a word of its own, which every
// text of it holds, so that it is known under any name; beside it stands what the operator
// took back on this side and has not given back.
type clone struct {
	r         *Room
	mem       *rootfs.Mem
	words     *int
	withdrawn map[string]string // by word: how
	lowered   map[string]Trust  // by word
	refused   map[string]bool   // by text
}

func (c *clone) parts() {
	c.withdrawn, c.lowered, c.refused = map[string]string{}, map[string]Trust{}, map[string]bool{}
}

var wordOf = regexp.MustCompile(`word\d+`)

var sharedTexts = []string{"The shared word0 stands.\n", "Another shared word0 stands.\n"}

// one is an accepted memory, or false.
func (c *clone) one(t *rapid.T) (Memory, bool) {
	var all []Memory
	for m, err := range c.r.List(context.Background(), stageActive) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	if len(all) == 0 {
		return Memory{}, false
	}
	return rapid.SampledFrom(all).Draw(t, "memory"), true
}

func (c *clone) writes(t *rapid.T, cand Candidate) Verdict {
	*c.words++
	s, err := c.r.Session(context.Background(), fmt.Sprint("s", *c.words), UserObserved)
	if err != nil {
		t.Fatal(err)
	}
	vs, err := s.Guard(1).Propose(context.Background(), cand)
	if err != nil {
		t.Fatal(err)
	}
	return vs[0]
}

// act does one thing.
func (c *clone) act(t *rapid.T) {
	ctx := context.Background()
	path := rapid.SampledFrom(cyclePaths).Draw(t, "path")
	m, stands := c.one(t)
	word := wordOf.FindString(m.Text)
	act := rapid.SampledFrom([]string{"add", "share", "edit", "rename", "rename", "remove", "lower", "raise", "archive", "suspend", "purge", "erase", "restore", "refuse", "hand", "rollback"}).Draw(t, "act")
	if !stands && act != "share" && act != "refuse" && act != "restore" && act != "erase" {
		act = "add"
	}
	if act == "purge" && word == "word0" {
		act = "archive" // twins share their versions, which git takes away with the purged one's
	}
	must := func(vs []Verdict, err error) bool {
		if err != nil {
			t.Fatal(err)
		}
		return len(vs) > 0 && (vs[0].Outcome == Accepted || act == "suspend" && vs[0].Outcome == Held)
	}
	switch act {
	case "add":
		*c.words++
		c.writes(t, Candidate{Path: path, Text: fmt.Sprintf("The fact word%d.\n", *c.words)})
	case "share":
		c.writes(t, Candidate{Path: path, Text: rapid.SampledFrom(sharedTexts).Draw(t, "text")})
	case "edit":
		*c.words++
		c.writes(t, Candidate{Path: m.Path, Old: word, New: fmt.Sprintf("%s edit%d", word, *c.words)})
	case "hand":
		*c.words++
		must(c.r.Propose(ctx, Candidate{Path: m.Path, Old: word, New: fmt.Sprintf("%s hand%d", word, *c.words)}))
	case "rename":
		if rapid.Bool().Draw(t, "by hand") {
			must(c.r.Rename(ctx, m.Path, path))
		} else {
			c.writes(t, Candidate{Path: m.Path, To: path})
		}
	case "remove":
		c.writes(t, Candidate{Path: m.Path, Remove: true})
	case "lower":
		if must(c.r.Adopt(ctx, ExternalWeb, m)) && m.Trust > ExternalWeb {
			c.lowered[word] = ExternalWeb
		}
	case "raise":
		if must(c.r.Adopt(ctx, UserVerified, m)) {
			delete(c.lowered, word)
		}
	case "archive":
		if must(c.r.Archive(ctx, "", "", m.Path)) {
			c.withdrawn[word] = act
		}
	case "suspend":
		if must(c.r.Suspend(ctx, "", m.Path)) {
			c.withdrawn[word] = act
		}
	case "purge":
		c.purges(t, m)
	case "erase": // what is in the archive
		for a, err := range c.r.List(ctx, stageArchived) {
			if err != nil {
				t.Fatal(err)
			}
			for _, m := range c.stands(t) {
				if m.Path == a.Path {
					return // see "purge"
				}
			}
			if !strings.Contains(a.Text, "word0") {
				c.purges(t, a)
				return
			}
		}
	case "rollback":
		c.rollsBack(t, m.Path)
	case "restore":
		for a, err := range c.r.List(ctx, stageArchived) {
			if err != nil {
				t.Fatal(err)
			}
			if must(c.r.Restore(ctx, a.ID)) {
				delete(c.withdrawn, wordOf.FindString(a.Text))
				delete(c.lowered, wordOf.FindString(a.Text))
			}
			return
		}
	case "refuse":
		text := rapid.SampledFrom(sharedTexts).Draw(t, "text")
		c.r.opts.ReviewAll = true
		v := c.writes(t, Candidate{Path: "zz/refused.md", Text: text})
		c.r.opts.ReviewAll = false
		if v.Outcome != Held {
			return
		}
		if _, err := c.r.Resolve(ctx, Resolution{ID: v.ID, Hash: v.Memory.Hash}); err != nil {
			t.Fatal(err)
		}
		c.refused[text] = true
	}
}

// purges purges a memory, and what was retired under its name goes too.
func (c *clone) purges(t *rapid.T, m Memory) {
	was := c.retired(t)
	if _, err := c.r.Purge(context.Background(), m.Path, ""); err != nil {
		t.Fatal(err)
	}
	c.withdrawn[wordOf.FindString(m.Text)] = "purge"
	now := c.retired(t)
	for word := range was {
		if !now[word] {
			c.withdrawn[word] = "purge"
		}
	}
}

// rollsBack sets a memory back to an earlier row: what the operator gave or took with it, they did.
func (c *clone) rollsBack(t *rapid.T, path string) {
	was := map[string]Trust{}
	for _, m := range c.stands(t) {
		was[wordOf.FindString(m.Text)] = m.Trust
	}
	seq := rapid.Int64Range(1, c.r.stateNow().Seq).Draw(t, "seq")
	if vs, err := c.r.Rollback(context.Background(), seq, path); err != nil || vs[0].Outcome != Accepted {
		return
	}
	now := map[string]bool{}
	for _, m := range c.stands(t) {
		word := wordOf.FindString(m.Text)
		now[word] = true
		if trust, stood := was[word]; !stood || trust != m.Trust {
			delete(c.withdrawn, word)
			delete(c.lowered, word)
		}
	}
	for word := range was {
		if !now[word] {
			c.withdrawn[word] = "rollback"
		}
	}
}

// retired gives the words of what is in the archive.
func (c *clone) retired(t *rapid.T) map[string]bool {
	words := map[string]bool{}
	for m, err := range c.r.List(context.Background(), stageArchived) {
		if err != nil {
			t.Fatal(err)
		}
		words[wordOf.FindString(m.Text)] = true
	}
	return words
}

// stands gives the accepted memories of a side.
func (c *clone) stands(t *rapid.T) []Memory {
	var all []Memory
	for m, err := range c.r.List(context.Background(), stageActive, stageChanged) {
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, m)
	}
	return all
}

// TestG5_AJoinUndoesNoRestriction: whatever two clones did, a join loses nothing that either
// acknowledged, raises no trust, and undoes nothing that an operator took back on either.
func TestG5_AJoinUndoesNoRestriction(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		words := 0
		o := sharedKey([]int{2_000, 1 << 20}[rapid.IntRange(0, 1).Draw(rt, "segment")])
		one := &clone{mem: rootfs.NewMem(), words: &words}
		one.mem.SetIdentity("one machine")
		one.r = memRoom(rt, one.mem, o)
		one.parts()
		one.writes(rt, Candidate{Path: "first.md", Text: "The fact word1000 is first.\n"})
		for range rapid.IntRange(0, 6).Draw(rt, "before") {
			one.act(rt)
		}
		base, parted := everyFile(t, one.mem, ""), one.stands(rt)
		two := &clone{mem: one.mem.CrashClone(newRNG(1), 1), words: &words}
		two.mem.SetIdentity("another machine")
		two.r = memRoom(rt, two.mem, o)
		sides := []*clone{one, two}
		var ends [2][]Memory
		for i, c := range sides {
			c.parts()
			for range rapid.IntRange(0, 5).Draw(rt, "acts") {
				c.act(rt)
			}
			ends[i] = c.stands(rt)
		}
		merged(t, base, everyFile(t, one.mem, ""), everyFile(t, two.mem, ""), one.mem, rapid.Bool().Draw(rt, "union"))
		joined := &clone{r: memRoom(rt, one.mem, o), mem: one.mem}
		for i := range 2 { // when it is joined, and once it is opened again
			(&outcome{joined, sides, parted, ends}).check(t, rt)
			was := stateOf(t, joined.r)
			joined.r = memRoom(rt, one.mem, o)
			if now := stateOf(t, joined.r); i == 0 && was != now {
				rt.Fatalf("it held\n%s\nand opened again\n%s", was, now)
			}
		}
	})
}

// outcome is a room that two clones were joined to, and what they were.
type outcome struct {
	joined *clone
	sides  []*clone
	parted []Memory    // what stood when they parted
	ends   [2][]Memory // and at the end of each
}

// purges reports whether a side purged anything.
func (o *outcome) purges() bool {
	return slices.ContainsFunc(o.sides, func(c *clone) bool { return slices.Contains(slices.Collect(maps.Values(c.withdrawn)), "purge") })
}

func (o *outcome) check(t *testing.T, rt *rapid.T) {
	files := everyFile(t, o.joined.mem, "")
	o.oneTruth(rt)
	o.restricted(rt)
	o.nothingLost(rt, files)
	o.nothingLeft(rt, files)
	o.sound(rt)
}

// oneTruth: no key has two memories.
func (o *outcome) oneTruth(rt *rapid.T) {
	owner := map[string]string{}
	for path, acc := range o.joined.r.ledger.state.Accepted {
		if key := fold.Key(acc.Key); owner[key] != "" {
			rt.Fatalf("%s and %s have the key %q", owner[key], path, key)
		} else {
			owner[key] = path
		}
	}
}

// restricted: no trust rose, and what an operator took back, lowered or refused is so still.
func (o *outcome) restricted(rt *rapid.T) {
	most := map[string]Trust{}
	for _, m := range slices.Concat(o.parted, o.ends[0], o.ends[1]) {
		most[m.Text] = max(most[m.Text], m.Trust)
	}
	for _, m := range o.joined.stands(rt) {
		word := wordOf.FindString(m.Text)
		if m.Trust > most[m.Text] {
			rt.Fatalf("%s has trust %v, and had %v at most: %s", m.Path, m.Trust, most[m.Text], m.Text)
		}
		for i, c := range o.sides {
			if how := c.withdrawn[word]; how != "" && word != "word0" {
				rt.Fatalf("%s is shown, and one side's operator took it back (%s): %s", m.Path, how, m.Text)
			}
			was := slices.ContainsFunc(o.parted, func(was Memory) bool { return wordOf.FindString(was.Text) == word && was.Trust <= c.lowered[word] })
			if low, ok := c.lowered[word]; ok && !was && m.Trust > low && word != "word0" { // else it is on that side as it was
				rt.Fatalf("%s has trust %v, and one side's operator lowered it: %s", m.Path, m.Trust, m.Text)
			}
			if c.refused[m.Text] && !slices.ContainsFunc(slices.Concat(o.parted, o.ends[i]), func(was Memory) bool { return was.Text == m.Text }) {
				rt.Fatalf("%s is shown, and one side's operator refused it: %s", m.Path, m.Text)
			}
		}
	}
}

// nothingLost: what stood at the end of a side is in some file.
func (o *outcome) nothingLost(rt *rapid.T, files map[string]string) {
	for i, end := range o.ends {
		for _, m := range end {
			word := wordOf.FindString(m.Text)
			erased := o.sides[0].withdrawn[word] == "purge" || o.sides[1].withdrawn[word] == "purge"
			held, later := false, false
			for at, text := range files {
				held = held || text == m.Text && at != indexName
				later = later || slices.Contains(wordOf.FindAllString(text, -1), word)
			}
			// A purge takes the replaced texts of who had the name before, and leaves what it became.
			replaced := later && !slices.ContainsFunc(o.ends[1-i], func(other Memory) bool { return other.Text == m.Text }) && o.purges()
			if !held && !erased && !replaced {
				rt.Fatalf("side %d: %q, accepted at %s, is lost", i, m.Text, m.Path)
			}
		}
	}
}

// nothingLeft: what a side purged is in no file, but for what the other side wrote meanwhile.
func (o *outcome) nothingLeft(rt *rapid.T, files map[string]string) {
	covered := map[string]bool{} // retired on one side under a name that another memory had when they were joined: see SECURITY.md
	for _, a := range o.joined.r.ledger.state.Archived {
		covered[a.Hash] = true
	}
	for i, c := range o.sides {
		for word, how := range c.withdrawn {
			edited := slices.ContainsFunc(o.ends[1-i], func(m Memory) bool {
				return wordOf.FindString(m.Text) == word && !slices.ContainsFunc(o.parted, func(was Memory) bool { return was.Text == m.Text })
			})
			if how != "purge" || word == "word0" || edited {
				continue
			}
			for at, text := range files {
				_, waits, _ := strings.Cut(text, "\n\n") // a candidate to come back from the archive
				if covered[journal.Sum([]byte(text))] || strings.HasPrefix(at, ".scribe/pending/") && covered[journal.Sum([]byte(waits))] {
					continue
				}
				if entry.ConflictMarkers([]byte(text)) && !strings.HasPrefix(at, ".scribe/") {
					continue // git's, in nobody's sight until it is resolved
				}
				if slices.Contains(wordOf.FindAllString(text, -1), word) {
					rt.Fatalf("%s holds what side %d purged: %s", at, i, text)
				}
			}
		}
	}
}

// sound: Check finds nothing that a merge does not explain.
func (o *outcome) sound(rt *rapid.T) {
	// What one side purged, git took from the other's versions: of what is retired there under a
	// name that another memory has, too.
	for path, acc := range o.joined.r.ledger.state.Accepted {
		if _, err := o.joined.r.version(acc.Seq, acc.Hash); err != nil {
			rt.Fatalf("%s: %v", path, err)
		}
	}
	taken := func(f Finding) bool {
		return slices.Contains([]string{"check.version", "check.archive"}, f.Rule) && o.purges() && slices.ContainsFunc(slices.Collect(maps.Values(o.joined.r.ledger.state.Archived)), func(a journal.Archived) bool {
			_, err := o.joined.r.version(a.Seq, a.Hash)
			return err != nil
		})
	}
	for _, f := range must1(o.joined.r.Check(context.Background(), false)) {
		if !taken(f) && f.Outcome != Accepted && !slices.Contains([]string{"check.changed", "check.deleted", "check.merge", "check.history"}, f.Rule) { // history: what one side purged, git took from the other's versions
			rt.Fatalf("check: %s %s: %s", f.Rule, f.Field, f.Message)
		}
	}
}
