package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"syscall"
	"time"
)

// note is one document.
type note struct{ id, title, body string }

// question is what is asked, as it is put to a system that drops stop words itself, and
// without them for one that does not.
type question struct {
	kind  int // of kinds
	text  string
	words []string
}

// notes is a corpus with what is asked of it.
type notes struct {
	all       []note
	questions []question
	size      int // bytes of titles and bodies
}

// The made-up notes and queries follow what was counted in labelled English sets
// (sessions, turns and distilled facts of LoCoMo, days of MemoryBank, dialogues of
// MADial, tldr pages, ESLint's documentation; none of them ships):
//
//   - the 10, 100 and 1,000 commonest words are 17 to 25, 45 to 57 and 78 to 91 % of a text,
//     and a text of t words has about 6.5 t^0.6 different ones;
//   - a note has 50 to 500 words, as many short as long ones by their logarithm, and one
//     word in five of those that are not function words was in the note before;
//   - a question has 6 to 15 words, half of them function words; keywords are 2 to 4; a
//     dialogue, several turns of talk, has 60 to 130 words. One content word in six of a
//     query is not from the note that it is after. People ask in words that are commoner
//     than those of the text: half of a question's are in more than 5 % of the notes.
var kinds = [...]struct {
	name     string
	from, to int  // words
	talk     bool // half of them are function words, the others common ones
	share    int  // of 10 queries
}{
	{"keywords", 2, 4, false, 3},
	{"questions", 6, 15, true, 6},
	{"dialogues", 60, 130, true, 1},
}

const (
	syllables = "ba ce di fo gu ha je ki lo mu na pe ri so tu va we xi yo zu bra cle dri flo gru pla sta tre spi sco"
	// functional are stop words of every system here, the commonest first.
	functional = "the and to of a in is it that was for on are with he as his they be at have this from or by but what were we when your there an which how their if will about then them she these would him has my been who no more me our than only other into could any do did"
)

// word makes the word of a rank, the commonest first.
func word(rank int) string {
	small := strings.Fields(functional)
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
	few := len(strings.Fields(functional))
	vocabulary := 6.5 * math.Pow(200*float64(n), 0.6)
	ranks := rand.NewZipf(r, 1.15, 6, uint64(vocabulary)+uint64(few))
	content := func() int {
		for {
			if v := int(ranks.Uint64()); v >= few {
				return v
			}
		}
	}
	c := &notes{}
	contents := make([][]int, n) // of each note, in order
	for i := range n {
		var b strings.Builder
		had := []int{content(), content()}
		title := word(had[0]) + " " + word(had[1])
		for left := int(50 * math.Pow(10, r.Float64())); left > 0; left-- {
			v := int(ranks.Uint64())
			if v >= few && r.IntN(5) == 0 {
				v = had[r.IntN(len(had))]
			}
			if v >= few {
				had = append(had, v)
			}
			switch k := r.IntN(60); {
			case k == 0:
				fmt.Fprintf(&b, "%s_%s ", word(content()), word(content()))
			case k == 1:
				fmt.Fprintf(&b, "2031-%02d-%02d. ", 1+r.IntN(12), 1+r.IntN(28))
			case k < 6:
				b.WriteString(word(v) + ".\n")
			default:
				b.WriteString(word(v) + " ")
			}
		}
		d := note{fmt.Sprintf("t%02d/n%06d.md", i%97, i), title, b.String()}
		c.size += len(d.title) + len(d.body)
		c.all = append(c.all, d)
		contents[i] = had
	}
	for i := range queries {
		q := question{kind: kindOf(i)}
		k := kinds[q.kind]
		had := contents[r.IntN(n)]
		var all []string
		for range k.from + r.IntN(k.to-k.from+1) {
			if k.talk && r.IntN(2) == 0 {
				all = append(all, word(r.IntN(few)))
				continue
			}
			w := had[r.IntN(len(had))]
			if r.IntN(6) == 0 {
				w = content()
			}
			if k.talk { // the commoner of two
				w = min(w, had[r.IntN(len(had))])
			}
			all = append(all, word(w))
		}
		q.text = strings.Join(all, " ")
		q.words = withoutStops(all)
		c.questions = append(c.questions, q)
	}
	return c
}

// kindOf gives the kind of the query of a number: each its share of ten.
func kindOf(i int) (kind int) {
	for i %= 10; i >= kinds[kind].share; kind++ {
		i -= kinds[kind].share
	}
	return kind
}

// withoutStops drops function words and what was said before, unless nothing is left.
func withoutStops(all []string) (words []string) {
	small := strings.Fields(functional)
	for _, w := range all {
		if !slices.Contains(small, w) && !slices.Contains(words, w) {
			words = append(words, w)
		}
	}
	if len(words) == 0 {
		return all
	}
	return words
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
