package scribe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/memoryroom/scribe/internal/entry"
	"github.com/memoryroom/scribe/internal/fold"
	"github.com/memoryroom/scribe/internal/hidden"
	"github.com/memoryroom/scribe/internal/journal"
)

// Adopt accepts unaccepted memories at the hashes that were shown, with the given
// trust (zero: user-observed). It changes no byte. It also takes accepted memories
// at a shown hash, and is so the one way to raise what a memory is worth.
//
// Each memory gets a verdict: ErrStale when the bytes are others by now, rejected
// when a credential is found, the frontmatter can not be read or another memory has the
// key, held when hidden text is found that carries something or the file says of itself
// that it does not hold. All else that the screens find is reported and flagged. The
// index itself is adopted like a memory, by its path.
//
// [Room.List] of the stage "unaccepted" shows the same findings before, for all of them
// together at user-observed: what is listed can be passed on as it is, and what is
// accepted is then exactly what was seen.
func (r *Room) Adopt(ctx context.Context, t Trust, seen ...Memory) ([]Verdict, error) {
	if t == 0 {
		t = UserObserved
	}
	if !t.valid() {
		return nil, fmt.Errorf("adopt: %v is no trust", t)
	}
	unlock, err := r.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	w, err := r.world(ctx)
	if err != nil {
		return nil, err
	}
	var b batch
	verdicts := make([]Verdict, len(seen))
	for i, m := range seen {
		if verdicts[i], err = r.adopt(&b, w, t, m, seen); err != nil {
			return nil, err
		}
	}
	return verdicts, r.commit(ctx, w, &b)
}

// preview fills in what Adopt would find in each unaccepted memory of a listing.
func (r *Room) preview(w *world, all []Memory) error {
	var b batch
	for i, m := range all {
		if m.Stage != stageUnaccepted || m.Hash == "" {
			continue
		}
		v, err := r.adopt(&b, w, UserObserved, m, all)
		if err != nil {
			return err
		}
		all[i].Findings = v.Findings
		b.keep = b.keep[:0] // the rows say which keys are taken; the bytes are not needed
	}
	return nil
}

func (r *Room) adopt(b *batch, w *world, t Trust, m Memory, seen []Memory) (Verdict, error) {
	name, err := r.admitPath("path", m.Path)
	if err != nil {
		return Verdict{}, err
	}
	if !name.ok() {
		return Verdict{Memory: Memory{Path: name.shown()}, Findings: name.bad}, nil
	}
	disk, err := r.disk.Read(name.path, maxMemory)
	if errors.Is(err, fs.ErrNotExist) {
		disk, err = nil, nil
	}
	if err != nil {
		return Verdict{}, err
	}
	if disk == nil || journal.Sum(disk) != m.Hash {
		return verdict(Memory{Path: m.Path}, refuse("stale.base", Rejected, "hash", fmt.Sprintf("%.120q is not what was shown", m.Path), "list what is unaccepted: those rows have the bytes as they are now")), nil
	}
	if entry.ConflictMarkers(disk) {
		return verdict(Memory{Path: m.Path}, mergeFinding(Rejected)), nil
	}
	if name.path.IsIndex() {
		return r.adoptIndex(b, w, disk, t, seen), nil
	}
	p := &proposal{cand: Candidate{Path: m.Path, Text: string(disk)}, who: author{hand: true, ceiling: t}, op: journal.OpAdd, names: [2]pathOutcome{name}, trust: t}
	p.text = text{whole: string(disk), base: string(disk), hi: len(disk)}
	judge(p, w, "candidate", "provenance", "conflict", "review")
	if f, ok := adoptKey(w.state, m.Path, metaOf(m.Path, disk).Key, b.rows); ok {
		p.findings = append(p.findings, f)
	}
	p.findings = append(p.findings, claims(m.Path, disk, t)...)
	p.findings = slices.DeleteFunc(p.findings, func(f Finding) bool { return f.Rule == "cap.memories" && w.state.Accepted[m.Path].Hash != "" })
	v := Verdict{Outcome: p.outcome(), Findings: p.findings, Notices: p.notices, Memory: Memory{Path: m.Path, Hash: m.Hash}}
	if v.Outcome != Accepted {
		return v, nil
	}
	mm := metaOf(m.Path, disk)
	row := journal.Row{
		Change:   journal.Change{Op: journal.OpAdopt, Path: m.Path, Old: w.state.Accepted[m.Path].Hash, New: m.Hash, Trust: t.String(), Key: mm.Key},
		Decision: journal.Decision{By: "operator", Rules: ruleNames(p.findings)},
	}
	b.keep = append(b.keep, kept{b.note(row), disk})
	b.line(m.Path, mm, t, w.now)
	v.Memory = storedMemory(m.Path, disk, p, w.now)
	return v, nil
}

// adoptKey refuses to adopt a memory whose key another one has, among those that are
// accepted already or are adopted before it in the same batch: one key, one truth.
func adoptKey(state *journal.State, path, key string, before []journal.Row) (Finding, bool) {
	adopted := func(of func(journal.Row) bool) int {
		return slices.IndexFunc(before, func(row journal.Row) bool { return row.Op == journal.OpAdopt && of(row) })
	}
	owner := keyOwner(state, key, func(other string) bool {
		return other == path || adopted(func(row journal.Row) bool { return row.Path == other }) >= 0 // its key is the one it gets now
	})
	if i := adopted(func(row journal.Row) bool { return row.Path != path && fold.Key(row.Key) == fold.Key(key) }); i >= 0 {
		owner = before[i].Path
	}
	if owner == "" {
		return Finding{}, false
	}
	return refuse("conflict.key", Rejected, "key", fmt.Sprintf("the key of this memory belongs to %.120q", owner), "archive that one first, or give one of them another key in an editor"), true
}

// adoptIndex accepts the operator's own lines of MEMORY.md. What is accepted is the
// lines, not the file: the library's lines come and go.
func (r *Room) adoptIndex(b *batch, w *world, data []byte, t Trust, seen []Memory) Verdict {
	ours := hasLine(w.state)
	lines := bytes.Join(userLines(data, func(path string) bool {
		return ours(path) || slices.ContainsFunc(seen, func(m Memory) bool { return m.Path == path }) // adopted with it
	}), nil)
	m := Memory{Path: indexName, Hash: journal.Sum(data), Stage: stageActive, Trust: t}
	for _, hit := range hidden.Scan(string(lines)) {
		if hit.Carries {
			return verdict(m, Finding{Rule: hit.Rule, Outcome: Held, Field: "text", Offset: hit.Offset, Length: hit.Length, Message: "hidden characters that carry text or break up a word", Fix: "take them out in an editor"})
		}
	}
	if hits := secretsIn(string(lines), w.opts.Allow); len(hits) > 0 {
		return verdict(m, Finding{Rule: hits[0].Rule, Outcome: Rejected, Field: "text", Offset: hits[0].Offset, Length: hits[0].Length, Message: "this looks like a credential", Fix: "take it out in an editor"})
	}
	row := journal.Row{Change: journal.Change{Op: journal.OpAdopt, Path: indexName, New: journal.Sum(lines), Trust: t.String()}, Decision: journal.Decision{By: "operator"}}
	b.keep = append(b.keep, kept{b.note(row), lines})
	return Verdict{Outcome: Accepted, Memory: m}
}

// mergeFinding says that git could not merge a file: nobody wrote what it holds now.
func mergeFinding(o Outcome) Finding {
	return refuse("adopt.merge", o, "text", "the file holds an unresolved merge of git", "resolve it in an editor, and adopt the result")
}

// indexMemory is MEMORY.md as a memory: its bytes, and unaccepted while the user's own
// lines in it are not the ones that were adopted.
func indexMemory(w *world) Memory {
	m := Memory{Path: indexName, Stage: stageActive, Hash: journal.Sum(w.index), Text: string(w.index)}
	own := ownLines(w.state, w.index)
	acc, ok := w.state.Accepted[indexName]
	switch {
	case ok && acc.Hash == journal.Sum(own):
		m.Trust, m.Modified = parseTrust(acc.Trust), acc.Time.UTC()
	case len(bytes.TrimSpace(own)) > 0:
		m.Stage = stageUnaccepted
		if entry.ConflictMarkers(w.index) {
			m.Findings = append(m.Findings, mergeFinding(Held))
		}
	}
	return m
}

// ownLines is what of MEMORY.md is not the library's.
func ownLines(state *journal.State, data []byte) []byte {
	return bytes.Join(userLines(data, hasLine(state)), nil)
}

// hasLine says which paths' lines in MEMORY.md are the library's: those of memories,
// and those that a memory which went has left behind, here or on a side that was joined.
func hasLine(state *journal.State) func(path string) bool {
	return func(path string) bool {
		_, stands := state.Accepted[path]
		return stands || hadLine(state, path)
	}
}

// hadLine reports whether a path may have a line that nothing stands for any more.
func hadLine(state *journal.State, path string) bool {
	_, stood := state.Tombs[path]
	_, seen := state.Outside[path]
	_, purged := state.Purged[path]
	return stood || seen || purged
}
