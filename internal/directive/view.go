package directive

import "github.com/memoryroom/scribe/internal/fold"

// newView is the one place where this package meets the folding of text: what
// rules look at, and what the keys of the lexicon are written in.
func newView(s string) fold.View { return fold.NewView(s) }
