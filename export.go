package scribe

import (
	"archive/tar"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/memoryroom/scribe/internal/journal"
)

// The form of an export. It is a plain tar (POSIX.1-2001, not compressed) that any tool
// unpacks:
//
//	manifest.json             what follows, in this order, and what it is worth
//	active/<path>             accepted memories: the accepted bytes
//	archive/<row>/<path>      retired ones, by the row that retired them
//
// The manifest is one JSON object: "format" is "scribe-export", "version" is 1, and
// "memories" is a list, sorted by file, of objects with
//
//	file           the entry of the tar
//	path           the memory's path
//	sha256, bytes  of its text: hex, and a number
//	trust          the name of its trust
//	modified       when it was accepted, or retired; RFC 3339, UTC, whole seconds
//	category       of a retired one: why
//	superseded_by  of a retired one: the path of what took its place
//
// The same memories give the same bytes. Rows of the journal, versions, candidates and
// the user's own lines of MEMORY.md are not exported: for a copy with its history, copy
// the directory.
const (
	exportFormat   = "scribe-export"
	exportVersion  = 1
	exportManifest = "manifest.json"
	exportActive   = "active/"
)

// manifest is manifest.json.
type manifest struct {
	Format   string         `json:"format"`
	Version  int            `json:"version"`
	Memories []exportedFile `json:"memories"`
}

// exportedFile is one memory of a manifest.
type exportedFile struct {
	File     string    `json:"file"`
	Path     string    `json:"path"`
	SHA256   string    `json:"sha256"`
	Bytes    int       `json:"bytes"`
	Trust    string    `json:"trust"`
	Modified time.Time `json:"modified"`
	Category string    `json:"category,omitempty"`

	SupersededBy string `json:"superseded_by,omitempty"`
}

// Export writes the memories of the stages named to w, as a plain tar of Markdown with a
// manifest.json of hashes, trust and times before it, which any tool unpacks: "active" and "changed" (the accepted text either way), and "archived"; none
// named: all three. It reads one state of the room; the same memories give the same
// bytes. What was written to w when it fails is no export.
func (r *Room) Export(ctx context.Context, w io.Writer, stages ...string) error {
	if len(stages) == 0 {
		stages = []string{stageActive, stageChanged, stageArchived}
	}
	for _, s := range stages {
		if s != stageActive && s != stageChanged && s != stageArchived {
			return fmt.Errorf("export: stage %.40q is not one of active, changed, archived", s)
		}
	}
	all, err := r.list(ctx, stages)
	if err != nil {
		return err
	}
	texts := map[string]string{}
	m := manifest{Format: exportFormat, Version: exportVersion, Memories: []exportedFile{}}
	for _, mem := range all {
		file := exportActive + mem.Path
		if mem.Stage == stageArchived {
			if journal.Sum([]byte(mem.Text)) != mem.Hash {
				return fmt.Errorf("export: the text of the archived %.120q is missing; see Check", mem.Path)
			}
			_, row, _ := strings.Cut(mem.ID, ":")
			file = "archive/" + row + "/" + mem.Path
		}
		texts[file] = mem.Text
		m.Memories = append(m.Memories, exportedFile{
			File: file, Path: mem.Path, SHA256: journal.Sum([]byte(mem.Text)), Bytes: len(mem.Text), Trust: mem.Trust.String(),
			Modified: mem.Modified.UTC().Truncate(time.Second), Category: mem.Category, SupersededBy: mem.SupersededBy,
		})
	}
	slices.SortFunc(m.Memories, func(a, b exportedFile) int { return strings.Compare(a.File, b.File) })
	head, err := json.MarshalIndent(m, "", "\t")
	if err != nil {
		return err
	}
	tw := tar.NewWriter(w)
	if err := tarFile(tw, exportManifest, string(head)+"\n", time.Unix(0, 0)); err != nil {
		return err
	}
	for _, f := range m.Memories {
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := tarFile(tw, f.File, texts[f.File], f.Modified); err != nil {
			return err
		}
	}
	return tw.Close()
}

func tarFile(tw *tar.Writer, name, text string, at time.Time) error {
	err := tw.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(text)), Mode: 0o600, ModTime: at, Format: tar.FormatPAX})
	if err != nil {
		return err
	}
	_, err = io.WriteString(tw, text)
	return err
}
