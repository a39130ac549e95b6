package scribe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/memoryroom/scribe/internal/gate"
	"github.com/memoryroom/scribe/internal/journal"
	"github.com/memoryroom/scribe/internal/lexical"
)

// Segment is one accepted piece of a conversation, for [Session.Suggest].
type Segment struct {
	N      int       // its number; the next one's is higher, and a number again is the same piece again
	Kind   string    // "user", "tool-call", "tool-result" or "assistant"; at any other nothing is suggested
	Text   string    // the message, or the tool's arguments or output; 1,200 characters of it count
	Tool   string    // the tool's name
	Failed bool      // the result is an error
	Plugin string    // which program wrote the user's message; "" is a person
	Child  bool      // the conversation is a subagent's: nothing is ever suggested in it
	Time   time.Time // when it happened, not when it was seen
}

// The values of Options.Suggest.
const (
	suggestOff    = ""
	suggestShadow = "shadow"
	suggestLive   = "live"
)

// The bounds of suggesting. Of the contract's other two rings, one number does the work
// of 256 completed keys: segments are numbered upwards, so what is not newer than the
// newest was judged, however long ago. And there is no list of ignored queries, nor one
// of the last rows: nobody here could fill the one or read the other.
const (
	maxFinds    = gate.MaxFinds // queries of a session that are remembered to have found something
	maxSuggest  = 8             // hits of one answer
	lexicalUsed = lexical.Version

	// By the room's clock, which is only asked: there is no timer. Over either the whole
	// result is void, as a part of it would pass for all.
	rankTime   = 50 * time.Millisecond  // deciding and ranking
	reloadTime = 500 * time.Millisecond // bringing the index up to date, and reading what it finds
)

// suggesting is what a session remembers for Suggest. There is none before the first
// segment, and none where Options.Suggest is empty.
type suggesting struct {
	mu     sync.Mutex // guards what follows; not held over a search
	over   bool       // the room was closed: nothing is kept any more
	gate   gate.State
	newest int                // number of the newest segment
	stop   context.CancelFunc // ends the search in flight; nil when there is none
	finds  []find             // the newest last
	missed int                // audit rows that could not be written since the last one that was
}

// find is a query that found something.
type find struct {
	query string
	found []found
}

// found names a memory and its bytes; a session keeps no more of what it found.
type found struct{ room, path, hash string }

func foundIn(hits []Hit) (all []found) {
	for _, h := range hits {
		all = append(all, found{h.Room, h.Memory.Path, h.Memory.Hash})
	}
	return all
}

// Suggest is for the host to call with each piece of a conversation once it is accepted,
// away from the path of a reply. A gate decides, without looking into memory, whether
// it is worth a search; a search covers the rooms of the session at user-observed and
// above, and leaves out what this session's own models wrote.
//
// With Options.Suggest empty it does nothing: no state, no I/O, no file. With "shadow" it
// gives no hits and appends what would have been to .scribe/shadow, without a word of
// the conversation or of a memory. With "live" it gives the hits, their Text quoted as
// data, and writes nothing.
//
// A newer segment ends the search for an older one, which then gives nothing; so does a
// change of what was found, and closing the room. A search may take 50 ms, and 500 ms
// more to read what changed; over that it gives nothing, and the next one goes on where it
// stopped. With an error, that of an ended ctx too, it is as if the segment had not come:
// it may be given again.
//
// Turning it off or on again is to open the room with other options. What a session
// remembers for it ends with Close; then no row is written any more, and those that were
// written stay.
func (s *Session) Suggest(ctx context.Context, g Segment) ([]Hit, error) {
	if s == nil || s.room == nil {
		return nil, fmt.Errorf("session: %w", fs.ErrClosed)
	}
	mode := s.room.opts.Suggest
	if mode == suggestOff {
		return nil, nil
	}
	if err := cmp.Or(s.room.usable(), ctx.Err()); err != nil {
		return nil, err
	}
	now := s.room.opts.Now
	began := now()
	try := s.consider(ctx, g)
	try.took.gate = now().Sub(began)
	if try.stop != nil {
		defer try.stop()
		s.look(&try)
	}
	if mode == suggestShadow {
		try.took.total = now().Sub(began)
		s.shadow(context.WithoutCancel(ctx), &try)
		try.hits = nil
	}
	if err := s.room.usable(); err != nil {
		s.endSuggesting() // it may have begun just before
		return nil, err
	}
	if try.err != nil {
		return nil, try.err
	}
	if try.decision.Action != gate.Retrieve {
		try.hits = nil // a prefetch shows nothing
	}
	return try.hits, nil
}

// attempt is one segment on its way through Suggest.
type attempt struct {
	segment  Segment
	of       *suggesting
	before   gate.State // that the decision began from
	newest   int        // likewise
	decision gate.Decision
	caller   context.Context
	ctx      context.Context // of the search; ends with a newer segment
	stop     context.CancelFunc
	query    string
	index    string // version of what was searched; "" when nothing was
	records  int    // memories that were searched
	raw      int    // hits before anything was dropped
	hits     []Hit
	rows     map[memoryIn]int64 // of what was found: the journal's row that put these bytes in place
	dropped  []drop
	outcome  string
	err      error
	took     struct{ gate, rank, reload, total time.Duration }
}

// memoryIn names a memory of one of the rooms.
type memoryIn struct{ room, path string }

// The outcomes of an attempt.
const (
	outcomeSuppressed = gate.Suppressed
	outcomeCompleted  = gate.Completed
	outcomeEmpty      = gate.Empty
	outcomeStale      = gate.Stale
	outcomeCancelled  = gate.Cancelled
	outcomeDeadline   = gate.Deadline
	outcomeError      = gate.Failed
)

// drop says why something was not handed out. Stage and Reason are from closed lists.
type drop struct {
	Stage  string // "rank" or "async"
	Reason string
	Room   string
	Path   string // of a memory at or above user-observed
	N      int    // how many, where they are only counted
}

// The reasons of drops. Those of the gate stand in its decision.
const (
	dropOwn          = "own-write"                // this session's own model wrote it
	dropDuplicate    = "duplicate-content"        // the same text stands higher already
	dropBudget       = "candidate-budget"         // over the number that was asked for
	dropStaleContext = "stale-context"            // a newer segment came
	dropStaleIndex   = "stale-index"              // something of what was found changed
	dropDisposed     = "disposed-before-complete" // the room was closed
	dropCancelled    = "cancelled"
	dropDeadline     = "deadline"
	dropInternal     = "internal-error"
)

// suggestions gives what the session remembers, from the first segment on.
func (s *Session) suggestions() *suggesting {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.suggest == nil {
		s.suggest = new(suggesting)
	}
	return s.suggest
}

// endSuggesting ends what a session does and remembers for Suggest: the search in flight, and
// the state with all that is in it.
func (s *Session) endSuggesting() {
	s.mu.Lock()
	sg := s.suggest
	s.suggest = nil
	s.mu.Unlock()
	if sg == nil {
		return
	}
	sg.mu.Lock()
	defer sg.mu.Unlock()
	if sg.stop != nil {
		sg.stop()
	}
	sg.over, sg.gate, sg.newest, sg.stop, sg.finds, sg.missed = true, gate.State{}, 0, nil, nil, 0
}

// endSuggesting does so for every session.
func (r *Room) endSuggesting() {
	for _, s := range r.sessionsOpen() {
		s.endSuggesting()
	}
}

// consider asks the gate, and ends the search for an older segment.
func (s *Session) consider(ctx context.Context, g Segment) attempt {
	sg := s.suggestions()
	sg.mu.Lock()
	defer sg.mu.Unlock()
	try := attempt{segment: g, of: sg, before: sg.gate, newest: sg.newest, caller: ctx, outcome: outcomeSuppressed}
	piece := gate.Segment(g)
	in := gate.Input{Segment: &piece, Fresh: s.fresh(sg.finds), Disposed: sg.over}
	try.decision, sg.gate = gate.Calibrated().Decide(sg.gate, in)
	if g.N > sg.newest {
		sg.newest = g.N
		if sg.stop != nil {
			sg.stop()
			sg.stop = nil
		}
	}
	if try.decision.Action != gate.Suppress {
		try.query = sg.gate.Query()
		try.ctx, try.stop = context.WithCancel(ctx)
		sg.stop = try.stop
	}
	return try
}

// fresh lists the queries whose finds all still stand as they were found, as far as this
// process knows: it reads no disk.
func (s *Session) fresh(finds []find) (queries []string) {
	rooms := s.rooms()
	for _, f := range finds {
		if s.stand(rooms, f.found) {
			queries = append(queries, f.query)
		}
	}
	return queries
}

// stand reports whether all of it is accepted in its room with the hash that it had.
func (s *Session) stand(rooms []*Room, all []found) bool {
	for _, f := range all {
		if !slices.ContainsFunc(rooms, func(r *Room) bool {
			return r.opts.Name == f.room && r.stateNow().Accepted[f.path].Hash == f.hash
		}) {
			return false
		}
	}
	return true
}

// look searches the rooms, and drops everything where what it rests on changed meanwhile,
// or where it took too long.
func (s *Session) look(try *attempt) {
	now := s.room.opts.Now
	began := now()
	try.ctx = clocked{try.ctx, try.caller, now, began.Add(rankTime + reloadTime)}
	hits, err := s.searchRooms(try)
	try.took.reload = now().Sub(began) - try.took.rank
	if err == nil && (try.took.gate+try.took.rank > rankTime || try.took.reload > reloadTime) {
		err = context.DeadlineExceeded
	}
	s.finish(try, hits, err)
}

// clocked is a context that ends when a clock has passed a time. It is for work that asks
// Err: Done does not know of the time.
type clocked struct {
	context.Context
	caller context.Context // asked itself: what is derived from a foreign context may learn of its end later
	now    func() time.Time
	end    time.Time
}

func (c clocked) Err() error {
	if err := cmp.Or(c.Context.Err(), c.caller.Err()); err != nil {
		return err
	}
	if c.now().After(c.end) {
		return context.DeadlineExceeded
	}
	return nil
}

// finish decides what of a search counts by now.
func (s *Session) finish(try *attempt, hits []Hit, err error) {
	sg := try.of
	sg.mu.Lock()
	defer sg.mu.Unlock()
	void := func(outcome, reason string) {
		try.outcome, try.hits = outcome, nil
		try.dropped = append(try.dropped, drop{Stage: "async", Reason: reason})
	}
	switch {
	case sg.over:
		void(outcomeCancelled, dropDisposed)
	case sg.newest != try.segment.N:
		void(outcomeStale, dropStaleContext)
	case try.caller.Err() != nil:
		void(outcomeCancelled, dropCancelled)
		try.err = try.caller.Err()
	case errors.Is(err, context.DeadlineExceeded):
		void(outcomeDeadline, dropDeadline)
	case err != nil:
		void(outcomeError, dropInternal)
		try.err = err
	case !s.stand(s.rooms(), foundIn(hits)):
		void(outcomeStale, dropStaleIndex)
	case len(hits) == 0:
		try.outcome = outcomeEmpty
	default:
		try.outcome, try.hits = outcomeCompleted, hits
		sg.finds = append(sg.finds, find{try.decision.Query, foundIn(hits)})
		sg.finds = slices.Clone(sg.finds[max(0, len(sg.finds)-maxFinds):])
	}
	if sg.newest == try.segment.N {
		sg.stop = nil
	}
	if try.err != nil {
		sg.gate, sg.newest = try.before, try.newest
	}
}

// searchRooms ranks what the rooms of the session hold at or above user-observed.
func (s *Session) searchRooms(try *attempt) ([]Hit, error) {
	rooms := s.rooms()
	try.rows = map[memoryIn]int64{}
	pace := pace{now: s.room.opts.Now}
	version := make([]string, 0, len(rooms))
	ranked := make([][]Hit, len(rooms))
	seen := map[string]bool{}
	for i, r := range rooms {
		found, err := r.search(try.ctx, Query{Text: try.query, Max: 2 * maxSuggest, pace: &pace}, UserObserved)
		try.took.rank = pace.ranking
		if err != nil {
			return nil, err
		}
		hits := found.hits
		for _, reason := range sortedKeys(found.drops) { // what the index left out is only counted
			try.dropped = append(try.dropped, drop{Stage: "rank", Reason: reason, Room: r.opts.Name, N: found.drops[reason]})
		}
		state := r.stateNow()
		n, tuples := searched(state)
		try.records += n
		version = append(version, r.opts.Name+"\n"+tuples)
		own := s.sourceIn(r)
		for _, h := range hits {
			try.raw++
			try.rows[memoryIn{h.Room, h.Memory.Path}] = state.Accepted[h.Memory.Path].Seq
			switch {
			case wroteIt(state.Accepted[h.Memory.Path], own):
				try.dropped = append(try.dropped, drop{"rank", dropOwn, h.Room, h.Memory.Path, 0})
			case seen[h.Memory.Hash]:
				try.dropped = append(try.dropped, drop{"rank", dropDuplicate, h.Room, h.Memory.Path, 0})
			default:
				if i > 0 {
					h.Text = "- in the room " + r.opts.Name + ":\n  " + h.Text // its paths mean nothing to the memory tool here
				}
				seen[h.Memory.Hash] = true
				ranked[i] = append(ranked[i], h)
			}
		}
	}
	all := interleave(ranked)
	for _, h := range all[min(maxSuggest, len(all)):] {
		try.dropped = append(try.dropped, drop{"rank", dropBudget, h.Room, h.Memory.Path, 0})
	}
	try.index = "idx_" + s.room.brief(append([]string{"index"}, version...)...)
	return all[:min(maxSuggest, len(all))], try.ctx.Err()
}

// searched counts what a search looks at, and names it: a line for each memory, in the order
// of their paths. It depends on no clock and no row of the journal. A row has a keyed digest
// of it, or who knows all texts but one could try that one.
func searched(state *journal.State) (n int, tuples string) {
	var b strings.Builder
	for _, path := range acceptedPaths(state) {
		if acc := state.Accepted[path]; parseTrust(acc.Trust) >= UserObserved {
			fmt.Fprintf(&b, "%q %s\n", path, acc.Hash)
			n++
		}
	}
	return n, b.String()
}
