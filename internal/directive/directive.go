package directive

import (
	"cmp"
	"slices"
	"strings"
)

// Tier is the weight of a finding. The zero value means none.
type Tier uint8

const (
	Convention Tier = iota + 1 // an instruction of the kind that memory is for: "always run gofmt"
	Weak                       // worth a flag: to be shown as data, never as an order
	Strong                     // to be held for a person, whatever the trust of its writer
)

var tierNames = [...]string{"none", "convention", "weak", "strong"}

// String gives "none", "convention", "weak" or "strong".
func (t Tier) String() string {
	if int(t) < len(tierNames) {
		return tierNames[t]
	}
	return "none"
}

// Finding is one reason: a rule and the bytes of the scanned text that it is about.
type Finding struct {
	Rule   string // stable identifier, "directive." and a word
	Offset int    // bytes from the start of the text; on a rune boundary
	Length int    // bytes, at least 1; ends on a rune boundary
	Tier   Tier

	// Why is what of the rule was met, in words of this package: the pattern of a row,
	// the text of a mark, the names of a pair's hints with a blank between them, the
	// score in thousandths.
	Why string
}

const (
	ruleConvention = "directive.convention"
	rulePair       = "directive.pair"
)

// Scan reports what in text is shaped like an instruction to a model, in order of
// offset, then of rule. It takes time linear in len(text); nil means nothing found.
// Text that is not UTF-8 is scanned with each bad byte as U+FFFD.
func Scan(text string) []Finding { return scan(text, theVocabulary()) }

func scan(text string, voc *vocabulary) []Finding {
	s := newSurvey(text, voc)
	s.weights = theWeights()
	for {
		tokens, ok := s.sentence()
		if !ok {
			break
		}
		s.score(tokens)
		s.pair()
	}
	if len(s.found) == 0 && s.convention.Length > 0 {
		s.found = append(s.found, s.convention)
	}
	slices.SortFunc(s.found, func(a, b Finding) int {
		return cmp.Or(cmp.Compare(a.Offset, b.Offset), strings.Compare(a.Rule, b.Rule), cmp.Compare(b.Tier, a.Tier), cmp.Compare(b.Length, a.Length))
	})
	return slices.CompactFunc(s.found, func(a, b Finding) bool { return a.Rule == b.Rule && a.Offset == b.Offset })
}
