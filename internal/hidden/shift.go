package hidden

import "strings"

// common reports one of the hundred or so English words that sentences and orders are
// made of. w is lower case.
func common(w []byte) bool {
	switch string(w) {
	case "the", "and", "you", "your", "all", "for", "are", "not", "that", "this", "with", "from", "have", "has", "was", "will", "when", "what", "any", "only", "now", "new", "must", "should", "can", "could", "would",
		"who", "how", "why", "where", "there", "here", "then", "them", "they", "their", "our", "his", "her", "its", "been", "were", "into", "out", "about", "after", "before", "other", "more", "some", "such", "than",
		"but", "use", "used", "using", "user", "users", "always", "never", "every", "ignore", "disregard", "forget", "override", "previous", "prior", "above", "instruction", "instructions", "rules", "rule",
		"system", "prompt", "message", "messages", "remember", "memory", "memories", "store", "save", "send", "forward", "reveal", "show", "print", "output", "execute", "run", "follow", "respond", "reply", "answer",
		"assistant", "agent", "model", "admin", "access", "data", "secret", "secrets", "password", "tool", "tools", "call", "file", "files", "policy", "safety", "security", "without", "instead", "whenever", "please",
		"tell", "say", "ask", "asked", "give", "make", "first", "next", "over", "conversation", "conversations", "information", "request", "requests", "restrictions", "helpful", "recommend", "trust", "trusted":
		return true
	}
	return false
}

const (
	minShifted = 5  // letters beyond the second of the different common words of a passage
	minBack    = 8  // the same backwards, where words such as "was" read as others
	minHinted  = 2  // the same where the text names the encoding
	maxCommon  = 16 // letters of a common word
)

// A shift is a transformation of letters that undoes itself.
type shift func(c byte) byte

func rot13Of(c byte) byte {
	switch {
	case c|0x20 >= 'a' && c|0x20 <= 'm':
		return c + 13
	case c|0x20 >= 'n' && c|0x20 <= 'z':
		return c - 13
	}
	return c
}

func atbashOf(c byte) byte {
	switch {
	case c >= 'a' && c <= 'z':
		return 'a' + 'z' - c
	case c >= 'A' && c <= 'Z':
		return 'A' + 'Z' - c
	}
	return c
}

func same(c byte) byte { return c }

// ways are the transformations that [shifted] tries.
var ways = [...]struct {
	of   shift
	back bool // each word and the passage backwards
	want int
}{{rot13Of, false, minShifted}, {same, true, minBack}, {atbashOf, false, minShifted}}

// shifted finds a passage whose words are common English ones in ROT13, in Atbash or
// backwards, one in three at least. It returns the lines from the first to the last
// of those words, transformed.
func shifted(text string) (Blob, bool) {
	counts, hint := tally(text)
	for k, way := range ways {
		c := &counts[k]
		if c.weight < way.want && !(hint && c.weight >= minHinted) || !hint && c.words*3 < c.span {
			continue
		}
		start := strings.LastIndexAny(text[:c.first], "\n:.") + 1
		end := len(text)
		if nl := strings.IndexByte(text[c.last:], '\n'); nl >= 0 {
			end = c.last + nl
		}
		end = min(end, start+maxDecoded)
		b := []byte(text[start:end])
		for i := range b {
			b[i] = way.of(b[i])
		}
		if way.back {
			b = backwards(b)
		}
		return Blob{start, end - start, string(b), true}, true
	}
	return Blob{}, false
}

// A count is what tally found of one transformation.
type count struct {
	words       int // common ones
	weight      int // letters beyond the second of the different ones
	first, last int // bounds in the text
	at, span    int // number of the first of them, and words up to the last
	seen        [16]uint32
}

// tally counts the words that are common after each of the transformations, and reports
// whether the text names one.
func tally(text string) (counts [len(ways)]count, hint bool) {
	n := 0
	each(text, func(start, end int) {
		size := end - start
		if size < 3 {
			return
		}
		n++
		if size > maxCommon {
			return
		}
		for k, way := range ways {
			head := text[start]
			if way.back {
				head = text[end-1]
			}
			if head = way.of(head) | 0x20; head < 'a' || head > 'z' || commonSizes[head-'a']>>size&1 == 0 {
				continue
			}
			var buf [maxCommon]byte
			w := buf[:size]
			for i := range w {
				to := i
				if way.back {
					to = size - 1 - i
				}
				w[to] = way.of(text[start+i]) | 0x20
			}
			if common(w) {
				counts[k].add(w, start, end, n)
			}
		}
		switch text[start] | 0x20 {
		case 'r', 'a', 'b':
			hint = hint || hints(text[start:end])
		}
	})
	return counts, hint
}

// add counts the n-th word of a text.
func (c *count) add(w []byte, start, end, n int) {
	if c.words == 0 {
		c.first, c.at = start, n
	}
	c.words, c.last, c.span = c.words+1, end, n-c.at+1
	h := uint32(2166136261) // FNV-1a
	for _, b := range w {
		h = (h ^ uint32(b)) * 16777619
	}
	for k := range c.seen {
		if c.seen[k] == h {
			return
		}
		if c.seen[k] == 0 {
			c.seen[k] = h
			c.weight += len(w) - 2
			return
		}
	}
}

// commonSizes has a bit for each length of a common word that begins with a letter.
// A test compares the two.
var commonSizes = [26]uint32{0x268, 0x58, 0x3038, 0x210, 0xa0, 0xf8, 0x10, 0x98, 0x18d8, 0x0, 0x0, 0x0, 0x1f0, 0x38, 0x178, 0x160, 0x0, 0x13f8, 0x1f8, 0xb8, 0x38, 0x0, 0x1b8, 0x0, 0x18, 0x0}

// hints reports the name of an encoding that [shifted] reads.
func hints(w string) bool {
	for _, name := range [...]string{"rot13", "rot", "atbash", "reversed", "backwards"} {
		if strings.EqualFold(w, name) {
			return true
		}
	}
	return false
}

// backwards returns ASCII text with its bytes in the opposite order.
func backwards(b []byte) []byte {
	for i, j := 0, len(b)-1; i < j; i, j = i+1, j-1 {
		b[i], b[j] = b[j], b[i]
	}
	return b
}

// containsFold reports a word of lower-case ASCII in letters of either case.
func containsFold(text, word string) bool { return indexFold(text, word) >= 0 }
