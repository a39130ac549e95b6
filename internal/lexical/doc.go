// Package lexical is a deterministic search over short texts: BM25F with stemming,
// identifiers and the scripts without spaces. It holds its index in
// memory and none of the texts, touches no disk, and gives the same hits and the same scores for the same set of
// documents on every machine, whatever the order in which they came.
//
// # Vocabulary
//
//   - A token is a piece of text with its place; a term is what it is indexed as.
//   - A unit is one thing that a query asks for. Joined forms of identifiers are
//     not units of their own; finding one finds all its parts.
//   - Coverage is the weight of the units that a document has, over that of all units,
//     those that no document has included. A unit's weight is the root of its idf.
//
// # Rules
//
//  1. Text is folded: NFKC, lower case, without invisible characters, Latin and
//     Greek without accents. English words are reduced to their Porter2 stem.
//  2. Identifiers give their parts and, with less weight, the parts joined, so that
//     noUnusedVars, no_unused_vars, no-unused-vars and "no unused vars" meet.
//  3. Han, kana, Hangul, Thai, Lao, Khmer and Myanmar give pairs of neighbours. A
//     query is split at Chinese function characters, a document is not.
//  4. Dates of one day (2026-05-02, May 2nd, 5月2日) also give month and day. In a
//     query they take the place of their own words.
//  5. English stop words and interjections are dropped from a query, unless nothing
//     would be left. A word that it repeats weighs up to twice as much.
//  6. A title counts three times. The first score is the sum of
//     idf * tf(k1+1)/(tf+damp), in integers of 1e-6; see idf, damping and gain.
//  7. The best 64 are read once more, in the order of their words: what stands within 48
//     words, what stands beside each other, what is written as one identifier, and, by
//     a little, what is new. See the weights at ofWindow.
//  8. When the best coverage is below 0.25 there are no hits: the texts have no
//     answer. It is reckoned as if there were 30 documents at least, and a long query
//     counts as four unknown units at most. Each hit needs a fifth of that floor.
//  9. Equal scores are ordered by ID.
//
// Those are the rules of [Version]. [Contract] is the ranking that came before it, in two
// versions and as its contract has them, to replay and to measure against.
//
// # Not guaranteed
//
// No meaning: "car" does not find "automobile". No single character within a run of
// rule 3: a query of one finds it only where it stands alone. Scores of different
// indexes cannot be compared, since idf is relative to the documents in the index; that
// is also why no index should hold what a searcher may not know of.
package lexical
