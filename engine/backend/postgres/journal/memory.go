package journal

import (
	"context"

	"pulley/engine/backend/postgres"
)

// eventBytes is what the seq of an event takes in memory.
const eventBytes = 8

// Stats is what a backend has in memory.
type Stats struct {
	Shards    int // that it owns
	Instances int // running ones of theirs that are in memory
	Evicted   int // running ones that are not: they wait for their time
	Broken    int // running ones whose events cannot be applied; they rest until they are canceled
	Bytes     int // that the instances take, evicted ones too, an estimate
	BytesMax  int // beyond which what is submitted is stored and begun later
}

// Stats counts. It waits for calls that use a shard.
func (b *Backend) Stats(ctx context.Context) (Stats, error) {
	s := Stats{BytesMax: b.bytesMax}
	for _, sh := range b.shards {
		if err := sh.lock(ctx); err != nil {
			return s, postgres.Explain(err)
		}
		if sh.epoch.Load() != 0 {
			s.Shards++
			s.Instances += len(sh.instances)
			s.Evicted += len(sh.evicted.heap)
			s.Broken += len(sh.broken)
			s.Bytes += sh.space.Bytes
		}
		sh.unlock()
	}
	return s, nil
}

// full says whether the instances take as much memory as they may.
func (b *Backend) full() bool { return b.bytes.Load() >= int64(b.bytesMax) }

// publish tells the backend what the shard's instances take.
func (sh *shardState) publish() {
	if sh.space.Bytes != sh.published {
		sh.b.bytes.Add(int64(sh.space.Bytes - sh.published))
		sh.published = sh.space.Bytes
	}
}

// size adds up what an instance takes.
func (inst *instance) size() int { return inst.Size() + eventBytes*len(inst.events) }

// addLoaded adds up what instances take that were loaded.
func (sh *shardState) addLoaded() {
	sh.space.Bytes = 0
	for _, inst := range sh.instances {
		inst.Bytes = inst.size()
		sh.space.Bytes += inst.Bytes
	}
	for _, p := range sh.evicted.heap {
		sh.space.Bytes += p.size()
	}
	sh.publish()
}
