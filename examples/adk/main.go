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
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"

	"github.com/memoryroom/scribe"
	"github.com/memoryroom/scribe/examples/internal/turn"
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
	return turn.Program{Name: "adk", Play: play}.Run(ctx, args, out, errs)
}

// play runs one turn of a main agent, and the writer when it ends.
func play(ctx context.Context, t *turn.Turn) error {
	bash, err := functiontool.New(functiontool.Config{Name: "bash", Description: "Runs a command."}, func(agent.ToolContext, struct{ Command string }) (string, error) {
		return "", errors.New("this program has no shell")
	})
	if err != nil {
		return err
	}
	main, err := llmagent.New(llmagent.Config{
		Name: "main", Model: scripted(func(*model.LLMRequest) (*genai.Content, error) { return say("Noted."), nil }),
		InstructionProvider: func(agent.ReadonlyContext) (string, error) { return t.Snapshot.Text, nil },
		Tools:               []tool.Tool{bash},
		AfterAgentCallbacks: []agent.AfterAgentCallback{remember(t, scripted(steered), []tool.Tool{bash})},
	})
	if err != nil {
		return err
	}
	return runAgent(ctx, main, t.Said, saying(t.Out))
}

// remember is what the main agent does when its turn ends: one extraction, with a writer
// that is made for it.
func remember(t *turn.Turn, llm model.LLM, tools []tool.Tool) agent.AfterAgentCallback {
	return func(ctx agent.CallbackContext) (*genai.Content, error) {
		kept, policy, err := scribe.Narrow(tools, nil, describe)
		if err != nil {
			return nil, err // no writer: there is no falling back to every tool
		}
		return nil, t.Extract(ctx, policy, func(ctx context.Context, g *scribe.Guard, prompt, message string) error {
			writer, err := newWriter(g, llm, prompt, kept)
			if err != nil {
				return err
			}
			return runAgent(ctx, writer, message, saying(t.Out))
		})
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
		var b strings.Builder
		if e.Content != nil {
			for _, p := range e.Content.Parts {
				b.WriteString(p.Text)
			}
		}
		if b.Len() > 0 {
			fmt.Fprintf(out, "%s says %q\n", e.Author, b.String())
		}
	}
}
