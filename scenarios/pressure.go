package scenarios

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"pulley/scenarios/dist"
)

// Pressure is what production puts on a store beside the load. The zero value is none. It is brought about by package
// bench/pressure.
type Pressure struct {
	// HeldTransaction holds a transaction open from before the run to after it. It sees the tables as they were, so that
	// the server can remove no row version that the run leaves behind.
	HeldTransaction bool
	// Readers is how many sessions read all tables of the store whole, every ReadEvery, each in a transaction of its own.
	Readers int
	// ReadEvery is the time from one reading to the next. Zero: 100 ms.
	ReadEvery time.Duration
	// Connections bounds the engine's pool. Zero: the backend's own number.
	Connections int
	// RoundTrip is the time that a round trip between engine and server takes longer.
	RoundTrip time.Duration
	// Relayed leads the engine through the relay that RoundTrip needs, also where that is zero. It is what a run has that
	// one with a RoundTrip is compared with, so that the relay's own work is on both sides.
	Relayed bool
	// Sleepers is how many instances are stored before the run that sleep for hours.
	Sleepers int
	// Payload is how many bytes the results of the scenario's own actions have, as JSON, of those that say nothing of it
	// themselves. Nil: results are as small as without pressure. Options.Undisturbed builds a workload without it.
	Payload *dist.Law
}

// Bounds of a Pressure.
const (
	readersMax     = 64
	connectionsMax = 1000
	roundTripMax   = 10 * time.Second
	sleepersMax    = 10_000_000
)

// None says whether nothing presses.
func (p Pressure) None() bool { return p == Pressure{} || p == Pressure{ReadEvery: p.ReadEvery} }

// OnStore says whether something presses on the store itself, which a backend without one is free of.
func (p Pressure) OnStore() bool {
	p.Payload = nil
	return !p.None()
}

// Validate says all that is wrong, a line each.
func (p Pressure) Validate() error {
	var errs []error
	within := func(what string, n, most int) {
		if n < 0 || n > most {
			errs = append(errs, fmt.Errorf("%s is %d; choose from 0 to %d", what, n, most))
		}
	}
	within("readers", p.Readers, readersMax)
	within("sleepers", p.Sleepers, sleepersMax)
	if p.Connections != 0 && (p.Connections < 2 || p.Connections > connectionsMax) {
		errs = append(errs, fmt.Errorf("connections is %d; choose from 2 to %d, or 0 for the backend's own number", p.Connections, connectionsMax))
	}
	if p.RoundTrip < 0 || p.RoundTrip > roundTripMax {
		errs = append(errs, fmt.Errorf("round_trip is %v; choose up to %v", p.RoundTrip, roundTripMax))
	}
	if p.ReadEvery < 0 || p.ReadEvery > time.Hour {
		errs = append(errs, fmt.Errorf("read_every is %v; choose up to an hour", p.ReadEvery))
	}
	return errors.Join(errs...)
}

// String says what presses, in words.
func (p Pressure) String() string {
	var parts []string
	add := func(there bool, format string, args ...any) {
		if there {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(p.HeldTransaction, "a transaction held open")
	add(p.Readers > 0, "%d readers", p.Readers)
	add(p.Connections > 0, "a pool of %d connections", p.Connections)
	add(p.RoundTrip > 0, "round trips %v longer", p.RoundTrip)
	add(p.Relayed && p.RoundTrip == 0, "a relay that delays nothing")
	add(p.Sleepers > 0, "%d instances that sleep", p.Sleepers)
	add(p.Payload != nil, "results of %v", p.Payload)
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}
