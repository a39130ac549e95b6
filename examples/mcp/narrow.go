package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"

	"github.com/memoryroom/scribe"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// The other side of the protocol: a runtime that is a client of somebody's server and
// gives its writer that server's tools. The middleware stands in front of the wire, so
// that the server sees no call that the guard did not allow.

var errNarrowed = errors.New("a writer's client lists and calls tools, and nothing else")

// glue begin

// describe says what is known of a server's tool. Where the server is not the runtime's
// own, Server is its name, and nothing of it is kept.
func describe(t *mcp.Tool) scribe.Tool {
	return scribe.Tool{Name: t.Name, Schema: t.InputSchema, OpenWorld: hints(t).OpenWorldHint, Destructive: hints(t).DestructiveHint}
}

// narrowed shows a writer the tools that were kept, and asks the guard about each call.
func narrowed(g *scribe.Guard, kept []*mcp.Tool) mcp.Middleware {
	return func(next mcp.MethodHandler) mcp.MethodHandler {
		return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
			switch p, _ := req.GetParams().(*mcp.CallToolParams); method {
			case "tools/list":
				return &mcp.ListToolsResult{Tools: append(ours(g), kept...)}, nil
			case "tools/call":
				if r := g.Check(ctx, scribe.Call{Tool: p.Name, Args: p.Arguments}); !r.Run {
					return answer(r), nil
				}
			case "ping": // keeps the connection
			default:
				return nil, errNarrowed // resources and prompts reach the server past its tools
			}
			return next(ctx, method, req)
		}
	}
}

// glue end

// hints are what a server says of its tool; a hint can remove one and never keeps one.
func hints(t *mcp.Tool) *mcp.ToolAnnotations {
	return cmp.Or(t.Annotations, new(mcp.ToolAnnotations))
}

// ours declares the guard's tools in the protocol's words.
func ours(g *scribe.Guard) []*mcp.Tool {
	var out []*mcp.Tool
	no := false
	for _, t := range g.Tools() {
		out = append(out, &mcp.Tool{
			Name: t.Name, Description: t.Description, InputSchema: t.Schema, OutputSchema: json.RawMessage(outputSchema),
			Annotations: &mcp.ToolAnnotations{Title: titles[t.Name], ReadOnlyHint: t.Name == "recall", IdempotentHint: t.Name == "recall", OpenWorldHint: &no},
		})
	}
	return out
}
