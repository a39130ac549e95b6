package scribe

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/memoryroom/scribe/internal/rootfs"
)

// BenchmarkJudge is admission alone, without disk and lock: every built-in stage on
// one candidate.
func BenchmarkJudge(b *testing.B) {
	for _, size := range []int{256, 1 << 10, 4 << 10, 16 << 10} {
		for _, entries := range []int{10, 1000} {
			b.Run(fmt.Sprintf("size=%d/entries=%d", size, entries), func(b *testing.B) {
				r := filledRoom(b, entries)
				w, err := r.world(context.Background())
				if err != nil {
					b.Fatal(err)
				}
				c := Candidate{Path: "topics/new.md", Text: prose(size)}
				plan, err := r.prepare(w, author{ceiling: UserObserved}, []Candidate{c})
				if err != nil {
					b.Fatal(err)
				}
				b.SetBytes(int64(size))
				b.ReportAllocs()
				for b.Loop() {
					judge(plan[0], w)
				}
				if got := plan[0].outcome(); got != Accepted {
					b.Fatalf("outcome %v %v", got, plan[0].findings)
				}
			})
		}
	}
}

// BenchmarkSnapshot renders a room's block.
func BenchmarkSnapshot(b *testing.B) {
	for _, entries := range []int{10, 100, 1000} {
		b.Run(fmt.Sprintf("entries=%d", entries), func(b *testing.B) {
			r := filledRoom(b, entries)
			b.ReportAllocs()
			for b.Loop() {
				sn, _, err := r.render(context.Background(), extent{bytes: defSnapshotBytes, lines: snapshotLines})
				if err != nil || len(sn.Shown)+sn.Omitted != entries {
					b.Fatal(len(sn.Shown), sn.Omitted, err)
				}
			}
		})
	}
}

func filledRoom(b *testing.B, entries int) *Room {
	b.Helper()
	mem := rootfs.NewMem()
	r := memRoom(b, mem, &Options{Now: tick()})
	var seen []Memory
	for i := range entries {
		name, text := fmt.Sprintf("topics/n%04d.md", i), fmt.Sprintf("Note %d. %s", i, prose(200))
		mem.Plant(name, rootfs.File, []byte(text))
		seen = append(seen, describe(name, stageUnaccepted, []byte(text)))
	}
	vs, err := r.Adopt(context.Background(), UserObserved, seen...)
	if err != nil || vs[entries-1].Outcome != Accepted {
		b.Fatal(vs, err)
	}
	return r
}

// prose is ordinary text of about n bytes.
func prose(n int) string {
	const line = "The release branch is cut on Tuesday, and the changelog is written before the tag. "
	return strings.Repeat(line, n/len(line)+1)[:n] + "\n"
}
