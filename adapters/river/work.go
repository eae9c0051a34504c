package main

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"pulley/adapter"
	"pulley/adapter/protocol"
)

// taskArgs are the arguments of a job, which River stores as JSON.
type taskArgs struct {
	Instance string            `json:"instance"`
	Workload string            `json:"workload"`
	Task     string            `json:"task"`
	Inputs   map[string]string `json:"inputs,omitempty"`
}

// Kind is the name under which River finds the worker.
func (taskArgs) Kind() string { return "task" }

func parseArgs(encoded []byte) (args taskArgs, err error) {
	if err = json.Unmarshal(encoded, &args); err != nil {
		err = fmt.Errorf("a job's arguments: %w", err)
	}
	return args, err
}

// worker executes tasks.
type worker struct {
	river.WorkerDefaults[taskArgs]
	system *system
}

// Work executes a task. What follows from it is one transaction with the job's completion. If that fails, River makes another
// attempt, unless it was committed after all.
func (w *worker) Work(ctx context.Context, job *river.Job[taskArgs]) error {
	s, args := w.system, job.Args
	value, err := s.env.Execute(ctx, adapter.Execution{
		Instance: args.Instance, Workload: args.Workload, Task: args.Task, Attempt: job.Attempt, Inputs: args.Inputs,
	})
	if err != nil {
		return err
	}
	if s.settings.batched && len(s.env.Workloads[args.Workload].Tasks) == 1 {
		return river.RecordOutput(ctx, value)
	}
	var end *string
	err = pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) (err error) {
		if end, err = s.finish(ctx, tx, args, value); err != nil {
			return err
		}
		_, err = river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job)
		return err
	})
	if err != nil {
		return err
	}
	if end != nil {
		s.env.Ended(args.Instance, protocol.Completed, *end)
	}
	return nil
}

// finish stores a task's value and inserts the jobs that can follow. It returns the instance's value if the instance has ended.
func (s *system) finish(ctx context.Context, tx pgx.Tx, args taskArgs, value string) (end *string, err error) {
	f, err := storeValue(ctx, tx, args, value, s.settings.trusting)
	if err != nil || !f.counts {
		return f.end, err
	}
	workload := s.env.Workloads[args.Workload]
	if len(f.have) == len(workload.Tasks) {
		return endInstance(ctx, tx, args.Instance, workload.Result, s.settings.trusting)
	}
	next := followers(workload, args.Task, f.have)
	if len(next) == 0 {
		return nil, nil
	}
	values, err := valuesOf(ctx, tx, args, value, next)
	if err != nil {
		return nil, err
	}
	jobs := make([]river.InsertManyParams, len(next))
	for n, t := range next {
		inputs := map[string]string{}
		for _, need := range t.Needs {
			inputs[need] = values[need]
		}
		jobs[n].Args = taskArgs{Instance: args.Instance, Workload: args.Workload, Task: t.Name, Inputs: inputs}
	}
	return nil, insert(ctx, s.client, tx, jobs)
}

// followers returns the tasks that need a task, and whose needs are all there.
func followers(w *protocol.Workload, task string, have map[string]bool) (next []protocol.Task) {
	for _, t := range w.Tasks {
		follows, ready := false, true
		for _, need := range t.Needs {
			follows = follows || need == task
			ready = ready && have[need]
		}
		if follows && ready {
			next = append(next, t)
		}
	}
	return next
}
