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

	"github.com/memoryroom/scribe/internal/journal"
	"github.com/memoryroom/scribe/internal/rootfs"
)

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
		"checkpoint": {checkpointName: strings.Repeat("0", 64) + "\n" + string((&checkpoint{State: &journal.State{Accepted: map[string]journal.Accepted{"p.md": {Hash: sum, Origin: journal.Origin{Trust: "operator", Seq: 2}}}}}).encode())},
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
