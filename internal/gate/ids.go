package gate

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
)

// The IDs of the contract, bit by bit, for runs under gate_pre_v1: the first 32 hex digits of
// the SHA-256 of what JavaScript's JSON.stringify makes of their parts.

// Source is one file of the contract's corpus.
type Source struct {
	Scope, Ref, Epoch string
	Version           int64
	Digest            string
}

// ContractIndex is memoryIndexVersion: a line for each source, sorted by scope and ref, then
// by the rest.
func ContractIndex(sources []Source) string {
	sorted := slices.Clone(sources)
	slices.SortFunc(sorted, func(a, b Source) int {
		return cmp.Or(codeUnits(a.Scope, b.Scope), codeUnits(a.Ref, b.Ref), codeUnits(a.Epoch, b.Epoch), cmp.Compare(a.Version, b.Version), codeUnits(a.Digest, b.Digest))
	})
	lines := make([]string, len(sorted))
	for i, s := range sorted {
		lines[i] = stringify(s.Scope, s.Ref, s.Epoch, s.Version, s.Digest)
	}
	return "idx_pre_" + first32(strings.Join(lines, "\n"))
}

// ContractRetrieval is retrievalId. context is the number of the conversation's state, and
// segment the ID of the trigger.
func ContractRetrieval(session string, context int64, segment, index, gatePolicy, lexicalPolicy string) string {
	hash := first32("retrieval-pre-v1\x00" + session)
	return "ret_pre_" + first32(stringify("retrieval-pre-v1", hash, context, segment, index, gatePolicy, lexicalPolicy))
}

// ContractCandidate is candidateId.
func ContractCandidate(retrieval, memory, epoch string, version int64, digest string) string {
	return "cand_pre_" + first32(stringify("candidate-pre-v1", retrieval, memory, epoch, version, digest))
}

func first32(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])[:32]
}

// codeUnits compares as JavaScript does: by UTF-16, in which what lies beyond the basic plane
// comes before its end.
func codeUnits(a, b string) int {
	return slices.Compare(utf16.Encode([]rune(a)), utf16.Encode([]rune(b)))
}

// stringify is JSON.stringify of an array of strings and integers. encoding/json differs in
// U+2028 and U+2029, which it escapes.
func stringify(parts ...any) string {
	b := []byte{'['}
	for i, p := range parts {
		if i > 0 {
			b = append(b, ',')
		}
		switch p := p.(type) {
		case int64:
			b = strconv.AppendInt(b, p, 10)
		case string:
			b = appendQuoted(b, p)
		}
	}
	return string(append(b, ']'))
}

func appendQuoted(b []byte, s string) []byte {
	const short = "\b\t\n\f\r"
	b = append(b, '"')
	for _, c := range s {
		switch i := strings.IndexRune(short, c); {
		case c == '"' || c == '\\':
			b = append(b, '\\', byte(c))
		case i >= 0:
			b = append(b, '\\', "btnfr"[i])
		case c < ' ':
			b = fmt.Appendf(b, `\u%04x`, c)
		default:
			b = append(b, string(c)...)
		}
	}
	return append(b, '"')
}
