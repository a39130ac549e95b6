package scribe

import (
	"errors"
	"io/fs"
	"slices"
	"strings"

	"github.com/memoryroom/scribe/internal/entry"
	"github.com/memoryroom/scribe/internal/journal"
	"github.com/memoryroom/scribe/internal/relpath"
	"github.com/memoryroom/scribe/internal/rootfs"
)

// standingKind says how the bytes under a name relate to what was accepted there.
type standingKind uint8

const (
	absent     standingKind = iota // nothing, or deleted outside
	active                         // the accepted bytes
	changed                        // accepted, and other bytes lie there now
	unaccepted                     // bytes that were never accepted
)

// standing is what the room holds under one name.
type standing struct {
	kind  standingKind
	acc   journal.Accepted // when active or changed
	bytes []byte           // what counts: the accepted bytes, or the unaccepted ones
	disk  []byte           // what lies on the disk; nil: nothing
	tomb  *journal.Tomb    // what was freed here; nil: nothing

	waived bool // active by a waiver: these bytes were never accepted by a row
	whole  bool // active, and the accepted bytes are what lies on the disk
}

// trust of what stands there; unaccepted bytes have none.
func (s standing) trust() Trust {
	if s.kind == active || s.kind == changed {
		return parseTrust(s.acc.Trust)
	}
	return 0
}

func (s standing) hash() string {
	if s.bytes == nil {
		return ""
	}
	return journal.Sum(s.bytes)
}

// diskHash is the hash of what lies there; "" when nothing does.
func (s standing) diskHash() string {
	if s.disk == nil {
		return ""
	}
	return journal.Sum(s.disk)
}

// unacceptedMemory is what lies at a path and was never accepted.
func unacceptedMemory(path string, data []byte) Memory {
	m := describe(path, stageUnaccepted, data)
	if entry.ConflictMarkers(data) {
		m.Findings = append(m.Findings, mergeFinding(Held))
	}
	return m
}

func (s standing) memory(path string) Memory {
	switch s.kind {
	case active, changed:
		m := describe(path, stageActive, s.bytes)
		if s.kind == changed {
			m.Stage = stageChanged
		}
		return acceptedAs(m, s.acc)
	case unaccepted:
		return unacceptedMemory(path, s.bytes)
	}
	return Memory{}
}

// acceptedAs adds to a memory what the journal says of it.
func acceptedAs(m Memory, acc journal.Accepted) Memory {
	m.Trust, m.Modified = parseTrust(acc.Trust), acc.Time.UTC()
	for _, rule := range acc.Rules {
		m.Findings = append(m.Findings, Finding{Rule: rule, Outcome: Accepted})
	}
	return m
}

// standing reads what the room holds under p. The accepted bytes come from the
// disk when they are still there, else from the versions.
func (r *Room) standing(state *journal.State, p relpath.Path) (standing, error) {
	var s standing
	if tomb, ok := state.Tombs[p.String()]; ok {
		s.tomb = &tomb
	}
	acc, accepted := state.Accepted[p.String()]
	var refusal *rootfs.Refusal
	disk, err := r.disk.Read(p, maxMemory)
	switch {
	case errors.Is(err, fs.ErrNotExist) && accepted:
		if data, ok := r.underWay(p, acc); ok {
			s.kind, s.acc, s.disk, s.bytes = active, acc, data, data
		}
		return s, nil
	case errors.Is(err, fs.ErrNotExist):
		return s, nil
	case accepted && errors.As(err, &refusal):
		// A link or the like lies where the memory was: the accepted text goes on counting.
		s.kind, s.acc = changed, acc
		s.bytes, err = r.version(acc.Seq, acc.Hash)
		return s, err
	case err != nil:
		return s, err
	}
	s.disk = disk
	if !accepted {
		if s.tomb != nil && s.tomb.Freed > state.Epoch {
			// Another writer is about to take it away, or has done so since we read it.
			away := r.inFlight(s.tomb.Freed)
			if now, _, err := r.lying(p); away || err == nil && now == nil {
				return standing{tomb: s.tomb}, nil
			}
		}
		s.kind, s.bytes = unaccepted, disk
		return s, nil
	}
	s.acc = acc
	if journal.Sum(disk) == acc.Hash {
		s.kind, s.bytes, s.whole = active, disk, true
		return s, nil
	}
	if again, ok := r.underWay(p, acc); ok {
		s.kind, s.disk, s.bytes = active, again, again
		return s, nil
	}
	if r.waived(waiveUnaccepted) && !entry.ConflictMarkers(disk) && len(secretsIn(string(disk), r.opts.Allow)) == 0 && keyOwner(state, metaOf(p.String(), disk).Key, func(path string) bool { return path == p.String() }) == "" {
		s.kind, s.bytes, s.waived = active, disk, true
		s.acc.Hash, s.acc.Trust = journal.Sum(disk), min(parseTrust(acc.Trust), UserObserved).String()
		return s, nil
	}
	s.kind = changed
	s.bytes, err = r.version(acc.Seq, acc.Hash)
	return s, err
}

// underWay tells a write in progress from an outside change, for readers, who take no
// lock: the row is there before the file is. It gives the accepted bytes when the file
// has them by now, or is about to.
func (r *Room) underWay(p relpath.Path, acc journal.Accepted) ([]byte, bool) {
	if r.inFlight(acc.Seq) || r.anyInFlight() {
		data, err := r.version(acc.Seq, acc.Hash)
		return data, err == nil
	}
	data, hash, err := r.lying(p)
	return data, err == nil && hash == acc.Hash
}

// anyInFlight reports whether a writer is between its rows and its files. (A rename that
// changes no byte leaves the memory with an older row's number.)
func (r *Room) anyInFlight() bool {
	names, err := r.disk.LibList(strings.TrimSuffix(tmpDir, "/"))
	return err == nil && slices.ContainsFunc(names, func(n string) bool { return tmpDir+n == mark(rowOf(n)) })
}

// inFlight reports whether a move of that row is still to be done.
func (r *Room) inFlight(row int64) bool {
	_, err := r.disk.LibStat(mark(row))
	return err == nil
}

func (r *Room) waived(property string) bool { return r.opts.Waive[property] != "" }
