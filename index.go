package scribe

import (
	"bytes"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/memoryroom/scribe/internal/fold"
	"github.com/memoryroom/scribe/internal/rootfs"
)

// MEMORY.md holds one line per memory. The library owns the lines that have exactly
// the form of an indexLine and name a memory; every other line is the user's, and
// no patch changes a byte of it. A patch is made on the bytes of the file as it is:
// its byte order mark, its line ends and a missing last line end stay.

const (
	// indexMinute is when the memory was last changed, UTC. Seconds would make the
	// line change with each retry of a write.
	indexMinute = "2006-01-02T15:04Z"
	// indexDescription is the greatest length of a description, in runes: a choice. One
	// sentence fits, and no single line takes more than a hundredth of the soft
	// cap of 25,000 bytes when it is ASCII.
	indexDescription = 160
	indexBOM         = "\ufeff"
)

// indexLine is one owned line:
//
//   - [project] project-auth-refactor.md (2026-09-21T08:12Z): JWT migration plan and rollback
type indexLine struct {
	Type        string // a word of ASCII letters, digits, "_" and "-"; any other is written as "project"
	Path        string // of a memory: ends in ".md", has no colon and no control character
	Minute      string // in the layout of indexMinute
	Description string // any text
}

// String gives the line without its line end. It is one line whatever the description
// is: white space becomes single spaces, controls and characters that nobody sees
// are removed, and the rest is cut to 160 runes, the "..." included.
func (l indexLine) String() string {
	typ := l.Type
	if !indexType(typ) {
		typ = "project"
	}
	s := "- [" + typ + "] " + l.Path + " (" + l.Minute + "):"
	if d := indexText(l.Description); d != "" {
		s += " " + d
	}
	return s
}

func indexType(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return r != '-' && r != '_' && (r < '0' || r > '9') && (r < 'A' || r > 'Z') && (r < 'a' || r > 'z')
	})
}

func indexText(s string) string {
	var b strings.Builder
	runes, cut, space := 0, 0, false
	write := func(r rune) {
		if runes == indexDescription-len("...") {
			cut = b.Len()
		}
		b.WriteRune(r)
		runes++
	}
	for i, r := range s {
		switch {
		case unicode.IsSpace(r):
			space = runes > 0
			continue
		case unicode.IsControl(r), fold.Ignorable(r), r == utf8.RuneError && !strings.HasPrefix(s[i:], "\ufffd"):
			continue
		}
		if space {
			write(' ')
			space = false
		}
		write(r)
		if runes > indexDescription {
			return strings.TrimRight(b.String()[:cut], " ") + "..."
		}
	}
	return b.String()
}

// parseIndexLine reads a line without its line end. ok is false unless it has exactly the form that
// String gives it; the description may be longer than String makes it.
func parseIndexLine(line string) (l indexLine, ok bool) {
	rest, ok := strings.CutPrefix(line, "- [")
	if !ok || strings.IndexByte(rest, '\r') >= 0 || strings.IndexByte(rest, '\n') >= 0 {
		return indexLine{}, false
	}
	l.Type, rest, ok = strings.Cut(rest, "] ")
	if !ok || !indexType(l.Type) {
		return indexLine{}, false
	}
	// A path has no colon, so that the minute, which has one, cannot be inside it.
	colon := strings.IndexByte(rest, ':')
	start := colon - len("2006-01-02T15")
	end := start + len(indexMinute)
	if start < len(".md (") || end > len(rest) {
		return indexLine{}, false
	}
	l.Minute = rest[start:end]
	l.Path, ok = strings.CutSuffix(rest[:start], " (")
	if !ok || !isMinute(l.Minute) || !indexPath(l.Path) {
		return indexLine{}, false
	}
	rest, ok = strings.CutPrefix(rest[end:], "):")
	if ok && rest == "" {
		return l, true
	}
	l.Description = strings.TrimPrefix(rest, " ")
	if !ok || l.Description == rest || l.Description == "" || strings.TrimSpace(l.Description) != l.Description {
		return indexLine{}, false
	}
	return l, true
}

// isMinute reports whether s is a time in the layout of indexMinute. By hand: an index has
// thousands of them, and a change reads them all.
func isMinute(s string) bool {
	if len(s) != len(indexMinute) {
		return false
	}
	var fields [5]int // year, month, day, hour, minute
	at := 0
	for i := range len(s) {
		switch digit := s[i] >= '0' && s[i] <= '9'; {
		case digit != (indexMinute[i] >= '0' && indexMinute[i] <= '9'), !digit && s[i] != indexMinute[i]:
			return false
		case digit:
			fields[at] = fields[at]*10 + int(s[i]-'0')
		default:
			at++
		}
	}
	month, day := time.Month(fields[1]), fields[2]
	exists := time.Date(fields[0], month, day, 0, 0, 0, 0, time.UTC).Month() == month && day > 0
	return exists && fields[3] < 24 && fields[4] < 60
}

func indexPath(s string) bool {
	return strings.HasSuffix(s, ".md") && !strings.ContainsFunc(s, unicode.IsControl) && strings.TrimSpace(s) == s
}

// rawLine is a line of the file. Its line end is "\n", "\r\n", or at the end of the file
// "" or "\r". Before the text may stand byte order marks, where files were
// joined: they are apart, so that the line reads the same when it becomes the first.
type rawLine struct{ marks, text, end string }

// splitIndex cuts a file into its byte order mark and its lines. eol is the line end
// for new lines: that of the first line.
func splitIndex(data []byte) (mark string, lines []rawLine, eol string) {
	s := string(data)
	if rest, ok := strings.CutPrefix(s, indexBOM); ok {
		mark, s = indexBOM, rest
	}
	for line := range strings.Lines(s) {
		text := strings.TrimSuffix(strings.TrimSuffix(line, "\n"), "\r")
		end := line[len(text):]
		marks := text[:len(text)-len(strings.TrimLeft(text, indexBOM))]
		lines = append(lines, rawLine{marks, text[len(marks):], end})
	}
	if len(lines) == 0 || !lines[0].ended() {
		return mark, lines, "\n"
	}
	return mark, lines, lines[0].end
}

// nothing reports whether the line is byte order marks at the end of the file.
func (l rawLine) nothing() bool { return l.text == "" && l.end == "" }

func (l rawLine) ended() bool { return strings.HasSuffix(l.end, "\n") }

// patchIndex returns cur with the lines of set in it and those of drop gone; a path in both is
// set. An owned line is replaced where it stands; of several for one memory the first
// is kept. New lines follow the last owned line, sorted by path, or come last. A
// line is owned when it has the form and its path is known, in set or in drop.
// Patching twice is patching once.
func patchIndex(cur []byte, set []indexLine, drop map[string]bool, known func(path string) bool) []byte {
	fresh := make(map[string]string, len(set)) // path -> line that is still to be placed
	for _, l := range set {
		fresh[l.Path] = l.String()
	}
	mark, lines, eol := splitIndex(cur)
	out := make([]rawLine, 0, len(lines)+len(set))
	seen := make(map[string]bool)
	at := -1 // where new lines go: after the last owned line
	for _, line := range lines {
		l, ok := parseIndexLine(line.text)
		if !ok {
			out = append(out, line)
			continue
		}
		text, isSet := fresh[l.Path]
		isSet = isSet || seen[l.Path]
		if !isSet && !drop[l.Path] && !known(l.Path) {
			out = append(out, line)
			continue
		}
		switch {
		case seen[l.Path], drop[l.Path] && !isSet: // a line too many
		case text != "":
			out = append(out, rawLine{line.marks, text, line.end})
		default:
			out = append(out, line)
		}
		seen[l.Path] = true
		delete(fresh, l.Path)
		at = len(out)
	}
	return joinIndex(mark, insertLines(out, at, fresh, eol))
}

// unmergeIndex resolves the conflicts of git in which each side has nothing but lines of
// the owned form: the lines of both stay, and a patch makes them what they should be.
// Conflicts with a line of the user's in them stay as they are.
func unmergeIndex(data []byte) []byte {
	mark, lines, _ := splitIndex(data)
	var out []rawLine
	for i := 0; i < len(lines); i++ {
		sides, n := conflictAt(lines[i:])
		if n == 0 {
			out = append(out, lines[i])
			continue
		}
		out = append(out, sides...)
		i += n - 1
	}
	return joinIndex(mark, out)
}

// conflictAt reads a conflict that begins with the first line: what its sides hold, less
// what they had in common before, and how many lines it takes; 0 when there is none, or
// one that is not the library's alone.
func conflictAt(lines []rawLine) (sides []rawLine, n int) {
	if len(lines) == 0 || !strings.HasPrefix(lines[0].text, "<<<<<<< ") {
		return nil, 0
	}
	common := false
	for n, line := range lines[1:] {
		switch _, owned := parseIndexLine(line.text); {
		case strings.HasPrefix(line.text, ">>>>>>> "):
			return sides, n + 2
		case strings.HasPrefix(line.text, "||||||| "):
			common = true
		case line.text == "=======":
			common = false
		case !owned:
			return nil, 0
		case !common:
			sides = append(sides, line)
		}
	}
	return nil, 0
}

// insertLines puts the fresh lines at an index of lines, at the end when it is negative.
func insertLines(lines []rawLine, at int, fresh map[string]string, eol string) []rawLine {
	if len(fresh) == 0 {
		return lines
	}
	if at < 0 {
		at = len(lines)
	}
	paths := make([]string, 0, len(fresh))
	for path := range fresh {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	added := make([]rawLine, len(paths))
	for i, path := range paths {
		added[i] = rawLine{"", fresh[path], eol}
	}
	switch {
	case at > 0 && lines[at-1].nothing():
		at--
		added[0].marks = lines[at].marks
		lines = lines[:at]
	case at > 0 && !lines[at-1].ended():
		// The file's last line has no end, and the new last one gets none.
		if lines[at-1].end == "\r" {
			eol = "\n"
		}
		lines[at-1].end += eol
		added[len(added)-1].end = ""
	}
	return slices.Insert(lines, at, added...)
}

func joinIndex(mark string, lines []rawLine) []byte {
	var b bytes.Buffer
	b.WriteString(mark)
	for _, l := range lines {
		b.WriteString(l.marks)
		b.WriteString(l.text)
		b.WriteString(l.end)
	}
	return b.Bytes()
}

// userLines returns the lines that are not owned, in order. Each ends in "\n", whatever it
// ends in there, so that a patch, which may have to end the last line, does not
// change them. Byte order marks before a line are not part of it.
func userLines(cur []byte, known func(path string) bool) [][]byte {
	_, lines, _ := splitIndex(cur)
	var out [][]byte
	for _, line := range lines {
		if line.nothing() {
			continue
		}
		if l, ok := parseIndexLine(line.text); !ok || !known(l.Path) {
			out = append(out, []byte(line.text+"\n"))
		}
	}
	return out
}

// indexCaps measures what the soft caps limit: lines, a last one without line end
// too, and bytes.
func indexCaps(data []byte) (lines, size int) {
	lines = bytes.Count(data, []byte("\n"))
	if len(data) > 0 && data[len(data)-1] != '\n' {
		lines++
	}
	return lines, len(data)
}

// placeIndex swaps the staged index in, where every batch of it stands.
func (r *Room) placeIndex(c *round) {
	if !c.staged || slices.ContainsFunc(c.bs, func(b *batch) bool { return b.err != nil || b.lost }) {
		return
	}
	dirs, err := r.disk.Swap(indexTmp, indexFile(), c.cur)
	if err == nil {
		c.dirs, c.staged, c.cur = append(c.dirs, dirs...), false, nil
		for _, b := range c.bs {
			b.set, b.drop = nil, nil
		}
	}
}

// indexRest patches the lines that did not come with the change.
func (r *Room) indexRest(c *round) {
	for _, b := range c.bs {
		switch {
		case b.err != nil || b.lost:
		case b.frees():
			b.index = r.spend(func() error { return r.writeIndex(b) })
		default:
			b.index = r.writeIndex(b)
		}
	}
}

// indexTries bounds the race with an editor that saves MEMORY.md again and again.
const indexTries = 5

// writeIndex patches the lines that the batch changed.
func (r *Room) writeIndex(b *batch) error {
	if len(b.set) == 0 && len(b.drop) == 0 {
		return nil
	}
	r.mu.Lock()
	state := r.ledger.state
	r.mu.Unlock()
	known := hasLine(state)
	err := error(rootfs.ErrChanged)
	for range indexTries {
		var cur []byte
		if cur, err = r.readIndex(); err != nil {
			return err
		}
		next := patchIndex(cur, b.set, b.drop, known)
		if string(next) == string(cur) {
			return nil
		}
		if err = r.replaceIndex(cur, next); !errors.Is(err, rootfs.ErrChanged) {
			return err
		}
	}
	return err
}

func (r *Room) replaceIndex(cur, next []byte) error {
	if err := r.disk.LibRemove(indexTmp); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := r.disk.LibWriteNew(indexTmp, next); err != nil {
		return err
	}
	err := r.disk.Replace(indexTmp, indexFile(), cur)
	if err != nil { // ours is of no use any more; what came out of a swap stays, for recovery
		if waits, rerr := r.disk.LibRead(indexTmp, maxAudit); rerr == nil && string(waits) == string(next) {
			_ = r.disk.LibRemove(indexTmp)
		}
	}
	return err
}

// indexNotice tells of a change that MEMORY.md does not show yet.
func (b *batch) indexNotice() []Finding {
	if b.index == nil {
		return nil
	}
	return []Finding{refuse("index.behind", Accepted, "index", "the change is stored, and MEMORY.md could not be updated", "run Check with repair, or open the room again")}
}
