package engine

import (
	"cmp"
	"errors"
	"fmt"
	"os"
	"time"

	"pulley/engine/backend"
	"pulley/engine/dispatch"
	"pulley/engine/signal"
	"pulley/engine/worker"
)

// Config configures an engine. Backend and Workers must be set; the defaults of other fields suit one machine.
type Config struct {
	Backend backend.Backend // stores instances; the caller closes it, after Done
	Workers worker.Executor // runs actions, for example a worker.Registry

	// Owner names the engine in the store, for people. Zero: the host's name and the process id.
	Owner string

	// CheckActions makes Submit refuse programs with actions that Workers does not know. Without it, such an instance fails
	// where it calls one.
	CheckActions bool

	// LeaveUnknown makes the engine return tasks of actions that Workers does not have to the store, for engines that have them, and
	// report them to Observer.Problem once a minute for each action. So engines of several versions work side by side. Without it, the
	// attempt fails as UnknownAction. New fails if Workers is no worker.Knower.
	LeaveUnknown bool

	Slots    int // tasks running at once. Zero: 64. At most 100,000
	Prefetch int // tasks leased before a slot is free. Zero: as many as Slots; negative: none. At most 500,000

	// Batch bounds the completions or submissions of one transaction. Zero: 1,000. At most 10,000. With 1, each has its own
	// transaction, up to Committers at a time on each shard.
	Batch      int
	BatchBytes int // of results or inputs in one transaction; a larger one is alone. Zero: 4 MiB. At most 1 GiB
	Committers int // writing transactions at a time, and as many claims. Zero: 4. At most 1,000
	Pending    int // tasks held beyond Slots and Prefetch while commits are slow. Zero: Slots + Prefetch + Batch. At most 1,000,000
	Queue      int // waiting submissions; beyond it Submit blocks. Zero: 1,024. At most 1,000,000

	// MaxDeliveries bounds the deliveries of an attempt whose worker or engine dies each time. Then the attempt fails with the
	// type WorkerDied, which retry and except match like any other. A task that only waited in a killed engine counts as
	// delivered; a task that a stopping engine returns does not. Zero: 5. From 1 to 1,000,000,000
	MaxDeliveries int

	Lease       time.Duration // of a task; renewed after a third. A dead engine's work waits as long. Zero: 10 s. From 30 ms to 1 h
	Poll        time.Duration // pause between polls for work. Zero: 250 ms. From 1 ms to 1 h
	Sweep       time.Duration // pause between cleanups. Zero: 30 s. From 1 ms to 24 h
	NotifyEvery time.Duration // least time between notifications to other engines. Zero: 10 ms; negative: none. At most 1 h
	RetryMin    time.Duration // pause after a failed call of the backend, doubled for each in a row. Zero: 10 ms. From 1 ms
	RetryMax    time.Duration // longest such pause. Zero: 2 s. From RetryMin to 1 h
	CallTimeout time.Duration // of one call of the backend. Zero: 30 s. From 1 ms to 1 h
	Drain       time.Duration // how long Stop waits before it cancels running tasks. Zero: 10 s; negative: not at all. At most 24 h

	// Grace is how long an action may run on after its timeout or the end of its context. Then the task is abandoned: its slot
	// is free, and after a timeout the attempt fails with a Timeout. At most Slots abandoned tasks free their slots. Zero: 1 s;
	// negative: unlimited. At most 1 h
	Grace time.Duration

	// Schedules makes the engine fire the backend's schedules, which it shares with all engines that do so. New fails if the
	// backend is no backend.Scheduler.
	Schedules bool

	// SchedulePoll is the longest pause between two looks for due schedules: what others add or resume begins so late. Zero: 1 s.
	// From 10 ms to 1 h
	SchedulePoll time.Duration

	// Limits makes the engine keep the backend's limits, which it shares with all engines that do so: an engine without it starts
	// whatever it likes. New fails if the backend is no backend.Limiter.
	Limits bool

	// Fair makes workflows take turns where more waits than workers can do, and instances: otherwise what became ready first starts first.
	// Of the starts that claims fill, a third goes to workflows in equal parts, a third to instances in equal parts, and a third to what
	// has waited longest. Each priority of a workflow counts as a workflow. Set it in all engines of a store: what an engine without it
	// leaves waiting has no turns of workflows. New fails if the backend is no backend.TurnTaker.
	Fair bool

	// LimitTurn is the pause between two turns with limits, in which engines share them; ten times that while the engine needs
	// nothing of them, which is how late a new limit holds. Zero: 100 ms. From 10 ms to 1 min
	LimitTurn time.Duration

	// Signals makes the engine run worker.WaitSignal, with which workflows wait for signals, and wake node runs whose signals have come.
	// Without it, the action is unknown: the attempt fails, or is left to other engines with LeaveUnknown.
	// New fails if the backend is no backend.Signaler, or if Workers do not know the action.
	Signals bool

	// Retention makes the engine delete instances that ended longer ago, in small transactions, as pulley purge does. Any number of
	// engines may. What is deleted is unknown afterwards, and its id may be submitted again. Zero: instances are kept. From 1 min to
	// 100 years. New fails if the backend is no backend.Purger.
	Retention time.Duration

	// Clock replaces time.Now, so that a test can make it jump like the clock of a suspended machine. It only affects this
	// engine's view of leases and due times: the store has its own clock. Zero: time.Now, whose monotonic readings no setting
	// of the wall clock changes.
	Clock func() time.Time

	Observer Observer
}

func (c *Config) now() time.Time {
	if c.Clock != nil {
		return c.Clock()
	}
	return time.Now()
}

// OwnerOfProcess returns the default of Config.Owner: the host's name and the process id.
func OwnerOfProcess() string {
	host, err := os.Hostname()
	if err != nil {
		host = "unknown host"
	}
	return fmt.Sprintf("%s:%d", host, os.Getpid())
}

// withDefaults replaces zero by the default, and a negative value that means none by zero.
func (c Config) withDefaults() Config {
	if c.Owner == "" {
		c.Owner = OwnerOfProcess()
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
	c.SchedulePoll = cmp.Or(c.SchedulePoll, time.Second)
	c.LimitTurn = cmp.Or(c.LimitTurn, 100*time.Millisecond)
	return c
}

// validate expects a configuration with defaults, and reports every field out of its bounds.
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
	if _, ok := c.Backend.(backend.Scheduler); c.Schedules && c.Backend != nil && !ok {
		errs = append(errs, fmt.Errorf("Schedules is set, and backend %T has none; use another one", c.Backend))
	}
	if _, ok := c.Workers.(worker.Knower); c.LeaveUnknown && c.Workers != nil && !ok {
		errs = append(errs, fmt.Errorf("LeaveUnknown is set, and workers %T do not tell which actions they have; use a worker.Knower", c.Workers))
	}
	if _, ok := c.Backend.(backend.Limiter); c.Limits && c.Backend != nil && !ok {
		errs = append(errs, fmt.Errorf("Limits is set, and backend %T has none; use push, journal or memory", c.Backend))
	}
	if _, ok := c.Backend.(backend.TurnTaker); c.Fair && c.Backend != nil && !ok {
		errs = append(errs, fmt.Errorf("Fair is set, and backend %T takes no turns; use push or journal", c.Backend))
	}
	if _, ok := c.Backend.(signal.Store); c.Signals && c.Backend != nil && !ok {
		errs = append(errs, fmt.Errorf("Signals is set, and backend %T has none; use another one", c.Backend))
	}
	if k, ok := c.Workers.(worker.Knower); c.Signals && c.Workers != nil && ok && !k.Knows(worker.WaitSignal) {
		errs = append(errs, fmt.Errorf("Signals is set, and Workers do not have @%s; worker.Builtins has it", worker.WaitSignal))
	}
	if _, ok := c.Backend.(backend.Purger); c.Retention != 0 && c.Backend != nil && !ok {
		errs = append(errs, fmt.Errorf("Retention is set, and backend %T deletes nothing; use another one", c.Backend))
	}
	if c.Retention != 0 {
		length("Retention", c.Retention, retentionMin, retentionMax)
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
	length("SchedulePoll", c.SchedulePoll, 10*time.Millisecond, time.Hour)
	length("LimitTurn", c.LimitTurn, 10*time.Millisecond, time.Minute)
	return errors.Join(errs...)
}

// writeCost is what a transaction costs, in completions: on Postgres about 0.2 ms, against 0.02 ms for each completion.
const writeCost = 8

// overlap is how many completions make a commit large enough to overlap with another one. On a fan-out of 10,000, 150 to 300 were best.
const overlap = 250

func (c Config) dispatch() dispatch.Config {
	_, listens := c.Backend.(backend.Listener)
	overlapping := 0
	if _, ok := c.Backend.(backend.Overlapper); ok {
		overlapping = overlap
	}
	turn := c.LimitTurn
	if !c.Limits {
		turn = 0
	}
	var knows func(string) bool
	if c.LeaveUnknown {
		known := c.Workers.(worker.Knower)
		knows = func(action string) bool { return known.Knows(action) && (c.Signals || action != worker.WaitSignal) }
	}
	return dispatch.Config{
		Knows: knows,
		Owner: c.Owner, Shards: c.Backend.Shards(),
		Slots: c.Slots, Prefetch: c.Prefetch, Fair: c.Fair,
		Batch: c.Batch, BatchBytes: c.BatchBytes, Committers: c.Committers, WriteCost: writeCost, Overlap: overlapping, Pending: c.Pending, Queue: c.Queue,
		MaxDeliveries: c.MaxDeliveries,
		Lease:         c.Lease, Grace: c.Grace, Poll: c.Poll, Sweep: c.Sweep,
		Notify: listens, NotifyEvery: c.NotifyEvery, LimitTurn: turn,
		RetryMin: c.RetryMin, RetryMax: c.RetryMax,
	}
}
