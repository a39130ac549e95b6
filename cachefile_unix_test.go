//go:build unix

package scribe

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"testing"
)

// fullDiskRoom is a room on the real disk that is large enough for a cache, and has one.
func fullDiskRoom(t *testing.T) (dir string, o *Options) {
	t.Helper()
	dir, o = t.TempDir(), &Options{Now: tick()}
	var seen []Memory
	for i := range cacheFrom {
		name, text := fmt.Sprintf("n%04d.md", i), fmt.Sprintf("Note %d on the walrus of bay%d.\n", i, i%97)
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		seen = append(seen, describe(name, stageUnaccepted, []byte(text)))
	}
	r, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := r.Adopt(t.Context(), UserObserved, seen...); err != nil {
		t.Fatal(err)
	}
	r.Close()
	return dir, o
}

// visitRoom opens a room, asks and closes it.
func visitRoom(t *testing.T, dir string, o *Options) string {
	t.Helper()
	r, err := Open(dir, o)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	return answers(t, r, UserObserved, "walrus bay13", "note 500")
}

// TestCacheOnDisk meddles with the cache of a room on the real disk.
func TestCacheOnDisk(t *testing.T) {
	if testing.Short() {
		t.Skip("a thousand files on a real disk take a while")
	}
	dir, o := fullDiskRoom(t)
	t.Run("mode", func(t *testing.T) { cacheMode(t, dir, o) })
	t.Run("planted", func(t *testing.T) { plantedCache(t, dir, o) })
}

// cacheMode: the cache holds words of the memories, and nobody else may read it, whatever
// the umask.
func cacheMode(t *testing.T, dir string, o *Options) {
	for _, umask := range []int{0, 0o022, 0o077} {
		was := syscall.Umask(umask)
		if err := os.RemoveAll(filepath.Join(dir, ".scribe", cacheName)); err != nil {
			t.Fatal(err)
		}
		visitRoom(t, dir, o)
		syscall.Umask(was)
		fi, err := os.Lstat(filepath.Join(dir, ".scribe", cacheName))
		if err != nil || fi.Mode() != 0o600 {
			t.Errorf("umask %03o: %v, %v", umask, fi, err)
		}
	}
}

// plantedCache: what lies in the cache's place and is no plain file of a fair size is not
// read, not waited for and not written through.
func plantedCache(t *testing.T, dir string, o *Options) {
	want := visitRoom(t, dir, o)
	at := filepath.Join(dir, ".scribe", cacheName)
	good, err := os.ReadFile(at)
	if err != nil {
		t.Fatal(err)
	}
	outside := filepath.Join(t.TempDir(), "outside")
	for name, plant := range map[string]func() error{
		"a link to a good one":  func() error { return os.Symlink(outside, at) },
		"a hard link":           func() error { return os.Link(outside, at) },
		"a FIFO":                func() error { return syscall.Mkfifo(at, 0o600) },
		"a directory":           func() error { return os.Mkdir(at, 0o700) },
		"an endless device":     func() error { return os.Symlink("/dev/zero", at) },
		"larger than any cache": func() error { return errors.Join(os.WriteFile(at, good, 0o600), os.Truncate(at, maxCache+1)) },
		"with holes behind":     func() error { return errors.Join(os.WriteFile(at, good, 0o600), os.Truncate(at, 8<<20)) },
		"unreadable":            func() error { return os.WriteFile(at, good, 0) },
	} {
		if err := errors.Join(os.WriteFile(outside, good, 0o600), os.RemoveAll(at)); err != nil {
			t.Fatal(err)
		}
		if err := plant(); err != nil {
			t.Logf("%s: not here: %v", name, err)
			continue
		}
		if got := visitRoom(t, dir, o); got != want {
			t.Errorf("%s: other answers", name)
		}
		if data, err := os.ReadFile(outside); err != nil || string(data) != string(good) {
			t.Errorf("%s: the file outside was written: %v", name, err)
		}
	}
}
