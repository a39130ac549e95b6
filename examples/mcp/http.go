package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"sync"
	"time"

	"github.com/memoryroom/scribe"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// serveHTTP serves each MCP session as a conversation of its own. Requests without
// sessions (protocol 2026-07-28) share one: nothing says which belong together.
func (set settings) serveHTTP(ctx context.Context, room *scribe.Room, out io.Writer) error {
	ln, err := listen(ctx, set.http)
	if err != nil {
		return err
	}
	defer ln.Close()
	shared, err := serve(ctx, room, set.trust)
	if err != nil {
		return err
	}
	handler := mcp.NewStreamableHTTPHandler(func(r *http.Request) *mcp.Server {
		if begin, ok := r.Context().Value(beginning{}).(func() *mcp.Server); ok {
			return begin()
		}
		return shared // of an old session only the protocol's versions are asked
	}, &mcp.StreamableHTTPOptions{SessionTimeout: time.Hour, PropagateRequestCancellation: true})
	mux := http.NewServeMux()
	mux.Handle("/mcp", http.NewCrossOriginProtection().Handler(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Mcp-Session-Id") == "" && r.Header.Get("Mcp-Protocol-Version") < "2026-07-28" {
			// The handler asks more than once in a request; it is one conversation.
			r = r.WithContext(context.WithValue(r.Context(), beginning{}, sync.OnceValue(func() *mcp.Server {
				server, err := serve(ctx, room, set.trust)
				if err != nil {
					return nil // answered with 400
				}
				return server
			})))
		}
		handler.ServeHTTP(w, r)
	})))
	fmt.Fprintf(out, "http://%s/mcp\n", ln.Addr())
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	stop := context.AfterFunc(ctx, func() { server.Close() })
	defer stop()
	if err := server.Serve(ln); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// beginning marks a request that begins a session.
type beginning struct{}
