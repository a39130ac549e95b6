package scribe

// Scenarios, as txtar archives in testdata/script: the comment is the script, the files
// are the folder that it starts with (below room/) and texts that it speaks of (other
// names). A script is named after the behaviour or the report that it is about.
//
// A line of a script is a command, or an assertion about what the command before it said.
// Words are parted by spaces; "..." is one word, with Go's escapes; @name is the text of
// that file, and {{github-token}} a credential that no file of ours may hold.
//
// The folder is adopted at user-verified before the first line, unless the script begins
// with "raw". Other first lines: "review-all", "waive PROPERTY".
//
//	as TRUST [SESSION]       who proposes from here on; operator is the hand, at first
//	user "..."               the user's own message in this turn
//	put PATH TEXT [LABELS]   add or replace; labels are desc= key= topic= tags= due= over=
//	based PATH TEXT          replace what stands, read before
//	edit PATH OLD NEW
//	label PATH LABELS        new labels, the text stays
//	remove PATH, rename PATH TO, move PATH TO (with the links to it)
//	approve PATH [over=P,P] [trust=T], refuse PATH, drop PATH, adopt [TRUST] [PATH]
//	archive PATH... [category=C], restore PATH, suspend PATH, purge PATH, rollback MARK PATH
//	mark NAME                remembers the last row of the journal
//	outside write PATH TEXT, outside delete PATH, outside mkdir PATH
//	reopen, clock TIME
//	snapshot, delta, commit, remind STEP     of the session
//	list STAGE, read PATH, file PATH, history PATH, recall QUERY, due, check [repair]
//	grep TEXT                names of the files on the disk that hold the text
//
// A change is expected to be accepted; "-> OUTCOME RULE..." at its end says otherwise.
//
//	has TEXT..., lacks TEXT..., is TEXT, empty, count TEXT N, same NAME (the first time it is kept)

import (
	"bytes"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// script is a scenario under way.
type script struct {
	t    *testing.T
	dir  string
	opts Options
	room *Room
	now  time.Time

	trust   Trust
	session string
	user    []string
	texts   map[string]string
	marks   map[string]int64
	saved   map[string]string
	pending Snapshot // to be committed
	out     string   // what the last command said
	at      string   // the line, for errors
}

func TestScripts(t *testing.T) {
	names, err := filepath.Glob("testdata/script/*.txtar")
	if err != nil || len(names) == 0 {
		t.Fatal("no scripts", err)
	}
	for _, name := range names {
		t.Run(strings.TrimSuffix(filepath.Base(name), ".txtar"), func(t *testing.T) {
			t.Parallel()
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			runScript(t, string(text))
		})
	}
}

func runScript(t *testing.T, text string) {
	t.Helper()
	a := parseArchive(strings.ReplaceAll(text, "\r\n", "\n"))
	s := &script{
		t: t, dir: filepath.Join(t.TempDir(), "room"), now: time.Date(2026, 9, 21, 8, 12, 0, 0, time.UTC),
		trust: Operator, session: "s", texts: a.files, marks: map[string]int64{}, saved: map[string]string{},
	}
	s.opts.Now = func() time.Time { s.now = s.now.Add(time.Second); return s.now }
	for _, name := range a.names {
		if path, ok := strings.CutPrefix(name, "room/"); ok {
			s.write(path, s.fill(a.files[name]))
		}
	}
	lines := strings.Split(a.comment, "\n")
	raw := false
	for len(lines) > 0 {
		w, err := splitLine(lines[0])
		if err != nil {
			t.Fatal(err)
		}
		if len(w) == 0 || strings.HasPrefix(w[0], "#") {
			lines = lines[1:]
			continue
		}
		switch w[0] {
		case "raw":
			raw = true
		case "review-all":
			s.opts.ReviewAll = true
		case "waive":
			s.opts.Waive = map[string]string{w[1]: "the scenario asks for it"}
		default:
			goto begin
		}
		lines = lines[1:]
	}
begin:
	s.open()
	if !raw && len(a.names) > 0 {
		s.at = "adoption of the folder"
		s.adopt(UserVerified, "")
	}
	asserted := false
	for _, line := range lines {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		s.at = line
		w, err := splitLine(line)
		if err != nil {
			t.Fatal(err)
		}
		for i := range w {
			w[i] = s.fill(w[i])
		}
		asserted = s.do(w) || asserted
	}
	if !asserted {
		t.Error("the script asserts nothing")
	}
}

// fill puts texts and credentials in.
func (s *script) fill(w string) string {
	if name, ok := strings.CutPrefix(w, "@"); ok {
		text, known := s.texts[name]
		if !known {
			s.fatal("no file %s", name)
		}
		w = text
	}
	return strings.ReplaceAll(w, "{{github-token}}", githubToken())
}

func (s *script) fatal(format string, args ...any) {
	s.t.Helper()
	s.t.Fatalf("%s: %s", s.at, fmt.Sprintf(format, args...))
}

func (s *script) ok(err error) {
	s.t.Helper()
	if err != nil {
		s.fatal("%v", err)
	}
}

func (s *script) open() {
	r, err := Open(s.dir, &s.opts)
	s.ok(err)
	s.room = r
	s.t.Cleanup(func() { r.Close() })
}

func (s *script) write(path, text string) {
	at := filepath.Join(s.dir, filepath.FromSlash(path))
	s.ok(os.MkdirAll(filepath.Dir(at), 0o755))
	s.ok(os.WriteFile(at, []byte(text), 0o644))
}

// do carries a line out, and reports whether it asserts something.
func (s *script) do(w []string) bool {
	s.t.Helper()
	want, rules := Accepted, []string(nil)
	expects := slices.Index(w, "->")
	if expects >= 0 {
		s.ok(want.UnmarshalText([]byte(w[expects+1])))
		w, rules = w[:expects], w[expects+2:]
	}
	var vs []Verdict
	switch w[0] {
	case "put", "based", "edit", "label", "remove", "rename", "move", "approve", "refuse", "drop", "adopt", "archive", "restore", "suspend", "rollback":
		vs = s.change(w)
		s.expect(vs, want, rules)
		return expects >= 0
	case "has", "lacks", "is", "empty", "count", "same":
		s.assert(w)
		return true
	}
	s.look(w)
	return false
}

// expect compares verdicts with what a line says of them.
func (s *script) expect(vs []Verdict, want Outcome, rules []string) {
	s.t.Helper()
	var got []string
	s.out = ""
	for _, v := range vs {
		got = append(got, ruleNames(v.Findings)...)
		s.out += v.Outcome.String() + " " + v.Memory.Path + " trust=" + v.Memory.Trust.String() + "\n"
		for _, f := range slices.Concat(v.Findings, v.Notices) {
			s.out += f.Rule + ": " + f.Message + "; " + f.Fix + "\n"
		}
	}
	worst := Accepted
	for _, v := range vs {
		worst = min(worst, v.Outcome)
	}
	if worst != want {
		s.fatal("it was %v, want %v:\n%s", worst, want, s.out)
	}
	for _, rule := range rules {
		if !slices.Contains(got, rule) {
			s.fatal("no finding %s:\n%s", rule, s.out)
		}
	}
}

// options takes the words name=value out of a line.
func options(w []string) (rest []string, opts map[string]string) {
	opts = map[string]string{}
	for i, word := range w {
		name, value, ok := strings.Cut(word, "=")
		if ok && i > 0 && slices.Contains([]string{"desc", "type", "key", "topic", "tags", "due", "over", "trust", "category"}, name) {
			opts[name] = value
		} else {
			rest = append(rest, word)
		}
	}
	return rest, opts
}

func list(s string) []string {
	if s == "" {
		return nil
	}
	return strings.Split(s, ",")
}

// change carries out what changes the room.
func (s *script) change(w []string) []Verdict {
	s.t.Helper()
	ctx := context.Background()
	w, o := options(w)
	w = append(w, "", "", "")
	c := Candidate{Path: w[1], Description: o["desc"], Type: o["type"], Key: o["key"], Topic: o["topic"], Tags: list(o["tags"]), VerifyWhen: o["due"], Supersedes: list(o["over"])}
	var vs []Verdict
	var err error
	switch w[0] {
	case "put":
		c.Text = w[2]
	case "based":
		c.Text, c.Base = w[2], s.hash(w[1])
	case "edit":
		c.Old, c.New = w[2], w[3]
	case "label":
		c.Base = s.hash(w[1])
	case "remove":
		c.Remove = true
	case "rename":
		c.To = w[2]
	case "move":
		vs, err = s.room.Rename(ctx, w[1], w[2])
	case "approve", "refuse", "drop":
		return s.resolve(w, o)
	case "adopt":
		t := UserObserved
		if w[1] != "" {
			s.ok(t.UnmarshalText([]byte(w[1])))
		}
		return s.adopt(t, w[2])
	case "archive":
		vs, err = s.room.Archive(ctx, o["category"], "", slices.DeleteFunc(w[1:], func(p string) bool { return p == "" })...)
	case "restore":
		vs, err = s.room.Restore(ctx, w[1])
	case "suspend":
		vs, err = s.room.Suspend(ctx, "", w[1])
	case "rollback":
		vs, err = s.room.Rollback(ctx, s.marks[w[1]], w[2])
	}
	s.ok(err)
	if vs == nil {
		vs = s.propose(c)
	}
	return vs
}

func (s *script) hash(path string) string {
	m, err := s.room.Read(context.Background(), path)
	s.ok(err)
	return m.Hash
}

func (s *script) propose(c Candidate) []Verdict {
	ctx := context.Background()
	if s.trust == Operator && s.session == "s" {
		vs, err := s.room.Propose(ctx, c)
		s.ok(err)
		return vs
	}
	vs, err := s.guard().Propose(ctx, c)
	s.ok(err)
	return vs
}

func (s *script) conversation() *Session {
	se, err := s.room.Session(context.Background(), s.session, max(s.trust, UserObserved))
	s.ok(err)
	return se
}

func (s *script) guard() *Guard {
	se := s.conversation()
	s.ok(se.Observe(context.Background(), s.trust))
	return se.Guard(1, s.user...)
}

// resolve decides on the one candidate that waits under a path.
func (s *script) resolve(w []string, o map[string]string) []Verdict {
	var rs []Resolution
	for m, err := range s.room.List(context.Background(), stagePending) {
		s.ok(err)
		if m.Path == w[1] {
			res := Resolution{ID: m.ID, Hash: m.Hash, Approve: w[0] == "approve", Withdraw: w[0] == "drop", Supersedes: list(o["over"])}
			if o["trust"] != "" {
				s.ok(res.Trust.UnmarshalText([]byte(o["trust"])))
			}
			rs = append(rs, res)
		}
	}
	if len(rs) != 1 {
		s.fatal("%d candidates wait under that path", len(rs))
	}
	vs, err := s.room.Resolve(context.Background(), rs...)
	s.ok(err)
	if w[0] != "approve" {
		if vs[0].Outcome != Rejected || len(vs[0].Findings) != 1 || !strings.HasPrefix(vs[0].Findings[0].Rule, "review.") {
			s.fatal("it was not put away: %+v", vs[0])
		}
		vs[0] = Verdict{Outcome: Accepted, Memory: vs[0].Memory}
	}
	return vs
}

// adopt takes what lies there unaccepted, under one path or all.
func (s *script) adopt(t Trust, path string) []Verdict {
	var seen []Memory
	for m, err := range s.room.List(context.Background(), stageUnaccepted) {
		s.ok(err)
		if path == "" || m.Path == path {
			seen = append(seen, m)
		}
	}
	vs, err := s.room.Adopt(context.Background(), t, seen...)
	s.ok(err)
	return vs
}

// look carries out what asks, or prepares.
func (s *script) look(w []string) {
	s.t.Helper()
	ctx := context.Background()
	w = append(w, "", "", "")
	s.out = ""
	switch w[0] {
	case "as":
		s.ok(s.trust.UnmarshalText([]byte(w[1])))
		if s.session = "s"; s.trust != Operator {
			s.session = "w"
		}
		if w[2] != "" {
			s.session = w[2]
		}
	case "user":
		s.user = []string{w[1]}
	case "purge":
		left, err := s.room.Purge(ctx, w[1], "asked to")
		s.ok(err)
		s.out = findingLines(left)
	case "mark":
		s.marks[w[1]] = lastRow(s.t, s.room)
	case "outside":
		s.outside(w)
	case "reopen":
		s.ok(s.room.Close())
		s.open()
	case "clock":
		at, err := time.Parse(time.RFC3339, w[1])
		s.ok(err)
		s.now = at
	case "snapshot", "delta", "commit", "remind":
		s.lookSession(w)
	case "list":
		for m, err := range s.room.List(ctx, w[1]) {
			s.ok(err)
			s.out += rowOfMemory(m)
		}
	case "read":
		m, err := s.room.Read(ctx, w[1])
		s.ok(err)
		s.out = m.Text
	case "file":
		data, err := os.ReadFile(filepath.Join(s.dir, filepath.FromSlash(w[1])))
		s.ok(err)
		s.out = string(data)
	case "history":
		for rec, err := range s.room.History(ctx, w[1]) {
			s.ok(err)
			s.out += fmt.Sprintln(rec.Op, rec.Path, rec.To, "by", rec.By, rec.Rules)
		}
	case "recall":
		hits, err := s.room.Recall(ctx, Query{Text: w[1]})
		if s.trust != Operator {
			hits, err = s.guard().Recall(ctx, Query{Text: w[1]})
		}
		s.ok(err)
		for _, h := range hits {
			s.out += h.Memory.Path + ": " + h.Text + "\n"
		}
	case "due":
		all, err := s.room.Due(ctx, 0)
		s.ok(err)
		for _, m := range all {
			s.out += m.Path + "\n"
		}
	case "check":
		fs, err := s.room.Check(ctx, w[1] == "repair")
		s.ok(err)
		s.out = findingLines(fs)
	case "grep":
		s.out = s.grep(w[1])
	default:
		s.fatal("no such command")
	}
}

func (s *script) lookSession(w []string) {
	ctx := context.Background()
	se, err := s.room.Session(ctx, s.session, UserObserved)
	s.ok(err)
	var sn Snapshot
	switch w[0] {
	case "snapshot":
		sn, err = se.Snapshot(ctx)
		s.pending = sn
	case "delta":
		sn, err = se.Delta(ctx)
		s.pending = sn
	case "commit":
		err = se.Commit(ctx, s.pending)
	case "remind":
		n, aerr := strconv.Atoi(w[1])
		s.ok(aerr)
		sn, err = se.Remind(ctx, n)
		s.pending = sn
	}
	s.ok(err)
	s.out = sn.Text
}

func findingLines(fs []Finding) string {
	var b strings.Builder
	for _, f := range fs {
		fmt.Fprintf(&b, "%s %s: %s\n", f.Rule, f.Field, f.Message)
	}
	return b.String()
}

func rowOfMemory(m Memory) string {
	out := fmt.Sprintf("%s stage=%s trust=%s key=%s topic=%s tags=%s category=%s supersedes=%s by=%s modified=%s desc=%q", m.Path, m.Stage, m.Trust, m.Key, m.Topic, strings.Join(m.Tags, ","), m.Category, strings.Join(m.Supersedes, ","), m.SupersededBy, m.Modified.Format(time.RFC3339), m.Description)
	for _, f := range m.Findings {
		out += " " + f.Rule
	}
	return out + "\n"
}

func (s *script) outside(w []string) {
	at := filepath.Join(s.dir, filepath.FromSlash(w[2]))
	switch w[1] {
	case "write":
		s.write(w[2], w[3])
	case "delete":
		s.ok(os.Remove(at))
	case "mkdir":
		s.ok(os.MkdirAll(at, 0o755))
	default:
		s.fatal("no such thing outside")
	}
}

// grep names the files below the room that hold a text.
func (s *script) grep(needle string) string {
	var b strings.Builder
	s.ok(filepath.WalkDir(s.dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.Type().IsRegular() {
			return err
		}
		data, err := os.ReadFile(path)
		if bytes.Contains(data, []byte(needle)) {
			rel, _ := filepath.Rel(s.dir, path)
			b.WriteString(filepath.ToSlash(rel) + "\n")
		}
		return err
	}))
	return b.String()
}

func (s *script) assert(w []string) {
	s.t.Helper()
	switch w[0] {
	case "has":
		for _, text := range w[1:] {
			if !strings.Contains(s.out, text) {
				s.fatal("it is not in\n%s", s.out)
			}
		}
	case "lacks":
		for _, text := range w[1:] {
			if strings.Contains(s.out, text) {
				s.fatal("%q is in\n%s", text, s.out)
			}
		}
	case "is":
		if s.out != w[1] {
			s.fatal("it is %q, want %q", s.out, w[1])
		}
	case "empty":
		if s.out != "" {
			s.fatal("it says\n%s", s.out)
		}
	case "count":
		if got := strings.Count(s.out, w[1]); strconv.Itoa(got) != w[2] {
			s.fatal("%d times in\n%s", got, s.out)
		}
	case "same":
		if was, ok := s.saved[w[1]]; !ok {
			s.saved[w[1]] = s.out
		} else if s.out != was {
			s.fatal("it was\n%s\nand is\n%s", was, s.out)
		}
	}
}
