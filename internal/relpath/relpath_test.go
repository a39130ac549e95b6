package relpath

import (
	"errors"
	"slices"
	"strings"
	"testing"
)

func ruleOf(err error) string {
	if r := (*Refusal)(nil); errors.As(err, &r) {
		return r.Rule
	}
	return ""
}

func TestParseAllows(t *testing.T) {
	for _, name := range []string{
		"MEMORY.md", "memory.md", "a.md", "x/y/z.md", "config.md", "hooks.md", "config.d.md", "my-hooks/x.md", "hook/x.md",
		"skill/x.md", "agent.md", "agents-at-work.md", "claude.ai.md", "warp.md", "head-of-state.md", "objectives/q3.md",
		"git/rebase.md", "env.md", "ssh.md", "prompting.md", "instructions.md", "c0nfig.md",
		"con-artists.md", "consul.md", "com.md", "com10.md", "lpt.md", "lpt12.md", "nulls.md", "auxin.md", "coma/x.md",
		"2026-11-30.md", "v1.2.3-rc.1.md", "go.mod.md", "wait...what.md", "a..b.md", "main.go.md", "10.0.0.1.md",
		"R&D (draft), v2 = done!.md", "it's.md", "C#.md", "C++.md", "a@b.md", "x #1.md", "plus+minus-.md", "With Space/And Case.md",
		"周报/二〇二六年.md", "发布流程，第１版！.md", "データベース設計.md", "ノート.md", "カフェ・メモ.md", "・メモ.md", "卡拉OK.md", "ｶﾀｶﾅ.md",
		"회의록.md", "API설계.md", "日本語とEnglish混在.md", "ملاحظات.md", "ملف API.md", "٠١-خطة.md", "הערות.md", "יומן API.md", "שָׁלוֹם.md",
		"टिप्पणियाँ.md", "குறிப்பு.md", "บันทึกAPI.md", "မှတ်စု.md", "བོད་ཡིག.md",
		"заметки.md", "Docker-заметки.md", "україна/нотатки.md", "σημειώσεις.md", "π.md", "λ-calculus.md", "ᏣᎳᎩ.md", "նշումներ.md", "შენიშვნები.md",
		"naïve café.md", "straße.md", "żółw.md", "tiếng-Việt.md", "ısı.md", "İstanbul.md", "Hawaiʻi.md", "ø.md", "Æsop.md",
		"🎉 party.md", "🇯🇵-trip.md", "👍🏽.md", "½-marathon.md", "50€.md", "10°C.md", "H₂O.md", "m².md", "№5.md", "“quoted”.md", "don’t.md",
		"使用Ω符号.md", "β版.md", "wait….md",
		strings.Repeat("a", MaxSegment-3) + ".md",
		strings.Repeat("d/", MaxDepth-1) + "x.md",
	} {
		p, err := Parse(name)
		if err != nil {
			t.Errorf("Parse(%q): %v", name, err)
			continue
		}
		if p.String() != name || p.IsZero() {
			t.Errorf("Parse(%q) = %q", name, p)
		}
		if q, foreign, err := ParseForeign(name); q != p || foreign || err != nil {
			t.Errorf("ParseForeign(%q) = %q, %v, %v", name, q, foreign, err)
		}
	}
}

// refusals holds one defect a name: without it the name is allowed.
var refusals = []struct {
	name   string
	rule   string
	policy bool
}{
	{"", "path.empty", false},
	{strings.Repeat(strings.Repeat("b", 150)+"/", 6) + "x.md", "path.too-long", true},
	{strings.Repeat("b", foreignLen) + ".md", "path.too-long", false},
	{"caf\xe9.md", "path.utf8", false},
	{"\xc0\xae\xc0\xae/x.md", "path.utf8", false},
	{"\xed\xa0\x80.md", "path.utf8", false},

	{"a\x00b.md", "path.control", false},
	{"a\tb.md", "path.control", false},
	{"a\x7fb.md", "path.control", false},
	{"a\u0085b.md", "path.control", false},
	{"a\u2028b.md", "path.control", false},
	{"a\\b.md", "path.backslash", false},
	{"a:b.md", "path.colon", false},
	{"note.md:stream.md", "path.colon", false},
	{"C:x.md", "path.colon", false},
	{"a*.md", "path.glob", true},
	{"what?.md", "path.glob", true},
	{"[x].md", "path.glob", true},
	{"{a,b}.md", "path.glob", true},
	{"~/x.md", "path.tilde", false},
	{"~root.md", "path.tilde", false},
	{"about~.md", "path.tilde", true},
	{"GIT~1/x.md", "path.short-name", false},
	{"notes~12.md", "path.short-name", false},
	{"100%.md", "path.percent", true},
	{"%2e%2e/x.md", "path.percent", true},
	{"$HOME.md", "path.shell", true},
	{"a;b.md", "path.shell", true},
	{"a|b.md", "path.shell", true},
	{"`x`.md", "path.shell", true},
	{"\"x\".md", "path.shell", true},
	{"a<b.md", "path.shell", true},
	{"a^b.md", "path.shell", true},
	{"/x.md", "path.absolute", false},
	{"//x.md", "path.absolute", false},
	{"x.md/", "path.trailing-slash", false},

	{"a//b.md", "path.empty-segment", false},
	{"./a.md", "path.dot", false},
	{"a/./b.md", "path.dot", false},
	{"../a.md", "path.dot-dot", false},
	{"a/../b.md", "path.dot-dot", false},
	{"a/..", "path.dot-dot", false},
	{".../x.md", "path.hidden", false},
	{".x.md", "path.hidden", false},
	{".md", "path.hidden", false},
	{"a/._b.md", "path.hidden", false},
	{".obscure-tool/x.md", "path.hidden", false},
	{" x.md", "path.spacing", true},
	{"a  b.md", "path.spacing", true},
	{"x .md", "path.spacing", true},
	{"a\u00a0b.md", "path.spacing", true},
	{"a\u3000b.md", "path.spacing", true},
	{"-x.md", "path.leading", true},
	{"@x.md", "path.leading", true},
	{"#x.md", "path.leading", true},
	{"!x.md", "path.leading", true},
	{"a./x.md", "path.trailing", false},
	{"a /x.md", "path.trailing", false},
	{"x.md.", "path.trailing", false},
	{"x.md ", "path.trailing", false},
	{"x..md", "path.trailing", true},
	{strings.Repeat("a", MaxSegment-2) + ".md", "path.segment-too-long", true},
	{strings.Repeat("a", foreignSegment) + ".md", "path.segment-too-long", false},
	{strings.Repeat("d/", MaxDepth) + "x.md", "path.too-deep", true},
	{strings.Repeat("d/", foreignDepth) + "x.md", "path.too-deep", false},

	{"con.md", "path.device", false},
	{"PRN.md", "path.device", false},
	{"Aux/x.md", "path.device", false},
	{"nul.tar.gz.md", "path.device", false},
	{"com1.md", "path.device", false},
	{"LPT9 .md", "path.device", false},
	{"com\u00b9.md", "path.device", false},
	{"lpt\u00b3/x.md", "path.device", false},
	{"CONIN$.md", "path.device", false},
	{"conout$/x.md", "path.device", false},
	{"CLOCK$.md", "path.device", false},
	{"ＮＵＬ.md", "path.device", false},
	{"au\u2179.md", "path.device", false},

	{"hooks/x.md", "path.sensitive", false},
	{"a/SKILLS/x.md", "path.sensitive", false},
	{"Config/x.md", "path.sensitive", false},
	{".git/x.md", "path.sensitive", false},
	{".Scribe/x.md", "path.sensitive", false},
	{"node_modules/x.md", "path.sensitive", false},
	{"hook\u017f/x.md", "path.sensitive", false},
	{"ｏｂｊｅｃｔｓ/x.md", "path.sensitive", false},
	{"con\ufb01g/x.md", "path.sensitive", false},
	{"c0nfig/x.md", "path.look-alike", false},
	{"ski11s/x.md", "path.look-alike", false},
	{"cornmands/x.md", "path.look-alike", false},

	{"x", "path.extension", false},
	{"x.txt", "path.extension", false},
	{"x.MD", "path.extension", false},
	{"x.mdc", "path.extension", false},
	{"x．md", "path.extension", false},
	{"x.m\uff44", "path.extension", false},
	{"AGENTS.md", "path.instruction-file", true},
	{"a/agents.md", "path.instruction-file", true},
	{"CLAUDE.local.md", "path.instruction-file", true},
	{"Gemini.md", "path.instruction-file", true},
	{"skill.md", "path.instruction-file", true},
	{"AGENT.md", "path.instruction-file", true},
	{"copilot-instructions.md", "path.instruction-file", true},
	{"go.instructions.md", "path.instruction-file", true},
	{"fix.prompt.md", "path.instruction-file", true},
	{"ＣＬＡＵＤＥ.md", "path.instruction-file", true},
	{"c1aude.md", "path.look-alike", true},
	{"copilot\u2010instructions.md", "path.look-alike", true},

	{"a\ufff9b.md", "path.category", false},
	{"a\ue000b.md", "path.category", false},
	{"a\ufffdb.md", "path.category", false},
	{"a\u2800b.md", "path.category", false},
	{"a\u0600b.md", "path.category", false},
	{"a\u0378b.md", "path.unassigned", false},
	{"a\ufffeb.md", "path.unassigned", false},
	{"a\U000e0080b.md", "path.ignorable", false},
	{"a\u00adb.md", "path.ignorable", false},
	{"a\u200bb.md", "path.ignorable", false},
	{"a\u202eb.md", "path.ignorable", false},
	{"a\u2066b.md", "path.ignorable", false},
	{"می\u200cخواهم.md", "path.ignorable", true},
	{"❤\ufe0f.md", "path.ignorable", true},
	{"a\u2044b.md", "path.look-alike", false},
	{"a\u2215b.md", "path.look-alike", false},
	{"a\u29f5b.md", "path.look-alike", false},
	{"a\u3033b.md", "path.look-alike", false},
	{"etcノpasswd.md", "path.look-alike", false},
	{"a\u0338b.md", "path.look-alike", false},
	{"\u0301x.md", "path.mark", false},
	{"a-\u0302x.md", "path.mark", false},
	{"ｘ\u0302\u0302\u0302\u0302\u0302.md", "path.mark", false},
	{"n\u043etes.md", "path.mixed-script", true},
	{"αlpha.md", "path.mixed-script", true},
	{"t\u0585pics.md", "path.mixed-script", true},
	{"Ꭰlpha.md", "path.mixed-script", true},
	{"n\u05e1tes.md", "path.mixed-script", true},
	{"n\u0665tes.md", "path.mixed-script", true},
	{"cafe\u0301.md", "path.not-nfc", false},
	{"\u212b.md", "path.not-nfc", false},
	{"カ\u3099.md", "path.not-nfc", false},

	{"a\uff0fb.md", "path.compat", false},
	{"a\u2105b.md", "path.compat", false},
	{"a\uff3cb.md", "path.compat", false},
	{"a～b.md", "path.compat", false},
	{"题目：一.md", "path.compat", true},
	{"什么？.md", "path.compat", true},
	{"１００％.md", "path.compat", true},
	{"．x.md", "path.compat", false},
	{"\u2025/x.md", "path.compat", false},
	{"－x.md", "path.compat", true},
	{"x\u2026/y.md", "path.compat", false},
	{"һеаԁ/x.md", "path.look-alike", false},
	{"conf\u0131g/x.md", "path.look-alike", false},
	{"CONF\u0130G/x.md", "path.look-alike", false},
	{"ʜᴏᴏᴋꜱ/x.md", "path.look-alike", false},
	{"ski\u01c0ls/x.md", "path.look-alike", false},
	{"\u00b7git/x.md", "path.look-alike", false},
	{"\u0660git/x.md", "path.look-alike", false},
	{"\u0421\u0406\u0410\u040e.md", "", false}, // Cyrillic alone is no look-alike of anything listed
}

func TestParseRefuses(t *testing.T) {
	for _, tt := range refusals {
		p, err := Parse(tt.name)
		if got := ruleOf(err); got != tt.rule {
			t.Errorf("Parse(%.60q): rule %q, want %q", tt.name, got, tt.rule)
			continue
		}
		if tt.rule == "" {
			continue
		}
		if !p.IsZero() {
			t.Errorf("Parse(%.60q) = %q with a refusal", tt.name, p)
		}
		if r := err.(*Refusal); r.Policy != tt.policy {
			t.Errorf("Parse(%.60q): policy %v, want %v", tt.name, r.Policy, tt.policy)
		}
		p, foreign, err := ParseForeign(tt.name)
		if (err == nil) != tt.policy || foreign != tt.policy || p.IsZero() == tt.policy {
			t.Errorf("ParseForeign(%.60q) = %q, %v, %v; want foreign %v", tt.name, p, foreign, err, tt.policy)
		}
	}
}

// TestDenyList: every listed name, as a directory anywhere, in every disguise.
func TestDenyList(t *testing.T) {
	const list = ".git .ssh .aws .gnupg .dsh .zcode .scribe hooks .husky .githooks node_modules .vscode .idea head config objects " +
		"refs skills commands agents .cargo .devcontainer .yarn .mvn"
	wide := func(r rune) rune {
		if 'a' <= r && r <= 'z' {
			return r - 'a' + 'ａ'
		}
		return r
	}
	for _, name := range strings.Fields(list) {
		disguises := []string{
			name, strings.ToUpper(name), strings.ToUpper(name[:2]) + name[2:], strings.Map(wide, name),
			name + ".", name + " ", name + " .", " " + name, name + ":x", name + "::$INDEX_ALLOCATION",
			name[:2] + "\u200d" + name[2:], name[:2] + "\u00ad" + name[2:], name + "\ufe0f",
			strings.NewReplacer("s", "ſ", "k", "\u212a").Replace(name),
			strings.NewReplacer("a", "а", "e", "е", "o", "о", "i", "і", "c", "с", "s", "ѕ", "h", "һ").Replace(name),
			strings.NewReplacer("o", "0", "i", "1", "m", "rn").Replace(name),
		}
		for _, d := range disguises {
			for _, path := range []string{d + "/x.md", "topics/" + d + "/x.md"} {
				if _, err := Parse(path); err == nil {
					t.Errorf("Parse(%+q) is allowed", path)
				}
			}
			if _, bad := Sensitive(d); !bad {
				t.Errorf("Sensitive(%+q) is false", d)
			}
		}
		if strings.HasPrefix(name, ".") {
			continue
		}
		for _, near := range []string{name + ".md", name + "-x/y.md", "my-" + name + "/x.md", name + "x/y.md", name[1:] + "/x.md"} {
			if _, err := Parse(near); err != nil && near != "agents.md" {
				t.Errorf("Parse(%q): %v", near, err)
			}
		}
	}
}

func TestParseDir(t *testing.T) {
	root, err := ParseDir("")
	if err != nil || root.IsZero() || root.String() != "" || root.Segments() != nil {
		t.Errorf("ParseDir(\"\") = %+v, %v", root, err)
	}
	for _, name := range []string{"topics", "a/b/c", "v1.2", "notes.md", "会议"} {
		if p, err := ParseDir(name); err != nil || p.String() != name {
			t.Errorf("ParseDir(%q) = %q, %v", name, p, err)
		}
	}
	for name, rule := range map[string]string{
		"/": "path.absolute", "topics/": "path.trailing-slash", ".": "path.dot", "..": "path.dot-dot", ".git": "path.sensitive",
		"hooks": "path.sensitive", "a/config": "path.sensitive", "nul": "path.device", "a.": "path.trailing", "skill.md": "path.instruction-file",
	} {
		if _, err := ParseDir(name); ruleOf(err) != rule {
			t.Errorf("ParseDir(%q): %v, want %s", name, err, rule)
		}
	}
}

func TestPath(t *testing.T) {
	p, err := Parse("a/B/c d.md")
	if err != nil {
		t.Fatal(err)
	}
	if got := p.Base(); got != "c d.md" {
		t.Errorf("Base = %q", got)
	}
	if got := p.Segments(); !slices.Equal(got, []string{"a", "B", "c d.md"}) {
		t.Errorf("Segments = %q", got)
	}
	if got := p.Key(); got != "a/b/c d.md" {
		t.Errorf("Key = %q", got)
	}
	var up []string
	for d := p.Dir(); d.String() != ""; d = d.Dir() {
		if q, err := ParseDir(d.String()); err != nil || q != d {
			t.Errorf("ParseDir(%q) = %q, %v", d, q, err)
		}
		up = append(up, d.String())
	}
	if !slices.Equal(up, []string{"a/B", "a"}) {
		t.Errorf("directories %q", up)
	}
	if root := p.Dir().Dir().Dir(); root.IsZero() || root != root.Dir() {
		t.Errorf("root = %+v", root)
	}
	if !(Path{}).IsZero() || !(Path{}).Dir().IsZero() {
		t.Error("the zero Path is not zero")
	}
	for name, want := range map[string]bool{"MEMORY.md": true, "memory.md": false, "a/MEMORY.md": false} {
		if p, err := Parse(name); err != nil || p.IsIndex() != want {
			t.Errorf("Parse(%q).IsIndex() = %v, %v", name, p.IsIndex(), err)
		}
	}
}

func TestRefusal(t *testing.T) {
	for _, tt := range []struct {
		name, segment string
		r             rune
		suggestion    string
	}{
		{"a/b\u200bc/x.md", "b\u200bc", 0x200b, "a/bc/x.md"},
		{"a/hooks/x.md", "hooks", 0, "a/hooks-notes/x.md"},
		{"./x.md", ".", '.', "x.md"},
		{"x.MD", "x.MD", 0, "x.md"},
		{"notes", "notes", 0, "notes.md"},
		{"nul.2026.md", "nul.2026.md", 0, "nul-2026.md"},
		{"cafe\u0301.md", "cafe\u0301.md", 'e', "café.md"},
		{"题目：一.md", "题目：一.md", '：', "题目-一.md"},
		{"n\u043etes.md", "n\u043etes.md", 0x43e, "notes.md"},
		{"AGENTS.md", "AGENTS.md", 0, "AGENTS-notes.md"},
		{"../../etc/x.md", "..", '.', ""},
		{"/etc/x.md", "", '/', ""},
		{`C:\Users\x.md`, `C:\Users\x.md`, ':', ""},
		{"topics/*.md", "*.md", '*', ""},
		{"%2e%2e.md", "%2e%2e.md", '%', ""},
		{"con\ufb01g/x.md", "con\ufb01g", 0, "config-notes/x.md"},
	} {
		_, err := Parse(tt.name)
		r, ok := err.(*Refusal)
		if !ok || r.Segment != tt.segment || r.Rune != tt.r || r.Suggestion != tt.suggestion {
			t.Errorf("Parse(%+q) = %+v", tt.name, r)
		}
	}
}

func TestRefusalError(t *testing.T) {
	for name, want := range map[string]string{
		"a/../b.md":      "path not allowed: dot-dot segment",
		"a b/x\u200b.md": `path not allowed: invisible character: "x\u200b.md" (U+200B); try "a b/x.md"`,
		"hooks/x.md":     `path not allowed: reserved for tools: "hooks"; try "hooks-notes/x.md"`,
		`C:\Users\x.md`:  `path not allowed: colon: "C" (U+003A)`,
		"/etc/passwd":    "path not allowed: absolute name",
	} {
		if _, err := Parse(name); err == nil || err.Error() != want {
			t.Errorf("Parse(%+q): %v, want %s", name, err, want)
		}
	}
	for _, tt := range refusals {
		if tt.rule == "" {
			continue
		}
		if text := explain(tt.rule); text == explain("path.nonsense") {
			t.Errorf("%s has no text", tt.rule)
		}
	}
}

func TestSensitive(t *testing.T) {
	for seg, want := range map[string]string{
		".": "path.dot", "..": "path.dot-dot", "...": "path.trailing", " ": "path.trailing",
		".git": "path.sensitive", ".GIT ": "path.sensitive", ".g\u200cit": "path.hidden", ".unknown": "path.hidden", "．x": "path.hidden",
		"hooks": "path.sensitive", "Hooks:x": "path.sensitive", "h\u043e\u043eks": "path.look-alike",
		"id_rsa": "path.sensitive", "ID_ED25519": "path.sensitive", "server.pem": "path.sensitive", "prod.env": "path.sensitive", "credentials": "path.sensitive",
		"nul": "path.device", "com1.log": "path.device", "GIT~1": "path.short-name", "LONGNA~2.TXT": "path.short-name",
		"\xffhooks": "", "": "", "main.go": "", "config.md": "", "config.json": "", "README": "", "AGENTS.md": "", "notes~draft": "",
		"a-long-backup-name~1.txt": "", "credentials.md": "", "id_rsa.pub.md": "", "会议.md": "",
	} {
		if rule, bad := Sensitive(seg); rule != want || bad != (want != "") {
			t.Errorf("Sensitive(%+q) = %q, %v, want %q", seg, rule, bad, want)
		}
	}
}

func TestKeys(t *testing.T) {
	same := [][2]string{
		{"Alpha.md", "alpha.md"},
		{"straße.md", "STRASSE.md"},
		{"οδοσ.md", "ΟΔΟΣ.md"},
		{"ꭰ.md", "Ꭰ.md"},
		{"აბ", "ᲐᲑ"},
		{"ǆ.md", "Ǆ.md"},
		{"և.md", "եւ.md"},
		{"①.md", "1.md"},
		{"ａｂ.md", "ab.md"},
		{"é.md", "e\u0301.md"},
		{"notes", "notes. ."},
		{"a\u200db", "ab"},
	}
	for _, p := range same {
		if SegmentKey(p[0]) != SegmentKey(p[1]) {
			t.Errorf("SegmentKey of %+q and %+q differ", p[0], p[1])
		}
	}
	look := [][2]string{{"сор.md", "cop.md"}, {"асе.md", "ace.md"}, {"a–b", "a-b"}, {"ısı", "isi"}, {"ᴀ", "a"}}
	for _, p := range look {
		if LookKey(p[0]) != LookKey(p[1]) || SegmentKey(p[0]) == SegmentKey(p[1]) {
			t.Errorf("keys of %+q and %+q: %+q %+q", p[0], p[1], LookKey(p[0]), LookKey(p[1]))
		}
	}
	differ := [][2]string{{"notes.md", "notes2.md"}, {"ø.md", "o.md"}, {"j.md", "i.md"}, {"v1", "vl"}, {"rn", "m"}, {"0", "o"}, {"が", "か"}, {"é", "e"}, {"notes-", "notes"}, {"..", "."}}
	for _, p := range differ {
		if SegmentKey(p[0]) == SegmentKey(p[1]) || LookKey(p[0]) == LookKey(p[1]) {
			t.Errorf("%+q and %+q collide", p[0], p[1])
		}
	}
}
