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

// Act returns the result of an attempt at an action, or its failure, which needs only Type and Message. Arguments are a JSON
// object and must not be changed; attempts count from 1. A run is repeatable only if the result depends on nothing but the
// arguments of Act.
type Act func(action string, args json.RawMessage, attempt int) (json.RawMessage, *plan.Failure)

// Config describes a world. Workload, Mix or Jobs must be set; each other field documents its zero value. Run calls the functions
// from its own goroutine.
type Config struct {
	Seed uint64

	Workload scenarios.Workload
	Mix      *scenarios.Mix // replaces Workload: its workloads take turns

	// Jobs replaces Workload, Mix and Act: a workflow whose readiness this package counts in plain arrays, for graphs too large
	// for the core and the in-memory store. The engines are the same. Actions are called JobAction and have no arguments. Models
	// and oracles cannot check it, so Faults, Cancels, Record and CheckEach are refused.
	Jobs []Job

	Instances int          // of the workload; zero: 1
	Between   Distribution // time between submissions; nil: all at the start

	// Arrivals replaces Between; its first arrival is the start of the world. With a closed process, the next instance arrives
	// when one ends; of several numbers in flight, the first is used.
	Arrivals *arrivals.Arrivals

	Engines int // zero: 1. Submissions go to them in turn
	Workers int // tasks that one engine runs at once; zero: 1

	Act     Act          // nil: the workloads' own actions, without their duration
	Service Service      // duration of an attempt; nil: no time, or the jobs' own
	Latency Distribution // duration of a store call; nil: no time

	// Dispatch bounds each engine's machine. The simulator sets Owner, Shards, Slots and Notify. Zero means: Prefetch and
	// NotifyEvery zero, Batch 128, BatchBytes 1 MiB, Committers 4, Pending 256, Queue 1024, MaxDeliveries unbounded, Lease 30 s,
	// Poll 1 s, Sweep 30 s, RetryMin 10 ms, RetryMax 1 s.
	Dispatch dispatch.Config
	Shards   int // of the store; zero: 1

	Faults  []Fault  // in any order; each is applied at most once
	Cancels []Cancel // in any order

	Trace     io.Writer // receives every event as a line of text; nil: no trace
	Quiet     bool      // writes no events as text; Result.Hash is then empty and Trace must be nil
	Record    bool
	CheckEach bool // checks the store's own invariants after every call, not only at the end; slow
	EventsMax int  // a longer run fails; zero: 10,000,000
}

// FaultKind is the kind of a fault.
type FaultKind string

// The kinds of faults.
const (
	Crash  FaultKind = "crash"  // the process dies, and another one starts
	Freeze FaultKind = "freeze" // the process is paused
)

// Fault is a fault that hits one engine.
type Fault struct {
	Kind   FaultKind
	Engine int           // from zero
	After  int           // after so many events of the engine, over all incarnations
	For    time.Duration // until it is back; zero: at once
}

// Cancel is a client's request to end an instance. If the store does not have the instance yet, the client retries; an ended
// instance stays as it is.
type Cancel struct {
	Instance int           // by arrival, from zero
	At       time.Duration // after its arrival
}

const (
	eventsMax  = 10_000_000
	enginesMax = 10_000
)

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

// closed returns how many instances are in flight in a closed process; zero: the process is open.
func (c Config) closed() int {
	if c.Arrivals == nil || c.Arrivals.Open() {
		return 0
	}
	return c.Arrivals.InFlight()[0]
}

// validate reports every field that is out of bounds. Defaults must have been filled in.
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
