// Package referencetest has helpers for tests of the interpreter, and of what is compared with it.
package referencetest

import (
	"fmt"
	"strings"
	"testing"

	"go.starlark.net/starlark"

	"pulley/engine/expr"
	"pulley/engine/ir"
	"pulley/engine/reference"
)

// Program parses a test's program, in which tabs stand for levels.
func Program(t testing.TB, text string) *ir.Program {
	t.Helper()
	prog, err := ir.Parse("test.ir", []byte(Dedent(text)), ir.Limits{})
	if err != nil {
		t.Fatalf("the test's program does not parse: %v\n%s", err, Dedent(text))
	}
	return prog
}

// Dedent drops leading empty lines and converts tabs to levels.
func Dedent(text string) string {
	return strings.ReplaceAll(strings.TrimLeft(text, "\n"), "\t", "    ")
}

// Int returns v's int; -1 for another value.
func Int(v expr.Value) int {
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

// Actions are actions that depend only on their arguments and the attempt.
func Actions(name string, args reference.Args, attempt int) (expr.Value, *reference.Error) {
	switch name {
	case "echo", "mail.send":
		return args.Get("value"), nil
	case "add":
		return starlark.MakeInt(Int(args.Get("a")) + Int(args.Get("b"))), nil
	case "double":
		return starlark.MakeInt(2 * Int(args.Get("value"))), nil
	case "items":
		var list []starlark.Value
		for i := range Int(args.Get("count")) {
			list = append(list, starlark.MakeInt(i))
		}
		return starlark.NewList(list), nil
	case "fail":
		return nil, &reference.Error{Type: text(args.Get("type")), Message: text(args.Get("message"))}
	case "flaky":
		if attempt <= Int(args.Get("times")) {
			return nil, &reference.Error{Type: "Flaky", Message: fmt.Sprintf("attempt %d", attempt)}
		}
		return starlark.MakeInt(attempt), nil
	case "turns": // fails with A, then B, then A, ...
		return nil, &reference.Error{Type: string(rune('A' + (attempt-1)%2)), Message: fmt.Sprintf("attempt %d", attempt)}
	case "odd": // fails on odd values
		if n := Int(args.Get("value")); n%2 == 1 {
			return nil, &reference.Error{Type: "Odd", Message: fmt.Sprintf("%d is odd", n)}
		}
		return args.Get("value"), nil
	case "noop":
		return nil, nil
	case "huge":
		return starlark.String(strings.Repeat("x", Int(args.Get("bytes")))), nil
	case "set":
		return starlark.NewSet(0), nil
	case "untyped":
		return nil, &reference.Error{Message: "no type"}
	}
	return nil, &reference.Error{Type: "UnknownAction", Message: name}
}

// Encoded returns a value as JSON.
func Encoded(t testing.TB, v expr.Value) string {
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

// Show prints an outcome in one line: the result, or the error with its position.
func Show(t testing.TB, o reference.Outcome) string {
	t.Helper()
	if o.Status == reference.Completed {
		return Encoded(t, o.Result)
	}
	return fmt.Sprintf("%s: %s", o.Status, o.Error)
}

// CallsOf lists calls as name(args)#attempt, after the path, with ! for a failed one and ? for an optional one.
func CallsOf(t testing.TB, o reference.Outcome) string {
	t.Helper()
	var all []string
	for _, c := range o.Calls {
		var args []string
		for _, a := range c.Args {
			args = append(args, Encoded(t, a.Value))
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
