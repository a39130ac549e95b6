package rootfs

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"

	"github.com/memoryroom/scribe/internal/relpath"
)

// ResolveOutside returns the absolute path that a path of another tool names, with
// every link of its existing part followed, for comparing with allowed directories
// and with [Dir.Overlaps]. The part that does not exist is kept as it is. A relative
// path starts in the working directory.
//
// A ".." is resolved as the kernel does. Where a tool that cleans a path first would
// end up elsewhere, because the element before ".." is a link or is missing, the
// path is refused with "path.dot-dot": nobody knows which of the two the tool does.
// A link to nothing is refused with "path.link". What happens between this answer
// and the tool's own use of the path is not covered.
func ResolveOutside(path string) (string, error) {
	if path == "" || strings.ContainsRune(path, 0) {
		return "", &fs.PathError{Op: "resolve", Path: ".", Err: fs.ErrInvalid}
	}
	if !filepath.IsAbs(path) {
		if filepath.VolumeName(path) != "" || os.IsPathSeparator(path[0]) {
			// "C:x" and "\\x" depend on state that a drive keeps.
			return "", &fs.PathError{Op: "resolve", Path: ".", Err: fs.ErrInvalid}
		}
		wd, err := os.Getwd()
		if err != nil {
			return "", fault("resolve", ".", err)
		}
		path = wd + string(filepath.Separator) + path
	}
	real, err := resolve(path)
	if err != nil {
		return "", err
	}
	if clean := filepath.Clean(path); clean != path && hasDotDot(path) {
		other, err := resolve(clean)
		if err != nil || other != real {
			return "", &Refusal{Rule: "path.dot-dot", Path: "."}
		}
	}
	return real, nil
}

// resolve follows the longest existing prefix.
func resolve(path string) (string, error) {
	prefix, rest := path, ""
	for {
		real, err := filepath.EvalSymlinks(prefix)
		if err == nil {
			return filepath.Join(real, rest), nil
		}
		if !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR) {
			return "", fault("resolve", ".", err)
		}
		cut := strings.TrimRightFunc(prefix, isSeparator) // with a slash, Lstat would follow
		if fi, err := os.Lstat(cut); err == nil && fi.Mode()&fs.ModeSymlink != 0 {
			return "", &Refusal{Rule: "path.link", Path: "."}
		}
		dir, base := filepath.Split(cut)
		if base == ".." {
			return "", &Refusal{Rule: "path.dot-dot", Path: "."}
		}
		if base == "" || len(dir) >= len(prefix) {
			return "", fault("resolve", ".", err) // nothing exists, not even the volume
		}
		prefix, rest = dir, filepath.Join(base, rest)
	}
}

func isSeparator(r rune) bool { return r < 0x80 && os.IsPathSeparator(uint8(r)) }

func hasDotDot(path string) bool {
	for seg := range strings.FieldsFuncSeq(path, isSeparator) {
		if seg == ".." {
			return true
		}
	}
	return false
}

// Overlaps reports whether an absolute, resolved path lies in the room, is the room,
// or is a directory that contains it. Directories are compared by identity and by the
// collision keys of their names, so that another spelling or a bind mount of the room
// counts. When in doubt it says true.
// Not seen: a file outside that is a hard link to a file inside.
func (d *Dir) Overlaps(path string) bool {
	if d.path == "" || !filepath.IsAbs(path) {
		return true
	}
	return below(path, d.path) || below(d.path, path)
}

// folded is a path of collision keys.
func folded(path string) string {
	segs := strings.FieldsFunc(path, isSeparator)
	for i, seg := range segs {
		segs[i] = relpath.SegmentKey(seg)
	}
	return "/" + strings.Join(segs, "/")
}

// below reports whether path is dir or lies below it.
func below(path, dir string) bool {
	if folded(path) == folded(dir) || strings.HasPrefix(folded(path), strings.TrimSuffix(folded(dir), "/")+"/") {
		return true
	}
	want, err := os.Stat(dir)
	for p := path; ; p = filepath.Dir(p) {
		fi, ferr := os.Lstat(p)
		switch {
		case err == nil && ferr == nil && os.SameFile(fi, want):
			return true
		case ferr != nil && !errors.Is(ferr, fs.ErrNotExist) && !errors.Is(ferr, syscall.ENOTDIR):
			return true
		}
		if p == filepath.Dir(p) {
			return err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR)
		}
	}
}
