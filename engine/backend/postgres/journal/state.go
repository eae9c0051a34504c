package journal

import (
	"encoding/json"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/plan"
)

// instance is a running instance as its shard's owner knows it: what its events, applied in their order, have
// made of it. Nothing of an instance that has ended is in memory.
type instance struct {
	id       uuid.UUID
	program  *plan.Program
	workflow int32 // the program's number in the store
	gone     bool  // ended, or found not to be new after all

	runs     table[*run]
	barriers table[*barrier]
	slots    table[value]

	bytes    int     // that it takes in memory, an estimate
	events   []int64 // the seqs of what is stored of it
	look     int     // at how many events it is asked next whether the state is to be written down
	snapshot int64   // the seq of the event that has its state, when it was loaded; zero: none
}

// run is a node run from its enqueue until its end.
type run struct {
	inst   *instance
	key    graph.Run
	action string
	args   []plan.Arg
	order  uint64 // of the enqueues, in a shard
	heap   heapName
	pos    int32 // in its heap
	rank   int64 // by which the heap orders it
	queued bool  // in the queue of what is ready; it may have left that state since
	runState
}

// runState is what changes in a run.
type runState struct {
	place   place
	attempt int32
	due     int64 // when it is to be handed out, or its lease ends; nanoseconds of the backend's clock
	token   int64 // of the lease, the last one if it is over; zero where nobody has had one
}

// place is what a run waits for.
type place uint8

const (
	over    place = iota // for nothing: it has ended or was called off
	ready                // for somebody to take it
	waiting              // for its time
	leased               // for its completion
)

// barrier is what has arrived where several must: 0 ≤ completed ≤ required, and it opens once, when they
// become equal.
type barrier struct {
	required, completed int32
	soft                bool              // one of the soft arrivals was counted
	elements            []json.RawMessage // of an aggregate, by index
}

// value is what a slot holds: one value, or a list and behind it what was appended since, by index.
type value struct {
	base     json.RawMessage
	appended []json.RawMessage
}

// list gives the appended values as the core takes them.
func (v value) list(slot plan.Slot) []plan.Append {
	out := make([]plan.Append, len(v.appended))
	for i, a := range v.appended {
		out[i] = plan.Append{Slot: slot, Index: i, Value: a}
	}
	return out
}

// slot reads a value of the inbox, whole.
func (inst *instance) slot(s plan.Slot) (json.RawMessage, bool) {
	v, ok := inst.slots.get(ofSlot(s))
	if !ok {
		return nil, false
	}
	if len(v.appended) == 0 {
		return v.base, true
	}
	whole, err := plan.JoinAppended(v.base, v.list(s))
	return whole, err == nil // nothing was appended that cannot be joined
}

// task gives a leased run to its holder.
func (r *run) task(b *Backend) (backend.Task, error) {
	args, err := backend.AssembleArgs(r.args, r.inst.slot)
	return backend.Task{
		Lease:   backend.Lease{Key: backend.Key{Instance: r.inst.id, Run: r.key}, Token: r.token},
		Program: r.inst.program,
		Action:  r.action,
		Args:    args,
		Attempt: int(r.attempt),
		Expires: b.wall(r.due),
	}, err
}
