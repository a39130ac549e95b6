package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"github.com/memoryroom/scribe"
)

// host is the part that an agent runtime plays.
type host struct {
	room     *scribe.Room
	rep      *report
	scripted bool // the transcript has the writer's calls; else the extractor proposes
}

// play runs the conversation turn by turn.
func (h *host) play(ctx context.Context, turns []turn) error {
	kept, policy, err := scribe.Narrow(hostTools(), h.rules(), func(t scribe.Tool) scribe.Tool { return t })
	if err != nil {
		return err
	}
	for _, t := range kept {
		h.rep.Kept = append(h.rep.Kept, t.Name)
	}
	h.rep.Removed = policy.Removed()

	// A real host gives the conversation's own ID; here each run is a conversation.
	session, err := h.room.Session(ctx, "run-"+rand.Text(), scribe.UserObserved)
	if err != nil {
		return err
	}
	before, err := session.Snapshot(ctx)
	if err != nil {
		return err
	}
	for i, t := range turns {
		// Everything that enters the conversation lowers the session first.
		low := scribe.UserObserved
		for _, r := range t.results {
			low = min(low, trustOf(r.tool))
		}
		if err := session.Observe(ctx, low); err != nil {
			return err
		}
		out := turnReport{N: i + 1, Session: session.Ceiling().String()}
		for _, msg := range t.user {
			clean, hits := scribe.Redact(msg) // no report is a place for a credential
			out.User, out.Redacted = append(out.User, clean), append(out.Redacted, hits...)
		}
		for _, r := range t.results {
			out.Results = append(out.Results, resultReport{r.tool, trustOf(r.tool).String()})
		}
		for _, run := range h.runs(t) {
			turn := scribe.Turn{N: i + 1, User: t.user, Low: low}
			if run.userOnly {
				turn.Low, turn.NoAssistant = scribe.UserObserved, true
			}
			rr := runReport{UserOnly: run.userOnly}
			rr.Skipped, err = session.Extract(ctx, turn, policy, func(ctx context.Context, g *scribe.Guard) error {
				for _, call := range run.calls {
					rr.Calls = append(rr.Calls, callReport{Tool: call.Tool, Args: argsOf(call), Ruling: g.Check(ctx, call)})
				}
				return nil
			})
			if err != nil {
				return err
			}
			out.Runs = append(out.Runs, rr)
		}
		h.rep.Turns = append(h.rep.Turns, out)
	}
	after, err := session.Snapshot(ctx)
	h.rep.Frozen = before.Text == after.Text
	return err
}

// runs gives the writer's runs over a turn: those of the transcript, or what the
// example extractor proposes.
func (h *host) runs(t turn) []writerRun {
	if h.scripted {
		return t.runs
	}
	return extract(t)
}

// conclude reads what a person wants to see afterwards.
func (h *host) conclude(ctx context.Context) error {
	index, err := os.ReadFile(filepath.Join(h.rep.Room, "MEMORY.md"))
	if err != nil && !os.IsNotExist(err) {
		return err
	}
	h.rep.Index = string(index)
	next, err := h.room.Session(ctx, "after-"+rand.Text(), scribe.UserObserved)
	if err != nil {
		return err
	}
	sn, err := next.Snapshot(ctx)
	if err != nil {
		return err
	}
	h.rep.Snapshot = sn.Text
	for m, err := range h.room.List(ctx, "pending") {
		if err != nil {
			return err
		}
		now, err := h.room.Read(ctx, m.Path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
		h.rep.Pending = append(h.rep.Pending, pendingReport{m, newLines(now.Text, m.Text)})
	}
	for rec, err := range h.room.History(ctx, "") {
		if err != nil {
			return err
		}
		h.rep.Journal = append(h.rep.Journal, rec)
	}
	if h.rep.Head, err = h.room.Head(); err != nil {
		return err
	}
	h.rep.Check, err = h.room.Check(ctx, false)
	return err
}

// newLines gives the lines of text that old does not have.
func newLines(old, text string) []string {
	had := map[string]bool{}
	for line := range strings.Lines(old) {
		had[strings.TrimSpace(line)] = true
	}
	var out []string
	for line := range strings.Lines(text) {
		if t := strings.TrimSpace(line); t != "" && !had[t] {
			out = append(out, t)
		}
	}
	return out
}

// hostTools is what a coding agent would hand to its subagents.
func hostTools() []scribe.Tool {
	object := func(props string) json.RawMessage {
		return json.RawMessage(`{"type":"object","properties":{` + props + `},"additionalProperties":false}`)
	}
	yes := true
	return []scribe.Tool{
		{Name: "Bash", Schema: object(`"command":{"type":"string"}`)},
		{Name: "Read", Schema: object(`"file_path":{"type":"string"},"offset":{"type":"number"},"limit":{"type":"number"}`)},
		{Name: "Write", Schema: object(`"file_path":{"type":"string"},"content":{"type":"string"}`)},
		{Name: "Edit", Schema: object(`"file_path":{"type":"string"},"old_string":{"type":"string"},"new_string":{"type":"string"}`)},
		{Name: "Grep", Schema: object(`"pattern":{"type":"string"},"path":{"type":"string"}`)},
		{Name: "WebFetch", Schema: object(`"url":{"type":"string"},"prompt":{"type":"string"}`), OpenWorld: &yes},
		{Name: "Task", Schema: object(`"prompt":{"type":"string"}`)},
		{Name: "SendFile", Schema: object(`"path":{"type":"string"}`)},
		{Name: "mcp__github__create_issue", Server: "github", Schema: object(`"title":{"type":"string"}`)},
	}
}

// rules are what the writer keeps: it may read the project's docs, and where it
// calls Write, our create runs and the host's Write never does.
func (h *host) rules() map[string]scribe.Rule {
	docs := filepath.Join(os.TempDir(), "project", "docs")
	return map[string]scribe.Rule{
		"Read":  {Reads: []string{"file_path"}, Free: []string{"offset", "limit"}, Dirs: []string{docs}, Gives: scribe.UserObserved},
		"Write": {As: "create", Args: map[string]string{"path": "file_path", "file_text": "content"}},
	}
}

// argsOf is a call's arguments for the report, without credentials.
func argsOf(c scribe.Call) string {
	raw, ok := c.Args.(json.RawMessage)
	if !ok {
		raw = []byte(fmt.Sprint(c.Args))
	}
	clean, _ := scribe.Redact(string(raw))
	return clean
}
