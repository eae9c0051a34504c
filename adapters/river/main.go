package main

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"

	"pulley/adapter"
	"pulley/adapter/protocol"
)

const (
	connectWithin = 10 * time.Second
	answerWithin  = 10 * time.Second // a connection that was cut off may never answer
	openWithin    = 20 * time.Second // a store that does not answer now may answer later
	softStop      = 10 * time.Second // of the 15 s that Close has
	pauseMost     = time.Second

	// extraConnections are River's own: LISTEN, fetching, completing, electing a leader and its maintenance; and those of requests.
	extraConnections = 8
	connectionsMost  = 1000
	eventsMost       = 10_000 // that wait to be reported; River drops others, and look tells
)

func main() { adapter.Main(&system{}) }

// system is a River client that inserts and works, with the adapter's tables.
type system struct {
	env      *adapter.Env
	settings settings

	pool        *pgxpool.Pool
	client      *river.Client[pgx.Tx]
	unsubscribe func() // ends the subscription
	heard       sync.WaitGroup
}

func (s *system) Describe() protocol.Hello {
	return protocol.Hello{
		Name: "river", System: "River", SystemVersion: "0.51.2",
		Promises: defaults.promises(),
		Shapes:   []protocol.Shape{protocol.ShapeSingle, protocol.ShapeGraph, protocol.ShapeRetries},
		Settings: defaults.list(),
		Documentation: []string{
			"https://riverqueue.com/docs/reliable-workers",
			"https://riverqueue.com/docs/transactional-enqueueing",
			"https://riverqueue.com/docs/transactional-job-completion",
			"https://riverqueue.com/docs/job-retries",
			"https://riverqueue.com/docs/maintenance-services",
			"https://riverqueue.com/docs/leader-election",
			"https://pkg.go.dev/github.com/riverqueue/river#Config",
		},
	}
}

func (s *system) Configure(env *adapter.Env) (protocol.Promises, error) {
	var err error
	s.settings, err = parseSettings(env.Settings)
	return s.settings.promises(), err
}

// Create runs River's migrations and makes the adapter's tables.
func (s *system) Create(ctx context.Context, env *adapter.Env) error {
	pool, err := connect(ctx, env.Store.DSN, 2)
	if err != nil {
		return err
	}
	defer pool.Close()
	if err := pool.Ping(ctx); err != nil {
		return err
	}
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: logger()})
	if err != nil {
		return err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return err
	}
	_, err = pool.Exec(ctx, createTables)
	return err
}

func (s *system) Open(ctx context.Context, env *adapter.Env, session adapter.Session) (_ adapter.Running, err error) {
	s.env = env
	if s.pool, err = connect(ctx, env.Store.DSN, min(session.Slots, s.settings.connections)+extraConnections); err != nil {
		return nil, err
	}
	opening, cancel := context.WithTimeout(ctx, openWithin)
	defer cancel()
	if err := adapter.Persist(opening, answerWithin, s.env.Problem, func(context.Context) error { return s.start(ctx, session.Slots) }); err != nil {
		s.pool.Close()
		return nil, err
	}
	return s, nil
}

// start makes a client and starts it.
func (s *system) start(ctx context.Context, slots int) error {
	workers := river.NewWorkers()
	river.AddWorker(workers, &worker{system: s})
	client, err := river.NewClient(riverpgxv5.New(s.pool), s.settings.config(workers, slots))
	if err != nil {
		return err
	}
	kinds := []river.EventKind{river.EventKindJobFailed}
	if s.settings.batched {
		kinds = append(kinds, river.EventKindJobCompleted)
	}
	events, unsubscribe := client.SubscribeConfig(&river.SubscribeConfig{Kinds: kinds, ChanSize: eventsMost})
	if err := client.Start(ctx); err != nil {
		unsubscribe()
		return err
	}
	s.client, s.unsubscribe = client, unsubscribe
	s.heard.Go(func() { s.listen(events) })
	return nil
}

// config is River's configuration. What it does not say is River's default.
func (s settings) config(workers *river.Workers, slots int) *river.Config {
	c := &river.Config{
		Queues:               map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: slots}},
		Workers:              workers,
		JobTimeout:           s.jobTimeout,
		RescueStuckJobsAfter: s.rescueAfter,
		MaxAttempts:          s.maxAttempts,
		FetchCooldown:        s.fetchCooldown,
		FetchPollInterval:    s.fetchPoll,
		SoftStopTimeout:      softStop,
		Logger:               logger(),
	}
	if s.retry > 0 {
		c.RetryPolicy = s.retry
	}
	return c
}

// steady is a retry policy: the same time before each retry.
type steady time.Duration

func (s steady) NextRetry(*rivertype.JobRow) time.Time { return time.Now().Add(time.Duration(s)) }

// listen reports instances that failed, and those that River's batch completer completed, until the subscription ends.
func (s *system) listen(events <-chan *river.Event) {
	for e := range events {
		completed := e.Job.State == rivertype.JobStateCompleted
		if e.Job.State != rivertype.JobStateDiscarded && !completed {
			continue
		}
		args, err := parseArgs(e.Job.EncodedArgs)
		if err != nil {
			s.env.Problem(err)
			continue
		}
		if completed {
			s.reportOutput(args, e.Job.Output())
			continue
		}
		message := "a job was discarded"
		if n := len(e.Job.Errors); n > 0 {
			message = e.Job.Errors[n-1].Error
		}
		s.env.Ended(args.Instance, protocol.Failed, message)
	}
}

// reportOutput reports the end of an instance of one task whose value is its job's output. Tasks of graphs have none.
func (s *system) reportOutput(args taskArgs, output []byte) {
	if output == nil {
		return
	}
	var value string
	if err := json.Unmarshal(output, &value); err != nil {
		s.env.Problem(fmt.Errorf("the output of instance %q: %w", args.Instance, err))
		return
	}
	s.env.Ended(args.Instance, protocol.Completed, value)
}

// Submit inserts the instances that are not there, and their first jobs, in one transaction.
func (s *system) Submit(ctx context.Context, instances []protocol.Instance) error {
	return adapter.Persist(ctx, answerWithin, s.env.Problem, func(ctx context.Context) error {
		return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
			added, err := addInstances(ctx, tx, instances)
			if err != nil {
				return err
			}
			var jobs []river.InsertManyParams
			for _, i := range added {
				for _, t := range s.env.Workloads[i.Workload].Tasks {
					if len(t.Needs) == 0 {
						jobs = append(jobs, river.InsertManyParams{Args: taskArgs{Instance: i.ID, Workload: i.Workload, Task: t.Name}})
					}
				}
			}
			if len(jobs) == 0 {
				return nil
			}
			_, err = s.client.InsertManyFastTx(ctx, tx, jobs)
			return err
		})
	})
}

// insert inserts jobs. There may be none.
func insert(ctx context.Context, client *river.Client[pgx.Tx], tx pgx.Tx, jobs []river.InsertManyParams) error {
	if len(jobs) == 0 {
		return nil
	}
	_, err := client.InsertManyTx(ctx, tx, jobs)
	return err
}

func (s *system) Look(ctx context.Context, ids []string) (states []protocol.State, err error) {
	err = adapter.Persist(ctx, answerWithin, s.env.Problem, func(ctx context.Context) (err error) { states, err = look(ctx, s.pool, ids); return err })
	return states, err
}

// Close lets jobs at work end for some time, after which River gives them back.
func (s *system) Close(ctx context.Context) error {
	err := s.client.Stop(ctx)
	s.unsubscribe()
	s.heard.Wait()
	s.pool.Close()
	return err
}

func connect(ctx context.Context, dsn string, connections int) (*pgxpool.Pool, error) {
	config, err := pgxpool.ParseConfig(dsn)
	if err != nil {
		return nil, err
	}
	config.MaxConns = int32(connections)
	config.ConnConfig.ConnectTimeout = connectWithin
	return pgxpool.NewWithConfig(ctx, config)
}

// logger writes what River warns of to standard error, which goes to pulley's log.
func logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelWarn}))
}

// settings are the adapter's settings.
type settings struct {
	jobTimeout, rescueAfter  time.Duration
	retry                    steady // zero: River's own policy
	maxAttempts              int
	fetchCooldown, fetchPoll time.Duration
	connections              int // of jobs
	batched                  bool
	trusting                 bool
}

var defaults = settings{
	jobTimeout: 5 * time.Second, rescueAfter: 6 * time.Second, retry: steady(500 * time.Millisecond),
	maxAttempts: river.MaxAttemptsDefault, fetchCooldown: river.FetchCooldownDefault, fetchPoll: river.FetchPollIntervalDefault,
	connections: 32,
}

func (s settings) list() []protocol.Setting {
	return []protocol.Setting{
		{Name: "job_timeout_ms", Default: ms(s.jobTimeout), About: "JobTimeout; River's default is a minute, and a job is not rescued before"},
		{Name: "rescue_after_ms", Default: ms(s.rescueAfter), About: "RescueStuckJobsAfter, from job_timeout_ms; River's default is an hour, for which no run waits"},
		{Name: "retry_ms", Default: ms(time.Duration(s.retry)), About: "before each retry; 0: River's default policy, attempt⁴ seconds, which makes 25 attempts in three weeks"},
		{Name: "max_attempts", Default: strconv.Itoa(s.maxAttempts), About: "MaxAttempts; River's default"},
		{Name: "fetch_cooldown_ms", Default: ms(s.fetchCooldown), About: "FetchCooldown; River's default", Try: []string{"20", "5", "1"}},
		{Name: "fetch_poll_ms", Default: ms(s.fetchPoll), About: "FetchPollInterval, from fetch_cooldown_ms; River's default", Try: []string{"100"}},
		{Name: "connections", Default: strconv.Itoa(s.connections), About: "of the pool, at most, besides eight of River's own; a job has one while it completes", Try: []string{"16", "80"}},
		{Name: "complete", Default: "tx", About: "of an instance of one task: tx, in a transaction with its value, as tasks of graphs; batch: the value is the job's output, and River's batch completer completes it", Try: []string{"batch"}},
		{Name: "guard", Default: "on", About: "on: a task's first value counts; off: the adapter relies on JobCompleteTx alone"},
	}
}

func ms(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// River's intervals that cannot be set.
const (
	rescuerEvery   = 30 * time.Second
	schedulerEvery = 5 * time.Second
	staggerMost    = time.Second // before the first look of a new leader
)

func (s settings) promises() protocol.Promises {
	recovers := s.rescueAfter + rescuerEvery + staggerMost + cmp.Or(time.Duration(s.retry), time.Second) + schedulerEvery + s.fetchPoll
	p := protocol.Promises{
		Submit: protocol.Durable, Resubmit: protocol.Once, Execution: protocol.AtLeastOnce, Results: protocol.Once,
		Attempts: s.maxAttempts, RecoversMS: recovers.Milliseconds(),
	}
	if s.batched {
		p.Results = protocol.Any // outputs are documented, and not which of two attempts' output stays
	}
	return p
}

func parseSettings(texts map[string]string) (s settings, err error) {
	number := func(name string, least, most int64) int64 {
		n, mistake := strconv.ParseInt(texts[name], 10, 64)
		if err == nil && (mistake != nil || n < least || n > most) {
			err = fmt.Errorf("%s is %q; choose a number from %d to %d", name, texts[name], least, most)
		}
		return n
	}
	duration := func(name string, least int64) time.Duration {
		const day = 24 * 60 * 60 * 1000
		return time.Duration(number(name, least, day)) * time.Millisecond
	}
	s.jobTimeout = duration("job_timeout_ms", 1)
	s.rescueAfter = duration("rescue_after_ms", max(1, s.jobTimeout.Milliseconds()))
	s.retry = steady(duration("retry_ms", 0))
	s.maxAttempts = int(number("max_attempts", 1, 1000))
	s.fetchCooldown = duration("fetch_cooldown_ms", 1)
	s.connections = int(number("connections", 1, connectionsMost))
	s.fetchPoll = duration("fetch_poll_ms", max(1, s.fetchCooldown.Milliseconds()))
	switch complete := texts["complete"]; {
	case complete == "batch":
		s.batched = true
	case complete != "tx" && err == nil:
		err = fmt.Errorf("complete is %q; choose tx or batch", complete)
	}
	switch guard := strings.ToLower(texts["guard"]); {
	case guard == "off":
		s.trusting = true
	case guard != "on" && err == nil:
		err = fmt.Errorf("guard is %q; choose on or off", texts["guard"])
	}
	return s, err
}
