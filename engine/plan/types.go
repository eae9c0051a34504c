package plan

import (
	"encoding/json"
	"time"

	"pulley/engine/graph"
	"pulley/engine/ir"
)

// Event is what happened to a node run: its action ended, or its barrier opened.
type Event struct {
	Run     graph.Run
	Attempt int             // of the action, from 1; it decides whether a failure is tried again
	Result  json.RawMessage // of a successful action; JSON
	Failure *Failure        // of a failed action; nil otherwise
	Fired   bool            // the run goes on now: its barrier has all its arrivals, or a plan resumes it; Result and Failure are empty
}

// Failure is an error in the workflow's terms.
type Failure struct {
	Type    string `json:"type"`
	Message string `json:"message"`
	Action  string `json:"action"`            // the action's name; empty for an expression
	Pos     ir.Pos `json:"position,omitzero"` // where in the program
}

// Slot is the address of a value in an instance's inbox. A value is written once, and every node to
// which a data edge leads reads it there.
type Slot struct {
	Var   graph.VarID
	Scope graph.Path // empty outside of spreads over functions
}

// Needs is what must be read from the inbox before an event can be planned.
type Needs struct {
	Slots []Slot // not to be changed; sorted, no duplicates; each with what was appended to it; one without a row has no value yet

	// Elements asks for all elements that arrived at the barrier of the event.
	Elements bool
}

// Inbox is what was read. Values that were not written are absent.
type Inbox struct {
	Values   map[Slot]json.RawMessage
	Appended map[Slot][]Append // any order; nil where nothing was
	Elements []Element         // of the barrier, any order
}

// Plan is everything that one event changes. A backend commits it whole or not at all; if the
// event's task is no longer the current one, not at all.
type Plan struct {
	Writes   []Write   // values to put, replacing what the slot held
	Appends  []Append  // values to put behind those of a slot that holds a list
	Elements []Element // values to put into aggregates' inboxes
	Opens    []Open    // barriers whose count became known
	Arrivals []Arrival // readiness increments
	Enqueues []Enqueue // node runs that are ready now

	// Resumes are runs to be stepped as Fired once the rest of the plan has been applied, in the same
	// transaction: the traversal stopped there to read what it needs.
	Resumes []graph.Run

	// Clears take away what runs have left that are over or are cancelled. They never touch the row
	// of a completion that is applied in the same transaction, nor anything that their own plan makes.
	Clears []Clear

	Retry *Retry // the event's run is to be tried again; then the rest of the plan is empty
	End   *End   // the instance is over; then nothing is enqueued
}

// Write is a value for a slot; a nil Value takes away what the slot held.
type Write struct {
	Slot  Slot
	Value json.RawMessage
	Drops bool // values may have been appended to the slot: they go
}

// Append is one more value of a list that stands in a slot: the list is the slot's value and behind it
// all that was appended, by Index from 0. What a loop collects is so written once, and put together
// only where it is read (D12).
type Append struct {
	Slot  Slot
	Index int
	Value json.RawMessage
}

// Clear takes away what stands under a path for the nodes and variables that [Program.Cleared] lists:
// rows whose path, or whose slot's scope, is Path or begins with it and a dot. Queued runs go, leased
// ones are fenced by it, counters and values go.
type Clear struct {
	Region graph.RegionID
	Path   graph.Path

	// AtWork says that runs may still be under way there: they are cancelled. A completion of theirs
	// that is being committed elsewhere may add rows that the clear does not see yet: a store in which
	// that can happen clears again until it finds nothing. Without it everything there has ended.
	AtWork bool
}

// Cleared lists what may have rows in a region.
type Cleared struct {
	Runs     []graph.NodeID // that are enqueued
	Barriers []graph.NodeID // that have counters; those of them that are aggregates have elements
	Vars     []graph.VarID  // that have values or elements under paths in the region
}

// Element is the value of one branch of a spread or parallel.
type Element struct {
	Barrier graph.Run // of the aggregate
	Index   int
	Value   json.RawMessage
}

// Open makes the readiness of a spread's aggregate known, with no arrival yet.
type Open struct {
	Run      graph.Run
	Required int // at least 1
}

// Arrival is one step towards a barrier's required count.
type Arrival struct {
	Run graph.Run

	// Required is the barrier's count, or zero where an Open has set it.
	Required int

	// Soft arrivals at one barrier count once, all together.
	Soft bool

	// Watched arrivals may make something go on before the count is full: see [Program.BarrierEvents].
	Watched bool
}

// Enqueue is a node run that became ready, with its arguments evaluated; or, without an Action, a
// sleep, which nobody runs: once it is due, it is offered like any other run, and completed at once.
type Enqueue struct {
	Run    graph.Run
	Action string
	Args   []Arg
	After  time.Duration // it is not due before; of a sleep only
}

// Arg is an argument, by value or, for a large one, by the slot that holds it. Exactly one of the
// two is set.
type Arg struct {
	Name  string
	Value json.RawMessage
	Ref   *Slot
}

// Retry says that the run is to be offered again with the next attempt number.
type Retry struct {
	After   time.Duration // from now; zero: at once
	Failure Failure       // of the attempt that ended
}

// End is the end of an instance.
type End struct {
	Result  json.RawMessage // where it completed
	Failure *Failure        // where it failed; nil otherwise
}
