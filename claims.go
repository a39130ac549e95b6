package scribe

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/memoryroom/scribe/internal/entry"
	"github.com/memoryroom/scribe/internal/fold"
)

// retiredWords are what other tools write for the status of a memory that no longer
// holds, or does not hold yet, folded.
var retiredWords = []string{"superseded", "expired", "archived", "retired", "rejected", "candidate", "pending", "inbox"}

// claims lists what a file from elsewhere says of itself and the room does not go by.
// What no longer holds is held; the rest is said and accepted: trust is what the operator
// gives, and a memory is named by its path.
func claims(name string, data []byte, t Trust) []Finding {
	e, err := entry.Parse(data)
	if err != nil {
		return nil // the frontmatter stage says why
	}
	says := func(key string) string {
		v, ok := e.Field("metadata", key)
		if !ok {
			v, _ = e.Field(key)
		}
		return strings.TrimSpace(v)
	}
	var fs []Finding
	if e.SecondHeader() {
		fs = append(fs, refuse("frontmatter.second-header", Held, "text", "two tools each wrote frontmatter: what the second one says is not read", "make it one, in an editor"))
	}
	if s := says("status"); slices.Contains(retiredWords, fold.Key(s)) || says("superseded_by") != "" {
		fs = append(fs, refuse("adopt.retired", Held, "text", "the file says of itself that it does not hold", "take the status or the link out, in an editor, if it does"))
	}
	if claimed := parseTrust(says("trust")); claimed > t {
		fs = append(fs, refuse("adopt.claims-trust", Accepted, "text", fmt.Sprintf("the file claims the trust %s; it has %s", claimed, t), "give it another trust, if that is meant"))
	}
	if id := says("id"); id != "" && fold.Key(id) != fold.Key(strings.TrimSuffix(path.Base(name), ".md")) {
		fs = append(fs, refuse("adopt.id", Accepted, "text", "the file's id is not its name", "a memory is named by its path; rename the file, or leave it"))
	}
	return fs
}
