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

// keep starts what goes on in the background: prolonging, answering others, spreading the shards.
func (b *Backend) keep() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.kept || b.closed {
		return
	}
	b.kept = true
	b.beside(b.keeper)
	b.beside(b.server)
	b.beside(b.listener)
}

// topic is what those say who ask the owner of a shard, by its number, who answer that, see forward.Desk.Hear, and engines that
// have come or gone.
const (
	topic   = "owner"
	engines = "engines"
)

// listener hears of what others ask and answer.
func (b *Backend) listener() {
	heard := func(payload string) {
		switch {
		case payload == engines:
			postgres.Nudge(b.news)
			return
		case b.desk.Hear(payload):
			return
		}
		if shard, err := strconv.Atoi(payload); err == nil && shard >= 0 && shard < len(b.shards) && b.shards[shard].epoch.Load() == 0 {
			return
		}
		postgres.Nudge(b.mail)
	}
	for {
		err := b.store.ListenTo(b.life, topic, heard)
		b.store.Problem(b.life, "listening for requests of other engines", err) // until it can, the keeper looks by itself
		if !b.rest(b.life, b.tick()) {
			return
		}
	}
}

// tick is the pause between two rounds of the keeper.
func (b *Backend) tick() time.Duration { return min(time.Duration(b.span.Load())/spanTicks, tickMax) }

// keeper renews the leases on the shards until the backend is closed, and never waits for a shard that is in use. A lease that it
// cannot renew runs out here before it does in the store.
func (b *Backend) keeper() {
	next := b.now() + int64(b.tick())
	for {
		b.renewHeld()
		b.look()
		switch b.clock.Wait(b.life, b.left(next), b.news) {
		case Ended:
			return
		case Rested:
			next = b.now() + int64(b.tick())
		default:
			b.wakeAll() // there may be shards to take
		}
	}
}

// renewHeld prolongs the shards that are owned.
func (b *Backend) renewHeld() {
	if held := b.held(); len(held) > 0 {
		ctx, cancel := b.clock.Within(b.life, b.lease)
		defer cancel()
		b.store.Problem(b.life, "renewing the leases on shards", b.renew(ctx, held))
	}
}

// server answers what others ask, and gives back shards that are others' part.
func (b *Backend) server() {
	tick := b.tick()
	next := b.now() + int64(tick)
	for {
		switch b.clock.Wait(b.life, b.left(next), b.mail) {
		case Ended:
			return
		case Rested:
			next = b.now() + int64(tick)
			b.tend(b.life)
		}
		b.spread(b.life)
		b.serve(b.life)
	}
}

// left is how long it is until an instant; not below zero.
func (b *Backend) left(until int64) time.Duration { return time.Duration(max(until-b.now(), 0)) }

// held lists the shards that are owned.
func (b *Backend) held() []*shardState {
	var held []*shardState
	for _, sh := range b.shards {
		if sh.epoch.Load() != 0 {
			held = append(held, sh)
		}
	}
	return held
}

// look finds out how many shards are this backend's part. An engine that does not look for work any more has no
// part where another does.
//
// The end of the backend does not cut it off: a server could note the engine after Close has had it forgotten, and the
// others would leave shards to an engine that is gone, for a lease.
func (b *Backend) look() {
	ctx, cancel := b.clock.Within(context.WithoutCancel(b.life), min(b.lease, closeTimeout))
	defer cancel()
	claimed := b.claimed.Load()
	looks := claimed > 0 && b.now()-claimed < int64(b.lease)
	others, free, err := b.owners.See(ctx, b.lease, looks)
	if err != nil {
		b.store.Problem(b.life, "looking for other engines", err)
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
	switch held := len(b.held()); {
	case held > fair:
		postgres.Nudge(b.mail) // to give back what is too much
	case held < fair && free > 0:
		b.wakeAll() // nobody else tells of shards whose owner is gone, and of what is ready in them
	}
}

// spread gives shards back that are more than this backend's part, all at once; the others hear of each.
func (b *Backend) spread(ctx context.Context) {
	held := b.held()
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
		if s.epoch.Load() != 0 || s.wanted {
			count++
		}
	}
	sh.wanted = count < int(b.fair.Load())
	return sh.wanted
}

// reserved ends a reservation.
func (b *Backend) reserved(sh *shardState) {
	b.mu.Lock()
	defer b.mu.Unlock()
	sh.wanted = false
}

// tend loads what is due soon and parks what only waits, in all shards that are owned. What the store refuses now is
// tried again at the next tick.
func (b *Backend) tend(ctx context.Context) {
	for _, sh := range b.held() {
		if ctx.Err() == nil {
			b.store.Problem(ctx, "loading what is due", sh.tend(ctx))
		}
	}
}

// serve answers what others ask, in all shards that are owned.
func (b *Backend) serve(ctx context.Context) {
	for _, sh := range b.held() {
		if ctx.Err() != nil {
			return
		}
		adopted, err := sh.adoptLocked(ctx)
		b.store.Problem(ctx, "taking up what other engines have stored", err)
		if adopted > 0 {
			b.wakeAll()
		}
		b.serveShard(ctx, sh)
	}
}

// adoptLocked takes up what others have stored.
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
