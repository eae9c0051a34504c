package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	enums "go.temporal.io/api/enums/v1"
	"go.temporal.io/api/serviceerror"
	"go.temporal.io/sdk/activity"
	"go.temporal.io/sdk/client"
	"go.temporal.io/sdk/worker"
	"go.temporal.io/sdk/workflow"
	"go.temporal.io/server/common/log"

	"pulley/adapter"
	"pulley/adapter/protocol"
)

const (
	openWithin   = 55 * time.Second // pulley waits a minute
	answerWithin = 10 * time.Second
	tasksWithin  = 5 * time.Second // for tasks at work when the process stops
	requestsMost = 64              // to the server at once, of submits and of looks
	pauseMost    = time.Second
)

func main() { adapter.Main(&system{}) }

// system is a server of Temporal, and a worker and a client that speak to it.
type system struct {
	env      *adapter.Env
	settings settings
	log      *logger

	server *server
	client client.Client
	worker worker.Worker

	tasks   context.Context // ends when tasks at work are given back
	abandon context.CancelFunc
	unwait  context.CancelFunc
	waits   *waits

	requests chan struct{} // has a token per request to the server
}

func (s *system) Describe() protocol.Hello {
	return protocol.Hello{
		Name: "temporal", System: "Temporal", SystemVersion: "1.32.1",
		Promises: defaults.promises(0),
		Shapes:   []protocol.Shape{protocol.ShapeSingle, protocol.ShapeGraph, protocol.ShapeRepeat, protocol.ShapeRetries},
		Settings: defaults.list(),
		Documentation: []string{
			"https://docs.temporal.io/temporal",
			"https://docs.temporal.io/workflow-execution",
			"https://docs.temporal.io/workflow-execution/workflowid-runid",
			"https://docs.temporal.io/activity-execution",
			"https://docs.temporal.io/encyclopedia/retry-policies",
			"https://docs.temporal.io/encyclopedia/detecting-activity-failures",
			"https://docs.temporal.io/encyclopedia/detecting-workflow-failures",
			"https://docs.temporal.io/sticky-execution",
		},
	}
}

func (s *system) Configure(env *adapter.Env) (protocol.Promises, error) {
	longest := time.Duration(0)
	for _, w := range env.Workloads {
		for i := range w.Tasks {
			longest = max(longest, duration(&w.Tasks[i]))
		}
	}
	var err error
	s.settings, err = parseSettings(env.Settings)
	return s.settings.promises(longest), err
}

func (s *system) Create(ctx context.Context, env *adapter.Env) error {
	return createStore(ctx, env.Store.DSN)
}

func (s *system) Open(ctx context.Context, env *adapter.Env, session adapter.Session) (_ adapter.Running, err error) {
	s.env, s.log, s.requests = env, newLogger(), make(chan struct{}, requestsMost)
	s.tasks, s.abandon = context.WithCancel(ctx)
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close(ctx))
		}
	}()
	opening, cancel := context.WithTimeout(ctx, openWithin)
	defer cancel()
	address, err := s.startServer(opening)
	if err != nil {
		return nil, fmt.Errorf("starting Temporal's server: %w", err)
	}
	if s.client, err = s.dial(opening, address); err != nil {
		return nil, fmt.Errorf("connecting to Temporal's server: %w", err)
	}
	waiting, unwait := context.WithCancel(ctx)
	s.unwait, s.waits = unwait, startWaits(waiting, s, s.client, s.settings.waits)
	return s, adapter.Persist(opening, answerWithin, s.env.Problem, func(context.Context) error { return s.startWorker(session.Slots) })
}

// startServer starts a server, and returns the address of its frontend. One that does not start is stopped, and another is made.
func (s *system) startServer(ctx context.Context) (address string, err error) {
	err = adapter.Persist(ctx, answerWithin, s.env.Problem, func(context.Context) (err error) {
		server, err := newServer(s.env.Store.DSN, s.settings, s.log)
		if err != nil {
			return err
		}
		started := make(chan error, 1)
		go func() { started <- server.Start() }() // ends with the process, if it does not before
		select {
		case err = <-started:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
		if err != nil {
			return errors.Join(err, s.stopServer(ctx, server))
		}
		s.server, address = server, server.address
		return nil
	})
	return address, err
}

// stopServer stops a server, or leaves it behind when ctx ends: others take over what it had.
func (s *system) stopServer(ctx context.Context, server *server) error {
	s.log.quiet.Store(true)
	defer s.log.quiet.Store(false)
	stopped := make(chan error, 1)
	go func() { stopped <- server.Stop() }()
	select {
	case err := <-stopped:
		if err := leaveRings(ctx, s.env.Store.DSN, server.members); err != nil {
			s.env.Problem(fmt.Errorf("a server that starts soon waits for this one: %w", err))
		}
		return err
	case <-ctx.Done():
		return nil
	}
}

// dial connects a client. The server accepts connections a little after its start.
func (s *system) dial(ctx context.Context, address string) (c client.Client, err error) {
	err = adapter.Persist(ctx, answerWithin, nil, func(ctx context.Context) error {
		c, err = client.DialContext(ctx, client.Options{HostPort: address, Namespace: namespace, Logger: log.NewSdkLogger(s.log)})
		return err
	})
	return c, err
}

func (s *system) startWorker(slots int) error {
	w := worker.New(s.client, taskQueue, worker.Options{
		MaxConcurrentActivityExecutionSize: slots,
		MaxConcurrentWorkflowTaskPollers:   s.settings.pollers,
		MaxConcurrentActivityTaskPollers:   s.settings.pollers,
		StickyScheduleToStartTimeout:       s.settings.sticky,
		DisableEagerActivities:             !s.settings.eager,
		WorkerStopTimeout:                  tasksWithin,
		OnFatalError:                       func(err error) { s.log.Fatal("the worker has ended: " + err.Error()) },
	})
	w.RegisterWorkflowWithOptions(s.runInstance, workflow.RegisterOptions{Name: workflowName})
	w.RegisterActivityWithOptions(s.executeTask, activity.RegisterOptions{Name: activityName})
	if err := w.Start(); err != nil {
		return fmt.Errorf("starting Temporal's worker: %w", err)
	}
	s.worker = w
	return nil
}

// Submit returns when the server has answered each start. An id that is there is as good as started.
func (s *system) Submit(ctx context.Context, instances []protocol.Instance) error {
	err := s.each(len(instances), func(i int) error {
		return adapter.Persist(ctx, answerWithin, s.env.Problem, func(ctx context.Context) error { return s.start(ctx, instances[i]) })
	})
	if err != nil {
		return err
	}
	for _, i := range instances {
		s.waits.add(i.ID)
	}
	return nil
}

// start starts a workflow. For an id that is there, the SDK returns the workflow that has it.
func (s *system) start(ctx context.Context, i protocol.Instance) error {
	_, err := s.client.ExecuteWorkflow(ctx, client.StartWorkflowOptions{
		ID: i.ID, TaskQueue: taskQueue, WorkflowTaskTimeout: s.settings.workflowTask, EnableEagerStart: s.settings.eager,
		WorkflowIDReusePolicy: enums.WORKFLOW_ID_REUSE_POLICY_REJECT_DUPLICATE,
	}, workflowName, instanceArgs{Workload: i.Workload, Round: 1})
	return err
}

func (s *system) Look(ctx context.Context, ids []string) ([]protocol.State, error) {
	found := make([]*protocol.State, len(ids))
	err := s.each(len(ids), func(i int) error {
		return adapter.Persist(ctx, answerWithin, s.env.Problem, func(ctx context.Context) (err error) { found[i], err = s.look(ctx, ids[i]); return err })
	})
	var states []protocol.State
	for _, state := range found {
		if state != nil {
			states = append(states, *state)
		}
	}
	return states, err
}

// look says what the server has of a workflow; nil: it does not know it.
func (s *system) look(ctx context.Context, id string) (*protocol.State, error) {
	about, err := s.client.DescribeWorkflowExecution(ctx, id, "")
	if errors.As(err, new(*serviceerror.NotFound)) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	info := about.GetWorkflowExecutionInfo()
	switch info.GetStatus() {
	case enums.WORKFLOW_EXECUTION_STATUS_RUNNING, enums.WORKFLOW_EXECUTION_STATUS_CONTINUED_AS_NEW:
		return &protocol.State{ID: id, Status: protocol.Open}, nil
	}
	state, err := result(ctx, s.client, id, info.GetExecution().GetRunId())
	return &state, err
}

// each makes n requests, some at once.
func (s *system) each(n int, request func(i int) error) error {
	errs := make([]error, n)
	var atWork sync.WaitGroup
	for i := range n {
		s.requests <- struct{}{}
		atWork.Go(func() {
			defer func() { <-s.requests }()
			errs[i] = request(i)
		})
	}
	atWork.Wait()
	return errors.Join(errs...)
}

// Close lets tasks at work end for some time, gives back others, and stops the server.
func (s *system) Close(ctx context.Context) error {
	if s.unwait != nil {
		s.unwait()
		s.waits.ended.Wait()
	}
	if s.worker != nil {
		s.worker.Stop()
	}
	s.abandon()
	if s.client != nil {
		s.client.Close()
	}
	if s.server == nil {
		return nil
	}
	return s.stopServer(ctx, s.server)
}
