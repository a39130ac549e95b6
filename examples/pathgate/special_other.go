//go:build !linux

package main

import "errors"

const nonblock = 0

func special(string, string, string) (undo func(), err error) {
	return nil, errors.ErrUnsupported
}
