package secret

import (
	"bytes"
	"crypto/sha256"
	"hash/crc32"
	"strings"
)

// A check is a checksum that can be verified offline. A token whose checksum holds
// is a credential whatever it looks like; one whose checksum fails may still be
// one (issuers change them), but then the placeholder rules apply.
type check uint8

const (
	checkNone check = iota
	// checkCRCBase62: the last 6 bytes are the CRC-32 (IEEE) of the 30 behind the
	// prefix, in base 62 over 0-9A-Za-z, zero-padded (GitHub, npm; see formats.tsv).
	checkCRCBase62
	// checkCRCHex: the last 8 bytes are the CRC-32 of the body in lower-case
	// hexadecimal, big-endian (Cloudflare: directly behind it, Zuplo: behind "_").
	checkCRCHex
	// checkCRCHexLE: behind the last "_", the CRC-32 of everything before it,
	// little-endian (Grafana, pkg/components/satokengen).
	checkCRCHexLE
	// checkBech32: BIP-173 over the lower-cased token (age, Nostr).
	checkBech32
	// checkBase58: base58check, the first four bytes of SHA-256 twice (BIP-32). Its
	// alphabet is that of half of all base64, so nothing is found without it.
	checkBase58
)

type result uint8

const (
	unknown result = iota
	failed
	passed
)

func outcome(ok bool) result {
	if ok {
		return passed
	}
	return failed
}

func (c check) verify(token string) result {
	n := len(token)
	switch c {
	case checkCRCBase62:
		if n < 40 || token[n-37] != '_' {
			return unknown
		}
		return outcome(isBase62(token[n-6:], sum(token[n-36:n-6])))
	case checkCRCHex:
		body := n - 8
		start := 0
		for start < body && token[start] != '_' {
			start++
		}
		if body > 0 && token[body-1] == '_' {
			body--
		}
		return outcome(start+1 < body && isHex(token[n-8:], sum(token[start+1:body])))
	case checkCRCHexLE:
		crc := sum(token[:n-9])
		return outcome(isHex(token[n-8:], crc>>24|crc>>8&0xff00|crc<<8&0xff0000|crc<<24))
	case checkBech32:
		return outcome(bech32(token))
	case checkBase58:
		return outcome(base58check(token))
	}
	return unknown
}

// sum is crc32.ChecksumIEEE without the conversion to a slice that would allocate.
func sum(s string) uint32 {
	var buf [64]byte
	crc := uint32(0)
	for len(s) > 0 {
		n := copy(buf[:], s)
		crc = crc32.Update(crc, crc32.IEEETable, buf[:n])
		s = s[n:]
	}
	return crc
}

const base62 = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"

func isBase62(s string, v uint32) bool {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] != base62[v%62] {
			return false
		}
		v /= 62
	}
	return v == 0
}

func isHex(s string, v uint32) bool {
	for i := len(s) - 1; i >= 0; i-- {
		if s[i] != "0123456789abcdef"[v&15] {
			return false
		}
		v >>= 4
	}
	return true
}

// bech32 verifies the checksum of BIP-173 (constant 1) of an upper- or lower-case
// string; the human-readable part ends at the last "1".
func bech32(s string) bool {
	const charset = "qpzry9x8gf2tvdw0s3jn54khce6mua7l"
	sep := len(s) - 1
	for sep > 0 && s[sep] != '1' {
		sep--
	}
	if sep < 1 || len(s)-sep < 7 {
		return false
	}
	gen := [5]uint32{0x3b6a57b2, 0x26508e6d, 0x1ea119fa, 0x3d4233dd, 0x2a1462b3}
	chk := uint32(1)
	step := func(v uint32) {
		top := chk >> 25
		chk = chk&0x1ffffff<<5 ^ v
		for i, g := range gen {
			if top>>i&1 != 0 {
				chk ^= g
			}
		}
	}
	for i := range sep {
		step(uint32(lower(s[i]) >> 5))
	}
	step(0)
	for i := range sep {
		step(uint32(lower(s[i]) & 31))
	}
	for i := sep + 1; i < len(s); i++ {
		v := 0
		for v < 32 && charset[v] != lower(s[i]) {
			v++
		}
		if v == 32 {
			return false
		}
		step(uint32(v))
	}
	return chk == 1
}

// base58check verifies a number in base 58 whose last four bytes are the checksum of
// those before. Leading zero bytes ("1") are not expected in a key.
func base58check(s string) bool {
	const charset = "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"
	var b [96]byte // big-endian; its last n bytes are the number
	n := 0
	if len(s) > 120 {
		return false
	}
	for i := range len(s) {
		carry := strings.IndexByte(charset, s[i])
		if carry < 0 {
			return false
		}
		for j := 1; j <= n || carry > 0; j++ {
			carry += int(b[len(b)-j]) * 58
			b[len(b)-j] = byte(carry)
			carry >>= 8
			n = max(n, j)
		}
	}
	if n < 5 {
		return false
	}
	key, check := b[len(b)-n:len(b)-4], b[len(b)-4:]
	once := sha256.Sum256(key)
	twice := sha256.Sum256(once[:])
	return bytes.Equal(twice[:4], check)
}

func lower(c byte) byte {
	if c >= 'A' && c <= 'Z' {
		return c + 'a' - 'A'
	}
	return c
}
