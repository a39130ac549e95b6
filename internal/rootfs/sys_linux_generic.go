//go:build linux && (arm64 || loong64 || riscv64)

package rootfs

// System call numbers that package syscall lacks, from the kernel's
// include/uapi/asm-generic/unistd.h.
const (
	sysRenameat2 = 276
	sysStatx     = 291
)
