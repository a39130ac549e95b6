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
	name string // all its words with a blank between them
	more int    // words after the first
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
	key := strings.ReplaceAll(base, "_", " ")
	if !plain(key) {
		key = newView(key).Text
	}
	first, size := utf8.DecodeRuneInString(key)
	if size > 0 && dense(first) {
		key = v.simplify(key)
		first, _ = utf8.DecodeRuneInString(key)
		v.words[key] |= s
		v.longest[first] = max(v.longest[first], utf8.RuneCountInString(key))
		return
	}
	add := func(f string) {
		v.addForm(f, s)
		if strings.Contains(f, "'") {
			v.addForm(strings.ReplaceAll(f, "'", ""), s)
			v.addForm(strings.ReplaceAll(f, "'", "’"), s)
		}
	}
	if !regular {
		add(key)
		return
	}
	inflect(key, add)
}

// plain reports whether a text is its own view, as far as that shows at a glance:
// lower-case letters and single blanks, or Han.
func plain(s string) bool {
	for i, c := range s {
		if (c < 'a' || c > 'z') && (c < 0x4E00 || c > 0x9FFF) && (c != ' ' || i == 0 || s[i-1] == ' ') {
			return false
		}
	}
	return true
}

func (v *vocabulary) addForm(f string, s set) {
	more := strings.Count(f, " ")
	if more == 0 {
		v.words[f] |= s
		return
	}
	first, _, _ := strings.Cut(f, " ")
	list := v.phrases[first]
	for i := range list {
		if list[i].name == f {
			list[i].set |= s
			return
		}
	}
	list = append(list, phrase{f, more, s})
	for i := len(list) - 1; i > 0 && list[i].more > list[i-1].more; i-- {
		list[i], list[i-1] = list[i-1], list[i]
	}
	v.phrases[first] = list
}

// inflect gives the regular endings of an English noun or verb; of a phrase, of
// its last word.
func inflect(w string, form func(string)) {
	all := func(stem string, endings ...string) {
		form(w)
		for _, e := range endings {
			form(stem + e)
		}
	}
	stem, e := strings.CutSuffix(w, "e")
	switch {
	case e:
		all(stem, "es", "ed", "ing")
	case strings.HasSuffix(w, "y") && !strings.ContainsAny(w[len(w)-2:len(w)-1], "aeiou"):
		all(w[:len(w)-1], "ies", "ied", "ying")
	case strings.HasSuffix(w, "s"), strings.HasSuffix(w, "x"), strings.HasSuffix(w, "ch"), strings.HasSuffix(w, "sh"):
		all(w, "es", "ed", "ing")
	default:
		last := w[len(w)-1:]
		all(w, "s", "ed", "ing", last+"ed", last+"ing")
	}
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
