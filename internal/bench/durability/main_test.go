package main

import (
	"bytes"
	"strings"
	"testing"
	"time"
)

// TestReport runs every variant for a moment.
func TestReport(t *testing.T) {
	var out bytes.Buffer
	if err := report(&out, t.TempDir(), 20*time.Millisecond, 1); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Count(out.String(), "\n"), len(variants())+4; got != want {
		t.Errorf("%d lines, want %d:\n%s", got, want, out.String())
	}
	t.Logf("\n%s", out.String())
}

// TestFlushes holds what a change costs a device, index and history included: at most 7
// flushes with one writer, and 1.5 with sixteen. Each of the two rounds costs this file system
// one commit, which is two flushes; what is above that began too late for the commit. With
// the flushes begun in one call runs gave 4.0 to 4.1 and 0.3 to 0.5, without it 5.1 to
// 7.8 and 0.9 to 1.9.
func TestFlushes(t *testing.T) {
	for _, v := range variants() {
		if !strings.HasPrefix(v.name, "scribe") {
			continue
		}
		most := 7.0
		if v.writers > 1 {
			most = 1.5
		}
		for range 3 {
			n, err := flushesOf(t.TempDir(), v)
			if err != nil {
				t.Skipf("not counted here: %v", err)
			}
			t.Logf("%s, %d writers: %.2f device flushes a change", v.name, v.writers, n)
			if n > most {
				t.Errorf("%d writers: %.2f device flushes a change, want at most %.1f", v.writers, n, most)
			}
		}
	}
}
