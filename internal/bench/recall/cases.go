package main

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// labelled puts the documents of all sets of a folder together, and takes queries of all
// in turn: as keywords those of up to five words, as dialogues those of more than forty.
func labelled(dir string, queries int) (*notes, error) {
	sets, err := filepath.Glob(filepath.Join(dir, "*", "corpus.jsonl"))
	if err != nil || len(sets) == 0 {
		return nil, fmt.Errorf("%s: no folder with a corpus.jsonl in it", dir)
	}
	c := &notes{}
	var asked [][]question // by set
	for _, file := range sets {
		set := filepath.Base(filepath.Dir(file))
		var qs []question
		err := lines(filepath.Join(filepath.Dir(file), "queries.jsonl"), func(d record) {
			all := strings.FieldsFunc(strings.ToLower(d.Text), func(r rune) bool { return r < '0' || r > '9' && r < 'a' || r > 'z' })
			if len(all) == 0 || len(all) < len(d.Text)/20 {
				return // hardly any English
			}
			q := question{kind: 1, text: d.Text, words: withoutStops(all)}
			switch {
			case len(all) <= 5:
				q.kind = 0
			case len(all) > 40:
				q.kind = 2
			}
			qs = append(qs, q)
		})
		if err != nil {
			return nil, err
		}
		if len(qs) < 10 {
			continue // a set in another language: FTS5 would find nothing
		}
		asked = append(asked, qs)
		if err := lines(file, func(d record) {
			n := note{fmt.Sprintf("%s/%06d.md", set, len(c.all)), d.Title, d.Text}
			c.size += len(n.title) + len(n.body)
			c.all = append(c.all, n)
		}); err != nil {
			return nil, err
		}
	}
	for i := 0; len(c.questions) < queries && i < queries; i++ {
		for _, qs := range asked {
			if len(c.questions) < queries {
				c.questions = append(c.questions, qs[i*31%len(qs)])
			}
		}
	}
	return c, nil
}

type record struct{ ID, Scope, Title, Text string }

func lines(file string, each func(record)) error {
	data, err := os.ReadFile(file)
	if err != nil {
		return err
	}
	for line := range strings.Lines(string(data)) {
		var r record
		if err := json.Unmarshal([]byte(line), &r); err != nil {
			return fmt.Errorf("%s: %w", filepath.Base(file), err)
		}
		each(r)
	}
	return nil
}
