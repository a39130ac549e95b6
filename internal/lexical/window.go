package lexical

import (
	"cmp"
	"slices"
	"strings"
	"unicode/utf8"
)

// maxWindow is the longest window that a hit points to, in bytes.
const maxWindow = 240

// span is one place in a body where a unit occurs.
type span struct {
	off, end, unit int
}

// window finds the part of a body that shows best why it was found: at most
// maxWindow bytes with the greatest idf of different units, the earliest of equal
// ones. It is widened to whole lines or words and without outer spaces. Without an
// occurrence in the body, it is the beginning.
func (q *query) window(body string) (off, length int) {
	spans := q.spans(body)
	from, to := 0, 0
	var best int64 = -1
	count := make([]int, len(q.units))
	var sum int64
	i := 0
	for j, s := range spans {
		if count[s.unit]++; count[s.unit] == 1 {
			sum += q.units[s.unit].idf
		}
		for i < j && s.end-spans[i].off > maxWindow {
			if count[spans[i].unit]--; count[spans[i].unit] == 0 {
				sum -= q.units[spans[i].unit].idf
			}
			i++
		}
		if sum > best {
			best, from, to = sum, spans[i].off, s.end
		}
	}
	return widen(body, from, min(to, from+maxWindow))
}

// spans finds the units in the indexed part of a body, in order.
func (q *query) spans(body string) []span {
	var spans []span
	tokens := 0
	sc := scanner{emit: func(t token) bool {
		if tokens++; tokens > maxDocTokens {
			return false
		}
		term := termOf(t)
		u, ok := q.byTerm[string(term)]
		if !ok {
			u, ok = q.byJoin[string(term)]
		}
		if ok {
			spans = append(spans, span{t.off, t.end, u})
		}
		return true
	}}
	sc.scan(body)
	sc.dates(body)
	slices.SortStableFunc(spans, func(a, b span) int { return cmp.Compare(a.off, b.off) })
	return spans
}

// widen extends [from, to) of body within maxWindow: to the start of its line, or
// of a word when that is too far, then as far as it goes to the right.
func widen(body string, from, to int) (off, length int) {
	// A third of what is left is for what comes before.
	floor := max(0, from-(maxWindow-(to-from))/3)
	if i := strings.LastIndexByte(body[floor:from], '\n'); i >= 0 {
		from = floor + i + 1
	} else if floor == 0 {
		from = 0
	} else if i := strings.IndexByte(body[floor:from], ' '); i >= 0 {
		from = floor + i + 1
	} else {
		from = floor
	}
	for from < to && !utf8.RuneStart(body[from]) {
		from++
	}
	limit := min(len(body), from+maxWindow)
	for limit < len(body) && limit > to && !utf8.RuneStart(body[limit]) {
		limit--
	}
	if limit < len(body) {
		if i := strings.LastIndexAny(body[to:limit], " \n"); i >= 0 {
			limit = to + i
		}
	}
	for limit < len(body) && limit > from && !utf8.RuneStart(body[limit]) {
		limit--
	}
	for from < limit && strings.IndexByte(" \n\r\t", body[from]) >= 0 {
		from++
	}
	for limit > from && strings.IndexByte(" \n\r\t", body[limit-1]) >= 0 {
		limit--
	}
	return from, limit - from
}
