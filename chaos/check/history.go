package check

import (
	"encoding/json"
	"fmt"
	"slices"
)

// Kind says what a line of a history tells.
type Kind string

// The kinds of events, with the fields that each of them has beside the common ones. Run stands for
// Node and Path.
const (
	// Submitted: the store has acknowledged a new instance.
	Submitted Kind = "submitted"
	// Enqueued: a node run became ready; a barrier that opens and runs within the same transaction
	// counts as well. Run.
	Enqueued Kind = "enqueued"
	// Arrived: one arrival was counted at a barrier. Run, and the counter after it: Completed and
	// Required. An arrival that does not count, the second of a soft group, is not recorded.
	Arrived Kind = "arrived"
	// Element: the value of one branch of a spread or parallel arrived at its aggregate. Run of the
	// aggregate, Index, Value.
	Element Kind = "element"
	// Gathered: an aggregate put its list together. Run, Value, and Required: how many elements the
	// spread or parallel has.
	Gathered Kind = "gathered"
	// Leased: a worker was given an attempt. Run, Token, Attempt.
	Leased Kind = "leased"
	// Started: a worker begins an attempt. Run, Token, Attempt, Action, Args.
	Started Kind = "started"
	// Offered: a completion is about to be sent to the store. Run, Token.
	Offered Kind = "offered"
	// Answered: the store's answer to a completion. Run, Token, Attempt, Answer; Again where the
	// completion was a failure that is tried again; Error where it was a failure that is not.
	Answered Kind = "answered"
	// Ended: the call returned that ended the instance. Status, Result or Error.
	Ended Kind = "ended"
	// CalledOff: what a node run had left was taken away before it had ended, since an error was caught
	// beside it. Run.
	CalledOff Kind = "called_off"
	// Canceling: somebody is about to ask for the instance to be canceled.
	Canceling Kind = "canceling"
	// Looked: what a lookup of the instance gave. Status, Result or Error. A Status of "running" is
	// one that has not ended, an empty one an instance that the store does not know.
	Looked Kind = "looked"
	// Inspected: the rows that the store holds for the instance, or, without an Instance, for all of
	// them, by table; the instances themselves are not counted. Whoever inspects does so after the store
	// has swept. Rows.
	Inspected Kind = "inspected"
)

// Answer is what the store says to a completion.
type Answer string

// The answers.
const (
	AnswerApplied Answer = "applied"
	AnswerStale   Answer = "stale"
	AnswerRefused Answer = "refused" // it cannot be applied, whatever is done
	AnswerUnknown Answer = "unknown" // the connection was lost around the commit
)

// Running is the Status of a looked-up instance that has not ended.
const Running Status = "running"

// Event is one line of a history. Which fields it has depends on its Kind.
type Event struct {
	Kind     Kind   `json:"kind"`
	AtNS     int64  `json:"at_ns,omitempty"`  // nanoseconds since any moment that all recorders of a history share
	Source   string `json:"source,omitempty"` // who recorded it
	Instance string `json:"instance,omitempty"`

	Node    string `json:"node,omitempty"`
	Path    string `json:"path,omitempty"` // iterations and indices from the outside in, joined by dots
	Token   int64  `json:"token,omitempty"`
	Attempt int    `json:"attempt,omitempty"` // from 1

	Action string          `json:"action,omitempty"`
	Args   json.RawMessage `json:"args,omitempty"` // a JSON object

	Answer Answer `json:"answer,omitempty"`
	Again  bool   `json:"again,omitempty"`

	Completed int `json:"completed,omitempty"`
	Required  int `json:"required,omitempty"`

	Index int             `json:"index,omitempty"`
	Value json.RawMessage `json:"value,omitempty"`

	Status Status          `json:"status,omitempty"`
	Result json.RawMessage `json:"result,omitempty"`
	Error  *Error          `json:"error,omitempty"`

	Rows map[string]int `json:"rows,omitempty"`
}

// History is what was recorded of a run, in the order of recording. The event of line n has index
// n-1.
type History []Event

// kinds lists all kinds, and for each whether its events belong to a node run and to an attempt.
var kinds = map[Kind]struct{ run, attempt bool }{
	Submitted: {},
	Enqueued:  {run: true},
	Arrived:   {run: true},
	Element:   {run: true},
	Gathered:  {run: true},
	Leased:    {run: true, attempt: true},
	Started:   {run: true, attempt: true},
	Offered:   {run: true, attempt: true},
	Answered:  {run: true, attempt: true},
	CalledOff: {run: true},
	Canceling: {},
	Ended:     {},
	Looked:    {},
	Inspected: {},
}

// Validate says what is wrong with an event: a kind that does not exist, or a field that its kind
// cannot do without.
func (e *Event) Validate() error {
	needs, known := kinds[e.Kind]
	lacks := func(field string) error { return fmt.Errorf("an event %q lacks its %s", e.Kind, field) }
	switch {
	case !known:
		return fmt.Errorf("there is no kind of event %q", e.Kind)
	case e.Instance == "" && e.Kind != Inspected:
		return lacks("instance")
	case needs.run && e.Node == "":
		return lacks("node")
	case needs.attempt && e.Token == 0:
		return lacks("token")
	case e.Kind == Arrived && (e.Completed <= 0 || e.Required <= 0):
		return lacks("counts (completed and required, from 1)")
	case (e.Kind == Element || e.Kind == Gathered) && len(e.Value) == 0:
		return lacks("value")
	case e.Kind == Element && e.Index < 0:
		return fmt.Errorf("an event %q has a negative index", e.Kind)
	case e.Kind == Started && (e.Action == "" || len(e.Args) == 0):
		return lacks("action and args")
	case e.Kind == Inspected && e.Rows == nil:
		return lacks("rows")
	}
	return e.validateWords()
}

// validateWords checks the fields that take one of a few words.
func (e *Event) validateWords() error {
	switch e.Kind {
	case Answered:
		if !slices.Contains([]Answer{AnswerApplied, AnswerStale, AnswerRefused, AnswerUnknown}, e.Answer) {
			return fmt.Errorf("there is no answer %q", e.Answer)
		}
	case Ended:
		if !terminal(e.Status) {
			return fmt.Errorf("an instance does not end with status %q", e.Status)
		}
	case Looked:
		if !terminal(e.Status) && e.Status != Running && e.Status != "" {
			return fmt.Errorf("an instance has no status %q", e.Status)
		}
	}
	return nil
}

// terminal tells whether an instance with the status has ended.
func terminal(s Status) bool { return s == Completed || s == Failed || s == Canceled }

// run names the node run of an event.
func (e *Event) run() runKey { return runKey{e.Instance, e.Node, e.Path} }

// end gives what an Ended or Looked event tells.
func (e *Event) end() End { return End{Status: e.Status, Result: e.Result, Error: e.Error} }

// runKey names a node run across instances.
type runKey struct{ instance, node, path string }

func (k runKey) String() string {
	if k.path == "" {
		return k.node
	}
	return k.node + "[" + k.path + "]"
}
