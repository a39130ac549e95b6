package rootfs

import (
	"context"
	"errors"
	"io/fs"
	"math/rand/v2"
	"os"
	"sync"
	"time"
)

// lockPause bounds the pause between two attempts at a lock that another process
// holds. Attempts start after a tenth of it and double, with jitter so that waiters
// do not march in step.
const lockPause = 10 * time.Millisecond

// Lock polls, because neither flock nor LockFileEx can be bounded by a context.
func (d *disk) Lock(ctx context.Context, name string) (unlock func(), err error) {
	var f *os.File
	defer func() {
		if err != nil && f != nil {
			f.Close()
		}
	}()
	pause := lockPause / 10
	for {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		if f == nil {
			if f, err = d.lockFile(name); err != nil {
				return nil, fault("lock", name, err)
			}
		}
		ok, err := tryLock(f)
		if err != nil {
			return nil, fault("lock", name, err)
		}
		if ok {
			d.beginHold() // first, so that what this look opens stays open
			same, err := d.stillNamed(f, name)
			if err != nil || !same {
				d.endHold()
			}
			if err != nil {
				return nil, fault("lock", name, err)
			}
			if same {
				return d.unlockOnce(f), nil
			}
			// The file was replaced: this lock excludes nobody who comes later.
			f.Close()
			f = nil
			continue
		}
		if err := sleep(ctx, pause/2+rand.N(pause)); err != nil {
			return nil, err
		}
		pause = min(2*pause, lockPause)
	}
}

// lockFile opens the lock file, and creates it when it is missing.
func (d *disk) lockFile(name string) (*os.File, error) {
	h, base, err := d.parent("lock", name)
	if err != nil {
		return nil, err
	}
	defer h.close()
	for range openTries {
		f, _, err := d.plain(h, base, os.O_RDWR)
		if !errors.Is(err, fs.ErrNotExist) {
			return f, err
		}
		f, err = h.root.OpenFile(base, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
		if !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
	return nil, &Changed{Path: name}
}

// stillNamed reports whether name, walked again, is the file that was locked.
func (d *disk) stillNamed(f *os.File, name string) (bool, error) {
	held, err := f.Stat()
	if err != nil {
		return false, err
	}
	h, base, err := d.parent("lock", name)
	if err != nil {
		return false, err
	}
	defer h.close()
	now, err := h.root.Lstat(base)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	return err == nil && os.SameFile(held, now), err
}

func (d *disk) unlockOnce(f *os.File) func() {
	return sync.OnceFunc(func() {
		d.endHold()
		// Explicitly: a child that was forked and did not exec yet shares the open
		// file, and with it a lock that closing alone would leave in place.
		releaseLock(f)
		f.Close()
	})
}

func sleep(ctx context.Context, d time.Duration) error {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-t.C:
		return nil
	}
}
