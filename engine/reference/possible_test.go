package reference_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"pulley/engine/reference"
	"pulley/internal/referencetest"

	"pulley/engine/ir"
)

func possible(t *testing.T, src string, runsMax int) (results []string, all bool) {
	t.Helper()
	r, err := reference.NewInterpreter(referencetest.Program(t, src), ir.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	outcomes, all := r.Possible(json.RawMessage(`{}`), referencetest.Actions, reference.Options{}, runsMax)
	for _, o := range outcomes {
		results = append(results, referencetest.Show(t, o))
	}
	return results, all
}

func TestPossibleOutcomes(t *testing.T) {
	const message = "\n\texcept Odd as e:\n\t\treturn e[\"message\"]\n"
	for _, c := range []struct {
		name, body string
		want       []string
	}{
		{"nothing fails", "\tspread [2, 4]:x -> @odd(value=x)\n\treturn 1\n", []string{"1"}},
		{"one fails", "\ttry:\n\t\tspread [2, 3]:x -> @odd(value=x)" + message, []string{`"3 is odd"`}},
		{"two fail", "\ttry:\n\t\tspread [2, 3, 5]:x -> @odd(value=x)" + message, []string{`"3 is odd"`, `"5 is odd"`}},
		{"two fail alike", "\ttry:\n\t\tspread [2, 3, 3]:x -> @odd(value=x)" + message, []string{`"3 is odd"`}},
		{"the program does not look", "\ttry:\n\t\tspread [1, 3]:x -> @odd(value=x)\n\texcept:\n\t\tpass\n\treturn 1\n", []string{"1"}},
		{"of an action and an expression", "\ttry:\n\t\tparallel:\n\t\t\t@odd(value=1)\n\t\t\t@echo(value=1 // 0)" + message,
			[]string{`"1 is odd"`, "failed: test.ir:5:25: ExpressionError: floored division by zero"}},
		{"twice", "\tout = []\n\tfor i in range(2):\n\t\ttry:\n\t\t\tspread [1, 3]:x -> @odd(value=x)\n\t\texcept Odd as e:\n\t\t\tout = out + [e[\"message\"][0]]\n\treturn out\n",
			[]string{`["1","1"]`, `["1","3"]`, `["3","1"]`, `["3","3"]`}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got, all := possible(t, "fn main(input: [], output: []):\n"+c.body, 0)
			if !slices.Equal(got, c.want) || !all {
				t.Errorf("got %s (all: %t)\nwant %s", strings.Join(got, "; "), all, strings.Join(c.want, "; "))
			}
		})
	}
}

func TestPossibleOutcomesAreBounded(t *testing.T) {
	const src = "fn main(input: [], output: [out]):\n\tout = []\n\tfor i in range(8):\n\t\ttry:\n\t\t\tspread [1, 3, 5]:x -> @odd(value=x)\n\t\texcept Odd as e:\n\t\t\tout = out + [e[\"message\"]]\n"
	got, all := possible(t, src, 10)
	if len(got) != 10 || all {
		t.Errorf("%d outcomes of 6,561 after 10 runs, all: %t", len(got), all)
	}
}

func TestDiffers(t *testing.T) {
	raw := func(s string) json.RawMessage { return json.RawMessage(s) }
	done := interpret(t, "fn main(input: [], output: []):\n\treturn {\"b\": [1, 2.0], \"a\": None}\n", `{}`, reference.Options{})
	raised := interpret(t, "fn main(input: [], output: []):\n\t@fail(type=\"Bad\", message=\"no\")\n", `{}`, reference.Options{})
	broken := interpret(t, "fn main(input: [], output: []):\n\treturn 1 // 0\n", `{}`, reference.Options{})
	refused := interpret(t, "fn main(input: [], output: []):\n\tpass\n", `[]`, reference.Options{})
	bad := func(change func(*reference.Error)) reference.End {
		e := reference.Error{Type: "Bad", Message: "no", Action: "fail", Pos: ir.Pos{File: "test.ir", Line: 2, Col: 5}}
		change(&e)
		return reference.End{Status: reference.Failed, Error: &e}
	}
	for _, c := range []struct {
		name    string
		outcome reference.Outcome
		end     reference.End
		want    string // the difference; "" for none
	}{
		{"same", done, reference.End{Status: reference.Completed, Result: raw(`{"a":null,"b":[1,2.0]}`)}, ""},
		{"other spacing", done, reference.End{Status: reference.Completed, Result: raw(` {"b": [1, 2.0], "a": null}`)}, ""},
		{"an int for a float", done, reference.End{Status: reference.Completed, Result: raw(`{"a":null,"b":[1,2]}`)}, `result {"a":null,"b":[1,2]}; the reference interpreter gives {"a":null,"b":[1,2.0]}`},
		{"another order", done, reference.End{Status: reference.Completed, Result: raw(`{"a":null,"b":[2.0,1]}`)}, "reference"},
		{"no JSON", done, reference.End{Status: reference.Completed, Result: raw(`{`)}, "not a JSON value"},
		{"no result", done, reference.End{Status: reference.Completed}, "not a JSON value"},
		{"failed instead", done, bad(func(*reference.Error) {}), "ended failed with test.ir:2:5: @fail: Bad: no; the reference interpreter gives completed with"},
		{"same error", raised, bad(func(*reference.Error) {}), ""},
		{"another file's name", raised, bad(func(e *reference.Error) { e.Pos.File = "x.ir" }), ""},
		{"another type", raised, bad(func(e *reference.Error) { e.Type = "Worse" }), "Worse"},
		{"another message", raised, bad(func(e *reference.Error) { e.Message = "yes" }), "yes"},
		{"another action", raised, bad(func(e *reference.Error) { e.Action = "other" }), "@other"},
		{"another line", raised, bad(func(e *reference.Error) { e.Pos.Line = 7 }), "test.ir:7"},
		{"no error", raised, reference.End{Status: reference.Failed}, "failed without an error"},
		{"completed instead", raised, reference.End{Status: reference.Completed, Result: raw("1")}, "ended completed with 1"},
		{"still running", raised, reference.End{Status: "running"}, "ended running"},
		{"an expression's words differ", broken, reference.End{Status: reference.Failed, Error: &reference.Error{Type: reference.TypeExpression, Message: "by zero"}}, "ExpressionError: by zero"},
		{"an expression's type differs", broken, reference.End{Status: reference.Failed, Error: &reference.Error{Type: reference.TypeLimit, Message: "by zero"}}, "LimitExceeded"},
		{"refused", refused, reference.End{Status: reference.Failed, Error: &reference.Error{Type: reference.TypeInput}}, "gives refused"},
	} {
		got := c.outcome.Differs(c.end)
		if (got == "") != (c.want == "") || !strings.Contains(got, c.want) {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}

func TestArgs(t *testing.T) {
	o := interpret(t, "fn main(input: [], output: []):\n\t@echo(b=1, a={\"y\": 1, \"x\": 2})\n", `{}`, reference.Options{})
	call := o.Calls[0]
	if got := referencetest.Encoded(t, call.Args.Get("b")); got != "1" || call.Args.Get("c") != nil {
		t.Errorf("b is %s, c is %v", got, call.Args.Get("c"))
	}
	if got, want := call.Key(), `@echo at [] {"a":{"x":2,"y":1},"b":1}`; got != want {
		t.Errorf("key %s, want %s", got, want)
	}
	if reference.Same(nil, call.Args.Get("b")) || !reference.Same(nil, nil) {
		t.Error("no value is the same as no value only")
	}
}
