// Package turntest is what the tests of the programs over package turn share.
package turntest

import (
	"bytes"
	"context"
	"io"
	"path/filepath"
	"strings"
	"testing"

	"github.com/memoryroom/scribe"
)

// Session opens a new room, for as long as the test runs, and a session of it at
// user-observed.
func Session(t testing.TB) *scribe.Session {
	t.Helper()
	room, err := scribe.Open(filepath.Join(t.TempDir(), "room"), nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { room.Close() })
	s, err := room.Session(t.Context(), "s", scribe.UserObserved)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// Program runs a program on a new room and holds what it prints: the turn ends, the writer
// runs, and its run is not ended by what was refused.
func Program(t *testing.T, run func(ctx context.Context, args []string, out, errs io.Writer) int) {
	t.Helper()
	var out, errs bytes.Buffer
	if code := run(t.Context(), []string{"-room", filepath.Join(t.TempDir(), "room")}, &out, &errs); code != 0 {
		t.Fatalf("exit %d: %s", code, &errs)
	}
	for _, want := range []string{
		`main says "Noted."`, "removed bash (narrow.shell)", `writer says "The deploys are noted."`,
		"active deploys.md, user-verified", "pending hint.md",
	} {
		if !strings.Contains(out.String(), want) {
			t.Errorf("not printed: %q\n%s", want, &out)
		}
	}
}
