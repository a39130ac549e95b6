package rootfs

import "time"

// Stamp is what the system changes whenever it changes a file's bytes: two equal ones,
// neither of them zero, mean that the bytes are the same. Zero means that the file has
// to be read.
//
// It carries the time of the last change of status, which no program can set, and it is
// given only for a file whose last change is older than settle. A younger file could be
// changed again within one tick of the file system's clock, and show the same stamp (git
// calls such an entry racy). What it does not cover: a clock that is set back by more
// than that, and memory-mapped writes that have not reached the file.
type Stamp struct {
	Size, Modified, Changed int64 // bytes; nanoseconds since 1970
	Inode                   uint64
}

// settle is longer than the coarsest tick in use: FAT counts modifications in twos.
const settle = 2 * time.Second

// settled gives s, or zero when it may not be relied on.
func (s Stamp) settled(now time.Time) Stamp {
	if s.Changed == 0 || s.Changed > now.Add(-settle).UnixNano() {
		return Stamp{}
	}
	return s
}
