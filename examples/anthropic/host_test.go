package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/memoryroom/scribe"
	"github.com/memoryroom/scribe/examples/anthropic/stub"
	"github.com/memoryroom/scribe/examples/conformance"
)

func TestConformance(t *testing.T) {
	t.Run("whole", func(t *testing.T) { conformance.Test(t, hostOf(false)) })
	t.Run("streaming", func(t *testing.T) { conformance.Test(t, hostOf(true)) })
}

func TestGlue(t *testing.T) { conformance.Glue(t, "glue.go", 20) } // the runner has no hook: each tool is wrapped

// hostOf is a runtime on the SDK's tool runner. Its model is scripted, behind the wire.
func hostOf(stream bool) conformance.Host {
	return conformance.Host{
		Decoded: true, // v2.15.0 decodes the input of a call and encodes it again
		Guarded: func(ctx context.Context, in conformance.Input, use func(context.Context, conformance.Writer) error) error {
			kept, policy, err := scribe.Narrow(native(in.Tools), in.Rules, describe)
			if err != nil {
				return err // no writer: there is no falling back to every tool
			}
			_, err = in.Session.Extract(ctx, in.Turn, policy, func(ctx context.Context, g *scribe.Guard) error {
				tools, err := writerTools(g, kept)
				if err != nil {
					return err
				}
				params := writerParams("claude-test", "keep the memory", "a turn")
				return use(ctx, writer(stream, params, func() []anthropic.BetaTool { return tools }, func(conformance.Tool) {}))
			})
			return err
		},
		Bare: func(ctx context.Context, in conformance.Input, use func(context.Context, conformance.Writer) error) error {
			tools := native(in.Tools)
			params := writerParams("claude-test", "keep the memory", "a turn")
			params.Tools = nil
			return use(ctx, writer(stream, params, func() []anthropic.BetaTool { return tools }, func(t conformance.Tool) {
				tools = append(tools, native([]conformance.Tool{t})...)
			}))
		},
	}
}

// naive is a tool as the SDK's users write them.
type naive struct{ conformance.Tool }

func (t naive) Name() string        { return t.Tool.Name }
func (t naive) Description() string { return t.Tool.Description }

func (t naive) InputSchema() (s anthropic.BetaToolInputSchemaParam) {
	_ = json.Unmarshal(t.Schema.(json.RawMessage), &s) // of the suite's
	return s
}

func (t naive) Execute(ctx context.Context, input json.RawMessage) ([]result, error) {
	text, err := t.Run(ctx, input)
	return []result{{OfText: &anthropic.BetaTextBlockParam{Text: text}}}, err
}

func native(tools []conformance.Tool) []anthropic.BetaTool {
	var out []anthropic.BetaTool
	for _, t := range tools {
		out = append(out, naive{t})
	}
	return out
}

// writer makes a run of the tool runner of each turn: the model makes the calls, reads
// the results and stops.
func writer(stream bool, params anthropic.BetaToolRunnerParams, tools func() []anthropic.BetaTool, add func(conformance.Tool)) conformance.Writer {
	run := func(ctx context.Context, calls []conformance.Call) (*stub.Server, error) {
		s := stub.Start(func(r stub.Request) []stub.Block {
			if len(r.Messages) > 1 || len(calls) == 0 {
				return []stub.Block{stub.Say("done")}
			}
			var blocks []stub.Block
			for i, c := range calls {
				blocks = append(blocks, stub.Use(fmt.Sprint("toolu_", i), c.Tool, c.Args))
			}
			return blocks
		})
		defer s.Close()
		_, err := runWriter(ctx, s.Client(), tools(), params, stream)
		return s, err
	}
	return conformance.Writer{
		Tools: func(ctx context.Context) (names []string, err error) {
			s, err := run(ctx, nil)
			if err != nil {
				return nil, err
			}
			for _, t := range s.Requests()[0].Tools {
				names = append(names, t.Name)
			}
			return names, nil
		},
		Call: func(ctx context.Context, calls ...conformance.Call) ([]conformance.Result, error) {
			s, err := run(ctx, calls)
			if err != nil {
				return nil, err
			}
			requests := s.Requests()
			if len(requests) != 2 {
				return nil, errors.New("the runner did not go on after the calls")
			}
			results := make([]conformance.Result, len(calls))
			for _, b := range requests[1].Results() {
				i := -1
				if _, err := fmt.Sscanf(b.ToolUseID, "toolu_%d", &i); err == nil && i >= 0 && i < len(results) {
					results[i] = conformance.Result{Text: b.Answer(), IsError: b.IsError}
				}
			}
			return results, nil
		},
		Add: add,
	}
}
