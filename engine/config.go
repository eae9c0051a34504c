package engine

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"time"

	"pulley/engine/backend"
	"pulley/engine/dispatch"
	"pulley/engine/worker"
)

// Config says what an engine works on and within which bounds. Backend and Workers must be set; every
// other field has a default that serves one machine.
type Config struct {
	Backend backend.Backend // where instances are; the caller closes it, after Done
	Workers worker.Executor // what runs actions, for example a worker.Registry

	// Owner names the engine in the store, for people. Zero: the host's name and the process id.
	Owner string

	// CheckActions refuses programs with actions that Workers does not know, at Submit. Without it such
	// an instance starts, and fails where it calls one. Zero: no check.
	CheckActions bool

	Slots    int // tasks running at once. Zero: 64. At most 100,000
	Prefetch int // tasks leased ahead, waiting for a slot. Zero: as many as Slots; negative: none. At most 500,000

	// Batch is how many completions or submissions at most share a transaction. Zero: 1,000. 1 is the
	// literal design: a transaction for each, Committers of them at a time on each shard. At most 10,000.
	Batch      int
	BatchBytes int // of results or inputs in one transaction; a larger one goes alone. Zero: 4 MiB. At most 1 GiB
	Committers int // transactions that write, in flight at once, and as many that claim. Zero: 4. At most 1,000
	Pending    int // tasks held beyond Slots and Prefetch while completions outrun commits. Zero: as many as both and a Batch. At most 1,000,000
	Queue      int // submissions that wait; Submit blocks beyond. Zero: 1,024. At most 1,000,000

	// MaxDeliveries is how often an attempt is handed out whose worker, or engine, dies each time: then it fails with the type
	// WorkerDied, which retry and except of the language match like any other. Deliveries that the store counts although
	// nobody began them, such as of tasks that waited in an engine that was killed, are among them; an engine that stops in order gives
	// its tasks back, which does not count. Zero: 5. From 1 to 1,000,000,000
	MaxDeliveries int

	Lease       time.Duration // of a task; renewed after a third, and how long a dead engine's work rests. Zero: 10 s. From 30 ms to 1 h
	Poll        time.Duration // between looks for work that nobody told of. Zero: 250 ms. From 1 ms to 1 h
	Sweep       time.Duration // between clearings of what ended instances left. Zero: 30 s. From 1 ms to 24 h
	NotifyEvery time.Duration // least time between notifications to other engines. Zero: 10 ms; negative: none is kept. At most 1 h
	RetryMin    time.Duration // pause after a failed call of the backend, doubled for each in a row. Zero: 10 ms. From 1 ms
	RetryMax    time.Duration // the longest such pause. Zero: 2 s. From RetryMin to 1 h
	CallTimeout time.Duration // of one call of the backend. Zero: 30 s. From 1 ms to 1 h
	Drain       time.Duration // how long Stop waits for running tasks before it cancels them. Zero: 10 s; negative: not at all. At most 24 h

	// Grace is how long an action may take to return after its timeout passed or its context was cancelled.
	// Then it is no longer waited for: the attempt fails with a Timeout, if that is why, and the slot
	// goes to others. As many as Slots may be left behind so; more keep their slots. Zero: 1 s; negative:
	// it is waited for without end. At most 1 h
	Grace time.Duration

	// Clock is what the engine takes for the time, so that a test can have it jump, as the clock of a machine does that
	// stood still or was set. It only counts for this engine's own view of when leases end and something is due: the
	// store has its own time. Zero: time.Now, whose readings no setting of the wall clock moves.
	Clock func() time.Time

	Observer Observer
}

// now is the time by Clock.
func (c *Config) now() time.Time {
	if c.Clock != nil {
		return c.Clock()
	}
	return time.Now()
}

// withDefaults fills the fields that are zero, and turns the negative ones that mean none into zero.
func (c Config) withDefaults() Config {
	if c.Owner == "" {
		host, err := os.Hostname()
		if err != nil {
			host = "unknown host"
		}
		c.Owner = fmt.Sprintf("%s:%d", host, os.Getpid())
	}
	c.Slots = cmp.Or(c.Slots, 64)
	c.Prefetch = cmp.Or(c.Prefetch, c.Slots)
	c.Prefetch = max(c.Prefetch, 0)
	c.Batch = cmp.Or(c.Batch, 1000)
	c.BatchBytes = cmp.Or(c.BatchBytes, 4<<20)
	c.Committers = cmp.Or(c.Committers, 4)
	c.Pending = cmp.Or(c.Pending, c.Slots+c.Prefetch+c.Batch)
	c.Queue = cmp.Or(c.Queue, 1024)
	c.MaxDeliveries = cmp.Or(c.MaxDeliveries, 5)
	c.Lease = cmp.Or(c.Lease, 10*time.Second)
	c.Poll = cmp.Or(c.Poll, 250*time.Millisecond)
	c.Sweep = cmp.Or(c.Sweep, 30*time.Second)
	c.NotifyEvery = cmp.Or(c.NotifyEvery, 10*time.Millisecond)
	c.NotifyEvery = max(c.NotifyEvery, 0)
	c.RetryMin = cmp.Or(c.RetryMin, 10*time.Millisecond)
	c.RetryMax = cmp.Or(c.RetryMax, max(2*time.Second, c.RetryMin))
	c.CallTimeout = cmp.Or(c.CallTimeout, 30*time.Second)
	c.Drain = cmp.Or(c.Drain, 10*time.Second)
	c.Drain = max(c.Drain, 0)
	c.Grace = cmp.Or(c.Grace, time.Second)
	c.Grace = max(c.Grace, 0)
	return c
}

// validate reports every field that is out of its bounds. Defaults must have been filled in.
func (c Config) validate() error {
	var errs []error
	if c.Backend == nil {
		errs = append(errs, errors.New("Backend is not set"))
	}
	if c.Workers == nil {
		errs = append(errs, errors.New("Workers is not set"))
	}
	number := func(name string, value, least, most int) {
		if value < least || value > most {
			errs = append(errs, fmt.Errorf("%s is %d, must be from %d to %d", name, value, least, most))
		}
	}
	length := func(name string, value, least, most time.Duration) {
		if value < least || value > most {
			errs = append(errs, fmt.Errorf("%s is %v, must be from %v to %v", name, value, least, most))
		}
	}
	number("Slots", c.Slots, 1, 100_000)
	number("Prefetch", c.Prefetch, 0, 500_000)
	number("Batch", c.Batch, 1, 10_000)
	number("BatchBytes", c.BatchBytes, 1, 1<<30)
	number("Committers", c.Committers, 1, 1000)
	number("Pending", c.Pending, 1, 1_000_000)
	number("Queue", c.Queue, 1, 1_000_000)
	number("MaxDeliveries", c.MaxDeliveries, 1, 1_000_000_000)
	length("Lease", c.Lease, 30*time.Millisecond, time.Hour)
	length("Poll", c.Poll, time.Millisecond, time.Hour)
	length("Sweep", c.Sweep, time.Millisecond, 24*time.Hour)
	length("NotifyEvery", c.NotifyEvery, 0, time.Hour)
	length("RetryMin", c.RetryMin, time.Millisecond, time.Hour)
	length("RetryMax", c.RetryMax, c.RetryMin, time.Hour)
	length("CallTimeout", c.CallTimeout, time.Millisecond, time.Hour)
	length("Drain", c.Drain, 0, 24*time.Hour)
	length("Grace", c.Grace, 0, time.Hour)
	return errors.Join(errs...)
}

// writeCost is what a transaction costs by itself, in completions: on Postgres some 0.2 ms, and 0.02 ms for each.
const writeCost = 8

// dispatch gives the part that the pure machine needs.
func (c Config) dispatch() dispatch.Config {
	_, listens := c.Backend.(backend.Listener)
	return dispatch.Config{
		Owner: c.Owner, Shards: c.Backend.Shards(),
		Slots: c.Slots, Prefetch: c.Prefetch,
		Batch: c.Batch, BatchBytes: c.BatchBytes, Committers: c.Committers, WriteCost: writeCost, Pending: c.Pending, Queue: c.Queue,
		MaxDeliveries: c.MaxDeliveries,
		Lease:         c.Lease, Grace: c.Grace, Poll: c.Poll, Sweep: c.Sweep,
		Notify: listens, NotifyEvery: c.NotifyEvery,
		RetryMin: c.RetryMin, RetryMax: c.RetryMax,
	}
}
