package journal

import (
	"context"
	"strconv"
	"time"

	"pulley/engine/backend/postgres"
	"pulley/internal/pgstore"
)

const (
	closeTimeout = 5 * time.Second
	// tickMax bounds the pause between two checks for requests, in case a notification is lost.
	tickMax = time.Second
	// yieldFor is how long an engine that has something leased in a free shard leaves the shard to others, if it exceeds its
	// share. It checks every yieldPause.
	yieldFor   = 250 * time.Millisecond
	yieldPause = 20 * time.Millisecond
)

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

// topic names the channel between engines. A payload is the number of a shard with a new request, an answer (see
// forward.Forwarder.HandleNotification), or engines: an engine has started or exited.
const (
	topic   = "owner"
	engines = "engines"
)

func (b *Backend) listenLoop() {
	heard := func(payload string) {
		switch {
		case payload == engines:
			pgstore.Signal(b.peersChanged)
			return
		case b.desk.HandleNotification(payload):
			return
		}
		if shard, err := strconv.Atoi(payload); err == nil && shard >= 0 && shard < len(b.shards) && b.shards[shard].epoch.Load() == 0 {
			return
		}
		pgstore.Signal(b.requestHeard)
	}
	for {
		err := b.store.ListenTo(b.background, topic, heard)
		b.store.Problem(b.background, "listening for requests of other engines", err) // until it succeeds, serveLoop polls
		if !b.pause(b.background, b.tick()) {
			return
		}
	}
}

func (b *Backend) tick() time.Duration { return min(time.Duration(b.span.Load())/spanTicks, tickMax) }

// renewLoop never waits for a shard in use. A lease that it cannot renew expires here before it does in the store.
func (b *Backend) renewLoop() {
	next := b.now() + int64(b.tick())
	for {
		b.renewOwned()
		b.updateFairShare()
		switch b.clock.Wait(b.background, b.remaining(next), b.peersChanged) {
		case pgstore.Ended:
			return
		case pgstore.TimedOut:
			next = b.now() + int64(b.tick())
		default:
			b.wakeAll() // shards may be free
		}
	}
}

func (b *Backend) renewOwned() {
	if held := b.ownedShards(); len(held) > 0 {
		ctx, cancel := b.clock.Within(b.background, b.lease)
		defer cancel()
		b.store.Problem(b.background, "renewing the leases on shards", b.renew(ctx, held))
	}
}

// serveLoop answers requests, evicts and reloads instances, and releases excess shards.
func (b *Backend) serveLoop() {
	tick := b.tick()
	next := b.now() + int64(tick)
	for {
		switch b.clock.Wait(b.background, b.remaining(next), b.requestHeard) {
		case pgstore.Ended:
			return
		case pgstore.TimedOut:
			next = b.now() + int64(tick)
			b.evictAndReloadOwned(b.background)
		}
		b.releaseExcess(b.background)
		b.answerRequests(b.background)
	}
}

func (b *Backend) remaining(until int64) time.Duration { return time.Duration(max(until-b.now(), 0)) }

func (b *Backend) ownedShards() []*shardState {
	var held []*shardState
	for _, sh := range b.shards {
		if sh.epoch.Load() != 0 {
			held = append(held, sh)
		}
	}
	return held
}

// updateFairShare computes how many shards are this engine's share. An engine that no longer claims has no share while another
// one claims.
//
// It continues if the backend is closed. Otherwise the server could note the engine after Close has removed it, and others would
// leave shards to an exited engine for the length of a lease.
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
		pgstore.Signal(b.requestHeard) // to release the excess
	case held < fair && free > 0:
		b.wakeAll() // nobody else notifies of free shards
	}
}

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
		b.store.Problem(ctx, "giving a shard to another engine", sh.release(ctx)) // on an error the shard is free when its lease expires
		sh.unlock()
	}
}

// reserve reports whether a free shard would be within this engine's share, and reserves it until it is taken, so that concurrent
// calls on other shards do not take too many.
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

func (b *Backend) unreserve(sh *shardState) {
	b.mu.Lock()
	defer b.mu.Unlock()
	sh.isReserved = false
}

// evictAndReloadOwned ignores what the store refuses: it is tried again at the next tick.
func (b *Backend) evictAndReloadOwned(ctx context.Context) {
	for _, sh := range b.ownedShards() {
		if ctx.Err() == nil {
			b.store.Problem(ctx, "loading what is due", sh.evictAndReload(ctx))
		}
	}
}

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
