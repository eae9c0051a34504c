package expr_test

import (
	"encoding/json"
	"errors"
	"math"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
	"pgregory.net/rapid"

	"pulley/engine/expr"
	"pulley/engine/ir"
)

// Plain Starlark's values need not be normal.
func raw(t testing.TB, text string) starlark.Value {
	t.Helper()
	v, err := starlark.EvalOptions(&syntax.FileOptions{}, new(starlark.Thread), "raw", text, nil)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return v
}

func TestNormalize(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`None`, `null`},
		{`(1, (2, [3]))`, `[1,[2,[3]]]`},
		{`()`, `[]`},
		{`range(3)`, `[0,1,2]`},
		{`[1, range(2), 3]`, `[1,[0,1],3]`},
		{`{"b": (1,), "a": 2.0}`, `{"b":[1],"a":2.0}`},
		{`{"a": [{"b": ()}], "c": [1]}`, `{"a":[{"b":[]}],"c":[1]}`},
		{`{"a": 1}.items()`, `[["a",1]]`},
	} {
		v, err := expr.Normalize(raw(t, c.text), ir.Limits{})
		if err != nil {
			t.Errorf("%s: %v", c.text, err)
			continue
		}
		if got := mustEncode(t, v); got != c.want || !isNormal(v) {
			t.Errorf("%s becomes %s (normal: %v), want %s", c.text, got, isNormal(v), c.want)
		}
	}
}

func TestNormalizeKeepsWhatIsNormal(t *testing.T) {
	for _, text := range []string{`[1, "a", {"b": [None, 2.5]}]`, `{"a": [1]}`, `[]`} {
		v := raw(t, text)
		normal, err := expr.Normalize(v, ir.Limits{})
		if err != nil || normal != v || !isNormal(v) {
			t.Errorf("%s: got %v (the same: %v, normal: %v), %v", text, normal, normal == v, isNormal(v), err)
		}
	}
	shared := raw(t, `[1, 2]`)
	mixed := starlark.NewList([]starlark.Value{shared, starlark.Tuple{starlark.MakeInt(3)}})
	normal, err := expr.Normalize(mixed, ir.Limits{})
	if err != nil || normal.(*starlark.List).Index(0) != shared {
		t.Errorf("a part that is normal was copied: %v, %v", normal, err)
	}
	if _, isTuple := mixed.Index(1).(starlark.Tuple); !isTuple {
		t.Error("Normalize changed its argument")
	}
}

func TestNormalizeRefuses(t *testing.T) {
	deep := raw(t, `[]`)
	for range 513 {
		deep = starlark.NewList([]starlark.Value{deep})
	}
	for _, c := range []struct {
		v         starlark.Value
		typ, want string
	}{
		{nil, expr.TypeValue, `there is no value`},
		{raw(t, `len`), expr.TypeValue, `a builtin_function_or_method is not a value; a value is None, a bool, a number, a string, a list or a dict`},
		{raw(t, `[lambda: 1]`), expr.TypeValue, `a function is not a value; …`},
		{raw(t, `b"x"`), expr.TypeValue, `a bytes is not a value; …`},
		{starlark.NewSet(0), expr.TypeValue, `a set is not a value; …`},
		{raw(t, `"ab".elems()`), expr.TypeValue, `a string.elems is not a value; …`},
		{raw(t, `{1: 2}`), expr.TypeValue, `a dict's key must be a string, not int`},
		{raw(t, `{"a": {("b",): 2}}`), expr.TypeValue, `a dict's key must be a string, not tuple`},
		{raw(t, `float("nan")`), expr.TypeValue, `a float must be finite, not nan`},
		{raw(t, `[float("-inf")]`), expr.TypeValue, `a float must be finite, not -inf`},
		{raw(t, `{"é"[0]: 1}`), expr.TypeValue, `the string "\xc3" is not valid UTF-8`},
		{starlark.String(strings.Repeat("a", 100) + "\xff"), expr.TypeValue, `the string "` + strings.Repeat("a", 40) + `…" is not valid UTF-8`},
		{deep, expr.TypeLimit, `nesting of a value: 513 is over the limit of 512; make it smaller or raise the limit`},
		{raw(t, `range(1 << 40)`), expr.TypeLimit, `bytes of a value: 1099511627777 is over the limit of 1048576; make it smaller or raise the limit`},
		{starlark.String(strings.Repeat("\x01", 200_000)), expr.TypeLimit, `bytes of a value: 1200002 is over the limit of 1048576; …`},
	} {
		_, err := expr.Normalize(c.v, ir.Limits{})
		checkError(t, "Normalize", err, c.typ, c.want)
	}
}

// A value has 2^60 shared parts: only the limit ends the walk.
func TestNormalizeStopsAtTheLimit(t *testing.T) {
	v := raw(t, `["a"]`)
	for range 60 {
		v = starlark.NewList([]starlark.Value{v, v})
	}
	_, err := expr.Normalize(v, ir.Limits{})
	checkError(t, "2^60 parts", err, expr.TypeLimit, "bytes of a value: …")
}

func TestEqual(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{`1`, `1.0`, true},
		{`0.0`, `-0.0`, true},
		{`9007199254740993`, `9007199254740992.0`, false},
		{`9007199254740992`, `9007199254740992.0`, true},
		{`1e300`, `1` + strings.Repeat("0", 300), false}, // 1e300 is not exactly 10^300
		{`-1e22`, `-1` + strings.Repeat("0", 22), true},
		{`123456789012345678901`, `123456789012345678901`, true},
		{`true`, `1`, false},
		{`null`, `false`, false},
		{`null`, `null`, true},
		{`true`, `true`, true},
		{`"a"`, `"a"`, true},
		{`"a"`, `"b"`, false},
		{`"1"`, `1`, false},
		{`[1,[2]]`, `[1.0,[2]]`, true},
		{`[1,2]`, `[2,1]`, false},
		{`[1]`, `[1,1]`, false},
		{`[]`, `{}`, false},
		{`{"a":1,"b":2}`, `{"b":2,"a":1}`, true},
		{`{"a":1}`, `{"b":1}`, false},
		{`{"a":1}`, `{"a":2}`, false},
		{`{"a":1}`, `{"a":1,"b":2}`, false},
		{`{"a":1}`, `[["a",1]]`, false},
	} {
		a, b := mustDecode(t, c.a), mustDecode(t, c.b)
		if got := expr.Equal(a, b); got != c.want {
			t.Errorf("%s == %s is %v", c.a, c.b, got)
		}
		if got := expr.Equal(b, a); got != c.want {
			t.Errorf("%s == %s is %v", c.b, c.a, got)
		}
	}
	deep := strings.Repeat("[", 500) + strings.Repeat("]", 500)
	if !expr.Equal(mustDecode(t, deep), mustDecode(t, deep)) {
		t.Error("500 lists within each other do not equal themselves")
	}
}

func TestTruth(t *testing.T) {
	for _, text := range []string{`null`, `false`, `0`, `0.0`, `""`, `[]`, `{}`} {
		if expr.Truth(mustDecode(t, text)) {
			t.Errorf("%s counts as true", text)
		}
	}
	for _, text := range []string{`true`, `-1`, `0.1`, `" "`, `[0]`, `{"":0}`} {
		if !expr.Truth(mustDecode(t, text)) {
			t.Errorf("%s counts as false", text)
		}
	}
}

func TestNewError(t *testing.T) {
	for _, c := range []struct {
		v    expr.Value
		want string
	}{
		{expr.NewError("Declined", "no money", "payments.charge"), `{"type":"Declined","message":"no money","action":"payments.charge"}`},
		{expr.NewError("ExpressionError", "1/0", ""), `{"type":"ExpressionError","message":"1/0","action":null}`},
		{expr.NewError("E", "a\xffb", ""), "{\"type\":\"E\",\"message\":\"a\ufffdb\",\"action\":null}"},
	} {
		if got := mustEncode(t, c.v); got != c.want || !isNormal(c.v) {
			t.Errorf("got %s (normal: %v), want %s", got, isNormal(c.v), c.want)
		}
	}
}

type celsius float64

type point struct {
	X int     `json:"x"`
	Y float64 `json:"y"`
}

type loop struct{ Next *loop }

func TestFromGo(t *testing.T) {
	big1, n := new(big.Int).Lsh(big.NewInt(1), 70), 5
	for _, c := range []struct {
		v    any
		want string
	}{
		{nil, `null`},
		{true, `true`},
		{-3, `-3`},
		{int8(-3), `-3`},
		{uint16(3), `3`},
		{uint64(math.MaxUint64), `18446744073709551615`},
		{int64(math.MinInt64), `-9223372036854775808`},
		{big1, `1180591620717411303424`},
		{(*big.Int)(nil), `null`},
		{2.0, `2.0`},
		{float32(0.5), `0.5`},
		{celsius(3), `3.0`},
		{"a<b", `"a<b"`},
		{json.Number("1"), `1`},
		{json.Number("1.0"), `1.0`},
		{json.RawMessage(`{"b":1,"a":2}`), `{"b":1,"a":2}`},
		{[]any{1, "a", nil}, `[1,"a",null]`},
		{[]any(nil), `null`},
		{[]float64{1, 2.5}, `[1.0,2.5]`},
		{[2]string{"a", "b"}, `["a","b"]`},
		{[]byte("hi"), `"aGk="`},
		{map[string]any{"b": []int{1}, "a": map[string]int{"z": 1, "y": 2}}, `{"a":{"y":2,"z":1},"b":[1]}`},
		{map[string]any(nil), `null`},
		{map[int]string{2: "b", 1: "a"}, `{"1":"a","2":"b"}`},
		{&n, `5`},
		{(*int)(nil), `null`},
		{point{1, 2.5}, `{"x":1,"y":2.5}`},
		{[]*point{{1, 0.5}}, `[{"x":1,"y":0.5}]`},
		{time.Unix(0, 0).UTC(), `"1970-01-01T00:00:00Z"`},
		{time.Second, `1000000000`},
		{starlark.Tuple{starlark.MakeInt(1)}, `[1]`},
		{[]any{starlark.None}, `[null]`},
		{starlark.StringDict{"a": starlark.True}, `{"a":true}`},
	} {
		v, err := expr.FromGo(c.v)
		if err != nil {
			t.Errorf("%#v: %v", c.v, err)
			continue
		}
		if got := mustEncode(t, v); got != c.want || !isNormal(v) {
			t.Errorf("%#v becomes %s (normal: %v), want %s", c.v, got, isNormal(v), c.want)
		}
	}
}

func TestFromGoRefuses(t *testing.T) {
	var deep any
	for range 514 {
		deep = []any{deep}
	}
	cycle := map[string]any{}
	cycle["a"] = cycle
	ring := &loop{}
	ring.Next = ring
	half := starlark.NewList(nil)
	for range 300 {
		half = starlark.NewList([]starlark.Value{half})
	}
	var whole any = half
	for range 300 {
		whole = []any{whole}
	}
	for _, c := range []struct {
		v         any
		typ, want string
	}{
		{math.Inf(1), expr.TypeValue, `a float must be finite, not +inf`},
		{[]float32{float32(math.NaN())}, expr.TypeValue, `a float must be finite, not nan`},
		{"\xff", expr.TypeValue, `the string "\xff" is not valid UTF-8`},
		{map[string]any{"\xff": 1}, expr.TypeValue, `the string "\xff" is not valid UTF-8`},
		{map[string]any{"a": func() {}}, expr.TypeValue, `a Go func() cannot be a value: json: unsupported type: func()`},
		{make(chan int), expr.TypeValue, `a Go chan int cannot be a value: …`},
		{json.Number("x"), expr.TypeValue, `JSON at byte 0: 'x' stands where a value should stand`},
		{json.RawMessage(`[`), expr.TypeValue, `JSON at byte 1: …`},
		{starlark.Universe["len"], expr.TypeValue, `a builtin_function_or_method is not a value; …`},
		{deep, expr.TypeLimit, `nesting of a value: 513 is over the limit of 512; …`},
		{cycle, expr.TypeLimit, `nesting of a value: 513 is over the limit of 512; …`},
		{ring, expr.TypeValue, `a Go expr_test.loop cannot be a value: json: unsupported value: encountered a cycle via *expr_test.loop`},
		{whole, expr.TypeLimit, `nesting of a value: 513 is over the limit of 512; …`},
	} {
		_, err := expr.FromGo(c.v)
		checkError(t, "FromGo", err, c.typ, c.want)
	}
}

func TestToGo(t *testing.T) {
	v := mustDecode(t, `[null,true,1,9223372036854775808,1.0,"a",[],{"b":{"c":2}}]`)
	want := []any{nil, true, int64(1), json.Number("9223372036854775808"), 1.0, "a", []any{}, map[string]any{"b": map[string]any{"c": int64(2)}}}
	if diff := cmp.Diff(want, expr.ToGo(v)); diff != "" {
		t.Error(diff)
	}
}

func TestFromGoInvertsToGo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		v := values(3).Draw(t, "v")
		back, err := expr.FromGo(expr.ToGo(v))
		if err != nil || !expr.Equal(v, back) {
			t.Fatalf("%v comes back as %v, %v", v, back, err)
		}
	})
}

func TestEvalErrorText(t *testing.T) {
	err := &expr.EvalError{Pos: where, Type: expr.TypeExpression, Msg: "no"}
	if got := err.Error(); got != "t.ir:3:5: no" {
		t.Errorf("got %q", got)
	}
	err.Pos = ir.Pos{}
	if got := err.Error(); got != "no" {
		t.Errorf("without position: got %q", got)
	}
	var target *expr.EvalError
	if _, decodeErr := expr.Decode(nil, ir.Limits{}); !errors.As(decodeErr, &target) {
		t.Error("Decode's error is not an EvalError")
	}
}
