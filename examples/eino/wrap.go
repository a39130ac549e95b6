package main

import (
	"context"

	"github.com/cloudwego/eino/components/tool"
	"github.com/memoryroom/scribe"
)

// guarded is the other way: a tool that asks the guard itself, for loops that are built
// without a tools node. Nothing stands between its check and its use of the arguments;
// it is invokable and nothing else, so that no other kind of call reaches the tool.
type guarded struct {
	tool.InvokableTool
	guard *scribe.Guard
}

// InvokableRun lets the guard answer, or the tool where the guard allows it.
func (t guarded) InvokableRun(ctx context.Context, args string, opts ...tool.Option) (string, error) {
	info, err := t.Info(ctx)
	if err != nil {
		return "", err
	}
	if r := t.guard.Check(ctx, scribe.Call{Tool: info.Name, Args: args}); !r.Run {
		return r.Text, nil
	}
	return t.InvokableTool.InvokableRun(ctx, args, opts...)
}

// describeWrapped is describe for tools that are going to be wrapped: the other kinds can
// not be, and so they can not be kept.
func describeWrapped(t tool.BaseTool) scribe.Tool {
	d := describe(t)
	_, ok := t.(tool.InvokableTool)
	d.Unguarded = !ok
	return d
}

// wrap puts the guard before ours and those that were kept.
func wrap(g *scribe.Guard, kept []tool.BaseTool) (tools []tool.BaseTool) {
	for _, t := range append(ours(g), kept...) {
		tools = append(tools, guarded{t.(tool.InvokableTool), g}) // Narrow kept no other kind
	}
	return tools
}
