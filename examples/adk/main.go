// Adk keeps the memory of an agent of the Agent Development Kit. When the main agent's turn
// ends, its AfterAgentCallback runs a writer: a subagent with narrowed tools, whose calls
// the guard answers. Both models are scripted, so it needs no key and no network; give
// newWriter a gemini model for a real one.
//
//	go run .
//	go run . -room ~/notes/room
//
// Exit codes: 0; 1 when it could not run; 2 for wrong flags.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"strings"

	"github.com/memoryroom/scribe"
	"google.golang.org/adk/agent"
	"google.golang.org/adk/agent/llmagent"
	"google.golang.org/adk/model"
	"google.golang.org/adk/runner"
	"google.golang.org/adk/session"
	"google.golang.org/adk/tool"
	"google.golang.org/adk/tool/functiontool"
	"google.golang.org/genai"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, out, errs io.Writer) int {
	flags := flag.NewFlagSet("adk", flag.ContinueOnError)
	flags.SetOutput(errs)
	dir := flags.String("room", "", "directory of the memory; empty: a fresh one in the system's temporary directory")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	case flags.NArg() > 0:
		fmt.Fprintf(errs, "adk: unexpected argument %q: every input has a flag\n", flags.Arg(0))
		return 2
	}
	if err := converse(ctx, *dir, out); err != nil {
		fmt.Fprintln(errs, "adk:", err)
		return 1
	}
	return 0
}

// converse runs one turn of a conversation, and the writer after it.
func converse(ctx context.Context, dir string, out io.Writer) error {
	dir, err := roomDir(dir)
	if err != nil {
		return err
	}
	room, err := scribe.Open(dir, nil)
	if err != nil {
		return err
	}
	defer room.Close()
	memory, err := room.Session(ctx, "conversation-"+filepath.Base(dir), scribe.UserObserved)
	if err != nil {
		return err
	}
	snapshot, err := memory.Snapshot(ctx)
	if err != nil {
		return err
	}
	bash, err := functiontool.New(functiontool.Config{Name: "bash", Description: "Runs a command."}, func(agent.ToolContext, struct{ Command string }) (string, error) {
		return "", errors.New("this program has no shell")
	})
	if err != nil {
		return err
	}
	main, err := llmagent.New(llmagent.Config{
		Name: "main", Model: scripted(func(*model.LLMRequest) (*genai.Content, error) { return say("Noted."), nil }),
		InstructionProvider: func(agent.ReadonlyContext) (string, error) { return snapshot.Text, nil },
		Tools:               []tool.Tool{bash},
		AfterAgentCallbacks: []agent.AfterAgentCallback{remember(memory, scripted(steered), []tool.Tool{bash}, out)},
	})
	if err != nil {
		return err
	}
	if err := runAgent(ctx, main, "Please remember that we deploy on Tuesdays, after the stand-up.", saying(out)); err != nil {
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

// remember is what the main agent does when its turn ends: one extraction, with a writer
// that is made for it.
func remember(memory *scribe.Session, llm model.LLM, tools []tool.Tool, out io.Writer) agent.AfterAgentCallback {
	return func(ctx agent.CallbackContext) (*genai.Content, error) {
		kept, policy, err := scribe.Narrow(tools, nil, describe)
		if err != nil {
			return nil, err // no writer: there is no falling back to every tool
		}
		for _, f := range policy.Removed() {
			fmt.Fprintf(out, "removed %s (%s)\n", f.Field, f.Rule)
		}
		said := textOf(ctx.UserContent())
		turn := scribe.Turn{N: 1, User: []string{said}, Low: scribe.UserObserved}
		skip, err := memory.Extract(ctx, turn, policy, func(ctx context.Context, g *scribe.Guard) error {
			prompt, err := g.Prompt(ctx)
			if err != nil {
				return err
			}
			writer, err := newWriter(g, llm, prompt, kept)
			if err != nil {
				return err
			}
			clean, _ := scribe.Redact(said)
			return runAgent(ctx, writer, "The user said:\n\n"+clean, saying(out))
		})
		if skip != "" {
			fmt.Fprintln(out, "no writer ran:", skip)
		}
		return nil, err
	}
}

// runAgent runs an agent over one message, in a session of its own.
func runAgent(ctx context.Context, a agent.Agent, message string, see func(*session.Event)) error {
	r, err := runner.New(runner.Config{AppName: "scribe", Agent: a, SessionService: session.InMemoryService(), AutoCreateSession: true})
	if err != nil {
		return err
	}
	for event, err := range r.Run(ctx, "user", "session", genai.NewContentFromText(message, genai.RoleUser), agent.RunConfig{}) {
		if err != nil {
			return err
		}
		see(event)
	}
	return nil
}

// saying prints what agents say.
func saying(out io.Writer) func(*session.Event) {
	return func(e *session.Event) {
		if text := textOf(e.Content); text != "" {
			fmt.Fprintf(out, "%s says %q\n", e.Author, text)
		}
	}
}

func textOf(c *genai.Content) string {
	var b strings.Builder
	if c != nil {
		for _, p := range c.Parts {
			b.WriteString(p.Text)
		}
	}
	return b.String()
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
	return nil
}
