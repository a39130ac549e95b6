package lexical

import (
	"crypto/sha256"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"

	gocmp "github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// text makes texts from a small stock of words, so that they share some, and now
// and then anything.
func text() *rapid.Generator[string] {
	stock := rapid.SampledFrom([]string{
		"deploy", "deployed", "the", "not", "server", "HTTPServer", "http_server", "http-server", "key", "Keys", "rotate",
		"2031-07-09", "July 9th", "部署", "服务器的密钥", "我", "1.2", ".", "\n", "_", "'s", "é", "\u0301", "\u200b", "ｶﾞ", "\xff",
	})
	return rapid.OneOf(
		rapid.Map(rapid.SliceOfN(stock, 0, 12), func(w []string) string { return strings.Join(w, " ") }),
		rapid.Map(rapid.SliceOfN(stock, 0, 12), func(w []string) string { return strings.Join(w, "") }),
		rapid.String(),
	)
}

func docs() *rapid.Generator[[]Doc] {
	return rapid.Custom(func(t *rapid.T) []Doc {
		n := rapid.IntRange(1, 12).Draw(t, "n")
		ds := make([]Doc, n)
		for i := range ds {
			ds[i] = doc(fmt.Sprintf("d%02d.md", i), rapid.SampledFrom([]string{"", "Keys", "http server"}).Draw(t, "title"), text().Draw(t, "body"))
			ds[i].Day = rapid.Int32Range(0, 40).Draw(t, "day")
		}
		return ds
	})
}

func doc(id, title, body string) Doc {
	return Doc{ID: id, Title: title, Body: body, Sum: sha256.Sum256([]byte(body))}
}

func docsOf(texts [][3]string) (ds []Doc) {
	for _, t := range texts {
		ds = append(ds, doc(t[0], t[1], t[2]))
	}
	return ds
}

// written makes an index of an ID, a title and a body each.
func written(texts [][3]string) *Index { return filled(docsOf(texts)) }

func filled(ds []Doc) *Index {
	x := New()
	for _, d := range ds {
		x.Put(d)
	}
	return x
}

// find searches without a day.
func find(x *Index, query string, limit int) []Hit {
	hits, _ := x.Search(Query{Text: query, Max: limit})
	return hits
}

func ids(hits []Hit) string {
	var s []string
	for _, h := range hits {
		s = append(s, h.ID)
	}
	return strings.Join(s, " ")
}

func TestSearch(t *testing.T) {
	x := written([][3]string{
		{"auth.md", "Auth migration", "JWT tokens replace sessions. Rollback: flip the `use_jwt_tokens` flag."},
		{"lint.md", "Linting", "We disabled noUnusedVars in the ESLint config because generated code trips it."},
		{"trip.md", "Travel", "The user went to Kyoto on 2031-07-09 and bought a teapot."},
		{"coffee.md", "Coffee", "Prefers filter coffee; no sugar."},
		{"ja.md", "", "用户喜欢在早上喝绿茶，不喝咖啡。"},
		{"zh.md", "", "部署之前要先运行数据库迁移脚本。"},
		{"quote.md", "", "To be or not to be."},
		{"cafe.md", "", "Meet at the café Größenwahn."},
	})
	for _, tt := range []struct{ query, want string }{
		{"token migrations", "auth.md"},
		{"useJwtTokens", "auth.md"},
		{"use-jwt-tokens", "auth.md"},
		{"no_unused_vars", "lint.md"},
		{"no-unused-vars", "lint.md"},
		{"no unused vars", "lint.md"},
		{"NoUnusedVars", "lint.md"},
		{"nounusedvars", "lint.md"},
		{"Where did the user go on July 9th?", "trip.md"},
		{"7月9日", "trip.md"},
		{"what did they buy", "trip.md"},
		{"Kyoto", "trip.md"},
		{"COFFEE", "coffee.md"},
		{"他早上喝什么茶", "ja.md"},
		{"怎么运行数据库的迁移", "zh.md"},
		{"cafe grossenwahn", "cafe.md"},
		{"to be or not to be", "quote.md"},
		{"", ""},
		{"?!", ""},
		{"kubernetes ingress", ""},
		{"kubernetes ingress controller timeout flag", ""},
		{"量子力学", ""},
	} {
		if got, _, _ := strings.Cut(ids(find(x, tt.query, 5)), " "); got != tt.want {
			t.Errorf("%q: got %q, want %q", tt.query, ids(find(x, tt.query, 5)), tt.want)
		}
	}
}

func TestRanking(t *testing.T) {
	x := written([][3]string{
		{"b.md", "", "alpha beta"},
		{"a.md", "", "alpha beta"},
		{"title.md", "alpha", "beta"},
		{"long.md", "", "alpha beta " + strings.Repeat("filler ", 50)},
		{"twice.md", "", "alpha alpha"},
	})
	if got, want := ids(find(x, "alpha", 9)), "title.md twice.md a.md b.md long.md"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if got, want := ids(find(x, "alpha", 2)), "title.md twice.md"; got != want {
		t.Errorf("two: got %s, want %s", got, want)
	}
	if find(x, "alpha", 0) != nil || find(x, "alpha", -1) != nil || find(New(), "alpha", 3) != nil {
		t.Error("hits out of nothing")
	}
}

// TestCoverage: what shares only a common word with a query is not there, but a
// single memory must not be held to the idf of an index of one.
func TestCoverage(t *testing.T) {
	one := written([][3]string{{"only.md", "", "Deploys run from the release branch."}})
	if got := ids(find(one, "how do I deploy the gateway", 3)); got != "only.md" {
		t.Errorf("one of two words in a room of one: got %q", got)
	}
	if got := ids(find(one, "deploy gateway xylophone zebra quartz", 3)); got != "" {
		t.Errorf("one of five: got %q", got)
	}
	talk := strings.Repeat("we spoke about gardens rivers mountains painting singing dancing cooking fishing ", 1) +
		"and then the release branch and deploys came up"
	if got := ids(find(one, talk, 3)); got != "only.md" {
		t.Errorf("several turns of talk: got %q", got)
	}
}

// TestCoverageCountsOnce: a joined form stands for its parts and adds nothing to
// them.
func TestCoverageCountsOnce(t *testing.T) {
	x := New()
	for i := range coverageDocs {
		body := "padding"
		if i < 12 {
			body = "maxRetry"
		}
		x.Put(doc(fmt.Sprintf("%02d.md", i), "", body))
	}
	if got := ids(find(x, "maxRetry xylophone zebra quartz", 3)); got != "" {
		t.Errorf("got %q", got)
	}
}

func TestHitFloor(t *testing.T) {
	x := written([][3]string{{"whole.md", "", "walrus herring harbour winter common"}})
	for i := range 40 {
		x.Put(doc(fmt.Sprintf("n%02d.md", i), "", "common padding"))
	}
	if got := ids(find(x, "common walrus herring harbour winter", 50)); got != "whole.md" {
		t.Errorf("got %q", got)
	}
}

func TestDateOutweighsAWord(t *testing.T) {
	x := written([][3]string{{"a.md", "", "walrus padding padding padding"}, {"b.md", "", "note of 2031-07-09"}})
	if got := ids(find(x, "walrus on July 9th", 2)); got != "b.md a.md" {
		t.Errorf("got %q", got)
	}
}

func TestPutAndRemove(t *testing.T) {
	x := written([][3]string{{"a.md", "", "walrus"}, {"b.md", "", "walrus penguin"}})
	x.Put(doc("a.md", "", "penguin"))
	if got := ids(find(x, "walrus", 5)); got != "b.md" || x.Len() != 2 {
		t.Errorf("after replacing: %q of %d", got, x.Len())
	}
	x.Remove("b.md")
	x.Remove("b.md")
	x.Remove("never.md")
	if got := ids(find(x, "walrus", 5)); got != "" || x.Len() != 1 {
		t.Errorf("after removing: %q of %d", got, x.Len())
	}
	for i := range 1000 {
		x.Put(doc("c.md", "", fmt.Sprintf("giraffe number%d", i)))
	}
	if len(x.slots) > 4*compactAbove || x.dict.len() > 4*compactAbove {
		t.Errorf("%d slots and %d terms for 2 documents", len(x.slots), x.dict.len())
	}
	if got := ids(find(x, "giraffe number999", 5)); got != "c.md" {
		t.Errorf("after compaction: %q", got)
	}
}

// TestSameSetSameBytes: hits, scores and windows depend on the set of documents
// alone, however it came about.
func TestSameSetSameBytes(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ds := docs().Draw(t, "docs")
		query := text().Draw(t, "query")
		want := find(filled(ds), query, 20)
		permuted := filled(rapid.Permutation(ds).Draw(t, "order"))
		worn := New()
		for _, d := range ds {
			worn.Put(doc(d.ID, "old", text().Draw(t, "old body")))
			worn.Put(doc("gone "+d.ID, "", d.Body))
		}
		for _, d := range rapid.Permutation(ds).Draw(t, "order of replacing") {
			worn.Put(d)
			worn.Remove("gone " + d.ID)
		}
		for name, x := range map[string]*Index{"permuted": permuted, "worn": worn} {
			if d := gocmp.Diff(find(x, query, 20), want); d != "" {
				t.Fatalf("%s: %s", name, d)
			}
		}
		decoded, err := from(encoded(t, worn))
		if err != nil {
			t.Fatal(err)
		}
		if d := gocmp.Diff(find(decoded, query, 20), want); d != "" {
			t.Fatalf("decoded: %s", d)
		}
		for _, d := range rapid.Permutation(ds).Draw(t, "order after reading") {
			decoded.Put(doc(d.ID, "other", "other words"))
			decoded.Put(d)
		}
		if d := gocmp.Diff(find(decoded, query, 20), want); d != "" {
			t.Fatalf("written after reading: %s", d)
		}
		worn.compact()
		if d := gocmp.Diff(find(worn, query, 20), want); d != "" {
			t.Fatalf("compacted: %s", d)
		}
	})
}

func TestSearchInParallel(t *testing.T) {
	x := New()
	for i := range 200 {
		x.Put(doc(fmt.Sprint(i), "", fmt.Sprintf("shared word%d", i%7)))
	}
	want := find(x, "shared word3", 10)
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			for range 50 {
				find(x, "word5 elsewhere", 3)
				if d := gocmp.Diff(find(x, "shared word3", 10), want); d != "" {
					t.Error(d)
					return
				}
			}
		})
	}
	wg.Wait()
}

func TestWindow(t *testing.T) {
	filler := strings.Repeat("lorem ipsum dolor sit amet consectetur ", 20)
	for _, tt := range []struct{ body, query, has string }{
		{"short note about walrus", "walrus", "short note about walrus"},
		{filler + "\nThe walrus likes herring.\n" + filler, "walrus herring", "The walrus likes herring."},
		{"walrus first. " + filler + "walrus with herring " + filler, "walrus herring", "walrus with herring"},
		{"walrus one " + filler + " walrus two", "walrus", "walrus one"},
		{filler + "海象喜欢鲱鱼" + filler, "海象鲱鱼", "海象喜欢鲱鱼"},
		{filler + " on 2031-07-09 " + filler, "July 9", "2031-07-09"},
		{filler + " maxRetryCount " + filler, "max retry count", "maxRetryCount"},
		{filler + " maxretrycount " + filler, "max retry count", "maxretrycount"},
	} {
		x := written([][3]string{{"w.md", "", tt.body}})
		hits := find(x, tt.query, 1)
		if len(hits) != 1 {
			t.Errorf("%q: no hit", tt.query)
			continue
		}
		off, n := x.Window(tt.query, tt.body)
		if got := tt.body[off:][:n]; !strings.Contains(got, tt.has) {
			t.Errorf("%q: got %q", tt.query, got)
		}
	}
	body := "  Beginning of the body, " + filler
	x := written([][3]string{{"t.md", "walrus", body}})
	if off, n := x.Window("walrus", body); off != 2 || n == 0 || n > maxWindow {
		t.Errorf("title only: %d+%d", off, n)
	}
}

func checkHits(t interface {
	Fatalf(string, ...any)
}, x *Index, query string, byID map[string]string, hits []Hit, limit int,
) {
	if len(hits) > limit {
		t.Fatalf("%d hits", len(hits))
	}
	for i, h := range hits {
		body, ok := byID[h.ID]
		p := h.Parts
		if !ok || h.Score <= 0 || h.Score != p.Terms+p.Window+p.Pairs+p.Exact+p.Recency || p.Coverage < 0 || p.Coverage > 1e6 {
			t.Fatalf("hit %+v", h)
		}
		off, n := x.Window(query, body)
		if off < 0 || n < 0 || n > maxWindow || off+n > len(body) {
			t.Fatalf("window %d+%d of %d bytes", off, n, len(body))
		}
		if i > 0 && (hits[i-1].Score < h.Score || hits[i-1].Score == h.Score && hits[i-1].ID >= h.ID) {
			t.Fatalf("order: %+v before %+v", hits[i-1], h)
		}
		if w := body[off:][:n]; utf8.ValidString(body) && !utf8.ValidString(w) {
			t.Fatalf("window %q", w)
		}
	}
}

func TestHostile(t *testing.T) {
	// One line of 5 MiB where bytes alone could hurt, less where tokens are counted.
	long := func(s string) string {
		size := 256 << 10
		if s == "a" || s == "\u0301" {
			size = 5 << 20
		}
		return strings.Repeat(s, size/len(s))
	}
	// Linear work takes a second or two; quadratic, longer than any test may run.
	for name, body := range map[string]string{
		"letters":  long("a"),
		"capitals": long("aB"),
		"marks":    "e" + long("\u0301"),
		"han":      long("密"),
		"function": long("的"),
		"kana":     long("ｶﾞ"),
		"links":    long("a-"),
		"slashes":  long("/"),
		"digits":   long("1"),
		"dates":    long("7月9日"),
		"months":   long("may "),
		"joiners":  long("\u200d"),
		"invalid":  long("\xff"),
		"cut":      long("\xe5\xaf"),
	} {
		x := written([][3]string{{"h.md", body[:1000], body}, {"n.md", "", "an ordinary note"}})
		for _, q := range []string{body, body[:100], "ordinary note"} {
			checkHits(t, x, q, map[string]string{"h.md": body, "n.md": "an ordinary note"}, find(x, q, 5), 5)
		}
		if got := ids(find(x, "ordinary note", 5)); got != "n.md" {
			t.Errorf("%s: got %q", name, got)
		}
		if x.dict.len() > maxDocTokens {
			t.Errorf("%s: %d terms", name, x.dict.len())
		}
		if n := bytesOf(t, x); n > 8<<20 { // maxDocTokens terms of maxTerm bytes take so much
			t.Errorf("%s: the index has %d bytes", name, n)
		}
	}
}

func TestManyUnits(t *testing.T) {
	var q strings.Builder
	for i := range 3 * maxUnits {
		fmt.Fprintf(&q, "term%d ", i)
	}
	x := written([][3]string{{"first.md", "", "term3 term4 term5 term6 term7"}, {"late.md", "", fmt.Sprintf("term%d", 2*maxUnits)}})
	if got := ids(find(x, q.String(), 5)); got != "first.md" {
		t.Errorf("got %q", got)
	}
}

func FuzzSearch(f *testing.F) {
	f.Add("HTTPServer config\nrotate keys", "http_server", "部署服务器的密钥 July 9th", uint8(3))
	f.Add("\u0301\u200b\xff", "e\u0301", "ｶﾞｽ", uint8(1))
	f.Fuzz(func(t *testing.T, a, b, query string, max uint8) {
		ds := docsOf([][3]string{{"a", "", a}, {"b", a, b}, {"c", b, query}})
		byID := map[string]string{}
		for _, d := range ds {
			byID[d.ID] = d.Body
		}
		limit := int(max % 8)
		x := filled(ds)
		hits := find(x, query, limit)
		checkHits(t, x, query, byID, hits, limit)
		slices.Reverse(ds)
		y := filled(append([]Doc{doc("z", "", query)}, ds...))
		y.Remove("z")
		if d := gocmp.Diff(find(y, query, limit), hits); d != "" {
			t.Fatal(d)
		}
	})
}

// corpus makes n notes of some 120 words with a long-tailed vocabulary.
func corpus(n int) []Doc {
	r := rand.New(rand.NewPCG(1, 2))
	ds := make([]Doc, n)
	for i := range ds {
		var b strings.Builder
		for range 120 {
			v := r.Float64()
			fmt.Fprintf(&b, "w%d ", int(20_000*v*v*v*v))
		}
		ds[i] = doc(fmt.Sprintf("n%05d.md", i), "", b.String())
	}
	return ds
}

func BenchmarkSearch(b *testing.B) {
	for _, n := range []int{100, 1000, 10_000} {
		b.Run(fmt.Sprintf("docs=%d", n), func(b *testing.B) {
			x := filled(corpus(n))
			b.ReportAllocs()
			for b.Loop() {
				if len(find(x, "w17 w230 w1100 w9000", 10)) == 0 {
					b.Fatal("no hits")
				}
			}
		})
	}
}

func BenchmarkPut(b *testing.B) {
	ds := corpus(1000)
	x := filled(ds)
	b.ReportAllocs()
	b.SetBytes(int64(len(ds[0].Body)))
	i := 0
	for b.Loop() {
		x.Put(ds[i%len(ds)])
		i++
	}
	if x.Len() != len(ds) {
		b.Fatal(x.Len())
	}
}
