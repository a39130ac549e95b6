package secret

import (
	"io"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rs/zerolog"
	"github.com/zricethezav/gitleaks/v8/detect"
	"github.com/zricethezav/gitleaks/v8/logging"

	"github.com/memoryroom/scribe/internal/directive"
	"github.com/memoryroom/scribe/internal/hidden"
	scan "github.com/memoryroom/scribe/internal/secret"
)

// Sentences of notes as agents keep them; all without a credential.
var sentences = []string{
	"The staging build uses Go 1.26 and runs `make check` before every merge.", "Tokens are kept in the vault, see docs/auth.md, and rotate every quarter.", "The user prefers short answers and British spelling.",
	"Release branches are cut on Thursdays; hotfixes go through the same review.", "Commit 9f2c41d7a0b35e6688f1c2d4e7b9a0c3d5f71e28 moved the docs to their own folder.", "Cache keys have a tenant and a date, page tokens are opaque.", "Postgres listens on port 5432 in staging and on 5433 in the test setup.",
	"| service | owner | port |\n|---|---|---|\n| api | platform | 8080 |", "```sh\nmake build && ./bin/server -config config.yaml\n```", "- request id 4be28d25-1641-4e1c-96d7-321bd5fa3757 failed with a timeout", "The password policy asks for twelve characters; nobody writes one down.", "`internal/store` owns the schema; migrations run in order and never twice.",
}

// notes draws clean notes of one to four kilobytes.
func notes() (out []string) {
	r := rand.New(rand.NewPCG(1, 2))
	for range 40 {
		var b strings.Builder
		for size := 1024 + r.IntN(3072); b.Len() < size; {
			b.WriteString(sentences[r.IntN(len(sentences))])
			b.WriteByte('\n')
		}
		out = append(out, b.String())
	}
	return out
}

// classes is a table of bytes, as any scanner has one.
var classes = func() (t [256]uint8) {
	for c := range t {
		t[c] = uint8(c>>5) ^ uint8(c)&3
	}
	return t
}()

// byteLoop looks up the class of every byte, the least that a scanner does.
func byteLoop(s string) (n int) {
	for i := range len(s) {
		n += int(classes[s[i]])
	}
	return n
}

// sink keeps the loop from being dropped.
var sink int

func peer(tb testing.TB) *detect.Detector {
	logging.Logger = zerolog.New(io.Discard)
	d, err := detect.NewDetectorDefaultConfig()
	if err != nil {
		tb.Fatal(err)
	}
	return d
}

// A ratio is how the three compare on the same notes in one run.
type ratio struct{ gitleaks, byteloop float64 }

// compare runs the three in turn, note by note, and compares the sums of the fastest time that
// each took for each note. Whatever else the machine does only adds to a time; a ratio of single
// runs it would move either way.
func compare(tb testing.TB, d *detect.Detector, texts []string, rounds int) ratio {
	var ours, theirs, loop time.Duration
	sum := 0
	for _, s := range texts {
		ours += fastest(rounds, 8, func() { sum += len(scan.Scan(s)) })
		theirs += fastest(rounds, 1, func() { sum += len(d.DetectString(s)) })
		loop += fastest(rounds, 64, func() { sink += byteLoop(s) })
	}
	if sum != 0 {
		tb.Fatalf("%d findings in clean notes", sum)
	}
	return ratio{float64(theirs) / float64(ours), float64(ours) / float64(loop)}
}

// fastest gives the least time of one call in some rounds of several: one is too short for
// the clock.
func fastest(rounds, calls int, call func()) time.Duration {
	least := time.Hour
	for range rounds {
		start := time.Now()
		for range calls {
			call()
		}
		least = min(least, time.Since(start)/time.Duration(calls))
	}
	return least
}

func median(d []time.Duration) time.Duration {
	slices.Sort(d)
	return d[len(d)/2]
}

// screen is what admission asks of a text before it is stored.
func screen(s string) (n int) {
	found, blobs := hidden.Inspect(s)
	n += len(found) + len(scan.Scan(s)) + len(directive.Scan(s))
	for _, b := range blobs {
		n += len(scan.Scan(b.Text)) + len(directive.Scan(b.Text))
	}
	return n
}

func BenchmarkScreens(b *testing.B) {
	texts := notes()
	var took []time.Duration
	for b.Loop() {
		for _, s := range texts {
			s = s[:1024]
			start := time.Now()
			screen(s)
			took = append(took, time.Since(start))
		}
	}
	b.ReportMetric(float64(median(took).Nanoseconds())/1e3, "p50-us")
}

// TestRatios prints the ratios of the README (aims: at least 50 times gitleaks, at most 25
// times the loop), and holds that nothing is allocated on clean ASCII. Times decide nothing:
// a busy machine would fail them.
func TestRatios(t *testing.T) {
	d, texts := peer(t), notes()
	r := compare(t, d, texts, 9)
	t.Logf("%.0f times gitleaks' DetectString, 1/%.1f of a loop over the bytes", r.gitleaks, r.byteloop)
	for i, s := range texts {
		if n := testing.AllocsPerRun(5, func() { scan.Scan(s) }); n != 0 {
			t.Errorf("note %d: %v allocations", i, n)
		}
	}
}
