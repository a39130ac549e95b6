package secret

import (
	"strings"

	"github.com/memoryroom/scribe/internal/fold"
)

// long looks at a run of at least longRun token bytes: literals inside it, an
// unknown issuer's prefix, and text in base64 or hexadecimal.
func (s *scanner) long(start, end int) {
	run := s.text[start:end]
	for k := range infixes {
		f := &formats[infixes[k].format]
		for from := 0; ; {
			at := strings.Index(run[from:], infixes[k].lit)
			if at < 0 {
				break
			}
			if b, e, ok := f.match(s.text, start+from+at); ok && f.accepts(s.text[b:e]) {
				s.record(f.rule, b, e)
				return
			}
			from += at + 1
		}
	}
	if s.wallet(start, end) || s.issuer(start, end) {
		return
	}
	s.decoded(start, end)
}

// decoded scans the text behind a base64 or hexadecimal run. The run may be part of a
// longer one, which "+" and "/" divide; a part that was decoded is not decoded again.
func (s *scanner) decoded(start, end int) {
	if s.depth >= maxDepth || start < s.decodedTo {
		return
	}
	text := s.text
	if strings.HasPrefix(text[start:end], "0x") || strings.HasPrefix(text[start:end], "0X") {
		start += 2
	}
	first := start
	for first > s.decodedTo && start-first < maxReach && isBase64(text[first-1]) {
		first--
	}
	var head [12]byte
	for tries, at := 0, first; tries < 8 && at >= 0; tries++ {
		if n := fold.Base64(head[:], text[at:min(len(text), at+16)]); n == len(head) && printable(head[:]) {
			for end < len(text) && end-at < maxDecoded && (urlSafe(text[end]) || text[end] == '+' || text[end] == '/') {
				end++
			}
			s.decodedTo = end
			run := text[at:min(end, at+maxDecoded)]
			buf := make([]byte, len(run))
			s.inner(string(buf[:fold.Base64(buf, run)]), at, end)
			return
		}
		// What stands in front of a slash may be a path.
		slash := strings.IndexByte(text[max(at, start):end], '/')
		if slash < 0 && at < start {
			at = start
			continue
		}
		if slash < 0 {
			break
		}
		at = max(at, start) + slash + 1
	}
	if n := decodeHex(head[:], text[start:min(end, start+24)]); n == len(head) && printable(head[:]) {
		s.decodedTo = end
		run := text[start:min(end, start+maxDecoded)]
		buf := make([]byte, len(run))
		s.inner(string(buf[:decodeHex(buf, run)]), start, end)
	}
}

// maxReach is how far in front of a run its encoded text may have begun.
const maxReach = 256

// maxDecoded is the longest encoded run whose decoded text is scanned.
const maxDecoded = 16384

func (s *scanner) inner(text string, start, end int) {
	cut := 0
	for cut < len(text) && (text[cut] >= ' ' && text[cut] <= '~' || text[cut] == '\n' || text[cut] == '\r' || text[cut] == '\t') {
		cut++
	}
	if cut < 16 {
		return
	}
	in := scanner{text: text[:cut], allow: s.allow, depth: s.depth + 1, anchored: s.anchored}
	in.run()
	if len(in.found) > 0 && len(s.found) < maxTokens {
		s.found = append(s.found, Finding{in.found[0].Rule, start, end - start})
	}
}

func printable(b []byte) bool {
	for _, c := range b {
		if (c < ' ' || c > '~') && c != '\n' && c != '\t' && c != '\r' {
			return false
		}
	}
	return true
}

// decodeHex decodes hexadecimal digits into dst until another byte or the end.
func decodeHex(dst []byte, src string) int {
	n := 0
	for i := 0; i+1 < len(src) && n < len(dst); i += 2 {
		if !hexDigit(src[i]) || !hexDigit(src[i+1]) {
			break
		}
		dst[n] = nibble(src[i])<<4 | nibble(src[i+1])
		n++
	}
	return n
}

func nibble(c byte) byte {
	if c <= '9' {
		return c - '0'
	}
	return lower(c) - 'a' + 10
}
