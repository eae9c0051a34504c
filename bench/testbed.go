package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/google/uuid"

	"pulley/adapter/workload"
	"pulley/bench/load"
	"pulley/bench/measure"
	"pulley/bench/systems"
	"pulley/engine"
	"pulley/engine/backend"
	"pulley/engine/backend/designs"
	"pulley/engine/backend/postgres"
	"pulley/reports/record"
	"pulley/scenarios"
	"pulley/scenarios/arrivals"
)

// TestbedSpec is the system under load.
type TestbedSpec struct {
	Case    Case
	Backend designs.Spec

	// System is a system behind an adapter, instead of Backend; nil: none. Engines are its processes, and Workers their slots. Seed
	// is that of drawn service times.
	System *systems.System
	Seed   uint64
	chosen []record.Choice // by Tune

	DSN string // may be empty if the backend needs no database
	Way string // how the server was obtained

	Workers int // per engine. Zero: the scenario's, else 2,000, or 32 of a system behind an adapter
	Engines int // on the store. Zero: the scenario's, else 1

	// InFlight bounds the open instances: further ones are dropped and counted. Zero: 5,000, fewer if they are large.
	InFlight int
}

// OpenRun is the load put on a testbed.
type OpenRun struct {
	// Arrivals may be open or closed. Of a closed process the first number is used.
	Arrivals arrivals.Arrivals
	Seed     uint64 // for the arrivals

	// WarmUp is the longest warm-up; the run's data determine its end. With WarmUpFixed it is exact.
	WarmUp      time.Duration
	WarmUpFixed bool
	Measure     time.Duration // duration after the longest warm-up; more than 0
	Drain       time.Duration // bounds the wait for instances open at the end. Zero: 10 s

	Percentile float64 // judges the run. Zero: 99
	Objectives []scenarios.Objective
	Limits     load.Limits

	Progress func(OpenProgress) // called about once a second, from one goroutine; may be nil
}

// OpenProgress is the state of a run.
type OpenProgress struct {
	Elapsed, End           time.Duration
	Sent, Ended, Dropped   int
	InFlight, InFlightMost int
	Draining               bool
}

// Testbed is a case's engines on their own store, for repeated runs under load, one at a time.
type Testbed struct {
	spec   TestbedSpec
	runner *runner
	batch  *instanceBatch
	relay  relay

	workers *workers
	pressed *pressed
	open    designs.OpenOptions
	fleet   *systems.Fleet // instead of these; nil: there is none
	graphs  *workload.Mix  // of the fleet
	left    bool           // an earlier run's instances are still open
}

const (
	openWorkers       = 2000
	openInFlight      = 5000
	openNodesInFlight = 500_000
	openDrain         = 10 * time.Second
)

// Name is that of the backend or the system.
func (s TestbedSpec) Name() string {
	if s.System != nil {
		return s.System.Name
	}
	return s.Backend.String()
}

// RecordSystem is what records have of the system; nil: there is none.
func (s TestbedSpec) RecordSystem() *record.System {
	if s.System == nil {
		return nil
	}
	found := recordOf(*s.System)
	found.Chosen = s.chosen
	return &found
}

// NeedsPostgres reports whether a server is needed.
func (s TestbedSpec) NeedsPostgres() bool { return s.System != nil || s.Backend.NeedsPostgres() }

func (s TestbedSpec) withDefaults() TestbedSpec {
	workers := openWorkers
	if s.System != nil {
		workers = slotsUntuned
	}
	s.Workers = cmp.Or(s.Workers, s.Case.Run.Workers, workers)
	s.Engines = cmp.Or(s.Engines, s.Case.Run.Engines, 1)
	if s.InFlight == 0 {
		s.InFlight = Load{InFlight: openInFlight, NodesInFlight: openNodesInFlight}.inFlight(s.Case.Workload.Nodes, 0)
	}
	return s
}

func (s TestbedSpec) validate() error {
	switch {
	case s.DSN == "" && s.NeedsPostgres():
		return fmt.Errorf("backend %s needs a Postgres, and there is no DSN", s.Name())
	case s.Workers < 1 || s.Workers > 10_000:
		return fmt.Errorf("%d workers; choose from 1 to 10000", s.Workers)
	case s.Engines < 1 || s.Engines > 64:
		return fmt.Errorf("%d engines; choose from 1 to 64", s.Engines)
	case s.InFlight < 1 || s.InFlight > 1_000_000:
		return fmt.Errorf("%d instances in flight; choose from 1 to 1000000", s.InFlight)
	}
	return nil
}

// OpenTestbed opens the backend, puts the store under the case's pressure, and starts the engines. The caller closes the
// testbed.
func OpenTestbed(ctx context.Context, spec TestbedSpec) (*Testbed, error) {
	spec = spec.withDefaults()
	if err := spec.validate(); err != nil {
		return nil, err
	}
	t := &Testbed{spec: spec}
	var err error
	if t.batch, err = newInstanceBatch(&spec.Case); err != nil {
		return nil, fmt.Errorf("%s: %w", spec.Case, err)
	}
	if t.runner, err = newRunner(ctx, CompareConfig{Cases: []Case{spec.Case}, DSN: spec.DSN, Way: spec.Way}); err != nil {
		return nil, err
	}
	if err := t.startWorkers(ctx); err != nil {
		return nil, errors.Join(err, t.Close(ctx))
	}
	return t, nil
}

// Server is the measured server; nil: none.
func (t *Testbed) Server() *record.Postgres { return t.runner.server }

// InFlight bounds the open instances.
func (t *Testbed) InFlight() int { return t.spec.InFlight }

// Workers is the number of actions that an engine runs at once.
func (t *Testbed) Workers() int { return t.spec.Workers }

// Engines is the number of engines on the store.
func (t *Testbed) Engines() int { return t.spec.Engines }

func (t *Testbed) startWorkers(ctx context.Context) (err error) {
	spec := t.spec
	if spec.System != nil {
		return t.startFleet(ctx)
	}
	t.open = designs.OpenOptions{}
	if spec.Backend.NeedsPostgres() {
		t.runner.serial++
		t.open = designs.OpenOptions{DSN: spec.DSN, Schema: fmt.Sprintf("%s_%d", t.runner.prefix, t.runner.serial), Application: application}
		b, err := spec.Backend.Open(ctx, t.open)
		if err != nil {
			return err
		}
		t.pressed, err = t.runner.press(ctx, &spec.Case, b, &t.open)
		b.Close()
		if err != nil {
			return err
		}
	}
	t.workers, err = startWorkers(ctx, t.batch.executor, spec.Backend, t.open, workerPool{spec.Workers, spec.Engines, t.relay.observer})
	return err
}

func (t *Testbed) startFleet(ctx context.Context) (err error) {
	spec := t.spec
	if t.graphs, err = graphsFor(&spec.Case, *spec.System, spec.Seed); err != nil {
		return err
	}
	if t.fleet, err = systems.Open(ctx, systems.Config{System: *spec.System, DSN: spec.DSN, Workloads: t.graphs.Workloads(), Processes: spec.Engines}); err != nil {
		return err
	}
	return t.fleet.Start(ctx, spec.Workers, reportOf(""))
}

// used is the processor time so far of the engines' process, or of a system's processes.
func (t *Testbed) used() measure.Used {
	if t.fleet != nil {
		return t.runner.processors.ReadOf(t.fleet.Pids())
	}
	return t.runner.processors.Read()
}

func (t *Testbed) fire(ctx context.Context) error {
	var errs []error
	if t.fleet != nil {
		if !t.left { // else there is work, for which a process would wait
			errs = append(errs, t.fleet.Stop(context.WithoutCancel(ctx)))
		}
		errs = append(errs, t.fleet.Close(ctx))
		t.fleet = nil
	}
	if t.workers != nil {
		errs = append(errs, t.workers.stop(ctx))
		t.workers.close()
	}
	if missing := t.pressed.end(ctx); missing != "" {
		errs = append(errs, errors.New(missing))
	}
	if t.open.Schema != "" {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 30*time.Second)
		defer cancel()
		errs = append(errs, postgres.DropSchema(ctx, t.spec.DSN, t.open.Schema))
	}
	t.workers, t.pressed, t.open, t.left = nil, nil, designs.OpenOptions{}, false
	return errors.Join(errs...)
}

// Close stops the engines and leaves nothing in the database. The error names what could not be ended, and any pressure that
// was missing at some time.
func (t *Testbed) Close(ctx context.Context) error {
	err := t.fire(ctx)
	t.runner.close()
	return err
}

// Renew replaces the engines and the store if an earlier run left instances open. Run does that itself.
func (t *Testbed) Renew(ctx context.Context) error {
	if !t.left && (t.workers != nil || t.fleet != nil) {
		return nil
	}
	if err := t.fire(ctx); err != nil {
		return fmt.Errorf("ending the engines of the run before: %w", err)
	}
	return t.startWorkers(ctx)
}

// OpenResult is the result of a run.
type OpenResult struct {
	*record.Load
	// Requests are what became of every instance, by intended time.
	Requests []load.Request
}

// Oppose adds a finding that makes the run invalid.
func (r *OpenResult) Oppose(kind, text string) {
	r.Findings = append(r.Findings, record.LoadFinding{Kind: kind, Text: text})
	r.Valid = false
}

// Run puts load on the testbed and returns its record. See Observe.
func (t *Testbed) Run(ctx context.Context, o OpenRun) (*record.Load, error) {
	found, err := t.Observe(ctx, o)
	if err != nil {
		return nil, err
	}
	return found.Load, nil
}

// Observe puts load on the testbed and returns its record and what became of every instance. The error is one of the request,
// of the engines, or ctx's cause; defects of the run are in its findings. If ctx ends during the measurement, Observe also
// returns what was measured.
func (t *Testbed) Observe(ctx context.Context, o OpenRun) (*OpenResult, error) {
	o.Drain = cmp.Or(o.Drain, openDrain)
	o.Percentile = cmp.Or(o.Percentile, 99)
	if err := o.validate(); err != nil {
		return nil, err
	}
	if err := t.Renew(ctx); err != nil {
		return nil, err
	}
	run, err := newOpenRunning(t, o)
	if err != nil {
		return nil, err
	}
	found, err := run.run(ctx)
	t.left = run.inFlight.Load() > 0
	if found == nil {
		return nil, err
	}
	out := load.Analyze(*found)
	w := &t.spec.Case.Workload
	out.Scenario, out.Size, out.Nodes, out.Backend = w.Name, w.Size, w.Nodes, t.spec.Name()
	out.System = t.spec.RecordSystem()
	if t.graphs != nil {
		out.Nodes, _ = tasksOf(t.graphs, 1)
	}
	out.Arrivals, out.Seed, out.Workers, out.Engines, out.InFlightMost = o.Arrivals.String(), o.Seed, t.spec.Workers, t.spec.Engines, t.spec.InFlight
	out.Tool, out.Host, out.Postgres, out.StartedAt = measure.Tool("pulley"), measure.Host(), t.runner.server, run.began
	out.Notes = append(append(out.Notes, run.carrier.notes()...), run.notes...)
	return &OpenResult{out, found.Requests}, err
}

func (o OpenRun) validate() error {
	const longest = 7 * 24 * time.Hour
	switch {
	case !o.Arrivals.Open() && o.Arrivals.InFlight() == nil:
		return errors.New("no arrivals; say how instances come")
	case o.Measure <= 0 || o.Measure > longest:
		return fmt.Errorf("%v to measure; choose up to a week", o.Measure)
	case o.WarmUp < 0 || o.WarmUp > longest:
		return fmt.Errorf("%v to warm up; choose up to a week", o.WarmUp)
	case o.Drain < 0 || o.Drain > longest:
		return fmt.Errorf("%v to drain; choose up to a week", o.Drain)
	case !(o.Percentile >= 50 && o.Percentile <= 100):
		return fmt.Errorf("the percentile is %v; choose from 50 to 100", o.Percentile)
	}
	return nil
}

type relay struct{ watch atomic.Pointer[watch] }

func (r *relay) observer() engine.Observer {
	return engine.Observer{
		Submitted: func(id uuid.UUID, at time.Time) { r.with(func(w *watch) { w.confirmed(id, at) }) },
		Leased:    func(t backend.Task, at time.Time) { r.with(func(w *watch) { w.leased(t, at) }) },
		Started:   func(t backend.Task, at time.Time) { r.with(func(w *watch) { w.started(t, at) }) },
		Offered:   func(c backend.Completion, at time.Time) { r.with(func(w *watch) { w.offer(c, at) }) },
		Answered: func(c backend.Completion, o backend.Outcome, err error, at time.Time) {
			r.with(func(w *watch) { w.answered(c, o, err, at) })
		},
		Ended:   func(in backend.Instance, at time.Time) { r.with(func(w *watch) { w.end(in, at) }) },
		Problem: func(err error) { r.with(func(w *watch) { w.problem(err) }) },
	}
}

func (r *relay) with(tell func(*watch)) {
	if w := r.watch.Load(); w != nil {
		tell(w)
	}
}

func cores() int { return runtime.GOMAXPROCS(0) }
