// Command open measures what a process pays that opens a room and asks once, beside one
// ripgrep over the same directory, in one run:
//
//	go run ./open -n 1000,10000,100000
//
// Each figure is CPU time, user and system, of a whole process that has just begun, with the
// files in the page cache: the median of several, in turns with ripgrep. "rg -c" searches for
// the commonest word of the notes. A process with a cache of the room opens it, looks at
// every file for what was changed outside, searches, and checks and screens its hits. Without
// a cache it reads every file. The search of the index alone is measured one directory up.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/memoryroom/scribe"
	"github.com/memoryroom/scribe/internal/bench/recall/adopted"
	"github.com/memoryroom/scribe/internal/cli"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, out, errs io.Writer) int {
	flags := cli.Flags("open", "[-n N,N] [-rounds N]", errs)
	sizes := cli.Numbers{1000, 10_000}
	flags.Var(&sizes, "n", "numbers of notes, with commas")
	rounds := flags.Int("rounds", 9, "processes of each kind")
	room := flags.String("room", "", "only open this room, search it and end")
	if code, ok := cli.Parse(flags, args); !ok {
		return code
	}
	if *rounds < 1 {
		return cli.Wrong(flags, "-rounds takes a number from 1 on, not %d", *rounds)
	}
	if *room != "" {
		return cli.Ended(flags, visit(*room))
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "notes\tMB\twithout cache, ms\twith cache, ms\tripgrep, ms\tratio\tcache/text\t")
	for _, n := range sizes {
		if err := measure(w, n, *rounds); err != nil {
			return cli.Ended(flags, err)
		}
	}
	return cli.Ended(flags, w.Flush())
}

// question is asked of every room; asked is the word that ripgrep looks for.
const (
	asked    = "word"
	question = "what did we say about " + asked + " w17 and w230"
	most     = 1_000_000 // memories of a room
)

func options() *scribe.Options { return &scribe.Options{Limits: scribe.Limits{Memories: most}} }

// visit is what a process does that is measured.
func visit(dir string) error {
	r, err := scribe.Open(dir, options())
	if err != nil {
		return err
	}
	hits, err := r.Recall(context.Background(), scribe.Query{Text: question})
	if err == nil && len(hits) == 0 {
		err = errors.New("nothing was found")
	}
	return err // without Close, which would write the cache
}

func measure(w io.Writer, n, rounds int) error {
	dir, err := os.MkdirTemp("", "scribe-open-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	size, err := write(dir, n)
	if err != nil {
		return err
	}
	r, err := adopted.Open(context.Background(), dir, options())
	if err != nil {
		return err
	}
	if err := r.Close(); err != nil {
		return err
	}
	self, err := os.Executable()
	if err != nil {
		return err
	}
	cold, err := cpu(self, "-room", dir)
	if err != nil {
		return err
	}
	time.Sleep(3 * time.Second) // a file younger than two seconds has to be read again
	if err := keep(dir); err != nil {
		return err
	}
	cache, err := os.Stat(filepath.Join(dir, ".scribe", "cache"))
	kept := 0.0
	if err == nil {
		kept = float64(cache.Size()) / float64(size)
	}
	_, err = exec.LookPath("rg")
	grep := err == nil
	var ours, rg []time.Duration
	for range rounds {
		t, err := cpu(self, "-room", dir)
		if err != nil {
			return err
		}
		ours = append(ours, t)
		if grep {
			if t, err = cpu("rg", "--no-config", "-c", asked, dir); err != nil {
				return err
			}
			rg = append(rg, t)
		}
	}
	ms := func(t time.Duration) float64 { return float64(t.Microseconds()) / 1e3 }
	fmt.Fprintf(w, "%d\t%.1f\t%.0f\t%.1f\t", n, float64(size)/1e6, ms(cold), ms(middle(ours)))
	if grep {
		fmt.Fprintf(w, "%.1f\t%.2f\t", ms(middle(rg)), ms(middle(ours))/ms(middle(rg)))
	} else {
		fmt.Fprint(w, "-\t-\t")
	}
	fmt.Fprintf(w, "%.2f\t\n", kept)
	return nil
}

func middle(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// cpu runs a program and gives the CPU time that it took.
func cpu(name string, args ...string) (time.Duration, error) {
	c := exec.Command(name, args...)
	if err := c.Run(); err != nil {
		return 0, fmt.Errorf("%s: %w", filepath.Base(name), err)
	}
	return c.ProcessState.UserTime() + c.ProcessState.SystemTime(), nil
}

// write makes n notes of some 1,250 bytes with a long-tailed vocabulary, a hundred in a
// directory.
func write(dir string, n int) (size int, err error) {
	r := rand.New(rand.NewPCG(7, uint64(n)))
	for i := range n {
		var b strings.Builder
		fmt.Fprintf(&b, "# Note %d\n\n%s of the day: ", i, asked)
		for b.Len() < 1250 {
			v := r.Float64()
			fmt.Fprintf(&b, "w%d ", int(30_000*v*v*v*v))
			if r.IntN(12) == 0 {
				b.WriteString(".\n")
			}
		}
		at := filepath.Join(dir, fmt.Sprintf("t%04d", i/100))
		if i%100 == 0 {
			if err := os.Mkdir(at, 0o700); err != nil {
				return 0, err
			}
		}
		if err := os.WriteFile(filepath.Join(at, fmt.Sprintf("n%06d.md", i)), []byte(b.String()), 0o600); err != nil {
			return 0, err
		}
		size += b.Len()
	}
	return size, nil
}

// keep opens a room as a host does, so that closing it keeps a cache.
func keep(dir string) error {
	r, err := scribe.Open(dir, options())
	if err != nil {
		return err
	}
	if _, err := r.Recall(context.Background(), scribe.Query{Text: question}); err != nil {
		return err
	}
	return r.Close()
}
