package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/bench/measure"
	"pulley/engine"
	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/expr"
	"pulley/engine/ir"
	"pulley/engine/plan"
	"pulley/engine/worker"
	"pulley/reports/record"
)

// application begins the name of every session of a measured run.
const application = "pulley bench"

// prefetch is how many tasks an engine leases ahead: it is alone on its store, so whatever a commit makes
// ready may as well be handed over by it.
const prefetch = 8192

// runner makes single runs.
type runner struct {
	cfg     CompareConfig
	actions *worker.Registry
	conn    *pgx.Conn // reads the counters, and nothing else; nil without Postgres
	server  *record.Postgres
	serial  int
	prefix  string // of schemas
}

func newRunner(ctx context.Context, cfg CompareConfig) (*runner, error) {
	actions, err := Actions()
	if err != nil {
		return nil, err
	}
	r := &runner{cfg: cfg, actions: actions, prefix: "pulley_bench_" + uuid.NewString()[:8]}
	for _, k := range cfg.Cases {
		if err := actions.Check(k.Workload.Graph); err != nil {
			return nil, err
		}
	}
	if cfg.DSN == "" {
		return r, nil
	}
	if r.conn, err = pgx.Connect(ctx, cfg.DSN); err != nil {
		return nil, postgres.Explain(err)
	}
	if r.server, err = measure.Server(ctx, r.conn, cfg.Way); err != nil {
		r.close()
		return nil, postgres.Explain(err)
	}
	return r, nil
}

func (r *runner) close() {
	if r.conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = r.conn.Close(ctx)
	}
}

// run makes one run. What goes wrong in it makes the sample invalid; an error means that no run can be
// made, or that ctx has ended.
func (r *runner) run(ctx context.Context, k *Case, program *plan.Program, spec BackendSpec) (*record.Sample, *latencies, error) {
	w := k.Workload
	sample := &record.Sample{Scenario: w.Name, Backend: spec.String(), Size: w.Size, Nodes: w.Nodes, StartedAt: time.Now(), Warnings: []string{}}
	if !spec.NeedsPostgres() {
		lat, err := r.measure(ctx, k, program, spec, OpenOptions{}, sample)
		sample.Warnings = append(sample.Warnings, "rows, statements, commits and WAL are null: the backend has no server that counts them")
		return sample, lat, err
	}
	r.serial++
	open := OpenOptions{DSN: r.cfg.DSN, Schema: fmt.Sprintf("%s_%d", r.prefix, r.serial), Application: application}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer cancel()
		if err := postgres.DropSchema(ctx, r.cfg.DSN, open.Schema); err != nil {
			sample.Warnings = append(sample.Warnings, fmt.Sprintf("the run's schema is still there: %v", err))
		}
	}()
	b, err := spec.Open(ctx, open) // sets the schema up, so that migrations are not measured
	if err != nil {
		return nil, nil, err
	}
	b.Close()
	scope := measure.Scope{Schema: open.Schema, AppPrefix: application}
	before, err := measure.Snapshot(ctx, r.conn, scope)
	if err != nil {
		return nil, nil, err
	}
	lat, err := r.measure(ctx, k, program, spec, open, sample)
	if err != nil {
		return nil, nil, err
	}
	after, err := measure.Snapshot(ctx, r.conn, scope)
	if err != nil {
		return nil, nil, err
	}
	counters, warnings := measure.Delta(before, after)
	sample.Counters = &counters
	sample.Warnings = append(sample.Warnings, warnings...)
	return sample, lat, nil
}

// measure opens the backend, runs the instances and fills the sample, and closes everything again.
func (r *runner) measure(ctx context.Context, k *Case, program *plan.Program, spec BackendSpec, open OpenOptions, sample *record.Sample) (*latencies, error) {
	b, err := spec.Open(ctx, open)
	if err != nil {
		return nil, err
	}
	defer b.Close()
	watch := newWatch()
	eng, err := engine.New(engine.Config{Backend: b, Workers: r.actions, Slots: r.cfg.Workers, Prefetch: prefetch, Batch: spec.Batch(), Observer: watch.observer()})
	if err != nil {
		return nil, err
	}
	runCtx, cancel := context.WithTimeout(ctx, r.cfg.RunTimeout)
	defer cancel()
	if err := eng.Start(runCtx); err != nil {
		return nil, err
	}
	sample.Instances = max(1, (r.cfg.MinNodes+max(k.Workload.Nodes, 1)-1)/max(k.Workload.Nodes, 1))
	watch.begin()
	problems := r.instances(runCtx, eng, watch, k, program, sample.Instances)
	watch.finish()
	stopCtx, stop := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer stop()
	if err := eng.Stop(stopCtx); err != nil && ctx.Err() == nil {
		problems = append(problems, err)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	watch.fill(sample, k.Workload.Nodes)
	for _, p := range problems {
		sample.Valid = false
		sample.Warnings = append(sample.Warnings, p.Error())
	}
	return watch.lat, nil
}

// instances runs the workload so many times, some at once, and gives what was wrong. It stops at the
// first error: the run is invalid then anyway.
func (r *runner) instances(ctx context.Context, eng *engine.Engine, watch *watch, k *Case, program *plan.Program, count int) []error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var (
		mu       sync.Mutex
		problems []error
		wg       sync.WaitGroup
	)
	next := make(chan int, count)
	for i := range count {
		next <- i
	}
	close(next)
	for range min(r.cfg.InFlight, count) {
		wg.Add(1)
		go func() {
			defer wg.Done()
			for range next {
				if err := runOne(ctx, eng, watch, k, program); err != nil {
					mu.Lock()
					if len(problems) == 0 || !errors.Is(err, context.Canceled) {
						problems = append(problems, err)
					}
					mu.Unlock()
					cancel()
					return
				}
			}
		}()
	}
	wg.Wait()
	return problems
}

func runOne(ctx context.Context, eng *engine.Engine, watch *watch, k *Case, program *plan.Program) error {
	id := uuid.Must(uuid.NewV7())
	watch.submit(id)
	if _, err := eng.Submit(ctx, engine.SubmitRequest{ID: id, Program: program, Input: k.Workload.Input}); err != nil {
		return fmt.Errorf("submitting: %w", err)
	}
	in, err := eng.Wait(ctx, id)
	switch {
	case err != nil:
		return fmt.Errorf("instance %s: %w", id, err)
	case in.Status != backend.Completed:
		return fmt.Errorf("instance %s %s: %s", id, in.Status, in.Failure)
	}
	return sameResult(id, in.Result, k.Workload.Expected)
}

// sameResult compares as values: the spelling of JSON does not matter, an int is an int.
func sameResult(id uuid.UUID, got, want json.RawMessage) error {
	limits := ir.Limits{ValueBytes: 1 << 30}
	g, err := expr.Decode(got, limits)
	if err != nil {
		return fmt.Errorf("instance %s: the result cannot be read: %w", id, err)
	}
	w, err := expr.Decode(want, limits)
	if err != nil {
		return fmt.Errorf("instance %s: the expected result cannot be read: %w", id, err)
	}
	if !expr.Equal(g, w) {
		return fmt.Errorf("instance %s: the result is %.200s, not %.200s", id, got, want)
	}
	return nil
}
