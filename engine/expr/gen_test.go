package expr_test

import (
	"math"
	"math/big"
	"testing"

	"go.starlark.net/starlark"
	"pgregory.net/rapid"

	"pulley/engine/expr"
	"pulley/engine/ir"
)

// Some exceed a machine word.
func ints() *rapid.Generator[expr.Value] {
	return rapid.Custom(func(t *rapid.T) expr.Value {
		small := rapid.OneOf(rapid.Int64Range(-10, 10), rapid.Int64()).Draw(t, "int")
		if rapid.IntRange(0, 9).Draw(t, "big") > 0 {
			return starlark.MakeInt64(small)
		}
		n := big.NewInt(small)
		return starlark.MakeBigInt(n.Exp(n, big.NewInt(rapid.Int64Range(2, 40).Draw(t, "power")), nil))
	})
}

func floats() *rapid.Generator[expr.Value] {
	return rapid.Custom(func(t *rapid.T) expr.Value {
		f := rapid.OneOf(
			rapid.SampledFrom([]float64{0, math.Copysign(0, -1), 1, -1, 0.5, 1e15, 1e21, 1e-6, 1e-7, math.MaxFloat64, math.SmallestNonzeroFloat64}),
			rapid.Float64Range(-1e6, 1e6),
			rapid.Float64(),
		).Draw(t, "float")
		return starlark.Float(f)
	})
}

func strs() *rapid.Generator[expr.Value] {
	return rapid.Map(rapid.String(), func(s string) expr.Value { return starlark.String(s) })
}

func values(depth int) *rapid.Generator[expr.Value] {
	gens := []*rapid.Generator[expr.Value]{
		rapid.SampledFrom([]expr.Value{starlark.None, starlark.True, starlark.False}),
		ints(), floats(), strs(),
	}
	if depth > 0 {
		gens = append(gens, lists(depth), dicts(depth))
	}
	return rapid.OneOf(gens...)
}

func lists(depth int) *rapid.Generator[expr.Value] {
	return rapid.Custom(func(t *rapid.T) expr.Value {
		elems := rapid.SliceOfN(values(depth-1), 0, 6).Draw(t, "elems")
		list := starlark.NewList(elems)
		list.Freeze()
		return list
	})
}

func dicts(depth int) *rapid.Generator[expr.Value] {
	return rapid.Custom(func(t *rapid.T) expr.Value {
		d := starlark.NewDict(0)
		for _, key := range rapid.SliceOfN(rapid.String(), 0, 6).Draw(t, "keys") {
			if err := d.SetKey(starlark.String(key), values(depth-1).Draw(t, "value")); err != nil {
				t.Fatal(err)
			}
		}
		d.Freeze()
		return d
	})
}

// same also compares the type of numbers, the sign of a zero and the order of keys.
func same(a, b expr.Value) bool {
	switch a := a.(type) {
	case starlark.Float:
		b, ok := b.(starlark.Float)
		return ok && math.Float64bits(float64(a)) == math.Float64bits(float64(b))
	case *starlark.List:
		b, ok := b.(*starlark.List)
		if !ok || a.Len() != b.Len() {
			return false
		}
		for i := range a.Len() {
			if !same(a.Index(i), b.Index(i)) {
				return false
			}
		}
		return true
	case *starlark.Dict:
		b, ok := b.(*starlark.Dict)
		if !ok || a.Len() != b.Len() {
			return false
		}
		items := b.Items()
		for i, item := range a.Items() {
			if item[0] != items[i][0] || !same(item[1], items[i][1]) {
				return false
			}
		}
		return true
	}
	if a.Type() != b.Type() {
		return false
	}
	equal, err := starlark.Equal(a, b)
	return err == nil && equal
}

func isNormal(v starlark.Value) bool {
	switch v := v.(type) {
	case starlark.NoneType, starlark.Bool, starlark.Int, starlark.String:
		return true
	case starlark.Float:
		return !math.IsInf(float64(v), 0) && !math.IsNaN(float64(v))
	case *starlark.List:
		for i := range v.Len() {
			if !isNormal(v.Index(i)) {
				return false
			}
		}
		return v.Append(starlark.None) != nil
	case *starlark.Dict:
		for _, item := range v.Items() {
			if _, ok := item[0].(starlark.String); !ok || !isNormal(item[1]) {
				return false
			}
		}
		return v.SetKey(starlark.String("x"), starlark.None) != nil
	}
	return false
}

var where = ir.Pos{File: "t.ir", Line: 3, Col: 5}

func mustCompile(t testing.TB, text string) *expr.Compiled {
	t.Helper()
	c, err := expr.Compile(&ir.Expr{Pos: where, Text: text}, ir.Limits{})
	if err != nil {
		t.Fatalf("Compile(%s): %v", text, err)
	}
	return c
}

func eval(c *expr.Compiled, env map[string]expr.Value) (expr.Value, error) {
	args := make([]expr.Value, len(c.Names()))
	for i, name := range c.Names() {
		args[i] = env[name]
	}
	return c.Eval(args)
}

func mustEncode(t testing.TB, v expr.Value) string {
	t.Helper()
	data, err := expr.Encode(v)
	if err != nil {
		t.Fatalf("Encode(%v): %v", v, err)
	}
	return string(data)
}
