package main

import (
	"os"
	"strings"
	"testing"

	"github.com/memoryroom/scribe/examples/conformance"
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
