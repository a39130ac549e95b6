//go:build linux && !amd64 && !arm64 && !loong64 && !riscv64

package rootfs

// Zero: not known here. The callers fall back as on an old kernel.
const (
	sysRenameat2 = 0
	sysStatx     = 0
)
