package main

import (
	"maps"
	"slices"
	"sync"

	"github.com/memoryroom/scribe"
)

// topicList is what a conversation's client was told of. It is safe for concurrent use.
type topicList struct {
	mu   sync.Mutex        // guards told
	told map[string]string // by path: the hash
}

// update takes the memories that there are now, by path, and says what is new to the
// client, what is gone and what changed, each in the order of the paths.
func (l *topicList) update(now map[string]scribe.Memory) (added []scribe.Memory, gone, changed []string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, path := range slices.Sorted(maps.Keys(now)) {
		switch hash, ok := l.told[path]; {
		case !ok:
			added = append(added, now[path])
		case hash != now[path].Hash:
			changed = append(changed, path)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(l.told)) {
		if _, ok := now[path]; !ok {
			gone = append(gone, path)
		}
	}
	l.told = map[string]string{}
	for path, m := range now {
		l.told[path] = m.Hash
	}
	return added, gone, changed
}
