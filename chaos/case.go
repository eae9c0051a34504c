package chaos

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"

	"pulley/bench"
	"pulley/chaos/fault"
	"pulley/scenarios"
)

// Workload is a scenario in a size.
type Workload struct {
	Scenario string `json:"scenario"`
	Size     int    `json:"size,omitempty"` // zero: the scenario's smallest default
}

// Case is a run as data.
type Case struct {
	Why       string        `json:"why,omitempty"` // what it showed
	Workloads []Workload    `json:"workloads"`     // instances take them in turn
	Backend   string        `json:"backend"`       // as bench.ParseBackend reads it
	Seed      uint64        `json:"seed"`          // of the plan, and of what the processes draw
	Engines   int           `json:"engines"`       // processes
	InFlight  int           `json:"in_flight"`     // instances at once
	Faults    []fault.Fault `json:"faults"`        // the plan, in order

	LeaseMS int `json:"lease_ms"` // of tasks, and of shards where they have owners
	SweepMS int `json:"sweep_ms"` // the longest between two looks for work, or for what ended instances left
	CallMS  int `json:"call_ms"`  // the longest call of the store
}

// Bounds of a case.
const (
	enginesMost  = 64
	inFlightMost = 10_000
	faultsMost   = 100_000
)

// WithDefaults fills in what is zero: two engines, eight instances in flight, a lease of 2 s, sweeps every
// 500 ms, calls of at most 2 s.
func (c Case) WithDefaults() Case {
	number := func(field *int, zero int) {
		if *field == 0 {
			*field = zero
		}
	}
	number(&c.Engines, 2)
	number(&c.InFlight, 8)
	number(&c.LeaseMS, 2000)
	number(&c.SweepMS, 500)
	number(&c.CallMS, 2000)
	return c
}

func (c Case) lease() time.Duration { return time.Duration(c.LeaseMS) * time.Millisecond }
func (c Case) sweep() time.Duration { return time.Duration(c.SweepMS) * time.Millisecond }
func (c Case) call() time.Duration  { return time.Duration(c.CallMS) * time.Millisecond }

// Timing is what faults are drawn by.
func (c Case) Timing() fault.Timing { return fault.Timing{Lease: c.lease(), Call: c.call()} }

// Validate says all that is wrong with a case that has its defaults.
func (c Case) Validate() error {
	var errs []error
	within := func(name string, n, least, most int) {
		if n < least || n > most {
			errs = append(errs, fmt.Errorf("%s is %d, must be from %d to %d", name, n, least, most))
		}
	}
	within("engines", c.Engines, 1, enginesMost)
	within("in_flight", c.InFlight, 1, inFlightMost)
	within("faults", len(c.Faults), 0, faultsMost)
	within("lease_ms", c.LeaseMS, 100, 3_600_000)
	within("sweep_ms", c.SweepMS, 1, 3_600_000)
	within("call_ms", c.CallMS, 1, 3_600_000)
	if _, err := c.spec(); err != nil {
		errs = append(errs, err)
	}
	if _, err := c.build(); err != nil {
		errs = append(errs, err)
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

// spec is the backend, which must be durable: there is nothing to be found out about another.
func (c Case) spec() (bench.BackendSpec, error) {
	spec, err := bench.ParseBackend(c.Backend)
	if err == nil && !spec.NeedsPostgres() {
		err = fmt.Errorf("backend %s keeps nothing over a crash; name one that is on Postgres", c.Backend)
	}
	return spec, err
}

// build makes the workloads.
func (c Case) build() ([]scenarios.Workload, error) {
	if len(c.Workloads) == 0 {
		return nil, errors.New("no workload; name a scenario")
	}
	var out []scenarios.Workload
	for _, l := range c.Workloads {
		s, err := scenarios.Find(l.Scenario)
		if err != nil {
			return nil, err
		}
		size := l.Size
		if size == 0 {
			size = s.DefaultSizes[0]
		}
		w, err := s.Build(size, scenarios.Options{Seed: 1})
		if err != nil {
			return nil, err
		}
		if w.Source == "" {
			return nil, fmt.Errorf("scenario %s is a graph without a program, so that there is no reference to hold it against; choose another", w.Name)
		}
		out = append(out, w)
	}
	return out, nil
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

// Save writes a case, and makes the folder.
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
