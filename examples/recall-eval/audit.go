package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/memoryroom/scribe/internal/cli"
)

// audit is what the rows of a shadow audit add up to. They say what a search did, and not
// whether showing it would have helped anybody.
type audit struct {
	Files     int            `json:"files"`
	Bytes     int64          `json:"bytes"`
	Rows      int            `json:"rows"`
	Epochs    int            `json:"epochs"`
	Missed    int            `json:"rows_that_could_not_be_written"`
	Actions   map[string]int `json:"actions"`
	Reasons   map[string]int `json:"reasons"`
	Outcomes  map[string]int `json:"outcomes"`
	Drops     map[string]int `json:"drops"`
	Raw       int            `json:"raw_hits"`
	Kept      int            `json:"kept_hits"`
	Duplicate float64        `json:"duplicate_rate"` // of the raw hits
	Void      float64        `json:"void_rate"`      // of the searches: stale, cancelled or over a deadline
	P50       int64          `json:"p50_us"`         // of the searches
	P99       int64          `json:"p99_us"`
}

// auditRow is what is read of a row.
type auditRow struct {
	Epoch int
	Gate  struct{ Action, Reason string }

	Outcome string
	Dropped []struct {
		Reason string
		N      int
	}
	Counts struct{ Raw, Kept int }
	Us     struct{ Total int64 }
	Missed int `json:"audit_write_failed"`
}

// audits reads a folder of <date>.jsonl, .scribe/shadow of a room.
func audits(dir string, asJSON bool, out io.Writer) error {
	files, err := filepath.Glob(filepath.Join(dir, "*.jsonl"))
	if err != nil {
		return err
	}
	if len(files) == 0 {
		return errors.New("no <date>.jsonl in the folder: give the .scribe/shadow of a room whose Options.Suggest is \"shadow\"")
	}
	a := audit{Files: len(files), Actions: map[string]int{}, Reasons: map[string]int{}, Outcomes: map[string]int{}, Drops: map[string]int{}}
	epochs, took := map[int]bool{}, []int64(nil)
	for _, file := range files {
		info, err := os.Stat(file)
		if err != nil {
			return err
		}
		a.Bytes += info.Size()
		err = eachLine(file, func(line []byte) error {
			var row auditRow
			if err := json.Unmarshal(line, &row); err != nil {
				return err
			}
			a.add(row)
			epochs[row.Epoch] = true
			if row.Outcome != "suppressed" {
				took = append(took, row.Us.Total)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	a.finish(epochs, took)
	return cli.Print(out, a, asJSON, a.print)
}

func (a *audit) print(out io.Writer) error {
	fmt.Fprintf(out, "%d rows of %d bytes in %d files, %d epochs, %d more could not be written\n", a.Rows, a.Bytes, a.Files, a.Epochs, a.Missed)
	for _, part := range []struct {
		name string
		of   map[string]int
	}{{"actions", a.Actions}, {"reasons", a.Reasons}, {"outcomes", a.Outcomes}, {"drops", a.Drops}} {
		fmt.Fprintf(out, "%s: %s\n", part.name, counts(part.of))
	}
	_, err := fmt.Fprintf(out, "searches: %d raw hits, %d kept, %.3f duplicates, %.3f void, p50 %d us, p99 %d us\n", a.Raw, a.Kept, a.Duplicate, a.Void, a.P50, a.P99)
	return err
}

func (a *audit) add(row auditRow) {
	a.Rows++
	a.Missed += row.Missed
	a.Actions[row.Gate.Action]++
	a.Reasons[row.Gate.Reason]++
	a.Outcomes[row.Outcome]++
	a.Raw, a.Kept = a.Raw+row.Counts.Raw, a.Kept+row.Counts.Kept
	for _, d := range row.Dropped {
		a.Drops[d.Reason] += max(d.N, 1)
	}
}

func (a *audit) finish(epochs map[int]bool, took []int64) {
	a.Epochs = len(epochs)
	a.Duplicate = share(a.Drops["duplicate-content"], a.Raw)
	a.Void = share(a.Outcomes["stale"]+a.Outcomes["cancelled"]+a.Outcomes["deadline"], len(took))
	if slices.Sort(took); len(took) > 0 {
		at := func(percent int) int64 { return took[max((len(took)*percent+99)/100, 1)-1] } // nearest rank
		a.P50, a.P99 = at(50), at(99)
	}
}

// counts lists names and numbers, the largest first.
func counts(of map[string]int) string {
	names := slices.SortedStableFunc(maps.Keys(of), func(a, b string) int {
		if of[a] != of[b] {
			return of[b] - of[a]
		}
		return strings.Compare(a, b)
	})
	var all []string
	for _, name := range names {
		all = append(all, fmt.Sprintf("%s %d", name, of[name]))
	}
	if all == nil {
		return "none"
	}
	return strings.Join(all, ", ")
}
