package state

import (
	"cmp"
	"encoding/json"
	"slices"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/plan"
)

// Core plans for an instance: a *plan.Program except in tests.
type Core interface {
	Needs(ev plan.Event) plan.Needs
	Step(ev plan.Event, in plan.Inbox, jitter float64) (plan.Plan, error)
	BarrierEvents(barrier graph.Run, required, before, after int) []plan.Event
	Cleared(region graph.RegionID) plan.Cleared
	RunName(run graph.Run) string
}

// Instance is the state of a running instance. Its tables are empty once it has ended.
type Instance struct {
	ID       uuid.UUID
	Core     Core
	Owner    any  // what the design keeps for the instance
	Detached bool // it has ended, or left memory

	HeadStart int64 // of its ready runs, in nanoseconds: see backend.HeadStart

	Runs     Table[*Run]
	Barriers Table[*Barrier]
	Slots    Table[Value]

	Bytes int // estimated memory
}

// Run is a node run from its enqueue on.
type Run struct {
	Inst   *Instance
	Key    graph.Run
	Action string
	Args   []plan.Arg
	Order  uint64 // of the enqueues in a space
	RunState

	heap    *Heap // that holds it; nil: none
	pos     int32 // there
	queued  bool  // in a FIFO, whether or not still ready
	inTurns bool  // in Turns, likewise
}

// RunState is what changes in a run.
type RunState struct {
	Place   Place
	Attempt int32  // from 1
	Counted int32  // deliveries of the attempt
	Noted   int32  // the durable part of Counted, if the design keeps the count in memory; otherwise zero
	Due     int64  // when it became ready, is due, or its lease ends; nanoseconds of the design's clock
	Token   int64  // of the current or last lease; zero: none
	Holder  string // of the lease, if the design keeps that
}

// Place is what a run waits for.
type Place uint8

// The places.
const (
	NoQueue Place = iota // nothing: it has ended or was cancelled
	Ready                // a claim
	Waiting              // its time
	Leased               // its completion
)

// Barrier counts arrivals: 0 ≤ Completed ≤ Required, and it opens once, when they become equal.
type Barrier struct {
	Counts
	Elements []json.RawMessage // of an aggregate, by index; nil: missing
}

// Counts is a barrier's state.
type Counts struct {
	Required  int32 // zero: not known yet
	Completed int32
	Soft      bool // one of the soft arrivals was counted
}

// Value is the content of a slot: a value, or a list with the values appended since.
type Value struct {
	Base     json.RawMessage
	Appended []json.RawMessage
}

func (v Value) list(slot plan.Slot) []plan.Append {
	out := make([]plan.Append, len(v.Appended))
	for i, a := range v.Appended {
		out[i] = plan.Append{Slot: slot, Index: i, Value: a}
	}
	return out
}

// Value returns the whole value of a slot.
func (inst *Instance) Value(s plan.Slot) (json.RawMessage, bool) {
	v, ok := inst.Slots.Get(OfSlot(s))
	if !ok {
		return nil, false
	}
	if len(v.Appended) == 0 {
		return v.Base, true
	}
	whole, err := plan.JoinAppended(v.Base, v.list(s))
	return whole, err == nil // whatever was appended can be joined
}

// AssembleArgs makes the argument object of a run's task, references resolved.
func (r *Run) AssembleArgs() (json.RawMessage, error) {
	return backend.AssembleArgs(r.Args, r.Inst.Value)
}

// RunsInOrder lists the runs that have not ended in the order of their enqueues.
func (inst *Instance) RunsInOrder() []*Run {
	var runs []*Run
	inst.Runs.Each(func(_ Address, r *Run) {
		if r.Place != NoQueue {
			runs = append(runs, r)
		}
	})
	slices.SortFunc(runs, func(a, b *Run) int { return cmp.Compare(a.Order, b.Order) })
	return runs
}

// Memory of things without their values, in bytes: estimated from Go's own figures, with room for tables that are not full.
const (
	instanceBytes = 400
	runBytes      = 260
	argBytes      = 64
	barrierBytes  = 160
	elementBytes  = 24
	slotBytes     = 120
)

func sizeOfValues(values []json.RawMessage) int {
	n := elementBytes * len(values)
	for _, v := range values {
		n += len(v)
	}
	return n
}

func (r *Run) size() int {
	n := runBytes + argBytes*len(r.Args)
	for i := range r.Args {
		n += len(r.Args[i].Value)
	}
	return n
}

func (b *Barrier) size() int { return barrierBytes + sizeOfValues(b.Elements) }
func (v Value) size() int    { return slotBytes + len(v.Base) + sizeOfValues(v.Appended) }

// Size computes what Bytes should be.
func (inst *Instance) Size() int {
	n := instanceBytes
	inst.Runs.Each(func(_ Address, r *Run) { n += r.size() })
	inst.Barriers.Each(func(_ Address, b *Barrier) { n += b.size() })
	inst.Slots.Each(func(_ Address, v Value) { n += v.size() })
	return n
}
