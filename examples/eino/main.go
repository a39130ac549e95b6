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
	"fmt"
	"io"
	"os"
	"os/signal"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/components/tool/utils"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/memoryroom/scribe"
	"github.com/memoryroom/scribe/examples/internal/turn"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, out, errs io.Writer) int {
	return turn.Program{Name: "eino", Play: play}.Run(ctx, args, out, errs)
}

// command is what the main agent's shell would take.
type command struct {
	Command string `json:"command"`
}

// play runs one turn of a main agent, and the writer when it has succeeded.
func play(ctx context.Context, t *turn.Turn) error {
	bash, err := utils.InferTool("bash", "Runs a command.", func(context.Context, command) (string, error) {
		return "", errors.New("this program has no shell")
	})
	if err != nil {
		return err
	}
	tools := []tool.BaseTool{bash}
	main, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "main", Description: "Talks with the user.",
		Model:       scripted(func([]adk.Message, []*schema.ToolInfo) adk.Message { return say("Noted.") }),
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: tools}},
		GenModelInput: func(_ context.Context, _ string, in *adk.AgentInput) ([]adk.Message, error) {
			return append([]adk.Message{schema.SystemMessage(t.Snapshot.Text)}, in.Messages...), nil
		},
		Handlers: []adk.ChatModelAgentMiddleware{remember{turn: t, tools: tools}},
	})
	if err != nil {
		return err
	}
	return runAgent(ctx, main, t.Said, false, t.Out)
}

// remember is what the main agent does when its run has succeeded.
type remember struct {
	*adk.BaseChatModelAgentMiddleware
	turn  *turn.Turn
	tools []tool.BaseTool // the main agent's
}

// AfterAgent runs one extraction, with a writer that is made for it.
func (r remember) AfterAgent(ctx context.Context, _ *adk.ChatModelAgentState) (context.Context, error) {
	kept, policy, err := scribe.Narrow(r.tools, nil, describe)
	if err != nil {
		return ctx, err // no writer: there is no falling back to every tool
	}
	return ctx, r.turn.Extract(ctx, policy, func(ctx context.Context, g *scribe.Guard, prompt, message string) error {
		writer, err := newWriter(ctx, g, scripted(steered), prompt, kept)
		if err != nil {
			return err
		}
		return runAgent(ctx, writer, message, false, r.turn.Out)
	})
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
