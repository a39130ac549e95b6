package scribe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/memoryroom/scribe/internal/entry"
	"github.com/memoryroom/scribe/internal/journal"
	"github.com/memoryroom/scribe/internal/relpath"
)

// A room under git is written in several clones, and git merges its files as text. With a
// key that the clones share, the rows of each side can be told from anybody else's, and
// the journal is made one again: one side goes on as the journal, the lines of the other are
// kept as they are in a file of their own, a row says that they were joined, and more rows
// say what of it counts. Nothing that either side accepted is lost:
//
//   - What one side alone changed is taken over, with the trust that it had there.
//   - Where both changed the same memory, what git left on the disk decides, when it is
//     what one of them accepted. Else the side that goes on is shown, the other text is
//     kept as a version that a row names, and the file is a change made outside, which the
//     operator resolves.
//   - What the operator took back on one side stays taken back, whatever a writer did to it
//     on the other: a memory that both changed has the lower of the two trusts, and one that
//     the operator retired, suspended or erased is not shown again. The writer's text is a
//     change made outside.
//   - Candidates and refusals of both sides stay. What one side decided is decided.
//   - A purge on one side is carried out here, unless the other side changed that memory:
//     then its texts stay until it is purged again.
//
// Rows without a right MAC are nobody's: they are kept aside, and what they brought is a
// change made outside.

const forkPrefix = "fork-"

func forkName(b journal.Branch) string {
	return fmt.Sprintf("%s/%s%d-%.12s.jsonl", segmentDir, forkPrefix, b.From.Seq, b.To.Hash)
}

// errMerged is why a journal that git merged can not be read without a key.
var errMerged = errors.New("git merged it, and without Options.Key another machine's rows can not be told from forged ones; take one side of .scribe whole (git checkout --ours .scribe) and adopt what the other brought")

// join makes a merged journal one again. The room's lock is held; broken is why the
// journal can not be read as it is, and the error when no merge explains that.
//
// The new audit.jsonl is put in place in one step, after all that its rows rest on. A crash
// before that leaves the merged files, and a crash after it some that are superfluous.
func (r *Room) join(ctx context.Context, broken error) error {
	var pe *fs.PathError
	if !errors.As(broken, &pe) || pe.Op != "verify" {
		return broken
	}
	data, sealed, err := r.wholeJournal()
	if err != nil {
		return errors.Join(broken, err)
	}
	if r.opts.Key == nil {
		if entry.ConflictMarkers(data) {
			return tampered(errMerged)
		}
		return broken
	}
	b, _, ok, err := r.readBase()
	if err != nil {
		return broken
	}
	from, begin := journal.Head{}, new(journal.State)
	if ok {
		from, begin = journal.Head{Seq: b.Seq, Hash: b.Hash}, b.State
	}
	tree := journal.Untangle(data, from, r.opts.Key)
	if tree.Cut || tree.Trunk.To.Seq == from.Seq || len(tree.Branches) == 0 && !tree.Markers && !merelyRows(tree.Rest) {
		return broken
	}
	r.mu.Lock()
	was := r.ledger.head
	r.mu.Unlock()
	if was.Seq > from.Seq && !bytes.Contains(data, []byte(`"hash":"`+was.Hash+`"`)) {
		return broken // rows that this process has read are gone
	}
	j, err := r.newJoin(tree, begin)
	if err != nil {
		return err
	}
	for _, branch := range tree.Branches {
		if err := r.joinBranch(ctx, j, branch); err != nil {
			return err
		}
	}
	return r.finishJoin(j, tree, sealed)
}

// merelyRows reports whether lines all have the form of rows: what somebody without the key
// appended on another side.
func merelyRows(data []byte) bool {
	for line := range bytes.Lines(data) {
		from, ok := journal.Before(line)
		if !ok {
			return false
		}
		if _, _, _, err := journal.Decode(line, from, nil); err != nil {
			return false
		}
	}
	return len(data) > 0
}

// wholeJournal reads all files of the journal, sealed ones first, as one text. Among them
// can be files that a merge left beside the ones that belong together.
func (r *Room) wholeJournal() (data []byte, sealed []string, err error) {
	names, err := r.disk.LibList(segmentDir)
	if err != nil {
		return nil, nil, err
	}
	for _, f := range names {
		if segmentOf(f) > 0 {
			sealed = append(sealed, segmentDir+"/"+f)
		}
	}
	slices.SortFunc(sealed, func(a, b string) int {
		return int(segmentOf(strings.TrimPrefix(a, segmentDir+"/")) - segmentOf(strings.TrimPrefix(b, segmentDir+"/")))
	})
	for _, name := range append(slices.Clone(sealed), auditName) {
		body, err := r.disk.LibRead(name, maxAudit)
		if err != nil {
			return nil, nil, err
		}
		data = append(data, body...)
		if len(body) > 0 && body[len(body)-1] != '\n' {
			data = append(data, '\n')
		}
	}
	return data, sealed, nil
}

// joining is a join on its way.
type joining struct {
	begin *journal.State // before the trunk's first row
	trunk []journal.Row
	state *journal.State // after the rows of the trunk and those of the join so far
	head  journal.Head
	lines []byte // the trunk's lines, and the join's
	marks []int64
}

func (r *Room) newJoin(tree journal.Tree, begin *journal.State) (*joining, error) {
	rows, _, _, err := journal.Decode(tree.Trunk.Data, tree.Trunk.From, r.opts.Key)
	if err != nil {
		return nil, tampered(err)
	}
	j := &joining{begin: begin, trunk: rows, state: begin.Clone(), head: tree.Trunk.To, lines: tree.Trunk.Data}
	r.fold(j.state, rows)
	return j, nil
}

// add encodes one more row of the join.
func (r *Room) addJoined(j *joining, row journal.Row) error {
	row.Time = r.opts.Now().UTC()
	data, next, err := journal.Encode(j.head, r.opts.Key, row)
	if err != nil {
		return err
	}
	rows, _, _, err := journal.Decode(data, j.head, r.opts.Key)
	if err != nil {
		return err
	}
	j.state.Apply(rows[0])
	j.lines, j.head = append(j.lines, data...), next
	return nil
}

// joinBranch keeps the lines of one other side, and adds the rows for what of it counts.
func (r *Room) joinBranch(ctx context.Context, j *joining, branch journal.Branch) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := r.disk.LibWriteNew(forkName(branch), branch.Data); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	row := journal.Row{Change: journal.Change{Op: journal.OpJoin}, Decision: journal.Decision{By: "join"}}
	row.Ref, row.Digest, row.Reason = branch.From.Seq, branch.To.Hash, "kept in .scribe/"+forkName(branch)
	if err := r.addJoined(j, row); err != nil {
		return err
	}
	fork := j.begin.Clone()
	if at := slices.IndexFunc(j.trunk, func(row journal.Row) bool { return row.Hash == branch.From.Hash }); at >= 0 {
		r.fold(fork, j.trunk[:at+1])
	} else if branch.From.Seq > j.begin.Seq {
		return nil // it continues another branch: its rows are kept, and what they brought is a change made outside
	}
	rows, _, _, err := journal.Decode(branch.Data, branch.From, r.opts.Key)
	if err != nil {
		return tampered(err)
	}
	there := fork.Clone()
	r.fold(there, rows)
	d := &divergence{fork: fork, there: there, here: j.state.Clone(), brought: map[string]bool{}}
	for _, row := range r.differences(d) {
		if err := r.stageJoined(j, d, row); err != nil {
			return err
		}
	}
	return nil
}

// divergence is three states: where two sides parted, and what each has come to.
type divergence struct {
	fork, here, there *journal.State
	brought           map[string]bool // what there has in the archive, by name, that rows bring already
}

// stageJoined puts the bytes that a row rests on in their place, and adds the row. Without
// its bytes a row would promise what is not there: then what it was about is a change made
// outside.
func (r *Room) stageJoined(j *joining, d *divergence, row journal.Row) error {
	seq := j.head.Seq + 1
	switch row.Op {
	case journal.OpAdd, journal.OpReplace, journal.OpRestore, journal.OpStow:
		data := r.joinedBytes(d, row.Path, row.New)
		if data == nil && row.Op == journal.OpStow {
			return nil // its row among those of the other side says that it was
		}
		if data == nil {
			row.Op, row.Key, row.Trust, row.Rules, row.Approved = journal.OpObserve, "", "", nil, false
			return r.addJoined(j, row)
		}
		if err := r.putVersion(seq, row.New, data); err != nil {
			return err
		}
		if row.Op == journal.OpStow {
			if err := r.disk.LibReplace(archiveName(seq, row.Path), data); err != nil {
				return err
			}
		}
	case journal.OpArchive:
		acc := j.state.Accepted[row.Path]
		data, err := r.version(acc.Seq, acc.Hash)
		if err != nil {
			return nil
		}
		if err := r.disk.LibReplace(archiveName(seq, row.Path), data); err != nil {
			return err
		}
	case journal.OpPurge:
		j.marks = append(j.marks, seq)
	}
	return r.addJoined(j, row)
}

func (r *Room) putVersion(seq int64, hash string, data []byte) error {
	err := r.disk.LibWriteNew(journal.VersionName(seq, hash), data)
	if errors.Is(err, fs.ErrExist) {
		return nil
	}
	return err
}

// joinedBytes finds the bytes that a side accepted, or the other one archived, at a path.
func (r *Room) joinedBytes(d *divergence, path, hash string) []byte {
	all := []journal.Accepted{d.there.Accepted[path], d.here.Accepted[path]}
	for _, a := range d.there.Archived {
		all = append(all, a.Accepted)
	}
	for _, a := range all {
		if a.Hash != hash {
			continue
		}
		if data, err := r.version(a.Seq, a.Hash); err == nil {
			return data
		}
	}
	return r.findBytes(hash, path, nil)
}

// finishJoin puts the journal in place. Purges of the other side are marked before, so that
// they are carried out like one that was cut short.
func (r *Room) finishJoin(j *joining, tree journal.Tree, sealed []string) error {
	if len(tree.Rest) > 0 {
		if err := r.keepAside("audit.rest.", tree.Rest); err != nil {
			return err
		}
	}
	// Git takes a copy away that one side alone brought back, whatever became of it there.
	for _, a := range journal.Sorted(j.state.Archived) {
		if data, err := r.version(a.Seq, a.Hash); err == nil {
			if err := r.disk.LibWriteNew(archiveName(a.Retired, a.Path), data); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
		}
	}
	for _, seq := range j.marks {
		if err := r.disk.LibWriteNew(mark(seq), nil); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	if len(j.marks) > 0 {
		if err := r.disk.SyncInFlight(); err != nil {
			return err
		}
	}
	if err := r.disk.LibReplace(auditName, j.lines); err != nil {
		return err
	}
	for _, name := range sealed {
		if err := r.disk.LibRemove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ledger = ledger{state: new(journal.State)}
	_, err := r.syncLocked(true)
	return err
}

// differences lists the rows that bring here what the other side did. Their order is that
// of the paths.
func (r *Room) differences(d *divergence) []journal.Row {
	var rows []journal.Row
	paths := map[string]bool{}
	for _, s := range []*journal.State{d.fork, d.there} {
		for path := range s.Accepted {
			paths[path] = true
		}
	}
	for path := range journal.Sorted(paths) {
		rows = append(rows, r.difference(d, path)...)
	}
	for name, a := range journal.Sorted(d.there.Archived) {
		if _, before := d.fork.Archived[name]; before || d.brought[name] {
			continue
		}
		row := byJoin(journal.OpStow, a.Path, a.Origin)
		row.New, row.Key, row.Rules, row.Approved, row.Category = a.Hash, a.Key, a.Rules, a.Approved, a.Category
		rows = append(rows, row)
	}
	for id, h := range journal.Sorted(d.there.Pending) {
		_, before := d.fork.Pending[id]
		_, now := d.here.Pending[id]
		data, err := r.disk.LibRead(pendingName(id), maxPendingFile)
		if before || now || err != nil || journal.Sum(data) != h.Hash {
			continue
		}
		row := byJoin(journal.OpHold, h.Path, h.Origin)
		row.To, row.Old, row.New, row.Key, row.Act, row.ID, row.Digest, row.Plan, row.Rules = h.To, h.Base, h.Hash, h.Key, h.Op, id, h.Digest, h.Plan, h.Rules
		rows = append(rows, row)
	}
	for id, h := range journal.Sorted(d.here.Pending) {
		_, before := d.fork.Pending[id]
		if _, waits := d.there.Pending[id]; before && !waits { // decided there
			row := byJoin(journal.OpWithdraw, h.Path, journal.Origin{})
			row.ID = id
			rows = append(rows, row)
		}
	}
	for digest := range journal.Sorted(d.there.Refused) {
		_, before := d.fork.Refused[digest]
		if _, now := d.here.Refused[digest]; !before && !now {
			row := byJoin(journal.OpRefuse, "", journal.Origin{})
			row.Digest = digest
			rows = append(rows, row)
		}
	}
	return rows
}

// byJoin is a row of a join, with what the other side's row said of where it came from.
func byJoin(op, path string, o journal.Origin) journal.Row {
	row := journal.Row{Change: journal.Change{Op: op, Path: path, Trust: o.Trust, Source: o.Source}, Decision: journal.Decision{By: o.By, Reason: "joined"}}
	if row.By == "" {
		row.By = "join"
	}
	return row
}

// difference lists the rows for one path.
func (r *Room) difference(d *divergence, path string) []journal.Row {
	was, stood := d.fork.Accepted[path]
	here, stands := d.here.Accepted[path]
	there, stays := d.there.Accepted[path]
	changedThere := stood != stays || was.Hash != there.Hash || was.Trust != there.Trust
	changedHere := stood != stands || was.Hash != here.Hash || was.Trust != here.Trust
	both := changedThere && changedHere && stays && stands
	switch {
	case both && here.Hash == there.Hash:
		return lowered(path, here, there)
	case changedThere && stays && there.By == byWriter && d.withdrawn(d.here, path):
		return []journal.Row{outsideOfJoin(path, there, "", "the operator took the memory back on this side")}
	case changedHere && stands && here.By == byWriter && d.withdrawn(d.there, path):
		row := byJoin(journal.OpRemove, path, journal.Origin{By: d.there.Tombs[path].By})
		row.Old, row.Key = here.Hash, here.Key
		return []journal.Row{row, outsideOfJoin(path, here, "", "the operator took the memory back on the other side")}
	case changedThere && changedHere && !r.theirsLies(path, there.Hash, stays):
		if !stays {
			return nil // gone there, changed here: what was changed stays
		}
		var rows []journal.Row
		if stood && stands {
			rows = lowered(path, here, there)
		}
		if there.Hash == was.Hash && stands {
			return rows // the text is changed here alone
		}
		return append(rows, outsideOfJoin(path, there, here.Hash, "the other side's text: both changed the memory"))
	case changedThere && stays:
		row := byJoin(journal.OpAdd, path, there.Origin)
		if retired, back := d.restored(path); back {
			row.Op, row.Ref = journal.OpRestore, retired
		} else if stands {
			row.Op = journal.OpReplace
		}
		row.Old, row.New, row.Key, row.Rules, row.Approved = here.Hash, there.Hash, there.Key, there.Rules, there.Approved
		if both && stood {
			row.Trust = lowerTrust(here, there)
		}
		return []journal.Row{row}
	case changedThere && stands:
		return d.freed(path, here)
	}
	return nil
}

// lowerTrust names the lower trust of what two sides accepted.
func lowerTrust(here, there journal.Accepted) string {
	return min(parseTrust(here.Trust), parseTrust(there.Trust)).String()
}

// lowered lists the row that gives what stands here the other side's trust, if that is lower.
func lowered(path string, here, there journal.Accepted) []journal.Row {
	trust := lowerTrust(here, there)
	if parseTrust(trust) == parseTrust(here.Trust) {
		return nil
	}
	row := byJoin(journal.OpReplace, path, journal.Origin{Trust: trust, Source: here.Source, By: there.By})
	row.Old, row.New, row.Key, row.Rules, row.Approved = here.Hash, here.Hash, here.Key, here.Rules, here.Approved
	return []journal.Row{row}
}

// outsideOfJoin is the row for a text of one side that is not taken over: it is kept, and a
// change made outside, in place of what stands with the hash old ("": nothing).
func outsideOfJoin(path string, text journal.Accepted, old, reason string) journal.Row {
	row := byJoin(journal.OpObserve, path, text.Origin)
	row.Trust, row.Old, row.New, row.Reason = "", old, text.Hash, reason
	return row
}

// withdrawn reports whether the operator freed a path on the side of a state, after the sides
// parted. A file that was deleted in an editor is nobody's decision.
func (d *divergence) withdrawn(side *journal.State, path string) bool {
	tomb, ok := side.Tombs[path]
	return ok && tomb.Freed > d.fork.Seq && !slices.Contains([]string{"", byWriter, "join", "repair"}, tomb.By)
}

// restored finds the retirement from which the other side brought a memory back.
func (d *divergence) restored(path string) (row int64, ok bool) {
	name, a, kept := d.fork.ArchivedAt(path)
	_, here := d.here.Archived[name]
	_, there := d.there.Archived[name]
	return a.Retired, kept && here && !there
}

// theirsLies reports whether what lies at a path is what the other side left there.
func (r *Room) theirsLies(path, hash string, stays bool) bool {
	p, err := relpath.Parse(path)
	if err != nil {
		return false
	}
	_, lies, err := r.lying(p)
	return err == nil && (stays && lies == hash || !stays && lies == "")
}

// freed lists the rows for a path that the other side freed.
func (d *divergence) freed(path string, here journal.Accepted) []journal.Row {
	tomb, left := d.there.Tombs[path]
	row := byJoin(journal.OpRemove, path, journal.Origin{By: tomb.By})
	row.Old, row.Key = here.Hash, here.Key
	name, retired, archived := d.there.ArchivedAt(path)
	switch _, before := d.fork.Archived[name]; {
	case archived && !before && retired.Retired == tomb.Freed && retired.Hash == here.Hash:
		row.Op, row.Category = journal.OpArchive, retired.Category
		d.brought[name] = true
	case left && tomb.Hash == "":
		row.Op, row.Old = journal.OpPurge, ""
	}
	return []journal.Row{row}
}

// joined is one other side that a row joined.
type joined struct {
	row  journal.Row // the join
	rows []journal.Row
	err  error // why the file is not what the row says
}

// joinedSides reads the sides that rows joined, from their files. A row names the hash of
// the side's last row, which commits to all of it and to what it continues.
func (r *Room) joinedSides(joins []journal.Row) []joined {
	var all []joined
	for _, row := range joins {
		b := journal.Branch{From: journal.Head{Seq: row.Ref}, To: journal.Head{Hash: row.Digest}}
		j := joined{row: row}
		data, err := r.disk.LibRead(forkName(b), maxAudit)
		if err == nil {
			var to journal.Head
			from, _ := journal.Before(data)
			j.rows, to, _, err = journal.Decode(data, from, r.opts.Key)
			if err == nil && to.Hash != row.Digest {
				err = errors.New("it does not end where it was joined")
			}
		}
		j.err = err
		all = append(all, j)
	}
	return all
}

// GitAdvice gives what a room under git wants in the .gitignore and the .gitattributes of
// its directory. It writes nothing: those files are the user's.
//
// With a key the journal, the versions, the archive and what waits travel; what belongs to
// one directory or one process stays, and so do the states of sessions: a conversation
// that goes on in another clone begins there at the ceiling that the host gives. The
// journal is merged line by line, and what that leaves is joined at the next Open. Without
// a key nothing below .scribe means anything elsewhere. Either way git must not change
// line ends: another byte is another text, and unaccepted.
func (r *Room) GitAdvice() (ignore, attributes string) {
	attributes = "*.md -text\n"
	if r == nil || r.opts.Key == nil {
		return "/.scribe/\n", attributes
	}
	for _, name := range []string{"lock", localName, reserveName, checkpointName, cacheName, shadowDir, tmpDir, sessionDir, sweptDir, "audit.torn.*", "audit.rest.*"} {
		ignore += "/.scribe/" + name + "\n"
	}
	attributes += "/MEMORY.md merge=union\n"
	for _, name := range []string{auditName, segmentDir + "/*.jsonl"} {
		attributes += "/.scribe/" + name + " -text merge=union\n"
	}
	return ignore, attributes + "/.scribe/** -text\n"
}

// sideOf reads the rows that a row joined; none for any other row.
func (r *Room) sideOf(row journal.Row) []journal.Row {
	if row.Op != journal.OpJoin || !r.vouched(row) {
		return nil
	}
	return r.joinedSides([]journal.Row{row})[0].rows
}
