package rootfs

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// TestListingSaysWhatALookSays: the entries of a directory, each described by one system
// call, are what Lstat says of each name, and what the way without that call says.
func TestListingSaysWhatALookSays(t *testing.T) {
	room, _ := layout(t,
		"old.md: text", "empty.md: ", "dir/a.md: x", "link.md => old.md", "lost.md => nowhere", "outside.md => OUT/secret.md",
		"dirlink => dir", "two.md: twice", "again.md == two.md", "three.md: thrice", "t2.md == three.md", "t3.md == three.md", "fifo |", "socket %",
		"long-"+strings.Repeat("n", 200)+".md: name", ".scribe/tmp/w: in flight", "moving.md == .scribe/tmp/w",
	)
	must(t, os.Chtimes(filepath.Join(room, "empty.md"), time.Unix(1, 5), time.Unix(-7, 999)))
	if !testing.Short() {
		time.Sleep(settle + 100*time.Millisecond) // so that some stamps count
	}
	must(t, os.WriteFile(filepath.Join(room, "young.md"), []byte("now"), 0o644))
	d := OS(room).(*disk)
	defer d.Close()
	for _, dir := range []string{".", "dir", ".scribe/tmp"} {
		h, err := d.walk("readdir", dir)
		must(t, err)
		names, err := h.names()
		must(t, err)
		if ok, err := h.each(names, func(int, Entry) {}); !ok || err != nil {
			t.Logf("this system does not describe names of %s with one call: %v", dir, err)
		}
		h.close()
		got, err := d.ReadDir(dir)
		must(t, err)
		if len(got) != len(names) {
			t.Errorf("%s: %d entries of %d names", dir, len(got), len(names))
		}
		asked := append([]string{"absent"}, names...)
		asked = append(asked, "zzz")
		var described []Entry
		must(t, d.Describe(dir, asked, func(i int, e Entry) {
			if e.Name != asked[i] {
				t.Errorf("%s: %s is described as %s", dir, asked[i], e.Name)
			}
			described = append(described, e)
		}))
		if diff := gocmp.Diff(described, got, cmpopts.IgnoreUnexported(Entry{})); diff != "" {
			t.Errorf("%s (-described +listed):\n%s", dir, diff)
		}
		for _, e := range got {
			name := e.Name
			if dir != "." {
				name = dir + "/" + name
			}
			want, err := d.Lstat(name)
			must(t, err)
			if diff := gocmp.Diff(e, want, cmpopts.IgnoreUnexported(Entry{})); diff != "" {
				t.Errorf("%s (-listed +looked at):\n%s", name, diff)
			}
			if young := name == "young.md"; young && e.Stamp != (Stamp{}) || !testing.Short() && name == "old.md" && e.Stamp == (Stamp{}) {
				t.Errorf("%s: stamp %+v", name, e.Stamp)
			}
		}
	}
}

// BenchmarkWalk looks at every file of a room.
func BenchmarkWalk(b *testing.B) {
	const dirs, files = 50, 100
	room := b.TempDir()
	for i := range dirs {
		dir := filepath.Join(room, "d"+string(rune('a'+i%26))+string(rune('a'+i/26)))
		if err := os.Mkdir(dir, 0o700); err != nil {
			b.Fatal(err)
		}
		for j := range files {
			name := filepath.Join(dir, "n"+string(rune('a'+j%26))+string(rune('a'+j/26))+".md")
			if err := syscall.Mknod(name, syscall.S_IFREG|0o600, 0); err != nil {
				b.Fatal(err)
			}
		}
	}
	d, err := Open(room)
	if err != nil {
		b.Fatal(err)
	}
	defer d.Close()
	b.ReportAllocs()
	for b.Loop() {
		n := 0
		if err := d.Walk(func(string, Entry) error { n++; return nil }); err != nil || n != dirs*files {
			b.Fatal(n, err)
		}
	}
}
