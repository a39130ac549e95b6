package journal

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

var allOps = []string{
	OpAnchor, OpAdopt, OpAdd, OpReplace, OpEdit, OpRemove, OpRename, OpHold, OpWithdraw, OpApprove, OpRefuse,
	OpReject, OpArchive, OpRestore, OpRollback, OpObserve, OpAbort, OpPurge, OpPrune, OpJoin, OpWaive, OpOpen, OpLink, OpStow,
}

var acts = []string{OpAdd, OpReplace, OpEdit, OpRemove, OpArchive, OpRename, OpRestore}

// drawRow draws a row of any op that check accepts at that seq, over few names, so that
// rows meet each other; its free text may be anything.
func drawRow(t *rapid.T, seq int64) Row {
	pick := func(label string, from ...string) string { return rapid.SampledFrom(from).Draw(t, label) }
	maybe := func(label string, from ...string) string { return pick(label, append(from, "")...) }
	hashes := []string{content("1"), content("2"), content("3")}
	r := Row{Change: Change{Op: rapid.SampledFrom(allOps).Draw(t, "op")}}
	r.Time = t0.Add(time.Duration(rapid.Int64Range(-1e12, 1e18).Draw(t, "time")))
	if r.Op == OpHold || r.Op == OpApprove && rapid.Bool().Draw(t, "acts") {
		r.Act = pick("act", acts...)
	}
	op := r.Op
	if r.Act != "" {
		op = r.Act
	}
	r.Path = pick("path", "a", "b", "c")
	if op == OpRename {
		r.To = pick("to", "a", "b", "c", "d")
		if r.To == r.Path {
			r.To = "e"
		}
	} else if rapid.IntRange(0, 3).Draw(t, "to") == 0 {
		r.To = pick("to", "a", "b", "x")
	}
	r.Old, r.Digest = maybe("old", hashes...), maybe("digest", hashes...)
	fields, _ := needs(r.Op)
	acted, _ := needs(op)
	if (fields|acted)&needNew != 0 || rapid.Bool().Draw(t, "new") {
		r.New = pick("new", hashes...)
	}
	if fields&needID != 0 || rapid.IntRange(0, 3).Draw(t, "id") == 0 {
		r.ID = pick("id", "p", "q")
	}
	if r.Op == OpAbort {
		r.Ref = max(1, seq-rapid.Int64Range(1, 6).Draw(t, "back"))
	} else if seq > 1 && rapid.Bool().Draw(t, "ref") || r.Op == OpPrune || r.Op == OpJoin || r.Op == OpLink {
		r.Ref = rapid.Int64Range(1, seq-1).Draw(t, "ref")
	}
	if rapid.Bool().Draw(t, "grouped") {
		r.Parts = rapid.IntRange(1, MaxBatch).Draw(t, "parts")
		r.Part = rapid.IntRange(1, min(r.Parts, int(seq))).Draw(t, "part")
	}
	text := rapid.Custom(func(t *rapid.T) string { return strings.ToValidUTF8(rapid.String().Draw(t, "text"), "?") })
	r.Trust, r.Source, r.Key, r.By = text.Draw(t, "trust"), text.Draw(t, "source"), text.Draw(t, "key"), text.Draw(t, "by")
	r.Reason, r.Plan = text.Draw(t, "reason"), text.Draw(t, "plan")
	if r.Op == OpArchive || r.Op == OpLink {
		r.Link, r.Category = maybe("link", "a", "b", "x"), text.Draw(t, "category")
	}
	r.Rules = rapid.SliceOfN(text, 0, 3).Draw(t, "rules")
	r.Approved = rapid.Bool().Draw(t, "approved")
	return r
}

// drawRows draws a journal's rows, with the seqs that Encode will give them.
func drawRows(t *rapid.T) []Row {
	n := rapid.IntRange(0, 40).Draw(t, "rows")
	rows := []Row{row(OpFormat)}
	for seq := int64(2); len(rows) <= n; seq++ {
		rows = append(rows, drawRow(t, seq))
	}
	for i := range rows {
		rows[i].Seq = int64(i + 1)
	}
	return rows
}

func drawKey(t *rapid.T) []byte {
	return []byte(rapid.SampledFrom([]string{"", string(testKey)}).Draw(t, "key"))
}

func propRoundTrip(t *rapid.T) {
	rows, key := drawRows(t), drawKey(t)
	data, next, err := Encode(Head{}, key, rows...)
	if err != nil {
		t.Fatal(err)
	}
	got, head, good, err := Decode(data, Head{}, key)
	if err != nil || good != len(data) || head != next {
		t.Fatalf("good %d of %d, head %v, want %v: %v", good, len(data), head, next, err)
	}
	if diff := cmp.Diff(bare(got), bare(rows), cmpopts.EquateEmpty()); diff != "" {
		t.Fatal(diff)
	}

	// In several appends, and read in several pieces.
	cut := rapid.IntRange(0, len(rows)).Draw(t, "cut")
	one, head, err := Encode(Head{}, key, rows[:cut]...)
	if err != nil {
		t.Fatal(err)
	}
	two, _, err := Encode(head, key, rows[cut:]...)
	if err != nil || !bytes.Equal(append(one[:len(one):len(one)], two...), data) {
		t.Fatalf("two appends are not one: %v", err)
	}
	first, mid, _, err1 := Decode(one, Head{}, key)
	second, last, _, err2 := Decode(two, mid, key)
	if err1 != nil || err2 != nil || mid != head || last != next {
		t.Fatalf("two pieces: %v, %v", err1, err2)
	}
	if diff := cmp.Diff(append(first, second...), got, cmpopts.EquateEmpty()); diff != "" {
		t.Fatal(diff)
	}
}

func TestPropRoundTrip(t *testing.T) { rapid.Check(t, propRoundTrip) }

// TestPropShuffle: any other arrangement of a journal's lines gives a prefix of its rows.
func TestPropShuffle(t *testing.T) {
	data, _ := mustEncode(t, Head{}, nil, sample()...)
	all := lines(data)
	rapid.Check(t, func(t *rapid.T) {
		pick := rapid.SliceOfN(rapid.IntRange(0, len(all)-1), 0, len(all)).Draw(t, "lines")
		if rapid.Bool().Draw(t, "begins well") {
			keep := rapid.IntRange(0, len(all)).Draw(t, "keep")
			for i := range keep {
				pick = append(pick[:min(i, len(pick))], append([]int{i}, pick[min(i, len(pick)):]...)...)
			}
		}
		var img []byte
		right, in := 0, true
		for i, n := range pick {
			img = append(img, all[n]...)
			if in = in && n == i; in {
				right++
			}
		}
		rows, _, _, err := Decode(img, Head{}, nil)
		if len(rows) != right || (err == nil) != (right == len(pick)) {
			t.Fatalf("lines %v: %d rows, want %d: %v", pick, len(rows), right, err)
		}
	})
}

// undone returns which rows up to n are aborted, by the words of the documentation.
func undone(rows []Row, n int) map[int64]bool {
	out := make(map[int64]bool)
	for i, r := range rows[:n] {
		if r.Op != OpAbort {
			continue
		}
		after := true // no anchor since
		for _, q := range rows[:i] {
			after = after && (q.Op != OpAnchor || q.Seq < r.Ref)
		}
		if after {
			out[r.Ref] = true
		}
	}
	return out
}

// acceptedAt is an oracle for acceptance: it looks backwards for the last of rows[:n] that
// decides what path holds.
func acceptedAt(rows []Row, n int, dead map[int64]bool, path string) string {
	for i := n - 1; i >= 0; i-- {
		r := rows[i]
		op, place := r.Op, r.Path
		if op == OpApprove {
			op = r.Act
		}
		if op == OpRestore && r.To != "" {
			place = r.To
		}
		switch {
		case dead[r.Seq]:
		case op == OpAnchor:
			return ""
		case op == OpRename && r.To == path:
			from := acceptedAt(rows, i, dead, r.Path)
			switch approved := r.Approved || r.Op == OpApprove; {
			case r.New != "" && (from != "" || approved):
				return r.New
			case from != "":
				return from
			}
		case place != path:
		case op == OpAdd, op == OpReplace, op == OpEdit, op == OpAdopt, op == OpRestore, op == OpRollback:
			return r.New
		case op == OpRemove, op == OpArchive, op == OpRename, op == OpObserve && r.New == "", op == OpPurge && r.ID == "":
			return ""
		}
	}
	return ""
}

func propState(t *rapid.T) {
	rows := drawRows(t)
	var s State
	for n := 0; n <= len(rows); n++ {
		if n > 0 {
			s.Apply(rows[n-1])
		}
		if diff := cmp.Diff(Replay(rows, int64(n)), &s, sameState); diff != "" {
			t.Fatalf("Replay to %d is not the fold: %s", n, diff)
		}
		dead := undone(rows, n)
		for _, path := range []string{"a", "b", "c", "d", "e", "x"} {
			if got, want := s.Accepted[path].Hash, acceptedAt(rows, n, dead, path); got != want {
				t.Fatalf("after row %d: %s has %.6s, want %.6s", n, path, got, want)
			}
		}
		invariants(t, &s, rows)

		// As if the aborted rows, and the aborts, had never been.
		var without State
		for _, r := range rows[:n] {
			if !dead[r.Seq] && r.Op != OpAbort {
				without.Apply(r)
			}
		}
		without.Seq = s.Seq
		if diff := cmp.Diff(&s, &without, sameState); diff != "" {
			t.Fatalf("after row %d, an abort left something: %s", n, diff)
		}
	}
}

func invariants(t *rapid.T, s *State, rows []Row) {
	for path, a := range s.Accepted {
		if _, buried := s.Tombs[path]; buried {
			t.Fatalf("%s is accepted and has a tomb", path)
		}
		if seen, ok := s.Outside[path]; ok && (seen == a.Hash || seen == "") {
			t.Fatalf("%s is accepted and was seen outside as %.6q", path, seen)
		}
		if r := rows[a.Seq-1]; r.New != a.Hash || a.Seq <= s.Epoch || VersionName(a.Seq, a.Hash) == "" {
			t.Fatalf("%s: row %d did not put %.6s", path, a.Seq, a.Hash)
		}
	}
	for name, a := range s.Archived {
		if r := rows[a.Seq-1]; r.New != a.Hash || a.Retired <= s.Epoch {
			t.Fatalf("archived %s: row %d did not put %.6s", name, a.Seq, a.Hash)
		}
		// No link dangles, and none leads back: what it leads to stands, or went later.
		_, stands := s.Accepted[a.SupersededBy]
		if by := s.Archived[a.SupersededBy]; a.SupersededBy != "" && !stands && by.Retired <= a.Retired {
			t.Fatalf("archived %s: superseded by %q, retired by row %d", name, a.SupersededBy, by.Retired)
		}
	}
	for path, tomb := range s.Tombs {
		if r := rows[tomb.Seq-1]; tomb.Hash != "" && r.New != tomb.Hash || tomb.Freed < tomb.Seq {
			t.Fatalf("tomb %s: row %d did not put %.6s", path, tomb.Seq, tomb.Hash)
		}
	}
	for id, h := range s.Pending {
		if r := rows[h.Seq-1]; r.Op != OpHold || r.ID != id || h.Seq <= s.Epoch {
			t.Fatalf("pending %s: not of row %d", id, h.Seq)
		}
	}
}

func TestPropState(t *testing.T) { rapid.Check(t, propState) }
