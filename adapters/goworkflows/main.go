package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync"
	"time"

	"github.com/cschleiden/go-workflows/backend"
	"github.com/cschleiden/go-workflows/client"
	"github.com/cschleiden/go-workflows/registry"
	"github.com/cschleiden/go-workflows/worker"
	"github.com/jackc/pgx/v5/pgxpool"

	"pulley/adapter"
	"pulley/adapter/protocol"
)

const (
	workflowName = "instance"
	activityName = "task"

	openWithin   = 20 * time.Second // for the database to answer
	answerWithin = 10 * time.Second // a connection that was cut off may never answer
	endsSoon     = time.Millisecond
	endsEvery    = 100 * time.Millisecond
	recent       = time.Minute // an end that a dead process may not have reported is no older
	pauseMost    = time.Second

	lookConnections = 4
)

func main() { adapter.Main(&system{}) }

// system is a process's part of the system.
type system struct {
	env      *adapter.Env
	settings settings

	pool    *pgxpool.Pool // for Look and ends
	backend backend.Backend
	client  *client.Client
	worker  *worker.Worker
	stop    context.CancelFunc // ends the worker's pollers

	tasks   context.Context // of tasks at work
	abandon context.CancelFunc

	quit  chan struct{} // is closed when nobody looks for ends any more
	first chan struct{} // says that an end is expected, after a time without any
	ends  sync.WaitGroup

	mu   sync.Mutex
	open map[string]bool // instances whose workflow returned here, and whose end was not seen
}

func (s *system) Describe() protocol.Hello {
	const pages, docs = "https://pkg.go.dev/github.com/cschleiden/go-workflows@v1.4.1/", "https://cschleiden.github.io/go-workflows/"
	return protocol.Hello{
		Name: "goworkflows", System: "go-workflows", SystemVersion: "1.4.1",
		Promises: defaults.promises(),
		Shapes:   []protocol.Shape{protocol.ShapeSingle, protocol.ShapeGraph, protocol.ShapeRepeat, protocol.ShapeRetries},
		Settings: defaults.list(),
		Documentation: []string{
			"https://github.com/cschleiden/go-workflows/blob/v1.4.1/README.md", docs + "#guide", docs + "#retries", docs + "#backends",
			pages + "backend#Options", pages + "worker#Options",
		},
	}
}

func (s *system) Configure(env *adapter.Env) (protocol.Promises, error) {
	var err error
	s.settings, err = parseSettings(env.Settings)
	return s.settings.promises(), err
}

// Create makes the tables of go-workflows.
func (s *system) Create(ctx context.Context, env *adapter.Env) error {
	pool, err := connect(ctx, env.Store.DSN)
	if err != nil {
		return err
	}
	defer pool.Close()
	// The migration has no deadline, so it begins when the database has answered.
	pinging, cancel := context.WithTimeout(ctx, openWithin)
	defer cancel()
	if err := pool.Ping(pinging); err != nil {
		return err
	}
	b, err := newBackend(env.Store.DSN, s.settings)
	if err != nil {
		return err
	}
	return errors.Join(b.Migrate(), b.Close())
}

func (s *system) Open(ctx context.Context, env *adapter.Env, session adapter.Session) (_ adapter.Running, err error) {
	s.env, s.open, s.quit, s.first = env, map[string]bool{}, make(chan struct{}), make(chan struct{}, 1)
	if s.pool, err = connect(ctx, env.Store.DSN); err != nil {
		return nil, err
	}
	opening, cancel := context.WithTimeout(ctx, openWithin)
	defer cancel()
	if err := adapter.Persist(opening, answerWithin, s.env.Problem, s.pool.Ping); err != nil {
		return nil, err
	}
	b, err := newBackend(env.Store.DSN, s.settings)
	if err != nil {
		return nil, err
	}
	s.backend, s.client = b, client.New(b)
	s.worker = worker.New(b, s.settings.worker(session.Slots))
	if err := s.worker.RegisterWorkflow(s.execute, registry.WithName(workflowName)); err != nil {
		return nil, err
	}
	if err := s.worker.RegisterActivity(s.task, registry.WithName(activityName)); err != nil {
		return nil, err
	}
	s.tasks, s.abandon = context.WithCancel(ctx)
	polling, stop := context.WithCancel(ctx)
	s.stop = stop
	if err := s.worker.Start(polling); err != nil {
		return nil, err
	}
	s.ends.Go(func() { s.watch(ctx) })
	return s, nil
}

// Submit creates an instance after the other. One that is there is left as it is.
func (s *system) Submit(ctx context.Context, instances []protocol.Instance) error {
	for _, i := range instances {
		err := adapter.Persist(ctx, answerWithin, s.env.Problem, func(ctx context.Context) error {
			_, err := s.client.CreateWorkflowInstance(ctx, client.WorkflowInstanceOptions{InstanceID: i.ID}, workflowName, i.Workload)
			if errors.Is(err, backend.ErrInstanceAlreadyExists) {
				return nil
			}
			return err
		})
		if err != nil {
			return fmt.Errorf("creating %q: %w", i.ID, err)
		}
	}
	return nil
}

func (s *system) Look(ctx context.Context, ids []string) (states []protocol.State, err error) {
	err = adapter.Persist(ctx, answerWithin, s.env.Problem, func(ctx context.Context) (err error) { states, err = look(ctx, s.pool, ids); return err })
	return states, err
}

// Close ends the pollers and lets tasks at work end. When ctx ends, it closes the backend before it abandons them: then their failures
// are not stored, and others take them over when their locks end.
func (s *system) Close(ctx context.Context) error {
	s.stop()
	ended := make(chan error, 1)
	go func() { ended <- s.worker.WaitForCompletion() }() // ends with the process at the latest
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	close(s.quit)
	s.ends.Wait()
	err = errors.Join(err, s.backend.Close())
	s.abandon()
	s.pool.Close()
	return err
}

// logger writes what go-workflows warns of to standard error, which goes to pulley's log.
func logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
}
