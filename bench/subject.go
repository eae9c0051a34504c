package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"pulley/adapter/host"
	"pulley/adapter/protocol"
	"pulley/adapter/workload"
	"pulley/bench/measure"
	"pulley/bench/systems"
	"pulley/engine/backend/designs"
	"pulley/reports/record"
)

// subject is one of those that are compared.
type subject struct {
	name   string
	isPush bool

	// run makes one run; see runner.run.
	run func(ctx context.Context, k *Case, lot *instanceBatch, p runPlan) (*record.Sample, *latencies, error)
	// try is run, without what only counted runs need.
	try func(ctx context.Context, k *Case, lot *instanceBatch, p runPlan) (*record.Sample, error)
	// plan finds the length of a case's runs, and whatever else they depend on.
	plan func(ctx context.Context, k *Case, lot *instanceBatch, load Load) (runPlan, error)
	// refuses says why a case cannot be run; empty: it can.
	refuses func(k *Case) string
}

func (c *comparer) subjectsOf() (all []subject) {
	for _, spec := range c.cfg.Backends {
		all = append(all, c.designSubject(spec))
	}
	for _, s := range c.cfg.Systems {
		all = append(all, c.systemSubject(s))
	}
	return all
}

func (c *comparer) designSubject(spec designs.Spec) subject {
	s := subject{name: spec.String(), isPush: spec.Name() == "push", refuses: func(*Case) string { return "" }}
	s.run = func(ctx context.Context, k *Case, lot *instanceBatch, p runPlan) (*record.Sample, *latencies, error) {
		return c.runner.run(ctx, k, lot, spec, p)
	}
	s.try = func(ctx context.Context, k *Case, lot *instanceBatch, p runPlan) (*record.Sample, error) {
		sample, _, err := s.run(ctx, k, lot, p)
		return sample, err
	}
	s.plan = func(ctx context.Context, k *Case, lot *instanceBatch, load Load) (runPlan, error) {
		return c.pilot(ctx, k, lot, s, load)
	}
	return s
}

func (c *comparer) systemSubject(of systems.System) subject {
	s := subject{name: of.Name, isPush: of.Name == "push"}
	s.run = func(ctx context.Context, k *Case, _ *instanceBatch, p runPlan) (*record.Sample, *latencies, error) {
		return c.runner.runSystem(ctx, k, systemRun{System: of, runPlan: p, tuning: c.tuned[tuneKey{of.Name, k.String(), p.load.Mode}], counted: true})
	}
	s.try = func(ctx context.Context, k *Case, _ *instanceBatch, p runPlan) (*record.Sample, error) {
		sample, _, err := c.runner.runSystem(ctx, k, systemRun{System: of, runPlan: p, tuning: c.tuned[tuneKey{of.Name, k.String(), p.load.Mode}]})
		return sample, err
	}
	s.plan = func(ctx context.Context, k *Case, lot *instanceBatch, load Load) (runPlan, error) {
		return c.planSystem(ctx, k, lot, of, s, load)
	}
	s.refuses = func(k *Case) string {
		if _, err := c.runner.graphs(k, of); err != nil {
			return err.Error()
		}
		return ""
	}
	return s
}

// ableTo returns the subjects that can run a case, and notes why others cannot.
func (c *comparer) ableTo(k *Case) (able []subject) {
	for _, s := range c.subjects {
		why := s.refuses(k)
		if why == "" {
			able = append(able, s)
			continue
		}
		if text := fmt.Sprintf("%s is left out for %s: %s", k, s.name, why); !slices.Contains(c.manifest.Warnings, text) {
			c.manifest.Warnings = append(c.manifest.Warnings, text)
		}
	}
	return able
}

// tuneKey is a system's name, a case and a mode.
type tuneKey struct{ system, kase, mode string }

// tuning is what a system's runs of a case have in a mode. The zero value has the load's own slots, and the system's settings.
type tuning struct {
	slots    int
	settings map[string]string
	tried    int
	perS     float64 // nodes, of the best run of the search
}

// slotsUntuned is the slots of a process without a search: more than most systems have connections for is no good guess. A search
// begins there, goes up while that is faster, and down if the first step up was not.
const slotsUntuned = 32

var slotsUp, slotsDown = []int{128, 500, 2000}, []int{8}

// planSystem searches for the fastest way to run a case, and finds the length of its runs.
func (c *comparer) planSystem(ctx context.Context, k *Case, lot *instanceBatch, of systems.System, s subject, load Load) (runPlan, error) {
	key := tuneKey{of.Name, k.String(), load.Mode}
	c.tuned[key] = c.untuned(load)
	if c.cfg.Tune {
		best, err := c.tune(ctx, k, lot, of, s, load)
		if err != nil {
			return runPlan{}, err
		}
		c.tuned[key] = best
	}
	return c.pilot(ctx, k, lot, s, load)
}

// untuned is what runs have before a search, or without one.
func (c *comparer) untuned(load Load) tuning {
	return tuning{slots: cmp.Or(c.cfg.Slots, min(load.Workers, slotsUntuned))}
}

// tune tries one value after another, of the slots and then of each setting that names values, keeps the best, and continues from
// there. A value with which the system does not work is none. All tries have the instances that take about half a counted run's
// length with the defaults, or as many more as the best so far could do.
func (c *comparer) tune(ctx context.Context, k *Case, lot *instanceBatch, of systems.System, s subject, load Load) (tuning, error) {
	c.tuned[tuneKey{of.Name, k.String(), load.Mode}] = c.untuned(load)
	t := tuner{comparer: c, kase: k, batch: lot, subject: s, load: load, key: tuneKey{of.Name, k.String(), load.Mode}}
	t.load.RunTime /= 2
	t.best = c.tuned[t.key]
	var err error
	if t.plan, err = c.pilot(ctx, k, lot, s, t.load); err != nil {
		return t.best, err
	}
	if err := t.try(ctx, t.best); err != nil {
		return t.best, err
	}
	if load.Mode != record.ModeAlone && c.cfg.Slots == 0 {
		if err := t.trySlots(ctx); err != nil {
			return t.best, err
		}
	}
	for _, setting := range of.Hello.Settings {
		if _, chosen := of.Settings[setting.Name]; chosen {
			continue
		}
		for _, value := range setting.Try {
			settings := map[string]string{setting.Name: value}
			for name, other := range t.best.settings {
				if name != setting.Name {
					settings[name] = other
				}
			}
			if err := t.try(ctx, tuning{slots: t.best.slots, settings: settings}); err != nil {
				return t.best, err
			}
		}
	}
	t.best.tried = t.tried
	return t.best, nil
}

// tuner is a search.
type tuner struct {
	*comparer
	kase    *Case
	batch   *instanceBatch
	subject subject
	load    Load
	key     tuneKey
	plan    runPlan

	best  tuning
	tried int
}

// trySlots takes one step after another, up or down, while that is faster.
func (t *tuner) trySlots(ctx context.Context) error {
	for _, way := range [][]int{slotsUp, slotsDown} {
		for _, slots := range way {
			if slots > t.load.Workers {
				break
			}
			before := t.best.slots
			if err := t.try(ctx, tuning{slots: slots, settings: t.best.settings}); err != nil {
				return err
			}
			if t.best.slots == before {
				break
			}
		}
		if t.best.slots != slotsUntuned {
			break
		}
	}
	return nil
}

// try measures a tuning, and keeps it if it is the best.
func (t *tuner) try(ctx context.Context, tried tuning) error {
	t.tuned[t.key] = tried
	t.tried++
	t.progress(t.kase, t.subject, t.load.Mode, 0, nil)
	sample, err := t.subject.try(ctx, t.kase, t.batch, t.plan)
	if err != nil || !sample.Valid || sample.NodesPerS <= t.best.perS {
		return err
	}
	tried.perS = sample.NodesPerS
	t.best = tried
	if t.load.RunTime > 0 {
		next := t.load.plan(t.kase.Workload.Nodes, float64(sample.Instances)*float64(time.Second)/float64(sample.ElapsedNS))
		if next.instances > t.plan.instances {
			t.plan = next
			t.plan.instances = t.batch.wholeTurns(next.instances)
		}
	}
	return nil
}

// systems returns what is recorded of the compared systems.
func (c *comparer) systems() (all []record.System) {
	for _, s := range c.cfg.Systems {
		out := recordOf(s)
		for i := range c.cfg.Cases {
			k := &c.cfg.Cases[i]
			for _, load := range c.cfg.loadsOf(k) {
				if t, planned := c.tuned[tuneKey{s.Name, k.String(), load.Mode}]; planned {
					out.Chosen = append(out.Chosen, t.choice(k, load.Mode))
				}
			}
		}
		all = append(all, out)
	}
	return all
}

func recordOf(s systems.System) record.System {
	settings, _ := host.Settings(s.Hello, s.Settings) // checked when it was greeted
	return record.System{
		Name: s.Name, System: s.Hello.System, Version: s.Hello.SystemVersion, Command: s.Command, Settings: settings, Documentation: s.Hello.Documentation,
	}
}

func (t tuning) choice(k *Case, mode string) record.Choice {
	return record.Choice{
		Scenario: k.Workload.Name, Size: k.Workload.Size, Mode: mode, Slots: t.slots, Settings: t.settings, Tried: t.tried, NodesPerS: t.perS,
	}
}

// Tune searches for the slots and settings with which the system of a testbed, which needs one, is fastest at saturation, with runs
// of so long, and returns a testbed that has them. What is said already stays.
func Tune(ctx context.Context, spec TestbedSpec, runTime time.Duration, progress func(Progress)) (TestbedSpec, error) {
	load := SaturatedLoad()
	load.RunTime = runTime
	load.InFlight = min(load.InFlight, spec.withDefaults().InFlight)
	cfg := CompareConfig{
		Cases: []Case{spec.Case}, Systems: []systems.System{*spec.System}, Tune: true, Runs: 1, DSN: spec.DSN, Way: spec.Way, Seed: spec.Seed,
		Loads: []Load{load}, Engines: spec.withDefaults().Engines, Progress: progress,
	}.withDefaults()
	if err := cfg.validate(); err != nil {
		return spec, err
	}
	c := &comparer{cfg: cfg, tuned: map[tuneKey]tuning{}}
	if err := c.prepare(ctx); err != nil {
		return spec, err
	}
	defer c.close()
	k := &cfg.Cases[0]
	lot, err := newInstanceBatch(k)
	if err != nil {
		return spec, err
	}
	if _, err := graphsFor(k, *spec.System, spec.Seed); err != nil {
		return spec, err
	}
	best, err := c.tune(ctx, k, lot, c.cfg.Systems[0], c.subjects[0], cfg.Loads[0])
	if err != nil {
		return spec, err
	}
	tuned := *spec.System
	tuned.Settings = maps.Clone(tuned.Settings)
	maps.Copy(tuned.Settings, best.settings)
	spec.System, spec.chosen = &tuned, []record.Choice{best.choice(k, load.Mode)}
	spec.Workers = cmp.Or(spec.Workers, best.slots)
	return spec, nil
}

// reportOf is what processes report in a mode: tasks only where they cost nothing that counts.
func reportOf(mode string) protocol.Report {
	if mode == record.ModeAlone {
		return protocol.ReportTasks
	}
	return protocol.ReportEnds
}

func systemMethods(cfg CompareConfig) []record.Method {
	chosen := fmt.Sprintf("Each process executes at most %d tasks at once.", cmp.Or(cfg.Slots, slotsUntuned))
	if cfg.Tune {
		chosen = "Slots and settings are those that were fastest in a search, one value after another, with runs of half the length; the manifest has them (systems, chosen)."
	}
	return []record.Method{
		{Figure: "systems", Text: "each system is driven through an adapter, pulley's own designs as well: processes of their own, a new database for each run, reached through a relay on this machine that passes bytes on. A case's workflow is unfolded into the graph of tasks that one instance executes; loops remain loops where a system has them. " + chosen},
		{Figure: "counters", Text: "the server's, of all of the run's database, from before the processes start until they have left, less what it costs to start and stop them without work."},
		{Figure: "nodes_per_s", Text: fmt.Sprintf("tasks of completed instances, divided by the wall time from the first submission to the last end received in a run; %s; %d process(es). Median over runs.", loadsText(cfg.Loads), max(cfg.Engines, 1))},
		{Figure: "hop_ns", Text: "of lone instances: from the arrival of the report that the last needed task has finished to that of the report that the next has started, on this program's clock. HdrHistogram over all valid runs."},
		{Figure: "instance_ns", Text: "from before the submission is written to the arrival of the report that the instance has ended. HdrHistogram over all valid runs."},
		{Figure: "valid", Text: "every instance completed with the sum that its graph gives, and the run ended in time. Of lone instances, every task was executed."},
		differencesMethod(),
		{Figure: "hot_share", Text: "of the rows changed in the run's database, those whose change touched no index: n_tup_hot_upd / n_tup_upd of pg_stat_user_tables, over all valid runs."},
		{Figure: "lock_wait_share", Text: fmt.Sprintf("the sessions of the run's database are looked at every %v: those that wait for a row which another has locked, divided by those that are in a transaction, over all looks of all valid runs.", cfg.SamplePause)},
		{Figure: "fairness", Text: "of clients with one instance in flight each: the longest mean wait for a result divided by the shortest."},
		{Figure: "cpu", Text: "the processor time of the system's processes and whatever they started, and of a local server."},
	}
}

// graphsFor returns the graphs of a case as a system can run them.
func graphsFor(k *Case, of systems.System, seed uint64) (*workload.Mix, error) {
	both, err := unfold(k, seed)
	if err != nil {
		return nil, err
	}
	return of.Graphs(both.plain, both.looped)
}

// unfolded are the graphs of a case without loops, and with those of systems that have them.
type unfolded struct{ plain, looped *workload.Mix }

func unfold(k *Case, seed uint64) (unfolded, error) {
	if k.Pressure.OnStore() {
		return unfolded{}, fmt.Errorf("it puts the store under pressure, which only pulley's own designs have")
	}
	plain, err := workload.OfMix(k.mix(), workload.Options{Seed: seed})
	if err != nil {
		return unfolded{}, err
	}
	looped, err := workload.OfMix(k.mix(), workload.Options{Seed: seed, Repeat: true})
	return unfolded{plain, looped}, err
}

// graphs is graphsFor, which unfolds each case once for all runs and systems.
func (r *runner) graphs(k *Case, of systems.System) (*workload.Mix, error) {
	found, ok := r.unfolded[k]
	if !ok {
		found.graphs, found.err = unfold(k, r.cfg.Seed)
		if r.unfolded == nil {
			r.unfolded = map[*Case]unfolding{}
		}
		r.unfolded[k] = found
	}
	if found.err != nil {
		return nil, found.err
	}
	return of.Graphs(found.graphs.plain, found.graphs.looped)
}

// unfolding is what came of unfolding a case.
type unfolding struct {
	graphs unfolded
	err    error
}

// systemRun is a run of a system. One that is not counted reads no counters.
type systemRun struct {
	systems.System
	runPlan
	tuning
	counted bool
}

// runSystem makes one run of a system behind an adapter, as run does with a design. A system that cannot work with so many slots,
// or with a setting, makes the sample invalid.
func (r *runner) runSystem(ctx context.Context, k *Case, s systemRun) (*record.Sample, *latencies, error) {
	of := s.System
	sample := &record.Sample{
		Scenario: k.Workload.Name, Backend: of.Name, Size: k.Workload.Size, Mode: s.load.Mode, StartedAt: time.Now(), Warnings: []string{},
		Instances: s.instances, InFlight: s.inFlight, Workers: s.slots, Engines: max(cmp.Or(s.load.Engines, r.cfg.Engines), 1),
	}
	graphs, err := r.graphs(k, of)
	if err != nil {
		return nil, nil, err
	}
	sample.Nodes, sample.NodeRunsTotal = tasksOf(graphs, s.instances)
	settings := map[string]string{}
	maps.Copy(settings, of.Settings)
	maps.Copy(settings, s.settings)
	of.Settings = settings
	fleet, err := systems.Open(ctx, systems.Config{
		System: of, DSN: r.cfg.DSN, Workloads: graphs.Workloads(), Processes: sample.Engines,
	})
	if err != nil {
		return r.invalid(ctx, sample, err)
	}
	defer func() {
		if err := fleet.Close(ctx); err != nil {
			sample.Warnings = append(sample.Warnings, err.Error())
		}
	}()
	running, cancel := context.WithTimeoutCause(ctx, r.cfg.RunTimeout, fmt.Errorf("the run took longer than %v", r.cfg.RunTimeout))
	defer cancel()
	var run *systems.Run
	closed := systems.Closed{Graphs: graphs, Instances: s.instances, InFlight: s.inFlight, Slots: s.slots, Report: reportOf(s.load.Mode)}
	if s.counted {
		run, err = r.countSystem(running, fleet, closed, sample)
	} else {
		run, err = fleet.RunClosed(running, closed, r.processors)
	}
	if err != nil {
		return r.invalid(ctx, sample, err)
	}
	return sample, fillFrom(run, sample), nil
}

// invalid makes an error of the system the sample's. That ctx has ended remains an error.
func (r *runner) invalid(ctx context.Context, sample *record.Sample, err error) (*record.Sample, *latencies, error) {
	if ctx.Err() != nil {
		return nil, nil, context.Cause(ctx)
	}
	sample.Valid, sample.InstanceNS = false, []int64{}
	sample.Warnings = append(sample.Warnings, err.Error())
	return sample, newLatencies(), nil
}

func tasksOf(graphs *workload.Mix, instances int) (mean, total int) {
	alike := true
	for i := range instances {
		n := graphs.Of(i).Executions()
		total += n
		alike = alike && n == graphs.Of(0).Executions()
	}
	if alike {
		return graphs.Of(0).Executions(), 0
	}
	return (total + instances/2) / instances, total
}

// countSystem makes a run with what the server counts.
func (r *runner) countSystem(ctx context.Context, fleet *systems.Fleet, load systems.Closed, sample *record.Sample) (run *systems.Run, err error) {
	idle, err := fleet.Idle(ctx, load.Slots, load.Report)
	if err != nil {
		return nil, err
	}
	dsn, err := fleet.Database()
	if err != nil {
		return nil, err
	}
	sampler, err := measure.NewActivitySampler(ctx, dsn)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, sampler.Close()) }()
	seen, err := sampler.Watch(ctx, "", r.cfg.SamplePause, func() error {
		before, err := fleet.Snapshot(ctx)
		if err != nil {
			return err
		}
		if run, err = fleet.RunClosed(ctx, load, r.processors); err != nil {
			return err
		}
		after, err := fleet.Snapshot(context.WithoutCancel(ctx))
		if err != nil {
			return err
		}
		counters, warnings := measure.Delta(before, after)
		counters.Subtract(idle)
		sample.Counters, sample.Warnings = &counters, append(sample.Warnings, warnings...)
		return nil
	})
	sample.Waits = &seen
	return run, err
}

// fillFrom adds what a run found to its sample.
func fillFrom(run *systems.Run, sample *record.Sample) *latencies {
	lat := newLatencies()
	lat.hop.Merge(run.Hops)
	for _, span := range run.Spans {
		lat.instance.Record(time.Duration(span))
	}
	sample.ElapsedNS, sample.InstanceNS, sample.CPU = int64(run.Elapsed), run.Spans, run.CPU
	sample.HopNS = lat.hop.Percentiles()
	if run.Fairness != nil {
		sample.Fairness = &record.Fairness{Instances: run.Fairness}
	}
	if run.Elapsed > 0 {
		sample.NodesPerS = float64(sample.NodeRuns()) / run.Elapsed.Seconds()
	}
	sample.Valid = len(run.Problems) == 0
	sample.Warnings = append(append(sample.Warnings, run.Problems...), run.Notes...)
	return lat
}
