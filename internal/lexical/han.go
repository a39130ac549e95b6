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

// common gives the character at i of src when it is one of U+4E00 to U+9FFF, three bytes
// of UTF-8 that NFKC leaves as they are: nearly all of any Chinese text. Else it is 0.
func common(src string, i int) rune {
	if i+2 >= len(src) || src[i] < 0xE4 || src[i] > 0xE9 {
		return 0
	}
	a, b := rune(src[i+1])^0x80, rune(src[i+2])^0x80
	r := rune(src[i]&0xF)<<12 | a<<6 | b
	if a|b > 0x3F || r < 0x4E00 {
		return 0
	}
	return r
}

// separator reports the commonest punctuation outside ASCII, which is part of nothing: it
// saves a look into the tables of Unicode.
func separator(r rune) bool {
	return 0x2010 <= r && r <= 0x2027 || 0x3000 <= r && r <= 0x3004 || 0x3008 <= r && r <= 0x3020 ||
		0xFF01 <= r && r <= 0xFF0F || 0xFF1A <= r && r <= 0xFF20
}

// run emits the pairs of the run of unspaced characters that begins at i, and each
// lone one, and returns the end. A run longer than maxCompound bytes is taken in
// pieces that share one character.
func (s *scanner) run(src string, i int) int {
	end, last, plain := i, i, true
	for end < len(src) {
		n := 3
		if common(src, end) == 0 {
			var r rune
			r, n = utf8.DecodeRuneInString(src[end:])
			if r < utf8.RuneSelf || separator(r) || !unspaced(r) && !unicode.IsMark(r) && !invisible(r) {
				break
			}
			plain = plain && plainRune(r)
		}
		if end+n-i > maxCompound {
			s.pairs(src[i:end], i, plain)
			if last == i {
				return end
			}
			return last
		}
		last = end
		end += n
	}
	s.pairs(src[i:end], i, plain)
	return end
}

// plainRune reports the kana and Hangul that NFKC leaves as they are, beside each other
// too.
func plainRune(r rune) bool {
	return 0x3041 <= r && r <= 0x3096 || 0x30A1 <= r && r <= 0x30FC || 0xAC00 <= r && r <= 0xD7A3
}

// pairs emits the tokens of one run, which begins at off in the source. plain says that
// folding leaves it as it is. Where folding changes the run (half-width kana,
// compatibility forms), offsets are those of the whole run.
func (s *scanner) pairs(run string, off int, plain bool) {
	if !plain && (!norm.NFKC.IsNormalString(run) || strings.ContainsFunc(run, invisible)) {
		text := strings.Map(func(r rune) rune {
			if invisible(r) {
				return -1
			}
			return r
		}, norm.NFKC.String(run))
		s.neighbours(text, func(i, j int) (int, int) { return off, off + len(run) })
		return
	}
	s.neighbours(run, func(i, j int) (int, int) { return off + i, off + j })
}

// neighbours emits each two characters of a text that stand beside each other. at turns
// a place in the text into one of the source.
func (s *scanner) neighbours(text string, at func(i, j int) (off, end int)) {
	// prev is the character before i, content the number of characters since the
	// last function character.
	prev, prevFn, content := -1, false, 0
	lone := func(i, j int) {
		if content == 1 && i >= 0 {
			o, e := at(i, j)
			s.word(text[i:j], o, e, han)
		}
	}
	for i := 0; i < len(text); {
		r, n := common(text, i), 3
		if r == 0 {
			r, n = utf8.DecodeRuneInString(text[i:])
		}
		j := i + n
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
		i = j
	}
	lone(prev, len(text))
}

func (s *scanner) word(text string, off, end int, k kind) {
	s.buf = append(s.buf[:0], text...)
	s.send(token{s.buf, off, end, k, 1})
}
