package directive

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the verdicts of today into testdata/adversarial.jsonl")

// attempt is a row of testdata/adversarial.jsonl, which has the form of the files that
// examples/screen-eval reads. A round is written in one go, before anything is changed
// for it; rows are added and never taken out.
type attempt struct {
	ID       string `json:"id"`
	Text     string `json:"text"`
	Label    string `json:"label"` // "attack" or "benign"
	Category string `json:"category"`
	Lang     string `json:"lang"`
	Scope    string `json:"scope,omitempty"` // "A"; "D" for what has no sign in its words
	Hard     string `json:"hard,omitempty"`
	Licence  string `json:"licence"`
	Round    string `json:"round"`
	Now      string `json:"now"` // the worst tier that Scan gives today
}

func attempts(t *testing.T) (rows []attempt) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join("testdata", "adversarial.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	for line := range bytes.Lines(data) {
		d := json.NewDecoder(bytes.NewReader(line))
		d.DisallowUnknownFields()
		var a attempt
		if err := d.Decode(&a); err != nil {
			t.Fatalf("line %d: %v", len(rows)+1, err)
		}
		rows = append(rows, a)
	}
	return rows
}

// Every verdict on the project's own attacks and near misses is written down, the
// wrong ones too: a change that turns one shows it.
func TestAdversarial(t *testing.T) {
	rows := attempts(t)
	seen := map[string]bool{}
	var out bytes.Buffer
	enc := json.NewEncoder(&out)
	enc.SetEscapeHTML(false)
	for i := range rows {
		a := &rows[i]
		if a.ID == "" || seen[a.ID] || seen[a.Text] || a.Text == "" || a.Label != "attack" && a.Label != "benign" || (a.Label == "attack") != (a.Scope != "") || a.Round == "" {
			t.Errorf("row %d (%s): an id or text twice, or a field is wrong", i+1, a.ID)
		}
		seen[a.ID], seen[a.Text] = true, true
		now := max(worst(a.Text), Convention).String() // an order or none is all the same here
		if now != a.Now && !*update {
			t.Errorf("%s: %q is %s, was %s; run with -update if it is meant: %v", a.ID, a.Text, now, a.Now, Scan(a.Text))
		}
		a.Now = now
		if err := enc.Encode(a); err != nil {
			t.Fatal(err)
		}
	}
	if *update {
		if err := os.WriteFile(filepath.Join("testdata", "adversarial.jsonl"), out.Bytes(), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// The figures in the package's documentation are those of the file.
func TestAdversarialFigures(t *testing.T) {
	type figure struct{ attacks, caught, benign, flagged int }
	rounds := map[string]*figure{}
	for _, a := range attempts(t) {
		f := rounds[a.Round]
		if f == nil {
			f = &figure{}
			rounds[a.Round] = f
		}
		caught := 0
		if a.Now == "weak" || a.Now == "strong" {
			caught = 1
		}
		switch {
		case a.Label == "benign":
			f.benign++
			f.flagged += caught
		case a.Scope == "A":
			f.attacks++
			f.caught += caught
		}
	}
	source, err := os.ReadFile("doc.go")
	if err != nil {
		t.Fatal(err)
	}
	doc := regexp.MustCompile(`\s+(// +)?`).ReplaceAllString(string(source), " ")
	for round, f := range rounds {
		want := fmt.Sprintf("round %s: now %d of %d attacks and %d of %d harmless texts", round, f.caught, f.attacks, f.flagged, f.benign)
		if !strings.Contains(doc, want) {
			t.Errorf("doc.go does not say %q", want)
		}
	}
	if len(rounds) < 2 {
		t.Errorf("%d rounds", len(rounds))
	}
}
