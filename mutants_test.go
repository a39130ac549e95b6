package scribe

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/memoryroom/scribe/internal/rootfs"
)

// Mutants of the write protocol: a flush left out, an order swapped, a check dropped. The
// suite has to find a violation with each of them, or it would not find the like in the
// protocol. They are made of the file system that tests use, so that none of them is in
// the package.

// finder is a test that counts failures instead of failing.
type finder struct {
	testing.TB
	found string // the first
}

type foundEnough struct{}

func (f *finder) Helper()             {}
func (f *finder) Logf(string, ...any) {}
func (f *finder) Failed() bool        { return f.found != "" }
func (f *finder) Error(args ...any)   { f.Errorf("%s", fmt.Sprint(args...)) }
func (f *finder) Fatal(args ...any)   { f.Fatalf("%s", fmt.Sprint(args...)) }
func (f *finder) Errorf(format string, args ...any) {
	if f.found == "" {
		f.found = fmt.Sprintf(format, args...)
	}
}

func (f *finder) Fatalf(format string, args ...any) {
	f.Errorf(format, args...)
	panic(foundEnough{})
}

// finds runs a check until its first failure, and gives that.
func finds(t testing.TB, check func(t testing.TB)) string {
	f := &finder{TB: t}
	func() {
		defer func() {
			if e := recover(); e != nil && e != (foundEnough{}) {
				panic(e)
			}
		}()
		check(f)
	}()
	return f.found
}

// mutant is one fault, as a hook or as a file system around the real one.
type mutant struct {
	name  string
	step  func(opening bool, op, name string) error
	wrap  func(*rootfs.Mem) rootfs.FS
	check func(t testing.TB, m mutant) // nil: the sweep of crash images
}

// unflushed leaves out the flushes that are named.
func unflushed(which func(name string) bool) func(bool, string, string) error {
	return func(_ bool, op, name string) error {
		if op == "sync" && which(name) {
			return rootfs.ErrSkip
		}
		return nil
	}
}

func exactly(name string) func(string) bool { return func(n string) bool { return n == name } }

func ending(suffix string) func(string) bool {
	return func(n string) bool { return strings.HasSuffix(n, suffix) }
}

func inRoom(name string) bool { return !strings.HasPrefix(name, ".") }

// rowsLate appends the rows after the first swap.
type rowsLate struct {
	*rootfs.Mem
	tail []byte
}

func (f *rowsLate) Stage(files []rootfs.NewFile, log string, tail []byte, dirs ...string) (bool, error) {
	_, err := f.Mem.Stage(files, log, nil, dirs...)
	f.tail = tail
	return err == nil, err
}

func (f *rowsLate) late(err error) error {
	if tail := f.tail; err == nil && tail != nil {
		f.tail = nil
		return f.Mem.Append(".scribe/"+auditName, tail)
	}
	return err
}

func (f *rowsLate) Exchange(a, b string) error { return f.late(f.Mem.Exchange(a, b)) }

func (f *rowsLate) RenameNew(a, b string) error {
	err := f.Mem.RenameNew(a, b)
	if inRoom(b) {
		err = f.late(err)
	}
	return err
}

// inPlace writes over a memory instead of swapping it.
type inPlace struct{ *rootfs.Mem }

func (f *inPlace) Exchange(a, b string) error {
	ours, err := f.Mem.Read(a, maxAudit)
	old, oerr := f.Mem.Read(b, maxAudit)
	if err := errors.Join(err, oerr); err != nil {
		return err
	}
	return errors.Join(f.Mem.Remove(a), f.Mem.WriteNew(a, old), f.Mem.Truncate(b, 0), f.Mem.Append(b, ours))
}

// uninspected takes what came out of a swap for what was expected.
type uninspected struct {
	*rootfs.Mem
	was map[string][]byte
}

func (f *uninspected) Exchange(a, b string) error {
	err := f.Mem.Exchange(a, b)
	if err == nil {
		f.was[a] = f.was[b]
	}
	return err
}

func (f *uninspected) Read(name string, most int64) ([]byte, error) {
	if was, ok := f.was[name]; ok && !inRoom(name) {
		return was, nil
	}
	data, err := f.Mem.Read(name, most)
	if err == nil && inRoom(name) {
		f.was[name] = data
	}
	return data, err
}

// clobber creates a memory over what somebody put there meanwhile.
type clobber struct{ *rootfs.Mem }

func (f *clobber) RenameNew(a, b string) error {
	if inRoom(b) {
		return f.Mem.Rename(a, b)
	}
	return f.Mem.RenameNew(a, b)
}

// unlocked excludes nobody.
type unlocked struct{ *rootfs.Mem }

func (f *unlocked) Lock(context.Context, string) (func(), error) { return func() {}, nil }

// retrying flushes once more what could not be flushed, and believes it.
type retrying struct{ *rootfs.Mem }

func (f *retrying) Stage(files []rootfs.NewFile, log string, tail []byte, dirs ...string) (bool, error) {
	logged, err := f.Mem.Stage(files, log, tail, dirs...)
	if logged || !errors.Is(err, rootfs.ErrUnsynced) {
		return logged, err
	}
	err = f.Mem.Sync(log) // the hook saw to it that it was not cut back
	return err == nil, err
}

func mutants() []mutant {
	return []mutant{
		{name: "the new file is not flushed", step: unflushed(ending(waitingExt))},
		{name: "the version is not flushed", step: unflushed(ending(versionExt))},
		{name: "the index is not flushed", step: unflushed(exactly(".scribe/" + indexTmp))},
		{name: "the journal is not flushed", step: unflushed(exactly(".scribe/" + auditName))},
		{name: "the names in tmp are not flushed", step: unflushed(exactly(".scribe/tmp"))},
		{name: "the room's directory is not flushed", step: unflushed(exactly("."))},
		{name: "the memories' directories are not flushed", step: unflushed(inRoom)},
		{name: "the versions' directory is not flushed", step: unflushed(exactly(".scribe/versions"))},
		{name: "recovery flushes nothing", step: func(opening bool, op, _ string) error {
			if opening && op == "sync" {
				return rootfs.ErrSkip
			}
			return nil
		}},
		{name: "a torn tail is not cut off", step: func(opening bool, op, _ string) error {
			if opening && op == "truncate" {
				return rootfs.ErrSkip
			}
			return nil
		}},
		{name: "the rows come after the swap", wrap: func(m *rootfs.Mem) rootfs.FS { return &rowsLate{Mem: m} }},
		{name: "memories are written in place", wrap: func(m *rootfs.Mem) rootfs.FS { return &inPlace{m} }},
		{name: "what came out is not inspected", wrap: func(m *rootfs.Mem) rootfs.FS { return &uninspected{m, map[string][]byte{}} }, check: editors},
		{name: "a new memory replaces what is there", wrap: func(m *rootfs.Mem) rootfs.FS { return &clobber{m} }, check: editors},
		{name: "the lock excludes nobody", wrap: func(m *rootfs.Mem) rootfs.FS { return &unlocked{m} }, check: twoWriters},
		{name: "a failed flush is tried again", wrap: func(m *rootfs.Mem) rootfs.FS { return &retrying{m} }, check: failedFlush},
	}
}

// few works and disks are enough for a mutant: what it breaks, it breaks everywhere.
func fewWorks() []work {
	return slices.DeleteFunc(workload(), func(w work) bool {
		return !slices.Contains([]string{"add", "edit", "rename with labels", "plan", "archive"}, w.name)
	})
}

// images sweeps crash images.
func crashImages(t testing.TB, m mutant) {
	for _, w := range fewWorks() {
		for disk := range disks[:1] {
			s := newSweep(t, w, disk, effort{torn: 4, second: 4, deep: 1}, new(tally))
			s.step, s.wrap = m.step, m.wrap
			s.crash()
			s.kill(3)
			if t.Failed() {
				return
			}
		}
	}
}

// editors saves a memory before each step of a change.
func editors(t testing.TB, m mutant) {
	const saved = "saved by an editor\n"
	for _, w := range []struct{ name, path string }{{"edit", "a.md"}, {"add", "n/c.md"}} {
		i := slices.IndexFunc(workload(), func(x work) bool { return x.name == w.name })
		s := newSweep(t, workload()[i], 0, effort{}, new(tally))
		s.wrap = m.wrap
		for step, where := 0, "x"; where != ""; step++ {
			mem := s.base.CrashClone(s.rng, 1)
			r := s.open(mem)
			n := 0
			where = ""
			mem.Hook(func(op, name string) error {
				if n == step {
					where = op + " " + name
					mem.Plant(w.path, rootfs.File, []byte(saved))
				}
				n++
				return nil
			})
			_, _ = s.run(r)
			mem.Hook(nil)
			if where != "" && !holds(t, mem, w.path, saved) {
				t.Errorf("%s saved at %s: the bytes are gone", w.path, where)
				return
			}
		}
	}
}

// twoWriters lets two processes edit one memory.
func twoWriters(t testing.TB, m mutant) {
	ctx := context.Background()
	mem := rootfs.NewMem()
	opened := func() *Room {
		o, err := new(Options).settle()
		if err != nil {
			t.Fatal(err)
		}
		disk := rootfs.FS(mem)
		if m.wrap != nil {
			disk = m.wrap(mem)
		}
		r, err := openOn(rootfs.New(disk), o)
		if err != nil {
			t.Fatal(err)
		}
		return r
	}
	first := opened()
	if _, err := first.Propose(ctx, Candidate{Path: "a.md", Text: "start\n"}); err != nil {
		t.Fatal(err)
	}
	mem.Hook(func(string, string) error { // or one may be done before the other begins, on a busy machine
		runtime.Gosched()
		return nil
	})
	var wg sync.WaitGroup
	var mu sync.Mutex
	var acked, failed []string
	for i, r := range []*Room{first, opened()} {
		wg.Go(func() {
			for k := range 40 {
				line := fmt.Sprintf("w%d-%d\n", i, k)
				vs, err := r.Propose(ctx, Candidate{Path: "a.md", Old: "start\n", New: "start\n" + line})
				mu.Lock()
				if err != nil {
					failed = append(failed, err.Error())
				} else if vs[0].Outcome == Accepted {
					acked = append(acked, line)
				}
				mu.Unlock()
			}
		})
	}
	wg.Wait()
	mem.Hook(nil)
	if len(failed) > 0 {
		t.Fatalf("a change failed: %s", failed[0])
	}
	text := read(t, opened(), "a.md")
	for _, line := range acked {
		if strings.Count(text, line) != 1 {
			t.Errorf("acknowledged %q is there %d times", line, strings.Count(text, line))
		}
	}
}

// failedFlush fails one flush of the journal, and then cuts the power.
func failedFlush(t testing.TB, m mutant) {
	w := workload()[2]
	s := newSweep(t, w, 0, effort{}, new(tally))
	s.wrap = m.wrap
	mem := s.base.CrashClone(s.rng, 1)
	r := s.open(mem)
	failures := 1
	mem.Hook(func(op, name string) error {
		if op == "sync" && strings.HasSuffix(name, auditName) && failures > 0 {
			failures--
			return syscall.EIO
		}
		if op == "truncate" && m.wrap != nil {
			return rootfs.ErrSkip
		}
		return nil
	})
	acked, _ := s.run(r)
	if failures > 0 {
		panic("the journal was not flushed")
	}
	mem.Hook(nil)
	s.verify("the journal's flush failed", image{"", mem.CrashClone(s.rng, 0), acked})
}

func TestG10_MutantsAreCaught(t *testing.T) {
	caught, all := 0, mutants()
	if testing.Short() || raceEnabled { // one of each kind
		all = []mutant{all[3], all[12], all[15]}
	}
	for _, m := range all {
		if m.check == nil {
			m.check = crashImages
		}
		if found := finds(t, func(t testing.TB) { m.check(t, m) }); found != "" {
			caught++
			line, _, _ := strings.Cut(found, "\n")
			t.Logf("%s: %.160s", m.name, line)
		} else {
			t.Errorf("%s: not caught", m.name)
		}
		if m.wrap != nil && m.check != nil { // the same check finds nothing without the fault
			sane := m
			sane.wrap, sane.step = nil, nil
			if found := finds(t, func(t testing.TB) { m.check(t, sane) }); found != "" {
				t.Errorf("control of %s: %s", m.name, found)
			}
		}
	}
	t.Logf("%d of %d mutants caught", caught, len(all))
}
