package journal

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// sealed computes a row's hash and MAC from the text before them, independently
// of the code under test.
func sealed(prev, body string, key []byte) (sum, mac string) {
	p, err := hex.DecodeString(prev)
	if err != nil {
		panic(err)
	}
	h := sha256.Sum256([]byte(string(p) + body + "}"))
	m := hmac.New(sha256.New, key)
	m.Write(h[:])
	return hex.EncodeToString(h[:]), hex.EncodeToString(m.Sum(nil))
}

// forge makes a line with a right hash from a body that may be anything. PREV stands for
// the hash before.
func forge(head Head, body string) (line []byte, next Head) {
	body = strings.ReplaceAll(body, "PREV", head.Hash)
	sum, _ := sealed(head.Hash, body, nil)
	return []byte(body + `,"hash":"` + sum + "\"}\n"), Head{Seq: head.Seq + 1, Hash: sum}
}

// TestStrict has lines whose hash is right and that are still not rows of this
// version. Whatever the encoder would not write is damage, and no crash explains it.
func TestStrict(t *testing.T) {
	const when = `"time":"2026-09-21T08:12:00Z"`
	h := content("x")
	first, head := mustEncode(t, Head{}, nil, row(OpFormat))
	for _, tt := range []struct{ name, body, why string }{
		{"plain", `{"seq":2,` + when + `,"op":"open","prev":"PREV"`, ""},
		{"duplicate", `{"seq":2,` + when + `,"op":"add","path":"a.md","path":"b.md","new":"` + h + `","prev":"PREV"`, "not written in the one form"},
		{"duplicate same", `{"seq":2,` + when + `,"op":"open","op":"open","prev":"PREV"`, "not written in the one form"},
		{"duplicate folded", `{"seq":2,` + when + `,"op":"open","OP":"open","prev":"PREV"`, "not written in the one form"},
		{"unknown member", `{"seq":2,` + when + `,"op":"open","extra":1,"prev":"PREV"`, "not written in the one form"},
		{"case", `{"Seq":2,` + when + `,"op":"open","prev":"PREV"`, "not written in the one form"},
		{"order", `{` + when + `,"seq":2,"op":"open","prev":"PREV"`, "not written in the one form"},
		{"space", `{"seq": 2,` + when + `,"op":"open","prev":"PREV"`, "not written in the one form"},
		{"space before", ` {"seq":2,` + when + `,"op":"open","prev":"PREV"`, "not written in the one form"},
		{"byte order mark", "\ufeff" + `{"seq":2,` + when + `,"op":"open","prev":"PREV"`, "not a row in JSON"},
		{"escape", `{"seq":2,` + when + `,"op":"\u006fpen","prev":"PREV"`, "not written in the one form"},
		{"short escape", `{"seq":2,` + when + `,"op":"open","reason":"a\nb","prev":"PREV"`, "not written in the one form"},
		{"raw separator", `{"seq":2,` + when + `,"op":"open","reason":"` + "\u2028" + `","prev":"PREV"`, "not written in the one form"},
		{"surrogate", `{"seq":2,` + when + `,"op":"open","reason":"\ud800","prev":"PREV"`, "not written in the one form"},
		{"not UTF-8", `{"seq":2,` + when + `,"op":"open","reason":"` + "\xff" + `","prev":"PREV"`, "not written in the one form"},
		{"null", `{"seq":2,` + when + `,"op":"open","reason":null,"prev":"PREV"`, "not written in the one form"},
		{"empty rules", `{"seq":2,` + when + `,"op":"open","rules":[],"prev":"PREV"`, "not written in the one form"},
		{"empty path", `{"seq":2,` + when + `,"op":"open","path":"","prev":"PREV"`, "not written in the one form"},
		{"zone", `{"seq":2,"time":"2026-09-21T08:12:00+00:00","op":"open","prev":"PREV"`, "not written in the one form"},
		{"zone east", `{"seq":2,"time":"2026-09-21T13:12:00+05:00","op":"open","prev":"PREV"`, "not written in the one form"},
		{"zeros", `{"seq":2,"time":"2026-09-21T08:12:00.500Z","op":"open","prev":"PREV"`, "not written in the one form"},
		{"ten digits", `{"seq":2,"time":"2026-09-21T08:12:00.1234567891Z","op":"open","prev":"PREV"`, "not written in the one form"},
		{"no time", `{"seq":2,"op":"open","prev":"PREV"`, "not written in the one form"},
		{"bad time", `{"seq":2,"time":"today","op":"open","prev":"PREV"`, "not a row in JSON"},
		{"float", `{"seq":2.0,` + when + `,"op":"open","prev":"PREV"`, "not a row in JSON"},
		{"array", `["seq",2`, "not a row in JSON"},
		{"seq again", `{"seq":1,` + when + `,"op":"open","prev":"PREV"`, "wrong seq"},
		{"seq gap", `{"seq":3,` + when + `,"op":"open","prev":"PREV"`, "wrong seq"},
		{"prev missing", `{"seq":2,` + when + `,"op":"open"`, "does not continue the row before"},
		{"prev other", `{"seq":2,` + when + `,"op":"open","prev":"` + h + `"`, "does not continue the row before"},
		{"unknown op", `{"seq":2,` + when + `,"op":"grant","prev":"PREV"`, "unknown op"},
		{"no path", `{"seq":2,` + when + `,"op":"add","new":"` + h + `","prev":"PREV"`, "missing or unfit path"},
		{"no new", `{"seq":2,` + when + `,"op":"adopt","path":"a.md","prev":"PREV"`, "missing or unfit new"},
		{"upper hash", `{"seq":2,` + when + `,"op":"adopt","path":"a.md","new":"` + strings.ToUpper(h) + `","prev":"PREV"`, "not a hex SHA-256"},
		{"part", `{"seq":2,` + when + `,"op":"open","part":2,"parts":1,"prev":"PREV"`, "part is not within parts, or parts over 512"},
		{"hash inside", `{"seq":2,` + when + `,"op":"open","prev":"PREV","hash":"` + h + `"`, "not written in the one form"},
		{"long", `{"seq":2,` + when + `,"op":"open","reason":"` + strings.Repeat("x", MaxLine) + `","prev":"PREV"`, "line is too long"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			line, _ := forge(head, tt.body)
			rows, next, good, err := Decode(append(bytes.Clone(first), line...), Head{}, nil)
			if tt.why == "" {
				if err != nil || len(rows) != 2 {
					t.Fatalf("control: %d rows, %v", len(rows), err)
				}
				return
			}
			d := asDamage(t, err)
			torn := tt.name == "byte order mark" || tt.name == "array" // not JSON at all
			if d.Why != tt.why || d.Torn != torn || d.Offset != len(first) || d.Seq != 2 {
				t.Errorf("got %q, torn %v, at row %d, byte %d; want %q at row 2, byte %d", d.Why, d.Torn, d.Seq, d.Offset, tt.why, len(first))
			}
			if len(rows) != 1 || next != head || good != len(first) {
				t.Errorf("got %d rows, head %v, good %d; want the first row", len(rows), next, good)
			}
		})
	}
	for name, body := range map[string]string{
		"first row":      `{"seq":1,` + when + `,"op":"open"`,
		"format missing": `{"seq":1,` + when + `,"op":"format"`,
		"format zero":    `{"seq":1,` + when + `,"op":"format","format":0`,
		"format minus":   `{"seq":1,` + when + `,"op":"format","format":-1`,
	} {
		line, _ := forge(Head{}, body)
		if rows, _, _, err := Decode(line, Head{}, nil); len(rows) != 0 || asDamage(t, err).Torn {
			t.Errorf("%s: %d rows, %v", name, len(rows), err)
		}
	}
}

func TestMAC(t *testing.T) {
	plain, head := mustEncode(t, Head{}, nil, row(OpFormat), row(OpOpen))
	keyed, _ := mustEncode(t, head, testKey, row(OpOpen))
	data := append(bytes.Clone(plain), keyed...)
	for name, tt := range map[string]struct {
		key  []byte
		want []bool
	}{
		"key":       {testKey, []bool{false, false, true}},
		"no key":    {nil, []bool{false, false, false}},
		"other key": {[]byte("other"), []bool{false, false, false}},
	} {
		rows, _, _, err := Decode(data, Head{}, tt.key)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		for i, r := range rows {
			if r.Verified != tt.want[i] {
				t.Errorf("%s: row %d verified %v", name, i+1, r.Verified)
			}
		}
	}
}

// TestNewer: a journal of a later version can be read and says that it must not be
// written, whatever it has that this version does not know.
func TestNewer(t *testing.T) {
	h := content("x")
	bodies := []string{
		`{"seq":1,"time":"2030-01-01T00:00:00Z","op":"format","format":9,"flavour":"new"`,
		`{"seq":2,"op":"teleport","time":"2030-01-01T00:00:00Z","path":"a.md","prev":"PREV"`,
		`{"seq":3,"time":"2030-01-01T00:00:00Z","op":"add","path":"a.md","new":"` + h + `","mood":{"x":[1]},"prev":"PREV"`,
	}
	var data []byte
	var head Head
	for _, b := range bodies {
		var line []byte
		line, head = forge(head, b)
		data = append(data, line...)
	}
	rows, next, good, err := Decode(data, Head{}, nil)
	var newer *Newer
	if !errors.As(err, &newer) || newer.Version != 9 || newer.Damage != nil {
		t.Fatalf("got %v, want a *Newer of version 9", err)
	}
	if len(rows) != 3 || next != head || good != len(data) {
		t.Fatalf("got %d rows, head %v, good %d", len(rows), next, good)
	}
	if got := Replay(rows, 3).Accepted["a.md"].Hash; got != h {
		t.Errorf("accepted %q, want %q", got, h)
	}

	bad := bytes.Replace(data, []byte("teleport"), []byte("telepart"), 1)
	rows, _, _, err = Decode(bad, Head{}, nil)
	if !errors.As(err, &newer) || newer.Damage == nil || newer.Damage.Seq != 2 || len(rows) != 1 {
		t.Errorf("tampered: %d rows, %v", len(rows), err)
	}
	var d *Damage
	if _, _, _, err = Decode(data[:len(data)-1], Head{}, nil); errors.As(err, &d) {
		t.Error("a newer journal's torn tail looks like something to cut off")
	}

	// The same bodies without the newer version are damage.
	line, _ := forge(Head{}, strings.Replace(bodies[0], `"format":9`, `"format":1`, 1))
	if rows, _, _, err := Decode(line, Head{}, nil); len(rows) != 0 || asDamage(t, err).Torn {
		t.Errorf("version 1: %d rows, %v", len(rows), err)
	}

	// A room that a later release upgraded names its version in a later row.
	first, head := mustEncode(t, Head{}, nil, row(OpFormat))
	upgrade, _ := forge(head, `{"seq":2,"time":"2030-01-01T00:00:00Z","op":"format","format":2,"x":0,"prev":"PREV"`)
	if rows, _, _, err = Decode(append(first, upgrade...), Head{}, nil); len(rows) != 2 || !errors.As(err, &newer) || newer.Version != 2 {
		t.Errorf("upgraded: %d rows, %v", len(rows), err)
	}
}

// TestTamper changes each byte in several ways. The chain shows it at that line;
// only a MAC's own digits are shown by the key instead.
func TestTamper(t *testing.T) {
	data, _ := mustEncode(t, Head{}, testKey, sample()...)
	start, n := 0, 0
	var from Head // what precedes a line is whole, so decoding begins there
	for _, line := range lines(data) {
		mac := len(line) - len("\"}\n") - 64 // the MAC's digits
		for i := range line {
			for _, b := range []byte{line[i] ^ 1, line[i] ^ 0x20, line[i] ^ 0x80, 0, '\n', ' ', '"'} {
				if b == line[i] {
					continue
				}
				bad := bytes.Clone(data)
				bad[start+i] = b
				rows, _, good, err := Decode(bad[start:], from, testKey)
				if err == nil && i >= mac && i < mac+64 {
					if len(rows) == 0 || rows[0].Verified {
						t.Fatalf("line %d, byte %d = %q: a changed MAC verified", n+1, i, b)
					}
					continue
				}
				if d := asDamage(t, err); d.Offset != 0 || good != 0 || len(rows) != 0 {
					t.Fatalf("line %d, byte %d = %q: %d bytes of it taken", n+1, i, b, good)
				}
			}
		}
		_, from, _, _ = Decode(line, from, testKey)
		start += len(line)
		n++
		if from.Seq != int64(n) {
			t.Fatalf("line %d does not decode", n)
		}
	}
}

func TestDropAndReorder(t *testing.T) {
	data, _ := mustEncode(t, Head{}, nil, sample()...)
	all := lines(data)
	for i := range all {
		before := bytes.Join(all[:i], nil)
		cases := map[string][]byte{
			"duplicate": bytes.Join([][]byte{before, all[i], all[i], bytes.Join(all[i+1:], nil)}, nil),
		}
		if i+1 < len(all) {
			cases["drop"] = append(bytes.Clone(before), bytes.Join(all[i+1:], nil)...)
			cases["swap"] = bytes.Join([][]byte{before, all[i+1], all[i], bytes.Join(all[i+2:], nil)}, nil)
		}
		for name, bad := range cases {
			want := i
			if name == "duplicate" {
				want++
			}
			rows, _, good, err := Decode(bad, Head{}, nil)
			if d := asDamage(t, err); d.Torn || len(rows) != want || good != d.Offset {
				t.Errorf("%s line %d: %d rows, %v", name, i+1, len(rows), err)
			}
		}
	}
	// Rows cut off at the end are not visible in what is left, only in its head.
	rows, head, _, err := Decode(bytes.Join(all[:5], nil), Head{}, nil)
	if len(rows) != 5 || head.Seq != 5 || err != nil {
		t.Errorf("truncated: %d rows, head %v, %v", len(rows), head, err)
	}
	// A journal's rows do not continue another's.
	other, _ := mustEncode(t, Head{}, nil, row(OpFormat), row(OpAnchor), row(OpOpen))
	rows, _, _, err = Decode(append(bytes.Join(all[:2], nil), lines(other)[2]...), Head{}, nil)
	if len(rows) != 2 || asDamage(t, err).Torn {
		t.Errorf("spliced: %d rows, %v", len(rows), err)
	}
}

func TestTornTail(t *testing.T) {
	data, _ := mustEncode(t, Head{}, testKey, sample()...)
	all := lines(data)
	last := len(data) - len(all[len(all)-1])
	check := func(what string, k int, bad []byte) {
		t.Helper()
		rows, head, good, err := Decode(bad, Head{}, testKey)
		if d := asDamage(t, err); !d.Torn || d.Offset != last || good != last {
			t.Fatalf("%s at %d: %v, good %d; want torn at %d", what, k, err, good, last)
		}
		if len(rows) != len(all)-1 || head.Seq != int64(len(rows)) {
			t.Fatalf("%s at %d: %d rows, head %v", what, k, len(rows), head)
		}
	}
	for k := last + 1; k < len(data); k++ {
		check("cut", k, data[:k])
		check("zeros after", k, append(bytes.Clone(data[:k]), make([]byte, len(data)-k)...))
		check("zeros before", k, append(append(bytes.Clone(data[:last]), make([]byte, k-last)...), data[k:]...))
		check("zeros far", k, append(bytes.Clone(data[:k]), make([]byte, 3*MaxLine)...))
		check("cut with line feed", k, append(bytes.Clone(data[:k-1]), '\n'))
	}
	if rows, _, _, err := Decode(data[:last], Head{}, testKey); len(rows) != len(all)-1 || err != nil {
		t.Errorf("cut between lines: %d rows, %v", len(rows), err)
	}
	// Not torn: whole, readable and wrong; or followed by rows of another append.
	for name, bad := range map[string][]byte{
		"last line changed": bytes.Replace(data, []byte(`"op":"open"`), []byte(`"op":"oben"`), 1),
		"middle unreadable": bytes.Replace(data, []byte(`"op":"anchor"`), []byte(`"op":"anch"r"`), 1),
		"middle zeros":      bytes.Replace(data, []byte(`"op":"anchor"`), []byte("\"op\":\"anc\x00or\""), 1),
	} {
		if _, _, _, err := Decode(bad, Head{}, testKey); asDamage(t, err).Torn {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestLostBlocks: of one append, any blocks may have reached the disk and any
// not, and the file may end early. What was flushed before is never touched.
func TestLostBlocks(t *testing.T) {
	const block = 128
	synced, head := mustEncode(t, Head{}, nil, sample()...)
	var rows []Row
	for i := range 6 {
		rows = append(rows, row(OpAdd, at(fmt.Sprintf("n%d.md", i)), now(fmt.Sprint(i))))
	}
	batched, _ := mustEncode(t, head, nil, Batch(rows...)...)
	single, _ := mustEncode(t, head, nil, rows...)
	rng := rand.New(rand.NewPCG(1, 2))
	lose := func(tail []byte) []byte {
		img := append(bytes.Clone(synced), tail...)
		if rng.IntN(2) == 0 {
			img = img[:len(synced)+rng.IntN(len(tail)+1)]
		}
		for b := len(synced) / block * block; b < len(img); b += block {
			if rng.IntN(4) == 0 {
				clear(img[max(b, len(synced)):min(b+block, len(img))])
			}
		}
		return img
	}
	tampered := 0
	for range 1000 {
		img := lose(batched)
		got, next, good, err := Decode(img, Head{}, nil)
		if err != nil && !asDamage(t, err).Torn || good < len(synced) || len(got) != int(next.Seq) {
			t.Fatalf("image of %d bytes: good %d of %d synced: %v", len(img), good, len(synced), err)
		}
		// What is left after the cut is a journal that goes on.
		more, _ := mustEncode(t, next, nil, row(OpOpen))
		if again, _, _, err := Decode(append(img[:good:good], more...), Head{}, nil); err != nil || len(again) != len(got)+1 {
			t.Fatalf("after the cut: %d rows, %v", len(again), err)
		}
		if _, _, _, err := Decode(lose(single), Head{}, nil); err != nil && !asDamage(t, err).Torn {
			tampered++
		}
	}
	if tampered == 0 {
		t.Error("rows without parts were never taken for damage: the numbers prove nothing")
	}
}

// TestHoleBeforeForgedRows: a hole is not a way to have anything after it dropped.
func TestHoleBeforeForgedRows(t *testing.T) {
	data, head := mustEncode(t, Head{}, nil, sample()...)
	tail, _ := mustEncode(t, head, nil, Batch(row(OpOpen), row(OpOpen), row(OpOpen))...)
	hole := func(b []byte, line int) []byte {
		b = bytes.Clone(b)
		start := len(bytes.Join(lines(b)[:line], nil))
		b[start+3] = 0
		return b
	}
	whole := append(bytes.Clone(data), tail...)
	n := len(lines(data))
	for name, tt := range map[string]struct {
		data []byte
		torn bool
	}{
		"first of append":       {hole(whole, n), true},
		"second of append":      {hole(whole, n+1), true},
		"row before append":     {hole(whole, n-1), false},
		"changed row after":     {bytes.Replace(hole(whole, n), []byte(`"part":3`), []byte(`"part":2`), 1), false},
		"changed text after":    {bytes.ReplaceAll(hole(whole, n), []byte(`"part":3,"parts":3`), []byte(`"part":3,"parts":4`)), false},
		"unreadable row after":  {append(hole(whole, n), "x\n"...), false},
		"lone row after":        {append(hole(whole, n), lines(data)[n-1]...), false},
		"another hole after":    {append(hole(whole, n), "\x00\x00\n"...), true},
		"unended line after":    {append(hole(whole, n), "{"...), true},
		"seq that was had":      {append(hole(whole, n), lines(tail)[0]...), false},
		"unsealed row after":    {append(hole(whole, n), `{"seq":99,"part":90,"parts":90}`+"\n"...), false},
		"garbage without holes": {append(append(bytes.Clone(data), "x\n"...), lines(tail)[1]...), false},
	} {
		_, _, _, err := Decode(tt.data, Head{}, nil)
		if d := asDamage(t, err); d.Torn != tt.torn {
			t.Errorf("%s: torn %v, want %v (%v)", name, d.Torn, tt.torn, err)
		}
	}
}

func TestDamageText(t *testing.T) {
	for _, tt := range []struct {
		err  error
		want string
	}{
		{&Damage{Offset: 40, Seq: 2, Why: "wrong seq"}, "audit journal damaged at row 2, byte 40: wrong seq"},
		{&Damage{Offset: 40, Seq: 2, Torn: true, Why: "line has no end"}, "audit journal torn at row 2, byte 40: line has no end"},
		{&Newer{Version: 9}, "audit journal has format 9, newer than 1: read only"},
		{&Newer{Version: 9, Damage: &Damage{Offset: 1, Seq: 1, Why: "zero bytes"}}, "audit journal has format 9, newer than 1: read only: audit journal damaged at row 1, byte 1: zero bytes"},
	} {
		if diff := cmp.Diff(tt.err.Error(), tt.want); diff != "" {
			t.Error(diff)
		}
	}
}
