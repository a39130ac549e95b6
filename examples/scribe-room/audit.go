package main

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"time"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/memoryroom/scribe"
)

// record is a row of the audit log as JSON has it.
type record struct {
	Seq    int64     `json:"seq"`
	Time   time.Time `json:"time"`
	Op     string    `json:"op"`
	Act    string    `json:"act,omitempty"`
	Path   string    `json:"path,omitempty"`
	To     string    `json:"to,omitempty"`
	ID     string    `json:"id,omitempty"`
	By     string    `json:"by,omitempty"`
	Reason string    `json:"reason,omitempty"`
	Old    string    `json:"old,omitempty"`
	New    string    `json:"new,omitempty"`
	Rules  []string  `json:"rules,omitempty"`
}

func recordsOf(all []scribe.Record) []record {
	out := make([]record, 0, len(all))
	for _, r := range all {
		out = append(out, record{r.Seq, r.Time, r.Op, r.Act, r.Path, r.To, r.ID, r.By, r.Reason, r.Old, r.New, r.Rules})
	}
	return out
}

func (a *app) audit() *cobra.Command {
	var last int
	var ops []string
	var since string
	c := &cobra.Command{
		Use:   "audit [PATH]",
		Short: "What happened in the room, oldest first",
		Long: `Print the audit log: every change, every refusal, every decision, without content. PATH
keeps the rows about one memory.`,
		Example: `  scribe-room audit --last 20
  scribe-room audit project/deploy.md
  scribe-room audit --op reject --since 7d
  scribe-room audit --json > audit.json`,
		Args: args(0, 1, "one path, or none"),
		RunE: a.with(reads, func(ctx context.Context, r *scribe.Room, args []string) error {
			path := ""
			if len(args) > 0 {
				path = args[0]
			}
			var from time.Time
			if since != "" {
				d, err := age(since)
				if err != nil {
					return usage("--since: %w", err)
				}
				from = time.Now().Add(-d)
			}
			all, err := a.records(ctx, r, path, func(rec scribe.Record) bool {
				return (len(ops) == 0 || slices.Contains(ops, rec.Op)) && !rec.Time.Before(from)
			})
			if err != nil {
				return err
			}
			if last > 0 {
				all = all[max(0, len(all)-last):]
			}
			return a.print(recordsOf(all), func() { a.rows(all) })
		}),
	}
	c.Flags().IntVar(&last, "last", 0, "only the last `n` rows")
	c.Flags().StringSliceVar(&ops, "op", nil, "only these `operations`, such as add, hold, approve, reject, observe")
	c.Flags().StringVar(&since, "since", "", "only rows younger than `age`: 36h, 90d, 12w")
	c.ValidArgsFunction = a.paths("active", "changed", "archived")
	return c
}

func (a *app) records(ctx context.Context, r *scribe.Room, path string, keep func(scribe.Record) bool) ([]scribe.Record, error) {
	var all []scribe.Record
	n := 0
	for rec, err := range r.History(ctx, path) {
		if err != nil {
			return nil, err
		}
		n++
		a.screen.step("rows:", n)
		if keep(rec) {
			all = append(all, rec)
		}
	}
	a.screen.close()
	return all, nil
}

func (a *app) rows(all []scribe.Record) {
	rows := make([][]string, 0, len(all))
	for _, r := range all {
		op := r.Op
		if r.Act != "" {
			op += " " + r.Act
		}
		if r.Op == "reject" || r.Op == "hold" || r.Op == "observe" {
			op = a.screen.paint(text.FgYellow, op)
		}
		name := r.Path
		if r.To != "" {
			name += " -> " + r.To
		}
		why := line(r.Reason)
		if why == "" {
			for i, rule := range r.Rules {
				if i > 0 {
					why += " "
				}
				why += rule
			}
		}
		rows = append(rows, []string{strconv.FormatInt(r.Seq, 10), minute(r.Time), op, plain(name), plain(r.By), why})
	}
	a.screen.table([]string{"row", "time", "what", "path", "by", "why"}, rows, "by")
}

func (a *app) versions() *cobra.Command {
	c := &cobra.Command{
		Use:   "versions PATH",
		Short: "The versions of a memory, for rollback",
		Example: `  scribe-room versions project/deploy.md
  scribe-room rollback project/deploy.md 17`,
		Args: args(1, 1, "one path"),
		RunE: a.with(reads, func(ctx context.Context, r *scribe.Room, args []string) error {
			all, err := a.records(ctx, r, args[0], func(rec scribe.Record) bool {
				return rec.New != "" && rec.Op != "hold" && rec.Op != "observe" && (rec.To == "" && rec.Path == args[0] || rec.To == args[0])
			})
			if err != nil {
				return err
			}
			if len(all) == 0 {
				return missing("the audit log knows no version of %.120q", args[0])
			}
			return a.print(recordsOf(all), func() {
				rows := make([][]string, 0, len(all))
				for _, rec := range all {
					rows = append(rows, []string{strconv.FormatInt(rec.Seq, 10), minute(rec.Time), rec.Op, plain(rec.By), rec.New[:hashLength]})
				}
				a.screen.table([]string{"row", "time", "what", "by", "hash"}, rows, "by")
			})
		}),
	}
	c.ValidArgsFunction = a.paths("active", "changed", "archived")
	return c
}

func (a *app) check() *cobra.Command {
	var repair bool
	var kept string
	c := &cobra.Command{
		Use:   "check",
		Short: "Verify the audit log, the versions and the index",
		Long: `Verify the audit log's chain, the versions behind every memory, and the index. With
--repair what is derived is made anew; what can not be mended is named and left alone.

The head that is printed is the log's last row. Kept somewhere else, and given back with
--head, it shows later that the log was cut off or rebuilt.`,
		Example: `  scribe-room check
  scribe-room check --repair
  scribe-room check --json | jq -r .head > ~/room.head
  scribe-room check --head "$(cat ~/room.head)"`,
		Args: args(0, 0, "no argument"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(mode(repair), func(ctx context.Context, r *scribe.Room, _ []string) error {
				if kept != "" {
					if err := r.Verify(ctx, kept); err != nil {
						return err
					}
				}
				var found []scribe.Finding
				err := a.screen.working("checking", func() (err error) {
					found, err = r.Check(ctx, repair)
					return err
				})
				if err != nil {
					return err
				}
				head, err := r.Head()
				if err != nil {
					return err
				}
				err = a.print(map[string]any{"head": head, "findings": findingsOf(found)}, func() {
					a.findings(found)
					if len(found) == 0 {
						a.screen.printf("in order\n")
					}
					a.screen.printf("head %s\n", head)
				})
				if err == nil && len(found) > 0 && !repair {
					err = coded{exitFound, fmt.Errorf("check has %s", count(len(found), "finding", "findings"))}
				}
				return err
			})(cmd, args)
		},
	}
	c.Flags().StringVar(&kept, "head", "", "a `head` that check printed before: is it still on the log's chain?")
	c.Flags().BoolVar(&repair, "repair", false, "mend what can be mended")
	return c
}
