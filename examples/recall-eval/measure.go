package main

import (
	"cmp"
	"fmt"
	"io"
	"math"
	"runtime"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/memoryroom/scribe/internal/lexical"
)

// depth is how many hits are asked for and looked at.
const depth = 10

// A report is everything that the program prints.
type report struct {
	Policy  string   `json:"policy"`
	Sets    []result `json:"sets"`
	Mean    quality  `json:"mean"`
	Summary string   `json:"summary"`
}

// result is what one set came to.
type result struct {
	Set        string `json:"set"`
	Docs       int    `json:"docs"`
	Scopes     int    `json:"scopes"`
	Queries    int    `json:"queries"`
	Unlabelled int    `json:"queries_without_relevant"` // not in the averages
	Lost       int    `json:"relevant_not_in_scope"`    // ids that no search could find
	NoHits     int    `json:"queries_without_hits"`
	quality
	Cost cost `json:"cost"`
}

// quality is the averages over the queries of a set, or over sets.
type quality struct {
	NDCG float64 `json:"ndcg_10"`
	Hit1 float64 `json:"hit_1"`
	R5   float64 `json:"recall_5"`
	R10  float64 `json:"recall_10"`
	MRR  float64 `json:"mrr_10"`
}

type cost struct {
	Build  float64 `json:"build_s"`
	MB     float64 `json:"mb_per_s"` // 10^6 bytes of title and text, a second of building
	P50    float64 `json:"query_p50_us"`
	P99    float64 `json:"query_p99_us"`
	Allocs float64 `json:"allocs_per_query"`
}

func (q *quality) add(p quality) {
	q.NDCG, q.Hit1, q.R5, q.R10, q.MRR = q.NDCG+p.NDCG, q.Hit1+p.Hit1, q.R5+p.R5, q.R10+p.R10, q.MRR+p.MRR
}

// over divides by a count; of nothing the average is 0.
func (q quality) over(n int) quality {
	m := float64(max(n, 1))
	return quality{q.NDCG / m, q.Hit1 / m, q.R5 / m, q.R10 / m, q.MRR / m}
}

// score measures one ranking. There is at least one relevant document.
func score(ranked []string, relevant grades) (q quality) {
	var ideal []float64
	for _, grade := range relevant {
		ideal = append(ideal, grade)
	}
	slices.SortFunc(ideal, func(a, b float64) int { return cmp.Compare(b, a) })
	best, gained := 0.0, 0.0
	for i, grade := range ideal[:min(len(ideal), depth)] {
		best += grade / math.Log2(float64(i)+2)
	}
	share := 1 / float64(len(relevant))
	for i, id := range ranked[:min(len(ranked), depth)] {
		grade := relevant[id]
		if grade <= 0 {
			continue
		}
		gained += grade / math.Log2(float64(i)+2)
		q.R10 += share
		if i < 5 {
			q.R5 += share
		}
		if i == 0 {
			q.Hit1 = 1
		}
		if q.MRR == 0 {
			q.MRR = 1 / float64(i+1)
		}
	}
	q.NDCG = gained / best
	return q
}

// measure builds the indexes of a set, asks every query once for its answer and
// once more for its time.
func (s *set) measure(build engine) result {
	r := result{Set: s.name, Scopes: len(s.docs), Queries: len(s.queries)}
	indexes := map[string]search{}
	held := map[[2]string]bool{} // scope and id
	size := 0
	start := time.Now()
	for scope, docs := range s.docs {
		indexes[scope] = build(docs)
	}
	r.Cost.Build = max(time.Since(start), 1).Seconds() // a coarse clock may say 0
	for scope, docs := range s.docs {
		r.Docs += len(docs)
		for _, d := range docs {
			size += len(d.Title) + len(d.Body)
			held[[2]string{scope, d.ID}] = true
		}
	}
	r.Cost.MB = float64(size) / 1e6 / r.Cost.Build

	var sum quality
	for _, q := range s.queries {
		x := indexes[q.Scope]
		if x == nil {
			x = build(nil) // nothing is in that scope
			indexes[q.Scope] = x
		}
		ranked := x(nil, q.Text)
		if len(ranked) == 0 {
			r.NoHits++
		}
		for id := range q.Relevant {
			if !held[[2]string{q.Scope, id}] {
				r.Lost++
			}
		}
		if len(q.Relevant) == 0 {
			r.Unlabelled++
			continue
		}
		sum.add(score(ranked, q.Relevant))
	}
	r.quality = sum.over(r.Queries - r.Unlabelled)
	r.Cost.P50, r.Cost.P99, r.Cost.Allocs = timed(s.queries, indexes)
	return r
}

// timed asks every query again, each timed by itself, and gives microseconds and
// allocations.
func timed(queries []query, indexes map[string]search) (p50, p99, allocs float64) {
	took, ids := make([]time.Duration, len(queries)), make([]string, 0, depth)
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i, q := range queries {
		x := indexes[q.Scope]
		start := time.Now()
		x(ids, q.Text)
		took[i] = time.Since(start)
	}
	runtime.ReadMemStats(&after)
	slices.Sort(took)
	at := func(percent int) float64 { // nearest rank
		return float64(took[max((len(took)*percent+99)/100, 1)-1].Nanoseconds()) / 1e3
	}
	return at(50), at(99), float64(after.Mallocs-before.Mallocs) / float64(len(queries))
}

// finish works out the mean and the summary.
func (rep *report) finish() {
	var sum quality
	sets, queries, noHits := 0, 0, 0
	for _, r := range rep.Sets {
		queries, noHits = queries+r.Queries, noHits+r.NoHits
		if r.Queries > r.Unlabelled {
			sets++
			sum.add(r.quality)
		}
	}
	m := sum.over(sets)
	rep.Mean = m
	rep.Summary = fmt.Sprintf("%d sets, %d queries, %d without hits; mean nDCG@10 %.3f, hit@1 %.3f, R@5 %.3f, R@10 %.3f, MRR@10 %.3f",
		len(rep.Sets), queries, noHits, m.NDCG, m.Hit1, m.R5, m.R10, m.MRR)
}

// print writes the table and, as its last line, the summary.
func (rep *report) print(out io.Writer) error {
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	if rep.Policy != lexical.Version {
		fmt.Fprintf(out, "policy: %s, without its budgets of records and candidates\n\n", rep.Policy)
	}
	measures := func(q quality) string {
		return fmt.Sprintf("%.3f\t%.3f\t%.3f\t%.3f\t%.3f\t", q.NDCG, q.Hit1, q.R5, q.R10, q.MRR)
	}
	fmt.Fprintln(w, "set\tdocs\tscopes\tqueries\tnDCG@10\thit@1\tR@5\tR@10\tMRR@10\tno hits\tbuild ms\tMB/s\tp50 us\tp99 us\tallocations\t")
	var notes strings.Builder
	for _, r := range rep.Sets {
		fmt.Fprintf(w, "%s\t%d\t%d\t%d\t%s%d\t%.0f\t%.1f\t%.0f\t%.0f\t%.2f\t\n",
			r.Set, r.Docs, r.Scopes, r.Queries, measures(r.quality), r.NoHits, 1e3*r.Cost.Build, r.Cost.MB, r.Cost.P50, r.Cost.P99, r.Cost.Allocs)
		if r.Unlabelled+r.Lost > 0 {
			fmt.Fprintf(&notes, "note: %s: %d queries without a relevant id are not in the averages; %d relevant ids are not in the scope of their query\n", r.Set, r.Unlabelled, r.Lost)
		}
	}
	fmt.Fprintf(w, "mean\t\t\t\t%s\t\t\t\t\t\t\n", measures(rep.Mean))
	if err := w.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(out, "\n%ssummary: %s\n", notes.String(), rep.Summary)
	return err
}
