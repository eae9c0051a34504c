// Command probe shows, without pulley's adapter, that a job of River 0.51.2 that was completed in its own transaction can run again.
//
// Attempt 1 stands still for longer than RescueStuckJobsAfter, and River gives the job to attempt 2, as it documents. While attempt 2
// is at work, attempt 1 returns an error. That error is stored without a comparison of attempts: the job is available again. Attempt 2
// then calls JobCompleteTx, which changes no row and returns no error, and commits its effect. Attempt 3 runs, and commits its own.
//
// It takes about a minute, and prints what happened. docs/findings.md tells the story.
package main

import (
	"context"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
	"github.com/riverqueue/river/rivertype"

	"pulley/engine/pgserver"
)

type args struct{}

func (args) Kind() string { return "probe" }

type policy struct{}

func (policy) NextRetry(*rivertype.JobRow) time.Time { return time.Now().Add(500 * time.Millisecond) }

// must ends the program: it has no use after an error.
func must(err error) {
	if err != nil {
		panic(err)
	}
}

func main() {
	ctx := context.Background()
	server, err := pgserver.Open(ctx, pgserver.Options{})
	must(err)
	defer server.Close(ctx)
	pool, err := pgxpool.New(ctx, server.DSN())
	must(err)
	m, err := rivermigrate.New(riverpgxv5.New(pool), nil)
	must(err)
	_, err = m.Migrate(ctx, rivermigrate.DirectionUp, nil)
	must(err)
	_, err = pool.Exec(ctx, "CREATE TABLE effects (attempt int, at timestamptz DEFAULT clock_timestamp())")
	must(err)
	begun := time.Now()
	say := func(f string, a ...any) {
		fmt.Printf("%5.1fs "+f+"\n", append([]any{time.Since(begun).Seconds()}, a...)...)
	}
	second, third := make(chan struct{}), make(chan struct{})
	workers := river.NewWorkers()
	river.AddWorker(workers, river.WorkFunc(func(wctx context.Context, job *river.Job[args]) error {
		say("attempt %d starts", job.Attempt)
		switch job.Attempt {
		case 1: // a process that stands still, and continues while attempt 2 is at work elsewhere
			<-second
			say("attempt 1 returns an error: %v", wctx.Err())
			return wctx.Err()
		case 2:
			close(second)
			time.Sleep(time.Second)
		}
		tx, err := pool.Begin(wctx)
		must(err)
		defer tx.Rollback(wctx)
		_, err = tx.Exec(wctx, "INSERT INTO effects (attempt) VALUES ($1)", job.Attempt)
		must(err)
		after, err := river.JobCompleteTx[*riverpgxv5.Driver](wctx, tx, job)
		state := "?"
		if after != nil {
			state = string(after.State)
		}
		err2 := tx.Commit(wctx)
		say("attempt %d: JobCompleteTx returned state %s, error %v; commit: %v", job.Attempt, state, err, err2)
		if job.Attempt == 3 {
			defer close(third)
		}
		return err2
	}))
	client, err := river.NewClient(riverpgxv5.New(pool), &river.Config{
		Queues: map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 4}}, Workers: workers,
		JobTimeout: 3 * time.Second, RescueStuckJobsAfter: 4 * time.Second, RetryPolicy: policy{},
		Logger: slog.New(slog.NewTextHandler(os.Stdout, &slog.HandlerOptions{Level: slog.LevelWarn})),
	})
	must(err)
	must(client.Start(ctx))
	must(pgx.BeginFunc(ctx, pool, func(tx pgx.Tx) error { _, err := client.InsertTx(ctx, tx, args{}, nil); return err }))
	select {
	case <-third:
	case <-time.After(80 * time.Second):
	}
	time.Sleep(time.Second)
	rows, _ := pool.Query(ctx, "SELECT attempt FROM effects ORDER BY at")
	all, err := pgx.CollectRows(rows, pgx.RowTo[int])
	var state string
	must(pool.QueryRow(ctx, "SELECT state || ', attempt ' || attempt || ', errors ' || array_to_string(errors, ' / ') FROM river_job").Scan(&state))
	say("effects of attempts %v are committed; the job is %s (%v)", all, state, err)
	stop, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	_ = client.StopAndCancel(stop)
	pool.Close()
}
