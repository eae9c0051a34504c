package process

import (
	"encoding/json"
	"io"
	"sync"

	"github.com/google/uuid"

	"pulley/chaos/cases"
	"pulley/chaos/fault"
)

// Setup is the first line that an engine's process reads: what it is.
type Setup struct {
	Case   cases.Case `json:"case"` // without faults
	DSN    string     `json:"dsn"`
	Index  int        `json:"index"`  // of the engine
	Source string     `json:"source"` // what it calls itself in the history
}

// Order is every later line. One field is set. The end of the input has the process stop in an orderly way.
type Order struct {
	Submit *Submission  `json:"submit,omitempty"`
	Cancel uuid.UUID    `json:"cancel,omitzero"` // an instance
	Fault  *fault.Order `json:"fault,omitempty"`
}

// Submission asks for an instance of one of the case's workloads.
type Submission struct {
	ID       uuid.UUID `json:"id"`
	Workload int       `json:"workload"`
}

// Message is a line of a process that is no event of the history.
type Message struct {
	Say  Word      `json:"say"`
	ID   uuid.UUID `json:"id,omitzero"`
	Text string    `json:"text,omitempty"`
	N    int       `json:"n,omitempty"`
}

// Word is what a process says.
type Word string

// What processes say.
const (
	SayReady       Word = "ready"       // the engine works
	SayUnsubmitted Word = "unsubmitted" // of an instance, whose submission has to be made again elsewhere
	SayMisbehaved  Word = "misbehaved"  // it followed a fault's order for once
	SayGoroutines  Word = "goroutines"  // N of them
	SayProblem     Word = "problem"     // the engine told of one
	SayDeadlock    Word = "deadlock"    // a statement of its own was the victim of one
)

// isSaying tells a saying from an event, by how its line begins.
const isSaying = `{"say":`

// lines writes whole lines from many goroutines.
type lines struct {
	mu  sync.Mutex
	out io.Writer
}

// Write implements io.Writer; what it is given is whole lines.
func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.out.Write(p)
}

// write writes a saying. Nobody can be told that it failed.
func (l *lines) write(s Message) {
	if text, err := json.Marshal(s); err == nil {
		_, _ = l.Write(append(text, '\n'))
	}
}
