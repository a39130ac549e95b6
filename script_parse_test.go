package scribe

import (
	"fmt"
	"strconv"
	"strings"
)

// archiveText is a txtar archive (golang.org/x/tools/txtar): a comment, and files that
// each begin with a line "-- name --".
type archiveText struct {
	comment string
	names   []string
	files   map[string]string
}

func parseArchive(text string) archiveText {
	a := archiveText{files: map[string]string{}}
	at := ""
	for line := range strings.Lines(text) {
		if name, ok := strings.CutPrefix(strings.TrimRight(line, "\r\n"), "-- "); ok && strings.HasSuffix(name, " --") {
			at = strings.TrimSpace(strings.TrimSuffix(name, "--"))
			a.names, a.files[at] = append(a.names, at), ""
			continue
		}
		if at == "" {
			a.comment += line
		} else {
			a.files[at] += line
		}
	}
	return a
}

// splitLine splits a line; "..." is one word.
func splitLine(line string) ([]string, error) {
	var out []string
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		end := strings.IndexAny(line, " \t")
		if quote := strings.IndexByte(line, '"'); quote >= 0 && (end < 0 || quote < end) {
			q, err := strconv.QuotedPrefix(line[quote:])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", line, err)
			}
			s, err := strconv.Unquote(q)
			if err != nil {
				return nil, err
			}
			out, line = append(out, line[:quote]+s), line[quote+len(q):]
			continue
		}
		if end < 0 {
			end = len(line)
		}
		out, line = append(out, line[:end]), line[end:]
	}
	return out, nil
}
