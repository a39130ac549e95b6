package scribe

import (
	"fmt"
	"slices"
	"strings"
	"unicode"

	"github.com/memoryroom/scribe/internal/entry"
	"github.com/memoryroom/scribe/internal/fold"
)

// Bounds of what people sort memories by.
const (
	maxLabel = 128 // bytes of a topic, of a tag and of verify_when
	maxTags  = 16
)

// badLabels judges a topic, tags and a time to check again; stage is the prefix of the
// rules.
func badLabels(stage, topic string, tags []string, when string) []Finding {
	var fs []Finding
	plain := func(s string) bool {
		return len(s) <= maxLabel && !strings.ContainsFunc(s, unicode.IsControl) && strings.TrimSpace(s) == s
	}
	if !plain(topic) {
		fs = append(fs, refuse(stage+".topic", Rejected, "topic", fmt.Sprintf("a topic is one line of at most %d bytes", maxLabel), "use a word or two"))
	}
	if slices.Contains(reservedTopics, fold.Key(topic)) {
		fs = append(fs, refuse(stage+".topic", Rejected, "topic", "listings use this name for what has no topic", "use another word"))
	}
	commas := func(s string) bool { return s == "" || !plain(s) || strings.ContainsAny(s, ",，、") }
	if len(tags) > maxTags || slices.ContainsFunc(tags, commas) {
		fs = append(fs, refuse(stage+".tags", Rejected, "tags", fmt.Sprintf("there are at most %d tags, each one line of at most %d bytes without a comma", maxTags, maxLabel), "use a few single words"))
	}
	if !plain(when) {
		fs = append(fs, refuse(stage+".verify-when", Rejected, "verify_when", fmt.Sprintf("the time to check again is one line of at most %d bytes", maxLabel), "write a date such as 2027-03-01, or a duration such as P3M"))
	}
	return fs
}

// reservedTopics are the names that a listing groups by when there is no topic, folded.
var reservedTopics = []string{"none", "all", "未分类", "未归类"}

// labelIn is where a file has a label, or would: a flat key that another tool wrote is
// edited where it stands.
func labelIn(e *entry.Entry, name string) []string {
	_, nested := e.Field("metadata", name)
	if _, flat := e.Field(name); flat && !nested {
		return []string{name}
	}
	return labelPath(name)
}
