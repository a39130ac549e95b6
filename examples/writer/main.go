// Writer runs a memory writer over a conversation, the way an agent runtime would:
// the writer's tools are narrowed, each of its calls is checked, each memory that
// it proposes goes through admission. Nothing here needs a model or a network: the
// conversation that ships with it has the writer's calls in it.
//
//	go run ./examples/writer
//	go run ./examples/writer -room ~/notes/room -transcript session.jsonl
//	go run ./examples/writer -json
//
// Exit codes: 0 when the run went through, whatever was refused in it; 1 when it
// could not; 2 for wrong flags.
package main

import (
	"context"
	_ "embed"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"

	"github.com/memoryroom/scribe"
	"github.com/memoryroom/scribe/internal/cli"
)

// conversation is a made-up session of a coding agent, as such agents record it.
//
//go:embed conversation.jsonl
var conversation []byte

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt)
	defer stop()
	os.Exit(run(ctx, os.Args[1:], os.Stdout, os.Stderr))
}

func run(ctx context.Context, args []string, out, errs io.Writer) int {
	flags := cli.Flags("writer", "[-room DIR] [-transcript FILE] [-json]", errs)
	room := flags.String("room", "", "directory of the room; empty: a fresh one in the system's temporary directory")
	transcript := flags.String("transcript", "", "conversation in the JSONL form of coding agents; empty: the one that ships with this program")
	asJSON := flags.Bool("json", false, "print one JSON object instead of text")
	if code, ok := cli.Parse(flags, args); !ok {
		return code
	}
	rep, err := replay(ctx, *room, *transcript)
	if err != nil {
		return cli.Ended(flags, err)
	}
	if *asJSON {
		err = rep.writeJSON(out)
	} else {
		err = rep.writeText(out)
	}
	return cli.Ended(flags, err)
}

// replay reads the whole conversation before it opens the room, so that a broken
// line leaves nothing behind.
func replay(ctx context.Context, dir, transcript string) (*report, error) {
	name, data := "the conversation that ships with this program", expandExample(conversation)
	if transcript != "" {
		var err error
		name = transcript
		if data, err = readTranscript(transcript); err != nil {
			return nil, err
		}
	}
	turns, err := parseTranscript(data)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	if dir == "" {
		if dir, err = os.MkdirTemp("", "scribe-room-"); err != nil {
			return nil, err
		}
		dir = filepath.Join(dir, "room")
	}
	if dir, err = filepath.Abs(dir); err != nil {
		return nil, err
	}
	room, err := scribe.Open(dir, nil)
	if err != nil {
		return nil, err
	}
	defer room.Close()
	h := &host{room: room, rep: &report{Room: dir, Transcript: name}, scripted: scripted(turns)}
	if err := h.play(ctx, turns); err != nil {
		return nil, err
	}
	return h.rep, h.conclude(ctx)
}
