package main

import (
	"context"
	"database/sql"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"

	"github.com/memoryroom/scribe"
	bolt "go.etcd.io/bbolt"
	_ "modernc.org/sqlite"
)

// bodySize is the size of a memory in bytes; the median of the rooms that we saw is less.
const bodySize = 2 << 10

var words = strings.Fields("the build of this service takes a minute when the cache is warm and its tests need a running database so start that first then read the notes on releases before changing a version number")

// body is a text of plain words that differs from all others.
func body(n int64) string {
	rng := rand.New(rand.NewPCG(uint64(n), 1))
	var b strings.Builder
	fmt.Fprintf(&b, "Note %d of this run.\n\n", n)
	for b.Len() < bodySize {
		b.WriteString(words[rng.IntN(len(words))])
		b.WriteByte(" \n"[btoi(rng.IntN(12) == 0)])
	}
	return b.String()
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// variant is one way to store a change durably, or so.
type variant struct {
	name    string
	durable string // what an acknowledged change survives
	writers int
	// open prepares a directory; put is called by several writers at once, each with its own number.
	open func(dir string, writers int) (put func(writer int, n int64) error, close func() error, err error)
}

func nothing() error { return nil }

func variants() []variant {
	return []variant{
		{"os.WriteFile", "nothing", 1, openWriteFile},
		{"temporary file, fsync, rename", "a crash: whole, old or new", 1, openAtomic},
		{"append of 300 bytes, fsync", "power cut", 1, openAppend},
		{"SQLite, WAL, synchronous FULL", "power cut", 1, openSQLite},
		{"SQLite, WAL, synchronous FULL", "power cut", 16, openSQLite},
		{"bbolt, Update", "power cut", 1, openBolt(false)},
		{"bbolt, Batch", "power cut", 16, openBolt(true)},
		{"scribe, index and history included", "power cut", 1, openScribe},
		{"scribe, index and history included", "power cut", 16, openScribe},
	}
}

func name(writer int, n int64) string { return fmt.Sprintf("w%d-%d.md", writer, n%4) }

func openWriteFile(dir string, _ int) (func(int, int64) error, func() error, error) {
	return func(w int, n int64) error {
		return os.WriteFile(filepath.Join(dir, name(w, n)), []byte(body(n)), 0o600)
	}, nothing, nil
}

func openAtomic(dir string, _ int) (func(int, int64) error, func() error, error) {
	return func(w int, n int64) error {
		f, err := os.CreateTemp(dir, ".tmp")
		if err != nil {
			return err
		}
		_, err = f.WriteString(body(n))
		if err == nil {
			err = f.Sync()
		}
		if cerr := f.Close(); err == nil {
			err = cerr
		}
		if err != nil {
			return err
		}
		return os.Rename(f.Name(), filepath.Join(dir, name(w, n)))
	}, nothing, nil
}

func openAppend(dir string, _ int) (func(int, int64) error, func() error, error) {
	f, err := os.OpenFile(filepath.Join(dir, "log"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, nil, err
	}
	return func(_ int, n int64) error {
		if _, err := f.WriteString(body(n)[:300]); err != nil {
			return err
		}
		return f.Sync()
	}, f.Close, nil
}

// openSQLite uses one connection: SQLite has one writer, and waiting in Go is cheaper
// than waiting for its lock.
func openSQLite(dir string, _ int) (func(int, int64) error, func() error, error) {
	db, err := sql.Open("sqlite", "file:"+filepath.Join(dir, "db")+"?_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)")
	if err != nil {
		return nil, nil, err
	}
	db.SetMaxOpenConns(1)
	if _, err := db.Exec("CREATE TABLE memory (path TEXT PRIMARY KEY, body TEXT)"); err != nil {
		return nil, nil, err
	}
	return func(w int, n int64) error {
		_, err := db.Exec("INSERT INTO memory VALUES (?, ?) ON CONFLICT (path) DO UPDATE SET body = excluded.body", name(w, n), body(n))
		return err
	}, db.Close, nil
}

func openBolt(batch bool) func(dir string, writers int) (func(int, int64) error, func() error, error) {
	return func(dir string, writers int) (func(int, int64) error, func() error, error) {
		db, err := bolt.Open(filepath.Join(dir, "db"), 0o600, nil)
		if err != nil {
			return nil, nil, err
		}
		db.MaxBatchSize = writers
		err = db.Update(func(tx *bolt.Tx) error { _, err := tx.CreateBucket([]byte("memory")); return err })
		if err != nil {
			return nil, nil, err
		}
		do := db.Update
		if batch {
			do = db.Batch
		}
		return func(w int, n int64) error {
			text := []byte(body(n))
			return do(func(tx *bolt.Tx) error { return tx.Bucket([]byte("memory")).Put([]byte(name(w, n)), text) })
		}, db.Close, nil
	}
}

func openScribe(dir string, writers int) (func(int, int64) error, func() error, error) {
	room, err := scribe.Open(filepath.Join(dir, "room"), nil)
	if err != nil {
		return nil, nil, err
	}
	base := make([]map[string]string, writers)
	for i := range base {
		base[i] = map[string]string{}
	}
	return func(w int, n int64) error {
		path := name(w, n)
		vs, err := room.Propose(context.Background(), scribe.Candidate{Path: path, Text: body(n), Base: base[w][path]})
		if err != nil {
			return err
		}
		if err := vs[0].Err(); err != nil {
			return err
		}
		base[w][path] = vs[0].Memory.Hash
		return nil
	}, room.Close, nil
}
