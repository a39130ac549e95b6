package main

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/memoryroom/scribe/internal/pathcase"
)

// ownCases are cases of this program's own.
//
//go:embed testdata/paths.jsonl
var ownCases []byte

func readCases(dir string) ([]pathcase.Case, error) {
	data := ownCases
	if dir != "" {
		var err error
		if data, err = os.ReadFile(filepath.Join(dir, pathcase.File)); err != nil {
			return nil, err
		}
	}
	cases, err := pathcase.Parse(data)
	for _, c := range cases {
		if c.Expect != "allow" && c.Expect != "deny" {
			return nil, fmt.Errorf("%s: %s: expect is %q", pathcase.File, c.ID, c.Expect)
		}
	}
	return cases, err
}

// errSetup: what the case needs on disk can not be made here.
var errSetup = errors.New("setup")

// runCase makes a room of the case's own and asks every peer. os.Root, which is the
// only one that touches the disk to answer, is last.
func runCase(base string, c pathcase.Case, peers []peer) (allowed []bool, err error) {
	dir, err := os.MkdirTemp(base, "case")
	if err != nil {
		return nil, err
	}
	defer os.RemoveAll(dir)
	room, undo, err := c.Make(dir)
	defer undo()
	if err != nil {
		return nil, fmt.Errorf("%w: %v", errSetup, err)
	}
	for _, p := range peers {
		ok, err := p.allows(room, c.Op, c.Path)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", p.name, err)
		}
		allowed = append(allowed, ok && (p.ours || strings.HasSuffix(c.Path, ".md")))
	}
	return allowed, nil
}
