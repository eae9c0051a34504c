package expr_test

import (
	"strings"
	"testing"

	"go.starlark.net/starlark"
	"pgregory.net/rapid"

	"pulley/engine/expr"
	"pulley/engine/ir"
)

// In closureForms, # stands for a part.
var closureForms = []string{
	"(# + #)", "(# - #)", "(# * #)", "(# // #)", "(# % #)", "(-#)", "(not #)", "(# and #)", "(# or #)", "(# if # else #)",
	"(# == #)", "(# != #)", "(# < #)", "(# <= #)", "(# > #)", "(# >= #)", "#[#]", "#[#:#]", "#[-#:#]", "len(#)", `#["a"]`, `#.get("a")`, "#.get(#, #)", "#.get(#)",
	"str(#)", "[#]", "(# / #)", "#[#:]", "#[#:#:#]",
}

var closureAtoms = []string{
	"a", "b", "c", "a", "b", "c", "a", "b", "c", "xs", "d", "text", "unset", "(0)", "(1)", "(7)", "(2147483647)", "(2147483648)", "(9223372036854775807)", "(2.5)", `"a"`, "None", "True", "False",
}

func closureText(t *rapid.T, depth int) string {
	if depth == 0 || rapid.IntRange(0, 3).Draw(t, "leaf") == 0 {
		return rapid.SampledFrom(closureAtoms).Draw(t, "atom")
	}
	parts := strings.Split(rapid.SampledFrom(closureForms).Draw(t, "form"), "#")
	text := parts[0]
	for _, part := range parts[1:] {
		text += closureText(t, depth-1) + part
	}
	return text
}

// One name has no value.
func closureValues(outer testing.TB, t *rapid.T) map[string]expr.Value {
	number := func(name string) expr.Value {
		return mustDecode(outer, rapid.SampledFrom([]string{
			"0", "1", "-1", "2", "3", "-3", "7", "-7", "5", "10", "12", "-12", "100", "4", "6", "2147483647", "2147483648", "-2147483647", "-2147483648", "9223372036854775807", "-9223372036854775808",
			"100000000000000000000", "2.5", "2.0", "true", "null", `"a"`,
		}).Draw(t, name))
	}
	return map[string]expr.Value{
		"a": number("a"), "b": number("b"), "c": number("c"),
		"xs":   mustDecode(outer, rapid.SampledFrom([]string{"[]", "[1]", "[1,[2],\"x\",null]", "[" + strings.Repeat("0,", 1200) + "0]"}).Draw(t, "xs")),
		"d":    mustDecode(outer, rapid.SampledFrom([]string{"{}", `{"a":1,"b":[2]}`, `{"b":1}`}).Draw(t, "d")),
		"text": mustDecode(outer, rapid.SampledFrom([]string{`""`, `"a"`, `"b"`, `"` + strings.Repeat("é", 600) + `"`}).Draw(t, "text")),
	}
}

func TestClosuresAgreeWithStarlark(outer *testing.T) {
	known, unknown := 0, 0
	check := func(t *rapid.T) {
		text := closureText(t, rapid.IntRange(1, 3).Draw(t, "depth"))
		c, err := expr.Compile(&ir.Expr{Text: text}, ir.Limits{})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		vars := closureValues(outer, t)
		args := make([]expr.Value, len(c.Names()))
		for i, name := range c.Names() {
			args[i] = vars[name]
		}
		got, ok := c.EvalByClosure(args)
		want, wantErr := c.EvalByStarlark(args)
		if !ok {
			unknown++
			got, err := c.Eval(args)
			if (err == nil) != (wantErr == nil) || err != nil && err.Error() != wantErr.Error() || err == nil && !same(got, want) {
				t.Fatalf("%s of %v is %v, %v; Starlark alone gives %v, %v", text, vars, got, err, want, wantErr)
			}
			return
		}
		known++
		if wantErr != nil || !same(got, want) {
			t.Fatalf("%s of %v: the closure gives %v; Starlark %v, %v", text, vars, got, want, wantErr)
		}
		if list, isList := got.(*starlark.List); isList && list.Append(starlark.None) == nil {
			t.Fatalf("%s gives a list that can be changed", text)
		}
	}
	rapid.Check(outer, func(t *rapid.T) {
		for range 10 {
			check(t)
		}
	})
	if known < 10 || unknown < 10 {
		outer.Errorf("closures knew %d results and did not know %d: one of both was hardly tested", known, unknown)
	}
	outer.Logf("closures knew %d results, and did not know %d", known, unknown)
}

func TestClosuresKnowTheCommonShapes(t *testing.T) {
	vars := env(t)
	for text, want := range map[string]bool{
		"i < 32": true, "(i + 1) * sum": true, "len(xs) // lo": true, "xs[lo * 2:(lo + 1) * 2]": true, `d["b"] == 1`: true, "xs[-1]": true, `key + "b"`: true,
		"i if yes else lo": true, "x < 3": true, "x == 2": true, `d.get("c", i)`: true, `d.get("b")`: true, "not n": true, "i % 3 == 0 and yes": true,
		"big + 1": false, "x * 2": false, "xs + [i]": false, "xs[3]": false, `d["c"]`: false, "i // 0": false, "str(i)": false, "xs[::2]": false,
	} {
		c := mustCompile(t, text)
		args := make([]expr.Value, len(c.Names()))
		for i, name := range c.Names() {
			args[i] = vars[name]
		}
		if _, ok := c.EvalByClosure(args); ok != want {
			t.Errorf("%s: known without Starlark: %t, want %t", text, ok, want)
		}
	}
	tight, err := expr.Compile(&ir.Expr{Text: "i + 1"}, ir.Limits{ExpressionSteps: 2})
	if err != nil {
		t.Fatal(err)
	}
	if _, ok := tight.EvalByClosure([]expr.Value{vars["i"]}); ok {
		t.Error("a closure evaluates where steps are few")
	}
}

// The numbers are around the bounds of closures.
func TestClosuresAtTheBounds(t *testing.T) {
	numbers := []string{"0", "1", "-1", "2", "-2", "3", "-3", "7", "-7", "2147483647", "-2147483647", "2147483648", "-2147483648", "4611686018427387903", "-4611686018427387903", "9223372036854775807", "2.5", "-3.0"}
	for _, op := range []string{"+", "-", "*", "//", "%", "==", "!=", "<", "<=", ">", ">=", "and", "or"} {
		c := mustCompile(t, "a "+op+" b")
		for _, a := range numbers {
			for _, b := range numbers {
				holdAgainstStarlark(t, c, mustDecode(t, a), mustDecode(t, b))
			}
		}
	}
	slice, element, list := mustCompile(t, "xs[a:b]"), mustCompile(t, "xs[a]"), mustDecode(t, `[1,"x",[2],null]`)
	for a := -6; a <= 6; a++ {
		holdAgainstStarlark(t, element, starlark.MakeInt(a), list)
		for b := -6; b <= 6; b++ {
			got := holdAgainstStarlark(t, slice, starlark.MakeInt(a), starlark.MakeInt(b), list)
			if part, ok := got.(*starlark.List); !ok || part.Append(starlark.None) == nil {
				t.Errorf("xs[%d:%d] is %v, which can be changed, or has no closure", a, b, got)
			}
		}
	}
}

// holdAgainstStarlark returns nil if there is no closure's result.
func holdAgainstStarlark(t *testing.T, c *expr.Compiled, args ...expr.Value) expr.Value {
	t.Helper()
	got, ok := c.EvalByClosure(args)
	if !ok {
		return nil
	}
	if want, err := c.EvalByStarlark(args); err != nil || !same(got, want) {
		t.Errorf("%s of %v: the closure gives %v; Starlark %v, %v", c.Expr().Text, args, got, want, err)
	}
	return got
}
