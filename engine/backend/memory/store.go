package memory

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/graph"
	"pulley/engine/plan"
)

// store is what a database would hold. Everything in it is guarded by mu.
type store struct {
	mu        sync.Mutex
	shards    []*shard
	instances map[uuid.UUID]*instance
	listeners map[*listener]struct{}

	// Sequences, as a database's: a rolled-back call leaves a gap.
	token int64 // last fencing token given
	seq   int64 // last place in the order of readiness given
}

func newStore(shards int) *store {
	s := &store{
		shards:    make([]*shard, shards),
		instances: map[uuid.UUID]*instance{},
		listeners: map[*listener]struct{}{},
	}
	for i := range s.shards {
		s.shards[i] = &shard{}
	}
	return s
}

// shard orders its node runs by what they wait for. Every row that is not done is in the heap that its
// place names, and in no other.
type shard struct {
	ready   rowHeap // claimable, by readiness
	waiting rowHeap // for their next attempt, by due time
	leased  rowHeap // by expiry
}

// instance is one instance and all that is stored for it. Nothing is in the tables once it has ended.
type instance struct {
	id      uuid.UUID
	shard   int
	program *plan.Program

	status  backend.Status
	result  json.RawMessage
	failure *plan.Failure

	held
}

// held is what a running instance holds and an ended one does not.
type held struct {
	rows      table[*row]
	readiness table[counter]
	slots     table[value]
	elements  table[map[int]json.RawMessage]
}

func newHeld() held {
	return held{
		rows:      newTable[*row](),
		readiness: newTable[counter](),
		slots:     newTable[value](),
		elements:  newTable[map[int]json.RawMessage](),
	}
}

// value is what a slot holds: one value, or a list and behind it what was appended since, by index.
type value struct {
	base     json.RawMessage
	appended []json.RawMessage
}

// list gives the appended values as the core takes them.
func (v value) list(slot plan.Slot) []plan.Append {
	var out []plan.Append
	for i, a := range v.appended {
		out = append(out, plan.Append{Slot: slot, Index: i, Value: a})
	}
	return out
}

// counter is a barrier's readiness: 0 ≤ completed ≤ required, and the barrier opens once, when they
// become equal.
type counter struct {
	required  int
	completed int
	soft      bool // one of the soft arrivals was counted
}

// place is the heap that a row is in.
type place int

const (
	nowhere place = iota // done, cleared, or its instance ended
	inReady
	inWaiting
	inLeased
)

// row is a node run, from its enqueue until it is cleared or its instance ends.
type row struct {
	inst *instance
	run  graph.Run
	seq  int64 // order of the enqueues
	pos  int   // in its heap
	rowState
}

// rowState is what changes in a row.
type rowState struct {
	place   place
	at      time.Time // when it became ready, is due, or its lease ends
	attempt int       // from 1
	token   int64     // of the lease; zero where nobody holds one
	owner   string    // of the lease
	done    bool
	action  string
	args    []plan.Arg
}

// heap gives the heap of a place, nil for nowhere.
func (sh *shard) heap(p place) *rowHeap {
	switch p {
	case inReady:
		return &sh.ready
	case inWaiting:
		return &sh.waiting
	case inLeased:
		return &sh.leased
	}
	return nil
}

// put gives a row a new state and moves it to where that state belongs.
func (sh *shard) put(r *row, state rowState) {
	if h := sh.heap(r.place); h != nil {
		h.remove(r)
	}
	r.rowState = state
	if h := sh.heap(r.place); h != nil {
		h.add(r)
	}
}
