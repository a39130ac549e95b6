// Package rootfs is the only package that touches the disk.
//
// # Words
//
//	root      the directory of a room; every name is relative to it
//	memory    a file of the room, named by a [relpath.Path] and nothing else
//	library   what lies in .scribe; named by plain strings of our own
//	in flight a library file below .scribe/tmp: written, not yet swapped in
//	plain     a regular file with exactly one link, on the room's own mount
//
// [FS] is the primitive layer: seventeen operations on slash-separated names.
// [OS] is the disk, reached through os.Root; [Mem] is a memory that crashes and
// fails on demand. [Dir] is what the rest of the module uses: it knows about
// memories, siblings, the library and the lock.
//
// # Rules of the disk
//
//  1. A path is walked one directory at a time, in every call. Each directory is
//     looked at without following (it must be a directory, not a link), opened,
//     and compared with what was looked at; it must lie on the room's mount, and
//     it must not hold a .scribe of its own (a room inside a room). While the room's
//     lock is held, a directory that was proved so in this hold stays open. One of
//     the room is still looked at in every call, and proved anew when it is another;
//     one of the library is not: it is reached anew in each hold of the lock.
//  2. A file that is read or appended to is plain. It is looked at, opened so that
//     a FIFO or a device cannot block the open, and compared again once open.
//  3. A name is the name that is stored: on a file system that ignores case, a file
//     is not reached through another spelling ("path.collision").
//  4. Nothing is written through an existing name. New bytes go to a new file and
//     are swapped in, so links, FIFOs and devices are replaced or refused, never
//     followed. The two exceptions are ours: appending to, and cutting, a journal.
//  5. A swap inspects what came out. Bytes that nobody expected are put back, or
//     parked below .scribe/versions; they are never unlinked.
//  6. Removing is one file or one empty directory. Nothing here is recursive.
//  7. Whatever this package creates is 0700 or 0600. Modes of what exists stay.
//  8. No error text holds an absolute path: *fs.PathError stays in the chain, with
//     the name relative to the room.
//
// # What is not promised
//
//   - That a directory which was verified stays where it is. On Linux the swap runs
//     on the verified directories themselves, so a directory that is moved takes
//     the write along and never leads it elsewhere; a directory of the library does
//     so for the rest of the hold. Elsewhere a rename between two
//     directories resolves both names again below the root: it cannot leave the
//     room, and a link planted in that instant is noticed after the fact.
//   - An exchange outside Linux (darwin's renamex_np needs libc, Windows has none):
//     there an update compares once more and renames over the file, which leaves a
//     window of microseconds in which an editor's save would be lost.
//   - An editor that keeps a file open and writes into it after it was swapped out.
//   - Disks that lie about a flush, lock semantics of network file systems, the
//     flush of a directory on Windows (NTFS journals it), and of file systems that
//     cannot flush a directory (EINVAL, ENOTSUP are taken as done).
//   - A bind mount of a single file on a kernel without statx mount IDs (before
//     Linux 5.8); directories are then told apart by device number.
//   - Anything against a process that runs with the same rights and means harm at
//     the level of the library: it can rewrite .scribe. See the journal for what
//     still shows.
package rootfs
