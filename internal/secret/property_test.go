package secret

import (
	"encoding/base64"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// anyToken draws a token of a random format, with its checksum.
func anyToken(t *rapid.T) (token, rule string) {
	i := rapid.IntRange(0, len(formats)-1).Draw(t, "format")
	seed := rapid.Uint64().Draw(t, "seed")
	return formats[i].token(source(seed), rapid.Bool().Draw(t, "longest")), formats[i].rule
}

// surrounding draws text whose last byte is no letter, digit or token separator.
func surrounding(t *rapid.T, label string) string {
	words := []string{"deploy notes", "用户偏好", "the build", "см. ниже", "don't", "50%", "x", ""}
	ends := []string{" ", "\n", "：", "「", "\"", "(", "，", "\t", "`", ">"}
	return rapid.SampledFrom(words).Draw(t, label) + rapid.SampledFrom(ends).Draw(t, label+"-end")
}

func TestNoFindingIsLostBySurroundings(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		token, rule := anyToken(t)
		before := surrounding(t, "before")
		after := rapid.SampledFrom([]string{"", " ", "。", "，然后", ")", "\"", ", then", ".", "`", "\n", "」", "!", ";"}).Draw(t, "after")
		if found := Scan(before + token + after); !has(found, rule, len(before), len(before)+len(token)) {
			t.Fatalf("%s after %q, before %q: got %v", rule, before, after, rules(found))
		}
	})
}

// TestChunksAgree: what is found in two notes is found in both together, and nothing
// else.
func TestChunksAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		draw := func(label string) string {
			token, _ := anyToken(t)
			return rapid.SampledFrom([]string{
				"Use " + token + " for now.", "The build is green.", "password: " + passwordValues["with signs"](source(rapid.Uint64().Draw(t, label))), "换成" + token + "后恢复。",
				"{\"token\": \"" + token + "\"}", "a\u200bb " + strewn(source(rapid.Uint64().Draw(t, label)), token, "\u200b", 2), "Commit 9f2c41d7a0b35e6688f1c2d4e7b9a0c3d5f71e28.", "- key: " + token[:len(token)-1],
			}).Draw(t, label+" note")
		}
		const between = "\n\n---\n\n"
		a, b := draw("first"), draw("second")
		var want []Finding
		want = append(want, Scan(a)...)
		for _, f := range Scan(b) {
			f.Offset += len(a) + len(between)
			want = append(want, f)
		}
		if got := Scan(a + between + b); !slices.Equal(got, want) {
			t.Fatalf("got %v, want %v", got, want)
		}
	})
}

func TestInvisibleCharactersDoNotHide(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		token, _ := anyToken(t)
		out := token
		for n := rapid.IntRange(1, 4).Draw(t, "n"); n > 0; n-- {
			at := rapid.IntRange(1, len(out)-1).Draw(t, "at")
			for at < len(out) && out[at]&0xC0 == 0x80 {
				at++
			}
			out = out[:at] + rapid.SampledFrom([]string{"\u200b", "\u2060", "\u00ad", "\u200d", "\ufeff", "\U000e0041"}).Draw(t, "mark") + out[at:]
		}
		if found := Scan("use " + out + " now"); !has(found, "", 4, 4+len(out)) {
			t.Fatalf("%d invisible characters: got %v, want all of %d bytes at 4", len(out)-len(token), found, len(out))
		}
	})
}

func TestEncodedTokensAreFound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		token, rule := anyToken(t)
		if len(token) > 2000 {
			t.Skip("longer than any real one")
		}
		enc := rapid.SampledFrom([]*base64.Encoding{base64.StdEncoding, base64.RawURLEncoding}).Draw(t, "encoding")
		text := "data:\n  value: " + enc.EncodeToString([]byte(token))
		if len(token) < 18 {
			return // a run of fewer than longRun bytes is not decoded
		}
		if found := Scan(text); len(found) == 0 {
			t.Fatalf("%s in base64: nothing found", rule)
		}
	})
}

func TestRedactionLeavesNoToken(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		text := ""
		var tokens []string
		for n := rapid.IntRange(1, 5).Draw(t, "n"); n > 0; n-- {
			token, _ := anyToken(t)
			tokens = append(tokens, token)
			text += surrounding(t, "before") + token + " "
		}
		got, found := Redact(text)
		wellFormed(t, text, found)
		for _, token := range tokens {
			if strings.Contains(got, token) {
				t.Fatalf("a token survives the redaction: %q in %q, found %v", token, text, found)
			}
		}
	})
}

type fataler interface {
	Fatalf(format string, args ...any)
}

// wellFormed asserts what holds of every list of findings.
func wellFormed(t fataler, text string, found []Finding) {
	end := 0
	for _, f := range found {
		if f.Offset < end || f.Length <= 0 || f.Offset+f.Length > len(text) {
			t.Fatalf("finding %+v after %d in %d bytes", f, end, len(text))
		}
		if !strings.HasPrefix(f.Rule, "secret.") {
			t.Fatalf("rule %q", f.Rule)
		}
		end = f.Offset + f.Length
	}
}

func FuzzScan(f *testing.F) {
	for _, s := range []string{"", "token: x", "a\xff\u200b\\n&#45;%2D", "| key |\n|---|\n| v |", "postgres://a:b@c", "x y z x y z", "eyJ.eyJ.eyJ", "-----BEGIN A PRIVATE KEY-----\n"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		found := Scan(text)
		wellFormed(t, text, found)
		if again := Scan(text); len(again) != len(found) {
			t.Fatalf("%d findings, then %d", len(found), len(again))
		}
		redacted, _ := Redact(text)
		want := len(text)
		for _, f := range found {
			want += len("[redacted "+f.Rule+"]") - f.Length
		}
		if len(redacted) != want {
			t.Fatalf("redacted to %d bytes, want %d", len(redacted), want)
		}
		if all := ScanAllow(text, func(string) bool { return true }); len(all) > 0 {
			t.Fatalf("everything is allowed, yet %v", all)
		}
	})
}

// TestAdversarialInput runs inputs that make every rule start over: linear work takes a
// second, quadratic work longer than any test may run.
func TestAdversarialInput(t *testing.T) {
	const size = 256 << 10
	r := source(51)
	for _, unit := range []string{
		"token=", "password is ", "eyJ-", "eyJ.a", `"kty"`, "-----BEGIN PRIVATE KEY-----", "PuTTY-User-Key-File-", "a://b:c", "AzFu", "ghp_", "sk-", "key: a\n",
		"\u200b", "\\n", "&#45;", "a b ", "aa1\n", "x\"+\"", "| token |\n|--|\n", "Basic YWFh", "AK" + "IA" + draw(r, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16) + " ", b64("token ")[:8] + "+", "\u0430b", "curl -u ", "M.",
		"-----END PRIVATE KEY-----", "AAAA-----END PRIVATE KEY-----", "<RSAKeyValue>", "a:b@tcp(", "kty: ", "\"a1\", ", "sk-a1<br>", "=2D", "\u0430", "mysql -p ", "password:\n", "token to to ", "creds: a/", "5Kabcdefghijkmnopqrstuvwxyzabcdefghijkmnopqrstuvwxyz2 ", "a-b-c-", "ab.", "mydbtoken ",
	} {
		text := strings.Repeat(unit, size/len(unit))
		wellFormed(t, text, Scan(text))
	}
}

// note is a kilobyte of clean ASCII text of the kind a memory holds.
func note() string {
	return strings.Repeat("The staging build uses Go 1.26 and runs `make check` before every merge; tokens are kept in the vault (see docs/auth.md). Cache keys have a tenant and a date.\n", 7)[:1024]
}

func TestCleanTextCostsNoAllocation(t *testing.T) {
	text := note()
	if n := testing.AllocsPerRun(50, func() { Scan(text) }); n != 0 {
		t.Errorf("%v allocations on clean ASCII text", n)
	}
}

func BenchmarkScan(b *testing.B) {
	for _, bb := range []struct{ name, text string }{
		{"note=ascii/size=1KiB", note()},
		{"note=chinese/size=1KiB", strings.Repeat("预发环境的构建使用 Go 1.26，合并之前运行 make check；令牌存放在 Vault，缓存键由租户加日期组成。\n", 10)[:1024]},
		{"note=escapes/size=1KiB", strings.Repeat(`{"out":"line\nline \u002d x","code":0}`+"\n", 30)[:1024]},
	} {
		b.Run(bb.name, func(b *testing.B) {
			b.SetBytes(int64(len(bb.text)))
			b.ReportAllocs()
			for b.Loop() {
				if found := Scan(bb.text); found != nil {
					b.Fatalf("got %v", found)
				}
			}
		})
	}
}
