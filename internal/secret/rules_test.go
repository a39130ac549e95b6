package secret

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
)

// A ruleCase gives the first rule that a text must trigger, "" for none. Each rule has
// true examples, false ones, and near misses.
type ruleCase struct{ name, text, want string }

func runRules(t *testing.T, cases []ruleCase) {
	t.Helper()
	for _, tt := range cases {
		t.Run(tt.name, func(t *testing.T) {
			got := ""
			found := Scan(tt.text)
			if len(found) > 0 {
				got = found[0].Rule
			}
			if got != tt.want {
				t.Errorf("got %v, want %q", rules(found), tt.want)
			}
		})
	}
}

// drawUUID draws a UUID.
func drawUUID(r *rand.Rand) string {
	return strings.Join([]string{draw(r, hexDigits, 8), draw(r, hexDigits, 4), draw(r, hexDigits, 4), draw(r, hexDigits, 4), draw(r, hexDigits, 12)}, "-")
}

// TestAssignments covers secret.assignment.
// It holds the report sec-dot-and-no-prefix.
func TestAssignments(t *testing.T) {
	r := source(11)
	key := draw(r, alphanum, 32)
	hex := draw(r, hexDigits, 40)
	uuid := drawUUID(r)
	runRules(t, []ruleCase{
		// secret.assignment
		{"env", "export DEMO_API_KEY=" + key, "secret.assignment"},
		{"dotted", "api_key: " + hex[:32] + "." + key[:6], "secret.assignment"},
		{"dotted, with a prefix", "api_key: " + "sk" + "-qq-" + key[:20] + "." + key[20:] + "_" + hex[:9], "secret.assignment"},
		{"yaml quoted", "  client_secret: '" + key + "'", "secret.assignment"},
		{"json", `{"accessToken": "` + key + `"}`, "secret.assignment"},
		{"hex key", "DATAHOUND_APP_KEY=" + hex, "secret.assignment"},
		{"uuid token", "SNIK_TOKEN=" + uuid, "secret.assignment"},
		{"prose", "The access token for the staging cluster is " + key + ", rotate it.", "secret.assignment"},
		{"Chinese", "预发环境的令牌是" + key + "，别外传", "secret.assignment"},
		{"call", `c := acme.NewClient("` + key + `", nil)`, "secret.assignment"},
		{"table", "| host | token |\n|---|---|\n| a | " + key + " |\n", "secret.assignment"},
		{"block scalar", "api_key: |\n  " + key + "\n", "secret.assignment"},
		{"header", "curl -H 'X-Api-Key: " + key + "' https://x.example", "secret.assignment"},
		{"pair of members", `{"name": "ACME_TOKEN", "value": "` + key + `"}`, "secret.assignment"},
		{"flag", "acme --token " + hex + " deploy", "secret.assignment"},
		{"own line", "API key:\n\n    " + key + "\n", "secret.assignment"},
		{"next line of a map", "token:\n  id=" + hex + "\n", ""},
		{"code with a capital", "transportCreds: transportCredsForS2A", ""},
		{"base64 of words", "access_token: " + b64("this is not a real value"), ""},
		{"counted bytes", "reset_token: 0102030405060708090a0b0c0d0e0f10", ""},
		{"web socket", "Sec-WebSocket-Key: " + b64(key[:16]), ""},
		{"in front", "use " + key + " as the API key", "secret.assignment"},
		{"in front, is", "`" + key + "` is our new access token.", "secret.assignment"},
		{"digest in front", hex + " is the token hash", ""},
		{"words in front", "treat production-readonly-access as the API key", ""},
		{"short value", "API_KEY=" + key[:12], ""},
		{"cache key", "cache key = " + hex, ""},
		{"partition key", "partition key: " + uuid, ""},
		{"page token", "next_page_token: " + key, ""},
		{"token hash", "the token hash is " + hex, ""},
		{"commit", "token rotation landed in commit: " + hex, ""},
		{"file", "client_secret_file: /run/secrets/" + key, ""},
		{"variable", "API_KEY=${" + key + "}", ""},
		{"template", "token: {{ .Values." + key + " }}", ""},
		{"reference", "API_KEY=op://Engineering/acme/" + key, ""},
		{"words", "api_key: production-readonly-key", ""},
		{"identifier", "private_key = ed25519.Ed25519PrivateKey", ""},
		{"expression", `apiKey := cfg.String("api.key.v2.production")`, ""},
		{"placeholder", "API_KEY=your-" + key, ""},
		{"blanked", "API_KEY=" + key[:10] + "aaaaaa" + key[10:20], ""},
		{"counted", "API_KEY=" + key[:10] + "1234567" + key[10:20], ""},
		{"sealed", "encryptedData:\n  token: " + key, ""},
		{"public key", "publicKey: " + key, ""},
		{"keyboard", "keyboard: " + key, ""},
	})
}

// TestPasswords covers secret.password.
func TestPasswords(t *testing.T) {
	r := source(11)
	key := draw(r, alphanum, 32)
	pass := draw(r, alphanum, 10) + "#" + draw(r, alphanum, 4) + "9x"
	runRules(t, []ruleCase{
		// secret.password
		{"password", "password: " + pass, "secret.password"},
		{"password in prose", "The admin password for the data lake is " + pass + " (rotate monthly)", "secret.password"},
		{"password in Chinese", "构建流水线的密码是 " + pass, "secret.password"},
		{"connection string", "Server=db;User ID=sa;Password=" + key[:18] + ";Encrypt=true", "secret.password"},
		{"netrc", "machine git.example login deploy password " + key[:20], "secret.password"},
		{"smtp pass", "SMTP_PASS = '" + key + "'", "secret.password"},
		{"spanish", "contraseña: " + pass, "secret.password"},
		{"command line", "mysql -u root -p'" + pass + "' app", "secret.password"},
		{"port of a command", "docker run -p 127.0.0.1:8080:80/tcp img", ""},
		{"suffix", "PGPASSWORD=" + pass + " psql", "secret.password"},
		{"pair", "credentials are admin / " + pass, "secret.password"},
		{"pair in Chinese", "用户名/密码：admin / " + pass, "secret.password"},
		{"changed to", "Password changed to " + pass, "secret.password"},
		{"ODBC", "UID=sa;PWD={" + pass + "};", "secret.password"},
		{"attribute", `<add key="Password" value="` + pass + `"/>`, "secret.password"},
		{"struct tag", "TollPasses []Pass `protobuf:\"varint,6,rep,packed\"`", ""},
		{"passed test", "--- PASS: TestAllocs/ipv4-in-ipv6 (0.00s)", ""},
		{"too short", "password: aB3#x", ""},
		{"policy", "password is Base64-encoded and case-sensitive", ""},
		{"policy in Chinese", "密码必须至少 12 位，包含数字和符号", ""},
		{"crypt hash", "password: $2b$12$" + draw(r, alphanum, 53), ""},
		{"schema", "password: passwordSchema.min(12).max(128)", ""},
		{"length", "password_min_length = 14", ""},
		{"verb", "the tests pass with Go1.26.5-X8", ""},
	})
}

// TestPrivateKeys covers the rules for keys in files.
func TestPrivateKeys(t *testing.T) {
	r := source(11)
	hex := draw(r, hexDigits, 40)
	body := lines(draw(r, base64Set, 400), 64)
	sig := draw(r, urlSet, 43)
	ppk := "PuTTY-User-Key-File-3: ssh-ed25519\nEncryption: none\nPublic-Lines: 2\n" + lines(draw(r, base64Set, 100), 64)
	d := "-----"
	runRules(t, []ruleCase{
		// secret.pem-private-key
		{"pkcs8", pemBlock("PRIVATE"+" KEY", body), "secret.pem-private-key"},
		{"cut short", strings.SplitN(pemBlock("RSA PRIVATE"+" KEY", body), d+"END", 2)[0], "secret.pem-private-key"},
		{"one line", `KEY="` + strings.ReplaceAll(pemBlock("EC PRIVATE"+" KEY", body), "\n", `\n`) + `"`, "secret.pem-private-key"},
		{"quoted", "> " + strings.ReplaceAll(pemBlock("PRIVATE"+" KEY", body), "\n", "\n> "), "secret.pem-private-key"},
		{"armour header", pemBlock("PGP PRIVATE"+" KEY BLOCK", "Version: 1\n\n"+body), "secret.pem-private-key"},
		{"first line lost", body + "\n" + d + "END RSA PRIVATE" + " KEY" + d, "secret.pem-private-key"},
		{"numbered", strings.ReplaceAll(pemBlock("PRIVATE"+" KEY", body), "\n", "\n12: "), "secret.pem-private-key"},
		{"encrypted", pemBlock("RSA PRIVATE"+" KEY", "Proc-Type: 4,ENCRYPTED\nDEK-Info: AES-128-CBC,00\n\n"+body), "secret.pem-private-key"},
		{"RFC 4716", "---- BEGIN SSH2 ENCRYPTED PRIVATE" + " KEY ----\nComment: x\n" + body + "\n---- END SSH2 ENCRYPTED PRIVATE" + " KEY ----", "secret.pem-private-key"},
		{"last line alone", "ends with " + d + "END PRIVATE" + " KEY" + d, ""},
		{"certificate end", body + "\n" + d + "END CERTIFICATE" + d, ""},
		// secret.xml-private-key
		{"XML", "<RSAKeyValue><Modulus>" + body + "</Modulus><D>" + body + "</D></RSAKeyValue>", "secret.xml-private-key"},
		{"XML public", "<RSAKeyValue><Modulus>" + body + "</Modulus><Exponent>AQAB</Exponent></RSAKeyValue>", ""},
		{"certificate", pemBlock("CERTIFICATE", body), ""},
		{"public", pemBlock("PUBLIC"+" KEY", body), ""},
		{"mentioned", "begins with `" + d + "BEGIN PRIVATE" + " KEY" + d + "` and then base64", ""},
		{"elided", pemBlock("PRIVATE"+" KEY", "..."), ""},
		// secret.putty-private-key
		{"ppk", ppk + "\nPrivate-Lines: 2\n" + body + "\nPrivate-MAC: " + hex, "secret.putty-private-key"},
		{"ppk public half", ppk, ""},
		// secret.jwk-private-key
		{"jwk", `{"kty":"EC","x":"` + sig + `","d":"` + sig + `"}`, "secret.jwk-private-key"},
		{"jwk d first", `{"d": "` + sig + `", "kty": "OKP"}`, "secret.jwk-private-key"},
		{"jwk symmetric", `{"kty":"oct","k":"` + sig + `"}`, "secret.jwk-private-key"},
		{"jwk public", `{"kty":"EC","x":"` + sig + `","y":"` + sig + `"}`, ""},
		{"jwk in YAML", "kty: OKP\ncrv: Ed25519\nd: " + sig + "\n", "secret.jwk-private-key"},
		{"jwk in Python", "{'kty': 'OKP', 'd': '" + sig + "'}", "secret.jwk-private-key"},
		{"jwk public in YAML", "kty: OKP\ncrv: Ed25519\nx: " + sig + "\n", ""},
		{"d of another object", `{"d": "` + sig + `"} {"kty":"EC"}`, ""},
	})
}

// TestStructures covers web tokens, URLs and headers.
func TestStructures(t *testing.T) {
	r := source(11)
	key := draw(r, alphanum, 32)
	sig := draw(r, urlSet, 43)
	claims := `{"iss":"https://auth.example","sub":"u-1"}`
	basic := b64("deploy:" + draw(r, alphanum, 14))
	runRules(t, []ruleCase{
		// secret.jwt
		{"jwt", jwt(`{"alg":"HS256"}`, claims, sig), "secret.jwt"},
		{"jwt in a cookie", "Cookie: session=" + jwt(`{"typ":"JWT","alg":"ES256"}`, claims, sig) + "; Path=/", "secret.jwt"},
		{"jwt without signature", jwt(`{"alg":"HS256"}`, claims, ""), ""},
		{"jwt alg none", jwt(`{"alg":"none"}`, claims, sig), ""},
		{"jwt shaped", jwt(`{"kid":"1"}`, claims, sig), ""},
		// secret.url-password
		{"postgres", "postgres://app:" + key[:18] + "@db.example:5432/app", "secret.url-password"},
		{"no user", "redis://:" + key[:18] + "@cache:6379/0", "secret.url-password"},
		{"curl user", "curl -u deploy:" + key[:18] + " https://x.example", "secret.url-password"},
		{"Go's MySQL", "app:" + key[:18] + "@tcp(10.0.0.5:3306)/app", "secret.url-password"},
		{"Go's MySQL, example", "user:password@tcp(localhost:3306)/db", ""},
		{"escaped words", "https://user:pa%2Fssword@x.example", ""},
		{"default", "postgres://postgres:postgres@localhost/db", ""},
		{"variable password", "https://u:${PASSWORD}@x.example", ""},
		{"upper case words", "amqp://USER:PASS@rabbit/vhost", ""},
		{"port and at", "https://x.example:8443/a@b1c2d3e4", ""},
		{"mail", "mailto:ops@example.com", ""},
		// secret.basic-auth and secret.bearer
		{"basic", "Authorization: Basic " + basic, "secret.basic-auth"},
		{"docker", `{"auths":{"r.example":{"auth":"` + basic + `"}}}`, "secret.basic-auth"},
		{"basic word", "Basic understanding of Go", ""},
		{"bearer", "Authorization: Bearer " + key, "secret.bearer"},
		{"bearer placeholder", "Authorization: Bearer <token>", ""},
		{"bearer prose", "the bearer of bad news", ""},
	})
}

// TestUnknownIssuers covers tokens without a row in formats.tsv.
func TestUnknownIssuers(t *testing.T) {
	r := source(11)
	key := draw(r, alphanum, 32)
	hex := draw(r, hexDigits, 40)
	runRules(t, []ruleCase{
		// secret.prefixed-token
		{"unknown issuer", "ran it with qux_" + "pat_" + key[:24] + " and it went through", "secret.prefixed-token"},
		{"unknown prefix", "pasted zorp_" + key + " in the channel", "secret.prefixed-token"},
		{"identifier with prefix", "see thread_" + key, ""},
		{"hash with prefix", "image-" + hex, ""},
		{"small letters", "pasted zorp_" + draw(r, lowerDigits, 32), "secret.prefixed-token"},
		{"URL-safe body", "pasted zorp_" + draw(r, alphanum, 20) + "_" + draw(r, alphanum, 22), "secret.prefixed-token"},
		{"dotted prefix", "pasted zrp." + draw(r, alphanum, 40), "secret.prefixed-token"},
		{"hexadecimal, named", "the token that CI uses, zorp_" + hex, "secret.prefixed-token"},
		{"hexadecimal, not named", "see zorp_" + hex, ""},
		{"identifier of code", "calls wasm.OpcodeVecI16x8ExtaddPairwiseI8x16SName", ""},
		{"digits of types", "sig i64i64i32i64f32f64_i32i64f32f64i32i64f32f64i32i64f32f64i32i64", ""},
		{"file of a build", "main." + draw(r, alphanum, 40) + ".js", ""},
		{"cursor", "next_cursor=abc-" + draw(r, alphanum, 40), ""},
		// secret.bitcoin-wif
		{"wallet", "import " + base58(append([]byte{0x80}, (key + key)[:32]...)), "secret.bitcoin-wif"},
		{"wallet, wrong checksum", "import 5J" + draw(r, "123456789ABCDEFGHJKLMNPQRSTUVWXYZ", 49), ""},
		{"short body", "qux_" + "pat_" + key[:10], ""},
		// secret.discord-bot-token and secret.aws-secret-near-id
		{"discord", "M" + draw(r, alphanum, 23) + "." + draw(r, urlSet, 6) + "." + draw(r, alphanum, 27), "secret.discord-bot-token"},
		{"discord cut", "M" + draw(r, alphanum, 23) + "." + draw(r, urlSet, 6) + "." + draw(r, alphanum, 20), ""},
		{"aws pair", "AK" + "IA" + draw(r, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16) + " / " + draw(r, base64Set, 40), "secret.aws-access-key-id"},
	})
}

// TestHarmless lists random-looking text that is no secret.
func TestHarmless(t *testing.T) {
	r := source(11)
	hex := draw(r, hexDigits, 40)
	uuid := drawUUID(r)
	runRules(t, []ruleCase{
		// nothing
		{"git", "commit " + hex, ""},
		{"uuid", "request id " + uuid, ""},
		{"integrity", "integrity sha512-" + draw(r, base64Set, 86) + "==", ""},
		{"go.sum", "example.com/x v0.7.0 h1:" + draw(r, base64Set, 43) + "=", ""},
		{"ssh public key", "ssh-ed25519 AAAAC3NzaC1lZDI1NTE5AAAAI" + draw(r, base64Set, 43) + " a@b", ""},
		{"image", "data:image/png;base64,iVBORw0KGgo" + draw(r, base64Set, 300), ""},
	})
}

// TestAWSPair checks that a secret next to its identifier is found too.
func TestAWSPair(t *testing.T) {
	r := source(12)
	pair := Scan("AK" + "IA" + draw(r, "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16) + " / " + draw(r, base64Set, 40))
	if got, want := rules(pair), []string{"secret.aws-access-key-id", "secret.aws-secret-near-id"}; !slices.Equal(got, want) {
		t.Errorf("AWS pair: got %v, want %v", got, want)
	}
}

// TestSpans checks that a finding covers the value, no more, also through views.
func TestSpans(t *testing.T) {
	r := source(21)
	token := "gl" + "pat-" + draw(r, alphanum, 20)
	wide := ""
	for i := range token {
		switch c := token[i]; {
		case i < 8 && c != '-':
			wide += string(rune(c) - '!' + '！')
		default:
			wide += string(rune(c))
		}
	}
	greek := strings.Replace(token, "a", "\u0430", 1)
	tests := []struct{ name, value string }{
		{"plain", token},
		{"zero width", token[:9] + "\u200b" + token[9:15] + "\u00ad\u2060" + token[15:]},
		{"full width", wide},
		{"look-alike", greek},
		{"dash", strings.Replace(token, "-", "\u2011", 1)},
		{"markdown escape", strings.Replace(token, "-", `\-`, 1)},
		{"entity", strings.Replace(token, "-", "&#45;", 1)},
		{"hex entity", strings.Replace(token, "-", "&#x2D;", 1)},
		{"percent", strings.Replace(token, "-", "%2D", 1)},
		{"unicode escape", strings.Replace(token, "-", `\u002d`, 1)},
		{"line end", token[:12] + "\n" + token[12:]},
		{"string join", token[:12] + `" +` + "\n    " + `"` + token[12:]},
		{"join on one line", token[:12] + "' + '" + token[12:]},
		{"groups", strings.Join([]string{token[:5], token[5:10], token[10:15], token[15:20], token[20:25], token[25:]}, " ")},
		{"base64", strings.TrimRight(b64("x"+token+"y!"), "=")[1:]},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			value := tt.value
			if tt.name == "base64" {
				value = strings.TrimRight(b64("token "+token+"\n"), "=")
			}
			for _, c := range [][2]string{{"use ", "\n"}, {"换成「", "」后恢复"}} {
				if tt.name == "line end" && c[0] != "use " {
					c[1] = "\n" // Chinese text goes on behind the value
				}
				text := c[0] + value + c[1]
				found := Scan(text)
				if len(found) != 1 || found[0].Rule != "secret.gitlab-pat" || found[0].Offset != len(c[0]) || found[0].Length != len(value) {
					t.Errorf("got %v in %q, want the value at %d+%d", found, c, len(c[0]), len(value))
				}
			}
		})
	}
}

// TestCapitalLookAlike: the view keeps case, which this format's alphabet needs.
func TestCapitalLookAlike(t *testing.T) {
	token := "\u0410K" + "IA" + draw(source(62), "BCDEFGHIJKLMNOPQRSTUVWXYZ234567", 16)
	if found := Scan("use " + token); !has(found, "secret.aws-access-key-id", 4, 4+len(token)) {
		t.Errorf("got %v", rules(found))
	}
}

// TestDecodingDepth checks the documented two levels.
func TestDecodingDepth(t *testing.T) {
	text := "token gl" + "pat-" + draw(source(61), alphanum, 20) + " of the runner"
	for level := 1; level <= 3; level++ {
		text = b64(text)
		if got, want := len(Scan(text)) > 0, level <= maxDepth; got != want {
			t.Errorf("level %d: got %v, want %v", level, got, want)
		}
	}
}

func TestRedact(t *testing.T) {
	r := source(31)
	a, b := "gl"+"pat-"+draw(r, alphanum, 20), draw(r, alphanum, 32)
	text := "one " + a + ", two: api_key=" + b + " end"
	got, found := Redact(text)
	want := "one [redacted secret.gitlab-pat], two: api_key=[redacted secret.assignment] end"
	if got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if len(found) != 2 || found[0].Offset != 4 || found[0].Length != len(a) {
		t.Errorf("got findings %v", found)
	}
	if again := Scan(got); len(again) != 0 {
		t.Errorf("the redacted text still has %v", rules(again))
	}
	if clean, none := Redact("nothing here"); clean != "nothing here" || none != nil {
		t.Errorf("clean text: got %q, %v", clean, none)
	}
}

func TestRedactSpans(t *testing.T) {
	got, found := RedactSpans("0123456789", []Finding{{"secret.b", 6, 2}, {"secret.a", 1, 3}, {"secret.c", 2, 4}})
	if want := "0[redacted secret.a][redacted secret.b]89"; got != want || len(found) != 2 || found[0].Length != 5 {
		t.Errorf("got %q, %v, want %q", got, found, want)
	}
}

func TestScanAllow(t *testing.T) {
	r := source(41)
	a, b := "gl"+"pat-"+draw(r, alphanum, 20), "gl"+"pat-"+draw(r, alphanum, 20)
	text := a + " and " + strings.Replace(b, "-", `\-`, 1)
	var asked []string
	found := ScanAllow(text, func(v string) bool {
		asked = append(asked, v)
		return v == b
	})
	if got, want := rules(found), []string{"secret.gitlab-pat"}; !slices.Equal(got, want) || found[0].Offset != 0 {
		t.Errorf("got %v, want the first token alone", found)
	}
	if !slices.Contains(asked, a) || !slices.Contains(asked, b) {
		t.Errorf("allow was not asked about both values, unescaped")
	}
}

// TestPublished checks samples that vendors print. They are written in pieces here.
func TestPublished(t *testing.T) {
	for _, v := range []string{
		"AWS pair AK" + "IAIOSFODNN7EXAMPLE / wJalrXUtnFEMI/K7MDENG/bPxRfiCY" + "EXAMPLEKEY",
		"Stripe sk_" + "test_4eC39HqLyjWDarjtT1zdp7dc",
		"RFC 7617: Authorization: Basic QWxhZGRpbjpvcGVu" + "IHNlc2FtZQ==",
		"Azurite key: Eby8vdM02xNOcqFlqUwJPLlmEtlCDXJ1OUzFT50uSRZ6IFsu" + "Fq2UVErCz4I6tq/K1SZFPTOtr/KBHBeksoGMGw==",
	} {
		if found := Scan(v); len(found) != 0 {
			t.Errorf("published sample: got %v", rules(found))
		}
	}
}
