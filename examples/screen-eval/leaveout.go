package main

import (
	"strings"

	"github.com/memoryroom/scribe/internal/directive"
	"github.com/memoryroom/scribe/internal/hidden"
)

// A witness is what the attacks of all sources say for the words and the rows of the
// instruction screen: which sources need them.
type witness struct {
	words   map[string]map[string]bool // source, words of the lexicon
	reasons map[reason]map[string]bool // sources
	screens map[string]directive.Screen
}

// reason is a row of a rule, or one hint of a pair.
type reason struct{ rule, why string }

func reasonsOf(f directive.Finding) (all []reason) {
	if f.Rule != "directive.pair" {
		return []reason{{f.Rule, f.Why}}
	}
	for hint := range strings.FieldsSeq(f.Why) {
		all = append(all, reason{f.Rule, hint})
	}
	return all
}

// decoded are the texts that admission judges: the text and what its encoded runs
// decode to.
func decoded(text string) []string {
	texts := []string{text}
	for _, blob := range hidden.Blobs(text) {
		texts = append(texts, blob.Text)
	}
	return texts
}

func hear(rows []row) *witness {
	w := &witness{words: map[string]map[string]bool{}, reasons: map[reason]map[string]bool{}, screens: map[string]directive.Screen{}}
	for _, r := range rows {
		source := r.fields["source_repo"]
		if r.label != "attack" || source == "" {
			continue
		}
		if w.words[source] == nil {
			w.words[source] = map[string]bool{}
		}
		for _, text := range decoded(r.text) {
			for word := range directive.Words(text) {
				w.words[source][word] = true
			}
			for _, f := range directive.Scan(text) {
				for _, why := range reasonsOf(f) {
					if w.reasons[why] == nil {
						w.reasons[why] = map[string]bool{}
					}
					w.reasons[why][source] = true
				}
			}
		}
	}
	return w
}

// screen is the instruction screen without the words that only this source has.
func (w *witness) screen(source string) directive.Screen {
	s, ok := w.screens[source]
	if !ok {
		own := map[string]bool{}
		for word := range w.words[source] {
			own[word] = true
		}
		for other, words := range w.words {
			if other == source {
				continue
			}
			for word := range words {
				delete(own, word)
			}
		}
		s = directive.Without(own)
		w.screens[source] = s
	}
	return s
}

// tier is the verdict on a text of a source as if the source were not known: without
// the words that no other one has, and without the rows that fire in no other one.
// The score stays, whose weights come from none.
func (w *witness) tier(text, source string) (tier directive.Tier) {
	for _, t := range decoded(text) {
		for _, f := range w.screen(source).Scan(t) {
			if f.Rule == "directive.score" || w.known(f, source) {
				tier = max(tier, f.Tier)
			}
		}
	}
	return tier
}

// known reports whether each reason of a finding has a source other than this.
func (w *witness) known(f directive.Finding, source string) bool {
	for _, why := range reasonsOf(f) {
		sources := w.reasons[why]
		if n := len(sources); n == 0 || n == 1 && sources[source] {
			return false
		}
	}
	return true
}
