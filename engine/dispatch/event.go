package dispatch

import (
	"encoding/json"
	"time"

	"pulley/engine/backend"
	"pulley/engine/plan"
)

// TaskID names a task within one Machine. IDs are given in order, from 1.
type TaskID uint64

// CallID names a call of the backend within one Machine. IDs are given in order, from 1.
type CallID uint64

// Ticket names a submission; its submitter chooses it and never uses it twice.
type Ticket uint64

// Event is something that happened.
type Event interface{ event() }

// Submit hands over a new instance. The machine answers it, once, with an Answer.
type Submit struct {
	Ticket     Ticket
	Submission backend.Submission
}

// Forget withdraws a submission that nobody waits for any longer. If it is in flight it may still
// be carried out; it is not repeated and not answered.
type Forget struct{ Ticket Ticket }

// Done says that a started task has ended and its slot is free. It may also be given by its address, which
// takes no memory of its own: Step does not keep it.
type Done struct {
	Task    TaskID
	Result  json.RawMessage // where Failure is nil
	Failure *plan.Failure

	// Died says that whoever ran the task died, so that nobody knows what became of the attempt: it is to be delivered again after
	// the pause Rest, as if this engine had died with it. It fails with Failure where it has been delivered often enough.
	Died       bool
	RetryPause time.Duration
}

// Reply is the end of a Call. Err is as the backend gave it; where it is set, the rest is empty.
type Reply struct {
	Call      CallID
	Committed backend.Committed // of Submit, Claim and Complete
	Held      []bool            // of Extend
	Swept     backend.Swept     // of Sweep
	Err       error
}

// Ended says that instances were ended, other than by a call of the machine: what is held for them is let
// go of.
type Ended struct{ Instances []backend.Instance }

// Notified says that another process made work ready, nobody knows on which shard.
type Notified struct{}

// Drain ends the machine's life: nothing new is taken, tasks that wait are handed back, and running
// ones are waited for until Until, then cancelled. Completions and submissions at hand are still
// committed. It ends with Stopped. A second Drain may only bring Until forward.
type Drain struct{ Until time.Time }

func (Submit) event()   {}
func (Forget) event()   {}
func (Done) event()     {}
func (Reply) event()    {}
func (Ended) event()    {}
func (Notified) event() {}
func (Drain) event()    {}

// Op is a method of the backend.
type Op string

// The operations.
const (
	OpSubmit   Op = "submit"
	OpClaim    Op = "claim"
	OpComplete Op = "complete"
	OpRenew    Op = "renew"
	OpSweep    Op = "sweep"
	OpNotify   Op = "notify"
)

// Command is something to do.
type Command interface{ command() }

// Call asks for a call of the backend, with the arguments that its method takes; the others are
// empty. Its end is told by a Reply. Slices belong to whoever carries it out.
type Call struct {
	ID          CallID
	Op          Op
	Shard       int
	Submissions []backend.Submission
	Completions []backend.Completion
	Leases      []backend.Lease
	Grant       backend.Grant
}

// Start asks for a task to be run; its end is told by Done. It is given by its address, in memory that the
// next Step uses again: whoever carries it out copies it.
type Start struct {
	ID   TaskID
	Task backend.Task
}

// Cancel asks for a running task to be cut off. Done is still expected; its result is dropped.
type Cancel struct {
	ID      TaskID
	Cause   error
	Instead *backend.Completion // that is offered for it; nil: none is
}

// Failed says that the machine itself ends an attempt whose deliveries have come to nothing: nobody is to run it.
type Failed struct{ Completion backend.Completion }

// Answer is the end of a submission. Err is set where the machine could not have it stored.
type Answer struct {
	Ticket  Ticket
	Outcome backend.Outcome
	Err     error
}

// Report tells of something that went wrong and what became of it, for people.
type Report struct{ Err error }

// Stopped says that a drain is over: nothing runs, nothing is in flight. No command follows.
type Stopped struct{}

func (Call) command()    {}
func (*Start) command()  {}
func (Cancel) command()  {}
func (Failed) command()  {}
func (Answer) command()  {}
func (Report) command()  {}
func (Stopped) command() {}
