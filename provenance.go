package scribe

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"
)

// judgeTrust stamps the proposal: the minimum of the base that it edits and of what
// its author was shown. Words that the user said, verbatim, may stand above what
// else the author saw; nothing but the operator ever raises what is stored.
func judgeTrust(p *proposal, _ *world) []Finding {
	p.trust = p.who.ceiling
	if p.writes() && !p.who.hand && p.trust < UserVerified && p.verbatim() {
		p.trust = UserVerified
	}
	base := p.was.kind == active || p.was.kind == changed
	if wholeByHand := p.who.hand && p.cand.Text != ""; base && !wholeByHand {
		p.trust = min(p.trust, p.was.trust())
	}
	if p.writes() {
		p.notices = append(p.notices, shownNotice(p.trust)...)
	}
	return nil
}

// shownNotice says of a low trust what it means, so that nobody wonders where the
// memory is.
func shownNotice(t Trust) []Finding {
	const fix = "the operator can adopt it at a higher trust"
	switch {
	case t < ExternalTool:
		return []Finding{refuse("provenance.not-shown", Accepted, "", "stored at trust "+t.String()+", so it is counted and not shown to a model", fix)}
	case t < UserObserved:
		return []Finding{refuse("provenance.quoted", Accepted, "", "stored at trust "+t.String()+", so it is shown quoted, in a section of its own", fix)}
	}
	return nil
}

// verbatim reports whether everything that p puts into the room is the user's own
// words. It has to be added: a span of theirs that replaces other words says what the
// author wants. Where the author saw text from outside, a name that reads like a
// sentence is text too.
func (p *proposal) verbatim() bool {
	words, pure := p.text.inserted()
	if !pure {
		return false
	}
	if name := pathWords(p.path().String()); p.who.ceiling < UserObserved && p.was.kind == absent && !thingName(name) {
		words = append(words, "\n"+name+"\n"...)
	}
	return verbatim(words, p.who.user)
}

// A path of few short words names a thing; one of more can say something.
const (
	nameWords = 4  // of all its segments
	nameWord  = 24 // bytes of each
)

func thingName(words string) bool {
	fields := strings.Fields(words)
	for _, f := range fields {
		if len(f) > nameWord {
			return false
		}
	}
	return len(fields) <= nameWords
}

// The verbatim exception, in numbers: shorter spans say nothing about who meant
// them, and longer messages are pasted rather than typed.
const (
	verbatimWords = 3     // words of a span
	verbatimCJK   = 6     // or characters, for scripts without spaces
	pastedBytes   = 2_000 // a user's message above this counts as pasted
)

// verbatim reports whether every inserted line, less a list marker, is a span of
// one of the user's own messages. Fenced and quoted text, and messages that are too
// long to have been typed, are not the user's own words.
func verbatim(inserted []byte, user []string) bool {
	var own []string
	for _, msg := range user {
		if len(msg) <= pastedBytes {
			own = append(own, typed(msg))
		}
	}
	lines := 0
	for line := range bytes.Lines(inserted) {
		span := normalSpan(listItem(string(line)))
		if span == "" {
			continue
		}
		lines++
		if !longEnough(span) || !spanOf(span, own) {
			return false
		}
	}
	return lines > 0
}

// pasted reports whether any of the messages holds what the user did not type.
func pasted(user []string) bool {
	for _, msg := range user {
		if len(msg) > pastedBytes || typed(msg) != normalSpan(msg) {
			return true
		}
	}
	return false
}

// cutMark stands for what was cut out of a message, so that no span runs across it.
// It is not UTF-8, so no candidate can hold it.
const cutMark = "\xff"

// typed is the message less fenced and quoted lines, as one line of single spaces.
func typed(msg string) string {
	var b strings.Builder
	fence := ""   // the marker that opened the fence that we are in
	lazy := false // in a quote or an HTML block, which lasts to the next blank line
	blank := true // the line before was blank
	for line := range strings.Lines(msg) {
		whole := strings.TrimRight(line, " \t\r\n")
		t := strings.TrimSpace(listItem(strings.TrimSpace(whole)))
		mark := fenceMark(t)
		code := blank && whole != "" && (strings.HasPrefix(whole, "    ") || strings.HasPrefix(whole, "\t"))
		if blank = whole == ""; blank {
			lazy = false
		}
		lazy = lazy || fence == "" && (strings.HasPrefix(t, ">") || strings.HasPrefix(t, "<"))
		switch {
		case fence == "" && mark == "" && !lazy && !code:
			b.WriteString(strings.TrimSpace(whole) + " ")
			continue
		case fence == "":
			fence = mark
			blank = blank || code // indented code goes on
		case mark == t && strings.HasPrefix(mark, fence):
			fence = "" // as long as the opener at least, and nothing behind it (CommonMark 4.5)
		}
		b.WriteString(" " + cutMark + " ")
	}
	return normalSpan(b.String())
}

// fenceMark gives the run of backticks or tildes that a fence begins with.
func fenceMark(line string) string {
	for _, c := range []string{"`", "~"} {
		if rest := strings.TrimLeft(line, c); len(line)-len(rest) >= 3 {
			return line[:len(line)-len(rest)]
		}
	}
	return ""
}

func normalSpan(s string) string { return strings.Join(strings.Fields(s), " ") }

// listItem cuts one Markdown list marker off a line.
func listItem(line string) string {
	t := strings.TrimLeft(line, " \t")
	for _, m := range []string{"- ", "* ", "+ "} {
		if rest, ok := strings.CutPrefix(t, m); ok {
			return rest
		}
	}
	if i := strings.IndexFunc(t, func(c rune) bool { return c < '0' || c > '9' }); i > 0 && i <= 3 && strings.HasPrefix(t[i:], ". ") {
		return t[i+2:]
	}
	return t
}

func longEnough(span string) bool {
	if strings.Count(span, " ")+1 >= verbatimWords {
		return true
	}
	cjk := 0
	for _, c := range span {
		if unicode.In(c, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul) {
			cjk++
		}
	}
	return cjk >= verbatimCJK
}

// spanOf reports whether span stands in one of the messages, between word ends.
func spanOf(span string, messages []string) bool {
	for _, msg := range messages {
		for from := 0; ; {
			i := strings.Index(msg[from:], span)
			if i < 0 {
				break
			}
			i += from
			before, _ := utf8.DecodeLastRuneInString(msg[:i])
			after, _ := utf8.DecodeRuneInString(msg[i+len(span):])
			first, _ := utf8.DecodeRuneInString(span)
			last, _ := utf8.DecodeLastRuneInString(span)
			if !(spaced(before) && spaced(first)) && !(spaced(last) && spaced(after)) {
				return true
			}
			_, size := utf8.DecodeRuneInString(msg[i:])
			from = i + size
		}
	}
	return false
}

// spaced reports whether c belongs to a word of a script that puts spaces between
// words, so that a span must not begin or end beside it.
func spaced(c rune) bool {
	return c != utf8.RuneError && (unicode.IsLetter(c) || unicode.IsDigit(c)) &&
		!unicode.In(c, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar)
}
