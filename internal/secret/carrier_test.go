package secret

import (
	"encoding/hex"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// carriers are texts that a token may stand in, at the percent sign.
var carriers = []string{
	"%", "We rotated it to % yesterday.", "Old one was %, which is revoked now.", "(see %)", "<%>", "`%`", "**%**", "_%_", "\"%\"", "'%'", "“%”", "%.", "%!", "%?", "%:", "[%](https://x.example)", "> %", "- %", "1. % is the one",
	"换成%后恢复正常。", "运维给的是「%」，先用着", "新的（%）已生效", "ключ %, не терять", "トークンは%です。",
	"export ACME_KEY=%", "ACME_KEY='%'", "ENV ACME_KEY %", "  value: %\n", "  value: \"%\"\n", "{\"v\":\"%\"}", "{\\\"v\\\":\\\"%\\\"}", "v = '%';", "f(\"%\")", "acme --with % run", "curl -H \"X: %\" https://x.example", "| a | % |", "| % |\n", "```\n%\n```", "<td>%</td>", "<a title=\"%\">", "2026-11-30T10:00:00Z INFO got % from pool", "a=1&k=%&z=2", "x;%;y", "x,%,y", "cat <<EOF\n%\nEOF", "\t%\n", "---\nk: %\n---\n",
}

// TestCarriers measures every format in every carrier.
func TestCarriers(t *testing.T) {
	missed := map[string]int{}
	n := 0
	for i := range formats {
		f := &formats[i]
		for c, carrier := range carriers {
			token := f.token(source(uint64(i*1000+c)), c%3 == 2)
			at := strings.IndexByte(carrier, '%')
			if class[token[0]]&isAlnum == 0 && at > 0 && strings.IndexByte("_/=", carrier[at-1]) >= 0 {
				continue // a path or a URL in front of one that begins with a sign
			}
			n++
			if found := Scan(strings.Replace(carrier, "%", token, 1)); !has(found, "", at, at+len(token)) {
				missed[fmt.Sprintf("%q", carrier)]++
				missed[f.rule]++
			}
		}
	}
	report(t, "formats in carriers", missed, n, 0.998)
}

// report fails when less than want of n were found. It names what was missed most, and no
// value.
func report(t *testing.T, what string, missed map[string]int, n int, want float64) {
	t.Helper()
	total := 0
	for _, k := range missed {
		total += k
	}
	total /= 2 // each miss is counted under two names
	t.Logf("%s: %d of %d found, %.2f %%", what, n-total, n, 100*float64(n-total)/float64(n))
	if float64(n-total) >= want*float64(n) {
		return
	}
	t.Errorf("%s: less than %.1f %%", what, 100*want)
	names := slices.SortedFunc(maps.Keys(missed), func(a, b string) int { return missed[b] - missed[a] })
	for _, name := range names[:min(25, len(names))] {
		t.Logf("%5d %s", missed[name], name)
	}
}

// disguises rewrite a token so that it still reads or decodes as the same.
var disguises = map[string]func(r *rand.Rand, token string) string{
	"zero width":       func(r *rand.Rand, s string) string { return strewn(r, s, "\u200b", 1+r.IntN(4)) },
	"zero width, all":  func(_ *rand.Rand, s string) string { return strings.Join(strings.Split(s, ""), "\u200c") },
	"soft hyphen":      func(r *rand.Rand, s string) string { return strewn(r, s, "\u00ad", 1+r.IntN(4)) },
	"word joiner":      func(r *rand.Rand, s string) string { return strewn(r, s, "\u2060", 1+r.IntN(4)) },
	"bidi mark":        func(r *rand.Rand, s string) string { return strewn(r, s, "\u200e", 1+r.IntN(3)) },
	"variation":        func(r *rand.Rand, s string) string { return strewn(r, s, "\ufe0f", 1+r.IntN(3)) },
	"full width, all":  func(_ *rand.Rand, s string) string { return mapped(s, func(int) bool { return true }, fullWidth) },
	"full width, head": func(_ *rand.Rand, s string) string { return mapped(s, func(i int) bool { return i < 6 }, fullWidth) },
	"full width, some": func(r *rand.Rand, s string) string {
		return mapped(s, func(int) bool { return r.IntN(4) == 0 }, fullWidth)
	},
	"look-alike": func(r *rand.Rand, s string) string {
		return mapped(s, func(int) bool { return r.IntN(3) == 0 }, lookAlike(r))
	},
	"look-alike, all":   func(r *rand.Rand, s string) string { return mapped(s, func(int) bool { return true }, lookAlike(r)) },
	"mathematical":      func(_ *rand.Rand, s string) string { return mapped(s, func(i int) bool { return i < 8 }, mathematical) },
	"non-breaking dash": func(_ *rand.Rand, s string) string { return strings.ReplaceAll(s, "-", "\u2011") },
	"en dash":           func(_ *rand.Rand, s string) string { return strings.ReplaceAll(s, "-", "–") },
	"markdown escape":   func(_ *rand.Rand, s string) string { return escapeSigns(s, `\%c`) },
	"decimal entity":    func(_ *rand.Rand, s string) string { return escapeSigns(s, "&#%d;") },
	"hex entity":        func(_ *rand.Rand, s string) string { return escapeSigns(s, "&#x%X;") },
	"entities, all":     func(_ *rand.Rand, s string) string { return escapeAll(s, "&#%d;") },
	"percent":           func(_ *rand.Rand, s string) string { return escapeSigns(s, "%%%02X") },
	"percent, all":      func(_ *rand.Rand, s string) string { return escapeAll(s, "%%%02x") },
	"\\u":               func(_ *rand.Rand, s string) string { return escapeSigns(s, `\u%04x`) },
	"\\u, all":          func(_ *rand.Rand, s string) string { return escapeAll(s, `\u%04x`) },
	"\\x, all":          func(_ *rand.Rand, s string) string { return escapeAll(s, `\x%02x`) },
	"\\u{}, all":        func(_ *rand.Rand, s string) string { return escapeAll(s, `\u{%x}`) },
	"octal, all":        func(_ *rand.Rand, s string) string { return escapeAll(s, `\%03o`) },
	"quoted-printable":  func(_ *rand.Rand, s string) string { return escapeSigns(s, "=%02X") },
	"line end":          func(r *rand.Rand, s string) string { return cut(r, s, "\n") },
	"CRLF":              func(r *rand.Rand, s string) string { return cut(r, s, "\r\n") },
	"line end, indent":  func(r *rand.Rand, s string) string { return cut(r, s, "\n    ") },
	"line end, quoted":  func(r *rand.Rand, s string) string { return cut(r, s, "\n> ") },
	"backslash":         func(r *rand.Rand, s string) string { return cut(r, s, "\\\n") },
	"soft line end":     func(r *rand.Rand, s string) string { return cut(r, s, "=\n") },
	"<br>":              func(r *rand.Rand, s string) string { return cut(r, s, "<br>") },
	"<wbr>":             func(r *rand.Rand, s string) string { return cut(r, s, "<wbr>") },
	"HTML comment":      func(r *rand.Rand, s string) string { return cut(r, s, "<!-- -->") },
	"string join":       func(r *rand.Rand, s string) string { return `"` + cut(r, s, `" + "`) + `"` },
	"string join ..":    func(r *rand.Rand, s string) string { return `"` + cut(r, s, `" .. "`) + `"` },
	"string join &":     func(r *rand.Rand, s string) string { return `"` + cut(r, s, `" & "`) + `"` },
	"adjacent strings":  func(r *rand.Rand, s string) string { return `"` + cut(r, s, `" "`) + `"` },
	"list of strings":   func(r *rand.Rand, s string) string { return `"` + cut(r, s, `", "`) + `"` },
	"groups of 4":       func(_ *rand.Rand, s string) string { return inGroups(s, 4) },
	"groups of 8":       func(_ *rand.Rand, s string) string { return inGroups(s, 8) },
	"spaced":            func(_ *rand.Rand, s string) string { return inGroups(s, 1) },
	"base64":            func(_ *rand.Rand, s string) string { return b64(s) },
	"base64 of a line":  func(_ *rand.Rand, s string) string { return b64("the token is " + s + "\n") },
	"base64 twice":      func(_ *rand.Rand, s string) string { return b64(b64("k=" + s)) },
	"base64, wrapped":   func(_ *rand.Rand, s string) string { return lines(b64("the token is "+s+" and was made today"), 20) },
	"hexadecimal":       func(_ *rand.Rand, s string) string { return hex.EncodeToString([]byte(s)) },
	"hexadecimal, 0x":   func(_ *rand.Rand, s string) string { return "0x" + hex.EncodeToString([]byte(s)) },
	"hexadecimal, caps": func(_ *rand.Rand, s string) string { return strings.ToUpper(hex.EncodeToString([]byte(s))) },
}

func strewn(r *rand.Rand, s, mark string, n int) string {
	for range n {
		at := 1 + r.IntN(len(s)-1)
		for at < len(s) && !utf8.RuneStart(s[at]) {
			at++
		}
		s = s[:at] + mark + s[at:]
	}
	return s
}

func cut(r *rand.Rand, s, with string) string {
	at := len(s)/3 + r.IntN(len(s)/3)
	return s[:at] + with + s[at:]
}

func mapped(s string, where func(int) bool, to func(byte) rune) string {
	var b strings.Builder
	for i := range len(s) {
		if c := to(s[i]); c != 0 && where(i) {
			b.WriteRune(c)
		} else {
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

func fullWidth(c byte) rune { return rune(c) - '!' + '！' }

func mathematical(c byte) rune {
	switch class[c] {
	case isLower:
		return 0x1D41A + rune(c-'a')
	case isUpper:
		return 0x1D400 + rune(c-'A')
	case isDigit:
		return 0x1D7CE + rune(c-'0')
	}
	return 0
}

// likeness lists the Cyrillic and Greek letters that look like each ASCII letter.
var likeness = func() map[byte][]rune {
	out := map[byte][]rune{}
	for r := rune(0x370); r < 0x530; r++ {
		if c := replacement(r); c != 0 && class[c]&isAlnum != 0 {
			out[c] = append(out[c], r)
		}
	}
	return out
}()

func lookAlike(r *rand.Rand) func(byte) rune {
	return func(c byte) rune {
		if l := likeness[c]; len(l) > 0 {
			return l[r.IntN(len(l))]
		}
		return 0
	}
}

func escapeSigns(s, format string) string {
	var b strings.Builder
	for i := range len(s) {
		if class[s[i]]&isAlnum != 0 {
			b.WriteByte(s[i])
		} else {
			fmt.Fprintf(&b, format, s[i])
		}
	}
	return b.String()
}

func escapeAll(s, format string) string {
	var b strings.Builder
	for i := range len(s) {
		fmt.Fprintf(&b, format, s[i])
	}
	return b.String()
}

func inGroups(s string, n int) string {
	var out []string
	for ; len(s) > n; s = s[n:] {
		out = append(out, s[:n])
	}
	return strings.Join(append(out, s), " ")
}

// TestDisguises measures tokens of every format in every disguise.
func TestDisguises(t *testing.T) {
	missed := map[string]int{}
	n := 0
	for d, name := range slices.Sorted(maps.Keys(disguises)) {
		for i := range formats {
			f := &formats[i]
			r := source(uint64(d*1000 + i))
			token := f.token(r, false)
			if len(token) > 600 {
				continue
			}
			n++
			if found := Scan("use " + disguises[name](r, token) + ", please\n"); len(found) == 0 {
				missed[name]++
				missed[f.rule]++
			}
		}
	}
	report(t, "disguised formats", missed, n, 0.95)
}
