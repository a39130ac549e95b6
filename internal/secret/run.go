package secret

import "strings"

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
	if s.issuer(start, end) {
		return
	}
	s.decoded(start, end)
}

// minIssued is the shortest body behind a prefix that nobody has told us about. The
// identifiers that services print (pi_, msg_, thread_, file-) have 24 or fewer.
const minIssued = 28

// issuer finds a token of an unknown issuer: a short prefix of one case and a separator in
// front of at least minIssued letters and digits of all three kinds. The prefixes of
// digests and of identifiers that services print are excluded.
func (s *scanner) issuer(start, end int) bool {
	if s.anchored {
		return false
	}
	start += strings.LastIndexAny(s.text[start:end], "/+") + 1
	body := end
	for body > start && class[s.text[body-1]]&isAlnum != 0 {
		body--
	}
	if end-body < minIssued || body == start || end-body > 200 {
		return false
	}
	prefix := s.text[start : body-1]
	if len(prefix) < 2 || len(prefix) > 24 || class[prefix[0]]&isLetter == 0 || harmless(prefix) {
		return false
	}
	letters := class[prefix[0]]
	for i := 0; i < len(prefix); i++ {
		if class[prefix[i]]&(letters|isDigit|isJoin) == 0 {
			return false
		}
	}
	if end < len(s.text) && strings.IndexByte("+/=.%", s.text[end]) >= 0 && end+1 < len(s.text) && class[s.text[end+1]]&isAlnum != 0 {
		return false
	}
	v := s.text[body:end]
	sh := shapeOf(v)
	if sh.upper < 3 || sh.lower < 3 || sh.digit < 3 || sh.best < 24 || placeholder(v) {
		return false
	}
	s.record("secret.prefixed-token", start, end)
	return true
}

// harmless reports the prefix of a digest or of an identifier that is not secret.
func harmless(prefix string) bool {
	return !parts(prefix, func(w string) bool {
		switch w {
		case "sha1", "sha224", "sha256", "sha384", "sha512", "md5", "h1", "blake2", "blake3", "integrity", "hash", "etag", "nonce",
			"file", "thread", "msg", "asst", "run", "call", "req", "resp", "cs", "evt", "pi", "seti", "price", "in", "txn", "id", "img", "cache", "chunk", "part", "blob", "data",
			"build", "commit", "rev", "pk", "pub", "phc", "public", "publishable", "cus", "sub", "acct", "ch", "batch", "job", "trace", "span", "session", "node", "chatcmpl", "toolu", "user", "org", "team", "page", "doc", "docs", "v", "fig", "ipfs", "test",
			"your", "my", "example", "sample", "dummy", "fake":
			return false
		}
		return true
	})
}

// prefixed finds a token of an unknown issuer at a word that issuers use in prefixes
// (sk-, live_, ...), which ends at p.
func (s *scanner) prefixed(i, p int) (int, bool) {
	text := s.text
	start := i
	for start > 0 && i-start < 24 && class[text[start-1]]&(isAlnum|isJoin) != 0 {
		start--
	}
	if start > 0 && class[text[start-1]]&isAlnum != 0 {
		return 0, false
	}
	for more := 0; more < 3; more++ {
		q := p
		for q < len(text) && q-p <= 10 && class[text[q]]&(isLower|isDigit) != 0 {
			q++
		}
		if q == p || q-p > 10 || q >= len(text) || class[text[q]] != isJoin {
			break
		}
		p = q + 1
	}
	end := p
	for end < len(text) && class[text[end]]&isAlnum != 0 {
		end++
	}
	v := text[p:end]
	if len(v) < 20 || len(v) > 300 || harmless(text[start:p]) || placeholder(v) || vetoed(kindKey, text[start:p]) {
		return 0, false
	}
	sh := shapeOf(v)
	if sh.hex && (len(v) < 32 || sh.digit < 3 || sh.lower+sh.upper < 3) || !sh.hex && !random(v) {
		return 0, false
	}
	return s.record("secret.prefixed-token", start, end), true
}

// decoded scans the text behind a base64 or hexadecimal run. The run may be part of a
// longer one, which "+" and "/" divide; a part that was decoded is not decoded again.
func (s *scanner) decoded(start, end int) {
	if s.depth >= maxDepth || start < s.decodedTo {
		return
	}
	text := s.text
	first := start
	for first > s.decodedTo && start-first < maxReach && isBase64(text[first-1]) {
		first--
	}
	var head [12]byte
	for tries, at := 0, first; tries < 8 && at >= 0; tries++ {
		if n := decode64(head[:], text[at:min(len(text), at+16)]); n == len(head) && printable(head[:]) {
			for end < len(text) && end-at < maxDecoded && (urlSafe(text[end]) || text[end] == '+' || text[end] == '/') {
				end++
			}
			s.decodedTo = end
			run := text[at:min(end, at+maxDecoded)]
			buf := make([]byte, len(run))
			s.inner(string(buf[:decode64(buf, run)]), at, end)
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

// decode64 decodes either base64 alphabet into dst until a byte of none or the end,
// and returns the number of bytes written.
func decode64(dst []byte, src string) int {
	var acc uint32
	bits, n := 0, 0
	for i := 0; i < len(src) && n < len(dst); i++ {
		var v byte
		switch c := src[i]; {
		case c >= 'A' && c <= 'Z':
			v = c - 'A'
		case c >= 'a' && c <= 'z':
			v = c - 'a' + 26
		case c >= '0' && c <= '9':
			v = c - '0' + 52
		case c == '+' || c == '-':
			v = 62
		case c == '/' || c == '_':
			v = 63
		default:
			return n
		}
		acc = acc<<6 | uint32(v)
		if bits += 6; bits >= 8 {
			bits -= 8
			dst[n] = byte(acc >> bits)
			n++
		}
	}
	return n
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
