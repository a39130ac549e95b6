package directive

import (
	"fmt"
	"math/bits"
	"strconv"
	"strings"
	"sync"
)

//go:generate go run gen/main.go

// The score is the sum of the weights of a sentence's features; that of two
// neighbouring sentences is added up when both lean the same way. It is in
// thousandths: the weights were sought so that attacks lie above 1000 and harmless
// texts below -1000, on texts of this project alone. Where a finding starts was set
// on real notes, conventions and manuals, for about two flags in a thousand.
const (
	weakScore   = 850  // flags
	strongScore = 1600 // holds, unless the sentence talks about attacks

	// What the score has to say to a pair of hints that words gave.
	pairWeakLean   = -800 // below this the pair is dropped
	pairStrongLean = 0    // from here on it may hold
)

const ruleScore = "directive.score"

// weightTable is weights in the form that the score asks.
type weightTable struct {
	bias    int32
	concept conceptBits
	head    conceptBits
	hint    conceptBits
	length  conceptBits
	pair    [len(conceptBits{})]conceptBits
	word    map[[2]string]int32
}

// theWeights is read on first use and never written to afterwards.
var theWeights = sync.OnceValue(func() *weightTable { return readWeights(weights, theBook()) })

// readWeights panics on a mistake: the table is a constant of this package.
func readWeights(lines string, b *book) *weightTable {
	w := &weightTable{word: make(map[[2]string]int32, strings.Count(lines, " w "))}
	bit := func(name string) int {
		c, ok := theConcepts()[name]
		if !ok {
			panic("directive: weight of an unknown concept: " + name)
		}
		return bits.TrailingZeros64(uint64(c))
	}
	for line := range strings.Lines(lines) {
		number, rest, _ := strings.Cut(strings.TrimSuffix(line, "\n"), " ")
		kind, rest, of := strings.Cut(rest, " ")
		one, two, _ := strings.Cut(rest, " ")
		n, err := strconv.ParseInt(number, 10, 32)
		v := int32(n)
		if err != nil || !of && kind != "bias" {
			panic(fmt.Sprintf("directive: weight %q", line))
		}
		switch kind {
		case "bias":
			w.bias = v
		case "c":
			w.concept[bit(one)] = v
		case "h":
			w.head[bit(one)] = v
		case "p":
			w.pair[bit(one)][bit(two)] = v
		case "k":
			w.hint[b.classes[one]] = v
		case "n":
			w.length[one[0]-'0'] = v
		case "w":
			w.word[[2]string{strings.ReplaceAll(one, "_", " "), strings.ReplaceAll(two, "_", " ")}] = v // a phrase has blanks
		}
	}
	return w
}

func (w *weightTable) of(f feature) int32 {
	switch f.kind {
	case aWord:
		return w.word[f.word]
	case aPair:
		return w.pair[f.a][f.b]
	case aConcept:
		return w.concept[f.a]
	case aHead:
		return w.head[f.a]
	case aHint:
		return w.hint[f.a]
	}
	return w.length[f.a]
}

// score weighs the sentence that was just matched, alone and with the one before it.
func (s *survey) score(tokens []token) {
	sum := int32(0)
	s.features(tokens, func(f feature) { sum += s.weights.of(f) })
	first, last := span(tokens)
	was := s.scored
	s.scored = scored{sum: sum, start: first}
	if was.sum > 0 && sum > 0 {
		sum, first = sum+was.sum, was.start
	}
	sum += s.weights.bias
	tier := Tier(0)
	switch {
	case sum >= strongScore && !s.hints[0].meta && !(first == was.start && s.hints[1].meta):
		tier = Strong
	case sum >= weakScore:
		tier = Weak
	}
	if tier > 0 && !s.crowded(ruleScore, tier) {
		s.report(ruleScore, strconv.Itoa(int(sum)), tier, first, last)
	}
}

// scored is the score of a sentence, without the bias, and where it starts.
type scored struct {
	sum   int32
	start int
}

// span returns the view's bytes that the tokens of a sentence cover, which may be in
// reverse order.
func span(tokens []token) (first, last int) {
	a, b := tokens[0], tokens[len(tokens)-1]
	return int(min(a.start, b.start)), int(max(a.end, b.end))
}
