package main

import (
	"bytes"
	"context"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"syscall"

	gofuse "github.com/hanwen/go-fuse/v2/fs"
	"github.com/hanwen/go-fuse/v2/fuse"
)

// disk is a block device in memory, as a file of a FUSE mount. It knows what was flushed.
type disk struct {
	gofuse.Inode

	mu      sync.Mutex // guards what follows
	now     []byte     // what a running system sees
	flushed []byte     // what is on the disk for certain
	dirty   []span     // what was written since the last flush
	flushes int
	writes  int
	log     *recording // nil: nothing is recorded
}

type span struct{ from, to int }

func newDisk(size int) *disk { return &disk{now: make([]byte, size), flushed: make([]byte, size)} }

// diskName is the file's name in its mount.
const diskName = "disk"

// serve mounts a directory with the disk in it.
func (d *disk) serve(dir string) (*fuse.Server, error) {
	root := &gofuse.Inode{}
	return gofuse.Mount(dir, root, &gofuse.Options{
		OnAdd: func(ctx context.Context) {
			root.AddChild(diskName, root.NewPersistentInode(ctx, d, gofuse.StableAttr{Mode: syscall.S_IFREG}), false)
		},
		MountOptions: fuse.MountOptions{DirectMountStrict: true, FsName: "disk", Name: "disk", MaxWrite: 128 << 10},
	})
}

func (d *disk) Getattr(_ context.Context, _ gofuse.FileHandle, out *fuse.AttrOut) syscall.Errno {
	out.Mode, out.Size = 0o600, uint64(len(d.now))
	return 0
}

func (d *disk) Setattr(ctx context.Context, h gofuse.FileHandle, _ *fuse.SetAttrIn, out *fuse.AttrOut) syscall.Errno {
	return d.Getattr(ctx, h, out)
}

func (d *disk) Open(context.Context, uint32) (gofuse.FileHandle, uint32, syscall.Errno) {
	return nil, 0, 0
}

func (d *disk) Read(_ context.Context, _ gofuse.FileHandle, dest []byte, off int64) (fuse.ReadResult, syscall.Errno) {
	d.mu.Lock()
	defer d.mu.Unlock()
	n := copy(dest, d.now[min(off, int64(len(d.now))):])
	return fuse.ReadResultData(dest[:n]), 0
}

func (d *disk) Write(_ context.Context, _ gofuse.FileHandle, data []byte, off int64) (uint32, syscall.Errno) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if off+int64(len(data)) > int64(len(d.now)) {
		return 0, syscall.ENOSPC
	}
	copy(d.now[off:], data)
	d.log.note(event{at: off, data: bytes.Clone(data)})
	d.dirty = append(d.dirty, span{int(off), int(off) + len(data)})
	d.writes++
	return uint32(len(data)), 0
}

func (d *disk) Fsync(context.Context, gofuse.FileHandle, uint32) syscall.Errno {
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, s := range d.dirty {
		copy(d.flushed[s.from:s.to], d.now[s.from:s.to])
	}
	d.dirty = nil
	d.flushes++
	d.log.note(event{flush: true})
	return 0
}

// count gives the flushes and writes so far.
func (d *disk) count() (flushes, writes int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.flushes, d.writes
}

// cut gives what the disk holds after a power cut now: what was flushed, and of the rest
// each sector of 512 bytes with the probability keep.
func (d *disk) cut(rng *rand.Rand, keep float64) []byte {
	d.mu.Lock()
	defer d.mu.Unlock()
	image := append([]byte(nil), d.flushed...)
	for _, s := range d.dirty {
		for at := s.from; at < s.to; at += 512 {
			if end := min(at+512, s.to); rng.Float64() < keep {
				copy(image[at:end], d.now[at:end])
			}
		}
	}
	return image
}

// fuseDisk mounts a new disk and gives its file.
func fuseDisk(base string, size int) (d *disk, file string, unmount func(), err error) {
	dir := filepath.Join(base, "fuse")
	if err := os.Mkdir(dir, 0o700); err != nil {
		return nil, "", nil, err
	}
	d = newDisk(size)
	server, err := d.serve(dir)
	if err != nil {
		return nil, "", nil, err
	}
	return d, filepath.Join(dir, diskName), func() { server.Unmount() }, nil
}
