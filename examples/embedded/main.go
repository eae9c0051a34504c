// Command embedded embeds the engine as a library, with one scheduler, push, and nothing else of pulley: one workflow, one
// action in Go, and many concurrent instances.
//
//	go run ./examples/embedded --dsn 'host=/tmp user=postgres' --tasks 500
//
// Every task waits until all tasks run, so that all run at the same moment. At the end one line of JSON has the number of
// completed instances and the process's peak memory.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/google/uuid"

	"pulley/engine"
	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/push"
	"pulley/engine/ir"
	"pulley/engine/plan"
	"pulley/engine/worker"
	"pulley/internal/procstatus"
)

const workflow = `
fn main(input: [number], output: [square]):
    square = @square(number=number)
    return square
`

const timeout = 2 * time.Minute

type report struct {
	Completed int   `json:"completed"`
	PeakBytes int64 `json:"peak_rss_bytes"` // 0: unknown on this system
}

func main() {
	if err := run(context.Background(), os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "embedded:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("embedded", flag.ContinueOnError)
	dsn := flags.String("dsn", os.Getenv("PULLEY_DSN"), "the Postgres `database` to work in")
	schema := flags.String("schema", "pulley_embedded", "the schema for the engine's tables; it is made if it is not there, and stays")
	tasks := flags.Int("tasks", 500, "instances, and tasks at once, from 1 to 10000")
	if err := flags.Parse(args); err != nil {
		return err
	}
	switch {
	case *dsn == "":
		return errors.New("no database; name one with --dsn or PULLEY_DSN")
	case *tasks < 1 || *tasks > 10_000:
		return fmt.Errorf("--tasks %d: choose from 1 to 10000", *tasks)
	}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	store, err := push.Open(ctx, push.Config{Store: postgres.Config{DSN: *dsn, Schema: *schema, Application: "embedded"}})
	if err != nil {
		return err
	}
	defer store.Close()
	completed, err := serve(ctx, store, *tasks)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(report{Completed: completed, PeakBytes: procstatus.Bytes(procstatus.ResidentPeak)})
}

// serve starts an engine, runs the instances, and stops it.
func serve(ctx context.Context, store backend.Backend, tasks int) (completed int, err error) {
	program, err := compile()
	if err != nil {
		return 0, err
	}
	together := &meeting{wanted: tasks, all: make(chan struct{})}
	actions, err := worker.NewRegistry(worker.Action{Name: "square", Args: []string{"number"}, Doc: "the number times itself", Run: together.square})
	if err != nil {
		return 0, err
	}
	e, err := engine.New(engine.Config{Backend: store, Workers: actions, CheckActions: true, Slots: tasks})
	if err != nil {
		return 0, err
	}
	if err := e.Start(ctx); err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, e.Stop(context.WithoutCancel(ctx))) }()
	ids := make([]uuid.UUID, tasks)
	for i := range ids {
		input := json.RawMessage(fmt.Sprintf(`{"number": %d}`, i))
		if ids[i], err = e.Submit(ctx, engine.SubmitRequest{Program: program, Input: input}); err != nil {
			return 0, err
		}
	}
	for i, id := range ids {
		in, err := e.Wait(ctx, id)
		if err != nil {
			return completed, err
		}
		if want := strconv.Itoa(i * i); in.Status != backend.Completed || string(in.Result) != want {
			return completed, fmt.Errorf("the square of %d: %s, %s %s; want %s", i, in.Status, in.Result, in.Failure, want)
		}
		completed++
	}
	return completed, nil
}

func compile() (*plan.Program, error) {
	return plan.CompileText("squares.ir", []byte(workflow), ir.Limits{})
}

type meeting struct {
	mu     sync.Mutex
	here   int
	wanted int
	all    chan struct{} // closed when the wanted number is here
}

func (m *meeting) square(ctx context.Context, call worker.Call) (any, error) {
	var args struct {
		Number int `json:"number"`
	}
	if err := call.Bind(&args); err != nil {
		return nil, err
	}
	m.mu.Lock()
	if m.here++; m.here == m.wanted { // a retried task finds the meeting over
		close(m.all)
	}
	m.mu.Unlock()
	select {
	case <-m.all:
		return args.Number * args.Number, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}
