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
	"lease handed over", "state written down", "state read", "unknown commit settled", "mark forgotten", "overdue run put first", "cycle", "violation",
}

// String is it in words.
func (k StepKind) String() string { return stepKindNames[k] }

// Of says whether a design has such a step at all.
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

// Counts are how often things happened.
type Counts struct {
	StepKinds [stepKindsMax]int
	Faults    [cases.KindsMax]int
	Met       [cases.KindsMax][TargetStates]int // faults by what they met
	Problems  int
	Deadlocks int
	Seeds     int
	Steps     int
	Virtual   int64 // ns
	Programs  int
}

// Add takes in those of another world.
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
