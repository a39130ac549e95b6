// Package strictjson reads the arguments of a tool call so that every reader of
// the same bytes sees the same arguments.
//
// Words: the arguments are one JSON object (RFC 8259); an argument is a member of
// that object; a key is the name of a member at any depth.
//
// JSON decoders disagree exactly where a guard can be fooled. encoding/json keeps
// the last of two equal keys, others the first, and it matches a key to a struct
// field under case folding, so that {"path":"ok","PATH":"/etc/passwd"} is one
// thing to a guard that looks up "path" and another to the tool behind it
// (CVE-2026-27896 is of this kind). Hence the rules, in the order in which they
// are judged:
//
//  1. args.too-large: more than [MaxSize] bytes.
//  2. args.utf8: not valid UTF-8, or an escape that names half a surrogate pair;
//     decoders replace both, and then two different texts become one.
//  3. args.too-deep: objects and arrays nested more than [MaxDepth] levels.
//  4. args.malformed: not JSON; args.trailing: JSON, and then something else.
//  5. args.type: JSON but not an object; or, in arguments that the host decoded,
//     a Go value that no JSON decoder produces.
//  6. args.duplicate-key, args.folded-key: two keys of one object are equal, or
//     are equal under [Fold], at any depth.
//
// Not guaranteed: that the names are ones the tool knows, or the values of a type
// that it expects. A single key "PATH" passes here; callers compare names exactly.
package strictjson

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

const (
	// MaxSize caps the arguments, in bytes. A memory is at most 64 KiB; escaped as
	// \uXXXX throughout it is six times that, and an edit carries two texts.
	MaxSize = 1 << 20
	// MaxDepth caps nesting; the object itself is level 1. Tool arguments of the
	// surveyed hosts nest at most four levels, their JSON schemas a dozen.
	MaxDepth = 32

	nameBytes = 40 // of an argument's name, shown in an error
)

// Error says which rule the arguments break. Its text holds no content, only the
// name of one argument, cut and quoted.
type Error struct {
	Rule string // "args.duplicate-key", "args.folded-key", "args.malformed", "args.too-deep", "args.too-large", "args.utf8", "args.type" or "args.trailing"
	Name string // the argument that it is about or lies in, whole; "" when it is the object
}

// Error gives a line such as `arguments: "path": key occurs twice`.
func (e *Error) Error() string {
	if e.Name == "" {
		return "arguments: " + explain(e.Rule)
	}
	name := e.Name
	if len(name) > nameBytes {
		name = strings.ToValidUTF8(name[:nameBytes], "") + "..."
	}
	return fmt.Sprintf("arguments: %q: %s", name, explain(e.Rule))
}

func explain(rule string) string {
	switch rule {
	case "args.duplicate-key":
		return "key occurs twice"
	case "args.folded-key":
		return "key differs from another one only in letter case"
	case "args.too-deep":
		return fmt.Sprintf("nested more than %d levels", MaxDepth)
	case "args.too-large":
		return fmt.Sprintf("larger than %d bytes", MaxSize)
	case "args.utf8":
		return "not valid UTF-8"
	case "args.type":
		return "not a JSON object of JSON values"
	case "args.trailing":
		return "something follows the object"
	}
	return "not valid JSON"
}

func refuse(rule, name string) *Error { return &Error{Rule: rule, Name: name} }

// Object gives the arguments of one call. raw is json.RawMessage, []byte or
// string, holding one JSON object, or the map[string]any that a host decoded (a
// nil map has no arguments; the host's decoder has by then dropped duplicate
// keys, which nobody can see any more). The result is the caller's own, shares
// nothing with raw, and holds nil, bool, string, json.Number, []any and
// map[string]any only. An error is an *[Error].
func Object(raw any) (map[string]any, error) {
	switch v := raw.(type) {
	case map[string]any:
		c := copier{left: MaxSize}
		return c.object(v, 1, "", true)
	case json.RawMessage:
		return parse(v)
	case []byte:
		return parse(v)
	case string:
		if len(v) > MaxSize {
			return nil, refuse("args.too-large", "")
		}
		return parse([]byte(v))
	}
	return nil, refuse("args.type", "")
}

// Fold gives the form under which encoding/json takes two keys for one: each rune
// replaced by the smallest of its simple-folding orbit, so that U+017F is S and
// U+212A is K (encoding/json/fold.go, foldName). Two valid UTF-8 texts have one
// form exactly when strings.EqualFold holds for them.
func Fold(name string) string {
	return strings.Map(func(r rune) rune {
		if r < utf8.RuneSelf {
			if 'a' <= r && r <= 'z' {
				r -= 'a' - 'A'
			}
			return r
		}
		for {
			next := unicode.SimpleFold(r)
			if next <= r { // the orbit is ascending but for its last step
				return next
			}
			r = next
		}
	}, name)
}

// parse reads text. The grammar is encoding/json's own; what that one lets pass
// is judged before it (scan) and while the tokens are read (reader).
func parse(data []byte) (map[string]any, error) {
	if len(data) > MaxSize {
		return nil, refuse("args.too-large", "")
	}
	if !utf8.Valid(data) {
		return nil, refuse("args.utf8", "")
	}
	if rule := scan(data); rule != "" {
		return nil, refuse(rule, "")
	}
	if !json.Valid(data) {
		return nil, refuse(invalid(data), "")
	}
	dec := json.NewDecoder(bytes.NewReader(data))
	dec.UseNumber()
	if first, err := dec.Token(); err != nil || first != json.Delim('{') {
		return nil, refuse("args.type", "")
	}
	r := reader{dec: dec}
	return r.object("", true)
}

// scan finds nesting beyond the cap and escapes of half a surrogate pair, without
// recursion. It need not understand malformed text: that is refused afterwards.
func scan(data []byte) (rule string) {
	depth := 0
	for i := 0; i < len(data); i++ {
		switch data[i] {
		case '{', '[':
			if depth++; depth > MaxDepth {
				return "args.too-deep"
			}
		case '}', ']':
			depth--
		case '"':
			end, ok := scanString(data, i+1)
			if !ok {
				return "args.utf8"
			}
			i = end
		}
	}
	return ""
}

// scanString skips the string whose first byte is data[i] and gives the place of
// its closing quote; ok is false when it holds half a surrogate pair.
func scanString(data []byte, i int) (end int, ok bool) {
	for ; i < len(data) && data[i] != '"'; i++ {
		if data[i] != '\\' {
			continue
		}
		unit, isUnit := escaped(data, i)
		if !isUnit {
			i++ // a two-byte escape, of a quote or a backslash perhaps
			continue
		}
		i += 5 // the loop adds the sixth byte
		switch {
		case unit >= 0xDC00 && unit <= 0xDFFF:
			return i, false
		case unit >= 0xD800 && unit <= 0xDBFF:
			low, isUnit := escaped(data, i+1)
			if !isUnit || low < 0xDC00 || low > 0xDFFF {
				return i, false
			}
			i += 6
		}
	}
	return i, true
}

// escaped reads the UTF-16 unit of a \uXXXX escape at data[i].
func escaped(data []byte, i int) (unit uint64, ok bool) {
	if i+6 > len(data) || data[i] != '\\' || data[i+1] != 'u' {
		return 0, false
	}
	for _, c := range data[i+2 : i+6] {
		switch {
		case '0' <= c && c <= '9':
			c -= '0'
		case 'a' <= c && c <= 'f':
			c -= 'a' - 10
		case 'A' <= c && c <= 'F':
			c -= 'A' - 10
		default:
			return 0, false
		}
		unit = unit<<4 | uint64(c)
	}
	return unit, true
}

// invalid tells text that is no JSON from JSON that something follows.
func invalid(data []byte) (rule string) {
	var first json.RawMessage
	if json.NewDecoder(bytes.NewReader(data)).Decode(&first) == nil {
		return "args.trailing"
	}
	return "args.malformed"
}

// reader builds values from the tokens of text that scan and json.Valid passed,
// so its recursion is bounded by MaxDepth.
type reader struct{ dec *json.Decoder }

// object reads members up to the closing brace. top says that it is the arguments
// themselves; else arg is the argument that it lies in.
func (r *reader) object(arg string, top bool) (map[string]any, error) {
	m := map[string]any{}
	var seen keys
	for r.dec.More() {
		tok, err := r.dec.Token()
		if err != nil {
			return nil, refuse("args.malformed", arg)
		}
		key, _ := tok.(string)
		if top {
			arg = key // keys below an argument are content, and never named
		}
		if rule := seen.add(key); rule != "" {
			return nil, refuse(rule, arg)
		}
		if m[key], err = r.value(arg); err != nil {
			return nil, err
		}
	}
	if _, err := r.dec.Token(); err != nil {
		return nil, refuse("args.malformed", arg)
	}
	return m, nil
}

func (r *reader) value(arg string) (any, error) {
	tok, err := r.dec.Token()
	if err != nil {
		return nil, refuse("args.malformed", arg)
	}
	switch tok {
	case json.Delim('{'):
		return r.object(arg, false)
	case json.Delim('['):
		list := []any{}
		for r.dec.More() {
			v, err := r.value(arg)
			if err != nil {
				return nil, err
			}
			list = append(list, v)
		}
		if _, err := r.dec.Token(); err != nil {
			return nil, refuse("args.malformed", arg)
		}
		return list, nil
	}
	return tok, nil // nil, bool, string or json.Number
}

// keys are the keys of one object so far: folded form to the key as written.
type keys map[string]string

func (k *keys) add(key string) (rule string) {
	if *k == nil {
		*k = keys{}
	}
	folded := Fold(key)
	switch was, taken := (*k)[folded]; {
	case taken && was == key:
		return "args.duplicate-key"
	case taken:
		return "args.folded-key"
	}
	(*k)[folded] = key
	return ""
}

// copier copies arguments that the host decoded. left bounds the work: a map can
// hold itself, or one list many times over, and then has no size of its own.
type copier struct{ left int }

func (c *copier) spend(n int) error {
	if c.left -= n; c.left < 0 {
		return refuse("args.too-large", "")
	}
	return nil
}

// object copies members in the order of their keys, so that of several refusals
// always the same one is given. top and arg are as in reader.object.
func (c *copier) object(m map[string]any, depth int, arg string, top bool) (map[string]any, error) {
	if depth > MaxDepth {
		return nil, refuse("args.too-deep", arg)
	}
	if err := c.spend(len(m)); err != nil {
		return nil, err
	}
	out := make(map[string]any, len(m))
	var seen keys
	for _, key := range slices.Sorted(maps.Keys(m)) {
		if !utf8.ValidString(key) {
			return nil, refuse("args.utf8", arg)
		}
		if top {
			arg = key
		}
		if err := c.spend(len(key)); err != nil {
			return nil, err
		}
		if rule := seen.add(key); rule != "" {
			return nil, refuse(rule, arg)
		}
		var err error
		if out[key], err = c.value(m[key], depth, arg); err != nil {
			return nil, err
		}
	}
	return out, nil
}

func (c *copier) value(v any, depth int, arg string) (any, error) {
	switch v := v.(type) {
	case nil, bool:
		return v, nil
	case string:
		if !utf8.ValidString(v) {
			return nil, refuse("args.utf8", arg)
		}
		return v, c.spend(len(v))
	case map[string]any:
		return c.object(v, depth+1, arg, false)
	case []any:
		if depth+1 > MaxDepth {
			return nil, refuse("args.too-deep", arg)
		}
		if err := c.spend(len(v)); err != nil {
			return nil, err
		}
		list := make([]any, 0, len(v))
		for _, e := range v {
			e, err := c.value(e, depth+1, arg)
			if err != nil {
				return nil, err
			}
			list = append(list, e)
		}
		return list, nil
	}
	n, ok := number(v)
	if !ok {
		return nil, refuse("args.type", arg)
	}
	return n, c.spend(len(n))
}

// number normalises the number types of decoders: float64 of encoding/json and
// structpb, int and int64 of YAML and of calls written in Go, json.Number.
func number(v any) (json.Number, bool) {
	switch v := v.(type) {
	case json.Number:
		s := string(v)
		// json.Valid allows any JSON value, and spaces around it.
		if s == "" || strings.Trim(s, "+-.0123456789Ee") != "" || !json.Valid([]byte(s)) {
			return "", false
		}
		return v, true
	case int:
		return json.Number(strconv.Itoa(v)), true
	case int64:
		return json.Number(strconv.FormatInt(v, 10)), true
	case float64:
		if math.IsInf(v, 0) || math.IsNaN(v) {
			return "", false
		}
		b, err := json.Marshal(v) // 3 for 3.0; an exponent only where encoding/json writes one
		return json.Number(b), err == nil
	}
	return "", false
}
