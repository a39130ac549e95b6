package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/memoryroom/scribe"
)

// maxTranscript bounds a transcript: far above any real session.
const maxTranscript = 256 << 20

// turn is one message of the user, and what happened until the next one.
type turn struct {
	user    []string
	results []result
	runs    []writerRun
}

// result is what a tool gave back to the main agent.
type result struct {
	tool, text string
}

// writerRun is one run of the memory writer, with the calls that it made.
type writerRun struct {
	userOnly bool // it was shown the user's words alone
	calls    []scribe.Call
}

// line is one line of a transcript, as coding agents write it.
type line struct {
	Type        string `json:"type"`
	IsSidechain bool   `json:"isSidechain"` // a subagent's
	IsMeta      bool   `json:"isMeta"`      // put in by the agent, not typed
	WriterSees  string `json:"writerSees"`  // ours: "user" when this writer is shown the user's words alone
	Message     *struct {
		Role    string          `json:"role"`
		Content json.RawMessage `json:"content"`
	} `json:"message"`
}

// block is one part of a message.
type block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text"`
	ID        string          `json:"id"`
	Name      string          `json:"name"`
	Input     json.RawMessage `json:"input"`
	ToolUseID string          `json:"tool_use_id"`
	Content   json.RawMessage `json:"content"`
}

func readTranscript(name string) ([]byte, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("transcript: %w", err)
	}
	if !info.Mode().IsRegular() || info.Size() > maxTranscript {
		return nil, fmt.Errorf("transcript: %s is not a file of at most %d bytes", name, maxTranscript)
	}
	return os.ReadFile(name)
}

// parseTranscript reads every line or fails with the number of the broken one.
func parseTranscript(data []byte) ([]turn, error) {
	p := parser{tools: map[string]string{}}
	n := 0
	for raw := range bytes.Lines(bytes.TrimPrefix(data, []byte("\uFEFF"))) {
		n++
		if raw = bytes.TrimSpace(raw); len(raw) == 0 {
			continue
		}
		var l line
		if err := json.Unmarshal(raw, &l); err != nil {
			return nil, fmt.Errorf("line %d is not a JSON object of a transcript: %s", n, strings.ReplaceAll(err.Error(), "Go value of type main.line", "one"))
		}
		if l.Message == nil || (l.Type != "user" && l.Type != "assistant") {
			continue // summaries, file snapshots, settings: not conversation
		}
		blocks, err := parseContent(l.Message.Content)
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
		p.line(l, blocks)
	}
	if len(p.turns) == 0 {
		return nil, errors.New("holds no message of a user")
	}
	return p.turns, nil
}

// parseContent takes a string or a list of blocks.
func parseContent(raw json.RawMessage) ([]block, error) {
	var text string
	if len(raw) == 0 || json.Unmarshal(raw, &text) == nil {
		return []block{{Type: "text", Text: text}}, nil
	}
	var blocks []block
	if err := json.Unmarshal(raw, &blocks); err != nil {
		return nil, fmt.Errorf("the content of a message is neither text nor a list of blocks: %w", err)
	}
	return blocks, nil
}

// parser collects turns.
type parser struct {
	turns []turn
	tools map[string]string // names of tools by the ID of the call
}

func (p *parser) last() *turn { return &p.turns[len(p.turns)-1] }

func (p *parser) line(l line, blocks []block) {
	typed := l.Type == "user" && !l.IsSidechain && !l.IsMeta
	if typed {
		if text := userText(blocks); text != "" {
			p.turns = append(p.turns, turn{})
			p.last().user = append(p.last().user, text)
		}
	}
	if len(p.turns) == 0 {
		return
	}
	if l.IsSidechain && l.Type == "user" && userText(blocks) != "" {
		p.last().runs = append(p.last().runs, writerRun{userOnly: l.WriterSees == "user"})
	}
	for _, b := range blocks {
		switch {
		case b.Type == "tool_use":
			p.tools[b.ID] = b.Name
			if l.IsSidechain || b.Name == "memory" || b.Name == "recall" {
				p.call(scribe.Call{Tool: b.Name, Args: b.Input})
			}
		case b.Type == "tool_result" && !l.IsSidechain:
			if name := p.tools[b.ToolUseID]; name != "memory" && name != "recall" {
				p.last().results = append(p.last().results, result{tool: name, text: resultText(b.Content)})
			}
		}
	}
}

// call adds a call to the writer's current run.
func (p *parser) call(c scribe.Call) {
	t := p.last()
	if len(t.runs) == 0 {
		t.runs = append(t.runs, writerRun{})
	}
	r := &t.runs[len(t.runs)-1]
	r.calls = append(r.calls, c)
}

func userText(blocks []block) string {
	var parts []string
	for _, b := range blocks {
		if b.Type == "text" && strings.TrimSpace(b.Text) != "" {
			parts = append(parts, b.Text)
		}
	}
	return strings.Join(parts, "\n")
}

func resultText(raw json.RawMessage) string {
	blocks, err := parseContent(raw)
	if err != nil {
		return string(raw)
	}
	return userText(blocks)
}

// scripted reports whether the transcript holds calls of a writer to replay.
func scripted(turns []turn) bool {
	for _, t := range turns {
		for _, r := range t.runs {
			if len(r.calls) > 0 {
				return true
			}
		}
	}
	return false
}

// trustOf labels a tool's result: what README.md tells hosts to do.
func trustOf(tool string) scribe.Trust {
	switch tool {
	case "Read", "Glob", "Grep", "LS":
		return scribe.UserObserved // the user's own workspace
	case "WebFetch", "WebSearch":
		return scribe.ExternalWeb
	}
	return scribe.ExternalTool
}

// expandExample puts the example's credential in: assembled here, so that no file of
// the repository holds one. Its checksum is right and it opens nothing.
func expandExample(data []byte) []byte {
	token := "gh" + "p_" + strings.Repeat("Ab3dEf7hJk", 3) + "3MzaB7"
	return bytes.ReplaceAll(data, []byte("{{example-token}}"), []byte(token))
}
