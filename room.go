package scribe

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"github.com/memoryroom/scribe/internal/journal"
	"github.com/memoryroom/scribe/internal/rootfs"
)

// Memory is one topic file, in any stage: the row that every listing shows. It is plain
// data, with a field for whatever a person sorts or filters by. The stages are
//
//	active      accepted, and the file holds the accepted text
//	changed     accepted, and the file holds something else: this is the accepted text
//	unaccepted  a file's own bytes, which were never accepted; List shows those beside a
//	            changed memory too, and Adopt takes them
//	foreign     a file whose name only other tools may use (AGENTS.md, an emoji): it is
//	            listed, and nothing here writes it
//	pending     a held candidate
//	archived    retired; Restore brings it back
type Memory struct {
	Path        string // relative, slash-separated
	Description string // from the frontmatter, else the first line of the body, clipped
	Type        string // "user", "feedback", "project" or "reference"
	Key         string // one key, one truth; by default the path without ".md"
	Topic       string // from the frontmatter: the group that people put it in
	Tags        []string
	VerifyWhen  string // from the frontmatter: when it is to be checked again; see Room.Due
	Stage       string // see above
	ID          string // pending: for Resolve; archived: for Restore

	Supersedes   []string // paths of the archived memories that it took the place of
	SupersededBy string   // archived only: path of the memory that took its place
	Category     string   // archived only: why it was retired, in a word

	Trust    Trust
	Modified time.Time // when these bytes were accepted or held; UTC
	Hash     string    // hex SHA-256 of the file; for a pending memory, of everything that an approval binds
	Text     string    // the whole file
	Findings []Finding // flags; for a pending memory, why it is held
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
	opts  Options
	disk  *rootfs.Dir
	queue queue

	mu       sync.Mutex // guards what follows; held for moments, never over I/O of a write
	closed   bool
	readOnly string // why nothing can be written; "" when it can
	merged   bool   // git merged the journal, and there is no key: see merged.go
	local    *local // this directory's identity and key; nil until a first write
	ledger   ledger
	cache    *cached // as Open read it; see kept
	settled  int64   // the last row that this process knows to be carried out
	metas    *metaCache
	glances  *glances
	sessions openSessions
	lexicons lexicons
	dues     dueList
	shadow   shadowAudit
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
// journal of a newer format opens read-only, and so does one that git merged in a room
// without a key, with nothing accepted: Check says what to do, and with repair does it.
// Where git, or somebody, exchanges the journal under an open room, its methods fail with an
// *fs.PathError that says so, and the room has to be opened again.
func Open(dir string, opts *Options) (*Room, error) {
	o, err := opts.settle()
	if err != nil {
		return nil, err
	}
	if dir == "" {
		return nil, fmt.Errorf("open room: no directory is named: %w", fs.ErrInvalid)
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
		metas: newMetaCache(), glances: newGlances(),
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
		err := r.unmerged(r.sync())
		r.readCache()
		return err
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
		return r.unmerged(err)
	}
	defer unlock()
	// What a killed process wrote can be read, and may be in the page cache only: it has to
	// be on the disk before anything is built on it.
	if err := r.disk.SyncLib(); err != nil {
		return err
	}
	if err := r.spend(r.recordWaivers); err != nil {
		return err
	}
	r.readCache()
	// Where there is no space for the row, the change that comes upon those bytes writes it.
	if err := r.observeAll(ctx); err != nil && !rootfs.Full(err) {
		return err
	}
	if err := r.tidy(ctx); err != nil {
		return err
	}
	r.mu.Lock()
	fresh := r.ledger.fresh
	r.mu.Unlock()
	if fresh >= checkpointRows {
		r.writeCheckpoint()
	}
	return nil
}

// openWait is how long Open waits for another process to finish a write. Writes take
// milliseconds; whoever holds the lock longer is stuck.
const openWait = 30 * time.Second

// Close releases the directory. Sessions and guards of the room fail afterwards. Of a large
// room that was searched it keeps the index in .scribe/cache, which may be deleted.
func (r *Room) Close() error {
	if err := r.usable(); err != nil {
		return nil
	}
	r.endSuggesting()
	r.keepCache()
	r.mu.Lock()
	closed := r.closed
	r.closed = true
	r.mu.Unlock()
	if closed {
		return nil
	}
	r.endSuggesting() // what began meanwhile
	r.shadow.mu.Lock()
	defer r.shadow.mu.Unlock()
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
	w := &world{opts: &r.opts, index: index, now: r.opts.Now().UTC()}
	w.use(r, state)
	return w, nil
}

// use makes a state the one that is judged against.
func (w *world) use(r *Room, state *journal.State) {
	w.state = state
	w.meta = func(path string) (meta, bool) {
		acc, ok := state.Accepted[path]
		if !ok {
			return meta{}, false
		}
		return r.metas.of(path, acc.Hash, 4*r.opts.Limits.Memories, func() ([]byte, error) { return r.version(acc.Seq, acc.Hash) })
	}
	files := &r.kept().files
	w.says = func(path, body string) bool {
		acc := state.Accepted[path]
		if m, ok := r.metas.known(path, acc.Hash); ok {
			return m.Body == body
		}
		if f, ok := r.metas.kept(files, path, acc.Hash); ok && f.body != sumOf(body) {
			return false
		}
		m, ok := w.meta(path)
		return ok && m.Body == body
	}
	w.size = func(path string) (int, bool) {
		acc := state.Accepted[path]
		if m, ok := r.metas.known(path, acc.Hash); ok {
			return m.Size, true
		}
		if f, ok := r.metas.kept(files, path, acc.Hash); ok {
			return int(f.stamp.Size), true
		}
		m, ok := w.meta(path)
		return m.Size, ok
	}
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
	if !r.disk.HasLibrary() { // else there is something to lock, and what is missing is made then
		if err := r.disk.Ensure(); err != nil {
			return nil, err
		}
	}
	unlock, err := r.disk.Lock(ctx)
	if err != nil {
		return nil, err
	}
	// All of it may be done again: it mends what a crash in it leaves.
	err = r.spend(func() error {
		if err := r.disk.Ensure(); err != nil {
			return err
		}
		return r.afterLock(ctx)
	})
	if err != nil {
		unlock()
		return nil, err
	}
	r.holdBack()
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
	if who.keeps != nil {
		return who.keeps.Source
	}
	if who.hand || who.session == "" {
		return ""
	}
	of := r.sourceOf(who.session)
	if of == "" {
		return "" // no room yet, so nothing to name
	}
	return fmt.Sprintf("%sturn-%d", of, who.turn)
}

// sourceOf is what the source of everything that a session wrote begins with.
func (r *Room) sourceOf(session string) string {
	key := r.keyed("session", session)
	if key == "" {
		return ""
	}
	return key[:12] + ":"
}

// describe makes a Memory of a file's bytes.
func describe(path, stage string, data []byte) Memory {
	m := metaOf(path, data)
	return Memory{
		Path: path, Description: m.Description, Type: m.Type, Key: m.Key, Topic: m.Topic, Tags: m.tags(), VerifyWhen: m.VerifyWhen,
		Stage: stage, Hash: journal.Sum(data), Text: string(data),
	}
}
