package backendtest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"time"

	"pulley/engine/backend"
	"pulley/engine/plan"
)

// Func is an action as Drive runs it: a pure function of its arguments and the attempt, which counts from one. It returns a
// result or a failure.
type Func func(args json.RawMessage, attempt int) (json.RawMessage, *plan.Failure)

// Actions returns the actions of the suite's programs: echo(value), add(a, b), double(value), sum(values), items(count),
// fail(type, message), flaky(times), which fails with the type Flaky on its first attempts and then returns the attempt's number,
// and noop().
func Actions() map[string]Func {
	return map[string]Func{
		"echo":   named(func(a arguments, _ int) (json.RawMessage, error) { return a.value("value") }),
		"add":    named(addAction),
		"double": named(doubleAction),
		"sum":    named(sumAction),
		"items":  named(itemsAction),
		"noop":   named(func(arguments, int) (json.RawMessage, error) { return json.RawMessage("null"), nil }),
		"fail":   named(failAction),
		"flaky":  named(flakyAction),
	}
}

type arguments map[string]json.RawMessage

func (a arguments) value(name string) (json.RawMessage, error) {
	v, ok := a[name]
	if !ok {
		return nil, fmt.Errorf("no argument %s", name)
	}
	return v, nil
}

func (a arguments) integer(name string) (*big.Int, error) {
	v, err := a.value(name)
	if err != nil {
		return nil, err
	}
	n, ok := new(big.Int).SetString(string(v), 10)
	if !ok {
		return nil, fmt.Errorf("argument %s is %s, not an integer", name, v)
	}
	return n, nil
}

func (a arguments) text(name string) (string, error) {
	v, err := a.value(name)
	if err != nil {
		return "", err
	}
	var s string
	if err := json.Unmarshal(v, &s); err != nil {
		return "", fmt.Errorf("argument %s: %w", name, err)
	}
	return s, nil
}

type asFailure struct{ failure plan.Failure }

func (f asFailure) Error() string { return f.failure.Type + ": " + f.failure.Message }

func named(f func(arguments, int) (json.RawMessage, error)) Func {
	return func(raw json.RawMessage, attempt int) (json.RawMessage, *plan.Failure) {
		var args arguments
		if err := json.Unmarshal(raw, &args); err != nil {
			return nil, &plan.Failure{Type: "ArgumentError", Message: err.Error()}
		}
		out, err := f(args, attempt)
		if own, ok := err.(asFailure); ok {
			return nil, &own.failure
		}
		if err != nil {
			return nil, &plan.Failure{Type: "ArgumentError", Message: err.Error()}
		}
		return bytes.Clone(out), nil
	}
}

func number(n *big.Int) json.RawMessage { return json.RawMessage(n.String()) }

func addAction(a arguments, _ int) (json.RawMessage, error) {
	x, err := a.integer("a")
	if err != nil {
		return nil, err
	}
	y, err := a.integer("b")
	if err != nil {
		return nil, err
	}
	return number(x.Add(x, y)), nil
}

func doubleAction(a arguments, _ int) (json.RawMessage, error) {
	x, err := a.integer("value")
	if err != nil {
		return nil, err
	}
	return number(x.Lsh(x, 1)), nil
}

func sumAction(a arguments, _ int) (json.RawMessage, error) {
	v, err := a.value("values")
	if err != nil {
		return nil, err
	}
	var values []*big.Int
	if err := json.Unmarshal(v, &values); err != nil {
		return nil, fmt.Errorf("argument values: %w", err)
	}
	total := new(big.Int)
	for _, n := range values {
		total.Add(total, n)
	}
	return number(total), nil
}

func itemsAction(a arguments, _ int) (json.RawMessage, error) {
	n, err := a.integer("count")
	if err != nil {
		return nil, err
	}
	if !n.IsInt64() || n.Int64() < 0 {
		return nil, fmt.Errorf("argument count is %s", n)
	}
	list := make([]int64, n.Int64())
	for i := range list {
		list[i] = int64(i)
	}
	return json.Marshal(list)
}

func failAction(a arguments, _ int) (json.RawMessage, error) {
	typ, err := a.text("type")
	if err != nil {
		return nil, err
	}
	msg, err := a.text("message")
	if err != nil {
		return nil, err
	}
	return nil, asFailure{plan.Failure{Type: typ, Message: msg}}
}

func flakyAction(a arguments, attempt int) (json.RawMessage, error) {
	times, err := a.integer("times")
	if err != nil {
		return nil, err
	}
	if int64(attempt) <= times.Int64() {
		return nil, asFailure{plan.Failure{Type: "Flaky", Message: fmt.Sprintf("attempt %d of %s that fail", attempt, times)}}
	}
	return number(big.NewInt(int64(attempt))), nil
}

// Granted returns a grant of at most n node runs, longer than any test.
func Granted(n int) backend.Grant {
	return backend.Grant{Owner: "test", Max: n, Lease: 10 * time.Minute}
}

// Ran completes a task with the result of its action, one of Actions.
func Ran(t backend.Task) backend.Completion {
	c := backend.Completion{Lease: t.Lease, Program: t.Program, Attempt: t.Attempt}
	c.Result, c.Failure = Actions()[t.Action](t.Args, t.Attempt)
	return c
}

// Answers returns the answers of a call as words.
func Answers(out backend.Committed) string {
	words := make([]string, len(out.Outcomes))
	for i, o := range out.Outcomes {
		words[i] = string(o.Answer)
	}
	return strings.Join(words, " ")
}

// Races is for several processes that complete its branches concurrently: in each spread some branches fail, one failure is
// caught, and the others are cancelled.
var Races = Workflow{Name: "races", Input: `{}`, Want: `[["Bad"],["Bad"],["Bad"]]`, Source: `
fn branch(input: [i], output: [b]):
    a = @double(value=i)
    for k in range(2):
        a = @double(value=a)
    if i % 2 == 1:
        @fail(type="Bad", message="no")
    b = @double(value=a)

fn main(input: [], output: [all]):
    all = []
    for round in range(3):
        try:
            r = spread range(6):i -> branch(i=i)
        except Bad as e:
            r = [e["type"]]
        x = @echo(value=r)
        all = all + [x]
`}
