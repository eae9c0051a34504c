package worker

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"math"
	"slices"
	"time"

	"go.starlark.net/starlark"
	"go.starlark.net/syntax"

	"pulley/engine/expr"
	"pulley/internal/pause"
)

// Builtins returns the actions that come with the program: small ones to try things with, the five of the push design's example
// pipeline, and the three of the language description's shop.
func Builtins() []Action {
	own := []Action{
		builtin("echo", "gives value back", echo, "value"),
		builtin("add", "a + b, of numbers, strings or lists; ints stay ints", add, "a", "b"),
		builtin("double", "value + value, of a number, string or list", double, "value"),
		builtin("sum", "the sum of a list of numbers; 0 for an empty one", sum, "values"),
		builtin("items", "the list of the ints from 0 to count - 1", items, "count"),
		builtin("hash", "SHA-256 of the text data in hexadecimal, and rounds - 1 times more of that text", hash, "data", "rounds"),
		builtin("sleep", "waits for ms milliseconds, holding its slot; gives None", sleep, "ms"),
		builtin("fail", "fails with that type and message", fail, "type", "message"),
		builtin("flaky", "fails with type Flaky on its first times attempts, then gives the attempt's number", flaky, "times"),
		builtin("noop", "does nothing; gives None", noop),
		builtin(WaitSignal, "waits for a signal of that name, without a worker; gives its value", waitSignal, "name"),
	}
	return slices.Concat(own, pipeline(), shop())
}

// WaitSignal is the action that waits for a signal. An engine with signals runs it itself.
const WaitSignal = "wait_signal"

func waitSignal(context.Context, *values) (expr.Value, error) {
	return nil, &Error{Type: TypeUnknownAction, Message: "this engine has no signals; pulley run and pulley work have, and a program's with Config.Signals"}
}

// maxRounds bounds the cost of a hash: some minutes.
const maxRounds = 1 << 30

func builtin(name, doc string, fn func(context.Context, *values) (expr.Value, error), args ...string) Action {
	if args == nil {
		args = []string{}
	}
	return Action{Name: name, Doc: doc, Args: args, Run: func(ctx context.Context, call Call) (any, error) {
		v, err := newValues(call)
		if err != nil {
			return nil, err
		}
		out, err := fn(ctx, v)
		if err != nil {
			return nil, err
		}
		return out, nil
	}}
}

func echo(_ context.Context, a *values) (expr.Value, error) { return a.get("value"), nil }

func add(_ context.Context, a *values) (expr.Value, error) { return a.plus("a", "b") }

func double(_ context.Context, a *values) (expr.Value, error) { return a.plus("value", "value") }

func sum(_ context.Context, a *values) (expr.Value, error) {
	list, err := a.list("values")
	if err != nil {
		return nil, err
	}
	var total expr.Value = starlark.MakeInt(0)
	for i := range list.Len() {
		v := list.Index(i)
		if addable(v) != "number" {
			return nil, a.call.argument("argument values must be a list of numbers; element %d is %s", i, shown(v))
		}
		if total, err = starlark.Binary(syntax.PLUS, total, v); err != nil {
			return nil, err
		}
	}
	return total, nil
}

func items(_ context.Context, a *values) (expr.Value, error) {
	n, err := a.count("count", 0, int64(a.call.valueBytes/2)) // an element takes at least two bytes
	if err != nil {
		return nil, err
	}
	list := make([]expr.Value, n)
	for i := range list {
		list[i] = starlark.MakeInt(i)
	}
	return starlark.NewList(list), nil
}

func hash(ctx context.Context, a *values) (expr.Value, error) {
	data, err := a.text("data")
	if err != nil {
		return nil, err
	}
	rounds, err := a.count("rounds", 1, maxRounds)
	if err != nil {
		return nil, err
	}
	text := []byte(data)
	for i := range rounds {
		if i%4096 == 4095 && ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		digest := sha256.Sum256(text)
		text = hex.AppendEncode(text[:0], digest[:])
	}
	return starlark.String(text), nil
}

func sleep(ctx context.Context, a *values) (expr.Value, error) {
	v := a.get("ms")
	ms, ok := starlark.AsFloat(v)
	if !ok || addable(v) != "number" {
		return nil, a.wrong("ms", "a number", v)
	}
	const most = float64(math.MaxInt64 / int64(time.Millisecond))
	if !(ms >= 0 && ms < most) {
		return nil, a.call.argument("argument ms is %v, must be at least 0 and less than %.0f", v, most)
	}
	return starlark.None, pause.For(ctx, time.Duration(ms*float64(time.Millisecond)))
}

func fail(_ context.Context, a *values) (expr.Value, error) {
	typ, err := a.text("type")
	if err != nil {
		return nil, err
	}
	message, err := a.text("message")
	if err != nil {
		return nil, err
	}
	return nil, &Error{Type: typ, Message: message}
}

func flaky(_ context.Context, a *values) (expr.Value, error) {
	times, err := a.count("times", 0, math.MaxInt64)
	if err != nil {
		return nil, err
	}
	if int64(a.call.Attempt) <= times {
		return nil, &Error{Type: "Flaky", Message: fmt.Sprintf("attempt %d of %d that fail", a.call.Attempt, times)}
	}
	return starlark.MakeInt(a.call.Attempt), nil
}

func noop(context.Context, *values) (expr.Value, error) { return starlark.None, nil }
