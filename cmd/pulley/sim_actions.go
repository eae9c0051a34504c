package main

import (
	"context"
	"encoding/json"
	"slices"

	"pulley/engine/backend"
	"pulley/engine/plan"
	"pulley/engine/worker"
	"pulley/scenarios/wfformat"
	"pulley/sim"
)

// simRegistry has the actions that come with pulley, and those of traces, none of which waits: in a world they take the
// time that it gives them.
func simRegistry() (*worker.Registry, error) {
	actions := slices.DeleteFunc(worker.Builtins(), func(a worker.Action) bool { return a.Name == "sleep" })
	actions = append(actions, worker.Action{
		Name: "sleep", Args: []string{"ms"}, Doc: "gives None",
		Run: func(context.Context, worker.Call) (any, error) { return nil, nil },
	}, worker.Action{
		Name: wfformat.ActionTask, Args: []string{"id", "seconds", "inputs"}, Doc: "a task of a trace",
		Run: func(_ context.Context, call worker.Call) (any, error) {
			task, err := wfformat.ParseTask(call.Args)
			return task.Value(), err
		},
	})
	return worker.NewRegistry(actions...)
}

// simActions stand for the workers of a world.
func simActions() (sim.Act, error) {
	registry, err := simRegistry()
	if err != nil {
		return nil, err
	}
	return func(action string, args json.RawMessage, attempt int) (json.RawMessage, *plan.Failure) {
		return registry.Execute(context.Background(), backend.Task{Action: action, Args: args, Attempt: attempt})
	}, nil
}
