package relpath

import (
	"strings"
	"unicode/utf8"

	"github.com/memoryroom/scribe/internal/fold"
)

// maxListed is longer than every name on the lists below, in bytes.
const maxListed = 32

// lowered returns s in lower-case ASCII in buf, and false when it is longer than
// any listed name.
func lowered(buf *[maxListed]byte, s string) ([]byte, bool) {
	if len(s) > len(buf) {
		return nil, false
	}
	for i := range len(s) {
		c := s[i]
		if 'A' <= c && c <= 'Z' {
			c += 'a' - 'A'
		}
		buf[i] = c
	}
	return buf[:len(s)], true
}

// denied reports whether seg is on the deny-list, in any ASCII case. Equality is
// of the whole segment: config.md is an ordinary topic, a directory config is not.
//
// What is on it: directories whose contents other programs run or obey without
// being asked (hooks, skills, commands, agents, /etc/*.d, launch agents), the
// parts of a bare git repository, and trees that package managers own.
func denied(seg string) bool {
	var buf [maxListed]byte
	b, ok := lowered(&buf, seg)
	if !ok {
		return false
	}
	switch string(b) {
	case "hooks", "skills", "commands", "agents",
		"config", "head", "objects", "refs",
		"packed-refs", "fetch_head", "orig_head", "merge_head",
		"node_modules", "bower_components", "jspm_packages", "web_modules",
		"site-packages", "dist-packages", "__pycache__", "_darcs", "__macosx",
		"cron.d", "cron.hourly", "cron.daily", "cron.weekly", "cron.monthly",
		"init.d", "profile.d", "sudoers.d", "launchagents", "launchdaemons",
		"system volume information":
		return true
	}
	return deniedDot(b)
}

// deniedDot: names with a leading dot are refused whatever follows; those that
// hold credentials or settings get the rule that says so.
func deniedDot(lower []byte) bool {
	if len(lower) == 0 || lower[0] != '.' {
		return false
	}
	switch string(lower) {
	case ".git", ".gitmodules", ".gitattributes", ".gitconfig", ".github", ".githooks", ".husky", ".hg", ".svn",
		".ssh", ".aws", ".azure", ".gnupg", ".kube", ".docker", ".netrc", ".npmrc", ".pypirc", ".pgpass", ".env", ".envrc",
		".dsh", ".zcode", ".scribe", ".claude", ".codex", ".gemini", ".cursor", ".continue", ".roo", ".clinerules",
		".opencode", ".agents", ".windsurf", ".vscode", ".idea", ".devcontainer",
		".cargo", ".yarn", ".mvn", ".m2", ".gradle", ".npm", ".pip", ".config", ".bashrc", ".zshrc", ".profile":
		return true
	}
	return false
}

// looksDenied reports whether seg could be read as a denied name because of ASCII
// characters that look alike: 0 and o; 1, I, l and i; rn and m. UTS #39 calls these
// confusable too. It is for whole listed names only, never for siblings.
func looksDenied(seg string) bool {
	var buf [maxListed]byte
	switch string(buf[:lookClass(&buf, seg)]) {
	case "hooks", "skllls", "commands", "conflg", "objects", "node_modules":
		return true
	}
	return false
}

// looksInstruction is looksDenied for the names of instruction files.
func looksInstruction(seg string) bool {
	var buf [maxListed]byte
	switch string(buf[:lookClass(&buf, seg)]) {
	case "claude.md", "gemlnl.md", "sklll.md", "lflow.md", "copllot-lnstructlons.md":
		return true
	}
	return false
}

// lookClass writes the class of each character of seg and returns their count, or
// 0 for a segment that is longer than any listed name.
func lookClass(buf *[maxListed]byte, seg string) int {
	if len(seg) > maxListed {
		return 0
	}
	n := 0
	for i := 0; i < len(seg); i++ {
		c := seg[i]
		switch {
		case c == '0':
			c = 'o'
		case c == '1' || c|0x20 == 'i' || c|0x20 == 'l':
			c = 'l'
		case c == 'r' && i+1 < len(seg) && seg[i+1] == 'n':
			c = 'm'
			i++
		case 'A' <= c && c <= 'Z':
			c += 'a' - 'A'
		}
		buf[n] = c
		n++
	}
	return n
}

// device reports whether Windows takes seg for a device, in any ASCII case: the
// text before the first dot, without trailing spaces, is CON, PRN, AUX, NUL,
// CLOCK$, CONIN$, CONOUT$, or COM or LPT and one digit of 1 to 9 or ¹²³.
//
// Source: Microsoft, "Naming Files, Paths, and Namespaces"; RtlIsDosDeviceName_U.
func device(seg string) bool {
	if i := strings.IndexByte(seg, '.'); i >= 0 {
		seg = seg[:i]
	}
	seg = strings.TrimRight(seg, " ")
	if len(seg) < 3 || len(seg) > len("CONOUT$") {
		return false
	}
	var buf [maxListed]byte
	b, _ := lowered(&buf, seg)
	switch string(b) {
	case "con", "prn", "aux", "nul", "clock$", "conin$", "conout$":
		return true
	}
	switch string(b[:3]) {
	case "com", "lpt":
		switch d := string(b[3:]); d {
		case "¹", "²", "³":
			return true
		default:
			return len(d) == 1 && '1' <= d[0] && d[0] <= '9'
		}
	}
	return false
}

// instruction reports whether agents load a file of this name by themselves.
//
// Names that are no ordinary word count in any case, with a qualifier too
// (CLAUDE.local.md). Those that are (agent, warp) count only in the spelling that
// their host looks for.
func instruction(seg string) bool {
	stem, ok := strings.CutSuffix(seg, ".md")
	if !ok || len(stem) > MaxSegment {
		return false
	}
	switch stem {
	case "AGENT", "WARP", "CRUSH", "SOUL": // Amp, Warp, Crush, OpenClaw
		return true
	}
	if i := strings.LastIndexByte(stem, '.'); i > 0 {
		var buf [maxListed]byte
		b, short := lowered(&buf, stem[i+1:])
		if !short {
			return false
		}
		switch string(b) {
		case "instructions", "prompt", "chatmode", "agent": // VS Code and Copilot
			return true
		case "local", "override", "overrides", "private", "personal", "global", "user", "project", "team", "shared":
			return instructionStem(stem[:i])
		}
		return false
	}
	return instructionStem(stem)
}

func instructionStem(stem string) bool {
	var buf [maxListed]byte
	b, ok := lowered(&buf, stem)
	if !ok {
		return false
	}
	switch string(b) {
	case "agents", "claude", "gemini", "qwen", "iflow", "skill", "copilot-instructions":
		return true
	}
	return false
}

// credentialFile reports whether a file of this name holds credentials by
// convention. It is for files that other tools read ([Sensitive]); a memory's name
// ends in .md.
func credentialFile(seg string) bool {
	var buf [maxListed]byte
	b, ok := lowered(&buf, seg)
	if ok {
		switch string(b) {
		case "id_rsa", "id_dsa", "id_ecdsa", "id_ecdsa_sk", "id_ed25519", "id_ed25519_sk",
			"authorized_keys", "known_hosts", "credentials", "credentials.json", "credentials.db", "secrets.json",
			"secrets.yaml", "secrets.yml", "secrets.toml", "secring.gpg", "_netrc", "pgpass.conf",
			"kubeconfig", "terraform.tfstate", "terraform.tfvars", "wp-config.php",
			"htpasswd", "shadow", "gshadow", "passwd", "sudoers", "service-account.json",
			"login data", "logins.json", "key3.db", "key4.db", "cookies.sqlite":
			return true
		}
	}
	i := strings.LastIndexByte(seg, '.')
	if i < 0 {
		return false
	}
	b, ok = lowered(&buf, seg[i+1:])
	if !ok {
		return false
	}
	switch string(b) {
	case "pem", "key", "p12", "pfx", "ppk", "jks", "keystore", "kdbx", "env":
		return true
	}
	return false
}

// shortName reports whether seg has the shape of a name that Windows makes up for
// 8.3 access: at most eight characters, a tilde and digits at their end, before an
// extension or nothing (GIT~1, GI7EBA~1, LONG-T~1.MD, GI7E~100).
func shortName(seg string) bool {
	i := strings.IndexByte(seg, '~')
	if i < 0 {
		return false
	}
	j := i + 1
	for j < len(seg) && '0' <= seg[j] && seg[j] <= '9' {
		j++
	}
	if j == i+1 || utf8.RuneCountInString(seg[:j]) > 8 {
		return false
	}
	rest := strings.TrimRight(seg[j:], ". ")
	return rest == "" || rest[0] == '.' || rest[0] == ':' || rest[0] == ' '
}

// Sensitive reports whether one segment is what no tool of a writer should enter
// or read, and by which rule: a leading dot, the deny-list, a device of Windows, an
// 8.3 name, a file that holds credentials by convention, or a name that folds to
// or looks like one of these. Windows' trailing dots and spaces and stream
// suffixes (":x") do not hide it. It is meant for names of files that exist,
// which need not be UTF-8 and may be anything else; an empty one is not sensitive.
func Sensitive(seg string) (rule string, bad bool) {
	switch seg {
	case ".":
		return ruleDot, true
	case "..":
		return ruleDotDot, true
	}
	if len(seg) > foreignLen {
		return ruleSegmentLong, true
	}
	if rule, bad := sensitiveView(seg); bad {
		return rule, true
	}
	if ascii(seg) {
		return "", false
	}
	key, look := fold.Views(seg)
	if rule, bad := sensitiveView(key); bad {
		return rule, true
	}
	// What only looks like a device is none, and a leading dot has its own test.
	switch rule, _ := sensitiveView(look); {
	case rule == ruleSensitive, rule == ruleLookAlike, rule == ruleHidden && dotLike(seg, look):
		return ruleLookAlike, true
	}
	return "", false
}

// sensitiveView judges one view of a segment.
func sensitiveView(seg string) (rule string, bad bool) {
	whole := seg
	if i := strings.IndexByte(seg, ':'); i >= 0 {
		seg = seg[:i]
	}
	seg = strings.Trim(strings.TrimRight(seg, ". "), " ")
	switch {
	case seg == "" && whole != "":
		return ruleTrailing, true
	case denied(seg) || credentialFile(seg):
		return ruleSensitive, true
	case strings.HasPrefix(seg, "."):
		return ruleHidden, true
	case device(seg):
		return ruleDevice, true
	case shortName(seg):
		return ruleShortName, true
	case looksDenied(seg):
		return ruleLookAlike, true
	}
	return "", false
}

func ascii(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}
