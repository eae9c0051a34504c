// Package cases describes runs of package chaos as data: the workloads, the engines and the plan of faults.
package cases

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"pulley/chaos/fault"
	"pulley/engine/backend/designs"
	"pulley/engine/graph"
)

// Case is a run as data.
type Case struct {
	Why       string        `json:"why,omitempty"` // what it showed
	Workloads []Workload    `json:"workloads"`     // instances take them in turn
	Backend   string        `json:"backend"`       // as designs.Parse reads it
	Seed      uint64        `json:"seed"`          // of the plan and of the processes' randomness
	Engines   int           `json:"engines"`
	Server    string        `json:"server,omitempty"`
	Hosts     string        `json:"hosts,omitempty"`
	InFlight  int           `json:"in_flight"` // open instances
	Cancel    int           `json:"cancel"`    // one of so many instances is cancelled while it runs; zero: none
	Faults    []fault.Fault `json:"faults"`

	// RatePerS is how many instances are submitted per second, evenly, with at most InFlight open. KneeShare sets the rate to a
	// share of the highest rate that a search at the begin of the run reaches. If both are zero, the end of an instance triggers
	// the next submission.
	RatePerS  float64 `json:"rate_per_s,omitempty"`
	KneeShare float64 `json:"knee_share,omitempty"`

	EveryMS   int `json:"every_ms,omitempty"`  // minimum from a fault's begin to the next one's, before the first and after the last
	Instances int `json:"instances,omitempty"` // the load ends after so many have ended
	LastMS    int `json:"last_ms,omitempty"`   // minimum duration of the load
	Slots     int `json:"slots,omitempty"`     // actions that an engine executes at once; zero: 16

	// LimitConcurrency is how many attempts of all actions together may run at once, over all engines, and LimitRate how many may
	// start in a period, such as 100/s. Zero and empty: there is no such limit.
	LimitConcurrency int    `json:"limit_concurrency,omitempty"`
	LimitRate        string `json:"limit_rate,omitempty"`

	// Priorities gives instances the priorities from 0 to this one, in turn. Zero: all have 0.
	Priorities int `json:"priorities,omitempty"`

	Fair bool `json:"fair,omitempty"` // workflows take turns, and instances

	// WithinMS is when the plan ends: faults that have not begun by then are dropped. Zero: all are applied.
	WithinMS int `json:"within_ms,omitempty"`

	// Soak samples what may grow, removes ended instances and keeps only some instances in the history.
	Soak bool `json:"soak,omitempty"`

	LeaseMS    int `json:"lease_ms"`    // of tasks, and of shards that have owners
	SweepMS    int `json:"sweep_ms"`    // maximum between two sweeps
	CallMS     int `json:"call_ms"`     // timeout of a store call
	MessagesMS int `json:"messages_ms"` // how much longer exhaustive faults continue, until they were at every message; -1: they need not be
}

// The servers that a case can ask for.
const (
	ServerAny    = "" // from local binaries; else in a container; else from a download
	ServerDocker = "docker"
)

// Where engines run.
const (
	HostsNone   = "" // as children of the run's process
	HostsDocker = "docker"
)

const (
	enginesMax   = 64
	inFlightMax  = 10_000
	instancesMax = 10_000_000
	faultsMax    = 100_000
	slotsDefault = 16
	lastMax      = 7 * 24 * 3_600_000

	slotsMax = 1000
	rateMax  = 1_000_000 // instances per second
)

// WithDefaults fills in zero fields: two engines, eight instances in flight, a lease of 2 s, sweeps every 500 ms, calls of at
// most 2 s, five minutes more for exhaustive faults.
func (c Case) WithDefaults() Case {
	c.Engines = cmp.Or(c.Engines, 2)
	c.InFlight = cmp.Or(c.InFlight, 8)
	c.LeaseMS = cmp.Or(c.LeaseMS, 2000)
	c.SweepMS = cmp.Or(c.SweepMS, 500)
	c.CallMS = cmp.Or(c.CallMS, 2000)
	c.Slots = cmp.Or(c.Slots, slotsDefault)
	c.MessagesMS = cmp.Or(c.MessagesMS, 300_000)
	return c
}

// Lease is the lease of tasks and shards.
func (c Case) Lease() time.Duration { return time.Duration(c.LeaseMS) * time.Millisecond }

// Sweep is the maximum time between two sweeps.
func (c Case) Sweep() time.Duration { return time.Duration(c.SweepMS) * time.Millisecond }

// Every is the minimum time from a fault's begin to the next one's.
func (c Case) Every() time.Duration { return time.Duration(c.EveryMS) * time.Millisecond }

// Call is the timeout of a store call.
func (c Case) Call() time.Duration { return time.Duration(c.CallMS) * time.Millisecond }

// Takeover is how long the end of an engine may keep its work from others.
func (c Case) Takeover() time.Duration { return c.Lease() + 2*c.Sweep() }

// Timing is what faults' durations are drawn from.
func (c Case) Timing() fault.Timing { return fault.Timing{Lease: c.Lease(), Call: c.Call()} }

// Validate names all mistakes of a case with defaults.
func (c Case) Validate() error {
	var errs []error
	within := func(name string, n, least, most int) {
		if n < least || n > most {
			errs = append(errs, fmt.Errorf("%s is %d, must be from %d to %d", name, n, least, most))
		}
	}
	within("engines", c.Engines, 1, enginesMax)
	within("in_flight", c.InFlight, 1, inFlightMax)
	within("cancel", c.Cancel, 0, inFlightMax)
	within("faults", len(c.Faults), 0, faultsMax)
	within("lease_ms", c.LeaseMS, 100, 3_600_000)
	within("sweep_ms", c.SweepMS, 1, 3_600_000)
	within("every_ms", c.EveryMS, 0, 3_600_000)
	within("within_ms", c.WithinMS, 0, lastMax)
	within("last_ms", c.LastMS, 0, lastMax)
	within("instances", c.Instances, 0, instancesMax)
	within("slots", c.Slots, 1, slotsMax)
	within("priorities", c.Priorities, 0, graph.PriorityMax)
	if c.Soak && (c.Engines < 2 || c.LastMS < SoakLeastMS) {
		errs = append(errs, fmt.Errorf("a soak has %d engines for %d ms; it needs 2, one of them for the whole run, and %d ms", c.Engines, c.LastMS, SoakLeastMS))
	}
	if c.RatePerS < 0 || c.RatePerS > rateMax {
		errs = append(errs, fmt.Errorf("rate_per_s is %v, must be from 0 to %d", c.RatePerS, rateMax))
	}
	within("call_ms", c.CallMS, 1, 3_600_000)
	if c.KneeShare < 0 || c.KneeShare > 1 || c.KneeShare > 0 && c.RatePerS > 0 {
		errs = append(errs, fmt.Errorf("knee_share is %v with a rate_per_s of %v, must be from 0 to 1, and one of them 0", c.KneeShare, c.RatePerS))
	}
	within("messages_ms", c.MessagesMS, -1, 24*3_600_000)
	if c.Server != ServerAny && c.Server != ServerDocker {
		errs = append(errs, fmt.Errorf("server is %q; write %q, or nothing for any", c.Server, ServerDocker))
	}
	if c.Hosts != HostsNone && c.Hosts != HostsDocker {
		errs = append(errs, fmt.Errorf("hosts is %q; write %q, or nothing for none", c.Hosts, HostsDocker))
	}
	if _, err := c.Spec(); err != nil {
		errs = append(errs, err)
	}
	if _, err := c.Build(true); err != nil {
		errs = append(errs, err)
	} else {
		errs = append(errs, c.validateOrder())
	}
	for i, f := range c.Faults {
		if _, err := fault.Find(f.Kind); err != nil {
			errs = append(errs, fmt.Errorf("fault %d: %w", i+1, err))
		} else if f.Engine < 0 || f.Engine >= c.Engines {
			errs = append(errs, fmt.Errorf("fault %d hits engine %d of %d; they are numbered from 0", i+1, f.Engine, c.Engines))
		}
	}
	return errors.Join(errs...)
}

// Spec is the backend. It must be durable, because nothing can be learned about others.
func (c Case) Spec() (designs.Spec, error) {
	spec, err := designs.Parse(c.Backend)
	if err == nil && !spec.NeedsPostgres() {
		err = fmt.Errorf("backend %s keeps nothing over a crash; name one that is on Postgres", c.Backend)
	}
	return spec, err
}

// Load reads a case from a file.
func Load(file string) (Case, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return Case{}, err
	}
	var c Case
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return Case{}, fmt.Errorf("%s is no case: %w", file, err)
	}
	c = c.WithDefaults()
	if err := c.Validate(); err != nil {
		return Case{}, fmt.Errorf("%s: %w", file, err)
	}
	return c, nil
}

// Save writes a case to a file and creates its folder.
func (c Case) Save(file string) error {
	text, err := json.MarshalIndent(c, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return err
	}
	return os.WriteFile(file, append(text, '\n'), 0o644)
}
