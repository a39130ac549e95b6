package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/memoryroom/scribe/internal/pathcase"
)

// groups gathers the classes of cases into rows; a class of another name has a row
// of its own.
var groups = []struct {
	row     string
	classes string
}{
	{"traversal, absolute", "traversal absolute noncanonical expansion"},
	{"streams, trailing, 8.3", "ads trailing shortname whitespace"},
	{"device names, lengths", "reserved length"},
	{"tools' own directories", "sensitive sensitive_unlisted delete_scope"},
	{"instruction files", "instruction_file"},
	{"not exactly .md", "extension"},
	{"invisible, bidi, control", "invisible invisible_unlisted bidi control"},
	{"normal forms, look-alikes", "normalisation confusable"},
	{"encoding, shell, wildcards", "encoding shell_meta glob option_like markdown_injection"},
	{"collisions", "collision"},
	{"links, special files", "fs_link fs_special"},
}

// A table counts, row by row, how many hostile names each peer allowed, and how many
// ordinary ones it refused.
type table struct {
	peers   []peer
	byClass bool
	rows    map[string]*row
	hostile row // all rows
	benign  row // refused
	skipped int
	why     string
}

type row struct {
	cases int
	wrong []int // of each peer
}

func newTable(peers []peer, byClass bool) *table {
	n := len(peers)
	return &table{
		peers: peers, byClass: byClass, rows: map[string]*row{},
		hostile: row{wrong: make([]int, n)}, benign: row{wrong: make([]int, n)},
	}
}

func (r *row) add(wrong func(peer int) bool) {
	r.cases++
	for i := range r.wrong {
		if wrong(i) {
			r.wrong[i]++
		}
	}
}

func (t *table) add(c pathcase.Case, allowed []bool) {
	if c.Expect == "allow" {
		t.benign.add(func(i int) bool { return !allowed[i] })
		return
	}
	name := t.rowOf(c.Class)
	if t.rows[name] == nil {
		t.rows[name] = &row{wrong: make([]int, len(t.peers))}
	}
	for _, r := range []*row{t.rows[name], &t.hostile} {
		r.add(func(i int) bool { return allowed[i] })
	}
}

func (t *table) rowOf(class string) string {
	if t.byClass {
		return class
	}
	for _, g := range groups {
		if slices.Contains(strings.Fields(g.classes), class) {
			return g.row
		}
	}
	return class
}

func (t *table) skip(err error) { t.skipped, t.why = t.skipped+1, err.Error() }

// right reports whether the gate, which is the first peer, made no mistake.
func (t *table) right() bool { return t.hostile.wrong[0] == 0 && t.benign.wrong[0] == 0 }

// order returns the rows as groups lists them, then the others.
func (t *table) order() []string {
	var names []string
	for name := range t.rows {
		names = append(names, name)
	}
	place := func(name string) int {
		for i, g := range groups {
			if g.row == name {
				return i
			}
		}
		return len(groups)
	}
	slices.SortFunc(names, func(a, b string) int {
		if d := place(a) - place(b); d != 0 {
			return d
		}
		return strings.Compare(a, b)
	})
	return names
}

// print writes the table as Markdown, and one line that sums it up.
func (t *table) print(out io.Writer) {
	line := func(name string, cases any, cell func(i int) any) {
		fmt.Fprintf(out, "| %s | %v |", name, cases)
		for i := range t.peers {
			fmt.Fprintf(out, " %v |", cell(i))
		}
		fmt.Fprintln(out)
	}
	line("hostile names allowed, by class", "cases", func(i int) any { return t.peers[i].name })
	line("---", "---:", func(int) any { return "---:" })
	for _, name := range t.order() {
		r := t.rows[name]
		line(name, r.cases, func(i int) any { return r.wrong[i] })
	}
	line("**all hostile**", t.hostile.cases, func(i int) any { return fmt.Sprintf("**%d**", t.hostile.wrong[i]) })
	line("ordinary names refused", t.benign.cases, func(i int) any { return t.benign.wrong[i] })
	best := 1
	for i := range t.peers {
		if i > 0 && t.hostile.wrong[i] < t.hostile.wrong[best] {
			best = i
		}
	}
	fmt.Fprintf(out, "\nscribe: %d of %d hostile names allowed, %d of %d ordinary ones refused; the closest peer, %s, allows %d\n",
		t.hostile.wrong[0], t.hostile.cases, t.benign.wrong[0], t.benign.cases, t.peers[best].name, t.hostile.wrong[best])
	if t.skipped > 0 {
		fmt.Fprintf(out, "left out: %d cases (the last for %s)\n", t.skipped, t.why)
	}
}
