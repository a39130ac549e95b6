package gate

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// Plan is what a window asks for: terms by the weight of where they stand.
type Plan struct {
	Terms     []Term // by weight, then by place; no term twice
	Digest    string // of the policy's version, the terms and their weights; "" without terms
	Truncated bool   // some terms were dropped; see the limits

	triggered bool // the trigger itself gave a term
}

// Term is one word of a plan.
type Term struct {
	Text   string // folded
	Weight int    // see originOf; of several places the highest counts, and no sum
}

// The limits of a plan.
const (
	maxTerms = 32    // terms
	maxTerm  = 96    // bytes of one
	maxBytes = 2_048 // bytes of all
	maxGrams = 64    // pairs of characters without spaces, of one segment
	maxParts = 8     // parts of an identifier
)

// originOf ranks the places of a term: trigger > recent user > tool result > tool call >
// assistant, and a program's message, whatever it says it is, last.
func originOf(p piece, trigger bool) int {
	switch {
	case trigger:
		return 100
	case p.Kind == KindUser && p.Plugin == "":
		return 60
	case p.Kind == KindToolResult:
		return 40
	case p.Kind == KindToolCall:
		return 30
	case p.Kind == KindAssistant:
		return 20
	}
	return 10
}

// plan reads a window; its last piece is the trigger.
func (p Policy) plan(window []piece) (plan Plan) {
	at := map[string]int{} // index in all
	var all []Term
	for i, b := range slices.Backward(window) { // the newest first
		trigger := i == len(window)-1
		weight := originOf(b, trigger)
		found, cut := Terms(b.Text, maxGrams)
		plan.Truncated = plan.Truncated || cut
		if b.Tool != "" {
			found = append(found, Fold(b.Tool))
		}
		for _, w := range found {
			if len(w) > maxTerm {
				plan.Truncated = true
				continue
			}
			plan.triggered = plan.triggered || trigger
			if k, ok := at[w]; ok {
				all[k].Weight = max(all[k].Weight, weight)
				continue
			}
			at[w] = len(all)
			all = append(all, Term{w, weight})
		}
	}
	slices.SortStableFunc(all, func(a, b Term) int { return cmp.Compare(b.Weight, a.Weight) })
	bytes := 0
	for _, t := range all {
		if bytes += len(t.Text); len(plan.Terms) == maxTerms || bytes > maxBytes {
			plan.Truncated = true
			break
		}
		plan.Terms = append(plan.Terms, t)
	}
	if len(plan.Terms) > 0 {
		plan.Digest = digestOf(p.Version, plan.Terms)
	}
	return plan
}

// digestOf depends on no order, session or clock.
func digestOf(version string, terms []Term) string {
	lines := make([]string, len(terms))
	for i, t := range terms {
		lines[i] = fmt.Sprintf("%d %s\n", t.Weight, t.Text)
	}
	slices.Sort(lines)
	sum := sha256.Sum256([]byte(version + "\n" + strings.Join(lines, "")))
	return hex.EncodeToString(sum[:])
}

// PlanOf is the plan of a message that a person sends by itself.
func (p Policy) PlanOf(text string) Plan {
	return p.plan([]piece{pieceOf(Segment{N: 1, Kind: KindUser, Text: text})})
}

// Terms gives the terms of a text, folded, in order: words and identifiers, whole and in
// parts, and up to grams pairs of characters of scripts without spaces. Common words are
// dropped. cut says that there were more pairs.
func Terms(text string, grams int) (terms []string, cut bool) {
	text = norm.NFKC.String(text)
	left := grams
	for text != "" {
		c, size := utf8.DecodeRuneInString(text)
		switch {
		case runs(c):
			run := text[:spanOf(text, runs)]
			found := pairs(run)
			if len(found) > left {
				found, cut = found[:left], true
			}
			terms, left = append(terms, found...), left-len(found)
			text = text[len(run):]
		case spaced(c):
			word := text[:spanOf(text, func(c rune) bool { return !runs(c) && (spaced(c) || unicode.IsMark(c) || joins(c)) })]
			terms = append(terms, parts(strings.TrimRightFunc(word, joins))...)
			text = text[len(word):]
		default:
			text = text[size:]
		}
	}
	return terms, cut
}

// spanOf is the length of the part of s that is made of such characters.
func spanOf(s string, of func(rune) bool) int {
	if i := strings.IndexFunc(s, func(c rune) bool { return !of(c) }); i >= 0 {
		return i
	}
	return len(s)
}

// joins reports whether c stands within a path, a package, a version or an error's code.
func joins(c rune) bool { return strings.ContainsRune("./:-_@#+", c) }

// parts gives a word, and the parts that an identifier is made of.
func parts(word string) (terms []string) {
	add := func(w string) {
		if w = strings.ToLower(w); w != "" && !common(w) && !slices.Contains(terms, w) && len(terms) <= maxParts {
			terms = append(terms, w)
		}
	}
	add(word)
	for _, piece := range strings.FieldsFunc(word, joins) {
		for _, sub := range camel(piece) {
			if utf8.RuneCountInString(sub) > 1 {
				add(sub)
			}
		}
	}
	return terms
}

// camel splits before a capital that follows a small letter or begins a word, and keeps
// HTTPServer as HTTP and Server.
func camel(s string) (subs []string) {
	all := []rune(s)
	from := 0
	for i := 1; i < len(all); i++ {
		hump := unicode.IsUpper(all[i]) && (!unicode.IsUpper(all[i-1]) || i+1 < len(all) && unicode.IsLower(all[i+1]))
		if hump {
			subs, from = append(subs, string(all[from:i])), i
		}
	}
	return append(subs, string(all[from:]))
}

// pairs gives the pairs of neighbours of a run of characters, or its only one.
func pairs(run string) (grams []string) {
	all := []rune(run)
	if len(all) == 1 && !common(run) {
		return []string{run}
	}
	for i := range len(all) - 1 {
		if gram := string(all[i : i+2]); !common(gram) {
			grams = append(grams, gram)
		}
	}
	return grams
}

// common reports whether a word asks for nothing. The list is our own choice of what is
// commonest in conversations; no identifier is in it.
func common(w string) bool {
	_, found := slices.BinarySearch(commonWords[:], w)
	return found
}

// commonWords is sorted bytewise; a test looks.
var commonWords = [...]string{
	"a", "about", "all", "also", "am", "an", "and", "any", "are", "as", "at", "be", "been", "but", "by", "can", "could",
	"did", "do", "does", "done", "for", "from", "get", "go", "good", "had", "has", "have", "he", "her", "here", "hi",
	"him", "his", "how", "i", "if", "in", "is", "it", "its", "just", "let", "like", "make", "may", "me", "more", "my",
	"no", "not", "now", "of", "ok", "okay", "on", "one", "or", "our", "please", "she", "should", "so", "some", "than",
	"thank", "thanks", "that", "the", "their", "them", "then", "there", "these", "they", "this", "to", "too", "up",
	"us", "use", "very", "was", "we", "well", "were", "what", "when", "where", "which", "who", "why", "will", "with",
	"would", "yes", "you", "your", "一下", "一个", "不是", "为了", "了吗", "什么", "他们", "但是",
	"你们", "你好", "你的", "可以", "吗", "呢", "和", "在", "好", "好的", "如果", "它", "就是",
	"怎么", "我", "我们", "我的", "所以", "是", "是的", "有", "然后", "现在", "的", "继续",
	"谢谢", "这个", "那个", "都",
}
