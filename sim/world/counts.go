package world

import (
	"strings"

	"pulley/sim/cases"
)

// StepKind is a kind of step.
type StepKind uint8

// The kinds of steps.
const (
	Began StepKind = iota
	Died
	Submits
	Cancels
	Calls
	Answers
	Sends
	Waits
	Served
	Replied
	Committed
	Starts
	Done
	Disconnected
	Reports
	Answered
	Notified
	Unheard
	FaultBegan
	ServerUp
	Stopped
	Leased
	ReturnsLease
	Applied
	Stale
	Retried
	Ended
	CanceledInstance
	Owns
	Loses
	Replays
	Adopts
	Requests
	Withdraws
	ReleasesShard
	WritesState
	ReadsState
	Resolves
	Forgets
	PutsFirst
	Scans
	Violated
	stepKindsMax = iota
)

var stepKindNames = [stepKindsMax]string{
	"process begins", "process dies", "client submits", "client cancels", "call", "answer", "request sent", "statement waits", "statement served",
	"reply", "commit", "task starts", "task ends", "task cut off", "report", "submission answered", "woken", "notification not heard",
	"fault", "server is up", "engine stops", "lease", "lease given back", "completion applied", "completion stale", "run tried again", "instance ends", "instance canceled",
	"shard taken", "shard lost", "shard replayed", "instance adopted", "request to the owner", "request withdrawn",
	"lease handed over", "state written down", "state read", "unknown commit resolved", "commit slot deleted", "overdue run put first", "cycle", "violation",
}

// String returns the kind in words.
func (k StepKind) String() string { return stepKindNames[k] }

// Of reports whether a design can have such a step.
func (k StepKind) Of(backend string) bool {
	pull := strings.HasPrefix(backend, "pull")
	switch {
	case k >= Owns && k <= ReadsState:
		return backend == "journal"
	case k == Forgets:
		return backend == "push"
	case k == PutsFirst:
		return backend == "push" || pull
	case k == Scans:
		return pull
	}
	return true
}

// Counts counts what happened in one or more worlds.
type Counts struct {
	StepKinds [stepKindsMax]int
	Faults    [cases.KindsMax]int
	Met       [cases.KindsMax][TargetStates]int // faults by the target state that they hit
	Problems  int
	Deadlocks int
	Seeds     int
	Steps     int
	Virtual   int64 // ns
	Programs  int
}

// Add adds the counts of another world.
func (c *Counts) Add(o *Counts) {
	for i, n := range o.StepKinds {
		c.StepKinds[i] += n
	}
	for i, n := range o.Faults {
		c.Faults[i] += n
	}
	for i := range o.Met {
		for j, n := range o.Met[i] {
			c.Met[i][j] += n
		}
	}
	c.Problems += o.Problems
	c.Deadlocks += o.Deadlocks
	c.Seeds += o.Seeds
	c.Steps += o.Steps
	c.Virtual += o.Virtual
	c.Programs += o.Programs
}
