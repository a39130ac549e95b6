package lexical

import (
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
)

var update = flag.Bool("update", false, "write testdata/golden.txt anew")

// golden is what a fixed corpus answers to fixed queries, every score with its parts.
func golden() string {
	ds := corpus(400)
	for i := range ds {
		ds[i].Day = int32(20_000 + i%90)
	}
	ds = append(ds, docsOf([][3]string{
		{"auth.md", "Auth migration", "JWT tokens replace sessions. Rollback: flip `use_jwt_tokens`, see https://example.com/auth/v1.2."},
		{"lint.md", "Linting", "We disabled noUnusedVars because generated code trips it."},
		{"trip.md", "Travel", "The user went to Kyoto on 2031-07-09 and bought a teapot."},
		{"zh.md", "部署", "部署之前要先运行数据库迁移脚本。用户喜欢在早上喝绿茶，不喝咖啡。"},
	})...)
	x := filled(ds)
	var b strings.Builder
	for _, q := range []string{
		"w17 w230 w1100 w9000", "w3 w5 w3 w3", "w1 w2 w3 w4 w5 w6 w7 w8 w9", "useJwtTokens rollback", "no unused vars",
		"what did the user buy on July 9th", "怎么运行数据库的迁移", "早上喝什么", "kubernetes", "the",
	} {
		hits, drops := x.Search(Query{q, 5, 20_090})
		fmt.Fprintf(&b, "%s %+v\n", q, drops)
		for _, h := range hits {
			fmt.Fprintf(&b, "\t%s %d %+v\n", h.ID, h.Score, h.Parts)
		}
	}
	return b.String()
}

// TestGolden holds the scores to the last digit. The file is the same for every
// architecture: 386 and arm64 read what amd64 wrote. On amd64, with qemu-user installed:
//
//	GOARCH=386 go test -run Golden ./internal/lexical
//	GOARCH=arm64 go test -exec qemu-aarch64 -run Golden ./internal/lexical
func TestGolden(t *testing.T) {
	const name = "testdata/golden.txt"
	got := golden()
	if *update {
		if err := os.WriteFile(name, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	if d := gocmp.Diff(got, string(want)); d != "" {
		t.Errorf("the ranking changed; if that is meant, go test ./internal/lexical -run TestGolden -update (-got +want):\n%s", d)
	}
	for _, procs := range []int{1, 2, 8} {
		was := runtime.GOMAXPROCS(procs)
		again := golden()
		runtime.GOMAXPROCS(was)
		if again != got {
			t.Errorf("another answer with GOMAXPROCS %d", procs)
		}
	}
}

// TestManyTerms: a million different words in one text, and in a thousand of them, cost
// what they cost and no more.
func TestManyTerms(t *testing.T) {
	n := 1_000_000
	if testing.Short() {
		n = 100_000
	}
	words := func(from, to int) string {
		var b strings.Builder
		for i := from; i < to; i++ {
			fmt.Fprintf(&b, "t%x ", i*7919)
		}
		return b.String()
	}
	x := written([][3]string{{"one.md", "", words(0, n)}})
	if x.dict.len() > maxDocTokens {
		t.Errorf("%d terms of one text", x.dict.len())
	}
	if n := bytesOf(t, x); n > 64*maxDocTokens {
		t.Errorf("one text takes %d bytes", n)
	}
	for i := range 1000 {
		x.Put(doc(fmt.Sprintf("n%03d.md", i), "", words(n+i*n/1000, n+(i+1)*n/1000)))
	}
	if got := ids(find(x, words(n+500*n/1000, n+500*n/1000+3), 3)); got != "n500.md" {
		t.Errorf("got %q", got)
	}
}

// TestSearchAllocates holds a warm search to one allocation, its hits.
func TestSearchAllocates(t *testing.T) {
	x := filled(corpus(500))
	x.Put(doc("zh.md", "部署", "部署之前要先运行数据库迁移脚本。"))
	for _, q := range []string{"w17 w230 the w1100", "maxRetryCount w3", "怎么运行数据库的迁移", "on July 9th 2031", strings.Repeat("w9 w12 ", 200)} {
		if n := testing.AllocsPerRun(50, func() { x.Search(Query{q, 10, 0}) }); n > 1 {
			t.Errorf("%.20q: %v allocations", q, n)
		}
	}
}

// FuzzPlan: however a query is taken apart, its parts stay within their limits and name
// each other rightly.
func FuzzPlan(f *testing.F) {
	f.Add("maxRetryCount max_retry-count July 9th 7月9日 数据库的迁移 don't", "max retry count maxretrycount 2031-07-09 数据库")
	f.Add(strings.Repeat("a b ", 400), "a b ab")
	f.Fuzz(func(t *testing.T, query, body string) {
		x := written([][3]string{{"a", "", body}, {"b", body, query}})
		s := x.borrow()
		defer x.giveBack(s)
		s.parse(query)
		if len(s.units) > maxUnits || len(s.pairs) > len(s.words) {
			t.Fatalf("%d units, %d pairs of %d words", len(s.units), len(s.pairs), len(s.words))
		}
		var sum int64
		for i, u := range s.units {
			if u.from > u.to || u.to > len(s.text) || u.idf < 0 || u.weight < 0 || u.said < 1 || u.term >= int64(x.dict.len()) {
				t.Fatalf("unit %d: %+v", i, u)
			}
			sum += u.idf
		}
		if sum != s.sum || s.total < 0 {
			t.Fatalf("idf %d of %d", sum, s.sum)
		}
		for _, p := range s.probes {
			if p.df == 0 || p.weight <= 0 || p.idf < 0 || p.units.first() >= len(s.units) {
				t.Fatalf("probe %+v", p)
			}
		}
		for _, p := range s.pairs {
			if p.a >= len(s.units) || p.reach > pairGap+pairSlack || p.next >= len(s.pairs) {
				t.Fatalf("pair %+v", p)
			}
		}
	})
}
