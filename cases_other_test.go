//go:build !linux

package scribe

import "errors"

func specialFixture(kind, at, target string) (undo func(), err error) {
	return func() {}, errors.New("not made on this system")
}
