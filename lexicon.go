package scribe

import (
	"context"
	"encoding/hex"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/memoryroom/scribe/internal/entry"
	"github.com/memoryroom/scribe/internal/journal"
	"github.com/memoryroom/scribe/internal/lexical"
	"github.com/memoryroom/scribe/internal/relpath"
)

// lexicons are the search indexes of a room, one for each ceiling that asked: what
// a reader may not see does not weigh on its scores either.
type lexicons struct {
	mu sync.Mutex // guards m
	m  map[Trust]*lexicon
}

func (l *lexicons) of(ceiling Trust) *lexicon {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.m == nil {
		l.m = map[Trust]*lexicon{}
	}
	lex, ok := l.m[ceiling]
	if !ok {
		lex = &lexicon{ceiling: ceiling}
		l.m[ceiling] = lex
	}
	return lex
}

// asked reports whether anybody searched.
func (l *lexicons) asked() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return len(l.m) > 0
}

// load reads what the indexes have not read of the cache yet: it is about to go.
func (l *lexicons) load() {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, lex := range l.m {
		lex.mu.Lock()
		if lex.index != nil {
			lex.index.Load()
		}
		lex.mu.Unlock()
	}
}

// lexicon is the index of what a reader of one ceiling may be shown. It follows the
// journal, which says what is accepted, and never looks for what changed on the disk:
// each hit is read and checked before it is released.
type lexicon struct {
	ceiling Trust

	mu      sync.RWMutex // guards what follows; read-locked by searches
	index   *lexical.Index
	state   *journal.State // what the index stands at; nil: nothing is known of it
	changes int            // documents that were put or removed since the cache was read
	opened  bool           // the index was looked for in the cache
	tries   int            // how often it was
}

// maxTries is how often an index is looked for in a cache: in that which was there when the
// room was opened and, where another process put another in its place, in that.
const maxTries = 2

// follow brings the index to a state. Rows since the last one cost what their memories
// cost; only what came at once or was taken back is compared as a whole. Cancelled, it
// leaves an index that the next call goes on with.
func (l *lexicon) follow(ctx context.Context, r *Room, state *journal.State) error {
	l.mu.RLock()
	done := l.state == state
	l.mu.RUnlock()
	if done {
		return nil
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.state == state {
		return nil
	}
	was := l.state
	l.state = nil
	if !l.opened && l.open(r) && r.stateNow() == state {
		l.state = state
		return nil
	}
	var paths []string
	ok := false
	if was != nil && was.Epoch == state.Epoch && was.Seq <= state.Seq {
		paths, ok = state.Touched(was.Seq)
	}
	if !ok {
		paths = l.differing(state)
		for id := range l.index.IDs() {
			if _, stands := state.Accepted[id]; !stands {
				paths = append(paths, id)
			}
		}
	}
	whole := true
	for _, path := range paths {
		if err := ctx.Err(); err != nil {
			return err
		}
		whole = l.put(r, state, path) && whole
	}
	if whole && !l.index.Broken() {
		l.state = state
	}
	return nil
}

// open looks for the index in the cache, or begins with an empty one. It reports that the
// index stands at the state of now. l.mu is held.
func (l *lexicon) open(r *Room) (at bool) {
	l.opened = true
	switch l.tries++; {
	case l.tries == 1:
		l.index, at = r.kept().index(r, l.ceiling)
	case l.tries <= maxTries:
		c := r.cacheNow()
		l.index, at = c.index(r, l.ceiling)
	default:
		l.index = lexical.New()
	}
	return at
}

// sinceCache is the number of documents that were put or removed since the cache was read.
func (l *lexicon) sinceCache() int {
	l.mu.RLock()
	defer l.mu.RUnlock()
	return l.changes
}

// encode gives the index for the cache, if it stands at a state.
func (l *lexicon) encode(state *journal.State) (kept keptIndex, ok bool) {
	l.mu.Lock() // it is compacted
	defer l.mu.Unlock()
	if l.state != state {
		return keptIndex{}, false
	}
	kept.head, kept.body, ok = l.index.Encode()
	kept.size = int64(len(kept.body))
	return kept, ok
}

// forged drops an index that was read from a cache which somebody forged or replaced, and
// reports whether it was one. The next call of follow opens or builds it anew.
func (l *lexicon) forged() bool {
	l.mu.RLock()
	ok := !l.index.Broken()
	l.mu.RUnlock()
	if ok {
		return false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.index.Broken() { // else another search was faster
		l.index, l.state, l.opened = lexical.New(), nil, false
	}
	return true
}

// differing lists the accepted paths, in order, of which the index has not the text that
// the state says, or the time.
func (l *lexicon) differing(state *journal.State) (paths []string) {
	for path, acc := range state.Accepted {
		sum, day, indexed := l.index.Version(path)
		if parseTrust(acc.Trust) < l.ceiling {
			if indexed {
				paths = append(paths, path)
			}
		} else if !indexed || day != dayOf(acc.Time) || sum != sumOf(acc.Hash) {
			paths = append(paths, path)
		}
	}
	slices.Sort(paths)
	return paths
}

// put makes the index hold what the state says of one path. It reports false when the
// accepted text can not be read: Check says so, and the next search tries again.
func (l *lexicon) put(r *Room, state *journal.State, path string) bool {
	acc, ok := state.Accepted[path]
	sum, day, indexed := l.index.Version(path)
	p, err := relpath.Parse(path)
	if !ok || err != nil || path == indexName || parseTrust(acc.Trust) < l.ceiling {
		if indexed {
			l.index.Remove(path)
			l.changes++
		}
		return true
	}
	if want := sumOf(acc.Hash); indexed && sum == want && day == dayOf(acc.Time) {
		return true
	}
	data, hash, err := r.lying(p)
	if err != nil || hash != acc.Hash {
		data, err = r.version(acc.Seq, acc.Hash)
	}
	if err != nil {
		if indexed {
			l.index.Remove(path)
		}
		return false
	}
	l.index.Put(document(path, acceptedAs(describe(path, stageActive, data), acc)))
	l.changes++
	return true
}

// lookAround indexes outside changes as well, in a room where a waiver makes them count.
// It has to look at every file for that.
func (l *lexicon) lookAround(ctx context.Context, r *Room) error {
	w, err := r.world(ctx)
	if err != nil {
		return err
	}
	all, err := r.listIn(ctx, w, []string{stageActive}, false)
	if err != nil {
		return err
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, m := range all {
		p, err := relpath.Parse(m.Path)
		if sum, _, _ := l.index.Version(m.Path); err != nil || sum == sumOf(m.Hash) || m.Trust < l.ceiling {
			continue
		}
		if m.Text == "" {
			data, hash, err := r.lying(p)
			if err != nil || hash != m.Hash {
				continue // saved once more: the next search has it
			}
			m.Text = string(data)
		}
		l.index.Put(document(m.Path, m))
	}
	return nil
}

// search asks the index.
func (l *lexicon) search(q lexical.Query) (hits []lexical.Hit, drops lexical.Drops, docs int) {
	l.mu.RLock()
	defer l.mu.RUnlock()
	hits, drops = l.index.Search(q)
	return hits, drops, l.index.Len()
}

// window finds the snippet of a body.
func (l *lexicon) window(query, body string) string {
	l.mu.RLock()
	defer l.mu.RUnlock()
	from, n := l.index.Window(query, body)
	return body[from : from+n]
}

// document is a memory as the index reads it: the words of its path, description, key,
// topic and tags count more than those of its body, and the rest of the frontmatter not
// at all.
func document(id string, m Memory) lexical.Doc {
	name := strings.TrimSuffix(m.Path, ".md")
	title := append([]string{strings.ReplaceAll(name, "/", " "), m.Description, m.Topic}, m.Tags...)
	if m.Key != name {
		title = append(title, m.Key)
	}
	return lexical.Doc{ID: id, Title: strings.Join(title, "\n"), Body: body(m.Text), Day: dayOf(m.Modified), Sum: sumOf(m.Hash)}
}

// body is a memory's text without its frontmatter.
func body(text string) string {
	e, err := entry.Parse([]byte(text))
	if err != nil {
		return text
	}
	return string(e.Body())
}

// dayOf counts days from 1970; 0 is no time at all.
func dayOf(t time.Time) int32 {
	if t.IsZero() {
		return 0
	}
	return int32(t.Unix() / 86400)
}

// sumOf reads a hash; what is none names nothing.
func sumOf(hash string) (sum [32]byte) {
	if len(hash) == hex.EncodedLen(len(sum)) {
		_, _ = hex.Decode(sum[:], []byte(hash))
	}
	return sum
}
