package expr_test

import (
	"fmt"
	"strings"
	"testing"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
	"pgregory.net/rapid"

	"pulley/engine/expr"
	"pulley/engine/ir"
)

// The model of the checked evaluation is plain Starlark, without a budget, on the same text. The texts avoid what differs on
// purpose: ranges and pairs become lists at once, and counts are small.

func model(text string, env map[string]expr.Value) (expr.Value, error) {
	v, err := starlark.EvalOptions(&syntax.FileOptions{}, new(starlark.Thread), "model", text, starlark.StringDict(env))
	if err != nil {
		return nil, err
	}
	return expr.Normalize(v, ir.Limits{})
}

type writer struct {
	t     *rapid.T
	bound []string
}

func (w *writer) pick(from ...string) string { return rapid.SampledFrom(from).Draw(w.t, "pick") }

func (w *writer) atom() string {
	if len(w.bound) > 0 && rapid.Bool().Draw(w.t, "bound") {
		return w.pick(w.bound...)
	}
	return w.pick("i", "x", "s", "xs", "d", "words", "n", "yes", "big", "(0)", "(1)", "(-1)", "(2.5)", `"a"`, `""`, `"b,c"`, "None", "True", "[]", "{}")
}

var forms = []string{
	"(# + #)", "(# - #)", "(# / #)", "(# // #)", "(# * (len(str(#)) - 3))", "((len(str(#)) - 3) * #)", "(x * #)", "(# % 5)", "(i % #)",
	"(# == #)", "(# != #)", "(# < #)", "(# <= #)", "(# > 1)", `(# >= "a")`, "(# in #)", "(# not in #)",
	"(# and #)", "(# or #)", "(not #)", "(-#)", "(# if # else #)",
	"#[#]", "#[0]", "#[-1]", `#["a"]`, "#[#:]", "#[:#]", "#[#:#:#]", "#[::-1]",
	"[#]", "[#, #]", `{"k": #, "l": #}`, "{str(#): #}",
	"len(#)", "sorted(#)", "sorted(#, reverse=True)", "sorted(#, key=str)", "min(#)", "max(#, #)", "max(#, key=len)", "list(reversed(#))", "any(#)", "all(#)",
	"str(#)", "int(#)", "float(#)", "bool(#)", "list(#)", "[list(p) for p in enumerate(#)]", "[list(p) for p in zip(#, #)]", "list(range(len(#)))", "dict(#, k=#)",
	"#.get(#)", "#.get(#, #)", "#.keys()", "#.values()", "[list(p) for p in #.items()]", `#.split(",")`, "#.join(#)", "#.replace(#, #)", "#.strip(#)", "#.upper()",
	"#.startswith(str(#))", "#.startswith(x)", "#.startswith(n)", "#.find(#)", "#.count(#)", "#.index(#)", `"{} {}".format(#, #)`, `("%s" % str(#))`, `("%d" % #)`,
}

func (w *writer) expr(depth int) string {
	if depth == 0 {
		return w.atom()
	}
	switch rapid.IntRange(0, 9).Draw(w.t, "kind") {
	case 0:
		return w.atom()
	case 1, 2:
		return w.comprehension(depth)
	}
	parts := strings.Split(rapid.SampledFrom(forms).Draw(w.t, "form"), "#")
	text := parts[0]
	for _, part := range parts[1:] {
		text += w.expr(depth-1) + part
	}
	return text
}

func (w *writer) comprehension(depth int) string {
	over := w.expr(depth - 1)
	name := w.pick("v", "w", "i")
	w.bound = append(w.bound, name)
	defer func() { w.bound = w.bound[:len(w.bound)-1] }()
	body, cond := w.expr(depth-1), w.expr(depth-1)
	if rapid.Bool().Draw(w.t, "dict") {
		return fmt.Sprintf("{str(%s): %s for %s in %s}", name, body, name, over)
	}
	return fmt.Sprintf("[%s for %s in %s if %s]", body, name, over, cond)
}

func TestEvalAgreesWithStarlark(t *testing.T) {
	vars := env(t)
	delete(vars, "len") // to plain Starlark len(...) would call the variable
	agreed, failed := 0, 0
	rapid.Check(t, func(t *rapid.T) {
		w := writer{t: t}
		text := w.expr(3)
		c, err := expr.Compile(&ir.Expr{Text: text}, ir.Limits{})
		if err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		got, err := eval(c, vars)
		want, modelErr := model(text, vars)
		switch {
		case (err == nil) != (modelErr == nil):
			t.Fatalf("%s is %v, %v; plain Starlark: %v, %v", text, got, err, want, modelErr)
		case err != nil:
			failed++
		case !same(got, want):
			t.Fatalf("%s is %v; plain Starlark: %v", text, got, want)
		default:
			agreed++
		}
	})
	if agreed == 0 {
		t.Errorf("all of %d expressions failed: nothing was compared", failed)
	}
}

func TestSliceAgreesWithStarlark(t *testing.T) {
	bound := rapid.SampledFrom([]string{"", "0", "1", "2", "3", "5", "100", "-1", "-2", "-3", "-5", "-100", "None"})
	c := map[string]expr.Value{"xs": mustDecode(t, `[0,1,2,3,4]`), "s": mustDecode(t, `"abcde"`), "none": mustDecode(t, `[]`)}
	rapid.Check(t, func(t *rapid.T) {
		step := rapid.SampledFrom([]string{"", "1", "2", "3", "7", "-1", "-2", "-7", "2147483647", "-2147483648"}).Draw(t, "step")
		text := fmt.Sprintf("%s[%s:%s:%s]", rapid.SampledFrom([]string{"xs", "s", "none"}).Draw(t, "of"), bound.Draw(t, "lo"), bound.Draw(t, "hi"), step)
		compiled, err := expr.Compile(&ir.Expr{Text: text}, ir.Limits{})
		if err != nil {
			t.Fatal(err)
		}
		got, err := eval(compiled, c)
		want, modelErr := model(text, c)
		if err != nil || modelErr != nil || !same(got, want) {
			t.Fatalf("%s is %v, %v; plain Starlark: %v, %v", text, got, err, want, modelErr)
		}
	})
}

// Some numbers are no floats.
func TestOrderAgreesWithStarlark(t *testing.T) {
	numbers := rapid.OneOf(ints(), floats(), rapid.SampledFrom([]expr.Value{
		starlark.MakeInt64(1 << 53), starlark.MakeInt64(1<<53 + 1), starlark.Float(1 << 53), starlark.MakeInt64(-1<<53 - 1), starlark.Float(-1 << 53),
	}))
	compiled := map[string]*expr.Compiled{}
	for _, op := range []string{"<", "<=", ">", ">=", "==", "!="} {
		compiled[op] = mustCompile(t, "a "+op+" b")
	}
	rapid.Check(t, func(t *rapid.T) {
		vars := map[string]expr.Value{"a": numbers.Draw(t, "a"), "b": numbers.Draw(t, "b")}
		for op, c := range compiled {
			got, err := eval(c, vars)
			want, modelErr := model("a "+op+" b", vars)
			if err != nil || modelErr != nil || !same(got, want) {
				t.Fatalf("%v %s %v is %v, %v; plain Starlark: %v, %v", vars["a"], op, vars["b"], got, err, want, modelErr)
			}
		}
	})
}
