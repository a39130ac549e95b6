package main

import (
	"context"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/memoryroom/scribe"
)

type hit struct {
	Path    string `json:"path"`
	Stage   string `json:"stage"`
	Trust   string `json:"trust"`
	Score   int64  `json:"score"`
	Snippet string `json:"snippet"`
	Hash    string `json:"hash"`
}

func (a *app) recall() *cobra.Command {
	var most int
	var stages []string
	c := &cobra.Command{
		Use:   "recall WORD...",
		Short: "Search the memories by words",
		Example: `  scribe-room recall deploy rollback
  scribe-room recall --stage archived,pending "old plan"`,
		Args: args(1, -1, "words"),
		RunE: a.with(reads, func(ctx context.Context, r *scribe.Room, args []string) error {
			q := scribe.Query{Max: most, Stages: stages, MaxBytes: 1 << 20}
			for _, w := range args {
				q.Text += w + " "
			}
			hits, err := r.Recall(ctx, q)
			if err != nil {
				return usageIf(err, "list: stage")
			}
			out := make([]hit, 0, len(hits))
			for _, h := range hits {
				out = append(out, hit{h.Memory.Path, h.Memory.Stage, h.Memory.Trust.String(), h.Score, h.Snippet, h.Memory.Hash})
			}
			return a.print(out, func() {
				s := &a.screen
				if len(hits) == 0 && s.tty {
					s.printf("No memory matches.\n")
				}
				for _, h := range hits {
					s.printf("%s  %s %s\n    %s\n", s.paint(text.Bold, plain(h.Memory.Path)), a.trust(h.Memory.Trust), a.stage(h.Memory), line(h.Snippet))
				}
			})
		}),
	}
	c.Flags().IntVarP(&most, "max", "n", 5, "hits at most, up to 20")
	c.Flags().StringSliceVar(&stages, "stage", nil, "`stages` to search; none: active and changed")
	a.complete(c, "stage", "active", "changed", "unaccepted", "pending", "archived")
	return c
}

func (a *app) snapshot() *cobra.Command {
	return &cobra.Command{
		Use:   "snapshot",
		Short: "What a new session's system prompt would get",
		Long: `Print the block that a session which starts now would get for its system prompt: what
the agent is told that it remembers. A running session keeps the one that it started with.`,
		Example: `  scribe-room snapshot | wc -c`,
		Args:    args(0, 0, "no argument"),
		RunE: a.with(reads, func(ctx context.Context, r *scribe.Room, _ []string) error {
			s, err := r.Session(ctx, "scribe-room snapshot", scribe.UserObserved)
			if err != nil {
				return err
			}
			sn, err := s.Snapshot(ctx)
			if err != nil {
				return err
			}
			return a.print(map[string]any{
				"text": sn.Text, "shown": entriesOf(sn.Shown), "omitted": sn.Omitted, "unaccepted": sn.Unaccepted, "hash": sn.Hash,
			}, func() { a.screen.printf("%s", plain(sn.Text)) })
		}),
	}
}
