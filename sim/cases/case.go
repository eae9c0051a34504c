package cases

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"

	"pulley/engine/ir/programs"
	"pulley/scenarios"
)

// Case is a world with everything that it needs: what was drawn is here, and Seed decides only what nobody would write
// down, such as how long a message takes.
type Case struct {
	Why     string `json:"why,omitempty"` // what it shows, or what went wrong
	Backend string `json:"backend"`
	Bug     string `json:"bug,omitempty"` // that is planted
	Seed    uint64 `json:"seed"`
	programs.Program

	// Graph is run instead of what the source compiles to, which makes all of its calls and comes to its end; nil: it is not.
	Graph json.RawMessage `json:"graph,omitempty"`
	// Scenario describes the program's actions, as text; nil: they need no description.
	Scenario *scenarios.Bundle `json:"scenario,omitempty"`
	// Answers are what the program's actions come to, of a program whose actions are not run; nil: they are.
	Answers []scenarios.Answer `json:"answers,omitempty"`

	Shards     int `json:"shards"`
	Engines    int `json:"engines"`
	Slots      int `json:"slots"`
	Prefetch   int `json:"prefetch,omitempty"`
	Batch      int `json:"batch"`
	Committers int `json:"committers"`

	LeaseUS               int64 `json:"lease_us"`
	PollUS                int64 `json:"poll_us"`
	SweepUS               int64 `json:"sweep_us"`
	LatencyUS             int64 `json:"latency_us"`         // of a message, in the mean
	ServiceUS             int64 `json:"service_us"`         // of an action, in the mean
	EvictAfterUS          int64 `json:"park_us,omitempty"`  // of the journal
	CommitSlotRetentionUS int64 `json:"marks_us,omitempty"` // that push keeps commit slots; zero: 12 leases
	Grain                 int   `json:"grain"`              // others may go first at one in so many steps of a statement; zero: never

	Arrivals []Arrival `json:"arrivals"`
	Faults   []Fault   `json:"faults,omitempty"`
}

// Arrival is an instance that a client wants to have run.
type Arrival struct {
	AtUS     int64 `json:"at_us"` // -1: when all before have ended, as long as there are faults to come
	Engine   int   `json:"engine"`
	CancelUS int64 `json:"cancel_us,omitempty"` // after its arrival; zero: nobody cancels it
}

// Fault befalls something when so many things have happened. One that finds nothing to befall does not happen.
type Fault struct {
	Kind   Kind  `json:"kind"`
	After  int   `json:"after"`            // things that happened before
	Target int   `json:"who,omitempty"`    // engine, or connection among those that there are
	ForUS  int64 `json:"for_us,omitempty"` // until it is over
	By     int64 `json:"by,omitempty"`     // how much: a clock's jump in µs, or its drift in parts of a million
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

// Validate says what is wrong with a case.
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
