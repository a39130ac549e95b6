package scribe

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

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

// BenchmarkSnapshotDisk renders a room on the real disk: cold, where every file is read,
// and unchanged, where none is.
func BenchmarkSnapshotDisk(b *testing.B) {
	ctx := context.Background()
	for _, entries := range []int{1000, 10_000} {
		dir := b.TempDir()
		r, err := Open(dir, &Options{Limits: Limits{Memories: entries}})
		if err != nil {
			b.Fatal(err)
		}
		var seen []Memory
		for i := range entries {
			name, text := fmt.Sprintf("n%05d.md", i), fmt.Sprintf("Note %d.\n%s", i, prose(1000))
			if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
				b.Fatal(err)
			}
			seen = append(seen, describe(name, stageUnaccepted, []byte(text)))
		}
		if vs, err := r.Adopt(ctx, UserObserved, seen...); err != nil || vs[entries-1].Outcome != Accepted {
			b.Fatal(vs, err)
		}
		time.Sleep(3 * time.Second) // a younger file may change within one tick, and is read
		for _, cold := range []bool{true, false} {
			b.Run(fmt.Sprintf("entries=%d/cold=%v", entries, cold), func(b *testing.B) {
				for b.Loop() {
					if cold {
						r.glances = newGlances()
					}
					sn, _, err := r.render(ctx, extent{bytes: defSnapshotBytes, lines: snapshotLines})
					if err != nil || len(sn.Shown)+sn.Omitted != entries {
						b.Fatal(len(sn.Shown), sn.Omitted, err)
					}
				}
			})
		}
		r.Close()
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
