package scribe

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/memoryroom/scribe/internal/rootfs"
)

// The crash sweep: a power cut before each step of every change, before each step of the
// recovery after it, and before each step of the recovery of a process that was killed.
// Every image is opened, and must hold the change wholly or not at all, and wholly once it
// was acknowledged; nothing may be left over, opening it again must change nothing, and the
// next change must go through.

// disks are the file systems that the sweep runs on: what a power cut keeps of names, and
// what the system can do.
var disks = []struct {
	name      string
	journaled bool
	lacks     []string // operations that are not supported
}{
	{"strict", false, nil},                                           // POSIX: each name by itself, in any order
	{"journaled", true, nil},                                         // ext4, XFS, btrfs: names in order, as a whole
	{"no exchange", false, []string{"exchange"}},                     // macOS and Windows without system calls of their own
	{"no exchange and no links", true, []string{"exchange", "link"}}, // FAT
}

// effort is how many images the sweep takes.
type effort struct {
	torn   int // images before each step that keep a random half, besides one of nothing and one of all
	second int // of the recoveries: cut the power in one in so many; 0: in none
	deep   int // as torn, in recoveries
}

// tally counts images over all sweeps of one run of the tests.
type tally struct{ images, distinct atomic.Int64 }

// sweep is one work on one disk.
type sweep struct {
	testing.TB
	work
	effort
	*tally
	wrap    func(*rootfs.Mem) rootfs.FS // for mutants; nil: the disk as it is
	lacks   []string
	opts    Options
	base    *rootfs.Mem // the room before the work, on the disk
	rng     *rand.Rand
	before  string
	after   string
	own     bool // MEMORY.md has a line of the user's
	seen    map[uint64]bool
	step    func(opening bool, op, name string) error // a mutant's own hook
	opening bool                                      // a room is being opened
}

const ownLine = "- my own line\n"

// newSweep prepares a work.
func newSweep(t testing.TB, w work, disk int, e effort, count *tally) *sweep {
	s := &sweep{TB: t, work: w, effort: e, tally: count, lacks: disks[disk].lacks, rng: rand.New(rand.NewPCG(uint64(disk), 1)), seen: map[uint64]bool{}}
	mem, r := w.prepared(t)
	s.opts = r.opts
	if index, err := mem.Read(indexName, maxAudit); err == nil {
		s.own = true
		mem.Plant(indexName, rootfs.File, []byte(ownLine+string(index)))
	}
	s.base = mem.CrashClone(s.rng, 1)
	if disks[disk].journaled {
		s.base.Journaled()
	}
	run := s.base.CrashClone(s.rng, 1)
	r = s.open(run)
	s.before = stateOf(t, r)
	if acked, err := w.run(r); !acked {
		t.Fatalf("control: %s does not work: %v", w.name, err)
	}
	s.after = stateOf(t, r)
	return s
}

// open opens a room, and fails the sweep if that fails.
func (s *sweep) open(mem *rootfs.Mem) *Room {
	r, err := s.tryOpen(mem)
	if err != nil {
		s.Fatal(err)
	}
	return r
}

func (s *sweep) tryOpen(mem *rootfs.Mem) (*Room, error) {
	s.arm(mem, nil)
	return s.openArmed(mem)
}

// openArmed is tryOpen under a hook that is set already.
func (s *sweep) openArmed(mem *rootfs.Mem) (*Room, error) {
	s.opening = true
	defer func() { s.opening = false }()
	o := s.opts
	o.Now = tick()
	var disk rootfs.FS = mem
	if s.wrap != nil {
		disk = s.wrap(mem)
	}
	return openOn(rootfs.New(disk), o)
}

// arm sets the hook of a disk: look sees each step that writes, before it is done.
func (s *sweep) arm(mem *rootfs.Mem, look func(op, name string)) {
	mem.Hook(func(op, name string) error {
		for _, l := range s.lacks {
			if op == l {
				return errors.ErrUnsupported
			}
		}
		if look != nil && mutates(op) {
			look(op, name)
		}
		if s.step != nil {
			return s.step(s.opening, op, name)
		}
		return nil
	})
}

// cuts gives the images of a power cut before each step of act, and after it.
func (s *sweep) cuts(mem *rootfs.Mem, torn int, act func() bool) (all []image) {
	take := func(at string, acked bool) {
		for i := range torn + 2 {
			keep := []float64{0, 1, 0.5}[min(i, 2)]
			all = append(all, image{fmt.Sprintf("%s (keep %v)", at, keep), mem.CrashClone(s.rng, keep), acked})
		}
	}
	s.arm(mem, func(op, name string) { take(op+" "+name, false) })
	acked := act()
	s.arm(mem, nil)
	take("the end", acked)
	return all
}

// once reports whether an image was not seen yet. Names in flight are drawn by lot, and
// nothing depends on them.
func (s *sweep) once(im image) bool {
	s.images.Add(1)
	d := im.mem.Digest(func(name string) string {
		if base, ext, _ := strings.Cut(name, "."); len(base) == 16 && strings.Trim(base, "0123456789abcdef") == "" {
			return "*." + ext
		}
		return name
	})
	if im.acked {
		d ^= 1
	}
	if s.seen[d] {
		return false
	}
	s.seen[d] = true
	s.distinct.Add(1)
	return true
}

// crash sweeps the work itself, and the recoveries from its images.
func (s *sweep) crash() {
	mem := s.base.CrashClone(s.rng, 1)
	r := s.open(mem)
	n := 0
	for _, im := range s.cuts(mem, s.torn, func() bool { acked, _ := s.run(r); return acked }) {
		if !s.once(im) {
			continue
		}
		n++
		if s.second > 0 && n%s.second == 0 {
			s.recover(im.at, im.mem.CrashClone(s.rng, 1), im.acked)
		}
		s.verify(im.at, im)
		if s.Failed() {
			return
		}
	}
}

// recover sweeps the opening of what a crash left.
func (s *sweep) recover(at string, mem *rootfs.Mem, acked bool) {
	for _, im := range s.cuts(mem, s.deep, func() bool { _, err := s.openArmed(mem); return err == nil && acked }) {
		im.acked = acked // by the change, whatever became of its recovery
		if s.once(im) {
			s.verify(at+", and in recovery "+im.at, im)
		}
		if s.Failed() {
			return
		}
	}
}

// kill sweeps the openings after the process was killed: what it left can be read, and is
// in the page cache only. every is the distance between the steps at which it is killed.
func (s *sweep) kill(every int) {
	for step := 0; ; step += every {
		mem := s.base.CrashClone(s.rng, 1)
		r := s.open(mem)
		at, acked := s.killAt(mem, step, r)
		if at == "" {
			return
		}
		s.recover("killed at "+at, mem, acked)
		if s.Failed() {
			return
		}
	}
}

// killAt runs the work until before one step that writes, once the change itself began: a
// lock in memory does not end with a process.
func (s *sweep) killAt(mem *rootfs.Mem, step int, r *Room) (at string, acked bool) {
	type killed struct{}
	n := 0
	mem.Hook(func(op, name string) error {
		if at != "" {
			return errors.ErrUnsupported // a dead process does nothing in its deferred calls
		}
		for _, l := range s.lacks {
			if op == l {
				return errors.ErrUnsupported
			}
		}
		if mutates(op) && op != "lock" {
			if n == step {
				at = op + " " + name
				panic(killed{})
			}
			n++
		}
		if s.step != nil {
			return s.step(s.opening, op, name)
		}
		return nil
	})
	defer func() {
		mem.Unlock()
		if e := recover(); e != nil && e != (killed{}) {
			panic(e)
		}
	}()
	acked, _ = s.run(r)
	return at, acked
}

// verify opens an image and checks all that must hold.
func (s *sweep) verify(at string, im image) {
	s.Helper()
	at = fmt.Sprintf("%s: %s (acknowledged %v)", s.name, at, im.acked)
	r, err := s.tryOpen(im.mem)
	if err != nil {
		s.Errorf("%s: the room does not open: %v", at, err)
		return
	}
	if got := stateOf(s.TB, r); got != s.after && (got != s.before || im.acked) {
		s.Errorf("%s: it holds\n  %s\nbefore\n  %s\nafter\n  %s", at, got, s.before, s.after)
	}
	if index, err := im.mem.Read(indexName, maxAudit); s.own && (err != nil || !strings.Contains("\n"+string(index), "\n"+ownLine)) {
		s.Errorf("%s: MEMORY.md is %q, %v", at, index, err)
	}
	sound(s.TB, at, im.mem, r)
	if vs, err := r.Propose(context.Background(), Candidate{Path: "later.md", Text: "later\n"}); err != nil || vs[0].Outcome != Accepted {
		s.Errorf("%s: the next change: %v, %v", at, vs, err)
	}
}

// TestG10_CrashImages is the sweep. It says how many images it took, and how many of them
// differ: equal ones are checked once.
// It holds the report crash-truncate-in-place.
func TestG10_CrashImages(t *testing.T) {
	e, every := effort{torn: 9, second: 4, deep: 1}, 3
	switch {
	case *soak:
		e, every = effort{torn: 20, second: 1, deep: 2}, 1
	case testing.Short():
		e, every = effort{torn: 1, second: 40, deep: 0}, 40
	case raceEnabled:
		e, every = effort{torn: 2, second: 20, deep: 0}, 20
	}
	var count tally
	t.Run("all", func(t *testing.T) {
		for _, w := range workload() {
			for i, disk := range disks {
				t.Run(strings.ReplaceAll(w.name+" on "+disk.name, " ", "-"), func(t *testing.T) {
					t.Parallel()
					s := newSweep(t, w, i, e, &count)
					s.crash()
					s.kill(every)
				})
			}
		}
	})
	t.Logf("%d crash images, %d of them distinct", count.images.Load(), count.distinct.Load())
	if n := count.images.Load(); n < 250_000 && !testing.Short() && !raceEnabled && !t.Failed() {
		t.Errorf("%d crash images, want 250,000", n)
	}
}

// TestG10_NamesOutlivedInFlight: after a power cut a memory's file may have more than one
// name in flight, of each change that it went through. It is the memory all the same, and
// the change under way is finished.
func TestG10_NamesOutlivedInFlight(t *testing.T) {
	for names := range 4 {
		w := workload()[slices.IndexFunc(workload(), func(w work) bool { return w.name == "edit" })]
		s := newSweep(t, w, 0, effort{}, new(tally))
		var mem *rootfs.Mem
		at := ""
		for step := 0; at != "exchange a.md"; step++ {
			mem = s.base.CrashClone(s.rng, 1)
			if at, _ = s.killAt(mem, step, s.open(mem)); at == "" {
				t.Fatal("the change exchanges nothing")
			}
		}
		for n := range names {
			if err := mem.Link("a.md", ".scribe/"+inTmp(int64(100+n), waitingExt)); err != nil {
				t.Fatal(err)
			}
		}
		again := s.open(mem)
		if got := read(t, again, "a.md"); got != "new a\n" {
			t.Errorf("%d more names: a.md is %q", names, got)
		}
		sound(t, fmt.Sprintf("%d more names", names), mem, again)
	}
}
