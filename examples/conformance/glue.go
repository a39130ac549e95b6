package conformance

import (
	"os"
	"strings"
	"testing"
)

// The marks around the lines that an importer copies.
const (
	glueBegin = "// glue begin"
	glueEnd   = "// glue end"
)

// Glue checks that README.md of the working directory shows, in a block of Go, what
// stands between the marks of a source file, and that this is at most limit lines of
// code: empty lines, comments and lines of closing brackets alone do not count.
func Glue(t *testing.T, file string, limit int) {
	t.Helper()
	source, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	readme, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, begins := strings.Cut(string(source), glueBegin+"\n")
	glue, _, ends := strings.Cut(rest, glueEnd)
	if glue = strings.TrimSpace(glue); !begins || !ends || glue == "" {
		t.Fatalf("%s has nothing between %q and %q", file, glueBegin, glueEnd)
	}
	if !strings.Contains(string(readme), "```go\n"+glue+"\n```") {
		t.Errorf("README.md does not show the glue of %s, which is\n%s", file, glue)
	}
	n := codeLines(glue)
	t.Logf("%s: %d lines of glue, at most %d", file, n, limit)
	if n > limit {
		t.Errorf("%s: %d lines of glue, the limit is %d", file, n, limit)
	}
}

func codeLines(source string) int {
	n := 0
	for line := range strings.Lines(source) {
		line = strings.TrimSpace(line)
		if strings.Trim(line, "})],") != "" && !strings.HasPrefix(line, "//") {
			n++
		}
	}
	return n
}
