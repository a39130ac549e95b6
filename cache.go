package scribe

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
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
const (
	cacheName = "cache"
	cacheFrom = 1000    // memories; below, reading them all takes no longer
	maxCache  = 1 << 30 // bytes
)

// readCache reads the cache of a large room.
func (r *Room) readCache() {
	if len(r.stateNow().Accepted) < cacheFrom {
		return
	}
	c := r.cacheNow()
	r.keep(&c)
}

// kept is the cache that was read; one without anything where there is none.
func (r *Room) kept() *cached {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.cache == nil {
		return &cached{}
	}
	return r.cache
}

func (r *Room) keep(c *cached) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.cache = c
}

// cacheNow is the cache as it lies there, without the bodies of its indexes.
func (r *Room) cacheNow() (c cached) {
	_ = r.disk.LibView(cacheName, maxCache, func(file io.ReaderAt, size int64) error {
		c = decodeCache(file, size)
		return nil
	})
	return c
}

// index gives the index of a ceiling as it was kept, or an empty one. at says that it
// stands at the state of now. Its body is read as it is used, from what then lies there: one
// of another cache has other sums, and breaks the index.
func (c *cached) index(r *Room, ceiling Trust) (x *lexical.Index, at bool) {
	kept, ok := c.indexes[ceiling]
	if !ok {
		return lexical.New(), false
	}
	x, err := lexical.Decode(kept.head, func(fn func(io.ReaderAt) error) error {
		return r.disk.LibView(cacheName, maxCache, func(file io.ReaderAt, _ int64) error {
			return fn(io.NewSectionReader(file, kept.from, kept.size))
		})
	})
	if err != nil {
		return lexical.New(), false
	}
	return x, c.at == r.stateAs()
}

// stateAs names what is accepted now, and by whose word: by the journal's head, which
// stands for all rows before it, and the key under which they count.
func (r *Room) stateAs() [32]byte {
	r.mu.Lock()
	head := r.ledger.head
	r.mu.Unlock()
	return sha256.Sum256([]byte(head.String() + "\n" + r.keyed("cache")))
}

// settledAs names the state of the journal together with what MEMORY.md holds.
func (r *Room) settledAs(w *world) [32]byte {
	r.mu.Lock()
	head := r.ledger.head
	r.mu.Unlock()
	sum := sha256.New()
	fmt.Fprintln(sum, head)
	sum.Write(w.index)
	return [32]byte(sum.Sum(nil))
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
	files, changes := r.stamps(state)
	r.lexicons.mu.Lock()
	defer r.lexicons.mu.Unlock()
	var whole []*lexicon
	for _, lex := range r.lexicons.m {
		if lex.follow(ctx, r, state) == nil {
			whole = append(whole, lex)
			changes += lex.sinceCache()
		}
	}
	if changes <= len(state.Accepted)/32 {
		return
	}
	next := cached{files: tableOf(files), indexes: map[Trust]keptIndex{}, at: r.stateAs()}
	for _, lex := range whole {
		if kept, ok := lex.encode(state); ok {
			next.indexes[lex.ceiling] = kept
		}
	}
	if len(next.indexes) > 0 {
		if w, err := r.world(ctx); err == nil && string(r.rebuiltIndex(w)) == string(w.index) {
			next.settled = r.settledAs(w)
		}
		_ = r.disk.LibReplace(cacheName, next.encode())
	}
}

// stamps gives the stamps of the files that hold what is accepted, as far as they are known,
// and how many of them the cache does not have. Those of files that this process did not
// look at are as they were read.
func (r *Room) stamps(state *journal.State) (files map[string]stamped, changes int) {
	files = r.glances.stamps()
	was := &r.kept().files
	for path, f := range files {
		hash := state.Accepted[path].Hash
		if sumOf(hash) != f.sum {
			delete(files, path)
			continue
		}
		row, ok := was.find(path, 0)
		if m, known := r.metas.known(path, hash); known {
			f.body = sumOf(m.Body)
		} else if ok && was.file(row).sum == f.sum {
			f.body = was.file(row).body
		}
		if files[path] = f; !ok || was.file(row) != f {
			changes++
		}
	}
	for row := range was.len() {
		path := was.path(row)
		if _, newer := files[path]; !newer && sumOf(state.Accepted[path].Hash) == was.file(row).sum {
			files[path] = was.file(row)
		}
	}
	return files, changes
}

// cacheWait is how long Close waits for a writer before it leaves the cache as it is.
const cacheWait = time.Second

// dropCache removes the cache: what it holds words of must go.
func (r *Room) dropCache() error {
	r.keep(nil)
	r.lexicons.load()
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
