//go:build !linux

package pathcase

import "errors"

func special(_, _, _ string) (undo func(), err error) { return nil, errors.ErrUnsupported }
