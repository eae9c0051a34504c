package main

import (
	"context"
	"fmt"
	"slices"

	"github.com/dbos-inc/dbos-transact-golang/dbos"

	"pulley/adapter"
	"pulley/adapter/protocol"
)

// execute is the workflow: it runs an instance of a workload, whose id is the workflow's.
func (s *system) execute(ctx dbos.Context, workload string) (string, error) {
	id, err := dbos.GetWorkflowID(ctx)
	if err != nil {
		return "", err
	}
	defer s.expect(id)
	w := s.env.Workloads[workload]
	if w == nil {
		return "", fmt.Errorf("instance %q has the workload %q, which setup did not have", id, workload)
	}
	r := round{system: s, instance: id, workload: w, tasks: inOrder(w)}
	if w.Repeat == 0 {
		return r.run(ctx)
	}
	value := ""
	for r.number = 1; r.number <= w.Repeat; r.number++ {
		if value, err = r.run(ctx); err != nil {
			return "", err
		}
		r.previous = value
	}
	return value, nil
}

// inOrder returns a workload's tasks by their depths. A workflow starts steps in this order, waiting for what each needs, so that
// those of one depth work at the same time and a step always has the same number.
func inOrder(w *protocol.Workload) []protocol.Task {
	depths := map[string]int{}
	for _, t := range w.Tasks {
		for _, need := range t.Needs {
			depths[t.Name] = max(depths[t.Name], depths[need]+1)
		}
	}
	tasks := slices.Clone(w.Tasks)
	slices.SortStableFunc(tasks, func(a, b protocol.Task) int { return depths[a.Name] - depths[b.Name] })
	return tasks
}

// round executes a workload's graph once.
type round struct {
	system   *system
	instance string
	workload *protocol.Workload
	tasks    []protocol.Task

	number   int    // from 1; zero if the workload has no rounds
	previous string // the last round's result
}

// run starts each task as a concurrent step when those that it needs have values, and returns the result's value.
func (r *round) run(ctx dbos.Context) (string, error) {
	steps := map[string]<-chan dbos.StepOutcome[string]{}
	values := map[string]string{}
	wait := func(task string) (string, error) {
		if _, known := values[task]; !known {
			outcome := <-steps[task] // has a value when DBOS has stored it
			if outcome.Err != nil {
				return "", outcome.Err
			}
			values[task] = outcome.Result
		}
		return values[task], nil
	}
	for _, t := range r.tasks {
		inputs := map[string]string{}
		for _, need := range t.Needs {
			value, err := wait(need)
			if err != nil {
				return "", err
			}
			inputs[need] = value
		}
		if len(t.Needs) == 0 && r.number > 1 {
			inputs[protocol.Previous] = r.previous
		}
		var err error
		if steps[t.Name], err = r.start(ctx, t.Name, inputs); err != nil {
			return "", err
		}
	}
	for _, t := range r.tasks {
		if _, err := wait(t.Name); err != nil {
			return "", err
		}
	}
	return values[r.workload.Result], nil
}

// start starts a task's step. DBOS does not tell a step the number of its attempt, so the step counts, as DBOS does: from 1 each
// time a process begins to execute it.
func (r *round) start(ctx dbos.Context, task string, inputs map[string]string) (<-chan dbos.StepOutcome[string], error) {
	s, e := r.system, adapter.Execution{Instance: r.instance, Workload: r.workload.Name, Task: task, Round: r.number, Inputs: inputs}
	return dbos.Go(ctx, func(ctx context.Context) (string, error) {
		select {
		case s.slots <- struct{}{}:
			defer func() { <-s.slots }()
		case <-ctx.Done():
			return "", context.Cause(ctx)
		}
		e.Attempt++
		return s.env.Execute(ctx, e)
	}, dbos.WithStepName(task), dbos.WithStepMaxRetries(s.settings.retries), dbos.WithStepBaseInterval(s.settings.retry))
}
