package scribe

import (
	"cmp"
	"encoding/binary"
	"hash/crc32"
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
//	files     their number, 4 bytes; for each a row of fileRow bytes: where its path
//	          ends, 8; size, modified, changed and inode of its stamp, 8 each; its hash
//	          and the digest of its body, 32 each; then all paths end to end, in their order
//	indexes   their number, 1 byte; for each the trust of its ceiling, 1, and its length, 8
//	CRC-32C of all before it, 4 bytes
//	the indexes themselves: see lexical.Encode, which has its own sum
//
// Rows have one size and the paths are in the order in which a walk meets them, so that
// opening a room reads the file and decodes nothing: each row is looked at where it lies.
const (
	cacheMagic = "scribe cache 2\n"
	fileRow    = 8 + 4*8 + 2*32
	indexRow   = 1 + 8
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// cached is a cache as it was read.
type cached struct {
	files   fileTable
	indexes map[Trust][]byte
	at      [32]byte // names the state at which the indexes stand, and whose accepted hashes the files have: see Room.stateAs
	settled [32]byte // digest of the journal's head and of MEMORY.md when that had the lines it should have; else zero
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
	b := append(append([]byte(cacheMagic), c.at[:]...), c.settled[:]...)
	b = binary.LittleEndian.AppendUint32(b, uint32(c.files.len()))
	b = append(append(b, c.files.rows...), c.files.paths...)
	ceilings := make([]Trust, 0, len(c.indexes))
	for ceiling := range c.indexes {
		ceilings = append(ceilings, ceiling)
	}
	slices.SortFunc(ceilings, func(x, y Trust) int { return cmp.Compare(x, y) })
	b = append(b, byte(len(ceilings)))
	for _, ceiling := range ceilings {
		b = append(b, byte(ceiling))
		b = binary.LittleEndian.AppendUint64(b, uint64(len(c.indexes[ceiling])))
	}
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	for _, ceiling := range ceilings {
		b = append(b, c.indexes[ceiling]...)
	}
	return b
}

// decodeCache reads what encode wrote; of anything else, nothing. It keeps data.
func decodeCache(data []byte) cached {
	ok := len(data) >= len(cacheMagic) && string(data[:len(cacheMagic)]) == cacheMagic
	if !ok {
		return cached{}
	}
	rest := data[len(cacheMagic):]
	take := func(n uint64) []byte {
		if !ok || n > uint64(len(rest)) {
			ok = false
			return make([]byte, 8)
		}
		out := rest[:n:n]
		rest = rest[n:]
		return out
	}
	var c cached
	copy(c.at[:], take(uint64(len(c.at))))
	copy(c.settled[:], take(uint64(len(c.settled))))
	n := uint64(binary.LittleEndian.Uint32(take(4)))
	rows, size := take(n*fileRow), uint64(0)
	if !ok {
		return cached{}
	}
	if n > 0 {
		size = binary.LittleEndian.Uint64(rows[(n-1)*fileRow:])
	}
	c.files = fileTable{rows[: n*fileRow : n*fileRow], string(take(size))}
	heads := take(uint64(take(1)[0]) * indexRow)
	if sum := binary.LittleEndian.Uint32(take(4)); !ok || sum != crc32.Checksum(data[:len(data)-len(rest)-4], castagnoli) {
		return cached{}
	}
	c.indexes = map[Trust][]byte{}
	for ; len(heads) >= indexRow; heads = heads[indexRow:] {
		if index := take(binary.LittleEndian.Uint64(heads[1:])); ok {
			c.indexes[Trust(heads[0])] = index
		}
	}
	return c
}
