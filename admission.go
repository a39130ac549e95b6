package scribe

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/memoryroom/scribe/internal/fold"
	"github.com/memoryroom/scribe/internal/journal"
	"github.com/memoryroom/scribe/internal/relpath"
)

// Candidate is a proposed change to one memory. It is one of
//
//	add              Text is the whole file, frontmatter of its own included
//	replace          the same, with Base
//	edit             Old, which occurs exactly once in the stored file, becomes New
//	new labels       Base is set, Text empty: the named fields change, the body stays
//	remove           Remove: the memory goes to the archive, it is never erased
//	rename           To is the new path
//
// Base is the Hash of the [Memory] that the change was made from: where another text
// stands by now, the verdict is ErrStale. Without it a Text that would replace another is
// held from a guard, and ErrStale from the operator; the other operations apply to
// whatever stands.
//
// Description, Type, Key, Topic, Tags and VerifyWhen are the labels: they are written
// as frontmatter; without them the file is exactly the bytes of Text. All operations
// share one struct, so that a proposal is one value that can be logged, queued and
// decoded.
type Candidate struct {
	Path        string // relative, slash-separated, ends in ".md"
	Description string // one line for the index; "" leaves it to the first line of the body
	Type        string // "user", "feedback", "project" or "reference"; "": "project"
	Key         string // names the truth that this memory states; "": the path without ".md"
	Topic       string // the group that people put it in
	Tags        []string
	VerifyWhen  string // when it is to be checked again: 2027-03-01, P3M, 3个月后; other text is prose
	Text        string
	Old, New    string
	Remove      bool
	To          string
	Base        string   // see above
	Supersedes  []string // paths that this memory takes the place of; only the operator's hand may name any
}

// Verdict is the decision on one candidate, with every reason. The zero value
// rejects.
type Verdict struct {
	Outcome  Outcome
	ID       string    // held only: for Room.Resolve; an equal proposal has the same ID
	Memory   Memory    // as stored or held; Path is empty when the path was refused
	Findings []Finding // every reason, flags of an accepted memory included
	Notices  []Finding // over or near a cap, stored but not shown: never an obstacle
}

// Err is nil when the candidate was accepted. Otherwise it matches exactly one of
// ErrHeld, ErrRejected and ErrStale, and its text names the first reason.
func (v Verdict) Err() error {
	if v.Outcome == Accepted {
		return nil
	}
	e := &verdictError{path: v.Memory.Path, kind: ErrRejected}
	if v.Outcome == Held {
		e.kind = ErrHeld
	}
	for _, f := range v.Findings {
		if f.Outcome == v.Outcome {
			e.reason = f
			break
		}
	}
	if v.Outcome == Rejected && strings.HasPrefix(e.reason.Rule, "stale.") {
		e.kind = ErrStale
	}
	return e
}

// verdictError is a refusal as an error, for callers that think in errors.
type verdictError struct {
	path   string
	kind   error
	reason Finding
}

func (e *verdictError) Error() string {
	s := "admit"
	if e.path != "" {
		s += fmt.Sprintf(" %.120q", e.path)
	}
	s += ": " + e.kind.Error()
	if e.reason.Rule != "" {
		s += ": " + e.reason.Message + " (" + e.reason.Rule + ")"
	}
	if e.reason.Fix != "" {
		s += "; " + e.reason.Fix
	}
	return s
}

func (e *verdictError) Unwrap() error { return e.kind }

// author is who proposes, and with what authority.
type author struct {
	hand    bool        // the operator's own hand
	ceiling Trust       // the most that this author's unquoted words are worth
	alive   func() bool // nil, or whether the guard that proposes still works
	session string      // the host's ID of the conversation, in memory only
	turn    int         // the conversation's turn
	user    []string    // the user's own messages; what is verbatim in one may be stamped above the ceiling

	keeps *journal.Accepted // the text stays the change of who wrote this: only its links are turned
}

// proposal is a candidate on its way through the stages. It is the one place where
// what a stage needs comes together, so it has more fields than the house allows.
type proposal struct {
	cand     Candidate
	who      author
	op       string         // journal.OpAdd, OpReplace, OpEdit, OpArchive, OpRename
	names    [2]pathOutcome // of Path and To
	was      standing       // what the room holds at Path
	dest     standing       // what it holds at To
	text     text           // what would be stored
	seen     inspected      // what is hidden in it
	digest   string         // keyed identity of what is proposed, whoever proposes it and whenever
	id       string         // the same, of this change to what is there now
	trust    Trust          // what it would be stamped with
	noChange bool           // the same content again
	findings []Finding
	notices  []Finding
	links    []string  // the paths that the memory takes, or took, the place of
	retired  int64     // a restore: the row that retired what comes back
	wasAsked bool      // the host's rules saw it
	asked    []Finding // what they said
}

func (p *proposal) path() relpath.Path { return p.names[0].path }

// target is the name under which the memory stands afterwards.
func (p *proposal) target() relpath.Path {
	if p.op == journal.OpRename {
		return p.names[1].path
	}
	return p.names[0].path
}

// writes reports whether p puts bytes of the author's into the room.
func (p *proposal) writes() bool {
	return p.op == journal.OpAdd || p.op == journal.OpReplace || p.op == journal.OpEdit
}

// outcome is the lowest of all findings: one reason to refuse is enough.
func (p *proposal) outcome() Outcome {
	least := Accepted
	for _, f := range p.findings {
		least = min(least, f.Outcome)
	}
	return least
}

// world is the state of the room that a proposal is judged against.
type world struct {
	opts  *Options
	state *journal.State
	index []byte // MEMORY.md as it is
	now   time.Time
	meta  func(path string) (meta, bool) // of an accepted memory

	// What needs no text where the room's cache knows it: for advice only.
	says func(path, body string) bool       // whether an accepted memory has the body of that digest
	size func(path string) (n int, ok bool) // of an accepted memory, in bytes
}

// stages is admission, top to bottom. Each stage sees every field and the complete text
// as it would be stored, and reports what it finds there; it asks neither disk nor
// model, and all that it changes is the proposal (its stamp, its notices, whether it
// changes anything). They run before the room's lock and again under it; the host's
// rules run in between.
var stages = []struct {
	name  string
	judge func(*proposal, *world) []Finding
}{
	{"candidate", judgeShape},     // one operation, valid UTF-8, known type       admission.go
	{"path", judgePath},           // names: lexical rules, links, twins           paths.go
	{"frontmatter", judgeLabels},  // well-formed, no library-owned key            screen.go
	{"secret", judgeSecrets},      // credential-shaped, in any field: rejected    screen.go
	{"hidden", judgeHidden},       // invisible text: removed and said, or held    screen.go
	{"directive", judgeDirective}, // instruction-shaped: held or flagged          screen.go
	{"provenance", judgeTrust},    // what it may be stamped with, where it shows  provenance.go
	{"conflict", judgeConflict},   // base, taken path or key, tombstones          conflict.go
	{"cap", judgeCaps},            // hard limits reject, soft ones are loud       caps.go
	{"review", judgeReview},       // refused before; ReviewAll                    conflict.go
}

// judge runs every stage but those named in off (which only tests name: a vector
// that is refused with its stage must pass without it).
func judge(p *proposal, w *world, off ...string) {
	p.findings, p.notices = nil, nil
	for _, stage := range stages {
		skip := false
		for _, name := range off {
			skip = skip || name == stage.name
		}
		if !skip {
			p.findings = append(p.findings, stage.judge(p, w)...)
		}
	}
	p.findings = append(fewer(p.findings), p.asked...)
}

// maxAlike is how many findings of one rule and field are reported: more say nothing
// new, and a reply has to stay short.
const maxAlike = 8

// fewer drops what is over maxAlike, and says so in the last that stays.
func fewer(fs []Finding) []Finding {
	type kind struct {
		rule, field string
		outcome     Outcome
	}
	seen, last := map[kind]int{}, map[kind]int{}
	var out []Finding
	for _, f := range fs {
		k := kind{f.Rule, f.Field, f.Outcome}
		if seen[k]++; seen[k] <= maxAlike {
			last[k] = len(out)
			out = append(out, f)
		}
	}
	for k, n := range seen {
		if n > maxAlike {
			out[last[k]].Message += fmt.Sprintf(", and %d more like it", n-maxAlike)
		}
	}
	return out
}

// propose takes a plan through admission: where the host has rules judged, and the host
// asked; judged under the lock; and then stored, held or refused as one.
func (r *Room) propose(ctx context.Context, who author, cs []Candidate) ([]Verdict, error) {
	if len(cs) == 0 {
		return nil, r.usable()
	}
	if err := r.writable(); err != nil {
		return nil, err
	}
	if len(cs) > maxPlan {
		return tooLong(len(cs)), nil
	}
	return r.admit(ctx, who, false, func(_ context.Context, w *world) ([]*proposal, error) { return r.prepare(w, who, cs) })
}

// tooLong refuses a plan of more candidates than are judged at a time.
func tooLong(n int) []Verdict {
	v := verdict(Memory{}, refuse("plan.too-long", Rejected, "", fmt.Sprintf("a plan has at most %d candidates", maxPlan), "propose fewer at a time"))
	return slices.Repeat([]Verdict{v}, n)
}

// admit is propose for a plan that follows from the room as it is. It is judged before the
// lock when there is a reason to: rules of the host's, which are asked without the lock, or
// (ahead) a plan that reads much, and remembers it for the next time.
func (r *Room) admit(ctx context.Context, who author, ahead bool, prepare func(context.Context, *world) ([]*proposal, error)) ([]Verdict, error) {
	if err := r.writable(); err != nil {
		return nil, err
	}
	var plan []*proposal
	if ahead || len(r.opts.Rules) > 0 {
		w, err := r.world(ctx)
		if err != nil {
			return nil, err
		}
		if plan, err = prepare(ctx, w); err != nil {
			return nil, err
		}
		judgePlan(plan, w)
		r.ask(ctx, plan)
		if ctx.Err() != nil && heldByHost(plan) {
			// A rule that waits longer than ctx holds; that has to be on record still.
			late, cancel := context.WithTimeout(context.WithoutCancel(ctx), lateHold)
			defer cancel()
			ctx = late
		}
	}

	var again []*proposal
	var verdicts []Verdict
	b, err := r.share(ctx, func(w *world) (b *batch, err error) {
		if again, err = judgeAgain(ctx, w, who, prepare, plan); err == nil {
			b, verdicts, err = r.settle(w, again)
		}
		return b, err
	})
	if errors.Is(err, errPlanMoved) {
		v := refuse("stale.base", Rejected, "path", "the room changed while the change was judged", "try it again")
		return []Verdict{verdict(Memory{Path: plan[0].names[0].shown()}, v)}, nil
	}
	if err != nil {
		return nil, err
	}
	for i := range verdicts {
		if v := &verdicts[i]; b.lost {
			*v = verdict(Memory{Path: again[i].names[0].shown()}, lostRace())
		} else if v.Outcome == Accepted {
			v.Notices = append(v.Notices, b.indexNotice()...)
		}
	}
	return verdicts, nil
}

// errPlanMoved says that a plan which follows from the room has become another one.
var errPlanMoved = errors.New("the plan is another one now")

// judgeAgain judges a plan under the lock, with what the host's rules said of it before. No
// plan at all was judged before when there are none.
func judgeAgain(ctx context.Context, w *world, who author, prepare func(context.Context, *world) ([]*proposal, error), plan []*proposal) ([]*proposal, error) {
	again, err := prepare(ctx, w)
	if err != nil {
		return nil, err
	}
	if plan != nil && !slices.EqualFunc(plan, again, func(p, q *proposal) bool { return p.cand.Path == q.cand.Path }) {
		return nil, errPlanMoved
	}
	if who.alive != nil && !who.alive() {
		return nil, fmt.Errorf("guard: %w", fs.ErrClosed) // it ended while the rules were asked
	}
	for i, p := range plan {
		again[i].asked = p.asked
	}
	judgePlan(again, w)
	if len(w.opts.Rules) == 0 {
		return again, nil
	}
	for i, p := range again {
		unseen := !plan[i].wasAsked || p.text.whole != plan[i].text.whole
		if unseen && p.outcome() != Rejected && !p.noChange {
			p.findings = append(p.findings, refuse("stale.base", Rejected, "path", "the memory changed while the host's rules were asked", "read it again and propose the change anew"))
		}
	}
	return again, nil
}

// judgePlan judges each proposal, and then the plan: it stands or falls as one.
func judgePlan(plan []*proposal, w *world) {
	worst := Accepted
	for i, p := range plan {
		judge(p, w)
		p.findings = append(p.findings, judgeBeside(p, plan[:i])...)
		worst = min(worst, p.outcome())
	}
	if fs := judgeTogether(plan, w, worst); len(fs) > 0 {
		worst = Rejected
		plan[0].findings = append(plan[0].findings, fs...)
	}
	if len(plan) == 1 || worst == Accepted {
		return
	}
	for _, p := range plan {
		if p.outcome() > worst {
			p.findings = append(p.findings, refuse("plan."+worst.String(), worst, "", "another candidate of the same plan was "+worst.String(), "a plan is decided as one; propose this one alone if it stands alone"))
		}
	}
}

// judgeBeside compares a proposal with those before it in the plan: each is judged
// against the room as it is, so none may touch what another touches.
func judgeBeside(p *proposal, before []*proposal) []Finding {
	var fs []Finding
	for _, q := range before {
		if touch(p, q) || touches(p.cand.Supersedes, q) || touches(q.cand.Supersedes, p) {
			fs = append(fs, refuse("plan.same-path", Rejected, "path", "two candidates of one plan touch the same name", "make it one change, or propose one after the other"))
		}
		if p.op != journal.OpArchive && q.op != journal.OpArchive && p.names[0].ok() && q.names[0].ok() && fold.Key(p.key()) == fold.Key(q.key()) {
			fs = append(fs, refuse("plan.same-key", Rejected, "key", "two candidates of one plan have the same key", "give one of them another key"))
		}
	}
	return fs
}

// touches reports whether p has a name, or takes the place of a memory, among paths.
func touches(paths []string, p *proposal) bool {
	return slices.ContainsFunc(paths, func(path string) bool {
		return path == p.names[0].shown() || path == p.names[1].shown() || slices.Contains(p.cand.Supersedes, path)
	})
}

// touch reports whether a name of p is a name of q, or contains it, or resembles it
// somewhere on the way.
func touch(p, q *proposal) bool {
	for _, a := range p.names {
		for _, b := range q.names {
			if !a.path.IsZero() && !b.path.IsZero() && meet(a.path.Segments(), b.path.Segments()) {
				return true
			}
		}
	}
	return false
}

func meet(a, b []string) bool {
	for i := range min(len(a), len(b)) {
		switch {
		case relpath.LookKey(a[i]) != relpath.LookKey(b[i]):
			return false
		case a[i] != b[i]:
			return true // twins
		}
	}
	return true // one is the other, or lies in it
}

// judgeTogether holds a plan as a whole against the hard limits.
func judgeTogether(plan []*proposal, w *world, worst Outcome) []Finding {
	lim := w.opts.Limits
	adds, held, low := 0, 0, Operator
	for _, p := range plan {
		if p.op == journal.OpAdd {
			adds++
		}
		if _, waits := w.state.Pending[p.heldID()]; !waits {
			held++
		}
		low = min(low, p.trust)
	}
	if n, most := counted(acceptedTrusts(w), low, lim.Memories); worst == Accepted && adds > 1 && n+adds > most {
		return []Finding{refuse("cap.memories", Rejected, "path", fmt.Sprintf("the room would hold %d memories of this kind; the limit is %d", n+adds, most), "propose fewer")}
	}
	if n, most := counted(pendingTrusts(w), low, lim.Pending); worst == Held && held > 0 && n+held > most {
		return []Finding{refuse("cap.pending", Rejected, "", fmt.Sprintf("%d candidates wait already; the limit is %d", n, most), "the operator decides what waits first")}
	}
	return nil
}

// maxPlan is the number of candidates in one plan: as many as a person reviews at
// one sitting, and a bound on the work under one lock.
const maxPlan = 64

// settle makes of the plan's decision what it does to the disk: the accepted are stored
// as one journal write, the held wait in pending, the refused leave one row each
// without content.
func (r *Room) settle(w *world, plan []*proposal) (*batch, []Verdict, error) {
	var b batch
	verdicts := make([]Verdict, len(plan))
	planID := ""
	if len(plan) > 1 || len(plan[0].cand.Supersedes) > 0 {
		planID = r.planID(w, plan[0].path().String())
	}
	for i, p := range plan {
		v := &verdicts[i]
		b.outsideOf(w, p)
		v.Outcome, v.Findings = p.outcome(), p.findings
		if v.Outcome == Accepted {
			v.Notices = p.notices // of what is stored; nothing else is
		}
		row := journal.Row{
			Change:   journal.Change{Path: p.names[0].shown(), Source: r.source(p.who)},
			Decision: journal.Decision{Rules: ruleNames(p.findings), By: p.by()},
			Group:    journal.Group{Plan: planID},
		}
		switch {
		case v.Outcome == Accepted && p.noChange:
			v.Memory = p.was.memory(p.path().String())
		case v.Outcome == Accepted:
			if was := p.who.keeps; was != nil {
				row.Rules, row.Approved = ruleNames(slices.Concat(p.was.memory(row.Path).Findings, p.findings)), was.Approved
			} else if p.who.hand {
				row.Digest = p.digest // by hand, it is refused no longer
			}
			v.Memory = p.memory(w.now)
			if err := r.store(&b, p, w, row, v); err != nil {
				return nil, nil, err
			}
			if over, err := r.supersede(&b, w, p.cand.Supersedes, p.target().String(), row); err != nil {
				return nil, nil, err
			} else if over.Outcome != Accepted {
				return new(batch), r.refuseAll(plan, i, over), nil
			}
		case v.Outcome == Held:
			v.Memory = p.memory(w.now)
			r.hold(&b, p, w, row, v)
		default:
			if p.secretName() {
				row.Path = "" // a credential in a name leaves no trace either
			}
			v.Memory = Memory{Path: row.Path}
			if row.Op = journal.OpReject; row.Path == "" {
				row.Path = p.refusedName(r.opts.Allow)
			}
			b.note(row)
		}
	}
	b.stamp(w.now)
	return &b, verdicts, nil
}

// planID names what is done together, and has to be undone together.
func (r *Room) planID(w *world, path string) string {
	return r.keyed("plan", fmt.Sprint(w.state.Seq, " ", w.now.UnixNano()), path)[:16]
}

// refuseAll is the answer to a plan of which one memory could not make room: nothing
// was stored.
func (r *Room) refuseAll(plan []*proposal, at int, why Verdict) []Verdict {
	all := make([]Verdict, len(plan))
	for i, p := range plan {
		all[i] = verdict(Memory{Path: p.names[0].shown()}, refuse("plan.rejected", Rejected, "", "another candidate of the same plan was rejected", "a plan is decided as one"))
		if i == at {
			all[i].Findings = why.Findings
		}
	}
	return all
}

// secretName reports whether a name of the proposal was taken for a credential.
func (p *proposal) secretName() bool {
	return slices.ContainsFunc(p.findings, func(f Finding) bool {
		return strings.HasPrefix(f.Rule, "secret.") && (f.Field == "path" || f.Field == "to")
	})
}

// lostRace refuses what an editor overtook.
func lostRace() Finding {
	return refuse("stale.base", Rejected, "path", "the memory was changed outside while it was written", "read it again and propose the change anew")
}

// by names the kind of author for the audit.
func (p *proposal) by() string {
	switch {
	case p.who.keeps != nil:
		return p.who.keeps.By
	case p.who.hand:
		return byOperator
	}
	return byWriter
}

// Who made a row, for the audit and for what a session is told of. The operator may give a
// name of their own instead, but not the writer's.
const (
	byOperator = "operator"
	byWriter   = "writer"
)
