package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"

	"github.com/memoryroom/scribe"
)

// The bounds of a look for leaks: each document is a memory that is written and flushed.
const (
	leakScopes  = 3  // rooms of a set
	leakDocs    = 25 // memories of a room
	leakQueries = 20 // of each room, asked in every room
)

// leak is what suggesting handed out of a set's scopes, each a room of its own.
type leak struct {
	Set     string `json:"set"`
	Rooms   int    `json:"rooms"`
	Asked   int    `json:"asked"`
	Hits    int    `json:"hits"`
	Leaked  int    `json:"leaked"`  // of another room, or not in the room by its hash
	Touched int    `json:"touched"` // memories whose bytes were others afterwards
}

// leaks asks the queries of every scope in every scope's room, through Session.Suggest,
// and counts what came out of a room that was not asked.
func leaks(dir string, asJSON bool, out io.Writer) error {
	dirs, err := setDirs(dir)
	if err != nil {
		return err
	}
	var all []leak
	for _, d := range dirs {
		s, err := readSet(d)
		if err != nil {
			return err
		}
		l, err := s.leak()
		if err != nil {
			return err
		}
		all = append(all, l)
	}
	if asJSON {
		enc := json.NewEncoder(out)
		enc.SetIndent("", "  ")
		return enc.Encode(all)
	}
	sum := leak{}
	for _, l := range all {
		fmt.Fprintf(out, "%s: %d rooms, %d asked, %d hits, %d leaked, %d memories touched\n", l.Set, l.Rooms, l.Asked, l.Hits, l.Leaked, l.Touched)
		sum.Hits, sum.Leaked = sum.Hits+l.Hits, sum.Leaked+l.Leaked
	}
	fmt.Fprintf(out, "leakage: %d of %d hits\n", sum.Leaked, sum.Hits)
	return nil
}

func (s *set) leak() (l leak, err error) {
	l.Set = s.name
	dir, err := os.MkdirTemp("", "leak")
	if err != nil {
		return l, err
	}
	defer os.RemoveAll(dir)
	ctx := context.Background()
	scopes := slices.Sorted(func(yield func(string) bool) {
		for scope := range s.docs {
			if !yield(scope) {
				return
			}
		}
	})
	scopes = scopes[:min(leakScopes, len(scopes))]
	n := 0
	for i, scope := range scopes {
		room, hashes, err := s.room(ctx, filepath.Join(dir, fmt.Sprint(i)), fmt.Sprintf("scope-%d", i), scope)
		if err != nil {
			return l, err
		}
		l.Rooms++
		session, err := room.Session(ctx, "leak", scribe.UserObserved)
		if err != nil {
			return l, err
		}
		for _, from := range scopes {
			asked := 0
			for _, q := range s.queries {
				if q.Scope != from || asked == leakQueries {
					continue
				}
				asked, n = asked+1, n+1
				hits, err := session.Suggest(ctx, scribe.Segment{N: n, Kind: "user", Text: "Do you remember: " + q.Text})
				if err != nil {
					return l, err
				}
				l.Asked++
				for _, h := range hits {
					l.Hits++
					if h.Room != fmt.Sprintf("scope-%d", i) || hashes[h.Memory.Path] != h.Memory.Hash {
						l.Leaked++
					}
				}
			}
		}
		for m, err := range room.List(ctx) {
			if err != nil {
				return l, err
			}
			if hashes[m.Path] != m.Hash {
				l.Touched++
			}
		}
		if err := room.Close(); err != nil {
			return l, err
		}
	}
	return l, nil
}

// room writes the first documents of a scope into a room, by the operator's hand. What
// admission refuses, a document with a credential in it say, is left out.
func (s *set) room(ctx context.Context, dir, name, scope string) (*scribe.Room, map[string]string, error) {
	room, err := scribe.Open(dir, &scribe.Options{Name: name, Suggest: "live", Now: still})
	if err != nil {
		return nil, nil, err
	}
	hashes := map[string]string{}
	for i, d := range s.docs[scope] {
		if len(hashes) == leakDocs {
			break
		}
		text := d.Title + "\n\n" + d.Body
		vs, err := room.Propose(ctx, scribe.Candidate{Path: fmt.Sprintf("doc-%d.md", i), Text: text[:min(len(text), 8_000)]})
		if err != nil {
			return nil, nil, errors.Join(err, room.Close())
		}
		if vs[0].Outcome == scribe.Accepted {
			hashes[vs[0].Memory.Path] = vs[0].Memory.Hash
		}
	}
	return room, hashes, nil
}

// still is a clock that stands, so that no deadline of a busy machine changes what is counted.
func still() time.Time { return time.Unix(1_800_000_000, 0) }
