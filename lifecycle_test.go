package scribe

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/memoryroom/scribe/internal/entry"
	"github.com/memoryroom/scribe/internal/fold"
	"github.com/memoryroom/scribe/internal/journal"
	"github.com/memoryroom/scribe/internal/rootfs"
)

// cycle is a state machine over the operator's acts: whatever they do in whatever order,
// with outside hands, writers and restarts between, a key has one truth, links have two
// sides, trust rises by the operator's word alone, no accepted body is lost, and the
// journal gives back every state that was.
type cycle struct {
	mem  *rootfs.Mem
	opts *Options
	room *Room
	n    int

	was     map[string]Memory          // what stood after the last step, by path
	touched map[string]bool            // the paths that this step may have changed
	bodies  map[string]string          // every body that was ever accepted, by hash: its path then
	purged  map[string]bool            // hashes that a purge was to take
	lines   map[string]map[string]bool // hashes that the memory at a path ever had, under any name
	states  map[int64]string           // what was listed after a row
	raised  map[string]bool            // paths to which the operator gave a trust in this step
}

var cyclePaths = []string{"a.md", "b.md", "c.md", "d/e.md"}

func (c *cycle) may(paths ...string) {
	for _, p := range paths {
		c.touched[p] = true
	}
}

// did takes in verdicts: what they name may have changed.
func (c *cycle) did(t *rapid.T, vs []Verdict, err error) []Verdict {
	if err != nil {
		t.Fatal(err)
	}
	for _, v := range vs {
		if (v.Err() == nil) != (v.Outcome == Accepted) || v.Outcome != Accepted && len(v.Findings) == 0 {
			t.Fatalf("verdict without a reason: %+v", v)
		}
		c.may(v.Memory.Path)
	}
	return vs
}

func (c *cycle) text(t *rapid.T) string {
	c.n++
	return fmt.Sprintf("Fact number %d.\n", c.n)
}

// candidate draws a whole text, with labels more often than not, and sometimes a key that
// another memory may have.
func (c *cycle) candidate(t *rapid.T) Candidate {
	cand := Candidate{Path: rapid.SampledFrom(cyclePaths).Draw(t, "path"), Text: c.text(t)}
	if rapid.IntRange(0, 2).Draw(t, "labels") > 0 {
		cand.Description = "about " + cand.Path
		cand.Key = rapid.SampledFrom([]string{"", "port", "Port", "a"}).Draw(t, "key")
	}
	if m, ok := c.was[cand.Path]; ok && rapid.Bool().Draw(t, "based") {
		cand.Base = m.Hash
	}
	return cand
}

func (c *cycle) some(t *rapid.T, label string) []string {
	return rapid.SliceOfNDistinct(rapid.SampledFrom(cyclePaths), 0, 2, rapid.ID).Draw(t, label)
}

func (c *cycle) actions() map[string]func(*rapid.T) {
	ctx := context.Background()
	path := rapid.SampledFrom(cyclePaths)
	return map[string]func(*rapid.T){
		"hand": func(t *rapid.T) {
			cand := c.candidate(t)
			cand.Supersedes = c.some(t, "over")
			c.may(cand.Path)
			vs, err := c.room.Propose(ctx, cand)
			if c.did(t, vs, err); vs[0].Outcome == Accepted {
				c.may(cand.Supersedes...)
				c.raised[cand.Path] = true
			}
		},
		"plan": func(t *rapid.T) {
			one, two := c.candidate(t), Candidate{Path: path.Draw(t, "other"), Remove: true}
			c.may(one.Path, two.Path)
			c.raised[one.Path] = true
			vs, err := c.room.Propose(ctx, one, two)
			if vs = c.did(t, vs, err); vs[0].Outcome != vs[1].Outcome {
				t.Fatalf("half a plan: %+v", vs)
			}
		},
		"writer": func(t *rapid.T) {
			trust := rapid.SampledFrom([]Trust{ExternalWeb, ExternalTool, UserObserved}).Draw(t, "trust")
			c.n++
			s, err := c.room.Session(ctx, fmt.Sprint("s", c.n), trust)
			if err != nil {
				t.Fatal(err)
			}
			cand := c.candidate(t)
			switch rapid.IntRange(0, 3).Draw(t, "op") {
			case 0:
				cand = Candidate{Path: cand.Path, To: path.Draw(t, "to")}
				c.may(cand.To)
			case 1:
				cand = Candidate{Path: cand.Path, Remove: true}
			}
			c.may(cand.Path)
			vs, err := s.Guard(1).Propose(ctx, cand)
			c.did(t, vs, err)
			if vs[0].Outcome == Accepted && vs[0].Memory.Trust > trust {
				t.Fatalf("a writer at %v made a memory of %v", trust, vs[0].Memory.Trust)
			}
		},
		"resolve": func(t *rapid.T) {
			for m, err := range c.room.List(ctx, stagePending) {
				if err != nil {
					t.Fatal(err)
				}
				res := Resolution{ID: m.ID, Hash: m.Hash, Approve: rapid.Bool().Draw(t, "approve"), Supersedes: c.some(t, "over")}
				if res.Approve {
					res.Trust = rapid.SampledFrom([]Trust{0, UserVerified}).Draw(t, "trust")
				} else {
					res.Withdraw = rapid.Bool().Draw(t, "withdraw")
				}
				vs, err := c.room.Resolve(ctx, res)
				if c.did(t, vs, err); vs[0].Outcome == Accepted {
					c.may(append(res.Supersedes, m.Path)...)
					c.raised[vs[0].Memory.Path] = true
				}
				return
			}
		},
		"archive": func(t *rapid.T) {
			vs, err := c.room.Archive(ctx, "", "", c.some(t, "paths")...)
			c.did(t, vs, err)
		},
		"suspend": func(t *rapid.T) {
			vs, err := c.room.Suspend(ctx, "", path.Draw(t, "path"))
			c.did(t, vs, err)
		},
		"restore": func(t *rapid.T) {
			for m, err := range c.room.List(ctx, stageArchived) {
				if err != nil {
					t.Fatal(err)
				}
				if rapid.Bool().Draw(t, "this") {
					c.may(m.SupersededBy) // its text no longer names it
					c.raised[m.Path] = true
					vs, err := c.room.Restore(ctx, m.ID)
					c.did(t, vs, err)
					return
				}
			}
		},
		"rename": func(t *rapid.T) {
			vs, err := c.room.Rename(ctx, path.Draw(t, "from"), path.Draw(t, "to"))
			if c.did(t, vs, err); err == nil && vs[0].Outcome == Accepted {
				c.may(cyclePaths...)
				c.raised[vs[0].Memory.Path] = true
			}
		},
		"rollback": func(t *rapid.T) {
			seq := rapid.Int64Range(1, max(1, lastRowOf(t, c.room))).Draw(t, "seq")
			vs, err := c.room.Rollback(ctx, seq, path.Draw(t, "path"))
			if err != nil {
				return
			}
			if c.did(t, vs, err); vs[0].Outcome == Accepted {
				c.may(cyclePaths...) // and what its links lead to
				for _, v := range vs {
					c.raised[v.Memory.Path] = true
				}
			}
		},
		"outside": func(t *rapid.T) {
			p := path.Draw(t, "path")
			c.may(p)
			if rapid.Bool().Draw(t, "delete") {
				c.mem.Unplant(p)
			} else {
				c.mem.Plant(p, rootfs.File, []byte(c.text(t)))
			}
		},
		"adopt": func(t *rapid.T) {
			var seen []Memory
			for m, err := range c.room.List(ctx, stageUnaccepted) {
				if err != nil {
					t.Fatal(err)
				}
				seen = append(seen, m)
				c.raised[m.Path] = true
			}
			vs, err := c.room.Adopt(ctx, 0, seen...)
			for i, v := range c.did(t, vs, err) {
				if v.Memory.Path == indexName {
					continue
				}
				// What was listed is what is said now.
				if want := ruleNames(seen[i].Findings); v.Outcome != Accepted && !slices.Equal(want, ruleNames(v.Findings)) {
					t.Fatalf("listed with %q, adopted with %q", want, ruleNames(v.Findings))
				}
			}
		},
		"purge": func(t *rapid.T) {
			p := path.Draw(t, "path")
			if rapid.IntRange(0, 3).Draw(t, "really") > 0 {
				return
			}
			c.may(cyclePaths...)
			if _, err := c.room.Purge(ctx, p, ""); err == nil {
				maps.Copy(c.purged, c.lines[p])
			}
		},
		"travel": func(t *rapid.T) { // everything again, at the trust that it has
			var b bytes.Buffer
			if err := c.room.Export(ctx, &b); err != nil {
				t.Fatal(err)
			}
			vs, err := c.room.Import(ctx, &b, Operator)
			c.did(t, vs, err)
			clear(c.touched) // it was all here
			for _, v := range vs {
				if v.Outcome == Rejected && !slices.ContainsFunc(v.Findings, func(f Finding) bool {
					return f.Rule == "review.refused-before" || f.Rule == "stale.path" || f.Rule == "conflict.key"
				}) {
					t.Fatalf("its own export: %+v", v)
				}
			}
		},
		"restart": func(t *rapid.T) { c.room = memRoom(t, c.mem, c.opts) },
		"":        c.invariants,
	}
}

func lastRowOf(t *rapid.T, r *Room) int64 {
	var seq int64
	for rec, err := range r.History(context.Background(), "") {
		if err != nil {
			t.Fatal(err)
		}
		seq = rec.Seq
	}
	return seq
}

func (c *cycle) invariants(t *rapid.T) {
	ctx := context.Background()
	var stands, all []Memory
	for m, err := range c.room.List(ctx, stageActive, stageChanged, stageArchived) {
		if err != nil {
			t.Fatal(err)
		}
		if all = append(all, m); m.Stage != stageArchived {
			stands = append(stands, m)
		}
	}
	c.oneTruth(t, stands)
	c.twoSides(t, all)
	c.frame(t, stands)
	c.nothingLost(t, all)
	c.rebuilds(t)
	fs, err := c.room.Check(ctx, false)
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range fs {
		if f.Outcome != Accepted && !slices.Contains([]string{"check.changed", "check.deleted", "check.index"}, f.Rule) {
			t.Fatalf("check: %+v", f)
		}
	}
}

// oneTruth: no two memories that stand have one key.
func (c *cycle) oneTruth(t *rapid.T, stands []Memory) {
	owner := map[string]string{}
	for path, acc := range c.room.ledger.state.Accepted {
		if key := fold.Key(acc.Key); path != indexName {
			if owner[key] != "" {
				t.Fatalf("%s and %s have the key %q", owner[key], path, key)
			}
			owner[key] = path
		}
	}
	for _, m := range stands {
		if owner[fold.Key(m.Key)] != m.Path {
			t.Fatalf("%s has the key %q in its text, and another in the journal", m.Path, m.Key)
		}
	}
}

// twoSides: each link is said by both memories, and by their texts where those have a
// place for it.
func (c *cycle) twoSides(t *rapid.T, all []Memory) {
	says := func(m Memory, field string) string {
		e, err := entry.Parse([]byte(m.Text))
		if err != nil {
			t.Fatal(err)
		}
		v, _ := e.Field("metadata", field)
		return v
	}
	for _, m := range all {
		header := strings.HasPrefix(m.Text, "---\n")
		if got := says(m, "superseded_by"); header && got != m.SupersededBy && c.room.ledger.state.Archived[m.ID].SupersededBy != "" {
			t.Fatalf("%s (%s) says that %q superseded it; it is %q", m.Path, m.Stage, got, m.SupersededBy)
		}
		if got := says(m, "supersedes"); header && m.Stage == stageActive && got != strings.Join(m.Supersedes, ", ") {
			t.Fatalf("%s (%s) says that it supersedes %q; it is %q", m.Path, m.Stage, got, m.Supersedes)
		}
		if _, err := c.room.Read(context.Background(), m.SupersededBy); m.SupersededBy != "" && err != nil && c.room.ledger.state.Accepted[m.SupersededBy].Hash != "" {
			continue // deleted outside a moment ago, and not on record yet
		}
		if m.SupersededBy != "" && !slices.ContainsFunc(all, func(o Memory) bool { return o.Path == m.SupersededBy && slices.Contains(o.Supersedes, m.Path) }) {
			t.Fatalf("%s was superseded by %s, which does not know of it", m.Path, m.SupersededBy)
		}
		for _, old := range m.Supersedes {
			if !slices.ContainsFunc(all, func(o Memory) bool {
				return o.Path == old && o.Stage == stageArchived && o.SupersededBy == m.Path
			}) {
				t.Fatalf("%s supersedes %s, which does not know of it", m.Path, old)
			}
		}
	}
}

// frame: what a step does not name stays as it is, and trust rises where the operator
// gave it.
func (c *cycle) frame(t *rapid.T, stands []Memory) {
	now := map[string]Memory{}
	for _, m := range stands {
		now[m.Path] = m
		before, stood := c.was[m.Path]
		if stood && m.Trust > before.Trust && !c.raised[m.Path] {
			t.Fatalf("%s rose from %v to %v", m.Path, before.Trust, m.Trust)
		}
		if !c.touched[m.Path] && (!stood || before.Hash != m.Hash || before.Trust != m.Trust || before.Stage != m.Stage) {
			t.Fatalf("%s changed, and no step named it: was %+v, is %+v", m.Path, before, m)
		}
	}
	for path := range c.was {
		if _, stands := now[path]; !stands && !c.touched[path] {
			t.Fatalf("%s went, and no step named it", path)
		}
	}
	c.was, c.touched, c.raised = now, map[string]bool{}, map[string]bool{}
}

// nothingLost: every text that was ever accepted is among the versions, unless it was
// purged.
func (c *cycle) nothingLost(t *rapid.T, all []Memory) {
	lines := map[string]map[string]bool{}
	called := map[string][]string{} // what stands at a path, by what it was called before
	note := func(path, hash string) {
		if hash != "" {
			lines[path] = union(lines[path], map[string]bool{hash: true})
		}
	}
	err := c.room.eachRow(context.Background(), func(row journal.Row) bool {
		note(row.Path, row.Old)
		if row.Op != journal.OpHold {
			note(row.Path, row.New)
		}
		if row.To != "" {
			lines[row.To] = union(union(lines[row.To], lines[row.Path]), map[string]bool{row.New: true})
			called[row.To] = append(slices.Clone(called[row.Path]), row.Path)
		}
		if row.Op == journal.OpRollback { // a memory that goes back to a name takes along what it has become
			for _, was := range called[row.Path] {
				lines[was] = union(lines[was], lines[row.Path])
			}
		}
		if row.To != "" || row.Old != "" && row.New == "" {
			delete(called, row.Path)
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	c.lines = lines
	for _, m := range all {
		if m.Stage != stageArchived || journal.Sum([]byte(m.Text)) == m.Hash {
			c.bodies[m.Hash] = m.Path
			delete(c.purged, m.Hash) // accepted again since
		}
	}
	names, err := c.room.disk.LibList("versions")
	if err != nil {
		return // no room yet
	}
	kept := map[string]bool{}
	for _, name := range names {
		if _, prefix, ok := journal.ParseVersionName("versions/" + name); ok {
			kept[prefix] = true
		}
	}
	for hash, path := range c.bodies {
		if !kept[hash[:12]] && !c.purged[hash] {
			t.Fatalf("the text %.12s, accepted at %s, is lost", hash, path)
		}
	}
}

// rebuilds: the journal gives back what was listed after any row.
func (c *cycle) rebuilds(t *rapid.T) {
	ctx := context.Background()
	then := func(seq int64) string {
		var b strings.Builder
		for m, err := range c.room.At(ctx, seq) {
			if err != nil {
				t.Fatal(err)
			}
			fmt.Fprintln(&b, m.Path, m.Stage, m.Trust, m.Hash, m.SupersededBy)
		}
		return b.String()
	}
	seq := c.room.ledger.state.Seq
	if seq == 0 {
		return
	}
	var now strings.Builder
	state := c.room.ledger.state
	for m, err := range c.room.At(ctx, seq) {
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintln(&now, m.Path, m.Stage, m.Trust, m.Hash, m.SupersededBy)
		if acc, ok := state.Accepted[m.Path]; m.Stage == stageActive && (!ok || acc.Hash != m.Hash || parseTrust(acc.Trust) != m.Trust) {
			t.Fatalf("row %d gives %s as %+v", seq, m.Path, m)
		}
	}
	if n := strings.Count(now.String(), "\n"); n != len(acceptedPaths(state))+len(state.Archived) {
		t.Fatalf("row %d gives %d memories", seq, n)
	}
	c.states[seq] = now.String()
	past := rapid.SampledFrom(slices.Sorted(maps.Keys(c.states))).Draw(t, "past")
	if got := then(past); got != c.states[past] {
		t.Fatalf("row %d was\n%s and is given back as\n%s", past, c.states[past], got)
	}
}

// TestG9_LifeCycle is the property behind G5, G7, G9 and G10 for the operator's acts.
func TestG9_LifeCycle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		c := &cycle{
			mem: rootfs.NewMem(), opts: &Options{Now: tick()}, was: map[string]Memory{}, touched: map[string]bool{}, bodies: map[string]string{},
			purged: map[string]bool{}, states: map[int64]string{}, raised: map[string]bool{},
		}
		c.room = memRoom(t, c.mem, c.opts)
		t.Repeat(c.actions())
	})
}
