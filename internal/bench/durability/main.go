package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
)

func main() {
	dir := flag.String("dir", "", "where to write; by default below the system's temporary directory, which may be in memory")
	slice := flag.Duration("slice", 300*time.Millisecond, "how long a variant writes before the next one's turn")
	rounds := flag.Int("rounds", 8, "how many turns each variant has")
	flag.Parse()
	if err := report(os.Stdout, *dir, *slice, *rounds); err != nil {
		fmt.Fprintln(os.Stderr, "durability:", err)
		os.Exit(1)
	}
}

// result is what one variant came to.
type result struct {
	changes int
	spent   time.Duration
	waits   []time.Duration // of each change
	flushes float64         // of the device, a change; negative: not counted
}

func (r result) rate() float64 { return float64(r.changes) / r.spent.Seconds() }

func (r result) percentile(p int) time.Duration {
	slices.Sort(r.waits)
	return r.waits[(len(r.waits)-1)*p/100]
}

// report runs all variants in turns, and prints the table.
func report(out io.Writer, dir string, slice time.Duration, rounds int) error {
	base, err := os.MkdirTemp(dir, "durability")
	if err != nil {
		return err
	}
	defer os.RemoveAll(base)
	all := variants()
	results, err := race(filepath.Join(base, "rates"), all, slice, rounds)
	if err != nil {
		return err
	}
	why := "counted by the device under an ext4 of its own"
	if err := countFlushes(base, all, results); err != nil {
		why = "not counted here: " + err.Error()
	}
	var lite [17]float64
	for i, v := range all {
		if v.name == "SQLite, WAL, synchronous FULL" {
			lite[v.writers] = results[i].rate()
		}
	}
	fmt.Fprintln(out, "| stored by | writers | survives | changes/s | beside SQLite | p50 | p99 | device flushes a change |")
	fmt.Fprintln(out, "| --- | ---: | --- | ---: | ---: | ---: | ---: | ---: |")
	for i, v := range all {
		r, flushes := results[i], "-"
		if r.flushes >= 0 {
			flushes = fmt.Sprintf("%.1f", r.flushes)
		}
		fmt.Fprintf(out, "| %s | %d | %s | %.0f | %.2f | %v | %v | %s |\n", v.name, v.writers, v.durable, r.rate(), r.rate()/lite[v.writers],
			r.percentile(50).Round(10*time.Microsecond), r.percentile(99).Round(10*time.Microsecond), flushes)
	}
	_, err = fmt.Fprintf(out, "\nMemories of %d bytes. Device flushes: %s.\n", bodySize, why)
	return err
}

// opened is a variant that is ready to write.
type opened struct {
	put   func(writer int, n int64) error
	close func() error
	next  []int64 // of each writer
}

func openAt(dir string, v variant) (*opened, error) {
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return nil, err
	}
	put, closed, err := v.open(dir, v.writers)
	return &opened{put, closed, make([]int64, v.writers)}, err
}

// write lets all writers of a variant write until the time is over, or each has made most
// changes.
func (o *opened) write(r *result, until time.Duration, most int) error {
	var wg sync.WaitGroup
	var mu sync.Mutex
	var first error
	start := time.Now()
	for w := range o.next {
		wg.Go(func() {
			for i := 0; i < most && (until == 0 || time.Since(start) < until); i++ {
				o.next[w]++
				began := time.Now()
				err := o.put(w, o.next[w]*int64(len(o.next))+int64(w))
				mu.Lock()
				if err != nil && first == nil {
					first = err
				}
				r.changes++
				r.waits = append(r.waits, time.Since(began))
				mu.Unlock()
				if err != nil {
					return
				}
			}
		})
	}
	wg.Wait()
	r.spent += time.Since(start)
	return first
}

// race gives each variant its turns, so that what else runs on the machine hits all alike.
func race(base string, all []variant, slice time.Duration, rounds int) ([]result, error) {
	results, open := make([]result, len(all)), make([]*opened, len(all))
	for i, v := range all {
		var err error
		if open[i], err = openAt(filepath.Join(base, fmt.Sprint(i)), v); err != nil {
			return nil, fmt.Errorf("%s: %w", v.name, err)
		}
		defer open[i].close()
		results[i].flushes = -1
		var warm result
		if err := open[i].write(&warm, 0, 4); err != nil {
			return nil, fmt.Errorf("%s: %w", v.name, err)
		}
	}
	for range rounds {
		for i, v := range all {
			if err := open[i].write(&results[i], slice, 1<<30); err != nil {
				return nil, fmt.Errorf("%s: %w", v.name, err)
			}
		}
	}
	return results, nil
}

// flushChanges is how many changes of each writer flushes are counted over.
const flushChanges = 40

// countFlushes counts the flushes of a device for each variant.
func countFlushes(base string, all []variant, results []result) error {
	for i, v := range all {
		n, err := flushesOf(filepath.Join(base, fmt.Sprint("count", i)), v)
		if err != nil {
			return err
		}
		results[i].flushes = n
	}
	return nil
}

// diskSize is the size in bytes of the disk that counts.
const diskSize = 128 << 20

func flushesOf(base string, v variant) (float64, error) {
	if err := os.MkdirAll(base, 0o700); err != nil {
		return 0, err
	}
	d, dir, done, err := countingDisk(base, diskSize)
	if err != nil {
		return 0, err
	}
	defer done()
	o, err := openAt(filepath.Join(dir, "w"), v)
	if err != nil {
		return 0, err
	}
	defer o.close()
	var warm, r result
	if err := o.write(&warm, 0, 4); err != nil {
		return 0, err
	}
	before, _ := d.count()
	if err := o.write(&r, 0, flushChanges); err != nil {
		return 0, err
	}
	after, _ := d.count()
	return float64(after-before) / float64(r.changes), nil
}
