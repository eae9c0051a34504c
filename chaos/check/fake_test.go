package check

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"go.starlark.net/starlark"

	"pulley/engine/expr"
	"pulley/engine/ir"
)

// program parses a test's program, in which tabs stand for levels.
func program(t testing.TB, text string) *ir.Program {
	t.Helper()
	prog, err := ir.Parse("test.ir", []byte(dedent(text)), ir.Limits{})
	if err != nil {
		t.Fatalf("the test's program does not parse: %v\n%s", err, dedent(text))
	}
	return prog
}

func dedent(text string) string {
	return strings.ReplaceAll(strings.TrimLeft(text, "\n"), "\t", "    ")
}

func number(v expr.Value) int {
	n, ok := v.(starlark.Int)
	if !ok {
		return -1
	}
	i, _ := n.Int64()
	return int(i)
}

func text(v expr.Value) string {
	s, _ := starlark.AsString(v)
	return s
}

// fakes are actions that depend on their arguments and the attempt only.
func fakes(name string, args Args, attempt int) (expr.Value, *Error) {
	switch name {
	case "echo", "mail.send":
		return args.Get("value"), nil
	case "add":
		return starlark.MakeInt(number(args.Get("a")) + number(args.Get("b"))), nil
	case "double":
		return starlark.MakeInt(2 * number(args.Get("value"))), nil
	case "items":
		var list []starlark.Value
		for i := range number(args.Get("count")) {
			list = append(list, starlark.MakeInt(i))
		}
		return starlark.NewList(list), nil
	case "fail":
		return nil, &Error{Type: text(args.Get("type")), Message: text(args.Get("message"))}
	case "flaky":
		if attempt <= number(args.Get("times")) {
			return nil, &Error{Type: "Flaky", Message: fmt.Sprintf("attempt %d", attempt)}
		}
		return starlark.MakeInt(attempt), nil
	case "turns": // fails with A, then B, then A, ...
		return nil, &Error{Type: string(rune('A' + (attempt-1)%2)), Message: fmt.Sprintf("attempt %d", attempt)}
	case "odd": // fails on odd values
		if n := number(args.Get("value")); n%2 == 1 {
			return nil, &Error{Type: "Odd", Message: fmt.Sprintf("%d is odd", n)}
		}
		return args.Get("value"), nil
	case "noop":
		return nil, nil
	case "huge":
		return starlark.String(strings.Repeat("x", number(args.Get("bytes")))), nil
	case "set":
		return starlark.NewSet(0), nil
	case "untyped":
		return nil, &Error{Message: "no type"}
	}
	return nil, &Error{Type: "UnknownAction", Message: name}
}

// encoded is a value as JSON.
func encoded(t testing.TB, v expr.Value) string {
	t.Helper()
	if v == nil {
		return "no value"
	}
	b, err := expr.Encode(v)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// show is an outcome in one line: the result, or the error with its place.
func show(t testing.TB, o Outcome) string {
	t.Helper()
	if o.Status == Completed {
		return encoded(t, o.Result)
	}
	return fmt.Sprintf("%s: %s", o.Status, o.Error)
}

// callsOf lists calls as name(args)#attempt, with the path before and ! for a failed one, ? for an
// optional one.
func callsOf(t testing.TB, o Outcome) string {
	t.Helper()
	var all []string
	for _, c := range o.Calls {
		var args []string
		for _, a := range c.Args {
			args = append(args, encoded(t, a.Value))
		}
		line := c.Action + "(" + strings.Join(args, ",") + ")"
		if c.Path != "" {
			line = c.Path + ":" + line
		}
		if c.Attempt > 1 {
			line += fmt.Sprintf("#%d", c.Attempt)
		}
		if c.Err != nil {
			line += "!"
		}
		if c.Optional {
			line += "?"
		}
		all = append(all, line)
	}
	return strings.Join(all, " ")
}

func interpret(t testing.TB, src, input string, opts Options) Outcome {
	t.Helper()
	return Interpret(program(t, src), json.RawMessage(input), fakes, opts)
}
