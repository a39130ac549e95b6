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

// able reports what is missing for mounting an ext4 of one's own.
func able() error {
	if os.Getuid() != 0 {
		return errors.New("needs root")
	}
	for _, tool := range []string{"losetup", "mkfs.ext4"} {
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

// mountFile mounts the ext4 in a file below base, through a loop device.
func mountFile(file, base, name string) (dir string, unmount func() error, err error) {
	dev, err := run("losetup", "-f", "--show", file)
	if err != nil {
		return "", nil, err
	}
	detach := func() error { _, err := run("losetup", "-d", dev); return err }
	dir = filepath.Join(base, name)
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", nil, errors.Join(err, detach())
	}
	if err := syscall.Mount(dev, dir, "ext4", 0, ""); err != nil {
		return "", nil, errors.Join(fmt.Errorf("mount %s: %w", dev, err), detach())
	}
	return dir, func() error { return errors.Join(syscall.Unmount(dir, 0), detach()) }, nil
}

// countingDisk makes an ext4 whose device counts. close gives everything back.
func countingDisk(base string, size int) (d *disk, dir string, close func(), err error) {
	if err := able(); err != nil {
		return nil, "", nil, err
	}
	d, file, gone, err := fuseDisk(base, size)
	if err != nil {
		return nil, "", nil, err
	}
	if _, err := run("mkfs.ext4", "-q", "-F", "-E", "lazy_itable_init=0,lazy_journal_init=0", file); err != nil {
		gone()
		return nil, "", nil, err
	}
	dir, unmount, err := mountFile(file, base, "ext4")
	if err != nil {
		gone()
		return nil, "", nil, err
	}
	return d, dir, func() { _ = unmount(); gone() }, nil
}
