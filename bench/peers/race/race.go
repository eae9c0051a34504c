package race

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"pulley/bench/measure"
	"pulley/bench/peers/peer"
)

type race struct {
	cfg       Config
	databases *databases
	record    Record
}

// Run races and returns the record. When ctx ends, it returns what it has, marked as interrupted. It fails only if nothing
// could be run.
func Run(ctx context.Context, cfg Config) (*Record, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	r := &race{cfg: cfg}
	var err error
	if r.databases, err = openDatabases(ctx, cfg.DSN); err != nil {
		return nil, fmt.Errorf("peers: %w", err)
	}
	defer r.databases.close()
	if err := r.begin(ctx); err != nil {
		return nil, err
	}
	for _, w := range cfg.Workloads {
		if err := r.workload(ctx, w); err != nil {
			r.record.Interrupted = true
			break
		}
	}
	r.record.EndedAt = time.Now()
	r.record.finish()
	return &r.record, nil
}

// workload runs a workload on all systems, for the configured number of runs. It fails when ctx has ended.
func (r *race) workload(ctx context.Context, w peer.Workload) error {
	loads := map[string]load{}
	var entries []peer.Entry
	for _, e := range r.cfg.Entries {
		if ok, _ := e.Runs(w); !ok {
			continue
		}
		r.cfg.Progress(fmt.Sprintf("%s on %s: finding its rate", w.Name, e.Text))
		pace, err := r.rate(ctx, w, e)
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if err != nil {
			r.failed(w, e, err)
			continue
		}
		entries, loads[e.Text] = append(entries, e), r.cfg.plan(w, pace)
	}
	for run := 1; run <= r.cfg.Runs; run++ {
		order := slices.Clone(entries)
		if run%2 == 0 {
			slices.Reverse(order)
		}
		for _, e := range order {
			s := r.sample(ctx, w, e, loads[e.Text])
			if ctx.Err() != nil {
				return ctx.Err()
			}
			s.Run, s.Order = run, len(r.record.Samples)+1
			r.record.Samples = append(r.record.Samples, *s)
			r.cfg.Progress(fmt.Sprintf("%s (%v after the start)", s.line(), time.Since(r.record.StartedAt).Round(time.Second)))
		}
	}
	return nil
}

// failed records that a system could not even be tried.
func (r *race) failed(w peer.Workload, e peer.Entry, err error) {
	s := Sample{
		System: e.Text, Workload: w.Name, TasksPerInstance: w.Tasks(), StartedAt: time.Now(), Run: 1, Order: len(r.record.Samples) + 1,
		Settings: e.OptionsFor(w), Warnings: []string{"finding its rate: " + err.Error()},
	}
	r.record.Samples = append(r.record.Samples, s)
	r.cfg.Progress(s.line())
}

// The trial rounds.
const (
	roundTasks  = 200 // least of the first round
	roundLeast  = 4   // least instances of the first round
	roundGrowth = 4
	roundLong   = 500 * time.Millisecond
	roundsMost  = 8
	roundBetter = 1.2 // relative to the previous rate: more at once still helps
)

// rate measures a system's ended instances per second, with ever more at once, until that is no faster or takes too long.
func (r *race) rate(ctx context.Context, w peer.Workload, e peer.Entry) (pace, error) {
	sizes := r.cfg.rounds(w)
	total := 0
	for _, n := range sizes {
		total += n
	}
	d := newDriver(w, total, e.Adapter.Submitters)
	var best pace
	_, err := r.open(ctx, w, e, d, func(ctx context.Context) error {
		from := 0
		for _, n := range sizes {
			inFlight := min(n, r.cfg.inFlight(w))
			took, err := d.drive(ctx, from, n, inFlight)
			if err != nil {
				return err
			}
			from += n
			before := best
			if perSecond := float64(n) / took.Seconds(); perSecond > best.perSecond {
				best = pace{perSecond, inFlight}
			}
			if took >= r.cfg.RunFor || took >= roundLong && best.perSecond < roundBetter*before.perSecond {
				break
			}
		}
		_, err := d.work.Verdict(from)
		return err
	})
	return best, err
}

// sample makes one run. An error in it makes it invalid.
func (r *race) sample(ctx context.Context, w peer.Workload, e peer.Entry, l load) *Sample {
	s := &Sample{
		System: e.Text, Workload: w.Name, StartedAt: time.Now(), Settings: e.OptionsFor(w), Warnings: []string{},
		Instances: l.instances, InFlight: l.inFlight, WarmUpInstances: l.warmUp, TasksPerInstance: w.Tasks(),
	}
	d := newDriver(w, l.warmUp+l.instances, e.Adapter.Submitters)
	runtime.GC() // collect the previous run's garbage
	cost, err := r.open(ctx, w, e, d, func(ctx context.Context) error {
		if _, err := d.drive(ctx, 0, l.warmUp, l.inFlight); err != nil {
			return fmt.Errorf("warming up: %w", err)
		}
		took, err := d.drive(ctx, l.warmUp, l.instances, l.inFlight)
		s.ElapsedNS = int64(took)
		return err
	})
	var weak *costError
	counted := !errors.As(err, &weak)
	if !counted { // the run itself is valid
		s.Warnings, err = append(s.Warnings, weak.Error()), nil
	}
	if err == nil {
		s.Repeats, err = d.work.Verdict(l.warmUp + l.instances)
	}
	if err != nil {
		s.Warnings = append(s.Warnings, err.Error())
		return s
	}
	s.Valid = true
	h := d.latencies(l.warmUp, l.instances)
	s.Warnings = append(s.Warnings, h.Warnings()...)
	s.LatencyNS = h.Percentiles()
	s.fillRates()
	if counted {
		s.fillCosts(cost)
	}
	return s
}

// costError is why a run's costs are unknown.
type costError struct{ err error }

func (e *costError) Error() string { return "commits and WAL were not counted: " + e.err.Error() }

// open sets a system up in its own databases, opens it, calls act, and closes and removes everything. It returns the server's
// counts since the opening; if only those fail, the error is a costError.
func (r *race) open(ctx context.Context, w peer.Workload, e peer.Entry, d *driver, act func(context.Context) error) (cost counters, err error) {
	runCtx, cancel := context.WithTimeoutCause(ctx, r.cfg.Timeout, fmt.Errorf("it took longer than %v", r.cfg.Timeout))
	defer cancel()
	names, dsns, err := r.databases.create(runCtx, e.Adapter.Databases)
	defer func() {
		if err := r.databases.drop(ctx, names); err != nil {
			r.cfg.Progress(err.Error())
		}
	}()
	if err != nil {
		return cost, err
	}
	env := peer.Env{DSNs: dsns, Options: e.OptionsFor(w), Log: func(line string) { r.cfg.Progress(e.Text + ": " + line) }}
	if err := e.Adapter.Setup(runCtx, env); err != nil {
		return cost, fmt.Errorf("setting it up: %w", err)
	}
	before, costErr := r.databases.read(runCtx, names)
	if d.system, err = e.Adapter.Open(runCtx, env, d.work); err != nil {
		return cost, fmt.Errorf("opening it: %w", err)
	}
	err = act(runCtx)
	closeCtx, stop := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer stop()
	if closeErr := d.system.Close(closeCtx); err == nil && closeErr != nil {
		err = fmt.Errorf("closing it: %w", closeErr)
	}
	if err != nil {
		return cost, err
	}
	after, afterErr := r.databases.read(runCtx, names)
	if costErr = errors.Join(costErr, afterErr); costErr != nil {
		return cost, &costError{costErr}
	}
	return after.minus(before), nil
}

const closeTimeout = 30 * time.Second

func (c counters) minus(o counters) counters {
	return counters{
		commits: c.commits - o.commits, rollbacks: c.rollbacks - o.rollbacks, sessions: c.sessions - o.sessions,
		walBytes: c.walBytes - o.walBytes, checkpoints: c.checkpoints - o.checkpoints,
	}
}

// begin records what is known before the first run.
func (r *race) begin(ctx context.Context) error {
	server, err := measure.Server(ctx, r.databases.conn, r.cfg.Way)
	if err != nil {
		return err
	}
	r.record = Record{
		Schema: Schema, Command: measure.Command(r.cfg.Command), Tool: measure.Tool("peers"), Host: measure.Host(),
		Postgres: server, StartedAt: time.Now(), Runs: r.cfg.Runs, InFlight: r.cfg.InFlight, RunForNS: int64(r.cfg.RunFor), Order: "ABBA",
		PayloadBytes: peer.PayloadBytes, Workloads: r.cfg.Workloads, Methods: methods(), Samples: []Sample{}, Warnings: []string{},
	}
	for _, e := range r.cfg.Entries {
		r.record.Systems = append(r.record.Systems, describe(e, r.cfg.Workloads))
	}
	return nil
}
