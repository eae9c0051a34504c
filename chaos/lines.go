package chaos

import (
	"encoding/json"
	"io"
	"sync"

	"github.com/google/uuid"

	"pulley/chaos/cases"
	"pulley/chaos/fault"
)

// setup is the first line that an engine's process reads: what it is.
type setup struct {
	Case   cases.Case `json:"case"` // without faults
	DSN    string     `json:"dsn"`
	Index  int        `json:"index"`  // of the engine
	Source string     `json:"source"` // what it calls itself in the history
}

// order is every later line. One field is set. The end of the input has the process stop in an orderly way.
type order struct {
	Submit *submission  `json:"submit,omitempty"`
	Cancel uuid.UUID    `json:"cancel,omitzero"` // an instance
	Fault  *fault.Order `json:"fault,omitempty"`
}

// submission asks for an instance of one of the case's workloads.
type submission struct {
	ID       uuid.UUID `json:"id"`
	Workload int       `json:"workload"`
}

// saying is a line of a process that is no event of the history.
type saying struct {
	Say  word      `json:"say"`
	ID   uuid.UUID `json:"id,omitzero"`
	Text string    `json:"text,omitempty"`
	N    int       `json:"n,omitempty"`
}

// word is what a process says.
type word string

const (
	sayReady       word = "ready"       // the engine works
	sayUnsubmitted word = "unsubmitted" // of an instance, whose submission has to be made again elsewhere
	sayMisbehaved  word = "misbehaved"  // it followed a fault's order for once
	sayGoroutines  word = "goroutines"  // N of them
	sayProblem     word = "problem"     // the engine told of one
	sayDeadlock    word = "deadlock"    // a statement of its own was the victim of one
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

// say writes a saying. Nobody can be told that it failed.
func (l *lines) say(s saying) {
	if text, err := json.Marshal(s); err == nil {
		_, _ = l.Write(append(text, '\n'))
	}
}
