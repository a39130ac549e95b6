package scribe

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/memoryroom/scribe/internal/memtool"
	"github.com/memoryroom/scribe/internal/relpath"
	"github.com/memoryroom/scribe/internal/rootfs"
)

// indexName is the file of pointer lines. Models may view it and never write it.
const indexName = "MEMORY.md"

// pathOutcome is one name of a candidate after the path gate: a parsed path, or why
// there is none. Nothing past the gate takes a name as a string.
type pathOutcome struct {
	path relpath.Path
	bad  []Finding
}

func (o pathOutcome) ok() bool { return !o.path.IsZero() && len(o.bad) == 0 }

// shown is the path for a record or a reply: nothing of a refused name.
func (o pathOutcome) shown() string {
	if o.path.IsZero() {
		return ""
	}
	return o.path.String()
}

// admitPath is the path gate: the name is judged as it stands, never rewritten, and
// then the disk is asked what a write there would meet (links, special files, other
// mounts, names that some file system takes for the same). Only I/O is an error.
func (r *Room) admitPath(field, name string) (pathOutcome, error) {
	p, err := relpath.Parse(name)
	if err != nil {
		return pathOutcome{bad: []Finding{pathFinding(field, name, err)}}, nil
	}
	o := pathOutcome{path: p}
	if err := r.disk.CheckWrite(p); err != nil {
		var refusal *rootfs.Refusal
		if !errors.As(err, &refusal) {
			return o, err
		}
		o.bad = append(o.bad, pathFinding(field, name, err))
	}
	return o, nil
}

// judgePath refuses what the path gate refused, and the index.
func judgePath(p *proposal, _ *world) []Finding {
	fs := append([]Finding(nil), p.names[0].bad...)
	if p.cand.To != "" {
		fs = append(fs, p.names[1].bad...)
	}
	for i, o := range p.names {
		if !o.path.IsZero() && looksLikeIndex(o.path) {
			fs = append(fs, refuse("path.index", Rejected, []string{"path", "to"}[i], "MEMORY.md is the index; the library writes it", "propose a memory of its own; its line appears there"))
		}
	}
	return fs
}

// looksLikeIndex reports whether p is MEMORY.md or what a file system, or a reader,
// may take for it.
func looksLikeIndex(p relpath.Path) bool {
	name := p.String()
	return relpath.SegmentKey(name) == relpath.SegmentKey(indexName) || relpath.LookKey(name) == relpath.LookKey(indexName)
}

// pathFinding says which rule refused a name, and what to do. The name is quoted
// only truncated; the suggestion is advice and nothing uses it.
func pathFinding(field, name string, err error) Finding {
	f := refuse("path.refused", Rejected, field, fmt.Sprintf("path not allowed: %.80q", name), "use a plain relative name such as topics/build.md")
	var lexical *relpath.Refusal
	var disk *rootfs.Refusal
	switch {
	case errors.As(err, &lexical):
		f.Rule = lexical.Rule
		f.Message += ": " + ruleWords(lexical.Rule)
		if lexical.Suggestion != "" {
			f.Fix = fmt.Sprintf("use another name, such as %.80q", lexical.Suggestion)
		}
	case errors.As(err, &disk):
		f.Rule = disk.Rule
		f.Message += ": " + ruleWords(disk.Rule)
		f.Fix = "use a name of its own, that no other file or directory resembles"
	}
	return f
}

// ruleWords reads a rule's name as words: "path.dot-dot" is "dot dot".
func ruleWords(rule string) string {
	_, name, _ := strings.Cut(rule, ".")
	return strings.ReplaceAll(name, "-", " ")
}

// roomName turns a tool's path into a name relative to the room. It cuts exactly
// "/memories/", or for an alias of a host's tool the room's own directory, and never
// cleans. root reports that the room itself is named.
func (r *Room) roomName(path string, alias bool) (name string, root bool, err error) {
	if alias && path != "" && path != memtool.Root && (!strings.HasPrefix(path, memtool.Root+"/") || strings.HasPrefix(filepath.ToSlash(path), filepath.ToSlash(r.disk.Path())+"/")) {
		dir := filepath.ToSlash(r.disk.Path())
		switch rest, inside := strings.CutPrefix(filepath.ToSlash(path), dir+"/"); {
		case path == dir:
			return "", true, nil
		case inside:
			return rest, false, nil
		case !filepath.IsAbs(path) && !strings.HasPrefix(path, "/"):
			return path, false, nil // already relative to the room
		}
	}
	return memtool.Rel(path)
}
