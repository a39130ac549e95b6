package scribe

import (
	"context"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/memoryroom/scribe/internal/journal"
	"github.com/memoryroom/scribe/internal/relpath"
)

// Rollback puts a memory back as it was once row seq of the journal was carried out:
// those bytes, that trust; where nothing stood then, the path is freed. What was done
// together is undone together: a plan, a rename, an approval and what it superseded.
// The first verdict is that of path, then those of what goes with it, by path.
//
// It is a change like any other and can be rolled back. It fails with fs.ErrNotExist
// when nothing stood there then and nothing stands there now. It is rejected, as a
// whole, where the path, secret or hidden-text stage would refuse some of the bytes
// today, or where another memory has the key by now. A row of a plan stands for all of the plan.
func (r *Room) Rollback(ctx context.Context, seq int64, path string) ([]Verdict, error) {
	if err := r.writable(); err != nil {
		return nil, err
	}
	if _, err := relpath.Parse(path); err != nil {
		return nil, fmt.Errorf("rollback: %w", err)
	}
	if seq < 1 {
		return nil, fmt.Errorf("rollback: row %d: rows are numbered from 1", seq)
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
	back, err := r.since(ctx, seq, path)
	if err != nil {
		return nil, err
	}
	_, stood := back.then.Accepted[path]
	if _, stands := w.state.Accepted[path]; !stood && !stands {
		return nil, &fs.PathError{Op: "rollback", Path: path, Err: fs.ErrNotExist}
	}
	var b batch
	verdicts, err := r.setAllBack(&b, w, back)
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(verdicts, func(v Verdict) bool { return v.Outcome != Accepted }) {
		for i, v := range verdicts {
			if v.Outcome == Accepted {
				verdicts[i] = verdict(Memory{Path: v.Memory.Path}, refuse("plan.rejected", Rejected, "", "what was done together with it can not be undone", "see the reason of that one"))
			}
		}
		return verdicts, nil
	}
	if err := r.commit(ctx, w, &b); err != nil {
		return nil, err
	}
	for i := range verdicts {
		if b.lost {
			verdicts[i] = verdict(Memory{Path: back.paths[i]}, lostRace())
		} else {
			verdicts[i].Notices = append(verdicts[i].Notices, b.indexNotice()...)
		}
	}
	return verdicts, nil
}

// past is what a rollback goes back to.
type past struct {
	seq   int64
	then  *journal.State
	paths []string // what goes back: the path that was named, then the others, sorted
}

// since reads what the room was at a row, and which paths were changed together with path
// after it.
func (r *Room) since(ctx context.Context, seq int64, path string) (past, error) {
	seq, err := r.planEnd(ctx, seq)
	if err != nil {
		return past{}, err
	}
	then, err := r.stateAt(ctx, seq)
	if err != nil {
		return past{}, fmt.Errorf("rollback: %w", err)
	}
	var later []journal.Row
	undone := map[int64]bool{}
	err = r.eachRow(ctx, func(row journal.Row) bool {
		switch {
		case row.Seq <= seq || !r.vouched(row):
		case row.Op == journal.OpAbort:
			undone[row.Ref] = true
		case moves(row):
			later = append(later, row)
		}
		return true
	})
	if err != nil {
		return past{}, err
	}
	later = slices.DeleteFunc(later, func(row journal.Row) bool { return undone[row.Seq] })
	return past{seq: seq, then: then, paths: together(later, path)}, nil
}

// together lists path, and then, sorted, the paths that rows changed together with it. Rows of
// one plan, and the two names of a rename, belong together; so do rows that touch what belongs
// together.
func together(rows []journal.Row, path string) []string {
	with, plans := map[string]bool{path: true}, map[string]bool{}
	for grown := true; grown; {
		grown = false
		for _, row := range rows {
			names := []string{row.Path}
			if opOfRow(row) == journal.OpRename && row.To != "" {
				names = append(names, row.To)
			}
			if !plans[row.Plan] && !slices.ContainsFunc(names, func(name string) bool { return with[name] }) {
				continue
			}
			if row.Plan != "" && !plans[row.Plan] {
				plans[row.Plan], grown = true, true
			}
			for _, name := range names {
				grown = grown || !with[name]
				with[name] = true
			}
		}
	}
	delete(with, path)
	return append([]string{path}, slices.Sorted(maps.Keys(with))...)
}

// planEnd is the last row of the plan to which a row belongs: between its rows the room never
// was, and a key may have two owners there.
func (r *Room) planEnd(ctx context.Context, seq int64) (int64, error) {
	end, plan := seq, ""
	err := r.eachRow(ctx, func(row journal.Row) bool {
		switch {
		case row.Seq == seq:
			plan = row.Plan
		case row.Seq > seq && (plan == "" || row.Plan != plan):
			return false
		case row.Seq > seq:
			end = row.Seq
		}
		return true
	})
	return end, err
}

// moves reports whether a row changed what stands in the room.
func moves(row journal.Row) bool {
	switch opOfRow(row) {
	case journal.OpAdd, journal.OpReplace, journal.OpEdit, journal.OpRename, journal.OpArchive, journal.OpRemove, journal.OpRestore, journal.OpAdopt, journal.OpRollback:
		return true
	}
	return false
}

// setAllBack adds to a batch what a rollback changes.
func (r *Room) setAllBack(b *batch, w *world, back past) ([]Verdict, error) {
	d := journal.Decision{By: "operator", Reason: fmt.Sprintf("as of row %d", back.seq), Ref: back.seq}
	goes := map[string]bool{} // the paths at which something changes
	for _, path := range back.paths {
		as, err := r.asThen(w, back.then, path)
		if err != nil {
			return nil, err
		}
		goes[path] = !as
	}
	gone := map[string]journal.Archived{} // retirements that never were, by their name
	for name, a := range w.state.Archived {
		if goes[a.Path] && a.Retired > back.seq {
			gone[name] = a
		}
	}
	plan := ""
	if len(back.paths) > 1 {
		plan = r.planID(w, back.paths[0])
	}
	verdictOf := map[string]Verdict{}
	for _, path := range leaveFirst(w.state, back) {
		acc, stood := back.then.Accepted[path]
		row := journal.Row{Change: journal.Change{Op: journal.OpRollback, Path: path, Trust: acc.Trust}, Decision: d, Group: journal.Group{Plan: plan}}
		v := Verdict{Outcome: Accepted, Memory: Memory{Path: path, Hash: acc.Hash}}
		var err error
		switch {
		case !goes[path]:
		case stood:
			v, err = r.setOneBack(b, w, row, acc, gone, goes)
		default:
			v, err = r.freePath(b, w, row, gone)
		}
		if err != nil {
			return nil, err
		}
		verdictOf[path] = v
	}
	var verdicts []Verdict
	for _, path := range back.paths {
		verdicts = append(verdicts, verdictOf[path])
	}
	heirs := map[string]bool{} // what stays, and took the place of what never went
	for _, a := range gone {
		b.gone = append(b.gone, archiveName(a.Retired, a.Path))
		if _, again := gone[a.SupersededBy]; a.SupersededBy != "" && !again && !goes[a.SupersededBy] {
			heirs[a.SupersededBy] = true
		}
	}
	for _, heir := range slices.Sorted(maps.Keys(heirs)) {
		if err := r.remirror(b, w, heir, supersedesBut(w.state, heir, gone), journal.Decision{By: "operator"}); err != nil {
			return nil, err
		}
	}
	return verdicts, nil
}

// leaveFirst orders the paths so that what stands at one goes back to its earlier name before
// another memory comes to it: the names of the two would become one's. Where some changed places
// in a circle there is no such order.
func leaveFirst(state *journal.State, back past) []string {
	var order []string
	seen := map[string]bool{}
	var visit func(path string)
	visit = func(path string) {
		seen[path] = true
		row := journal.Row{Change: journal.Change{Op: journal.OpRollback, Path: path, Old: state.Accepted[path].Hash}, Decision: journal.Decision{Ref: back.seq}}
		if to := row.Back(state.Former[path]); slices.Contains(back.paths, to) && !seen[to] {
			visit(to)
		}
		order = append(order, path)
	}
	for _, path := range back.paths {
		if !seen[path] {
			visit(path)
		}
	}
	return order
}

// asThen reports whether a path is as it was: the same accepted text at the same trust, on
// the disk too, or nothing.
func (r *Room) asThen(w *world, then *journal.State, path string) (bool, error) {
	was, stood := then.Accepted[path]
	is, stands := w.state.Accepted[path]
	if !stood && !stands {
		return true, nil
	}
	if stood != stands || was.Hash != is.Hash || was.Trust != is.Trust {
		return false, nil
	}
	p, err := relpath.Parse(path)
	if err != nil {
		return false, err
	}
	s, err := r.standing(w.state, p)
	return s.kind == active && !s.waived, err
}

// setOneBack puts one memory back, with what its text says of links brought in line.
func (r *Room) setOneBack(b *batch, w *world, row journal.Row, then journal.Accepted, gone map[string]journal.Archived, goes map[string]bool) (Verdict, error) {
	data, err := r.version(then.Seq, then.Hash) // under the lock: a purge may have come between
	if err != nil {
		return Verdict{}, err
	}
	p, err := relpath.Parse(row.Path)
	if err != nil {
		return Verdict{}, err
	}
	is, err := r.standing(w.state, p)
	if err != nil {
		return Verdict{}, err
	}
	var old []string
	for name, a := range w.state.Archived {
		_, dropped := gone[name]
		_, returns := gone[a.SupersededBy]
		if !dropped && (a.SupersededBy == row.Path && is.kind != absent || returns && w.state.Archived[a.SupersededBy].Path == row.Path) {
			old = append(old, a.Path)
		}
	}
	slices.Sort(old)
	data = mirrorLinks(data, slices.Compact(old), "", true)
	if owner := keyOwner(w.state, metaOf(row.Path, data).Key, func(path string) bool { return goes[path] }); owner != "" {
		return verdict(Memory{Path: row.Path}, refuse("conflict.key", Rejected, "path", fmt.Sprintf("its key belongs to %.120q by now", owner), "archive or roll back that memory first")), nil
	}
	return r.setBack(b, w, row, data)
}

// freePath takes away what stands where nothing stood. The versions keep it.
func (r *Room) freePath(b *batch, w *world, row journal.Row, gone map[string]journal.Archived) (Verdict, error) {
	v := Verdict{Outcome: Accepted, Memory: Memory{Path: row.Path}}
	if _, stands := w.state.Accepted[row.Path]; !stands {
		return v, nil
	}
	p, err := relpath.Parse(row.Path)
	if err != nil {
		return Verdict{}, err
	}
	s, err := r.standing(w.state, p)
	if err != nil {
		return Verdict{}, err
	}
	if s.kind == changed && len(secretsIn(string(s.disk), r.opts.Allow)) > 0 {
		return verdict(v.Memory, outsideSecret(row.Path)), nil
	}
	b.outside(w.state, row.Path, s)
	row.Old, row.Trust = s.diskHash(), ""
	if at := b.note(row); s.disk != nil { // else it was deleted outside
		b.moves = append(b.moves, move{row: at, path: p, old: s.disk})
	}
	b.unline(row.Path)
	for name, a := range journal.Sorted(w.state.Archived) {
		if _, returns := gone[name]; !returns && a.SupersededBy == row.Path {
			if err := r.addLink(b, a, supersedes(w.state, name), "", journal.Decision{By: "operator"}); err != nil {
				return Verdict{}, err
			}
		}
	}
	return v, nil
}
