package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"

	"github.com/blevesearch/bleve/v2"
	"github.com/blevesearch/bleve/v2/analysis/lang/en"
	"github.com/blevesearch/bleve/v2/index/scorch"
	index "github.com/blevesearch/bleve_index_api"
	_ "modernc.org/sqlite"

	"github.com/memoryroom/scribe/internal/lexical"
)

// heap is what the process holds after a collection.
func heap() float64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return float64(m.HeapAlloc)
}

// ask times the queries warm, kind by kind, after each was asked once.
func ask(r *result, c *notes, query func(q *question) (hits int, err error)) error {
	var before, after runtime.MemStats
	var mallocs uint64
	times := 0
	for kind := range kinds {
		var few []*question
		for i := range c.questions {
			if q := &c.questions[i]; q.kind == kind {
				few = append(few, q)
			}
		}
		for _, q := range few {
			n, err := query(q)
			if err != nil {
				return fmt.Errorf("%s: %w", r.name, err)
			}
			if n > 0 {
				r.found++
			}
		}
		runtime.GC()
		runtime.ReadMemStats(&before)
		start, asked := cpu(), 0
		for len(few) > 0 && (cpu()-start < 0.5 || asked == 0) {
			for _, q := range few {
				if _, err := query(q); err != nil {
					return err
				}
			}
			asked += len(few)
		}
		took := cpu() - start
		runtime.ReadMemStats(&after)
		if asked > 0 {
			r.query[kind] = took * 1e6 / float64(asked)
		}
		mallocs += after.Mallocs - before.Mallocs
		times += asked
	}
	r.allocs = float64(mallocs) / float64(times)
	return nil
}

// replace times replacing notes one at a time, in groups, because the clock of CPU time
// is coarse, and takes the median group.
func replace(c *notes, put func(note) error) (float64, error) {
	var took []float64
	for g := range 15 {
		start, n := cpu(), 0
		for cpu()-start < 0.01 || n < 10 {
			if err := put(c.all[(g*7919+n*31)%len(c.all)]); err != nil {
				return 0, err
			}
			n++
		}
		took = append(took, (cpu()-start)*1e6/float64(n))
	}
	slices.Sort(took)
	return took[len(took)/2], nil
}

func own(c *notes, _ string) (result, error) {
	r := result{name: "scribe", where: "heap"}
	before, start := heap(), cpu()
	x := lexical.New()
	put := func(d note) error {
		x.Put(lexical.Doc{ID: d.id, Title: d.title, Body: d.body})
		return nil
	}
	for _, d := range c.all {
		_ = put(d)
	}
	r.build = cpu() - start
	r.bytes = heap() - before
	err := ask(&r, c, func(q *question) (int, error) {
		hits, _ := x.Search(lexical.Query{Text: q.text, Max: 10})
		return len(hits), nil
	})
	if err == nil {
		r.update, err = replace(c, put)
	}
	runtime.KeepAlive(x)
	return r, err
}

// bleveIndex is scorch on disk with BM25, merged into one segment before it is asked.
func bleveIndex(c *notes, dir string) (result, error) {
	r := result{name: "bleve", where: "disk"}
	at := filepath.Join(dir, "bleve")
	defer os.RemoveAll(at)
	m := bleve.NewIndexMapping()
	m.DefaultAnalyzer = en.AnalyzerName
	m.ScoringModel = index.BM25Scoring
	start := cpu()
	x, err := bleve.New(at, m)
	if err != nil {
		return r, err
	}
	defer x.Close()
	for group := range slices.Chunk(c.all, 1000) {
		b := x.NewBatch()
		for _, d := range group {
			if err := b.Index(d.id, map[string]string{"text": d.title + "\n" + d.body}); err != nil {
				return r, err
			}
		}
		if err := x.Batch(b); err != nil {
			return r, err
		}
	}
	r.build, r.bytes = cpu()-start, onDisk(at)
	inner, err := x.Advanced()
	if err != nil {
		return r, err
	}
	if err := inner.(*scorch.Scorch).ForceMerge(context.Background(), nil); err != nil {
		return r, err
	}
	return r, ask(&r, c, func(q *question) (int, error) {
		req := bleve.NewSearchRequest(bleve.NewMatchQuery(q.text))
		req.Size = 10
		res, err := x.Search(req)
		if err != nil {
			return 0, err
		}
		return len(res.Hits), nil
	})
}

// fts5 ranks by its built-in BM25 with a title that counts twice, and is asked for any of
// the words that say something; its index is optimized before and fits into its cache.
func fts5(c *notes, dir string) (result, error) {
	r := result{name: "FTS5 modernc", where: "disk"}
	at := filepath.Join(dir, "fts")
	if err := os.Mkdir(at, 0o700); err != nil {
		return r, err
	}
	defer os.RemoveAll(at)
	start := cpu()
	db, err := sql.Open("sqlite", filepath.Join(at, "fts.db"))
	if err != nil {
		return r, err
	}
	defer db.Close()
	db.SetMaxOpenConns(1)
	for _, s := range []string{
		`PRAGMA cache_size = -262144`,
		`CREATE VIRTUAL TABLE n USING fts5(id UNINDEXED, title, body, tokenize = 'porter')`,
		`INSERT INTO n(n, rank) VALUES ('rank', 'bm25(0, 2, 1)')`,
	} {
		if _, err := db.Exec(s); err != nil {
			return r, err
		}
	}
	tx, err := db.Begin()
	if err != nil {
		return r, err
	}
	insert, err := tx.Prepare(`INSERT INTO n VALUES (?, ?, ?)`)
	if err != nil {
		return r, err
	}
	for _, d := range c.all {
		if _, err := insert.Exec(d.id, d.title, d.body); err != nil {
			return r, err
		}
	}
	if err := tx.Commit(); err != nil {
		return r, err
	}
	r.build, r.bytes = cpu()-start, onDisk(at)
	if _, err := db.Exec(`INSERT INTO n(n) VALUES ('optimize')`); err != nil {
		return r, err
	}
	query, err := db.Prepare(`SELECT id FROM n WHERE n MATCH ? ORDER BY rank LIMIT 10`)
	if err != nil {
		return r, err
	}
	return r, ask(&r, c, func(q *question) (n int, err error) {
		rows, err := query.Query(`"` + strings.Join(q.words, `" OR "`) + `"`)
		if err != nil {
			return 0, err
		}
		defer rows.Close()
		for rows.Next() {
			n++
		}
		return n, rows.Err()
	})
}

// ripgrep counts words in files; ok is false where it is not installed.
func ripgrep(c *notes, dir string) (r result, ok bool, err error) {
	r = result{name: "ripgrep", where: "files", bytes: float64(c.size)}
	if _, err := exec.LookPath("rg"); err != nil {
		return r, false, nil
	}
	at := filepath.Join(dir, "notes")
	if err := writeFiles(c, at); err != nil {
		return r, true, err
	}
	defer os.RemoveAll(at)
	few := *c
	few.questions = c.questions[:min(10, len(c.questions))] // as many of each kind as there are of ten
	err = ask(&r, &few, func(q *question) (int, error) { return grep(at, q.words) })
	return r, true, err
}

// grep gives the number of files with one of the words.
func grep(dir string, words []string) (int, error) {
	args := []string{"--no-config", "-c", "-i"}
	for _, w := range words {
		args = append(args, "-e", w)
	}
	out, err := exec.Command("rg", append(args, dir)...).Output()
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) && exit.ExitCode() == 1 {
		err = nil // nothing
	}
	return strings.Count(string(out), "\n"), err
}

func writeFiles(c *notes, dir string) error {
	for _, d := range c.all {
		name := filepath.Join(dir, filepath.FromSlash(d.id))
		if err := os.MkdirAll(filepath.Dir(name), 0o700); err != nil {
			return err
		}
		if err := os.WriteFile(name, []byte("# "+d.title+"\n\n"+d.body), 0o600); err != nil {
			return err
		}
	}
	return nil
}

func onDisk(dir string) (size float64) {
	_ = filepath.WalkDir(dir, func(_ string, e fs.DirEntry, err error) error {
		if info, ierr := e.Info(); err == nil && ierr == nil && e.Type().IsRegular() {
			size += float64(info.Size())
		}
		return nil
	})
	return size
}
