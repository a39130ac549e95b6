package rootfs

import "syscall"

func changedAt(st *syscall.Stat_t) int64 { return 0 } // always read
