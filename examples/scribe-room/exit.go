package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/memoryroom/scribe"
)

// The exit codes. They are part of the interface: scripts depend on them, and the help
// topic and README.md list them.
const (
	exitOK      = 0
	exitFault   = 1 // the disk, the lock, a damaged journal
	exitUsage   = 2 // the command line is wrong
	exitRefused = 3 // scribe did not accept it, or something stays held
	exitStale   = 4 // what was shown is not what is there now
	exitMissing = 5 // no such memory, candidate or row
	exitFound   = 6 // check found something
	exitUnsure  = 7 // the person said no, or could not be asked
)

const exitHelp = `Exit codes:

  0  done
  1  a fault: the disk, another process that holds the lock, a damaged journal
  2  the command line is wrong
  3  scribe did not accept it; the reasons are printed
  4  stale: what was shown is not what is there now; look again
  5  there is no such memory, candidate or row
  6  check found something that needs a person
  7  not confirmed: you said no, or there was no terminal to ask and no --yes

Where one command does several things, the highest code of them is given.
`

// coded is an error with the exit code that it leads to.
type coded struct {
	code int
	err  error
}

func (c coded) Error() string { return c.err.Error() }
func (c coded) Unwrap() error { return c.err }

func usage(format string, args ...any) error { return coded{exitUsage, fmt.Errorf(format, args...)} }

func missing(format string, args ...any) error {
	return coded{exitMissing, fmt.Errorf(format, args...)}
}

// exitCode gives the code that an error leads to.
func exitCode(err error) int {
	var c coded
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &c):
		return c.code
	case errors.Is(err, scribe.ErrStale):
		return exitStale
	case errors.Is(err, scribe.ErrHeld), errors.Is(err, scribe.ErrRejected):
		return exitRefused
	case errors.Is(err, fs.ErrInvalid): // a name that no memory can have
		return exitUsage
	case errors.Is(err, fs.ErrNotExist):
		return exitMissing
	case errors.Is(err, context.Canceled):
		return exitUnsure
	}
	return exitFault
}

// worst joins the errors of several steps under the highest of their codes.
func worst(errs ...error) error {
	all := errors.Join(errs...)
	if all == nil {
		return nil
	}
	code := 0
	for _, err := range errs {
		code = max(code, exitCode(err))
	}
	return coded{code, all}
}
