//go:build !race

package scribe

// raceEnabled: under the race detector, sweeps take a twentieth of the time they may.
const raceEnabled = false
