package main

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"time"
)

// note is one document.
type note struct{ id, title, body string }

// notes is a corpus with what is asked of it.
type notes struct {
	all     []note
	queries [][]string // words
	size    int        // bytes of titles and bodies
}

const (
	syllables = "ba ce di fo gu ha je ki lo mu na pe ri so tu va we xi yo zu bra cle dri flo gru pla sta tre spi sco"
	common    = "the of and to in is that for it on with as was this we at by from or an be are not have"
)

// word makes the word of a rank; ranks below 24 are common English words.
func word(rank int) string {
	small := strings.Fields(common)
	if rank < len(small) {
		return small[rank]
	}
	parts := strings.Fields(syllables)
	var b strings.Builder
	for v := rank; v > 0; v /= len(parts) {
		b.WriteString(parts[v%len(parts)])
	}
	return b.String()
}

// corpus makes n notes, the same in every run.
func corpus(n, queries int) *notes {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	vocabulary := 20_000 + n
	rank := func() int {
		v := r.Float64()
		v *= v
		v *= v
		return int(float64(vocabulary) * v * v) // the commonest 2,000 words are 70 % of a text, as in English prose
	}
	c := &notes{}
	for i := range n {
		var b strings.Builder
		for b.Len() < 1250 {
			switch k := r.IntN(60); {
			case k == 0:
				fmt.Fprintf(&b, "%s_%s ", word(24+rank()), word(24+rank()))
			case k == 1:
				fmt.Fprintf(&b, "2031-%02d-%02d. ", 1+r.IntN(12), 1+r.IntN(28))
			case k < 6:
				b.WriteString(word(rank()) + ".\n")
			default:
				b.WriteString(word(rank()) + " ")
			}
		}
		d := note{fmt.Sprintf("t%02d/n%06d.md", i%97, i), word(24+rank()) + " " + word(24+rank()), b.String()}
		c.size += len(d.title) + len(d.body)
		c.all = append(c.all, d)
	}
	for range queries {
		words := strings.FieldsFunc(c.all[r.IntN(n)].body, func(r rune) bool { return r < 'a' || r > 'z' })
		words = slices.DeleteFunc(words, func(w string) bool { return slices.Contains(strings.Fields(common), w) || len(w) < 3 })
		at := r.IntN(len(words) - 8)
		c.queries = append(c.queries, words[at:min(len(words), at+5+r.IntN(4))])
	}
	return c
}

// cpu is the CPU time of the process and of the children that it waited for, in seconds.
func cpu() float64 {
	var sum time.Duration
	for _, who := range []int{syscall.RUSAGE_SELF, syscall.RUSAGE_CHILDREN} {
		var ru syscall.Rusage
		if syscall.Getrusage(who, &ru) == nil {
			sum += time.Duration(ru.Utime.Nano() + ru.Stime.Nano())
		}
	}
	return sum.Seconds()
}
