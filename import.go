package scribe

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/memoryroom/scribe/internal/fold"
	"github.com/memoryroom/scribe/internal/journal"
	"github.com/memoryroom/scribe/internal/relpath"
)

// Import takes in an export. Each memory is worth what the export says of it and at most
// t (zero: user-observed), and passes the path, frontmatter, secret and hidden-text
// stages as if it were new; instruction-shaped text is flagged. What was retired goes to
// the archive, and is judged the same. The library's own frontmatter keys are brought up
// to date; all else is stored as it is.
//
// There is a verdict for each memory of the manifest, in its order. Accepted says that it
// is here, also where it was already; held, that hidden text was found that carries
// something, and that nothing was stored. Nothing is overwritten: where another text
// stands, or another memory has the key, that is a rejection, and so is a text that the
// operator refused or purged here. A file that is missing, is no plain file or has other
// bytes than the manifest says is rejected too.
//
// An error says that the rest was not read: no export, cut short, more in it than the
// manifest lists, more listed than Limits.Memories and 40,000, ctx. It comes with the verdicts of what was stored before.
func (r *Room) Import(ctx context.Context, from io.Reader, t Trust) ([]Verdict, error) {
	if t == 0 {
		t = UserObserved
	}
	if !t.valid() {
		return nil, fmt.Errorf("import: %v is no trust", t)
	}
	bound := &io.LimitedReader{R: from, N: maxManifest + tarSlack}
	tr := tar.NewReader(bound)
	m, err := readManifest(tr, r.opts.Limits.Memories+maxRetired)
	if err != nil {
		return nil, err
	}
	bound.N = int64(tarSlack)
	for _, f := range m.Memories {
		bound.N += int64(f.Bytes) + tarSlack
	}
	if err := r.writable(); err != nil {
		return nil, err
	}
	in := &importing{room: r, most: t, files: m.Memories, verdicts: make([]Verdict, len(m.Memories))}
	for i, f := range m.Memories {
		in.verdicts[i] = verdict(Memory{Path: shownName(f.Path)}, refuse("import.missing", Rejected, "path", "the export does not hold the file that its manifest names", "make the export again"))
	}
	err = in.read(ctx, tr, bound)
	if err == nil {
		return in.verdicts, in.flush(ctx)
	}
	if late := in.flush(ctx); late != nil {
		err = late
	}
	return in.verdicts[:in.done], err
}

const (
	maxManifest = 64 << 20 // bytes; a manifest of as many memories as a room may hold takes less than a third
	maxRetired  = 40_000   // memories beyond those that a room may hold: four archived for each of the default
	tarSlack    = 16 << 10 // bytes of headers and padding that one entry may take
	importChunk = 64       // memories of one append
)

// readManifest reads the first entry of an export, which may list that many memories.
func readManifest(tr *tar.Reader, most int) (manifest, error) {
	var m struct {
		manifest
		Memories json.RawMessage `json:"memories"` // in the place of the list, which is read as far as it may go
	}
	bad := func(why string) (manifest, error) {
		return manifest{}, fmt.Errorf("import: this is no export: %s", why)
	}
	h, err := tr.Next()
	if err != nil || h.Name != exportManifest || h.Typeflag != tar.TypeReg || h.Size > maxManifest {
		return bad("it does not begin with " + exportManifest)
	}
	data, err := io.ReadAll(tr)
	if err != nil || json.Unmarshal(data, &m) != nil || m.Format != exportFormat {
		return bad("its " + exportManifest + " can not be read")
	}
	if m.Version != exportVersion {
		return manifest{}, fmt.Errorf("import: the export has version %d; this library reads version %d", m.Version, exportVersion)
	}
	all, err := readEntries(m.Memories, most)
	if errors.Is(err, errManyEntries) {
		return manifest{}, fmt.Errorf("import: %w: at most %d; export the stages one by one, or raise Limits.Memories", err, most)
	}
	if err != nil {
		return bad("its " + exportManifest + " can not be read")
	}
	last := ""
	for _, f := range all {
		switch {
		case f.File <= last:
			return bad("its files are not sorted, or one is named twice")
		case f.Bytes < 0 || f.Bytes > maxMemory:
			return bad(fmt.Sprintf("a memory has %d bytes", f.Bytes))
		}
		last = f.File
	}
	m.manifest.Memories = all
	return m.manifest, nil
}

var errManyEntries = errors.New("the manifest lists more memories than can be imported at once")

// readEntries reads the list of a manifest, and stops where it has more than most entries:
// an entry takes many times its bytes in memory.
func readEntries(list json.RawMessage, most int) ([]exportedFile, error) {
	var all []exportedFile
	if len(list) == 0 || string(list) == "null" {
		return nil, nil
	}
	d := json.NewDecoder(bytes.NewReader(list))
	if t, err := d.Token(); err != nil || t != json.Delim('[') {
		return nil, errors.New("no list")
	}
	for d.More() {
		if len(all) == most {
			return nil, errManyEntries
		}
		var f exportedFile
		if err := d.Decode(&f); err != nil {
			return nil, err
		}
		all = append(all, f)
	}
	return all, nil
}

// shownName is a name from elsewhere as a reply may show it.
func shownName(name string) string { return fmt.Sprintf("%.120q", name) }

// importing is an import under way.
type importing struct {
	room     *Room
	most     Trust
	files    []exportedFile
	verdicts []Verdict
	done     int           // files before this one have their verdict
	waiting  []importEntry // what was read and not judged yet

	// What follows is of one flush, under the room's lock.
	w     *world
	b     batch
	plan  []*proposal // what the batch stores
	stays []int       // whose verdicts depend on the batch
}

// importEntry is one file of an export, with the bytes that its manifest promises.
type importEntry struct {
	at   int // in the manifest
	data []byte
}

// read goes through the entries, which have to come in the order of the manifest. No
// lock is held while it waits for them.
func (in *importing) read(ctx context.Context, tr *tar.Reader, bound *io.LimitedReader) error {
	for at := 0; ; {
		if err := ctx.Err(); err != nil {
			return err
		}
		h, err := tr.Next()
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case bound.N <= 0:
			return errors.New("import: there is more in it than its manifest lists")
		case err != nil:
			return fmt.Errorf("import: %w", err)
		}
		i := slices.IndexFunc(in.files[at:], func(f exportedFile) bool { return f.File == h.Name })
		if i < 0 {
			return fmt.Errorf("import: the export holds %.120q, which its manifest does not list in this place", h.Name)
		}
		at += i
		if bad := unfit(h, in.files[at]); bad.Rule != "" {
			in.verdicts[at] = verdict(Memory{Path: shownName(in.files[at].Path)}, bad)
			at++
			continue
		}
		data, err := io.ReadAll(tr)
		if err != nil {
			return fmt.Errorf("import: %w", err)
		}
		in.waiting = append(in.waiting, importEntry{at, data})
		if at++; len(in.waiting) == importChunk {
			if err := in.flush(ctx); err != nil {
				return err
			}
		}
	}
}

// unfit says why an entry of the tar can not be the file that the manifest lists; no
// rule: it can.
func unfit(h *tar.Header, f exportedFile) Finding {
	rule, message := "", ""
	retired, archive := strings.CutPrefix(f.File, "archive/")
	if archive {
		_, retired, _ = strings.Cut(retired, "/")
	}
	switch {
	case h.Typeflag != tar.TypeReg || h.Linkname != "":
		rule, message = "import.not-a-file", "the entry is a link, a directory or something else that is no plain file"
	case archive && retired != f.Path || !archive && f.File != exportActive+f.Path:
		rule, message = "import.name", "the file and the path of the manifest do not belong together"
	case h.Size != int64(f.Bytes):
		rule, message = "import.bytes", "the file has another size than the manifest says"
	default:
		return Finding{}
	}
	return refuse(rule, Rejected, "path", message, "make the export again")
}

// flush judges and stores what was read.
func (in *importing) flush(ctx context.Context) error {
	if len(in.waiting) == 0 {
		return nil
	}
	unlock, err := in.room.lock(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	for _, e := range in.waiting {
		again, err := in.admit(ctx, e)
		if again && err == nil { // it meets what the batch stores: that goes first
			if err = in.commit(ctx); err == nil {
				_, err = in.admit(ctx, e)
			}
		}
		if err != nil {
			return err
		}
	}
	if err := in.commit(ctx); err != nil {
		return err
	}
	in.done = in.waiting[len(in.waiting)-1].at + 1
	in.waiting = in.waiting[:0]
	return nil
}

// commit stores the batch.
func (in *importing) commit(ctx context.Context) error {
	if in.w == nil {
		return nil
	}
	if err := in.room.commit(ctx, in.w, &in.b); err != nil {
		return err
	}
	for _, i := range in.stays {
		if in.b.lost {
			in.verdicts[i] = verdict(Memory{Path: in.verdicts[i].Memory.Path}, lostRace())
		} else {
			in.verdicts[i].Notices = append(in.verdicts[i].Notices, in.b.indexNotice()...)
		}
	}
	in.w, in.b, in.plan, in.stays = nil, batch{}, nil, nil
	return nil
}

// admit judges a memory as a new one of the operator's, at the trust that it may have,
// and adds it to the batch. again says that something in the batch touches it.
func (in *importing) admit(ctx context.Context, e importEntry) (again bool, err error) {
	r, f := in.room, in.files[e.at]
	if journal.Sum(e.data) != f.SHA256 {
		in.verdicts[e.at] = verdict(Memory{Path: shownName(f.Path)}, refuse("import.bytes", Rejected, "path", "the file has other bytes than the manifest says", "make the export again"))
		return false, nil
	}
	if in.w == nil {
		if in.w, err = r.world(ctx); err != nil {
			return false, err
		}
	}
	ps, err := r.prepare(in.w, author{hand: true, ceiling: min(parseTrust(f.Trust), in.most)}, []Candidate{{Path: f.Path, Text: string(e.data)}})
	if err != nil {
		return false, err
	}
	p := ps[0]
	if slices.ContainsFunc(in.plan, func(q *proposal) bool { return touch(p, q) || fold.Key(p.key()) == fold.Key(q.key()) }) {
		return true, nil
	}
	archive := strings.HasPrefix(f.File, "archive/")
	here := in.isHere(p, f, archive)
	p.op, p.text.base = journal.OpAdd, p.text.whole // the library's keys in it are a library's
	p.text.lo, p.text.hi = 0, len(p.text.whole)
	judge(p, in.w, "candidate", "conflict", "review")
	if !here {
		p.findings = append(p.findings, in.meets(p, archive)...)
	}
	if !archive { // what was retired may say so
		p.findings = append(p.findings, claims(f.Path, e.data, Operator)...)
	}
	p.findings = append(p.findings, saidBy(&f, r.opts.Allow)...)
	v := Verdict{Outcome: p.outcome(), Findings: p.findings, Notices: p.notices, Memory: Memory{Path: p.names[0].shown(), Trust: p.trust}}
	switch {
	case here || v.Outcome != Accepted:
	case archive:
		in.stow(p, f, &v)
		in.plan, in.stays = append(in.plan, p), append(in.stays, e.at)
	default:
		in.b.outsideOf(in.w, p)
		row := journal.Row{Decision: journal.Decision{By: "operator", Reason: "import", Rules: ruleNames(p.findings)}}
		err = r.store(&in.b, p, in.w, row, &v)
		in.plan, in.stays = append(in.plan, p), append(in.stays, e.at)
	}
	in.verdicts[e.at] = v
	return false, err
}

// isHere reports whether the room has the memory already, as it is.
func (in *importing) isHere(p *proposal, f exportedFile, archive bool) bool {
	if !archive {
		return p.was.kind == active && p.sameAgain()
	}
	for _, a := range in.w.state.Archived {
		if a.Path != f.Path {
			continue
		}
		if data, err := in.room.version(a.Seq, a.Hash); err == nil && sameMemory(f.Path, data, []byte(p.text.whole)) {
			return true
		}
	}
	return false
}

// saidBy brings what the manifest says of a memory into the form of a row, and refuses
// what a row may not carry.
func saidBy(f *exportedFile, allow [][32]byte) (fs []Finding) {
	category := archiveCategory(f.Category)
	f.Category = category.value
	link := remark{"superseded_by", f.SupersededBy, relpath.MaxLen}
	for _, s := range []remark{category, link} {
		if bad := s.unfit(allow); bad.Rule != "" {
			fs = append(fs, bad)
		}
	}
	if _, err := relpath.Parse(link.value); err != nil && link.value != "" {
		fs = append(fs, refuse("import.superseded-by", Rejected, link.field, "this is not the path of a memory", "make the export again"))
	}
	return fs
}

// sameMemory reports whether two texts say the same under the same labels.
func sameMemory(path string, a, b []byte) bool {
	x, y := metaOf(path, a), metaOf(path, b)
	x.Size, y.Size = 0, 0
	return x == y
}

// meets refuses what something is in the way of.
func (in *importing) meets(p *proposal, archive bool) []Finding {
	if !p.names[0].ok() {
		return nil
	}
	if _, refused := in.w.state.Refused[p.digest]; refused {
		return []Finding{refuse("review.refused-before", Rejected, "text", "the operator refused or purged this text here", "write it by hand, if it is wanted again")}
	}
	path := p.path().String()
	if archive {
		return nil
	}
	if p.was.kind != absent {
		return []Finding{inTheWay(path)}
	}
	if owner := keyOwner(in.w.state, p.key(), func(other string) bool { return other == path }); owner != "" {
		return []Finding{refuse("conflict.key", Rejected, "key", fmt.Sprintf("the key of this memory belongs to %.120q", owner), "archive that one first, or import into another room")}
	}
	return nil
}

// stow adds a memory that comes straight to the archive.
func (in *importing) stow(p *proposal, f exportedFile, v *Verdict) {
	data := mirror(p, "", in.w.now)
	row := journal.Row{
		Change: journal.Change{
			Op: journal.OpStow, Path: f.Path, New: journal.Sum(data), Trust: p.trust.String(), Key: p.key(),
			Link: f.SupersededBy, Category: f.Category,
		},
		Decision: journal.Decision{By: "operator", Reason: "import", Rules: ruleNames(p.findings)},
	}
	seq := in.room.nextRow(&in.b)
	in.b.keep = append(in.b.keep, kept{in.b.note(row), data})
	in.b.copies = append(in.b.copies, heldFile{archiveName(seq, f.Path), data})
	v.Memory = storedMemory(f.Path, data, p, in.w.now)
	v.Memory.Stage, v.Memory.ID, v.Memory.Category = stageArchived, journal.ArchiveName(f.Path, seq), f.Category
}
