package rootfs

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

func BenchmarkRead(b *testing.B) {
	for _, name := range []string{"a.md", "d/a.md", "d/e/f/a.md"} {
		b.Run("path="+name, func(b *testing.B) {
			dir := b.TempDir()
			if err := os.MkdirAll(filepath.Join(dir, filepath.Dir(name)), 0o700); err != nil {
				b.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, name), make([]byte, 2048), 0o600); err != nil {
				b.Fatal(err)
			}
			d, err := Open(dir)
			if err != nil {
				b.Fatal(err)
			}
			defer d.Close()
			p := mustParse(name)
			b.ReportAllocs()
			for b.Loop() {
				if data, err := d.Read(p, 1<<16); err != nil || len(data) != 2048 {
					b.Fatal(len(data), err)
				}
			}
		})
	}
}

func BenchmarkCheckWrite(b *testing.B) {
	for _, n := range []int{10, 1000} {
		b.Run(fmt.Sprintf("siblings=%d", n), func(b *testing.B) {
			dir := b.TempDir()
			for i := range n {
				if err := os.WriteFile(filepath.Join(dir, fmt.Sprintf("topic-%d.md", i)), nil, 0o600); err != nil {
					b.Fatal(err)
				}
			}
			d, err := Open(dir)
			if err != nil {
				b.Fatal(err)
			}
			defer d.Close()
			p := mustParse("new-topic.md")
			b.ReportAllocs()
			for b.Loop() {
				if err := d.CheckWrite(p); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
