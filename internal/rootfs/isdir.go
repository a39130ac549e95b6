package rootfs

import "github.com/memoryroom/scribe/internal/relpath"

// IsDir reports whether p is a plain directory of the room, reached through plain
// directories.
func (d *Dir) IsDir(p relpath.Path) bool {
	if p.IsZero() {
		return d.Exists()
	}
	e, err := d.fs.Lstat(p.String())
	return err == nil && e.Kind == Directory
}

// Probe looks at p without opening it, and reports what forbids to reach it: a link
// or a special file on the way, or at its end. It is nil or fs.ErrNotExist otherwise.
func (d *Dir) Probe(p relpath.Path) error {
	e, err := d.fs.Lstat(p.String())
	if err != nil {
		return err
	}
	if rule := e.Rule(); rule != "" && e.Kind != Directory {
		return &Refusal{Rule: rule, Path: p.String()}
	}
	return nil
}
