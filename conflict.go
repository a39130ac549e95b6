package scribe

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/memoryroom/scribe/internal/entry"
	"github.com/memoryroom/scribe/internal/fold"
	"github.com/memoryroom/scribe/internal/journal"
)

// judgeConflict compares the proposal with what stands: nothing is overwritten that
// the author did not read, nothing of higher trust by lower, and one key has one
// truth. A writer's conflict waits for the operator; the operator's own is told.
func judgeConflict(p *proposal, w *world) []Finding {
	if !p.names[0].ok() || (p.op == journal.OpRename && !p.names[1].ok()) {
		return nil
	}
	fs := judgeBase(p, w)
	if len(fs) > 0 && fs[0].Outcome == Rejected {
		return fs
	}
	base := p.was.kind == active || p.was.kind == changed
	p.noChange = base && p.writes() && p.sameAgain()
	// The stamp is the minimum of base and author; the author is what counts here.
	if author := max(p.trust, p.who.ceiling); base && p.was.trust() > author && !p.who.hand && !p.noChange {
		fs = append(fs, p.conflict("conflict.higher-trust", fmt.Sprintf("%.120q is stored at trust %s, above what this change can have", p.path(), p.was.trust()), "the operator decides"))
	}
	fs = append(fs, judgeLinks(p, w)...)
	if p.op != journal.OpArchive {
		fs = append(fs, judgeTombs(p, w)...)
		fs = append(fs, judgeKey(p, w)...)
	}
	return fs
}

// judgeBase checks that the change builds on what is there.
func judgeBase(p *proposal, w *world) []Finding {
	c, was := p.cand, p.was
	gone := was.kind == absent
	switch {
	case gone && (c.Old != "" || c.Remove || c.To != "" || (c.Text == "" && c.Base != "")):
		return []Finding{refuse("conflict.missing", Rejected, "path", fmt.Sprintf("there is no memory %.120q", p.path()), "list the memories and use a path that exists")}
	case gone && c.Base != "" && (was.tomb == nil || was.tomb.Hash != c.Base):
		return []Finding{stale(p)}
	case gone:
		return nil
	case p.op == journal.OpRename && p.dest.kind != absent:
		return []Finding{refuse("conflict.destination", Rejected, "to", fmt.Sprintf("the destination %.120q already exists", p.names[1].path), "choose a free name")}
	case (was.kind == changed || was.kind == unaccepted) && len(secretsIn(string(was.disk), w.opts.Allow)) > 0:
		return []Finding{outsideSecret(p.path().String())}
	case was.kind == unaccepted:
		return []Finding{p.conflict("conflict.unaccepted", fmt.Sprintf("the bytes at %.120q were never accepted here", p.path()), "the operator adopts them first")}
	case was.kind == changed && p.who.hand && c.Base == journal.Sum(was.disk):
		return nil // the operator looked at what lies there, and replaces it
	case c.Base != "" && c.Base != was.hash():
		return []Finding{stale(p)}
	case was.kind == changed:
		return []Finding{p.conflict("conflict.outside-change", fmt.Sprintf("%.120q was changed outside since it was accepted", p.path()), "the operator adopts or discards the outside change first")}
	case c.Base == "" && p.op == journal.OpReplace && !p.sameAgain():
		return []Finding{p.conflict("conflict.path", fmt.Sprintf("%.120q exists and says something else", p.path()), "read it, then edit it, or pass its hash as the base")}
	}
	return nil
}

// outsideSecret blocks writes to a path where somebody put a credential: replacing
// the file would copy it into the versions.
func outsideSecret(path string) Finding {
	return refuse("conflict.outside-secret", Rejected, "path", fmt.Sprintf("%.120q holds bytes from outside, and a credential is in them", path), "the operator takes it out in an editor first")
}

func stale(p *proposal) Finding {
	return refuse("stale.base", Rejected, "base", fmt.Sprintf("%.120q is not what this change was built on", p.path()), "read it again and propose the change anew")
}

// conflict holds a writer's proposal and refuses the operator's, who can look.
func (p *proposal) conflict(rule, message, fix string) Finding {
	if p.who.hand {
		fix = "read it, then propose again with its hash as the base"
		if p.was.kind == changed || p.was.kind == unaccepted {
			fix = "list what is unaccepted, and adopt that, or propose again with its hash as the base"
		}
		return refuse("stale."+strings.TrimPrefix(rule, "conflict."), Rejected, "path", message, fix)
	}
	return refuse(rule, Held, "path", message, fix)
}

// sameAgain reports whether the proposal says what is stored: the same labels and
// the same body but for line ends and blank edges.
func (p *proposal) sameAgain() bool {
	if p.text.whole == p.text.base || p.cand.Base != "" {
		return p.text.whole == p.text.base // who names the base says what changes
	}
	was, now := metaOf(p.path().String(), []byte(p.text.base)), metaOf(p.path().String(), []byte(p.text.whole))
	was.Size, now.Size = 0, 0
	if p.cand.Old == "" && len(p.text.labels) == 0 && !hasFrontmatter(p.text.whole) {
		// A bare body given again: the stored labels are not part of the question.
		was.Description, was.Type, was.Key = now.Description, now.Type, now.Key
	}
	return was == now && p.cand.Old == ""
}

func hasFrontmatter(s string) bool {
	e, err := entry.Parse([]byte(s))
	return err == nil && e.HasFrontmatter()
}

// judgeTombs judges a name or key that a removed memory freed against the memory's
// last version, as if it still stood: removal must not be a way round a conflict.
func judgeTombs(p *proposal, w *world) []Finding {
	if p.who.hand {
		return nil
	}
	target, tomb := p.target().String(), freed(w.state, p.target().String(), p.was)
	if p.op == journal.OpRename {
		tomb = freed(w.state, target, p.dest)
	}
	if key := fold.Key(p.key()); tomb == nil && (p.was.kind == absent || key != fold.Key(p.was.acc.Key)) {
		for _, path := range slices.Sorted(maps.Keys(w.state.Tombs)) {
			if t := w.state.Tombs[path]; path != target && fold.Key(t.Key) == key {
				tomb = &t
				break
			}
		}
	}
	if tomb == nil {
		return nil
	}
	same := p.cand.Base != "" && tomb.Hash == p.cand.Base || tomb.Hash == journal.Sum([]byte(p.text.whole))
	if same && max(p.trust, p.who.ceiling) >= parseTrust(tomb.Trust) {
		return nil
	}
	return []Finding{refuse("conflict.retired", Held, "path", fmt.Sprintf("a memory that stood under %.120q, or under its key, was retired", target), "the operator decides whether this takes its place")}
}

// freed gives what stood under a name that is free now. A memory that was deleted
// outside a moment ago is not in the journal's tombs yet.
func freed(state *journal.State, path string, s standing) *journal.Tomb {
	if s.kind != absent {
		return nil
	}
	if acc, ok := state.Accepted[path]; ok {
		return &journal.Tomb{Hash: acc.Hash, Seq: acc.Seq, Key: acc.Key, Trust: acc.Trust}
	}
	return s.tomb
}

// key is the key that the memory would have.
func (p *proposal) key() string { return metaOf(p.target().String(), []byte(p.text.whole)).Key }

// judgeKey holds a proposal whose key another memory has: one key, one truth.
func judgeKey(p *proposal, w *world) []Finding {
	key, target := fold.Key(p.key()), p.target().String()
	body := metaOf(target, []byte(p.text.whole)).Body
	var fs []Finding
	for path, acc := range w.state.Accepted {
		if path == indexName || path == p.path().String() || slices.Contains(p.cand.Supersedes, path) {
			continue
		}
		if fold.Key(acc.Key) == key {
			owner := fmt.Sprintf("%.120q", path)
			if parseTrust(acc.Trust) < p.who.ceiling {
				owner = "a memory of lower trust" // its name is not for this author
			}
			f := p.conflict("conflict.key", "the key of this memory belongs to "+owner, "edit that memory, or use another key")
			if p.who.hand {
				f.Fix = "name it in Supersedes, or use another key"
			}
			fs = append(fs, f)
			continue
		}
		if p.op == journal.OpAdd && parseTrust(acc.Trust) >= p.who.ceiling && w.says(path, body) {
			fs = append(fs, refuse("conflict.same-text", Accepted, "text", fmt.Sprintf("%.120q says the same", path), "one of the two is enough"))
		}
	}
	slices.SortFunc(fs, func(a, b Finding) int { return strings.Compare(a.Message, b.Message) }) // a map has no order
	return fs
}

// judgeReview rejects what the operator refused before, holds what the operator took out
// of sight to decide on it again, and everything of a writer's where the operator reviews
// all.
func judgeReview(p *proposal, w *world) []Finding {
	if p.who.hand {
		return nil
	}
	if _, ok := w.state.Refused[p.digest]; ok && p.names[0].ok() {
		return []Finding{refuse("review.refused-before", Rejected, "", "the operator refused this before", "do not propose it again")}
	}
	for _, held := range w.state.Pending {
		if held.Op == journal.OpRestore && held.Digest == p.digest {
			return []Finding{refuse("review.waits", Held, "", "the operator took this out of sight and has not decided on it yet", "the operator decides")}
		}
	}
	if w.opts.ReviewAll && !p.noChange {
		return []Finding{refuse("review.all", Held, "", "the operator reviews every change", "the operator decides")}
	}
	return nil
}
