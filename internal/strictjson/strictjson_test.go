package strictjson

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

func rule(err error) string {
	if err == nil {
		return ""
	}
	if e, ok := errors.AsType[*Error](err); ok {
		return e.Rule
	}
	return "none"
}

func TestObjectText(t *testing.T) {
	deep := func(n int) string { return `{"a":` + strings.Repeat("[", n-1) + strings.Repeat("]", n-1) + "}" }
	tests := []struct {
		name, in, want string
	}{
		{"empty object", `{}`, ""},
		{"plain", ` {"path":"/memories/a.md","view_range":[1,-1]} `, ""},
		{"every type", `{"a":null,"b":true,"c":false,"d":"x","e":1.5e3,"f":[{}],"g":{"h":[]}}`, ""},
		{"big number stays text", `{"n":123456789012345678901234567890}`, ""},
		{"surrogate pair", `{"s":"\ud83d\ude00"}`, ""},
		{"escaped backslash before u", `{"s":"\\ud800"}`, ""},
		{"escaped quote", `{"s":"\"{[{["}`, ""},
		{"same key in two objects", `{"a":{"x":1},"b":{"x":2}}`, ""},
		{"at the depth cap", deep(MaxDepth), ""},
		{"brackets in text", `{"s":"` + strings.Repeat("[", 100) + `"}`, ""},

		{"duplicate", `{"path":"ok","path":"/etc/passwd"}`, "args.duplicate-key"},
		{"duplicate through an escape", `{"path":"ok","p\u0061th":"/etc/passwd"}`, "args.duplicate-key"},
		{"duplicate empty key", `{"":1,"":2}`, "args.duplicate-key"},
		{"duplicate below", `{"a":[{"x":1,"x":2}]}`, "args.duplicate-key"},
		{"duplicate in a later element", `{"a":[{"x":1},{"y":{"z":1,"z":1}}]}`, "args.duplicate-key"},
		{"folded", `{"path":"ok","PATH":"/etc/passwd"}`, "args.folded-key"},
		{"folded below", `{"a":{"Path":1,"path":2}}`, "args.folded-key"},
		{"long s", `{"sources":"ok","ſources":"/etc/passwd"}`, "args.folded-key"},
		{"long s, escaped", `{"sources":"ok","\u017fources":"/etc/passwd"}`, "args.folded-key"},
		{"kelvin", `{"key":"ok","\u212aey":"x"}`, "args.folded-key"},
		{"greek final sigma", `{"ος":1,"οσ":2}`, "args.folded-key"},

		{"empty", ``, "args.malformed"},
		{"blank", "  \n", "args.malformed"},
		{"cut", `{"a":1`, "args.malformed"},
		{"single quotes", `{'a':1}`, "args.malformed"},
		{"comma at the end", `{"a":1,}`, "args.malformed"},
		{"comment", `{/*x*/"a":1}`, "args.malformed"},
		{"bare name", `{a:1}`, "args.malformed"},
		{"NaN", `{"a":NaN}`, "args.malformed"},
		{"leading zero", `{"a":01}`, "args.malformed"},
		{"raw newline in text", "{\"a\":\"\n\"}", "args.malformed"},
		{"byte order mark", "\ufeff{}", "args.malformed"},
		{"short escape", `{"a":"\u12"}`, "args.malformed"},
		{"unknown escape", `{"a":"\x41"}`, "args.malformed"},

		{"second object", `{"path":"ok"}{"path":"/etc/passwd"}`, "args.trailing"},
		{"second value", `{} 1`, "args.trailing"},
		{"closing brace", `{"a":1}}`, "args.trailing"},
		{"NUL", "{}\x00", "args.trailing"},

		{"null", `null`, "args.type"},
		{"array", `[{"a":1}]`, "args.type"},
		{"number", `1`, "args.type"},
		{"encoded twice", `"{\"path\":\"x\"}"`, "args.type"},

		{"raw bytes", "{\"a\":\"\xff\"}", "args.utf8"},
		{"overlong", "{\"a\":\"\xc0\xaf\"}", "args.utf8"},
		{"raw surrogate", "{\"a\":\"\xed\xa0\x80\"}", "args.utf8"},
		{"lone high", `{"a":"\ud800"}`, "args.utf8"},
		{"lone low", `{"a":"\uDC00"}`, "args.utf8"},
		{"high and text", `{"a":"\ud800x"}`, "args.utf8"},
		{"high and high", `{"a":"\ud800\ud800"}`, "args.utf8"},
		{"high and another escape", `{"a":"\ud800\n"}`, "args.utf8"},
		{"swapped pair", `{"a":"\ude00\ud83d"}`, "args.utf8"},
		{"lone in a key", `{"\ud800":1}`, "args.utf8"},
		{"lone after a backslash", `{"a":"\\\ud800"}`, "args.utf8"},
		{"keys that decoders would replace alike", `{"\ud800":1,"\ud801":2}`, "args.utf8"},

		{"beyond the depth cap", deep(MaxDepth + 1), "args.too-deep"},
		{"very deep and cut", strings.Repeat(`{"a":`, 1<<16), "args.too-deep"},
		{"too large", `{"a":"` + strings.Repeat("x", MaxSize) + `"}`, "args.too-large"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, raw := range []any{tt.in, []byte(tt.in), json.RawMessage(tt.in)} {
				got, err := Object(raw)
				if r := rule(err); r != tt.want {
					t.Errorf("Object(%T) rule = %q, want %q", raw, r, tt.want)
				}
				if (got == nil) != (err != nil) {
					t.Errorf("Object(%T) = %v, %v: want exactly one of them", raw, got, err)
				}
			}
		})
	}
}

func TestObjectAtTheSizeCap(t *testing.T) {
	in := `{"a":"` + strings.Repeat("x", MaxSize-len(`{"a":""}`)) + `"}`
	if len(in) != MaxSize {
		t.Fatal("test is wrong")
	}
	if _, err := Object(in); err != nil {
		t.Errorf("%d bytes: %v", len(in), err)
	}
	if _, err := Object(in + " "); rule(err) != "args.too-large" {
		t.Errorf("%d bytes: %v, want args.too-large", len(in)+1, err)
	}
}

func TestObjectValues(t *testing.T) {
	got, err := Object(`{"n":1.50,"s":"\u0041","l":[null,{"k":-0}],"b":true}`)
	want := map[string]any{
		"n": json.Number("1.50"), "s": "A", "b": true,
		"l": []any{nil, map[string]any{"k": json.Number("-0")}},
	}
	if err != nil || !cmp.Equal(got, want) {
		t.Errorf("Object = %v, %v\n%s", got, err, cmp.Diff(got, want))
	}
}

func TestObjectDecoded(t *testing.T) {
	loop := map[string]any{}
	loop["a"] = loop
	wide := []any{"xxxxxxxx"}
	for range 25 { // 2^25 elements from 25 slices
		wide = []any{wide, wide}
	}
	type named map[string]any
	tests := []struct {
		name string
		in   any
		want string
	}{
		{"nil map", map[string]any(nil), ""},
		{"plain", map[string]any{"a": "x", "b": []any{nil, true, 1, int64(2), 2.5, json.Number("3e1")}}, ""},
		{"folded", map[string]any{"path": 1, "PATH": 2}, "args.folded-key"},
		{"kelvin", map[string]any{"k": 1, "\u212a": 2}, "args.folded-key"},
		{"folded below", map[string]any{"a": []any{map[string]any{"s": 1, "ſ": 2}}}, "args.folded-key"},
		{"value not UTF-8", map[string]any{"a": "\xff"}, "args.utf8"},
		{"key not UTF-8", map[string]any{"\xff": 1}, "args.utf8"},
		{"surrogate as bytes", map[string]any{"a": "\xed\xa0\x80"}, "args.utf8"},
		{"holds itself", loop, "args.too-deep"},
		{"holds one list many times", map[string]any{"a": wide}, "args.too-large"},
		{"large", map[string]any{"a": strings.Repeat("x", MaxSize+1)}, "args.too-large"},
		{"many", map[string]any{"a": make([]any, MaxSize+1)}, "args.too-large"},
		{"bytes", map[string]any{"a": []byte("x")}, "args.type"},
		{"strings", map[string]any{"a": []string{"x"}}, "args.type"},
		{"raw", map[string]any{"a": json.RawMessage(`{}`)}, "args.type"},
		{"other map", map[string]any{"a": map[string]string{"b": "c"}}, "args.type"},
		{"named map", map[string]any{"a": named{}}, "args.type"},
		{"pointer", map[string]any{"a": new("x")}, "args.type"},
		{"func", map[string]any{"a": func() {}}, "args.type"},
		{"infinite", map[string]any{"a": math.Inf(1)}, "args.type"},
		{"not a number", map[string]any{"a": math.NaN()}, "args.type"},
		{"number that is none", map[string]any{"a": json.Number("0x10")}, "args.type"},
		{"number that is a word", map[string]any{"a": json.Number("true")}, "args.type"},
		{"number that is empty", map[string]any{"a": json.Number("")}, "args.type"},
		{"number with a space", map[string]any{"a": json.Number("1 ")}, "args.type"},
		{"number that is two", map[string]any{"a": json.Number("1,2")}, "args.type"},
		{"nil", nil, "args.type"},
		{"other top", map[string]string{"a": "b"}, "args.type"},
		{"named top", named{"a": "b"}, "args.type"},
		{"list", []any{}, "args.type"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := Object(tt.in)
			if r := rule(err); r != tt.want {
				t.Errorf("rule = %q, want %q", r, tt.want)
			}
			if (got == nil) != (err != nil) {
				t.Errorf("Object = %v, %v: want exactly one of them", got, err)
			}
		})
	}
}

func TestObjectCopies(t *testing.T) {
	in := map[string]any{"a": map[string]any{"b": []any{"c", 1, 3.0, 1e21}}}
	got, err := Object(in)
	if err != nil {
		t.Fatal(err)
	}
	in["a"].(map[string]any)["b"].([]any)[0] = "changed"
	in["a"].(map[string]any)["x"] = "added"
	want := map[string]any{"a": map[string]any{"b": []any{"c", json.Number("1"), json.Number("3"), json.Number("1e+21")}}}
	if !cmp.Equal(got, want) {
		t.Errorf("changed with the host's map:\n%s", cmp.Diff(got, want))
	}
}

func TestErrorQuotesAnArgumentOnly(t *testing.T) {
	long := strings.Repeat("é", 100)
	tests := []struct {
		in, want string
	}{
		{`{"a":1,"a":2}`, `arguments: "a": key occurs twice`},
		{`{"a":{"secret":1,"SECRET":2}}`, `arguments: "a": key differs from another one only in letter case`},
		{`{"":{"secret":1,"SECRET":2}}`, `arguments: key differs from another one only in letter case`},
		{`{"a\n":1,"A\n":2}`, `arguments: "A\n": key differs from another one only in letter case`},
		{`{"` + long + `":1,"` + long + `":1}`, `arguments: "` + strings.Repeat("é", 20) + `...": key occurs twice`},
		{`{"secret"`, `arguments: not valid JSON`},
	}
	for _, tt := range tests {
		_, err := Object(tt.in)
		if err == nil || err.Error() != tt.want {
			t.Errorf("got %v, want %s", err, tt.want)
		}
	}
}

// TestFoldIsEncodingJSONs compares Fold with what encoding/json does to a struct's
// field, for every rune, and with strings.EqualFold.
func TestFoldIsEncodingJSONs(t *testing.T) {
	var v struct {
		K int `json:"k"`
		S int `json:"s"`
		Σ int `json:"σ"`
	}
	for r := rune(1); r <= unicode.MaxRune; r++ {
		if !utf8.ValidRune(r) || !unicode.IsLetter(r) {
			continue
		}
		key := string(r)
		v.K, v.S, v.Σ = 0, 0, 0
		if r < 0x3000 { // the orbits of k, s and σ lie below
			if err := json.Unmarshal([]byte(`{"`+key+`":1}`), &v); err != nil {
				t.Fatal(err)
			}
		}
		f := Fold(key)
		if got, want := f == Fold("k"), v.K == 1; got != want {
			t.Errorf("%U: folds to k: %v, want %v", r, got, want)
		}
		if got, want := f == Fold("s"), v.S == 1; got != want {
			t.Errorf("%U: folds to s: %v, want %v", r, got, want)
		}
		if got, want := f == Fold("σ"), v.Σ == 1; got != want {
			t.Errorf("%U: folds to σ: %v, want %v", r, got, want)
		}
		if !strings.EqualFold(f, key) || Fold(f) != f || Fold(string(unicode.SimpleFold(r))) != f {
			t.Errorf("%U: Fold = %q: not the one form of its orbit", r, f)
		}
	}
}

// value draws JSON values with keys that often collide.
func value() *rapid.Generator[any] {
	key := rapid.SampledFrom([]string{"a", "A", "k", "K", "\u212a", "s", "ſ", "path", "Path", "", "é", "É"})
	return rapid.Custom(func(t *rapid.T) any { return draw(t, key, 0) })
}

func draw(t *rapid.T, key *rapid.Generator[string], depth int) any {
	kind := rapid.IntRange(0, 7).Draw(t, "kind")
	if depth == 0 {
		kind = 7
	}
	switch {
	case depth < 4 && kind == 7:
		m := map[string]any{}
		for range rapid.IntRange(0, 3).Draw(t, "members") {
			m[key.Draw(t, "key")] = draw(t, key, depth+1)
		}
		return m
	case depth < 4 && kind == 6:
		list := []any{}
		for range rapid.IntRange(0, 3).Draw(t, "elements") {
			list = append(list, draw(t, key, depth+1))
		}
		return list
	case kind == 0:
		return nil
	case kind == 1:
		return rapid.Bool().Draw(t, "bool")
	case kind == 2:
		return rapid.Float64Range(-1e30, 1e30).Draw(t, "float")
	}
	return rapid.String().Draw(t, "text")
}

// TestTextAndDecodedAgree: what a host decoded is judged like the text that it
// came from, and gives the same arguments.
func TestTextAndDecodedAgree(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		m := value().Draw(t, "value").(map[string]any)
		text, err := json.Marshal(m)
		if err != nil {
			t.Fatal(err)
		}
		a, errA := Object(m)
		b, errB := Object(text)
		if rule(errA) != rule(errB) || !cmp.Equal(a, b) {
			t.Fatalf("decoded: %v, %v\ntext: %v, %v", a, errA, b, errB)
		}
		if (errA == nil) != unique(m) {
			t.Fatalf("%s: %v, but keys unique under EqualFold: %v", text, errA, unique(m))
		}
		checkAccepted(t, text, b, errB)
	})
}

// unique is the naive oracle: no two keys of one object are equal under folding.
func unique(v any) bool {
	switch v := v.(type) {
	case map[string]any:
		for a := range v {
			for b := range v {
				if a != b && strings.EqualFold(a, b) {
					return false
				}
			}
			if !unique(v[a]) {
				return false
			}
		}
	case []any:
		for _, e := range v {
			if !unique(e) {
				return false
			}
		}
	}
	return true
}

// checkAccepted is the invariant of Object on text: accepted text means the same
// to encoding/json, survives a round trip, and has no two keys equal under folding.
func checkAccepted(t interface{ Fatalf(string, ...any) }, text []byte, got map[string]any, err error) {
	if err != nil {
		e, ok := errors.AsType[*Error](err)
		if !ok || got != nil || !strings.HasPrefix(e.Rule, "args.") || !utf8.ValidString(err.Error()) || len(err.Error()) > 400 {
			t.Fatalf("refusal of %q is %v, %v", text, got, err)
		}
		return
	}
	dec := json.NewDecoder(bytes.NewReader(text))
	dec.UseNumber()
	var want map[string]any
	if err := dec.Decode(&want); err != nil || !cmp.Equal(got, want) {
		t.Fatalf("encoding/json reads %q as %v, %v; Object as %v", text, want, err, got)
	}
	if !unique(got) {
		t.Fatalf("keys of %q are equal under folding", text)
	}
	again, err := json.Marshal(got)
	if err != nil {
		t.Fatalf("marshal of %v: %v", got, err)
	}
	back, err := Object(again)
	if err != nil && rule(err) != "args.too-large" || err == nil && !cmp.Equal(back, got) {
		t.Fatalf("round trip of %q: %v, %v", text, back, err)
	}
}

func FuzzObject(f *testing.F) {
	for _, s := range []string{
		`{}`, `{"a":1,"A":2}`, `{"a":1,"a":2}`, `{"k":1,"\u212a":2}`, `{"a":"\ud83d\ude00"}`, `{"a":"\ud800"}`,
		`{"a":[{"b":null},1e400,-0]}`, `{} {}`, `[]`, "{\"a\":\"\xff\"}", `{"a":"\\ud800"}`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		got, err := Object(text)
		checkAccepted(t, text, got, err)
		if s, errS := Object(string(text)); rule(errS) != rule(err) || !cmp.Equal(s, got) {
			t.Fatalf("string and bytes differ: %v, %v", s, errS)
		}
	})
}

func BenchmarkObject(b *testing.B) {
	text := []byte(`{"command":"create","path":"/memories/a.md","file_text":"` + strings.Repeat(`line\n`, 800) + `"}`)
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		m, err := Object(text)
		if err != nil || len(m) != 3 {
			b.Fatal(m, err)
		}
	}
}
