//go:build ignore

// Command gen writes weights.go: what the score of internal/directive weighs. The
// weights are sought on texts of this project alone: attack.txt and benign.txt are
// written for it, prose.txt is what its documentation and comments said at one time.
// All arithmetic is in integers, so that every machine finds the same table. Run it
// by "go generate" in internal/directive, after the lexicon or a text has changed.
package main

import (
	"bytes"
	"cmp"
	"fmt"
	"go/format"
	"log"
	"os"
	"slices"
	"strings"

	"github.com/memoryroom/scribe/internal/directive"
)

const (
	attackDraws = 40   // texts made of a line of attack.txt; those that come twice count once
	benignDraws = 60   // of benign.txt
	proseDraws  = 3    // of prose.txt, each in other company
	epochs      = 8    // times that all texts are looked at
	minLines    = 2    // lines of the files that a feature has to occur in
	minWords    = 3    // the same, for a feature of words
	maxWeights  = 4000 // lines of the table

	unit    = 1 << 20    // a score of 1
	maxStep = unit / 400 // the most that a text moves a weight
	biasPer = 4          // how much faster the bias moves
)

// draw is a linear congruential generator (Knuth's MMIX): the choice of texts must
// not depend on a library's version.
type draw uint64

func (d *draw) below(n int) int {
	*d = *d*6364136223846793005 + 1442695040888963407
	return int(uint64(*d>>33) % uint64(n))
}

func (d *draw) from(list ...string) string { return list[d.below(len(list))] }

// name makes up a name: a real one would be learnt as a mark of its kind.
func (d *draw) name() string {
	var b strings.Builder
	for range 2 + d.below(2) {
		b.WriteByte("bcdfghjklmnprstvwz"[d.below(18)])
		b.WriteByte("aeiou"[d.below(5)])
	}
	s := b.String()
	return strings.ToUpper(s[:1]) + s[1:]
}

// chineseName is two characters of those that names of companies are made of.
func (d *draw) chineseName() string {
	runes := []rune("云达星河恒信安泰华瑞金桥天宇博雅嘉禾东方晨光")
	return string(runes[d.below(len(runes))]) + string(runes[d.below(len(runes))])
}

// expand makes one text of a line: one of each [a|b], and a name for each ¤ and ¥.
func (d *draw) expand(line string) string {
	var b strings.Builder
	for {
		before, rest, found := strings.Cut(line, "[")
		b.WriteString(before)
		if !found {
			return strings.Join(strings.FieldsFunc(d.named(strings.ReplaceAll(b.String(), `\n`, "\n")), func(r rune) bool { return r == ' ' }), " ")
		}
		choice, after, ok := strings.Cut(rest, "]")
		if !ok {
			log.Fatalf("no ] in %q", line)
		}
		b.WriteString(d.from(strings.Split(choice, "|")...))
		line = after
	}
}

func (d *draw) named(text string) string {
	var b strings.Builder
	for _, r := range text {
		switch r {
		case '¤':
			b.WriteString(d.name())
		case '¥':
			b.WriteString(d.chineseName())
		default:
			b.WriteRune(r)
		}
	}
	return b.String()
}

// sample is a text before and after it was cut into features.
type sample struct {
	text      string
	line      int // of its file
	attack    bool
	sentences [][]int
}

func read(name string, draws int, d *draw) (all []sample) {
	data, err := os.ReadFile(name)
	if err != nil {
		log.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(string(data)) {
		n++
		line = strings.TrimSuffix(line, "\n")
		if line == "" || line[0] == '#' {
			continue
		}
		var seen []string
		for range draws {
			if s := d.expand(line); name == "gen/prose.txt" || !slices.Contains(seen, s) {
				seen = append(seen, s)
				all = append(all, sample{text: s, line: n})
			}
		}
	}
	return all
}

// texts makes the samples: attacks alone and between harmless sentences, harmless
// sentences alone, strung together and one after the other.
func texts(d *draw) []sample {
	attacks := read("gen/attack.txt", attackDraws, d)
	benign := read("gen/benign.txt", benignDraws, d)
	for _, p := range read("gen/prose.txt", proseDraws, d) {
		p.line += 1 << 20 // another file, other lines
		benign = append(benign, p)
	}
	plain := func() string { return benign[d.below(len(benign))].text }
	var all []sample
	for _, a := range attacks {
		if d.below(3) == 0 {
			a.text = plain() + "\n" + a.text
		}
		if d.below(3) == 0 {
			a.text += " " + plain()
		}
		a.attack = true
		all = append(all, a)
	}
	for _, b := range benign {
		for k := d.below(8); k > 0 && d.below(2) == 0; k-- {
			b.text = strings.TrimRight(b.text, ".!?。") + d.from(", ", " and ", " — ", ", which ") + plain()
		}
		for d.below(2) == 0 {
			b.text += d.from(" ", "\n", "\n- ") + plain()
		}
		b.line = -b.line
		all = append(all, b)
	}
	return all
}

// model is what is sought: a weight for each feature, and the sums of all the weights
// that there were, for the mean.
type model struct {
	names        []string
	used         []bool
	weight, sums []int64
	bias, biases int64
	steps        int64
}

// number turns features into numbers and keeps those that are of more than one line:
// what a single line has in it is its own, not its kind's.
func number(all []sample) *model {
	m := &model{}
	ids := map[string]int{}
	var lines []map[int]bool
	for i := range all {
		s := &all[i]
		for _, features := range directive.Features(s.text) {
			var sentence []int
			for _, name := range features {
				id, ok := ids[name]
				if !ok {
					id = len(m.names)
					ids[name] = id
					m.names = append(m.names, name)
					lines = append(lines, map[int]bool{})
				}
				if len(lines[id]) < minWords {
					lines[id][s.line] = true
				}
				sentence = append(sentence, id)
			}
			s.sentences = append(s.sentences, sentence)
		}
	}
	m.used = make([]bool, len(m.names))
	for i, name := range m.names {
		need := minLines
		if name[0] == 'w' {
			need = minWords
		}
		m.used[i] = len(lines[i]) >= need
	}
	m.weight, m.sums = make([]int64, len(m.names)), make([]int64, len(m.names))
	return m
}

// score is that of the package: the best sentence, or the best two neighbours that
// lean the same way; from and to are their numbers, inclusive.
func (m *model) score(sentences [][]int) (score int64, from, to int) {
	score = -1 << 60
	last := int64(0)
	for i, features := range sentences {
		sum, start := int64(0), i
		for _, f := range features {
			if m.used[f] {
				sum += m.weight[f]
			}
		}
		total := sum
		if i > 0 && last > 0 && sum > 0 {
			total, start = sum+last, i-1
		}
		if total > score {
			score, from, to = total, start, i
		}
		last = sum
	}
	return score + m.bias, from, to
}

// learn is the passive-aggressive rule with a bounded step, averaged (Crammer et al.,
// JMLR 7, 2006): a text that has a score of less than 1 on its side moves the weights
// of the sentences that decided.
func (m *model) learn(s *sample) {
	m.steps++
	if len(s.sentences) == 0 {
		return
	}
	side := int64(-1)
	if s.attack {
		side = 1
	}
	score, from, to := m.score(s.sentences)
	if side*score >= unit {
		return
	}
	n := int64(1)
	for _, features := range s.sentences[from : to+1] {
		n += int64(len(features))
	}
	step := side * min((unit-side*score)/n, maxStep)
	for _, features := range s.sentences[from : to+1] {
		for _, f := range features {
			if m.used[f] {
				m.weight[f] += step
				m.sums[f] += step * m.steps
			}
		}
	}
	m.bias += biasPer * step
	m.biases += biasPer * step * m.steps
}

func main() {
	log.SetFlags(0)
	d := draw(7)
	all := texts(&d)
	m := number(all)
	for range epochs {
		for i := len(all) - 1; i > 0; i-- {
			j := d.below(i + 1)
			all[i], all[j] = all[j], all[i]
		}
		for i := range all {
			m.learn(&all[i])
		}
	}
	write(m)
}

// write puts the weights down in thousandths, the heaviest maxWeights of them.
func write(m *model) {
	type row struct {
		name   string
		weight int64
	}
	var rows []row
	for i, name := range m.names {
		if w := thousandths(m.weight[i] - m.sums[i]/m.steps); m.used[i] && w != 0 {
			rows = append(rows, row{name, w})
		}
	}
	slices.SortFunc(rows, func(a, b row) int {
		return cmp.Or(cmp.Compare(max(b.weight, -b.weight), max(a.weight, -a.weight)), strings.Compare(a.name, b.name))
	})
	rows = rows[:min(len(rows), maxWeights)]
	slices.SortFunc(rows, func(a, b row) int { return strings.Compare(a.name, b.name) })
	var b bytes.Buffer
	fmt.Fprintf(&b, "// Code generated by gen/main.go; DO NOT EDIT.\n\npackage directive\n\n// weights are thousandths, the kind of a feature (see feature.go) and what it is of.\nconst weights = `%d bias\n", thousandths(m.bias-m.biases/m.steps))
	for _, r := range rows {
		fmt.Fprintf(&b, "%d %s\n", r.weight, r.name)
	}
	b.WriteString("`\n")
	out, err := format.Source(b.Bytes())
	if err != nil {
		log.Fatal(err)
	}
	if err := os.WriteFile("weights.go", out, 0o644); err != nil {
		log.Fatal(err)
	}
}

func thousandths(w int64) int64 { return w * 1000 / unit }
