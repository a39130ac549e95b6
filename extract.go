package scribe

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"unicode"
)

// Extract runs one writer over a turn: run gets a guard that works until it
// returns. It skips, with the reason, when the main agent already wrote memory
// ("wrote-already"), the user said too little ("too-few-words"), the turn was
// extracted before at this trust ("cursor"), the session had its share ("ceiling"),
// or a newer request came while this one waited ("superseded").
//
// In a process, a session runs one writer at a time. Of the requests that wait meanwhile
// the one with the highest N is kept, one for each Turn.Low: the parts of a turn that a host
// extracts apart do not replace each other. The cursor moves only when run returns nil (a panic
// in it ends its guard and goes on to the caller). Where two processes run one turn it
// moves once, and the share of the session is one for both. Cancelling ctx ends the wait;
// a run in flight is the caller's to end.
func (s *Session) Extract(ctx context.Context, t Turn, p Policy, run func(context.Context, *Guard) error) (skip string, err error) {
	if s == nil || s.room == nil {
		return "", fmt.Errorf("session: %w", fs.ErrClosed)
	}
	if run == nil {
		return "", errors.New("extract: run is nil")
	}
	if ctx.Value(extracting{s}) != nil {
		return "", errors.New("extract: a writer can not start another of its own session")
	}
	if err := s.room.writable(); err != nil {
		return "", err
	}
	switch {
	case t.N < 1:
		return "", fmt.Errorf("extract: Turn.N is %d; turns count from 1", t.N)
	case !t.Low.valid():
		return "", fmt.Errorf("extract: Turn.Low: %v is no trust", t.Low)
	case !t.Pasted.valid():
		return "", fmt.Errorf("extract: Turn.Pasted: %v is no trust", t.Pasted)
	}
	if skip, err := s.begin(ctx, t); skip != "" || err != nil {
		return skip, err
	}
	defer s.end()
	level := t.Low.String()
	err = s.save(ctx, func(st *sessionState) {
		// Asked again, now that what other processes stored is known.
		switch {
		case st.Cursor[level] >= t.N:
			skip = skipCursor
		case st.Extractions >= s.room.opts.Limits.Extractions:
			skip = skipCeiling
		default:
			st.Extractions++
		}
	})
	if err != nil || skip != "" {
		return skip, err
	}
	g := s.guard(p, s.turnCeiling(t), t.N, t.User)
	defer g.end()
	if err := run(context.WithValue(ctx, extracting{s}, true), g); err != nil {
		return "", fmt.Errorf("extract: %w", err)
	}
	g.end()
	return "", s.save(context.WithoutCancel(ctx), func(st *sessionState) {
		st.advance(level, max(st.Cursor[level], t.N))
	})
}

// extracting marks the context of a writer of the session: a second one would wait for
// the first for ever.
type extracting struct{ s *Session }

// request is a call of Extract that waits.
type request struct {
	turn       int
	superseded bool
}

// begin checks the reasons to skip and waits for its turn.
func (s *Session) begin(ctx context.Context, t Turn) (skip string, err error) {
	stop := context.AfterFunc(ctx, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.idle.Broadcast()
	})
	defer stop()
	s.mu.Lock()
	defer s.mu.Unlock()
	if skip := s.skip(t); skip != "" {
		return skip, nil
	}
	mine := &request{turn: t.N}
	if other := s.waiting[t.Low]; other != nil {
		if other.turn > mine.turn {
			return skipSuperseded, nil
		}
		other.superseded = true
		s.idle.Broadcast()
	}
	s.waiting[t.Low] = mine
	for s.running && !mine.superseded && ctx.Err() == nil {
		s.idle.Wait()
	}
	if s.waiting[t.Low] == mine {
		delete(s.waiting, t.Low)
	}
	switch {
	case mine.superseded:
		return skipSuperseded, nil
	case ctx.Err() != nil:
		return "", ctx.Err()
	}
	if skip := s.skip(t); skip != "" {
		return skip, nil // what ran meanwhile made it superfluous
	}
	s.running = true
	return "", nil
}

// skip is the reason for which a turn need not be extracted, or "". s.mu is held.
func (s *Session) skip(t Turn) string {
	lim := s.room.opts.Limits
	switch {
	case t.Wrote || t.N <= s.wrote:
		return skipWrote
	case words(t.User) < lim.MinUserWords:
		return skipWords
	case s.state.Cursor[t.Low.String()] >= t.N:
		return skipCursor
	case s.state.Extractions >= lim.Extractions:
		return skipCeiling
	}
	return ""
}

func (s *Session) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = false
	s.idle.Broadcast()
}

// turnCeiling is what a writer of this turn may be worth: the least of what it will
// be shown.
func (s *Session) turnCeiling(t Turn) Trust {
	c := min(t.Low, UserObserved)
	if !t.NoAssistant {
		c = min(c, s.Ceiling())
	}
	return min(c, pastedAs(t.User, t.Pasted))
}

// pastedAs is what the user's messages are worth when not all of their text was typed.
func pastedAs(user []string, label Trust) Trust {
	switch {
	case !pasted(user):
		return Operator
	case label == 0:
		return ExternalWeb
	}
	return label
}

// words counts the user's prose: fenced and quoted text is not theirs, and scripts
// without spaces count by characters.
func words(user []string) int {
	n := 0
	for _, msg := range user {
		for _, w := range strings.Fields(typed(msg)) {
			cjk, letters := 0, 0
			for _, c := range w {
				switch {
				case unicode.In(c, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar):
					if unicode.IsLetter(c) { // marks go with their letter
						cjk++
					}
				case unicode.IsLetter(c) || unicode.IsDigit(c):
					letters++
				}
			}
			n += cjk
			if letters > 0 {
				n++
			}
		}
	}
	return n
}
