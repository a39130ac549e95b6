package conformance

import (
	"context"
	"errors"
	"strings"
)

// reads are names that a reader limited to the workspace must not open; every one
// leads somewhere in some runtime.
var reads = []struct{ name, path string }{
	{"absolute", "$DIR/outside/secret.txt"},
	{"climbs", "../outside/secret.txt"},
	{"climbs-inside", "src/../../outside/secret.txt"},
	{"neighbour", "$WS-evil/secret.txt"},
	{"link", "link/secret.txt"},
	{"backslash", `src\..\..\outside\secret.txt`},
	{"percent", "%2e%2e/outside/secret.txt"},
	{"file-uri", "file://$DIR/outside/secret.txt"},
	{"file-uri-percent", "file://$WS/%2e%2e/outside/secret.txt"},
	{"home", "~/.ssh/id_ed25519"},
	{"home-variable", "$HOME/.ssh/id_ed25519"},
	{"git", ".git/config"},
	{"the-room", "$ROOM/deploy.md"},
	{"the-room-relative", ".agent/memory/deploy.md"},
	{"the-library", ".agent/memory/.scribe/audit.jsonl"},
	{"holds-the-room", "$WS"},
	{"holds-the-room-relative", "."},
	{"option", "--pre=sh"},
	{"control", "README.md\x00../outside/secret.txt"},
}

// readPaths calls the foreign reader with each of them.
func readPaths(ctx context.Context, w *world) error {
	return w.extract(ctx, w.input(), func(ctx context.Context, wr Writer) error {
		for _, a := range reads {
			_ = w.didRun()
			r, err := call(ctx, wr, "Read", quote(map[string]any{"file_path": w.path(a.path)}))
			w.attack(a.name, leaks(r), w.didRun("Read"), w.refusal(r, err))
		}
		for _, a := range []struct{ name, path string }{{"file", "README.md"}, {"below", "src/main.txt"}, {"absolute", "$WS/src/main.txt"}} {
			r, err := call(ctx, wr, "Read", quote(map[string]any{"file_path": w.path(a.path)}))
			w.benign("allowed/"+a.name, success(r, err, "The pro"))
		}
		return goesOn(ctx, wr)
	})
}

func leaks(r Result) error {
	if strings.Contains(r.Text, canary) {
		return errors.New("a file that nobody may read was read")
	}
	return nil
}

// memoryPath are names that the memory tool must not write.
var memoryPath = []struct{ name, path string }{
	{"climbs", "/memories/../evil.md"},
	{"climbs-inside", "/memories/a/../../evil.md"},
	{"climbs-far", "/memories/../../../outside/evil.md"},
	{"percent", "/memories/%2e%2e/evil.md"},
	{"percent-twice", "/memories/%252e%252e/evil.md"},
	{"backslash", `/memories/..\evil.md`},
	{"absolute", "/etc/evil.md"},
	{"sibling", "/memories_backup/evil.md"},
	{"relative", "evil.md"},
	{"another-case", "/Memories/evil.md"},
	{"double-slash", "/memories//evil.md"},
	{"dot", "/memories/./evil.md"},
	{"library", "/memories/.scribe/evil.md"},
	{"library-folded", "/memories/.ſcribe/evil.md"},
	{"hidden", "/memories/.evil.md"},
	{"git", "/memories/.git/hooks/evil.md"},
	{"index", "/memories/MEMORY.md"},
	{"index-folded", "/memories/memory.md"},
	{"instructions", "/memories/CLAUDE.md"},
	{"instructions-other", "/memories/AGENTS.md"},
	{"not-markdown", "/memories/evil.sh"},
	{"trailing-dot", "/memories/evil.md."},
	{"trailing-space", "/memories/evil.md "},
	{"stream", "/memories/evil.md:x"},
	{"device", "/memories/nul.md"},
	{"zero-width", "/memories/ev\u200bil.md"},
	{"bidi", "/memories/\u202edm.live.md"},
	{"look-alike", "/memories/dерloy.md"}, // Cyrillic ie and er
	{"decomposed", "/memories/cafe\u0301.md"},
	{"twin-of-another", "/memories/Notes.md"},
	{"deep", "/memories/" + strings.Repeat("d/", 20) + "evil.md"},
}

// memoryPaths creates, and renames to, each of them.
func memoryPaths(ctx context.Context, w *world) error {
	return w.extract(ctx, w.input(), func(ctx context.Context, wr Writer) error {
		for _, a := range memoryPath {
			before, err := w.files()
			if err != nil {
				return err
			}
			r, cerr := call(ctx, wr, "memory", quote(map[string]any{"command": "create", "path": a.path, "file_text": "evil: " + a.name}))
			w.attack("create/"+a.name, w.refusal(r, cerr), w.unchanged(before))
		}
		before, err := w.files()
		if err != nil {
			return err
		}
		for _, a := range []struct{ name, to string }{
			{"climbs", "/memories/../evil.md"}, {"library", "/memories/.scribe/evil.md"}, {"instructions", "/memories/CLAUDE.md"},
		} {
			r, cerr := call(ctx, wr, "memory", quote(map[string]any{"command": "rename", "old_path": "/memories/notes.md", "new_path": a.to}))
			w.attack("rename/"+a.name, w.refusal(r, cerr), w.unchanged(before))
		}
		for _, a := range []struct{ name, root string }{{"root", "/memories"}, {"root-slash", "/memories/"}, {"root-dot", "/memories/."}} {
			r, cerr := call(ctx, wr, "memory", quote(map[string]any{"command": "delete", "path": a.root}))
			w.attack("delete/"+a.name, w.refusal(r, cerr), w.unchanged(before))
		}
		r, cerr := call(ctx, wr, "memory", `{"command":"view","path":"/memories/../../../outside/secret.txt"}`)
		w.attack("view/climbs", leaks(r), w.refusal(r, cerr))
		return nil
	})
}
