package directive

import (
	"strings"
	"testing"
)

// holds reports whether the pattern is found in any sentence of text, read
// forwards or, for languages that put the verb last, backwards.
func holds(p pattern, text string) bool {
	s := newSurvey(text, theVocabulary())
	for {
		tokens, ok := s.scan.next()
		if !ok {
			return false
		}
		if !p.possible(union(tokens)) {
			continue
		}
		if _, _, ok := p.find(tokens); ok {
			return true
		}
		if verbFinal(tokens) {
			backwards(tokens)
			if _, _, ok := p.find(tokens); ok {
				return true
			}
		}
	}
}

func tierOf(text, id string) (t Tier) {
	for _, f := range Scan(text) {
		if f.Rule == id {
			t = max(t, f.Tier)
		}
	}
	return t
}

func worst(text string) (t Tier) {
	for _, f := range Scan(text) {
		t = max(t, f.Tier)
	}
	return t
}

func TestRuleExamples(t *testing.T) {
	for _, r := range ruleTable() {
		p := parsePattern(r.pattern)
		if !holds(p, r.yes) {
			t.Errorf("%s %q: true example is not found: %s", r.id, r.pattern, r.yes)
		}
		if got := tierOf(r.yes, r.id); got < r.tier {
			t.Errorf("Scan(%q): %s = %v, want at least %v", r.yes, r.id, got, r.tier)
		}
		if holds(p, r.no) {
			t.Errorf("%s %q: false example is found: %s", r.id, r.pattern, r.no)
		}
		if got := worst(r.no); got > Convention {
			t.Errorf("Scan(%q) = %v, want at most convention", r.no, Scan(r.no))
		}
	}
}

func TestHintExamples(t *testing.T) {
	for _, h := range hintTable() {
		if h.pattern == "" {
			continue
		}
		p := parsePattern(h.pattern)
		if !holds(p, h.yes) || holds(p, h.no) {
			t.Errorf("hint %s %q: yes %v, no %v", h.name, h.pattern, holds(p, h.yes), holds(p, h.no))
		}
		if got := worst(h.yes); got > Weak {
			t.Errorf("Scan(%q) = %v: a hint alone must not hold", h.yes, Scan(h.yes))
		}
	}
}

// TestPlainWords: a word of the lexicon that is taken for its own view is.
func TestPlainWords(t *testing.T) {
	n := 0
	for _, table := range [...][]entry{english(), englishObjects(), chinese(), others(), otherScripts()} {
		for _, e := range table {
			for w := range strings.FieldsSeq(e.words) {
				key := strings.ReplaceAll(strings.TrimSuffix(w, "+"), "_", " ")
				if !plain(key) {
					continue
				}
				if n++; newView(key).Text != key {
					t.Errorf("%q is %q in a view", key, newView(key).Text)
				}
			}
		}
	}
	if n < 1000 {
		t.Errorf("%d words are plain", n)
	}
}
