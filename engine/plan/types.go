package plan

import (
	"encoding/json"
	"time"

	"pulley/engine/graph"
	"pulley/engine/ir"
)

// Event is what the core plans for: a node run's action has ended, its barrier has opened, or it is resumed.
type Event struct {
	Run     graph.Run
	Attempt int             // from 1; decides about a retry
	Result  json.RawMessage // JSON of a successful action
	Failure *Failure
	Fired   bool // a continuation: the barrier has opened, or a plan resumes the run; Result and Failure are empty
}

// Failure is an error in the workflow's terms.
type Failure struct {
	Type    string `json:"type"`
	Message string `json:"message"`
	Action  string `json:"action"` // empty for an expression
	Pos     ir.Pos `json:"position,omitzero"`
}

// Slot is the address of a value in an instance's inbox. A value is written once; all its readers read it there.
type Slot struct {
	Var   graph.VarID
	Scope graph.Path // empty outside of spreads over functions
}

// Needs is what must be read from the inbox to plan an event.
type Needs struct {
	Slots []Slot // read-only; sorted, no duplicates; with appended values; a slot without a row has no value yet

	// Elements requests all elements at the event's barrier.
	Elements bool
}

// Inbox is what was read. Missing values are absent.
type Inbox struct {
	Values   map[Slot]json.RawMessage
	Appended map[Slot][]Append // in any order; nil: nothing appended
	Elements []Element         // of the barrier, in any order
}

// Plan is everything that one event changes. A backend commits it whole, or not at all if the event's task is no longer
// current.
type Plan struct {
	Writes   []Write
	Appends  []Append  // values appended to lists in slots
	Elements []Element // values for aggregates' inboxes
	Opens    []Open    // barriers whose count became known
	Arrivals []Arrival
	Enqueues []Enqueue

	// Resumes are runs to step as Fired once the rest of the plan has been applied, in the same transaction: the traversal
	// stopped there to read more.
	Resumes []graph.Run

	// Clears remove what finished or cancelled runs have left. They never touch the row of a completion applied in the same
	// transaction, nor what their own plan makes.
	Clears []Clear

	Retry *Retry // the event's run is retried; then the rest of the plan is empty
	End   *End   // the instance ends; then nothing is enqueued
}

// Write sets a slot's value; a nil Value removes it.
type Write struct {
	Slot  Slot
	Value json.RawMessage
	Drops bool // values may have been appended to the slot: remove them
}

// Append adds a value to the list in a slot: the list is the slot's value followed by all appended ones, by Index from 0. So a
// loop writes each collected value once, and a read puts them together (D12).
type Append struct {
	Slot  Slot
	Index int
	Value json.RawMessage
}

// Clear removes what the nodes and variables of [Program.Cleared] have under a path: rows whose path, or slot's scope, is Path
// or begins with it and a dot. Queued runs, counters and values are removed, leased runs are fenced.
type Clear struct {
	Region graph.RegionID
	Path   graph.Path

	// AtWork reports that runs may still be under way there: they are cancelled. A concurrent commit of their completions may
	// add rows that the clear does not see. A store in which that can happen clears again until it finds nothing. Without
	// AtWork everything there has ended.
	AtWork bool
}

// Cleared lists what may have rows in a region.
type Cleared struct {
	Runs     []graph.NodeID
	Barriers []graph.NodeID // nodes with counters; aggregates also have elements
	Vars     []graph.VarID  // variables with values or elements under paths in the region
}

// Element is the value of one branch of a spread or parallel.
type Element struct {
	Barrier graph.Run
	Index   int
	Value   json.RawMessage
}

// Open sets the required count of a spread's aggregate, before any arrival.
type Open struct {
	Run      graph.Run
	Required int // at least 1
}

// Arrival is one step towards a barrier's required count.
type Arrival struct {
	Run graph.Run

	// Required is the barrier's count, or zero if an Open has set it.
	Required int

	// Soft arrivals at one barrier count once altogether.
	Soft bool

	// Watched arrivals may start something before the count is full: see [Program.BarrierEvents].
	Watched bool
}

// Enqueue is a ready node run with its arguments evaluated. Without an Action it is a sleep: once due, it is offered like any
// other run, and completed at once.
type Enqueue struct {
	Run    graph.Run
	Action string
	Args   []Arg
	After  time.Duration // due only then; of a sleep only
}

// Arg is an argument, by value or, if large, by the slot that holds it. Exactly one is set.
type Arg struct {
	Name  string
	Value json.RawMessage
	Ref   *Slot
}

// Retry queues the run again with the next attempt number.
type Retry struct {
	After   time.Duration // from now; zero: at once
	Failure Failure
}

// End is the end of an instance.
type End struct {
	Result  json.RawMessage
	Failure *Failure
}
