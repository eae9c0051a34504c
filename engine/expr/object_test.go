package expr_test

import (
	"testing"

	"go.starlark.net/starlark"
	"pgregory.net/rapid"

	"pulley/engine/expr"
	"pulley/engine/ir"
)

func TestDecodeObject(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := values(3).Draw(t, "v")
		key := rapid.SampledFrom([]string{"a", "ab", `a"b`, "", "é"})
		keys := rapid.SliceOfN(key, 0, 4).Draw(t, "keys")
		known := rapid.SliceOfN(key, 0, 4).Draw(t, "known")
		write := func(data []byte, v expr.Value) []byte {
			data, err := expr.AppendJSON(data, v)
			if err != nil {
				t.Fatal(err)
			}
			return data
		}
		data := []byte("{")
		for i, k := range keys {
			if i > 0 {
				data = append(data, " ,\n"...)
			}
			data = write(append(write(data, starlark.String(k)), ':'), v)
		}
		data = append(data, '}')
		got, err := expr.DecodeObject(data, ir.Limits{}, known)
		if err != nil {
			t.Fatalf("%s: %v", data, err)
		}
		if len(got) != len(keys) {
			t.Fatalf("%s has %d entries, not %d", data, len(got), len(keys))
		}
		for i, e := range got {
			if e.Key != keys[i] || !same(e.Value, v) || !isNormal(e.Value) {
				t.Fatalf("%s: entry %d is %q: %v", data, i, e.Key, e.Value)
			}
		}
	})
}

func TestDecodeObjectRefuses(t *testing.T) {
	for _, c := range []struct{ text, typ, want string }{
		{`[]`, expr.TypeValue, `JSON at byte 0: '[' stands where an object should stand`},
		{``, expr.TypeValue, `JSON at byte 0: the text ends where an object should stand`},
		{`{"a":1`, expr.TypeValue, `JSON at byte 6: the text ends where a comma or } should stand`},
		{`{"a":1}x`, expr.TypeValue, `JSON at byte 7: nothing may follow the object`},
		{`{"a" 1}`, expr.TypeValue, `JSON at byte 5: '1' stands where a colon should stand`},
		{`{a:1}`, expr.TypeValue, `JSON at byte 1: 'a' stands where a key in double quotes should stand`},
		{`{"a":1,}`, expr.TypeValue, `JSON at byte 7: '}' stands where a key in double quotes should stand`},
		{"{\"a\":\"\xff\"}", expr.TypeValue, `JSON at byte 6: this is not UTF-8`},
		{`{"a":12345,"b":"12345678"}`, "", ``},
		{`{"a":12345,"b":"123456789"}`, expr.TypeLimit, `bytes of a value: 11 is over the limit of 10; …`},
		{`{"a":[1e9,1e9]}`, expr.TypeLimit, `bytes of a value: 15 is over the limit of 10; …`},
	} {
		_, err := expr.DecodeObject([]byte(c.text), ir.Limits{ValueBytes: 10}, []string{"a"})
		if c.typ == "" {
			if err != nil {
				t.Errorf("%s: %v", c.text, err)
			}
			continue
		}
		checkError(t, "DecodeObject("+c.text+")", err, c.typ, c.want)
	}
}
