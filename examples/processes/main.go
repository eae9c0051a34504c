// Command processes embeds the engine with one scheduler, push. Its tasks are processes: many runs of a workflow with some
// tasks, each a program that sleeps.
//
//	go run ./examples/processes --dsn 'host=/tmp user=postgres' --runs 1000 --tasks 10 --at-once 500 --sleep 50ms
//
// Enough runs are in flight to fill --at-once with their tasks. At the end one line of JSON has the tasks per second, how long
// tasks took from their creation in the store to the stored result, and the process's peak memory.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"pulley/engine"
	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/push"
	"pulley/engine/ir"
	"pulley/engine/plan"
	"pulley/engine/worker"
	"pulley/engine/worker/process"
	"pulley/engine/worker/procgroup"
	"pulley/internal/procstatus"
)

const workflow = `
fn main(input: [tasks], output: [done]):
    done = spread range(tasks):n -> @nap()
`

const timeout = 10 * time.Minute

type load struct {
	runs, tasks, atOnce int
	sleep               time.Duration
}

type report struct {
	Tasks     int     `json:"tasks"`
	PerS      float64 `json:"tasks_per_s"`
	P50MS     float64 `json:"p50_ms"`
	P99MS     float64 `json:"p99_ms"`
	PeakBytes int64   `json:"peak_rss_bytes"` // 0: unknown on this system
}

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "processes:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	var l load
	flags := flag.NewFlagSet("processes", flag.ContinueOnError)
	dsn := flags.String("dsn", os.Getenv("PULLEY_DSN"), "the Postgres `database` to work in")
	schema := flags.String("schema", "pulley_processes", "the schema for the engine's tables; it is made if it is not there, and stays")
	flags.IntVar(&l.runs, "runs", 1000, "runs, from 1 to 100000")
	flags.IntVar(&l.tasks, "tasks", 10, "tasks of each, from 1 to 1000")
	flags.IntVar(&l.atOnce, "at-once", 500, "processes at once, from 1 to 10000")
	flags.DurationVar(&l.sleep, "sleep", 50*time.Millisecond, "how long each sleeps")
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch {
	case *dsn == "":
		return errors.New("no database; name one with --dsn or PULLEY_DSN")
	case l.runs < 1 || l.runs > 100_000 || l.tasks < 1 || l.tasks > 1000 || l.atOnce < 1 || l.atOnce > 10_000:
		return errors.New("choose from 1 to 100000 runs, 1 to 1000 tasks, and 1 to 10000 at once")
	case l.sleep < 0 || l.sleep > time.Minute:
		return fmt.Errorf("--sleep %s: choose a time up to a minute", l.sleep)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	store, err := push.Open(ctx, push.Config{Store: postgres.Config{DSN: *dsn, Schema: *schema, Application: "processes"}})
	if err != nil {
		return err
	}
	defer store.Close()
	keeper, err := procgroup.New()
	if err != nil {
		return err
	}
	got, err := l.serve(ctx, store, keeper)
	if err := errors.Join(err, keeper.Close(context.WithoutCancel(ctx))); err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(got)
}

func (l load) serve(ctx context.Context, store backend.Backend, keeper *procgroup.Supervisor) (got report, err error) {
	program, err := plan.CompileText("naps.ir", []byte(workflow), ir.Limits{})
	if err != nil {
		return got, err
	}
	sleep, err := process.New(process.Config{Command: []string{"sh", "-c", "echo null; exec sleep " + strconv.FormatFloat(l.sleep.Seconds(), 'f', -1, 64)}, AtOnce: l.atOnce}, keeper)
	if err != nil {
		return got, err
	}
	actions, err := worker.NewRegistry(worker.Action{Name: "nap", Args: []string{}, Run: sleep.Run})
	if err != nil {
		return got, err
	}
	times := &taskTimes{begun: map[backend.Key]time.Time{}}
	e, err := engine.New(engine.Config{Backend: store, Workers: actions, CheckActions: true, Slots: l.atOnce, Observer: times.observer()})
	if err != nil {
		return got, err
	}
	if err := e.Start(ctx); err != nil {
		return got, err
	}
	defer func() { err = errors.Join(err, e.Stop(context.WithoutCancel(ctx))) }()
	began := time.Now()
	all, running := errgroup.WithContext(ctx)
	all.SetLimit(max(l.atOnce/l.tasks, 1))
	for range l.runs {
		all.Go(func() error { return l.one(running, e, program) })
	}
	if err := all.Wait(); err != nil {
		return got, err
	}
	return times.report(time.Since(began)), nil
}

func (l load) one(ctx context.Context, e *engine.Engine, program *plan.Program) error {
	id, err := e.Submit(ctx, engine.SubmitRequest{Program: program, Input: json.RawMessage(`{"tasks": ` + strconv.Itoa(l.tasks) + `}`)})
	if err != nil {
		return err
	}
	in, err := e.Wait(ctx, id)
	if err == nil && in.Status != backend.Completed {
		err = fmt.Errorf("instance %s: %s, %s", id, in.Status, in.Failure)
	}
	return err
}

// taskTimes are how long tasks took: from the commit that created them, as the engine learned it, to the answer of the commit
// of their completions. It is safe for concurrent use.
type taskTimes struct {
	mu    sync.Mutex
	begun map[backend.Key]time.Time
	took  []time.Duration
}

func (t *taskTimes) observer() engine.Observer {
	return engine.Observer{
		Leased: func(task backend.Task, at time.Time) {
			t.mu.Lock()
			defer t.mu.Unlock()
			if _, again := t.begun[task.Lease.Key]; !again {
				t.begun[task.Lease.Key] = at
			}
		},
		Answered: func(c backend.Completion, o backend.Outcome, _ error, at time.Time) {
			t.mu.Lock()
			defer t.mu.Unlock()
			if began, ok := t.begun[c.Lease.Key]; ok && o.Answer == backend.Applied {
				t.took = append(t.took, at.Sub(began))
				delete(t.begun, c.Lease.Key)
			}
		},
	}
}

func (t *taskTimes) report(elapsed time.Duration) report {
	t.mu.Lock()
	defer t.mu.Unlock()
	slices.Sort(t.took)
	ms := func(share int) float64 {
		return float64(t.took[(len(t.took)*share+99)/100-1]) / float64(time.Millisecond)
	}
	return report{Tasks: len(t.took), PerS: float64(len(t.took)) / elapsed.Seconds(), P50MS: ms(50), P99MS: ms(99), PeakBytes: procstatus.Bytes(procstatus.ResidentPeak)}
}
