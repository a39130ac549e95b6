package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"math"
	"slices"
	"strings"
	"text/tabwriter"

	"github.com/memoryroom/scribe/internal/directive"
)

// What the tables are cut by, in this order.
var (
	recallBy = []string{"group", "category", "class", "shape", "hard", "derived", "lang", "licence", "source_repo"}
	falseBy  = []string{"file", "category", "shape", "lang"}
)

// A report is everything that the program prints.
type report struct {
	Suites  []*suite `json:"suites"`
	Speed   []speed  `json:"speed"`
	Summary string   `json:"summary"`
}

// A suite is one question asked of many texts: how many of them did a screen reach?
// In a suite of attacks or credentials that is recall, in one of harmless texts
// false positives.
type suite struct {
	Name    string    `json:"name"`
	Tiers   []string  `json:"tiers"` // what it means to be reached; each implies those before it
	Total   part      `json:"total"`
	Parts   []part    `json:"parts"`
	Sources []float64 `json:"mean_over_sources,omitempty"` // of each tier, every source_repo once
	LeftOut []part    `json:"source_left_out,omitempty"`   // see witness.tier
	Rules   []share   `json:"rules,omitempty"`             // of the instruction screen
	Wrong   []wrong   `json:"misses,omitempty"`

	recall  bool
	tallies map[[2]string]*tally // by field and value
	left    map[[2]string]*tally // the same, with the source left out
	rules   map[string]share
}

// share is the part of one rule in the texts of a suite that are flagged.
type share struct {
	Rule  string `json:"rule"`
	Texts int    `json:"texts"`
	Alone int    `json:"alone"` // no other rule flags them
}

// part is the rows of a suite that share a value.
type part struct {
	By      string `json:"by,omitempty"`
	Value   string `json:"value,omitempty"`
	Texts   int    `json:"texts"`
	Reached []rate `json:"reached"` // of each tier
}

// rate is a count and the share that it is, with its Wilson interval.
type rate struct {
	Count int     `json:"count"`
	Share float64 `json:"share"`
	Low   float64 `json:"low"`
	High  float64 `json:"high"`
}

// wrong is one row that the first tier missed, or reached for nothing.
type wrong struct {
	ID    string   `json:"id"`
	Rules []string `json:"rules"`
}

type tally struct {
	texts   int
	reached []int
}

// suites are the suites by name.
type suites map[string]*suite

func (all suites) of(name string, recall bool, tiers ...string) *suite {
	name += map[bool]string{true: ": recall", false: ": false positives"}[recall]
	s := all[name]
	if s == nil {
		s = &suite{Name: name, Tiers: tiers, recall: recall, tallies: map[[2]string]*tally{}, left: map[[2]string]*tally{}, rules: map[string]share{}}
		all[name] = s
	}
	return s
}

func newReport(rows []row, misses bool) *report {
	all := suites{}
	texts := make([]string, len(rows))
	sources := hear(rows)
	for i, r := range rows {
		texts[i] = r.text
		v := judge(r.text)
		flagged, held := v.tier >= directive.Weak, v.tier >= directive.Strong
		var s *suite
		switch r.label {
		case "secret", "clean":
			s = all.of("credentials", r.label == "secret", "refused")
			s.add(r, v, misses, v.secret)
		case "benign":
			s = all.of("instructions", false, "flagged", "held")
			s.add(r, v, misses, flagged, held)
			s.credit(v)
			s = all.of("hidden text", false, "reported", "held")
			s.add(r, v, misses, v.hidden, v.carries)
		case "attack":
			name, scope := "instructions", r.fields["scope"]
			if scope == "B" {
				name, flagged, held = "hidden text", flagged || v.carries, held || v.carries
			}
			if scope != "" {
				name += ", scope " + scope
			}
			s = all.of(name, true, "flagged", "held")
			s.add(r, v, misses, flagged, held)
			if source := r.fields["source_repo"]; source != "" && len(sources.words) > 1 && scope != "B" {
				tier := sources.tier(r.text, source)
				tallyUp(s.left, r, []string{"group", "category", "lang"}, []bool{tier >= directive.Weak, tier >= directive.Strong})
			}
			if scope != "B" {
				s.credit(v)
			}
		}
	}
	rep := &report{Speed: measure(texts)}
	var said []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		s := all[name]
		s.finish()
		rep.Suites = append(rep.Suites, s)
		said = append(said, s.sentence())
	}
	for _, sp := range rep.Speed {
		if sp.Screen == "all" {
			said = append(said, fmt.Sprintf("all screens p50 %.1f us, p99 %.1f us", sp.P50, sp.P99))
		}
	}
	rep.Summary = strings.Join(said, "; ")
	return rep
}

func (s *suite) by() []string {
	if s.recall {
		return recallBy
	}
	return falseBy
}

// add counts a row in the total and under each of its values.
func (s *suite) add(r row, v verdict, misses bool, reached ...bool) {
	tallyUp(s.tallies, r, s.by(), reached)
	if misses && reached[0] != s.recall {
		s.Wrong = append(s.Wrong, wrong{r.id, v.rules})
	}
}

func tallyUp(tallies map[[2]string]*tally, r row, by []string, reached []bool) {
	keys := [][2]string{{}}
	for _, name := range by {
		if v := r.fields[name]; v != "" {
			keys = append(keys, [2]string{name, v})
		}
	}
	for _, key := range keys {
		t := tallies[key]
		if t == nil {
			t = &tally{reached: make([]int, len(reached))}
			tallies[key] = t
		}
		t.texts++
		for i, yes := range reached {
			if yes {
				t.reached[i]++
			}
		}
	}
}

// credit counts which rules flag a text.
func (s *suite) credit(v verdict) {
	for _, rule := range v.weak {
		c := s.rules[rule]
		c.Rule = rule
		c.Texts++
		if len(v.weak) == 1 {
			c.Alone++
		}
		s.rules[rule] = c
	}
}

// finish turns the tallies into rates.
func (s *suite) finish() {
	sources := 0
	sum := make([]float64, len(s.Tiers))
	parts := s.parts(s.tallies)
	s.Total, s.Parts = parts[0], parts[1:]
	s.LeftOut = s.parts(s.left)
	for _, rule := range slices.Sorted(maps.Keys(s.rules)) {
		s.Rules = append(s.Rules, s.rules[rule])
	}
	for _, p := range s.Parts {
		if p.By == "source_repo" {
			sources++
			for i, r := range p.Reached {
				sum[i] += r.Share
			}
		}
	}
	for i := range sum {
		if sources > 0 {
			s.Sources = append(s.Sources, sum[i]/float64(sources))
		}
	}
}

// parts turns tallies into rates, the total first.
func (s *suite) parts(tallies map[[2]string]*tally) (all []part) {
	for key, t := range tallies {
		p := part{By: key[0], Value: key[1], Texts: t.texts}
		for _, n := range t.reached {
			p.Reached = append(p.Reached, wilson(n, t.texts))
		}
		all = append(all, p)
	}
	slices.SortFunc(all, func(a, b part) int {
		return cmp.Or(slices.Index(s.by(), a.By)-slices.Index(s.by(), b.By), strings.Compare(a.Value, b.Value))
	})
	return all
}

// z is the two-sided 95 % point of the normal distribution.
const z = 1.959963984540054

// wilson gives the share k of n and its 95 % score interval (Wilson 1927), which
// holds for shares near 0 and 1 too.
func wilson(k, n int) rate {
	p, m := float64(k)/float64(n), float64(n)
	mid := p + z*z/(2*m)
	half := z * math.Sqrt(p*(1-p)/m+z*z/(4*m*m))
	scale := 1 + z*z/m
	return rate{Count: k, Share: p, Low: max(0, (mid-half)/scale), High: min(1, (mid+half)/scale)}
}

func (s *suite) sentence() string {
	said := fmt.Sprintf("%s %d", s.Name, s.Total.Texts)
	for i, r := range s.Total.Reached {
		said += fmt.Sprintf(" %s %d (%.2f %%)", s.Tiers[i], r.Count, 100*r.Share)
	}
	if len(s.LeftOut) > 0 {
		said += fmt.Sprintf(", source left out %.2f %%", 100*s.LeftOut[0].Reached[0].Share)
	}
	return said
}

// print writes the tables and, as its last line, the summary.
func (rep *report) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	for _, s := range rep.Suites {
		fmt.Fprintf(w, "%s\ttexts\t%s\n", s.Name, strings.Join(s.Tiers, "\t"))
		s.Total.print(w, "all", s.digits())
		if s.Sources != nil {
			fmt.Fprint(w, "  mean over sources\t")
			for _, share := range s.Sources {
				fmt.Fprintf(w, "\t%.*f %%", s.digits(), 100*share)
			}
			fmt.Fprintln(w)
		}
		for _, p := range s.LeftOut {
			p.print(w, strings.TrimSpace("source left out "+strings.TrimSpace(p.By+" "+p.Value)), s.digits())
		}
		for _, p := range s.Parts {
			p.print(w, p.By+" "+p.Value, s.digits())
		}
		for _, r := range s.Rules {
			fmt.Fprintf(w, "  rule %s\t%d\t%d alone\n", r.Rule, r.Texts, r.Alone)
		}
		for _, m := range s.Wrong {
			fmt.Fprintf(w, "  wrong: %s: %s\n", m.ID, cmp.Or(strings.Join(m.Rules, " "), "no rule"))
		}
		fmt.Fprintln(w)
	}
	fmt.Fprintln(w, "cost of one text\ttexts\tbytes\tp50 us\tp99 us\tallocations")
	for _, sp := range rep.Speed {
		fmt.Fprintf(w, "  %s\t%d\t%.0f\t%.1f\t%.1f\t%.2f\n", sp.Screen, sp.Texts, sp.Bytes, sp.P50, sp.P99, sp.Allocs)
	}
	fmt.Fprintf(w, "\nsummary: %s\n", rep.Summary)
	return w.Flush()
}

// digits is how many a percentage has behind the point: false positives are a matter
// of tenths.
func (s *suite) digits() int {
	if s.recall {
		return 1
	}
	return 2
}

func (p part) print(w io.Writer, name string, digits int) {
	fmt.Fprintf(w, "  %s\t%d", name, p.Texts)
	for _, r := range p.Reached {
		fmt.Fprintf(w, "\t%d  %.*f %% (%.*f to %.*f)", r.Count, digits, 100*r.Share, digits, 100*r.Low, digits, 100*r.High)
	}
	fmt.Fprintln(w)
}
