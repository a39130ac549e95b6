// Eino keeps the memory of an Eino agent. When the main agent's run has succeeded, its
// AfterAgent hook runs a writer with narrowed tools, whose calls the guard answers. Both
// models are scripted, so it needs no key and no network; give newWriter a chat model of
// eino-ext for a real one.
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

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/memoryroom/scribe"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, out, errs io.Writer) int {
	flags := flag.NewFlagSet("eino", flag.ContinueOnError)
	flags.SetOutput(errs)
	dir := flags.String("room", "", "directory of the memory; empty: a fresh one in the system's temporary directory")
	switch err := flags.Parse(args); {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return 2
	case flags.NArg() > 0:
		fmt.Fprintf(errs, "eino: unexpected argument %q: every input has a flag\n", flags.Arg(0))
		return 2
	}
	if err := converse(ctx, *dir, out); err != nil {
		fmt.Fprintln(errs, "eino:", err)
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
	bash, err := utils.InferTool("bash", "Runs a command.", func(context.Context, struct {
		Command string `json:"command"`
	},
	) (string, error) {
		return "", errors.New("this program has no shell")
	})
	if err != nil {
		return err
	}
	const said = "Please remember that we deploy on Tuesdays, after the stand-up."
	main, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "main", Description: "Talks with the user.",
		Model:       scripted(func([]adk.Message, []*schema.ToolInfo) adk.Message { return say("Noted.") }),
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: []tool.BaseTool{bash}}},
		GenModelInput: func(_ context.Context, _ string, in *adk.AgentInput) ([]adk.Message, error) {
			return append([]adk.Message{schema.SystemMessage(snapshot.Text)}, in.Messages...), nil
		},
		Handlers: []adk.ChatModelAgentMiddleware{remember{memory: memory, said: said, tools: []tool.BaseTool{bash}, out: out}},
	})
	if err != nil {
		return err
	}
	if err := runAgent(ctx, main, said, false, out); err != nil {
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

// remember is what the main agent does when its run has succeeded.
type remember struct {
	*adk.BaseChatModelAgentMiddleware
	memory *scribe.Session
	said   string // by the user in this turn
	tools  []tool.BaseTool
	out    io.Writer
}

// AfterAgent runs one extraction, with a writer that is made for it.
func (r remember) AfterAgent(ctx context.Context, _ *adk.ChatModelAgentState) (context.Context, error) {
	kept, policy, err := scribe.Narrow(r.tools, nil, describe)
	if err != nil {
		return ctx, err // no writer: there is no falling back to every tool
	}
	for _, f := range policy.Removed() {
		fmt.Fprintf(r.out, "removed %s (%s)\n", f.Field, f.Rule)
	}
	turn := scribe.Turn{N: 1, User: []string{r.said}, Low: scribe.UserObserved}
	skip, err := r.memory.Extract(ctx, turn, policy, func(ctx context.Context, g *scribe.Guard) error {
		prompt, err := g.Prompt(ctx)
		if err != nil {
			return err
		}
		writer, err := newWriter(ctx, g, scripted(steered), prompt, kept)
		if err != nil {
			return err
		}
		clean, _ := scribe.Redact(r.said)
		return runAgent(ctx, writer, "The user said:\n\n"+clean, false, r.out)
	})
	if skip != "" {
		fmt.Fprintln(r.out, "no writer ran:", skip)
	}
	return ctx, err
}

// runAgent runs an agent over one message and prints what it says.
func runAgent(ctx context.Context, a adk.Agent, message string, streaming bool, out io.Writer) error {
	runner := adk.NewRunner(ctx, adk.RunnerConfig{Agent: a, EnableStreaming: streaming})
	events := runner.Run(ctx, []adk.Message{schema.UserMessage(message)})
	for {
		event, ok := events.Next()
		switch {
		case !ok:
			return nil
		case event.Err != nil:
			return event.Err
		case event.Output == nil || event.Output.MessageOutput == nil:
			continue
		}
		m, err := event.Output.MessageOutput.GetMessage()
		if err != nil {
			return err
		}
		if m.Role == schema.Assistant && m.Content != "" {
			fmt.Fprintf(out, "%s says %q\n", event.AgentName, m.Content)
		}
	}
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
