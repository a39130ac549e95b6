package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
)

// run runs one command to its end.
func run(name string, args ...string) (string, error) {
	out, err := exec.Command(name, args...).CombinedOutput()
	if err != nil {
		err = fmt.Errorf("%s %s: %w: %s", name, strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out)), err
}

// fileSystem is how to make and mount a file system of one's own.
type fileSystem struct {
	kind    string   // as mount(2) names it
	options string   // of its own, for mount(2)
	size    int      // bytes
	mkfs    []string // the image's name is appended
}

var ext4 = fileSystem{"ext4", "", 24 << 20, []string{"mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0"}}

// able reports what is missing for that.
func (f fileSystem) able() error {
	if os.Getuid() != 0 {
		return errors.New("needs root")
	}
	for _, tool := range []string{"losetup", f.mkfs[0]} {
		if _, err := exec.LookPath(tool); err != nil {
			return err
		}
	}
	for _, dev := range []string{"/dev/fuse", "/dev/loop-control"} {
		if _, err := os.Stat(dev); err != nil {
			return err
		}
	}
	return nil
}

// mount mounts the file system in a file below base, through a loop device.
func (f fileSystem) mount(file, base, name string) (dir string, unmount func() error, err error) {
	dev, err := run("losetup", "-f", "--show", file)
	if err != nil {
		return "", nil, err
	}
	detach := func() error { _, err := run("losetup", "-d", dev); return err }
	dir = filepath.Join(base, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", nil, errors.Join(err, detach())
	}
	if err := syscall.Mount(dev, dir, f.kind, 0, f.options); err != nil {
		return "", nil, errors.Join(fmt.Errorf("mount %s on %s: %w", f.kind, dev, err), detach())
	}
	return dir, func() error { return errors.Join(syscall.Unmount(dir, 0), detach()) }, nil
}

// countingDisk makes an ext4 whose device counts. close gives everything back.
func countingDisk(base string, size int) (d *disk, dir string, close func(), err error) {
	f := ext4
	f.size = size
	return f.onDisk(base)
}

// onDisk makes the file system on a device in memory.
func (f fileSystem) onDisk(base string) (d *disk, dir string, close func(), err error) {
	if err := f.able(); err != nil {
		return nil, "", nil, err
	}
	d, file, gone, err := fuseDisk(base, f.size)
	if err != nil {
		return nil, "", nil, err
	}
	if _, err := run(f.mkfs[0], append(f.mkfs[1:len(f.mkfs):len(f.mkfs)], file)...); err != nil {
		gone()
		return nil, "", nil, err
	}
	dir, unmount, err := f.mount(file, base, "mnt-live")
	if err != nil {
		gone()
		return nil, "", nil, err
	}
	return d, dir, func() { _ = unmount(); gone() }, nil
}
