package oracle

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"pulley/engine/reference"
)

// Kind says what a line of a history tells.
type Kind string

// The kinds of events, with the fields that each of them has beside the common ones. Run stands for
// Node and Path.
const (
	// Began: a recorder begins, and with it a process of that Source. Every written history starts with
	// one. Version.
	Began Kind = "began"
	// Submitting: a new instance is about to be sent to the store. Call; Bad where it is meant to be
	// refused, or to fail.
	Submitting Kind = "submitting"
	// Submitted: the store has answered a submission. Call; Answer, where none is AnswerApplied. Applied
	// and duplicate acknowledge the instance.
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
	// Claiming: the store is about to be asked for work. Call.
	Claiming Kind = "claiming"
	// Claimed: it has answered; what it gave is told by Leased. Call, Answer: applied, unknown or none.
	Claimed Kind = "claimed"
	// Leased: a worker was given an attempt. Run, Token, Attempt; Owner, and UntilNS, when the owner's own
	// view of the lease ends.
	Leased Kind = "leased"
	// Started: a worker begins an attempt. Run, Token, Attempt, Action, Args.
	Started Kind = "started"
	// Renewing: the store is about to be asked to renew a lease. Run, Token, Call.
	Renewing Kind = "extending"
	// Renewed: it has answered. Run, Token, Call, Answer: applied where the lease is held, with its new
	// UntilNS, stale where it is not, unknown or none.
	Renewed Kind = "extended"
	// Released: the owner acts on its lease no more, before its time is over. It is recorded before the
	// store can hear of it. Run, Token.
	Released Kind = "released"
	// Offered: a completion is about to be sent to the store. Run, Token, Call; Error where it is a
	// failure; Bad where it is meant to be refused.
	Offered Kind = "offered"
	// Answered: the store's answer to a completion. Run, Token, Attempt, Answer; Again where the
	// completion was a failure that is tried again; Error where it was a failure that is not.
	Answered Kind = "answered"
	// Ended: the call returned that ended the instance. Status, Result or Error.
	Ended Kind = "ended"
	// RunCancelled: what a node run had left was taken away before it had ended, since an error was caught
	// beside it. Run.
	RunCancelled Kind = "called_off"
	// Canceling: somebody is about to ask for the instance to be canceled.
	Canceling Kind = "canceling"
	// LookedUp: what a lookup of the instance gave, or a request to cancel it. Status, Result or Error. A
	// Status of "running" is one that has not ended, an empty one an instance that the store does not know.
	LookedUp Kind = "looked"
	// FaultBegan: a fault begins. Bad says which; Process, where it is one's.
	FaultBegan Kind = "struck"
	// Killed: a process is about to be killed. It is recorded before the signal is sent. Process.
	Killed Kind = "killed"
	// SessionsClosed: a process has ended, and the store has no session of it any more: what it had asked for has
	// happened by now, or never will. Process.
	SessionsClosed Kind = "gone"
	// Inspected: the rows that the store holds for the instance, or, without an Instance, for all of
	// them, by table; the instances themselves are not counted. Whoever inspects does so after the store
	// has swept. Rows.
	Inspected Kind = "inspected"
)

// Answer is what the store says to a completion.
type Answer string

// The answers.
const (
	AnswerApplied   Answer = "applied"
	AnswerStale     Answer = "stale"
	AnswerRefused   Answer = "refused"   // it cannot be applied, whatever is done
	AnswerUnknown   Answer = "unknown"   // the connection was lost around the commit
	AnswerDuplicate Answer = "duplicate" // of a submission: the instance was there already
	AnswerNone      Answer = "none"      // nothing of it happened; it may be offered again
)

// version is that of the written form. It changes when a reader of the version before would misread it.
const version = 1

// Running is the Status of a looked-up instance that has not ended.
const Running reference.Status = "running"

// Event is one line of a history. Which fields it has depends on its Kind.
type Event struct {
	Kind     Kind   `json:"kind"`
	Version  int    `json:"version,omitempty"`
	AtNS     int64  `json:"at_ns,omitempty"`    // nanoseconds since any moment that all recorders of a history share
	SinceNS  int64  `json:"since_ns,omitempty"` // of an answer: when its call began; zero: not known
	Source   string `json:"source,omitempty"`   // who recorded it: one life of one process
	Process  string `json:"process,omitempty"`  // whom it is about; empty: the source
	Owner    string `json:"owner,omitempty"`    // for whom the store leases; empty: the process
	Call     int64  `json:"call,omitempty"`     // numbers the calls of a process, from 1: what came with one call
	Instance string `json:"instance,omitempty"`

	Node    string `json:"node,omitempty"`
	Path    string `json:"path,omitempty"` // iterations and indices from the outside in, joined by dots
	Token   int64  `json:"token,omitempty"`
	Attempt int    `json:"attempt,omitempty"`  // from 1
	UntilNS int64  `json:"until_ns,omitempty"` // on the clock of AtNS

	Action string          `json:"action,omitempty"`
	Args   json.RawMessage `json:"args,omitempty"` // a JSON object

	Answer Answer `json:"answer,omitempty"`
	Again  bool   `json:"again,omitempty"`

	Completed int `json:"completed,omitempty"`
	Required  int `json:"required,omitempty"`

	Index int             `json:"index,omitempty"`
	Value json.RawMessage `json:"value,omitempty"`

	Status reference.Status `json:"status,omitempty"`
	Result json.RawMessage  `json:"result,omitempty"`
	Error  *reference.Error `json:"error,omitempty"`

	Rows map[string]int `json:"rows,omitzero"` // empty: there were none

	Bad string `json:"bad,omitempty"` // why it is meant to go wrong; empty: it is not
}

// History is what was recorded of a run, in the order of recording. The event of line n has index
// n-1.
type History []Event

// traits says what the events of a kind cannot do without.
type traits struct {
	instance, run, attempt bool // what they belong to
	process                bool
	answers                []Answer
}

// kinds lists all kinds.
var kinds = map[Kind]traits{
	Began:          {},
	Submitting:     {instance: true},
	Submitted:      {instance: true, answers: []Answer{"", AnswerApplied, AnswerDuplicate, AnswerRefused, AnswerUnknown, AnswerNone}},
	Enqueued:       {instance: true, run: true},
	Arrived:        {instance: true, run: true},
	Element:        {instance: true, run: true},
	Gathered:       {instance: true, run: true},
	Claiming:       {},
	Claimed:        {answers: []Answer{AnswerApplied, AnswerUnknown, AnswerNone}},
	Leased:         {instance: true, run: true, attempt: true},
	Started:        {instance: true, run: true, attempt: true},
	Renewing:       {instance: true, run: true, attempt: true},
	Renewed:        {instance: true, run: true, attempt: true, answers: []Answer{AnswerApplied, AnswerStale, AnswerUnknown, AnswerNone}},
	Released:       {instance: true, run: true, attempt: true},
	Offered:        {instance: true, run: true, attempt: true},
	Answered:       {instance: true, run: true, attempt: true, answers: []Answer{AnswerApplied, AnswerStale, AnswerRefused, AnswerUnknown, AnswerNone}},
	RunCancelled:   {instance: true, run: true},
	Canceling:      {instance: true},
	Ended:          {instance: true},
	LookedUp:       {instance: true},
	Inspected:      {},
	FaultBegan:     {},
	Killed:         {process: true},
	SessionsClosed: {process: true},
}

// Validate says what is wrong with an event: a kind that does not exist, or a field that its kind
// cannot do without.
func (e *Event) Validate() error {
	needs, known := kinds[e.Kind]
	lacks := func(field string) error { return fmt.Errorf("an event %q lacks its %s", e.Kind, field) }
	switch {
	case !known:
		return fmt.Errorf("there is no kind of event %q", e.Kind)
	case e.Kind == Began && e.Version != version:
		return fmt.Errorf("the history has version %d; this program reads version %d", e.Version, version)
	case needs.instance && e.Instance == "":
		return lacks("instance")
	case needs.run && e.Node == "":
		return lacks("node")
	case needs.attempt && e.Token == 0:
		return lacks("token")
	case needs.process && e.Process == "":
		return lacks("process")
	case (e.Kind == Claiming || e.Kind == Claimed) && e.Call == 0:
		return lacks("call")
	case e.Kind == FaultBegan && e.Bad == "":
		return lacks("bad, which says what happens")
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
	return e.validateWords(needs)
}

// validateWords checks the fields that take one of a few words.
func (e *Event) validateWords(needs traits) error {
	switch {
	case needs.answers != nil && !slices.Contains(needs.answers, e.Answer):
		return fmt.Errorf("there is no answer %q of an event %q", e.Answer, e.Kind)
	case e.Kind == Ended && !terminal(e.Status):
		return fmt.Errorf("an instance does not end with status %q", e.Status)
	case e.Kind == LookedUp && !terminal(e.Status) && e.Status != Running && e.Status != "":
		return fmt.Errorf("an instance has no status %q", e.Status)
	}
	return nil
}

// terminal tells whether an instance with the status has ended.
func terminal(s reference.Status) bool {
	return s == reference.Completed || s == reference.Failed || s == reference.Canceled
}

// process names the process whose act an event is, or whom it is about.
func (e *Event) process() string { return cmp.Or(e.Process, e.Source) }

// holder names who holds the lease that an event tells of.
func (e *Event) holder() holder { return holder{e.process(), e.Owner} }

// holder is an owner in one life of one process: what came after a crash is another.
type holder struct{ process, owner string }

func (h holder) String() string { return cmp.Or(h.owner, h.process, "somebody") }

// run names the node run of an event.
func (e *Event) run() runKey { return runKey{e.Instance, e.Node, e.Path} }

// end gives what an Ended or Looked event tells.
func (e *Event) end() reference.End {
	return reference.End{Status: e.Status, Result: e.Result, Error: e.Error}
}

// runKey names a node run across instances.
type runKey struct{ instance, node, path string }

func (k runKey) String() string {
	if k.path == "" {
		return k.node
	}
	return k.node + "[" + k.path + "]"
}

// quotedMax keeps what is quoted to a line, in characters.
const quotedMax = 200
