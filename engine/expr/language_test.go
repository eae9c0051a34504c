package expr_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pulley/engine/expr"
	"pulley/engine/ir"
)

var soup = []string{
	"x", "xs", "len", "sum", "key", "None", "True", "if", "else", "for", "in", "not", "and", "or", "lambda", "not in", "is",
	"(", ")", "[", "]", "{", "}", ",", ":", ".", "=", "==", "<", "+", "-", "*", "**", "/", "//", "%", "|", "~", "0", "1.5", `"a"`, `b"a"`,
	"len(x)", "sorted(xs, key=len)", ".get", ".append", ".format", "(x)", "[0]", "[1:]", "for x in xs", "x if x else", "dict(a=x)", "max(*xs)",
}

func parsed(text string) *ir.Expr {
	program, err := ir.Parse("t.ir", []byte("fn main(input: [x], output: [r]):\n    r = "+text+"\n"), ir.Limits{})
	if err != nil || len(program.Functions[0].Body) != 1 {
		return nil
	}
	assign, ok := program.Functions[0].Body[0].(*ir.Assign)
	if !ok {
		return nil
	}
	e, _ := assign.Value.(*ir.Expr)
	return e
}

func TestParserAndCompilerAgree(t *testing.T) {
	taken := 0
	rapid.Check(t, func(t *rapid.T) {
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(soup), 1, 6).Draw(t, "words"), " ")
		if rapid.IntRange(0, 3).Draw(t, "sense") == 0 {
			w := writer{t: t}
			text = w.expr(2)
		}
		e := parsed(text)
		_, err := expr.Compile(&ir.Expr{Text: text}, ir.Limits{})
		if (e != nil) != (err == nil) {
			t.Fatalf("%s: the parser takes it: %v; Compile: %v", text, e != nil, err)
		}
		if e == nil {
			return
		}
		taken++
		if _, err := expr.Compile(e, ir.Limits{}); err != nil {
			t.Fatalf("%s is %s in print, which is refused: %v", text, e.Text, err)
		}
	})
	if taken == 0 {
		t.Error("no text was taken: nothing was compared")
	}
}

func TestParserKnowsTheFunctions(t *testing.T) {
	names := expr.Builtins()
	for _, other := range []string{"abs", "bytes", "chr", "dir", "fail", "getattr", "hasattr", "hash", "ord", "print", "repr", "set", "tuple", "type"} {
		if parsed(other+"(x)") != nil {
			names = append(names, other)
		}
	}
	for _, name := range names {
		_, err := expr.Compile(&ir.Expr{Text: name + "(x)"}, ir.Limits{})
		if e := parsed(name + "(x)"); e == nil || err != nil {
			t.Errorf("%s: the parser takes it: %v; Compile: %v", name, e != nil, err)
		}
	}
}
