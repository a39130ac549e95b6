package hidden

import "strings"

// maxOrder is how far apart the naming of an encoding and the order to act may stand.
const maxOrder = 120

// orders finds text that tells its reader to decode something and to act on what it
// says. What it decodes to need not be there at all, so no other rule can see it.
func orders(text string) []Finding {
	var out []Finding
	each(text, func(start, end int) {
		if len(out) > 0 || end-start < 5 || end-start > 11 || !encodingName(text[start:end]) {
			return
		}
		stop := min(len(text), start+maxOrder)
		if k := strings.Index(text[start:stop], ". "); k >= 0 {
			stop = start + k
		}
		if n := acts(text[start:stop]); n > 0 {
			out = append(out, Finding{Rule: "hidden.decode-order", Offset: start, Length: n, Carries: true})
		}
	})
	return out
}

func encodingName(w string) bool {
	var buf [11]byte
	for i := range len(w) {
		buf[i] = w[i] | 0x20
	}
	switch string(buf[:len(w)]) {
	case "base64", "base32", "rot13", "decode", "decipher", "unscramble", "deobfuscate", "morse":
		return true
	}
	return false
}

// acts returns where an order to act on the decoded text ends, 0 when there is none.
func acts(s string) int {
	for _, w := range [...]string{
		"do what it says", "do as it says", "do what it tells", "what it instructs", "and obey", "follow it", "follow them", "follow the instructions", "follow the result", "and act on it",
		"execute the result", "execute its", "new instructions", "hidden instructions", "your instructions", "real instructions", "carry it out", "carry out what",
	} {
		if at := indexFold(s, w); at >= 0 {
			return at + len(w)
		}
	}
	if at := indexFold(s, "and follow"); at >= 0 {
		rest := strings.TrimLeft(s[at+len("and follow"):], " ")
		if rest == "" || strings.IndexByte(":.!\n", rest[0]) >= 0 {
			return at + len("and follow")
		}
	}
	return 0
}

// indexFold is strings.Index with ASCII letters of either case; w is lower case.
func indexFold(s, w string) int {
	for i := 0; i+len(w) <= len(s); i++ {
		if s[i]|0x20 == w[0]|0x20 && strings.EqualFold(s[i:i+len(w)], w) {
			return i
		}
	}
	return -1
}
