package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/dbos-inc/dbos-transact-golang/dbos"
	"github.com/jackc/pgx/v5/pgxpool"
	"golang.org/x/sync/errgroup"

	"pulley/adapter"
	"pulley/adapter/protocol"
)

const (
	application  = "pulley"
	version      = "1" // of the application; DBOS recovers workflows of its own version only
	workflowName = "instance"
	queueName    = "instances"

	startWithin  = 15 * time.Second // for the database to answer
	openWithin   = 40 * time.Second // a store that does not answer now may answer later
	answerWithin = 10 * time.Second // a connection that was cut off may never answer
	endsEvery    = 100 * time.Millisecond
	recent       = time.Minute // an end that a dead process may not have reported is no older
	pauseMost    = time.Second

	submitConnections = 4
	startsMost        = 16 // at a time, of a batch
)

func main() { adapter.Main(&system{}) }

// system is a process's part of the system.
type system struct {
	env      *adapter.Env
	settings settings

	dbos  dbos.Context
	pool  *pgxpool.Pool // for Submit's transactions
	slots chan struct{} // has a token per task at work

	quit chan struct{} // is closed when nobody looks for ends any more
	ends sync.WaitGroup

	mu   sync.Mutex
	open map[string]bool // instances whose workflow returned here, and whose end was not seen
}

func (s *system) Describe() protocol.Hello {
	const docs = "https://docs.dbos.dev/golang/"
	return protocol.Hello{
		Name: "dbos", System: "DBOS Transact for Go", SystemVersion: "1.8.0",
		Promises: defaults.promises(),
		Shapes:   []protocol.Shape{protocol.ShapeSingle, protocol.ShapeGraph, protocol.ShapeRepeat, protocol.ShapeRetries},
		Settings: defaults.list(),
		Documentation: []string{
			docs + "tutorials/workflow-tutorial", docs + "tutorials/step-tutorial", docs + "tutorials/queue-tutorial",
			docs + "reference/configuration", docs + "reference/workflows-steps", "https://docs.dbos.dev/production/workflow-recovery",
		},
	}
}

func (s *system) Configure(env *adapter.Env) (protocol.Promises, error) {
	var err error
	s.settings, err = parseSettings(env.Settings)
	return s.settings.promises(), err
}

// Create makes DBOS's schema, as NewContext does.
func (s *system) Create(ctx context.Context, env *adapter.Env) error {
	c, err := s.newContext(ctx, env, dbos.Config{ExecutorID: "create"})
	if err != nil {
		return err
	}
	return dbos.Shutdown(c, startWithin)
}

// newContext connects to the database. DBOS's variables of the environment would give all processes one executor id.
func (s *system) newContext(ctx context.Context, env *adapter.Env, config dbos.Config) (dbos.Context, error) {
	for _, name := range []string{"DBOS__VMID", "DBOS__APPVERSION", "DBOS__CLOUD"} {
		if err := os.Unsetenv(name); err != nil {
			return nil, err
		}
	}
	dsn, err := url.Parse(env.Store.DSN)
	if err != nil {
		return nil, err
	}
	query := dsn.Query()
	query.Set("pool_max_conns", strconv.Itoa(s.settings.connections))
	dsn.RawQuery = query.Encode()
	config.AppName, config.ApplicationVersion, config.DatabaseURL = application, version, dsn.String()
	config.SystemDBStartupTimeout = startWithin
	config.Logger = slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
	return dbos.NewContext(ctx, config)
}

// Open starts the process's executor.
func (s *system) Open(ctx context.Context, env *adapter.Env, session adapter.Session) (_ adapter.Running, err error) {
	s.env, s.open, s.quit = env, map[string]bool{}, make(chan struct{})
	s.slots = make(chan struct{}, session.Slots)
	if s.pool, err = connect(ctx, env.Store.DSN); err != nil {
		return nil, err
	}
	executor := fmt.Sprintf("process-%d", session.Process)
	opening, cancel := context.WithTimeout(ctx, openWithin)
	defer cancel()
	if err := adapter.Persist(opening, answerWithin, s.env.Problem, func(context.Context) error { return s.launch(ctx, executor) }); err != nil {
		s.pool.Close()
		return nil, err
	}
	s.ends.Go(func() { s.watch(executor) })
	return s, nil
}

// launch makes a context and launches it, which recovers the workflows that an earlier process of the same number left. After an
// error, DBOS wants another context.
func (s *system) launch(ctx context.Context, executor string) (err error) {
	if s.dbos, err = s.newContext(ctx, s.env, dbos.Config{ExecutorID: executor, SkipMigrations: true}); err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, dbos.Shutdown(s.dbos, time.Second))
		}
	}()
	dbos.RegisterWorkflow(s.dbos, s.execute, dbos.WithWorkflowName(workflowName))
	// The queue is a row, which each process writes anew, since a run may have other slots than the last.
	_, err = dbos.RegisterQueue(s.dbos, queueName, dbos.WithWorkerConcurrency(cap(s.slots)),
		dbos.WithQueueBasePollingInterval(s.settings.poll), dbos.WithQueueOnConflict(dbos.QueueConflictAlwaysUpdate))
	if err != nil {
		return err
	}
	return dbos.Launch(s.dbos)
}

// Submit enqueues the instances in one transaction, or starts each. An id that is there starts nothing.
func (s *system) Submit(ctx context.Context, instances []protocol.Instance) error {
	if s.settings.direct {
		return s.startAll(ctx, instances)
	}
	// Two submissions of the same ids would wait for each other's rows in different orders.
	instances = slices.SortedFunc(slices.Values(instances), func(a, b protocol.Instance) int { return cmp.Compare(a.ID, b.ID) })
	return adapter.Persist(ctx, answerWithin, s.env.Problem, func(ctx context.Context) error { return s.enqueue(ctx, instances) })
}

func (s *system) enqueue(ctx context.Context, instances []protocol.Instance) error {
	conn, err := s.pool.Acquire(ctx)
	if err != nil {
		return err
	}
	defer conn.Release()
	// Enqueue takes no context, so the end of ctx closes the connection. It may do so late, and then others repeat what they did.
	network := conn.Conn().PgConn().Conn()
	stop := context.AfterFunc(ctx, func() { _ = network.Close() })
	defer stop()
	tx, err := conn.Begin(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback(ctx) }() // of what was not committed
	for _, i := range instances {
		_, err := dbos.Enqueue[string](s.dbos, queueName, workflowName, i.Workload, dbos.WithEnqueueWorkflowID(i.ID), dbos.WithEnqueueTransaction(tx))
		if err != nil {
			return fmt.Errorf("enqueueing %q: %w", i.ID, err)
		}
	}
	return tx.Commit(ctx)
}

// startAll starts each instance's workflow here, some at a time.
func (s *system) startAll(ctx context.Context, instances []protocol.Instance) error {
	var starting errgroup.Group
	starting.SetLimit(startsMost)
	for _, i := range instances {
		starting.Go(func() error {
			return adapter.Persist(ctx, answerWithin, s.env.Problem, func(ctx context.Context) error { return s.start(ctx, i) })
		})
	}
	return starting.Wait()
}

// start returns when the workflow is stored, or ctx ends: RunWorkflow takes no context, and repeats what fails.
func (s *system) start(ctx context.Context, i protocol.Instance) error {
	started := make(chan error, 1)
	go func() { // ends with DBOS
		handle, err := dbos.RunWorkflow(s.dbos, s.execute, i.Workload, dbos.WithWorkflowID(i.ID))
		started <- err
		if err == nil {
			s.awaitEnd(i.ID, handle)
		}
	}()
	select {
	case err := <-started:
		return err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

func (s *system) Look(ctx context.Context, ids []string) (states []protocol.State, err error) {
	err = adapter.Persist(ctx, answerWithin, s.env.Problem, func(ctx context.Context) (err error) {
		states, err = s.list(ctx, dbos.WithFilterWorkflowIDs(ids...))
		return err
	})
	return states, err
}

// Close shuts DBOS down: it cancels tasks at work, whose workflows stay pending until a process of the same number starts.
func (s *system) Close(ctx context.Context) error {
	close(s.quit)
	s.ends.Wait()
	within := time.Second
	if deadline, has := ctx.Deadline(); has {
		within = max(within, time.Until(deadline)/2) // DBOS waits so long for each of its parts
	}
	err := dbos.Shutdown(s.dbos, within)
	s.pool.Close()
	return err
}

func connect(ctx context.Context, dsn string) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	config.MaxConns = submitConnections
	config.ConnConfig.ConnectTimeout = answerWithin
	return pgxpool.NewWithConfig(ctx, config)
}
