package main

import (
	"maps"
	"slices"

	"github.com/memoryroom/scribe"
)

// topicList is what a conversation's client was told of: hashes by path.
type topicList map[string]string

// update takes the memories that there are now, by path, and says what is new to the
// client, what is gone and what changed, each in the order of the paths.
func (l topicList) update(now map[string]scribe.Memory) (added []scribe.Memory, gone, changed []string) {
	for _, path := range slices.Sorted(maps.Keys(now)) {
		switch hash, ok := l[path]; {
		case !ok:
			added = append(added, now[path])
		case hash != now[path].Hash:
			changed = append(changed, path)
		}
	}
	for _, path := range slices.Sorted(maps.Keys(l)) {
		if _, ok := now[path]; !ok {
			gone = append(gone, path)
		}
	}
	clear(l)
	for path, m := range now {
		l[path] = m.Hash
	}
	return added, gone, changed
}
