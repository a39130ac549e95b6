package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/memoryroom/scribe"
)

// report is everything that a run has to show. It is what -json prints.
type report struct {
	Room       string
	Transcript string
	Kept       []string
	Removed    []scribe.Finding
	Turns      []turnReport
	Frozen     bool // the session's snapshot did not change with what was written
	Index      string
	Snapshot   string // of the next conversation
	Pending    []pendingReport
	Journal    []scribe.Record
	Head       string
	Check      []scribe.Finding
}

// pendingReport is a held candidate, with the lines that it would bring in.
type pendingReport struct {
	scribe.Memory
	New []string
}

type turnReport struct {
	N        int
	User     []string
	Redacted []scribe.Finding // credentials that were taken out of User
	Results  []resultReport
	Session  string // trust ceiling after the turn's results were seen
	Runs     []runReport
}

type resultReport struct{ Tool, Trust string }

type runReport struct {
	UserOnly bool
	Skipped  string // reason; "" when it ran
	Calls    []callReport
}

type callReport struct {
	Tool   string
	Args   string
	Ruling scribe.Ruling
}

func (r *report) writeJSON(w io.Writer) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", "  ")
	return enc.Encode(r)
}

func (r *report) writeText(w io.Writer) error {
	p := &printer{w: w}
	p.printf("room        %s\ntranscript  %s, %d turns\n", r.Room, r.Transcript, len(r.Turns))
	r.tools(p)
	for _, t := range r.Turns {
		t.print(p)
	}
	r.outcome(p)
	return p.err
}

// tools says what of the host's tools the writer was left with.
func (r *report) tools(p *printer) {
	p.head("THE WRITER'S TOOLS")
	p.printf("  %-9s %-26s %s\n", "ours", "memory, recall", "parse, check, admit and write in one step")
	for _, name := range r.Kept {
		p.printf("  %-9s %-26s %s\n", "kept", name, map[string]string{"Read": "only below the project's docs, never the room", "Write": "an alias: our create runs, the host's Write never does"}[name])
	}
	for _, f := range r.Removed {
		p.printf("  %-9s %-26s %s: %s\n", "removed", f.Field, f.Rule, strings.TrimPrefix(f.Message, "removed from the writer: "))
	}
}

func (t turnReport) print(p *printer) {
	p.head(fmt.Sprintf("TURN %d", t.N))
	for _, msg := range t.User {
		p.printf("  user      %s\n", clip(msg, 108))
	}
	for _, h := range t.Redacted {
		p.printf("            (a credential was redacted: %s)\n", h.Rule)
	}
	for _, res := range t.Results {
		p.printf("  result    of %s, labelled %s; the session's ceiling is %s\n", res.Tool, res.Trust, t.Session)
	}
	for _, run := range t.Runs {
		sees := "the whole turn"
		if run.UserOnly {
			sees = "the user's words alone"
		}
		if run.Skipped != "" {
			p.printf("  writer    over %s: skipped, %s\n", sees, run.Skipped)
			continue
		}
		p.printf("  writer    over %s\n", sees)
		for _, c := range run.Calls {
			c.print(p)
		}
	}
}

func (c callReport) print(p *printer) {
	p.printf("    %-9s %s\n", c.word(), c.summary())
	v := c.Ruling.Verdict
	if v == nil {
		if c.Ruling.IsError {
			p.printf("              %s\n", clip(c.Ruling.Text, 108))
		}
		return
	}
	for _, f := range append(append([]scribe.Finding(nil), v.Findings...), v.Notices...) {
		if f.Outcome > v.Outcome {
			continue // not what decided it
		}
		p.printf("              %s: %s\n", f.Rule, clip(f.Message, 96))
	}
}

// word is the ruling in one word.
func (c callReport) word() string {
	switch v := c.Ruling.Verdict; {
	case v != nil && v.Outcome == scribe.Held:
		return "HELD"
	case v != nil && v.Outcome == scribe.Rejected:
		return "REJECTED"
	case v != nil:
		return "accepted"
	case c.Ruling.IsError && contractError(c.Ruling.Text):
		return "failed"
	case c.Ruling.IsError:
		return "DENIED"
	case c.Ruling.Run:
		return "run"
	}
	return "read"
}

// contractError reports whether a reply is one of the memory tool's ordinary errors: what
// a model that looked first would not have tried.
func contractError(text string) bool {
	for _, s := range []string{" already exists", " does not exist", "No replacement was performed", "Invalid `insert_line`"} {
		if strings.Contains(text, s) {
			return true
		}
	}
	return false
}

// summary is the call without the text that it carries, and what it is worth.
func (c callReport) summary() string {
	var args map[string]any
	if json.Unmarshal([]byte(c.Args), &args) != nil {
		return c.Tool
	}
	s := c.Tool
	for _, name := range []string{"command", "path", "old_path", "new_path", "file_path", "url", "query"} {
		if v, ok := args[name].(string); ok {
			s += " " + clip(v, 64)
		}
	}
	v := c.Ruling.Verdict
	switch {
	case v == nil:
	case v.Outcome == scribe.Held:
		s += "  (id " + v.ID + ")"
	case v.Outcome == scribe.Accepted && v.Memory.Stage == "active":
		s += "  as " + v.Memory.Trust.String()
	}
	return s
}

// outcome is what is left afterwards: for the agent, and for the operator.
func (r *report) outcome(p *printer) {
	p.head("MEMORY.md")
	p.printf("%s", indent(r.Index))
	p.head("THE SNAPSHOT OF THE NEXT CONVERSATION")
	p.printf("%s", indent(r.Snapshot))
	if r.Frozen {
		p.printf("\n  This conversation's own snapshot did not change with what was written in it.\n")
	}
	p.head("FOR THE OPERATOR")
	if len(r.Pending) == 0 {
		p.printf("  nothing waits\n")
	}
	for _, m := range r.Pending {
		p.printf("  %s  %s  (%s)\n", m.ID, m.Path, m.Trust)
		for _, f := range m.Findings {
			if f.Outcome == scribe.Held {
				p.printf("      %s: %s\n", f.Rule, f.Message)
			}
		}
		for _, line := range m.New {
			p.printf("      + %s\n", clip(fmt.Sprintf("%q", line), 100))
		}
	}
	if len(r.Pending) > 0 {
		p.printf("  Decide with Room.Resolve: an approval is bound to the bytes that were shown.\n")
	}
	count := map[string]int{}
	var ops []string
	for _, rec := range r.Journal {
		if count[rec.Op] == 0 {
			ops = append(ops, rec.Op)
		}
		count[rec.Op]++
	}
	p.head("JOURNAL")
	p.printf("  %d rows:", len(r.Journal))
	for _, op := range ops {
		p.printf(" %d %s", count[op], op)
	}
	p.printf("\n  head %s\n  check: ", clip(r.Head, 40))
	if len(r.Check) == 0 {
		p.printf("the chain holds, each version and the index are as they should be\n")
	}
	for _, f := range r.Check {
		p.printf("%s %s: %s\n", f.Rule, f.Field, f.Message)
	}
}

// printer keeps the first error of many writes.
type printer struct {
	w   io.Writer
	err error
}

func (p *printer) printf(format string, args ...any) {
	if p.err == nil {
		_, p.err = fmt.Fprintf(p.w, format, args...)
	}
}

func (p *printer) head(s string) { p.printf("\n%s\n", s) }

// clip makes one line of at most n runes, with nothing in it that a terminal acts on.
func clip(s string, n int) string {
	out := []rune(strings.Map(func(c rune) rune {
		if c < ' ' || c == 0x7f || (c >= 0x80 && c < 0xa0) || (c >= 0x200b && c <= 0x200f) || (c >= 0x2028 && c <= 0x202e) {
			return ' '
		}
		return c
	}, s))
	if len(out) > n {
		return string(out[:n]) + "..."
	}
	return string(out)
}

func indent(s string) string {
	var b strings.Builder
	for line := range strings.Lines(s) {
		b.WriteString("  " + line)
	}
	return b.String()
}
