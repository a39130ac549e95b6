package journal

import (
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"pgregory.net/rapid"
)

// TestPackHoldsAll: every field of a state comes back, those that a later version adds
// too.
func TestPackHoldsAll(t *testing.T) {
	var s State
	n := int64(0)
	var fill func(v reflect.Value)
	fill = func(v reflect.Value) {
		n++
		switch v.Kind() {
		case reflect.String:
			v.SetString("text " + string(rune('a'+n%26)))
		case reflect.Int64:
			v.SetInt(n * 7919)
		case reflect.Bool:
			v.SetBool(true)
		case reflect.Slice:
			v.Set(reflect.MakeSlice(v.Type(), 2, 2))
			fill(v.Index(0))
			fill(v.Index(1))
		case reflect.Map:
			v.Set(reflect.MakeMap(v.Type()))
			for _, k := range []string{"b", "a/c.md", ""} {
				e := reflect.New(v.Type().Elem()).Elem()
				fill(e)
				v.SetMapIndex(reflect.ValueOf(k), e)
			}
		case reflect.Struct:
			if v.Type() == reflect.TypeFor[time.Time]() {
				v.Set(reflect.ValueOf(time.Unix(n*1e6, n).UTC()))
				return
			}
			for i := range v.NumField() {
				if v.Type().Field(i).IsExported() {
					fill(v.Field(i))
				}
			}
		default:
			t.Fatalf("no value for %v", v.Type())
		}
	}
	fill(reflect.ValueOf(&s).Elem())
	checkPacked(t, &s)
}

func checkPacked(t interface{ Fatalf(string, ...any) }, s *State) {
	packed := string(s.Pack())
	got, ok := Unpack(packed)
	if !ok {
		t.Fatalf("not read")
	}
	if d := cmp.Diff(got, s, cmpopts.IgnoreUnexported(State{}), cmpopts.EquateEmpty()); d != "" {
		t.Fatalf("(-got +want)\n%s", d)
	}
	if again := string(got.Pack()); again != packed {
		t.Fatalf("packed anew it is\n%q\nand was\n%q", again, packed)
	}
}

func TestPackRows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var s State
		for i, r := range drawRows(t) {
			r.Seq = int64(i + 1)
			s.Apply(r)
		}
		checkPacked(t, &s)
	})
}

// TestUnpackOther: a cut or changed state is another one or none, and no panic.
func TestUnpackOther(t *testing.T) {
	s := Replay(sample(), 1<<20)
	packed := string(s.Pack())
	for i := range packed {
		if _, ok := Unpack(packed[:i]); ok {
			t.Errorf("cut at %d", i)
		}
	}
	if _, ok := Unpack(packed + "\x00"); ok {
		t.Error("a byte added")
	}
}

func FuzzUnpack(f *testing.F) {
	f.Add(string(Replay(sample(), 1<<20).Pack()))
	f.Add(packMagic + "\x02\x02\xff\xff\xff\xff\x0f")
	f.Fuzz(func(t *testing.T, packed string) {
		if s, ok := Unpack(packed); ok {
			if again, ok := Unpack(string(s.Pack())); !ok || again.Seq != s.Seq || len(again.Accepted) != len(s.Accepted) {
				t.Error("another state")
			}
		}
	})
}
