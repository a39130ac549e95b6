package scribe

import "errors"

// A refusal, matched with errors.Is on [Verdict.Err]. There is one sentinel for
// each thing that a caller does differently, and no more: which stage refused is
// the prefix of [Finding.Rule] ("path.dot-dot", "secret.github-pat").
//
// A fault (I/O, a cancelled context) is none of these. It comes back as the error
// of the method, with any *fs.PathError still in its chain; a closed or zero
// handle gives fs.ErrClosed.
var (
	// ErrHeld: not stored; it waits for the operator ([Room.Resolve]). Do not retry.
	ErrHeld = errors.New("held for the operator")
	// ErrRejected: not stored, and the same proposal will be refused again.
	ErrRejected = errors.New("rejected")
	// ErrStale: the memory is not what the change was built on. Reread, then retry.
	ErrStale = errors.New("memory changed since it was read")
	// ErrNarrow: a writer's tools cannot be narrowed, so extraction must not run.
	ErrNarrow = errors.New("writer cannot be narrowed")
)
