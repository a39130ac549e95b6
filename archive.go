package scribe

import (
	"context"
	"fmt"
	"io/fs"

	"github.com/memoryroom/scribe/internal/journal"
	"github.com/memoryroom/scribe/internal/relpath"
)

// retire adds the archiving of an accepted memory to a batch.
func (r *Room) retire(b *batch, w *world, path string, d journal.Decision) error {
	p, err := relpath.Parse(path)
	if err != nil {
		return err
	}
	s, err := r.standing(w.state, p)
	if err != nil {
		return err
	}
	if s.disk == nil || s.kind != active && s.kind != changed {
		return &fs.PathError{Op: "archive", Path: path, Err: fs.ErrNotExist}
	}
	if s.kind == changed && len(secretsIn(string(s.disk), r.opts.Allow)) > 0 {
		return verdict(Memory{Path: path}, outsideSecret(path)).Err()
	}
	b.outside(w.state, path, s)
	row := journal.Row{Change: journal.Change{Op: journal.OpArchive, Path: path, Old: journal.Sum(s.disk), Key: s.acc.Key}, Decision: d}
	b.moves = append(b.moves, move{row: b.note(row), path: p, old: s.disk, archive: true})
	b.unline(path)
	return nil
}

// Archive retires an accepted memory: no model sees it any more, and Restore brings
// it back as it was accepted. It fails with fs.ErrNotExist when no accepted memory
// stands there.
func (r *Room) Archive(ctx context.Context, path, reason string) error {
	unlock, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	w, err := r.world(ctx)
	if err != nil {
		return err
	}
	var b batch
	if path == indexName {
		return &fs.PathError{Op: "archive", Path: path, Err: fs.ErrInvalid}
	}
	if err := r.retire(&b, w, path, journal.Decision{By: "operator", Reason: reason}); err != nil {
		return err
	}
	if err := r.commit(ctx, w, &b); err != nil {
		return err
	}
	if b.lost {
		return verdict(Memory{Path: path}, lostRace()).Err()
	}
	return nil
}

// Restore brings an archived memory back to where it stood, with the trust that it
// had. It is rejected where the path, secret or hidden-text stage would refuse the
// bytes today, and ErrStale where something else stands there now.
func (r *Room) Restore(ctx context.Context, path string) (Verdict, error) {
	w, err := r.world(ctx)
	if err != nil {
		return Verdict{}, err
	}
	a, ok := w.state.Archived[path]
	if !ok {
		return Verdict{}, &fs.PathError{Op: "restore", Path: path, Err: fs.ErrNotExist}
	}
	return r.putBack(ctx, journal.OpRestore, a.Path, a.Accepted, "from the archive")
}

// putBack stores bytes that were accepted before, as they were.
func (r *Room) putBack(ctx context.Context, op, path string, then journal.Accepted, reason string) (Verdict, error) {
	unlock, err := r.lock(ctx)
	if err != nil {
		return Verdict{}, err
	}
	defer unlock()
	w, err := r.world(ctx)
	if err != nil {
		return Verdict{}, err
	}
	data, err := r.version(then.Seq, then.Hash) // under the lock: a purge may have come between
	if err != nil {
		return Verdict{}, err
	}
	t := parseTrust(then.Trust)
	ps, err := r.prepare(w, author{hand: true, ceiling: t}, []Candidate{{Path: path, Text: string(data)}})
	if err != nil {
		return Verdict{}, err
	}
	p := ps[0]
	p.text = text{whole: string(data), base: string(data)} // as it was: nothing of it is new
	judge(p, w, "candidate", "conflict", "review")
	v := Verdict{Outcome: p.outcome(), Findings: p.findings, Notices: p.notices, Memory: Memory{Path: path}}
	if v.Outcome != Accepted {
		return v, nil
	}
	if p.was.kind == changed && len(secretsIn(string(p.was.disk), r.opts.Allow)) > 0 {
		return verdict(v.Memory, outsideSecret(path)), nil
	}
	if p.was.kind == unaccepted || op == journal.OpRestore && p.was.kind != absent {
		return verdict(v.Memory, refuse("stale.path", Rejected, "path", fmt.Sprintf("other bytes stand at %.120q", path), "adopt or archive them first")), nil
	}
	row := journal.Row{
		Change:   journal.Change{Op: op, Path: path, New: journal.Sum(data), Trust: t.String(), Key: metaOf(path, data).Key},
		Decision: journal.Decision{By: "operator", Reason: reason, Rules: ruleNames(p.findings)},
	}
	row.Old = p.was.diskHash()
	var b batch
	b.outside(w.state, path, p.was)
	b.moves = append(b.moves, move{row: b.note(row), path: p.path(), put: data, old: p.was.disk})
	b.line(path, metaOf(path, data), t, w.now)
	if op == journal.OpRestore {
		b.gone = append(b.gone, archiveName(w.state.Archived[path].Retired, path))
	}
	p.trust = t
	v.Memory = storedMemory(path, data, p, w.now)
	if err := r.commit(ctx, w, &b); err != nil {
		return Verdict{}, err
	}
	if b.lost {
		return verdict(Memory{Path: path}, lostRace()), nil
	}
	v.Notices = append(v.Notices, b.indexNotice()...)
	return v, nil
}
