package rootfs

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// TestOtherFileSystems runs on file systems that ignore case and know no exchange;
// exFAT has no hard links either.
func TestOtherFileSystems(t *testing.T) {
	tests := []struct {
		name      string
		mkfs, mnt []string // the image, and the image and the mount point, are appended
		loop      bool     // mounts a block device only
	}{
		{"ntfs", []string{"mkntfs", "-F", "-q"}, []string{"lowntfs-3g", "-o", "ignore_case"}, false},
		{"exfat", []string{"mkfs.exfat"}, []string{"mount.exfat-fuse"}, true},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			base := t.TempDir()
			image, mnt := filepath.Join(base, "image"), filepath.Join(base, "mnt")
			must(t, os.Mkdir(mnt, 0o755))
			must(t, os.WriteFile(image, nil, 0o600))
			must(t, os.Truncate(image, 16<<20))
			if tt.loop {
				image = loopDevice(t, image)
			}
			run(t, append(tt.mkfs, image)...)
			run(t, append(tt.mnt, image, mnt)...)
			t.Cleanup(func() {
				if err := syscall.Unmount(mnt, 0); err != nil {
					syscall.Unmount(mnt, syscall.MNT_DETACH)
				}
			})
			room := filepath.Join(mnt, "room")
			d := open(t, room)
			must(t, d.LibWriteNew("tmp/n", []byte("one")))
			must(t, d.Replace("tmp/n", parse(t, "topics/alpha.md"), nil))
			must(t, d.LibWriteNew("tmp/n", []byte("two")))
			if got := ruleOf(d.Replace("tmp/n", parse(t, "topics/alpha.md"), nil)); got != "changed" {
				t.Errorf("create again: got %q, want changed", got)
			}
			must(t, d.Replace("tmp/n", parse(t, "topics/alpha.md"), []byte("one")))
			for _, name := range []string{"topics/Alpha.md", "Topics/alpha.md"} {
				if _, err := os.Stat(filepath.Join(room, name)); err != nil {
					t.Skipf("this mount does not ignore case: %v", err)
				}
				if data, err := d.Read(parse(t, name), 9); ruleOf(err) != "path.collision" {
					t.Errorf("read %s: got %q, %v, want path.collision", name, data, err)
				}
				if got := ruleOf(d.CheckWrite(parse(t, name))); got != "path.collision" {
					t.Errorf("check %s: got %q, want path.collision", name, got)
				}
			}
			if data, err := d.Read(parse(t, "topics/alpha.md"), 9); err != nil || string(data) != "two" {
				t.Errorf("read: %q, %v", data, err)
			}
			must(t, d.Retire(parse(t, "topics/alpha.md"), []byte("two"), "archive/topics/alpha.md"))
			if names, err := d.LibList("tmp"); err != nil || len(names) > 0 {
				t.Errorf("in flight: %q, %v", names, err)
			}
			for _, path := range []string{room, filepath.Join(mnt, "ROOM"), filepath.Join(mnt, "ROOM", "topics")} {
				if !d.Overlaps(path) {
					t.Errorf("%s is not the room", filepath.Base(path))
				}
			}
		})
	}
}

// run skips the test when a command is missing or may not do what it does.
func run(t *testing.T, cmd ...string) string {
	t.Helper()
	out, err := exec.Command(cmd[0], cmd[1:]...).CombinedOutput()
	if err != nil {
		t.Skipf("needs %s and the right to mount: %v %s", cmd[0], err, out)
	}
	return strings.TrimSpace(string(out))
}

func loopDevice(t *testing.T, image string) string {
	t.Helper()
	dev := run(t, "losetup", "--find", "--show", image)
	t.Cleanup(func() { exec.Command("losetup", "--detach", dev).Run() })
	return dev
}

// TestDiskFull fills a small file system: nothing is half done.
func TestDiskFull(t *testing.T) {
	room, _ := layout(t)
	if err := syscall.Mount("tmpfs", room, "tmpfs", 0, "size=128k"); err != nil {
		t.Skipf("needs the right to mount: %v", err)
	}
	t.Cleanup(func() { syscall.Unmount(room, syscall.MNT_DETACH) })
	d := open(t, room)
	must(t, d.LibWriteNew("audit.jsonl", []byte("row\n")))
	must(t, d.LibWriteNew("tmp/n", []byte("new")))
	big := bytes.Repeat([]byte("x"), 1<<20)
	for op, err := range map[string]error{
		"append":  d.LibAppend("audit.jsonl", big),
		"write":   d.LibWriteNew("versions/d/v.md", big),
		"replace": d.LibReplace("audit.jsonl", big),
	} {
		if !errors.Is(err, syscall.ENOSPC) {
			t.Errorf("%s: got %v, want ENOSPC", op, err)
		} else {
			checkText(t, err, room)
		}
	}
	if data, err := d.LibRead("audit.jsonl", 9); err != nil || string(data) != "row\n" {
		t.Errorf("journal: %q, %v", data, err)
	}
	names, err := d.LibList("")
	if err != nil || len(names) != 2 {
		t.Errorf("left behind: %q, %v", names, err)
	}
	if _, err := os.Stat(filepath.Join(room, Library, "versions", "d")); err == nil {
		t.Error("a directory was left behind")
	}
	must(t, d.Replace("tmp/n", parse(t, "a.md"), nil)) // space is back
}
