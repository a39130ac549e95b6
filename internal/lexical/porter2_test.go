package lexical

import (
	"bufio"
	"os"
	"strings"
	"testing"
)

// TestStemFrozen holds the stemmer against a list of words and stems that was made
// with two other implementations of the same algorithm, kljensen/snowball v0.10.0
// and blevesearch/snowballstem v0.9.0, which agree on all of it.
func TestStemFrozen(t *testing.T) {
	f, err := os.Open("testdata/porter2.txt")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	n := 0
	for sc := bufio.NewScanner(f); sc.Scan(); n++ {
		in, want, _ := strings.Cut(sc.Text(), " ")
		if got := string(stem([]byte(in))); got != want {
			t.Errorf("%s: got %s, want %s", in, got, want)
		}
	}
	if n < 1000 {
		t.Errorf("only %d words", n)
	}
}

func TestStemLeavesOthers(t *testing.T) {
	for _, w := range []string{"", "a", "is", "'", "''", "utf8s", "naïves", "идущие", "x86_64s"} {
		want := w
		if w == "'" || w == "''" {
			want = strings.TrimPrefix(w, "'")
		}
		if got := string(stem([]byte(w))); got != want {
			t.Errorf("%q: got %q", w, got)
		}
	}
}

// TestIrregularAgrees checks that an irregular form meets the regular ones of its
// word.
func TestIrregularAgrees(t *testing.T) {
	for form, regular := range map[string]string{
		"went": "going", "chosen": "choosing", "forgave": "forgiving", "flew": "flies", "became": "becomes",
		"left": "leaving", "mice": "mouse", "wives": "wife", "wrote": "writing", "understood": "understands",
		"frozen": "freezes", "knew": "knows", "paid": "paying", "drove": "driving", "sought": "seeking",
	} {
		got := string(termOf(token{text: []byte(form)}))
		if want := string(termOf(token{text: []byte(regular)})); got != want {
			t.Errorf("%s gives %s, %s gives %s", form, got, regular, want)
		}
	}
}

func TestIrregularsInOrder(t *testing.T) {
	n := 0
	for c, row := range irregulars {
		for i, r := range row {
			if r.form[0] != byte(c) || i > 0 && row[i-1].form >= r.form {
				t.Errorf("%s under %q, at %d", r.form, byte(c), i)
			}
			if got := irregular([]byte(r.form)); got != r.stem {
				t.Errorf("%s: got %q, want %q", r.form, got, r.stem)
			}
			n++
		}
	}
	if n < 100 {
		t.Errorf("%d forms", n)
	}
}

func TestStemAllocatesNothing(t *testing.T) {
	buf := make([]byte, 0, 32)
	words := []string{"generically", "hopping", "skies", "nationalization", "wrote"}
	n := testing.AllocsPerRun(100, func() {
		for _, w := range words {
			buf = append(buf[:0], w...)
			_ = termOf(token{text: buf})
		}
	})
	if n != 0 {
		t.Errorf("%v allocations", n)
	}
}
