package lexical

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"
)

// TestCrowd: a crowd knows the postings that its block has, and gives that block back.
func TestCrowd(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		tf := map[uint32]uint32{}
		var x Index
		var l list
		at := uint32(0)
		for range rapid.IntRange(2, 200).Draw(t, "n") {
			at += rapid.Uint32Range(1, 200).Draw(t, "step")
			tf[at] = grain * rapid.Uint32Range(1, maxTF/grain).Draw(t, "weight")
			x.post(&l, at, tf[at])
		}
		block := x.block(&l)
		if l.last != at || !l.holds(block) {
			t.Fatal("not the block of the list")
		}
		c := crowdOf(block)
		for at := range at + 200 {
			if got, want := c.find(at), tf[at]/grain; got != want {
				t.Fatalf("slot %d: got %d, want %d", at, got, want)
			}
		}
		if string(c.block()) != string(block) {
			t.Fatal("another block comes back")
		}
	})
}

// TestCrowdsComeAndGo: what most documents have is a crowd, and no more when the index
// has grown past it. Neither shows in an answer.
func TestCrowdsComeAndGo(t *testing.T) {
	x := New()
	put := func(n int, body string) {
		for range n {
			x.Put(doc(fmt.Sprintf("%05d.md", x.Len()), "", body))
		}
	}
	isCrowd := func() bool {
		id, ok := x.dict.find([]byte("walrus"))
		return ok && x.lists[id].rest >= crowded
	}
	put(crowdLeast-1, "walrus herring")
	if isCrowd() {
		t.Error("a crowd of too few")
	}
	put(2*crowdLeast, "walrus harbour")
	put(1, "walrus kyoto")
	if !isCrowd() {
		t.Error("no crowd of all")
	}
	kyoto := fmt.Sprintf("%05d.md", x.Len()-1)
	put(5*crowdLeast*crowdShare*crowdLoss, "padding")
	if !isCrowd() {
		t.Error("not even asked, and no crowd any more")
	}
	if got := ids(find(x, "walrus kyoto", 1)); got != kyoto {
		t.Errorf("got %q, want %q", got, kyoto)
	}
	put(1, "walrus teapot")
	if isCrowd() {
		t.Error("a crowd of very few")
	}
	if got := ids(find(x, "walrus kyoto", 1)); got != kyoto {
		t.Errorf("got %q, want %q", got, kyoto)
	}
	y, err := from(encoded(t, x))
	if err != nil {
		t.Fatal(err)
	}
	if got := ids(find(y, "walrus kyoto", 1)); got != kyoto {
		t.Errorf("read back: got %q, want %q", got, kyoto)
	}
}

// block gives the postings of a list of more than one.
func (x *Index) block(l *list) []byte {
	if l.rest >= crowded {
		return x.crowds[l.rest-crowded].block()
	}
	return x.blocks[l.rest-many]
}
