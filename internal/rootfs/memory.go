package rootfs

import (
	"cmp"
	"errors"
	"io/fs"
	"path"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/memoryroom/scribe/internal/relpath"
)

// maxSwaps bounds how often a swap is turned back while another program goes on
// saving the same file. After that its bytes are at the name, and older ones parked.
const maxSwaps = 16

// maxPeek bounds what is read, in bytes, to compare what came out of a swap. Larger
// than any memory, and as large as the largest index that is read: a million lines of it
// are more than a hundred MiB. So what is larger is foreign.
const maxPeek = 1 << 30

// Read returns a memory's bytes, of at most max. It is fs.ErrNotExist when absent and
// a *[Refusal] when it is not a plain file reached through plain directories.
//
// A name that is being replaced at this moment gives its old or its new bytes; one
// that is being replaced without pause gives [ErrChanged] in the end.
func (d *Dir) Read(p relpath.Path, max int64) ([]byte, error) {
	if p.String() == "" {
		return nil, &fs.PathError{Op: "read", Path: ".", Err: fs.ErrInvalid}
	}
	return d.fs.Read(p.String(), max)
}

// Lstat describes what lies under a memory's name.
func (d *Dir) Lstat(p relpath.Path) (Entry, error) {
	if p.String() == "" {
		return Entry{}, &fs.PathError{Op: "lstat", Path: ".", Err: fs.ErrInvalid}
	}
	return d.fs.Lstat(p.String())
}

// CheckWrite reports what a write to p would meet, or nil when p is absent or a
// plain file. On the way it lists every directory of p and refuses when another name
// has the same collision key or looks the same, even if p exists.
func (d *Dir) CheckWrite(p relpath.Path) error {
	if p.String() == "" {
		return &fs.PathError{Op: "write", Path: ".", Err: fs.ErrInvalid}
	}
	segs := p.Segments()
	dir := "."
	for i, seg := range segs {
		names, err := d.fs.Names(dir)
		if errors.Is(err, fs.ErrNotExist) && dir == "." {
			return nil // no room yet
		}
		if err != nil {
			return err
		}
		at := path.Join(dir, seg)
		if twin := twinOf(seg, names); twin != "" {
			return &Refusal{Rule: "path.collision", Path: at, Other: twin}
		}
		own, err := d.fs.Lstat(at)
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if err != nil {
			return err
		}
		rule := own.dirRule()
		if i == len(segs)-1 {
			rule = own.Rule()
		}
		if rule != "" {
			return &Refusal{Rule: rule, Path: at}
		}
		dir = at
	}
	return nil
}

// twinOf finds a name that is not seg, and looks like it or folds to it.
func twinOf(seg string, names []string) string {
	key, look := relpath.SegmentKey(seg), relpath.LookKey(seg)
	for _, name := range names {
		if name != seg && (relpath.SegmentKey(name) == key || relpath.LookKey(name) == look) {
			return name
		}
	}
	return ""
}

// Walk calls fn for every name of the room that is not a plain directory, sorted
// bytewise by full name. Names that start with a dot, .scribe among them, are
// skipped. Links, mounts, specials and rooms inside are reported with their kind and
// never followed, and so are directories below [MaxDepth] and those whose name is
// not UTF-8. Over [MaxEntries] names it fails with "path.too-many". An error of fn
// ends the walk and is returned. A missing room is empty.
func (d *Dir) Walk(fn func(name string, e Entry) error) error {
	err := d.tree(".", func(name string, e Entry) error {
		if e.Kind == Directory && !e.deep {
			return nil
		}
		return fn(name, e)
	})
	if errors.Is(err, fs.ErrNotExist) && !d.Exists() {
		return nil
	}
	return err
}

// Describe calls fn for those of n names that are there as [Dir.Walk] would report them. It
// is cheaper than a walk, and says nothing of other names. Names in the order of a walk
// are asked for a directory at a time. What a walk would not enter has nothing.
func (d *Dir) Describe(n int, name func(i int) string, fn func(i int, e Entry)) error {
	var bases []string // of one directory
	for from := 0; from < n; from += len(bases) {
		bases = bases[:0]
		first := name(from)
		above := first[:strings.LastIndexByte(first, '/')+1]
		for i := from; i < n; i++ {
			base, ok := strings.CutPrefix(name(i), above)
			if !ok || strings.Contains(base, "/") {
				break
			}
			bases = append(bases, base)
		}
		err := d.fs.Describe(cmp.Or(strings.TrimSuffix(above, "/"), "."), bases, func(i int, e Entry) {
			if e.Kind != Directory {
				fn(from+i, e)
			}
		})
		var refused *Refusal
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.As(err, &refused) {
			return err
		}
	}
	return nil
}

// tree visits everything below dir in bytewise order, directories before their
// contents.
func (d *Dir) tree(dir string, fn func(name string, e Entry) error) error {
	entries, err := d.fs.ReadDir(dir)
	if err != nil {
		return err
	}
	left := MaxEntries
	return d.branch(dir, entries, MaxDepth, &left, fn)
}

func (d *Dir) branch(dir string, entries []Entry, depth int, left *int, fn func(name string, e Entry) error) error {
	if *left -= len(entries); *left < 0 {
		return &Refusal{Rule: "path.too-many", Path: dir}
	}
	// "a/b" sorts after "a-b" and before "a0": a directory counts with its slash.
	if slices.ContainsFunc(entries, func(e Entry) bool { return e.Kind == Directory }) {
		slices.SortFunc(entries, func(a, b Entry) int { return strings.Compare(a.sortKey(), b.sortKey()) })
	}
	above := dir + "/"
	if dir == "." {
		above = ""
	}
	paths := joined(above, entries)
	for i := range entries {
		e := entries[i]
		name := paths[:len(above)+len(e.Name)]
		paths = paths[len(name):]
		if strings.HasPrefix(e.Name, ".") {
			continue
		}
		if e.Kind != Directory {
			if err := fn(name, e); err != nil {
				return err
			}
			continue
		}
		if err := d.twig(name, e, depth, left, fn); err != nil {
			return err
		}
	}
	return nil
}

// joined is the paths of entries, end to end: one string in the place of thousands.
func joined(above string, entries []Entry) string {
	size := 0
	for i := range entries {
		size += len(above) + len(entries[i].Name)
	}
	var b strings.Builder
	b.Grow(size)
	for i := range entries {
		b.WriteString(above)
		b.WriteString(entries[i].Name)
	}
	return b.String()
}

// twig visits one directory, or reports why not.
func (d *Dir) twig(name string, e Entry, depth int, left *int, fn func(name string, e Entry) error) error {
	if depth == 0 || !utf8.ValidString(e.Name) {
		e.deep = true
		return fn(name, e)
	}
	entries, err := d.fs.ReadDir(name)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil // gone since
	case isRule(err, "path.room-inside"):
		e.Kind = Room
		return fn(name, e)
	case isRule(err, "path.link"), isRule(err, "path.mount"), isRule(err, "path.not-a-directory"):
		return nil // something else since; the next walk reports it
	case err != nil:
		return err
	}
	if err := fn(name, e); err != nil {
		return err
	}
	return d.branch(name, entries, depth-1, left, fn)
}

func (e Entry) sortKey() string {
	if e.Kind == Directory {
		return e.Name + "/"
	}
	return e.Name
}

func isRule(err error, rule string) bool {
	var r *Refusal
	return errors.As(err, &r) && r.Rule == rule
}

// Swap moves the library file tmp (in [InFlight]) to the memory p. It runs
// [Dir.CheckWrite] first, and returns the directories that have to be flushed before the
// change is durable, for [Dir.Flush].
//
// With a nil wantOld p must be absent: the file is moved to a free name, and missing
// directories are created 0700 and removed again if that fails. Otherwise p must hold
// exactly wantOld, which the caller has kept: the two files are exchanged, and what
// came out is compared. If it is something else it is put back; whatever comes out
// then and is neither wantOld nor ours is parked ([Changed].Parked).
//
// The bytes that came out as expected are at tmp afterwards, for the caller to remove.
// On [ErrChanged] the memory is as the other program left it, and tmp may be gone. On
// every other error the memory is as it was, unless the disk failed in the middle of
// putting it back: then ours may be in place and the other's bytes are in flight.
func (d *Dir) Swap(tmp string, p relpath.Path, wantOld []byte) (dirs []string, err error) {
	from, err := lib("replace", tmp)
	if err != nil {
		return nil, err
	}
	if err := d.CheckWrite(p); err != nil {
		return nil, err
	}
	if wantOld == nil {
		return d.create(from, p.String())
	}
	return []string{path.Dir(p.String())}, d.update(from, p.String(), wantOld)
}

// Replace is [Dir.Swap] and the flush of what it names. The bytes that came out are
// unlinked. On [ErrUnsynced] the swap is done.
func (d *Dir) Replace(tmp string, p relpath.Path, wantOld []byte) error {
	dirs, err := d.Swap(tmp, p, wantOld)
	if err != nil {
		return err
	}
	if err := d.Flush(dirs); err != nil {
		return err
	}
	if wantOld != nil {
		_ = d.fs.Remove(Library + "/" + tmp) // a leftover in flight; recovery removes it
	}
	return nil
}

func (d *Dir) create(from, name string) (dirs []string, err error) {
	dirs = []string{path.Dir(name)}
	made, err := d.makeDirs(path.Dir(name), func(parent string) error {
		dirs = append(dirs, parent)
		return nil
	})
	if err != nil {
		return nil, err
	}
	if err := d.fs.RenameNew(from, name); err != nil {
		d.undo(made)
		if errors.Is(err, fs.ErrExist) {
			return nil, &Changed{Path: name}
		}
		return nil, err
	}
	return dirs, nil
}

func (d *Dir) update(from, name string, wantOld []byte) error {
	ours, err := d.fs.Read(from, maxPeek)
	if err != nil {
		return err
	}
	if err := d.expect(name, wantOld); err != nil {
		return err
	}
	switch err := d.fs.Exchange(from, name); {
	case errors.Is(err, errors.ErrUnsupported):
		// The window of the package comment: from this comparison to the rename.
		if err := d.expect(name, wantOld); err != nil {
			return err
		}
		return d.fs.Rename(from, name)
	case errors.Is(err, fs.ErrNotExist):
		return &Changed{Path: name} // removed since; ours is still in flight
	case err != nil:
		return err
	}
	out, err := d.fs.Read(from, maxPeek)
	if !equal(out, wantOld) {
		return d.putBack(from, name, ours, reading(err))
	}
	return nil
}

// reading returns an error that is a fault, and nil for a refusal: what came out and
// is no plain file is simply not what was expected.
func reading(err error) error {
	var r *Refusal
	if errors.As(err, &r) {
		return nil
	}
	return err
}

// expect reads a memory and compares it.
func (d *Dir) expect(name string, want []byte) error {
	got, err := d.fs.Read(name, max(int64(len(want)), 1))
	switch {
	case errors.Is(err, fs.ErrNotExist) || isRule(err, "path.too-large"):
		return &Changed{Path: name}
	case err != nil:
		return err
	case !equal(got, want):
		return &Changed{Path: name}
	}
	return nil
}

// peek returns bytes to compare, or nil for what cannot be read as a plain file.
func (d *Dir) peek(name string) []byte {
	data, err := d.fs.Read(name, maxPeek)
	if err != nil {
		return nil
	}
	return data
}

// putBack undoes an exchange that brought out bytes which nobody expected, or which
// could not be read (failed). Whoever saves the file meanwhile wins: each exchange
// puts back the newest foreign bytes and brings out what was put there before,
// unless it is newer still.
func (d *Dir) putBack(from, name string, ours []byte, failed error) error {
	placed, held := ours, d.peek(from) // at name; in our hands
	for range maxSwaps {
		err := d.fs.Exchange(from, name)
		if errors.Is(err, fs.ErrNotExist) {
			// Removed outside, ours with it; what we hold is the last save.
			err = d.fs.RenameNew(from, name)
			if err == nil {
				return d.changed(name, "", failed)
			}
			if errors.Is(err, fs.ErrExist) {
				continue
			}
		}
		if err != nil {
			failed = errors.Join(failed, err)
			break
		}
		out := d.peek(from)
		if equal(out, placed) {
			if equal(out, ours) {
				return d.changed(name, "", failed) // still in flight, for the caller
			}
			break
		}
		placed, held = held, out
	}
	parked, err := d.park(from)
	return d.changed(name, parked, errors.Join(failed, err))
}

// park keeps foreign bytes in the library and returns their name there.
func (d *Dir) park(from string) (string, error) {
	to := Versions + "/conflict-" + path.Base(temp()) + ".md"
	if _, err := d.mkdirs(Library + "/" + Versions); err != nil {
		return "", err
	}
	if err := d.fs.RenameNew(from, Library+"/"+to); err != nil {
		return "", err
	}
	return to, d.fs.Sync(Library + "/" + Versions)
}

// changed reports a lost race, after flushing what was put back. Where the disk
// failed, that is the error; it is also a change when something had to be parked.
func (d *Dir) changed(name, parked string, failed error) error {
	if err := d.fs.Sync(path.Dir(name)); failed == nil {
		failed = err
	}
	switch {
	case failed == nil:
		return &Changed{Path: name, Parked: parked}
	case parked == "":
		return failed
	}
	return errors.Join(&Changed{Path: name, Parked: parked}, failed)
}

// Retire moves the memory p, which must hold exactly wantOld, to the library name
// to. An error says what [Dir.Replace] says. If to exists it must hold wantOld too,
// so that a retirement which a crash cut short can be repeated.
//
// The library's copy is durable before the memory goes, so that no order of a crash
// loses both; after a crash there may be both.
func (d *Dir) Retire(p relpath.Path, wantOld []byte, to string) error {
	if p.String() == "" || wantOld == nil {
		return &fs.PathError{Op: "retire", Path: ".", Err: fs.ErrInvalid}
	}
	at, err := lib("retire", to)
	if err != nil {
		return err
	}
	name := p.String()
	if err := d.expect(name, wantOld); err != nil {
		return err
	}
	made, err := d.writeNew(at, wantOld)
	fresh := !errors.Is(err, fs.ErrExist)
	if !fresh {
		if !equal(d.peek(at), wantOld) {
			return err
		}
		err = d.syncParent(at)
	}
	if err != nil {
		return err
	}
	err = d.takeOut(name, wantOld)
	if fresh && err != nil && !errors.Is(err, ErrUnsynced) {
		d.discard(at, made)
	}
	return err
}

// TakeOut unlinks the memory p, which must hold exactly wantOld, durably. The caller has
// kept those bytes. An error says what [Dir.Replace] says.
func (d *Dir) TakeOut(p relpath.Path, wantOld []byte) error {
	if p.String() == "" || wantOld == nil {
		return &fs.PathError{Op: "retire", Path: ".", Err: fs.ErrInvalid}
	}
	if err := d.expect(p.String(), wantOld); err != nil {
		return err
	}
	return d.takeOut(p.String(), wantOld)
}

// takeOut unlinks a memory that holds exactly want. It is moved aside before it is
// compared, so that what is compared is what is unlinked.
func (d *Dir) takeOut(name string, want []byte) error {
	out := temp() + TakenOut
	if _, err := d.mkdirs(path.Dir(out)); err != nil {
		return err
	}
	if err := d.fs.RenameNew(name, out); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return &Changed{Path: name}
		}
		return err
	}
	got, rerr := d.fs.Read(out, maxPeek)
	if equal(got, want) {
		if err := d.fs.Sync(path.Dir(name)); err != nil {
			return unsynced(err)
		}
		_ = d.fs.Remove(out) // a leftover in flight; recovery removes it
		return nil
	}
	err := d.fs.RenameNew(out, name)
	if err == nil {
		return d.changed(name, "", reading(rerr))
	}
	// Saved again meanwhile (or the disk fails): keep what we hold.
	parked, perr := d.park(out)
	if errors.Is(err, fs.ErrExist) {
		err = nil
	}
	return d.changed(name, parked, errors.Join(reading(rerr), err, perr))
}

// Sync flushes a memory and its directory, as recovery and the recording of an
// outside change need. What is absent, directories included, needs no flush.
func (d *Dir) Sync(p relpath.Path) error {
	if p.String() == "" {
		return &fs.PathError{Op: "sync", Path: ".", Err: fs.ErrInvalid}
	}
	for name := p.String(); name != "."; name = path.Dir(name) {
		if err := d.fs.Sync(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
			return err
		}
	}
	return d.fs.Sync(".")
}

// IsDir reports whether p is a plain directory of the room, reached through plain
// directories.
func (d *Dir) IsDir(p relpath.Path) bool {
	if p.IsZero() {
		return d.Exists()
	}
	e, err := d.fs.Lstat(p.String())
	return err == nil && e.Kind == Directory
}

// Probe looks at p without opening it, and reports what forbids to reach it: a link
// or a special file on the way, or at its end. It is nil or fs.ErrNotExist otherwise.
func (d *Dir) Probe(p relpath.Path) error {
	e, err := d.fs.Lstat(p.String())
	if err != nil {
		return err
	}
	if rule := e.Rule(); rule != "" && e.Kind != Directory {
		return &Refusal{Rule: rule, Path: p.String()}
	}
	return nil
}
