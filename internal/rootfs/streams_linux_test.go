package rootfs

import (
	"os"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/memoryroom/scribe/internal/relpath"
)

// TestStreams runs on a real NTFS with the name rules of Windows, where a colon names
// a stream of a file. It needs mkntfs, ntfs-3g and the right to mount; run skips it
// with that reason. Without the gate a name with a colon writes beside a memory,
// where no listing shows it; through the gate none reaches the disk, and what Windows
// does not allow in a name the gate does not either.
func TestStreams(t *testing.T) {
	base := t.TempDir()
	image, mnt := filepath.Join(base, "image"), filepath.Join(base, "mnt")
	must(t, os.Mkdir(mnt, 0o755))
	must(t, os.WriteFile(image, nil, 0o600))
	must(t, os.Truncate(image, 16<<20))
	run(t, "mkntfs", "-F", "-q", image)
	run(t, "ntfs-3g", "-o", "streams_interface=windows,windows_names", image, mnt)
	t.Cleanup(func() {
		if err := syscall.Unmount(mnt, 0); err != nil {
			syscall.Unmount(mnt, syscall.MNT_DETACH)
		}
	})
	room := filepath.Join(mnt, "room")
	d := open(t, room)
	must(t, d.LibWriteNew("tmp/n", []byte("memory")))
	must(t, d.Replace("tmp/n", parse(t, "a.md"), nil))

	root, err := os.OpenRoot(room)
	must(t, err)
	defer root.Close()
	must(t, root.WriteFile("a.md:hidden.md", []byte("hidden"), 0o600))
	if data, err := root.ReadFile("a.md:hidden.md"); err != nil || string(data) != "hidden" {
		t.Fatalf("this mount has no streams: %q, %v", data, err)
	}
	entries, err := os.ReadDir(room)
	must(t, err)
	if slices.ContainsFunc(entries, func(e os.DirEntry) bool { return e.Name() == "a.md:hidden.md" }) {
		t.Fatal("the stream is listed: it is a file")
	}

	for _, name := range []string{"a.md:hidden.md", "a.md::$DATA.md", "b.md:x.md", "a.md:hidden:$DATA"} {
		if _, err := relpath.Parse(name); err == nil {
			t.Errorf("%q is allowed", name)
		}
	}
	for _, name := range []string{"con.md", "a?.md", "a<b.md", "x./y.md", "x /y.md", "a\".md", "a|b.md", "nul/x.md"} {
		_, err := relpath.Parse(name)
		root.MkdirAll(filepath.Dir(name), 0o700)
		native := root.WriteFile(name, nil, 0o600)
		if native != nil && err == nil {
			t.Errorf("%q is allowed, and this file system refuses it: %v", name, native)
		}
		if err == nil {
			t.Errorf("%q is allowed", name)
		}
	}
	if data, err := d.Read(parse(t, "a.md"), 100); err != nil || string(data) != "memory" {
		t.Errorf("read: %q, %v", data, err)
	}
	must(t, d.LibWriteNew("tmp/n", []byte("two")))
	must(t, d.Replace("tmp/n", parse(t, "a.md"), []byte("memory")))
}
