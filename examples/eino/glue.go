package main

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/cloudwego/eino/adk"
	"github.com/cloudwego/eino/components/model"
	"github.com/cloudwego/eino/components/tool"
	"github.com/cloudwego/eino/compose"
	"github.com/cloudwego/eino/schema"
	"github.com/eino-contrib/jsonschema"
	"github.com/memoryroom/scribe"
)

// glue begin

// describe says what Narrow has to know of a tool.
func describe(t tool.BaseTool) scribe.Tool {
	info, _ := t.Info(context.Background()) // without one it panics, and Narrow fails
	return scribe.Tool{Name: info.Name, Schema: schemaOf(info)}
}

// check asks the guard before a tool of any of the four kinds runs.
func check(g *scribe.Guard) compose.ToolMiddleware {
	return compose.ToolMiddleware{
		Invokable:          ask[compose.InvokableToolEndpoint](g, whole),
		Streamable:         ask[compose.StreamableToolEndpoint](g, stream),
		EnhancedInvokable:  ask[compose.EnhancedInvokableToolEndpoint](g, parts),
		EnhancedStreamable: ask[compose.EnhancedStreamableToolEndpoint](g, partStream),
	}
}

// ask runs the tool, or gives the guard's answer in the form of the tool's kind.
func ask[E ~func(context.Context, *compose.ToolInput) (R, error), R any](g *scribe.Guard, answer func(string) R) func(E) E {
	return func(next E) E {
		return func(ctx context.Context, in *compose.ToolInput) (R, error) {
			if r := g.Check(ctx, scribe.Call{Tool: in.Name, Args: in.Arguments}); !r.Run {
				return answer(r.Text), nil // never an error: that would end the run
			}
			return next(ctx, in)
		}
	}
}

// glue end

// The guard's answer in the four forms.
func whole(text string) *compose.ToolOutput { return &compose.ToolOutput{Result: text} }

func stream(text string) *compose.StreamToolOutput {
	return &compose.StreamToolOutput{Result: schema.StreamReaderFromArray([]string{text})}
}

func parts(text string) *compose.EnhancedInvokableToolOutput {
	return &compose.EnhancedInvokableToolOutput{Result: part(text)}
}

func partStream(text string) *compose.EnhancedStreamableToolOutput {
	return &compose.EnhancedStreamableToolOutput{Result: schema.StreamReaderFromArray([]*schema.ToolResult{part(text)})}
}

func part(text string) *schema.ToolResult {
	return &schema.ToolResult{Parts: []schema.ToolOutputPart{{Type: schema.ToolPartTypeText, Text: text}}}
}

// schemaOf gives a tool's schema; nil for none, and then no rule can keep it.
func schemaOf(info *schema.ToolInfo) any {
	if s, err := info.ToJSONSchema(); err == nil && s != nil {
		return s
	}
	return nil
}

// newWriter makes the writer of one extraction. Without UnknownToolsHandler a tool that
// the model makes up ends the run. The prompt goes through GenModelInput, because
// Instruction is a template and memories hold braces. only stands last among the
// handlers: what others add to the tools is gone again.
func newWriter(ctx context.Context, g *scribe.Guard, llm model.BaseChatModel, prompt string, kept []tool.BaseTool, others ...adk.ChatModelAgentMiddleware) (adk.Agent, error) {
	tools := append(ours(g), kept...)
	return adk.NewChatModelAgent(ctx, &adk.ChatModelAgentConfig{
		Name: "writer", Description: "Keeps the long-term memory.", Model: llm,
		ToolsConfig: adk.ToolsConfig{ToolsNodeConfig: compose.ToolsNodeConfig{
			Tools:               tools,
			ToolCallMiddlewares: []compose.ToolMiddleware{check(g)},
			UnknownToolsHandler: func(ctx context.Context, name, args string) (string, error) {
				return g.Check(ctx, scribe.Call{Tool: name, Args: args}).Text, nil
			},
		}},
		GenModelInput: func(_ context.Context, _ string, in *adk.AgentInput) ([]adk.Message, error) {
			return append([]adk.Message{schema.SystemMessage(prompt)}, in.Messages...), nil
		},
		Handlers: append(others, only{tools: tools}),
	})
}

// only holds a writer to its tools.
type only struct {
	*adk.BaseChatModelAgentMiddleware
	tools []tool.BaseTool
}

// BeforeAgent drops what Eino and other handlers added.
func (o only) BeforeAgent(ctx context.Context, run *adk.ChatModelAgentContext) (context.Context, *adk.ChatModelAgentContext, error) {
	run.Tools, run.ToolSearchTool, run.ReturnDirectly = o.tools, nil, nil
	return ctx, run, nil
}

// ours declares the guard's tools.
func ours(g *scribe.Guard) (tools []tool.BaseTool) {
	for _, t := range g.Tools() {
		s := new(jsonschema.Schema)
		if err := json.Unmarshal(t.Schema.(json.RawMessage), s); err != nil {
			panic(err) // a constant of scribe's
		}
		tools = append(tools, own{&schema.ToolInfo{Name: t.Name, Desc: t.Description, ParamsOneOf: schema.NewParamsOneOfByJSONSchema(s)}})
	}
	return tools
}

// own is one of the guard's tools, whose middleware answers.
type own struct{ info *schema.ToolInfo }

// Info declares the tool.
func (t own) Info(context.Context) (*schema.ToolInfo, error) { return t.info, nil }

// InvokableRun is never reached.
func (t own) InvokableRun(context.Context, string, ...tool.Option) (string, error) {
	return "", errors.New("the guard runs this tool")
}
