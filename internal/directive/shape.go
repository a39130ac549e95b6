package directive

import "strings"

// A shape is an instruction by its form alone, in any language: a mark that opens
// a role, a command, markup that runs. One without a hint is a finding by itself.
type shape struct {
	text string // lower case
	tier Tier   // of the finding, when hint is ""
	hint string // name of a hint that counts together with others
}

// roleMarks are found where a '<', '[', '#' or '`' stands. Chat templates' own
// tokens have no business in a memory; tags and headings also mark up documents.
// Origin: ChatML, Llama 2 and 3 templates; forged headers of delimiter attacks.
func roleMarks() []shape {
	return []shape{
		{"<|im_start|>", Strong, ""},
		{"<|im_end|>", Strong, ""},
		{"<|system|>", Strong, ""},
		{"<|user|>", Strong, ""},
		{"<|assistant|>", Strong, ""},
		{"<|endoftext|>", Strong, ""},
		{"<|start_header_id|>", Strong, ""},
		{"<|eot_id|>", Strong, ""},
		{"<<sys>>", Strong, ""},
		{"[inst]", Strong, ""},
		{"[/inst]", Strong, ""},
		{"<system>", 0, "role-tag"},
		{"</system>", 0, "role-tag"},
		{"<system ", 0, "role-tag"},
		{"<important>", 0, "role-tag"},
		{"<critical>", 0, "role-tag"},
		{"<instructions>", 0, "role-tag"},
		{"<hidden", 0, "role-tag"},
		{"[system]", 0, "role-tag"},
		{"[system ", 0, "role-tag"},
		{"[system.", 0, "role-tag"},
		{"[system_", 0, "role-tag"},
		{"[system-", 0, "role-tag"},
		{"[admin", 0, "role-tag"},
		{"[user_memory", 0, "role-tag"},
		{"```system", 0, "role-tag"},
		{"### instruction", 0, "role-tag"},
		{"### system", 0, "role-tag"},
	}
}

// commands are found anywhere. A line to install a program is
// one too: piping a download into a shell is worth a flag wherever it stands.
// Origin: reverse shells, encoded commands and pipes of skill and tool payloads.
func commands() []shape {
	return []shape{
		{"| sh", Weak, ""},
		{"| bash", Weak, ""},
		{"|bash", Weak, ""},
		{"/dev/tcp/", Weak, ""},
		{"powershell -enc", Weak, ""},
		{"powershell -ec ", Weak, ""},
		{"powershell -e ", Weak, ""},
		{"eval(atob(", Weak, ""},
		{"base64_decode(", Weak, ""},
		{"rm -rf / ", Weak, ""},
		{"--no-preserve-root", Weak, ""},
		{"169.254.169.254", Weak, ""},
		{"' or '1'='1", Weak, ""},
		{"rm -rf /", 0, "command"},
		{"os.system(", 0, "command"},
		{"child_process", 0, "command"},
		{"drop table", 0, "command"},
		{"drop database", 0, "command"},
		{"truncate table", 0, "command"},
		{"/dev/zero", 0, "command"},
		{"/etc/passwd", 0, "secret-file"},
		{"/.ssh/id_", 0, "secret-file"},
		{".aws/credentials", 0, "secret-file"},
		{"-----begin", 0, "key-block"},
		{"exec(compile(", Weak, ""},
		{"import socket,", Weak, ""},
		{"child_process').exec", Weak, ""},
		{"child_process\").exec", Weak, ""},
		{"begin hidden", 0, "role-tag"},
		{"begin system", 0, "role-tag"},
		{"end system", 0, "role-tag"},
	}
}

// anchor is a command with the byte that it is looked for by, and the place of it.
type anchor struct {
	shape
	at int
}

// rareFirst orders the bytes of commands from rare to frequent ones in prose.
const rareFirst = "|(_'\",/=-.0123456789:;)zqjxkvbywgpfmucldrhsnioate "

// anchors sorts the commands by their rarest byte: one pass over a text then meets
// few candidates.
func anchors(list []shape) (byByte [128][]anchor) {
	for _, c := range list {
		at := 0
		for i := range len(c.text) {
			if strings.IndexByte(rareFirst, c.text[i]) < strings.IndexByte(rareFirst, c.text[at]) {
				at = i
			}
		}
		b := c.text[at]
		byByte[b] = append(byByte[b], anchor{c, at})
	}
	return byByte
}

// shapes reports the shapes that start in the view's bytes [from,to).
func (s *survey) shapes(from, to int) {
	t := s.view.Text
	called := false // the sentence was looked at for arguments
	for i := from; i < to; i++ {
		c := t[i]
		if c >= 128 {
			continue
		}
		switch c {
		case '<', '[', '#', '`':
			s.shapeAt(i)
		case '=':
			if !called && argument(t[:to], i) {
				called = true
				if !strings.ContainsAny(t[from:to], "`<") { // code that is shown, not called
					s.hint(s.book.classes["argument"], i, i+1)
				}
			}
		}
		for _, a := range s.book.commands[c] {
			if start := i - a.at; start >= from && strings.HasPrefix(t[start:], a.text) && !runsOn(t[start:], len(a.text)) {
				s.shape("directive.payload", a.shape, start)
			}
		}
	}
}

// runsOn reports whether a text that starts with n bytes of a pipe goes on with the
// same word: "| sh" is not in a table's "| SHA-2".
func runsOn(s string, n int) bool {
	return s[0] == '|' && n < len(s) && wordByte(s[n])
}

func (s *survey) shapeAt(i int) {
	t := s.view.Text
	for _, m := range s.book.roles {
		if strings.HasPrefix(t[i:], m.text) {
			s.shape("directive.role-tag", m, i)
			break
		}
	}
	if n := leakyLink(t[i:]); n > 0 {
		s.report("directive.payload", "link with a place for data", Strong, i, i+n)
	}
	if n := activeTag(t[i:]); n > 0 {
		s.report("directive.payload", "tag that runs code", Weak, i, i+n)
	}
}

func (s *survey) shape(rule string, x shape, at int) {
	if x.hint == "" {
		s.report(rule, x.text, x.tier, at, at+len(x.text))
	} else {
		s.hint(s.book.classes[x.hint], at, at+len(x.text))
	}
}

// argument reports whether the '=' at i gives an argument its value: name='x',
// flag=true.
func argument(s string, i int) bool {
	if i == 0 || !wordByte(s[i-1]) {
		return false
	}
	rest := s[i+1:]
	if strings.HasPrefix(rest, "'http") || strings.HasPrefix(rest, "\"http") {
		return false // markup
	}
	return strings.HasPrefix(rest, "'") || strings.HasPrefix(rest, "\"") || strings.HasPrefix(rest, "true") || strings.HasPrefix(rest, "false")
}

// The most bytes that a link's label and a tag may have before their mark.
const (
	maxLabel = 200
	maxTag   = 160
)

// leakyLink returns the length of a Markdown link or image whose address has a
// place to fill with data: [x](https://h.invalid/?q=[DATA]). An image of this kind
// is fetched without a click (Rehberger 2023); spikee has it in many languages.
func leakyLink(s string) int {
	if s[0] != '[' {
		return 0
	}
	i := strings.Index(s[:min(len(s), maxLabel)], "](http")
	if i < 0 {
		return 0
	}
	query := false
	for end := i + 2; end < len(s) && end < i+maxAddress && s[end] != ')' && s[end] > ' '; end++ {
		switch s[end] {
		case '?', '=':
			query = true
		case '[', '{', '$':
			if query {
				return end + 1
			}
		}
	}
	return 0
}

// activeTag returns the length of a tag up to an attribute that runs code.
func activeTag(s string) int {
	if s[0] != '<' {
		return 0
	}
	head := s[:min(len(s), maxTag)]
	if i := strings.IndexByte(head, '>'); i > 0 {
		head = head[:i]
	}
	for _, m := range [...]string{"onerror=", "onload=", "onclick=", "javascript:"} {
		if i := strings.Index(head, m); i > 0 {
			return i + len(m)
		}
	}
	return 0
}
