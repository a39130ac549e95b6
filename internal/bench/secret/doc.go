// Package secret measures the screens against a peer and against the least that any
// scanner has to do, in one process and side by side, so that a busy machine slows all
// of them alike:
//
//	go test -bench . -benchtime 20x
//
// It prints how many times the credential scanner is faster than gitleaks'
// DetectString on the same notes (x-gitleaks), how many times slower than a loop that
// looks up the class of each byte (x-byteloop), and what one note of a kilobyte costs
// in all screens at the median (p50-us). TestRatios holds the bounds.
//
// It is a module of its own, so that gitleaks is no dependency of scribe.
package secret
