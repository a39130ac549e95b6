package relpath

import (
	"path/filepath"
	"testing"
	"time"
)

// benchNames are allowed names, with what a check of one may cost: allocations, and
// multiples of filepath.IsLocal on the same name (0: no limit is promised).
var benchNames = []struct {
	text, name string
	allocs     float64
	ratio      float64
}{
	{"ascii", "topics/2026/deployment-notes.md", 0, 6},
	{"ascii-short", "a.md", 0, 6},
	{"ascii-long", "a-rather-long-name-of-one-segment-without-any-slash-2026-11-30.md", 0, 6},
	{"ascii-upper", "Topics/Release Notes/README.md", 0, 6},
	{"ascii-dots", "v1.2.3/notes.v2.md", 0, 6},
	{"cjk", "会议记录/项目计划-2026.md", 0, 50},
	{"cjk-punctuation", "项目/发布流程，第１版！.md", 4, 50},
	{"cjk-long", "关于下一季度发布流程和回滚步骤以及值班安排的会议记录与后续行动项目清单.md", 0, 50},
	{"kana", "設定メモ/データベース設計.md", 0, 50},
	{"hangul", "회의록/배포-계획.md", 0, 50},
	{"accented", "données/résumé-à-jour.md", 0, 50},
	{"accented-upper", "École/Übung-Été-Łódź.md", 4, 50},
	{"vietnamese", "tiếng-Việt/ghi-chú.md", 0, 50},
	{"cyrillic", "проекты/заметки.md", 4, 0},
	{"devanagari", "योजना/साप्ताहिक.md", 4, 0},
	{"greek", "σημειώσεις/λίστα.md", 8, 0},
}

func TestAllocs(t *testing.T) {
	for _, n := range benchNames {
		if _, err := Parse(n.name); err != nil {
			t.Fatal(err)
		}
		if got := testing.AllocsPerRun(100, func() { _, _ = Parse(n.name) }); got > n.allocs {
			t.Errorf("%s: %v allocations, want at most %v", n.text, got, n.allocs)
		}
	}
}

// BenchmarkRatio runs Parse and filepath.IsLocal by turns on one name and compares
// the quickest rounds, so that what else the machine does falls out. It fails over
// the limits of benchNames.
func BenchmarkRatio(b *testing.B) {
	const round = 200
	for _, n := range benchNames {
		b.Run("text="+n.text, func(b *testing.B) {
			local, parse := time.Duration(1<<62), time.Duration(1<<62)
			rounds := 0
			for b.Loop() {
				start := time.Now()
				for range round {
					if !filepath.IsLocal(n.name) {
						b.Fatal("not local")
					}
				}
				half := time.Now()
				for range round {
					if _, err := Parse(n.name); err != nil {
						b.Fatal(err)
					}
				}
				local, parse = min(local, half.Sub(start)), min(parse, time.Since(half))
				rounds++
			}
			ratio := float64(parse) / float64(local)
			b.ReportMetric(float64(local)/round, "islocal-ns")
			b.ReportMetric(float64(parse)/round, "parse-ns")
			b.ReportMetric(ratio, "ratio")
			if rounds > 1000 && n.ratio > 0 && ratio > n.ratio {
				b.Errorf("%.1f times filepath.IsLocal, want at most %v", ratio, n.ratio)
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	for _, n := range benchNames {
		b.Run("check=relpath/text="+n.text, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if _, err := Parse(n.name); err != nil {
					b.Fatal(err)
				}
			}
		})
		b.Run("check=islocal/text="+n.text, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !filepath.IsLocal(n.name) {
					b.Fatal("not local")
				}
			}
		})
	}
}

// BenchmarkRefuse holds that a refusal, with its suggestion, is linear in the name:
// the cost of a byte is about that of a byte of a short one.
func BenchmarkRefuse(b *testing.B) {
	for _, n := range []struct{ text, name string }{
		{"short", "a:b.md"},
		{"long", long(700, "a:")},
		{"marks", long(MaxLen, "a\u0301")},
		{"ligatures", long(MaxLen, "\ufdfa")},
		{"over", long(1<<20, "é/")},
	} {
		b.Run("text="+n.text, func(b *testing.B) {
			b.SetBytes(int64(len(n.name)))
			for b.Loop() {
				if _, err := Parse(n.name); err == nil {
					b.Fatal("allowed")
				}
			}
		})
	}
}

// long repeats s up to n bytes.
func long(n int, s string) string {
	var b []byte
	for len(b)+len(s) <= n {
		b = append(b, s...)
	}
	return string(b)
}
