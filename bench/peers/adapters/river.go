package adapters

import (
	"context"
	_ "embed"
	"encoding/json"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"

	"pulley/bench/peers/peer"
)

func init() {
	register(riverAdapter("river", "River", "batch", nil))
	register(riverAdapter("river-tx", "River, each job completed in its own transaction", "tx", []string{"independent", "latency"}))
}

// riverAdapter is River with one of two ways to complete a job. The batch completer is faster under load; JobCompleteTx is the
// documented way to do something else in the same transaction, and reports the end without waiting for a batch.
func riverAdapter(name, title, complete string, only []string) *peer.Adapter {
	single := "the batch completer finishes jobs; an instance ends with its completion event"
	if complete == "tx" {
		single = "each job completes itself with JobCompleteTx; an instance ends with that commit"
	}
	return &peer.Adapter{
		Name: name, Title: title, Databases: 1, Only: only,
		Modules: []string{"github.com/riverqueue/river", "github.com/riverqueue/river/riverdriver/riverpgxv5"},
		Options: []peer.Option{
			{Name: "workers", Doc: "MaxWorkers of the queue", Default: peer.Fixed("2000")},
			{Name: "connections", Doc: "of the pool", Default: riverConnections},
			{Name: "cooldown_ms", Doc: "FetchCooldown", Default: riverCooldown},
			{Name: "poll_ms", Doc: "FetchPollInterval", Default: riverPoll},
			{Name: "notify", Doc: "off is PollOnly", Words: []string{"on", "off"}, Default: peer.Fixed("on")},
			{Name: "complete", Doc: "how a job without a successor ends", Words: []string{"batch", "tx"}, Default: peer.Fixed(complete)},
		},
		Notes: map[string]string{
			"": "River runs jobs; its free version has no workflows. Jobs are inserted with InsertManyFast (COPY), and a " +
				"result is handed over in memory, not stored",
			"independent": single,
			"backlog":     single,
			"latency":     single,
			"chain":       "by hand: one transaction completes a job (JobCompleteTx) and inserts the next",
			"loop":        "by hand, a chain of 96: each job knows its place",
			"fanout": "by hand: the first job inserts the 100 and a counter row in the transaction that completes it; each of the " +
				"100 completes and counts down in one transaction, and the last of them inserts the join; what is joined is " +
				"the sum in that row, not a list",
		},
		Setup: setupRiver,
		Open:  openRiver,
	}
}

// The defaults were the fastest of a few on two cores: more than 8 connections slow single jobs down, where the completer works
// in batches; a transaction per job needs some more.
func riverConnections(w peer.Workload) string {
	if w.Tasks() > 1 {
		return "16"
	}
	return "8"
}

// riverCooldown is short for single jobs, of which new ones always arrive, and for a lone job.
func riverCooldown(w peer.Workload) string {
	switch {
	case w.Load == peer.Single:
		return "1"
	case w.Tasks() > 1:
		return "10"
	}
	return "2"
}

func riverPoll(peer.Workload) string { return "100" }

//go:embed sql/river_table.sql
var riverTable string

//go:embed sql/river_begin.sql
var riverBegin string

//go:embed sql/river_arrive.sql
var riverArrive string

//go:embed sql/river_end.sql
var riverEnd string

func setupRiver(ctx context.Context, env peer.Env) error {
	pool, err := pgxpool.New(ctx, env.DSNs[0])
	if err != nil {
		return err
	}
	defer pool.Close()
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: logger(env)})
	if err != nil {
		return err
	}
	if _, err := migrator.Migrate(ctx, rivermigrate.DirectionUp, nil); err != nil {
		return err
	}
	_, err = pool.Exec(ctx, riverTable)
	return err
}

// Job arguments are stored as JSON.
type (
	stepArgs struct {
		Instance int    `json:"n"`
		Payload  string `json:"p"`
		Step     int    `json:"s"`
	}
	memberArgs struct {
		Instance int    `json:"n"`
		Payload  string `json:"p"`
		Element  int    `json:"e"`
	}
	joinArgs struct {
		Instance int    `json:"n"`
		Payload  string `json:"p"`
		Sum      int64  `json:"s"`
	}
)

func (stepArgs) Kind() string   { return "step" }
func (memberArgs) Kind() string { return "member" }
func (joinArgs) Kind() string   { return "join" }

// riverSystem is a River client that inserts and works.
type riverSystem struct {
	pool    *pgxpool.Pool
	client  *river.Client[pgx.Tx]
	work    *peer.Work
	inTx    bool     // a job without a successor completes itself
	results sync.Map // of instances that await their completion event
	stop    func()
	heard   chan struct{} // closed when no more events are read
}

// riverEvents is the capacity for completion events of all open instances: River drops those that do not fit.
const riverEvents = 1 << 17

func openRiver(ctx context.Context, env peer.Env, work *peer.Work) (peer.System, error) {
	o := env.Options
	cfg, err := pgxpool.ParseConfig(env.DSNs[0])
	if err != nil {
		return nil, err
	}
	cfg.MaxConns = int32(o.Int("connections"))
	s := &riverSystem{work: work, inTx: o["complete"] == "tx", heard: make(chan struct{})}
	if s.pool, err = pgxpool.NewWithConfig(ctx, cfg); err != nil {
		return nil, err
	}
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(s.step))
	river.AddWorker(workers, river.WorkFunc(s.member))
	river.AddWorker(workers, river.WorkFunc(s.join))
	s.client, err = river.NewClient(riverpgxv5.New(s.pool), &river.Config{
		Queues:            map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: o.Int("workers")}},
		Workers:           workers,
		FetchCooldown:     time.Duration(o.Int("cooldown_ms")) * time.Millisecond,
		FetchPollInterval: time.Duration(o.Int("poll_ms")) * time.Millisecond,
		PollOnly:          o["notify"] == "off",
		Logger:            logger(env),
	})
	if err != nil {
		s.pool.Close()
		return nil, err
	}
	events, cancel := s.client.SubscribeConfig(&river.SubscribeConfig{
		ChanSize: riverEvents, Kinds: []river.EventKind{river.EventKindJobCompleted, river.EventKindJobFailed},
	})
	s.stop = cancel
	go s.listen(events)
	if err := s.client.Start(context.WithoutCancel(ctx)); err != nil {
		cancel()
		<-s.heard
		s.pool.Close()
		return nil, err
	}
	return s, nil
}

func (s *riverSystem) listen(events <-chan *river.Event) {
	defer close(s.heard)
	for e := range events {
		var args stepArgs
		switch {
		case e.Kind == river.EventKindJobFailed:
			text := "for no known reason"
			if n := len(e.Job.Errors); n > 0 {
				text = e.Job.Errors[n-1].Error
			}
			_ = json.Unmarshal(e.Job.EncodedArgs, &args)
			s.work.Ended(args.Instance, "", fmt.Errorf("job %d failed: %s", e.Job.ID, text))
		case e.Job.Kind != stepArgs.Kind(args) || json.Unmarshal(e.Job.EncodedArgs, &args) != nil:
		default:
			if result, ok := s.results.LoadAndDelete(args.Instance); ok {
				s.work.Ended(args.Instance, result.(string), nil)
			}
		}
	}
}

func (s *riverSystem) Submit(ctx context.Context, first, count int) error {
	if count == 1 {
		_, err := s.client.Insert(ctx, stepArgs{Instance: first, Payload: peer.Payload(first)}, nil)
		return err
	}
	params := make([]river.InsertManyParams, count)
	for i := range params {
		params[i].Args = stepArgs{Instance: first + i, Payload: peer.Payload(first + i)}
	}
	_, err := s.client.InsertManyFast(ctx, params)
	return err
}

// step runs a task of a chain, or the first of a fan-out.
func (s *riverSystem) step(ctx context.Context, job *river.Job[stepArgs]) error {
	next, err := s.work.Step(job.Args.Payload)
	if err != nil {
		return err
	}
	w, args := s.work.Workload, job.Args
	last := args.Step+1 == w.Tasks()
	switch {
	case w.Shape == peer.Fanout:
		return inTx(ctx, s, job, func(tx pgx.Tx) error { return s.spread(ctx, tx, args.Instance, next) })
	case !last:
		return inTx(ctx, s, job, func(tx pgx.Tx) error {
			_, err := s.client.InsertTx(ctx, tx, stepArgs{Instance: args.Instance, Payload: next, Step: args.Step + 1}, nil)
			return err
		})
	case w.Tasks() == 1 && !s.inTx:
		s.results.Store(args.Instance, next)
		return nil
	}
	if err := inTx(ctx, s, job, func(pgx.Tx) error { return nil }); err != nil {
		return err
	}
	s.work.Ended(args.Instance, next, nil)
	return nil
}

// spread inserts the parallel jobs and their counter.
func (s *riverSystem) spread(ctx context.Context, tx pgx.Tx, instance int, payload string) error {
	width := s.work.Workload.Width
	if _, err := tx.Exec(ctx, riverBegin, instance, width); err != nil {
		return err
	}
	params := make([]river.InsertManyParams, width)
	for i := range params {
		params[i].Args = memberArgs{Instance: instance, Payload: payload, Element: i}
	}
	_, err := s.client.InsertManyFastTx(ctx, tx, params)
	return err
}

// member runs a parallel job. It locks the counter's row last, and so for the shortest time.
func (s *riverSystem) member(ctx context.Context, job *river.Job[memberArgs]) error {
	args := job.Args
	value, err := s.work.Member(args.Payload, args.Element)
	if err != nil {
		return err
	}
	return inTx(ctx, s, job, func(tx pgx.Tx) error {
		var remaining int
		var sum int64
		if err := tx.QueryRow(ctx, riverArrive, args.Instance, value).Scan(&remaining, &sum); err != nil || remaining > 0 {
			return err
		}
		if _, err := tx.Exec(ctx, riverEnd, args.Instance); err != nil {
			return err
		}
		_, err := s.client.InsertTx(ctx, tx, joinArgs{Instance: args.Instance, Payload: args.Payload, Sum: sum}, nil)
		return err
	})
}

func (s *riverSystem) join(ctx context.Context, job *river.Job[joinArgs]) error {
	sum, err := s.work.Join(job.Args.Payload, job.Args.Sum)
	if err != nil {
		return err
	}
	if err := inTx(ctx, s, job, func(pgx.Tx) error { return nil }); err != nil {
		return err
	}
	s.work.Ended(job.Args.Instance, strconv.FormatInt(sum, 10), nil)
	return nil
}

func inTx[T river.JobArgs](ctx context.Context, s *riverSystem, job *river.Job[T], act func(pgx.Tx) error) error {
	return pgx.BeginFunc(ctx, s.pool, func(tx pgx.Tx) error {
		if _, err := river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job); err != nil {
			return err
		}
		return act(tx)
	})
}

func (s *riverSystem) Close(ctx context.Context) error {
	err := s.client.Stop(ctx)
	s.stop()
	<-s.heard
	s.pool.Close()
	return err
}
