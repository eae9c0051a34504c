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

// Core plans for an instance: it is a *plan.Program in all but tests.
type Core interface {
	Needs(ev plan.Event) plan.Needs
	Step(ev plan.Event, in plan.Inbox, jitter float64) (plan.Plan, error)
	BarrierEvents(barrier graph.Run, required, before, after int) []plan.Event
	Cleared(region graph.RegionID) plan.Cleared
	RunName(run graph.Run) string
}

// Instance is what its plans have made of a running instance. Nothing is in its tables once it has ended.
type Instance struct {
	ID       uuid.UUID
	Core     Core
	Owner    any  // what the design knows of the instance besides
	Detached bool // it has ended, or has left memory

	Runs     Table[*Run]
	Barriers Table[*Barrier]
	Slots    Table[Value]

	Bytes int // that it takes in memory, an estimate
}

// Run is a node run from its enqueue on.
type Run struct {
	Inst   *Instance
	Key    graph.Run
	Action string
	Args   []plan.Arg
	Order  uint64 // of the enqueues, among the instances of a space
	RunState

	heap   *Heap // in which it is; nil: in none
	pos    int32 // there
	queued bool  // it is in a FIFO, whether or not it is still ready
}

// RunState is what changes in a run.
type RunState struct {
	Place   Place
	Attempt int32  // from 1
	Counted int32  // deliveries of the attempt so far
	Noted   int32  // the highest such count that is durable, where the design keeps it in memory; else zero
	Due     int64  // when it became ready, is to be handed out, or its lease ends; nanoseconds of the design's clock
	Token   int64  // of the lease, the last one if it is over; zero where nobody has had one
	Holder  string // of the lease, where the design keeps that
}

// Place is what a run waits for.
type Place uint8

// The places.
const (
	NoQueue Place = iota // for nothing: it has ended or was cancelled
	Ready                // for somebody to take it
	Waiting              // for its time
	Leased               // for its completion
)

// Barrier is what has arrived where several must: 0 ≤ Completed ≤ Required, and it opens once, when they become equal.
type Barrier struct {
	Counts
	Elements []json.RawMessage // of an aggregate, by index; nil where none has come
}

// Counts are those of a barrier.
type Counts struct {
	Required  int32 // zero: it is not known yet
	Completed int32
	Soft      bool // one of the soft arrivals was counted
}

// Value is what a slot holds: one value, or a list and behind it what was appended since, by index.
type Value struct {
	Base     json.RawMessage
	Appended []json.RawMessage
}

// list gives the appended values as the core takes them.
func (v Value) list(slot plan.Slot) []plan.Append {
	out := make([]plan.Append, len(v.Appended))
	for i, a := range v.Appended {
		out[i] = plan.Append{Slot: slot, Index: i, Value: a}
	}
	return out
}

// Value reads the whole value of a slot.
func (inst *Instance) Value(s plan.Slot) (json.RawMessage, bool) {
	v, ok := inst.Slots.Get(OfSlot(s))
	if !ok {
		return nil, false
	}
	if len(v.Appended) == 0 {
		return v.Base, true
	}
	whole, err := plan.JoinAppended(v.Base, v.list(s))
	return whole, err == nil // nothing was appended that cannot be joined
}

// AssembleArgs makes the argument object of a run's task, references resolved.
func (r *Run) AssembleArgs() (json.RawMessage, error) {
	return backend.AssembleArgs(r.Args, r.Inst.Value)
}

// RunsInOrder lists the runs that are not over in the order of their enqueues.
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

// What things take in memory besides their values, in bytes: an estimate of Go's own figures with room for tables
// that are not full.
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

// Size adds up what an instance takes in memory: what Bytes should be.
func (inst *Instance) Size() int {
	n := instanceBytes
	inst.Runs.Each(func(_ Address, r *Run) { n += r.size() })
	inst.Barriers.Each(func(_ Address, b *Barrier) { n += b.size() })
	inst.Slots.Each(func(_ Address, v Value) { n += v.size() })
	return n
}
