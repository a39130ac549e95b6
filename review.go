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

	"github.com/memoryroom/scribe/internal/journal"
	"github.com/memoryroom/scribe/internal/rootfs"
)

// Resolution is the operator's decision on one held candidate, bound to what was
// shown.
type Resolution struct {
	ID, Hash   string   // of the pending Memory as it was listed
	Approve    bool     // false: refused, and remembered, so that it can not come back
	Withdraw   bool     // with Approve false: given up and not remembered; it may be proposed again
	Trust      Trust    // what the approved memory is worth; zero: what the candidate had, which may be too little to be shown
	Supersedes []string // paths that it takes the place of: they go to the archive
	By, Reason string   // for the audit: at most 128 and 1,024 bytes, without credentials and hidden characters
}

// heldHeader is the first line of a pending file: everything that an approval needs
// besides the complete text, which follows after an empty line.
type heldHeader struct {
	ID   string `json:"id"`
	Op   string `json:"op"`
	Path string `json:"path"`
	To   string `json:"to,omitempty"`
	Base string `json:"base,omitempty"` // hash of what lay there; "": nothing

	// Candidate is the base that the candidate itself named.
	Candidate string `json:"candidate,omitempty"`

	Trust    string    `json:"trust"`
	Source   string    `json:"source,omitempty"`
	Time     time.Time `json:"time"`
	Composed bool      `json:"composed,omitempty"`
	Retired  int64     `json:"retired,omitempty"` // a restore: the row that retired it
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
	h := heldHeader{ID: id, Op: p.op, Path: p.path().String(), Trust: p.trust.String(), Source: row.Source, Time: w.now, Composed: p.text.composed, Retired: p.retired, Findings: p.findings}
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
		return h, "", &fs.PathError{Op: "verify", Path: ".scribe/" + pendingName(id), Err: errNotHeld}
	}
	return h, string(whole), nil
}

var errNotHeld = errors.New("the held candidate is not what the journal says")

// lostHeld reports whether a held candidate is gone, or is not what it was: the operator is
// told. Any other error of reading it is a fault.
func lostHeld(err error) bool {
	refusal := (*rootfs.Refusal)(nil)
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, errNotHeld) || errors.As(err, &refusal)
}

// heldTrouble says why a held candidate could not be given, and what the operator may do.
func heldTrouble(err error) (message, fix string) {
	const again = "refuse it; it can be proposed again"
	switch refusal := (*rootfs.Refusal)(nil); {
	case errors.Is(err, fs.ErrNotExist):
		return "the held candidate is missing", again
	case errors.Is(err, errNotHeld):
		return "the held candidate was changed", again
	case errors.As(err, &refusal):
		return "no plain file lies where the held candidate was", again
	default:
		return "the held candidate cannot be read: the disk, or the file's permissions, refuse it", "mend that and list again, or refuse it unread"
	}
}

// pendingMemories lists what waits for the operator.
func (r *Room) pendingMemories(w *world) ([]Memory, error) {
	var all []Memory
	for id, held := range journal.Sorted(w.state.Pending) {
		h, whole, err := r.readHeld(id, held)
		if err != nil {
			message, fix := heldTrouble(err)
			all = append(all, Memory{
				Path: held.Path, Stage: stagePending, ID: id, Hash: held.Hash,
				Findings: []Finding{refuse("check.pending", Held, "", message, fix)},
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
	for name, a := range journal.Sorted(w.state.Archived) {
		m := Memory{Path: a.Path, Stage: stageArchived, Trust: parseTrust(a.Trust), Modified: a.Time, Hash: a.Hash, Key: a.Key}
		if data, err := r.version(a.Seq, a.Hash); err == nil {
			stage, trust, at := m.Stage, m.Trust, m.Modified
			m = describe(a.Path, stage, data)
			m.Trust, m.Modified = trust, at
		}
		m.ID, m.Category, m.SupersededBy = name, a.Category, linked(w.state, a.SupersededBy)
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
// A refusal is remembered: the same text is rejected from then on, under whatever name,
// until the operator writes it by hand. A withdrawal is not.
//
// Each decision, or plan of them, is a change of its own: an error ends the call with
// the verdicts so far. ctx is asked once, before the first.
func (r *Room) Resolve(ctx context.Context, rs ...Resolution) ([]Verdict, error) {
	for _, res := range rs {
		if !res.Trust.valid() {
			return nil, fmt.Errorf("resolve: %v is no trust", res.Trust)
		}
		if err := refuseWords("resolve", r.opts.Allow, label("by", res.By), remark{"reason", res.Reason, maxReason}); err != nil {
			return nil, err
		}
		if res.By == byWriter {
			return nil, fmt.Errorf("resolve: By is %q, which names a model's own changes; name who decided", byWriter)
		}
		if res.Approve && res.Withdraw {
			return nil, fmt.Errorf("resolve: %.40q is to be approved and withdrawn", res.ID)
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
	rule := ""
	if len(verdicts[0].Findings) > 0 {
		rule = verdicts[0].Findings[0].Rule
	}
	refusal := !rs[group[0]].Approve && (rule == "review.refused" || rule == "review.withdrawn")
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
		if res.Withdraw {
			b.note(journal.Row{Change: journal.Change{Op: journal.OpWithdraw, Path: held.Path}, Decision: decision})
			return verdict(memory, refuse("review.withdrawn", Rejected, "", "the operator gave it up", "it may be proposed again")), nil
		}
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
	if err != nil && !lostHeld(err) {
		return Verdict{}, err
	}
	if err != nil {
		message, fix := heldTrouble(err)
		return verdict(memory, refuse("stale.pending", Rejected, "id", message, fix)), nil
	}
	plan := held.Plan
	if plan == "" && len(res.Supersedes) > 0 {
		plan = r.planID(w, held.Path)
	}
	return r.approve(b, w, res, plan, decision, h, whole)
}

func verdict(m Memory, f Finding) Verdict {
	return Verdict{Outcome: f.Outcome, Memory: m, Findings: []Finding{f}}
}

// approve judges a held candidate again and adds it to the batch, overriding what was
// shown and nothing else. plan marks what has to be rolled back with it.
func (r *Room) approve(b *batch, w *world, res Resolution, plan string, d journal.Decision, h heldHeader, whole string) (Verdict, error) {
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
	if p.text.whole, p.text.composed = whole, h.Composed; h.Op == journal.OpRestore {
		p.comesBack(w.state, journal.ArchiveName(h.Path, h.Retired))
	} else {
		p.op = h.Op
	}
	p.text.lo, p.text.hi = 0, len(p.text.whole)
	judge(p, w, "candidate", "review")
	if p.was.diskHash() != h.Base {
		return verdict(p.memory(w.now), stale(p)), nil
	}
	type reason struct{ rule, field, message string }
	shown := map[reason]bool{}
	for _, f := range h.Findings {
		shown[reason{f.Rule, f.Field, f.Message}] = true
	}
	v := Verdict{Outcome: Accepted, Memory: p.memory(w.now), Notices: p.notices}
	for _, f := range p.findings {
		if f.Outcome == Held {
			switch {
			case f.Rule == "conflict.key": // one key, one truth: the other one has to go
				f.Fix = "name in Supersedes what it takes the place of"
			case shown[reason{f.Rule, f.Field, f.Message}]:
				f.Outcome = Accepted
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
	row := journal.Row{Change: journal.Change{Source: h.Source}, Decision: d, Group: journal.Group{Plan: plan}}
	if a, kept := w.state.Archived[journal.ArchiveName(h.Path, h.Retired)]; kept && h.Op == journal.OpRestore {
		row.Ref = a.Retired
		b.gone = append(b.gone, archiveName(a.Retired, a.Path))
	}
	b.outsideOf(w, p)
	at := len(b.rows)
	if err := r.store(b, p, w, row, &v); err != nil {
		return Verdict{}, err
	}
	b.rows[at].Op = journal.OpApprove
	over, err := r.supersede(b, w, res.Supersedes, p.target().String(), row)
	if err != nil || over.Outcome != Accepted {
		return over, err
	}
	return v, nil
}

// comesBack is of an archived memory that waited: the library's keys in its text are the
// library's own, and its links may have changed meanwhile.
func (p *proposal) comesBack(state *journal.State, name string) {
	old := supersedes(state, name)
	if a := state.Archived[name]; a.Seq >= a.Retired { // as Restore does
		p.text.whole = string(mirrorLinks([]byte(p.text.whole), old, "", true))
	}
	p.text.base = p.text.whole
	p.links = append(p.links, old...)
	slices.Sort(p.links)
	p.links = slices.Compact(p.links)
}

// supersede archives what a stored memory takes the place of, as one plan with it. The
// verdict is the first that is not accepted.
func (r *Room) supersede(b *batch, w *world, old []string, by string, stored journal.Row) (Verdict, error) {
	for i, path := range old {
		if slices.Contains(old[:i], path) {
			continue
		}
		v, err := r.retire(b, w, path, journal.Row{
			Change:   journal.Change{Link: by, Category: categorySuperseded},
			Decision: journal.Decision{By: stored.By, Reason: "superseded"},
			Group:    journal.Group{Plan: stored.Plan},
		})
		if err != nil || v.Outcome != Accepted {
			return v, err
		}
	}
	return Verdict{Outcome: Accepted}, nil
}
