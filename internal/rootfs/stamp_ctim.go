//go:build unix && !darwin && !freebsd && !netbsd && !aix

package rootfs

import "syscall"

func changedAt(st *syscall.Stat_t) int64 { return st.Ctim.Nano() }
