package fold

import (
	"strings"
	"testing"
	"unicode/utf8"

	"golang.org/x/text/unicode/norm"
	"pgregory.net/rapid"
)

func TestView(t *testing.T) {
	for _, tt := range []struct{ in, text, find, source string }{
		{"Ignore ALL rules", "ignore all rules", "all", "ALL"},
		{"please ig\u200Bno\u00ADre this", "please ignore this", "ignore", "ig\u200Bno\u00ADre"},
		{"ｉｇｎｏｒｅ this", "ignore this", "ignore", "ｉｇｎｏｒｅ"},
		{"іgnоrе this", "ignore this", "ignore", "іgnоrе"},
		{"a e\u0301cole b", "a école b", "école", "e\u0301cole"},
		{"ﬁle", "file", "f", "ﬁ"},
		{"会议 Notes", "会议 notes", "议", "议"},
		{"STRAßE x", "strasse x", "strasse", "STRAßE"},
		{"don’t", "don't", "n't", "n’t"},
		{"x\xffy", "x\uFFFDy", "\uFFFD", "\xff"},
		{"각 \u1100\u1161\u11A8!", "각 각!", "각!", "\u1100\u1161\u11A8!"},
		{"CONFİG", "config", "fig", "FİG"},
	} {
		v := NewView(tt.in)
		if v.Text != tt.text {
			t.Errorf("NewView(%+q).Text = %+q, want %+q", tt.in, v.Text, tt.text)
			continue
		}
		i := strings.LastIndex(v.Text, tt.find)
		off, n := v.Span(i, i+len(tt.find))
		if got := tt.in[off : off+n]; got != tt.source {
			t.Errorf("%+q: %+q comes from %+q, want %+q", tt.in, tt.find, got, tt.source)
		}
	}
}

func TestViewASCII(t *testing.T) {
	v := NewView("Plain Text")
	if v.Off != nil || v.Text != "plain text" {
		t.Errorf("got %+v", v)
	}
	if off, n := v.Span(6, 10); off != 6 || n != 4 {
		t.Errorf("Span(6, 10) = %d, %d", off, n)
	}
}

func TestViewProperties(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) { checkView(t, text().Draw(t, "s")) })
}

// checkView asserts what holds for the view of every text.
func checkView(t fataler, s string) {
	t.Helper()
	v := NewView(s)
	if !utf8.ValidString(v.Text) || strings.ContainsFunc(v.Text, Ignorable) {
		t.Fatalf("view of %+q is %+q", s, v.Text)
	}
	if !utf8.ValidString(s) {
		return
	}
	if v.Off == nil {
		if v.Text != strings.ToLower(s) {
			t.Fatalf("view of %+q is %+q without offsets", s, v.Text)
		}
		return
	}
	if len(v.Off) != len(v.Text)+1 || int(v.Off[len(v.Text)]) != len(s) {
		t.Fatalf("view of %+q: %d bytes, %d offsets", s, len(v.Text), len(v.Off))
	}
	end := 0
	for i := range len(v.Text) {
		off, n := v.Span(i, i+1)
		if n <= 0 || off+n > len(s) || off+n < end || !utf8.ValidString(s[off:off+n]) {
			t.Fatalf("view of %+q: byte %d comes from %d+%d", s, i, off, n)
		}
		end = off + n
	}
	if off, n := v.Span(0, len(v.Text)); n > 0 {
		if got, want := NewView(norm.NFC.String(s[off:off+n])).Text == "", v.Text == ""; got != want {
			t.Fatalf("span of the whole view of %+q is %+q", s, s[off:off+n])
		}
	}
}
