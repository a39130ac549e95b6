package scribe

import (
	"context"
	"path"
	"strings"

	"github.com/memoryroom/scribe/internal/entry"
)

// Rename moves a memory to a new path, and turns the links of the other accepted
// memories to it: Markdown links and reference definitions, relative to the file that
// they stand in, and wiki links. What superseded it, or it superseded, follows. It is one
// plan: all or nothing, and rolled back together. Each text keeps its trust.
//
// The first verdict is that of the memory itself, then those of the texts that named it,
// by path. Its own links, and the user's own lines of MEMORY.md, stay as they are.
func (r *Room) Rename(ctx context.Context, from, to string) ([]Verdict, error) {
	turn := func(w *world) ([]*proposal, error) {
		plan, err := r.prepare(w, author{hand: true, ceiling: Operator}, []Candidate{{Path: from, To: to}})
		if err != nil {
			return nil, err
		}
		for _, other := range acceptedPaths(w.state) {
			acc := w.state.Accepted[other]
			data, err := r.version(acc.Seq, acc.Hash)
			if err != nil || other == from {
				continue // Check names it
			}
			text := turnLinks(data, other, from, to)
			if text == "" {
				continue
			}
			ps, err := r.prepare(w, author{hand: true, ceiling: parseTrust(acc.Trust)}, []Candidate{{Path: other, Text: text, Base: acc.Hash}})
			if err != nil {
				return nil, err
			}
			plan = append(plan, ps...)
		}
		return plan, nil
	}
	return r.admit(ctx, author{hand: true}, turn)
}

// turnLinks is a memory's text with its links to one path led to another; "" when it
// has none. Fenced code is not read.
func turnLinks(data []byte, at, from, to string) string {
	e, err := entry.Parse(data)
	if err != nil {
		return ""
	}
	var b strings.Builder
	fence, turned := "", false
	for line := range strings.Lines(string(e.Body())) {
		mark := fenceMark(strings.TrimSpace(line))
		switch {
		case fence != "" && strings.HasPrefix(mark, fence) && strings.TrimSpace(line) == mark:
			fence = ""
		case fence == "" && mark != "":
			fence = mark
		case fence == "":
			var now string
			now = turnLine(line, path.Dir(at), from, to)
			turned = turned || now != line
			line = now
		}
		b.WriteString(line)
	}
	if !turned {
		return ""
	}
	return string(data[:len(data)-len(e.Body())]) + b.String()
}

// linkForms are what a destination stands between: its opener, and the bytes that end it.
var linkForms = []struct{ open, end string }{
	{"](<", ">"}, {"](", " \t)"}, {"]: <", ">"}, {"]: ", " \t\r\n"}, {"[[", "]|"},
}

func turnLine(line, dir, from, to string) string {
	var b strings.Builder
	for {
		first, form := len(line), -1
		for i, f := range linkForms {
			if at := strings.Index(line, f.open); at >= 0 && at < first {
				first, form = at, i
			}
		}
		if form < 0 {
			return b.String() + line
		}
		start := first + len(linkForms[form].open)
		end := strings.IndexAny(line[start:], linkForms[form].end)
		if end < 0 {
			return b.String() + line
		}
		b.WriteString(line[:start] + turnDestination(line[start:start+end], dir, from, to, linkForms[form].open == "[["))
		line = line[start+end:]
	}
}

// turnDestination turns one destination, if it names from. A fragment stays.
func turnDestination(dest, dir, from, to string, wiki bool) string {
	name, fragment := dest, ""
	if i := strings.IndexByte(dest, '#'); i >= 0 {
		name, fragment = dest[:i], dest[i:]
	}
	escaped := strings.ReplaceAll(name, "%20", " ")
	if wiki {
		switch escaped {
		case from:
			return to + fragment
		case strings.TrimSuffix(from, ".md"):
			return strings.TrimSuffix(to, ".md") + fragment
		}
		return dest
	}
	rooted := strings.HasPrefix(escaped, "/")
	if rooted && escaped[1:] != from || !rooted && path.Join(dir, escaped) != from || name == "" {
		return dest
	}
	out := "/" + to
	if !rooted {
		out = relativeTo(dir, to)
		if strings.HasPrefix(name, "./") && !strings.HasPrefix(out, "../") {
			out = "./" + out
		}
	}
	if name != escaped || !strings.Contains(from, " ") {
		out = strings.ReplaceAll(out, " ", "%20") // as it was written, or as it has to be
	}
	return out + fragment
}

// relativeTo is a path of the room as a file in dir (".": the top) names it.
func relativeTo(dir, to string) string {
	if dir == "." {
		return to
	}
	up, here, there := "", strings.Split(dir, "/"), strings.Split(to, "/")
	for len(here) > 0 && len(there) > 1 && here[0] == there[0] {
		here, there = here[1:], there[1:]
	}
	up = strings.Repeat("../", len(here))
	return up + strings.Join(there, "/")
}
