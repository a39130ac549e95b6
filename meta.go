package scribe

import (
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/memoryroom/scribe/internal/entry"
	"github.com/memoryroom/scribe/internal/journal"
)

// meta is what listings and judgements need of a memory's text.
type meta struct {
	Description, Type, Key string

	Topic      string
	Tags       string // one a line, so that a meta can be compared
	VerifyWhen string

	Body string // digest of the normalised body: the same truth in the same words
	Size int    // bytes of the file
}

func metaOf(path string, data []byte) meta {
	m := meta{Type: "project", Key: strings.TrimSuffix(path, ".md"), Size: len(data)}
	e, err := entry.Parse(data)
	if err != nil {
		m.Body = journal.Sum(data)
		return m
	}
	m.Description = clipBytes(e.Description(), maxDescription)
	if t := e.Type(); t != "" {
		m.Type = t
	}
	if k := e.Key(); k != "" {
		m.Key = k
	}
	m.Topic, m.VerifyWhen = clipBytes(e.Topic(), maxLabel), clipBytes(e.VerifyWhen(), maxLabel)
	m.Tags = strings.Join(e.Tags(), "\n")
	m.Body = journal.Sum(entry.NormalBody(e.Body()))
	return m
}

// tags lists the tags; nil for none.
func (m meta) tags() []string {
	if m.Tags == "" {
		return nil
	}
	return strings.Split(m.Tags, "\n")
}

// clipBytes cuts s to at most n bytes, between two characters.
func clipBytes(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}

// metaCache keeps the meta of accepted texts by path and hash. It is a cache: what
// it holds follows from the bytes that the hash names.
type metaCache struct {
	mu    sync.Mutex // guards what follows
	m     map[metaID]meta
	files map[string]stamped // by path, from the room's cache; nil before it was asked
}

type metaID struct{ path, hash string }

func newMetaCache() *metaCache { return &metaCache{m: map[metaID]meta{}} }

// known gives the meta of an accepted memory if it is at hand.
func (c *metaCache) known(path, hash string) (m meta, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	m, ok = c.m[metaID{path, hash}]
	return m, ok
}

// kept gives what the room's cache says of the text of an accepted memory. It is for
// advice: a cache that is wrong costs an advice, or gives a poor one.
func (c *metaCache) kept(t *fileTable, path, hash string) (f stamped, ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.files == nil {
		c.files = make(map[string]stamped, t.len())
		for row := range t.len() {
			c.files[t.path(row)] = t.file(row)
		}
	}
	f = c.files[path]
	return f, f.body != [32]byte{} && f.sum == sumOf(hash)
}

// of gives the meta of an accepted memory; read fetches its bytes when they are not
// known yet. most bounds the cache.
func (c *metaCache) of(path, hash string, most int, read func() ([]byte, error)) (meta, bool) {
	id := metaID{path, hash}
	c.mu.Lock()
	m, ok := c.m[id]
	c.mu.Unlock()
	if ok {
		return m, true
	}
	data, err := read()
	if err != nil {
		return meta{}, false
	}
	m = metaOf(path, data)
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.m) >= most {
		clear(c.m) // mostly texts long replaced; refilled on demand
	}
	c.m[id] = m
	return m, true
}
