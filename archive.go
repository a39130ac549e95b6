package scribe

import (
	"context"
	"fmt"
	"strings"

	"github.com/memoryroom/scribe/internal/fold"
	"github.com/memoryroom/scribe/internal/journal"
	"github.com/memoryroom/scribe/internal/relpath"
)

// Archive retires accepted memories: no model sees them any more, and Restore brings
// them back. category says why, in a word, for whoever looks through the archive later:
// "distilled" (it lives on in another memory or document; what is superseded gets this),
// "discarded" (of no use any more), "unused" (not needed now), "expired" (its time has
// passed), or a word of the operator's own; empty: "unused". reason is for the audit. The
// audit is for good: where one of the two looks like a credential, has hidden characters,
// or is longer than 128 and 1,024 bytes, the call is ErrRejected and does nothing.
//
// Each path is a change of its own and has its own verdict, in order. Where no accepted
// memory stands, that is a rejection with the rule "archive.missing". An error ends the
// call, with the verdicts so far.
func (r *Room) Archive(ctx context.Context, category, reason string, paths ...string) ([]Verdict, error) {
	word := archiveCategory(category)
	if err := refuseWords("archive", r.opts.Allow, word, remark{"reason", reason, maxReason}); err != nil {
		return nil, err
	}
	return r.each(ctx, paths, func(ctx context.Context, w *world, path string) (Verdict, error) {
		return r.archive(ctx, w, path, word.value, journal.Decision{By: "operator", Reason: reason})
	})
}

// categoryNames gives the words that a category may be said with, for the four that the
// archive always knows. The Chinese ones are what an older store wrote.
var categoryNames = map[string]string{
	"": "unused", "暂时不用": "unused", "已蒸馏": categorySuperseded, "已废弃": "discarded", "已过期": "discarded",
}

// categorySuperseded is the category of what another memory took the place of.
const categorySuperseded = "distilled"

// archiveCategory is the category that was given, under the name that the archive knows.
func archiveCategory(s string) remark {
	s = strings.TrimSpace(s)
	if name, ok := categoryNames[s]; ok {
		s = name
	}
	return label("category", s)
}

// each does one change for each name, under one lock.
func (r *Room) each(ctx context.Context, names []string, do func(context.Context, *world, string) (Verdict, error)) ([]Verdict, error) {
	unlock, err := r.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	var verdicts []Verdict
	for _, name := range names {
		w, err := r.world(ctx)
		if err != nil {
			return verdicts, err
		}
		v, err := do(ctx, w, name)
		if err != nil {
			return verdicts, err
		}
		verdicts = append(verdicts, v)
	}
	return verdicts, nil
}

// archive retires one memory, as a change of its own.
func (r *Room) archive(ctx context.Context, w *world, path, category string, d journal.Decision) (Verdict, error) {
	var b batch
	v, err := r.retire(&b, w, path, journal.Row{Change: journal.Change{Category: category}, Decision: d})
	if err != nil || v.Outcome != Accepted {
		return v, err
	}
	return r.done(ctx, w, &b, v)
}

// done commits a batch of one verdict.
func (r *Room) done(ctx context.Context, w *world, b *batch, v Verdict) (Verdict, error) {
	if err := r.commit(ctx, w, b); err != nil {
		return Verdict{}, err
	}
	if b.lost {
		return verdict(Memory{Path: v.Memory.Path}, lostRace()), nil
	}
	v.Notices = append(v.Notices, b.indexNotice()...)
	return v, nil
}

// retire adds the archiving of an accepted memory to a batch, where there is one.
func (r *Room) retire(b *batch, w *world, path string, row journal.Row) (Verdict, error) {
	missing := verdict(Memory{Path: path}, refuse("archive.missing", Rejected, "path", "no accepted memory has this name", "list the memories and use a path that exists"))
	p, err := relpath.Parse(path)
	if err != nil {
		return verdict(Memory{Path: fmt.Sprintf("%.120q", path)}, pathFinding("path", path, err)), nil
	}
	if p.IsIndex() {
		return verdict(Memory{Path: path}, refuse("archive.index", Rejected, "path", "the index is no memory", "archive the memories that it names")), nil
	}
	s, err := r.standing(w.state, p)
	if err != nil {
		return Verdict{}, err
	}
	if s.disk == nil || s.kind != active && s.kind != changed {
		return missing, nil
	}
	if s.kind == changed && len(secretsIn(string(s.disk), r.opts.Allow)) > 0 {
		return verdict(Memory{Path: path}, outsideSecret(path)), nil
	}
	b.outside(w.state, path, s)
	v := Verdict{Outcome: Accepted, Memory: s.memory(path)}
	v.Memory.Stage, v.Memory.ID, v.Memory.Modified = stageArchived, journal.ArchiveName(path, r.nextRow(b)), w.now
	v.Memory.Category, v.Memory.SupersededBy = row.Category, row.Link
	r.addRetirement(b, w, p, s, row)
	return v, nil
}

// Restore brings archived memories back, named by path (then the one retired last) or by
// their ID. One that was only archived comes back to where it stood, with the trust
// that it had. One that was superseded, or whose key another memory has by now, and any
// under ReviewAll, comes back as a held candidate: the operator decides again. Its link
// is cut on both sides either way, and until it is approved it stays in the archive.
//
// Each has its own verdict, in order. It is rejected where the path, secret or
// hidden-text stage would refuse the bytes today ("archive.missing": where there is
// nothing of that name), and ErrStale where something else stands there now.
func (r *Room) Restore(ctx context.Context, names ...string) ([]Verdict, error) {
	return r.each(ctx, names, r.restore)
}

func (r *Room) restore(ctx context.Context, w *world, name string) (Verdict, error) {
	name, a, ok := w.state.ArchivedAt(name)
	if !ok {
		return verdict(Memory{}, refuse("archive.missing", Rejected, "path", "nothing in the archive has this name", "list the archive and use a path or an ID of it")), nil
	}
	data, err := r.version(a.Seq, a.Hash) // under the lock: a purge may have come between
	if err != nil {
		return Verdict{}, err
	}
	old := supersedes(w.state, name)
	if a.Seq >= a.Retired { // the text was changed when, or since, it was retired: to say so
		data = mirrorLinks(data, old, "", true)
	}
	owner := keyOwner(w.state, metaOf(a.Path, data).Key, func(path string) bool { return path == a.Path })
	if a.SupersededBy != "" || owner != "" || r.opts.ReviewAll {
		p, err := r.returning(w, name, data)
		if err != nil {
			return Verdict{}, err
		}
		var b batch
		v, err := r.requeue(&b, w, p, name)
		if err != nil || v.Outcome != Held {
			return v, err
		}
		return r.done(ctx, w, &b, v)
	}
	var b batch
	v, err := r.setBack(&b, w, journal.Row{
		Change:   journal.Change{Op: journal.OpRestore, Path: a.Path, Trust: a.Trust},
		Decision: journal.Decision{By: "operator", Reason: "from the archive", Ref: a.Retired},
	}, data)
	if err != nil || v.Outcome != Accepted {
		return v, err
	}
	b.gone = append(b.gone, archiveName(a.Retired, a.Path))
	return r.done(ctx, w, &b, v)
}

// Suspend takes accepted memories out of every model's sight, back to where candidates
// wait: each is archived, and held as a candidate that Resolve can approve or refuse.
// Verdicts are as Archive gives them; Held says that it worked. reason is as there.
func (r *Room) Suspend(ctx context.Context, reason string, paths ...string) ([]Verdict, error) {
	if err := refuseWords("suspend", r.opts.Allow, remark{"reason", reason, maxReason}); err != nil {
		return nil, err
	}
	return r.each(ctx, paths, func(ctx context.Context, w *world, path string) (Verdict, error) {
		var b batch
		v, err := r.retire(&b, w, path, journal.Row{Change: journal.Change{Category: "unused"}, Decision: journal.Decision{By: "operator", Reason: reason}})
		if err != nil || v.Outcome != Accepted {
			return v, err
		}
		state := w.state.Clone()
		for i, row := range b.rows {
			row.Seq = r.nextRow(&b) - int64(len(b.rows)-i)
			state.Apply(row)
		}
		after := *w
		after.use(r, state)
		p, err := r.returning(&after, v.Memory.ID, []byte(v.Memory.Text))
		if err != nil {
			return Verdict{}, err
		}
		p.was = standing{} // the file goes with the same batch
		if v, err = r.requeue(&b, &after, p, v.Memory.ID); err != nil || v.Outcome != Held {
			return v, err
		}
		return r.done(ctx, w, &b, v)
	})
}

// returning is the proposal to bring an archived memory back, with that text. It is
// judged as its approval will be: what is found now is what that overrides.
func (r *Room) returning(w *world, name string, data []byte) (*proposal, error) {
	a := w.state.Archived[name]
	ps, err := r.prepare(w, author{ceiling: parseTrust(a.Trust)}, []Candidate{{Path: a.Path, Text: string(data)}})
	if err != nil {
		return nil, err
	}
	p := ps[0]
	p.digest = r.digestOf(true, a.Path, "", nil, data) // of the text alone: under no name is it to come back by itself
	p.op, p.text.base = journal.OpAdd, p.text.whole    // the library's keys in it are the library's own
	p.text.lo, p.text.hi = 0, len(p.text.whole)
	return p, nil
}

// requeue adds an archived memory to a batch as a held candidate. It stays in the
// archive, without a link, until it is approved.
func (r *Room) requeue(b *batch, w *world, p *proposal, name string) (Verdict, error) {
	a := w.state.Archived[name]
	if p.names[0].ok() && p.was.kind != absent {
		return verdict(Memory{Path: a.Path}, inTheWay(a.Path)), nil
	}
	judge(p, w, "candidate", "review")
	p.findings = append(p.findings, refuse("review.restored", Held, "", "it comes back from the archive", "the operator decides whether it holds again"))
	v := Verdict{Outcome: p.outcome(), Findings: p.findings, Memory: p.memory(w.now)}
	if v.Outcome != Held {
		return v, nil
	}
	p.op, p.retired, p.id = journal.OpRestore, a.Retired, r.keyed("restored", p.digest, name, p.text.whole)
	d := journal.Decision{By: "operator", Rules: ruleNames(p.findings)}
	r.hold(b, p, w, journal.Row{Change: journal.Change{Path: a.Path, Source: a.Source}, Decision: d}, &v)
	return v, r.unlink(b, w, name, journal.Decision{By: "operator"})
}

// inTheWay refuses to put a memory back where something stands.
func inTheWay(path string) Finding {
	return refuse("stale.path", Rejected, "path", fmt.Sprintf("other bytes stand at %.120q", path), "adopt, archive or rename them first")
}

// setBack adds to a batch that bytes which were accepted before are put back, with the
// trust that the row names. It is judged like a write of today, but for what was settled
// when they were accepted.
func (r *Room) setBack(b *batch, w *world, row journal.Row, data []byte) (Verdict, error) {
	t := parseTrust(row.Trust)
	ps, err := r.prepare(w, author{hand: true, ceiling: t}, []Candidate{{Path: row.Path, Text: string(data)}})
	if err != nil {
		return Verdict{}, err
	}
	p := ps[0]
	p.text = text{whole: string(data), base: string(data)} // as it was: nothing of it is new
	judge(p, w, "candidate", "conflict", "review")
	v := Verdict{Outcome: p.outcome(), Findings: p.findings, Notices: p.notices, Memory: Memory{Path: row.Path}}
	if v.Outcome != Accepted {
		return v, nil
	}
	if p.was.kind == changed && len(secretsIn(string(p.was.disk), r.opts.Allow)) > 0 {
		return verdict(v.Memory, outsideSecret(row.Path)), nil
	}
	if p.was.kind == unaccepted || row.Op == journal.OpRestore && p.was.kind != absent {
		return verdict(v.Memory, inTheWay(row.Path)), nil
	}
	m := metaOf(row.Path, data)
	row.New, row.Old, row.Key, row.Rules = journal.Sum(data), p.was.diskHash(), m.Key, ruleNames(p.findings)
	b.outside(w.state, row.Path, p.was)
	b.moves = append(b.moves, move{row: b.note(row), path: p.path(), put: data, old: p.was.disk})
	b.line(row.Path, m, t, w.now)
	p.trust = t
	v.Memory = storedMemory(row.Path, data, p, w.now)
	return v, nil
}

// keyOwner names the accepted memory that has a key, the first by path; "" for none.
// Those that except reports do not count.
func keyOwner(state *journal.State, key string, except func(path string) bool) string {
	owner := ""
	for path, acc := range state.Accepted {
		if fold.Key(acc.Key) == fold.Key(key) && path != indexName && !except(path) && (owner == "" || path < owner) {
			owner = path
		}
	}
	return owner
}
