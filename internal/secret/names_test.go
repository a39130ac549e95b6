package secret

import (
	"encoding/base64"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
)

// keyNames are texts in which a name says that the value at the percent sign is a key.
var keyNames = []string{
	"export ACME_API_KEY=%", "ACME_TOKEN='%'", "ENV ACME_TOKEN %", "$env:ACME_TOKEN = \"%\"", "setx ACME_TOKEN %", "api_key = \"%\"", "api-key: %", "apiKey: '%',", "  \"client_secret\" : \"%\",",
	"acme --token % deploy", "acme --api-key=% deploy", "curl -H \"X-Api-Key: %\" https://api.acme.io", "X-Vault-Token: %", "PRIVATE-TOKEN: %", "<apiKey>%</apiKey>", "<add key=\"ApiKey\" value=\"%\" />", "<property name=\"secretKey\" value=\"%\"/>",
	"<string name=\"api_key\">%</string>", "{\"name\": \"ACME_TOKEN\", \"value\": \"%\"}", "- name: ACME_TOKEN\n  value: %\n", "//registry.npmjs.org/:_authToken=%", "aws_secret_access_key = %", "aws configure set aws_secret_access_key %",
	"https://api.acme.io/v1?api_key=%&x=1", "new AcmeClient({ apiKey: '%' })", "AcmeClient(api_key=\"%\")", "const apiToken = `%`;", "api_key := \"%\"", "let api_secret: &str = \"%\";", "#define API_KEY \"%\"", "define('AUTH_KEY', '%');", "config.secret_key_base = '%'",
	"JWT_SECRET=%", "os.environ['ACME_TOKEN'] = '%'", "ACME_TOKEN: ${ACME_TOKEN:-%}", "helm install x --set auth.token=%", "gh secret set ACME_TOKEN --body %", "docker run -e ACME_TOKEN=% img", "variable \"api_token\" {\n  default = \"%\"\n}",
	"The API key is %.", "API key: `%`", "API token is now %", "set the api key to %", "**API key:** %", "- API key - %", "| api key | % |", "API key:\n\n    %\n", "API key → %", "API 密钥是 %", "API 密钥改成了 %", "API Key：%", "API 令牌已更新为 %。", "clé API : %", "API-Schlüssel: %", "clave de API: %", "API ключ: %",
}

// keyValues draw values without a known format.
var keyValues = map[string]func(r *rand.Rand) string{
	"base 62":     func(r *rand.Rand) string { return draw(r, alphanum, 20+r.IntN(30)) },
	"base 36":     func(r *rand.Rand) string { return draw(r, lowerDigits, 32) },
	"hexadecimal": func(r *rand.Rand) string { return draw(r, hexDigits, 32+8*r.IntN(5)) },
	"URL-safe":    func(r *rand.Rand) string { return draw(r, urlSet, 43) },
	"base64":      func(r *rand.Rand) string { return draw(r, base64Set, 40) },
	"padded":      func(r *rand.Rand) string { return draw(r, base64Set, 43) + "=" },
	"UUID":        drawUUID,
	"prefixed":    func(r *rand.Rand) string { return "qux_" + draw(r, alphanum, 24) },
}

// passwordNames are texts in which a name says that the value is a password.
var passwordNames = []string{
	"password: %", "DB_PASSWORD='%'", "\"password\": \"%\"", "PGPASSWORD=% psql", "mysql -u root -p'%'", "mysql -u root -p% app", "sshpass -p '%' ssh x", "redis-cli -a '%'", "acme --password %", "java -Dpassword=% -jar x", "<password>%</password>",
	"<add key=\"ClearTextPassword\" value=\"%\" />", "Server=db;Uid=sa;Pwd=%;", "jdbc:postgresql://h/db?user=u&password=%", "IDENTIFIED BY '%'", "CREATE ROLE app WITH PASSWORD '%'", "psk=\"%\"", "docker login -u u -p %", "the password is %", "the wifi password is `%`",
	"log in as admin with password %", "user admin, password %", "Password changed to %", "set the password to %", "pw: %", "passwd: %", "creds: admin:%", "credentials are admin / %", "账号 admin 密码 %", "用户名/密码：admin / %", "密码改成了 %", "密码：%", "パスワードは %",
	"mot de passe : %", "Passwort: %", "la contraseña es %", "пароль: %", "password:\n  %\n", "spring.datasource.password=%", "passphrase \"%\"", "machine h login u password %", "requirepass %", "- name: DB_PASSWORD\n  value: '%'", "| user | password |\n|---|---|\n| admin | % |", "postgres://app:%@db/app",
}

var passwordValues = map[string]func(r *rand.Rand) string{
	"letters and digits": func(r *rand.Rand) string { return draw(r, alphanum, 14) },
	"with signs": func(r *rand.Rand) string {
		return draw(r, alphanum, 6) + draw(r, "!@#$%^*?_", 1) + draw(r, alphanum, 4) + "7"
	},
	"of a word": func(r *rand.Rand) string {
		return []string{"Harbor", "Winter", "Purple", "Falcon", "Sunset"}[r.IntN(5)] + draw(r, "0123456789", 4) + draw(r, "!#$@", 1) + draw(r, "bcxyz", 2)
	},
}

// TestNames measures values without a format behind the names that tell what they are.
func TestNames(t *testing.T) {
	measure := func(what string, names []string, values map[string]func(*rand.Rand) string, want float64) {
		missed := map[string]int{}
		n := 0
		for k, name := range names {
			for kind, value := range values {
				for seed := range 6 {
					v := value(source(uint64(k*100 + seed)))
					at := strings.LastIndexByte(name, '%')
					n++
					if found := Scan(name[:at] + v + name[at+1:]); len(found) == 0 {
						missed[fmt.Sprintf("%q", name)]++
						missed[kind]++
					}
				}
			}
		}
		report(t, what, missed, n, want)
	}
	measure("named keys", keyNames, keyValues, 0.97)
	measure("named passwords", passwordNames, passwordValues, 0.93)
}

// lookAlikes draw what looks like a credential and is none.
var lookAlikes = map[string]func(r *rand.Rand) string{
	"git commit": func(r *rand.Rand) string {
		return "Fixed in commit " + draw(r, hexDigits, 40) + " (see " + draw(r, hexDigits, 8) + ")"
	},
	"git log": func(r *rand.Rand) string {
		return draw(r, hexDigits, 7) + " token refresh: retry once\n" + draw(r, hexDigits, 7) + " drop legacy secret flag"
	},
	"git object": func(r *rand.Rand) string {
		return "tree " + draw(r, hexDigits, 40) + "\nparent " + draw(r, hexDigits, 40)
	},
	"UUID":     func(r *rand.Rand) string { return "request " + drawUUID(r) + " failed, session_id=" + drawUUID(r) },
	"UUID key": func(r *rand.Rand) string { return "primary key " + drawUUID(r) + ", partition key: " + drawUUID(r) },
	"ULID": func(r *rand.Rand) string {
		return "order 01J" + draw(r, "0123456789ABCDEFGHJKMNPQRSTVWXYZ", 23) + " was refunded"
	},
	"nanoid":       func(r *rand.Rand) string { return "room " + draw(r, urlSet, 21) + " has two members" },
	"SHA-256":      func(r *rand.Rand) string { return "sha256:" + draw(r, hexDigits, 64) + "  app.tar.gz" },
	"sum file":     func(r *rand.Rand) string { return draw(r, hexDigits, 64) + "  secret-scanner_linux_amd64.tar.gz" },
	"image digest": func(r *rand.Rand) string { return "image: registry.example/app@sha256:" + draw(r, hexDigits, 64) },
	"content hash": func(r *rand.Rand) string {
		return "content_hash: sha256:" + draw(r, hexDigits, 64) + "\nmd5: " + draw(r, hexDigits, 32)
	},
	"package-lock": func(r *rand.Rand) string { return `"integrity": "sha512-` + draw(r, base64Set, 86) + `==",` },
	"yarn.lock": func(r *rand.Rand) string {
		return "js-tokens@^4.0.0:\n  integrity sha512-" + draw(r, base64Set, 86) + "==\n"
	},
	"go.sum":     func(r *rand.Rand) string { return "example.com/token v1.2.0 h1:" + draw(r, base64Set, 43) + "=" },
	"Cargo.lock": func(r *rand.Rand) string { return "name = \"secrecy\"\nchecksum = \"" + draw(r, hexDigits, 64) + "\"" },
	"pip hashes": func(r *rand.Rand) string { return "tokenizers==0.20 --hash=sha256:" + draw(r, hexDigits, 64) },
	"SSH public key": func(r *rand.Rand) string {
		return "ssh-rsa AAAAB3NzaC1yc2EAAAADAQABAAABgQ" + draw(r, base64Set, 330) + " deploy@host"
	},
	"public key":    func(r *rand.Rand) string { return pemBlock("PUBLIC KEY", lines(draw(r, base64Set, 216), 64)) },
	"certificate":   func(r *rand.Rand) string { return pemBlock("CERTIFICATE", lines(draw(r, base64Set, 900), 64)) },
	"fingerprint":   func(r *rand.Rand) string { return "SHA256:" + draw(r, base64Set, 43) + " deploy key (ED25519)" },
	"age recipient": func(r *rand.Rand) string { return "age1" + draw(r, "qpzry9x8gf2tvdw0s3jn54khce6mua7l", 58) },
	"image": func(r *rand.Rand) string {
		return "![x](data:image/png;base64,iVBORw0KGgo" + draw(r, base64Set, 700) + "=)"
	},
	"blob":          func(r *rand.Rand) string { return "payload: " + randomBase64(r, 300) },
	"short blob":    func(r *rand.Rand) string { return "The frame is " + randomBase64(r, 48) + " on the wire." },
	"URL-safe blob": func(r *rand.Rand) string { return "cursor=" + base64.RawURLEncoding.EncodeToString(randomBytes(r, 60)) },
	"next page":     func(r *rand.Rand) string { return "next_page_token: " + draw(r, urlSet, 60) },
	"password hash": func(r *rand.Rand) string { return "password: $2b$12$" + draw(r, alphanum, 53) },
	"argon2": func(r *rand.Rand) string {
		return "pass = $argon2id$v=19$m=65536,t=3,p=4$" + draw(r, base64Set, 22) + "$" + draw(r, base64Set, 43)
	},
	"chunk": func(r *rand.Rand) string {
		return "assets/index-" + draw(r, alphanum, 8) + ".js and main." + draw(r, hexDigits, 20) + ".css"
	},
	"minified": func(r *rand.Rand) string {
		return `!function(e,t){var n=e.token||"",r=t(n),o={password:!0,key:"a"};` + draw(r, allLetters, 3) + `=r.prototype.toString}(this,function(e){return e})`
	},
	"ARN": func(r *rand.Rand) string {
		return "arn:aws:secretsmanager:eu-west-1:" + draw(r, "0123456789", 12) + ":secret:prod/db-" + draw(r, alphanum, 6)
	},
	"reference": func(r *rand.Rand) string {
		return "password: op://Engineering/" + draw(r, lowerDigits, 26) + "/password"
	},
	"variable": func(*rand.Rand) string {
		return "API_KEY=${API_KEY}\nTOKEN=$TOKEN\npassword: {{ .Values.password }}\nsecret: <your-secret>"
	},
	"placeholder": func(r *rand.Rand) string { return "OPENAI_API_KEY=sk-" + strings.Repeat("x", 20+r.IntN(30)) },
	"placeholder word": func(r *rand.Rand) string {
		return "token: gh" + "p_your" + strings.Repeat("Token", 6) + draw(r, "0123456789", 2)
	},
	"angle brackets": func(*rand.Rand) string { return "sk-<your-key>, api_key = \"<insert key here>\", Bearer <token>" },
	"message ID": func(r *rand.Rand) string {
		return "msg_01" + draw(r, alphanum, 22) + " and call_" + draw(r, alphanum, 24)
	},
	"Stripe objects": func(r *rand.Rand) string { return "cus_" + draw(r, alphanum, 14) + " paid pi_" + draw(r, alphanum, 24) },
	"publishable":    func(r *rand.Rand) string { return "pk_" + "live_" + draw(r, alphanum, 24) },
	"Chinese policy": func(*rand.Rand) string {
		return "密码至少 12 位，包含大小写字母和数字，每 90 天更换一次；令牌 24 小时后过期，密钥保存在 Vault 里。"
	},
	"policy": func(r *rand.Rand) string {
		return fmt.Sprintf("Passwords need at least %d characters and one symbol; tokens expire after %dh; API keys are rotated every quarter by the SRE team.", 8+r.IntN(9), r.IntN(48))
	},
	"code": func(*rand.Rand) string {
		return "token := jwt.NewWithClaims(jwt.SigningMethodHS256, claims)\napiKey := os.Getenv(\"ACME_API_KEY\")\npassword = getpass.getpass()\nsecretKey: process.env.SECRET_KEY_V2!"
	},
	"type": func(*rand.Rand) string {
		return "interface Auth { token: string; password?: string; apiKey: Base64String2048; }"
	},
	"test log": func(*rand.Rand) string {
		return "=== RUN TestTokenRefresh/ipv4\n--- PASS: TestTokenRefresh/ipv4 (0.03s)\n--- PASS: TestSecretStore2/RoundTrip_V3 (0.00s)"
	},
	"file names": func(r *rand.Rand) string {
		return "The key is in ~/.ssh/id_ed25519, tokens in /run/secrets/token-v2." + draw(r, lowerDigits, 5)
	},
	"trace": func(r *rand.Rand) string {
		return "traceparent: 00-" + draw(r, hexDigits, 32) + "-" + draw(r, hexDigits, 16) + "-01"
	},
	"Solidity address": func(r *rand.Rand) string { return "token contract 0x" + draw(r, hexDigits, 40) },
	"video link": func(r *rand.Rand) string {
		return "https://youtu.be/" + draw(r, urlSet, 11) + "?si=" + draw(r, urlSet, 16)
	},
	"document link": func(r *rand.Rand) string {
		return "https://docs.google.com/document/d/1" + draw(r, urlSet, 43) + "/edit"
	},
}

func randomBytes(r *rand.Rand, n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	return b
}

func randomBase64(r *rand.Rand, n int) string {
	return base64.StdEncoding.EncodeToString(randomBytes(r, n))
}

// TestLookAlikes expects nothing in many draws of each kind.
func TestLookAlikes(t *testing.T) {
	draws := 400
	if testing.Short() {
		draws = 100
	}
	for kind, text := range lookAlikes {
		refused := map[string]int{}
		for seed := range draws {
			for _, f := range Scan(text(source(uint64(seed)))) {
				refused[f.Rule]++
			}
		}
		if len(refused) > 0 {
			t.Errorf("%s: of %d, found %v", kind, draws, refused)
		}
	}
}
