package sim

import (
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"time"

	"pulley/engine/backend"
	"pulley/engine/dispatch"
	"pulley/engine/plan"
	"pulley/scenarios"
	"pulley/scenarios/arrivals"
	"pulley/scenarios/dist"
)

// Act gives the result of one attempt at an action, or its failure, of which Type and Message are
// enough. Arguments are a JSON object and must not be changed; attempts count from 1. For a run to be
// repeatable it must depend on what it is given only.
type Act func(action string, args json.RawMessage, attempt int) (json.RawMessage, *plan.Failure)

// Config is a world. Workload, Mix or Jobs must be set; the zero value of every other field means what is
// said there. Functions are called from the goroutine of Run.
type Config struct {
	Seed uint64 // of the one generator

	Workload scenarios.Workload
	Mix      *scenarios.Mix // in the place of Workload: its workloads take turns

	// Jobs stand in the place of Workload, Mix and Act: a workflow whose readiness is counted in plain arrays, by
	// this package, and not by the core and the in-memory store. For graphs that these have no room for. Engines
	// are the same; actions are called JobAction, without arguments, and there is nothing for twins and
	// oracles to hold against, so Faults, Cancels, Record and CheckEach are refused.
	Jobs []Job

	Instances int          // of the workload; zero: 1
	Between   Distribution // time from one submission to the next; nil: all at once, at the start

	// Arrivals, in the place of Between, is a process of which the first arrival is the start of the world. A closed one
	// has the next instance arrive when one ends; of several numbers in flight it takes the first.
	Arrivals *arrivals.Arrivals

	Engines int // zero: 1. Submissions go to them in turn
	Workers int // tasks that one engine runs at once; zero: 1

	Act     Act          // nil: the actions of the workloads, without the time that they take
	Service Service      // how long an attempt takes; nil: no time, and of Jobs their own
	Latency Distribution // how long a call of the store takes; nil: no time

	// Dispatch bounds each engine's machine. Owner, Shards, Slots and Notify are set by the simulator. Of
	// the others, zero means: Prefetch and NotifyEvery zero, Batch 128, BatchBytes 1 MiB, Committers 4,
	// Pending 256, Queue 1024, MaxDeliveries without a bound, Lease 30 s, Poll 1 s, Sweep 30 s, RetryMin 10 ms, RetryMax 1 s.
	Dispatch dispatch.Config
	Shards   int // of the store; zero: 1

	Faults  []Fault  // in any order; each happens at most once
	Cancels []Cancel // in any order

	Trace     io.Writer // takes every event as a line of text; nil: nobody
	Quiet     bool      // no event is written as text, and Result.Hash is empty; Trace must be nil
	Record    bool      // keeps a history
	CheckEach bool      // holds the store against its own invariants after every call, not only at the end; slow
	EventsMax int       // a run with more has failed; zero: 10,000,000
}

// FaultKind says what befalls an engine.
type FaultKind string

// The kinds of faults.
const (
	Crash  FaultKind = "crash"  // the process dies, and another one starts in its place
	Freeze FaultKind = "freeze" // the process is stopped, and goes on
)

// Fault befalls one engine.
type Fault struct {
	Kind   FaultKind
	Engine int           // from zero
	After  int           // events that came to the engine before, in all of its lives
	For    time.Duration // until it is back; zero: at once
}

// Cancel is a client's that wants an instance to end. One that has not been taken yet is canceled as soon as
// it has, and one that has ended stays as it is.
type Cancel struct {
	Instance int           // by arrival, from zero
	At       time.Duration // after its arrival
}

const (
	eventsMax  = 10_000_000
	enginesMax = 10_000
)

// withDefaults fills in what is zero.
func (c Config) withDefaults() Config {
	c.Instances = cmp.Or(c.Instances, 1)
	c.Engines = cmp.Or(c.Engines, 1)
	c.Workers = cmp.Or(c.Workers, 1)
	c.Shards = cmp.Or(c.Shards, 1)
	c.EventsMax = cmp.Or(c.EventsMax, eventsMax)
	switch {
	case c.Mix != nil && c.Workload.Graph == nil:
		c.Workload = c.Mix.Workloads[0]
	case c.Mix == nil && c.Workload.Graph != nil:
		c.Mix = scenarios.Alone(c.Workload)
	}
	if c.Between == nil {
		c.Between = dist.Constant(0)
	}
	switch {
	case c.Service != nil:
	case len(c.Jobs) > 0:
		c.Service = func(_ *rand.Rand, task backend.Task) (time.Duration, error) {
			return c.Jobs[task.Lease.Key.Run.Node].Time, nil
		}
	default:
		c.Service = Each(dist.Constant(0))
	}
	if c.Latency == nil {
		c.Latency = dist.Constant(0)
	}
	d := &c.Dispatch
	d.Shards, d.Slots, d.Notify = c.Shards, c.Workers, c.Engines > 1
	d.Batch = cmp.Or(d.Batch, 128)
	d.BatchBytes = cmp.Or(d.BatchBytes, 1<<20)
	d.Committers = cmp.Or(d.Committers, 4)
	d.Pending = cmp.Or(d.Pending, 256)
	d.Queue = cmp.Or(d.Queue, 1024)
	d.MaxDeliveries = cmp.Or(d.MaxDeliveries, math.MaxInt)
	d.Lease = cmp.Or(d.Lease, 30*time.Second)
	d.Poll = cmp.Or(d.Poll, time.Second)
	d.Sweep = cmp.Or(d.Sweep, 30*time.Second)
	d.RetryMin = cmp.Or(d.RetryMin, 10*time.Millisecond)
	d.RetryMax = cmp.Or(d.RetryMax, time.Second)
	return c
}

// closed is how many instances are in flight where they arrive as others end; zero where they do not.
func (c Config) closed() int {
	if c.Arrivals == nil || c.Arrivals.Open() {
		return 0
	}
	return c.Arrivals.InFlight()[0]
}

// validate reports every field that is out of its bounds. Defaults must have been filled in.
func (c Config) validate() error {
	var errs []error
	no := func(format string, args ...any) { errs = append(errs, fmt.Errorf("sim: "+format, args...)) }
	switch {
	case len(c.Jobs) > 0:
		if c.Workload.Graph != nil || c.Mix != nil || c.Act != nil || len(c.Faults)+len(c.Cancels) > 0 || c.Record || c.CheckEach {
			no("Jobs stand alone; leave out Workload, Mix, Act, Faults, Cancels, Record and CheckEach")
		}
	case c.Workload.Graph == nil:
		no("Workload has no graph; build one with a scenario, or give Mix or Jobs")
	}
	if c.Arrivals != nil && c.closed() > 0 && len(c.Cancels) > 0 {
		no("Cancels count from arrivals, which a closed process does not know beforehand; leave one of both out")
	}
	if c.Quiet && c.Trace != nil {
		no("Quiet writes no trace; leave one of both out")
	}
	for _, f := range []struct {
		name  string
		value int
	}{{"Instances", c.Instances}, {"Workers", c.Workers}, {"Shards", c.Shards}, {"EventsMax", c.EventsMax}} {
		if f.value < 1 {
			no("%s is %d, must be at least 1", f.name, f.value)
		}
	}
	if c.Engines < 1 || c.Engines > enginesMax {
		no("Engines is %d, must be from 1 to %d", c.Engines, enginesMax)
	}
	for i, f := range c.Faults {
		switch {
		case f.Kind != Crash && f.Kind != Freeze:
			no("Faults[%d] is a %q; give %q or %q", i, f.Kind, Crash, Freeze)
		case f.Engine < 0 || f.Engine >= c.Engines:
			no("Faults[%d] is for engine %d of %d; they count from 0", i, f.Engine, c.Engines)
		case f.After < 0 || f.For < 0:
			no("Faults[%d]: After is %d and For %v, must not be negative", i, f.After, f.For)
		}
	}
	for i, x := range c.Cancels {
		if x.Instance < 0 || x.Instance >= c.Instances || x.At < 0 {
			no("Cancels[%d] is of instance %d of %d after %v; instances count from 0, times must not be negative", i, x.Instance, c.Instances, x.At)
		}
	}
	if err := c.Dispatch.Validate(); err != nil {
		no("Dispatch: %w", err)
	}
	return errors.Join(errs...)
}
