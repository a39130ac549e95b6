package scribe

import (
	"cmp"
	"slices"

	"github.com/memoryroom/scribe/internal/journal"
)

// What a join does with purges. One of there is carried out here, and one of here takes what there
// has made of the memory since. Either way a text that was written into the memory meanwhile, and
// stands, is spared: the operator did not see it.

// bringPurges carries out here what was purged there, under each name that the memory has
// here. A text that this side wrote meanwhile is spared: it is out of sight, and the operator's
// to decide.
func (d *divergence) bringPurges() error {
	for _, p := range d.there.purges {
		named := map[string]bool{}
		for _, memory := range p.memories {
			m := d.compare(memory)
			d.wiped[memory] = true
			at, spared := m.here.at, ""
			switch {
			case m.here.stands && m.here.Hash != m.was.Hash:
				spared = m.here.Hash
			case named[at] || !m.here.stands && !d.free(at):
				continue // another memory has its name by now
			}
			named[at] = true
			if err := d.add(d.purgeOf(p, at, spared)...); err != nil {
				return err
			}
		}
		here, stands := d.j.state.Accepted[p.path]
		again := stands && here.Hash == d.fork.Tombs[p.path].Hash // what had gone from there before
		if !named[p.path] && (again || d.free(p.path)) {
			if err := d.add(d.purgeOf(p, p.path, "")...); err != nil {
				return err
			}
		}
	}
	return nil
}

// purgeOf lists the rows that carry out at a path what the other side purged, and spare a text.
// A purge takes all that was retired under a name: what of it the other side's did not take goes
// to the archive again.
func (d *divergence) purgeOf(p purged, path, spared string) []journal.Row {
	row := byJoin(journal.OpPurge, path, journal.Origin{By: byOperator})
	row.New = spared
	rows := []journal.Row{row}
	for name, a := range journal.Sorted(d.j.state.Archived) {
		if d.j.state.Called(a.Path, path, a.Retired) && !slices.Contains(p.memories, d.here.kept[name]) {
			rows = append(rows, stowing(a))
		}
	}
	return rows
}

// erasedHere lists the rows for a memory that was purged on this side, and stands on the other.
// What the other side wrote into it meanwhile is spared: it is out of sight, and the operator's
// to decide.
func (d *divergence) erasedHere(m shared) []journal.Row {
	rewritten := m.there.Hash != m.was.Hash
	switch {
	case m.stood && !m.changed(m.there) && m.there.at == m.path:
		return nil // the purge of here took it
	case d.unused(m.there.at):
		row := d.purgeOfTheirs(m.there.at)
		if rewritten {
			row.New = m.there.Hash
		}
		return []journal.Row{row}
	case rewritten:
		return []journal.Row{outsideOfJoin(m.there.at, m.there.Accepted, d.j.state.Accepted[m.there.at].Hash, purgedHere)}
	}
	d.takeOut(m.there.at, m.there.Hash) // the path is another memory's too, and the purge has its row
	return nil
}

// ofErased reports whether a candidate that waits there is about a memory that was purged here,
// under whatever name it was held.
func (d *divergence) ofErased(h journal.Held) bool {
	for memory := range d.here.erased {
		at := d.there.at[memory]
		last := cmp.Or(d.there.stands[at], d.there.went[at])
		if last == memory || last == "" && d.there.state.Accepted[at].Hash == "" {
			if d.there.state.Called(h.Path, at, h.Seq) || h.To == at {
				return true
			}
		}
	}
	return false
}

// purgeOfTheirs is the row that purges at a path of which only the other side had the memory.
func (d *divergence) purgeOfTheirs(path string) journal.Row {
	row := byJoin(journal.OpPurge, path, journal.Origin{By: byOperator})
	row.Ref = d.row
	return row
}
