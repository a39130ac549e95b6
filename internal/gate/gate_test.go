package gate

import (
	"encoding/json"
	"flag"
	"os"
	"strings"
	"testing"
	"time"
)

var update = flag.Bool("update", false, "write what the policies decide into testdata/cases.jsonl")

// conversation is a labelled case: for each segment the label says what it is worth, r, p
// or s, or "." where people would not agree; want is what each policy says.
type conversation struct {
	ID       string            `json:"id"`
	Label    string            `json:"label"`
	Want     map[string]string `json:"want"`
	Segments []struct {
		Kind   string `json:"kind"`
		Text   string `json:"text"`
		Tool   string `json:"tool,omitempty"`
		Plugin string `json:"plugin,omitempty"`
		Failed bool   `json:"failed,omitempty"`
		Child  bool   `json:"child,omitempty"`
		At     int64  `json:"at"` // milliseconds
	} `json:"segments"`
}

func (c conversation) inputs() (all []Input) {
	start := time.Date(2026, 9, 21, 8, 0, 0, 0, time.UTC)
	for i, s := range c.Segments {
		all = append(all, Input{Segment: &Segment{
			N: i + 1, Kind: s.Kind, Text: s.Text, Tool: s.Tool, Plugin: s.Plugin, Failed: s.Failed, Child: s.Child,
			Time: start.Add(time.Duration(s.At) * time.Millisecond),
		}})
	}
	return all
}

func actionsOf(ds []Decision) string {
	var b strings.Builder
	for _, d := range ds {
		b.WriteByte(d.Action[0])
	}
	return b.String()
}

func conversations(t testing.TB) (all []conversation) {
	t.Helper()
	data, err := os.ReadFile("testdata/cases.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		var c conversation
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatalf("%v in %s", err, line)
		}
		all = append(all, c)
	}
	return all
}

// held reports whether a case was written after the policy's words and numbers were set.
func (c conversation) held() bool { return strings.HasPrefix(c.ID, "apart-") }

// TestConversations holds each policy to its decisions, so that no change of a word or a
// number goes unnoticed.
func TestConversations(t *testing.T) {
	all := conversations(t)
	if *update {
		writeConversations(t, all)
	}
	if len(all) < 100 {
		t.Fatalf("only %d conversations", len(all))
	}
	for _, c := range all {
		for _, p := range []Policy{Contract(), Calibrated()} {
			if got := actionsOf(p.Replay(c.inputs())); got != c.Want[p.Version] {
				t.Errorf("%s: %s gives %s, want %s", c.ID, p.Version, got, c.Want[p.Version])
			}
		}
	}
}

// TestLabels measures both policies by what people would want: of the segments that are
// worth a look how many retrieve, and of those that retrieve how many are. The cases that
// were set apart are no worse than the others.
func TestLabels(t *testing.T) {
	type score struct{ worth, found, wrong int }
	count := func(p Policy, held bool) (s score) {
		for _, c := range conversations(t) {
			if c.held() != held {
				continue
			}
			for i, d := range p.Replay(c.inputs()) {
				switch worth := c.Label[i] == 'r'; {
				case worth && d.Action == Retrieve:
					s.worth, s.found = s.worth+1, s.found+1
				case worth:
					s.worth++
				case d.Action == Retrieve && c.Label[i] == 's':
					s.wrong++
				}
			}
		}
		return s
	}
	for _, held := range []bool{false, true} {
		ours, theirs := count(Calibrated(), held), count(Contract(), held)
		t.Logf("held %v: calibrated %+v, contract %+v", held, ours, theirs)
		if ours.found*10 < ours.worth*8 || ours.wrong > 0 {
			t.Errorf("held %v: the calibrated policy finds %d of %d, and %d wrongly", held, ours.found, ours.worth, ours.wrong)
		}
		if theirs.found*2 > theirs.worth {
			t.Errorf("held %v: the contract's finds %d of %d: is it still the contract's?", held, theirs.found, theirs.worth)
		}
	}
}

func writeConversations(t *testing.T, all []conversation) {
	t.Helper()
	var b strings.Builder
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	for i, c := range all {
		c.Want = map[string]string{}
		for _, p := range []Policy{Contract(), Calibrated()} {
			c.Want[p.Version] = actionsOf(p.Replay(c.inputs()))
		}
		if all[i] = c; enc.Encode(c) != nil {
			t.Fatal("a case does not encode")
		}
	}
	if err := os.WriteFile("testdata/cases.jsonl", []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}
