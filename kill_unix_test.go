//go:build unix

package scribe

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// The tests of this file run this test binary again, as other processes that use one room.

// roomEnv names the room to a process that is to write to it and die.
const roomEnv = "SCRIBE_TEST_KILLED_WRITER"

// TestKilledWriter is that process: it edits one memory and adds others until it is
// killed, and says of each change that it begins it, and that it was acknowledged.
func TestKilledWriter(t *testing.T) {
	spec := os.Getenv(roomEnv)
	if spec == "" {
		t.Skip("only a process of TestG10_RandomKills does this")
	}
	name, dir, _ := strings.Cut(spec, " ")
	ctx := context.Background()
	r, err := Open(dir, nil)
	if err != nil {
		fmt.Println("fail", err)
		return
	}
	for n := 0; ; n++ {
		line := fmt.Sprintf("%s-%d", name, n)
		c := Candidate{Path: "shared.md", Old: "start\n", New: "start\n" + line + "\n"}
		if n%3 == 1 {
			c = Candidate{Path: "own/" + line + ".md", Text: line + "\n"}
		}
		fmt.Println("begin", line)
		vs, err := r.Propose(ctx, c)
		switch {
		case err != nil:
			fmt.Println("fail", err)
			return
		case vs[0].Outcome == Accepted:
			fmt.Println("acked", line)
		case !errors.Is(vs[0].Err(), ErrStale):
			fmt.Println("fail", vs[0].Err())
			return
		}
		if n%40 == 39 { // the memory must not grow over its limit
			keep := "start\n"
			if m, err := r.Read(ctx, "shared.md"); err == nil && len(m.Text) > 20_000 {
				vs, err := r.Propose(ctx, Candidate{Path: fmt.Sprintf("full/%s.md", line), Text: m.Text}, Candidate{Path: "shared.md", Text: keep, Base: m.Hash})
				if err != nil {
					fmt.Println("fail", vs, err)
					return
				}
			}
		}
	}
}

// writerProcess is one of them.
type writerProcess struct {
	cmd   *exec.Cmd
	begun string // the change under way when it was killed
	acked []string
	fault string
	over  chan struct{}
}

func startWriter(t *testing.T, name, dir string) *writerProcess {
	t.Helper()
	p := &writerProcess{cmd: exec.Command(os.Args[0], "-test.run=^TestKilledWriter$"), over: make(chan struct{})}
	p.cmd.Env = append(os.Environ(), roomEnv+"="+name+" "+dir)
	out, err := p.cmd.StdoutPipe()
	if err == nil {
		err = p.cmd.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.over)
		for lines := bufio.NewScanner(out); lines.Scan(); {
			what, rest, _ := strings.Cut(lines.Text(), " ")
			switch what {
			case "begin":
				p.begun = rest
			case "acked":
				p.acked, p.begun = append(p.acked, rest), ""
			case "fail":
				p.fault = rest
			}
		}
	}()
	return p
}

// TestG10_RandomKills kills six processes on one room again and again: what was
// acknowledged is there, once, and what was not is there once or not at all.
// It holds the reports conc-two-processes and lock-dead-owner.
func TestG10_RandomKills(t *testing.T) {
	kills := 60
	switch {
	case *soak:
		kills = 2000
	case testing.Short(), raceEnabled:
		kills = 8
	}
	dir := filepath.Join(t.TempDir(), "room")
	r, err := Open(dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	store(t, r, Operator, Candidate{Path: "shared.md", Text: "start\n"})
	rng := rand.New(rand.NewPCG(uint64(kills), 3))
	var procs [6]*writerProcess
	var acked, begun []string
	end := func(i int) {
		p := procs[i]
		_ = p.cmd.Process.Kill()
		<-p.over
		_ = p.cmd.Wait()
		if p.fault != "" {
			t.Errorf("a writer failed: %s", p.fault)
		}
		acked = append(acked, p.acked...)
		if p.begun != "" {
			begun = append(begun, p.begun)
		}
	}
	for i := range procs {
		procs[i] = startWriter(t, fmt.Sprint("first", i), dir)
	}
	for n := range kills {
		time.Sleep(time.Duration(rng.IntN(60)) * time.Millisecond)
		i := rng.IntN(len(procs))
		for wait := 0; procs[i].fault == "" && wait < n%5; wait++ { // some live longer
			time.Sleep(10 * time.Millisecond)
		}
		end(i)
		procs[i] = startWriter(t, fmt.Sprint("p", n), dir)
		if t.Failed() {
			break
		}
	}
	for i := range procs {
		end(i)
	}
	r.Close()
	if r, err = Open(dir, nil); err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	all := ""
	for m, err := range r.List(context.Background()) {
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasPrefix(m.Path, "own/") && m.Text != strings.TrimSuffix(strings.TrimPrefix(m.Path, "own/"), ".md")+"\n" {
			t.Errorf("%s is torn: %q", m.Path, m.Text)
		}
		all += "\n" + m.Text
	}
	for _, line := range acked {
		if n := strings.Count(all, "\n"+line+"\n"); n != 1 {
			t.Errorf("the acknowledged %s is there %d times", line, n)
		}
	}
	for _, line := range begun {
		if n := strings.Count(all, "\n"+line+"\n"); n > 1 {
			t.Errorf("%s, which was not acknowledged, is there %d times", line, n)
		}
	}
	fs, err := r.Check(context.Background(), false)
	for _, f := range fs {
		if f.Outcome != Accepted {
			t.Errorf("check: %s %s", f.Rule, f.Field)
		}
	}
	if err != nil {
		t.Error(err)
	}
	t.Logf("%d kills, %d changes acknowledged, %d under way", kills+len(procs), len(acked), len(begun))
	if len(acked) < kills/10 {
		t.Errorf("control: %d changes were acknowledged", len(acked))
	}
}

// TestG10_EditorSaves lets an editor save a memory every few milliseconds beside a busy
// writer: each of its texts that the writer displaced is somewhere in the room. The
// naive writer, which compares and then renames, loses most of those.
func TestG10_EditorSaves(t *testing.T) {
	want := 60
	switch {
	case *soak:
		want = 10_000
	case testing.Short(), raceEnabled:
		want = 20
	}
	t.Run("scribe", func(t *testing.T) {
		if *soak {
			t.Parallel() // most of the time passes between two saves
		}
		dir := filepath.Join(t.TempDir(), "room")
		r, err := Open(dir, nil)
		if err != nil {
			t.Fatal(err)
		}
		defer r.Close()
		displaced, lost := editorBeside(t, dir, want, func(n int) (bool, error) { return writeAdopted(r, n) }, func() map[string]bool { return everyText(t, dir) })
		t.Logf("%d saves were displaced, %d of them are lost", displaced, lost)
		if least := min(want, 3); lost > 0 || displaced < least || *soak && displaced < want {
			t.Errorf("%d of %d displaced saves are lost, want none of %d", lost, displaced, want)
		}
	})
	t.Run("naive", func(t *testing.T) {
		if *soak {
			t.Parallel()
		}
		dir := t.TempDir()
		file := filepath.Join(dir, "a.md")
		displaced, lost := editorBeside(t, dir, want, func(n int) (bool, error) { return writeNaive(file, n) }, func() map[string]bool { return everyText(t, dir) })
		t.Logf("%d saves were displaced, %d of them are lost", displaced, lost)
		if 2*lost <= displaced {
			t.Errorf("control: the naive writer lost %d of %d", lost, displaced)
		}
	})
}

// writeAdopted takes what lies there as it is, and changes it.
func writeAdopted(r *Room, n int) (bool, error) {
	ctx := context.Background()
	for m, err := range r.List(ctx, stageUnaccepted) {
		if err != nil {
			return false, err
		}
		if _, err := r.Adopt(ctx, UserObserved, m); err != nil {
			return false, err
		}
	}
	c := Candidate{Path: "a.md", Text: fmt.Sprintf("writer %d\n", n)}
	if m, err := r.Read(ctx, "a.md"); err == nil {
		c.Base = m.Hash
	}
	vs, err := r.Propose(ctx, c)
	return err == nil && vs[0].Outcome == Accepted, err
}

// writeNaive compares, prepares the new file durably, and renames.
func writeNaive(file string, n int) (bool, error) {
	was, err := os.ReadFile(file)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return false, err
	}
	if len(was) > 0 { // it keeps what it knows that it replaces
		if err := os.WriteFile(fmt.Sprintf("%s.%d", file, n), was, 0o600); err != nil {
			return false, err
		}
	}
	f, err := os.Create(file + ".tmp")
	if err != nil {
		return false, err
	}
	_, err = fmt.Fprintf(f, "writer %d\n", n)
	if err = errors.Join(err, f.Sync(), f.Close()); err != nil {
		return false, err
	}
	return true, os.Rename(file+".tmp", file)
}

// everyText is every text that a file below dir holds.
func everyText(t *testing.T, dir string) map[string]bool {
	t.Helper()
	texts := map[string]bool{}
	err := filepath.Walk(dir, func(path string, fi os.FileInfo, err error) error {
		if err == nil && fi.Mode().IsRegular() {
			var data []byte
			if data, err = os.ReadFile(path); err == nil {
				texts[string(data)] = true
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return texts
}

// editorBeside runs an editor, which saves by renaming, beside a writer, until so many
// of its saves are gone from the file without the editor's doing; and counts those that are
// nowhere then.
func editorBeside(t *testing.T, dir string, want int, write func(n int) (bool, error), texts func() map[string]bool) (displaced, lost int) {
	t.Helper()
	file, mine := filepath.Join(dir, "a.md"), t.TempDir()
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	gone := map[string]bool{} // saves that somebody else replaced
	stop := make(chan struct{})
	var editor sync.WaitGroup
	editor.Go(func() {
		for n := 0; ; n++ {
			select {
			case <-stop:
				return
			case <-time.After(time.Duration(1+rand.IntN(30)) * time.Millisecond):
			}
			// It looks, as editors do, before it saves: its own last text is then known to be
			// replaced by itself, and not by the writer.
			text := fmt.Sprintf("editor %d\n", n)
			tmp := filepath.Join(mine, "save")
			if err := os.WriteFile(tmp, []byte(text), 0o600); err != nil {
				t.Error(err)
				return
			}
			if err := os.Rename(tmp, file); err != nil {
				t.Error(err)
				return
			}
			time.Sleep(time.Duration(rand.IntN(60)) * time.Millisecond)
			if now, err := os.ReadFile(file); err == nil && string(now) != text {
				mu.Lock()
				gone[text] = true
				mu.Unlock()
			}
		}
	})
	deadline := time.Now().Add(time.Duration(want) * 200 * time.Millisecond)
	for n := 0; ; n++ {
		if _, err := write(n); err != nil {
			t.Errorf("write %d: %v", n, err)
			break
		}
		mu.Lock()
		enough := len(gone) >= want
		mu.Unlock()
		if enough || time.Now().After(deadline) {
			break
		}
	}
	close(stop)
	editor.Wait()
	there := texts()
	for text := range gone {
		if displaced++; !there[text] {
			lost++
		}
	}
	return displaced, lost
}
