package directive

import (
	"slices"

	"github.com/memoryroom/scribe/internal/fold"
)

// survey is the state of one scan.
type survey struct {
	view       fold.View
	scan       scanner
	book       *book
	found      []Finding
	convention Finding
	hints      [pairWindow]tally // of this sentence, then of those before it
	weights    *weightTable
	scored     scored // the sentence before this one
}

// tally is what one sentence holds of hints.
type tally struct {
	classes    uint64 // a bit each
	start, end int    // view bytes that they span
	meta       bool   // the sentence talks about attacks
}

// pairWindow is the number of neighbouring sentences whose hints are added up.
const pairWindow = 2

// maxPerRule bounds the findings of one rule and tier in a result, so that no
// padding can crowd out another rule.
const maxPerRule = 8

func newSurvey(text string, voc *vocabulary) *survey {
	v := newView(text)
	v.Text = voc.simplify(v.Text)
	return &survey{view: v, scan: scanner{voc: voc, text: v.Text}, book: theBook()}
}

// report enters a finding, unless there are enough of its kind; s.crowded says so
// beforehand.
func (s *survey) report(rule, why string, tier Tier, start, end int) {
	if s.crowded(rule, tier) {
		return
	}
	off, length := s.view.Span(start, end)
	s.found = append(s.found, Finding{Rule: rule, Offset: off, Length: length, Tier: tier, Why: why})
}

func (s *survey) crowded(rule string, tier Tier) bool {
	n := 0
	for i := range s.found {
		if f := &s.found[i]; f.Rule == rule && f.Tier == tier {
			n++
		}
	}
	return n >= maxPerRule
}

// sentence judges the next sentence by rules and hints; false at the end of the text.
func (s *survey) sentence() ([]token, bool) {
	from := s.scan.at
	tokens, ok := s.scan.next()
	if !ok {
		return nil, false
	}
	copy(s.hints[1:], s.hints[:])
	have := union(tokens)
	s.hints[0] = tally{meta: have&cMeta != 0}
	s.shapes(from, s.scan.at)
	s.match(tokens, have)
	if s.convention.Length == 0 {
		if a, b, ok := s.book.habit.find(tokens); ok {
			off, n := s.view.Span(int(tokens[a].start), int(tokens[b].end))
			s.convention = Finding{Rule: ruleConvention, Offset: off, Length: n, Tier: Convention, Why: habitText}
		}
	}
	if verbFinal(tokens) {
		backwards(tokens)
		s.match(tokens, have)
	}
	return tokens, true
}

func union(tokens []token) (have set) {
	for i := range tokens {
		have |= tokens[i].set
	}
	return have
}

// verbFinal reports a sentence of Japanese or Korean: object, verb, negation. Read
// backwards it has the order that patterns are written in.
func verbFinal(tokens []token) bool {
	return slices.ContainsFunc(tokens, func(t token) bool { return t.final })
}

func backwards(tokens []token) {
	slices.Reverse(tokens)
	heads(tokens)
}

// match runs every rule and hint over the tokens of one sentence. A sentence that
// talks about attacks ("detects ...", "an attacker ...") flags at most: a security
// note quotes what it is about, and a hold is for what is meant.
func (s *survey) match(tokens []token, have set) {
	for i := range s.book.rules {
		r := &s.book.rules[i]
		if !r.pattern.possible(have) {
			continue
		}
		if a, b, ok := r.pattern.find(tokens); ok {
			tier := r.tier
			if have&cMeta != 0 {
				tier = min(tier, Weak)
			}
			s.report(r.id, r.text, tier, int(min(tokens[a].start, tokens[b].start)), int(max(tokens[a].end, tokens[b].end)))
		}
	}
	for i := range s.book.hints {
		h := &s.book.hints[i]
		if !h.pattern.possible(have) {
			continue
		}
		if a, b, ok := h.pattern.find(tokens); ok {
			s.hint(h.class, int(min(tokens[a].start, tokens[b].start)), int(max(tokens[a].end, tokens[b].end)))
		}
	}
}

// hint enters a hint of the current sentence.
func (s *survey) hint(class, start, end int) {
	t := &s.hints[0]
	if t.classes == 0 {
		t.start, t.end = start, end
	}
	t.classes |= 1 << class
	t.start, t.end = min(t.start, start), max(t.end, end)
}

// pair weighs the hints of the sentence, alone and with those before it.
func (s *survey) pair() {
	sum := s.hints[0]
	if sum.classes == 0 {
		return
	}
	tier := s.weigh(sum)
	for _, t := range s.hints[1:] {
		if t.classes == 0 {
			continue
		}
		wide := tally{sum.classes | t.classes, min(sum.start, t.start), max(sum.end, t.end), sum.meta || t.meta}
		if w := s.weigh(wide); w > tier {
			tier, sum = w, wide
		}
	}
	lean := s.scored.sum + s.weights.bias
	if sum.classes&s.book.formal != 0 {
		lean = max(lean, pairStrongLean) // a shape is no matter of words
	}
	switch {
	case lean < pairWeakLean:
		return
	case lean < pairStrongLean:
		tier = min(tier, Weak)
	}
	if tier > 0 && !s.crowded(rulePair, tier) {
		s.report(rulePair, s.book.hintNames(sum.classes), tier, sum.start, sum.end)
	}
}

func (s *survey) weigh(t tally) Tier {
	total := 0
	for c, w := range s.book.weights {
		if t.classes>>c&1 != 0 {
			total += w
		}
	}
	switch {
	case total >= strongPair && !t.meta:
		return Strong
	case total >= weakPair:
		return Weak
	}
	return 0
}
