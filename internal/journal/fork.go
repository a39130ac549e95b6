package journal

import (
	"bytes"
	"cmp"
	"crypto/sha256"
	"maps"
	"slices"
)

// Tree is a journal that was continued at two places and whose files were then merged as
// lines of text: with conflict markers, or with the lines of both sides one after the
// other.
type Tree struct {
	Trunk    Branch   // goes on as the journal
	Branches []Branch // the other sides, by the row at which they begin
	Rest     []byte   // lines that are part of neither, markers left out
	Markers  bool     // there were conflict markers
	Cut      bool     // among the rest are rows with a right MAC: what they continue is missing
}

// Branch is rows that continue each other.
type Branch struct {
	From Head   // what they continue
	To   Head   // the last of them
	Data []byte // their lines
}

// Untangle sorts the lines of a merged journal, in any order, into a trunk and branches. All
// of it continues from. A line is placed where its prev says, and only when it verifies as
// a row; a branch needs a row with a right MAC under mackey, which is all that tells
// another machine's rows from anybody's. The trunk is the line with the most such rows, and
// of two with as many the one whose last hash sorts first, so that every machine makes
// the same choice. Without mackey every row counts as verified: which of them mean anything
// is then for the caller to say.
func Untangle(data []byte, from Head, mackey []byte) Tree {
	var t Tree
	rows, rest := sortLines(data, mackey, &t)
	heavy := weigh(rows, from, mackey == nil)
	placed := map[string]bool{}
	follow := func(at Head, first *twig) Branch {
		b := Branch{From: at, To: at}
		for tw := first; tw != nil; tw = heavy.next[tw.row.Hash] {
			placed[tw.row.Hash] = true
			b.Data = append(append(b.Data, tw.line...), '\n')
			b.To = Head{Seq: tw.row.Seq, Hash: tw.row.Hash}
		}
		return b
	}
	for _, tw := range slices.Backward(rows) { // what from adds up to is no part of either
		if at := tw.row; from.Seq > 0 && (at.Hash == from.Hash || placed[at.Hash]) {
			placed[at.Hash], placed[at.Prev] = true, true
		}
	}
	before := maps.Clone(placed)
	t.Trunk = follow(from, heavy.next[from.Hash])
	for _, tw := range rows { // by seq, so that a branch begins with its first row
		switch {
		case placed[tw.row.Hash]:
		case heavy.weight[tw.row.Hash] > 0 && tw.row.Seq > 1 && placed[tw.row.Prev] && (tw.row.Prev == from.Hash || !before[tw.row.Prev]):
			t.Branches = append(t.Branches, follow(Head{Seq: tw.row.Seq - 1, Hash: tw.row.Prev}, tw))
		default:
			t.Cut = t.Cut || tw.row.Verified
			rest = append(append(rest, tw.line...), '\n')
		}
	}
	t.Rest = rest
	return t
}

// twig is one row, with its line.
type twig struct {
	row  Row
	line []byte
}

// sortLines verifies each line by itself: its hash over the prev that it names. It gives
// the rows by seq and hash, each once, and the lines that are none.
func sortLines(data []byte, mackey []byte, t *Tree) (rows []*twig, rest []byte) {
	d := decoder{sum: sha256.New(), mac: newMAC(mackey), version: Version}
	seen := map[string]bool{}
	for len(data) > 0 {
		line, size := firstLine(data)
		raw := bytes.TrimSuffix(data[:size], []byte{'\n'})
		data = data[size:]
		if IsMarker(raw) {
			t.Markers = true
			continue
		}
		from, ok := Before(append(bytes.Clone(raw), '\n'))
		if ok && line != nil {
			d.head = from
			if row, err := d.row(line); err == nil && d.version == Version {
				if !seen[row.Hash] {
					seen[row.Hash] = true
					rows = append(rows, &twig{row, line})
				}
				continue
			}
		}
		if len(raw) > 0 {
			rest = append(append(rest, raw...), '\n')
		}
	}
	slices.SortFunc(rows, func(a, b *twig) int {
		return cmp.Or(cmp.Compare(a.row.Seq, b.row.Seq), cmp.Compare(a.row.Hash, b.row.Hash))
	})
	return rows, rest
}

// IsMarker reports whether a line is one that git writes between the sides of a conflict.
func IsMarker(line []byte) bool {
	return bytes.HasPrefix(line, []byte("<<<<<<< ")) || bytes.HasPrefix(line, []byte(">>>>>>> ")) ||
		bytes.HasPrefix(line, []byte("||||||| ")) || string(line) == "======="
}

// weights is what hangs on each row: how many verified rows a line through it has, and
// which row that line goes on with.
type weights struct {
	weight map[string]int
	next   map[string]*twig
}

// weigh works from the last rows to the first. all says that every row counts, not only the
// verified ones.
func weigh(rows []*twig, from Head, all bool) weights {
	w := weights{map[string]int{}, map[string]*twig{}}
	tail := map[string]string{} // the last hash of the line through a row
	for _, tw := range slices.Backward(rows) {
		h, p := tw.row.Hash, tw.row.Prev
		n := 0
		tail[h] = h
		if next := w.next[h]; next != nil {
			n, tail[h] = w.weight[next.row.Hash], tail[next.row.Hash]
		}
		if tw.row.Verified || all {
			n++
		}
		w.weight[h] = n
		if tw.row.Seq == 1 && p != from.Hash {
			continue
		}
		best := w.next[p]
		if best == nil || w.weight[h] > w.weight[best.row.Hash] || w.weight[h] == w.weight[best.row.Hash] && tail[h] < tail[best.row.Hash] {
			w.next[p] = tw
		}
	}
	return w
}
