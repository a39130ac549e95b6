package rootfs

// System call numbers that package syscall lacks, from the kernel's
// arch/x86/entry/syscalls/syscall_64.tbl.
const (
	sysRenameat2 = 316
	sysStatx     = 332
)
