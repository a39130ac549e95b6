package scribe

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// TestPathsOutsideTheToolChangeNothing: a path that is not one of the tool's is refused
// whatever it would name without the prefix, by every command.
func TestPathsOutsideTheToolChangeNothing(t *testing.T) {
	texts := func(r *Room) map[string]string {
		files := map[string]string{}
		for _, m := range listed(t, r) {
			files[m.Path] = m.Text
		}
		return files
	}
	for _, path := range []string{"deploy.md", "other.md", "a/b.md", "memories/other.md", "/deploy.md", "/memories_backup/deploy.md", "/Memories/deploy.md", "", "./deploy.md", "/memories/../deploy.md"} {
		r, _ := newRoom(t, nil)
		store(t, r, UserObserved, Candidate{Path: "deploy.md", Text: "The service runs in Bern.\n"})
		g := session(t, r, UserObserved).Guard(1)
		before := texts(r)
		for _, args := range []map[string]any{
			{"command": "create", "path": path, "file_text": "x"},
			{"command": "str_replace", "path": path, "old_str": "Bern", "new_str": "Basel"},
			{"command": "insert", "path": path, "insert_line": 0, "insert_text": "x"},
			{"command": "delete", "path": path},
			{"command": "rename", "old_path": path, "new_path": "/memories/new.md"},
			{"command": "rename", "old_path": "/memories/deploy.md", "new_path": path},
		} {
			if ruling := memoryCommand(g, args); !ruling.IsError || ruling.Run {
				t.Errorf("%v: %q, want a refusal", args, ruling.Text)
			}
			if diff := cmp.Diff(before, texts(r)); diff != "" {
				t.Errorf("%v changed the room (-want +got):\n%s", args, diff)
			}
		}
	}
}
