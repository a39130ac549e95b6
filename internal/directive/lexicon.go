package directive

import (
	"strings"
	"sync"
	"unicode/utf8"
)

// vocabulary is the lexicon in the form that the tokenizer asks.
type vocabulary struct {
	words   map[string]set      // one word, or one dictionary word of a script without blanks
	phrases map[string][]phrase // by first word, longest first
	longest map[rune]int        // runes of the longest dictionary word that starts with the rune
	strokes map[rune]rune       // traditional to simplified
}

type phrase struct {
	name string   // all its words with a blank between them
	rest []string // the words after the first
	set  set
}

// theVocabulary is built on first use; it is never written to afterwards.
var theVocabulary = sync.OnceValue(newVocabulary)

func newVocabulary() *vocabulary {
	v := &vocabulary{
		words: make(map[string]set, 4096), phrases: make(map[string][]phrase, 512),
		longest: make(map[rune]int, 512), strokes: make(map[rune]rune, 256),
	}
	runes := []rune(traditional)
	for i := 0; i+1 < len(runes); i += 2 {
		v.strokes[runes[i]] = runes[i+1]
	}
	for _, table := range [...][]entry{english(), englishObjects(), chinese(), others(), otherScripts()} {
		for _, e := range table {
			for w := range strings.FieldsSeq(e.words) {
				v.add(w, e.set)
			}
		}
	}
	return v
}

// add enters one word of an entry. Keys go through the same view as the texts, so
// that folding cannot part a word from its key.
func (v *vocabulary) add(w string, s set) {
	base, regular := strings.CutSuffix(w, "+")
	key := newView(strings.ReplaceAll(base, "_", " ")).Text
	first, size := utf8.DecodeRuneInString(key)
	if size > 0 && dense(first) {
		key = v.simplify(key)
		first, _ = utf8.DecodeRuneInString(key)
		v.words[key] |= s
		v.longest[first] = max(v.longest[first], utf8.RuneCountInString(key))
		return
	}
	forms := [1]string{key}
	all := forms[:]
	if regular {
		all = inflect(key)
	}
	for _, f := range all {
		v.addForm(f, s)
		if strings.Contains(f, "'") {
			v.addForm(strings.ReplaceAll(f, "'", ""), s)
			v.addForm(strings.ReplaceAll(f, "'", "’"), s)
		}
	}
}

func (v *vocabulary) addForm(f string, s set) {
	parts := strings.Fields(f)
	if len(parts) == 1 {
		v.words[f] |= s
		return
	}
	list := v.phrases[parts[0]]
	for i := range list {
		if list[i].name == strings.Join(parts, " ") {
			list[i].set |= s
			return
		}
	}
	list = append(list, phrase{strings.Join(parts, " "), parts[1:], s})
	for i := len(list) - 1; i > 0 && len(list[i].rest) > len(list[i-1].rest); i-- {
		list[i], list[i-1] = list[i-1], list[i]
	}
	v.phrases[parts[0]] = list
}

// inflect gives the regular endings of an English noun or verb; of a phrase, of
// its last word.
func inflect(w string) []string {
	stem, e := strings.CutSuffix(w, "e")
	switch {
	case e:
		return []string{w, w + "s", w + "d", stem + "ing"}
	case strings.HasSuffix(w, "y") && !strings.ContainsAny(w[len(w)-2:len(w)-1], "aeiou"):
		y := w[:len(w)-1]
		return []string{w, y + "ies", y + "ied", w + "ing"}
	case strings.HasSuffix(w, "s"), strings.HasSuffix(w, "x"), strings.HasSuffix(w, "ch"), strings.HasSuffix(w, "sh"):
		return []string{w, w + "es", w + "ed", w + "ing"}
	}
	double := w + w[len(w)-1:]
	return []string{w, w + "s", w + "ed", w + "ing", double + "ed", double + "ing"}
}

// simplify maps traditional characters; the result has the length of s.
func (v *vocabulary) simplify(s string) string {
	i := strings.IndexFunc(s, func(r rune) bool { return r >= 0x2E80 && v.strokes[r] != 0 })
	if i < 0 {
		return s
	}
	return s[:i] + strings.Map(func(r rune) rune {
		if t := v.strokes[r]; t != 0 {
			return t
		}
		return r
	}, s[i:])
}
