package journal

import (
	"bytes"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

var update = flag.Bool("update", false, "rewrite testdata/v1.jsonl")

var (
	testKey = []byte("0123456789abcdef0123456789abcdef")
	t0      = time.Date(2026, 9, 21, 8, 12, 0, 0, time.UTC)
)

// content stands for the hash of some bytes.
func content(s string) string { return Sum([]byte(s)) }

// row makes a row of one op; with edits the rest.
func row(op string, with ...func(*Row)) Row {
	r := Row{Stamp: Stamp{Time: t0}, Change: Change{Op: op}}
	for _, f := range with {
		f(&r)
	}
	return r
}

func at(path string) func(*Row)    { return func(r *Row) { r.Path = path } }
func to(path string) func(*Row)    { return func(r *Row) { r.To = path } }
func now(text string) func(*Row)   { return func(r *Row) { r.New = content(text) } }
func was(text string) func(*Row)   { return func(r *Row) { r.Old = content(text) } }
func trust(name string) func(*Row) { return func(r *Row) { r.Trust = name } }
func id(s string) func(*Row)       { return func(r *Row) { r.ID = s } }
func act(op string) func(*Row)     { return func(r *Row) { r.Act = op } }
func ref(seq int64) func(*Row)     { return func(r *Row) { r.Ref = seq } }
func digest(s string) func(*Row)   { return func(r *Row) { r.Digest = content(s) } }

// sample is a journal that has every op and every member.
func sample() []Row {
	return []Row{
		row(OpFormat),
		row(OpAnchor, func(r *Row) { r.Reason = "new room" }),
		row(OpAdd, at("a.md"), now("a1"), trust("user-observed"), func(r *Row) {
			r.Source, r.Key, r.By, r.Rules = "3f9a1c:turn-14", "alpha", "writer", []string{"directive.weak", "cap.near"}
		}),
		row(OpReplace, at("a.md"), was("a1"), now("a2"), trust("user-verified"), func(r *Row) { r.Time = t0.Add(time.Nanosecond) }),
		row(OpEdit, at("a.md"), was("a2"), now("a3"), func(r *Row) { r.Time = t0.Add(1500 * time.Millisecond) }),
		row(OpHold, at("a.md"), was("a3"), now("a4"), id("p1"), act(OpReplace), digest("p1"), func(r *Row) { r.Plan = "plan-1"; r.Part, r.Parts = 1, 2 }),
		row(OpHold, at("主题/b.md"), now("b1"), id("p2"), act(OpAdd), func(r *Row) { r.Plan = "plan-1"; r.Part, r.Parts = 2, 2 }),
		row(OpApprove, at("a.md"), was("a3"), now("a4"), id("p1"), act(OpReplace), digest("p1")),
		row(OpRefuse, id("p2"), digest("p2"), func(r *Row) { r.Reason = "<no> & \"never\"\n\u2028\u009b\\" }),
		row(OpHold, at("c.md"), now("p3"), id("p3"), act(OpRemove)),
		row(OpWithdraw, id("p3")),
		row(OpReject, func(r *Row) { r.Path, r.Rules = `"..\u200b"`, []string{"path.dot-dot"} }),
		row(OpRename, at("a.md"), to("d.md")),
		row(OpArchive, at("d.md"), to("d.1.md")),
		row(OpRestore, at("d.md"), now("a4"), ref(14)),
		row(OpRollback, at("d.md"), was("a4"), now("a1"), ref(3)),
		row(OpObserve, at("d.md"), was("a1"), now("outside")),
		row(OpAdopt, at("d.md"), now("outside"), trust("operator")),
		row(OpRemove, at("d.md"), was("outside")),
		row(OpAbort, ref(19)),
		row(OpPurge, at("d.md"), digest("gone"), func(r *Row) { r.Approved = true }),
		row(OpPrune, was("a1"), ref(3)),
		row(OpWaive, func(r *Row) { r.Rules, r.Reason = []string{"outside-changes"}, "single user" }),
		row(OpAdd, at("e.md"), now("e1")),
		row(OpArchive, at("e.md"), was("e1"), now("e2"), func(r *Row) { r.Link, r.Category = "f.md", "superseded" }),
		row(OpLink, at("e.md"), now("e3"), ref(25), func(r *Row) { r.Link = "f.md" }),
		row(OpStow, at("h.md"), now("h"), trust("user-observed"), func(r *Row) { r.Category = "unused" }),
		row(OpOpen),
	}
}

func mustEncode(t testing.TB, head Head, key []byte, rows ...Row) ([]byte, Head) {
	t.Helper()
	data, next, err := Encode(head, key, rows...)
	if err != nil {
		t.Fatal(err)
	}
	return data, next
}

// bare is rows without what Encode assigns.
func bare(rows []Row) []Row {
	out := make([]Row, len(rows))
	for i, r := range rows {
		r.Stamp = Stamp{Time: r.Time.UTC().Round(0)}
		if r.Op == OpFormat {
			r.Format = Version
		}
		out[i] = r
	}
	return out
}

func lines(data []byte) [][]byte {
	out := bytes.SplitAfter(data, []byte{'\n'})
	if n := len(out) - 1; len(out[n]) == 0 {
		out = out[:n]
	}
	return out
}

func TestRoundTrip(t *testing.T) {
	for name, key := range map[string][]byte{"plain": nil, "mac": testKey} {
		t.Run(name, func(t *testing.T) {
			data, next := mustEncode(t, Head{}, key, sample()...)
			rows, head, good, err := Decode(data, Head{}, key)
			if err != nil || good != len(data) || head != next {
				t.Fatalf("Decode: good %d of %d, head %v, want %v: %v", good, len(data), head, next, err)
			}
			if diff := cmp.Diff(bare(rows), bare(sample()), cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
			ops := make(map[string]bool)
			for i, r := range rows {
				ops[r.Op] = true
				if r.Seq != int64(i+1) || r.Verified != (key != nil) || (r.MAC != "") != (key != nil) {
					t.Errorf("row %d: seq %d, verified %v, mac %q", i, r.Seq, r.Verified, r.MAC)
				}
			}
			if len(ops) != 24 {
				t.Errorf("sample has %d ops, want all 24", len(ops))
			}
		})
	}
}

// TestGolden pins the bytes: a journal that was once written stays valid.
func TestGolden(t *testing.T) {
	name := filepath.Join("testdata", "v1.jsonl")
	got, _ := mustEncode(t, Head{}, testKey, sample()...)
	if *update {
		if err := os.WriteFile(name, got, 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	want = bytes.ReplaceAll(want, []byte("\r\n"), []byte("\n")) // a checkout may have changed line ends
	if diff := cmp.Diff(string(got), string(want)); diff != "" {
		t.Error(diff)
	}
}

// TestHashFormula computes the chain again from the text alone, as the package
// comment describes it.
func TestHashFormula(t *testing.T) {
	data, next := mustEncode(t, Head{}, testKey, sample()...)
	prev := ""
	for _, line := range lines(data) {
		i := bytes.LastIndex(line, []byte(`,"hash":"`))
		h, m := sealed(prev, string(line[:i]), testKey)
		if want := string(line[:i]) + `,"hash":"` + h + `","mac":"` + m + "\"}\n"; string(line) != want {
			t.Fatalf("got  %swant %s", line, want)
		}
		prev = h
	}
	if next.Hash != prev {
		t.Errorf("head %v, want hash %s", next, prev)
	}
}

func TestEncodeRefuses(t *testing.T) {
	_, two := mustEncode(t, Head{}, nil, row(OpFormat), row(OpOpen))
	long := strings.Repeat("x", MaxLine)
	for name, tt := range map[string]struct {
		head Head
		row  Row
	}{
		"first not format":  {Head{}, row(OpOpen)},
		"head without hash": {Head{Seq: 1}, row(OpOpen)},
		"head of no row":    {Head{Hash: two.Hash}, row(OpFormat)},
		"head negative":     {Head{Seq: -1, Hash: two.Hash}, row(OpOpen)},
		"seq used up":       {Head{Seq: 1<<63 - 1, Hash: two.Hash}, row(OpOpen)},
		"unknown op":        {two, row("addd")},
		"no op":             {two, row("")},
		"newer format":      {two, row(OpFormat, func(r *Row) { r.Format = Version + 1 })},
		"negative format":   {two, row(OpFormat, func(r *Row) { r.Format = -1 })},
		"format elsewhere":  {two, row(OpOpen, func(r *Row) { r.Format = 1 })},
		"no path":           {two, row(OpAdd, now("x"))},
		"no new":            {two, row(OpAdd, at("a.md"))},
		"no to":             {two, row(OpRename, at("a.md"))},
		"rename to itself":  {two, row(OpRename, at("a.md"), to("a.md"))},
		"no id":             {two, row(OpApprove)},
		"no act":            {two, row(OpHold, at("a.md"), now("x"), id("p"))},
		"hold without file": {two, row(OpHold, at("a.md"), id("p"), act(OpRemove))},
		"act of its own":    {two, row(OpHold, at("a.md"), now("x"), id("p"), act(OpAdopt))},
		"act elsewhere":     {two, row(OpAdd, at("a.md"), now("x"), act(OpAdd))},
		"approve half":      {two, row(OpApprove, id("p"), act(OpAdd), at("a.md"))},
		"hold rename half":  {two, row(OpHold, now("x"), id("p"), act(OpRename), at("a.md"))},
		"no ref":            {two, row(OpAbort)},
		"ref to itself":     {two, row(OpAbort, ref(3))},
		"ref negative":      {two, row(OpOpen, ref(-1))},
		"abort too far":     {Head{Seq: Window + 1, Hash: two.Hash}, row(OpAbort, ref(1))},
		"part alone":        {two, row(OpOpen, func(r *Row) { r.Part = 1 })},
		"parts alone":       {two, row(OpOpen, func(r *Row) { r.Parts = 1 })},
		"part over parts":   {two, row(OpOpen, func(r *Row) { r.Part, r.Parts = 3, 2 })},
		"part over seq":     {two, row(OpOpen, func(r *Row) { r.Part, r.Parts = 4, 4 })},
		"part negative":     {two, row(OpOpen, func(r *Row) { r.Part, r.Parts = -1, 2 })},
		"parts over cap":    {two, row(OpOpen, func(r *Row) { r.Part, r.Parts = 1, MaxBatch+1 })},
		"short hash":        {two, row(OpAdd, at("a.md"), func(r *Row) { r.New = "abc" })},
		"upper hash":        {two, row(OpRemove, at("a.md"), func(r *Row) { r.Old = strings.ToUpper(two.Hash) })},
		"digest":            {two, row(OpRefuse, func(r *Row) { r.Digest = "p2" })},
		"not UTF-8":         {two, row(OpReject, at("\xff"))},
		"rule not UTF-8":    {two, row(OpReject, func(r *Row) { r.Rules = []string{"ok", "\xc0"} })},
		"year":              {two, row(OpOpen, func(r *Row) { r.Time = time.Date(10000, 1, 1, 0, 0, 0, 0, time.UTC) })},
		"long":              {two, row(OpOpen, func(r *Row) { r.Reason = long })},
	} {
		t.Run(name, func(t *testing.T) {
			data, next, err := Encode(tt.head, nil, tt.row)
			if err == nil || data != nil || next != tt.head {
				t.Errorf("Encode = %q, %v, %v; want an error and nothing else", data, next, err)
			}
		})
	}
}

func TestEncodeLongestLine(t *testing.T) {
	_, head := mustEncode(t, Head{}, nil, row(OpFormat))
	data, _ := mustEncode(t, head, nil, row(OpOpen))
	fit := MaxLine - len(data) - len(`,"reason":""`)
	data, _ = mustEncode(t, head, nil, row(OpOpen, func(r *Row) { r.Reason = strings.Repeat("x", fit) }))
	if rows, _, _, err := Decode(data, head, nil); len(data) != MaxLine || len(rows) != 1 || err != nil {
		t.Errorf("line of %d bytes: %d rows, %v", len(data), len(rows), err)
	}
	if _, _, err := Encode(head, nil, row(OpOpen, func(r *Row) { r.Reason = strings.Repeat("x", fit+1) })); err == nil {
		t.Error("one byte more was accepted")
	}
	line, _ := forge(head, string(data[:bytes.Index(data, []byte(`,"prev"`))-1])+`x","prev":"PREV"`)
	if _, _, _, err := Decode(line, head, nil); len(line) != MaxLine+1 || asDamage(t, err).Why != "line is too long" {
		t.Errorf("line of %d bytes: %v", len(line), err)
	}
}

func TestEncodeTime(t *testing.T) {
	r := row(OpFormat, func(r *Row) { r.Time = time.Now() }) // with a monotonic reading, in the local zone
	want, _ := mustEncode(t, Head{}, nil, r)
	for _, zone := range []*time.Location{time.UTC, time.Local, time.FixedZone("east", 5*3600+1800)} {
		r.Time = r.Time.In(zone)
		got, _ := mustEncode(t, Head{}, nil, r)
		rows, _, _, err := Decode(got, Head{}, nil)
		if !bytes.Equal(got, want) || err != nil || rows[0].Time.Location() != time.UTC || !rows[0].Time.Equal(r.Time) {
			t.Errorf("in %v: %s, want %s: %v", zone, got, want, err)
		}
	}
}

func TestEncodeLeavesRowsAlone(t *testing.T) {
	rows := sample()
	rows[3].Time = rows[3].Time.In(time.FixedZone("east", 5*3600))
	want := append([]Row(nil), rows...)
	mustEncode(t, Head{}, testKey, rows...)
	if diff := cmp.Diff(rows, want); diff != "" {
		t.Error(diff)
	}
	batch := Batch(rows[3], rows[4])
	if rows[3].Part != 0 || batch[0].Part != 1 || batch[1].Part != 2 || batch[1].Parts != 2 {
		t.Errorf("Batch = %v, %v of row %v", batch[0].Group, batch[1].Group, rows[3].Group)
	}
	if alone := Batch(rows[3]); alone[0].Parts != 0 {
		t.Errorf("Batch of one = %v", alone[0].Group)
	}
}

func TestHead(t *testing.T) {
	_, head := mustEncode(t, Head{}, nil, sample()...)
	for _, h := range []Head{{}, head} {
		if got, err := ParseHead(h.String()); got != h || err != nil {
			t.Errorf("ParseHead(%q) = %v, %v", h, got, err)
		}
	}
	for _, s := range []string{"", "0", ":", "1:", "0:" + head.Hash, "01:" + head.Hash, "+1:" + head.Hash, "-1:" + head.Hash, "1:" + strings.ToUpper(head.Hash), head.String() + " "} {
		if h, err := ParseHead(s); err == nil {
			t.Errorf("ParseHead(%q) = %v", s, h)
		}
	}
}

func TestVersionName(t *testing.T) {
	h := content("x") // 2d711642b726...
	for _, seq := range []int64{1, 42, 999_999_999_999, 1_000_000_000_000, 1<<63 - 1} {
		name := VersionName(seq, h)
		got, prefix, ok := ParseVersionName(name)
		if got != seq || prefix != h[:12] || !ok {
			t.Errorf("ParseVersionName(%q) = %d, %q, %v", name, got, prefix, ok)
		}
	}
	if got, want := VersionName(42, h), "versions/000000000042-2d711642b726.md"; got != want {
		t.Errorf("VersionName = %q, want %q", got, want)
	}
	for _, bad := range []string{VersionName(0, h), VersionName(-1, h), VersionName(1, h[:12]), VersionName(1, strings.ToUpper(h)), VersionName(1, "")} {
		if bad != "" {
			t.Errorf("VersionName named %q", bad)
		}
	}
	for _, s := range []string{
		"", "versions/", "000000000042-2d711642b726.md", "versions/42-2d711642b726.md", "versions/000000000042-2d711642b726",
		"versions/000000000042-2d711642b72.md", "versions/000000000042-2D711642B726.md", "versions/000000000000-2d711642b726.md",
		"versions/0000000000042-2d711642b726.md", "versions/+00000000042-2d711642b726.md", "versions/-00000000042-2d711642b726.md",
		"versions/000000000042-2d711642b726.md.md", "versions/x/000000000042-2d711642b726.md", "versions/99999999999999999999-2d711642b726.md",
		"versions/000000000042_2d711642b726.md", "versions/000000000042-2d711642b72g.md",
	} {
		if seq, prefix, ok := ParseVersionName(s); ok {
			t.Errorf("ParseVersionName(%q) = %d, %q", s, seq, prefix)
		}
	}
}

func TestBefore(t *testing.T) {
	data, next := mustEncode(t, Head{}, nil, sample()...)
	all := lines(data)
	off := 0
	for i, line := range all {
		from, ok := Before(data[off:])
		rows, head, _, err := Decode(data[off:], from, nil)
		if !ok || from.Seq != int64(i) || len(rows) != len(all)-i || head != next || err != nil {
			t.Errorf("line %d: from %v, %v; %d rows, %v", i+1, from, ok, len(rows), err)
		}
		off += len(line)
	}
	for _, s := range []string{"", "{}", "{}\n", "x\n", `{"seq":3}` + "\n", `{"seq":0,"prev":""}` + "\n", string(data[5:]), strings.Repeat("x", MaxLine) + "\n"} {
		if from, ok := Before([]byte(s)); ok {
			t.Errorf("Before(%.20q) = %v", s, from)
		}
	}
}

func asDamage(t testing.TB, err error) *Damage {
	t.Helper()
	var d *Damage
	if !errors.As(err, &d) {
		t.Fatalf("got error %v, want a *Damage", err)
	}
	return d
}
