package main

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/toolrunner"
	"github.com/memoryroom/scribe"
)

// result is what a tool gives the runner.
type result = anthropic.BetaToolResultBlockParamContentUnion

// glue begin

// guarded is a tool of the SDK's runner that asks the guard first.
type guarded struct {
	anthropic.BetaTool
	guard *scribe.Guard
}

// Execute lets the guard answer, or the tool where the guard allows it.
func (t guarded) Execute(ctx context.Context, input json.RawMessage) ([]result, error) {
	r := t.guard.Check(ctx, scribe.Call{Tool: t.Name(), Args: input})
	if r.Run {
		return t.BetaTool.Execute(ctx, input)
	} else if r.IsError {
		return nil, errors.New(strings.TrimPrefix(r.Text, "Error: ")) // the runner writes it, and goes on
	}
	return []result{{OfText: &anthropic.BetaTextBlockParam{Text: r.Text}}}, nil
}

// writerTools are those that were kept and ours, all of them guarded.
func writerTools(g *scribe.Guard, kept []anthropic.BetaTool) (tools []anthropic.BetaTool, err error) {
	for _, t := range g.Tools() {
		ours, e := toolrunner.NewBetaToolFromBytes(t.Name, t.Description, t.Schema.(json.RawMessage), never)
		kept, err = append(slices.Clip(kept), ours), errors.Join(err, e)
	}
	for _, t := range kept {
		tools = append(tools, guarded{t, g})
	}
	return tools, err
}

func describe(t anthropic.BetaTool) scribe.Tool {
	return scribe.Tool{Name: t.Name(), Schema: t.InputSchema()}
}

// glue end

// never is the body of our own tools: the guard runs them.
func never(context.Context, map[string]any) (result, error) {
	return result{}, errors.New("the guard runs this tool")
}

// writerParams are the parameters of a writer's run. Nothing of the main agent's is taken
// over: tools in params.Tools, MCPServers and a container run on the API's side, where no
// guard is asked. The memory tool is declared in its native form, and the runner matches
// it to ours by name.
func writerParams(model anthropic.Model, system, conversation string) anthropic.BetaToolRunnerParams {
	return anthropic.BetaToolRunnerParams{
		BetaMessageNewParams: anthropic.BetaMessageNewParams{
			Model:     model,
			MaxTokens: 4096,
			Betas:     []anthropic.AnthropicBeta{anthropic.AnthropicBetaContextManagement2025_06_27},
			System:    []anthropic.BetaTextBlockParam{{Text: system}},
			Tools:     []anthropic.BetaToolUnionParam{{OfMemoryTool20250818: &anthropic.BetaMemoryTool20250818Param{}}},
			Messages:  []anthropic.BetaMessageParam{anthropic.NewBetaUserMessage(anthropic.NewBetaTextBlock(conversation))},
		},
		MaxIterations: 16,
		DisableThread: true, // the whole history with each request: nothing is kept elsewhere
	}
}

// runWriter runs one writer to its end, streaming or not, and gives its last words.
func runWriter(ctx context.Context, client anthropic.Client, tools []anthropic.BetaTool, params anthropic.BetaToolRunnerParams, stream bool) (string, error) {
	if !stream {
		last, err := client.Beta.Messages.NewToolRunner(tools, params).RunToCompletion(ctx)
		return words(last), err
	}
	runner := client.Beta.Messages.NewToolRunnerStreaming(tools, params)
	for events, err := range runner.AllStreaming(ctx) {
		if err != nil {
			return "", err
		}
		for _, err := range events { // a program with a screen shows them
			if err != nil {
				return "", err
			}
		}
	}
	return words(runner.LastMessage()), runner.Err()
}

// words is the text of a message.
func words(m *anthropic.BetaMessage) string {
	var b strings.Builder
	if m != nil {
		for _, block := range m.Content {
			b.WriteString(block.Text)
		}
	}
	return b.String()
}
