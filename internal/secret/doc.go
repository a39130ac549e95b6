// Package secret finds credential-shaped text: API keys, tokens, private keys,
// passwords. It is a pure function of its input and uses the standard library.
//
// # Rules
//
// A rule identifier is "secret." and a name:
//
//  1. secret.<format>, one of formats.tsv: a literal prefix or infix, byte sets and
//     lengths, and a checksum where the issuer's is known. Lengths are exact where
//     the source says so. The left neighbour must not be an ASCII letter or digit,
//     the right neighbour must not continue the token; any other byte, including a
//     quote, a full stop or a Chinese character, is a boundary.
//  2. secret.pem-private-key, secret.putty-private-key, secret.jwk-private-key,
//     secret.xml-private-key, secret.bitcoin-wif, secret.jwt, secret.url-password,
//     secret.basic-auth, secret.discord-bot-token, secret.aws-secret-near-id: structure
//     instead of a prefix.
//  3. secret.assignment, secret.password, secret.bearer: a keyword of keywords.tsv
//     (English, Chinese and some others) names the value. Between the two may stand
//     signs of assignment, marks of Markdown, XML and JSON, words such as "is" and
//     "changed to", the flag of a command, or a line end when the value has a line
//     for itself. Veto words ("cache key", "page token", "token hash") withdraw
//     the keyword. The value must look drawn at random: changes between letters and
//     digits, not the words of an identifier, not base64 of a phrase.
//  4. secret.prefixed-token: a token of an unknown issuer: a word such as sk, pat or
//     live in front of at least 20 random-looking characters, or any short prefix in
//     front of at least 28 letters and digits of both cases, or 32 of one case or
//     with separators; hexadecimal digits only where the text speaks of a credential.
//
// # Views
//
// The text itself is scanned first. Only when a byte asks for it, a folded view is
// scanned too: invisible characters dropped, full-width and look-alike letters, escapes
// (Markdown, JSON, octal, percent, quoted-printable, entities) replaced. A joined view
// puts tokens together that were split over lines, tags, string literals or equal groups. Base64
// and hexadecimal runs that decode to plain ASCII are scanned decoded, at most
// two levels deep. Offsets always refer to the original text.
//
// # What is let through
//
// A value is a placeholder when it has words (example, your, redacted, ...), long runs
// or sequences, few distinct characters or a short period; low entropy alone never
// decides. A valid checksum overrides every placeholder rule. Published sample
// values of vendors and standards are known by digest. A caller adds its own
// through the predicate of [ScanAllow]. There is no in-band allow comment: the
// writer that is being judged could write it.
//
// # Non-guarantees
//
// Bare hexadecimal or UUID secrets without a keyword look like commit hashes and
// identifiers and are not found. Neither are passphrases of plain words,
// compressed or encrypted text, nor a secret spelled out in words. Nothing here
// tests whether a credential is live.
//
// No function quotes, logs or returns any part of a value.
package secret

//go:generate go run gen/main.go
