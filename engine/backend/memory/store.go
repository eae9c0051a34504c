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

// store is what a database would hold; mu guards all of it.
type store struct {
	mu        sync.Mutex
	shards    []*shard
	instances map[uuid.UUID]*instance
	listeners map[*listener]struct{}
	schedules schedules
	limits    map[string]*backend.StoredLimit
	admitted  map[string]map[uuid.UUID]time.Time // by limit: when instances got their places
	signals   signals
	space     state.Space
	epoch     time.Time // the zero of instants

	// token is the last fencing token issued. As with a database's sequence, and with the order of enqueues, a rolled-back call
	// leaves a gap.
	token int64
}

func newStore(shards int, epoch time.Time) *store {
	s := &store{
		shards:    make([]*shard, shards),
		instances: map[uuid.UUID]*instance{},
		listeners: map[*listener]struct{}{},
		limits:    map[string]*backend.StoredLimit{},
		admitted:  map[string]map[uuid.UUID]time.Time{},
		signals:   newSignals(),
		space:     state.Space{Rules: state.Rules{KeepDone: true}},
		epoch:     epoch,
	}
	for i := range s.shards {
		s.shards[i] = &shard{number: i}
	}
	return s
}

func (s *store) wall(at int64) time.Time { return s.epoch.Add(time.Duration(at)) }

// shard queues its node runs. Every run that is not done is in the heap of its place, or in ready once it is due.
type shard struct {
	number  int
	ready   state.Heap // claimable, by the time of readiness less the head start
	waiting state.Heap // by due time
	leased  state.Heap // by expiry
}

// instance is an instance with all that is stored for it. Its tables are empty once it has ended.
type instance struct {
	state.Instance
	shard   *shard
	program *plan.Program

	status  backend.Status
	result  json.RawMessage
	failure *plan.Failure
}

func instanceOf(r *state.Run) *instance { return r.Inst.Owner.(*instance) }

func (sh *shard) file(r *state.Run) {
	if r.Place == state.Ready {
		r.MoveReady(&sh.ready)
		return
	}
	r.Move(sh.heap(r.Place))
}

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

// promote moves due runs to ready: retries, and expired leases, whose token stays current until the next claim. The run's state
// does not change.
func (sh *shard) promote(now int64) {
	for _, h := range []*state.Heap{&sh.waiting, &sh.leased} {
		for len(*h) > 0 && (*h)[0].Due <= now {
			(*h)[0].MoveReady(&sh.ready)
		}
	}
}
