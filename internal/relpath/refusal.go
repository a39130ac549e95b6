package relpath

import (
	"fmt"
	"io/fs"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/memoryroom/scribe/internal/fold"
)

// A Refusal says why a name was refused. It is deterministic: one name, one
// refusal.
type Refusal struct {
	// Rule is the stable ID, "path." and a kebab-case word.
	Rule string
	// Segment is the segment that broke the rule, as it was given, possibly not
	// UTF-8; empty when the whole name did.
	Segment string
	// Rune is the rune that broke the rule, 0 when it was not one rune, and U+FFFD
	// for bytes that are not UTF-8.
	Rune rune
	// Suggestion is a name near the refused one that [Parse] (or [ParseDir])
	// accepts, or empty. It is advice for whoever chose the name and is never
	// applied.
	Suggestion string
	// Policy marks what is harmless in a file that people already have; see
	// [ParseForeign].
	Policy bool
}

// maxQuoted is the limit of bytes of a segment in a message.
const maxQuoted = 64

// Is makes every refusal an fs.ErrInvalid: a caller that only asks whether the name or
// the disk was at fault needs no type of ours.
func (r *Refusal) Is(target error) bool { return target == fs.ErrInvalid }

// Error returns the rule's text, the segment and the suggestion. It holds no
// absolute path: a segment has no slash, and is cut at a backslash or a colon.
func (r *Refusal) Error() string {
	var b strings.Builder
	b.WriteString("path not allowed: ")
	b.WriteString(explain(r.Rule))
	if seg := clip(r.Segment); seg != "" && seg != "." && seg != ".." {
		b.WriteString(": ")
		b.WriteString(quote(seg))
		if r.Rune != 0 {
			fmt.Fprintf(&b, " (U+%04X)", r.Rune)
		}
	}
	if r.Suggestion != "" {
		fmt.Fprintf(&b, "; try %q", r.Suggestion)
	}
	return b.String()
}

// quote quotes a segment for a message: readable, unless it holds what does not
// show, which strconv leaves in place for some code points.
func quote(seg string) string {
	for _, r := range seg {
		if r >= utf8.RuneSelf && !fold.ClassOf(r).Visible() {
			return strconv.QuoteToASCII(seg)
		}
	}
	return strconv.Quote(seg)
}

// clip returns what a message may quote of a segment.
func clip(seg string) string {
	if i := strings.IndexAny(seg, `\:`); i >= 0 {
		seg = seg[:i]
	}
	if len(seg) <= maxQuoted {
		return seg
	}
	n := maxQuoted
	for n > 0 && !utf8.RuneStart(seg[n]) {
		n--
	}
	return seg[:n] + "..."
}

// The rules. Their texts are in explain.
const (
	ruleEmpty        = "path.empty"
	ruleTooLong      = "path.too-long"
	ruleUTF8         = "path.utf8"
	ruleControl      = "path.control"
	ruleBackslash    = "path.backslash"
	ruleColon        = "path.colon"
	ruleGlob         = "path.glob"
	ruleTilde        = "path.tilde"
	ruleShell        = "path.shell"
	rulePercent      = "path.percent"
	ruleAbsolute     = "path.absolute"
	ruleTrailSlash   = "path.trailing-slash"
	ruleEmptySegment = "path.empty-segment"
	ruleDotDot       = "path.dot-dot"
	ruleDot          = "path.dot"
	ruleHidden       = "path.hidden"
	ruleLeading      = "path.leading"
	ruleTrailing     = "path.trailing"
	ruleSpacing      = "path.spacing"
	ruleSegmentLong  = "path.segment-too-long"
	ruleTooDeep      = "path.too-deep"
	ruleDevice       = "path.device"
	ruleSensitive    = "path.sensitive"
	ruleShortName    = "path.short-name"
	ruleExtension    = "path.extension"
	ruleInstruction  = "path.instruction-file"
	ruleCategory     = "path.category"
	ruleIgnorable    = "path.ignorable"
	ruleUnassigned   = "path.unassigned"
	ruleLookAlike    = "path.look-alike"
	ruleMark         = "path.mark"
	ruleMixedScript  = "path.mixed-script"
	ruleNotNFC       = "path.not-nfc"
	ruleCompat       = "path.compat"
)

// explain returns the text of a rule, for a model or a person.
func explain(rule string) string {
	switch rule {
	case ruleEmpty:
		return "empty name"
	case ruleTooLong:
		return fmt.Sprintf("name longer than %d bytes", MaxLen)
	case ruleUTF8:
		return "not UTF-8"
	case ruleControl:
		return "control character"
	case ruleBackslash:
		return "backslash"
	case ruleColon:
		return "colon"
	case ruleGlob:
		return "wildcard character"
	case ruleTilde:
		return "tilde"
	case ruleShell:
		return "character with a meaning to shells"
	case rulePercent:
		return "percent sign"
	case ruleAbsolute:
		return "absolute name"
	case ruleTrailSlash:
		return "slash at the end"
	case ruleEmptySegment:
		return "empty segment"
	case ruleDotDot:
		return "dot-dot segment"
	case ruleDot:
		return "dot segment"
	case ruleHidden:
		return "leading dot"
	case ruleLeading:
		return "character that may not come first"
	case ruleTrailing:
		return "dot or space at the end"
	case ruleSpacing:
		return "space that is leading, doubled or not U+0020"
	}
	return explainMore(rule)
}

func explainMore(rule string) string {
	switch rule {
	case ruleSegmentLong:
		return fmt.Sprintf("segment longer than %d bytes", MaxSegment)
	case ruleTooDeep:
		return fmt.Sprintf("more than %d segments", MaxDepth)
	case ruleDevice:
		return "device name of Windows"
	case ruleSensitive:
		return "reserved for tools"
	case ruleShortName:
		return "short (8.3) name"
	case ruleExtension:
		return "not a .md file"
	case ruleInstruction:
		return "name that agents load as instructions"
	case ruleCategory:
		return "character that is not a letter, number, punctuation or symbol"
	case ruleIgnorable:
		return "invisible character"
	case ruleUnassigned:
		return "unassigned character"
	case ruleLookAlike:
		return "look-alike of a reserved name or of a separator"
	case ruleMark:
		return "combining mark out of place"
	case ruleMixedScript:
		return "word in two alphabets that look alike"
	case ruleNotNFC:
		return "not in Unicode normalization form C"
	case ruleCompat:
		return "character that normalises to one that is not allowed"
	}
	return "not a name of a memory"
}
