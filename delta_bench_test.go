package scribe

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/memoryroom/scribe/internal/journal"
)

// filledState is a room's state of that many memories, as the journal would add it up.
func filledState(n int) *journal.State {
	state := new(journal.State)
	at := time.Unix(1_790_000_000, 0).UTC()
	for i := range n {
		state.Apply(journal.Row{
			Stamp:    journal.Stamp{Seq: int64(i + 1), Time: at},
			Change:   journal.Change{Op: journal.OpAdd, Path: fmt.Sprintf("topic-%05d.md", i), New: journal.Sum([]byte(fmt.Sprint(i))), Trust: "operator", Key: fmt.Sprint(i)},
			Decision: journal.Decision{By: byOperator},
		})
	}
	return state
}

// BenchmarkDelta compares a baseline with what is, in a room where one memory changed.
func BenchmarkDelta(b *testing.B) {
	for _, n := range []int{100, 1_000, 10_000} {
		b.Run(fmt.Sprintf("memories=%d", n), func(b *testing.B) {
			state := filledState(n)
			was := told{Room: "memory", Seq: int64(n - 1), Known: map[string]string{}}
			for path, acc := range state.Accepted {
				if len(was.Known) < maxKnown && acc.Row <= was.Seq {
					was.Known[path] = digest(acc.Hash, acc.Trust)
				}
			}
			b.ReportAllocs()
			for b.Loop() {
				var d delta
				d.compare(state, was, 0, "", "")
				if len(d.changes) != 1 || d.left != n-1 {
					b.Fatalf("%d changes, %d left", len(d.changes), d.left)
				}
			}
		})
	}
}

// BenchmarkDeltaText is what a delta costs its reader: bytes for each memory that it tells of,
// of descriptions of 60 characters (TestRowC28 holds it below another system's 141).
func BenchmarkDeltaText(b *testing.B) {
	r, s := changedRoom(b, 18)
	_ = r
	var sn Snapshot
	for b.Loop() {
		var err error
		if sn, err = s.Delta(context.Background()); err != nil || len(sn.Shown) != 18 {
			b.Fatal(len(sn.Shown), err)
		}
	}
	b.ReportMetric(float64(len(sn.Text))/float64(len(sn.Shown)), "bytes/memory")
}

// changedRoom is a room in which the operator added n memories since the baseline.
func changedRoom(t testing.TB, n int) (*Room, *Session) {
	r, _ := newRoom(t, nil)
	s := begun(t, r)
	for i := range n {
		store(t, r, Operator, Candidate{Path: fmt.Sprintf("project-topic-%02d.md", i), Text: fmt.Sprintf("%-60d\n", i)[:59] + ".\n"})
	}
	return r, s
}

// TestRowC28_BytesAnEntry: at most what the source measured, 141 bytes, the frame included.
func TestRowC28_BytesAnEntry(t *testing.T) {
	_, s := changedRoom(t, 18)
	sn := deltaOf(t, s)
	if each := len(sn.Text) / len(sn.Shown); len(sn.Shown) != 18 || each > 141 {
		t.Errorf("%d bytes for each of %d", each, len(sn.Shown))
	}
}
