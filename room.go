package scribe

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"iter"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/memoryroom/scribe/internal/journal"
	"github.com/memoryroom/scribe/internal/relpath"
	"github.com/memoryroom/scribe/internal/rootfs"
)

// Memory is one topic file, in any stage. It is plain data and has one field more
// than the house allows: it is the row that every listing shows.
type Memory struct {
	Path        string // relative, slash-separated
	Description string // from the frontmatter, else the first line of the body, clipped
	Type        string // "user", "feedback", "project" or "reference"
	Key         string // one key, one truth; by default the path without ".md"
	Stage       string // "active", "changed", "unaccepted", "foreign", "pending" or "archived"
	ID          string // pending only: for Resolve
	Trust       Trust
	Modified    time.Time // when these bytes were accepted or held; UTC
	Hash        string    // hex SHA-256 of the file; for a pending memory, of everything that an approval binds
	Text        string    // the whole file
	Findings    []Finding // flags; for a pending memory, why it is held
}

// The stages of a memory.
const (
	stageActive     = "active"
	stageChanged    = "changed" // accepted, and changed outside since: these are the accepted bytes
	stageUnaccepted = "unaccepted"
	stageForeign    = "foreign"
	stagePending    = "pending"
	stageArchived   = "archived"
)

// Room is one directory of memories, with the operator's authority over it: never
// hand it to an agent. Many goroutines, and many processes, may use one directory
// at once. A zero Room returns fs.ErrClosed.
type Room struct {
	opts Options
	disk *rootfs.Dir

	mu       sync.Mutex // guards what follows; held for moments, never over I/O of a write
	closed   bool
	readOnly string // why nothing can be written; "" when it can
	local    *local // this directory's identity and key; nil until a first write
	ledger   ledger
	metas    *metaCache
	sessions map[string]*Session
	lexicons *lexicons
}

// Open opens the room in dir. Without a room there it writes nothing, not even for
// a directory that does not exist: the first change creates (0700 and 0600). An
// existing directory of Markdown is a room whose memories are all unaccepted; no
// byte or mode of it changes.
//
// With a room there, Open takes the lock, finishes what a crash left half done and
// records what was changed outside. Where it can not write, it reads.
//
// Open waits up to 30 seconds for another process that is writing. A journal that was
// tampered with fails with an *fs.PathError that says so; a
// journal of a newer format opens read-only.
func Open(dir string, opts *Options) (*Room, error) {
	o, err := opts.settle()
	if err != nil {
		return nil, err
	}
	disk, err := rootfs.Open(dir)
	if err != nil {
		return nil, fmt.Errorf("open room: %w", err)
	}
	return openOn(disk, o)
}

// openOn is Open over any disk: tests give one that fails and crashes.
func openOn(disk *rootfs.Dir, o Options) (*Room, error) {
	r := &Room{
		opts: o, disk: disk,
		metas: newMetaCache(), sessions: map[string]*Session{}, lexicons: &lexicons{m: map[Trust]*lexicon{}},
	}
	r.ledger.state = new(journal.State)
	switch {
	case o.ReadOnly:
		r.readOnly = "the room was opened read-only"
	case disk.Exists() && !disk.Writable():
		r.readOnly = "the room's directory can not be written"
	}
	if err := r.start(); err != nil {
		disk.Close()
		return nil, fmt.Errorf("open room: %w", err)
	}
	return r, nil
}

// start reads what is there and, where it may, recovers and records.
func (r *Room) start() error {
	if !r.disk.HasLibrary() {
		return nil
	}
	if r.readOnly != "" {
		return r.sync()
	}
	ctx, cancel := context.WithTimeout(context.Background(), openWait)
	defer cancel()
	unlock, err := r.lock(ctx)
	if errors.Is(err, context.DeadlineExceeded) {
		return fmt.Errorf("another process held the room's lock for %v: %w", openWait, err)
	}
	if r.readOnly != "" { // a newer format: what can be read was read
		return nil
	}
	if err != nil {
		return err
	}
	defer unlock()
	// What a killed process wrote can be read, and may be in the page cache only: it has to
	// be on the disk before anything is built on it.
	if err := r.disk.SyncLib(); err != nil {
		return err
	}
	if err := r.recordWaivers(ctx); err != nil {
		return err
	}
	if err := r.observeAll(ctx); err != nil {
		return err
	}
	return r.tidy(ctx)
}

// openWait is how long Open waits for another process to finish a write. Writes take
// milliseconds; whoever holds the lock longer is stuck.
const openWait = 30 * time.Second

// Close releases the directory. Sessions and guards of the room fail afterwards.
func (r *Room) Close() error {
	if err := r.usable(); err != nil {
		return nil
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.closed = true
	return r.disk.Close()
}

// usable fails on a zero, nil or closed room.
func (r *Room) usable() error {
	if r == nil || r.disk == nil {
		return fmt.Errorf("room: %w", fs.ErrClosed)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.closed {
		return fmt.Errorf("room: %w", fs.ErrClosed)
	}
	return nil
}

// writable fails where no byte may be written.
func (r *Room) writable() error {
	if err := r.usable(); err != nil {
		return err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.readOnly != "" {
		return fmt.Errorf("%s: %w", r.readOnly, fs.ErrPermission)
	}
	return nil
}

// Propose writes with the operator's hand: trust Operator. The path, frontmatter,
// secret and hidden-text stages stay; instruction-shaped text is flagged and not
// held. Several candidates are one plan and stand or fall together. Nothing is
// written when the error is ctx.Err().
func (r *Room) Propose(ctx context.Context, cs ...Candidate) ([]Verdict, error) {
	return r.propose(ctx, author{hand: true, ceiling: Operator}, cs)
}

// List yields the memories of the stages named (none: "active" and "changed"), by
// path, with their text. Pending ones carry ID, Hash and Findings, as Resolve wants
// them; unaccepted ones Hash, as Adopt wants it. The first error ends the sequence.
func (r *Room) List(ctx context.Context, stages ...string) iter.Seq2[Memory, error] {
	return func(yield func(Memory, error) bool) {
		all, err := r.list(ctx, stages)
		if err != nil {
			yield(Memory{}, err)
			return
		}
		for _, m := range all {
			if !yield(m, nil) {
				return
			}
		}
	}
}

func (r *Room) list(ctx context.Context, stages []string) ([]Memory, error) {
	if len(stages) == 0 {
		stages = []string{stageActive, stageChanged}
	}
	for _, s := range stages {
		if !slices.Contains([]string{stageActive, stageChanged, stageUnaccepted, stageForeign, stagePending, stageArchived}, s) {
			return nil, fmt.Errorf("list: stage %.40q is not one of active, changed, unaccepted, foreign, pending, archived", s)
		}
	}
	w, err := r.world(ctx)
	if err != nil {
		return nil, err
	}
	return r.listIn(ctx, w, stages)
}

// listIn lists what the room held in that state. Where the journal moved on while the
// files were read it begins anew: a reader takes no lock, and would see files of a later
// state.
func (r *Room) listIn(ctx context.Context, w *world, stages []string) ([]Memory, error) {
	for range readTries {
		all, err := r.listOnce(ctx, w, stages)
		if err != nil {
			return nil, err
		}
		now, err := r.world(ctx)
		if err != nil || now.state.Seq == w.state.Seq {
			return all, err
		}
		*w = *now
	}
	if r.writable() == nil && r.disk.HasLibrary() { // somebody writes without pause: they have to wait
		unlock, err := r.disk.Lock(ctx)
		if err != nil {
			return nil, err
		}
		defer unlock()
		now, err := r.world(ctx)
		if err != nil {
			return nil, err
		}
		*w = *now
	}
	return r.listOnce(ctx, w, stages)
}

// readTries is how often a reader begins anew before it takes the lock.
const readTries = 3

func (r *Room) listOnce(ctx context.Context, w *world, stages []string) ([]Memory, error) {
	want := func(s string) bool { return slices.Contains(stages, s) }
	var all []Memory
	if want(stageActive) || want(stageChanged) || want(stageUnaccepted) || want(stageForeign) {
		files, err := r.files(ctx, w)
		if err != nil {
			return nil, err
		}
		for _, f := range files {
			if want(f.Stage) {
				all = append(all, f)
			}
		}
	}
	if want(stagePending) {
		held, err := r.pendingMemories(w)
		if err != nil {
			return nil, err
		}
		all = append(all, held...)
	}
	if want(stageArchived) {
		all = append(all, r.archivedMemories(w)...)
	}
	slices.SortStableFunc(all, func(a, b Memory) int { return strings.Compare(a.Path, b.Path) })
	return all, nil
}

// files is every memory file on the disk, and every accepted one, in its stage.
func (r *Room) files(ctx context.Context, w *world) ([]Memory, error) {
	var all []Memory
	seen := map[string]bool{}
	err := r.disk.Walk(func(name string, e rootfs.Entry) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		if name == indexName {
			if m := indexMemory(w); m.Stage == stageUnaccepted {
				all = append(all, m)
			}
			return nil
		}
		if e.Rule() != "" {
			return nil
		}
		p, foreign, err := relpath.ParseForeign(name)
		if err != nil {
			return nil // not a memory's name: left alone, never shown
		}
		if foreign {
			data, err := r.disk.Read(p, maxMemory)
			if err != nil {
				return nil
			}
			all = append(all, describe(name, stageForeign, data))
			return nil
		}
		s, err := r.standing(w.state, p)
		if err != nil {
			// Too large, or not to be read: it is there, and nobody accepted it.
			all = append(all, Memory{Path: name, Stage: stageUnaccepted, Findings: []Finding{refuse("check.unreadable", Held, "", "the file can not be read", "look at what lies there")}})
			return nil
		}
		if s.kind == absent {
			return nil // gone since the walk
		}
		seen[name] = true
		all = append(all, s.memory(name))
		if s.kind == changed {
			all = append(all, describe(name, stageUnaccepted, s.disk))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	for _, path := range acceptedPaths(w.state) {
		if seen[path] {
			continue
		}
		p, err := relpath.Parse(path)
		if err != nil {
			continue
		}
		if s, err := r.standing(w.state, p); err == nil && s.kind != absent {
			all = append(all, s.memory(path)) // something that is no file lies in its place
		}
	}
	return all, nil
}

// visible lists the accepted memories that a reader of that ceiling may be shown in
// a listing, by path and with their text, and how many there are besides.
func (r *Room) visible(ctx context.Context, ceiling Trust) (ms []Memory, rest int, err error) {
	all, err := r.list(ctx, nil)
	for _, m := range all {
		if m.Trust < ceiling {
			rest++
			continue
		}
		ms = append(ms, m)
	}
	return ms, rest, err
}

// Read gives one memory by its path: the accepted bytes where there are any, else
// what lies there unaccepted. It fails with fs.ErrNotExist, or with the path rule.
func (r *Room) Read(ctx context.Context, path string) (Memory, error) {
	w, err := r.world(ctx)
	if err != nil {
		return Memory{}, err
	}
	p, foreign, err := relpath.ParseForeign(path)
	if err != nil {
		return Memory{}, err
	}
	if p.IsIndex() {
		if w.index == nil {
			return Memory{}, &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
		}
		return indexMemory(w), nil
	}
	if foreign {
		data, err := r.disk.Read(p, maxMemory)
		if err != nil {
			return Memory{}, err
		}
		return describe(path, stageForeign, data), nil
	}
	s, err := r.standing(w.state, p)
	if err != nil {
		return Memory{}, err
	}
	if s.kind == absent {
		return Memory{}, &fs.PathError{Op: "read", Path: path, Err: fs.ErrNotExist}
	}
	return s.memory(path), nil
}

// Head is the journal's head, "seq:hash". Kept elsewhere (a commit, a database), it
// shows a truncated or rebuilt journal, which a hash chain by itself can not. It is ""
// before the first change.
func (r *Room) Head() (string, error) {
	if err := r.usable(); err != nil {
		return "", err
	}
	if err := r.sync(); err != nil {
		return "", err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.ledger.size == 0 {
		return "", nil
	}
	return r.ledger.head.String(), nil
}

// world reads what a judgement needs. Its state is never changed afterwards.
func (r *Room) world(ctx context.Context) (*world, error) {
	if err := r.usable(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := r.sync(); err != nil {
		return nil, err
	}
	index, err := r.readIndex()
	if err != nil {
		return nil, err
	}
	r.mu.Lock()
	state := r.ledger.state
	r.mu.Unlock()
	return &world{opts: &r.opts, state: state, index: index, now: r.opts.Now().UTC(), meta: func(path string) (meta, bool) {
		acc, ok := state.Accepted[path]
		if !ok {
			return meta{}, false
		}
		return r.metas.of(path, acc.Hash, 4*r.opts.Limits.Memories, func() ([]byte, error) { return r.version(acc.Seq, acc.Hash) })
	}}, nil
}

// lock takes the room for writing, creating it where it is missing, and reads what
// others wrote. The unlock function must be called.
func (r *Room) lock(ctx context.Context) (func(), error) {
	if err := r.writable(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if err := r.disk.Ensure(); err != nil {
		return nil, err
	}
	unlock, err := r.disk.Lock(ctx)
	if err != nil {
		return nil, err
	}
	if err := r.afterLock(ctx); err != nil {
		unlock()
		return nil, err
	}
	return unlock, nil
}

// keyed is a digest over the parts, under the host's key or else this directory's own;
// "" before there is one. What it covers can not be found by trying, nor forged.
func (r *Room) keyed(parts ...string) string {
	key := r.opts.Key
	if key == nil {
		r.mu.Lock()
		l := r.local
		r.mu.Unlock()
		if l == nil {
			return ""
		}
		key = l.key
	}
	mac := hmac.New(sha256.New, key)
	for _, p := range parts {
		fmt.Fprintf(mac, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(mac.Sum(nil))
}

// source names where a change came from: a keyed hash of the session, never its ID.
func (r *Room) source(who author) string {
	if who.hand || who.session == "" {
		return ""
	}
	key := r.keyed("session", who.session)
	if key == "" {
		return "" // no room yet, so nothing to name
	}
	return fmt.Sprintf("%s:turn-%d", key[:12], who.turn)
}

// standingKind says how the bytes under a name relate to what was accepted there.
type standingKind uint8

const (
	absent     standingKind = iota // nothing, or deleted outside
	active                         // the accepted bytes
	changed                        // accepted, and other bytes lie there now
	unaccepted                     // bytes that were never accepted
)

// standing is what the room holds under one name.
type standing struct {
	kind  standingKind
	acc   journal.Accepted // when active or changed
	bytes []byte           // what counts: the accepted bytes, or the unaccepted ones
	disk  []byte           // what lies on the disk; nil: nothing
	tomb  *journal.Tomb    // what was freed here; nil: nothing

	waived bool // active by a waiver: these bytes were never accepted by a row
}

// trust of what stands there; unaccepted bytes have none.
func (s standing) trust() Trust {
	if s.kind == active || s.kind == changed {
		return parseTrust(s.acc.Trust)
	}
	return 0
}

func (s standing) hash() string {
	if s.bytes == nil {
		return ""
	}
	return journal.Sum(s.bytes)
}

// diskHash is the hash of what lies there; "" when nothing does.
func (s standing) diskHash() string {
	if s.disk == nil {
		return ""
	}
	return journal.Sum(s.disk)
}

func (s standing) memory(path string) Memory {
	switch s.kind {
	case active, changed:
		m := describe(path, stageActive, s.bytes)
		if s.kind == changed {
			m.Stage = stageChanged
		}
		m.Trust, m.Modified = s.trust(), s.acc.Time.UTC()
		for _, rule := range s.acc.Rules {
			m.Findings = append(m.Findings, Finding{Rule: rule, Outcome: Accepted})
		}
		return m
	case unaccepted:
		return describe(path, stageUnaccepted, s.bytes)
	}
	return Memory{}
}

// standing reads what the room holds under p. The accepted bytes come from the
// disk when they are still there, else from the versions.
func (r *Room) standing(state *journal.State, p relpath.Path) (standing, error) {
	var s standing
	if tomb, ok := state.Tombs[p.String()]; ok {
		s.tomb = &tomb
	}
	acc, accepted := state.Accepted[p.String()]
	var refusal *rootfs.Refusal
	disk, err := r.disk.Read(p, maxMemory)
	switch {
	case errors.Is(err, fs.ErrNotExist) && accepted:
		if data, ok := r.underWay(p, acc); ok {
			s.kind, s.acc, s.disk, s.bytes = active, acc, data, data
		}
		return s, nil
	case errors.Is(err, fs.ErrNotExist):
		return s, nil
	case accepted && errors.As(err, &refusal):
		// A link or the like lies where the memory was: the accepted text goes on counting.
		s.kind, s.acc = changed, acc
		s.bytes, err = r.version(acc.Seq, acc.Hash)
		return s, err
	case err != nil:
		return s, err
	}
	s.disk = disk
	if !accepted {
		if s.tomb != nil && s.tomb.Freed > state.Epoch && r.inFlight(s.tomb.Freed) {
			return standing{tomb: s.tomb}, nil // another writer is about to take it away
		}
		s.kind, s.bytes = unaccepted, disk
		return s, nil
	}
	s.acc = acc
	if journal.Sum(disk) == acc.Hash {
		s.kind, s.bytes = active, disk
		return s, nil
	}
	if again, ok := r.underWay(p, acc); ok {
		s.kind, s.disk, s.bytes = active, again, again
		return s, nil
	}
	if r.waived(waiveUnaccepted) && len(secretsIn(string(disk), r.opts.Allow)) == 0 {
		s.kind, s.bytes, s.waived = active, disk, true
		s.acc.Hash, s.acc.Trust = journal.Sum(disk), min(parseTrust(acc.Trust), UserObserved).String()
		return s, nil
	}
	s.kind = changed
	s.bytes, err = r.version(acc.Seq, acc.Hash)
	return s, err
}

// underWay tells a write in progress from an outside change, for readers, who take no
// lock: the row is there before the file is. It gives the accepted bytes when the file
// has them by now, or is about to.
func (r *Room) underWay(p relpath.Path, acc journal.Accepted) ([]byte, bool) {
	if r.inFlight(acc.Seq) || r.anyInFlight() {
		data, err := r.version(acc.Seq, acc.Hash)
		return data, err == nil
	}
	data, hash, err := r.lying(p)
	return data, err == nil && hash == acc.Hash
}

// anyInFlight reports whether a writer is between its rows and its files. (A rename that
// changes no byte leaves the memory with an older row's number.)
func (r *Room) anyInFlight() bool {
	names, err := r.disk.LibList(strings.TrimSuffix(tmpDir, "/"))
	return err == nil && slices.ContainsFunc(names, func(n string) bool { return tmpDir+n == mark(rowOf(n)) })
}

// inFlight reports whether a move of that row is still to be done.
func (r *Room) inFlight(row int64) bool {
	_, err := r.disk.LibStat(mark(row))
	return err == nil
}

func (r *Room) waived(property string) bool { return r.opts.Waive[property] != "" }

// describe makes a Memory of a file's bytes.
func describe(path, stage string, data []byte) Memory {
	m := metaOf(path, data)
	return Memory{Path: path, Description: m.Description, Type: m.Type, Key: m.Key, Stage: stage, Hash: journal.Sum(data), Text: string(data)}
}
