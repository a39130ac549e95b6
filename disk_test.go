package scribe

import (
	"context"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// wellOnDisk is what [sound] checks without the files of a disk in memory: Check finds nothing, and
// nothing is left in flight. A full disk may leave the index behind: it is derived.
func wellOnDisk(t testing.TB, at string, r *Room, known ...string) {
	t.Helper()
	found, err := r.Check(context.Background(), false)
	if err != nil {
		t.Errorf("%s: check: %v", at, err)
	}
	for _, f := range found {
		if f.Outcome != Accepted && !slices.Contains(known, f.Rule) {
			t.Errorf("%s: check: %s %s %s", at, f.Rule, f.Field, f.Message)
		}
	}
	if names, err := r.disk.LibList(strings.TrimSuffix(tmpDir, "/")); err != nil || len(names) > 0 {
		t.Errorf("%s: left in flight: %q, %v", at, names, err)
	}
}

// noPath holds that an error shows no place outside the room.
func noPath(t testing.TB, err error, dir string) {
	t.Helper()
	if err == nil {
		return
	}
	for _, place := range []string{dir, filepath.Dir(dir), "/.scribe"} {
		if len(place) > 1 && strings.Contains(err.Error(), place) {
			t.Errorf("an error shows an absolute path: %v", err)
		}
	}
}
