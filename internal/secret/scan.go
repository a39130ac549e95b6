package secret

import "strings"

const (
	bucketBits = 12 // must equal the constant of the same name in gen/main.go

	longRun   = 24  // bytes of a token run from which infixes and encodings are looked for
	maxDepth  = 2   // levels of base64 or hexadecimal that are scanned decoded
	maxTokens = 512 // findings kept of one text; a text with more is refused anyway
)

// A format is one row of formats.tsv.
type format struct {
	rule         string
	segs         []seg
	anchor, skip int8 // segment that is looked up, and the byte of it where a word starts
	check        check
	tier         uint8 // 2: short prefix, so the body must look random; 3: shorter still, so more is asked
}

// A seg is a literal, or min to max bytes of a set.
type seg struct {
	lit      string
	set      uint8
	min, max uint16
}

type infix struct {
	lit    string
	format uint16
}

// An entry leads from three hashed bytes to a format or a keyword.
type entry struct {
	index      uint16
	word, last bool
}

const (
	isDigit = 1 << iota
	isLower
	isUpper
	isJoin   // _ - ~: inside a token, between words
	isMark   // asks for a closer look
	isSlash  // inside a run of base64, and between the parts of a path
	isWide   // part of a character beyond ASCII
	isAlnum  = isDigit | isLower | isUpper
	isLetter = isLower | isUpper
)

// A scanner makes one pass over one text.
type scanner struct {
	text     string
	allow    func(string) bool
	found    []Finding
	depth    int  // levels of decoding above this text
	anchored bool // rules that need a keyword are off (joined view)

	decodedTo  int  // end of the last encoded run that was decoded
	fold, join bool // the text asks for the folded or the joined view
	space      int  // behind the last space or line end
	group      int  // length of the last group of token bytes before a space
	groups     int  // how many groups of that length came in a row
}

// run walks over the words of the text. tok is where the current run of token bytes
// (letters, digits, isJoin, isSlash and single plus signs) began.
func (s *scanner) run() {
	text := s.text
	tok := 0
	for i := 0; i < len(text); {
		k := class[text[i]]
		if k&isAlnum != 0 {
			end := s.word(i)
			if end < 0 {
				end = -end
				tok = end
			}
			i = end
			continue
		}
		if k&(isJoin|isSlash) != 0 || text[i] == '+' && i > tok && s.plus(i) {
			i++
			continue
		}
		if i-tok >= longRun {
			s.long(tok, i)
		}
		end := i + 1
		switch k {
		case isMark:
			end = max(end, s.mark(i, tok))
		case isWide:
			end = max(end, s.wide(i))
		}
		i, tok = end, end
	}
	if len(text)-tok >= longRun {
		s.long(tok, len(text))
	}
}

// plus reports that a plus sign behind a token byte may be part of base64.
func (s *scanner) plus(i int) bool {
	return i+1 < len(s.text) && class[s.text[i+1]]&isAlnum != 0
}

// wide looks at a character beyond ASCII and returns its end or that of a finding.
func (s *scanner) wide(i int) int {
	c := s.text[i]
	switch {
	case c < 0xC2:
		return i + 1
	case c >= 0xE3 && c <= 0xE9:
		// Kana and Han: keywords, and nothing that looks like ASCII.
	default:
		s.fold = s.fold || foldable(s.text, i)
	}
	if s.anchored {
		return i + 1
	}
	if end := s.lookup(i); end > i {
		return end
	}
	if c >= 0xE0 && c < 0xF0 {
		return min(i+3, len(s.text))
	}
	return i + 1
}

// word looks up the words of the run of letters and digits at i and returns its
// end, or the negated end of a finding.
func (s *scanner) word(i int) int {
	text, start := s.text, i
	if end := s.lookup(i); end > i {
		return -end
	}
	last := class[text[i]]
	for i++; i < len(text); i++ {
		k := class[text[i]]
		if k&isAlnum == 0 {
			break
		}
		if k == isUpper && last != isUpper {
			if end := s.lookup(i); end > i {
				return -end
			}
		}
		last = k
	}
	return s.suffix(start, i)
}

// longName is the longest run of letters and digits that is taken for a name.
const longName = 40

// suffix looks for a name that ends with a keyword inside a word ("PGPASSWORD",
// "mydbpassword") at the end of the run text[start:end], and returns end or the negated
// end of a finding.
func (s *scanner) suffix(start, end int) int {
	n := end - start
	if n < 6 || n > longName || s.anchored || end == len(s.text) {
		return end
	}
	switch s.text[end-1] | 0x20 {
	case 'd', 'n', 't', 'y':
	default:
		return end
	}
	for k := range suffixes {
		word := keywords[suffixes[k]].word
		at := end - len(word)
		if at <= start || !equalFold(s.text[at:end], word) || class[s.text[at]] == isUpper && class[s.text[at-1]] != isUpper {
			continue // lookup has tried it
		}
		if to, ok := s.keyword(&keywords[suffixes[k]], at); ok {
			return -to
		}
		return end
	}
	return end
}

// lookup tries the formats and keywords that can start at i and returns the end of a
// finding, or i.
func (s *scanner) lookup(i int) int {
	if i+3 > len(s.text) {
		return i
	}
	x := uint32(s.text[i]) | uint32(s.text[i+1])<<8 | uint32(s.text[i+2])<<16
	b := buckets[x*0x9E3779B1>>(32-bucketBits)]
	if b == 0 {
		return i
	}
	for ; ; b++ {
		e := entries[b]
		if !e.word {
			if end := s.format(&formats[e.index], i); end > i {
				return end
			}
		} else if k := &keywords[e.index]; k.matches(s.text[i:]) {
			if end, ok := s.keyword(k, i); ok {
				return end
			}
		}
		if e.last {
			return i
		}
	}
}

// formatAt returns the end of a format's token at i, or i.
func (s *scanner) formatAt(i int) int {
	if i+3 > len(s.text) {
		return i
	}
	x := uint32(s.text[i]) | uint32(s.text[i+1])<<8 | uint32(s.text[i+2])<<16
	b := buckets[x*0x9E3779B1>>(32-bucketBits)]
	for ; b != 0; b++ {
		if e := entries[b]; !e.word {
			if end := s.format(&formats[e.index], i); end > i {
				return end
			}
		}
		if entries[b].last {
			break
		}
	}
	return i
}

// mark looks at a byte that can begin a URL's user part, an escape or a split. It returns the end of a finding, or at most i.
func (s *scanner) mark(i, tok int) int {
	text := s.text
	switch c := text[i]; c {
	case ':':
		if strings.HasPrefix(text[i:], "://") {
			s.userinfo(i)
		}
	case '.':
		if end := s.discord(i); end > i {
			return end
		}
	case '\\', '&', '%':
		s.fold = s.fold || escaped(text[i:])
	case ' ', '\n':
		s.split(i)
	case '=':
		s.fold = s.fold || escaped(text[i:])
		s.join = s.join || i > tok && s.interrupted(i)
	case '"', '\'', '<':
		s.join = s.join || i > tok && s.interrupted(i)
	}
	return i
}

// split notes when the text may hold a token in pieces: groups of equal length in a
// row that are not words, or a fragment at a line end.
func (s *scanner) split(i int) {
	from := s.space
	s.space = i + 1
	if s.text[i] == ' ' {
		switch n := i - from; {
		case n == 0 || n > maxGroup:
			s.group, s.groups = 0, 0
		case n == s.group:
			s.groups++
			s.join = s.join || n*(s.groups+1) >= minJoined && odd(s.text[i-n*2-1:i])
		default:
			s.group, s.groups = n, 0
		}
		return
	}
	s.group, s.groups = 0, 0
	s.join = s.join || joinable(s.text, i)
}

// record keeps a finding unless its value is allowed or published, and returns
// end, so that the scan goes on behind the value either way.
func (s *scanner) record(rule string, start, end int) int {
	value := s.text[start:end]
	if published(value) || s.allow != nil && s.allow(value) {
		return end
	}
	if len(s.found) < maxTokens {
		s.found = append(s.found, Finding{rule, start, end - start})
	}
	return end
}

// format matches f at its lookup position i and returns the end of the token, or i.
func (s *scanner) format(f *format, i int) int {
	start, end, ok := f.match(s.text, i-int(f.skip))
	if !ok || !f.accepts(s.text[start:end]) {
		return i
	}
	if f.rule == "secret.aws-access-key-id" || f.rule == "secret.aws-temp-access-key-id" {
		s.nearAWS(end)
	}
	return s.record(f.rule, start, end)
}

// match returns the token around the anchor literal at pos.
func (f *format) match(text string, pos int) (start, end int, ok bool) {
	if pos < 0 || !strings.HasPrefix(text[pos:], f.segs[f.anchor].lit) {
		return 0, 0, false
	}
	start, end = pos, pos+len(f.segs[f.anchor].lit)
	for j := int(f.anchor) - 1; j >= 0; j-- {
		sg := &f.segs[j]
		if sg.lit != "" {
			if !strings.HasSuffix(text[:start], sg.lit) {
				return 0, 0, false
			}
			start -= len(sg.lit)
			continue
		}
		n := 0
		for n < int(sg.max) && start > 0 && setOf[text[start-1]]>>sg.set&1 != 0 {
			start--
			n++
		}
		if n < int(sg.min) {
			return 0, 0, false
		}
	}
	if start > 0 && class[text[start-1]]&isAlnum != 0 && class[text[start]]&isAlnum != 0 {
		return 0, 0, false
	}
	var tail *seg
	for j := int(f.anchor) + 1; j < len(f.segs); j++ {
		sg := &f.segs[j]
		if sg.lit != "" {
			if !strings.HasPrefix(text[end:], sg.lit) {
				return 0, 0, false
			}
			end += len(sg.lit)
			tail = nil
			continue
		}
		n := 0
		for n < int(sg.max) && end < len(text) && setOf[text[end]]>>sg.set&1 != 0 {
			end++
			n++
		}
		if n < int(sg.min) {
			return 0, 0, false
		}
		if n > 0 {
			tail = sg
		}
	}
	return start, end, ends(text, end, tail)
}

// ends reports whether a token may end before text[end]. tail is the set of its last
// byte, nil for a literal. One punctuation byte of the set may follow, as in emphasis
// ("_token_") or at the end of a sentence.
func ends(text string, end int, tail *seg) bool {
	if end == len(text) {
		return true
	}
	if class[text[end]]&isAlnum != 0 {
		return false
	}
	if tail == nil || setOf[text[end]]>>tail.set&1 == 0 || end+1 == len(text) {
		return true
	}
	return setOf[text[end+1]]>>tail.set&1 == 0
}

// accepts decides on a token that has the right shape.
func (f *format) accepts(token string) bool {
	switch f.check.verify(token) {
	case passed:
		return true
	case failed:
		if f.check == checkBase58 {
			return false
		}
	case unknown:
	}
	body := token
	if f.anchor == 0 {
		body = token[len(f.segs[0].lit):]
	}
	if placeholder(body) || oneCase(body) {
		return false
	}
	switch f.tier {
	case 1:
		return true
	case 3:
		return random(body)
	}
	s := shapeOf(body)
	return s.changes >= 2 && (s.digit > 0 || s.lower > 0 && s.upper > 0)
}
