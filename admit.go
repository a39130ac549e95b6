package scribe

// The host's own rules of admission.

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/memoryroom/scribe/internal/journal"
)

// Admit is one more admission rule: a human's approval, an external classifier.
// now is what would be stored (zero: the memory goes), was what is (zero: nothing). It
// can only tighten.
//
// It runs without the room's lock, on what no built-in stage rejected, and those
// stages are repeated afterwards against the room as it is then. To wait longer
// than ctx allows, return a Held finding and call [Room.Resolve] later; the rule is
// not asked again then. A returned error or a panic holds the candidate. It never
// sees text in which a credential was found.
//
// Of a finding Outcome counts, and Rule and Message are told to the writer and the
// operator. "host." is put before a Rule that does not begin with it; one that is empty
// becomes "host.rule".
type Admit func(ctx context.Context, now, was Memory) ([]Finding, error)

// ask runs the host's rules on what may still be stored. They can wait for a
// person, so no lock is held; what they return can only tighten.
func (r *Room) ask(ctx context.Context, plan []*proposal) {
	for _, p := range plan {
		if p.outcome() == Rejected || p.noChange {
			continue
		}
		p.wasAsked = true
		now, was := p.memory(r.opts.Now()), p.was.memory(p.names[0].path.String())
		if p.op == journal.OpArchive {
			now = Memory{}
		}
		for _, rule := range r.opts.Rules {
			p.asked = append(p.asked, fitting(askOne(ctx, rule, now, was), r.opts.Allow)...)
		}
	}
}

// lateHold is how long a candidate that the host's rules held may take to be put on
// record after the caller's context has ended.
const lateHold = 5 * time.Second

func heldByHost(plan []*proposal) bool {
	return slices.ContainsFunc(plan, func(p *proposal) bool {
		return slices.ContainsFunc(p.asked, func(f Finding) bool { return f.Outcome == Held })
	})
}

func askOne(ctx context.Context, rule Admit, now, was Memory) (fs []Finding) {
	defer func() {
		if recover() != nil {
			fs = []Finding{refuse("host.panic", Held, "", "a rule of the host failed", "the operator decides")}
		}
	}()
	fs, err := rule(ctx, now, was)
	if err != nil {
		return []Finding{refuse("host.error", Held, "", "a rule of the host could not decide", "the operator decides")}
	}
	fs = slices.Clone(fs) // the rule may keep its own
	for i := range fs {
		if !strings.HasPrefix(fs[i].Rule, "host.") {
			fs[i].Rule = "host." + cmp.Or(fs[i].Rule, "rule")
		}
		if fs[i].Message == "" {
			fs[i].Message = "a rule of the host found something"
		}
		if fs[i].Outcome > Accepted {
			fs[i].Outcome = Rejected
		}
	}
	return fs
}
