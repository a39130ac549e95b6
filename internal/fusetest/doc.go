// Package fusetest mounts a file system that compares names as ext4 with case
// folding and HFS+ do, and holds the path gate against it. It is a module of its own
// because of what it needs, and has tests only.
//
// The mount is made in the test's process and needs Linux, /dev/fuse and the right
// to mount; without them the tests say so and are skipped.
package fusetest
