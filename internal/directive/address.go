package directive

import "strings"

// maxAddress is the number of bytes that an address may have here; what is longer
// is cut, which no rule notices.
const maxAddress = 2048

// address returns the length of the address at the current place. A run of
// address characters is searched once, so that the time stays linear: a later
// start in the run would end at the same top-level domain or scheme.
func (s *scanner) address() int {
	if s.at < s.plain {
		return 0
	}
	n, run := address(s.text[s.at:])
	if n == 0 {
		s.plain = s.at + run
	}
	return n
}

// address returns the length of the URL, e-mail address or host name at the start
// of s, which is lower case, and 0 when there is none; run is the number of bytes
// that were looked at. The local host is none.
func address(s string) (n, run int) {
	for n < len(s) && n < maxAddress && strings.IndexByte("abcdefghijklmnopqrstuvwxyz0123456789.-_+@:/", s[n]) >= 0 {
		n++
	}
	head := s[:n]
	run = n
	if i := strings.Index(head, "://"); i > 0 {
		for n < len(s) && n < maxAddress && s[n] > ' ' && s[n] < 0x7f && strings.IndexByte("\"'`<>)|", s[n]) < 0 {
			n++
		}
		if local(head[i+3:]) || head[:i] == "file" {
			return 0, run
		}
		return len(strings.TrimRight(s[:n], ".,;:!]")), run
	}
	if i := strings.IndexByte(head, '@'); i > 0 {
		if h := host(head[i+1:]); h > 0 {
			return i + 1 + h, run
		}
		return 0, run
	}
	return host(head), run
}

func local(h string) bool {
	return strings.HasPrefix(h, "localhost") || strings.HasPrefix(h, "127.0.0.1") || strings.HasPrefix(h, "0.0.0.0")
}

// host returns the length of a host name with a usual top-level domain. The list
// is short on purpose: "main.go" and "memory.md" are files.
func host(s string) int {
	end := len(s)
	if i := strings.IndexAny(s, ":/@"); i >= 0 {
		end = i
	}
	h := strings.TrimRight(s[:end], ".-_+")
	i := strings.LastIndexByte(h, '.')
	if i <= 0 {
		return 0
	}
	switch h[i+1:] {
	case "com", "net", "org", "io", "co", "dev", "app", "xyz", "info", "biz", "site", "online", "top", "cloud", "cn", "ru", "me", "ai", "link", "page", "tech", "example", "invalid":
		return len(h)
	}
	return 0
}
