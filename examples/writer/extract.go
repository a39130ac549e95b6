package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"strings"

	"github.com/memoryroom/scribe"
)

// extract stands in for a model where a transcript holds no calls of a writer: it
// proposes each sentence that sounds like something to keep, first the user's, then
// those of the tools' results. It is an example of a writer, not a good one.
func extract(t turn) []writerRun {
	var said, seen []string
	for _, msg := range t.user {
		said = append(said, sentences(msg)...)
	}
	for _, r := range t.results {
		seen = append(seen, sentences(r.text)...)
	}
	runs := []writerRun{{userOnly: true, calls: proposals(said)}}
	if len(seen) > 0 {
		runs = append(runs, writerRun{calls: proposals(seen)})
	}
	return runs
}

// cues are how people say that something should be kept.
var cues = []string{"remember", "i prefer", "i like", "i always", "we use", "we always", "we never", "our ", "from now on", "note that", "记住", "我喜欢", "以后", "我们"}

const maxProposals = 3 // of one turn and source: an example must not flood a room

func sentences(text string) []string {
	var out []string
	for _, s := range strings.FieldsFunc(text, func(c rune) bool { return strings.ContainsRune(".!?\n。！？", c) }) {
		low := strings.ToLower(s)
		for _, cue := range cues {
			if s = strings.TrimSpace(s); strings.Contains(low, cue) && len(s) >= 12 && len(s) <= 300 {
				out = append(out, s)
				break
			}
		}
	}
	return out[:min(len(out), maxProposals)]
}

func proposals(sentences []string) []scribe.Call {
	var calls []scribe.Call
	for _, s := range sentences {
		sum := sha256.Sum256([]byte(s))
		args, err := json.Marshal(map[string]string{
			"command":   "create",
			"path":      "/memories/notes/" + hex.EncodeToString(sum[:4]) + ".md",
			"file_text": s + "\n",
		})
		if err != nil {
			continue // two strings always encode
		}
		calls = append(calls, scribe.Call{Tool: "memory", Args: json.RawMessage(args)})
	}
	return calls
}
