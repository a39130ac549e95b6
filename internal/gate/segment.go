package gate

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"
	"time"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Segment is one accepted piece of a conversation.
type Segment struct {
	N      int    // its number; the next one's is higher
	Kind   string // see the kinds below
	Text   string // the message, or the tool's arguments or output
	Tool   string // of a call and its result
	Failed bool   // the result is an error
	Plugin string // of a user message that a program wrote: which one; "" a person's
	Child  bool   // the conversation is a subagent's
	Time   time.Time
}

// The kinds of segment that can trigger.
const (
	KindUser       = "user"
	KindToolCall   = "tool-call"
	KindToolResult = "tool-result"
	KindAssistant  = "assistant"
)

func supported(kind string) bool {
	return kind == KindUser || kind == KindToolCall || kind == KindToolResult || kind == KindAssistant
}

// The bounds of a window.
const (
	maxWindow  = 8     // segments, the trigger included
	maxChars   = 4_096 // characters together, the newest first
	maxSegment = 1_200 // characters of one
)

// piece is a segment as the window keeps it: bounded, folded, without the host's text
// behind it.
type piece struct {
	Segment
	folded string
	digest string
}

// Fold is the form in which texts are compared: NFKC, lower case, single spaces.
func Fold(s string) string {
	return strings.Join(strings.Fields(strings.ToLower(norm.NFKC.String(s))), " ")
}

func pieceOf(s Segment) piece {
	s.Text = strings.Clone(clip(s.Text, maxSegment))
	sum := sha256.Sum256([]byte(s.Kind + "\x00" + s.Tool + "\x00" + s.Text))
	return piece{Segment: s, folded: Fold(s.Text), digest: hex.EncodeToString(sum[:])}
}

// clip cuts s to at most n characters.
func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for i := range s {
		if n--; n < 0 {
			return s[:i]
		}
	}
	return s
}

// push adds the newest segment to a window and drops what no longer fits.
func push(window []piece, p piece) []piece {
	all := append(append([]piece(nil), window...), p)
	all = all[max(0, len(all)-maxWindow):]
	left := maxChars
	for i := len(all) - 1; i >= 0; i-- {
		if left -= utf8.RuneCountInString(all[i].Text); left < 0 {
			return all[i+1:]
		}
	}
	return all
}
