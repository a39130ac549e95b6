package scribe

import (
	"context"
	"maps"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/memoryroom/scribe/internal/journal"
	"github.com/memoryroom/scribe/internal/rootfs"
)

// damagedRoom is a room with one of everything that Check looks at: a.md was edited, b.md
// stands, gone.md is in the archive, and p.md waits.
func damagedRoom(t testing.TB) (*Room, *rootfs.Mem) {
	t.Helper()
	r, mem := newRoom(t, smallSegments())
	store(t, r, UserObserved, Candidate{Path: "a.md", Text: "old a\n"})
	store(t, r, UserObserved, Candidate{Path: "b.md", Text: "b\n"})
	store(t, r, UserObserved, Candidate{Path: "gone.md", Text: "gone\n"})
	wantAccepted(t, byHand(t, r, Candidate{Path: "a.md", Old: "old", New: "new"}))
	if err := archived(r, "gone.md"); err != nil {
		t.Fatal(err)
	}
	if v := offer(t, r, ExternalWeb, Candidate{Path: "a.md", Text: "other\n"}); v.Outcome != Held {
		t.Fatal(v.Findings)
	}
	return r, mem
}

// rulesOf lists "rule field" of the findings of that outcome.
func rulesOf(fs []Finding, o Outcome) []string {
	var out []string
	for _, f := range fs {
		if f.Outcome == o {
			out = append(out, f.Rule+" "+f.Field)
		}
	}
	slices.Sort(out)
	return out
}

// TestCheckExplains: each kind of damage is found by its rule, and what can be mended is.
func TestCheckExplains(t *testing.T) {
	version := func(r *Room, text string) string {
		for _, f := range must1(r.disk.LibList("versions")) {
			if strings.Contains(f, journal.Sum([]byte(text))[:12]) {
				return "versions/" + f
			}
		}
		t.Fatalf("no version of %q", text)
		return ""
	}
	drop := func(mem *rootfs.Mem, name string) string { mem.Unplant(".scribe/" + name); return name }
	plant := func(mem *rootfs.Mem, name, text string) string {
		mem.Plant(".scribe/"+name, rootfs.File, []byte(text))
		return name
	}
	pending := func(r *Room) string { return "pending/" + must1(r.disk.LibList("pending"))[0] }
	for _, tt := range []struct {
		name   string
		damage func(r *Room, mem *rootfs.Mem) (field string) // "": the finding's Field is not looked at
		rule   string
		mended bool
		info   bool // found with Outcome Accepted
	}{
		{"nothing", func(*Room, *rootfs.Mem) string { return "" }, "", true, false},
		{"version of what stands", func(r *Room, mem *rootfs.Mem) string { drop(mem, version(r, "new a\n")); return "a.md" }, "check.version", true, false},
		{"version and file of what stands", func(r *Room, mem *rootfs.Mem) string {
			drop(mem, version(r, "b\n"))
			mem.Plant("b.md", rootfs.File, []byte("saved over\n"))
			return "b.md"
		}, "check.version", false, false},
		{"wrong version of what stands", func(r *Room, mem *rootfs.Mem) string { plant(mem, version(r, "new a\n"), "rotten"); return "a.md" }, "check.version", true, false},
		{"version of the archive", func(r *Room, mem *rootfs.Mem) string { drop(mem, version(r, "gone\n")); return "gone.md" }, "check.version", true, false},
		{"changed outside", func(_ *Room, mem *rootfs.Mem) string { mem.Plant("b.md", rootfs.File, []byte("x")); return "b.md" }, "check.changed", false, false},
		{"deleted outside", func(_ *Room, mem *rootfs.Mem) string { mem.Unplant("b.md"); return "b.md" }, "check.deleted", true, false},
		{"merge", func(_ *Room, mem *rootfs.Mem) string {
			mem.Plant("b.md", rootfs.File, []byte("<<<<<<< HEAD\nb\n=======\nc\n>>>>>>> other\n"))
			return "b.md"
		}, "check.merge", false, false},
		{"link", func(_ *Room, mem *rootfs.Mem) string { mem.Plant("c.md", rootfs.Link, nil); return "c.md" }, "path.link", false, true},
		{"second header", func(_ *Room, mem *rootfs.Mem) string {
			mem.Plant("c.md", rootfs.File, []byte("---\ntype: user\n---\n\n---\ntype: project\n---\nbody\n"))
			return "c.md"
		}, "check.second-header", false, true},
		{"orphan", func(_ *Room, mem *rootfs.Mem) string {
			return plant(mem, journal.VersionName(2, journal.Sum([]byte("z"))), "z")
		}, "check.orphan", false, true},
		{"parked", func(_ *Room, mem *rootfs.Mem) string { return plant(mem, "versions/outside-0123456789ab.md", "z") }, "check.parked", false, true},
		{"short journal", func(_ *Room, mem *rootfs.Mem) string {
			plant(mem, journal.VersionName(99, journal.Sum([]byte("z"))), "z")
			return auditName
		}, "check.journal-short", false, false},
		{"torn journal", func(r *Room, mem *rootfs.Mem) string {
			plant(mem, auditName, string(must1(r.disk.LibRead(auditName, maxAudit)))+`{"seq":`)
			return auditName
		}, "check.torn", true, false},
		{"changed row", func(r *Room, mem *rootfs.Mem) string {
			plant(mem, segmentName(1), strings.Replace(string(must1(r.disk.LibRead(segmentName(1), maxAudit))), "observed", "verified", 1))
			return auditName
		}, "check.chain", false, false},
		{"wrong state", func(r *Room, _ *rootfs.Mem) string {
			r.ledger.state = r.ledger.state.Clone()
			r.ledger.state.Accepted["b.md"] = journal.Accepted{Hash: journal.Sum(nil)}
			return checkpointName
		}, "check.checkpoint", true, false},
		{"held candidate gone", func(r *Room, mem *rootfs.Mem) string { return drop(mem, pending(r)) }, "check.pending", true, false},
		{"held candidate changed", func(r *Room, mem *rootfs.Mem) string { return plant(mem, pending(r), "poison") }, "check.pending", false, false},
		{"held candidate of nobody", func(_ *Room, mem *rootfs.Mem) string { return plant(mem, "pending/0123.md", "poison") }, "check.left", true, false},
		{"archived copy gone", func(r *Room, mem *rootfs.Mem) string {
			return drop(mem, "archive/"+must1(r.disk.LibList("archive"))[0])
		}, "check.archive", true, false},
		{"archived copy changed", func(r *Room, mem *rootfs.Mem) string {
			return plant(mem, "archive/"+must1(r.disk.LibList("archive"))[0], "mine")
		}, "check.archive", false, true},
		{"index", func(_ *Room, mem *rootfs.Mem) string { mem.Unplant(indexName); return indexName }, "check.index", true, false},
		{"session", func(r *Room, mem *rootfs.Mem) string {
			return plant(mem, "sessions/"+must1(r.disk.LibList("sessions"))[0], "00\n{}")
		}, "check.session", false, true},
		{"left in tmp", func(_ *Room, mem *rootfs.Mem) string { return plant(mem, "tmp/0123456789abcdef", "x") }, "check.left", true, false},
		{"left of sealing", func(r *Room, mem *rootfs.Mem) string {
			return plant(mem, segmentName(r.ledger.first), string(must1(r.disk.LibRead(auditName, maxAudit))))
		}, "check.left", true, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			ctx := context.Background()
			r, mem := damagedRoom(t)
			field := tt.damage(r, mem)
			was := everyFile(t, mem, "")
			fs, err := r.Check(ctx, false)
			if err != nil {
				t.Fatal(err)
			}
			outcome := Held
			if tt.info {
				outcome = Accepted
			}
			got := rulesOf(fs, outcome)
			if tt.rule == "" && len(fs) > 0 || tt.rule != "" && !slices.Contains(got, tt.rule+" "+field) {
				t.Fatalf("found %v, want %s %s", fs, tt.rule, field)
			}
			for _, f := range fs {
				if f.Message == "" || f.Fix == "" {
					t.Errorf("%s explains nothing: %+v", f.Rule, f)
				}
			}
			if now := everyFile(t, mem, ""); !maps.Equal(was, now) {
				t.Errorf("looking changed\n%s", changedFiles(was, now))
			}
			if tt.rule == "check.chain" {
				if _, err := r.Check(ctx, true); err == nil {
					t.Error("a broken chain was built on")
				}
				return
			}
			r.opts.segment = segmentBytes // sealing goes on in a repair, and is no part of it
			fs, err = r.Check(ctx, true)
			if err != nil {
				t.Fatal(err)
			}
			if held := rulesOf(fs, Held); !tt.info && slices.Contains(held, tt.rule+" "+field) == tt.mended {
				t.Errorf("repair left %v", held)
			}
			told := slices.ContainsFunc(fs, func(f Finding) bool { return f.Rule == tt.rule && strings.HasPrefix(f.Message, "mended") })
			if told != (tt.mended && tt.rule != "") {
				t.Errorf("repair says %v", fs)
			}
			mended := everyFile(t, mem, "")
			again, err := r.Check(ctx, true)
			if err != nil || slices.ContainsFunc(again, func(f Finding) bool { return strings.HasPrefix(f.Message, "mended") }) {
				t.Errorf("a second repair mends again: %v, %v", again, err)
			}
			if now := everyFile(t, mem, ""); !maps.Equal(mended, now) {
				t.Errorf("a second repair changed\n%s", changedFiles(mended, now))
			}
			for name, text := range was { // nothing that somebody may want is gone
				if !slices.Contains(slices.Collect(maps.Values(mended)), text) && !strings.HasPrefix(name, ".scribe/tmp/") && !strings.HasPrefix(name, ".scribe/pending/0123") && !strings.HasSuffix(name, indexName) && !strings.HasSuffix(name, checkpointName) && !strings.HasSuffix(name, auditName) {
					t.Errorf("%s is gone: %q", name, text)
				}
			}
		})
	}
}

func must1[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// TestG10_CrashWhileMending: a repair that is cut short harms nothing and is finished by
// the next.
func TestG10_CrashWhileMending(t *testing.T) {
	ctx := context.Background()
	repair := func(r *Room) (bool, error) {
		fs, err := r.Check(ctx, true)
		return err == nil && len(rulesOf(fs, Held)) == 0, err
	}
	base := func(t testing.TB, r *Room) {
		for _, p := range []string{"a.md", "b.md", "gone.md"} {
			store(t, r, UserObserved, Candidate{Path: p, Text: p + "\n"})
		}
		if err := archived(r, "gone.md"); err != nil {
			t.Fatal(err)
		}
	}
	lose := func(dirs ...string) func(t testing.TB, r *Room) {
		return func(t testing.TB, r *Room) {
			base(t, r)
			for _, dir := range dirs {
				for _, f := range must1(r.disk.LibList(dir)) {
					if err := r.disk.LibRemove(dir + "/" + f); err != nil {
						t.Fatal(err)
					}
				}
			}
		}
	}
	for _, w := range []work{
		{"archived copies", nil, lose("archive"), repair},
		{"versions", smallSegments(), lose("versions"), repair},
	} {
		_, after := w.ends(t)
		mem, r := w.prepared(t)
		rng := rand.New(rand.NewPCG(3, 3))
		all := images(mem, rng, 0.5, func() bool { acked, _ := w.run(r); return acked })
		for n, im := range all {
			r, err := tryOpen(t, im.mem)
			if err != nil {
				t.Fatalf("%s, %d: %s: %v", w.name, n, im.at, err)
			}
			if fs, err := r.Check(ctx, true); err != nil || len(rulesOf(fs, Held)) > 0 {
				t.Fatalf("%s, %d: %s: the next repair: %v, %v", w.name, n, im.at, fs, err)
			}
			if got := stateOf(t, r); got != after {
				t.Fatalf("%s, %d: %s: it holds\n  %s\nwant\n  %s", w.name, n, im.at, got, after)
			}
		}
		if len(all) < 5 {
			t.Errorf("control: %s has %d images", w.name, len(all))
		}
	}
}

// TestCheckOnDisk: one look at a room on the real disk, with things in it that no
// simulation has.
func TestCheckOnDisk(t *testing.T) {
	r := diskRoom(t)
	store(t, r, Operator, Candidate{Path: "a.md", Text: "a\n"})
	dir := r.disk.Path()
	if err := os.Symlink("a.md", filepath.Join(dir, "linked.md")); err != nil {
		t.Skip("no links here: ", err)
	}
	if err := os.Link(filepath.Join(dir, "a.md"), filepath.Join(dir, "second.md")); err != nil {
		t.Fatal(err)
	}
	fs, err := r.Check(context.Background(), true)
	if err != nil {
		t.Fatal(err)
	}
	got := strings.Join(append(rulesOf(fs, Accepted), rulesOf(fs, Held)...), ", ")
	for _, want := range []string{"path.link linked.md", "path.hard-link a.md", "path.hard-link second.md", "check.changed a.md"} {
		if !strings.Contains(got, want) {
			t.Errorf("not found: %s, in %s", want, got)
		}
	}
	if _, err := os.Lstat(filepath.Join(dir, "linked.md")); err != nil {
		t.Error(err)
	}
}
