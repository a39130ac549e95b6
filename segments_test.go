package scribe

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/memoryroom/scribe/internal/journal"
	"github.com/memoryroom/scribe/internal/rootfs"
)

// smallSegments makes a room seal its journal every few rows.
func smallSegments() *Options { return &Options{segment: 1_500} }

// sealedFiles counts the sealed files of a room's journal.
func sealedFiles(t testing.TB, r *Room) int {
	t.Helper()
	names, err := r.disk.LibList(segmentDir)
	if err != nil {
		t.Fatal(err)
	}
	return len(names)
}

// upkeep sweeps power cuts, and power cuts in the recovery after them, over works that
// are not a change of a memory. every is the share of images whose recovery is cut too.
func upkeep(t *testing.T, every int, works ...work) {
	for _, w := range works {
		t.Run(strings.ReplaceAll(w.name, " ", "-"), func(t *testing.T) {
			t.Parallel()
			before, after := w.ends(t)
			for _, keep := range []float64{0, 0.5, 1} {
				rng := rand.New(rand.NewPCG(7, uint64(keep*2)))
				mem, r := w.prepared(t)
				for n, im := range images(mem, rng, keep, func() bool { acked, _ := w.run(r); return acked }) {
					crashRecovery(t, fmt.Sprintf("keep %v, %d: %s", keep, n, im.at), im, rng, before, after, *soak || n%every == 0)
					if t.Failed() && !*soak {
						return
					}
				}
			}
		})
	}
}

func TestG10_CrashWhileSealing(t *testing.T) {
	ctx := context.Background()
	hand := func(c Candidate) func(*Room) (bool, error) {
		return func(r *Room) (bool, error) { return ackOf(r.Propose(ctx, c)) }
	}
	rows := func(n int) func(testing.TB, *Room) {
		return func(t testing.TB, r *Room) {
			store(t, r, Operator, Candidate{Path: "a.md", Text: "old a\n"})
			for i := range n {
				wantAccepted(t, byHand(t, r, Candidate{Path: "b.md", Text: fmt.Sprint(i), Base: hashOf(r, "b.md")}))
			}
			r.opts.segment = 1_000 // full now: the next lock seals
		}
	}
	upkeep(t, 3,
		work{"first seal", nil, rows(3), hand(Candidate{Path: "a.md", Old: "old", New: "new"})},
		work{"later seal", smallSegments(), rows(12), hand(Candidate{Path: "a.md", Old: "old", New: "new"})},
	)
}

// hashOf is the hash of an accepted memory; "" for none.
func hashOf(r *Room, path string) string {
	m, err := r.Read(context.Background(), path)
	if err != nil {
		return ""
	}
	return m.Hash
}

func TestSealedJournal(t *testing.T) {
	ctx := context.Background()
	r, mem := newRoom(t, smallSegments())
	early := reopen(t, mem, smallSegments()) // reads rows that are sealed under it
	wantAccepted(t, byHand(t, r, Candidate{Path: "a.md", Text: "0"}))
	if _, err := early.Head(); err != nil {
		t.Fatal(err)
	}
	for i := range 40 {
		wantAccepted(t, byHand(t, r, Candidate{Path: "a.md", Text: fmt.Sprint(i + 1), Base: hashOf(r, "a.md")}))
		if i%9 == 0 && read(t, early, "a.md") != fmt.Sprint(i+1) {
			t.Fatalf("a reader from before row %d does not follow", i)
		}
	}
	if n := sealedFiles(t, r); n < 5 {
		t.Fatalf("control: %d files were sealed", n)
	}
	for name, r := range map[string]*Room{"writer": r, "early": early, "reopened": reopen(t, mem, nil)} {
		if got := read(t, r, "a.md"); got != "40" {
			t.Errorf("%s: reads %q", name, got)
		}
		var seq int64
		for rec, err := range r.History(ctx, "") {
			if seq++; err != nil || rec.Seq != seq {
				t.Fatalf("%s: history has %v, %v where row %d should be", name, rec.Seq, err, seq)
			}
		}
		if head, err := r.Head(); err != nil || !strings.HasPrefix(head, fmt.Sprint(seq, ":")) {
			t.Errorf("%s: head %q, %v after row %d", name, head, err, seq)
		}
		if fs, err := r.Check(ctx, false); err != nil || len(fs) > 0 {
			t.Errorf("%s: check: %v, %v", name, fs, err)
		}
	}
	if v, err := rolledBack(r, 2, "a.md"); err != nil || v.Outcome != Accepted || read(t, early, "a.md") != "0" {
		t.Errorf("rollback to a sealed row: %v, %v, then %q", v.Findings, err, read(t, early, "a.md"))
	}
}

// TestG10_CheckpointIsACache: a checkpoint never counts over the journal, whoever wrote
// either of them.
func TestG10_CheckpointIsACache(t *testing.T) {
	made := func(t *testing.T) (*Room, *rootfs.Mem) {
		r, mem := newRoom(t, smallSegments())
		for i := range 20 {
			wantAccepted(t, byHand(t, r, Candidate{Path: fmt.Sprintf("m%d.md", i), Text: fmt.Sprint("fact ", i)}))
		}
		return r, mem
	}
	lib := func(r *Room, name string) []byte {
		data, err := r.disk.LibRead(name, maxAudit)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	opened := func(mem *rootfs.Mem) (*Room, error) { return tryOpen(t, mem) }
	t.Run("is used", func(t *testing.T) {
		_, mem := made(t)
		r, err := opened(mem)
		if err != nil || r.ledger.fresh >= 20 || len(listed(t, r)) != 20 {
			t.Fatalf("%v: %d rows decoded, %d memories", err, r.ledger.fresh, len(listed(t, r)))
		}
	})
	t.Run("deleted", func(t *testing.T) {
		r, mem := made(t)
		want := stateOf(t, r)
		mem.Unplant(".scribe/" + checkpointName)
		if r, err := opened(mem); err != nil || stateOf(t, r) != want {
			t.Errorf("%v", err)
		}
	})
	for name, change := range map[string]func([]byte) []byte{
		"a sealed row changed": func(data []byte) []byte {
			return bytes.Replace(data, []byte(`"trust":"operator"`), []byte(`"trust":"oqerator"`), 1)
		},
		"a sealed row gone":   func(data []byte) []byte { return data[bytes.IndexByte(data, '\n')+1:] },
		"a sealed file cut":   func(data []byte) []byte { return data[:len(data)/2] },
		"a sealed file empty": func([]byte) []byte { return nil },
	} {
		t.Run(name, func(t *testing.T) {
			r, mem := made(t)
			seg := segmentName(1)
			mem.Plant(".scribe/"+seg, rootfs.File, change(lib(r, seg)))
			var pe *fs.PathError
			if _, err := opened(mem); !errors.As(err, &pe) || pe.Op != "verify" {
				t.Errorf("opened: %v", err)
			}
		})
	}
	t.Run("a sealed file missing", func(t *testing.T) {
		_, mem := made(t)
		mem.Unplant(".scribe/" + segmentName(1))
		if _, err := opened(mem); err == nil {
			t.Error("opened")
		}
	})
	other := bytes.Repeat([]byte{7}, keySize)
	for name, forge := range map[string]func(file, body []byte) []byte{
		"a memory more, old seal": func(file, body []byte) []byte {
			tokens := int(binary.LittleEndian.Uint32(file[sha256.Size:]))
			return append(slices.Clone(file[:sha256.Size+4+tokens]), body...)
		},
		"a memory more, another key": func(_, body []byte) []byte { return sealCheckpoint(other, body) },
		"a memory more, the MAC of old tokens": func(file, body []byte) []byte {
			return append(slices.Clone(file[:sha256.Size]), sealCheckpoint(other, body)[sha256.Size:]...)
		},
		"cut off": func(file, _ []byte) []byte { return file[:len(file)-1] },
		"longer":  func(file, _ []byte) []byte { return append(slices.Clone(file), 0) },
		"too many tokens": func(file, _ []byte) []byte {
			return append(append(slices.Clone(file[:sha256.Size]), 0xff, 0xff, 0xff, 0xff), file[sha256.Size+4:]...)
		},
		"a head alone": func(file, _ []byte) []byte { return file[:sha256.Size] },
	} {
		t.Run(name, func(t *testing.T) {
			r, mem := made(t)
			want := stateOf(t, r)
			file := lib(r, checkpointName)
			body, err := openCheckpoint(r.checkpointKey(), bytes.NewReader(file), int64(len(file)))
			c := decodeCheckpoint(body)
			if err != nil || c == nil {
				t.Fatalf("the checkpoint is not read: %v", err)
			}
			c.State.Accepted["poison.md"] = journal.Accepted{Hash: journal.Sum([]byte("poison")), Origin: journal.Origin{Seq: 3, Trust: "operator"}}
			forged := forge(file, c.encode())
			if _, err := openCheckpoint(r.checkpointKey(), bytes.NewReader(forged), int64(len(forged))); err == nil {
				t.Error("it opens")
			}
			mem.Plant(".scribe/"+checkpointName, rootfs.File, forged)
			mem.Plant("poison.md", rootfs.File, []byte("poison")) // so that it would be shown
			again, err := opened(mem)
			if err != nil || slices.Contains(paths(listed(t, again)), "poison.md") {
				t.Fatalf("a forged checkpoint is believed: %v", err)
			}
			mem.Unplant("poison.md")
			if got := stateOf(t, again); got != want {
				t.Errorf("it holds\n  %s\nwant\n  %s", got, want)
			}
		})
	}
	t.Run("of a longer journal", func(t *testing.T) {
		r, mem := made(t)
		active := lib(r, auditName)
		mem.Plant(".scribe/"+auditName, rootfs.File, active[:bytes.IndexByte(active, '\n')+1])
		again, err := opened(mem)
		if err != nil {
			t.Fatal(err)
		}
		fs, err := again.Check(context.Background(), false)
		if err != nil || !strings.Contains(fmt.Sprint(fs), "check.journal-short") {
			t.Errorf("rows that were cut off are not noticed: %v, %v", fs, err)
		}
	})
	t.Run("of a copied room", func(t *testing.T) {
		_, mem := made(t)
		mem.SetIdentity("elsewhere")
		if r, err := opened(mem); err != nil || len(listed(t, r)) != 0 {
			t.Errorf("%v: a copy's checkpoint counts", err)
		}
	})
}

// BenchmarkOpen opens a room of 100,000 rows with and without its checkpoint.
func BenchmarkOpen(b *testing.B) {
	const rows = 100_000
	r, mem := newRoom(b, nil)
	store(b, r, Operator, Candidate{Path: "a.md", Text: "0\n"})
	batch := make([]journal.Row, 0, journal.MaxBatch)
	for n := int64(0); n < rows; n += int64(len(batch)) {
		batch = batch[:0]
		for range journal.MaxBatch {
			batch = append(batch, journal.Row{
				Change:   journal.Change{Op: journal.OpReject, Path: fmt.Sprintf("topics/memory-%03d.md", len(batch)%200), Trust: "user-observed", Source: "3f9a1c77d2e0:turn-14"},
				Decision: journal.Decision{By: "writer", Rules: []string{"directive.override"}},
			})
		}
		if err := r.append(batch...); err != nil {
			b.Fatal(err)
		}
		if err := r.rotate(); err != nil {
			b.Fatal(err)
		}
	}
	r.writeCheckpoint()
	for _, kept := range []bool{true, false} {
		b.Run(fmt.Sprintf("rows=%d/checkpoint=%v", rows, kept), func(b *testing.B) {
			for b.Loop() {
				b.StopTimer()
				if !kept {
					mem.Unplant(".scribe/" + checkpointName)
				}
				b.StartTimer()
				again, err := tryOpen(b, mem)
				if err != nil || len(again.ledger.state.Accepted) != 1 || again.ledger.fresh != 0 {
					b.Fatal(err)
				}
			}
		})
	}
}

// TestTornEndsAreKept: each torn end of the journal has a name of its own, also when two
// were torn off at the same byte.
func TestTornEndsAreKept(t *testing.T) {
	r, mem := newRoom(t, nil)
	store(t, r, Operator, Candidate{Path: "a.md", Text: "a\n"})
	whole := must1(r.disk.LibRead(auditName, maxAudit))
	torn := []string{`{"seq":3,"ti`, `{"seq":3,"time":"2026`, "\x00\x00\x00"}
	for _, end := range append(torn, torn[0]) {
		mem.Plant(".scribe/"+auditName, rootfs.File, append(bytes.Clone(whole), end...))
		again, err := tryOpen(t, mem)
		if err != nil {
			t.Fatalf("%q: %v", end, err)
		}
		if got := must1(again.disk.LibRead(auditName, maxAudit)); !bytes.Equal(got, whole) {
			t.Errorf("%q: the journal is %d bytes, want %d", end, len(got), len(whole))
		}
	}
	for i, end := range torn {
		if got := string(must1(r.disk.LibRead(fmt.Sprintf("audit.torn.%d", i+1), 99))); got != end {
			t.Errorf("audit.torn.%d is %q, want %q", i+1, got, end)
		}
	}
	if _, err := r.disk.LibStat("audit.torn.4"); err == nil {
		t.Error("a torn end that was kept already was kept again")
	}
}
