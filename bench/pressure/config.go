package pressure

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Config says what presses. The zero value is no pressure.
type Config struct {
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
	// Sleepers is how many instances are stored before the run that sleep for hours.
	Sleepers int
}

// Bounds of a Config.
const (
	ReadersMost     = 64
	ConnectionsMost = 1000
	RoundTripMost   = 10 * time.Second
	SleepersMost    = 10_000_000
	readEvery       = 100 * time.Millisecond
)

// None says whether nothing presses.
func (c Config) None() bool { return c == Config{} || c == Config{ReadEvery: c.ReadEvery} }

// Validate says all that is wrong, a line each.
func (c Config) Validate() error {
	var errs []error
	within := func(what string, n, most int) {
		if n < 0 || n > most {
			errs = append(errs, fmt.Errorf("%s is %d; choose from 0 to %d", what, n, most))
		}
	}
	within("readers", c.Readers, ReadersMost)
	within("sleepers", c.Sleepers, SleepersMost)
	if c.Connections != 0 && (c.Connections < 2 || c.Connections > ConnectionsMost) {
		errs = append(errs, fmt.Errorf("connections is %d; choose from 2 to %d, or 0 for the backend's own number", c.Connections, ConnectionsMost))
	}
	if c.RoundTrip < 0 || c.RoundTrip > RoundTripMost {
		errs = append(errs, fmt.Errorf("round_trip is %v; choose up to %v", c.RoundTrip, RoundTripMost))
	}
	if c.ReadEvery < 0 || c.ReadEvery > time.Hour {
		errs = append(errs, fmt.Errorf("read_every is %v; choose up to an hour", c.ReadEvery))
	}
	return errors.Join(errs...)
}

// String says what presses, in words.
func (c Config) String() string {
	var parts []string
	add := func(there bool, format string, args ...any) {
		if there {
			parts = append(parts, fmt.Sprintf(format, args...))
		}
	}
	add(c.HeldTransaction, "a transaction held open")
	add(c.Readers > 0, "%d readers", c.Readers)
	add(c.Connections > 0, "a pool of %d connections", c.Connections)
	add(c.RoundTrip > 0, "round trips %v longer", c.RoundTrip)
	add(c.Sleepers > 0, "%d instances that sleep", c.Sleepers)
	if len(parts) == 0 {
		return "none"
	}
	return strings.Join(parts, ", ")
}
