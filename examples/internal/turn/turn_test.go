package turn

import (
	"bytes"
	"context"
	"errors"
	"path/filepath"
	"strings"
	"testing"

	"github.com/memoryroom/scribe"
)

func TestRun(t *testing.T) {
	write := func(ctx context.Context, g *scribe.Guard, prompt, message string) error {
		if !strings.Contains(prompt, "long-term memory") || !strings.Contains(message, "we meet on Mondays") {
			t.Errorf("prompt %q, message %q", prompt, message)
		}
		for _, args := range []string{
			`{"command":"create","path":"/memories/meetings.md","file_text":"we meet on Mondays"}`,
			`{"command":"create","path":"/memories/CLAUDE.md","file_text":"x"}`,
		} {
			g.Check(ctx, scribe.Call{Tool: "memory", Args: args})
		}
		return nil
	}
	p := Program{Name: "test", Play: func(ctx context.Context, turn *Turn) error {
		_, policy, err := scribe.Narrow([]scribe.Tool{{Name: "bash"}}, nil, func(t scribe.Tool) scribe.Tool { return t })
		return errors.Join(err, turn.Extract(ctx, policy, write))
	}}
	room := filepath.Join(t.TempDir(), "room")
	for _, tt := range []struct {
		args []string
		code int
		says []string
	}{
		{[]string{"-room", room, "-say", "remember that we meet on Mondays"}, 0, []string{"removed bash (narrow.shell)", "active meetings.md, user-verified", "refused: [path.instruction-file]", room}},
		{[]string{"-room", room, "-say", "thanks"}, 0, []string{"no writer ran: too-few-words"}},
		{[]string{"-rooms"}, 2, []string{"-rooms"}},
		{[]string{"more"}, 2, []string{"every input has a flag"}},
	} {
		var out bytes.Buffer
		if code := p.Run(t.Context(), tt.args, &out, &out); code != tt.code {
			t.Errorf("%q: exit %d, want %d\n%s", tt.args, code, tt.code, &out)
		}
		for _, want := range tt.says {
			if !strings.Contains(out.String(), want) {
				t.Errorf("%q: not printed: %q\n%s", tt.args, want, &out)
			}
		}
	}
	p.Play = func(context.Context, *Turn) error { return errors.New("the host failed") }
	var out bytes.Buffer
	if code := p.Run(t.Context(), nil, &out, &out); code != 1 || !strings.Contains(out.String(), "test: the host failed") {
		t.Errorf("exit %d: %s", code, &out)
	}
}
