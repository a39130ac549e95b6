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
	kindCurl
	kindPrefix // a word that precedes the body of a token
	kindCall   // a function whose first argument is often a token
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
	case kindJwk:
		return s.jwk(i)
	case kindCurl:
		return s.curl(i)
	case kindPrefix:
		return s.prefixed(i, i+len(k.word))
	case kindCall:
		return s.argument(i + len(k.word))
	case kindBearer, kindBasic:
		return s.scheme(k.kind, i+len(k.word))
	}
	return s.assignment(k, i)
}

// A name is an identifier around a keyword, with the words in front of it.
type name struct {
	start, end int    // of the identifier
	left       string // what precedes the keyword in it
	before     string // up to two words in front of the identifier on the same line
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
	return n, true
}

// tailAllowed reports whether an identifier may go on like this behind its keyword
// without naming something else ("token_count", "secretName").
func tailAllowed(tail string) bool {
	return parts(tail, func(w string) bool {
		switch w {
		case "prod", "production", "live", "dev", "development", "staging", "stage", "test", "sandbox", "value", "default", "main", "primary", "secondary", "backup",
			"base64", "b64", "raw", "plain", "plaintext", "current", "new", "old", "v1", "v2", "v3", "1", "2", "3", "64", "b", "v", "a", "str", "string":
			return true
		}
		return len(w) <= 3 && w[0] == 0xC3 // the rest of "contraseña"
	})
}

// parts calls f with each lower-cased word of an identifier or phrase, split at
// non-letters and before capitals, and reports whether f held for all.
func parts(s string, f func(word string) bool) bool {
	var buf [32]byte
	for i := 0; i < len(s); {
		if class[s[i]]&isAlnum == 0 && s[i] < 0x80 {
			i++
			continue
		}
		n, start := 0, i
		for i < len(s) && n < len(buf) && (class[s[i]]&isAlnum != 0 || s[i] >= 0x80) {
			if i > start && class[s[i]] == isUpper && class[s[i-1]]&(isLower|isDigit) != 0 {
				break
			}
			buf[n] = lower(s[i])
			n++
			i++
		}
		if !f(string(buf[:n])) {
			return false
		}
	}
	return true
}

// vetoed reports a word that turns the keyword into something harmless.
func vetoed(k kind, s string) bool {
	return !parts(s, func(w string) bool {
		switch w {
		case "public", "pub", "publishable", "cache", "cached", "partition", "idempotency", "page", "next", "prev", "previous", "cursor", "continuation", "trace", "commit",
			"digest", "checksum", "fingerprint", "hash", "hashed", "sha", "sha1", "sha256", "sha512", "md5", "csrf", "xsrf", "nonce", "etag", "integrity", "encrypted", "sealed", "ciphertext",
			"count", "max", "min", "eos", "bos", "pad", "unk", "special", "design", "lexer", "syntax", "no", "not", "without", "never", "公", "公开":
			return false
		case "primary", "foreign", "sort", "index", "request", "object", "row", "range", "routing", "shard", "group", "map", "dict", "dedup", "lookup", "search", "s3", "bucket", "message",
			"sync", "site", "host", "ssh", "gpg", "pgp", "minisign", "signify", "translation", "i18n", "locale", "config", "issue", "jira", "ticket", "project", "hot", "short", "component",
			"resource", "event", "metric", "lock", "kafka", "record", "unique", "composite", "natural", "surrogate", "verifying", "verification", "verify", "known", "authorized", "file", "column", "field":
			return k != kindKey
		}
		return true
	})
}

// qualifies reports a word that makes "key" name a secret.
func qualifies(s string) bool {
	return !parts(s, func(w string) bool {
		switch w {
		case "api", "access", "secret", "private", "signing", "encryption", "admin", "account", "auth", "master", "service", "app", "application", "license", "licence", "shared",
			"storage", "client", "consumer", "subscription", "webhook", "aes", "hmac", "jwt", "crypto", "write", "session", "security", "bot", "root", "deploy", "integration":
			return false
		}
		return true
	})
}

// between reports a word between keyword and value that says the value is about the
// secret, not the secret.
func between(s string) bool {
	return !parts(s, func(w string) bool {
		switch w {
		case "id", "ids", "name", "names", "hash", "hashes", "hashed", "digest", "checksum", "fingerprint", "format", "header", "type", "lifetime", "length", "limit", "count", "url", "uri",
			"endpoint", "path", "file", "ref", "arn", "algorithm", "rotation", "policy", "prefix", "version", "sha", "sha1", "sha256", "md5", "commit", "hint", "ttl", "expiry", "expires",
			"alias", "recipient", "signature", "thumbprint", "public", "request", "trace", "uuid", "regex", "pattern", "branch", "image", "model", "class", "function", "error", "code":
			return false
		}
		return true
	})
}

// assignment looks for the value that an identifier with a keyword names. The scan goes
// on behind the value, or behind the identifier when other text stands between.
func (s *scanner) assignment(k *keyword, i int) (int, bool) {
	n, ok := s.nameAt(k, i)
	if !ok || vetoed(k.kind, n.left) || vetoed(k.kind, n.before) {
		return 0, false
	}
	op := s.operator(n)
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
		return 0, false
	}
	start, end, quoted := s.valueAt(k.kind, op.value)
	if start == end || strings.Contains(s.text[max(0, n.start-maxBefore):n.start], "encryptedData") {
		return 0, false // a Bitnami SealedSecret is encrypted for its cluster
	}
	if e := s.formatAt(start); e > start {
		end = e
	} else if rule := judge(k.kind, n, op.how, s.text[start:end], quoted); rule != "" {
		s.record(rule, start, end)
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

// judge decides on the value v of the name n and returns the rule, or "".
func judge(k kind, n name, how relation, v string, quoted bool) string {
	loose := how != assigned
	switch k {
	case kindPassword, kindPass:
		if how == adjacent && !strings.Contains(n.before, "login") && !random(v) {
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
	if isUUID(v) && n.left == "" && !qualifies(n.before) || !keyValue(v, loose) {
		return ""
	}
	if how == adjacent && (shapeOf(v).hex || !random(v)) {
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

type relation uint8

const (
	assigned relation = iota // = : => or a call argument
	spoken                   // "is", or words in between
	adjacent                 // only a space in between
)

// An operator leads from a name to its value; value is -1 when there is none.
type operator struct {
	value int
	how   relation
}

// operator reads what directly follows an identifier.
func (s *scanner) operator(n name) operator {
	text, p := s.text, n.end
	quoted := false
	for k := 0; p < len(text) && k < 3 && strings.IndexByte("\"'`*])", text[p]) >= 0; k++ {
		quoted = true
		p++
	}
	gap := p
	for p < len(text) && p-gap < 40 && (text[p] == ' ' || text[p] == '\t') {
		p++
	}
	rest := text[p:]
	switch {
	case rest == "":
		return operator{-1, assigned}
	case rest[0] == '=' || rest[0] == ':' || strings.HasPrefix(rest, "->"):
		for p < len(text) && strings.IndexByte("=:>-~", text[p]) >= 0 && p-gap < 44 {
			if text[p] == '-' && text[p-1] != '-' && !strings.HasPrefix(text[p:], "->") {
				break
			}
			p++
		}
		return operator{p, assigned}
	case rest[0] == '|', rest[0] == '>' && n.start > 0 && text[n.start-1] == '<':
		return operator{p + 1, assigned}
	case (rest[0] == ',' || rest[0] == '(') && len(rest) > 2 && (quoted || rest[0] == '('):
		q := p + 1
		for q < len(text) && text[q] == ' ' {
			q++
		}
		if q < len(text) && strings.IndexByte("\"'`", text[q]) >= 0 {
			return operator{q, assigned}
		}
		if rest[0] == '(' && p > gap {
			return operator{q, adjacent}
		}
	}
	if w := verb(rest); w > 0 {
		return operator{p + w, spoken}
	}
	if p > gap || class[text[p]] == isWide {
		start := p
		if opensQuote(rest) > 0 || class[text[start]]&isAlnum != 0 && plausible(rest) {
			return operator{start, adjacent}
		}
	}
	return operator{-1, assigned}
}

// plausible reports whether the word at the front holds a digit or a symbol, so that
// it may be a value and not the next word of a sentence.
func plausible(rest string) bool {
	for i := 0; i < len(rest) && rest[i] > ' ' && rest[i] < 0x80; i++ {
		if class[rest[i]] == isDigit {
			return true
		}
	}
	return false
}

// verb returns the length of a word that says "is" at the front of rest, with the
// space behind it, or 0.
func verb(rest string) int {
	if rest == "" || strings.IndexByte("iwae\xE3\xE4\xE6\xE7\xEF", rest[0]) < 0 {
		return 0 // the first bytes of the words below
	}
	for _, w := range [...]string{"is ", "was ", "is: ", "are ", "als ", "ist ", "es ", "是", "为", "為", "：", "＝", "は"} {
		if strings.HasPrefix(rest, w) {
			return len(w)
		}
	}
	return 0
}

// distant looks for "is", ":" or "=" up to 64 bytes behind the identifier, with only
// words in between: "the password for the data lake is x".
func (s *scanner) distant(p int) operator {
	text := s.text
	limit := min(len(text), p+64)
	for j := p; j < limit; j++ {
		c := text[j]
		switch {
		case c == ':' || c == '=':
			if j+1 < len(text) && (text[j+1] == ' ' || c == '=') && !between(text[p:j]) {
				return operator{j + 1, spoken}
			}
			return operator{-1, spoken}
		case c >= 0x80 && c < 0xC0 || c == '(' || c == ')' || c == '\'' || c == '/' || class[c]&(isAlnum|isJoin) != 0:
		case c == ' ' || c >= 0xC0:
			at := j
			if c == ' ' {
				at++
			}
			if w := verb(text[at:]); w > 0 {
				if between(text[p:j]) {
					return operator{-1, spoken}
				}
				return operator{at + w, spoken}
			}
		default:
			return operator{-1, spoken}
		}
	}
	return operator{-1, spoken}
}

// opensQuote returns the length of an opening quotation mark at the front, or 0.
func opensQuote(rest string) int {
	if rest == "" {
		return 0
	}
	switch rest[0] {
	case '"', '\'', '`':
		return 1
	}
	for _, q := range [...]string{"“", "‘", "「", "『", "《", "【"} {
		if strings.HasPrefix(rest, q) {
			return len(q)
		}
	}
	return 0
}

// maxValue is the longest value that a keyword can name; longer ones have a format
// or a structure.
const maxValue = 512

// valueAt returns the value at p, behind quotation marks, emphasis, a block scalar
// sign or an authentication scheme.
func (s *scanner) valueAt(k kind, p int) (start, end int, quoted bool) {
	text := s.text
	p = skipSpace(text, p)
	if p+1 < len(text) && (text[p] == '|' || text[p] == '>') && (text[p+1] == '\n' || text[p+1] == '-') {
		if nl := strings.IndexByte(text[p:min(len(text), p+4)], '\n'); nl >= 0 {
			p = skipSpace(text, p+nl+1)
		}
	}
	if p+1 < len(text) && strings.IndexByte("brfu", text[p]) >= 0 && (text[p+1] == '"' || text[p+1] == '\'') {
		p++
	}
	for n := 0; n < 3 && p < len(text) && (text[p] == '*' || text[p] == '('); n++ {
		p++
	}
	quote := opensQuote(text[p:])
	mark := byte(0)
	if quote == 1 {
		mark = text[p]
	}
	p += quote
	for _, w := range [...]string{"bearer ", "token ", "bot ", "apikey "} {
		if len(text)-p > len(w) && equalFold(text[p:p+len(w)], w) {
			p = skipSpace(text, p+len(w))
			break
		}
	}
	start = p
	for p < len(text) && p-start <= maxValue && !stops(k, text, p, mark) {
		p++
	}
	for p > start && mark == 0 && strings.IndexByte(".,:!?)*", text[p-1]) >= 0 && (k != kindPassword || text[p-1] != '!' && text[p-1] != '?' && text[p-1] != '*') {
		p--
	}
	return start, p, quote > 0
}

func skipSpace(text string, p int) int {
	for p < len(text) && (text[p] == ' ' || text[p] == '\t') {
		p++
	}
	return p
}

// stops reports whether a value ends before text[p].
func stops(k kind, text string, p int, mark byte) bool {
	c := text[p]
	if c <= ' ' || c >= 0x7f || c == '`' {
		return true
	}
	if mark != 0 {
		return c == mark
	}
	if c == '"' || c == '\'' || c == '<' || c == ';' || c == '|' {
		return true
	}
	if c == '\\' && p+1 < len(text) && strings.IndexByte("nrt\"'", text[p+1]) >= 0 {
		return true
	}
	switch k {
	case kindPassword, kindPass:
		return c == ',' && (p+1 == len(text) || text[p+1] == ' ') || c == '&' && strings.IndexByte(text[p:min(len(text), p+24)], '=') > 0
	}
	return strings.IndexByte(",()[]{}>&\\", c) >= 0
}
