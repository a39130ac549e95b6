package lexical

// irregulars maps English words whose inflection the stemmer does not see through
// to the stem of their base form, by first letter. Forms that are more often
// another word (lay, bore, wound, ground) are in only where the verb prevails in
// notes and talk.
//
// Source: a list of this package's own, of the irregular verbs, plurals and comparisons
// that a grammar of English lists; the stem is what Porter2 makes of the base form.
var irregulars = ['z' + 1][]form{
	'a': {{"ate", "eat"}},
	'b': {
		{"became", "becom"},
		{"began", "begin"},
		{"begun", "begin"},
		{"best", "good"},
		{"better", "good"},
		{"blew", "blow"},
		{"blown", "blow"},
		{"bought", "buy"},
		{"broke", "break"},
		{"broken", "break"},
		{"brought", "bring"},
		{"built", "build"},
	},
	'c': {
		{"came", "come"}, {"caught", "catch"}, {"children", "child"}, {"chose", "choos"}, {"chosen", "choos"},
	},
	'd': {
		{"dealt", "deal"},
		{"drank", "drink"},
		{"drawn", "draw"},
		{"drew", "draw"},
		{"driven", "drive"},
		{"drove", "drive"},
		{"drunk", "drink"},
		{"dug", "dig"},
	},
	'e': {{"eaten", "eat"}},
	'f': {
		{"fallen", "fall"},
		{"fed", "feed"},
		{"feet", "foot"},
		{"fell", "fall"},
		{"felt", "feel"},
		{"flew", "fli"},
		{"flown", "fli"},
		{"forgave", "forgiv"},
		{"forgiven", "forgiv"},
		{"forgot", "forget"},
		{"forgotten", "forget"},
		{"fought", "fight"},
		{"found", "find"},
		{"froze", "freez"},
		{"frozen", "freez"},
	},
	'g': {
		{"gave", "give"},
		{"given", "give"},
		{"gone", "go"},
		{"got", "get"},
		{"gotten", "get"},
		{"grew", "grow"},
		{"grown", "grow"},
	},
	'h': {
		{"heard", "hear"}, {"held", "hold"}, {"hid", "hide"}, {"hidden", "hide"}, {"hung", "hang"},
	},
	'k': {
		{"kept", "keep"}, {"knew", "know"}, {"knives", "knife"}, {"known", "know"},
	},
	'l': {
		{"laid", "lay"},
		{"learnt", "learn"},
		{"leaves", "leav"},
		{"led", "lead"},
		{"left", "leav"},
		{"lent", "lend"},
		{"lives", "live"},
		{"lost", "lose"},
	},
	'm': {
		{"made", "make"}, {"meant", "mean"}, {"men", "man"}, {"met", "meet"}, {"mice", "mous"},
	},
	'p': {{"paid", "pay"}, {"people", "person"}},
	'r': {
		{"ran", "run"},
		{"rang", "ring"},
		{"ridden", "ride"},
		{"risen", "rise"},
		{"rode", "ride"},
		{"rose", "rise"},
		{"rung", "ring"},
	},
	's': {
		{"said", "say"},
		{"sang", "sing"},
		{"sat", "sit"},
		{"saw", "see"},
		{"seen", "see"},
		{"sent", "send"},
		{"shaken", "shake"},
		{"shook", "shake"},
		{"shot", "shoot"},
		{"shown", "show"},
		{"slept", "sleep"},
		{"sold", "sell"},
		{"sought", "seek"},
		{"spent", "spend"},
		{"spoke", "speak"},
		{"spoken", "speak"},
		{"stole", "steal"},
		{"stolen", "steal"},
		{"stood", "stand"},
		{"stuck", "stick"},
		{"sung", "sing"},
		{"swam", "swim"},
		{"swept", "sweep"},
		{"swore", "swear"},
		{"sworn", "swear"},
		{"swum", "swim"},
	},
	't': {
		{"taken", "take"},
		{"taught", "teach"},
		{"teeth", "tooth"},
		{"thought", "think"},
		{"threw", "throw"},
		{"thrown", "throw"},
		{"told", "tell"},
		{"took", "take"},
		{"tore", "tear"},
		{"torn", "tear"},
	},
	'u': {{"understood", "understand"}},
	'w': {
		{"went", "go"},
		{"wives", "wife"},
		{"woke", "wake"},
		{"woken", "wake"},
		{"women", "woman"},
		{"won", "win"},
		{"wore", "wear"},
		{"worn", "wear"},
		{"worse", "bad"},
		{"worst", "bad"},
		{"written", "write"},
		{"wrote", "write"},
	},
}

// form is an irregular form and the stem that it has.
type form struct{ form, stem string }

// irregular gives the stem of an irregular form, or "".
func irregular(w []byte) string {
	if len(w) < 3 || w[0] > 'z' {
		return ""
	}
	for _, r := range irregulars[w[0]] {
		if r.form == string(w) {
			return r.stem
		}
	}
	return ""
}
