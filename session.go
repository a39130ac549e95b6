package scribe

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/memoryroom/scribe/internal/journal"
)

// Session is one conversation as the host's loop sees it: what its model is shown,
// how far its words are trusted, when a writer runs. Never give it to a model. It
// is safe for concurrent use.
type Session struct { // one mutex guards what follows it, so it is one struct
	room *Room
	also []*Room
	id   string

	mu       sync.Mutex // guards what follows
	state    sessionState
	saved    bool               // the state is on the disk, or can not be
	wrote    int                // the last turn in which the main agent's guard stored something
	waiting  map[Trust]*request // the newest request to extract that waits, by Turn.Low
	running  bool
	idle     *sync.Cond         // signalled when running ends; on mu
	handouts map[string]handout // by the hash of a text: what committing it means
	suggest  *suggesting        // nil until the first Segment, and where Options.Suggest is empty
}

// sessionState is what of a session outlives the process: a line with a MAC and one of
// JSON, in sessions/<keyed hash>.json. What its fields hold is replaced and never
// changed in place, so a copy of the struct is a copy.
type sessionState struct {
	Ceiling     string         `json:"ceiling"`          // name of the trust
	Cursor      map[string]int `json:"cursor,omitempty"` // by the lowest trust of what was extracted: the last turn
	Extractions int            `json:"extractions,omitempty"`
	Snapshot    *Snapshot      `json:"snapshot,omitempty"`
	Frozen      []told         `json:"frozen,omitempty"`  // what Snapshot tells, room by room
	Told        []told         `json:"told,omitempty"`    // what was committed: the baseline of Delta
	Commits     int            `json:"commits,omitempty"` // how often the baseline moved
	Said        []string       `json:"said,omitempty"`    // kinds of reminders that were committed
	Used        time.Time      `json:"used"`              // last stored; the longest unused is forgotten first
}

// Turn is what the host knows of the turns since the last extraction.
type Turn struct {
	N           int      // number of the last of these turns, from 1; the cursor
	User        []string // the user's own messages, verbatim, one each
	Low         Trust    // lowest trust of all else that the writer will be shown; zero: unknown, the lowest
	Pasted      Trust    // what fenced, quoted and very long text of the user's counts as; zero: external-web
	NoAssistant bool     // the writer is shown no assistant text, so the session's ceiling does not bind it
	Wrote       bool     // the main agent already wrote memory in these turns
}

// The reasons for which Extract skips.
const (
	skipWrote      = "wrote-already"
	skipWords      = "too-few-words"
	skipCursor     = "cursor"
	skipCeiling    = "ceiling"
	skipSuperseded = "superseded"
)

// Session returns the one session of that ID; calls with one ID share it. ceiling
// is the trust of what the conversation starts from (zero: the lowest). For an ID
// that is known already the lower of the stored ceiling and this one counts; state
// that can not be read counts as the lowest.
//
// Writes go to r alone; snapshots and recall cover also too, of which each has an
// Options.Name of its own, by which a model tells them apart. The ID is not stored:
// files are named by a keyed hash of it.
func (r *Room) Session(ctx context.Context, id string, ceiling Trust, also ...*Room) (*Session, error) {
	if err := r.usable(); err != nil {
		return nil, err
	}
	if id == "" {
		return nil, errors.New("session: the ID is empty; use the conversation's own")
	}
	if !ceiling.valid() {
		return nil, fmt.Errorf("session: %v is no trust", ceiling)
	}
	for i, other := range also {
		if err := other.usable(); err != nil {
			return nil, fmt.Errorf("session: also[%d]: %w", i, err)
		}
		if other == r || slices.Contains(also[:i], other) {
			return nil, fmt.Errorf("session: also[%d] is a room that the session has already; name each once", i)
		}
		if slices.ContainsFunc(append([]*Room{r}, also[:i]...), func(o *Room) bool { return o.opts.Name == other.opts.Name }) {
			return nil, fmt.Errorf("session: also[%d] is named %s as another room of the session is; open each with an Options.Name of its own", i, other.opts.Name)
		}
	}
	if n := 1 + len(also); n > snapshotLines/frameLines || n*frameBytes > r.opts.Limits.SnapshotBytes {
		return nil, fmt.Errorf("session: a snapshot of %d bytes has no place for %d rooms; give fewer, or raise Limits.SnapshotBytes", r.opts.Limits.SnapshotBytes, n)
	}
	if err := r.sync(); err != nil {
		return nil, err
	}
	stored, found, err := r.loadSession(id)
	if err != nil {
		return nil, err
	}
	s := r.openSession(id, func() *Session {
		s := &Session{room: r, also: also, id: id, state: sessionState{Ceiling: ceiling.String()}, waiting: map[Trust]*request{}}
		s.idle = sync.NewCond(&s.mu)
		return s
	})
	s.mu.Lock()
	before := s.state.ceiling()
	if found {
		s.state.merge(stored)
		s.saved = s.saved || !(ceiling < s.state.ceiling())
	}
	s.state.lower(ceiling)
	if s.state.ceiling() < before {
		s.saved = false
	}
	s.mu.Unlock()
	if !r.disk.HasLibrary() {
		return s, nil // stored with the room's first change
	}
	return s, s.stored(ctx)
}

// refresh takes in what another process stored of the session: its model may have seen
// more than this one's.
func (s *Session) refresh() error {
	st, found, err := s.room.loadSession(s.id)
	if err != nil || !found {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.merge(st)
	return nil
}

// stored makes sure that the state is on the disk before it matters there.
func (s *Session) stored(ctx context.Context) error {
	s.mu.Lock()
	saved := s.saved
	s.mu.Unlock()
	if saved {
		return nil
	}
	return s.save(ctx, func(*sessionState) {})
}

// merge takes in what another process stored: the lower ceiling, the later cursor,
// the snapshot that was rendered first, the baseline that was committed last.
func (st *sessionState) merge(o sessionState) {
	st.lower(parseTrust(o.Ceiling))
	for level, n := range o.Cursor {
		if n > st.Cursor[level] {
			st.advance(level, n)
		}
	}
	st.Extractions = max(st.Extractions, o.Extractions)
	if o.Snapshot != nil {
		st.Snapshot, st.Frozen = o.Snapshot, o.Frozen
	}
	if o.Commits > st.Commits {
		st.Told, st.Commits = o.Told, o.Commits
	}
	for _, kind := range o.Said {
		st.say(kind)
	}
}

// advance moves the cursor of a level of trust.
func (st *sessionState) advance(level string, n int) {
	cursor := maps.Clone(st.Cursor)
	if cursor == nil {
		cursor = map[string]int{}
	}
	cursor[level] = n
	st.Cursor = cursor
}

// forget takes memories that were purged out of the state, and reports whether any was
// in it: a snapshot that shows one goes, and of the baseline the digests.
func (st *sessionState) forget(paths []string) (changed bool) {
	if st.Snapshot != nil && slices.ContainsFunc(st.Snapshot.Shown, func(m Memory) bool { return slices.Contains(paths, m.Path) }) {
		st.Snapshot, st.Frozen, changed = nil, nil, true
	}
	var purged bool
	st.Told, purged = withoutDigests(st.Told, paths)
	return changed || purged
}

func (st *sessionState) ceiling() Trust { return parseTrust(st.Ceiling) }

func (st *sessionState) lower(t Trust) {
	if t < st.ceiling() {
		st.Ceiling = t.String()
	}
}

// Snapshot renders the rooms once and then gives the same bytes for the whole
// session, after a restart too: what a model's own write, or anyone's, changes
// meanwhile is not in it, nor what the session's own models wrote before. Commit it once
// it stands in the prompt: Delta goes on from there.
func (s *Session) Snapshot(ctx context.Context) (Snapshot, error) {
	if s == nil || s.room == nil {
		return Snapshot{}, fmt.Errorf("session: %w", fs.ErrClosed)
	}
	if err := s.dropPurged(ctx); err != nil {
		return Snapshot{}, err
	}
	s.mu.Lock()
	frozen := s.state.Snapshot
	s.mu.Unlock()
	if frozen == nil {
		fresh, at, err := s.renderAt(ctx)
		if err != nil {
			return Snapshot{}, err
		}
		err = s.save(ctx, func(st *sessionState) {
			if st.Snapshot == nil {
				st.Snapshot, st.Frozen = &fresh, at
			}
			frozen = st.Snapshot
		})
		if err != nil {
			return Snapshot{}, err
		}
	}
	out := *frozen
	out.Shown, out.Cost = slices.Clone(frozen.Shown), slices.Clone(frozen.Cost)
	return out, nil
}

// dropPurged drops a snapshot that shows what was purged since, by another process or in a
// room beside: Purge itself reaches the stored sessions of its own room.
func (s *Session) dropPurged(ctx context.Context) error {
	for _, r := range s.rooms() {
		if err := cmp.Or(r.usable(), r.sync()); err != nil {
			return err
		}
	}
	s.mu.Lock()
	frozen := s.state.Frozen
	s.mu.Unlock()
	if len(s.purged(frozen)) == 0 {
		return nil
	}
	return s.save(ctx, func(*sessionState) {}) // which drops it
}

// purged lists the paths of a snapshot that were purged, as far as this process has read.
func (s *Session) purged(frozen []told) (gone []string) {
	for _, r := range s.rooms() {
		state := r.stateNow()
		was := baseOf(frozen, r.opts.Name, r.keyed("room"))
		for path := range was.Known {
			tomb, freed := state.Tombs[path]
			if freed && tomb.Hash == "" || state.Purged[path] > was.Seq { // something else may stand there by now
				gone = append(gone, path)
			}
		}
	}
	return gone
}

// render joins the rooms' blocks within one budget, the session's own room first.
func (s *Session) render(ctx context.Context) (Snapshot, error) {
	sn, _, err := s.renderAt(ctx)
	return sn, err
}

// renderAt is render, with what the text tells of each room.
func (s *Session) renderAt(ctx context.Context) (all Snapshot, at []told, err error) {
	bytes, lines := s.room.opts.Limits.SnapshotBytes, snapshotLines
	rooms := s.rooms()
	for i, r := range rooms {
		after := len(rooms) - 1 - i // each of them gets its frame at least
		v := extent{bytes: bytes - after*frameBytes, lines: lines - after*frameLines, beside: i > 0, own: s.sourceIn(r)}
		sn, seq, err := r.render(ctx, v)
		if err != nil {
			return Snapshot{}, nil, err
		}
		all.Text += sn.Text
		all.Shown = append(all.Shown, sn.Shown...)
		all.Cost = append(all.Cost, sn.Cost...)
		all.Omitted += sn.Omitted
		all.Unaccepted += sn.Unaccepted
		bytes, lines = bytes-len(sn.Text), lines-strings.Count(sn.Text, "\n")
		at = append(at, tells(r, seq, sn.Shown))
	}
	all.Hash = journal.Sum([]byte(all.Text))
	return all, at, nil
}

// rooms are those that the session reads, its own first.
func (s *Session) rooms() []*Room { return append([]*Room{s.room}, s.also...) }

// sourceIn is the beginning of Source in what the session's own models wrote to a room;
// "" where they can not write.
func (s *Session) sourceIn(r *Room) string {
	if r != s.room {
		return ""
	}
	return r.sourceOf(s.id)
}

// Observe lowers the ceiling for the rest of the session: call it with the trust of
// everything that enters the conversation, before the model sees it. It never
// raises. The new ceiling holds even when it can not be stored; then it says why.
func (s *Session) Observe(ctx context.Context, t Trust) error {
	if s == nil || s.room == nil {
		return fmt.Errorf("session: %w", fs.ErrClosed)
	}
	if !t.valid() {
		_ = s.Observe(ctx, 0) // what is not known is not trusted
		return fmt.Errorf("observe: %v is no trust; the session counts as unknown now", t)
	}
	s.mu.Lock()
	if t < s.state.ceiling() {
		s.state.lower(t)
		s.saved = false
	}
	saved := s.saved
	s.mu.Unlock()
	if saved {
		return nil
	}
	return s.stored(ctx) // again, where it failed before
}

// Ceiling is the session's trust ceiling as it is now.
func (s *Session) Ceiling() Trust {
	if s == nil || s.room == nil {
		return 0
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state.ceiling()
}

// Guard is for the main agent ("remember this"): our tools alone, at the session's
// ceiling and never above user-observed. user holds the user's messages of this turn:
// a memory of which each line is verbatim in one of them is stamped user-verified,
// whatever the ceiling (words of the model's own among it, a Key or a Description too,
// end that); what they hold besides (fenced, quoted or very long text) counts as
// external-web. What the guard views by name lowers the session with it.
func (s *Session) Guard(turn int, user ...string) *Guard {
	if s == nil || s.room == nil {
		return nil
	}
	g := s.guard(Policy{}, min(s.Ceiling(), UserObserved, pastedAs(user, 0)), turn, user)
	g.main = true
	return g
}

func (s *Session) guard(p Policy, ceiling Trust, turn int, user []string) *Guard {
	return &Guard{session: s, policy: p, ceiling: ceiling, turn: turn, user: append([]string(nil), user...)}
}
