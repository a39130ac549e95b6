package secret

import "strings"

// argument finds a token in a quoted first argument ("NewClient("x")") at p. Nothing but
// the call says that it is one, so it must hold capitals, small letters and digits.
//
// Origin: none; clients of many services take the token first.
func (s *scanner) argument(p int) (int, bool) {
	text := s.text
	if p+2 >= len(text) || text[p] != '(' || opensQuote(text[p+1:]) != 1 {
		return 0, false
	}
	start := p + 2
	end := start
	for end < len(text) && end-start < 512 && !stops(kindSecret, text, end, text[p+1]) {
		end++
	}
	if end == start || end == len(text) || text[end] != text[p+1] {
		return 0, false
	}
	if e := s.formatAt(start); e > start {
		return e, true
	}
	v := text[start:end]
	if sh := shapeOf(v); sh.upper < 2 || sh.lower < 2 || sh.digit < 2 || sh.best < 16 || !keyValue(v, true) {
		return 0, false
	}
	return s.record("secret.assignment", start, end), true
}

// maxRows bounds the rows of a table that are looked at.
const maxRows = 32

// table finds the values in the column of a Markdown table that a keyword heads. The
// scan goes on behind the keyword: other columns may hold more.
//
// Origin: GitHub Flavored Markdown, "Tables (extension)".
func (s *scanner) table(k *keyword, n name) (int, bool) {
	text := s.text
	lineStart := strings.LastIndexByte(text[max(0, n.start-1024):n.start], '\n') + 1 + max(0, n.start-1024)
	column := strings.Count(text[lineStart:n.start], "|")
	p := lineEnd(text, n.end)
	if column == 0 || p >= len(text) || !separator(text[p+1:lineEnd(text, p+1)]) {
		return 0, false
	}
	p = lineEnd(text, p+1)
	found := false
	for row := 0; row < maxRows && p < len(text); row++ {
		line := p + 1
		p = lineEnd(text, line)
		cell, ok := cellAt(text[line:p], column)
		if !ok {
			break
		}
		start, end, _ := s.valueAt(k.kind, line+cell)
		if start == end {
			continue
		}
		v := text[start:end]
		switch k.kind {
		case kindPassword, kindPass:
			if passwordValue(v, true) {
				s.record("secret.password", start, end)
				found = true
			}
		default:
			if s.formatAt(start) == start && keyValue(v, true) && !shapeOf(v).hex {
				s.record("secret.assignment", start, end)
				found = true
			}
		}
	}
	return n.end, found
}

// lineEnd returns the offset of the line end at or after p, or the text's length.
func lineEnd(text string, p int) int {
	if p > len(text) {
		return len(text)
	}
	if nl := strings.IndexByte(text[p:], '\n'); nl >= 0 {
		return p + nl
	}
	return len(text)
}

// separator reports the line under a table's head.
func separator(line string) bool {
	return strings.Contains(line, "--") && strings.Trim(line, "|-: \t\r>") == ""
}

// cellAt returns the offset in the line of the text behind the column-th bar.
func cellAt(line string, column int) (int, bool) {
	at := 0
	for ; column > 0; column-- {
		bar := strings.IndexByte(line[at:], '|')
		if bar < 0 {
			return 0, false
		}
		at += bar + 1
	}
	return at, at < len(line)
}

// flags are the flags with which programs take a password on the command line. A
// value may follow at once, behind a space, or, with a user, behind a sign.
var flags = [...]struct {
	program, flag string
	sign          byte
}{
	{"mysql", " -p", 0},
	{"mysqldump", " -p", 0},
	{"mariadb", " -p", 0},
	{"sshpass", " -p", 0},
	{"docker", " -p", 0},
	{"podman", " -p", 0},
	{"helm", " -p", 0},
	{"redis", " -a", 0},
	{"mongo", " -p", 0},
	{"mongosh", " -p", 0},
	{"smbclient", " -U", '%'},
	{"ldapsearch", " -w", 0},
}

// command finds the password on the line of a program that takes one as a flag. The
// scan goes on behind the program's name.
//
// Origin: the manual of each program in flags.
func (s *scanner) command(k *keyword, i int) (int, bool) {
	line := s.text[i:min(len(s.text), i+512)]
	if nl := strings.IndexByte(line, '\n'); nl >= 0 {
		line = line[:nl]
	}
	for _, f := range flags {
		if f.program != k.word {
			continue
		}
		at := strings.Index(line, f.flag)
		if at < 0 {
			continue
		}
		p := at + len(f.flag)
		if p < len(line) && line[p] == ' ' {
			p++
		}
		if f.sign != 0 {
			sign := strings.IndexByte(line[p:], f.sign)
			if sign < 0 || strings.IndexByte(line[p:p+sign], ' ') >= 0 {
				continue
			}
			p += sign + 1
		}
		start, end, quoted := s.valueAt(kindPassword, i+p)
		if v := s.text[start:end]; end > start && s.formatAt(start) == start && (quoted && passwordValue(v, false) || strongPassword(v)) {
			s.record("secret.password", start, end)
		}
	}
	return 0, false
}
