package main

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/memoryroom/scribe"
)

// seen is one line of an adoption list: these bytes, at this path.
type seen struct {
	Path string `json:"path"`
	Hash string `json:"hash"`
}

func (a *app) adopt() *cobra.Command {
	var all bool
	var from, trust string
	c := &cobra.Command{
		Use:   "adopt [PATH...]",
		Short: "Accept files that were never accepted",
		Long: `Accept files that lie in the room and were never accepted: an existing folder, a clone,
an editor's change. No byte of them changes. What you accept is bound to the bytes that
were listed: a file that changed since is refused as stale.

Without an argument the files are listed, with what the screens find in them. To adopt a
whole folder after reading it, keep the list and give it back:

  scribe-room adopt --json > seen.json
  scribe-room adopt --from seen.json

A file with a credential in it, or with hidden text that decodes to something, is not
adopted; mend it in an editor.`,
		Example: `  scribe-room adopt
  scribe-room adopt notes.md project/deploy.md
  scribe-room adopt --all --trust user-verified
  scribe-room adopt --from seen.json --yes`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if n := btoi(all) + btoi(from != "") + btoi(len(args) > 0); n > 1 {
				return usage("give paths, or --all, or --from: one of them")
			}
			m := writes
			if !all && from == "" && len(args) == 0 {
				m = reads
			}
			return a.with(m, func(ctx context.Context, r *scribe.Room, args []string) error {
				if m == reads {
					return a.listUnaccepted(ctx, r)
				}
				return a.adoptFiles(ctx, r, args, from, trust)
			})(cmd, args)
		},
	}
	c.Flags().BoolVar(&all, "all", false, "everything that was never accepted")
	c.Flags().StringVar(&from, "from", "", "a `file` that adopt --json wrote")
	c.Flags().StringVar(&trust, "trust", scribe.UserObserved.String(), "what they are worth")
	a.complete(c, "trust", trusts...)
	must(c.MarkFlagFilename("from", "json"))
	c.ValidArgsFunction = a.paths("unaccepted")
	return c
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// listUnaccepted shows what could be adopted. The screens run when it is.
func (a *app) listUnaccepted(ctx context.Context, r *scribe.Room) error {
	all, err := a.collect(ctx, r, "unaccepted")
	if err != nil {
		return err
	}
	out := make([]seen, 0, len(all))
	for _, m := range all {
		if m.Hash != "" { // what can not be read can not be adopted
			out = append(out, seen{m.Path, m.Hash})
		}
	}
	return a.print(out, func() { a.memories(all) })
}

func (a *app) adoptFiles(ctx context.Context, r *scribe.Room, paths []string, from, trust string) error {
	var t scribe.Trust
	if err := t.UnmarshalText([]byte(trust)); err != nil {
		return usage("--trust: %w", err)
	}
	var ms []scribe.Memory
	if from != "" {
		data, err := os.ReadFile(from)
		if err != nil {
			return usage("the list can not be read: %w", err)
		}
		var list []seen
		if err := json.Unmarshal(data, &list); err != nil {
			return usage("the list is not what adopt --json writes: %w", err)
		}
		for _, s := range list {
			ms = append(ms, scribe.Memory{Path: s.Path, Hash: s.Hash})
		}
	} else {
		all, err := a.collect(ctx, r, "unaccepted")
		if err != nil {
			return err
		}
		for _, p := range paths {
			if !slices.ContainsFunc(all, func(m scribe.Memory) bool { return m.Path == p }) {
				return missing("%.120q is not unaccepted; scribe-room adopt lists what is", p)
			}
		}
		for _, m := range all {
			if len(paths) == 0 || slices.Contains(paths, m.Path) {
				ms = append(ms, m)
			}
		}
		if !a.yes {
			a.memories(ms)
		}
	}
	if len(ms) == 0 {
		return a.print([]result{}, func() { a.screen.printf("Nothing to adopt.\n") })
	}
	if err := a.confirm(fmt.Sprintf("Accept %d files as %s?", len(ms), t)); err != nil {
		return err
	}
	var vs []scribe.Verdict
	err := a.screen.working("adopting", func() (err error) {
		vs, err = r.Adopt(ctx, t, ms...)
		return err
	})
	if err == nil && !a.json {
		n := 0
		for _, v := range vs {
			n += btoi(v.Outcome == scribe.Accepted)
			if len(v.Findings) == 0 {
				continue
			}
			word := "adopted, flagged"
			if v.Outcome != scribe.Accepted {
				word = a.screen.paint(text.FgRed, "not adopted")
			}
			a.screen.printf("%s  %s\n", word, plain(v.Memory.Path))
			a.findings(v.Findings)
		}
		a.screen.printf("%d of %d adopted\n", n, len(vs))
		var errs []error
		for _, v := range vs {
			errs = append(errs, v.Err())
		}
		return worst(errs...)
	}
	return a.verdicts("adopted", vs, err)
}
