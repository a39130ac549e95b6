package lexical

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
)

// unspaced reports the scripts that are written without spaces. Their text is
// indexed by pairs of neighbours. Hangul has spaces, and endings that only pairs
// see through.
func unspaced(r rune) bool {
	if r < 0x0E00 { // Thai is the first
		return false
	}
	if 0x4E00 <= r && r <= 0x9FFF {
		return true // nearly all
	}
	return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana, unicode.Hangul,
		unicode.Bopomofo, unicode.Thai, unicode.Lao, unicode.Khmer, unicode.Myanmar) ||
		r == 'ー' || r == 'ﾞ' || r == 'ﾟ' // of no script in particular
}

// function reports Chinese characters that carry grammar and not content,
// simplified and traditional. A pair across one of them says nothing, so that a
// query is split there. Characters that also make content words (地, 得, 会, 能,
// 中, 上) stay out.
//
// Source: a list of this package's own: the particles, pronouns, conjunctions and adverbs
// of Chinese grammar that one character writes, the measure word 个, the verbs 是, 有, 在 and
// 说, and the interjections of talk.
func function(r rune) bool {
	switch r {
	case '的', '了', '是', '我', '你', '您', '他', '她', '它', '们', '們', '这', '這', '那', '哪',
		'个', '個', '吗', '嗎', '呢', '吧', '啊', '呀', '么', '麼', '什', '谁', '誰', '怎',
		'和', '与', '與', '及', '或', '也', '都', '就', '还', '還', '很', '被', '把', '在',
		'哈', '嗯', '哦', '嘿', '哇', '啦', '噢', '喔', '呵', '唉', '嘛', '咦', '嗨',
		'有', '不', '没', '沒', '说', '說', '过', '過':
		return true
	}
	return false
}

// run emits the pairs of the run of unspaced characters that begins at i, and each
// lone one, and returns the end. A run longer than maxCompound bytes is taken in
// pieces that share one character.
func (s *scanner) run(src string, i int) int {
	end, last := i, i
	for end < len(src) {
		r, n := utf8.DecodeRuneInString(src[end:])
		if !unspaced(r) && !unicode.IsMark(r) && !invisible(r) {
			break
		}
		if end+n-i > maxCompound {
			s.pairs(src[i:end], i)
			if last == i {
				return end
			}
			return last
		}
		last = end
		end += n
	}
	s.pairs(src[i:end], i)
	return end
}

// plainRun reports that a run has nothing but the common Han, kana and Hangul
// characters, which NFKC leaves as they are.
func plainRun(run string) bool {
	for _, r := range run {
		if !(0x4E00 <= r && r <= 0x9FFF || 0x3041 <= r && r <= 0x3096 || 0x30A1 <= r && r <= 0x30FC || 0xAC00 <= r && r <= 0xD7A3) {
			return false
		}
	}
	return true
}

// pairs emits the tokens of one run, which begins at off in the source. Where
// folding changes the run (half-width kana, compatibility forms), offsets are
// those of the whole run.
func (s *scanner) pairs(run string, off int) {
	exact := plainRun(run) || norm.NFKC.IsNormalString(run) && !strings.ContainsFunc(run, invisible)
	text := run
	if !exact {
		text = strings.Map(func(r rune) rune {
			if invisible(r) {
				return -1
			}
			return r
		}, norm.NFKC.String(run))
	}
	at := func(i, j int) (int, int) {
		if exact {
			return off + i, off + j
		}
		return off, off + len(run)
	}
	// prev is the character before i, content the number of characters since the
	// last function character.
	prev, prevFn, content := -1, false, 0
	lone := func(i, j int) {
		if content == 1 && i >= 0 {
			o, e := at(i, j)
			s.word(text[i:j], o, e, han)
		}
	}
	for i, r := range text {
		j := i + utf8.RuneLen(r)
		fn := function(r)
		if fn {
			lone(prev, i)
			content = 0
		} else {
			content++
		}
		if prev >= 0 {
			k := han
			if fn || prevFn {
				k = faint
			}
			o, e := at(prev, j)
			s.word(text[prev:j], o, e, k)
		}
		prev, prevFn = i, fn
	}
	lone(prev, len(text))
}

func (s *scanner) word(text string, off, end int, k kind) {
	s.buf = append(s.buf[:0], text...)
	s.send(token{s.buf, off, end, k, 1})
}
