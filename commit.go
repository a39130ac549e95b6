package scribe

import (
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/memoryroom/scribe/internal/entry"
	"github.com/memoryroom/scribe/internal/journal"
	"github.com/memoryroom/scribe/internal/relpath"
)

// batch is what one decision does to the disk: rows of the journal, and behind some
// of them bytes that move. It happens as a whole or not at all; see commit.
type batch struct {
	rows   []journal.Row
	moves  []move
	files  []heldFile      // new files of pending
	gone   []string        // library files that a row has made superfluous
	keep   []kept          // bytes that become a version and move nowhere
	copies []heldFile      // files of the archive to write anew; derived from the versions
	set    []indexLine     // lines of MEMORY.md to write
	drop   map[string]bool // paths whose line goes
	at     int64           // set by commit: the number of the row before its first
	lost   bool            // set by commit: an outside edit won while we wrote, and nothing happened
	err    error           // set by commit: why nothing happened

	unfinished bool  // set by commit: it happened, and the next lock has to finish it
	index      error // set by commit: the change stands, and MEMORY.md does not show it
}

// row is the number in the journal of the batch's row of that index.
func (b *batch) row(i int) int64 { return b.at + int64(i) + 1 }

// frees reports whether a batch only takes away.
func (b *batch) frees() bool {
	return len(b.files) == 0 && len(b.moves)+len(b.gone) > 0 &&
		!slices.ContainsFunc(b.moves, func(m move) bool { return m.put != nil })
}

// move is one change of a memory's file, by the row of that index.
type move struct {
	row     int
	path    relpath.Path
	put     []byte // what to write; nil: take the file away
	old     []byte // what must lie there; nil: nothing
	archive bool   // what is taken away goes to the archive; else the versions hold it
}

// kept is bytes that lie where they are and become the version of a row.
type kept struct {
	row  int
	data []byte
}

// heldFile is a new file of pending, with its bytes.
type heldFile struct {
	name string
	data []byte
}

// outside adds what an outside hand did to an accepted memory, before anything is built
// on it. Under the waiver its bytes become the accepted ones, at user-observed.
func (b *batch) outside(state *journal.State, path string, s standing) {
	if s.waived {
		row := journal.Row{
			Change:   journal.Change{Op: journal.OpAdopt, Path: path, Old: state.Accepted[path].Hash, New: s.acc.Hash, Trust: s.acc.Trust, Key: metaOf(path, s.bytes).Key},
			Decision: journal.Decision{By: "waiver"},
		}
		b.keep = append(b.keep, kept{b.note(row), s.bytes})
		return
	}
	if _, ok := state.Accepted[path]; !ok {
		return
	}
	if row, ok := observed(state, path, s); ok {
		b.note(row)
	}
}

// outsideOf does so for each name of a proposal.
func (b *batch) outsideOf(w *world, p *proposal) {
	b.outside(w.state, p.names[0].shown(), p.was)
	if to := p.names[1].shown(); to != "" && to != p.names[0].shown() {
		b.outside(w.state, to, p.dest)
	}
}

// note adds a row that moves no bytes.
func (b *batch) note(row journal.Row) int {
	b.rows = append(b.rows, row)
	return len(b.rows) - 1
}

// line puts a memory's line into the index. MEMORY.md is loaded whole by some hosts,
// so what comes from outside the conversation has no line there, name included.
func (b *batch) line(path string, m meta, t Trust, at time.Time) {
	if t < UserObserved {
		b.unline(path)
		return
	}
	b.set = append(b.set, lineFor(path, m, at))
}

func (b *batch) unline(path string) {
	if b.drop == nil {
		b.drop = map[string]bool{}
	}
	b.drop[path] = true
}

// lineFor is a memory's line in the index.
func lineFor(path string, m meta, at time.Time) indexLine {
	return indexLine{Type: m.Type, Path: path, Minute: at.UTC().Format("2006-01-02T15:04Z"), Description: m.Description}
}

// store adds an accepted proposal to the batch.
func (r *Room) store(b *batch, p *proposal, w *world, row journal.Row, v *Verdict) error {
	row.Op, row.Path, row.Trust, row.Key = p.op, p.path().String(), p.trust.String(), p.key()
	row.Old = p.was.diskHash()
	switch p.op {
	case journal.OpArchive:
		r.addRetirement(b, w, p.path(), p.was, row)
		v.Memory.Stage = stageArchived
	case journal.OpRename:
		data := mirror(p, row.Source, w.now)
		row.To, row.New = p.target().String(), journal.Sum(data)
		i := b.note(row)
		b.moves = append(b.moves, move{row: i, path: p.target(), put: data}, move{row: i, path: p.path(), old: p.was.disk})
		b.unline(row.Path)
		b.line(row.To, metaOf(row.To, data), p.trust, w.now)
		if err := r.relinkRenamed(b, w, row.Path, row.To, journal.Decision{By: row.By}); err != nil {
			return err
		}
		v.Memory = storedMemory(row.To, data, p, w.now)
	default:
		data := mirror(p, row.Source, w.now)
		row.New = journal.Sum(data)
		b.moves = append(b.moves, move{row: b.note(row), path: p.path(), put: data, old: p.was.disk})
		b.line(row.Path, metaOf(row.Path, data), p.trust, w.now)
		v.Memory = storedMemory(row.Path, data, p, w.now)
	}
	v.Memory.Supersedes = p.links
	return nil
}

func storedMemory(path string, data []byte, p *proposal, now time.Time) Memory {
	m := describe(path, stageActive, data)
	m.Trust, m.Modified, m.Findings = p.trust, now, p.findings
	return m
}

// mirror brings the library's own frontmatter keys up to date: all of them where
// the library composed the frontmatter, else those that are there already. Text
// given with a frontmatter of its own, or with none, stays as it was given.
func mirror(p *proposal, source string, now time.Time) []byte {
	data := []byte(p.text.whole)
	for _, k := range []struct {
		value string
		path  []string
	}{
		{p.trust.String(), []string{"metadata", "trust"}},
		{source, []string{"metadata", "source"}},
		{now.UTC().Format(time.RFC3339), []string{"modified"}},
	} {
		e, err := entry.Parse(data)
		if err != nil {
			return data
		}
		if _, there := e.Field(k.path...); !there && !p.text.composed || k.value == "" {
			continue
		}
		if out, err := e.Set(k.value, k.path...); err == nil {
			data = out
		}
	}
	return mirrorLinks(data, p.links, "", false)
}

// readIndex reads MEMORY.md; nil when there is none.
func (r *Room) readIndex() ([]byte, error) {
	data, err := r.disk.Read(indexFile(), 1<<30)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return data, err
}

func indexFile() relpath.Path {
	p, err := relpath.Parse(indexName)
	if err != nil {
		panic("scribe: MEMORY.md is not a path") // a constant; a test reads it too
	}
	return p
}
