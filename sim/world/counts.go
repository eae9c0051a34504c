package world

import (
	"strings"

	"pulley/sim/cases"
)

// What is a kind of step.
type What uint8

// The kinds of steps.
const (
	Began What = iota
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
	CutOff
	Reports
	Answered
	Woken
	Unheard
	Struck
	ServerUp
	Stopped
	Leased
	GivesBack
	Applied
	Stale
	Retried
	Ended
	CanceledInstance
	Owns
	Loses
	Replays
	Adopts
	Asks
	Withdraws
	HandsOver
	WritesState
	ReadsState
	Settles
	Forgets
	PutsFirst
	Cycles
	Violated
	whatsMax = iota
)

var whatNames = [whatsMax]string{
	"process begins", "process dies", "client submits", "client cancels", "call", "answer", "request sent", "statement waits", "statement served",
	"reply", "commit", "task starts", "task ends", "task cut off", "report", "submission answered", "woken", "notification not heard",
	"fault", "server is up", "engine stops", "lease", "lease given back", "completion applied", "completion stale", "run tried again", "instance ends", "instance canceled",
	"shard taken", "shard lost", "shard replayed", "instance taken up", "request to the owner", "request withdrawn",
	"lease handed over", "state written down", "state read", "unknown commit settled", "mark forgotten", "overdue run put first", "cycle", "violation",
}

// String is it in words.
func (k What) String() string { return whatNames[k] }

// Of says whether a design has such a step at all.
func (k What) Of(backend string) bool {
	pull := strings.HasPrefix(backend, "pull")
	switch {
	case k >= Owns && k <= ReadsState:
		return backend == "journal"
	case k == Forgets:
		return backend == "push"
	case k == PutsFirst:
		return backend == "push" || pull
	case k == Cycles:
		return pull
	}
	return true
}

// Counts are how often things happened.
type Counts struct {
	Whats     [whatsMax]int
	Faults    [cases.KindsMax]int
	Met       [cases.KindsMax][Moods]int // faults by what they met
	Problems  int
	Deadlocks int
	Seeds     int
	Steps     int
	Virtual   int64 // ns
	Programs  int
}

// Add takes in those of another world.
func (c *Counts) Add(o *Counts) {
	for i, n := range o.Whats {
		c.Whats[i] += n
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
