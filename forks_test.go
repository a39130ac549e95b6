package scribe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/memoryroom/scribe/internal/journal"
	"github.com/memoryroom/scribe/internal/rootfs"
)

// staysHome reports whether a file belongs to one directory or process, and does not travel.
func staysHome(name string) bool {
	for _, own := range []string{"lock", localName, reserveName, checkpointName, cacheName, shadowDir, tmpDir, sessionDir, sweptDir} {
		if strings.HasPrefix(name, ".scribe/"+own) {
			return true
		}
	}
	return false
}

// merged is what git makes of two sides of a base: a file that one side changed is that
// side's, and one that both changed holds both, between markers or (union) without.
func merged(t testing.TB, base, ours, theirs map[string]string, into *rootfs.Mem, union bool) {
	t.Helper()
	for name := range journal.Sorted(theirs) {
		if was, stood := base[name]; staysHome(name) || stood && was == theirs[name] {
			continue
		}
		mine, here := ours[name]
		was, stood := base[name]
		switch {
		case !here && stood: // deleted here, changed there: git leaves theirs
			into.Plant(name, rootfs.File, []byte(theirs[name]))
		case !here || here && stood && mine == was:
			into.Plant(name, rootfs.File, []byte(theirs[name]))
		case mine != theirs[name]:
			common := 0
			for a, b := range lineByLine(mine, theirs[name]) {
				if a != b {
					break
				}
				common += len(a)
			}
			text := mine[:common] + "<<<<<<< HEAD\n" + mine[common:] + "=======\n" + theirs[name][common:] + ">>>>>>> theirs\n"
			if union && (name == indexName || strings.HasSuffix(name, ".jsonl")) {
				text = mine + theirs[name][common:]
			}
			into.Plant(name, rootfs.File, []byte(text))
		}
	}
	for name, was := range base {
		if _, there := theirs[name]; !there && !staysHome(name) && ours[name] == was {
			into.Unplant(name)
		}
	}
}

// lineByLine yields the lines of two texts side by side.
func lineByLine(a, b string) func(yield func(string, string) bool) {
	return func(yield func(string, string) bool) {
		for a != "" && b != "" {
			x, y := a[:strings.IndexByte(a+"\n", '\n')], b[:strings.IndexByte(b+"\n", '\n')]
			x, y = a[:min(len(x)+1, len(a))], b[:min(len(y)+1, len(b))]
			if !yield(x, y) {
				return
			}
			a, b = a[len(x):], b[len(y):]
		}
	}
}

// sharedKey opens rooms that may travel.
func sharedKey(segment int) *Options {
	return &Options{Key: bytes.Repeat([]byte{7}, keySize), segment: segment, Now: tick()}
}

// openMem opens what is on a disk, with options.
func openMem(t testing.TB, mem *rootfs.Mem, o *Options) (*Room, error) {
	t.Helper()
	settled, err := o.settle()
	if err != nil {
		t.Fatal(err)
	}
	return openOn(rootfs.New(mem), settled)
}

// TestG10_NothingIsLostInAMerge: two clones go on at random, are merged as git does it, and
// every text that either accepted last is the accepted one; where both changed a memory,
// one of the two is shown and the other is kept.
func TestG10_NothingIsLostInAMerge(t *testing.T) {
	seeds := uint64(60)
	switch {
	case testing.Short():
		seeds = 12
	case *soak:
		seeds = 5_000
	}
	for seed := range seeds {
		for _, union := range []bool{false, true} {
			randomMerge(t, seed, union)
			if t.Failed() {
				return
			}
		}
	}
}

func randomMerge(t *testing.T, seed uint64, union bool) {
	t.Helper()
	rng := newRNG(seed)
	o := sharedKey([]int{2_000, 1 << 20}[seed%2])
	r, mem := newRoom(t, o)
	one := &chronicle{t: t, r: r, mem: mem, rng: rng, at: []book{newBook()}, now: newBook()}
	for range 12 {
		one.act()
	}
	base, parted := everyFile(t, mem, ""), one.now.copied()
	mem2 := mem.CrashClone(rng, 1)
	mem2.SetIdentity("another machine")
	two := &chronicle{t: t, r: reopen(t, mem2, o), mem: mem2, rng: rng, at: slices.Clone(one.at), now: one.now.copied(), words: 1_000}
	for range 2 + rng.IntN(10) {
		one.act()
	}
	for range 2 + rng.IntN(10) {
		two.act()
	}
	heads := []string{headOf(t, one.r), headOf(t, two.r)}
	merged(t, base, everyFile(t, mem, ""), everyFile(t, mem2, ""), mem, union)
	at := fmt.Sprintf("seed %d, union %v", seed, union)
	again, err := openMem(t, mem, o)
	if err != nil {
		t.Fatalf("%s: %v", at, err)
	}
	now := newBook()
	born := map[string]bool{}
	for _, b := range []book{parted, one.now, two.now} {
		for p := range b.stands {
			born[b.born[p]] = true
		}
		maps.Copy(now.born, b.born)
	}
	for _, m := range listed(t, again, stageActive, stageChanged) {
		now.stands[m.Path] = m.Text
	}
	versions := keptTexts(t, again)
	kept := func(text string) bool { return slices.Contains(versions, strings.TrimSuffix(text, "\n")) }
	for id := range born {
		name, was := parted.memory(id)
		nameA, a := one.now.memory(id)
		nameB, b := two.now.memory(id)
		nameNow, got := now.memory(id)
		if got == "" && was == "" && slices.ContainsFunc([]book{one.now, two.now}, func(side book) bool { return side.archives(id) }) && (a == "" || b == "") {
			continue // restored on both sides, and retired again on one
		}
		movedA, movedB := nameA != name && a != "", nameB != name && b != ""
		switch {
		case a == was && !movedA && got != b, b == was && !movedB && got != a, a == b && got != a:
			t.Errorf("%s: %s is %q; it was %q, and became %q and %q", at, id, got, was, a, b)
		case got != a && got != b:
			t.Errorf("%s: %s is %q, and neither %q nor %q", at, id, got, a, b)
		case a != "" && !kept(a) || b != "" && !kept(b):
			t.Errorf("%s: of %s, %q or %q is not among the versions", at, id, a, b)
		case got != "" && was != "" && a != "" && b != "" && (movedA || movedB) && nameNow != nameA && nameNow != nameB, got != "" && movedA != movedB && a != "" && b != "" && nameNow == name:
			t.Errorf("%s: %s is called %s; it was called %s, and became %s and %s", at, id, nameNow, name, nameA, nameB)
		}
	}
	retired := map[string]bool{}
	for _, m := range listed(t, again, stageArchived) {
		retired[now.born[m.Path]+"="+m.Text] = true
	}
	for i, side := range []book{one.now, two.now} {
		for p, text := range side.retired {
			other := []book{two.now, one.now}[i]
			if parted.retired[p] == text && other.retired[p] != text {
				continue // the other side brought it back
			}
			if _, stands := now.memory(side.born[p]); !retired[side.born[p]+"="+text] && stands != text && !(kept(text) && stands != "") {
				t.Errorf("%s: %s=%q was archived, and is not", at, p, text)
			}
		}
	}
	for _, head := range heads {
		if err := again.Verify(context.Background(), head); err != nil {
			t.Errorf("%s: %v", at, err)
		}
	}
	wellOnDisk(t, at, again, "check.merge", "check.changed", "check.deleted")
	for i, side := range []*chronicle{one, two} { // the rows of the side that goes on rebuild it still
		goesOn := false
		if err := again.eachRow(context.Background(), func(row journal.Row) bool {
			goesOn = goesOn || journal.Head{Seq: row.Seq, Hash: row.Hash}.String() == heads[i]
			return !goesOn
		}); err != nil {
			t.Fatal(err)
		}
		for seq := int(seed % 5); goesOn && seq < len(side.at); seq += 5 {
			if got := rebuilt(t, again, int64(seq)); got.String() != side.at[seq].String() {
				t.Errorf("%s: row %d was\n  %s\nand is given back as\n  %s", at, seq, side.at[seq], got)
			}
		}
	}
	was := everyFile(t, mem, "")
	if _, err := openMem(t, mem, o); err != nil || !maps.Equal(was, everyFile(t, mem, "")) {
		t.Errorf("%s: opening it again changed %v\n%s", at, err, changedFiles(was, everyFile(t, mem, "")))
	}
}

// forkedRoom is a room with a key whose two sides git has merged.
func forkedRoom(t testing.TB, o *Options) *rootfs.Mem {
	t.Helper()
	r, mem := newRoom(t, o)
	for _, p := range []string{"a.md", "b.md", "c.md", "e.md", "g.md"} {
		store(t, r, Operator, Candidate{Path: p, Text: "old " + p + "\n"})
	}
	base := everyFile(t, mem, "")
	mem2 := mem.CrashClone(newRNG(1), 1)
	mem2.SetIdentity("another machine")
	two := reopen(t, mem2, o)
	wantAccepted(t, byHand(t, r, Candidate{Path: "a.md", Old: "old", New: "mine"}))
	wantAccepted(t, byHand(t, r, Candidate{Path: "b.md", Old: "old", New: "mine"}))
	wantAccepted(t, byHand(t, two, Candidate{Path: "b.md", Old: "old", New: "their"}))
	wantAccepted(t, byHand(t, two, Candidate{Path: "n/d.md", Text: "new d\n"}))
	if err := archived(two, "c.md"); err != nil {
		t.Fatal(err)
	}
	wantAccepted(t, byHand(t, r, Candidate{Path: "e.md", To: "f.md"})) // a purge of each side
	must1(two.Purge(context.Background(), "e.md", "asked to"))
	must1(r.Purge(context.Background(), "g.md", "asked to"))
	wantAccepted(t, byHand(t, two, Candidate{Path: "g.md", To: "h.md"}))
	merged(t, base, everyFile(t, mem, ""), everyFile(t, mem2, ""), mem, false)
	return mem
}

// TestG10_CrashWhileJoining: cut short at any step, a join goes on at the next open, and
// ends the same.
func TestG10_CrashWhileJoining(t *testing.T) {
	for _, segment := range []int{1_500, 1 << 20} {
		o := sharedKey(segment)
		ended := func(mem *rootfs.Mem) string {
			r, err := openMem(t, mem, o)
			if err != nil {
				return err.Error()
			}
			return stateOf(t, r)
		}
		mem := forkedRoom(t, o)
		want := ended(mem.CrashClone(newRNG(1), 1))
		if !strings.Contains(want, "new d") || !strings.Contains(want, "archived c.md") || strings.Contains(want, "old e") || strings.Contains(want, "old g") {
			t.Fatalf("control: %s", want)
		}
		for _, keep := range []float64{0, 0.5, 1} {
			rng := newRNG(uint64(keep * 2))
			mem := forkedRoom(t, o)
			for n, im := range images(mem, rng, keep, func() bool { _, err := openMem(t, mem, o); return err == nil }) {
				at := fmt.Sprintf("segment %d, keep %v, %d: %s", segment, keep, n, im.at)
				if n%5 == 0 || *soak {
					copied := im.mem.CrashClone(rng, 1)
					for k, im2 := range images(copied, rng, 0.5, func() bool { _, err := openMem(t, copied, o); return err == nil }) {
						if got := ended(im2.mem); got != want {
							t.Fatalf("%s, and in recovery, %d: %s: it holds\n  %s\nwant\n  %s", at, k, im2.at, got, want)
						}
					}
				}
				if got := ended(im.mem); got != want {
					t.Fatalf("%s: it holds\n  %s\nwant\n  %s", at, got, want)
				}
			}
		}
	}
}

// TestG10_WhatIsNoMerge: damage that a merge does not explain is not joined away.
func TestG10_WhatIsNoMerge(t *testing.T) {
	o := sharedKey(1 << 20)
	other, _ := newRoom(t, &Options{Key: o.Key, Now: func() time.Time { return time.Unix(99, 0) }})
	store(t, other, Operator, Candidate{Path: "z.md", Text: "from elsewhere\n"})
	foreign := string(must1(other.disk.LibRead(auditName, maxAudit)))
	for name, change := range map[string]func(lines []string) string{
		"a row changed": func(l []string) string {
			l[2] = strings.Replace(l[2], `"operator"`, `"oqerator"`, 1)
			return strings.Join(l, "")
		},
		"a row gone": func(l []string) string { return strings.Join(append(l[:2], l[3:]...), "") },
		"a row gone beside markers": func(l []string) string {
			return "<<<<<<< a\n" + strings.Join(append(l[:2], l[3:]...), "") + "=======\n>>>>>>> b\n"
		},
		"garbage":             func(l []string) string { return l[0] + "garbage\n" + strings.Join(l[1:], "") },
		"another room's rows": func(l []string) string { return strings.Join(l, "") + foreign },
		"nothing of ours":     func([]string) string { return "<<<<<<< a\n=======\n>>>>>>> b\n" },
	} {
		t.Run(name, func(t *testing.T) {
			r, mem := newRoom(t, o)
			for i := range 4 {
				store(t, r, Operator, Candidate{Path: fmt.Sprintf("m%d.md", i), Text: "fact\n"})
			}
			lines := strings.SplitAfter(strings.TrimSuffix(string(must1(r.disk.LibRead(auditName, maxAudit))), "\n")+"\n", "\n")
			mem.Plant(".scribe/"+auditName, rootfs.File, []byte(change(lines[:len(lines)-1])))
			was := everyFile(t, mem.CrashClone(newRNG(1), 1), "")
			var pe *fs.PathError
			if _, err := openMem(t, mem.CrashClone(newRNG(1), 1), o); !errors.As(err, &pe) || pe.Op != "verify" {
				t.Errorf("opened: %v", err)
			}
			if now := everyFile(t, mem, ""); !maps.Equal(was, now) {
				t.Errorf("changed\n%s", changedFiles(was, now))
			}
		})
	}
	t.Run("no key", func(t *testing.T) {
		r, mem := newRoom(t, nil)
		store(t, r, Operator, Candidate{Path: "a.md", Text: "fact\n"})
		data := string(must1(r.disk.LibRead(auditName, maxAudit)))
		mem.Plant(".scribe/"+auditName, rootfs.File, []byte(data+"<<<<<<< a\n=======\n>>>>>>> b\n"))
		if r, err := tryOpen(t, mem); err != nil || len(listed(t, r, stageActive)) > 0 || !r.isMerged() {
			t.Errorf("%v", err)
		}
	})
}

func TestUnmergeIndex(t *testing.T) {
	const a, b, c = "- [project] a.md (2026-09-21T08:12Z): A\n", "- [project] b.md (2026-09-21T08:12Z): B\n", "- [project] c.md (2026-09-21T08:12Z): C\n"
	for _, tt := range []struct{ name, in, want string }{
		{"none", "# mine\n" + a, "# mine\n" + a},
		{"ours alone", a + "<<<<<<< HEAD\n" + b + "=======\n" + c + ">>>>>>> x\n# mine\n", a + b + c + "# mine\n"},
		{"one side empty", "<<<<<<< HEAD\n=======\n" + c + ">>>>>>> x\n", c},
		{"three-way", "<<<<<<< HEAD\n" + b + "||||||| base\n" + a + "=======\n" + c + ">>>>>>> x\n", b + c},
		{"the user's", "<<<<<<< HEAD\n" + b + "mine\n=======\n" + c + ">>>>>>> x\n", "<<<<<<< HEAD\n" + b + "mine\n=======\n" + c + ">>>>>>> x\n"},
		{"no end", "<<<<<<< HEAD\n" + b + "=======\n" + c, "<<<<<<< HEAD\n" + b + "=======\n" + c},
		{"line ends", "<<<<<<< HEAD\r\n" + strings.TrimSuffix(b, "\n") + "\r\n=======\r\n>>>>>>> x\r\n", strings.TrimSuffix(b, "\n") + "\r\n"},
	} {
		if got := string(unmergeIndex([]byte(tt.in))); got != tt.want {
			t.Errorf("%s:\n%s\nwant\n%s", tt.name, got, tt.want)
		}
	}
}

// TestGitAdviceIgnoresWhatStaysHome: whatever a room writes is either part of its record or
// does not travel.
func TestGitAdviceIgnoresWhatStaysHome(t *testing.T) {
	r, _ := newRoom(t, sharedKey(1<<20))
	ignore, _ := r.GitAdvice()
	for _, name := range []string{"lock", localName, reserveName, checkpointName, cacheName, shadowDir, tmpDir, sessionDir, sweptDir, "audit.torn.*", "audit.rest.*"} {
		if !strings.Contains(ignore, "/.scribe/"+name+"\n") {
			t.Errorf("%s travels with git", name)
		}
	}
}
