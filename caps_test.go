package scribe

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

func TestIndexNotices(t *testing.T) {
	lim := Limits{IndexLines: 200, IndexBytes: 25_000}
	for _, c := range []struct {
		lines, size int
		want        []string
	}{
		{0, 0, nil},
		{159, 19_999, nil},
		{160, 19_999, []string{"cap.index-lines-near"}},
		{159, 20_000, []string{"cap.index-bytes-near"}},
		{200, 25_000, []string{"cap.index-lines-near", "cap.index-bytes-near"}},
		{201, 25_000, []string{"cap.index-lines", "cap.index-bytes-near"}},
		{200, 25_001, []string{"cap.index-lines-near", "cap.index-bytes"}},
		{201, 25_001, []string{"cap.index-lines", "cap.index-bytes"}},
	} {
		if got := ruleNames(indexNotices(c.lines, c.size, lim, nil)); !slices.Equal(got, c.want) {
			t.Errorf("%d lines, %d bytes: got %q, want %q", c.lines, c.size, got, c.want)
		}
	}
}

// capProperty is the logic of the soft caps against its definition: over if and only
// if above the limit, near if and only if at 80 % or more and not over, never a
// reason to refuse.
func capProperty(t *rapid.T) {
	number := rapid.OneOf(rapid.IntRange(0, 300), rapid.IntRange(0, 1<<31-1))
	limit := rapid.OneOf(rapid.IntRange(1, 300), rapid.IntRange(1, 1<<30))
	lim := Limits{IndexLines: limit.Draw(t, "lines limit"), IndexBytes: limit.Draw(t, "bytes limit")}
	lines, size := number.Draw(t, "lines"), number.Draw(t, "size")
	examples := rapid.SliceOfN(rapid.StringMatching(`[a-z]{1,8}\.md`), 0, 3).Draw(t, "examples")
	got := map[string]Finding{}
	for _, f := range indexNotices(lines, size, lim, func() []string { return examples }) {
		if _, twice := got[f.Rule]; twice {
			t.Fatalf("%s twice", f.Rule)
		}
		got[f.Rule] = f
		if f.Outcome < Accepted {
			t.Fatalf("%s is %v", f.Rule, f.Outcome)
		}
	}
	for _, d := range []struct {
		rule       string
		now, limit int
	}{{"cap.index-lines", lines, lim.IndexLines}, {"cap.index-bytes", size, lim.IndexBytes}} {
		over, isOver := got[d.rule]
		near, isNear := got[d.rule+"-near"]
		wantOver := d.now > d.limit
		// Four fifths, without a product that could overflow: now >= limit*4/5, rounded up.
		wantNear := !wantOver && d.now >= d.limit-d.limit/5
		if isOver != wantOver || isNear != wantNear {
			t.Fatalf("%s, %d of %d: over %v, near %v", d.rule, d.now, d.limit, isOver, isNear)
		}
		if f := over; isOver || isNear {
			if isNear {
				f = near
			}
			if !strings.Contains(f.Message, fmt.Sprint(d.now)) || !strings.Contains(f.Message, fmt.Sprint(d.limit)) || !strings.Contains(f.Fix, "merge or shorten") {
				t.Fatalf("%s does not name value, limit and action: %q, %q", f.Rule, f.Message, f.Fix)
			}
			for _, path := range examples {
				if !strings.Contains(f.Fix, path) {
					t.Fatalf("%s does not name %s: %q", f.Rule, path, f.Fix)
				}
			}
		}
	}
	if len(got) > 2 {
		t.Fatalf("%d notices for two dimensions", len(got))
	}
}

func TestIndexNoticesProperty(t *testing.T) { rapid.Check(t, capProperty) }

func FuzzIndexNotices(f *testing.F) { f.Fuzz(rapid.MakeFuzz(capProperty)) }

// TestSoftCaps fills a small room past its caps: the writer is told at 80 %, before
// it writes, and every write succeeds.
func TestSoftCaps(t *testing.T) {
	ctx := context.Background()
	for name, o := range map[string]*Options{
		"cap.index-lines": {Limits: Limits{IndexLines: 10}},
		"cap.index-bytes": {Limits: Limits{IndexBytes: 600}}, // ten lines of some 60 bytes
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := newRoom(t, o)
			store(t, r, UserObserved, Candidate{Path: "first.md", Text: "The first fact.\n"})
			for n := range 13 {
				index, err := r.readIndex()
				if err != nil {
					t.Fatal(err)
				}
				lines, size := indexCaps(index)
				now, limit := lines, r.opts.Limits.IndexLines
				if name == "cap.index-bytes" {
					now, limit = size, r.opts.Limits.IndexBytes
				}
				rule := ""
				if now > limit {
					rule = "[notice " + name + ":"
				} else if now*5 >= limit*4 {
					rule = "[notice " + name + "-near:"
				}
				g := session(t, r, UserObserved).Guard(1)
				prompt, err := g.Prompt(ctx)
				if err != nil {
					t.Fatal(err)
				}
				listing := memoryCommand(g, view("")).Text
				for where, text := range map[string]string{"prompt": prompt, "listing": listing} {
					if got := strings.Contains(text, "[notice "+name); got != (rule != "") || !strings.Contains(text, rule) {
						t.Errorf("%d of %d: the %s says %q, want %q", now, limit, where, text, rule)
					}
				}
				done := memoryCommand(g, create(fmt.Sprintf("topic-%02d.md", n), fmt.Sprintf("Fact number %02d.\n", n)))
				if done.IsError || done.Verdict.Outcome != Accepted {
					t.Fatalf("%d of %d: the write failed: %s", now, limit, done.Text)
				}
				index, err = r.readIndex()
				if err != nil {
					t.Fatal(err)
				}
				lines, size = indexCaps(index)
				want := ruleNames(indexNotices(lines, size, r.opts.Limits, nil))
				if got := ruleNames(done.Verdict.Notices); !slices.Equal(got, want) {
					t.Errorf("%d lines, %d bytes after the write: noticed %q, want %q", lines, size, got, want)
				}
				for _, f := range done.Verdict.Notices {
					if !strings.Contains(done.Text, f.Rule) {
						t.Errorf("the reply does not say %s: %s", f.Rule, done.Text)
					}
				}
			}
			if got := len(listed(t, r)); got != 14 {
				t.Errorf("%d memories, want 14", got)
			}
		})
	}
}

// TestLongestNamesWhatMayBeShown: the memories that a notice names are of the
// conversation's own trust.
func TestLongestNamesWhatMayBeShown(t *testing.T) {
	r, _ := newRoom(t, &Options{Limits: Limits{IndexLines: 2}})
	store(t, r, ExternalWeb, Candidate{Path: "web.md", Text: strings.Repeat("A long text. ", 100)})
	store(t, r, UserObserved, Candidate{Path: "short.md", Text: "A fact.\n"})
	store(t, r, UserObserved, Candidate{Path: "long.md", Text: strings.Repeat("Another fact. ", 20)})
	w, err := r.world(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if got, want := longest(w, 3), []string{"long.md", "short.md"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
