package hidden

import (
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	minSpaced      = 12 // single letters
	minSpacedWords = 3
	minUnspaced    = 20 // single letters without a wider gap between words
	minMarked      = 3  // letters of a word that signs keep apart
	minPieces      = 4  // string literals that are joined
)

// spaced finds letters with one space between them and two or more between words, or
// with one space between all of them.
func spaced(text string) []Blob {
	var out []Blob
	for i := 0; i < len(text) && len(out) < maxBlobs; {
		if text[i] <= ' ' || text[i] >= utf8.RuneSelf {
			i++
			continue
		}
		if !single(text, i) || i > 0 && !gapBefore(text, i) {
			for i++; i < len(text) && text[i] > ' ' && text[i] < utf8.RuneSelf; i++ {
			}
			continue
		}
		letters, words, end := 0, 1, i
		for j := i; single(text, j) && end-i < maxDecoded; {
			if text[j]|0x20 >= 'a' && text[j]|0x20 <= 'z' {
				letters++
			}
			end = j + 1
			n := 0
			for j = end; ; n++ {
				w := gapAt(text, j)
				if w == 0 {
					break
				}
				j += w
			}
			if n > 1 {
				words++
			}
		}
		switch s := closeUp(text[i:end]); {
		case letters >= minSpaced && words >= minSpacedWords && hasWords(s) && varied(s),
			letters >= minUnspaced && words < minSpacedWords && varied(s) && usual(s) >= 2:
			out = append(out, Blob{i, end - i, s, true})
		}
		i = max(end, i+1)
	}
	return out
}

// gapAt returns the length of the space at i, 0 when there is none.
func gapAt(text string, i int) int {
	if i >= len(text) {
		return 0
	}
	if text[i] < utf8.RuneSelf {
		if text[i] <= ' ' {
			return 1
		}
		return 0
	}
	if r, n := utf8.DecodeRuneInString(text[i:]); unicode.Is(unicode.Zs, r) {
		return n
	}
	return 0
}

func gapBefore(text string, i int) bool {
	r, _ := utf8.DecodeLastRuneInString(text[:i])
	return r <= ' ' || unicode.Is(unicode.Zs, r)
}

// single reports an ASCII character with a space or the end behind it.
func single(text string, j int) bool {
	return j < len(text) && text[j] > ' ' && text[j] < utf8.RuneSelf && (j+1 == len(text) || gapAt(text, j+1) > 0)
}

// closeUp drops single spaces and keeps one of several.
func closeUp(s string) string {
	b := make([]byte, 0, len(s))
	gaps := 0
	for i := 0; i < len(s); {
		if w := gapAt(s, i); w > 0 {
			gaps++
			i += w
			continue
		}
		if gaps > 1 {
			b = append(b, ' ')
		}
		gaps = 0
		b = append(b, s[i])
		i++
	}
	return string(b)
}

// usual counts the common words of four letters or more that a text without spaces
// holds.
func usual(s string) int {
	n := 0
	b := []byte(strings.ToLower(s))
	for i := 0; i < len(b); {
		step := 1
		for size := min(maxCommon, len(b)-i); size >= 4; size-- {
			if common(b[i : i+size]) {
				n++
				step = size
				break
			}
		}
		i += step
	}
	return n
}

// marked finds words whose letters a sign keeps apart ("i.g.n.o.r.e a-l-l").
func marked(text string) []Blob {
	var out []Blob
	var words []byte
	start, end, n := -1, 0, 0
	flush := func() {
		if n >= 2 && len(words) >= minSpaced && varied(string(words)) && usual(string(words)) >= 1 {
			out = append(out, Blob{start, end - start, string(words), true})
		}
		words, start, n = words[:0], -1, 0
	}
	for i := 0; i < len(text) && len(out) < maxBlobs; {
		if text[i]|0x20 < 'a' || text[i]|0x20 > 'z' || i > 0 && (wordByte(text[i-1]) || text[i-1] >= utf8.RuneSelf) {
			i++
			continue
		}
		sign, j, size := byte(0), i, 0
		for j < len(text) && text[j]|0x20 >= 'a' && text[j]|0x20 <= 'z' {
			size++
			if j+1 >= len(text) || strings.IndexByte(".-_*/|~,", text[j+1]) < 0 || sign != 0 && text[j+1] != sign {
				j++
				break
			}
			sign = text[j+1]
			j += 2
		}
		whole := j >= len(text) || !wordByte(text[j])
		if size < minMarked || !whole {
			if size > 1 || !whole || j-i > 2 { // an ordinary word ends the passage, a lone letter does not
				if i-end > maxStyledGap {
					flush()
				}
			}
			for i = max(j, i+1); i < len(text) && wordByte(text[i]); i++ {
			}
			continue
		}
		if start < 0 {
			start = i
		} else {
			words = append(words, ' ')
		}
		for k := i; k < j; k += 2 {
			words = append(words, text[k])
		}
		n, end = n+1, j
		i = j
	}
	flush()
	return out
}

// joined finds string literals that operators join to text ("ign" + "ore all"). When
// they divide words it is not for the length of a line.
func joined(text string) []Blob {
	var out []Blob
	for i := 0; i < len(text) && len(out) < maxBlobs; {
		if text[i] != '"' && text[i] != '\'' {
			i++
			continue
		}
		end, next := literal(text, i)
		if next == 0 {
			i++
			continue
		}
		b := []byte(text[i+1 : end-1])
		pieces, divided := 1, 0
		for next > 0 && len(b) < maxDecoded {
			start := next
			end, next = literal(text, start)
			if end == 0 {
				end = start
				break
			}
			piece := text[start+1 : end-1]
			if len(b) > 0 && piece != "" && letterByte(b[len(b)-1]) && letterByte(piece[0]) {
				divided++
			}
			b = append(b, piece...)
			pieces++
		}
		if pieces >= 2 && hasWords(string(b)) && printable(b) {
			out = append(out, Blob{i, end - i, string(b), pieces >= minPieces && divided >= 2 && isProse(string(b))})
		}
		i = max(end, i+1)
	}
	return out
}

// maxLiteral is the longest string literal that is joined to another.
const maxLiteral = 128

// literal returns the end of the string literal at i and where the next one that an
// operator joins to it begins; 0 for what is not there.
func literal(text string, i int) (end, next int) {
	quote := text[i]
	shut := strings.IndexByte(text[i+1:min(len(text), i+1+maxLiteral)], quote)
	if shut < 0 || strings.IndexByte(text[i+1:i+1+shut], '\n') >= 0 {
		return 0, 0
	}
	end = i + shut + 2
	operator := false
	for p := end; p < len(text) && p-end < 12; p++ {
		switch text[p] {
		case '+', '.', '&':
			operator = true
		case ' ', ',', '\n', '\\':
		case quote:
			if operator {
				return end, p
			}
			return end, 0
		default:
			return end, 0
		}
	}
	return end, 0
}

func letterByte(c byte) bool { return c|0x20 >= 'a' && c|0x20 <= 'z' }
