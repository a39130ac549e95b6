package lexical

import "bytes"

// stopWord reports English words that say nothing about what a query is after.
// They are dropped from queries only: in a document they cost a little space and
// keep "to be or not to be" findable.
//
// Source: a list of this package's own: the closed word classes of English (articles,
// pronouns, auxiliaries, conjunctions, prepositions, adverbs of degree, question words),
// their contractions, and the greetings and interjections of talk.
func stopWord(w []byte) bool {
	if n := len(w); n > 2 && (bytes.HasSuffix(w, []byte("'s")) || bytes.HasSuffix(w, []byte("'d"))) {
		w = w[:n-2]
	}
	switch string(w) {
	case "a", "an", "the", "this", "that", "these", "those",
		"i", "me", "my", "mine", "myself", "we", "us", "our", "ours", "ourselves",
		"you", "your", "yours", "yourself", "he", "him", "his", "himself",
		"she", "her", "hers", "herself", "it", "its", "itself",
		"they", "them", "their", "theirs", "themselves",
		"am", "is", "are", "was", "were", "be", "been", "being",
		"do", "does", "did", "doing", "done", "have", "has", "had", "having",
		"can", "could", "may", "might", "must", "shall", "should", "will", "would",
		"and", "or", "but", "nor", "if", "then", "else", "than", "because", "while", "so",
		"of", "at", "by", "for", "with", "about", "into", "to", "from", "in", "out", "on", "off",
		"over", "under", "up", "down", "between", "through", "during", "as", "upon",
		"what", "which", "who", "whom", "whose", "when", "where", "why", "how",
		"there", "here", "not", "no", "any", "some", "each", "such", "own", "same",
		"too", "very", "just", "also", "only", "both", "all", "more", "most", "other",
		"again", "once", "ever", "s", "t", "d", "m", "ll", "re", "ve",
		"i'm", "i've", "i'll", "you're", "you've", "you'll", "we're", "we've", "we'll",
		"they're", "they've", "they'll", "it'll", "isn't", "aren't", "wasn't", "weren't",
		"don't", "doesn't", "didn't", "haven't", "hasn't", "hadn't", "can't", "cannot",
		"couldn't", "won't", "wouldn't", "shouldn't", "let", "please",
		"yes", "yeah", "yep", "ok", "okay", "oh", "ah", "hey", "hi", "hello", "wow", "haha", "hmm",
		"thanks", "thank", "really", "actually", "well", "i'd", "that's", "what's", "it's", "let's":
		return true
	}
	return false
}
