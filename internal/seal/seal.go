// Package seal authenticates long streams of bytes that a holder of the key reads again.
//
// Each chunk of a stream gets a token: AES-256-GCM with a random nonce (NIST SP 800-38D,
// 8.2.2) over the chunk as additional data. That is some six times as fast as SHA-256 where
// both have instructions of their own. It says less than a digest: whoever has the key can
// make other bytes with the same tokens. And a token says that its chunk is one that was
// sealed, not which: what says the tokens of a whole stream, in order, has to be
// authenticated as one.
package seal

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/hmac"
	"crypto/sha256"
)

const (
	// chunk is the bytes of a stream under one token.
	chunk = 64 << 10
	// token is the bytes of one: the nonce and the tag.
	token = 12 + 16
)

// Stream is a stream that is sealed, or compared with what was sealed. Write it, then call
// Tokens or Same.
type Stream struct {
	aead   cipher.AEAD
	rest   []byte // of a chunk that is not whole yet
	tokens []byte // those made, or those not compared yet
	same   bool   // so far; false where tokens are made
	making bool
}

// New seals a stream under a key, which is used for nothing else than streams of this label.
func New(key []byte, label string) *Stream {
	mac := hmac.New(sha256.New, key)
	mac.Write([]byte(label))
	block, err := aes.NewCipher(mac.Sum(nil))
	if err == nil {
		var aead cipher.AEAD
		if aead, err = cipher.NewGCMWithRandomNonce(block); err == nil {
			return &Stream{aead: aead, making: true}
		}
	}
	panic(err) // the size of a key that is always the same
}

// Against compares a stream with the tokens of one that was sealed under the same key and
// label.
func Against(key []byte, label string, tokens []byte) *Stream {
	s := New(key, label)
	s.tokens, s.same, s.making = tokens, true, false
	return s
}

// Write never fails.
func (s *Stream) Write(p []byte) (int, error) {
	n := len(p)
	for len(s.rest)+len(p) >= chunk {
		if len(s.rest) == 0 {
			s.next(p[:chunk])
			p = p[chunk:]
			continue
		}
		more := chunk - len(s.rest)
		s.next(append(s.rest, p[:more]...))
		s.rest, p = s.rest[:0], p[more:]
	}
	s.rest = append(s.rest, p...)
	return n, nil
}

// next seals or compares one chunk.
func (s *Stream) next(p []byte) {
	if s.making {
		s.tokens = s.aead.Seal(s.tokens, nil, nil, p)
		return
	}
	if s.same = s.same && len(s.tokens) >= token; s.same {
		_, err := s.aead.Open(nil, nil, s.tokens[:token], p)
		s.same, s.tokens = err == nil, s.tokens[token:]
	}
}

// end takes what is left as the last chunk, which may be empty: so the end of a stream is
// sealed too.
func (s *Stream) end() { s.next(s.rest) }

// Tokens ends a stream of New and gives its tokens.
func (s *Stream) Tokens() []byte {
	s.end()
	return s.tokens
}

// Same ends a stream of Against and reports whether it is the one that was sealed.
func (s *Stream) Same() bool {
	s.end()
	return s.same && len(s.tokens) == 0
}
