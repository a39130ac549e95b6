//go:build !linux

package main

import "errors"

type disk struct{}

func (*disk) count() (flushes, writes int) { return 0, 0 }

func countingDisk(string, int) (d *disk, dir string, close func(), err error) {
	return nil, "", nil, errors.New("needs Linux")
}
