package journal

import "slices"

// prior is what a map held under a key before a row changed it.
type prior[V any] struct {
	key string
	val V
	had bool
}

// step is a row that was applied and how to take it back.
type step struct {
	row      Row
	accepted []prior[Accepted]
	archived []prior[Archived]
	tombs    []prior[Tomb]
	pending  []prior[Held]
	refused  []prior[int64]
	outside  []prior[string]
	left     []prior[string]
	waived   []prior[string]
	former   []prior[[]Name]
	purged   []prior[int64]
}

// set stores v under k in *m and notes what was there.
func set[V any](m *map[string]V, undo *[]prior[V], k string, v V) {
	was, had := (*m)[k]
	*undo = append(*undo, prior[V]{k, was, had})
	if *m == nil {
		*m = make(map[string]V)
	}
	(*m)[k] = v
}

// drop deletes k from m and notes what was there. An absent k is no change.
func drop[V any](m map[string]V, undo *[]prior[V], k string) {
	if was, had := m[k]; had {
		*undo = append(*undo, prior[V]{k, was, had})
		delete(m, k)
	}
}

// restore takes back the changes of one row to one map, the last one first.
func restore[V any](m map[string]V, undo []prior[V]) {
	for _, p := range slices.Backward(undo) {
		if p.had {
			m[p.key] = p.val
		} else {
			delete(m, p.key)
		}
	}
}

// abort takes back row ref: it unwinds to before it and applies again what came
// after.
func (s *State) abort(ref int64) {
	at := -1
	for i, t := range slices.Backward(s.steps) {
		if t.row.Seq <= ref {
			if t.row.Seq == ref {
				at = i
			}
			break
		}
	}
	if at < 0 {
		return
	}
	for _, t := range slices.Backward(s.steps[at:]) {
		restore(s.Accepted, t.accepted)
		restore(s.Archived, t.archived)
		restore(s.Tombs, t.tombs)
		restore(s.Pending, t.pending)
		restore(s.Refused, t.refused)
		restore(s.Outside, t.outside)
		restore(s.Left, t.left)
		restore(s.Waived, t.waived)
		restore(s.Former, t.former)
		restore(s.Purged, t.purged)
	}
	later := slices.Clone(s.steps[at+1:])
	clear(s.steps[at:])
	s.steps = s.steps[:at]
	for i := range later {
		s.do(later[i].row)
	}
}
