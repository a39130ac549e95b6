package main

import (
	"context"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/memoryroom/scribe"
)

var soak = flag.Bool("soak", false, "cut the power 300 times")

// TestPowerCutOnExt4 cuts the power of a real ext4 while four writers write: its device
// then holds what was flushed, and some of the rest. Every acknowledged change is there,
// each memory is whole, and the room finds nothing wrong with itself.
func TestPowerCutOnExt4(t *testing.T) {
	cuts := 9
	if *soak {
		cuts = 300
	}
	base := t.TempDir()
	d, dir, done, err := ext4.onDisk(base)
	if err != nil {
		t.Skipf("%v", err)
	}
	defer done()
	room, err := scribe.Open(filepath.Join(dir, "room"), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer room.Close()
	var mu sync.Mutex
	acked := map[string]int64{} // by path: the number of the last text
	stop := make(chan struct{})
	var writers sync.WaitGroup
	for w := range 4 {
		writers.Go(func() {
			hash := map[string]string{}
			for n := int64(1); ; n++ {
				select {
				case <-stop:
					return
				default:
				}
				path := name(w, n)
				vs, err := room.Propose(context.Background(), scribe.Candidate{Path: path, Text: body(n), Base: hash[path]})
				if err != nil || vs[0].Err() != nil {
					t.Errorf("%s: %v, %v", path, vs, err)
					return
				}
				hash[path] = vs[0].Memory.Hash
				mu.Lock()
				acked[path] = n
				mu.Unlock()
			}
		})
	}
	rng := rand.New(rand.NewPCG(1, 2))
	checked := 0
	for i := range cuts {
		time.Sleep(time.Duration(20+rng.IntN(80)) * time.Millisecond)
		mu.Lock()
		then := map[string]int64{}
		for path, n := range acked {
			then[path] = n
		}
		mu.Unlock()
		image := d.cut(rng, []float64{0, 0.5, 1}[i%3])
		checked += look(t, filepath.Join(base, fmt.Sprint("cut", i)), image, then)
	}
	close(stop)
	writers.Wait()
	flushes, writes := d.count()
	t.Logf("%d cuts, %d acknowledged memories looked at; the device saw %d flushes and %d writes", cuts, checked, flushes, writes)
	if checked == 0 {
		t.Error("control: nothing was acknowledged")
	}
}

// look mounts what a power cut left, and holds it against what was acknowledged.
func look(t *testing.T, base string, image []byte, acked map[string]int64) int {
	t.Helper()
	if err := os.MkdirAll(base, 0o700); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(base, "image")
	if err := os.WriteFile(file, image, 0o600); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(file)
	dir, unmount, err := ext4.mount(file, base, "mnt")
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := unmount(); err != nil {
			t.Error(err)
		}
	}()
	if len(acked) > 0 {
		for path := range acked { // as plain files, before anybody recovers anything
			if _, err := os.ReadFile(filepath.Join(dir, "room", path)); err != nil {
				t.Errorf("%s: %v", path, err)
			}
		}
	}
	room, err := scribe.Open(filepath.Join(dir, "room"), nil)
	if err != nil {
		t.Errorf("the room does not open: %v", err)
		return 0
	}
	defer room.Close()
	for path, n := range acked {
		m, err := room.Read(context.Background(), path)
		var got int64
		if _, serr := fmt.Sscanf(m.Text, "Note %d of this run.", &got); err != nil || serr != nil || got < n || m.Text != body(got) {
			t.Errorf("%s: note %d was acknowledged, and there is note %d, %v, %v", path, n, got, err, serr)
		}
	}
	found, err := room.Check(context.Background(), false)
	for _, f := range found {
		if f.Outcome != scribe.Accepted {
			t.Errorf("check: %s %s", f.Rule, f.Field)
		}
	}
	if err != nil {
		t.Error(err)
	}
	return len(acked)
}
