package directive

import (
	"fmt"
	"strings"
	"sync"
)

// A pattern is a list of steps, each a set of concepts of which a token must have
// one: "drop 4 prior 3 rule|prompt". The number before a step is the most tokens
// that it may stand behind the step before it (default 3). "^" asks for the head
// of the sentence, "!" names concepts that the sentence must not have.
type pattern struct {
	steps  []step
	forbid set
}

type step struct {
	any  set
	all  set // of "best&product": the token must have every one
	gap  int
	head bool
}

// maxSteps bounds the steps of a pattern, so that its state lives on the stack.
const (
	maxSteps   = 6
	defaultGap = 3
)

// theConcepts maps the names of conceptNames to their bits.
var theConcepts = sync.OnceValue(func() map[string]set {
	m := make(map[string]set, 64)
	bit := set(1)
	for name := range strings.FieldsSeq(conceptNames) {
		m[name] = bit
		bit <<= 1
	}
	return m
})

// parsePattern panics on a mistake: patterns are constants of this package.
func parsePattern(text string) pattern {
	var p pattern
	gap := defaultGap
	for f := range strings.FieldsSeq(text) {
		if '0' <= f[0] && f[0] <= '9' {
			gap = 0
			for _, c := range f {
				gap = 10*gap + int(c-'0')
			}
			continue
		}
		name, forbidden := strings.CutPrefix(f, "!")
		name, head := strings.CutPrefix(name, "^")
		var s set
		name, all := strings.CutPrefix(name, "&")
		for n := range strings.SplitSeq(name, "|") {
			bit, ok := theConcepts()[n]
			if !ok {
				panic(fmt.Sprintf("directive: pattern %q: no concept %q", text, n))
			}
			s |= bit
		}
		if forbidden {
			p.forbid |= s
			continue
		}
		st := step{any: s, gap: gap, head: head}
		if all {
			st.all = s
		}
		p.steps = append(p.steps, st)
		gap = defaultGap
	}
	if len(p.steps) == 0 || len(p.steps) > maxSteps {
		panic(fmt.Sprintf("directive: pattern %q: %d steps", text, len(p.steps)))
	}
	return p
}

// possible reports whether a sentence with these concepts can match at all.
func (p *pattern) possible(have set) bool {
	if have&p.forbid != 0 {
		return false
	}
	for i := range p.steps {
		if have&p.steps[i].any == 0 {
			return false
		}
	}
	return true
}

// find returns the first match, as the indexes of its first and last token. One pass: for each prefix of the steps only the latest place where it
// ended is kept, because a later end can reach whatever an earlier one can.
func (p *pattern) find(tokens []token) (first, last int, ok bool) {
	var end, begin [maxSteps]int
	for k := range end {
		end[k] = -1
	}
	final := len(p.steps) - 1
	for i := range tokens {
		t := &tokens[i]
		if t.set == 0 {
			continue
		}
		for k := final; k >= 0; k-- {
			s := &p.steps[k]
			if t.set&s.any == 0 || t.set&s.all != s.all || s.head && !t.head {
				continue
			}
			if k == 0 {
				end[0], begin[0] = i, i
			} else if end[k-1] >= 0 && i-end[k-1] <= s.gap {
				end[k], begin[k] = i, begin[k-1]
			} else {
				continue
			}
			if k == final {
				return begin[k], i, true
			}
		}
	}
	return 0, 0, false
}
