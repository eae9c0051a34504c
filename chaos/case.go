package chaos

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"pulley/chaos/fault"
	"pulley/engine/backend/designs"
	"pulley/engine/ir"
	"pulley/scenarios"
)

// Workload is a scenario in a size, or one of scenarios.Programs, which have none.
type Workload struct {
	Scenario string            `json:"scenario"`
	Size     int               `json:"size,omitempty"` // zero: the scenario's smallest default
	Set      map[string]string `json:"set,omitempty"`  // parameters of the scenario, with other values

	// Bundle is the text of a scenario that does not ship: a case can be run again when the scenario's files have changed.
	Bundle *scenarios.Bundle `json:"bundle,omitempty"`
}

// Case is a run as data.
type Case struct {
	Why       string        `json:"why,omitempty"`    // what it showed
	Workloads []Workload    `json:"workloads"`        // instances take them in turn
	Backend   string        `json:"backend"`          // as designs.Parse reads it
	Seed      uint64        `json:"seed"`             // of the plan, and of what the processes draw
	Engines   int           `json:"engines"`          // processes
	Server    string        `json:"server,omitempty"` // ServerAny or ServerDocker
	Hosts     string        `json:"hosts,omitempty"`  // HostsNone or HostsDocker
	InFlight  int           `json:"in_flight"`        // instances at once
	Cancel    int           `json:"cancel"`           // of so many instances one is canceled while it runs; zero: none is
	Faults    []fault.Fault `json:"faults"`           // the plan, in order

	// RatePerS is how many instances are submitted in a second, evenly, with InFlight as the most that are open.
	// KneeShare has it be that share of the highest rate that was reached at the run's begin, when that had been
	// looked for. Without either, whenever one ends, the next is submitted.
	RatePerS  float64 `json:"rate_per_s,omitempty"`
	KneeShare float64 `json:"knee_share,omitempty"`

	EveryMS   int `json:"every_ms,omitempty"`  // from a fault's begin to the next one's at least, and before the first and after the last
	Instances int `json:"instances,omitempty"` // so many have ended before the load ends
	LastMS    int `json:"last_ms,omitempty"`   // how long the load goes on at least
	Slots     int `json:"slots,omitempty"`     // actions that an engine runs at once; zero: 16

	// Soak has what may grow looked at all the while, ended instances removed, and only some of the instances kept in
	// the history.
	Soak bool `json:"soak,omitempty"`

	LeaseMS    int `json:"lease_ms"`    // of tasks, and of shards where they have owners
	SweepMS    int `json:"sweep_ms"`    // the longest between two looks for work, or for what ended instances left
	CallMS     int `json:"call_ms"`     // the longest call of the store
	MessagesMS int `json:"messages_ms"` // how much longer faults go on that go from message to message, until they were at all; -1: they need not be
}

// Bounds of a case.
const (
	enginesMost   = 64
	inFlightMost  = 10_000
	instancesMost = 10_000_000
	faultsMost    = 100_000
	slotsDefault  = 16
	lastMost      = 7 * 24 * 3_600_000
	soakLeastMS   = 10_000
	slotsMost     = 1000
	rateMost      = 1_000_000 // instances in a second
)

// WithDefaults fills in what is zero: two engines, eight instances in flight, a lease of 2 s, sweeps every
// 500 ms, calls of at most 2 s, five minutes for going to every message.
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
	number(&c.Slots, slotsDefault)
	number(&c.MessagesMS, 300_000)
	return c
}

func (c Case) lease() time.Duration { return time.Duration(c.LeaseMS) * time.Millisecond }
func (c Case) sweep() time.Duration { return time.Duration(c.SweepMS) * time.Millisecond }
func (c Case) every() time.Duration { return time.Duration(c.EveryMS) * time.Millisecond }
func (c Case) call() time.Duration  { return time.Duration(c.CallMS) * time.Millisecond }

// takeover is how long an engine's end may keep its work from others.
func (c Case) takeover() time.Duration { return c.lease() + 2*c.sweep() }

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
	within("cancel", c.Cancel, 0, inFlightMost)
	within("faults", len(c.Faults), 0, faultsMost)
	within("lease_ms", c.LeaseMS, 100, 3_600_000)
	within("sweep_ms", c.SweepMS, 1, 3_600_000)
	within("every_ms", c.EveryMS, 0, 3_600_000)
	within("last_ms", c.LastMS, 0, lastMost)
	within("instances", c.Instances, 0, instancesMost)
	within("slots", c.Slots, 1, slotsMost)
	if c.Soak && (c.Engines < 2 || c.LastMS < soakLeastMS) {
		errs = append(errs, fmt.Errorf("a soak has %d engines for %d ms; it needs 2, of which one lives long, and %d ms", c.Engines, c.LastMS, soakLeastMS))
	}
	if c.RatePerS < 0 || c.RatePerS > rateMost {
		errs = append(errs, fmt.Errorf("rate_per_s is %v, must be from 0 to %d", c.RatePerS, rateMost))
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
	if _, err := c.spec(); err != nil {
		errs = append(errs, err)
	}
	if _, err := c.build(true); err != nil {
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
func (c Case) spec() (designs.Spec, error) {
	spec, err := designs.Parse(c.Backend)
	if err == nil && !spec.NeedsPostgres() {
		err = fmt.Errorf("backend %s keeps nothing over a crash; name one that is on Postgres", c.Backend)
	}
	return spec, err
}

// streams are what the instances of a case run: each of several mixes in turn.
type streams struct {
	mixes     []*scenarios.Mix
	first     []int                // of each mix, where its workloads begin among all
	workloads []scenarios.Workload // of all mixes
}

// of gives the i-th instance's workload, by its place among all.
func (s *streams) of(i int) int {
	m := i % len(s.mixes)
	order := s.mixes[m].Order
	return s.first[m] + order[i/len(s.mixes)%len(order)]
}

// build makes the workloads. Whoever only runs them needs no judgment.
func (c Case) build(unjudged bool) (*streams, error) {
	if len(c.Workloads) == 0 {
		return nil, errors.New("no workload; name a scenario")
	}
	s := &streams{}
	for _, l := range c.Workloads {
		m, err := l.build(unjudged)
		if err != nil {
			return nil, err
		}
		for i := range m.Workloads {
			if err := l.judgeable(&m.Workloads[i], timeoutLeases*c.lease()); err != nil {
				return nil, err
			}
		}
		s.mixes, s.first = append(s.mixes, m), append(s.first, len(s.workloads))
		s.workloads = append(s.workloads, m.Workloads...)
	}
	return s, nil
}

// timeoutLeases is how many leases a timeout lasts at least that no process stands still for.
const timeoutLeases = 10

// judgeable refuses a workload of which nobody knows what is right while things go wrong. Timeouts of a scenario that does
// not ship last so long at least.
func (l Workload) judgeable(w *scenarios.Workload, timeout time.Duration) error {
	switch {
	case w.Source == "":
		return fmt.Errorf("scenario %s is a graph without a program, so that there is no reference to hold it against; choose another", w.Name)
	case w.Unchecked.Results:
		return fmt.Errorf("scenario %s says that results are not checked, and here they are what is judged; choose another", w.Name)
	}
	for _, n := range w.Graph.Nodes {
		if n.Timeout > 0 && n.Timeout < timeout && l.Bundle != nil {
			return fmt.Errorf("%s: @%s has a timeout of %v, which may pass while processes stand still, and how the instance ends then is not known beforehand; give it %v or more, or leave it out", n.Pos, n.Action, n.Timeout, timeout)
		}
	}
	return nil
}

// name is the scenario as a person names it.
func (l Workload) name() string {
	if l.Size > 0 {
		return fmt.Sprintf("%s=%d", l.Scenario, l.Size)
	}
	return l.Scenario
}

func (l Workload) build(unjudged bool) (*scenarios.Mix, error) {
	var s scenarios.Scenario
	var err error
	if l.Bundle != nil {
		s, err = scenarios.FromBundle(*l.Bundle)
	} else if s, err = scenarios.Find(l.Scenario); err != nil {
		return l.program(err)
	}
	if err != nil {
		return nil, err
	}
	size := l.Size
	if size == 0 {
		size = s.DefaultSizes[0]
	}
	return s.Mix(size, scenarios.Options{Seed: 1, Set: l.Set, Unjudged: unjudged})
}

// program builds the workload of one of the programs. noScenario is why it is none of a scenario.
func (l Workload) program(noScenario error) (*scenarios.Mix, error) {
	list, err := scenarios.Programs()
	if err != nil {
		return nil, err
	}
	i := slices.IndexFunc(list, func(p scenarios.Program) bool { return p.Name == l.Scenario })
	switch {
	case i < 0:
		return nil, fmt.Errorf("%w; nor is there such a program in scenarios/programs", noScenario)
	case l.Size != 0 || len(l.Set) > 0:
		return nil, fmt.Errorf("%s is a program, which has no size and no parameters", l.Scenario)
	}
	w, err := list[i].Workload(ir.Limits{})
	return scenarios.Alone(w), err
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
