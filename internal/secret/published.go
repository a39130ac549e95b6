package secret

import (
	"crypto/sha256"
	"encoding/binary"
)

// publishedDigests holds the first eight bytes (big-endian) of the SHA-256 of
// sample values that vendors and standards print. They are digests so that this
// file holds no credential-shaped text; the comments name the place.
var publishedDigests = [...]uint64{
	0x78314b11be2e5815, // AWS documentation, example secret access key
	0x1a5d44a2dca19669, // AWS documentation, example access key ID
	0xe21b597ba6b9cafa, // AWS documentation, second example secret
	0xc6ea27c534f993d3, // AWS documentation, second example ID
	0x7f75367e78812551, // jwt.io, HS256 sample token
	0xc794fa6d20c64efb, // jwt.io, HS256 sample token of 2024
	0x8d4ef6536dc8895f, // RFC 7519 section 3.1, example token
	0x0011cc25eb432071, // Azurite, well-known storage key
	0xaa6547439583c3a2, // Azure Cosmos DB emulator, well-known key
	0x03b970ed8171d73b, // reCAPTCHA documentation, test site key
	0xf5e95c9954635b65, // reCAPTCHA documentation, test secret
	0x2cafc0970149a84f, // Stripe documentation, test key
	0xf2d6ca16515033e5, // Stripe documentation, older test key
	0xbc3ae723f57c6b9e, // GitHub documentation, OAuth sample
	0x6d7fa4e64d4b1f3e, // GitHub documentation, refresh sample
	0x82e74299544e0073, // GitHub documentation, user sample
	0xcf4d418ed3de92d7, // RFC 7617, Basic sample
	0x687da00b09c83361, // RFC 7617, second Basic sample
	0xb8e148545b13c78b, // RFC 6750, Bearer sample
	0x6c96130f130ab0d6, // RFC 6749, access token sample
	0x00cf4c781dc37003, // RFC 6749, refresh token sample
	0xe9974c507d2a8021, // RFC 6749, client secret sample
	0xca7459e2b26776de, // RFC 6749, client authentication sample
	0x549c9390539efcfa, // RFC 6238, test secret in base32
	0x13d31e961a1ad8ec, // RFC 7636, code verifier sample
	0xf5c388734d28087b, // Slack documentation, webhook sample path
}

// published reports whether v is a published sample.
func published(v string) bool {
	var buf [256]byte
	if len(v) > len(buf) {
		return false
	}
	sum := sha256.Sum256(buf[:copy(buf[:], v)])
	d := binary.BigEndian.Uint64(sum[:8])
	for _, p := range publishedDigests {
		if p == d {
			return true
		}
	}
	return false
}
