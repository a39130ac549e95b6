//go:build darwin || freebsd || netbsd

package rootfs

import "syscall"

func changedAt(st *syscall.Stat_t) int64 { return st.Ctimespec.Nano() }
