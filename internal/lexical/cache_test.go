package lexical

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"io"
	"slices"
	"strings"
	"sync"
	"testing"
)

func sample() *Index {
	texts := [][3]string{
		{"auth.md", "Auth migration", "JWT tokens replace sessions on 2031-07-09. Flip `use_jwt_tokens`."},
		{"zh.md", "", "部署之前要先运行数据库迁移脚本。"},
		{"empty.md", "", ""},
		{"long.md", "", strings.Repeat("tokens of every kind ", 30)},
	}
	for i := range crowdLeast { // so that there is a crowd
		texts = append(texts, [3]string{fmt.Sprint(i), "", "tokens"})
	}
	return written(texts)
}

// from reads an index of a body that is in memory.
func from(head, body []byte) (*Index, error) {
	return Decode(head, func(fn func(io.ReaderAt) error) error { return fn(bytes.NewReader(body)) })
}

type failer interface {
	Helper()
	Fatal(args ...any)
}

func encoded(t failer, x *Index) (head, body []byte) {
	t.Helper()
	head, body, ok := x.Encode()
	if !ok {
		t.Fatal("a broken index")
	}
	return head, body
}

func bytesOf(t failer, x *Index) int {
	head, body := encoded(t, x)
	return len(head) + len(body)
}

// TestCacheFaults: a byte changed, cut off or added anywhere is found: in the head at once,
// in the body when it is used.
func TestCacheFaults(t *testing.T) {
	head, body := encoded(t, sample())
	if x, err := from(head, body); err != nil || !x.Load() {
		t.Fatal(err)
	}
	for i := range head {
		bad := slices.Clone(head)
		bad[i] ^= 0x41
		if _, err := from(bad, body); err == nil {
			t.Errorf("byte %d changed", i)
		}
		if _, err := from(head[:i], body); err == nil {
			t.Errorf("cut at %d", i)
		}
	}
	if _, err := from(append(slices.Clone(head), 0), body); err == nil {
		t.Error("a byte added")
	}
	for i := range body {
		bad := slices.Clone(body)
		bad[i] ^= 0x41
		for what, bad := range map[string][]byte{"changed": bad, "cut": body[:i]} {
			if x, err := from(head, bad); err != nil || x.Load() || !x.Broken() {
				t.Errorf("body %s at %d: %v", what, i, err)
			}
		}
	}
	empty, none := encoded(t, New())
	if x, err := from(empty, none); err != nil || x.Len() != 0 || !x.Load() {
		t.Errorf("of an empty index: %v", err)
	}
}

// TestReadsFewPages: a search of a decoded index reads what it needs of the body, and
// finds what the whole index finds; after many, or a change, all was read at once, and nothing
// is read any more.
func TestReadsFewPages(t *testing.T) {
	whole := filled(corpus(2000))
	head, body := encoded(t, whole)
	seen := make([]int, (len(body)+pageSize-1)/pageSize)
	turns := 0
	x, err := Decode(head, func(fn func(io.ReaderAt) error) error {
		turns++
		return fn(counting{body, seen})
	})
	if err != nil {
		t.Fatal(err)
	}
	read := func() (n int) {
		for _, times := range seen {
			n += min(times, 1)
		}
		return n
	}
	if read() > 0 {
		t.Errorf("decoding read %d pages of the body", read())
	}
	for i := range 3 * patience {
		q := Query{Text: fmt.Sprintf("w%d w%d", 3*i, 1000+7*i), Max: 5}
		got, _ := x.Search(q)
		want, _ := whole.Search(q)
		if !slices.Equal(got, want) {
			t.Fatalf("%+v: %v, want %v", q, got, want)
		}
		if n := read(); i == 0 && (n == 0 || 2*n > len(seen)) {
			t.Errorf("the first search read %d of %d pages, in %d turns", n, len(seen), turns)
		}
	}
	if n := read(); n < len(seen) || turns > patience+1 {
		t.Errorf("%d of %d pages were read in %d turns", n, len(seen), turns)
	}
	y, _ := from(head, body)
	y.Put(doc("new.md", "", "something new"))
	if again, rest := encoded(t, y); len(again) == 0 || len(rest) <= len(body) || y.raw != nil {
		t.Error("after a change the body is not whole")
	}
}

// TestManyReadAtOnce: searches of a decoded index run side by side, and each finds what the
// whole index finds.
func TestManyReadAtOnce(t *testing.T) {
	whole := filled(corpus(1000))
	x, err := from(encoded(t, whole))
	if err != nil {
		t.Fatal(err)
	}
	var all sync.WaitGroup
	for k := range 4 {
		all.Go(func() {
			for i := range 2 * patience {
				q := Query{Text: fmt.Sprintf("w%d w%d w%d", i, 40+k, 500+i*k), Max: 5}
				want, _ := whole.Search(q)
				if got, _ := x.Search(q); !slices.Equal(got, want) {
					t.Errorf("%+v: %v, want %v", q, got, want)
				}
				for _, h := range want {
					if sum, _, ok := x.Version(h.ID); !ok || sum != h.Sum {
						t.Errorf("%s is another version", h.ID)
					}
				}
			}
		})
	}
	all.Wait()
}

// counting counts how often each page is read.
type counting struct {
	body []byte
	seen []int
}

func (c counting) ReadAt(b []byte, off int64) (int, error) {
	for at := off; at < off+int64(len(b)); at += pageSize {
		c.seen[at/pageSize]++
	}
	return copy(b, c.body[off:]), nil
}

// TestBodyFails: what can not be read breaks the index, and no search fails.
func TestBodyFails(t *testing.T) {
	head, body := encoded(t, filled(corpus(500)))
	for after := range 3 {
		n := 0
		x, err := Decode(head, func(fn func(io.ReaderAt) error) error {
			if n++; n > after {
				return io.ErrUnexpectedEOF
			}
			return fn(bytes.NewReader(body))
		})
		if err != nil {
			t.Fatal(err)
		}
		if _, drops := x.Search(Query{Text: "w1 w2 w3", Max: 5}); after < 2 && !x.Broken() {
			t.Errorf("failing after %d, the search says %+v", after, drops)
		}
		if x.Load() || !x.Broken() {
			t.Errorf("failing after %d: not broken", after)
		}
		if _, _, ok := x.Encode(); ok {
			t.Errorf("failing after %d: encoded", after)
		}
		use(t, x)
	}
}

// sealed puts the right checksum under what may be anything.
func sealed(data []byte) []byte {
	return binary.LittleEndian.AppendUint32(slices.Clone(data), crc32.Checksum(data, castagnoli))
}

// use does everything with an index that was read: nothing may fail.
func use(t *testing.T, x *Index) {
	for range 2 {
		hits, _ := x.Search(Query{"use jwt tokens 数据库 2031-07-09 kind", 10, 40_000})
		for _, h := range hits {
			x.Window("tokens", h.ID)
		}
		x.Put(doc("new.md", "use", "jwt tokens 数据库"))
		x.Remove("long.md")
		x.Remove("auth.md")
	}
	if x.Load() {
		x.compact()
	}
	if head, body, ok := x.Encode(); ok {
		if y, err := from(head, body); err != nil || !y.Load() {
			t.Errorf("encoded once more: %v", err)
		}
	}
}

// forge decodes an index of which bytes were changed, and all checksums with them.
func forge(head, body []byte) (*Index, error) {
	head = slices.Clone(head)
	pages := (len(body) + pageSize - 1) / pageSize
	if at := len(head) - 4*pages; at >= len(cacheMagic) {
		for i, page := range slices.Collect(slices.Chunk(body, pageSize)) {
			binary.LittleEndian.PutUint32(head[at+4*i:], crc32.Checksum(page, castagnoli))
		}
	}
	return from(sealed(head), body)
}

// TestForgedCache: whoever changes a byte and the checksums with it gets another index
// or none, and no panic.
func TestForgedCache(t *testing.T) {
	head, body := encoded(t, sample())
	read, broken := 0, 0
	for i := range len(head) - 4 + len(body) {
		for _, flip := range []byte{1, 0x7f, 0x80, 0xff} {
			bad, rest := slices.Clone(head[:len(head)-4]), slices.Clone(body)
			if i < len(bad) {
				bad[i] ^= flip
			} else {
				rest[i-len(bad)] ^= flip
			}
			if x, err := forge(bad, rest); err == nil {
				read++
				if use(t, x); x.Broken() {
					broken++
				}
			}
		}
	}
	if read == 0 || broken == 0 || broken == read {
		t.Errorf("of %d forged ones that were read, %d are broken", read, broken)
	}
}

func FuzzDecode(f *testing.F) {
	head, body := encoded(f, sample())
	f.Add(head[:len(head)-4], body)
	f.Add([]byte(cacheMagic), []byte{})
	f.Fuzz(func(t *testing.T, head, body []byte) {
		if x, err := forge(head, body); err == nil {
			use(t, x)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		b.Run(fmt.Sprintf("docs=%d", n), func(b *testing.B) {
			head, body := encoded(b, filled(corpus(n)))
			b.SetBytes(int64(len(head) + len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if x, err := from(head, body); err != nil || x.Len() != n {
					b.Fatal(err)
				}
			}
		})
	}
}
