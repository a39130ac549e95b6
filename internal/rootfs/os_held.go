package rootfs

import (
	"errors"
	"os"
	"strings"
)

// held is the directories that stay open while the room's lock is held. To walk to a name
// and to prove each directory on the way takes some eighteen system calls a directory, and
// one change has some forty names; so within one hold of the lock a directory is proved
// once, and the next walk that comes by uses what is open.
//
// In the library nothing is looked at again: only this library names what lies there, and
// whoever holds the lock writes there alone. A directory that is moved, or replaced by a
// link, takes the writes of this hold along and never leads them elsewhere; the next hold
// refuses the link. A directory of the room is looked at again in each walk, and one
// that is not the same any more is reached anew.
type held struct {
	dirs map[string]*handle // by name relative to the room
}

// heldMost bounds the directories that are held: the library has six that a change goes
// through, the rest is of the room. What comes later is opened and closed by each walk.
const heldMost = 24

// beginHold makes the walks that follow keep what they open. The lock is held.
func (d *disk) beginHold() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.held = &held{dirs: map[string]*handle{}}
}

// endHold gives back what was held. A walk that still uses some of it ends by itself.
func (d *disk) endHold() {
	d.mu.Lock()
	was := d.held
	d.held = nil
	d.mu.Unlock()
	if was != nil {
		for _, h := range was.dirs {
			h.close()
		}
	}
}

// hold keeps a directory that was proved just now.
func (d *disk) hold(h *handle) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.held == nil || len(d.held.dirs) >= heldMost || d.held.dirs[h.name] != nil {
		return
	}
	h.uses++
	d.held.dirs[h.name] = h
}

// again gives the directory seg below h if it is held and is to be used; nil for none.
func (d *disk) again(h *handle, seg string) *handle {
	d.mu.Lock()
	if d.held == nil {
		d.mu.Unlock()
		return nil
	}
	name := h.join(seg)
	next := d.held.dirs[name]
	if next != nil {
		next.uses++
	}
	d.mu.Unlock()
	if next == nil || name == Library || strings.HasPrefix(name, Library+"/") {
		return next
	}
	now, err := h.root.Lstat(seg)
	was, werr := next.file.Stat()
	if errors.Join(err, werr) == nil && os.SameFile(now, was) { // its number is not given again while it is open
		return next
	}
	next.close()
	d.release(name)
	return nil
}

// release ends the holding of a directory, and of those below it: it is moved or removed.
func (d *disk) release(name string) {
	d.mu.Lock()
	var gone []*handle
	if d.held != nil {
		for at, h := range d.held.dirs {
			if at == name || strings.HasPrefix(at, name+"/") {
				delete(d.held.dirs, at)
				gone = append(gone, h)
			}
		}
	}
	d.mu.Unlock()
	for _, h := range gone {
		h.close()
	}
}
