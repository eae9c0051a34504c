package cases

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"pulley/engine/ir/programs"
	"pulley/scenarios"
)

// Case describes a world completely. Seed decides only what a case does not describe, such as how long a message takes.
type Case struct {
	Why     string `json:"why,omitempty"` // what it shows, or what went wrong
	Backend string `json:"backend"`
	Bug     string `json:"bug,omitempty"` // the planted bug
	Seed    uint64 `json:"seed"`
	programs.Program

	// Graph runs instead of the compiled source. The source makes all calls of the graph and has the same end. Nil: the source
	// runs.
	Graph json.RawMessage `json:"graph,omitempty"`
	// Scenario describes the program's actions, as text; nil: not needed.
	Scenario *scenarios.Bundle `json:"scenario,omitempty"`
	// Answers are recorded results of the program's actions; nil: the actions are executed.
	Answers []scenarios.Answer `json:"answers,omitempty"`

	Shards     int `json:"shards"`
	Engines    int `json:"engines"`
	Slots      int `json:"slots"`
	Prefetch   int `json:"prefetch,omitempty"`
	Batch      int `json:"batch"`
	Committers int `json:"committers"`

	Fair bool `json:"fair,omitempty"` // workflows and instances take turns

	LeaseUS               int64 `json:"lease_us"`
	PollUS                int64 `json:"poll_us"`
	SweepUS               int64 `json:"sweep_us"`
	LatencyUS             int64 `json:"latency_us"` // mean, of a message
	ServiceUS             int64 `json:"service_us"` // mean, of an action
	EvictAfterUS          int64 `json:"park_us,omitempty"`
	CommitSlotRetentionUS int64 `json:"marks_us,omitempty"` // of push; zero: 12 leases
	Grain                 int   `json:"grain"`              // a statement yields at one in so many steps; zero: never

	Arrivals []Arrival `json:"arrivals"`
	Faults   []Fault   `json:"faults,omitempty"`
}

// Arrival is an instance that a client submits.
type Arrival struct {
	AtUS     int64 `json:"at_us"` // -1: when all earlier ones have ended, while there are faults to come
	Engine   int   `json:"engine"`
	CancelUS int64 `json:"cancel_us,omitempty"` // after its arrival; zero: never
}

// Fault is applied after a number of steps. If it finds no target, it is skipped.
type Fault struct {
	Kind   Kind  `json:"kind"`
	After  int   `json:"after"`         // steps before it
	Target int   `json:"who,omitempty"` // number of an engine, or of an open connection
	ForUS  int64 `json:"for_us,omitempty"`
	By     int64 `json:"by,omitempty"` // a clock's jump in µs, or its drift in parts per million
}

// Load reads a case.
func Load(file string) (Case, error) {
	var c Case
	text, err := os.ReadFile(file)
	if err != nil {
		return c, err
	}
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return c, fmt.Errorf("case %s: %w", file, err)
	}
	return c, c.Validate()
}

// Save writes a case.
func (c Case) Save(file string) error {
	var text bytes.Buffer
	e := json.NewEncoder(&text)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(c); err != nil {
		return err
	}
	return os.WriteFile(file, text.Bytes(), 0o644)
}

// Validate checks the case's fields.
func (c Case) Validate() error {
	for name, value := range map[string]int64{
		"shards": int64(c.Shards), "engines": int64(c.Engines), "slots": int64(c.Slots), "batch": int64(c.Batch),
		"committers": int64(c.Committers), "poll_us": c.PollUS, "sweep_us": c.SweepUS, "latency_us": c.LatencyUS, "service_us": c.ServiceUS,
	} {
		if value < 1 {
			return fmt.Errorf("cases: %s is %d, must be at least 1", name, value)
		}
	}
	if c.LeaseUS < 3000 {
		return fmt.Errorf("cases: lease_us is %d, must be at least 3000", c.LeaseUS)
	}
	for i, a := range c.Arrivals {
		if a.Engine < 0 || a.Engine >= c.Engines || a.AtUS < -1 || i == 0 && a.AtUS < 0 {
			return fmt.Errorf("cases: arrival %d is at engine %d of %d after %d µs", i, a.Engine, c.Engines, a.AtUS)
		}
	}
	for i, f := range c.Faults {
		if f.Kind == "" || f.Target < 0 || f.After < 0 {
			return fmt.Errorf("cases: fault %d is a %q of %d after %d", i, f.Kind, f.Target, f.After)
		}
	}
	return nil
}
