// Mcp is a memory server for any client of the Model Context Protocol: scribe's two
// tools over stdio or streamable HTTP, with the guard between. What a model writes is
// accepted, held for the user or refused; what it reads is what was accepted.
//
//	go build -o scribe-mcp .
//	claude mcp add memory -- "$PWD/scribe-mcp" -room "$HOME/scribe-memory"
//	./scribe-mcp -room ~/scribe-memory -http 127.0.0.1:8377
//	./scribe-mcp -room ~/scribe-memory -status
//
// Exit codes: 0; 1 when it could not run; 2 for wrong flags.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/memoryroom/scribe"
	"github.com/memoryroom/scribe/internal/cli"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

const version = "0.1.0"

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr))
}

// settings are the flags.
type settings struct {
	room, http     string
	trust          scribe.Trust
	review, status bool
}

func run(ctx context.Context, args []string, in io.ReadCloser, out io.WriteCloser, errs io.Writer) int {
	var set settings
	flags := cli.Flags("scribe-mcp", "-room DIR [flags]", errs)
	flags.StringVar(&set.room, "room", "", "directory of the memory; it is created with the first memory")
	flags.StringVar(&set.http, "http", "", "serve streamable HTTP on this loopback address instead of stdio, as 127.0.0.1:8377")
	flags.TextVar(&set.trust, "trust", scribe.ExternalTool, "what a conversation's words are worth: external-tool, or user-observed where the client reads nothing from outside")
	flags.BoolVar(&set.review, "review", false, "hold every write for the user")
	flags.BoolVar(&set.status, "status", false, "print what is remembered, what waits and what was refused, and end")
	if code, ok := cli.Parse(flags, args); !ok {
		return code
	}
	if set.room == "" {
		return cli.Wrong(flags, "which memory? give its directory with -room")
	}
	err := set.run(ctx, in, out)
	if errors.Is(err, context.Canceled) {
		return 0
	}
	return cli.Ended(flags, err)
}

func (set settings) run(ctx context.Context, in io.ReadCloser, out io.WriteCloser) error {
	dir, err := filepath.Abs(set.room)
	if err != nil {
		return err
	}
	room, err := scribe.Open(dir, &scribe.Options{ReviewAll: set.review})
	if err != nil {
		return err
	}
	defer room.Close()
	switch {
	case set.status:
		return status(ctx, room, out)
	case set.http != "":
		return set.serveHTTP(ctx, room, out)
	}
	server, err := serve(ctx, room, set.trust)
	if err != nil {
		return err
	}
	return server.Run(ctx, &mcp.IOTransport{Reader: in, Writer: out})
}

// listen opens a loopback address and no other: there is no login.
func listen(ctx context.Context, addr string) (net.Listener, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	if ip := net.ParseIP(host); ip == nil || !ip.IsLoopback() {
		return nil, fmt.Errorf("%q is no loopback address: use 127.0.0.1:PORT or [::1]:PORT", addr)
	}
	return new(net.ListenConfig).Listen(ctx, "tcp", addr)
}

// status is the operator's look at the room.
func status(ctx context.Context, room *scribe.Room, out io.Writer) error {
	for _, stage := range []string{"active", "changed", "pending", "unaccepted"} {
		for m, err := range room.List(ctx, stage) {
			if err != nil {
				return err
			}
			fmt.Fprintf(out, "%-10s %-14s %s", stage, m.Trust, m.Path)
			if m.ID != "" {
				fmt.Fprintf(out, "  (id %s)", m.ID)
			}
			for _, f := range m.Findings {
				fmt.Fprintf(out, "  %s", f.Rule)
			}
			fmt.Fprintln(out)
		}
	}
	for rec, err := range room.History(ctx, "") {
		if err != nil {
			return err
		}
		if rec.Op == "reject" {
			fmt.Fprintf(out, "%-10s %-14s %s  %v\n", "refused", "", rec.Path, rec.Rules)
		}
	}
	return nil
}
