package journal

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"slices"
	"testing"
)

// grown is a journal of n rows under a key, continued from a head; who makes its rows
// different from another's.
func grown(t testing.TB, from Head, key []byte, who string, n int) (lines [][]byte, to Head) {
	t.Helper()
	for i := range n {
		r := row(OpReject, at(who))
		if from.Seq == 0 && i == 0 {
			r = row(OpFormat)
			r.Reason = who
		}
		data, next, err := Encode(from, key, r)
		if err != nil {
			t.Fatal(err)
		}
		lines, from = append(lines, data), next
	}
	return lines, from
}

func join(parts ...[][]byte) []byte { return bytes.Join(slices.Concat(parts...), nil) }

func TestUntangle(t *testing.T) {
	trunk, at := grown(t, Head{}, testKey, "both", 5)
	ours, oursTo := grown(t, at, testKey, "ours", 4)
	theirs, theirsTo := grown(t, at, testKey, "theirs", 3)
	forged, _ := grown(t, at, bytes.Repeat([]byte{9}, 32), "forged", 9)
	plain, _ := grown(t, at, nil, "plain", 9)
	other, _ := grown(t, Head{}, testKey, "another room", 3)
	twig, twigTo := grown(t, theirsTo, testKey, "twig", 2)
	spur, _ := grown(t, Head{Seq: theirsTo.Seq - 1, Hash: headOfLine(t, theirs[1])}, testKey, "spur", 1)
	mark := func(s string) [][]byte { return [][]byte{[]byte(s + "\n")} }
	for _, tt := range []struct {
		name     string
		data     []byte
		to       Head
		branches int
		rest     int // lines
		markers  bool
		cut      bool
	}{
		{"no fork", join(trunk, ours), oursTo, 0, 0, false, false},
		{"conflict", join(trunk, mark("<<<<<<< HEAD"), ours, mark("======="), theirs, mark(">>>>>>> x")), oursTo, 1, 0, true, false},
		{"three-way", join(trunk, mark("<<<<<<< HEAD"), ours, mark("||||||| base"), mark("======="), theirs, mark(">>>>>>> x")), oursTo, 1, 0, true, false},
		{"union", join(trunk, ours, theirs), oursTo, 1, 0, false, false},
		{"union the other way", join(trunk, theirs, ours), oursTo, 1, 0, false, false},
		{"twice", join(trunk, ours, theirs, trunk, ours), oursTo, 1, 0, false, false},
		{"longer other side", join(trunk, ours, theirs, twig), twigTo, 1, 0, false, false},
		{"fork of a fork", join(trunk, ours, theirs, spur), oursTo, 2, 0, false, false},
		{"forged side", join(trunk, ours, forged), oursTo, 0, 9, false, false},
		{"side without a MAC", join(trunk, plain, ours), oursTo, 0, 9, false, false},
		{"garbage", join(trunk, ours, mark("garbage"), mark("{}")), oursTo, 0, 2, false, false},
		{"another room", join(trunk, ours, other), oursTo, 0, 3, false, true},
		{"a row missing", join(trunk[:2], trunk[3:], ours), Head{Seq: 2, Hash: headOfLine(t, trunk[1])}, 0, 6, false, true},
	} {
		t.Run(tt.name, func(t *testing.T) {
			got := Untangle(tt.data, Head{}, testKey)
			if got.Trunk.To != tt.to || len(got.Branches) != tt.branches || bytes.Count(got.Rest, []byte{'\n'}) != tt.rest || got.Markers != tt.markers || got.Cut != tt.cut {
				t.Fatalf("trunk to row %d, %d branches, rest %q, markers %v, cut %v", got.Trunk.To.Seq, len(got.Branches), got.Rest, got.Markers, got.Cut)
			}
			for _, b := range append(got.Branches, got.Trunk) {
				if _, to, _, err := Decode(b.Data, b.From, testKey); err != nil || to != b.To {
					t.Errorf("a branch does not verify: %v", err)
				}
			}
		})
	}
	// The order of the lines does not matter, nor who merges.
	lines := slices.Concat(trunk, ours, theirs, spur, twig)
	want := Untangle(join(lines), Head{}, testKey)
	for seed := range uint64(20) {
		rand.New(rand.NewPCG(seed, 0)).Shuffle(len(lines), func(i, j int) { lines[i], lines[j] = lines[j], lines[i] })
		if got := Untangle(join(lines), Head{}, testKey); fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("seed %d: another tree", seed)
		}
	}
}

func headOfLine(t testing.TB, line []byte) string {
	t.Helper()
	from, ok := Before(line)
	if !ok {
		t.Fatal("no row")
	}
	_, to, _, err := Decode(line, from, testKey)
	if err != nil {
		t.Fatal(err)
	}
	return to.Hash
}

func FuzzUntangle(f *testing.F) {
	trunk, at := grown(f, Head{}, testKey, "both", 3)
	ours, _ := grown(f, at, testKey, "ours", 2)
	theirs, _ := grown(f, at, testKey, "theirs", 2)
	f.Add(join(trunk, ours, theirs))
	f.Add(join(trunk, [][]byte{[]byte("<<<<<<< a\n")}, ours, [][]byte{[]byte("=======\n")}, theirs, [][]byte{[]byte(">>>>>>> b\n")}))
	f.Add([]byte("{}\n\n<<<<<<< "))
	f.Fuzz(func(t *testing.T, data []byte) {
		tree := Untangle(data, Head{}, testKey)
		size := len(tree.Rest)
		for _, b := range append(tree.Branches, tree.Trunk) {
			if _, to, _, err := Decode(b.Data, b.From, testKey); err != nil || to != b.To {
				t.Fatalf("a branch does not verify: %v", err)
			}
			size += len(b.Data)
		}
		if size > len(data)+1 {
			t.Fatalf("%d bytes from %d", size, len(data))
		}
	})
}
