// Command recall measures the search of scribe side by side with others, in one run over
// the same notes: bleve (scorch on disk, English analysis, BM25, one segment), SQLite FTS5
// (modernc, porter, BM25, optimized), and ripgrep where it is installed. Each gives its
// ten best, of all that have any word of the query.
//
//	go run . -n 1000,10000,100000    # one table for each number of notes
//	go run . -n 10000 -room          # and a room of so many files: open, search, snapshot
//	go run . -cases DIR              # over the texts and the queries of labelled sets
//
// Times are CPU time of the process, children included, so that a busy machine says the
// same; ratios are what counts. Notes and queries are made up after what was counted in
// real ones: see kinds. Every system has to find something for nine queries of ten.
package main

import (
	"fmt"
	"io"
	"os"
	"runtime"
	"text/tabwriter"

	"github.com/memoryroom/scribe/internal/cli"
)

func main() { os.Exit(run(os.Args[1:], os.Stdout, os.Stderr)) }

func run(args []string, out, errs io.Writer) int {
	flags := cli.Flags("recall", "[-n N,N | -cases DIR] [-queries N] [-room]", errs)
	sizes := cli.Numbers{1000, 10_000}
	flags.Var(&sizes, "n", "numbers of notes, with commas")
	queries := flags.Int("queries", 100, "queries, of all kinds together")
	cases := flags.String("cases", "", "a folder of labelled English sets, as examples/recall-eval reads them; instead of made-up notes")
	room := flags.Bool("room", false, "measure a room of files too")
	if code, ok := cli.Parse(flags, args); !ok {
		return code
	}
	if *cases != "" {
		c, err := labelled(*cases, *queries)
		if err == nil {
			err = measure(out, c, *room)
		}
		return cli.Ended(flags, err)
	}
	for _, n := range sizes {
		if err := measure(out, corpus(n, *queries), *room); err != nil {
			return cli.Ended(flags, err)
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
	query  [len(kinds)]float64 // CPU microseconds, mean of warm queries, by kind
	allocs float64
	update float64 // CPU microseconds of replacing one note, median; 0: not measured
	found  int     // queries with hits
}

func measure(out io.Writer, c *notes, room bool) error {
	dir, err := os.MkdirTemp("", "scribe-recall-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(dir)
	var all []result
	for _, system := range []func(c *notes, dir string) (result, error){own, bleveIndex, fts5} {
		runtime.GC()
		r, err := system(c, dir)
		if err != nil {
			return err
		}
		if r.found < len(c.questions)*9/10 {
			return fmt.Errorf("%s found something for %d of %d queries only", r.name, r.found, len(c.questions))
		}
		all = append(all, r)
	}
	if r, ok, err := ripgrep(c, dir); err != nil {
		return err
	} else if ok {
		all = append(all, r)
	}
	table(out, c, all)
	if room {
		return roomOf(out, c, dir, all)
	}
	return nil
}

func table(out io.Writer, c *notes, all []result) {
	var asked [len(kinds)]int
	for i := range c.questions {
		asked[c.questions[i].kind]++
	}
	fmt.Fprintf(out, "%d notes, %.1f MB, %d queries; query: CPU us, and over that of scribe\n", len(c.all), float64(c.size)/1e6, len(c.questions))
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	head := "system\tbuild MB/s\tratio\tmemory/text\tall queries\tratio\t"
	for i, k := range kinds {
		if asked[i] > 0 {
			head += fmt.Sprintf("%d %s\tratio\t", asked[i], k.name)
		}
	}
	fmt.Fprintln(w, head+"allocations\tupdate us\t")
	for _, r := range all {
		build, update := "-\t-", "-"
		if r.build > 0 {
			build = fmt.Sprintf("%.1f\t%.2f", float64(c.size)/1e6/r.build, all[0].build/r.build)
		}
		if r.update > 0 {
			update = fmt.Sprintf("%.0f", r.update)
		}
		fmt.Fprintf(w, "%s\t%s\t%.2f %s\t", r.name, build, r.bytes/float64(c.size), r.where)
		times := func(us, ours float64) { fmt.Fprintf(w, "%.0f\t%.1f\t", us, us/ours) }
		mean := func(r *result) (sum float64) {
			for i, n := range asked {
				sum += r.query[i] * float64(n) / float64(len(c.questions))
			}
			return sum
		}
		times(mean(&r), mean(&all[0]))
		for i, n := range asked {
			if n > 0 {
				times(r.query[i], all[0].query[i])
			}
		}
		fmt.Fprintf(w, "%.0f\t%s\t\n", r.allocs, update)
	}
	_ = w.Flush()
}
