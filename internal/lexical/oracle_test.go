package lexical

import (
	"cmp"
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// counted is a document as the oracle sees it.
type counted struct {
	id     string
	day    int32
	tf     map[string]int64
	placed map[string][]int // its words' places
	length int64
}

func count(d Doc) counted {
	c := counted{id: d.ID, day: d.Day, tf: map[string]int64{}, placed: map[string][]int{}}
	at := 0
	for i, text := range []string{d.Title, d.Body} {
		weight := int64(inTitle)
		if i == 1 {
			weight = inBody
			if at > 0 {
				at += titleGap
			}
		}
		sc := scanner{emit: func(t token) bool {
			kind, term := t.kind, string(termOf(t))
			w := weight
			if kind == joined {
				w = w * ofJoined / 10
			}
			c.tf[term] += w
			if kind == word || kind == han || kind == faint {
				at++
				c.length++
				c.placed[term] = append(c.placed[term], at)
			}
			return true
		}}
		sc.scan(text)
		sc.dates(text)
	}
	return c
}

// naive searches without an index: it counts each probe in each document, and tries
// each stretch of words and each two places of a pair.
func naive(ds []Doc, x *Index, query string, day int32, limit int) []Hit {
	s := x.borrow()
	s.parse(query)
	terms := make([]string, len(s.units))
	for i, u := range s.units {
		terms[i] = string(s.text[u.from:u.to])
	}
	var cs []counted
	var total int64
	for _, d := range ds {
		c := count(d)
		total += c.length
		cs = append(cs, c)
	}
	fixed, slope := damping(int64(len(cs)), total)
	share := func(v, weight int64) int64 { return v * 1000 / max(1, s.sum) * weight }
	var hits []Hit
	for _, c := range cs {
		var bm25 int64
		have, exact := map[int]bool{}, map[int]bool{}
		for _, p := range s.probes {
			term := x.dict.name(p.term)
			tf := min(c.tf[string(term)], maxTF)
			if tf == 0 {
				continue
			}
			df := 0
			for _, o := range cs {
				if o.tf[string(term)] > 0 {
					df++
				}
			}
			bm25 += max(1, gain(idf(len(cs), df)*p.weight/100, tf, fixed+c.length*slope>>slopeBits))
			for u := range s.units {
				if p.units[u/64]>>(u%64)&1 == 1 {
					have[u] = true
					exact[u] = exact[u] || p.joined
				}
			}
		}
		if bm25 == 0 {
			continue
		}
		var parts Parts
		parts.Terms = share(bm25, 1000)
		var best, pairs, worth int64
		for _, ends := range c.placed {
			for _, end := range ends {
				var sum int64
				for u, term := range terms {
					if slices.ContainsFunc(c.placed[term], func(at int) bool { return at <= end && end-at < stretch }) {
						sum += s.units[u].idf
					}
				}
				best = max(best, sum)
			}
		}
		for b := range s.units {
			for p := s.placed[b].pair; p >= 0; p = s.pairs[p].next {
				pr := s.pairs[p]
				if slices.ContainsFunc(c.placed[terms[pr.a]], func(a int) bool {
					return slices.ContainsFunc(c.placed[terms[b]], func(at int) bool { return a < at && at-a <= int(pr.reach) })
				}) {
					pairs += pr.weight
				}
			}
		}
		for u := range exact {
			if exact[u] {
				worth += s.units[u].idf
			}
		}
		for u := range have {
			best = max(best, s.units[u].idf)
			parts.Coverage += s.units[u].weight
		}
		parts.Window, parts.Pairs, parts.Exact = share(best, ofWindow), share(pairs, ofPairs), share(worth, ofExact)
		if day > 0 {
			parts.Recency = recency(day, c.day) * ofRecency / 1000
		}
		hits = append(hits, Hit{c.id, parts.Terms + parts.Window + parts.Pairs + parts.Exact + parts.Recency, parts})
	}
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID))
	})
	var top int64
	for _, h := range hits {
		top = max(top, h.Parts.Coverage)
	}
	if top*100 < s.total*coverageFloor {
		return nil
	}
	hits = slices.DeleteFunc(hits, func(h Hit) bool { return h.Parts.Coverage*100 < s.total*hitFloor })
	for i := range hits {
		p := &hits[i].Parts
		p.Coverage = min(1_000_000, p.Coverage*1_000_000/max(1, s.total))
	}
	return hits[:min(limit, len(hits))]
}

// TestNaiveOracle: of fewer documents than are looked at closely, the hits are those
// that counting finds, with every part of their scores.
func TestNaiveOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ds := docs().Draw(t, "docs")
		query := text().Draw(t, "query")
		limit := rapid.IntRange(1, 13).Draw(t, "limit")
		day := rapid.Int32Range(0, 40).Draw(t, "today")
		x := filled(ds)
		got, drops := x.Search(Query{query, limit, day})
		want := naive(ds, x, query, day, limit)
		if d := gocmp.Diff(got, want); d != "" && len(got)+len(want) > 0 {
			t.Fatal(d)
		}
		if all := naive(ds, x, query, day, len(ds)); drops.Ranked != len(all)-len(want) {
			t.Fatalf("%d dropped of %d", drops.Ranked, len(all))
		}
	})
}
