package relpath

import "strings"

// quick reports whether s is a name of plain ASCII that breaks no rule, in one pass.
// It is a shortcut: a name that it does not answer for is judged by the rules, one
// after the other, and a name that it answers for would be allowed by them (tested).
func quick(s string, leaf bool) bool {
	if len(s) > MaxLen {
		return false
	}
	depth := 1
	for {
		n, ok := quickSpan(s)
		if !ok || !quickSegment(s[:n]) {
			return false
		}
		if n == len(s) {
			return !leaf || quickLeaf(s)
		}
		if depth++; depth > MaxDepth {
			return false
		}
		s = s[n+1:]
	}
}

// quickSpan returns the length of the first segment of s, and whether all its bytes
// are such that no rule asks more about them.
func quickSpan(s string) (n int, ok bool) {
	if s == "" || quickBytes[s[0]] != quickAny {
		return 0, false
	}
	i := 1
	for {
		for i+4 <= len(s) && quickBytes[s[i]]|quickBytes[s[i+1]]|quickBytes[s[i+2]]|quickBytes[s[i+3]] <= quickInner {
			i += 4
		}
		for i < len(s) && quickBytes[s[i]] <= quickInner {
			i++
		}
		switch {
		case i == len(s) || s[i] == '/':
			return i, true
		case s[i] != ' ' || s[i-1] == ' ':
			return 0, false
		}
		i++
	}
}

// quickSegment judges the end and the listed names; the bytes are done.
func quickSegment(seg string) bool {
	if len(seg) == 0 || len(seg) > MaxSegment {
		return false
	}
	if last := seg[len(seg)-1]; last == '.' || last == ' ' {
		return false
	}
	return listing(seg) == ""
}

// quickLeaf is leafName for a segment whose bytes are done.
func quickLeaf(seg string) bool {
	n := len(seg) - len(".md")
	return n > 0 && seg[n:] == ".md" && seg[n-1] != '.' && seg[n-1] != ' '
}

// What quick makes of a byte. They are bits, so that several bytes are tested at
// once.
const (
	quickAny   = 0
	quickInner = 1 // not first in a segment
	quickOther = 2 // a slash, a space, and what is left to the rules
	quickHigh  = 4 // beyond ASCII
)

// quickBytes is quickOther but for what is an ordinary part of names.
var quickBytes = [256]uint8{
	2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, // 0x0
	2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, // 0x10
	2, 1, 2, 1, 2, 2, 0, 0, 0, 0, 2, 0, 0, 1, 1, 2, // ' !"#$%&\'()*+,-./'
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 0, 2, 2, // '0123456789:;<=>?'
	1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, // '@ABCDEFGHIJKLMNO'
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 0, // 'PQRSTUVWXYZ[\\]^_'
	2, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, // '`abcdefghijklmno'
	0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 2, 2, 2, 2, // 0x70
	4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, // 0x80
	4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, // 0x90
	4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, // 0xa0
	4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, // 0xb0
	4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, // 0xc0
	4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, // 0xd0
	4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, // 0xe0
	4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, 4, // 0xf0
}

// listing returns the rule of the list that a view of a segment is on, or "".
func listing(view string) string {
	if mayBeDevice(view) && device(view) {
		return ruleDevice
	}
	return namelist(view)
}

// namelist is listing without the devices. No denied name ends in .md, and every
// instruction file does. Most names are told from all listed ones by their first
// byte and their length.
func namelist(view string) string {
	if n := len(view) - len(".md"); n >= 0 && view[n:] == ".md" {
		switch {
		case !mayInstruct(view[:n]):
		case instruction(view):
			return ruleInstruction
		case looksInstruction(view):
			return ruleLookAlike
		}
		return ""
	}
	switch {
	case !mayBeDenied(view):
	case denied(view):
		return ruleSensitive
	case looksDenied(view):
		return ruleLookAlike
	}
	return ""
}

// mayBeDevice is false for most names that are no device: the first three letters
// of CON, COM, CLOCK$, PRN, AUX, NUL and LPT.
func mayBeDevice(seg string) bool {
	if len(seg) < 3 {
		return false
	}
	switch uint32(seg[0]|0x20)<<16 | uint32(seg[1]|0x20)<<8 | uint32(seg[2]|0x20) {
	case 'c'<<16 | 'o'<<8 | 'n', 'c'<<16 | 'o'<<8 | 'm', 'c'<<16 | 'l'<<8 | 'o',
		'p'<<16 | 'r'<<8 | 'n', 'a'<<16 | 'u'<<8 | 'x', 'n'<<16 | 'u'<<8 | 'l', 'l'<<16 | 'p'<<8 | 't':
		return true
	}
	return false
}

// mayBeDenied is false for most names that denied and looksDenied do not list: the
// lengths of the listed ones by their first byte, in any case, rn for m included.
func mayBeDenied(seg string) bool {
	if len(seg) == 0 || len(seg) > maxListed {
		return false
	}
	var lengths uint64
	switch seg[0] | 0x20 {
	case '.':
		return true
	case 'c':
		lengths = 1<<6 | 1<<8 | 1<<9 | 1<<10 | 1<<11 | 1<<12
	case 'h':
		lengths = 1<<4 | 1<<5
	case 's', '5':
		lengths = 1<<6 | 1<<9 | 1<<13 | 1<<25
	case 'o', '0':
		lengths = 1<<7 | 1<<9
	case 'a', 'i', '1':
		lengths = 1 << 6
	case 'r':
		lengths = 1 << 4
	case 'p':
		lengths = 1<<9 | 1<<11
	case 'f', 'm':
		lengths = 1 << 10
	case 'n':
		lengths = 1<<12 | 1<<13
	case 'b':
		lengths = 1 << 16
	case 'j', 'd':
		lengths = 1 << 13
	case 'w':
		lengths = 1 << 11
	case 'l':
		lengths = 1<<6 | 1<<12 | 1<<13
	case '_' | 0x20:
		lengths = 1<<6 | 1<<8 | 1<<11
	}
	return lengths>>len(seg)&1 != 0
}

// mayInstruct is mayBeDenied for instruction and looksInstruction, of a name
// without its .md. What has a dot in it may be a name with a qualifier.
func mayInstruct(stem string) bool {
	if strings.IndexByte(stem, '.') >= 0 {
		return true
	}
	if len(stem) == 0 || len(stem) > maxListed {
		return false
	}
	var lengths uint64
	switch stem[0] | 0x20 {
	case 'a':
		lengths = 1<<5 | 1<<6
	case 'c':
		lengths = 1<<5 | 1<<6 | 1<<20
	case 'g':
		lengths = 1<<6 | 1<<7
	case 'i', 'l', '1':
		lengths = 1 << 5
	case 's':
		lengths = 1<<4 | 1<<5
	case 'q', 'w':
		lengths = 1 << 4
	}
	return lengths>>len(stem)&1 != 0
}
