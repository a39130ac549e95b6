package scribe

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"time"

	"github.com/memoryroom/scribe/internal/hidden"
	"github.com/memoryroom/scribe/internal/journal"
	"github.com/memoryroom/scribe/internal/relpath"
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
	id := p.id[:16]
	v.ID, v.Memory.ID, v.Memory.Stage = id, id, stagePending
	if held, ok := w.state.Pending[id]; ok {
		v.Memory.Hash = held.Hash
		return
	}
	if len(w.state.Pending) >= w.opts.Limits.Pending {
		v.Outcome, v.ID, v.Memory = Rejected, "", Memory{Path: row.Path}
		v.Findings = append(v.Findings, refuse("cap.pending", Rejected, "", fmt.Sprintf("%d candidates wait already; the limit is %d", len(w.state.Pending), w.opts.Limits.Pending), "the operator decides what waits first"))
		row.Op, row.Rules = journal.OpReject, ruleNames(v.Findings)
		b.note(row)
		return
	}
	h := heldHeader{ID: id, Op: p.op, Path: p.path().String(), Trust: p.trust.String(), Source: row.Source, Time: w.now, Composed: p.text.composed, Findings: p.findings}
	if p.op == journal.OpRename {
		h.To = p.target().String()
	}
	h.Base = p.was.diskHash()
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
//
// A refusal is remembered: the same proposal is rejected from then on.
func (r *Room) Resolve(ctx context.Context, rs ...Resolution) ([]Verdict, error) {
	unlock, err := r.lock(ctx)
	if err != nil {
		return nil, err
	}
	defer unlock()
	verdicts := make([]Verdict, 0, len(rs))
	for _, res := range rs {
		v, err := r.resolve(ctx, res, rs)
		if err != nil {
			return verdicts, err
		}
		verdicts = append(verdicts, v)
	}
	return verdicts, nil
}

func (r *Room) resolve(ctx context.Context, res Resolution, all []Resolution) (Verdict, error) {
	w, err := r.world(ctx)
	if err != nil {
		return Verdict{}, err
	}
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
		b := batch{gone: []string{pendingName(res.ID)}}
		b.note(journal.Row{Change: journal.Change{Op: journal.OpRefuse, Path: held.Path}, Decision: decision})
		return verdict(memory, refuse("review.refused", Rejected, "", "the operator refused it", "do not propose it again")), r.commit(ctx, w, &b)
	}
	for id, other := range w.state.Pending {
		if other.Plan != "" && other.Plan == held.Plan && !slices.ContainsFunc(all, func(o Resolution) bool { return o.ID == id && o.Approve }) {
			return verdict(memory, refuse("review.plan", Held, "", "the candidate is part of a plan", "approve every candidate of the plan in one call")), nil
		}
	}
	h, whole, err := r.readHeld(res.ID, held)
	if err != nil {
		return verdict(memory, refuse("stale.pending", Rejected, "id", "the held candidate is missing or was changed", "refuse it; it can be proposed again")), nil
	}
	return r.approve(ctx, w, res, decision, h, whole)
}

func verdict(m Memory, f Finding) Verdict {
	return Verdict{Outcome: f.Outcome, Memory: m, Findings: []Finding{f}}
}

// approve judges a held candidate again and stores it, overriding what was shown.
func (r *Room) approve(ctx context.Context, w *world, res Resolution, d journal.Decision, h heldHeader, whole string) (Verdict, error) {
	who := author{ceiling: parseTrust(h.Trust)}
	cand := Candidate{Path: h.Path, To: h.To, Remove: h.Op == journal.OpArchive, Supersedes: res.Supersedes}
	if h.Op != journal.OpRename && h.Op != journal.OpArchive {
		cand.Text = whole
	}
	ps, err := r.prepare(w, who, []Candidate{cand})
	if err != nil {
		return Verdict{}, err
	}
	p := ps[0]
	p.op = h.Op
	p.text.whole, p.text.composed = whole, h.Composed
	p.text.lo, p.text.hi = 0, len(whole)
	judge(p, w, "candidate", "review")
	memory := p.memory(w.now)
	if p.was.diskHash() != h.Base {
		return verdict(memory, stale(p)), nil
	}
	shown := map[string]bool{}
	for _, f := range h.Findings {
		shown[f.Rule] = true
	}
	v := Verdict{Outcome: Accepted, Memory: memory, Notices: p.notices}
	for _, f := range p.findings {
		switch {
		case f.Outcome == Held && f.Rule == "conflict.key" && !shown[f.Rule]:
			f.Fix = "name what it supersedes"
		case f.Outcome == Held && (shown[f.Rule] || f.Rule == "conflict.path" || f.Rule == "conflict.higher-trust"):
			f.Outcome = Accepted // the base is the one that was shown, and this was the reason
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
	p.findings = v.Findings
	b := batch{gone: []string{pendingName(res.ID)}}
	d.Act = h.Op
	r.store(&b, p, w, journal.Row{Change: journal.Change{Source: h.Source}, Decision: d}, &v)
	b.rows[0].Op = journal.OpApprove
	for _, path := range res.Supersedes {
		if err := r.retire(&b, w, path, journal.Decision{By: d.By, Reason: "superseded by " + p.target().String()}); err != nil {
			return Verdict{}, err
		}
	}
	if err := r.commit(ctx, w, &b); err != nil {
		return Verdict{}, err
	}
	if b.lost[p.path().String()] {
		return verdict(memory, stale(p)), nil
	}
	return v, nil
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
	if s.kind != active && s.kind != changed {
		return &fs.PathError{Op: "archive", Path: path, Err: fs.ErrNotExist}
	}
	if s.kind == changed && len(secretsIn(string(s.disk), nil)) > 0 {
		return verdict(Memory{Path: path}, outsideSecret(path)).Err()
	}
	row := journal.Row{Change: journal.Change{Op: journal.OpArchive, Path: path, Old: journal.Sum(s.disk), Key: s.acc.Key}, Decision: d}
	b.moves = append(b.moves, move{row: b.note(row), path: p, old: s.disk})
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
	if err := r.retire(&b, w, path, journal.Decision{By: "operator", Reason: reason}); err != nil {
		return err
	}
	return r.commit(ctx, w, &b)
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
		b.gone = append(b.gone, archiveName(path))
	}
	p.trust = t
	v.Memory = r.storedMemory(path, data, p, w.now)
	return v, r.commit(ctx, w, &b)
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
	v.Memory = r.storedMemory(m.Path, disk, p, w.now)
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
// file, the archive, the versions, what waits under its path. A row without a hash
// stays, and the path keeps its tomb. Copies outside the room (git, backups, an
// editor) are beyond it. It reports what it could not remove.
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
	names, err := r.bodies(ctx, w, path)
	if err != nil {
		return nil, err
	}
	s, err := r.standing(w.state, p)
	if err != nil {
		return nil, err
	}
	if s.kind == absent && len(names) == 0 {
		return nil, &fs.PathError{Op: "purge", Path: path, Err: fs.ErrNotExist}
	}
	if err := r.append(journal.Row{Change: journal.Change{Op: journal.OpPurge, Path: path}, Decision: journal.Decision{By: "operator", Reason: reason}}); err != nil {
		return nil, err
	}
	if s.disk != nil {
		if err := r.disk.Retire(p, s.disk, tmpDir+"purge"); err != nil {
			return nil, err
		}
		names = append(names, tmpDir+"purge")
	}
	var left []Finding
	for _, name := range names {
		if err := r.disk.LibRemove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			left = append(left, Finding{Rule: "purge.left", Outcome: Held, Field: name, Message: "a copy could not be removed", Fix: "remove the file by hand"})
		}
	}
	b := batch{}
	b.unline(path)
	return left, r.writeIndex(&b)
}

// bodies lists the library's files that hold text of the memory at path.
func (r *Room) bodies(ctx context.Context, w *world, path string) ([]string, error) {
	var names []string
	hashes := map[string]bool{}
	err := r.eachRow(ctx, func(row journal.Row) bool {
		if row.Path != path && row.To != path {
			return true
		}
		for _, hash := range []string{row.Old, row.New} {
			if hash != "" {
				hashes[hash[:12]] = true
			}
		}
		return true
	})
	if err != nil {
		return nil, err
	}
	kept := map[string]bool{} // bytes that another memory has too stay with it
	for other, acc := range w.state.Accepted {
		if other != path {
			kept[journal.VersionName(acc.Seq, acc.Hash)] = true
		}
	}
	files, err := r.disk.LibList("versions")
	if err != nil {
		return nil, err
	}
	for _, f := range files {
		name := "versions/" + f
		if _, prefix, ok := journal.ParseVersionName(name); ok && hashes[prefix] && !kept[name] {
			names = append(names, name)
		}
	}
	for id, held := range w.state.Pending {
		if held.Path == path || held.To == path {
			names = append(names, pendingName(id))
		}
	}
	for at, a := range w.state.Archived {
		if a.Path == path {
			names = append(names, archiveName(at))
		}
	}
	slices.Sort(names)
	return names, nil
}
