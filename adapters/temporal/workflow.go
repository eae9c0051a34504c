package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/temporal"
	"go.temporal.io/sdk/workflow"

	"pulley/adapter"
	"pulley/adapter/protocol"
)

// The names under which the server knows the workflow, the activity and their task queue.
const (
	workflowName = "instance"
	activityName = "task"
	taskQueue    = "tasks"
)

// instanceArgs are the arguments of a workflow: an instance, from a round on.
type instanceArgs struct {
	Workload string
	Round    int    // from 1
	Previous string // the value of the round before
}

// taskArgs are the arguments of an activity. The instance is the workflow's id.
type taskArgs struct {
	Workload string
	Task     string
	Round    int // zero: the workload has no rounds
	Inputs   map[string]string
}

// runInstance is the workflow: it executes a workload's rounds, and returns the value of the last one.
func (s *system) runInstance(ctx workflow.Context, args instanceArgs) (string, error) {
	w := s.env.Workloads[args.Workload]
	if w == nil {
		return "", temporal.NewNonRetryableApplicationError(fmt.Sprintf("there is no workload %q", args.Workload), "workload", nil)
	}
	for done := 1; ; done++ {
		value, err := s.runRound(ctx, w, args)
		if err != nil || args.Round >= w.Repeat {
			return value, err
		}
		args.Round, args.Previous = args.Round+1, value
		if s.isLong(ctx, done) {
			return "", workflow.NewContinueAsNewError(ctx, workflowName, args)
		}
	}
}

// isLong reports whether a run's history is so long that the workflow should continue with a new one.
func (s *system) isLong(ctx workflow.Context, rounds int) bool {
	if s.settings.roundsPerRun > 0 {
		return rounds >= s.settings.roundsPerRun
	}
	return workflow.GetInfo(ctx).GetContinueAsNewSuggested()
}

// runRound executes each task of a graph once the tasks that it needs have finished, and returns the result when all have.
func (s *system) runRound(ctx workflow.Context, w *protocol.Workload, args instanceArgs) (result string, err error) {
	futures := map[string]workflow.Future{}
	for i := range w.Tasks {
		t := &w.Tasks[i]
		if len(t.Needs) == 0 {
			futures[t.Name] = s.execute(ctx, w, t, args)
			continue
		}
		future, finished := workflow.NewFuture(ctx)
		futures[t.Name] = future
		workflow.Go(ctx, func(ctx workflow.Context) {
			inputs, err := valuesOf(ctx, futures, t.Needs)
			if err != nil {
				finished.SetError(err)
				return
			}
			finished.Chain(s.executeWith(ctx, w, t, args.Round, inputs))
		})
	}
	for _, t := range w.Tasks {
		var value string
		if err := futures[t.Name].Get(ctx, &value); err != nil {
			return "", err
		}
		if t.Name == w.Result {
			result = value
		}
	}
	return result, nil
}

// valuesOf waits for tasks, and returns their values.
func valuesOf(ctx workflow.Context, futures map[string]workflow.Future, names []string) (map[string]string, error) {
	values := make(map[string]string, len(names))
	for _, name := range names {
		var value string
		if err := futures[name].Get(ctx, &value); err != nil {
			return nil, err
		}
		values[name] = value
	}
	return values, nil
}

// execute executes a task that needs no other: in later rounds it gets the last round's value.
func (s *system) execute(ctx workflow.Context, w *protocol.Workload, t *protocol.Task, args instanceArgs) workflow.Future {
	inputs := map[string]string{}
	if args.Round > 1 {
		inputs[protocol.Previous] = args.Previous
	}
	return s.executeWith(ctx, w, t, args.Round, inputs)
}

func (s *system) executeWith(ctx workflow.Context, w *protocol.Workload, t *protocol.Task, round int, inputs map[string]string) workflow.Future {
	if w.Repeat == 0 {
		round = 0
	}
	ctx = workflow.WithActivityOptions(ctx, workflow.ActivityOptions{
		StartToCloseTimeout: s.settings.activity + duration(t),
		RetryPolicy: &temporal.RetryPolicy{
			InitialInterval: s.settings.retry, BackoffCoefficient: 2, MaximumInterval: s.settings.retryMost, MaximumAttempts: int32(s.settings.maxAttempts),
		},
	})
	return workflow.ExecuteActivity(ctx, activityName, taskArgs{Workload: w.Name, Task: t.Name, Round: round, Inputs: inputs})
}

// duration is how long a task works.
func duration(t *protocol.Task) time.Duration { return time.Duration(t.MS * float64(time.Millisecond)) }

// executeTask is the activity. Its own context ends at the start-to-close timeout; an attempt that is too late goes on, and the
// server does not take its result.
func (s *system) executeTask(ctx context.Context, args taskArgs) (string, error) {
	info := activity.GetInfo(ctx)
	value, err := s.env.Execute(s.tasks, adapter.Execution{
		Instance: info.WorkflowExecution.ID, Workload: args.Workload, Task: args.Task, Round: args.Round, Attempt: int(info.Attempt), Inputs: args.Inputs,
	})
	if errors.Is(err, adapter.ErrScripted) {
		err = adapter.ErrScripted // without the text of what else went wrong, which may vary
	}
	return value, err
}
