package scribe

import (
	"bytes"
	"cmp"
	"context"
	"crypto/hmac"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io/fs"
	"slices"
	"strings"
	"time"
	"weak"

	"github.com/memoryroom/scribe/internal/rootfs"
)

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
	return sessionDir + key[:sessionKey] + ".json"
}

const (
	sessionDir = "sessions/"
	sessionKey = 32 // hex digits of the keyed hash in a name
)

// sessionFile reports whether a name is one that sessionName gives.
func sessionFile(name string) bool {
	digits, ok := strings.CutSuffix(strings.TrimPrefix(name, sessionDir), ".json")
	key, err := hex.DecodeString(digits)
	return ok && err == nil && len(key) == sessionKey/2
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

// A session that was forgotten must not come back with a fresh ceiling, and may not cost
// space for ever. So its name is kept in a Bloom filter: 256 parts of 16 KiB, made when
// they are first needed. A forgotten name is always found. A name that was never seen
// is found too, and so distrusted, once in 40,000 when a million were forgotten, and
// once in 50 at four million: (1 - e^(-6n/2^25))^6.
const (
	sweptDir   = "swept/"
	sweptBytes = 16 << 10 // of a part: 2^17 bits
	sweptBits  = 6        // bits of a name
)

// sweptPlaces are the part of the filter that a session's name belongs to, and its bits
// there. The name is a keyed hash, so its own digits are as good as any hash of it.
func sweptPlaces(name string) (part string, bits [sweptBits]uint32) {
	digits := strings.TrimSuffix(strings.TrimPrefix(name, sessionDir), ".json")
	key, err := hex.DecodeString(digits)
	if err != nil || len(key) != sessionKey/2 {
		panic("scribe: a session's name is not its hash") // sessionName made it
	}
	for i := range bits { // one byte names the part, then two and a bit for each place
		bits[i] = (uint32(key[1+2*i])<<8|uint32(key[2+2*i]))<<1 | uint32(key[13]>>i)&1
	}
	return sweptDir + digits[:2], bits
}

// readSwept reads a part of the filter; nil is an empty one. A part that can not be
// understood is full: any name may have been in it.
func (r *Room) readSwept(part string) ([]byte, error) {
	data, err := r.disk.LibRead(part, sweptBytes)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	if refusal := (*rootfs.Refusal)(nil); errors.As(err, &refusal) || err == nil && len(data) != sweptBytes {
		return bytes.Repeat([]byte{0xff}, sweptBytes), nil
	}
	return data, err
}

func (r *Room) wasSwept(name string) (bool, error) {
	part, bits := sweptPlaces(name)
	data, err := r.readSwept(part)
	if data == nil || err != nil {
		return false, err
	}
	for _, bit := range bits {
		if data[bit/8]&(1<<(bit%8)) == 0 {
			return false, nil
		}
	}
	return true, nil
}

// rememberSwept adds a name to the filter, durably.
func (r *Room) rememberSwept(name string) error {
	part, bits := sweptPlaces(name)
	data, err := r.readSwept(part)
	if err != nil {
		return err
	}
	if data == nil {
		data = make([]byte, sweptBytes)
	}
	before := slices.Clone(data)
	for _, bit := range bits {
		data[bit/8] |= 1 << (bit % 8)
	}
	if bytes.Equal(data, before) {
		return nil
	}
	return r.disk.LibReplace(part, data)
}

// save changes the state and stores it, merged with what other processes stored meanwhile.
// Where it can not be stored it is not changed. In a read-only room the state lives in
// memory. s.mu is not held.
func (s *Session) save(ctx context.Context, change func(*sessionState)) error {
	err := s.trySave(ctx, change)
	if err != nil {
		s.room.keepSession(s)
	}
	return err
}

func (s *Session) trySave(ctx context.Context, change func(*sessionState)) error {
	r := s.room
	if r.writable() != nil {
		s.mu.Lock()
		frozen := s.state.Frozen
		s.mu.Unlock()
		gone := s.purged(frozen)
		s.mu.Lock()
		s.state.forget(gone)
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
	name := r.sessionName(s.id)
	_, lies := r.disk.LibStat(name) // one that was swept is found, and has no file
	s.mu.Lock()
	if found {
		s.state.merge(stored)
	}
	state := s.state
	s.mu.Unlock()
	state.forget(s.purged(state.Frozen)) // this process may have held it while another purged
	change(&state)
	state.Used = r.opts.Now().UTC()
	if errors.Is(lies, fs.ErrNotExist) {
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
	state.lower(s.state.ceiling()) // it may have fallen meanwhile; all else changes under the room's lock
	s.state = state
	return nil
}

// sweepShare is the part of the sessions that one sweep forgets beyond what it must: a
// sweep reads the files of all of them.
const sweepShare = 16

// sweepSessions makes room for one more session. What somebody in this process holds is
// forgotten last, and then what was not used for the longest time.
func (r *Room) sweepSessions() error {
	names, err := r.disk.LibList(strings.TrimSuffix(sessionDir, "/"))
	if err != nil {
		return err
	}
	names = slices.DeleteFunc(names, func(n string) bool { return !sessionFile(sessionDir + n) })
	limit := r.opts.Limits.Sessions
	over := len(names) - limit + 1
	if over <= 0 {
		return nil
	}
	open := map[string]bool{}
	for _, s := range r.sessionsOpen() {
		open[r.sessionName(s.id)] = true
	}
	type file struct {
		name string
		held int // 1: in use here
		used time.Time
	}
	var files []file
	for _, n := range names {
		f := file{name: sessionDir + n}
		if open[f.name] {
			f.held = 1
		}
		if st, err := r.readSession(f.name); err == nil {
			f.used = st.Used // a damaged one is as good as oldest
		}
		files = append(files, f)
	}
	slices.SortFunc(files, func(a, b file) int {
		return cmp.Or(cmp.Compare(a.held, b.held), a.used.Compare(b.used), strings.Compare(a.name, b.name))
	})
	for _, f := range files[:min(over+limit/sweepShare, len(files))] {
		if err := r.rememberSwept(f.name); err != nil {
			return err
		}
		if err := r.disk.LibRemove(f.name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return nil
}

// openSessions are the sessions of a room that somebody holds, by ID: one ID has one
// Session, as long as anybody can see it. The room itself holds those that were asked for
// last, so that a host may ask at every step; what of a session is not stored (texts that
// were handed out and not committed, the gate's state) would else be lost between two.
type openSessions struct {
	m    map[string]*openSession
	asks int64 // calls so far
	next int   // length of m at which those that nobody holds are looked for
}

type openSession struct {
	is    weak.Pointer[Session]
	kept  *Session // while the room holds it: see releaseSessions
	asked int64    // the number of the last call
}

// openSession gives the session of that ID, or makes one.
func (r *Room) openSession(id string, make func() *Session) *Session {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sessions.asks++
	if o := r.sessions.m[id]; o != nil {
		if s := o.is.Value(); s != nil {
			o.kept, o.asked = s, r.sessions.asks
			return s
		}
	}
	if len(r.sessions.m) >= r.sessions.next {
		r.releaseSessions()
	}
	s := make()
	if r.sessions.m == nil {
		r.sessions.m = map[string]*openSession{}
	}
	r.sessions.m[id] = &openSession{is: weak.Make(s), kept: s, asked: r.sessions.asks}
	return s
}

// keepSession holds a session whose state could not be stored.
func (r *Room) keepSession(s *Session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if o := r.sessions.m[s.id]; o != nil && o.is.Value() == s {
		o.kept = s
	}
}

// releaseSessions lets go of what was not asked for lately, where its state is stored; of
// what is stored nowhere else it keeps as many as would be stored. r.mu is held.
func (r *Room) releaseSessions() {
	var kept []*openSession
	for id, o := range r.sessions.m {
		switch {
		case o.is.Value() == nil:
			delete(r.sessions.m, id)
		case o.kept != nil:
			kept = append(kept, o)
		}
	}
	slices.SortFunc(kept, func(a, b *openSession) int { return cmp.Compare(b.asked, a.asked) }) // the latest first
	for i, o := range kept {
		stored := r.readOnly == "" && o.kept.isSaved()
		if i >= heldSessions && stored || i >= max(heldSessions, r.opts.Limits.Sessions) {
			o.kept = nil
		}
	}
	// What was let go of just now is found dropped at the next look. So the step must be less
	// than the length, or the table would never shrink.
	n := len(r.sessions.m)
	r.sessions.next = n + max(heldSessions, n/2)
}

// heldSessions is how many sessions a room holds itself, at some ten to a hundred kilobytes
// each: their snapshots.
const heldSessions = 128

// sessionsOpen lists the sessions that somebody holds.
func (r *Room) sessionsOpen() (all []*Session) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, o := range r.sessions.m {
		if s := o.is.Value(); s != nil {
			all = append(all, s)
		}
	}
	return all
}

func (s *Session) isSaved() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.saved
}
