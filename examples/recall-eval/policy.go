package main

import (
	"math"

	"github.com/memoryroom/scribe/internal/gate"
	"github.com/memoryroom/scribe/internal/lexical"
)

// engine makes the documents of a scope searchable.
type engine func([]lexical.Doc) search

// search appends the ids of the best documents for a query, up to depth.
type search func(ids []string, text string) []string

// engines are the rankings by their names: the default, and those of the contract that it
// is measured against.
func engines() map[string]engine {
	return map[string]engine{
		lexical.Version:         index,
		lexical.PreV1().Version: contract(lexical.PreV1()),
		lexical.PreV2().Version: contract(lexical.PreV2()),
	}
}

func index(docs []lexical.Doc) search {
	x := lexical.New()
	for _, d := range docs {
		x.Put(d)
	}
	return func(ids []string, text string) []string {
		hits, _ := x.Search(lexical.Query{Text: text, Max: depth})
		for _, h := range hits {
			ids = append(ids, h.ID)
		}
		return ids
	}
}

// contract ranks the query plan of the contract's gate. The budgets that a set would not
// fit in are lifted, so that what is measured is the ranking; the least total stands.
func contract(c lexical.Contract) engine {
	c.Budget.Records, c.Budget.Resident, c.Budget.Kept = math.MaxInt, math.MaxInt, depth
	policy := gate.Contract()
	return func(docs []lexical.Doc) search {
		records := make([]lexical.Record, len(docs))
		for i, d := range docs {
			records[i] = lexical.Record{ID: d.ID, Heading: d.Title, Body: d.Body}
		}
		rs := c.Prepare(records, func(text string) []string {
			terms, _ := gate.Terms(text, math.MaxInt)
			return terms
		})
		return func(ids []string, text string) []string {
			q := lexical.Request{Phrases: lexical.Phrases(text)}
			for _, t := range policy.PlanOf(text).Terms {
				q.Terms = append(q.Terms, lexical.Weighted{Text: t.Text, Weight: int64(t.Weight)})
			}
			best, _ := rs.Rank(q)
			for _, b := range best {
				ids = append(ids, b.ID)
			}
			return ids
		}
	}
}
