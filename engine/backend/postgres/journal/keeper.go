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
)

// keep starts what goes on in the background: prolonging, answering others, spreading the shards.
func (b *Backend) keep() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.kept || b.closed {
		return
	}
	b.kept = true
	b.tasks.Go(b.keeper)
	b.tasks.Go(b.server)
	b.tasks.Go(b.listener)
}

// topic is what those say who ask the owner of a shard.
const topic = "owner"

// listener hears of what others ask.
func (b *Backend) listener() {
	heard := func(payload string) {
		if shard, err := strconv.Atoi(payload); err == nil && shard >= 0 && shard < len(b.shards) && b.shards[shard].epoch.Load() == 0 {
			return
		}
		select {
		case b.mail <- struct{}{}:
		default: // the keeper has not seen the last one yet
		}
	}
	for {
		_ = b.store.ListenTo(b.life, topic, heard) // where it cannot, the keeper looks by itself
		if !rest(b.life, b.tick()) {
			return
		}
	}
}

// tick is the pause between two rounds of the keeper: a lease is prolonged three times over.
func (b *Backend) tick() time.Duration { return min(b.lease/3, tickMax) }

// rest waits, and says whether the context still lives.
func rest(ctx context.Context, pause time.Duration) bool {
	timer := time.NewTimer(pause)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-ctx.Done():
		return false
	}
}

// keeper prolongs the shards until the backend is closed, and never waits for one that is in use. Its errors are
// those of the store, which calls run into by themselves; a lease that it cannot prolong runs out here before it
// does there.
func (b *Backend) keeper() {
	for rest(b.life, b.tick()) {
		ctx, cancel := context.WithTimeout(b.life, b.lease)
		if held := b.held(); len(held) > 0 {
			_ = b.renew(ctx, held)
		}
		b.look(ctx)
		cancel()
	}
}

// server answers what others ask, and gives back shards that are others' part.
func (b *Backend) server() {
	ticker := time.NewTicker(b.tick())
	defer ticker.Stop()
	for {
		select {
		case <-b.life.Done():
			return
		case <-b.mail:
		case <-ticker.C:
			b.spread(b.life)
			b.tend(b.life)
		}
		b.serve(b.life)
	}
}

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
func (b *Backend) look(ctx context.Context) {
	claimed := b.claimed.Load()
	looks := claimed > 0 && b.now()-claimed < int64(b.lease)
	var others int
	if err := b.store.Pool.QueryRow(ctx, seeOwnerSQL, b.name, b.lease.Microseconds(), looks).Scan(&others); err != nil {
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
}

// spread gives a shard back if there are more than this backend's part.
func (b *Backend) spread(ctx context.Context) {
	held := b.held()
	if len(held) <= int(b.fair.Load()) {
		return
	}
	sh := held[len(held)-1]
	if sh.lock(ctx) != nil {
		return
	}
	defer sh.unlock()
	if err := sh.release(ctx); err == nil {
		_ = b.store.Notify(ctx)
	}
}

// tend loads what is due soon and parks what only waits, in all shards that are owned. What the store refuses now is
// tried again at the next tick.
func (b *Backend) tend(ctx context.Context) {
	for _, sh := range b.held() {
		if ctx.Err() == nil {
			_ = sh.tend(ctx)
		}
	}
}

// serve answers what others ask, in all shards that are owned.
func (b *Backend) serve(ctx context.Context) {
	for _, sh := range b.held() {
		if ctx.Err() != nil {
			return
		}
		if adopted, err := sh.adoptLocked(ctx); err == nil && adopted > 0 {
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
