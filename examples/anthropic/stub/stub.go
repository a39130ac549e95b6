// Package stub speaks the wire format of the Messages API on a loopback address, with a
// scripted model behind it: streaming and not, enough for a tool loop. It keeps the
// requests, so that a test can see what a model would have been shown.
package stub

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"

	"github.com/anthropics/anthropic-sdk-go/v2"
	"github.com/anthropics/anthropic-sdk-go/v2/option"
)

// Request is what the stub reads of a request.
type Request struct {
	Model      string            `json:"model"`
	System     []Block           `json:"system"`
	Tools      []Tool            `json:"tools"`
	MCPServers []json.RawMessage `json:"mcp_servers"`
	Messages   []struct {
		Role    string  `json:"role"`
		Content []Block `json:"content"`
	} `json:"messages"`
	Stream bool `json:"stream"`
	Beta   string
}

// Tool is a declared tool: a native one has a type and no schema.
type Tool struct {
	Type        string          `json:"type"`
	Name        string          `json:"name"`
	InputSchema json.RawMessage `json:"input_schema"`
}

// Block is a content block: text, tool_use or tool_result.
type Block struct {
	Type      string          `json:"type"`
	Text      string          `json:"text,omitempty"`
	ID        string          `json:"id,omitempty"`
	Name      string          `json:"name,omitempty"`
	Input     json.RawMessage `json:"input,omitempty"`
	ToolUseID string          `json:"tool_use_id,omitempty"`
	IsError   bool            `json:"is_error,omitempty"`
	Content   []Block         `json:"content,omitempty"`
}

// Use is a tool call as a model makes it. Args is sent as it is.
func Use(id, tool, args string) Block {
	return Block{Type: "tool_use", ID: id, Name: tool, Input: json.RawMessage(args)}
}

// Say is a text.
func Say(text string) Block { return Block{Type: "text", Text: text} }

// Results gives the tool results of a request's last message.
func (r Request) Results() []Block {
	var out []Block
	if n := len(r.Messages); n > 0 {
		for _, b := range r.Messages[n-1].Content {
			if b.Type == "tool_result" {
				out = append(out, b)
			}
		}
	}
	return out
}

// Answer is the text of a tool result.
func (b Block) Answer() string {
	var s strings.Builder
	for _, c := range b.Content {
		s.WriteString(c.Text)
	}
	return s.String()
}

// Server is the stub. Its model is a function of the request.
type Server struct {
	URL string

	server *httptest.Server
	model  func(Request) []Block

	mu   sync.Mutex // guards seen
	seen []Request
}

// Start serves on a loopback address until Close.
func Start(model func(Request) []Block) *Server {
	s := &Server{model: model}
	s.server = httptest.NewServer(http.HandlerFunc(s.messages))
	s.URL = s.server.URL
	return s
}

// Client is a client of the SDK that talks to the stub.
func (s *Server) Client() anthropic.Client {
	return anthropic.NewClient(option.WithBaseURL(s.URL), option.WithAPIKey("stub"), option.WithMaxRetries(0))
}

// Close ends the server.
func (s *Server) Close() { s.server.Close() }

// Requests are those that came so far.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Request(nil), s.seen...)
}

func (s *Server) messages(w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodPost || r.URL.Path != "/v1/messages" || r.Header.Get("Authorization") == "" {
		w.WriteHeader(http.StatusNotFound)
		io.WriteString(w, `{"type":"error","error":{"type":"not_found_error","message":"POST /v1/messages with a key"}}`)
		return
	}
	var req Request
	if err := json.NewDecoder(r.Body).Decode(&req); err != nil {
		w.WriteHeader(http.StatusBadRequest)
		io.WriteString(w, `{"type":"error","error":{"type":"invalid_request_error","message":"not a request"}}`)
		return
	}
	req.Beta = strings.Join(r.Header.Values("Anthropic-Beta"), ",")
	s.mu.Lock()
	s.seen = append(s.seen, req)
	s.mu.Unlock()
	blocks := s.model(req)
	stop := "end_turn"
	for _, b := range blocks {
		if b.Type == "tool_use" {
			stop = "tool_use"
		}
	}
	if req.Stream {
		stream(w, req.Model, stop, blocks)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	fmt.Fprintf(w, `{"id":"msg_1","type":"message","role":"assistant","model":%q,"content":[%s],"stop_reason":%q,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}`,
		req.Model, join(blocks), stop)
}

// join writes blocks by hand, because a model's arguments need not be good JSON.
func join(blocks []Block) string {
	var parts []string
	for _, b := range blocks {
		if b.Type == "tool_use" {
			parts = append(parts, fmt.Sprintf(`{"type":"tool_use","id":%q,"name":%q,"input":%s}`, b.ID, b.Name, b.Input))
			continue
		}
		text, _ := json.Marshal(b.Text) // a string always marshals
		parts = append(parts, fmt.Sprintf(`{"type":"text","text":%s}`, text))
	}
	return strings.Join(parts, ",")
}

// stream writes the events of one message, arguments and texts in pieces.
func stream(w http.ResponseWriter, model, stop string, blocks []Block) {
	w.Header().Set("Content-Type", "text/event-stream")
	event := func(kind, body string) { fmt.Fprintf(w, "event: %s\ndata: {\"type\":%q%s}\n\n", kind, kind, body) }
	event("message_start", fmt.Sprintf(`,"message":{"id":"msg_1","type":"message","role":"assistant","model":%q,"content":[],"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}`, model))
	for i, b := range blocks {
		start, kind, field, whole := `{"type":"text","text":""}`, "text_delta", "text", b.Text
		if b.Type == "tool_use" {
			start = fmt.Sprintf(`{"type":"tool_use","id":%q,"name":%q,"input":{}}`, b.ID, b.Name)
			kind, field, whole = "input_json_delta", "partial_json", string(b.Input)
		}
		event("content_block_start", fmt.Sprintf(`,"index":%d,"content_block":%s`, i, start))
		for _, piece := range []string{whole[:len(whole)/2], whole[len(whole)/2:]} {
			text, _ := json.Marshal(piece) // a string always marshals
			event("content_block_delta", fmt.Sprintf(`,"index":%d,"delta":{"type":%q,%q:%s}`, i, kind, field, text))
		}
		event("content_block_stop", fmt.Sprintf(`,"index":%d`, i))
	}
	event("message_delta", fmt.Sprintf(`,"delta":{"stop_reason":%q,"stop_sequence":null},"usage":{"output_tokens":1}`, stop))
	event("message_stop", "")
}
