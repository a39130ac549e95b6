package main

import (
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/memoryroom/scribe"
)

// entry is a memory as JSON has it.
type entry struct {
	Path        string    `json:"path"`
	ID          string    `json:"id,omitempty"`
	Stage       string    `json:"stage"`
	Type        string    `json:"type,omitempty"`
	Trust       string    `json:"trust"`
	Key         string    `json:"key,omitempty"`
	Topic       string    `json:"topic,omitempty"`
	Tags        []string  `json:"tags,omitempty"`
	VerifyWhen  string    `json:"verify_when,omitempty"`
	Supersedes  []string  `json:"supersedes,omitempty"`
	By          string    `json:"superseded_by,omitempty"`
	Category    string    `json:"category,omitempty"`
	Modified    time.Time `json:"modified,omitzero"`
	Description string    `json:"description,omitempty"`
	Hash        string    `json:"hash"`
	Findings    []finding `json:"findings,omitempty"`
	Text        *string   `json:"text,omitempty"`
}

type finding struct {
	Rule    string `json:"rule"`
	Outcome string `json:"outcome"`
	Field   string `json:"field,omitempty"`
	Offset  int    `json:"offset,omitempty"`
	Length  int    `json:"length,omitempty"`
	Message string `json:"message"`
	Fix     string `json:"fix,omitempty"`
}

func entryOf(m scribe.Memory) entry {
	return entry{
		Path: m.Path, ID: m.ID, Stage: m.Stage, Type: m.Type, Trust: m.Trust.String(), Key: m.Key,
		Topic: m.Topic, Tags: m.Tags, VerifyWhen: m.VerifyWhen, Supersedes: m.Supersedes, By: m.SupersededBy, Category: m.Category,
		Modified: m.Modified, Description: m.Description, Hash: m.Hash, Findings: findingsOf(m.Findings),
	}
}

func findingsOf(all []scribe.Finding) []finding {
	out := make([]finding, 0, len(all))
	for _, f := range all {
		out = append(out, finding{f.Rule, f.Outcome.String(), f.Field, f.Offset, f.Length, f.Message, f.Fix})
	}
	return out
}

func entriesOf(all []scribe.Memory) []entry {
	out := make([]entry, 0, len(all))
	for _, m := range all {
		out = append(out, entryOf(m))
	}
	return out
}

// collect reads the memories of some stages.
func (a *app) collect(ctx context.Context, r *scribe.Room, stages ...string) ([]scribe.Memory, error) {
	var all []scribe.Memory
	for m, err := range r.List(ctx, stages...) {
		if err != nil {
			return nil, err
		}
		all = append(all, m)
		a.screen.step("memories read:", len(all))
	}
	a.screen.close()
	return all, nil
}

func (a *app) list() *cobra.Command {
	var stages []string
	var typ, trust, below, topic, tag, at string
	c := &cobra.Command{
		Use:   "list [TEXT]",
		Short: "List the memories",
		Long: `List the memories by path. TEXT keeps those whose path, key or description contains it.

The stages are active (accepted), changed (accepted, and changed outside since: what is
listed is the accepted text), unaccepted (a file that was never accepted), foreign (a
file that only other tools may use), pending and archived.`,
		Example: `  scribe-room list
  scribe-room list deploy --type project
  scribe-room list --stage unaccepted
  scribe-room list --below user-observed      what came from outside
  scribe-room list --at 7d                    what it knew a week ago
  scribe-room list --json | jq -r '.[].path'`,
		Args: args(0, 1, "one word to look for, or none"),
		RunE: a.with(reads, func(ctx context.Context, r *scribe.Room, args []string) error {
			var low scribe.Trust
			if below != "" {
				if err := low.UnmarshalText([]byte(below)); err != nil {
					return usage("--below: %w", err)
				}
			}
			var all []scribe.Memory
			var err error
			if at != "" {
				all, err = a.then(ctx, r, at, stages)
			} else {
				all, err = a.collect(ctx, r, stages...)
			}
			if err != nil {
				return usageIf(err, "list: stage")
			}
			all = slices.DeleteFunc(all, func(m scribe.Memory) bool {
				return topic != "" && m.Topic != topic || tag != "" && !slices.Contains(m.Tags, tag) || typ != "" && m.Type != typ || trust != "" && m.Trust.String() != trust ||
					below != "" && m.Trust >= low || len(args) > 0 && !mentions(m, args[0])
			})
			return a.print(entriesOf(all), func() { a.memories(all) })
		}),
	}
	f := c.Flags()
	f.StringSliceVar(&stages, "stage", nil, "only these `stages`; none: active and changed")
	f.StringVar(&typ, "type", "", "only this `type`: user, feedback, project or reference")
	f.StringVar(&trust, "trust", "", "only this `trust`")
	f.StringVar(&below, "below", "", "only what is worth less than this `trust`")
	f.StringVar(&topic, "topic", "", "only this `topic`")
	f.StringVar(&tag, "tag", "", "only with this `tag`")
	f.StringVar(&at, "at", "", "as it was then: a `row` of the audit log, a time such as 2026-11-30T18:00Z, or 7d ago")
	a.complete(c, "stage", "active", "changed", "unaccepted", "foreign", "pending", "archived")
	a.complete(c, "type", "user", "feedback", "project", "reference")
	a.complete(c, "trust", trusts...)
	a.complete(c, "below", trusts...)
	return c
}

// then lists what the room held at a row, or at a time.
func (a *app) then(ctx context.Context, r *scribe.Room, at string, stages []string) ([]scribe.Memory, error) {
	seq, err := a.row(ctx, r, at)
	if err != nil {
		return nil, err
	}
	if len(stages) == 0 {
		stages = []string{"active"}
	}
	var all []scribe.Memory
	for m, err := range r.At(ctx, seq) {
		if err != nil {
			return nil, err
		}
		if slices.Contains(stages, m.Stage) {
			all = append(all, m)
		}
	}
	return all, nil
}

// row reads a row's number, or finds the last row that is not after a time.
func (a *app) row(ctx context.Context, r *scribe.Room, at string) (int64, error) {
	if seq, err := strconv.ParseInt(at, 10, 64); err == nil && seq >= 0 {
		return seq, nil
	}
	var when time.Time
	if d, err := age(at); err == nil {
		when = time.Now().Add(-d)
	} else {
		for _, form := range []string{time.RFC3339, "2006-01-02T15:04Z", time.DateOnly} {
			if when, err = time.Parse(form, at); err == nil {
				break
			}
		}
		if err != nil {
			return 0, usage("--at: %.40q is no row, no time such as 2026-11-30T18:00Z, and no age such as 7d", at)
		}
	}
	var seq int64
	_, err := a.records(ctx, r, "", func(rec scribe.Record) bool {
		if !rec.Time.After(when) {
			seq = rec.Seq
		}
		return false
	})
	return seq, err
}

// trusts are the names of the trust levels, highest first.
var trusts = []string{
	scribe.Operator.String(), scribe.UserVerified.String(), scribe.UserObserved.String(),
	scribe.ExternalTool.String(), scribe.ExternalWeb.String(),
}

func (a *app) complete(c *cobra.Command, flag string, values ...string) {
	must(c.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp)))
}

// usageIf marks an error of the library that only a wrong command line leads to.
func usageIf(err error, prefix string) error {
	if err != nil && strings.HasPrefix(err.Error(), prefix) {
		return coded{exitUsage, err}
	}
	return err
}

func mentions(m scribe.Memory, word string) bool {
	word = strings.ToLower(word)
	return strings.Contains(strings.ToLower(m.Path+"\n"+m.Key+"\n"+m.Description), word)
}

func (a *app) memories(all []scribe.Memory) {
	if len(all) == 0 && a.screen.tty {
		a.screen.printf("No memory. scribe-room adopt lists files that were never accepted.\n")
		return
	}
	rows := make([][]string, 0, len(all))
	for _, m := range all {
		rows = append(rows, []string{plain(m.Path), m.Type, a.trust(m.Trust), a.stage(m), minute(m.Modified), line(m.Description)})
	}
	a.screen.table([]string{"path", "type", "trust", "stage", "modified", "description"}, rows, "modified")
	if a.screen.tty {
		a.screen.printf("%s\n", count(len(all), "memory", "memories"))
	}
}

// count is a number with its noun.
func count(n int, one, many string) string {
	if n == 1 {
		return "1 " + one
	}
	return fmt.Sprintf("%d %s", n, many)
}

func (a *app) trust(t scribe.Trust) string {
	if t < scribe.UserObserved {
		return a.screen.paint(text.FgYellow, t.String())
	}
	return t.String()
}

func (a *app) stage(m scribe.Memory) string {
	s := m.Stage
	if len(m.Findings) > 0 && m.Stage != "pending" {
		s += " flagged"
	}
	if s != "active" {
		return a.screen.paint(text.FgYellow, s)
	}
	return s
}

// minute is a time as every command prints it: UTC, as the index has it.
func minute(t time.Time) string {
	if t.IsZero() {
		return "-"
	}
	return t.UTC().Format("2006-01-02T15:04Z")
}

func (a *app) show() *cobra.Command {
	var stage string
	var pending bool
	c := &cobra.Command{
		Use:   "show PATH",
		Short: "Show one memory, or one held candidate, in full",
		Long: `Show a memory. In a pipe its bytes are printed as they are stored, and nothing else;
on a terminal a header comes first, and characters that could fool a terminal are spelled
out as <U+200B>.

With --pending the argument is the ID of a held candidate, or the start of one: what it
would do, why it is held, and the difference that it makes.`,
		Example: `  scribe-room show project/deploy.md
  scribe-room show project/deploy.md > copy.md
  scribe-room show --stage unaccepted notes.md
  scribe-room show --pending 1d4aadf7`,
		Args: args(1, 1, "one path"),
		RunE: a.with(reads, func(ctx context.Context, r *scribe.Room, args []string) error {
			if pending {
				h, err := a.find(ctx, r, args[0])
				if err != nil {
					return err
				}
				return a.print(h.json(), func() {
					a.held(h)
					a.screen.printf("\nto let it in without a question: approve --yes %s\n", bound(h))
				})
			}
			m, err := a.one(ctx, r, args[0], stage)
			if err != nil {
				return err
			}
			out := entryOf(m)
			out.Text = &m.Text
			return a.print(out, func() { a.full(m) })
		}),
	}
	c.Flags().StringVar(&stage, "stage", "", "the `stage` to show where a path has several: unaccepted, archived")
	c.Flags().BoolVar(&pending, "pending", false, "the argument is a held candidate's ID")
	a.complete(c, "stage", "active", "changed", "unaccepted", "foreign", "archived")
	c.ValidArgsFunction = func(cmd *cobra.Command, args []string, prefix string) ([]string, cobra.ShellCompDirective) {
		if pending {
			return a.paths("pending")(cmd, args, prefix)
		}
		return a.paths("active", "changed")(cmd, args, prefix)
	}
	return c
}

// one finds a memory by its path, in a stage where one is named.
func (a *app) one(ctx context.Context, r *scribe.Room, path, stage string) (scribe.Memory, error) {
	if stage == "" {
		m, err := r.Read(ctx, path)
		if exitCode(err) == exitMissing {
			return m, missing("there is no memory %.120q; scribe-room list shows what there is", path)
		}
		return m, err
	}
	all, err := a.collect(ctx, r, stage)
	if err != nil {
		return scribe.Memory{}, usageIf(err, "list: stage")
	}
	for _, m := range all {
		if m.Path == path {
			return m, nil
		}
	}
	return scribe.Memory{}, fmt.Errorf("no %s memory %.120q: %w", stage, path, fs.ErrNotExist)
}

func (a *app) full(m scribe.Memory) {
	s := &a.screen
	if !s.tty {
		s.printf("%s", m.Text)
		return
	}
	s.printf("%s  %s\n", s.paint(text.Bold, plain(m.Path)), strings.Join([]string{m.Type, m.Trust.String(), m.Stage, minute(m.Modified)}, "  "))
	a.findings(m.Findings)
	s.printf("\n%s", plain(m.Text))
	if !strings.HasSuffix(m.Text, "\n") {
		s.printf("\n")
	}
}

func (a *app) findings(all []scribe.Finding) {
	for _, f := range all {
		a.screen.printf("  %s  %s", a.screen.paint(text.FgYellow, f.Rule), line(f.Message))
		if f.Fix != "" {
			a.screen.printf("; %s", line(f.Fix))
		}
		if f.Field != "" {
			a.screen.printf(" (%s", plain(f.Field))
			if f.Length > 0 {
				a.screen.printf(", bytes %d to %d", f.Offset, f.Offset+f.Length)
			}
			a.screen.printf(")")
		}
		a.screen.printf("\n")
	}
}

// paths completes the paths of memories in the shell.
func (a *app) paths(stages ...string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, _ []string, prefix string) ([]string, cobra.ShellCompDirective) {
		r, err := a.open(reads)
		if err != nil {
			return nil, cobra.ShellCompDirectiveError
		}
		defer r.Close()
		var out []string
		for m, err := range r.List(cmd.Context(), stages...) {
			if err != nil {
				return nil, cobra.ShellCompDirectiveError
			}
			id := m.Path
			if m.ID != "" {
				id = m.ID
			}
			if strings.HasPrefix(id, prefix) {
				out = append(out, id)
			}
		}
		return out, cobra.ShellCompDirectiveNoFileComp
	}
}
