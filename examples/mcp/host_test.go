package main

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/memoryroom/scribe"
	"github.com/memoryroom/scribe/examples/conformance"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// host is a runtime whose writer works through a client of a foreign server.
func host(t *testing.T) conformance.Host {
	return conformance.Host{
		Guarded: func(ctx context.Context, in conformance.Input, use func(context.Context, conformance.Writer) error) error {
			server := foreign(in.Tools)
			main, err := dial(ctx, server)
			if err != nil {
				return err
			}
			defer main.Close()
			listed, err := main.ListTools(ctx, nil)
			if err != nil {
				return err
			}
			kept, policy, err := scribe.Narrow(listed.Tools, in.Rules, describe)
			if err != nil {
				return err // no writer: there is no falling back to every tool
			}
			_, err = in.Session.Extract(ctx, in.Turn, policy, func(ctx context.Context, g *scribe.Guard) error {
				return withClient(t, ctx, server, use, narrowed(g, kept))
			})
			return err
		},
		Bare: func(ctx context.Context, in conformance.Input, use func(context.Context, conformance.Writer) error) error {
			return withClient(t, ctx, foreign(in.Tools), use)
		},
	}
}

// foreign is a server with the suite's tools, whose handlers take what they get.
func foreign(tools []conformance.Tool) *mcp.Server {
	server := mcp.NewServer(&mcp.Implementation{Name: "foreign", Version: version}, &mcp.ServerOptions{Capabilities: &mcp.ServerCapabilities{}})
	for _, t := range tools {
		addForeign(server, t)
	}
	return server
}

func addForeign(server *mcp.Server, t conformance.Tool) {
	declared := &mcp.Tool{Name: t.Name, Description: t.Description, InputSchema: t.Schema}
	if t.OpenWorld != nil || t.Destructive != nil {
		declared.Annotations = &mcp.ToolAnnotations{OpenWorldHint: t.OpenWorld, DestructiveHint: t.Destructive}
	}
	server.AddTool(declared, func(ctx context.Context, req *mcp.CallToolRequest) (*mcp.CallToolResult, error) {
		if t.Stream && req.Params.GetProgressToken() != nil { // the protocol streams by progress
			progress(ctx, req, 0, "reading")
		}
		text, err := t.Run(ctx, req.Params.Arguments)
		if err != nil {
			text = "it failed"
		}
		return &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: text}}, IsError: err != nil}, nil
	})
}

// dial connects a client to a server in this process.
func dial(ctx context.Context, server *mcp.Server, narrow ...mcp.Middleware) (*mcp.ClientSession, error) {
	there, here := mcp.NewInMemoryTransports()
	if _, err := server.Connect(ctx, there, nil); err != nil {
		return nil, err
	}
	client := mcp.NewClient(&mcp.Implementation{Name: "writer", Version: version}, nil)
	session, err := client.Connect(ctx, here, nil)
	client.AddSendingMiddleware(narrow...) // after the handshake, which is the runtime's own
	return session, err
}

func withClient(t *testing.T, ctx context.Context, server *mcp.Server, use func(context.Context, conformance.Writer) error, narrow ...mcp.Middleware) error {
	session, err := dial(ctx, server, narrow...)
	if err != nil {
		return err
	}
	t.Cleanup(func() { session.Close() }) // later than the extraction: what it can still do then is part of the suite
	return use(ctx, conformance.Writer{
		Tools: func(ctx context.Context) (names []string, err error) {
			listed, err := session.ListTools(ctx, nil)
			if err != nil {
				return nil, err
			}
			for _, t := range listed.Tools {
				names = append(names, t.Name)
			}
			return names, nil
		},
		Call: func(ctx context.Context, calls ...conformance.Call) ([]conformance.Result, error) {
			return callTogether(ctx, session, calls)
		},
		Add: func(t conformance.Tool) { addForeign(server, t) },
	})
}

// callTogether makes the calls of one turn at once, as clients do.
func callTogether(ctx context.Context, session *mcp.ClientSession, calls []conformance.Call) ([]conformance.Result, error) {
	results := make([]conformance.Result, len(calls))
	errs := make(chan error, len(calls))
	for i, c := range calls {
		go func() {
			res, err := session.CallTool(ctx, &mcp.CallToolParams{Name: c.Tool, Arguments: json.RawMessage(c.Args)})
			if err == nil {
				results[i] = conformance.Result{Text: textOf(res.Content), IsError: res.IsError}
			}
			errs <- err
		}()
	}
	var failed error
	for range calls {
		if err := <-errs; err != nil {
			failed = fmt.Errorf("tools/call: %w", err)
		}
	}
	return results, failed
}

func textOf(content []mcp.Content) string {
	var parts []string
	for _, c := range content {
		if t, ok := c.(*mcp.TextContent); ok {
			parts = append(parts, t.Text)
		}
	}
	return strings.Join(parts, "\n")
}
