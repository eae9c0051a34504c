package own

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"

	"pulley/adapter"
	"pulley/adapter/protocol"
	"pulley/engine"
	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/plan"
	"pulley/engine/worker"
	"pulley/internal/pause"
)

const (
	drain = 10 * time.Second // of the 15 s that Close has

	lookWithin = 20 * time.Second // for an answer of the store, with repetitions
	lookOnce   = 5 * time.Second  // of one of them: a connection that was cut off may never answer
	pauseLeast = 20 * time.Millisecond
	pauseMost  = time.Second
)

// running is an engine at work. It executes the engine's tasks itself.
type running struct {
	env       *adapter.Env
	workloads map[string]*workload
	store     backend.Backend
	engine    *engine.Engine

	work      context.Context // of tasks; it ends when they are given back
	abandon   context.CancelFunc
	reports   *outbox
	reporting sync.WaitGroup // of the outbox
}

// workload is one with its program.
type workload struct {
	*protocol.Workload
	program *plan.Program
	tasks   map[string]task // by node
}

type task struct {
	name   string
	inputs []string // in the order in which its arguments have them
}

func newRunning(ctx context.Context, env *adapter.Env) (*running, error) {
	r := &running{env: env, workloads: map[string]*workload{}, reports: newOutbox()}
	for name, w := range env.Workloads {
		program, err := Program(w)
		if err != nil {
			return nil, err
		}
		own := &workload{Workload: w, program: program, tasks: map[string]task{}}
		for i := range w.Tasks {
			own.tasks[nodePath(w, i)] = task{w.Tasks[i].Name, inputsOf(w, &w.Tasks[i])}
		}
		r.workloads[name] = own
	}
	r.work, r.abandon = context.WithCancel(ctx)
	return r, nil
}

// namespace makes the UUIDs of instances.
var namespace = uuid.MustParse("5d1c9c0e-55b4-4f0b-9c0a-6f2f3b6f0d11")

func uuidOf(id string) uuid.UUID { return uuid.NewSHA1(namespace, []byte(id)) }

// Submit implements adapter.Running.
func (r *running) Submit(ctx context.Context, instances []protocol.Instance) error {
	requests := make([]engine.SubmitRequest, len(instances))
	for i, in := range instances {
		input, err := json.Marshal(map[string]string{argInstance: in.ID})
		if err != nil {
			return err
		}
		requests[i] = engine.SubmitRequest{ID: uuidOf(in.ID), Program: r.workloads[in.Workload].program, Input: input}
	}
	_, err := r.engine.SubmitAll(ctx, requests)
	return err
}

// Look implements adapter.Running.
func (r *running) Look(ctx context.Context, ids []string) ([]protocol.State, error) {
	wanted := make([]uuid.UUID, len(ids))
	for i, id := range ids {
		wanted[i] = uuidOf(id)
	}
	found, err := r.lookUp(ctx, wanted)
	if err != nil {
		return nil, err
	}
	states := make([]protocol.State, len(ids))
	for i, in := range found {
		states[i] = stateOf(in)
		states[i].ID = ids[i]
	}
	return states, nil
}

// lookUp repeats a question that has no answer.
func (r *running) lookUp(ctx context.Context, ids []uuid.UUID) (found []backend.Instance, err error) {
	ctx, cancel := context.WithTimeout(ctx, lookWithin)
	defer cancel()
	for rest := pauseLeast; ; rest = min(2*rest, pauseMost) {
		once, cancel := context.WithTimeout(ctx, lookOnce)
		found, err = r.store.Lookup(once, ids)
		cancel()
		if err == nil {
			return found, nil
		}
		if pause.For(ctx, rest) != nil {
			return nil, fmt.Errorf("looking up %d instances: %w", len(ids), err)
		}
	}
}

// stateOf says what became of an instance. Its id is that of the result; empty: there is no result.
func stateOf(in backend.Instance) protocol.State {
	switch in.Status {
	case "":
		return protocol.State{Status: protocol.Unknown}
	case backend.Running:
		return protocol.State{Status: protocol.Open}
	case backend.Completed:
		var result [2]string
		if err := json.Unmarshal(in.Result, &result); err != nil {
			return protocol.State{Status: protocol.Failed, Message: fmt.Sprintf("the result is no list of an id and a value: %v", err)}
		}
		return protocol.State{ID: result[0], Status: protocol.Completed, Value: result[1]}
	}
	return protocol.State{Status: protocol.Failed, Message: in.Failure.String()}
}

// Close implements adapter.Running.
func (r *running) Close(ctx context.Context) error {
	giveBack := time.AfterFunc(drain, r.abandon)
	defer giveBack.Stop()
	defer context.AfterFunc(ctx, r.abandon)()
	err := r.engine.Stop(ctx)
	r.abandon()
	r.store.Close()
	r.reports.close()
	r.reporting.Wait()
	return err
}

// Check implements worker.Executor.
func (r *running) Check(*graph.Graph) error { return nil }

// Execute implements worker.Executor. The engine's context is not used: it ends when a lease is lost, and an execution continues as
// long as its process lives.
func (r *running) Execute(_ context.Context, t backend.Task) (json.RawMessage, *plan.Failure) {
	e, err := r.execution(t)
	if err != nil {
		return nil, r.mistake(e.Instance, t, err)
	}
	value, err := r.env.Execute(r.work, e)
	switch {
	case errors.Is(err, adapter.ErrScripted):
		return nil, &plan.Failure{Type: typeScripted, Message: adapter.ErrScripted.Error(), Action: t.Action}
	case err != nil && r.work.Err() != nil:
		return nil, worker.DeathOf(&worker.DiedError{Cause: err}) // it is given back
	case err != nil:
		return nil, r.mistake(e.Instance, t, err)
	}
	text, err := json.Marshal(value)
	if err != nil {
		return nil, r.mistake(e.Instance, t, err)
	}
	return text, nil
}

// mistake is a failure that ends the instance, whose id nothing else tells.
func (r *running) mistake(id string, t backend.Task, err error) *plan.Failure {
	r.reports.expectFailure(t.Lease.Key.Instance, id)
	return &plan.Failure{Type: worker.TypeError, Message: err.Error(), Action: t.Action}
}

// arguments are those of a task, without large inputs.
type arguments struct {
	Instance string   `json:"instance"`
	Inputs   []string `json:"inputs"`
}

// execution reads a task as the engine gave it.
func (r *running) execution(t backend.Task) (e adapter.Execution, err error) {
	var a arguments
	if err := json.Unmarshal(t.Args, &a); err != nil {
		return e, fmt.Errorf("the arguments of a task: %w", err)
	}
	g := t.Program.Graph()
	e = adapter.Execution{Instance: a.Instance, Workload: g.Name, Attempt: t.Attempt}
	w := r.workloads[g.Name]
	if w == nil {
		return e, fmt.Errorf("instance %q has the workload %q, which setup did not have", a.Instance, g.Name)
	}
	task := w.tasks[g.Nodes[t.Lease.Key.Run.Node].Name]
	inputs := task.inputs
	e.Task = task.name
	if len(a.Inputs) != len(inputs) {
		if a.Inputs, err = largeInputs(t.Args, len(inputs)); err != nil {
			return e, err
		}
	}
	if w.Repeat > 1 {
		round, err := strconv.Atoi(string(t.Lease.Key.Run.Path))
		if err != nil {
			return e, fmt.Errorf("task %q is in no round: %w", e.Task, err)
		}
		e.Round = round + 1
	}
	e.Inputs = make(map[string]string, len(inputs))
	for i, input := range inputs {
		if input == protocol.Previous && e.Round == 1 {
			continue // there was no round before
		}
		e.Inputs[input] = a.Inputs[i]
	}
	return e, nil
}

// largeInputs reads inputs that are arguments of their own.
func largeInputs(args json.RawMessage, n int) ([]string, error) {
	var named map[string]json.RawMessage
	if err := json.Unmarshal(args, &named); err != nil {
		return nil, err
	}
	inputs := make([]string, n)
	for i := range inputs {
		if err := json.Unmarshal(named[argInput+strconv.Itoa(i)], &inputs[i]); err != nil {
			return nil, fmt.Errorf("input %d of a task: %w", i+1, err)
		}
	}
	return inputs, nil
}
