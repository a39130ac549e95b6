package scribe

import (
	"cmp"
	"context"
	"crypto/hmac"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/memoryroom/scribe/internal/journal"
	"github.com/memoryroom/scribe/internal/rootfs"
)

// Session is one conversation as the host's loop sees it: what its model is shown,
// how far its words are trusted, when a writer runs. Never give it to a model. It
// is safe for concurrent use.
type Session struct {
	room *Room
	also []*Room
	id   string

	mu      sync.Mutex // guards what follows
	state   sessionState
	saved   bool  // the state is on the disk, or can not be
	wrote   int   // the last turn in which the main agent's guard stored something
	ticket  int64 // number of the newest request to extract
	running bool
	idle    *sync.Cond // signalled when running ends; on mu
}

// sessionState is what of a session outlives the process: a line with a MAC and one of
// JSON, in sessions/<keyed hash>.json.
type sessionState struct {
	Ceiling     string         `json:"ceiling"`          // name of the trust
	Cursor      map[string]int `json:"cursor,omitempty"` // by the lowest trust of what was extracted: the last turn
	Extractions int            `json:"extractions,omitempty"`
	Snapshot    *Snapshot      `json:"snapshot,omitempty"`
	Used        time.Time      `json:"used"` // last stored; the longest unused is forgotten first
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
// Writes go to r alone; snapshots and recall cover also too. The ID is not stored:
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
	r.mu.Lock()
	s, ok := r.sessions[id]
	if !ok {
		s = &Session{room: r, also: also, id: id, state: sessionState{Ceiling: ceiling.String()}}
		s.idle = sync.NewCond(&s.mu)
		r.sessions[id] = s
	}
	r.mu.Unlock()
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
// the snapshot that was rendered first.
func (st *sessionState) merge(o sessionState) {
	st.lower(parseTrust(o.Ceiling))
	for level, n := range o.Cursor {
		if n > st.Cursor[level] {
			if st.Cursor == nil {
				st.Cursor = map[string]int{}
			}
			st.Cursor[level] = n
		}
	}
	st.Extractions = max(st.Extractions, o.Extractions)
	if o.Snapshot != nil {
		st.Snapshot = o.Snapshot
	}
}

// forget drops a snapshot that shows one of the memories, and reports whether there was one.
func (st *sessionState) forget(paths []string) bool {
	if st.Snapshot == nil || !slices.ContainsFunc(st.Snapshot.Shown, func(m Memory) bool { return slices.Contains(paths, m.Path) }) {
		return false
	}
	st.Snapshot = nil
	return true
}

func (st *sessionState) ceiling() Trust { return parseTrust(st.Ceiling) }

func (st *sessionState) lower(t Trust) {
	if t < st.ceiling() {
		st.Ceiling = t.String()
	}
}

const maxSessionFile = 1 << 20 // bytes: a snapshot, its manifest, and room for both

// sessionName is the file of a session, or "" where no stored session counts: before
// the room exists, and in a directory that is not the one that stored it.
func (r *Room) sessionName(id string) string {
	key := r.keyed("session", id)
	r.mu.Lock()
	elsewhere := r.opts.Key == nil && r.local != nil && !r.local.ok
	r.mu.Unlock()
	if key == "" || elsewhere {
		return ""
	}
	return "sessions/" + key[:32] + ".json"
}

// loadSession reads a session's file. A damaged one, or one that was swept, is the
// lowest ceiling: what is not known is not trusted.
func (r *Room) loadSession(id string) (st sessionState, found bool, err error) {
	name := r.sessionName(id)
	if name == "" {
		return st, false, nil
	}
	st, err = r.readSession(name)
	if errors.Is(err, fs.ErrNotExist) {
		swept, err := r.wasSwept(name)
		return sessionState{}, swept, err
	}
	return st, err == nil, err
}

// readSession reads a session's file. One that can not be understood, or is no plain
// file of a sane size, is the zero state.
func (r *Room) readSession(name string) (st sessionState, err error) {
	data, err := r.disk.LibRead(name, maxSessionFile)
	if refusal := (*rootfs.Refusal)(nil); errors.As(err, &refusal) {
		return sessionState{}, nil
	}
	if err != nil {
		return sessionState{}, err
	}
	mac, body, _ := strings.Cut(string(data), "\n")
	if !hmac.Equal([]byte(mac), []byte(r.keyed("state", name, body))) || json.Unmarshal([]byte(body), &st) != nil {
		return sessionState{}, nil
	}
	return st, nil
}

// writeSession stores a state, under a MAC: a room that travels with a key brings no
// forged snapshot along.
func (r *Room) writeSession(name string, st sessionState) error {
	body, err := json.Marshal(st)
	if err != nil {
		return err
	}
	return r.disk.LibReplace(name, append([]byte(r.keyed("state", name, string(body))+"\n"), body...))
}

const sweptName = "sessions/swept" // names of forgotten sessions, a line each

func (r *Room) wasSwept(name string) (bool, error) {
	data, err := r.disk.LibRead(sweptName, maxSessionFile*16)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if refusal := (*rootfs.Refusal)(nil); errors.As(err, &refusal) {
		return true, nil // not readable: any ID may have been forgotten
	}
	return strings.Contains(string(data), name+"\n"), err
}

// save stores the state, merged with what other processes stored meanwhile. In a
// read-only room the state lives in memory. s.mu is not held.
func (s *Session) save(ctx context.Context, change func(*sessionState)) error {
	r := s.room
	if r.writable() != nil {
		s.mu.Lock()
		change(&s.state)
		s.saved = true // as far as it can be
		s.mu.Unlock()
		return r.usable()
	}
	unlock, err := r.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	stored, found, err := r.loadSession(s.id)
	if err != nil {
		return err
	}
	s.mu.Lock()
	if found {
		s.state.merge(stored)
	}
	change(&s.state)
	s.state.Used = r.opts.Now().UTC()
	state := s.state
	state.Cursor = maps.Clone(state.Cursor)
	s.mu.Unlock()
	name := r.sessionName(s.id)
	if !found {
		if err := r.sweepSessions(); err != nil {
			return err
		}
	}
	if err := r.writeSession(name, state); err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.saved = s.saved || s.state.ceiling() == state.ceiling()
	return nil
}

// sweepSessions makes room for one more session. A forgotten one is remembered by
// name alone, so that its ID does not come back with a fresh ceiling.
func (r *Room) sweepSessions() error {
	names, err := r.disk.LibList("sessions")
	if err != nil {
		return err
	}
	used := map[string]time.Time{}
	for _, n := range names {
		if strings.HasSuffix(n, ".json") {
			used["sessions/"+n] = time.Time{}
		}
	}
	over := len(used) - r.opts.Limits.Sessions + 1
	if over <= 0 {
		return nil
	}
	for name := range used {
		if st, err := r.readSession(name); err == nil {
			used[name] = st.Used // a damaged one is as good as oldest
		}
	}
	files := slices.SortedFunc(maps.Keys(used), func(a, b string) int {
		return cmp.Or(used[a].Compare(used[b]), strings.Compare(a, b))
	})
	for _, name := range files[:over] {
		line := []byte(name + "\n")
		err := r.disk.LibAppend(sweptName, line)
		if errors.Is(err, fs.ErrNotExist) {
			err = r.disk.LibWriteNew(sweptName, line)
		}
		if err != nil {
			return err
		}
		if err := r.disk.LibRemove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// Snapshot renders the rooms once and then gives the same bytes for the whole
// session, after a restart too: what a model's own write, or anyone's, changes
// meanwhile is not in it.
func (s *Session) Snapshot(ctx context.Context) (Snapshot, error) {
	if s == nil || s.room == nil {
		return Snapshot{}, fmt.Errorf("session: %w", fs.ErrClosed)
	}
	s.mu.Lock()
	frozen := s.state.Snapshot
	s.mu.Unlock()
	if frozen == nil {
		fresh, err := s.render(ctx)
		if err != nil {
			return Snapshot{}, err
		}
		err = s.save(ctx, func(st *sessionState) {
			if st.Snapshot == nil {
				st.Snapshot = &fresh
			}
			frozen = st.Snapshot
		})
		if err != nil {
			return Snapshot{}, err
		}
	}
	out := *frozen
	out.Shown = append([]Memory(nil), frozen.Shown...)
	return out, nil
}

// render joins the rooms' blocks within one budget, the session's own room first.
func (s *Session) render(ctx context.Context) (Snapshot, error) {
	bytes, lines := s.room.opts.Limits.SnapshotBytes, snapshotLines
	var all Snapshot
	rooms := append([]*Room{s.room}, s.also...)
	for i, r := range rooms {
		after := len(rooms) - 1 - i // each of them gets its frame at least
		sn, err := r.render(ctx, bytes-after*frameBytes, lines-after*frameLines, i > 0)
		if err != nil {
			return Snapshot{}, err
		}
		all.Text += sn.Text
		all.Shown = append(all.Shown, sn.Shown...)
		all.Omitted += sn.Omitted
		all.Unaccepted += sn.Unaccepted
		bytes, lines = bytes-len(sn.Text), lines-strings.Count(sn.Text, "\n")
	}
	all.Hash = journal.Sum([]byte(all.Text))
	return all, nil
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
// what is verbatim in one of them may be stamped above the ceiling, up to
// user-verified; what they hold besides (fenced, quoted or very long text) counts as
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
