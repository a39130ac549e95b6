// Package due reads when a memory is to be checked again: the field verify_when.
//
// It knows three forms, and takes any other text for prose, which never falls due:
//
//	2027-03-01, 2027年3月1日   a day; due from its first moment, in UTC
//	P3M, P2W, P1Y6M, PT36H     an ISO 8601 duration from the memory's own date
//	3个月后, 两周后, 立即      "in 3 months", "in two weeks", "at once", from that date
//
// ISO 8601-1:2019 section 5.5.2.2 gives the duration's grammar; of its forms the
// fraction of a component is prose here. The phrases are a number (digits, or Chinese
// numerals up to 九十九, 两 and 半), a unit and a word for "after"; traditional
// characters are the same phrases.
//
// It is pure: whoever asks brings the date and compares with the clock.
package due

import (
	"strconv"
	"strings"
	"time"
)

// When is what a text says. The zero When is "at once".
type When struct {
	day                 time.Time // of a date; else zero
	years, months, days int
	rest                time.Duration
}

// maxLength is the longest text that is looked at: every form is shorter, and prose is
// often long.
const maxLength = 64 // bytes

// Parse reads a text; ok is false for prose.
func Parse(text string) (w When, ok bool) {
	if len(text) > maxLength {
		return When{}, false
	}
	text = narrow(text)
	for _, form := range []func(string) (When, bool){date, duration, phrase} {
		if w, ok = form(text); ok {
			return w, true
		}
	}
	return When{}, false
}

// Fixed reports whether w is a date, and so does not depend on where it is counted from.
func (w When) Fixed() bool { return !w.day.IsZero() }

// At is the moment from which the check is due, in UTC. from is the memory's own date. A month
// that is too short for the day ends the count at its last day: a month after
// January 31 is the end of February.
func (w When) At(from time.Time) time.Time {
	if w.Fixed() {
		return w.day
	}
	from = from.UTC()
	y, m, d := from.Date()
	m += time.Month(12*w.years + w.months)
	last := time.Date(y, m+1, 0, 0, 0, 0, 0, time.UTC).Day()
	clock := from.Sub(time.Date(y, from.Month(), d, 0, 0, 0, 0, time.UTC))
	return time.Date(y, m, min(d, last)+w.days, 0, 0, 0, 0, time.UTC).Add(clock + w.rest)
}

// narrow drops spaces and makes full-width digits and letters plain.
func narrow(text string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c == ' ' || c == '\t' || c == '\u3000':
			return -1
		case c >= '\uff01' && c <= '\uff5e':
			return c - 0xfee0
		}
		return c
	}, text)
}

// date reads a day of the calendar, in its two spellings.
func date(text string) (When, bool) {
	y, rest, _ := strings.Cut(text, "年")
	m, d, ok := strings.Cut(rest, "月")
	if ok {
		d, ok = cutAny(d, "日", "号", "號")
	} else if len(text) == len("2027-03-01") && text[4] == '-' && text[7] == '-' {
		y, m, d, ok = text[:4], text[5:7], text[8:], true
	}
	if !ok || len(y) != 4 || !digits(y) || !digits(m) || !digits(d) {
		return When{}, false
	}
	day := time.Date(number(y), time.Month(number(m)), number(d), 0, 0, 0, 0, time.UTC)
	if day.Year() < 1 || day.Month() != time.Month(number(m)) || day.Day() != number(d) {
		return When{}, false // there is no such day
	}
	return When{day: day}, true
}

// duration reads P, the components of a date, and perhaps T and those of a time.
func duration(text string) (When, bool) {
	text, ok := strings.CutPrefix(text, "P")
	days, clock, timed := strings.Cut(text, "T")
	if !ok || text == "" || timed && clock == "" {
		return When{}, false
	}
	d, ok1 := components(days, "YMWD")
	c, ok2 := components(clock, "HMS")
	return When{
		years: d[0], months: d[1], days: 7*d[2] + d[3],
		rest: time.Duration(c[0])*time.Hour + time.Duration(c[1])*time.Minute + time.Duration(c[2])*time.Second,
	}, ok1 && ok2
}

// components reads numbers that each have one of the units behind them, in their order.
func components(s, units string) (values [4]int, ok bool) {
	from := 0
	for s != "" {
		end := strings.IndexFunc(s, func(c rune) bool { return c < '0' || c > '9' })
		if end < 0 || !digits(s[:end]) {
			return values, false
		}
		at := strings.IndexByte(units[from:], s[end])
		if at < 0 {
			return values, false
		}
		values[from+at] = number(s[:end])
		s, from = s[end+1:], from+at+1
	}
	return values, true
}

// phrase reads the relative phrases. A bare 月 is none: 3月后 is "after March".
func phrase(text string) (When, bool) {
	switch text {
	case "立即", "立刻", "马上", "馬上":
		return When{}, true
	}
	text, after := cutAny(text, "之后", "之後", "以后", "以後", "后", "後")
	count, unit, known := cutUnit(text)
	if !after || !known {
		return When{}, false
	}
	if count == "半" {
		switch unit {
		case When{months: 1}:
			return When{days: 15}, true
		case When{years: 1}:
			return When{months: 6}, true
		}
		return When{}, false // half a day or week is nobody's date
	}
	n, ok := numeral(count)
	return When{years: n * unit.years, months: n * unit.months, days: n * unit.days}, ok
}

// cutUnit takes the unit off the end of a phrase.
func cutUnit(s string) (count string, unit When, ok bool) {
	for _, u := range []struct {
		names []string // longer ones first
		one   When
	}{
		{[]string{"天", "日"}, When{days: 1}},
		{[]string{"个星期", "個星期", "星期", "个礼拜", "個禮拜", "礼拜", "禮拜", "周", "週"}, When{days: 7}},
		{[]string{"个月", "個月"}, When{months: 1}},
		{[]string{"个季度", "個季度", "季度"}, When{months: 3}},
		{[]string{"年"}, When{years: 1}},
	} {
		if count, ok = cutAny(s, u.names...); ok {
			return count, u.one, true
		}
	}
	return "", When{}, false
}

// cutAny takes the first of the endings that s has off it.
func cutAny(s string, endings ...string) (before string, ok bool) {
	for _, end := range endings {
		if before, ok = strings.CutSuffix(s, end); ok {
			return before, true
		}
	}
	return s, false
}

// numeral reads digits, or a Chinese numeral of 1 to 99.
func numeral(s string) (n int, ok bool) {
	if digits(s) {
		return number(s), true
	}
	tens, ones, found := strings.Cut(s, "十")
	if !found {
		return digit(s)
	}
	n, ok = 1, true
	if tens != "" {
		n, ok = digit(tens)
	}
	d := 0
	if ok && ones != "" {
		d, ok = digit(ones)
	}
	return 10*n + d, ok
}

// digit reads one Chinese numeral of 1 to 9.
func digit(s string) (int, bool) {
	if s == "两" || s == "兩" {
		return 2, true
	}
	for i, c := range []string{"一", "二", "三", "四", "五", "六", "七", "八", "九"} {
		if s == c {
			return i + 1, true
		}
	}
	return 0, false
}

// digits reports whether s is a number of one to four digits: nine thousand years are
// enough for anybody, and no sum of such numbers overflows.
func digits(s string) bool {
	for _, c := range []byte(s) {
		if c < '0' || c > '9' {
			return false
		}
	}
	return len(s) >= 1 && len(s) <= 4
}

// number is the value of what digits takes; 0 for anything else.
func number(s string) int {
	n, _ := strconv.Atoi(s)
	return n
}
