package hidden

// minEscaped is the least number of consecutive escapes of plain letters that count:
// nobody escapes letters that could be written.
const minEscaped = 5

// escapes finds runs of \x69, \u0069, \u{69}, &#105; or &#x69; that spell ASCII text.
func escapes(text string) []Blob {
	var out []Blob
	for i := 0; i < len(text) && len(out) < maxBlobs; {
		if text[i] != '\\' && text[i] != '&' {
			i++
			continue
		}
		var b []byte
		start, letters := i, 0
		for i < len(text) && len(b) < maxDecoded {
			c, n := escape(text[i:])
			if n == 0 {
				break
			}
			if c|0x20 >= 'a' && c|0x20 <= 'z' {
				letters++
			}
			b = append(b, c)
			i += n
		}
		if letters >= minEscaped && letters*10 >= len(b)*7 && printable(b) && varied(string(b)) {
			out = append(out, Blob{start, i - start, string(b), true})
		}
		if i == start {
			i++
		}
	}
	return out
}

// escape reads one numeric escape of an ASCII character and returns its length.
func escape(text string) (byte, int) {
	if len(text) < 4 {
		return 0, 0
	}
	i, digits, base, end := 2, 0, 16, 0
	switch {
	case text[0] == '\\' && text[1] == 'x':
		digits = 2
	case text[0] == '\\' && text[1] == 'u' && text[2] == '{':
		i, end = 3, '}'
	case text[0] == '\\' && text[1] == 'u':
		digits = 4
	case text[0] == '&' && text[1] == '#' && text[2]|0x20 == 'x':
		i, end = 3, ';'
	case text[0] == '&' && text[1] == '#':
		base, end = 10, ';'
	default:
		return 0, 0
	}
	start, v := i, 0
	for i < len(text) && i-start < 6 && (digits == 0 || i-start < digits) {
		d := hexValue(text[i])
		if d < 0 || d >= base {
			break
		}
		v = v*base + d
		i++
	}
	if i == start || digits > 0 && i-start != digits || v >= 0x80 {
		return 0, 0
	}
	if end != 0 {
		if i == len(text) || text[i] != byte(end) {
			return 0, 0
		}
		i++
	}
	return byte(v), i
}
