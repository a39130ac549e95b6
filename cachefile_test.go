package scribe

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/memoryroom/scribe/internal/rootfs"
)

// cacheQueries are asked of a room whose cache was meddled with.
var cacheQueries = []string{"walrus bay13", "xylophone hint", "note 500 of bay15", "nothing"}

// checkMeddled opens a room over other bytes of its cache: the answers are those of a room
// without one.
func checkMeddled(t *testing.T, mem *rootfs.Mem, what string, data []byte, want string) {
	t.Helper()
	mem.Unplant(".scribe/" + cacheName)
	mem.Plant(".scribe/"+cacheName, rootfs.File, data)
	if got := answers(t, reopen(t, mem, nil), UserObserved, cacheQueries...); got != want {
		t.Errorf("%s: %d bytes of other answers: %.300s", what, len(got), got)
	}
}

// coldAnswers gives the answers of a room without its cache, and the cache.
func coldAnswers(t *testing.T) (mem *rootfs.Mem, data []byte, want string) {
	t.Helper()
	r, mem := keptRoom(t)
	data, err := r.disk.LibRead(cacheName, maxCache)
	if err != nil {
		t.Fatal(err)
	}
	mem.Unplant(".scribe/" + cacheName)
	want = answers(t, reopen(t, mem, nil), UserObserved, cacheQueries...)
	if !strings.Contains(want, "n0500.md") || !strings.Contains(want, "xylophone") {
		t.Fatalf("control: %s", want)
	}
	return mem, data, want
}

// TestMeddledCache: whatever a cache is, the answers are those of a room without one. Bytes
// are changed and cut in all its parts; FuzzCache takes any.
func TestMeddledCache(t *testing.T) {
	mem, data, want := coldAnswers(t)
	checkMeddled(t, mem, "as it was", data, want)
	c := decodeCache(bytes.NewReader(data), int64(len(data)))
	parts := cacheHead + len(c.files.rows) + len(c.files.paths)
	steps := []int{0, len(cacheMagic) - 2, len(cacheMagic), cacheHead - 41, cacheHead - 9, cacheHead - 5, cacheHead - 1, parts - 1, parts, parts + 2, parts + 10, parts + 18, int(c.indexes[UserObserved].from) - 1, int(c.indexes[UserObserved].from), len(data) - 1}
	for i := range 20 {
		steps = append(steps, i*len(data)/20)
	}
	if testing.Short() {
		steps = steps[:16]
	}
	for _, at := range steps {
		bad := slices.Clone(data)
		bad[at] ^= 0x10
		checkMeddled(t, mem, "a byte changed", bad, want)
		checkMeddled(t, mem, "cut", data[:at], want)
	}
	for _, magic := range []string{"scribe cache 2\n", "scribe cache 9\n"} {
		checkMeddled(t, mem, "of another version", append([]byte(magic), data[len(cacheMagic):]...), want)
	}
	checkMeddled(t, mem, "with an index of another version", []byte(strings.Replace(string(data), "scribe lexical 3\n", "scribe lexical 2\n", 1)), want)
	checkMeddled(t, mem, "with bytes after it", append(slices.Clone(data), data...), want)
}

// TestCacheOfAnotherRoom: a cache that came from elsewhere names other bytes, and counts for
// none of these.
func TestCacheOfAnotherRoom(t *testing.T) {
	mem, _, want := coldAnswers(t)
	other, far := newRoom(t, nil)
	var seen []Memory
	for i := range cacheFrom {
		path, text := fmt.Sprintf("n%04d.md", i), fmt.Sprintf("Another fact on the walrus, number %d.\n", i)
		far.Plant(path, rootfs.File, []byte(text))
		seen = append(seen, describe(path, stageUnaccepted, []byte(text)))
	}
	if _, err := other.Adopt(t.Context(), UserObserved, seen...); err != nil {
		t.Fatal(err)
	}
	answers(t, other, UserObserved, "walrus")
	other.keepCache()
	data, err := other.disk.LibRead(cacheName, maxCache)
	if err != nil {
		t.Fatal(err)
	}
	checkMeddled(t, mem, "of another room", data, want)
}

func FuzzCache(f *testing.F) {
	f.Add(uint32(0), uint32(20), byte(1), false)
	f.Add(uint32(70), uint32(1<<20), byte(0x80), true)
	var mem *rootfs.Mem
	var good []byte
	var want string
	f.Fuzz(func(t *testing.T, at, more uint32, flip byte, cut bool) {
		if mem == nil {
			mem, good, want = coldAnswers(t)
		}
		data := slices.Clone(good)
		data[int(at)%len(data)] ^= flip
		data[int(more)%len(data)] ^= flip
		if cut {
			data = data[:int(more)%len(data)]
		}
		checkMeddled(t, mem, "changed", data, want)
	})
}
