package gate

import (
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// openFor is the age at which something open has its full weight.
const openFor = 300_000 * time.Millisecond

// signals computes every signal of a trigger from the window before it.
func (p Policy) signals(before []piece, trigger piece, query string, fresh []string) (s Signals) {
	set := func(i Signal, on bool) {
		if on {
			s[i] = One
		}
	}
	all := append(slices.Clone(before), trigger)
	user := trigger.Kind == KindUser
	set(ExplicitRecall, user && says(trigger.folded, p.Words.Recall))
	set(ToolFailure, failed(before, trigger))
	set(Novelty, !slices.ContainsFunc(before, func(b piece) bool { return b.digest == trigger.digest }))
	set(PhaseShift, user && says(trigger.folded, p.Words.Transition) && slices.ContainsFunc(before, func(b piece) bool {
		return b.Kind == KindToolCall || b.Kind == KindToolResult
	}))
	set(Historical, query != "" && slices.Contains(fresh, query))
	set(Question, user && says(trigger.folded, p.Words.Question))
	if user && says(trigger.folded, p.Words.Own) {
		s[Reference] = One / 2
	}
	set(Reference, user && says(trigger.folded, p.Words.Reference))
	set(Conflict, slices.ContainsFunc(all, func(b piece) bool { return b.Kind == KindUser && says(b.folded, p.Words.Correction) }) &&
		slices.ContainsFunc(all, func(b piece) bool { return b.Kind == KindToolResult && b.Failed }))
	s[Repeated] = repeated(all)
	open, since := p.open(all)
	set(Unresolved, open)
	if age := trigger.Time.Sub(since); open && !since.IsZero() && age > 0 {
		s[UnresolvedAge] = min(One, age.Milliseconds()*One/openFor.Milliseconds())
	}
	return s
}

// failed reports whether the trigger failed, or, before a trigger that is no result, the
// last result of its tool. A trigger without a tool asks for the last result of any.
func failed(before []piece, trigger piece) bool {
	if trigger.Kind == KindToolResult {
		return trigger.Failed
	}
	for _, b := range slices.Backward(before) {
		if b.Kind == KindToolResult && (trigger.Tool == "" || trigger.Tool == b.Tool) {
			return b.Failed
		}
	}
	return false
}

// repeated is half for the second call of the tool that is called most, and one from the
// third on.
func repeated(all []piece) int64 {
	calls, most := map[string]int64{}, int64(0)
	for _, b := range all {
		if b.Kind == KindToolCall && b.Tool != "" {
			calls[b.Tool]++
			most = max(most, calls[b.Tool])
		}
	}
	return min(One, max(0, most-1)*One/2)
}

// open reports whether the latest thing that the user said is that something is open,
// and since when they have been saying so. A result after it that did not fail settles
// it: the contract asks for a "targeted" one, and which result answers which words can not
// be told.
func (p Policy) open(all []piece) (open bool, since time.Time) {
	for _, b := range all {
		switch {
		case b.Kind == KindUser:
			open = says(b.folded, p.Words.Unresolved)
			if open && since.IsZero() {
				since = b.Time
			}
		case b.Kind == KindToolResult && !b.Failed:
			open, since = false, time.Time{}
		}
	}
	return open, since
}

// says reports whether a folded text has one of the phrases.
func says(text string, phrases []string) bool {
	return slices.ContainsFunc(phrases, func(phrase string) bool { return hasPhrase(text, phrase) })
}

// hasPhrase finds a phrase whose ends, where they are letters or digits of a script with
// spaces, are word ends in the text.
func hasPhrase(text, phrase string) bool {
	for from := 0; ; {
		i := strings.Index(text[from:], phrase)
		if i < 0 {
			return false
		}
		i += from
		before, _ := utf8.DecodeLastRuneInString(text[:i])
		after, _ := utf8.DecodeRuneInString(text[i+len(phrase):])
		first, size := utf8.DecodeRuneInString(phrase)
		last, _ := utf8.DecodeLastRuneInString(phrase)
		if !(spaced(first) && spaced(before)) && !(spaced(last) && spaced(after)) {
			return true
		}
		from = i + size
	}
}

// spaced reports whether c is a letter or digit of a script that separates words.
func spaced(c rune) bool {
	return (unicode.IsLetter(c) || unicode.IsDigit(c)) && !runs(c)
}

// runs reports whether c belongs to a script that is written without spaces.
func runs(c rune) bool {
	return unicode.In(c, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}
