package relpath

import (
	"strings"

	"github.com/memoryroom/scribe/internal/fold"
)

// Limits of a name, in bytes unless it says otherwise.
const (
	// MaxLen is the limit of a whole name.
	MaxLen = 768
	// MaxSegment is the limit of one segment: NAME_MAX is 255, less what temporary
	// and version names add.
	MaxSegment = 200
	// MaxDepth is the limit of segments, the last one included.
	MaxDepth = 12
	// MaxMarks is the limit of nonspacing marks in a row. Vietnamese needs two, the
	// Indic scripts and pointed Hebrew three.
	MaxMarks = 4

	// Limits of names found on disk: PATH_MAX, NAME_MAX.
	foreignLen     = 4096
	foreignSegment = 255
	foreignDepth   = 64
)

// indexName is the index of a room.
const indexName = "MEMORY.md"

// A Path is a parsed name: relative, slash-separated, clean, and the very string
// that was given. The zero Path is invalid and no parser returns it. Paths are
// comparable.
type Path struct {
	name   string
	parsed bool // the root is a valid path with an empty name
}

// Parse parses the name of a memory ("topics/x.md"). The error is a *[Refusal].
// Names of ASCII alone are parsed without allocating.
func Parse(name string) (Path, error) {
	c := checker{name: name, leaf: true}
	return c.path()
}

// ParseDir parses the name of a directory: like [Parse] without the rule for the
// last segment. The empty name is the root. The error is a *[Refusal].
func ParseDir(name string) (Path, error) {
	if name == "" {
		return Path{parsed: true}, nil
	}
	c := checker{name: name}
	return c.path()
}

// ParseForeign parses the name of a file that was found on disk. A name that
// breaks rules of policy alone ([Refusal.Policy]: instruction names, punctuation,
// joiners, alphabets, spacing, length) parses too, with foreign true: people may
// keep such files, and no model may name one. Do not use it for a name that
// someone gave.
func ParseForeign(name string) (p Path, foreign bool, err error) {
	c := checker{name: name, leaf: true, lenient: true}
	p, err = c.path()
	return p, err == nil && c.soft, err
}

// String returns the name as it was given, "" for the root.
func (p Path) String() string { return p.name }

// Key returns the collision key of the whole path.
func (p Path) Key() string { return fold.Key(p.name) }

// Dir returns the directory of p; that of the root is the root.
func (p Path) Dir() Path {
	i := strings.LastIndexByte(p.name, '/')
	if i < 0 {
		return Path{parsed: p.parsed}
	}
	return Path{name: p.name[:i], parsed: p.parsed}
}

// Base returns the last segment, "" for the root.
func (p Path) Base() string { return p.name[strings.LastIndexByte(p.name, '/')+1:] }

// Segments returns the segments from the root down; none for the root. The caller
// owns the slice.
func (p Path) Segments() []string {
	if p.name == "" {
		return nil
	}
	return strings.Split(p.name, "/")
}

// IsZero reports whether p is the zero Path, which is invalid. The root is not.
func (p Path) IsZero() bool { return p == Path{} }

// IsIndex reports whether p is the index: exactly "MEMORY.md" at the root.
func (p Path) IsIndex() bool { return p.name == indexName }

// SegmentKey returns the collision key of one segment: two siblings with one key
// may be the same file on some file system. Trailing dots and spaces, which
// Windows drops, do not count.
func SegmentKey(seg string) string { return trimTail(fold.Key(seg)) }

// LookKey returns the look-alike key of one segment: a reader may take siblings
// with one key for each other. It is coarser than [SegmentKey] where a letter looks
// like an ASCII one; compare both.
func LookKey(seg string) string { return trimTail(fold.Skeleton(seg)) }

// trimTail drops trailing dots and spaces; what the key is of must stay, so a
// segment of nothing else stays whole.
func trimTail(s string) string {
	if t := strings.TrimRight(s, ". "); t != "" {
		return t
	}
	return s
}
