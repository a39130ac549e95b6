package directive

import (
	"math/bits"
	"slices"
	"strings"
)

// A feature is one property of a sentence that the score counts. Those about
// concepts and hints hold in every language of the lexicon.
type feature struct {
	kind byte      // one of the constants below
	a, b uint8     // concepts by the number of their bit, a class of hints, or a count
	word [2]string // stems; the second is empty for a single word
}

// The kinds of a feature, as the table of weights writes them.
const (
	aConcept byte = 'c' // a occurs
	aHead    byte = 'h' // a occurs at the head of the sentence or of a clause
	aPair    byte = 'p' // b occurs within pairGap tokens after a
	aHint    byte = 'k' // a hint of class a
	aLength  byte = 'n' // the binary length of the number of words
	aWord    byte = 'w' // a word, or two neighbours
)

const pairGap = 4 // tokens

// features calls yield for each feature of the sentence that was just matched; one
// about words comes as often as the words do.
func (s *survey) features(tokens []token, yield func(feature)) {
	var have, head set
	var after [len(conceptBits{})]set // after[b] is what stands shortly before b
	var recent [pairGap]set
	last, words := "", 0
	for i := range tokens {
		t := &tokens[i]
		before := recent[0] | recent[1] | recent[2] | recent[3]
		recent[i%pairGap] = t.set
		for m := t.set; m != 0; m &= m - 1 {
			after[bits.TrailingZeros64(uint64(m))] |= before
		}
		have |= t.set
		if t.head {
			head |= t.set
		}
		w := t.phrase
		if w == "" {
			w = s.view.Text[t.start:t.end]
		}
		if t.set&(cDest|cLinked|cQuote|cColon) != 0 || len(w) < 2 || strings.ContainsAny(w, "0123456789") {
			last = "" // marks, and what names a thing of one text
			continue
		}
		if t.phrase == "" {
			w = stem(w)
		}
		words++
		yield(feature{kind: aWord, word: [2]string{w}})
		if last != "" {
			yield(feature{kind: aWord, word: [2]string{last, w}})
		}
		last = w
	}
	for m := have; m != 0; m &= m - 1 {
		b := bits.TrailingZeros64(uint64(m))
		yield(feature{kind: aConcept, a: uint8(b)})
		if head>>b&1 != 0 {
			yield(feature{kind: aHead, a: uint8(b)})
		}
		for p := after[b]; p != 0; p &= p - 1 {
			yield(feature{kind: aPair, a: uint8(bits.TrailingZeros64(uint64(p))), b: uint8(b)})
		}
	}
	for m := s.hints[0].classes; m != 0; m &= m - 1 {
		yield(feature{kind: aHint, a: uint8(bits.TrailingZeros64(m))})
	}
	yield(feature{kind: aLength, a: uint8(bits.Len(uint(words)))})
}

// conceptBits has one place for each concept that a set can hold.
type conceptBits [64]int32

// name writes a feature as the table of weights does.
func (b *book) name(f feature) string {
	switch f.kind {
	case aWord:
		return "w " + strings.TrimSpace(strings.ReplaceAll(f.word[0], " ", "_")+" "+strings.ReplaceAll(f.word[1], " ", "_"))
	case aLength:
		return "n " + string('0'+rune(f.a))
	case aHint:
		return "k " + b.names[f.a]
	case aPair:
		return "p " + b.concepts[f.a] + " " + b.concepts[f.b]
	}
	return string(rune(f.kind)) + " " + b.concepts[f.a]
}

// Features returns the features of each sentence of a text, each once and sorted,
// as the table of weights writes them. It is for the program that finds the weights.
func Features(text string) (sentences [][]string) {
	s := newSurvey(text, theVocabulary())
	for {
		tokens, ok := s.sentence()
		if !ok {
			return sentences
		}
		var names []string
		s.features(tokens, func(f feature) { names = append(names, s.book.name(f)) })
		slices.Sort(names)
		sentences = append(sentences, slices.Compact(names))
	}
}
