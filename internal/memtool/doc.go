// Package memtool is the command set of the memory tool, memory_20250818, over
// strings. It parses a call, judges nothing but its shape, renders the texts that
// a model gets back, and computes edits. It touches no disk and knows no room:
// who may do what, and whether a path is a good one, is decided elsewhere.
//
// # Vocabulary
//
//   - A path is what the model wrote: "/memories/topics/x.md".
//   - A relative name is the path without [Root], still untrusted: "topics/x.md".
//   - A line is what stands between two "\n". Nothing else ends a line: not "\r",
//     not a form feed, not U+2028.
//   - Texts are the strings that a model reads. Those of the contract are given
//     byte for byte; ours start with "[" or "Error: ".
//
// # Rules
//
//  1. Arguments are exactly those of the command: none missing, none unknown, each
//     of its own type. A null is not an absent argument, except for view_range.
//  2. Root is stripped exactly, never by cleaning. "/memories", "/memories/" and
//     "/memories/." are the root and nothing else is. "/memories_backup/x" is not
//     inside it.
//  3. A ".." segment is refused wherever it leads, and so is one that is written
//     with a backslash or percent-encoded.
//  4. An edit changes the bytes that it names. Line ends, trailing blank lines and
//     odd separators elsewhere stay as they are; new text is literal.
//  5. An occurrence is a position: "aa" occurs twice in "aaa".
//  6. Whatever is left out of a view is announced in a line of its own.
//
// # Not guaranteed
//
// A relative name that [Rel] returns is not safe to use as a file name: it still
// has to pass the path rules. Texts take a path as it is, so hand them only paths
// that passed, or the result of [Quote]. A numbered line is the file's own text up
// to the next "\n"; a carriage return in it is shown as it is.
package memtool

import (
	"strconv"
	"strings"
)

// Root is the directory that the contract gives to the model. It names the room
// and exists nowhere on disk.
const Root = "/memories"

// Name is the tool's name; the contract allows no other.
const Name = "memory"

// Commands, as the argument "command" spells them.
const (
	CmdView       = "view"
	CmdCreate     = "create"
	CmdStrReplace = "str_replace"
	CmdInsert     = "insert"
	CmdDelete     = "delete"
	CmdRename     = "rename"
)

// Kind says what an error is about, for a caller that has to act on it.
type Kind string

const (
	BadArgs  Kind = "bad_args" // the call itself is malformed
	Outside  Kind = "outside"  // the path is not one under Root
	NoMatch  Kind = "no_match" // old_str does not occur
	Multiple Kind = "multiple" // old_str occurs more than once
	BadLine  Kind = "bad_line" // insert_line is out of range
	TooLong  Kind = "too_long" // more lines than the contract can number
)

// Error is a refusal by this package. Text is complete, meant for the model, and
// holds no byte of a stored memory.
type Error struct {
	Kind Kind
	Text string
}

// Error gives the text for the model.
func (e *Error) Error() string { return e.Text }

// ArgError is a call whose arguments are not those of a command. Its kind is
// always [BadArgs].
type ArgError struct {
	Arg  string // the argument at fault, one of the contract's names; "" when an unknown one is
	Text string // for the model: what to send instead
}

// Error gives the text for the model.
func (e *ArgError) Error() string { return e.Text }

// Kind is BadArgs.
func (e *ArgError) Kind() Kind { return BadArgs }

const (
	// maxEcho is the longest old_str that an error repeats, in bytes.
	maxEcho = 200
	// maxQuote is the longest refused path that an error repeats, in bytes.
	maxQuote = 128
)

// Quote renders a path that was refused, or may be, so that it can stand in a
// text: as it is when it is at most 128 bytes of printable ASCII without a quote,
// else cut and in Go's ASCII quoting. The result is printable ASCII either way.
func Quote(p string) string {
	plain := p != "" && len(p) <= maxQuote
	for i := 0; plain && i < len(p); i++ {
		plain = p[i] >= ' ' && p[i] < 0x7f && p[i] != '"' && p[i] != '\\'
	}
	if plain {
		return p
	}
	cut := ""
	if len(p) > maxQuote {
		// A rune cut in two becomes \x escapes, which is what it is by then.
		p, cut = p[:maxQuote], "..."
	}
	return strconv.QuoteToASCII(p) + cut
}

// Rel strips Root from a path that a model wrote. root reports that the path is
// the root itself; rel is "" then. A trailing slash elsewhere stays in rel. The
// error is an *Error of kind [Outside] with the reference's text.
func Rel(path string) (rel string, root bool, err error) {
	rest, ok := strings.CutPrefix(path, Root)
	if !ok || (rest != "" && rest[0] != '/' && !escapes(path)) {
		return "", false, &Error{Outside, "Path must start with " + Root + ", got: " + Quote(path)}
	}
	if escapes(path) {
		return "", false, &Error{Outside, "Path " + Quote(path) + " would escape " + Root + " directory"}
	}
	if rest == "" || rest == "/" || rest == "/." {
		return "", true, nil
	}
	return rest[1:], false, nil
}

// escapes reports a ".." segment, under either separator and behind up to three
// layers of percent encoding. Deeper layers keep their "%", which no valid name
// has, so the limit hides nothing.
func escapes(path string) bool {
	for range 4 {
		seg := path
		for seg != "" {
			i := strings.IndexAny(seg, `/\`)
			if i < 0 {
				i = len(seg)
			}
			if seg[:i] == ".." {
				return true
			}
			seg = seg[min(i+1, len(seg)):]
		}
		next := unescape(path)
		if next == path {
			return false
		}
		path = next
	}
	return false
}

// unescape decodes each well-formed %xx once and leaves the rest as it is.
func unescape(s string) string {
	if !strings.Contains(s, "%") {
		return s
	}
	out := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] == '%' && i+2 < len(s) {
			if n, err := strconv.ParseUint(s[i+1:i+3], 16, 8); err == nil {
				out = append(out, byte(n))
				i += 2
				continue
			}
		}
		out = append(out, s[i])
	}
	return string(out)
}
