package scribe

import (
	"bytes"
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/memoryroom/scribe/internal/journal"
	"github.com/memoryroom/scribe/internal/rootfs"
)

// memRoom opens a room on a file system in memory, with a clock of its own.
func memRoom(t interface{ Fatal(...any) }, mem *rootfs.Mem, o *Options) *Room {
	settled, err := o.settle()
	if err != nil {
		t.Fatal(err)
	}
	r, err := openOn(rootfs.New(mem), settled)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// tick gives a clock that moves one second a call.
func tick() func() time.Time {
	now := time.Date(2026, 9, 21, 8, 12, 0, 0, time.UTC)
	return func() time.Time { now = now.Add(time.Second); return now }
}

// life is a state machine over a room: every operation that can put text into it or
// move trust, from every kind of author, with outside edits and restarts between.
// Each text carries a mark that says who wrote it.
type life struct {
	mem   *rootfs.Mem
	opts  *Options
	room  *Room
	marks int
	trust map[string]Trust // by path, as the room said last
	open  map[string]bool  // marks of outside texts that the operator accepted
	raise map[string]bool  // paths where the operator acted since the last look
}

func (l *life) mark(t Trust) string {
	l.marks++
	return fmt.Sprintf("mark%sx%dx", strings.ReplaceAll(t.String(), "-", ""), l.marks)
}

var lifePaths = []string{"a.md", "b.md", "d/c.md"}

func (l *life) actions() map[string]func(*rapid.T) {
	path := rapid.SampledFrom(lifePaths)
	trust := rapid.SampledFrom([]Trust{0, ExternalWeb, ExternalTool, UserObserved, UserVerified})
	ctx := context.Background()
	return map[string]func(*rapid.T){
		"write": func(t *rapid.T) {
			level, p := trust.Draw(t, "trust"), path.Draw(t, "path")
			g := l.guard(t, level)
			c := Candidate{Path: p, Text: "Fact " + l.mark(level) + ".\n"}
			if m, err := l.room.Read(ctx, p); err == nil && rapid.Bool().Draw(t, "based") {
				c.Base = m.Hash
			}
			l.must(t, g, c)
		},
		"edit": func(t *rapid.T) {
			level, p := trust.Draw(t, "trust"), path.Draw(t, "path")
			l.must(t, l.guard(t, level), Candidate{Path: p, Old: "Fact", New: "Fact " + l.mark(level)})
		},
		"label": func(t *rapid.T) {
			level, p := trust.Draw(t, "trust"), path.Draw(t, "path")
			if m, err := l.room.Read(ctx, p); err == nil {
				l.must(t, l.guard(t, level), Candidate{Path: p, Description: "About " + l.mark(level), Base: m.Hash})
			}
		},
		"rename": func(t *rapid.T) {
			l.must(t, l.guard(t, trust.Draw(t, "trust")), Candidate{Path: path.Draw(t, "path"), To: path.Draw(t, "to")})
		},
		"remove": func(t *rapid.T) {
			l.must(t, l.guard(t, trust.Draw(t, "trust")), Candidate{Path: path.Draw(t, "path"), Remove: true})
		},
		"outside": func(t *rapid.T) {
			p := path.Draw(t, "path")
			if rapid.Bool().Draw(t, "delete") {
				l.mem.Unplant(p)
				return
			}
			l.mem.Plant(p, rootfs.File, []byte("Fact "+l.mark(ExternalWeb)+"\n"))
		},
		"resolve": func(t *rapid.T) {
			for m, err := range l.room.List(ctx, "pending") {
				l.ok(t, err)
				res := Resolution{ID: m.ID, Hash: m.Hash, Approve: rapid.Bool().Draw(t, "approve")}
				vs, err := l.room.Resolve(ctx, res)
				l.ok(t, err)
				if vs[0].Outcome == Accepted {
					l.accepted(vs[0].Memory)
				}
				return
			}
		},
		"adopt": func(t *rapid.T) {
			for m, err := range l.room.List(ctx, "active", "changed", "unaccepted") {
				l.ok(t, err)
				if rapid.Bool().Draw(t, "this") {
					vs, err := l.room.Adopt(ctx, trust.Draw(t, "trust"), m)
					l.ok(t, err)
					if vs[0].Outcome == Accepted {
						l.accepted(m)
					}
				}
			}
		},
		"rollback": func(t *rapid.T) {
			p := path.Draw(t, "path")
			seq := rapid.Int64Range(1, 40).Draw(t, "seq")
			vs, err := l.room.Rollback(ctx, seq, p)
			for _, v := range vs { // with what was changed together with it
				if err == nil && v.Outcome == Accepted {
					l.raise[v.Memory.Path] = true
				}
			}
		},
		"archive": func(t *rapid.T) { _ = archived(l.room, path.Draw(t, "path")) },
		"restore": func(t *rapid.T) {
			p := path.Draw(t, "path")
			if v, err := restored(l.room, p); err == nil && v.Outcome == Accepted {
				l.raise[p] = true
			}
		},
		"move": func(t *rapid.T) {
			from, to := path.Draw(t, "from"), path.Draw(t, "to")
			if vs, err := l.room.Rename(ctx, from, to); err == nil && len(vs) > 0 && vs[0].Outcome == Accepted {
				l.raise[to] = true
			}
		},
		"supersede": func(t *rapid.T) {
			p, old := path.Draw(t, "path"), path.Draw(t, "old")
			c := Candidate{Path: p, Text: "Fact " + l.mark(Operator) + ".\n", Supersedes: []string{old}}
			if m, err := l.room.Read(ctx, p); err == nil {
				c.Base = m.Hash
			}
			vs, err := l.room.Propose(ctx, c)
			l.ok(t, err)
			if vs[0].Outcome == Accepted {
				l.raise[p] = true
			}
		},
		"suspend": func(t *rapid.T) {
			_, err := l.room.Suspend(ctx, "to be looked at", path.Draw(t, "path"))
			l.ok(t, err)
		},
		"carry": func(t *rapid.T) { l.carry(t, trust.Draw(t, "trust")) },
		"restart": func(t *rapid.T) {
			l.room = memRoom(t, l.mem, l.opts)
		},
		"": l.invariants,
	}
}

func (l *life) ok(t *rapid.T, err error) {
	if err != nil {
		t.Fatal(err)
	}
}

// guard gives a writer, now and then in a conversation that others were in before.
func (l *life) guard(t *rapid.T, level Trust) *Guard {
	l.marks++
	id := fmt.Sprint("s", l.marks)
	if rapid.IntRange(0, 3).Draw(t, "reuse") == 0 {
		id = "shared"
	}
	s, err := l.room.Session(context.Background(), id, level)
	l.ok(t, err)
	return s.Guard(1)
}

func (l *life) must(t *rapid.T, g *Guard, c Candidate) {
	vs, err := g.Propose(context.Background(), c)
	l.ok(t, err)
	for _, v := range vs {
		if v.Outcome == Accepted && v.Err() != nil || v.Outcome != Accepted && v.Err() == nil {
			t.Fatalf("verdict %v with error %v", v.Outcome, v.Err())
		}
	}
}

// accepted notes what the operator took responsibility for.
func (l *life) accepted(m Memory) {
	l.raise[m.Path] = true
	for _, w := range strings.FieldsFunc(m.Text+" "+m.Description, func(c rune) bool { return (c < 'a' || c > 'z') && (c < '0' || c > '9') }) {
		if strings.HasPrefix(w, "mark") {
			l.open[w] = true
		}
	}
}

// invariants hold after every step.
func (l *life) invariants(t *rapid.T) {
	ctx := context.Background()
	now := map[string]Trust{}
	for m, err := range l.room.List(ctx) {
		l.ok(t, err)
		now[m.Path] = m.Trust
		if before, ok := l.trust[m.Path]; ok && m.Trust > before && !l.raise[m.Path] {
			t.Fatalf("%s rose from %v to %v without the operator", m.Path, before, m.Trust)
		}
	}
	// A path that was free may be taken again at any trust that its author has.
	l.trust, l.raise = now, map[string]bool{}

	s, err := l.room.Session(ctx, fmt.Sprint("look", l.marks), UserVerified)
	l.ok(t, err)
	l.marks++
	sn, err := s.render(ctx)
	l.ok(t, err)
	l.quoted(t, "snapshot", sn.Text)
	if l.marks%3 == 0 { // they cost most of the time
		l.tools(t, s)
	}
	delta, err := l.watch(t).Delta(ctx)
	l.ok(t, err)
	l.quoted(t, "delta", delta.Text)
	l.audit(t)
}

// watch is a conversation that is in progress all the time and never committed since its
// start, so that its delta tells of all that happened.
func (l *life) watch(t *rapid.T) *Session {
	s, err := l.room.Session(context.Background(), "watch", UserVerified)
	l.ok(t, err)
	return s
}

var quotedString = regexp.MustCompile(quotedGrammar)

// low lists the marks of outside texts that nobody accepted. With tools, those of external
// tools are among them.
func (l *life) low(text string, tools bool) (found []string) {
	for _, w := range strings.FieldsFunc(text, func(c rune) bool { return (c < 'a' || c > 'z') && (c < '0' || c > '9') }) {
		outside := strings.HasPrefix(w, "markexternalweb") || strings.HasPrefix(w, "mark"+strings.ReplaceAll(Trust(0).String(), "-", "")+"x") || tools && strings.HasPrefix(w, "markexternaltool")
		if outside && !l.open[w] {
			found = append(found, w)
		}
	}
	return found
}

// quoted checks that a text shows nothing of external-web, and of external-tool only what
// stands in quotation marks.
func (l *life) quoted(t *rapid.T, where, text string) {
	if marks := l.low(text, false); len(marks) > 0 {
		t.Fatalf("the %s shows %v, which nobody accepted:\n%s", where, marks, text)
	}
	if marks := l.low(quotedString.ReplaceAllString(text, `""`), true); len(marks) > 0 {
		t.Fatalf("%v stands unquoted in the %s:\n%s", marks, where, text)
	}
}

// tools checks what the tools of a conversation of the user's show.
func (l *life) tools(t *rapid.T, s *Session) {
	ctx := context.Background()
	for _, level := range []Trust{UserObserved, ExternalTool} {
		g := s.guard(Policy{}, level, 1, nil)
		l.quoted(t, "recall result", g.Check(ctx, Call{Tool: "recall", Args: map[string]any{"query": "Fact About mark"}}).Text)
		prompt, err := g.Prompt(ctx)
		l.ok(t, err)
		for where, text := range map[string]string{"prompt": prompt, "listing": l.view(g, "")} {
			if marks := l.low(text, true); len(marks) > 0 {
				t.Fatalf("the %s shows %v:\n%s", where, marks, text)
			}
		}
		for _, p := range append([]string{"MEMORY.md"}, lifePaths...) { // last: a view by name lowers what the guard may see
			text := l.view(g, "/"+p)
			if marks := l.low(text, true); len(marks) > 0 && !strings.HasPrefix(text, "[notice") {
				t.Fatalf("a view shows %v and does not say that it is from outside:\n%s", marks, text)
			}
		}
	}
}

func (l *life) view(g *Guard, path string) string {
	return g.Check(context.Background(), Call{Tool: "memory", Args: map[string]any{"command": "view", "path": "/memories" + path}}).Text
}

// carry takes what the room has into another one, whose operator trusts it at most at
// level, and looks at that.
func (l *life) carry(t *rapid.T, level Trust) {
	ctx := context.Background()
	var tar bytes.Buffer
	l.ok(t, l.room.Export(ctx, &tar))
	other := memRoom(t, rootfs.NewMem(), &Options{Now: tick()})
	_, err := other.Import(ctx, &tar, level)
	l.ok(t, err)
	s, err := other.Session(ctx, "elsewhere", UserVerified)
	l.ok(t, err)
	sn, err := s.render(ctx)
	l.ok(t, err)
	l.quoted(t, "snapshot of another room", sn.Text)
	l.tools(t, s)
}

// audit checks that the journal tells the truth: the chain holds, every text that
// any row accepted is among the versions, and no problem but an outside hand's.
func (l *life) audit(t *rapid.T) {
	ctx := context.Background()
	var rows []journal.Row
	l.ok(t, l.room.eachRow(ctx, func(row journal.Row) bool { rows = append(rows, row); return true }))
	for i := range rows {
		for path, acc := range journal.Replay(rows, rows[i].Seq).Accepted {
			if _, err := l.room.version(acc.Seq, acc.Hash); err != nil {
				t.Fatalf("row %d: the text of %s is gone: %v", i+1, path, err)
			}
		}
	}
	fs, err := l.room.Check(ctx, false)
	l.ok(t, err)
	for _, f := range fs {
		if f.Rule != "check.changed" && f.Rule != "check.deleted" && f.Rule != "check.index" {
			t.Fatalf("check: %+v", f)
		}
	}
}

// TestG5_Life is the property behind G5, G7, G9 and G10, over all operations.
func TestG5_Life(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := &life{mem: rootfs.NewMem(), opts: &Options{Now: tick()}, trust: map[string]Trust{}, open: map[string]bool{}, raise: map[string]bool{}}
		l.room = memRoom(t, l.mem, l.opts)
		t.Repeat(l.actions())
	})
}

// TestRollbackUnretires: what was moved and then archived is back under its first name,
// and its retirement is gone from the disk and the books alike.
func TestRollbackUnretires(t *testing.T) {
	ctx := context.Background()
	r := memRoom(t, rootfs.NewMem(), &Options{Now: tick()})
	fail := func(err error) {
		if err != nil {
			t.Fatal(err)
		}
	}
	_, err := r.Propose(ctx, Candidate{Path: "old.md", Text: "Fact.\n"})
	fail(err)
	seq := r.stateNow().Seq
	_, err = r.Rename(ctx, "old.md", "new.md")
	fail(err)
	fail(archived(r, "new.md"))
	v, err := rolledBack(r, seq, "old.md")
	fail(err)
	if v.Outcome != Accepted {
		t.Fatalf("got %v", v)
	}
	wantClean(t, r)
}
