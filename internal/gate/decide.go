package gate

import (
	"slices"
	"unicode/utf8"
)

// The actions of a decision.
const (
	Retrieve = "retrieve" // search, and hand out what is found
	Prefetch = "prefetch" // search, and hand out nothing
	Suppress = "suppress" // do not search
)

// The reasons of a decision. The first ten suppress whatever the score, in this order.
const (
	NoOwner     = "no-owner"
	Disposed    = "disposed"
	ChildOf     = "child-session"
	NoSegment   = "no-segment"
	Unsupported = "unsupported-trigger"
	ByPlugin    = "plugin-generated-trigger"
	EmptyQuery  = "empty-query-signal"
	Duplicate   = "duplicate-context"
	Ignored     = "user-ignored"
	Cooling     = "cooldown"
	TooLow      = "below-threshold"
	Armed       = "armed" // retrieve
	Warm        = "warm"  // prefetch
)

// Input is one segment and what its host knows.
type Input struct {
	Segment  *Segment // nil: none came
	NoOwner  bool     // nobody's conversation
	Disposed bool     // it has ended
	Ignored  bool     // the user does not want this query to be looked up; the contract knows none
	Fresh    []string // digests of earlier queries of this conversation whose finds still stand
}

// State is what of a conversation the next decision depends on. The zero State is that
// of one that begins; it is bounded, and a copy of it is a copy.
type State struct {
	window    []piece // never changed in place
	latched   bool
	phase     string // "normal", "prefetch", "armed" or "cooldown", as the last decision left it
	last      int    // number of the newest segment; what is not newer is a duplicate
	processed int64  // segments so far
	coolUntil int64  // value of processed up to which a retrieve cools
}

// Decision is the answer for one segment. It is plain data and comparable.
type Decision struct {
	Policy     string
	Action     string // see the actions
	Phase      string
	Reason     string // see the reasons
	Raw        int64  // weighted sum, of One
	Hesitation int64
	Latched    bool
	Cooldown   int64 // segments that were to cool when this one came
	Signals    Signals
	N          int    // of the segment
	Segment    string // hex SHA-256 of its kind, tool and text
	Query      string // digest of what would be searched for; "" for nothing
}

// Decide judges one segment. It changes nothing: the new state is the second result.
func (p Policy) Decide(s State, in Input) (Decision, State) {
	d := Decision{Policy: p.Version, Action: Suppress, Phase: s.phase, Latched: s.latched}
	if d.Phase == "" {
		d.Phase = "normal"
	}
	var trigger piece
	var plan Plan
	if in.Segment != nil {
		trigger = pieceOf(*in.Segment)
		d.N, d.Segment = in.Segment.N, trigger.digest
		plan = p.plan(push(s.window, trigger))
		d.Query = plan.Digest
	}
	d.Cooldown = max(0, s.coolUntil-s.processed)
	switch {
	case in.NoOwner:
		d.Reason = NoOwner
	case in.Disposed:
		d.Reason = Disposed
	case in.Segment != nil && in.Segment.Child:
		d.Reason = ChildOf
	case in.Segment == nil:
		d.Reason = NoSegment
	case !supported(in.Segment.Kind):
		d.Reason = Unsupported
	case in.Segment.Kind == KindUser && in.Segment.Plugin != "":
		d.Reason = ByPlugin
	case !plan.triggered:
		d.Reason = EmptyQuery
	case in.Segment.N <= s.last:
		d.Reason = Duplicate
	case in.Ignored:
		d.Reason = Ignored
	}
	next := s
	if in.Segment != nil && supported(in.Segment.Kind) && in.Segment.N > s.last {
		next.window, next.last, next.processed = push(s.window, trigger), in.Segment.N, s.processed+1
	}
	if d.Reason != "" {
		return d, next
	}
	d.Signals = p.signals(s.window, trigger, d.Query, in.Fresh)
	d.score(p, s.latched)
	next.latched, next.phase = d.Latched, d.Phase
	if d.Action == Retrieve {
		next.coolUntil = next.processed + int64(p.Cooldown)
	}
	return d, next
}

// score turns signals into an action.
func (d *Decision) score(p Policy, latched bool) {
	var sum int64
	for i, w := range p.Weights {
		sum += w * min(max(d.Signals[i], 0), One)
	}
	d.Raw = min(sum/One, One)
	explicit := d.Signals[ExplicitRecall] == One
	if explicit {
		d.Raw = max(d.Raw, p.Floor)
	}
	d.Latched = d.Raw >= p.On
	if latched {
		d.Latched = d.Raw >= p.Off
	}
	d.Hesitation = d.Raw
	if d.Latched {
		d.Hesitation = max(d.Raw, p.Hold)
	}
	switch {
	case d.Cooldown > 0 && !explicit:
		d.Action, d.Phase, d.Reason = Suppress, "cooldown", Cooling
	case d.Hesitation >= p.Retrieve:
		d.Action, d.Phase, d.Reason = Retrieve, "armed", Armed
	case d.Hesitation >= p.Prefetch:
		d.Action, d.Phase, d.Reason = Prefetch, "prefetch", Warm
	default:
		d.Action, d.Phase, d.Reason = Suppress, "normal", TooLow
	}
}

// Replay gives the decisions on a recorded conversation, from its beginning. The same
// input gives the same decisions, each field of them.
func (p Policy) Replay(segments []Input) []Decision {
	var s State
	out := make([]Decision, 0, len(segments))
	for _, in := range segments {
		var d Decision
		d, s = p.Decide(s, in)
		out = append(out, d)
	}
	return out
}

// maxQuery bounds the text to search for, in bytes.
const maxQuery = 1_000

// Query is the text to search for after a decision: the trigger's, and before it, where
// the trigger is no user's, what the user said last.
func (s State) Query() string {
	if len(s.window) == 0 {
		return ""
	}
	trigger := s.window[len(s.window)-1]
	if trigger.Kind != KindUser {
		for _, b := range slices.Backward(s.window[:len(s.window)-1]) {
			if b.Kind == KindUser && b.Plugin == "" {
				return cut(b.Text, maxQuery/2) + "\n" + cut(trigger.Text, maxQuery/2-1)
			}
		}
	}
	return cut(trigger.Text, maxQuery)
}

// cut takes at most n bytes off the beginning of s, whole characters.
func cut(s string, n int) string {
	if len(s) <= n {
		return s
	}
	for n > 0 && !utf8.RuneStart(s[n]) {
		n--
	}
	return s[:n]
}
