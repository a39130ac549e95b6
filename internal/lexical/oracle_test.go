package lexical

import (
	"cmp"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// counted is a document as the oracle sees it.
type counted struct {
	id     string
	day    int32
	sum    [32]byte
	tf     map[string]int64
	placed map[string][]int // its words' places
	length int64
}

func count(d Doc) counted {
	c := counted{id: d.ID, day: d.Day, sum: d.Sum, tf: map[string]int64{}, placed: map[string][]int{}}
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
func naive(ds []Doc, x *Index, query string, day int32, limit int) ([]Hit, Drops) {
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
	dfs := map[uint32]int{}
	for _, p := range s.probes {
		for _, c := range cs {
			if c.tf[string(x.dict.name(p.term))] > 0 {
				dfs[p.term]++
			}
		}
	}
	type scored struct {
		counted
		bm25        int64
		have, exact map[int]bool
	}
	var first []scored
	for _, c := range cs {
		one := scored{c, 0, map[int]bool{}, map[int]bool{}}
		for _, p := range s.probes {
			tf := min(c.tf[string(x.dict.name(p.term))], maxTF)
			if tf == 0 {
				continue
			}
			worth := idf(len(cs), dfs[p.term]) * p.weight / 100
			one.bm25 += max(1, gain(worth, tf, fixed+c.length*slope>>slopeBits))
			for u := range s.units {
				if p.units[u/64]>>(u%64)&1 == 1 {
					one.have[u] = true
					one.exact[u] = one.exact[u] || p.joined
				}
			}
		}
		if one.bm25 > 0 {
			first = append(first, one)
		}
	}
	slices.SortFunc(first, func(a, b scored) int {
		return cmp.Or(cmp.Compare(b.bm25, a.bm25), cmp.Compare(a.id, b.id))
	})
	drops := Drops{Empty: len(s.units) == 0, Terms: s.drops.Terms, Ranked: max(0, len(first)-MaxHits)}
	var hits []Hit
	for _, c := range first[:min(len(first), MaxHits)] {
		bm25, have, exact := c.bm25, c.have, c.exact
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
		hits = append(hits, Hit{c.id, parts.Terms + parts.Window + parts.Pairs + parts.Exact + parts.Recency, parts, c.sum})
	}
	slices.SortFunc(hits, func(a, b Hit) int {
		return cmp.Or(cmp.Compare(b.Score, a.Score), cmp.Compare(a.ID, b.ID))
	})
	var top int64
	for _, h := range hits {
		top = max(top, h.Parts.Coverage)
	}
	if top*100 < s.total*coverageFloor {
		drops.Below, drops.Ranked = len(first), 0
		return nil, drops
	}
	n := len(hits)
	hits = slices.DeleteFunc(hits, func(h Hit) bool { return h.Parts.Coverage*100 < s.total*hitFloor })
	for i := range hits {
		p := &hits[i].Parts
		p.Coverage = min(1_000_000, p.Coverage*1_000_000/max(1, s.total))
	}
	drops.Below = n - len(hits)
	drops.Ranked += max(0, len(hits)-limit)
	return hits[:min(limit, len(hits))], drops
}

// TestNaiveOracle: the hits and what was dropped are those that counting finds, with every
// part of their scores.
func TestNaiveOracle(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ds := docs().Draw(t, "docs")
		agree(t, ds, filled(ds), text().Draw(t, "query"), rapid.IntRange(1, 13).Draw(t, "limit"))
	})
}

// TestNaiveOracleOfMany is the same of so many documents that some terms have crowds, that
// lists need not be read, and that not all documents are looked at closely.
func TestNaiveOracleOfMany(t *testing.T) {
	pruned := 0
	rapid.Check(t, func(t *rapid.T) {
		r := rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 7))
		stock := []string{
			"the", "user", "server", "deploy", "http_server", "key", "http", "rotate", "walrus", "2031-07-09", "部署服务器", "rare",
			"httpServer", "api", "maxKeys", "penguin", "herring", "harbour", "teapot", "kyoto", "once", "twice",
		}
		skew := rapid.Float64Range(1, 6).Draw(t, "skew")
		say := func(n int) string {
			var b strings.Builder
			for range n {
				b.WriteString(stock[int(math.Pow(r.Float64(), skew)*float64(len(stock)))] + " ")
			}
			return b.String()
		}
		n := rapid.IntRange(1, 400).Draw(t, "n")
		ds := make([]Doc, n)
		x := New()
		for i := range ds {
			ds[i] = doc(fmt.Sprintf("d%03d.md", (i*7919)%1000), say(r.IntN(2)), say(r.IntN(40)))
			ds[i].Day = int32(r.IntN(40))
			x.Put(ds[i])
		}
		gone := rapid.IntRange(0, n/4).Draw(t, "gone")
		for _, d := range ds[:gone] {
			x.Remove(d.ID)
		}
		for range 5 {
			query, limit := say(1+r.IntN(9)), 1+r.IntN(2*MaxHits)
			agree(t, ds[gone:], x, query, limit)
			pruned += prunes(x, query)
		}
	})
	if pruned == 0 {
		t.Error("every list was read in every search")
	}
}

// prunes gives the number of lists that a search need not read.
func prunes(x *Index, query string) int {
	s := x.borrow()
	defer x.giveBack(s)
	s.parse(query)
	s.readLists()
	return s.accumulate()
}

// agree checks a search against the naive one.
func agree(t *rapid.T, ds []Doc, x *Index, query string, limit int) {
	const day = 30
	got, drops := x.Search(Query{query, limit, day})
	want, left := naive(ds, x, query, day, min(limit, MaxHits))
	if d := gocmp.Diff(got, want); d != "" && len(got)+len(want) > 0 {
		t.Fatalf("%q: %s", query, d)
	}
	if drops != left {
		t.Fatalf("%q: dropped %+v, want %+v", query, drops, left)
	}
}
