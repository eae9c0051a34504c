package scenarios

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"

	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/plan"
	"pulley/engine/worker"
	"pulley/scenarios/behaviour"
)

// Executor runs the actions of workloads as their scenarios describe them, in their time. Scenarios may describe an action
// differently: each task runs as its program's scenario says.
func Executor(workloads ...Workload) (worker.Executor, error) {
	c := workerModel{of: map[[sha256.Size]byte]*Workload{}}
	alike := true
	for i := range workloads {
		w := &workloads[i]
		alike = alike && w.Calls() == workloads[0].Calls()
		if i > 0 && w.Graph == workloads[i-1].Graph {
			continue
		}
		program, err := plan.Compile(w.Graph)
		if err != nil {
			return nil, err
		}
		if first := c.of[program.Hash()]; first == nil {
			c.of[program.Hash()] = w
		} else if !sameActions(first, w) {
			return nil, fmt.Errorf("%s and %s run the same program, and describe its actions differently; give one of them a copy of the program under another name", first.Name, w.Name)
		}
	}
	if alike && len(workloads) > 0 {
		return workloads[0].Calls().Timed(), nil
	}
	return c, nil
}

func sameActions(a, b *Workload) bool {
	switch {
	case a.Calls() == b.Calls():
		return true
	case a.Bundle == nil || b.Bundle == nil:
		return a.Bundle == b.Bundle && a.Name == b.Name // both ship
	}
	return a.Bundle.Root == b.Bundle.Root && maps.Equal(a.Bundle.Files, b.Bundle.Files)
}

type workerModel struct {
	of map[[sha256.Size]byte]*Workload
}

func (c workerModel) actions(task backend.Task) *behaviour.Actions {
	if task.Program != nil {
		w := c.of[task.Program.Hash()]
		if w == nil && task.Program.Priority() != 0 {
			if usual, err := task.Program.WithPriority(0); err == nil {
				w = c.of[usual.Hash()]
			}
		}
		if w != nil {
			return w.Calls()
		}
	}
	return behaviour.Plain()
}

func (c workerModel) Execute(ctx context.Context, task backend.Task) (json.RawMessage, *plan.Failure) {
	return c.actions(task).Timed().Execute(ctx, task)
}

// Check implements worker.Executor: some scenario must have all actions of the graph.
func (c workerModel) Check(g *graph.Graph) error {
	err := behaviour.Plain().Timed().Check(g)
	for _, w := range c.of {
		if err == nil {
			break
		}
		err = w.Calls().Timed().Check(g)
	}
	return err
}
