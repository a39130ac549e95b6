package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/aymanbagabas/go-udiff"
	"github.com/jedib0t/go-pretty/v6/text"
	"github.com/spf13/cobra"

	"github.com/memoryroom/scribe"
)

// held is a candidate that waits, with what the journal and the room know of it.
type held struct {
	scribe.Memory
	act  string // add, replace, edit, archive, rename, restore
	to   string // rename: the new path
	by   string
	diff string // what it would change; "" when it changes no text
}

type heldEntry struct {
	entry
	Act  string `json:"act"`
	To   string `json:"to,omitempty"`
	By   string `json:"by,omitempty"`
	Diff string `json:"diff,omitempty"`
}

func (h held) json() heldEntry {
	e := entryOf(h.Memory)
	e.Text = &h.Text
	return heldEntry{e, h.act, h.to, h.by, h.diff}
}

// waiting lists the held candidates, oldest first: an inbox is worked off in order.
func (a *app) waiting(ctx context.Context, r *scribe.Room) ([]held, error) {
	ms, err := a.collect(ctx, r, "pending")
	if err != nil || len(ms) == 0 {
		return nil, err
	}
	acts := map[string]scribe.Record{}
	for rec, err := range r.History(ctx, "") {
		if err != nil {
			return nil, err
		}
		if rec.Op == "hold" {
			acts[rec.ID] = rec
		}
	}
	all := make([]held, 0, len(ms))
	for _, m := range ms {
		rec := acts[m.ID]
		h := held{Memory: m, act: rec.Act, to: rec.To, by: rec.By}
		before := ""
		if cur, err := r.Read(ctx, m.Path); err == nil {
			before = cur.Text
		}
		switch h.act {
		case "archive":
			h.diff = udiff.Unified(m.Path, "/dev/null", before, "")
		case "rename":
			h.diff = udiff.Unified(m.Path, h.to, before, m.Text)
		case "add", "restore":
			h.diff = udiff.Unified("/dev/null", m.Path, "", m.Text)
		default:
			h.diff = udiff.Unified(m.Path, m.Path, before, m.Text)
		}
		all = append(all, h)
	}
	slices.SortStableFunc(all, func(x, y held) int { return x.Modified.Compare(y.Modified) })
	return all, nil
}

// idLength is how much of an ID is shown; longer where that is not unique.
const idLength = 8

// find gives the held candidate whose ID starts so. A ":" and the start of its hash may
// follow: then it has to be that one.
func (a *app) find(ctx context.Context, r *scribe.Room, arg string) (held, error) {
	all, err := a.waiting(ctx, r)
	if err != nil {
		return held{}, err
	}
	return pick(all, arg)
}

func pick(all []held, arg string) (held, error) {
	id, hash, bound := strings.Cut(arg, ":")
	var found []held
	for _, h := range all {
		if id != "" && strings.HasPrefix(h.ID, id) {
			found = append(found, h)
		}
	}
	switch {
	case len(found) == 0:
		return held{}, missing("nothing waits under %.40q; scribe-room pending lists what does", id)
	case len(found) > 1:
		return held{}, usage("%.40q is the start of %d candidates; give more of the ID", id, len(found))
	case bound && (len(hash) < hashLength || !strings.HasPrefix(found[0].Hash, hash)):
		return held{}, coded{exitStale, fmt.Errorf("%s does not have that hash; look at it again with scribe-room show --pending %s", found[0].ID, found[0].ID)}
	}
	return found[0], nil
}

// hashLength is how much of a hash an approval without a question has to name: 48 bits.
const hashLength = 12

func bound(h held) string { return h.ID + ":" + h.Hash[:hashLength] }

func (a *app) pending() *cobra.Command {
	return &cobra.Command{
		Use:   "pending",
		Short: "List what waits for your decision",
		Long: `List the candidates that wait for you, oldest first, and why. No model sees them.

The last column of a pipe's rows is ID:HASH, what approve takes without a question.`,
		Example: `  scribe-room pending
  scribe-room show --pending 1d4aadf7
  scribe-room pending --json | jq -r '.[] | select(.trust=="user-observed") | .id'`,
		Args: args(0, 0, "no argument"),
		RunE: a.with(reads, func(ctx context.Context, r *scribe.Room, _ []string) error {
			all, err := a.waiting(ctx, r)
			if err != nil {
				return err
			}
			return a.inbox(all, "Nothing waits for you.")
		}),
	}
}

func (a *app) conflicts() *cobra.Command {
	return &cobra.Command{
		Use:   "conflicts",
		Short: "List the held candidates that contradict a memory",
		Long: `List what is held because another memory says something else about the same subject:
the same key, the same path, or a memory that is worth more. Read both, then approve the
new one with --supersedes OLD-PATH, or reject it.`,
		Example: `  scribe-room conflicts
  scribe-room approve 1d4aadf7 --supersedes project/old.md`,
		Args: args(0, 0, "no argument"),
		RunE: a.with(reads, func(ctx context.Context, r *scribe.Room, _ []string) error {
			all, err := a.waiting(ctx, r)
			if err != nil {
				return err
			}
			all = slices.DeleteFunc(all, func(h held) bool {
				return !slices.ContainsFunc(h.Findings, func(f scribe.Finding) bool { return strings.HasPrefix(f.Rule, "conflict.") })
			})
			return a.inbox(all, "No conflict.")
		}),
	}
}

func (a *app) inbox(all []held, none string) error {
	out := make([]heldEntry, 0, len(all))
	for _, h := range all {
		out = append(out, h.json())
	}
	return a.print(out, func() {
		s := &a.screen
		if len(all) == 0 {
			if s.tty {
				s.printf("%s\n", none)
			}
			return
		}
		short := idLength
		for unique := false; !unique && short < 64; short++ {
			seen := map[string]bool{}
			unique = true
			for _, h := range all {
				id := h.ID[:min(short, len(h.ID))]
				unique = unique && !seen[id]
				seen[id] = true
			}
			if unique {
				break
			}
		}
		rows := make([][]string, 0, len(all))
		for _, h := range all {
			last := rulesOf(h.Findings)
			id := h.ID[:min(short, len(h.ID))]
			row := []string{id, h.act, plain(target(h)), a.trust(h.Trust), minute(h.Modified), last}
			if !s.tty {
				row = append(row, bound(h))
			}
			rows = append(rows, row)
		}
		s.table([]string{"id", "does", "path", "trust", "since", "why"}, rows, "since")
		if s.tty {
			s.printf("%s. Look at one: scribe-room show --pending ID\n", count(len(all), "candidate waits", "candidates wait"))
		}
	})
}

func target(h held) string {
	if h.to != "" {
		return h.Path + " -> " + h.to
	}
	return h.Path
}

func rulesOf(all []scribe.Finding) string {
	var rules []string
	for _, f := range all {
		if !slices.Contains(rules, f.Rule) {
			rules = append(rules, f.Rule)
		}
	}
	return strings.Join(rules, " ")
}

// held prints one candidate in full.
func (a *app) held(h held) {
	s := &a.screen
	s.printf("%s  %s %s  %s  since %s\n", s.paint(text.Bold, h.ID), h.act, plain(target(h)), a.trust(h.Trust), minute(h.Modified))
	a.findings(h.Findings)
	s.printf("\n")
	for l := range strings.Lines(plain(h.diff)) {
		switch l = strings.TrimSuffix(l, "\n"); {
		case strings.HasPrefix(l, "+") && !strings.HasPrefix(l, "+++"):
			l = s.paint(text.FgGreen, l)
		case strings.HasPrefix(l, "-") && !strings.HasPrefix(l, "---"):
			l = s.paint(text.FgRed, l)
		}
		s.printf("%s\n", l)
	}
	if h.diff == "" {
		s.printf("The text stays as it is.\n")
	}
}

func (a *app) approve() *cobra.Command {
	var trust, reason string
	var supersedes []string
	c := &cobra.Command{
		Use:   "approve ID...",
		Short: "Let held candidates in",
		Long: `Let held candidates in. Each is shown in full, and you are asked. An approval counts for
exactly what was shown: if the candidate or the memory under it has changed since, it is
refused as stale.

With --yes nobody is asked, so each ID has to carry the hash that was shown, as
ID:HASH; pending prints it. Candidates of one plan are approved in one command.`,
		Example: `  scribe-room approve 1d4aadf7
  scribe-room approve 1d4aadf7 --supersedes project/old.md
  scribe-room approve --yes 1d4aadf784e2d4db:5b0c1f2a9e77
  scribe-room approve 1d4aadf7 --trust user-verified`,
		Args: args(1, -1, "one ID or more"),
		RunE: a.with(writes, func(ctx context.Context, r *scribe.Room, args []string) error {
			var t scribe.Trust
			if trust != "" {
				if err := t.UnmarshalText([]byte(trust)); err != nil {
					return usage("--trust: %w", err)
				}
			}
			if len(supersedes) > 0 && len(args) > 1 {
				return usage("--supersedes goes with one ID; decide on the others by themselves")
			}
			all, err := a.waiting(ctx, r)
			if err != nil {
				return err
			}
			var rs []scribe.Resolution
			for _, arg := range args {
				h, err := pick(all, arg)
				if err != nil {
					return err
				}
				named := strings.Contains(arg, ":")
				if a.yes && !named {
					return usage("with --yes say what you saw: %s", bound(h))
				}
				if !a.yes {
					a.held(h)
				}
				if err := a.confirm("Let it in?"); err != nil {
					return err
				}
				rs = append(rs, scribe.Resolution{ID: h.ID, Hash: h.Hash, Approve: true, Trust: t, Supersedes: supersedes, By: a.by, Reason: reason})
			}
			vs, err := r.Resolve(ctx, rs...)
			return a.verdicts("approved", vs, err)
		}),
	}
	c.Flags().StringVar(&trust, "trust", "", "what the memory is worth from now on; none: what the candidate had")
	c.Flags().StringSliceVar(&supersedes, "supersedes", nil, "`paths` of the memories that it takes the place of")
	c.Flags().StringVar(&reason, "reason", "", "why, for the audit log")
	a.complete(c, "trust", trusts...)
	c.ValidArgsFunction = a.paths("pending")
	return c
}

func (a *app) reject() *cobra.Command {
	var reason string
	var forget bool
	c := &cobra.Command{
		Use:   "reject ID...",
		Short: "Refuse held candidates for good",
		Long: `Refuse held candidates. A refusal is remembered: the same proposal is rejected from then
on, and its text is not kept. With --withdraw it is only given up, and may come again.`,
		Example: `  scribe-room reject 1d4aadf7
  scribe-room reject --withdraw 1d4aadf7
  scribe-room reject --yes 1d4aadf7 9c01bb23 --reason "from a web page"`,
		Args: args(1, -1, "one ID or more"),
		RunE: a.with(writes, func(ctx context.Context, r *scribe.Room, args []string) error {
			all, err := a.waiting(ctx, r)
			if err != nil {
				return err
			}
			var rs []scribe.Resolution
			var names []string
			for _, arg := range args {
				h, err := pick(all, arg)
				if err != nil {
					return err
				}
				names = append(names, plain(target(h)))
				rs = append(rs, scribe.Resolution{ID: h.ID, Hash: h.Hash, Withdraw: forget, By: a.by, Reason: reason})
			}
			done, question := "refused", "Refuse %s for good?"
			if forget {
				done, question = "withdrawn", "Give up %s?"
			}
			if err := a.confirm(fmt.Sprintf(question, strings.Join(names, ", "))); err != nil {
				return err
			}
			vs, err := r.Resolve(ctx, rs...)
			return a.verdicts(done, vs, err)
		}),
	}
	c.Flags().StringVar(&reason, "reason", "", "why, for the audit log")
	c.Flags().BoolVar(&forget, "withdraw", false, "do not remember the refusal")
	c.ValidArgsFunction = a.paths("pending")
	return c
}

// result is a verdict as JSON has it.
type result struct {
	Path     string    `json:"path"`
	ID       string    `json:"id,omitempty"`
	Outcome  string    `json:"outcome"`
	Trust    string    `json:"trust,omitempty"`
	Findings []finding `json:"findings"`
	Notices  []finding `json:"notices,omitempty"`
}

// verdicts prints what became of each, and returns the error that the exit code needs.
// done is the word for what was asked and happened.
func (a *app) verdicts(done string, vs []scribe.Verdict, err error) error {
	out := make([]result, 0, len(vs))
	errs := []error{err}
	for _, v := range vs {
		out = append(out, result{v.Memory.Path, v.Memory.ID, v.Outcome.String(), v.Memory.Trust.String(), findingsOf(v.Findings), findingsOf(v.Notices)})
		if !happened(done, v) {
			errs = append(errs, failure(v))
		}
	}
	if perr := a.print(out, func() {
		var late []scribe.Finding
		said := map[string]bool{} // what is said of the whole room is said once
		for _, v := range vs {
			word := done
			if !happened(done, v) {
				word = a.screen.paint(text.FgRed, "not "+done)
			}
			name := v.Memory.Path
			if name == "" {
				name = v.Memory.ID
			}
			a.screen.printf("%s  %s\n", word, plain(name))
			if !happened(done, v) {
				a.findings(v.Findings)
			}
			for _, f := range v.Notices {
				if !strings.HasPrefix(f.Rule, "cap.") && !strings.HasPrefix(f.Rule, "index.") {
					a.findings([]scribe.Finding{f})
				} else if !said[f.Rule] {
					said[f.Rule] = true
					late = append(late, f)
				}
			}
		}
		a.findings(late)
	}); perr != nil {
		errs = append(errs, perr)
	}
	return worst(errs...)
}

// suspended is the word for the one act that is done when its verdict is held.
const suspended = "suspended"

// happened reports whether a verdict means that the operator's wish was carried out. A
// refusal by the operator is a rejection, and what was wished.
func happened(done string, v scribe.Verdict) bool {
	switch v.Outcome {
	case scribe.Accepted:
		return true
	case scribe.Held:
		return done == suspended
	}
	return slices.ContainsFunc(v.Findings, func(f scribe.Finding) bool {
		return f.Rule == "review.refused" || f.Rule == "review.withdrawn"
	})
}

// failure is a verdict as an error with its exit code.
func failure(v scribe.Verdict) error {
	for _, f := range v.Findings {
		if strings.HasSuffix(f.Rule, ".missing") {
			return coded{exitMissing, v.Err()}
		}
	}
	return v.Err()
}

// age reads a duration as people give it: 36h, 90d, 12w.
func age(s string) (time.Duration, error) {
	unit := time.Duration(0)
	switch {
	case strings.HasSuffix(s, "d"):
		unit = 24 * time.Hour
	case strings.HasSuffix(s, "w"):
		unit = 7 * 24 * time.Hour
	}
	if unit == 0 {
		return time.ParseDuration(s)
	}
	var n int
	if _, err := fmt.Sscanf(s[:len(s)-1], "%d", &n); err != nil || n < 0 || fmt.Sprint(n) != s[:len(s)-1] {
		return 0, fmt.Errorf("%.20q is not a time such as 36h, 90d or 12w", s)
	}
	return time.Duration(n) * unit, nil
}
