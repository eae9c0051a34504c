package push

import (
	"cmp"
	"context"
	"encoding/binary"
	"sync"
	"sync/atomic"
	"time"

	"pulley/internal/pgstore"
)

// commitSlots assigns commit slots, in each shard one per concurrent commit, until the commit's outcome is known.
type commitSlots struct {
	backend   int64         // random id
	retention time.Duration // of slot rows
	number    atomic.Int64
	mu        sync.Mutex
	free      [][]int32 // by shard
	unused    []int32   // by shard: the first unused index
}

type commitSlot struct {
	index  int32
	number int64
}

func newCommitSlots(store *pgstore.Store) *commitSlots {
	id := store.Clock.NewID()
	return &commitSlots{
		backend: int64(binary.BigEndian.Uint64(id[8:])), retention: cmp.Or(store.CommitSlotRetention, commitSlotRetention),
		free: make([][]int32, store.Shards()), unused: make([]int32, store.Shards()),
	}
}

func (m *commitSlots) acquire(shard int) int32 {
	m.mu.Lock()
	defer m.mu.Unlock()
	if n := len(m.free[shard]); n > 0 {
		slot := m.free[shard][n-1]
		m.free[shard] = m.free[shard][:n-1]
		return slot
	}
	m.unused[shard]++
	return m.unused[shard] - 1
}

// release frees a slot. It is not called for one whose last transaction may still be in flight.
func (m *commitSlots) release(shard int, slot int32) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.free[shard] = append(m.free[shard], slot)
}

// next numbers a commit, above all before.
func (m *commitSlots) next(slot int32) commitSlot { return commitSlot{slot, m.number.Add(1)} }

// stale reads which completions of a commit were stale; took reports whether it was applied.
func (b *Backend) stale(ctx context.Context, shard int, m commitSlot) (ords map[int32]bool, took bool, err error) {
	rows, err := b.store.Pool.Query(ctx, commitSlotSQL, shard, b.slots.backend, m.index, m.number)
	if err != nil {
		return nil, false, err
	}
	defer rows.Close()
	for rows.Next() {
		took, ords = true, map[int32]bool{}
		for list := pgstore.ReadArray(rows.RawValues()[0]); list.Len() > 0; {
			ords[list.Int4()] = true
		}
	}
	return ords, took, rows.Err()
}

type owners struct {
	mu      sync.Mutex
	numbers map[string]int32
}

// ownersMax is the size at which the cache is cleared.
const ownersMax = 1000

// owner returns the id of an owner, which it stores if new.
func (b *Backend) owner(ctx context.Context, name string) (int32, error) {
	o := &b.owners
	o.mu.Lock()
	number, ok := o.numbers[name]
	o.mu.Unlock()
	if ok {
		return number, nil
	}
	if err := b.store.Pool.QueryRow(ctx, ownerSQL, name).Scan(&number); err != nil {
		return 0, err
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if len(o.numbers) >= ownersMax {
		clear(o.numbers)
	}
	o.numbers[name] = number
	return number, nil
}
