package scribe

import (
	"crypto/rand"
	"errors"
	"io/fs"

	"github.com/memoryroom/scribe/internal/journal"
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
// reserve released if it does; then without what is derived, which comes back by itself.
// What it did before it failed must be as if it had not run.
func (r *Room) spend(do func() error) error {
	err := do()
	for _, name := range []string{reserveName, cacheName, checkpointName} {
		if !rootfs.Full(err) || errors.Is(err, rootfs.ErrUnsynced) || r.poisoned() {
			break
		}
		if r.disk.LibRemove(name) == nil { // else it is spent already
			err = do()
		}
	}
	return err
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

// announce makes rows durable that take things away, before the first of those goes. The
// mark of the first row, which it returns, stays in tmp until all is done: by it whoever
// locks next finishes what is cut short.
func (r *Room) announce(rows ...journal.Row) (seq int64, err error) {
	r.mu.Lock()
	seq = r.ledger.head.Seq + 1
	r.mu.Unlock()
	return seq, r.spend(func() error {
		if err := r.disk.LibWriteNew(mark(seq), nil); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if err := r.disk.SyncInFlight(); err != nil {
			return err
		}
		return r.append(rows...)
	})
}
