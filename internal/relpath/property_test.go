package relpath

import (
	"path"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/memoryroom/scribe/internal/fold"
	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

// names draws names of which about half are allowed: words of several scripts and
// the atoms that the rules are about.
func names() *rapid.Generator[string] {
	word := rapid.OneOf(
		rapid.SampledFrom([]string{
			"notes", "topics", "Übung", "café", "会议", "ノート", "メモ", "한국어", "заметки", "σημεία", "הערות", "टिप्पणी", "2026", "v1.2", "a",
			"hooks", "config", "git", "con", "nul", "com1", "AGENTS", "CLAUDE", "ﬁn", "ſ", "\u212a", "ı", "İ", "straße", "Ꭰ", "ꭰ", "🎉", "½",
		}),
		rapid.StringMatching(`[a-z0-9_. -]{0,6}`),
		rapid.StringN(0, 3, -1),
	)
	glue := rapid.SampledFrom([]string{
		"", "", "-", "_", " ", ".", "/", "/", "..", "./", "../", "~", "~1", ":", "*", "\\", "\x00", "$", "%2e", "'", ",",
		"\u0301", "\u0338", "\u200d", "\u00ad", "\ufe0f", "\u202e", "\u00a0", "／", "：", "．", "…", "丿", "о", "е",
	})
	tame := rapid.StringMatching(`[a-z]{1,4}`)
	link := rapid.SampledFrom([]string{"", "-", "_", "/"})
	return rapid.Custom(func(t *rapid.T) string {
		var b strings.Builder
		wild := rapid.IntRange(0, 2).Draw(t, "wild") // words; without one, most names are allowed
		for range wild {
			b.WriteString(word.Draw(t, "word"))
			b.WriteString(glue.Draw(t, "glue"))
		}
		for range rapid.IntRange(0, 2).Draw(t, "tame") {
			b.WriteString(tame.Draw(t, "word"))
			b.WriteString(link.Draw(t, "link"))
		}
		b.WriteString(rapid.SampledFrom([]string{".md", ".md", ".md", ".md", "x.md", ".MD", "", ".ｍd", ".txt"}).Draw(t, "ext"))
		return b.String()
	})
}

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// checkParse asserts what holds for every name, and returns whether it is allowed.
func checkParse(t fataler, name string) bool {
	t.Helper()
	checkShortcuts(t, name)
	p, err := Parse(name)
	p2, err2 := Parse(name)
	if p != p2 || !reflect.DeepEqual(err, err2) {
		t.Fatalf("Parse(%+q) is not deterministic: %v, %v", name, err, err2)
	}
	q, foreign, ferr := ParseForeign(name)
	if ferr == nil && q.String() != name {
		t.Fatalf("ParseForeign(%+q) = %+q", name, q)
	}
	if err != nil {
		checkRefusal(t, name, err)
		if !p.IsZero() || ferr == nil && !foreign {
			t.Fatalf("ParseForeign(%+q) is not foreign, but Parse: %v", name, err)
		}
		return false
	}
	if ferr != nil || foreign {
		t.Fatalf("ParseForeign(%+q): %v, %v", name, foreign, ferr)
	}
	checkAllowed(t, name, p)
	return true
}

func checkRefusal(t fataler, name string, err error) {
	t.Helper()
	r, ok := err.(*Refusal)
	if !ok || !strings.HasPrefix(r.Rule, "path.") || explain(r.Rule) == explain("") {
		t.Fatalf("Parse(%+q): %#v", name, err)
	}
	if r.Segment != "" && !strings.Contains("/"+name+"/", "/"+r.Segment+"/") {
		t.Fatalf("Parse(%+q): segment %+q", name, r.Segment)
	}
	if strings.Contains(r.Error(), ` "/`) || !utf8.ValidString(r.Error()) || len(r.Error()) > 2048 {
		t.Fatalf("Parse(%+q): message %s", name, r)
	}
	if r.Suggestion != "" {
		if _, err := Parse(r.Suggestion); err != nil {
			t.Fatalf("Parse(%+q) suggests %+q: %v", name, r.Suggestion, err)
		}
	}
}

func checkAllowed(t fataler, name string, p Path) {
	t.Helper()
	switch {
	case p.String() != name, path.Clean(name) != name, !filepath.IsLocal(name), !strings.HasSuffix(name, ".md"):
		t.Fatalf("%+q is allowed and not clean", name)
	case !norm.NFC.IsNormalString(name) || !utf8.ValidString(name) || len(name) > MaxLen:
		t.Fatalf("%+q is allowed and not NFC or too long", name)
	case strings.Count(fold.Key(name), "/") != strings.Count(name, "/"):
		t.Fatalf("%+q is allowed and folds to other segments", name)
	}
	segs := p.Segments()
	for i, seg := range segs {
		if rule, bad := Sensitive(seg); bad && rule != ruleSensitive {
			t.Fatalf("%+q is allowed with a segment that is %s", name, rule)
		}
		for fs, model := range models {
			switch m := model(seg); {
			case m == "" || m[0] == '.' || strings.ContainsAny(m, `/\:`):
				t.Fatalf("%+q is allowed and is %+q to %s", name, m, fs)
			case denied(m) || device(m) || instruction(m):
				t.Fatalf("%+q is allowed and is the listed %+q to %s", name, m, fs)
			}
		}
		tail := strings.Join(segs[i:], "/")
		if _, err := Parse(tail); err != nil {
			t.Fatalf("%+q is allowed, its tail %+q is not: %v", name, tail, err)
		}
		if i > 0 {
			if _, err := ParseDir(strings.Join(segs[:i], "/")); err != nil {
				t.Fatalf("%+q is allowed, its directory is not: %v", name, err)
			}
		}
	}
	for what, m := range mutations(name) {
		if _, err := Parse(m); err == nil {
			t.Fatalf("%+q is allowed, and so is %+q (%s)", name, m, what)
		}
	}
}

// mutations are refused whatever allowed name they are made from.
func mutations(name string) map[string]string {
	return map[string]string{
		"slash":     name + "/",
		"dot":       name + ".",
		"space":     name + " ",
		"zwsp":      name + "\u200b",
		"stream":    name + ":x",
		"backslash": name + "\\",
		"nul":       name + "\x00",
		"absolute":  "/" + name,
		"dotslash":  "./" + name,
		"up":        "../" + name,
		"updown":    "a/../" + name,
		"double":    "a//" + name,
		"upper":     strings.TrimSuffix(name, ".md") + ".MD",
		"wide":      strings.TrimSuffix(name, ".md") + "．md",
		"hooks":     "hooks/" + name,
		"HOOKS":     "HOOKS/" + name,
		"hidden":    ".x/" + name,
		"device":    "nul/" + name,
		"short":     "GIT~1/" + name,
		"joiner":    "\u2060" + name,
		"bom":       "\ufeff" + name,
	}
}

// models give the name that a file system compares, of one segment.
var models = map[string]func(string) string{
	// Win32 and NTFS: streams cut, trailing dots and spaces dropped, each UTF-16 unit
	// in upper case by a table of simple mappings.
	"Win32": func(s string) string {
		s, _, _ = strings.Cut(s, ":")
		return lowerASCII(strings.Map(simpleUpper, strings.TrimRight(s, ". ")))
	},
	// exFAT: like NTFS, without streams.
	"exFAT": func(s string) string { return lowerASCII(strings.Map(simpleUpper, strings.TrimRight(s, ". "))) },
	// HFS+: NFD, 16 ignorables of length zero (git's utf8.c has them), simple folding.
	"HFS+": func(s string) string {
		return strings.Map(func(r rune) rune {
			switch {
			case 0x200C <= r && r <= 0x200F, 0x202A <= r && r <= 0x202E, 0x206A <= r && r <= 0x206F, r == 0xFEFF:
				return -1
			}
			return unicode.ToLower(r)
		}, norm.NFD.String(s))
	},
	// APFS, case-insensitive: NFD and simple folding.
	"APFS": func(s string) string { return strings.Map(unicode.ToLower, norm.NFD.String(s)) },
	// ext4 and f2fs with case folding: NFD, full case folding, every default-ignorable
	// of length zero (fs/unicode).
	"ext4": func(s string) string {
		s = cases.Fold().String(norm.NFD.String(s))
		return norm.NFD.String(strings.Map(func(r rune) rune {
			if fold.Ignorable(r) {
				return -1
			}
			return r
		}, s))
	},
}

// simpleUpper is unicode.ToUpper but for the dotless i and the long s, which
// Windows does not equate with ASCII letters.
func simpleUpper(r rune) rune {
	if r == 'ı' || r == 'ſ' {
		return r
	}
	return unicode.ToUpper(r)
}

func lowerASCII(s string) string {
	return strings.Map(func(r rune) rune {
		if 'A' <= r && r <= 'Z' {
			return r + 'a' - 'A'
		}
		return r
	}, s)
}

func TestParseProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkParse(t, names().Draw(t, "name")) })
}

// TestNamesAreAllowed holds the generator to names of both kinds.
func TestNamesAreAllowed(t *testing.T) {
	const all = 1000
	allowed := 0
	for seed := range all {
		if _, err := Parse(names().Example(seed)); err == nil {
			allowed++
		}
	}
	if allowed < all/5 || allowed > all*4/5 {
		t.Errorf("%d of %d names are allowed: the properties of the others go untested", allowed, all)
	}
}

// TestOneRune puts each code point into a name. Those that may be ASCII in a view
// are held to every property of allowed names, and what shows nothing is refused.
func TestOneRune(t *testing.T) {
	for r := rune(0x80); r <= unicode.MaxRune; r++ {
		name := "a" + string(r) + "b/c.md"
		_, err := Parse(name)
		if !fold.ClassOf(r).Visible() {
			if err == nil {
				t.Fatalf("Parse(%+q) is allowed", name)
			}
			continue
		}
		if err == nil && (strings.ContainsFunc(fold.Key(string(r)), isASCII) || fold.LooksLike(r) != "" || r < 0x300) {
			checkParse(t, string(r)+".md")
		}
	}
}

func isASCII(r rune) bool { return r < utf8.RuneSelf }

// TestKeyIsCoarser holds each model against SegmentKey, code point by code point:
// what a file system takes for one name has one key.
func TestKeyIsCoarser(t *testing.T) {
	for fs, model := range models {
		seen := map[string]string{}
		for r := rune(1); r <= unicode.MaxRune; r++ {
			if 0x4E00 <= r && r <= 0x9FFF || 0xAC00 <= r && r <= 0xD7A3 || !fold.Assigned(r) || unicode.Is(unicode.Co, r) || r == '/' {
				continue
			}
			s := "x" + string(r) + "y"
			m, k := model(s), SegmentKey(s)
			if (fs == "HFS+" || fs == "APFS") && r == 'İ' || fs == "Win32" && r == ':' {
				continue // Go lowers it to i, those to i and a dot; streams are refused
			}
			if old, ok := seen[m]; ok && old != k {
				t.Fatalf("%s takes %U for %+q, keys %+q and %+q", fs, r, m, k, old)
			}
			seen[m] = k
		}
	}
}

// TestKeyOfDisguises draws pairs that a model may equate, and holds them to
// SegmentKey.
func TestKeyOfDisguises(t *testing.T) {
	equal := 0
	rapid.Check(t, func(t *rapid.T) {
		a := rapid.StringMatching(`(Straße|ΟΔΟΣ|é|İ|ǅ|ᾳ|Ꭰ|ა|ﬁ|a|K|[a-z]){1,4}`).Draw(t, "a")
		b := a
		for range rapid.IntRange(1, 3).Draw(t, "steps") {
			switch rapid.IntRange(0, 6).Draw(t, "step") {
			case 0:
				b = norm.NFD.String(b)
			case 1:
				b = strings.Map(simpleUpper, b)
			case 2:
				b = strings.Map(unicode.ToLower, b)
			case 3:
				b = "\u00ad" + b
			case 4:
				b += "\u200d"
			case 5:
				b += ". "
			case 6:
				b = cases.Fold().String(b)
			}
		}
		for fs, model := range models {
			if strings.ContainsAny(norm.NFC.String(a+b), "İ") && fs != "ext4" {
				continue
			}
			if model(a) != model(b) {
				continue
			}
			equal++
			if SegmentKey(a) != SegmentKey(b) {
				t.Fatalf("%s takes %+q for %+q, keys %+q and %+q", fs, a, b, SegmentKey(a), SegmentKey(b))
			}
		}
	})
	if equal == 0 {
		t.Error("no pair was equal under any model")
	}
}

func FuzzParse(f *testing.F) {
	for _, tt := range refusals {
		if len(tt.name) < 100 {
			f.Add(tt.name)
		}
	}
	for _, n := range benchNames {
		f.Add(n.name)
	}
	f.Fuzz(func(t *testing.T, name string) {
		checkParse(t, name)
		if rule, bad := Sensitive(name); bad != (rule != "") {
			t.Fatalf("Sensitive(%+q) = %q, %v", name, rule, bad)
		}
		if p, err := ParseDir(name); err == nil && p.String() != name {
			t.Fatalf("ParseDir(%+q) = %+q", name, p)
		}
	})
}
