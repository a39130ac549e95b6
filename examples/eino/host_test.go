package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/eino-contrib/jsonschema"
	"github.com/memoryroom/scribe"
	"github.com/memoryroom/scribe/examples/conformance"
	"github.com/memoryroom/scribe/examples/internal/turn/turntest"
)

func TestConformance(t *testing.T) {
	t.Run("hooks", func(t *testing.T) { conformance.Test(t, host(false, false)) })
	t.Run("hooks-streaming", func(t *testing.T) { conformance.Test(t, host(true, false)) })
	t.Run("wrapped", func(t *testing.T) { conformance.Test(t, host(false, true)) })
}

func TestGlue(t *testing.T) { conformance.Glue(t, "glue.go", 15) }

// maker makes a writer on a model. late are tools that another handler adds.
type maker func(ctx context.Context, llm scripted, late ...tool.BaseTool) (adk.Agent, error)

func host(streaming, wrapped bool) conformance.Host {
	return conformance.Host{
		Unflagged: true, // a result is a text
		Guarded: func(ctx context.Context, in conformance.Input, use func(context.Context, conformance.Writer) error) error {
			declare := describe
			if wrapped {
				declare = describeWrapped
			}
			kept, policy, err := scribe.Narrow(native(in.Tools), in.Rules, declare)
			if err != nil {
				return err // no writer: there is no falling back to every tool
			}
			_, err = in.Session.Extract(ctx, in.Turn, policy, func(ctx context.Context, g *scribe.Guard) error {
				return use(ctx, writerOf(streaming, func(ctx context.Context, llm scripted, late ...tool.BaseTool) (adk.Agent, error) {
					if wrapped {
						return wrappedWriter(ctx, g, llm, kept)
					}
					return newWriter(ctx, g, llm, "keep the {memory}", kept, adds{tools: late})
				}))
			})
			return err
		},
		Bare: func(ctx context.Context, in conformance.Input, use func(context.Context, conformance.Writer) error) error {
			tools := native(in.Tools)
			return use(ctx, writerOf(streaming, func(ctx context.Context, llm scripted, late ...tool.BaseTool) (adk.Agent, error) {
				return adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
					Name: "writer", Model: llm,
					ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: append(tools[:len(tools):len(tools)], late...)}},
				})
			}))
		},
	}
}

// wrappedWriter is a writer without hooks: its tools ask the guard themselves.
func wrappedWriter(ctx context.Context, g *scribe.Guard, llm scripted, kept []tool.BaseTool) (adk.Agent, error) {
	return adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "writer", Model: llm,
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{
			Tools:               wrap(g, kept),
			UnknownToolsHandler: func(context.Context, string, string) (string, error) { return "Error: no such tool", nil },
		}},
	})
}

// adds is a handler that adds tools, as skills and tool searches do.
type adds struct {
	*adk.BaseChatModelAgentMiddleware
	tools []tool.BaseTool
}

func (a adds) BeforeAgent(ctx context.Context, run *adk.ChatModelAgentContext) (context.Context, *adk.ChatModelAgentContext, error) {
	run.Tools = append(run.Tools, a.tools...)
	return ctx, run, nil
}

// naive and naiveStream are tools as Eino's users write them.
type (
	declared struct {
		conformance.Tool
		s *jsonschema.Schema
	}
	naive       struct{ declared }
	naiveStream struct{ declared }
)

func (t declared) Info(context.Context) (*schema.ToolInfo, error) {
	return &schema.ToolInfo{Name: t.Name, Desc: t.Description, ParamsOneOf: schema.NewParamsOneOfByJSONSchema(t.s)}, nil
}

// InvokableRun gives a fault back as a text, since an error would end the run.
func (t naive) InvokableRun(ctx context.Context, args string, _ ...tool.Option) (string, error) {
	text, err := t.Run(ctx, []byte(args))
	if err != nil {
		return "it failed", nil
	}
	return text, nil
}

func (t naiveStream) StreamableRun(ctx context.Context, args string, _ ...tool.Option) (*schema.StreamReader[string], error) {
	text, err := naive(t).InvokableRun(ctx, args)
	return schema.StreamReaderFromArray([]string{text}), err
}

func native(tools []conformance.Tool) (out []tool.BaseTool) {
	for _, t := range tools {
		d := declared{t, new(jsonschema.Schema)}
		if err := json.Unmarshal(t.Schema.(json.RawMessage), d.s); err != nil {
			panic(err) // of the suite's
		}
		if t.Stream {
			out = append(out, naiveStream{d})
		} else {
			out = append(out, naive{d})
		}
	}
	return out
}

func writerOf(streaming bool, make maker) conformance.Writer {
	var late []tool.BaseTool
	run := func(ctx context.Context, llm scripted) error {
		a, err := make(ctx, llm, late...)
		if err != nil {
			return err
		}
		return runAgent(ctx, a, "a turn", streaming, io.Discard)
	}
	return conformance.Writer{
		Tools: func(ctx context.Context) (names []string, err error) {
			err = run(ctx, func(_ []adk.Message, tools []*schema.ToolInfo) adk.Message {
				for _, t := range tools {
					names = append(names, t.Name)
				}
				return say("done")
			})
			return names, err
		},
		Call: func(ctx context.Context, calls ...conformance.Call) ([]conformance.Result, error) {
			var results []conformance.Result
			err := run(ctx, func(input []adk.Message, _ []*schema.ToolInfo) adk.Message {
				if got := answered(input); len(got) > 0 {
					results = gather(got, len(calls))
					return say("done")
				}
				var made []schema.ToolCall
				for i, c := range calls {
					made = append(made, use(fmt.Sprint("call-", i), c.Tool, c.Args))
				}
				return schema.AssistantMessage("", made)
			})
			if err == nil && results == nil {
				err = errors.New("the agent did not go on after the calls")
			}
			return results, err
		},
		Add: func(t conformance.Tool) { late = append(late, native([]conformance.Tool{t})...) },
	}
}

func gather(got []adk.Message, n int) []conformance.Result {
	results := make([]conformance.Result, n)
	for _, m := range got {
		i := -1
		if _, err := fmt.Sscanf(m.ToolCallID, "call-%d", &i); err == nil && i >= 0 && i < n {
			results[i] = conformance.Result{Text: m.Content}
		}
	}
	return results
}

// enhanced and enhancedStream are the other two kinds.
type (
	enhanced       struct{ naive }
	enhancedStream struct{ naive }
)

func (t enhanced) InvokableRun(ctx context.Context, args *schema.ToolArgument, _ ...tool.Option) (*schema.ToolResult, error) {
	text, err := t.naive.InvokableRun(ctx, args.Text)
	return part(text), err
}

func (t enhancedStream) Info(ctx context.Context) (*schema.ToolInfo, error) { return t.naive.Info(ctx) }

func (t enhancedStream) StreamableRun(ctx context.Context, args *schema.ToolArgument, _ ...tool.Option) (*schema.StreamReader[*schema.ToolResult], error) {
	text, err := t.naive.InvokableRun(ctx, args.Text)
	return schema.StreamReaderFromArray([]*schema.ToolResult{part(text)}), err
}

// TestEveryHook: a tool of each kind is asked for at each call, run where the guard
// allows it and not where it does not. Without the middleware it runs each time.
func TestEveryHook(t *testing.T) {
	dir := t.TempDir()
	session := turntest.Session(t)
	rules := map[string]scribe.Rule{"Read": {Reads: []string{"path"}, Dirs: []string{dir}}}
	n := 0
	for _, kind := range []string{"invokable", "streamable", "enhanced", "enhanced-stream"} {
		for _, streaming := range []bool{false, true} {
			for _, isGuarded := range []bool{true, false} {
				ran := 0
				d := declared{conformance.Tool{
					Tool: scribe.Tool{Name: "Read"},
					Run: func(context.Context, []byte) (string, error) {
						ran++
						return "the text", nil
					},
				}, new(jsonschema.Schema)}
				if err := json.Unmarshal([]byte(`{"type":"object","properties":{"path":{"type":"string"}}}`), d.s); err != nil {
					t.Fatal(err)
				}
				made := map[string]tool.BaseTool{
					"invokable": naive{d}, "streamable": naiveStream{d}, "enhanced": enhanced{naive{d}}, "enhanced-stream": enhancedStream{naive{d}},
				}[kind]
				kept, policy, err := scribe.Narrow([]tool.BaseTool{made}, rules, describe)
				if err != nil || len(kept) != 1 {
					t.Fatalf("%s: %v", kind, err)
				}
				var answers []string
				calls := []string{`{"path":"a.txt"}`, `{"path":"../a.txt"}`, `{"path":"a.txt","PATH":"/etc/passwd"}`}
				llm := scripted(func(input []adk.Message, _ []*schema.ToolInfo) adk.Message {
					for _, m := range answered(input) {
						text := m.Content
						for _, p := range m.UserInputMultiContent {
							text += p.Text
						}
						answers = append(answers, text)
					}
					if len(answers) > 0 {
						return say("done")
					}
					var cs []schema.ToolCall
					for i, args := range calls {
						cs = append(cs, use(fmt.Sprint(i), "Read", args))
					}
					return schema.AssistantMessage("", cs)
				})
				n++
				turn := scribe.Turn{N: n, User: []string{"please keep in mind what we said"}, Low: scribe.UserObserved}
				skip, err := session.Extract(t.Context(), turn, policy, func(ctx context.Context, g *scribe.Guard) error {
					config := compose.ToolsNodeConfig{Tools: kept, ExecuteSequentially: true}
					if isGuarded {
						config.ToolCallMiddlewares = []compose.ToolMiddleware{check(g)}
					}
					a, err := adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{Name: "writer", Model: llm, ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: config}})
					if err != nil {
						return err
					}
					return runAgent(ctx, a, "a turn", streaming, io.Discard)
				})
				want := map[bool]int{true: 1, false: len(calls)}[isGuarded]
				if err != nil || skip != "" || ran != want || len(answers) != len(calls) {
					t.Errorf("%s, streaming %v, guarded %v: ran %d times, want %d; answers %q (%v, %s)", kind, streaming, isGuarded, ran, want, answers, err, skip)
				}
				if isGuarded && strings.Count(strings.Join(answers, "\n"), "Error: ") != len(calls)-1 {
					t.Errorf("%s: answers %q", kind, answers)
				}
			}
		}
	}
}

// TestUnknownTools: without a handler a made-up tool ends Eino's run. newWriter has one.
func TestUnknownTools(t *testing.T) {
	llm := scripted(func(input []adk.Message, _ []*schema.ToolInfo) adk.Message {
		if len(answered(input)) > 0 {
			return say("done")
		}
		return schema.AssistantMessage("", []schema.ToolCall{use("1", "made_up", `{}`)})
	})
	var nobody *scribe.Guard
	bare, err := adk.NewChatModelAgent(t.Context(), &adk.ChatModelAgentConfig{
		Name: "writer", Model: llm, ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{Tools: ours(nobody)}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := runAgent(t.Context(), bare, "a turn", false, io.Discard); err == nil {
		t.Error("Eino goes on after a made-up tool by itself: the handler is not needed any more")
	}
	writer, err := newWriter(t.Context(), nobody, llm, "", nil)
	if err != nil {
		t.Fatal(err)
	}
	if err := runAgent(t.Context(), writer, "a turn", false, io.Discard); err != nil {
		t.Error(err)
	}
}

// TestProgram runs the program: the turn ends, the writer runs, and its run is not ended
// by what was refused.
func TestProgram(t *testing.T) { turntest.Program(t, run) }
