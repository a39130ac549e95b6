//go:build unix

package rootfs

import (
	"io/fs"
	"time"
)

func stampOf(fi fs.FileInfo) Stamp {
	st := sysOf(fi)
	if st == nil {
		return Stamp{}
	}
	s := Stamp{Size: fi.Size(), Modified: fi.ModTime().UnixNano(), Changed: changedAt(st), Inode: st.Ino}
	return s.settled(time.Now())
}
