package lexical

import (
	"fmt"
	"math"
	"strings"
	"testing"
	"unicode"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

// spell renders tokens as kind:text, in order, with the source in brackets where
// it differs.
func spell(src string, dates bool) string {
	var out []string
	sc := scanner{emit: func(t token) bool {
		s := string("wWjhfd"[t.kind]) + ":" + string(t.text)
		if from := src[t.off:t.end]; from != string(t.text) {
			s += "[" + from + "]"
		}
		out = append(out, s)
		return true
	}}
	if dates {
		sc.dates(src)
	} else {
		sc.scan(src)
	}
	return strings.Join(out, " ")
}

func TestScan(t *testing.T) {
	for _, tt := range []struct{ src, want string }{
		{"", ""},
		{" ., -- __ ''", ""},
		{"Rotate KEYS weekly.", "w:rotate[Rotate] w:keys[KEYS] w:weekly"},
		{"maxRetryCount", "w:max w:retry[Retry] w:count[Count] W:maxretrycount[maxRetryCount]"},
		{"max_retry_count", "w:max w:retry w:count W:maxretrycount[max_retry_count]"},
		{"max-retry", "w:max w:retry j:maxretry[max-retry]"},
		{"HTTPServer", "w:http[HTTP] w:server[Server] W:httpserver[HTTPServer]"},
		{"Http2Server x86_64 GPT4", "w:http2[Http2] w:server[Server] W:http2server[Http2Server] w:x86 w:64 W:x8664[x86_64] w:gpt4[GPT4]"},
		{"myApp.mainLoop", "w:my w:app[App] W:myapp[myApp] w:main w:loop[Loop] W:mainloop[mainLoop] j:myappmainloop[myApp.mainLoop]"},
		{"_private_ -flag", "w:private w:flag"},
		{"v1.2.3 and 10.20", "w:v1 w:2 w:3 j:v123[v1.2.3] w:and w:10 w:20 j:10.20"},
		{"host:8080/path", "w:host w:8080 w:path j:host8080path[host:8080/path]"},
		{"ssh://git@host", "w:ssh w:git w:host"},
		{"https://example.com/a", "w:https w:example w:com w:a j:examplecoma[example.com/a]"},
		{"it's John’s cats' end", "w:it's w:john's[John’s] w:cats w:end"},
		{"a.b.c.d.e.f.g.h.i", "w:a w:b w:c w:d w:e w:f w:g w:h w:i"},
		{"Résumé ÅNGSTRÖM ﬁle ｗｉｄｅ straße", "w:resume[Résumé] w:angstrom[ÅNGSTRÖM] w:file[ﬁle] w:wide[ｗｉｄｅ] w:strasse[straße]"},
		{"йод Ёлка", "w:йод w:ёлка[Ёлка]"},
		{"so\u00adft zero\u200bwidth", "w:soft[so\u00adft] w:zerowidth[zero\u200bwidth]"},
		{"部署脚本", "h:部署 h:署脚 h:脚本"},
		{"茶", "h:茶"},
		{"红的车", "h:红 f:红的 f:的车 h:车"},
		{"我们", "f:我们"},
		{"用Go写", "h:用 w:go[Go] h:写"},
		{"ｶﾞｽ", "h:ガス[ｶﾞｽ]"},
		{"한국어", "h:한국 h:국어"},
		{"\xff\xfea\xff", "w:a"},
	} {
		if got := spell(tt.src, false); got != tt.want {
			t.Errorf("%q:\n got %s\nwant %s", tt.src, got, tt.want)
		}
	}
}

func TestDates(t *testing.T) {
	for _, tt := range []struct{ src, want string }{
		{"on 2031-07-09, noon", "d:07-09[2031-07-09]"},
		{"2031/7/9 2031.12.31", "d:07-09[2031/7/9] d:12-31[2031.12.31]"},
		{"2031-07/09 2031-13-01 2031-00-10 2031-07 2031-07-32", ""},
		{"12031-07-09", ""},
		{"7月9日和12月31号", "d:07-09[7月9日] d:12-31[12月31号]"},
		{"7月 9月 13月1日", ""},
		{"July 9th, JUL 9 jul. 9 Sept 1st", "d:07-09[July 9th] d:07-09[JUL 9] d:07-09[jul. 9] d:09-01[Sept 1st]"},
		{"9 July, 9th of July 2031", "d:07-09[9 July] d:07-09[9th of July]"},
		{"May 2031, may 100, Mayday 5, mar5, 5may, Marching 3", ""},
		{"July 9x", ""},
		{"", ""},
	} {
		got := spell(tt.src, true)
		if want := strings.ReplaceAll(tt.want, "d:", "d:d:"); got != want {
			t.Errorf("%q:\n got %s\nwant %s", tt.src, got, want)
		}
	}
}

// TestScanProperties: tokens lie in order within the source, never longer than
// they may be, and folding again changes nothing.
func TestScanProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		src := text().Draw(t, "src")
		for _, dates := range []bool{false, true} {
			last := 0
			sc := scanner{emit: func(k token) bool {
				if k.off < 0 || k.off >= k.end || k.end > len(src) || len(k.text) == 0 || len(k.text) > maxTerm {
					t.Fatalf("token %q at %d to %d of %d", k.text, k.off, k.end, len(src))
				}
				if k.kind == word && k.off < last {
					t.Fatalf("out of order at %d", k.off)
				}
				if k.kind == word {
					last = k.off
				}
				if again := string(fold(nil, string(k.text))); k.kind == word && len(k.text) < maxTerm && again != string(k.text) {
					t.Fatalf("%q folds to %q", k.text, again)
				}
				return true
			}}
			if dates {
				sc.dates(src)
			} else {
				sc.scan(src)
			}
		}
	})
}

// TestShortcuts: what the scanner decides without a look into the tables of Unicode is
// what they say.
func TestShortcuts(t *testing.T) {
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if separator(r) && (unspaced(r) || wordRune(r) || unicode.IsMark(r) || invisible(r)) {
			t.Errorf("%U is no separator", r)
		}
		text := string(r)
		want := rune(0)
		if 0x4E00 <= r && r <= 0x9FFF {
			want = r
		}
		if got := common(text, 0); got != want {
			t.Errorf("%U: common gives %U", r, got)
		}
		if want != 0 && !unspaced(r) || plainRune(r) && unspaced(r) && !norm.NFKC.IsNormalString(text) {
			t.Errorf("%U is not plain", r)
		}
	}
	for _, cut := range []string{"", "\xe5", "\xe5\xaf", "\xe5\xafa", "\xe5a\xaf"} {
		if r := common(cut, 0); r != 0 {
			t.Errorf("%q: %U", cut, r)
		}
	}
}

func TestFixedPoint(t *testing.T) {
	for _, n := range []int{1, 2, 3, 10, 999, 100_000, 1 << 24} {
		for _, df := range []int{0, 1, n / 3, n - 1, n} {
			want := math.Log(1 + (float64(n-df)+.5)/(float64(df)+.5))
			if got := float64(idf(n, df)) / 1e6; math.Abs(got-want) > 1e-5 {
				t.Errorf("idf(%d, %d): got %f, want %f", n, df, got, want)
			}
		}
	}
	damp := func(length, n, total int64) int64 {
		fixed, slope := damping(n, total)
		return fixed + length*slope>>slopeBits
	}
	for _, tf := range []float64{.3, 1, 7, 6553} {
		for _, length := range []float64{0, 1, 300, 1 << 17} {
			const n, total = 1000, 300_000
			want := 5 * tf * 2.2 / (tf + 1.2*(.6+.4*length/(total/n)))
			got := float64(gain(5_000_000, int64(tf*10), damp(int64(length), n, total))) / 1e6
			if math.Abs(got-want) > 1e-4 {
				t.Errorf("gain of %v in %v: got %f, want %f", tf, length, got, want)
			}
		}
	}
	// The largest values that the caps allow stay positive. No document is longer than
	// all together.
	for _, v := range []int64{
		damp(1<<17, 1<<24, 1<<17), gain(3*idf(1<<24, 0), maxTF, damp(0, 1, 1)), gain(idf(1<<24, 0), 1, damp(1<<17, 1<<24, 1<<17)) + 1,
	} {
		if v <= 0 {
			t.Errorf("overflow: %d", v)
		}
	}
	if damp(5, 1, 0) != k1 {
		t.Error("no lengths at all")
	}
	for _, v := range []int64{0, 1, 2, 3, 4, 15, 16, 17, 999_999, 1_000_000, 17_328_679, 1<<31 - 1} {
		if got, want := root(v), int64(math.Sqrt(float64(v))); got != want {
			t.Errorf("root of %d: got %d, want %d", v, got, want)
		}
	}
	for age := range int32(200) {
		want := math.Exp2(-float64(age) / 30)
		if got := float64(recency(20_000, 20_000-age)) / 1e6; math.Abs(got-want) > 2e-6 {
			t.Errorf("recency after %d days: got %f, want %f", age, got, want)
		}
	}
	if recency(20_000, 0) != 500_000 || recency(20_000, 20_001) != 1_000_000 || recency(1<<31-1, -1<<31) != 0 {
		t.Error("recency of no day, of tomorrow, of long ago")
	}
}

func ExampleIndex() {
	x := New()
	x.Put(Doc{ID: "build.md", Title: "Building", Body: "Run make release; the tests need maxRetryCount=3."})
	x.Put(Doc{ID: "travel.md", Title: "Travel", Body: "The user prefers trains."})
	hits, _ := x.Search(Query{Text: "what is max_retry_count in the tests?", Max: 3})
	for _, h := range hits {
		fmt.Println(h.ID, h.Score > 0)
	}
	// Output: build.md true
}
