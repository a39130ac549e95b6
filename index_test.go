package scribe

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"

	"github.com/memoryroom/scribe/internal/rootfs"
)

func TestIndexLineString(t *testing.T) {
	line := func(d string) indexLine {
		return indexLine{"project", "project-auth-refactor.md", "2026-09-21T08:12Z", d}
	}
	const head = "- [project] project-auth-refactor.md (2026-09-21T08:12Z):"
	tests := []struct {
		name string
		l    indexLine
		want string
	}{
		{"design", line("JWT migration plan and rollback"), head + " JWT migration plan and rollback"},
		{"no description", line(""), head},
		{"blank description", line(" \t\u3000\n"), head},
		{"a second line", line("ok\r\n- [user] admin.md (2026-01-01T00:00Z): x"), head + " ok - [user] admin.md (2026-01-01T00:00Z): x"},
		{"other line ends", line("a\u0085b\u2028c\u2029d\ve\ff"), head + " a b c d e f"},
		{"controls and what nobody sees", line("a\x00\x1b[2J\u200bb\u202ec\ufeff\U000e0041d\ufe0f"), head + " a[2Jbcd"},
		{"invisible between spaces", line("a \u200b b\u200b "), head + " a b"},
		{"not UTF-8", line("a\xffb\ufffd"), head + " ab\ufffd"},
		{"just fits", line(strings.Repeat("字", 160)), head + " " + strings.Repeat("字", 160)},
		{"too long", line(strings.Repeat("字", 161)), head + " " + strings.Repeat("字", 157) + "..."},
		{"cut at a space", line(strings.Repeat("a", 156) + " " + strings.Repeat("b", 9)), head + " " + strings.Repeat("a", 156) + "..."},
		{"type that would close the bracket", indexLine{"a] b.md (", "p.md", "2026-09-21T08:12Z", ""}, "- [project] p.md (2026-09-21T08:12Z):"},
		{"no type", indexLine{"", "p.md", "2026-09-21T08:12Z", "d"}, "- [project] p.md (2026-09-21T08:12Z): d"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got := tt.l.String()
			if got != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
			l, ok := parseIndexLine(got)
			if !ok || l.String() != got || l.Path != tt.l.Path || l.Minute != tt.l.Minute {
				t.Errorf("parseIndexLine(%q) = %+v, %v", got, l, ok)
			}
		})
	}
}

func TestParseIndexLine(t *testing.T) {
	for line, want := range map[string]indexLine{
		"- [user] a.md (2026-09-21T08:12Z): d":                            {"user", "a.md", "2026-09-21T08:12Z", "d"},
		"- [user] a.md (2026-09-21T08:12Z):":                              {"user", "a.md", "2026-09-21T08:12Z", ""},
		"- [x_Y-1] dir/a b (1).md (2026-09-21T08:12Z): d (2026): e  f":    {"x_Y-1", "dir/a b (1).md", "2026-09-21T08:12Z", "d (2026): e  f"},
		"- [user] 中文.md (2026-09-21T08:12Z): " + strings.Repeat("x", 300): {"user", "中文.md", "2026-09-21T08:12Z", strings.Repeat("x", 300)},
	} {
		if got, ok := parseIndexLine(line); got != want || !ok {
			t.Errorf("parseIndexLine(%q) = %+v, %v; want %+v", line, got, ok, want)
		}
	}
	for _, line := range []string{
		"", "- ", "# Index", "- [a.md](a.md) - notes", "- [user]", "- [user] a.md",
		" - [user] a.md (2026-09-21T08:12Z): d",
		"* [user] a.md (2026-09-21T08:12Z): d",
		"- [] a.md (2026-09-21T08:12Z): d",
		"- [a b] a.md (2026-09-21T08:12Z): d",
		"- [user]  a.md (2026-09-21T08:12Z): d",
		"- [user] a.txt (2026-09-21T08:12Z): d",
		"- [user] a.md  (2026-09-21T08:12Z): d",
		"- [user] a.md(2026-09-21T08:12Z): d",
		"- [user] a\x1b.md (2026-09-21T08:12Z): d",
		"- [user] a:b.md (2026-09-21T08:12Z): d",
		"- [user] a.md (2026-13-21T08:12Z): d",
		"- [user] a.md (2026-09-21T08:12:00Z): d",
		"- [user] a.md (2026-09-21T08:12): d",
		"- [user] a.md (2026-09-21T08:12Z) d",
		"- [user] a.md (2026-09-21T08:12Z):d",
		"- [user] a.md (2026-09-21T08:12Z): ",
		"- [user] a.md (2026-09-21T08:12Z):  d",
		"- [user] a.md (2026-09-21T08:12Z): d ",
		"- [user] a.md (2026-09-21T08:12Z): d\r",
		"- [user] a.md (2026-09-21T08",
	} {
		if l, ok := parseIndexLine(line); ok || l != (indexLine{}) {
			t.Errorf("parseIndexLine(%q) = %+v, %v; want false", line, l, ok)
		}
	}
}

// testLine is the owned line of a memory, and of it, the text.
func testLine(path, description string) indexLine {
	return indexLine{"user", path, "2026-09-21T08:12Z", description}
}

func TestPatchIndex(t *testing.T) {
	a, b, c := testLine("a.md", "one").String(), testLine("b.md", "two").String(), testLine("c.md", "three").String()
	b2 := testLine("b.md", "new").String()
	type set = []indexLine
	tests := []struct {
		name, cur string
		set       set
		drop      string
		want      string
	}{
		{"first", "", set{testLine("b.md", "two"), testLine("a.md", "one")}, "", a + "\n" + b + "\n"},
		{"first, only a mark", "\ufeff", set{testLine("a.md", "one")}, "", "\ufeff" + a + "\n"},
		{"in place", "# I\n" + a + "\n" + b + "\nmine\n", set{testLine("b.md", "new")}, "", "# I\n" + a + "\n" + b2 + "\nmine\n"},
		{"after the last owned line", "# I\n" + a + "\nmine\n" + b + "\n\nend\n", set{testLine("c.md", "three")}, "", "# I\n" + a + "\nmine\n" + b + "\n" + c + "\n\nend\n"},
		{"no owned line", "# I\n\nmine", set{testLine("c.md", "three")}, "", "# I\n\nmine\n" + c},
		{"no last line end, owned", "# I\n" + a, set{testLine("c.md", "three")}, "", "# I\n" + a + "\n" + c},
		{"no last line end, in place", "# I\n" + b, set{testLine("b.md", "new")}, "", "# I\n" + b2},
		{"CRLF", "# I\r\n" + b + "\r\n", set{testLine("b.md", "new"), testLine("c.md", "three")}, "", "# I\r\n" + b2 + "\r\n" + c + "\r\n"},
		{"drop", "# I\n" + a + "\n" + b + "\nmine", nil, "a.md", "# I\n" + b + "\nmine"},
		{"drop the first, with a mark", "\ufeff" + a + "\nmine\n", nil, "a.md", "\ufeffmine\n"},
		{"drop the last, no line end", "mine\n" + a, nil, "a.md", "mine\n"},
		{"drop one that is not known any more", "x\n" + testLine("gone.md", "g").String() + "\n", nil, "gone.md", "x\n"},
		{"rename", "x\n" + a + "\ny\n", set{testLine("c.md", "three")}, "a.md", "x\n" + c + "\ny\n"},
		{"set and drop", a + "\n", set{testLine("a.md", "one")}, "a.md", a + "\n"},
		{"twice", a + "\nx\n" + a + "\n" + b + "\n", nil, "", a + "\nx\n" + b + "\n"},
		{"twice, set", b + "\nx\n" + b + "\n", set{testLine("b.md", "new")}, "", b2 + "\nx\n"},
		{"twice, not known yet", testLine("new.md", "1").String() + "\nx\n" + testLine("new.md", "2").String() + "\n", set{testLine("new.md", "3")}, "", testLine("new.md", "3").String() + "\nx\n"},
		{"half a last line end", "# I\r\nmine\r", set{testLine("c.md", "three")}, "", "# I\r\nmine\r\n" + c},
		{"set twice, the last counts", "", set{testLine("b.md", "two"), testLine("b.md", "new")}, "", b2 + "\n"},
		{"a line of no memory is the user's", testLine("z.md", "z").String() + "\n", set{testLine("c.md", "three")}, "", testLine("z.md", "z").String() + "\n" + c + "\n"},
		{"a line of a memory in another form is the user's", "- [a](a.md)\n " + a + "\n", nil, "a.md", "- [a](a.md)\n " + a + "\n"},
		{"a mark where files were joined", "x\n\ufeff" + b + "\n\ufeffy\n", set{testLine("b.md", "new")}, "", "x\n\ufeff" + b2 + "\n\ufeffy\n"},
		{"nothing to do", "\ufeff\r\n" + a + "\nx\r\n\n\ny", nil, "", "\ufeff\r\n" + a + "\nx\r\n\n\ny"},
	}
	known := func(path string) bool { return path == "a.md" || path == "b.md" || path == "c.md" }
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			cur := []byte(tt.cur)
			drop := map[string]bool{tt.drop: true}
			got := patchIndex(cur, tt.set, drop, known)
			if string(got) != tt.want {
				t.Errorf("got  %q\nwant %q", got, tt.want)
			}
			if string(cur) != tt.cur {
				t.Error("the input changed")
			}
			if again := patchIndex(got, tt.set, drop, known); !bytes.Equal(again, got) {
				t.Errorf("again %q, want it unchanged", again)
			}
		})
	}
}

func TestUserLines(t *testing.T) {
	known := func(path string) bool { return path == "a.md" }
	cur := "\ufeffone\r\n" + testLine("a.md", "x").String() + "\n\n" + testLine("z.md", "x").String() + "\n  two"
	got := string(bytes.Join(userLines([]byte(cur), known), []byte("|")))
	if want := "one\n|\n|" + testLine("z.md", "x").String() + "\n|  two\n"; got != want {
		t.Errorf("got  %q\nwant %q", got, want)
	}
}

func TestIndexCaps(t *testing.T) {
	for in, want := range map[string][2]int{
		"": {0, 0}, "\n": {1, 1}, "a": {1, 1}, "a\n": {1, 2}, "a\r\nb": {2, 4}, "\n\n": {2, 2}, "字\n": {1, 4},
	} {
		lines, size := indexCaps([]byte(in))
		if got := [2]int{lines, size}; got != want {
			t.Errorf("indexCaps(%q) = %v, want %v", in, got, want)
		}
	}
}

// TestIndexProperties: whatever the library does to its own lines, in whatever order, the user's
// lines stay as they are, and the library's are what a plain map says.
func TestIndexProperties(t *testing.T) {
	paths := []string{"a.md", "b.md", "dir/c.md", "中 (1).md"}
	known := func(path string) bool { return slices.Contains(paths, path) }
	path := rapid.SampledFrom(paths)
	owned := rapid.Custom(func(t *rapid.T) indexLine {
		return indexLine{rapid.SampledFrom([]string{"user", "project", "no type"}).Draw(t, "type"), path.Draw(t, "path"), "2026-09-21T08:12Z", rapid.String().Draw(t, "description")}
	})
	foreign := rapid.OneOf(
		rapid.SampledFrom([]string{"", "# Index", "- [a](a.md): x", "  - [user] a.md (2026-09-21T08:12Z): x", "- [user] other.md (2026-09-21T08:12Z): x", "x\r", "\ufeffx"}),
		rapid.String().Filter(func(s string) bool { return !strings.Contains(s, "\n") }))
	rapid.Check(t, func(t *rapid.T) {
		var b strings.Builder
		b.WriteString(rapid.SampledFrom([]string{"", indexBOM}).Draw(t, "mark"))
		want := map[string]string{}
		n := rapid.IntRange(0, 8).Draw(t, "lines")
		for i := range n {
			if rapid.Bool().Draw(t, "owned") {
				l := owned.Draw(t, "line")
				b.WriteString(l.String())
				if _, ok := want[l.Path]; !ok {
					want[l.Path] = l.String()
				}
			} else {
				b.WriteString(foreign.Draw(t, "user's"))
			}
			if i < n-1 || rapid.Bool().Draw(t, "last end") {
				b.WriteString(rapid.SampledFrom([]string{"\n", "\n", "\r\n"}).Draw(t, "end"))
			}
		}
		cur := []byte(b.String())
		users := userLines(cur, known)
		for range rapid.IntRange(1, 5).Draw(t, "patches") {
			set, drop := rapid.SliceOfN(owned, 0, 3).Draw(t, "set"), map[string]bool{}
			for _, p := range rapid.SliceOfN(path, 0, 2).Draw(t, "drop") {
				drop[p] = true
				delete(want, p)
			}
			for _, l := range set {
				want[l.Path] = l.String()
			}
			before := cur
			cur = patchIndex(cur, set, drop, known)
			if again := patchIndex(cur, set, drop, known); !bytes.Equal(again, cur) {
				t.Fatalf("patching %q twice: %q, then %q", before, cur, again)
			}
			if bytes.HasPrefix(before, []byte(indexBOM)) && !bytes.HasPrefix(cur, []byte(indexBOM)) {
				t.Fatalf("the mark went: %q to %q", before, cur)
			}
			if got := userLines(cur, known); fmt.Sprintf("%q", got) != fmt.Sprintf("%q", users) {
				t.Fatalf("the user's lines changed: %q to %q", users, got)
			}
		}
		got := map[string]string{}
		_, lines, _ := splitIndex(cur)
		for _, line := range lines {
			if l, ok := parseIndexLine(line.text); ok && known(l.Path) {
				if got[l.Path] != "" {
					t.Fatalf("two lines of %q in %q", l.Path, cur)
				}
				got[l.Path] = line.text
			}
		}
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("owned lines %q, want %q, in %q", got, want, cur)
		}
	})
}

func FuzzIndexLine(f *testing.F) {
	f.Add("user", "a.md", "2026-09-21T08:12Z", "d")
	f.Add("a] b", "x (2026-09-21T08", "12Z): y.md", "\n- [user] b.md (2026-09-21T08:12Z): z")
	f.Fuzz(func(t *testing.T, typ, path, minute, description string) {
		l := indexLine{typ, path, minute, description}
		if d := indexText(description); utf8.RuneCountInString(d) > indexDescription || indexText(d) != d {
			t.Fatalf("indexText(%q) = %q, then %q", description, d, indexText(d))
		}
		if got, ok := parseIndexLine(l.String()); ok && got.String() != l.String() {
			t.Fatalf("%q parses as %+v, which is %q", l.String(), got, got.String())
		}
		line := "- [" + typ + "] " + path + " (" + minute + "): " + description
		if got, ok := parseIndexLine(line); ok && (got != indexLine{typ, path, minute, description} || strings.Contains(description, "\n")) {
			t.Fatalf("%q parses as %+v", line, got)
		}
	})
}

// TestLargeIndex: MEMORY.md may be larger than any memory, and still gets its lines.
func TestLargeIndex(t *testing.T) {
	r, mem := newRoom(t, nil)
	mem.Plant(indexName, rootfs.File, []byte(strings.Repeat("- a line of the user's own\n", 100_000)))
	first := byHand(t, r, Candidate{Path: "a.md", Text: "One.\n"})
	wantAccepted(t, first)
	second := byHand(t, r, Candidate{Path: "a.md", Text: "Two.\n", Base: first.Memory.Hash})
	wantAccepted(t, second)
	for _, f := range slices.Concat(first.Notices, second.Notices) {
		if f.Rule == "index.behind" {
			t.Errorf("the index did not follow: %+v", f)
		}
	}
	index, err := r.readIndex()
	if err != nil || !strings.Contains(string(index), "a.md") || !strings.Contains(string(index), "): Two.") {
		t.Errorf("MEMORY.md of %d bytes has no line for the memory: %v", len(index), err)
	}
}

// TestIsMinute compares the reading by hand with the library's.
func TestIsMinute(t *testing.T) {
	check := func(s string) {
		_, err := time.Parse(indexMinute, s)
		if got, want := isMinute(s), err == nil; got != want {
			t.Errorf("%q: got %v, want %v", s, got, want)
		}
	}
	for _, s := range []string{
		"", "2006-01-02T15:04Z", "2024-02-29T00:00Z", "2023-02-29T00:00Z", "1900-02-29T00:00Z", "2026-13-01T00:00Z", "2026-00-01T00:00Z",
		"2026-01-00T00:00Z", "2026-01-32T00:00Z", "2026-04-31T00:00Z", "2026-12-31T23:59Z", "2026-01-01T24:00Z", "2026-01-01T00:60Z", "2026-01-01t00:00Z",
		"2026-01-01T00:00z", "2026-01-01T0:00Z ", "2026-1-01T00:000Z", "-026-01-01T00:00Z", "0000-01-01T00:00Z", "2026-01-01T00:00", "2026-01-01T00:00ZZ",
	} {
		check(s)
	}
	rapid.Check(t, func(rt *rapid.T) {
		s := []byte("2026-01-01T00:00Z")
		for range rapid.IntRange(0, 4).Draw(rt, "changes") {
			s[rapid.IntRange(0, len(s)-1).Draw(rt, "at")] = rapid.SampledFrom([]byte("0123456789-:TZ ")).Draw(rt, "byte")
		}
		check(string(s))
	})
}
