// Command recall measures the search of scribe side by side with others, in one run over
// the same notes: bleve (scorch on disk, English analysis), SQLite FTS5 (modernc, porter),
// and ripgrep where it is installed.
//
//	go run . -n 1000,10000,100000    # one table for each number of notes
//	go run . -n 10000 -room          # and a room of so many files: open, search, snapshot
//
// Times are CPU time of the process, children included, so that a busy machine says the
// same; ratios are what counts. The notes are made up: some 1,250 bytes of words with a
// long tail, identifiers and dates. Each query asks for words of one note, and every system
// has to find notes for it.
package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"runtime"
	"strconv"
	"strings"
	"text/tabwriter"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, out, errs io.Writer) int {
	flags := flag.NewFlagSet("recall", flag.ContinueOnError)
	flags.SetOutput(errs)
	sizes := flags.String("n", "1000,10000", "numbers of notes, with commas")
	queries := flags.Int("queries", 200, "queries of each kind")
	room := flags.Bool("room", false, "measure a room of files too")
	if err := flags.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return 0
		}
		return 2
	}
	for _, s := range strings.Split(*sizes, ",") {
		n, err := strconv.Atoi(s)
		if err != nil || n < 1 {
			fmt.Fprintf(errs, "recall: -n takes numbers, not %q\n", s)
			return 2
		}
		if err := measure(out, n, *queries, *room); err != nil {
			fmt.Fprintln(errs, "recall:", err)
			return 1
		}
	}
	return 0
}

// result is what one system came to.
type result struct {
	name   string
	build  float64 // CPU seconds; 0: nothing is built
	bytes  float64 // heap or disk
	where  string
	query  float64 // CPU microseconds, mean of warm queries
	allocs float64
	update float64 // CPU microseconds of replacing one note, median; 0: not measured
	found  int     // queries with hits
}

func measure(out io.Writer, n, queries int, room bool) error {
	dir, err := os.MkdirTemp("", "scribe-recall-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	c := corpus(n, queries)
	var all []result
	for _, system := range []func(c *notes, dir string) (result, error){own, bleveIndex, fts5} {
		runtime.GC()
		r, err := system(c, dir)
		if err != nil {
			return err
		}
		if r.found < queries*9/10 {
			return fmt.Errorf("%s found something for %d of %d queries only", r.name, r.found, queries)
		}
		all = append(all, r)
	}
	if r, ok, err := ripgrep(c, dir); err != nil {
		return err
	} else if ok {
		all = append(all, r)
	}
	fmt.Fprintf(out, "%d notes, %.1f MB, %d queries\n", n, float64(c.size)/1e6, queries)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "system\tbuild MB/s\tratio\tmemory/text\tquery us\tratio\tallocations\tupdate us\t")
	for _, r := range all {
		build, update := "-\t-", "-"
		if r.build > 0 {
			build = fmt.Sprintf("%.1f\t%.2f", float64(c.size)/1e6/r.build, all[0].build/r.build)
		}
		if r.update > 0 {
			update = fmt.Sprintf("%.0f", r.update)
		}
		fmt.Fprintf(w, "%s\t%s\t%.2f %s\t%.0f\t%.1f\t%.0f\t%s\t\n", r.name, build,
			r.bytes/float64(c.size), r.where, r.query, r.query/all[0].query, r.allocs, update)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if room {
		return roomOf(out, c, dir, all)
	}
	return nil
}
