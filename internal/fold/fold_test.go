package fold

import (
	"slices"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/cases"
	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

func TestKeyEqual(t *testing.T) {
	for _, group := range [][]string{
		{"topics", "TOPICS", "ToPiCs", "ｔｏｐｉｃｓ", "to\u200Bpics", "\u00ADtopics"},
		{"strasse", "straße", "STRASSE", "STRAẞE", "ſtraſſe"},
		{"οδοσ", "οδος", "ΟΔΟΣ"},
		{"école", "École", "e\u0301cole", "E\u0301COLE"},
		{"ꭰꭱ", "ᎠᎡ", "Ꭰꭱ"},
		{"აბ", "ᲐᲑ"},
		{"ǆ", "ǅ", "Ǆ", "dž", "DŽ", "Dž"},
		{"եւ", "և", "ԵՒ", "Եւ"},
		{"ﬁn", "fin", "FIN", "ﬁN"},
		{"1", "①", "¹", "１"},
		{"kelvin", "\u212Aelvin"},
		{"å", "\u212B", "A\u030A", "Å"},
		{"привет", "ПРИВЕТ"},
		{"ガ", "カ\u3099", "ｶﾞ"},
		{"i\u0307", "İ", "I\u0307"},
		{"άι", "ᾴ", "Ά\u0345", "ΆΙ", "α\u0301\u0345", "α\u034F\u0345\u0301"},
		{"각", "\u1100\u1161\u11A8", "\u1100\u1160\u1161\u11A8"},
		{"ṩ", "s\u0323\u0307", "s\u0307\u0323", "Ṩ"},
	} {
		for _, s := range group {
			if got, want := Key(s), Key(group[0]); got != want {
				t.Errorf("Key(%+q) = %+q, want %+q as of %+q", s, got, want, group[0])
			}
		}
	}
}

func TestKeyDiffers(t *testing.T) {
	for _, pair := range [][2]string{
		{"notes", "notes2"},
		{"i", "ı"},
		{"İ", "i"},
		{"o", "ø"},
		{"e", "é"},
		{"ae", "æ"},
		{"c", "с"},
		{"か", "が"},
		{"a\xff", "a\uFFFD"},
	} {
		if Key(pair[0]) == Key(pair[1]) {
			t.Errorf("Key(%+q) == Key(%+q)", pair[0], pair[1])
		}
	}
}

func TestSkeleton(t *testing.T) {
	for _, tt := range []struct{ in, want string }{
		{"Plain.MD", "plain.md"},
		{"һеаԁ", "head"},
		{"НЕАD", "head"},
		{"ᏟᎪᎢ", "cat"},
		{"conf\u0131g", "config"},
		{"CONF\u0130G", "config"},
		{"confi\u0307g", "config"},
		{"ʜᴏᴏᴋꜱ", "hooks"},
		{"ski\u01C0ls", "skills"},
		{"\u03F2onfig", "config"},
		{"🅷🅴🅰🅳", "head"},
		{"ёж", "ëж"},
		{"е\u0308ж", "ëж"},
		{"a–b", "a-b"},
		{"\u0660git", ".git"},
		{"v1l", "v1l"},
		{"rn", "rn"},
		{"会议", "会议"},
		{"ノート", "ノート"},
	} {
		if got := Skeleton(tt.in); got != tt.want {
			t.Errorf("Skeleton(%+q) = %+q, want %+q", tt.in, got, tt.want)
		}
	}
	if Skeleton("ø") == Skeleton("o") || Skeleton("é") == Skeleton("e") {
		t.Error("a letter with a stroke or a mark has the skeleton of the letter")
	}
}

func TestIgnorable(t *testing.T) {
	n := 0
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if Ignorable(r) {
			n++
		}
	}
	if n != 4174 {
		t.Errorf("%d ignorable code points, want 4174", n)
	}
	for _, r := range []rune{0xAD, 0x34F, 0x61C, 0x115F, 0x17B5, 0x180E, 0x200D, 0x202E, 0x2066, 0x3164, 0xFE0F, 0xFEFF, 0xFFA0, 0xFFF0, 0x1BCA0, 0x1D173, 0xE0001, 0xE0FFF} {
		if !Ignorable(r) {
			t.Errorf("%U is not ignorable", r)
		}
	}
	for _, r := range []rune{0, ' ', 'a', 0xA0, 0x600, 0x2028, 0x2800, 0xFFF9, 0xFFFC, 0xFFFD, 0x110BD, 0x13430, 0x4E00, 0xE1000} {
		if Ignorable(r) {
			t.Errorf("%U is ignorable", r)
		}
	}
}

// sameVersion skips what compares the tables with a toolchain of another Unicode.
func sameVersion(t *testing.T) {
	if unicode.Version != Version || norm.Version != Version {
		t.Skipf("tables are of Unicode %s, the toolchain's of %s and %s: run go generate", Version, unicode.Version, norm.Version)
	}
}

func TestClasses(t *testing.T) {
	sameVersion(t)
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if got, want := Assigned(r), !unicode.Is(unicode.Cn, r) && !unicode.Is(unicode.Cs, r); got != want {
			t.Fatalf("Assigned(%U) = %v, want %v", r, got, want)
		}
		c := ClassOf(r)
		if got, want := c.Word(), unicode.In(r, unicode.L, unicode.M, unicode.N); got != want {
			t.Fatalf("ClassOf(%U).Word() = %v, want %v", r, got, want)
		}
		if got, want := c.Nonspacing(), unicode.In(r, unicode.Mn, unicode.Me); got != want {
			t.Fatalf("ClassOf(%U).Nonspacing() = %v, want %v", r, got, want)
		}
		if got, want := c.Alphabet() == Latin, unicode.Is(unicode.Latin, r); got != want {
			t.Fatalf("ClassOf(%U).Alphabet() is Latin: %v, want %v", r, got, want)
		}
		if c.Visible() && (!unicode.IsGraphic(r) || unicode.IsSpace(r) || Ignorable(r)) {
			t.Fatalf("ClassOf(%U).Visible()", r)
		}
	}
	for _, r := range []rune{' ', 0x7F, 0xA0, 0xAD, 0x2028, 0x2800, 0x3000, 0xE000, 0xFFFC, 0xFFFD, 0xFFFE, 0x1D159, 0x10FFFF} {
		if ClassOf(r).Visible() {
			t.Errorf("%U is visible", r)
		}
	}
	for _, r := range []rune{'a', 'é', '☕', 0x0301, '会', 'ノ', '丿', '1', '-', 0x1F600} {
		if !ClassOf(r).Visible() {
			t.Errorf("%U is not visible", r)
		}
	}
}

// naiveKey is the definition of Key, slowly: NFKD, full case folding, the minimum of
// the SimpleFold orbit, ignorables dropped, to the fixed point. Its
// representatives are others than Key's; the classes are to be the same.
func naiveKey(s string) string {
	var drop strings.Builder
	for _, r := range s {
		if !Ignorable(r) {
			drop.WriteRune(r)
		}
	}
	s = drop.String()
	fold := cases.Fold()
	for range 8 {
		var b strings.Builder
		for _, r := range norm.NFKD.String(s) {
			if Ignorable(r) {
				continue
			}
			for _, q := range fold.String(string(r)) {
				low := q
				for f := unicode.SimpleFold(q); f != q; f = unicode.SimpleFold(f) {
					if norm.NFKD.String(string(f)) == string(f) {
						low = min(low, f)
					}
				}
				b.WriteRune(low)
			}
		}
		next := norm.NFKD.String(b.String())
		if next == s {
			break
		}
		s = next
	}
	return s
}

// TestKeyEveryRune proves for each code point alone that Key is a fixed point, that
// case and normalisation do not change it, and that it has the classes of naiveKey.
func TestKeyEveryRune(t *testing.T) {
	sameVersion(t)
	naive := map[string]string{} // naiveKey to Key
	back := map[string]string{}
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) || common(r) || !Assigned(r) || unicode.Is(unicode.Co, r) {
			if utf8.ValidRune(r) && !Ignorable(r) && Key(string(r)) != string(r) {
				t.Fatalf("Key(%U) = %+q", r, Key(string(r)))
			}
			continue
		}
		s := string(r)
		k := Key(s)
		if Key(k) != k {
			t.Fatalf("Key(Key(%U)) = %+q, want %+q", r, Key(k), k)
		}
		if got := norm.NFKC.String(k); got != k {
			t.Fatalf("Key(%U) = %+q is not NFKC", r, k)
		}
		same := []string{norm.NFC.String(s), norm.NFD.String(s), norm.NFKC.String(s), norm.NFKD.String(s)}
		if r != 'İ' && r != 'ı' { // dotted and dotless i are letters of their own
			same = append(same, string(unicode.ToUpper(r)), string(unicode.ToLower(r)), string(unicode.ToTitle(r)))
		}
		for f := unicode.SimpleFold(r); f != r; f = unicode.SimpleFold(f) {
			same = append(same, string(f))
		}
		for _, v := range same {
			if got := Key(v); got != k {
				t.Fatalf("Key(%+q) = %+q, want %+q as of %U", v, got, k, r)
			}
		}
		n := naiveKey(s)
		if old, ok := naive[n]; ok && old != k {
			t.Fatalf("%U: Key %+q, want %+q", r, k, old)
		}
		if old, ok := back[k]; ok && old != n {
			t.Fatalf("%U: Key %+q is also that of %+q", r, k, old)
		}
		naive[n], back[k] = k, n
	}
}

func TestSkeletonEveryRune(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) || common(r) || !Assigned(r) {
			continue
		}
		for _, s := range []string{string(r), string(r) + "\u0308", "i" + string(r)} {
			k := Skeleton(s)
			if got := Skeleton(k); got != k {
				t.Fatalf("Skeleton(Skeleton(%+q)) = %+q, want %+q", s, got, k)
			}
			if got := Key(k); got != k {
				t.Fatalf("Key(Skeleton(%+q)) = %+q, want %+q", s, got, k)
			}
		}
	}
}

// runes draws what the rules are about, rather than what is common.
func runes() *rapid.Generator[rune] {
	return rapid.OneOf(
		rapid.RuneFrom([]rune("abiIjJkKsS/.-ßẞİıſςσΣᾳᾴΐǅǆﬁﬃևᎠꭰᲐა会ノガ가①ａ．／：")),
		rapid.RuneFrom(nil, unicode.Mn),
		rapid.RuneFrom(nil, unicode.Lu, unicode.Lt),
		rapid.RuneFrom([]rune{0xAD, 0x34F, 0x200B, 0x200D, 0x2066, 0x3164, 0xFE0F, 0xE0020, 0x1160, 0x345}),
		rapid.RuneFrom([]rune{0x1100, 0x1161, 0x11A8, 0x3099, 0x30AB, 0x0301, 0x0307, 0x0308}),
		rapid.Rune(),
	)
}

func text() *rapid.Generator[string] {
	return rapid.Map(rapid.SliceOfN(runes(), 0, 12), func(rs []rune) string { return string(rs) })
}

func TestKeyProperties(t *testing.T) {
	sameVersion(t)
	rapid.Check(t, func(t *rapid.T) {
		s := text().Draw(t, "s")
		k := Key(s)
		if got, want := naiveKey(k), naiveKey(s); got != want {
			t.Fatalf("Key(%+q) = %+q is of another class", s, k)
		}
		checkKey(t, s)
		at := rapid.IntRange(0, len(s)).Draw(t, "at")
		for at > 0 && at < len(s) && !utf8.RuneStart(s[at]) {
			at--
		}
		if got := Key(s[:at] + "\u2060" + s[at:]); got != k {
			t.Fatalf("Key with a word joiner at %d = %+q, want %+q", at, got, k)
		}
	})
}

type fataler interface {
	Helper()
	Fatalf(format string, args ...any)
}

// checkKey asserts what holds for every text.
func checkKey(t fataler, s string) {
	t.Helper()
	checkShortcuts(t, s)
	k := Key(s)
	if got := Key(k); got != k {
		t.Fatalf("Key(Key(%+q)) = %+q, want %+q", s, got, k)
	}
	if !utf8.ValidString(s) {
		return // the normal forms of what is no text say nothing
	}
	for _, f := range []norm.Form{norm.NFC, norm.NFD, norm.NFKC, norm.NFKD} {
		if got := Key(f.String(s)); got != k {
			t.Fatalf("form %d of %+q has key %+q, want %+q", f, s, got, k)
		}
	}
	sk := Skeleton(s)
	if k2, sk2 := Views(s); k2 != k || sk2 != sk {
		t.Fatalf("Views(%+q) = %+q, %+q, want %+q, %+q", s, k2, sk2, k, sk)
	}
	if strings.ContainsFunc(k, Ignorable) {
		t.Fatalf("Key(%+q) = %+q has an ignorable", s, k)
	}
	if c := norm.NFC.String(s); !strings.ContainsAny(c, "İı") {
		for _, v := range []string{strings.Map(unicode.ToUpper, c), strings.Map(unicode.ToLower, c)} {
			if got := Key(v); got != k {
				t.Fatalf("Key(%+q) = %+q, want %+q as of %+q", v, got, k, s)
			}
		}
	}
}

func TestLongRunsOfMarks(t *testing.T) {
	for _, s := range []string{strings.Repeat("\u0301", 100), "a" + strings.Repeat("\u0345", 100), "X" + strings.Repeat("\u0316\u0301", 50)} {
		k := Key(s)
		if Key(k) != k || strings.ContainsFunc(k, Ignorable) {
			t.Errorf("Key(%+q) = %+q", s, k)
		}
	}
}

func TestAllocs(t *testing.T) {
	for _, s := range []string{"topics/plain-name.md", "会议记录/项目计划.md", "données/à-jour.md", "データベース設計.md", "한국어/메모.md"} {
		if n := testing.AllocsPerRun(100, func() { Key(s); Skeleton(s) }); n != 0 {
			t.Errorf("Key and Skeleton of %q: %v allocations, want 0", s, n)
		}
	}
}

func TestTablesSorted(t *testing.T) {
	if !slices.IsSortedFunc(confusables[:], func(a, b runeToString) int { return int(a.r - b.r) }) ||
		!slices.IsSortedFunc(foldStrings[:], func(a, b runeToString) int { return int(a.r - b.r) }) ||
		!slices.IsSortedFunc(foldRanges[:], func(a, b caseRange) int { return int(a.lo - b.hi) }) ||
		!slices.IsSortedFunc(farClasses[:], func(a, b classRange) int { return int(a.lo - b.hi) }) {
		t.Error("a table that is searched by bisection is not sorted, or overlaps")
	}
	for _, c := range confusables {
		if c.r < utf8.RuneSelf || LooksLike(c.r) != c.to {
			t.Errorf("LooksLike(%U) = %q, want %q", c.r, LooksLike(c.r), c.to)
		}
	}
}

func FuzzKey(f *testing.F) {
	for _, s := range []string{"", "Plain.md", "straße", "e\u0301", "ꭰᎠ", "\u1100\u1160\u1161", "\xff\xfe", "İı", "ᾴ\u0345"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		if len(s) > 4096 {
			return
		}
		checkKey(t, s)
		checkView(t, s)
	})
}

func BenchmarkKey(b *testing.B) {
	for _, n := range []struct{ text, s string }{
		{"ascii", "topics/2026/deployment-notes.md"},
		{"upper", "Topics/2026/Deployment-Notes.md"},
		{"cjk", "会议记录/项目计划-2026.md"},
		{"accented", "données/résumé-à-jour.md"},
		{"decomposed", "donne\u0301es/re\u0301sume\u0301.md"},
	} {
		b.Run("text="+n.text, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if Key(n.s) == "" {
					b.Fatal("empty")
				}
			}
		})
	}
}

// checkShortcuts holds the quick ways to the slow one.
func checkShortcuts(t fataler, s string) {
	t.Helper()
	if !utf8.ValidString(s) {
		if k, sk := Views(s); k != Key(s) || sk != k || Skeleton(s) != k {
			t.Fatalf("%+q is not UTF-8, and has the views %+q and %+q", s, k, sk)
		}
		return
	}
	var buf [16]byte
	if b, _, ok := inertKey(buf[:0], s); ok && string(b) != slowKey(s) {
		t.Fatalf("inertKey(%+q) = %+q, slowKey %+q", s, b, slowKey(s))
	}
	key, look := Views(s)
	if key != Key(s) || look != settle(Key(mapConfusable(s))) {
		t.Fatalf("Views(%+q) = %+q, %+q, want %+q, %+q", s, key, look, Key(s), settle(Key(mapConfusable(s))))
	}
}

// TestShortcutsOneRune puts every code point beside others that compose with much.
func TestShortcutsOneRune(t *testing.T) {
	quick := 0
	for r := rune(0x80); r <= unicode.MaxRune; r++ {
		if !Assigned(r) || unicode.Is(unicode.Co, r) || common(r) || r >= 0x20000 && r%16 != 0 {
			continue
		}
		for _, s := range []string{"a" + string(r) + "b", "\u304B" + string(r) + "\u00E9"} {
			checkShortcuts(t, s)
			if _, _, ok := inertKey(nil, s); ok {
				quick++
			}
		}
	}
	if quick < 20000 {
		t.Errorf("only %d texts were keyed quickly", quick)
	}
}
