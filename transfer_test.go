package scribe

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/memoryroom/scribe/internal/journal"
)

func exportOf(t testing.TB, r *Room) []byte {
	t.Helper()
	var b bytes.Buffer
	if err := r.Export(context.Background(), &b); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// TestExportImport: what one room held another one holds, and it leads to the same bytes
// however often it is done.
func TestExportImport(t *testing.T) {
	ctx := context.Background()
	r, _ := newRoom(t, nil)
	store(t, r, Operator, Candidate{Path: "a.md", Text: "Plain.\n"})
	store(t, r, UserObserved, Candidate{Path: "topics/ü.md", Description: "labels", Topic: "x/y", Tags: []string{"p", "q"}, VerifyWhen: "P3M", Text: "With labels.\n"})
	store(t, r, ExternalTool, Candidate{Path: "tool.md", Text: "From a tool.\n"})
	store(t, r, Operator, Candidate{Path: "old.md", Description: "o", Text: "Old.\n"})
	wantAccepted(t, byHand(t, r, Candidate{Path: "new.md", Description: "n", Text: "New.\n", Supersedes: []string{"old.md"}}))
	if _, err := r.Archive(ctx, "discarded", "", "a.md"); err != nil {
		t.Fatal(err)
	}
	store(t, r, Operator, Candidate{Path: "a.md", Text: "Plain again.\n"})
	first := exportOf(t, r)
	if !bytes.Equal(first, exportOf(t, r)) {
		t.Error("two exports of one room differ")
	}

	other, mem := newRoom(t, nil)
	for range 2 { // the second time everything is there already
		vs, err := other.Import(ctx, bytes.NewReader(first), Operator)
		if err != nil || len(vs) != 6 {
			t.Fatal(len(vs), err)
		}
		for _, v := range vs {
			if v.Outcome != Accepted {
				t.Errorf("%s: %+v", v.Memory.Path, v.Findings)
			}
		}
	}
	wantLink(t, other, "old.md", "new.md")
	wantClean(t, other)
	wantClean(t, reopen(t, mem, nil))
	what := func(r *Room) (out []string) {
		for _, m := range listed(t, r, stageActive, stageArchived) {
			out = append(out, strings.Join([]string{m.Path, m.Stage, m.Trust.String(), m.Key, m.Topic, strings.Join(m.Tags, "+"), m.VerifyWhen, m.Category, m.SupersededBy, m.Description}, " "))
		}
		return out
	}
	if diff := cmp.Diff(what(r), what(other)); diff != "" {
		t.Errorf("imported (-want +got):\n%s", diff)
	}

	// Trust is never above what the operator says.
	low, _ := newRoom(t, nil)
	if _, err := low.Import(ctx, bytes.NewReader(first), ExternalTool); err != nil {
		t.Fatal(err)
	}
	for _, m := range listed(t, low, stageActive, stageArchived) {
		if m.Trust > ExternalTool || strings.Contains(m.Text, "trust: operator") {
			t.Errorf("%s came in at %v:\n%s", m.Path, m.Trust, m.Text)
		}
	}
	std, _ := newRoom(t, nil)
	if _, err := std.Import(ctx, bytes.NewReader(first), 0); err != nil {
		t.Fatal(err)
	}
	for _, m := range listed(t, std, stageActive) {
		if want := map[bool]Trust{true: ExternalTool, false: UserObserved}[m.Path == "tool.md"]; m.Trust != want {
			t.Errorf("%s came in at %v, want %v", m.Path, m.Trust, want)
		}
	}
}

// TestImportOverwritesNothing, and brings nothing back that was purged here.
func TestImportOverwritesNothing(t *testing.T) {
	ctx := context.Background()
	r, _ := newRoom(t, nil)
	for _, p := range []string{"same.md", "other.md", "key.md", "purged.md", "free.md"} {
		store(t, r, Operator, Candidate{Path: p, Text: "Text of " + p + ".\n"})
	}
	data := exportOf(t, r)
	r, _ = newRoom(t, nil)
	store(t, r, Operator, Candidate{Path: "same.md", Text: "Text of same.md.\n"})
	store(t, r, Operator, Candidate{Path: "other.md", Text: "Mine.\n"})
	store(t, r, Operator, Candidate{Path: "owner.md", Key: "key", Text: "Has the key.\n"})
	store(t, r, Operator, Candidate{Path: "purged.md", Text: "Text of purged.md.\n"})
	if _, err := r.Purge(ctx, "purged.md", ""); err != nil {
		t.Fatal(err)
	}
	vs, err := r.Import(ctx, bytes.NewReader(data), Operator)
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]string{}
	for _, v := range vs {
		got[v.Memory.Path] = v.Outcome.String()
		if len(v.Findings) > 0 {
			got[v.Memory.Path] = v.Findings[0].Rule
		}
	}
	want := map[string]string{"same.md": "accepted", "other.md": "stale.path", "key.md": "conflict.key", "purged.md": "review.refused-before", "free.md": "accepted"}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	if read(t, r, "other.md") != "Mine.\n" {
		t.Error("overwritten")
	}
}

// pack writes a tar as somebody else might.
func pack(t testing.TB, manifest string, entries ...tar.Header) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	put := func(h tar.Header, data string) {
		if h.Typeflag == tar.TypeReg {
			h.Size = int64(len(data))
		}
		if err := w.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if h.Typeflag == tar.TypeReg {
			if _, err := io.WriteString(w, data); err != nil {
				t.Fatal(err)
			}
		}
	}
	put(tar.Header{Typeflag: tar.TypeReg, Name: exportManifest}, manifest)
	for _, h := range entries {
		data := h.Uname // the test's way to give the bytes
		h.Uname = ""
		put(h, data)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return b.Bytes()
}

// listing is a manifest of these files.
func listing(t testing.TB, files map[string]string, change ...func(*exportedFile)) string {
	t.Helper()
	m := manifest{Format: exportFormat, Version: exportVersion}
	for _, name := range slices.Sorted(maps.Keys(files)) {
		f := exportedFile{File: name, Path: strings.TrimPrefix(name, exportActive), SHA256: journal.Sum([]byte(files[name])), Bytes: len(files[name]), Trust: "operator"}
		for _, c := range change {
			c(&f)
		}
		m.Memories = append(m.Memories, f)
	}
	data, err := json.Marshal(m)
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

// only changes a file that is not the good one.
func only(f *exportedFile, change func()) {
	if f.File != "active/good.md" {
		change()
	}
}

// TestImportHostile: an export that was made to do harm does none, and says what is wrong.
func TestImportHostile(t *testing.T) {
	ctx := context.Background()
	file := func(name, data string) tar.Header {
		return tar.Header{Typeflag: tar.TypeReg, Name: name, Uname: data}
	}
	good := map[string]string{"active/good.md": "Good.\n"}
	one := func(name, text string, change ...func(*exportedFile)) func(t *testing.T) []byte {
		return func(t *testing.T) []byte {
			files := map[string]string{"active/good.md": "Good.\n", name: text}
			var entries []tar.Header
			for _, n := range slices.Sorted(maps.Keys(files)) {
				entries = append(entries, file(n, files[n]))
			}
			return pack(t, listing(t, files, change...), entries...)
		}
	}
	token := githubToken()
	for name, tt := range map[string]struct {
		data func(t *testing.T) []byte
		rule string // of the bad memory; the good one is stored all the same
		err  string // of the call
	}{
		"a way out":        {data: one("active/../../x.md", "x"), rule: "path.dot-dot"},
		"absolute":         {data: one("active//etc/x.md", "x"), rule: "path.absolute"},
		"the library's":    {data: one("active/.scribe/x.md", "x"), rule: "path.sensitive"},
		"the index":        {data: one("active/MEMORY.md", "x"), rule: "path.index"},
		"no Markdown":      {data: one("active/x.sh", "x"), rule: "path.extension"},
		"a credential":     {data: one("active/x.md", "key "+token+"\n"), rule: "secret.github-pat"},
		"hidden text":      {data: one("active/x.md", "a\U000E0068\U000E0069\U000E0064\U000E0065\n"), rule: "hidden.tag"},
		"bad frontmatter":  {data: one("active/x.md", "---\na: &x 1\n---\n"), rule: "frontmatter.anchor"},
		"another's path":   {data: one("active/x.md", "x", func(f *exportedFile) { only(f, func() { f.Path = "y.md" }) }), rule: "import.name"},
		"other bytes":      {data: one("active/x.md", "x", func(f *exportedFile) { only(f, func() { f.SHA256 = strings.Repeat("0", 64) }) }), rule: "import.bytes"},
		"another size":     {data: one("active/x.md", "x", func(f *exportedFile) { only(f, func() { f.Bytes++ }) }), rule: "import.bytes"},
		"archived, secret": {data: one("archive/7/x.md", token, func(f *exportedFile) { only(f, func() { f.Path = "x.md" }) }), rule: "secret.github-pat"},
		"a link": {data: func(t *testing.T) []byte {
			return pack(t, listing(t, map[string]string{"active/good.md": "Good.\n", "active/x.md": ""}), file("active/good.md", "Good.\n"),
				tar.Header{Typeflag: tar.TypeSymlink, Name: "active/x.md", Linkname: "/etc/passwd"})
		}, rule: "import.not-a-file"},
		"a device": {data: func(t *testing.T) []byte {
			return pack(t, listing(t, map[string]string{"active/good.md": "Good.\n", "active/x.md": ""}), file("active/good.md", "Good.\n"),
				tar.Header{Typeflag: tar.TypeChar, Name: "active/x.md"})
		}, rule: "import.not-a-file"},
		"missing": {data: func(t *testing.T) []byte {
			return pack(t, listing(t, map[string]string{"active/good.md": "Good.\n", "active/x.md": "x"}), file("active/good.md", "Good.\n"))
		}, rule: "import.missing"},
		"unlisted": {data: func(t *testing.T) []byte {
			return pack(t, listing(t, good), file("active/good.md", "Good.\n"), file("active/more.md", "x"))
		}, err: "does not list"},
		"far more than listed": {data: func(t *testing.T) []byte {
			return pack(t, listing(t, map[string]string{"active/good.md": "Good.\n", "active/x.md": "x"}), file("active/good.md", "Good.\n"), file("active/x.md", strings.Repeat("x", 1<<20)))
		}, err: "import: "},
		"cut short": {data: func(t *testing.T) []byte {
			data := one("active/x.md", "x")(t)
			return data[:len(data)-1024-512-100]
		}, err: "import: "},
		"no export":    {data: func(*testing.T) []byte { return []byte("hello") }, err: "no export"},
		"another tar":  {data: func(t *testing.T) []byte { return pack(t, "{}") }, err: "no export"},
		"a newer form": {data: func(t *testing.T) []byte { return pack(t, `{"format":"scribe-export","version":2}`) }, err: "version 2"},
		"named twice": {data: func(t *testing.T) []byte {
			return pack(t, `{"format":"scribe-export","version":1,"memories":[{"file":"active/a.md"},{"file":"active/a.md"}]}`)
		}, err: "no export"},
	} {
		t.Run(name, func(t *testing.T) {
			r, _ := newRoom(t, nil)
			vs, err := r.Import(ctx, bytes.NewReader(tt.data(t)), Operator)
			if tt.err != "" {
				if err == nil || !strings.Contains(err.Error(), tt.err) {
					t.Errorf("error %v, want one with %q", err, tt.err)
				}
			} else {
				if err != nil || len(vs) != 2 {
					t.Fatal(vs, err)
				}
				bad := vs[1]
				if vs[1].Outcome == Accepted {
					bad = vs[0]
				}
				rules := ruleNames(bad.Findings)
				if bad.Outcome == Accepted || !slices.Contains(rules, tt.rule) {
					t.Errorf("%v with %q, want %s", bad.Outcome, rules, tt.rule)
				}
				if got := read(t, r, "good.md"); got != "Good.\n" {
					t.Errorf("the good one: %q", got)
				}
			}
			if got := paths(listed(t, r, stageActive, stageArchived)); len(got) > 1 || len(got) == 1 && got[0] != "good.md" {
				t.Errorf("stored %q", got)
			}
			if r.disk.HasLibrary() {
				wantClean(t, r)
			}
		})
	}
}

// TestImportSaysNothingUnfit: what a manifest says of a memory beside its name and text is
// screened before a row carries it, and costs that memory alone.
func TestImportSaysNothingUnfit(t *testing.T) {
	ctx := context.Background()
	set := map[string]func(*exportedFile, string){
		"superseded_by": func(f *exportedFile, s string) { f.SupersededBy = s },
		"category":      func(f *exportedFile, s string) { f.Category = s },
	}
	for _, tt := range []struct{ field, value, rule string }{
		{"superseded_by", githubToken(), "secret.github-pat"},
		{"superseded_by", githubToken() + ".md", "secret.github-pat"},
		{"superseded_by", "a\U000E0068\U000E0069\U000E0064\U000E0065.md", "hidden.tag"},
		{"superseded_by", strings.Repeat("a", 40_000), "words.too-long"},
		{"superseded_by", "../out.md", "import.superseded-by"},
		{"category", githubToken(), "secret.github-pat"},
		{"category", "a\U000E0068\U000E0069\U000E0064\U000E0065", "hidden.tag"},
		{"category", strings.Repeat("a", 40_000), "words.too-long"},
		{"category", "two\nlines", "words.line"},
	} {
		r, mem := newRoom(t, nil)
		files := map[string]string{"active/good.md": "Good.\n", "archive/7/x.md": "Old.\n"}
		change := func(f *exportedFile) {
			if f.File == "archive/7/x.md" {
				f.Path = "x.md"
				set[tt.field](f, tt.value)
			}
		}
		vs, err := r.Import(ctx, bytes.NewReader(pack(t, listing(t, files, change),
			tar.Header{Typeflag: tar.TypeReg, Name: "active/good.md", Uname: "Good.\n"},
			tar.Header{Typeflag: tar.TypeReg, Name: "archive/7/x.md", Uname: "Old.\n"})), ExternalWeb)
		if err != nil || len(vs) != 2 {
			t.Fatalf("%s %.20q: %v, %v", tt.field, tt.value, vs, err)
		}
		wantAccepted(t, vs[0])
		if bad := vs[1].Findings; vs[1].Outcome != Rejected || !slices.ContainsFunc(bad, func(f Finding) bool { return f.Rule == tt.rule && f.Field == tt.field }) {
			t.Errorf("%s %.20q: %v with %q, want %s", tt.field, tt.value, vs[1].Outcome, ruleNames(bad), tt.rule)
		}
		wantNowhere(t, mem, tt.value)
		if s := fmt.Sprintf("%+v", vs); strings.Contains(s, tt.value) {
			t.Errorf("%s %.20q: the verdict repeats it", tt.field, tt.value)
		}
	}
}

// TestImportOfTooMany: a manifest is read no further than a room can make use of it, also
// where its bytes are few.
func TestImportOfTooMany(t *testing.T) {
	ctx := context.Background()
	r, _ := newRoom(t, &Options{Limits: Limits{Memories: 1}})
	list := func(n int, last string) []byte {
		entries := make([]string, n, n+1)
		for i := range entries {
			entries[i] = fmt.Sprintf(`{"file":"%06d"}`, i)
		}
		return pack(t, `{"memories":[`+strings.Join(append(entries, last), ",")+`],"format":"scribe-export","version":1}`)
	}
	if vs, err := r.Import(ctx, bytes.NewReader(list(maxRetired, `{"file":"x"}`)), 0); err != nil || len(vs) != maxRetired+1 {
		t.Errorf("as many as may be: %d, %v", len(vs), err)
	}
	// What comes after the bound is not decoded: it would be another error.
	if _, err := r.Import(ctx, bytes.NewReader(list(maxRetired+1, `{"file":7}`)), 0); err == nil || !strings.Contains(err.Error(), "at most 40001") {
		t.Errorf("one more: %v", err)
	}
}

// endless gives a manifest and then bytes for ever.
type endless struct{ head io.Reader }

func (e endless) Read(p []byte) (int, error) {
	if n, err := e.head.Read(p); err == nil {
		return n, nil
	}
	clear(p)
	return len(p), nil
}

// TestImportEnds: a stream without end is given up.
func TestImportEnds(t *testing.T) {
	data := pack(t, listing(t, map[string]string{"active/x.md": "x"}))
	data = data[:len(data)-1024] // without the end of the tar
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	if err := w.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: "active/x.md", Size: 1 << 40}); err != nil {
		t.Fatal(err)
	}
	r, _ := newRoom(t, nil)
	vs, err := r.Import(context.Background(), endless{io.MultiReader(bytes.NewReader(data), &b)}, 0)
	if err == nil || len(vs) != 0 {
		t.Errorf("%v, %v", vs, err)
	}
}

// TestRename turns links, and leaves alone what only looks like one.
func TestRename(t *testing.T) {
	ctx := context.Background()
	r, _ := newRoom(t, nil)
	store(t, r, Operator, Candidate{Path: "d/a b.md", Text: "Target.\n"})
	const links = "See [x](<d/a b.md>), [y](d/a%20b.md#part \"t\") and [[d/a b|z]].\n\n[ref]: ./d/a%20b.md\n\n```\n[x](d/a%20b.md)\n```\nNot [this](a%20b.md).\n"
	store(t, r, ExternalTool, Candidate{Path: "top.md", Description: "d", Text: links})
	store(t, r, UserObserved, Candidate{Path: "d/e/deep.md", Text: "Up: [x](../a%20b.md), [[d/a b.md]], [out](/d/a%20b.md).\n"})
	store(t, r, Operator, Candidate{Path: "none.md", Text: "[x](other.md)\n"})
	head := lastRow(t, r)
	vs, err := r.Rename(ctx, "d/a b.md", "e/c.md")
	if err != nil || len(vs) != 3 {
		t.Fatal(vs, err)
	}
	for _, v := range vs {
		wantAccepted(t, v)
	}
	want := map[string]string{
		"top.md":      "See [x](<e/c.md>), [y](e/c.md#part \"t\") and [[e/c|z]].\n\n[ref]: ./e/c.md\n\n```\n[x](d/a%20b.md)\n```\nNot [this](a%20b.md).\n",
		"d/e/deep.md": "Up: [x](../../e/c.md), [[e/c.md]], [out](/e/c.md).\n",
		"none.md":     "[x](other.md)\n",
		"e/c.md":      "Target.\n",
	}
	for path, text := range want {
		if got := read(t, r, path); !strings.HasSuffix(got, text) {
			t.Errorf("%s: got %q, want %q", path, got, text)
		}
	}
	if m := one(t, r, "top.md", stageActive); m.Trust != ExternalTool {
		t.Errorf("a turned link made it %v", m.Trust)
	}
	if vs, err := r.Rollback(ctx, head, "top.md"); err != nil || len(vs) != 4 { // the two names, too
		t.Fatal(vs, err)
	}
	if got := read(t, r, "top.md"); !strings.HasSuffix(got, links) {
		t.Errorf("rolled back: %q", got)
	}
	if vs, err := r.Rename(ctx, "missing.md", "x.md"); err != nil || vs[0].Findings[0].Rule != "conflict.missing" {
		t.Error(vs, err)
	}
	if vs, err := r.Rename(ctx, "top.md", "none.md"); err != nil || vs[0].Findings[0].Rule != "conflict.destination" {
		t.Error(vs, err)
	}
}

// TestG8_TurnedLinkIsNoNews: a link that a rename turned, or the note of what a memory
// superseded, leaves the text its writer's, which no session is told of as the operator's.
func TestG8_TurnedLinkIsNoNews(t *testing.T) {
	ctx := context.Background()
	r, _ := newRoom(t, nil)
	store(t, r, Operator, Candidate{Path: "o.md", Text: "Other.\n"})
	s := session(t, r, UserObserved)
	must1(0, s.Commit(ctx, must1(s.Snapshot(ctx))))
	wantAccepted(t, proposed(t, s.Guard(1), Candidate{Path: "w.md", Text: "Own write. See [o](o.md).\n"}))
	wantAccepted(t, offer(t, r, ExternalTool, Candidate{Path: "tool.md", Text: "Tool words. See [o](o.md).\n"}))
	was := r.stateNow().Accepted
	if vs := must1(r.Rename(ctx, "o.md", "p.md")); len(vs) != 3 {
		t.Fatal(vs)
	}
	wantChanges(t, deltaOf(t, s), "removed o.md", "added p.md")
	for _, path := range []string{"w.md", "tool.md"} {
		if got := r.stateNow().Accepted[path]; got.By != byWriter || got.Source != was[path].Source || got.Trust != was[path].Trust || got.Hash == was[path].Hash {
			t.Errorf("%s: got %+v, was %+v", path, got, was[path])
		}
	}

	store(t, r, Operator, Candidate{Path: "old.md", Text: "Old.\n"})
	store(t, r, Operator, Candidate{Path: "new.md", Description: "New", Text: "New.\n", Supersedes: []string{"old.md"}})
	must1(r.Adopt(ctx, UserObserved, one(t, r, "new.md", stageActive)))
	wantAccepted(t, offer(t, r, UserObserved, Candidate{Path: "new.md", Old: "New.", New: "Newer."}))
	before := r.stateNow().Accepted["new.md"]
	must1(r.Purge(ctx, "old.md", ""))
	if got := r.stateNow().Accepted["new.md"]; got.By != byWriter || got.Hash == before.Hash {
		t.Errorf("new.md: got %+v, was %+v", got, before)
	}
}

// TestRenameManyLinks: of more links than one plan turns, those of the highest trust are,
// and text from outside never keeps the operator from a rename.
func TestRenameManyLinks(t *testing.T) {
	ctx := context.Background()
	r, _ := newRoom(t, nil)
	store(t, r, Operator, Candidate{Path: "o.md", Text: "Other.\n"})
	store(t, r, UserObserved, Candidate{Path: "z.md", Text: "See [o](o.md).\n"})
	for i := range maxPlan {
		wantAccepted(t, offer(t, r, ExternalWeb, Candidate{Path: fmt.Sprintf("f%02d.md", i), Text: fmt.Sprintf("Fact %d [o](o.md).\n", i)}))
	}
	left := func(from, to string, want int, rule string) {
		t.Helper()
		vs, err := r.Rename(ctx, from, to)
		if err != nil || len(vs) != want {
			t.Fatalf("%d verdicts, %v", len(vs), err)
		}
		wantAccepted(t, vs[0])
		if got := ruleNames(vs[0].Notices); slices.Contains(got, "plan.links-left") != (rule != "") {
			t.Errorf("notices %q", got)
		}
	}
	left("o.md", "p.md", maxPlan, "plan.links-left")
	if got := read(t, r, "z.md"); !strings.Contains(got, "(p.md)") {
		t.Errorf("the highest trust: %q", got)
	}
	left("p.md", "q.md", maxPlan, "") // as many as one plan turns

	r, _ = newRoom(t, &Options{Limits: Limits{Memory: 1000}})
	store(t, r, Operator, Candidate{Path: "o.md", Text: "Other.\n"})
	wantAccepted(t, offer(t, r, ExternalWeb, Candidate{Path: "full.md", Text: "[o](o.md)\n" + strings.Repeat("A fact.\n", 110)}))
	left("o.md", strings.Repeat("long", 40)+".md", 1, "plan.links-left")
}

// TestRenameIsBounded: a line made to be slow takes linear time (quadratic would be longer
// than any test may run), and the context ends a rename between two texts.
func TestRenameIsBounded(t *testing.T) {
	for _, form := range []string{"[[]", "](a)", "]: a ", "]: <a>", "](<a>"} {
		line := strings.Repeat(form, 1<<20)
		if got := turnLine(line+"[o](o.md)\n", ".", "o.md", "p.md"); got != line+"[o](p.md)\n" {
			t.Errorf("%q: another text", form)
		}
	}
	r, _ := newRoom(t, nil)
	store(t, r, Operator, Candidate{Path: "o.md", Text: "Other.\n"})
	for i := range 20 {
		store(t, r, Operator, Candidate{Path: fmt.Sprintf("f%d.md", i), Text: fmt.Sprintf("Fact %d\n", i)})
	}
	for _, looks := range []int{15, 35} { // in the plan, and in the plan under the lock
		if _, err := r.Rename(&countdown{context.Background(), looks}, "o.md", "p.md"); !errors.Is(err, context.Canceled) {
			t.Errorf("after %d looks: %v", looks, err)
		}
	}
	if got := read(t, r, "o.md"); got == "" {
		t.Error("it was renamed all the same")
	}
}
