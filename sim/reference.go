package sim

import (
	"encoding/json"
	"fmt"
	"slices"

	"pulley/engine/graph"
	"pulley/engine/ir"
	"pulley/engine/reference"
	"pulley/scenarios"
)

// outcomes returns the outcomes that the reference interpreter allows for an instance of a workload. It returns none, and no
// error, if the workload was not written as a program, if its actions have timeouts, which the reference does not know, or if
// there are too many outcomes to try.
func outcomes(w *scenarios.Workload, act Act) ([]reference.Outcome, error) {
	if w.Source == "" || timed(w.Graph) {
		return nil, nil
	}
	limits := w.Graph.Limits
	program, err := ir.Parse(w.Graph.Name, []byte(w.Source), limits)
	if err != nil {
		return nil, fmt.Errorf("sim: the workload's source: %w", err)
	}
	interpreter, err := reference.NewInterpreter(program, limits)
	if err != nil {
		return nil, fmt.Errorf("sim: the workload's source: %w", err)
	}
	possible, all := interpreter.Possible(w.Input, interpreted(actOf(act, w), limits), reference.Options{Limits: limits}, 0)
	if !all {
		return nil, nil
	}
	return possible, nil
}

func timed(g *graph.Graph) bool {
	return slices.ContainsFunc(g.Nodes, func(n *graph.Node) bool { return n.Timeout > 0 })
}

func interpreted(act Act, limits ir.Limits) reference.Action {
	return reference.OnJSON(limits, func(name string, args json.RawMessage, attempt int) (json.RawMessage, *reference.Error) {
		result, failure := act(name, args, attempt)
		if failure != nil {
			return nil, &reference.Error{Type: failure.Type, Message: failure.Message}
		}
		return result, nil
	})
}
