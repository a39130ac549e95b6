package main

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/spf13/cobra"

	"github.com/memoryroom/scribe"
)

func (a *app) archive() *cobra.Command {
	var reason, category string
	c := &cobra.Command{
		Use:   "archive PATH...",
		Short: "Retire memories; restore brings them back",
		Long: `Retire memories. No model sees an archived memory any more; its text stays in the room,
and restore brings it back.`,
		Example: `  scribe-room archive project/old-plan.md --category expired --reason "shipped"
  scribe-room list --stage archived`,
		Args: args(1, -1, "one path or more"),
		RunE: a.with(writes, func(ctx context.Context, r *scribe.Room, args []string) error {
			if err := a.confirm(fmt.Sprintf("Retire %s?", things(args, "memories"))); err != nil {
				return err
			}
			vs, err := r.Archive(ctx, category, reason, args...)
			return a.verdicts("archived", vs, err)
		}),
	}
	c.Flags().StringVar(&reason, "reason", "", "why, for the audit log")
	c.Flags().StringVar(&category, "category", "", "what kind of end it is: distilled, discarded, unused, expired, or a `word` of your own")
	a.complete(c, "category", "distilled", "discarded", "unused", "expired")
	c.ValidArgsFunction = a.paths("active", "changed")
	return c
}

func (a *app) suspend() *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:   "suspend PATH...",
		Short: "Take memories out of sight, back to what waits for you",
		Long: `Take accepted memories out of every model's sight and put them where candidates wait, for
you to decide on again: approve lets one back in, reject ends it.`,
		Example: `  scribe-room suspend project/deploy.md --reason "is this still so?"
  scribe-room pending`,
		Args: args(1, -1, "one path or more"),
		RunE: a.with(writes, func(ctx context.Context, r *scribe.Room, args []string) error {
			if err := a.confirm(fmt.Sprintf("Take %s out of sight?", things(args, "memories"))); err != nil {
				return err
			}
			vs, err := r.Suspend(ctx, reason, args...)
			return a.verdicts(suspended, vs, err)
		}),
	}
	c.Flags().StringVar(&reason, "reason", "", "why, for the audit log")
	c.ValidArgsFunction = a.paths("active", "changed")
	return c
}

// things names what a question is about: the one thing, or how many.
func things(args []string, plural string) string {
	if len(args) == 1 {
		return fmt.Sprintf("%.120q", args[0])
	}
	return fmt.Sprintf("%d %s", len(args), plural)
}

// each does one thing to each path and reports each.
func (a *app) each(done string, paths []string, do func(string) error) error {
	type outcome struct {
		Path  string `json:"path"`
		Done  bool   `json:"done"`
		Error string `json:"error,omitempty"`
	}
	out := make([]outcome, 0, len(paths))
	var errs []error
	for _, p := range paths {
		o := outcome{Path: p, Done: true}
		if err := do(p); err != nil {
			o.Done, o.Error = false, err.Error()
			errs = append(errs, fmt.Errorf("%.120q: %w", p, err))
		}
		out = append(out, o)
	}
	if err := a.print(out, func() {
		for _, o := range out {
			if o.Done {
				a.screen.printf("%s  %s\n", done, plain(o.Path))
			}
		}
	}); err != nil {
		errs = append(errs, err)
	}
	return worst(errs...)
}

func (a *app) restore() *cobra.Command {
	c := &cobra.Command{
		Use:   "restore PATH...",
		Short: "Bring archived memories back",
		Long: `Bring archived memories back, by path or by the ID that list --stage archived --json gives.
One that was superseded, or whose key another memory has by now, comes back as something
that waits for you; the exit code is 3 then.`,
		Example: `  scribe-room list --stage archived
  scribe-room restore project/old-plan.md`,
		Args: args(1, -1, "one path or more"),
		RunE: a.with(writes, func(ctx context.Context, r *scribe.Room, args []string) error {
			vs, err := r.Restore(ctx, args...)
			return a.verdicts("restored", vs, err)
		}),
	}
	c.ValidArgsFunction = a.paths("archived")
	return c
}

func (a *app) rollback() *cobra.Command {
	c := &cobra.Command{
		Use:   "rollback PATH SEQ",
		Short: "Put a memory back as it was after a row of the audit log",
		Long: `Put a memory back as it was once row SEQ of the audit log was carried out: those bytes,
and what they were worth. versions lists the rows. What was done together with the change
that is taken back goes with it. Where nothing stood then, what stands there now is taken away.
It is a change like any other, and can be rolled back itself.`,
		Example: `  scribe-room versions project/deploy.md
  scribe-room rollback project/deploy.md 17`,
		Args: args(2, 2, "a path and a row"),
		RunE: a.with(writes, func(ctx context.Context, r *scribe.Room, args []string) error {
			seq, err := strconv.ParseInt(args[1], 10, 64)
			if err != nil || seq < 1 {
				return usage("%.40q is no row of the audit log; scribe-room versions PATH lists them", args[1])
			}
			question := fmt.Sprintf("Put %.120q back as of row %d?", args[0], seq)
			stood, err := stoodAt(ctx, r, seq, args[0])
			if err != nil {
				return err
			}
			if !stood {
				question = fmt.Sprintf("Nothing stood at %.120q as of row %d. Take away what stands there now?", args[0], seq)
			}
			if err := a.confirm(question); err != nil {
				return err
			}
			vs, err := r.Rollback(ctx, seq, args[0])
			return a.verdicts("rolled back", vs, err)
		}),
	}
	c.ValidArgsFunction = a.paths("active", "changed")
	return c
}

func (a *app) purge() *cobra.Command {
	var reason string
	c := &cobra.Command{
		Use:   "purge PATH...",
		Short: "Erase memories for good, with every version",
		Long: `Erase the text of memories from everywhere in the room: the file, its versions, the
archive, what waits under its path, stored snapshots. A row without content stays in the
audit log. Nothing brings the text back. Copies outside the room (git, backups, an
editor's) are not touched.`,
		Example: `  scribe-room purge user/health.md --reason "asked to"`,
		Args:    args(1, -1, "one path or more"),
		RunE: a.with(writes, func(ctx context.Context, r *scribe.Room, args []string) error {
			if err := a.confirm(fmt.Sprintf("Erase %s for good?", things(args, "memories"))); err != nil {
				return err
			}
			var left []scribe.Finding
			err := a.each("purged", args, func(path string) error {
				more, err := r.Purge(ctx, path, reason)
				left = append(left, more...)
				return err
			})
			if len(left) > 0 {
				if !a.json {
					a.findings(left)
				}
				err = worst(err, coded{exitFound, fmt.Errorf("%d copies may be left: %s", len(left), rulesOf(left))})
			}
			return err
		}),
	}
	c.Flags().StringVar(&reason, "reason", "", "why, for the audit log")
	c.ValidArgsFunction = a.paths("active", "changed", "archived")
	return c
}

// stoodAt reports whether a memory stood at a path as of that row.
func stoodAt(ctx context.Context, r *scribe.Room, seq int64, path string) (bool, error) {
	for m, err := range r.At(ctx, seq) {
		if err != nil {
			return false, err
		}
		if m.Path == path && m.Stage == "active" {
			return true, nil
		}
	}
	return false, nil
}

func (a *app) prune() *cobra.Command {
	var keep int
	var older string
	var dry bool
	c := &cobra.Command{
		Use:   "prune",
		Short: "Drop old versions and old rows of the audit log",
		Long: `Drop what is old: a version goes when it was replaced longer ago than --older and --keep
newer ones of its memory have been replaced since. What stands, what is archived, and the
last text of a memory that went always stay. You are shown what would go, and asked.`,
		Example: `  scribe-room prune --dry-run
  scribe-room prune --keep 5 --older 90d
  scribe-room prune --keep 0 --older 52w --yes`,
		Args: args(0, 0, "no argument"),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.with(mode(!dry), func(ctx context.Context, r *scribe.Room, _ []string) error {
				d, err := age(older)
				if err != nil {
					return usage("--older: %w", err)
				}
				if keep < 0 || d < 0 {
					return usage("--keep and --older can not be negative")
				}
				found, err := r.Prune(ctx, keep, d, true)
				if err != nil {
					return err
				}
				if !dry && len(found) > 0 {
					if !a.json && !a.yes {
						a.findings(found)
					}
					if err := a.confirm(fmt.Sprintf("Drop these %d for good?", len(found))); err != nil {
						return err
					}
					if found, err = r.Prune(ctx, keep, d, false); err != nil {
						return err
					}
				}
				return a.print(findingsOf(found), func() {
					word := "dropped"
					if dry {
						a.findings(found)
						word = "would go"
					}
					a.screen.printf("%d %s\n", len(found), word)
				})
			})(cmd, args)
		},
	}
	c.Flags().IntVar(&keep, "keep", 3, "how many replaced `versions` of a memory stay, whatever their age")
	c.Flags().StringVar(&older, "older", "90d", "the `age` below which nothing goes: 36h, 90d, 12w")
	c.Flags().BoolVar(&dry, "dry-run", false, "say what would go, and write nothing")
	return c
}

func (a *app) due() *cobra.Command {
	var within string
	c := &cobra.Command{
		Use:   "due",
		Short: "List the memories that are to be checked again",
		Long: `List the memories whose verify_when has come, the longest due first. It is a date such as
2027-03-01, an ISO 8601 duration such as P3M, or a phrase such as 3个月后, counted from when
the memory was accepted. Check each: adopt it again if it still holds (--trust says what it
is worth now), else write it anew or archive it.`,
		Example: `  scribe-room due
  scribe-room due --within 2w`,
		Args: args(0, 0, "no argument"),
		RunE: a.with(reads, func(ctx context.Context, r *scribe.Room, _ []string) error {
			d := time.Duration(0)
			if within != "" {
				var err error
				if d, err = age(within); err != nil {
					return usage("--within: %w", err)
				}
			}
			all, err := r.Due(ctx, d)
			if err != nil {
				return err
			}
			return a.print(entriesOf(all), func() {
				if len(all) == 0 && a.screen.tty {
					a.screen.printf("Nothing is due.\n")
				}
				rows := make([][]string, 0, len(all))
				for _, m := range all {
					rows = append(rows, []string{plain(m.Path), line(m.VerifyWhen), minute(m.Modified), line(m.Description)})
				}
				a.screen.table([]string{"path", "check when", "modified", "description"}, rows, "modified")
			})
		}),
	}
	c.Flags().StringVar(&within, "within", "", "also what falls due within this `time`: 36h, 90d, 12w")
	return c
}
