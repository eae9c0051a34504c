package worker

import (
	"context"
	"encoding/json"

	"pulley/engine/backend"
	"pulley/engine/plan"
)

// Around runs an attempt by calling next.Execute, once, with what it adds before and after. It is called concurrently.
type Around func(ctx context.Context, task backend.Task, next Executor) (json.RawMessage, *plan.Failure)

// Wrap returns an executor whose attempts run inside of around. It is a Knower if w is one.
func Wrap(w Executor, around Around) Executor {
	wrapped := &wrappedExecutor{w, around}
	if knower, ok := w.(Knower); ok {
		return &wrappedKnower{wrapped, knower}
	}
	return wrapped
}

type wrappedExecutor struct {
	Executor
	around Around
}

type wrappedKnower struct {
	*wrappedExecutor
	Knower
}

// Execute implements Executor.
func (w *wrappedExecutor) Execute(ctx context.Context, task backend.Task) (json.RawMessage, *plan.Failure) {
	return w.around(ctx, task, w.Executor)
}

type traceParentKey struct{}

// WithTraceParent returns a context for attempts that belong to a span of a distributed trace, named as in the traceparent header of
// W3C Trace Context. Programs that run actions get it in the variable TRACEPARENT, and HTTP jobs in the header traceparent.
func WithTraceParent(ctx context.Context, traceParent string) context.Context {
	return context.WithValue(ctx, traceParentKey{}, traceParent)
}

// TraceParent returns what WithTraceParent added; empty: nothing.
func TraceParent(ctx context.Context) string {
	text, _ := ctx.Value(traceParentKey{}).(string)
	return text
}
