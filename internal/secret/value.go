package secret

import (
	"strings"

	"github.com/memoryroom/scribe/internal/fold"
)

// Words that mark a value as made up. Four letters and more may stand anywhere: in a
// random token of 40 letters and digits a given word of four has a chance of
// about 4 in 100,000 whatever its case. Shorter ones must stand alone.
var (
	fakeWords = [...]string{
		"example", "sample", "placeholder", "redacted", "changeme", "change_me", "change-me", "changeit", "dummy", "notreal", "not-real", "not_real", "invalid",
		"your_", "your-", "yourkey", "yourtoken", "yourapi", "yoursecret", "yourpass", "insert", "replace", "removed", "masked", "hidden", "foobar", "xxxx",
		"loremipsum", "do_not_use", "do-not-use", "secret_key", "api_key", "apikey", "access_token", "my_token", "mytoken", "mypassword", "my_secret", "mysecret", "s3cr3t", "s3cret", "passw0rd", "p@ssw", "pa55w", "letmein", "opensesame", "hunter2",
		"goes_here", "goes-here", "goeshere", "unknown", "undefined", "testtest", "test_token", "test-token",
	}
	loneWords = [...]string{"foo", "bar", "baz", "todo", "none", "null", "nil", "true", "false", "fake", "demo", "mock", "abc", "xyz", "here"}
	// These also stand in the prefixes of real tokens (key_, secret-live-, sk_test_).
	kindWords = [...]string{"test", "token", "secret", "password", "passwd", "key"}
)

// minDrawn is the shortest run of random-looking letters and digits that outweighs a
// word of kindWords in front of it.
const minDrawn = 20

// placeholder reports features of a value that somebody made up or blanked.
func placeholder(v string) bool {
	return repetitive(v) || containsWord(v)
}

// repetitive reports long runs ("aaaaaa"), sequences ("1234567"), very few distinct
// bytes, or a period of at most 8 bytes.
func repetitive(v string) bool {
	run, up, down := 1, 1, 1
	var seen [4]uint64
	distinct := 0
	for i := 0; i < len(v); i++ {
		c := v[i]
		if seen[c>>6]>>(c&63)&1 == 0 {
			seen[c>>6] |= 1 << (c & 63)
			distinct++
		}
		if i == 0 {
			continue
		}
		d := int(lower(c)) - int(lower(v[i-1]))
		run, up, down = grow(run, c == v[i-1]), grow(up, d == 1), grow(down, d == -1)
		if run >= 10 || run >= 6 && c != 'A' || up >= 7 || down >= 7 {
			return true // "A" is zero bits in base64, and Azure's keys have a run of it
		}
	}
	return len(v) >= 12 && (distinct <= 4 || periodic(v) || counting(v))
}

// counting reports hexadecimal bytes in an arithmetic sequence ("0001020304050607").
func counting(v string) bool {
	n, last, step := 0, 0, 0
	for i := 0; i+1 < len(v); i += 2 {
		if !hexDigit(v[i]) || !hexDigit(v[i+1]) {
			return false
		}
		b := int(nibble(v[i])<<4 | nibble(v[i+1]))
		if i > 2 && b-last != step {
			return false
		}
		step, last = b-last, b
		n++
	}
	return n >= 6
}

func grow(n int, more bool) int {
	if more {
		return n + 1
	}
	return 1
}

// periodic reports whether v is at least three repetitions of a block of 2 to 8 bytes.
func periodic(v string) bool {
	for p := 2; p <= 8 && p*3 <= len(v); p++ {
		if v[p:] == v[:len(v)-p] {
			return true
		}
	}
	return false
}

func containsWord(v string) bool {
	for _, w := range fakeWords {
		if indexFold(v, w) >= 0 {
			return true
		}
	}
	for start := 0; start < len(v); {
		end := start
		for end < len(v) && class[v[end]]&isLetter != 0 {
			end++
		}
		if end > start && !inside(v, start, end) {
			w := v[start:end]
			if isOneOf(w, loneWords[:]) || isOneOf(w, kindWords[:]) && shapeOf(v).best < minDrawn {
				return true
			}
		}
		start = max(end, start+1)
	}
	return false
}

// isOneOf reports a word of the list, in letters of either case.
func isOneOf(w string, list []string) bool {
	for _, l := range list {
		if equalFold(w, l) {
			return true
		}
	}
	return false
}

// inside reports whether a letter run touches a digit, as a word inside a token would.
func inside(v string, start, end int) bool {
	return start > 0 && class[v[start-1]] == isDigit || end < len(v) && class[v[end]] == isDigit
}

// indexFold is strings.Index with ASCII letters of either case; w is lower case.
func indexFold(v, w string) int {
	for i := 0; i+len(w) <= len(v); i++ {
		if lower(v[i]) == w[0] && equalFold(v[i:i+len(w)], w) {
			return i
		}
	}
	return -1
}

// equalFold compares ASCII case-insensitively; w is lower case.
func equalFold(v, w string) bool {
	if len(v) != len(w) {
		return false
	}
	for i := 0; i < len(w); i++ {
		if lower(v[i]) != w[i] {
			return false
		}
	}
	return true
}

// oneCase reports a body of at least 16 bytes made of letters of one case only, as
// identifiers and kebab-case phrases are.
func oneCase(v string) bool {
	var kinds uint8
	for i := 0; i < len(v); i++ {
		kinds |= class[v[i]] & isAlnum
	}
	return len(v) >= 16 && (kinds == isLower || kinds == isUpper)
}

// A shape counts what tells a random value from words.
type shape struct {
	lower, upper, digit, symbol int
	hex                         bool // only 0-9a-f or only 0-9A-F
	changes                     int  // neighbours of different class, letters and digits only, a capital and its small letter excepted
	best                        int  // length of the longest run of letters and digits that has no plain word look
}

func shapeOf(v string) shape {
	s := shape{hex: true}
	start, changes := 0, 0
	var kinds uint8
	closeRun := func(end int) {
		// 45 of 100 neighbours differ in base 62, 40 in base 36, 47 in hexadecimal; in
		// names like Ed25519PrivateKey one in six does, and fewer without capitals.
		enough := 5
		if kinds == isLower|isDigit || kinds == isUpper|isDigit {
			enough = 7
		}
		if n := end - start; n > s.best && changes >= 3 && changes*enough > n {
			s.best = n
		}
	}
	for i := 0; i < len(v); i++ {
		c := v[i]
		k := class[c] & isAlnum
		switch k {
		case isLower:
			s.lower++
		case isUpper:
			s.upper++
		case isDigit:
			s.digit++
		default:
			s.symbol++
		}
		s.hex = s.hex && (k == isDigit || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F')
		if k == 0 {
			closeRun(i)
			start, changes, kinds = i+1, 0, 0
			continue
		}
		kinds |= k
		if i > start && class[v[i-1]]&isAlnum != k && (k != isLower || class[v[i-1]] != isUpper) {
			changes++
			s.changes++
		}
	}
	closeRun(len(v))
	s.hex = s.hex && (s.lower == 0 || s.upper == 0)
	return s
}

func (s shape) kinds() int {
	n := 0
	for _, c := range [...]int{s.lower, s.upper, s.digit, s.symbol} {
		if c > 0 {
			n++
		}
	}
	return n
}

// camel reports letters of both cases, three of five in runs of four small letters or
// more, with the capital in front: the words of an identifier. In base 62 one
// letter in ten is.
func camel(v string) bool { return spelled(v)*5 >= len(v)*3 }

// spelled counts the letters of such runs, 0 without any capital.
func spelled(v string) int {
	words, upper := 0, false
	for i := 0; i < len(v); {
		start := i
		for i < len(v) && class[v[i]] == isLower {
			i++
		}
		if n := i - start; n >= 4 {
			words += n
			if start > 0 && class[v[start-1]] == isUpper {
				words++
			}
		}
		if i < len(v) {
			upper = upper || class[v[i]] == isUpper
			i++
		}
	}
	if !upper {
		return 0
	}
	return words
}

// random reports whether a token body looks drawn at random from letters and digits.
func random(v string) bool {
	if camel(v) {
		return false
	}
	s := shapeOf(v)
	letters := s.lower + s.upper
	if letters == 0 || s.hex && s.digit == 0 {
		return false
	}
	return s.digit+min(s.lower, s.upper) >= 3 && s.best >= min(10, len(v)*2/3)
}

// isUUID reports the 8-4-4-4-12 form.
func isUUID(v string) bool {
	if len(v) != 36 {
		return false
	}
	for i := 0; i < len(v); i++ {
		if i == 8 || i == 13 || i == 18 || i == 23 {
			if v[i] != '-' {
				return false
			}
		} else if !hexDigit(v[i]) {
			return false
		}
	}
	return true
}

func hexDigit(c byte) bool {
	return c >= '0' && c <= '9' || c >= 'a' && c <= 'f' || c >= 'A' && c <= 'F'
}

// keyValue decides on the value of a "secret" or "key" keyword. loose says that words
// stand between keyword and value, so more is asked.
func keyValue(v string, loose bool) bool {
	if len(v) < 16 || len(v) > maxValue || reference(v) {
		return false
	}
	for i := 0; i < len(v); i++ {
		if class[v[i]]&isAlnum == 0 && strings.IndexByte("+/=_.~-:!", v[i]) < 0 {
			return false
		}
	}
	if encodedWords(v) {
		return false
	}
	s := shapeOf(v)
	switch {
	case s.hex:
		return len(v) >= 32 && s.digit > 2 && s.lower+s.upper > 2 && !placeholder(v)
	case isUUID(v):
		return !loose && !placeholder(v)
	case s.digit == 0 && (s.upper < 3 || s.lower < 3):
		return false
	}
	return s.best >= 8 && random(v) && !placeholder(v)
}

// encodedWords reports base64 of a phrase, which is not drawn at random. What the
// phrase holds is looked at where the run is decoded.
func encodedWords(v string) bool {
	var buf [maxBasic]byte
	n := fold.Base64(buf[:], v)
	if n < 8 || n < len(strings.TrimRight(v, "="))*3/4-1 {
		return false
	}
	spaces := 0
	for _, c := range buf[:n] {
		if c < ' ' || c > '~' {
			return false
		}
		if c == ' ' {
			spaces++
		}
	}
	return spaces >= 2
}

// passwordValue decides on the value of a "password" keyword.
func passwordValue(v string, loose bool) bool {
	n := 8
	if loose {
		n = 10
	}
	if len(v) < n || len(v) > 256 || placeholder(v) || reference(v) || call(v) {
		return false
	}
	s := shapeOf(v)
	if s.hex {
		return len(v) >= 16 && s.digit > 2 && s.lower+s.upper > 2
	}
	if isUUID(v) {
		return !loose
	}
	if wordy(v) {
		return false
	}
	if s.digit == 0 && s.upper >= 3 && s.lower >= 3 && s.best >= 10 {
		return true
	}
	if s.kinds() >= 3 {
		return s.digit > 0 && s.lower+s.upper > 0 || s.lower > 0 && s.upper > 0 && s.changes >= 4
	}
	return s.digit > 1 && s.lower+s.upper > 1 && len(v) >= 12 && s.changes >= 3
}

// strongPassword decides on a value that nothing but its place says is a password: a
// letter, a digit and a sign that names and numbers are not written with.
func strongPassword(v string) bool {
	if !passwordValue(v, false) || call(v) || strings.ContainsAny(v, "=,<>{}") {
		return false
	}
	s := shapeOf(v)
	if strings.ContainsAny(v, "!@#$%^&*?+~") {
		return s.digit > 0 && s.lower+s.upper >= 3
	}
	return random(v)
}

// wordy reports a value whose parts between - _ . / all look like words or short
// numbers ("Base64-encoded", "argon2id", "app/db.password").
func wordy(v string) bool {
	for i := 0; i < len(v); {
		end := i
		for end < len(v) && class[v[end]]&isAlnum != 0 {
			end++
		}
		if end < len(v) && strings.IndexByte("-_./,:=+", v[end]) < 0 {
			return false
		}
		if !plainWord(v[i:end]) && !camel(v[i:end]) {
			return false
		}
		i = end + 1
	}
	return true
}

// plainWord reports letters of one case or with a capital first, then at most four
// digits, then letters ("argon2id").
func plainWord(w string) bool {
	i := 0
	for i < len(w) && class[w[i]] == isUpper {
		i++
	}
	if i > 1 && i < len(w) && class[w[i]] == isLower {
		return false
	}
	for i < len(w) && class[w[i]] == isLower {
		i++
	}
	digits := i
	for i < len(w) && class[w[i]] == isDigit {
		i++
	}
	if i-digits > 4 {
		return false
	}
	rest := i
	for i < len(w) && class[w[i]] == isLower {
		i++
	}
	return i == len(w) && (i-rest <= 3)
}

// reference reports a value that says where the secret is instead of being it:
// variables, templates, paths, URLs, vault references, hashes with their method.
func reference(v string) bool {
	switch v[0] {
	case '<', '{', '[', '(', '@', '"', '\'', '\\':
		return true
	case '%':
		return len(v) > 1 && v[len(v)-1] == '%'
	case '$':
		return len(v) < 2 || v[1] == '{' || v[1] == '(' || v[1] == '$' || identifier(v[1:]) || crypted(v)
	case '/', '~', '.':
		return path(v)
	}
	for _, p := range [...]string{"sha1:", "sha1-", "sha256:", "sha256-", "sha384-", "sha512-", "sha512:", "md5:", "arn:", "alias/", "vault:", "enc[", "op://", "ssh-", "aaaab3nza", "aaaac3nza", "file:", "env:", "ref:", "projects/", "secrets/", "secret/", "kv/", "data:", "urn:", "h1:"} {
		if len(v) > len(p) && equalFold(v[:len(p)], p) {
			return true
		}
	}
	for _, w := range [...]string{"://", "...", "${", "{{", "***", "})", "){", "()", ":\"", "]{", "%{"} {
		if strings.Contains(v, w) {
			return true
		}
	}
	return v[len(v)-1] == '{' || v[len(v)-1] == '('
}

// identifier reports letters, digits and underscores with a letter first and, when
// longer than a word, an underscore: the name of a variable.
func identifier(v string) bool {
	digits := 0
	for i := 0; i < len(v); i++ {
		k := class[v[i]]
		if k&isAlnum == 0 && v[i] != '_' {
			return false
		}
		if k == isDigit {
			digits++
		}
	}
	return class[v[0]]&isLetter != 0 && digits <= 2
}

// crypted reports the modular crypt format ($2b$, $argon2id$, $6$).
func crypted(v string) bool {
	end := strings.IndexByte(v[1:], '$')
	return end > 0 && end <= 12
}

// path reports a file name: a slash or dot in front and another slash or dot behind
// at least two letters.
func path(v string) bool {
	i := strings.IndexAny(v, "abcdefghijklmnopqrstuvwxyz")
	if i < 0 {
		return false
	}
	j := i
	for j < len(v) && (class[v[j]] == isLower || v[j] == '_' || v[j] == '-') {
		j++
	}
	return j-i >= 2 && i <= 3 && (j == len(v) || v[j] == '/' || v[j] == '.')
}

// call reports an expression: a dotted name or one of at least five letters, then an
// opening bracket.
func call(v string) bool {
	i, dots := 0, 0
	for i < len(v) && (class[v[i]]&isAlnum != 0 || v[i] == '_' || v[i] == '.') {
		if v[i] == '.' {
			dots++
		}
		i++
	}
	return i < len(v) && (v[i] == '(' || v[i] == '[') && class[v[0]]&isLetter != 0 && (i >= 5 || dots > 0)
}
