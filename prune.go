package scribe

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/memoryroom/scribe/internal/journal"
)

// Prune drops what is old. A text that a later change replaced or took away goes when it
// ended longer ago than age and at least keep newer texts of its path have ended since; so
// what was acknowledged can be rolled back to for as long as either of them says. What
// stands, what is archived, and the last text of a path that was freed always stay.
//
// Files of the journal go, from the oldest on, when their last row is older than age and
// no text that they put is kept but those that always stay; so with a keep of 0 the
// journal is as long as age, and otherwise as its oldest text that is kept. What they added up to is kept
// as a base, to which a row commits; At, History, Rollback and Verify begin after it. The
// newest rows, which are not sealed yet (up to a mebibyte of them), always stay. Of clones that
// git merges ([Room.GitAdvice]), let one prune, and only what the others have too: rows that
// continue what was dropped can not be joined.
//
// Prune reports what went, one finding each: "prune.version" with the path,
// "prune.rows" with the file. With dryRun nothing is written, and the
// findings (their Outcome is Held then) say what would go. The row that says so is durable
// before the first file goes, and a prune that is cut short is finished when the room is
// opened.
func (r *Room) Prune(ctx context.Context, keep int, age time.Duration, dryRun bool) ([]Finding, error) {
	if keep < 0 || age < 0 {
		return nil, fmt.Errorf("prune: keep %d, age %v: neither can be negative: %w", keep, age, fs.ErrInvalid)
	}
	if err := r.usable(); err != nil {
		return nil, err
	}
	if !r.disk.HasLibrary() {
		return nil, nil
	}
	before := r.opts.Now().UTC().Add(-age)
	if dryRun {
		if err := r.sync(); err != nil {
			return nil, err
		}
		p, err := r.planPrune(ctx, keep, before)
		if err != nil {
			return nil, err
		}
		return p.report(true), nil
	}
	unlock, err := r.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	p, err := r.planPrune(ctx, keep, before)
	if err != nil {
		return nil, err
	}
	found := p.report(false)
	if len(found) == 0 {
		return nil, nil
	}
	return found, r.prune(context.WithoutCancel(ctx), p, fmt.Sprintf("keep %d, age %v", keep, age))
}

// prune carries a plan out: the rows, then what they say.
func (r *Room) prune(ctx context.Context, p *pruning, reason string) error {
	var seq int64
	if rows := p.rows(reason); len(rows) > 0 {
		var err error
		if seq, err = r.announce(rows...); err != nil {
			return err
		}
	}
	if err := r.spend(func() error { return r.finishPrune(ctx) }); err != nil {
		return err
	}
	_ = r.disk.LibRemove(mark(seq)) // done; what is left is removed at the next lock
	return nil
}

// pruning is what a prune is to drop.
type pruning struct {
	upTo  map[string]int64 // by path: what ended there by that row goes
	files []*textFile      // the versions, by name
	last  int64            // rows up to it go with their files; 0: none
	drop  []int64          // the files of the journal that go, by first row
	base  []byte           // what they add up to
}

// planPrune works out what goes. before is when a text, or a file's last row, has to have
// ended.
func (r *Room) planPrune(ctx context.Context, keep int, before time.Time) (*pruning, error) {
	lines, err := r.readLineage(ctx)
	if err != nil {
		return nil, err
	}
	p := &pruning{upTo: map[string]int64{}}
	for path, ends := range lines.closed {
		if at := prunable(ends, keep, before); at > lines.pruned[path] {
			p.upTo[path] = at
		}
	}
	there, err := r.versionFiles()
	if err != nil {
		return nil, err
	}
	var twins []*textFile
	stays := int64(0) // the oldest row of which a version stays that nothing rests on
	for name, k := range journal.Sorted(lines.files) {
		if !there[name] || !lines.needless(name) {
			continue
		}
		goes := lines.gone(name) || len(k.ends) > 0 && !slices.ContainsFunc(k.ends, func(u until) bool {
			return u.row > max(p.upTo[u.path], lines.pruned[u.path])
		})
		switch {
		case goes:
			p.files = append(p.files, k)
		case k.twin:
			twins = append(twins, k)
		case stays == 0 || k.seq < stays:
			stays = k.seq
		}
	}
	for path := range p.upTo { // rows only about what goes
		if !slices.ContainsFunc(p.files, func(k *textFile) bool {
			return slices.ContainsFunc(k.ends, func(u until) bool { return u.path == path })
		}) {
			delete(p.upTo, path)
		}
	}
	err = r.planRows(ctx, p, stays, before)
	for _, k := range twins {
		if k.seq <= p.last {
			p.files = append(p.files, k)
		}
	}
	return p, err
}

// prunable gives the last of the rows, in their order, by which texts of a path ended that
// may go: all before it may.
func prunable(ends []until, keep int, before time.Time) (at int64) {
	var rows []int64
	for _, u := range ends {
		rows = append(rows, u.row)
	}
	slices.Sort(rows)
	rows = slices.Compact(rows)
	for i, row := range rows {
		late := slices.ContainsFunc(ends, func(u until) bool { return u.row == row && u.time.After(before) })
		if late || len(rows)-1-i < keep {
			break
		}
		at = row
	}
	return at
}

func (r *Room) versionFiles() (map[string]bool, error) {
	names, err := r.disk.LibList("versions")
	there := map[string]bool{}
	for _, f := range names {
		there["versions/"+f] = true
	}
	return there, err
}

// planRows finds the sealed files that may go: all their rows are old, and every version
// that they put has gone or always stays.
func (r *Room) planRows(ctx context.Context, p *pruning, stays int64, before time.Time) error {
	r.mu.Lock()
	first := r.ledger.first
	r.mu.Unlock()
	sealed, err := r.sealedBefore(first)
	if err != nil || len(sealed) == 0 {
		return err
	}
	ends := append(sealed[1:], first)
	newest, i := time.Time{}, 0
	var failed error
	_, err = r.replay(ctx, func(state *journal.State, row journal.Row) bool {
		if row.Seq == ends[i] { // the file before is over
			if newest.After(before) || stays > 0 && stays < row.Seq {
				return false
			}
			p.drop, p.last = append(p.drop, sealed[i]), row.Seq-1
			p.base, failed = encodeBase(journal.Head{Seq: row.Seq - 1, Hash: row.Prev}, state)
			if i++; i == len(sealed) || failed != nil {
				return false
			}
		}
		if row.Time.After(newest) {
			newest = row.Time
		}
		return true
	})
	return errors.Join(err, failed)
}

// rows are the rows of a prune: for each path up to which row's end its texts went, and
// for the journal up to which row its files did.
func (p *pruning) rows(reason string) []journal.Row {
	var rows []journal.Row
	by := journal.Decision{By: "operator", Reason: reason}
	for path, at := range journal.Sorted(p.upTo) {
		row := journal.Row{Change: journal.Change{Op: journal.OpPrune, Path: path}, Decision: by}
		row.Ref = at
		rows = append(rows, row)
	}
	if p.last > 0 {
		row := journal.Row{Change: journal.Change{Op: journal.OpPrune}, Decision: by}
		row.Ref, row.Digest = p.last, journal.Sum(p.base)
		rows = append(rows, row)
	}
	return rows
}

func (p *pruning) report(dryRun bool) []Finding {
	outcome, went := Accepted, "was dropped"
	if dryRun {
		outcome, went = Held, "would be dropped"
	}
	var found []Finding
	for _, k := range p.files {
		ended := ""
		if n := len(k.ends); n > 0 {
			ended = fmt.Sprintf(", which ended %s with row %d,", k.ends[n-1].time.Format(time.DateOnly), k.ends[n-1].row)
		}
		found = append(found, refuse("prune.version", outcome, k.path, fmt.Sprintf("the text of row %d%s %s", k.seq, ended, went), ""))
	}
	for _, first := range p.drop {
		found = append(found, refuse("prune.rows", outcome, segmentName(first), fmt.Sprintf("rows from %d on, as part of those up to %d: the file %s", first, p.last, went), ""))
	}
	return found
}

// finishPrune does what the prune rows of the journal say, or what is left of it: the
// room's lock is held.
func (r *Room) finishPrune(ctx context.Context) error {
	lines, err := r.readLineage(ctx)
	if err != nil {
		return err
	}
	if err := r.removeGone(lines); err != nil {
		return err
	}
	if lines.dropped.Ref == 0 {
		return nil
	}
	if err := r.dropRows(ctx, lines.dropped); err != nil {
		return err
	}
	r.writeCheckpoint() // the one there is begins with rows that are gone
	return nil
}

// removeGone removes the versions that rows say are gone.
func (r *Room) removeGone(lines *lineage) error {
	there, err := r.versionFiles()
	if err != nil {
		return err
	}
	for name := range journal.Sorted(there) {
		if !lines.gone(name) {
			continue
		}
		if err := r.dropFile(name); err != nil {
			return err
		}
	}
	return nil
}

// base is what the rows that were dropped added up to. The row of the prune commits to
// its bytes, so it is as good as the chain that holds that row.
type base struct {
	Seq   int64
	Hash  string
	State *journal.State
}

const baseExt = ".base"

func baseName(last int64) string { return fmt.Sprintf("%s/%d%s", segmentDir, last, baseExt) }

func encodeBase(at journal.Head, s *journal.State) ([]byte, error) {
	data, err := json.Marshal(base{at.Seq, at.Hash, s})
	return append(data, '\n'), err
}

// dropRows drops the files of the journal up to the row that a prune row names. The base
// is on the disk before the first of them goes. Where their bytes do not give the base
// that the row commits to, which only another version of this package explains, they stay.
func (r *Room) dropRows(ctx context.Context, row journal.Row) error {
	name := baseName(row.Ref)
	if _, err := r.disk.LibStat(name); errors.Is(err, fs.ErrNotExist) {
		var data []byte
		_, err := r.replay(ctx, func(state *journal.State, next journal.Row) bool {
			if next.Seq == row.Ref+1 {
				data, _ = encodeBase(journal.Head{Seq: row.Ref, Hash: next.Prev}, state)
			}
			return next.Seq <= row.Ref
		})
		if err != nil {
			return err
		}
		if journal.Sum(data) != row.Digest {
			return nil
		}
		if err := r.disk.LibWriteNew(name, data); err != nil {
			return err
		}
	}
	return r.dropBefore(row.Ref)
}

// dropFile removes a file of the library, unless it is gone already.
func (r *Room) dropFile(name string) error {
	err := r.disk.LibRemove(name)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// dropBefore removes the sealed files, and the bases, that a base has made superfluous.
func (r *Room) dropBefore(last int64) error {
	names, err := r.disk.LibList(segmentDir)
	if err != nil {
		return err
	}
	for _, f := range names {
		first, older := segmentOf(f), lastOfBase(f)
		if first > 0 && first <= last || older > 0 && older < last {
			if err := r.dropFile(segmentDir + "/" + f); err != nil {
				return err
			}
		}
	}
	return nil
}

// lastOfBase is the inverse of baseName, of a name below segmentDir; 0 for none.
func lastOfBase(name string) int64 {
	digits, ok := strings.CutSuffix(name, baseExt)
	seq, err := strconv.ParseInt(digits, 10, 64)
	if !ok || err != nil || seq < 1 || strconv.FormatInt(seq, 10) != digits {
		return 0
	}
	return seq
}

// readBase reads the newest base. ok is false where there is none; digest is for the row
// that has to commit to it.
func (r *Room) readBase() (b base, digest string, ok bool, err error) {
	names, err := r.disk.LibList(segmentDir)
	if err != nil {
		return b, "", false, err
	}
	last := int64(0)
	for _, f := range names {
		last = max(last, lastOfBase(f))
	}
	if last == 0 {
		return b, "", false, nil
	}
	data, err := r.disk.LibRead(baseName(last), maxCheckpoint)
	if err != nil {
		return b, "", false, err
	}
	if json.Unmarshal(data, &b) != nil || b.State == nil || b.Seq != last || b.State.Seq > last {
		return b, "", false, tampered(errors.New("what its first rows added up to can not be read"))
	}
	return b, journal.Sum(data), true, nil
}
