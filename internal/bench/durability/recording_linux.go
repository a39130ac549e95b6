package main

import (
	"bytes"
	"maps"
	"math/rand/v2"
	"os"
)

// recording is what a device was told, in order, so that every disk can be made that a power
// cut could have left: all that was flushed, and some of the rest.
type recording struct {
	size   int
	base   map[int64][]byte // blocks that are not zero, as it began
	events []event
}

// event is a write, a flush, or the word of a program that so many steps are acknowledged.
type event struct {
	at    int64 // of a write
	data  []byte
	flush bool
	acked int
}

const (
	blockSize  = 4096
	sectorSize = 512 // what a disk writes as a whole
)

// note adds an event. The disk's lock is held.
func (l *recording) note(e event) {
	if l != nil {
		l.events = append(l.events, e)
	}
}

// record begins a recording; what was written before counts as flushed.
func (d *disk) record() {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.log = &recording{size: len(d.now), base: map[int64][]byte{}}
	var zero [blockSize]byte
	for at := 0; at < len(d.now); at += blockSize {
		if block := d.now[at:min(at+blockSize, len(d.now))]; !bytes.Equal(block, zero[:len(block)]) {
			d.log.base[int64(at)] = bytes.Clone(block)
		}
	}
}

// acknowledge notes that a program was told of so many steps.
func (d *disk) acknowledge(steps int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.log.note(event{acked: steps})
}

// recorded ends the recording.
func (d *disk) recorded() *recording {
	d.mu.Lock()
	defer d.mu.Unlock()
	l := d.log
	d.log = nil
	return l
}

// write puts bytes into blocks, which are not changed but replaced: other images share them.
func write(blocks map[int64][]byte, at int64, data []byte) {
	for len(data) > 0 {
		start := at - at%blockSize
		block := make([]byte, blockSize)
		copy(block, blocks[start])
		n := copy(block[at-start:], data)
		blocks[start] = block
		at, data = at+int64(n), data[n:]
	}
}

// cuts gives the disk of a power cut before each write and each flush, and at the end: with
// nothing of what was not flushed, with all of it, and with some of its sectors. Disks that
// are the same are given once. acked is how many steps were acknowledged by then; want says
// whether a disk is wanted, which is asked before it is made.
func (l *recording) cuts(want func() bool, yield func(what string, blocks map[int64][]byte, acked int)) {
	flushed := maps.Clone(l.base)
	var pending []event
	acked, begun := 0, true // begun: nothing was given since the last flush
	for i := 0; i <= len(l.events); i++ {
		rng := rand.New(rand.NewPCG(uint64(i), 7))
		if begun && want() {
			yield("what was flushed", flushed, acked)
		}
		begun = false
		if len(pending) > 0 && want() {
			all := maps.Clone(flushed)
			for _, e := range pending {
				write(all, e.at, e.data)
			}
			yield("all", all, acked)
		}
		if len(pending) > 0 && want() {
			some := maps.Clone(flushed)
			for _, e := range pending {
				for at := 0; at < len(e.data); at += sectorSize {
					if rng.IntN(2) == 0 {
						write(some, e.at+int64(at), e.data[at:min(at+sectorSize, len(e.data))])
					}
				}
			}
			yield("some sectors", some, acked)
		}
		if i == len(l.events) {
			return
		}
		switch e := l.events[i]; {
		case e.flush:
			for _, p := range pending {
				write(flushed, p.at, p.data)
			}
			pending, begun = nil, true
		case e.data != nil:
			pending = append(pending, e)
		default:
			acked, begun = e.acked, true
		}
	}
}

// save writes a disk to a file, with holes where it is zero.
func (l *recording) save(name string, blocks map[int64][]byte) error {
	f, err := os.Create(name)
	if err != nil {
		return err
	}
	defer f.Close()
	if err := f.Truncate(int64(l.size)); err != nil {
		return err
	}
	for at, block := range blocks {
		if _, err := f.WriteAt(block[:min(len(block), l.size-int(at))], at); err != nil {
			return err
		}
	}
	return f.Close()
}
