package secret

import (
	"math/bits"
	"strings"
)

// minIssued is the shortest body behind a prefix that nobody has told us about. The
// identifiers that services print (pi_, msg_, thread_, file-) have 24 or fewer.
const minIssued = 28

// issuer finds a token of an unknown issuer in a run of token bytes: a prefix of one
// case, a separator, and a body that is long and looks drawn at random. The prefixes
// of digests and of identifiers that services print are excluded. The body begins
// behind the last separator of the run (its own alphabet has none), behind the
// words in front, or, when a dot separates, at the run.
//
// Origin: none, which is the point: prefix, separator and random body are what the rows of
// formats.tsv have in common.
func (s *scanner) issuer(start, end int) bool {
	text := s.text
	if s.anchored || end < len(text) && strings.IndexByte("+/=.%", text[end]) >= 0 && end+1 < len(text) && class[text[end+1]]&isAlnum != 0 {
		return false
	}
	start += strings.LastIndexAny(text[start:end], "/+") + 1
	if start > 0 && text[start-1] == '.' {
		first := dotted(text, start)
		if first == start || end-start < minDotted || spelled(text[start:end])*3 >= end-start || !issuerName(text[first:start-1]) || !issued(text[start:end], false) {
			return false // a host, a file, or the middle of a web token
		}
		s.record("secret.prefixed-token", first, end)
		return true
	}
	if vetoed(kindKey, nameBefore(text, start)) {
		return false
	}
	body := end
	for body > start && class[text[body-1]]&isAlnum != 0 {
		body--
	}
	if body > start && issuerName(text[start:body-1]) && issued(text[body:end], s.namedBefore(start) && text[body-1] == '_') {
		s.record("secret.prefixed-token", start, end)
		return true
	}
	if p := behindWords(text[start:end]); p > 0 && issuerName(text[start:start+p-1]) && issued(text[start+p:end], false) {
		s.record("secret.prefixed-token", start, end)
		return true
	}
	return false
}

// minDotted is the shortest body behind a dot, where a host name or a property would
// be as likely.
const minDotted = 36

// issuerName reports letters of one case, digits and separators, a letter first, which
// name no digest and no identifier.
func issuerName(prefix string) bool {
	if len(prefix) < 2 || len(prefix) > 24 || class[prefix[0]]&isLetter == 0 || harmless(prefix) {
		return false
	}
	letters := class[prefix[0]]
	for i := 0; i < len(prefix); i++ {
		if class[prefix[i]]&(letters|isDigit|isJoin) == 0 {
			return false
		}
	}
	return true
}

// behindWords returns where the body of a run begins behind at most three words, each
// with a separator: small letters and at most two digits, or capitals; 0 when it
// begins with none.
func behindWords(run string) int {
	p := 0
	for words := 0; words < 3 && p < len(run); words++ {
		q, digits := p, 0
		for q < len(run) && q-p <= 10 && class[run[q]]&isAlnum != 0 && class[run[q]]&(class[run[p]]|isDigit) != 0 {
			if class[run[q]] == isDigit {
				digits++
			}
			q++
		}
		capital := class[run[p]] == isUpper
		if q-p < 2 || q-p < 3 && words == 0 && run[:q] != "sk" || q == len(run) || class[run[q]] != isJoin || digits > 2 || capital && (digits > 0 || q-p < 3) {
			break
		}
		p = q + 1
	}
	return p
}

// dotted returns where a short word begins that a dot joins to the run at start, or
// start when there is none or it is part of a longer name.
func dotted(text string, start int) int {
	if start < 3 || text[start-1] != '.' {
		return start
	}
	i := start - 1
	for i > 0 && start-i <= 9 && class[text[i-1]]&isAlnum != 0 {
		i--
	}
	if i > 0 && (class[text[i-1]]&(isAlnum|isJoin|isSlash|isWide) != 0 || text[i-1] == '.') {
		return start
	}
	return i
}

// issued decides on the body of a token. named says that the text in front speaks of a
// credential, which is what a body of hexadecimal digits needs: it may be a digest.
func issued(v string, named bool) bool {
	if len(v) < minIssued || len(v) > 300 {
		return false
	}
	sh := shapeOf(v)
	if distinct(v) < 12 && !sh.hex || camel(v) {
		return false
	}
	mixed := sh.upper >= 3 && sh.lower >= 3 && sh.digit >= 3
	switch {
	case sh.hex:
		return named && len(v) >= 32 && sh.digit >= 4 && sh.lower+sh.upper >= 4 && !placeholder(v)
	case sh.symbol == 0 && mixed:
		return sh.best >= 24 && !nodeID(v) && !placeholder(v)
	case sh.symbol == 0:
		return len(v) >= 32 && sh.best >= 24 && sh.digit >= 4 && !placeholder(v)
	}
	return mixed && len(v) >= 32 && sh.upper >= 4 && sh.lower >= 4 && sh.best >= 12 && sh.changes*4 >= len(v) && !placeholder(v)
}

// distinct counts the different bytes of v.
func distinct(v string) int {
	var seen [4]uint64
	for i := 0; i < len(v); i++ {
		seen[v[i]>>6] |= 1 << (v[i] & 63)
	}
	n := 0
	for _, s := range seen {
		n += bits.OnesCount64(s)
	}
	return n
}

// nodeID reports the base64 of a GitHub node identifier, behind its prefix.
func nodeID(v string) bool {
	return strings.HasPrefix(v, "kwDO") || strings.HasPrefix(v, "kgDO") || strings.HasPrefix(v, "lADO")
}

// nameBefore returns the identifier that the value at i is assigned to, or "".
func nameBefore(text string, i int) string {
	for n := 0; n < 3 && i > 0 && strings.IndexByte("\"' ", text[i-1]) >= 0; n++ {
		i--
	}
	if i == 0 || text[i-1] != '=' && text[i-1] != ':' {
		return ""
	}
	i--
	start := i
	for start > 0 && i-start < maxNamed && (class[text[start-1]]&(isAlnum|isJoin) != 0 || text[start-1] == '"') {
		start--
	}
	return text[start:i]
}

// maxNamed is how far in front of a token a word may say what it is.
const maxNamed = 48

// namedBefore reports that the line in front of i speaks of a credential and of no
// digest.
func (s *scanner) namedBefore(i int) bool {
	line := s.text[max(0, i-maxNamed):i]
	line = line[strings.LastIndexByte(line, '\n')+1:]
	named := false
	for _, w := range [...]string{"token", "secret", "credential", "api key", "access key", "令牌", "密钥", "凭证"} {
		named = named || indexFold(line, w) >= 0
	}
	return named && !vetoed(kindSecret, line)
}

// harmless reports the prefix of a digest or of an identifier that is not secret.
func harmless(prefix string) bool {
	for w := (words{s: prefix}); w.next(); {
		switch string(w.buf[:w.n]) {
		case "sha1", "sha224", "sha256", "sha384", "sha512", "md5", "h1", "blake2", "blake3", "integrity", "hash", "etag", "nonce",
			"file", "thread", "msg", "asst", "run", "call", "req", "resp", "cs", "evt", "pi", "seti", "price", "in", "txn", "id", "img", "cache", "chunk", "part", "blob", "data",
			"build", "commit", "rev", "pk", "pub", "phc", "public", "publishable", "cus", "sub", "acct", "ch", "batch", "job", "trace", "span", "session", "node", "chatcmpl", "toolu", "user", "org", "team", "page", "doc", "docs", "v", "fig", "ipfs", "test",
			"dpl", "prj", "proj", "ftjob", "vs", "srvtoolu", "container", "pm", "src", "card", "mandate", "wh", "we", "asset", "layer", "snapshot", "release", "version", "key", "uuid", "ulid", "ref", "pvti", "pvt", "bundle", "main", "index", "app", "vendor",
			"your", "my", "example", "sample", "dummy", "fake":
			return true
		}
	}
	return false
}

// prefixed finds a token of an unknown issuer at a word that issuers use in prefixes
// (sk-, live_, ...), which ends at p.
//
// Origin: none, as for issuer; the words are those of the prefixes in formats.tsv.
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
