package main

import (
	"context"
	"fmt"

	"github.com/cschleiden/go-workflows/activity"
	"github.com/cschleiden/go-workflows/workflow"

	"pulley/adapter"
	"pulley/adapter/protocol"
)

// execute is the workflow: it runs an instance of a workload.
func (s *system) execute(ctx workflow.Context, workload string) (string, error) {
	id := workflow.WorkflowInstance(ctx).InstanceID
	value, err := s.rounds(ctx, id, workload)
	if !workflow.Replaying(ctx) {
		s.expect(id) // its end is stored when this has returned
	}
	return value, err
}

func (s *system) rounds(ctx workflow.Context, id, workload string) (value string, err error) {
	w := s.env.Workloads[workload]
	if w == nil {
		return "", fmt.Errorf("instance %q has the workload %q, which setup did not have", id, workload)
	}
	r := round{instance: id, workload: w, options: workflow.ActivityOptions{RetryOptions: s.settings.retries()}}
	if w.Repeat == 0 {
		return r.run(ctx)
	}
	for r.number = 1; r.number <= w.Repeat; r.number++ {
		if value, err = r.run(ctx); err != nil {
			return "", err
		}
		r.previous = value
	}
	return value, nil
}

// round executes a workload's graph once.
type round struct {
	instance string
	workload *protocol.Workload
	options  workflow.ActivityOptions

	number   int    // from 1; zero if the workload has no rounds
	previous string // the last round's result
}

// run executes each task in a coroutine of the workflow, which waits for what it needs. Only one coroutine works at a time.
func (r *round) run(ctx workflow.Context) (string, error) {
	ended := map[string]workflow.Channel[string]{} // closed when a task has ended
	for _, t := range r.workload.Tasks {
		ended[t.Name] = workflow.NewChannel[string]()
	}
	values := map[string]string{}
	var failure error // the first
	for _, t := range r.workload.Tasks {
		workflow.Go(ctx, func(ctx workflow.Context) {
			for _, need := range t.Needs {
				ended[need].Receive(ctx)
			}
			if failure == nil {
				value, err := workflow.ExecuteActivity[string](ctx, r.options, activityName, r.execution(t, values)).Get(ctx)
				if err != nil && failure == nil {
					failure = fmt.Errorf("task %s: %w", t.Name, err)
				}
				values[t.Name] = value
			}
			ended[t.Name].Close() // not deferred: go-workflows unwinds coroutines that it puts away, and those that wait here would continue
		})
	}
	// A workflow that ends while activities are at work fails.
	for _, t := range r.workload.Tasks {
		ended[t.Name].Receive(ctx)
	}
	return values[r.workload.Result], failure
}

// execution is what a task's activity gets.
func (r *round) execution(t protocol.Task, values map[string]string) adapter.Execution {
	inputs := map[string]string{}
	for _, need := range t.Needs {
		inputs[need] = values[need]
	}
	if len(t.Needs) == 0 && r.number > 1 {
		inputs[protocol.Previous] = r.previous
	}
	return adapter.Execution{Instance: r.instance, Workload: r.workload.Name, Task: t.Name, Round: r.number, Inputs: inputs}
}

// task is the activity. Its context ends when a heartbeat fails, which is no reason to stop for a task that counts once.
func (s *system) task(ctx context.Context, e adapter.Execution) (string, error) {
	e.Attempt = activity.Attempt(ctx) + 1
	return s.env.Execute(s.tasks, e)
}
