package journal

import (
	"iter"
	"maps"
	"slices"
	"strconv"
	"time"
)

// Origin is where something in a [State] comes from.
type Origin struct {
	Seq    int64     // the row that put these bytes, whose New is their hash: [VersionName] of both is where they are kept
	Time   time.Time // of the row that last changed the entry
	By     string
	Trust  string // the name of the trust
	Source string
}

// Accepted is what a model may be shown of a path.
type Accepted struct {
	Hash     string // of the accepted bytes; those on disk may differ
	Key      string
	Rules    []string // flags: findings that did not keep it from being accepted
	Approved bool     // a held candidate that the operator let in as it was
	Row      int64    // the row that last changed the entry, its Time and By; Seq may be an older one
	Origin
}

// Archived is a retired memory.
type Archived struct {
	Accepted        // as it was, with the bytes that were archived; Time is when it was retired
	Path     string // where it was
	Retired  int64  // the row that retired it
	Category string // why

	// SupersededBy is what took its place: a path in Accepted, a name in Archived of what
	// was retired later, or "" for nothing. It is the one record of the link: what a
	// memory supersedes is read from here too. The link follows that memory into the
	// archive, back, and under new names; when that one goes otherwise, the link goes.
	SupersededBy string
}

// Tomb is what is left of a path that was freed. A new memory at that path, or under that
// key, is judged against it.
type Tomb struct {
	Hash  string // of the last accepted bytes; "" after a purge
	Seq   int64  // the row that put them
	Key   string
	Trust string
	Freed int64     // the row that freed the path
	By    string    // who did
	Time  time.Time // when
}

// Name is one that a memory had before a rename, or that it had on another side.
type Name struct {
	Path  string
	Row   int64 // the rename; of an alias, the row that says so
	Alias bool  `json:",omitempty"` // on another side: here nothing moved
}

// Held is a candidate that waits for the operator.
type Held struct {
	Path   string
	To     string // rename
	Op     string // what it would do: add, replace, edit, remove, archive, rename or restore
	Hash   string // of the pending file
	Base   string // hash of what it builds on
	Digest string // of the proposal
	Key    string
	Plan   string
	Rules  []string // why it waits
	Origin
}

// State is what rows add up to. The zero State is that of no rows. Its maps are
// for reading; only [State.Apply] changes them. Slices in it are shared with the
// rows.
type State struct {
	Seq      int64               // last row applied
	Epoch    int64               // last anchor row: acceptance before it does not count; 0 before any
	Accepted map[string]Accepted // by path
	Archived map[string]Archived // by ArchiveName
	Tombs    map[string]Tomb     // by path; never one that is in Accepted
	Pending  map[string]Held     // by ID
	Refused  map[string]int64    // by digest: the row of the operator's refusal, or purge
	Outside  map[string]string   // by path: hash of the unaccepted bytes that were seen last; "" when deleted
	Left     map[string]string   // by ID: path of a candidate that waited when an anchor came, and was never decided
	Waived   map[string]string   // by property: the reason for which it is waived now

	// What a purge has to reach, and had to: a memory is purged under every name that it had.
	Former map[string][]Name `json:",omitempty"` // by path: the names that what is or was there had before
	Purged map[string]int64  `json:",omitempty"` // by each such name: the row of the last purge

	steps []*step // of the last Window rows, oldest first, for abort; a step never changes
}

// Replay folds the rows up to and including seq: the room's state as it was then.
// Rows are in the order of the journal, from its start.
func Replay(rows []Row, seq int64) *State {
	s := new(State)
	for _, r := range rows {
		if r.Seq > seq {
			break
		}
		s.Apply(r)
	}
	return s
}

// Sorted yields a map's entries in the bytewise order of their keys.
func Sorted[V any](m map[string]V) iter.Seq2[string, V] {
	return func(yield func(string, V) bool) {
		for _, k := range slices.Sorted(maps.Keys(m)) {
			if !yield(k, m[k]) {
				return
			}
		}
	}
}

// Clone returns a copy that later calls of Apply on s do not change.
func (s *State) Clone() *State {
	c := *s
	c.Accepted, c.Archived, c.Tombs = maps.Clone(s.Accepted), maps.Clone(s.Archived), maps.Clone(s.Tombs)
	c.Pending, c.Refused, c.Outside = maps.Clone(s.Pending), maps.Clone(s.Refused), maps.Clone(s.Outside)
	c.Left, c.Waived = maps.Clone(s.Left), maps.Clone(s.Waived)
	c.Former, c.Purged = maps.Clone(s.Former), maps.Clone(s.Purged)
	c.steps = slices.Clone(s.steps)
	return &c
}

// Touched gives the paths whose acceptance the rows after seq changed, perhaps several
// times. ok is false when they are not known one by one: an abort or an anchor was among
// them, or they are more than [Window].
func (s *State) Touched(seq int64) (paths []string, ok bool) {
	known := int64(0)
	for _, t := range slices.Backward(s.steps) {
		if t.row.Seq <= seq {
			break
		}
		known++
		for _, p := range t.accepted {
			paths = append(paths, p.key)
		}
	}
	return paths, seq <= s.Seq && known == s.Seq-seq
}

// Apply adds the next row; the table in the package comment says what it does. It
// takes rows as Decode gives them and does not judge them: which rows count (all of
// them, or those with a verified MAC) is for the caller to decide before.
//
// An abort leaves what there would be had row Ref never been applied, even when later
// rows built on it. It takes back a row of the last [Window] and none from before an anchor; any other
// is without effect, so recovery writes its aborts before it anchors.
func (s *State) Apply(r Row) {
	s.Seq = r.Seq
	if r.Op == OpAbort {
		s.abort(r.Ref)
		return
	}
	s.do(r)
	stale := 0
	for stale < len(s.steps) && r.Seq-s.steps[stale].row.Seq >= Window {
		stale++
	}
	clear(s.steps[:stale])
	s.steps = s.steps[stale:]
}

// do applies a row and notes how to take it back.
func (s *State) do(r Row) {
	t := &step{row: r}
	s.effect(t, &r)
	s.steps = append(s.steps, t) // without an effect too: it may have one when an earlier row is taken back
}

func (s *State) effect(t *step, r *Row) {
	switch r.Op {
	case OpAnchor:
		left := maps.Clone(s.Left)
		for id, h := range s.Pending {
			if left == nil {
				left = map[string]string{}
			}
			left[id] = h.Path
		}
		*s = State{Seq: s.Seq, Epoch: r.Seq, Tombs: s.Tombs, Refused: s.Refused, Left: left, Waived: s.Waived, Former: s.Former, Purged: s.Purged}
	case OpAdd, OpReplace, OpEdit, OpAdopt:
		s.accept(t, r, r.Path)
	case OpRollback:
		s.rollback(t, r)
	case OpRestore:
		name := ArchiveName(r.Path, r.Ref) // gone, when it came back in another way while this waited
		drop(s.Archived, &t.archived, name)
		s.accept(t, r, target(r))
		s.point(t, name, target(r))
	case OpRename:
		s.rename(t, r)
	case OpAlias:
		s.alias(t, r)
	case OpRemove:
		if _, ok := s.free(t, r); ok {
			s.point(t, r.Path, "")
		}
	case OpArchive:
		s.retire(t, r)
	case OpStow:
		s.keep(t, r, Accepted{Hash: r.New, Key: r.Key, Rules: r.Rules, Approved: r.Approved, Origin: origin(r)})
		_, stands := s.Accepted[r.Path]
		if _, buried := s.Tombs[r.Path]; !stands && !buried {
			set(&s.Tombs, &t.tombs, r.Path, Tomb{Hash: r.New, Seq: r.Seq, Key: r.Key, Trust: r.Trust, Freed: r.Seq, Time: r.Time, By: r.By})
		}
	case OpLink:
		s.link(t, r)
	case OpObserve:
		s.observe(t, r)
	case OpPurge:
		s.purge(t, r)
	case OpHold:
		set(&s.Pending, &t.pending, r.ID, Held{
			Path: r.Path, To: r.To, Op: r.Act, Hash: r.New, Base: r.Old,
			Digest: r.Digest, Key: r.Key, Plan: r.Plan, Rules: r.Rules, Origin: origin(r),
		})
	case OpWithdraw:
		s.decide(t, r.ID)
	case OpRefuse:
		s.decide(t, r.ID)
		s.refuse(t, r)
	case OpWaive:
		if r.Key != "" && r.Reason == "" {
			drop(s.Waived, &t.waived, r.Key)
		} else if r.Key != "" {
			set(&s.Waived, &t.waived, r.Key, r.Reason)
		}
	case OpApprove:
		s.decide(t, r.ID)
		drop(s.Refused, &t.refused, r.Digest)
		done := *r
		done.Op, done.Approved = r.Act, true
		if r.Act != "" {
			s.effect(t, &done)
		}
	}
}

// decide ends the waiting of a candidate.
func (s *State) decide(t *step, id string) {
	drop(s.Pending, &t.pending, id)
	drop(s.Left, &t.left, id)
}

func origin(r *Row) Origin {
	return Origin{Seq: r.Seq, Time: r.Time, By: r.By, Trust: r.Trust, Source: r.Source}
}

// target is where a restore puts the bytes.
func target(r *Row) string {
	if r.To != "" {
		return r.To
	}
	return r.Path
}

func (s *State) accept(t *step, r *Row, path string) {
	s.settle(t, path, Accepted{
		Hash: r.New, Key: r.Key, Rules: r.Rules,
		Approved: r.Approved, Row: r.Seq, Origin: origin(r),
	})
	drop(s.Refused, &t.refused, r.Digest)
}

// settle makes a the acceptance of path, which ends its tomb and what was seen there.
func (s *State) settle(t *step, path string, a Accepted) {
	set(&s.Accepted, &t.accepted, path, a)
	drop(s.Tombs, &t.tombs, path)
	drop(s.Outside, &t.outside, path)
}

// free ends the acceptance of r.Path. Bytes that were never accepted leave no tomb:
// nothing is to be judged against them.
func (s *State) free(t *step, r *Row) (was Accepted, ok bool) {
	was, ok = s.Accepted[r.Path]
	if ok {
		drop(s.Accepted, &t.accepted, r.Path)
		set(&s.Tombs, &t.tombs, r.Path, Tomb{
			Hash: was.Hash, Seq: was.Seq, Key: was.Key, Trust: was.Trust, Freed: r.Seq, By: r.By, Time: r.Time,
		})
	}
	drop(s.Outside, &t.outside, r.Path)
	return was, ok
}

// MaxNames is how many former names of a path a state keeps, the latest: some 60 bytes each,
// in every undo step too. A name that came twice is kept once.
const MaxNames = 64

// call notes that what is called r.Path has another name from now on.
func (s *State) call(t *step, r *Row, to string) {
	s.name(t, to, slices.Concat(s.Former[to], s.Former[r.Path]), Name{Path: r.Path, Row: r.Seq})
	drop(s.Former, &t.former, r.Path)
}

// alias notes that what is called r.To was called r.Path on another side.
func (s *State) alias(t *step, r *Row) {
	s.name(t, r.To, s.Former[r.To], Name{Path: r.Path, Row: r.Seq, Alias: true})
}

// name keeps the names of a path, and one more.
func (s *State) name(t *step, path string, names []Name, more Name) {
	names = slices.DeleteFunc(slices.Clone(names), func(was Name) bool { return was.Path == more.Path })
	names = append(names, more)
	set(&s.Former, &t.former, path, slices.Clone(names[max(len(names)-MaxNames, 0):]))
}

// Back gives the name to which a rollback brings a memory back that had these names: the
// one before the first rename that it undoes. "" says that it undoes none.
func (r *Row) Back(names []Name) string {
	if r.Op != OpRollback || r.Ref == 0 || r.Old == "" { // without old nothing stood there
		return ""
	}
	for _, was := range names {
		if was.Row <= r.Ref || was.Alias {
			continue
		}
		if was.Path == r.Path {
			return "" // it was here, has been elsewhere since, and is here again
		}
		return was.Path
	}
	return ""
}

// rename moves an acceptance and what is known of it; the row names only what
// changed. Bytes that were not accepted are not accepted for having been moved, unless the
// operator approved just that.
func (s *State) rename(t *step, r *Row) {
	if r.To != "" && r.To != r.Path {
		s.call(t, r, r.To)
	}
	seen := s.Outside[r.Path]
	a, ok := s.free(t, r)
	switch {
	case !ok && r.Approved && r.New != "":
		s.accept(t, r, r.To)
		return
	case !ok:
		if seen != "" {
			s.see(t, r.To, seen)
		}
		return
	}
	s.settle(t, r.To, moved(a, r))
	s.point(t, r.Path, r.To)
}

// retire moves an acceptance into the archive.
func (s *State) retire(t *step, r *Row) {
	a, ok := s.free(t, r)
	if !ok {
		return
	}
	s.point(t, r.Path, ArchiveName(r.Path, r.Seq))
	s.keep(t, r, moved(a, r))
}

// keep makes an entry of the archive.
func (s *State) keep(t *step, r *Row, a Accepted) {
	by := r.Link
	if _, stands := s.Accepted[by]; !stands {
		by = "" // a link leads to what stands when it is made, so no circle can come of it
	}
	set(&s.Archived, &t.archived, ArchiveName(r.Path, r.Seq), Archived{
		Accepted: a, Path: r.Path, Retired: r.Seq, Category: r.Category, SupersededBy: by,
	})
}

// ArchiveName is the name in [State.Archived] of what row seq retired from path. No path
// has a colon, and no two rows a number.
func ArchiveName(path string, seq int64) string {
	return path + ":" + strconv.FormatInt(seq, 10)
}

// ArchivedAt finds an archived memory by its name in the archive, or by its path: then
// the one that was retired last.
func (s *State) ArchivedAt(at string) (name string, last Archived, ok bool) {
	if a, there := s.Archived[at]; there {
		return at, a, true
	}
	for n, a := range s.Archived {
		if a.Path == at && a.Retired > last.Retired {
			name, last, ok = n, a, true
		}
	}
	return name, last, ok
}

// link cuts the link of an archived memory, or keeps it, and takes in what else the row
// says. It turns no link to another memory.
func (s *State) link(t *step, r *Row) {
	name := ArchiveName(r.Path, r.Ref)
	a, ok := s.Archived[name]
	if !ok {
		return
	}
	if r.Link == "" {
		a.SupersededBy = ""
	}
	if r.Category != "" {
		a.Category = r.Category
	}
	if r.New != "" && r.New != a.Hash {
		a.Hash, a.Seq = r.New, r.Seq
	}
	set(&s.Archived, &t.archived, name, a)
}

// point makes the links to one name lead to another, or cuts them (""): what they lead
// to goes there.
func (s *State) point(t *step, from, to string) {
	for name, a := range Sorted(s.Archived) {
		if a.SupersededBy == from && from != to {
			a.SupersededBy = to
			set(&s.Archived, &t.archived, name, a)
		}
	}
}

// moved is a with what the row names of it. Bytes keep the row that put them
// unless this row changed them.
func moved(a Accepted, r *Row) Accepted {
	if r.New != "" && r.New != a.Hash {
		a.Hash, a.Seq = r.New, r.Seq
	}
	for _, f := range [...]struct {
		to   *string
		from string
	}{{&a.Trust, r.Trust}, {&a.Source, r.Source}, {&a.Key, r.Key}, {&a.By, r.By}} {
		if f.from != "" {
			*f.to = f.from
		}
	}
	if len(r.Rules) > 0 {
		a.Rules = r.Rules
	}
	a.Time, a.Row = r.Time, r.Seq
	a.Approved = a.Approved || r.Approved
	return a
}

// rollback sets a path back. What was retired from there after row Ref never was.
func (s *State) rollback(t *step, r *Row) {
	if to := r.Back(s.Former[r.Path]); to != "" {
		s.call(t, r, to)
	}
	if r.New == "" {
		if _, ok := s.free(t, r); ok {
			s.point(t, r.Path, "")
		}
	} else {
		s.accept(t, r, r.Path)
	}
	for name, a := range Sorted(s.Archived) {
		if r.Ref == 0 || a.Path != r.Path || a.Retired <= r.Ref {
			continue
		}
		drop(s.Archived, &t.archived, name)
		to := ""
		if r.New != "" {
			to = r.Path
		}
		s.point(t, name, to)
	}
}

// observe notes what somebody did outside. A deletion takes effect; other bytes wait
// for the operator, and what was accepted goes on counting.
func (s *State) observe(t *step, r *Row) {
	if r.New == "" {
		if _, ok := s.free(t, r); ok {
			s.point(t, r.Path, "")
		}
	}
	s.see(t, r.Path, r.New)
}

// see notes that path holds bytes with this hash now.
func (s *State) see(t *step, path, hash string) {
	if a, ok := s.Accepted[path]; ok && a.Hash == hash {
		drop(s.Outside, &t.outside, path) // the accepted bytes are back
		return
	}
	set(&s.Outside, &t.outside, path, hash)
}

// purge forgets one candidate, or all that a path stands for but the fact that it
// did: key and trust stay in the tomb, so that a purge gives nobody a free hand there.
func (s *State) purge(t *step, r *Row) {
	s.refuse(t, r)
	if r.ID != "" {
		s.decide(t, r.ID)
		return
	}
	if _, ok := s.free(t, r); ok {
		s.point(t, r.Path, "")
	}
	for id, path := range Sorted(s.Left) {
		if s.Called(path, r.Path, s.Epoch) {
			drop(s.Left, &t.left, id)
		}
	}
	for name, a := range Sorted(s.Archived) {
		if s.Called(a.Path, r.Path, a.Retired) {
			drop(s.Archived, &t.archived, name)
			s.point(t, name, "")
		}
	}
	for id, h := range Sorted(s.Pending) {
		if s.Called(h.Path, r.Path, h.Seq) || h.To == r.Path {
			drop(s.Pending, &t.pending, id)
		}
	}
	s.blank(t, r.Path)
	for _, was := range s.Former[r.Path] {
		if s.Tombs[was.Path].Freed == was.Row { // else what is left there is another memory's
			s.blank(t, was.Path)
		}
		set(&s.Purged, &t.purged, was.Path, r.Seq)
	}
	set(&s.Purged, &t.purged, r.Path, r.Seq)
	drop(s.Former, &t.former, r.Path)
	if r.New != "" {
		s.see(t, r.Path, r.New)
	}
}

// Called reports whether name stood for what is or was at path when row seq was written: it
// is its path, or a rename took it from there later, and none had brought it there since.
// Who comes to a name that was freed is another memory, and so is who had it before.
func (s *State) Called(name, path string, seq int64) bool {
	if name == path {
		return true
	}
	began := int64(0)
	for i, was := range s.Former[path] {
		if was.Path == name && !was.Alias && seq > began && seq < was.Row && (i > 0 || len(s.Former[path]) < MaxNames) {
			return true
		}
		began = max(began, was.Row)
	}
	return false
}

// blank takes the text out of a path's tomb.
func (s *State) blank(t *step, path string) {
	if tomb, ok := s.Tombs[path]; ok {
		tomb.Hash = ""
		set(&s.Tombs, &t.tombs, path, tomb)
	}
}

func (s *State) refuse(t *step, r *Row) {
	if r.Digest != "" {
		set(&s.Refused, &t.refused, r.Digest, r.Seq)
	}
}
