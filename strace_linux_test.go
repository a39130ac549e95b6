package scribe

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// The tests of this file run this test binary again under strace, which kills it at one
// system call, or has one fail. What a crash image can not show, because it is of our model
// of a file system, shows here: what is in the kernel when a process ends.

// tracedEnv names, to a process that is to be traced, the room, the file for its report and
// the error that is injected.
const tracedEnv = "SCRIBE_TEST_TRACED"

// tracedSteps are the changes that the process makes, one after another, beginning with no
// room at all.
func tracedSteps() []func(r *Room) (acked bool, err error) {
	ctx := context.Background()
	hand := func(cs ...Candidate) func(*Room) (bool, error) {
		return func(r *Room) (bool, error) { return ackOf(r.Propose(ctx, cs...)) }
	}
	return []func(*Room) (bool, error){
		hand(Candidate{Path: "a.md", Text: "one\n"}),
		hand(Candidate{Path: "d/b.md", Description: "x", Text: "two\n"}),
		hand(Candidate{Path: "a.md", Old: "one", New: "three"}),
		hand(Candidate{Path: "a.md", To: "e/z.md"}),
		hand(Candidate{Path: "f.md", Description: "f", Text: "four\n", Supersedes: []string{"d/b.md"}}),
		hand(Candidate{Path: "g.md", Text: "five\n"}, Candidate{Path: "e/z.md", Old: "three", New: "six"}),
		func(r *Room) (bool, error) {
			s, err := r.Session(ctx, "holder", UserObserved)
			if err != nil {
				return false, err
			}
			vs, err := s.Guard(1).Propose(ctx, Candidate{Path: "g.md", Text: "seven\n"})
			return err == nil && vs[0].Outcome == Held, err
		},
		func(r *Room) (bool, error) { return ackOf(resolveAll(r, true)) },
		func(r *Room) (bool, error) { err := archived(r, "f.md"); return err == nil, err },
		func(r *Room) (bool, error) { return ackOne(restored(r, "f.md")) },
		hand(Candidate{Path: "e/z.md", Remove: true}),
		func(r *Room) (bool, error) {
			_, err := r.Purge(ctx, "g.md", "x")
			return err == nil, err // what it could not remove it names, and the next Open removes
		},
		func(r *Room) (bool, error) { _, err := r.Prune(ctx, 0, 0, false); return err == nil, err },
	}
}

// TestTraced is the process. It says of each step that it was acknowledged, or how it
// failed, and stops then. pwrite64 is a call that nothing else here makes, and that is never
// made to fail.
func TestTraced(t *testing.T) {
	spec := strings.Split(os.Getenv(tracedEnv), "\n")
	if len(spec) != 3 {
		t.Skip("only a process of TestG10_KillAtEverySyscall does this")
	}
	runtime.LockOSThread() // strace counts the calls of each thread
	fd, err := syscall.Open(spec[1], syscall.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	injected, _ := strconv.Atoi(spec[2])
	at := int64(0)
	say := func(format string, args ...any) {
		line := fmt.Sprintf(format+"\n", args...)
		_, _ = syscall.Pwrite(fd, []byte(line), at)
		at += int64(len(line))
	}
	say("begun")
	r, err := Open(spec[0], nil)
	for n, step := range tracedSteps() {
		acked := false
		if err == nil {
			acked, err = step(r)
		}
		switch {
		case err != nil:
			say("failed %v %v", injected != 0 && errors.Is(err, syscall.Errno(injected)), err)
			return
		case !acked:
			say("refused %d", n)
			return
		}
		say("acked")
	}
	say("done")
}

// tracer runs the process again and again.
type tracer struct {
	*testing.T
	strace, base string
	states       []string // what the room holds after so many steps
}

func newTracer(t *testing.T) *tracer {
	strace, err := exec.LookPath("strace")
	if err != nil {
		t.Skipf("needs strace: %v", err)
	}
	tr := &tracer{T: t, strace: strace, base: fastDir(t)} // what is in the kernel does not depend on a disk
	r, err := Open(filepath.Join(tr.base, "model"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	tr.states = []string{stateOf(t, r)}
	for n, step := range tracedSteps() {
		if acked, err := step(r); !acked {
			t.Fatalf("control: step %d: %v", n, err)
		}
		tr.states = append(tr.states, stateOf(t, r))
	}
	return tr
}

// command is the process under strace, with a room and a report in dir.
func (tr *tracer) command(dir string, errno syscall.Errno, args ...string) (cmd *exec.Cmd, room, report string) {
	tr.Helper()
	room, report = filepath.Join(dir, "room"), filepath.Join(dir, "report")
	if err := os.WriteFile(report, nil, 0o600); err != nil {
		tr.Fatal(err)
	}
	cmd = exec.Command(tr.strace, append(append([]string{"-f", "-qqq"}, args...), os.Args[0], "-test.run=^TestTraced$")...)
	cmd.Env = append(os.Environ(), "GOMAXPROCS=1", "GODEBUG=asyncpreemptoff=1", "GOGC=off",
		fmt.Sprintf("%s=%s\n%s\n%d", tracedEnv, room, report, int(errno)))
	return cmd, room, report
}

// count gives how often the thread that makes the most of each call makes it.
func (tr *tracer) count(names []string) map[string]int {
	tr.Helper()
	dir, err := os.MkdirTemp(tr.base, "count")
	if err != nil {
		tr.Fatal(err)
	}
	defer os.RemoveAll(dir)
	log := filepath.Join(dir, "log")
	cmd, _, _ := tr.command(dir, 0, "-o", log, "-e", "trace="+strings.Join(names, ","))
	if out, err := cmd.CombinedOutput(); strings.Contains(string(out), "strace:") {
		tr.Skipf("strace can not do this here: %.200s", out)
	} else if err != nil {
		tr.Fatalf("control: %v\n%s", err, out)
	}
	data, err := os.ReadFile(log)
	if err != nil {
		tr.Fatal(err)
	}
	of, most := map[string]int{}, map[string]int{}
	for line := range strings.Lines(string(data)) {
		thread, rest, _ := strings.Cut(line, " ")
		call, _, ok := strings.Cut(strings.TrimSpace(rest), "(")
		if ok && slices.Contains(names, call) {
			of[thread+" "+call]++
			most[call] = max(most[call], of[thread+" "+call])
		}
	}
	return most
}

// run runs the process with one injection, and looks at the room that it leaves. ended says
// that nothing was injected; counted, that the process had begun when it was.
func (tr *tracer) run(call, inject string, errno syscall.Errno) (ended, counted bool) {
	tr.Helper()
	what := fmt.Sprintf("inject=%s:%s", call, inject)
	dir, err := os.MkdirTemp(tr.base, "run")
	if err != nil {
		tr.Fatal(err)
	}
	defer os.RemoveAll(dir)
	args := []string{"-o", "/dev/null", "-e", "trace=" + call, "-e", what}
	if errno != 0 {
		args = append(args, "--seccomp-bpf") // many times faster; but strace injects no signal then
	}
	cmd, room, report := tr.command(dir, errno, args...)
	out, cerr := cmd.CombinedOutput()
	if strings.Contains(string(out), "strace:") {
		tr.Skipf("strace can not do this here: %.200s", out)
	}
	data, err := os.ReadFile(report)
	if err != nil {
		tr.Fatal(err)
	}
	said := string(data)
	acked := strings.Count(said, "acked\n")
	r, err := Open(room, nil)
	if err != nil {
		tr.Errorf("%s, after %d steps: the room does not open: %v", what, acked, err)
		return false, true
	}
	defer r.Close()
	got := stateOf(tr, r)
	if got != tr.states[acked] && got != tr.states[min(acked+1, len(tr.states)-1)] {
		tr.Errorf("%s, after %d steps: it holds\n  %s\nafter that many\n  %s\nafter one more\n  %s", what, acked, got, tr.states[acked], tr.states[min(acked+1, len(tr.states)-1)])
	}
	if errno == syscall.ENOSPC {
		wellOnDisk(tr, what, r, "check.archive") // a copy for people, for which there was no space
	} else {
		wellOnDisk(tr, what, r)
	}
	if acked > 0 || got != tr.states[0] {
		if vs, err := r.Propose(context.Background(), Candidate{Path: "later.md", Text: "later\n"}); err != nil || vs[0].Outcome != Accepted {
			tr.Errorf("%s: the next change: %v, %v", what, vs, err)
		}
	}
	if i := strings.Index(said, "failed "); i >= 0 {
		noPath(tr, errors.New(said[i:]), dir)
		if !strings.HasPrefix(said[i:], "failed true") {
			tr.Errorf("%s: the fault is not in the chain of %q", what, said[i:])
		}
	}
	if strings.Contains(said, "refused ") {
		tr.Errorf("%s: %q", what, said)
	}
	return cerr == nil && strings.HasSuffix(said, "done\n"), said != ""
}

// writingCalls are the system calls that write, and openat, which may.
var writingCalls = []string{"openat", "mkdirat", "write", "fsync", "sync_file_range", "renameat", "renameat2", "linkat", "unlinkat", "flock", "io_submit", "io_getevents"}

// TestG10_KillAtEverySyscall kills a process at each call of each system call that writes,
// or that comes between two of those, and opens what it leaves: what it acknowledged is
// there, once, what it was doing is done or not done, and Check finds nothing.
func TestG10_KillAtEverySyscall(t *testing.T) {
	names, stride, most := writingCalls, 1, 1<<30
	if !*soak {
		names, stride, most = []string{"renameat2", "linkat", "unlinkat"}, 9, 3
		if testing.Short() || raceEnabled {
			most = 1
		}
	}
	tr := newTracer(t)
	kills := 0
	for _, call := range names {
		n, stride := 0, stride
		if call == "openat" {
			stride *= 5 // most of them only read
		}
		for at, runs := 1, 0; runs < most; at, runs = at+stride, runs+1 {
			ended, counted := tr.run(call, fmt.Sprintf("signal=KILL:when=%d", at), 0)
			if ended {
				break
			}
			if counted {
				n++
			}
		}
		kills += n
		t.Logf("%s: %d kills", call, n)
	}
	t.Logf("%d kills", kills)
	if kills < 3 {
		t.Errorf("control: %d kills", kills)
	}
}

// TestG10_ErrorAtEverySyscall has each call that writes fail once, and from then on for
// good, with each error that a disk gives: the process stops at the first step that says
// so, its error carries the fault and shows no place, and the room is as with a kill.
func TestG10_ErrorAtEverySyscall(t *testing.T) {
	names, stride, most := writingCalls, 1, 1<<30
	if !*soak {
		names, stride, most = []string{"write", "renameat2", "fsync"}, 17, 1
		if testing.Short() || raceEnabled {
			names = names[1:2]
		}
	}
	tr := newTracer(t)
	calls := tr.count(names)
	injections := 0
	for _, call := range names {
		n, stride := 0, stride
		if call == "openat" {
			stride *= 10 // most of them only read
		}
		for _, e := range []struct {
			name  string
			errno syscall.Errno
		}{{"EIO", syscall.EIO}, {"ENOSPC", syscall.ENOSPC}, {"EACCES", syscall.EACCES}} {
			for _, when := range []string{"%d", "%d+"} {
				for at, runs := 1, 0; runs < most && at <= calls[call]; at, runs = at+stride, runs+1 {
					if _, counted := tr.run(call, fmt.Sprintf("error=%s:when="+when, e.name, at), e.errno); counted {
						n++
					}
				}
			}
		}
		injections += n
		t.Logf("%s: %d injections", call, n)
	}
	t.Logf("%d injections", injections)
	if injections < 3 {
		t.Errorf("control: %d injections", injections)
	}
}
