package secret

import "strings"

// A keyword is one row of keywords.tsv.
type keyword struct {
	word  string
	kind  kind
	exact bool // case matters, and letters may follow
}

type kind uint8

const (
	kindPassword kind = iota // names a password; the value may hold any symbol
	kindPass                 // as kindPassword, but only in an assignment: "pass" is also a verb
	kindSecret               // names a token or secret
	kindKey                  // names one only together with another word ("api key")
	kindAuth                 // "auth": base64 of user:password, or a token
	kindBearer               // scheme of an Authorization header
	kindBasic
	kindPem // the rest begins a structure
	kindJwt
	kindJwk
	kindPpk
	kindXml
	kindDsn
	kindCurl
	kindCommand // a program that takes a password as a flag
	kindPrefix  // a word that precedes the body of a token
	kindLogin   // names a user, whose password may follow
	kindCall    // a function whose first argument is often a token
)

// matches reports whether text begins with the keyword as a word: a letter of the same
// case behind it would make it part of a longer one ("keyboard", "KEYWORD").
func (k *keyword) matches(text string) bool {
	n := len(k.word)
	if len(text) < n {
		return false
	}
	if k.exact {
		return text[:n] == k.word
	}
	if !equalFold(text[:n], k.word) {
		return false
	}
	if n == len(text) {
		return true
	}
	switch class[text[n]] {
	case isLower:
		return false
	case isUpper:
		return class[text[n-1]] == isLower
	}
	return true
}

// keyword follows up a keyword at i. ok is false when nothing was found.
func (s *scanner) keyword(k *keyword, i int) (end int, ok bool) {
	switch k.kind {
	case kindPem:
		if k.word == "END" {
			return s.pemEnd(i)
		}
		return s.pem(i)
	case kindJwt:
		return s.jwt(i)
	case kindPpk:
		return s.putty(i)
	}
	if s.anchored {
		return 0, false
	}
	switch k.kind {
	case kindXml:
		return s.xmlKey(i)
	case kindDsn:
		return s.dsn(i)
	case kindJwk:
		return s.jwk(i)
	case kindCurl:
		return s.curl(i)
	case kindPrefix:
		return s.prefixed(i, i+len(k.word))
	case kindCommand:
		return s.command(k, i)
	case kindCall:
		return s.argument(i + len(k.word))
	case kindBearer, kindBasic:
		return s.scheme(k.kind, i+len(k.word))
	}
	if k.kind == kindLogin {
		if end, ok := s.argument(i + len(k.word)); ok {
			return end, true
		}
	}
	return s.assignment(k, i)
}

// A name is an identifier around a keyword, with the words in front of it.
type name struct {
	start, end int    // of the identifier
	left       string // what precedes the keyword in it
	before     string // up to two words in front of the identifier on the same line
	text       string // the identifier
}

// coded reports an identifier that code or a command line is written with: its value
// follows without a sign ("ENV X_TOKEN v", "--token v").
func (n name) coded() bool {
	return strings.HasPrefix(n.text, "--") || strings.Contains(n.text, "_")
}

func (s *scanner) nameAt(k *keyword, i int) (name, bool) {
	text := s.text
	n := name{start: i, end: i + len(k.word)}
	for n.start > 0 && i-n.start < 64 && (class[text[n.start-1]]&(isAlnum|isJoin) != 0 || text[n.start-1] == '.') {
		n.start--
	}
	n.left = text[n.start:i]
	if !k.exact || class[k.word[0]] != isWide {
		for n.end < len(text) && n.end-i < 64 && (class[text[n.end]]&(isAlnum|isJoin) != 0 || text[n.end] == 0xC3 || n.end > 0 && text[n.end-1] == 0xC3) {
			n.end++
		}
		if !tailAllowed(text[i+len(k.word) : n.end]) {
			return n, false
		}
	}
	from := n.start
	for words := 0; words < 2 && from > 0 && text[from-1] == ' '; words++ {
		j := from - 1
		for j > 0 && n.start-j < 48 && class[text[j-1]]&(isAlnum|isJoin) != 0 {
			j--
		}
		if j == from-1 {
			break
		}
		from = j
	}
	n.before = text[from:n.start]
	n.text = text[n.start:n.end]
	return n, true
}

// tailAllowed reports whether an identifier may go on like this behind its keyword
// without naming something else ("token_count", "secretName").
func tailAllowed(tail string) bool {
	for w := (words{s: tail}); w.next(); {
		switch string(w.buf[:w.n]) {
		case "prod", "production", "live", "dev", "development", "staging", "stage", "test", "sandbox", "value", "default", "main", "primary", "secondary", "backup",
			"base", "base64", "b64", "raw", "plain", "plaintext", "current", "new", "old", "v1", "v2", "v3", "1", "2", "3", "64", "b", "v", "a", "str", "string":
			continue
		}
		if w.n > 3 || w.buf[0] != 0xC3 { // the rest of "contraseña"
			return false
		}
	}
	return true
}

// words walks over the lower-cased words of an identifier or phrase, split at
// non-letters and before capitals. It is a struct and no callback, so that nothing
// is allocated.
type words struct {
	s   string
	i   int
	buf [32]byte
	n   int // bytes of buf
}

// next moves to the next word and reports whether there is one.
func (w *words) next() bool {
	s := w.s
	for w.i < len(s) && class[s[w.i]]&isAlnum == 0 && s[w.i] < 0x80 {
		w.i++
	}
	start := w.i
	for w.n = 0; w.i < len(s) && w.n < len(w.buf) && (class[s[w.i]]&isAlnum != 0 || s[w.i] >= 0x80); w.i++ {
		if w.i > start && class[s[w.i]] == isUpper && class[s[w.i-1]]&(isLower|isDigit) != 0 {
			break
		}
		w.buf[w.n] = lower(s[w.i])
		w.n++
	}
	return w.n > 0
}

// vetoed reports a word that turns the keyword into something harmless.
func vetoed(k kind, s string) bool {
	for w := (words{s: s}); w.next(); {
		switch string(w.buf[:w.n]) {
		case "public", "pub", "publishable", "cache", "cached", "partition", "idempotency", "page", "next", "prev", "previous", "cursor", "continuation", "trace", "commit",
			"digest", "checksum", "fingerprint", "hash", "hashed", "sha", "sha1", "sha256", "sha512", "md5", "csrf", "xsrf", "nonce", "etag", "integrity", "encrypted", "sealed", "ciphertext",
			"count", "max", "min", "eos", "bos", "socket", "blob", "pad", "unk", "special", "design", "lexer", "syntax", "no", "not", "without", "never", "公", "公开":
			return true
		case "primary", "foreign", "sort", "index", "request", "object", "row", "range", "routing", "shard", "group", "map", "dict", "dedup", "lookup", "search", "s3", "bucket", "message",
			"sync", "site", "host", "ssh", "gpg", "pgp", "minisign", "signify", "translation", "i18n", "locale", "config", "issue", "jira", "ticket", "project", "hot", "short", "component",
			"resource", "event", "metric", "lock", "kafka", "record", "unique", "composite", "natural", "surrogate", "verifying", "verification", "verify", "known", "authorized", "file", "column", "field":
			if k == kindKey {
				return true
			}
		}
	}
	return false
}

// qualifies reports a word that makes "key" name a secret.
func qualifies(s string) bool {
	for w := (words{s: s}); w.next(); {
		switch string(w.buf[:w.n]) {
		case "api", "access", "secret", "private", "signing", "encryption", "admin", "account", "auth", "master", "service", "app", "application", "license", "licence", "shared",
			"storage", "client", "consumer", "subscription", "webhook", "aes", "hmac", "jwt", "crypto", "write", "session", "security", "bot", "root", "deploy", "integration":
			return true
		}
	}
	return false
}

// between reports a word between keyword and value that says the value is about the
// secret, not the secret.
func between(s string) bool {
	for w := (words{s: s}); w.next(); {
		switch string(w.buf[:w.n]) {
		case "id", "ids", "name", "names", "hash", "hashes", "hashed", "digest", "checksum", "fingerprint", "format", "header", "type", "lifetime", "length", "limit", "count", "url", "uri",
			"endpoint", "path", "file", "ref", "arn", "algorithm", "rotation", "policy", "prefix", "version", "sha", "sha1", "sha256", "md5", "commit", "hint", "ttl", "expiry", "expires",
			"alias", "recipient", "signature", "thumbprint", "public", "request", "trace", "uuid", "regex", "pattern", "branch", "image", "model", "class", "function", "error", "code":
			return true
		}
	}
	return false
}

// assignment looks for the value that an identifier with a keyword names. The scan goes
// on behind the value, or behind the identifier when other text stands between.
//
// Origin: none; keywords.tsv has the words, and configuration files and prose the shapes.
func (s *scanner) assignment(k *keyword, i int) (int, bool) {
	n, ok := s.nameAt(k, i)
	if !ok || vetoed(k.kind, n.left) || vetoed(k.kind, n.before) {
		return 0, false
	}
	op := s.operator(n)
	if op.value < 0 && k.kind == kindLogin && strings.IndexByte(k.word, ' ') > 0 && n.end < len(s.text) && s.text[n.end] == ' ' {
		op = operator{value: n.end + 1, how: adjacent} // "log in as admin / x" has no sign in front of the user
	}
	if op.value > 0 && s.text[op.value-1] == '|' {
		if end, ok := s.table(k, n); ok {
			return end, true
		}
	}
	near := op.value >= 0
	if !near && k.kind != kindPass && k.kind != kindAuth {
		op = s.distant(n.end)
	}
	if op.value < 0 || op.value >= len(s.text) {
		s.inFront(k.kind, n)
		return 0, false
	}
	start, end, quoted := s.valueAt(k.kind, op.value)
	if op.lines > 0 && !alone(s.text, start, end) {
		return 0, false
	}
	if start == end || strings.Contains(s.text[max(0, n.start-maxBefore):n.start], "encryptedData") {
		return 0, false // a Bitnami SealedSecret is encrypted for its cluster
	}
	if e := s.formatAt(start); e > start {
		end = e
	} else if rule := judge(k.kind, n, op, s.text[start:end], quoted); rule != "" {
		s.record(rule, start, end)
	} else if from, to, ok := s.pair(start, end); ok && pairs(k) {
		start, end = from, to
		s.record("secret.password", start, end)
	} else {
		return 0, false
	}
	if !near {
		end = n.end
	}
	return end, true
}

// maxBefore is how far in front of a name the key of a sealed map is looked for.
const maxBefore = 400

// alone reports whether a value is all that its line holds, behind the indent, the sign
// of a list and quotation marks.
func alone(text string, start, end int) bool {
	if start == end || strings.IndexByte(text[start:end-1], '=') >= 0 {
		return false
	}
	for end < len(text) && strings.IndexByte("\"'`,; \t\r", text[end]) >= 0 {
		end++
	}
	return end == len(text) || text[end] == '\n'
}

// pairs reports the keywords whose value may be a user's name and a password.
func pairs(k *keyword) bool {
	return k.kind == kindPassword || k.kind == kindLogin || strings.HasPrefix(k.word, "cred")
}

// judge decides on the value v of the name n and returns the rule, or "".
//
// Origin: none for names; "auth" with base64 of user:password is RFC 7617 section 2, and in
// Docker's config.json the member "auth".
func judge(k kind, n name, op operator, v string, quoted bool) string {
	how := op.how
	loose := how != assigned || op.lines > 0
	switch k {
	case kindLogin:
		return ""
	case kindPassword, kindPass:
		if k == kindPass && strings.HasPrefix(n.before, "---") {
			return "" // the line of a passed test
		}
		if how == adjacent && !quoted && !strings.Contains(n.before, "login") && !random(v) && !strongPassword(v) {
			return ""
		}
		if passwordValue(v, loose) && (quoted || !call(v)) {
			return "secret.password"
		}
		return ""
	case kindAuth:
		switch {
		case loose:
			return ""
		case basic64(v):
			return "secret.basic-auth"
		case keyValue(v, true):
			return "secret.bearer"
		}
		return ""
	}
	coded := n.coded()
	if isUUID(v) && n.left == "" && !qualifies(n.before) || !keyValue(v, loose && !coded && how != spoken || op.lines > 0) {
		return ""
	}
	if how == adjacent && !coded && (shapeOf(v).hex || !random(v)) {
		return ""
	}
	if k == kindKey && !qualifies(n.left) && !qualifies(n.before) && (how == adjacent || !keyLike(n, v, loose)) {
		return ""
	}
	return "secret.assignment"
}

// keyLike decides on the value of a bare or unqualified "key".
func keyLike(n name, v string, loose bool) bool {
	s := shapeOf(v)
	if s.hex || isUUID(v) || s.digit < 2 || loose && (s.upper < 2 || s.lower < 2) {
		return false
	}
	if n.left != "" || loose && n.before != "" {
		return s.best >= 16
	}
	return len(v) >= 24 && s.best >= 20 && s.upper > 2 && s.lower > 2
}
