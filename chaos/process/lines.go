package process

import (
	"encoding/json"
	"io"
	"sync"

	"github.com/google/uuid"

	"pulley/chaos/cases"
	"pulley/chaos/fault"
)

// Setup is the first line that an engine's process reads.
type Setup struct {
	Case   cases.Case `json:"case"` // without faults
	DSN    string     `json:"dsn"`
	Index  int        `json:"index"`
	Source string     `json:"source"` // its name in the history
}

// Order is every later line. One field is set. At the end of input the process stops in an orderly way.
type Order struct {
	Submit *Submission  `json:"submit,omitempty"`
	Cancel uuid.UUID    `json:"cancel,omitzero"`
	Fault  *fault.Order `json:"fault,omitempty"`
}

// Submission asks for an instance of one of the case's workloads.
type Submission struct {
	ID       uuid.UUID `json:"id"`
	Workload int       `json:"workload"`
	Priority int       `json:"priority,omitempty"`
}

// Message is a line of a process that is no event of the history.
type Message struct {
	Say  Word      `json:"say"`
	ID   uuid.UUID `json:"id,omitzero"`
	Text string    `json:"text,omitempty"`
	N    int       `json:"n,omitempty"`

	AtNS    int64 `json:"at_ns,omitempty"` // on oracle.MachineClock
	UntilNS int64 `json:"until_ns,omitempty"`
	Wrong   bool  `json:"wrong,omitempty"` // the engine's clock has jumped
}

// Word is the kind of a message.
type Word string

// The kinds of messages.
const (
	SayReady       Word = "ready"
	SayUnsubmitted Word = "unsubmitted" // an instance must be submitted again elsewhere
	SayMisbehaved  Word = "misbehaved"  // it followed a fault's order once
	SayGoroutines  Word = "goroutines"
	SayProblem     Word = "problem"
	SayDeadlock    Word = "deadlock" // one of its statements was a deadlock's victim

	// Of a case with a limit.
	SayPermitted   Word = "permitted"    // a turn that began at AtNS has renewed the engine's permits, until UntilNS
	SayActionBegan Word = "action_began" // N numbers the attempts of actions of this process
	SayActionEnded Word = "action_ended"
)

const isSaying = `{"say":`

type lines struct {
	mu  sync.Mutex
	out io.Writer
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(p)
}

// write writes a message. Failures cannot be reported anywhere.
func (l *lines) write(s Message) {
	if text, err := json.Marshal(s); err == nil {
		_, _ = l.Write(append(text, '\n'))
	}
}
