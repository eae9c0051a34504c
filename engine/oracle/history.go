package oracle

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"pulley/engine/reference"
)

// Kind is the kind of a line of a history.
type Kind string

// The kinds of events, with their fields beyond the common ones. Run stands for Node and Path.
const (
	// Began: a recorder starts, and with it a process of that Source. Every written history starts with one. Version.
	Began Kind = "began"
	// Submitting: a new instance is about to be sent to the store. Call; Bad if it is meant to be refused, or to fail.
	Submitting Kind = "submitting"
	// Submitted: the store has answered a submission. Call; Answer, by default AnswerApplied. Applied and duplicate acknowledge
	// the instance.
	Submitted Kind = "submitted"
	// Enqueued: a node run became ready; so does a barrier that opens and runs within the same transaction. Run.
	Enqueued Kind = "enqueued"
	// Arrived: a barrier counted an arrival. Run, and the counter after it: Completed and Required. An arrival that does not
	// count, the second of a soft group, is not recorded.
	Arrived Kind = "arrived"
	// Element: the value of one branch of a spread or parallel arrived at its aggregate. Run of the aggregate, Index, Value.
	Element Kind = "element"
	// Gathered: an aggregate built its list. Run, Value, and Required: the number of elements.
	Gathered Kind = "gathered"
	// Claiming: the store is about to be asked for work. Call.
	Claiming Kind = "claiming"
	// Claimed: it has answered; Leased reports what it returned. Call, Answer: applied, unknown or none.
	Claimed Kind = "claimed"
	// Leased: a worker received an attempt. Run, Token, Attempt; Owner, and UntilNS, when the owner's own view of the lease ends.
	Leased Kind = "leased"
	// Started: a worker starts an attempt. Run, Token, Attempt, Action, Args.
	Started Kind = "started"
	// Renewing: the store is about to be asked to renew a lease. Run, Token, Call.
	Renewing Kind = "extending"
	// Renewed: it has answered. Run, Token, Call, Answer: applied if the lease is held, with its new UntilNS, otherwise stale,
	// unknown or none.
	Renewed Kind = "extended"
	// Released: the owner stops relying on its lease, before its end. It is recorded before the store can know. Run, Token.
	Released Kind = "released"
	// Offered: a completion is about to be sent to the store. Run, Token, Call; Error if it is a failure; Bad if it is meant to
	// be refused.
	Offered Kind = "offered"
	// Answered: the store's answer to a completion. Run, Token, Attempt, Answer; Again if the completion was a failure that is
	// retried; Error if it was one that is not.
	Answered Kind = "answered"
	// Ended: the call that ended the instance has returned. Status, Result or Error.
	Ended Kind = "ended"
	// RunCancelled: what a node run had left was removed before it ended, since a failure was caught. Run.
	RunCancelled Kind = "called_off"
	// Canceling: the cancellation of the instance is about to be requested.
	Canceling Kind = "canceling"
	// LookedUp: the result of looking up the instance, or of cancelling it. Status, Result or Error. A Status of "running" is one
	// that has not ended, an empty one an instance that the store does not know.
	LookedUp Kind = "looked"
	// FaultBegan: a fault begins. Bad names it; Process, if it hits one.
	FaultBegan Kind = "struck"
	// Killed: a process is about to be killed. It is recorded before the signal. Process.
	Killed Kind = "killed"
	// SessionsClosed: a process has ended, and the store has no session of it any more: its requests have been applied by now, or
	// never will be. Process.
	SessionsClosed Kind = "gone"
	// Inspected: the rows that the store holds, after a sweep, for the instance or, without an Instance, for all of them, by
	// table, without the instances themselves. Rows.
	Inspected Kind = "inspected"
)

// Answer is the store's answer to a completion.
type Answer string

// The answers.
const (
	AnswerApplied   Answer = "applied"
	AnswerStale     Answer = "stale"
	AnswerRefused   Answer = "refused"   // it can never be applied
	AnswerUnknown   Answer = "unknown"   // the connection was lost around the commit
	AnswerDuplicate Answer = "duplicate" // of a submission: the instance existed already
	AnswerNone      Answer = "none"      // nothing was applied; it may be offered again
)

// version is that of the written form. It changes when a reader of the previous version would misread it.
const version = 1

// Running is the Status of a looked-up instance that has not ended.
const Running reference.Status = "running"

// Event is one line of a history. Its Kind determines its fields.
type Event struct {
	Kind     Kind   `json:"kind"`
	Version  int    `json:"version,omitempty"`
	AtNS     int64  `json:"at_ns,omitempty"`    // since a moment that all recorders of a history share
	SinceNS  int64  `json:"since_ns,omitempty"` // of an answer: when its call began; zero: unknown
	Source   string `json:"source,omitempty"`   // the recorder: one incarnation of one process
	Process  string `json:"process,omitempty"`  // the process concerned; empty: the source
	Owner    string `json:"owner,omitempty"`    // for whom the store leases; empty: the process
	Call     int64  `json:"call,omitempty"`     // numbers a process's calls, from 1
	Instance string `json:"instance,omitempty"`

	Node    string `json:"node,omitempty"`
	Path    string `json:"path,omitempty"` // iterations and indices, outermost first, joined by dots
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

	Rows map[string]int `json:"rows,omitzero"` // empty: none

	Bad string `json:"bad,omitempty"` // why it is meant to go wrong; empty: it is not
}

// History is what was recorded of a run, in the order of recording. The event of line n has index n-1.
type History []Event

type traits struct {
	instance, run, attempt bool
	process                bool
	answers                []Answer
}

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

// Validate reports an unknown kind or a missing field.
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

func terminal(s reference.Status) bool {
	return s == reference.Completed || s == reference.Failed || s == reference.Canceled
}

func (e *Event) process() string { return cmp.Or(e.Process, e.Source) }

func (e *Event) holder() holder { return holder{e.process(), e.Owner} }

// holder is an owner in one incarnation of one process.
type holder struct{ process, owner string }

func (h holder) String() string { return cmp.Or(h.owner, h.process, "somebody") }

func (e *Event) run() runKey { return runKey{e.Instance, e.Node, e.Path} }

func (e *Event) end() reference.End {
	return reference.End{Status: e.Status, Result: e.Result, Error: e.Error}
}

type runKey struct{ instance, node, path string }

func (k runKey) String() string {
	if k.path == "" {
		return k.node
	}
	return k.node + "[" + k.path + "]"
}

// quotedMax is in characters: at most a line.
const quotedMax = 200
