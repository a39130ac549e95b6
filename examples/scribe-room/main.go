// Command scribe-room is the operator's program: it looks after the memories that an
// agent keeps in one directory.
//
//	scribe-room --room ~/.agent/memory pending
//	scribe-room approve 1d4aadf784e2d4db
//	scribe-room audit --last 20
//
// It uses nothing but the public methods of scribe.Room, so whatever it does a host
// can do. See README.md for the commands and the exit codes.
package main

import (
	"context"
	"os"
	"os/signal"
	"syscall"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdin, os.Stdout, os.Stderr)
	stop()
	os.Exit(code)
}
