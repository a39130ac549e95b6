package journal

import (
	"fmt"
	"testing"
)

// benchRows is n rows of a room in use: 200 memories, edited in turn.
func benchRows(n int) []Row {
	rows := []Row{row(OpFormat)}
	for i := 1; i < n; i++ {
		rows = append(rows, row(OpEdit, at(fmt.Sprintf("topics/memory-%03d.md", i%200)), was(fmt.Sprint(i-1)), now(fmt.Sprint(i)), trust("user-observed"), func(r *Row) {
			r.Source, r.Key, r.By, r.Rules = "3f9a1c77d2e04b5a:turn-14", fmt.Sprintf("memory-%03d", i%200), "guard", []string{"directive.convention"}
		}))
	}
	return rows
}

func BenchmarkEncode(b *testing.B) {
	for _, key := range [][]byte{nil, testKey} {
		b.Run(fmt.Sprintf("rows=10000/mac=%v", key != nil), func(b *testing.B) {
			rows := benchRows(10_000)
			b.ReportAllocs()
			for b.Loop() {
				data, head, err := Encode(Head{}, key, rows...)
				if err != nil || head.Seq != 10_000 {
					b.Fatal(err)
				}
				b.SetBytes(int64(len(data)))
			}
		})
	}
}

func BenchmarkDecode(b *testing.B) {
	for _, key := range [][]byte{nil, testKey} {
		b.Run(fmt.Sprintf("rows=10000/mac=%v", key != nil), func(b *testing.B) {
			data, _ := mustEncode(b, Head{}, key, benchRows(10_000)...)
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				rows, _, _, err := Decode(data, Head{}, key)
				if err != nil || len(rows) != 10_000 {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkReplay(b *testing.B) {
	b.Run("rows=10000", func(b *testing.B) {
		data, _ := mustEncode(b, Head{}, nil, benchRows(10_000)...)
		rows, _, _, err := Decode(data, Head{}, nil)
		if err != nil {
			b.Fatal(err)
		}
		b.ReportAllocs()
		for b.Loop() {
			if s := Replay(rows, 10_000); len(s.Accepted) != 200 {
				b.Fatalf("%d accepted", len(s.Accepted))
			}
		}
	})
}
