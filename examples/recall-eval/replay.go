package main

import (
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"os"
	"reflect"
	"slices"
	"strings"

	"github.com/memoryroom/scribe/internal/gate"
	"github.com/memoryroom/scribe/internal/lexical"
)

// kept is how many hits of a segment a session hands out.
const kept = 8

// errDiffers ends a replay whose results are not those that were recorded.
var errDiffers = errors.New("the replay differs from what was recorded")

// replays runs a recorded conversation again and compares each result, field by field, with
// the one that was recorded. With asJSON it prints the run with the results of now instead:
// that is how one is recorded.
func replays(file string, asJSON bool, out io.Writer) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	run, err := gate.DecodeRun(data)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	find, err := finder(run)
	if err != nil {
		return fmt.Errorf("%s: %w", file, err)
	}
	results, err := run.Replay(find)
	if err != nil {
		return err
	}
	if asJSON {
		for i := range run.Steps {
			run.Steps[i].Want = &results[i]
		}
		data, err := run.Encode()
		if err != nil {
			return err
		}
		_, err = out.Write(data)
		return err
	}
	recorded, differ := 0, 0
	for i, step := range run.Steps {
		if step.Want == nil {
			continue
		}
		recorded++
		if !reflect.DeepEqual(results[i], *step.Want) {
			differ++
			fmt.Fprintf(out, "segment %d differs: recorded %+v\n  now %+v\n", results[i].Decision.N, *step.Want, results[i])
		}
	}
	if _, err := fmt.Fprintf(out, "replay of %s and %s: %d segments, %d recorded, %d differ\n", run.Gate, run.Lexical, len(run.Steps), recorded, differ); err != nil {
		return err
	}
	if differ > 0 {
		return errDiffers
	}
	return nil
}

// finder searches the records of a run with the ranking that the run names.
func finder(run *gate.Run) (func(gate.Lookup) ([]gate.Hit, []gate.Drop), error) {
	for _, c := range []lexical.Contract{lexical.PreV1(), lexical.PreV2()} {
		if c.Version == run.Lexical {
			return byContract(c, run.Records), nil
		}
	}
	if run.Lexical == lexical.Version {
		return byIndex(run.Records), nil
	}
	return nil, fmt.Errorf("no ranking %.40q: it is one of %s", run.Lexical, strings.Join(policies(), ", "))
}

func byIndex(records []gate.Record) func(gate.Lookup) ([]gate.Hit, []gate.Drop) {
	x, digests := lexical.New(), map[string]string{}
	for _, r := range records {
		x.Put(lexical.Doc{ID: r.ID, Title: r.Heading, Body: r.Text, Day: r.Day})
		digests[r.ID] = r.Digest()
	}
	return func(l gate.Lookup) (hits []gate.Hit, dropped []gate.Drop) {
		day := int32(0)
		if !l.At.IsZero() {
			day = int32(l.At.Unix() / (24 * 60 * 60))
		}
		found, drops := x.Search(lexical.Query{Text: l.Text, Max: lexical.MaxHits, Day: day})
		for _, h := range found {
			switch {
			case slices.ContainsFunc(hits, func(o gate.Hit) bool { return o.Digest == digests[h.ID] }):
				dropped = append(dropped, gate.Drop{Reason: lexical.DuplicateText, ID: h.ID})
			case len(hits) == kept:
				dropped = append(dropped, gate.Drop{Reason: lexical.CandidateBudget, ID: h.ID})
			default:
				hits = append(hits, gate.Hit{ID: h.ID, Digest: digests[h.ID], Score: h.Score})
			}
		}
		counted := map[string]int{
			lexical.TermBudget: drops.Terms, lexical.ScanBudget: drops.Postings, lexical.BelowScore: drops.Below, lexical.CandidateBudget: drops.Ranked,
		}
		for _, reason := range slices.Sorted(maps.Keys(counted)) {
			if n := counted[reason]; n > 0 {
				dropped = append(dropped, gate.Drop{Reason: reason, N: n})
			}
		}
		return hits, dropped
	}
}

func byContract(c lexical.Contract, records []gate.Record) func(gate.Lookup) ([]gate.Hit, []gate.Drop) {
	all, digests := make([]lexical.Record, len(records)), map[string]string{}
	for i, r := range records {
		all[i] = lexical.Record{ID: r.ID, Heading: r.Heading, Body: r.Text, Day: r.Day, Workspace: r.Workspace}
		copy(all[i].Sum[:], r.Digest())
		digests[r.ID] = r.Digest()
	}
	rs := c.Prepare(all, func(text string) []string {
		terms, _ := gate.Terms(text, math.MaxInt)
		return terms
	})
	return func(l gate.Lookup) (hits []gate.Hit, dropped []gate.Drop) {
		q := lexical.Request{Phrases: lexical.Phrases(l.Text), At: l.At}
		for _, t := range l.Plan.Terms {
			q.Terms = append(q.Terms, lexical.Weighted{Text: t.Text, Weight: int64(t.Weight)})
		}
		best, out := rs.Rank(q)
		for _, b := range best {
			hits = append(hits, gate.Hit{ID: b.ID, Digest: digests[b.ID], Score: b.Total})
		}
		for _, o := range out {
			dropped = append(dropped, gate.Drop{Reason: o.Reason, ID: o.ID})
		}
		return hits, dropped
	}
}
