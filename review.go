package scribe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/memoryroom/scribe/internal/hidden"
	"github.com/memoryroom/scribe/internal/journal"
	"github.com/memoryroom/scribe/internal/relpath"
	"github.com/memoryroom/scribe/internal/rootfs"
)

// Resolution is the operator's decision on one held candidate, bound to what was
// shown.
type Resolution struct {
	ID, Hash   string   // of the pending Memory as it was listed
	Approve    bool     // false: refused, and remembered, so that it can not come back
	Trust      Trust    // what the approved memory is worth; zero: what the candidate had
	Supersedes []string // paths that it takes the place of: they go to the archive
	By, Reason string   // for the audit
}

// heldHeader is the first line of a pending file. An empty line and the complete
// text follow it.
type heldHeader struct {
	ID       string    `json:"id"`
	Op       string    `json:"op"`
	Path     string    `json:"path"`
	To       string    `json:"to,omitempty"`
	Base     string    `json:"base,omitempty"` // hash of what lay there; "": nothing

	// Candidate is the base that the candidate itself named.
	Candidate string `json:"candidate,omitempty"`

	Trust    string    `json:"trust"`
	Source   string    `json:"source,omitempty"`
	Time     time.Time `json:"time"`
	Composed bool      `json:"composed,omitempty"`
	Findings []Finding `json:"findings"`
}

// maxPendingFile bounds a pending file: the largest text, and its header.
const maxPendingFile = maxMemory + 64<<10

func pendingName(id string) string { return "pending/" + id + ".md" }

// hold adds a held proposal to the batch. The same proposal again has the same ID
// and is not held twice.
func (r *Room) hold(b *batch, p *proposal, w *world, row journal.Row, v *Verdict) {
	id := p.heldID()
	v.ID, v.Memory.ID, v.Memory.Stage = id, id, stagePending
	if held, ok := w.state.Pending[id]; ok {
		v.Memory.Hash = held.Hash
		return
	}
	h := heldHeader{ID: id, Op: p.op, Path: p.path().String(), Trust: p.trust.String(), Source: row.Source, Time: w.now, Composed: p.text.composed, Findings: p.findings}
	if p.op == journal.OpRename {
		h.To = p.target().String()
	}
	h.Base, h.Candidate = p.was.diskHash(), p.cand.Base
	if p.cand.Old != "" && h.Candidate == "" {
		h.Candidate = p.was.hash() // an anchored edit knew what it edited
	}
	data := encodeHeld(h, p.text.whole)
	row.Op, row.Act, row.To, row.Old, row.New, row.Trust, row.Key = journal.OpHold, p.op, h.To, h.Base, journal.Sum(data), h.Trust, p.key()
	row.ID, row.Digest = id, p.digest
	v.Memory.Hash = row.New
	b.files = append(b.files, heldFile{pendingName(id), data})
	b.note(row)
}

func encodeHeld(h heldHeader, whole string) []byte {
	head, err := json.Marshal(h)
	if err != nil {
		panic("scribe: a pending header does not encode") // plain data of ours
	}
	return slices.Concat(head, []byte("\n\n"), []byte(whole))
}

// readHeld reads a pending file, and fails when its bytes are not the ones that the
// journal's row names: what was approved must be what was held.
func (r *Room) readHeld(id string, want journal.Held) (heldHeader, string, error) {
	var h heldHeader
	data, err := r.disk.LibRead(pendingName(id), maxPendingFile)
	if err != nil {
		return h, "", err
	}
	head, whole, ok := bytes.Cut(data, []byte("\n\n"))
	if journal.Sum(data) != want.Hash || !ok || json.Unmarshal(head, &h) != nil {
		return h, "", &fs.PathError{Op: "verify", Path: ".scribe/" + pendingName(id), Err: errors.New("the held candidate is not what the journal says")}
	}
	return h, string(whole), nil
}

// pendingMemories lists what waits for the operator.
func (r *Room) pendingMemories(w *world) ([]Memory, error) {
	var all []Memory
	for id, held := range journal.Sorted(w.state.Pending) {
		h, whole, err := r.readHeld(id, held)
		if err != nil {
			all = append(all, Memory{
				Path: held.Path, Stage: stagePending, ID: id, Hash: held.Hash,
				Findings: []Finding{refuse("check.pending", Held, "", "the held candidate is missing or was changed", "refuse it; it can be proposed again")},
			})
			continue
		}
		m := describe(h.Path, stagePending, []byte(whole))
		m.ID, m.Hash, m.Trust, m.Modified, m.Findings = id, held.Hash, parseTrust(h.Trust), h.Time, h.Findings
		all = append(all, m)
	}
	return all, nil
}

func (r *Room) archivedMemories(w *world) []Memory {
	var all []Memory
	for _, a := range journal.Sorted(w.state.Archived) {
		m := Memory{Path: a.Path, Stage: stageArchived, Trust: parseTrust(a.Trust), Modified: a.Time, Hash: a.Hash, Key: a.Key}
		if data, err := r.version(a.Seq, a.Hash); err == nil {
			text := describe(a.Path, stageArchived, data)
			m.Description, m.Type, m.Text = text.Description, text.Type, text.Text
		}
		all = append(all, m)
	}
	return all
}

// Resolve decides held candidates, one verdict each, in order. An approval
// overrides exactly the findings that were shown, and no other: the built-in stages
// run again, against the room as it is now, and the host's rules do not. A
// candidate whose Hash is not what waits, or whose base has changed, is ErrStale.
// The candidates of a plan are approved in one call, and all or none are stored.
//
// A refusal is remembered: the same proposal is rejected from then on.
//
// Each decision, or plan of them, is a change of its own: an error ends the call with
// the verdicts so far. ctx is asked once, before the first.
func (r *Room) Resolve(ctx context.Context, rs ...Resolution) ([]Verdict, error) {
	for _, res := range rs {
		if !res.Trust.valid() {
			return nil, fmt.Errorf("resolve: %v is no trust", res.Trust)
		}
	}
	unlock, err := r.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx)
	verdicts := make([]Verdict, len(rs))
	done := make([]bool, len(rs))
	for i := range rs {
		if done[i] {
			continue
		}
		w, err := r.world(ctx)
		if err != nil {
			return verdicts[:i], err
		}
		group := planOf(w.state, rs, i)
		out, err := r.resolve(ctx, w, rs, group)
		if err != nil {
			return verdicts[:i], err
		}
		for k, at := range group {
			verdicts[at], done[at] = out[k], true
		}
	}
	return verdicts, nil
}

// planOf gives the indexes of the resolutions that are decided together with the one
// at i: the approvals of its plan, or it alone.
func planOf(state *journal.State, rs []Resolution, i int) []int {
	plan := state.Pending[rs[i].ID].Plan
	if plan == "" || !rs[i].Approve {
		return []int{i}
	}
	var group []int
	for k, res := range rs {
		if res.Approve && state.Pending[res.ID].Plan == plan {
			group = append(group, k)
		}
	}
	return group
}

// resolve decides one candidate, or the approved candidates of one plan as one batch.
func (r *Room) resolve(ctx context.Context, w *world, rs []Resolution, group []int) ([]Verdict, error) {
	var b batch
	verdicts := make([]Verdict, len(group))
	worst := Accepted
	for k, at := range group {
		v, err := r.decide(&b, w, rs[at], len(group))
		if err != nil {
			return nil, err
		}
		verdicts[k] = v
		worst = min(worst, v.Outcome)
	}
	refusal := !rs[group[0]].Approve && verdicts[0].Findings[0].Rule == "review.refused"
	if worst != Accepted && !refusal {
		for k := range verdicts {
			if verdicts[k].Outcome > worst {
				verdicts[k] = verdict(verdicts[k].Memory, refuse("plan."+worst.String(), worst, "", "another candidate of the same plan can not be approved", "decide on that one first"))
			}
		}
		return verdicts, nil
	}
	if err := r.commit(ctx, w, &b); err != nil {
		return nil, err
	}
	for k := range verdicts {
		if b.lost {
			verdicts[k] = verdict(verdicts[k].Memory, lostRace())
		} else if verdicts[k].Outcome == Accepted {
			verdicts[k].Notices = append(verdicts[k].Notices, b.indexNotice()...)
		}
	}
	return verdicts, nil
}

// decide adds one decision to the batch. members is how many of its plan are decided
// with it.
func (r *Room) decide(b *batch, w *world, res Resolution, members int) (Verdict, error) {
	held, ok := w.state.Pending[res.ID]
	if !ok || held.Hash != res.Hash {
		return verdict(Memory{ID: res.ID}, refuse("stale.pending", Rejected, "id", "no candidate waits under this ID with this hash", "list what is pending and decide on what it shows")), nil
	}
	if res.By == "" {
		res.By = "operator"
	}
	decision := journal.Decision{By: res.By, Reason: res.Reason, ID: res.ID, Digest: held.Digest, Rules: held.Rules}
	memory := Memory{Path: held.Path, ID: res.ID, Hash: held.Hash, Stage: stagePending}
	if !res.Approve {
		b.gone = append(b.gone, pendingName(res.ID))
		b.note(journal.Row{Change: journal.Change{Op: journal.OpRefuse, Path: held.Path}, Decision: decision})
		return verdict(memory, refuse("review.refused", Rejected, "", "the operator refused it", "do not propose it again")), nil
	}
	all := 0
	for _, other := range w.state.Pending {
		if held.Plan != "" && other.Plan == held.Plan {
			all++
		}
	}
	if all > members {
		return verdict(memory, refuse("review.plan", Held, "", "the candidate is part of a plan", "approve every candidate of the plan in one call")), nil
	}
	h, whole, err := r.readHeld(res.ID, held)
	if err != nil {
		return verdict(memory, refuse("stale.pending", Rejected, "id", "the held candidate is missing or was changed", "refuse it; it can be proposed again")), nil
	}
	return r.approve(b, w, res, decision, h, whole)
}

func verdict(m Memory, f Finding) Verdict {
	return Verdict{Outcome: f.Outcome, Memory: m, Findings: []Finding{f}}
}

// approve judges a held candidate again and adds it to the batch, overriding what was
// shown and nothing else.
func (r *Room) approve(b *batch, w *world, res Resolution, d journal.Decision, h heldHeader, whole string) (Verdict, error) {
	who := author{ceiling: parseTrust(h.Trust)}
	cand := Candidate{Path: h.Path, To: h.To, Remove: h.Op == journal.OpArchive, Base: h.Candidate, Supersedes: res.Supersedes}
	if h.Op != journal.OpRename && h.Op != journal.OpArchive {
		cand.Text = whole
	}
	ps, err := r.prepare(w, who, []Candidate{cand})
	if err != nil {
		return Verdict{}, err
	}
	p := ps[0]
	p.op, p.text.whole, p.text.composed = h.Op, whole, h.Composed
	p.text.lo, p.text.hi = 0, len(whole)
	judge(p, w, "candidate", "review")
	if p.was.diskHash() != h.Base {
		return verdict(p.memory(w.now), stale(p)), nil
	}
	shown := map[string]bool{}
	for _, f := range h.Findings {
		shown[f.Rule] = true
	}
	v := Verdict{Outcome: Accepted, Memory: p.memory(w.now), Notices: p.notices}
	for _, f := range p.findings {
		if f.Outcome == Held {
			switch {
			case shown[f.Rule]:
				f.Outcome = Accepted
			case f.Rule == "conflict.key":
				f.Fix = "name what it supersedes"
			}
		}
		v.Outcome = min(v.Outcome, f.Outcome)
		v.Findings = append(v.Findings, f)
	}
	if v.Outcome != Accepted {
		return v, nil
	}
	p.trust = parseTrust(h.Trust)
	if res.Trust != 0 {
		p.trust = res.Trust
	}
	p.findings, d.Act = v.Findings, h.Op
	v.Notices = slices.DeleteFunc(v.Notices, func(f Finding) bool { return strings.HasPrefix(f.Rule, "provenance.") })
	if p.writes() {
		v.Notices = append(v.Notices, shownNotice(p.trust)...)
	}
	b.gone = append(b.gone, pendingName(res.ID))
	at := len(b.rows)
	r.store(b, p, w, journal.Row{Change: journal.Change{Source: h.Source}, Decision: d}, &v)
	b.rows[at].Op = journal.OpApprove
	return v, r.supersede(b, w, res.Supersedes, p.target().String(), d.By)
}

// supersede archives what a stored memory takes the place of.
func (r *Room) supersede(b *batch, w *world, old []string, by, who string) error {
	for i, path := range old {
		if slices.Contains(old[:i], path) {
			continue
		}
		if err := r.retire(b, w, path, journal.Decision{By: who, Reason: "superseded by " + by}); err != nil {
			return err
		}
	}
	return nil
}

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
	if s.kind == changed && len(secretsIn(string(s.disk), nil)) > 0 {
		return verdict(Memory{Path: path}, outsideSecret(path)).Err()
	}
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
	data, err := r.version(a.Seq, a.Hash)
	if err != nil {
		return Verdict{}, err
	}
	return r.putBack(ctx, journal.OpRestore, a.Path, data, parseTrust(a.Trust), "from the archive")
}

// putBack stores bytes that were accepted before, as they were.
func (r *Room) putBack(ctx context.Context, op, path string, data []byte, t Trust, reason string) (Verdict, error) {
	unlock, err := r.lock(ctx)
	if err != nil {
		return Verdict{}, err
	}
	defer unlock()
	w, err := r.world(ctx)
	if err != nil {
		return Verdict{}, err
	}
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
	if p.was.kind == changed && len(secretsIn(string(p.was.disk), nil)) > 0 {
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

// Adopt accepts unaccepted memories at the hashes that were shown, with the given
// trust (zero: user-observed). It changes no byte. It also takes accepted memories
// at a shown hash, and is so the one way to raise what a memory is worth.
//
// Each memory gets a verdict: ErrStale when the bytes are others by now, rejected
// when a credential is found or the frontmatter can not be read, held when hidden
// text is found that carries something. All else that the screens find is reported
// and flagged. The index itself is adopted like a memory, by its path.
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
		if verdicts[i], err = r.adopt(&b, w, t, m); err != nil {
			return nil, err
		}
	}
	return verdicts, r.commit(ctx, w, &b)
}

func (r *Room) adopt(b *batch, w *world, t Trust, m Memory) (Verdict, error) {
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
		return verdict(Memory{Path: m.Path}, refuse("stale.base", Rejected, "hash", fmt.Sprintf("%.120q is not what was shown", m.Path), "list it again and decide on what it shows")), nil
	}
	if name.path.IsIndex() {
		return r.adoptIndex(b, w, disk, t), nil
	}
	p := &proposal{cand: Candidate{Path: m.Path, Text: string(disk)}, who: author{hand: true, ceiling: t}, op: journal.OpAdd, names: [2]pathOutcome{name}, trust: t}
	p.text = text{whole: string(disk), base: string(disk), hi: len(disk)}
	judge(p, w, "candidate", "provenance", "conflict", "review")
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

// adoptIndex accepts the operator's own lines of MEMORY.md. What is accepted is the
// lines, not the file: the library's lines come and go.
func (r *Room) adoptIndex(b *batch, w *world, data []byte, t Trust) Verdict {
	lines := ownLines(w.state, data)
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

// ownLines is what of MEMORY.md is not the library's.
func ownLines(state *journal.State, data []byte) []byte {
	return bytes.Join(userLines(data, func(path string) bool { _, ok := state.Accepted[path]; return ok }), nil)
}

// Purge erases a memory's bodies from everywhere in the room that holds them: its
// file, the archive, the versions under every name that it had, what waits under its
// path, the stored snapshots that show it. A row without a hash stays, the path keeps
// its tomb, and what waited can not be proposed again. Copies outside the room (git,
// backups, an editor) are beyond it. It reports what it could not remove; a purge
// that is cut short is finished when the room is opened.
func (r *Room) Purge(ctx context.Context, path, reason string) ([]Finding, error) {
	unlock, err := r.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	w, err := r.world(ctx)
	if err != nil {
		return nil, err
	}
	p, err := relpath.Parse(path)
	if err != nil {
		return nil, err
	}
	if looksLikeIndex(p) {
		return nil, &fs.PathError{Op: "purge", Path: path, Err: fs.ErrInvalid}
	}
	s, err := r.standing(w.state, p)
	if err != nil {
		return nil, err
	}
	prefixes, _, err := r.lineage(ctx, path)
	if err != nil {
		return nil, err
	}
	purge := journal.Row{Change: journal.Change{Op: journal.OpPurge, Path: path}, Decision: journal.Decision{By: "operator", Reason: reason}}
	if s.bytes != nil {
		purge.Digest = r.digestOf(true, path, "", s.bytes)
	}
	rows := []journal.Row{purge}
	var waiting []string
	for id, held := range journal.Sorted(w.state.Pending) {
		if held.Path == path || held.To == path {
			waiting = append(waiting, pendingName(id))
			rows = append(rows, journal.Row{Change: journal.Change{Op: journal.OpRefuse, Path: held.Path}, Decision: journal.Decision{By: "operator", ID: id, Digest: held.Digest}})
		}
	}
	if s.kind == absent && len(prefixes) == 0 && len(waiting) == 0 {
		return nil, &fs.PathError{Op: "purge", Path: path, Err: fs.ErrNotExist}
	}
	if err := r.append(rows...); err != nil {
		return nil, err
	}
	ctx = context.WithoutCancel(ctx)
	if s.disk != nil && s.kind != active { // what lies there now is purged as well
		away := tmpDir + "purge" + rootfs.TakenOut
		if err := r.disk.Retire(p, s.disk, away); err != nil {
			return nil, err
		}
		waiting = append(waiting, away)
	}
	var left []Finding
	for _, name := range waiting {
		if err := r.disk.LibRemove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			left = append(left, Finding{Rule: "purge.left", Outcome: Held, Field: name, Message: "a copy could not be removed", Fix: "remove the file by hand"})
		}
	}
	if w, err = r.world(ctx); err != nil {
		return left, err
	}
	more, err := r.erase(ctx, w, path)
	if err != nil {
		return append(left, more...), err
	}
	var b batch
	b.unline(path)
	return append(left, more...), r.writeIndex(&b)
}
