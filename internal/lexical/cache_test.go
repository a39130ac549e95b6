package lexical

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"slices"
	"strings"
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

// TestCacheFaults: a byte changed, cut off or added anywhere is found.
func TestCacheFaults(t *testing.T) {
	good := sample().Encode()
	if _, err := Decode(good); err != nil {
		t.Fatal(err)
	}
	for i := range good {
		bad := slices.Clone(good)
		bad[i] ^= 0x41
		if _, err := Decode(bad); err == nil {
			t.Errorf("byte %d changed", i)
		}
		if _, err := Decode(good[:i]); err == nil {
			t.Errorf("cut at %d", i)
		}
	}
	if _, err := Decode(append(slices.Clone(good), 0)); err == nil {
		t.Error("a byte added")
	}
	if x, err := Decode(New().Encode()); err != nil || x.Len() != 0 {
		t.Errorf("of an empty index: %v", err)
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
	x.compact()
	if _, err := Decode(x.Encode()); err != nil {
		t.Errorf("encoded once more: %v", err)
	}
}

// TestForgedCache: whoever changes a byte and the checksum with it gets another index
// or none, and no panic.
func TestForgedCache(t *testing.T) {
	good := sample().Encode()
	read, broken := 0, 0
	for i := range len(good) - 4 {
		for _, flip := range []byte{1, 0x7f, 0x80, 0xff} {
			bad := slices.Clone(good[:len(good)-4])
			bad[i] ^= flip
			if x, err := Decode(sealed(bad)); err == nil {
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
	good := sample().Encode()
	f.Add(good[:len(good)-4])
	f.Add([]byte(cacheMagic))
	f.Fuzz(func(t *testing.T, data []byte) {
		if x, err := Decode(sealed(data)); err == nil {
			use(t, x)
		}
	})
}

func BenchmarkDecode(b *testing.B) {
	for _, n := range []int{1000, 10_000} {
		b.Run(fmt.Sprintf("docs=%d", n), func(b *testing.B) {
			data := filled(corpus(n)).Encode()
			b.SetBytes(int64(len(data)))
			b.ReportAllocs()
			for b.Loop() {
				if x, err := Decode(data); err != nil || x.Len() != n {
					b.Fatal(err)
				}
			}
		})
	}
}
