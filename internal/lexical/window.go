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

// Window finds the part of a document's body that shows best why a query found it: at
// most 240 bytes, on rune boundaries, with the greatest idf of different units, the
// earliest of equal ones. It is widened to whole lines or words and without outer
// spaces. Without an occurrence in the body, it is the beginning. The body is given
// because the index keeps none.
func (x *Index) Window(query, body string) (off, length int) {
	s := x.borrow()
	defer x.giveBack(s)
	s.parse(query)
	spans := s.spans(body)
	from, to := 0, 0
	var best int64 = -1
	var count [maxUnits]int
	var sum int64
	i := 0
	for j, sp := range spans {
		if count[sp.unit]++; count[sp.unit] == 1 {
			sum += s.units[sp.unit].idf
		}
		for i < j && sp.end-spans[i].off > maxWindow {
			if count[spans[i].unit]--; count[spans[i].unit] == 0 {
				sum -= s.units[spans[i].unit].idf
			}
			i++
		}
		if sum > best {
			best, from, to = sum, spans[i].off, sp.end
		}
	}
	return widen(body, from, min(to, from+maxWindow))
}

// spans finds the units in the indexed part of a body, in order.
func (s *search) spans(body string) []span {
	unitOf := make(map[string]int, len(s.units)+len(s.probes))
	for i := range s.probes {
		if p := &s.probes[i]; p.joined {
			if u := p.units.first(); u >= 0 {
				unitOf[string(s.x.dict.name(p.term))] = u
			}
		}
	}
	for i, u := range s.units {
		unitOf[string(s.text[u.from:u.to])] = i
	}
	var spans []span
	tokens := 0
	sc := scanner{emit: func(t token) bool {
		if tokens++; tokens > maxDocTokens {
			return false
		}
		if u, ok := unitOf[string(termOf(t))]; ok {
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
