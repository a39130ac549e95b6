package memtool

import (
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

const (
	// MaxView is the most that one view returns, in characters (runes), notices
	// included. The contract lets a client expect that much.
	MaxView = 16_000
	// MaxLines is the longest file that a view numbers, in lines.
	MaxLines = 999_999
	// listDepth is the number of levels that a listing shows.
	listDepth = 2
	// snippetContext is the number of lines shown on each side of a change.
	snippetContext = 2
	// noticeRoom is set aside for the notice of a cut, in characters; the longest
	// one has less than 200.
	noticeRoom = 200
)

// View renders a file with line numbers, as the contract does: lines end at "\n"
// only, so a file that ends in one shows a last empty line. rng is inclusive and
// 1-based; nil is the whole file, an end of -1 is the last line, a start below 1
// is 1. A range that is reversed or past the end gives the header alone.
//
// A view over [MaxView] is cut at a line, or inside a line that alone is longer,
// and a last line in brackets names the view_range to go on with. The error is an
// *Error of kind [TooLong].
func View(path, text string, rng *[2]int) (string, error) {
	total := strings.Count(text, "\n") + 1
	if total > MaxLines {
		return "", &Error{TooLong, TooManyLines(path)}
	}
	first, last := 1, total
	if rng != nil {
		first = max(rng[0], 1)
		if rng[1] != -1 {
			last = min(rng[1], total)
		}
	}
	header := "Here's the content of " + path + " with line numbers:"
	if first > last {
		return header, nil
	}
	return header + "\n" + numbered(text, first, last, MaxView-utf8.RuneCountInString(header)-1), nil
}

// Snippet numbers the lines of text around line (from 1), two on each side. It is
// cut like a view.
func Snippet(text string, line int) string {
	last := min(line+snippetContext, strings.Count(text, "\n")+1)
	return numbered(text, max(1, line-snippetContext), last, MaxView-len(edited)-1)
}

// numbered renders the lines first to last, which exist, in at most room
// characters.
func numbered(text string, first, last, room int) string {
	for range first - 1 {
		text = text[strings.IndexByte(text, '\n')+1:]
	}
	var b strings.Builder
	room -= noticeRoom
	for n := first; n <= last; n++ {
		line, rest, _ := strings.Cut(text, "\n")
		num := lineNumber(n)
		need := len(num) + utf8.RuneCountInString(line)
		if n > first {
			need++
		}
		if need > room {
			split := n == first
			if split {
				b.WriteString(num + clip(line, max(0, room-len(num))))
			}
			b.WriteString("\n" + cutNotice(n, last, split))
			break
		}
		room -= need
		if n > first {
			b.WriteByte('\n')
		}
		b.WriteString(num + line)
		text = rest
	}
	return b.String()
}

// lineNumber is %6d and a tab.
func lineNumber(n int) string {
	s := strconv.Itoa(n)
	return "      "[:max(0, 6-len(s))] + s + "\t"
}

// clip cuts s to at most n runes.
func clip(s string, n int) string {
	for i := range s {
		if n == 0 {
			return s[:i]
		}
		n--
	}
	return s
}

// cutNotice says where a view of the lines up to last was cut: before line n, or
// inside it when split is set.
func cutNotice(n, last int, split bool) string {
	s := "[cut: a view shows at most 16,000 characters"
	if split {
		s += "; the rest of line " + strconv.Itoa(n) + ", which is longer, cannot be viewed"
		n++
	}
	if n > last {
		return s + "]"
	}
	return s + "; continue with view_range [" + strconv.Itoa(n) + ", " + strconv.Itoa(last) + "]]"
}

// Entry is one file or directory for [Listing].
type Entry struct {
	Rel  string // relative to the listed directory, slash-separated: "topics/x.md"
	Size int64  // bytes; of a directory, what it has besides its entries
	Dir  bool
}

// node is one line of a listing.
type node struct {
	segs []string
	size int64
	dir  bool
}

// Listing renders the directory dir, a path as the model wrote it, two levels
// deep. Directories need no entry of their own: they are derived from the files
// in them, and their size is the sum. Names with a segment that begins with a dot
// or is "node_modules" are left out and not counted. Order is bytewise by
// segment, depth first, whatever the order of entries. A listing over [MaxView]
// is cut and says how many lines are missing.
func Listing(dir string, entries []Entry) string {
	dir = strings.TrimSuffix(strings.TrimSuffix(dir, "/."), "/")
	nodes, total := collect(entries)
	slices.SortFunc(nodes, func(a, b node) int { return slices.Compare(a.segs, b.segs) })
	var b strings.Builder
	b.WriteString("Here're the files and directories up to 2 levels deep in " + dir + ", excluding hidden items and node_modules:\n")
	b.WriteString(humanSize(total) + "\t" + dir)
	room := MaxView - noticeRoom - utf8.RuneCountInString(b.String())
	for i, n := range nodes {
		line := "\n" + humanSize(n.size) + "\t" + dir + "/" + printable(strings.Join(n.segs, "/"))
		if n.dir {
			line += "/"
		}
		room -= utf8.RuneCountInString(line)
		if room < 0 {
			b.WriteString("\n[cut: a view shows at most 16,000 characters; " + strconv.Itoa(len(nodes)-i) +
				" more are left out; view a directory to see what is in it]")
			break
		}
		b.WriteString(line)
	}
	return b.String()
}

// collect derives the directories, adds up sizes, and drops what is hidden or too
// deep to be shown.
func collect(entries []Entry) (nodes []node, total int64) {
	at := map[string]int{}
	for _, e := range entries {
		segs := strings.Split(strings.TrimSuffix(e.Rel, "/"), "/")
		if slices.ContainsFunc(segs, hidden) {
			continue
		}
		total += e.Size
		for n := 1; n <= min(len(segs), listDepth); n++ {
			key := strings.Join(segs[:n], "/")
			i, ok := at[key]
			if !ok {
				i = len(nodes)
				at[key] = i
				nodes = append(nodes, node{segs: segs[:n]})
			}
			nodes[i].size += e.Size
			nodes[i].dir = nodes[i].dir || e.Dir || n < len(segs)
		}
	}
	return nodes, total
}

func hidden(seg string) bool {
	return seg == "" || seg[0] == '.' || seg == "node_modules"
}

// printable quotes a name that could forge a line. No name that passes the path
// rules needs it.
func printable(name string) string {
	for _, r := range name {
		if !strconv.IsPrint(r) {
			return strconv.QuoteToASCII(name)
		}
	}
	return name
}

// humanSize gives "0B", "1.5K", "2K": powers of 1024, whole or with one decimal,
// rounded half up. Integers only, so that it is the same everywhere.
func humanSize(n int64) string {
	const units = "BKMG"
	u, unit := 0, int64(1)
	for u < len(units)-1 && n >= unit*1024 {
		u++
		unit *= 1024
	}
	s := strconv.FormatInt(n/unit, 10)
	if n%unit != 0 {
		tenths := (n/unit)*10 + ((n%unit)*10+unit/2)/unit
		s = strconv.FormatInt(tenths/10, 10) + "." + strconv.FormatInt(tenths%10, 10)
	}
	return s + units[u:u+1]
}
