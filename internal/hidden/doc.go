// Package hidden finds text that a reader does not see, or sees as something else:
// control characters, invisible and reordering code points, payloads in tag
// characters and variation selectors, words of mixed alphabets, and text in an
// encoding. It is a pure function of its input.
//
// # Rules
//
//  1. hidden.control: C0 and C1 controls except tab, line feed and a carriage return in
//     front of one; DEL; line and paragraph separator; interlinear annotation; noncharacters.
//  2. hidden.zero-width: every other Default_Ignorable code point (zero-width space,
//     joiners, word joiner, soft hyphen, byte order mark, invisible operators, ...).
//  3. hidden.bidi: embeddings, overrides, isolates, and the three bidi marks.
//  4. hidden.tag: U+E0000 to U+E007F.
//  5. hidden.variation: variation selectors, Mongolian ones too.
//  6. hidden.private-use: the three private use areas.
//  7. hidden.filler: characters shown as blank (Hangul fillers, the empty Braille cell)
//     or as nothing (U+FFFC).
//  8. hidden.mixed-script: a word of Latin letters and letters of another alphabet that
//     look like Latin ones.
//  9. hidden.styled: at least four words in mathematical, full-width, enclosed or raised
//     letters, small capitals or regional indicators that are no flags.
//  10. hidden.overlay: at least eight Latin letters struck through, underlined or piled
//     with more marks than any spelling has.
//  11. hidden.encoded: base64, base32, hexadecimal, rows of character codes, percent and
//     numeric escapes, ROT13, Atbash, words backwards, digits for letters, letters
//     that spaces or signs keep apart, Braille, or string literals that divide words,
//     when they decode to sentences, to a script or to a shell command. What decodes to
//     other markup, data or the text of an ordinary URL is not reported, but [Blobs]
//     has it.
//  12. hidden.decode-order: words that tell the reader to decode something and to act on
//     what it says.
//
// # What is legitimate
//
// Not reported: a byte order mark at offset 0; a zero-width (non-)joiner after a letter
// of a script that uses it (Arabic, Indic and others) and in emoji sequences; a
// zero-width space in scripts written without spaces (Thai, Khmer, Lao, Myanmar,
// Tibetan); one variation selector after a base that has them; the tag sequences of
// the flags of England, Scotland and Wales (the only three in Unicode's
// emoji data); left-to-right and right-to-left marks near right-to-left letters.
//
// # Carries
//
// A finding carries something when its characters decode to text (tags, variation
// selectors as bytes, zero-width codes), when they split a word of an alphabet
// ("ig", a zero-width space, "nore"), or when they reorder what is shown. A soft
// hyphen splits a word only where no hyphenation would: before or after a piece of
// one letter or without a vowel. Runs that have no use but a payload (16 or
// more zero-width characters of several kinds) carry too, in whatever code.
//
// # Non-guarantees
//
// Whole words in letters of one other alphabet, likeness of Han characters, letter
// choice, white space and word order can carry messages too; they are not looked at.
package hidden
