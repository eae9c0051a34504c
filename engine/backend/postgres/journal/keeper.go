package journal

import (
	"context"
	"strconv"
	"time"

	"pulley/engine/backend/postgres"
)

const (
	// closeTimeout bounds giving shards back at the end.
	closeTimeout = 5 * time.Second
	// tickMax is the longest pause between two looks for what others ask, should nobody have told of it.
	tickMax = time.Second
	// yieldFor is how long a shard that would be more than one's part is left to others by who has something leased
	// there, and yieldPause is between two looks.
	yieldFor   = 250 * time.Millisecond
	yieldPause = 20 * time.Millisecond
)

// startBackground starts what runs in the background: renewing, answering others, spreading the shards.
func (b *Backend) startBackground() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.started || b.closed {
		return
	}
	b.started = true
	b.runInBackground(b.renewLoop)
	b.runInBackground(b.serveLoop)
	b.runInBackground(b.listenLoop)
}

// topic is what those say who ask the owner of a shard, by its number, who answer that, see forward.Forwarder.Hear, and engines that
// have come or gone.
const (
	topic   = "owner"
	engines = "engines"
)

// listenLoop hears of what others ask and answer.
func (b *Backend) listenLoop() {
	heard := func(payload string) {
		switch {
		case payload == engines:
			postgres.Signal(b.peersChanged)
			return
		case b.desk.HandleNotification(payload):
			return
		}
		if shard, err := strconv.Atoi(payload); err == nil && shard >= 0 && shard < len(b.shards) && b.shards[shard].epoch.Load() == 0 {
			return
		}
		postgres.Signal(b.requestHeard)
	}
	for {
		err := b.store.ListenTo(b.background, topic, heard)
		b.store.Problem(b.background, "listening for requests of other engines", err) // until it can, the keeper looks by itself
		if !b.pause(b.background, b.tick()) {
			return
		}
	}
}

// tick is the pause between two rounds of the keeper.
func (b *Backend) tick() time.Duration { return min(time.Duration(b.span.Load())/spanTicks, tickMax) }

// renewLoop renews the leases on the shards until the backend is closed, and never waits for a shard that is in use. A lease that it
// cannot renew runs out here before it does in the store.
func (b *Backend) renewLoop() {
	next := b.now() + int64(b.tick())
	for {
		b.renewOwned()
		b.updateFairShare()
		switch b.clock.Wait(b.background, b.remaining(next), b.peersChanged) {
		case Ended:
			return
		case TimedOut:
			next = b.now() + int64(b.tick())
		default:
			b.wakeAll() // there may be shards to take
		}
	}
}

// renewOwned renews the shards that are owned.
func (b *Backend) renewOwned() {
	if held := b.ownedShards(); len(held) > 0 {
		ctx, cancel := b.clock.Within(b.background, b.lease)
		defer cancel()
		b.store.Problem(b.background, "renewing the leases on shards", b.renew(ctx, held))
	}
}

// serveLoop answers what others ask, and returns shards that are others' part.
func (b *Backend) serveLoop() {
	tick := b.tick()
	next := b.now() + int64(tick)
	for {
		switch b.clock.Wait(b.background, b.remaining(next), b.requestHeard) {
		case Ended:
			return
		case TimedOut:
			next = b.now() + int64(tick)
			b.evictAndReloadOwned(b.background)
		}
		b.releaseExcess(b.background)
		b.answerRequests(b.background)
	}
}

// remaining is how long it is until an instant; not below zero.
func (b *Backend) remaining(until int64) time.Duration { return time.Duration(max(until-b.now(), 0)) }

// ownedShards lists the shards that are owned.
func (b *Backend) ownedShards() []*shardState {
	var held []*shardState
	for _, sh := range b.shards {
		if sh.epoch.Load() != 0 {
			held = append(held, sh)
		}
	}
	return held
}

// updateFairShare finds out how many shards are this backend's part. An engine that does not look for work any more has no
// part where another does.
//
// The end of the backend does not cut it off: a server could note the engine after Close has had it forgotten, and the
// others would leave shards to an engine that is gone, for a lease.
func (b *Backend) updateFairShare() {
	ctx, cancel := b.clock.Within(context.WithoutCancel(b.background), min(b.lease, closeTimeout))
	defer cancel()
	claimed := b.claimed.Load()
	looks := claimed > 0 && b.now()-claimed < int64(b.lease)
	others, free, err := b.owners.See(ctx, b.lease, looks)
	if err != nil {
		b.store.Problem(b.background, "looking for other engines", err)
		return
	}
	fair := len(b.shards)
	switch {
	case others > 0 && looks:
		fair = (len(b.shards) + others) / (others + 1)
	case others > 0:
		fair = 0
	}
	b.fair.Store(int32(fair))
	switch held := len(b.ownedShards()); {
	case held > fair:
		postgres.Signal(b.requestHeard) // to give back what is too much
	case held < fair && free > 0:
		b.wakeAll() // nobody else tells of shards whose owner is gone, and of what is ready in them
	}
}

// releaseExcess gives shards back that are more than this backend's part, all at once; the others hear of each.
func (b *Backend) releaseExcess(ctx context.Context) {
	held := b.ownedShards()
	fair := int(b.fair.Load())
	if len(held) <= fair {
		return
	}
	for _, sh := range held[fair:] {
		if sh.lock(ctx) != nil {
			return
		}
		b.store.Problem(ctx, "giving a shard to another engine", sh.release(ctx)) // else it is free when its lease is over
		sh.unlock()
	}
}

// reserve says whether a shard that is free would be of this backend's part; then it stays reserved until it is
// taken, so that calls on other shards, side by side, do not take more.
func (b *Backend) reserve(sh *shardState) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	count := 0
	for _, s := range b.shards {
		if s.epoch.Load() != 0 || s.isReserved {
			count++
		}
	}
	sh.isReserved = count < int(b.fair.Load())
	return sh.isReserved
}

// unreserve ends a reservation.
func (b *Backend) unreserve(sh *shardState) {
	b.mu.Lock()
	defer b.mu.Unlock()
	sh.isReserved = false
}

// evictAndReloadOwned loads what is due soon and evicts what only waits, in all shards that are owned. What the store refuses now is
// tried again at the next tick.
func (b *Backend) evictAndReloadOwned(ctx context.Context) {
	for _, sh := range b.ownedShards() {
		if ctx.Err() == nil {
			b.store.Problem(ctx, "loading what is due", sh.evictAndReload(ctx))
		}
	}
}

// answerRequests answers what others ask, in all shards that are owned.
func (b *Backend) answerRequests(ctx context.Context) {
	for _, sh := range b.ownedShards() {
		if ctx.Err() != nil {
			return
		}
		adopted, err := sh.adoptLocked(ctx)
		b.store.Problem(ctx, "taking up what other engines have stored", err)
		if adopted > 0 {
			b.wakeAll()
		}
		b.answerShardRequests(ctx, sh)
	}
}

// adoptLocked adopts what others have stored.
func (sh *shardState) adoptLocked(ctx context.Context) (int, error) {
	if err := sh.lock(ctx); err != nil {
		return 0, err
	}
	defer sh.unlock()
	if ok, err := sh.owned(ctx); !ok {
		return 0, err
	}
	n, err := sh.adopt(ctx)
	return n, postgres.Explain(err)
}
