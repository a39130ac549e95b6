package rootfs

import (
	"fmt"
	"io/fs"
	"os"
	"syscall"
)

const (
	openNonblock = 0         // opening a device name is refused by os.Root
	openForSync  = os.O_RDWR // FlushFileBuffers needs the right to write
	canSyncDir   = false     // NTFS journals its metadata
)

func handleInfo(f *os.File) (info syscall.ByHandleFileInformation, err error) {
	conn, err := f.SyscallConn()
	if err != nil {
		return info, err
	}
	var inner error
	err = conn.Control(func(fd uintptr) {
		inner = syscall.GetFileInformationByHandle(syscall.Handle(fd), &info)
	})
	if err == nil {
		err = inner
	}
	return info, err
}

// linksBelow opens the file, because a look does not tell the number of links.
func linksBelow(h *handle, base string, _ fs.FileInfo) uint64 {
	f, err := h.root.Open(base)
	if err != nil {
		return 1 // the open that matters asks again, on its own handle
	}
	defer f.Close()
	return linksOf(f, nil)
}

func linksOf(f *os.File, _ fs.FileInfo) uint64 {
	info, err := handleInfo(f)
	if err != nil {
		return 2 // unknown: refuse
	}
	return uint64(info.NumberOfLinks)
}

// mountOf is the volume. Mount points and junctions are reparse points, which a
// look reports as irregular, so they are refused before they are entered.
func mountOf(f *os.File) mountID {
	info, err := handleInfo(f)
	if err != nil {
		return mountID{}
	}
	return mountID{id: uint64(info.VolumeSerialNumber), exact: true}
}

func foreign(*handle, string, fs.FileInfo) bool { return false }

func identity(f *os.File) (string, error) {
	info, err := handleInfo(f)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("%x-%x", uint64(info.FileIndexHigh)<<32|uint64(info.FileIndexLow),
		info.CreationTime.Nanoseconds()), nil
}

// writable cannot be known without trying: access lists decide, not attributes.
func writable(*os.File, string) bool { return true }
