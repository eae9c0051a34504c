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
	"pulley/engine/backend/postgres/journal/internal/ownership"
	"pulley/engine/backend/state"
	"pulley/internal/pgstore"
)

// tokenBits is the number of token bits that count within an epoch. The epoch stands above them, so that tokens grow from owner
// to owner though only the epoch is durable.
const tokenBits = 32

// A shard's lease is longer than the longest lease on a node run by 1/spanMore of that, and is renewed spanTicks times within its
// length: so a lease granted between two renewals fits. The excess delays the takeover after an owner dies; so it is short.
const (
	spanMore  = 8
	spanTicks = 2 * spanMore // the length is 1 + spanMore parts
	// renewTries bounds the renewals of the shard for one grant.
	renewTries = 3
	// releaseTries bounds the tries of one release.
	releaseTries = 3
)

// shardState is what this backend knows of one shard. A goroutine that has received from free may use the other fields.
type shardState struct {
	b      *Backend
	number int
	free   chan struct{} // holds one value while the shard is unused

	isReserved bool // a call is about to take the shard; guarded by Backend.mu

	epoch         atomic.Int64 // of the ownership; zero: not owned. The renew loop reads it, too
	lastForwarded atomic.Int64 // last claim forwarded to the shard's owner
	until         atomic.Int64 // end of the shard's lease here, never later than in the store; the renew loop sets it, too

	tokens        int64 // the last one issued
	seq           int64 // of the next event
	space         state.Space
	instances     map[uuid.UUID]*instance
	broken        map[uuid.UUID]error // running instances whose events cannot be applied
	evicted       evictedSet          // running instances that are not in memory
	evictCursor   int                 // where the last scan for evictable instances stopped
	nextEvictScan int64               // no earlier scan when memory is full
	ready         state.FIFO
	turns         *state.Turns // of what is ready; nil: nobody claims by turns
	withoutTurns  int          // claims by time since the last one by turns
	waiting       state.Heap
	leased        state.Heap
	pages         pages
	published     int // the bytes included in Backend.bytes
	buf           buffers
	params        [][]byte
	spare         []pendingEvent   // memory for the next transaction
	inFlight      *inFlightRequest // the forwarded request being executed; nil: the call is local

	lost        []ownership.Lease // leases that hold, though the shard was dropped from memory
	counts      bool              // every delivery that the store lacks is in memory or in lost
	countsEpoch int64             // the epoch for which lost and counts hold; 0: none
	named       bool              // the store may name this backend as the owner
}

func newShard(b *Backend, number int) *shardState {
	sh := &shardState{b: b, number: number, free: make(chan struct{}, 1), buf: newBuffers()}
	sh.unlock()
	return sh
}

func (sh *shardState) lock(ctx context.Context) error {
	select {
	case <-sh.free:
		return nil
	default:
	}
	if sh.b.clock.Wait(ctx, -1, sh.free) == pgstore.Ended {
		return ctx.Err()
	}
	return nil
}

func (sh *shardState) unlock() { sh.free <- struct{}{} }

func (sh *shardState) ownership(ctx context.Context) (ownership.ShardView, error) {
	return sh.b.owners.ViewShard(ctx, sh.number)
}

func (sh *shardState) unlessSeen(ctx context.Context, s *ownership.ShardView) (*ownership.ShardView, error) {
	if s != nil {
		return s, nil
	}
	now, err := sh.ownership(ctx)
	return &now, err
}

// owned reports whether this backend may act on the shard. It renews a lease that has expired in the local view. If the lease was
// lost, it forgets the shard.
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
	sh.suspend() // the later epoch may come from an abandoned call of this backend
	return false, nil
}

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
		return false, nil // another engine was faster
	}
	if err != nil {
		return false, err
	}
	if !mine {
		sh.lost = nil // the old leases have expired
	}
	mine = mine && sh.counts
	sh.counts, sh.countsEpoch = false, epoch // leases that come with the shard belong to this epoch, also if loading fails
	sh.until.Store(sent + span)
	sh.epoch.Store(epoch) // from here on the renew loop renews the lease, however long loading takes
	sh.b.startBackground()
	err = sh.load(ctx, epoch, mine)
	if err != nil {
		sh.abandonLoad()
	}
	switch {
	case errors.Is(err, errLost):
		return false, nil
	case err != nil:
		return false, fmt.Errorf("taking over shard %d: %w", sh.number, err)
	}
	return sh.owned(ctx)
}

// abandonLoad drops the shard from memory. The leases that came with it are in lost, or in memory already.
func (sh *shardState) abandonLoad() {
	if sh.counts {
		sh.suspend()
		return
	}
	sh.forget()
}

// acquire takes a new epoch for a span in nanoseconds, which fences everything sent before. mine reports that no other owner had
// the shard since the epoch known; 0: this backend never had it.
func (sh *shardState) acquire(ctx context.Context, span, known int64) (epoch int64, mine bool, err error) {
	return sh.b.owners.Acquire(ctx, sh.number, known, time.Duration(span))
}

func (sh *shardState) hasInstance(id uuid.UUID) bool {
	return sh.instances[id] != nil || sh.evicted.by[id] != nil || sh.broken[id] != nil
}

// forget drops the shard from memory, because another engine owns it or its durable state must be read again.
func (sh *shardState) forget() {
	sh.epoch.Store(0)
	sh.until.Store(0)
	sh.instances, sh.broken, sh.evicted = nil, nil, evictedSet{}
	sh.ready, sh.turns, sh.waiting, sh.leased = state.FIFO{}, nil, nil, nil
	sh.pages, sh.counts = pages{}, false
	sh.space.Bytes = 0
	sh.publish()
}

// suspend drops the shard from memory when the outcome of an append, or of a release, is unknown. The leases on its node runs
// hold unless another engine takes the shard.
func (sh *shardState) suspend() {
	if sh.epoch.Load() == 0 {
		return
	}
	lost, counts, known := sh.leases(), sh.counts, sh.epoch.Load()
	sh.forget()
	sh.lost, sh.counts, sh.countsEpoch = lost, counts, known
}

// leases lists, in key order, leased node runs, and expired leases that nobody has claimed since. A lease without a token only
// records that an earlier owner delivered the attempt.
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

// release returns the shard with its leases. If it fails, they hold unless another engine takes the shard. It returns what the store
// says is this owner's, also a shard that was suspended, or whose acquisition was not answered. The store goes by the epoch too: a
// release whose connection was lost may arrive late, when this backend has acquired the shard anew, and must not free that.
func (sh *shardState) release(ctx context.Context) error {
	if sh.epoch.Load() != 0 {
		sh.suspend()
	}
	if !sh.named {
		return nil
	}
	for range releaseTries { // an acquisition that was not answered may change the epoch in between
		s, err := sh.ownership(ctx)
		if err != nil {
			return postgres.Explain(err)
		}
		if s.Owner != sh.b.owners.Name { // another engine has the shard, and nothing is handed over
			sh.named = false
			return nil
		}
		given, err := sh.b.owners.Release(ctx, sh.number, s.Epoch, sh.countsEpoch, sh.lost, sh.counts, sh.b.now())
		if err != nil {
			return postgres.Explain(err)
		}
		if given {
			sh.named = false
			sh.lost, sh.counts, sh.countsEpoch = nil, false, 0
			return nil
		}
	}
	return fmt.Errorf("releasing shard %d: its epoch changed %d times; it is free when its lease ends", sh.number, releaseTries)
}

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

func raise(n *atomic.Int64, to int64) {
	for was := n.Load(); was < to; was = n.Load() {
		if n.CompareAndSwap(was, to) {
			return
		}
	}
}

// cover returns the instant at which a grant's leases begin, so that they end before the shard's lease does: an engine that takes
// the shard over finds them expired (I11). It renews the shard if needed. On an error, or if that is not enough, the returned
// grant leases nothing.
func (sh *shardState) cover(ctx context.Context, grant backend.Grant) (int64, backend.Grant, error) {
	b, lease := sh.b, int64(grant.Lease)
	now := b.now()
	if grant.Max == 0 || now+lease <= sh.until.Load() {
		return now, grant, nil
	}
	raise(&b.span, lease+lease/spanMore)
	for range renewTries { // a renewal that meets the renew loop's on the row does not count
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
