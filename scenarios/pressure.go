package scenarios

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"pulley/scenarios/dist"
)

// Pressure is production's additional burden on a store, which package bench/pressure applies. The zero value is none.
type Pressure struct {
	// HeldTransaction holds a transaction open from before the run until after it. Its snapshot keeps the server from removing
	// any row version of the run.
	HeldTransaction bool
	// Readers is the number of sessions that read all tables of the store, every ReadEvery, each in its own transaction.
	Readers int
	// zero: 100 ms
	ReadEvery time.Duration
	// bounds the engine's pool; zero: the backend's default
	Connections int
	// added to each round trip between engine and server
	RoundTrip time.Duration
	// Relayed uses RoundTrip's relay even if RoundTrip is zero: the baseline for a RoundTrip, which then includes the relay's
	// own cost.
	Relayed bool
	// Sleepers is the number of instances stored before the run that sleep for hours.
	Sleepers int
	// Payload is the size in bytes, as JSON, of results of the scenario's own actions without a described size. Nil: results
	// stay small. Options.Undisturbed ignores it.
	Payload *dist.Law
}

// Bounds of a Pressure.
const (
	readersMax     = 64
	connectionsMax = 1000
	roundTripMax   = 10 * time.Second
	sleepersMax    = 10_000_000
)

// None reports whether there is no pressure.
func (p Pressure) None() bool { return p == Pressure{} || p == Pressure{ReadEvery: p.ReadEvery} }

// OnStore reports whether the pressure concerns the store itself.
func (p Pressure) OnStore() bool {
	p.Payload = nil
	return !p.None()
}

// Validate returns all mistakes, one per line.
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

// String describes the pressure.
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
