// Command gue is an adapter for pulley that drives gue, version 5.9.0 (github.com/vgarvardt/gue/v5), a job queue for Go, on Postgres
// that holds a transaction with a row lock while a job works. Build it in its folder, since it is a module of its own:
//
//	go build -o gue .
//
// The first build takes about a minute. Version 6 has database/sql in place of drivers' adapters; this is the newest version with an
// adapter for pgx.
//
// # What is gue's
//
// gue has a table of jobs; its [README] is the guide, which this program follows: the migration, a pool of pgx, a client, a pool of as
// many workers as there are slots, and a job type. A worker locks a job by SELECT … FOR UPDATE SKIP LOCKED, executes it in that
// transaction, deletes it, and commits. It looks for a job again at once after a job, and every 5 s while there is none (see
// [NewWorkerPool]); nothing wakes it before. An attempt that fails is repeated after about 1.6 s, 2.6 s and so on
// ([DefaultExponentialBackoff]), at the next look. One whose transaction is aborted, such as by a lost connection, is rolled back: gue
// counts no error and waits for no backoff, and the next look of a worker finds the job. Options that no setting names have gue's
// defaults.
//
// # What is hand-made
//
// gue keeps no results, has no graphs, and does not tell of ends, so store.go does what users of gue do: tables of instances and tasks,
// which a job changes in its own transaction ([Job.Tx]). A job reads the values that its task needs, and at its end stores its value
// and takes one off the number of unfinished needs of each task that follows. It enqueues those that need nothing more
// ([Client.EnqueueBatchTx]). All of that is committed together with the deletion of the job, or not at all.
//
// gue calls hooks before the commit and none after it, so nobody knows of an end but by asking: a process that executes an instance's
// last task looks ten times a second whether its end was committed. If the process dies first, the next one to start reports it, since
// it asks for the ends of the last minute.
//
// # What it promises
//
//   - submit, durable: Enqueue adds a job to a table of Postgres, and Submit returns after the commit.
//   - resubmit, once: an id that is there makes no jobs, which holds because jobs and other changes of a transaction are committed
//     together ([Client.EnqueueTx]).
//   - execution, at least once: a job is locked, executed and deleted in one transaction ([Client.LockJob]).
//   - results, once: for the same reason what a job writes in its transaction counts once.
//   - There is no recovers_ms. The lock of a dead process ends with its session, so the next look of any worker finds the job. But gue's
//     documentation says nothing of processes that die, and how soon Postgres notices is not gue's to promise.
//   - There is no order: jobs of one priority have none by default ([PriorityPollStrategy]). There is no most number of attempts.
//
// [README]: https://github.com/vgarvardt/gue/blob/v5.9.0/README.md
// [NewWorkerPool]: https://pkg.go.dev/github.com/vgarvardt/gue/v5#NewWorkerPool
// [DefaultExponentialBackoff]: https://pkg.go.dev/github.com/vgarvardt/gue/v5#pkg-variables
// [Job.Tx]: https://pkg.go.dev/github.com/vgarvardt/gue/v5#Job.Tx
// [Client.EnqueueBatchTx]: https://pkg.go.dev/github.com/vgarvardt/gue/v5#Client.EnqueueBatchTx
// [Client.EnqueueTx]: https://pkg.go.dev/github.com/vgarvardt/gue/v5#Client.EnqueueTx
// [Client.LockJob]: https://pkg.go.dev/github.com/vgarvardt/gue/v5#Client.LockJob
// [PriorityPollStrategy]: https://pkg.go.dev/github.com/vgarvardt/gue/v5#PollStrategy
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"time"

	gue "github.com/vgarvardt/gue/v5"
	gueadapter "github.com/vgarvardt/gue/v5/adapter"
	"github.com/vgarvardt/gue/v5/adapter/pgxv5"

	"pulley/adapter"
	"pulley/adapter/protocol"
)

const (
	jobType   = "task"
	queueName = "tasks"

	pollDefault = 5000 // milliseconds; gue's own
	endsEvery   = 100 * time.Millisecond
	pauseMost   = time.Second
)

func main() { adapter.Main(&system{}) }

// system is a process's part of the system.
type system struct {
	env      *adapter.Env
	poll     time.Duration
	strategy gue.PollStrategy

	db     store
	client *gue.Client

	shutdown context.CancelFunc // of the workers
	workers  chan error         // has an error or nil when they have ended
	quit     chan struct{}      // is closed when nobody looks for ends any more
	ends     sync.WaitGroup

	mu   sync.Mutex
	open map[string]bool // instances whose last task this process executed, and whose end it has not seen
}

func (s *system) Describe() protocol.Hello {
	pages := "https://pkg.go.dev/github.com/vgarvardt/gue/v5"
	return protocol.Hello{
		Name: "gue", System: "gue", SystemVersion: "5.9.0", Promises: promises,
		Shapes: []protocol.Shape{protocol.ShapeSingle, protocol.ShapeGraph, protocol.ShapeRetries},
		Settings: []protocol.Setting{
			{Name: "poll_ms", Default: strconv.Itoa(pollDefault), About: "how long a worker that found no job waits, in milliseconds, from 10; gue's default", Try: []string{"500", "50", "10"}},
			{Name: "poll_strategy", Default: string(gue.PriorityPollStrategy), About: fmt.Sprintf("which job comes next: %s, gue's default, or %s", gue.PriorityPollStrategy, gue.RunAtPollStrategy), Try: []string{string(gue.RunAtPollStrategy)}},
		},
		Documentation: []string{
			"https://github.com/vgarvardt/gue/blob/v5.9.0/README.md", pages, pages + "#Client.LockJob", pages + "#Client.EnqueueTx",
			pages + "#Client.EnqueueBatchTx", pages + "#Job.Tx", pages + "#NewWorkerPool", pages + "#PollStrategy",
		},
	}
}

var promises = protocol.Promises{Submit: protocol.Durable, Resubmit: protocol.Once, Execution: protocol.AtLeastOnce, Results: protocol.Once}

func (s *system) Configure(env *adapter.Env) (protocol.Promises, error) {
	ms, err := strconv.ParseInt(env.Settings["poll_ms"], 10, 64)
	if err != nil || ms < 10 || ms > 3_600_000 {
		return promises, fmt.Errorf("poll_ms is %q; choose milliseconds from 10 to 3600000", env.Settings["poll_ms"])
	}
	s.poll, s.strategy = time.Duration(ms)*time.Millisecond, gue.PollStrategy(env.Settings["poll_strategy"])
	if s.strategy != gue.PriorityPollStrategy && s.strategy != gue.RunAtPollStrategy {
		return promises, fmt.Errorf("poll_strategy is %q; choose %s or %s", s.strategy, gue.PriorityPollStrategy, gue.RunAtPollStrategy)
	}
	return promises, nil
}

func (s *system) Create(ctx context.Context, env *adapter.Env) error {
	db, err := connect(ctx, env.Store.DSN, 1)
	if err != nil {
		return err
	}
	defer db.Close()
	return db.create(ctx)
}

// connectionsMore are those of Submit, Look and the looks for ends. Each worker holds one while it executes a job.
const connectionsMore = 4

func (s *system) Open(ctx context.Context, env *adapter.Env, session adapter.Session) (_ adapter.Running, err error) {
	if s.db, err = connect(ctx, env.Store.DSN, session.Slots+connectionsMore); err != nil {
		return nil, err
	}
	log := logger{env: env}
	if s.client, err = gue.NewClient(pgxv5.NewConnPool(s.db.Pool), gue.WithClientLogger(log)); err != nil {
		return nil, err
	}
	pool, err := gue.NewWorkerPool(s.client, gue.WorkMap{jobType: s.execute}, session.Slots,
		gue.WithPoolQueue(queueName), gue.WithPoolPollInterval(s.poll), gue.WithPoolPollStrategy(s.strategy), gue.WithPoolLogger(log))
	if err != nil {
		return nil, err
	}
	s.env, s.open, s.quit, s.workers = env, map[string]bool{}, make(chan struct{}), make(chan error, 1)
	recent, err := s.db.recentEnds(ctx)
	if err != nil {
		return nil, err
	}
	s.expect(recent...)
	working, shutdown := context.WithCancel(ctx)
	s.shutdown = shutdown
	go func() { s.workers <- pool.Run(working) }()
	s.ends.Go(func() { s.watch(ctx) })
	return s, nil
}

// arguments are those of a job.
type arguments struct {
	Instance string `json:"instance"`
	Workload string `json:"workload"`
	Task     string `json:"task"`
}

func newJob(a arguments) (*gue.Job, error) {
	text, err := json.Marshal(a)
	return &gue.Job{Type: jobType, Queue: queueName, Args: text}, err
}

// execute is the work of a job. It has written nothing when the attempt fails, since gue commits the job's transaction then, too.
func (s *system) execute(ctx context.Context, j *gue.Job) error {
	var a arguments
	if err := json.Unmarshal(j.Args, &a); err != nil {
		return err
	}
	inputs, err := readInputs(ctx, j.Tx(), a)
	if err != nil {
		return fmt.Errorf("reading inputs: %w", err)
	}
	value, err := s.env.Execute(ctx, adapter.Execution{
		Instance: a.Instance, Workload: a.Workload, Task: a.Task, Attempt: int(j.ErrorCount) + 1, Inputs: inputs,
	})
	if err != nil {
		return err
	}
	ready, isEnd, err := complete(ctx, j.Tx(), a, value, s.env.Workloads[a.Workload].Result == a.Task)
	if err != nil {
		return fmt.Errorf("storing a value: %w", err)
	}
	if isEnd {
		s.expect(a.Instance)
	}
	jobs := make([]*gue.Job, len(ready))
	for i, task := range ready {
		if jobs[i], err = newJob(arguments{a.Instance, a.Workload, task}); err != nil {
			return err
		}
	}
	return s.client.EnqueueBatchTx(ctx, jobs, j.Tx())
}

// Submit repeats a commit whose answer was lost, which makes nothing twice.
func (s *system) Submit(ctx context.Context, instances []protocol.Instance) error {
	return adapter.Persist(ctx, answerWithin, s.env.Problem, func(ctx context.Context) error { return s.db.submit(ctx, s.client, instances, s.env.Workloads) })
}

func (s *system) Look(ctx context.Context, ids []string) (states []protocol.State, err error) {
	err = adapter.Persist(ctx, answerWithin, s.env.Problem, func(ctx context.Context) (err error) { states, err = s.db.look(ctx, ids); return err })
	return states, err
}

// Close cancels the workers' context, which is how gue is shut down: jobs at work are given back by the ends of their transactions.
func (s *system) Close(ctx context.Context) (err error) {
	s.shutdown()
	select {
	case err = <-s.workers:
	case <-ctx.Done():
		err = context.Cause(ctx)
	}
	close(s.quit)
	s.ends.Wait()
	s.db.Close()
	return err
}

// expect lets watch look for the ends of instances.
func (s *system) expect(ids ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, id := range ids {
		s.open[id] = true
	}
}

// watch looks for ends until the process ends, and once more then.
func (s *system) watch(ctx context.Context) {
	wait := endsEvery
	for last := false; !last; {
		select {
		case <-s.quit:
			last = true
		case <-ctx.Done():
			return
		case <-time.After(wait):
		}
		wait = endsEvery
		if err := s.reportEnds(ctx); err != nil {
			s.env.Problem(fmt.Errorf("looking for ends: %w", err))
			wait = pauseMost
		}
	}
}

func (s *system) reportEnds(ctx context.Context) error {
	s.mu.Lock()
	ids := make([]string, 0, len(s.open))
	for id := range s.open {
		ids = append(ids, id)
	}
	s.mu.Unlock()
	if len(ids) == 0 {
		return nil
	}
	ended, err := s.db.ended(ctx, ids)
	for _, e := range ended {
		s.env.Ended(e.ID, protocol.Completed, e.Value)
		s.mu.Lock()
		delete(s.open, e.ID)
		s.mu.Unlock()
	}
	return err
}

// logger reports gue's errors as problems.
type logger struct {
	env    *adapter.Env
	fields []gueadapter.Field
}

func (l logger) Debug(string, ...gueadapter.Field) {}
func (l logger) Info(string, ...gueadapter.Field)  {}

func (l logger) Error(message string, fields ...gueadapter.Field) {
	var b strings.Builder
	b.WriteString(message)
	for _, f := range append(l.fields[:len(l.fields):len(l.fields)], fields...) {
		fmt.Fprintf(&b, ", %s: %v", f.Key, f.Value)
	}
	l.env.Problem(errors.New(b.String()))
}

func (l logger) With(fields ...gueadapter.Field) gueadapter.Logger {
	l.fields = append(l.fields[:len(l.fields):len(l.fields)], fields...)
	return l
}
