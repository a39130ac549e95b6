package main

import (
	"encoding/json"
	"errors"
	"iter"

	"github.com/google/jsonschema-go/jsonschema"
	"github.com/memoryroom/scribe"
	"google.golang.org/adk/agent"
	"google.golang.org/adk/agent/llmagent"
	"google.golang.org/adk/model"
	"google.golang.org/adk/tool"
	"google.golang.org/adk/tool/functiontool"
	"google.golang.org/genai"
)

// callable is what ADK runs behind BeforeToolCallbacks. streaming is what it runs past
// them, even where the tool is callable as well.
type (
	callable interface {
		Declaration() *genai.FunctionDeclaration
		Run(agent.ToolContext, any) (map[string]any, error)
	}
	streaming interface {
		RunStream(agent.ToolContext, any) iter.Seq2[string, error]
	}
)

// glue begin

// describe says what Narrow has to know of a tool.
func describe(t tool.Tool) scribe.Tool {
	d := scribe.Tool{Name: t.Name(), Unguarded: true} // as are those that act in the request
	if c, ok := t.(callable); ok {
		_, d.Unguarded = t.(streaming)
		d.Schema = schemaOf(c.Declaration())
	}
	return d
}

// check is the writer's BeforeToolCallback: what it returns is the result of the call.
func check(g *scribe.Guard) llmagent.BeforeToolCallback {
	return func(ctx agent.ToolContext, t tool.Tool, args map[string]any) (map[string]any, error) {
		switch r := g.Check(ctx, scribe.Call{Tool: t.Name(), Args: args}); {
		case r.Run:
			return nil, nil // the tool runs
		case r.IsError:
			return map[string]any{"error": r.Text}, nil
		default:
			return map[string]any{"result": r.Text}, nil
		}
	}
}

// glue end

// newWriter makes the writer of one extraction. Without the two Disallow fields ADK adds
// transfer_to_agent by itself wherever the writer has a parent or peers. The prompt goes
// through the provider, because Instruction is a template and memories hold braces.
func newWriter(g *scribe.Guard, llm model.LLM, prompt string, kept []tool.Tool) (agent.Agent, error) {
	tools, err := ours(g)
	if err != nil {
		return nil, err
	}
	return llmagent.New(llmagent.Config{
		Name: "writer", Description: "Keeps the long-term memory.", Model: llm,
		InstructionProvider:      func(agent.ReadonlyContext) (string, error) { return prompt, nil },
		Tools:                    append(tools, kept...),
		BeforeToolCallbacks:      []llmagent.BeforeToolCallback{check(g)},
		DisallowTransferToParent: true, DisallowTransferToPeers: true,
	})
}

// ours declares the guard's tools. Their functions never run: the callback answers.
func ours(g *scribe.Guard) (tools []tool.Tool, err error) {
	for _, t := range g.Tools() {
		config := functiontool.Config{Name: t.Name, Description: t.Description, InputSchema: new(jsonschema.Schema)}
		bad := json.Unmarshal(t.Schema.(json.RawMessage), config.InputSchema)
		own, worse := functiontool.New(config, func(agent.ToolContext, map[string]any) (map[string]any, error) {
			return nil, errors.New("the guard runs this tool")
		})
		tools, err = append(tools, own), errors.Join(err, bad, worse)
	}
	return tools, err
}

// schemaOf gives the schema that a tool declares in one of genai's two forms.
func schemaOf(d *genai.FunctionDeclaration) any {
	switch {
	case d == nil:
		return nil
	case d.ParametersJsonSchema != nil:
		return d.ParametersJsonSchema
	case d.Parameters != nil:
		return d.Parameters
	}
	return nil
}
