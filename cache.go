package scribe

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"hash/crc32"
	"io/fs"
	"math"
	"time"

	"github.com/memoryroom/scribe/internal/journal"
	"github.com/memoryroom/scribe/internal/lexical"
	"github.com/memoryroom/scribe/internal/rootfs"
)

// A large room keeps, in .scribe/cache, what it would else work out at each start: the
// search indexes, and under which stamps its files were found to hold what is accepted.
// Close writes it and the next Open reads it. Nothing needs it and nothing trusts it: what
// is shown is read and checked against the journal first, so that a wrong cache costs hits
// and no more. It holds words of the memories, so that it is as secret as they are (0600),
// and Purge removes it.
//
//	cacheMagic
//	settled: 32 bytes, see below
//	files:   number, then for each the length of its path, its path, its hash, its stamp
//	CRC-32C of all before it, 4 bytes, little endian
//	indexes: for each the trust of its ceiling, its length and its bytes, see lexical.Encode
const (
	cacheName  = "cache"
	cacheMagic = "scribe cache 1\n"
	cacheFrom  = 1000    // memories; below, reading them all takes no longer
	maxCache   = 1 << 30 // bytes
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// cached is a cache as it was read.
type cached struct {
	files   map[string]stamped
	indexes map[Trust][]byte
	settled [32]byte // digest of the journal's head and of MEMORY.md when that had the lines it should have; else zero
}

// stamped is what a file was found to hold, and under which stamp.
type stamped struct {
	stamp rootfs.Stamp
	sum   [32]byte
}

// encode gives the cache as bytes.
func (c *cached) encode() []byte {
	b := append([]byte(cacheMagic), c.settled[:]...)
	b = binary.AppendUvarint(b, uint64(len(c.files)))
	for path, f := range journal.Sorted(c.files) {
		b = binary.AppendUvarint(b, uint64(len(path)))
		b = append(append(b, path...), f.sum[:]...)
		for _, v := range []int64{f.stamp.Size, f.stamp.Modified, f.stamp.Changed, int64(f.stamp.Inode)} {
			b = binary.AppendVarint(b, v)
		}
	}
	b = binary.LittleEndian.AppendUint32(b, crc32.Checksum(b, castagnoli))
	for trust := Trust(0); trust <= Operator; trust++ {
		data, ok := c.indexes[trust]
		if !ok {
			continue
		}
		b = binary.AppendUvarint(b, uint64(trust))
		b = binary.AppendUvarint(b, uint64(len(data)))
		b = append(b, data...)
	}
	return b
}

// decodeCache reads what encode wrote; of anything else, nothing.
func decodeCache(data []byte) (c cached) {
	b, ok := data, len(data) >= len(cacheMagic) && string(data[:len(cacheMagic)]) == cacheMagic
	number := func() uint64 {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			ok, b = false, nil
			return 0
		}
		b = b[n:]
		return v
	}
	take := func(n uint64) []byte {
		if n > uint64(len(b)) {
			ok, b = false, nil
			return nil
		}
		out := b[:n:n]
		b = b[n:]
		return out
	}
	if !ok {
		return cached{}
	}
	take(uint64(len(cacheMagic)))
	copy(c.settled[:], take(uint64(len(c.settled))))
	c.files = map[string]stamped{}
	for n := number(); n > 0 && ok; n-- {
		var f stamped
		path := string(take(number()))
		copy(f.sum[:], take(uint64(len(f.sum))))
		var inode int64
		for _, v := range []*int64{&f.stamp.Size, &f.stamp.Modified, &f.stamp.Changed, &inode} {
			var k int
			if *v, k = binary.Varint(b); k <= 0 {
				return cached{}
			}
			b = b[k:]
		}
		f.stamp.Inode = uint64(inode)
		c.files[path] = f
	}
	read := len(data) - len(b)
	if sum := take(4); !ok || binary.LittleEndian.Uint32(sum) != crc32.Checksum(data[:read], castagnoli) {
		return cached{}
	}
	c.indexes = map[Trust][]byte{}
	for len(b) > 0 {
		trust, index := number(), take(number())
		if !ok || trust > math.MaxUint8 {
			break
		}
		c.indexes[Trust(trust)] = index
	}
	return c
}

// readCache reads the cache of a large room.
func (r *Room) readCache() {
	if len(r.stateNow().Accepted) < cacheFrom {
		return
	}
	if data, err := r.disk.LibRead(cacheName, maxCache); err == nil {
		r.cache = decodeCache(data)
	}
}

// cachedIndex gives the index of a ceiling as it was kept, or an empty one.
func (r *Room) cachedIndex(ceiling Trust) *lexical.Index {
	if data, ok := r.cache.indexes[ceiling]; ok {
		if x, err := lexical.Decode(data); err == nil {
			return x
		}
	}
	return lexical.New()
}

// unmoved reports whether a file has the stamp under which it held the accepted bytes.
func (c *cached) unmoved(path string, e rootfs.Entry, hash string) bool {
	f, ok := c.files[path]
	return ok && e.Stamp != (rootfs.Stamp{}) && f.stamp == e.Stamp && hex.EncodeToString(f.sum[:]) == hash
}

// settledAs names the state of the journal together with what MEMORY.md holds.
func (r *Room) settledAs(w *world) [32]byte {
	r.mu.Lock()
	head := r.ledger.head
	r.mu.Unlock()
	return sha256.Sum256(append([]byte(head.String()+"\n"), w.index...))
}

// keepCache writes the cache of a large room, when more than a few memories changed since
// it was read. It is the last thing that a handle does, and its failure is nobody's. Only
// indexes that stand at this moment's state are kept, under the room's lock: an older one
// could hold words of what was purged meanwhile.
func (r *Room) keepCache() {
	if len(r.stateNow().Accepted) < cacheFrom || r.writable() != nil || !r.lexicons.asked() {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), cacheWait)
	defer cancel()
	unlock, err := r.lock(ctx)
	if err != nil {
		return
	}
	defer unlock()
	state := r.stateNow()
	next := cached{files: r.glances.stamps(), indexes: map[Trust][]byte{}}
	changes := 0
	for path, f := range next.files {
		if r.cache.files[path] != f {
			changes++
		}
	}
	r.lexicons.mu.Lock()
	defer r.lexicons.mu.Unlock()
	for ceiling, lex := range r.lexicons.m {
		if lex.follow(ctx, r, state) != nil {
			continue
		}
		lex.mu.Lock()
		if lex.state == state {
			changes += lex.changes
			next.indexes[ceiling] = lex.index.Encode()
		}
		lex.mu.Unlock()
	}
	if len(next.indexes) > 0 && changes > len(state.Accepted)/32 {
		if w, err := r.world(ctx); err == nil && string(r.rebuiltIndex(w)) == string(w.index) {
			next.settled = r.settledAs(w)
		}
		_ = r.disk.LibReplace(cacheName, next.encode())
	}
}

// cacheWait is how long Close waits for a writer before it leaves the cache as it is.
const cacheWait = time.Second

// dropCache removes the cache: what it holds words of must go.
func (r *Room) dropCache() error {
	r.cache = cached{}
	err := r.disk.LibRemove(cacheName)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	refusal := (*rootfs.Refusal)(nil)
	if _, serr := r.disk.LibStat(cacheName); err != nil && errors.As(serr, &refusal) {
		return nil // no file, so none of ours: somebody's directory
	}
	return err
}
