package judge

import "pulley/adapter/protocol"

// History is what pulley noted of a run. It is complete: the pipes of all processes were read to their ends.
type History struct {
	Promises  protocol.Promises   `json:"promises"`
	Workloads []protocol.Workload `json:"workloads"` // as setup listed them
	Report    protocol.Report     `json:"report"`    // empty: tasks
	Processes int                 `json:"processes"` // at once
	Slots     int                 `json:"slots"`     // of each
	Entries   []Entry             `json:"entries"`   // in the order in which pulley noted them
}

// Kind is what an entry tells.
type Kind string

// The kinds. Those of a batch have Incarnation and Batch, by which an answer finds its question.
const (
	Opened     Kind = "opened"     // a process is ready to work
	Sent       Kind = "sent"       // a batch of instances was submitted: Instances
	Submitted  Kind = "submitted"  // it was accepted
	Refused    Kind = "refused"    // it was answered by an error
	Unanswered Kind = "unanswered" // its process ended before it answered, or the answer was not awaited
	Asked      Kind = "asked"      // a look was asked for: IDs
	Looked     Kind = "looked"     // it was answered: States
	Started    Kind = "started"    // an execution of a task began
	Finished   Kind = "finished"   // it has its value
	Failed     Kind = "failed"     // it failed
	Ended      Kind = "ended"      // an instance has ended
	Problem    Kind = "problem"
	Killed     Kind = "killed"      // pulley killed a process. Lines that it had written may follow
	Died       Kind = "died"        // a process ended that nobody had asked to
	FaultBegan Kind = "fault_began" // Fault, or a stall of the machine; deaths are no faults
	FaultEnded Kind = "fault_ended"
	Waited     Kind = "waited" // for WaitedMS nothing happened
)

// Entry is one line of a history. Fields that a kind does not have are empty; most are those of the protocol's messages.
type Entry struct {
	Kind        Kind  `json:"kind"`
	AtNS        int64 `json:"at_ns"`                 // since the run began, by pulley's clock
	Process     int   `json:"process"`               // its number, from 0
	Incarnation int   `json:"incarnation,omitempty"` // of the process: a number of its own in the run, from 1

	Batch     int64               `json:"batch,omitempty"`
	Instances []protocol.Instance `json:"instances,omitempty"`
	IDs       []string            `json:"ids,omitempty"`
	States    []protocol.State    `json:"states,omitempty"`

	Instance string            `json:"instance,omitempty"`
	Task     string            `json:"task,omitempty"`
	Attempt  int               `json:"attempt,omitempty"`
	Round    int               `json:"round,omitempty"`
	Inputs   map[string]string `json:"inputs,omitempty"`
	Value    string            `json:"value,omitempty"`
	Status   protocol.Status   `json:"status,omitempty"`
	Message  string            `json:"message,omitempty"`

	Fault    string  `json:"fault,omitempty"` // its name, unique in the run
	WaitedMS float64 `json:"waited_ms,omitempty"`
}

// isWork reports whether an entry shows that the system, or its surroundings, did something.
func (e *Entry) isWork() bool {
	switch e.Kind {
	case Asked, Looked, Problem, Waited, Unanswered:
		return false
	}
	return true
}

// disturbs reports whether an entry is one after which a system may have lost what it had handed out.
func (e *Entry) disturbs() bool { return e.Kind == Killed || e.Kind == Died || e.Kind == FaultBegan }
