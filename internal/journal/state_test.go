package journal

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// numbered gives rows their seqs and times, as Encode would, from 1.
func numbered(rows ...Row) []Row {
	for i := range rows {
		rows[i].Seq = int64(i + 1)
		rows[i].Time = t0.Add(time.Duration(i+1) * time.Minute)
	}
	return rows
}

func link(path string) func(*Row) {
	return func(r *Row) {
		if r.Link = path; r.Op == OpArchive {
			r.Category = "superseded"
		}
	}
}

// brief is a state in few words, for tables.
func brief(s *State) string {
	name := map[string]string{"": "-"}
	for _, text := range []string{"1", "2", "3", "m"} {
		name[content(text)] = text
	}
	var out []string
	for p, a := range Sorted(s.Accepted) {
		mark := ""
		if a.Approved {
			mark = "!"
		}
		out = append(out, fmt.Sprintf("%s=%s@%d%s", p, name[a.Hash], a.Seq, mark))
	}
	for p, a := range Sorted(s.Archived) {
		link := ""
		if a.SupersededBy != "" || a.Category != "" {
			link = fmt.Sprintf(" %s>%s", a.Category, a.SupersededBy)
		}
		out = append(out, fmt.Sprintf("archive:%s=%s@%d%s", p, name[a.Hash], a.Seq, link))
	}
	for p, t := range Sorted(s.Tombs) {
		out = append(out, fmt.Sprintf("tomb:%s=%s@%d by %d", p, name[t.Hash], t.Seq, t.Freed))
	}
	for id, h := range Sorted(s.Pending) {
		out = append(out, fmt.Sprintf("held:%s %s %s@%d", id, h.Op, h.Path, h.Seq))
	}
	for d, seq := range Sorted(s.Refused) {
		out = append(out, fmt.Sprintf("refused:%s@%d", name[d], seq))
	}
	for p, h := range Sorted(s.Outside) {
		out = append(out, fmt.Sprintf("outside:%s=%s", p, name[h]))
	}
	return fmt.Sprint(out)
}

func TestApply(t *testing.T) {
	add := row(OpAdd, at("a"), now("1"))
	held := row(OpHold, at("a"), now("2"), id("p"), act(OpReplace), digest("2"))
	for _, tt := range []struct {
		name string
		rows []Row
		want string
	}{
		{"add", []Row{add}, "[a=1@1]"},
		{"replace", []Row{add, row(OpReplace, at("a"), now("2"))}, "[a=2@2]"},
		{"purge after renames", []Row{add, row(OpRename, at("a"), to("b")), row(OpRename, at("b"), to("c")), row(OpPurge, at("c"))}, "[tomb:a=-@1 by 2 tomb:b=-@1 by 3 tomb:c=-@1 by 4]"},
		{"purge after a rename, the old name taken and freed", []Row{add, row(OpRename, at("a"), to("b")), row(OpAdd, at("a"), now("2")), row(OpRemove, at("a")), row(OpPurge, at("b"))}, "[tomb:a=2@3 by 4 tomb:b=-@1 by 5]"},
		{"purge after a rename was rolled back", []Row{add, row(OpRename, at("a"), to("b")), row(OpRollback, at("b"), was("1"), func(r *Row) { r.Ref = 1 }), row(OpRollback, at("a"), now("1"), func(r *Row) { r.Ref = 1 }), row(OpPurge, at("a"))}, "[tomb:a=-@4 by 5 tomb:b=-@1 by 3]"},
		{"edit", []Row{add, row(OpEdit, at("a"), now("2"))}, "[a=2@2]"},
		{"adopt", []Row{row(OpAdopt, at("a"), now("1"))}, "[a=1@1]"},
		{"edit of adopted", []Row{row(OpAdopt, at("a"), now("1")), row(OpEdit, at("a"), now("2"))}, "[a=2@2]"},
		{"history only", []Row{row(OpFormat), row(OpReject, at("a"), now("1")), row(OpPrune, ref(1)), row(OpWaive), row(OpOpen)}, "[]"},
		{"unknown op", []Row{add, row("teleport", at("a"), now("2"))}, "[a=1@1]"},

		{"remove", []Row{add, row(OpRemove, at("a"))}, "[tomb:a=1@1 by 2]"},
		{"remove nothing", []Row{row(OpRemove, at("a"), was("1"))}, "[]"},
		{"add again", []Row{add, row(OpRemove, at("a")), row(OpAdd, at("a"), now("2"))}, "[a=2@3]"},
		{"hold does not end a tomb", []Row{add, row(OpRemove, at("a")), row(OpHold, at("a"), id("p"), act(OpAdd))}, "[tomb:a=1@1 by 2 held:p add a@3]"},

		{"rename", []Row{add, row(OpRename, at("a"), to("b"))}, "[b=1@1 tomb:a=1@1 by 2]"},
		{"rename with mirror", []Row{add, row(OpRename, at("a"), to("b"), now("2"))}, "[b=2@2 tomb:a=1@1 by 2]"},
		{"rename back", []Row{add, row(OpRename, at("a"), to("b")), row(OpRename, at("b"), to("a"))}, "[a=1@1 tomb:b=1@1 by 3]"},
		{"rename over", []Row{add, row(OpAdd, at("b"), now("2")), row(OpRename, at("a"), to("b"))}, "[b=1@1 tomb:a=1@1 by 3]"},
		{"rename keeps approval", []Row{add, held, row(OpApprove, id("p"), act(OpReplace), at("a"), now("1")), row(OpRename, at("a"), to("b"))}, "[b=1@3! tomb:a=1@3 by 4]"},
		{"rename of what was not accepted", []Row{row(OpRename, at("a"), to("b"), now("1"))}, "[]"},
		{"rename of what was seen outside", []Row{row(OpObserve, at("a"), now("1")), row(OpRename, at("a"), to("b"))}, "[outside:b=1]"},
		{"rename of outside bytes over accepted ones", []Row{row(OpObserve, at("a"), now("2")), row(OpAdd, at("b"), now("1")), row(OpRename, at("a"), to("b"))}, "[b=1@2 outside:b=2]"},
		{"rename of the same bytes over accepted ones", []Row{row(OpObserve, at("a"), now("1")), row(OpAdd, at("b"), now("1")), row(OpRename, at("a"), to("b"))}, "[b=1@2]"},
		{"rename of what was deleted", []Row{add, row(OpObserve, at("a")), row(OpAdd, at("b"), now("2")), row(OpRename, at("a"), to("b"))}, "[b=2@3 tomb:a=1@1 by 2]"},

		{"archive", []Row{add, row(OpArchive, at("a"))}, "[archive:a:2=1@1 tomb:a=1@1 by 2]"},
		{"archive with other bytes", []Row{add, row(OpArchive, at("a"), now("m"))}, "[archive:a:2=m@2 tomb:a=1@1 by 2]"},
		{"archive twice", []Row{add, row(OpArchive, at("a")), row(OpAdd, at("a"), now("2")), row(OpArchive, at("a"))}, "[archive:a:2=1@1 archive:a:4=2@3 tomb:a=2@3 by 4]"},
		{"archive nothing", []Row{row(OpArchive, at("a"))}, "[]"},
		{"restore", []Row{add, row(OpArchive, at("a")), row(OpRestore, at("a"), now("1"), ref(2))}, "[a=1@3]"},
		{"restore elsewhere", []Row{add, row(OpArchive, at("a")), row(OpRestore, at("a"), to("b"), now("1"), ref(2))}, "[b=1@3 tomb:a=1@1 by 2]"},
		{"restore the last one", []Row{add, row(OpArchive, at("a")), row(OpAdd, at("a"), now("2")), row(OpArchive, at("a")), row(OpRestore, at("a"), now("2"), ref(4))}, "[a=2@5 archive:a:2=1@1]"},
		{"restore an older one", []Row{add, row(OpArchive, at("a")), row(OpAdd, at("a"), now("2")), row(OpArchive, at("a")), row(OpRestore, at("a"), now("1"), ref(2))}, "[a=1@5 archive:a:4=2@3]"},
		{"archive with a link", []Row{add, row(OpAdd, at("b"), now("2")), row(OpArchive, at("a"), link("b"))}, "[b=2@2 archive:a:3=1@1 superseded>b tomb:a=1@1 by 3]"},
		{"archive with a link to nothing", []Row{add, row(OpArchive, at("a"), link("b"))}, "[archive:a:2=1@1 superseded> tomb:a=1@1 by 2]"},
		{"archive with a link to itself", []Row{add, row(OpArchive, at("a"), link("a"))}, "[archive:a:2=1@1 superseded> tomb:a=1@1 by 2]"},
		{"approve a restore of what is gone from the archive", []Row{add, row(OpArchive, at("a")), row(OpAdd, at("b"), now("2")), row(OpArchive, at("b")), row(OpHold, at("b"), now("m"), id("p"), act(OpRestore)), row(OpApprove, id("p"), act(OpRestore), at("b"), now("3"))}, "[b=3@6! archive:a:2=1@1 archive:b:4=2@3 tomb:a=1@1 by 2]"},
		{"stow", []Row{add, row(OpStow, at("b"), now("2"), link("a")), row(OpStow, at("a"), now("m"))}, "[a=1@1 archive:a:3=m@3 archive:b:2=2@2 >a tomb:b=2@2 by 2]"},
		{"abort stow", []Row{row(OpStow, at("b"), now("2")), row(OpAbort, ref(1))}, "[]"},
		{"link of nothing", []Row{add, row(OpLink, at("a"), ref(1))}, "[a=1@1]"},
		{"a link is kept and never turned", []Row{add, row(OpAdd, at("b"), now("2")), row(OpArchive, at("a"), link("b")), row(OpAdd, at("c"), now("3")), row(OpLink, at("a"), now("m"), link("c"), ref(3))}, "[b=2@2 c=3@4 archive:a:3=m@5 superseded>b tomb:a=1@1 by 3]"},
		{"a link is cut", []Row{add, row(OpAdd, at("b"), now("2")), row(OpArchive, at("a"), link("b")), row(OpLink, at("a"), ref(3), func(r *Row) { r.Category = "unused" })}, "[b=2@2 archive:a:3=1@1 unused> tomb:a=1@1 by 3]"},
		{"a link follows a rename", []Row{add, row(OpAdd, at("b"), now("2")), row(OpArchive, at("a"), link("b")), row(OpRename, at("b"), to("c"))}, "[c=2@2 archive:a:3=1@1 superseded>c tomb:a=1@1 by 3 tomb:b=2@2 by 4]"},
		{"a link follows into the archive", []Row{add, row(OpAdd, at("b"), now("2")), row(OpArchive, at("a"), link("b")), row(OpArchive, at("b")), row(OpAdd, at("b"), now("3"))}, "[b=3@5 archive:a:3=1@1 superseded>b:4 archive:b:4=2@2 tomb:a=1@1 by 3]"},
		{"and back", []Row{add, row(OpAdd, at("b"), now("2")), row(OpArchive, at("a"), link("b")), row(OpArchive, at("b")), row(OpRestore, at("b"), now("2"), ref(4))}, "[b=2@5 archive:a:3=1@1 superseded>b tomb:a=1@1 by 3]"},
		{"a purge cuts links", []Row{add, row(OpAdd, at("b"), now("2")), row(OpArchive, at("a"), link("b")), row(OpPurge, at("b"))}, "[archive:a:3=1@1 superseded> tomb:a=1@1 by 3 tomb:b=-@2 by 4]"},
		{"a purge of the archive cuts links", []Row{add, row(OpAdd, at("b"), now("2")), row(OpArchive, at("a"), link("b")), row(OpArchive, at("b")), row(OpPurge, at("b"))}, "[archive:a:3=1@1 superseded> tomb:a=1@1 by 3 tomb:b=-@2 by 4]"},
		{"a deletion outside cuts links", []Row{add, row(OpAdd, at("b"), now("2")), row(OpArchive, at("a"), link("b")), row(OpObserve, at("b"))}, "[archive:a:3=1@1 superseded> tomb:a=1@1 by 3 tomb:b=2@2 by 4 outside:b=-]"},
		{"rollback over a retirement", []Row{add, row(OpAdd, at("b"), now("2")), row(OpArchive, at("a"), link("b")), row(OpRollback, at("a"), now("1"), ref(1))}, "[a=1@4 b=2@2]"},
		{"rollback leaves an older retirement", []Row{add, row(OpArchive, at("a")), add, row(OpEdit, at("a"), now("2")), row(OpRollback, at("a"), now("1"), ref(3))}, "[a=1@5 archive:a:2=1@1]"},
		{"rollback to nothing cuts links", []Row{add, row(OpAdd, at("b"), now("2")), row(OpArchive, at("a"), link("b")), row(OpRollback, at("b"), ref(1))}, "[archive:a:3=1@1 superseded> tomb:a=1@1 by 3 tomb:b=2@2 by 4]"},
		{"rollback brings back what links lead to", []Row{add, row(OpAdd, at("b"), now("2")), row(OpArchive, at("a"), link("b")), row(OpArchive, at("b")), row(OpRollback, at("b"), now("2"), ref(3))}, "[b=2@5 archive:a:3=1@1 superseded>b tomb:a=1@1 by 3]"},
		{"approve a restore", []Row{add, row(OpArchive, at("a")), row(OpHold, at("a"), now("m"), id("p"), act(OpRestore)), row(OpApprove, id("p"), act(OpRestore), at("a"), now("1"), ref(2))}, "[a=1@4!]"},
		{"abort link", []Row{add, row(OpAdd, at("b"), now("2")), row(OpArchive, at("a"), link("b")), row(OpLink, at("a"), ref(3)), row(OpAbort, ref(4))}, "[b=2@2 archive:a:3=1@1 superseded>b tomb:a=1@1 by 3]"},
		{"rollback", []Row{add, row(OpEdit, at("a"), now("2")), row(OpRollback, at("a"), now("1"), ref(1))}, "[a=1@3]"},
		{"rollback to nothing", []Row{row(OpOpen), row(OpAdd, at("a"), now("1")), row(OpRollback, at("a"), ref(1))}, "[tomb:a=1@2 by 3]"},

		{"observe", []Row{add, row(OpObserve, at("a"), now("2"))}, "[a=1@1 outside:a=2]"},
		{"observe again", []Row{add, row(OpObserve, at("a"), now("2")), row(OpObserve, at("a"), now("3"))}, "[a=1@1 outside:a=3]"},
		{"observe undone", []Row{add, row(OpObserve, at("a"), now("2")), row(OpObserve, at("a"), now("1"))}, "[a=1@1]"},
		{"observe unknown", []Row{row(OpObserve, at("a"), now("2"))}, "[outside:a=2]"},
		{"observe deleted", []Row{add, row(OpObserve, at("a"), was("1"))}, "[tomb:a=1@1 by 2 outside:a=-]"},
		{"back after deletion", []Row{add, row(OpObserve, at("a")), row(OpObserve, at("a"), now("1"))}, "[tomb:a=1@1 by 2 outside:a=1]"},
		{"adopt outside", []Row{add, row(OpObserve, at("a"), now("2")), row(OpAdopt, at("a"), now("2"))}, "[a=2@3]"},
		{"adopt after deletion", []Row{add, row(OpObserve, at("a")), row(OpAdopt, at("a"), now("1"))}, "[a=1@3]"},
		{"remove outside", []Row{add, row(OpObserve, at("a"), now("2")), row(OpRemove, at("a"))}, "[tomb:a=1@1 by 3]"},

		{"hold", []Row{add, held}, "[a=1@1 held:p replace a@2]"},
		{"withdraw", []Row{held, row(OpWithdraw, id("p"))}, "[]"},
		{"refuse", []Row{held, row(OpRefuse, id("p"), digest("2"))}, "[refused:2@2]"},
		{"refuse outside bytes", []Row{row(OpObserve, at("a"), now("2")), row(OpRefuse, at("a"), digest("2"))}, "[refused:2@2 outside:a=2]"},
		{"approve", []Row{add, held, row(OpApprove, id("p"), act(OpReplace), at("a"), now("2"))}, "[a=2@3!]"},
		{"approve remove", []Row{add, held, row(OpApprove, id("p"), act(OpRemove), at("a"))}, "[tomb:a=1@1 by 3]"},
		{"approve archive", []Row{add, held, row(OpApprove, id("p"), act(OpArchive), at("a"))}, "[archive:a:3=1@1 tomb:a=1@1 by 3]"},
		{"approve rename", []Row{add, held, row(OpApprove, id("p"), act(OpRename), at("a"), to("b"))}, "[b=1@1! tomb:a=1@1 by 3]"},
		{"approve alone", []Row{add, held, row(OpApprove, id("p"))}, "[a=1@1]"},
		{"approve clears a refusal", []Row{row(OpRefuse, digest("2")), row(OpApprove, id("x"), digest("2"))}, "[]"},
		{"a refusal stays", []Row{row(OpRefuse, digest("2")), row(OpAdd, at("a"), now("2"))}, "[a=2@2 refused:2@1]"},
		{"an accepting row clears a refusal", []Row{row(OpRefuse, digest("2")), row(OpAdopt, at("a"), now("2"), digest("2"))}, "[a=2@2]"},

		{"purge", []Row{add, row(OpPurge, at("a"), digest("1"))}, "[tomb:a=-@1 by 2 refused:1@2]"},
		{"purge archived", []Row{add, row(OpArchive, at("a")), row(OpPurge, at("a"))}, "[tomb:a=-@1 by 2]"},
		{"purge pending", []Row{add, held, row(OpHold, at("b"), to("a"), id("q"), act(OpRename)), row(OpHold, at("c"), id("r"), act(OpRemove)), row(OpPurge, at("a"))}, "[tomb:a=-@1 by 5 held:r remove c@4]"},
		{"purge of a candidate", []Row{add, held, row(OpPurge, at("a"), id("p"), digest("2"))}, "[a=1@1 refused:2@3]"},

		{"anchor", []Row{
			add, row(OpAdd, at("b"), now("2")), row(OpRemove, at("b")), row(OpAdd, at("c"), now("1")), row(OpArchive, at("c")),
			held, row(OpRefuse, digest("3")), row(OpObserve, at("d"), now("2")), row(OpAnchor),
		}, "[tomb:b=2@2 by 3 tomb:c=1@4 by 5 refused:3@7]"},

		{"abort add", []Row{add, row(OpAbort, ref(1))}, "[]"},
		{"abort edit", []Row{add, row(OpEdit, at("a"), now("2")), row(OpAbort, ref(2))}, "[a=1@1]"},
		{"abort remove", []Row{add, row(OpRemove, at("a")), row(OpAbort, ref(2))}, "[a=1@1]"},
		{"abort approve", []Row{add, held, row(OpRefuse, digest("2")), row(OpApprove, id("p"), digest("2"), act(OpReplace), at("a"), now("2")), row(OpAbort, ref(4))}, "[a=1@1 held:p replace a@2 refused:2@3]"},
		{"abort rename, then what built on it", []Row{add, row(OpRename, at("a"), to("b")), row(OpEdit, at("b"), now("2")), row(OpAbort, ref(2)), row(OpAbort, ref(3))}, "[a=1@1]"},
		{"abort what later rows hid", []Row{add, row(OpRename, at("a"), to("b")), row(OpRemove, at("a")), row(OpAbort, ref(2))}, "[tomb:a=1@1 by 3]"},
		{"abort purge", []Row{add, row(OpPurge, at("a"), digest("1")), row(OpAbort, ref(2))}, "[a=1@1]"},
		{"abort purge of a freed path", []Row{add, row(OpRemove, at("a")), row(OpPurge, at("a")), row(OpAbort, ref(3))}, "[tomb:a=1@1 by 2]"},
		{"abort observe", []Row{add, row(OpObserve, at("a"), now("2")), row(OpObserve, at("a")), row(OpAbort, ref(3))}, "[a=1@1 outside:a=2]"},
		{"abort twice", []Row{add, row(OpEdit, at("a"), now("2")), row(OpAbort, ref(2)), row(OpAbort, ref(2))}, "[a=1@1]"},
		{"abort of an abort", []Row{add, row(OpAbort, ref(1)), row(OpAbort, ref(2))}, "[]"},
		{"abort before the anchor", []Row{add, row(OpRemove, at("a")), row(OpAnchor), row(OpAdopt, at("b"), now("1")), row(OpAbort, ref(2))}, "[b=1@4 tomb:a=1@1 by 2]"},
		{"abort of the anchor", []Row{add, row(OpAnchor), row(OpAbort, ref(2))}, "[]"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			rows := numbered(tt.rows...)
			s := Replay(rows, int64(len(rows)))
			if got := brief(s); got != tt.want || s.Seq != int64(len(rows)) {
				t.Errorf("got  %s, seq %d\nwant %s", got, s.Seq, tt.want)
			}
		})
	}
}

// TestApplyFields has all fields of the entries, where the table above has a few.
func TestApplyFields(t *testing.T) {
	full := func(op string, with ...func(*Row)) Row {
		r := row(op, with...)
		r.Trust, r.Source, r.Key, r.By, r.Rules, r.Plan = "user-observed", "s:1", "k", "writer", []string{"x.y"}, "plan"
		return r
	}
	rows := numbered(
		row(OpAnchor),
		full(OpAdd, at("a"), now("1")),
		full(OpHold, at("a"), to("c"), was("1"), now("2"), id("p"), act(OpRename), digest("3")),
		row(OpRename, at("a"), to("b"), trust("external-tool"), func(r *Row) { r.By = "operator" }),
		row(OpArchive, at("b"), to("b.1"), now("m")),
	)
	o := Origin{Seq: 2, Time: rows[1].Time, By: "writer", Trust: "user-observed", Source: "s:1"}
	a := Accepted{Hash: content("1"), Key: "k", Rules: []string{"x.y"}, Row: 2, Origin: o}
	moved := a
	moved.Trust, moved.By, moved.Time, moved.Row = "external-tool", "operator", rows[3].Time, 4
	retired := moved
	retired.Hash, retired.Seq, retired.Time, retired.Row = content("m"), 5, rows[4].Time, 5
	held := Held{
		Path: "a", To: "c", Op: OpRename, Hash: content("2"), Base: content("1"), Digest: content("3"), Key: "k", Plan: "plan", Rules: []string{"x.y"},
		Origin: Origin{Seq: 3, Time: rows[2].Time, By: "writer", Trust: "user-observed", Source: "s:1"},
	}
	tombA := Tomb{Hash: content("1"), Seq: 2, Key: "k", Trust: "user-observed", Freed: 4, By: "operator", Time: rows[3].Time}
	tombB := Tomb{Hash: content("1"), Seq: 2, Key: "k", Trust: "external-tool", Freed: 5, Time: rows[4].Time}
	former := map[string][]Name{"b": {{Path: "a", Row: 4}}}
	for seq, want := range map[int64]State{
		0: {},
		1: {Seq: 1, Epoch: 1},
		2: {Seq: 2, Epoch: 1, Accepted: map[string]Accepted{"a": a}},
		4: {Seq: 4, Epoch: 1, Accepted: map[string]Accepted{"b": moved}, Pending: map[string]Held{"p": held}, Tombs: map[string]Tomb{"a": tombA}, Former: former},
		5: {
			Seq: 5, Epoch: 1, Pending: map[string]Held{"p": held}, Tombs: map[string]Tomb{"a": tombA, "b": tombB}, Former: former,
			Archived: map[string]Archived{"b:5": {Accepted: retired, Path: "b", Retired: 5}},
		},
	} {
		if diff := cmp.Diff(Replay(rows, seq), &want, sameState); diff != "" {
			t.Errorf("at %d: %s", seq, diff)
		}
	}
}

// TestFormerNamesAreBounded: renames without end do not make a state grow without end.
func TestFormerNamesAreBounded(t *testing.T) {
	rows := []Row{row(OpAdd, at("n0"), now("1"))}
	for i := range 3 * MaxNames {
		rows = append(rows, row(OpRename, at(fmt.Sprint("n", i)), to(fmt.Sprint("n", i+1))))
	}
	last := fmt.Sprint("n", 3*MaxNames)
	s := Replay(numbered(rows...), int64(len(rows)))
	if names := s.Former[last]; len(s.Former) != 1 || len(names) != MaxNames || names[MaxNames-1].Path != fmt.Sprint("n", 3*MaxNames-1) {
		t.Errorf("%d paths; %d names, %v", len(s.Former), len(names), names)
	}
	for range 3 * MaxNames { // to and fro: two names
		rows = append(rows, row(OpRename, at(last), to("x")), row(OpRename, at("x"), to(last)))
	}
	if names := Replay(numbered(rows...), int64(len(rows))).Former[last]; len(names) != MaxNames || names[0].Path != fmt.Sprint("n", 2*MaxNames+2) {
		t.Errorf("to and fro: %d names, from %v on", len(names), names[0])
	}
}

var sameState = cmp.Options{cmpopts.IgnoreUnexported(State{}), cmpopts.EquateEmpty()}

func TestAbortWindow(t *testing.T) {
	for _, back := range []int{Window, Window + 1} {
		rows := []Row{row(OpAdd, at("a"), now("1"))}
		for len(rows) < back {
			rows = append(rows, row(OpOpen))
		}
		rows = numbered(append(rows, row(OpAbort, ref(1)))...)
		s := Replay(rows, int64(len(rows)))
		if got, want := len(s.Accepted) == 0, back == Window; got != want {
			t.Errorf("abort %d rows back: undone %v, want %v", back, got, want)
		}
		if len(s.steps) > Window {
			t.Errorf("%d steps kept, want at most %d", len(s.steps), Window)
		}
	}
}

func TestClone(t *testing.T) {
	s := Replay(numbered(sample()...), 18)
	want := Replay(numbered(sample()...), 18)
	c := s.Clone()
	for _, r := range numbered(sample()...)[18:] {
		c.Apply(r)
	}
	abort := row(OpAbort, ref(18))
	abort.Seq = 25
	c.Apply(abort)
	if diff := cmp.Diff(s, want, sameState); diff != "" {
		t.Errorf("the original changed: %s", diff)
	}
	if len(c.Refused) == len(s.Refused) {
		t.Error("the clone did not")
	}
	// And the other way round, with what is kept for aborts.
	c = s.Clone()
	s.Apply(abort)
	c.Apply(abort)
	if diff := cmp.Diff(s, c, sameState); diff != "" {
		t.Errorf("a clone aborts differently: %s", diff)
	}
}

func TestSorted(t *testing.T) {
	m := map[string]int{"b": 2, "a": 1, "a/b": 3, "B": 4, "é": 5}
	var got []string
	for k, v := range Sorted(m) {
		if m[k] != v {
			t.Errorf("%q: %d", k, v)
		}
		got = append(got, k)
	}
	if want := []string{"B", "a", "a/b", "b", "é"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for range Sorted(m) {
		break // a consumer may stop
	}
	for range Sorted(map[string]int(nil)) {
		t.Error("nil map has entries")
	}
}
