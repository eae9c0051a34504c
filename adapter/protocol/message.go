package protocol

import (
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"strings"
)

// Version is this package's protocol version.
const Version = 1

// LineBytes bounds a line, including its line feed.
const LineBytes = 8 << 20

// Kind is the kind of a message: the value of its key "pulley".
type Kind string

// The kinds of pulley's messages.
const (
	KindHello  Kind = "hello" // of both sides
	KindSetup  Kind = "setup"
	KindOpen   Kind = "open"
	KindSubmit Kind = "submit"
	KindLook   Kind = "look"
	KindStop   Kind = "stop"
)

// The kinds of an adapter's messages, besides hello.
const (
	KindReady     Kind = "ready"
	KindSubmitted Kind = "submitted"
	KindStates    Kind = "states"
	KindError     Kind = "error"
	KindStarted   Kind = "started"
	KindFinished  Kind = "finished"
	KindFailed    Kind = "failed"
	KindEnded     Kind = "ended"
	KindProblem   Kind = "problem"
)

// Request is a message of pulley.
type Request struct {
	Kind    Kind `json:"pulley"`
	Version int  `json:"version,omitempty"` // of hello

	// Of setup. One process of a run creates what the system needs.
	Create    bool              `json:"create,omitempty"`
	Store     *Store            `json:"store,omitempty"`
	Settings  map[string]string `json:"settings,omitempty"`
	Workloads []Workload        `json:"workloads,omitempty"`

	// Of open.
	Process int    `json:"process,omitempty"` // from 0
	Slots   int    `json:"slots,omitempty"`   // tasks at once; at least 1
	Report  Report `json:"report,omitempty"`

	Batch     int64      `json:"batch,omitempty"`     // of submit and look; the answer repeats it
	Instances []Instance `json:"instances,omitempty"` // of submit
	IDs       []string   `json:"ids,omitempty"`       // of look
}

// Store is where a system keeps its state.
type Store struct {
	DSN string `json:"dsn,omitempty"` // of a Postgres database of the run's own, as a URL
	Dir string `json:"dir,omitempty"` // a folder that the run's processes share
}

// Report says which messages an adapter writes while it works.
type Report string

// The reports.
const (
	ReportTasks Report = "tasks" // started, finished, failed and ended
	ReportEnds  Report = "ends"  // ended only
)

// Instance is one to be submitted.
type Instance struct {
	ID       string `json:"id"`
	Workload string `json:"workload"` // its name
}

// Response is a message of an adapter.
type Response struct {
	Kind  Kind   `json:"pulley"`
	Hello *Hello `json:"-"` // of hello: its fields stand in the message itself

	Batch   int64   `json:"batch,omitempty"`   // of submitted, states and error
	Message string  `json:"message,omitempty"` // of error, failed, problem, and of ended if it failed
	States  []State `json:"instances,omitempty"`

	Instance string            `json:"instance,omitempty"` // of started, finished, failed and ended
	Task     string            `json:"task,omitempty"`
	Attempt  int               `json:"attempt,omitempty"` // from 1; 0: the system does not count
	Round    int               `json:"round,omitempty"`   // from 1; 0: the workload has no rounds
	Inputs   map[string]string `json:"inputs,omitempty"`  // of started: values by task
	Value    string            `json:"value,omitempty"`   // of finished and ended
	Status   Status            `json:"status,omitempty"`  // of ended

	// Raw is the line as it came, if the host of a process read it. It is valid as long as the observer is called.
	Raw []byte `json:"-"`

	// Promises are what the system promises with the settings of setup, of the ready that answers it; nil: what hello promised.
	Promises *Promises `json:"promises,omitempty"`
}

// Status is what became of an instance.
type Status string

// The statuses. An ended instance is completed or failed.
const (
	Unknown   Status = "unknown" // the store does not have it
	Open      Status = "open"
	Completed Status = "completed"
	Failed    Status = "failed"
)

// State is what a store says of an instance.
type State struct {
	ID      string `json:"id"`
	Status  Status `json:"status"`
	Value   string `json:"value,omitempty"`   // if completed
	Message string `json:"message,omitempty"` // if failed
}

// Hello is an adapter's description of itself and of its system.
type Hello struct {
	Version       int       `json:"version"`
	Name          string    `json:"name"`
	System        string    `json:"system"`
	SystemVersion string    `json:"system_version"`
	Promises      Promises  `json:"promises"`
	Shapes        []Shape   `json:"shapes"`
	Settings      []Setting `json:"settings,omitempty"`
	Documentation []string  `json:"documentation,omitempty"` // addresses of the pages that promises and settings come from
}

// Setting is one that an adapter takes.
type Setting struct {
	Name    string `json:"name"`
	Default string `json:"default"`
	About   string `json:"about"`

	// Try has values that may make the system faster. A comparison that tunes tries them.
	Try []string `json:"try,omitempty"`
}

// Shape is something that a workload may need.
type Shape string

// The shapes.
const (
	ShapeSingle  Shape = "single"  // instances of one task
	ShapeGraph   Shape = "graph"   // tasks that need others
	ShapeRepeat  Shape = "repeat"  // Workload.Repeat
	ShapeRetries Shape = "retries" // Task.Fails
)

// Promises are what a system promises with its settings. What is empty is not promised.
type Promises struct {
	Submit     string `json:"submit,omitempty"`    // "durable", "none"
	Resubmit   string `json:"resubmit,omitempty"`  // "once", "none"
	Execution  string `json:"execution,omitempty"` // "at-least-once", "at-most-once"
	Results    string `json:"results,omitempty"`   // "once", "any"
	Order      string `json:"order,omitempty"`     // "submit", "none"
	Attempts   int    `json:"attempts,omitempty"`  // after which a task fails; 0: unlimited
	RecoversMS int64  `json:"recovers_ms,omitempty"`
}

// The words of Promises.
const (
	None        = "none"
	Durable     = "durable"
	Once        = "once"
	Any         = "any"
	AtLeastOnce = "at-least-once"
	AtMostOnce  = "at-most-once"
	InOrder     = "submit"
)

// errNoMessage is a line without a message.
var errNoMessage = errors.New("the line is no message: it has no text under the key pulley")

// ParseRequest reads a line of pulley.
func ParseRequest(line []byte) (r Request, err error) {
	if err = json.Unmarshal(line, &r); err == nil && r.Kind == "" {
		err = errNoMessage
	}
	return r, err
}

// ParseResponse reads a line of an adapter.
func ParseResponse(line []byte) (r Response, err error) {
	if err = json.Unmarshal(line, &r); err != nil {
		return r, explain(err)
	}
	if r.Kind == "" {
		return r, errNoMessage
	}
	if r.Kind == KindHello {
		r.Hello = &Hello{}
		if err = json.Unmarshal(line, r.Hello); err != nil {
			return r, fmt.Errorf("hello: %w", explain(err))
		}
	}
	return r, nil
}

// explain names the field of a value of the wrong type.
func explain(err error) error {
	var wrong *json.UnmarshalTypeError
	if !errors.As(err, &wrong) || wrong.Field == "" {
		return err
	}
	kind := map[reflect.Kind]string{
		reflect.String: "a text", reflect.Int: "a whole number", reflect.Int64: "a whole number", reflect.Slice: "a list", reflect.Map: "an object", reflect.Struct: "an object",
	}[wrong.Type.Kind()]
	value, _, _ := strings.Cut(wrong.Value, " ")
	is := map[string]string{"string": "a text", "array": "a list", "bool": "true or false", "object": "an object", "number": "a number"}[value]
	return fmt.Errorf("%s is %s; write %s", wrong.Field, is, kind)
}

// Line returns the line of a request. The process of open is there even if it is 0.
func (r Request) Line() ([]byte, error) {
	if r.Kind != KindOpen {
		return line(r)
	}
	return line(struct {
		Request
		Process int `json:"process"`
	}{r, r.Process})
}

// Line returns the line of a response.
func (r Response) Line() ([]byte, error) {
	if r.Hello == nil {
		return line(r)
	}
	return line(struct {
		Kind Kind `json:"pulley"`
		*Hello
	}{KindHello, r.Hello})
}

func line(message any) ([]byte, error) {
	text, err := json.Marshal(message)
	if err != nil {
		return nil, err
	}
	if len(text) >= LineBytes {
		return nil, fmt.Errorf("a message of %d bytes is too long for a line of %d", len(text), LineBytes)
	}
	return append(text, '\n'), nil
}
