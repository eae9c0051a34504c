package bench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"pulley/bench/histogram"
	"pulley/bench/measure"
	"pulley/bench/profile"
	"pulley/bench/stats"
	"pulley/bench/systems"
	"pulley/engine/backend/designs"
	"pulley/reports/record"
	"pulley/scenarios"
	"pulley/scenarios/arrivals"
)

// CompareConfig is what a comparison compares, and how.
type CompareConfig struct {
	Cases    []Case         // at least one
	Backends []designs.Spec // at least one, unless there are Systems

	// Systems behind adapters, instead of Backends. Each runs a case's graph of tasks (package adapter/workload).
	Systems []systems.System
	// Tune searches for each system, case and mode the slots of a process and the settings with which it is fastest, among those
	// that its adapter names.
	Tune bool
	// Slots of a process of a system, which no search changes. Zero: what the search finds, or 32 without one.
	Slots int

	Runs int // repetitions of every case on every backend; at least 1

	DSN string // may be empty if no backend needs a database
	Way string // how the server was obtained, for the manifest

	// Loads are the modes in which every case is run. Nil: one mode, of Workers, InFlight and MinNodes.
	Loads           []Load
	OwnLoads        bool // a scenario's own run settings override Loads
	Workers         int
	InFlight        int
	Engines         int           // on the store, each with its own Workers and connections. Zero: 1
	Profile         bool          // samples processor time in each run; excludes any other CPU profile
	HoldTransaction bool          // no action returns before min(InFlight, all) instances were submitted
	Clear           bool          // cleans up ended instances before the counters are read, so that they include the cleanup
	SamplePause     time.Duration // between reads of what sessions wait for. Zero: 20 ms, at almost no cost
	MinNodes        int
	RunTimeout      time.Duration // a longer run is invalid. Zero: 5 min
	Seed            uint64        // for generated traces; in the manifest
	Plant           Plant         // a fault in every run; zero: none

	// Ceilings is the duration of each point of the ceilings: what raw SQL achieves for the backends' rows on the same server,
	// before the first run and after the last. Zero: none.
	Ceilings time.Duration
	// CeilingConnections are the ceilings' numbers of sessions. Nil: those of package ceiling.
	CeilingConnections []int

	Command  []string       // the command line, for the manifest
	Progress func(Progress) // called before and after every run, from one goroutine; may be nil
}

// Case is a workload to run, with the requested size.
type Case struct {
	// Pressure disturbs the store while instances run.
	Pressure scenarios.Pressure
	// Run is the scenario's own run settings; CompareConfig.OwnLoads applies them.
	Run scenarios.RunDefaults
	// Arriving is the scenario's arrival process, Objectives its latency objectives; zero if it has none. A testbed's runs may
	// use both.
	Arriving   arrivals.Arrivals
	Objectives []scenarios.Objective

	// Workload is what every instance runs. For a mix it is the first workload, with the mix's name and mean number of nodes.
	Workload scenarios.Workload

	Mix    *scenarios.Mix // instances take its workloads in turn; nil: all run Workload
	Source string         // the file of a scenario or trace; empty if it ships
}

// Progress is the state of a comparison.
type Progress struct {
	Done, Total int
	Case        string
	Backend     string
	Mode        string
	Run         int            // repetition, from 1; 0: a pilot run, which determines the length of the others
	Sample      *record.Sample // the run that ended; nil: see Ceiling
	Ceiling     string         // the point of a ceiling measured next; then only Done and Total are set besides
}

// Comparison is the result of a comparison.
type Comparison struct {
	Summary  *record.Summary
	Manifest *record.Manifest
	hops     []histogram.Tagged
	spans    []histogram.Tagged
	profiles map[record.Key]*profile.Profile
}

func (c CompareConfig) withDefaults() CompareConfig {
	if c.Loads == nil {
		c.Loads = []Load{{InFlight: c.InFlight, Workers: c.Workers, MinNodes: c.MinNodes}}
	}
	c.Loads = slices.Clone(c.Loads)
	for i := range c.Loads {
		c.Loads[i] = c.Loads[i].withDefaults()
	}
	c.SamplePause = cmp.Or(c.SamplePause, 20*time.Millisecond)
	c.RunTimeout = cmp.Or(c.RunTimeout, 5*time.Minute)
	return c
}

func (c CompareConfig) validate() error {
	switch {
	case len(c.Cases) == 0:
		return errors.New("compare: no scenario; name one")
	case len(c.Backends)+len(c.Systems) == 0:
		return errors.New("compare: no backend; name one")
	case len(c.Systems) > 0 && (len(c.Backends) > 0 || c.DSN == "" || c.Profile || c.HoldTransaction || c.Clear || c.Plant != Plant{}):
		return errors.New("compare: systems behind adapters need a Postgres, and exclude backends, profiles, and what happens inside an engine")
	case c.Runs < 1 || c.Runs > 1000:
		return fmt.Errorf("compare: %d runs; choose from 1 to 1000", c.Runs)
	case c.Engines < 0 || c.Engines > 64:
		return fmt.Errorf("compare: %d engines; choose from 1 to 64", c.Engines)
	case c.SamplePause < 0:
		return fmt.Errorf("compare: sessions cannot be looked at every %v; choose more than 0", c.SamplePause)
	case c.Ceilings != 0 && c.Ceilings < shortest:
		return fmt.Errorf("compare: %s for a point of the ceilings; choose %s or more, or 0 for none", c.Ceilings, shortest)
	case c.RunTimeout < time.Second:
		return fmt.Errorf("compare: %s a run; choose one second or more", c.RunTimeout)
	}
	if c.DSN == "" {
		for _, b := range c.Backends {
			if b.NeedsPostgres() {
				return fmt.Errorf("compare: backend %s needs a Postgres, and there is no DSN", b)
			}
		}
	}
	if err := c.Plant.validate(); err != nil {
		return err
	}
	seen := map[string]bool{}
	for _, l := range c.Loads {
		if err := l.validate(); err != nil {
			return err
		}
		if seen[l.Mode] {
			return fmt.Errorf("compare: the mode %s is there twice", l.Mode)
		}
		seen[l.Mode] = true
	}
	for _, k := range c.Cases {
		if seen[k.String()] {
			return fmt.Errorf("compare: %s is named twice", k)
		}
		seen[k.String()] = true
		for _, l := range c.loadsOf(&k) {
			if err := l.validate(); err != nil {
				return fmt.Errorf("%s: %w", k, err)
			}
		}
	}
	return nil
}

// String returns the case's scenario and size.
func (c Case) String() string { return fmt.Sprintf("%s %d", c.Workload.Name, c.Workload.Size) }

// Compare runs every case on every backend and returns the measurements. When ctx ends, it returns what it has, marked as
// interrupted. It fails only if nothing could be run.
func Compare(ctx context.Context, cfg CompareConfig) (*Comparison, error) {
	cfg = cfg.withDefaults()
	if err := cfg.validate(); err != nil {
		return nil, err
	}
	c := &comparer{cfg: cfg, tuned: map[tuneKey]tuning{}, hists: map[record.Key]*latencies{}, profiles: map[record.Key]*profile.Profile{}}
	if err := c.prepare(ctx); err != nil {
		return nil, err
	}
	defer c.close()
	c.ceilings.round(ctx)
	for i := range cfg.Cases {
		if err := c.runCase(ctx, &cfg.Cases[i]); err != nil {
			if ctx.Err() != nil {
				c.manifest.Interrupted = true
				break
			}
			return nil, err
		}
	}
	c.ceilings.round(ctx)
	return c.finish(), nil
}

type comparer struct {
	cfg      CompareConfig
	runner   *runner
	manifest record.Manifest
	ceilings *ceilings
	subjects []subject
	tuned    map[tuneKey]tuning
	hists    map[record.Key]*latencies
	profiles map[record.Key]*profile.Profile
	done     int
}

func (c *comparer) prepare(ctx context.Context) error {
	m := &c.manifest
	m.Command = measure.Command(c.cfg.Command)
	m.Tool, m.Host = measure.Tool("pulley"), measure.Host()
	m.Seed, m.Runs, m.Order = c.cfg.Seed, c.cfg.Runs, "ABBA"
	m.StartedAt = time.Now()
	m.Warnings = c.cfg.Plant.warnings()
	m.Methods = append(measure.Methods(), methods(c.cfg)...)
	found, how, err := newCeilings(ctx, c.cfg, c.measuring)
	if err != nil {
		return err
	}
	if c.runner, err = newRunner(ctx, c.cfg); err != nil {
		return err
	}
	c.subjects = c.subjectsOf()
	c.ceilings, m.Methods = found, append(m.Methods, how...)
	for _, s := range c.subjects {
		m.Backends = append(m.Backends, s.name)
	}
	for _, k := range c.cfg.Cases {
		w := k.Workload
		if !slices.Contains(m.Scenarios, w.Name) {
			m.Scenarios = append(m.Scenarios, w.Name)
		}
		if !slices.Contains(m.Sizes, w.Size) {
			m.Sizes = append(m.Sizes, w.Size)
		}
		for _, warning := range w.Warnings {
			m.Warnings = append(m.Warnings, k.String()+": "+warning)
		}
		m.Cases = append(m.Cases, record.Case{Scenario: w.Name, Size: w.Size, Nodes: w.Nodes, Program: w.Source, Source: k.Source, Input: w.Input, Want: w.Expected, Graph: k.outline(ctx)})
	}
	m.Postgres = c.runner.server
	return nil
}

func (c *comparer) close() { c.runner.close() }

// runCase runs all repetitions of a case in each mode. Each repetition reverses the order of the backends.
func (c *comparer) runCase(ctx context.Context, k *Case) error {
	lot, err := newInstanceBatch(k)
	if err != nil {
		return fmt.Errorf("%s: %w", k, err)
	}
	for _, load := range c.cfg.loadsOf(k) {
		subjects := c.ableTo(k)
		plans := make([]runPlan, len(subjects))
		for i, s := range subjects {
			if plans[i], err = s.plan(ctx, k, lot, load); err != nil {
				return err
			}
		}
		for run := 1; run <= c.cfg.Runs; run++ {
			for i := range subjects {
				if run%2 == 0 {
					i = len(subjects) - 1 - i
				}
				if err := c.runOnce(ctx, k, lot, subjects[i], plans[i], run); err != nil {
					return err
				}
			}
		}
	}
	return nil
}

func (c *comparer) runOnce(ctx context.Context, k *Case, lot *instanceBatch, s subject, p runPlan, run int) error {
	c.progress(k, s, p.load.Mode, run, nil)
	sample, lat, err := s.run(ctx, k, lot, p)
	if err != nil {
		return err
	}
	c.done++
	sample.Run, sample.Order = run, c.done
	c.manifest.Samples = append(c.manifest.Samples, *sample)
	if sample.Valid {
		if err := c.keep(sample.Key(), lat); err != nil {
			return err
		}
	}
	c.progress(k, s, p.load.Mode, run, sample)
	return nil
}

// For runs of a given time, pilot runs find the number of instances.
func (c *comparer) pilot(ctx context.Context, k *Case, lot *instanceBatch, s subject, load Load) (runPlan, error) {
	plan := func(perS float64) runPlan {
		p := load.plan(k.Workload.Nodes, perS)
		p.instances = lot.wholeTurns(p.instances)
		return p
	}
	p := plan(0)
	if load.RunTime == 0 {
		return p, nil
	}
	for try := 1; ; try++ {
		c.progress(k, s, load.Mode, 0, nil)
		sample, err := s.try(ctx, k, lot, p)
		if err != nil {
			return p, err
		}
		took := time.Duration(sample.ElapsedNS)
		if !sample.Valid || took <= 0 {
			return p, nil // the counted runs will report the error
		}
		next := plan(float64(sample.Instances) / took.Seconds())
		done := false
		if p, done = load.afterPilot(try, p, next, took); done {
			return p, nil
		}
		p.instances = lot.wholeTurns(p.instances)
	}
}

func (c *comparer) keep(key record.Key, lat *latencies) (err error) {
	if have := c.hists[key]; have != nil {
		have.merge(lat)
	} else {
		c.hists[key] = lat
	}
	p := c.runner.profiled
	if have := c.profiles[key]; p != nil && have != nil {
		p, err = profile.Merge(have, p)
	}
	if p != nil && err == nil {
		c.profiles[key] = p
	}
	return err
}

func (c *comparer) total() int { return c.cfg.Rows() * c.cfg.Runs }

func (c *comparer) measuring(point string) {
	if c.cfg.Progress != nil {
		c.cfg.Progress(Progress{Done: c.done, Total: c.total(), Ceiling: point})
	}
}

func (c *comparer) progress(k *Case, of subject, mode string, run int, s *record.Sample) {
	if c.cfg.Progress != nil {
		c.cfg.Progress(Progress{Done: c.done, Total: c.total(), Case: k.String(), Backend: of.name, Mode: mode, Run: run, Sample: s})
	}
}

func (c *comparer) finish() *Comparison {
	m := &c.manifest
	m.EndedAt = time.Now()
	out := &Comparison{Manifest: m, Summary: &record.Summary{Rows: []record.Row{}}, profiles: c.profiles}
	out.Summary.Rows = stats.Rows(m.Samples, func(key record.Key) stats.Latencies {
		lat := c.hists[key]
		if lat == nil {
			return stats.Latencies{}
		}
		return stats.Latencies{Hop: lat.hop.Percentiles(), Instance: lat.instance.InstancePercentiles()}
	})
	out.Summary.Differences = stats.Differences(m.Samples, c.baseline())
	out.Summary.Claims = stats.Claims(m.Samples, c.claims())
	c.ceilings.fill(out.Summary, c.cfg.Backends)
	m.Warnings = append(m.Warnings, c.ceilings.warnings...)
	m.Systems = c.systems()
	for i := range out.Summary.Rows {
		row := &out.Summary.Rows[i]
		lat := c.hists[row.Key()]
		if lat == nil {
			continue
		}
		row.Warnings = append(row.Warnings, lat.warnings()...)
		out.hops = append(out.hops, histogram.Tagged{Tag: histogram.HopTag(row.Key()), Start: m.StartedAt, End: m.EndedAt, Hist: lat.hop})
		out.spans = append(out.spans, histogram.Tagged{Tag: histogram.InstanceTag(row.Key()), Start: m.StartedAt, End: m.EndedAt, Hist: lat.instance})
	}
	return out
}

// The published claims apply to the first push, and to all pulls.
func (c *comparer) claims() stats.Comparison {
	out := stats.Comparison{Fanout: "fanout", Loop: "loop", LoopSize: 32, Mode: c.cfg.Loads[0].Mode}
	for _, b := range c.cfg.Backends {
		switch {
		case b.Name() == "push" && out.Push == "":
			out.Push = b.String()
		case b.Name() == "pull":
			out.Pulls = append(out.Pulls, b.String())
		}
	}
	return out
}

func methods(cfg CompareConfig) []record.Method {
	if len(cfg.Systems) > 0 {
		return systemMethods(cfg)
	}
	cleared := "Engines clear up after ended instances every 30 s; what a run leaves is not counted."
	if cfg.Clear {
		cleared = "What ended instances left was removed before they were read."
	}
	list := []record.Method{
		{Figure: "counters", Text: "the server's, from before a run to after it. " + cleared},
		{Figure: "nodes_per_s", Text: fmt.Sprintf("node runs of actions that completed, divided by the wall time from the first submission to the last result received in a run; %s; %d engine(s), new sessions in every run. Median over runs.", loadsText(cfg.Loads), max(cfg.Engines, 1))},
		{Figure: "hop_ns", Text: "from the latest completion offered in the instance, when a task came to the engine, to the start of that task, on the engine's clock: commit, dispatch and the wait for a free worker. HdrHistogram over all valid runs."},
		{Figure: "instance_ns", Text: "from the call of Submit to the moment at which the client has the result. HdrHistogram over all valid runs."},
		{Figure: "valid", Text: "every instance completed with the scenario's expected result, every node run was applied exactly once, and the run ended in time."},
		differencesMethod(),
		{Figure: "hot_share", Text: "of the rows changed in the backend's own tables, those whose change touched no index: n_tup_hot_upd / n_tup_upd of pg_stat_user_tables, over all valid runs."},
		{Figure: "lock_wait_share", Text: fmt.Sprintf("the workload's sessions are looked at every %v: those that wait for a row which another has locked, divided by those that are in a transaction, over all looks of all valid runs.", cfg.SamplePause)},
		{Figure: "fairness", Text: "of clients with one instance in flight each, all alike: the longest mean wait for a result divided by the shortest; of engines: the most node runs that one applied divided by the fewest."},
		{Figure: "memory", Text: "resident memory of this process, harness included, before a run and at its peak, from the kernel."},
	}
	if cfg.Profile {
		list = append(list, record.Method{Figure: "stages", Text: "the processor time of this process in a run, from the kernel, divided by its node runs, and shared out by the samples of Go's profiler, a hundred for each " +
			"second of processor time: a sample is garbage collection if the collector is on its stack, and else of the innermost function that is of a stage. Median over runs."})
	}
	return list
}

func differencesMethod() record.Method {
	return record.Method{Figure: "differences", Text: fmt.Sprintf("the median of all ratios of a run of one backend to a run of the other (Hodges–Lehmann), with the interval that belongs to the Mann–Whitney test, at %.0f %%. "+
		"A difference is stated where the interval leaves out 1; ~ stands elsewhere, and everywhere with fewer runs than such an interval needs: five.", 100*stats.DifferenceConfidence)}
}

func loadsText(loads []Load) string {
	var parts []string
	for _, l := range loads {
		text := fmt.Sprintf("%s: up to %d instances in flight, %d workers an engine", l.Mode, l.InFlight, l.Workers)
		if l.NodesInFlight > 0 {
			text += fmt.Sprintf(", about %d node runs in flight where instances are large, fewer where a scheduler is slow", l.NodesInFlight)
		}
		if l.RunTime > 0 {
			text += fmt.Sprintf(", for about %v, found out by a pilot run that does not count", l.RunTime)
		} else {
			text += fmt.Sprintf(", at least %d node runs", l.MinNodes)
		}
		parts = append(parts, text)
	}
	return strings.Join(parts, "; ")
}

// baseline is the first push, else the first of all.
func (c *comparer) baseline() string {
	i := slices.IndexFunc(c.subjects, func(s subject) bool { return s.isPush })
	return c.subjects[max(i, 0)].name
}
