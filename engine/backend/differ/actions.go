package differ

import (
	"context"
	"encoding/json"
	"fmt"

	"pulley/engine/backend"
	"pulley/engine/ir"
	"pulley/engine/plan"
	"pulley/engine/reference"
	"pulley/engine/worker"
)

// actions runs the built-in actions for the engine and for the reference. They depend only on their arguments and the attempt, so
// each call is made once.
type actions struct {
	registry *worker.Registry
	known    map[string]answer
}

type answer struct {
	result  json.RawMessage
	failure *plan.Failure
}

func newActions() (*actions, error) {
	registry, err := worker.NewRegistry(worker.Builtins()...)
	if err != nil {
		return nil, err
	}
	return &actions{registry: registry, known: map[string]answer{}}, nil
}

func (a *actions) run(name string, args json.RawMessage, attempt int) (json.RawMessage, *plan.Failure) {
	key := fmt.Sprintf("%s %d %s", name, attempt, args)
	if got, ok := a.known[key]; ok {
		return got.result, got.failure
	}
	result, failure := a.registry.Execute(context.Background(), backend.Task{Action: name, Args: args, Attempt: attempt})
	a.known[key] = answer{result, failure}
	return result, failure
}

func (a *actions) reference() reference.Action {
	return reference.OnJSON(ir.Limits{}, func(name string, args json.RawMessage, attempt int) (json.RawMessage, *reference.Error) {
		result, failure := a.run(name, args, attempt)
		if failure != nil {
			return nil, &reference.Error{Type: failure.Type, Message: failure.Message}
		}
		return result, nil
	})
}
