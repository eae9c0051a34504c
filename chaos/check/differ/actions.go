package differ

import (
	"context"
	"encoding/json"
	"fmt"

	"pulley/chaos/check"
	"pulley/engine/backend"
	"pulley/engine/expr"
	"pulley/engine/ir"
	"pulley/engine/plan"
	"pulley/engine/worker"
)

// actions runs the actions that come with the engine, for the engine and for the reference. They depend on
// their arguments and the attempt only, so that each call needs to be made once.
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

// run makes one attempt.
func (a *actions) run(name string, args json.RawMessage, attempt int) (json.RawMessage, *plan.Failure) {
	key := fmt.Sprintf("%s %d %s", name, attempt, args)
	if got, ok := a.known[key]; ok {
		return got.result, got.failure
	}
	result, failure := a.registry.Execute(context.Background(), backend.Task{Action: name, Args: args, Attempt: attempt})
	a.known[key] = answer{result, failure}
	return result, failure
}

// reference makes the interpreter call them.
func (a *actions) reference(name string, args check.Args, attempt int) (expr.Value, *check.Error) {
	object := []byte{'{'}
	for i, arg := range args {
		value, err := expr.Encode(arg.Value)
		if err != nil {
			return nil, &check.Error{Type: check.TypeResult, Message: err.Error()}
		}
		if i > 0 {
			object = append(object, ',')
		}
		object = append(fmt.Appendf(object, "%q:", arg.Name), value...) // a name is an identifier
	}
	result, failure := a.run(name, append(object, '}'), attempt)
	if failure != nil {
		return nil, &check.Error{Type: failure.Type, Message: failure.Message}
	}
	value, err := expr.Decode(result, ir.Limits{})
	if err != nil {
		return nil, &check.Error{Type: check.TypeResult, Message: err.Error()}
	}
	return value, nil
}
