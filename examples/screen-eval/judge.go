package main

import (
	"runtime"
	"slices"
	"time"

	"github.com/memoryroom/scribe/internal/directive"
	"github.com/memoryroom/scribe/internal/hidden"
	"github.com/memoryroom/scribe/internal/secret"
)

// A verdict is what the three screens say of one text.
type verdict struct {
	secret  bool
	hidden  bool // any finding
	carries bool // a finding that admission holds
	tier    directive.Tier
	rules   []string // sorted, each once
	weak    []string // the rules of the instruction screen that flag, each once
}

// judge puts the screens together as admission does: credentials and instructions
// are looked for in the text and in what its encoded runs decode to.
func judge(text string) verdict {
	var v verdict
	found, blobs := hidden.Inspect(text)
	for _, f := range found {
		v.hidden, v.carries = true, v.carries || f.Carries
		v.rules = append(v.rules, f.Rule)
	}
	judgeWords(&v, text)
	for _, blob := range blobs {
		judgeWords(&v, blob.Text)
	}
	slices.Sort(v.rules)
	v.rules = slices.Compact(v.rules)
	slices.Sort(v.weak)
	v.weak = slices.Compact(v.weak)
	return v
}

func judgeWords(v *verdict, text string) {
	for _, f := range secret.Scan(text) {
		v.secret = true
		v.rules = append(v.rules, f.Rule)
	}
	for _, f := range directive.Scan(text) {
		v.tier = max(v.tier, f.Tier)
		if f.Tier >= directive.Weak {
			v.weak = append(v.weak, f.Rule)
		}
		v.rules = append(v.rules, f.Rule)
	}
}

// speed is what one screen costs, each text timed by itself.
type speed struct {
	Screen string  `json:"screen"`
	Texts  int     `json:"texts"`
	Bytes  float64 `json:"bytes_per_text"`
	P50    float64 `json:"p50_us"`
	P99    float64 `json:"p99_us"`
	Allocs float64 `json:"allocs_per_text"`
}

// measure times the screens. The texts have been judged once, so that nothing is
// looked at for the first time.
func measure(texts []string) (all []speed) {
	near1K := within(texts, func(s string) bool { return len(s) >= 512 && len(s) <= 2048 })
	clean := within(texts, func(s string) bool { return isASCII(s) && secret.Scan(s) == nil })
	for _, m := range []struct {
		screen string
		texts  []string
		scan   func(string)
	}{
		{"credentials", texts, func(s string) { secret.Scan(s) }},
		{"credentials, ASCII without any", clean, func(s string) { secret.Scan(s) }},
		{"hidden text", texts, func(s string) { hidden.Scan(s) }},
		{"encoded runs", texts, func(s string) { hidden.Blobs(s) }},
		{"instructions", texts, func(s string) { directive.Scan(s) }},
		{"all", texts, func(s string) { judge(s) }},
		{"all, texts of 0.5 to 2 KiB", near1K, func(s string) { judge(s) }},
	} {
		if len(m.texts) > 0 {
			all = append(all, timed(m.screen, m.texts, m.scan))
		}
	}
	return all
}

func within(texts []string, ok func(string) bool) (some []string) {
	for _, s := range texts {
		if ok(s) {
			some = append(some, s)
		}
	}
	return some
}

func isASCII(s string) bool {
	for i := range len(s) {
		if s[i] >= 0x80 {
			return false
		}
	}
	return true
}

func timed(screen string, texts []string, scan func(string)) speed {
	took := make([]time.Duration, len(texts))
	size := 0
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	for i, s := range texts {
		start := time.Now()
		scan(s)
		took[i] = time.Since(start)
		size += len(s)
	}
	runtime.ReadMemStats(&after)
	slices.Sort(took)
	n := float64(len(texts))
	return speed{
		Screen: screen, Texts: len(texts), Bytes: float64(size) / n,
		P50: micros(took, 50), P99: micros(took, 99), Allocs: float64(after.Mallocs-before.Mallocs) / n,
	}
}

// micros is a percentile of sorted durations, by nearest rank, in microseconds.
func micros(sorted []time.Duration, percent int) float64 {
	rank := (len(sorted)*percent + 99) / 100
	return float64(sorted[max(rank, 1)-1].Nanoseconds()) / 1e3
}
