package lexical

import (
	"unicode/utf8"
)

// dates emits a token "d:05-02" for each day of the year that src names: in ISO
// form (2026-05-02, also with slashes or dots), as 5月2日 or 5月2号, as "May 2nd",
// "May 2" or "2 May". It looks at ASCII digits and letters only; a month without a
// day and a day without a month give nothing.
func (s *scanner) dates(src string) {
	s.done = false
	from := 0 // what is before belongs to a date already
	for i := 0; i < len(src) && !s.done; {
		if !isDigit(src[i]) {
			i++
			continue
		}
		if i > 0 && isLetter(src[i-1]) {
			i = skip(src, i) // of a word
			continue
		}
		off := i
		end, m, d := numericDate(src, i)
		if m == 0 {
			off, end, m, d = monthDay(src, from, i)
		}
		if m == 0 {
			off = i
			end, m, d = dayMonth(src, i)
		}
		s.day(m, d, off, end)
		i = max(end, skip(src, i))
		from = max(from, end)
	}
}

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

func isLetter(c byte) bool { return 'a' <= c|0x20 && c|0x20 <= 'z' }

// skip passes the letters and digits at i.
func skip(src string, i int) int {
	for i < len(src) && (isDigit(src[i]) || isLetter(src[i])) {
		i++
	}
	return i
}

// day emits the normal form of a month and day, when they are one.
func (s *scanner) day(m, d, off, end int) {
	if m < 1 || m > 12 || d < 1 || d > 31 {
		return
	}
	s.buf = append(s.buf[:0], 'd', ':', byte('0'+m/10), byte('0'+m%10), '-', byte('0'+d/10), byte('0'+d%10))
	s.send(token{s.buf, off, end, date, 0})
}

// number reads up to four digits at i. ok is false when there are none or more.
func number(src string, i int) (n, end int, ok bool) {
	for end = i; end < len(src) && isDigit(src[end]); end++ {
		if end-i == 4 {
			return 0, i, false
		}
		n = n*10 + int(src[end]-'0')
	}
	return n, end, end > i
}

// numericDate reads yyyy-mm-dd, or m月d日 with or without 日. m is 0 when there is
// no date at i.
func numericDate(src string, i int) (end, m, d int) {
	n, at, ok := number(src, i)
	if !ok || at >= len(src) {
		return i, 0, 0
	}
	if sep := src[at]; at-i == 4 && (sep == '-' || sep == '/' || sep == '.') {
		m, at2, ok := number(src, at+1)
		if !ok || at2 >= len(src) || src[at2] != sep {
			return i, 0, 0
		}
		d, at3, ok := number(src, at2+1)
		if !ok || at3-at2 > 3 {
			return i, 0, 0
		}
		return at3, m, d
	}
	r, size := utf8.DecodeRuneInString(src[at:])
	if r != '月' {
		return i, 0, 0
	}
	d, at2, ok := number(src, at+size)
	if !ok {
		return i, 0, 0
	}
	r, size = utf8.DecodeRuneInString(src[at2:])
	if r != '日' && r != '号' && r != '號' {
		return i, 0, 0
	}
	return at2 + size, n, d
}

// ordinal passes "st", "nd", "rd" or "th" at i.
func ordinal(src string, i int) int {
	if i+2 <= len(src) {
		switch lower2(src[i:]) {
		case "st", "nd", "rd", "th":
			return i + 2
		}
	}
	return i
}

func lower2(s string) string {
	return string([]byte{s[0] | 0x20, s[1] | 0x20})
}

// gap passes the spaces, comma, full stop or "of" between the halves of a date.
func gap(src string, i int) int {
	start := i
	for i < len(src) && i-start < 3 && (src[i] == ' ' || src[i] == ',' || src[i] == '.') {
		i++
	}
	if i > start && i+3 <= len(src) && lower2(src[i:]) == "of" && src[i+2] == ' ' {
		i += 3
	}
	return i
}

// monthDay reads "May 2nd" backwards from the day at i, no farther than from.
func monthDay(src string, from, i int) (off, end, m, d int) {
	d, end, ok := number(src, i)
	if !ok || end-i > 2 {
		return i, i, 0, 0
	}
	if end = ordinal(src, end); end < len(src) && (isDigit(src[end]) || isLetter(src[end])) {
		return i, i, 0, 0
	}
	word := i
	if word-from >= 4 && src[word-1] == ' ' && lower2(src[word-3:]) == "of" && src[word-4] == ' ' {
		word -= 3
	}
	for n := 0; n < 3 && word > from && (src[word-1] == ' ' || src[word-1] == ',' || src[word-1] == '.'); n++ {
		word--
	}
	off = word
	for off > from && word-off < 10 && (isLetter(src[off-1]) || isDigit(src[off-1])) {
		off--
	}
	if word == i {
		return i, i, 0, 0
	}
	if m = month(src[off:word]); m == 0 {
		return i, i, 0, 0
	}
	return off, end, m, d
}

// dayMonth reads "2nd of May" at i.
func dayMonth(src string, i int) (end, m, d int) {
	d, at, ok := number(src, i)
	if !ok || at-i > 2 {
		return i, 0, 0
	}
	at = ordinal(src, at)
	word := gap(src, at)
	if word == at {
		return i, 0, 0
	}
	end = skip(src, word)
	if m = month(src[word:end]); m == 0 {
		return i, 0, 0
	}
	return end, m, d
}

// month gives the number of an English month, whole or by three letters (four for
// Sept), or 0.
func month(w string) int {
	const names = "january  february march    april    may      june     july     august   septemberoctober  november december "
	if len(w) < 3 || len(w) > 9 {
		return 0
	}
	for m := range 12 {
		name := names[m*9 : m*9+9]
		n := 0
		for n < len(w) && w[n]|0x20 == name[n] && name[n] != ' ' {
			n++
		}
		if n == len(w) && (n == 3 || n == 9 || name[n] == ' ' || w[:n] == "Sept" || w[:n] == "sept") {
			return m + 1
		}
	}
	return 0
}
