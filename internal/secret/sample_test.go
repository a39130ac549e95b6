package secret

import (
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"hash/crc32"
	"math/big"
	"math/rand/v2"
	"slices"
	"strings"
)

// The tests assemble every credential-shaped value at run time, so that no file of
// the repository holds one.

const (
	lowerDigits = "abcdefghijklmnopqrstuvwxyz0123456789"
	allLetters  = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	alphanum    = allLetters + "0123456789"
	hexDigits   = "0123456789abcdef"
	base64Set   = alphanum + "+/"
	urlSet      = alphanum + "-_"
)

func source(seed uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, 7)) }

// draw returns n bytes of set that no placeholder rule objects to and, for
// sets of letters and digits, that hold both.
func draw(r *rand.Rand, set string, n int) string {
	for {
		b := make([]byte, n)
		for i := range b {
			b[i] = set[r.IntN(len(set))]
		}
		s := string(b)
		sh := shapeOf(s)
		if placeholder(s) || n >= 12 && strings.ContainsAny(set, "3") && sh.digit < 3 || n >= 12 && strings.ContainsAny(set, "q") && strings.ContainsAny(set, "Q") && (sh.lower < 3 || sh.upper < 3) {
			continue
		}
		return s
	}
}

// members lists the bytes of a byte set, separators last.
func (sg seg) members() string {
	var a, b []byte
	for c := range 256 {
		if setOf[c]>>sg.set&1 != 0 {
			if class[c]&isAlnum != 0 {
				a = append(a, byte(c))
			} else {
				b = append(b, byte(c))
			}
		}
	}
	if len(a) == 0 {
		return string(b)
	}
	return string(a)
}

// token builds a token of f with its shortest or longest lengths and, where the
// algorithm is known, its checksum. A draw that reads like a word or a placeholder as
// a whole is drawn again.
func (f *format) token(r *rand.Rand, longest bool) string {
	for {
		if s := f.drawn(r, longest); f.accepts(s) {
			return s
		}
	}
}

func (f *format) drawn(r *rand.Rand, longest bool) string {
	var b strings.Builder
	for _, sg := range f.segs {
		n := int(sg.min)
		if longest {
			n = int(sg.max)
		}
		if sg.lit != "" {
			b.WriteString(sg.lit)
		} else if n > 0 {
			b.WriteString(draw(r, sg.members(), n))
		}
	}
	return f.check.sign(b.String())
}

// sign replaces the trailer of token by the right checksum.
func (c check) sign(token string) string {
	n := len(token)
	switch c {
	case checkCRCBase62:
		if n < 40 || token[n-37] != '_' {
			return token
		}
		v := crc32.ChecksumIEEE([]byte(token[n-36 : n-6]))
		out := []byte(token)
		for i := n - 1; i >= n-6; i-- {
			out[i] = base62[v%62]
			v /= 62
		}
		return string(out)
	case checkCRCHex:
		_, body, _ := strings.Cut(token, "_")
		body = strings.TrimSuffix(body[:len(body)-8], "_")
		return token[:n-8] + fmt.Sprintf("%08x", crc32.ChecksumIEEE([]byte(body)))
	case checkBase58:
		return base58(append([]byte{0x04, 0x88, 0xAD, 0xE4}, (token + token)[:74]...)) // the version bytes of xprv
	case checkCRCHexLE:
		v := crc32.ChecksumIEEE([]byte(token[:n-9]))
		return token[:n-8] + fmt.Sprintf("%02x%02x%02x%02x", v&0xff, v>>8&0xff, v>>16&0xff, v>>24)
	}
	return token
}

// base58 writes a key with its checksum (base58check).
func base58(key []byte) string {
	once := sha256.Sum256(key)
	twice := sha256.Sum256(once[:])
	n, digit := new(big.Int).SetBytes(append(key, twice[:4]...)), new(big.Int)
	var out []byte
	for n.Sign() > 0 {
		n.DivMod(n, big.NewInt(58), digit)
		out = append(out, "123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz"[digit.Int64()])
	}
	slices.Reverse(out)
	return string(out)
}

func b64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

// dashes hides the armour of a private key from scanners that read this file.
func pemBlock(label, body string) string {
	d := strings.Repeat("-", 5)
	return d + "BEGIN " + label + d + "\n" + body + "\n" + d + "END " + label + d
}

func lines(s string, n int) string {
	var b strings.Builder
	for ; len(s) > n; s = s[n:] {
		b.WriteString(s[:n] + "\n")
	}
	return b.String() + s
}

func jwt(header, claims, signature string) string {
	e := base64.RawURLEncoding
	return e.EncodeToString([]byte(header)) + "." + e.EncodeToString([]byte(claims)) + "." + signature
}
