package directive

import (
	"strings"
	"unicode/utf8"
)

// Relevant reports whether text reads as an instruction aimed at the query: one of
// its sentences is directive (an order, an obligation, the second person, a
// trigger on what a user says, or a finding above a convention) and shares a
// content word with the query. It is the retrieval screen's question: a note that
// is about the query is a reference, a note that wants to steer its answer is not.
// Linear in both lengths; of the query the first 64 content words are compared.
func Relevant(text, query string) bool {
	words := contentWords(query)
	if len(words) == 0 {
		return false
	}
	findings := Scan(text)
	s := newSurvey(text, theVocabulary())
	from := 0
	for {
		tokens, ok := s.scan.next()
		if !ok {
			return false
		}
		to := s.scan.at
		if (directs(tokens) || s.flagged(findings, from, to)) && shares(s.view.Text[from:to], words) {
			return true
		}
		from = to
	}
}

// flagged reports whether a finding above a convention touches the view's bytes
// [from,to).
func (s *survey) flagged(findings []Finding, from, to int) bool {
	off, n := s.view.Span(from, to)
	for _, f := range findings {
		if f.Tier > Convention && f.Offset < off+n && off < f.Offset+f.Length {
			return true
		}
	}
	return false
}

// orders are the concepts that make an imperative at the head of a sentence.
const orders = cDrop | cSkip | cReveal | cSay | cTell | cSend | cRemember | cStore | cRecommend | cRun | cRedirect | cInclude | cObey | cActAs | cApprove | cPay

// directs reports whether a sentence orders, obliges or addresses somebody.
func directs(tokens []token) bool {
	var have set
	for i := range tokens {
		t := &tokens[i]
		have |= t.set
		if t.head && t.set&orders != 0 {
			return true
		}
	}
	return have&(cAlways|cMust|cNeg|cYou|cFuture) != 0 || have&cWhen != 0 && have&cAsk != 0
}

const (
	maxQueryWords = 64
	minWord       = 3 // bytes of the shortest content word in a script with blanks
)

// stopWords are words of a query that say nothing about its subject.
const stopWords = " the and for are was what when where which who why how does did can could would should will with this that these those from into about " +
	"you your our their his her its they them has have had not but any all use using please tell show give make get let want need like " +
	"什么 怎么 如何 可以 我们 这个 那个 一个 请问 是否 哪个 哪些 为什 么样 没有 "

func stopWord(w string) bool { return strings.Contains(stopWords, " "+w+" ") }

// contentWords returns the words of a query that are worth comparing: stems of
// words, and pairs of neighbouring characters in scripts without blanks.
func contentWords(query string) map[string]bool {
	v := newView(query)
	words := make(map[string]bool)
	eachWord(theVocabulary().simplify(v.Text), func(w string) bool {
		words[w] = true
		return len(words) < maxQueryWords
	})
	return words
}

func shares(sentence string, words map[string]bool) (found bool) {
	eachWord(sentence, func(w string) bool {
		found = words[w]
		return !found
	})
	return found
}

// eachWord calls yield for every content word of a view's text until it is false.
func eachWord(text string, yield func(string) bool) {
	for i := 0; i < len(text); {
		r, size := utf8.DecodeRuneInString(text[i:])
		switch {
		case dense(r):
			next, n := utf8.DecodeRuneInString(text[i+size:])
			if dense(next) && !stopWord(text[i:i+size+n]) && !yield(text[i:i+size+n]) {
				return
			}
			i += size
		case wordRune(r):
			start := i
			for i < len(text) && wordRune(r) {
				i += size
				r, size = utf8.DecodeRuneInString(text[i:])
			}
			if w := text[start:i]; len(w) >= minWord && !stopWord(w) && !yield(stem(w)) {
				return
			}
		default:
			i += size
		}
	}
}

// stem takes off the ending of a plural, past or progressive form; it only has to
// give the same result for the forms of one word most of the time.
func stem(w string) string {
	for _, end := range [...]string{"'s", "ies", "ing", "es", "ed", "s", "e"} {
		if base, ok := strings.CutSuffix(w, end); ok && len(base) >= minWord {
			return base
		}
	}
	return w
}
