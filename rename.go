package scribe

import (
	"cmp"
	"context"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/memoryroom/scribe/internal/entry"
)

// Rename moves a memory to a new path, and turns the links of the other accepted
// memories to it: Markdown links and reference definitions, relative to the file that
// they stand in, and wiki links. What superseded it, or it superseded, follows. It is one
// plan: all or nothing, and rolled back together. Each text keeps its trust and who wrote
// it: no session is told of a model's text as the operator's for a turned link.
//
// One plan holds 63 such texts: of more the links of the highest trust are turned, by path.
// Text below user-observed that can not be stored with the new link keeps the old one, so
// that nothing from outside stands in the way. The notice plan.links-left counts what was left.
//
// The first verdict is that of the memory itself, then those of the texts that named it,
// by path. Its own links, and the user's own lines of MEMORY.md, stay as they are.
func (r *Room) Rename(ctx context.Context, from, to string) ([]Verdict, error) {
	n := renaming{room: r, from: from, to: to, without: map[string]string{}}
	vs, err := r.admit(ctx, author{hand: true}, true, n.plan)
	if err == nil && n.left > 0 && vs[0].Outcome == Accepted {
		vs[0].Notices = append(vs[0].Notices, refuse("plan.links-left", Accepted, "to",
			fmt.Sprintf("%d memories keep a link to the old name; one change turns those of at most %d", n.left, maxPlan-1),
			"edit those that matter"+suggest(func() []string { return n.named })))
	}
	return vs, err
}

// renaming is one rename, which is planned before the room's lock and again under it.
type renaming struct {
	room     *Room
	from, to string
	without  map[string]string // by path: the hash of a text that was read, and has no such link
	left     int               // memories that keep their link
	named    []string          // some of them, of those that a model may be told of
}

// plan is the rename, and the texts whose links it turns.
func (n *renaming) plan(ctx context.Context, w *world) ([]*proposal, error) {
	plan, err := n.room.prepare(w, author{hand: true, ceiling: Operator}, []Candidate{{Path: n.from, To: n.to}})
	if err != nil {
		return nil, err
	}
	linking, err := n.linking(ctx, w)
	if err != nil {
		return nil, err
	}
	n.left, n.named = 0, nil
	for i, at := range linking {
		var p *proposal
		if i < maxPlan-1 {
			if p, err = n.turned(ctx, w, at); err != nil {
				return nil, err
			}
		}
		if p != nil {
			plan = append(plan, p)
			continue
		}
		n.left++
		if len(n.named) < 3 && parseTrust(w.state.Accepted[at].Trust) >= UserObserved {
			n.named = append(n.named, at)
		}
	}
	slices.SortFunc(plan[1:], func(p, q *proposal) int { return strings.Compare(p.cand.Path, q.cand.Path) })
	return plan, nil
}

// linking lists the accepted memories that have a link to turn, the highest trust first.
func (n *renaming) linking(ctx context.Context, w *world) ([]string, error) {
	var paths []string
	for _, at := range acceptedPaths(w.state) {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		acc := w.state.Accepted[at]
		if at == n.from || n.without[at] == acc.Hash {
			continue
		}
		data, err := n.room.version(acc.Seq, acc.Hash)
		switch {
		case err != nil: // Check names it
		case turnLinks(data, at, n.from, n.to) == "":
			n.without[at] = acc.Hash
		default:
			paths = append(paths, at)
		}
	}
	slices.SortStableFunc(paths, func(a, b string) int {
		return cmp.Compare(parseTrust(w.state.Accepted[b].Trust), parseTrust(w.state.Accepted[a].Trust))
	})
	return paths, nil
}

// turned is the change of one text; nil where it comes from outside and can not be stored.
func (n *renaming) turned(ctx context.Context, w *world, at string) (*proposal, error) {
	acc := w.state.Accepted[at]
	data, err := n.room.version(acc.Seq, acc.Hash)
	if err != nil || ctx.Err() != nil {
		return nil, ctx.Err()
	}
	who := author{hand: true, ceiling: parseTrust(acc.Trust), keeps: &acc}
	ps, err := n.room.prepare(w, who, []Candidate{{Path: at, Text: turnLinks(data, at, n.from, n.to), Base: acc.Hash}})
	if err != nil {
		return nil, err
	}
	if p := ps[0]; who.ceiling < UserObserved {
		if judge(p, w); p.outcome() != Accepted {
			return nil, nil
		}
	}
	return ps[0], nil
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
var linkForms = [...]struct{ open, end string }{
	{"](<", ">"}, {"](", " \t)"}, {"]: <", ">"}, {"]: ", " \t\r\n"}, {"[[", "]|"},
}

// turnLine turns the links of one line. Where each form opens next is looked for once, not
// again behind each link: a line may be as long as a memory.
func turnLine(line, dir, from, to string) string {
	var b strings.Builder
	var next [len(linkForms)]int // where the form opens, from at on
	for i := range next {
		next[i] = -1
	}
	for at := 0; ; {
		first, form := len(line), -1
		for i, f := range linkForms {
			if next[i] < at {
				next[i] = len(line)
				if off := strings.Index(line[at:], f.open); off >= 0 {
					next[i] = at + off
				}
			}
			if next[i] < first {
				first, form = next[i], i
			}
		}
		if form < 0 {
			return b.String() + line[at:]
		}
		start := first + len(linkForms[form].open)
		size := strings.IndexAny(line[start:], linkForms[form].end)
		if size < 0 {
			return b.String() + line[at:]
		}
		b.WriteString(line[at:start] + turnDestination(line[start:start+size], dir, from, to, linkForms[form].open == "[["))
		at = start + size
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
