package scribe

import (
	"bytes"
	"context"
	"errors"
	"io/fs"
	"strconv"
	"strings"

	"github.com/memoryroom/scribe/internal/journal"
	"github.com/memoryroom/scribe/internal/relpath"
	"github.com/memoryroom/scribe/internal/rootfs"
)

// finishInFlight finishes, or aborts, what a crash left between the journal and the disk.
// A row's mark stays in tmp until its moves are done; the journal says what the row was to
// do; the bytes are among the versions, or in tmp. Only a row that still is the last word
// on its path is finished, and only where the disk holds what the row was to replace:
// anything else there is somebody's edit and stays. An append of which bytes are missing
// never got to its moves (see the write protocol): it is aborted as a whole. worked says
// that there was something to finish.
func (r *Room) finishInFlight(ctx context.Context) (worked bool, err error) {
	names, err := r.disk.ListInFlight()
	if err != nil {
		return false, err
	}
	cut := r.cutShort()
	if len(names) == 0 && len(cut) == 0 {
		r.settleHead()
		return false, nil
	}
	// What a killed process left can be read, and may be in the page cache only: it has to
	// be on the disk before anything is built on it.
	if err := r.disk.SyncLib(); err != nil {
		return false, err
	}
	rows, known := map[int64]journal.Row{}, map[string]bool{}
	err = r.eachRow(ctx, func(row journal.Row) bool {
		rows[row.Seq] = row
		known[row.Old], known[row.New] = true, true
		return true
	})
	if err != nil {
		return false, err
	}
	for _, name := range names {
		// What went through tmp can leave its name behind: a second name of a file that has
		// its place, which nothing would read then.
		if !strings.Contains(name, ".") && tmpDir+name != indexTmp || strings.HasSuffix(name, rootfs.TakenOut) {
			if err := r.clearInFlight(name, false, known); err != nil {
				return false, err
			}
		}
	}
	for _, name := range names {
		if row, ok := rows[rowOf(name)]; ok && tmpDir+name == mark(row.Seq) {
			cut = append(cut, row)
		}
	}
	for _, row := range cut { // with their versions they would look done
		if err := r.disk.LibWriteNew(mark(row.Seq), nil); err != nil && !errors.Is(err, fs.ErrExist) {
			return false, err
		}
	}
	if len(cut) > 0 {
		// A flush of the journal may have failed, and the system called its pages clean since:
		// another flush would promise what it does not do. New pages it has to write.
		// Recovery itself leaves what a crash in it must find: the marks.
		if err := errors.Join(r.rewriteJournal(), r.disk.SyncInFlight()); err != nil {
			return false, err
		}
	}
	kept, err := r.finish(ctx, cut, rows)
	if err != nil {
		return false, err
	}
	if names, err = r.disk.LibList(strings.TrimSuffix(tmpDir, "/")); err != nil {
		return false, err
	}
	for _, name := range names {
		if kept[tmpDir+name] {
			continue
		}
		_, ok := rows[rowOf(name)]
		if err := r.clearInFlight(name, ok, known); err != nil {
			return false, err
		}
	}
	r.settleHead()
	return true, nil
}

func (r *Room) rewriteJournal() error {
	data, err := r.disk.LibRead(auditName, maxAudit)
	if err != nil {
		return err
	}
	return r.disk.LibReplace(auditName, data)
}

// cutShort lists the rows of the last append whose versions have no name, unless this
// process carried the append out itself: then the power went before the append was on
// the disk as a whole, marks and all.
func (r *Room) cutShort() (cut []journal.Row) {
	r.mu.Lock()
	last, settled, state := r.ledger.last, r.ledger.head.Seq == r.settled, r.ledger.state
	r.mu.Unlock()
	if settled {
		return nil
	}
	for _, row := range last {
		if brings(row) && r.counts(state, row) {
			if _, err := r.disk.LibStat(journal.VersionName(row.Seq, row.New)); errors.Is(err, fs.ErrNotExist) {
				cut = append(cut, row)
			}
		}
	}
	return cut
}

// brings reports whether a row brings bytes along, which are its version.
func brings(row journal.Row) bool {
	switch opOfRow(row) {
	case journal.OpAdd, journal.OpReplace, journal.OpEdit, journal.OpAdopt, journal.OpRestore, journal.OpRollback, journal.OpRename, journal.OpArchive, journal.OpStow, journal.OpLink:
		return row.New != ""
	}
	return false
}

// counts reports whether the state rests on this very row, in this room.
func (r *Room) counts(state *journal.State, row journal.Row) bool {
	return lastWord(state, row) && (r.opts.Key == nil || row.Verified)
}

// finish carries out the rows that may not be done. Where the bytes of one are nowhere, the
// append that it came with is aborted. kept are the marks of purges that could not remove all
// that they have to: the next lock tries again.
func (r *Room) finish(ctx context.Context, cut []journal.Row, rows map[int64]journal.Row) (kept map[string]bool, err error) {
	r.mu.Lock()
	state := r.ledger.state
	r.mu.Unlock()
	aborted := map[int64]bool{}
	var aborts []journal.Row
	for _, row := range cut {
		if aborted[row.Seq] || !brings(row) || !r.counts(state, row) || state.Seq-row.Seq >= journal.Window/2 {
			continue
		}
		if _, ok := r.bytesOf(row); ok {
			continue
		}
		first := row.Seq - int64(max(row.Part, 1)) + 1
		for seq := first + int64(max(row.Parts, 1)) - 1; seq >= first; seq-- {
			if !aborted[seq] {
				aborted[seq] = true
				aborts = append(aborts, abortOf(rows[seq], seq))
			}
		}
	}
	if err := r.append(aborts...); err != nil {
		return nil, err
	}
	for _, row := range cut { // all bytes are on the disk before the first move, as in the protocol
		if !aborted[row.Seq] && r.counts(state, row) {
			if err := r.keepVersions(row); err != nil {
				return nil, err
			}
		}
	}
	kept = map[string]bool{}
	for _, row := range cut {
		var err error
		switch {
		case aborted[row.Seq]:
		case row.Op == journal.OpPurge:
			if row.Seq > state.Epoch && (r.opts.Key == nil || row.Verified) { // a purge of elsewhere erases nothing here
				var left []Finding
				left, err = r.erase(ctx, row.Seq, nil)
				kept[mark(row.Seq)] = keptBack(left)
			}
		case row.Op == journal.OpPrune:
			if row.Seq > state.Epoch && r.vouched(row) { // nor does a prune
				if err = r.finishPrune(ctx); rootfs.Full(err) {
					err = nil // what it can not drop stays, and the next prune drops it
				}
			}
		case r.counts(state, row):
			err = r.rollForward(row)
		}
		if err != nil {
			return nil, err
		}
	}
	return kept, nil
}

// bytesOf finds what a row brings along: among the versions, in tmp, or in place.
func (r *Room) bytesOf(row journal.Row) ([]byte, bool) {
	if data, err := r.version(row.Seq, row.New); err == nil {
		return data, true
	}
	at := row.Path
	if opOfRow(row) == journal.OpRename {
		at = row.To
	}
	for _, ext := range []string{waitingExt, versionExt} {
		data, err := r.disk.LibRead(inTmp(row.Seq, ext), maxMemory)
		if err == nil && journal.Sum(data) == row.New {
			return data, true
		}
	}
	p, err := relpath.Parse(at)
	if err != nil || at == indexName {
		return nil, false
	}
	data, hash, err := r.lying(p)
	return data, err == nil && hash == row.New
}

// keepVersions gives the bytes of a row, and those from outside that it replaces, their
// places among the versions.
func (r *Room) keepVersions(row journal.Row) error {
	if brings(row) {
		data, ok := r.bytesOf(row)
		if !ok {
			return nil // Check names it
		}
		if err := r.keepVersion(journal.VersionName(row.Seq, row.New), data); err != nil {
			return err
		}
	}
	was, err := r.disk.LibRead(inTmp(row.Seq, wasExt), maxAudit)
	if err != nil || journal.Sum(was) != row.Old {
		return nil
	}
	return r.keepVersion(journal.VersionName(row.Seq, row.Old), was)
}

// keepVersion writes a version, unless it is there. It may be there as the second name of
// a file in tmp: its name is flushed either way.
func (r *Room) keepVersion(name string, data []byte) error {
	if _, err := r.disk.LibStat(name); err == nil {
		return nil
	}
	err := r.disk.LibWriteNew(name, data)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// rowOf is the row that a name in tmp begins with; 0 for none.
func rowOf(name string) int64 {
	base, _, _ := strings.Cut(name, ".")
	seq, err := strconv.ParseInt(base, 10, 64)
	if err != nil {
		return 0
	}
	return seq
}

// opOfRow is what a row does to bytes: an approval does what the candidate was to do.
func opOfRow(row journal.Row) string {
	if row.Op == journal.OpApprove {
		return row.Act
	}
	return row.Op
}

// lastWord reports whether the state rests on this very row. It does not on one that
// was aborted, that a later row replaced, that came before the anchor, or that
// carries no right MAC in a room with a key.
func lastWord(state *journal.State, row journal.Row) bool {
	if row.Seq <= state.Epoch {
		return false // tombs outlive an anchor
	}
	switch opOfRow(row) {
	case journal.OpArchive:
		return state.Tombs[row.Path].Freed == row.Seq
	case journal.OpStow:
		return state.Archived[journal.ArchiveName(row.Path, row.Seq)].Seq == row.Seq
	case journal.OpLink:
		return state.Archived[journal.ArchiveName(row.Path, row.Ref)].Seq == row.Seq
	case journal.OpRollback:
		if row.New == "" {
			return state.Tombs[row.Path].Freed == row.Seq
		}
	case journal.OpRename:
		_, ok := state.Accepted[row.To]
		return ok && state.Tombs[row.Path].Freed == row.Seq
	}
	return state.Accepted[row.Path].Seq == row.Seq
}

// rollForward finishes a row: what it puts first, then what it takes away.
func (r *Room) rollForward(row journal.Row) error {
	source, err := relpath.Parse(row.Path)
	if err != nil {
		return nil
	}
	switch opOfRow(row) {
	case journal.OpAdopt, journal.OpLink:
		return nil // it moved nothing
	case journal.OpRollback:
		if row.New == "" {
			return r.finishTaking(row, source, false)
		}
	case journal.OpArchive:
		return r.finishTaking(row, source, true)
	case journal.OpStow:
		data, err := r.version(row.Seq, row.New)
		if err != nil {
			return nil // Check names it
		}
		return r.disk.LibReplace(archiveName(row.Seq, row.Path), data)
	case journal.OpRename:
		target, err := relpath.Parse(row.To)
		if err != nil {
			return nil
		}
		if err := r.finishPutting(row, target, ""); err != nil {
			return err
		}
		if _, there, err := r.lying(target); err != nil || there != row.New {
			return nil // the other half did not happen: nothing is taken away
		}
		return r.finishTaking(row, source, false)
	}
	return r.finishPutting(row, source, row.Old)
}

// finishPutting puts a row's bytes at p where the bytes of hash old lie ("": nothing).
func (r *Room) finishPutting(row journal.Row, p relpath.Path, old string) error {
	disk, hash, err := r.lying(p)
	switch {
	case err != nil:
		return nil
	case hash == row.New:
		return r.disk.Sync(p) // a killed process may not have come so far
	case hash != old:
		return nil
	}
	data, err := r.version(row.Seq, row.New)
	if err != nil {
		return nil // Check names it
	}
	if err := r.disk.LibReplace(inTmp(row.Seq, waitingExt), data); err != nil {
		return err
	}
	return ignoreChanged(r.disk.Replace(inTmp(row.Seq, waitingExt), p, disk))
}

// finishTaking takes p away where the row's old bytes still lie there.
func (r *Room) finishTaking(row journal.Row, p relpath.Path, archive bool) error {
	disk, hash, err := r.lying(p)
	if err != nil {
		return nil
	}
	if disk == nil { // a killed process may not have come so far as to flush that
		if err := r.disk.Sync(p); err != nil {
			return err
		}
	}
	if disk != nil && hash == row.Old {
		err := r.takeAway(p, disk, row.Seq, archive)
		if errors.Is(err, errUnfinished) {
			return nil // no space still: Check names it
		}
		return ignoreChanged(err)
	}
	r.mu.Lock()
	kept, ok := r.ledger.state.Archived[journal.ArchiveName(row.Path, row.Seq)]
	r.mu.Unlock()
	if !archive || !ok {
		return nil
	}
	data, err := r.version(kept.Seq, kept.Hash) // it went or was saved again, and its copy in the archive did not come
	if err != nil {
		return nil
	}
	err = r.disk.LibWriteNew(archiveName(row.Seq, row.Path), data)
	if errors.Is(err, fs.ErrExist) || rootfs.Full(err) { // for people; Check names what is missing
		return nil
	}
	return err
}

// lying reads what lies at p: nil and "" for nothing.
func (r *Room) lying(p relpath.Path) (data []byte, hash string, err error) {
	data, err = r.disk.Read(p, maxMemory)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, "", nil
	}
	if err != nil {
		return nil, "", err
	}
	return data, journal.Sum(data), nil
}

// ignoreChanged drops the error of a swap that an editor won: its bytes stay.
func ignoreChanged(err error) error {
	if errors.Is(err, rootfs.ErrChanged) {
		return nil
	}
	return err
}

// clearInFlight removes a file of tmp that nothing needs any more. What was taken out
// of the room, or swapped out for a row's bytes, and is none that a row knows is
// somebody's save: it is kept among the versions.
func (r *Room) clearInFlight(name string, hasRow bool, known map[string]bool) error {
	swapped := hasRow && strings.HasSuffix(name, ".new") || strings.HasSuffix(name, ".undo")
	if swapped || strings.HasSuffix(name, rootfs.TakenOut) || tmpDir+name == indexTmp {
		data, err := r.disk.LibRead(tmpDir+name, maxAudit)
		if err == nil && !known[journal.Sum(data)] && !(tmpDir+name == indexTmp && r.onlyOurLines(data)) {
			err = r.disk.LibWriteNew("versions/outside-"+journal.Sum(data)[:12]+".md", data)
		}
		refusal := (*rootfs.Refusal)(nil) // a second name of a file that has its place by now
		if err != nil && !errors.Is(err, fs.ErrExist) && !errors.Is(err, fs.ErrNotExist) && !errors.As(err, &refusal) {
			return err
		}
	}
	if err := r.disk.LibRemove(tmpDir + name); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// onlyOurLines reports whether an index holds no line of the user's that MEMORY.md
// does not hold.
func (r *Room) onlyOurLines(data []byte) bool {
	cur, err := r.readIndex()
	if err != nil {
		return false
	}
	r.mu.Lock()
	state := r.ledger.state
	r.mu.Unlock()
	return bytes.Equal(ownLines(state, data), ownLines(state, cur))
}

// tidy brings what is derived in line with the journal after a crash: candidates that
// were decided, archived files that came back, purges that were cut short, the index.
func (r *Room) tidy(ctx context.Context) error {
	w, err := r.world(ctx)
	if err != nil {
		return err
	}
	names, err := r.disk.LibList("pending")
	if err != nil {
		return err
	}
	for _, name := range names {
		_, counts := w.state.Pending[strings.TrimSuffix(name, ".md")]
		if _, waits := w.state.Left[strings.TrimSuffix(name, ".md")]; !waits && !counts {
			if err := r.disk.LibRemove("pending/" + name); err != nil {
				return err
			}
		}
	}
	archived, err := r.disk.LibList("archive")
	if err != nil {
		return err
	}
	for _, name := range archived {
		row, path, _ := strings.Cut(name, "/")
		seq, err := strconv.ParseInt(row, 10, 64)
		if _, kept := w.state.Archived[journal.ArchiveName(path, seq)]; err != nil || seq <= w.state.Epoch || kept {
			continue // retired, or retired elsewhere: then it is not ours to judge
		}
		if err := r.disk.LibRemove("archive/" + name); err != nil { // it came back, or never went
			return err
		}
	}
	if !anyAccepted(w.state) && !freedHere(w.state) {
		return nil // nothing was accepted here: the index is as it came
	}
	if settled := r.kept().settled; settled != [32]byte{} && settled == r.settledAs(w) {
		return nil // looked at when the cache was written, and nothing moved since
	}
	if next := r.rebuiltIndex(w); string(next) != string(w.index) {
		if err := ignoreChanged(r.replaceIndex(w.index, next)); !rootfs.Full(err) {
			return err
		}
	}
	return nil
}

// freedHere reports whether a path was freed in this directory, and not where it came from.
func freedHere(state *journal.State) bool {
	for _, tomb := range state.Tombs {
		if tomb.Freed > state.Epoch {
			return true
		}
	}
	for _, row := range state.Purged {
		if row > state.Epoch {
			return true
		}
	}
	return false
}

// observeAll records, once, every accepted memory that was changed or deleted
// outside. Nothing is copied: those bytes are not ours until the operator says so. The
// room's lock is held, and what others wrote was read.
func (r *Room) observeAll(ctx context.Context) error {
	state := r.stateNow()
	// What lies under the stamp under which it was accepted bytes is not read again. Where
	// looking fails, every file is read, and says more.
	kept := r.kept()
	table, same := &kept.files, kept.at == r.stateAs()
	unmoved, known := make([]bool, table.len()), 0
	err := r.disk.Describe(table.len(), table.path, func(row int, e rootfs.Entry) {
		if table.unmoved(row, &e) && (same || table.file(row).sum == sumOf(state.Accepted[table.path(row)].Hash)) {
			unmoved[row] = true
			known++
		}
	})
	accepted := len(state.Accepted)
	if _, ok := state.Accepted[indexName]; ok {
		accepted--
	}
	if err == nil && known == accepted {
		return nil
	}
	if err != nil {
		clear(unmoved)
	}
	w, err := r.world(ctx)
	if err != nil {
		return err
	}
	var others []string
	for _, path := range acceptedPaths(state) {
		if row, ok := table.find(path, 0); !ok || !unmoved[row] {
			others = append(others, path)
		}
	}
	there := make([]rootfs.Entry, len(others)) // as they were before they are read
	_ = r.disk.Describe(len(others), func(i int) string { return others[i] }, func(i int, e rootfs.Entry) { there[i] = e })
	var b batch
	for i, path := range others {
		p, err := relpath.Parse(path)
		if err != nil {
			continue
		}
		s, err := r.standing(state, p)
		if err != nil {
			continue // unreadable: Check reports it
		}
		if s.whole {
			r.look(path, p, there[i], s, s.memory(path))
		}
		b.outside(state, path, s)
	}
	return r.commit(ctx, w, &b)
}

// observed is the row for what an outside hand did to an accepted memory, unless it
// was recorded already.
func observed(state *journal.State, path string, s standing) (journal.Row, bool) {
	row := journal.Row{Change: journal.Change{Op: journal.OpObserve, Path: path, Old: state.Accepted[path].Hash}}
	switch s.kind {
	case absent:
		return row, true // the state forgets the memory with this row
	case changed:
		if row.New = s.diskHash(); row.New == "" {
			return row, false // no file: a link, say, whose text is nobody's
		}
		seen, ok := state.Outside[path]
		return row, !ok || seen != row.New
	}
	return row, false
}
