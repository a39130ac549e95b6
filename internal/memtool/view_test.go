package memtool

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestView(t *testing.T) {
	const head = "Here's the content of /memories/v.md with line numbers:"
	for _, tt := range []struct {
		text string
		rng  *[2]int
		want string
	}{
		{"", nil, "\n     1\t"},
		{"one", nil, "\n     1\tone"},
		{"one\ntwo\n", nil, "\n     1\tone\n     2\ttwo\n     3\t"},
		{"one\r\ntwo\fx\u2028y\rz", nil, "\n     1\tone\r\n     2\ttwo\fx\u2028y\rz"},
		{"a\nb\nc\nd", &[2]int{2, 3}, "\n     2\tb\n     3\tc"},
		{"a\nb\nc\nd", &[2]int{3, -1}, "\n     3\tc\n     4\td"},
		{"a\nb\nc\nd", &[2]int{-7, 2}, "\n     1\ta\n     2\tb"},
		{"a\nb\nc\nd", &[2]int{0, 99}, "\n     1\ta\n     2\tb\n     3\tc\n     4\td"},
		{"a\nb\nc\nd", &[2]int{4, 4}, "\n     4\td"},
		{"a\nb\nc\nd", &[2]int{3, 2}, ""},
		{"a\nb\nc\nd", &[2]int{5, 9}, ""},
		{"a\nb\nc\nd", &[2]int{5, -1}, ""},
		{"a\nb\nc\nd", &[2]int{2, -2}, ""},
		{"a\nb\nc\nd", &[2]int{1, 0}, ""},
	} {
		got, err := View("/memories/v.md", tt.text, tt.rng)
		if got != head+tt.want || err != nil {
			t.Errorf("%q %v: got %q %v", tt.text, tt.rng, got, err)
		}
	}
}

func TestViewLimits(t *testing.T) {
	if _, err := View("/memories/v.md", strings.Repeat("\n", MaxLines), nil); kindOf(err) != TooLong || err.Error() != TooManyLines("/memories/v.md") {
		t.Errorf("one line too many: %v", err)
	}
	if got, err := View("/memories/v.md", strings.Repeat("\n", MaxLines-1), &[2]int{MaxLines, -1}); err != nil || !strings.HasSuffix(got, "\n999999\t") {
		t.Errorf("the last number: %q %v", got, err)
	}
}

// TestViewCut pages through long files by doing what each notice says.
func TestViewCut(t *testing.T) {
	wide := strings.Repeat("语", 20_000)
	for _, tt := range []struct {
		name, text string
		lost       int // lines of which the end is never shown
	}{
		{"many lines", strings.Repeat("0123456789 语言\n", 3000), 0},
		{"wide line", "a\n" + wide + "\nb", 1},
		{"last line wide", "a\n" + wide, 1},
		{"only a wide line", wide, 1},
	} {
		lines := strings.Split(tt.text, "\n")
		next, pages, lost := 1, 0, 0
		for next > 0 {
			from := next
			got, err := View("/memories/v.md", tt.text, &[2]int{from, -1})
			if n := utf8.RuneCountInString(got); err != nil || n > MaxView || pages > 20 {
				t.Fatalf("%s: page %d: %d characters, %v", tt.name, pages, n, err)
			}
			pages++
			next = 0
			rows := strings.Split(got, "\n")[1:]
			if note := rows[len(rows)-1]; strings.HasPrefix(note, "[cut") {
				rows = rows[:len(rows)-1]
				lost += strings.Count(note, "cannot be viewed")
				if i := strings.Index(note, "view_range ["); i >= 0 {
					if _, err := fmt.Sscanf(note[i:], "view_range [%d,", &next); err != nil || next <= from {
						t.Fatalf("%s: %q %v", tt.name, note, err)
					}
				}
			}
			for i, row := range rows {
				num, line, _ := strings.Cut(row, "\t")
				if num != fmt.Sprintf("%6d", from+i) || !strings.HasPrefix(lines[from+i-1], line) || !utf8.ValidString(line) {
					t.Fatalf("%s: row %q", tt.name, row[:20])
				}
			}
			if next == 0 && from+len(rows)-1 != len(lines) {
				t.Errorf("%s: ended at line %d of %d", tt.name, from+len(rows)-1, len(lines))
			}
		}
		if lost != tt.lost || pages < 1 {
			t.Errorf("%s: %d lines lost, want %d", tt.name, lost, tt.lost)
		}
	}
	_, out, _ := Replace("p", strings.Repeat("w", 30_000)+"!", "!", "?", nil)
	if got := Snippet(out, 1); utf8.RuneCountInString(got) > MaxView || !strings.Contains(got, "[cut") {
		t.Errorf("snippet of %d characters", len(got))
	}
}

func TestListing(t *testing.T) {
	const head = "Here're the files and directories up to 2 levels deep in /memories, excluding hidden items and node_modules:\n"
	tree := []Entry{
		{Rel: "z.md", Size: 0},
		{Rel: "topics/sub/deep/d.md", Size: 512},
		{Rel: "topics/sub/e.md", Size: 512},
		{Rel: "topics/b.md", Size: 512},
		{Rel: "topics.md", Size: 1536},
		{Rel: "Zed.md", Size: 2048},
		{Rel: "a/.hidden.md", Size: 9},
		{Rel: ".state/x.md", Size: 9},
		{Rel: "node_modules/p/r.md", Size: 9},
		{Rel: "空.md", Size: 1},
		{Rel: "empty", Dir: true},
	}
	want := head + strings.Join([]string{
		"5.0K\t/memories",
		"2K\t/memories/Zed.md",
		"0B\t/memories/empty/",
		"1.5K\t/memories/topics/",
		"512B\t/memories/topics/b.md",
		"1K\t/memories/topics/sub/",
		"1.5K\t/memories/topics.md",
		"0B\t/memories/z.md",
		"1B\t/memories/空.md",
	}, "\n")
	for _, dir := range []string{"/memories", "/memories/", "/memories/."} {
		if got := Listing(dir, tree); got != want {
			t.Errorf("%s: got %s\nwant %s", dir, got, want)
		}
	}
	if got := Listing("/memories", nil); got != head+"0B\t/memories" {
		t.Errorf("empty: %q", got)
	}
	if got := Listing("/memories/d", []Entry{{Rel: "x\n9B\tforged.md", Size: 1}}); strings.Count(got, "\n") != 2 {
		t.Errorf("a name made a line: %q", got)
	}
}

func TestListingCut(t *testing.T) {
	var es []Entry
	for i := range 2000 {
		es = append(es, Entry{Rel: fmt.Sprintf("note-%04d.md", i), Size: 3})
	}
	got := Listing("/memories", es)
	rows := strings.Split(got, "\n")
	want := fmt.Sprintf("[cut: a view shows at most 16,000 characters; %d more are left out; view a directory to see what is in it]", 2000-(len(rows)-3))
	if rows[len(rows)-1] != want || len(got) > MaxView {
		t.Errorf("%d bytes, last row %q", len(got), rows[len(rows)-1])
	}
}

func TestHumanSize(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0B", 1: "1B", 1023: "1023B", 1024: "1K", 1025: "1.0K", 1536: "1.5K", 2048: "2K", 10 << 10: "10K",
		1<<20 - 1: "1024.0K", 1 << 20: "1M", 5 << 19: "2.5M", 1 << 30: "1G", 3 << 40: "3072G",
	} {
		if got := humanSize(n); got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
	}
}

func TestListingOrder(t *testing.T) {
	name := rapid.StringMatching(`[a-c.]{1,2}(/[a-c.]{1,2}){0,2}`)
	rapid.Check(t, func(t *rapid.T) {
		var es []Entry
		for _, n := range rapid.SliceOfNDistinct(name, 0, 12, rapid.ID[string]).Draw(t, "names") {
			es = append(es, Entry{Rel: n, Size: int64(len(n))})
		}
		got := Listing("/memories", es)
		if again := Listing("/memories", rapid.Permutation(es).Draw(t, "other order")); again != got {
			t.Fatalf("order of entries shows:\n%s\n%s", got, again)
		}
		if strings.Contains(got, "/.") {
			t.Fatalf("hidden: %s", got)
		}
	})
}
