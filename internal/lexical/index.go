package lexical

import (
	"slices"
	"strings"
	"sync"
)

// Doc is one document. Its strings are kept, not copied.
type Doc struct {
	ID    string // unique in an index; also the order of equal scores
	Title string // what it is about: it counts three times
	Body  string // any text, valid UTF-8 or not
}

const (
	// maxDocTokens is the most tokens of a document that are indexed, those of the
	// title first. A memory of 64 KiB has fewer; a foreign file may have more, and is
	// then found by its beginning.
	maxDocTokens = 1 << 16
	// maxTF caps a term's weight in a document, so that scores stay within 64 bits.
	maxTF = 1<<16 - 1
	// compactAbove is the number of removed documents that is tolerated whatever the
	// size; beyond it, a third as many as live ones.
	compactAbove = 64
)

// Weights of one occurrence, in tenths. Joined forms are extra terms: those of
// ordinary hyphenated words at full weight would cost 0.02 to 0.03 nDCG on prose.
const (
	inBody   = 10
	inTitle  = 30
	ofJoined = 3 // of 10, of the weight of its place
)

// posting is one term in one document.
type posting struct {
	slot uint32
	tf   uint32 // in tenths
}

// slot is one document, or the place of a removed one.
type slot struct {
	doc    Doc
	terms  []uint32 // its terms, ascending; nil when removed
	length int64    // words, without joined forms
	live   bool
}

// Index is a set of documents that can be searched. Make one with [New]. Any
// number of Search calls may run at once; Put and Remove need the index to
// themselves.
type Index struct {
	ids   map[string]uint32 // document ID to slot
	slots []slot
	terms map[string]uint32 // term to its place in lists
	lists []list
	live  int   // documents
	total int64 // their lengths together

	scratch sync.Pool // *scratch, of Search
}

// list is where one term occurs. Postings of removed documents stay until compact;
// df does not count them.
type list struct {
	posts []posting
	df    int
}

// New returns an empty index.
func New() *Index {
	return &Index{ids: map[string]uint32{}, terms: map[string]uint32{}}
}

// Len is the number of documents.
func (x *Index) Len() int { return x.live }

// Put adds a document, in the place of one with the same ID. Its cost is that of
// its own tokens, whatever the size of the index.
func (x *Index) Put(d Doc) {
	x.Remove(d.ID)
	at := uint32(len(x.slots))
	s := slot{doc: d, live: true}
	var occ []uint64 // term<<32 | weight
	tokens, weight := 0, uint64(inTitle)
	sc := scanner{emit: func(t token) bool {
		if tokens++; tokens > maxDocTokens {
			return false
		}
		w := weight
		switch t.kind {
		case word, han:
			s.length++
		case joined:
			w = w * ofJoined / 10
		}
		occ = append(occ, uint64(x.term(t))<<32|w)
		return true
	}}
	sc.scan(d.Title)
	sc.dates(d.Title)
	weight = inBody
	sc.scan(d.Body)
	sc.dates(d.Body)
	slices.Sort(occ)
	for i := 0; i < len(occ); {
		id, tf := uint32(occ[i]>>32), uint64(0)
		for ; i < len(occ) && uint32(occ[i]>>32) == id; i++ {
			tf += occ[i] & (1<<32 - 1)
		}
		l := &x.lists[id]
		l.posts = append(l.posts, posting{at, uint32(min(tf, maxTF))})
		l.df++
		s.terms = append(s.terms, id)
	}
	s.terms = slices.Clip(s.terms)
	x.slots = append(x.slots, s)
	x.ids[d.ID] = at
	x.live++
	x.total += s.length
}

// term gives the place of a token's term, making one.
func (x *Index) term(t token) uint32 {
	key := termOf(t)
	id, ok := x.terms[string(key)]
	if !ok {
		id = uint32(len(x.lists))
		x.terms[string(key)] = id
		x.lists = append(x.lists, list{})
	}
	return id
}

// termOf gives a token's term; it may change the token's text.
func termOf(t token) []byte {
	if t.kind > joined {
		return t.text
	}
	if s := irregular(t.text); s != "" {
		return append(t.text[:0], s...)
	}
	return stem(t.text)
}

// Remove takes a document out. An unknown ID is no error.
func (x *Index) Remove(id string) {
	at, ok := x.ids[id]
	if !ok {
		return
	}
	delete(x.ids, id)
	s := &x.slots[at]
	for _, t := range s.terms {
		x.lists[t].df--
	}
	x.live--
	x.total -= s.length
	*s = slot{}
	if dead := len(x.slots) - x.live; dead > compactAbove && dead > x.live/3 {
		x.compact()
	}
}

// compact drops the places of removed documents, and terms that none holds. No
// score depends on what it changes.
func (x *Index) compact() {
	move := make([]uint32, len(x.slots))
	slots := make([]slot, 0, x.live)
	for i := range x.slots {
		if x.slots[i].live {
			move[i] = uint32(len(slots))
			x.ids[x.slots[i].doc.ID] = move[i]
			slots = append(slots, x.slots[i])
		}
	}
	rename := make([]uint32, len(x.lists))
	lists := make([]list, 0, len(x.lists))
	for i, l := range x.lists {
		if l.df == 0 {
			continue
		}
		rename[i] = uint32(len(lists))
		posts := make([]posting, 0, l.df)
		for _, p := range l.posts {
			if x.slots[p.slot].live {
				posts = append(posts, posting{move[p.slot], p.tf})
			}
		}
		lists = append(lists, list{posts, l.df})
	}
	terms := make(map[string]uint32, len(lists))
	for k, id := range x.terms {
		if x.lists[id].df > 0 {
			terms[strings.Clone(k)] = rename[id]
		}
	}
	for i := range slots {
		for j, t := range slots[i].terms {
			slots[i].terms[j] = rename[t]
		}
	}
	x.slots, x.lists, x.terms = slots, lists, terms
}
