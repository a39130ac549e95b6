package scribe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/memoryroom/scribe/internal/journal"
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
//   - A memory is the same one under every name: a rename on one side is carried out, and
//     what the other side did to the memory goes with it.
//   - What the operator took back on one side stays taken back, whatever was done to it on
//     the other: a memory that both changed has the lower of the two trusts, and one that
//     the operator retired, suspended or erased is not shown again. The text of the other
//     side is a change made outside. So is a text that the operator refused on one side
//     and that was accepted on the other: the operator decides again.
//   - Candidates and refusals of both sides stay. What one side decided is decided.
//   - A purge on one side is carried out here, under the name that the memory has here. A
//     text that the other side wrote into it meanwhile is spared, and is a change made
//     outside.
//
// Rows without a right MAC are nobody's: they are kept aside, and what they brought is a
// change made outside.
//
// What comes in is the journal's files as git left them, of which no line needs to be in its
// place. The steps, and where they are:
//
//	sort the lines    internal/journal/fork.go  into a trunk, which goes on as the journal,
//	                                            and the branches that continue its rows
//	follow a side     sides.go                  what became of each memory on it since the
//	                                            sides parted
//	compare           diverge.go, joinpurge.go  memory by memory, which rows bring to this
//	                                            side (here) what the other did (there)
//	stage             forkfiles.go              what those rows rest on, on the disk
//	put in place      this file                 one new audit.jsonl, and each branch in a
//	                                            file beside it
//	read again        descent.go, lineage.go    the branches' rows, for Prune, Purge and Check
//
// What git does to a journal otherwise, without a key or under an open room, is in merged.go.

const forkPrefix = "fork-"

func forkName(b journal.Branch) string {
	return fmt.Sprintf("%s/%s%d-%.12s.jsonl", segmentDir, forkPrefix, b.From.Seq, b.To.Hash)
}

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
		return broken
	}
	b, pledge, ok, err := r.readBase()
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
	pledged := r.honoured(pledge, j.rows) == ""
	if !pledged && !r.pledgedIn(tree, pledge) {
		return broken
	}
	for _, branch := range tree.Branches {
		if err := r.joinBranch(ctx, j, branch); err != nil {
			return err
		}
	}
	if !pledged { // the row that commits to the base is on another side: it has to be on this one
		row := journal.Row{Change: journal.Change{Op: journal.OpPrune}, Decision: journal.Decision{By: byJoining, Reason: "joined"}}
		row.Ref, row.Digest = b.Seq, pledge
		if err := j.add(row); err != nil {
			return err
		}
	}
	return r.finishJoin(j, tree, sealed)
}

// pledgedIn reports whether a row of another side commits to a base.
func (r *Room) pledgedIn(tree journal.Tree, pledge string) bool {
	for _, branch := range tree.Branches {
		rows, _, _, err := journal.Decode(branch.Data, branch.From, r.opts.Key)
		if err == nil && r.honoured(pledge, rows) == "" {
			return true
		}
	}
	return false
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

// joining is a join on its way: the journal that there will be, as far as it has come.
type joining struct {
	room  *Room
	from  journal.Head   // where the trunk begins
	begin *journal.State // before its first row
	rows  []journal.Row  // the trunk's, and those of the join so far
	state *journal.State // after them
	head  journal.Head
	lines []byte          // of the rows
	marks []int64         // the rows with something left to do once the journal is in place
	erase map[string]bool // hashes: texts of purged memories, which no row's purge reaches
}

func (r *Room) newJoin(tree journal.Tree, begin *journal.State) (*joining, error) {
	rows, _, _, err := journal.Decode(tree.Trunk.Data, tree.Trunk.From, r.opts.Key)
	if err != nil {
		return nil, tampered(err)
	}
	j := &joining{room: r, from: tree.Trunk.From, begin: begin, rows: rows, state: begin.Clone(), head: tree.Trunk.To, lines: tree.Trunk.Data, erase: map[string]bool{}}
	r.fold(j.state, rows)
	return j, nil
}

// add encodes one more row.
func (j *joining) add(row journal.Row) error {
	row.Time = j.room.opts.Now().UTC()
	data, next, err := journal.Encode(j.head, j.room.opts.Key, row)
	if err != nil {
		return err
	}
	rows, _, _, err := journal.Decode(data, j.head, j.room.opts.Key)
	if err != nil {
		return err
	}
	j.state.Apply(rows[0])
	j.rows = append(j.rows, rows[0])
	j.lines, j.head = append(j.lines, data...), next
	return nil
}

// joinBranch keeps the lines of one other side, and adds the rows for what of it counts.
func (r *Room) joinBranch(ctx context.Context, j *joining, branch journal.Branch) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	if err := r.writeOnce(forkName(branch), branch.Data); err != nil {
		return err
	}
	row := journal.Row{Change: journal.Change{Op: journal.OpJoin}, Decision: journal.Decision{By: byJoining}}
	row.Ref, row.Digest, row.Reason = branch.From.Seq, branch.To.Hash, "kept in .scribe/"+forkName(branch)
	if err := j.add(row); err != nil {
		return err
	}
	rows, _, _, err := journal.Decode(branch.Data, branch.From, r.opts.Key)
	if err != nil {
		return tampered(err)
	}
	fork, at := j.begin.Clone(), 0
	if branch.From.Hash != j.from.Hash {
		if at = 1 + slices.IndexFunc(j.rows, func(row journal.Row) bool { return row.Hash == branch.From.Hash }); at == 0 {
			return nil // it continues another branch: its rows are kept, and what they brought is a change made outside
		}
	}
	r.fold(fork, j.rows[:at])
	d := &divergence{
		room: r, j: j, row: j.head.Seq, fork: fork, here: r.sideFrom(fork, j.rows[at:]), there: r.sideFrom(fork, rows),
		wiped: map[string]bool{}, brought: map[string]bool{},
	}
	return d.bring()
}

// finishJoin puts the journal in place. What its rows have left to do is marked before, and
// is then carried out like a change that was cut short.
func (r *Room) finishJoin(j *joining, tree journal.Tree, sealed []string) error {
	if len(tree.Rest) > 0 {
		if err := r.keepAside("audit.rest.", tree.Rest); err != nil {
			return err
		}
	}
	if err := r.unmergeFiles(j.state); err != nil {
		return err
	}
	r.eraseTexts(j, tree.Trunk.To.Seq)
	for _, seq := range j.marks {
		if err := r.writeOnce(mark(seq), nil); err != nil {
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
		if err := r.dropFile(name); err != nil {
			return err
		}
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.ledger = ledger{state: new(journal.State)}
	_, err := r.syncLocked(true)
	return err
}

// joinedSide is one other side that a row joined.
type joinedSide struct {
	row  journal.Row // the join
	rows []journal.Row
	err  error // why the file is not what the row says
}

// joinedSides reads the sides that rows joined, from their files. A row names the hash of
// the side's last row, which commits to all of it and to what it continues.
func (r *Room) joinedSides(joins []journal.Row) []joinedSide {
	var all []joinedSide
	for _, row := range joins {
		b := journal.Branch{From: journal.Head{Seq: row.Ref}, To: journal.Head{Hash: row.Digest}}
		j := joinedSide{row: row}
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

// sideOf reads the rows that a row joined; none for any other row.
func (r *Room) sideOf(row journal.Row) []journal.Row {
	if row.Op != journal.OpJoin || !r.vouched(row) {
		return nil
	}
	return r.joinedSides([]journal.Row{row})[0].rows
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
