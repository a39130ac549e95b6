package directive

import "maps"

// A Screen is Scan with a part of the lexicon taken out. It is for measuring: how
// much of what is caught in a source hangs on words that only this source has?
type Screen struct{ voc *vocabulary }

// Without returns the screen that does not know the given words, which are words
// that [Words] returned.
func Without(words map[string]bool) Screen {
	all := theVocabulary()
	voc := &vocabulary{words: maps.Clone(all.words), phrases: make(map[string][]phrase, len(all.phrases)), longest: all.longest, strokes: all.strokes}
	for w := range words {
		delete(voc.words, w)
	}
	for first, list := range all.phrases {
		for _, p := range list {
			if !words[p.name] {
				voc.phrases[first] = append(voc.phrases[first], p)
			}
		}
	}
	return Screen{voc}
}

// Scan is the function of that name, with the words that are left.
func (s Screen) Scan(text string) []Finding { return scan(text, s.voc) }

// Words returns the words and phrases of the lexicon that are read in a text, each
// as the lexicon spells it in the comparison view. What is put together from pieces
// (spelled out, glued, hyphenated) is not among them.
func Words(text string) map[string]bool {
	words := make(map[string]bool)
	s := newSurvey(text, theVocabulary())
	for {
		tokens, ok := s.scan.next()
		if !ok {
			return words
		}
		for _, t := range tokens {
			if t.set&^(cDest|cLinked|cQuote|cColon) == 0 {
				continue
			}
			w := t.phrase
			if w == "" {
				w = s.view.Text[t.start:t.end]
			}
			words[w] = true
		}
	}
}
