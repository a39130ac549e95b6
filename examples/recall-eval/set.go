package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/memoryroom/scribe/internal/lexical"
)

// A set is one corpus with the queries that are asked of it.
type set struct {
	name    string
	docs    map[string][]lexical.Doc // by scope
	queries []query
}

type query struct {
	ID       string `json:"id"`
	Scope    string `json:"scope"`
	Text     string `json:"text"`
	Relevant grades `json:"relevant"`
}

// grades says how relevant each document is to a query; those not in it are not.
type grades map[string]float64

// UnmarshalJSON reads a list of ids, each of grade 1, or an object of grades.
func (g *grades) UnmarshalJSON(data []byte) error {
	if string(data) == "null" {
		return nil // as if it were not there
	}
	*g = grades{}
	if data[0] == '{' {
		var graded map[string]float64
		if err := json.Unmarshal(data, &graded); err != nil {
			return errors.New("a grade is a number")
		}
		for id, grade := range graded {
			if grade > 0 {
				(*g)[id] = grade
			}
		}
		return nil
	}
	var ids []string
	if err := json.Unmarshal(data, &ids); err != nil {
		return errors.New("relevant is a list of ids or an object of grades")
	}
	for _, id := range ids {
		(*g)[id] = 1
	}
	return nil
}

const (
	corpusFile  = "corpus.jsonl"
	queriesFile = "queries.jsonl"
)

// setDirs lists the folders of the sets: dir itself, or those in dir/recall, or those
// in dir. A folder with one of the two files counts, so that the other is missed.
func setDirs(dir string) ([]string, error) {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return nil, err
	}
	if isSet(dir) {
		return []string{dir}, nil
	}
	if inner, err := os.ReadDir(filepath.Join(dir, "recall")); err == nil && !isSet(filepath.Join(dir, "recall")) {
		dir, entries = filepath.Join(dir, "recall"), inner
	}
	var dirs []string
	for _, e := range entries {
		if d := filepath.Join(dir, e.Name()); isSet(d) {
			dirs = append(dirs, d)
		}
	}
	if len(dirs) == 0 {
		return nil, fmt.Errorf("%s: no folder with %s and %s in it", dir, corpusFile, queriesFile)
	}
	return dirs, nil
}

func isSet(dir string) bool {
	for _, name := range []string{corpusFile, queriesFile} {
		if _, err := os.Stat(filepath.Join(dir, name)); err == nil {
			return true
		}
	}
	return false
}

func readSet(dir string) (*set, error) {
	abs, err := filepath.Abs(dir) // for its name, if dir is "."
	if err != nil {
		return nil, err
	}
	s := &set{name: filepath.Base(abs), docs: map[string][]lexical.Doc{}}
	seen := map[[2]string]bool{}
	err = eachLine(filepath.Join(dir, corpusFile), func(line []byte) error {
		var d struct{ ID, Scope, Title, Text string }
		if err := json.Unmarshal(line, &d); err != nil {
			return err
		}
		key := [2]string{d.Scope, d.ID}
		switch {
		case d.ID == "":
			return errors.New("no id")
		case seen[key]:
			return fmt.Errorf("a second document %.80q in its scope", d.ID)
		}
		seen[key] = true
		s.docs[d.Scope] = append(s.docs[d.Scope], lexical.Doc{ID: d.ID, Title: d.Title, Body: d.Text})
		return nil
	})
	if err != nil {
		return nil, err
	}
	err = eachLine(filepath.Join(dir, queriesFile), func(line []byte) error {
		var q query
		if err := json.Unmarshal(line, &q); err != nil {
			return err
		}
		switch {
		case q.Text == "":
			return errors.New("no text")
		case q.Relevant == nil:
			return errors.New("no relevant: write [] where there is nothing to find")
		}
		s.queries = append(s.queries, q)
		return nil
	})
	return s, err
}

// eachLine calls f with every line that is not blank. An error carries the file and
// the number of the line; a file without lines is one too.
func eachLine(name string, f func([]byte) error) error {
	data, err := os.ReadFile(name)
	if err != nil {
		return err
	}
	n, used := 0, 0
	for line := range bytes.Lines(data) {
		n++
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		used++
		if err := f(line); err != nil {
			return fmt.Errorf("%s:%d: %w", name, n, err)
		}
	}
	if used == 0 {
		return fmt.Errorf("%s: the file is empty", name)
	}
	return nil
}
