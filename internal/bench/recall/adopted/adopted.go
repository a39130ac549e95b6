// Package adopted makes rooms of folders for measurements.
package adopted

import (
	"context"

	"github.com/memoryroom/scribe"
)

// Open opens a folder of Markdown as a room and adopts all that lies in it, at user-observed.
func Open(ctx context.Context, dir string, o *scribe.Options) (*scribe.Room, error) {
	r, err := scribe.Open(dir, o)
	if err != nil {
		return nil, err
	}
	var seen []scribe.Memory
	for m, err := range r.List(ctx, "unaccepted") {
		if err != nil {
			r.Close()
			return nil, err
		}
		m.Text = "" // its hash is enough, and a large folder need not lie in memory
		seen = append(seen, m)
	}
	if _, err := r.Adopt(ctx, scribe.UserObserved, seen...); err != nil {
		r.Close()
		return nil, err
	}
	return r, nil
}
