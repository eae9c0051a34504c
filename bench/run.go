package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/bench/measure"
	"pulley/bench/profile"
	"pulley/engine"
	"pulley/engine/backend"
	"pulley/engine/backend/designs"
	"pulley/engine/backend/postgres"
	"pulley/engine/worker"
	"pulley/reports/record"
)

const application = "pulley bench"

// An engine alone on its store leases whatever a commit makes ready: a claim for a left-behind task would cost as much as its
// completion. So many tasks wait for a while; their leases are long enough not to be renewed.
const (
	prefetch = 500_000
	lease    = time.Minute
)

const leaveWithin = time.Minute

type runner struct {
	cfg        CompareConfig
	conn       *pgx.Conn // only reads the counters; nil without Postgres
	sampler    *measure.ActivitySampler
	server     *record.Postgres
	processors measure.Processors
	profiled   *profile.Profile
	serial     int
	prefix     string
	unfolded   map[*Case]unfolding
}

func newRunner(ctx context.Context, cfg CompareConfig) (*runner, error) {
	r := &runner{cfg: cfg, prefix: "pulley_bench_" + uuid.NewString()[:8], processors: measure.NewProcessors(nil)}
	for i := range cfg.Cases {
		if err := cfg.Cases[i].check(); err != nil {
			return nil, err
		}
	}
	if cfg.DSN == "" {
		return r, nil
	}
	var err error
	if r.conn, err = measure.Connect(ctx, cfg.DSN); err != nil {
		return nil, postgres.Explain(err)
	}
	r.processors = measure.NewProcessors(r.conn)
	if r.sampler, err = measure.NewActivitySampler(ctx, cfg.DSN); err != nil {
		r.close()
		return nil, postgres.Explain(err)
	}
	if r.server, err = measure.Server(ctx, r.conn, cfg.Way); err != nil {
		r.close()
		return nil, postgres.Explain(err)
	}
	return r, nil
}

func (r *runner) close() {
	if r.sampler != nil {
		_ = r.sampler.Close()
	}
	if r.conn != nil {
		ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
		defer cancel()
		_ = r.conn.Close(ctx)
	}
}

// run makes one run. A fault in it makes the sample invalid; an error means that no run can be made or that ctx has ended.
func (r *runner) run(ctx context.Context, k *Case, lot *instanceBatch, spec designs.Spec, p runPlan) (*record.Sample, *latencies, error) {
	w := k.Workload
	sample := &record.Sample{
		Scenario: w.Name, Backend: spec.String(), Size: w.Size, Mode: p.load.Mode, Nodes: w.Nodes, StartedAt: time.Now(), Warnings: []string{},
		Instances: p.instances, InFlight: p.inFlight, Workers: p.load.Workers, Engines: max(cmp.Or(p.load.Engines, r.cfg.Engines), 1),
	}
	if !spec.NeedsPostgres() {
		lat, err := r.measure(ctx, k, lot, spec, designs.OpenOptions{}, sample)
		if k.Pressure.OnStore() {
			sample.Warnings = append(sample.Warnings, "no pressure: the backend has no store that could be put under it")
		}
		sample.Warnings = append(sample.Warnings, "rows, statements, commits and WAL are null: the backend has no server that counts them")
		return sample, lat, err
	}
	r.serial++
	open := designs.OpenOptions{DSN: r.cfg.DSN, Schema: fmt.Sprintf("%s_%d", r.prefix, r.serial), Application: application}
	defer func() {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer cancel()
		if err := postgres.DropSchema(ctx, r.cfg.DSN, open.Schema); err != nil {
			sample.Warnings = append(sample.Warnings, fmt.Sprintf("the run's schema is still there: %v", err))
		}
	}()
	b, err := spec.Open(ctx, open) // creates the schema, so that migrations are not measured
	if err != nil {
		return nil, nil, err
	}
	if err := r.cfg.Plant.table(ctx, open, sample.Instances*w.Nodes); err != nil {
		b.Close()
		return nil, nil, err
	}
	pressed, err := r.press(ctx, k, b, &open)
	b.Close()
	if err != nil {
		return nil, nil, err
	}
	defer pressed.endIn(ctx, sample)
	traffic := &measure.Client{}
	open.Tracer = traffic
	scope := measure.Scope{Schema: open.Schema, AppPrefix: application, Wait: leaveWithin}
	var (
		counters record.Counters
		warnings []string
		lat      *latencies
	)
	seen, err := r.sampler.Watch(ctx, application, r.cfg.SamplePause, func() error {
		before, err := measure.Snapshot(ctx, r.conn, scope)
		if err != nil {
			return err
		}
		if lat, err = r.measure(ctx, k, lot, spec, open, sample); err != nil {
			return err
		}
		after, err := measure.Snapshot(ctx, r.conn, scope)
		if err == nil {
			counters, warnings = measure.Delta(before, after)
		}
		return err
	})
	if err != nil {
		return nil, nil, err
	}
	sample.Warnings = append(sample.Warnings, traffic.Fill(&counters, warnings)...)
	sample.Warnings = append(sample.Warnings, leaveOutReaders(k, &counters)...)
	sample.Counters, sample.Waits = &counters, &seen
	return sample, lat, nil
}

func (r *runner) measure(ctx context.Context, k *Case, lot *instanceBatch, spec designs.Spec, open designs.OpenOptions, sample *record.Sample) (*latencies, error) {
	resident := measure.Resident()
	watch := newWatch(lot, sample.Instances, sample.InFlight)
	runCtx, cancel := context.WithTimeout(ctx, r.cfg.RunTimeout)
	defer cancel()
	gate, slowed := newGate(r.cfg.HoldTransaction), r.cfg.Plant.slow(r.processors, sample.InFlight)
	crew, err := startWorkers(runCtx, slowed.executor(gate.executor(lot.executor)), spec, open, workerPool{workers: sample.Workers, engines: sample.Engines, observer: watch.observer})
	if err != nil {
		return nil, err
	}
	defer crew.close()
	clients := newClients(watch, lot, crew.engines, gate)
	endProfile, err := r.profile()
	if err != nil {
		return nil, err
	}
	before := r.processors.Read()
	slowed.begin(before)
	watch.begin()
	problems := clients.run(runCtx)
	slowed.pay(true)
	if err := r.cfg.Plant.read(runCtx, open); err != nil {
		problems = append(problems, err)
	}
	watch.finish()
	sample.Memory, sample.CPU = resident(), r.processors.Read().Since(before)
	if err := endProfile(sample.CPU); err != nil {
		return nil, err
	}
	if err := crew.stop(ctx); err != nil && ctx.Err() == nil {
		problems = append(problems, err)
	}
	if r.cfg.Clear && len(problems) == 0 {
		if err := crew.clear(runCtx); err != nil {
			problems = append(problems, err)
		}
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	lat := watch.latencies()
	watch.fill(sample, lat)
	clients.fair(sample, watch.applied())
	for _, p := range problems {
		sample.Valid = false
		sample.Warnings = append(sample.Warnings, p.Error())
	}
	return lat, nil
}

// profile starts a CPU profile if requested. end stops it and distributes the time to stages.
func (r *runner) profile() (end func(*record.CPU) error, err error) {
	r.profiled = nil
	if !r.cfg.Profile {
		return func(*record.CPU) error { return nil }, nil
	}
	recording, err := profile.Begin()
	if err != nil {
		return nil, err
	}
	return func(used *record.CPU) error {
		found, err := recording.End()
		if err != nil {
			return err
		}
		if used == nil || found.Samples() == 0 {
			return nil // the run was too short for a sample, or the system has no profile
		}
		r.profiled = found
		shares := found.Shares()
		used.Stages = []record.StageTime{}
		for _, stage := range profile.Stages() {
			if share := shares[stage]; share > 0 {
				used.Stages = append(used.Stages, record.StageTime{Stage: string(stage), NS: int64(share * float64(used.ProcessNS))})
			}
		}
		return nil
	}, nil
}

type workers struct {
	engines  []*engine.Engine
	backends []backend.Backend
}

type workerPool struct {
	workers, engines int
	observer         func() engine.Observer
}

// startWorkers opens the backends and starts the engines. Without a server, all engines must share one backend.
func startWorkers(ctx context.Context, actions worker.Executor, spec designs.Spec, open designs.OpenOptions, s workerPool) (_ *workers, err error) {
	c := &workers{}
	defer func() {
		if err != nil {
			_ = c.stop(ctx)
			c.close()
		}
	}()
	for i := range s.engines {
		if i == 0 || spec.NeedsPostgres() {
			b, err := spec.Open(ctx, open)
			if err != nil {
				return nil, err
			}
			c.backends = append(c.backends, b)
		}
		cfg := engine.Config{
			Backend: c.backends[len(c.backends)-1], Workers: actions, Slots: s.workers, Batch: spec.Batch(), Observer: s.observer(),
		}
		if s.engines == 1 {
			cfg.Prefetch, cfg.Lease = prefetch, lease
		}
		e, err := engine.New(cfg)
		if err != nil {
			return nil, err
		}
		if err := e.Start(ctx); err != nil {
			return nil, err
		}
		c.engines = append(c.engines, e)
	}
	return c, nil
}

func (c *workers) stop(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
	defer cancel()
	errs := make([]error, len(c.engines))
	var wg sync.WaitGroup
	for i, e := range c.engines {
		wg.Go(func() { errs[i] = e.Stop(ctx) })
	}
	wg.Wait()
	return errors.Join(errs...)
}

func (c *workers) clear(ctx context.Context) error {
	b := c.backends[0]
	for shard := range b.Shards() {
		for more := true; more; {
			swept, err := b.Sweep(ctx, shard)
			if err != nil {
				return fmt.Errorf("clearing up after the run: %w", err)
			}
			more = swept.More
		}
	}
	return nil
}

func (c *workers) close() {
	for _, b := range c.backends {
		b.Close()
	}
}
