package worker

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"
	"unicode/utf8"

	"pulley/engine/backend"
	"pulley/engine/expr"
	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/engine/plan"
)

const (
	messageBytes = 16 << 10
	typeBytes    = 1000
)

// Execute runs one attempt of a task in the calling goroutine; the package doc defines its result or failure.
func (r *Registry) Execute(ctx context.Context, task backend.Task) (json.RawMessage, *plan.Failure) {
	node, valueBytes := nodeOf(task)
	result, err := r.run(ctx, newCall(task, node, valueBytes), node)
	if err == nil {
		return result, nil
	}
	failure := failureOf(err)
	failure.Action = task.Action
	if node != nil {
		failure.Pos = node.Pos
	}
	return nil, failure
}

func nodeOf(task backend.Task) (*graph.Node, int) {
	if task.Program == nil || task.Program.Graph() == nil {
		return nil, ir.Limits{}.MaxValueBytes()
	}
	g := task.Program.Graph()
	limits := g.Limits.MaxValueBytes()
	if id := int(task.Lease.Key.Run.Node); id >= 0 && id < len(g.Nodes) {
		return g.Nodes[id], limits
	}
	return nil, limits
}

func (r *Registry) run(ctx context.Context, call Call, node *graph.Node) (json.RawMessage, error) {
	action, onPanic, ok := r.find(call.Action)
	if !ok {
		return nil, &Error{Type: TypeUnknownAction, Message: fmt.Sprintf("unknown action @%s; %s", call.Action, r.suggest(call.Action))}
	}
	if action.Args != nil {
		args, err := call.decode(action.Args)
		if err != nil {
			return nil, err
		}
		if err := call.checkNames(args, action.Args, action.Args); err != nil {
			return nil, err
		}
		call.decoded = args
	}
	var cancel context.CancelFunc = func() {}
	if node != nil && node.Timeout > 0 {
		ctx, cancel = context.WithTimeoutCause(ctx, node.Timeout, &Error{
			Type: TypeTimeout, Message: fmt.Sprintf("action %s took longer than its timeout of %v", call.Action, node.Timeout),
		})
	}
	defer cancel()
	value, err := protect(ctx, action.Run, call, onPanic)
	if late := (*Error)(nil); errors.Is(ctx.Err(), context.DeadlineExceeded) && errors.As(EndOf(ctx), &late) {
		return nil, late
	}
	if err != nil {
		return nil, err
	}
	return encode(call, value)
}

// EndOf returns why an attempt's context has ended, with a type if it has one, such as the node's timeout; nil before the end.
func EndOf(ctx context.Context) error {
	var typed *Error
	if errors.As(context.Cause(ctx), &typed) {
		return typed
	}
	return ctx.Err()
}

func protect(ctx context.Context, fn Func, call Call, onPanic func(string, any, []byte)) (value any, err error) {
	defer func() {
		v := recover()
		if v == nil {
			return
		}
		if onPanic != nil {
			onPanic(call.Action, v, debug.Stack())
		}
		err = &Error{Type: TypePanic, Message: fmt.Sprintf("action %s panicked: %v", call.Action, v)}
	}()
	return fn(ctx, call)
}

func encode(call Call, value any) (json.RawMessage, error) {
	v, isValue := value.(expr.Value)
	var err error
	if !isValue {
		if v, err = expr.FromGo(value); err != nil {
			return nil, &Error{Type: TypeResult, Message: fmt.Sprintf("action %s: its result cannot be JSON: %v", call.Action, err)}
		}
	}
	if v, err = expr.Normalize(v, call.limits()); err != nil {
		var e *expr.EvalError
		if errors.As(err, &e) && e.Type == TypeLimit {
			return nil, &Error{Type: TypeLimit, Message: fmt.Sprintf("action %s: its result: %v", call.Action, err)}
		}
		return nil, &Error{Type: TypeResult, Message: fmt.Sprintf("action %s: its result cannot be JSON: %v", call.Action, err)}
	}
	out, err := expr.Encode(v)
	if err != nil {
		return nil, &Error{Type: TypeResult, Message: fmt.Sprintf("action %s: its result cannot be JSON: %v", call.Action, err)}
	}
	return out, nil
}

func failureOf(err error) *plan.Failure {
	failure := &plan.Failure{Type: TypeError, Message: err.Error()}
	var died *DiedError
	if errors.As(err, &died) {
		return DeathOf(died)
	}
	var typed *Error
	if errors.As(err, &typed) {
		failure.Message = typed.Message
		switch typed.Type {
		case "", typeDied: // typeDied in a program's, worker's or server's output must not count as a death
		default:
			failure.Type = clippedTo(typeBytes, typed.Type)
		}
	}
	failure.Message = clipped(failure.Message)
	return failure
}

func clipped(message string) string { return clippedTo(messageBytes, message) }

// clippedTo makes a text storable: valid UTF-8, within a bound.
func clippedTo(bytes int, text string) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= bytes {
		return text
	}
	for !utf8.RuneStart(text[bytes]) {
		bytes--
	}
	return text[:bytes] + "… (shortened)"
}
