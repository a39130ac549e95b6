package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/memoryroom/scribe"
	"github.com/memoryroom/scribe/examples/conformance"
	"github.com/memoryroom/scribe/examples/internal/turn/turntest"
	"google.golang.org/adk/agent"
	"google.golang.org/adk/agent/llmagent"
	"google.golang.org/adk/model"
	"google.golang.org/adk/session"
	"google.golang.org/adk/tool"
	"google.golang.org/adk/tool/functiontool"
	"google.golang.org/genai"
)

func TestConformance(t *testing.T) { conformance.Test(t, host()) }

func TestGlue(t *testing.T) { conformance.Glue(t, "glue.go", 15) }

// host is a main agent with two subagents: a peer, and the writer, which it transfers to.
func host() conformance.Host {
	return conformance.Host{
		Decoded: true, // ADK's models give arguments as maps
		Guarded: func(ctx context.Context, in conformance.Input, use func(context.Context, conformance.Writer) error) error {
			kept, policy, err := scribe.Narrow(native(in.Tools), in.Rules, describe)
			if err != nil {
				return err // no writer: there is no falling back to every tool
			}
			_, err = in.Session.Extract(ctx, in.Turn, policy, func(ctx context.Context, g *scribe.Guard) error {
				make := func(llm model.LLM) (agent.Agent, error) { return newWriter(g, llm, "keep the {memory}", kept) }
				return use(ctx, writerOf(make, func(conformance.Tool) {}))
			})
			return err
		},
		Bare: func(ctx context.Context, in conformance.Input, use func(context.Context, conformance.Writer) error) error {
			tools := native(in.Tools)
			make := func(llm model.LLM) (agent.Agent, error) {
				return llmagent.New(llmagent.Config{Name: "writer", Model: llm, Tools: slices.Clone(tools)})
			}
			return use(ctx, writerOf(make, func(t conformance.Tool) { tools = append(tools, native([]conformance.Tool{t})...) }))
		},
	}
}

// native makes function tools, and streaming ones, as ADK's users do.
func native(tools []conformance.Tool) []tool.Tool {
	var out []tool.Tool
	for _, t := range tools {
		config := functiontool.Config{Name: t.Name, Description: t.Description, InputSchema: new(jsonschema.Schema)}
		// ADK refuses what a schema does not name; most tools leave it open.
		if err := json.Unmarshal(t.Schema.(json.RawMessage), config.InputSchema); err != nil {
			panic(err) // of the suite's
		}
		config.InputSchema.AdditionalProperties = nil
		var made tool.Tool
		var err error
		if t.Stream {
			made, err = functiontool.NewStreaming(config, func(ctx agent.ToolContext, args map[string]any) iter.Seq2[string, error] {
				return func(yield func(string, error) bool) { yield(t.Run(ctx, encode(args))) }
			})
		} else {
			made, err = functiontool.New(config, func(ctx agent.ToolContext, args map[string]any) (map[string]any, error) {
				text, err := t.Run(ctx, encode(args))
				return map[string]any{"result": text}, err
			})
		}
		if err != nil {
			panic(err)
		}
		out = append(out, made)
	}
	return out
}

func encode(args map[string]any) []byte {
	text, err := json.Marshal(args)
	if err != nil {
		panic(err) // decoded from JSON
	}
	return text
}

// tree runs the main agent with the writer below it. The main agent's model transfers at
// once; the writer's is the one given.
func tree(ctx context.Context, make func(model.LLM) (agent.Agent, error), llm scripted) (results []*genai.FunctionResponse, err error) {
	writer, err := make(llm)
	if err != nil {
		return nil, err
	}
	peer, err := llmagent.New(llmagent.Config{Name: "peer", Model: scripted(func(*model.LLMRequest) (*genai.Content, error) { return say("the peer was reached"), nil })})
	if err != nil {
		return nil, err
	}
	main, err := llmagent.New(llmagent.Config{
		Name: "main", SubAgents: []agent.Agent{writer, peer},
		Model: scripted(func(req *model.LLMRequest) (*genai.Content, error) {
			if len(answered(req)) > 0 {
				return say("back"), nil
			}
			return genai.NewContentFromParts([]*genai.Part{use("transfer_to_agent", map[string]any{"agent_name": "writer"})}, genai.RoleModel), nil
		}),
	})
	if err != nil {
		return nil, err
	}
	err = runAgent(ctx, main, "a turn", func(e *session.Event) {
		if e.Author == "writer" && e.Content != nil {
			results = append(results, responses(e.Content)...)
		}
	})
	return results, err
}

func declared(req *model.LLMRequest) []string {
	var names []string
	if req.Config != nil {
		for _, t := range req.Config.Tools {
			for _, d := range t.FunctionDeclarations {
				names = append(names, d.Name)
			}
		}
	}
	return names
}

func writerOf(make func(model.LLM) (agent.Agent, error), add func(conformance.Tool)) conformance.Writer {
	return conformance.Writer{
		Tools: func(ctx context.Context) (names []string, err error) {
			_, err = tree(ctx, make, func(req *model.LLMRequest) (*genai.Content, error) {
				names = declared(req)
				return say("done"), nil
			})
			return names, err
		},
		Call: func(ctx context.Context, calls ...conformance.Call) ([]conformance.Result, error) {
			asked := false
			got, err := tree(ctx, make, func(*model.LLMRequest) (*genai.Content, error) {
				if asked {
					return say("done"), nil
				}
				asked = true
				return parts(calls)
			})
			var results []conformance.Result
			for _, r := range got {
				text, bad := r.Response["error"].(string)
				if !bad {
					text, _ = r.Response["result"].(string)
				}
				results = append(results, conformance.Result{Text: text, IsError: bad})
			}
			return results, err
		},
		Add: add,
	}
}

func parts(calls []conformance.Call) (*genai.Content, error) {
	content := genai.NewContentFromParts(nil, genai.RoleModel)
	for i, c := range calls {
		var args map[string]any
		if err := json.Unmarshal([]byte(c.Args), &args); err != nil {
			return nil, err // no model of ADK's can say this
		}
		p := use(c.Tool, args)
		p.FunctionCall.ID = fmt.Sprint("call-", i)
		content.Parts = append(content.Parts, p)
	}
	return content, nil
}

// TestTransfers: in a tree ADK adds a transfer tool by itself. The writer has none, and
// where its configuration forgot to say so, the guard denies the call.
func TestTransfers(t *testing.T) {
	memory := turntest.Session(t)
	g := memory.Guard(1)
	forgetful := func(llm model.LLM, callbacks ...llmagent.BeforeToolCallback) (agent.Agent, error) {
		tools, err := ours(g)
		if err != nil {
			return nil, err
		}
		return llmagent.New(llmagent.Config{Name: "writer", Model: llm, Tools: tools, BeforeToolCallbacks: callbacks})
	}
	for _, tt := range []struct {
		name           string
		make           func(model.LLM) (agent.Agent, error)
		shown, reaches bool
	}{
		{"the glue", func(llm model.LLM) (agent.Agent, error) { return newWriter(g, llm, "", nil) }, false, false},
		{"without the Disallow fields", func(llm model.LLM) (agent.Agent, error) { return forgetful(llm, check(g)) }, true, false},
		{"without the callback too", func(llm model.LLM) (agent.Agent, error) { return forgetful(llm) }, true, true},
	} {
		shown, back := false, false
		_, err := tree(t.Context(), tt.make, func(req *model.LLMRequest) (*genai.Content, error) {
			shown = shown || slices.Contains(declared(req), "transfer_to_agent")
			if len(answered(req)) > 0 && answered(req)[0].Response["error"] != nil {
				back = true // the writer goes on, with a refusal
				return say("done"), nil
			}
			return genai.NewContentFromParts([]*genai.Part{use("transfer_to_agent", map[string]any{"agent_name": "peer"})}, genai.RoleModel), nil
		})
		if err != nil {
			t.Errorf("%s: %v", tt.name, err)
		}
		if shown != tt.shown || back == tt.reaches {
			t.Errorf("%s: shown %v, refused %v; want shown %v, refused %v", tt.name, shown, back, tt.shown, !tt.reaches)
		}
	}
}

// both is a tool that streams and can be called: ADK streams it, past the callback.
type both struct{ tool.Tool }

func (both) Declaration() *genai.FunctionDeclaration {
	return &genai.FunctionDeclaration{Name: "tail", Parameters: &genai.Schema{Type: genai.TypeObject}}
}
func (both) Run(agent.ToolContext, any) (map[string]any, error) { return nil, nil }
func (both) RunStream(agent.ToolContext, any) iter.Seq2[string, error] {
	return func(func(string, error) bool) {}
}

// inRequest is a tool that has no function: it acts in the model's request.
type inRequest struct{ tool.Tool }

// TestUnguarded: what ADK runs without asking a callback can not be kept.
func TestUnguarded(t *testing.T) {
	named, err := functiontool.New(functiontool.Config{Name: "tail"}, func(agent.ToolContext, struct{}) (string, error) { return "", nil })
	if err != nil {
		t.Fatal(err)
	}
	rules := map[string]scribe.Rule{"tail": {}}
	for name, tt := range map[string]struct {
		tool tool.Tool
		ok   bool
	}{"a function": {named, true}, "streams and can be called": {both{named}, false}, "acts in the request": {inRequest{named}, false}} {
		kept, _, err := scribe.Narrow([]tool.Tool{tt.tool}, rules, describe)
		if ok := err == nil && len(kept) == 1; ok != tt.ok || !tt.ok && !errors.Is(err, scribe.ErrNarrow) {
			t.Errorf("%s: kept %d, %v", name, len(kept), err)
		}
	}
}

// TestProgram runs the program: the turn ends, the writer runs, and its run is not ended
// by what was refused.
func TestProgram(t *testing.T) { turntest.Program(t, run) }
