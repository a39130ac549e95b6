//go:build !linux

package rootfs

import (
	"errors"
	"os"
)

// Without system calls on directory descriptors, a move inside one directory runs
// on that directory, and one between two runs on names below the root, which are
// resolved again: it stays in the room, and moved checks where it went.

func (d *disk) rename(a *handle, abase string, b *handle, bbase string) error {
	if a.name == b.name {
		return a.root.Rename(abase, bbase)
	}
	return d.moved(a, abase, b, bbase, (*os.Root).Rename)
}

func (d *disk) link(a *handle, abase string, b *handle, bbase string) error {
	if a.name == b.name {
		return a.root.Link(abase, bbase)
	}
	return d.moved(a, abase, b, bbase, (*os.Root).Link)
}

func (d *disk) moved(a *handle, abase string, b *handle, bbase string, move func(*os.Root, string, string) error) error {
	before, err := a.root.Lstat(abase)
	if err != nil {
		return err
	}
	top, err := d.open("rename", a.join(abase))
	if err != nil {
		return err
	}
	if err := move(top.root, a.join(abase), b.join(bbase)); err != nil {
		return err
	}
	after, err := b.root.Lstat(bbase)
	if err != nil || !os.SameFile(before, after) {
		return &Refusal{Rule: "path.link", Path: b.name}
	}
	return nil
}

func exchange(*handle, string, *handle, string) error { return errors.ErrUnsupported }

func renameNew(*handle, string, *handle, string) error { return errors.ErrUnsupported }
