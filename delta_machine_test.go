package scribe

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/memoryroom/scribe/internal/rootfs"
)

// deltaFits: whatever changed, the budget is kept, nothing is left out in silence, and no
// lower trust is shown where a higher one is left out.
func deltaFits(t *rapid.T) {
	d := delta{baseline: rapid.Bool().Draw(t, "baseline"), left: rapid.IntRange(0, 10_000).Draw(t, "left"), low: rapid.IntRange(0, 10_000).Draw(t, "low")}
	memories := map[string]Memory{}
	for i, m := range drawMemories(t) {
		m.Path = fmt.Sprintf("%03d/%s", i, m.Path)
		memories[m.Path] = m
		c := change{path: m.Path, trust: m.Trust}
		if !d.baseline {
			c.kind = rapid.SampledFrom([]string{changeRemoved, changeUpdated, changeAdded}).Draw(t, "kind")
		}
		d.changes = append(d.changes, c)
	}
	d.standing = func(c change) (standing, error) {
		m := memories[c.path]
		s := standing{kind: active, bytes: []byte("---\ndescription: x\n---\n" + m.Description)}
		s.acc.Trust, s.acc.Time = m.Trust.String(), m.Modified
		return s, nil
	}
	most := len(d.changes)
	budget := rapid.IntRange(deltaFrameBytes, defSnapshotBytes).Draw(t, "budget")
	sn, err := d.fit(budget)
	if err != nil {
		t.Fatal(err)
	}
	if (sn.Text == "") != (most == 0) {
		t.Fatalf("%d changes give %q", most, sn.Text)
	}
	if most == 0 {
		return
	}
	if len(sn.Text) > budget || !strings.HasSuffix(sn.Text, deltaEnd) || strings.Count(sn.Text, "</memory-changes>") != 1 {
		t.Fatalf("%d bytes of %d:\n%s", len(sn.Text), budget, sn.Text)
	}
	if len(sn.Shown)+sn.Omitted != most+d.low {
		t.Fatalf("%d shown and %d omitted of %d", len(sn.Shown), sn.Omitted, most+d.low)
	}
	if over := most - len(sn.Shown); over > 0 && !strings.Contains(sn.Text, fmt.Sprintf("%d beyond the size", over)) {
		t.Fatalf("%d are left out and not counted:\n%s", over, sn.Text)
	}
	least, cost := Operator, 0
	for i, m := range sn.Shown {
		least = min(least, m.Trust)
		cost += sn.Cost[i]
		delete(memories, m.Path)
	}
	if cost > len(sn.Text) {
		t.Fatalf("the lines cost %d of %d bytes", cost, len(sn.Text))
	}
	for path, m := range memories {
		if m.Trust > least {
			t.Fatalf("%s of trust %v is left out, and one of %v is shown", path, m.Trust, least)
		}
	}
}

func TestDeltaFits(t *testing.T) { rapid.Check(t, deltaFits) }

func FuzzDeltaFits(f *testing.F) { f.Fuzz(rapid.MakeFuzz(deltaFits)) }

// telling is a state machine: the operator, this session's model and another one change a
// room; the host asks, commits, drops and restarts. heard is what the conversation
// believes, from the snapshot and the committed deltas alone.
type telling struct {
	mem   *rootfs.Mem
	opts  *Options
	room  *Room
	s     *Session
	other *Session
	n     int
	heard map[string]string // path: hash
	hand  map[string]bool   // paths that the operator touched last
	model map[string]bool   // marks that models wrote and no operator touched
}

func (m *telling) mark() string { m.n++; return fmt.Sprintf("mark%dx", m.n) }

func (m *telling) propose(t *rapid.T, by string, c Candidate) {
	var vs []Verdict
	var err error
	switch by {
	case "operator":
		vs, err = m.room.Propose(context.Background(), c)
	case "own":
		vs, err = m.s.Guard(1).Propose(context.Background(), c)
	default:
		vs, err = m.other.Guard(1).Propose(context.Background(), c)
	}
	if err != nil {
		t.Fatal(err)
	}
	if vs[0].Outcome != Accepted {
		return
	}
	for _, path := range []string{c.Path, c.To} {
		m.hand[path] = by == "operator"
	}
	if by == "operator" {
		m.touched(vs[0].Memory.Path, vs[0].Memory.Text) // renamed, too
	}
	for _, word := range strings.Fields(c.Text + " " + c.New) {
		if strings.HasPrefix(word, "mark") && by != "operator" {
			m.model[word] = true
		}
	}
}

func (m *telling) hears(t *rapid.T, sn Snapshot) {
	if err := m.s.Commit(context.Background(), sn); err != nil {
		t.Fatal(err)
	}
	for _, row := range sn.Shown {
		if row.Stage == changeRemoved {
			delete(m.heard, row.Path)
			continue
		}
		m.heard[row.Path] = row.Hash
	}
}

func (m *telling) delta(t *rapid.T) Snapshot {
	sn, err := m.s.Delta(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if sn.Omitted != 0 {
		t.Fatalf("%d omitted of a room this small:\n%s", sn.Omitted, sn.Text)
	}
	for mark := range m.model {
		if strings.Contains(sn.Text, mark) {
			t.Fatalf("a model's own words, %s, are told as the operator's:\n%s", mark, sn.Text)
		}
	}
	return sn
}

func (m *telling) open(t *rapid.T) {
	ctx := context.Background()
	m.room = memRoom(t, m.mem, m.opts)
	for id, s := range map[string]**Session{"one": &m.s, "two": &m.other} {
		var err error
		if *s, err = m.room.Session(ctx, id, UserObserved); err != nil {
			t.Fatal(err)
		}
	}
}

func (m *telling) actions() map[string]func(*rapid.T) {
	ctx := context.Background()
	path := rapid.SampledFrom(lifePaths)
	by := rapid.SampledFrom([]string{"operator", "own", "other"})
	return map[string]func(*rapid.T){
		"write": func(t *rapid.T) {
			p := path.Draw(t, "path")
			c := Candidate{Path: p, Text: "Fact " + m.mark() + " .\n"}
			if now, err := m.room.Read(ctx, p); err == nil {
				c.Base = now.Hash
			}
			m.propose(t, by.Draw(t, "by"), c)
		},
		"rename": func(t *rapid.T) {
			m.propose(t, by.Draw(t, "by"), Candidate{Path: path.Draw(t, "path"), To: path.Draw(t, "to")})
		},
		"remove": func(t *rapid.T) {
			m.propose(t, by.Draw(t, "by"), Candidate{Path: path.Draw(t, "path"), Remove: true})
		},
		"restore": func(t *rapid.T) {
			p := path.Draw(t, "path")
			if v, err := restored(m.room, p); err == nil && v.Outcome == Accepted {
				m.touched(v.Memory.Path, v.Memory.Text)
			}
		},
		"adopt": func(t *rapid.T) {
			p := path.Draw(t, "path")
			now, err := m.room.Read(ctx, p)
			if err != nil {
				return
			}
			vs, err := m.room.Adopt(ctx, rapid.SampledFrom([]Trust{UserObserved, UserVerified}).Draw(t, "trust"), now)
			if err != nil {
				t.Fatal(err)
			}
			if vs[0].Outcome == Accepted {
				m.touched(p, now.Text)
			}
		},
		"approve": func(t *rapid.T) {
			for held, err := range m.room.List(ctx, stagePending) {
				if err != nil {
					t.Fatal(err)
				}
				vs, err := m.room.Resolve(ctx, Resolution{ID: held.ID, Hash: held.Hash, Approve: true})
				if err != nil {
					t.Fatal(err)
				}
				if vs[0].Outcome == Accepted {
					m.touched(vs[0].Memory.Path, held.Text)
					m.hand[held.Path] = true
				}
				return
			}
		},
		"commit": func(t *rapid.T) {
			sn := m.delta(t)
			m.hears(t, sn)
			if again := m.delta(t); again.Text != "" {
				t.Fatalf("nothing changed, and the delta is\n%s", again.Text)
			}
		},
		"drop":    func(t *rapid.T) { m.delta(t) },
		"restart": m.open,
		"":        m.invariants,
	}
}

// touched notes that what stands there is the operator's doing now.
func (m *telling) touched(path, text string) {
	m.hand[path] = true
	for _, word := range strings.Fields(text) {
		delete(m.model, word)
	}
}

// invariants: once the delta of now is heard, the conversation knows of every memory that
// the operator touched last how it is, or that it is gone.
func (m *telling) invariants(t *rapid.T) {
	heard := maps.Clone(m.heard)
	for _, row := range m.delta(t).Shown {
		if row.Stage == changeRemoved {
			delete(heard, row.Path)
			continue
		}
		heard[row.Path] = row.Hash
	}
	for path, hand := range m.hand {
		now, err := m.room.Read(context.Background(), path)
		stands := err == nil && now.Trust >= ExternalTool
		switch {
		case !hand:
		case stands && heard[path] != now.Hash:
			t.Fatalf("%s is %.12s, and the conversation believes %.12q", path, now.Hash, heard[path])
		case !stands && heard[path] != "":
			t.Fatalf("%s is gone, and the conversation believes %.12q", path, heard[path])
		}
	}
}

func TestDeltaMachine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := &telling{mem: rootfs.NewMem(), opts: &Options{Now: tick()}, heard: map[string]string{}, hand: map[string]bool{}, model: map[string]bool{}}
		m.opts.ReviewAll = rapid.Bool().Draw(t, "review all")
		m.open(t)
		sn, err := m.s.Snapshot(context.Background())
		if err != nil {
			t.Fatal(err)
		}
		m.hears(t, sn)
		t.Repeat(m.actions())
	})
}
