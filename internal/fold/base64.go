package fold

// Base64 decodes either alphabet of RFC 4648 into dst, until a byte of neither or an end, and
// returns the number of bytes written. Unlike encoding/base64 it takes both alphabets in one
// run, and a run of any length.
func Base64(dst []byte, src string) int {
	var acc uint32
	bits, n := 0, 0
	for i := 0; i < len(src) && n < len(dst); i++ {
		var v byte
		switch c := src[i]; {
		case c >= 'A' && c <= 'Z':
			v = c - 'A'
		case c >= 'a' && c <= 'z':
			v = c - 'a' + 26
		case c >= '0' && c <= '9':
			v = c - '0' + 52
		case c == '+' || c == '-':
			v = 62
		case c == '/' || c == '_':
			v = 63
		default:
			return n
		}
		acc = acc<<6 | uint32(v)
		if bits += 6; bits >= 8 {
			bits -= 8
			dst[n] = byte(acc >> bits)
			n++
		}
	}
	return n
}
