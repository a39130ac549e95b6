package scribe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"maps"
	"strings"

	"github.com/memoryroom/scribe/internal/entry"
	"github.com/memoryroom/scribe/internal/journal"
	"github.com/memoryroom/scribe/internal/relpath"
	"github.com/memoryroom/scribe/internal/rootfs"
)

// Check compares everything that the room holds with its journal, read in full and from
// its files, and says what does not fit. It looks at
//
//	the chain        every row of every file of the journal, a torn end, rows without the
//	                 key's MAC, versions of rows that are not there, the checkpoint
//	the versions     the bytes of every row, or the row that pruned or purged them; files
//	                 that no row explains; bytes from outside that were kept
//	the topics       each against its last row: changed, deleted, not to be read, an
//	                 unresolved merge; links and other things that lie among them
//	what waits       each held candidate against its row
//	the archive      the copies for people, and which memory took a retired one's place
//	the rest         lines of the index, the state of sessions, leftovers in tmp
//
// Each finding has a rule, the file or path as its Field, a message and a fix. Its Outcome
// is Held for what somebody has to decide or repair, and Accepted for what is only
// worth knowing, such as bytes that were kept, or what was mended.
//
// With repair it first does what Open does, and then mends what the room still knows
// twice: a version that lies at another place too, a copy in the archive, the index, the
// checkpoint. A held candidate that is gone is withdrawn. Then it looks again, and
// reports what is no longer found as mended. It removes no bytes but exact copies, and
// what it can not mend it leaves and names. Cut short, it can be run again.
//
// A room that can be written is locked meanwhile: writers wait, and nothing is seen half
// done.
func (r *Room) Check(ctx context.Context, repair bool) ([]Finding, error) {
	found, err := r.inspect(ctx)
	if err == nil && repair && r.canTakeSide() {
		err = r.takeOneSide(ctx)
	}
	if err != nil || !repair || r.writable() != nil || !r.disk.HasLibrary() {
		return found, err
	}
	if err := r.mend(ctx); err != nil {
		return found, err
	}
	left, err := r.inspect(ctx)
	if err != nil {
		return found, err
	}
	is := map[[2]string]bool{}
	for _, f := range left {
		is[[2]string{f.Rule, f.Field}] = true
	}
	for _, f := range found {
		if !is[[2]string{f.Rule, f.Field}] {
			f.Outcome, f.Message, f.Fix = Accepted, "mended: "+f.Message, ""
			left = append(left, f)
		}
	}
	return left, nil
}

// inspection is one look at a room.
type inspection struct {
	room  *Room
	w     *world
	lines *lineage // nil when the chain is broken
	found []Finding
}

// maxFindings is how many findings of one rule are listed: who has more has to look at
// all of them anyway.
const maxFindings = 100

// add notes a finding that somebody has to do something about.
func (c *inspection) add(rule, field, message, fix string) {
	c.found = append(c.found, refuse(rule, Held, field, message, fix))
}

// tell notes what is only worth knowing.
func (c *inspection) tell(rule, field, message, fix string) {
	c.found = append(c.found, refuse(rule, Accepted, field, message, fix))
}

// inspect looks at everything, and changes nothing.
func (r *Room) inspect(ctx context.Context) ([]Finding, error) {
	if err := r.usable(); err != nil {
		return nil, err
	}
	if r.writable() == nil && r.disk.HasLibrary() {
		unlock, err := r.disk.Lock(ctx)
		if err != nil {
			return nil, err
		}
		defer unlock()
	}
	w, err := r.world(ctx)
	if err != nil {
		return nil, err
	}
	c := &inspection{room: r, w: w}
	for _, look := range []func(context.Context) error{c.chain, c.versions, c.topics, c.pending, c.archive, c.rest} {
		if err := look(ctx); err != nil {
			return nil, err
		}
	}
	return c.few(), nil
}

// few keeps the first findings of each rule, and says how many there are besides.
func (c *inspection) few() []Finding {
	n, last := map[string]int{}, map[string]int{}
	var out []Finding
	for _, f := range c.found {
		if n[f.Rule]++; n[f.Rule] <= maxFindings {
			last[f.Rule] = len(out)
			out = append(out, f)
		}
	}
	for rule, all := range n {
		if all > maxFindings {
			out[last[rule]].Message += fmt.Sprintf(" (and %d more like it)", all-maxFindings)
		}
	}
	return out
}

// chain reads all rows.
func (c *inspection) chain(ctx context.Context) error {
	r := c.room
	if r.isMerged() {
		c.add("check.merge", auditName, "git merged the journal, and without a key nobody can tell whose rows are whose: nothing is accepted, and the room is only read", "take one side of .scribe whole (git checkout --ours .scribe), or run Check with repair: the longer side goes on as history, the rest is kept aside, and the memories are to be adopted")
		return nil
	}
	lines, err := r.readLineage(ctx)
	switch pe := (*fs.PathError)(nil); {
	case errors.As(err, &pe) && pe.Op == "verify":
		c.add("check.chain", auditName, "the journal's chain is broken: "+pe.Err.Error(), "restore the journal's files from a copy")
	case err != nil:
		return err
	default:
		c.lines = lines
	}
	r.mu.Lock()
	l, stale := r.ledger, r.opts.Key == nil && (r.local == nil || !r.local.ok)
	r.mu.Unlock()
	if l.first == 0 {
		return nil
	}
	if size, err := r.disk.LibStat(auditName); err == nil && size > l.size {
		c.add("check.torn", auditName, "an append to the journal was cut short", "open the room, or run Check with repair: the torn end is kept aside")
	}
	if stale {
		c.tell("check.anchor", localName, "this is not the directory in which the journal was written: nothing that it accepted counts here", "adopt the memories that you know")
	} else if c.lines != nil && !sameState(l.state, c.lines.state) {
		c.add("check.checkpoint", checkpointName, "what was read with a checkpoint is not what the rows add up to", "run Check with repair: the checkpoint is made anew")
	}
	if c.lines != nil {
		for _, side := range c.lines.sides {
			if side.err != nil {
				c.add("check.fork", fmt.Sprintf("%s (row %d)", segmentDir, side.row.Seq), "the rows of a side that was joined are missing or wrong: what counts of them stands in the journal", "restore the file from the other clone")
			}
		}
	}
	if c.lines != nil && c.lines.strange > 0 {
		c.tell("check.unverified", auditName, fmt.Sprintf("%d rows carry no right MAC under the key, and do not count", c.lines.strange), "adopt what you know of what they brought")
	}
	return nil
}

// sameState compares what counts.
func sameState(a, b *journal.State) bool {
	return sameMap(a.Accepted, b.Accepted) && sameMap(a.Archived, b.Archived) && sameMap(a.Tombs, b.Tombs) &&
		sameMap(a.Former, b.Former) && maps.Equal(a.Purged, b.Purged) &&
		sameMap(a.Pending, b.Pending) && maps.Equal(a.Refused, b.Refused)
}

// sameMap compares entries by what a checkpoint keeps of them.
func sameMap[V any](a, b map[string]V) bool {
	return maps.EqualFunc(a, b, func(x, y V) bool {
		left, err := json.Marshal(x)
		right, err2 := json.Marshal(y)
		return err == nil && err2 == nil && bytes.Equal(left, right)
	})
}

// versions compares the files with the rows.
func (c *inspection) versions(ctx context.Context) error {
	there, err := c.room.versionFiles()
	if err != nil || c.lines == nil {
		return err
	}
	for name := range journal.Sorted(there) {
		f := strings.TrimPrefix(name, "versions/")
		seq, _, ok := journal.ParseVersionName(name)
		switch {
		case !ok && (strings.HasPrefix(f, "outside-") || strings.HasPrefix(f, "conflict-")):
			c.tell("check.parked", name, "bytes that another program saved while a change was written were kept here", "look at them, and remove the file when you have what you need")
		case ok && seq > c.lines.rows:
			c.add("check.journal-short", auditName, fmt.Sprintf("there is a version of row %d, and the journal ends at row %d", seq, c.lines.rows), "compare Head with the one you kept, or restore the journal from a copy")
		case !ok || c.lines.files[name] == nil:
			c.tell("check.orphan", name, "no row of the journal explains this file", "look at it, and remove it by hand")
		case c.lines.gone(name):
			c.add("check.pruned", name, "the journal says that these bytes are gone", "run Check with repair")
		}
	}
	for name, k := range journal.Sorted(c.lines.files) {
		if err := ctx.Err(); err != nil {
			return err
		}
		if !k.promised || !there[name] && c.lines.gone(name) {
			continue
		}
		if _, err := c.room.version(k.seq, k.hash); err == nil {
			continue
		}
		if !c.lines.needless(name) {
			c.add("check.version", k.path, "the version behind the accepted text is missing or wrong", "run Check with repair, else adopt the memory again")
		} else {
			c.add("check.history", name, fmt.Sprintf("the bytes of row %d are missing or wrong", k.seq), "run Check with repair, or restore the file from a copy")
		}
	}
	return nil
}

// topics compares the memories' files with their rows.
func (c *inspection) topics(context.Context) error {
	r := c.room
	for _, path := range acceptedPaths(c.w.state) {
		p, err := relpath.Parse(path)
		if err != nil {
			continue
		}
		switch s, err := r.standing(c.w.state, p); {
		case err != nil:
			c.add("check.unreadable", path, "the memory can not be read", "look at what lies there")
		case s.kind == absent:
			c.add("check.deleted", path, "the memory was deleted outside", "restore it, or leave it")
		case s.kind == changed && !entry.ConflictMarkers(s.disk):
			c.add("check.changed", path, "the memory was changed outside", "adopt it, or roll it back")
		}
	}
	return r.disk.Walk(func(name string, e rootfs.Entry) error {
		if rule := e.Rule(); rule != "" {
			c.tell(rule, name, "this is not a plain file: it is left alone, and no model sees it", "look at it; put a file in its place if it is meant to be a memory")
			return nil
		}
		p, _, err := relpath.ParseForeign(name)
		if err != nil && name != indexName {
			return nil
		}
		data, err := r.disk.Read(p, maxMemory)
		if err != nil || name == indexName {
			return nil
		}
		if entry.ConflictMarkers(data) {
			c.add("check.merge", name, "the file holds an unresolved merge of git", "resolve it in an editor, and adopt the result")
		}
		if e, err := entry.Parse(data); err == nil && e.SecondHeader() {
			c.tell("check.second-header", name, "two tools each wrote frontmatter: what the second one says is not read", "make it one, in an editor, and adopt the result")
		}
		return nil
	})
}

// pending compares what waits with its rows.
func (c *inspection) pending(context.Context) error {
	for id, held := range journal.Sorted(c.w.state.Pending) {
		if _, _, err := c.room.readHeld(id, held); err != nil {
			message, fix := heldTrouble(err)
			if errors.Is(err, fs.ErrNotExist) {
				fix = "run Check with repair: it is withdrawn, and can be proposed again"
			}
			c.add("check.pending", pendingName(id), message, fix)
		}
	}
	names, err := c.room.disk.LibList("pending")
	for _, f := range names {
		id := strings.TrimSuffix(f, ".md")
		_, waits := c.w.state.Pending[id]
		if _, left := c.w.state.Left[id]; !waits && !left {
			c.add("check.left", "pending/"+f, "nothing waits under this name", "run Check with repair")
		}
	}
	return err
}

// archive compares the copies of retired memories, and what took their place.
func (c *inspection) archive(context.Context) error {
	for _, a := range journal.Sorted(c.w.state.Archived) {
		name := archiveName(a.Retired, a.Path)
		data, err := c.room.disk.LibRead(name, maxMemory)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			c.add("check.archive", name, "the copy of a retired memory is missing", "run Check with repair")
		case err != nil || !c.sameAsRetired(a, data):
			c.tell("check.archive", name, "the copy of a retired memory was changed; Restore brings the accepted text", "leave it, or put the version's bytes back")
		}
		_, stands := c.w.state.Accepted[a.SupersededBy]
		_, retired := c.w.state.Archived[a.SupersededBy]
		if a.SupersededBy != "" && !stands && !retired {
			c.add("check.link", a.Path, "the memory that took its place is no more", "run Check with repair: the link is cut")
		}
	}
	return nil
}

// sameAsRetired reports whether an archived copy has the accepted bytes, or those that lay
// at the path when it was retired.
func (c *inspection) sameAsRetired(a journal.Archived, data []byte) bool {
	if journal.Sum(data) == a.Hash {
		return true
	}
	return c.lines == nil || c.lines.files[journal.VersionName(a.Retired, journal.Sum(data))] != nil
}

// rest looks at what is derived, or passes.
func (c *inspection) rest(context.Context) error {
	r := c.room
	if want := r.rebuiltIndex(c.w); string(want) != string(c.w.index) {
		c.add("check.index", indexName, "the index does not say what the room holds", "run Check with repair")
	}
	if entry.ConflictMarkers(c.w.index) {
		c.add("check.merge", indexName, "the file holds an unresolved merge of git", "resolve it in an editor; the library's own lines are mended by Check with repair")
	}
	sessions, err := r.disk.LibList("sessions")
	if err != nil {
		return err
	}
	for _, f := range sessions {
		name := sessionDir + f
		if !sessionFile(name) {
			continue // nothing reads it
		}
		if st, err := r.readSession(name); err != nil || st.Ceiling == "" {
			c.tell("check.session", name, "the state of a session can not be understood: it counts as the lowest trust", "nothing; it is forgotten in its turn")
		}
	}
	tmp, err := r.disk.LibList(strings.TrimSuffix(tmpDir, "/"))
	for _, f := range tmp {
		c.add("check.left", tmpDir+f, "a change was cut short", "open the room, or run Check with repair")
	}
	r.mu.Lock()
	first := r.ledger.first
	r.mu.Unlock()
	if err != nil || first == 0 {
		return err
	}
	segments, err := r.disk.LibList(segmentDir)
	if err != nil {
		return err
	}
	b, _, _, err := r.readBase()
	for _, f := range segments {
		if seq := segmentOf(f); seq >= first || seq > 0 && seq <= b.Seq {
			c.add("check.left", segmentDir+"/"+f, "sealing or dropping rows of the journal was cut short", "open the room, or run Check with repair")
		}
	}
	return err
}

// mend repairs what can be. Each step is a change of its own that can be made again.
func (r *Room) mend(ctx context.Context) error {
	unlock, err := r.lock(ctx) // recovers: a torn end, what is in flight, leftovers
	if err != nil {
		return err
	}
	defer unlock()
	lines, err := r.readLineage(ctx)
	if err != nil {
		return err
	}
	r.mu.Lock()
	same := sameState(r.ledger.state, lines.state)
	r.mu.Unlock()
	if !same {
		if err := r.dropFile(checkpointName); err != nil {
			return err
		}
		r.mu.Lock()
		r.ledger = ledger{state: new(journal.State)}
		r.mu.Unlock()
	}
	w, err := r.world(ctx)
	if err != nil {
		return err
	}
	if b, _, ok, err := r.readBase(); err != nil || ok {
		if err = errors.Join(err, r.dropBefore(b.Seq)); err != nil {
			return err
		}
	}
	if err := r.mendVersions(lines); err != nil {
		return err
	}
	for _, a := range journal.Sorted(w.state.Archived) {
		data, err := r.version(a.Seq, a.Hash)
		if err != nil {
			continue
		}
		if err := r.disk.LibWriteNew(archiveName(a.Retired, a.Path), data); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
	}
	if err := r.mendRows(w); err != nil {
		return err
	}
	if err := r.observeAll(ctx); err != nil {
		return err
	}
	if err := r.tidy(ctx); err != nil {
		return err
	}
	r.writeCheckpoint()
	return nil
}

// mendRows writes the rows that end what is gone: candidates whose file is missing, links
// to memories that are no more.
func (r *Room) mendRows(w *world) error {
	var rows []journal.Row
	by := journal.Decision{By: byRepair}
	for id, held := range journal.Sorted(w.state.Pending) {
		if _, err := r.disk.LibStat(pendingName(id)); errors.Is(err, fs.ErrNotExist) {
			row := journal.Row{Change: journal.Change{Op: journal.OpWithdraw, Path: held.Path}, Decision: by}
			row.ID = id
			rows = append(rows, row)
		}
	}
	for _, a := range journal.Sorted(w.state.Archived) {
		_, stands := w.state.Accepted[a.SupersededBy]
		_, retired := w.state.Archived[a.SupersededBy]
		if a.SupersededBy != "" && !stands && !retired {
			row := journal.Row{Change: journal.Change{Op: journal.OpLink, Path: a.Path}, Decision: by}
			row.Ref = a.Retired
			rows = append(rows, row)
		}
	}
	return r.append(rows...)
}

// mendVersions brings back the versions whose bytes lie elsewhere too, and removes those
// that a row says are gone.
func (r *Room) mendVersions(lines *lineage) error {
	places := map[string][]string{} // version names by hash
	for name, k := range journal.Sorted(lines.files) {
		places[k.hash] = append(places[k.hash], name)
	}
	var archived []string
	for _, a := range lines.state.Archived {
		archived = append(archived, archiveName(a.Retired, a.Path))
	}
	if err := r.removeGone(lines); err != nil {
		return err
	}
	for name, k := range journal.Sorted(lines.files) {
		if !k.promised || lines.gone(name) {
			continue
		}
		if _, err := r.version(k.seq, k.hash); err == nil {
			continue
		}
		data := r.findBytes(k.hash, k.path, append(places[k.hash], archived...))
		if data == nil {
			continue
		}
		if wrong, err := r.disk.LibRead(name, maxAudit); err == nil { // not what the row says: somebody's
			if err := r.disk.LibWriteNew("versions/outside-"+journal.Sum(wrong)[:12]+".md", wrong); err != nil && !errors.Is(err, fs.ErrExist) {
				return err
			}
		}
		if err := r.disk.LibReplace(name, data); err != nil {
			return err
		}
	}
	return nil
}

// findBytes looks for the bytes of a hash: at the memory's path, and in files of the
// library.
func (r *Room) findBytes(hash, path string, files []string) []byte {
	if p, err := relpath.Parse(path); err == nil {
		if data, got, err := r.lying(p); err == nil && got == hash {
			return data
		}
	}
	for _, name := range files {
		if data, err := r.disk.LibRead(name, maxMemory); err == nil && journal.Sum(data) == hash {
			return bytes.Clone(data)
		}
	}
	return nil
}

// linesLeft yields the paths whose lines in MEMORY.md have to go.
func linesLeft(state *journal.State) iter.Seq[string] {
	return func(yield func(string) bool) {
		for _, all := range []iter.Seq[string]{maps.Keys(state.Tombs), maps.Keys(state.Outside), maps.Keys(state.Purged)} {
			for path := range all {
				if _, stands := state.Accepted[path]; !stands && !yield(path) {
					return
				}
			}
		}
	}
}

// rebuiltIndex is MEMORY.md with exactly the lines that the room's state asks for.
func (r *Room) rebuiltIndex(w *world) []byte {
	var b batch
	for _, path := range acceptedPaths(w.state) {
		if m, ok := w.meta(path); ok {
			b.line(path, m, parseTrust(w.state.Accepted[path].Trust), w.state.Accepted[path].Time)
		}
	}
	for path := range linesLeft(w.state) {
		b.unline(path)
	}
	return patchIndex(unmergeIndex(w.index), b.set, b.drop, hasLine(w.state))
}
