package scribe

import (
	"crypto/rand"
	"errors"
	"io/fs"

	"github.com/memoryroom/scribe/internal/rootfs"
)

// A full disk must not keep anybody from making room: what deletes needs a row of the
// journal, a mark and perhaps a block of a directory. For that some space is held back.
const (
	reserveName = "reserve"
	// reserveSize is, in bytes, room for one row of the largest size, for the abort that may
	// have to follow it, and some blocks for directories.
	reserveSize = 64 << 10
)

// spend runs something that must not fail for want of space, and runs it again with the
// reserve released if it does. What it did before it failed must be as if it had not run.
func (r *Room) spend(do func() error) error {
	err := do()
	if !rootfs.Full(err) || r.poisoned() {
		return err
	}
	if rerr := r.disk.LibRemove(reserveName); rerr != nil {
		return err // it is spent already
	}
	return do()
}

// holdBack puts the reserve in its place, where it was spent or never made. Random bytes
// take the space that they seem to take. It is no error when there is no space for it.
func (r *Room) holdBack() {
	if _, err := r.disk.LibStat(reserveName); !errors.Is(err, fs.ErrNotExist) {
		return
	}
	data := make([]byte, reserveSize)
	rand.Read(data) // never fails (crypto/rand)
	_ = r.disk.LibWriteNew(reserveName, data)
}
