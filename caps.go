package scribe

import (
	"fmt"
	"iter"
	"slices"
	"strings"
	"sync"

	"github.com/memoryroom/scribe/internal/journal"
)

// nearCap is the share of a soft cap, in percent, from which the writer is told.
const nearCap = 80

// judgeCaps rejects what is over a hard limit. A soft cap never stands in the way:
// the write succeeds, and the notice says what to do about it.
func judgeCaps(p *proposal, w *world) []Finding {
	lim := w.opts.Limits
	var fs []Finding
	if n := len(mirror(p, "000000000000:turn-000000000", w.now)); p.op != journal.OpArchive && n > lim.Memory { // as it would be stored
		fs = append(fs, refuse("cap.memory-bytes", Rejected, "text", fmt.Sprintf("the memory would have %d bytes; the limit is %d", n, lim.Memory), "split it into topics, or keep only what matters"))
	}
	if p.op == journal.OpAdd {
		if n, limit := counted(acceptedTrusts(w), p.trust, lim.Memories); n >= limit {
			fs = append(fs, refuse("cap.memories", Rejected, "path", fmt.Sprintf("the room holds %d memories of this kind; the limit is %d", n, limit), "edit or remove a memory instead of adding one"))
		}
	}
	if !p.names[0].ok() || p.noChange {
		return fs
	}
	lines, size := indexCaps(p.indexAfter(w))
	p.notices = append(p.notices, indexNotices(lines, size, lim, sync.OnceValue(func() []string { return longest(w, 3) }))...)
	return fs
}

// lowShare is the part of a hard limit that text below user-observed may fill, so that
// a flood from outside never keeps out what the user says.
const lowShare = 2

// counted gives what of a limit counts for a text of that trust, and the limit.
func counted(all iter.Seq[Trust], t Trust, limit int) (n, most int) {
	for other := range all {
		if t >= UserObserved || other < UserObserved {
			n++
		}
	}
	if t < UserObserved {
		return n, max(limit/lowShare, 1)
	}
	return n, limit
}

func acceptedTrusts(w *world) iter.Seq[Trust] {
	return func(yield func(Trust) bool) {
		for path, acc := range w.state.Accepted {
			if path != indexName && !yield(parseTrust(acc.Trust)) {
				return
			}
		}
	}
}

func pendingTrusts(w *world) iter.Seq[Trust] {
	return func(yield func(Trust) bool) {
		for _, held := range w.state.Pending {
			if !yield(parseTrust(held.Trust)) {
				return
			}
		}
	}
}

// indexAfter is MEMORY.md as it would be with p in it.
func (p *proposal) indexAfter(w *world) []byte {
	drop := map[string]bool{}
	var set []indexLine
	if p.op == journal.OpArchive || p.op == journal.OpRename {
		drop[p.path().String()] = true
	}
	if p.op != journal.OpArchive && p.trust >= UserObserved {
		set = append(set, lineFor(p.target().String(), metaOf(p.target().String(), []byte(p.text.whole)), w.now))
	}
	return patchIndex(w.index, set, drop, hasLine(w.state))
}

// indexNotices says what of the index is over, or near, its soft caps. candidates
// gives memories worth shortening, and is only asked when there is something to say.
// It is pure, so that tests can try every number.
func indexNotices(lines, size int, lim Limits, candidates func() []string) []Finding {
	var fs []Finding
	for _, d := range []struct {
		name, unit string
		now, limit int
	}{
		{"cap.index-lines", "lines", lines, lim.IndexLines},
		{"cap.index-bytes", "bytes", size, lim.IndexBytes},
	} {
		switch {
		case d.now > d.limit:
			fs = append(fs, refuse(d.name, Accepted, "index", fmt.Sprintf("MEMORY.md has %d %s; its limit is %d, and hosts cut what is beyond it", d.now, d.unit, d.limit), "merge or shorten memories now"+suggest(candidates)))
		case nearOf(d.now, d.limit):
			fs = append(fs, refuse(d.name+"-near", Accepted, "index", fmt.Sprintf("MEMORY.md has %d %s of %d", d.now, d.unit, d.limit), "merge or shorten memories before adding more"+suggest(candidates)))
		}
	}
	return fs
}

// nearOf reports whether now is at least nearCap percent of limit. The product is
// taken in 64 bits on every platform.
func nearOf(now, limit int) bool { return int64(now)*100 >= int64(limit)*nearCap }

func suggest(candidates func() []string) string {
	if candidates == nil {
		return ""
	}
	paths := candidates()
	if len(paths) == 0 {
		return ""
	}
	quoted := make([]string, len(paths))
	for i, p := range paths {
		quoted[i] = fmt.Sprintf("%.80q", p)
	}
	return ", for example " + strings.Join(quoted, ", ")
}

// longest names the n largest accepted memories at or above user-observed: only
// those may be named to a model.
func longest(w *world, n int) []string {
	type sized struct {
		path string
		size int
	}
	var all []sized
	for path, acc := range w.state.Accepted {
		if parseTrust(acc.Trust) < UserObserved {
			continue
		}
		if n, ok := w.size(path); ok {
			all = append(all, sized{path, n})
		}
	}
	slices.SortFunc(all, func(a, b sized) int {
		if a.size != b.size {
			return b.size - a.size
		}
		return strings.Compare(a.path, b.path)
	})
	var paths []string
	for _, s := range all[:min(n, len(all))] {
		paths = append(paths, s.path)
	}
	return paths
}
