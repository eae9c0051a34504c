package journal

import (
	"context"

	"pulley/engine/backend/postgres"
)

// eventBytes is the memory of one event's seq.
const eventBytes = 8

// Stats counts what a backend has in memory.
type Stats struct {
	Shards    int // owned ones
	Instances int // running ones in memory
	Evicted   int // running ones that wait, evicted
	Broken    int // running ones whose events cannot be applied; they stay until they are cancelled
	Bytes     int // estimated memory of the instances, evicted ones included
	BytesMax  int // beyond it, new instances are stored and started later
}

// Stats waits for calls that use a shard.
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

func (b *Backend) full() bool { return b.bytes.Load() >= int64(b.bytesMax) }

// publish updates Backend.bytes.
func (sh *shardState) publish() {
	if sh.space.Bytes != sh.published {
		sh.b.bytes.Add(int64(sh.space.Bytes - sh.published))
		sh.published = sh.space.Bytes
	}
}

func (inst *instance) size() int { return inst.Size() + eventBytes*len(inst.events) }

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
