package scribe

import (
	"encoding/binary"
	"hash/crc32"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/memoryroom/scribe/internal/journal"
	"github.com/memoryroom/scribe/internal/rootfs"
)

// The cache's file, .scribe/cache. All numbers are little endian.
//
//	cacheMagic
//	at        32 bytes, see cached
//	settled   32 bytes, see cached
//	files     their number, 4 bytes; the bytes of their paths, 4
//	indexes   their number, 1 byte
//	files     for each a row of fileRow bytes: where its path ends, 8; size, modified,
//	          changed and inode of its stamp, 8 each; its hash and the digest of its body, 32
//	          each; then all paths end to end, in their order
//	indexes   for each a row of indexRow bytes: the trust of its ceiling, 1, and the lengths
//	          of its two parts, 8 each
//	CRC-32C of all before it, 4 bytes
//	the heads of the indexes, then their bodies: see lexical.Encode, which has its own sums
//
// Rows have one size and the paths are in the order in which a walk meets them, so that
// opening a room decodes nothing: each row is looked at where it lies. The bodies, most of
// the file, are not read with the rest, but here and there when a search needs it.
const (
	cacheMagic = "scribe cache 3\n"
	cacheHead  = len(cacheMagic) + 2*32 + 4 + 4 + 1
	fileRow    = 8 + 4*8 + 2*32
	indexRow   = 1 + 2*8
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// cached is a cache as it was read.
type cached struct {
	files   fileTable
	indexes map[Trust]keptIndex
	at      [32]byte // names the state at which the indexes stand, and whose accepted hashes the files have: see Room.stateAs
	settled [32]byte // digest of the journal's head and of MEMORY.md when that had the lines it should have; else zero
}

// keptIndex is an encoded index.
type keptIndex struct {
	head []byte
	body []byte // of one that is to be written
	from int64  // where the body begins in the file, of one that was read
	size int64  // of the body
}

// stamped is what a file was found to hold, and under which stamp.
type stamped struct {
	stamp rootfs.Stamp
	sum   [32]byte
	body  [32]byte // meta.Body; zero when it is not known
}

// fileTable is what files were found to hold, by path.
type fileTable struct {
	rows  []byte // of fileRow bytes each
	paths string
}

func (t *fileTable) len() int { return len(t.rows) / fileRow }

// number is the one of 8 bytes at a place in a row.
func (t *fileTable) number(row, at int) uint64 {
	return binary.LittleEndian.Uint64(t.rows[row*fileRow+at:])
}

// path is that of a row, or "" where the table is none.
func (t *fileTable) path(row int) string {
	from, to := uint64(0), t.number(row, 0)
	if row > 0 {
		from = t.number(row-1, 0)
	}
	if from > to || to > uint64(len(t.paths)) {
		return ""
	}
	return t.paths[from:to]
}

// file is what a row says.
func (t *fileTable) file(row int) (f stamped) {
	f.stamp = rootfs.Stamp{
		Size: int64(t.number(row, 8)), Modified: int64(t.number(row, 16)), Changed: int64(t.number(row, 24)), Inode: t.number(row, 32),
	}
	copy(f.sum[:], t.rows[row*fileRow+40:])
	copy(f.body[:], t.rows[row*fileRow+72:])
	return f
}

// find gives the row of a path. Whoever asks in the order of the table gives the row
// after the last one as next, and is answered at once.
func (t *fileTable) find(path string, next int) (row int, ok bool) {
	n := t.len()
	if next < n && t.path(next) == path {
		return next, true
	}
	low, high := 0, n
	for low < high {
		if mid := (low + high) / 2; t.path(mid) < path {
			low = mid + 1
		} else {
			high = mid
		}
	}
	return low, low < n && t.path(low) == path
}

// unmoved reports whether a row has the stamp that its file has.
func (t *fileTable) unmoved(row int, e *rootfs.Entry) bool {
	return e.Stamp != (rootfs.Stamp{}) && e.Stamp == rootfs.Stamp{
		Size: int64(t.number(row, 8)), Modified: int64(t.number(row, 16)), Changed: int64(t.number(row, 24)), Inode: t.number(row, 32),
	}
}

// tableOf makes a table.
func tableOf(files map[string]stamped) fileTable {
	var rows []byte
	var paths strings.Builder
	for path, f := range journal.Sorted(files) {
		paths.WriteString(path)
		for _, n := range []uint64{uint64(paths.Len()), uint64(f.stamp.Size), uint64(f.stamp.Modified), uint64(f.stamp.Changed), f.stamp.Inode} {
			rows = binary.LittleEndian.AppendUint64(rows, n)
		}
		rows = append(append(rows, f.sum[:]...), f.body[:]...)
	}
	return fileTable{rows, paths.String()}
}

// encode gives the cache as bytes.
func (c *cached) encode() []byte {
	le := binary.LittleEndian
	ceilings := slices.Sorted(maps.Keys(c.indexes))
	b := append(append([]byte(cacheMagic), c.at[:]...), c.settled[:]...)
	b = le.AppendUint32(le.AppendUint32(b, uint32(c.files.len())), uint32(len(c.files.paths)))
	b = append(append(append(b, byte(len(ceilings))), c.files.rows...), c.files.paths...)
	for _, ceiling := range ceilings {
		b = append(b, byte(ceiling))
		b = le.AppendUint64(le.AppendUint64(b, uint64(len(c.indexes[ceiling].head))), uint64(c.indexes[ceiling].size))
	}
	b = le.AppendUint32(b, crc32.Checksum(b, castagnoli))
	for _, ceiling := range ceilings {
		b = append(b, c.indexes[ceiling].head...)
	}
	for _, ceiling := range ceilings {
		b = append(b, c.indexes[ceiling].body...)
	}
	return b
}

// decodeCache reads what encode wrote, but for the bodies; of anything else, nothing.
func decodeCache(r io.ReaderAt, size int64) (c cached) {
	top := make([]byte, cacheHead)
	if _, err := r.ReadAt(top, 0); err != nil || string(top[:len(cacheMagic)]) != cacheMagic {
		return cached{}
	}
	le := binary.LittleEndian
	rest := top[len(cacheMagic):]
	n, paths, indexes := int64(le.Uint32(rest[64:])), int64(le.Uint32(rest[68:])), int64(rest[72])
	tables := n*fileRow + paths + indexes*indexRow
	if tables+4 > size-int64(cacheHead) {
		return cached{}
	}
	b := make([]byte, tables+4)
	if _, err := r.ReadAt(b, int64(cacheHead)); err != nil && err != io.EOF ||
		le.Uint32(b[tables:]) != crc32.Update(crc32.Checksum(top, castagnoli), castagnoli, b[:tables]) {
		return cached{}
	}
	copy(c.at[:], rest)
	copy(c.settled[:], rest[32:])
	c.files = fileTable{b[: n*fileRow : n*fileRow], string(b[n*fileRow:][:paths])}
	return c.decodeIndexes(r, b[n*fileRow+paths:tables], int64(cacheHead)+tables+4, size)
}

// decodeIndexes reads the heads of the indexes that rows name; they begin at from.
func (c cached) decodeIndexes(r io.ReaderAt, rows []byte, from, size int64) cached {
	c.indexes = map[Trust]keptIndex{}
	bodies := from
	for row := range slices.Chunk(rows, indexRow) {
		n := binary.LittleEndian.Uint64(row[1:])
		if n > uint64(size-bodies) {
			return c
		}
		bodies += int64(n)
	}
	for row := range slices.Chunk(rows, indexRow) {
		n, body := int64(binary.LittleEndian.Uint64(row[1:])), binary.LittleEndian.Uint64(row[9:])
		if body > uint64(size-bodies) {
			return c
		}
		kept := keptIndex{head: make([]byte, n), from: bodies, size: int64(body)}
		if _, err := r.ReadAt(kept.head, from); err != nil && err != io.EOF {
			return c
		}
		c.indexes[Trust(row[0])] = kept
		from, bodies = from+n, bodies+kept.size
	}
	return c
}
