package journal

import (
	"context"
	"encoding/json"

	"pulley/engine/backend/postgres"
	"pulley/engine/plan"
)

// What things take in memory besides their values, in bytes: an estimate of Go's own figures with room for tables
// that are not full.
const (
	instanceBytes = 400
	runBytes      = 260
	argBytes      = 64
	barrierBytes  = 160
	elementBytes  = 24
	slotBytes     = 120
	eventBytes    = 8
)

// Stats is what a backend has in memory.
type Stats struct {
	Shards    int // that it owns
	Instances int // running ones of theirs that are in memory
	Parked    int // running ones that are not: they wait for their time
	Broken    int // running ones whose events cannot be applied; they rest until they are canceled
	Bytes     int // that the instances take, parked ones too, an estimate
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
			s.Parked += len(sh.lot.heap)
			s.Broken += len(sh.broken)
			s.Bytes += sh.bytes
		}
		sh.unlock()
	}
	return s, nil
}

// full says whether the instances take as much memory as they may.
func (b *Backend) full() bool { return b.bytes.Load() >= int64(b.bytesMax) }

// publish tells the backend what the shard's instances take.
func (sh *shardState) publish() {
	if sh.bytes != sh.published {
		sh.b.bytes.Add(int64(sh.bytes - sh.published))
		sh.published = sh.bytes
	}
}

// grow notes that an instance takes so much more; what a transaction has noted goes back with it (see advance).
func (t *tx) grow(inst *instance, n int) {
	inst.bytes += n
	t.sh.bytes += n
}

// keepBytes has a rollback bring back what an instance takes now.
func (t *tx) keepBytes(inst *instance) {
	if !t.final {
		t.undo = append(t.undo, undo{kind: undoBytes, inst: inst, bytes: inst.bytes})
	}
}

func sizeOfArgs(args []plan.Arg) int {
	n := argBytes * len(args)
	for i := range args {
		n += len(args[i].Value)
	}
	return n
}

func sizeOfValues(values []json.RawMessage) int {
	n := elementBytes * len(values)
	for _, v := range values {
		n += len(v)
	}
	return n
}

func sizeOfRun(r *run) int         { return runBytes + sizeOfArgs(r.args) }
func sizeOfBarrier(b *barrier) int { return barrierBytes + sizeOfValues(b.elements) }
func sizeOfValue(v value) int      { return slotBytes + len(v.base) + sizeOfValues(v.appended) }

// size adds up what an instance takes.
func (inst *instance) size() int {
	n := instanceBytes + eventBytes*len(inst.events)
	inst.runs.each(func(_ address, r *run) { n += sizeOfRun(r) })
	inst.barriers.each(func(_ address, b *barrier) { n += sizeOfBarrier(b) })
	inst.slots.each(func(_ address, v value) { n += sizeOfValue(v) })
	return n
}

// weigh adds up what instances take that were loaded.
func (sh *shardState) weigh() {
	sh.bytes = 0
	for _, inst := range sh.instances {
		inst.bytes = inst.size()
		sh.bytes += inst.bytes
	}
	for _, p := range sh.lot.heap {
		sh.bytes += p.size()
	}
	sh.publish()
}
