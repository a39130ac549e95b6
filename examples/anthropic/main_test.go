package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/memoryroom/scribe"
	"github.com/memoryroom/scribe/examples/anthropic/stub"
	"github.com/memoryroom/scribe/examples/conformance"
	"github.com/memoryroom/scribe/examples/internal/turn"
	"github.com/memoryroom/scribe/examples/internal/turn/turntest"
)

// TestProgram runs the program without a key: the memory is there, the order waits, the
// rest is refused, and the run goes to its end.
func TestProgram(t *testing.T) {
	for _, mode := range [][]string{{}, {"-stream"}} {
		var out, errs bytes.Buffer
		dir := filepath.Join(t.TempDir(), "room")
		if code := run(t.Context(), append([]string{"-room", dir}, mode...), "", &out, &errs); code != 0 {
			t.Fatalf("exit %d: %s", code, &errs)
		}
		for _, want := range []string{
			"the writer keeps read_file", "removed bash (narrow.shell)", `the writer says "The deploys are noted."`,
			"active deploys.md, user-verified", "pending hint.md", "refused: [path.instruction-file]",
		} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%q: not printed: %q\n%s", mode, want, &out)
			}
		}
		if text, err := os.ReadFile(filepath.Join(dir, "deploys.md")); err != nil || string(text) != "we deploy on Tuesdays, after the stand-up\n" {
			t.Errorf("deploys.md: %q, %v", text, err)
		}
	}
}

// TestWire looks at what a model would have been sent: the native memory tool and no
// other definition of that name, nothing that runs on the API's side, and texts of
// refusals that carry one mark.
func TestWire(t *testing.T) {
	for _, stream := range []bool{false, true} {
		server := stub.Start(script)
		h := &host{client: server.Client()}
		args := []string{"-room", filepath.Join(t.TempDir(), "room"), fmt.Sprintf("-stream=%v", stream)}
		var out bytes.Buffer
		if code := (turn.Program{Name: "anthropic", Flags: h.flags, Play: h.play}).Run(t.Context(), args, &out, &out); code != 0 {
			t.Fatal(&out)
		}
		server.Close()
		requests := server.Requests()
		if len(requests) != 3 {
			t.Fatalf("%d requests, want 3", len(requests))
		}
		var shown []string
		for _, tool := range requests[0].Tools {
			shown = append(shown, tool.Type+" "+tool.Name)
		}
		slices.Sort(shown)
		if want := []string{" read_file", " recall", "memory_20250818 memory"}; !slices.Equal(shown, want) {
			t.Errorf("the model is shown %q, want %q", shown, want)
		}
		first := requests[0]
		if len(first.MCPServers) > 0 || first.Stream != stream || !strings.Contains(first.Beta, "context-management-2025-06-27") {
			t.Errorf("request: %+v", first)
		}
		if len(first.System) != 1 || !strings.Contains(first.System[0].Text, "memory-snapshot") || !strings.Contains(first.System[0].Text, "long-term memory") {
			t.Errorf("system: %+v", first.System)
		}
		answers := map[string]stub.Block{}
		for _, b := range requests[2].Results() {
			answers[b.ToolUseID] = b
		}
		for id, want := range map[string]struct {
			text    string
			isError bool
		}{
			"toolu_2": {"File created successfully at: /memories/deploys.md", false},
			"toolu_3": {"Error: ", true},
			"toolu_4": {"Error: Not saved: path.instruction-file", true},
			"toolu_5": {"Held, not saved", false},
			"toolu_6": {"Error: the path climbs", true},
		} {
			if got := answers[id]; !strings.HasPrefix(got.Answer(), want.text) || got.IsError != want.isError {
				t.Errorf("%s: %q (error %v), want %q (%v)", id, got.Answer(), got.IsError, want.text, want.isError)
			}
		}
	}
}

// TestWriterParams: what the main agent's parameters bring along stays with it.
func TestWriterParams(t *testing.T) {
	body, err := json.Marshal(writerParams("m", "s", "c").BetaMessageNewParams)
	if err != nil {
		t.Fatal(err)
	}
	for _, word := range []string{"mcp_servers", "web_search", "web_fetch", "code_execution", "container"} {
		if strings.Contains(string(body), word) {
			t.Errorf("the request holds %s: %s", word, body)
		}
	}
}

// TestServerTools: what runs on the API's side has no place in a writer, and says so.
func TestServerTools(t *testing.T) {
	tools := []anthropic.BetaToolUnionParam{
		{OfWebSearchTool20250305: &anthropic.BetaWebSearchTool20250305Param{}},
		{OfMCPToolset: &anthropic.BetaMCPToolsetParam{MCPServerName: "issues"}},
	}
	kept, policy, err := scribe.Narrow(tools, nil, func(u anthropic.BetaToolUnionParam) scribe.Tool {
		name := "mcp_toolset"
		if n := u.GetName(); n != nil {
			name = *n
		}
		return scribe.Tool{Name: name, Unguarded: true}
	})
	if err != nil || len(kept) > 0 || len(policy.Removed()) != len(tools) {
		t.Errorf("kept %d, removed %v, %v", len(kept), policy.Removed(), err)
	}
}

// TestLateTools: a tool that the runtime adds to the runner itself is one of the host's
// acts, and the guard stands in front of it when it is added as ours are.
func TestLateTools(t *testing.T) {
	session := turntest.Session(t)
	ran := false
	late := naive{conformance.Tool{
		Tool: scribe.Tool{Name: "late", Schema: json.RawMessage(`{"type":"object"}`)},
		Run: func(context.Context, []byte) (string, error) {
			ran = true
			return "", nil
		},
	}}
	server := stub.Start(func(r stub.Request) []stub.Block {
		if len(r.Results()) > 0 {
			return []stub.Block{stub.Say("done")}
		}
		return []stub.Block{stub.Use("toolu_1", "late", `{}`)}
	})
	defer server.Close()
	client := server.Client()
	g := session.Guard(1)
	tools, err := writerTools(g, nil)
	if err != nil {
		t.Fatal(err)
	}
	runner := client.Beta.Messages.NewToolRunner(tools, writerParams("m", "s", "c"))
	runner.AddTools(guarded{late, g})
	if _, err := runner.RunToCompletion(t.Context()); err != nil {
		t.Fatal(err)
	}
	requests := server.Requests()
	if rs := requests[len(requests)-1].Results(); ran || len(rs) != 1 || !rs[0].IsError {
		t.Errorf("ran %v, results %+v", ran, rs)
	}
}
