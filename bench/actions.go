package bench

import (
	"context"
	"time"

	"pulley/engine/worker"
	"pulley/scenarios/wfformat"
)

// Actions gives a registry with everything that scenarios call: the built-in actions, and the tasks of
// traces.
func Actions() (*worker.Registry, error) {
	actions := append(worker.Builtins(), worker.Action{
		Name: wfformat.ActionTask,
		Args: []string{"id", "seconds", "inputs"},
		Doc:  "a task of a trace: waits and gives a value made of its inputs'",
		Run:  traceTask,
	})
	return worker.NewRegistry(actions...)
}

// traceTask takes as long as the trace's task did, times the scale, and gives a value from which the
// end result shows whether every edge was honoured.
func traceTask(ctx context.Context, call worker.Call) (any, error) {
	task, err := wfformat.ParseTask(call.Args)
	if err != nil {
		return nil, &worker.Error{Type: "ArgumentError", Message: err.Error()}
	}
	if wait := task.Wait(); wait > 0 {
		timer := time.NewTimer(wait)
		defer timer.Stop()
		select {
		case <-timer.C:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
	return task.Value(), nil
}
