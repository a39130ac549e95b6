package memtool

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func yes(string) bool { return true }
func no(string) bool  { return false }

const shows = "The memory file has been edited. Here is the snippet showing the change (with line numbers):\n"

func TestReplace(t *testing.T) {
	for _, tt := range []struct{ name, text, old, new, out, snippet string }{
		{"context", "one\ntwo\nthree\nfour\nfive\nsix\n", "four", "FOUR", "one\ntwo\nthree\nFOUR\nfive\nsix\n", "     2\ttwo\n     3\tthree\n     4\tFOUR\n     5\tfive\n     6\tsix"},
		{"top", "one\ntwo", "one", "1", "1\ntwo", "     1\t1\n     2\ttwo"},
		{"lines", "# T\n- x\n- y\n", "- x\n- y", "- z", "# T\n- z\n", "     1\t# T\n     2\t- z\n     3\t"},
		{"longer", "a\nb", "b", "c\nd\ne\nf", "a\nc\nd\ne\nf", "     1\ta\n     2\tc\n     3\td\n     4\te"},
		{"deletes", "left out right", " out", "", "left right", "     1\tleft right"},
		{"deletes all", "gone", "gone", "", "", "     1\t"},
		{"literal", "cost: N", "N", `$1 $& \1 %s`, `cost: $1 $& \1 %s`, `     1	cost: $1 $& \1 %s`},
		{"crlf", "a\r\nb\r\nc\r\n", "b", "B", "a\r\nB\r\nc\r\n", "     1\ta\r\n     2\tB\r\n     3\tc\r\n     4\t"},
		{"separators", "p\u2028q\vr\fs\n", "r", "R", "p\u2028q\vR\fs\n", "     1\tp\u2028q\vR\fs\n     2\t"},
		{"not UTF-8", "\xff\xfe!", "!", "?", "\xff\xfe?", "     1\t\xff\xfe?"},
		{"same", "keep", "keep", "keep", "keep", "     1\tkeep"},
	} {
		result, out, err := Replace("/memories/t.md", tt.text, tt.old, tt.new, no)
		if err != nil || out != tt.out || result != shows+tt.snippet {
			t.Errorf("%s: got %q, %q, %v", tt.name, out, result, err)
		}
	}
}

func TestReplaceRefuses(t *testing.T) {
	long, longer := strings.Repeat("z", 200), strings.Repeat("z", 201)
	many := strings.Repeat("k\n", 60)
	fifty := make([]string, 50)
	for i := range fifty {
		fifty[i] = fmt.Sprint(i + 1)
	}
	for _, tt := range []struct {
		text, old string
		clean     func(string) bool
		kind      Kind
		want      string
	}{
		{"t", "u", yes, NoMatch, "No replacement was performed, old_str `u` did not appear verbatim in /memories/t.md."},
		{"t", "u", no, NoMatch, "No replacement was performed, old_str did not appear verbatim in /memories/t.md."},
		{"t", "u", nil, NoMatch, "No replacement was performed, old_str did not appear verbatim in /memories/t.md."},
		{"a\r\nb", "a\nb", no, NoMatch, "No replacement was performed, old_str did not appear verbatim in /memories/t.md."},
		{"t", long, yes, NoMatch, "No replacement was performed, old_str `" + long + "` did not appear verbatim in /memories/t.md."},
		{"t", longer, yes, NoMatch, "No replacement was performed, old_str did not appear verbatim in /memories/t.md."},
		{"go\nno\ngo\n", "go", yes, Multiple, "No replacement was performed. Multiple occurrences of old_str `go` in lines: 1, 3. Please ensure it is unique"},
		{"go\nno\ngo\n", "go", no, Multiple, "No replacement was performed. Multiple occurrences of old_str in lines: 1, 3. Please ensure it is unique"},
		{"\ngo go", "go", no, Multiple, "No replacement was performed. Multiple occurrences of old_str in lines: 2. Please ensure it is unique"},
		{"nnn", "nn", no, Multiple, "No replacement was performed. Multiple occurrences of old_str in lines: 1. Please ensure it is unique"},
		{"a\nb\na\nb\na\nb", "a\nb\na", no, Multiple, "No replacement was performed. Multiple occurrences of old_str in lines: 1, 3. Please ensure it is unique"},
		{"x\n\n\n", "\n", no, Multiple, "No replacement was performed. Multiple occurrences of old_str in lines: 1, 2, 3. Please ensure it is unique"},
		{many, "k", no, Multiple, "No replacement was performed. Multiple occurrences of old_str in lines: " + strings.Join(fifty, ", ") + " and more. Please ensure it is unique"},
	} {
		result, out, err := Replace("/memories/t.md", tt.text, tt.old, "NEW", tt.clean)
		if kindOf(err) != tt.kind || err.Error() != tt.want || result != "" || out != "" {
			t.Errorf("%.20q in %.20q: got %v, want %s", tt.old, tt.text, err, tt.want)
		}
	}
	if _, _, err := Replace("p", "text", "", "x", yes); kindOf(err) != BadArgs {
		t.Errorf("empty old: %v", err)
	}
}

func TestReplaceAsksOnlyForShortText(t *testing.T) {
	asked := func(string) bool { t.Error("clean was asked"); return true }
	_, _, _ = Replace("p", "one", "one", "two", asked)
	_, _, _ = Replace("p", "one", strings.Repeat("q", maxEcho+1), "two", asked)
}

func TestInsert(t *testing.T) {
	for _, tt := range []struct {
		text string
		line int
		ins  string
		want string
	}{
		{"", 0, "first", "first\n"},
		{"b\n", 0, "a", "a\nb\n"},
		{"a\nc\n", 1, "b\n", "a\nb\nc\n"},
		{"a\nb\n", 2, "c", "a\nb\nc\n"},
		{"a\nb", 2, "c", "a\nb\nc\n"},
		{"a\nb", 1, "x", "a\nx\nb"},
		{"a\n", 1, "b\n\n\n", "a\nb\n\n\n"},
		{"a\nb\n", 1, "", "a\n\nb\n"},
		{"a\nb\n", 1, "\n", "a\n\nb\n"},
		{"a\r\nb\r\n", 1, "x\r\n", "a\r\nx\r\nb\r\n"},
		{"a\r\nb", 2, "x", "a\r\nb\nx\n"},
		{"a\rb\u2029c\x85d\n", 1, "x", "a\rb\u2029c\x85d\nx\n"},
		{"\n\n", 1, "x", "\nx\n\n"},
	} {
		got, err := Insert("/memories/t.md", tt.text, tt.line, tt.ins)
		if got != tt.want || err != nil {
			t.Errorf("%q at %d: got %q %v, want %q", tt.text, tt.line, got, err, tt.want)
		}
	}
	for _, tt := range []struct {
		text string
		line int
		says string
	}{
		{"", 1, "1. It should be within the range of lines of the file: [0, 0]"},
		{"a\nb\n", 3, "3. It should be within the range of lines of the file: [0, 2]"},
		{"a\nb", 3, "3. It should be within the range of lines of the file: [0, 2]"},
		{"a\n", -1, "-1. It should be within the range of lines of the file: [0, 1]"},
	} {
		_, err := Insert("/memories/t.md", tt.text, tt.line, "x")
		want := "Error: Invalid `insert_line` parameter: " + tt.says
		if kindOf(err) != BadLine || err.Error() != want {
			t.Errorf("%q at %d: got %v, want %s", tt.text, tt.line, err, want)
		}
	}
}

// smallText makes texts in which separators and repetitions are likely.
func smallText() *rapid.Generator[string] {
	return rapid.OneOf(
		rapid.StringMatching(`[ab\r\n]{0,30}`),
		rapid.StringOfN(rapid.RuneFrom([]rune("ab\n\r\f\v\u2028\u0085é中\x00")), 0, 40, -1),
		rapid.String(),
	)
}

func checkReplace(t interface {
	Fatalf(string, ...any)
}, text, old, new string,
) {
	_, out, err := Replace("p", text, old, new, no)
	n := 0
	for i := 0; old != "" && i+len(old) <= len(text); i++ {
		if text[i:i+len(old)] == old {
			n++
		}
	}
	want := map[bool]Kind{true: Multiple, false: NoMatch}[n > 1]
	if old == "" {
		want = BadArgs
	}
	if n != 1 {
		if kindOf(err) != want {
			t.Fatalf("%d occurrences: got %v, want %s", n, err, want)
		}
		return
	}
	at := strings.Index(text, old)
	if err != nil || out != text[:at]+new+text[at+len(old):] {
		t.Fatalf("got %q %v", out, err)
	}
}

func checkInsert(t interface {
	Fatalf(string, ...any)
}, text, ins string, line int,
) {
	lines := strings.SplitAfter(text, "\n")
	if lines[len(lines)-1] == "" {
		lines = lines[:len(lines)-1]
	}
	out, err := Insert("p", text, line, ins)
	if line < 0 || line > len(lines) {
		if kindOf(err) != BadLine {
			t.Fatalf("line %d of %d: got %v", line, len(lines), err)
		}
		return
	}
	head, tail := strings.Join(lines[:line], ""), strings.Join(lines[line:], "")
	if head != "" && !strings.HasSuffix(head, "\n") {
		head += "\n"
	}
	if !strings.HasSuffix(ins, "\n") {
		ins += "\n"
	}
	if err != nil || out != head+ins+tail {
		t.Fatalf("got %q %v, want %q", out, err, head+ins+tail)
	}
}

// checkView holds the numbered text against the lines, and a cut view against
// what its notice says.
func checkView(t interface {
	Fatalf(string, ...any)
}, text string, from, to int,
) {
	got, err := View("p", text, &[2]int{from, to})
	if err != nil {
		t.Fatalf("%v", err)
	}
	if n := utf8.RuneCountInString(got); n > MaxView {
		t.Fatalf("%d characters", n)
	}
	lines := strings.Split(text, "\n")
	first, last := max(from, 1), min(to, len(lines))
	if to == -1 {
		last = len(lines)
	}
	body := strings.TrimPrefix(got, "Here's the content of p with line numbers:")
	for n := first; n <= last; n++ {
		want := fmt.Sprintf("\n%6d\t%s", n, lines[n-1])
		if strings.HasPrefix(body, want) {
			body = body[len(want):]
			continue
		}
		notice := fmt.Sprintf("\n[cut: a view shows at most 16,000 characters; continue with view_range [%d, %d]]", n, last)
		if body != notice && !(n == first && strings.Contains(body, fmt.Sprintf("the rest of line %d,", n))) {
			t.Fatalf("line %d: %q", n, body)
		}
		return
	}
	if body != "" {
		t.Fatalf("left over: %q", body)
	}
}

func TestProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text, a, b := smallText().Draw(t, "text"), smallText().Draw(t, "a"), smallText().Draw(t, "b")
		if text != "" && rapid.Bool().Draw(t, "cut from text") {
			i := rapid.IntRange(0, len(text)-1).Draw(t, "i")
			a = text[i:rapid.IntRange(i+1, len(text)).Draw(t, "j")]
		}
		checkReplace(t, text, a, b)
		checkInsert(t, text, b, rapid.IntRange(-1, 12).Draw(t, "line"))
		checkView(t, text, rapid.IntRange(-2, 12).Draw(t, "from"), rapid.IntRange(-2, 12).Draw(t, "to"))
	})
}

func FuzzCommands(f *testing.F) {
	f.Add(`{"command":"view","path":"/memories/a.md","view_range":[2,-1]}`, "one\ntwo\r\nthree")
	f.Add(`{"command":"str_replace","path":"/memories/a.md","old_str":"aa","new_str":"$&"}`, "aaa")
	f.Add(`{"command":"insert","path":"/memories/a.md","insert_line":1,"insert_text":"x\n\n"}`, "a\u2028b\n")
	f.Add(`{"command":"create","path":"/memories/%2e%2e/a.md","file_text":""}`, "")
	f.Add(`{"command":"rename","old_path":"/memories/.","new_path":"/memories/../b"}`, "")
	f.Fuzz(func(t *testing.T, src, text string) {
		dec := json.NewDecoder(strings.NewReader(src))
		dec.UseNumber()
		var m map[string]any
		if dec.Decode(&m) != nil {
			return
		}
		c, err := Parse(m)
		if err != nil {
			var a *ArgError
			if !errors.As(err, &a) || a.Text == "" {
				t.Fatalf("%v", err)
			}
			return
		}
		for _, p := range []string{c.Path, c.To} {
			rel, root, err := Rel(p)
			if err != nil {
				for _, r := range err.Error() {
					if r < ' ' || r > '~' {
						t.Fatalf("%q in a text", r)
					}
				}
			} else if !root && Root+"/"+rel != p || strings.Contains("/"+rel+"/", "/../") {
				t.Fatalf("%q gives %q", p, rel)
			}
		}
		switch c.Name {
		case CmdView:
			if c.Range != nil {
				checkView(t, text, c.Range[0], c.Range[1])
			}
		case CmdStrReplace:
			checkReplace(t, text, c.Old, c.New)
		case CmdInsert:
			checkInsert(t, text, c.Text, c.Line)
		}
	})
}
