package trial

import (
	"bytes"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"pulley/adapter/protocol"
	"pulley/chaos/fault"
	"pulley/engine/pgserver"
)

// Case is a run as data: what is needed to repeat it.
type Case struct {
	Command   []string            `json:"command"`            // the adapter's program and its arguments
	Settings  map[string]string   `json:"settings,omitempty"` // given ones; the adapter has defaults
	Workloads []protocol.Workload `json:"workloads"`          // at least one; instances take them in turn

	Processes int `json:"processes,omitempty"` // of the adapter. Zero: 3
	Slots     int `json:"slots,omitempty"`     // tasks at once of each. Zero: 4
	InFlight  int `json:"in_flight,omitempty"` // instances. Zero: 24

	Seed       uint64        `json:"seed"`
	Faults     []fault.Fault `json:"faults"`                // in their order; empty: none
	Kinds      []string      `json:"kinds,omitempty"`       // of faults that [Run] draws once the promises are known, instead of Faults; empty: none
	LastMS     int64         `json:"last_ms"`               // how long the load lasts at least
	QuietMS    int64         `json:"quiet_ms,omitempty"`    // before the first fault and after the last, for so long each, what tasks cost is measured. Zero: it is not
	WithinMS   int64         `json:"within_ms,omitempty"`   // no fault begins later than this. Zero: all begin
	ExhaustMS  int64         `json:"exhaust_ms,omitempty"`  // bounds the exhaustive faults after the others. Zero: there are none
	RecoversMS int64         `json:"recovers_ms,omitempty"` // the promise to recover, if the adapter has none. Zero: 10 s
}

// Defaults of a Case.
const (
	ProcessesDefault = 3
	SlotsDefault     = 4
	InFlightDefault  = 24
	recoversDefault  = 10 * time.Second
)

func (c Case) withDefaults() Case {
	c.Processes = cmp.Or(c.Processes, ProcessesDefault)
	c.Slots = cmp.Or(c.Slots, SlotsDefault)
	c.InFlight = cmp.Or(c.InFlight, InFlightDefault)
	return c
}

// Bounds of a Case.
const (
	processesMax = 32
	slotsMax     = 1000
	inFlightMax  = 100_000
)

// Validate returns all mistakes of the case, one per line.
func (c Case) Validate() error {
	c = c.withDefaults()
	var errs []error
	in := func(name string, n, most int) {
		if n < 1 || n > most {
			errs = append(errs, fmt.Errorf("%s is %d; choose from 1 to %d", name, n, most))
		}
	}
	in("the number of processes", c.Processes, processesMax)
	in("the number of slots", c.Slots, slotsMax)
	in("the number of instances in flight", c.InFlight, inFlightMax)
	if c.QuietMS < 0 {
		errs = append(errs, fmt.Errorf("the quiet time is %d ms; give zero or more", c.QuietMS))
	}
	if len(c.Command) == 0 {
		errs = append(errs, errors.New("there is no adapter; name its program"))
	}
	if len(c.Workloads) == 0 {
		errs = append(errs, errors.New("there is no workload; name one"))
	}
	for i := range c.Workloads {
		errs = append(errs, c.Workloads[i].Validate())
	}
	if len(c.Kinds) > 0 && len(c.Faults) > 0 {
		errs = append(errs, errors.New("the case has faults, and kinds to draw some from; leave one out"))
	}
	for _, name := range c.Kinds {
		if _, err := fault.Find(name); err != nil {
			errs = append(errs, err)
		}
	}
	for _, f := range c.Faults {
		kind, err := fault.Find(f.Kind)
		switch {
		case err != nil:
			errs = append(errs, err)
		case kind.Cooperates:
			errs = append(errs, fmt.Errorf("fault %s needs the help of the process, which an adapter does not give", f.Kind))
		case f.Engine < 0 || f.Engine >= c.Processes:
			errs = append(errs, fmt.Errorf("fault %s hits process %d of %d", f.Kind, f.Engine, c.Processes))
		}
	}
	return errors.Join(errs...)
}

// Kinds lists the kinds of faults that may hit an adapter's processes: those that need no help from them, and no world but
// processes and a server. Exhaustive kinds are not among them.
func Kinds() []fault.Kind {
	w := &world{server: new(pgserver.Server)}
	return slices.DeleteFunc(fault.Kinds(), func(k fault.Kind) bool {
		return k.Cooperates || k.Exhaustive() || k.Lacks != nil && k.Lacks(w) != ""
	})
}

// telling are kinds that show most bugs. A plan begins with one of each, so that a short run has them.
var telling = []string{"process.kill", "wire.commits", "postgres.terminate", "process.pause"}

// Draw makes a plan of faults from a seed: the kinds in turns, in random order, as many as fit into the time if each is short.
// recovers is the promise to recover; zero: there is none, and faults last as long as with the default of Case.RecoversMS.
func Draw(seed uint64, kinds []fault.Kind, processes int, last time.Duration, recovers time.Duration) []fault.Fault {
	recovers = cmp.Or(recovers, recoversDefault)
	t := fault.Timing{Lease: recovers, Call: recovers}
	n := max(len(kinds), int(last/spacing(recovers)))
	plan := fault.Draw(seed, kinds, n, processes, t)
	first := map[int]bool{} // places of the first fault of each telling kind
	for _, name := range telling {
		if i := slices.IndexFunc(plan, func(f fault.Fault) bool { return f.Kind == name }); i >= 0 {
			first[i] = true
		}
	}
	var front, rest []fault.Fault
	for i, f := range plan {
		if first[i] {
			front = append(front, f)
		} else {
			rest = append(rest, f)
		}
	}
	return slices.Concat(front, rest)
}

// spacing is how long a fault and the work after it take at least.
func spacing(recovers time.Duration) time.Duration { return max(recovers/2, 500*time.Millisecond) }

// Load reads a case from a file, and validates it.
func Load(file string) (Case, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return Case{}, err
	}
	var c Case
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	if err := d.Decode(&c); err != nil {
		return Case{}, fmt.Errorf("%s is no case of a system: %w", file, err)
	}
	if err := c.Validate(); err != nil {
		return Case{}, fmt.Errorf("%s: %w", file, err)
	}
	return c, nil
}
