package dispatch

import (
	"errors"
	"fmt"
	"time"
)

// Config bounds a Machine. Every field must be set unless it says otherwise.
type Config struct {
	Owner  string // names the engine in the store
	Shards int    // of the store; at least 1

	Slots    int // tasks running at once; at least 1
	Prefetch int // tasks leased before a slot is free; zero: none

	Batch      int // completions or submissions in one call; 1: a transaction each; at least 1
	BatchBytes int // of results or inputs in one call; a larger one is alone; at least 1
	Committers int // writes in flight, and as many claims; at least 1
	WriteCost  int // a write's own cost, in members: while no more are being written, nothing lingers; zero: none
	Overlap    int // a commit of so many completions, or of a whole Batch, may begin beside another one of its shard; zero: none may
	Pending    int // held tasks beyond Slots + Prefetch, if completions outrun commits; at least 1
	Queue      int // submissions waiting or in flight; at least 1

	MaxDeliveries int // of an attempt, which then fails as WorkerDied; at least 1

	// Knows reports whether the engine has an action: it returns tasks of others to the store, for engines that have them. It must be
	// pure. Nil: it has all.
	Knows func(action string) bool

	Lease time.Duration // of a task; renewed after a third; at least 3 ms
	Grace time.Duration // for a task to return after its node's timeout, or after Cancel; zero: unlimited
	Poll  time.Duration // between two claims on an idle shard; positive
	Sweep time.Duration // between two sweeps of a shard; positive

	// Notify reports that the store can notify other engines: of ready work beyond this engine's capacity, at most once in
	// NotifyEvery.
	Notify      bool
	NotifyEvery time.Duration // zero: one at a time

	// Fair makes workflows take turns where much waits, and instances: two of three claims hand out by turns, see backend.Order.
	Fair bool

	// LimitTurn is the usual time between two turns with the store's limits, while the engine needs something of them; ten times
	// that otherwise, which is how late new limits hold. Zero: the store has none.
	LimitTurn time.Duration

	RetryMin time.Duration // pause after a failed call, doubled for each in a row; positive
	RetryMax time.Duration // longest pause; at least RetryMin
}

// Validate reports every field out of its bounds.
func (c Config) Validate() error {
	var errs []error
	atLeast := func(name string, value, least int) {
		if value < least {
			errs = append(errs, fmt.Errorf("%s is %d, must be at least %d", name, value, least))
		}
	}
	longer := func(name string, value, least time.Duration) {
		if value < least {
			errs = append(errs, fmt.Errorf("%s is %v, must be at least %v", name, value, least))
		}
	}
	atLeast("Shards", c.Shards, 1)
	atLeast("Slots", c.Slots, 1)
	atLeast("Prefetch", c.Prefetch, 0)
	atLeast("Batch", c.Batch, 1)
	atLeast("BatchBytes", c.BatchBytes, 1)
	atLeast("Committers", c.Committers, 1)
	atLeast("WriteCost", c.WriteCost, 0)
	atLeast("Overlap", c.Overlap, 0)
	atLeast("Pending", c.Pending, 1)
	atLeast("Queue", c.Queue, 1)
	atLeast("MaxDeliveries", c.MaxDeliveries, 1)
	longer("Lease", c.Lease, 3*time.Millisecond)
	longer("Grace", c.Grace, 0)
	longer("Poll", c.Poll, 1)
	longer("Sweep", c.Sweep, 1)
	longer("NotifyEvery", c.NotifyEvery, 0)
	longer("LimitTurn", c.LimitTurn, 0)
	longer("RetryMin", c.RetryMin, 1)
	longer("RetryMax", c.RetryMax, c.RetryMin)
	return errors.Join(errs...)
}

// commitsPerShard bounds the commits of a shard in flight.
func (c Config) commitsPerShard() int {
	switch {
	case c.Batch == 1:
		return c.Committers
	case c.Overlap > 0:
		return min(2, c.Committers)
	}
	return 1
}
