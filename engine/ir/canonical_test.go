package ir

import (
	"testing"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"
	"pgregory.net/rapid"

	"pulley/internal/depth"
)

// Starlark evaluates the original and its canonical text: both must have the same value, or fail with the same error.
func TestCanonicalKeepsTheValue(t *testing.T) {
	values := []starlark.Value{
		starlark.None, starlark.True, starlark.False, starlark.MakeInt(0), starlark.MakeInt(3), starlark.MakeInt(-2),
		starlark.Float(2.5), starlark.String("ab"), starlark.String(""),
		starlark.NewList([]starlark.Value{starlark.MakeInt(1), starlark.MakeInt(2)}),
		starlark.NewList([]starlark.Value{starlark.NewList([]starlark.Value{starlark.MakeInt(5), starlark.MakeInt(6)})}),
	}
	evaluate := func(text string, env starlark.StringDict) (string, string) {
		thread := &starlark.Thread{Name: "test"}
		thread.SetMaxExecutionSteps(100_000)
		v, err := starlark.EvalOptions(&syntax.FileOptions{}, thread, "e", "("+text+")", env)
		if err != nil {
			if e, ok := err.(*starlark.EvalError); ok {
				return "", e.Msg
			}
			return "", err.Error()
		}
		return v.String(), ""
	}
	names := []string{"a", "b", "xs", "sleep", "spread", "parallel", "input", "output", "limit", "retry", "fn", "timeout",
		"backoff", "s", "ms", "ö", "_1"}
	evaluated := 0
	depth.Checks(t, 100, 1000)
	rapid.Check(t, func(t *rapid.T) {
		g := &generator{T: t}
		source := g.source(3)
		p, err := Parse("w.ir", []byte(inMain("x = ("+source+")")), Limits{})
		if err != nil {
			t.Fatalf("%v in %s", err, source)
		}
		text := p.Functions[0].Body[0].(*Assign).Value.(*Expr).Text
		env := starlark.StringDict{
			// Only calls need it; it is no value of the language.
			"isexception": starlark.NewBuiltin("isexception", func(*starlark.Thread, *starlark.Builtin, starlark.Tuple,
				[]starlark.Tuple) (starlark.Value, error) {
				return starlark.False, nil
			}),
		}
		for _, name := range names {
			env[name] = rapid.SampledFrom(values).Draw(t, name)
		}
		want, wantErr := evaluate(source, env)
		got, gotErr := evaluate(text, env)
		if got != want || gotErr != wantErr {
			t.Fatalf("%s\ngives %s %s, its canonical text %s\ngives %s %s", source, want, wantErr, text, got, gotErr)
		}
		if wantErr == "" {
			evaluated++
		}
	})
	if evaluated == 0 {
		t.Error("no expression had a value")
	}
}
