package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"github.com/memoryroom/scribe"
)

func (a *app) exportRoom() *cobra.Command {
	var stages []string
	c := &cobra.Command{
		Use:   "export [FILE]",
		Short: "Write the memories to a tar file",
		Long: `Write the accepted memories, and the archive, to a tar file of plain Markdown with a
manifest of hashes. Any tool unpacks it; import takes it into another room. Without FILE,
or with -, it goes to a pipe. The same memories give the same bytes.`,
		Example: `  scribe-room export memories.tar
  scribe-room export --stage active - | ssh other scribe-room -C room import -`,
		Args: args(0, 1, "one file, or none"),
		RunE: a.with(reads, func(ctx context.Context, r *scribe.Room, args []string) error {
			if len(args) == 0 || args[0] == "-" {
				if a.screen.tty {
					return usage("a tar file is no text for a terminal; name a file, or use a pipe")
				}
				return usageIf(r.Export(ctx, a.screen.out, stages...), "export: stage")
			}
			// Whole in memory first: a file that is half an export is worse than none, and
			// a room is small.
			var all bytes.Buffer
			err := a.screen.working("exporting", func() error { return r.Export(ctx, &all, stages...) })
			if err := usageIf(err, "export: stage"); err != nil {
				return err
			}
			f, err := os.OpenFile(args[0], os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
			if err != nil {
				return coded{exitUsage, fmt.Errorf("the file can not be made: %w", err)}
			}
			if _, err := f.Write(all.Bytes()); err != nil {
				f.Close()
				return err
			}
			if err := f.Close(); err != nil {
				return err
			}
			return a.print(map[string]any{"file": args[0], "bytes": all.Len()}, func() {
				a.screen.printf("%d bytes written\n", all.Len())
			})
		}),
	}
	c.Flags().StringSliceVar(&stages, "stage", nil, "only these `stages`: active, changed, archived; none: all three")
	a.complete(c, "stage", "active", "changed", "archived")
	return c
}

func (a *app) importRoom() *cobra.Command {
	var trust string
	c := &cobra.Command{
		Use:   "import FILE",
		Short: "Take in what export wrote",
		Long: `Take in what export wrote. Each memory is worth what the file says of it and at most
--trust, and passes the same screens as any other. Nothing is overwritten: where another
text stands the memory is rejected, and named. - reads from a pipe, and needs --yes.`,
		Example: `  scribe-room import memories.tar
  scribe-room import memories.tar --trust user-verified`,
		Args: args(1, 1, "one file"),
		RunE: a.with(writes, func(ctx context.Context, r *scribe.Room, args []string) error {
			var t scribe.Trust
			if err := t.UnmarshalText([]byte(trust)); err != nil {
				return usage("--trust: %w", err)
			}
			var from io.Reader = a.screen.in
			if args[0] != "-" {
				f, err := os.Open(args[0])
				if err != nil {
					return coded{exitUsage, fmt.Errorf("the file can not be read: %w", err)}
				}
				defer f.Close()
				from = f
			} else if !a.yes {
				return usage("what comes from a pipe needs --yes: there is nobody left to ask")
			}
			if err := a.confirm(fmt.Sprintf("Take in the memories, worth %s at most?", t)); err != nil {
				return err
			}
			var vs []scribe.Verdict
			err := a.screen.working("importing", func() (err error) {
				vs, err = r.Import(ctx, from, t)
				return err
			})
			return a.verdicts("imported", vs, err)
		}),
	}
	c.Flags().StringVar(&trust, "trust", scribe.UserObserved.String(), "what they are worth at most")
	a.complete(c, "trust", trusts...)
	return c
}
