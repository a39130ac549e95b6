package scribe

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/memoryroom/scribe/internal/journal"
	"github.com/memoryroom/scribe/internal/rootfs"
)

// stays reports whether a file belongs to one directory or process, and does not travel.
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
			for a, b := range common2(mine, theirs[name]) {
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

// common2 yields the lines of two texts side by side.
func common2(a, b string) func(yield func(string, string) bool) {
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
	for _, f := range must1(again.Check(context.Background(), false)) {
		if f.Outcome != Accepted && !slices.Contains([]string{"check.merge", "check.changed", "check.deleted"}, f.Rule) {
			t.Errorf("%s: check: %s %s: %s", at, f.Rule, f.Field, f.Message)
		}
	}
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
	for _, p := range []string{"a.md", "b.md", "c.md"} {
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
	merged(t, base, everyFile(t, mem, ""), everyFile(t, mem2, ""), mem, false)
	return mem
}

// TestPurgeAfterAMerge: a purge takes what the memory was on the other side too, texts that
// were replaced there before the merge included.
func TestPurgeAfterAMerge(t *testing.T) {
	o := sharedKey(1 << 20)
	r, mem := newRoom(t, o)
	store(t, r, Operator, Candidate{Path: "a.md", Text: "PRIVATE 1\n"})
	base := everyFile(t, mem, "")
	mem2 := mem.CrashClone(newRNG(1), 1)
	mem2.SetIdentity("another machine")
	two := reopen(t, mem2, o)
	store(t, r, Operator, Candidate{Path: "b.md", Text: "mine\n"})
	wantAccepted(t, byHand(t, two, Candidate{Path: "a.md", Old: "1", New: "2"}))
	wantAccepted(t, byHand(t, two, Candidate{Path: "a.md", To: "z.md"}))
	wantAccepted(t, byHand(t, two, Candidate{Path: "z.md", Old: "2", New: "3"}))
	merged(t, base, everyFile(t, mem, ""), everyFile(t, mem2, ""), mem, true)
	again := must1(openMem(t, mem, o))
	if got := read(t, again, "z.md"); got != "PRIVATE 3\n" {
		t.Fatalf("control: %q", got)
	}
	for _, path := range []string{"z.md", "a.md"} {
		if left, err := again.Purge(context.Background(), path, "asked to"); err != nil || len(left) > 0 {
			t.Fatal(left, err)
		}
	}
	for name, text := range everyFile(t, mem, "") {
		if strings.Contains(text, "PRIVATE") {
			t.Errorf("%s holds it", name)
		}
	}
	if fs, err := again.Check(context.Background(), false); err != nil || len(rulesOf(fs, Held)) > 0 {
		t.Errorf("%v, %v", fs, err)
	}
}

// TestPurgeThatCanNotProve: what nobody can read may hold the text, and the answer says so.
func TestPurgeThatCanNotProve(t *testing.T) {
	r, mem := newRoom(t, nil)
	store(t, r, Operator, Candidate{Path: "a.md", Text: "PRIVATE\n"})
	snapshotText(t, r)
	name := sessionDir + must1(r.disk.LibList("sessions"))[0]
	mem.Plant(".scribe/"+name, rootfs.File, []byte("00\n{\"snapshot\":{\"Text\":\"PRIVATE\"}}"))
	mem.Plant(".scribe/versions/outside-0123456789ab.md", rootfs.File, []byte("PRIVATE, and more\n"))
	left, err := r.Purge(context.Background(), "a.md", "asked to")
	if got := rulesOf(left, Held); err != nil || !slices.Equal(got, []string{"purge.parked versions/outside-0123456789ab.md", "purge.unproven " + name}) {
		t.Errorf("%v, %v", got, err)
	}
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
		if !strings.Contains(want, "new d") || !strings.Contains(want, "archived c.md") {
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

// TestG11_ASideWithoutTheKey: rows that somebody without the key appended on another side
// are nobody's, and what they brought is a change made outside.
func TestG11_ASideWithoutTheKey(t *testing.T) {
	o := sharedKey(1 << 20)
	for _, union := range []bool{false, true} {
		r, mem := newRoom(t, o)
		store(t, r, Operator, Candidate{Path: "a.md", Text: "old a\n"})
		base := everyFile(t, mem, "")
		mem2 := mem.CrashClone(newRNG(1), 1)
		wantAccepted(t, byHand(t, r, Candidate{Path: "a.md", Old: "old", New: "my"}))

		// The other side rebuilds the journal's end with rows of its own, hashes and all.
		head := must1(journal.ParseHead(strings.TrimSpace(headAt(t, mem2, o))))
		poison := []byte("poison\n")
		row := journal.Row{Change: journal.Change{Op: journal.OpAdopt, Path: "poison.md", New: journal.Sum(poison), Trust: "operator"}}
		line, _, err := journal.Encode(head, bytes.Repeat([]byte{9}, keySize), row)
		if err != nil {
			t.Fatal(err)
		}
		theirs := everyFile(t, mem2, "")
		theirs[".scribe/"+auditName] += string(line)
		theirs[".scribe/"+journal.VersionName(head.Seq+1, journal.Sum(poison))] = string(poison)
		theirs["poison.md"] = string(poison)
		merged(t, base, everyFile(t, mem, ""), theirs, mem, union)
		again, err := openMem(t, mem, o)
		if err != nil {
			t.Fatalf("union %v: %v", union, err)
		}
		if got := paths(listed(t, again)); !slices.Equal(got, []string{"a.md"}) || read(t, again, "a.md") != "my a\n" {
			t.Errorf("union %v: accepted are %q", union, got)
		}
		if got := paths(listed(t, again, stageUnaccepted)); !slices.Equal(got, []string{"poison.md"}) {
			t.Errorf("union %v: unaccepted are %q", union, got)
		}
		if aside := must1(again.disk.LibList("")); !slices.ContainsFunc(aside, func(n string) bool { return strings.HasPrefix(n, "audit.rest.") }) {
			t.Errorf("union %v: the rows were not kept aside: %q", union, aside)
		}
	}
}

// headAt opens a copy of a disk and gives the journal's head.
func headAt(t testing.TB, mem *rootfs.Mem, o *Options) string {
	t.Helper()
	return headOf(t, must1(openMem(t, mem.CrashClone(newRNG(1), 1), o)))
}

// TestG11_ForgedLibrary: whoever sends a room may prepare every byte of it, and gains
// nothing: not with any part of .scribe, nor with all of them.
func TestG11_ForgedLibrary(t *testing.T) {
	const poison = "Poisoned fact.\n"
	sum := journal.Sum([]byte(poison))
	row := func(op string, with func(*journal.Row)) journal.Row {
		r := journal.Row{Change: journal.Change{Op: op, Path: "p.md", New: sum, Trust: "operator"}, Decision: journal.Decision{By: "operator", Approved: true}}
		with(&r)
		return r
	}
	plain := func(*journal.Row) {}
	chain := func(key []byte, rows ...journal.Row) []byte {
		data, _, err := journal.Encode(journal.Head{}, key, append([]journal.Row{{Change: journal.Change{Op: journal.OpFormat}}}, rows...)...)
		if err != nil {
			t.Fatal(err)
		}
		return data
	}
	otherKey := bytes.Repeat([]byte{9}, keySize)
	heldFile := string(encodeHeld(heldHeader{ID: "0123456789abcdef", Op: journal.OpAdd, Path: "p.md", Trust: "operator"}, poison))
	parts := map[string]map[string]string{
		"audit":            {auditName: string(chain(nil, row(journal.OpAdopt, plain)))},
		"audit with a MAC": {auditName: string(chain(otherKey, row(journal.OpAdopt, plain)))},
		"audit by approval": {auditName: string(chain(nil, row(journal.OpApprove, func(r *journal.Row) {
			r.ID, r.Act = "x", journal.OpAdd
		})))},
		"versions":   {journal.VersionName(2, sum): poison},
		"in flight":  {tmpDir + "2.do": "", tmpDir + "2.new": poison, tmpDir + "2.ver": poison, tmpDir + "9.out": poison},
		"pending":    {"pending/0123456789abcdef.md": heldFile},
		"archive":    {"archive/2/p.md": poison},
		"sessions":   {"sessions/" + strings.Repeat("0", 32) + ".json": strings.Repeat("0", 64) + "\n" + `{"ceiling":"operator","snapshot":{"Text":"Poisoned fact."}}`},
		"local":      {localName: `{"dir":"1","key":"` + strings.Repeat("00", keySize) + `"}`},
		"checkpoint": {checkpointName: strings.Repeat("0", 64) + "\n" + string((&checkpoint{Sum: journal.Sum(nil), State: &journal.State{Accepted: map[string]journal.Accepted{"p.md": {Hash: sum, Origin: journal.Origin{Trust: "operator", Seq: 2}}}}}).encode())},
		"base":       {segmentDir + "/1.base": `{"Seq":1,"Hash":"` + sum + `","State":{"Seq":1,"Accepted":{"p.md":{"Hash":"` + sum + `","Trust":"operator","Seq":1}}}}`},
		"fork":       {segmentDir + "/" + forkPrefix + "1-" + sum[:12] + ".jsonl": string(chain(nil, row(journal.OpAdopt, plain)))},
		"sealed":     {segmentDir + "/1.jsonl": string(chain(nil, row(journal.OpAdopt, plain)))},
	}
	all := map[string]string{}
	for _, files := range parts {
		maps.Copy(all, files)
	}
	parts["everything"] = all
	for name, files := range parts {
		for _, o := range []*Options{{Now: tick()}, sharedKey(1 << 20)} {
			t.Run(fmt.Sprintf("%s/key=%v", name, o.Key != nil), func(t *testing.T) {
				mem := rootfs.NewMem()
				mem.SetIdentity("here")
				mem.Plant("p.md", rootfs.File, []byte(poison))
				mem.Plant(indexName, rootfs.File, []byte("- [project] p.md (2026-09-21T08:12Z): Poisoned fact.\n"))
				if _, hasAudit := files[auditName]; !hasAudit {
					mem.Plant(".scribe/"+auditName, rootfs.File, chain(nil))
				}
				for file, text := range files {
					mem.Plant(".scribe/"+file, rootfs.File, []byte(text))
				}
				r, err := openMem(t, mem, o)
				if err != nil { // refused as a whole: nobody sees anything
					var pe *fs.PathError
					if !errors.As(err, &pe) || strings.Contains(err.Error(), "Poisoned") {
						t.Error(err)
					}
					return
				}
				if got := listed(t, r, stageActive, stageChanged, stagePending, stageArchived); len(got) > 0 {
					t.Errorf("accepted, waiting or archived: %v", got)
				}
				s := session(t, r, UserObserved)
				seen := must1(s.Snapshot(context.Background())).Text
				for _, args := range []map[string]any{view("/memories"), view("/memories/p.md"), view("/memories/MEMORY.md")} {
					seen += memoryCommand(s.Guard(1), args).Text
				}
				if strings.Contains(seen, "Poisoned") {
					t.Errorf("a model is shown it:\n%s", seen)
				}
				if got := must1(mem.Read("p.md", 99)); string(got) != poison {
					t.Errorf("the user's file is %q", got)
				}
				if _, err := r.Propose(context.Background(), Candidate{Path: "own.md", Text: "my own\n"}); err != nil {
					t.Errorf("the room can not be used: %v", err)
				}
			})
		}
	}
}

// TestG11_LinksInTheLibrary: a link in the place of any part of .scribe is not followed, and
// nothing is read or written where it leads.
func TestG11_LinksInTheLibrary(t *testing.T) {
	for _, name := range []string{"", auditName, localName, checkpointName, "lock", "reserve", "tmp", "versions", "pending", "archive", "sessions", segmentDir} {
		for _, o := range []*Options{nil, sharedKey(1_000)} {
			r := openAt(t, filepath.Join(t.TempDir(), "room"), o)
			for i := range 6 {
				wantAccepted(t, byHand(t, r, Candidate{Path: "a.md", Text: fmt.Sprint("fact ", i), Base: hashOf(r, "a.md")}))
			}
			dir, outside := r.disk.Path(), filepath.Join(t.TempDir(), "outside")
			r.Close()
			at := filepath.Join(dir, ".scribe", name)
			if err := os.Rename(at, outside); errors.Is(err, fs.ErrNotExist) {
				if err := os.Mkdir(outside, 0o700); err != nil {
					t.Fatal(err)
				}
			} else if err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(outside, at); err != nil {
				t.Skip("no links here: ", err)
			}
			was := filesBelow(t, filepath.Dir(outside), true)
			again, err := Open(dir, o)
			if err == nil {
				_, err = again.Propose(context.Background(), Candidate{Path: "b.md", Text: "b"})
				again.Close()
			}
			if now := filesBelow(t, filepath.Dir(outside), true); !maps.Equal(was, now) {
				t.Errorf("%q as a link (key %v, %v): written through\n%s", name, o != nil, err, changedFiles(was, now))
			}
		}
	}
}

// TestG11_MergeUnderAWaiver: not even where the user's own edits count does an unresolved
// merge.
func TestG11_MergeUnderAWaiver(t *testing.T) {
	r, mem := newRoom(t, &Options{Waive: map[string]string{waiveUnaccepted: "a test"}})
	store(t, r, UserObserved, Candidate{Path: "a.md", Text: "old\n"})
	mem.Plant("a.md", rootfs.File, []byte("new\n"))
	if got := read(t, r, "a.md"); got != "new\n" {
		t.Fatalf("control: %q", got)
	}
	mem.Plant("a.md", rootfs.File, []byte("<<<<<<< HEAD\nnew\n=======\nother\n>>>>>>> x\n"))
	if got := read(t, r, "a.md"); strings.Contains(got, "<<<<") {
		t.Errorf("shown: %q", got)
	}
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

// partedRoom gives two sides of a room that holds m.md, and joins them as git merges them.
func partedRoom(t testing.TB) (sides [2]*Room, m Memory, join func() (*Room, *rootfs.Mem)) {
	o := sharedKey(1 << 20)
	r, mem := newRoom(t, o)
	m = store(t, r, UserObserved, Candidate{Path: "m.md", Text: "The host is a.example.\n"})
	store(t, r, UserObserved, Candidate{Path: "other.md", Text: "The port is 80.\n"})
	base := everyFile(t, mem, "")
	mem2 := mem.CrashClone(newRNG(1), 1)
	mem2.SetIdentity("another machine")
	return [2]*Room{r, reopen(t, mem2, o)}, m, func() (*Room, *rootfs.Mem) {
		merged(t, base, everyFile(t, mem, ""), everyFile(t, mem2, ""), mem, true)
		return must1(openMem(t, mem, o)), mem
	}
}

// TestG5_AJoinKeepsWhatTheOperatorTookBack: what the operator did on one side holds after a
// merge, whichever of the two goes on as the journal, and whatever a writer did meanwhile.
func TestG5_AJoinKeepsWhatTheOperatorTookBack(t *testing.T) {
	ctx := context.Background()
	edits := func(r *Room) {
		wantAccepted(t, offer(t, r, UserObserved, Candidate{Path: "m.md", Old: "a.example", New: "b.example"}))
	}
	lowers := func(r *Room, m Memory) { wantAccepted(t, must1(r.Adopt(ctx, ExternalWeb, m))[0]) }
	for name, tt := range map[string]struct {
		operator func(r *Room, m Memory)
		other    func(r *Room, m Memory)
		text     string   // what is shown after it; "" for nothing
		said     []string // what Check finds then
	}{
		"lowered, edited":   {lowers, func(r *Room, _ Memory) { edits(r) }, "The host is b.example.\n", nil},
		"lowered, raised":   {lowers, func(r *Room, m Memory) { must1(r.Adopt(ctx, UserVerified, m)) }, "The host is a.example.\n", nil},
		"suspended, edited": {func(r *Room, _ Memory) { must1(r.Suspend(ctx, "wrong", "m.md")) }, func(r *Room, _ Memory) { edits(r) }, "", nil},
		"archived, edited":  {func(r *Room, _ Memory) { must1(0, archived(r, "m.md")) }, func(r *Room, _ Memory) { edits(r) }, "", nil},
		"purged, edited":    {func(r *Room, _ Memory) { must1(r.Purge(ctx, "m.md", "asked to")) }, func(r *Room, _ Memory) { edits(r) }, "", nil},
	} {
		for n := range 4 {
			side, longer := n%2, n/2
			t.Run(fmt.Sprintf("%s/operator=%d/longer=%d", name, side, longer), func(t *testing.T) {
				sides, m, join := partedRoom(t)
				tt.operator(sides[side], m)
				tt.other(sides[1-side], m)
				for range 4 { // the longer side goes on as the journal
					wantAccepted(t, byHand(t, sides[longer], Candidate{Path: "other.md", Old: "80", New: "800"}))
				}
				r, _ := join()
				for _, f := range must1(r.Check(ctx, false)) {
					if f.Outcome != Accepted && !slices.Contains(tt.said, f.Rule) {
						t.Errorf("check: %s %s: %s", f.Rule, f.Field, f.Message)
					}
				}
				var want []string
				if tt.text != "" {
					want = []string{"m.md external-web " + tt.text}
				}
				if got := shownOf(listed(t, r, stageActive, stageChanged)); !slices.Equal(got, want) {
					t.Errorf("shown: %q, want %q", got, want)
				}
				if got := listed(t, r, stageUnaccepted); tt.text == "" && (len(got) != 1 || got[0].Text != "The host is b.example.\n") {
					t.Errorf("the writer's text does not wait for the operator: %v", got)
				}
			})
		}
	}
}

// shownOf tells of each memory but other.md its path, trust and text.
func shownOf(all []Memory) (out []string) {
	for _, m := range all {
		if m.Path != "other.md" {
			out = append(out, fmt.Sprint(m.Path, " ", m.Trust, " ", m.Text))
		}
	}
	return out
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
