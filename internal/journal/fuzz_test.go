package journal

import (
	"bytes"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

func FuzzState(f *testing.F) { f.Fuzz(rapid.MakeFuzz(propState)) }

func FuzzRoundTrip(f *testing.F) { f.Fuzz(rapid.MakeFuzz(propRoundTrip)) }

// FuzzDecode feeds Decode any bytes.
func FuzzDecode(f *testing.F) {
	data, _ := mustEncode(f, Head{}, nil, sample()...)
	keyed, _ := mustEncode(f, Head{}, testKey, Batch(sample()[:4]...)...)
	f.Add(data, false)
	f.Add(keyed, true)
	f.Add(data[:len(data)-7], false)
	f.Add(append(keyed[:len(keyed)-40:len(keyed)-40], make([]byte, 60)...), true)
	f.Fuzz(func(t *testing.T, data []byte, withKey bool) {
		var key []byte
		if withKey {
			key = testKey
		}
		checkDecode(t, data, key)
	})
}

// FuzzForged gives each line of any text the hash that it needs, and so gets past
// the chain to what is behind it.
func FuzzForged(f *testing.F) {
	data, _ := mustEncode(f, Head{}, nil, sample()...)
	var bodies []string
	for _, line := range lines(data) {
		body, _, _, _ := unseal(line[:len(line)-1])
		i := max(bytes.Index(body, []byte(`,"prev":`)), 0)
		bodies = append(bodies, strings.TrimPrefix(string(body[:i])+`,"prev":"PREV"`, `,"prev":"PREV"`))
	}
	bodies[0] = `{"seq":1,"time":"2026-09-21T08:12:00Z","op":"format","format":1`
	f.Add(strings.Join(bodies, "\n"))
	f.Add(bodies[0] + "\n" + `{"seq":2,"time":"2026-09-21T08:12:00Z","op":"open","x":1,"prev":"PREV"`)
	f.Add(strings.Replace(bodies[0], `"format":1`, `"format":2,"x":{}`, 1) + "\n" + `{"seq":2,"op":"x","prev":"PREV"`)
	f.Fuzz(func(t *testing.T, text string) {
		var data []byte
		var head Head
		for body := range strings.SplitSeq(text, "\n") {
			var line []byte
			line, head = forge(head, body)
			data = append(data, line...)
		}
		checkDecode(t, data, nil)
	})
}

// checkDecode: whatever the bytes are, what is taken of them is a journal.
func checkDecode(t *testing.T, data []byte, key []byte) {
	rows, head, good, err := Decode(data, Head{}, key)
	var damage *Damage
	var newer *Newer
	switch {
	case good < 0 || good > len(data) || head.Seq != int64(len(rows)):
		t.Fatalf("good %d of %d, head %v, %d rows", good, len(data), head, len(rows))
	case errors.As(err, &newer):
		if (newer.Damage == nil) != (good == len(data)) {
			t.Fatalf("good %d of %d: %v", good, len(data), err)
		}
		Replay(rows, head.Seq)
		return // its rows are not all ours to write
	case errors.As(err, &damage):
		if damage.Offset != good || good == len(data) || damage.Seq != head.Seq+1 {
			t.Fatalf("good %d of %d: %v", good, len(data), err)
		}
	case err != nil || good != len(data):
		t.Fatalf("good %d of %d: %v", good, len(data), err)
	}
	Replay(rows, head.Seq)

	// The good prefix is what Encode writes, but for MACs, which need not be right.
	again, next, err := Encode(Head{}, nil, rows...)
	if err != nil || next != head {
		t.Fatalf("encode again: head %v, want %v: %v", next, head, err)
	}
	var bare []byte
	off := 0
	for i, line := range lines(data[:good]) {
		var slow Row // encoding/json reads the same in it
		if err := json.Unmarshal(line, &slow); err != nil {
			t.Fatalf("row %d is not JSON: %v", i+1, err)
		}
		slow.Verified = rows[i].Verified
		if diff := cmp.Diff(rows[i], slow, cmpopts.EquateEmpty()); diff != "" {
			t.Fatal(diff)
		}

		// Each shorter prefix of lines holds fewer of the same rows.
		got, _, n, err := Decode(data[:off], Head{}, key)
		if n != off || err != nil || len(got) != i || i > 0 && got[i-1].Hash != rows[i-1].Hash {
			t.Fatalf("prefix of %d lines: %d rows, %v", i, len(got), err)
		}
		off += len(line)
		if mac := rows[i].MAC; mac != "" {
			line = append(bytes.Clone(line[:len(line)-len(`,"mac":""}`)-len(mac)-1]), "}\n"...)
		}
		bare = append(bare, line...)
	}
	if !bytes.Equal(again, bare) {
		t.Fatalf("encoded again:\n%s\nwant:\n%s", again, bare)
	}

	// With the rest cut off, the journal goes on.
	r := row(OpOpen)
	if head.Seq == 0 {
		r = row(OpFormat)
	}
	more, _, err := Encode(head, key, r)
	if err != nil {
		t.Fatal(err)
	}
	if got, _, _, err := Decode(append(data[:good:good], more...), Head{}, key); err != nil || len(got) != len(rows)+1 {
		t.Fatalf("going on: %d rows, %v", len(got), err)
	}
}
