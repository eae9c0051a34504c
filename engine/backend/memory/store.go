package memory

import (
	"encoding/json"
	"sync"
	"time"

	"github.com/google/uuid"

	"pulley/engine/backend"
	"pulley/engine/backend/state"
	"pulley/engine/plan"
)

// store is what a database would hold. Everything in it is guarded by mu.
type store struct {
	mu        sync.Mutex
	shards    []*shard
	instances map[uuid.UUID]*instance
	listeners map[*listener]struct{}
	space     state.Space
	epoch     time.Time // from which instants are counted

	// token is the last fencing token given. As with a database's sequence, and as with the order of enqueues, a
	// rolled-back call leaves a gap.
	token int64
}

func newStore(shards int, epoch time.Time) *store {
	s := &store{
		shards:    make([]*shard, shards),
		instances: map[uuid.UUID]*instance{},
		listeners: map[*listener]struct{}{},
		space:     state.Space{Rules: state.Rules{KeepDone: true}},
		epoch:     epoch,
	}
	for i := range s.shards {
		s.shards[i] = &shard{number: i}
	}
	return s
}

// wall gives an instant as a time.
func (s *store) wall(at int64) time.Time { return s.epoch.Add(time.Duration(at)) }

// shard orders its node runs by what they wait for. Every run that is not done is in the heap that its place names, or
// among the ready ones, once its time has come.
type shard struct {
	number  int
	ready   state.Heap // claimable, by since when
	waiting state.Heap // for their next attempt, by due time
	leased  state.Heap // by expiry
}

// instance is one instance and all that is stored for it. Nothing is in its tables once it has ended.
type instance struct {
	state.Instance
	shard   *shard
	program *plan.Program

	status  backend.Status
	result  json.RawMessage
	failure *plan.Failure
}

// instanceOf gives the instance of a node run.
func instanceOf(r *state.Run) *instance { return r.Inst.Owner.(*instance) }

// file puts a run into the heap that its place names.
func (sh *shard) file(r *state.Run) {
	r.Move(sh.heap(r.Place))
}

// heap gives the heap of a place, nil for none.
func (sh *shard) heap(p state.Place) *state.Heap {
	switch p {
	case state.Ready:
		return &sh.ready
	case state.Waiting:
		return &sh.waiting
	case state.Leased:
		return &sh.leased
	}
	return nil
}

// promote puts among the ready ones what has become due: retries, and expired leases, whose token stays the current one
// until somebody claims them. Nothing about the run itself changes.
func (sh *shard) promote(now int64) {
	for _, h := range []*state.Heap{&sh.waiting, &sh.leased} {
		for len(*h) > 0 && (*h)[0].Due <= now {
			(*h)[0].Move(&sh.ready)
		}
	}
}
