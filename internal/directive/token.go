package directive

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

// token is a word, a dictionary word of a script without blanks, an address or a
// mark that matters. Offsets are bytes of the view, end exclusive.
type token struct {
	start, end int32
	set        set
	phrase     string // the phrase that it is, when it is more than a word
	negated    bool   // a negation stands directly before it
	head       bool   // among the first words of its sentence
	final      bool   // of a script whose languages put the verb last
}

const (
	maxDense   = 12 // runes of the longest dictionary word that is looked for
	maxGlued   = 32 // bytes of a word that may be two words without a blank
	headWords  = 2  // words that count as the head of a sentence
	denseChunk = 2  // unknown characters of a dense script that make one token
)

// dense reports whether a rune belongs to a script whose words are found by the
// dictionary: no blanks between words, or particles glued to them (Hangul).
func dense(r rune) bool {
	return r >= 0x2E80 && (unicode.Is(unicode.Han, r) || unicode.Is(unicode.Hiragana, r) || unicode.Is(unicode.Katakana, r) ||
		unicode.Is(unicode.Hangul, r) || r == 'ー')
}

func wordRune(r rune) bool {
	if r < utf8.RuneSelf {
		return 'a' <= r && r <= 'z' || '0' <= r && r <= '9' || r == '\''
	}
	return r == '’' || (unicode.IsLetter(r) || unicode.IsMark(r) || unicode.IsDigit(r)) && !dense(r)
}

// scanner cuts the text of a view into sentences of tokens, one at a time; the
// slice is reused, so that memory follows the longest sentence.
type scanner struct {
	voc    *vocabulary
	text   string
	at     int
	tokens []token
	plain  int // up to here there is no address, it has been looked for
}

// next returns the tokens of the next sentence that has any, and false at the end.
func (s *scanner) next() ([]token, bool) {
	s.tokens = s.tokens[:0]
	for s.at < len(s.text) {
		if c := s.text[s.at]; c < utf8.RuneSelf {
			if s.ascii(c) && len(s.tokens) > 0 {
				return s.finish(), true
			}
			continue
		}
		r, size := utf8.DecodeRuneInString(s.text[s.at:])
		switch {
		case r == '。' || r == '।' || r == '؟' || r == '…':
			s.at += size
			if len(s.tokens) > 0 {
				return s.finish(), true
			}
		case dense(r):
			s.dense()
		case wordRune(r):
			s.word()
		case r == '】' || r == '：' || r == '］':
			s.mark(size, cColon)
		case strings.ContainsRune("“”„«»「」『』《》", r):
			s.mark(size, cQuote)
		default:
			s.at += size
		}
	}
	return s.finish(), len(s.tokens) > 0
}

// ascii consumes what starts with the ASCII byte c and reports a sentence's end.
func (s *scanner) ascii(c byte) bool {
	switch {
	case 'a' <= c && c <= 'z' || '0' <= c && c <= '9':
		s.word()
	case c == '.' || c == '!' || c == '?':
		s.at++
		return c != '.' && s.at < len(s.text) && s.text[s.at] >= utf8.RuneSelf || s.blankAhead()
	case c == ';':
		s.at++
		return true
	case c == '\n':
		s.at++
		return s.lineStarts()
	case c == ':' || c == ']' || c == '>' || c == '|' || c == '`':
		s.mark(1, cColon)
	case strings.HasPrefix(s.text[s.at:], "<!--"):
		s.at += 4
		return true
	case c == '"':
		s.mark(1, cQuote)
	case c == '\'':
		s.mark(1, cQuote)
	case c == '\\':
		s.at++ // \n and \t of a quoted text part words
		if s.at < len(s.text) && strings.IndexByte("nrt", s.text[s.at]) >= 0 {
			s.at++
		}
	case c == '%' && s.at+2 < len(s.text) && (s.text[s.at+1] == '2' || s.text[s.at+1] == '0') && hex(s.text[s.at+2]):
		s.at += 3 // a percent-encoded blank or mark
	default:
		s.at++
	}
	return false
}

func hex(c byte) bool { return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' }

// blankAhead reports whether the mark that was read ends a sentence: the text, a
// blank or a closing mark follows.
func (s *scanner) blankAhead() bool {
	return s.at == len(s.text) || strings.IndexByte(" \t\r\n\"'`)]}>*.!?", s.text[s.at]) >= 0
}

// lineStarts reports whether a new block starts at the line: a blank line, a list
// marker, a heading, a quotation, a fence or a table row. Other line breaks are wrapped text.
func (s *scanner) lineStarts() bool {
	rest := strings.TrimLeft(s.text[s.at:min(len(s.text), s.at+16)], " \t\r")
	if rest == "" || strings.IndexByte("\n-*#>|+`", rest[0]) >= 0 {
		return true
	}
	digits := strings.TrimLeft(rest, "0123456789")
	return len(digits) < len(rest) && digits != "" && (digits[0] == '.' || digits[0] == ')')
}

func (s *scanner) mark(size int, m set) {
	s.push(s.at, s.at+size, m)
	s.at += size
}

func (s *scanner) push(start, end int, m set) {
	s.tokens = append(s.tokens, token{start: int32(start), end: int32(end), set: m})
}

// word consumes one word, or an address that starts there.
func (s *scanner) word() {
	if n := s.address(); n > 0 {
		kind := cDest
		if strings.HasSuffix(s.text[:s.at], "](") || strings.HasSuffix(s.text[:s.at], "<") {
			kind = cLinked
		}
		s.push(s.at, s.at+n, kind)
		s.at += n
		return
	}
	end := s.at
	for end < len(s.text) {
		r, size := rune(s.text[end]), 1
		if r >= utf8.RuneSelf {
			r, size = utf8.DecodeRuneInString(s.text[end:])
		}
		if !wordRune(r) {
			break
		}
		end += size
	}
	for end > s.at+1 && s.text[end-1] == '\'' {
		end--
	}
	if end == s.at {
		end++ // a lone apostrophe
	}
	if s.spelled() {
		return
	}
	s.lookUp(s.at, end)
	s.at = end
}

// lookUp enters the word at [start,end): as it is, or as two words that were
// glued together, or joined with an unknown word before it ("pre-serve").
func (s *scanner) lookUp(start, end int) {
	w := s.text[start:end]
	m, known := s.voc.words[w]
	if (w == "memory" || w == "memories") && s.joined(start, end) { // a directory or an identifier
		m = 0
	}
	if !known {
		if base := strings.TrimSuffix(strings.TrimSuffix(w, "'s"), "’s"); base != w {
			m, known = s.voc.words[base]
		}
	}
	if !known {
		if n := len(s.tokens); n > 0 {
			if last := &s.tokens[n-1]; last.set == 0 && int(last.end)+1 == start {
				var buf [maxGlued]byte
				joined := append(append(buf[:0], s.text[last.start:last.end]...), w...)
				if j, ok := s.voc.words[string(joined)]; ok && len(joined) >= 5 {
					last.set, last.end = j, int32(end)
					return
				}
			}
		}
		if i, a, b := s.split(w); i > 0 {
			s.push(start, start+i, a)
			s.push(start+i, end, b)
			return
		}
	}
	s.push(start, end, m)
}

// joined reports whether a path or identifier mark touches the word.
func (s *scanner) joined(start, end int) bool {
	return start > 0 && strings.IndexByte("/_-.", s.text[start-1]) >= 0 ||
		end < len(s.text) && (strings.IndexByte("/_-", s.text[end]) >= 0)
}

// split finds a word of two known words, each of at least four letters.
func (s *scanner) split(w string) (at int, a, b set) {
	if len(w) < 10 || len(w) > maxGlued || strings.IndexFunc(w, func(r rune) bool { return r < 'a' || r > 'z' }) >= 0 {
		return 0, 0, 0
	}
	for i := 4; i <= len(w)-4; i++ {
		if a := s.voc.words[w[:i]]; a != 0 {
			if b := s.voc.words[w[i:]]; b != 0 {
				return i, a, b
			}
		}
	}
	return 0, 0, 0
}

// spelled consumes a run of single letters with one mark or blank between them
// ("i g n o r e"); a wider gap parts words.
func (s *scanner) spelled() bool {
	var buf [4 * maxGlued]byte
	letters, end, start := buf[:0], s.at, s.at
	i := s.at
	count := 0
	for i < len(s.text) && len(letters) < cap(buf)-1 {
		c := s.text[i]
		if c < 'a' || c > 'z' || i+1 < len(s.text) && wordByte(s.text[i+1]) {
			break
		}
		letters = append(letters, c)
		count++
		end = i + 1
		i++
		gap := 0
		for i < len(s.text) && s.text[i] < utf8.RuneSelf && !wordByte(s.text[i]) && s.text[i] != '\n' && gap < 3 {
			i, gap = i+1, gap+1
		}
		if gap != 1 {
			break
		}
	}
	if count < 4 {
		return false
	}
	s.push(start, end, s.voc.words[string(letters)])
	s.at = end
	return true
}

func wordByte(c byte) bool { return 'a' <= c && c <= 'z' || '0' <= c && c <= '9' }

// dense consumes a dictionary word, or up to denseChunk unknown characters. Unknown
// kana and Hangul are particles and endings for the most part and make no token.
func (s *scanner) dense() {
	start, unknown, ideographs := s.at, 0, false
	for s.at < len(s.text) && unknown < denseChunk {
		r, size := utf8.DecodeRuneInString(s.text[s.at:])
		if !dense(r) {
			break
		}
		if n, m := s.longest(r); n > 0 {
			if unknown > 0 && ideographs {
				s.push(start, s.at, 0)
			}
			s.push(s.at, s.at+n, m)
			s.tokens[len(s.tokens)-1].final = !unicode.Is(unicode.Han, r)
			s.at += n
			return
		}
		ideographs = ideographs || unicode.Is(unicode.Han, r)
		s.at += size
		unknown++
	}
	if ideographs {
		s.push(start, s.at, 0)
	}
}

// longest finds the longest dictionary word at the current place.
func (s *scanner) longest(first rune) (n int, m set) {
	limit := min(s.voc.longest[first], maxDense)
	if limit == 0 {
		return 0, 0
	}
	i := s.at
	for k := 0; k < limit && i < len(s.text); k++ {
		_, size := utf8.DecodeRuneInString(s.text[i:])
		i += size
		if found, ok := s.voc.words[s.text[s.at:i]]; ok {
			n, m = i-s.at, found
		}
	}
	return n, m
}

// finish merges phrases and marks negations and heads.
func (s *scanner) finish() []token {
	out := s.tokens[:0]
	for i := 0; i < len(s.tokens); {
		t := s.tokens[i]
		n := 1
		for _, p := range s.voc.phrases[s.text[t.start:t.end]] {
			if i+p.more < len(s.tokens) && s.says(i, p.name) {
				t.set, t.phrase = p.set, p.name
				t.end = s.tokens[i+p.more].end
				n = p.more + 1
				break
			}
		}
		i += n
		out = append(out, t)
	}
	for i := range out {
		t := &out[i]
		t.negated = i > 0 && out[i-1].set&cNeg != 0 && !strings.HasSuffix(s.text[:out[i-1].end], "stop") ||
			i > 1 && out[i-2].set&cNeg != 0 && s.filler(out[i-1])
		if t.negated {
			t.set &^= affirmed
		}
	}
	heads(out)
	return out
}

// heads marks the first words of a sentence and those after a mark that starts a
// clause.
func heads(tokens []token) {
	words := 0
	for i := range tokens {
		t := &tokens[i]
		if t.set&(cQuote|cColon) != 0 {
			words = min(words, headWords-1)
			continue
		}
		t.head = words < headWords
		words++
	}
}

// says reports whether the tokens from i on are the words of a phrase, of which there are
// no more than tokens.
func (s *scanner) says(i int, phrase string) bool {
	for w := range strings.SplitSeq(phrase, " ") {
		if t := s.tokens[i]; s.text[t.start:t.end] != w {
			return false
		}
		i++
	}
	return true
}

// filler are the words that may stand between a negation and what it negates.
func (s *scanner) filler(t token) bool {
	switch s.text[t.start:t.end] {
	case "be", "ever", "you", "to", "blindly", "simply":
		return true
	}
	return false
}
