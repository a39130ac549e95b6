package main

import (
	"encoding/json"
	"path/filepath"
	"strings"
	"testing"

	"github.com/memoryroom/scribe/examples/internal/golden"
)

// conversations are those that the gate's own tests hold it to.
var conversations = filepath.Join("..", "..", "internal", "gate", "testdata", "cases.jsonl")

func TestGate(t *testing.T) {
	code, out, errs := program(t, "-gate", conversations, "-json")
	if code != 0 || errs != "" {
		t.Fatalf("exit code %d: %s", code, errs)
	}
	var mixes []mix
	if err := json.Unmarshal([]byte(out), &mixes); err != nil || len(mixes) != 2 {
		t.Fatal(err, out)
	}
	contract, ours := mixes[0], mixes[1]
	for _, m := range mixes {
		if m.Retrieve+m.Prefetch+m.Suppress != m.Segments || m.Segments < 150 || !m.Replayed {
			t.Errorf("%+v", m)
		}
	}
	if contract.Policy != "gate_pre_v1" || ours.Recall < contract.Recall+0.5 || ours.Precise < 0.9 || ours.Worth != contract.Worth {
		t.Errorf("%+v\n%+v", contract, ours)
	}
	if code, out, _ := program(t, "-gate", conversations); code != 0 || strings.Count(out, "\n") != 3 || !strings.Contains(out, "equal") {
		t.Errorf("exit code %d:\n%s", code, out)
	}
}

// TestMix counts on a conversation whose answers are plain.
func TestMix(t *testing.T) {
	file := filepath.Join(t.TempDir(), "one.jsonl")
	golden.Write(t, file, `{"id":"a","label":"rs.","segments":[{"kind":"user","text":"Do you remember the port?"},{"kind":"user","text":"Do you remember the host?"},{"kind":"user","text":"thanks a bunch"}]}`)
	_, out, errs := program(t, "-gate", file, "-json")
	var mixes []mix
	if err := json.Unmarshal([]byte(out), &mixes); err != nil {
		t.Fatal(err, errs)
	}
	if m := mixes[1]; m.Retrieve != 2 || m.Suppress != 1 || m.Worth != 1 || m.Found != 1 || m.Wrong != 1 || m.Recall != 1 || m.Precise != 0.5 || m.Reasons["cooldown"] != 1 {
		t.Errorf("%+v", m)
	}
}

func TestGateRefuses(t *testing.T) {
	dir := t.TempDir()
	for name, line := range map[string]string{"short.jsonl": `{"id":"a","label":"r","segments":[]}`, "broken.jsonl": `{`} {
		golden.Write(t, filepath.Join(dir, name), line)
		if code, _, errs := program(t, "-gate", filepath.Join(dir, name)); code != 1 || errs == "" {
			t.Errorf("%s: exit code %d, %q", name, code, errs)
		}
	}
	if code, _, errs := program(t, "-gate", conversations, "-leak"); code != 2 || !strings.Contains(errs, "alone") {
		t.Errorf("exit code %d, %q", code, errs)
	}
}

// TestLeak: queries of one scope find nothing of another's room, and something of their own.
func TestLeak(t *testing.T) {
	dir := t.TempDir()
	golden.Write(t, filepath.Join(dir, corpusFile),
		`{"id":"1","scope":"a","title":"Tea","text":"Green tea is served at four."}`,
		`{"id":"2","scope":"a","title":"Cake","text":"Lemon cake is baked on Fridays."}`,
		`{"id":"1","scope":"b","title":"Ferry","text":"The ferry leaves from the north pier."}`,
		`{"id":"2","scope":"b","title":"Tea","text":"Black tea is sold at the pier."}`)
	golden.Write(t, filepath.Join(dir, queriesFile),
		`{"id":"q1","scope":"a","text":"when is green tea served","relevant":["1"]}`,
		`{"id":"q2","scope":"b","text":"where does the ferry leave","relevant":["1"]}`)
	code, out, errs := program(t, "-cases", dir, "-leak", "-json")
	var all []leak
	if err := json.Unmarshal([]byte(out), &all); code != 0 || err != nil || len(all) != 1 {
		t.Fatal(code, err, errs)
	}
	if l := all[0]; l.Rooms != 2 || l.Asked != 4 || l.Hits < 2 || l.Leaked != 0 || l.Touched != 0 {
		t.Errorf("%+v", l)
	}
}
