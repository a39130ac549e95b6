package secret

import (
	"strings"

	"github.com/memoryroom/scribe/internal/fold"
)

const (
	maxHeader = 8192  // bytes after a private key's header that are looked at
	maxObject = 2048  // bytes around "kty" that are looked at
	minBody   = 30    // base64 bytes that make a key out of a header
	maxLabel  = 60    // bytes between BEGIN and the dashes behind it
	maxBasic  = 400   // base64 bytes of user:password
	maxUser   = 512   // bytes of a URL's user part
	maxJWT    = 16384 // bytes of a JSON Web Token
)

// pem finds a private key behind "BEGIN" at i: RFC 7468 and OpenPGP armour, also cut
// short, indented, quoted with "> ", or with line ends written as \n.
//
// Origin: RFC 7468 section 2, RFC 9580 section 6 (OpenPGP), RFC 1421 section 4.6 and RFC 4716
// section 3 (headers in front of the body).
func (s *scanner) pem(i int) (int, bool) {
	text := s.text
	if !armoured(text[:i]) {
		return 0, false
	}
	label := text[i:min(len(text), i+maxLabel)]
	dashes := strings.Index(label, "--")
	if dashes < 0 || !strings.Contains(label[:dashes], "PRIVATE KEY") {
		return 0, false
	}
	p := i + dashes + 2
	for p < len(text) && text[p] == '-' {
		p++
	}
	limit := min(len(text), p+maxHeader)
	total, last := 0, p
	for p < limit {
		p = skipArmour(text, p, limit)
		start := p
		for p < limit && isBase64(text[p]) {
			p++
		}
		run := p - start
		switch {
		case run == 0 && (strings.HasPrefix(text[p:], "-----END") || strings.HasPrefix(text[p:], "---- END")):
			last = p
			if nl := strings.Index(text[p+8:min(len(text), p+8+maxLabel)], "----"); nl >= 0 {
				last = p + 8 + nl + 4
			}
			for last < len(text) && text[last] == '-' {
				last++
			}
			p = limit
		case run > 0 && run < 6 && p < limit && digits(text[start:p]) && strings.IndexByte(":|.)", text[p]) >= 0:
			p++ // the number of a line
		case run < 16 && armourHeader(text[start:limit]):
			for p < limit && text[p] != '\n' && !strings.HasPrefix(text[p:], `\n`) {
				p++
			}
		case run == 0, run < 16 && total == 0:
			p = limit
		case periodic(text[start:p]) || strings.Count(text[start:p], text[start:start+1]) == run:
			return 0, false
		default:
			total, last = total+run, p
		}
	}
	if total < minBody {
		return 0, false
	}
	return s.record("secret.pem-private-key", i-2, last), true
}

// armoured reports dashes at the end: five, four and a space (RFC 4716), or fewer where
// an editor turned some into one.
func armoured(before string) bool {
	return strings.HasSuffix(before, "--") || strings.HasSuffix(before, "-- ")
}

// armourHeader reports a line with a name and a colon, as RFC 1421 and RFC 4716 have
// in front of the body.
func armourHeader(line string) bool {
	i := 0
	for i < len(line) && i < 40 && (class[line[i]]&isAlnum != 0 || line[i] == '-') {
		i++
	}
	return i > 2 && i < len(line) && line[i] == ':'
}

// pemEnd finds a private key whose first line is missing, in front of "END" at i.
//
// Origin: RFC 7468 section 2, the boundary behind the body.
func (s *scanner) pemEnd(i int) (int, bool) {
	text := s.text
	label := text[i:min(len(text), i+maxLabel)]
	dashes := strings.Index(label, "--")
	if !armoured(text[:i]) || dashes < 0 || !strings.Contains(label[:dashes], "PRIVATE KEY") {
		return 0, false
	}
	end := i
	for end > 0 && (text[end-1] == '-' || text[end-1] == ' ') {
		end--
	}
	p, total := end, 0
	for p > 0 && end-p < maxHeader && (isBase64(text[p-1]) || text[p-1] <= ' ' || strings.IndexByte(">\"'+,|\\", text[p-1]) >= 0) {
		if p--; isBase64(text[p]) {
			total++
		}
	}
	run := 0
	for run < total && p+run < end && isBase64(text[p+run]) {
		run++
	}
	if total < minBody || strings.Count(text[p:end], " ")*8 > total || repetitive(text[p:p+run]) {
		return 0, false
	}
	return s.record("secret.pem-private-key", p, i+dashes+2), true
}

// xmlKey finds the private exponent of an RSA key in XML (.NET, XML-DSig with <D>) behind
// "RSAKeyValue" at i.
//
// Origin: RSAKeyValue of the W3C's XML Signature; .NET's RSA.ToXmlString(true) adds <D>.
func (s *scanner) xmlKey(i int) (int, bool) {
	rest := s.text[i:min(len(s.text), i+maxHeader)]
	at := strings.Index(rest, "<D>")
	if at < 0 {
		return 0, false
	}
	start := i + at + 3
	end := start
	for end < len(s.text) && end-start < 1024 && (isBase64(s.text[end]) || s.text[end] <= ' ') {
		end++
	}
	if end-start < minBody || placeholder(s.text[start:end]) {
		return 0, false
	}
	return s.record("secret.xml-private-key", start, end), true
}

// dsn finds the password of a data source name of Go's MySQL driver
// ("user:password@tcp(host:port)/db") in front of the network at i.
//
// Origin: README of github.com/go-sql-driver/mysql, "DSN (Data Source Name)".
func (s *scanner) dsn(i int) (int, bool) {
	if i == 0 || s.text[i-1] != '@' {
		return 0, false
	}
	start := i - 1
	for start > 0 && i-start < maxUser && s.text[start-1] > ' ' && s.text[start-1] != ':' && strings.IndexByte("\"'`", s.text[start-1]) < 0 {
		start--
	}
	if start == 0 || s.text[start-1] != ':' || !urlPassword(s.text[start:i-1], "") {
		return 0, false
	}
	s.record("secret.url-password", start, i-1)
	return i + 3, true
}

// skipArmour skips what may stand between the lines of an armoured key.
func skipArmour(text string, p, limit int) int {
	for p < limit {
		c := text[p]
		switch {
		case c <= ' ' || strings.IndexByte(">\"'+,|\\", c) >= 0:
			p++
			if c == '\\' && p < limit && (text[p] == 'n' || text[p] == 'r') {
				p++
			}
		default:
			return p
		}
	}
	return p
}

func isBase64(c byte) bool { return class[c]&isAlnum != 0 || c == '+' || c == '/' || c == '=' }

// putty finds the private lines of a PuTTY key file (PuTTY manual, appendix C).
//
// Origin: PuTTY manual, appendix C, "PPK file format".
func (s *scanner) putty(i int) (int, bool) {
	text := s.text[i:min(len(s.text), i+maxHeader)]
	if !strings.HasPrefix(text, "PuTTY-User-Key-File-") {
		return 0, false
	}
	p := strings.Index(text, "Private-Lines:")
	if p < 0 {
		return 0, false
	}
	total := 0
	for p += len("Private-Lines:"); p < len(text); {
		nl := strings.IndexAny(text[p:], "\n\\")
		if nl < 0 {
			nl = len(text) - p
		}
		line := strings.Trim(text[p:p+nl], " \t\r>\"")
		if total > 0 && !strings.HasPrefix(line, "Private-MAC") && strings.IndexByte(line, ' ') >= 0 {
			break
		}
		if len(line) >= 16 {
			total += len(line)
		}
		p += nl
		if strings.HasPrefix(line, "Private-MAC") {
			break
		}
		if strings.HasPrefix(text[p:], `\n`) {
			p++
		}
		p++
	}
	if total < minBody {
		return 0, false
	}
	return s.record("secret.putty-private-key", i, i+min(p, len(text))), true
}

// jwt finds a JSON Web Token (RFC 7519) with a signature, or the five parts of an
// encrypted one. The header must name its algorithm.
//
// Origin: RFC 7519 section 3; the three parts are RFC 7515 section 7.1, the five RFC 7516
// section 7.1, the member "alg" RFC 7515 section 4.1.1.
func (s *scanner) jwt(i int) (int, bool) {
	text := s.text[i:min(len(s.text), i+maxJWT)]
	if i > 0 && urlSafe(s.text[i-1]) {
		return 0, false
	}
	p, dots, last := 0, 0, 0
	header := 0
	for p < len(text) {
		if text[p] == '.' && dots < 4 && p+1 < len(text) && (urlSafe(text[p+1]) || text[p+1] == '.' && dots == 0) {
			if dots == 0 {
				header = p
			}
			dots++
			last = p + 1
		} else if !urlSafe(text[p]) {
			break
		}
		p++
	}
	if dots < 2 || p-last < 16 {
		return 0, false
	}
	var buf [512]byte
	n := fold.Base64(buf[:], text[:header])
	head := buf[:n]
	if !contains(head, `"alg"`) && !contains(head, `"enc"`) || contains(head, `"none"`) || placeholder(text[last:p]) {
		return 0, false
	}
	return s.record("secret.jwt", i, i+p), true
}

func urlSafe(c byte) bool { return class[c]&isAlnum != 0 || c == '-' || c == '_' }

// contains is bytes.Contains without a conversion.
func contains(b []byte, w string) bool {
	for i := 0; i+len(w) <= len(b); i++ {
		if string(b[i:i+len(w)]) == w {
			return true
		}
	}
	return false
}

// jwk finds the private member of a JSON Web Key (RFC 7517), also in YAML: "d", or "k"
// of a symmetric one.
//
// Origin: RFC 7517 section 4; the private members are RFC 7518 sections 6.2.2, 6.3.2 and
// 6.4.1, and RFC 8037 section 2.
func (s *scanner) jwk(i int) (int, bool) {
	text := s.text
	from := max(0, i-maxObject)
	end := min(len(text), i+maxObject)
	quote := ""
	if i > 0 && (text[i-1] == '"' || text[i-1] == '\'') {
		quote = text[i-1 : i]
		open := strings.LastIndexByte(text[from:i], '{')
		if open < 0 {
			return 0, false
		}
		from += open
		if shut := strings.IndexByte(text[i:end], '}'); shut >= 0 {
			end = i + shut
		}
	} else if !strings.HasPrefix(text[i:], "kty:") {
		return 0, false
	}
	for _, name := range [...]string{"d", "k"} {
		if name == "k" && !strings.Contains(text[from:end], "oct") {
			continue
		}
		p := member(text, from, end, quote, name)
		q := p
		for q < end && urlSafe(text[q]) {
			q++
		}
		if p > 0 && q-p >= 20 && !placeholder(text[p:q]) {
			s.record("secret.jwk-private-key", p, q)
			return i + 3, true
		}
	}
	return 0, false
}

// member returns where the value of a member begins in text[from:end], 0 when it is not
// there. quote is the quotation mark of JSON, or none where a member is a line of YAML.
func member(text string, from, end int, quote, name string) int {
	for p := from; p < end; {
		at := strings.Index(text[p:end], quote+name+quote)
		if at < 0 {
			return 0
		}
		start := p + at
		p = start + len(quote)*2 + len(name)
		if quote == "" && start > 0 && text[start-1] > ' ' {
			continue
		}
		v := skipSpace(text, p)
		if v >= end || text[v] != ':' {
			continue
		}
		if v = skipSpace(text, v+1); v < end && (text[v] == '"' || text[v] == '\'') {
			v++
		}
		return min(v, end)
	}
	return 0
}

// userinfo finds a password in "scheme://user:password@host" at the colon i. A token in
// place of both ("https://x@host") counts when it looks random. The scan goes on
// behind the colon, because the user may be a token too.
//
// Origin: RFC 3986 section 3.2.1.
func (s *scanner) userinfo(i int) {
	text := s.text
	p := i + 3
	limit := min(len(text), p+maxUser)
	if s.anchored || i == 0 || class[text[i-1]]&isAlnum == 0 {
		return
	}
	colon, at := -1, -1
	for j := p; j < limit; j++ {
		c := text[j]
		if c == '@' {
			at = j
			// a later "@" before the end of the authority belongs to the password
			continue
		}
		if c == ':' && colon < 0 {
			colon = j
		}
		if c <= ' ' || c >= 0x80 || strings.IndexByte("/\"'`<>\\|", c) >= 0 || (c == '?' || c == '#' || c == '^') && (colon < 0 || digits(text[colon+1:j])) {
			break
		}
	}
	if at < 0 {
		return
	}
	start := p
	if colon >= 0 && colon < at {
		start = colon + 1
	}
	v := text[start:at]
	user := ""
	if start > p {
		user = text[p : start-1]
	}
	if start == p && (len(v) < 20 || !random(v)) || !urlPassword(v, user) {
		return
	}
	s.record("secret.url-password", start, at)
}

// digits reports a port: digits alone.
func digits(v string) bool { return strings.Trim(v, "0123456789") == "" }

// urlPassword decides on the password of a URL. Words that stand for a password, the
// user's own name and pure variables are placeholders.
func urlPassword(v, user string) bool {
	v = unescaped(v)
	if len(v) < 6 || reference(v) || placeholder(v) || equalFold(v, user) {
		return false
	}
	for _, w := range [...]string{"pass", "pwd", "secret", "token", "admin", "root", "guest", "user", "postgres", "mysql", "rabbit", "minio", "localhost", "apikey"} {
		if i := indexFold(v, w); i >= 0 && len(v)-len(w) <= 4 {
			return false
		}
	}
	for i := 0; i < len(v); i++ {
		if v[i] == '{' || v[i] == '}' || v[i] == '$' && (i == 0 || i+1 < len(v) && class[v[i+1]]&isLetter != 0 && identifier(v[i+1:])) {
			return false
		}
	}
	s := shapeOf(v)
	return s.kinds() >= 2 && (s.digit > 0 || s.changes >= 3) && !wordy(v) || random(v)
}

// unescaped replaces percent escapes.
func unescaped(v string) string {
	if strings.IndexByte(v, '%') < 0 {
		return v
	}
	b := make([]byte, 0, len(v))
	for i := 0; i < len(v); i++ {
		if v[i] == '%' && i+2 < len(v) {
			if hexDigit(v[i+1]) && hexDigit(v[i+2]) {
				b = append(b, nibble(v[i+1])<<4|nibble(v[i+2]))
				i += 2
				continue
			}
		}
		b = append(b, v[i])
	}
	return string(b)
}

// scheme finds the credentials of an Authorization header behind "Bearer" or "Basic".
//
// Origin: RFC 6750 section 2.1 (Bearer), RFC 7617 section 2 (Basic).
func (s *scanner) scheme(k kind, p int) (int, bool) {
	text := s.text
	start := skipSpace(text, p)
	if start == p || start >= len(text) {
		return 0, false
	}
	end := start
	for end < len(text) && (urlSafe(text[end]) || strings.IndexByte("+/=.~:", text[end]) >= 0) {
		end++
	}
	for end > start && (text[end-1] == '.' || text[end-1] == ':') {
		end--
	}
	v := text[start:end]
	if k == kindBasic {
		if !basic64(v) {
			return 0, false
		}
		return s.record("secret.basic-auth", start, end), true
	}
	if e := s.formatAt(start); e > start {
		return e, true
	}
	if !keyValue(v, true) {
		return 0, false
	}
	return s.record("secret.bearer", start, end), true
}

// basic64 reports base64 of "user:password" with a password that is no placeholder.
func basic64(v string) bool {
	if len(v) < 8 || len(v) > maxBasic {
		return false
	}
	var buf [maxBasic]byte
	n := fold.Base64(buf[:], v)
	if n < 6 || n < len(strings.TrimRight(v, "="))*3/4-1 {
		return false
	}
	colon := -1
	for i, c := range buf[:n] {
		if c < ' ' || c > '~' {
			return false
		}
		if c == ':' && colon < 0 {
			colon = i
		}
	}
	if colon < 1 || n-colon-1 < 4 {
		return false
	}
	return !placeholder(string(buf[colon+1 : n]))
}

// curl finds "-u user:password" on the line of a curl command. The scan goes on behind
// the command's name, because headers and the URL may hold more.
//
// Origin: manual of curl, -u, --user <user:password>.
func (s *scanner) curl(i int) (int, bool) {
	line := s.text[i:min(len(s.text), i+1024)]
	if nl := strings.IndexByte(line, '\n'); nl >= 0 {
		line = line[:nl]
	}
	for _, flag := range [...]string{" -u", " --user"} {
		at := strings.Index(line, flag)
		if at < 0 {
			continue
		}
		p := at + len(flag)
		for p < len(line) && strings.IndexByte(" ='\"", line[p]) >= 0 {
			p++
		}
		colon := strings.IndexByte(line[p:], ':')
		space := strings.IndexAny(line[p:], " '\"")
		if space < 0 {
			space = len(line) - p
		}
		if colon <= 0 || colon > space {
			continue
		}
		start, end := i+p+colon+1, i+p+space
		if v := s.text[start:end]; s.formatAt(start) == start && urlPassword(v, line[p:p+colon]) {
			s.record("secret.url-password", start, end)
		}
	}
	return 0, false
}

// discord finds a bot token around the dot at i: base64 of a numeric identifier, six
// bytes of time, and a signature of 27 to 38 bytes.
//
// Origin: Discord's developer documentation, "Snowflakes", for the first part; the lengths are
// those of github.com/trufflesecurity/trufflehog pkg/detectors.
func (s *scanner) discord(i int) int {
	text := s.text
	if i < 23 || i+8+27 > len(text) || text[i+7] != '.' {
		return i
	}
	start := i
	for start > 0 && i-start < 28 && urlSafe(text[start-1]) {
		start--
	}
	if n := i - start; n < 23 || n > 28 || strings.IndexByte("MNO", text[start]) < 0 {
		return i
	}
	end := i + 8
	for end < len(text) && urlSafe(text[end]) {
		end++
	}
	if n := end - i - 8; n < 27 || n > 38 {
		return i
	}
	for j := i + 1; j < i+7; j++ {
		if !urlSafe(text[j]) {
			return i
		}
	}
	if placeholder(text[start:end]) {
		return i
	}
	return s.record("secret.discord-bot-token", start, end)
}

// nearAWS looks for the 40-byte secret that is often written next to an AWS access
// key ID, which ends at end.
//
// Origin: AWS IAM User Guide, "Manage access keys for IAM users": the two are shown together,
// and the secret of its example has 40 bytes.
func (s *scanner) nearAWS(end int) {
	text := s.text
	for p, limit := end, min(len(text), end+160); p < limit; {
		if !isBase64(text[p]) || text[p] == '=' {
			p++
			continue
		}
		q := p
		for q < len(text) && isBase64(text[q]) && text[q] != '=' {
			q++
		}
		if q-p == 40 && class[text[p-1]] != isJoin && (q == len(text) || class[text[q]] != isJoin) {
			if v := text[p:q]; random(v) && shapeOf(v).upper > 3 && shapeOf(v).lower > 3 && !placeholder(v) {
				s.record("secret.aws-secret-near-id", p, q)
				return
			}
		}
		p = q
	}
}

// wallet finds a private key in Bitcoin's wallet import format: a run of 51 or 52 bytes
// in base58 whose checksum holds (mainnet "5", "K", "L"; test networks "9", "c").
//
// Origin: Bitcoin Core, EncodeSecret of src/key_io.cpp and the version bytes of
// src/kernel/chainparams.cpp.
func (s *scanner) wallet(start, end int) bool {
	if n := end - start; n != 51 && n != 52 || strings.IndexByte("5KL9c", s.text[start]) < 0 || !base58check(s.text[start:end]) {
		return false
	}
	s.record("secret.bitcoin-wif", start, end)
	return true
}
