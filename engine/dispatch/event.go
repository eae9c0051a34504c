package dispatch

import (
	"encoding/json"
	"time"

	"pulley/engine/backend"
	"pulley/engine/limit"
	"pulley/engine/plan"
)

// TaskID identifies a task within one Machine. IDs ascend from 1.
type TaskID uint64

// CallID identifies a call of the backend within one Machine. IDs ascend from 1.
type CallID uint64

// Ticket identifies a submission; its submitter chooses it and never reuses it.
type Ticket uint64

// Event is an input of the machine.
type Event interface{ event() }

// Submit passes a new instance. The machine answers it with one Answer.
type Submit struct {
	Ticket     Ticket
	Submission backend.Submission
}

// Forget withdraws a submission that nobody waits for. In flight it may still be stored; it is not repeated and not answered.
type Forget struct{ Ticket Ticket }

// Done reports that a started task has ended and its slot is free. Step does not keep it, so it may be passed by address,
// without an allocation.
type Done struct {
	Task    TaskID
	Result  json.RawMessage // unless Failure is set
	Failure *plan.Failure

	// Returned reports that the executor has returned the lease, or knows that it is lost: the machine forgets the task.
	Returned bool

	// Died reports that the worker died, so that the outcome is unknown. The attempt is redelivered after RetryPause, as if
	// this engine had died, or fails with Failure if no delivery is left.
	Died       bool
	RetryPause time.Duration
}

// Reply is the end of a Call. If Err, the backend's error, is set, the rest is empty.
type Reply struct {
	Call      CallID
	Committed backend.Committed // of Submit, Claim and Complete
	Held      []bool            // of Renew
	Swept     backend.Swept     // of Sweep
	Limits    backend.LimitTurn // of a turn with limits
	Err       error
}

// Ended reports instances that were not ended by a call of the machine: their tasks are dropped.
type Ended struct{ Instances []backend.Instance }

// Notified reports that another process made work ready, on an unknown shard.
type Notified struct{}

// Drain stops the machine: it takes nothing new, returns waiting tasks, and cancels running ones at Until. It still commits
// completions and submissions at hand, and ends with Stopped. A second Drain can only bring Until forward.
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
	OpLimits   Op = "limits" // backend.TakeLimitTurn, only with Config.LimitTurn
)

// Command is an output of the machine.
type Command interface{ command() }

// Call requests a call of the backend, with its method's arguments; the others are empty. A Reply reports its end. Slices
// belong to the executor.
type Call struct {
	ID          CallID
	Op          Op
	Shard       int
	Submissions []backend.Submission
	Completions []backend.Completion
	Leases      []backend.Lease
	Grant       backend.Grant
	Needs       map[string]limit.Need // of limits, by their names
}

// Start requests that a task runs; Done reports its end. The next Step reuses the memory, so the executor copies it.
type Start struct {
	ID   TaskID
	Task backend.Task
}

// Cancel requests that a running task is cancelled. Done is still expected; its result is dropped.
type Cancel struct {
	ID      TaskID
	Cause   error
	Instead *backend.Completion // offered in its place; nil: nothing
}

// Failed reports that the machine ends an attempt that has no delivery left.
type Failed struct{ Completion backend.Completion }

// Answer is the end of a submission. Err is set if the machine could not store it.
type Answer struct {
	Ticket  Ticket
	Outcome backend.Outcome
	Err     error
}

// Report describes a problem and its consequence to people.
type Report struct{ Err error }

// Stopped reports the end of a drain: nothing runs, nothing is in flight. No command follows.
type Stopped struct{}

func (Call) command()    {}
func (*Start) command()  {}
func (Cancel) command()  {}
func (Failed) command()  {}
func (Answer) command()  {}
func (Report) command()  {}
func (Stopped) command() {}
