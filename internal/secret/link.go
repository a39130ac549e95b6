package secret

import "strings"

type relation uint8

const (
	assigned relation = iota // = : => or a call argument
	spoken                   // "is", or words in between
	adjacent                 // only a space in between
)

// An operator leads from a name to its value; value is -1 when there is none.
type operator struct {
	value int
	how   relation
	lines int // line ends in between
}

var noOperator = operator{value: -1, how: assigned}

// maxLink is how far behind a name its value may begin when only marks and words of
// connectives stand in between.
const maxLink = 72

// operator reads what leads from an identifier to its value: signs of assignment, marks
// of Markdown, XML and JSON, words such as "is" and "changed to", line ends.
func (s *scanner) operator(n name) operator {
	text, p := s.text, n.end
	quoted := false
	for k := 0; p < len(text) && k < 3 && strings.IndexByte("\"'`*])", text[p]) >= 0; k++ {
		quoted = true
		p++
	}
	op := operator{value: p, how: adjacent}
	for gap := p; p < len(text) && p-n.end < maxLink; {
		switch c := text[p]; {
		case c == ' ' || c == '\t' || c == '\r':
			p++
		case c == '\n':
			if op.lines++; op.lines > 2 {
				return noOperator
			}
			p++
		case c == '=' || c == ':' || strings.HasPrefix(text[p:], "->"):
			for start := p; p < len(text) && p-start < 4 && strings.IndexByte("=:>-~", text[p]) >= 0; p++ {
				if text[p] == '-' && text[p-1] != '-' && !strings.HasPrefix(text[p:], "->") {
					break
				}
			}
			op.how = assigned
		case c == '|' && op.how == adjacent:
			return operator{value: p + 1, how: assigned}
		case c == '>' && op.how == adjacent && n.start > 0 && (text[n.start-1] == '<' || quoted):
			return operator{value: p + 1, how: assigned}
		case c == '*' && op.how == assigned, c == '{' && quoted && op.how == adjacent, c == ',' && quoted && named(text[p:]):
			p++
		case (c == ',' || c == '(') && op.how == adjacent && (quoted || c == '('):
			return s.argumentOf(p, p > gap)
		case c == '-' && p+1 < len(text) && text[p+1] == ' ' && p > gap && text[p-1] == ' ':
			p, op.how = p+2, spoken
		case c == '-' && op.lines > 0 && p+1 < len(text) && text[p+1] == ' ':
			p += 2 // an item of a list
		default:
			w, how := connective(text[p:])
			if fence := strings.HasPrefix(text[p:], "```") && op.how == assigned; fence {
				w, how = lineEnd(text, p)-p, spoken
			}
			if w == 0 {
				return s.reaches(op, p, gap)
			}
			p += w
			if op.how = min(op.how, how); how == assigned {
				op.lines = 0 // "value" on a line of its own
			}
		}
	}
	return noOperator
}

// reaches ends an operator at the value at p; gap is where the name with its marks ended.
func (s *scanner) reaches(op operator, p, gap int) operator {
	if op.value = p; op.how != adjacent {
		return op
	}
	rest := s.text[p:]
	if p > gap && (opensQuote(rest) > 0 || class[rest[0]] != isWide && rest[0] > ' ' && plausible(rest)) || class[s.text[gap]] == isWide && plausible(rest) {
		return op
	}
	return noOperator
}

// argumentOf reads a comma or an opening bracket at p behind a name: the value is the
// quoted string behind it, or what stands in the brackets of a sentence.
func (s *scanner) argumentOf(p int, spaced bool) operator {
	text := s.text
	q := p + 1
	for q < len(text) && text[q] == ' ' {
		q++
	}
	switch {
	case q < len(text) && strings.IndexByte("\"'`", text[q]) >= 0:
		return operator{value: q, how: assigned}
	case q < len(text) && text[p] == '(' && spaced:
		return operator{value: q, how: adjacent}
	}
	return noOperator
}

// named reports a comma with the member "value" behind it, as in lists of pairs
// ({"name": "X_TOKEN", "value": "..."}).
func named(rest string) bool {
	rest = strings.TrimLeft(rest, ", \t\r\n")
	if rest != "" && (rest[0] == '"' || rest[0] == '\'') {
		rest = rest[1:]
	}
	return len(rest) > 5 && equalFold(rest[:5], "value")
}

// inFront looks for a value that the sentence names behind it: "use x as the API key",
// "x is our new token". Only words may stand in between, and the value must hold
// capitals, small letters and digits.
//
// Origin: none; prose that names the value before the key.
func (s *scanner) inFront(k kind, n name) {
	text, p := s.text, n.start
	if k == kindKey && !qualifies(n.before) || k != kindKey && k != kindSecret && k != kindPassword {
		return
	}
	for range 6 {
		if p == 0 || text[p-1] != ' ' {
			return
		}
		end := p - 1
		for p = end; p > 0 && end-p < 12 && class[text[p-1]]&isLetter != 0; {
			p--
		}
		if w := text[p:end]; w == "" {
			return
		} else if w != "as" && w != "is" {
			continue
		}
		break
	}
	if p == 0 || text[p-1] != ' ' {
		return
	}
	end := p - 1
	for end > 0 && strings.IndexByte("\"'`*", text[end-1]) >= 0 {
		end--
	}
	start := end
	for start > 0 && end-start < maxUser && (urlSafe(text[start-1]) || strings.IndexByte("+/=", text[start-1]) >= 0) {
		start--
	}
	if start == end || len(s.found) > 0 && s.found[len(s.found)-1].Offset+s.found[len(s.found)-1].Length > start {
		return
	}
	v := text[start:end]
	if sh := shapeOf(v); sh.upper >= 2 && sh.lower >= 2 && sh.digit >= 2 && sh.best >= 16 && keyValue(v, true) {
		s.record("secret.assignment", start, end)
	}
}

// plausible reports whether the word at the front holds a digit, so that it may be a
// value and not the next word of a sentence.
func plausible(rest string) bool {
	for i := 0; i < len(rest) && rest[i] > ' ' && rest[i] < 0x80; i++ {
		if class[rest[i]] == isDigit {
			return true
		}
	}
	return false
}

// Words that may stand between a name and its value. Those of ASCII end at a word's
// end; the others need no space.
var (
	connectives = [...]string{
		"is", "was", "are", "be", "been", "now", "to", "as", "changed", "set", "updated", "rotated", "reset", "became", "becomes", "equals", "the", "new",
		"str", "string", "char", "const", "&str", "optional", "by", "als", "ist", "lautet", "jetzt", "est", "maintenant", "es", "ahora", "foi", "agora",
	}
	hanConnectives = [...]string{
		"是", "为", "為", "改成", "改为", "改為", "换成", "換成", "变成", "變成", "更新为", "更新成", "设为", "设成", "设置为", "现在", "已经", "已", "目前", "了", "：", "＝", "→", "⇒", "＞",
		"は", "が", "を", "는", "은", "이", "это", "теперь", "é", "“", "「", "（",
	}
)

// connective returns the length of a connective at the front, and how it connects; 0
// when there is none. "value" with a sign behind it is part of an assignment.
func connective(rest string) (int, relation) {
	if class[rest[0]] == isWide {
		for _, w := range hanConnectives {
			if strings.HasPrefix(rest, w) {
				if opensQuote(w) > 0 {
					return 0, adjacent // valueAt takes it
				}
				return len(w), spoken
			}
		}
		return 0, adjacent
	}
	if strings.HasPrefix(rest, "--") { // a flag between a name and its value
		end := 2
		for end < len(rest) && class[rest[end]]&(isLower|isJoin) != 0 && end < 24 {
			end++
		}
		if end > 3 && end < len(rest) && (rest[end] == ' ' || rest[end] == '=') {
			return end + 1, spoken
		}
		return 0, adjacent
	}
	quote := 0
	if rest[0] == '"' || rest[0] == '\'' {
		quote = 1
	}
	end := quote
	if end < len(rest) && rest[end] == '&' {
		end++
	}
	for end < len(rest) && class[rest[end]]&isLetter != 0 && end < 16 {
		end++
	}
	w := rest[quote:end]
	if len(w) >= 5 && (equalFold(w, "value") || equalFold(w, "default")) {
		p := skipSpace(rest, end+quote)
		if p < len(rest) && (rest[p] == '=' || rest[p] == ':') {
			return p + 1, assigned
		}
	}
	if w == "" || quote > 0 || end < len(rest) && strings.IndexByte(" :=\n", rest[end]) < 0 && class[rest[end]] != isWide {
		return 0, adjacent
	}
	if isOneOf(w, connectives[:]) {
		return end, spoken
	}
	return 0, adjacent
}

// verb returns the length of a word that says "is" at the front of rest, with the
// space behind it, or 0.
func verb(rest string) int {
	if rest == "" || strings.IndexByte("iwael\xE3\xE4\xE6\xE7\xEF\xD1", rest[0]) < 0 {
		return 0 // the first bytes of the words below
	}
	for _, w := range [...]string{"is ", "was ", "is: ", "are ", "als ", "ist ", "lautet ", "es ", "est ", "是", "为", "為", "：", "＝", "は", "это "} {
		if strings.HasPrefix(rest, w) {
			return len(w)
		}
	}
	return 0
}

// distant looks for "is", ":" or "=" up to 64 bytes behind the identifier, with only
// words in between: "the password for the data lake is x".
func (s *scanner) distant(p int) operator {
	text := s.text
	limit := min(len(text), p+64)
	for j := p; j < limit; j++ {
		c := text[j]
		switch {
		case c == ':' || c == '=':
			if j+1 < len(text) && (text[j+1] == ' ' || c == '=') && !between(text[p:j]) {
				return operator{value: j + 1, how: spoken}
			}
			return noOperator
		case c >= 0x80 && c < 0xC0 || c == '(' || c == ')' || c == '\'' || c == '/' || class[c]&(isAlnum|isJoin) != 0:
		case c == ' ' || c >= 0xC0:
			at := j
			if c == ' ' {
				at++
			}
			if w := verb(text[at:]); w > 0 {
				if between(text[p:j]) {
					return noOperator
				}
				return operator{value: at + w, how: spoken}
			}
		default:
			return noOperator
		}
	}
	return noOperator
}

// pair finds the password behind a user's name: "admin / x", "admin:x". The name is
// what was found in the password's place.
func (s *scanner) pair(start, end int) (int, int, bool) {
	text := s.text
	for end > start && strings.IndexByte(":/,", text[end-1]) >= 0 {
		end--
	}
	user := end
	for i := start; i < end; i++ {
		if strings.IndexByte(":/", text[i]) >= 0 {
			user = i
			break
		}
		if class[text[i]]&(isAlnum|isJoin) == 0 && text[i] != '.' && text[i] != '@' {
			return 0, 0, false
		}
	}
	if user == start || user-start > 40 || class[text[start]]&isLetter == 0 {
		return 0, 0, false
	}
	p := skipSpace(text, user)
	if p == len(text) || strings.IndexByte(":/,", text[p]) < 0 || strings.HasPrefix(text[p:], "//") {
		return 0, 0, false
	}
	from, to, _ := s.valueAt(kindPassword, p+1)
	return from, to, to > from && strongPassword(text[from:to])
}

// opensQuote returns the length of an opening quotation mark at the front, or 0.
func opensQuote(rest string) int {
	if rest == "" {
		return 0
	}
	switch rest[0] {
	case '"', '\'', '`':
		return 1
	}
	for _, q := range [...]string{"“", "‘", "「", "『", "《", "【"} {
		if strings.HasPrefix(rest, q) {
			return len(q)
		}
	}
	return 0
}

// maxValue is the longest value that a keyword can name; longer ones have a format
// or a structure.
const maxValue = 512

// valueAt returns the value at p, behind quotation marks, emphasis, a block scalar
// sign or an authentication scheme.
func (s *scanner) valueAt(k kind, p int) (start, end int, quoted bool) {
	text := s.text
	p = skipSpace(text, p)
	if p+1 < len(text) && (text[p] == '|' || text[p] == '>') && (text[p+1] == '\n' || text[p+1] == '-') {
		if nl := strings.IndexByte(text[p:min(len(text), p+4)], '\n'); nl >= 0 {
			p = skipSpace(text, p+nl+1)
		}
	}
	if p+1 < len(text) && strings.IndexByte("brfu", text[p]) >= 0 && (text[p+1] == '"' || text[p+1] == '\'') {
		p++
	}
	for n := 0; n < 3 && p < len(text) && (text[p] == '*' || text[p] == '('); n++ {
		p++
	}
	if k == kindPassword && p < len(text) && text[p] == '{' { // ODBC's {value}
		if shut := strings.IndexByte(text[p:min(len(text), p+maxUser)], '}'); shut > 1 && strings.IndexByte(text[p+1:p+shut], '{') < 0 && strings.IndexByte(text[p+1:p+shut], ' ') < 0 {
			return p + 1, p + shut, true
		}
	}
	quote := opensQuote(text[p:])
	mark := byte(0)
	if quote == 1 {
		mark = text[p]
	}
	p += quote
	for _, w := range [...]string{"bearer ", "token ", "bot ", "apikey "} {
		if len(text)-p > len(w) && equalFold(text[p:p+len(w)], w) {
			p = skipSpace(text, p+len(w))
			break
		}
	}
	start = p
	for p < len(text) && p-start <= maxValue && !stops(k, text, p, mark) {
		p++
	}
	for p > start && mark == 0 && strings.IndexByte(".,:!?)*", text[p-1]) >= 0 && (k != kindPassword || text[p-1] != '!' && text[p-1] != '?' && text[p-1] != '*') {
		p--
	}
	return start, p, quote > 0
}

func skipSpace(text string, p int) int {
	for p < len(text) && (text[p] == ' ' || text[p] == '\t') {
		p++
	}
	return p
}

// stops reports whether a value ends before text[p].
func stops(k kind, text string, p int, mark byte) bool {
	c := text[p]
	if c <= ' ' || c >= 0x7f || c == '`' {
		return true
	}
	if mark != 0 {
		return c == mark
	}
	if c == '"' || c == '\'' || c == '<' || c == ';' || c == '|' {
		return true
	}
	if c == '\\' && p+1 < len(text) && strings.IndexByte("nrt\"'", text[p+1]) >= 0 {
		return true
	}
	switch k {
	case kindPassword, kindPass:
		return c == ',' && (p+1 == len(text) || text[p+1] == ' ') || c == '&' && strings.IndexByte(text[p:min(len(text), p+24)], '=') > 0
	}
	return strings.IndexByte(",()[]{}>&\\", c) >= 0
}
