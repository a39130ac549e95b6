package due

import (
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func day(s string) time.Time {
	t, err := time.Parse(time.DateOnly, s)
	if err != nil {
		panic(err)
	}
	return t
}

func TestParse(t *testing.T) {
	from := time.Date(2026, 1, 31, 9, 30, 0, 0, time.UTC)
	noon := func(s string) time.Time { return day(s).Add(9*time.Hour + 30*time.Minute) }
	for _, c := range []struct {
		text string
		want time.Time // zero: prose
	}{
		{"2027-03-01", day("2027-03-01")},
		{" 2027-03-01 ", day("2027-03-01")},
		{"2027年3月1日", day("2027-03-01")},
		{"２０２７-03-01", day("2027-03-01")},
		{"2028-02-29", day("2028-02-29")},
		{"2027-02-29", time.Time{}}, // no such day
		{"2027-13-01", time.Time{}},
		{"0000-01-01", time.Time{}},
		{"2027-3-1", time.Time{}},
		{"2027年3月", time.Time{}},
		{"年3月1日", time.Time{}},
		{"年月日", time.Time{}},
		{"P12M34", time.Time{}},
		{"PM", time.Time{}},
		{"十后", time.Time{}},
		{"天后", time.Time{}},
		{"2027-03-01 or so", time.Time{}},

		{"P3M", noon("2026-04-30")},
		{"P1M", noon("2026-02-28")}, // the month's last day
		{"P1Y1M", noon("2027-02-28")},
		{"P2W", noon("2026-02-14")},
		{"P1W1D", noon("2026-02-08")},
		{"P10D", noon("2026-02-10")},
		{"PT36H", noon("2026-02-01").Add(12 * time.Hour)},
		{"P1DT1M1S", noon("2026-02-01").Add(61 * time.Second)},
		{"P0D", from},
		{"P", time.Time{}},
		{"PT", time.Time{}},
		{"P1DT", time.Time{}},
		{"P1.5M", time.Time{}},
		{"P1D1M", time.Time{}}, // out of order
		{"p1d", time.Time{}},
		{"P99999D", time.Time{}},
		{"-P1D", time.Time{}},

		{"3个月后", noon("2026-04-30")},
		{"3 個月後", noon("2026-04-30")},
		{"三个月之后", noon("2026-04-30")},
		{"2周后", noon("2026-02-14")},
		{"两周后", noon("2026-02-14")},
		{"两个星期以后", noon("2026-02-14")},
		{"1礼拜后", noon("2026-02-07")},
		{"十天后", noon("2026-02-10")},
		{"二十一日后", noon("2026-02-21")},
		{"十二个月后", noon("2027-01-31")},
		{"半年后", noon("2026-07-31")},
		{"半个月后", noon("2026-02-15")},
		{"一年後", noon("2027-01-31")},
		{"2个季度后", noon("2026-07-31")},
		{"立即", from},
		{"马上", from},
		{"3月后", time.Time{}}, // after March
		{"半天后", time.Time{}},
		{"十十天后", time.Time{}},
		{"一二天后", time.Time{}},
		{"3个月", time.Time{}},
		{"3个月后再看", time.Time{}},

		{"", time.Time{}},
		{"when the new cluster is up", time.Time{}},
		{"升级数据库以后", time.Time{}},
		{strings.Repeat("3", 100) + "天后", time.Time{}},
	} {
		w, ok := Parse(c.text)
		if ok != !c.want.IsZero() {
			t.Errorf("%q: read %v, want %v", c.text, ok, !ok)
			continue
		}
		if got := w.At(from); ok && !got.Equal(c.want) {
			t.Errorf("%q: due %v, want %v", c.text, got, c.want)
		}
	}
}

// TestAt: a review is never due before the date that it is counted from, in whatever
// zone that date is given, and a longer span is never due earlier.
func TestAt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		from := time.Unix(rapid.Int64Range(0, 4_000_000_000).Draw(t, "from"), 0)
		w := When{
			years: rapid.IntRange(0, 50).Draw(t, "years"), months: rapid.IntRange(0, 40).Draw(t, "months"),
			days: rapid.IntRange(0, 1000).Draw(t, "days"),
		}
		at := w.At(from)
		if at.Before(from) {
			t.Fatalf("%+v of %v is %v", w, from, at)
		}
		if zone := w.At(from.In(time.FixedZone("", 11*3600))); !zone.Equal(at) {
			t.Fatalf("another zone, another moment: %v and %v", zone, at)
		}
		longer := w
		longer.months++
		if longer.At(from).Before(at) {
			t.Fatalf("a month more is earlier: %v and %v", longer.At(from), at)
		}
	})
}

// FuzzParse: what is read is one of the forms, and says so whatever stands around it.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"2027-03-01", "P1Y2M3W4DT5H6M7S", "二十一天后", "立即", "prose"} {
		f.Add(s)
	}
	from := day("2026-01-31")
	f.Fuzz(func(t *testing.T, s string) {
		w, ok := Parse(s)
		if !ok {
			if w != (When{}) {
				t.Fatalf("%q is prose and says %+v", s, w)
			}
			return
		}
		if at := w.At(from); !w.Fixed() && at.Before(from) {
			t.Fatalf("%q is due %v, before its date", s, at)
		}
		if again, ok := Parse(" " + s + "\t"); len(s) < maxLength-1 && (!ok || again != w) {
			t.Fatalf("%q with spaces: %+v, %v; want %+v", s, again, ok, w)
		}
	})
}
