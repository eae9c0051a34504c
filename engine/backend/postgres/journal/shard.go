package journal

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/jackc/pgx/v5"

	"pulley/engine/backend"
	"pulley/engine/backend/postgres"
	"pulley/engine/backend/postgres/journal/ownership"
	"pulley/engine/backend/state"
)

// tokenBits is how many bits of a token count within an epoch; the epoch stands above them, so that tokens grow
// from owner to owner with nothing durable but the epoch.
const tokenBits = 32

// spanMore is which part of the longest lease on a node run that on a shard is longer, and spanTicks how many times the
// latter is renewed in its length: what is granted between two times fits, without another round trip. The work of an
// owner that has died rests for what the shard's lease is longer, too: so it is little, and renewed often.
const (
	spanMore  = 8
	spanTicks = 2 * spanMore // of a length that is 1 + spanMore times the part
	// renewTries bounds how often one grant has the shard renewed.
	renewTries = 3
)

// shardState is what this backend knows of one. Whoever has the value of free may use the rest.
type shardState struct {
	b      *Backend
	number int
	free   chan struct{} // holds one value while nobody uses the shard

	isReserved bool // it is about to be taken; guarded by the backend's mu

	epoch         atomic.Int64 // of the ownership; zero: it is not owned. Read by the keeper, too
	lastForwarded atomic.Int64 // when its owner, who is another, was last asked for work, on the backend's clock
	until         atomic.Int64 // the ownership's end on the backend's clock, never later than the store's; set by the keeper, too

	tokens        int64 // the last one given
	seq           int64 // of the next event
	space         state.Space
	instances     map[uuid.UUID]*instance
	broken        map[uuid.UUID]error // running instances whose events cannot be applied
	evicted       evictedSet          // running instances that are not in memory
	evictCursor   int                 // where the last look for such has stopped
	nextEvictScan int64               // before which no other is made where memory is full
	ready         state.FIFO
	waiting       state.Heap // for their time
	leased        state.Heap
	pages         pages
	published     int // of the bytes that the instances take, what the backend knows of
	buf           buffers
	params        [][]byte
	spare         []pendingEvent   // memory for the next transaction
	inFlight      *inFlightRequest // the request of another that the shard deals with; nil: it is a call from here

	lost        []ownership.Lease // leases that hold, though what is known of the shard was dropped
	counts      bool              // deliveries that are not in the store are all among what is known of the shard, or in lost
	countsEpoch int64             // the epoch in which lost and counts were so; 0: in none
	named       bool              // the store may name this backend as the owner, whether or not it is known here
}

func newShard(b *Backend, number int) *shardState {
	sh := &shardState{b: b, number: number, free: make(chan struct{}, 1), buf: newBuffers()}
	sh.unlock()
	return sh
}

// lock waits for the use of the shard.
func (sh *shardState) lock(ctx context.Context) error {
	select {
	case <-sh.free:
		return nil
	default:
	}
	if sh.b.clock.Wait(ctx, -1, sh.free) == Ended {
		return ctx.Err()
	}
	return nil
}

func (sh *shardState) unlock() { sh.free <- struct{}{} }

func (sh *shardState) ownership(ctx context.Context) (ownership.ShardView, error) {
	return sh.b.owners.ViewShard(ctx, sh.number)
}

// unlessSeen looks how the store sees the shard, unless that is known.
func (sh *shardState) unlessSeen(ctx context.Context, s *ownership.ShardView) (*ownership.ShardView, error) {
	if s != nil {
		return s, nil
	}
	now, err := sh.ownership(ctx)
	return &now, err
}

// owned says whether the shard may be acted upon. Where the local view of the lease is over it is renewed
// first, and where it was lost, all that was known is dropped.
func (sh *shardState) owned(ctx context.Context) (bool, error) {
	if sh.epoch.Load() == 0 {
		return false, nil
	}
	if sh.b.now() < sh.until.Load() {
		return true, nil
	}
	if err := sh.b.renew(ctx, []*shardState{sh}); err != nil {
		return false, err
	}
	if sh.b.now() < sh.until.Load() {
		return true, nil
	}
	sh.forget()
	return false, nil
}

// acquireShard makes the shard this backend's own if nobody else owns it. Where somebody does, the error is foreign.
func (sh *shardState) acquireShard(ctx context.Context) (bool, error) {
	if ok, err := sh.owned(ctx); ok || err != nil {
		return ok, err
	}
	s, err := sh.ownership(ctx)
	if err != nil {
		return false, err
	}
	if !sh.b.owners.Free(s) {
		return false, foreign{s}
	}
	sent := sh.b.now()
	span := sh.b.span.Load()
	sh.named = true
	epoch, mine, err := sh.acquire(ctx, span, sh.countsEpoch)
	if errors.Is(err, pgx.ErrNoRows) {
		return false, nil // somebody was faster
	}
	if err != nil {
		return false, err
	}
	if !mine {
		sh.lost = nil // what was leased is over
	}
	mine = mine && sh.counts
	sh.counts, sh.countsEpoch = false, epoch // leases that come with the shard are known in this one, also where loading fails
	sh.until.Store(sent + span)
	sh.epoch.Store(epoch) // from here on the lease is renewed, however long loading takes
	sh.b.startBackground()
	switch err := sh.load(ctx, epoch, mine); {
	case errors.Is(err, errLost):
		sh.forget()
		return false, nil
	case err != nil:
		sh.forget()
		return false, fmt.Errorf("taking over shard %d: %w", sh.number, err)
	}
	return sh.owned(ctx)
}

// acquire takes a new epoch, which fences everything sent before, for a number of nanoseconds, and says whether nobody
// else had the shard since this backend had it in an epoch; 0: it never did.
func (sh *shardState) acquire(ctx context.Context, span, known int64) (epoch int64, mine bool, err error) {
	return sh.b.owners.Acquire(ctx, sh.number, known, time.Duration(span))
}

// hasInstance says whether an instance runs in the shard, which is owned.
func (sh *shardState) hasInstance(id uuid.UUID) bool {
	return sh.instances[id] != nil || sh.evicted.by[id] != nil || sh.broken[id] != nil
}

// forget drops all that is known of the shard: it is another's, or what is durable of it has to be looked up.
func (sh *shardState) forget() {
	sh.epoch.Store(0)
	sh.until.Store(0)
	sh.instances, sh.broken, sh.evicted = nil, nil, evictedSet{}
	sh.ready, sh.waiting, sh.leased = state.FIFO{}, nil, nil
	sh.pages, sh.counts = pages{}, false
	sh.space.Bytes = 0
	sh.publish()
}

// suspend drops the shard where the outcome of an append cannot be found out, or of its giving back. The leases on its
// node runs hold if nobody else owns it meanwhile.
func (sh *shardState) suspend() {
	if sh.epoch.Load() == 0 {
		return // it has been, and nothing is known
	}
	lost, counts, known := sh.leases(), sh.counts, sh.epoch.Load()
	sh.forget()
	sh.lost, sh.counts, sh.countsEpoch = lost, counts, known
}

// leases gives those that somebody may hold, in the order of their keys: what is leased, and what was, and nobody has
// taken since. Without a token they tell that the attempt had been delivered, by an earlier owner.
func (sh *shardState) leases() []ownership.Lease {
	var out []ownership.Lease
	for _, inst := range sh.instances {
		inst.Runs.Each(func(_ state.Address, r *state.Run) {
			if r.Token != 0 || r.Counted > r.Noted {
				out = append(out, ownership.Lease{Instance: inst.ID, Key: r.Key, Attempt: r.Attempt, Token: r.Token, Due: r.Due})
			}
		})
	}
	slices.SortFunc(out, func(a, b ownership.Lease) int {
		return cmp.Or(bytes.Compare(a.Instance[:], b.Instance[:]), cmp.Compare(a.Key.Node, b.Key.Node), cmp.Compare(a.Key.Path, b.Key.Path))
	})
	return out
}

// attach gives node runs back to those who hold them.
func (sh *shardState) attach(leases []ownership.Lease) {
	for _, l := range leases {
		inst := sh.instances[l.Instance]
		if inst == nil {
			continue
		}
		r, ok := inst.Runs.Get(state.OfRun(l.Key))
		if !ok || l.Attempt != 0 && l.Attempt != r.Attempt { // its attempt has ended after all
			continue
		}
		if r.Counted = max(r.Noted, 1); l.Token != 0 {
			r.Place, r.Token, r.Due = state.Leased, l.Token, l.Due
		}
	}
}

// release gives the shard back, with the leases on its node runs. Where that fails they hold if nobody else has it meanwhile.
// The store goes by the owner's name: a shard that was suspended, or acquired by a call whose answer did not come, is
// returned as well.
func (sh *shardState) release(ctx context.Context) error {
	if sh.epoch.Load() != 0 {
		sh.suspend()
	}
	if !sh.named {
		return nil
	}
	given, err := sh.b.owners.Release(ctx, sh.number, sh.countsEpoch, sh.lost, sh.counts, sh.b.now())
	if err != nil {
		return postgres.Explain(err)
	}
	sh.named = false
	if given { // else another has the shard, and nothing was handed over
		sh.lost, sh.counts, sh.countsEpoch = nil, false, 0
	}
	return nil
}

// renew renews shards. The local end of a lease is reckoned from before the call.
func (b *Backend) renew(ctx context.Context, held []*shardState) error {
	numbers, epochs := make([]int16, len(held)), make([]int64, len(held))
	by := map[int16]int{}
	for i, sh := range held {
		numbers[i], epochs[i] = int16(sh.number), sh.epoch.Load()
		by[numbers[i]] = i
	}
	sent, span := b.now(), b.span.Load()
	kept, err := b.owners.Renew(ctx, numbers, epochs, time.Duration(span))
	if err != nil {
		return err
	}
	for _, number := range kept {
		i := by[number]
		if sh := held[i]; sh.epoch.Load() == epochs[i] {
			raise(&sh.until, sent+span)
		}
	}
	return nil
}

// raise makes a number greater, and never less.
func raise(n *atomic.Int64, to int64) {
	for was := n.Load(); was < to; was = n.Load() {
		if n.CompareAndSwap(was, to) {
			return
		}
	}
}

// cover gives the instant at which a grant's leases may begin, so that they end before that on the shard does: who takes
// the shard from an owner that is not heard of finds them over (I11). Where they would not, the shard is renewed first.
// After an error, or where that was not enough, the grant leases nothing.
func (sh *shardState) cover(ctx context.Context, grant backend.Grant) (int64, backend.Grant, error) {
	b, lease := sh.b, int64(grant.Lease)
	now := b.now()
	if grant.Max == 0 || now+lease <= sh.until.Load() {
		return now, grant, nil
	}
	raise(&b.span, lease+lease/spanMore)
	for range renewTries { // one that meets the keeper's on the row does not count
		err := b.renew(ctx, []*shardState{sh})
		if now = b.now(); err == nil && now+lease <= sh.until.Load() {
			return now, grant, nil
		}
		if err != nil {
			grant.Max = 0
			return now, grant, err
		}
	}
	grant.Max = 0
	return now, grant, nil
}
