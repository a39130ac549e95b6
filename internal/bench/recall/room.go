package main

import (
	"context"
	"fmt"
	"io"
	"path/filepath"
	"time"

	"github.com/memoryroom/scribe"
	"github.com/memoryroom/scribe/internal/bench/recall/adopted"
)

// roomOf measures a room of files: what a process pays that opens it and asks once.
func roomOf(out io.Writer, c *notes, dir string, all []result) error {
	ctx := context.Background()
	at := filepath.Join(dir, "room")
	if err := writeFiles(c, at); err != nil {
		return err
	}
	o := &scribe.Options{Limits: scribe.Limits{Memories: len(c.all)}}
	r, err := adopted.Open(ctx, at, o)
	if err != nil {
		return err
	}
	time.Sleep(3 * time.Second) // a file younger than two seconds is read again
	q := scribe.Query{Text: c.questions[0].text, Max: 5}
	step := func(name string, f func() error) error {
		start := cpu()
		err := f()
		fmt.Fprintf(out, "%-45s %8.1f ms CPU\n", name, (cpu()-start)*1e3)
		return err
	}
	list := func() error {
		s, err := r.Session(ctx, "bench", scribe.UserObserved)
		if err == nil {
			_, err = s.Guard(1).Recall(ctx, q)
		}
		return err
	}
	find := func() error { _, err := r.Recall(ctx, q); return err }
	open := func() (err error) {
		if r, err = scribe.Open(at, o); err == nil {
			err = find()
		}
		return err
	}
	for _, s := range []struct {
		name string
		do   func() error
	}{
		{"first search of a room that is open", find},
		{"the next one", find},
		{"a guard's first search", list},
		{"close, which keeps the index", func() error { return r.Close() }},
		{"open and first search, with that cache", open},
		{"close again, with the stamps of what was read", func() error { return r.Close() }},
		{"open and first search, with that", open},
		{"close", func() error { return r.Close() }},
	} {
		if err := step(s.name, s.do); err != nil {
			return err
		}
	}
	for _, r := range all {
		if r.name == "ripgrep" {
			fmt.Fprintf(out, "%-45s %8.1f ms CPU\n", "one ripgrep", r.query[c.questions[0].kind]/1e3)
		}
	}
	return nil
}
