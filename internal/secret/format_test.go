package secret

import (
	"os"
	"strings"
	"testing"
)

// rules returns the rules of the findings.
func rules(found []Finding) []string {
	var out []string
	for _, f := range found {
		out = append(out, f.Rule)
	}
	return out
}

func has(found []Finding, rule string, start, end int) bool {
	for _, f := range found {
		if (rule == "" || f.Rule == rule) && f.Offset <= start && f.Offset+f.Length >= end {
			return true
		}
	}
	return false
}

// TestFormats builds tokens of every format, shortest and longest, and expects the
// format's own rule in running text of several kinds.
func TestFormats(t *testing.T) {
	contexts := []struct{ before, after string }{
		{"", ""}, {"use ", " for the deploy."}, {"换成", "后恢复正常。"}, {"(", "),"}, {"`", "`"}, {"*", "*"}, {"<", ">."}, {`{"v": "`, `"}`}, {"https://x.example/?a=1&k=", "&b=2"},
	}
	for i := range formats {
		f := &formats[i]
		r := source(uint64(i))
		for _, longest := range []bool{false, true} {
			token := f.token(r, longest)
			for _, c := range contexts {
				if c.before != "" && class[f.lead()]&isAlnum == 0 && strings.HasPrefix(c.before, "https") {
					continue // "." in front would be part of the host
				}
				text := c.before + token + c.after
				if found := Scan(text); !has(found, f.rule, len(c.before), len(c.before)+len(token)) {
					t.Errorf("%s in %q...%q: got %v", f.rule, c.before, c.after, rules(found))
				}
			}
		}
	}
}

// lead is the first byte of a token of f.
func (f *format) lead() byte {
	if lit := f.segs[0].lit; lit != "" {
		return lit[0]
	}
	return f.segs[0].members()[0]
}

// TestFormatNearMiss checks that one byte less, one byte more, a foreign byte in the
// body, a letter in front and more of its alphabet behind take a token out of its
// format.
func TestFormatNearMiss(t *testing.T) {
	for i := range formats {
		f := &formats[i]
		r := source(uint64(1000 + i))
		short, long := f.token(r, false), f.token(r, true)
		cases := map[string]string{"short": short[:len(short)-1], "foreign": foreign(f, short)}
		if class[f.lead()]&isAlnum != 0 {
			cases["glued"] = "x" + short
		}
		last := f.segs[len(f.segs)-1]
		if last.lit == "" && setOf['-']>>last.set&1 != 0 {
			cases["tail"] = long + "-a"
		}
		if last.lit == "" && class[last.members()[0]]&isAlnum != 0 {
			cases["long"] = long + last.members()[:1]
		}
		for name, text := range cases {
			if text == "" {
				continue
			}
			for _, got := range Scan("use " + text + " now") {
				if got.Rule == f.rule {
					t.Errorf("%s: %s form is still found", f.rule, name)
				}
			}
		}
	}
}

// foreign replaces a byte in the middle of the longest segment by one outside its set.
func foreign(f *format, token string) string {
	at, pos := -1, 0
	best := 0
	for _, sg := range f.segs {
		n := len(sg.lit)
		if sg.lit == "" {
			n = int(sg.min)
			if n > best {
				best, at = n, pos+n/2
			}
		}
		pos += n
	}
	if at < 0 {
		return ""
	}
	return token[:at] + "," + token[at+1:]
}

// TestChecksumDecides checks both directions: a valid checksum overrides the
// placeholder rules, and without one they hold.
func TestChecksumDecides(t *testing.T) {
	body := strings.Repeat("example", 5)[:30]
	forged := "gh" + "p_" + body + "000000"
	if found := Scan("token " + forged); len(found) != 0 {
		t.Errorf("placeholder with a wrong checksum: got %v", rules(found))
	}
	signed := checkCRCBase62.sign(forged)
	if found := Scan("token " + signed); !has(found, "secret.github-pat", 6, 6+len(signed)) {
		t.Errorf("placeholder with a valid checksum: got %v", rules(found))
	}
	r := source(5)
	wrong := "gh" + "p_" + draw(r, alphanum, 36)
	if found := Scan(wrong); !has(found, "secret.github-pat", 0, len(wrong)) {
		t.Errorf("random token with a wrong checksum: got %v", rules(found))
	}
}

// TestChecksums pins the algorithms with values computed by hand.
func TestChecksums(t *testing.T) {
	tests := []struct {
		check check
		token string
		want  result
	}{
		{checkNone, "x", unknown},
		{checkCRCBase62, "short_token", unknown},
		{checkBech32, "A12UEL5L", passed}, // BIP-173, valid test vectors
		{checkBech32, "an83characterlonghumanreadablepartthatcontainsthenumber1andtheexcludedcharactersbio1tt5tgs", passed},
		{checkBech32, "abcdef1qpzry9x8gf2tvdw0s3jn54khce6mua7lmqqqxw", passed},
		{checkBech32, "A12UEL5Q", failed},
		{checkBech32, "pzry9x0s0muk", failed}, // no separator
		{checkBech32, "x1b4n0q5v", failed},    // invalid character
	}
	for _, tt := range tests {
		if got := tt.check.verify(tt.token); got != tt.want {
			t.Errorf("check %d of %q: got %d, want %d", tt.check, tt.token, got, tt.want)
		}
	}
	for _, c := range []check{checkCRCBase62, checkCRCHex, checkCRCHexLE} {
		token := c.sign("pre_" + draw(source(3), alphanum, 27) + "_" + strings.Repeat("0", 8))
		if c == checkCRCBase62 {
			token = c.sign("pre_" + draw(source(3), alphanum, 36))
		}
		if got := c.verify(token); got != passed {
			t.Errorf("check %d of a signed token: got %d", c, got)
		}
		if got := c.verify(token[:len(token)-1] + "!"); got != failed {
			t.Errorf("check %d of a damaged token: got %d", c, got)
		}
	}
}

// TestTableIsCurrent fails when formats.tsv or keywords.tsv changed without go generate.
func TestTableIsCurrent(t *testing.T) {
	data, err := os.ReadFile("formats.tsv")
	if err != nil {
		t.Fatal(err)
	}
	rows := strings.Split(strings.TrimSpace(string(data)), "\n")[1:]
	if len(rows) != len(formats) {
		t.Fatalf("formats.tsv has %d rows, table.go %d", len(rows), len(formats))
	}
	for i, row := range rows {
		cells := strings.Split(row, "\t")
		if got, want := formats[i].rule, "secret."+cells[0]; got != want {
			t.Errorf("row %d: got %s, want %s", i, got, want)
		}
		if cells[6] == "" {
			t.Errorf("%s names no source", cells[0])
		}
	}
	data, err = os.ReadFile("keywords.tsv")
	if err != nil {
		t.Fatal(err)
	}
	words := strings.Split(strings.TrimSpace(string(data)), "\n")[1:]
	if len(words) != len(keywords) {
		t.Fatalf("keywords.tsv has %d rows, table.go %d", len(words), len(keywords))
	}
	for i, row := range words {
		if got, want := keywords[i].word, strings.Split(row, "\t")[0]; got != want {
			t.Errorf("keyword %d: got %s, want %s", i, got, want)
		}
	}
}
