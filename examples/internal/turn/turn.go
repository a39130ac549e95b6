// Package turn is what the examples of hosts share: one turn of a conversation with a
// writer after it, and a look at what became of the writer's proposals. The part that a
// host brings itself is between Narrow and the writer's run.
package turn

import (
	"context"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"sync"

	"github.com/memoryroom/scribe"
	"github.com/memoryroom/scribe/internal/cli"
)

// Program is the example of one host.
type Program struct {
	Name  string
	Flags func(*flag.FlagSet)                // of its own, besides -room and -say; nil: none
	Play  func(context.Context, *Turn) error // one turn, in the host
}

// Turn is a conversation's only turn.
type Turn struct {
	Session  *scribe.Session
	Snapshot scribe.Snapshot // for the main agent's prompt
	Said     string          // by the user
	Out      io.Writer       // for people; safe for concurrent use, since some hosts run hooks beside their loop
}

// printer writes one text at a time.
type printer struct {
	mu  sync.Mutex // guards out
	out io.Writer
}

// Write writes a text whole.
func (p *printer) Write(text []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.out.Write(text)
}

// Run plays the program with its command line, and gives its exit code: 0; 1 when it
// could not run; 2 for wrong flags.
func (p Program) Run(ctx context.Context, args []string, out, errs io.Writer) int {
	flags := cli.Flags(p.Name, "[flags]", errs)
	dir := flags.String("room", "", "directory of the memory; empty: a fresh one in the system's temporary directory")
	said := flags.String("say", "Please remember that we deploy on Tuesdays, after the stand-up.", "what the user says in this turn")
	if p.Flags != nil {
		p.Flags(flags)
	}
	if code, ok := cli.Parse(flags, args); !ok {
		return code
	}
	return cli.Ended(flags, p.converse(ctx, *dir, *said, &printer{out: out}))
}

func (p Program) converse(ctx context.Context, dir, said string, out io.Writer) error {
	dir, err := roomDir(dir)
	if err != nil {
		return err
	}
	room, err := scribe.Open(dir, nil)
	if err != nil {
		return err
	}
	defer room.Close()
	session, err := room.Session(ctx, "conversation-"+filepath.Base(dir), scribe.UserObserved)
	if err != nil {
		return err
	}
	snapshot, err := session.Snapshot(ctx)
	if err != nil {
		return err
	}
	if err := p.Play(ctx, &Turn{session, snapshot, said, out}); err != nil {
		return err
	}
	fmt.Fprintln(out, "the room is", dir)
	return report(ctx, room, out)
}

func roomDir(dir string) (string, error) {
	if dir != "" {
		return filepath.Abs(dir)
	}
	dir, err := os.MkdirTemp("", "scribe-room-")
	return filepath.Join(dir, "room"), err
}

// Extract runs the writer over the turn: write gets the guard, the writer's instructions
// and what the user said, without credentials.
func (t *Turn) Extract(ctx context.Context, policy scribe.Policy, write func(ctx context.Context, g *scribe.Guard, prompt, message string) error) error {
	for _, f := range policy.Removed() {
		fmt.Fprintf(t.Out, "removed %s (%s)\n", f.Field, f.Rule)
	}
	turn := scribe.Turn{N: 1, User: []string{t.Said}, Low: scribe.UserObserved}
	skip, err := t.Session.Extract(ctx, turn, policy, func(ctx context.Context, g *scribe.Guard) error {
		prompt, err := g.Prompt(ctx)
		if err != nil {
			return err
		}
		clean, _ := scribe.Redact(t.Said)
		return write(ctx, g, prompt, "The user said:\n\n"+clean)
	})
	if skip != "" {
		fmt.Fprintln(t.Out, "no writer ran:", skip)
	}
	return err
}

// report prints what became of the writer's proposals.
func report(ctx context.Context, room *scribe.Room, out io.Writer) error {
	for _, stage := range []string{"active", "pending"} {
		for m, err := range room.List(ctx, stage) {
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "%s %s, %s: %q\n", stage, m.Path, m.Trust, m.Description)
		}
	}
	for rec, err := range room.History(ctx, "") {
		if err != nil {
			return err
		}
		if rec.Op == "reject" {
			fmt.Fprintln(out, "refused:", rec.Rules)
		}
	}
	return nil
}
