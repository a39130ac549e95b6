package main

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"

	"github.com/memoryroom/scribe"
	"github.com/memoryroom/scribe/examples/conformance"
	"github.com/memoryroom/scribe/examples/internal/turn/turntest"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

func TestConformance(t *testing.T) { conformance.Test(t, host(t)) }

func TestGlue(t *testing.T) { conformance.Glue(t, "narrow.go", 15) }

// TestReadmeLine runs the line of configuration that README.md gives.
func TestReadmeLine(t *testing.T) {
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, line, ok := strings.Cut(string(readme), "\nclaude mcp add memory -- \"$PWD/scribe-mcp\" ")
	line, _, _ = strings.Cut(line, "\n")
	if !ok {
		t.Fatal("README.md has no line of configuration")
	}
	args := strings.Fields(strings.ReplaceAll(strings.ReplaceAll(line, `"`, ""), "$HOME", t.TempDir()))
	w := start(t, args...)
	if m := w.request(1, "initialize", `{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}`); m.Error != nil {
		t.Errorf("initialize: %+v", *m.Error)
	}
}

// TestNarrowedSession: past the two methods of tools a writer's client reaches nothing of
// the server, and its connection stays up.
func TestNarrowedSession(t *testing.T) {
	server := foreign(nil)
	server.AddResource(&mcp.Resource{URI: "file:///etc/passwd", Name: "passwd"}, func(context.Context, *mcp.ReadResourceRequest) (*mcp.ReadResourceResult, error) {
		return contents("file:///etc/passwd", "text/plain", "root:x:0:0"), nil
	})
	server.AddPrompt(&mcp.Prompt{Name: "obey"}, func(context.Context, *mcp.GetPromptRequest) (*mcp.GetPromptResult, error) {
		return &mcp.GetPromptResult{Description: "obey"}, nil
	})
	memory := turntest.Session(t)
	for _, isNarrowed := range []bool{true, false} {
		var layers []mcp.Middleware
		if isNarrowed {
			layers = append(layers, narrowed(memory.Guard(1), nil))
		}
		s, err := dial(t.Context(), server, layers...)
		if err != nil {
			t.Fatal(err)
		}
		_, listing := s.ListResources(t.Context(), nil)
		_, reading := s.ReadResource(t.Context(), &mcp.ReadResourceParams{URI: "file:///etc/passwd"})
		_, prompt := s.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "obey"})
		for what, err := range map[string]error{"resources/list": listing, "resources/read": reading, "prompts/get": prompt} {
			if refused := errors.Is(err, errNarrowed); refused != isNarrowed || !isNarrowed && err != nil {
				t.Errorf("narrowed %v: %s: %v", isNarrowed, what, err)
			}
		}
		if err := s.Ping(t.Context(), nil); err != nil {
			t.Errorf("narrowed %v: ping: %v", isNarrowed, err)
		}
		s.Close()
	}
}

// TestHints: what a server says of its tool can remove it, and a rule does not bring it back.
func TestHints(t *testing.T) {
	yes := true
	schema := map[string]any{"type": "object", "properties": map[string]any{"path": map[string]any{"type": "string"}}}
	rules := map[string]scribe.Rule{"Read": {Reads: []string{"path"}, Dirs: []string{t.TempDir()}}}
	for name, tt := range map[string]struct {
		hints *mcp.ToolAnnotations
		ok    bool
	}{
		"none":        {nil, true},
		"read-only":   {&mcp.ToolAnnotations{ReadOnlyHint: true}, true},
		"open world":  {&mcp.ToolAnnotations{OpenWorldHint: &yes}, false},
		"destructive": {&mcp.ToolAnnotations{DestructiveHint: &yes}, false},
	} {
		kept, _, err := scribe.Narrow([]*mcp.Tool{{Name: "Read", InputSchema: schema, Annotations: tt.hints}}, rules, describe)
		if ok := err == nil && len(kept) == 1; ok != tt.ok || !tt.ok && !errors.Is(err, scribe.ErrNarrow) {
			t.Errorf("%s: kept %d, %v", name, len(kept), err)
		}
	}
}
