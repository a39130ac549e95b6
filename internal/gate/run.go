package gate

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"
)

// MaxFinds is how many queries of a conversation are remembered to have found something.
const MaxFinds = 64

// The outcomes of a segment.
const (
	Suppressed = "suppressed" // nothing was searched
	Completed  = "completed"
	Empty      = "empty"
	Stale      = "stale"
	Cancelled  = "cancelled"
	Deadline   = "deadline"
	Failed     = "error"
)

// voids are the reasons for which a whole result counts for nothing, and their outcomes. No
// replay can find them out: they depend on clocks, disks and other processes. So a run has
// them as they were recorded.
var voids = map[string]string{
	"stale-context": Stale, "stale-index": Stale, "cancelled": Cancelled, "disposed-before-complete": Cancelled,
	"deadline": Deadline, "internal-error": Failed,
}

// Run is a conversation that was recorded with all that its results depend on.
type Run struct {
	Gate    string // version of the policy
	Lexical string // version of the ranking
	Session string // stands for the conversation in the IDs: any name that is always the same
	Records []Record
	Steps   []Step
}

// Record is a memory as it was; the records of a run do not change.
type Record struct {
	ID        string `json:"id"`
	Heading   string `json:"heading,omitempty"`
	Text      string `json:"text"`
	Day       int32  `json:"day,omitempty"` // its date, in days since 1970-01-01; 0: none
	Workspace bool   `json:"workspace,omitempty"`
}

// Step is one segment of a run.
type Step struct {
	Input
	Void string  // why its result was void; "": it was not
	Want *Result // what was recorded; nil: nothing was
}

// Result is what a step came to. It depends on no clock, and on nothing that is not in the
// run: results of one run are equal field by field.
type Result struct {
	Decision Decision `json:"gate"`
	ID       string   `json:"id"`
	Index    string   `json:"index,omitempty"` // version of what was searched
	Outcome  string   `json:"outcome"`
	Hits     []Hit    `json:"hits,omitempty"` // best first
	Dropped  []Drop   `json:"dropped,omitempty"`
}

// Hit is a record that was found.
type Hit struct {
	ID        string `json:"id"`
	Digest    string `json:"digest"`              // of its text
	Score     int64  `json:"score"`               // 1e-6
	Candidate string `json:"candidate,omitempty"` // of this result alone; a replay gives it
}

// Drop is what was not handed out, by the reasons of the contract.
type Drop struct {
	Reason string `json:"reason"`
	ID     string `json:"id,omitempty"`
	N      int    `json:"n,omitempty"` // how many, where they are only counted
}

// Lookup is what a search is asked: a text for the one ranking, a plan for another.
type Lookup struct {
	Text string
	Plan Plan
	At   time.Time // when the segment happened
}

// Replay gives the results of a run under the policy that it names. find searches its
// records; it has to be a function of what it is asked. Nothing is written anywhere.
func (run *Run) Replay(find func(Lookup) (hits []Hit, dropped []Drop)) ([]Result, error) {
	p, err := policyOf(run.Gate)
	if err != nil {
		return nil, err
	}
	index := run.index()
	var s State
	var finds []string
	out := make([]Result, 0, len(run.Steps))
	for _, step := range run.Steps {
		in := step.Input
		in.Fresh = finds
		r, before := Result{Outcome: Suppressed}, s
		r.Decision, s = p.Decide(s, in)
		if r.Decision.Action != Suppress {
			r.Index = index
			r.Hits, r.Dropped = find(Lookup{s.Query(), p.plan(s.window), in.Segment.Time})
			switch {
			case step.Void != "":
				r.Outcome, r.Hits, r.Dropped = voids[step.Void], nil, []Drop{{Reason: step.Void}}
				if r.Outcome == Cancelled || r.Outcome == Failed {
					s = before // as if the segment had not come: it may come again
				}
			case len(r.Hits) == 0:
				r.Outcome = Empty
			default:
				r.Outcome = Completed
				finds = append(slices.Clone(finds[max(0, len(finds)+1-MaxFinds):]), r.Decision.Query)
			}
		}
		run.name(&r)
		out = append(out, r)
	}
	return out, nil
}

func policyOf(version string) (Policy, error) {
	for _, p := range []Policy{Contract(), Calibrated()} {
		if p.Version == version {
			return p, nil
		}
	}
	return Policy{}, fmt.Errorf("no gate policy %.40q: it is one of %s, %s", version, Contract().Version, Calibrated().Version)
}

// name gives a result and its hits their IDs: the contract's under its policy, but of what was
// not searched, for which it has none.
func (run *Run) name(r *Result) {
	contract := run.Gate == Contract().Version && r.Index != ""
	n := r.Decision.N
	if contract {
		r.ID = ContractRetrieval(run.Session, int64(n), strconv.Itoa(n), r.Index, run.Gate, run.Lexical)
	} else {
		r.ID = "ret_" + brief("retrieval", run.Session, strconv.Itoa(n), r.Decision.Segment, r.Index, run.Gate, run.Lexical)
	}
	for i := range r.Hits {
		h := &r.Hits[i]
		if contract {
			h.Candidate = ContractCandidate(r.ID, h.ID, "", 0, h.Digest)
		} else {
			h.Candidate = "cand_" + brief("candidate", r.ID, h.ID, h.Digest)
		}
	}
}

// index names the records, in whatever order they are. Under the contract's policy each is
// a source of its own, as a memory is a file here.
func (run *Run) index() string {
	if run.Gate == Contract().Version {
		sources := make([]Source, len(run.Records))
		for i, r := range run.Records {
			sources[i] = Source{Scope: "User", Ref: r.ID, Digest: r.Digest()}
			if r.Workspace {
				sources[i].Scope = "Workspace"
			}
		}
		return ContractIndex(sources)
	}
	lines := make([]string, len(run.Records))
	for i, r := range run.Records {
		lines[i] = fmt.Sprintf("%q %s %d %t", r.ID, r.Digest(), r.Day, r.Workspace)
	}
	slices.Sort(lines)
	return "idx_" + brief(append([]string{"index"}, lines...)...)
}

// Digest names the text of a record, in hex.
func (r *Record) Digest() string { return brief("record", r.Heading, r.Text) }

// brief is a digest of 32 hex digits.
func brief(parts ...string) string {
	h := sha256.New()
	for _, p := range parts {
		fmt.Fprintf(h, "%d:%s", len(p), p)
	}
	return hex.EncodeToString(h.Sum(nil))[:32]
}

// The bounds of a recorded run.
const (
	maxSteps   = 10_000
	maxRecords = 10_000
	maxRun     = 64 << 20 // bytes
)

// runHead is the first line of a recorded run, and runLine any other: a record or a segment.
type runHead struct {
	Run     int    `json:"run"` // 1
	Gate    string `json:"gate"`
	Lexical string `json:"lexical"`
	Session string `json:"session"`
}

type runLine struct {
	Record  *Record     `json:"record,omitempty"`
	Segment *runSegment `json:"segment,omitempty"`
	Void    string      `json:"void,omitempty"`
	Ignored bool        `json:"ignored,omitempty"`
	Want    *Result     `json:"want,omitempty"`
}

type runSegment struct {
	N      int       `json:"n"`
	Kind   string    `json:"kind"`
	Text   string    `json:"text"`
	Tool   string    `json:"tool,omitempty"`
	Failed bool      `json:"failed,omitempty"`
	Plugin string    `json:"plugin,omitempty"`
	Child  bool      `json:"child,omitempty"`
	Time   time.Time `json:"time,omitzero"`
}

// DecodeRun reads a recorded run: JSON lines, a head, then records and segments. A field that
// is not known, a reason that is none or a record of an ID that is taken is an error,
// which names the line and quotes nothing of it but a word.
func DecodeRun(data []byte) (*Run, error) {
	if len(data) > maxRun {
		return nil, fmt.Errorf("the run has %d bytes; the limit is %d", len(data), maxRun)
	}
	run, ids, n := (*Run)(nil), map[string]bool{}, 0
	for line := range bytes.Lines(data) {
		n++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		var err error
		if run == nil {
			run, err = decodeHead(line)
		} else {
			err = run.decodeLine(line, ids)
		}
		if err != nil {
			return nil, fmt.Errorf("line %d: %w", n, err)
		}
	}
	if run == nil {
		return nil, errors.New("the run is empty: its first line is a head")
	}
	return run, nil
}

func decodeHead(line []byte) (*Run, error) {
	var h runHead
	if err := strictly(line, &h); err != nil {
		return nil, err
	}
	if h.Run != 1 {
		return nil, fmt.Errorf("a head with \"run\": 1 is to come first, not %d", h.Run)
	}
	if _, err := policyOf(h.Gate); err != nil {
		return nil, err
	}
	return &Run{Gate: h.Gate, Lexical: h.Lexical, Session: h.Session}, nil
}

func (run *Run) decodeLine(line []byte, ids map[string]bool) error {
	var l runLine
	if err := strictly(line, &l); err != nil {
		return err
	}
	switch _, reason := voids[l.Void]; {
	case (l.Record == nil) == (l.Segment == nil):
		return errors.New("a line is a record or a segment")
	case l.Record != nil && (l.Void != "" || l.Ignored || l.Want != nil):
		return errors.New("void, ignored and want are for segments")
	case l.Record != nil && (l.Record.ID == "" || ids[l.Record.ID]):
		return errors.New("a record needs an ID of its own")
	case l.Void != "" && !reason:
		return fmt.Errorf("void is %.40q; it can be one of %s", l.Void, strings.Join(slices.Sorted(voidNames), ", "))
	case len(run.Records) == maxRecords || len(run.Steps) == maxSteps:
		return fmt.Errorf("more than %d records or %d segments", maxRecords, maxSteps)
	}
	if l.Record != nil {
		ids[l.Record.ID] = true
		run.Records = append(run.Records, *l.Record)
		return nil
	}
	s := Segment(*l.Segment)
	run.Steps = append(run.Steps, Step{Input: Input{Segment: &s, Ignored: l.Ignored}, Void: l.Void, Want: l.Want})
	return nil
}

func voidNames(yield func(string) bool) {
	for name := range voids {
		if !yield(name) {
			return
		}
	}
}

// strictly decodes one value and nothing after it.
func strictly(line []byte, v any) error {
	d := json.NewDecoder(bytes.NewReader(line))
	d.DisallowUnknownFields()
	if err := d.Decode(v); err != nil {
		return err
	}
	if d.More() {
		return errors.New("more than one value")
	}
	return nil
}

// Encode writes a run so that DecodeRun reads it. Steps without a segment are left out: none
// is recorded.
func (run *Run) Encode() ([]byte, error) {
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(runHead{1, run.Gate, run.Lexical, run.Session}); err != nil {
		return nil, err
	}
	for i := range run.Records {
		if err := enc.Encode(runLine{Record: &run.Records[i]}); err != nil {
			return nil, err
		}
	}
	for _, s := range run.Steps {
		if s.Segment == nil {
			continue
		}
		segment := runSegment(*s.Segment)
		if err := enc.Encode(runLine{Segment: &segment, Void: s.Void, Ignored: s.Ignored, Want: s.Want}); err != nil {
			return nil, err
		}
	}
	return b.Bytes(), nil
}
