package lexical

import "bytes"

// stem reduces a lower-case word to its Porter2 stem, in place: the result shares
// w's array and is never longer. Words with anything but a-z and the apostrophe,
// and words of one or two letters, come back as they are.
//
// The algorithm is M. F. Porter's English stemmer as the Snowball project defined
// it up to version 2.2 (https://snowballstem.org/algorithms/english/stemmer.html);
// version 3 moved a few words. What matters here is that it never changes again.
func stem(w []byte) []byte {
	for _, c := range w {
		if (c < 'a' || c > 'z') && c != '\'' {
			return w
		}
	}
	if len(w) > 0 && w[0] == '\'' {
		w = w[1:]
	}
	if len(w) <= 2 {
		return w
	}
	if s, ok := exception(w); ok {
		return append(w[:0], s...)
	}
	markY(w)
	r1, r2 := regions(w)
	w = step0(w)
	w = step1a(w)
	switch string(w) {
	case "inning", "outing", "canning", "herring", "earring", "proceed", "exceed", "succeed":
		return lowerY(w)
	}
	w = step1b(w, r1)
	w = step1c(w)
	w = step2(w, r1)
	w = step3(w, r1, r2)
	w = step4(w, r2)
	w = step5(w, r1, r2)
	return lowerY(w)
}

// exception lists the words whose stem is given outright.
func exception(w []byte) (string, bool) {
	switch string(w) {
	case "skis":
		return "ski", true
	case "skies":
		return "sky", true
	case "dying":
		return "die", true
	case "lying":
		return "lie", true
	case "tying":
		return "tie", true
	case "idly":
		return "idl", true
	case "gently":
		return "gentl", true
	case "ugly":
		return "ugli", true
	case "early":
		return "earli", true
	case "only":
		return "onli", true
	case "singly":
		return "singl", true
	case "sky", "news", "howe", "atlas", "cosmos", "bias", "andes":
		return string(w), true
	}
	return "", false
}

func vowel(c byte) bool {
	return c == 'a' || c == 'e' || c == 'i' || c == 'o' || c == 'u' || c == 'y'
}

// markY writes Y for a y that is a consonant: at the start or after a vowel.
func markY(w []byte) {
	for i, c := range w {
		if c == 'y' && (i == 0 || vowel(w[i-1])) {
			w[i] = 'Y'
		}
	}
}

func lowerY(w []byte) []byte {
	for i, c := range w {
		if c == 'Y' {
			w[i] = 'y'
		}
	}
	return w
}

// regions gives the starts of R1 and R2: what follows the first consonant after a
// vowel, and the same within R1.
func regions(w []byte) (r1, r2 int) {
	next := func(from int) int {
		for i := from + 1; i < len(w); i++ {
			if !vowel(w[i]) && vowel(w[i-1]) {
				return i + 1
			}
		}
		return len(w)
	}
	switch {
	case bytes.HasPrefix(w, []byte("gener")), bytes.HasPrefix(w, []byte("arsen")):
		r1 = 5
	case bytes.HasPrefix(w, []byte("commun")):
		r1 = 6
	default:
		r1 = next(0)
	}
	return r1, next(r1)
}

func ends(w []byte, s string) bool {
	// The last letter decides nearly always.
	n := len(w) - len(s)
	return n >= 0 && w[len(w)-1] == s[len(s)-1] && string(w[n:]) == s
}

func hasVowel(w []byte) bool {
	for _, c := range w {
		if vowel(c) {
			return true
		}
	}
	return false
}

// shortEnd reports that w ends in a short syllable.
func shortEnd(w []byte) bool {
	n := len(w)
	if n == 2 {
		return vowel(w[0]) && !vowel(w[1])
	}
	return n > 2 && !vowel(w[n-3]) && vowel(w[n-2]) && !vowel(w[n-1]) &&
		w[n-1] != 'w' && w[n-1] != 'x' && w[n-1] != 'Y'
}

func step0(w []byte) []byte {
	for _, s := range [...]string{"'s'", "'s", "'"} {
		if ends(w, s) {
			return w[:len(w)-len(s)]
		}
	}
	return w
}

func step1a(w []byte) []byte {
	n := len(w)
	switch {
	case ends(w, "sses"):
		return w[:n-2]
	case ends(w, "ied"), ends(w, "ies"):
		if n > 4 {
			return w[:n-2]
		}
		return w[:n-1]
	case ends(w, "us"), ends(w, "ss"):
	case ends(w, "s"):
		if n > 2 && hasVowel(w[:n-2]) {
			return w[:n-1]
		}
	}
	return w
}

func step1b(w []byte, r1 int) []byte {
	n := len(w)
	for _, s := range [...]string{"eedly", "eed"} {
		if ends(w, s) {
			if n-len(s) >= r1 {
				w = w[:n-len(s)+2]
			}
			return w
		}
	}
	for _, s := range [...]string{"ingly", "edly", "ing", "ed"} {
		if !ends(w, s) {
			continue
		}
		if !hasVowel(w[:n-len(s)]) {
			return w
		}
		w = w[:n-len(s)]
		n = len(w)
		switch {
		case ends(w, "at"), ends(w, "bl"), ends(w, "iz"):
			return append(w, 'e') // in place: at least "ed" was cut
		case n > 1 && w[n-1] == w[n-2] && bytes.IndexByte([]byte("bdfgmnprt"), w[n-1]) >= 0:
			return w[:n-1]
		case r1 >= n && shortEnd(w):
			return append(w, 'e')
		}
		return w
	}
	return w
}

func step1c(w []byte) []byte {
	n := len(w)
	if n > 2 && (w[n-1] == 'y' || w[n-1] == 'Y') && !vowel(w[n-2]) {
		w[n-1] = 'i'
	}
	return w
}

// suffix is one row of steps 2 to 4: what it ends in becomes to.
type suffix struct{ from, to string }

// The suffixes of steps 2 to 4, by their last letter but one, which tells nearly all of
// them apart, so that a word is compared with a few and not with two dozen. In each row
// the longest stands first, because only the longest suffix of a word counts, even when
// its condition fails.
var (
	suffixes2 = ['z' + 1][]suffix{
		'a': {{"ational", "ate"}, {"tional", "tion"}},
		'c': {{"enci", "ence"}, {"anci", "ance"}},
		'e': {{"izer", "ize"}},
		'g': {{"ogi", "og"}},
		'l': {
			{"lessli", "less"},
			{"entli", "ent"},
			{"ousli", "ous"},
			{"fulli", "ful"},
			{"abli", "able"},
			{"alli", "al"},
			{"bli", "ble"},
			{"li", ""},
		},
		'o': {{"ization", "ize"}, {"ation", "ate"}, {"ator", "ate"}},
		's': {{"fulness", "ful"}, {"ousness", "ous"}, {"iveness", "ive"}, {"alism", "al"}},
		't': {{"biliti", "ble"}, {"aliti", "al"}, {"iviti", "ive"}},
	}
	suffixes3 = ['z' + 1][]suffix{
		'a': {{"ational", "ate"}, {"tional", "tion"}, {"ical", "ic"}},
		's': {{"ness", ""}},
		't': {{"icate", "ic"}, {"iciti", "ic"}},
		'u': {{"ful", ""}},
		'v': {{"ative", ""}},
		'z': {{"alize", "al"}},
	}
	suffixes4 = ['z' + 1][]suffix{
		'a': {{from: "al"}},
		'c': {{from: "ance"}, {from: "ence"}},
		'e': {{from: "er"}},
		'i': {{from: "ic"}},
		'l': {{from: "able"}, {from: "ible"}},
		'n': {{from: "ement"}, {from: "ment"}, {from: "ant"}, {from: "ent"}},
		'o': {{from: "ion"}},
		's': {{from: "ism"}},
		't': {{from: "ate"}, {from: "iti"}},
		'u': {{from: "ous"}},
		'v': {{from: "ive"}},
		'z': {{from: "ize"}},
	}
)

// longest gives the longest suffix of w among the rows, and where it begins; -1 for
// none.
func longest(w []byte, rows *['z' + 1][]suffix) (s *suffix, at int) {
	n := len(w)
	if n < 2 || w[n-2] > 'z' {
		return nil, -1
	}
	row := rows[w[n-2]]
	for i := range row {
		if ends(w, row[i].from) {
			return &row[i], n - len(row[i].from)
		}
	}
	return nil, -1
}

func step2(w []byte, r1 int) []byte {
	s, at := longest(w, &suffixes2)
	if at < r1 {
		return w
	}
	switch s.from {
	case "ogi":
		if at == 0 || w[at-1] != 'l' {
			return w
		}
	case "li":
		if at == 0 || bytes.IndexByte([]byte("cdeghkmnrt"), w[at-1]) < 0 {
			return w
		}
	}
	return append(w[:at], s.to...)
}

func step3(w []byte, r1, r2 int) []byte {
	s, at := longest(w, &suffixes3)
	if at < r1 || s.from == "ative" && at < r2 {
		return w
	}
	return append(w[:at], s.to...)
}

func step4(w []byte, r2 int) []byte {
	s, at := longest(w, &suffixes4)
	if at < r2 || s.from == "ion" && (at == 0 || w[at-1] != 's' && w[at-1] != 't') {
		return w
	}
	return w[:at]
}

func step5(w []byte, r1, r2 int) []byte {
	n := len(w)
	switch {
	case n == 0:
	case w[n-1] == 'e' && (n-1 >= r2 || (n-1 >= r1 && !shortEnd(w[:n-1]))):
		return w[:n-1]
	case w[n-1] == 'l' && n-1 >= r2 && n > 1 && w[n-2] == 'l':
		return w[:n-1]
	}
	return w
}
