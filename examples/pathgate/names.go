package main

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/memoryroom/scribe/internal/relpath"
)

// maxRefused is the share of ordinary names, instruction files aside, that the gate
// may refuse.
const maxRefused = 0.003

// judgeTree parses the distinct base names of a tree's .md files, prints what is
// refused by which rule, and reports whether that is less than maxRefused.
func judgeTree(dir string, out io.Writer) (ok bool, err error) {
	seen := map[string]bool{}
	err = filepath.WalkDir(dir, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			if path == dir {
				return err
			}
			return nil // a directory that may not be read
		}
		if name := d.Name(); d.Type().IsRegular() && strings.HasSuffix(name, ".md") {
			seen[name] = true
		}
		return nil
	})
	if err != nil {
		return false, err
	}
	if len(seen) == 0 {
		return false, errors.New("no .md file in the tree")
	}
	rules := map[string][]string{}
	refused := 0
	for name := range seen {
		_, err := relpath.Parse(name)
		if r := (*relpath.Refusal)(nil); errors.As(err, &r) {
			rules[r.Rule] = append(rules[r.Rule], name)
			if r.Rule != "path.instruction-file" {
				refused++
			}
		}
	}
	var order []string
	for rule := range rules {
		order = append(order, rule)
	}
	slices.Sort(order)
	for _, rule := range order {
		slices.Sort(rules[rule])
		fmt.Fprintf(out, "%5d %s, such as %.60q\n", len(rules[rule]), rule, rules[rule][0])
	}
	fmt.Fprintf(out, "%d distinct names: %d instruction files, %d others refused (%.2f %%)\n",
		len(seen), len(rules["path.instruction-file"]), refused, 100*float64(refused)/float64(len(seen)))
	return float64(refused) < maxRefused*float64(len(seen)), nil
}
